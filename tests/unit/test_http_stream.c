/* SPDX-License-Identifier: MIT
 * test_http_stream.c - shared/http/request/stream.h over a socket: how events are written, and what
 * a reader that does not read costs. */
#include "tests/unit/http_fixture.h"

#include "shared/http/request/stream.h"

enum { MAX_BYTES = 1 << 16, TEXT_BYTES = 1000 };

struct feed {
    struct stream stream;
    struct deadline next;
};

static sem_t cut, gone;
static char text[TEXT_BYTES + 1];

static void on_gone(struct request *r)
{
    struct feed *feed = r->state;
    loop_cancel_deadline(r->server->loop, &feed->next);
    stream_fini(&feed->stream);
    sem_post(&gone);
}

static struct feed *start(struct request *r, enum stream_form form)
{
    struct feed *feed = request_alloc(r, sizeof *feed);
    memset(feed, 0, sizeof *feed);
    stream_init(&feed->stream, r, form, true, MAX_BYTES);
    r->state = feed;
    r->on_gone = on_gone;
    stream_start(&feed->stream);
    return feed;
}

static void some(struct request *r)
{
    bool is_data_first = request_param_is_true(r, "data-first");
    struct feed *feed = start(r, is_data_first ? STREAM_DATA_FIRST : STREAM_EVENT_FIRST);
    struct stream *s = &feed->stream;
    stream_put(s, "trace", STR(""), STR("{\"n\":1}"));
    stream_flush(s);
    stream_put(s, "trace", STR("1-2"), STR("{\"n\":2}"));
    stream_put(s, "complete", STR(""), STR("{}"));
    stream_end(s);
    stream_put(s, "late", STR(""), STR("{}"));
    stream_flush(s);
    stream_end(s);
}

/* More and more, whether it is read or not. */
static void on_next(struct deadline *deadline)
{
    struct feed *feed = H2O_STRUCT_FROM_MEMBER(struct feed, next, deadline);
    for (int i = 0; i < 20; i++)
        stream_put(&feed->stream, "more", STR(""), (struct str){text, TEXT_BYTES});
    stream_flush(&feed->stream);
    if (stream_is_over(&feed->stream))
        sem_post(&cut);
    else
        loop_set_deadline(feed->stream.r->server->loop, &feed->next, 1);
}

static void endless(struct request *r)
{
    struct feed *feed = start(r, STREAM_EVENT_FIRST);
    feed->next.on_expire = on_next;
    loop_set_deadline(r->server->loop, &feed->next, 0);
}

/* Only as much as is read. */
static void on_idle(struct stream *stream)
{
    stream_put(stream, "more", STR(""), (struct str){text, TEXT_BYTES});
    stream_flush(stream);
}

static void patient(struct request *r)
{
    struct feed *feed = start(r, STREAM_EVENT_FIRST);
    feed->stream.on_idle = on_idle;
}

static const struct route routes[] = {
    {"GET", "/some", ROLES_NONE, some},
    {"GET", "/endless", ROLES_NONE, endless},
    {"GET", "/patient", ROLES_NONE, patient},
    {0},
};

static const struct server_config config = {.cors_origins = "*",
                                            .trusted_proxies = "",
                                            .body_max_bytes = 4096,
                                            .wire.header_max_bytes = 32768,
                                            .wire.idle_ms = 30000};

static void open_stream(int fd, const char *path)
{
    char request[128], head[4096];
    int n = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    fixture_write(fd, request, (size_t)n);
    fixture_read_head(fd, head, sizeof head);
    assert_non_null(strstr(head, "HTTP/1.1 200 "));
    assert_non_null(strstr(head, "content-type: text/event-stream\r\n"));
    assert_non_null(strstr(head, "cache-control: no-cache, no-transform\r\n"));
    assert_non_null(strstr(head, "x-accel-buffering: no\r\n"));
}

/* The next chunk of the answer; NULL at its end, or when it was cut off. */
static const char *next_chunk(int fd, bool *ret_is_whole)
{
    static char chunk[MAX_BYTES * 2];
    char line[32];
    size_t n = 0;
    unsigned long size;
    *ret_is_whole = false;
    for (;;) {
        if (n + 1 >= sizeof line || !fixture_read(fd, line + n, 1))
            return NULL;
        if (line[n++] == '\n')
            break;
    }
    line[n] = 0;
    size = strtoul(line, NULL, 16);
    assert_true(size + 2 < sizeof chunk);
    if (!fixture_read(fd, chunk, size + 2))
        return NULL;
    *ret_is_whole = chunk[size] == '\r' && chunk[size + 1] == '\n';
    chunk[size] = 0;
    return size == 0 || !*ret_is_whole ? NULL : chunk;
}

static void await(sem_t *happened)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    assert_int_equal(sem_timedwait(happened, &until), 0);
}

static void events_have_id_event_and_data_and_end_with_the_answer(void **state)
{
    static const char expected[] =
        ": here\n\nevent: trace\ndata: {\"n\":1}\n\nid: 1-2\nevent: trace\ndata: {\"n\":2}\n\n"
        "event: complete\ndata: {}\n\n";
    char all[sizeof expected + 256] = "";
    const char *chunk;
    bool is_whole;
    int fd = fixture_connect();
    open_stream(fd, "/some");
    while ((chunk = next_chunk(fd, &is_whole)) != NULL)
        strncat(all, chunk, sizeof all - strlen(all) - 1);
    assert_true(is_whole);
    assert_string_equal(all, expected);
    close(fd);
    await(&gone);
}

static void with_data_first_each_event_is_one_write(void **state)
{
    static const char *const expected[] = {": here\n\n", "data: {\"n\":1}\nevent: trace\n\n",
                                           "id: 1-2\ndata: {\"n\":2}\nevent: trace\n\n",
                                           "data: {}\nevent: complete\n\n"};
    bool is_whole;
    int fd = fixture_connect();
    open_stream(fd, "/some?data-first=1");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_string_equal(next_chunk(fd, &is_whole), expected[i]);
    assert_null(next_chunk(fd, &is_whole));
    assert_true(is_whole);
    close(fd);
    await(&gone);
}

static void a_reader_that_does_not_read_is_cut_off_between_two_events(void **state)
{
    const char *chunk;
    size_t read_n = 0;
    bool is_whole;
    int fd = fixture_connect();
    open_stream(fd, "/endless");
    await(&cut);
    while ((chunk = next_chunk(fd, &is_whole)) != NULL) {
        size_t n = strlen(chunk);
        read_n += n;
        assert_string_equal(chunk + n - 2, "\n\n");
    }
    assert_false(is_whole);
    assert_true(read_n > MAX_BYTES);
    close(fd);
    await(&gone);
}

static void a_reader_that_leaves_ends_its_stream(void **state)
{
    bool is_whole;
    int fd = fixture_connect();
    open_stream(fd, "/patient");
    for (int i = 0; i < 100; i++)
        assert_non_null(next_chunk(fd, &is_whole));
    close(fd);
    await(&gone);
}

static int set_up(void **state)
{
    memset(text, 'x', TEXT_BYTES);
    sem_init(&cut, 0, 0);
    sem_init(&gone, 0, 0);
    fixture_start(&config, routes);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_have_id_event_and_data_and_end_with_the_answer),
        cmocka_unit_test(with_data_first_each_event_is_one_write),
        cmocka_unit_test(a_reader_that_does_not_read_is_cut_off_between_two_events),
        cmocka_unit_test(a_reader_that_leaves_ends_its_stream),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
