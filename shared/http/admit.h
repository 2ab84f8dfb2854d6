/* SPDX-License-Identifier: MIT
 *
 * admit: how much of a body is taken, judged by the head before the body is read: a known route and
 * method, a length within the route's limit, and for what is large on a route with roles the proof
 * of who sends it. It reserves nothing and answers nothing (connection.c, streams.c).
 *
 * On the loop's thread.
 */
#ifndef PARLEY_HTTP_ADMIT_H
#define PARLEY_HTTP_ADMIT_H

#include "shared/http/proof.h"

enum {
    ADMIT_UNASKED_BYTES = 16 << 10, /* bodies up to here are taken without a look */
    ADMIT_PUBLIC_BYTES = 48 << 10   /* the most that anybody may send unproven */
};

/* `length`: of the body; UINT64_MAX when it is not known yet. */
struct admit_ask {
    struct str method, target, authorization;
    uint64_t length;
};

struct admission {
    bool is_refused;
    bool is_proven;
    /* Refused: ERR_OK leaves the answer to the ordinary way, without the body: 404, 405 or 401. */
    enum err error;
    size_t most; /* bytes of the body that are taken */
};

/* What everybody may send to `route` without proof, `max` being the largest body of that route. */
size_t admit_unproven_most(const struct route *route, size_t max);
struct admission admit(struct server *server, const struct admit_ask *ask);

#endif
