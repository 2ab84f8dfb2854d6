/* SPDX-License-Identifier: MIT
 *
 * buf: a growing byte buffer with a hard maximum. A write past the maximum sets `is_over` and drops
 * the rest: check it once, at the end. Owned by its holder (init and fini), not shared between
 * threads. Out of memory aborts.
 */
#ifndef PARLEY_BASE_BUF_H
#define PARLEY_BASE_BUF_H

#include "shared/base/str.h"

struct buf {
    char *at;
    size_t n, cap, max;
    bool is_over;
};

void buf_init(struct buf *b, size_t max_bytes);
/* Accepts a buf that was zeroed and never initialised. */
void buf_fini(struct buf *b);
/* Empties it and keeps its memory. */
void buf_clear(struct buf *b);
static inline struct str buf_str(const struct buf *b)
{
    return (struct str){b->at, b->n};
}

/* The slow path of buf_reserve. */
char *buf_grow(struct buf *b, size_t n);

/* Makes room for `n` more bytes and returns where to write them, or NULL past the maximum. The
 * caller adds the number of bytes written to `b->n`. The pointer is valid until the next call.
 * Small writes are inline because a request makes about a hundred of them. */
static inline char *buf_reserve(struct buf *b, size_t n)
{
    bool has_room = b->n < b->cap && n <= b->cap - b->n && n <= b->max - b->n && !b->is_over;
    return has_room ? b->at + b->n : buf_grow(b, n);
}

static inline void buf_put(struct buf *b, struct str s)
{
    str_expect(s);
    char *at = s.n == 0 ? NULL : buf_reserve(b, s.n);
    if (at == NULL)
        return;
    memcpy(at, s.at, s.n);
    b->n += s.n;
}

static inline void buf_put_char(struct buf *b, char c)
{
    char *at = buf_reserve(b, 1);
    if (at == NULL)
        return;
    *at = c;
    b->n++;
}

/* Appends a NUL that is not counted in `n`, for libraries that need one. */
void buf_terminate(struct buf *b);
void buf_put_u64(struct buf *b, uint64_t value);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define buf_lit(b, literal) buf_put((b), STR(literal))

/* Puts `s` as a JSON string with its quotes. Control characters, quotes and backslashes are
 * escaped, everything else is copied: `s` must be UTF-8. The result has no raw newline, so rows in
 * Redis can be lines (docs/redis-keys.md). */
void buf_put_json(struct buf *b, struct str s);

/* Puts the key of an object's next member: `,"name":`. `name` is not escaped. */
static inline void buf_put_key(struct buf *b, const char *name)
{
    buf_lit(b, ",\"");
    buf_put(b, str_of(name));
    buf_lit(b, "\":");
}

/* Puts `s` as a name that is safe inside a Redis key and in the line formats: letters, digits,
 * '-', '_' and '.' stay, every other byte becomes %XX. An empty name becomes "%". The mapping is
 * one to one. */
void buf_put_name(struct buf *b, struct str s);
/* The inverse; accepts only what buf_put_name writes. Returns false (`b` partly written) on other
 * input. */
bool buf_put_unnamed(struct buf *b, struct str name) must_check;

/* Puts `s` with %XX decoded, and '+' as a space when `plus_is_space`. Returns false on a bad
 * escape. */
bool buf_put_url_decoded(struct buf *b, struct str s, bool plus_is_space) must_check;
/* Puts `s` percent-encoded for a query string (RFC 3986 unreserved characters stay). */
void buf_put_url_encoded(struct buf *b, struct str s);

/* Seconds since 1970 as `2025-03-25T01:02:03`, UTC; times after the year 9999 become its last
 * second. */
void buf_put_timestamp(struct buf *b, uint64_t epoch_s);

#endif
