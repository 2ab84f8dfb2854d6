/* SPDX-License-Identifier: MIT
 *
 * queue_fixture: a queue on a loop of the test's own, with a Redis of its own behind it
 * (redis_fixture.h). The loop runs only inside run_once and run_until_answered.
 */
#ifndef PARLEY_TESTS_UNIT_QUEUE_FIXTURE_H
#define PARLEY_TESTS_UNIT_QUEUE_FIXTURE_H

#include "shared/queue/queue.h"
#include "shared/redis/blocking.h"
#include "tests/unit/redis_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#ifndef QUEUE_FIXTURE_DELIVERY_MS
#define QUEUE_FIXTURE_DELIVERY_MS 60000
#endif

static struct loop loop; /* of the whole run: what libh2o keeps of one stays reachable */
static struct metrics metrics;
static struct queue *queue;
static struct blocking *redis; /* for looking, and for what a test writes itself */

static inline void on_pass_end(void *arg)
{
    (void)arg;
    queue_before_flush(queue);
    shards_flush(queue_shards(queue));
}

static inline void run_once(void)
{
    loop.on_pass_end = on_pass_end;
    loop_run_once(&loop, 1000);
}

static inline void run_until_answered(void)
{
    shards_flush(queue_shards(queue));
    while (shards_pending_n(queue_shards(queue)) > 0)
        run_once();
}

static void queue_fixture_on_event(void *arg, struct str kind, struct lines *rest)
{
}

static void queue_fixture_on_up(void *arg, unsigned shard)
{
}

static inline void create_queue(void)
{
    static struct shard_map map;
    const char *reason;
    map.server_n = 1;
    map.servers[0] = redis_fixture.address;
    assert_true(shard_map_name(&map, STR("parley:"), 1, &reason));
    memcpy(map.id, "0123456789abcdef", sizeof map.id);
    map.is_agreed = true;
    const struct queue_config config = {.map = &map,
                                        .node_id = "n1",
                                        .lease_ms = 60000,
                                        .delivery_ms = QUEUE_FIXTURE_DELIVERY_MS,
                                        .max_attempts = 3,
                                        .queue_max = 1000,
                                        .rescan_ms = 60000,
                                        .on_other_event = queue_fixture_on_event,
                                        .on_up = queue_fixture_on_up};
    queue = queue_create(&loop, &config, &metrics);
    while (!queue_is_usable(queue))
        run_once();
    run_until_answered();
}

static inline int set_up(void **state)
{
    log_setup(LOG_ERROR, false);
    loop_init(&loop);
    metrics_register(&metrics);
    if (!redis_fixture_init())
        return -1;
    redis = blocking_create(&(struct blocking_config){.address = &redis_fixture.address,
                                                      .prefix = "parley:{0}:",
                                                      .name = "test-queue",
                                                      .patience_ms = 20000});
    create_queue();
    return 0;
}

static inline int tear_down(void **state)
{
    queue_destroy(queue);
    blocking_destroy(redis);
    redis_fixture_fini();
    return 0;
}

#endif
