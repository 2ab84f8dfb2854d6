/* SPDX-License-Identifier: MIT
 * test_queue_piece.c - shared/queue/piece.h. */
#include "shared/queue/piece.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void ids_are_two_numbers(void **state)
{
    static const char *const wrong[] = {"",      "1",    "1-",  "-1",
                                        "1-2-3", "1- 2", "a-1", "1-99999999999999999999"};
    struct piece_id id = {7, 7};
    char bytes[PIECE_ID_BYTES];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(piece_id_parse(str_of(wrong[i]), &id));
    assert_false(piece_id_parse((struct str){NULL, 0}, &id));
    assert_true(id.claim == 7 && id.offset == 7);
    assert_true(piece_id_parse(STR("12-345"), &id));
    assert_true(id.claim == 12 && id.offset == 345);
    assert_true(str_eq(piece_id_put(id, bytes), STR("12-345")));
}

static void a_claim_counts_more_than_an_offset(void **state)
{
    assert_true(piece_id_is_before((struct piece_id){1, 9}, (struct piece_id){2, 0}));
    assert_true(piece_id_is_before((struct piece_id){1, 8}, (struct piece_id){1, 9}));
    assert_false(piece_id_is_before((struct piece_id){1, 9}, (struct piece_id){1, 9}));
    assert_false(piece_id_is_before((struct piece_id){2, 0}, (struct piece_id){1, 9}));
}

static void an_event_has_its_text_as_it_is(void **state)
{
    struct piece piece;
    struct lines rest = lines_of(STR("2-12\na\none\ntwo\n"));
    assert_true(piece_read_event(&rest, &piece));
    assert_true(piece.id.claim == 2 && piece.id.offset == 12 && piece.is_answer);
    assert_true(str_eq(piece.text, STR("one\ntwo\n")));
}

static void events_that_make_no_sense_are_refused(void **state)
{
    static const char *const wrong[] = {"", "2-12", "x\na\ntext", "2-3\na\ntext", "2-x\nt\ntext"};
    struct piece piece;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct lines rest = lines_of(str_of(wrong[i]));
        if (piece_read_event(&rest, &piece))
            assert_int_equal(piece.text.n, 0);
    }
}

static void a_piece_is_put_as_it_is_read(void **state)
{
    struct piece piece = {.id = {3, 20}, .is_answer = true, .text = STR("a:1\n\n7:é")};
    struct piece thought = {.id = {3, 21}, .text = STR("h")}, read;
    struct buf b;
    buf_init(&b, 1024);
    piece_put(&b, &piece);
    piece_put(&b, &thought);
    struct lines lines = lines_of(buf_str(&b));
    assert_true(piece_next(&lines, &read));
    assert_true(read.id.claim == 3 && read.id.offset == 20 && read.is_answer);
    assert_true(str_eq(read.text, piece.text));
    assert_true(piece_next(&lines, &read));
    assert_true(read.id.offset == 21 && !read.is_answer && str_eq(read.text, STR("h")));
    assert_false(piece_next(&lines, &read));
    buf_fini(&b);
}

static void a_cut_leaves_whole_characters(void **state)
{
    static const struct {
        uint64_t offset;
        const char *left;
    } rows[] = {{0, "é🦜x"}, {10, "é🦜x"}, {11, "🦜x"}, {12, "🦜x"}, {13, "x"},
                {15, "x"},      {16, "x"},       {17, ""},      {99, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct piece piece = {.id = {1, 17}, .text = STR("é🦜x")};
        piece_cut(&piece, rows[i].offset);
        assert_true(str_eq(piece.text, str_of(rows[i].left)));
        assert_true(piece.id.offset == 17);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_two_numbers),
        cmocka_unit_test(a_claim_counts_more_than_an_offset),
        cmocka_unit_test(an_event_has_its_text_as_it_is),
        cmocka_unit_test(events_that_make_no_sense_are_refused),
        cmocka_unit_test(a_piece_is_put_as_it_is_read),
        cmocka_unit_test(a_cut_leaves_whole_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
