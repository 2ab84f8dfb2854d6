/* SPDX-License-Identifier: MIT
 * read.c - GET /api/evaluations, GET and DELETE /api/evaluations/{id}: the caller's runs, as
 * evaluate.h shows them. */
#include "services/bots/evaluate/evaluate.h"
#include "services/bots/evaluate/evaluation.h"

#include "generated/verbs.h"
#include "shared/ask/reply.h"
#include "shared/ask/shard_list.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/pages.h"
#include "shared/http/request/respond.h"

enum {
    TURNS_MAX = 1000,
    PAGE_RUNS = 100,
    /* A page of the verb is 1 MiB, and one turn more. */
    READ_MAX_BYTES = 4 << 20,
    LIST_MAX_BYTES = 4 << 20
};

static void refuse_missing(struct request *r)
{
    (void)explain_missing(r, "evaluation", request_path_param(r, "id"),
                          "GET /api/evaluations lists yours.");
}

/* --- one run ---------------------------------------------------------------------------------- */

/* The 13 lines of a run, as far as they are shown. */
struct shown {
    struct str id, status, username, measure;
    uint64_t turns, at, created_ms, updated_ms;
    struct evaluation_summary summary;
};

static struct shown shown_next(struct lines *lines)
{
    struct shown shown = {.id = lines_next(lines), .status = lines_next(lines)};
    for (int i = 0; i < 4; i++) /* namespace, account, user, bot */
        lines_next(lines);
    shown.username = lines_next(lines);
    shown.measure = lines_next(lines);
    shown.turns = lines_next_u64(lines);
    shown.at = lines_next_u64(lines);
    shown.created_ms = lines_next_u64(lines);
    shown.updated_ms = lines_next_u64(lines);
    record_read_summary(lines_next(lines), &shown.summary);
    return shown;
}

static void put_interval(struct buf *b, const struct statistics *distances)
{
    struct interval interval;
    if (distances->n == 0)
        buf_lit(b, ",\"mean\":null,\"score\":null");
    else
        buf_printf(b, ",\"mean\":%.17g,\"score\":%.17g", distances->mean,
                   measure_score(distances->mean));
    if (statistics_interval(distances, &interval))
        buf_printf(b, ",\"interval\":[%.17g,%.17g]", interval.low, interval.high);
    else
        buf_lit(b, ",\"interval\":null");
}

/* Puts an object, without its closing brace. */
static void put_shown(struct buf *b, const struct shown *shown)
{
    buf_lit(b, "{\"id\":");
    buf_put_json(b, shown->id);
    buf_put_key(b, "bot");
    buf_put(b, shown->username);
    buf_put_key(b, "measure");
    buf_put_json(b, shown->measure);
    buf_put_key(b, "status");
    buf_put_json(b, shown->status);
    buf_put_key(b, "reason");
    if (shown->summary.reason[0] == 0)
        buf_lit(b, "null");
    else
        buf_put_json(b, str_of(shown->summary.reason));
    buf_printf(b, ",\"total\":%llu,\"done\":%llu,\"failed\":%llu", (unsigned long long)shown->turns,
               (unsigned long long)shown->at, (unsigned long long)shown->summary.failed);
    put_interval(b, &shown->summary.distances);
    buf_put_key(b, "created");
    buf_put_json_time(b, shown->created_ms);
    buf_put_key(b, "updated");
    buf_put_json_time(b, shown->updated_ms);
}

/* The path's id: <digits>-<n>. Answers 404 otherwise. */
static bool read_id(struct request *r, struct str *ret_digits, uint64_t *ret_n)
{
    struct str id = request_path_param(r, "id");
    *ret_digits = str_cut(&id, '-');
    bool is_id = ret_digits->n == EVALUATION_DIGITS && id.at != NULL && id.n <= 15 &&
                 str_parse_u64(id, ret_n);
    for (size_t i = 0; is_id && i < ret_digits->n; i++)
        is_id = (ret_digits->at[i] >= '0' && ret_digits->at[i] <= '9') ||
                (ret_digits->at[i] >= 'a' && ret_digits->at[i] <= 'f');
    if (!is_id)
        refuse_missing(r);
    return is_id;
}

struct reading {
    struct bots_who who;
    uint64_t after, limit;
};

static void link_next(struct request *r, uint64_t after)
{
    char *text = request_alloc(r, STR_U64_MAX);
    size_t n = str_put_u64(text, after);
    pages_link(r, (struct str){text, n});
}

static void on_read(struct request *r, enum err error, struct str reply)
{
    const struct reading *reading = r->state;
    struct lines lines = lines_of(reply);
    struct str word = lines_next(&lines);
    struct buf b;
    uint64_t n = 0;
    if (error == ERR_OK && str_eq(word, STR("missing"))) {
        refuse_missing(r);
        return;
    }
    if (reply_refuse(r, error, word, &lines))
        return;
    bool is_more = str_eq(lines_next(&lines), STR("1"));
    struct shown shown = shown_next(&lines);
    buf_init(&b, READ_MAX_BYTES);
    put_shown(&b, &shown);
    buf_put_key(&b, "turns");
    buf_put_char(&b, '[');
    for (; lines_are_left(&lines) && n < reading->limit; n++) {
        if (n > 0)
            buf_put_char(&b, ',');
        buf_put(&b, lines_next(&lines));
    }
    buf_lit(&b, "]}");
    if (is_more || lines_are_left(&lines))
        link_next(r, reading->after + n);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

void evaluate_read(struct request *r)
{
    struct reading *reading = request_alloc(r, sizeof *reading);
    struct str digits;
    uint64_t n;
    if (!bots_who_of(r, &reading->who) ||
        !request_param_u64(r, "after", 0, CONVERSATION_TURNS_MAX, 0, &reading->after) ||
        !request_param_u64(r, "limit", 1, TURNS_MAX, TURNS_MAX, &reading->limit) ||
        !read_id(r, &digits, &n))
        return;
    r->state = reading;
    call_evaluation_read(request_call(r, on_read), .evaluation = digits, .run = n,
                         .account = reading->who.account, .user = reading->who.user_name,
                         .since = reading->after);
}

/* --- cancelling ------------------------------------------------------------------------------- */

static void on_cancelled(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str word = lines_next(&lines);
    struct buf *b = &r->server->scratch;
    if (error == ERR_OK && str_eq(word, STR("missing"))) {
        refuse_missing(r);
        return;
    }
    if (reply_refuse(r, error, word, &lines))
        return;
    buf_clear(b);
    buf_lit(b, "{\"id\":");
    buf_put_json(b, request_path_param(r, "id"));
    buf_put_key(b, "status");
    buf_put_json(b, str_eq(word, STR("over")) ? lines_next(&lines) : STR("cancelled"));
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

void evaluate_cancel(struct request *r)
{
    struct bots_who who;
    struct str digits;
    uint64_t n;
    if (!bots_who_of(r, &who) || !read_id(r, &digits, &n))
        return;
    call_evaluation_cancel(request_call(r, on_cancelled), .evaluation = digits, .run = n,
                           .account = who.account, .user = who.user_name);
}

/* --- the list --------------------------------------------------------------------------------- */

static bool put_listed(struct buf *b, struct request *r, struct lines *lines)
{
    struct shown shown = shown_next(lines);
    (void)r;
    put_shown(b, &shown);
    buf_put_char(b, '}');
    return true;
}

static void on_pages(struct request *r, enum err error, const struct gather *all)
{
    const struct reading *reading = r->state;
    shard_list_respond(
        r, error, all,
        &(struct shard_list){"evaluations", reading->limit, LIST_MAX_BYTES, put_listed});
}

/* "<24 hex digits>-<n>" */
static bool is_id(struct str id)
{
    return id.n > EVALUATION_DIGITS && id.n <= EVALUATION_DIGITS + 1 + STR_U64_MAX;
}

void evaluate_list(struct request *r)
{
    struct reading *reading = request_alloc(r, sizeof *reading);
    struct str after;
    if (!bots_who_of(r, &reading->who) ||
        !request_param_u64(r, "limit", 1, PAGE_RUNS, PAGE_RUNS, &reading->limit) ||
        !shard_list_cursor(r, is_id, &after))
        return;
    r->state = reading;
    struct gather *all = gather_begin(r, on_pages);
    for (unsigned i = 0; i < all->n; i++)
        call_evaluation_list(gather_call(r, i), .user = reading->who.user_name,
                             .account = reading->who.account, .limit = reading->limit,
                             .after = after);
}
