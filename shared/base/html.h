/* SPDX-License-Identifier: MIT
 *
 * html: texts of others inside a page. Pure; any thread.
 */
#ifndef PARLEY_BASE_HTML_H
#define PARLEY_BASE_HTML_H

#include "shared/base/buf.h"

/* Puts text so that it is text in HTML: between tags, and in attributes in quotes of either
 * kind. */
void buf_put_html(struct buf *b, struct str text);

#endif
