/* SPDX-License-Identifier: MIT
 * ask_queue.c - a question in the queue: added under a key, so that a repeated request adds
 * nothing, followed to its end, and cancelled when nobody waits for it any more. */
#include "services/client/ask.h"

#include <stdio.h>

enum {
    BODY_MAX_BYTES = 2 << 20, /* a question of 256 KiB, with escapes */
    PATH_MAX_BYTES = 1024,
    KEY_BYTES = 16,
    HEADER_BYTES = 64,
    CLEAN_UP_MS = 5000
};

int ask_code_of_fault(const struct ask *x)
{
    switch (x->calls.fault) {
    case NODE_CALLS_AWAY: return x->calls.status == 0 ? ASK_AWAY : ASK_REFUSED;
    case NODE_CALLS_REFUSED: return ASK_REFUSED;
    case NODE_CALLS_ENDED: return x->calls.is_late ? ASK_TIMEOUT : ASK_CANCELLED;
    default: return ASK_BROKEN;
    }
}

/* --- adding ----------------------------------------------------------------------------------- */

static void put_question(struct buf *b, const struct ask *x)
{
    bool is_for_other = x->calls.on_behalf_of != NULL && x->calls.on_behalf_of[0] != 0;
    buf_lit(b, "{\"Topic\":");
    buf_put_json(b, str_of(x->topic));
    buf_put_key(b, "User");
    buf_put_json(b, str_of(is_for_other ? x->calls.on_behalf_of : x->calls.user));
    buf_put_key(b, "Query");
    buf_put_json(b, buf_str(&x->question));
    if (x->model != NULL) {
        buf_put_key(b, "Model");
        buf_put_json(b, str_of(x->model));
    }
    buf_put_char(b, '}');
}

static bool take_added(struct ask *x, json_t *added)
{
    x->seq = json_integer_value(json_object_get(added, "Seq"));
    json_decref(added);
    if (x->seq <= 0)
        return node_calls_complain(&x->calls, "--url: this is not the answer of a Parley node");
    return true;
}

/* Adds the question, or finds out its Seq where a request with this key added it. */
static bool add(struct ask *x, const char *key, bool is_once)
{
    const char *const headers[] = {key, NULL};
    struct buf body;
    json_t *added = NULL;
    buf_init(&body, BODY_MAX_BYTES);
    put_question(&body, x);
    const struct node_call call = {.method = "POST",
                                   .path = "/api/add-query",
                                   .body = buf_str(&body),
                                   .headers = headers,
                                   .is_once = is_once};
    bool is_good = node_calls_ask(&x->calls, &call, &added) && take_added(x, added);
    buf_fini(&body);
    return is_good;
}

/* --- following -------------------------------------------------------------------------------- */

static bool follow(struct ask *x)
{
    struct buf path;
    buf_init(&path, PATH_MAX_BYTES);
    buf_lit(&path, "/api/check-query?Topic=");
    buf_put_url_encoded(&path, str_of(x->topic));
    buf_printf(&path, "&Seq=%lld&Detail=true", (long long)x->seq);
    buf_terminate(&path);
    struct node_call call = {.method = "GET", .path = path.at};
    bool is_good = ask_stream_follow(x, &call);
    buf_fini(&path);
    return is_good;
}

/* How to continue with a topic that this command has made up. */
static void mention_topic(struct ask *x)
{
    if (x->topic == x->own_topic && x->is_error_terminal && x->is_terminal && !x->is_json)
        fprintf(stderr, "\nparley ask --topic %s \"...\" asks on.\n", x->topic);
}

/* --- cancelling ------------------------------------------------------------------------------- */

static bool cancel(struct ask *x)
{
    struct buf body;
    json_t *reply = NULL;
    buf_init(&body, BODY_MAX_BYTES);
    buf_lit(&body, "{\"Topic\":");
    buf_put_json(&body, str_of(x->topic));
    buf_printf(&body, ",\"Seq\":%lld}", (long long)x->seq);
    const struct node_call call = {
        .method = "POST", .path = "/api/cancel-query", .body = buf_str(&body), .is_once = true};
    bool is_good = node_calls_ask(&x->calls, &call, &reply);
    json_decref(reply);
    buf_fini(&body);
    return is_good;
}

/* Nobody waits for it any more. A request to add it may be under way: its key finds it. */
static void give_up(struct ask *x, const char *key, int code)
{
    const char *why = code == ASK_TIMEOUT  ? "no answer in time (--timeout-seconds)"
                      : code == ASK_BROKEN ? "the question is not needed any more"
                                           : "interrupted";
    node_calls_go_on(&x->calls, CLEAN_UP_MS);
    bool is_cancelled = (x->seq > 0 || add(x, key, true)) && cancel(x);
    ask_complain(x, why,
                 is_cancelled ? STR("the question is cancelled")
                              : STR("the question could not be cancelled, and may continue"));
    if (x->is_json && code != ASK_BROKEN) {
        json_t *end = json_pack("{s:s, s:I, s:s, s:s}", "Topic", x->topic, "Seq", x->seq, "Status",
                                is_cancelled ? "Cancelled" : "Unknown", "Reason", why);
        ask_print_json(x, end);
        json_decref(end);
    }
}

int ask_queue(struct ask *x)
{
    char hex[2 * KEY_BYTES + 1], key[HEADER_BYTES];
    str_random_hex(KEY_BYTES, hex);
    snprintf(key, sizeof key, "Idempotency-Key: %s", hex);
    if (!add(x, key, false) || !follow(x)) {
        int code = ask_code_of_fault(x);
        if (code == ASK_TIMEOUT || code == ASK_CANCELLED)
            give_up(x, key, code);
        else if (x->seq > 0)
            ask_complain(x, "the question continues; its answer will be in the topic",
                         str_of(x->topic));
        return code;
    }
    int code = ask_stream_end(x);
    if (code == ASK_BROKEN && x->end == NULL)
        give_up(x, key, code);
    if (code == ASK_ANSWERED)
        mention_topic(x);
    return code;
}
