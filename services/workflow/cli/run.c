/* SPDX-License-Identifier: MIT
 * run.c - `parley workflow run`: its settings, its connection, its loop.
 *
 * The run itself is the nodes'. This command is a client of /ws that shows the frames and lets a
 * person answer; when it ends early, the run continues. FILE names the trees that the run is meant
 * for: a node runs its own, so the command checks FILE and compares its version with the node's.
 */
#include "services/workflow/cli/run.h"

#include "services/workflow/cli/cli.h"
#include "services/workflow/trees/trees.h"
#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/http/client/client.h"
#include "shared/http/client/endpoint.h"
#include "shared/op/signals.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    URL_MAX_BYTES = 8192,
    BASE_MAX_BYTES = 1024,
    RAW_MAX_BYTES = 64 << 10,
    LINE_MAX_BYTES = 128 << 10,
    VERSION_BYTES = 64,
    OPEN_WITHIN_MS = 5000,
    SILENCE_MS = 60000, /* nodes ping every 20 s */
    FIRST_PAUSE_MS = 200,
    LONGEST_PAUSE_MS = 3000,
    DOUBLINGS_MAX = 8,
    MS_PER_S = 1000
};

#define USER_AGENT "parley-workflow/" PARLEY_VERSION

const struct config_group workflow_run_options = {
    "Flags of run",
    (const struct config_option[]){
        OPTION_TEXT(
            "url", "URL[,URL...]", "http://127.0.0.1:8080",
            "The nodes, with the service workflow. If one does not respond, or leaves while "
            "the run continues, the next one is used."),
        OPTION_TEXT("on-behalf-of", "USER", NULL,
                    "The user whose run it is, if --user is a frontend."),
        OPTION_TEXT("session", "ID", NULL,
                    "session_id of the run, 1 to 63 bytes; unset: a new one. With --request and "
                    "without VERB, the run of these ids is followed from its first step."),
        OPTION_TEXT("request", "ID", NULL,
                    "request_id of the run, 1 to 63 bytes; unset: a new one."),
        OPTION_BOOL("approve", "off", "Approves whenever the run stops, for scripts."),
        OPTION_BOOL("reject", "off", "Rejects when the run stops, for scripts."),
        OPTION_NUMBER("patience-seconds", "N", "60", 0, 86400,
                      "Seconds to keep connecting while no node responds. 0: try once."),
        {0}}};

bool run_complain(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs("parley: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return false;
}

/* --- waiting ---------------------------------------------------------------------------------- */

/* For the descriptor, a signal, or the time. False: a signal. */
static bool wait_for(void *context, struct pollfd *fd, int ms)
{
    struct run_cli *run = context;
    struct pollfd fds[2] = {{.fd = run->signal_fd, .events = POLLIN}, {.fd = -1}};
    if (fd != NULL)
        fds[1] = *fd;
    if (poll(fds, 2, ms) > 0 && fds[0].revents != 0)
        run->is_interrupted = true;
    return !run->is_interrupted;
}

static void on_text(void *context, struct str text)
{
    run_take_frame(context, text);
}

/* --- the node's trees ------------------------------------------------------------------------- */

struct version_call {
    char version[VERSION_BYTES + 1];
    bool is_over;
};

static void on_trees(void *context, const struct http_response *response)
{
    struct version_call *call = context;
    char reason[128];
    json_t *json = NULL;
    call->is_over = true;
    if (response->outcome != HTTP_ANSWERED || response->status != 200 ||
        !json_parse(response->body, reason, sizeof reason, &json))
        return;
    struct str version = json_member_str(json, "version");
    if (version.at != NULL)
        snprintf(call->version, sizeof call->version, "%.*s", STR_ARG(version));
    json_decref(json);
}

static void put_url(struct buf *url, const struct run_cli *run, const char *path)
{
    buf_put(url, run->urls[run->url]);
    buf_put(url, str_of(path));
    buf_put_char(url, '?');
    signed_put_query(url, str_of(run->user), str_of(run->secret));
    if (run->on_behalf_of != NULL && run->on_behalf_of[0] != 0) {
        buf_lit(url, "&OnBehalfOf=");
        buf_put_url_encoded(url, str_of(run->on_behalf_of));
    }
    buf_terminate(url);
}

static void fetch_version(struct run_cli *run, struct version_call *call)
{
    static const struct http_client_settings settings = {.user_agent = USER_AGENT};
    static const struct http_events events = {.on_done = on_trees};
    struct http_client *client = http_client_create(&settings);
    struct buf url;
    buf_init(&url, URL_MAX_BYTES);
    put_url(&url, run, "/api/workflows");
    const struct http_request request = {
        .url = url.at, .timeout_ms = 2 * OPEN_WITHIN_MS, .body_max_bytes = TREES_JSON_MAX_BYTES};
    (void)!http_call_start(client, &request, &events, call);
    struct pollfd fd = {.fd = http_client_fd(client), .events = POLLIN};
    while (!call->is_over && wait_for(run, &fd, MS_PER_S))
        http_client_turn(client);
    http_client_destroy(client);
    buf_fini(&url);
}

/* False after lines: FILE has faults, or is not what the node runs. */
static bool check_file(struct run_cli *run)
{
    static struct trees_faults faults;
    char reason[512];
    struct buf text;
    struct trees *trees = NULL;
    struct version_call call = {.is_over = false};
    if (run->path == NULL)
        return true;
    buf_init(&text, TREES_FILE_MAX_BYTES + 1);
    bool ok =
        trees_file_text(run->path, reason, sizeof reason, &text) || run_complain("%s", reason);
    if (ok)
        trees = trees_read(buf_str(&text), &faults);
    if (ok && trees == NULL)
        ok = run_complain("%s has faults: parley workflow check %s", run->path, run->path);
    if (ok)
        fetch_version(run, &call);
    /* Without an answer it is the connection that will say why. */
    if (ok && call.version[0] != 0 && !str_eq(trees_version(trees), str_of(call.version)))
        ok = run_complain("%s is not the file that %.*s runs (version %.12s there, %.12s here): "
                          "start the node with --workflows %s, or write - for the node's own trees",
                          run->path, STR_ARG(run->urls[run->url]), call.version,
                          trees_version(trees).at, run->path);
    trees_unref(trees);
    buf_fini(&text);
    return ok;
}

/* --- connecting ------------------------------------------------------------------------------- */

/* A line for each refusal that another attempt would not change; true: try again. */
static bool is_worth_retrying(struct run_cli *run, const struct websocket_client_fault *fault)
{
    struct str url = run->urls[run->url];
    if (fault->status == 0 || fault->status == 429 || fault->status >= 500)
        return true;
    if (fault->status == 401)
        return run_complain("%s: %.*s refused the signature of --user %s: the account is unknown "
                            "there or has another secret",
                            login_source(run->config), STR_ARG(url), run->user);
    if (fault->status == 404)
        return run_complain("--url %.*s: not a Parley node, or one without the service `workflow` "
                            "(--target)",
                            STR_ARG(url));
    return run_complain("%.*s refused the connection: %d: %s", STR_ARG(url), fault->status,
                        fault->reason);
}

static bool pause_before(struct run_cli *run, unsigned failures, uint64_t end_ms)
{
    uint64_t bound_ms = (uint64_t)FIRST_PAUSE_MS
                        << (failures < DOUBLINGS_MAX ? failures : DOUBLINGS_MAX);
    if (bound_ms > LONGEST_PAUSE_MS)
        bound_ms = LONGEST_PAUSE_MS;
    uint64_t until_ms = clock_mono_ms() + arc4random_uniform((uint32_t)bound_ms + 1);
    if (until_ms >= end_ms)
        return false;
    run->url = (run->url + 1) % run->url_n;
    for (uint64_t now_ms = clock_mono_ms(); now_ms < until_ms; now_ms = clock_mono_ms())
        if (!wait_for(run, NULL, (int)(until_ms - now_ms)))
            return false;
    return true;
}

static bool connect_once(struct run_cli *run, const struct websocket_client_settings *settings,
                         struct websocket_client_fault *fault)
{
    struct buf url;
    buf_init(&url, URL_MAX_BYTES);
    put_url(&url, run, "/ws");
    *fault = (struct websocket_client_fault){.status = 0};
    run->socket = websocket_client_open(settings, url.at, fault);
    buf_fini(&url);
    return run->socket != NULL;
}

/* False after a line. */
static bool open_socket(struct run_cli *run)
{
    static struct websocket_client_settings settings;
    struct websocket_client_fault fault;
    uint64_t patience_s = config_number(run->config, "patience-seconds");
    uint64_t end_ms = clock_mono_ms() + MS_PER_S * patience_s;
    settings = (struct websocket_client_settings){.user_agent = USER_AGENT,
                                                  .open_within_ms = OPEN_WITHIN_MS,
                                                  .wait = wait_for,
                                                  .on_text = on_text,
                                                  .context = run};
    for (unsigned failures = 0; !run->is_interrupted; failures++) {
        if (connect_once(run, &settings, &fault)) {
            run_greet(run);
            return true;
        }
        if (run->is_interrupted || !is_worth_retrying(run, &fault))
            return false;
        if (failures == 0 && patience_s > 0)
            run_complain("%.*s: %s: connecting again for %llu s", STR_ARG(run->urls[run->url]),
                         fault.reason, (unsigned long long)patience_s);
        if (!pause_before(run, failures, end_ms) && !run->is_interrupted)
            return run_complain("%.*s: %s (no node was reached for %llu s: --patience-seconds)",
                                STR_ARG(run->urls[run->url]), fault.reason,
                                (unsigned long long)patience_s);
    }
    return false;
}

/* A policy ends it for good; any other end may be the node's. */
static bool is_lost_for_good(struct run_cli *run)
{
    unsigned code = websocket_client_code(run->socket);
    websocket_client_close(run->socket);
    run->socket = NULL;
    run->url = (run->url + 1) % run->url_n;
    if (code != 1008)
        return false;
    run_complain("the node has closed the connection: the account has lost its right");
    return true;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void read_terminal(struct run_cli *run)
{
    char bytes[4096];
    ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) {
        run->is_interrupted = true; /* Ctrl-D */
        return;
    }
    buf_put(&run->typed, (struct str){bytes, (size_t)n});
    if (bytes[n - 1] != '\n')
        return; /* a terminal gives whole lines, long ones in pieces */
    if (run->typed.is_over)
        run_complain("a line has at most %d bytes", LINE_MAX_BYTES);
    else
        run_take_line(run, buf_str(&run->typed));
    buf_clear(&run->typed);
}

static int wait_ms(const struct run_cli *run)
{
    uint64_t now_ms = clock_mono_ms();
    if (run->stop_ms == 0 || run->stop_ms >= now_ms + MS_PER_S)
        return MS_PER_S;
    return run->stop_ms > now_ms ? (int)(run->stop_ms - now_ms) : 0;
}

/* False: the connection is lost. */
static bool turn(struct run_cli *run)
{
    bool asks = run->is_terminal && run->stop != NULL && run->stop_ms == 0 && run->answer == NULL;
    struct pollfd fds[] = {websocket_client_poll(run->socket),
                           {.fd = run->signal_fd, .events = POLLIN},
                           {.fd = asks ? STDIN_FILENO : -1, .events = POLLIN}};
    (void)poll(fds, 3, wait_ms(run));
    if (fds[1].revents != 0) {
        run->is_interrupted = true;
        return true;
    }
    if (fds[2].revents != 0)
        read_terminal(run);
    bool is_silent = clock_mono_ms() > websocket_client_heard_ms(run->socket) + SILENCE_MS;
    bool is_open = websocket_client_turn(run->socket) && !is_silent;
    if (is_open && run->stop_ms != 0 && clock_mono_ms() >= run->stop_ms)
        run_take_stop(run);
    return is_open;
}

static void say_it_goes_on(const struct run_cli *run)
{
    struct buf command;
    buf_init(&command, LINE_MAX_BYTES);
    run_put_command(&command, run);
    run_complain("the run continues without this command; to follow it: %.*s",
                 STR_ARG(buf_str(&command)));
    buf_fini(&command);
}

static int follow(struct run_cli *run)
{
    while (!run->is_over && !run->is_interrupted) {
        if (run->socket == NULL && !open_socket(run))
            break;
        if (run->socket != NULL && !turn(run) && !run->is_over && is_lost_for_good(run))
            break;
    }
    if (run->is_over)
        return run->code;
    if (run->is_begun || run->verb == NULL)
        say_it_goes_on(run);
    return WORKFLOW_EXIT_FAILED;
}

/* --- settings --------------------------------------------------------------------------------- */

static bool refuse(const char *reason)
{
    return run_complain("%s (see parley workflow --help)", reason);
}

static bool read_urls(struct run_cli *run)
{
    struct str rest = str_of(config_text(run->config, "url"));
    while (rest.at != NULL) {
        struct str url = http_base_url(str_trim(str_cut(&rest, ',')));
        if (run->url_n == RUN_URLS_MAX)
            return refuse("--url takes at most 16 nodes");
        if (!http_is_base_url(url) || url.n > BASE_MAX_BYTES)
            return refuse("--url takes http://HOST[:PORT] or https://HOST[:PORT], without user "
                          "information or a query");
        run->urls[run->url_n++] = url;
    }
    return true;
}

static bool read_id(const struct config *config, const char *name, char *ret_id, size_t size)
{
    const char *given = config_text(config, name);
    char hex[17];
    if (given == NULL || given[0] == 0) {
        str_random_hex(8, hex);
        snprintf(ret_id, size, "cli-%s", hex);
        return true;
    }
    if (strlen(given) >= size || !str_is_utf8(str_of(given)))
        return run_complain("--%s takes 1 to 63 bytes of UTF-8 (see parley workflow --help)", name);
    snprintf(ret_id, size, "%s", given);
    return true;
}

static bool is_given(const struct config *config, const char *name)
{
    const char *text = config_text(config, name);
    return text != NULL && text[0] != 0;
}

/* [FILE] VERB TEXT, or nothing. */
static bool read_words(struct run_cli *run)
{
    const struct config *c = run->config;
    size_t n = c->argument_n - 1;
    if (n == 0 && is_given(c, "session") && is_given(c, "request"))
        return true;
    if (n == 0)
        return refuse("run takes VERB and TEXT, or --session and --request of a run to follow");
    if (n == 1)
        return refuse("run takes VERB and TEXT");
    run->verb = c->arguments[n - 1];
    run->raw = c->arguments[n];
    if (n == 3 && strcmp(c->arguments[1], "-") != 0)
        run->path = c->arguments[1];
    if (strlen(run->verb) == 0 || strlen(run->verb) > 64 || !str_is_utf8(str_of(run->verb)))
        return refuse("VERB is 1 to 64 bytes, such as RULE, CONTENT or GENERIC");
    if (strlen(run->raw) == 0 || strlen(run->raw) > RAW_MAX_BYTES || !str_is_utf8(str_of(run->raw)))
        return refuse("TEXT is 1 byte to 64 KiB of UTF-8");
    return true;
}

static bool read_settings(struct run_cli *run)
{
    const struct config *c = run->config;
    bool approves = config_number(c, "approve"), rejects = config_number(c, "reject");
    run->user = config_text(c, "user");
    run->on_behalf_of = config_text(c, "on-behalf-of");
    run->is_json = config_number(c, "json");
    run->reply = approves ? RUN_APPROVE : rejects ? RUN_REJECT : RUN_ASK;
    run->is_terminal = !run->is_json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (approves && rejects)
        return refuse("--approve and --reject exclude each other");
    const char *fault = login_fault(c);
    if (fault != NULL)
        return refuse(fault);
    return read_words(run) && read_urls(run) &&
           read_id(c, "session", run->session, sizeof run->session) &&
           read_id(c, "request", run->request, sizeof run->request);
}

static int run_workflow(const struct config *config)
{
    struct run_cli run = {.config = config, .code = WORKFLOW_EXIT_FAILED};
    if (!read_settings(&run))
        return WORKFLOW_EXIT_USAGE;
    run.secret = login_read_secret(config);
    if (run.secret == NULL)
        return WORKFLOW_EXIT_FAILED;
    run.signal_fd = signals_catch();
    buf_init(&run.typed, LINE_MAX_BYTES);
    int code = check_file(&run) ? follow(&run) : WORKFLOW_EXIT_FAILED;
    websocket_client_close(run.socket);
    json_decref(run.stop);
    free(run.answer);
    buf_fini(&run.typed);
    close(run.signal_fd);
    OPENSSL_cleanse(run.secret, strlen(run.secret));
    free(run.secret);
    return fflush(stdout) == 0 ? code : WORKFLOW_EXIT_FAILED;
}

const struct workflow_word workflow_run_word = {"run", "[FILE|-] VERB TEXT [FLAGS]", 0, 3,
                                                run_workflow};
