/* SPDX-License-Identifier: MIT
 * batch.c - see batch.h.
 *
 *   FCALL <function> 1 <prefix> <settings> <numbers of nonces> <nonces...> <members...>
 * then verb by verb: "<verb> <number of arguments>" (one word) <arguments...>
 * If a call returns before all its verbs have run, the next one has the same verbs and nonces, but
 * for nonces without a verb, and in place of their numbers what the first returned.
 *
 * A verb is written straight into its lane's bytes. How many arguments it has is known at its end
 * only, so three digits are kept free for that number. */
#include "shared/redis/batch.h"

#include "generated/verb_ids.h"
#include "shared/base/clock.h"
#include "shared/base/mem.h"
#include "shared/redis/wire.h"

#include <stdio.h>

enum {
    SOFT_BYTES = 256 << 10, /* of the lanes that may carry much */
    HARD_BYTES = 64 << 20,
    REST_MAX_BYTES = 64,
    CALL_WORDS = 4,  /* FCALL, function, number of keys, key */
    FRAME_WORDS = 2, /* what is sent once for all verbs */
    ARGC_DIGITS = 3,
};

struct batch *batch_create(struct turn *turn)
{
    struct batch *batch = mem_zeroed(sizeof *batch);
    batch->turn = turn;
    buf_init(&batch->wire, HARD_BYTES);
    buf_init(&batch->marked_nonces, HARD_BYTES);
    buf_init(&batch->rest, REST_MAX_BYTES);
    for (int i = 0; i < BATCH_LANE_N; i++)
        buf_init(&batch->lanes[i].wire, HARD_BYTES);
    batch_clear(batch);
    return batch;
}

static void free_bytes(struct batch *batch)
{
    buf_fini(&batch->wire);
    buf_fini(&batch->marked_nonces);
    buf_fini(&batch->rest);
    for (int i = 0; i < BATCH_LANE_N; i++)
        buf_fini(&batch->lanes[i].wire);
}

void batch_destroy(struct batch *batch)
{
    if (batch == NULL)
        return;
    for (unsigned i = 0; i < batch->call_n; i++)
        if (batch->slots[i].call != NULL)
            call_detach(batch->slots[i].call);
    free_bytes(batch);
    free(batch);
}

static void clear_lane(struct lane *lane)
{
    buf_clear(&lane->wire);
    lane->arg_n = lane->call_n = 0;
    lane->first = NULL;
    lane->last = &lane->first;
}

void batch_clear(struct batch *batch)
{
    if (batch->wire.cap > SOFT_BYTES * 4)
        free_bytes(batch);
    buf_clear(&batch->marked_nonces);
    buf_clear(&batch->rest);
    for (int i = 0; i < BATCH_LANE_N; i++)
        clear_lane(&batch->lanes[i]);
    batch->nonce_n = batch->call_n = batch->query_n = 0;
    batch->is_slow = batch->is_freeing = batch->is_rest = false;
    batch->number = batch->held_ms = 0;
    batch->next = NULL;
}

static void put_nonce(struct batch *batch, struct nonce_id *nonce)
{
    struct buf *wire = &batch->lane->wire;
    if (nonce == NULL || !nonce->is_set) {
        wire_put(wire, STR("0"));
        return;
    }
    if (batch->nonce_n == BATCH_CALLS_MAX)
        abort();
    batch->nonces[batch->nonce_n++] = *nonce;
    char word[1 + STR_U64_MAX] = "-";
    size_t from = !nonce->is_record_only, n = 1 + str_put_u64(word + 1, batch->nonce_n);
    wire_put(wire, (struct str){word + from, n - from});
    nonce->is_set = false;
}

/* The lane of a verb that only uses its nonce; LANE_NR for any other verb. */
static int lane_alone(const struct verb_info *verb, const struct nonce_id *nonce)
{
    if (nonce == NULL || !nonce->is_set || nonce->is_record_only)
        return LANE_NR;
    return verb->id == VERB_NONCE          ? ALONE_NONCES
           : verb->id == VERB_NONCE_OF_ADD ? ALONE_MARKED
                                           : LANE_NR;
}

static struct lane *put_slot(struct batch *batch, int lane_i, struct call_slot *slot)
{
    struct lane *lane = batch->lane = &batch->lanes[lane_i];
    *lane->last = slot;
    lane->last = &slot->next;
    lane->call_n++;
    return lane;
}

/* A marked one has its member as its only argument. */
static struct buf *begin_alone(struct batch *batch, struct lane *lane, struct nonce_id *nonce)
{
    bool is_marked = lane == &batch->lanes[ALONE_MARKED];
    wire_put(is_marked ? &batch->marked_nonces : &lane->wire,
             (struct str){(const char *)nonce->bytes, NONCE_ID_BYTES});
    nonce->is_set = false;
    batch->is_alone = true;
    lane->arg_n += 1 + is_marked;
    return &lane->wire;
}

struct buf *batch_begin(struct batch *batch, struct call_start start, const struct verb_info *verb)
{
    struct call *call = start.call;
    if (batch->call_n == BATCH_CALLS_MAX || (call != NULL && call_is_under_way(call)))
        abort();
#ifdef PARLEY_CHECKS
    if (verb->max_argc + verb->takes_nonce > TURN_ARGS_MAX) /* with its longest lists */
        abort();
#endif
    struct call_slot *slot = &batch->slots[batch->call_n++];
    *slot = (struct call_slot){.call = call,
                               .on_reply = start.on_reply,
                               .verb = verb,
                               .begin_us = clock_mono_us(),
                               .owner = start.owner,
                               .user = start.user};
    if (call != NULL)
        call->slot = slot;
    int alone = lane_alone(verb, start.nonce);
    struct lane *lane = put_slot(batch, alone == LANE_NR ? (int)verb->lane : alone, slot);
    if (alone != LANE_NR)
        return begin_alone(batch, lane, start.nonce);
    batch->is_alone = false;
    slot->at = lane->wire.n;
    batch->argc_at = wire_put_numbered(&lane->wire, verb->name, ARGC_DIGITS);
    batch->nonce_argc = verb->takes_nonce;
    if (verb->takes_nonce)
        put_nonce(batch, start.nonce);
    return &lane->wire;
}

void batch_end(struct batch *batch, unsigned argc)
{
    struct lane *lane = batch->lane;
    if (batch->is_alone) {
        batch->lane = NULL;
        return;
    }
    argc += batch->nonce_argc;
    lane->arg_n += argc + 1;
    batch->lane = NULL;
    wire_set_number(&lane->wire, batch->argc_at, ARGC_DIGITS, argc);
    struct call_slot *slot = &batch->slots[batch->call_n - 1];
    slot->n = lane->wire.n - slot->at;
}

/* --- turns of those who read ------------------------------------------------------------------ */

static bool is_same_reader(const struct call_slot *a, const struct call_slot *b)
{
    return a->owner == b->owner && a->user == b->user;
}

/* How many of the reader's verbs are before this one. */
static unsigned round_of(const struct lane *lane, const struct call_slot *slot)
{
    unsigned n = 0;
    for (const struct call_slot *at = lane->first; at != slot; at = at->next)
        n += is_same_reader(at, slot);
    return n;
}

static bool has_one_reader(const struct lane *lane)
{
    const struct call_slot *at = lane->first;
    while (at != NULL && is_same_reader(at, lane->first))
        at = at->next;
    return at == NULL;
}

/* Moves the verb, with its words, to the end of what is in order. */
static void put_in_turn(struct batch *batch, struct lane *lane, struct call_slot *slot)
{
    struct str words = {batch->wire.at + slot->at, slot->n};
    slot->at = lane->wire.n;
    buf_put(&lane->wire, words);
    *lane->last = slot;
    lane->last = &slot->next;
}

void batch_take_turns(struct batch *batch)
{
    struct lane *lane = &batch->lanes[LANE_READ];
    struct call_slot *slots[BATCH_CALLS_MAX];
    unsigned rounds[BATCH_CALLS_MAX], n = 0, left;
    if (lane->wire.is_over || has_one_reader(lane))
        return;
    for (struct call_slot *slot = lane->first; slot != NULL; slot = slot->next) {
        rounds[n] = round_of(lane, slot);
        slots[n++] = slot;
    }
    buf_clear(&batch->wire); /* batch_write writes it later */
    buf_put(&batch->wire, buf_str(&lane->wire));
    buf_clear(&lane->wire);
    lane->last = &lane->first;
    left = n;
    for (unsigned round = 0; left > 0; round++)
        for (unsigned i = 0; i < n; i++)
            if (rounds[i] == round) {
                put_in_turn(batch, lane, slots[i]);
                left--;
            }
    *lane->last = NULL;
}

void batch_continue(struct batch *batch, struct str rest)
{
    buf_clear(&batch->rest);
    buf_put(&batch->rest, rest);
    buf_clear(&batch->marked_nonces);
    clear_lane(&batch->lanes[ALONE_NONCES]);
    clear_lane(&batch->lanes[ALONE_MARKED]);
}

unsigned batch_waiting_n(const struct batch *batch)
{
    unsigned n = 0;
    for (int i = 0; i < BATCH_LANE_N; i++)
        n += batch->lanes[i].call_n;
    return n;
}

bool batch_has_alone(const struct batch *batch)
{
    return batch->lanes[ALONE_NONCES].call_n + batch->lanes[ALONE_MARKED].call_n > 0;
}

bool batch_is_full(const struct batch *batch)
{
    return batch->call_n == BATCH_CALLS_MAX ||
           batch->lanes[LANE_FIRST].wire.n + batch->lanes[LANE_ADD].wire.n > SOFT_BYTES;
}

void batch_queue_put(struct batch_queue *queue, struct batch *batch)
{
    if (queue->first == NULL)
        queue->first = batch;
    else
        queue->last->next = batch;
    queue->last = batch;
}

void batch_queue_put_round(struct batch_queue *queue, struct batch *batch)
{
    struct batch **at = &queue->first;
    while (*at != NULL && (*at)->round <= batch->round)
        at = &(*at)->next;
    if (*at == NULL)
        queue->last = batch;
    batch->next = *at;
    *at = batch;
}

struct batch *batch_queue_take(struct batch_queue *queue)
{
    struct batch *batch = queue->first;
    queue->first = batch->next;
    batch->next = NULL;
    return batch;
}

static void put_lane(struct batch *batch, int lane)
{
    /* The number of words would not be right, and the next call be taken for the rest. */
    batch->wire.is_over |= batch->lanes[lane].wire.is_over;
    buf_put(&batch->wire, buf_str(&batch->lanes[lane].wire));
}

static void put_nonces(struct batch *batch)
{
    struct buf *wire = &batch->wire;
    char numbers[48];
    int n = snprintf(numbers, sizeof numbers, batch_has_alone(batch) ? "%u %u %u" : "%u",
                     batch->nonce_n, batch->lanes[ALONE_NONCES].call_n,
                     batch->lanes[ALONE_MARKED].call_n);
    wire_put(wire, batch->rest.n > 0 ? buf_str(&batch->rest) : (struct str){numbers, (size_t)n});
    for (unsigned i = 0; i < batch->nonce_n; i++)
        wire_put(wire, (struct str){(const char *)batch->nonces[i].bytes, NONCE_ID_BYTES});
    put_lane(batch, ALONE_NONCES);
    buf_put(wire, buf_str(&batch->marked_nonces));
    put_lane(batch, ALONE_MARKED);
}

void batch_write(struct batch *batch, const char *function, const char *prefix,
                 const struct buf *settings)
{
    struct buf *wire = &batch->wire;
    unsigned word_n = CALL_WORDS + FRAME_WORDS + batch->nonce_n;
    for (int i = 0; i < BATCH_LANE_N; i++)
        word_n += batch->lanes[i].arg_n;
    buf_clear(wire);
    wire_begin(wire, word_n);
    wire_put(wire, STR("FCALL"));
    wire_put(wire, str_of(function));
    wire_put_u64(wire, 1);
    wire_put(wire, str_of(prefix));
    wire_put(wire, buf_str(settings));
    put_nonces(batch);
    for (int i = 0; i < LANE_NR; i++)
        put_lane(batch, i);
    buf_terminate(wire);
}
