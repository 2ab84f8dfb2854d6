/* SPDX-License-Identifier: MIT
 *
 * question_id: the id of a question that waits for a person, `<session>.<run>.<step>`: the
 * session's 32 hex digits, then the numbers of the run and of the step. It is safe in URLs and in
 * keys. Pure functions, any thread.
 */
#ifndef PARLEY_WORKFLOW_APPROVALS_QUESTION_ID_H
#define PARLEY_WORKFLOW_APPROVALS_QUESTION_ID_H

#include "shared/base/buf.h"

enum { QUESTION_SESSION_CHARS = 32, QUESTION_NUMBER_CHARS = 15, QUESTION_ID_MAX_BYTES = 64 };

struct question_id {
    struct str session; /* borrowed from the text */
    uint64_t run, step; /* below 10^15; run is at least 1 */
};

/* Reads an id in its only spelling. Otherwise returns false and leaves *ret_id untouched. */
bool question_id_parse(struct str text, struct question_id *ret_id) must_check;
void question_id_put(struct buf *b, const struct question_id *id);

#endif
