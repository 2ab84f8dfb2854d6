/* SPDX-License-Identifier: MIT
 * held_nonces.c - see held_nonces.h.
 *
 *   handler --parked--> held --an answer begins--> answered     another copy of it: 401
 *                        |
 *                        +--its connection is lost, or its answer is 503--> lost for 10 s
 *                        |                                                   |
 *                        +--its node dies--> its channel has no reader       |
 *                                                       |                    |
 *                  a copy, nonce used --nonce_again-----+--------------------+--> handler, again
 *
 * What could not be reported because Redis was away is reported when it is back. */
#include "shared/http/access/held_nonces.h"

#include "generated/verbs.h"
#include "shared/auth/signed.h"
#include "shared/base/mem.h"
#include "shared/http/request/respond.h"

enum {
    MARK_BYTES = SIGNED_MARK_SIZE - 1,
    NEWS_BYTES = MARK_BYTES + 1, /* a mark and what has happened */
    NEWS_MAX = 16384,            /* of a shard; past that they are forgotten: a copy gets 401 */
    NEWS_PER_CALL = 300,
    TRIES_MAX = 4,
    FIRST_TRY_MS = 50 /* then twice as long each time */
};

struct held_nonces *held_nonces_create(void)
{
    struct held_nonces *held = mem_zeroed(sizeof *held);
    for (unsigned i = 0; i < SHARDS_MAX; i++)
        buf_init(&held->news[i], NEWS_MAX * NEWS_BYTES);
    return held;
}

void held_nonces_destroy(struct held_nonces *held)
{
    for (unsigned i = 0; i < SHARDS_MAX; i++)
        buf_fini(&held->news[i]);
    free(held);
}

/* --- reporting -------------------------------------------------------------------------------- */

static void report(struct turn *turn, struct str news)
{
    while (news.n > 0) {
        struct verb_writer verb = begin_nonces_held(turn_forget(turn));
        for (unsigned i = 0; i < NEWS_PER_CALL && news.n > 0; i++) {
            put_nonces_held_request(&verb, .mark = ((struct str){news.at, MARK_BYTES}),
                                    .what = (enum verb_nonces_held_what)news.at[MARK_BYTES]);
            news = (struct str){news.at + NEWS_BYTES, news.n - NEWS_BYTES};
        }
        end_verb(&verb);
    }
}

void held_nonces_report(struct server *server)
{
    for (unsigned i = 0; i < server->shards->n; i++) {
        struct buf *news = &server->held_nonces->news[i];
        if (news->n == 0 || !turn_is_up(server->shards->turns[i]))
            continue;
        report(server->shards->turns[i], buf_str(news));
        buf_clear(news);
    }
}

static void note(struct request *r, enum verb_nonces_held_what what)
{
    struct buf *news = &r->server->held_nonces->news[shards_of_nonce(r->server->shards, &r->nonce)];
    char *at = buf_reserve(news, NEWS_BYTES);
    if (at == NULL) {
        buf_clear(news);
        return;
    }
    memcpy(at, r->nonce_mark, MARK_BYTES);
    at[MARK_BYTES] = (char)what;
    news->n += NEWS_BYTES;
}

/* --- one request ------------------------------------------------------------------------------ */

/* Makes the mark of its nonce and all that it asks for: path, query and body. */
static void make_mark(struct request *r, char ret_mark[SIGNED_MARK_SIZE])
{
    struct buf *target = &r->server->scratch;
    buf_clear(target);
    buf_put(target, r->path);
    buf_put_char(target, '?');
    if (r->query.n > 0)
        buf_put(target, r->query);
    buf_put_char(target, '\n');
    if (r->exchange.h2o->entity.len > 0)
        buf_put(target, request_entity(r));
    signed_mark(r->nonce.bytes, buf_str(target), ret_mark);
}

static bool may_be_held(const struct request *r)
{
    return r->is_signed && r->route->is_held;
}

void held_nonces_park(struct request *r)
{
    if (!may_be_held(r) || r->is_nonce_held || r->exchange.is_answered || r->exchange.has_left)
        return;
    if (r->nonce_mark == NULL) {
        r->nonce_mark = request_alloc(r, SIGNED_MARK_SIZE);
        make_mark(r, r->nonce_mark);
    }
    r->is_nonce_held = true;
    note(r, NONCES_HELD_HELD);
}

void held_nonces_end(struct request *r, enum held_end end)
{
    if (!r->is_nonce_held)
        return;
    r->is_nonce_held = false;
    note(r, end == HELD_LOST ? NONCES_HELD_LOST : NONCES_HELD_ANSWERED);
}

/* --- a copy ----------------------------------------------------------------------------------- */

struct retry {
    struct request *r;
    struct deadline deadline;
    unsigned n;
};

static void ask(struct retry *retry);

static void refuse(struct request *r)
{
    metrics_add(r->server->metrics, METRIC_NONCES_REUSED, 1);
    respond_error(r, ERR_NONCE_USED, NULL);
}

static void on_again(struct request *r, enum err error, struct str reply)
{
    struct retry *retry = r->state;
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
    } else if (str_eq(reply, STR("admitted"))) {
        r->state = NULL;
        r->on_gone = NULL;
        request_handle(r);
    } else if (str_eq(reply, STR("held")) && retry->n < TRIES_MAX && !r->exchange.has_left) {
        loop_set_deadline(r->server->loop, &retry->deadline, (uint64_t)FIRST_TRY_MS << retry->n++);
    } else {
        refuse(r);
    }
}

static void ask(struct retry *retry)
{
    struct request *r = retry->r;
    unsigned shard = shards_of_nonce(r->server->shards, &r->nonce);
    call_nonce_again(request_call_at(r, shard, on_again), .mark = str_of(r->nonce_mark),
                     .sync_ms = r->server->held_nonces->sync_ms);
}

static void on_time(struct deadline *deadline)
{
    ask(container_of(deadline, struct retry, deadline));
}

static void on_gone(struct request *r)
{
    struct retry *retry = r->state;
    loop_cancel_deadline(r->server->loop, &retry->deadline);
}

bool held_nonces_try_again(struct request *r)
{
    if (!may_be_held(r))
        return false;
    request_end_handler(r);
    struct retry *retry = request_alloc(r, sizeof *retry);
    *retry = (struct retry){.r = r, .deadline.on_expire = on_time};
    r->nonce_mark = request_alloc(r, SIGNED_MARK_SIZE);
    make_mark(r, r->nonce_mark);
    r->state = retry;
    r->on_gone = on_gone;
    ask(retry);
    return true;
}
