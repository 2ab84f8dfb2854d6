/* SPDX-License-Identifier: MIT
 * login.c - GET /api/login: a bearer token for whoever proves to be an account. Users of an OpenID
 * provider are none, and have a token. */
#include "services/broker/handlers.h"

#include "shared/base/clock.h"

static void on_nonce_used(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    if (store_refuse(r, error, lines_next(&lines), &lines))
        return;
    if (!r->server->has_token_key) {
        respond_error(r, ERR_REDIS_LOST, NULL);
        return;
    }
    struct buf *b = &r->server->scratch;
    struct str role = role_name(r->account->role);
    buf_clear(b);
    buf_lit(b, "{\"User\":");
    buf_put(b, r->account->name_json);
    buf_printf(b, ",\"Role\":\"%.*s\",\"Token\":\"", STR_ARG(role));
    token_issue(b, &r->server->token_key, r->account, clock_wall_s(), TOKEN_LIFETIME_S);
    buf_printf(b, "\",\"ExpiresIn\":%d}", TOKEN_LIFETIME_S);
    respond_json(r, 200, buf_str(b));
}

void broker_login(struct request *r)
{
    if (r->identity != NULL)
        respond_error(r, ERR_FORBIDDEN, "Users of the OpenID provider log in there.");
    else
        turn_end(request_begin_verb(r, LANE_READ, STR("nonce"), on_nonce_used));
}
