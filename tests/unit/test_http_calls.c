/* SPDX-License-Identifier: MIT
 * test_http_calls.c - request_call and request_on_left of shared/http/request/request.h, over a
 * socket and with a Redis: several verbs of one request under way, and a client that leaves
 * meanwhile. */
#include "generated/verbs.h"
#include "tests/unit/http_fixture.h"

#include "shared/base/log.h"
#include "tests/unit/redis_fixture.h"

enum { CALL_N = 300 }; /* several batches */

static struct turn *turn;
static sem_t is_up, begun, gone;
static unsigned reply_n, left_n, replies_of_used;

/* On the loop's thread, where cmocka's are of no use. */
static void must(bool is_so)
{
    if (!is_so)
        abort();
}

/* A verb with a nonce, in any lane. */
static void begin(struct request *r, enum turn_lane lane, request_reply_cb *on_reply)
{
    static const struct verb_info verbs[LANE_NR] = {
        [LANE_FIRST] = {VERB_NONCE, {"nonce", 5}, LANE_FIRST, true},
        [LANE_CLAIM] = {VERB_NONCE, {"nonce", 5}, LANE_CLAIM, true},
        [LANE_ADD] = {VERB_NONCE, {"nonce", 5}, LANE_ADD, true},
        [LANE_READ] = {VERB_NONCE, {"nonce", 5}, LANE_READ, true},
        [LANE_SLOW] = {VERB_NONCE, {"nonce", 5}, LANE_SLOW, true},
    };
    struct verb_writer verb = writer_begin(request_call(r, on_reply), &verbs[lane]);
    end_verb(&verb);
}

/* --- routes ----------------------------------------------------------------------------------- */

struct many {
    struct left_listener left;
    struct request *r;
    unsigned reply_n;
};

static void on_gone(struct request *r)
{
    sem_post(&gone);
}

static void answer_number(struct request *r, unsigned n)
{
    char text[16];
    int length = snprintf(text, sizeof text, "%u", n);
    respond_json_fixed(r, 200, (struct str){text, (size_t)length});
}

/* The first half of the replies begins a verb each. */
static void on_one(struct request *r, enum err error, struct str reply)
{
    struct many *many = r->state;
    must(error == ERR_OK && str_eq(reply, STR("ok")));
    if (++many->reply_n <= CALL_N)
        begin(r, LANE_FIRST, on_one);
    if (many->reply_n == 2 * CALL_N)
        answer_number(r, many->reply_n);
}

static struct many *begin_many(struct request *r, request_reply_cb *on_reply)
{
    struct many *many = request_alloc(r, sizeof *many);
    *many = (struct many){.r = r};
    r->state = many;
    r->on_gone = on_gone;
    for (unsigned i = 0; i < CALL_N; i++)
        begin(r, (enum turn_lane)(i % LANE_NR), on_reply);
    return many;
}

static void count_all(struct request *r)
{
    begin_many(r, on_one);
}

static void on_late_reply(struct request *r, enum err error, struct str reply)
{
    struct many *many = r->state;
    many->reply_n++;
    reply_n++;
}

static void on_left(struct left_listener *listener)
{
    left_n++;
    respond_empty(H2O_STRUCT_FROM_MEMBER(struct many, left, listener)->r, 204);
}

static void wait_for_many(struct request *r)
{
    struct many *many = begin_many(r, on_late_reply);
    many->left.on_left = on_left;
    request_on_left(r, &many->left);
    sem_post(&begun);
}

static void on_beside_nonce(struct request *r, enum err error, struct str reply)
{
    replies_of_used++;
}

static void on_nonce(struct request *r, enum err error, struct str reply)
{
    answer_number(r, replies_of_used);
}

/* A nonce that is the same each time, with verbs beside the one that uses it up. */
static void use_nonce(struct request *r)
{
    r->nonce = (struct nonce_id){.bytes = "the one nonce", .is_set = true};
    begin(r, LANE_FIRST, on_nonce);
    for (unsigned i = 0; i < 3; i++)
        begin(r, LANE_READ, on_beside_nonce);
}

struct listeners {
    struct left_listener first, second, third;
    struct request *r;
};

static void on_first_left(struct left_listener *listener)
{
    struct listeners *all = H2O_STRUCT_FROM_MEMBER(struct listeners, first, listener);
    left_n++;
    request_off_left(all->r, &all->first); /* listens no more */
    respond_empty(all->r, 204);
}

static void on_second_left(struct left_listener *listener)
{
    must(false); /* it was taken off */
}

static void on_third_left(struct left_listener *listener)
{
    struct listeners *all = H2O_STRUCT_FROM_MEMBER(struct listeners, third, listener);
    left_n++;
    request_off_left(all->r, &all->second);
    request_on_left(all->r, &all->third); /* it has left already */
}

static void listen_thrice(struct request *r)
{
    struct listeners *all = request_alloc(r, sizeof *all);
    *all = (struct listeners){.first = {.on_left = on_first_left},
                              .second = {.on_left = on_second_left},
                              .third = {.on_left = on_third_left},
                              .r = r};
    r->on_gone = on_gone;
    request_on_left(r, &all->first);
    request_on_left(r, &all->second);
    request_on_left(r, &all->third);
    sem_post(&begun);
}

static const struct route routes[] = {
    {"GET", "/all", ROLES_NONE, count_all},
    {"GET", "/wait", ROLES_NONE, wait_for_many},
    {"GET", "/nonce", ROLES_NONE, use_nonce},
    {"GET", "/listen", ROLES_NONE, listen_thrice},
    {0},
};

/* --- tests ------------------------------------------------------------------------------------ */

static void await(sem_t *happened)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    assert_int_equal(sem_timedwait(happened, &until), 0);
}

static void count_pending(void *arg)
{
    *(size_t *)arg = turn_pending_n(turn);
}

static int ask(const char *path, char *response, size_t size)
{
    char request[128];
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
             path);
    return fixture_ask(request, response, size);
}

/* Sends a request and leaves once its handler has run. */
static void ask_and_leave(const char *path)
{
    char request[128];
    int n = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    int fd = fixture_connect();
    fixture_write(fd, request, (size_t)n);
    await(&begun);
    close(fd);
    await(&gone);
}

static void all_calls_of_a_request_are_answered_and_their_handles_used_again(void **state)
{
    char response[4096];
    assert_int_equal(ask("/all", response, sizeof response), 200);
    assert_non_null(strstr(response, "\r\n\r\n600"));
    await(&gone);
}

static void calls_of_a_client_that_left_run_nothing_when_their_replies_come(void **state)
{
    size_t pending_n;
    left_n = 0;
    redis_fixture_stop();
    ask_and_leave("/wait");
    fixture_do(count_pending, &pending_n);
    assert_int_equal(pending_n, CALL_N);
    redis_fixture_go_on();
    while (pending_n > 0)
        fixture_do(count_pending, &pending_n);
    assert_int_equal(reply_n, 0);
    assert_int_equal(left_n, 1);
}

static void a_nonce_that_was_used_ends_all_calls_beside_it(void **state)
{
    char response[4096];
    size_t pending_n = 1;
    assert_int_equal(ask("/nonce", response, sizeof response), 200);
    assert_int_equal(ask("/nonce", response, sizeof response), 401);
    while (pending_n > 0)
        fixture_do(count_pending, &pending_n);
    assert_int_equal(replies_of_used, 3); /* of the first request */
}

static void each_listener_hears_once_that_the_client_left_unless_it_was_taken_off(void **state)
{
    left_n = 0;
    ask_and_leave("/listen");
    assert_int_equal(left_n, 2);
}

/* --- set-up ----------------------------------------------------------------------------------- */

static void on_event(void *arg, struct str event)
{
}

static void on_turn_up(void *arg)
{
    sem_post(&is_up);
}

static void on_turn_lost(void *arg)
{
    must(false);
}

static void on_sent(void *arg, unsigned verb_n)
{
}

static void on_pass_end(void *arg)
{
    turn_flush(turn);
}

static void create_turn(void *arg)
{
    static const struct turn_config config = {.prefix = "parley:{0}:",
                                              .node_id = "n1",
                                              .lease_ms = 60000,
                                              .delivery_ms = 2000,
                                              .max_attempts = 3,
                                              .queue_max = 1000,
                                              .on_event = on_event,
                                              .on_up = on_turn_up,
                                              .on_lost = on_turn_lost,
                                              .on_sent = on_sent};
    turn = turn_create(&fixture.loop, &redis_fixture.address, &config);
    static struct shards shards;
    shards = (struct shards){.n = 1, .turns = {turn}};
    fixture.server.shards = &shards;
    fixture.loop.on_pass_end = on_pass_end;
}

static int set_up(void **state)
{
    static const struct server_config config = {.cors_origins = "*",
                                                .trusted_proxies = "",
                                                .body_max_bytes = 4096,
                                                .wire.header_max_bytes = 32768,
                                                .wire.idle_ms = 30000};
    log_setup(LOG_ERROR, false);
    sem_init(&is_up, 0, 0);
    sem_init(&begun, 0, 0);
    sem_init(&gone, 0, 0);
    if (!redis_fixture_init())
        return -1;
    fixture_start(&config, routes);
    fixture_do(create_turn, NULL);
    await(&is_up);
    return 0;
}

static void destroy_turn(void *arg)
{
    fixture.loop.on_pass_end = NULL;
    turn_destroy(turn);
}

static int tear_down(void **state)
{
    fixture_do(destroy_turn, NULL);
    redis_fixture_fini();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_calls_of_a_request_are_answered_and_their_handles_used_again),
        cmocka_unit_test(calls_of_a_client_that_left_run_nothing_when_their_replies_come),
        cmocka_unit_test(a_nonce_that_was_used_ends_all_calls_beside_it),
        cmocka_unit_test(each_listener_hears_once_that_the_client_left_unless_it_was_taken_off),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
