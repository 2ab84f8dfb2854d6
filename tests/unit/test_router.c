/* SPDX-License-Identifier: MIT
 * test_router.c - shared/http/router.h: which route a method and path have. */
#include "shared/http/router.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void handle(struct request *r)
{
    (void)r;
}

static const struct route first[] = {
    {"GET", "/api/topic", 0, handle, false},
    {"DELETE", "/api/topic", 0, handle, false},
    {"DEL", "/api/topic", 0, handle, false},
    {"GET", "/", 0, handle, false},
    {0},
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

static void another_method_names_those_that_are_allowed(void **state)
{
    const struct route *const tables[] = {first, second, NULL};
    struct router *router = router_create(tables);
    const char *allow = NULL;
    assert_null(find(router, "PUT", "/api/topic", &allow));
    assert_string_equal(allow, "GET, DELETE, DEL, POST");
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
static void many_routes_are_told_apart(void **state)
{
    enum { N = 120 };
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
    assert_null(find(router, "GET", "/p120", &allow));
    router_destroy(router);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_of_all_tables_are_found_by_method_and_path),
        cmocka_unit_test(another_method_names_those_that_are_allowed),
        cmocka_unit_test(an_unknown_path_has_nothing),
        cmocka_unit_test(no_tables_have_no_routes),
        cmocka_unit_test(many_routes_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
