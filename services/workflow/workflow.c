/* SPDX-License-Identifier: MIT
 * workflow.c - the user that a request acts for, and the session of its texts (workflow.h). */
#include "services/workflow/workflow.h"

#include <openssl/sha.h>

enum { SID_INPUT_MAX = 2048 };

bool workflow_is_open(const struct request *r)
{
    return workflow_of(r)->settings->is_public;
}

bool workflow_who_of(struct request *r, struct str given, struct workflow_who *ret_who)
{
    struct on_behalf person;
    if (r->account == NULL) {
        *ret_who = (struct workflow_who){STR("-"), STR("anonymous"), STR("anonymous"), STR("")};
        return true;
    }
    if (!on_behalf_of(r, given, &person))
        return false;
    *ret_who = (struct workflow_who){r->account->name_token, person.user, person.user_name,
                                     role_name(r->account->role)};
    return true;
}

void workflow_sid(struct str account, struct str user_name, struct str session_id, char *ret_sid)
{
    char bytes[SID_INPUT_MAX];
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct buf b = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_put(&b, account);
    buf_put_char(&b, 0);
    buf_put(&b, user_name);
    buf_put_char(&b, 0);
    buf_put(&b, session_id);
    SHA256((const unsigned char *)b.at, b.n, digest);
    str_hex(digest, WORKFLOW_SID_BYTES / 2, ret_sid);
}
