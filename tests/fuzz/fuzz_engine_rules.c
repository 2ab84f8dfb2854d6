/* SPDX-License-Identifier: MIT
 * fuzz_engine_rules.c - any prompt of a workflow: the answer is the object that was asked for, a
 * statement that the rules wrote passes their own check, and a request never leaves its literal.
 * The first byte picks the agent, the rest is the request, or what corrects one. */
#include "services/engine/models/rules.h"
#include "services/engine/models/rules_internal.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char lines[] =
    "Verb: %s\nTables: {\"cards\":[\"id\",\"pattern_id\",\"title\",\"body\"],\"episodes\":[\"id\","
    "\"card_id\",\"title\",\"happened_on\"],\"patterns\":[\"id\",\"name\",\"kind\"]}\nBody: {}\n"
    "Request: ";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_answer(struct str answer, struct str prompt, bool is_write)
{
    char reason[128];
    json_t *json = NULL, *tables = NULL;
    require(json_parse(answer, reason, sizeof reason, &json));
    const json_t *output = json_object_get(json, "output");
    struct str decision = json_member_str(json, "decision");
    require(str_eq(decision, STR("yes")) || str_eq(decision, STR("no")));
    require(json_is_object(output) && json_member_str(json, "reason").n > 0);
    struct str sql = json_member_str(output, "sql_query");
    if (sql.at != NULL) {
        struct buf why;
        const char *at = memmem(prompt.at, prompt.n, "\nTables: ", 9); /* not in the request */
        struct str rest = {at + 9, (size_t)(prompt.at + prompt.n - at) - 9};
        buf_init(&why, 4096);
        require(json_parse(str_cut(&rest, '\n'), reason, sizeof reason, &tables));
        require(sql.n > 30 << 10 || rules_check_sql(sql, is_write, tables, &why));
        json_decref(tables);
        buf_fini(&why);
    }
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const agents[] = {"model.Capo",      "model.LanguageCapo",
                                         "model.ruleToSQL", "model.requestToExtractEntities",
                                         "model.mine",      "model.verifyRequest"};
    struct str text = {(const char *)data + 1, size - 1};
    if (size == 0 || !str_is_utf8(text) || memchr(text.at, 0, text.n) != NULL)
        return 0;
    unsigned agent = (data[0] & 0x7f) % 6;
    struct buf prompt, answer;
    buf_init(&prompt, 1 << 20);
    buf_init(&answer, 1 << 20);
    buf_printf(&prompt, "Agent: %s\n", agents[agent]);
    if (data[0] & 0x80)
        buf_lit(&prompt, "Correction: ");
    else
        buf_printf(&prompt, lines, agent == 3 ? "CONTENT" : "RULE");
    for (size_t i = 0; i < text.n; i++) /* a client's newlines are replaced, as in a run */
        buf_put_char(&prompt, text.at[i] == '\n' ? ' ' : text.at[i]);
    if (data[0] & 0x80) {
        buf_put_char(&prompt, '\n');
        buf_printf(&prompt, lines, agent == 3 ? "CONTENT" : "RULE");
        buf_lit(&prompt, "Show ghosts");
    }
    rules_decide(STR("Write SQL."), buf_str(&prompt), &answer);
    require(!answer.is_over);
    check_answer(buf_str(&answer), buf_str(&prompt), agent == 3);
    buf_clear(&answer);
    rules_decide((struct str){NULL, 0}, text, &answer);
    buf_fini(&prompt);
    buf_fini(&answer);
    return 0;
}
