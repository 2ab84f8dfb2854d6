/* SPDX-License-Identifier: MIT
 * test_router.c - shared/http/request/router.h: which route a method and path have. */
#include "shared/http/request/request.h"
#include "shared/http/request/router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void handle(struct request *r)
{
    (void)r;
}

static const struct route first[] = {
    {"GET", "/api/topic", 0, handle, false},        {"DELETE", "/api/topic", 0, handle, false},
    {"DEL", "/api/topic", 0, handle, false},        {"GET", "/", 0, handle, false},
    {"GET", "/poll", 0, handle, .hands_out = true}, {0},
};
static const struct route second[] = {
    {"POST", "/api/topic", 0, handle, false},
    {"POST", "/api/topics", 0, handle, false},
    {0},
};

static const struct route *find(const struct router *router, const char *method, const char *path,
                                const char **ret_allow)
{
    return router_find(router, str_of(method), str_of(path), ret_allow);
}

static void routes_of_all_tables_are_found_by_method_and_path(void **state)
{
    const struct route *const tables[] = {first, second, NULL};
    struct router *router = router_create(tables);
    const char *allow;
    assert_ptr_equal(find(router, "GET", "/api/topic", &allow), &first[0]);
    assert_ptr_equal(find(router, "DELETE", "/api/topic", &allow), &first[1]);
    assert_ptr_equal(find(router, "DEL", "/api/topic", &allow), &first[2]);
    assert_ptr_equal(find(router, "POST", "/api/topic", &allow), &second[0]);
    assert_ptr_equal(find(router, "POST", "/api/topics", &allow), &second[1]);
    assert_ptr_equal(find(router, "GET", "/", &allow), &first[3]);
    router_destroy(router);
}

static void HEAD_is_taken_by_a_GET_that_hands_nothing_out(void **state)
{
    const struct route *const tables[] = {first, second, NULL};
    struct router *router = router_create(tables);
    const char *allow = NULL;
    assert_ptr_equal(find(router, "HEAD", "/api/topic", &allow), &first[0]);
    assert_null(find(router, "HEAD", "/api/topics", &allow));
    assert_null(find(router, "HEAD", "/poll", &allow));
    assert_string_equal(allow, "GET");
    router_destroy(router);
}

static const char *put_own(struct buf *b, const struct problem *problem)
{
    (void)b, (void)problem;
    return "text/plain";
}

static void errors_in_a_folder_without_a_route_look_like_those_of_its_speaker(void **state)
{
    static const struct route doors[] = {
        {"GET", "/v1/things", 0, handle, .speaks_for_folder = true, .put_problem = put_own},
        {"GET", "/v1/plain", 0, handle},
        {0},
    };
    const struct route *const tables[] = {first, doors, NULL};
    struct router *router = router_create(tables);
    static const char *const inside[] = {"/v1", "/v1/", "/v1/nothing", "/v1/a/b"};
    static const char *const outside[] = {"/", "/v", "/v10", "/v10/x", "/api/v1/x"};
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
        assert_ptr_equal(router_problem_writer(router, NULL, str_of(inside[i])), put_own);
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        assert_null(router_problem_writer(router, NULL, str_of(outside[i])));
    assert_ptr_equal(router_problem_writer(router, &doors[0], STR("/")), put_own);
    assert_null(router_problem_writer(router, &doors[1], STR("/v1/plain")));
    assert_null(router_problem_writer(router, NULL, (struct str){NULL, 0}));
    router_destroy(router);
}

static const char *put_inner(struct buf *b, const struct problem *problem)
{
    (void)b, (void)problem;
    return "text/html";
}

static void the_speaker_of_the_innermost_folder_is_asked(void **state)
{
    static const struct route doors[] = {
        {"GET", "/v1/inner/x", 0, handle, .speaks_for_folder = true, .put_problem = put_inner},
        {"GET", "/v1/things", 0, handle, .speaks_for_folder = true, .put_problem = put_own},
        {0},
    };
    const struct route *const tables[] = {first, doors, NULL};
    struct router *router = router_create(tables);
    assert_ptr_equal(router_problem_writer(router, NULL, STR("/v1/inner")), put_inner);
    assert_ptr_equal(router_problem_writer(router, NULL, STR("/v1/inner/a/b")), put_inner);
    assert_ptr_equal(router_problem_writer(router, NULL, STR("/v1/inners")), put_own);
    router_destroy(router);
}

static void another_method_names_those_that_are_allowed(void **state)
{
    const struct route *const tables[] = {first, second, NULL};
    struct router *router = router_create(tables);
    const char *allow = NULL;
    assert_null(find(router, "PUT", "/api/topic", &allow));
    assert_string_equal(allow, "GET, HEAD, DELETE, DEL, POST");
    assert_null(find(router, "get", "/api/topics", &allow));
    assert_string_equal(allow, "POST");
    router_destroy(router);
}

static void an_unknown_path_has_nothing(void **state)
{
    static const char *const unknown[] = {"",           "/api", "/api/topic/",
                                          "/api/Topic", "//",   "/api/topicx"};
    const struct route *const tables[] = {first, second, NULL};
    struct router *router = router_create(tables);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const char *allow = "?";
        assert_null(find(router, "GET", unknown[i], &allow));
        assert_null(allow);
    }
    router_destroy(router);
}

static void no_tables_have_no_routes(void **state)
{
    const struct route *const tables[] = {NULL};
    struct router *router = router_create(tables);
    const char *allow = "?";
    assert_null(find(router, "GET", "/", &allow));
    assert_null(allow);
    router_destroy(router);
    router_destroy(NULL);
}

/* As many as it takes, so that slots collide. */
static void many_routes_are_distinguished(void **state)
{
    enum { N = 250 };
    static char paths[N][16];
    static struct route many[N + 1];
    for (int i = 0; i < N; i++) {
        snprintf(paths[i], sizeof paths[i], "/p%d", i);
        many[i] = (struct route){"GET", paths[i], 0, handle, false};
    }
    const struct route *const tables[] = {many, NULL};
    struct router *router = router_create(tables);
    const char *allow;
    for (int i = 0; i < N; i++)
        assert_ptr_equal(find(router, "GET", paths[i], &allow), &many[i]);
    assert_null(find(router, "GET", "/p250", &allow));
    router_destroy(router);
}

static const struct route documents[] = {
    {"GET", "/api/docs/{id}", 0, handle, false},
    {"GET", "/api/docs", 0, handle, false},
    {"GET", "/api/docs/", 0, handle, false},
    {"DELETE", "/api/docs/{id}", 0, handle, false},
    {"POST", "/api/docs/upload", 0, handle, false},
    {"POST", "/api/docs/{id}/reindex", 0, handle, false},
    {"GET", "/api/docs/{id}/chunks/{index}", 0, handle, false},
    {"GET", "/ws/{room}", 0, handle, false},
    {0},
};

static void a_pattern_takes_one_segment_for_each_name(void **state)
{
    const struct route *const tables[] = {documents, NULL};
    struct router *router = router_create(tables);
    const char *allow = NULL;
    assert_ptr_equal(find(router, "GET", "/api/docs/5f", &allow), &documents[0]);
    assert_ptr_equal(find(router, "DELETE", "/api/docs/5f", &allow), &documents[3]);
    assert_ptr_equal(find(router, "POST", "/api/docs/5f/reindex", &allow), &documents[5]);
    assert_ptr_equal(find(router, "GET", "/api/docs/5f/chunks/0", &allow), &documents[6]);
    assert_ptr_equal(find(router, "GET", "/ws/a%2Fb", &allow), &documents[7]);
    assert_null(find(router, "PUT", "/api/docs/5f", &allow));
    assert_string_equal(allow, "GET, HEAD, DELETE");
    assert_null(find(router, "GET", "/api/docs/5f/reindex", &allow));
    assert_string_equal(allow, "POST");
    router_destroy(router);
}

static void an_exact_path_is_found_before_a_pattern(void **state)
{
    const struct route *const tables[] = {documents, NULL};
    struct router *router = router_create(tables);
    const char *allow = NULL;
    assert_ptr_equal(find(router, "GET", "/api/docs", &allow), &documents[1]);
    assert_ptr_equal(find(router, "GET", "/api/docs/", &allow), &documents[2]);
    assert_ptr_equal(find(router, "POST", "/api/docs/upload", &allow), &documents[4]);
    assert_null(find(router, "GET", "/api/docs/upload", &allow));
    assert_string_equal(allow, "POST");
    router_destroy(router);
}

static void a_path_with_more_less_or_empty_segments_matches_no_pattern(void **state)
{
    static const char *const unknown[] = {"/api/docs/a/",
                                          "/api/docs//reindex",
                                          "/api/docs/a/b",
                                          "/api/docs/a/chunks",
                                          "/api/docs/a/chunks/",
                                          "/api/docs/a/chunks/1/",
                                          "api/docs/a",
                                          "/ws/",
                                          "/ws"};
    const struct route *const tables[] = {documents, NULL};
    struct router *router = router_create(tables);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        const char *allow = "?";
        assert_null(find(router, "GET", unknown[i], &allow));
        assert_null(allow);
    }
    router_destroy(router);
}

static void a_named_segment_is_read_from_the_path(void **state)
{
    struct str pattern = STR("/api/docs/{id}/chunks/{index}");
    struct str path = STR("/api/docs/a%20b/chunks/12");
    assert_true(str_eq(router_segment(pattern, path, STR("id")), STR("a%20b")));
    assert_true(str_eq(router_segment(pattern, path, STR("index")), STR("12")));
    assert_null(router_segment(pattern, path, STR("docs")).at);
    assert_null(router_segment(pattern, path, STR("i")).at);
    assert_true(router_is_pattern(pattern));
    assert_false(router_is_pattern(path));
    assert_false(router_is_pattern(STR("/a/{}/x{y}")));
}

static void a_target_in_absolute_form_has_its_path(void **state)
{
    static const char *const cases[][3] = {
        {"/a/b?x=1", "/a/b", "x=1"},
        {"/a?", "/a", ""},
        {"/a", "/a", NULL},
        {"http://host:80/a/b?x=http://y/", "/a/b", "x=http://y/"},
        {"HTTPS://host/a", "/a", NULL},
        {"http://host", "/", NULL},
        {"http://host?x=/1", "/", "x=/1"},
        {"http://", "/", NULL},
        {"*", "*", NULL},
        {"ftp://host/a", "ftp://host/a", NULL},
        {"http:/a", "http:/a", NULL},
        {"/http://host/a", "/http://host/a", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct str got_path, got_query;
        request_split_target(str_of(cases[i][0]), &got_path, &got_query);
        assert_true(str_eq(got_path, str_of(cases[i][1])));
        assert_true(str_eq(got_query, str_of(cases[i][2])));
        assert_int_equal(got_query.at == NULL, cases[i][2] == NULL);
    }
}

static void a_misspelt_path_gets_the_closest_one(void **state)
{
    static const struct route routes[] = {
        {"POST", "/api/add-query", 0, handle, false},
        {"GET", "/api/docs", 0, handle, false},
        {"GET", "/api/docs/{id}", 0, handle, false},
        {"GET", "/api/docs/{id}/text", 0, handle, false},
        {"GET", "/api/docs/{id}/text/", 0, handle, false},
        {"GET", "/ask", 0, handle, false},
        {0},
    };
    static const char *const cases[][2] = {
        {"/api/ad-query", "/api/add-query"},
        {"/api/ADD_QUERY/", "/api/add-query"},
        {"/add-query", "/api/add-query"},
        {"/api/doc", "/api/docs"},
        {"/api/doc/0123", "/api/docs/{id}"},
        {"/api/docs/0123/texts", "/api/docs/{id}/text"},
        {"/asks", "/ask"},
        {"/api", NULL},
        {"/", NULL},
        {"", NULL},
        {"*", NULL},
        {"/api/", NULL},
        {"/api/add-query/now", NULL},
        {"/api/nothing", NULL},
    };
    const struct route *const tables[] = {routes, NULL};
    struct router *router = router_create(tables);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *nearest = router_nearest(router, str_of(cases[i][0]));
        if (cases[i][1] == NULL)
            assert_null(nearest);
        else
            assert_true(nearest != NULL && strncmp(nearest, cases[i][1], strlen(cases[i][1])) == 0);
    }
    router_destroy(router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_of_all_tables_are_found_by_method_and_path),
        cmocka_unit_test(HEAD_is_taken_by_a_GET_that_hands_nothing_out),
        cmocka_unit_test(errors_in_a_folder_without_a_route_look_like_those_of_its_speaker),
        cmocka_unit_test(the_speaker_of_the_innermost_folder_is_asked),
        cmocka_unit_test(another_method_names_those_that_are_allowed),
        cmocka_unit_test(an_unknown_path_has_nothing),
        cmocka_unit_test(no_tables_have_no_routes),
        cmocka_unit_test(many_routes_are_distinguished),
        cmocka_unit_test(a_pattern_takes_one_segment_for_each_name),
        cmocka_unit_test(an_exact_path_is_found_before_a_pattern),
        cmocka_unit_test(a_path_with_more_less_or_empty_segments_matches_no_pattern),
        cmocka_unit_test(a_named_segment_is_read_from_the_path),
        cmocka_unit_test(a_target_in_absolute_form_has_its_path),
        cmocka_unit_test(a_misspelt_path_gets_the_closest_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
