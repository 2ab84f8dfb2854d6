/* SPDX-License-Identifier: MIT
 *
 * forms: a constant file in two forms, plain and compressed by the build (c_forms in
 * cmake/CText.pm), so that requests of anonymous clients cost the loop no compression.
 */
#ifndef PARLEY_WEB_FORMS_H
#define PARLEY_WEB_FORMS_H

#include "shared/http/request/request.h"

struct web_forms {
    struct web_form {
        const char *etag; /* in quotes; differs between the two forms, so that caches can too */
        struct str bytes;
    } plain, gzip;
};

/* Answers with the form that the request accepts. `is_fixed`: these bytes never change at this
 * address, so caches need not ask again. `forms` lives as long as the process. */
void web_send_forms(struct request *r, const char *content_type, const struct web_forms *forms,
                    bool is_fixed);

#endif
