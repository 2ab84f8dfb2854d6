/* SPDX-License-Identifier: MIT
 * view.c - see view.h. */
#include "shared/queue/view.h"

#include "shared/base/clock.h"
#include "shared/queue/deliver.h"
#include "shared/queue/poll_handover.h"
#include "shared/queue/watch.h"

enum { GROUPS_MAX = 16 }; /* compared with each watch: the cost stays linear */

static void each_poll(const struct poll_list *list, void (*visit)(void *, const struct view_poll *),
                      void *arg)
{
    uint64_t now_ms = clock_mono_ms();
    list_for_each (const struct poll, poll, &list->list, link) {
        struct view_poll view = {.account = class_account(poll->class),
                                 .models = class_models(poll->class),
                                 .engine = poll->engine,
                                 .is_parked = poll->state == POLL_PARKED,
                                 .waited_ms = now_ms - poll->since_ms};
        visit(arg, &view);
    }
}

void view_polls(const struct queue *queue, void (*visit)(void *arg, const struct view_poll *),
                void *arg)
{
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;) {
        each_poll(&class->parked, visit, arg);
        each_poll(&class->claiming, visit, arg);
    }
}

void view_classes(const struct queue *queue, void (*visit)(void *arg, const struct view_class *),
                  void *arg)
{
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;) {
        struct view_class view = {.account = class_account(class),
                                  .models = class_models(class),
                                  .parked_n = class->parked.n,
                                  .claiming_n = class->claiming.n + class->left_n,
                                  .is_drained = class->is_drained};
        visit(arg, &view);
    }
}

struct claim_visit {
    void (*visit)(void *arg, const struct view_claim *);
    void *arg;
};

static void on_early(void *context, const struct claim *claim)
{
    const struct claim_visit *claims = context;
    claims->visit(claims->arg, &(struct view_claim){claim->topic, claim->lease, true});
}

static void on_delivered(void *context, struct str topic, struct str lease)
{
    const struct claim_visit *claims = context;
    claims->visit(claims->arg, &(struct view_claim){topic, lease, false});
}

void view_claims(const struct queue *queue, void (*visit)(void *arg, const struct view_claim *),
                 void *arg)
{
    struct claim_visit claims = {visit, arg};
    handover_each_early(queue, on_early, &claims);
    delivered_each(queue, on_delivered, &claims);
}

static void each_group(const struct list *watches, void (*visit)(void *, const struct view_watch *),
                       void *arg)
{
    struct view_watch groups[GROUPS_MAX];
    unsigned n = 0;
    list_for_each (const struct watch, watch, watches, link) {
        unsigned i = 0;
        while (i < n && (groups[i].seq != watch->seq || !str_eq(groups[i].topic, watch->topic)))
            i++;
        if (i == GROUPS_MAX) {
            visit(arg, &groups[0]);
            i = 0;
            groups[i].n = 0;
        }
        if (i == n || groups[i].n == 0)
            groups[i] = (struct view_watch){watch->topic, watch->seq, 0};
        n = i == n ? n + 1 : n;
        groups[i].n++;
    }
    for (unsigned i = 0; i < n; i++)
        visit(arg, &groups[i]);
}

void view_watches(const struct queue *queue, void (*visit)(void *arg, const struct view_watch *),
                  void *arg)
{
    for (unsigned i = 0; i < WATCH_BUCKET_N; i++)
        each_group(watches_at(queue, i), visit, arg);
}
