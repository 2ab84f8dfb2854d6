/* SPDX-License-Identifier: MIT
 * test_redis_replies.c - shared/redis/replies.c: whatever Redis sends, in whatever pieces, is read
 * as hiredis reads it by itself, and all of it is freed (LeakSanitizer watches). */
#include "shared/redis/replies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <hiredis/hiredis.h>

#include "shared/base/buf.h"

static void assert_same(const redisReply *one, const redisReply *other)
{
    assert_int_equal(one->type, other->type);
    assert_int_equal(one->integer, other->integer);
    assert_int_equal(one->elements, other->elements);
    if (one->type == REDIS_REPLY_INTEGER) { /* hiredis gives it no text */
        assert_int_equal(strtoll(one->str, NULL, 10), other->integer);
    } else {
        assert_int_equal(one->len, other->len);
        assert_int_equal(one->str == NULL, other->str == NULL);
        if (one->str != NULL)
            assert_memory_equal(one->str, other->str, one->len + 1);
    }
    for (size_t i = 0; i < one->elements; i++)
        assert_same(one->element[i], other->element[i]);
}

/* Feeds both readers so many bytes at once, and compares each reply that they find. Returns how
 * many there were. */
static unsigned compare(struct str wire, size_t step)
{
    redisReader *ours = redisReaderCreate(), *plain = redisReaderCreate();
    unsigned n = 0;
    redis_replies_pool(ours);
    for (size_t at = 0; at < wire.n; at += step) {
        size_t more = wire.n - at < step ? wire.n - at : step;
        void *one = NULL, *other = NULL;
        assert_int_equal(redisReaderFeed(ours, wire.at + at, more), REDIS_OK);
        assert_int_equal(redisReaderFeed(plain, wire.at + at, more), REDIS_OK);
        do {
            int found = redisReaderGetReply(plain, &other);
            assert_int_equal(redisReaderGetReply(ours, &one), found);
            assert_int_equal(one == NULL, other == NULL);
            if (one == NULL)
                continue;
            assert_same(one, other);
            ours->fn->freeObject(one);
            freeReplyObject(other);
            n++;
        } while (one != NULL);
    }
    redisReaderFree(ours); /* with what is not whole yet */
    redisReaderFree(plain);
    return n;
}

static const size_t steps[] = {1, 2, 7, 100, 16384, SIZE_MAX / 2};
enum { STEP_NR = sizeof steps / sizeof *steps };

static void each_kind_is_read_as_by_hiredis(void **state)
{
    static const char wire[] = "+OK\r\n-ERR no\r\n:-42\r\n$-1\r\n*-1\r\n$0\r\n\r\n*0\r\n"
                               "*3\r\n$3\r\na\0b\r\n*2\r\n:7\r\n*1\r\n+x\r\n-ERR inside\r\n"
                               "*2\r\n$-1\r\n*2\r\n*0\r\n*-1\r\n";
    for (unsigned i = 0; i < STEP_NR; i++)
        assert_int_equal(compare((struct str){wire, sizeof wire - 1}, steps[i]), 9);
}

/* Strings of all sizes around those of the chunks, so that each begins in one and ends in another.
 */
static void strings_of_any_size_keep_their_bytes(void **state)
{
    enum { SIZES = 300 };
    struct buf b;
    buf_init(&b, 64 << 20);
    buf_printf(&b, "*%u\r\n", SIZES);
    for (unsigned i = 0; i < SIZES; i++) {
        size_t n = i % 50 == 49 ? 200000 + i : i * i % 1500;
        buf_printf(&b, "$%zu\r\n", n);
        for (size_t k = 0; k < n; k++)
            buf_put_char(&b, (char)(i + k));
        buf_lit(&b, "\r\n");
    }
    for (unsigned i = 2; i < STEP_NR; i++)
        assert_int_equal(compare(buf_str(&b), steps[i]), 1);
    buf_fini(&b);
}

static void an_array_longer_than_a_chunk_has_all_elements(void **state)
{
    enum { ELEMENTS = 20000 };
    struct buf b;
    buf_init(&b, 64 << 20);
    buf_printf(&b, "*2\r\n*%u\r\n", ELEMENTS);
    for (unsigned i = 0; i < ELEMENTS; i++)
        buf_printf(&b, ":%u\r\n", i);
    buf_lit(&b, "$2\r\nok\r\n");
    assert_int_equal(compare(buf_str(&b), 16384), 1);
    buf_fini(&b);
}

static void a_reply_that_breaks_off_or_makes_no_sense_leaves_nothing(void **state)
{
    static const char *const wires[] = {"*3\r\n$1\r\na\r\n$5\r\nab", "*2\r\n+OK\r\n",
                                        "*2\r\n+OK\r\n?what\r\n", "*2\r\n*1\r\n$1\r\nabc\r\n"};
    for (size_t i = 0; i < sizeof wires / sizeof *wires; i++) {
        redisReader *reader = redisReaderCreate();
        void *reply = NULL;
        redis_replies_pool(reader);
        assert_int_equal(redisReaderFeed(reader, wires[i], strlen(wires[i])), REDIS_OK);
        (void)redisReaderGetReply(reader, &reply);
        assert_null(reply);
        redisReaderFree(reader);
    }
}

static void a_reply_that_is_kept_outlives_its_reader(void **state)
{
    static const char wire[] = "*2\r\n$5\r\nhello\r\n:7\r\n";
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;
    redis_replies_pool(reader);
    assert_int_equal(redisReaderFeed(reader, wire, sizeof wire - 1), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    redisReply *kept = redis_reply_keep(reply);
    reader->fn->freeObject(reply); /* as hiredis does after the callback */
    redisReaderFree(reader);
    assert_string_equal(kept->element[0]->str, "hello");
    assert_string_equal(kept->element[1]->str, "7");
    redis_reply_free(kept);
    redis_reply_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_read_as_by_hiredis),
        cmocka_unit_test(strings_of_any_size_keep_their_bytes),
        cmocka_unit_test(an_array_longer_than_a_chunk_has_all_elements),
        cmocka_unit_test(a_reply_that_breaks_off_or_makes_no_sense_leaves_nothing),
        cmocka_unit_test(a_reply_that_is_kept_outlives_its_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
