/* SPDX-License-Identifier: MIT
 * settings.c - see settings.h. The rows of the options (serve_help.c) have already had kinds,
 * ranges and choices checked; here is what takes a parser of the module that the setting is for.
 * It stops at the first fault with one line that names the flag.
 */
#include "services/node/settings.h"

#include "shared/base/log_options.h"
#include "shared/http/request/origins.h"
#include "shared/http/request/peer.h"
#include "shared/http/wire/listen.h"
#include "shared/redis/start.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REASON_MAX = 512, SHARED_SETTINGS_MAX_BYTES = 2048 };

static bool read_oidc(struct settings *s)
{
    const struct config *c = s->config;
    const char *reason, *file = config_text(c, "oidc-client-secret-file");
    if (file != NULL && (s->client_secret = config_read_secret(file)) == NULL)
        return false;
    s->oidc = (struct oidc_settings){
        .issuer = config_text(c, "oidc-issuer"),
        .jwks_url = config_text(c, "oidc-jwks-url"),
        .audience = config_text(c, "oidc-audience"),
        .client_id = config_text(c, "oidc-client-id"),
        .client_secret = s->client_secret,
        .public_url = config_text(c, "public-url"),
        .name = config_text(c, "oidc-name"),
        .is_private_allowed = config_number(c, "oidc-allow-private"),
        .retry_ms = config_number(c, "oidc-retry-seconds") * 1000,
        .refresh_ms = config_number(c, "oidc-refresh-seconds") * 1000,
    };
    const char *flag = oidc_check_settings(&s->oidc, &reason);
    return flag == NULL || config_wrong(flag, reason);
}

static bool read_accounts(struct settings *s)
{
    const char *file = config_text(s->config, "accounts");
    char reason[REASON_MAX];
    if (file == NULL)
        return config_wrong("accounts",
                            "is missing: a YAML file of accounts, which parley account add makes");
    if (account_book_init(&s->accounts, file, reason, sizeof reason))
        return true;
    fprintf(stderr, "parley: --accounts %s: %s\n", file, reason);
    return false;
}

/* One of the choices of its row. */
static enum durable read_durable(const char *word)
{
    return strcmp(word, "replica") == 0 ? DURABLE_REPLICA
           : strcmp(word, "disk") == 0  ? DURABLE_DISK
                                        : DURABLE_NOT;
}

/* Those that a client or an engine would notice if it depended on the node. Where a target does not
 * use one of them, its value is no matter, and is the same where nobody set it. */
static void put_shared_settings(struct settings *s)
{
    static const char *const names[] = {
        "lease-seconds",  "delivery-seconds", "max-attempts",      "queue-max",
        "retention-days", "auth-sha1",        "body-max-bytes",    "model-fallback-seconds",
        "cors-origins",   "owner-max-mib",    "public-collection", "public-max-waiting",
        "ask-seconds",    "upload-max-mib",   "openai-body-mib",   "durability"};
    struct buf *b = &s->shared_settings;
    buf_init(b, SHARED_SETTINGS_MAX_BYTES - 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = config_text(s->config, names[i]);
        size_t before = b->n;
        buf_printf(b, "%s%s=", b->n == 0 ? "" : " ", names[i]);
        buf_put_name(b, str_of(value == NULL ? "" : value));
        if (b->is_over) { /* a list of origins may be of any length */
            b->n = before;
            b->is_over = false;
        }
    }
    buf_terminate(b);
    s->queue.shared_settings = b->at;
}

static bool read_queue(struct settings *s)
{
    const struct config *c = s->config;
    if (!redis_read_options(c, &s->map))
        return false;
    s->queue = (struct queue_config){
        .map = &s->map,
        .lease_ms = config_number(c, "lease-seconds") * 1000,
        .delivery_ms = config_number(c, "delivery-seconds") * 1000,
        .max_attempts = config_number(c, "max-attempts"),
        .queue_max = config_number(c, "queue-max"),
        .fallback_ms = config_number(c, "model-fallback-seconds") * 1000,
        .rescan_ms = config_number(c, "rescan-seconds") * 1000,
        .retention_s = config_number(c, "retention-days") * 86400,
        .durable = read_durable(config_text(c, "durability")),
    };
    put_shared_settings(s);
    return true;
}

static bool read_server(struct settings *s)
{
    const struct config *c = s->config;
    const char *proxies = config_text(c, "trusted-proxies");
    const char *origins = config_text(c, "cors-origins");
    char reason[REASON_MAX];
    if (!origins_check_list(origins, reason, sizeof reason))
        return config_wrong("cors-origins", reason);
    if (!peer_check_list(proxies, reason, sizeof reason))
        return config_wrong("trusted-proxies", reason);
    s->server = (struct server_config){
        .accounts = &s->accounts,
        .is_sha1_allowed = config_number(c, "auth-sha1"),
        .logs_requests = config_number(c, "log-requests"),
        .oidc = &s->oidc,
        .cors_origins = origins,
        .trusted_proxies = proxies,
        .body_max_bytes = config_number(c, "body-max-bytes"),
        .wire.header_max_bytes = config_number(c, "header-max-bytes"),
        .wire.idle_ms = config_number(c, "idle-seconds") * 1000,
        .wire.body_memory_bytes = (config_number(c, "body-memory-mib") << 20) / s->node_n,
    };
    return true;
}

/* Both files or none; with --tls-listen, --listen stays without TLS. */
static bool read_tls(struct settings *s)
{
    const char *certificate = config_text(s->config, "tls-cert");
    const char *key = config_text(s->config, "tls-key");
    char reason[REASON_MAX];
    s->tls_listen = config_text(s->config, "tls-listen");
    if (s->tls_listen != NULL && (!listen_check_address(s->tls_listen) || *s->tls_listen == 'u'))
        return config_wrong("tls-listen", "takes HOST:PORT with a port up to 65535");
    if (certificate == NULL && key == NULL)
        return s->tls_listen == NULL ||
               config_wrong("tls-listen", "needs --tls-cert and --tls-key");
    if (certificate == NULL)
        return config_wrong("tls-cert", "is missing: --tls-key is set, and needs its certificate");
    if (key == NULL)
        return config_wrong("tls-key", "is missing: --tls-cert is set, and needs its key");
    if (s->tls_listen == NULL && strncmp(s->listen, "unix:", 5) == 0)
        return config_wrong("listen", "cannot be a unix: path with --tls-cert: use HOST:PORT, or "
                                      "add --tls-listen");
    s->tls = tls_create(certificate, key, reason, sizeof reason);
    if (s->tls != NULL)
        return true;
    fprintf(stderr, "parley: cannot use --tls-cert and --tls-key: %s\n", reason);
    return false;
}

static bool read_services(struct settings *s)
{
    const struct service_process process = {s->config, &s->map};
    return services_read(&s->services, config_text(s->config, "target"), &process);
}

static unsigned count_nodes(const struct config *c)
{
    unsigned wanted = (unsigned)config_number(c, "threads");
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (wanted > 0)
        return wanted;
    return cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
}

bool settings_read(struct settings *s, const struct config *c)
{
    s->config = c;
    log_read_options(c);
    s->listen = config_text(c, "listen");
    s->drain_ms = config_number(c, "drain-seconds") * 1000;
    s->is_check = config_number(c, "check-config") != 0;
    s->node_n = count_nodes(c);
    if (!listen_check_address(s->listen))
        return config_wrong("listen", "takes HOST:PORT with a port up to 65535, or unix:/path");
    return read_queue(s) && read_accounts(s) && read_server(s) && read_tls(s) && read_oidc(s) &&
           read_services(s);
}

void settings_fini(struct settings *settings)
{
    services_fini(&settings->services);
    account_book_fini(&settings->accounts);
    buf_fini(&settings->shared_settings);
    tls_destroy(settings->tls);
    if (settings->client_secret != NULL)
        OPENSSL_cleanse(settings->client_secret, strlen(settings->client_secret));
    free(settings->client_secret);
}

/* scheme://user:password@host, or a parameter. */
static bool has_password(const char *url)
{
    const char *at = strstr(url, "://");
    if (at == NULL)
        return false;
    if (strstr(at, "password=") != NULL)
        return true;
    for (const char *colon = strchr(at + 3, ':'); colon != NULL; colon = strchr(colon + 1, ':'))
        if (colon[1] != '@' && strchr(colon, '@') != NULL)
            return true;
    return false;
}

void settings_print(const struct settings *settings)
{
    const struct config *config = settings->config;
    for (size_t i = 0; config->options[i] != NULL; i++) {
        const char *name = config->options[i]->name;
        const struct config_value *value = &config->values[i];
        bool may_hold_secret = strcmp(name, "redis") == 0 &&
                               settings->map.servers[0].password[0] != 0 &&
                               config_text(config, "redis-password-file") == NULL;
        if (value->text != NULL && !may_hold_secret && has_password(value->text))
            printf("%-20s %.*s*** (%s)\n", name,
                   (int)(strstr(value->text, "://") - value->text) + 3, value->text, value->source);
        else if (value->text != NULL)
            printf("%-20s %s (%s)\n", name, may_hold_secret ? "redis://***" : value->text,
                   value->source);
    }
    printf("%-20s %zu\n", "accounts read",
           accounts_count(account_book_current(&settings->accounts)));
    printf("%-20s %u\n", "nodes to run", settings->node_n);
    services_print(&settings->services);
}
