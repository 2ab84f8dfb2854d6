/* SPDX-License-Identifier: MIT
 * test_engine_rules.c - the built-in model's rules for workflow prompts. */
#include "services/engine/models/prompt.h"
#include "tests/unit/rules_fixture.h"

/* ---- prompts of any kind ---- */

static void generic(const char *prompt, const char *expected, const char *member,
                    const char *output)
{
    json_t *json = decide("", prompt);
    const json_t *value = json_object_get(json_object_get(json, "output"), member);
    assert_string_equal(decision(json), expected);
    if (output == NULL)
        assert_int_equal(json_object_size(json_object_get(json, "output")), 0);
    else
        assert_string_equal(json_string_value(value), output);
    json_decref(json);
}

static void any_workflow_prompt_gets_a_decision(void **state)
{
    generic("Is it sound?\nRequest: show all customers", "yes", "", NULL);
    generic("Is it sound?\nRequest:", "no", "", NULL);
    generic("Is it sound?\nRequest: drop the table", "no", "", NULL);
    generic("RULE or CONTENT?\nRequest: run the sales rule", "yes", "verb", "RULE");
    generic("RULE or CONTENT?\nRequest: extract the names", "yes", "verb", "CONTENT");
    generic("RULE or CONTENT?\nRequest: hello", "no", "", NULL);
    generic("Write SQL.\nRequest: rows, please", "no", "", NULL);
    generic("Write SQL.\nRequest: use select a from b; now", "yes", "sql_query", "select a from b");
    generic("", "no", "", NULL);
}

static void an_agent_of_a_users_file_gets_what_its_prompt_wants(void **state)
{
    static const char lines[] = "Agent: model.mine\nVerb: RULE\nTables: {\"notes\":[\"id\"]}\n"
                                "Body: {%s}\nRequest: %s\n";
    char prompt[1000];
    snprintf(prompt, sizeof prompt, lines, "", "Show notes");
    json_t *json = decide("Write the SQL for it.", prompt);
    assert_string_equal(sql_of(json), "SELECT id FROM notes ORDER BY id LIMIT 100");
    json_decref(json);
    json = decide("Is it polite?", prompt);
    assert_string_equal(decision(json), "yes");
    assert_null(sql_of(json));
    json_decref(json);
    snprintf(prompt, sizeof prompt, lines, "\"sql_query\":\"DELETE FROM notes\"", "Show notes");
    json = decide("Check the SQL.", prompt);
    assert_string_equal(decision(json), "no");
    json_decref(json);
    snprintf(prompt, sizeof prompt, lines, "", "delete it");
    json = decide("Is it polite?", prompt);
    assert_string_equal(decision(json), "no");
    json_decref(json);
}

static void an_agents_prompt_may_name_what_other_prompts_name(void **state)
{
    char why[100];
    json_t *json;
    assert_true(json_parse(
        STR("{\"Topic\":\"T\",\"Queries\":[{\"1\":\"row\"}],\"Details\":{\"1\":{\"Modifiers\":{"
            "\"Messages\":[{\"role\":\"system\",\"content\":\"List the \\\"steps\\\". Reply with "
            "{\\\"decision\\\":0,\\\"confidence\\\":0}\"},{\"role\":\"user\",\"content\":"
            "\"Agent: model.mine\\nRequest: [1] x\"}]}}}}"),
        why, sizeof why, &json));
    struct claim claim;
    struct prompt prompt;
    assert_true(claim_read(&claim, json));
    json_decref(json);
    prompt_init(&prompt, &claim, &claim.queries[0]);
    assert_int_equal(prompt.kind, PROMPT_DECISION);
    assert_true(str_has_prefix(prompt.task, STR("List the")));
    assert_true(str_eq(prompt.question, STR("Agent: model.mine\nRequest: [1] x")));
    prompt_fini(&prompt);
    claim_fini(&claim);
}

/* ---- the shipped agents ---- */

static void the_root_refuses_what_does_not_fit_its_verb(void **state)
{
    static const struct {
        const char *verb, *request, *expected;
    } cases[] = {{"RULE", "run Show patterns", "yes"},
                 {"RULE", "run anything", "yes"},
                 {"RULE", "run Drop the patterns", "no"},
                 {"RULE", "run Add a card", "no"},
                 {"RULE", "", "no"},
                 {"CONTENT", "extract Add a card \"Drop\" to pattern 2: delete it", "yes"},
                 {"CONTENT", "extract Show patterns", "no"},
                 {"CONTENT", "extract Delete card 3", "no"},
                 {"OTHER", "Add something", "yes"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = ask("model.Capo", cases[i].verb, "{}", cases[i].request);
        assert_string_equal(decision(json), cases[i].expected);
        json_decref(json);
    }
}

static void the_router_names_the_verb(void **state)
{
    static const char *const cases[][2] = {{"Show patterns", "RULE"},
                                           {"how many cards are there?", "RULE"},
                                           {"Add a card", "CONTENT"},
                                           {"extract this", "CONTENT"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = ask("model.LanguageCapo", "GENERIC", "{}", cases[i][0]);
        assert_string_equal(
            json_string_value(json_object_get(json_object_get(json, "output"), "verb")),
            cases[i][1]);
        json_decref(json);
    }
    json_t *json = ask("model.LanguageCapo", "GENERIC", "{}", "hello");
    assert_string_equal(decision(json), "no");
    assert_non_null(strstr(reason(json), "\"run\""));
    json_decref(json);
    json = decide("", "Agent: model.LanguageCapo\nVerb: GENERIC\nVerbs: RULE, TRANSLATE\n"
                      "Request: translate it");
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "output"), "verb")),
                        "TRANSLATE");
    json_decref(json);
    json = decide("", "Agent: model.LanguageCapo\nVerb: GENERIC\nVerbs: RULE, TRANSLATE\n"
                      "Request: extract it");
    assert_string_equal(decision(json), "no");
    assert_non_null(strstr(reason(json), "RULE, TRANSLATE"));
    json_decref(json);
}

static void an_unknown_table_stops_with_the_tables_there_are(void **state)
{
    json_t *json = ask("model.verifyRequest", "RULE", "{}", "run Show the customers");
    assert_string_equal(decision(json), "no");
    assert_string_equal(reason(json),
                        "Built-in rule: there is no table \"customers\". There are cards, "
                        "episodes, patterns and Order. Correct the request so that it names one "
                        "of them.");
    json_decref(json);
    json = ask("model.verifyRequest", "RULE", "{}", "run Show patterns");
    assert_string_equal(decision(json), "yes");
    json_decref(json);
    json = decide("", "Agent: model.verifyRequest\nVerb: RULE\nTables: \nRequest: Show patterns");
    assert_string_equal(decision(json), "no");
    json_decref(json);
}

static void a_rule_becomes_a_select(void **state)
{
#define CARDS "SELECT id, pattern_id, title, body FROM cards"
#define EPISODES "SELECT id, card_id, title, happened_on FROM episodes"
#define PATTERNS "SELECT id, name, description, kind FROM patterns"
#define END " ORDER BY id LIMIT 100"
    static const char *const cases[][2] = {
        {"run Show patterns", PATTERNS END},
        {"Show me all the patterns, please.", PATTERNS END},
        {"Zeige alle patterns", PATTERNS END},
        {"run Show cards of pattern 3", CARDS " WHERE pattern_id = 3" END},
        {"run Show the cards in the pattern \"Loop\"",
         CARDS " WHERE pattern_id IN (SELECT id FROM patterns WHERE lower(name) = "
               "lower('Loop'))" END},
        {"run Count episodes", "SELECT COUNT(*) AS count FROM episodes LIMIT 100"},
        {"How many cards does pattern 3 have?",
         "SELECT COUNT(*) AS count FROM cards WHERE pattern_id = 3 LIMIT 100"},
        {"Count cards per pattern", "SELECT pattern_id, COUNT(*) AS count FROM cards GROUP BY "
                                    "pattern_id ORDER BY pattern_id LIMIT 100"},
        {"Count patterns by kind",
         "SELECT kind, COUNT(*) AS count FROM patterns GROUP BY kind ORDER BY kind LIMIT 100"},
        {"run List the newest episodes", EPISODES " ORDER BY happened_on DESC LIMIT 100"},
        {"run List the 5 newest episodes", EPISODES " ORDER BY happened_on DESC LIMIT 5"},
        {"Show the latest episode", EPISODES " ORDER BY happened_on DESC LIMIT 1"},
        {"first 3 patterns", PATTERNS " ORDER BY id LIMIT 3"},
        {"Show 2 patterns", PATTERNS " ORDER BY id LIMIT 2"},
        {"Show 2000 patterns", PATTERNS END},
        {"run Show patterns named Loop", PATTERNS " WHERE lower(name) = lower('Loop')" END},
        {"run Show patterns named O'Brien's \"x\"", NULL},
        {"run Show patterns named \"it's; DROP TABLE x --\"",
         PATTERNS " WHERE lower(name) = lower('it''s; DROP TABLE x --')" END},
        {"Show patterns named retry with backoff",
         PATTERNS " WHERE lower(name) = lower('retry with backoff')" END},
        {"Show patterns named Loop or Knot", NULL},
        {"Show pattern 3", PATTERNS " WHERE id = 3" END},
        {"Show patterns of kind structural",
         PATTERNS " WHERE lower(kind) = lower('structural')" END},
        {"Show patterns where the kind is not a b",
         PATTERNS " WHERE lower(kind) != lower('a b')" END},
        {"Show patterns about 100%", NULL},
        {"Show patterns about \"100%\"",
         PATTERNS " WHERE (lower(name) LIKE lower('%100!%%') ESCAPE '!' OR lower(description) LIKE "
                  "lower('%100!%%') ESCAPE '!' OR lower(kind) LIKE lower('%100!%%') ESCAPE "
                  "'!')" END},
        {"Show cards whose title contains knot",
         CARDS " WHERE lower(title) LIKE lower('%knot%')" END},
        {"Show episodes after 2024-05-01", EPISODES " WHERE happened_on > '2024-05-01'" END},
        {"Show episodes in 2024",
         EPISODES " WHERE happened_on >= '2024-01-01' AND happened_on < '2025-01-01'" END},
        {"Show the names of patterns sorted by name descending",
         "SELECT name FROM patterns ORDER BY name DESC LIMIT 100"},
        {"List the different kinds of patterns", "SELECT DISTINCT kind FROM patterns LIMIT 100"},
        {"Show cards with id > 3 and pattern_id = 2", CARDS " WHERE id > 3 AND pattern_id = 2" END},
        {"Show orders", "SELECT id, \"unit price\" FROM \"Order\"" END},
        {"run SELECT name FROM patterns LIMIT 3", "SELECT name FROM patterns LIMIT 3"},
        {"Show patterns that make me happy", NULL},
        {"Show patterns without cards", NULL},
        {"Show patterns or cards", NULL},
        {"Show cards of pattern 99999999999999999999", NULL},
        {"Show cards where pattern_id is x; DROP TABLE cards", NULL},
        {"Show the colours of patterns", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = ask("model.ruleToSQL", "RULE", "{}", cases[i][0]);
        if (cases[i][1] == NULL) {
            assert_string_equal(decision(json), "no");
            assert_null(sql_of(json));
        } else {
            if (sql_of(json) == NULL)
                print_message("%s: %s\n", cases[i][0], reason(json));
            assert_string_equal(decision(json), "yes");
            assert_string_equal(sql_of(json), cases[i][1]);
            assert_true(passes("model.verifySQL", "RULE", sql_of(json)));
            assert_false(passes("model.verifyUpsert", "CONTENT", sql_of(json)));
        }
        json_decref(json);
    }
}

static void a_word_that_is_not_understood_is_named(void **state)
{
    json_t *json = ask("model.ruleToSQL", "RULE", "{}", "run Show patterns that make me happy");
    assert_non_null(strstr(reason(json), "do not understand \"make me happy\""));
    assert_non_null(strstr(reason(json), "sql_query"));
    json_decref(json);
}

static void a_correction_counts(void **state)
{
    json_t *json = ask("model.verifyRequest", "RULE", "{\"rule_text\":\"Show patterns\"}",
                       "run Show customers");
    assert_string_equal(decision(json), "yes");
    json_decref(json);
    json = ask("model.ruleToSQL", "RULE", "{\"rule_text\":\"Show cards\\nof pattern 2\"}",
               "run Show customers");
    assert_string_equal(sql_of(json), CARDS " WHERE pattern_id = 2" END);
    json_decref(json);
    json = ask("model.ruleToSQL", "RULE", "{\"sql_query\":\"SELECT max(id) FROM cards\"}",
               "run Show the fanciest cards");
    assert_string_equal(sql_of(json), "SELECT max(id) FROM cards");
    json_decref(json);
    json = ask("model.ruleToSQL", "RULE", "{\"sql_query\":\"DROP TABLE cards\"}",
               "run Show the fanciest cards");
    assert_null(sql_of(json));
    json_decref(json);
    json = ask("model.ruleToSQL", "RULE", "{\"sql_query\":\"SELECT 1 FROM cards\"}", "Show cards");
    assert_string_equal(sql_of(json), CARDS END);
    json_decref(json);
}

static void content_becomes_an_insert_or_update(void **state)
{
    static const char *const cases[][2] = {
        {"extract Add a card \"Title\" to pattern 2: text of it",
         "INSERT INTO cards (title, pattern_id, body) VALUES ('Title', 2, 'text of it')"},
        {"extract Add a card \"It's\" to pattern 2: 'a', \"b\"; DROP TABLE cards; --",
         "INSERT INTO cards (title, pattern_id, body) VALUES ('It''s', 2, '''a'', \"b\"; DROP "
         "TABLE cards; --')"},
        {"extract Add a card \u201eÜber\u201c to the pattern \"O'Neill\": Grüße \U0001f600",
         "INSERT INTO cards (title, pattern_id, body) SELECT 'Über', id, 'Grüße \U0001f600' FROM "
         "patterns WHERE lower(name) = lower('O''Neill') ORDER BY id LIMIT 1"},
        {"extract Add a pattern named Loop: title: what it is",
         "INSERT INTO patterns (name, description) VALUES ('Loop', 'title: what it is')"},
        {"extract Create a pattern: name = \"Loop\", kind = \"flow\"",
         "INSERT INTO patterns (name, kind) VALUES ('Loop', 'flow')"},
        {"extract Add a pattern \"Loop\" with kind flow and description \"a b\"",
         "INSERT INTO patterns (name, kind, description) VALUES ('Loop', 'flow', 'a b')"},
        {"extract Rename pattern 2 to \"Knot's\"",
         "UPDATE patterns SET name = 'Knot''s' WHERE id = 2"},
        {"extract Set the title of card 3 to Knot and more",
         "UPDATE cards SET title = 'Knot and more' WHERE id = 3"},
        {"extract Update card 3: set title to \"X\", body = \"Y\"",
         "UPDATE cards SET title = 'X', body = 'Y' WHERE id = 3"},
        {"extract Change card 3: the whole text",
         "UPDATE cards SET body = 'the whole text' WHERE id = 3"},
        {"extract INSERT INTO cards (title) VALUES ('a')",
         "INSERT INTO cards (title) VALUES ('a')"},
        {"extract Add a card to pattern 2: text without a title", NULL},
        {"extract Rename the pattern to \"x\"", NULL},
        {"extract Add a card \"Title\" to pattern two and a half: text", NULL},
        {"extract Add something", NULL},
        {"extract Add a card", NULL},
        {"extract Update cards: title = \"all of them\"", NULL},
        {"extract Add a card \"a\" with pattern_id \"1); DROP TABLE cards\"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *json = ask("model.requestToExtractEntities", "CONTENT", "{}", cases[i][0]);
        if (cases[i][1] == NULL) {
            if (sql_of(json) != NULL)
                print_message("%s: %s\n", cases[i][0], sql_of(json));
            assert_string_equal(decision(json), "no");
        } else {
            if (sql_of(json) == NULL)
                print_message("%s: %s\n", cases[i][0], reason(json));
            assert_string_equal(sql_of(json), cases[i][1]);
            assert_true(passes("model.verifyUpsert", "CONTENT", sql_of(json)));
            assert_false(passes("model.verifySQL", "RULE", sql_of(json)));
        }
        json_decref(json);
    }
}

static void the_entities_are_those_of_the_statement(void **state)
{
    json_t *json = ask("model.requestToExtractEntities", "CONTENT", "{}",
                       "extract Add a card \"A\" to pattern 2: b");
    json_t *entity =
        json_array_get(json_object_get(json_object_get(json, "output"), "entities"), 0);
    assert_string_equal(json_string_value(json_object_get(entity, "table")), "cards");
    assert_string_equal(json_string_value(json_object_get(entity, "title")), "A");
    assert_string_equal(json_string_value(json_object_get(entity, "body")), "b");
    assert_int_equal(json_integer_value(json_object_get(entity, "pattern_id")), 2);
    json_decref(json);
}

static void the_largest_and_oddest_requests_are_answered(void **state)
{
    static const char *const requests[] = {"パターンを見せて",
                                           "покажи patterns",
                                           "أظهر patterns",
                                           "Zeige Muster",
                                           "\"\"\"\"",
                                           "''''",
                                           "„„„„„",
                                           "run",
                                           "run run run",
                                           ":",
                                           ": : :",
                                           "#",
                                           "patterns patterns patterns",
                                           "Show \u2028 patterns",
                                           "pattern",
                                           "\xff\xfe patterns",
                                           "Add : = : =",
                                           "rename to to to"};
    static const char *const agents[] = {"model.Capo", "model.LanguageCapo", "model.verifyRequest",
                                         "model.ruleToSQL", "model.requestToExtractEntities"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        for (size_t k = 0; k < sizeof agents / sizeof *agents; k++) {
            bool is_utf8 = str_is_utf8(str_of(requests[i]));
            if (is_utf8)
                json_decref(ask(agents[k], k == 4 ? "CONTENT" : "RULE", "{}", requests[i]));
        }
    char *long_text = malloc(40001);
    assert_non_null(long_text);
    memset(long_text, 'a', 40000);
    long_text[40000] = 0;
    json_t *json = ask("model.ruleToSQL", "RULE", "{}", long_text);
    assert_non_null(strstr(reason(json), "16 KiB"));
    json_decref(json);
    /* 15 KiB of text are stored whole. */
    char request[16 << 10];
    snprintf(request, sizeof request, "Add a card \"T\" to pattern 2: %.*s", 15000, long_text);
    for (size_t i = 60; i < 15000; i += 3)
        request[i] = i % 2 == 0 ? ' ' : '\'';
    json = ask("model.requestToExtractEntities", "CONTENT", "{}", request);
    assert_string_equal(decision(json), "yes");
    assert_true(strlen(sql_of(json)) > 15000);
    json_decref(json);
    free(long_text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_workflow_prompt_gets_a_decision),
        cmocka_unit_test(an_agent_of_a_users_file_gets_what_its_prompt_wants),
        cmocka_unit_test(an_agents_prompt_may_name_what_other_prompts_name),
        cmocka_unit_test(the_root_refuses_what_does_not_fit_its_verb),
        cmocka_unit_test(the_router_names_the_verb),
        cmocka_unit_test(an_unknown_table_stops_with_the_tables_there_are),
        cmocka_unit_test(a_rule_becomes_a_select),
        cmocka_unit_test(a_word_that_is_not_understood_is_named),
        cmocka_unit_test(a_correction_counts),
        cmocka_unit_test(content_becomes_an_insert_or_update),
        cmocka_unit_test(the_entities_are_those_of_the_statement),
        cmocka_unit_test(the_largest_and_oddest_requests_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
