/* SPDX-License-Identifier: MIT
 * buf.c - see buf.h. */
#include "shared/base/buf.h"

#include "shared/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

void buf_init(struct buf *b, size_t max_bytes)
{
    *b = (struct buf){.max = max_bytes};
}

void buf_fini(struct buf *b)
{
    free(b->at);
    *b = (struct buf){.max = b->max};
}

void buf_clear(struct buf *b)
{
    b->n = 0;
    b->is_over = false;
}

char *buf_grow(struct buf *b, size_t n)
{
    if (b->is_over || n > b->max || b->n > b->max - n) {
        b->is_over = true;
        return NULL;
    }
    if (b->at == NULL || b->n + n > b->cap) {
        size_t cap = b->cap < 64 ? 64 : b->cap;
        while (cap < b->n + n)
            cap *= 2;
        b->at = mem_resize(b->at, cap);
        b->cap = cap;
    }
    return b->at + b->n;
}

void buf_terminate(struct buf *b)
{
    char *at = buf_reserve(b, 1);
    if (at != NULL)
        *at = 0;
}

void buf_put_u64(struct buf *b, uint64_t value)
{
    char digits[STR_U64_MAX];
    buf_put(b, (struct str){digits, str_put_u64(digits, value)});
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    /* vsnprintf's NUL may lie one past the maximum: it is never part of the content. */
    bool has_room = n >= 0 && b->max < SIZE_MAX;
    b->max += has_room;
    char *at = n < 0 ? NULL : buf_reserve(b, (size_t)n + 1);
    b->max -= has_room;
    if (at != NULL) {
        vsnprintf(at, (size_t)n + 1, format, again);
        b->n += (size_t)n;
    }
    va_end(again);
}

void buf_put_json(struct buf *b, struct str s)
{
    static const char digits[] = "0123456789abcdef";
    buf_put_char(b, '"');
    size_t start = 0;
    if (s.n == 0)
        s = STR("");
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.at[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        buf_put(b, (struct str){s.at + start, i - start});
        start = i + 1;
        switch (c) {
        case '"': buf_lit(b, "\\\""); break;
        case '\\': buf_lit(b, "\\\\"); break;
        case '\n': buf_lit(b, "\\n"); break;
        case '\r': buf_lit(b, "\\r"); break;
        case '\t': buf_lit(b, "\\t"); break;
        default: {
            char escape[] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
            buf_put(b, (struct str){escape, sizeof escape});
        }
        }
    }
    buf_put(b, (struct str){s.at + start, s.n - start});
    buf_put_char(b, '"');
}

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Returns whether a byte stands for itself: letters, digits and those of `also`. */
static bool is_plain(char c, const char *also)
{
    return is_alnum(c) || (c != 0 && strchr(also, c) != NULL);
}

static void put_percent(struct buf *b, struct str s, const char *also)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t start = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.at[i];
        if (is_plain(c, also))
            continue;
        char escape[] = {'%', digits[(unsigned char)c >> 4], digits[(unsigned char)c & 15]};
        buf_put(b, (struct str){s.at + start, i - start});
        buf_put(b, (struct str){escape, sizeof escape});
        start = i + 1;
    }
    if (start < s.n)
        buf_put(b, (struct str){s.at + start, s.n - start});
}

static const char name_also[] = "-_.";

void buf_put_name(struct buf *b, struct str s)
{
    if (s.n == 0)
        buf_put_char(b, '%');
    else
        put_percent(b, s, name_also);
}

void buf_put_url_encoded(struct buf *b, struct str s)
{
    put_percent(b, s, "-_.~");
}

bool buf_put_unnamed(struct buf *b, struct str name)
{
    if (str_eq(name, STR("%")))
        return true;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.at[i];
        unsigned char byte;
        if (c == '%') {
            bool is_lower = name.n - i >= 3 && (name.at[i + 1] >= 'a' || name.at[i + 2] >= 'a');
            if (name.n - i < 3 || is_lower || !str_unhex((struct str){name.at + i + 1, 2}, &byte) ||
                is_plain((char)byte, name_also))
                return false;
            i += 2;
            c = (char)byte;
        } else if (!is_plain(c, name_also)) {
            return false;
        }
        buf_put_char(b, c);
    }
    return name.n > 0;
}

bool buf_put_url_decoded(struct buf *b, struct str s, bool plus_is_space)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char byte;
        if (s.at[i] == '%') {
            if (s.n - i < 3 || !str_unhex((struct str){s.at + i + 1, 2}, &byte))
                return false;
            i += 2;
        } else {
            byte = plus_is_space && s.at[i] == '+' ? ' ' : (unsigned char)s.at[i];
        }
        buf_put_char(b, (char)byte);
    }
    return true;
}

void buf_put_timestamp(struct buf *b, uint64_t epoch_s)
{
    static const uint64_t most_s = 253402300799; /* 9999-12-31T23:59:59: four digits of year */
    /* Most timestamps are of the second that was written last. */
    static _Thread_local struct {
        uint64_t epoch_s;
        size_t n;
        char text[32];
    } last;
    if (epoch_s > most_s)
        epoch_s = most_s;
    if (last.n == 0 || last.epoch_s != epoch_s) {
        time_t when = (time_t)epoch_s;
        struct tm tm;
        gmtime_r(&when, &tm);
        last.n = strftime(last.text, sizeof last.text, "%Y-%m-%dT%H:%M:%S", &tm);
        last.epoch_s = epoch_s;
    }
    buf_put(b, (struct str){last.text, last.n});
}
