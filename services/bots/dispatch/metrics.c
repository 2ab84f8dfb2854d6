/* SPDX-License-Identifier: MIT
 * metrics.c - counts for dispatch, for all nodes of the process (delivery.h). */
#include "services/bots/dispatch/delivery.h"
#include "services/bots/dispatch/dispatcher.h"

#include <stdatomic.h>

static _Atomic uint64_t outcomes[OUTCOME_NR], attempts;
static _Atomic int64_t held, calls;

void dispatch_count_outcome(enum delivery_outcome outcome)
{
    atomic_fetch_add(&outcomes[outcome], 1);
}

void dispatch_count_attempt(void)
{
    atomic_fetch_add(&attempts, 1);
}

void dispatch_count_held(int delta)
{
    atomic_fetch_add(&held, delta);
}

void dispatch_count_calls(int delta)
{
    atomic_fetch_add(&calls, delta);
}

void dispatcher_put_metrics(struct buf *b)
{
    static const char *const names[OUTCOME_NR] = {[OUTCOME_REPLIED] = "replied",
                                                  [OUTCOME_SILENT] = "silent",
                                                  [OUTCOME_ACCEPTED] = "accepted",
                                                  [OUTCOME_FAILED] = "failed",
                                                  [OUTCOME_LOST] = "lost"};
    buf_lit(b, "# HELP parley_bot_deliveries_total Deliveries to bots that this process ended, by "
               "outcome; lost: another node carries on\n"
               "# TYPE parley_bot_deliveries_total counter\n");
    for (unsigned i = 0; i < OUTCOME_NR; i++)
        buf_printf(b, "parley_bot_deliveries_total{outcome=\"%s\"} %llu\n", names[i],
                   (unsigned long long)atomic_load(&outcomes[i]));
    buf_printf(b,
               "# HELP parley_bot_calls_total Attempts to call a bot\n"
               "# TYPE parley_bot_calls_total counter\n"
               "parley_bot_calls_total %llu\n",
               (unsigned long long)atomic_load(&attempts));
    buf_printf(b,
               "# HELP parley_bot_calls_under_way Slots for calls of bots that are in use\n"
               "# TYPE parley_bot_calls_under_way gauge\n"
               "parley_bot_calls_under_way %lld\n",
               (long long)atomic_load(&calls));
    buf_printf(b,
               "# HELP parley_bot_deliveries_held Deliveries leased to this process\n"
               "# TYPE parley_bot_deliveries_held gauge\n"
               "parley_bot_deliveries_held %lld\n",
               (long long)atomic_load(&held));
}
