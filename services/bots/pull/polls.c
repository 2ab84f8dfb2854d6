/* SPDX-License-Identifier: MIT
 * polls.c - GET /api/bots/{username}/deliveries: the next delivery of a bot that pulls, waited for.
 *
 *   pull_take --the key--> ASKING ---none on any shard--> PARKED --an event, or it is time--+
 *                           ^  |                            |                               |
 *                           +--|----------------------------|-------------------------------+
 *                              | a delivery                 | the wait is over, the client leaves
 *                              v                            v
 *                           READING --> 200                204
 *
 * Shards are asked one after another, because each that has a delivery leases it, and a poll takes
 * one only. A shard that has none registers this node in the same atomic step, so no delivery is
 * missed in between. An event lets one poll of its bot ask; one that is asking already asks once
 * more before it parks, and if it ends before that, another one asks instead of it. */
#include "services/bots/pull/pull.h"

#include "generated/verbs.h"
#include "services/bots/bots.h"
#include "services/bots/dispatch/talk_read.h"
#include "shared/ask/presence.h"
#include "shared/base/hash.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/http/request/respond.h"
#include "shared/queue/lines.h"

enum {
    BUCKETS = 256,
    /* A registration lasts 90 s (lua/bots/deliveries.lua). */
    ASK_EVERY_MS = 30000,
    RETRY_MS = 1000, /* while Redis is away */
    FULL_RETRY_S = 5,
    BODY_MAX_BYTES = TALK_BODY_MAX_BYTES + 1024,
};

enum bot_poll_state { PULL_ASKING, PULL_PARKED, PULL_READING, PULL_OVER };

static const struct sm_state states[] = {
    [PULL_ASKING] = {"ASKING", SM(PULL_PARKED) | SM(PULL_READING) | SM(PULL_OVER)},
    [PULL_PARKED] = {"PARKED", SM(PULL_ASKING) | SM(PULL_OVER)},
    [PULL_READING] = {"READING", SM(PULL_ASKING) | SM(PULL_OVER)},
    [PULL_OVER] = {"OVER", 0},
};
static const struct sm sm = SM_OF("poll of a bot", states);

/* In its request's memory. */
struct bot_poll {
    struct list_link link; /* in its bucket */
    struct pulls *pulls;
    struct request *r;
    enum bot_poll_state state;
    uint64_t number; /* for the log of its states */
    struct caller caller;
    struct presence presence;
    struct deadline deadline; /* PARKED: when it asks again, or ends */
    uint64_t end_ms;          /* of the wait, on clock_mono_ms */
    uint64_t next_ms;         /* until a delivery comes back; UINT64_MAX: none is known to */
    unsigned shard;           /* ASKING: which is asked */
    bool is_last;             /* ends instead of parking */
    bool is_again;            /* an event has come: asks once more instead of parking */
    bool has_parked;
    struct str delivery, room;         /* READING */
    struct str json_name, json_person; /* READING: username and emulates */
};

struct pulls {
    struct bots *bots;
    struct presences presences;
    struct list buckets[BUCKETS]; /* struct bot_poll */
    size_t n;
};

static void ask_all(struct bot_poll *poll);

static void move(struct bot_poll *poll, enum bot_poll_state to)
{
    poll->state = sm_move(&sm, poll->number, poll->state, to);
}

static struct loop *loop_of(const struct bot_poll *poll)
{
    return poll->r->server->loop;
}

/* --- polls of this node ----------------------------------------------------------------------- */

static struct list *bucket_of(struct pulls *pulls, struct str bot)
{
    return &pulls->buckets[hash_fnv32(bot, 0) % BUCKETS];
}

static size_t count_of(struct pulls *pulls, struct str bot)
{
    size_t n = 0;
    list_for_each (const struct bot_poll, poll, bucket_of(pulls, bot), link)
        n += str_eq(poll->caller.name, bot);
    return n;
}

static void enter(struct bot_poll *poll)
{
    list_prepend(bucket_of(poll->pulls, poll->caller.name), &poll->link);
    poll->pulls->n++;
}

static void leave(struct bot_poll *poll)
{
    list_remove(&poll->link);
    poll->pulls->n--;
}

/* There may be something for the bot: one of its polls asks. */
static void wake(struct pulls *pulls, struct str bot)
{
    struct bot_poll *busy = NULL;
    list_for_each (struct bot_poll, poll, bucket_of(pulls, bot), link) {
        if (!str_eq(poll->caller.name, bot))
            continue;
        if (poll->state == PULL_PARKED) {
            ask_all(poll);
            return;
        }
        if (poll->state == PULL_ASKING && !poll->is_again)
            busy = poll;
    }
    if (busy != NULL)
        busy->is_again = true;
}

/* The bot need not be notified of deliveries here any more. */
static void unregister(struct pulls *pulls, struct str bot)
{
    struct shards *shards = pulls->bots->server->shards;
    for (unsigned i = 0; i < shards->n; i++)
        call_delivery_unpoll(turn_forget(shards->turns[i]), .bot = bot);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The request is answered after it, or it is gone. */
static void end(struct bot_poll *poll, bool has_left)
{
    struct pulls *pulls = poll->pulls;
    struct str bot = poll->caller.name;
    bool is_owed = poll->is_again; /* what it was to ask for */
    move(poll, PULL_OVER);
    presence_stop(&poll->presence);
    loop_cancel_deadline(loop_of(poll), &poll->deadline);
    leave(poll);
    poll->r->on_gone = NULL;
    if (is_owed)
        wake(pulls, bot);
    if (has_left && poll->has_parked && count_of(pulls, bot) == 0)
        unregister(pulls, bot);
}

static void end_empty(struct bot_poll *poll, bool has_left)
{
    struct request *r = poll->r;
    end(poll, has_left);
    respond_empty(r, 204);
}

static void end_with(struct bot_poll *poll, enum err error, const char *detail)
{
    struct request *r = poll->r;
    end(poll, false);
    respond_error(r, error, detail);
}

static void on_gone(struct request *r)
{
    end(r->state, true);
}

/* Ends a parked poll. One that asks waits for its reply: a delivery may be leased for it already.
 */
static void on_presence_end(struct presence *presence, bool has_left)
{
    struct bot_poll *poll = container_of(presence, struct bot_poll, presence);
    poll->is_last = true;
    if (poll->state == PULL_PARKED)
        end_empty(poll, has_left || presence->r->server->is_draining);
}

/* --- parking ---------------------------------------------------------------------------------- */

static void on_time(struct deadline *deadline)
{
    ask_all(container_of(deadline, struct bot_poll, deadline));
}

static void park(struct bot_poll *poll, uint64_t after_ms)
{
    uint64_t now_ms = clock_mono_ms();
    if (poll->is_last || now_ms >= poll->end_ms) {
        end_empty(poll, false);
        return;
    }
    uint64_t left_ms = poll->end_ms - now_ms;
    move(poll, PULL_PARKED);
    poll->has_parked = true;
    poll->r->was_parked = true;
    poll->deadline.on_expire = on_time;
    loop_set_deadline(loop_of(poll), &poll->deadline, after_ms < left_ms ? after_ms : left_ms);
}

/* Redis is away: a poll that has waited continues waiting. */
static void fail(struct bot_poll *poll, enum err error)
{
    if (err_is_outage(error) && poll->has_parked && poll->state == PULL_ASKING) {
        poll->is_again = false;
        park(poll, RETRY_MS);
    } else {
        end_with(poll, error, NULL);
    }
}

/* --- a delivery ------------------------------------------------------------------------------- */

static void respond(struct bot_poll *poll, const struct talk *talk)
{
    struct request *r = poll->r;
    struct talk_bot bot = {.username = poll->json_name,
                           .emulates = poll->json_person,
                           .token = request_header(r, "x-caller-key")};
    struct buf b;
    buf_init(&b, BODY_MAX_BYTES);
    buf_lit(&b, "{\"id\":");
    buf_put_json(&b, poll->delivery);
    buf_put_key(&b, "body");
    if (str_eq(poll->caller.format, STR("zulip")))
        talk_put_zulip(&b, talk, &bot);
    else
        talk_put_annex(&b, talk, &bot);
    buf_put_char(&b, '}');
    end(poll, false);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static void on_read(struct request *r, enum err error, struct str reply)
{
    struct bot_poll *poll = r->state;
    struct talk_reading reading;
    if (error != ERR_OK) {
        fail(poll, error);
    } else if (!talk_read(&reading, reply, poll->json_name)) {
        ask_all(poll); /* the message is gone: for another one */
    } else {
        reading.talk.room = poll->room;
        respond(poll, &reading.talk);
        talk_read_fini(&reading);
    }
}

/* The bot may have been removed while it waited. */
static void on_found(struct request *r, enum err error, struct str reply)
{
    struct bot_poll *poll = r->state;
    struct lines lines = lines_of(reply);
    if (error != ERR_OK) {
        fail(poll, error);
        return;
    }
    bool is_there = str_eq(lines_next(&lines), STR("ok"));
    lines_next(&lines); /* whether it may be called */
    lines_next(&lines); /* its name */
    if (!is_there || !str_eq(lines_next(&lines), poll->caller.id)) {
        end_with(poll, ERR_UNAUTHORIZED, "This bot no longer exists.");
        return;
    }
    poll->json_name = request_copy(r, lines_next(&lines));
    poll->json_person = request_copy(r, lines_next(&lines));
    call_delivery_read(request_call(r, on_read), .room = poll->room, .delivery = poll->delivery);
}

/* --- asking ----------------------------------------------------------------------------------- */

static void ask(struct bot_poll *poll);

static void on_pulled(struct request *r, enum err error, struct str reply)
{
    struct bot_poll *poll = r->state;
    struct lines lines = lines_of(reply);
    uint64_t ms;
    if (error != ERR_OK) {
        fail(poll, error);
        return;
    }
    if (str_eq(lines_next(&lines), STR("ok"))) {
        move(poll, PULL_READING);
        poll->delivery = request_copy(r, lines_next(&lines));
        poll->room = request_copy(r, lines_next(&lines));
        call_bot_find(request_call(r, on_found), .bot = poll->caller.name, .is_calling = false);
        return;
    }
    if (str_parse_u64(lines_next(&lines), &ms) && ms < poll->next_ms)
        poll->next_ms = ms;
    if (++poll->shard < r->server->shards->n)
        ask(poll);
    else if (poll->is_again)
        ask_all(poll);
    else
        park(poll, poll->next_ms < ASK_EVERY_MS ? poll->next_ms + 1 : ASK_EVERY_MS);
}

static void ask(struct bot_poll *poll)
{
    struct request *r = poll->r;
    bool is_waiting = !poll->is_last && clock_mono_ms() < poll->end_ms;
    if (request_client_left(r)) { /* what it would be given would be lost for 30 s */
        poll->is_again = true;    /* another poll asks instead */
        end_empty(poll, true);
        return;
    }
    call_delivery_pull(request_call_at(r, poll->shard, on_pulled), .bot = poll->caller.name,
                       .is_waiting = is_waiting);
}

static void ask_all(struct bot_poll *poll)
{
    loop_cancel_deadline(loop_of(poll), &poll->deadline);
    if (poll->state != PULL_ASKING)
        move(poll, PULL_ASKING);
    poll->is_again = false;
    poll->shard = 0;
    poll->next_ms = UINT64_MAX;
    ask(poll);
}

/* --- beginning -------------------------------------------------------------------------------- */

static void on_caller(struct request *r, const struct caller *caller)
{
    struct pulls *pulls = bots_of(r)->pulls;
    uint64_t wait_s;
    if (!pull_is_own(r, caller) ||
        !request_param_u64(r, "Wait", 0, PULL_WAIT_MAX_S, PULL_WAIT_USUAL_S, &wait_s))
        return;
    if (!caller->pulls) {
        respond_error(r, ERR_CONFLICT,
                      "This bot has an endpoint, so it is called and pulls nothing: register it "
                      "without an endpoint.");
    } else if (pulls->n >= POLLS_MAX) {
        respond_error_more(r, ERR_BUSY, NULL, NULL, FULL_RETRY_S);
    } else if (count_of(pulls, caller->name) >= POLLS_OF_BOT) {
        respond_error_more(r, ERR_RATE_LIMITED,
                           "This bot has 16 polls on this node already: end one, or wait.", NULL,
                           FULL_RETRY_S);
    } else {
        struct bot_poll *poll = request_alloc(r, sizeof *poll);
        *poll = (struct bot_poll){.pulls = pulls,
                                  .r = r,
                                  .number = sm_number(),
                                  .caller = *caller,
                                  .end_ms = clock_mono_ms() + wait_s * 1000};
        r->state = poll;
        r->on_gone = on_gone;
        enter(poll);
        presence_start(&poll->presence, &pulls->presences, r, on_presence_end);
        ask_all(poll);
    }
}

void pull_take(struct request *r)
{
    caller_start(r, on_caller);
}

/* --- the part --------------------------------------------------------------------------------- */

static void create(struct bots *bots)
{
    bots->pulls = mem_zeroed(sizeof *bots->pulls);
    bots->pulls->bots = bots;
}

static void destroy(struct bots *bots)
{
    free(bots->pulls);
    bots->pulls = NULL;
}

static void on_event(struct bots *bots, struct lines *rest)
{
    wake(bots->pulls, lines_next(rest));
}

/* Events may have been missed. */
static void on_up(struct bots *bots, unsigned shard)
{
    struct pulls *pulls = bots->pulls;
    for (size_t i = 0; i < BUCKETS; i++)
        list_for_each (struct bot_poll, poll, &pulls->buckets[i], link)
            if (poll->state == PULL_PARKED)
                loop_set_deadline(loop_of(poll), &poll->deadline, 0);
}

static void drain(struct bots *bots)
{
    presences_drain(&bots->pulls->presences);
}

extern const struct bots_component pull_component;
const struct bots_component pull_component = {.create = create,
                                              .destroy = destroy,
                                              .event = "delivery",
                                              .on_event = on_event,
                                              .on_up = on_up,
                                              .drain = drain};
