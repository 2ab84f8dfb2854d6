/* SPDX-License-Identifier: MIT
 * poll.c - engines' polls: where they look for work, how they park and end (queue.h, poll.h,
 * lua/queue/idle.lua). */
#include "shared/queue/poll.h"

#include "generated/verbs.h"
#include "shared/queue/engines.h"
#include "shared/queue/poll_credits.h"
#include "shared/queue/poll_handover.h"
#include "shared/queue/poll_move.h"

/* So many credits of a class may a shard have more than another one. */
enum { UNEVEN_CREDITS = 4 };

/* A lease of a lookup ends in that time, if `ms` says one: the poll that was parked waits for it.
 * Of queries the node knows by its syncs. */
static void follow_lookup_leases(struct queue *queue, struct str ms)
{
    uint64_t next_ms;
    if (str_parse_u64(ms, &next_ms))
        part_cover_leases(&queue->parts[0], next_ms);
}

/* Is something Open there for one more poll of the class, as far as is known? What it was called to
 * may be for it alone. */
static bool may_be_open(const struct poll_class *class, unsigned shard)
{
    const struct queue_shard *part = &class->queue->parts[shard];
    return part->open_n > class->claims[shard] || part->is_called;
}

static void count_passed(struct poll_class *class, unsigned shard)
{
    for (unsigned i = 0; i < class->queue->shards.n; i++)
        class->passed[i] = i == shard || !may_be_open(class, i) ? 0 : class->passed[i] + 1;
}

/* The shard with something Open that polls have passed by most often, if that is once for each
 * shard: claims by nonce are random, and could leave a query there indefinitely. SHARDS_MAX: none.
 */
static unsigned overdue_shard(const struct poll_class *class)
{
    unsigned found = SHARDS_MAX, most = class->queue->shards.n;
    for (unsigned i = 0; i < class->queue->shards.n; i++) {
        bool fits = part_is_usable(&class->queue->parts[i]) && may_be_open(class, i);
        if (class->passed[i] < most || !fits)
            continue;
        found = i;
        most = class->passed[i] + 1;
    }
    return found;
}

/* The next shard that it has not looked at, in turn. is_open: of those where something is Open, as
 * far as is known. Shards that cannot be reached are left out. */
static bool next_shard(const struct poll *poll, bool is_open, unsigned *ret_shard)
{
    const struct queue *queue = poll->class->queue;
    unsigned n = queue->shards.n;
    for (unsigned i = 0; i < n; i++) {
        unsigned shard = (poll->first_shard + i) % n;
        bool fits =
            part_is_usable(&queue->parts[shard]) && (!is_open || may_be_open(poll->class, shard));
        if (fits && (poll->tried & shard_bit(shard)) == 0) {
            *ret_shard = shard;
            return true;
        }
    }
    return false;
}

/* Where a poll looks next before it parks: where something is Open. One that does not park looks
 * everywhere. */
static bool next_to_try(const struct poll *poll, unsigned *ret_shard)
{
    if (poll->class->work == WORK_LOOKUPS)
        return false;
    return next_shard(poll, true, ret_shard) ||
           (!poll->may_park && next_shard(poll, false, ret_shard));
}

static void on_claim_reply(struct call *call, enum err error, struct str reply);

static void claim_at(struct poll *poll, unsigned shard, bool is_parking, struct nonce_id *nonce)
{
    struct queue *queue = poll->class->queue;
    bool is_only = queue->shards.n == 1;
    struct call_start start = turn_call(queue->shards.turns[shard], &poll->call, on_claim_reply);
    start.nonce = nonce;
    poll->has_nonce = nonce != NULL && nonce->is_set;
    poll->shard = shard;
    poll->tried |= shard_bit(shard);
    queue->parts[shard].is_called = false;
    poll->is_claiming = true;
    if (!is_only && poll->class->work == WORK_QUERIES)
        count_passed(poll->class, shard);
    class_begin_claim(poll->class, shard);
    if (poll->class->work == WORK_LOOKUPS) {
        call_claim_lookup(start, .class = class_name(poll->class), .is_parking = is_parking);
        return;
    }
    call_claim(start, .class = class_name(poll->class), .is_parking = is_parking,
               .engine = is_only && poll->engine.n > 0 ? poll->engine : STR(""),
               .poll = poll->may_park ? poll->number : 0);
}

/* Has the class not many more credits there than elsewhere? */
static bool may_take_credit(const struct poll_class *class, unsigned shard, uint64_t but)
{
    unsigned least = credits_least_shard(class, but);
    return least != SHARDS_MAX &&
           credits_to_come(class, shard) <= credits_to_come(class, least) + UNEVEN_CREDITS;
}

/* May it park with this claim? It saves a call, where nothing is Open on a shard that it has not
 * looked at. */
static bool may_park_at(struct poll *poll, unsigned shard)
{
    unsigned other;
    if (!poll->may_park || !may_take_credit(poll->class, shard, poll->failed))
        return false;
    poll->tried |= shard_bit(shard);
    return !next_shard(poll, true, &other);
}

/* Finds, with several shards, the one of its nonce, if that is to be used up. */
static bool find_nonce_shard(const struct poll *poll, const struct nonce_id *nonce,
                             unsigned *ret_shard)
{
    if (nonce == NULL || !nonce->is_set)
        return false;
    *ret_shard = shards_of_nonce(&poll->class->queue->shards, nonce);
    return true;
}

/* Looks on: at the next shard, or parks where the class has least credits. False: it has looked
 * everywhere, or nowhere can it park. */
static bool claim_next(struct poll *poll, struct nonce_id *nonce)
{
    struct poll_class *class = poll->class;
    unsigned shard;
    if (class->queue->shards.n > 1 &&
        (find_nonce_shard(poll, nonce, &shard) || next_to_try(poll, &shard))) {
        bool is_parking = may_park_at(poll, shard);
        claim_at(poll, shard, is_parking, nonce);
        if (is_parking)
            move_state_hints(class, shard);
        return true;
    }
    if (!poll->may_park && poll->tried != 0)
        return false;
    shard = credits_least_shard(class, poll->failed);
    if (shard == SHARDS_MAX && poll->tried != 0)
        return false;
    if (shard == SHARDS_MAX)
        shard = poll->first_shard; /* in vain: the poll ends with what is wrong there */
    claim_at(poll, shard, poll->may_park, nonce);
    if (class->queue->shards.n > 1 && poll->may_park && class->work == WORK_QUERIES)
        move_state_hints(class, shard);
    return true;
}

static void end_claiming(struct poll *poll, enum err error, struct str tag, struct lines *lines)
{
    struct poll_class *class = poll->class;
    struct queue *queue = class->queue;
    bool is_claim = error == ERR_OK && str_eq(tag, STR("claim"));
    bool is_replay = error == ERR_OK && str_eq(tag, STR("replay"));
    polls_take_off(&class->claiming, poll);
    if (error == ERR_OK && !is_replay && class->work == WORK_QUERIES)
        engines_note(queue, poll, is_claim ? SEEN_WORKING : SEEN_WAITING);
    if (str_eq(tag, STR("parked"))) {
        credits_note(class, poll->shard);
        class_note_hint(class, poll->shard);
        follow_lookup_leases(queue, lines_next(lines));
    }
    if (error == ERR_OK && !is_claim && !is_replay && poll->may_park && !poll->is_superseded)
        polls_park(queue, poll); /* parked, or "ok" of a drained account's nonce */
    else
        polls_set_state(poll, POLL_IDLE);
    if (is_claim) {
        struct str text = lines->rest;
        struct claim claim = lines_next_claim(lines);
        class->rotor = poll->shard + 1;
        if (poll->is_alive(poll)) {
            class_note_work(class, poll->shard, &claim);
            handover_deliver(poll, &claim);
        } else {
            poll->on_end(poll, ERR_NOT_FOUND);
            handover_take(queue, class, (struct origin){poll->shard, false}, text);
        }
    } else if (is_replay) {
        poll->on_end(poll, ERR_NONCE_USED);
    } else if (poll->state == POLL_IDLE) {
        credits_withdraw_surplus(class);
        poll->on_end(poll, error);
    }
    handover_retry(queue, class);
    moves_retry(queue);
}

static void go_on(struct poll *poll, enum err error, struct lines *lines)
{
    struct poll_class *class = poll->class;
    if (poll->is_claiming)
        class_end_claim(class, poll->shard);
    poll->is_claiming = false;
    struct str tag = lines_next(lines);
    bool is_empty = error == ERR_OK && str_eq(tag, STR("empty"));
    /* Of several shards one is away: the others may have work, but not for one whose nonce may not
     * be used up. What the lost call took or was granted is stated by the next sync there. */
    bool is_away = err_is_outage(error) && class->queue->shards.n > 1 &&
                   class->work == WORK_QUERIES && !poll->has_nonce;
    if (is_away)
        poll->failed |= shard_bit(poll->shard);
    bool goes_on =
        (is_empty || is_away) && !class->is_drained && !poll->is_superseded && poll->is_alive(poll);
    if (goes_on && claim_next(poll, NULL))
        return;
    if (is_away && (class->is_drained || (poll->tried & ~poll->failed) != 0)) {
        error = ERR_OK; /* it is held, or the others were looked at */
        tag = STR("empty");
    }
    end_claiming(poll, error, tag, lines);
}

static void on_claim_reply(struct call *call, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    go_on(container_of(call, struct poll, call), error, &lines);
}

static void on_joined_reply(struct call *call, enum err error, struct str reply)
{
    struct poll *poll = container_of(call, struct poll, call);
    struct lines lines = lines_of(reply);
    if (poll->on_joined(poll, error, &lines)) {
        go_on(poll, error, &lines);
        return;
    }
    polls_take_off(&poll->class->claiming, poll);
    polls_set_state(poll, POLL_IDLE);
    handover_retry(poll->class->queue, poll->class);
}

/* --- one poll for each engine that names itself ------------------------------------------------
 */

static struct poll *find_poll(const struct poll_list *list, uint64_t number, struct str engine)
{
    list_for_each (struct poll, poll, &list->list, link)
        if (poll->number == number && str_eq(poll->engine, engine))
            return poll;
    return NULL;
}

static void end_parked(struct poll *poll)
{
    struct poll_class *class = poll->class;
    polls_unlink_parked(class->queue, poll);
    credits_withdraw_surplus(class);
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
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;)
        if (str_eq(account, class_account(class)) && supersede_in(class, number, engine))
            return;
}

/* It only uses its nonce up, and is then held; one with a name ends the older poll of its engine.
 */
static void hold_drained(struct queue *queue, struct poll *poll, struct str account,
                         uint64_t number, struct nonce_id *nonce)
{
    struct call_start start = shards_call(&queue->shards, &poll->call, on_claim_reply);
    start.nonce = nonce;
    poll->shard = 0; /* of no meaning: neither a claim nor a credit comes of it anywhere */
    if (poll->engine.n > 0)
        call_supersede(start, .account = account, .engine = poll->engine, .poll = number);
    else
        call_nonce(start);
}

static void begin_claiming(struct poll *poll, bool may_park)
{
    struct poll_class *class = poll->class;
    unsigned shard_n = class->queue->shards.n;
    poll->number = ++class->queue->poll_n;
    poll->since_ms = clock_mono_ms();
    class_note_poll(class);
    polls_set_state(poll, POLL_CLAIMING);
    poll->may_park = may_park;
    poll->is_superseded = false;
    polls_put_last(&class->claiming, poll);
    poll->tried = poll->failed = 0;
    poll->is_claiming = false;
    unsigned overdue = shard_n > 1 ? overdue_shard(class) : SHARDS_MAX;
    poll->first_shard = overdue == SHARDS_MAX ? class->rotor++ % shard_n : overdue;
    if (poll->after.n > 0 && shard_n > 1)
        poll->first_shard = (shard_of(poll->after, shard_n) + 1) % shard_n;
}

bool queue_poll_join(struct queue *queue, struct poll *poll, struct str account, struct str models,
                     struct nonce_id *nonce, bool may_park, struct poll_join *ret_join)
{
    struct poll_class *class = class_get(queue, account, models);
    if (queue->shards.n > 1 || class->is_drained || !turn_is_prompt(queue->shards.turns[0]))
        return false; /* not prompt: the claim would wait with the answer, and end meanwhile */
    poll->class = class;
    begin_claiming(poll, may_park);
    poll->shard = 0;
    poll->tried = shard_bit(0);
    *ret_join =
        (struct poll_join){.start = turn_call(queue->shards.turns[0], &poll->call, on_joined_reply),
                           .class = class_name(class),
                           .engine = poll->engine.n > 0 ? poll->engine : STR(""),
                           .number = may_park ? poll->number : 0};
    ret_join->start.nonce = nonce;
    return true;
}

bool queue_poll_fits_nonce(struct queue *queue, struct str account, struct str models,
                           const struct nonce_id *nonce, bool may_park)
{
    const struct poll_class *class = class_get(queue, account, models);
    unsigned home = shards_of_nonce(&queue->shards, nonce);
    const struct queue_shard *parts = queue->parts;
    if (class->is_drained || !part_is_usable(&parts[home]) ||
        turn_trouble(parts[home].turn) != REDIS_FINE)
        return false;
    unsigned overdue = overdue_shard(class);
    if (overdue != SHARDS_MAX && overdue != home)
        return false;
    if (may_be_open(class, home))
        return true;
    for (unsigned i = 0; i < queue->shards.n; i++)
        if (part_is_usable(&parts[i]) && may_be_open(class, i))
            return false;
    return !may_park || may_take_credit(class, home, 0);
}

void queue_poll_start(struct queue *queue, struct poll *poll, struct str account, struct str models,
                      struct nonce_id *nonce, bool may_park)
{
    poll->class = class_get(queue, account, models);
    begin_claiming(poll, may_park);
    /* An engine that names itself has one poll: the newer one ends the older, here or on another
     * node (polls_on_supersede, by an event of the script). The only shard's `claim` does it; of
     * several shards the engine's home does. */
    bool is_named = poll->engine.n > 0;
    uint64_t number = may_park ? poll->number : 0;
    if (poll->class->is_drained) {
        hold_drained(queue, poll, account, number, nonce);
        return;
    }
    if (is_named && queue->shards.n > 1)
        call_supersede(shards_forget(&queue->shards), .account = account, .engine = poll->engine,
                       .poll = number);
    if (!claim_next(poll, nonce))
        abort(); /* it has looked nowhere yet */
}

void queue_poll_cancel(struct queue *queue, struct poll *poll)
{
    if (poll->state == POLL_PARKED) {
        polls_unlink_parked(queue, poll);
        credits_withdraw_surplus(poll->class);
    } else if (poll->state == POLL_CLAIMING) {
        polls_set_state(poll, POLL_IDLE);
        polls_take_off(&poll->class->claiming, poll);
        move_leave(poll->class, &poll->call, poll->shard, poll->is_claiming);
    }
}

void queue_end_parked(struct queue *queue)
{
    for (struct poll_class *class = NULL; (class = classes_next(queue, class)) != NULL;)
        while (class->parked.n > 0)
            end_parked(polls_first(&class->parked));
}
