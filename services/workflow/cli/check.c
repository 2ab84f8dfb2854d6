/* SPDX-License-Identifier: MIT
 * check.c - `parley workflow check FILE` and `parley workflow shipped`. */
#include "services/workflow/cli/cli.h"
#include "services/workflow/trees/trees.h"

#include <stdio.h>

enum { REASON_BYTES = 512, SHOWN_AT_MOST = TREES_FAULTS_MAX };

/* --- for people ------------------------------------------------------------------------------- */

static void print_faults(const char *path, const struct trees_faults *faults)
{
    for (unsigned i = 0; i < faults->n && i < SHOWN_AT_MOST; i++) {
        const struct trees_fault *fault = &faults->list[i];
        if (fault->line == 0)
            fprintf(stderr, "parley: %s: %s\n", path, fault->reason);
        else
            fprintf(stderr, "parley: %s line %zu: %s\n", path, fault->line, fault->reason);
    }
    if (faults->n > SHOWN_AT_MOST)
        fprintf(stderr, "parley: %s: %llu more %s\n", path,
                COUNTED(faults->n - SHOWN_AT_MOST, "fault"));
}

static void print_branch(const char *answer, const struct tree_node *to)
{
    if (to == NULL)
        printf("    %-8s the run ends\n", answer);
    else if (to->agent->type == AGENT_CHAT)
        printf("    %-8s a person decides (%.*s)\n", answer, STR_ARG(to->agent->name));
    else
        printf("    %-8s %.*s\n", answer, STR_ARG(to->agent->name));
}

static void print_tree(const struct tree *tree)
{
    printf("\n%.*s\n", STR_ARG(tree_verb(tree)));
    for (size_t i = 0; i < tree_count(tree); i++) {
        const struct tree_node *node = tree_at(tree, i);
        if (node->agent->type == AGENT_CHAT)
            continue;
        printf("  %.*s (%.*s)%s\n", STR_ARG(node->agent->name),
               STR_ARG(agent_type_name(node->agent->type)),
               node == tree_root(tree) ? ", where a run starts" : "");
        print_branch("yes", node->yes);
        print_branch("no", node->no);
        if (node->timeout != NULL)
            print_branch("timeout", node->timeout);
    }
}

static void print_trees(const char *path, const struct trees *trees)
{
    printf("%s: no faults\nversion %.*s\n", path, STR_ARG(trees_version(trees)));
    for (size_t i = 0; i < trees_count(trees); i++)
        print_tree(trees_at(trees, i));
}

/* --- for programs ----------------------------------------------------------------------------- */

static void put_json(struct buf *b, const char *path, const struct trees *trees,
                     const struct trees_faults *faults)
{
    buf_lit(b, "{\"file\":");
    buf_put_json(b, str_is_utf8(str_of(path)) ? str_of(path) : STR("?"));
    buf_printf(b, ",\"valid\":%s,\"faults\":[", trees == NULL ? "false" : "true");
    for (unsigned i = 0; i < faults->n && i < SHOWN_AT_MOST; i++) {
        buf_printf(b, "%s{\"line\":", i == 0 ? "" : ",");
        if (faults->list[i].line == 0)
            buf_lit(b, "null");
        else
            buf_put_u64(b, faults->list[i].line);
        buf_put_key(b, "reason");
        buf_put_json(b, str_of(faults->list[i].reason));
        buf_put_char(b, '}');
    }
    buf_printf(b, "],\"fault_n\":%u,\"trees\":", faults->n);
    if (trees == NULL)
        buf_lit(b, "null");
    else
        trees_put_json(b, trees);
    buf_lit(b, "}\n");
}

static void print_json(const char *path, const struct trees *trees,
                       const struct trees_faults *faults)
{
    struct buf b;
    buf_init(&b, SIZE_MAX / 2);
    put_json(&b, path, trees, faults);
    fwrite(b.at, 1, b.n, stdout);
    buf_fini(&b);
}

/* ---------------------------------------------------------------------------------------------- */

static int check(const struct config *config)
{
    static struct trees_faults faults;
    char reason[REASON_BYTES];
    const char *path = config->arguments[1];
    struct trees *trees = NULL;
    struct buf text;
    buf_init(&text, TREES_FILE_MAX_BYTES + 1);
    bool is_read = trees_file_text(path, reason, sizeof reason, &text);
    if (!is_read)
        fprintf(stderr, "parley: %s\n", reason);
    else
        trees = trees_read(buf_str(&text), &faults);
    if (is_read && config_number(config, "json"))
        print_json(path, trees, &faults);
    else if (trees != NULL)
        print_trees(path, trees);
    else if (is_read)
        print_faults(path, &faults);
    bool ok = trees != NULL;
    trees_unref(trees);
    buf_fini(&text);
    return ok && fflush(stdout) == 0 ? 0 : WORKFLOW_EXIT_FAILED;
}

const struct workflow_word workflow_check_word = {"check", "FILE [--json]", 1, 1, check};

static int print_shipped(const struct config *config)
{
    (void)config;
    struct str text = trees_shipped();
    fwrite(text.at, 1, text.n, stdout);
    return fflush(stdout) == 0 ? 0 : WORKFLOW_EXIT_FAILED;
}

const struct workflow_word workflow_shipped_word = {"shipped", "", 0, 0, print_shipped};
