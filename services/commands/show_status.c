/* SPDX-License-Identifier: MIT
 * show_status.c - see show_status.h. */
#include "services/commands/show_status.h"

#include "generated/verbs.h"
#include "shared/auth/signed.h"
#include "shared/http/client/node_calls.h"
#include "shared/queue/depth.h"
#include "shared/queue/status.h"
#include "shared/redis/blocking.h"
#include "shared/redis/start.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PATIENCE_MS = 2000,
    ANSWER_MAX_BYTES = 32 << 20,
    REASON_BYTES = 200,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2
};

const struct config_group show_url_options = {
    "Flags for nodes",
    (const struct config_option[]){
        OPTION_TEXT(
            "url", "URL[,URL...]", NULL,
            "Asks a node for the overview instead of Redis: the first of these that answers. "
            "The account that signs (--user) must be an operator. Unset: the node of parley "
            "login, if there is one, else Redis. With --redis, Redis is asked."),
        OPTION_NUMBER(
            "patience-seconds", "N", "0", 0, 86400,
            "With --url: seconds to keep retrying while no node answers. 0: each is tried "
            "once."),
        {0}}};

/* --- from a node ------------------------------------------------------------------------------ */

int show_status_of_node(const struct config *config, json_t **ret_status)
{
    struct node_calls calls = {
        .config = config, .command = "show", .service = "broker", .signal_fd = -1};
    const struct node_call call = {.method = "GET",
                                   .path = "/api/status",
                                   .max_bytes = ANSWER_MAX_BYTES,
                                   .tries_all = true,
                                   .instead = "Status"}; /* without Redis: what the node knows */
    if (!node_calls_read(&calls))
        return EXIT_USAGE;
    bool is_good = node_calls_open(&calls) && node_calls_ask(&calls, &call, ret_status);
    node_calls_close(&calls);
    return is_good ? 0 : EXIT_FAILED;
}

/* --- from the shards -------------------------------------------------------------------------- */

/* Puts the numbers of engines. A process counts once per slot; `parley show polls` names them. */
static void put_engines(struct buf *b, const struct status *status)
{
    uint64_t n[ENGINE_NR] = {0};
    for (unsigned shard = 0; shard < status->shard_n; shard++) {
        struct lines lines = status->engines[shard];
        for (uint64_t i = 0; i < status->engine_n[shard]; i++) {
            (void)lines_next(&lines);
            struct str state = lines_next(&lines);
            for (unsigned k = 0; k < ENGINE_NR; k++)
                n[k] += str_eq(state, str_of(engine_state_names[k]));
            (void)lines_next(&lines);
            (void)lines_next(&lines);
        }
    }
    buf_printf(b, ",\"Engines\":[{\"Slots\":{\"Waiting\":%llu,\"Working\":%llu,\"Resting\":%llu}}",
               (unsigned long long)n[ENGINE_WAITING], (unsigned long long)n[ENGINE_WORKING],
               (unsigned long long)n[ENGINE_RESTING]);
    for (struct str rest = status->drained; rest.n > 0;) {
        buf_lit(b, ",{\"Drained\":true,\"User\":");
        buf_put_json_of_name(b, str_cut(&rest, ','));
        buf_put_char(b, '}');
    }
    buf_put_char(b, ']');
}

static void put_nodes(struct buf *b, const struct status *status, const char *member, bool is_gone)
{
    struct status_node node;
    const char *between = "";
    buf_printf(b, ",\"%s\":[", member);
    for (unsigned shard = 0; shard < status->shard_n; shard++)
        for (struct lines nodes = status->nodes[shard]; status_next_node(&nodes, &node);) {
            if (node.is_gone != is_gone || !status_is_first(status, shard, &node))
                continue;
            buf_printf(b, "%s{\"SeenSecondsAgo\":%.3f,\"Info\":", between,
                       (double)node.age_ms / 1000);
            buf_put(b, node.info);
            buf_put_char(b, '}');
            between = ",";
        }
    buf_put_char(b, ']');
}

/* A copy of what a shard replies, because its connection has the next shard's soon. NULL after a
 * line. */
static char *ask_shard(struct blocking *blocking, const char *prefix)
{
    struct blocking_call call = {.blocking = blocking};
    blocking_use(blocking, prefix);
    call_status(blocking_start(&call));
    if (call.error == ERR_OK)
        return str_copy(call.reply);
    if (redis_is_interrupted())
        fputs("parley: interrupted\n", stderr);
    else
        fprintf(stderr, "parley: %s\n", blocking_problem(blocking));
    return NULL;
}

static bool read_json(const struct status *status, json_t **ret_status)
{
    char reason[REASON_BYTES];
    struct buf b;
    buf_init(&b, ANSWER_MAX_BYTES);
    buf_put_char(&b, '{');
    status_put_counts(&b, status);
    put_engines(&b, status);
    put_nodes(&b, status, "Nodes", false);
    put_nodes(&b, status, "GoneNodes", true);
    buf_lit(&b, ",\"Redis\":{\"Status\":\"connected\"}}");
    bool is_good = !b.is_over && json_parse(buf_str(&b), reason, sizeof reason, ret_status);
    if (!is_good)
        fputs("parley: what a shard returned is not understood: it is of another version\n",
              stderr);
    buf_fini(&b);
    return is_good;
}

static bool ask_shards(const struct shard_map *map, json_t **ret_status)
{
    struct blocking *connections[SHARDS_MAX] = {NULL};
    char *replies[SHARDS_MAX] = {NULL};
    struct status status;
    bool is_good = true;
    status_init(&status, map->n);
    redis_connect_all(map, "parley-show", PATIENCE_MS, connections);
    for (unsigned i = 0; i < map->n && is_good; i++) {
        replies[i] = ask_shard(connections[i % map->server_n], map->prefixes[i]);
        is_good = replies[i] != NULL;
        if (is_good)
            status_read(&status, i, str_of(replies[i]));
    }
    is_good = is_good && read_json(&status, ret_status);
    redis_ignore_signals();
    redis_disconnect_all(map, connections);
    for (unsigned i = 0; i < map->n; i++)
        free(replies[i]);
    return is_good;
}

int show_status_of_redis(const struct config *config, json_t **ret_status)
{
    static struct shard_map map;
    if (!redis_read_options(config, &map))
        return EXIT_USAGE;
    if (!redis_check_login(&map) || !redis_await_agreement(&map, false, PATIENCE_MS))
        return EXIT_FAILED;
    return ask_shards(&map, ret_status) ? 0 : EXIT_FAILED;
}
