/* SPDX-License-Identifier: MIT
 * rest.c - see rest.h. */
#include "services/engine/link/rest.h"

#include "shared/base/clock.h"
#include "shared/base/sm.h"
#include "shared/text/text.h"

#include <stdio.h>
#include <stdlib.h>

/* A rest that nobody asked for: from a half to the whole of a bound that doubles. */
enum { FIRST_MS = 1000, LONGEST_MS = 30000, DOUBLINGS_MAX = 5, JITTER_MS = 500 };

static const struct sm_state states[] = {
    [REST_GOOD] = {"GOOD", SM(REST_RESTING)},
    [REST_RESTING] = {"RESTING", SM(REST_RESTING) | SM(REST_CHECKING) | SM(REST_GOOD)},
    [REST_CHECKING] = {"CHECKING", SM(REST_RESTING) | SM(REST_PROBING) | SM(REST_GOOD)},
    [REST_PROBING] = {"PROBING", SM(REST_RESTING) | SM(REST_GOOD)},
};
static const struct sm sm = SM_OF("rest", states);

/* There is one per process: its number says nothing. */
static void move(struct rest *rest, enum rest_state to)
{
    rest->state = sm_move(&sm, 0, rest->state, to);
}

static uint64_t pause_ms(const struct rest *rest, uint64_t retry_after_s)
{
    if (retry_after_s > 0) {
        uint64_t told_s = retry_after_s < REST_MAX_S ? retry_after_s : REST_MAX_S;
        return told_s * 1000 + arc4random_uniform(JITTER_MS + 1);
    }
    unsigned doublings = rest->failures < DOUBLINGS_MAX ? rest->failures : DOUBLINGS_MAX;
    uint64_t bound_ms = (uint64_t)FIRST_MS << doublings;
    if (bound_ms > LONGEST_MS)
        bound_ms = LONGEST_MS;
    return bound_ms / 2 + arc4random_uniform((uint32_t)bound_ms / 2 + 1);
}

static void sleep_until(struct rest *rest, uint64_t after_ms)
{
    move(rest, REST_RESTING);
    rest->probe = NULL;
    rest->until_ms = clock_mono_ms() + after_ms;
    timer_set(rest->config.timers, &rest->timer, after_ms);
}

static void set_reason(struct rest *rest, const char *reason)
{
    struct str text = str_of(reason);
    text.n = text_floor(text, text.n < REST_REASON_MAX_BYTES ? text.n : REST_REASON_MAX_BYTES);
    snprintf(rest->reason, sizeof rest->reason, "%.*s", STR_ARG(text));
}

void rest_begin(struct rest *rest, uint64_t retry_after_s, const char *reason)
{
    uint64_t after_ms = pause_ms(rest, retry_after_s);
    /* Slots that failed together are one failure; the longest rest that was asked for counts. */
    if (rest->state == REST_RESTING && clock_mono_ms() + after_ms <= rest->until_ms + JITTER_MS)
        return;
    if (rest->state == REST_RESTING && retry_after_s == 0)
        return;
    backend_end_check(rest->config.backend, rest->check);
    rest->check = NULL;
    if (rest->state != REST_RESTING)
        rest->failures++;
    set_reason(rest, reason);
    sleep_until(rest, after_ms);
    log_write(LOG_WARN, "the model server busy or unreachable: this engine is resting",
              LOG_U("ms", after_ms), LOG_S("reason", rest->reason));
    rest->config.on_begin(rest->config.context);
}

static void start_probing(struct rest *rest)
{
    move(rest, REST_PROBING);
    rest->probe = NULL;
    rest->config.on_change(rest->config.context);
}

static void on_checked(void *context, const struct backend_checked *checked)
{
    struct rest *rest = context;
    rest->check = NULL;
    if (checked->health == BACKEND_GOOD || checked->health == BACKEND_BUSY) {
        start_probing(rest);
        return;
    }
    rest->failures++;
    set_reason(rest, checked->reason);
    sleep_until(rest, pause_ms(rest, checked->retry_after_s));
    rest->config.on_change(
        rest->config.context); /* they report to their nodes how long it takes now */
}

static void on_timer(void *context)
{
    struct rest *rest = context;
    move(rest, REST_CHECKING);
    rest->check = backend_start_check(rest->config.backend, on_checked, rest);
    if (rest->check == NULL)
        start_probing(rest);
}

void rest_end(struct rest *rest)
{
    if (rest->state == REST_GOOD)
        return;
    log_write(LOG_INFO, "model server available again");
    timer_stop(&rest->timer);
    backend_end_check(rest->config.backend, rest->check);
    rest->check = NULL;
    move(rest, REST_GOOD);
    rest->failures = 0;
    rest->probe = NULL;
    rest->config.on_change(rest->config.context);
}

uint64_t rest_left_ms(const struct rest *rest)
{
    uint64_t now_ms = clock_mono_ms();
    if (rest->state == REST_CHECKING)
        return JITTER_MS;
    return rest->state == REST_RESTING && rest->until_ms > now_ms ? rest->until_ms - now_ms : 0;
}

bool rest_may_poll(struct rest *rest, const void *slot)
{
    if (rest->state == REST_GOOD)
        return true;
    if (rest->state != REST_PROBING)
        return false;
    if (rest->probe == NULL)
        rest->probe = slot;
    return rest->probe == slot;
}

void rest_init(struct rest *rest, const struct rest_config *config)
{
    *rest = (struct rest){.config = *config, .timer = {.fire = on_timer, .context = rest}};
}

void rest_fini(struct rest *rest)
{
    timer_stop(&rest->timer);
    if (rest->config.backend != NULL)
        backend_end_check(rest->config.backend, rest->check);
    rest->check = NULL;
}
