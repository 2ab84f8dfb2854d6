/* SPDX-License-Identifier: MIT
 *
 * openapi: /openapi.yaml, embedded by the build (cmake/openapi.pl). Constant, for any thread.
 */
#ifndef PARLEY_WEB_OPENAPI_H
#define PARLEY_WEB_OPENAPI_H

#include "services/web/forms.h"

extern const struct web_forms web_openapi;

#endif
