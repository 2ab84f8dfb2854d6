/* SPDX-License-Identifier: MIT
 * poll.c - engines' polls: claiming, parking, and taking hand-overs (queue.h,
 * lua/queue/idle.lua).
 *
 * A hand-over from another node travels by the bus, a poll's own "parked" by the reply to its
 * turn: they may come in either order. A hand-over that finds nobody while polls of its class
 * are claiming is kept until these know their fate. */
#include "shared/queue/queue_internal.h"

#include "generated/verbs.h"
#include "shared/base/sm.h"

#include <stdlib.h>

static const struct sm_state states[] = {
    [POLL_IDLE] = {"IDLE", SM(POLL_CLAIMING)},
    [POLL_CLAIMING] = {"CLAIMING", SM(POLL_PARKED) | SM(POLL_IDLE)},
    [POLL_PARKED] = {"PARKED", SM(POLL_IDLE)},
};
static const struct sm sm = SM_OF("poll", states);

static void move(struct poll *poll, enum poll_state to)
{
    poll->state = sm_move(&sm, poll->number, poll->state, to);
}

static void put_last(struct poll_list *list, struct poll *poll)
{
    poll->next = NULL;
    poll->previous = list->last;
    *(list->last == NULL ? &list->first : &list->last->next) = poll;
    list->last = poll;
    list->n++;
}

static void take_off(struct poll_list *list, struct poll *poll)
{
    *(poll->previous == NULL ? &list->first : &poll->previous->next) = poll->next;
    *(poll->next == NULL ? &list->last : &poll->next->previous) = poll->previous;
    list->n--;
}

/* --- classes ---------------------------------------------------------------------------------- */

static struct str class_name(const struct poll_class *class)
{
    return (struct str){class->name, class->name_n};
}

static struct poll_class *find_class(struct queue *queue, struct str name)
{
    struct poll_class *class = queue->classes[queue_hash(name, 0) % CLASS_BUCKET_N];
    while (class != NULL && !str_eq(name, (struct str){class->name, class->name_n}))
        class = class->next;
    return class;
}

/* Writes `first`, `between` and `second`; 0 when they do not fit. */
static size_t join(char *at, size_t size, struct str first, char between, struct str second)
{
    if (first.n + 1 + second.n > size)
        return 0;
    memcpy(at, first.at, first.n);
    at[first.n] = between;
    memcpy(at + first.n + 1, second.at, second.n);
    return first.n + 1 + second.n;
}

static struct poll_class *get_class(struct queue *queue, struct str account, struct str models)
{
    char name[1024];
    size_t n = join(name, sizeof name, account, '|', models);
    if (n == 0)
        abort(); /* the caller holds names and model lists to their limits */
    struct poll_class *class = find_class(queue, (struct str){name, n});
    if (class != NULL)
        return class;
    class = calloc(1, sizeof *class);
    struct poll_class **bucket =
        &queue->classes[queue_hash((struct str){name, n}, 0) % CLASS_BUCKET_N];
    if (class == NULL)
        abort();
    class->queue = queue;
    class->name = str_copy((struct str){name, n});
    class->name_n = n;
    class->account_n = account.n;
    class->work = lines_work_of(class_name(class));
    class->is_drained = str_is_listed(queue->drained, account);
    class->next = *bucket;
    *bucket = class;
    return class;
}

/* --- parking ---------------------------------------------------------------------------------- */

static void park(struct queue *queue, struct poll *poll)
{
    move(poll, POLL_PARKED);
    put_last(&poll->class->parked, poll);
    metrics_add(queue->metrics, METRIC_POLLS_PARKED, 1);
}

static void unlink_parked(struct queue *queue, struct poll *poll)
{
    move(poll, POLL_IDLE);
    take_off(&poll->class->parked, poll);
    metrics_add(queue->metrics, METRIC_POLLS_PARKED, -1);
}

static void take_credit_back(struct queue *queue, struct poll_class *class)
{
    if (class->is_drained || !turn_is_up(queue->turn))
        return;
    call_unpark(turn_forget(queue->turn), .class = class_name(class));
}

/* --- claims ----------------------------------------------------------------------------------- */

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

static void deliver(struct poll *poll, struct claim *claim)
{
    log_claim("a claim goes to its engine", poll, claim);
    poll->on_claim(poll, claim);
}

/* Gives a claim to the oldest live poll of the class; false when there is none. */
static bool give_to_parked(struct queue *queue, struct poll_class *class, struct claim *claim)
{
    while (class->parked.first != NULL) {
        struct poll *poll = class->parked.first;
        unlink_parked(queue, poll);
        if (poll->is_alive(poll)) {
            deliver(poll, claim);
            return true;
        }
        /* This one's own credit is still out: the hand-over used up another poll's. */
        take_credit_back(queue, class);
        poll->on_end(poll, ERR_NOT_FOUND);
    }
    return false;
}

static void keep_early(struct poll_class *class, struct str claim_text)
{
    class->early = realloc(class->early, (class->early_n + 1) * sizeof *class->early);
    if (class->early == NULL)
        abort();
    struct buf *copy = &class->early[class->early_n++];
    buf_init(copy, claim_text.n + 1);
    buf_put(copy, claim_text);
}

static void take_claim(struct queue *queue, struct poll_class *class, struct str claim_text)
{
    struct lines lines = lines_of(claim_text);
    struct claim claim = lines_next_claim(&lines);
    if (class != NULL && give_to_parked(queue, class, &claim))
        return;
    if (class != NULL && class->claiming.n + class->left_n > 0)
        keep_early(class, claim_text);
    else
        queue_give_back(queue, claim.work, claim.topic, claim.lease);
}

/* One claiming poll of the class knows its fate: hand-overs that came too early are tried again. */
static void retry_early(struct queue *queue, struct poll_class *class)
{
    unsigned n = class->early_n;
    struct buf *early = class->early;
    class->early = NULL;
    class->early_n = 0;
    for (unsigned i = 0; i < n; i++) {
        take_claim(queue, class, buf_str(&early[i]));
        buf_fini(&early[i]);
    }
    free(early);
}

void polls_on_claim_event(struct queue *queue, struct str claim_text)
{
    struct lines lines = lines_of(claim_text), again = lines;
    if (log_is_on(LOG_DEBUG)) {
        struct claim claim = lines_next_claim(&again);
        log_claim("a claim was handed over to this node", NULL, &claim);
    }
    take_claim(queue, find_class(queue, lines_next(&lines)), claim_text);
}

/* A lease of a lookup ends in that time, if `ms` says one: the poll that was parked waits for it.
 * Of queries the node knows by its syncs. */
static void follow_lookup_leases(struct queue *queue, struct str ms)
{
    uint64_t next_ms;
    if (str_parse_u64(ms, &next_ms))
        queue_look_after(queue, next_ms);
}

static void on_claim_reply(struct call *call, enum err error, struct str reply)
{
    struct poll *poll = H2O_STRUCT_FROM_MEMBER(struct poll, call, call);
    struct poll_class *class = poll->class;
    struct queue *queue = class->queue;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    bool is_claim = error == ERR_OK && str_eq(tag, STR("claim"));
    bool is_replay = error == ERR_OK && str_eq(tag, STR("replay"));
    take_off(&class->claiming, poll);
    if (error == ERR_OK && !is_replay && class->work == WORK_QUERIES)
        engines_note(queue, poll);
    if (error == ERR_OK && str_eq(tag, STR("parked")))
        follow_lookup_leases(queue, lines_next(&lines));
    if (error == ERR_OK && !is_claim && !is_replay && poll->may_park && !poll->is_superseded)
        park(queue, poll); /* parked, or "ok" of a drained account's nonce */
    else
        move(poll, POLL_IDLE);
    if (is_claim) {
        struct str text = lines.rest;
        struct claim claim = lines_next_claim(&lines);
        if (poll->is_alive(poll)) {
            deliver(poll, &claim);
        } else {
            poll->on_end(poll, ERR_NOT_FOUND);
            take_claim(queue, class, text);
        }
    } else if (is_replay) {
        poll->on_end(poll, ERR_NONCE_USED);
    } else if (poll->state == POLL_IDLE) {
        if (str_eq(tag, STR("parked")))
            take_credit_back(queue, class);
        poll->on_end(poll, error);
    }
    if (class->early_n > 0)
        retry_early(queue, class);
}

/* Its poll was cancelled: what it took or was granted is the class's. */
static void on_orphan_reply(void *context, enum err error, struct str reply)
{
    struct poll_class *class = context;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    class->left_n--;
    if (str_eq(tag, STR("claim")))
        take_claim(class->queue, class, lines.rest);
    else if (str_eq(tag, STR("parked")))
        take_credit_back(class->queue, class);
    if (class->early_n > 0)
        retry_early(class->queue, class);
}

static struct poll *find_poll(const struct poll_list *list, uint64_t number, struct str engine)
{
    struct poll *poll = list->first;
    while (poll != NULL && (poll->number != number || !str_eq(poll->engine, engine)))
        poll = poll->next;
    return poll;
}

static void end_parked(struct poll *poll)
{
    struct poll_class *class = poll->class;
    unlink_parked(class->queue, poll);
    take_credit_back(class->queue, class);
    poll->on_end(poll, ERR_OK);
}

/* True when that poll was one of the class's. */
static bool supersede_in(struct poll_class *class, uint64_t number, struct str engine)
{
    struct poll *poll = find_poll(&class->parked, number, engine);
    if (poll != NULL) {
        end_parked(poll);
        return true;
    }
    /* The event travels by the bus and may overtake the reply that parks the older poll. */
    poll = find_poll(&class->claiming, number, engine);
    if (poll != NULL)
        poll->is_superseded = true;
    return poll != NULL;
}

void polls_on_supersede(struct queue *queue, struct lines *rest)
{
    struct str account = lines_next(rest), engine = lines_next(rest);
    uint64_t number = lines_next_u64(rest);
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            if (str_eq(account, (struct str){class->name, class->account_n}) &&
                supersede_in(class, number, engine))
                return;
}

void queue_poll_start(struct queue *queue, struct poll *poll, struct str account, struct str models,
                      struct nonce_id *nonce, bool may_park)
{
    poll->class = get_class(queue, account, models);
    poll->number = ++queue->poll_n;
    poll->since_ms = clock_mono_ms();
    move(poll, POLL_CLAIMING);
    poll->may_park = may_park;
    poll->is_superseded = false;
    put_last(&poll->class->claiming, poll);
    struct call_start start = turn_call(queue->turn, &poll->call, on_claim_reply);
    start.nonce = nonce;
    /* An engine that names itself has one poll: the newer one ends the older, here or on another
     * node (polls_on_supersede, by an event of the script). */
    uint64_t number = may_park ? poll->number : 0;
    if (!poll->class->is_drained && poll->class->work == WORK_LOOKUPS)
        call_claim_lookup(start, .class = class_name(poll->class), .is_parking = may_park);
    else if (!poll->class->is_drained)
        call_claim(start, .class = class_name(poll->class), .is_parking = may_park,
                   .engine = poll->engine.n > 0 ? poll->engine : STR(""), .poll = number);
    else if (poll->engine.n > 0)
        call_supersede(start, .account = account, .engine = poll->engine, .poll = number);
    else
        call_nonce(start); /* it only uses its nonce up, and is then held */
}

void queue_poll_cancel(struct queue *queue, struct poll *poll)
{
    if (poll->state == POLL_PARKED) {
        unlink_parked(queue, poll);
        take_credit_back(queue, poll->class);
    } else if (poll->state == POLL_CLAIMING) {
        move(poll, POLL_IDLE);
        take_off(&poll->class->claiming, poll);
        poll->class->left_n++;
        call_leave(&poll->call, on_orphan_reply, poll->class);
    }
}

void queue_end_parked(struct queue *queue)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            while (class->parked.first != NULL)
                end_parked(class->parked.first);
}

void polls_on_drained(struct queue *queue, struct str names)
{
    char *copy = str_copy(names);
    bool is_freed = false;
    free((char *)queue->drained.at);
    queue->drained = (struct str){copy, names.n};
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next) {
            bool is_drained =
                str_is_listed(queue->drained, (struct str){class->name, class->account_n});
            if (is_drained && !class->is_drained)
                for (unsigned n = class->parked.n; n > 0; n--)
                    take_credit_back(queue, class);
            is_freed |= class->is_drained && !is_drained;
            class->is_drained = is_drained;
        }
    if (is_freed)
        queue_sync_soon(queue, 0); /* states the credits again */
}

/* A claim, a credit that was taken back or a sync may have been lost with it, whether it ran or
 * not: the syncs that follow state every class once. */
void polls_on_lost(struct queue *queue)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            class->is_told = true;
}

/* Takes the class at `at` out of its list. */
static void free_class(struct poll_class **at)
{
    struct poll_class *class = *at;
    *at = class->next;
    for (unsigned i = 0; i < class->early_n; i++)
        buf_fini(&class->early[i]);
    free(class->early);
    free(class->name);
    free(class);
}

static bool is_unused(const struct poll_class *class)
{
    return class->parked.n == 0 && class->claiming.n == 0 && class->left_n == 0 &&
           class->early_n == 0 && !class->is_told;
}

void polls_forget_unused(struct queue *queue)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class **at = &queue->classes[i]; *at != NULL;)
            if (is_unused(*at))
                free_class(at);
            else
                at = &(*at)->next;
}

void polls_fini(struct queue *queue)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        while (queue->classes[i] != NULL)
            free_class(&queue->classes[i]);
    free((char *)queue->drained.at);
}
