/* SPDX-License-Identifier: MIT
 * page.c - the handbook pages, at the addresses that `parley ingest` gives them: `engines.md` is
 * /handbook/engines, and README.md, the index, is /handbook/, or /handbook as people say. The pages
 * of docs/operations are in the folder /handbook/operations.
 *
 * A page is one file: its style is in it and named by its hash, so the policy lets in nothing else,
 * no script, picture or frame. The pages change with the program only, and nodes of two versions
 * may be side by side: so caches ask each time, and get 304 by the hash of the bytes. */
#include "services/web/page.h"
#include "services/web/web.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

#include <stdio.h>

enum { POLICY_MAX = 256 };

static const struct web_page *find_page(struct str folder, struct str name)
{
    for (const struct web_page *page = web_pages; page->folder != NULL; page++)
        if (str_eq(str_of(page->folder), folder) && str_eq(str_of(page->name), name))
            return page;
    return NULL;
}

void web_put_policy(struct request *r, const char *style)
{
    char policy[POLICY_MAX];
    snprintf(policy, sizeof policy,
             "default-src 'none'; style-src '%s'; base-uri 'none'; form-action 'none'; "
             "frame-ancestors 'none'",
             style);
    respond_header(r, "content-security-policy", str_of(policy));
}

static void send_page(struct request *r, struct str folder, struct str name)
{
    const struct web_page *page = find_page(folder, name);
    if (page == NULL) {
        explain(r, ERR_NOT_FOUND, "The handbook has no page %s: /handbook lists its pages.",
                explain_quoted(r, name));
        return;
    }
    web_put_policy(r, web_style_hash);
    respond_constant(r, "text/html; charset=utf-8", page->html, page->etag);
}

void web_show_index(struct request *r)
{
    send_page(r, STR(""), STR(""));
}

void web_show_page(struct request *r)
{
    send_page(r, STR(""), request_path_param(r, "page"));
}

void web_show_operations(struct request *r)
{
    send_page(r, STR("operations"), STR(""));
}

void web_show_operations_page(struct request *r)
{
    send_page(r, STR("operations"), request_path_param(r, "page"));
}
