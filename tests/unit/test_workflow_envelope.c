/* SPDX-License-Identifier: MIT
 * test_workflow_envelope.c - frames say what their run does next, and messageBody has a bound. */
#include "services/workflow/run/envelope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static json_t *object_of(const char *text)
{
    char reason[200];
    json_t *value = NULL;
    assert_true(json_parse(str_of(text), reason, sizeof reason, &value));
    return value;
}

static enum envelope_end end_of(const char *id, const char *body, const char *next,
                                const char *hitl)
{
    json_t *message = object_of(body);
    struct buf b;
    struct envelope_step step = {.session_id = str_of(id),
                                 .request_id = str_of(id),
                                 .verb = STR("RULE"),
                                 .agent = STR("model.Capo"),
                                 .next_agent = str_of(next),
                                 .reason = str_of(id),
                                 .seq = 1,
                                 .body = message,
                                 .hitl = str_of(hitl)};
    buf_init(&b, ENVELOPE_MAX_BYTES);
    envelope_put_step(&b, &step);
    enum envelope_end end = envelope_end_of(buf_str(&b));
    buf_fini(&b);
    json_decref(message);
    return end;
}

static void a_frame_says_what_its_run_does_whatever_a_client_wrote(void **state)
{
    static const char *const ids[] = {"r", ",\"nextAgent\":null,", ",\"hitl\":{",
                                      "\\\",\"hitl\":{"};
    static const char *const bodies[] = {
        "{}", "{\"nextAgent\":null,\"hitl\":{\"id\":1},\"messageBody\":{}}"};
    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
            assert_int_equal(end_of(ids[i], bodies[k], "model.next", ""), ENVELOPE_GOES_ON);
            assert_int_equal(end_of(ids[i], bodies[k], "", ""), ENVELOPE_OVER);
            assert_int_equal(end_of(ids[i], bodies[k], "chat", "{\"id\":\"x\"}"), ENVELOPE_WAITS);
        }
}

static void a_message_body_grows_up_to_its_bound(void **state)
{
    json_t *body = object_of("{\"a\":1,\"b\":2}"), *more = object_of("{\"b\":3,\"c\":4}");
    json_t *expected = object_of("{\"a\":1,\"b\":3,\"c\":4}"), *huge = json_object();
    char *text = malloc(ENVELOPE_BODY_MAX_BYTES);
    (void)state;
    assert_non_null(text);
    assert_true(envelope_merge(body, more));
    assert_true(json_equal(body, expected));
    memset(text, 'x', ENVELOPE_BODY_MAX_BYTES);
    assert_int_equal(json_object_set_new(huge, "t", json_stringn(text, ENVELOPE_BODY_MAX_BYTES)),
                     0);
    assert_false(envelope_merge(body, huge));
    assert_true(json_equal(body, expected));
    free(text);
    json_decref(body);
    json_decref(more);
    json_decref(expected);
    json_decref(huge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_says_what_its_run_does_whatever_a_client_wrote),
        cmocka_unit_test(a_message_body_grows_up_to_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
