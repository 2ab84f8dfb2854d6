/* SPDX-License-Identifier: MIT
 * error_page.c - see error_page.h. */
#include "shared/http/request/error_page.h"

#include "shared/base/html.h"

static void put_entry(struct buf *b, const char *name, struct str value)
{
    buf_printf(b, "<dt>%s</dt><dd>", name);
    buf_put_html(b, value);
    buf_lit(b, "</dd>\n");
}

void error_page_put(struct buf *b, const struct problem *problem, struct str path)
{
    buf_put(b, error_frame.head);
    buf_printf(b, "<h1>%d %s</h1>\n<p>", problem->status, err_reason(problem->status));
    buf_put_html(b, str_of(problem->detail));
    buf_lit(b, "</p>\n<dl>\n");
    put_entry(b, "Code", str_of(problem->info->code));
    put_entry(b, "Request", problem->instance);
    buf_lit(b, "</dl>\n<p><a href=\"");
    html_frame_put_root(b, path);
    buf_lit(b, "\">To the first page</a></p>\n");
    buf_put(b, error_frame.foot);
}
