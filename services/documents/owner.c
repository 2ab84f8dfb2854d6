/* SPDX-License-Identifier: MIT
 * owner.c - finds the owner of the documents that a request is about. */
#include "services/documents/documents.h"

bool owner_of_request(struct request *r, struct owner *ret_owner)
{
    char bytes[SPACE_MAX_BYTES];
    struct buf space = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    struct owner owner;
    if (!on_behalf_of(r, request_param(r, "OnBehalfOf"), &owner.whom))
        return false;
    buf_lit(&space, "o:");
    buf_put(&space, owner.whom.user_name);
    owner.space = request_copy(r, buf_str(&space));
    *ret_owner = owner;
    return true;
}

struct requester owner_requester(struct request *r, const struct owner *owner)
{
    return requester_of(r, documents_of(r)->queue, &owner->whom, owner->space);
}
