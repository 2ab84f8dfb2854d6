/* SPDX-License-Identifier: MIT
 * main.c - `parley bench`: the load generator. Reads flags, finds the processes to look at, runs
 * the modes one after the other and prints the report. One thread, because it shares the machine
 * that it measures; README.md says how to read the figures. */
#include "services/bench/conn.h"
#include "services/bench/report.h"
#include "services/bench/token_text.h"
#include "services/commands/commands.h"
#include "shared/auth/token.h"
#include "shared/base/buf.h"
#include "shared/base/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, TEXT_MAX_BYTES = 1 << 20, PARTIALS_MAX_BYTES = 1 << 20 };

static const struct config_group bench_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT(
            "url", "URL[,URL...]", "http://127.0.0.1:8080",
            "The nodes. Connections are spread over several nodes in turn. In the modes wake "
            "and wakecheck the frontend uses the first node and the engine the second. In mode "
            "tokens engines use the first node and viewers the others."),
        OPTION_TEXT("accounts", "FILE", NULL,
                    "The nodes' accounts.yaml. The first frontend account adds and checks queries; "
                    "the first engine account without a dialect claims and answers. Required."),
        OPTION_CHOICE("mode", "split|inline|compact|wake|wakecheck|idle|tokens|all", "split",
                      "What to measure; see Modes above."),
        OPTION_NUMBER(
            "seconds", "N", "5", 1, 3600,
            "Seconds that split, inline, compact and tokens measure, after one second of warm-up, "
            "and that idle watches the parked polls."),
        OPTION_NUMBER("conns", "N", "64", 1, 8192,
                      "Concurrent cycles: connections in inline; frontend connections in split and "
                      "compact."),
        OPTION_NUMBER("engines", "N", "0", 0, 8192,
                      "Engine connections in split and compact, or with --engine-socket the slots "
                      "of all. 0: as "
                      "many as --conns. With more, engines wait for questions; with fewer, "
                      "questions wait for "
                      "engines."),
        OPTION_NUMBER(
            "rate", "N", "0", 0, 1000000,
            "Cycles to begin per second in split, inline and compact, evenly spread; --conns "
            "limits how many are under way. 0: each connection begins the next one at once, "
            "so the nodes are as busy as they can be."),
        OPTION_NUMBER(
            "users", "N", "0", 0, 8192,
            "Number of users on whose behalf questions are asked; the queue serves them in "
            "turn. 0: one per connection. A user may have 100 waiting queries unless the "
            "account says otherwise, so use few connections with few users."),
        OPTION_BOOL(
            "next", "off",
            "Mode split: engines answer with Next=true, which returns the next claim in the "
            "same response."),
        OPTION_BOOL(
            "tokens", "off",
            "Requests bear login tokens (GET /api/login) instead of signatures, in every mode."),
        OPTION_BOOL(
            "engine-socket", "off",
            "Modes split, compact and tokens: engines get claims and send pieces and answers as "
            "frames over the WebSocket /ws/engine instead of requests."),
        OPTION_NUMBER("slots", "N", "50", 1, 64,
                      "With --engine-socket: claims that an engine works on at a time, over one "
                      "socket."),
        OPTION_NUMBER("query-bytes", "N", "300", 10, 262144, "Length of a question, in bytes."),
        OPTION_NUMBER("answer-bytes", "N", "600", 1, 524288, "Length of an answer, in bytes."),
        OPTION_NUMBER("samples", "N", "200", 10, 100000,
                      "Modes wake and wakecheck: number of wakes. Each takes about 80 ms."),
        OPTION_NUMBER(
            "idle", "N", "10000", 1, 1000000,
            "Mode idle: number of polls to park. Client and node each need that many open files."),
        OPTION_NUMBER("streams", "N", "50", 1, 8192,
                      "Mode tokens: answers that are written at the same time."),
        OPTION_NUMBER("token-rate", "N", "50", 1, 10000,
                      "Mode tokens: tokens per second of each answer. A token has four bytes."),
        OPTION_NUMBER("per-piece", "N", "1", 1, 1000,
                      "Mode tokens: tokens that an engine collects for each partial answer."),
        OPTION_NUMBER("batch", "N", "1", 1, 8192,
                      "Mode tokens: answers whose pieces are written at the same moments, as by a "
                      "model server that computes the next token of all its answers in one step."),
        OPTION_NUMBER("viewers", "N", "1", 1, 1000,
                      "Mode tokens: clients that follow each answer."),
        OPTION_TEXT(
            "pid", "PID[,PID...]", NULL,
            "Process ids of the nodes, to measure CPU and memory; threads and children are "
            "included. Default: the processes on this machine that listen on the ports of --url."),
        OPTION_TEXT("redis-pid", "PID[,PID...]", NULL,
                    "Process ids of Redis. Default: the processes that the nodes are connected to "
                    "over TCP."),
        OPTION_BOOL("json", "off", "Prints one line of JSON instead of the table."),
        {0}}};

static bool read_targets(struct bench *bench, const char *urls)
{
    char reason[400];
    struct str rest = str_of(urls);
    while (rest.at != NULL) {
        struct str url = str_trim(str_cut(&rest, ','));
        if (bench->target_n == BENCH_TARGET_MAX) {
            fprintf(stderr, "parley: --url takes at most %d nodes\n", BENCH_TARGET_MAX);
            return false;
        }
        if (!bench_target_parse(url, &bench->targets[bench->target_n], reason, sizeof reason)) {
            fprintf(stderr, "parley: --url: %s\n", reason);
            return false;
        }
        bench->target_n++;
    }
    return true;
}

static bool pick_accounts(struct bench *bench, const struct accounts *accounts)
{
    for (size_t i = 0; i < accounts_count(accounts); i++) {
        const struct account *account = accounts_at(accounts, i);
        if (account->role == ROLE_FRONTEND && bench->frontend == NULL)
            bench->frontend = account;
        if (account->role == ROLE_ENGINE && !account->is_deployed && bench->engine == NULL)
            bench->engine = account;
    }
    if (bench->frontend != NULL && bench->engine != NULL)
        return true;
    fprintf(stderr, "parley: the accounts file has no account of role %s\n",
            bench->frontend == NULL ? "frontend" : "engine without a dialect");
    return false;
}

static bool read_pids(struct bench *bench, const struct config *config)
{
    static const char *const names[] = {"pid", "redis-pid"};
    struct bench_proc_group *groups[] = {&bench->nodes, &bench->redis};
    for (size_t i = 0; i < 2; i++) {
        const char *text = config_text(config, names[i]);
        if (text != NULL && !bench_proc_group_parse(groups[i], str_of(text))) {
            fprintf(stderr, "parley: --%s takes ids of running processes, not '%s'\n", names[i],
                    text);
            return false;
        }
    }
    for (size_t i = 0; config_text(config, "pid") == NULL && i < bench->target_n; i++)
        if (bench->targets[i].is_local)
            bench_proc_find_listeners(&bench->nodes, &bench->targets[i].address);
    if (config_text(config, "redis-pid") == NULL)
        bench_proc_find_redis(&bench->redis, &bench->nodes);
    return true;
}

/* A JSON string of `n` bytes of a sentence again and again, which needs no escapes. */
static void put_text(struct buf *b, const char *sentence, size_t n)
{
    size_t length = strlen(sentence);
    buf_put_char(b, '"');
    for (size_t i = 0; i < n; i++)
        buf_put_char(b, sentence[i % length]);
    buf_put_char(b, '"');
}

static bool run_mode(const struct bench *bench, enum bench_mode mode, struct bench_results *results)
{
    bool is_ok;
    if (mode == BENCH_TOKENS)
        is_ok = bench_tokens_run(bench, &results->tokens);
    else if (mode == BENCH_IDLE)
        is_ok = bench_idle_run(bench, &results->idle);
    else if (mode >= BENCH_WAKE)
        is_ok = bench_wake_run(bench, mode, &results->wakes[mode - BENCH_WAKE]);
    else
        is_ok = bench_cycle_run(bench, mode, &results->cycles[mode]);
    results->has[mode] = is_ok;
    if (bench->is_progress)
        fputs("\r\033[K", stderr);
    return is_ok;
}

/* Says what went wrong in a mode; true when nothing did. */
static bool is_clean(enum bench_mode mode, const struct bench_results *results)
{
    const struct bench_faults *faults;
    bool has_measured;
    if (mode <= BENCH_COMPACT) {
        faults = &results->cycles[mode].faults;
        has_measured = results->cycles[mode].cycles > 0 && results->cycles[mode].unfinished == 0;
    } else if (mode <= BENCH_WAKECHECK) {
        faults = &results->wakes[mode - BENCH_WAKE].faults;
        has_measured = results->wakes[mode - BENCH_WAKE].since_sent.n > 0;
    } else if (mode == BENCH_IDLE) {
        faults = &results->idle.faults;
        has_measured = results->idle.parked > 0;
    } else {
        faults = &results->tokens.faults;
        has_measured = results->tokens.delivered > 0 && results->tokens.unfinished == 0;
    }
    if (faults->errors == 0 && has_measured)
        return true;
    const char *outcome = faults->is_fatal ? "given up"
                          : has_measured   ? "measured"
                                           : "the measurement is incomplete";
    fprintf(stderr, "parley: %s: %s, errors: %" PRIu64 "%s%s\n", bench_mode_name(mode), outcome,
            faults->errors, faults->first[0] == 0 ? "" : ", the first: ", faults->first);
    return false;
}

static int run(const struct bench *bench, const char *mode_text, bool is_json)
{
    struct bench_results results = {0};
    /* Memory first, while the nodes have not served load yet, and load last. */
    static const enum bench_mode order[] = {BENCH_IDLE,   BENCH_WAKE,   BENCH_WAKECHECK,
                                            BENCH_TOKENS, BENCH_INLINE, BENCH_COMPACT,
                                            BENCH_SPLIT};
    bool is_all = strcmp(mode_text, "all") == 0, is_ok = true;
    for (size_t i = 0; i < BENCH_MODE_NR; i++) {
        enum bench_mode mode = order[i];
        if (is_all || strcmp(mode_text, bench_mode_name(mode)) == 0)
            is_ok = run_mode(bench, mode, &results) && is_clean(mode, &results) && is_ok;
    }
    is_ok = (is_json ? bench_report_json(bench, &results) : bench_report_table(bench, &results)) &&
            is_ok;
    for (size_t i = 0; i < sizeof results.cycles / sizeof results.cycles[0]; i++)
        bench_samples_fini(&results.cycles[i].latency);
    for (size_t i = 0; i < sizeof results.wakes / sizeof results.wakes[0]; i++) {
        bench_samples_fini(&results.wakes[i].since_sent);
        bench_samples_fini(&results.wakes[i].since_returned);
    }
    bench_samples_fini(&results.tokens.delay);
    return is_ok ? 0 : EXIT_FAILED;
}

static void read_numbers(struct bench *bench, const struct config *config)
{
    uint32_t id;
    bench->seconds = (unsigned)config_number(config, "seconds");
    bench->conns = (unsigned)config_number(config, "conns");
    bench->engines = (unsigned)config_number(config, "engines");
    bench->rate = (unsigned)config_number(config, "rate");
    bench->users = (unsigned)config_number(config, "users");
    bench->samples = (unsigned)config_number(config, "samples");
    bench->idle_n = (unsigned)config_number(config, "idle");
    bench->streams = (unsigned)config_number(config, "streams");
    bench->token_rate = (unsigned)config_number(config, "token-rate");
    bench->per_piece = (unsigned)config_number(config, "per-piece");
    bench->batch = (unsigned)config_number(config, "batch");
    bench->viewers = (unsigned)config_number(config, "viewers");
    bench->slots = (unsigned)config_number(config, "slots");
    bench->has_engine_sockets = config_number(config, "engine-socket") != 0;
    bench->query_bytes = (unsigned)config_number(config, "query-bytes");
    bench->answer_bytes = (unsigned)config_number(config, "answer-bytes");
    bench->is_next = config_number(config, "next") != 0;
    bench->is_progress = isatty(STDERR_FILENO) != 0;
    if (bench->engines == 0)
        bench->engines = bench->conns;
    if (bench->users == 0)
        bench->users = bench->conns;
    if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
        abort();
    snprintf(bench->run, sizeof bench->run, "bench-%06x-", id & 0xffffffu);
}

/* The pieces of an answer together may have 1 MiB. */
static bool check_tokens(const struct bench *bench, const char *mode)
{
    uint64_t tokens = (uint64_t)(bench->seconds + 2) * bench->token_rate + bench->per_piece;
    if ((strcmp(mode, "tokens") != 0 && strcmp(mode, "all") != 0) ||
        tokens * BENCH_TOKEN_BYTES <= PARTIALS_MAX_BYTES)
        return true;
    fprintf(stderr,
            "parley: %u s at --token-rate %u make answers of %" PRIu64 " bytes; an answer that is "
            "sent in pieces may have %d: lower --seconds or --token-rate\n",
            bench->seconds, bench->token_rate, tokens * BENCH_TOKEN_BYTES, PARTIALS_MAX_BYTES);
    return false;
}

static int run_bench(const struct config *config)
{
    struct bench bench = {0};
    struct accounts *accounts = NULL;
    struct buf query, answer;
    int status = EXIT_USAGE;
    const char *file = config_text(config, "accounts");
    char reason[ACCOUNTS_REASON_BYTES];
    if (file == NULL || *file == 0) {
        fputs("parley: --accounts is missing: the nodes' accounts.yaml (see parley bench --help)\n",
              stderr);
        return EXIT_USAGE;
    }
    if (!accounts_load(file, reason, sizeof reason, &accounts)) {
        fprintf(stderr, "parley: cannot use the accounts file %s: %s\n", file, reason);
        return EXIT_USAGE;
    }
    buf_init(&query, TEXT_MAX_BYTES);
    buf_init(&answer, TEXT_MAX_BYTES);
    buf_init(&bench.frontend_token, TOKEN_MAX_BYTES);
    buf_init(&bench.engine_token, TOKEN_MAX_BYTES);
    if (!read_targets(&bench, config_text(config, "url")) || !pick_accounts(&bench, accounts) ||
        !read_pids(&bench, config))
        goto out;
    read_numbers(&bench, config);
    if (!check_tokens(&bench, config_text(config, "mode")))
        goto out;
    put_text(&query, "How far can an unladen swallow fly in one day? ", bench.query_bytes);
    put_text(&answer, "About as far as the wind and a coconut allow. ", bench.answer_bytes);
    bench.query_json = buf_str(&query);
    bench.answer_json = buf_str(&answer);
    status = EXIT_FAILED;
    bench_conn_stop_on_signals();
    if (config_number(config, "tokens") == 0 || bench_login(&bench))
        status = run(&bench, config_text(config, "mode"), config_number(config, "json") != 0);
out:
    accounts_destroy(accounts);
    buf_fini(&query);
    buf_fini(&answer);
    buf_fini(&bench.frontend_token);
    buf_fini(&bench.engine_token);
    return status;
}

const struct command bench_command = {
    .name = "bench",
    .is_flags_only = true,
    .summary = "load nodes with full cycles and print throughput and cost",
    .about =
        "usage: parley bench --accounts FILE [--url URL[,URL...]] [--mode MODE] [FLAGS]\n"
        "\n"
        "Runs full cycles against nodes (add a query, claim it, answer it, check for the answer:\n"
        "four requests) and prints throughput and cost. It acts as frontend and engine at\n"
        "once: never run it against nodes in use, because it also answers the questions of their\n"
        "users. The queries of a run remain stored as Done, under users bench_0, bench_1...\n"
        "\n"
        "Modes:\n"
        "  split      Frontends add and block until there is an answer, engines block until\n"
        "             there is work. Cycles per second, time of a cycle, CPU per 10,000 cycles.\n"
        "  inline     The same four requests in sequence on each connection, so that none has to\n"
        "             block.\n"
        "  compact    The same cycle in two requests: frontends add and wait in one\n"
        "             (add-query?Wait=), engines answer and wait for the next\n"
        "             claim in one (Next=true&Wait=60).\n"
        "  wake       An engine is blocked and a frontend adds: the time until the engine has the\n"
        "             query, from the request and from the response of the add.\n"
        "  wakecheck  A frontend is blocked in check-query and an engine answers: the same times.\n"
        "  idle       Many engines poll and nothing happens: the node's memory per parked poll "
        "and\n"
        "             its CPU. Needs its own node on this machine.\n"
        "  tokens     Engines write answers token by token, and viewers follow them as events:\n"
        "             tokens per second, the time from an engine to a viewer, CPU per 1,000 "
        "tokens.\n"
        "  all        All of these in sequence, idle first.\n"
        "\n",
    .more =
        "\n"
        "Examples:\n"
        "  parley bench --accounts accounts.yaml\n"
        "  parley bench --accounts accounts.yaml --mode all --json > result.json\n"
        "  Across two nodes, engines taking the next claim with each answer:\n"
        "    parley bench --accounts accounts.yaml --next on \\\n"
        "        --url http://127.0.0.1:8080,http://127.0.0.1:8081\n"
        "  A question and its answer in one request, and two frames over a socket:\n"
        "    parley bench --accounts accounts.yaml --mode compact --engine-socket on\n"
        "  Latency at 500 cycles per second:\n"
        "    parley bench --accounts accounts.yaml --rate 500\n"
        "  Memory of 50,000 parked polls:\n"
        "    ulimit -n 60000 && parley bench --accounts accounts.yaml --mode idle --idle 50000\n"
        "  Ten readers of each of 20 answers, four tokens in each partial answer:\n"
        "    parley bench --accounts accounts.yaml --mode tokens --streams 20 --viewers 10 \\\n"
        "        --per-piece 4\n"
        "  The same answers over sockets, with four engines of five slots:\n"
        "    parley bench --accounts accounts.yaml --mode tokens --streams 20 --viewers 10 \\\n"
        "        --per-piece 4 --engine-socket on --slots 5\n"
        "  50 answers of one engine, whose model server writes their tokens in steps:\n"
        "    parley bench --accounts accounts.yaml --mode tokens --tokens on \\\n"
        "        --engine-socket on --slots 50 --batch 50\n"
        "\n"
        "Exit status: 0 measured without errors; 1 errors occurred, or nothing could be measured\n"
        "(the report is still printed); 2 wrong usage.\n",
    .groups = (const struct config_group *const[]){&bench_options, NULL},
    .run = run_bench,
};
