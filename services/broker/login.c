/* SPDX-License-Identifier: MIT
 * login.c - GET /api/login: a bearer token for an account that signs, or that sends its secret,
 * which an account with a hashed secret must (shared/auth/secret.h). A token cannot be used to get
 * another one, because a stolen token would then be valid forever. Users of an OpenID provider have
 * no account and already have a token. */
#include "services/broker/handlers.h"

#include "shared/base/clock.h"

#include "shared/http/access/gate.h"

void broker_login(struct request *r)
{
    if (r->identity != NULL) {
        respond_error(r, ERR_FORBIDDEN,
                      "This route is for configured accounts: users of the OpenID provider log in "
                      "at the provider.");
        return;
    }
    if (!r->is_signed && !r->has_secret) {
        respond_error(r, ERR_UNAUTHORIZED,
                      "A token cannot be used to log in: send User, Nonce and Hash.");
        return;
    }
    if (!r->server->gate->has_token_key) {
        respond_error(r, ERR_REDIS_LOST, NULL);
        return;
    }
    struct buf *b = &r->server->scratch;
    struct str role = role_name(r->account->role);
    buf_clear(b);
    buf_lit(b, "{\"User\":");
    buf_put(b, r->account->name_json);
    buf_printf(b, ",\"Role\":\"%.*s\",\"Token\":\"", STR_ARG(role));
    token_issue(b, &r->server->gate->token_key, r->account, clock_wall_s(), TOKEN_LIFETIME_S);
    buf_printf(b, "\",\"ExpiresIn\":%d}", TOKEN_LIFETIME_S);
    respond_json(r, 200, b); /* once the nonce is used up */
}
