/* SPDX-License-Identifier: MIT
 * Any bytes as a workflow file: either faults with lines of the text, or trees in which every run
 * comes to an end, whatever its agents decide. */
#include "services/workflow/trees/trees.h"

#include "services/workflow/trees/form.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_faults(struct str text, const struct trees_faults *faults)
{
    size_t line_n = 2; /* a fault at the end is on the line after the last */
    for (size_t i = 0; i < text.n; i++)
        line_n += text.at[i] == '\n' || text.at[i] == '\r' || (unsigned char)text.at[i] >= 0x80;
    assert(faults->n > 0);
    for (unsigned i = 0; i < faults->n && i < TREES_FAULTS_MAX; i++) {
        const struct trees_fault *fault = &faults->list[i];
        assert(fault->line <= line_n && fault->reason[0] != 0);
        assert(strlen(fault->reason) < sizeof fault->reason);
        assert(str_is_utf8(str_of(fault->reason)));
        assert(strchr(fault->reason, '\n') == NULL);
        assert(i == 0 || faults->list[i - 1].line <= fault->line);
    }
}

static void check_agent(const struct agent_entry *agent)
{
    assert(agent->name.n > 0 && agent->name.n <= TREES_AGENT_MAX_BYTES);
    assert((unsigned)agent->type < AGENT_TYPE_NR && agent->retries <= 10);
    assert(agent->type == AGENT_CHAT || agent->timeout_ms > 0);
    assert((agent->url.n > 0) == (agent->type == AGENT_HTTP));
}

static void check_hitl(const struct hitl *hitl)
{
    struct buf why;
    json_t *corrections = json_object();
    buf_init(&why, FORM_WHY_MAX_BYTES);
    assert(hitl->quorum > 0 && (unsigned)hitl->on_timeout < TIMEOUT_NR);
    assert(hitl->is_self_allowed || hitl->approver_n > 0);
    assert(hitl->form == NULL || json_is_object(hitl->form));
    if (!form_check(hitl->form, corrections, &why))
        assert(why.n > 0 && !why.is_over && str_is_utf8(buf_str(&why)));
    json_decref(corrections);
    buf_fini(&why);
}

/* Bounded by the fuzzer's own limits: each path is walked. */
static void walk(const struct tree *tree, const struct tree_node *node, size_t step)
{
    if (node == NULL)
        return;
    assert(step <= tree_count(tree));
    assert(tree_node(tree, node->agent->name) == node);
    check_agent(node->agent);
    check_hitl(node->hitl);
    if (node->agent->type == AGENT_CHAT) {
        assert(node->yes == NULL && node->no == NULL);
        return;
    }
    assert(node->yes == NULL || node->yes->agent->type != AGENT_CHAT);
    assert(node->timeout == NULL || node->timeout->agent->type != AGENT_CHAT);
    if (tree_count(tree) > 12)
        return;
    walk(tree, node->yes, step + 1);
    walk(tree, node->no, step + 1);
    walk(tree, node->timeout, step + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct trees_faults faults;
    struct str text = {(const char *)data, size};
    struct trees *trees = trees_read(text, &faults);
    if (trees == NULL) {
        check_faults(text, &faults);
        return 0;
    }
    assert(trees_count(trees) > 0 && trees_router(trees) != NULL);
    for (size_t i = 0; i < trees_count(trees); i++) {
        const struct tree *tree = trees_at(trees, i);
        assert(trees_tree(trees, tree_verb(tree)) == tree);
        walk(tree, tree_root(tree), 1);
    }
    struct buf json;
    char reason[200];
    json_t *value = NULL;
    buf_init(&json, TREES_JSON_MAX_BYTES);
    trees_put_json(&json, trees);
    assert(!json.is_over && json_parse(buf_str(&json), reason, sizeof reason, &value));
    json_decref(value);
    buf_fini(&json);
    trees_unref(trees);
    return 0;
}
