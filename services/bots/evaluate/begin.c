/* SPDX-License-Identifier: MIT
 * begin.c - POST /api/evaluations: the bot is looked up, the conversation is read with the person
 * that it emulates, in steps, and the run is stored; then this node drives it. */
#include "services/bots/evaluate/evaluate.h"
#include "services/bots/evaluate/evaluation.h"
#include "services/bots/registry/registry.h"

#include "generated/verbs.h"
#include "shared/ask/reply.h"
#include "shared/ask/storage_limit.h"
#include "shared/base/json.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/once.h"
#include "shared/http/request/respond.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>

enum { FULL_RETRY_S = 60, STEP_BYTES = 64 << 10 };

struct beginning {
    struct bots_who who;
    struct str bot;      /* a name */
    struct str username; /* JSON */
    enum measure measure;
    struct conversation_reader reader;
    char reason[CONVERSATION_REASON_BYTES];
    struct conversation talk; /* what it has read */
    char digits[EVALUATION_DIGITS + 1];
    char id[LEASE_ID_MAX_BYTES + 1]; /* of the run */
};

static void on_gone(struct request *r)
{
    struct beginning *beginning = r->state;
    conversation_cancel(&beginning->reader);
    conversation_fini(&beginning->talk);
}

/* --- the answer ------------------------------------------------------------------------------- */

static void put_id(struct beginning *beginning, struct str n)
{
    snprintf(beginning->id, sizeof beginning->id, "%s-%.*s", beginning->digits, STR_ARG(n));
}

static void respond_id(struct request *r, const struct beginning *beginning)
{
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_printf(b, "{\"id\":\"%s\"}", beginning->id);
    respond_json(r, 202, b);
}

static void refuse_full(struct request *r, struct str what)
{
    if (str_eq(what, STR("open")))
        respond_error_more(r, ERR_USER_QUEUE_FULL,
                           "10 evaluations of this user are not finished: wait for one, or cancel "
                           "it with DELETE /api/evaluations/{id}.",
                           NULL, FULL_RETRY_S);
    else
        respond_error_more(r, ERR_TOO_MUCH_STORED,
                           "1,000 evaluations of this user are stored: they are deleted 30 days "
                           "after their end.",
                           NULL, FULL_RETRY_S);
}

static void on_begun(struct request *r, enum err error, struct str reply)
{
    struct beginning *beginning = r->state;
    struct lines lines = lines_of(reply);
    struct str word = lines_next(&lines);
    if (error == ERR_OK && str_eq(word, STR("begun"))) {
        put_id(beginning, lines_next(&lines));
        struct evaluation_start start = {.id = str_of(beginning->id),
                                         .fence = lines_next_u64(&lines),
                                         .account = beginning->who.account,
                                         .user = beginning->who.user_name,
                                         .bot = beginning->bot,
                                         .measure = beginning->measure,
                                         .talk = &beginning->talk};
        evaluations_start(bots_of(r)->evaluations, &start);
        respond_id(r, beginning);
    } else if (error == ERR_OK && str_eq(word, STR("known"))) {
        put_id(beginning, lines_next(&lines));
        respond_id(r, beginning);
    } else if (error == ERR_OK && str_eq(word, STR("full"))) {
        refuse_full(r, lines_next(&lines));
    } else if (!reply_refuse(r, error, word, &lines)) {
        respond_error(r, ERR_INTERNAL, NULL);
    }
}

/* --- beginning -------------------------------------------------------------------------------- */

/* The same request has the same digits. */
static void put_digits(struct beginning *beginning)
{
    const struct bots_who *who = &beginning->who;
    const struct str parts[] = {who->namespace,
                                who->account,
                                who->user_name,
                                beginning->bot,
                                measure_name(beginning->measure),
                                buf_str(&beginning->talk.text)};
    unsigned char digest[SHA256_DIGEST_LENGTH];
    struct buf all;
    buf_init(&all, SIZE_MAX / 2);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_put(&all, parts[i]);
        buf_put_char(&all, 0);
    }
    SHA256((const unsigned char *)all.at, all.n, digest);
    buf_fini(&all);
    str_hex(digest, EVALUATION_DIGITS / 2, beginning->digits);
}

static void begin(struct request *r, struct beginning *beginning)
{
    static const enum verb_evaluation_begin_measure words[] = {
        [MEASURE_COSINE] = EVALUATION_BEGIN_COSINE,
        [MEASURE_DOT] = EVALUATION_BEGIN_DOT,
        [MEASURE_EUCLIDEAN] = EVALUATION_BEGIN_EUCLIDEAN};
    put_digits(beginning);
    call_evaluation_begin(
        request_call(r, on_begun), .evaluation = str_of(beginning->digits),
        .namespace = beginning->who.namespace, .account = beginning->who.account,
        .user = beginning->who.user_name, .bot = beginning->bot, .username = beginning->username,
        .measure = words[beginning->measure], .turns = beginning->talk.turn_n,
        .conversation = buf_str(&beginning->talk.text), .max_stored = storage_limit_of_account(r),
        .max_stored_per_user = storage_limit_of_user(r), .key = once_key(r));
}

/* The text of a JSON string or of null, in the request's pool. */
static struct str text_of_json(struct request *r, struct str json)
{
    char reason[200];
    json_t *value = NULL;
    struct str text = STR("");
    if (json.n > 0 && json_parse(json, reason, sizeof reason, &value) && json_is_string(value))
        text = request_copy(r, json_str(value));
    json_decref(value);
    return text;
}

static bool read_some(struct steps *steps)
{
    struct request *r = container_of(steps, struct request, handling);
    struct beginning *beginning = r->state;
    if (conversation_go_on(&beginning->reader, STEP_BYTES))
        return true;
    enum conversation_fault fault = conversation_end(&beginning->reader, &beginning->talk);
    if (fault == CONVERSATION_GOOD)
        begin(r, beginning);
    else
        respond_error(r, fault == CONVERSATION_TOO_LARGE ? ERR_TOO_LARGE : ERR_BAD_REQUEST,
                      beginning->reason);
    return false;
}

static void take_bot(struct request *r, struct beginning *beginning, const struct bot_target *bot)
{
    struct str person = text_of_json(r, bot->emulates);
    if (bot->endpoint.n == 0) {
        respond_error(r, ERR_BOT_PULLS,
                      "This bot has no endpoint: it pulls its deliveries. An evaluation calls an "
                      "endpoint, or a model (parley:MODEL).");
        return;
    }
    if (person.n == 0) {
        respond_error(r, ERR_BAD_REQUEST,
                      "This bot emulates nobody: register it with `emulates`, the `from` of the "
                      "person whose answers it is compared with.");
        return;
    }
    beginning->username = request_copy(r, bot->username);
    conversation_begin(&beginning->reader, request_member(r, "conversation"), person,
                       beginning->reason);
    r->handling.step = read_some;
    loop_begin_steps(r->server->loop, &r->handling);
}

static void on_found(struct request *r, enum err error, struct str reply)
{
    struct bot_target bot;
    if (error != ERR_OK)
        respond_error(r, error, NULL);
    else if (!bot_target_read(reply, &bot))
        (void)explain_missing(r, "bot", request_member_text(r, "bot"),
                              "GET /api/bots lists those that exist.");
    else
        take_bot(r, r->state, &bot);
}

static bool read_body(struct request *r, struct beginning *beginning)
{
    struct str username, measure;
    if (!request_text(r, "bot", 1, BOT_USERNAME_MAX_BYTES, &username) ||
        !request_optional_text(r, "measure", 20, &measure))
        return false;
    if (measure.at != NULL && !measure_of(measure, &beginning->measure))
        return explain_member(r, "measure", "cosine, dot or euclidean");
    struct buf name = {.at = request_alloc(r, BOTS_NAME_MAX_BYTES),
                       .cap = BOTS_NAME_MAX_BYTES,
                       .max = BOTS_NAME_MAX_BYTES};
    bots_put_name(&name, beginning->who.namespace, username);
    beginning->bot = buf_str(&name);
    return true;
}

void evaluate_begin(struct request *r)
{
    struct beginning *beginning = request_alloc(r, sizeof *beginning);
    *beginning = (struct beginning){.measure = MEASURE_COSINE};
    if (!bots_who_of(r, &beginning->who) || !request_body(r) || !read_body(r, beginning))
        return;
    r->state = beginning;
    r->on_gone = on_gone;
    call_bot_find(request_call(r, on_found), .bot = beginning->bot, .is_calling = false);
}
