/* SPDX-License-Identifier: MIT
 * repair.c - see repair.h. A mark is a character of the last private plane, which half_join takes
 * for one in repaired JSON only: elsewhere those characters pass. */
#include "services/engine/models/repair.h"

#include "shared/text/text.h"

enum {
    HIGH_FIRST = 0xd800,
    LOW_FIRST = 0xdc00,
    LOW_LAST = 0xdfff,
    MARK_FIRST = 0x10f000, /* of HIGH_FIRST */
    MARK_LAST = MARK_FIRST + LOW_LAST - HIGH_FIRST,
    ESCAPE_BYTES = 6, /* of \u and four digits */
};

#define REPLACEMENT STR("\xef\xbf\xbd")

static bool is_high(uint32_t unit)
{
    return unit >= HIGH_FIRST && unit < LOW_FIRST;
}

static bool is_low(uint32_t unit)
{
    return unit >= LOW_FIRST && unit <= LOW_LAST;
}

static bool read_escape(struct str s, uint32_t *ret_unit)
{
    unsigned char bytes[2];
    if (s.n < ESCAPE_BYTES || s.at[0] != '\\' || s.at[1] != 'u' ||
        !str_unhex((struct str){s.at + 2, 4}, bytes))
        return false;
    *ret_unit = (uint32_t)bytes[0] << 8 | bytes[1];
    return true;
}

static void put_code(struct buf *b, uint32_t code)
{
    char bytes[4];
    buf_put(b, (struct str){bytes, text_put_char(bytes, code)});
}

/* At a backslash; returns how many bytes of `s` are done. */
static size_t repair_escape(struct buf *b, struct str s)
{
    uint32_t unit, low;
    if (!read_escape(s, &unit) || (unit != 0 && !is_high(unit) && !is_low(unit))) {
        size_t n = s.n < 2 ? s.n : 2;
        buf_put(b, (struct str){s.at, n});
        return n;
    }
    if (is_high(unit) && read_escape((struct str){s.at + ESCAPE_BYTES, s.n - ESCAPE_BYTES}, &low) &&
        is_low(low)) {
        buf_put(b, (struct str){s.at, 2 * ESCAPE_BYTES});
        return 2 * ESCAPE_BYTES;
    }
    if (unit == 0)
        buf_put(b, REPLACEMENT);
    else
        put_code(b, MARK_FIRST + unit - HIGH_FIRST);
    return ESCAPE_BYTES;
}

/* A character that is no escape. */
static size_t repair_char(struct buf *b, struct str s, bool is_inside)
{
    uint32_t code;
    size_t n = text_char(s, &code);
    if (n == 1 && (unsigned char)*s.at >= 0x80)
        buf_put(b, REPLACEMENT);
    else if (code == 0)
        buf_put(b, is_inside ? REPLACEMENT : STR(" "));
    else if (code < ' ' && is_inside)
        buf_printf(b, "\\u%04x", (unsigned)code);
    else
        buf_put(b, (struct str){s.at, n});
    return n;
}

void repair_json(struct buf *b, struct str json)
{
    bool is_inside = false;
    while (json.n > 0) {
        is_inside ^= *json.at == '"';
        size_t n = *json.at == '\\' ? repair_escape(b, json) : repair_char(b, json, is_inside);
        json = (struct str){json.at + n, json.n - n};
    }
}

static void put_joined(struct half_join *join, uint32_t unit, struct buf *out)
{
    if (join->high != 0 && is_low(unit)) {
        put_code(out, 0x10000 + ((join->high - HIGH_FIRST) << 10) + (unit - LOW_FIRST));
        join->high = 0;
        return;
    }
    half_join_finish(join, out);
    if (is_high(unit))
        join->high = unit;
    else
        buf_put(out, REPLACEMENT);
}

void half_join_feed(struct half_join *join, struct str text, bool has_marks, struct buf *out)
{
    uint32_t code;
    for (size_t n; has_marks && (n = text_char(text, &code)) > 0;) {
        if (code >= MARK_FIRST && code <= MARK_LAST) {
            put_joined(join, code - MARK_FIRST + HIGH_FIRST, out);
        } else {
            half_join_finish(join, out);
            buf_put(out, (struct str){text.at, n});
        }
        text = (struct str){text.at + n, text.n - n};
    }
    if (text.n > 0) {
        half_join_finish(join, out);
        buf_put(out, text);
    }
}

void half_join_finish(struct half_join *join, struct buf *out)
{
    if (join->high != 0)
        buf_put(out, REPLACEMENT);
    join->high = 0;
}
