/* SPDX-License-Identifier: MIT
 *
 * settings: what `parley serve` was told, read and checked as a whole: each module's settings ready
 * to be handed to it. One per process; filled by the main thread before others start, read-only
 * from then on (the account book reloads itself safely). Nothing is connected to, and nothing but
 * files is read.
 */
#ifndef PARLEY_SERVICES_NODE_SETTINGS_H
#define PARLEY_SERVICES_NODE_SETTINGS_H

#include "services/documents/documents.h"
#include "services/indexer/pipeline.h"
#include "shared/base/config.h"
#include "shared/http/oidc.h"
#include "shared/http/server.h"

struct settings {
    struct config config;
    bool is_check; /* --check-config: print them and exit */
    bool has_broker, has_documents;
    unsigned node_n;    /* threads, each a node */
    unsigned indexer_n; /* 0: the indexer is not of this process's targets, or not wanted */
    const char *listen;
    uint64_t drain_ms;
    struct account_book accounts;
    struct redis_address redis;
    struct queue_config queue; /* except for what is each node's own: id and callbacks */
    struct server_config server;
    struct oidc_settings oidc;
    struct embedder *embedder; /* of documents and indexing */
    struct documents_settings documents;
    struct pipeline_settings indexing;
};

/* Reads argv (without program and subcommand names) into zeroed storage, which settings_fini ends
 * whatever the outcome. Its parts point at each other: it must not move. CONFIG_WRONG: one clear
 * line was written to standard error. Sets up the log. */
enum config_outcome settings_read(struct settings *settings, int argc, char **argv) must_check;
void settings_fini(struct settings *settings);

/* Writes every setting and where it came from to standard output, without secrets. */
void settings_print(const struct settings *settings);

#endif
