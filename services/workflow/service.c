/* SPDX-License-Identifier: MIT
 * service.c - the workflow service as one of the node's services (services/node/service.h): its
 * options, its life in a process and in a node. */
#include "services/workflow/approvals/approvals.h"
#include "services/workflow/workflow.h"

#include "services/workflow/run/runs.h"
#include "services/workflow/run/socket.h"
#include "services/workflow/sql/sql.h"
#include "services/workflow/trees/trees.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/http/client/client.h"
#include "shared/http/client/endpoint_options.h"
#include "shared/http/request/respond.h"
#include "shared/lease/leases.h"

#include <stdio.h>

enum { REASON_BYTES = 512 };

static const struct config_group options = {
    "Workflows",
    (const struct config_option[]){
        OPTION_TEXT(
            "workflows", "FILE", NULL,
            "Decision trees and agents, instead of the shipped ones (`parley workflow shipped` "
            "prints those, `parley workflow check FILE` checks a file). Read again on SIGHUP; "
            "runs that have begun keep the version that they began with."),
        OPTION_BOOL(
            "workflow-public", "off",
            "Lets clients without credentials run workflows, all of them as one user. For a "
            "node in a private network."),
        OPTION_NUMBER("workflow-keep-days", "N", "365", 1, 36500,
                      "Days that a finished run is kept, with who approved what."),
        {0}}};

static void free_settings(void *context)
{
    struct workflow_settings *settings = context;
    trees_file_close(settings->trees);
    sql_settings_free(settings->sql);
    free(settings->public_url);
    free(settings);
}

static void reload(const void *context)
{
    const struct workflow_settings *settings = context;
    char reason[REASON_BYTES];
    if (!trees_file_reload(settings->trees, reason, sizeof reason)) {
        log_write(LOG_ERROR, "workflows not reloaded: keeping the old ones",
                  LOG_S("reason", reason));
        return;
    }
    struct trees *trees = trees_file_current(settings->trees);
    log_write(LOG_INFO, "workflows reloaded", LOG_STR("version", trees_version(trees)));
    trees_unref(trees);
}

static void print_settings(const void *context)
{
    const struct workflow_settings *settings = context;
    struct trees *trees = trees_file_current(settings->trees);
    printf("%-20s", "workflow verbs");
    for (size_t i = 0; i < trees_count(trees); i++)
        printf("%s%.*s", i == 0 ? " " : ", ", STR_ARG(tree_verb(trees_at(trees, i))));
    printf(" (version %.12s)\n", trees_version(trees).at);
    trees_unref(trees);
    sql_print(settings->sql);
}

static bool check(const void *context)
{
    const struct workflow_settings *settings = context;
    return sql_check_roles(settings->sql);
}

static bool read_settings(const struct service_process *process, void **ret_settings)
{
    char reason[REASON_BYTES];
    struct workflow_settings *settings = mem_zeroed(sizeof *settings);
    *settings = (struct workflow_settings){
        .map = process->map,
        .is_public = config_number(process->config, "workflow-public") == 1,
        .is_private_allowed = endpoint_options_allow_private(process->config),
        .keep_days = config_number(process->config, "workflow-keep-days"),
    };
    *ret_settings = settings;
    if (!approvals_read_url(process->config, &settings->public_url))
        return false;
    settings->sql = sql_read_options(process->config);
    if (settings->sql == NULL)
        return false;
    const char *path = config_text(process->config, "workflows");
    settings->trees =
        trees_file_open(path == NULL || path[0] == 0 ? NULL : path, reason, sizeof reason);
    return settings->trees != NULL || config_wrong("workflows", reason);
}

static void *create(struct server *server, struct queue *queue, const void *context)
{
    const struct workflow_settings *settings = context;
    const struct http_client_settings outside = {.user_agent = "parley/" PARLEY_VERSION,
                                                 .is_refusing_private =
                                                     !settings->is_private_allowed};
    struct workflow *workflow = mem_zeroed(sizeof *workflow);
    *workflow = (struct workflow){.server = server,
                                  .queue = queue,
                                  .settings = settings,
                                  .client = http_client_create(&outside),
                                  .sql = sql_store_create(server->loop, settings->sql)};
    http_client_attach(workflow->client, server->loop);
    workflow->runs = runs_create(workflow);
    workflow->sockets = sockets_create(workflow);
    return workflow;
}

/* Other nodes take its runs when their fences end. */
static void end(void *state)
{
    struct workflow *workflow = state;
    runs_destroy(workflow->runs);
    workflow->runs = NULL;
}

static void destroy(void *state)
{
    struct workflow *workflow = state;
    sockets_destroy(workflow->sockets);
    sql_store_destroy(workflow->sql);
    http_client_destroy(workflow->client);
    free(workflow);
}

static void on_event(void *state, struct str kind, struct lines *rest)
{
    const struct workflow *workflow = state;
    (void)kind; /* there is one */
    sockets_on_event(workflow->sockets, rest);
}

static void on_up(void *state, unsigned shard)
{
    const struct workflow *workflow = state;
    leases_on_up(runs_leases(workflow->runs), shard);
    sockets_on_up(workflow->sockets, shard);
}

static void before_flush(void *state)
{
    const struct workflow *workflow = state;
    leases_before_flush(runs_leases(workflow->runs));
}

const struct service workflow_service = {
    .name = "workflow",
    .summary = "workflows: decision trees of models, tools and people",
    .groups = (const struct config_group *const[]){&options, &approvals_options, &endpoint_options,
                                                   &sql_options, NULL},
    .routes = workflow_routes,
    .events = (const char *const[]){"workflow", NULL},
    .read = read_settings,
    .check = check,
    .free_settings = free_settings,
    .print = print_settings,
    .reload = reload,
    .create = create,
    .end = end,
    .destroy = destroy,
    .on_event = on_event,
    .on_up = on_up,
    .before_flush = before_flush,
    .put_metrics = runs_put_metrics,
};
