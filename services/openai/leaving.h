/* SPDX-License-Identifier: MIT
 *
 * leaving: which query a request of a door is about, and what becomes of it when the client has
 * gone (lua/queue/doors.lua, door_leave.lua). For 2 s, or a minute once it is answered, an equal
 * request may take it over; then it is cancelled, so that its engine is free soon, or once Redis is
 * there again (owed.h). On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_LEAVING_H
#define PARLEY_SERVICES_OPENAI_LEAVING_H

#include "services/openai/openai.h"
#include "shared/ask/on_behalf.h"

enum { ASKER_BYTES = 12, DIGEST_BYTES = 16 };

struct asked {
    struct str topic;                  /* a name that lives as long as the request */
    uint64_t seq;                      /* 0: not known yet, of a topic that is kept */
    bool is_kept;                      /* the topic is, so the query stays there */
    char asker[2 * ASKER_BYTES + 1];   /* of this request alone, hex */
    char digest[2 * DIGEST_BYTES + 1]; /* equal requests have the same */
    char first[2 * ASKER_BYTES + 1];   /* the asker that the query was made for: names its answer */
};

enum leaving_how {
    LEAVING_LEFT,
    LEAVING_SERVED,    /* the client has the whole answer */
    LEAVING_WITHDRAWN, /* nobody sends the request again: the query is cancelled at once */
};

/* For a request of that person, Api, form ("" or as job_form names it) and body, without its
 * `client_metadata`; equal ones find each other. `topic`: that keeps it;
 * at == NULL: a new one, whose name begins with `prefix`, and which is kept or not. */
void asked_init(struct asked *asked, struct request *r, const struct on_behalf *person,
                enum openai_api api, struct str form, struct str topic, const char *prefix,
                bool is_kept);
/* `asked` is copied. */
void leaving_start(struct openai *openai, const struct asked *asked, enum leaving_how how);
#endif
