/* SPDX-License-Identifier: MIT
 *
 * caller_key: the header X-CALLER-KEY as the credential of a bot. Routes that bots may use name
 * caller_key_is_open in their row; their handler then begins with caller_start if the request has
 * no account:
 *
 *     if (r->account == NULL) {
 *         caller_start(r, on_caller);
 *         return;
 *     }
 *
 * Failures are counted as those of other credentials are. On the loop's thread.
 */
#ifndef PARLEY_BOTS_REGISTRY_CALLER_KEY_H
#define PARLEY_BOTS_REGISTRY_CALLER_KEY_H

#include "services/bots/registry/keys.h"
#include "shared/http/request/request.h"

/* A bot that has proved itself. Texts live as long as the request. */
struct caller {
    struct str name;      /* with its namespace: as in keys */
    struct str username;  /* without it */
    struct str id;        /* of its registration */
    struct str account;   /* of its registrant, a name */
    struct str user_name; /* of its registrant, a name with its namespace */
    struct str format;    /* "annex" or "zulip" */
    bool pulls;           /* it has no endpoint */
};

/* Returns whether the request has the header. */
bool caller_key_is_open(const struct request *r);

/* Returns whether `key` was made by this cluster (struct route's is_caller_key). */
bool caller_key_is_ours(const struct server *server, struct str key);

typedef void caller_cb(struct request *r, const struct caller *caller);
/* Checks the key, then the registry. `on_caller` runs once, never inside this function, unless the
 * request was answered: 401 for a key that is wrong, that is of a bot that no longer exists, or
 * that was replaced more than an hour ago; or an error of the store. */
void caller_start(struct request *r, caller_cb *on_caller);

#endif
