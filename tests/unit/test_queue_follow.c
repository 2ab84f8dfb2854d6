/* SPDX-License-Identifier: MIT
 * test_queue_follow.c - shared/queue/follow.h without a transport: what a reader is given of a
 * query whose state the test itself writes to Redis, and when. How it looks as events is tested by
 * tests/http/sse*.test.mjs. */
#include "shared/queue/follow.h"
#include "tests/unit/queue_fixture.h"

enum { PIECES_PAGE = 256, TRANSCRIPT_MAX = 1 << 20 };

#define TOPIC "topic-1"
#define KEY "parley:{0}:t:" TOPIC
#define PIECES "parley:{0}:partials:" TOPIC ":1"
#define ROW "1742864523456\nFrontend_1 alice default 1\n\"alice\"\n\"default\"\n{}\n\n\"How long?\""
#define STORED "\n[\"so\",\"I think\"]\n\"m\"\n1742864523456\nInference_1"

/* --- a reader --------------------------------------------------------------------------------- */

static struct reader {
    struct follow follow;
    struct buf transcript; /* "event id text|"; without an id where there is none */
    unsigned piece_n, given_n, changed_n;
    bool is_ready, is_over;
} reader;

static void say(const char *event, struct str id, struct str text)
{
    assert_false(reader.is_over);
    buf_put(&reader.transcript, str_of(event));
    buf_put_char(&reader.transcript, ' ');
    buf_put(&reader.transcript, id);
    buf_put(&reader.transcript, id.n > 0 ? STR(" ") : STR(""));
    buf_put(&reader.transcript, text);
    buf_put_char(&reader.transcript, '|');
}

static void on_piece(struct follow *follow, enum follow_kind kind, struct str text,
                     struct piece_id id)
{
    char bytes[PIECE_ID_BYTES];
    static const char *const names[FOLLOW_NR] = {"think", "answer", "delta", "reset"};
    assert_ptr_equal(follow, &reader.follow);
    reader.piece_n++;
    say(names[kind], kind == FOLLOW_RESET ? STR("") : piece_id_put(id, bytes), text);
}

static void on_restart(struct follow *follow)
{
    say("restart", STR(""), STR(""));
}

static void on_position(struct follow *follow, uint64_t position, struct str eta)
{
    char bytes[PIECE_ID_BYTES];
    say("position", piece_id_put((struct piece_id){position, 0}, bytes), eta);
}

static void on_given(struct follow *follow)
{
    reader.given_n++;
}

static void on_end(struct follow *follow, const struct outcome *outcome)
{
    say("end", STR(""), outcome == NULL ? STR("missing") : outcome->status);
    reader.is_over = true;
    follow_fini(follow);
}

static bool is_ready(struct follow *follow)
{
    return reader.is_ready;
}

static void on_changed(struct follow *follow)
{
    reader.changed_n++;
}

/* A reader of the query, which follow_start begins to read. */
static void open_reader(struct piece_id seen)
{
    static const struct follow_events events = {.on_piece = on_piece,
                                                .on_restart = on_restart,
                                                .on_position = on_position,
                                                .on_given = on_given,
                                                .on_end = on_end,
                                                .is_ready = is_ready};
    reader = (struct reader){.is_ready = true};
    buf_init(&reader.transcript, TRANSCRIPT_MAX);
    follow_init(&reader.follow, queue, &events, seen);
    follow_watch(&reader.follow, STR(TOPIC), 1);
}

static void start(struct piece_id seen)
{
    open_reader(seen);
    follow_start(&reader.follow);
    run_until_answered();
}

static void stop(void)
{
    follow_fini(&reader.follow);
    buf_fini(&reader.transcript);
}

/* Since it was last asked. */
static void assert_given(const char *expected)
{
    buf_terminate(&reader.transcript);
    assert_string_equal(reader.transcript.at, expected);
    buf_clear(&reader.transcript);
}

/* --- a query ---------------------------------------------------------------------------------- */

static void command(size_t n, const char *const *texts)
{
    struct str words[10];
    struct blocking_answer answer;
    for (size_t i = 0; i < n; i++)
        words[i] = str_of(texts[i]);
    assert_int_equal(blocking_command(redis, words, n, 0, &answer), ERR_OK);
}

#define COMMAND(...)                                                                               \
    command(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *),                     \
            (const char *const[]){__VA_ARGS__})

/* `state`: "P <lease> <attempt> <account> <rows of that claim>". */
static void set_claim(const char *state)
{
    COMMAND("DEL", KEY, PIECES);
    COMMAND("HSET", KEY, "q:1", ROW, "s:1", state);
}

static void add_piece(const char *id, const char *kind, const char *text)
{
    COMMAND("XADD", PIECES, id, "k", kind, "x", text);
}

static void add_pieces(unsigned n)
{
    char id[32];
    for (unsigned i = 1; i <= n; i++) {
        snprintf(id, sizeof id, "1-%u", i);
        add_piece(id, "a", "x");
    }
}

static void set_answer(const char *stored)
{
    COMMAND("HSET", KEY, "s:1", "D", "a:1", stored);
}

/* As the bus brings them. */
static void notify_change(void)
{
    queue_on_event(queue, 0, STR("changed\n" TOPIC "\n1"));
    run_until_answered();
}

static void bring_piece(const char *id, const char *kind, const char *text)
{
    char event[256];
    snprintf(event, sizeof event, "piece\n" TOPIC "\n1\n%s\n%s\n%s", id, kind, text);
    queue_on_event(queue, 0, str_of(event));
    run_until_answered();
}

static void run_until_given(void)
{
    uint64_t until_ms = clock_mono_ms() + 10000;
    while (reader.transcript.n == 0 && clock_mono_ms() < until_ms)
        run_once();
}

/* --- tests ------------------------------------------------------------------------------------ */

static const struct piece_id nothing_seen;

static void texts_are_given_once_and_add_up_to_the_stored_answer(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-2", "t", "so");
    add_piece("1-6", "a", "150 ");
    start(nothing_seen);
    assert_given("think 1-2 so|answer 1-6 150 |");
    notify_change();
    assert_given("");
    add_piece("1-9", "a", "sec");
    notify_change();
    assert_given("answer 1-9 sec|");
    assert_int_equal(reader.given_n, 3);
    set_answer("[\"150 sec\",\"or so.\"]" STORED);
    notify_change();
    assert_given("answer 1-17 \n\nor so.|end Done|");
    stop();
}

static void an_outcome_that_comes_alone_is_given_with_its_thoughts(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    start(nothing_seen);
    set_answer("[\"150\"]" STORED);
    queue_on_event(queue, 0, STR("outcome\n" TOPIC "\n1\nDone\n" ROW "\n[\"150\"]" STORED));
    run_until_answered();
    assert_given("think 1-11 so\n\nI think|answer 1-14 150|end Done|");
    stop();
}

static void a_stored_answer_that_begins_otherwise_is_given_whole(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-3", "a", "200");
    start(nothing_seen);
    set_answer("[\"150\"]" STORED);
    notify_change();
    assert_given("answer 1-3 200|reset 150|end Done|");
    stop();
}

static void a_lost_claim_is_reported_before_the_texts_of_the_next_one(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-3", "a", "200");
    start(nothing_seen);
    set_claim("P 8 1 Inference_2 1");
    COMMAND("HSET", KEY, "k:1", "1");
    notify_change();
    add_piece("2-3", "a", "150");
    notify_change();
    assert_given("answer 1-3 200|restart |answer 2-3 150|");
    COMMAND("HSET", KEY, "s:1", "F \"no engine could\"", "k:1", "2");
    notify_change();
    assert_given("end Failed|");
    stop();
}

static void messages_bring_pieces_and_nothing_is_read(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    start(nothing_seen);
    redis_fixture_stop();
    bring_piece("1-2", "t", "so");
    bring_piece("1-6", "a", "150\n");
    bring_piece("1-6", "a", "150\n"); /* twice */
    bring_piece("1-8", "a", "\nse");  /* overlaps */
    bring_piece("2-3", "a", "100");   /* another claim, from its start */
    redis_fixture_go_on();
    assert_given("think 1-2 so|answer 1-6 150\n|answer 1-8 se|restart |answer 2-3 100|");
    bring_piece("1-99", "a", "late");
    assert_given("");
    stop();
}

static void a_missed_message_is_noticed_by_the_next_one(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    start(nothing_seen);
    add_piece("1-3", "a", "150");
    add_piece("1-7", "a", " sec");
    bring_piece("1-7", "a", " sec");
    assert_given("answer 1-3 150|answer 1-7  sec|");
    set_claim("P 8 1 Inference_1 1"); /* of the next claim, too */
    COMMAND("HSET", KEY, "k:1", "1");
    add_piece("2-3", "a", "150");
    add_piece("2-7", "a", " sec");
    bring_piece("2-7", "a", " sec");
    assert_given("restart |answer 2-3 150|answer 2-7  sec|");
    stop();
}

static void what_comes_while_redis_is_asked_is_neither_lost_nor_given_twice(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-3", "a", "150");
    open_reader(nothing_seen);
    follow_start(&reader.follow);
    bring_piece("1-3", "a", "150"); /* before the reply */
    run_until_answered();
    assert_given("answer 1-3 150|");
    assert_int_equal(reader.given_n, 1);
    follow_check(&reader.follow);
    shards_flush(queue_shards(queue));
    queue_on_event(queue, 0, STR("piece\n" TOPIC "\n1\n1-7\na\n sec")); /* it is not stored yet */
    add_piece("1-7", "a", " sec");
    run_until_answered();
    assert_given("answer 1-7  sec|");
    stop();
}

/* Nothing is stored, and nothing is read. */
static void pieces_for_a_reader_that_is_not_ready_are_given_later(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    start(nothing_seen);
    redis_fixture_stop();
    reader.is_ready = false;
    bring_piece("1-3", "a", "150");
    bring_piece("1-6", "t", "hm.");
    bring_piece("1-6", "t", ""); /* that it is stored */
    assert_given("");
    reader.is_ready = true;
    bring_piece("1-10", "a", " sec"); /* not before those */
    assert_given("answer 1-3 150|think 1-6 hm.|answer 1-10  sec|");
    reader.is_ready = false;
    bring_piece("1-11", "a", "s");
    reader.is_ready = true;
    follow_resume(&reader.follow);
    redis_fixture_go_on();
    assert_given("answer 1-11 s|");
    stop();
}

static void a_gap_among_pieces_that_were_kept_is_read(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    start(nothing_seen);
    reader.is_ready = false;
    add_piece("1-3", "a", "150");
    add_piece("1-7", "a", " sec");
    bring_piece("1-7", "a", " sec");
    reader.is_ready = true;
    follow_resume(&reader.follow);
    run_until_answered();
    assert_given("answer 1-3 150|answer 1-7  sec|");
    stop();
}

/* As the engine's own node brings them: what is read says that it is watched, and before the reply
 * it brings what is not stored. */
static void what_is_not_stored_is_read_for_once(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-3", "a", "150");
    open_reader(nothing_seen);
    follow_start(&reader.follow);
    queue_on_event(queue, 0, STR("piece\n" TOPIC "\n1\n1-7\na\n sec"));
    queue_on_event(queue, 0, STR("piece\n" TOPIC "\n1\n1-10\nt\nhm."));
    run_until_given();
    assert_given("answer 1-3 150|answer 1-7  sec|think 1-10 hm.|");
    assert_int_equal(reader.follow.state, FOLLOW_WAITING);
    stop();
}

/* More than is kept is read when it is stored, and not looked for all the time until then. */
static void too_much_to_keep_is_read(void **state)
{
    enum { TEXT_BYTES = 80 << 10 };
    static const char start_of[] = "piece\n" TOPIC "\n1\n1-81920\na\n";
    static char event[sizeof start_of + TEXT_BYTES];
    strcpy(event, start_of);
    memset(event + sizeof start_of - 1, 'x', TEXT_BYTES);
    set_claim("P 7 1 Inference_1 1");
    open_reader(nothing_seen);
    follow_start(&reader.follow);
    shards_flush(queue_shards(queue));
    queue_on_event(queue, 0, str_of(event));
    while (reader.follow.state == FOLLOW_READING)
        run_once();
    assert_int_equal(reader.follow.state, FOLLOW_WAITING);
    assert_given("");
    add_piece("1-81920", "a", event + sizeof start_of - 1);
    queue_on_event(queue, 0, STR("piece\n" TOPIC "\n1\n1-81920\na\n"));
    run_until_given();
    assert_int_equal(reader.follow.id.offset, TEXT_BYTES);
    assert_int_equal(reader.piece_n, 1);
    stop();
}

static void a_reader_that_comes_back_is_given_what_it_has_not(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-2", "a", "15");
    add_piece("1-3", "a", "0");
    start((struct piece_id){1, 2});
    assert_true(follow_is_resumed(&reader.follow));
    assert_given("answer 1-3 0|");
    set_answer("[\"150\"]" STORED);
    notify_change();
    assert_given("end Done|");
    stop();
    /* Its pieces have gone: what it has of them nobody knows. */
    COMMAND("DEL", PIECES);
    start((struct piece_id){1, 20});
    assert_given("reset 150|end Done|");
    stop();
    /* No claim of that number was ever there. */
    start((struct piece_id){3, 9});
    assert_given("restart |think 1-11 so\n\nI think|answer 1-14 150|end Done|");
    stop();
}

static void a_reader_may_come_back_within_a_piece(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-9", "a", "150 sécs");
    static const struct {
        uint64_t offset;
        const char *given;
    } rows[] = {{0, "answer 1-9 150 sécs|"}, {1, "answer 1-9 50 sécs|"}, {5, "answer 1-9 écs|"},
                {6, "answer 1-9 cs|"}, /* within a character */
                {7, "answer 1-9 cs|"},       {8, "answer 1-9 s|"},       {9, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start((struct piece_id){1, rows[i].offset});
        assert_given(rows[i].given);
        stop();
    }
    start(nothing_seen); /* for the teardown */
    buf_clear(&reader.transcript);
}

static void one_that_is_ahead_of_what_is_stored_gets_the_whole_at_the_end(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-3", "a", "150");
    start((struct piece_id){1, 5});
    assert_given("");
    bring_piece("1-7", "a", " sec");
    assert_given("answer 1-7 ec|");
    set_answer("[\"150\"]" STORED);
    COMMAND("DEL", PIECES);
    stop();
    start((struct piece_id){1, 99});
    assert_given("reset 150|end Done|");
    stop();
}

static void what_a_reader_has_of_another_query_is_forgotten(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-3", "a", "150");
    open_reader((struct piece_id){1, 5});
    follow_forget_seen(&reader.follow);
    follow_start(&reader.follow);
    run_until_answered();
    assert_given("answer 1-3 150|");
    stop();
}

static void all_pieces_are_read_page_by_page(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_pieces(2 * PIECES_PAGE + 10);
    start(nothing_seen);
    assert_int_equal(reader.piece_n, 2 * PIECES_PAGE + 10);
    assert_int_equal(reader.given_n, 3);
    stop();
}

static void a_reader_that_is_not_ready_costs_one_page(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_pieces(2 * PIECES_PAGE + 10);
    open_reader(nothing_seen);
    follow_start(&reader.follow);
    reader.is_ready = false;
    run_until_answered();
    assert_int_equal(reader.piece_n, PIECES_PAGE);
    notify_change();
    follow_resume(&reader.follow);
    run_until_answered();
    assert_int_equal(reader.piece_n, PIECES_PAGE);
    reader.is_ready = true;
    follow_resume(&reader.follow);
    reader.is_ready = false;
    run_until_answered();
    assert_int_equal(reader.piece_n, 2 * PIECES_PAGE);
    reader.is_ready = true;
    follow_resume(&reader.follow);
    run_until_answered();
    assert_int_equal(reader.piece_n, 2 * PIECES_PAGE + 10);
    follow_resume(&reader.follow); /* nothing waits for it any more */
    assert_int_equal(shards_pending_n(queue_shards(queue)), 0);
    stop();
}

/* No lost connection: nothing else makes it check again. */
static void a_look_that_breaks_is_made_again(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    start(nothing_seen);
    COMMAND("SET", PIECES, "no stream");
    notify_change();
    assert_given("");
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-3", "a", "150");
    run_until_given();
    assert_given("answer 1-3 150|");
    stop();
}

static void a_query_that_is_deleted_ends_it(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    start(nothing_seen);
    COMMAND("DEL", KEY);
    notify_change();
    assert_given("end missing|");
    notify_change(); /* reader.is_over: nothing may come */
    stop();
}

static void a_follow_that_goes_while_it_looks_hears_nothing(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    start(nothing_seen);
    add_piece("1-3", "a", "150");
    redis_fixture_stop();
    queue_on_event(queue, 0, STR("changed\n" TOPIC "\n1"));
    assert_int_equal(shards_pending_n(queue_shards(queue)), 1);
    shards_flush(queue_shards(queue));
    follow_fini(&reader.follow);
    redis_fixture_go_on();
    run_until_answered();
    assert_given("");
    stop();
}

static void one_that_is_stopped_gives_nothing_more(void **state)
{
    set_claim("P 7 1 Inference_1 1");
    add_piece("1-3", "a", "150");
    start((struct piece_id){1, 4});
    follow_stop(&reader.follow);
    add_piece("1-9", "a", "seconds");
    bring_piece("1-9", "a", "seconds");
    notify_change();
    follow_check(&reader.follow);
    follow_resume(&reader.follow);
    assert_int_equal(shards_pending_n(queue_shards(queue)), 0);
    assert_given("");
    stop();
}

static void an_owner_may_decide_what_a_change_is_worth(void **state)
{
    static struct follow_events events;
    set_claim("P 7 1 Inference_1 1");
    open_reader(nothing_seen);
    events = *reader.follow.events;
    events.on_changed = on_changed;
    reader.follow.events = &events;
    notify_change();
    assert_int_equal(reader.changed_n, 0); /* it has not started */
    follow_start(&reader.follow);
    run_until_answered();
    add_piece("1-3", "a", "150");
    notify_change();
    assert_int_equal(reader.changed_n, 1);
    assert_given("");
    follow_check(&reader.follow);
    run_until_answered();
    assert_given("answer 1-3 150|");
    stop();
}

static void a_position_is_reported_when_it_changes(void **state)
{
    COMMAND("DEL", KEY, PIECES);
    COMMAND("HSET", KEY, "q:1", ROW, "open", "1 0 default alice Frontend_1 1;");
    start(nothing_seen);
    assert_given("position 0-0 null|");
    notify_change();
    assert_given("");
    stop();
}

/* Also after one that fails, so that the next ones do not meet its follow. */
static int close_reader(void **state)
{
    stop();
    return 0;
}

#define READER_TEST(test) cmocka_unit_test_teardown(test, close_reader)

int main(void)
{
    const struct CMUnitTest tests[] = {
        READER_TEST(texts_are_given_once_and_add_up_to_the_stored_answer),
        READER_TEST(an_outcome_that_comes_alone_is_given_with_its_thoughts),
        READER_TEST(a_stored_answer_that_begins_otherwise_is_given_whole),
        READER_TEST(a_lost_claim_is_reported_before_the_texts_of_the_next_one),
        READER_TEST(messages_bring_pieces_and_nothing_is_read),
        READER_TEST(a_missed_message_is_noticed_by_the_next_one),
        READER_TEST(what_comes_while_redis_is_asked_is_neither_lost_nor_given_twice),
        READER_TEST(pieces_for_a_reader_that_is_not_ready_are_given_later),
        READER_TEST(a_gap_among_pieces_that_were_kept_is_read),
        READER_TEST(what_is_not_stored_is_read_for_once),
        READER_TEST(too_much_to_keep_is_read),
        READER_TEST(a_reader_that_comes_back_is_given_what_it_has_not),
        READER_TEST(a_reader_may_come_back_within_a_piece),
        READER_TEST(one_that_is_ahead_of_what_is_stored_gets_the_whole_at_the_end),
        READER_TEST(what_a_reader_has_of_another_query_is_forgotten),
        READER_TEST(all_pieces_are_read_page_by_page),
        READER_TEST(a_reader_that_is_not_ready_costs_one_page),
        READER_TEST(a_look_that_breaks_is_made_again),
        READER_TEST(a_query_that_is_deleted_ends_it),
        READER_TEST(a_follow_that_goes_while_it_looks_hears_nothing),
        READER_TEST(one_that_is_stopped_gives_nothing_more),
        READER_TEST(an_owner_may_decide_what_a_change_is_worth),
        READER_TEST(a_position_is_reported_when_it_changes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
