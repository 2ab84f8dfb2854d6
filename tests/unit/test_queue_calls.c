/* SPDX-License-Identifier: MIT
 * test_queue_calls.c - polls and questions of shared/queue that go while their verb is under way,
 * with a Redis that is stopped meanwhile: what the verb did is undone. */
#include "generated/verbs.h"
#include "shared/queue/core.h"
#include "shared/queue/question.h"
#include "shared/queue/view.h"
#include "tests/unit/queue_fixture.h"

#include <stdlib.h>

struct engine {
    struct poll poll;
    unsigned claim_n, end_n;
    enum err error;
};

static bool is_alive(struct poll *poll)
{
    return true;
}

static void on_claim(struct poll *poll, struct claim *claim)
{
    H2O_STRUCT_FROM_MEMBER(struct engine, poll, poll)->claim_n++;
    queue_give_back(queue, claim->work, claim->topic, claim->lease, false);
}

static void on_end(struct poll *poll, enum err error)
{
    struct engine *engine = H2O_STRUCT_FROM_MEMBER(struct engine, poll, poll);
    engine->end_n++;
    engine->error = error;
}

static struct engine *start_poll_for(struct str models, bool may_park)
{
    struct engine *engine = calloc(1, sizeof *engine);
    assert_non_null(engine);
    engine->poll = (struct poll){.is_alive = is_alive, .on_claim = on_claim, .on_end = on_end};
    queue_poll_start(queue, &engine->poll, STR("engine"), models, NULL, may_park);
    assert_int_equal(engine->poll.state, POLL_CLAIMING);
    return engine;
}

static struct engine *start_poll(bool may_park)
{
    return start_poll_for(STR("*"), may_park);
}

static void leave(struct engine *engine)
{
    queue_poll_cancel(queue, &engine->poll);
    assert_int_equal(engine->poll.state, POLL_IDLE);
    assert_int_equal(engine->claim_n + engine->end_n, 0);
    free(engine);
}

static unsigned asked_n, ended_n, last_check_n;
static char asked_key[64]; /* of the last question's topic */
static enum question_outcome ended_with;
static enum question_progress ended_at;

static void on_asked(void *context, struct str topic, bool is_new)
{
    asked_n++;
    snprintf(asked_key, sizeof asked_key, "parley:{0}:t:%.*s", STR_ARG(topic));
}

static void on_question_end(void *context, const struct question_end *end)
{
    ended_n++;
    ended_with = end->outcome;
    ended_at = end->progress;
}

static void on_last_check(void *context)
{
    last_check_n++;
}

static struct question *ask_for(uint64_t deadline_ms, bool is_followed)
{
    static const struct question_events events = {
        .on_asked = on_asked, .on_last_check = on_last_check, .on_end = on_question_end};
    const struct question_settings settings = {.user = STR("User_1"),
                                               .user_name = STR("User_1"),
                                               .account = STR("User_1"),
                                               .query = STR("How long?"),
                                               .messages = STR("[]"),
                                               .scope = STR("o:User_1"),
                                               .temperature = -1,
                                               .deadline_ms = deadline_ms,
                                               .is_followed = is_followed};
    asked_n = ended_n = last_check_n = 0;
    return question_start(queue, &settings, &events, NULL);
}

static struct question *ask(void)
{
    return ask_for(60000, false);
}

static void command(const char *command, const char *key, const char *value)
{
    struct str words[] = {str_of(command), str_of(key), str_of(value)};
    struct blocking_answer answer;
    assert_int_equal(blocking_command(redis, words, 3, 0, &answer), ERR_OK);
}

static uint64_t number(const char *command, const char *key)
{
    struct str words[] = {str_of(command), str_of(key)};
    struct blocking_answer answer;
    uint64_t n = 0;
    assert_int_equal(blocking_command(redis, words, 2, 0, &answer), ERR_OK);
    assert_true(answer.n == 1 && str_parse_u64(answer.at[0], &n));
    return n;
}

/* One poll that ends makes an engine known: from then on questions are taken. */
static void make_engine_known(void)
{
    while (number("HLEN", "parley:{0}:engines") == 0) {
        struct engine *engine = start_poll(false);
        run_until_answered();
        assert_int_equal(engine->end_n, 1);
        free(engine);
        run_once();
    }
}

static void sync_now(void)
{
    part_sync_by(&queue->parts[0], 0);
    run_once();
    run_until_answered();
}

static void count_class(void *arg, const struct view_class *class)
{
    (*(unsigned *)arg)++;
}

static unsigned class_n(void)
{
    unsigned n = 0;
    view_classes(queue, count_class, &n);
    return n;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void a_poll_that_leaves_while_it_claims_gives_its_credit_back(void **state)
{
    struct engine *stays = start_poll(true);
    run_until_answered();
    assert_int_equal(stays->poll.state, POLL_PARKED);
    assert_int_equal(number("ZCARD", "parley:{0}:idle"), 1);
    redis_fixture_stop();
    struct engine *gone = start_poll(true);
    shards_flush(queue_shards(queue));
    leave(gone);
    queue_poll_cancel(queue, &stays->poll);
    free(stays);
    redis_fixture_go_on();
    run_until_answered();
    assert_int_equal(number("ZCARD", "parley:{0}:idle"), 0);
}

static void a_poll_that_leaves_while_it_claims_gives_its_claim_back(void **state)
{
    make_engine_known();
    struct question *question = ask();
    run_until_answered();
    assert_int_equal(asked_n, 1);
    redis_fixture_stop();
    struct engine *gone = start_poll(true);
    shards_flush(queue_shards(queue));
    leave(gone);
    redis_fixture_go_on();
    run_until_answered();
    assert_int_equal(number("ZCARD", "parley:{0}:leases"), 0);
    struct engine *next = start_poll(true);
    run_until_answered();
    assert_int_equal(next->claim_n, 1);
    free(next);
    question_cancel(question, 0);
    run_until_answered();
}

/* The claim is there before the other poll is parked. */
static void a_claim_of_a_poll_that_left_goes_to_one_that_waits(void **state)
{
    make_engine_known();
    struct question *question = ask();
    run_until_answered();
    redis_fixture_stop();
    struct engine *gone = start_poll(true);
    shards_flush(queue_shards(queue));
    struct engine *stays = start_poll(true);
    shards_flush(queue_shards(queue));
    leave(gone);
    redis_fixture_go_on();
    run_until_answered();
    assert_int_equal(stays->claim_n, 1);
    free(stays);
    question_cancel(question, 0);
    run_until_answered();
}

static void a_question_that_ends_while_it_is_asked_leaves_the_queue(void **state)
{
    make_engine_known();
    redis_fixture_stop();
    struct question *question = ask();
    shards_flush(queue_shards(queue));
    question_cancel(question, 0);
    redis_fixture_go_on();
    run_until_answered();
    assert_int_equal(asked_n + ended_n, 0);
    assert_int_equal(number("ZCARD", "parley:{0}:asks"), 0);
}

static void a_question_that_ends_while_it_is_looked_for_hears_nothing(void **state)
{
    make_engine_known();
    struct question *question = ask();
    run_until_answered();
    redis_fixture_stop();
    queue_each_watch(queue); /* looks */
    assert_int_equal(shards_pending_n(queue_shards(queue)), 1);
    shards_flush(queue_shards(queue));
    question_cancel(question, 0);
    redis_fixture_go_on();
    run_until_answered();
    assert_int_equal(ended_n, 0);
    assert_int_equal(number("ZCARD", "parley:{0}:asks"), 0);
}

/* Nothing looks again after an error that is no outage. */
static void a_question_whose_look_breaks_ends(void **state)
{
    make_engine_known();
    (void)ask();
    run_until_answered();
    assert_int_equal(asked_n, 1);
    command("SET", asked_key, "no hash");
    queue_each_watch(queue);
    run_until_answered();
    assert_int_equal(ended_n, 1);
    assert_int_equal(ended_with, QUESTION_LOST);
    number("DEL", asked_key);
}

/* Nobody was notified of its outcome, as if the message was lost. */
static void an_owner_that_follows_its_question_checks_once_more_at_its_deadline(void **state)
{
    make_engine_known();
    struct question *question = ask_for(500, true);
    run_until_answered();
    assert_int_equal(asked_n, 1);
    struct str words[] = {STR("HSET"), str_of(asked_key), STR("s:1"), STR("F")};
    struct blocking_answer answer;
    assert_int_equal(blocking_command(redis, words, 4, 0, &answer), ERR_OK);
    while (last_check_n + ended_n == 0)
        run_once();
    run_until_answered();
    assert_int_equal(last_check_n, 1);
    assert_int_equal(ended_n, 0); /* it is given time to read what it finds */
    question_cancel(question, 0);
    run_until_answered();
}

static void without_an_outcome_a_followed_question_ends_with_how_far_it_came(void **state)
{
    make_engine_known();
    (void)ask_for(500, true);
    run_until_answered();
    while (ended_n == 0)
        run_once();
    assert_int_equal(last_check_n, 1);
    assert_int_equal(ended_with, QUESTION_TIMEOUT);
    assert_int_equal(ended_at, QUESTION_OPEN);
    run_until_answered();
}

static void a_question_is_in_doubt_until_it_is_known_whether_an_engine_is_there(void **state)
{
    const struct verb_counts *counts = &metrics.verbs[VERB_ENGINES];
    make_engine_known();
    (void)ask();
    run_until_answered();
    assert_int_equal(asked_n, 1);
    command("SET", "parley:{0}:engines", "no hash");
    int64_t errors = counts->errors;
    while (counts->errors == errors)
        run_once();
    assert_int_equal(ended_n, 0);
    number("DEL", "parley:{0}:engines");
    while (ended_n == 0)
        run_once();
    assert_int_equal(ended_with, QUESTION_NO_ENGINE);
    queue_forget_engine(queue, STR("engine"), STR("")); /* its next poll is reported at once */
}

static void a_queue_that_is_destroyed_ends_what_is_under_way(void **state)
{
    make_engine_known();
    redis_fixture_stop();
    struct engine *gone = start_poll(true), *stays = start_poll(true);
    struct question *question = ask();
    shards_flush(queue_shards(queue));
    leave(gone);
    question_cancel(question, 0);
    question = ask();
    queue_destroy(queue);
    redis_fixture_go_on();
    assert_int_equal(stays->end_n, 1);
    assert_int_equal(stays->error, ERR_REDIS_LOST);
    assert_int_equal(ended_n, 1);
    free(stays);
    create_queue();
}

/* What ends sets a timer, which must not stay in the loop when the queue's memory is freed. */
static void a_queue_that_is_destroyed_while_it_reaps_leaves_no_timer(void **state)
{
    struct deadline other = {.on_expire = NULL};
    part_reap_by(queue_part(queue, STR("")), 0);
    redis_fixture_stop();
    run_once();
    assert_true(shards_pending_n(queue_shards(queue)) >= 1); /* a sync may be due, too */
    loop_set_deadline(&loop, &other, 60000);
    queue_destroy(queue);
    loop_cancel_deadline(&loop, &other);
    redis_fixture_go_on();
    create_queue();
}

/* Its claim runs before the sync, its reply is not there yet when the sync is written. */
static void a_sync_leaves_the_credit_of_a_poll_that_is_claiming(void **state)
{
    struct engine *parked = start_poll(true);
    run_until_answered();
    redis_fixture_stop();
    struct engine *claiming = start_poll(true);
    shards_flush(queue_shards(queue));
    part_sync_by(&queue->parts[0], 0);
    run_once();
    redis_fixture_go_on();
    run_until_answered();
    assert_int_equal(claiming->poll.state, POLL_PARKED);
    struct str two_credits[] = {STR("ZCOUNT"), STR("parley:{0}:idle"), STR("2"), STR("(3")};
    struct blocking_answer answer;
    assert_int_equal(blocking_command(redis, two_credits, 4, 0, &answer), ERR_OK);
    assert_true(answer.n == 1 && str_eq(answer.at[0], STR("1")));
    queue_poll_cancel(queue, &parked->poll);
    queue_poll_cancel(queue, &claiming->poll);
    free(parked);
    free(claiming);
    run_until_answered();
}

/* Engines choose their lists of models: a node would grow with each of them. */
static void lists_of_models_that_nobody_polls_for_are_forgotten(void **state)
{
    char models[16];
    sync_now();
    unsigned before_n = class_n();
    uint64_t credits_n = number("ZCARD", "parley:{0}:idle");
    for (unsigned i = 0; i < 50; i++) {
        snprintf(models, sizeof models, "model-%u", i);
        struct engine *engine = start_poll_for(str_of(models), i == 0);
        run_until_answered();
        if (i == 0)
            queue_poll_cancel(queue, &engine->poll);
        free(engine);
    }
    struct engine *stays = start_poll_for(STR("x"), true);
    sync_now();
    assert_int_equal(class_n(), before_n + 1);
    assert_int_equal(stays->poll.state, POLL_PARKED);
    queue_poll_cancel(queue, &stays->poll); /* it was stated: the next sync states 0 */
    free(stays);
    sync_now();
    sync_now();
    assert_int_equal(class_n(), before_n);
    assert_int_equal(number("ZCARD", "parley:{0}:idle"), credits_n);
}

static struct watch watches[3];
static unsigned changed_n;

static void on_changed_unwatch_all(struct watch *watch)
{
    changed_n++;
    for (unsigned i = 0; i < 3; i++)
        queue_unwatch(queue, &watches[i]);
}

static void a_watch_may_end_others_while_all_are_called(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        watches[i] =
            (struct watch){.topic = STR("t"), .seq = 1, .on_changed = on_changed_unwatch_all};
        queue_watch(queue, &watches[i]);
    }
    changed_n = 0;
    queue_each_watch(queue);
    queue_each_watch(queue);
    assert_int_equal(changed_n, 1);
}

static void kill_connections(void)
{
    struct str words[] = {STR("CLIENT"), STR("KILL"), STR("TYPE"), STR("normal")};
    struct blocking_answer answer;
    assert_int_equal(blocking_command(redis, words, 4, 0, &answer), ERR_OK);
    while (turn_is_up(shards_cluster(queue_shards(queue))))
        run_once();
}

/* No sync has stated that credit: the next one would pass over its class. */
static void a_credit_of_a_poll_that_ends_without_a_connection_is_taken_back(void **state)
{
    uint64_t credits_n = number("ZCARD", "parley:{0}:idle");
    struct engine *engine = start_poll_for(STR("lost"), true);
    run_until_answered();
    assert_int_equal(engine->poll.state, POLL_PARKED);
    assert_int_equal(number("ZCARD", "parley:{0}:idle"), credits_n + 1);
    kill_connections();
    leave(engine);
    while (!queue_is_usable(queue))
        run_once();
    run_until_answered();
    sync_now();
    assert_int_equal(number("ZCARD", "parley:{0}:idle"), credits_n);
}

/* Neither what took the credit back nor the sync that stated none has run. */
static void what_a_lost_sync_stated_is_stated_again(void **state)
{
    uint64_t credits_n = number("ZCARD", "parley:{0}:idle");
    struct engine *engine = start_poll_for(STR("stated"), true);
    run_until_answered();
    assert_int_equal(number("ZCARD", "parley:{0}:idle"), credits_n + 1);
    struct str pause[] = {STR("CLIENT"), STR("PAUSE"), STR("60000"), STR("WRITE")};
    struct blocking_answer answer;
    assert_int_equal(blocking_command(redis, pause, 4, 0, &answer), ERR_OK);
    leave(engine);
    part_sync_by(&queue->parts[0], 0);
    run_once();
    assert_true(shards_pending_n(queue_shards(queue)) > 0);
    kill_connections();
    assert_int_equal(number("ZCARD", "parley:{0}:idle"), credits_n + 1);
    struct str unpause[] = {STR("CLIENT"), STR("UNPAUSE")};
    assert_int_equal(blocking_command(redis, unpause, 2, 0, &answer), ERR_OK);
    while (!queue_is_usable(queue))
        run_once();
    run_until_answered();
    sync_now();
    assert_int_equal(number("ZCARD", "parley:{0}:idle"), credits_n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_poll_that_leaves_while_it_claims_gives_its_credit_back),
        cmocka_unit_test(a_poll_that_leaves_while_it_claims_gives_its_claim_back),
        cmocka_unit_test(a_claim_of_a_poll_that_left_goes_to_one_that_waits),
        cmocka_unit_test(a_question_that_ends_while_it_is_asked_leaves_the_queue),
        cmocka_unit_test(a_question_that_ends_while_it_is_looked_for_hears_nothing),
        cmocka_unit_test(a_question_whose_look_breaks_ends),
        cmocka_unit_test(an_owner_that_follows_its_question_checks_once_more_at_its_deadline),
        cmocka_unit_test(without_an_outcome_a_followed_question_ends_with_how_far_it_came),
        cmocka_unit_test(a_question_is_in_doubt_until_it_is_known_whether_an_engine_is_there),
        cmocka_unit_test(a_queue_that_is_destroyed_ends_what_is_under_way),
        cmocka_unit_test(a_queue_that_is_destroyed_while_it_reaps_leaves_no_timer),
        cmocka_unit_test(a_sync_leaves_the_credit_of_a_poll_that_is_claiming),
        cmocka_unit_test(lists_of_models_that_nobody_polls_for_are_forgotten),
        cmocka_unit_test(a_watch_may_end_others_while_all_are_called),
        cmocka_unit_test(a_credit_of_a_poll_that_ends_without_a_connection_is_taken_back),
        cmocka_unit_test(what_a_lost_sync_stated_is_stated_again),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
