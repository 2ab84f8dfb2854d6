/* SPDX-License-Identifier: MIT
 * test_text_blocks.c - shared/text/text_blocks.h: a text as blocks that unpack alone. */
#include "shared/text/text_blocks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LONG_BYTES = 3 * TEXT_BLOCK_BYTES + 17 };

static char *make_text(size_t n)
{
    char *text = malloc(n + 1);
    uint32_t x = 7;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        text[i] = (char)("etaoin shrdlu.\n"[(x >> 24) % 15]);
    }
    return text;
}

static void a_text_comes_back_block_by_block(void **state)
{
    static const size_t sizes[] = {
        0, 1, TEXT_BLOCK_BYTES - 1, TEXT_BLOCK_BYTES, TEXT_BLOCK_BYTES + 1, LONG_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *text = make_text(sizes[i]);
        struct text_blocks blocks;
        struct buf back;
        buf_init(&back, LONG_BYTES + TEXT_BLOCK_BYTES);
        text_blocks_init(&blocks, (struct str){text, sizes[i]});
        assert_int_equal(blocks.n, (sizes[i] + TEXT_BLOCK_BYTES - 1) / TEXT_BLOCK_BYTES);
        for (size_t b = 0; b < blocks.n; b++) {
            assert_int_equal(back.n, b * TEXT_BLOCK_BYTES);
            assert_true(text_block_put(&back, blocks.at[b]));
        }
        assert_true(str_eq(buf_str(&back), (struct str){text, sizes[i]}));
        text_blocks_fini(&blocks);
        buf_fini(&back);
        free(text);
    }
}

static void any_block_unpacks_alone(void **state)
{
    char *text = make_text(LONG_BYTES);
    struct text_blocks blocks;
    struct buf back;
    buf_init(&back, LONG_BYTES);
    text_blocks_init(&blocks, (struct str){text, LONG_BYTES});
    assert_true(text_block_put(&back, blocks.at[2]));
    assert_memory_equal(back.at, text + 2 * TEXT_BLOCK_BYTES, TEXT_BLOCK_BYTES);
    text_blocks_fini(&blocks);
    buf_fini(&back);
    free(text);
}

static void a_damaged_block_is_refused_and_leaves_nothing(void **state)
{
    char *text = make_text(5000);
    struct text_blocks blocks;
    struct buf back;
    buf_init(&back, LONG_BYTES);
    text_blocks_init(&blocks, (struct str){text, 5000});
    struct str whole = blocks.at[0];
    assert_false(text_block_put(&back, (struct str){whole.at, whole.n - 1}));
    assert_false(text_block_put(&back, STR("")));
    assert_false(text_block_put(&back, STR("\xff\xff\xff\xff")));
    assert_int_equal(back.n, 0);
    text_blocks_fini(&blocks);
    buf_fini(&back);
    free(text);
}

static void a_block_that_would_unpack_to_more_is_refused(void **state)
{
    size_t n = TEXT_BLOCK_BYTES;
    char *text = calloc(1, n);
    struct text_blocks blocks;
    struct buf back, two;
    buf_init(&back, LONG_BYTES);
    buf_init(&two, LONG_BYTES);
    text_blocks_init(&blocks, (struct str){text, n});
    buf_put(&two, blocks.at[0]);
    buf_put(&two, blocks.at[0]);
    assert_false(text_block_put(&back, buf_str(&two)));
    assert_int_equal(back.n, 0);
    struct buf narrow;
    buf_init(&narrow, n - 1);
    assert_false(text_block_put(&narrow, blocks.at[0]));
    buf_fini(&narrow);
    buf_fini(&two);
    buf_fini(&back);
    text_blocks_fini(&blocks);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_comes_back_block_by_block),
        cmocka_unit_test(any_block_unpacks_alone),
        cmocka_unit_test(a_damaged_block_is_refused_and_leaves_nothing),
        cmocka_unit_test(a_block_that_would_unpack_to_more_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
