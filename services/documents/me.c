/* SPDX-License-Identifier: MIT
 * me.c - GET /api/me: who the request is from. */
#include "services/documents/handlers.h"

static void put_text(struct buf *b, struct str text)
{
    if (text.at == NULL)
        buf_lit(b, "null");
    else
        buf_put_json(b, text);
}

void documents_me(struct request *r)
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
