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

enum { HTML_POLICY_MAX_BYTES = 256 };

/* Writes the Content-Security-Policy of a page whose only style element has the hash `style`. The
 * page may not load resources, run scripts or be framed. Its forms, if it has some, lead to its
 * origin. */
void html_frame_policy(const char *style, bool has_form, char policy[HTML_POLICY_MAX_BYTES]);

/* Puts the link from a page at `path` to the first page, "../../": nodes may be served below a
 * path that they do not know. `path`: as sent, from its first slash. */
void html_frame_put_root(struct buf *b, struct str path);

#endif
