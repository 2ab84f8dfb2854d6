/* SPDX-License-Identifier: MIT
 * app.c - the web app: its page at /app/, and the scripts and styles that this page loads. It knows
 * no account and reads nothing from Redis: what the app shows comes from the other routes.
 *
 * The policy lets the page load files of its own origin only and talk to its own origin only. With
 * Trusted Types and no policy of its own, no text can become HTML or a script in it. Browsers
 * report violations to violations.c, whose address is relative to the page. */
#include "services/web/app.h"
#include "services/web/web.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/respond.h"

#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "        \
    "'self'; "                                                                                     \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "                                \
    "require-trusted-types-for 'script'; trusted-types 'none'; report-uri violations"

static const struct web_app_file *find_file(struct str name)
{
    for (const struct web_app_file *file = web_app_files; file->name != NULL; file++)
        if (str_eq(str_of(file->name), name))
            return file;
    return NULL;
}

static void send_file(struct request *r, struct str name)
{
    const struct web_app_file *file = find_file(name);
    if (file == NULL) {
        explain(r, ERR_NOT_FOUND, "The web app of this version has no file %s: load /app/ again.",
                explain_quoted(r, name));
        return;
    }
    respond_header(r, "content-security-policy", STR(POLICY));
    respond_header(r, "referrer-policy", STR("no-referrer"));
    web_send_forms(r, file->type, &file->forms, file->is_fixed);
}

/* Its links are relative to the address with the slash: nodes may be served below a path that they
 * do not know. */
void web_show_app(struct request *r)
{
    if (r->path.at[r->path.n - 1] == '/') {
        send_file(r, STR("index.html"));
        return;
    }
    respond_header(r, "location", STR("app/"));
    respond_empty(r, 308);
}

/* Pages of any origin load it, even those that isolate themselves. */
void web_show_embed(struct request *r)
{
    respond_header(r, "cross-origin-resource-policy", STR("cross-origin"));
    send_file(r, STR("embed.js"));
}

void web_show_app_file(struct request *r)
{
    send_file(r, request_path_param(r, "file"));
}
