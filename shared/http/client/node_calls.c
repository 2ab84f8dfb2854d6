/* SPDX-License-Identifier: MIT
 * node_calls.c - see node_calls.h. */
#include "shared/http/client/node_calls.h"

#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/base/shown.h"
#include "shared/http/client/client.h"
#include "shared/http/client/endpoint.h"
#include "shared/op/signals.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    BASE_MAX_BYTES = 1024,
    URL_MAX_BYTES = 8192,
    ANSWER_MAX_BYTES = 1 << 20,
    REASON_BYTES = 1000,
    SHOWN_MAX_BYTES = 8192,
    COMPLAINT_MAX_BYTES = 500,
    TURN_MS = 1000,
    ATTEMPT_MS = 60000,
    ALIVE_MS = 10000, /* a stream that held so long is worth all the patience again */
    HEADERS_MAX = 5,
    FIRST_PAUSE_MS = 200,
    LONGEST_PAUSE_MS = 5000,
    DOUBLINGS_MAX = 8,
    MS_PER_S = 1000,
    DAY_S = 86400
};

const struct config_group node_calls_options = {
    "Nodes",
    (const struct config_option[]){
        OPTION_TEXT("url", "URL[,URL...]", "http://127.0.0.1:8080",
                    "The nodes. Requests go to the first; if it does not respond, to the next."),
        OPTION_TEXT("on-behalf-of", "USER", NULL,
                    "The user on whose behalf a frontend (--user) acts."),
        OPTION_NUMBER(
            "patience-seconds", "N", "60", 0, 86400,
            "Seconds to keep retrying a request that no node answers or that gets 429 or 5xx. "
            "0: try once."),
        {0}}};

enum verdict { VERDICT_SERVED, VERDICT_AGAIN, VERDICT_REFUSED };

struct attempt {
    struct node_calls *calls;
    const struct node_call *call;
    bool is_over;
    bool is_alien;  /* what answers is not a Parley node */
    bool has_begun; /* bytes of a stream have come */
    int status;     /* of AGAIN; 0: no answer */
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
    if (calls->complaints != NULL) {
        char line[COMPLAINT_MAX_BYTES];
        vsnprintf(line, sizeof line, format, list);
        buf_clear(calls->complaints);
        buf_put(calls->complaints, str_of(line));
        buf_terminate(calls->complaints);
    } else {
        status_line_complain(&calls->progress, format, list);
    }
    va_end(list);
    return false;
}

bool node_calls_refuse(struct node_calls *calls, const char *reason)
{
    return node_calls_complain(calls, "%s (see parley %s --help)", reason, calls->command);
}

/* Puts what a node says for a terminal: without invisible characters, and cut to fit. */
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
    calls->fault = NODE_CALLS_REFUSED;
    calls->status = a->is_alien ? 0 : status;
    put_reason(a, status, detail);
    if (status == 404 && a->call->ret_is_missing != NULL && !a->is_alien) {
        a->verdict = VERDICT_SERVED;
        *a->call->ret_is_missing = true;
    } else if (status == 401) {
        node_calls_complain(calls,
                            "%s: %.*s refused the signature of --user %s: the account is unknown "
                            "there or has another secret",
                            login_source(calls->config), URL(calls), calls->user);
    } else if (status == 403 && calls->forbidden != NULL) {
        node_calls_complain(calls, "--user %s: %.*s %s (%s)", calls->user, URL(calls),
                            calls->forbidden, a->reason);
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

/* `on_body` has ended the request, or its type is another one. */
static void judge_stopped(struct attempt *a, const struct http_response *response)
{
    if (a->call->stream != NULL && a->call->stream->file_type != NULL && !a->is_alien) {
        a->verdict = VERDICT_REFUSED;
        a->calls->fault = NODE_CALLS_REFUSED;
        return;
    }
    a->is_alien = true;
    refuse(a, response->status, STR(""));
}

static void judge_cut_off(struct attempt *a, const struct http_response *response)
{
    a->verdict = VERDICT_AGAIN;
    put_reason(a, 0, str_of(a->call->stream->cut_off));
    a->is_alien = a->call->stream->file_type != NULL && !a->has_begun;
    if (a->is_alien)
        refuse(a, response->status, STR(""));
}

/* Returns whether the problem has what the call takes instead of its response. */
static bool take_instead(struct attempt *a, int status, const json_t *problem)
{
    json_t *instead = a->call->instead == NULL ? NULL : json_object_get(problem, a->call->instead);
    if (status != 503 || !json_is_object(instead))
        return false;
    a->verdict = VERDICT_SERVED;
    a->json = json_incref(instead);
    return true;
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
    a->status = status;
    if (take_instead(a, status, problem)) {
        json_decref(problem);
        return;
    }
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
    const struct node_stream *stream = a->call->stream;
    a->is_over = true;
    a->retry_after_s = response->retry_after_s;
    if (stream != NULL && stream->is_whole(stream->context)) {
        a->verdict = VERDICT_SERVED;
    } else if (response->outcome == HTTP_STOPPED) {
        judge_stopped(a, response);
    } else if (response->outcome == HTTP_TOO_LARGE || response->outcome == HTTP_BAD_URL) {
        refuse(a, 0, str_of(response->reason));
    } else if (response->outcome != HTTP_ANSWERED) {
        a->verdict = VERDICT_AGAIN;
        put_reason(a, 0, str_of(response->reason));
    } else if (response->status >= 200 && response->status <= 299 && stream != NULL) {
        judge_cut_off(a, response);
    } else if (response->status >= 200 && response->status <= 299) {
        judge_served(a, response);
    } else {
        judge_status(a, response);
    }
}

static void put_credentials(struct buf *url, const struct node_calls *calls, char separator)
{
    buf_put_char(url, separator);
    signed_put_query(url, str_of(calls->user), str_of(calls->secret));
    if (calls->on_behalf_of != NULL && calls->on_behalf_of[0] != 0) {
        buf_lit(url, "&OnBehalfOf=");
        buf_put_url_encoded(url, str_of(calls->on_behalf_of));
    }
}

static void put_url(struct buf *url, const struct node_calls *calls, const char *path)
{
    buf_put(url, calls->urls[calls->url]);
    buf_put(url, str_of(path));
    if (!calls->is_anonymous)
        put_credentials(url, calls, strchr(path, '?') == NULL ? '?' : '&');
    buf_terminate(url);
}

bool node_calls_wait(struct node_calls *calls, struct pollfd *fd, int ms)
{
    struct pollfd fds[2] = {{.fd = calls->signal_fd, .events = POLLIN}, {.fd = -1}};
    uint64_t now_ms = clock_mono_ms();
    if (fd != NULL)
        fds[1] = *fd;
    if (calls->deadline_ms != 0 && now_ms + (uint64_t)ms > calls->deadline_ms)
        ms = now_ms < calls->deadline_ms ? (int)(calls->deadline_ms - now_ms) : 0;
    if (poll(fds, 2, ms) > 0 && fds[0].revents != 0)
        calls->is_interrupted = true;
    calls->is_late = calls->deadline_ms != 0 && clock_mono_ms() >= calls->deadline_ms;
    return !calls->is_interrupted && !calls->is_late;
}

void node_calls_go_on(struct node_calls *calls, uint64_t ms)
{
    struct signalfd_siginfo info;
    while (read(calls->signal_fd, &info, sizeof info) == sizeof info)
        ; /* the same signal once more, from a shell and from a person */
    calls->is_interrupted = calls->is_late = false;
    calls->deadline_ms = clock_mono_ms() + ms;
}

static bool on_stream(void *context, struct str content_type, struct str bytes)
{
    struct attempt *a = context;
    const struct node_stream *stream = a->call->stream;
    const char *type = stream->file_type != NULL ? stream->file_type : "text/event-stream";
    a->is_alien = !str_has_prefix(content_type, str_of(type));
    a->has_begun = true;
    return !a->is_alien && stream->on_body(stream->context, bytes);
}

/* On a connection of its own: libcurl would send a request again by itself on one that turns out to
 * be closed, with a nonce that may be used up by then. */
static void list_headers(const struct node_call *call, const char *list[HEADERS_MAX])
{
    size_t n = 0;
    list[n++] = "Connection: close";
    if (call->body.at != NULL)
        list[n++] = call->body_type != NULL ? call->body_type : "Content-Type: application/json";
    for (size_t i = 0; call->headers != NULL && call->headers[i] != NULL; i++) {
        if (n == HEADERS_MAX - 1)
            abort();
        list[n++] = call->headers[i];
    }
    list[n] = NULL;
}

static struct http_call *start(struct attempt *a)
{
    static const struct http_events object = {.on_done = on_done};
    static const struct http_events stream = {.on_body = on_stream, .on_done = on_done};
    const struct node_call *call = a->call;
    const char *headers[HEADERS_MAX];
    uint64_t attempt_ms = call->attempt_ms > 0 ? call->attempt_ms : ATTEMPT_MS;
    struct buf url;
    buf_init(&url, URL_MAX_BYTES);
    put_url(&url, a->calls, call->path);
    if (url.is_over)
        abort(); /* its parts are bounded by the settings' checks */
    list_headers(call, headers);
    const struct http_request http = {
        .method = call->method,
        .url = url.at,
        .headers = headers,
        .body = call->body,
        .timeout_ms = call->stream == NULL ? attempt_ms : 0,
        .idle_timeout_s = call->stream == NULL ? 0 : (attempt_ms + MS_PER_S - 1) / MS_PER_S,
        .body_max_bytes = call->max_bytes > 0 ? call->max_bytes : ANSWER_MAX_BYTES};
    struct http_call *started =
        http_call_start(a->calls->client, &http, call->stream == NULL ? &object : &stream, a);
    buf_fini(&url);
    return started;
}

/* False when a signal or the deadline came meanwhile. */
static bool attempt(struct attempt *a)
{
    struct node_calls *calls = a->calls;
    struct http_call *call = start(a);
    struct pollfd fd = {.fd = http_client_fd(calls->client), .events = POLLIN};
    while (!a->is_over) {
        if (!node_calls_wait(calls, &fd, TURN_MS)) {
            http_call_cancel(call);
            http_client_turn(calls->client);
            return false;
        }
        http_client_turn(calls->client);
    }
    return !calls->is_interrupted; /* `on_body` may wait, too */
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

static uint64_t patience_of(const struct node_calls *calls)
{
    return config_has(calls->config, "patience-seconds")
               ? config_number(calls->config, "patience-seconds")
               : 0;
}

/* Returns whether the next attempt takes up where this one has come. */
static bool continues(const struct node_call *call)
{
    return call->stream != NULL && call->stream->file_type == NULL;
}

static bool begin(const struct node_call *call)
{
    return call->stream == NULL || call->stream->begin(call->stream->context);
}

/* Waits in front of the next attempt. False after a line when there is none, or after a signal. */
static bool wait_for_next(struct attempt *a, unsigned failures, uint64_t began_ms)
{
    struct node_calls *calls = a->calls;
    uint64_t patience_s = a->call->is_once ? 0 : patience_of(calls);
    uint64_t now_ms = clock_mono_ms(), end_ms = began_ms + MS_PER_S * patience_s;
    uint64_t until_ms = now_ms + pause_ms(failures, a->retry_after_s);
    if (until_ms >= end_ms && a->retry_after_s > 0)
        return node_calls_complain(calls, "%.*s: %s (retry in %llu s)", URL(calls), a->reason,
                                   (unsigned long long)a->retry_after_s);
    if (until_ms >= end_ms)
        return node_calls_complain(
            calls, "%.*s: %s (no node has served the request for %llu s: --patience-seconds)",
            URL(calls), a->reason, (unsigned long long)patience_s);
    /* A stream that breaks off is nothing to speak of when the next attempt continues with it. */
    if (failures == continues(a->call))
        node_calls_complain(calls, "%.*s: %s: retrying for %llu s", URL(calls), a->reason,
                            (unsigned long long)patience_s);
    calls->url = (calls->url + 1) % calls->url_n;
    for (; now_ms < until_ms; now_ms = clock_mono_ms())
        if (!node_calls_wait(calls, NULL, (int)(until_ms - now_ms)))
            return false;
    return true;
}

/* Returns whether an attempt at a stream is no failure in a row: it got further, or held for long.
 */
static bool has_held(const struct node_call *call, uint64_t before, uint64_t started_ms)
{
    return continues(call) && (call->stream->progress(call->stream->context) != before ||
                               clock_mono_ms() > started_ms + ALIVE_MS);
}

static bool ask(struct node_calls *calls, const struct node_call *call, json_t **ret_json)
{
    uint64_t began_ms = clock_mono_ms();
    if (!begin(call))
        return false;
    for (unsigned failures = 0;; failures++) {
        struct attempt a = {.calls = calls, .call = call};
        uint64_t started_ms = clock_mono_ms();
        uint64_t before = continues(call) ? call->stream->progress(call->stream->context) : 0;
        if (calls->is_interrupted || calls->is_late || !attempt(&a))
            return false;
        if (a.verdict == VERDICT_SERVED && ret_json != NULL)
            *ret_json = a.json;
        if (a.verdict != VERDICT_AGAIN)
            return a.verdict == VERDICT_SERVED;
        calls->status = a.status;
        if (!begin(call))
            return false;
        if (has_held(call, before, started_ms)) {
            began_ms = clock_mono_ms();
            failures = 0;
        }
        if ((call->tries_all || call->is_once) && failures + 1 < calls->url_n) {
            calls->url = (calls->url + 1) % calls->url_n;
            continue;
        }
        if (!wait_for_next(&a, failures, began_ms))
            return false;
    }
}

bool node_calls_ask(struct node_calls *calls, const struct node_call *call, json_t **ret_json)
{
    calls->fault = NODE_CALLS_NONE;
    calls->status = 0;
    bool is_served = ask(calls, call, ret_json);
    if (calls->is_interrupted || calls->is_late)
        calls->fault = NODE_CALLS_ENDED;
    else if (!is_served && calls->fault == NODE_CALLS_NONE)
        calls->fault = NODE_CALLS_AWAY;
    return is_served;
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
    const char *fault = login_fault(calls->config);
    calls->signal_fd = -1;
    calls->user = config_text(calls->config, "user");
    if (config_has(calls->config, "on-behalf-of"))
        calls->on_behalf_of = config_text(calls->config, "on-behalf-of");
    if (fault != NULL && !calls->is_anonymous)
        return node_calls_refuse(calls, fault);
    if (calls->on_behalf_of != NULL && strlen(calls->on_behalf_of) > ACCOUNT_NAME_MAX_BYTES)
        return node_calls_refuse(calls, "--on-behalf-of takes at most 128 bytes");
    return read_urls(calls);
}

bool node_calls_open(struct node_calls *calls)
{
    if (!calls->is_anonymous && (calls->secret = login_read_secret(calls->config)) == NULL)
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
