/* SPDX-License-Identifier: MIT
 *
 * problem: how an error is written as a body. Most routes answer with a problem document (RFC
 * 9457); one whose clients expect another form names its own writer in its row (struct route).
 * Pure.
 */
#ifndef PARLEY_HTTP_PROBLEM_H
#define PARLEY_HTTP_PROBLEM_H

#include "shared/base/buf.h"
#include "shared/base/err.h"

struct problem {
    const struct err_info *info;
    int status;          /* which may be one of libh2o's own */
    const char *detail;  /* for people */
    const char *members; /* more of them, as they stand in JSON; NULL: none */
    struct str instance; /* the request's id */
};

/* Puts the body and returns its content type, a constant. */
typedef const char *problem_writer(struct buf *b, const struct problem *problem);

problem_writer problem_put;
/* All of its members without the closing brace, for writers that add some. */
void problem_put_members(struct buf *b, const struct problem *problem);
/* The same without type, title and the opening brace: what an event has, too. */
void problem_put_facts(struct buf *b, const struct problem *problem);

/* Fills the empty `b` by `writer`, or by problem_put when that is NULL. What overflows, because of
 * a detail that a caller made far too long, becomes a problem without one. */
const char *problem_write(struct buf *b, problem_writer *writer, const struct problem *problem);

#endif
