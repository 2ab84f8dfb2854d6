/* SPDX-License-Identifier: MIT
 * mime.c - see mime.h. */
#include "shared/extract/mime.h"

#include "shared/extract/encoding.h"

enum { WORD_MAX_BYTES = 1024, VALUE_MAX_BYTES = 65536 };

/* ---- fields ---- */

/* A line without its end; `*rest` loses both. */
static struct str next_line(struct str *rest)
{
    struct str line = str_cut(rest, '\n');
    if (line.n > 0 && line.at[line.n - 1] == '\r')
        line.n--;
    return line;
}

/* Returns whether a line continues the one before it. */
static bool is_continued(struct str rest)
{
    return rest.n > 0 && (*rest.at == ' ' || *rest.at == '\t');
}

/* Returns whether text has begun without an empty line before it. */
static bool is_text(struct str line)
{
    return memchr(line.at, ':', line.n) == NULL && !is_continued(line);
}

void mime_split(struct str entity, struct str *ret_head, struct str *ret_body)
{
    struct str rest = entity;
    while (rest.at != NULL && rest.n > 0) {
        struct str from = rest, line = next_line(&rest);
        if (line.n == 0 || is_text(line)) {
            *ret_head = (struct str){entity.at, (size_t)(from.at - entity.at)};
            *ret_body = line.n > 0 ? from : rest.at == NULL ? STR("") : rest;
            return;
        }
    }
    *ret_head = entity;
    *ret_body = STR("");
}

struct str mime_field(struct str head, const char *name)
{
    struct str wanted = str_of(name), rest = head;
    while (rest.at != NULL && rest.n > 0) {
        struct str line = next_line(&rest);
        if (line.n <= wanted.n || line.at[wanted.n] != ':' ||
            !str_eq_nocase((struct str){line.at, wanted.n}, wanted))
            continue;
        const char *from = line.at + wanted.n + 1, *to = line.at + line.n;
        while (rest.at != NULL && is_continued(rest)) {
            line = next_line(&rest);
            to = line.at + line.n;
        }
        return str_trim((struct str){from, (size_t)(to - from)});
    }
    return STR("");
}

/* ---- transfer encodings ---- */

static int value_of_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int value_of_base64(char c)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c == 0 ? NULL : strchr(letters, c);
    return at == NULL ? -1 : (int)(at - letters);
}

static void put_base64(struct buf *b, struct str s)
{
    uint32_t bits = 0;
    int bit_n = 0;
    for (size_t i = 0; i < s.n && s.at[i] != '='; i++) {
        int value = value_of_base64(s.at[i]);
        if (value < 0)
            continue;
        bits = bits << 6 | (uint32_t)value;
        bit_n += 6;
        if (bit_n >= 8) {
            bit_n -= 8;
            buf_put_char(b, (char)(bits >> bit_n));
        }
    }
}

/* With `is_word`, as in an encoded word: "_" is a space. */
static void put_quoted(struct buf *b, struct str s, bool is_word)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (c != '=') {
            buf_put_char(b, is_word && c == '_' ? ' ' : c);
            continue;
        }
        size_t left = s.n - i - 1;
        if (left >= 1 && s.at[i + 1] == '\n') {
            i++;
        } else if (left >= 2 && s.at[i + 1] == '\r' && s.at[i + 2] == '\n') {
            i += 2;
        } else if (left >= 2 && value_of_hex(s.at[i + 1]) >= 0 && value_of_hex(s.at[i + 2]) >= 0) {
            buf_put_char(b, (char)(value_of_hex(s.at[i + 1]) * 16 + value_of_hex(s.at[i + 2])));
            i += 2;
        } else {
            buf_put_char(b, c);
        }
    }
}

void mime_put_decoded(struct buf *b, struct str body, struct str encoding)
{
    if (str_eq_nocase(encoding, STR("base64")))
        put_base64(b, body);
    else if (str_eq_nocase(encoding, STR("quoted-printable")))
        put_quoted(b, body, false);
    else
        buf_put(b, body);
}

/* ---- words ---- */

static void put_utf8(struct buf *b, struct str bytes, struct str label)
{
    struct buf utf8;
    buf_init(&utf8, bytes.n * 4 + 16);
    if (bytes.n > 0 && encoding_put_utf8(&utf8, bytes, label))
        buf_put(b, buf_str(&utf8));
    buf_fini(&utf8);
}

/* Reads "=?utf-8?Q?caf=C3=A9?=" at the front and puts it. Returns its length; 0: it is none. */
static size_t put_encoded_word(struct buf *b, struct str s)
{
    struct str rest = {s.at + 2, s.n < WORD_MAX_BYTES ? s.n - 2 : WORD_MAX_BYTES};
    struct str label = str_cut(&rest, '?');
    struct str form = rest.at == NULL ? STR("") : str_cut(&rest, '?');
    if (rest.at == NULL || form.n != 1)
        return 0;
    struct str text = str_cut(&rest, '?');
    if (rest.at == NULL || rest.n == 0 || *rest.at != '=')
        return 0;
    struct buf bytes;
    buf_init(&bytes, WORD_MAX_BYTES);
    if ((*form.at | 0x20) == 'b')
        put_base64(&bytes, text);
    else
        put_quoted(&bytes, text, true);
    put_utf8(b, buf_str(&bytes), str_cut(&label, '*'));
    buf_fini(&bytes);
    return (size_t)(rest.at + 1 - s.at);
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Space between two encoded words is none of theirs. */
void mime_put_words(struct buf *b, struct str value)
{
    struct buf word;
    bool was_word = false, is_parted = false;
    size_t from = b->n;
    buf_init(&word, 4 * WORD_MAX_BYTES);
    if (value.n > VALUE_MAX_BYTES)
        value.n = VALUE_MAX_BYTES;
    while (value.n > 0) {
        size_t n = 1;
        if (is_blank(*value.at)) {
            is_parted = true;
        } else {
            buf_clear(&word);
            size_t length = str_has_prefix(value, STR("=?")) ? put_encoded_word(&word, value) : 0;
            if (is_parted && b->n > from && !(length > 0 && was_word))
                buf_put_char(b, ' ');
            buf_put(b, length > 0 ? buf_str(&word) : (struct str){value.at, 1});
            n = length > 0 ? length : 1;
            was_word = length > 0;
            is_parted = false;
        }
        value = (struct str){value.at + n, value.n - n};
    }
    buf_fini(&word);
}

struct str mime_main_value(struct str value)
{
    return str_trim(str_cut(&value, ';'));
}

/* Takes the next parameter off the value; a quoted one may hold semicolons. */
static struct str next_parameter(struct str *rest)
{
    size_t i;
    bool is_quoted = false;
    for (i = 0; i < rest->n && (is_quoted || rest->at[i] != ';'); i++)
        is_quoted ^= rest->at[i] == '"';
    struct str parameter = str_trim((struct str){rest->at, i});
    i += i < rest->n;
    *rest = (struct str){rest->at + i, rest->n - i};
    return parameter;
}

/* "utf-8'en'caf%C3%A9" (RFC 2231). */
static void put_extended(struct buf *b, struct str value)
{
    struct buf bytes;
    struct str label = str_cut(&value, '\'');
    if (value.at != NULL)
        (void)str_cut(&value, '\'');
    buf_init(&bytes, VALUE_MAX_BYTES);
    if (value.at != NULL && buf_put_url_decoded(&bytes, value, false))
        put_utf8(b, buf_str(&bytes), label);
    buf_fini(&bytes);
}

void mime_put_parameter(struct buf *b, struct str value, const char *name)
{
    struct str wanted = str_of(name);
    if (value.n > VALUE_MAX_BYTES)
        value.n = VALUE_MAX_BYTES;
    (void)next_parameter(&value);
    while (value.n > 0) {
        struct str text = next_parameter(&value), key = str_trim(str_cut(&text, '='));
        bool is_extended = key.n == wanted.n + 1 && key.at[wanted.n] == '*';
        key.n -= is_extended;
        if (text.at == NULL || !str_eq_nocase(key, wanted))
            continue;
        text = str_trim(text);
        if (text.n >= 2 && *text.at == '"' && text.at[text.n - 1] == '"')
            text = (struct str){text.at + 1, text.n - 2};
        if (is_extended)
            put_extended(b, text);
        else
            mime_put_words(b, text);
        return;
    }
}

/* ---- parts ---- */

/* Returns whether a line is the boundary: 1, or 2 for the last one; 0: it is not. */
static int boundary_of(struct str line, struct str boundary)
{
    if (line.n < boundary.n + 2 || line.at[0] != '-' || line.at[1] != '-' ||
        memcmp(line.at + 2, boundary.at, boundary.n) != 0)
        return 0;
    struct str after = str_trim((struct str){line.at + 2 + boundary.n, line.n - 2 - boundary.n});
    return after.n == 0 ? 1 : str_eq(after, STR("--")) ? 2 : 0;
}

/* Skips to the next boundary: what is before the first one is no part. A part ends before the line
 * of the next boundary, which stays in the rest. */
bool mime_next_part(struct str *rest, struct str boundary, struct str *ret_part)
{
    int kind = 0;
    while (rest->at != NULL && rest->n > 0 && kind == 0)
        kind = boundary_of(next_line(rest), boundary);
    if (kind != 1 || rest->at == NULL)
        return false;
    const char *from = rest->at, *to = from;
    while (rest->at != NULL && rest->n > 0) {
        struct str here = *rest;
        if (boundary_of(next_line(rest), boundary) != 0) {
            *rest = here;
            break;
        }
        to = rest->at == NULL ? here.at + here.n : rest->at;
    }
    *ret_part = (struct str){from, (size_t)(to - from)};
    return true;
}
