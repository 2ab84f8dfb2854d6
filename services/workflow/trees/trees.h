/* SPDX-License-Identifier: MIT
 *
 * trees: a workflows file (docs/handbook/workflow-files.md): per verb a tree of agents, and the
 * agents. `struct trees` is one checked version of the file. It is immutable and counted, so any
 * thread reads it without a lock, and a run keeps the version that it started with. What it
 * returns lives as long as a reference to it. trees_file holds the process's current version.
 *
 * It does no I/O, except for reading that file, and knows nothing about runs.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_TREES_TREES_H
#define PARLEY_SERVICES_WORKFLOW_TREES_TREES_H

#include "shared/base/json.h"

enum {
    TREES_FILE_MAX_BYTES = 512 << 10,
    TREES_VERSION_BYTES = 64,
    TREES_VERB_MAX_BYTES = 64,
    TREES_AGENT_MAX_BYTES = 128,
    TREES_FAULTS_MAX = 50,
    TREES_REASON_BYTES = 400,
    TREES_JSON_MAX_BYTES = 16 << 20, /* of trees_put_json, for any legal file */
};

enum agent_type { AGENT_MODEL, AGENT_SQL, AGENT_CHAT, AGENT_HTTP, AGENT_TYPE_NR };
/* "model", "sql", "chat", "http", as `kind` has them; static, NUL-terminated. */
struct str agent_type_name(enum agent_type type);

enum on_timeout { TIMEOUT_REJECT, TIMEOUT_CONTINUE, TIMEOUT_AGENT, TIMEOUT_NR };

/* The decision of a person where an agent stops. */
struct hitl {
    const json_t *form;          /* of corrections (form.h); NULL: any */
    const struct str *approvers; /* account names and "role:NAME"; none: the run's owner */
    size_t approver_n;
    unsigned quorum;      /* from 1 */
    bool is_self_allowed; /* who began the run counts */
    uint64_t timeout_ms;  /* 0: none */
    enum on_timeout on_timeout;
    struct str timeout_agent; /* of TIMEOUT_AGENT: a node of every tree that can stop here */
};

struct agent_entry {
    struct str name; /* letters, digits, '.', '_' and '-' */
    enum agent_type type;
    struct str prompt;                  /* a model's without one: its description */
    struct str url, model, description; /* n == 0: none */
    struct str secret_file;             /* of an http agent: a path; n == 0: none */
    uint64_t timeout_ms;
    bool is_retryable;
    unsigned retries; /* after the first attempt; 0 if it is not retryable */
    struct hitl hitl;
};

/* A node of a tree. Without branches: a person decides (`agent->type` is AGENT_CHAT). */
struct tree_node {
    const struct agent_entry *agent;
    const struct tree_node *yes, *no; /* NULL: the run ends */
    const struct tree_node *timeout;  /* where on_timeout leads; NULL unless it names an agent */
    const struct hitl *hitl;          /* of the node, else of its agent; never NULL */
    struct str description;           /* n == 0: none */
};

struct trees_fault {
    size_t line; /* from 1; 0: the whole file */
    char reason[TREES_REASON_BYTES];
};

/* The faults of a file, by line. There may be more of them than the list holds. */
struct trees_faults {
    unsigned n;
    struct trees_fault list[TREES_FAULTS_MAX];
};

struct trees;
struct tree;

/* Reads and checks the YAML in `text` (borrowed). Returns a reference, or NULL with at least one
 * fault. *ret_faults needs no preparation. */
struct trees *trees_read(struct str text, struct trees_faults *ret_faults) must_check;
struct trees *trees_ref(struct trees *trees);
/* Accepts NULL. */
void trees_unref(struct trees *trees);

/* The SHA-256 of the text in 64 hex digits. */
struct str trees_version(const struct trees *trees);
struct str trees_text(const struct trees *trees);

/* NULL for a verb without a tree. */
const struct tree *trees_tree(const struct trees *trees, struct str verb);
size_t trees_count(const struct trees *trees);
/* In the order of the file; `i` is below trees_count. */
const struct tree *trees_at(const struct trees *trees, size_t i);
/* The agent of that name, also one that no tree uses; NULL: unknown. Those of the shipped file
 * always exist. */
const struct agent_entry *trees_agent(const struct trees *trees, struct str name);
/* The agent that finds the verb of a request without one: model.LanguageCapo. */
const struct agent_entry *trees_router(const struct trees *trees);

struct str tree_verb(const struct tree *tree);
const struct tree_node *tree_root(const struct tree *tree);
/* The nodes of a tree: those of the file in its order, then those that it need not name. `i` is
 * below tree_count. */
size_t tree_count(const struct tree *tree);
const struct tree_node *tree_at(const struct tree *tree, size_t i);
/* NULL: the tree has no such node. */
const struct tree_node *tree_node(const struct tree *tree, struct str agent);

/* Puts `{"version","workflows":{VERB:{agent:{…}}},"roots":{VERB:agent},"agents":{name:{…}}}` for
 * drawing: without prompts and addresses. */
void trees_put_json(struct buf *b, const struct trees *trees);

/* --- the process's file ------------------------------------------------------------------------
 */

/* The text of the shipped trees; static. */
struct str trees_shipped(void);
/* The same, read once per process and never freed. Any thread. */
const struct trees *trees_shipped_read(void);

/* The current version of a file, or the shipped trees. One per process; any thread. */
struct trees_file;

/* Reads the file at `path`; NULL: the shipped trees. On failure returns NULL and writes a
 * NUL-terminated reason that names the file and the line. */
struct trees_file *trees_file_open(const char *path, char *reason, size_t reason_size) must_check;
/* Reads it again, on SIGHUP. A file with a fault changes nothing: false with the reason. */
bool trees_file_reload(struct trees_file *file, char *reason, size_t reason_size) must_check;
/* A reference that the caller gives back with trees_unref. */
struct trees *trees_file_current(struct trees_file *file) must_check;
/* Reads the text of the file at `path` into `ret_text`, which has room for one byte more than
 * TREES_FILE_MAX_BYTES: a larger file is cut there, and trees_read refuses it. */
bool trees_file_text(const char *path, char *reason, size_t reason_size,
                     struct buf *ret_text) must_check;
/* Accepts NULL. References that others hold stay valid. */
void trees_file_close(struct trees_file *file);

#endif
