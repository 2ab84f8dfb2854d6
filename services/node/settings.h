/* SPDX-License-Identifier: MIT
 *
 * settings: all settings of `parley serve`, read and checked together: those of each part of the
 * node, and those that the services read themselves. One per process; filled by the main thread
 * before others start, read-only from then on (the account book reloads itself safely). It opens no
 * connection and reads only files.
 */
#ifndef PARLEY_SERVICES_NODE_SETTINGS_H
#define PARLEY_SERVICES_NODE_SETTINGS_H

#include "services/node/services.h"
#include "shared/http/access/oidc.h"
#include "shared/http/request/server.h"
#include "shared/http/wire/tls.h"

enum { THREADS_MAX = 64 };

struct settings {
    const struct config *config; /* borrowed */
    struct buf shared_settings;  /* of struct queue_config */
    bool is_check;               /* --check-config: print them and exit */
    unsigned node_n;             /* threads, each a node */
    const char *listen;
    const char *tls_listen; /* NULL: only `listen` */
    struct tls *tls;        /* NULL: no certificate */
    uint64_t drain_ms;
    struct account_book accounts;
    struct shard_map map;
    struct queue_config queue; /* except for what is each node's own: id and callbacks */
    struct server_config server;
    struct oidc_settings oidc;
    char *client_secret; /* of it; NULL: none */
    struct process_services services;
};

/* Reads all settings into zeroed storage, which settings_fini ends whatever the outcome. Its parts
 * point at each other: it must not move. False after one line on standard error. Sets up the log.
 */
bool settings_read(struct settings *settings, const struct config *config) must_check;
void settings_fini(struct settings *settings);

/* Writes every setting and where it came from to standard output, without secrets. */
void settings_print(const struct settings *settings);

#endif
