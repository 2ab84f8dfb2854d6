/* SPDX-License-Identifier: MIT
 * poll_class.c - see poll_class.h. */
#include "shared/queue/poll_class.h"

enum { CLASSES_KEPT_MAX = 256 };

struct classes {
    struct poll_class *buckets[CLASS_BUCKET_N];
    struct str drained; /* names, ','; own memory */
};

void polls_put_last(struct poll_list *list, struct poll *poll)
{
    list_append(&list->list, &poll->link);
    list->n++;
}

void polls_take_off(struct poll_list *list, struct poll *poll)
{
    list_remove(&poll->link);
    list->n--;
}

/* --- the table -------------------------------------------------------------------------------- */

struct poll_class *classes_at(const struct queue *queue, unsigned bucket)
{
    return queue->classes->buckets[bucket];
}

struct poll_class *classes_next(const struct queue *queue, const struct poll_class *class)
{
    unsigned bucket = class == NULL ? 0 : class->bucket + 1;
    struct poll_class *next = class == NULL ? NULL : class->next;
    while (next == NULL && bucket < CLASS_BUCKET_N)
        next = classes_at(queue, bucket++);
    return next;
}

struct poll_class *class_find(struct queue *queue, struct str name)
{
    struct poll_class *class = classes_at(queue, queue_hash(name, 0) % CLASS_BUCKET_N);
    while (class != NULL && !str_eq(name, (struct str){class->name, class->name_n}))
        class = class->next;
    return class;
}

static struct poll_class *create(struct queue *queue, struct str name, size_t account_n)
{
    struct poll_class *class = mem_zeroed(sizeof *class);
    unsigned shard_n = queue->shards.n;
    class->queue = queue;
    class->name = str_copy(name);
    class->name_n = name.n;
    class->account_n = account_n;
    class->credits = mem_zeroed_n(shard_n, sizeof *class->credits);
    class->claims = mem_zeroed_n(shard_n, sizeof *class->claims);
    class->passed = mem_zeroed_n(shard_n, sizeof *class->passed);
    class->leases = mem_zeroed_n(shard_n, sizeof *class->leases);
    class->work = lines_work_of(name);
    class->is_drained = str_is_listed(queue->classes->drained, class_account(class));
    return class;
}

struct poll_class *class_get(struct queue *queue, struct str account, struct str models)
{
    char bytes[2048];
    struct str name = {bytes, account.n + 1 + models.n};
    if (name.n > sizeof bytes)
        abort(); /* the caller holds names and model lists to their limits */
    memcpy(bytes, account.at, account.n);
    bytes[account.n] = '|';
    memcpy(bytes + account.n + 1, models.at, models.n);
    struct poll_class *class = class_find(queue, name);
    if (class != NULL)
        return class;
    class = create(queue, name, account.n);
    class->bucket = queue_hash(name, 0) % CLASS_BUCKET_N;
    class->next = classes_at(queue, class->bucket);
    queue->classes->buckets[class->bucket] = class;
    return class;
}

struct str queue_drained(const struct queue *queue)
{
    return queue->classes->drained;
}

bool classes_set_drained(struct queue *queue, struct str names)
{
    struct str *drained = &queue->classes->drained;
    char *copy = str_copy(names);
    bool is_freed = false;
    free((char *)drained->at);
    *drained = (struct str){copy, names.n};
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;) {
        bool was_drained = class->is_drained;
        class->is_drained = str_is_listed(*drained, class_account(class));
        is_freed |= was_drained && !class->is_drained;
    }
    return is_freed;
}

/* Takes the class at `at` out of its bucket. */
static void free_class(struct poll_class **at)
{
    struct poll_class *class = *at;
    *at = class->next;
    free(class->credits);
    free(class->claims);
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

void classes_forget_unused(struct queue *queue)
{
    unsigned kept_n = 0;
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class **at = &queue->classes->buckets[i]; *at != NULL;)
            if (is_unused(*at) && !is_worth_keeping(*at, &kept_n))
                free_class(at);
            else
                at = &(*at)->next;
}

struct classes *classes_create(void)
{
    return mem_zeroed(sizeof(struct classes));
}

void classes_destroy(struct classes *classes)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        while (classes->buckets[i] != NULL)
            free_class(&classes->buckets[i]);
    free((char *)classes->drained.at);
    free(classes);
}

/* --- models, and what is noted for syncs ------------------------------------------------------ */

bool class_takes_model(const struct poll_class *class, struct str model)
{
    struct str models = class_models(class);
    bool is_of_api = model.n > 0 && memchr(model.at, '/', model.n) != NULL; /* lua/queue/apis.lua */
    return (str_eq(models, STR("*")) && !is_of_api) || str_eq(model, STR("default")) ||
           str_is_listed(models, model);
}

bool class_lists_model(const struct poll_class *class, struct str model)
{
    return str_is_listed(class_models(class), model);
}

/* Notes it for the shards that can be reached: what the others miss is stated with the next poll.
 */
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

uint64_t class_take_notes(struct poll_class *class, unsigned shard)
{
    uint64_t lease = class->leases[shard];
    class->leases[shard] = 0;
    class->polled &= ~shard_bit(shard);
    return lease;
}
