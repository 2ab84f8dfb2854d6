/* SPDX-License-Identifier: MIT
 *
 * str: a borrowed run of bytes, and the few things done with one. Never owns memory, never
 * assumes a terminating NUL; what must outlive its owner is copied (str_copy). Any thread.
 */
#ifndef PARLEY_BASE_STR_H
#define PARLEY_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define must_check __attribute__((warn_unused_result))

/* A borrowed run of bytes. `at` may be NULL only when `n` is 0. */
struct str {
    const char *at;
    size_t n;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
/* For printf's "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).at

static inline struct str str_of(const char *text)
{
    return (struct str){text, text == NULL ? 0 : strlen(text)};
}
/* What `at` promises, for compilers and analyzers; UBSan complains when it is broken. */
static inline void str_expect(struct str s)
{
    if (s.at == NULL && s.n > 0)
        __builtin_unreachable();
}
static inline bool str_eq(struct str a, struct str b)
{
    str_expect(a);
    str_expect(b);
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}
/* Below 0, 0 or above as `a` comes before `b`, byte by byte; a prefix comes first. */
int str_compare(struct str a, struct str b);
bool str_eq_nocase(struct str a, struct str b);
bool str_has_prefix(struct str s, struct str prefix);
struct str str_trim(struct str s);

/* A copy with a NUL behind it, for the caller to free; of an empty `s` an empty text. Aborts
 * without memory. */
char *str_copy(struct str s) must_check;

/* Cuts `*rest` at the first `sep`: returns what stands before it and moves `*rest` behind it.
 * Without a `sep` returns everything and leaves `*rest` with `at == NULL`. Called with
 * `rest->at == NULL` it returns an empty str whose `at` is NULL, so a loop ends on that. */
struct str str_cut(struct str *rest, char sep);

/* Is `name` one of the items of `list`, which are separated by commas? White space around an item
 * does not count. An empty list holds the empty item. */
bool str_is_listed(struct str list, struct str name);

/* Compares in a time that depends on the lengths only, never on where the bytes differ. */
bool str_eq_secret(struct str a, struct str b);

/* Parses a decimal number that fills `s` whole; false (and *ret_value untouched) otherwise. */
bool str_parse_u64(struct str s, uint64_t *ret_value) must_check;
/* Writes `value` in decimal, without a NUL, and returns how many digits: STR_U64_MAX at most. */
enum { STR_U64_MAX = 20 };
size_t str_put_u64(char *at, uint64_t value);
bool str_parse_double(struct str s, double *ret_value) must_check;

/* True when `s` is well-formed UTF-8 (no surrogates, no overlong forms). */
bool str_is_utf8(struct str s);

/* Hex digits, lower case; `out` gets 2 * n + 1 bytes, NUL included. */
void str_hex(const unsigned char *bytes, size_t n, char *out);
/* The same of `n` random bytes, at most STR_RANDOM_MAX_BYTES, that nobody can guess. Aborts where
 * there are none. */
enum { STR_RANDOM_MAX_BYTES = 64 };
void str_random_hex(size_t n, char *out);
/* Reads hex digits of either case into n / 2 bytes; false when `hex` is not hex of even length. */
bool str_unhex(struct str hex, unsigned char *out) must_check;

#endif
