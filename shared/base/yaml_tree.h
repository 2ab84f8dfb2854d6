/* SPDX-License-Identifier: MIT
 *
 * yaml_tree: reads a YAML file from outside into libyaml's tree (yaml_document_t) and refuses what
 * no such tree should be made of. Shared by the files that this program reads (accounts,
 * workflows). It knows nothing about their content. Pure functions, any thread; nodes borrow from
 * the document.
 */
#ifndef PARLEY_BASE_YAML_TREE_H
#define PARLEY_BASE_YAML_TREE_H

#include "shared/base/str.h"

#include <yaml.h>

struct yaml_tree_limits {
    unsigned depth_max;
    /* Refuses anchors, aliases and tags. Aliases let a small file describe a huge tree, and libyaml
     * takes quadratic time for many anchors. */
    bool is_plain;
};

struct yaml_tree_fault {
    size_t line;        /* from 1 */
    const char *reason; /* static; repeats nothing of the file */
    /* "while parsing a flow mapping", which begins on `context_line`; NULL: nothing is open. */
    const char *context;
    size_t context_line;
};

/* Reads one document. On success the caller ends *ret_document with yaml_document_delete; its root
 * may be NULL (an empty file). */
bool yaml_tree_read(struct str text, const struct yaml_tree_limits *limits,
                    struct yaml_tree_fault *ret_fault, yaml_document_t *ret_document) must_check;

/* Returns the text of a scalar; `at == NULL` for other nodes. */
struct str yaml_tree_scalar(const yaml_node_t *node);
/* Returns whether `node` is one of YAML's ways to write nothing. A quoted "null" is text. */
bool yaml_tree_is_null(const yaml_node_t *node);

#endif
