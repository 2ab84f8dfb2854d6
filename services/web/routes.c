/* SPDX-License-Identifier: MIT
 * routes.c - the web service: its routes, all of them for everybody, and its row. It comes with the
 * document service, since the sources that POST /ask names over the handbook lead here, and with
 * the broker, so that a browser at the address of a node shows what it is. */
#include "services/web/web.h"

#include "services/node/service.h"
#include "shared/base/mem.h"

static const struct route routes[] = {
    {"GET", "/", ROLES_NONE, web_show_front},
    {"GET", "/openapi.yaml", ROLES_NONE, web_show_openapi},
    {"GET", "/handbook", ROLES_NONE, web_show_index},
    {"GET", "/handbook/", ROLES_NONE, web_show_index},
    {"GET", "/handbook/{page}", ROLES_NONE, web_show_page},
    {"GET", "/handbook/operations", ROLES_NONE, web_show_operations},
    {"GET", "/handbook/operations/", ROLES_NONE, web_show_operations},
    {"GET", "/handbook/operations/{page}", ROLES_NONE, web_show_operations_page},
    {0},
};

static void *create(struct server *server, struct queue *queue, const void *settings)
{
    struct web *web = mem_zeroed(sizeof *web);
    (void)server, (void)queue, (void)settings;
    return web;
}

const struct service web_service = {
    .name = "web",
    .summary = "the first page, the handbook and openapi.yaml",
    .comes_with = "broker,documents",
    .routes = routes,
    .create = create,
    .destroy = free,
};
