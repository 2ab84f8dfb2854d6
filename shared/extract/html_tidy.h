/* SPDX-License-Identifier: MIT
 *
 * html_tidy: rewrites a web page so that gumbo builds its tree in time and memory linear in its
 * length, whatever it contains. The standard's own rules are not linear: each attribute is
 * compared with all before it, each tag looks through all open elements, and elements like <b> that
 * are never closed are opened again in each paragraph.
 *
 * What comes out has at most about HTML_TIDY_DEPTH_MAX open elements at a time; no attributes but
 * those that say what people see, and a number for the target of a link; no comments, scripts,
 * styles or noscripts, no elements that only change the font; and a "<" for nothing but a tag, so
 * that any parser finds the same tags. Entities stay as they are. One pass; pure; any thread.
 */
#ifndef PARLEY_EXTRACT_HTML_TIDY_H
#define PARLEY_EXTRACT_HTML_TIDY_H

#include "shared/base/buf.h"

/* As in browsers. Deeper elements are put beside each other: their text stays. */
/* Longer values of attributes are left out. */
enum { HTML_TIDY_DEPTH_MAX = 512, HTML_TIDY_VALUE_MAX_BYTES = 1024 };

/* Puts the page, whose bytes extend ASCII (UTF-8 is meant); six times its length is enough. */
void html_tidy(struct buf *out, struct str html);

#endif
