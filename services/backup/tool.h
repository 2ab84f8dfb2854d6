/* SPDX-License-Identifier: MIT
 *
 * tool: shared by `parley backup` and `parley restore`: settings, the connection, signals, the
 * progress line. One per process, main thread.
 */
#ifndef PARLEY_SERVICES_BACKUP_TOOL_H
#define PARLEY_SERVICES_BACKUP_TOOL_H

#include "shared/base/config.h"
#include "shared/base/status_line.h"
#include "shared/redis/blocking.h"
#include "shared/redis/shard_map.h"

struct tool {
    const char *command; /* "backup" */
    const struct config *config;
    struct shard_map map;
    struct blocking *connections[SHARDS_MAX]; /* to each server */
    struct blocking *blocking;                /* that of the shard in use */
    struct str prefix;                        /* of its keys */
    unsigned shard;
    const char *path; /* FILE */
    bool is_json;
    uint64_t topic_n, row_n, document_n, key_n; /* what went through; key_n: all others */
    uint64_t bytes;
    struct status_line progress;
};

/* Reads the settings and looks whether the servers take it. -1: continue; else the exit code, after
 * its line. `config` is borrowed. */
int tool_start(struct tool *tool, const char *command, const struct config *config) must_check;
void tool_fini(struct tool *tool);
/* Connects. A backup learns how many shards there are; a restore has chosen by then. False after
 * one line. */
bool tool_connect(struct tool *tool) must_check;

/* Goes to another shard; it begins with the first. */
void tool_use(struct tool *tool, unsigned shard);

/* One line on standard error; false. */
bool tool_complain(struct tool *tool, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a call of Redis that failed; the interruption is named when it was one. */
bool tool_complain_redis(struct tool *tool);

/* Shows the progress, see status_line.h. */
void tool_show_progress(struct tool *tool, const char *doing);

/* Visits the names (without the prefix) of all keys whose names begin with `start`, each with its
 * shard in use; a key may come twice. Each server is read once, whatever the number of its shards.
 * Stops with an error, or when `visit` returns false. */
bool tool_each_key(struct tool *tool, const char *start, bool (*visit)(void *data, struct str name),
                   void *data) must_check;
/* The same for all keys of all servers that may be of a cluster of this --key-prefix, however many
 * shards it has: whole names. */
bool tool_each_of_prefix(struct tool *tool, bool (*visit)(void *data, struct str key),
                         void *data) must_check;

#endif
