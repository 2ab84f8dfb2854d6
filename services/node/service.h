/* SPDX-License-Identifier: MIT
 *
 * service: a part of `parley serve`, as a table row: its name and options, its routes, and its
 * hooks in the lifecycle of a process and of each node. table.c lists the rows; code that iterates
 * over them (services.h) names none. docs/add-a-service.md is a tutorial.
 *
 * Services are independent of each other and share only shared/ and Redis. An unused hook is NULL.
 * Hooks of a process run on the main thread, those of a node on the node's.
 */
#ifndef PARLEY_SERVICES_NODE_SERVICE_H
#define PARLEY_SERVICES_NODE_SERVICE_H

#include "services/node/health.h"
#include "shared/base/config.h"
#include "shared/http/request/request.h"
#include "shared/queue/queue.h"

#include <string.h>

/* A process, as its services see it; outlives them. */
struct service_process {
    const struct config *config;
    const struct shard_map *map;
};

struct own_model; /* shared/ask/own_model.h */

struct service {
    const char *name;       /* which is its --target */
    const char *summary;    /* one line of `parley serve --help` */
    const char *comes_with; /* targets that bring it too, a comma list; NULL: none but its own */
    const struct config_group *const *groups; /* its options; ends with NULL. NULL: none */
    const struct route *routes;               /* ends with a NULL path. NULL: none */
    /* Kinds of events on the node's channel that are for it (struct queue_config); ends with NULL.
     * NULL: none. */
    const char *const *events;
    const struct own_model *model; /* that the doors of its nodes offer; NULL: none */

    /* --- of a process --- */

    /* Reads its options into settings of its own. Called even for services that the process does
     * not run, so that each wrong value is found. False after one line on standard error. */
    bool (*read)(const struct service_process *process, void **ret_settings) must_check;
    void (*free_settings)(void *settings);
    /* Puts lines below those of --check-config on standard output. */
    void (*print)(const void *settings);
    /* Checks what it depends on, before there is a node; waits a few seconds at most. False after
     * one line on standard error: it must not run like this. */
    bool (*check)(const void *settings) must_check;
    /* Number of descriptors to reserve for it. */
    unsigned (*count_files)(const void *settings);
    /* Starts its work outside the nodes, once they run. `settings` outlives it. */
    void *(*start)(const void *settings)must_check;
    /* The process drains: work that was started must end soon. */
    void (*stop)(void *work);
    /* SIGHUP: reads the files of its settings again. A file with a fault changes nothing and is
     * logged. The nodes run meanwhile. */
    void (*reload)(const void *settings);
    /* The nodes have ended: waits for what was stopped, and frees it. */
    void (*finish)(void *work);
    /* Puts its lines of /metrics for the whole process. Runs on any node's thread, possibly several
     * at once. */
    void (*put_metrics)(struct buf *b);

    /* --- of a node --- */

    /* Makes what its handlers work on (service_state), before the node's thread starts. All is
     * borrowed and outlives it. */
    void *(*create)(struct server *server, struct queue *queue, const void *settings)must_check;
    /* The loop has ended: ends what waits for the queue, which is still there. */
    void (*end)(void *state);
    /* The loop has ended, and the queue is gone. */
    void (*destroy)(void *state);
    /* An event of one of its kinds; `rest` is the text after the kind. */
    void (*on_event)(void *state, struct str kind, struct lines *rest);
    /* Redis runs scripts of that shard (again): its messages may have been missed. */
    void (*on_up)(void *state, unsigned shard);
    /* Adds what can wait to the turns that are about to be sent (turn_is_collecting). */
    void (*before_flush)(void *state);
    /* The node drains: ends what is parked with its normal empty answer. Called repeatedly until
     * nothing is left. */
    void (*drain)(void *state);
    /* Puts its part of /health. */
    void (*put_health)(void *state, struct health_report *report);
};

/* All services, in the order of --help and of /health; ends with NULL (table.c). */
extern const struct service *const services[];

enum { SERVICES_MAX = 16 };

/* The services of one node, hung on its server (struct server). Filled before it serves. */
struct services {
    struct queue *queue;     /* that all of them put questions into */
    struct scrapes *scrapes; /* of /metrics (scrapes.h) */
    /* Those of this process's targets; ends with a NULL service. */
    struct service_state {
        const struct service *service;
        void *state;
    } states[SERVICES_MAX + 1];
};

/* Returns what the service of that name, to which the request's route belongs, has created for this
 * node. */
static inline void *service_state(const struct request *r, const char *name)
{
    const struct service_state *at = r->server->services->states;
    while (strcmp(at->service->name, name) != 0)
        at++;
    return at->state;
}

#endif
