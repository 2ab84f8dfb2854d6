/* SPDX-License-Identifier: MIT
 * on_behalf.c - see on_behalf.h. */
#include "shared/ask/on_behalf.h"

#include "shared/http/respond.h"

enum { NAME_MAX_BYTES = 1024 };

struct str on_behalf_name(struct request *r, struct str namespace, struct str plain)
{
    char bytes[NAME_MAX_BYTES];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    namespace_put_name(&name, namespace, plain);
    return request_copy(r, buf_str(&name));
}

static bool refuse(struct request *r, enum err error, const char *detail)
{
    respond_error(r, error, detail);
    return false;
}

bool on_behalf_any_name(struct request *r, struct str text, struct str *ret_name)
{
    struct str namespace = STR(""), plain = text;
    (void)!accounts_split_namespace(gate_accounts(&r->server->gate), text, &namespace, &plain);
    if (plain.n > USER_MAX_BYTES)
        return refuse(r, ERR_BAD_REQUEST, "The user must be at most 128 bytes.");
    *ret_name = on_behalf_name(r, namespace, plain);
    return true;
}

bool on_behalf_of(struct request *r, struct str given, struct on_behalf *ret_whom)
{
    const struct account *account = r->account;
    switch (account->role) {
    case ROLE_USER:
        if (given.at != NULL && !str_eq(given, account->name))
            return refuse(r, ERR_FORBIDDEN,
                          "This account acts for itself only: it cannot name another user.");
        *ret_whom = (struct on_behalf){account->name, account->user_token};
        return true;
    case ROLE_FRONTEND:
        if (given.n < 1 || given.n > USER_MAX_BYTES)
            return refuse(r, ERR_BAD_REQUEST, "OnBehalfOf must be 1 to 128 bytes.");
        *ret_whom = (struct on_behalf){given, on_behalf_name(r, account->namespace, given)};
        return true;
    default: return refuse(r, ERR_FORBIDDEN, NULL);
    }
}
