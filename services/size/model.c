/* SPDX-License-Identifier: MIT
 * model.c - see model.h. */
#include "services/size/model.h"

#include <math.h>

#define BYTES_PER_TOKEN 4.0
#define US_PER_S 1e6

#define FIGURE(name, value) .name = value,
const struct size_figures size_figures = {SIZE_FIGURES(FIGURE)};
#undef FIGURE

const char *size_bound_name(enum size_bound bound)
{
    static const char *const names[SIZE_BOUND_NR] = {"processor time of nodes",
                                                     "connections of nodes",
                                                     "processor time of Redis", "memory of Redis"};
    return names[bound];
}

static double at_least(double value, double least)
{
    return value < least ? least : value;
}

/* A part of the whole number that is as large as it, or larger. */
static uint64_t whole(double value, uint64_t least)
{
    double up = ceil(value);
    return up < (double)least ? least : (uint64_t)up;
}

struct stream {
    double tokens_per_s, shown_per_s, answers, viewers;
};

static struct stream stream_of(const struct size_load *load)
{
    struct stream s = {.tokens_per_s = load->questions_per_s * (double)load->tokens_per_answer};
    s.answers = s.tokens_per_s / (double)load->tokens_per_s;
    s.viewers = load->viewers == UINT64_MAX ? s.answers : (double)load->viewers;
    s.shown_per_s = s.answers > 0 ? s.viewers * (double)load->tokens_per_s : 0;
    return s;
}

static double payload_bytes(const struct size_load *load)
{
    return (double)load->question_bytes + BYTES_PER_TOKEN * (double)load->tokens_per_answer;
}

/* Cores, without what nodes and shards cost that do nothing. */
static void count_work(const struct size_load *load, const struct stream *s,
                       struct size_result *result)
{
    const struct size_figures *f = &size_figures;
    double further = at_least(s->shown_per_s - s->tokens_per_s, 0);
    result->node_cores =
        (load->questions_per_s * f->cycle_node_us + s->tokens_per_s * f->token_node_us +
         further * f->viewer_node_us + (double)load->engines * f->socket_node_us +
         (double)load->polls * f->poll_node_us) /
        US_PER_S;
    result->redis_cores =
        (load->questions_per_s * f->cycle_redis_us + s->tokens_per_s * f->token_redis_us +
         (double)load->engines * f->socket_redis_us + (double)load->polls * f->poll_redis_us) /
        US_PER_S;
}

static uint64_t shards_for(uint64_t masters)
{
    uint64_t shards = 1;
    while (masters > 1 && shards < 2 * masters && shards < SIZE_SHARDS_MAX)
        shards *= 2;
    return shards;
}

/* Nodes and servers of Redis for those cores. */
static void count_machines(const struct size_load *load, double node_cores, double redis_cores,
                           double connections, struct size_result *result)
{
    const double busy = SIZE_BUSY_PERCENT / 100.0;
    double *share = result->share;
    share[SIZE_NODE_CPU] = node_cores / busy / (double)load->threads;
    share[SIZE_NODE_CONNECTIONS] = connections / SIZE_CONNECTIONS_MAX;
    share[SIZE_REDIS_CPU] = redis_cores / busy;
    share[SIZE_REDIS_MEMORY] =
        result->redis_memory_bytes / ((double)load->redis_gib * 1024 * 1024 * 1024);
    uint64_t working = whole(at_least(share[SIZE_NODE_CPU], share[SIZE_NODE_CONNECTIONS]), 1);
    result->threads = whole(node_cores / busy / (double)working, 1);
    result->nodes = working + load->spare_n;
    result->masters = whole(at_least(share[SIZE_REDIS_CPU], share[SIZE_REDIS_MEMORY]), 1);
    result->shards = shards_for(result->masters);
}

/* Returns the syncs of so many threads with a shard, in a second (docs/operations/growth.md). */
static double syncs_per_s(double threads)
{
    if (threads <= SIZE_SYNCS_S)
        return threads;
    return at_least(threads / SIZE_SYNC_LATEST_S, SIZE_SYNCS_S);
}

/* Idle threads cost each shard something, and each server costs something for itself. The more
 * there are, the more are needed, which ends, because they cost far less than they carry. */
static void add_idle(const struct size_load *load, double connections, struct size_result *result)
{
    enum { ROUNDS_MAX = 32 };
    const struct size_figures *f = &size_figures;
    double node_work = result->node_cores, redis_work = result->redis_cores;
    double syncs = 0, before = -1;
    for (unsigned i = 0; i < ROUNDS_MAX && syncs > before; i++) {
        before = syncs;
        result->node_cores = node_work + syncs * f->idle_node_us / US_PER_S;
        result->redis_cores =
            redis_work +
            (syncs * f->idle_redis_us + (double)result->masters * f->server_redis_us) / US_PER_S;
        count_machines(load, result->node_cores, result->redis_cores, connections, result);
        syncs = (double)result->shards * syncs_per_s((double)(result->nodes * result->threads));
    }
}

static void count_network(const struct size_load *load, const struct stream *s,
                          struct size_result *result)
{
    const struct size_figures *f = &size_figures;
    double payload = 2 * payload_bytes(load), shown = at_least(s->shown_per_s, s->tokens_per_s);
    result->client_bits_per_s = 8 * (load->questions_per_s * (f->cycle_client_bytes + payload) +
                                     shown * f->token_client_bytes);
    result->redis_bits_per_s = 8 * (load->questions_per_s * (f->cycle_redis_bytes + payload) +
                                    s->tokens_per_s * f->token_redis_bytes);
}

void size_compute(const struct size_load *load, struct size_result *ret_result)
{
    const struct size_figures *f = &size_figures;
    struct stream s = stream_of(load);
    struct size_result result = {.answers = s.answers, .viewers = s.viewers};
    double connections = (double)load->engines + (double)load->polls + s.viewers + s.answers +
                         (double)load->connections;
    double stored = f->stored_bytes + payload_bytes(load) / 1024 * f->stored_per_kib_bytes;
    count_work(load, &s, &result);
    result.redis_memory_bytes = (double)load->stored * stored;
    add_idle(load, connections, &result);
    uint64_t working = result.nodes - load->spare_n;
    double redis_connections = f->connections_n * (double)(result.nodes * result.threads) *
                               (double)result.shards / (double)result.masters;
    result.connections = whole(connections / (double)working, 0);
    result.redis_connections = whole(redis_connections, 1);
    result.redis_memory_bytes +=
        (double)result.masters * (f->scripts_bytes + redis_connections * f->connection_bytes);
    result.node_memory_bytes =
        f->node_bytes +
        ((double)load->engines * f->socket_bytes + (double)load->polls * f->poll_bytes +
         (double)load->connections * f->idle_bytes + s.viewers * f->viewer_bytes +
         s.answers * f->answer_bytes) /
            (double)working;
    count_network(load, &s, &result);
    for (enum size_bound i = 1; i < SIZE_BOUND_NR; i++)
        if (result.share[i] > result.share[result.bound])
            result.bound = i;
    *ret_result = result;
}
