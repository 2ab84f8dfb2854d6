/* SPDX-License-Identifier: MIT
 * person.c - the user whose data a request concerns, and the check of access. */
#include "services/users/users.h"

#include "shared/http/request/explain.h"

bool person_of_path(struct request *r, struct user_of_path *ret_person)
{
    struct user_of_path person;
    struct str user = request_path_param(r, "user"), given = request_param(r, "OnBehalfOf");
    if (given.at != NULL && !str_eq(given, user)) {
        explain(r, ERR_FORBIDDEN, "OnBehalfOf is %s, and the path names %s: omit OnBehalfOf.",
                explain_quoted(r, given), explain_quoted(r, user));
        return false;
    }
    if (r->account->role == ROLE_OPERATOR) {
        person.on_behalf.user = user;
        if (!on_behalf_any_name(r, user, &person.on_behalf.user_name))
            return false;
    } else if (!on_behalf_of(r, user, &person.on_behalf)) {
        return false;
    }
    struct buf space;
    buf_init(&space, 1024);
    buf_lit(&space, "o:");
    buf_put(&space, person.on_behalf.user_name);
    person.space = request_copy(r, buf_str(&space));
    buf_fini(&space);
    struct str rest = person.on_behalf.user_name, first = str_cut(&rest, NAMESPACE_MARK);
    person.namespace = first.n < person.on_behalf.user_name.n ? first : STR("%");
    *ret_person = person;
    return true;
}
