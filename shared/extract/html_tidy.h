/* SPDX-License-Identifier: MIT
 *
 * html_tidy: writes a web page again in a form that any HTML parser reads in a time that grows with
 * its length alone, whatever the page holds. libxml2 compares each attribute of a tag with all
 * before it, and looks through all open elements for each end tag. Two megabytes of either kept it
 * busy for most of a minute.
 *
 * What comes out has only tags that are closed, at most HTML_TIDY_DEPTH_MAX of them open at a time,
 * and with no attributes but those that say whether people see the element; no comments,
 * declarations, scripts or styles; and a "<" for nothing but a tag. Entities stay as they are.
 * One pass; pure; any thread.
 */
#ifndef PARLEY_EXTRACT_HTML_TIDY_H
#define PARLEY_EXTRACT_HTML_TIDY_H

#include "shared/base/buf.h"

/* As in browsers. Deeper elements are put beside each other: their text stays. */
enum { HTML_TIDY_DEPTH_MAX = 512 };

/* Puts the page, whose bytes extend ASCII (UTF-8 is meant); five times its length is enough. */
void html_tidy(struct buf *out, struct str html);

#endif
