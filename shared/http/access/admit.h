/* SPDX-License-Identifier: MIT
 *
 * admit: decides from the head of a request how much of its body to read: the route and method must
 * exist, the length must be within the route's limit, and large bodies on a route with roles need
 * proof of the sender. It reserves nothing and answers nothing (connection.c, streams.c).
 *
 * On the loop's thread.
 */
#ifndef PARLEY_HTTP_ADMIT_H
#define PARLEY_HTTP_ADMIT_H

#include "shared/http/access/proof.h"

enum {
    ADMIT_UNASKED_BYTES = 16 << 10, /* bodies up to this size are always read */
    ADMIT_PUBLIC_BYTES = 48 << 10   /* the most that an unproven client may send */
};

/* `length`: of the body; UINT64_MAX if it is not known yet. */
struct admit_ask {
    struct str method, target;
    struct str authorization, caller_key, api_key; /* values of fields; `at == NULL`: none */
    uint64_t length;
};

struct admission {
    bool is_refused;
    bool is_proven;
    /* If refused: ERR_OK leaves the answer to normal processing without the body: 404, 405 or
     * 401. */
    enum err error;
    size_t most; /* bytes of the body that are read */
};

/* Bytes that any client may send to `route` without proof; `max` is the largest body of that
 * route. */
size_t admit_unproven_most(const struct route *route, size_t max);
struct admission admit(struct server *server, const struct admit_ask *ask);

#endif
