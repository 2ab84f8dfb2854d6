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

#include <stdio.h>
#include <stdlib.h>

enum { TRIED_MAX_BYTES = 512 };

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
    class->credits = calloc(queue->shards.n, sizeof *class->credits);
    class->leases = calloc(queue->shards.n, sizeof *class->leases);
    if (class->credits == NULL || class->leases == NULL)
        abort();
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

static unsigned shard_with_most(const struct poll_class *class)
{
    unsigned most = 0;
    for (unsigned i = 1; i < class->queue->shards.n; i++)
        if (class->credits[i] > class->credits[most])
            most = i;
    return most;
}

/* Lookups are all on the cluster's shard. */
static unsigned shard_with_least(const struct poll_class *class)
{
    if (class->work == WORK_LOOKUPS)
        return 0;
    unsigned n = class->queue->shards.n, least = class->rotor % n;
    for (unsigned i = 1; i < n; i++)
        if (class->credits[(class->rotor + i) % n] < class->credits[least])
            least = (class->rotor + i) % n;
    return least;
}

static void take_credit_back(struct poll_class *class, unsigned shard)
{
    struct turn *turn = class->queue->shards.turns[shard];
    class->credits[shard]--;
    class->credit_n--;
    if (turn_is_up(turn)) /* else its sync states what there is */
        call_unpark(turn_forget(turn), .class = class_name(class));
}

/* After a poll has ended, or got a claim that used up no credit. */
static void settle_credits(struct poll_class *class)
{
    unsigned most = class->is_drained ? 0 : class->parked.n;
    while (class->credit_n > most)
        take_credit_back(class, shard_with_most(class));
}

static void note_credit(struct poll_class *class, unsigned shard)
{
    class->credits[shard]++;
    class->credit_n++;
    class->told |= shard_bit(shard);
}

/* False when the credit is not known yet: the reply that grants it is on its way. */
static bool use_credit(struct poll_class *class, unsigned shard)
{
    if (class->credits[shard] == 0)
        return false;
    class->credits[shard]--;
    class->credit_n--;
    return true;
}

void polls_grant_missing(struct poll_class *class)
{
    while (!class->is_drained && class->credit_n < class->parked.n)
        note_credit(class, shard_with_least(class));
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

/* Those that can be reached: what the others do not hear of now is stated with the next poll. */
static uint64_t shards_up(const struct queue *queue)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < queue->shards.n; i++)
        if (turn_is_up(queue->shards.turns[i]))
            bits |= shard_bit(i);
    return bits;
}

/* An engine of the class is at work, which that shard is to know (lua/queue/fallback.lua). */
static void note_work(struct poll_class *class, unsigned shard, const struct claim *claim)
{
    if (claim->work == WORK_QUERIES && str_parse_u64(claim->lease, &class->leases[shard]))
        class->polled |= shard_bit(shard);
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
        settle_credits(class);
        if (poll->is_alive(poll)) {
            deliver(poll, claim);
            return true;
        }
        poll->on_end(poll, ERR_NOT_FOUND);
    }
    return false;
}

static void keep_early(struct poll_class *class, struct origin origin, struct str claim_text)
{
    class->early = realloc(class->early, (class->early_n + 1) * sizeof *class->early);
    if (class->early == NULL)
        abort();
    struct early *early = &class->early[class->early_n++];
    early->origin = origin;
    buf_init(&early->text, claim_text.n + 1);
    buf_put(&early->text, claim_text);
}

static void take_claim(struct queue *queue, struct poll_class *class, struct origin origin,
                       struct str claim_text)
{
    struct lines lines = lines_of(claim_text);
    struct claim claim = lines_next_claim(&lines);
    if (class != NULL && origin.used_credit && use_credit(class, origin.shard))
        origin.used_credit = false;
    if (class != NULL && give_to_parked(queue, class, &claim)) {
        note_work(class, origin.shard, &claim);
        return;
    }
    if (class != NULL && class->claiming.n + class->left_n > 0)
        keep_early(class, origin, claim_text);
    else
        queue_give_back(queue, claim.work, claim.topic, claim.lease);
}

/* One claiming poll of the class knows its fate: hand-overs that came too early are tried again. */
static void retry_early(struct queue *queue, struct poll_class *class)
{
    unsigned n = class->early_n;
    struct early *early = class->early;
    class->early = NULL;
    class->early_n = 0;
    for (unsigned i = 0; i < n; i++) {
        take_claim(queue, class, early[i].origin, buf_str(&early[i].text));
        buf_fini(&early[i].text);
    }
    free(early);
}

void polls_on_claim_event(struct queue *queue, struct origin origin, struct str claim_text)
{
    struct lines lines = lines_of(claim_text), again = lines;
    if (log_is_on(LOG_DEBUG)) {
        struct claim claim = lines_next_claim(&again);
        log_claim("a claim was handed over to this node", NULL, &claim);
    }
    take_claim(queue, find_class(queue, lines_next(&lines)), origin, claim_text);
}

/* A lease of a lookup ends in that time, if `ms` says one: the poll that was parked waits for it.
 * Of queries the node knows by its syncs. */
static void follow_lookup_leases(struct queue *queue, struct str ms)
{
    uint64_t next_ms;
    if (str_parse_u64(ms, &next_ms))
        part_look_after(&queue->parts[0], next_ms);
}

/* What a class asks of a shard for itself, or for a poll that was cancelled meanwhile. */
struct move {
    struct call call;
    struct poll_class *class;
    unsigned shard;
    bool is_moving; /* for one of those that are parked */
};

static struct move *new_move(struct poll_class *class, unsigned shard)
{
    struct move *move = calloc(1, sizeof *move);
    if (move == NULL)
        abort();
    move->class = class;
    move->shard = shard;
    class->left_n++;
    return move;
}

static void end_move(struct move *move, enum err error, struct str reply)
{
    struct poll_class *class = move->class;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    class->left_n--;
    class->moving_n -= move->is_moving;
    if (error != ERR_OK)
        class->hinted &= ~shard_bit(move->shard);
    if (str_eq(tag, STR("claim")))
        take_claim(class->queue, class, (struct origin){move->shard, false}, lines.rest);
    else if (str_eq(tag, STR("parked")))
        note_credit(class, move->shard);
    settle_credits(class);
    if (class->early_n > 0)
        retry_early(class->queue, class);
    free(move);
}

static void on_move_reply(struct call *call, enum err error, struct str reply)
{
    end_move(H2O_STRUCT_FROM_MEMBER(struct move, call, call), error, reply);
}

/* Its poll was cancelled: what it took or was granted is the class's. */
static void on_orphan_reply(void *context, enum err error, struct str reply)
{
    end_move(context, error, reply);
}

/* The other shards call this node, from here on, to queries that the class may take. */
static void state_hints(struct poll_class *class, unsigned but)
{
    struct queue *queue = class->queue;
    for (unsigned i = 0; i < queue->shards.n; i++) {
        if (i == but || (class->hinted & shard_bit(i)) != 0 || !turn_is_up(queue->shards.turns[i]))
            continue;
        class->hinted |= shard_bit(i);
        struct move *move = new_move(class, i);
        call_hint(turn_call(queue->shards.turns[i], &move->call, on_move_reply),
                  .class = class_name(class));
    }
}

/* The next shard where a poll has to look before it parks: those where something is Open, as far as
 * is known. One that does not park looks at all. */
static bool next_look(const struct poll *poll, unsigned *ret_shard)
{
    const struct queue *queue = poll->class->queue;
    if (poll->class->work == WORK_LOOKUPS)
        return false;
    unsigned n = queue->shards.n;
    for (unsigned i = 0; i < n; i++) {
        unsigned shard = (poll->first_shard + i) % n;
        bool is_worth_it = !poll->may_park || queue->parts[shard].open_n > 0;
        if (is_worth_it && (poll->looked & shard_bit(shard)) == 0) {
            *ret_shard = shard;
            return true;
        }
    }
    return false;
}

static void on_claim_reply(struct call *call, enum err error, struct str reply);

static void claim_at(struct poll *poll, unsigned shard, bool is_parking, struct nonce_id *nonce)
{
    struct queue *queue = poll->class->queue;
    bool is_only = queue->shards.n == 1;
    struct call_start start = turn_call(queue->shards.turns[shard], &poll->call, on_claim_reply);
    start.nonce = nonce;
    poll->shard = shard;
    poll->looked |= shard_bit(shard);
    if (poll->class->work == WORK_LOOKUPS) {
        call_claim_lookup(start, .class = class_name(poll->class), .is_parking = is_parking);
        return;
    }
    call_claim(start, .class = class_name(poll->class), .is_parking = is_parking,
               .engine = is_only && poll->engine.n > 0 ? poll->engine : STR(""),
               .poll = poll->may_park ? poll->number : 0);
}

/* Looks on: at the next shard, or parks where the class has least credits. False: it has looked
 * everywhere. */
static bool claim_next(struct poll *poll, struct nonce_id *nonce)
{
    struct poll_class *class = poll->class;
    unsigned shard;
    if (class->queue->shards.n > 1 && next_look(poll, &shard)) {
        claim_at(poll, shard, false, nonce);
        return true;
    }
    if (!poll->may_park && poll->looked != 0)
        return false;
    shard = shard_with_least(class);
    claim_at(poll, shard, poll->may_park, nonce);
    if (class->queue->shards.n > 1 && poll->may_park && class->work == WORK_QUERIES)
        state_hints(class, shard);
    return true;
}

static void end_claiming(struct poll *poll, enum err error, struct str tag, struct lines *lines)
{
    struct poll_class *class = poll->class;
    struct queue *queue = class->queue;
    bool is_claim = error == ERR_OK && str_eq(tag, STR("claim"));
    bool is_replay = error == ERR_OK && str_eq(tag, STR("replay"));
    take_off(&class->claiming, poll);
    if (error == ERR_OK && !is_replay && class->work == WORK_QUERIES)
        engines_note(queue, poll);
    if (str_eq(tag, STR("parked"))) {
        note_credit(class, poll->shard);
        follow_lookup_leases(queue, lines_next(lines));
    }
    if (error == ERR_OK && !is_claim && !is_replay && poll->may_park && !poll->is_superseded)
        park(queue, poll); /* parked, or "ok" of a drained account's nonce */
    else
        move(poll, POLL_IDLE);
    if (is_claim) {
        struct str text = lines->rest;
        struct claim claim = lines_next_claim(lines);
        class->rotor = poll->shard + 1;
        if (poll->is_alive(poll)) {
            note_work(class, poll->shard, &claim);
            deliver(poll, &claim);
        } else {
            poll->on_end(poll, ERR_NOT_FOUND);
            take_claim(queue, class, (struct origin){poll->shard, false}, text);
        }
    } else if (is_replay) {
        poll->on_end(poll, ERR_NONCE_USED);
    } else if (poll->state == POLL_IDLE) {
        settle_credits(class);
        poll->on_end(poll, error);
    }
    if (class->early_n > 0)
        retry_early(queue, class);
}

static void on_claim_reply(struct call *call, enum err error, struct str reply)
{
    struct poll *poll = H2O_STRUCT_FROM_MEMBER(struct poll, call, call);
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    bool is_empty = error == ERR_OK && str_eq(tag, STR("empty"));
    bool goes_on = is_empty && !poll->is_superseded && poll->is_alive(poll);
    if (!goes_on || !claim_next(poll, NULL))
        end_claiming(poll, error, tag, &lines);
}

/* --- called to work --------------------------------------------------------------------------- */

static bool takes_model(const struct poll_class *class, struct str model)
{
    struct str models = {class->name + class->account_n + 1, class->name_n - class->account_n - 1};
    return str_eq(models, STR("*")) || str_eq(model, STR("default")) ||
           str_is_listed(models, model);
}

/* The class whose oldest poll that may move has waited longest; NULL when there is none. */
static struct poll_class *find_idle_class(struct queue *queue, struct str model)
{
    struct poll_class *found = NULL;
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next)
            if (class->work == WORK_QUERIES && !class->is_drained &&
                class->parked.n > class->moving_n && takes_model(class, model) &&
                (found == NULL || class->parked.first->since_ms < found->parked.first->since_ms))
                found = class;
    return found;
}

void polls_on_work(struct queue *queue, unsigned shard, struct lines *rest)
{
    struct str model = lines_next(rest);
    uint64_t hops = lines_next_u64(rest);
    struct str tried = lines_next(rest);
    struct turn *turn = queue->shards.turns[shard];
    struct poll_class *class = find_idle_class(queue, model);
    if (queue->parts[shard].open_n == 0)
        queue->parts[shard].open_n = 1;
    if (class != NULL) {
        struct move *move = new_move(class, shard);
        move->is_moving = true;
        class->moving_n++;
        call_claim(turn_call(turn, &move->call, on_move_reply), .class = class_name(class),
                   .is_parking = false, .engine = STR(""), .poll = 0);
        return;
    }
    char text[TRIED_MAX_BYTES];
    int n = snprintf(text, sizeof text, "%s%.*s%s,", tried.n == 0 ? "," : "", STR_ARG(tried),
                     queue->config.node_id);
    if (n > 0 && (size_t)n < sizeof text)
        call_work(turn_forget(turn), .model = model, .tried = ((struct str){text, (size_t)n}),
                  .hops = hops + 1);
}

/* --- one poll for each engine that names itself ------------------------------------------------
 */

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
    settle_credits(class);
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

/* Where the poll of an engine that names itself is written down. */
static unsigned engine_shard(const struct queue *queue, struct str account, struct str engine)
{
    char name[512];
    size_t n = join(name, sizeof name, account, ' ', engine);
    return shard_of((struct str){name, n}, queue->shards.n);
}

void queue_poll_start(struct queue *queue, struct poll *poll, struct str account, struct str models,
                      struct nonce_id *nonce, bool may_park)
{
    poll->class = get_class(queue, account, models);
    poll->number = ++queue->poll_n;
    poll->since_ms = clock_mono_ms();
    poll->class->polled |= shards_up(queue);
    move(poll, POLL_CLAIMING);
    poll->may_park = may_park;
    poll->is_superseded = false;
    put_last(&poll->class->claiming, poll);
    unsigned shard_n = queue->shards.n;
    poll->looked = 0;
    poll->first_shard = poll->class->rotor++ % shard_n;
    /* An engine that names itself has one poll: the newer one ends the older, here or on another
     * node (polls_on_supersede, by an event of the script). The only shard's `claim` does it. */
    bool is_named = poll->engine.n > 0;
    uint64_t number = may_park ? poll->number : 0;
    if (poll->class->is_drained) {
        poll->shard = is_named ? engine_shard(queue, account, poll->engine) : 0;
        struct call_start start =
            turn_call(queue->shards.turns[poll->shard], &poll->call, on_claim_reply);
        start.nonce = nonce;
        if (is_named)
            call_supersede(start, .account = account, .engine = poll->engine, .poll = number);
        else
            call_nonce(start); /* it only uses its nonce up, and is then held */
        return;
    }
    if (is_named && shard_n > 1)
        call_supersede(turn_forget(queue->shards.turns[engine_shard(queue, account, poll->engine)]),
                       .account = account, .engine = poll->engine, .poll = number);
    if (!claim_next(poll, nonce))
        abort(); /* it has looked nowhere yet */
}

void queue_poll_cancel(struct queue *queue, struct poll *poll)
{
    if (poll->state == POLL_PARKED) {
        unlink_parked(queue, poll);
        settle_credits(poll->class);
    } else if (poll->state == POLL_CLAIMING) {
        move(poll, POLL_IDLE);
        take_off(&poll->class->claiming, poll);
        call_leave(&poll->call, on_orphan_reply, new_move(poll->class, poll->shard));
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
            is_freed |= class->is_drained && !is_drained;
            class->is_drained = is_drained;
            settle_credits(class);
        }
    if (is_freed)
        queue_sync_soon(queue, 0); /* states the credits again */
}

/* A claim, a credit that was taken back or a sync may have been lost with it, whether it ran or
 * not: the syncs that follow state every class once. */
void polls_on_lost(struct queue *queue, unsigned shard)
{
    for (unsigned i = 0; i < CLASS_BUCKET_N; i++)
        for (struct poll_class *class = queue->classes[i]; class != NULL; class = class->next) {
            class->told |= shard_bit(shard);
            class->hinted &= ~shard_bit(shard);
            class->polled &= ~shard_bit(shard);
        }
}

/* Takes the class at `at` out of its list. */
static void free_class(struct poll_class **at)
{
    struct poll_class *class = *at;
    *at = class->next;
    for (unsigned i = 0; i < class->early_n; i++)
        buf_fini(&class->early[i].text);
    free(class->early);
    free(class->credits);
    free(class->leases);
    free(class->name);
    free(class);
}

static bool is_unused(const struct poll_class *class)
{
    return class->parked.n == 0 && class->claiming.n == 0 && class->left_n == 0 &&
           class->early_n == 0 && (class->told | class->polled) == 0;
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
