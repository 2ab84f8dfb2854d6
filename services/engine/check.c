/* SPDX-License-Identifier: MIT
 * check.c - see check.h.
 *
 *   all at once: each node, the model server --> good, or wrong: a line, the end
 *     ^                                         \-> away: again after a pause,
 *     |                                             |     while there is patience
 *     '---------------------------------------------'
 */
#include "services/engine/check.h"

#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { NODE_MS = 5000, AGAIN_MS = 500, REASON_BYTES = 1000 };

enum verdict { VERDICT_PENDING, VERDICT_GOOD, VERDICT_AWAY, VERDICT_WRONG };

struct node_check {
    struct check *check;
    unsigned i;
    struct link_call *call;
    enum verdict verdict;
    char reason[REASON_BYTES];
};

struct check {
    const struct check_settings *settings;
    struct node_check nodes[LINK_URLS_MAX];
    struct backend_check *call;
    enum verdict model;
    char reason[REASON_BYTES];
};

#define SAY(...) (fprintf(stderr, "parley: " __VA_ARGS__), fputc('\n', stderr))

/* ---- nodes ---- */

static enum verdict judge_node(struct node_check *node, const struct link_reply *reply)
{
    const struct check_settings *s = node->check->settings;
    const char *url = link_node_url(s->engine->link, node->i);
    const char *role = json_string_value(json_object_get(reply->json, "Role"));
    snprintf(node->reason, sizeof node->reason, "%s", reply->reason);
    if (reply->verdict == LINK_OK && role != NULL && strcmp(role, "engine") == 0)
        return VERDICT_GOOD;
    if (reply->verdict == LINK_OK && role != NULL)
        SAY("--user %s: the account has the role %s at %s: it must be engine", s->user, role, url);
    else if (reply->status == 401)
        SAY("%s: %s refused the signature of --user %s: the account is unknown there or has "
            "another secret",
            s->secret_source, url, s->user);
    else if (reply->status == 403)
        SAY("--user %s: %s refused the account: %s", s->user, url, reply->reason);
    else if (reply->verdict == LINK_REFUSED || reply->verdict == LINK_OK ||
             reply->verdict == LINK_UNREADABLE || (reply->status >= 200 && reply->status <= 399))
        SAY("--url %s: not a Parley node: /api/login returned %d", url, reply->status);
    else
        return VERDICT_AWAY;
    return VERDICT_WRONG;
}

static void on_node(void *context, const struct link_reply *reply)
{
    struct node_check *node = context;
    node->call = NULL;
    node->verdict = judge_node(node, reply);
}

static void start_node(struct node_check *node)
{
    struct link_request request = {
        .path = "/api/login", .timeout_ms = NODE_MS, .home = node->i, .is_probe = true};
    node->verdict = VERDICT_PENDING;
    node->call = link_start(node->check->settings->engine->link, &request, on_node, node);
}

/* ---- the model server ---- */

static void on_model(void *context, const struct backend_checked *checked)
{
    struct check *check = context;
    const struct check_settings *s = check->settings;
    check->call = NULL;
    check->model = VERDICT_GOOD;
    snprintf(check->reason, sizeof check->reason, "%s", checked->reason);
    switch (checked->health) {
    case BACKEND_GOOD: break;
    case BACKEND_BUSY:
        log_write(LOG_WARN, "the model server is busy", LOG_S("reason", checked->reason));
        break;
    case BACKEND_AWAY: check->model = VERDICT_AWAY; break;
    case BACKEND_NO_KEY:
        if (s->key_file == NULL)
            SAY("%s is missing: %s requires a key: %s", s->key_flag, s->server, checked->reason);
        else
            SAY("%s %s: %s refused the key: %s", s->key_flag, s->key_file, s->server,
                checked->reason);
        check->model = VERDICT_WRONG;
        break;
    case BACKEND_NO_MODEL:
        SAY("%s %s: %s has no model with that name: %s",
            str_is_listed(str_of(s->models), str_of(checked->model)) ? "--models" : "--model",
            checked->model, s->server, checked->reason);
        check->model = VERDICT_WRONG;
        break;
    }
}

static void start_model(struct check *check)
{
    check->model = VERDICT_PENDING;
    check->call = backend_start_check(check->settings->backend, on_model, check);
    if (check->call == NULL)
        check->model = VERDICT_GOOD;
}

/* ---- all ---- */

static unsigned count_nodes(const struct check *check, enum verdict verdict)
{
    unsigned n = 0;
    for (unsigned i = 0; i < link_node_n(check->settings->engine->link); i++)
        n += check->nodes[i].verdict == verdict;
    return n;
}

/* False when a signal came. */
static bool wait_ms(const struct check *check, uint64_t ms)
{
    const struct check_settings *settings = check->settings;
    struct http_client *client = settings->engine->client;
    struct pollfd waits[] = {{.fd = http_client_fd(client), .events = POLLIN},
                             {.fd = settings->signal_fd, .events = POLLIN}};
    struct signalfd_siginfo info;
    poll(waits, 2, (int)ms);
    http_client_turn(client);
    return waits[1].revents == 0 ||
           read(settings->signal_fd, &info, sizeof info) != (ssize_t)sizeof info ||
           info.ssi_signo == SIGHUP;
}

/* Until all of a round are known; one that is wrong ends it. */
static bool finish_round(struct check *check)
{
    while (count_nodes(check, VERDICT_WRONG) == 0 && check->model != VERDICT_WRONG &&
           (count_nodes(check, VERDICT_PENDING) > 0 || check->model == VERDICT_PENDING))
        if (!wait_ms(check, NODE_MS))
            return false;
    return true;
}

static void cancel(struct check *check)
{
    for (unsigned i = 0; i < LINK_URLS_MAX; i++) {
        link_cancel(check->nodes[i].call);
        check->nodes[i].call = NULL;
    }
    backend_end_check(check->settings->backend, check->call);
    check->call = NULL;
}

/* Says what was never there. */
static void say_away(const struct check *check, bool are_nodes_good)
{
    const struct check_settings *s = check->settings;
    unsigned n = link_node_n(s->engine->link);
    if (!are_nodes_good)
        SAY("--url %s%s: no node responds: %s", link_node_url(s->engine->link, 0),
            n > 1 ? " and the others" : "", check->nodes[0].reason);
    else
        SAY("%s %s: the model server does not respond: %s", s->server_flag, s->server,
            check->reason);
}

enum check_result check_all(const struct check_settings *settings)
{
    struct check check = {.settings = settings};
    unsigned n = link_node_n(settings->engine->link);
    uint64_t until_ms = clock_mono_ms() + settings->patience_s * 1000;
    enum check_result result = CHECK_BAD;
    bool are_nodes_good = false;
    for (;;) {
        for (unsigned i = 0; i < n && !are_nodes_good; i++) {
            check.nodes[i].check = &check;
            check.nodes[i].i = i;
            start_node(&check.nodes[i]);
        }
        if (check.model != VERDICT_GOOD)
            start_model(&check);
        if (!finish_round(&check)) {
            result = CHECK_SIGNAL;
            break;
        }
        if (count_nodes(&check, VERDICT_WRONG) > 0 || check.model == VERDICT_WRONG)
            break;
        are_nodes_good = count_nodes(&check, VERDICT_GOOD) > 0;
        if (are_nodes_good && check.model == VERDICT_GOOD) {
            result = CHECK_GOOD;
            break;
        }
        if (clock_mono_ms() + AGAIN_MS > until_ms) {
            say_away(&check, are_nodes_good);
            break;
        }
        uint64_t again_ms = clock_mono_ms() + AGAIN_MS, now_ms;
        while ((now_ms = clock_mono_ms()) < again_ms)
            if (!wait_ms(&check, again_ms - now_ms)) {
                result = CHECK_SIGNAL;
                goto out;
            }
    }
out:
    cancel(&check);
    return result;
}
