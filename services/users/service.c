/* SPDX-License-Identifier: MIT
 * service.c - the users as one of the node's services (services/node/service.h): its
 * row. It comes with the broker, which knows who has topics. */
#include "services/users/users.h"

#include "services/users/export.h"
#include "shared/base/mem.h"

static void *create(struct server *server, struct queue *queue, const void *settings)
{
    struct users *users = mem_zeroed(sizeof *users);
    (void)queue;
    *users = (struct users){.server = server, .settings = settings, .turns = exports_turns()};
    return users;
}

/* No request is left. */
static void destroy(void *state)
{
    struct users *users = state;
    fair_slots_destroy(users->turns);
    free(users);
}

static bool read_settings(const struct service_process *process, void **ret_settings)
{
    struct space_settings *settings = mem_zeroed(sizeof *settings);
    *settings = space_read_options(process->config);
    *ret_settings = settings;
    return true;
}

const struct service users_service = {
    .name = "users",
    .summary = "usage, export and deletion of a user's data",
    .comes_with = "broker",
    .groups = (const struct config_group *const[]){&space_options, NULL},
    .routes = users_routes,
    .read = read_settings,
    .free_settings = free,
    .create = create,
    .destroy = destroy,
};
