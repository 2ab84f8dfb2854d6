/* SPDX-License-Identifier: MIT
 * node_calls.c - see node_calls.h. */
#include "shared/http/node_calls.h"

#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/base/shown.h"
#include "shared/http/client.h"
#include "shared/http/endpoint.h"
#include "shared/op/signals.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    BASE_MAX_BYTES = 1024,
    URL_MAX_BYTES = 8192,
    ANSWER_MAX_BYTES = 1 << 20,
    REASON_BYTES = 1000,
    SHOWN_MAX_BYTES = 8192,
    TURN_MS = 1000,
    ATTEMPT_MS = 60000,
    FIRST_PAUSE_MS = 200,
    LONGEST_PAUSE_MS = 5000,
    DOUBLINGS_MAX = 8,
    MS_PER_S = 1000,
    DAY_S = 86400
};

const struct config_group node_calls_options = {
    "Nodes",
    (const struct config_option[]){
        {.name = "url",
         .kind = CONFIG_TEXT,
         .metavar = "URL[,URL...]",
         .fallback = "http://127.0.0.1:8080",
         .help = "The nodes. Requests go to the first; if it does not respond, to the next."},
        {.name = "on-behalf-of",
         .kind = CONFIG_TEXT,
         .metavar = "USER",
         .help = "The user for whom it is done, if --user is a frontend."},
        {.name = "patience-seconds",
         .kind = CONFIG_NUMBER,
         .metavar = "N",
         .fallback = "60",
         .min = 0,
         .max = 86400,
         .help = "Seconds to keep retrying a request that no node answers or that gets 429 or 5xx. "
                 "0: try once."},
        {0}}};

enum verdict { VERDICT_SERVED, VERDICT_AGAIN, VERDICT_REFUSED };

struct attempt {
    struct node_calls *calls;
    const struct node_call *call;
    bool is_over;
    bool is_alien; /* what answers is not a Parley node */
    enum verdict verdict;
    uint64_t retry_after_s;
    char reason[REASON_BYTES]; /* of AGAIN and REFUSED */
    json_t *json;
};

#define URL(calls) STR_ARG((calls)->urls[(calls)->url])

/* --- lines ------------------------------------------------------------------------------------ */

bool node_calls_complain(struct node_calls *calls, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    status_line_complain(&calls->progress, format, list);
    va_end(list);
    return false;
}

bool node_calls_refuse(struct node_calls *calls, const char *reason)
{
    return node_calls_complain(calls, "%s (see parley %s --help)", reason, calls->command);
}

/* What a node says is shown on a terminal: without invisible characters, and cut to fit. */
static void put_reason(struct attempt *a, int status, struct str text)
{
    struct buf shown;
    char number[32] = "";
    buf_init(&shown, SHOWN_MAX_BYTES);
    buf_put_shown(&shown, text);
    if (status != 0)
        snprintf(number, sizeof number, "%d%s", status, shown.n > 0 ? ": " : "");
    snprintf(a->reason, sizeof a->reason, "%s%.*s", number, STR_ARG(buf_str(&shown)));
    buf_fini(&shown);
}

/* One line for each status that another attempt would not change. */
static void refuse(struct attempt *a, int status, struct str detail)
{
    struct node_calls *calls = a->calls;
    a->verdict = VERDICT_REFUSED;
    put_reason(a, status, detail);
    if (status == 404 && a->call->ret_is_missing != NULL && !a->is_alien) {
        a->verdict = VERDICT_SERVED;
        *a->call->ret_is_missing = true;
    } else if (status == 401) {
        node_calls_complain(calls,
                            "--secret-file %s: %.*s refused the signature of --user %s: the "
                            "account is unknown there or has another secret",
                            config_text(calls->config, "secret-file"), URL(calls), calls->user);
    } else if (a->is_alien || status == 405 || (status >= 300 && status < 400)) {
        node_calls_complain(calls,
                            "--url %.*s: status %d: not a Parley node, or one without the service "
                            "`%s` (--target)",
                            URL(calls), status, calls->service);
    } else {
        node_calls_complain(calls, "%.*s refused the request: %s", URL(calls), a->reason);
    }
}

/* --- one attempt ------------------------------------------------------------------------------ */

static void judge_served(struct attempt *a, const struct http_response *response)
{
    char reason[REASON_BYTES];
    a->verdict = VERDICT_SERVED;
    if (json_parse(response->body, reason, sizeof reason, &a->json) && json_is_object(a->json))
        return;
    json_decref(a->json);
    a->json = NULL;
    a->is_alien = true;
    refuse(a, response->status, STR(""));
}

static void judge_status(struct attempt *a, const struct http_response *response)
{
    char unread[REASON_BYTES];
    json_t *problem = NULL;
    int status = response->status;
    if (!json_parse(response->body, unread, sizeof unread, &problem))
        problem = NULL;
    struct str detail = json_member_str(problem, "detail");
    struct str code = json_member_str(problem, "code");
    /* A node without the service has no such route, which is not a missing item. */
    a->is_alien = code.at == NULL || str_eq(code, STR("no_route"));
    if (status == 408 || status == 425 || status == 429 || status >= 500) {
        a->verdict = VERDICT_AGAIN;
        put_reason(a, status, detail.at == NULL ? STR("") : detail);
    } else {
        refuse(a, status, detail.at == NULL ? STR("") : detail);
    }
    json_decref(problem);
}

static void on_done(void *context, const struct http_response *response)
{
    struct attempt *a = context;
    a->is_over = true;
    a->retry_after_s = response->retry_after_s;
    if (response->outcome == HTTP_TOO_LARGE || response->outcome == HTTP_BAD_URL) {
        refuse(a, 0, str_of(response->reason));
    } else if (response->outcome != HTTP_ANSWERED) {
        a->verdict = VERDICT_AGAIN;
        put_reason(a, 0, str_of(response->reason));
    } else if (response->status >= 200 && response->status <= 299) {
        judge_served(a, response);
    } else {
        judge_status(a, response);
    }
}

static void put_url(struct buf *url, const struct node_calls *calls, const char *path)
{
    buf_put(url, calls->urls[calls->url]);
    buf_put(url, str_of(path));
    buf_put_char(url, strchr(path, '?') == NULL ? '?' : '&');
    signed_put_query(url, str_of(calls->user), str_of(calls->secret));
    if (calls->on_behalf_of != NULL && calls->on_behalf_of[0] != 0) {
        buf_lit(url, "&OnBehalfOf=");
        buf_put_url_encoded(url, str_of(calls->on_behalf_of));
    }
    buf_terminate(url);
}

bool node_calls_wait(struct node_calls *calls, struct pollfd *fd, int ms)
{
    struct pollfd fds[2] = {{.fd = calls->signal_fd, .events = POLLIN}, {.fd = -1}};
    if (fd != NULL)
        fds[1] = *fd;
    if (poll(fds, 2, ms) > 0 && fds[0].revents != 0)
        calls->is_interrupted = true;
    return !calls->is_interrupted;
}

/* False when a signal came meanwhile. */
static bool attempt(struct attempt *a)
{
    static const struct http_events events = {.on_done = on_done};
    /* On a connection of its own: libcurl would send a request again by itself on one that turns
     * out to be closed, with a nonce that may be used up by then. */
    static const char *const plain[] = {"Connection: close", NULL};
    static const char *const json[] = {"Connection: close", "Content-Type: application/json", NULL};
    struct node_calls *calls = a->calls;
    struct buf url;
    buf_init(&url, URL_MAX_BYTES);
    put_url(&url, calls, a->call->path);
    if (url.is_over)
        abort(); /* its parts are bounded by the settings' checks */
    const struct http_request http = {.method = a->call->method,
                                      .url = url.at,
                                      .headers = a->call->body.at != NULL ? json : plain,
                                      .body = a->call->body,
                                      .timeout_ms = ATTEMPT_MS,
                                      .body_max_bytes = a->call->max_bytes > 0 ? a->call->max_bytes
                                                                               : ANSWER_MAX_BYTES};
    struct http_call *call = http_call_start(calls->client, &http, &events, a);
    struct pollfd fd = {.fd = http_client_fd(calls->client), .events = POLLIN};
    buf_fini(&url);
    while (!a->is_over) {
        if (!node_calls_wait(calls, &fd, TURN_MS)) {
            http_call_cancel(call);
            http_client_turn(calls->client);
            return false;
        }
        http_client_turn(calls->client);
    }
    return true;
}

/* --- again ------------------------------------------------------------------------------------ */

/* "Full jitter", on top of what the node asks for. */
static uint64_t pause_ms(unsigned failures, uint64_t retry_after_s)
{
    uint64_t bound_ms = (uint64_t)FIRST_PAUSE_MS
                        << (failures < DOUBLINGS_MAX ? failures : DOUBLINGS_MAX);
    if (bound_ms > LONGEST_PAUSE_MS)
        bound_ms = LONGEST_PAUSE_MS;
    uint64_t asked_s = retry_after_s < DAY_S ? retry_after_s : DAY_S;
    return MS_PER_S * asked_s + arc4random_uniform((uint32_t)bound_ms + 1);
}

/* Waits in front of the next attempt. False after a line when there is none, or after a signal. */
static bool wait_for_next(struct attempt *a, unsigned failures, uint64_t began_ms)
{
    struct node_calls *calls = a->calls;
    uint64_t patience_s = config_number(calls->config, "patience-seconds");
    uint64_t now_ms = clock_mono_ms(), end_ms = began_ms + MS_PER_S * patience_s;
    uint64_t until_ms = now_ms + pause_ms(failures, a->retry_after_s);
    if (until_ms >= end_ms && a->retry_after_s > 0)
        return node_calls_complain(calls, "%.*s: %s (retry in %llu s)", URL(calls), a->reason,
                                   (unsigned long long)a->retry_after_s);
    if (until_ms >= end_ms)
        return node_calls_complain(
            calls, "%.*s: %s (no node has served the request for %llu s: --patience-seconds)",
            URL(calls), a->reason, (unsigned long long)patience_s);
    if (failures == 0)
        node_calls_complain(calls, "%.*s: %s: retrying for %llu s", URL(calls), a->reason,
                            (unsigned long long)patience_s);
    calls->url = (calls->url + 1) % calls->url_n;
    for (; now_ms < until_ms; now_ms = clock_mono_ms())
        if (!node_calls_wait(calls, NULL, (int)(until_ms - now_ms)))
            return false;
    return true;
}

bool node_calls_ask(struct node_calls *calls, const struct node_call *call, json_t **ret_json)
{
    uint64_t began_ms = clock_mono_ms();
    for (unsigned failures = 0;; failures++) {
        struct attempt a = {.calls = calls, .call = call};
        if (calls->is_interrupted || !attempt(&a))
            return false;
        if (a.verdict == VERDICT_SERVED)
            *ret_json = a.json;
        if (a.verdict != VERDICT_AGAIN)
            return a.verdict == VERDICT_SERVED;
        if (call->tries_all && failures + 1 < calls->url_n) {
            calls->url = (calls->url + 1) % calls->url_n;
            continue;
        }
        if (!wait_for_next(&a, failures, began_ms))
            return false;
    }
}

/* --- settings --------------------------------------------------------------------------------- */

static bool read_urls(struct node_calls *calls)
{
    struct str rest = str_of(config_text(calls->config, "url"));
    while (rest.at != NULL) {
        struct str url = http_base_url(str_trim(str_cut(&rest, ',')));
        if (calls->url_n == NODE_URLS_MAX)
            return node_calls_refuse(calls, "--url takes at most 16 nodes");
        if (!http_is_base_url(url) || url.n > BASE_MAX_BYTES)
            return node_calls_refuse(calls, "--url takes http://HOST[:PORT] or https://HOST[:PORT],"
                                            " without user information or a query");
        calls->urls[calls->url_n++] = url;
    }
    return true;
}

bool node_calls_read(struct node_calls *calls)
{
    const char *secret_file = config_text(calls->config, "secret-file");
    calls->signal_fd = -1;
    calls->user = config_text(calls->config, "user");
    if (config_has(calls->config, "on-behalf-of"))
        calls->on_behalf_of = config_text(calls->config, "on-behalf-of");
    if (calls->user == NULL || *calls->user == 0 || strlen(calls->user) > ACCOUNT_NAME_MAX_BYTES)
        return node_calls_refuse(calls,
                                 "--user takes a name of 1 to 128 bytes: the account that signs");
    if (secret_file == NULL || *secret_file == 0)
        return node_calls_refuse(calls, "--secret-file takes the path of a file that holds the "
                                        "account's secret");
    if (calls->on_behalf_of != NULL && strlen(calls->on_behalf_of) > ACCOUNT_NAME_MAX_BYTES)
        return node_calls_refuse(calls, "--on-behalf-of takes at most 128 bytes");
    return read_urls(calls);
}

bool node_calls_open(struct node_calls *calls)
{
    calls->secret = config_read_secret(config_text(calls->config, "secret-file"));
    if (calls->secret == NULL)
        return false;
    snprintf(calls->agent, sizeof calls->agent, "parley-%s/%s", calls->command, PARLEY_VERSION);
    const struct http_client_settings settings = {.user_agent = calls->agent};
    calls->client = http_client_create(&settings);
    signal(SIGXFSZ, SIG_IGN); /* a file as large as `ulimit -f` allows is an error of write() */
    calls->signal_fd = signals_catch();
    return true;
}

void node_calls_close(struct node_calls *calls)
{
    status_line_clear(&calls->progress);
    http_client_destroy(calls->client);
    if (calls->secret != NULL)
        OPENSSL_cleanse(calls->secret, strlen(calls->secret));
    free(calls->secret);
    if (calls->signal_fd >= 0)
        close(calls->signal_fd);
    calls->client = NULL;
    calls->secret = NULL;
    calls->signal_fd = -1;
}
