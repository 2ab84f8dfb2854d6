/* SPDX-License-Identifier: MIT
 * who.c - whom a request acts for, and names for keys (see bots.h). */
#include "services/bots/bots.h"

struct str bots_namespace_of(struct request *r)
{
    char bytes[BOTS_NAME_MAX_BYTES];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_put_name(&b, r->account->namespace);
    return request_copy(r, buf_str(&b));
}

bool bots_who_of(struct request *r, struct bots_who *ret_who)
{
    struct on_behalf whom;
    if (!on_behalf_of(r, request_param(r, "OnBehalfOf"), &whom))
        return false;
    *ret_who = (struct bots_who){r->account->name_token, bots_namespace_of(r), whom.user,
                                 whom.user_name, role_name(r->account->role)};
    return true;
}

void bots_put_name(struct buf *b, struct str namespace, struct str plain)
{
    if (!str_eq(namespace, STR("%"))) {
        buf_put(b, namespace);
        buf_put_char(b, NAMESPACE_MARK);
    }
    buf_put_name(b, plain);
}
