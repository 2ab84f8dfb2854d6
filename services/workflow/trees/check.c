/* SPDX-License-Identifier: MIT
 * check.c - ties the nodes of each tree to each other, and checks that every run comes to an end.
 */
#include "services/workflow/trees/reader.h"

#include <stdio.h>

/* --- branches --------------------------------------------------------------------------------- */

static struct node_entry *entry_of(const struct tree_node *node)
{
    return (struct node_entry *)((char *)node - offsetof(struct node_entry, node));
}

/* A node that the file need not write down: a person, or a tool at the end. */
static const struct tree_node *add_node(struct tree *tree, const struct agent_entry *agent)
{
    struct node_entry *entry = &tree->nodes[tree->n++];
    *entry = (struct node_entry){.node.agent = agent, .node.hitl = &agent->hitl};
    return &entry->node;
}

static const struct tree_node *find_node(struct reader *r, struct tree *tree, size_t line,
                                         struct str name)
{
    const struct tree_node *node = tree_node(tree, name);
    const struct agent_entry *agent = trees_agent(r->trees, name);
    if (node != NULL)
        return node;
    if (agent == NULL) {
        reader_fault_at(r, line, "unknown agent '%s'%s", reader_show(r, name),
                        reader_meant(r, reader_nearest_agent(r, name),
                                     ": add it to AGENTS, or correct the name"));
        return NULL;
    }
    if (agent->type == AGENT_CHAT || agent->type == AGENT_SQL)
        return add_node(tree, agent);
    reader_fault_at(r, line, "%s has no branches for '%s': add '%s: {yes: AGENT, no: AGENT}' to it",
                    reader_show(r, tree->verb), reader_show(r, name), reader_show(r, name));
    return NULL;
}

static const struct tree_node *tie_branch(struct reader *r, struct tree *tree,
                                          const yaml_node_t *value)
{
    struct str name;
    if (value == NULL || yaml_tree_is_null(value))
        return NULL;
    name = yaml_tree_scalar(value);
    if (name.at == NULL) {
        reader_fault(r, value, "a branch takes the name of an agent, or null");
        return NULL;
    }
    return find_node(r, tree, reader_line(value), name);
}

/* A person's yes counts as that of the agent, and would lead here again. */
static void check_yes(struct reader *r, const struct node_entry *entry)
{
    const struct tree_node *yes = entry->node.yes;
    if (yes != NULL && yes->agent->type == AGENT_CHAT)
        reader_fault(r, entry->yes,
                     "'yes' of '%s' leads to '%s', where a person's yes would lead there again: "
                     "use null to end the run",
                     reader_show(r, entry->node.agent->name), reader_show(r, yes->agent->name));
}

/* `line`: of on_timeout, which names an agent. */
static bool check_timeout(struct reader *r, const struct hitl *hitl, size_t line)
{
    const struct agent_entry *agent = trees_agent(r->trees, hitl->timeout_agent);
    if (agent == NULL)
        return reader_fault_at(r, line, "'on_timeout' names an unknown agent '%s'%s",
                               reader_show(r, hitl->timeout_agent),
                               reader_meant(r, reader_nearest_agent(r, hitl->timeout_agent),
                                            ": add it to AGENTS, or correct the name"));
    return agent->type != AGENT_CHAT ||
           reader_fault_at(r, line, "'on_timeout' leads to '%s', which would wait again",
                           reader_show(r, agent->name));
}

/* Checks every agent, whether or not a tree uses it. A fault takes its effect away. */
static void check_agent_timeouts(struct reader *r)
{
    struct trees *trees = r->trees;
    for (size_t i = 0; i < trees->agent_n; i++) {
        struct hitl *hitl = &trees->agents[i].hitl;
        if (hitl->on_timeout == TIMEOUT_AGENT &&
            !check_timeout(r, hitl, trees->agent_timeout_lines[i]))
            hitl->on_timeout = TIMEOUT_REJECT;
    }
}

static void tie_timeout(struct reader *r, struct tree *tree, struct node_entry *entry)
{
    struct tree_node *node = &entry->node;
    const struct hitl *hitl = node->hitl;
    bool asks_person = node->no != NULL && node->no->agent->type == AGENT_CHAT;
    size_t line = entry->timeout_line;
    if (hitl->on_timeout != TIMEOUT_AGENT || (entry->has_own && !check_timeout(r, hitl, line)) ||
        !asks_person)
        return;
    if (!entry->has_own)
        line = entry->timeout_line = r->trees->agent_timeout_lines[node->agent - r->trees->agents];
    node->timeout = find_node(r, tree, line, hitl->timeout_agent);
}

static void tie(struct reader *r, struct tree *tree)
{
    const struct agent_entry *chat = trees_agent(r->trees, STR("sendMessageToChat"));
    for (size_t i = 0; i < tree->written_n; i++) {
        struct node_entry *entry = &tree->nodes[i];
        entry->node.hitl = entry->has_own ? &entry->own : &entry->node.agent->hitl;
        entry->node.yes = tie_branch(r, tree, entry->yes);
        entry->node.no = tie_branch(r, tree, entry->no);
        check_yes(r, entry);
    }
    for (size_t i = 0; i < tree->written_n; i++)
        tie_timeout(r, tree, &tree->nodes[i]);
    for (size_t i = tree->written_n; i < tree->n; i++)
        if (tree->nodes[i].node.agent->type == AGENT_SQL) {
            const struct tree_node *person = tree_node(tree, chat->name);
            tree->nodes[i].node.no = person != NULL ? person : add_node(tree, chat);
        }
    const struct tree_node *capo = tree_node(tree, STR("model.Capo"));
    if (tree->written_n > 0)
        tree->root = capo != NULL ? capo : &tree->nodes[0].node;
}

/* --- ends ------------------------------------------------------------------------------------- */

/* A person's correction asks the same agent again, so that is no loop of the tree's. */
static void note_loop(struct reader *r, const struct tree *tree, const struct node_entry *from,
                      const struct tree_node *to, size_t line)
{
    reader_fault_at(r, line,
                    "endless loop in %s: '%s' leads back to '%s'. Let a branch end in "
                    "sendMessageToChat or null; `retries` ask an agent again",
                    reader_show(r, tree->verb), reader_show(r, from->node.agent->name),
                    reader_show(r, to->agent->name));
}

static void walk(struct reader *r, const struct tree *tree, struct node_entry *entry)
{
    const struct {
        const struct tree_node *node;
        size_t line;
    } next[] = {{entry->node.yes, entry->yes == NULL ? entry->line : reader_line(entry->yes)},
                {entry->node.no, entry->no == NULL ? entry->line : reader_line(entry->no)},
                {entry->node.timeout, entry->timeout_line}};
    entry->is_reached = entry->is_open = true;
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
        if (next[i].node == NULL)
            continue;
        struct node_entry *to = entry_of(next[i].node);
        if (to->is_open)
            note_loop(r, tree, entry, next[i].node, next[i].line);
        else if (!to->is_reached)
            walk(r, tree, to);
    }
    entry->is_open = false;
}

/* A wrong branch makes nodes unreachable that its author has not forgotten: those are noted once
 * all branches are right. */
static void check_ends(struct reader *r, const struct tree *tree, bool has_faults)
{
    if (tree->root == NULL)
        return;
    walk(r, tree, entry_of(tree->root));
    if (has_faults)
        return;
    for (size_t i = 0; i < tree->written_n; i++)
        if (!tree->nodes[i].is_reached)
            reader_fault_at(r, tree->nodes[i].line,
                            "no branch of %s leads to '%s', from its root '%s': remove it, or name "
                            "it in a branch",
                            reader_show(r, tree->verb),
                            reader_show(r, tree->nodes[i].node.agent->name),
                            reader_show(r, tree->root->agent->name));
}

void check_trees(struct reader *r)
{
    check_agent_timeouts(r);
    for (size_t i = 0; i < r->trees->tree_n; i++) {
        struct tree *tree = &r->trees->trees[i];
        unsigned fault_n = r->faults->n;
        tie(r, tree);
        check_ends(r, tree, tree->has_faults || r->faults->n > fault_n);
    }
}
