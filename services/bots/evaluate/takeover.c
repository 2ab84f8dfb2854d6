/* SPDX-License-Identifier: MIT
 * takeover.c - how evaluations come to a node and stay with it (see run.h). The node renews the
 * fences of those that it drives, together; every few seconds, and when Redis is back, it takes
 * what nobody renews: runs of nodes that died or had no room. A full node takes a few all the same:
 * they may be of somebody whose turn comes first. */
#include "services/bots/evaluate/run.h"

#include "generated/verbs.h"
#include "shared/base/json.h"
#include "shared/queue/lines.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    TICK_MS = 4000, /* three of them fit into a fence */
    /* Whether there is something to take is asked with a turn that is sent anyway, at most this
     * often, or at a tick if that was long ago. */
    LOOK_MS = 2000,
    LOOK_AGAIN_MS = 3500,
    TAKE_MAX = 20,
    RENEW_MAX = 100,
    RENEWALS_MAX =
        (EVALUATIONS_MAX + EVALUATIONS_WAITING_MAX + EVALUATIONS_RESTING_MAX) / RENEW_MAX + 1,
};

/* What is under way with one shard. */
struct evaluation_taking {
    struct call look_call, take_call;
    uint64_t looked_ms;
    struct evaluations *all;
    struct renewal {
        struct call call;
        struct evaluations *all;
    } renewals[RENEWALS_MAX];
};

static struct turn *turn_of(const struct evaluation_taking *taking)
{
    const struct evaluations *all = taking->all;
    return all->bots->server->shards->turns[taking - all->takings];
}

/* `id`: <digits>-<n>. */
static bool split(struct str id, struct str *ret_digits, uint64_t *ret_n)
{
    *ret_digits = str_cut(&id, '-');
    return ret_digits->n == EVALUATION_DIGITS && str_parse_u64(id, ret_n);
}

/* --- loading ---------------------------------------------------------------------------------- */

/* As lua/bots/evaluation_load.lua writes it, after "ok". */
static bool read_run(struct evaluation *e, struct lines *lines)
{
    uint64_t at;
    for (int i = 0; i < 5; i++) /* id, status, namespace, account, user */
        lines_next(lines);
    e->bot = str_copy(lines_next(lines));
    lines_next(lines); /* username */
    bool is_good = measure_of(lines_next(lines), &e->measure);
    uint64_t turns = lines_next_u64(lines);
    at = lines_next_u64(lines);
    lines_next(lines); /* created */
    lines_next(lines); /* updated */
    record_read_summary(lines_next(lines), &e->summary);
    if (!is_good || at >= turns || !conversation_load(lines->rest, &e->talk))
        return false;
    e->at = (unsigned)at;
    return e->talk.turn_n == turns;
}

static void on_loaded(struct call *call, enum err error, struct str reply)
{
    struct evaluation *e = H2O_STRUCT_FROM_MEMBER(struct evaluation, call, call);
    struct lines lines = lines_of(reply);
    if (error != ERR_OK || !str_eq(lines_next(&lines), STR("ok"))) {
        evaluation_drop(e);
    } else if (!read_run(e, &lines)) {
        log_write(LOG_ERROR, "a stored evaluation cannot be read", LOG_S("evaluation", e->digits));
        evaluation_drop(e);
    } else {
        evaluation_go_on(e);
    }
}

void evaluation_load(struct evaluation *e)
{
    call_evaluation_load(shards_call(e->all->bots->server->shards, &e->call, on_loaded),
                         .evaluation = str_of(e->digits), .run = e->n, .fence = e->fence);
}

/* --- keeping ---------------------------------------------------------------------------------- */

static void on_renewed(struct call *call, enum err error, struct str reply)
{
    struct evaluations *all = H2O_STRUCT_FROM_MEMBER(struct renewal, call, call)->all;
    struct lines lines = lines_of(reply);
    struct str digits;
    uint64_t n;
    while (error == ERR_OK && lines_are_left(&lines) && split(lines_next(&lines), &digits, &n)) {
        struct evaluation *e = evaluations_find(all, digits, n);
        /* What is being stored learns it by the reply. */
        if (e != NULL && e->state != EVALUATION_STORING)
            evaluation_drop(e);
    }
}

static struct evaluation *next_on(struct evaluation *e, const struct turn *turn)
{
    while (e != NULL && e->turn != turn)
        e = e->next;
    return e;
}

static void put_driven(struct verb_writer *verb, const struct evaluation *e)
{
    char id[EVALUATION_DIGITS + 1 + STR_U64_MAX + 1];
    int n = snprintf(id, sizeof id, "%s-%llu", e->digits, (unsigned long long)e->n);
    put_evaluation_renew_driven(verb, .run_id = ((struct str){id, (size_t)n}), .fence = e->fence);
}

/* All that it holds there, in as many calls as that takes. */
static void renew(struct evaluation_taking *taking)
{
    struct turn *turn = turn_of(taking);
    struct evaluation *e = next_on(taking->all->first, turn);
    for (unsigned i = 0; i < RENEWALS_MAX && e != NULL; i++) {
        if (call_is_under_way(&taking->renewals[i].call))
            return;
        struct verb_writer verb =
            begin_evaluation_renew(turn_call(turn, &taking->renewals[i].call, on_renewed));
        for (unsigned n = 0; n < RENEW_MAX && e != NULL; n++) {
            put_driven(&verb, e);
            e = next_on(e->next, turn);
        }
        end_verb(&verb);
    }
}

/* --- taking ----------------------------------------------------------------------------------- */

static void on_taken(struct call *call, enum err error, struct str reply)
{
    struct evaluation_taking *taking =
        H2O_STRUCT_FROM_MEMBER(struct evaluation_taking, take_call, call);
    struct lines lines = lines_of(reply);
    struct evaluation_start start = {.talk = NULL};
    while (error == ERR_OK && lines_are_left(&lines) &&
           split(lines_next(&lines), &start.digits, &start.n)) {
        start.fence = lines_next_u64(&lines);
        start.account = lines_next(&lines);
        start.user = lines_next(&lines);
        evaluations_start(taking->all, &start);
    }
}

void evaluation_take_from(struct evaluations *all, unsigned shard)
{
    struct evaluation_taking *taking = &all->takings[shard];
    if (all->bots->server->is_draining || call_is_under_way(&taking->take_call) ||
        !turn_is_up(turn_of(taking)))
        return;
    call_evaluation_take(turn_call(turn_of(taking), &taking->take_call, on_taken),
                         .limit = TAKE_MAX);
}

static void on_looked(struct call *call, enum err error, struct str reply)
{
    struct evaluation_taking *taking =
        H2O_STRUCT_FROM_MEMBER(struct evaluation_taking, look_call, call);
    if (error == ERR_OK && (str_eq(reply, STR("evaluations")) || str_eq(reply, STR("both"))))
        evaluation_take_from(taking->all, (unsigned)(taking - taking->all->takings));
}

static void look(struct evaluation_taking *taking)
{
    if (taking->all->bots->server->is_draining || call_is_under_way(&taking->look_call) ||
        !turn_is_up(turn_of(taking)))
        return;
    taking->looked_ms = clock_mono_ms();
    call_bots_look(turn_call(turn_of(taking), &taking->look_call, on_looked));
}

void evaluation_before_flush(struct bots *bots)
{
    struct evaluations *all = bots->evaluations;
    for (unsigned i = 0; i < bots->server->shards->n; i++)
        if (clock_mono_ms() >= all->takings[i].looked_ms + LOOK_MS &&
            turn_is_collecting(bots->server->shards->turns[i]))
            look(&all->takings[i]);
}

static void on_tick(struct deadline *deadline)
{
    struct evaluations *all = H2O_STRUCT_FROM_MEMBER(struct evaluations, tick, deadline);
    for (unsigned i = 0; i < all->bots->server->shards->n; i++) {
        renew(&all->takings[i]);
        if (clock_mono_ms() >= all->takings[i].looked_ms + LOOK_AGAIN_MS)
            look(&all->takings[i]);
    }
    loop_set_deadline(all->bots->server->loop, &all->tick, TICK_MS);
}

void evaluation_takeover_init(struct evaluations *all)
{
    unsigned n = all->bots->settings->map->n;
    all->takings = calloc(n, sizeof *all->takings);
    if (all->takings == NULL)
        abort();
    for (unsigned i = 0; i < n; i++) {
        all->takings[i].all = all;
        for (unsigned k = 0; k < RENEWALS_MAX; k++)
            all->takings[i].renewals[k].all = all;
    }
    all->tick.on_expire = on_tick;
    loop_set_deadline(all->bots->server->loop, &all->tick, TICK_MS);
}

void evaluation_takeover_fini(struct evaluations *all)
{
    loop_cancel_deadline(all->bots->server->loop, &all->tick);
    for (unsigned i = 0; i < all->bots->settings->map->n; i++) {
        call_detach(&all->takings[i].look_call);
        call_detach(&all->takings[i].take_call);
        for (unsigned k = 0; k < RENEWALS_MAX; k++)
            call_detach(&all->takings[i].renewals[k].call);
    }
    free(all->takings);
}
