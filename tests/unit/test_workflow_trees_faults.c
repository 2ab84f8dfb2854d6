/* SPDX-License-Identifier: MIT
 * test_workflow_trees_faults.c - what is wrong in a workflow file is reported by its line, and
 * how large one may be. */
#include "services/workflow/trees/form.h"
#include "tests/unit/trees_fixture.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_is_reported_by_its_line),
        cmocka_unit_test(a_form_has_a_longest),
        cmocka_unit_test(all_faults_are_reported_in_order),
        cmocka_unit_test(more_faults_than_the_list_holds_are_counted),
        cmocka_unit_test(the_largest_files_are_refused_soon),
        cmocka_unit_test(the_largest_legal_trees_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
