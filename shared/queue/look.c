/* SPDX-License-Identifier: MIT
 * look.c - see look.h. */
#include "shared/queue/look.h"

#include "shared/base/clock.h"
#include "shared/queue/polls.h"

enum { GROUPS_MAX = 16 }; /* compared with each watch: the cost stays linear */

static struct str account_of(const struct poll_class *class)
{
    return (struct str){class->name, class->account_n};
}

static struct str models_of(const struct poll_class *class)
{
    size_t from = class->account_n + 1; /* after the '|' */
    return (struct str){class->name + from, class->name_n - from};
}

static void each_poll(const struct poll_list *list, void (*visit)(void *, const struct look_poll *),
                      void *arg)
{
    uint64_t now_ms = clock_mono_ms();
    for (const struct poll *poll = list->first; poll != NULL; poll = poll->next) {
        struct look_poll look = {.account = account_of(poll->class),
                                 .models = models_of(poll->class),
                                 .engine = poll->engine,
                                 .is_parked = poll->state == POLL_PARKED,
                                 .waited_ms = now_ms - poll->since_ms};
        visit(arg, &look);
    }
}

void look_at_polls(const struct queue *queue, void (*visit)(void *arg, const struct look_poll *),
                   void *arg)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next) {
            each_poll(&class->parked, visit, arg);
            each_poll(&class->claiming, visit, arg);
        }
}

void look_at_classes(const struct queue *queue, void (*visit)(void *arg, const struct look_class *),
                     void *arg)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next) {
            struct look_class look = {.account = account_of(class),
                                      .models = models_of(class),
                                      .parked_n = class->parked.n,
                                      .claiming_n = class->claiming.n + class->left_n,
                                      .is_drained = class->is_drained};
            visit(arg, &look);
        }
}

void look_at_claims(const struct queue *queue, void (*visit)(void *arg, const struct look_claim *),
                    void *arg)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            for (unsigned k = 0; k < class->early_n; k++) {
                struct lines lines = lines_of(buf_str(&class->early[k].text));
                struct claim claim = lines_next_claim(&lines);
                visit(arg, &(struct look_claim){claim.topic, claim.lease, true});
            }
    for (unsigned s = 0; s < queue->shards.n; s++) {
        const struct queue_shard *part = &queue->parts[s];
        const h2o_linklist_t *at = part->delivered.next;
        for (; at != &part->delivered; at = at->next) {
            struct str topic = H2O_STRUCT_FROM_MEMBER(struct delivered, link, at)->claim;
            struct str lease = str_cut(&topic, ' ');
            visit(arg, &(struct look_claim){topic, lease, false});
        }
    }
}

static void each_group(const struct watch *first, void (*visit)(void *, const struct look_watch *),
                       void *arg)
{
    struct look_watch groups[GROUPS_MAX];
    unsigned n = 0;
    for (const struct watch *watch = first; watch != NULL; watch = watch->next) {
        unsigned i = 0;
        while (i < n && (groups[i].seq != watch->seq || !str_eq(groups[i].topic, watch->topic)))
            i++;
        if (i == GROUPS_MAX) {
            visit(arg, &groups[0]);
            i = 0;
            groups[i].n = 0;
        }
        if (i == n || groups[i].n == 0)
            groups[i] = (struct look_watch){watch->topic, watch->seq, 0};
        n = i == n ? n + 1 : n;
        groups[i].n++;
    }
    for (unsigned i = 0; i < n; i++)
        visit(arg, &groups[i]);
}

void look_at_watches(const struct queue *queue, void (*visit)(void *arg, const struct look_watch *),
                     void *arg)
{
    for (unsigned i = 0; i < WATCH_BUCKET_N; i++)
        each_group(queue->watches[i], visit, arg);
}
