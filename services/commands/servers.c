/* SPDX-License-Identifier: MIT
 * servers.c - `parley servers`: what each Redis server of a cluster has written down of it, and
 * --adopt, which takes one that has lost its data for what it is now (shared/redis/agreement.h). */
#include "services/commands/commands.h"

#include "shared/redis/agreement.h"
#include "shared/redis/start.h"

#include <signal.h>
#include <stdio.h>

enum { REASON_BYTES = 512, EXIT_FAILED = 1, EXIT_USAGE = 2 };

static const struct config_group servers_options = {
    "Flags",
    (const struct config_option[]){
        {.name = "adopt",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .min = 1,
         .max = SHARDS_MAX,
         .help = "Nodes use server N of --redis again, though it has lost its record of the "
                 "cluster, and with it its data: with what it holds now. What was on its shards is "
                 "gone then. Restore its data instead where you can."},
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

static int look(struct shard_map *map)
{
    static const char *const words[] = {[AGREEMENT_AWAY] = "away: it cannot be asked",
                                        [AGREEMENT_NONE] = "emptied: it has no record",
                                        [AGREEMENT_RECORD] = "there"};
    struct agreement_server servers[SHARDS_MAX];
    char reason[REASON_BYTES] = "no server in --redis has a record of a cluster";
    bool is_whole = true;
    if (agreement_look(map, servers, reason, sizeof reason) != AGREED)
        return complain(reason);
    for (unsigned i = 0; i < map->server_n; i++) {
        char place[REDIS_PLACE_BYTES];
        redis_put_place(&map->servers[i], place);
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
    unsigned adopted = (unsigned)config_number(config, "adopt");
    char reason[REASON_BYTES];
    if (config->argument_n > 0) {
        fputs("parley: servers takes flags only (see parley servers --help)\n", stderr);
        return EXIT_USAGE;
    }
    if (!redis_read_options(config, &map))
        return EXIT_USAGE;
    signal(SIGPIPE, SIG_IGN);
    if (adopted == 0)
        return look(&map);
    if (agreement_adopt(&map, adopted - 1, reason, sizeof reason) != AGREED)
        return complain(reason);
    printf("server %u is a part of the cluster again: ", adopted);
    put_shards(&map, adopted - 1);
    putchar('\n');
    return 0;
}

const struct command servers_command = {
    .name = "servers",
    .summary = "shows what each Redis server holds of a cluster, and adopts an emptied one",
    .about =
        "Usage: parley servers [flags]\n"
        "\n"
        "Shows of each server in --redis whether it is there, which shards it has, and whether it\n"
        "has lost its record of the cluster. Nodes do not use a server that has: it restarted\n"
        "without its data. Give it its data back, or adopt it as it is with --adopt.\n",
    .more = "Exit codes: 0 all servers are there, or the one is adopted; 1 not; 2 wrong usage.\n",
    .groups = (const struct config_group *const[]){&servers_options, &redis_options, NULL},
    .run = run};
