/* SPDX-License-Identifier: MIT
 * show.c - `parley show WHAT`: the current state of a cluster's nodes (without WHAT:
 * show_overview.h). It asks each node known to Redis through a message on the node's channel and
 * reads the answers from a short-lived list (services/node/show.h). So it needs no route and no
 * account and works behind any proxy. Nodes that hang or have ended are named. */
#include "services/commands/show_rows.h"

#include "services/commands/commands.h"
#include "services/commands/show_overview.h"
#include "services/commands/show_status.h"
#include "services/node/show.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/base/log_options.h"
#include "shared/base/mem.h"
#include "shared/base/trust.h"
#include "shared/redis/blocking.h"
#include "shared/redis/start.h"

#include <stdio.h>

enum {
    PATIENCE_MS = 2000, /* for all nodes together, and for Redis */
    ASK_BYTES = 12,
    ID_MAX_BYTES = 64,
    KEY_MAX_BYTES = 256,
    ROWS_MAX_BYTES = 256 << 20,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2
};

static const struct config_group show_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT("node", "ID", NULL,
                    "Asks only the node with this id (see parley show nodes). Unset: all nodes."),
        OPTION_BOOL("json", "off",
                    "Prints a JSON list of objects instead of a table; the overview as the object "
                    "that GET /api/status returns, with Troubles, a list of texts."),
        {0}}};

struct asked_node {
    char id[ID_MAX_BYTES + 1];
    bool has_answered;
    bool is_deaf; /* nobody listened to the question */
    struct buf rows;
};

struct show {
    const struct config *config;
    struct shard_map map;
    const char *what;
    struct blocking *blocking;
    char ask[2 * ASK_BYTES + 1];
    struct asked_node *nodes;
    size_t node_n, answered_n, deaf_n;
};

static bool complain(const char *line)
{
    fprintf(stderr, "parley: %s (see parley show --help)\n", line);
    return false;
}

static bool read_settings(struct show *x)
{
    const struct config *c = x->config;
    if (c->argument_n != 1)
        return complain("show takes one word and flags");
    if (config_text(c, "url") != NULL && strcmp(config_get(c, "url")->source, "flag") == 0)
        return complain("--url is for the overview, without a word: tables come through Redis");
    x->what = c->arguments[0];
    if (!redis_read_options(c, &x->map))
        return false;
    log_read_options(c);
    return true;
}

/* --- asking ----------------------------------------------------------------------------------- */

static int by_id(const void *one, const void *other)
{
    return strcmp(((const struct asked_node *)one)->id, ((const struct asked_node *)other)->id);
}

static enum err list_nodes(struct show *x)
{
    char key[KEY_MAX_BYTES];
    const char *only = config_text(x->config, "node");
    struct blocking_answer answer;
    snprintf(key, sizeof key, "%snodes", x->map.prefixes[0]);
    struct str words[] = {STR("ZRANGE"), str_of(key), STR("0"), STR("-1")};
    enum err error = blocking_command(x->blocking, words, 4, 0, &answer);
    if (error != ERR_OK)
        return error;
    x->nodes = mem_zeroed_n(answer.n + 1, sizeof *x->nodes);
    for (size_t i = 0; i < answer.n; i++) {
        struct str id = answer.at[i];
        if (id.n == 0 || id.n > ID_MAX_BYTES || (only != NULL && !str_eq(id, str_of(only))))
            continue;
        memcpy(x->nodes[x->node_n++].id, id.at, id.n);
    }
    qsort(x->nodes, x->node_n, sizeof *x->nodes, by_id);
    return ERR_OK;
}

/* A node that has ended is known to Redis for a minute more; it is not waited for. */
static enum err ask_node(struct show *x, struct asked_node *node)
{
    char channel[KEY_MAX_BYTES], event[KEY_MAX_BYTES], message[KEY_MAX_BYTES + 16];
    struct blocking_answer answer;
    snprintf(channel, sizeof channel, "%snode:%s", x->map.prefixes[0], node->id);
    int n = snprintf(event, sizeof event, "show\n%s\n%s", x->what, x->ask);
    snprintf(message, sizeof message, "%d:%s", n, event);
    struct str words[] = {STR("PUBLISH"), str_of(channel), str_of(message)};
    enum err error = blocking_command(x->blocking, words, 3, 0, &answer);
    node->is_deaf = error == ERR_OK && answer.n == 1 && str_eq(answer.at[0], STR("0"));
    x->deaf_n += node->is_deaf;
    return error;
}

/* Complains of what a node left out, or does not know. */
static void note_left(const char *id, struct str left)
{
    if (str_eq(left, STR(SHOW_UNKNOWN)))
        fprintf(stderr, "parley: node %s runs another version and does not know this table\n", id);
    else if (!str_eq(left, STR("0")))
        fprintf(stderr, "parley: node %s has %.*s more rows, which are not shown\n", id,
                STR_ARG(left));
}

static void take_part(struct show *x, struct str part)
{
    struct str id = str_cut(&part, '\n'), left = str_cut(&part, '\n');
    for (size_t i = 0; i < x->node_n; i++)
        if (str_eq(id, str_of(x->nodes[i].id)) && !x->nodes[i].has_answered) {
            x->nodes[i].has_answered = true;
            x->answered_n++;
            note_left(x->nodes[i].id, left);
            buf_init(&x->nodes[i].rows, SHOW_PART_MAX_BYTES);
            if (part.at != NULL)
                buf_put(&x->nodes[i].rows, part);
        }
}

/* Takes one part off the list. *ret_came: there was one before the time was over. */
static enum err wait_for_part(struct show *x, uint64_t left_ms, bool *ret_came)
{
    char key[KEY_MAX_BYTES], seconds[32];
    struct blocking_answer answer;
    snprintf(key, sizeof key, "%sshown:%s", x->map.prefixes[0], x->ask);
    snprintf(seconds, sizeof seconds, "%llu.%03llu", (unsigned long long)left_ms / 1000,
             (unsigned long long)left_ms % 1000);
    struct str words[] = {STR("BLPOP"), str_of(key), str_of(seconds)};
    enum err error = blocking_command(x->blocking, words, 3, (unsigned)left_ms, &answer);
    *ret_came = error == ERR_OK && answer.n == 2 && answer.at[1].at != NULL;
    if (*ret_came)
        take_part(x, answer.at[1]);
    return error;
}

static enum err ask_all(struct show *x)
{
    str_random_hex(ASK_BYTES, x->ask);
    enum err error = list_nodes(x);
    for (size_t i = 0; error == ERR_OK && i < x->node_n; i++)
        error = ask_node(x, &x->nodes[i]);
    uint64_t end_ms = clock_mono_ms() + PATIENCE_MS, now_ms;
    bool came = true;
    while (error == ERR_OK && came && x->answered_n + x->deaf_n < x->node_n &&
           (now_ms = clock_mono_ms()) < end_ms)
        error = wait_for_part(x, end_ms - now_ms, &came);
    return error;
}

/* --- the run ---------------------------------------------------------------------------------- */

/* A line for each kind of node without an answer. */
static void note_nodes(const struct show *x, bool is_deaf, const char *why)
{
    const char *between = "parley: node ";
    for (size_t i = 0; i < x->node_n; i++)
        if (!x->nodes[i].has_answered && x->nodes[i].is_deaf == is_deaf) {
            fprintf(stderr, "%s%s", between, x->nodes[i].id);
            between = ", ";
        }
    if (between[0] == ',')
        fputs(why, stderr);
}

static void note_missing(const struct show *x)
{
    if (x->node_n == 0) {
        fputs(config_text(x->config, "node") == NULL
                  ? "parley: no node runs on this Redis with this --key-prefix\n"
                  : "parley: no node has that id: see parley show nodes\n",
              stderr);
        return;
    }
    note_nodes(x, true, ": not listening: it has ended or lost Redis\n");
    note_nodes(
        x, false,
        ": no answer within 2 seconds: it is stuck, or its version does not support parley show\n");
}

/* In the order of their ids, whichever came first. */
static void print_rows(const struct show *x)
{
    struct buf rows;
    buf_init(&rows, ROWS_MAX_BYTES);
    for (size_t i = 0; i < x->node_n; i++)
        buf_put(&rows, buf_str(&x->nodes[i].rows));
    if (rows.is_over)
        fputs("parley: too many rows to show at once: use --node\n", stderr);
    show_rows_print(buf_str(&rows), config_number(x->config, "json"));
    buf_fini(&rows);
}

static int run(struct show *x)
{
    x->blocking = blocking_create(&(struct blocking_config){.address = shard_server(&x->map, 0),
                                                            .prefix = x->map.prefixes[0],
                                                            .name = "parley-show",
                                                            .patience_ms = PATIENCE_MS,
                                                            .is_quiet = true});
    redis_stop_on_signals(x->blocking);
    enum err error = ask_all(x);
    if (error != ERR_OK) {
        fprintf(stderr, "parley: %s\n",
                redis_is_interrupted() ? "interrupted" : blocking_problem(x->blocking));
    } else {
        note_missing(x);
        if (x->answered_n > 0)
            print_rows(x);
    }
    bool is_good = error == ERR_OK && x->answered_n > 0;
    redis_ignore_signals();
    blocking_destroy(x->blocking);
    for (size_t i = 0; i < x->node_n; i++)
        buf_fini(&x->nodes[i].rows);
    free(x->nodes);
    return is_good ? 0 : EXIT_FAILED;
}

static int run_show(const struct config *config)
{
    struct show x = {.config = config};
    if (config->argument_n == 0)
        return show_overview(config);
    if (!read_settings(&x))
        return EXIT_USAGE;
    return redis_check_login(&x.map) ? run(&x) : EXIT_FAILED;
}

#define WHAT(name, text) "  " #name "\n      " text ".\n"
const struct command show_command = {
    .name = "show",
    .is_word_optional = true,
    .words = "nodes|polls|classes|claims|watches|connections|verbs|memory",
    .summary = "show the state of a cluster, or of its nodes: polls, claims, watches, memory",
    .about =
        "usage: parley show [--json] [--redis URL | --url URL --user NAME --secret-file FILE]\n"
        "       parley show WHAT [--node ID] [--json] [--redis URL]\n"
        "\n"
        "Without WHAT: an overview of the cluster: queue, engines, nodes, accounts, work under\n"
        "way, and what is in trouble. It comes from a node if --url says which, else from Redis;\n"
        "only nodes know accounts, and the settings in which they differ.\n"
        "\n"
        "With WHAT: asks the nodes through Redis for their current state and prints a table.\n"
        "Each thread of a process is a node. No account is needed: anyone with access to this\n"
        "Redis can ask. A node returns at most 1000 rows and reports how many it left out.\n"
        "\n"
        "WHAT, and what each row describes\n" SHOW_TABLE(WHAT) "\n",
    .more =
        "\n"
        "Exit codes\n"
        "  0  the overview was printed, whatever it says; of WHAT: at least one node answered,\n"
        "     and standard error lists those that did not\n"
        "  1  no node answered within 2 seconds, Redis does not work, or a node refused\n"
        "  2  a wrong word, flag or value\n"
        "\n"
        "Examples\n"
        "  parley show --url http://10.0.0.5:8080 --user Operator_1 \\\n"
        "      --secret-file operator.secret\n"
        "  parley show --json --redis redis://10.0.0.5:6379/0 | jq -r '.Troubles[]'\n"
        "  parley show nodes --redis redis://10.0.0.5:6379/0\n"
        "  parley show watches --json | jq 'map(.waiting) | add'\n",
    .groups = (const struct config_group *const[]){&show_options, &redis_options, &show_url_options,
                                                   &signed_options, &login_file_options,
                                                   &trust_options, &log_tool_options, NULL},
    .run = run_show,
};
