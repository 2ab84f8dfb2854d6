/* SPDX-License-Identifier: MIT
 * trees.c - see trees.h: one version of a workflows file, from its text to its end. */
#include "services/workflow/trees/reader.h"

#include "shared/base/mem.h"

#include <openssl/evp.h>
#include <stdio.h>

enum { DEPTH_MAX = 32 };

/* --- the whole file --------------------------------------------------------------------------- */

struct key {
    struct str text;
    const yaml_node_t *node;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    int order = str_compare(left->text, right->text);
    if (order != 0)
        return order;
    return left->node->start_mark.index < right->node->start_mark.index ? -1 : 1;
}

/* A second member of a name would be read by nobody. */
static void check_keys(struct reader *r, const yaml_node_t *mapping)
{
    const yaml_node_pair_t *start = mapping->data.mapping.pairs.start,
                           *top = mapping->data.mapping.pairs.top;
    size_t n = 0;
    struct key *keys = mem_zeroed_n((size_t)(top - start) + 1, sizeof *keys);
    for (const yaml_node_pair_t *pair = start; pair < top; pair++) {
        const yaml_node_t *node = reader_node(r, pair->key);
        keys[n] = (struct key){yaml_tree_scalar(node), node};
        if (keys[n].text.at != NULL)
            n++;
        else
            reader_fault(r, node, "the name of a member is a plain text");
    }
    if (n > 1)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 1; i < n; i++)
        if (str_eq(keys[i - 1].text, keys[i].text))
            reader_fault(r, keys[i].node, "a second '%s'", reader_show(r, keys[i].text));
    free(keys);
}

static void check_scalar(struct reader *r, const yaml_node_t *node)
{
    struct str text = yaml_tree_scalar(node);
    if (text.n > 0 && memchr(text.at, 0, text.n) != NULL)
        reader_fault(r, node, "a text contains a NUL character");
}

static void check_nodes(struct reader *r)
{
    for (const yaml_node_t *node = r->trees->document.nodes.start;
         node < r->trees->document.nodes.top; node++)
        if (node->type == YAML_MAPPING_NODE)
            check_keys(r, node);
        else if (node->type == YAML_SCALAR_NODE)
            check_scalar(r, node);
}

static void read_document(struct reader *r)
{
    static const char *const names[] = {"WORKFLOWS", "AGENTS"};
    const yaml_node_t *root = yaml_document_get_root_node(&r->trees->document);
    const yaml_node_t *keys[2] = {NULL}, *values[2] = {NULL};
    if (root == NULL || yaml_tree_is_null(root)) {
        reader_fault(r, NULL, "the file is empty: it needs WORKFLOWS");
        return;
    }
    if (root->type != YAML_MAPPING_NODE) {
        reader_fault(r, root, "expected WORKFLOWS: followed by trees, and AGENTS: by agents");
        return;
    }
    for (const yaml_node_pair_t *pair = root->data.mapping.pairs.start;
         pair < root->data.mapping.pairs.top; pair++) {
        const yaml_node_t *key = reader_node(r, pair->key);
        unsigned member = reader_member(r, key, names, 2);
        if (member < 2 && keys[member] == NULL) {
            keys[member] = key;
            values[member] = reader_node(r, pair->value);
        }
    }
    read_agents(r, keys[1], values[1]);
    read_trees(r, keys[0] == NULL ? root : keys[0], values[0]);
    check_trees(r);
}

static void read_text(struct reader *r)
{
    static const struct yaml_tree_limits limits = {.depth_max = DEPTH_MAX, .is_plain = true};
    struct yaml_tree_fault fault;
    struct trees *trees = r->trees;
    if (trees->text.n > TREES_FILE_MAX_BYTES) {
        reader_fault(r, NULL, "the file is larger than %d bytes", TREES_FILE_MAX_BYTES);
    } else if (!str_is_utf8(trees->text)) {
        size_t line = 1;
        struct str rest = trees->text;
        while (str_is_utf8(str_cut(&rest, '\n')))
            line++;
        reader_fault_at(r, line, "the file is not UTF-8");
    } else if (!yaml_tree_read(trees->text, &limits, &fault, &trees->document)) {
        if (fault.context == NULL)
            reader_fault_at(r, fault.line, "%s", fault.reason);
        else
            reader_fault_at(r, fault.line, "%s, %s that begins on line %zu", fault.reason,
                            fault.context, fault.context_line);
    } else {
        trees->has_document = true;
        check_nodes(r);
        read_document(r);
    }
}

static int compare_faults(const void *a, const void *b)
{
    const struct trees_fault *left = a, *right = b;
    if (left->line != right->line)
        return left->line < right->line ? -1 : 1;
    return strcmp(left->reason, right->reason);
}

static void digest(struct str text, char version[TREES_VERSION_BYTES + 1])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    if (EVP_Digest(text.at, text.n, bytes, NULL, EVP_sha256(), NULL) != 1)
        abort();
    str_hex(bytes, TREES_VERSION_BYTES / 2, version);
}

struct trees *trees_read(struct str text, struct trees_faults *ret_faults)
{
    struct trees *trees = mem_zeroed(sizeof *trees);
    struct reader r = {.trees = trees,
                       .shipped = str_eq(text, trees_shipped()) ? NULL : trees_shipped_read(),
                       .faults = ret_faults};
    ret_faults->n = 0;
    trees->reference_n = 1;
    trees->text = (struct str){str_copy(text), text.n};
    read_text(&r);
    if (ret_faults->n == 0) {
        digest(text, trees->version);
        return trees;
    }
    qsort(ret_faults->list, ret_faults->n < TREES_FAULTS_MAX ? ret_faults->n : TREES_FAULTS_MAX,
          sizeof *ret_faults->list, compare_faults);
    trees_unref(trees);
    return NULL;
}

struct trees *trees_ref(struct trees *trees)
{
    atomic_fetch_add_explicit(&trees->reference_n, 1, memory_order_relaxed);
    return trees;
}

static void destroy(struct trees *trees)
{
    for (size_t i = 0; i < trees->written_agent_n; i++)
        hitl_fini(&trees->agents[i].hitl);
    for (size_t i = 0; i < trees->tree_n; i++) {
        for (size_t k = 0; k < trees->trees[i].n; k++)
            hitl_fini(&trees->trees[i].nodes[k].own);
        free(trees->trees[i].nodes);
    }
    if (trees->has_document)
        yaml_document_delete(&trees->document);
    free(trees->agents);
    free(trees->agent_timeout_lines);
    free(trees->trees);
    free((char *)trees->text.at);
    free(trees);
}

void trees_unref(struct trees *trees)
{
    if (trees != NULL &&
        atomic_fetch_sub_explicit(&trees->reference_n, 1, memory_order_acq_rel) == 1)
        destroy(trees);
}

/* --- its content ------------------------------------------------------------------------------ */

struct str trees_version(const struct trees *trees)
{
    return (struct str){trees->version, TREES_VERSION_BYTES};
}

struct str trees_text(const struct trees *trees)
{
    return trees->text;
}

const struct tree *trees_tree(const struct trees *trees, struct str verb)
{
    for (size_t i = 0; i < trees->tree_n; i++)
        if (str_eq(trees->trees[i].verb, verb))
            return &trees->trees[i];
    return NULL;
}

size_t trees_count(const struct trees *trees)
{
    return trees->tree_n;
}

const struct tree *trees_at(const struct trees *trees, size_t i)
{
    return &trees->trees[i];
}

const struct agent_entry *trees_agent(const struct trees *trees, struct str name)
{
    for (size_t i = 0; i < trees->agent_n; i++)
        if (str_eq(trees->agents[i].name, name))
            return &trees->agents[i];
    return NULL;
}

const struct agent_entry *trees_router(const struct trees *trees)
{
    return trees_agent(trees, STR("model.LanguageCapo"));
}

struct str tree_verb(const struct tree *tree)
{
    return tree->verb;
}

const struct tree_node *tree_root(const struct tree *tree)
{
    return tree->root;
}

const struct tree_node *tree_node(const struct tree *tree, struct str agent)
{
    for (size_t i = 0; i < tree->n; i++)
        if (str_eq(tree->nodes[i].node.agent->name, agent))
            return &tree->nodes[i].node;
    return NULL;
}

size_t tree_count(const struct tree *tree)
{
    return tree->n;
}

const struct tree_node *tree_at(const struct tree *tree, size_t i)
{
    return &tree->nodes[i].node;
}
