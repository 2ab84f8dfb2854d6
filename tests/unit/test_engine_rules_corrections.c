/* SPDX-License-Identifier: MIT
 * test_engine_rules_corrections.c - what people say to objections changes the
 * request that the built-in model decides on. */
#include "tests/unit/rules_fixture.h"

static void a_correction_in_words_changes_the_request(void **state)
{
    static const struct {
        const char *request, *correction, *sql;
    } cases[] = {
        {"run Show ghosts", "Yes, it should be pattern", "FROM patterns ORDER BY id LIMIT 100"},
        {"run Show ghosts", "Yes, it should be pattern.", "FROM patterns ORDER BY id LIMIT 100"},
        {"run Show ghosts", "not ghosts but cards", "FROM cards ORDER BY id LIMIT 100"},
        {"run Show cards", "it should be pattern", "FROM patterns ORDER BY id LIMIT 100"},
        {"run Show the newest 5 ghosts", "episodes",
         "FROM episodes ORDER BY happened_on DESC LIMIT 5"},
        {"run Show patterns", "only the first 3", "FROM patterns ORDER BY id LIMIT 3"},
        {"run Show ghosts", "run Show cards of pattern 3", "WHERE pattern_id = 3"},
        {"patterns", "it should be RULE", "FROM patterns ORDER BY id LIMIT 100"},
        {"run Show ghosts", "ok", NULL},
        {"run Show ghosts", "they are hungry", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[1000];
        snprintf(lines, sizeof lines,
                 "Objection: model.verifyRequest: there is none.\n"
                 "Correction: %s",
                 cases[i].correction);
        json_t *json = ask_corrected("model.ruleToSQL", "RULE", lines, cases[i].request);
        const char *sql = sql_of(json);
        if ((sql == NULL) != (cases[i].sql == NULL) ||
            (sql != NULL && strstr(sql, cases[i].sql) == NULL))
            fail_msg("%s + %s: %s", cases[i].request, cases[i].correction,
                     sql == NULL ? reason(json) : sql);
        json_decref(json);
    }
}

static void corrections_count_one_after_the_other(void **state)
{
    json_t *json = ask_corrected("model.ruleToSQL", "RULE",
                                 "Objection: a: b\nCorrection: it should be pattern\n"
                                 "Objection: a: b\nCorrection: no, cards",
                                 "run Show ghosts");
    assert_string_equal(sql_of(json), "SELECT id, pattern_id, title, body FROM cards ORDER BY id "
                                      "LIMIT 100");
    json_decref(json);
    json = ask_corrected("model.LanguageCapo", "GENERIC", "Correction: run", "patterns");
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "output"), "verb")),
                        "RULE");
    json_decref(json);
}

/* Words about a request do not become a part of what it stores. */
static void a_correction_is_never_stored(void **state)
{
    json_t *json = ask_corrected("model.requestToExtractEntities", "CONTENT",
                                 "Correction: Yes, it should be card",
                                 "extract Add a ghost \"A\" to pattern 2: text");
    assert_non_null(strstr(sql_of(json), "INSERT INTO cards"));
    assert_non_null(strstr(sql_of(json), "'text'"));
    json_decref(json);
    json = ask_corrected("model.requestToExtractEntities", "CONTENT", "Correction: in red, please",
                         "extract Add a card \"A\" to pattern 2: text");
    assert_string_equal(decision(json), "no");
    assert_non_null(strstr(reason(json), "whole request again"));
    json_decref(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_correction_in_words_changes_the_request),
        cmocka_unit_test(corrections_count_one_after_the_other),
        cmocka_unit_test(a_correction_is_never_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
