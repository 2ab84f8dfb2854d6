/* SPDX-License-Identifier: MIT
 *
 * registry: registers, lists, rotates and removes bots, for HTTP routes and for the commands of
 * `@annex` alike. The registry is in Redis, on the cluster's shard (lua/bots); nothing is kept
 * here. On the loop's thread.
 *
 * An operation that has begun comes to its end although the one who waits for it has left: only its
 * callback does not run then. A bot that was registered for somebody who left has keys that nobody
 * has seen: they are rotated, or the bot is removed.
 */
#ifndef PARLEY_BOTS_REGISTRY_REGISTRY_H
#define PARLEY_BOTS_REGISTRY_REGISTRY_H

#include "services/bots/registry/keys.h"
#include "shared/auth/accounts.h"
#include "shared/base/err.h"

struct bots;
struct request;

enum { BOT_EMULATES_MAX_BYTES = 128, BOTS_PER_NAMESPACE = 1000, BOTS_PER_REGISTRANT = 50 };

/* The account and user who act. Borrowed until the function returns. */
struct registrant {
    struct str account;   /* a name (account->name_token) */
    struct str user_name; /* a name with its namespace */
    struct str namespace; /* a name, "%" without one (struct bots_who) */
    enum role role;       /* an operator changes bots of others, in all namespaces */
};

/* Finds the account and user of this request: the user that it is for, or an operator, who acts for
 * nobody else. Answers 400 or 403 and returns false otherwise. Texts live as long as the
 * request. */
bool registrant_of_request(struct request *r, struct registrant *ret_registrant) must_check;

/* A registration as clients give it. Borrowed until the function returns. */
struct registration {
    struct str username;
    struct str emulates; /* the person; n == 0: nobody */
    struct str endpoint; /* a URL, "parley:MODEL", or n == 0: it pulls */
    struct str format;   /* "annex", "zulip", or n == 0: annex */
    struct str key;      /* once_key of the request; n == 0: none */
};

/* The outcome of a registration or a rotation. Valid inside the callback, which must show the keys
 * to nobody except the one who acted. */
struct grant {
    enum err error;     /* ERR_OK: the rest is set */
    const char *detail; /* a sentence about the error; NULL: the error's own text */
    struct str username, caller_key, signing_secret;
    bool pulls;
};
typedef void grant_cb(void *context, const struct grant *grant);

/* Receives the outcome of a removal. */
typedef void removed_cb(void *context, enum err error, const char *detail);

/* One bot of a list. Valid inside the callback. */
struct listed_bot {
    struct str name;     /* with its namespace */
    struct str username; /* a JSON string */
    struct str emulates; /* a JSON string; "null": nobody */
    struct str endpoint; /* "": it pulls */
    struct str format;   /* "annex" or "zulip" */
    struct str account;  /* of its registrant: names */
    struct str user_name;
    uint64_t generation, created_ms;
    bool is_own; /* of the one who asked */
};
/* `bots` in the order of their names. `next`: the cursor of the next page, n == 0: there is none.
 */
typedef void listed_cb(void *context, enum err error, const struct listed_bot *bots, size_t n,
                       struct str next);

struct registry_call; /* one operation; ends itself after its callback */

/* Each runs its callback once, never inside the function, unless registry_leave comes first.
 *
 * Errors of a registration: ERR_BAD_REQUEST (username, emulates, format), ERR_BAD_ENDPOINT,
 * ERR_NAME_TAKEN (also by a name that looks like it), ERR_RATE_LIMITED (the account and user, or
 * the account, have as many as they may), ERR_NAMESPACE_FULL, ERR_FORBIDDEN (a role that may not),
 * and those of the store. */
struct registry_call *registry_register(struct bots *bots, const struct registrant *who,
                                        const struct registration *registration, grant_cb *on_grant,
                                        void *context);
/* `name`: with its namespace (bots_put_name). ERR_NOT_FOUND, ERR_BOT_NOT_YOURS, or of the store. */
struct registry_call *registry_rotate(struct bots *bots, const struct registrant *who,
                                      struct str name, grant_cb *on_grant, void *context);
struct registry_call *registry_remove(struct bots *bots, const struct registrant *who,
                                      struct str name, removed_cb *on_removed, void *context);
/* Bots of the registrant's namespace, at most `limit` (1 to 1,000), after the cursor `after`. */
struct registry_call *registry_list(struct bots *bots, const struct registrant *who, uint64_t limit,
                                    struct str after, listed_cb *on_listed, void *context);
/* Nobody waits for the callback any more. Accepts NULL. */
void registry_leave(struct registry_call *call);

/* The keys of this cluster's bots. ERR_REDIS_LOST while this node has not received the token key.
 */
enum err registry_keys(const struct bots *bots, struct bot_keys *ret_keys) must_check;

#endif
