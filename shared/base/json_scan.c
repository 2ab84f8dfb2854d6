/* SPDX-License-Identifier: MIT
 * json_scan.c - see json_scan.h. Recursive descent, bounded by JSON_DEPTH_MAX. UTF-8 is checked
 * once for the whole text, so strings are searched for quotes, backslashes and control characters
 * only. */
#include "shared/base/json_scan.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

struct scan {
    const char *at, *end;
    const char *reason;
    unsigned depth;
};

static bool fail(struct scan *s, const char *reason)
{
    if (s->reason == NULL)
        s->reason = reason;
    return false;
}

static void skip_space(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\r' || *s->at == '\n'))
        s->at++;
}

/* True for each byte of `word` that is below 0x20, a quote or a backslash (Mycroft's zero-byte test
 * on the differences; false positives are looked at byte by byte). */
static bool has_special(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;
    uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
    uint64_t hits = ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) |
                    ((word - ones * 0x20) & ~word);
    return (hits & highs) != 0;
}

static const char *find_special(const char *p, const char *end)
{
    uint64_t word;
    for (; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        if (has_special(word))
            break;
    }
    while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* Digits, each one more than its value: a text may consist of escapes alone. */
static const unsigned char digit_of[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

static bool read_hex4(const char *p, const char *end, unsigned *ret_unit)
{
    unsigned unit = 0;
    if (end - p < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        unsigned digit = digit_of[(unsigned char)p[i]];
        if (digit == 0)
            return false;
        unit = unit << 4 | (digit - 1);
    }
    *ret_unit = unit;
    return true;
}

/* At a backslash: moves past the escape. *ret_char is the character it represents. */
static bool read_escape(const char **p, const char *end, unsigned *ret_char)
{
    static const char values[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                     ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    unsigned low;
    if (end - *p < 2)
        return false;
    char letter = (*p)[1], value = values[(unsigned char)letter];
    if (value != 0) {
        *ret_char = (unsigned char)value;
        *p += 2;
        return true;
    }
    if (letter != 'u' || !read_hex4(*p + 2, end, ret_char) || *ret_char == 0)
        return false;
    *p += 6;
    if (*ret_char < 0xd800 || *ret_char > 0xdfff)
        return true;
    if (*ret_char > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u' ||
        !read_hex4(*p + 2, end, &low) || low < 0xdc00 || low > 0xdfff)
        return false;
    *ret_char = 0x10000 + ((*ret_char - 0xd800) << 10) + (low - 0xdc00);
    *p += 6;
    return true;
}

static bool scan_text(struct scan *s, struct json_span *span)
{
    unsigned ignored;
    *span = (struct json_span){.kind = JSON_SPAN_TEXT, .raw = {++s->at, 0}};
    for (;;) {
        s->at = find_special(s->at, s->end);
        if (s->at == s->end)
            return fail(s, "a string is not terminated");
        if (*s->at == '"')
            break;
        if (*s->at != '\\')
            return fail(s, "a string contains an unescaped control character");
        span->has_escape = true;
        if (!read_escape(&s->at, s->end, &ignored))
            return fail(s, "a string contains an invalid escape");
    }
    span->raw.n = (size_t)(s->at++ - span->raw.at);
    return true;
}

static bool scan_digits(struct scan *s)
{
    const char *start = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > start || fail(s, "a number is missing digits");
}

/* A number that a tree cannot hold (json.h) is none here either, or a client's number would be
 * stored that an engine cannot read: integers past 64 bits, and reals past a double. Both are long
 * or have an exponent, so the common number is not looked at twice. */
static bool is_in_range(struct str number, bool is_real)
{
    if (!is_real) {
        bool is_negative = *number.at == '-';
        uint64_t value;
        return str_parse_u64((struct str){number.at + is_negative, number.n - is_negative},
                             &value) &&
               value <= (uint64_t)INT64_MAX + is_negative;
    }
    char *text = str_copy(number);
    bool is_finite = isfinite(strtod(text, NULL));
    free(text);
    return is_finite;
}

static bool scan_number(struct scan *s)
{
    const char *start = s->at;
    bool is_real = false, has_exponent = false;
    if (*s->at == '-')
        s->at++;
    if (s->at < s->end && *s->at == '0')
        s->at++;
    else if (!scan_digits(s))
        return false;
    size_t whole_n = (size_t)(s->at - start);
    if (s->at < s->end && *s->at == '.') {
        is_real = true;
        s->at++;
        if (!scan_digits(s))
            return false;
    }
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        is_real = has_exponent = true;
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
            s->at++;
        if (!scan_digits(s))
            return false;
    }
    enum { ALWAYS_INSIDE = 18 };
    if (!has_exponent && whole_n <= ALWAYS_INSIDE)
        return true;
    struct str number = {start, (size_t)(s->at - start)};
    return is_in_range(number, is_real) || fail(s, "a number is out of range");
}

static bool scan_word(struct scan *s, struct str word)
{
    if ((size_t)(s->end - s->at) < word.n || memcmp(s->at, word.at, word.n) != 0)
        return fail(s, "an unknown literal");
    s->at += word.n;
    return true;
}

static bool scan_value(struct scan *s, struct json_span *span);

/* At a name: reads it, the colon and the value. */
static bool scan_member(struct scan *s, struct json_member *member)
{
    skip_space(s);
    if (s->at == s->end || *s->at != '"')
        return fail(s, "expected a member name");
    if (!scan_text(s, &member->name))
        return false;
    skip_space(s);
    if (s->at == s->end || *s->at != ':')
        return fail(s, "expected a colon");
    s->at++;
    return scan_value(s, &member->value);
}

/* After an item: true to continue, at the next one; false at the end, after the bracket, or after a
 * failure. */
static bool scan_comma(struct scan *s, char close)
{
    skip_space(s);
    if (s->at < s->end && *s->at == ',') {
        s->at++;
        return true;
    }
    if (s->at < s->end && *s->at == close)
        s->at++;
    else
        fail(s, "expected a comma or a closing bracket");
    return false;
}

/* At the opening bracket. Members go to `members` as long as there is room. */
static bool scan_items(struct scan *s, char close, struct json_member *members, size_t most,
                       size_t *n)
{
    struct json_member member;
    if (++s->depth > JSON_DEPTH_MAX)
        return fail(s, "the nesting is too deep");
    s->at++;
    skip_space(s);
    if (s->at < s->end && *s->at == close) {
        s->at++;
        s->depth--;
        return true;
    }
    do {
        if (close == ']' ? !scan_value(s, &member.value) : !scan_member(s, &member))
            return false;
        if (n != NULL && (*n)++ < most)
            members[*n - 1] = member;
    } while (scan_comma(s, close));
    s->depth--;
    return s->reason == NULL;
}

static bool scan_value(struct scan *s, struct json_span *span)
{
    skip_space(s);
    const char *start = s->at;
    bool ok;
    if (s->at == s->end)
        return fail(s, "expected a value");
    span->has_escape = false;
    switch (*s->at) {
    case '"': return scan_text(s, span);
    case '{':
        span->kind = JSON_SPAN_OBJECT;
        ok = scan_items(s, '}', NULL, 0, NULL);
        break;
    case '[':
        span->kind = JSON_SPAN_LIST;
        ok = scan_items(s, ']', NULL, 0, NULL);
        break;
    case 't':
        span->kind = JSON_SPAN_BOOL;
        ok = scan_word(s, STR("true"));
        break;
    case 'f':
        span->kind = JSON_SPAN_BOOL;
        ok = scan_word(s, STR("false"));
        break;
    case 'n':
        span->kind = JSON_SPAN_NULL;
        ok = scan_word(s, STR("null"));
        break;
    default:
        span->kind = JSON_SPAN_NUMBER;
        ok = *s->at == '-' || (*s->at >= '0' && *s->at <= '9') ? scan_number(s)
                                                               : fail(s, "expected a value");
    }
    span->raw = (struct str){start, (size_t)(s->at - start)};
    return ok;
}

bool json_scan_object(struct str text, struct json_member *members, size_t most, size_t *ret_n,
                      const char **ret_reason, size_t *ret_at, bool *ret_is_object)
{
    struct scan s = {.at = text.at, .end = text.at + text.n};
    struct json_span other;
    bool ok = false;
    *ret_n = 0;
    *ret_is_object = true;
    if (!str_is_utf8(text)) {
        fail(&s, "not valid UTF-8");
        goto out;
    }
    skip_space(&s);
    *ret_is_object = s.at < s.end && *s.at == '{';
    ok = *ret_is_object ? scan_items(&s, '}', members, most, ret_n) : scan_value(&s, &other);
    skip_space(&s);
    if (ok && s.at != s.end)
        ok = fail(&s, "unexpected data after the value");
out:
    *ret_reason = s.reason;
    *ret_at = (size_t)(s.at - text.at);
    if (ok && !*ret_is_object) {
        *ret_reason = "it is not an object";
        return false;
    }
    *ret_is_object = ok;
    return ok;
}

struct str json_list_inside(const struct json_span *list)
{
    if (list == NULL || list->kind != JSON_SPAN_LIST)
        return STR("");
    return (struct str){list->raw.at + 1, list->raw.n - 2};
}

bool json_next_item(struct str *rest, struct json_span *ret_item)
{
    struct scan s = {.at = rest->at, .end = rest->at + rest->n};
    skip_space(&s);
    if (s.at == s.end || !scan_value(&s, ret_item))
        return false;
    skip_space(&s);
    if (s.at < s.end && *s.at == ',')
        s.at++;
    *rest = (struct str){s.at, (size_t)(s.end - s.at)};
    return true;
}

static void put_utf8(struct buf *b, unsigned c)
{
    if (c < 0x80) {
        buf_put_char(b, (char)c);
        return;
    }
    if (c < 0x800) {
        buf_put_char(b, (char)(0xc0 | c >> 6));
    } else {
        if (c < 0x10000) {
            buf_put_char(b, (char)(0xe0 | c >> 12));
        } else {
            buf_put_char(b, (char)(0xf0 | c >> 18));
            buf_put_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
        }
        buf_put_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
    }
    buf_put_char(b, (char)(0x80 | (c & 0x3f)));
}

void buf_put_span_text(struct buf *b, const struct json_span *text)
{
    const char *p = text->raw.at, *end = p + text->raw.n;
    while (p < end) {
        const char *plain = memchr(p, '\\', (size_t)(end - p));
        const char *stop = plain == NULL ? end : plain;
        unsigned c;
        buf_put(b, (struct str){p, (size_t)(stop - p)});
        p = stop;
        if (p < end && read_escape(&p, end, &c))
            put_utf8(b, c);
        else if (p < end)
            return; /* not reached: the span was scanned */
    }
}

static void put_text(struct buf *b, const struct json_span *text)
{
    if (!text->has_escape) {
        buf_put_char(b, '"');
        buf_put(b, text->raw);
        buf_put_char(b, '"');
        return;
    }
    struct buf plain;
    buf_init(&plain, text->raw.n);
    buf_put_span_text(&plain, text);
    buf_put_json(b, buf_str(&plain));
    buf_fini(&plain);
}

void buf_put_span(struct buf *b, const struct json_span *value)
{
    if (value->kind == JSON_SPAN_TEXT) {
        put_text(b, value);
        return;
    }
    /* The value was scanned: outside of texts every byte that is no white space counts. */
    struct scan s = {.at = value->raw.at, .end = value->raw.at + value->raw.n};
    while (s.at < s.end) {
        struct json_span text;
        if (*s.at == '"') {
            if (!scan_text(&s, &text))
                return;
            put_text(b, &text);
        } else {
            const char *start = s.at;
            while (s.at < s.end && *s.at != '"' && (unsigned char)*s.at > ' ')
                s.at++;
            buf_put(b, (struct str){start, (size_t)(s.at - start)});
            skip_space(&s);
        }
    }
}
