/* SPDX-License-Identifier: MIT
 *
 * str: a borrowed byte string and its operations. It never owns memory and never assumes a
 * terminating NUL; copy what must outlive its owner (str_copy). Any thread.
 */
#ifndef PARLEY_BASE_STR_H
#define PARLEY_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define must_check __attribute__((warn_unused_result))

/* A borrowed byte string. `at` may be NULL only if `n` is 0. */
struct str {
    const char *at;
    size_t n;
};

#define STR(literal) ((struct str){"" literal, sizeof(literal) - 1})
/* For printf's "%.*s". */
#define STR_ARG(s) (int)(s).n, (s).at
/* For printf's "%llu %s", evaluating `n` twice: "1 turn", "2 turns"; "1 query", "2 queries". */
#define COUNTED(n, one) COUNTED_AS(n, one, one "s")
#define COUNTED_AS(n, one, many) (unsigned long long)(n), (n) == 1 ? one : many

static inline struct str str_of(const char *text)
{
    return (struct str){text, text == NULL ? 0 : strlen(text)};
}
/* States the invariant of `at` for compilers and analysers; UBSan reports a violation. */
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
/* Compares byte by byte, with the sign convention of memcmp; a prefix sorts first. */
int str_compare(struct str a, struct str b);
bool str_eq_nocase(struct str a, struct str b);
bool str_has_prefix(struct str s, struct str prefix);
/* Every text holds an empty one. */
bool str_holds(struct str s, struct str part);
struct str str_trim(struct str s);

/* Returns a NUL-terminated copy that the caller frees, also for an empty `s`. Aborts when out of
 * memory. */
char *str_copy(struct str s) must_check;

/* Cuts `*rest` at the first `sep`: returns the part before it and leaves the part after it in
 * `*rest`. Without a `sep` returns everything and leaves `*rest` with `at == NULL`. Called with
 * `rest->at == NULL` it returns an empty str whose `at` is NULL, which ends a loop. */
struct str str_cut(struct str *rest, char sep);

/* Returns whether `name` is an item of the comma-separated `list`. White space around items is
 * ignored. An empty list has one empty item. */
bool str_is_listed(struct str list, struct str name);

/* Compares in constant time: the duration depends only on the lengths. */
bool str_eq_secret(struct str a, struct str b);

/* Parses a decimal number that spans all of `s`; otherwise returns false and leaves *ret_value
 * untouched. */
bool str_parse_u64(struct str s, uint64_t *ret_value) must_check;
/* Writes `value` in decimal, without a NUL, and returns the number of digits, at most
 * STR_U64_MAX. */
enum { STR_U64_MAX = 20 };
size_t str_put_u64(char *at, uint64_t value);
bool str_parse_double(struct str s, double *ret_value) must_check;

/* True when `s` is well-formed UTF-8 (no surrogates, no overlong forms). */
bool str_is_utf8(struct str s);

/* Hex digits, lower case; `out` gets 2 * n + 1 bytes, NUL included. */
void str_hex(const unsigned char *bytes, size_t n, char *out);
/* The same for `n` (at most STR_RANDOM_MAX_BYTES) cryptographically random bytes. Aborts if the
 * system has none. */
enum { STR_RANDOM_MAX_BYTES = 64 };
void str_random_hex(size_t n, char *out);
/* A random UUID (RFC 9562, version 4) in lower case, and whether `s` is a UUID in lower case. `out`
 * gets a NUL as well. */
enum { STR_UUID_BYTES = 36 };
void str_random_uuid(char out[STR_UUID_BYTES + 1]);
bool str_is_uuid(struct str s);
/* Reads hex digits of either case into n / 2 bytes; returns false if `hex` is not hex of even
 * length. */
bool str_unhex(struct str hex, unsigned char *out) must_check;

#endif
