/* SPDX-License-Identifier: MIT
 * settings.c - see settings.h. The table of flags (serve_help.c) has already checked kinds, ranges
 * and choices; here is what takes a parser of the module that the setting is for. The first fault
 * ends it: one line that names the flag, so that whoever starts a node mends one thing at a time.
 */
#include "services/node/settings.h"

#include "services/node/serve_help.h"
#include "shared/base/log.h"
#include "shared/extract/extract.h"
#include "shared/http/listen.h"
#include "shared/http/peer.h"
#include "shared/redis/start.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { REASON_MAX = 512, KEY_PREFIX_MAX_BYTES = 64 };

static bool wrong(const char *flag, const char *reason)
{
    fprintf(stderr, "parley: --%s: %s\n", flag, reason);
    return false;
}

static bool read_targets(struct settings *s)
{
    struct str rest = str_of(config_text(&s->config, "target"));
    unsigned indexer_n = (unsigned)config_number(&s->config, "indexers");
    while (rest.at != NULL) {
        struct str name = str_trim(str_cut(&rest, ','));
        bool is_all = str_eq(name, STR("all")), is_broker = str_eq(name, STR("broker")),
             is_documents = str_eq(name, STR("documents")),
             is_indexer = str_eq(name, STR("indexer"));
        if (!is_all && !is_broker && !is_documents && !is_indexer)
            return wrong("target", "takes a comma list of: all, broker, documents, indexer");
        s->has_broker = s->has_broker || is_all || is_broker;
        s->has_documents = s->has_documents || is_all || is_documents;
        if (is_all || is_indexer)
            s->indexer_n = indexer_n;
    }
    return true;
}

static bool read_oidc(struct settings *s)
{
    const struct config *c = &s->config;
    const char *reason;
    s->oidc = (struct oidc_settings){
        .issuer = config_text(c, "oidc-issuer"),
        .jwks_url = config_text(c, "oidc-jwks-url"),
        .audience = config_text(c, "oidc-audience"),
        .is_private_allowed = config_number(c, "oidc-allow-private"),
        .retry_ms = config_number(c, "oidc-retry-seconds") * 1000,
        .refresh_ms = config_number(c, "oidc-refresh-seconds") * 1000,
    };
    const char *flag = oidc_check_settings(&s->oidc, &reason);
    return flag == NULL || wrong(flag, reason);
}

static bool read_documents(struct settings *s)
{
    const struct config *c = &s->config;
    const char *collection = config_text(c, "public-collection");
    if (collection[0] == 0 || strlen(collection) > OWNER_MAX_BYTES)
        return wrong("public-collection", "takes a name of 1 to 128 bytes");
    s->documents = (struct documents_settings){
        .embedder = s->embedder,
        .upload_max_bytes = config_number(c, "upload-max-mib") << 20,
        .owner_max_bytes = config_number(c, "owner-max-mib") << 20,
        .cache_max_bytes = config_number(c, "documents-cache-mib") << 20,
        .vectors = config_text(c, "vectors"),
        .public_collection = collection,
        .public_max_waiting = (unsigned)config_number(c, "public-max-waiting"),
        .ask_ms = config_number(c, "ask-seconds") * 1000,
        .agent_ms = config_number(c, "agent-seconds") * 1000,
    };
    return true;
}

/* What documents are embedded and indexed with. */
static bool read_indexing(struct settings *s)
{
    const struct config *c = &s->config;
    const char *key_file = config_text(c, "embeddings-key-file");
    char reason[REASON_MAX], *key = NULL;
    if (key_file != NULL && (key = config_read_secret(key_file)) == NULL)
        return false;
    s->embedder = embed_create(config_text(c, "embeddings"), key, reason, sizeof reason);
    free(key);
    if (s->embedder == NULL)
        return wrong("embeddings", reason);
    s->indexing = (struct pipeline_settings){
        .redis = &s->redis,
        .prefix = config_text(c, "key-prefix"),
        .embedder = s->embedder,
        .lease_ms = config_number(c, "job-lease-seconds") * 1000,
        .cap_bytes = config_number(c, "owner-max-mib") << 20,
        .may_pass = true,
    };
    return vectors_parse_mode(str_of(config_text(c, "vectors")), &s->indexing.vectors) ||
           wrong("vectors", "takes auto, exact or set");
}

static void read_log(const struct config *c)
{
    enum log_level level;
    if (!log_parse_level(str_of(config_text(c, "log-level")), &level))
        abort(); /* the table has the choices */
    log_setup(level, strcmp(config_text(c, "log-format"), "json") == 0);
}

static bool read_accounts(struct settings *s)
{
    const char *file = config_text(&s->config, "accounts");
    char reason[REASON_MAX];
    if (file == NULL)
        return wrong("accounts", "is needed: a YAML file of accounts (see docs/operations.md)");
    if (account_book_init(&s->accounts, file, reason, sizeof reason))
        return true;
    fprintf(stderr, "parley: --accounts %s: %s\n", file, reason);
    return false;
}

static bool read_queue(struct settings *s)
{
    const struct config *c = &s->config;
    const char *prefix = config_text(c, "key-prefix");
    if (!redis_read_flags(c, &s->redis))
        return false;
    if (strlen(prefix) > KEY_PREFIX_MAX_BYTES)
        return wrong("key-prefix", "at most 64 bytes");
    s->queue = (struct queue_config){
        .redis = &s->redis,
        .prefix = prefix,
        .lease_ms = config_number(c, "lease-seconds") * 1000,
        .delivery_ms = config_number(c, "delivery-seconds") * 1000,
        .max_attempts = config_number(c, "max-attempts"),
        .queue_max = config_number(c, "queue-max"),
        .rescan_ms = config_number(c, "rescan-seconds") * 1000,
        .retention_s = config_number(c, "retention-days") * 86400,
    };
    return true;
}

static bool read_server(struct settings *s)
{
    const struct config *c = &s->config;
    const char *proxies = config_text(c, "trusted-proxies");
    char reason[REASON_MAX];
    if (!peer_check_list(proxies, reason, sizeof reason))
        return wrong("trusted-proxies", reason);
    s->server = (struct server_config){
        .accounts = &s->accounts,
        .is_sha1_allowed = config_number(c, "auth-sha1"),
        .oidc = &s->oidc,
        .cors_origins = config_text(c, "cors-origins"),
        .trusted_proxies = proxies,
        .body_max_bytes = config_number(c, "body-max-bytes"),
        .header_max_bytes = config_number(c, "header-max-bytes"),
        .idle_ms = config_number(c, "idle-seconds") * 1000,
        .body_memory_bytes = (config_number(c, "body-memory-mib") << 20) / s->node_n,
    };
    return true;
}

static unsigned count_nodes(const struct config *c)
{
    unsigned wanted = (unsigned)config_number(c, "threads");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (wanted > 0)
        return wanted;
    return cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
}

static bool read_all(struct settings *s)
{
    const struct config *c = &s->config;
    if (c->argument_n > 0) {
        fprintf(stderr, "parley: '%s': parley serve takes flags only; a switch takes on or off\n",
                c->arguments[0]);
        return false;
    }
    read_log(c);
    s->listen = config_text(c, "listen");
    s->drain_ms = config_number(c, "drain-seconds") * 1000;
    s->is_check = config_number(c, "check-config") != 0;
    s->node_n = count_nodes(c);
    if (!listen_check_address(s->listen))
        return wrong("listen", "takes HOST:PORT with a port up to 65535, or unix:/path");
    return read_targets(s) && read_queue(s) && read_accounts(s) && read_server(s) && read_oidc(s) &&
           read_indexing(s) && read_documents(s);
}

enum config_outcome settings_read(struct settings *settings, int argc, char **argv)
{
    enum config_outcome outcome =
        config_read(&settings->config, serve_options, "serve", argc, argv);
    return outcome == CONFIG_READY && !read_all(settings) ? CONFIG_WRONG : outcome;
}

void settings_fini(struct settings *settings)
{
    embed_destroy(settings->embedder);
    account_book_fini(&settings->accounts);
    config_fini(&settings->config);
}

void settings_print(const struct settings *settings)
{
    for (const struct config_option *o = serve_options; o->name != NULL; o++) {
        const struct config_value *value = config_get(&settings->config, o->name);
        bool may_hold_secret = strcmp(o->name, "redis") == 0 && settings->redis.password[0] != 0 &&
                               config_text(&settings->config, "redis-password-file") == NULL;
        if (value->text != NULL)
            printf("%-18s %s (%s)\n", o->name, may_hold_secret ? "redis://***" : value->text,
                   value->source);
    }
    printf("%-18s %zu\n", "accounts read",
           accounts_count(account_book_current(&settings->accounts)));
    printf("%-18s %u\n", "nodes to run", settings->node_n);
    if (settings->indexer_n > 0)
        printf("%-18s %s\n", "pdftotext",
               extract_can_read_pdf() ? "found"
                                      : "not found: PDF waits for an indexer that has it (package "
                                        "poppler-utils)");
}
