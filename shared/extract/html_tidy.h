/* SPDX-License-Identifier: MIT
 *
 * html_tidy: rewrites a web page so that any HTML parser reads it in time linear in its length,
 * whatever it contains. libxml2 compares each attribute of a tag with all before it, and looks
 * through all open elements for each end tag. Two megabytes of either kept it busy for most of a
 * minute.
 *
 * What comes out has only tags that are closed, at most HTML_TIDY_DEPTH_MAX of them open at a time,
 * and with no attributes but those that say whether people see the element, and the ids of
 * headings; no comments, declarations, scripts or styles; and a "<" for nothing but a tag. Entities
 * stay as they are. One pass; pure; any thread.
 */
#ifndef PARLEY_EXTRACT_HTML_TIDY_H
#define PARLEY_EXTRACT_HTML_TIDY_H

#include "shared/base/buf.h"

/* As in browsers. Deeper elements are put beside each other: their text stays. */
/* Longer values of attributes are left out. */
enum { HTML_TIDY_DEPTH_MAX = 512, HTML_TIDY_VALUE_MAX_BYTES = 64 };

/* Puts the page, whose bytes extend ASCII (UTF-8 is meant); five times its length is enough. */
void html_tidy(struct buf *out, struct str html);

#endif
