/* SPDX-License-Identifier: MIT
 * routes.c - the web service: routes, all of them for everybody, and nothing else. It comes with
 * the document service, since the sources that POST /ask names over the handbook lead here. */
#include "services/web/web.h"

#include "services/node/service.h"

static const struct route routes[] = {
    {"GET", "/handbook", ROLES_NONE, web_show_index},
    {"HEAD", "/handbook", ROLES_NONE, web_show_index},
    {"GET", "/handbook/", ROLES_NONE, web_show_index},
    {"HEAD", "/handbook/", ROLES_NONE, web_show_index},
    {"GET", "/handbook/{page}", ROLES_NONE, web_show_page},
    {"HEAD", "/handbook/{page}", ROLES_NONE, web_show_page},
    {0},
};

const struct service web_service = {
    .name = "web",
    .summary = "the handbook's pages",
    .comes_with = "documents",
    .routes = routes,
};
