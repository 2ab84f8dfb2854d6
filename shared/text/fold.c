/* SPDX-License-Identifier: MIT
 * fold.c - see fold.h. ICU is asked for what is rare: letters of most living languages are folded
 * by ranges, as long as no mark follows. */
#include "shared/text/fold.h"

#include "shared/text/chars.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>

enum { CLUSTER_MAX_UNITS = 64 };

/* --- the common letters ----------------------------------------------------------------------- */

/* Returns the folded letter, or 0 if ICU has to be asked. */
static uint32_t common(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    if ((c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3041 && c <= 0x3096) ||
        (c >= 0x30a1 && c <= 0x30fa) || c == 0x30fc || (c >= 0xe0 && c <= 0xff && c != 0xf7) ||
        (c >= 0x3b1 && c <= 0x3c9 && c != 0x3c2) || (c >= 0x430 && c <= 0x45f))
        return c;
    if ((c >= 0xc0 && c <= 0xde && c != 0xd7) || (c >= 0x391 && c <= 0x3a9 && c != 0x3a2) ||
        (c >= 0x410 && c <= 0x42f))
        return c + 32;
    if (c >= 0x400 && c <= 0x40f)
        return c + 80;
    if ((c >= 0x100 && c <= 0x12f) || (c >= 0x14a && c <= 0x177))
        return c | 1;
    return 0;
}

static bool is_common_word(uint32_t c)
{
    return c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* --- all others ------------------------------------------------------------------------------- */

bool fold_is_word(uint32_t c)
{
    uint32_t folded = common(c);
    if (folded != 0)
        return is_common_word(folded);
    return (U_GET_GC_MASK((UChar32)c) & (U_GC_L_MASK | U_GC_M_MASK | U_GC_N_MASK)) != 0;
}

/* Points and marks of Arabic and Hebrew, and the stroke that only makes a word longer. */
static bool is_point(uint32_t c)
{
    if (c == 0x640)
        return true;
    return ((c >= 0x591 && c <= 0x5c7) || (c >= 0x610 && c <= 0x6ed)) &&
           u_charType((UChar32)c) == U_NON_SPACING_MARK;
}

static bool is_superscript(uint32_t c)
{
    return c == 0xb2 || c == 0xb3 || c == 0xb9 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079);
}

static bool has_no_width(uint32_t c)
{
    return u_hasBinaryProperty((UChar32)c, UCHAR_DEFAULT_IGNORABLE_CODE_POINT);
}

static const UNormalizer2 *folder(void)
{
    UErrorCode error = U_ZERO_ERROR;
    return unorm2_getNFKCCasefoldInstance(&error);
}

static unsigned put_unit(UChar *units, unsigned n, uint32_t c)
{
    UBool is_over = false;
    U16_APPEND(units, n, CLUSTER_MAX_UNITS, (UChar32)c, is_over);
    (void)is_over;
    return n;
}

static void fold_units(const UChar *units, unsigned n, struct folded *folded)
{
    UChar out[CLUSTER_MAX_UNITS];
    UErrorCode error = U_ZERO_ERROR;
    int32_t out_n = unorm2_normalize(folder(), units, (int32_t)n, out, CLUSTER_MAX_UNITS, &error);
    if (U_FAILURE(error))
        out_n = 0;
    UChar32 c;
    for (int32_t i = 0; i < out_n && folded->n < FOLDED_MAX;) {
        U16_NEXT(out, i, out_n, c);
        if (!is_point((uint32_t)c))
            folded->at[folded->n++] = (uint32_t)c;
    }
}

static enum fold_kind kind_of(const struct folded *folded)
{
    if (folded->n == 0)
        return FOLD_NOTHING;
    if (!fold_is_word(folded->first) || !fold_is_word(folded->at[0]))
        return FOLD_OTHER;
    return is_superscript(folded->first) ? FOLD_WORD_HIGH : FOLD_WORD;
}

/* The characters up to the next one that cannot change with what is before it. */
static size_t fold_cluster(struct str s, size_t first_n, struct folded *folded)
{
    UChar units[CLUSTER_MAX_UNITS];
    unsigned n = put_unit(units, 0, folded->first);
    size_t bytes = first_n;
    uint32_t c;
    for (size_t step; n + 2 <= CLUSTER_MAX_UNITS; bytes += step) {
        step = text_char((struct str){s.at + bytes, s.n - bytes}, &c);
        if (step == 0 || c < 0x80 || common(c) != 0 || has_no_width(c) ||
            unorm2_hasBoundaryBefore(folder(), (UChar32)c))
            break;
        n = put_unit(units, n, c);
    }
    fold_units(units, n, folded);
    folded->kind = kind_of(folded);
    return bytes;
}

size_t fold_next_any(struct str s, struct folded *folded)
{
    uint32_t next;
    size_t n = text_char(s, &folded->first);
    folded->n = 0;
    folded->kind = FOLD_OTHER;
    if (n == 0)
        return 0;
    uint32_t c = common(folded->first);
    if (c == 0 || (text_char((struct str){s.at + n, s.n - n}, &next) > 1 && common(next) == 0))
        return fold_cluster(s, n, folded);
    folded->at[folded->n++] = c;
    folded->kind = is_common_word(c) ? FOLD_WORD : FOLD_OTHER;
    return n;
}

/* --- accents ---------------------------------------------------------------------------------- */

/* Letters with strokes and such, which have no decomposition. */
static uint32_t without_stroke(uint32_t c)
{
    static const struct {
        uint32_t from, to;
    } letters[] = {{0xe6, 'a'},  {0xf0, 'd'},  {0xf8, 'o'},  {0xfe, 't'},
                   {0x111, 'd'}, {0x127, 'h'}, {0x131, 'i'}, {0x142, 'l'},
                   {0x153, 'o'}, {0x167, 't'}, {0x14b, 'n'}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].from == c)
            return letters[i].to;
    return c;
}

uint32_t fold_bare(uint32_t c)
{
    UErrorCode error = U_ZERO_ERROR;
    if (c < 0x80 || (c >= 0x3000 && c < 0xfb00))
        return c;
    if (c >= 0x300 && c <= 0x36f)
        return 0;
    UScriptCode script = uscript_getScript((UChar32)c, &error);
    if (script != USCRIPT_LATIN && script != USCRIPT_GREEK && script != USCRIPT_CYRILLIC &&
        script != USCRIPT_ARABIC)
        return c;
    UChar parts[8];
    int32_t n =
        unorm2_getDecomposition(unorm2_getNFDInstance(&error), (UChar32)c, parts, 8, &error);
    return without_stroke(n > 0 && U_SUCCESS(error) ? parts[0] : c);
}
