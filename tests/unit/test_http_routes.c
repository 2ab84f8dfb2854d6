/* SPDX-License-Identifier: MIT
 * test_http_routes.c - what routes say of themselves, over a socket: named segments, methods, the
 * largest body, targets in absolute form; and when long bodies are handled. */
#include "tests/unit/http_fixture.h"

enum { SMALL = 4096, LARGE = 40 << 10 };

static void put_param(struct buf *b, struct str value)
{
    buf_put_json(b, value);
    buf_put_char(b, ' ');
}

static void show(struct request *r)
{
    struct buf b;
    buf_init(&b, SMALL);
    put_param(&b, request_path_param(r, "id"));
    if (strstr(r->route->path, "{index}") != NULL)
        put_param(&b, request_path_param(r, "index"));
    put_param(&b, request_param(r, "x"));
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static void take(struct request *r)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%zu", request_entity(r).n);
    respond_json_fixed(r, 200, (struct str){text, (size_t)n});
}

/* --- long bodies ------------------------------------------------------------------------------ */

static char order[200]; /* l: a long body was handled, t: a turn of the loop has ended */
static sem_t go;

static void note(char what)
{
    size_t n = strlen(order);
    if (n + 1 < sizeof order)
        order[n] = what;
}

/* Takes all the time of a pass. */
static void work(struct request *r)
{
    for (uint64_t end_us = clock_thread_us() + PASS_US; clock_thread_us() < end_us;)
        ;
    note('l');
    take(r);
}

static void note_turn(void *arg)
{
    (void)arg;
    note('t');
}

/* Until all bodies are there. */
static void hold_loop(void *arg)
{
    fixture.loop.on_pass_end = note_turn;
    while (sem_wait(&go) != 0)
        ;
}

static void end_noting(void *arg)
{
    fixture.loop.on_pass_end = NULL;
}

/* An answer that has become larger than its buffer. */
static void overflow(struct request *r)
{
    struct buf b;
    buf_init(&b, SMALL);
    buf_put_char(&b, '[');
    while (!b.is_over)
        buf_lit(&b, "\"text\",");
    if (request_param(r, "kind").n == 0)
        respond_json(r, 200, &b);
    else
        respond_text(r, 200, "text/plain", &b);
    buf_fini(&b);
}

/* What is asked for is refused, with a long reason if `n` says so. */
static void refuse(struct request *r)
{
    uint64_t n = 0;
    if (!request_param_u64(r, "n", 0, 1 << 20, 4, &n))
        return;
    char *detail = request_alloc(r, n + 1);
    memset(detail, 'x', n);
    detail[n] = 0;
    respond_error_more(r, ERR_CONFLICT, detail, "\"depth\":5", 0);
}

/* Errors of a form other than a problem document. */
static const char *put_error(struct buf *b, const struct problem *problem)
{
    buf_printf(b, "{\"error\":{\"code\":\"%s\",\"message\":", problem->info->code);
    buf_put_json(b, str_of(problem->detail));
    buf_lit(b, "}}");
    return "application/json";
}

static const struct route routes[] = {
    {"GET", "/refuse", ROLES_NONE, refuse},
    {"GET", "/own", ROLES_NONE, refuse, .put_problem = put_error},
    {"POST", "/own", ROLES_NONE, take, .put_problem = put_error},
    {"GET", "/overflow", ROLES_NONE, overflow},
    {"GET", "/docs/{id}", ROLES_NONE, show},
    {"DELETE", "/docs/{id}", ROLES_NONE, show},
    {"GET", "/docs/{id}/chunks/{index}", ROLES_NONE, show},
    {"POST", "/small", ROLES_NONE, take},
    {"POST", "/large", ROLES_NONE, take, .body_max_bytes = LARGE},
    {"POST", "/work", ROLES_NONE, work, .body_max_bytes = LARGE},
    {0},
};

static const struct server_config config = {.cors_origins = "*",
                                            .trusted_proxies = "",
                                            .body_max_bytes = SMALL,
                                            .wire.header_max_bytes = 32768,
                                            .wire.idle_ms = 30000};

static char response[16384];

static int ask(const char *line, const char *headers, const char *body)
{
    static char request[4 << 20];
    snprintf(request, sizeof request, "%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n%s",
             line, headers, body);
    return fixture_ask(request, response, sizeof response);
}

static void has(const char *text)
{
    if (strstr(response, text) == NULL)
        fail_msg("no '%s' in: %s", text, response);
}

static void named_segments_reach_the_handler_decoded(void **state)
{
    assert_int_equal(ask("GET /docs/5f?x=1", "", ""), 200);
    has("\r\n\r\n\"5f\" \"1\" ");
    assert_int_equal(ask("GET /docs/a%2Fb%20%C3%A9+c/chunks/%31?x=a+b", "", ""), 200);
    has("\r\n\r\n\"a/b \xc3\xa9+c\" \"1\" \"a b\" ");
}

static void an_answer_that_overflowed_its_buffer_is_500_and_not_cut_off(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(ask(i == 0 ? "GET /overflow" : "GET /overflow?kind=text", "", ""), 500);
        has("\r\ncontent-type: application/problem+json\r\n");
        has("\"code\":\"internal\"");
        has("The response is too large");
        assert_null(strstr(response, "\"text\","));
    }
}

static void a_broken_segment_is_400_and_none_is_404(void **state)
{
    static const char *const broken[] = {"%", "%4", "%zz", "%ff", "a%00b", "%c3", "a%c3%28"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        char line[64];
        snprintf(line, sizeof line, "GET /docs/%s", broken[i]);
        assert_int_equal(ask(line, "", ""), 400);
        has("\"code\":\"bad_request\"");
    }
    assert_int_equal(ask("GET /docs/", "", ""), 404);
    assert_int_equal(ask("GET /docs/1/", "", ""), 404);
    assert_int_equal(ask("GET /docs/1/chunks/", "", ""), 404);
    assert_int_equal(ask("GET /docs//chunks/1", "", ""), 404);
}

static void other_methods_and_OPTIONS_work_for_patterns(void **state)
{
    assert_int_equal(ask("PUT /docs/1", "", ""), 405);
    has("\r\nallow: GET, HEAD, DELETE\r\n");
    assert_int_equal(ask("OPTIONS /docs/1", "Origin: https://a.example\r\n", ""), 204);
    has("\r\nallow: GET, HEAD, DELETE\r\n");
    has("\r\naccess-control-allow-origin: https://a.example\r\n");
}

static void a_target_in_absolute_form_finds_its_route(void **state)
{
    assert_int_equal(ask("GET http://any.example:80/docs/7?x=http://y", "", ""), 200);
    has("\r\n\r\n\"7\" \"http://y\" ");
    assert_int_equal(ask("GET HTTPS://any.example/docs/7", "", ""), 200);
    assert_int_equal(ask("PUT http://any.example/docs/7", "", ""), 405);
    assert_int_equal(ask("GET http://any.example", "", ""), 404);
    assert_int_equal(ask("GET ftp://any.example/docs/7", "", ""), 404);
}

static int post(const char *path, size_t n, bool is_chunked)
{
    static char body[LARGE + 64];
    char line[64], headers[64];
    char *p = body;
    snprintf(line, sizeof line, "POST %s", path);
    snprintf(headers, sizeof headers,
             is_chunked ? "Transfer-Encoding: chunked\r\n" : "Content-Length: %zu\r\n", n);
    if (is_chunked)
        p += sprintf(p, "%zx\r\n", n);
    memset(p, 'x', n);
    strcpy(p + n, is_chunked ? "\r\n0\r\n\r\n" : "");
    return ask(line, headers, body);
}

static void each_route_has_its_own_largest_body(void **state)
{
    for (int is_chunked = 0; is_chunked < 2; is_chunked++) {
        assert_int_equal(post("/small", SMALL, is_chunked), 200);
        assert_int_equal(post("/small", SMALL + 1, is_chunked), 413);
        has("\"code\":\"too_large\"");
        assert_int_equal(post("/large", LARGE, is_chunked), 200);
        has("\r\n\r\n40960");
        assert_int_equal(post("/large", LARGE + 1, is_chunked), 413);
        has("\"code\":\"too_large\"");
    }
}

static void a_body_that_announces_more_than_any_route_takes_is_refused_unsent(void **state)
{
    assert_int_equal(ask("POST /small", "Content-Length: 500000000\r\n", ""), 413);
    has("\"code\":\"too_large\"");
}

static void a_route_writes_its_errors_in_its_own_form(void **state)
{
    assert_int_equal(ask("GET /refuse", "", ""), 409);
    has("\r\ncontent-type: application/problem+json\r\n");
    has("\"status\":409,\"detail\":\"xxxx\",\"code\":\"conflict\",\"instance\":\"");
    has("\",\"depth\":5}");
    assert_int_equal(ask("GET /own", "", ""), 409);
    has("\r\ncontent-type: application/json\r\n");
    has("\r\n\r\n{\"error\":{\"code\":\"conflict\",\"message\":\"xxxx\"}}");
}

/* Those are answered by the server itself, or by libh2o, before a handler runs. */
static void so_are_the_errors_that_come_before_its_handler(void **state)
{
    for (int is_chunked = 0; is_chunked < 2; is_chunked++) {
        assert_int_equal(post("/own", SMALL + 1, is_chunked), 413);
        has("\r\ncontent-type: application/json\r\n");
        has("\r\n\r\n{\"error\":{\"code\":\"too_large\",\"message\":\"");
    }
    assert_int_equal(ask("POST /own", "Transfer-Encoding: chunked\r\n", "nonsense\r\n"), 400);
    has("\r\ncontent-type: application/json\r\n");
    has("\r\n\r\n{\"error\":{\"code\":\"bad_request\",\"message\":\"");
}

static void an_error_that_is_far_too_long_says_its_code(void **state)
{
    for (int is_own = 0; is_own < 2; is_own++) {
        assert_int_equal(ask(is_own ? "GET /own?n=100000" : "GET /refuse?n=100000", "", ""), 409);
        has("\r\ncontent-type: application/problem+json\r\n");
        has("\"status\":409,\"detail\":\"\",\"code\":\"conflict\",\"instance\":\"\"}");
    }
}

/* Without the end of a turn between them nobody else would be served. */
static void long_bodies_that_come_at_once_are_handled_in_several_turns(void **state)
{
    enum { MANY = 4 };
    static const char head[] = "POST /work HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                               "Content-Length: 40000\r\n\r\n";
    static char body[40000];
    char answer[4096];
    int fds[MANY];
    memset(body, 'x', sizeof body);
    sem_init(&go, 0, 0);
    fixture.job = hold_loop;
    loop_wake(&fixture.loop);
    for (int i = 0; i < MANY; i++) {
        fds[i] = fixture_connect();
        fixture_write(fds[i], head, sizeof head - 1);
        fixture_write(fds[i], body, sizeof body);
    }
    sem_post(&go);
    while (sem_wait(&fixture.done) != 0)
        ;
    for (int i = 0; i < MANY; i++) {
        fixture_read_head(fds[i], answer, sizeof answer);
        assert_true(strncmp(answer, "HTTP/1.1 200", 12) == 0);
        close(fds[i]);
    }
    fixture_do(end_noting, NULL);
    unsigned handled = 0;
    for (const char *at = order; *at != 0; at++)
        handled += *at == 'l';
    assert_int_equal(handled, MANY);
    assert_null(strstr(order, "ll"));
}

static int set_up(void **state)
{
    fixture_start(&config, routes);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_segments_reach_the_handler_decoded),
        cmocka_unit_test(an_answer_that_overflowed_its_buffer_is_500_and_not_cut_off),
        cmocka_unit_test(a_broken_segment_is_400_and_none_is_404),
        cmocka_unit_test(other_methods_and_OPTIONS_work_for_patterns),
        cmocka_unit_test(a_target_in_absolute_form_finds_its_route),
        cmocka_unit_test(each_route_has_its_own_largest_body),
        cmocka_unit_test(a_body_that_announces_more_than_any_route_takes_is_refused_unsent),
        cmocka_unit_test(a_route_writes_its_errors_in_its_own_form),
        cmocka_unit_test(so_are_the_errors_that_come_before_its_handler),
        cmocka_unit_test(an_error_that_is_far_too_long_says_its_code),
        cmocka_unit_test(long_bodies_that_come_at_once_are_handled_in_several_turns),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
