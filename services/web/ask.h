/* SPDX-License-Identifier: MIT
 *
 * ask: GET /?q=, a question to the public collection from the box on the first page. It is POST
 * /ask, with its limits, which this node answers itself (inner.h); a node without the document
 * service has no box. On the loop's thread.
 */
#ifndef PARLEY_WEB_ASK_H
#define PARLEY_WEB_ASK_H

#include "shared/http/request/request.h"

/* Returns whether this node answers POST /ask. */
bool web_can_ask(const struct request *r);
/* Answers with a page, when the answer is there. `question` lives as long as the request. */
void web_ask(struct request *r, struct str question);

#endif
