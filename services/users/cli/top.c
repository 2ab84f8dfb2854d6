/* SPDX-License-Identifier: MIT
 * top.c - `parley top`: a live view of a cluster, from an operator's routes on any node.
 *
 *   ask --> draw --> wait for a key, a signal, the next second --> ask ...
 *     \--> the first time: a line, exit 1; later: the last view with the reason, and again */
#include "services/users/cli/top.h"

#include "services/commands/commands.h"
#include "services/users/cli/cli.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/base/trust.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ANSWER_MAX_BYTES = 32 << 20,
    VIEW_MAX_BYTES = 64 << 20,
    NOTICE_MAX_BYTES = 512,
    ATTEMPT_MS = 10000,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2
};

static const struct config_group top_options = {
    "Flags",
    (const struct config_option[]){
        OPTION_TEXT(
            "url", "URL[,URL...]", "http://127.0.0.1:8080",
            "Nodes that run the service broker. The first one that answers is asked; when it "
            "ends, the next."),
        OPTION_BOOL("once", "off", "Prints the view once, in full, and exits."),
        OPTION_BOOL(
            "json", "off",
            "Prints one JSON object per line with the answers of /api/status and /api/depth: "
            "one with --once, else one per interval."),
        OPTION_NUMBER("interval-seconds", "N", "2", 1, 3600,
                      "Seconds between two refreshes. Raise it on a slow connection."),
        OPTION_NUMBER(
            "patience-seconds", "N", "0", 0, 86400,
            "Seconds to keep retrying the first request while no node answers it. 0: every "
            "node is tried once."),
        {0}}};

struct top {
    struct cli *cli;
    json_t *status, *depth; /* the last ones that came */
};

/* Asks each node until one answers. */
static bool ask(struct cli *cli, const char *path, const char *instead, json_t **ret_json)
{
    const struct node_call call = {.method = "GET",
                                   .path = path,
                                   .instead = instead,
                                   .max_bytes = ANSWER_MAX_BYTES,
                                   .attempt_ms = ATTEMPT_MS,
                                   .tries_all = true};
    return cli_ask(cli, &call, ret_json);
}

static bool has_redis(const json_t *status)
{
    return !str_eq(json_member_str(json_object_get(status, "Redis"), "Status"), STR("away"));
}

/* Both answers are of one moment, about, or neither is taken. Without Redis nodes return what they
 * know themselves, and nobody knows the depth. */
static bool refresh(struct top *top)
{
    json_t *status = NULL, *depth = NULL;
    bool is_good = ask(top->cli, "/api/status?Detail=true", "Status", &status) &&
                   (!has_redis(status) || ask(top->cli, "/api/depth", NULL, &depth));
    if (is_good) {
        json_decref(top->status);
        json_decref(top->depth);
        top->status = status;
        top->depth = depth;
    } else {
        json_decref(status);
        json_decref(depth);
    }
    return is_good;
}

static void print_json(const struct top *top)
{
    struct buf out;
    buf_init(&out, SIZE_MAX / 2);
    buf_lit(&out, "{\"Status\":");
    buf_put_json_value(&out, top->status);
    buf_lit(&out, ",\"Depth\":");
    if (top->depth == NULL)
        buf_lit(&out, "null");
    else
        buf_put_json_value(&out, top->depth);
    printf("%.*s}\n", STR_ARG(buf_str(&out)));
    buf_fini(&out);
}

static void put_view(struct top *top, struct buf *b, const char *notice, unsigned columns,
                     unsigned lines)
{
    const struct cli *cli = top->cli;
    const struct top_view view = {.status = top->status,
                                  .depth = top->depth,
                                  .url = cli->calls.urls[cli->calls.url],
                                  .notice = notice,
                                  .columns = columns,
                                  .lines = lines,
                                  .has_colours =
                                      isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL};
    top_view_put(b, &view);
}

static void print_view(struct top *top)
{
    struct buf view;
    buf_init(&view, VIEW_MAX_BYTES);
    put_view(top, &view, NULL, 0, 0);
    printf("%.*s\n", STR_ARG(buf_str(&view)));
    buf_fini(&view);
}

static void draw(struct top *top, const char *notice)
{
    unsigned columns, lines;
    struct buf view;
    buf_init(&view, VIEW_MAX_BYTES);
    top_screen_size(&columns, &lines);
    put_view(top, &view, notice, columns, lines);
    top_screen_draw(buf_str(&view));
    buf_fini(&view);
}

/* False when it is to end. */
static bool wait_for_next(struct top *top, const char *notice)
{
    struct cli *cli = top->cli;
    uint64_t until_ms = clock_mono_ms() + config_number(cli->config, "interval-seconds") * 1000;
    for (uint64_t now_ms; (now_ms = clock_mono_ms()) < until_ms;) {
        struct pollfd keys = {.fd = STDIN_FILENO, .events = POLLIN};
        if (!node_calls_wait(&cli->calls, &keys, (int)(until_ms - now_ms)))
            return false;
        enum top_key key = top_screen_key();
        if (key == TOP_QUIT)
            return false;
        if (key == TOP_REFRESH)
            draw(top, notice);
    }
    return true;
}

static int run_live(struct top *top)
{
    struct cli *cli = top->cli;
    struct buf notice;
    buf_init(&notice, NOTICE_MAX_BYTES);
    if (!top_screen_begin()) {
        buf_fini(&notice);
        node_calls_refuse(&cli->calls, "standard input and output are no terminal: use --once");
        return EXIT_USAGE;
    }
    cli->calls.complaints = &notice; /* on another screen nobody would see them */
    do {
        draw(top, notice.n > 0 ? notice.at : NULL);
        if (!wait_for_next(top, notice.n > 0 ? notice.at : NULL))
            break;
        buf_clear(&notice);
        (void)refresh(top); /* what is wrong is in the notice */
    } while (!cli->calls.is_interrupted);
    top_screen_end();
    cli->calls.complaints = NULL;
    buf_fini(&notice);
    return 0;
}

static int run_lines(struct top *top)
{
    struct cli *cli = top->cli;
    bool is_once = config_number(cli->config, "once");
    int pause_ms = (int)config_number(cli->config, "interval-seconds") * 1000;
    bool is_good = true;
    do {
        if (cli->is_json)
            print_json(top);
        else
            print_view(top);
        if (is_once || fflush(stdout) != 0 || !node_calls_wait(&cli->calls, NULL, pause_ms))
            break;
        is_good = refresh(top);
    } while (is_good);
    return is_good ? 0 : EXIT_FAILED;
}

static int run(struct cli *cli)
{
    struct top top = {.cli = cli};
    bool is_live = !cli->is_json && !config_number(cli->config, "once");
    int code = EXIT_FAILED;
    if (is_live && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
        node_calls_refuse(&cli->calls, "standard input and output are no terminal: use --once");
        return EXIT_USAGE;
    }
    if (refresh(&top))
        code = is_live ? run_live(&top) : run_lines(&top);
    json_decref(top.status);
    json_decref(top.depth);
    return code;
}

static int run_top(const struct config *config)
{
    struct cli cli = {.calls = {.config = config,
                                .command = "top",
                                .service = "broker",
                                .forbidden = "requires an account with the role operator"},
                      .config = config};
    cli.is_json = config_number(config, "json");
    if (!node_calls_read(&cli.calls))
        return EXIT_USAGE;
    return cli_run(&cli, run);
}

const struct command top_command = {
    .name = "top",
    .is_flags_only = true,
    .summary = "watch a cluster: queue, engines, nodes, Redis",
    .about = "usage: parley top [--once] [--json]\n"
             "\n"
             "Shows what waits per model and for how long, the rates of the last two minutes, the\n"
             "engines with their slots, the nodes, and how long the verbs of the asked node take\n"
             "from start to reply. It refreshes until you press q; space refreshes the screen.\n"
             "\n"
             "The account that signs (--user) must be an operator. The terminal is restored on\n"
             "every exit. NO_COLOR in the environment turns colours off.\n"
             "\n",
    .more = "\n"
            "Exit codes\n"
            "  0  ended by q or a signal, or printed\n"
            "  1  no node answered, or it refused the request\n"
            "  2  invalid argument, flag or value, or no terminal\n"
            "\n"
            "Examples\n"
            "  parley top --user Operator_1 --secret-file operator.secret\n"
            "  parley top --once --json --user Operator_1 --secret-file operator.secret \\\n"
            "      --url http://10.0.0.5:8080 | jq .Depth.Models\n",
    .groups = (const struct config_group *const[]){&top_options, &signed_options,
                                                   &login_file_options, &trust_options, NULL},
    .run = run_top,
};
