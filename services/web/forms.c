/* SPDX-License-Identifier: MIT
 * forms.c - see forms.h. */
#include "services/web/forms.h"

#include "shared/http/request/accept.h"
#include "shared/http/request/respond.h"

static bool wants_gzip(struct str accept_encoding)
{
    unsigned gzip = accept_quality(accept_encoding, STR("gzip"));
    return gzip > 0 && gzip >= accept_quality(accept_encoding, STR("identity"));
}

void web_send_forms(struct request *r, const char *content_type, const struct web_forms *forms,
                    bool is_fixed)
{
    bool is_gzip = wants_gzip(request_header(r, "accept-encoding"));
    const struct web_form *form = is_gzip ? &forms->gzip : &forms->plain;
    respond_header(r, "vary", STR("Accept-Encoding"));
    if (is_gzip)
        respond_header(r, "content-encoding", STR("gzip"));
    if (is_fixed)
        respond_fixed(r, content_type, form->bytes, form->etag);
    else
        respond_constant(r, content_type, form->bytes, form->etag);
}
