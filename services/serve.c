/* SPDX-License-Identifier: MIT
 * serve.c - `parley serve`: one node per thread, each with its own loop, connections to Redis and
 * parked requests; threads share the listening port, the accounts and nothing else.
 *
 * The main thread only waits for signals: SIGTERM and SIGINT drain, SIGHUP reloads the accounts. */
#include "services/broker/broker.h"
#include "services/commands.h"
#include "services/documents/documents.h"
#include "services/indexer/indexer.h"
#include "services/probes.h"
#include "services/services.h"
#include "shared/base/clock.h"
#include "shared/base/config.h"
#include "shared/http/authenticate.h"
#include "shared/http/oidc.h"
#include "shared/http/peer.h"

#include <errno.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, DRAIN_POLL_MS = 20, REDIS_MOMENT_MS = 1000, REASON_MAX = 512 };

static const struct config_option options[] = {
    {"listen", CONFIG_TEXT, "ADDR", "127.0.0.1:8080", 0, 0,
     "Where to listen: HOST:PORT (port 0 takes a free one) or unix:/path.", NULL},
    {"redis", CONFIG_TEXT, "URL", "redis://127.0.0.1:6379/0", 0, 0,
     "Redis 7 or Valkey 8: redis://[user:password@]host:port[/db] or unix:/path[?db=N].", NULL},
    {"accounts", CONFIG_TEXT, "FILE", NULL, 0, 0,
     "The accounts (YAML): names, secrets, roles. Read again on SIGHUP; a broken file keeps the "
     "old.",
     NULL},
    {"target", CONFIG_TEXT, "LIST", "all", 0, 0,
     "Which services to run, comma separated: all, broker, documents, indexer.", NULL},
    {"threads", CONFIG_NUMBER, "N", "0", 0, THREADS_MAX,
     "Event loops, each a node of its own. 0: one per core.", NULL},
    {"lease-seconds", CONFIG_NUMBER, "N", "150", 1, 86400,
     "How long an engine holds a claim without a sign of life.", NULL},
    {"delivery-seconds", CONFIG_NUMBER, "N", "2", 1, 60,
     "How long a claim may take from Redis to its engine before it is Open again.", NULL},
    {"max-attempts", CONFIG_NUMBER, "N", "3", 1, 100,
     "Claims that a query may use up before it has Failed.", NULL},
    {"queue-max", CONFIG_NUMBER, "N", "100000", 1, 100000000,
     "Open queries in all; past it new ones get 503.", NULL},
    {"rescan-seconds", CONFIG_NUMBER, "N", "5", 1, 3600,
     "How often a node states its parked polls anew; bounds what a lost message costs.", NULL},
    {"retention-days", CONFIG_NUMBER, "N", "0", 0, 36500,
     "Topics without a new query for so long are deleted. 0: never.", NULL},
    {"indexers", CONFIG_NUMBER, "N", "1", 0, INDEXERS_MAX,
     "Threads that index documents, where the target has indexer.", NULL},
    {"job-lease-seconds", CONFIG_NUMBER, "N", "30", 1, 3600,
     "After so long without a sign of life of its indexer another one goes on with a document.",
     NULL},
    {"vectors", CONFIG_TEXT, NULL, "auto", 0, 0,
     "How a new owner's documents are searched: exact (the node compares all vectors), set (a "
     "vector set of Redis 8), or auto: set where Redis knows it.",
     "auto|exact|set"},
    {"embeddings", CONFIG_TEXT, "MODEL", "hash", 0, 0,
     "The embedding model of documents: hash (built in), openai:URL#MODEL or ollama:URL#MODEL.",
     NULL},
    {"embeddings-key-file", CONFIG_TEXT, "FILE", NULL, 0, 0,
     "The file that holds the key of the embedding model's server.", NULL},
    {"owner-max-mib", CONFIG_NUMBER, "N", "500", 1, 1048576,
     "How much one owner's documents may take: uploads, texts and their index.", NULL},
    {"upload-max-mib", CONFIG_NUMBER, "N", "25", 1, UPLOAD_MOST_MIB,
     "The largest document that may be uploaded.", NULL},
    {"documents-cache-mib", CONFIG_NUMBER, "N", "256", 1, 1048576,
     "How much memory each thread keeps search indexes in; what is searched at the moment is kept "
     "in any case.",
     NULL},
    {"public-collection", CONFIG_TEXT, "NAME", "public", 0, 0,
     "The collection that POST /ask answers from.", NULL},
    {"ask-seconds", CONFIG_NUMBER, "N", "25", 1, 600,
     "How long a question over documents may wait for its answer.", NULL},
    {"agent-seconds", CONFIG_NUMBER, "N", "75", 1, 3600,
     "How long a run of the agent may take, all of its steps together.", NULL},
    {"auth-sha1", CONFIG_BOOL, NULL, "on", 0, 0, "Accept SHA-1 hashes besides SHA-256.", NULL},
    {"oidc-issuer", CONFIG_TEXT, "URL", "", 0, 0,
     "The OpenID provider whose tokens are accepted; its keys are found by discovery.", NULL},
    {"oidc-jwks-url", CONFIG_TEXT, "URL", "", 0, 0,
     "Where the provider's keys are, without discovery.", NULL},
    {"oidc-audience", CONFIG_TEXT, "NAME", "", 0, 0,
     "What `aud` or `azp` of a provider's token must say; needed with a provider.", NULL},
    {"oidc-allow-private", CONFIG_BOOL, NULL, "off", 0, 0,
     "Let the provider have a private address, and http:// in its URLs.", NULL},
    {"oidc-retry-seconds", CONFIG_NUMBER, "N", "30", 0, 86400,
     "Keys are fetched for an unknown key at most so often.", NULL},
    {"oidc-refresh-seconds", CONFIG_NUMBER, "N", "900", 1, 86400,
     "How often the provider's keys are fetched in any case.", NULL},
    {"cors-origins", CONFIG_TEXT, "LIST", "*", 0, 0,
     "Origins that browsers may call from: * (without credentials), or a comma list (with).", NULL},
    {"trusted-proxies", CONFIG_TEXT, "LIST", "", 0, 0,
     "Addresses or CIDR blocks whose X-Forwarded-For is believed.", NULL},
    {"body-max-bytes", CONFIG_NUMBER, "N", "1048576", 1024, 67108864, "Largest request body.",
     NULL},
    {"header-max-bytes", CONFIG_NUMBER, "N", "32768", 1024, 409600,
     "Largest request line with headers.", NULL},
    {"idle-seconds", CONFIG_NUMBER, "N", "30", 1, 3600,
     "How long a connection may take to send a request, or stay idle between two.", NULL},
    {"drain-seconds", CONFIG_NUMBER, "N", "10", 1, 600,
     "How long requests under way may take after SIGTERM.", NULL},
    {"key-prefix", CONFIG_TEXT, "TEXT", "parley:{0}:", 0, 0,
     "What keys and channels in Redis begin with. The part in braces keeps them in one slot.",
     NULL},
    {"log-format", CONFIG_TEXT, NULL, "text", 0, 0, "Log lines on standard error.", "json|text"},
    {"log-level", CONFIG_TEXT, NULL, "info", 0, 0, "Least level to log.", "debug|info|warn|error"},
    {"check-config", CONFIG_BOOL, NULL, "off", 0, 0, "Say what would run, and exit.", NULL},
    {0},
};

/* One thread: one node of the cluster. */
struct node {
    pthread_t thread;
    struct loop loop;
    struct server server;
    struct queue *queue;
    struct broker broker;
    struct services services;
    struct metrics metrics;
    struct deadline drain_look;
    uint64_t drain_end_ms;
    int listen_fd;
    char id[24];
};

static struct process {
    struct config config;
    struct account_book accounts;
    struct redis_address redis;
    struct server_config server;
    struct oidc_settings oidc;
    struct embedder *embedder;
    struct documents_settings documents;
    struct pipeline_settings indexing;
    struct indexer *indexer; /* NULL: not of this process's targets */
    struct node *nodes;
    unsigned node_n;
    atomic_bool is_draining;
    sem_t ended; /* posted by each node that has */
} process;

/* --- one node --------------------------------------------------------------------------------- */

static void on_turn_end(void *arg)
{
    struct node *node = arg;
    queue_before_flush(node->queue);
    turn_flush(node->server.turn);
}

static void on_other_event(void *arg, struct str kind, struct lines *rest)
{
    struct node *node = arg;
    const struct services *services = &node->services;
    if (str_eq(kind, STR("block"))) {
        struct str address = lines_next(rest);
        blocks_add(node->server.blocks, address, node->loop.now_ms, lines_next_u64(rest));
    } else if (services->documents == NULL ||
               !documents_on_event(services->documents, kind, rest)) {
        if (services->broker != NULL)
            broker_on_event(services->broker, kind, rest);
    }
}

static void on_queue_up(void *arg)
{
    struct node *node = arg;
    authenticate_on_up(&node->server);
    if (node->services.documents != NULL)
        documents_on_up(node->services.documents);
}

/* Requests under way have answers and verbs have replies, or the time is over. */
static void on_drain_look(struct deadline *deadline)
{
    struct node *node = H2O_STRUCT_FROM_MEMBER(struct node, drain_look, deadline);
    if (node->services.broker != NULL)
        broker_drain(node->services.broker);
    bool is_done = node->server.open_n == 0 && turn_pending_n(node->server.turn) == 0;
    if (is_done || node->loop.now_ms >= node->drain_end_ms)
        loop_finish(&node->loop);
    else
        loop_set_deadline(&node->loop, &node->drain_look, DRAIN_POLL_MS);
}

static void on_wake(void *arg)
{
    struct node *node = arg;
    if (!atomic_load(&process.is_draining) || node->server.is_draining)
        return;
    node->drain_end_ms = node->loop.now_ms + config_number(&process.config, "drain-seconds") * 1000;
    server_drain(&node->server);
    on_drain_look(&node->drain_look);
}

/* Does this process run that service? */
static bool has_target(const char *wanted)
{
    struct str rest = str_of(config_text(&process.config, "target"));
    while (rest.at != NULL) {
        struct str name = str_trim(str_cut(&rest, ','));
        if (str_eq(name, STR("all")) || str_eq(name, str_of(wanted)))
            return true;
    }
    return false;
}

/* The services of this process's targets, once the node's server and queue are there. */
static void init_services(struct node *node)
{
    node->broker = (struct broker){.server = &node->server, .queue = node->queue};
    node->services.queue = node->queue;
    if (has_target("broker"))
        node->services.broker = &node->broker;
    if (has_target("documents"))
        node->services.documents = documents_create(&node->server, node->queue, &process.documents);
    node->server.services = &node->services;
}

static void init_node(struct node *node, unsigned index)
{
    const struct route *tables[4] = {probe_routes};
    unsigned table_n = 1;
    const struct config *c = &process.config;
    unsigned char random[8];
    char hex[17];
    if (RAND_bytes(random, sizeof random) != 1)
        abort();
    str_hex(random, sizeof random, hex);
    snprintf(node->id, sizeof node->id, "n%.12s%u", hex, index);
    loop_init(&node->loop);
    metrics_register(&node->metrics);
    node->loop.on_turn_end = on_turn_end;
    node->loop.turn_end_arg = node;
    node->loop.on_wake = on_wake;
    node->loop.wake_arg = node;
    node->drain_look.on_expire = on_drain_look;
    if (has_target("broker"))
        tables[table_n++] = broker_routes;
    if (has_target("documents"))
        tables[table_n++] = documents_routes;
    struct queue_config queue = {.redis = &process.redis,
                                 .prefix = config_text(c, "key-prefix"),
                                 .node_id = node->id,
                                 .lease_ms = config_number(c, "lease-seconds") * 1000,
                                 .delivery_ms = config_number(c, "delivery-seconds") * 1000,
                                 .max_attempts = config_number(c, "max-attempts"),
                                 .queue_max = config_number(c, "queue-max"),
                                 .rescan_ms = config_number(c, "rescan-seconds") * 1000,
                                 .retention_s = config_number(c, "retention-days") * 86400,
                                 .on_other_event = on_other_event,
                                 .on_up = on_queue_up,
                                 .arg = node};
    node->queue = queue_create(&node->loop, &queue, &node->metrics);
    server_init(&node->server, &node->loop, &process.server, queue_turn(node->queue),
                &node->metrics, tables, node->id);
    init_services(node);
    if (oidc_is_wanted(&process.oidc))
        node->server.oidc = oidc_create(&node->loop, &process.oidc);
}

static void *run_node(void *arg)
{
    struct node *node = arg;
    server_start(&node->server, node->listen_fd);
    loop_run(&node->loop);
    queue_destroy(node->queue);
    documents_destroy(node->services.documents);
    oidc_destroy(node->server.oidc);
    server_fini(&node->server);
    loop_fini(&node->loop);
    sem_post(&process.ended);
    for (;;) /* libh2o's free lists are this thread's: they stay reachable for leak checks */
        pause();
    return NULL;
}

/* --- the process ------------------------------------------------------------------------------ */

static void print_help(void)
{
    printf(
        "usage: parley serve [FLAGS]\n\n"
        "Runs a node: HTTP in front, Redis behind. Any number of nodes on one Redis, behind any "
        "load\n"
        "balancer, behave as one. Prints one line `parley: listening on URL` on standard output "
        "when\n"
        "it is ready to accept; logs go to standard error.\n\n"
        "Signals: SIGTERM and SIGINT drain and exit 0 (parked polls get their empty answer, what "
        "runs\n"
        "is finished); SIGHUP reads the accounts again.\n"
        "Exit codes: 0 after a signal, 1 when it could not start, 2 for a wrong flag or value.\n\n"
        "Flags:\n");
    config_print_options(options);
    printf("  --config FILE\n        Settings as YAML (`listen: 127.0.0.1:8080`).\n"
           "        Environment: PARLEY_CONFIG.\n\n"
           "Example:\n  parley serve --listen 0.0.0.0:8080 --redis redis://10.0.0.5:6379/0 "
           "--accounts accounts.yaml\n");
}

static bool wrong(const char *flag, const char *reason)
{
    fprintf(stderr, "parley: --%s: %s\n", flag, reason);
    return false;
}

static bool is_target_known(const char *list)
{
    static const char *const targets[] = {"all", "broker", "documents", "indexer"};
    struct str rest = str_of(list);
    while (rest.at != NULL) {
        struct str name = str_trim(str_cut(&rest, ','));
        size_t i = 0;
        while (i < sizeof targets / sizeof *targets && !str_eq(name, str_of(targets[i])))
            i++;
        if (i == sizeof targets / sizeof *targets)
            return false;
    }
    return true;
}

static bool read_oidc(const struct config *c)
{
    const char *reason;
    process.oidc = (struct oidc_settings){
        .issuer = config_text(c, "oidc-issuer"),
        .jwks_url = config_text(c, "oidc-jwks-url"),
        .audience = config_text(c, "oidc-audience"),
        .is_private_allowed = config_number(c, "oidc-allow-private"),
        .retry_ms = config_number(c, "oidc-retry-seconds") * 1000,
        .refresh_ms = config_number(c, "oidc-refresh-seconds") * 1000,
    };
    const char *flag = oidc_check_settings(&process.oidc, &reason);
    return flag == NULL || wrong(flag, reason);
}

static bool read_documents(void)
{
    const struct config *c = &process.config;
    const char *collection = config_text(c, "public-collection");
    if (collection[0] == 0 || strlen(collection) > OWNER_MAX_BYTES)
        return wrong("public-collection", "takes a name of 1 to 128 bytes");
    process.documents = (struct documents_settings){
        .embedder = process.embedder,
        .upload_max_bytes = config_number(c, "upload-max-mib") << 20,
        .owner_max_bytes = config_number(c, "owner-max-mib") << 20,
        .cache_max_bytes = config_number(c, "documents-cache-mib") << 20,
        .vectors = config_text(c, "vectors"),
        .public_collection = collection,
        .ask_ms = config_number(c, "ask-seconds") * 1000,
        .agent_ms = config_number(c, "agent-seconds") * 1000,
    };
    return true;
}

/* What documents are embedded and indexed with. */
static bool read_indexing(void)
{
    const struct config *c = &process.config;
    const char *key_file = config_text(c, "embeddings-key-file");
    char reason[REASON_MAX], *key = NULL;
    if (key_file != NULL && (key = config_read_secret(key_file)) == NULL)
        return false;
    process.embedder = embed_create(config_text(c, "embeddings"), key, reason, sizeof reason);
    free(key);
    if (process.embedder == NULL)
        return wrong("embeddings", reason);
    process.indexing = (struct pipeline_settings){
        .redis = &process.redis,
        .prefix = config_text(c, "key-prefix"),
        .embedder = process.embedder,
        .lease_ms = config_number(c, "job-lease-seconds") * 1000,
        .cap_bytes = config_number(c, "owner-max-mib") << 20,
    };
    return vectors_parse_mode(str_of(config_text(c, "vectors")), &process.indexing.vectors) ||
           wrong("vectors", "takes auto, exact or set");
}

static bool read_settings(void)
{
    const struct config *c = &process.config;
    char reason[REASON_MAX];
    enum log_level level = LOG_INFO;
    if (c->argument_n > 0) {
        fprintf(stderr, "parley: '%s': parley serve takes flags only; a switch takes on or off\n",
                c->arguments[0]);
        return false;
    }
    if (!log_parse_level(str_of(config_text(c, "log-level")), &level))
        return wrong("log-level", "no such level");
    log_setup(level, strcmp(config_text(c, "log-format"), "json") == 0);
    if (!is_target_known(config_text(c, "target")))
        return wrong("target", "takes a comma list of: all, broker, documents, indexer");
    if (!server_check_address(config_text(c, "listen")))
        return wrong("listen", "takes HOST:PORT with a port up to 65535, or unix:/path");
    if (!redis_parse_url(str_of(config_text(c, "redis")), &process.redis, reason, sizeof reason))
        return wrong("redis", reason);
    if (config_text(c, "accounts") == NULL)
        return wrong("accounts", "is needed: a YAML file of accounts (see docs/operations.md)");
    if (!account_book_init(&process.accounts, config_text(c, "accounts"), reason, sizeof reason)) {
        fprintf(stderr, "parley: --accounts %s: %s\n", config_text(c, "accounts"), reason);
        return false;
    }
    const char *proxies = config_text(c, "trusted-proxies");
    if (!peer_check_list(proxies, reason, sizeof reason))
        return wrong("trusted-proxies", reason);
    if (!read_oidc(c))
        return false;
    if (strlen(config_text(c, "key-prefix")) > 64)
        return wrong("key-prefix", "at most 64 bytes");
    if (!read_indexing() || !read_documents())
        return false;
    process.server = (struct server_config){
        .accounts = &process.accounts,
        .is_sha1_allowed = config_number(c, "auth-sha1"),
        .cors_origins = config_text(c, "cors-origins"),
        .trusted_proxies = proxies == NULL ? "" : proxies,
        .body_max_bytes = config_number(c, "body-max-bytes"),
        .header_max_bytes = config_number(c, "header-max-bytes"),
        .idle_ms = config_number(c, "idle-seconds") * 1000,
    };
    process.node_n = (unsigned)config_number(c, "threads");
    if (process.node_n == 0) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        process.node_n = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
    }
    return true;
}

static void print_settings(void)
{
    for (const struct config_option *o = options; o->name != NULL; o++) {
        const struct config_value *value = config_get(&process.config, o->name);
        bool may_hold_secret = strcmp(o->name, "redis") == 0 && process.redis.password[0] != 0;
        if (value->text != NULL)
            printf("%-18s %s (%s)\n", o->name, may_hold_secret ? "redis://***" : value->text,
                   value->source);
    }
    printf("%-18s %zu\n", "accounts read", accounts_count(account_book_current(&process.accounts)));
    printf("%-18s %u\n", "nodes to run", process.node_n);
}

static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Binds for every thread. All threads share the port that the first one got. */
static bool listen_all(char *url, size_t url_size)
{
    const char *address = config_text(&process.config, "listen");
    char reason[REASON_MAX], again[300];
    bool is_unix = strncmp(address, "unix:", 5) == 0;
    int port;
    for (unsigned i = 0; i < process.node_n; i++) {
        struct node *node = &process.nodes[i];
        if (is_unix && i > 0)
            node->listen_fd = dup(process.nodes[0].listen_fd);
        else
            node->listen_fd = server_listen(i == 0 ? address : again, process.node_n > 1, &port,
                                            reason, sizeof reason);
        if (node->listen_fd < 0) {
            fprintf(stderr, "parley: cannot listen on %s: %s\n", address, reason);
            return false;
        }
        if (i == 0 && !is_unix) {
            int host_n = (int)(strrchr(address, ':') - address);
            snprintf(again, sizeof again, "%.*s:%d", host_n, address, port);
            snprintf(url, url_size, "http://%s", again);
        } else if (i == 0) {
            snprintf(url, url_size, "%s", address);
        }
    }
    return true;
}

/* Whoever reads the line may send a request at once: Redis gets a moment to answer first. Without
 * it the node serves all the same, with 503. */
static void wait_for_redis(void)
{
    const struct timespec look = {.tv_nsec = 5000000};
    uint64_t end_us = clock_mono_us() + REDIS_MOMENT_MS * 1000;
    while (metrics_sum(METRIC_CONNECTED) < process.node_n && clock_mono_us() < end_us)
        nanosleep(&look, NULL);
}

static void wait_for_signals(const sigset_t *signals)
{
    char reason[REASON_MAX];
    for (;;) {
        int number = 0;
        if (sigwait(signals, &number) != 0)
            continue;
        if (number != SIGHUP) {
            log_write(LOG_INFO, "draining", LOG_U("signal", number));
            return;
        }
        if (account_book_reload(&process.accounts, reason, sizeof reason))
            log_write(LOG_INFO, "accounts reloaded",
                      LOG_U("accounts", accounts_count(account_book_current(&process.accounts))));
        else
            log_write(LOG_ERROR, "accounts not reloaded, the old ones stay",
                      LOG_S("reason", reason));
    }
}

static int run(void)
{
    char url[320];
    sigset_t signals;
    process.nodes = calloc(process.node_n, sizeof *process.nodes);
    if (process.nodes == NULL || sem_init(&process.ended, 0, 0) != 0)
        abort();
    raise_file_limit();
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    srand((unsigned)clock_mono_us() ^ (unsigned)getpid());
    if (!listen_all(url, sizeof url))
        return 1;
    for (unsigned i = 0; i < process.node_n; i++)
        init_node(&process.nodes[i], i);
    for (unsigned i = 0; i < process.node_n; i++)
        if (pthread_create(&process.nodes[i].thread, NULL, run_node, &process.nodes[i]) != 0)
            abort();
    if (has_target("indexer") && config_number(&process.config, "indexers") > 0)
        process.indexer =
            indexer_start(&process.indexing, (unsigned)config_number(&process.config, "indexers"));
    wait_for_redis();
    printf("parley: listening on %s\n", url);
    fflush(stdout);
    log_write(LOG_INFO, "serving", LOG_S("url", url), LOG_U("threads", process.node_n),
              LOG_S("version", PARLEY_VERSION));
    wait_for_signals(&signals);
    atomic_store(&process.is_draining, true);
    for (unsigned i = 0; i < process.node_n; i++)
        loop_wake(&process.nodes[i].loop);
    indexer_stop(process.indexer);
    for (unsigned i = 0; i < process.node_n; i++)
        while (sem_wait(&process.ended) != 0)
            ;
    indexer_destroy(process.indexer);
    if (strncmp(url, "unix:", 5) == 0)
        unlink(url + 5);
    log_write(LOG_INFO, "stopped");
    return 0;
}

int serve_main(int argc, char **argv)
{
    int code = 2;
    switch (config_read(&process.config, options, "serve", argc, argv)) {
    case CONFIG_HELP:
        print_help();
        code = 0;
        break;
    case CONFIG_WRONG: break;
    case CONFIG_READY:
        if (!read_settings())
            break;
        if (config_number(&process.config, "check-config")) {
            print_settings();
            code = 0;
        } else {
            code = run();
        }
    }
    embed_destroy(process.embedder);
    account_book_fini(&process.accounts);
    config_fini(&process.config);
    return code;
}
