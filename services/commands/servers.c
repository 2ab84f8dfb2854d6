/* SPDX-License-Identifier: MIT
 * servers.c - `parley servers`: shows the cluster record of each Redis server; --adopt accepts a
 * server that has lost its data as it is now (shared/redis/agreement.h). */
#include "services/commands/commands.h"

#include "shared/base/trust.h"
#include "shared/redis/agreement.h"
#include "shared/redis/start.h"
#include "shared/redis/topology.h"

#include <signal.h>
#include <stdio.h>

enum { REASON_BYTES = 800, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const struct config_group servers_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_NUMBER(
            "adopt", "N", NULL, 1, SHARDS_MAX,
            "Lets nodes use server N of --redis again, with what it holds now, although it "
            "has lost its cluster record and therefore its data. The former data of its "
            "shards is lost for good: restore it instead if you can."),
        {0}}};

static int complain(const char *reason)
{
    fprintf(stderr, "parley: %s\n", reason);
    return EXIT_FAILED;
}

static void put_shards(const struct shard_map *map, unsigned server)
{
    for (unsigned i = server; i < map->n; i += map->server_n)
        printf("%s%u", i == server ? "shards " : ", ", i);
}

static int show(struct shard_map *map)
{
    static const char *const words[] = {[AGREEMENT_AWAY] = "unreachable",
                                        [AGREEMENT_NONE] = "emptied: it has no cluster record",
                                        [AGREEMENT_RECORD] = "there"};
    struct agreement_server servers[SHARDS_MAX];
    char reason[REASON_BYTES] = "no server in --redis has a cluster record";
    bool is_whole = true;
    if (agreement_read(map, servers, reason, sizeof reason) != AGREED)
        return complain(reason);
    for (unsigned i = 0; i < map->server_n; i++) {
        char place[REDIS_PLACE_BYTES], unknown[REASON_BYTES];
        struct redis_address now;
        bool is_known = topology_locate(&map->servers[i], &now, unknown, sizeof unknown);
        redis_put_place(is_known ? &now : &map->servers[i], place);
        is_whole &= servers[i].answer == AGREEMENT_RECORD;
        printf("server %u  %s  ", i + 1, place);
        put_shards(map, i);
        printf("  %s\n", words[servers[i].answer]);
    }
    return is_whole ? 0 : EXIT_FAILED;
}

static int run(const struct config *config)
{
    struct shard_map map = {.n = 1};
    unsigned emptied = (unsigned)config_number(config, "adopt");
    char reason[REASON_BYTES];
    if (!redis_read_options(config, &map))
        return EXIT_USAGE;
    signal(SIGPIPE, SIG_IGN);
    if (emptied == 0)
        return show(&map);
    if (agreement_rewrite(&map, emptied - 1, reason, sizeof reason) != AGREED)
        return complain(reason);
    printf("server %u is part of the cluster again: ", emptied);
    put_shards(&map, emptied - 1);
    putchar('\n');
    return 0;
}

const struct command servers_command = {
    .name = "servers",
    .is_flags_only = true,
    .summary = "show the Redis servers of a cluster and their shards, or use an emptied one again",
    .about = "usage: parley servers [FLAGS]\n"
             "\n"
             "Shows for each server in --redis whether it is reachable, which shards it has, and\n"
             "whether it has lost its cluster record. A server loses that record when it restarts "
             "without its\n"
             "data, and nodes then do not use it. Restore its data, or use it as it is with "
             "--adopt.\n\n",
    .more =
        "\nExit codes: 0 all servers are reachable, or the server is used again; 1 otherwise; 2 "
        "wrong\n"
        "usage\n",
    .groups = (const struct config_group *const[]){&servers_options, &redis_options, &trust_options,
                                                   NULL},
    .run = run};
