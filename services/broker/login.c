/* SPDX-License-Identifier: MIT
 * login.c - GET /api/login: a bearer token for an account that signs. A token does not get another
 * one, or a stolen one would be good forever. Users of an OpenID provider are no accounts, and have
 * a token. */
#include "services/broker/handlers.h"

#include "shared/base/clock.h"

void broker_login(struct request *r)
{
    if (r->identity != NULL) {
        respond_error(r, ERR_FORBIDDEN, "Users of the OpenID provider log in there.");
        return;
    }
    if (!r->is_signed) {
        respond_error(r, ERR_UNAUTHORIZED,
                      "A token does not renew itself: log in with User, Nonce and Hash.");
        return;
    }
    if (!r->server->gate.has_token_key) {
        respond_error(r, ERR_REDIS_LOST, NULL);
        return;
    }
    struct buf *b = &r->server->scratch;
    struct str role = role_name(r->account->role);
    buf_clear(b);
    buf_lit(b, "{\"User\":");
    buf_put(b, r->account->name_json);
    buf_printf(b, ",\"Role\":\"%.*s\",\"Token\":\"", STR_ARG(role));
    token_issue(b, &r->server->gate.token_key, r->account, clock_wall_s(), TOKEN_LIFETIME_S);
    buf_printf(b, "\",\"ExpiresIn\":%d}", TOKEN_LIFETIME_S);
    respond_json(r, 200, b); /* once the nonce is used up */
}
