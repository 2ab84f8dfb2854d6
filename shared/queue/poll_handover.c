/* SPDX-License-Identifier: MIT
 * poll_handover.c - see poll_handover.h.
 *
 * A hand-over from another node travels by the bus, a poll's own "parked" by the reply to its
 * turn: they may come in either order. A hand-over that finds nobody while polls of its class
 * are claiming is kept until these know their fate. */
#include "shared/queue/poll_handover.h"

#include "shared/base/log.h"
#include "shared/queue/deliver.h"
#include "shared/queue/engines.h"
#include "shared/queue/poll_credits.h"

struct early {
    struct origin origin;
    struct buf text;
};

/* Without a call where nobody reads it. */
static void log_claim(const char *message, const struct poll *poll, const struct claim *claim)
{
    if (log_is_on(LOG_DEBUG))
        log_write(
            LOG_DEBUG, message, LOG_STR("topic", claim->topic), LOG_STR("lease", claim->lease),
            LOG_U("queries", claim->n), LOG_U("attempt", claim->attempt),
            LOG_STR("class", claim->class_name),
            LOG_STR("engine", poll == NULL || poll->engine.at == NULL ? STR("") : poll->engine));
}

void handover_deliver(struct poll *poll, struct claim *claim)
{
    log_claim("sending a claim to its engine", poll, claim);
    poll->on_claim(poll, claim);
}

/* Gives a claim to the oldest live poll of the class; false when there is none. */
static bool give_to_parked(struct queue *queue, struct poll_class *class, struct claim *claim)
{
    struct poll *poll;
    while ((poll = polls_first(&class->parked)) != NULL) {
        polls_unlink_parked(queue, poll);
        credits_withdraw_surplus(class);
        if (poll->is_alive(poll)) {
            engines_note(queue, poll, SEEN_WORKING);
            handover_deliver(poll, claim);
            return true;
        }
        queue_note_left(queue, poll);
        poll->on_end(poll, ERR_NOT_FOUND);
    }
    return false;
}

/* Moves it into the class: a long text is not copied again. */
static void keep_early(struct poll_class *class, struct early early)
{
    class->early = mem_grow(class->early, class->early_n, sizeof *class->early);
    class->early[class->early_n++] = early;
}

static void use_credit(struct poll_class *class, struct origin *origin)
{
    if (origin->used_credit && credits_use(class, origin->shard))
        origin->used_credit = false;
}

/* Nobody takes a hand-over now, but a poll that is claiming may. */
static bool is_too_early(const struct poll_class *class)
{
    return class->parked.n == 0 && class->claiming.n + class->left_n > 0;
}

/* Gives a claim to a poll of the class, or back to the queue. False: it is too early for both. */
static bool give(struct queue *queue, struct poll_class *class, struct origin origin,
                 struct str claim_text)
{
    struct lines lines = lines_of(claim_text);
    struct claim claim = lines_next_claim(&lines);
    if (class != NULL && give_to_parked(queue, class, &claim)) {
        class_note_work(class, origin.shard, &claim);
        return true;
    }
    if (class != NULL && is_too_early(class))
        return false;
    queue_give_back(queue, claim.work, claim.topic, claim.lease, false);
    return true;
}

void handover_take(struct queue *queue, struct poll_class *class, struct origin origin,
                   struct str claim_text)
{
    if (class != NULL)
        use_credit(class, &origin);
    if (give(queue, class, origin, claim_text))
        return;
    struct early early = {.origin = origin};
    buf_init(&early.text, claim_text.n + 1);
    buf_put(&early.text, claim_text);
    keep_early(class, early);
}

/* One claiming poll of the class knows its fate: hand-overs that came too early are tried again.
 * While there is nobody to take them they are not looked at: there may be many, of many polls. */
void handover_retry(struct queue *queue, struct poll_class *class)
{
    unsigned n = class->early_n;
    struct early *early = class->early;
    for (unsigned i = 0; i < n; i++)
        use_credit(class, &early[i].origin);
    if (n == 0 || is_too_early(class))
        return;
    class->early = NULL;
    class->early_n = 0;
    for (unsigned i = 0; i < n; i++) {
        if (is_too_early(class) || !give(queue, class, early[i].origin, buf_str(&early[i].text)))
            keep_early(class, early[i]);
        else
            buf_fini(&early[i].text);
    }
    free(early);
}

void handover_on_event(struct queue *queue, struct origin origin, struct str claim_text)
{
    struct lines lines = lines_of(claim_text), again = lines;
    if (log_is_on(LOG_DEBUG)) {
        struct claim claim = lines_next_claim(&again);
        log_claim("claim handed over to this node", NULL, &claim);
    }
    handover_take(queue, class_find(queue, lines_next(&lines)), origin, claim_text);
}

void handover_each_early(const struct queue *queue,
                         void (*visit)(void *arg, const struct claim *claim), void *arg)
{
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;)
        for (unsigned i = 0; i < class->early_n; i++) {
            struct lines lines = lines_of(buf_str(&class->early[i].text));
            struct claim claim = lines_next_claim(&lines);
            visit(arg, &claim);
        }
}

void handover_fini(struct queue *queue)
{
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;) {
        for (unsigned i = 0; i < class->early_n; i++)
            buf_fini(&class->early[i].text);
        free(class->early);
    }
}
