/* SPDX-License-Identifier: MIT
 * size.c - `parley size`: how many nodes and servers of Redis a load needs, before they are bought.
 * It reads flags and prints; the arithmetic is model.c's. */
#include "services/commands/commands.h"
#include "services/size/model.h"
#include "shared/base/config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };
#define QUESTIONS_MAX 1e6
#define MIB (1024.0 * 1024.0)

static const struct config_group size_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("questions-per-second", "N", NULL,
                    "Questions a second in the busiest hour, from 0 to 1000000, also with a "
                    "fraction such as 0.5. Required."),
        OPTION_NUMBER("tokens-per-answer", "N", "400", 1, 1000000,
                      "Tokens that a model writes for a question, of four bytes each."),
        OPTION_NUMBER("question-bytes", "N", "300", 1, 262144,
                      "Length of a question, in bytes, without earlier ones."),
        OPTION_NUMBER("token-rate", "N", "20", 1, 10000,
                      "Tokens a second of one answer. With questions and tokens it says how many "
                      "answers are under way at a time."),
        OPTION_NUMBER("engines", "N", "1", 0, 1000000,
                      "Engines that hold a socket (parley engine does), whatever their slots."),
        OPTION_NUMBER("polls", "N", "0", 0, 1000000,
                      "Engines of your own that poll the routes instead, with a connection for "
                      "each slot."),
        OPTION_NUMBER("connections", "N", "0", 0, 100000000,
                      "Other connections that clients keep open, such as those of idle browsers."),
        OPTION_TEXT("viewers", "N", NULL,
                    "Clients that follow an answer at a time. Default: one for each answer that is "
                    "under way. More: several people watch the same one."),
        OPTION_NUMBER("stored-questions", "N", "0", 0, 100000000000,
                      "Questions that stay stored with their answers."),
        OPTION_NUMBER("node-threads", "N", "4", 1, 64,
                      "Threads of a node at most, which is the cores of its machine."),
        OPTION_NUMBER("redis-gib", "N", "16", 1, 4096,
                      "maxmemory of a Redis server, in GiB. Its machine needs more."),
        OPTION_NUMBER("spare-nodes", "N", "1", 0, 1000,
                      "Nodes beyond those that the load needs, so that one may be lost or "
                      "replaced."),
        OPTION_BOOL("json", "off",
                    "Prints one JSON object, with the figures that it computes from, instead of "
                    "the table."),
        {0}}};

static bool read_real(const char *name, const char *text, double *ret_value)
{
    char *end = NULL;
    double value = text == NULL ? NAN : strtod(text, &end);
    if (text == NULL)
        fprintf(stderr, "parley: --%s is missing (see parley size --help)\n", name);
    else if (end == text || *end != 0 || !(value >= 0 && value <= QUESTIONS_MAX))
        fprintf(stderr, "parley: --%s takes a number from 0 to %.0f, not '%s'\n", name,
                QUESTIONS_MAX, text);
    else {
        *ret_value = value;
        return true;
    }
    return false;
}

static bool read_load(const struct config *config, struct size_load *ret_load)
{
    const char *viewers = config_text(config, "viewers");
    *ret_load = (struct size_load){
        .question_bytes = config_number(config, "question-bytes"),
        .tokens_per_answer = config_number(config, "tokens-per-answer"),
        .tokens_per_s = config_number(config, "token-rate"),
        .engines = config_number(config, "engines"),
        .polls = config_number(config, "polls"),
        .connections = config_number(config, "connections"),
        .viewers = UINT64_MAX,
        .stored = config_number(config, "stored-questions"),
        .threads = config_number(config, "node-threads"),
        .redis_gib = config_number(config, "redis-gib"),
        .spare_n = config_number(config, "spare-nodes"),
    };
    if (!read_real("questions-per-second", config_text(config, "questions-per-second"),
                   &ret_load->questions_per_s))
        return false;
    if (viewers == NULL)
        return true;
    if (str_parse_u64(str_of(viewers), &ret_load->viewers) && ret_load->viewers <= 100000000)
        return true;
    fprintf(stderr, "parley: --viewers takes a whole number from 0 to 100000000, not '%s'\n",
            viewers);
    return false;
}

/* --- what is printed -------------------------------------------------------------------------- */

static void print_bytes(double bytes)
{
    static const char *const units[] = {"MiB", "GiB", "TiB"};
    size_t unit = 0;
    for (bytes /= MIB; bytes >= 1024 && unit < 2; unit++)
        bytes /= 1024;
    printf("%.*f %s", bytes < 10 ? 1 : 0, bytes, units[unit]);
}

/* Two or three digits, or all of a large number. */
static void print_real(const char *before, double value, const char *after)
{
    fputs(before, stdout);
    if (value < 1)
        printf("%.2g", value);
    else
        printf("%.*f", value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
    fputs(after, stdout);
}

static void print_nodes(const struct size_load *load, const struct size_result *r)
{
    printf("nodes              %" PRIu64 " of %" PRIu64 " thread%s", r->nodes, r->threads,
           r->threads == 1 ? "" : "s");
    if (load->spare_n > 0)
        printf(", %" PRIu64 " of them to spare", load->spare_n);
    print_real("; ", r->node_cores, " cores busy\n- memory of each     ");
    print_bytes(r->node_memory_bytes);
    printf(", and what its limits allow\n- connections        %" PRIu64 " of clients to each\n",
           r->connections);
}

static void print_redis(const struct size_result *r)
{
    printf("Redis              %" PRIu64 " server%s, without replicas; %" PRIu64 " shard%s",
           r->masters, r->masters == 1 ? "" : "s", r->shards, r->shards == 1 ? "" : "s");
    print_real("; ", r->redis_cores, " cores busy\n- memory             ");
    print_bytes(r->redis_memory_bytes);
    printf(" in all\n- connections        %" PRIu64 " of nodes to each\n", r->redis_connections);
}

static void print_table(const struct size_load *load, const struct size_result *r)
{
    print_nodes(load, r);
    print_redis(r);
    print_real("answers under way  ", r->answers, ", and ");
    print_real("", r->viewers, " viewers\n");
    print_real("network            ", r->client_bits_per_s / 1e6, " Mbit/s with clients, ");
    print_real("", r->redis_bits_per_s / 1e6, " with Redis\n");
    printf("the bound          %s", size_bound_name(r->bound));
    print_real(": ", r->share[r->bound],
               r->bound <= SIZE_NODE_CONNECTIONS ? " nodes needed\n" : " servers needed\n");
}

#define PRINT_FIGURE(name, value)                                                                  \
    printf("%s\"" #name "\":%.15g", before, size_figures.name), before = ",";

static void print_json(const struct size_result *r)
{
    const char *before = "";
    printf("{\"Nodes\":%" PRIu64 ",\"Threads\":%" PRIu64 ",\"NodeCores\":%.4g,\"NodeBytes\":%.0f,"
           "\"Connections\":%" PRIu64 ",\"RedisServers\":%" PRIu64 ",\"Shards\":%" PRIu64 ",",
           r->nodes, r->threads, r->node_cores, r->node_memory_bytes, r->connections, r->masters,
           r->shards);
    printf("\"RedisCores\":%.4g,\"RedisBytes\":%.0f,\"RedisConnections\":%" PRIu64
           ",\"Answers\":%.4g,\"Viewers\":%.4g,\"ClientBitsPerSecond\":%.0f,"
           "\"RedisBitsPerSecond\":%.0f,\"Bound\":\"%s\",\"Shares\":[",
           r->redis_cores, r->redis_memory_bytes, r->redis_connections, r->answers, r->viewers,
           r->client_bits_per_s, r->redis_bits_per_s, size_bound_name(r->bound));
    for (enum size_bound i = 0; i < SIZE_BOUND_NR; i++)
        printf("%s%.4g", i == 0 ? "" : ",", r->share[i]);
    printf("],\"Figures\":{");
    SIZE_FIGURES(PRINT_FIGURE)
    printf("}}\n");
}

static int run_size(const struct config *config)
{
    struct size_load load;
    struct size_result result;
    if (!read_load(config, &load))
        return EXIT_USAGE;
    size_compute(&load, &result);
    if (result.masters > SIZE_SHARDS_MAX) {
        fprintf(stderr,
                "parley: %s: %.0f Redis servers are needed, but a cluster has %d shards at most; "
                "divide the load, or raise --redis-gib\n",
                size_bound_name(result.bound), (double)result.masters, SIZE_SHARDS_MAX);
        return EXIT_FAILED;
    }
    if (config_number(config, "json"))
        print_json(&result);
    else
        print_table(&load, &result);
    return fflush(stdout) == 0 ? 0 : EXIT_FAILED;
}

const struct command size_command = {
    .name = "size",
    .is_flags_only = true,
    .summary = "compute how many nodes and Redis servers a load needs",
    .about =
        "usage: parley size --questions-per-second N [FLAGS]\n"
        "\n"
        "Prints the nodes, threads, shards, memory, connections and network that a load needs, "
        "and\n"
        "which of them is the bound. It asks no node: it computes from measured figures, which\n"
        "--json prints and docs/operations/scale.md explains. Machines differ by a factor of two:\n"
        "measure yours with parley bench before you rely on it.\n"
        "\n",
    .more = "\n"
            "Examples:\n"
            "  parley size --questions-per-second 5 --engines 50 --stored-questions 5000000\n"
            "  A class in which 30 people watch one answer:\n"
            "    parley size --questions-per-second 0.02 --viewers 30\n"
            "\n"
            "Exit status: 0 printed; 1 the load does not fit into one cluster, or could not be\n"
            "printed; 2 wrong usage.\n",
    .groups = (const struct config_group *const[]){&size_options, NULL},
    .run = run_size,
};
