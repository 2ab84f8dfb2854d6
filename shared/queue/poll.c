/* SPDX-License-Identifier: MIT
 * poll.c - engines' polls: claiming, parking, and taking hand-overs (queue.h,
 * lua/include/idle.lua).
 *
 * A hand-over from another node travels by the bus, a poll's own "parked" by the reply to its
 * turn: they may come in either order. A hand-over that finds nobody while polls of its class
 * are claiming is kept until these know their fate. */
#include "shared/queue/queue_internal.h"

#include <stdlib.h>

/* The verb under way for a poll; outlives it when its client leaves. */
struct poll_call {
    struct turn_call call;
    struct queue *queue;
    struct poll_class *class;
    struct poll *poll;                 /* NULL once it was cancelled */
    struct poll_call *previous, *next; /* of all under way */
    bool may_park;
    bool is_superseded; /* a newer poll of its engine came first: it is not to be parked */
};

static void link_call(struct queue *queue, struct poll_call *call)
{
    call->next = queue->calls;
    if (call->next != NULL)
        call->next->previous = call;
    queue->calls = call;
    call->class->claiming_n++;
}

static void unlink_call(struct queue *queue, struct poll_call *call)
{
    *(call->previous == NULL ? &queue->calls : &call->previous->next) = call->next;
    if (call->next != NULL)
        call->next->previous = call->previous;
    call->class->claiming_n--;
}

/* --- classes ---------------------------------------------------------------------------------- */

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
    class->name = str_copy((struct str){name, n});
    class->name_n = n;
    class->account_n = account.n;
    class->is_drained = str_is_listed(queue->drained, account);
    class->next = *bucket;
    *bucket = class;
    return class;
}

static struct str class_name(const struct poll_class *class)
{
    return (struct str){class->name, class->name_n};
}

/* --- parking ---------------------------------------------------------------------------------- */

static void park(struct queue *queue, struct poll *poll)
{
    struct poll_class *class = poll->class;
    poll->state = POLL_PARKED;
    poll->next = NULL;
    poll->previous = class->last;
    *(class->last == NULL ? &class->first : &class->last->next) = poll;
    class->last = poll;
    class->parked_n++;
    metrics_add(queue->metrics, METRIC_POLLS_PARKED, 1);
}

static void unlink_parked(struct queue *queue, struct poll *poll)
{
    struct poll_class *class = poll->class;
    *(poll->previous == NULL ? &class->first : &poll->previous->next) = poll->next;
    *(poll->next == NULL ? &class->last : &poll->next->previous) = poll->previous;
    class->parked_n--;
    poll->state = POLL_IDLE;
    metrics_add(queue->metrics, METRIC_POLLS_PARKED, -1);
}

static void take_credit_back(struct queue *queue, struct poll_class *class)
{
    if (class->is_drained || !turn_is_up(queue->turn))
        return;
    turn_begin_forget(queue->turn, LANE_FIRST, STR("unpark"));
    turn_put(queue->turn, class_name(class));
    turn_end(queue->turn);
}

/* --- claims ----------------------------------------------------------------------------------- */

static void deliver(struct poll *poll, struct claim *claim)
{
    poll->state = POLL_IDLE;
    poll->on_claim(poll, claim);
}

/* Gives a claim to the oldest live poll of the class; false when there is none. */
static bool give_to_parked(struct queue *queue, struct poll_class *class, struct claim *claim)
{
    while (class->first != NULL) {
        struct poll *poll = class->first;
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
    if (class != NULL && class->claiming_n > 0)
        keep_early(class, claim_text);
    else
        queue_give_back(queue, claim.topic, claim.lease);
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
    struct lines lines = lines_of(claim_text);
    take_claim(queue, find_class(queue, lines_next(&lines)), claim_text);
}

static void on_claim_reply(struct turn_call *call, enum err error, struct str reply)
{
    struct poll_call *claiming = H2O_STRUCT_FROM_MEMBER(struct poll_call, call, call);
    struct queue *queue = claiming->queue;
    struct poll_class *class = claiming->class;
    struct poll *poll = claiming->poll;
    bool may_park = claiming->may_park, is_superseded = claiming->is_superseded;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    unlink_call(queue, claiming);
    free(claiming);
    if (poll != NULL) {
        poll->call = NULL;
        poll->state = POLL_IDLE;
    }
    if (error == ERR_OK && str_eq(tag, STR("claim"))) {
        struct str text = lines.rest;
        struct claim claim = lines_next_claim(&lines);
        if (poll != NULL && poll->is_alive(poll)) {
            deliver(poll, &claim);
        } else {
            if (poll != NULL)
                poll->on_end(poll, ERR_NOT_FOUND);
            take_claim(queue, class, text);
        }
    } else if (error == ERR_OK && str_eq(tag, STR("replay"))) {
        if (poll != NULL)
            poll->on_end(poll, ERR_NONCE_USED);
    } else if (error == ERR_OK && may_park) { /* parked, or "ok" of a drained account's nonce */
        if (poll != NULL && !is_superseded) {
            park(queue, poll);
        } else {
            take_credit_back(queue, class);
            if (poll != NULL)
                poll->on_end(poll, ERR_OK);
        }
    } else if (poll != NULL) {
        poll->on_end(poll, error);
    }
    if (class->early_n > 0)
        retry_early(queue, class);
}

/* An engine that names itself has one poll: the newer one ends the older, here or on another node
 * (polls_on_supersede, by an event of the script). One that does not wait (0) only says that its
 * engine is back, if it had left or rested. */
static void supersede(struct queue *queue, struct poll *newer, struct str account, bool may_park)
{
    turn_begin_forget(queue->turn, LANE_FIRST, STR("supersede"));
    turn_put(queue->turn, account);
    turn_put(queue->turn, newer->engine);
    turn_put_u64(queue->turn, may_park ? newer->number : 0);
    turn_end(queue->turn);
}

void polls_on_supersede(struct queue *queue, struct lines *rest)
{
    struct str account = lines_next(rest), engine = lines_next(rest);
    uint64_t number = lines_next_u64(rest);
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next) {
            if (!str_eq(account, (struct str){class->name, class->account_n}))
                continue;
            for (struct poll *poll = class->first; poll != NULL; poll = poll->next)
                if (poll->number == number && str_eq(poll->engine, engine)) {
                    unlink_parked(queue, poll);
                    take_credit_back(queue, class);
                    poll->on_end(poll, ERR_OK);
                    return;
                }
        }
    /* The event travels by the bus and may overtake the reply that parks the older poll. */
    for (struct poll_call *call = queue->calls; call != NULL; call = call->next)
        if (call->poll != NULL && call->poll->number == number &&
            str_eq(call->poll->engine, engine))
            call->is_superseded = true;
}

void queue_poll_start(struct queue *queue, struct poll *poll, struct str account, struct str models,
                      const struct nonce_id *nonce, bool may_park, struct str info)
{
    struct poll_call *claiming = calloc(1, sizeof *claiming);
    if (claiming == NULL)
        abort();
    poll->class = get_class(queue, account, models);
    poll->number = ++queue->poll_n;
    poll->state = POLL_CLAIMING;
    poll->call = claiming;
    engines_note(queue, account, poll->engine, info);
    if (poll->engine.n > 0)
        supersede(queue, poll, account, may_park);
    *claiming = (struct poll_call){.call.on_reply = on_claim_reply,
                                   .queue = queue,
                                   .class = poll->class,
                                   .poll = poll,
                                   .may_park = may_park};
    link_call(queue, claiming);
    if (poll->class->is_drained) { /* it only uses its nonce up, and is then held */
        turn_begin(queue->turn, &claiming->call, LANE_CLAIM, STR("nonce"), nonce);
    } else {
        turn_begin(queue->turn, &claiming->call, LANE_CLAIM, STR("claim"), nonce);
        turn_put(queue->turn, class_name(poll->class));
        turn_put(queue->turn, may_park ? STR("1") : STR("0"));
    }
    turn_end(queue->turn);
}

void queue_poll_cancel(struct queue *queue, struct poll *poll)
{
    if (poll->state == POLL_PARKED) {
        unlink_parked(queue, poll);
        take_credit_back(queue, poll->class);
    } else if (poll->state == POLL_CLAIMING) {
        poll->call->poll = NULL;
        poll->call = NULL;
    }
    poll->state = POLL_IDLE;
}

void queue_each_parked(struct queue *queue, void (*end)(struct poll *poll))
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            while (class->first != NULL)
                end(class->first);
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
                for (unsigned n = class->parked_n; n > 0; n--)
                    take_credit_back(queue, class);
            is_freed |= class->is_drained && !is_drained;
            class->is_drained = is_drained;
        }
    if (is_freed)
        queue_sync_soon(queue, 0); /* states the credits again */
}

void polls_fini(struct queue *queue)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        while (queue->classes[i] != NULL) {
            struct poll_class *class = queue->classes[i];
            queue->classes[i] = class->next;
            for (unsigned k = 0; k < class->early_n; k++)
                buf_fini(&class->early[k]);
            free(class->early);
            free(class->name);
            free(class);
        }
    free((char *)queue->drained.at);
}
