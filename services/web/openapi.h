/* SPDX-License-Identifier: MIT
 *
 * openapi: /openapi.yaml, embedded by the build (cmake/openapi.pl). Constant, for any thread.
 */
#ifndef PARLEY_WEB_OPENAPI_H
#define PARLEY_WEB_OPENAPI_H

#include "shared/base/str.h"

struct web_openapi {
    struct web_openapi_form {
        const char *etag; /* in quotes; differs between the two forms, so that caches can too */
        struct str bytes;
    } plain, gzip;
};

extern const struct web_openapi web_openapi;

#endif
