/* SPDX-License-Identifier: MIT
 * me.c - GET /api/me: who the request is from. What a provider's token says is told at once; a
 * signed query has a nonce to be used up first. */
#include "services/documents/handlers.h"

static void put_text(struct buf *b, struct str text)
{
    if (text.at == NULL)
        buf_lit(b, "null");
    else
        buf_put_json(b, text);
}

static void tell(struct request *r)
{
    struct buf *b = &r->server->scratch;
    const struct identity *identity = r->identity;
    struct str role = role_name(r->account->role);
    buf_clear(b);
    buf_lit(b, "{\"id\":");
    buf_put(b, r->account->name_json);
    buf_lit(b, ",\"username\":");
    buf_put_json(b, identity == NULL ? r->account->name : identity->username);
    buf_lit(b, ",\"email\":");
    put_text(b, identity == NULL ? (struct str){NULL, 0} : identity->email);
    buf_lit(b, ",\"roles\":");
    if (identity == NULL)
        buf_printf(b, "[\"%.*s\"]", STR_ARG(role));
    else
        buf_put(b, identity->roles_json);
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

static void on_nonce_used(struct request *r, enum err error, struct str reply)
{
    if (error != ERR_OK)
        respond_error(r, error, NULL);
    else
        tell(r);
}

void documents_me(struct request *r)
{
    if (r->is_signed)
        turn_end(request_begin_verb(r, LANE_READ, STR("nonce"), on_nonce_used));
    else
        tell(r);
}
