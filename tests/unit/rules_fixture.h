/* SPDX-License-Identifier: MIT
 *
 * rules_fixture: asks the built-in model's rules (services/engine/models/rules.h) as an agent of a
 * workflow does, and reads their decision. What is returned is the caller's to free.
 */
#ifndef PARLEY_TESTS_RULES_FIXTURE_H
#define PARLEY_TESTS_RULES_FIXTURE_H

#include "services/engine/models/rules.h"
#include "shared/base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char tables[] = "{\"cards\":[\"id\",\"pattern_id\",\"title\",\"body\"],"
                             "\"episodes\":[\"id\",\"card_id\",\"title\",\"happened_on\"],"
                             "\"patterns\":[\"id\",\"name\",\"description\",\"kind\"],"
                             "\"Order\":[\"id\",\"unit price\"]}";

static inline json_t *decide(const char *task, const char *prompt)
{
    struct buf first, second;
    char reason[100];
    json_t *json;
    buf_init(&first, 256 << 10);
    buf_init(&second, 256 << 10);
    rules_decide(str_of(task), str_of(prompt), &first);
    rules_decide(str_of(task), str_of(prompt), &second);
    assert_true(str_eq(buf_str(&first), buf_str(&second)));
    assert_true(json_parse(buf_str(&first), reason, sizeof reason, &json));
    assert_true(json_number_value(json_object_get(json, "confidence")) >= 0.5);
    assert_true(json_number_value(json_object_get(json, "confidence")) <= 0.95);
    assert_true(json_is_object(json_object_get(json, "output")));
    assert_non_null(strstr(json_string_value(json_object_get(json, "reason")), "Built-in rule: "));
    buf_fini(&first);
    buf_fini(&second);
    return json;
}

static inline json_t *ask(const char *agent, const char *verb, const char *body,
                          const char *request)
{
    char prompt[64 << 10];
    snprintf(prompt, sizeof prompt, "Agent: %s\nVerb: %s\nTables: %s\nBody: %s\nRequest: %s\n",
             agent, verb, tables, body, request);
    return decide("", prompt);
}

/* After objections and what people said to them. */
static inline json_t *ask_corrected(const char *agent, const char *verb, const char *corrections,
                                    const char *request)
{
    char prompt[64 << 10];
    snprintf(prompt, sizeof prompt, "Agent: %s\nVerb: %s\nTables: %s\n%s\nBody: {}\nRequest: %s\n",
             agent, verb, tables, corrections, request);
    return decide("", prompt);
}

static inline const char *decision(const json_t *json)
{
    return json_string_value(json_object_get(json, "decision"));
}

static inline const char *reason(const json_t *json)
{
    return json_string_value(json_object_get(json, "reason"));
}

static inline const char *sql_of(const json_t *json)
{
    return json_string_value(json_object_get(json_object_get(json, "output"), "sql_query"));
}

static inline bool passes(const char *agent, const char *verb, const char *sql)
{
    char body[32 << 10];
    struct buf text;
    buf_init(&text, sizeof body);
    buf_put_json(&text, str_of(sql));
    snprintf(body, sizeof body, "{\"sql_query\":%.*s}", STR_ARG(buf_str(&text)));
    buf_fini(&text);
    json_t *json = ask(agent, verb, body, "run it");
    bool is_yes = strcmp(decision(json), "yes") == 0;
    json_decref(json);
    return is_yes;
}

#endif
