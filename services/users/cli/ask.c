/* SPDX-License-Identifier: MIT
 * ask.c - one request of `parley user` or `parley recommendations`, until a node serves it.
 *
 *   ask a node --> served
 *     ^      \---> refused: a line that says what to do, the end
 *     |       \--> no answer, 429, 5xx: the next node after a pause, while there is patience
 *     '----------------'
 *
 * Each attempt is signed again. To send one twice does no harm: a deletion continues with what is
 * left, the others read. */
#include "services/users/cli/cli.h"

#include "shared/auth/login.h"
#include "shared/auth/signed.h"
#include "shared/base/clock.h"
#include "shared/base/shown.h"
#include "shared/http/client/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    URL_MAX_BYTES = 8192,
    ANSWER_MAX_BYTES = 1 << 20,
    REASON_BYTES = 1000,
    SHOWN_MAX_BYTES = 8192,
    TURN_MS = 1000,
    SILENCE_MS = 300000, /* a deletion is answered after its last step */
    FIRST_PAUSE_MS = 200,
    LONGEST_PAUSE_MS = 5000,
    DOUBLINGS_MAX = 8,
    MS_PER_S = 1000,
    DAY_S = 86400,
};

enum verdict { VERDICT_SERVED, VERDICT_AGAIN, VERDICT_REFUSED };

struct attempt {
    struct cli *cli;
    const struct cli_request *request;
    bool is_over, is_empty; /* is_empty: nothing of a body for on_body came */
    bool is_alien;          /* what answers is no Parley node */
    uint64_t heard_ms;
    enum verdict verdict;
    uint64_t retry_after_s;
    char reason[REASON_BYTES]; /* of AGAIN and REFUSED */
    json_t *json;
};

#define URL(cli) STR_ARG((cli)->urls[(cli)->url])

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
    struct cli *cli = a->cli;
    const char *account = config_text(cli->config, "user");
    a->verdict = VERDICT_REFUSED;
    put_reason(a, status, detail);
    if (status == 404 && a->request->ret_is_missing != NULL && !a->is_alien) {
        a->verdict = VERDICT_SERVED;
        *a->request->ret_is_missing = true;
    } else if (status == 401)
        cli_complain(cli,
                     "%s: %.*s refused the signature of --user %s: the account is unknown there or "
                     "has another secret",
                     login_source(cli->config), URL(cli), account);
    else if (status == 403 && a->request->path != NULL)
        cli_complain(cli, "--user %s: %.*s requires an account with the role operator (%s)",
                     account, URL(cli), a->reason);
    else if (status == 403)
        cli_complain(cli,
                     "--user %s: %.*s does not give this account access to the data of %s: sign as "
                     "the user, a frontend of its namespace, or an operator (%s)",
                     account, URL(cli), cli->shown, a->reason);
    else if (a->is_alien || status == 404 || status == 405 || (status >= 300 && status < 400))
        cli_complain(cli,
                     "--url %.*s: status %d: not a Parley node, or one without the service `%s` "
                     "(--target)",
                     URL(cli), status, a->request->path != NULL ? "broker" : "users");
    else
        cli_complain(cli, "%.*s refused the request: %s", URL(cli), a->reason);
}

static void judge_served(struct attempt *a, const struct http_response *response)
{
    char reason[REASON_BYTES];
    a->verdict = VERDICT_SERVED;
    if (a->request->on_body != NULL && a->request->is_whole(a->request->context))
        return;
    if (a->request->on_body != NULL && !a->is_empty) {
        a->verdict = VERDICT_AGAIN;
        put_reason(a, 0, STR("the response ended before the end of the zip file"));
        return;
    }
    if (a->request->on_body == NULL &&
        json_parse(response->body, reason, sizeof reason, &a->json) && json_is_object(a->json))
        return;
    a->is_alien = true;
    refuse(a, response->status, STR(""));
}

/* Returns whether the problem has what the request takes instead of its response. */
static bool take_instead(struct attempt *a, int status, const json_t *problem)
{
    json_t *instead =
        a->request->instead == NULL ? NULL : json_object_get(problem, a->request->instead);
    if (status != 503 || !json_is_object(instead))
        return false;
    a->verdict = VERDICT_SERVED;
    a->json = json_incref(instead);
    return true;
}

static void judge(struct attempt *a, const struct http_response *response)
{
    char unread[REASON_BYTES];
    json_t *problem = NULL;
    int status = response->status;
    if (status >= 300 && response->outcome == HTTP_ANSWERED &&
        !json_parse(response->body, unread, sizeof unread, &problem))
        problem = NULL;
    struct str detail = json_member_str(problem, "detail");
    struct str code = json_member_str(problem, "code");
    a->retry_after_s = response->retry_after_s;
    if (response->outcome == HTTP_STOPPED && a->is_alien) {
        refuse(a, status, STR(""));
    } else if (response->outcome == HTTP_STOPPED) {
        a->verdict = VERDICT_REFUSED; /* on_body has said why */
    } else if (response->outcome == HTTP_TOO_LARGE || response->outcome == HTTP_BAD_URL) {
        refuse(a, 0, str_of(response->reason));
    } else if (response->outcome != HTTP_ANSWERED) {
        a->verdict = VERDICT_AGAIN;
        put_reason(a, 0, str_of(response->reason));
    } else if (status >= 200 && status <= 299) {
        judge_served(a, response);
    } else if (take_instead(a, status, problem)) {
        ; /* served */
    } else if (status == 408 || status == 425 || status == 429 || status >= 500) {
        a->verdict = VERDICT_AGAIN;
        put_reason(a, status, detail.at == NULL ? STR("") : detail);
    } else {
        a->is_alien = code.at == NULL;
        refuse(a, status, detail.at == NULL ? STR("") : detail);
    }
    json_decref(problem);
}

static void on_done(void *context, const struct http_response *response)
{
    struct attempt *a = context;
    a->is_over = true;
    judge(a, response);
}

static bool on_body(void *context, struct str content_type, struct str bytes)
{
    struct attempt *a = context;
    a->is_alien = !str_has_prefix(content_type, STR("application/zip"));
    a->is_empty = false;
    bool goes_on = !a->is_alien && a->request->on_body(a->request->context, bytes);
    a->heard_ms = clock_mono_ms(); /* after it: a slow reader of ours is no silence of the node */
    return goes_on;
}

static bool put_url(struct buf *url, struct attempt *a)
{
    const struct cli *cli = a->cli;
    buf_put(url, cli->urls[cli->url]);
    if (a->request->path != NULL) {
        buf_put(url, str_of(a->request->path));
    } else {
        buf_lit(url, "/api/users/");
        buf_put_url_encoded(url, str_of(cli->name));
        buf_put(url, str_of(a->request->what));
        buf_put_char(url, '?');
    }
    signed_put_query(url, str_of(config_text(cli->config, "user")), str_of(cli->secret));
    buf_terminate(url);
    return !url->is_over;
}

/* False when a signal came meanwhile. */
static bool attempt(struct attempt *a)
{
    static const struct http_events events = {.on_done = on_done}, //
        stream = {.on_done = on_done, .on_body = on_body};
    struct buf url;
    bool is_stream = a->request->on_body != NULL;
    uint64_t silence_ms = a->request->silence_ms > 0 ? a->request->silence_ms : SILENCE_MS;
    size_t answer_max = a->request->max_bytes > 0 ? a->request->max_bytes : ANSWER_MAX_BYTES;
    buf_init(&url, URL_MAX_BYTES);
    if (!put_url(&url, a))
        abort(); /* its parts are bounded by the settings' checks */
    /* On a connection of its own: libcurl would send a request again by itself on one that turns
     * out to be closed, with a nonce that may be used up by then. */
    static const char *const headers[] = {"Connection: close", NULL};
    struct http_request http = {.method = a->request->method,
                                .url = url.at,
                                .headers = headers,
                                .body_max_bytes = is_stream ? SIZE_MAX / 2 : answer_max};
    struct http_call *call =
        http_call_start(a->cli->client, &http, is_stream ? &stream : &events, a);
    struct pollfd fd = {.fd = http_client_fd(a->cli->client), .events = POLLIN};
    buf_fini(&url);
    a->heard_ms = clock_mono_ms();
    while (!a->is_over) {
        bool is_silent = clock_mono_ms() > a->heard_ms + silence_ms;
        if (is_silent || a->cli->is_interrupted || !cli_wait(a->cli, &fd, TURN_MS)) {
            http_call_cancel(call);
            http_client_turn(a->cli->client);
            a->verdict = VERDICT_AGAIN;
            snprintf(a->reason, sizeof a->reason, "no data for %llu %s",
                     COUNTED(silence_ms / MS_PER_S, "second"));
            return is_silent;
        }
        http_client_turn(a->cli->client);
    }
    return !a->cli->is_interrupted;
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

/* Waits in front of the next attempt. False after a line, when there is none. */
static bool wait_for_next(struct attempt *a, unsigned failures, uint64_t began_ms)
{
    struct cli *cli = a->cli;
    uint64_t patience_s = config_number(cli->config, "patience-seconds");
    uint64_t now_ms = clock_mono_ms(), end_ms = began_ms + MS_PER_S * patience_s;
    uint64_t until_ms = now_ms + pause_ms(failures, a->retry_after_s);
    if (until_ms >= end_ms && a->retry_after_s > 0)
        return cli_complain(cli, "%.*s: %s (retry in %llu s)", URL(cli), a->reason,
                            (unsigned long long)a->retry_after_s);
    if (until_ms >= end_ms)
        return cli_complain(
            cli, "%.*s: %s (no node has served the request for %llu s: --patience-seconds)",
            URL(cli), a->reason, (unsigned long long)patience_s);
    if (failures == 0)
        cli_complain(cli, "%.*s: %s: retrying for %llu s", URL(cli), a->reason,
                     (unsigned long long)patience_s);
    while (now_ms < until_ms) {
        if (!cli_wait(cli, NULL, (int)(until_ms - now_ms)))
            return cli_complain(cli, "interrupted");
        now_ms = clock_mono_ms();
    }
    cli->url = (cli->url + 1) % cli->url_n;
    return true;
}

bool cli_ask(struct cli *cli, const struct cli_request *request, json_t **ret_json)
{
    uint64_t began_ms = clock_mono_ms();
    for (unsigned failures = 0;; failures++) {
        struct attempt a = {.cli = cli, .request = request, .is_empty = true};
        if (!attempt(&a)) {
            json_decref(a.json);
            return cli_complain(cli, "interrupted");
        }
        if (a.verdict == VERDICT_SERVED && ret_json != NULL)
            *ret_json = a.json;
        else
            json_decref(a.json);
        if (a.verdict != VERDICT_AGAIN)
            return a.verdict == VERDICT_SERVED;
        bool is_stream = request->on_body != NULL;
        if (request->tries_all && failures + 1 < cli->url_n) {
            cli->url = (cli->url + 1) % cli->url_n;
            continue;
        }
        if ((is_stream && !request->begin_again(request->context)) ||
            !wait_for_next(&a, failures, began_ms))
            return false;
    }
}
