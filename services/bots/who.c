/* SPDX-License-Identifier: MIT
 * who.c - the user that a request acts for, and names for keys (see bots.h). */
#include "services/bots/bots.h"

#include "services/bots/skeleton.h"
#include "shared/http/request/respond.h"

#include "shared/base/mem.h"

struct str bots_namespace_of(struct request *r)
{
    char bytes[BOTS_NAME_MAX_BYTES];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_put_name(&b, r->account->namespace);
    return request_copy(r, buf_str(&b));
}

bool bots_who_of(struct request *r, struct bots_who *ret_who)
{
    struct on_behalf person;
    if (!on_behalf_of(r, request_param(r, "OnBehalfOf"), &person))
        return false;
    *ret_who = (struct bots_who){r->account->name_token, bots_namespace_of(r), person.user,
                                 person.user_name, role_name(r->account->role)};
    return true;
}

bool bots_speaker_of(struct request *r, struct bots_who *ret_who)
{
    if (!bots_who_of(r, ret_who))
        return false;
    if (skeleton_is_same(ret_who->user, BOTS_ANNEX)) {
        respond_error(r, ERR_NAME_TAKEN, BOTS_TAKEN_BY_ANNEX);
        return false;
    }
    return true;
}

static struct str keep(char **at, struct str text)
{
    char *copy = *at;
    if (text.n > 0)
        memcpy(copy, text.at, text.n);
    *at += text.n;
    return (struct str){copy, text.n};
}

char *bots_who_copy(const struct bots_who *who, struct bots_who *ret_copy)
{
    char *own = mem_alloc(1 + who->account.n + who->namespace.n + who->user.n + who->user_name.n +
                          who->role.n);
    char *at = own;
    ret_copy->account = keep(&at, who->account);
    ret_copy->namespace = keep(&at, who->namespace);
    ret_copy->user = keep(&at, who->user);
    ret_copy->user_name = keep(&at, who->user_name);
    ret_copy->role = keep(&at, who->role);
    return own;
}

void bots_put_name(struct buf *b, struct str namespace, struct str plain)
{
    if (!str_eq(namespace, STR("%"))) {
        buf_put(b, namespace);
        buf_put_char(b, NAMESPACE_MARK);
    }
    buf_put_name(b, plain);
}

void bots_put_skeleton(struct buf *b, struct str namespace, struct str plain)
{
    char skeleton[SKELETON_CHARS + 1];
    skeleton_of(plain, skeleton);
    bots_put_name(b, namespace, str_of(skeleton));
}
