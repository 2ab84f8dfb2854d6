/* SPDX-License-Identifier: MIT
 * owner.c - finds the owner of the documents that a request is about. */
#include "services/documents/documents.h"

struct owner owner_of_person(struct request *r, const struct on_behalf *person)
{
    char bytes[SPACE_MAX_BYTES];
    struct buf space = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    buf_lit(&space, "o:");
    buf_put(&space, person->user_name);
    return (struct owner){.person = *person, .space = request_copy(r, buf_str(&space))};
}

bool owner_of_request(struct request *r, struct owner *ret_owner)
{
    struct on_behalf person;
    if (!on_behalf_of(r, request_param(r, "OnBehalfOf"), &person))
        return false;
    *ret_owner = owner_of_person(r, &person);
    return true;
}

struct requester owner_requester(struct request *r, const struct owner *owner)
{
    return requester_of(r, documents_of(r)->queue, &owner->person, owner->space);
}
