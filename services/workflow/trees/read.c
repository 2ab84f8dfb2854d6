/* SPDX-License-Identifier: MIT
 * read.c - reads AGENTS and WORKFLOWS of a workflows file. check.c ties the nodes to each other. */
#include "services/workflow/trees/reader.h"

#include "shared/base/mem.h"
#include "shared/base/nearest.h"
#include "shared/http/client/endpoint.h"

enum {
    AGENTS_MAX = 256,
    TREES_MAX = 64,
    NODES_MAX = 200, /* as many as a run has steps */
    RETRIES_MAX = 10,
    PROMPT_MAX_BYTES = 65536,
    LINE_MAX_BYTES = 2048, /* of a description or an address */
    TIMEOUT_MIN_MS = 100,
    TIMEOUT_MAX_MS = 3600000,
    SQL_TIMEOUT_MS = 5000,
    HTTP_TIMEOUT_MS = 10000,
    MODEL_TIMEOUT_MS = 60000,
    RETRIES = 2,
};

static void *make(size_t n, size_t size)
{
    void *room = mem_zeroed_n(n == 0 ? 1 : n, size);
    return room;
}

/* --- agents ----------------------------------------------------------------------------------- */

enum member {
    MEMBER_KIND,
    MEMBER_PROMPT,
    MEMBER_TIMEOUT,
    MEMBER_RETRYABLE,
    MEMBER_RETRIES,
    MEMBER_DESCRIPTION,
    MEMBER_MODEL,
    MEMBER_URL,
    MEMBER_SECRET_FILE,
    MEMBER_HITL,
    MEMBER_NR
};

static const char *const member_names[MEMBER_NR] = {
    "kind",        "prompt", "timeout", "retryable",   "retries",
    "description", "model",  "url",     "secret_file", "hitl"};

static const struct {
    struct str name;
    uint64_t timeout_ms; /* by default; 0: it runs nothing */
} types[AGENT_TYPE_NR] = {
    [AGENT_MODEL] = {STR("model"), MODEL_TIMEOUT_MS},
    [AGENT_SQL] = {STR("sql"), SQL_TIMEOUT_MS},
    [AGENT_CHAT] = {STR("chat"), 0},
    [AGENT_HTTP] = {STR("http"), HTTP_TIMEOUT_MS},
};

struct str agent_type_name(enum agent_type type)
{
    return types[type].name;
}

/* Known before the members are read, because what they may be depends on it. */
static bool find_type(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                      enum agent_type *ret_type)
{
    struct str name = yaml_tree_scalar(key), kind = {NULL, 0};
    const yaml_node_t *where = key;
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top; pair++)
        if (str_eq(yaml_tree_scalar(reader_node(r, pair->key)), STR("kind"))) {
            where = reader_node(r, pair->value);
            kind = yaml_tree_scalar(where);
            if (kind.at == NULL)
                kind = STR("");
        }
    for (unsigned type = 0; kind.at != NULL && type < AGENT_TYPE_NR; type++)
        if (str_eq(kind, types[type].name)) {
            *ret_type = (enum agent_type)type;
            return true;
        }
    if (kind.at != NULL)
        return reader_fault(r, where, "unknown kind '%s'%s", reader_show(r, kind),
                            reader_meant(r, nearest_of(kind, "model|sql|chat|http"),
                                         ": use model, sql, chat or http"));
    const struct agent_entry *shipped = r->shipped == NULL ? NULL : trees_agent(r->shipped, name);
    if (shipped != NULL) {
        *ret_type = shipped->type;
        return true;
    }
    if (!str_has_prefix(name, STR("model.")))
        return reader_fault(r, key, "agent '%s' has no kind: use model, sql, chat or http",
                            reader_show(r, name));
    *ret_type = AGENT_MODEL;
    return true;
}

static void read_agent_member(struct reader *r, struct agent_entry *agent, enum member member,
                              const yaml_node_t *key, const yaml_node_t *value,
                              size_t *ret_timeout_line)
{
    static const struct {
        enum member member;
        enum agent_type type;
    } only[] = {
        {MEMBER_MODEL, AGENT_MODEL}, {MEMBER_URL, AGENT_HTTP}, {MEMBER_SECRET_FILE, AGENT_HTTP}};
    for (size_t i = 0; i < sizeof only / sizeof *only; i++)
        if (only[i].member == member && only[i].type != agent->type) {
            reader_fault(r, key, "'%s' is for agents of kind %s; '%s' is of kind %s",
                         member_names[member], types[only[i].type].name.at,
                         reader_show(r, agent->name), types[agent->type].name.at);
            return;
        }
    switch (member) {
    case MEMBER_KIND: return;
    case MEMBER_PROMPT: reader_text(r, key, value, PROMPT_MAX_BYTES, &agent->prompt); return;
    case MEMBER_TIMEOUT:
        reader_duration(r, key, value, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS, &agent->timeout_ms);
        return;
    case MEMBER_RETRYABLE: reader_bool(r, key, value, &agent->is_retryable); return;
    case MEMBER_RETRIES: reader_number(r, key, value, 0, RETRIES_MAX, &agent->retries); return;
    case MEMBER_DESCRIPTION:
        reader_text(r, key, value, LINE_MAX_BYTES, &agent->description);
        return;
    case MEMBER_MODEL: reader_text(r, key, value, TREES_AGENT_MAX_BYTES, &agent->model); return;
    case MEMBER_URL:
        if (reader_text(r, key, value, LINE_MAX_BYTES, &agent->url) &&
            !http_is_base_url(agent->url))
            reader_fault(r, value,
                         "'url' takes an http or https address without user, query and fragment");
        return;
    case MEMBER_SECRET_FILE:
        if (reader_text(r, key, value, LINE_MAX_BYTES, &agent->secret_file) &&
            agent->secret_file.at[0] != '/')
            reader_fault(r, value, "'secret_file' takes a path that begins with /");
        return;
    case MEMBER_HITL: hitl_read(r, key, value, &agent->hitl, ret_timeout_line); return;
    case MEMBER_NR: break;
    }
    abort();
}

static void read_agent(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    struct trees *trees = r->trees;
    struct agent_entry *agent = &trees->agents[trees->agent_n];
    unsigned seen = 0;
    struct str name = yaml_tree_scalar(key);
    *agent = (struct agent_entry){
        .name = name, .is_retryable = true, .retries = RETRIES, .hitl = hitl_default};
    if (name.at == NULL)
        return; /* noted elsewhere */
    if (!reader_is_name(name, TREES_AGENT_MAX_BYTES)) {
        reader_fault(r, key, "the name of an agent is 1 to %d letters, digits, '.', '_' and '-'",
                     TREES_AGENT_MAX_BYTES);
        return;
    }
    if (trees_agent(trees, name) != NULL)
        return;       /* a second one is noted elsewhere */
    trees->agent_n++; /* also with faults: it is known then */
    if (value->type != YAML_MAPPING_NODE) {
        reader_fault(r, key, "agent '%s' is not of the form {kind: ..., prompt: ...}",
                     reader_show(r, name));
        return;
    }
    if (!find_type(r, key, value, &agent->type))
        return;
    agent->timeout_ms = types[agent->type].timeout_ms;
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top; pair++) {
        const yaml_node_t *member_key = reader_node(r, pair->key);
        unsigned member = reader_member(r, member_key, member_names, MEMBER_NR);
        if (member == MEMBER_NR || seen & 1u << member)
            continue;
        seen |= 1u << member;
        read_agent_member(r, agent, (enum member)member, member_key, reader_node(r, pair->value),
                          &trees->agent_timeout_lines[trees->agent_n - 1]);
    }
    if (agent->type == AGENT_HTTP && !(seen & 1u << MEMBER_URL))
        reader_fault(r, key, "agent '%s' is of kind http and has no url", reader_show(r, name));
    if (agent->type == AGENT_MODEL && agent->prompt.n == 0)
        agent->prompt = agent->description;
    if (!agent->is_retryable)
        agent->retries = 0;
}

/* Those of the shipped file that this one does not have. */
static void add_shipped(struct reader *r)
{
    struct trees *trees = r->trees;
    size_t n = r->shipped == NULL ? 0 : r->shipped->agent_n;
    trees->written_agent_n = trees->agent_n;
    for (size_t i = 0; i < n; i++)
        if (trees_agent(trees, r->shipped->agents[i].name) == NULL)
            trees->agents[trees->agent_n++] = r->shipped->agents[i];
}

void read_agents(struct reader *r, const yaml_node_t *key, const yaml_node_t *list)
{
    struct trees *trees = r->trees;
    const yaml_node_pair_t *start = NULL, *top = NULL;
    if (list != NULL && list->type != YAML_MAPPING_NODE && !yaml_tree_is_null(list)) {
        reader_fault(r, key, "AGENTS takes agents of the form 'name: {kind: ..., prompt: ...}'");
    } else if (list != NULL && list->type == YAML_MAPPING_NODE) {
        start = list->data.mapping.pairs.start;
        top = list->data.mapping.pairs.top;
    }
    if (top - start > AGENTS_MAX) {
        reader_fault(r, key, "AGENTS takes at most %d agents", AGENTS_MAX);
        top = start + AGENTS_MAX;
    }
    size_t room = (size_t)(top - start) + (r->shipped == NULL ? 0 : r->shipped->agent_n);
    trees->agents = make(room, sizeof *trees->agents);
    trees->agent_timeout_lines = make(room, sizeof *trees->agent_timeout_lines);
    for (const yaml_node_pair_t *pair = start; pair < top; pair++)
        read_agent(r, reader_node(r, pair->key), reader_node(r, pair->value));
    add_shipped(r);
}

/* --- trees ------------------------------------------------------------------------------------ */

enum node_member { NODE_YES, NODE_NO, NODE_DESCRIPTION, NODE_HITL, NODE_NR };

static const char *const node_member_names[NODE_NR] = {"yes", "no", "description", "hitl"};

/* Where a person decides no branch follows. The file need not say so, but may. */
static void check_chat(struct reader *r, const struct agent_entry *agent, const yaml_node_t *value)
{
    bool is_mapping = value->type == YAML_MAPPING_NODE;
    if (!is_mapping && !yaml_tree_is_null(value))
        reader_fault(r, value, "'%s' is of kind chat: its branches are null",
                     reader_show(r, agent->name));
    for (const yaml_node_pair_t *pair = is_mapping ? value->data.mapping.pairs.start : NULL;
         is_mapping && pair < value->data.mapping.pairs.top; pair++) {
        const yaml_node_t *v = reader_node(r, pair->value);
        unsigned member =
            reader_member(r, reader_node(r, pair->key), node_member_names, NODE_DESCRIPTION + 1);
        if (member <= NODE_NO && !yaml_tree_is_null(v))
            reader_fault(r, v,
                         "'%s' is of kind chat, where a person decides: its branches are null",
                         reader_show(r, agent->name));
    }
}

static void read_node(struct reader *r, struct tree *tree, const yaml_node_t *key,
                      const yaml_node_t *value)
{
    struct str name = yaml_tree_scalar(key);
    struct node_entry *entry = &tree->nodes[tree->n];
    const struct agent_entry *agent = trees_agent(r->trees, name);
    unsigned seen = 0;
    if (name.at == NULL || tree_node(tree, name) != NULL)
        return; /* noted elsewhere */
    if (agent == NULL) {
        reader_fault(r, key, "unknown agent '%s'%s", reader_show(r, name),
                     reader_meant(r, reader_nearest_agent(r, name),
                                  ": add it to AGENTS, or correct the name"));
        return;
    }
    if (agent->type == AGENT_CHAT) {
        check_chat(r, agent, value);
        return;
    }
    if (value->type != YAML_MAPPING_NODE) {
        reader_fault(r, key, "'%s' is not of the form {yes: AGENT, no: AGENT}",
                     reader_show(r, name));
        return;
    }
    *entry = (struct node_entry){.line = reader_line(key), .node.agent = agent};
    tree->n++;
    for (const yaml_node_pair_t *pair = value->data.mapping.pairs.start;
         pair < value->data.mapping.pairs.top; pair++) {
        const yaml_node_t *member_key = reader_node(r, pair->key), *v = reader_node(r, pair->value);
        unsigned member = reader_member(r, member_key, node_member_names, NODE_NR);
        if (member == NODE_NR || seen & 1u << member)
            continue;
        seen |= 1u << member;
        switch ((enum node_member)member) {
        case NODE_YES: entry->yes = v; break;
        case NODE_NO: entry->no = v; break;
        case NODE_DESCRIPTION:
            reader_text(r, member_key, v, LINE_MAX_BYTES, &entry->node.description);
            break;
        case NODE_HITL:
            entry->has_own = true;
            hitl_read(r, member_key, v, &entry->own, &entry->timeout_line);
            break;
        case NODE_NR: break;
        }
    }
    for (unsigned branch = NODE_YES; branch <= NODE_NO; branch++)
        if (!(seen & 1u << branch))
            reader_fault(r, key,
                         "'%s' has no branch '%s': name the next agent, sendMessageToChat to ask a "
                         "person, or null to end the run",
                         reader_show(r, name), node_member_names[branch]);
}

static void read_tree(struct reader *r, const yaml_node_t *key, const yaml_node_t *value)
{
    struct trees *trees = r->trees;
    struct str verb = yaml_tree_scalar(key);
    if (verb.at == NULL || trees_tree(trees, verb) != NULL)
        return; /* noted elsewhere */
    if (!reader_is_name(verb, TREES_VERB_MAX_BYTES)) {
        reader_fault(r, key, "a verb is 1 to %d letters, digits, '.', '_' and '-'",
                     TREES_VERB_MAX_BYTES);
        return;
    }
    if (str_eq(verb, STR("GENERIC"))) {
        reader_fault(r, key,
                     "GENERIC is the verb of requests whose verb model.LanguageCapo finds: use "
                     "another one");
        return;
    }
    if (value->type != YAML_MAPPING_NODE ||
        value->data.mapping.pairs.start == value->data.mapping.pairs.top) {
        reader_fault(r, key, "%s takes agents of the form 'name: {yes: AGENT, no: AGENT}'",
                     reader_show(r, verb));
        return;
    }
    const yaml_node_pair_t *start = value->data.mapping.pairs.start,
                           *top = value->data.mapping.pairs.top;
    if (top - start > NODES_MAX) {
        reader_fault(r, key, "%s takes at most %d agents", reader_show(r, verb), NODES_MAX);
        return;
    }
    struct tree *tree = &trees->trees[trees->tree_n++];
    unsigned fault_n = r->faults->n;
    tree->verb = verb;
    /* Agents without an entry of their own may join it. */
    tree->nodes = make((size_t)(top - start) + trees->agent_n, sizeof *tree->nodes);
    for (const yaml_node_pair_t *pair = start; pair < top; pair++)
        read_node(r, tree, reader_node(r, pair->key), reader_node(r, pair->value));
    if (tree->n == 0 && r->faults->n == fault_n)
        reader_fault(r, key, "%s has no agent with which a run could begin", reader_show(r, verb));
    tree->written_n = tree->n;
    tree->has_faults = r->faults->n > fault_n;
}

void read_trees(struct reader *r, const yaml_node_t *key, const yaml_node_t *list)
{
    if (list == NULL || list->type != YAML_MAPPING_NODE ||
        list->data.mapping.pairs.start == list->data.mapping.pairs.top) {
        reader_fault(r, key,
                     "the file needs WORKFLOWS, trees of the form 'VERB: {name: {yes: AGENT, no: "
                     "AGENT}, ...}'");
        return;
    }
    const yaml_node_pair_t *start = list->data.mapping.pairs.start,
                           *top = list->data.mapping.pairs.top;
    if (top - start > TREES_MAX) {
        reader_fault(r, key, "WORKFLOWS takes at most %d trees", TREES_MAX);
        return;
    }
    r->trees->trees = make((size_t)(top - start), sizeof *r->trees->trees);
    for (const yaml_node_pair_t *pair = start; pair < top; pair++)
        read_tree(r, reader_node(r, pair->key), reader_node(r, pair->value));
}
