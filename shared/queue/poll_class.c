/* SPDX-License-Identifier: MIT
 * poll_class.c - classes of polls that are alike to the scripts, and lists of polls (polls.h). */
#include "shared/queue/polls.h"

#include <stdio.h>
#include <stdlib.h>

enum { CLASSES_KEPT_MAX = 256 };

void polls_put_last(struct poll_list *list, struct poll *poll)
{
    poll->next = NULL;
    poll->previous = list->last;
    *(list->last == NULL ? &list->first : &list->last->next) = poll;
    list->last = poll;
    list->n++;
}

void polls_take_off(struct poll_list *list, struct poll *poll)
{
    *(poll->previous == NULL ? &list->first : &poll->previous->next) = poll->next;
    *(poll->next == NULL ? &list->last : &poll->next->previous) = poll->previous;
    list->n--;
}

struct poll_class *class_find(struct queue *queue, struct str name)
{
    struct poll_class *class = queue->classes[queue_hash(name, 0) % CLASS_BUCKET_N];
    while (class != NULL && !str_eq(name, (struct str){class->name, class->name_n}))
        class = class->next;
    return class;
}

size_t polls_join(char *at, size_t size, struct str first, char between, struct str second)
{
    if (first.n + 1 + second.n > size)
        return 0;
    memcpy(at, first.at, first.n);
    at[first.n] = between;
    memcpy(at + first.n + 1, second.at, second.n);
    return first.n + 1 + second.n;
}

struct poll_class *class_get(struct queue *queue, struct str account, struct str models)
{
    char name[1024];
    size_t n = polls_join(name, sizeof name, account, '|', models);
    if (n == 0)
        abort(); /* the caller holds names and model lists to their limits */
    struct poll_class *class = class_find(queue, (struct str){name, n});
    if (class != NULL)
        return class;
    class = calloc(1, sizeof *class);
    struct poll_class **bucket =
        &queue->classes[queue_hash((struct str){name, n}, 0) % CLASS_BUCKET_N];
    if (class == NULL)
        abort();
    class->queue = queue;
    class->name = str_copy((struct str){name, n});
    class->name_n = n;
    class->account_n = account.n;
    class->credits = calloc(queue->shards.n, sizeof *class->credits);
    class->looks = calloc(queue->shards.n, sizeof *class->looks);
    class->passed = calloc(queue->shards.n, sizeof *class->passed);
    class->leases = calloc(queue->shards.n, sizeof *class->leases);
    if (class->credits == NULL || class->looks == NULL || class->passed == NULL ||
        class->leases == NULL)
        abort();
    class->work = lines_work_of(class_name(class));
    class->is_drained = str_is_listed(queue->drained, account);
    class->next = *bucket;
    *bucket = class;
    return class;
}

static struct str models_of(const struct poll_class *class)
{
    return (struct str){class->name + class->account_n + 1, class->name_n - class->account_n - 1};
}

bool class_takes_model(const struct poll_class *class, struct str model)
{
    struct str models = models_of(class);
    return str_eq(models, STR("*")) || str_eq(model, STR("default")) ||
           str_is_listed(models, model);
}

bool class_lists_model(const struct poll_class *class, struct str model)
{
    return str_is_listed(models_of(class), model);
}

/* Of the shards that can be reached: what the others do not hear of now is stated with the next
 * poll. */
void class_note_poll(struct poll_class *class)
{
    const struct queue *queue = class->queue;
    for (unsigned i = 0; i < queue->shards.n && class->work == WORK_QUERIES; i++)
        if (turn_is_up(queue->shards.turns[i]))
            class->polled |= shard_bit(i);
}

void class_note_work(struct poll_class *class, unsigned shard, const struct claim *claim)
{
    if (claim->work == WORK_QUERIES && str_parse_u64(claim->lease, &class->leases[shard]))
        class->polled |= shard_bit(shard);
}

void polls_on_drained(struct queue *queue, struct str names)
{
    char *copy = str_copy(names);
    bool is_freed = false;
    free((char *)queue->drained.at);
    queue->drained = (struct str){copy, names.n};
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next) {
            bool is_drained = str_is_listed(queue->drained, class_account(class));
            is_freed |= class->is_drained && !is_drained;
            class->is_drained = is_drained;
            credits_settle(class);
        }
    if (is_freed)
        queue_sync_soon(queue, 0); /* states the credits again */
}

/* Takes the class at `at` out of its list. */
static void free_class(struct poll_class **at)
{
    struct poll_class *class = *at;
    *at = class->next;
    for (unsigned i = 0; i < class->early_n; i++)
        buf_fini(&class->early[i].text);
    free(class->early);
    free(class->credits);
    free(class->looks);
    free(class->passed);
    free(class->leases);
    free(class->name);
    free(class);
}

static bool is_unused(const struct poll_class *class)
{
    return class->parked.n == 0 && class->claiming.n == 0 && class->left_n == 0 &&
           class->early_n == 0 && (class->reported | class->polled) == 0;
}

/* Its next poll would state its hints again, on each of several shards. Engines choose their lists
 * of models: only so many are kept. */
static bool is_worth_keeping(const struct poll_class *class, unsigned *kept_n)
{
    return class->queue->shards.n > 1 && class->hinted != 0 && ++*kept_n <= CLASSES_KEPT_MAX;
}

void polls_forget_unused(struct queue *queue)
{
    unsigned kept_n = 0;
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class **at = &queue->classes[i]; *at != NULL;)
            if (is_unused(*at) && !is_worth_keeping(*at, &kept_n))
                free_class(at);
            else
                at = &(*at)->next;
}

void polls_fini(struct queue *queue)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        while (queue->classes[i] != NULL)
            free_class(&queue->classes[i]);
    for (unsigned i = 0; i < queue->call_n; i++)
        buf_fini(&queue->calls[i].text);
    free((char *)queue->drained.at);
}
