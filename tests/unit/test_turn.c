/* SPDX-License-Identifier: MIT
 * test_turn.c - shared/redis/turn.h and call.h: what callers hear, and when; without a Redis, and
 * with one of its own. What verbs say is tested by all of tests/http. */
#include "shared/redis/turn.h"
#include "shared/redis/verb.h"

#include "shared/redis/batch.h"
#include "shared/redis/sync.h"
#include "tests/unit/redis_fixture.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/un.h>

#include <cmocka.h>

enum { CALL_N = 1000 }; /* several batches */

static struct loop loop; /* of the whole run: what libh2o keeps of one stays reachable */
static struct turn *turn;
static bool is_up;
static unsigned up_n; /* how often on_up ran */

/* Somebody who calls verbs; in memory of its own, so that a use of it after its end is seen. */
struct owner {
    struct call call;
    unsigned told_n;
    enum err error;
    char reply[16];
    struct owner *victim; /* goes when this one is told */
    bool is_again;        /* begins another verb when it is told */
};

static unsigned told_n;

static void begin(struct owner *owner, const char *verb);
static void on_reply(struct call *call, enum err error, struct str reply)
{
    struct owner *owner = H2O_STRUCT_FROM_MEMBER(struct owner, call, call);
    assert_false(call_is_under_way(call));
    assert_true(error == ERR_OK || reply.at == NULL);
    owner->told_n++;
    told_n++;
    owner->error = error;
    snprintf(owner->reply, sizeof owner->reply, "%.*s", STR_ARG(reply));
    if (owner->victim != NULL) {
        call_detach(&owner->victim->call);
        free(owner->victim);
        owner->victim = NULL;
    }
    if (owner->is_again)
        begin(owner, "nonce");
}

static void begin_as(struct owner *owner, const char *verb, enum turn_lane lane,
                     struct nonce_id *nonce)
{
    static struct verb_info infos[CALL_N]; /* their calls outlive this function */
    static unsigned info_n;
    struct verb_info *info = &infos[info_n++ % CALL_N];
    struct call_start start = turn_call(turn, &owner->call, on_reply);
    *info = (struct verb_info){.name = str_of(verb), .lane = lane, .takes_nonce = true};
    start.nonce = nonce;
    struct verb_writer writer = writer_begin(start, info);
    end_verb(&writer);
    assert_true(call_is_under_way(&owner->call));
}

static void begin(struct owner *owner, const char *verb)
{
    begin_as(owner, verb, LANE_READ, NULL);
}

static struct owner *new_owner(void)
{
    struct owner *owner = calloc(1, sizeof *owner);
    assert_non_null(owner);
    return owner;
}

static struct owner *begin_new(void)
{
    struct owner *owner = new_owner();
    begin(owner, "nonce");
    return owner;
}

static void forget_owner(struct owner *owner)
{
    call_detach(&owner->call);
    assert_false(call_is_under_way(&owner->call));
    free(owner);
}

static struct owner *owners[CALL_N];

static void begin_all(void)
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

/* Each was told once what it was told. */
static void assert_all(enum err error, const char *reply)
{
    for (unsigned i = 0; i < CALL_N; i++) {
        assert_int_equal(owners[i]->told_n, 1);
        assert_int_equal(owners[i]->error, error);
        assert_string_equal(owners[i]->reply, reply);
    }
    assert_int_equal(turn_pending_n(turn), 0);
}

static void free_all(void)
{
    for (unsigned i = 0; i < CALL_N; i++)
        free(owners[i]);
}

/* What is told in place of an owner that is gone. */
struct orphan {
    unsigned told_n;
    enum err error;
};

static void on_orphan(void *context, enum err error, struct str reply)
{
    struct orphan *orphan = context;
    orphan->told_n++;
    orphan->error = error;
    assert_true(error != ERR_OK || str_eq(reply, STR("ok")));
}

static void on_event(void *arg, struct str event)
{
}

static void on_up(void *arg)
{
    is_up = true;
    up_n++;
}

static void on_lost(void *arg)
{
    is_up = false;
}

static void on_sent(void *arg, unsigned verb_n)
{
    assert_in_range(verb_n, 1, CALL_N);
}

static void create(const struct redis_address *address)
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
    told_n = 0;
    is_up = false;
    up_n = 0;
    turn = turn_create(&loop, address, &config);
}

static void run_once(void)
{
    uint64_t wait_ms = deadlines_wait_ms(&loop.deadlines, clock_mono_ms(), 1000);
    h2o_evloop_run(loop.h2o, (int32_t)wait_ms);
    deadlines_run(&loop.deadlines, clock_mono_ms());
    turn_flush(turn);
}

static void create_without_redis(void)
{
    static const struct redis_address nowhere = {.path = "/nonexistent/redis.sock"};
    create(&nowhere);
}

/* --- without a Redis -------------------------------------------------------------------------- */

static void nobody_hears_of_a_lost_redis_before_turn_end_returns(void **state)
{
    create_without_redis();
    begin_all();
    turn_flush(turn);
    assert_all(ERR_REDIS_LOST, "");
    turn_destroy(turn);
    free_all();
}

static void a_verb_begun_in_a_callback_with_the_same_handle_is_for_the_next_round(void **state)
{
    create_without_redis();
    begin_all();
    for (unsigned i = 0; i < CALL_N; i++)
        owners[i]->is_again = true;
    turn_flush(turn);
    assert_int_equal(told_n, CALL_N);
    assert_int_equal(turn_pending_n(turn), CALL_N);
    for (unsigned i = 0; i < CALL_N; i++) {
        assert_true(call_is_under_way(&owners[i]->call));
        owners[i]->is_again = false;
    }
    turn_flush(turn);
    assert_int_equal(told_n, 2 * CALL_N);
    turn_destroy(turn);
    free_all();
}

static void destroy_tells_those_who_wait(void **state)
{
    create_without_redis();
    begin_all();
    turn_destroy(turn);
    assert_int_equal(told_n, CALL_N);
    free_all();
}

static void what_is_begun_while_a_turn_is_destroyed_ends_detached(void **state)
{
    create_without_redis();
    begin_all();
    for (unsigned i = 0; i < CALL_N; i++)
        owners[i]->is_again = true;
    turn_destroy(turn);
    assert_int_equal(told_n, CALL_N);
    for (unsigned i = 0; i < CALL_N; i++)
        assert_false(call_is_under_way(&owners[i]->call));
    free_all();
}

static void a_call_that_was_detached_before_it_is_sent_hears_nothing(void **state)
{
    create_without_redis();
    struct owner *first = begin_new(), *gone = begin_new(), *last = begin_new();
    forget_owner(gone);
    assert_int_equal(turn_pending_n(turn), 3); /* the verb runs all the same */
    turn_flush(turn);
    assert_int_equal(first->told_n, 1);
    assert_int_equal(last->told_n, 1);
    assert_int_equal(turn_pending_n(turn), 0);
    turn_destroy(turn);
    free(first);
    free(last);
}

static void an_owner_that_goes_inside_the_callback_of_another_hears_nothing(void **state)
{
    create_without_redis();
    struct owner *early = begin_new(), *first = begin_new(), *next = begin_new();
    struct owner *last = begin_new();
    first->victim = next; /* its slot is the next to be answered */
    last->victim = early; /* and this one was */
    turn_flush(turn);
    assert_int_equal(told_n, 3);
    turn_destroy(turn);
    free(first);
    free(last);
}

static void a_call_may_be_detached_when_nothing_is_under_way(void **state)
{
    struct call call = {NULL};
    call_detach(&call);
    assert_false(call_is_under_way(&call));
}

static void what_an_owner_leaves_is_told_to_its_orphan_once(void **state)
{
    struct orphan orphan = {0}, other = {0};
    create_without_redis();
    struct owner *gone = begin_new(), *also_gone = begin_new();
    call_leave(&gone->call, on_orphan, &orphan);
    forget_owner(gone);
    turn_flush(turn);
    assert_int_equal(orphan.told_n, 1);
    assert_int_equal(orphan.error, ERR_REDIS_LOST);
    assert_int_equal(also_gone->told_n, 1);
    begin(also_gone, "nonce");
    call_leave(&also_gone->call, on_orphan, &other);
    free(also_gone);
    turn_destroy(turn);
    assert_int_equal(other.told_n, 1);
    assert_int_equal(orphan.told_n, 1);
    assert_int_equal(told_n, 1);
}

/* A host that went away without a word is noticed by the kernel, also where Parley only listens. */
static void a_connection_over_tcp_probes_a_silent_redis(void **state)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof name, option_size = sizeof(int);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), accepted, probes = 0, ms = 0;
    assert_int_equal(bind(listener, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&name, &size), 0);
    struct redis_address address = {.port = ntohs(name.sin_port)};
    snprintf(address.host, sizeof address.host, "127.0.0.1");
    create(&address);
    while ((accepted = accept(listener, NULL, NULL)) < 0)
        run_once();
    while (recv(accepted, &ms, 1, MSG_PEEK | MSG_DONTWAIT) < 1)
        run_once();
    for (int fd = 3; fd < 1024 && probes == 0; fd++) {
        struct sockaddr_in peer = {.sin_port = 0};
        size = sizeof peer;
        if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0 || peer.sin_port != name.sin_port)
            continue;
        assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &probes, &option_size), 0);
        assert_int_equal(probes, 1);
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &probes, &option_size), 0);
        assert_in_range(probes, 1, 30);
        assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, &option_size), 0);
        assert_in_range(ms, 1, 30000);
    }
    assert_int_not_equal(probes, 0);
    turn_destroy(turn);
    close(accepted);
    close(listener);
}

static void a_batch_with_a_lane_that_overflowed_is_not_sent(void **state)
{
    static const struct verb_info infos[] = {{.name = {"large", 5}, .lane = LANE_READ},
                                             {.name = {"small", 5}, .lane = LANE_READ}};
    struct buf settings = {.max = 16};
    struct batch *batch = batch_create(NULL);
    struct str part = {calloc(1, 1 << 20), 1 << 20};
    for (unsigned i = 0; i < 2; i++) {
        struct buf *lane = batch_begin(batch, NULL, NULL, NULL, &infos[i]);
        for (unsigned k = 0; i == 0 && k < 65; k++)
            buf_put(lane, part);
        batch_end(batch, 0);
    }
    batch_write(batch, "turn", "parley:{0}:", &settings);
    assert_true(batch->wire.is_over);
    free((char *)part.at);
    batch_destroy(batch);
}

/* --- with a Redis ----------------------------------------------------------------------------- */

static void create_with_redis(void)
{
    create(&redis_fixture.address);
    while (!is_up)
        run_once();
}

static void run_until_answered(void)
{
    turn_flush(turn);
    while (turn_pending_n(turn) > 0)
        run_once();
}

static void each_of_a_thousand_calls_of_one_turn_is_answered_once_with_its_own_reply(void **state)
{
    create_with_redis();
    begin_all();
    run_until_answered();
    assert_all(ERR_OK, "ok");
    free_all();
    told_n = 0;
    begin_all();
    for (unsigned i = 0; i < CALL_N; i += 2)
        call_detach(&owners[i]->call);
    run_until_answered();
    assert_int_equal(told_n, CALL_N / 2);
    for (unsigned i = 0; i < CALL_N; i++)
        assert_string_equal(owners[i]->reply, i % 2 == 0 ? "" : "replay");
    free_all();
    turn_destroy(turn);
}

enum { FEW = 7 }; /* turn.c: one less than EARLY_CALLS */

/* What comes while they are under way is collected as before. */
static void an_idle_redis_gets_eight_calls_before_the_end_of_the_turn(void **state)
{
    struct owner *of_turn[2 * FEW + 2];
    create_with_redis();
    for (unsigned i = 0; i < FEW; i++)
        of_turn[i] = begin_new();
    assert_true(turn_is_collecting(turn));
    of_turn[FEW] = begin_new();
    assert_false(turn_is_collecting(turn));
    assert_int_equal(told_n, 0);
    for (unsigned i = FEW + 1; i < 2 * FEW + 2; i++)
        of_turn[i] = begin_new();
    assert_true(turn_is_collecting(turn));
    run_until_answered();
    for (unsigned i = 0; i < 2 * FEW + 2; i++) {
        assert_string_equal(of_turn[i]->reply, "ok");
        free(of_turn[i]);
    }
    turn_destroy(turn);
}

/* Both directions of each connection to Redis. */
static void shut_connections(void)
{
    unsigned n = 0;
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_un peer = {.sun_family = AF_UNSPEC};
        socklen_t size = sizeof peer;
        bool is_ours = getpeername(fd, (struct sockaddr *)&peer, &size) == 0 &&
                       peer.sun_family == AF_UNIX &&
                       strcmp(peer.sun_path, redis_fixture.address.path) == 0;
        n += is_ours && shutdown(fd, SHUT_RDWR) == 0;
    }
    assert_int_equal(n, 1);
}

/* That the connection broke is noticed at the end of the turn, not by those who begin a call. */
static void a_redis_that_hangs_up_under_calls_that_go_early_is_noticed_later(void **state)
{
    struct owner *of_turn[FEW + 1];
    create_with_redis();
    signal(SIGPIPE, SIG_IGN); /* as nodes do */
    shut_connections();
    for (unsigned i = 0; i <= FEW; i++) {
        of_turn[i] = begin_new();
        assert_int_equal(told_n, 0);
    }
    run_until_answered();
    assert_int_equal(told_n, FEW + 1);
    for (unsigned i = 0; i <= FEW; i++) {
        assert_int_equal(of_turn[i]->error, ERR_REDIS_LOST);
        free(of_turn[i]);
    }
    turn_destroy(turn);
}

static void owners_that_go_while_their_verbs_run_hear_nothing(void **state)
{
    struct orphan orphan = {0};
    create_with_redis();
    struct owner *gone = begin_new(), *left = begin_new(), *stays = begin_new();
    redis_fixture_stop();
    turn_flush(turn);
    forget_owner(gone);
    call_leave(&left->call, on_orphan, &orphan);
    free(left);
    assert_int_equal(turn_pending_n(turn), 3);
    redis_fixture_go_on();
    run_until_answered();
    assert_int_equal(told_n, 1);
    assert_string_equal(stays->reply, "ok");
    assert_int_equal(orphan.told_n, 1);
    assert_int_equal(orphan.error, ERR_OK);
    turn_destroy(turn);
    free(stays);
}

static void a_turn_that_is_destroyed_while_verbs_run_tells_those_who_wait(void **state)
{
    struct orphan orphan = {0};
    create_with_redis();
    redis_fixture_stop();
    struct owner *gone = begin_new(), *left = begin_new(), *sent = begin_new();
    turn_flush(turn);
    struct owner *collected = begin_new();
    forget_owner(gone);
    call_leave(&left->call, on_orphan, &orphan);
    free(left);
    turn_destroy(turn);
    assert_int_equal(told_n, 2);
    assert_int_equal(sent->error, ERR_REDIS_LOST);
    assert_int_equal(collected->error, ERR_REDIS_LOST);
    assert_int_equal(orphan.told_n, 1);
    assert_int_equal(orphan.error, ERR_REDIS_LOST);
    redis_fixture_go_on();
    free(sent);
    free(collected);
}

static char redis_said[4096]; /* the begin of its last answer */

/* A command of an operator's, its words separated by spaces. */
static void ask_redis(const char *text)
{
    struct sync *sync = sync_create(&(struct sync_config){.address = &redis_fixture.address,
                                                          .prefix = "parley:{0}:",
                                                          .name = "test-turn",
                                                          .patience_ms = 20000});
    struct str words[8], rest = str_of(text);
    size_t n = 0;
    while (rest.at != NULL)
        words[n++] = str_cut(&rest, ' ');
    struct sync_answer answer;
    assert_int_equal(sync_command(sync, words, n, 0, &answer), ERR_OK);
    struct str said = answer.n == 0 ? STR("") : answer.at[0];
    snprintf(redis_said, sizeof redis_said, "%.*s", STR_ARG(said));
    sync_destroy(sync);
}

/* Redis's number for the turn's connection; 0: it has none. */
static uint64_t connection_id(void)
{
    ask_redis("CLIENT LIST");
    struct str rest = str_of(redis_said);
    while (rest.at != NULL) {
        struct str line = str_cut(&rest, '\n');
        if (str_has_prefix(line, STR("id=")) &&
            memmem(line.at, line.n, " name=parley-turn ", 18) != NULL)
            return strtoull(line.at + 3, NULL, 10);
    }
    return 0;
}

static void flush_library(void)
{
    ask_redis("FUNCTION FLUSH");
}

/* A Redis that lost the library refuses the batch, which waits for it to be loaded: the turn goes
 * at each step of that. */
static void a_turn_that_is_destroyed_while_the_library_is_loaded_tells_those_who_wait(void **state)
{
    for (unsigned round = 0; round < 18; round++) {
        create_with_redis();
        flush_library();
        struct owner *owner = begin_new();
        turn_flush(turn);
        for (unsigned steps = round % 6; steps > 0 && owner->told_n == 0; steps--)
            run_once();
        turn_destroy(turn);
        assert_int_equal(owner->told_n, 1);
        free(owner);
    }
}

static enum err run_verb(void)
{
    struct owner *owner = begin_new();
    run_until_answered();
    enum err error = owner->error;
    free(owner);
    return error;
}

static void an_outage_for_want_of_room_for_the_library_ends_with_on_up(void **state)
{
    flush_library();
    ask_redis("CONFIG SET maxmemory 1");
    create_with_redis();
    assert_int_equal(run_verb(), ERR_STORE_FULL);
    assert_int_equal(turn_trouble(turn), REDIS_NO_ROOM);
    assert_int_equal(up_n, 1);
    ask_redis("CONFIG SET maxmemory 0");
    assert_int_equal(run_verb(), ERR_OK);
    assert_int_equal(turn_trouble(turn), REDIS_FINE);
    assert_int_equal(up_n, 2);
    turn_destroy(turn);
}

static void an_outage_that_passes_into_a_full_redis_ends_with_on_up_then(void **state)
{
    create_with_redis();
    ask_redis("CONFIG SET min-replicas-to-write 1");
    assert_int_equal(run_verb(), ERR_STORE_READONLY);
    assert_int_equal(turn_trouble(turn), REDIS_NOREPLICAS);
    assert_int_equal(up_n, 1);
    ask_redis("CONFIG SET min-replicas-to-write 0 maxmemory 1");
    (void)run_verb();
    assert_int_equal(turn_trouble(turn), REDIS_FULL);
    assert_int_equal(up_n, 2);
    ask_redis("CONFIG SET maxmemory 0");
    assert_int_equal(run_verb(), ERR_OK);
    assert_int_equal(turn_trouble(turn), REDIS_FINE);
    assert_int_equal(up_n, 2);
    turn_destroy(turn);
}

/* Redis answers the greeting, and not FUNCTION LOAD, which is a write. */
static void a_connection_on_which_the_library_does_not_load_is_given_up(void **state)
{
    flush_library();
    ask_redis("CLIENT PAUSE 600000 WRITE");
    create(&redis_fixture.address);
    uint64_t first, next;
    while ((first = connection_id()) == 0)
        run_once();
    while ((next = connection_id()) == first || next == 0)
        run_once();
    assert_false(is_up);
    ask_redis("CLIENT UNPAUSE");
    while (!is_up)
        run_once();
    turn_destroy(turn);
}

static int set_up(void **state)
{
    log_setup(LOG_ERROR, false);
    loop_init(&loop);
    return redis_fixture_init() ? 0 : -1;
}

static int tear_down(void **state)
{
    redis_fixture_fini();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_hears_of_a_lost_redis_before_turn_end_returns),
        cmocka_unit_test(a_verb_begun_in_a_callback_with_the_same_handle_is_for_the_next_round),
        cmocka_unit_test(destroy_tells_those_who_wait),
        cmocka_unit_test(what_is_begun_while_a_turn_is_destroyed_ends_detached),
        cmocka_unit_test(a_call_that_was_detached_before_it_is_sent_hears_nothing),
        cmocka_unit_test(an_owner_that_goes_inside_the_callback_of_another_hears_nothing),
        cmocka_unit_test(a_call_may_be_detached_when_nothing_is_under_way),
        cmocka_unit_test(what_an_owner_leaves_is_told_to_its_orphan_once),
        cmocka_unit_test(a_connection_over_tcp_probes_a_silent_redis),
        cmocka_unit_test(a_batch_with_a_lane_that_overflowed_is_not_sent),
        cmocka_unit_test(each_of_a_thousand_calls_of_one_turn_is_answered_once_with_its_own_reply),
        cmocka_unit_test(an_idle_redis_gets_eight_calls_before_the_end_of_the_turn),
        cmocka_unit_test(a_redis_that_hangs_up_under_calls_that_go_early_is_noticed_later),
        cmocka_unit_test(owners_that_go_while_their_verbs_run_hear_nothing),
        cmocka_unit_test(a_turn_that_is_destroyed_while_verbs_run_tells_those_who_wait),
        cmocka_unit_test(a_turn_that_is_destroyed_while_the_library_is_loaded_tells_those_who_wait),
        cmocka_unit_test(an_outage_for_want_of_room_for_the_library_ends_with_on_up),
        cmocka_unit_test(an_outage_that_passes_into_a_full_redis_ends_with_on_up_then),
        cmocka_unit_test(a_connection_on_which_the_library_does_not_load_is_given_up),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
