/* SPDX-License-Identifier: MIT
 * routes.c - the web service's routes, all of them for everybody. */
#include "services/web/web.h"

const struct route web_routes[] = {
    {"GET", "/handbook", ROLES_NONE, web_show_index},
    {"HEAD", "/handbook", ROLES_NONE, web_show_index},
    {"GET", "/handbook/", ROLES_NONE, web_show_index},
    {"HEAD", "/handbook/", ROLES_NONE, web_show_index},
    {"GET", "/handbook/{page}", ROLES_NONE, web_show_page},
    {"HEAD", "/handbook/{page}", ROLES_NONE, web_show_page},
    {0},
};
