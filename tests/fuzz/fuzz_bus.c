/* SPDX-License-Identifier: MIT
 * fuzz_bus.c - what comes by the bus, from the message to what the queue does with its events:
 * claims, outcomes, changes, drained accounts, older polls. No Redis is there: verbs fail and are
 * notified. */
#include "shared/queue/queue.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct loop loop;
static struct metrics metrics;
static struct queue *queue;
static struct poll polls[2];
static struct watch watch;
static unsigned told_n;

static bool is_alive(struct poll *poll)
{
    return poll == &polls[0];
}

static void on_claim(struct poll *poll, struct claim *claim)
{
    told_n++;
    queue_give_back(queue, claim->work, claim->topic, claim->lease, false);
}

static void on_end(struct poll *poll, enum err error)
{
    told_n++;
}

static void on_outcome(struct watch *at, struct str outcome)
{
    struct lines lines = lines_of(outcome);
    (void)lines_next_outcome(&lines);
    told_n++;
}

static void on_changed(struct watch *at)
{
    told_n++;
}

static void on_other_event(void *arg, struct str kind, struct lines *rest)
{
    told_n++;
}

static void on_up(void *arg, unsigned shard)
{
}

static void on_event(void *arg, struct str event)
{
    queue_on_event(queue, 0, event);
}

static void start(void)
{
    static struct shard_map map = {.server_n = 1, .servers = {{.host = "127.0.0.1", .port = 1}}};
    const char *reason;
    if (!shard_map_name(&map, STR("parley:"), 1, &reason))
        abort();
    struct queue_config config = {.map = &map,
                                  .node_id = "n1",
                                  .lease_ms = 1000,
                                  .delivery_ms = 100,
                                  .max_attempts = 3,
                                  .queue_max = 100,
                                  .rescan_ms = 1000,
                                  .on_other_event = on_other_event,
                                  .on_up = on_up};
    loop_init(&loop);
    queue = queue_create(&loop, &config, &metrics);
    watch = (struct watch){
        .topic = STR("t"), .seq = 1, .on_outcome = on_outcome, .on_changed = on_changed};
    queue_watch(queue, &watch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (queue == NULL)
        start();
    for (unsigned i = 0; i < 2; i++) { /* claiming: hand-overs that come now are kept */
        polls[i] = (struct poll){
            .is_alive = is_alive, .on_claim = on_claim, .on_end = on_end, .engine = STR("box")};
        queue_poll_start(queue, &polls[i], STR("E"), STR("*"), NULL, false);
    }
    (void)bus_read_message((struct str){(const char *)data, size}, on_event, NULL);
    /* The polls hear that Redis is not there, and what was kept goes back. */
    shards_flush(queue_shards(queue));
    shards_flush(queue_shards(queue));
    if (polls[0].state != POLL_IDLE || polls[1].state != POLL_IDLE || !list_is_linked(&watch.link))
        abort();
    queue_on_event(queue, 0, (struct str){(const char *)data, size});
    shards_flush(queue_shards(queue));
    return 0;
}
