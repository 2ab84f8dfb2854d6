/* SPDX-License-Identifier: MIT
 *
 * head: parses the head of an HTTP/1 request in a connection's input before libh2o does, to check
 * it and to learn the length of the body. Pure functions, any thread; everything borrows from the
 * bytes given.
 *
 * Stricter than libh2o 2.2 where RFC 9112 is: no folded lines, no empty target, one Host.
 */
#ifndef PARLEY_HTTP_HEAD_H
#define PARLEY_HTTP_HEAD_H

#include "shared/base/str.h"

enum {
    HEAD_FIELDS_MAX = 100,  /* libh2o's own limit */
    HEAD_PREFACE_BYTES = 24 /* of an HTTP/2 connection */
};

enum head_state {
    HEAD_UNFINISHED, /* nothing wrong so far */
    HEAD_GOOD,
    HEAD_BROKEN,
    HEAD_TOO_MANY, /* more fields than HEAD_FIELDS_MAX */
    HEAD_HTTP2     /* the preface of an HTTP/2 connection */
};

struct head {
    size_t n; /* bytes, up to the first of the body */
    struct str method, target;
    /* Values of headers with credentials: `at == NULL` without one. */
    struct str authorization, caller_key, api_key;
    unsigned minor;            /* of HTTP/1 */
    unsigned host_n, length_n; /* number of Host headers, and of headers that give the body
                                * length */
    bool has_length;
    uint64_t length; /* of Content-Length; UINT64_MAX if it is not a number */
    bool is_chunked; /* has a Transfer-Encoding */
    bool expects;    /* Expect: 100-continue */
    bool wants_h2c;  /* Upgrade: h2c */
};

/* Reads `n` bytes of input. *ret_head is filled if the result is HEAD_GOOD. */
enum head_state head_read(const char *at, size_t n, struct head *ret_head) must_check;

/* Parts of a head that head_hide removes. */
enum { HEAD_BODY = 1, HEAD_EXPECT = 2, HEAD_H2C = 4 };

/* Renames fields of a valid head of `n` bytes in place so that libh2o ignores them: those that
 * announce a body (HEAD_BODY), Expect, Upgrade. */
void head_hide(char *at, size_t n, unsigned what);

#endif
