/* SPDX-License-Identifier: MIT
 *
 * services: iterates over the services of a process and its nodes. Only for services/node.
 */
#ifndef PARLEY_SERVICES_NODE_SERVICES_H
#define PARLEY_SERVICES_NODE_SERVICES_H

#include "services/node/service.h"

/* The services of a process. Zeroed storage is ready for services_read. */
struct process_services {
    struct process_service {
        const struct service *service; /* NULL after the last */
        bool is_on;                    /* of this process's targets */
        void *settings, *work;
    } all[SERVICES_MAX + 1];
};

/* --- of a process, on the main thread --- */

/* Reads the settings of all, and which of them `targets`, a comma list, takes. False after one line
 * on standard error. services_fini frees them whatever the outcome. */
bool services_read(struct process_services *all, const char *targets,
                   const struct service_process *process) must_check;
void services_fini(struct process_services *all);
/* False after one line on standard error: the process must not serve. */
bool services_check(const struct process_services *all) must_check;
void services_print(const struct process_services *all);
unsigned services_count_files(const struct process_services *all);
void services_start(struct process_services *all);
void services_reload(const struct process_services *all);
void services_stop(struct process_services *all);
void services_finish(struct process_services *all);

/* The routes of those that are on, into `room`, followed by NULL. */
void services_list_routes(const struct process_services *all,
                          const struct route *room[SERVICES_MAX + 1]);

/* --- of a node, on its thread; services_create before it --- */

void services_create(struct services *node, const struct process_services *all,
                     struct server *server, struct queue *queue);
void services_end(struct services *node);
void services_destroy(struct services *node);
void services_on_event(struct services *node, struct str kind, struct lines *rest);
void services_on_up(struct services *node, unsigned shard);
void services_before_flush(struct services *node);
void services_drain(struct services *node);
void services_put_health(struct services *node, struct health_report *report);
void services_put_metrics(struct services *node, struct buf *b);

#endif
