/* SPDX-License-Identifier: MIT
 * services.c - see services.h. */
#include "services/node/services.h"

#include "shared/base/nearest.h"

#include <stdio.h>

enum { LINE_MAX_BYTES = 1024 };

/* --- of a process ----------------------------------------------------------------------------- */

static bool refuse_target(struct str name)
{
    struct nearest nearest = nearest_begin(name);
    struct buf b;
    buf_init(&b, LINE_MAX_BYTES);
    buf_lit(&b, "parley: --target takes a comma list of: all");
    for (const struct service *const *service = services; *service != NULL; service++) {
        buf_printf(&b, ", %s", (*service)->name);
        nearest_try(&nearest, str_of((*service)->name));
    }
    buf_lit(&b, "; not ");
    buf_put_typed(&b, "", name);
    buf_put_nearest(&b, "", nearest_end(&nearest));
    fprintf(stderr, "%.*s\n", STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return false;
}

static void add_target(struct process_services *all, struct str name, bool *ret_is_known)
{
    bool is_all = str_eq(name, STR("all"));
    *ret_is_known = is_all;
    for (struct process_service *at = all->all; at->service != NULL; at++)
        if (is_all || str_eq(name, str_of(at->service->name)))
            at->is_on = *ret_is_known = true;
}

/* A service that comes with another one is on wherever that is. */
static void add_followers(struct process_services *all)
{
    for (struct process_service *at = all->all; at->service != NULL; at++)
        for (const struct process_service *other = all->all; other->service != NULL; other++)
            if (at->service->comes_with != NULL && other->is_on &&
                str_is_listed(str_of(at->service->comes_with), str_of(other->service->name)))
                at->is_on = true;
}

static bool read_targets(struct process_services *all, const char *targets)
{
    struct str rest = str_of(targets);
    while (rest.at != NULL) {
        struct str name = str_trim(str_cut(&rest, ','));
        bool is_known;
        add_target(all, name, &is_known);
        if (!is_known)
            return refuse_target(name);
    }
    add_followers(all);
    return true;
}

bool services_read(struct process_services *all, const char *targets,
                   const struct service_process *process)
{
    for (unsigned i = 0; services[i] != NULL; i++)
        all->all[i].service = services[i];
    if (!read_targets(all, targets))
        return false;
    for (struct process_service *at = all->all; at->service != NULL; at++)
        if (at->service->read != NULL && !at->service->read(process, &at->settings))
            return false;
    return true;
}

void services_fini(struct process_services *all)
{
    for (struct process_service *at = all->all; at->service != NULL; at++)
        if (at->service->free_settings != NULL && at->settings != NULL)
            at->service->free_settings(at->settings);
}

void services_print(const struct process_services *all)
{
    for (const struct process_service *at = all->all; at->service != NULL; at++)
        if (at->is_on && at->service->print != NULL)
            at->service->print(at->settings);
}

bool services_check(const struct process_services *all)
{
    for (const struct process_service *at = all->all; at->service != NULL; at++)
        if (at->is_on && at->service->check != NULL && !at->service->check(at->settings))
            return false;
    return true;
}

unsigned services_count_files(const struct process_services *all)
{
    unsigned n = 0;
    for (const struct process_service *at = all->all; at->service != NULL; at++)
        if (at->is_on && at->service->count_files != NULL)
            n += at->service->count_files(at->settings);
    return n;
}

void services_start(struct process_services *all)
{
    for (struct process_service *at = all->all; at->service != NULL; at++)
        if (at->is_on && at->service->start != NULL)
            at->work = at->service->start(at->settings);
}

void services_reload(const struct process_services *all)
{
    for (const struct process_service *at = all->all; at->service != NULL; at++)
        if (at->is_on && at->service->reload != NULL)
            at->service->reload(at->settings);
}

void services_stop(struct process_services *all)
{
    for (struct process_service *at = all->all; at->service != NULL; at++)
        if (at->work != NULL && at->service->stop != NULL)
            at->service->stop(at->work);
}

void services_finish(struct process_services *all)
{
    for (struct process_service *at = all->all; at->service != NULL; at++)
        if (at->work != NULL && at->service->finish != NULL)
            at->service->finish(at->work);
}

void services_list_routes(const struct process_services *all,
                          const struct route *room[SERVICES_MAX + 1])
{
    for (const struct process_service *at = all->all; at->service != NULL; at++)
        if (at->is_on && at->service->routes != NULL)
            *room++ = at->service->routes;
    *room = NULL;
}

/* --- of a node -------------------------------------------------------------------------------- */

void services_create(struct services *node, const struct process_services *all,
                     struct server *server, struct queue *queue)
{
    struct service_state *state = node->states;
    node->queue = queue;
    for (const struct process_service *at = all->all; at->service != NULL; at++) {
        if (!at->is_on)
            continue;
        state->service = at->service;
        if (at->service->create != NULL)
            state->state = at->service->create(server, queue, at->settings);
        state++;
    }
}

void services_end(struct services *node)
{
    for (struct service_state *at = node->states; at->service != NULL; at++)
        if (at->service->end != NULL)
            at->service->end(at->state);
}

void services_destroy(struct services *node)
{
    for (struct service_state *at = node->states; at->service != NULL; at++)
        if (at->service->destroy != NULL)
            at->service->destroy(at->state);
}

static bool is_for(const struct service *service, struct str kind)
{
    const char *const *event = service->events;
    while (event != NULL && *event != NULL && !str_eq(kind, str_of(*event)))
        event++;
    return event != NULL && *event != NULL;
}

void services_on_event(struct services *node, struct str kind, struct lines *rest)
{
    for (struct service_state *at = node->states; at->service != NULL; at++)
        if (is_for(at->service, kind)) {
            at->service->on_event(at->state, kind, rest);
            return;
        }
}

void services_on_up(struct services *node, unsigned shard)
{
    for (struct service_state *at = node->states; at->service != NULL; at++)
        if (at->service->on_up != NULL)
            at->service->on_up(at->state, shard);
}

void services_before_flush(struct services *node)
{
    for (struct service_state *at = node->states; at->service != NULL; at++)
        if (at->service->before_flush != NULL)
            at->service->before_flush(at->state);
}

void services_drain(struct services *node)
{
    for (struct service_state *at = node->states; at->service != NULL; at++)
        if (at->service->drain != NULL)
            at->service->drain(at->state);
}

void services_put_health(struct services *node, struct health_report *report)
{
    for (struct service_state *at = node->states; at->service != NULL; at++)
        if (at->service->put_health != NULL)
            at->service->put_health(at->state, report);
}

void services_put_metrics(struct services *node, struct buf *b)
{
    for (struct service_state *at = node->states; at->service != NULL; at++)
        if (at->service->put_metrics != NULL)
            at->service->put_metrics(b);
}
