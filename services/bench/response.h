/* SPDX-License-Identifier: MIT
 *
 * response: reads one HTTP/1.1 response and the few JSON members that a cycle needs out of the
 * bytes where they lie, because whatever the client spends is taken from the node that it measures.
 * It trusts nothing: every length is checked, a broken answer is said to be broken. Pure functions.
 */
#ifndef PARLEY_BENCH_RESPONSE_H
#define PARLEY_BENCH_RESPONSE_H

#include "shared/base/str.h"

enum { BENCH_HEAD_MAX_BYTES = 16384, BENCH_BODY_MAX_BYTES = 4 << 20 };

struct bench_response {
    int status;
    struct str body; /* borrowed from the buffer that was read */
    size_t size;     /* bytes of the buffer that it takes up */
    bool is_last;    /* the peer closes the connection after it */
};

enum bench_response_outcome { BENCH_RESPONSE_PARTIAL, BENCH_RESPONSE_WHOLE, BENCH_RESPONSE_BROKEN };

/* Reads the response that starts at `at`. A chunked body is put together in place, once it is there
 * whole, which is why the bytes are not const. PARTIAL: call again with more of it. */
enum bench_response_outcome bench_response_parse(char *at, size_t n,
                                                 struct bench_response *ret_response) must_check;

/* Returns the length of the head at `at` if it is whole and that of a 200 whose body comes in
 * chunks; 0 otherwise. */
size_t bench_response_stream_head(const char *at, size_t n);
/* The same of a 101, after which come no responses any more. */
size_t bench_response_switch_head(const char *at, size_t n);
/* Reads the chunk that starts at `at`: its data, borrowed, and the bytes that it takes up. One
 * without data is the last. */
enum bench_response_outcome bench_response_chunk(const char *at, size_t n, struct str *ret_data,
                                                 size_t *ret_size) must_check;

/* The raw text of the member `name` of the JSON object `json`: strings with their quotes, escapes
 * as they were sent. False when `json` is no object, is cut short, or has no such member at its
 * top. Names are compared as they were sent. The result is borrowed from `json`. */
bool bench_json_member(struct str json, struct str name, struct str *ret_value) must_check;

/* Takes the first member off `json`, an object: raw name (with quotes) and raw value. */
bool bench_json_first_member(struct str json, struct str *ret_name,
                             struct str *ret_value) must_check;

/* Steps from a raw array to its first element. False when *rest is no array. */
bool bench_json_enter_array(struct str *rest) must_check;
/* Takes the next element off an array that was entered; `at == NULL` at its end or where it is
 * broken. */
struct str bench_json_next(struct str *rest);

#endif
