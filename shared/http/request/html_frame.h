/* SPDX-License-Identifier: MIT
 *
 * html_frame: the parts that all HTML pages of a node share: a frame, which the build makes of a
 * page and its style (cmake/html_frame.pl), and the policy that keeps a browser from using anything
 * else. Pure, any thread.
 */
#ifndef PARLEY_HTTP_HTML_FRAME_H
#define PARLEY_HTTP_HTML_FRAME_H

#include "shared/base/buf.h"

struct html_frame {
    struct str head, foot; /* the parts before and after the content */
    const char *style;     /* the CSP source of its only style element ("sha256-...") */
};

#define HTML_TYPE "text/html; charset=utf-8"

enum { HTML_POLICY_MAX_BYTES = 384 };

/* Everything that a page uses: its only style element and its only script element, by their hashes
 * ("sha256-..."). Its forms, if it has some, lead to its origin. */
struct html_policy {
    const char *style, *script; /* script: NULL without one */
    bool has_form;
};

/* Writes the Content-Security-Policy by which the page may use nothing else and not be framed. */
void html_policy_write(const struct html_policy *policy, char text[HTML_POLICY_MAX_BYTES]);

/* Puts the link from a page at `path` to the first page, "../../": nodes may be served below a
 * path that they do not know. `path`: as sent, from its first slash. */
void html_frame_put_root(struct buf *b, struct str path);

#endif
