/* SPDX-License-Identifier: MIT
 * test_engine_draft.c - offsets of partial answers, claims, and what a model's stream passes. */
#include "services/engine/models/openai_request.h"
#include "services/engine/models/stream.h"
#include "services/engine/slots/claim.h"
#include "services/engine/slots/draft.h"
#include "shared/http/request/sse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SSE_EVENT_MAX_BYTES = 1 << 20 };

/* A node as give-partial describes it: overlap is ignored, a gap is refused. */
struct node {
    char think[4096], answer[4096];
    size_t think_n, answer_n;
};

static uint64_t node_has(const struct node *node)
{
    return node->think_n + node->answer_n;
}

static void take(char *at, size_t *n, struct str text, size_t *skip)
{
    size_t drop = *skip < text.n ? *skip : text.n;
    *skip -= drop;
    if (text.n > drop)
        memcpy(at + *n, text.at + drop, text.n - drop);
    *n += text.n - drop;
}

static bool node_take(struct node *node, const struct draft_piece *piece)
{
    if (piece->offset > node_has(node))
        return false;
    size_t skip = (size_t)(node_has(node) - piece->offset);
    take(node->think, &node->think_n, piece->think, &skip);
    take(node->answer, &node->answer_n, piece->answer, &skip);
    return true;
}

static void send_all(struct draft *draft, struct node *node)
{
    struct draft_piece piece;
    for (int i = 0; draft_next(draft, &piece); i++) {
        assert_true(i < 1000);
        assert_true(str_is_utf8(piece.think) && str_is_utf8(piece.answer));
        assert_true(piece.think.n + piece.answer.n <= DRAFT_PIECE_MAX_BYTES);
        draft_set_sent(draft, node_take(node, &piece)
                                  ? piece.offset + piece.think.n + piece.answer.n
                                  : node_has(node));
    }
}

static void fill(struct draft *draft)
{
    assert_true(draft_add(draft, STR("Let me "), STR("")));
    assert_true(draft_add(draft, STR("think."), STR("Well, ")));
    assert_true(draft_add(draft, STR(""), STR("it is \xc3\xbc\xe6\xbc\xa2")));
    assert_true(draft_add(draft, STR(" Wait."), STR("")));
    assert_true(draft_add(draft, STR(""), STR(" done.")));
}

static void check_whole(const struct draft *draft, const struct node *node)
{
    assert_int_equal(node->think_n, draft->think.n);
    assert_memory_equal(node->think, draft->think.at, draft->think.n);
    assert_int_equal(node->answer_n, draft->answer.n);
    assert_memory_equal(node->answer, draft->answer.at, draft->answer.n);
}

static void all_text_arrives_in_order(void **state)
{
    struct draft draft;
    struct node node = {.think_n = 0};
    draft_init(&draft);
    fill(&draft);
    send_all(&draft, &node);
    check_whole(&draft, &node);
    assert_true(draft_add(&draft, STR(""), STR("!")));
    send_all(&draft, &node);
    check_whole(&draft, &node);
    draft_fini(&draft);
}

static void a_node_that_forgot_gets_the_rest_again(void **state)
{
    struct draft draft;
    draft_init(&draft);
    fill(&draft);
    /* A node that has exactly the first `have` bytes, for every `have`, whatever we believe. */
    for (uint64_t have = 0; have <= draft_end(&draft); have++)
        for (uint64_t believed = 0; believed <= draft_end(&draft); believed += 5) {
            struct node node = {.think_n = 0};
            struct draft_piece piece;
            draft_set_sent(&draft, 0);
            size_t left = (size_t)have;
            while (left > 0 && draft_next(&draft, &piece)) {
                piece.think.n = piece.think.n < left ? piece.think.n : left;
                left -= piece.think.n;
                piece.answer.n = piece.answer.n < left ? piece.answer.n : left;
                left -= piece.answer.n;
                assert_true(node_take(&node, &piece));
                draft_set_sent(&draft, node_has(&node));
                if (draft.sent != node_has(&node)) /* within a character: the rest as well */
                    break;
            }
            draft_set_sent(&draft, believed);
            send_all(&draft, &node);
            check_whole(&draft, &node);
        }
    draft_fini(&draft);
}

static void offsets_beyond_the_text_and_long_texts(void **state)
{
    struct draft draft;
    struct draft_piece piece;
    draft_init(&draft);
    fill(&draft);
    draft_set_sent(&draft, UINT64_MAX);
    assert_false(draft_next(&draft, &piece));
    draft_clear(&draft);
    assert_false(draft_next(&draft, &piece));
    for (int i = 0; i < 40000; i++)
        assert_true(draft_add(&draft, STR(""), STR("\xe6\xbc\xa2\xc3\xbc.")));
    uint64_t sent = 0;
    while (draft_next(&draft, &piece)) {
        assert_int_equal(piece.offset, sent);
        assert_true(str_is_utf8(piece.answer) && piece.answer.n <= DRAFT_PIECE_MAX_BYTES);
        sent += piece.answer.n;
        draft_set_sent(&draft, sent);
    }
    assert_int_equal(sent, draft_end(&draft));
    bool has_room = true;
    for (int i = 0; i < 1000000 && has_room; i++)
        has_room = draft_add(&draft, STR("t"), STR("0123456789"));
    assert_false(has_room);
    assert_true(draft.answer.n <= DRAFT_ANSWER_MAX_BYTES);
    draft_fini(&draft);
}

static bool read_claim(struct claim *claim, const char *text)
{
    char reason[100];
    json_t *json;
    assert_true(json_parse(str_of(text), reason, sizeof reason, &json));
    bool is_good = claim_read(claim, json);
    json_decref(json);
    return is_good;
}

static void claims_are_read_or_refused(void **state)
{
    struct claim claim;
    assert_true(read_claim(&claim, "{\"Topic\":null,\"Queries\":null}"));
    assert_null(claim.root);
    assert_true(read_claim(&claim, "{\"Topic\":\"T\",\"Queries\":[{\"3\":\"c\"},{\"2\":\"b\"}],"
                                   "\"Lease\":7,\"LeaseSeconds\":9,"
                                   "\"Details\":{\"2\":{\"Model\":\"m\"}}}"));
    assert_int_equal(claim.query_n, 2);
    assert_int_equal(claim.queries[0].seq, 2);
    assert_int_equal(claim.lease_s, 9);
    assert_int_equal(json_integer_value(claim.lease), 7);
    assert_non_null(claim.queries[0].details);
    assert_ptr_equal(claim_find(&claim, 3), &claim.queries[1]);
    claim_note_answer(&claim, &claim.queries[0], STR("an answer"));
    assert_int_equal(json_array_size(claim.history), 1);
    claim_fini(&claim);
    assert_true(read_claim(&claim, "{\"Topic\":\"T\",\"Queries\":[{\"1\":[\"q\",\"u\",\"m\"]}]}"));
    assert_memory_equal(claim.queries[0].text.at, "q", 1);
    claim_fini(&claim);
    static const char *const bad[] = {"[]",
                                      "{\"Topic\":\"T\"}",
                                      "{\"Topic\":\"T\",\"Queries\":[]}",
                                      "{\"Topic\":\"T\",\"Queries\":[{}]}",
                                      "{\"Topic\":\"T\",\"Queries\":[{\"x\":\"q\"}]}",
                                      "{\"Topic\":\"T\",\"Queries\":[{\"1\":2}]}",
                                      "{\"Queries\":[{\"1\":\"q\"}]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(read_claim(&claim, bad[i]));
}

/* ---- filters: the same result for every way to cut the input ---- */

static bool put_event(void *context, struct str type, struct str data)
{
    struct buf *out = context;
    buf_put_char(out, '<');
    if (type.n > 0) {
        buf_put(out, type);
        buf_put_char(out, ' ');
    }
    buf_put(out, data);
    buf_put_char(out, '>');
    return true;
}

enum filter_kind { FILTER_SSE, FILTER_THINK };

static void run_filter(enum filter_kind kind, struct str in, size_t step, struct buf *out)
{
    struct sse sse;
    struct think_split split = {.where = THINK_START};
    struct buf think;
    sse_init(&sse, SSE_EVENT_MAX_BYTES);
    buf_init(&think, 4096);
    for (size_t at = 0; at < in.n; at += step) {
        struct str piece = {in.at + at, in.n - at < step ? in.n - at : step};
        if (kind == FILTER_SSE)
            assert_true(sse_feed(&sse, piece, put_event, out));
        else
            think_feed(&split, piece, &think, out);
    }
    think_finish(&split, &think, out);
    if (kind == FILTER_THINK) {
        buf_put_char(out, '|');
        buf_put(out, buf_str(&think));
    }
    sse_fini(&sse);
    buf_fini(&think);
}

static void check_filter(enum filter_kind kind, const char *in, const char *expected)
{
    for (size_t step = 1; step <= strlen(in) + 1; step++) {
        struct buf out;
        buf_init(&out, 4096);
        run_filter(kind, str_of(in), step, &out);
        buf_put_char(&out, 0);
        assert_string_equal(out.at, expected);
        buf_fini(&out);
    }
}

static void events_are_read_however_they_are_cut(void **state)
{
    check_filter(FILTER_SSE, "data: a\n\ndata:b\r\n\r\n: comment\ndata: c\ndata: d\n\nid: 1\n\n",
                 "<a><b><c\nd>");
    check_filter(FILTER_SSE, "event: x\ndata\n\ndata: {\"a\": 1}\r\rdata: lost",
                 "<x ><{\"a\": 1}>");
    struct sse sse;
    struct buf out, big;
    sse_init(&sse, SSE_EVENT_MAX_BYTES);
    buf_init(&out, 100);
    buf_init(&big, SSE_EVENT_MAX_BYTES + 10);
    while (big.n <= SSE_EVENT_MAX_BYTES)
        buf_lit(&big, "data:");
    assert_false(sse_feed(&sse, buf_str(&big), put_event, &out));
    sse_fini(&sse);
    buf_fini(&big);
    buf_fini(&out);
}

static void an_events_id_outlives_a_stream_that_breaks_off(void **state)
{
    struct sse sse;
    struct buf out;
    sse_init(&sse, 100);
    buf_init(&out, 100);
    assert_true(sse_feed(&sse, STR("id: 1-7\ndata: a\n\nid: 1-8\ndata: half of"), put_event, &out));
    sse_begin_again(&sse);
    assert_true(sse_feed(&sse, STR("data: b\n\n"), put_event, &out));
    assert_memory_equal(sse.id.at, "1-7", 3);
    assert_int_equal(sse.id.n, 3);
    assert_memory_equal(out.at, "<a><b>", 6);
    sse_fini(&sse);
    buf_fini(&out);
}

static void thinking_is_kept_apart(void **state)
{
    check_filter(FILTER_THINK, "<think>hm < so</think>\n\nYes <think>.", "Yes <think>.|hm < so");
    check_filter(FILTER_THINK, "\n <think>x", "|x");
    check_filter(FILTER_THINK, "Plain < text", "Plain < text|");
    check_filter(FILTER_THINK, "<thin line", "<thin line|");
    check_filter(FILTER_THINK, "<think>a<</think>b", "b|a<");
}

static void requests_hold_conversation_and_passages(void **state)
{
    struct claim claim;
    struct prompt prompt;
    struct buf body;
    char reason[100];
    json_t *json;
    assert_true(read_claim(
        &claim, "{\"Topic\":\"T\",\"Queries\":[{\"2\":\"And now?\"}],\"History\":[{\"Seq\":1,"
                "\"Query\":\"First?\",\"Answer\":[\"Yes.\"]}],\"Details\":{\"2\":{\"Modifiers\":{"
                "\"temperature\":0.1,\"Secret\":1}}}}"));
    prompt_init(&prompt, &claim, &claim.queries[0]);
    prompt_add_source(&prompt, STR("a.md"), STR("The passage."));
    buf_init(&body, 1 << 20);
    openai_put_request(&body, &prompt, "m", true);
    assert_true(json_parse(buf_str(&body), reason, sizeof reason, &json));
    const json_t *messages = json_object_get(json, "messages");
    assert_int_equal(json_array_size(messages), 4);
    assert_non_null(
        strstr(json_string_value(json_object_get(json_array_get(messages, 0), "content")),
               "[1] a.md\nThe"));
    assert_true(json_number_value(json_object_get(json, "temperature")) > 0);
    assert_null(json_object_get(json, "Secret"));
    json_decref(json);
    prompt_fini(&prompt);
    claim_fini(&claim);
    buf_fini(&body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_text_arrives_in_order),
        cmocka_unit_test(a_node_that_forgot_gets_the_rest_again),
        cmocka_unit_test(offsets_beyond_the_text_and_long_texts),
        cmocka_unit_test(claims_are_read_or_refused),
        cmocka_unit_test(events_are_read_however_they_are_cut),
        cmocka_unit_test(an_events_id_outlives_a_stream_that_breaks_off),
        cmocka_unit_test(thinking_is_kept_apart),
        cmocka_unit_test(requests_hold_conversation_and_passages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
