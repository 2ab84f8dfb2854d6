/* SPDX-License-Identifier: MIT
 * call.c - see call.h: a POST that is signed as https://www.standardwebhooks.com describes it, and
 * what its response means. The reasons are read by everybody in the room, so they say nothing of
 * addresses. */
#include "services/bots/dispatch/call.h"

#include "services/bots/bots.h"
#include "services/bots/dispatch/model_call.h"
#include "services/bots/registry/endpoint.h"
#include "services/bots/registry/registry.h"
#include "shared/http/client/client.h"
#include "shared/queue/lines.h"

#include "shared/base/mem.h"

#include <openssl/crypto.h>
#include <stdio.h>

enum {
    HEADER_BYTES = 256,
    SIGNATURES_BYTES = 2 * (WEBHOOK_SIGNATURE_BYTES + 1),
    REASON_BYTES = 100
};

struct bot_call {
    struct loop *loop;
    bot_call_end_cb *on_end;
    void *context;
    enum bot_format format;
    uint64_t timeout_ms;
    struct http_call *http;   /* NULL: not sent, or a model */
    struct model_call *model; /* NULL: none */
    struct deadline unsent;   /* of one that could not be sent */
    enum bot_call_outcome outcome;
    const char *fault; /* of that one */
};

bool bot_target_read(struct str reply, struct bot_target *ret_bot)
{
    struct lines lines = lines_of(reply);
    struct bot_target bot = {.format = BOT_FORMAT_ANNEX};
    if (!str_eq(lines_next(&lines), STR("ok")))
        return false;
    bot.may = lines_next(&lines);
    bot.name = lines_next(&lines);
    bot.id = lines_next(&lines);
    bot.username = lines_next(&lines);
    bot.emulates = lines_next(&lines);
    bot.endpoint = lines_next(&lines);
    (void)!bot_format_of(lines_next(&lines), &bot.format);
    bot.account = lines_next(&lines);
    bot.user = lines_next(&lines);
    lines_next(&lines); /* the registrant's role */
    bot.generation = lines_next_u64(&lines);
    bot.has_former = str_eq(lines_next(&lines), STR("1"));
    *ret_bot = bot;
    return true;
}

static void end(struct bot_call *call, const struct bot_call_end *end)
{
    call->on_end(call->context, end);
    free(call);
}

static void end_without(struct bot_call *call, enum bot_call_outcome outcome, const char *reason)
{
    end(call, &(struct bot_call_end){.outcome = outcome, .reason = str_of(reason)});
}

static void on_model_end(void *context, const struct bot_call_end *result)
{
    end(context, result);
}

/* --- the response ----------------------------------------------------------------------------- */

static void take_answer(struct bot_call *call, struct str body)
{
    struct bot_answer answer;
    char reason[REASON_BYTES];
    const char *fault = bot_answer_read(call->format, body, &answer);
    if (fault != NULL) {
        snprintf(reason, sizeof reason, "sent an answer that %s", fault);
        end_without(call, BOT_CALL_REFUSED, reason);
        return;
    }
    struct bot_call_end result = {.outcome = answer.is_silent ? BOT_CALL_SILENT : BOT_CALL_REPLIED,
                                  .text = answer.text};
    end(call, &result);
    bot_answer_fini(&answer);
}

static void take_status(struct bot_call *call, const struct http_response *response)
{
    int status = response->status;
    bool is_redirect = status >= 300 && status < 400;
    bool is_later = status == 429 || status >= 500;
    char reason[REASON_BYTES];
    snprintf(reason, sizeof reason,
             is_redirect ? "answered with status %d, and redirects are not followed"
                         : "answered with status %d",
             status);
    end(call, &(struct bot_call_end){.outcome = is_later ? BOT_CALL_FAILED : BOT_CALL_REFUSED,
                                     .reason = str_of(reason),
                                     .retry_after_ms =
                                         status == 429 ? response->retry_after_s * 1000 : 0});
}

static void on_done(void *context, const struct http_response *response)
{
    struct bot_call *call = context;
    char reason[REASON_BYTES];
    call->http = NULL;
    if (log_is_on(LOG_DEBUG) && response->outcome != HTTP_ANSWERED)
        log_write(LOG_DEBUG, "a bot's endpoint failed",
                  LOG_S("outcome", http_outcome_name(response->outcome)),
                  LOG_S("reason", response->reason));
    switch (response->outcome) {
    case HTTP_ANSWERED:
        /* Bots of Zulip know no later answers. */
        if (response->status == 202 && call->format != BOT_FORMAT_ZULIP)
            end_without(call, BOT_CALL_ACCEPTED, "");
        else if (response->status >= 200 && response->status < 300)
            take_answer(call, response->body);
        else
            take_status(call, response);
        return;
    case HTTP_TOO_LARGE:
        end_without(call, BOT_CALL_REFUSED, "answered with more than 64 KiB");
        return;
    case HTTP_REFUSED_PEER:
        end_without(call, BOT_CALL_REFUSED,
                    "is at a private address, which needs PARLEY_ALLOW_PRIVATE_ENDPOINTS=on");
        return;
    case HTTP_BAD_URL:
        end_without(call, BOT_CALL_REFUSED, "has an address that cannot be called");
        return;
    case HTTP_TIMED_OUT:
        snprintf(reason, sizeof reason, "did not answer within %llu s",
                 (unsigned long long)((call->timeout_ms + 999) / 1000));
        end_without(call, BOT_CALL_FAILED, reason);
        return;
    case HTTP_UNREACHABLE: end_without(call, BOT_CALL_FAILED, "cannot be reached"); return;
    default: end_without(call, BOT_CALL_FAILED, "broke off its answer"); return;
    }
}

/* --- one that cannot be sent ------------------------------------------------------------------ */

static void on_unsent(struct deadline *deadline)
{
    struct bot_call *call = container_of(deadline, struct bot_call, unsent);
    end_without(call, call->outcome, call->fault);
}

static void fail(struct bot_call *call, enum bot_call_outcome outcome, const char *fault)
{
    call->outcome = outcome;
    call->fault = fault;
    call->unsent.on_expire = on_unsent;
    loop_set_deadline(call->loop, &call->unsent, 0);
}

/* --- the request ------------------------------------------------------------------------------ */

/* Our credentials for the bot. The caller wipes them. */
struct proof {
    char key[sizeof "X-CALLER-KEY: " + CALLER_KEY_MAX_BYTES];
    char id[HEADER_BYTES], timestamp[HEADER_BYTES];
    char signatures[sizeof "webhook-signature: " + SIGNATURES_BYTES];
};

static void put_signature(struct buf *b, const struct bot_keys *keys,
                          const struct bot_version *version, struct str id, uint64_t now_s,
                          struct str body)
{
    struct webhook_key key;
    char signature[WEBHOOK_SIGNATURE_BYTES + 1];
    signing_key_derive(keys, version, &key);
    webhook_sign(&key, id, now_s, body, signature);
    buf_put(b, str_of(signature));
    OPENSSL_cleanse(&key, sizeof key);
}

/* The key, and a signature by the secret of each generation that is good, the newest first. */
static void prove(struct proof *proof, const struct bot_keys *keys,
                  const struct bot_call_settings *s, struct str body)
{
    struct bot_version version = {s->bot.name, s->bot.id, s->bot.generation};
    struct buf key = {.at = proof->key, .cap = sizeof proof->key, .max = sizeof proof->key - 1};
    struct buf signatures = {.at = proof->signatures,
                             .cap = sizeof proof->signatures,
                             .max = sizeof proof->signatures - 1};
    uint64_t now_s = clock_wall_ms() / 1000;
    buf_lit(&key, "X-CALLER-KEY: ");
    caller_key_put(&key, keys, &version);
    proof->key[key.n] = 0;
    snprintf(proof->id, sizeof proof->id, "webhook-id: %.*s", STR_ARG(s->delivery));
    snprintf(proof->timestamp, sizeof proof->timestamp, "webhook-timestamp: %llu",
             (unsigned long long)now_s);
    buf_lit(&signatures, "webhook-signature: ");
    put_signature(&signatures, keys, &version, s->delivery, now_s, body);
    if (s->bot.has_former && version.generation > 1) {
        version.generation--;
        buf_put_char(&signatures, ' ');
        put_signature(&signatures, keys, &version, s->delivery, now_s, body);
    }
    proof->signatures[signatures.n] = 0;
}

static void send_request(struct bot_call *call, struct bots *bots, const struct bot_keys *keys,
                         const struct bot_call_settings *s, struct str body)
{
    static const struct http_events events = {.on_done = on_done};
    struct proof proof;
    char trace[HEADER_BYTES];
    prove(&proof, keys, s, body);
    const char *headers[9] = {"Content-Type: application/json",
                              "Accept: application/json",
                              proof.key,
                              proof.id,
                              proof.timestamp,
                              proof.signatures};
    if (s->traceparent.n > 0) {
        snprintf(trace, sizeof trace, "traceparent: %.*s", STR_ARG(s->traceparent));
        headers[6] = trace;
    }
    char *url = str_copy(s->bot.endpoint);
    struct http_request request = {.method = "POST",
                                   .url = url,
                                   .headers = headers,
                                   .body = body,
                                   .timeout_ms = call->timeout_ms,
                                   .body_max_bytes = BOT_ANSWER_MAX_BYTES};
    call->http = http_call_start(bots->client, &request, &events, call);
    free(url);
    OPENSSL_cleanse(&proof, sizeof proof);
}

static void put_body(struct buf *b, const struct bot_keys *keys, const struct bot_call_settings *s)
{
    struct bot_version version = {s->bot.name, s->bot.id, s->bot.generation};
    char bytes[CALLER_KEY_MAX_BYTES];
    struct buf token = {.at = bytes, .cap = sizeof bytes, .max = sizeof bytes};
    caller_key_put(&token, keys, &version);
    struct talk_bot bot = {s->bot.username, s->bot.emulates, buf_str(&token)};
    if (s->bot.format == BOT_FORMAT_ZULIP)
        talk_put_zulip(b, s->talk, &bot);
    else
        talk_put_annex(b, s->talk, &bot);
    OPENSSL_cleanse(bytes, sizeof bytes);
}

static void post(struct bot_call *call, struct bots *bots, const struct bot_call_settings *s)
{
    struct bot_keys keys;
    struct buf body;
    if (registry_keys(bots, &keys) != ERR_OK) {
        fail(call, BOT_CALL_FAILED, "cannot be called while storage is unreachable");
        return;
    }
    buf_init(&body, TALK_BODY_MAX_BYTES);
    put_body(&body, &keys, s);
    if (body.is_over)
        fail(call, BOT_CALL_REFUSED,
             "cannot be called: the messages before this one are too large");
    else
        send_request(call, bots, &keys, s, buf_str(&body));
    if (body.n > 0)
        OPENSSL_cleanse(body.at, body.n); /* Zulip's has the key in it */
    buf_fini(&body);
    OPENSSL_cleanse(&keys, sizeof keys);
}

struct bot_call *bot_call_start(struct bots *bots, const struct bot_call_settings *settings,
                                bot_call_end_cb *on_end, void *context)
{
    struct bot_call *call = mem_zeroed(sizeof *call);
    *call = (struct bot_call){.loop = bots->server->loop,
                              .on_end = on_end,
                              .context = context,
                              .format = settings->bot.format,
                              .timeout_ms = settings->timeout_ms == 0 ? BOT_CALL_TIMEOUT_MS
                                                                      : settings->timeout_ms};
    switch (endpoint_kind_of(settings->bot.endpoint)) {
    case ENDPOINT_MODEL: call->model = model_call_start(bots, settings, on_model_end, call); break;
    case ENDPOINT_HTTP: post(call, bots, settings); break;
    default: fail(call, BOT_CALL_REFUSED, "has no address: it pulls its messages"); break;
    }
    return call;
}

void bot_call_cancel(struct bot_call *call, bool is_final)
{
    if (call == NULL)
        return;
    if (call->model != NULL)
        model_call_cancel(call->model, is_final);
    http_call_cancel(call->http);
    loop_cancel_deadline(call->loop, &call->unsent);
    free(call);
}
