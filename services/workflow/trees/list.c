/* SPDX-License-Identifier: MIT
 * list.c - trees_put_json of trees.h: a workflows file for drawing, in the file's own form. Prompts
 * and addresses are the operator's, and are not shown. */
#include "services/workflow/trees/reader.h"

static void put_branch(struct buf *b, const char *name, const struct tree_node *to)
{
    buf_put_key(b, name);
    if (to == NULL)
        buf_lit(b, "null");
    else
        buf_put_json(b, to->agent->name);
}

static void put_hitl(struct buf *b, const struct hitl *hitl)
{
    static const char *const outcomes[] = {"reject", "continue"};
    buf_put_key(b, "hitl");
    buf_lit(b, "{\"form\":");
    if (hitl->form == NULL)
        buf_lit(b, "null");
    else
        buf_put_json_value(b, hitl->form);
    buf_put_key(b, "approvers");
    for (size_t i = 0; i < hitl->approver_n; i++) {
        buf_put_char(b, i == 0 ? '[' : ',');
        buf_put_json(b, hitl->approvers[i]);
    }
    buf_put(b, hitl->approver_n == 0 ? STR("[]") : STR("]"));
    buf_printf(b, ",\"quorum\":%u,\"self\":%s", hitl->quorum,
               hitl->is_self_allowed ? "true" : "false");
    buf_put_key(b, "timeout");
    if (hitl->timeout_ms == 0)
        buf_lit(b, "null,\"on_timeout\":null");
    else
        buf_printf(b, "%g,\"on_timeout\":", (double)hitl->timeout_ms / 1000);
    if (hitl->timeout_ms > 0)
        buf_put_json(b, hitl->on_timeout == TIMEOUT_AGENT ? hitl->timeout_agent
                                                          : str_of(outcomes[hitl->on_timeout]));
    buf_put_char(b, '}');
}

static void put_text(struct buf *b, const char *name, struct str text)
{
    if (text.n == 0)
        return;
    buf_put_key(b, name);
    buf_put_json(b, text);
}

static void put_node(struct buf *b, const struct node_entry *entry)
{
    buf_put_json(b, entry->node.agent->name);
    buf_lit(b, ":{\"kind\":");
    buf_put_json(b, agent_type_name(entry->node.agent->type));
    put_branch(b, "yes", entry->node.yes);
    put_branch(b, "no", entry->node.no);
    if (entry->node.timeout != NULL)
        put_branch(b, "timeout", entry->node.timeout);
    put_text(b, "description", entry->node.description);
    if (entry->has_own)
        put_hitl(b, &entry->own);
    buf_put_char(b, '}');
}

static void put_tree(struct buf *b, const struct tree *tree)
{
    buf_put_json(b, tree->verb);
    buf_put_char(b, ':');
    for (size_t i = 0; i < tree->n; i++) {
        buf_put_char(b, i == 0 ? '{' : ',');
        put_node(b, &tree->nodes[i]);
    }
    buf_put_char(b, '}');
}

static void put_agent(struct buf *b, const struct agent_entry *agent)
{
    buf_put_json(b, agent->name);
    buf_lit(b, ":{\"kind\":");
    buf_put_json(b, agent_type_name(agent->type));
    put_text(b, "description", agent->description);
    put_text(b, "model", agent->model);
    if (agent->type != AGENT_CHAT)
        buf_printf(b, ",\"timeout\":%g,\"retryable\":%s,\"retries\":%u",
                   (double)agent->timeout_ms / 1000, agent->is_retryable ? "true" : "false",
                   agent->retries);
    put_hitl(b, &agent->hitl);
    buf_put_char(b, '}');
}

void trees_put_json(struct buf *b, const struct trees *trees)
{
    buf_lit(b, "{\"version\":");
    buf_put_json(b, trees_version(trees));
    buf_put_key(b, "workflows");
    for (size_t i = 0; i < trees->tree_n; i++) {
        buf_put_char(b, i == 0 ? '{' : ',');
        put_tree(b, &trees->trees[i]);
    }
    buf_lit(b, "},\"roots\":");
    for (size_t i = 0; i < trees->tree_n; i++) {
        buf_put_char(b, i == 0 ? '{' : ',');
        buf_put_json(b, trees->trees[i].verb);
        buf_put_char(b, ':');
        buf_put_json(b, trees->trees[i].root->agent->name);
    }
    buf_lit(b, "},\"agents\":");
    for (size_t i = 0; i < trees->agent_n; i++) {
        buf_put_char(b, i == 0 ? '{' : ',');
        put_agent(b, &trees->agents[i]);
    }
    buf_lit(b, "}}");
}
