/* SPDX-License-Identifier: MIT
 * html_frame.c - see html_frame.h. */
#include "shared/http/request/html_frame.h"

#include <stdio.h>

void html_policy_write(const struct html_policy *policy, char text[HTML_POLICY_MAX_BYTES])
{
    snprintf(text, HTML_POLICY_MAX_BYTES,
             "default-src 'none'; style-src '%s'; script-src '%s'; base-uri 'none'; "
             "form-action '%s'; frame-ancestors 'none'",
             policy->style, policy->script == NULL ? "none" : policy->script,
             policy->has_form ? "self" : "none");
}

void html_frame_put_root(struct buf *b, struct str path)
{
    size_t slashes = 0;
    for (size_t i = 0; i < path.n; i++)
        slashes += path.at[i] == '/';
    if (slashes < 2)
        buf_lit(b, "./");
    for (size_t i = 1; i < slashes; i++)
        buf_lit(b, "../");
}
