/* SPDX-License-Identifier: MIT
 * store.c - stores an evaluation (see evaluation.h): each turn with the sums over all of them,
 * under the fence, and how the run ends. */
#include "services/bots/evaluate/evaluation.h"

#include "generated/verbs.h"
#include "shared/queue/lines.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static atomic_ullong compared_n, failed_n; /* turns, of all nodes of the process */

static void on_stored(struct call *call, enum err error, struct str reply)
{
    struct evaluation *e = container_of(call, struct evaluation, call);
    struct str word = error == ERR_OK ? reply : STR("");
    struct lines lines = lines_of(word);
    word = lines_next(&lines);
    if (str_eq(word, STR("full")) && !e->is_over) {
        evaluation_fail(e, "Its turns take more room than a run may have.");
        return;
    }
    if (str_eq(word, STR("ok")) && !e->is_over) {
        e->at++;
        evaluation_begin_turn(e);
        evaluation_go_on(e);
        return;
    }
    evaluation_drop(e);
}

static void store(struct evaluation *e, struct str result, enum verb_evaluation_turn_status status)
{
    struct buf summary;
    evaluation_move(e, EVALUATION_STORING);
    e->is_over = status != EVALUATION_TURN_RUNNING;
    buf_init(&summary, EVALUATION_SUMMARY_BYTES);
    record_put_summary(&summary, &e->summary);
    call_evaluation_turn(shards_call(e->all->bots->server->shards, &e->call, on_stored),
                         .evaluation = e->digits, .run = e->n, .fence = e->lease.fence, .at = e->at,
                         .result = result, .status = status, .summary = buf_str(&summary));
    buf_fini(&summary);
}

void evaluation_finish_turn(struct evaluation *e)
{
    bool has_failed = e->error[0] != 0, is_last = e->at + 1 == e->talk.turn_n;
    struct buf b;
    if (has_failed) {
        e->summary.failed++;
        e->summary.failed_in_row++;
    } else {
        statistics_add(&e->summary.distances, e->distance);
        e->summary.failed_in_row = 0;
    }
    atomic_fetch_add(has_failed ? &failed_n : &compared_n, 1);
    buf_init(&b, EVALUATION_TURN_BYTES);
    record_put_turn(&b, e);
    store(e, buf_str(&b), is_last ? EVALUATION_TURN_DONE : EVALUATION_TURN_RUNNING);
    buf_fini(&b);
}

void evaluation_fail(struct evaluation *e, const char *reason)
{
    snprintf(e->summary.reason, sizeof e->summary.reason, "%s", reason);
    store(e, STR(""), EVALUATION_TURN_FAILED);
}

void evaluation_put_metrics(struct buf *b)
{
    buf_printf(b,
               "# HELP parley_evaluation_turns_total Turns of evaluations that were stored\n"
               "# TYPE parley_evaluation_turns_total counter\n"
               "parley_evaluation_turns_total{outcome=\"compared\"} %llu\n"
               "parley_evaluation_turns_total{outcome=\"failed\"} %llu\n",
               atomic_load(&compared_n), atomic_load(&failed_n));
}
