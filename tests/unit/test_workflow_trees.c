/* SPDX-License-Identifier: MIT
 * A workflows file as people write it and as they break it: each fault with its line. */
#include "services/workflow/trees/form.h"
#include "services/workflow/trees/trees.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct trees_faults faults;

static struct trees *read_good(const char *text)
{
    struct trees *trees = trees_read(str_of(text), &faults);
    if (trees == NULL)
        fail_msg("line %zu: %s", faults.list[0].line, faults.list[0].reason);
    assert_int_equal(faults.n, 0);
    return trees;
}

static void assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.at, expected, s.n);
}

#define AGENT_A "  model.a: {kind: model, prompt: p}\n"
#define AGENT_B "  model.b: {kind: model, prompt: p}\n"
#define SMALL "WORKFLOWS:\n  V:\n    model.a: {yes: null, no: sendMessageToChat}\n"

/* --- reading ---------------------------------------------------------------------------------- */

static void every_member_is_read(void **state)
{
    struct trees *trees =
        read_good("WORKFLOWS:\n"
                  "  RULE:\n"
                  "    model.first: {yes: tool.send, no: sendMessageToChat, description: First}\n"
                  "    tool.send: {yes: null, no: null, hitl: {timeout: 2d}}\n"
                  "AGENTS:\n"
                  "  model.first:\n"
                  "    kind: model\n"
                  "    prompt: |\n"
                  "      Two\n"
                  "      lines\n"
                  "    model: large\n"
                  "    timeout: 5.0\n"
                  "    retryable: true\n"
                  "    retries: 3\n"
                  "    description: d\n"
                  "    hitl:\n"
                  "      form: {type: object, properties: {a: {type: string}}}\n"
                  "      approvers: [Ann, Bob, 'role:operator']\n"
                  "      quorum: 2\n"
                  "      self: false\n"
                  "      timeout: 24h\n"
                  "      on_timeout: tool.send\n"
                  "  tool.send: {kind: http, url: 'https://example.org/x', retryable: false}\n");
    const struct tree *tree = trees_tree(trees, STR("RULE"));
    assert_int_equal(trees_count(trees), 1);
    assert_ptr_equal(tree, trees_at(trees, 0));
    assert_null(trees_tree(trees, STR("CONTENT")));
    assert_str(tree_verb(tree), "RULE");

    const struct tree_node *first = tree_root(tree), *send = tree_node(tree, STR("tool.send"));
    assert_ptr_equal(first, tree_node(tree, STR("model.first")));
    assert_str(first->description, "First");
    assert_ptr_equal(first->yes, send);
    assert_int_equal(first->no->agent->type, AGENT_CHAT);
    assert_null(first->no->yes);
    assert_null(first->no->no);
    assert_null(send->yes);
    assert_null(send->no);
    assert_ptr_equal(first->timeout, send);

    const struct agent_entry *agent = first->agent;
    assert_ptr_equal(agent, trees_agent(trees, STR("model.first")));
    assert_str(agent->prompt, "Two\nlines\n");
    assert_str(agent->model, "large");
    assert_int_equal(agent->timeout_ms, 5000);
    assert_true(agent->is_retryable);
    assert_int_equal(agent->retries, 3);
    assert_ptr_equal(first->hitl, &agent->hitl);
    assert_true(json_is_object(agent->hitl.form));
    assert_int_equal(agent->hitl.approver_n, 3);
    assert_str(agent->hitl.approvers[2], "role:operator");
    assert_int_equal(agent->hitl.quorum, 2);
    assert_false(agent->hitl.is_self_allowed);
    assert_int_equal(agent->hitl.timeout_ms, 86400000);
    assert_int_equal(agent->hitl.on_timeout, TIMEOUT_AGENT);
    assert_str(agent->hitl.timeout_agent, "tool.send");

    assert_str(send->agent->url, "https://example.org/x");
    assert_false(send->agent->is_retryable);
    assert_int_equal(send->agent->retries, 0);
    assert_int_equal(send->hitl->timeout_ms, 172800000);
    assert_int_equal(send->hitl->on_timeout, TIMEOUT_REJECT);
    assert_int_equal(send->agent->hitl.timeout_ms, 0);
    trees_unref(trees);
}

static void what_is_left_out_has_defaults(void **state)
{
    struct trees *trees = read_good("WORKFLOWS: {V: {model.a: {yes: tool.executeSQL, no: }}}\n"
                                    "AGENTS: {model.a: {}}\n");
    const struct tree_node *a = tree_root(trees_tree(trees, STR("V"))), *sql = a->yes;
    assert_int_equal(a->agent->type, AGENT_MODEL);
    assert_null(a->no);
    assert_true(a->agent->is_retryable);
    assert_int_equal(a->agent->retries, 2);
    assert_int_equal(a->agent->timeout_ms, 60000);
    assert_null(a->hitl->form);
    assert_int_equal(a->hitl->approver_n, 0);
    assert_int_equal(a->hitl->quorum, 1);
    assert_true(a->hitl->is_self_allowed);
    assert_int_equal(a->hitl->timeout_ms, 0);
    /* The tool at the end needs no branches. */
    assert_int_equal(sql->agent->type, AGENT_SQL);
    assert_int_equal(sql->agent->timeout_ms, 5000);
    assert_null(sql->yes);
    assert_int_equal(sql->no->agent->type, AGENT_CHAT);
    assert_non_null(sql->hitl);
    assert_int_equal(trees_router(trees)->type, AGENT_MODEL);
    assert_true(trees_router(trees)->prompt.n > 0);
    trees_unref(trees);

    trees = read_good(SMALL "AGENTS: {model.a: {description: Says yes}}\n");
    assert_str(trees_agent(trees, STR("model.a"))->prompt, "Says yes");
    trees_unref(trees);
}

/* What the shipped file has, a file need not repeat, and may replace. */
static void trees_alone_use_the_shipped_agents(void **state)
{
    static const char *const text =
        "WORKFLOWS:\n"
        "  RULE:\n"
        "    model.Capo: {yes: model.verifyRequest, no: sendMessageToChat}\n"
        "    model.verifyRequest: {yes: model.ruleToSQL, no: sendMessageToChat}\n"
        "    model.ruleToSQL: {yes: tool.executeSQL, no: sendMessageToChat}\n";
    struct trees *alone = read_good(text);
    struct trees *shipped = trees_read(trees_shipped(), &faults);
    static const char *const names[] = {"model.Capo", "model.ruleToSQL", "model.verifyUpsert",
                                        "model.LanguageCapo"};
    assert_non_null(shipped);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct agent_entry *one = trees_agent(alone, str_of(names[i]));
        const struct agent_entry *other = trees_agent(shipped, str_of(names[i]));
        assert_non_null(one);
        assert_true(one->prompt.n > 0);
        assert_true(str_eq(one->prompt, other->prompt));
        assert_int_equal(one->timeout_ms, other->timeout_ms);
    }
    trees_unref(alone);

    char file[1024];
    snprintf(file, sizeof file,
             "%sAGENTS:\n  model.Capo: {prompt: Mine, hitl: {approvers: [Ann]}}\n", text);
    struct trees *mixed = read_good(file);
    assert_str(trees_agent(mixed, STR("model.Capo"))->prompt, "Mine");
    assert_int_equal(trees_agent(mixed, STR("model.Capo"))->hitl.approver_n, 1);
    assert_true(str_eq(trees_agent(mixed, STR("model.ruleToSQL"))->prompt,
                       trees_agent(shipped, STR("model.ruleToSQL"))->prompt));
    trees_unref(mixed);
    trees_unref(shipped);
}

static void a_person_may_be_written_down(void **state)
{
    struct trees *trees = read_good(SMALL "    sendMessageToChat: {yes: null, no: null}\n"
                                          "    chat: {description: Nobody comes here}\n"
                                          "AGENTS:\n" AGENT_A "  sendMessageToChat: {}\n"
                                          "  chat: {kind: chat}\n");
    const struct tree *tree = trees_at(trees, 0);
    assert_int_equal(tree_count(tree), 2);
    assert_int_equal(tree_root(tree)->no->agent->type, AGENT_CHAT);
    trees_unref(trees);
}

static void the_root_is_capo_or_the_first(void **state)
{
    struct trees *trees = read_good("WORKFLOWS:\n"
                                    "  A: {model.b: {yes: null, no: null}, model.Capo: {yes: "
                                    "model.b, no: null}}\n"
                                    "  B: {model.b: {yes: null, no: null}}\n"
                                    "AGENTS: {model.b: {}, model.Capo: {}}\n");
    assert_str(tree_root(trees_tree(trees, STR("A")))->agent->name, "model.Capo");
    assert_str(tree_root(trees_tree(trees, STR("B")))->agent->name, "model.b");
    trees_unref(trees);
}

static void the_version_is_the_digest_of_the_text(void **state)
{
    static const char *const text = SMALL "AGENTS:\n" AGENT_A;
    struct trees *trees = read_good(text), *again = read_good(text);
    struct trees *other = read_good(SMALL "AGENTS:\n" AGENT_A "# a comment\n");
    assert_int_equal(trees_version(trees).n, TREES_VERSION_BYTES);
    assert_true(str_eq(trees_version(trees), trees_version(again)));
    assert_false(str_eq(trees_version(trees), trees_version(other)));
    assert_str(trees_text(trees), text);
    assert_ptr_equal(trees_ref(trees), trees);
    trees_unref(trees);
    assert_str(trees_text(trees), text);
    trees_unref(trees);
    trees_unref(again);
    trees_unref(other);
    trees_unref(NULL);
}

/* --- faults ----------------------------------------------------------------------------------- */

static const struct fault {
    const char *text;
    size_t line;
    const char *reason; /* a part of it */
} one_fault[] = {
    {"", 0, "empty"},
    {"- a\n", 1, "expected WORKFLOWS"},
    {"AGENTS:\n" AGENT_A, 1, "the file needs WORKFLOWS"},
    {"WORKFLOWS: {}\n", 1, "the file needs WORKFLOWS"},
    {"WORKFLOWS:\n  V: []\n", 2, "V takes agents of the form"},
    {"WORKFLOWS: {V: {tool.executeSQL: {yes: null, no: null}}}\nAGENTS: [a]\n", 2,
     "AGENTS takes agents"},
    {SMALL "AGENTS:\n" AGENT_A "Other: 1\n", 6, "unknown member 'Other'"},
    {SMALL "AGENTS:\n" AGENT_A "\tb: 1\n", 6, ""},
    {SMALL "AGENTS:\n" AGENT_A "---\na: 1\n", 6, "second YAML document"},
    {SMALL "AGENTS:\n" AGENT_A AGENT_A, 6, "a second 'model.a'"},
    {SMALL "AGENTS:\n" AGENT_A "AGENTS:\n", 6, "a second 'AGENTS'"},
    {SMALL "    model.a: {yes: null, no: null}\nAGENTS:\n" AGENT_A, 4, "a second 'model.a'"},
    {"WORKFLOWS:\n  V:\n    model.a: {yes: null, no: null, yes: null}\nAGENTS:\n" AGENT_A, 3,
     "a second 'yes'"},
    {SMALL "AGENTS:\n  model.a: &x {kind: model}\n", 5, "anchors"},
    {SMALL "AGENTS:\n" AGENT_A "  model.b: *x\n", 6, "aliases"},
    {SMALL "AGENTS:\n  model.a: !x {kind: model}\n", 5, "tags"},
    {SMALL "AGENTS:\n  model.a: {prompt: \"\\0\"}\n", 5, "NUL"},
    {SMALL "AGENTS:\n  model.a: {prompt: \"\xff\"}\n", 5, "UTF-8"},
    {SMALL "AGENTS:\n" AGENT_A "  [a, b]: 1\n", 6, "plain text"},
    /* trees */
    {"WORKFLOWS:\n  V:\n    model.x: {yes: null, no: null}\n", 3, "unknown agent 'model.x'"},
    {"WORKFLOWS:\n  V:\n    model.a:\n      yes: model.x\n      no: null\nAGENTS:\n" AGENT_A, 4,
     "unknown agent 'model.x'"},
    {"WORKFLOWS:\n  V:\n    model.a: {yes: null}\nAGENTS:\n" AGENT_A, 3, "no branch 'no'"},
    {"WORKFLOWS:\n  V:\n    model.a: {no: null}\nAGENTS:\n" AGENT_A, 3, "no branch 'yes'"},
    {"WORKFLOWS:\n  V:\n    model.a:\n      yes: model.b\n      no: null\nAGENTS:\n" AGENT_A
         AGENT_B,
     4, "V has no branches for 'model.b'"},
    {"WORKFLOWS:\n  V:\n    model.a: {yes: null, no: null, maybe: null}\nAGENTS:\n" AGENT_A, 3,
     "unknown member 'maybe': use yes, no, description and hitl"},
    {"WORKFLOWS:\n  V:\n    model.a: {yes: [b], no: null}\nAGENTS:\n" AGENT_A, 3,
     "a branch takes the name"},
    {"WORKFLOWS:\n  V:\n    model.a: sendMessageToChat\nAGENTS:\n" AGENT_A, 3, "not of the form"},
    {SMALL "    model.b: {yes: null, no: null}\nAGENTS:\n" AGENT_A AGENT_B, 4,
     "no branch of V leads to 'model.b', from its root 'model.a'"},
    {"WORKFLOWS:\n  V:\n    model.a: {yes: model.a, no: sendMessageToChat}\nAGENTS:\n" AGENT_A, 3,
     "endless loop in V: 'model.a' leads back to 'model.a'"},
    {"WORKFLOWS:\n  V:\n    model.a: {yes: model.b, no: sendMessageToChat}\n"
     "    model.b: {yes: null,\n      no: model.a}\nAGENTS:\n" AGENT_A AGENT_B,
     5, "endless loop in V: 'model.b' leads back to 'model.a'"},
    {"WORKFLOWS:\n  V:\n    model.a: {yes: sendMessageToChat, no: null}\nAGENTS:\n" AGENT_A, 3,
     "a person's yes would lead there again"},
    {SMALL "    sendMessageToChat: {yes: null,\n      no: model.a}\nAGENTS:\n" AGENT_A, 5,
     "its branches are null"},
    {"WORKFLOWS:\n  V:\n    sendMessageToChat: {yes: null, no: null}\n", 2, "V has no agent"},
    {"WORKFLOWS:\n  GENERIC: {model.a: {yes: null, no: null}}\nAGENTS:\n" AGENT_A, 2, "GENERIC"},
    {"WORKFLOWS:\n  a b: {model.a: {yes: null, no: null}}\nAGENTS:\n" AGENT_A, 2, "a verb is"},
    /* agents */
    {SMALL "AGENTS:\n  model.a: 1\n", 5, "not of the form"},
    {SMALL "AGENTS:\n" AGENT_A "  x: {prompt: p}\n", 6, "'x' has no kind"},
    {SMALL "AGENTS:\n  model.a:\n    kind: robot\n", 6, "unknown kind 'robot'"},
    {SMALL "AGENTS:\n  model.a:\n    promt: p\n", 6, "unknown member 'promt'"},
    {SMALL "AGENTS:\n  model.a:\n    prompt: [p]\n", 6, "'prompt' takes a text"},
    {SMALL "AGENTS:\n  model.a:\n    timeout: soon\n", 6, "'timeout' takes a time"},
    {SMALL "AGENTS:\n  model.a:\n    timeout: 0\n", 6, "out of range: 100ms to 1h, not 0"},
    {SMALL "AGENTS:\n  model.a:\n    timeout: -1\n", 6, "'timeout' takes a time"},
    {SMALL "AGENTS:\n  model.a:\n    timeout: 2h\n", 6, "out of range"},
    {SMALL "AGENTS:\n  model.a:\n    timeout: 1e999\n", 6, "'timeout' takes a time"},
    {SMALL "AGENTS:\n  model.a:\n    retries: 11\n", 6, "from 0 to 10"},
    {SMALL "AGENTS:\n  model.a:\n    retries: two\n", 6, "from 0 to 10"},
    {SMALL "AGENTS:\n  model.a:\n    retryable: 2\n", 6, "true or false"},
    {SMALL "AGENTS:\n  model.a:\n    url: https://example.org\n", 6, "of kind http"},
    {SMALL "AGENTS:\n" AGENT_A "  t: {kind: sql, model: m}\n", 6, "of kind model"},
    {SMALL "AGENTS:\n" AGENT_A "  t: {kind: http}\n", 6, "has no url"},
    {SMALL "AGENTS:\n" AGENT_A "  t: {kind: http, url: 'https://x', secret_file: s}\n", 6,
     "a path that begins with /"},
    {SMALL "AGENTS:\n  model.a:\n    secret_file: /s\n", 6, "of kind http"},
    {SMALL "AGENTS:\n" AGENT_A "  t: {kind: http, url: 'ftp://x'}\n", 6, "http or https"},
    {SMALL "AGENTS:\n" AGENT_A "  a b: {kind: sql}\n", 6, "the name of an agent"},
    /* a person */
    {SMALL "AGENTS:\n  model.a:\n    hitl: yes\n", 6, "'hitl' takes members"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {who: Ann}\n", 6, "unknown member 'who'"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {approvers: []}\n", 6, "at least one"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {approvers: Ann}\n", 6, "takes a list"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {approvers: [Ann, Ann]}\n", 6, "a second approver"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {approvers: ['role:boss']}\n", 6, "role 'boss'"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {approvers: ['a b']}\n", 6, "an approver is"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {approvers: [Ann, Bob],\n      quorum: 3}\n", 7,
     "a quorum of 3 is larger than the number of approvers, 2"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {quorum: 2}\n", 6, "a quorum of 2 takes approvers"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {quorum: 0}\n", 6, "from 1 to 100"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {self: false}\n", 6, "'self: false' takes approvers"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {timeout: 400d}\n", 6, "out of range: 100ms to 365d"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {on_timeout: reject}\n", 6, "takes a 'timeout'"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {timeout: 1h,\n      on_timeout: model.x}\n", 7,
     "'on_timeout' names an unknown agent 'model.x'"},
    {SMALL "AGENTS:\n" AGENT_A "  model.b:\n    hitl: {timeout: 1h,\n      on_timeout: model.x}\n",
     8, "'on_timeout' names an unknown agent 'model.x'"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {timeout: 1h,\n      on_timeout: sendMessageToChat}\n",
     7, "would wait again"},
    {SMALL "AGENTS:\n" AGENT_B "  model.a:\n    hitl: {timeout: 1h,\n      on_timeout: model.b}\n",
     8, "V has no branches for 'model.b'"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {timeout: 1h,\n      on_timeout: model.a}\n", 7,
     "endless loop"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {timeout: 1h, on_timeout: [a]}\n", 6, "takes reject"},
    /* a form */
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: text}\n", 6, "'form' takes a JSON Schema"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {type: string}}\n", 6, "a form is object"},
    {SMALL "AGENTS:\n  model.a:\n    hitl:\n      form:\n        pattern: a+\n", 8,
     "the JSON Schema keyword 'pattern' is not supported"},
    {SMALL "AGENTS:\n  model.a:\n    hitl:\n      form:\n        properties:\n          a:\n"
           "            $ref: '#'\n",
     10, "the JSON Schema keyword '$ref' is not supported"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {type: objekt}}\n", 6, "unknown type 'objekt'"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {required: a}}\n", 6, "'required' takes a list"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {required: [1]}}\n", 6, "names of members"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {properties: [a]}}\n", 6, "'properties' takes"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {properties: {a: string}}}\n", 6,
     "'a' takes a JSON Schema"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {properties: {a: {minLength: x}}}}\n", 6,
     "'minLength' takes a whole number"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {properties: {a: {minimum: x}}}}\n", 6,
     "'minimum' takes a number"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {properties: {a: {minItems: 2, maxItems: 1}}}}\n",
     6, "'minItems' is larger than 'maxItems'"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {properties: {a: {enum: [[1]]}}}}\n", 6,
     "no lists"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {properties: {a: {enum: []}}}}\n", 6,
     "'enum' takes a list of 1 to 100"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {additionalProperties: {type: string}}}\n", 6,
     "'additionalProperties' takes true or false"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {properties: {a: {type: string,\n"
           "      default: 1}}}}\n",
     7, "'default' must be of type string"},
    {SMALL "AGENTS:\n  model.a:\n    hitl: {form: {title: [1]}}\n", 6, "'title' takes a text"},
};

static void each_fault_is_reported_by_its_line(void **state)
{
    unsigned wrong_n = 0;
    for (size_t i = 0; i < sizeof one_fault / sizeof *one_fault; i++) {
        const struct fault *expected = &one_fault[i];
        struct trees *trees = trees_read(str_of(expected->text), &faults);
        if (trees == NULL && faults.n == 1 && faults.list[0].line == expected->line &&
            strstr(faults.list[0].reason, expected->reason) != NULL)
            continue;
        wrong_n++;
        print_error("%s%u faults, line %zu: %s\nexpected line %zu: %s\n", expected->text, faults.n,
                    faults.n == 0 ? 0 : faults.list[0].line,
                    faults.n == 0 ? "" : faults.list[0].reason, expected->line, expected->reason);
        trees_unref(trees);
    }
    assert_int_equal(wrong_n, 0);
}

/* Frames and stored questions hold it whole. */
static void a_form_has_a_longest(void **state)
{
    struct buf text;
    buf_init(&text, TREES_FILE_MAX_BYTES);
    for (unsigned more = 0; more < 2; more++) {
        buf_clear(&text);
        buf_lit(&text, SMALL "AGENTS:\n  model.a:\n    hitl:\n      form: {title: '");
        for (size_t i = strlen("{\"title\":\"\"}"); i < FORM_MAX_BYTES + more; i++)
            buf_put_char(&text, 'x');
        buf_lit(&text, "'}\n");
        struct trees *trees = trees_read(buf_str(&text), &faults);
        assert_int_equal(trees == NULL, more);
        trees_unref(trees);
    }
    assert_int_equal(faults.list[0].line, 7);
    assert_non_null(strstr(faults.list[0].reason, "longer than 32 KiB"));
    buf_fini(&text);
}

static void all_faults_are_reported_in_order(void **state)
{
    assert_null(trees_read(STR("WORKFLOWS:\n"
                               "  V:\n"
                               "    model.a: {yes: model.x}\n"
                               "AGENTS:\n"
                               "  model.a: {timeout: never, retries: -1}\n"
                               "  model.a: {}\n"),
                           &faults));
    static const size_t lines[] = {3, 3, 5, 5, 6};
    assert_int_equal(faults.n, sizeof lines / sizeof *lines);
    for (size_t i = 0; i < faults.n; i++)
        assert_int_equal(faults.list[i].line, lines[i]);
}

static void more_faults_than_the_list_holds_are_counted(void **state)
{
    struct buf text;
    buf_init(&text, TREES_FILE_MAX_BYTES);
    buf_lit(&text, SMALL "AGENTS:\n" AGENT_A);
    for (unsigned i = 0; i < 200; i++)
        buf_printf(&text, "  a%u: {kind: robot}\n", i);
    assert_null(trees_read(buf_str(&text), &faults));
    assert_int_equal(faults.n, 200);
    buf_fini(&text);
}

/* --- the largest ------------------------------------------------------------------------------ */

/* Puts `part` until the text has TREES_FILE_MAX_BYTES; each `%u` of it is a number of its own. */
static struct str fill(struct buf *b, const char *head, const char *part)
{
    unsigned i = 0;
    buf_init(b, 2 * TREES_FILE_MAX_BYTES);
    buf_put(b, str_of(head));
    while (b->n + strlen(part) + 8 < TREES_FILE_MAX_BYTES) {
        struct str rest = str_of(part);
        buf_put(b, str_cut(&rest, '#'));
        if (rest.at != NULL)
            buf_put_u64(b, i++);
        buf_put(b, rest);
    }
    return buf_str(b);
}

static void the_largest_files_are_refused_soon(void **state)
{
    static const char *const shapes[][2] = {
        {"", "["},
        {"", "{a: "},
        {"a: ", "- "},
        {"", "&a# "},
        {"WORKFLOWS: [", "[],"},
        {"AGENTS:\n", " a#: {}\n"},
        {"WORKFLOWS:\n", " a#: {b: {}}\n"},
        {"WORKFLOWS:\n V:\n", "  a#: {}\n"},
        {SMALL "AGENTS: {model.a: {hitl: {approvers: [", "A#,"},
        {SMALL "AGENTS: {model.a: {hitl: {form: {", "a#: 1,"},
        {SMALL "AGENTS: {model.a: {hitl: {form: {enum: [", "a#,"},
        {"? ", "? "},
        {"", "\"\\"},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct buf b;
        assert_null(trees_read(fill(&b, shapes[i][0], shapes[i][1]), &faults));
        assert_true(faults.n > 0);
        buf_fini(&b);
    }
    struct buf b;
    (void)fill(&b, SMALL "AGENTS:\n" AGENT_A, "# a comment\n");
    while (b.n <= TREES_FILE_MAX_BYTES)
        buf_put_char(&b, '#');
    assert_null(trees_read(buf_str(&b), &faults));
    assert_non_null(strstr(faults.list[0].reason, "larger than 524288 bytes"));
    buf_fini(&b);
}

static void the_largest_legal_trees_are_read(void **state)
{
    struct buf b;
    buf_init(&b, TREES_FILE_MAX_BYTES);
    buf_lit(&b, "WORKFLOWS:\n");
    for (unsigned v = 0; v < 20; v++) {
        buf_printf(&b, "  V%u:\n", v);
        for (unsigned n = 0; n < 200; n++)
            buf_printf(&b, "    model.%u: {yes: model.%u, no: sendMessageToChat}\n", n, n + 1);
    }
    buf_lit(&b, "AGENTS:\n");
    for (unsigned n = 0; n <= 200; n++)
        buf_printf(&b, "  model.%u: {kind: %s}\n", n, n == 200 ? "sql" : "model");
    struct trees *trees = trees_read(buf_str(&b), &faults);
    assert_non_null(trees);
    size_t n = 0;
    for (const struct tree_node *at = tree_root(trees_at(trees, 19)); at != NULL; at = at->yes)
        n++;
    assert_int_equal(n, 201);
    trees_unref(trees);
    buf_fini(&b);
}

/* --- the process's file ----------------------------------------------------------------------- */

static void the_shipped_trees_are_valid(void **state)
{
    char reason[512] = "";
    static const char *const rule[] = {"model.Capo", "model.verifyRequest", "model.ruleToSQL",
                                       "model.verifySQL", "tool.executeSQL"};
    static const char *const content[] = {"model.Capo", "model.verifyRequest",
                                          "model.requestToExtractEntities", "model.verifyUpsert",
                                          "tool.executeSQL"};
    struct trees_file *file = trees_file_open(NULL, reason, sizeof reason);
    assert_string_equal(reason, "");
    struct trees *trees = trees_file_current(file);
    for (unsigned v = 0; v < 2; v++) {
        const struct tree_node *node =
            tree_root(trees_tree(trees, v == 0 ? STR("RULE") : STR("CONTENT")));
        for (size_t i = 0; i < 5; i++, node = node->yes) {
            assert_str(node->agent->name, v == 0 ? rule[i] : content[i]);
            assert_str(node->no->agent->name, "sendMessageToChat");
        }
        assert_null(node);
    }
    trees_file_close(file);
    assert_int_equal(trees_count(trees), 2); /* the reference outlives the file */
    trees_unref(trees);
    trees_file_close(NULL);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_file_with_a_fault_keeps_the_old_trees(void **state)
{
    char path[] = "/tmp/parley-trees-XXXXXX", reason[512] = "";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    write_file(path, SMALL "AGENTS:\n" AGENT_A);
    struct trees_file *file = trees_file_open(path, reason, sizeof reason);
    assert_non_null(file);
    struct trees *before = trees_file_current(file);

    write_file(path, SMALL "AGENTS:\n  model.a: {timeout: 0}\n  model.b: 1\n");
    assert_false(trees_file_reload(file, reason, sizeof reason));
    assert_non_null(strstr(reason, path));
    assert_non_null(strstr(reason, "line 5: 'timeout' is out of range"));
    assert_non_null(strstr(reason, "and 1 more"));
    struct trees *kept = trees_file_current(file);
    assert_ptr_equal(kept, before);
    trees_unref(kept);

    write_file(path, SMALL "AGENTS:\n  model.a: {timeout: 7}\n");
    assert_true(trees_file_reload(file, reason, sizeof reason));
    struct trees *after = trees_file_current(file);
    assert_int_equal(trees_agent(after, STR("model.a"))->timeout_ms, 7000);
    assert_int_equal(trees_agent(before, STR("model.a"))->timeout_ms, 60000);
    trees_unref(after);
    trees_unref(before);

    unlink(path);
    assert_false(trees_file_reload(file, reason, sizeof reason));
    assert_non_null(strstr(reason, "cannot be read: No such file"));
    trees_file_close(file);
    assert_null(trees_file_open(path, reason, sizeof reason));
    assert_null(trees_file_open("/", reason, sizeof reason));
    assert_non_null(strstr(reason, "Is a directory"));
}

static void the_list_for_drawing_has_no_prompts(void **state)
{
    struct trees *trees =
        read_good("WORKFLOWS: {V: {model.a: {yes: t, no: sendMessageToChat}, t: {yes: null, no: "
                  "null, description: \"d\\\"\"}}}\n"
                  "AGENTS:\n"
                  "  model.a: {prompt: s3cret, hitl: {approvers: [Ann], timeout: 90, on_timeout: "
                  "continue, form: {title: T}}}\n"
                  "  t: {kind: http, url: 'https://s3cret.example'}\n");
    struct buf b;
    json_t *json = NULL;
    char reason[200] = "";
    buf_init(&b, 65536);
    trees_put_json(&b, trees);
    assert_true(json_parse(buf_str(&b), reason, sizeof reason, &json));
    buf_terminate(&b);
    assert_null(strstr(b.at, "s3cret"));
    const json_t *tree = json_object_get(json_object_get(json, "workflows"), "V");
    assert_str(json_member_str(json_object_get(tree, "model.a"), "yes"), "t");
    assert_true(json_is_null(json_object_get(json_object_get(tree, "t"), "yes")));
    assert_str(json_member_str(json_object_get(tree, "t"), "description"), "d\"");
    assert_str(json_member_str(json_object_get(tree, "sendMessageToChat"), "kind"), "chat");
    assert_str(json_member_str(json_object_get(json, "roots"), "V"), "model.a");
    const json_t *hitl =
        json_object_get(json_object_get(json_object_get(json, "agents"), "model.a"), "hitl");
    assert_str(json_member_str(hitl, "on_timeout"), "continue");
    assert_int_equal(json_number_value(json_object_get(hitl, "timeout")), 90);
    assert_str(json_member_str(json_object_get(hitl, "form"), "title"), "T");
    json_decref(json);
    buf_fini(&b);
    trees_unref(trees);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_is_read),
        cmocka_unit_test(what_is_left_out_has_defaults),
        cmocka_unit_test(trees_alone_use_the_shipped_agents),
        cmocka_unit_test(a_person_may_be_written_down),
        cmocka_unit_test(the_root_is_capo_or_the_first),
        cmocka_unit_test(the_version_is_the_digest_of_the_text),
        cmocka_unit_test(each_fault_is_reported_by_its_line),
        cmocka_unit_test(a_form_has_a_longest),
        cmocka_unit_test(all_faults_are_reported_in_order),
        cmocka_unit_test(more_faults_than_the_list_holds_are_counted),
        cmocka_unit_test(the_largest_files_are_refused_soon),
        cmocka_unit_test(the_largest_legal_trees_are_read),
        cmocka_unit_test(the_shipped_trees_are_valid),
        cmocka_unit_test(a_file_with_a_fault_keeps_the_old_trees),
        cmocka_unit_test(the_list_for_drawing_has_no_prompts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
