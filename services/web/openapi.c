/* SPDX-License-Identifier: MIT
 * openapi.c - GET /openapi.yaml: the description of all routes, for programs that make clients from
 * it. It is the same on every node of a version, whatever its targets. */
#include "services/web/openapi.h"
#include "services/web/web.h"

void web_show_openapi(struct request *r)
{
    web_send_forms(r, "application/yaml", &web_openapi, false);
}
