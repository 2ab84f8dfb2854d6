/* SPDX-License-Identifier: MIT
 *
 * reader: shared by the parts that read a workflows file: what is being read, and the faults found.
 * Every part notes its faults and continues, so that one check shows all of them. One thread; only
 * for services/workflow/trees.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_TREES_READER_H
#define PARLEY_SERVICES_WORKFLOW_TREES_READER_H

#include "services/workflow/trees/trees.h"
#include "shared/base/yaml_tree.h"

#include <stdatomic.h>

/* A node of a tree, with what reading and checking it needs. */
struct node_entry {
    struct tree_node node;
    struct hitl own; /* if `has_own` */
    bool has_own;
    bool is_reached, is_open, is_done; /* open: on the path that the search for loops is on */
    size_t line;                       /* 0: added, not written in the file */
    const yaml_node_t *yes, *no;       /* their values; NULL: missing */
    size_t timeout_line;
};

struct tree {
    struct str verb;
    struct node_entry *nodes; /* those of the file, then those that were added */
    size_t n, written_n;
    const struct tree_node *root;
    bool has_faults; /* found while it was read */
};

struct trees {
    atomic_uint reference_n;
    char version[TREES_VERSION_BYTES + 1];
    struct str text;          /* its own */
    yaml_document_t document; /* names and texts borrow from it */
    bool has_document;
    struct agent_entry *agents;  /* those of the file, then shipped ones, which own nothing */
    size_t *agent_timeout_lines; /* of each agent's on_timeout */
    size_t agent_n, written_agent_n;
    struct tree *trees;
    size_t tree_n;
};

enum { READER_SHOWN_N = 4, READER_SHOWN_BYTES = 136 };

struct reader {
    struct trees *trees;
    const struct trees *shipped; /* has the agents that a file may leave out; NULL: is read now */
    struct trees_faults *faults;
    char shown[READER_SHOWN_N][READER_SHOWN_BYTES];
    unsigned shown_at;
};

/* Notes a fault at the line of `where`; NULL: of the whole file. Always false, so that callers can
 * return it. */
bool reader_fault(struct reader *r, const yaml_node_t *where, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool reader_fault_at(struct reader *r, size_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The beginning of a text of the file, without invisible characters. Valid until READER_SHOWN_N
 * further calls. */
const char *reader_show(struct reader *r, struct str text);
/* ": did you mean <meant>?", as valid; `otherwise` if `meant.at` is NULL (shared/base/nearest.h).
 */
const char *reader_meant(struct reader *r, struct str meant, const char *otherwise);
struct str reader_nearest_agent(const struct reader *r, struct str name);

const yaml_node_t *reader_node(const struct reader *r, int index);
size_t reader_line(const yaml_node_t *node);
/* Letters, digits, '.', '_' and '-'. */
bool reader_is_name(struct str text, size_t max_bytes);

/* Reads `value` of the member `key` within `min_ms` and `max_ms`: `5`, `0.5` (seconds), `500ms`,
 * `30s`, `10m`, `24h` or `7d`. */
bool reader_duration(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                     uint64_t min_ms, uint64_t max_ms, uint64_t *ret_ms);
bool reader_bool(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                 bool *ret_value);
bool reader_number(struct reader *r, const yaml_node_t *key, const yaml_node_t *value, uint64_t min,
                   uint64_t max, unsigned *ret_value);
/* A text of 1 to `max_bytes` bytes. */
bool reader_text(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
                 size_t max_bytes, struct str *ret_text);
/* Returns the index of the member `key` in `names`; notes a fault and returns `n` if it is not
 * there. */
unsigned reader_member(struct reader *r, const yaml_node_t *key, const char *const *names,
                       unsigned n);

/* hitl_read.c. Leaves defaults where it notes a fault. hitl_fini frees what it has made. */
void hitl_read(struct reader *r, const yaml_node_t *key, const yaml_node_t *value,
               struct hitl *ret_hitl, size_t *ret_timeout_line);
void hitl_fini(struct hitl *hitl);
extern const struct hitl hitl_default;

/* form_read.c: a form as JSON, owned by the caller; NULL after a fault. */
json_t *form_read(struct reader *r, const yaml_node_t *key, const yaml_node_t *value);
/* yaml_json.c: any value as JSON, by YAML's core schema. NULL, after a fault, if it has none. */
json_t *yaml_json(struct reader *r, const yaml_node_t *node);

/* read.c, check.c: the parts of trees_read. */
void read_agents(struct reader *r, const yaml_node_t *key, const yaml_node_t *list);
void read_trees(struct reader *r, const yaml_node_t *key, const yaml_node_t *list);
/* Ties nodes to agents and to each other, and checks each tree. */
void check_trees(struct reader *r);

#endif
