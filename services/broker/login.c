/* SPDX-License-Identifier: MIT
 * login.c - GET /api/login: a bearer token for whoever proves to be an account. Users of an OpenID
 * provider are none, and have a token. */
#include "services/broker/handlers.h"

#include "shared/base/clock.h"

#include <openssl/rand.h>
#include <stdlib.h>

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
    token_issue(b, &r->server->token_key, r->account->name, r->account->role, clock_wall_s(),
                TOKEN_LIFETIME_S);
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

struct key_call {
    struct turn_call call;
    struct server *server;
};

static void on_key(struct turn_call *call, enum err error, struct str reply)
{
    struct key_call *asked = H2O_STRUCT_FROM_MEMBER(struct key_call, call, call);
    struct server *server = asked->server;
    free(asked);
    if (error == ERR_OK && token_key_parse(reply, &server->token_key))
        server->has_token_key = true;
}

/* All nodes use the key that the first of them proposed; Redis keeps it. */
void broker_on_up(struct broker *broker)
{
    unsigned char random[TOKEN_KEY_BYTES];
    char hex[TOKEN_KEY_BYTES * 2 + 1];
    struct key_call *asked = calloc(1, sizeof *asked);
    if (asked == NULL || RAND_bytes(random, sizeof random) != 1)
        abort();
    str_hex(random, sizeof random, hex);
    asked->server = broker->server;
    asked->call.on_reply = on_key;
    turn_begin_plain(broker->server->turn, &asked->call, LANE_FIRST, STR("key"));
    turn_put(broker->server->turn, str_of(hex));
    turn_end(broker->server->turn);
}
