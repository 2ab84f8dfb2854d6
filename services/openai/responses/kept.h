/* SPDX-License-Identifier: MIT
 *
 * kept: a response that is kept, as the verb response_show returns it (lua/queue/responses.lua).
 * Borrows from the reply, and has texts in the request's pool. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_KEPT_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_KEPT_H

#include "generated/verbs.h"
#include "services/openai/completion_id.h"
#include "services/openai/responses/events.h"
#include "shared/ask/on_behalf.h"
#include "shared/queue/lines.h"

struct kept {
    struct outcome outcome; /* of one that has not ended the status and the row; its answer may be
                             * without texts, which are in the deltas */
    bool is_background;
    bool has_begun_again;        /* events have other numbers than before */
    bool is_packed;              /* its deltas are */
    size_t request_bytes;        /* that its engine got */
    struct json_member *members; /* of its request; none with RESPONSE_SHOW_SENT */
    size_t member_n;
    struct str model;  /* as its client named it */
    struct str deltas; /* of one that is Done: each on a line */
    struct str text;   /* its request, or with RESPONSE_SHOW_SENT what its engine got: JSON */
};

/* Asks for the response `id`. */
void kept_show(struct request *r, const struct on_behalf *person, const struct completion_id *id,
               enum verb_response_show_what what, request_reply_cb *on_reply);
/* Reads the reply to that. Answers what is refused, 404 for a response that is not there, or not
 * theirs, and returns false. `name`: the id as the client wrote it. */
bool kept_read(struct request *r, enum err error, struct str reply, struct str name,
               struct kept *ret_kept) must_check;
/* 404 for it. */
void kept_explain_missing(struct request *r, struct str name);

/* Gives the last member of that name and kind, or NULL. */
const struct json_span *kept_member(const struct kept *kept, const char *name, enum json_kind kind);
/* Gives events the deltas, and what its engine said at the end. */
void kept_replay(const struct kept *kept, struct events *events);

/* Returns the items of one that is Done, as inside a list, in the request's pool. `id`: of the
 * response, without its prefix, for theirs. */
struct str kept_items(struct request *r, const struct kept *kept, struct str id);

/* Puts deltas as response_keep takes them. */
void kept_pack(struct buf *b, struct str deltas);

#endif
