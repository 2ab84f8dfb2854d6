/* SPDX-License-Identifier: MIT
 *
 * answer_page: a question with its answer as a page without scripts, made of what POST /ask
 * answers. The build puts its frame together from answer_page.html, page.css and front.css
 * (cmake/html_frame.pl). Pure, any thread.
 */
#ifndef PARLEY_WEB_ANSWER_PAGE_H
#define PARLEY_WEB_ANSWER_PAGE_H

#include "shared/http/request/html_frame.h"

extern const struct html_frame answer_frame;

enum { ANSWER_PAGE_MAX_BYTES = 4 << 20 };

/* Puts the box in which people ask, with `question` in it. */
void answer_page_put_box(struct buf *b, struct str question);

/* Puts the page. `json` is the body of POST /ask, an answer or a problem, from code that is not
 * trusted to be right: what it lacks is left out. Marks of the answer lead to its sources, and
 * sources to their addresses, if those are paths of this origin or http(s). */
void answer_page_put(struct buf *b, struct str question, struct str json);

#endif
