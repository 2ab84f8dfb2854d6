/* SPDX-License-Identifier: MIT
 * on_behalf.c - see on_behalf.h. */
#include "shared/ask/on_behalf.h"

#include "shared/http/access/gate.h"
#include "shared/http/request/explain.h"

enum { NAME_MAX_BYTES = 1024 };

struct str on_behalf_name(struct request *r, struct str namespace, struct str plain)
{
    char bytes[NAME_MAX_BYTES];
    struct buf name = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    namespace_put_name(&name, namespace, plain);
    return request_copy(r, buf_str(&name));
}

bool on_behalf_any_name(struct request *r, struct str text, struct str *ret_name)
{
    struct str namespace = STR(""), plain = text;
    (void)!accounts_split_namespace(gate_accounts(r->server->gate), text, &namespace, &plain);
    if (plain.n > USER_MAX_BYTES) {
        explain(r, ERR_BAD_REQUEST, "The user must be at most 128 bytes, not %zu.", plain.n);
        return false;
    }
    *ret_name = on_behalf_name(r, namespace, plain);
    return true;
}

bool on_behalf_of(struct request *r, struct str given, struct on_behalf *ret_whom)
{
    const struct account *account = r->account;
    switch (account->role) {
    case ROLE_USER:
        if (given.at != NULL && !str_eq(given, account->name)) {
            explain(r, ERR_FORBIDDEN,
                    "This account acts for itself only, not for %s: name nobody else, or sign with "
                    "a frontend's account.",
                    explain_quoted(r, given));
            return false;
        }
        *ret_whom = (struct on_behalf){account->name, account->user_token};
        return true;
    case ROLE_FRONTEND:
        if (given.n < 1 || given.n > USER_MAX_BYTES)
            return explain_either(r, "OnBehalfOf",
                                  "the user for whom this account of role frontend acts, 1 to 128 "
                                  "bytes");
        *ret_whom = (struct on_behalf){given, on_behalf_name(r, account->namespace, given)};
        return true;
    default:
        explain(r, ERR_FORBIDDEN,
                "This account has the role %.*s: only frontend and user act for users.",
                STR_ARG(role_name(account->role)));
        return false;
    }
}
