/* SPDX-License-Identifier: MIT
 *
 * repeated: a streamed text that is generated again after its engine was lost, where equal requests
 * have equal answers (`seed`, or `temperature` 0): what the client has already is left out, as long
 * as it is the same. In its owner; single thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_REPEATED_H
#define PARLEY_SERVICES_OPENAI_REPEATED_H

#include "services/openai/openai.h"

struct repeated {
    struct buf sent; /* the text that the client has, as it is escaped */
    size_t at;       /* so much of it has come again */
    bool is_again;   /* the rest is to come again */
    bool has_more;   /* than text was sent */
};

enum repeated_part {
    REPEATED_ALL,     /* the delta is for the client */
    REPEATED_NOTHING, /* the client has it */
    REPEATED_REST,    /* of its text, the rest */
    REPEATED_DIFFERS, /* this is another answer */
};

void repeated_init(struct repeated *repeated);
void repeated_fini(struct repeated *repeated);
/* Another claim begins. Returns false if its answer cannot be compared. */
bool repeated_begin(struct repeated *repeated) must_check;
/* Reads the next delta. *ret_rest: of REPEATED_REST, as it is escaped; borrowed from it. */
enum repeated_part repeated_take(struct repeated *repeated, struct str delta, struct str *ret_rest);
/* At its end: returns whether not all that the client has came again. */
bool repeated_is_short(const struct repeated *repeated);

#endif
