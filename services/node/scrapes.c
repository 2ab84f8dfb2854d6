/* SPDX-License-Identifier: MIT
 * scrapes.c - see scrapes.h.
 *
 * /metrics needs no credentials, so what a scrape costs Redis is bounded by time: a node asks for
 * the state of the queue once a second, however many scrape it. Who comes in between, or while an
 * answer is late, gets what was last known, for KEPT_MS.
 *
 * Every node reports the same state of the queue. So that it is not added up, dashboards and rules
 * take the maximum over the nodes. */
#include "services/node/scrapes.h"

#include "generated/routes_node.h"
#include "generated/verbs.h"
#include "services/node/services.h"
#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/http/request/gather.h"
#include "shared/http/request/respond.h"
#include "shared/metrics/process.h"
#include "shared/queue/depth.h"

enum {
    ASK_EVERY_MS = 1000,
    WAIT_MS = 500, /* for Redis; Prometheus itself waits 10 s */
    KEPT_MS = 15000,
    MODELS_SHOWN = 20, /* those with most waiting queries; the others are added up as `other` */
    TEXT_MAX = 1 << 20
};

struct scrapes {
    struct scrapes_settings settings;
    uint64_t asked_ms, known_ms; /* 0: never */
    struct buf text;             /* the state of the queue, as it was at known_ms */
};

/* A scrape that waits for Redis; in its request's pool. */
struct scrape {
    struct request *r;
    struct deadline deadline;
};

struct scrapes *scrapes_create(const struct scrapes_settings *settings)
{
    struct scrapes *scrapes = mem_zeroed(sizeof *scrapes);
    scrapes->settings = *settings;
    buf_init(&scrapes->text, TEXT_MAX);
    return scrapes;
}

void scrapes_destroy(struct scrapes *scrapes)
{
    if (scrapes == NULL)
        return;
    buf_fini(&scrapes->text);
    free(scrapes);
}

/* --- the state of the queue ------------------------------------------------------------------- */

static void put_family(struct buf *b, const char *name, const char *help)
{
    buf_printf(b, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static int by_depth(const void *one, const void *other)
{
    const struct depth_model *x = one, *y = other;
    if (x->depth != y->depth)
        return x->depth < y->depth ? 1 : -1;
    return strcmp(x->name.at, y->name.at);
}

/* Returns whether it has a series of its own: `total` has those with most waiting queries first. */
static bool is_shown(const struct depth *total, struct str name)
{
    for (size_t i = 0; i < total->model_n && i < MODELS_SHOWN; i++)
        if (str_eq(total->models[i].name, name))
            return true;
    return false;
}

static void put_depth(struct buf *b, struct str model, unsigned shard, uint64_t depth)
{
    buf_lit(b, "parley_queue_depth{model=\"");
    metrics_put_name(b, model);
    buf_printf(b, "\",shard=\"%u\"} %llu\n", shard, (unsigned long long)depth);
}

/* `default` is there also at 0: a series that is missing looks like a node that is. */
static void put_depths(struct buf *b, const struct depth *total, const struct depth *shard,
                       unsigned number)
{
    uint64_t others = 0;
    bool has_default = false, has_others = false;
    for (size_t i = 0; i < shard->model_n; i++) {
        const struct depth_model *model = &shard->models[i];
        bool is_other = str_eq(model->name, STR("other")) || !is_shown(total, model->name);
        has_default |= !is_other && str_eq(model->name, STR("default"));
        has_others |= is_other;
        if (is_other)
            others += model->depth;
        else
            put_depth(b, model->name, number, model->depth);
    }
    if (!has_default)
        put_depth(b, STR("default"), number, 0);
    if (has_others)
        put_depth(b, STR("other"), number, others);
}

static void put_queue(struct buf *b, struct depth *total, const struct depth *shards,
                      const struct gather *all)
{
    if (total->model_n > 0)
        qsort(total->models, total->model_n, sizeof *total->models, by_depth);
    put_family(b, "parley_queue_depth",
               "Open queries by model and shard, the same from every node");
    for (unsigned i = 0; i < all->n; i++)
        if (!gather_is_missing(all, i))
            put_depths(b, total, &shards[i], i);
    put_family(b, "parley_queue_oldest_seconds", "Age of the oldest Open query; 0 without one");
    buf_printf(b, "parley_queue_oldest_seconds %.3f\n", (double)total->oldest_ms / 1e3);
    put_family(b, "parley_claims_in_flight", "Claims that engines hold or that are on their way");
    buf_printf(b, "parley_claims_in_flight %llu\n", (unsigned long long)total->in_flight);
    put_family(b, "parley_lookups_open", "Lookups that wait for matches");
    buf_printf(b, "parley_lookups_open %llu\n", (unsigned long long)total->lookups);
    put_family(b, "parley_batches_open", "Batches that have not ended");
    buf_printf(b, "parley_batches_open %llu\n", (unsigned long long)total->batches);
    put_family(b, "parley_batch_lines_waiting", "Lines of these batches without a result");
    buf_printf(b, "parley_batch_lines_waiting %llu\n", (unsigned long long)total->batch_lines);
    put_family(b, "parley_engines", "Slots of engines by what they do");
    for (int i = 0; i < ENGINE_NR; i++)
        buf_printf(b, "parley_engines{state=\"%s\"} %llu\n", engine_state_names[i],
                   (unsigned long long)total->engines[i]);
    put_family(b, "parley_shards_missing", "Shards that do not answer");
    buf_printf(b, "parley_shards_missing %d\n", __builtin_popcountll(all->missing));
}

static void read_queue(struct scrapes *scrapes, const struct gather *all, struct str drained)
{
    struct depth total, *shards = mem_zeroed_n(all->n, sizeof *shards);
    bool is_good = true;
    depth_init(&total);
    for (unsigned i = 0; is_good && i < all->n; i++) {
        depth_init(&shards[i]);
        if (!gather_is_missing(all, i))
            is_good = depth_add(&shards[i], all->replies[i], drained) &&
                      depth_add(&total, all->replies[i], drained);
    }
    if (is_good) {
        buf_clear(&scrapes->text);
        put_queue(&scrapes->text, &total, shards, all);
        scrapes->known_ms = scrapes->text.is_over ? 0 : clock_mono_ms();
    }
    for (unsigned i = 0; i < all->n; i++)
        depth_fini(&shards[i]);
    depth_fini(&total);
    free(shards);
}

/* --- scrapes ---------------------------------------------------------------------------------- */

static void answer(struct request *r, bool has_queue)
{
    struct services *node = r->server->services;
    const struct scrapes *scrapes = node->scrapes;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    metrics_write_process(b, scrapes->settings.thread_n);
    metrics_write(b);
    put_family(b, "parley_queue_limit", "Open queries that the cluster takes (--queue-max)");
    buf_printf(b, "parley_queue_limit %llu\n", (unsigned long long)scrapes->settings.queue_max);
    services_put_metrics(node, b);
    if (has_queue && scrapes->known_ms != 0 && clock_mono_ms() - scrapes->known_ms < KEPT_MS)
        buf_put(b, buf_str(&scrapes->text));
    respond_text(r, 200, "text/plain; version=0.0.4; charset=utf-8", b);
}

static void on_late(struct deadline *deadline)
{
    answer(container_of(deadline, struct scrape, deadline)->r, true);
}

static void on_depths(struct request *r, enum err error, const struct gather *all)
{
    struct scrape *scrape = r->state;
    struct services *node = r->server->services;
    if (error == ERR_OK)
        read_queue(node->scrapes, all, queue_drained(node->queue));
    loop_cancel_deadline(r->server->loop, &scrape->deadline);
    if (!r->exchange.is_answered)
        answer(r, true);
}

static void on_gone(struct request *r)
{
    struct scrape *scrape = r->state;
    loop_cancel_deadline(r->server->loop, &scrape->deadline);
}

/* With Cluster=false it is only what this process counts, and Redis is not asked. */
void scrapes_answer(struct request *r)
{
    struct scrapes *scrapes = r->server->services->scrapes;
    uint64_t now_ms = clock_mono_ms();
    bool wants_queue = !str_eq_nocase(request_param(r, "Cluster"), STR("false"));
    if (!wants_queue || (scrapes->asked_ms != 0 && now_ms - scrapes->asked_ms < ASK_EVERY_MS)) {
        answer(r, wants_queue);
        return;
    }
    scrapes->asked_ms = now_ms;
    struct scrape *scrape = request_alloc(r, sizeof *scrape);
    *scrape = (struct scrape){.r = r, .deadline = {.on_expire = on_late}};
    r->state = scrape;
    r->on_gone = on_gone;
    loop_set_deadline(r->server->loop, &scrape->deadline, WAIT_MS);
    struct gather *all = gather_begin_partial(r, on_depths);
    for (unsigned i = 0; i < all->n; i++)
        call_depth(gather_call(r, i));
}
