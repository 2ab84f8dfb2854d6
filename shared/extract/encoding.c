/* SPDX-License-Identifier: MIT
 * encoding.c - see encoding.h.
 *
 * Pages and editors are wrong about encodings in ways that are known. Bytes that are valid UTF-8
 * are hardly ever anything else, so no label overrules that, except one of an encoding that
 * consists of ASCII bytes only. And what a label names counts only if it leaves few bytes without a
 * meaning. */
#include "shared/extract/encoding.h"

#include "shared/extract/encoding_labels.h"
#include "shared/text/text.h"

#include <stdlib.h>
#include <uchardet/uchardet.h>
#include <unicode/uchar.h>
#include <unicode/ucnv.h>
#include <unicode/ucnv_cb.h>
#include <unicode/utf16.h>

enum {
    STEP_UNITS = 4096,
    SAMPLE_BYTES = 64 << 10,
    BEFORE_SAMPLE_BYTES = 256,
    GOOD_PER_BAD = 20,
    WIDE_WITHIN_BYTES = 64 << 10,
};

/* Counts of a conversion. */
struct tally {
    size_t good;    /* characters beyond ASCII */
    size_t bad;     /* sequences without a meaning, and control characters of the upper half */
    size_t letters; /* beyond ASCII */
};

static bool is_sound(const struct tally *tally)
{
    return tally->bad <= 1 + tally->good / GOOD_PER_BAD;
}

/* ---- conversion ---- */

static void U_CALLCONV on_bad(const void *data, UConverterToUnicodeArgs *args, const char *bytes,
                              int32_t n, UConverterCallbackReason reason, UErrorCode *error)
{
    static const UChar replacement[] = {0xfffd};
    struct tally *tally = (struct tally *)(uintptr_t)data;
    if (reason > UCNV_IRREGULAR)
        return; /* the converter is reset or closed */
    *error = U_ZERO_ERROR;
    tally->bad++;
    ucnv_cbToUWriteUChars(args, replacement, 1, 0, error);
}

static void put_units(struct buf *out, const UChar *units, int32_t n, struct tally *tally)
{
    for (int32_t i = 0; i < n;) {
        UChar32 c;
        char bytes[4];
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): ICU wrote `n` units */
        U16_NEXT(units, i, n, c);
        if (c >= 0xa0 && c != 0xfffd) {
            tally->good++;
            tally->letters += u_isalpha(c) != 0;
        } else if (c >= 0x80 && c < 0xa0) {
            tally->bad++;
        }
        buf_put(out, (struct str){bytes, text_put_char(bytes, (uint32_t)c)});
    }
}

static struct tally convert(struct buf *out, struct str s, const char *converter)
{
    struct tally tally = {0};
    UErrorCode error = U_ZERO_ERROR;
    UConverter *from = ucnv_open(converter, &error);
    if (U_FAILURE(error))
        return (struct tally){.bad = s.n + 2};
    ucnv_setToUCallBack(from, on_bad, &tally, NULL, NULL, &error);
    const char *at = s.at, *end = s.at + s.n;
    UChar kept = 0; /* the first half of a pair at the end of a step */
    do {
        UChar units[STEP_UNITS + 1], *to = units + (kept != 0);
        units[0] = kept;
        error = U_ZERO_ERROR;
        ucnv_toUnicode(from, &to, units + STEP_UNITS, &at, end, NULL, true, &error);
        kept = error == U_BUFFER_OVERFLOW_ERROR && U16_IS_LEAD(to[-1]) ? *--to : 0;
        put_units(out, units, (int32_t)(to - units), &tally);
    } while (error == U_BUFFER_OVERFLOW_ERROR);
    ucnv_close(from);
    return tally;
}

/* Returns whether the bytes make sense in this encoding; if not, `out` stays as it was. */
static bool put_if_sound(struct buf *out, struct str bytes, const struct encoding *encoding)
{
    if (encoding == NULL)
        return false;
    size_t before = out->n;
    struct tally tally = convert(out, bytes, encoding->converter);
    if (!is_sound(&tally))
        out->n = before;
    return is_sound(&tally);
}

/* ---- what bytes say themselves ---- */

static const char *converter_of_mark(struct str s, size_t *ret_n)
{
    static const struct {
        struct str mark;
        const char *converter;
    } marks[] = {
        {{"\xef\xbb\xbf", 3}, "UTF-8"},    {{"\xff\xfe\0\0", 4}, "UTF-32LE"},
        {{"\0\0\xfe\xff", 4}, "UTF-32BE"}, {{"\xff\xfe", 2}, "UTF-16LE"},
        {{"\xfe\xff", 2}, "UTF-16BE"},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (str_has_prefix(s, marks[i].mark)) {
            *ret_n = marks[i].mark.n;
            return marks[i].converter;
        }
    return NULL;
}

static uint32_t unit_at(struct str s, size_t at, size_t size, bool is_big)
{
    uint32_t unit = 0;
    for (size_t i = 0; i < size; i++)
        unit = unit << 8 | (unsigned char)s.at[at + (is_big ? i : size - 1 - i)];
    return unit;
}

/* Characters that texts of any script have, and that other files do not have as wide units. */
static bool is_common(uint32_t unit)
{
    return (unit >= 0x20 && unit < 0x7f) || unit == '\n' || unit == '\r' || unit == '\t' ||
           (unit >= 0x3000 && unit <= 0x3002);
}

static bool is_ascii_pair(uint32_t unit)
{
    return unit >> 8 >= 0x20 && unit >> 8 < 0x7f && (unit & 0xff) >= 0x20 && (unit & 0xff) < 0x7f;
}

/* Returns how many units of this size and order are common, or 0 unless they are text: all are
 * characters, a tenth is common, and they are not mostly two letters of ASCII each. */
static size_t common_units(struct str s, size_t size, bool is_big)
{
    size_t common_n = 0, pair_n = 0, n = 0;
    for (size_t i = 0; i + size <= s.n; i += size, n++) {
        uint32_t unit = unit_at(s, i, size, is_big);
        if (unit == 0 || unit > 0x10ffff || unit == 0xfffe || unit == 0xffff)
            return 0;
        common_n += is_common(unit);
        pair_n += is_ascii_pair(unit);
    }
    return n > 1 && common_n * 10 >= n && pair_n * 10 <= n * 6 ? common_n : 0;
}

/* Digits in the wrong order are common, too: "0" is an ideographic space then. */
static const char *converter_of_units(struct str s)
{
    struct str front = {s.at, s.n < WIDE_WITHIN_BYTES ? s.n : WIDE_WITHIN_BYTES};
    if (s.n % 2 != 0 || memchr(front.at, 0, front.n) == NULL)
        return NULL;
    if (s.n % 4 == 0 && common_units(front, 4, false) > 0)
        return "UTF-32LE";
    if (s.n % 4 == 0 && common_units(front, 4, true) > 0)
        return "UTF-32BE";
    size_t little_n = common_units(front, 2, false), big_n = common_units(front, 2, true);
    if (little_n + big_n == 0)
        return NULL;
    return little_n >= big_n ? "UTF-16LE" : "UTF-16BE";
}

bool encoding_is_wide(struct str bytes)
{
    size_t n = 0;
    if (bytes.n == 0)
        return false;
    const char *converter = converter_of_mark(bytes, &n);
    return converter == NULL ? converter_of_units(bytes) != NULL : n != 3;
}

static bool has_escapes(struct str s)
{
    return str_holds(s, STR("\x1b$")) || str_holds(s, STR("\x1b("));
}

static const struct str korean_escape = {"\x1b$)C", 4};

bool encoding_has_shifts(struct str bytes)
{
    return str_has_prefix(bytes, korean_escape);
}

bool encoding_is_plain(struct str bytes)
{
    return bytes.n == 0 || (str_is_utf8(bytes) && !has_escapes(bytes) && !encoding_is_wide(bytes));
}

bool encoding_is_known(struct str label)
{
    return encoding_of_label(label) != NULL;
}

/* ---- guesses ---- */

/* From the line of the first byte beyond ASCII on. */
static struct str sample_of(struct str s)
{
    size_t from = 0;
    while (from < s.n && (unsigned char)s.at[from] < 0x80)
        from++;
    from -= from < BEFORE_SAMPLE_BYTES ? from : BEFORE_SAMPLE_BYTES;
    return (struct str){s.at + from, s.n - from < SAMPLE_BYTES ? s.n - from : SAMPLE_BYTES};
}

/* Returns whether most of the bytes beyond ASCII are in words of such bytes, as in scripts other
 * than the Latin one. */
static bool is_far_from_latin(struct str s)
{
    size_t in_words = 0, alone = 0, run = 0;
    for (size_t i = 0; i <= s.n; i++) {
        if (i < s.n && (unsigned char)s.at[i] >= 0x80) {
            run++;
            continue;
        }
        *(run > 2 ? &in_words : &alone) += run;
        run = 0;
    }
    return in_words > alone;
}

static size_t count_letters(struct str s, const struct encoding *encoding)
{
    struct buf scratch;
    buf_init(&scratch, s.n * 4 + 16);
    struct tally tally = convert(&scratch, s, encoding->converter);
    buf_fini(&scratch);
    return tally.letters;
}

static const struct encoding *guess_by_uchardet(struct str sample)
{
    uchardet_t detector = uchardet_new();
    if (detector == NULL)
        abort();
    (void)uchardet_handle_data(detector, sample.at, sample.n);
    uchardet_data_end(detector);
    const struct encoding *found = encoding_of_guess(str_of(uchardet_get_charset(detector)));
    uchardet_delete(detector);
    return found;
}

static const struct encoding *guess(struct str bytes)
{
    struct str sample = sample_of(bytes);
    const struct encoding *found = guess_by_uchardet(sample);
    const struct encoding *latin2 = encoding_of_label(STR("latin2")),
                          *windows = encoding_of_label(STR("windows-1250"));
    if (found != latin2 && found != windows)
        return found;
    /* They differ in a few letters, which are signs in the other one. */
    size_t latin2_n = count_letters(sample, latin2), windows_n = count_letters(sample, windows);
    return latin2_n == windows_n ? found : latin2_n > windows_n ? latin2 : windows;
}

/* ---- all ---- */

static bool put_utf8_of_some(struct buf *out, struct str bytes)
{
    size_t before = out->n;
    struct tally tally = convert(out, bytes, "UTF-8");
    bool is_utf8 = tally.good > 0 && is_sound(&tally);
    if (!is_utf8)
        out->n = before;
    return is_utf8;
}

bool encoding_put_utf8(struct buf *out, struct str bytes, struct str label)
{
    static const struct str cyrillic = {"windows-1251", 12}, latin = {"windows-1252", 12},
                            korean = {"iso-2022-kr", 11}, japanese = {"iso-2022-jp", 11};
    size_t mark_n = 0;
    if (bytes.n == 0)
        return true;
    const char *converter = converter_of_mark(bytes, &mark_n);
    if (converter == NULL)
        converter = converter_of_units(bytes);
    if (converter != NULL) {
        convert(out, (struct str){bytes.at + mark_n, bytes.n - mark_n}, converter);
        return true;
    }
    const struct encoding *named = encoding_of_label(label);
    if (named == NULL && has_escapes(bytes))
        named = encoding_of_label(encoding_has_shifts(bytes) ? korean : japanese);
    if (str_is_utf8(bytes) && (named == NULL || !named->is_seven_bit)) {
        buf_put(out, bytes);
        return true;
    }
    return put_if_sound(out, bytes, named) || put_utf8_of_some(out, bytes) ||
           put_if_sound(out, bytes, guess(bytes)) ||
           put_if_sound(out, bytes, encoding_of_label(is_far_from_latin(bytes) ? cyrillic : latin));
}
