/* SPDX-License-Identifier: MIT
 *
 * turn_fixture: a turn, with a Redis of the test program's own or without one, and owners of calls,
 * who count what they hear. For the programs that test shared/redis/turn.h.
 */
#ifndef PARLEY_TESTS_UNIT_TURN_FIXTURE_H
#define PARLEY_TESTS_UNIT_TURN_FIXTURE_H

#include "generated/verbs.h"
#include "shared/base/log.h"
#include "shared/redis/turn.h"
#include "shared/redis/verb.h"
#include "tests/unit/ask_redis.h"
#include "tests/unit/redis_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { CALL_N = 1000 }; /* several batches */

static struct loop loop; /* of the whole run: what libh2o keeps of one stays reachable */
static struct turn *turn;
static bool is_up;
static unsigned up_n;                  /* how often on_up ran */
static unsigned sizes[CALL_N], sent_n; /* verbs of each call that was sent */

/* Somebody who calls verbs; in memory of its own, so that a use of it after its end is seen. */
struct owner {
    struct call call;
    unsigned told_n;
    unsigned place; /* among all replies, from 1 */
    enum err error;
    char reply[16];
    struct owner *victim; /* goes when this one is answered */
    bool is_again;        /* begins another verb when it is answered */
    void (*then)(void);   /* happens when it is answered; may be NULL */
};

static unsigned told_n;

static inline void begin(struct owner *owner, const char *verb);
static inline void on_reply(struct call *call, enum err error, struct str reply)
{
    struct owner *owner = H2O_STRUCT_FROM_MEMBER(struct owner, call, call);
    assert_false(call_is_under_way(call));
    assert_true(error == ERR_OK || reply.at == NULL);
    owner->told_n++;
    owner->place = ++told_n;
    owner->error = error;
    snprintf(owner->reply, sizeof owner->reply, "%.*s", STR_ARG(reply));
    if (owner->victim != NULL) {
        call_detach(&owner->victim->call);
        free(owner->victim);
        owner->victim = NULL;
    }
    if (owner->then != NULL)
        owner->then();
    if (owner->is_again)
        begin(owner, "nonce");
}

static inline void begin_verb(struct owner *owner, const char *verb, enum verb id,
                              enum turn_lane lane, struct nonce_id *nonce)
{
    static struct verb_info infos[CALL_N]; /* their calls outlive this function */
    static unsigned info_n;
    struct verb_info *info = &infos[info_n++ % CALL_N];
    struct call_start start = turn_call(turn, &owner->call, on_reply);
    *info = (struct verb_info){.name = str_of(verb), .id = id, .lane = lane, .takes_nonce = true};
    start.nonce = nonce;
    struct verb_writer writer = writer_begin(start, info);
    end_verb(&writer);
    assert_true(call_is_under_way(&owner->call));
}

/* VERB_CHECK stands for any verb that the turn does not treat specially. */
static inline void begin_as(struct owner *owner, const char *verb, enum turn_lane lane,
                            struct nonce_id *nonce)
{
    begin_verb(owner, verb, VERB_CHECK, lane, nonce);
}

static inline void begin(struct owner *owner, const char *verb)
{
    begin_as(owner, verb, LANE_READ, NULL);
}

static inline struct owner *new_owner(void)
{
    struct owner *owner = calloc(1, sizeof *owner);
    assert_non_null(owner);
    return owner;
}

static char redis_said[4096]; /* the beginning of its last answer */

static inline void ask_redis(const char *text)
{
    assert_int_equal(ask_server(&redis_fixture.address, text, redis_said, sizeof redis_said),
                     ERR_OK);
}

/* --- replies of a megabyte --- */

enum { LONG_BYTES = 1000000, LONG_CALL_N = 5 /* of them reach the bound of a call's replies */ };

/* Stores the query that begin_long looks at, which has failed. */
static inline const char *long_command(void)
{
    static char text[LONG_BYTES + 100];
    int n = snprintf(text, sizeof text, "HSET parley:{0}:t:long seq 1 s:1 F q:1 ");
    memset(text + n, 'q', LONG_BYTES);
    return text;
}

static inline void store_long(void)
{
    ask_redis(long_command());
}

static inline struct owner *begin_long_of(uint64_t whose, uint64_t user)
{
    struct owner *owner = new_owner();
    struct call_start start = turn_call(turn, &owner->call, on_reply);
    start.owner = whose;
    start.user = user;
    call_check(start, .topic = STR("long"), .seq = 1, .user = STR(""), .mode = CHECK_BRIEF);
    return owner;
}

static inline struct owner *begin_long(void)
{
    return begin_long_of(0, 0);
}

static inline struct owner *begin_new(void)
{
    struct owner *owner = new_owner();
    begin(owner, "nonce");
    return owner;
}

static inline void forget_owner(struct owner *owner)
{
    call_detach(&owner->call);
    assert_false(call_is_under_way(&owner->call));
    free(owner);
}

static struct owner *owners[CALL_N];

static inline void begin_all(void)
{
    for (unsigned i = 0; i < CALL_N; i++) {
        struct nonce_id nonce = {.is_set = true};
        memcpy(nonce.bytes, &i, sizeof i);
        owners[i] = new_owner();
        begin_as(owners[i], "nonce", (enum turn_lane)(i % LANE_NR), &nonce);
        assert_false(nonce.is_set);
        assert_int_equal(told_n, 0);
    }
    assert_int_equal(turn_pending_n(turn), CALL_N);
}

/* Each was answered once, and as recorded. */
static inline void assert_all(enum err error, const char *reply)
{
    for (unsigned i = 0; i < CALL_N; i++) {
        assert_int_equal(owners[i]->told_n, 1);
        assert_int_equal(owners[i]->error, error);
        assert_string_equal(owners[i]->reply, reply);
    }
    assert_int_equal(turn_pending_n(turn), 0);
}

static inline void free_all(void)
{
    for (unsigned i = 0; i < CALL_N; i++)
        free(owners[i]);
}

/* The answer in place of an owner that is gone. */
struct orphan {
    unsigned told_n;
    enum err error;
};

static inline void on_orphan(void *context, enum err error, struct str reply)
{
    struct orphan *orphan = context;
    orphan->told_n++;
    orphan->error = error;
    assert_true(error != ERR_OK || str_eq(reply, STR("ok")));
}

static inline void on_event(void *arg, struct str event)
{
}

static inline void on_up(void *arg)
{
    is_up = true;
    up_n++;
}

static inline void on_lost(void *arg)
{
    is_up = false;
}

static inline void on_sent(void *arg, unsigned verb_n)
{
    assert_in_range(verb_n, 1, CALL_N);
    sizes[sent_n++ % CALL_N] = verb_n;
}

static inline void create(const struct redis_address *address)
{
    static const struct turn_config config = {.prefix = "parley:{0}:",
                                              .node_id = "n1",
                                              .lease_ms = 60000,
                                              .delivery_ms = 2000,
                                              .max_attempts = 3,
                                              .queue_max = 1000,
                                              .on_event = on_event,
                                              .on_up = on_up,
                                              .on_lost = on_lost,
                                              .on_sent = on_sent};
    told_n = sent_n = 0;
    is_up = false;
    up_n = 0;
    turn = turn_create(&loop, address, &config);
}

static inline void on_pass_end(void *arg)
{
    (void)arg;
    turn_flush(turn);
}

static inline void run_once(void)
{
    loop.on_pass_end = on_pass_end;
    loop_run_once(&loop, 1000);
}

static inline void create_without_redis(void)
{
    static const struct redis_address nowhere = {.path = "/nonexistent/redis.sock"};
    create(&nowhere);
}

static inline void create_with_redis(void)
{
    create(&redis_fixture.address);
    while (!is_up)
        run_once();
}

static inline void run_until_answered(void)
{
    turn_flush(turn);
    while (turn_pending_n(turn) > 0)
        run_once();
}

static inline int set_up(void **state)
{
    log_setup(LOG_ERROR, false);
    loop_init(&loop);
    return redis_fixture_init() ? 0 : -1;
}

static inline int tear_down(void **state)
{
    redis_fixture_fini();
    return 0;
}

#endif
