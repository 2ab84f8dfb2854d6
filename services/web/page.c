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

static const struct web_page *find_page(struct str folder, struct str name)
{
    for (const struct web_page *page = web_pages; page->folder != NULL; page++)
        if (str_eq(str_of(page->folder), folder) && str_eq(str_of(page->name), name))
            return page;
    return NULL;
}

static void send_page(struct request *r, struct str folder, struct str name)
{
    const struct web_page *page = find_page(folder, name);
    if (page == NULL) {
        explain(r, ERR_NOT_FOUND, "The handbook has no page %s: /handbook lists its pages.",
                explain_quoted(r, name));
        return;
    }
    respond_page_policy(r, &web_page_policy);
    respond_constant(r, HTML_TYPE, page->html, page->etag);
}

/* Links of an index are relative to the address without a slash at the end. */
static void send_index(struct request *r, struct str folder, const char *without_slash)
{
    if (r->path.at[r->path.n - 1] != '/') {
        send_page(r, folder, STR(""));
        return;
    }
    respond_header(r, "location", str_of(without_slash));
    respond_empty(r, 308);
}

void web_show_index(struct request *r)
{
    send_index(r, STR(""), "../handbook");
}

void web_show_page(struct request *r)
{
    send_page(r, STR(""), request_path_param(r, "page"));
}

void web_show_operations(struct request *r)
{
    send_index(r, STR("operations"), "../operations");
}

void web_show_operations_page(struct request *r)
{
    send_page(r, STR("operations"), request_path_param(r, "page"));
}
