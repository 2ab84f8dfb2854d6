/* SPDX-License-Identifier: MIT
 * A workflows file as people write it and as they break it: each fault with its line. */
#include "tests/unit/trees_fixture.h"

#include <unistd.h>

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
        cmocka_unit_test(the_shipped_trees_are_valid),
        cmocka_unit_test(a_file_with_a_fault_keeps_the_old_trees),
        cmocka_unit_test(the_list_for_drawing_has_no_prompts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
