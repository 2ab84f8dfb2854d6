/* SPDX-License-Identifier: MIT
 *
 * problem: writes an error as a response body. Most routes answer with a problem document (RFC
 * 9457); a route whose clients expect another form names its own writer in its row (struct route).
 * Pure.
 */
#ifndef PARLEY_HTTP_PROBLEM_H
#define PARLEY_HTTP_PROBLEM_H

#include "shared/base/buf.h"
#include "shared/base/err.h"

struct request;

struct problem {
    const struct err_info *info;
    int status;              /* may be one of libh2o's own */
    const char *detail;      /* for people */
    const char *members;     /* further members as JSON; NULL: none */
    struct str instance;     /* the request's id */
    struct request *request; /* for writers that look at its headers; NULL: it was not read */
};

/* Puts the body and returns its content type, a constant. */
typedef const char *problem_writer(struct buf *b, const struct problem *problem);

problem_writer problem_put;
/* All of its members without the closing brace, for writers that add some. */
void problem_put_members(struct buf *b, const struct problem *problem);
/* The same without type, title and the opening brace, as used in events. */
void problem_put_facts(struct buf *b, const struct problem *problem);

/* Fills the empty `b` with `writer`, or problem_put if that is NULL. If an overlong detail makes it
 * overflow, it becomes a problem without a detail. */
const char *problem_write(struct buf *b, problem_writer *writer, const struct problem *problem);

#endif
