/* SPDX-License-Identifier: MIT
 *
 * error_page: an error as a page, for requests that prefer text/html. The build puts its frame
 * together from error_page.html, page.css and error_page.css (cmake/html_frame.pl). Pure, any
 * thread.
 */
#ifndef PARLEY_HTTP_ERROR_PAGE_H
#define PARLEY_HTTP_ERROR_PAGE_H

#include "shared/http/request/html_frame.h"
#include "shared/http/request/problem.h"

extern const struct html_frame error_frame;

/* `path`: of the request, as sent; the page leads from there to the first page. */
void error_page_put(struct buf *b, const struct problem *problem, struct str path);

#endif
