/* SPDX-License-Identifier: MIT
 * openapi.c - GET /openapi.yaml: the description of all routes, for programs that make clients from
 * it. It is the same on every node of a version, whatever its targets. The build has compressed it
 * to a seventh, so requests of anonymous clients cost the loop no compression. */
#include "services/web/openapi.h"
#include "services/web/web.h"
#include "shared/http/request/accept.h"
#include "shared/http/request/respond.h"

static bool wants_gzip(struct str accept_encoding)
{
    unsigned gzip = accept_quality(accept_encoding, STR("gzip"));
    return gzip > 0 && gzip >= accept_quality(accept_encoding, STR("identity"));
}

void web_show_openapi(struct request *r)
{
    bool is_gzip = wants_gzip(request_header(r, "accept-encoding"));
    const struct web_openapi_form *form = is_gzip ? &web_openapi.gzip : &web_openapi.plain;
    respond_header(r, "vary", STR("Accept-Encoding"));
    if (is_gzip)
        respond_header(r, "content-encoding", STR("gzip"));
    respond_constant(r, "application/yaml", form->bytes, form->etag);
}
