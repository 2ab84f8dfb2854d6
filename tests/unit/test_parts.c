/* SPDX-License-Identifier: MIT
 * test_parts.c - shared/redis/parts.h. */
#include "shared/redis/parts.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MOST = 8 };

struct made {
    redisReply array, texts[MOST], *elements[MOST];
};

static const redisReply *make(struct made *made, unsigned n, const char *const texts[])
{
    for (unsigned i = 0; i < n; i++) {
        made->texts[i] = (redisReply){.type = REDIS_REPLY_ERROR};
        if (texts[i] != NULL)
            made->texts[i] = (redisReply){
                .type = REDIS_REPLY_STRING, .str = (char *)texts[i], .len = strlen(texts[i])};
        made->elements[i] = &made->texts[i];
    }
    made->array = (redisReply){.type = REDIS_REPLY_ARRAY, .elements = n, .element = made->elements};
    return &made->array;
}

static void expect(const redisReply *array, size_t at, const char *text, size_t next)
{
    struct buf joined;
    buf_init(&joined, 1 << 20);
    struct str found = parts_text(array, at, &joined);
    assert_int_equal(found.n, strlen(text));
    assert_memory_equal(found.at, text, found.n);
    if (at < array->elements)
        assert_int_equal(parts_next(array, at), next);
    buf_fini(&joined);
}

static void test_texts_and_parts(void **state)
{
    struct made made;
    const char *texts[] = {"ok",
                           "\1"
                           "3",
                           "claim\n",
                           "row",
                           "",
                           "",
                           "\1"
                           "1",
                           "one"};
    const redisReply *array = make(&made, 8, texts);
    (void)state;
    expect(array, 0, "ok", 1);
    expect(array, 1, "claim\nrow", 5);
    expect(array, 5, "", 6);
    expect(array, 6, "one", 8);
    expect(array, 8, "", 9);
}

/* Of a server that is none of ours. */
static void test_counts_that_are_wrong(void **state)
{
    struct made made;
    const char *const counts[] = {"\1"
                                  "9",
                                  "\1"
                                  "99999999999999999999999",
                                  "\1"
                                  "x",
                                  "\1"
                                  "-1"};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        const char *texts[] = {counts[i], "a", "b"};
        expect(make(&made, 3, texts), 0, "ab", 3);
    }
    const char *alone[] = {"\1"};
    expect(make(&made, 1, alone), 0, "\1", 1);
    const char *none[] = {"\1"
                          "0",
                          "a"};
    expect(make(&made, 2, none), 0,
           "\1"
           "0",
           1);
    const char *broken[] = {NULL,
                            "\1"
                            "2",
                            "a", NULL};
    expect(make(&made, 4, broken), 0, "", 1);
    expect(make(&made, 4, broken), 1, "a", 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_and_parts),
        cmocka_unit_test(test_counts_that_are_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
