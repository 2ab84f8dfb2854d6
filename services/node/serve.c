/* SPDX-License-Identifier: MIT
 * serve.c - `parley serve`: one node per thread, each with its own loop, connections to Redis and
 * parked requests; threads share the listening port, the accounts and nothing else.
 *
 * The main thread waits for signals: SIGTERM and SIGINT drain, SIGHUP reloads the accounts, the
 * certificate and the files of services. Once a second it checks whether the accounts file has
 * changed, whether Redis came back with data of another version, and whether all threads still
 * turn, if the service manager wants to know. */
#include "services/node/serve.h"

#include "generated/routes_node.h"
#include "services/node/certificate.h"
#include "services/node/scrapes.h"
#include "services/node/settings.h"
#include "services/node/show.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/mem.h"
#include "shared/http/access/gate.h"
#include "shared/http/access/held_nonces.h"
#include "shared/http/access/rights.h"
#include "shared/http/server/server_run.h"
#include "shared/http/websocket/websocket.h"
#include "shared/http/wire/listen.h"
#include "shared/metrics/process.h"
#include "shared/op/file_watch.h"
#include "shared/op/notify.h"
#include "shared/redis/agreement.h"
#include "shared/redis/start.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { DRAIN_CLOSE_MS = 1000, DRAIN_CLOSE_SHARE = 4 };
enum { FILES_CHECK_S = 1, WATCHDOG_SHARE = 4 };
enum { DRAIN_POLL_MS = 20, REDIS_MOMENT_MS = 3000, REASON_MAX = 512 };

/* One thread: one node of the cluster. */
struct node {
    pthread_t thread;
    struct loop loop;
    struct server server;
    struct queue *queue;
    struct services services;
    struct metrics metrics;
    struct deadline drain_timer;
    uint64_t drain_end_ms, drain_close_ms; /* close: busy WebSockets too, in time to say so */
    int listen_fds[LISTENERS_MAX];         /* -1: none */
    atomic_uint heard;                     /* the last of process.asked that its loop saw */
    uint64_t used_us;                      /* processor time of the thread at the last pass's end */
    bool is_serving;                       /* start_serving */
    bool has_left;                         /* queue_leave */
    char id[24];
};

enum { ABOUT_MAX_BYTES = 800, HOST_MAX_BYTES = 256 };

static struct process {
    struct settings settings;
    char about[ABOUT_MAX_BYTES];
    struct node *nodes;
    atomic_bool is_serving, is_draining, is_refused;
    atomic_uint asked; /* see feed_watchdog */
    sem_t ended;       /* posted by each node that has */
} process;

/* --- one node --------------------------------------------------------------------------------- */

static void on_pass_end(void *arg)
{
    struct node *node = arg;
    server_turn_end(&node->server);
    queue_before_flush(node->queue);
    services_before_flush(&node->services);
    shards_flush(node->server.shards);
    uint64_t used_us = clock_thread_us();
    metrics_observe(&node->metrics, METRIC_HISTOGRAM_PASS, used_us - node->used_us);
    node->used_us = used_us;
}

static void on_other_event(void *arg, struct str kind, struct lines *rest)
{
    struct node *node = arg;
    if (str_eq(kind, STR("show")))
        show_on_event(&node->server, rest);
    else
        services_on_event(&node->services, kind, rest);
}

static void on_queue_up(void *arg, unsigned shard)
{
    struct node *node = arg;
    gate_on_up(node->server.gate);
    services_on_up(&node->services, shard);
}

/* Requests under way have answers and verbs have replies, or the time is over. Last of all the node
 * leaves the list of those that live. */
static void on_drain_timer(struct deadline *deadline)
{
    struct node *node = container_of(deadline, struct node, drain_timer);
    services_drain(&node->services);
    websocket_drain(&node->server, clock_mono_ms() >= node->drain_close_ms);
    bool is_done = server_is_drained(&node->server) && shards_pending_n(node->server.shards) == 0;
    bool is_late = clock_mono_ms() >= node->drain_end_ms;
    bool had_left = node->has_left;
    if ((is_done || is_late) && !node->has_left) {
        queue_leave(node->queue);
        node->has_left = true;
    }
    if (is_late || (is_done && had_left))
        loop_finish(&node->loop);
    else
        loop_set_deadline(&node->loop, &node->drain_timer, DRAIN_POLL_MS);
}

/* That of the first address, or of --tls-listen. */
static struct tls *tls_of(unsigned place)
{
    const struct settings *s = &process.settings;
    return place == 0 && s->tls_listen != NULL ? NULL : s->tls;
}

/* Until now, connections waited in the kernel's backlog. */
static void start_serving(struct node *node)
{
    node->is_serving = true;
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (node->listen_fds[i] >= 0)
            server_start(&node->server, node->listen_fds[i], tls_of(i));
}

static void on_wake(void *arg)
{
    struct node *node = arg;
    atomic_store(&node->heard, atomic_load(&process.asked));
    if (atomic_load(&process.is_serving) && !node->is_serving)
        start_serving(node);
    server_check_rights(&node->server);
    if (!atomic_load(&process.is_draining) || node->server.is_draining)
        return;
    uint64_t close_ms = process.settings.drain_ms / DRAIN_CLOSE_SHARE;
    node->drain_end_ms = clock_mono_ms() + process.settings.drain_ms;
    node->drain_close_ms =
        node->drain_end_ms - (close_ms < DRAIN_CLOSE_MS ? close_ms : DRAIN_CLOSE_MS);
    server_drain(&node->server);
    on_drain_timer(&node->drain_timer);
}

/* With the routes of this process's targets. */
static void init_server(struct node *node)
{
    const struct route *tables[SERVICES_MAX + 2] = {node_routes};
    services_list_routes(&process.settings.services, tables + 1);
    server_init(&node->server, &node->loop, &process.settings.server, queue_shards(node->queue),
                &node->metrics, tables, node->id);
}

static void init_node(struct node *node, unsigned index)
{
    char hex[17];
    str_random_hex(8, hex);
    snprintf(node->id, sizeof node->id, "n%.12s%u", hex, index);
    loop_init(&node->loop);
    metrics_register(&node->metrics);
    node->loop.on_pass_end = on_pass_end;
    node->loop.pass_end_arg = node;
    node->loop.on_wake = on_wake;
    node->loop.wake_arg = node;
    node->drain_timer.on_expire = on_drain_timer;
    struct queue_config queue = process.settings.queue;
    queue.node_id = node->id;
    queue.on_other_event = on_other_event;
    queue.on_up = on_queue_up;
    queue.arg = node;
    node->queue = queue_create(&node->loop, &queue, &node->metrics);
    init_server(node);
    services_create(&node->services, &process.settings.services, &node->server, node->queue);
    node->services.scrapes = scrapes_create(&(struct scrapes_settings){
        .queue_max = process.settings.queue.queue_max, .thread_n = process.settings.node_n});
    node->server.services = &node->services;
    node->server.is_first = index == 0;
    node->server.held_nonces->sync_ms = queue_sync_ms(node->queue);
}

static void *run_node(void *arg)
{
    struct node *node = arg;
    loop_run(&node->loop);
    services_end(&node->services);
    queue_destroy(node->queue);
    services_destroy(&node->services);
    scrapes_destroy(node->services.scrapes);
    server_fini(&node->server);
    loop_fini(&node->loop);
    sem_post(&process.ended);
    for (;;) /* libh2o's free lists are this thread's: they stay reachable for leak checks */
        pause();
    return NULL;
}

/* --- the process ------------------------------------------------------------------------------ */

/* Descriptors that no client gets: for Redis, listeners and event loops, providers, models and
 * databases; services count what they need on top of that. */
enum { RESERVED_FILES = 48, RESERVED_FILES_OF_NODE = 16 };

/* Raises the limit of open files as far as it may go, and shares it among the threads. */
static void share_files(void)
{
    struct rlimit limit;
    const struct settings *s = &process.settings;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0 && getrlimit(RLIMIT_NOFILE, &limit) != 0)
            return;
    }
    size_t all = limit.rlim_cur, reserved = RESERVED_FILES + RESERVED_FILES_OF_NODE * s->node_n +
                                            services_count_files(&s->services);
    if (reserved > all / 2)
        reserved = all / 2;
    process.settings.server.wire.connections_max = (all - reserved) / s->node_n;
}

/* An address on which the threads listen: `url` says where, with the port that it got. */
struct listening {
    const char *address; /* NULL: none */
    char url[320];
    struct listen_place place;
};

/* Binds for every thread. */
static bool listen_for_all(struct listening *listening, unsigned place)
{
    const char *address = listening->address;
    char reason[REASON_MAX];
    int fds[THREADS_MAX];
    if (!listen_open(address, process.settings.node_n, fds, &listening->place, reason,
                     sizeof reason)) {
        fprintf(stderr, "parley: cannot listen on %s: %s\n", address, reason);
        return false;
    }
    for (unsigned i = 0; i < process.settings.node_n; i++)
        process.nodes[i].listen_fds[place] = fds[i];
    if (listening->place.port == 0)
        snprintf(listening->url, sizeof listening->url, "%s", address);
    else
        snprintf(listening->url, sizeof listening->url, "%s://%.*s:%d",
                 tls_of(place) == NULL ? "http" : "https", (int)(strrchr(address, ':') - address),
                 address, listening->place.port);
    return true;
}

static bool listen_all(struct listening listenings[LISTENERS_MAX])
{
    listenings[0].address = process.settings.listen;
    listenings[1].address = process.settings.tls_listen;
    for (unsigned place = 0; place < LISTENERS_MAX; place++) {
        for (unsigned i = 0; i < process.settings.node_n; i++)
            process.nodes[i].listen_fds[place] = -1;
        if (listenings[place].address != NULL && !listen_for_all(&listenings[place], place))
            return false;
    }
    return true;
}

/* Connected, and able to issue tokens and to check them. */
static bool are_nodes_ready(void)
{
    for (unsigned i = 0; i < process.settings.node_n; i++)
        if (!process.nodes[i].server.gate->has_token_key)
            return false;
    return metrics_sum(METRIC_CONNECTED) >= process.settings.node_n;
}

/* The first request may come at once, from a client that reads the line or a load balancer that
 * tries the address: Redis gets a moment to answer first. Without it the node serves all the same,
 * with 503. */
static bool wait_for_redis(void)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    uint64_t end_us = clock_mono_us() + REDIS_MOMENT_MS * 1000;
    while (!are_nodes_ready() && clock_mono_us() < end_us)
        nanosleep(&pause, NULL);
    return are_nodes_ready();
}

/* On standard output, after the line that says where the node listens. */
static void say_waiting(void)
{
    const struct shard_map *map = &process.settings.map;
    char place[REDIS_PLACE_BYTES];
    redis_put_place(&map->servers[0], place);
    printf(
        "parley: waiting for Redis at %s (--redis): until it is ready, requests get status 503 and "
        "/readyz fails\n",
        place);
}

/* Every thread ends what it has open for accounts that lost their right (on_wake). */
static void reload_accounts(bool is_asked)
{
    struct account_book *book = &process.settings.accounts;
    char reason[REASON_MAX];
    bool is_new;
    bool ok = account_book_reload(book, reason, sizeof reason, &is_new);
    for (unsigned i = 0; is_new && i < process.settings.node_n; i++)
        loop_wake(&process.nodes[i].loop);
    if (!ok)
        log_write(LOG_ERROR, "accounts not reloaded: keeping the old ones",
                  LOG_S("file", book->path), LOG_S("reason", reason));
    else if (is_new || is_asked)
        log_write(LOG_INFO, "accounts reloaded",
                  LOG_U("accounts", accounts_count(account_book_current(book))));
}

/* Between signals. A former secret ends at its time, whether the file has changed or not. */
static void check_files(struct file_watch *accounts)
{
    if (file_watch_has_changed(accounts) || account_book_is_due(&process.settings.accounts))
        reload_accounts(false);
}

/* Redis could not be asked when the process started. Nodes do not use it before their number of
 * shards is known to be right. */
static void *agree_later(void *arg)
{
    struct shard_map *map = &process.settings.map;
    const struct timespec pause = {.tv_sec = 1};
    char reason[REASON_MAX];
    enum agreed agreed = AGREED_NOT_YET;
    (void)arg;
    while (agreed == AGREED_NOT_YET) {
        nanosleep(&pause, NULL);
        struct shard_map now = *map;
        agreed = agreement_make(&now, true, reason, sizeof reason);
        if (agreed == AGREED &&
            (now.n != map->n || strcmp(now.prefixes[0], map->prefixes[0]) != 0)) {
            agreed = AGREED_REFUSED;
            snprintf(reason, sizeof reason, "the cluster has %llu %s, not %u: restart this process",
                     COUNTED(now.n, "shard"), map->n);
        }
        memcpy(map->id, now.id, sizeof map->id);
    }
    atomic_store(&map->is_agreed, agreed == AGREED);
    if (agreed == AGREED)
        return NULL;
    log_write(LOG_ERROR, "redis now holds another cluster", LOG_S("reason", reason));
    atomic_store(&process.is_refused, true);
    kill(getpid(), SIGTERM);
    return NULL;
}

static void start_agreeing(void)
{
    pthread_t thread;
    if (process.settings.map.is_agreed)
        return;
    if (pthread_create(&thread, NULL, agree_later, NULL) != 0)
        abort();
    pthread_detach(thread);
}

/* The manager is notified of this process while every loop wakes up when it is asked to. */
static void feed_watchdog(void)
{
    static uint64_t next_ms;
    uint64_t now_ms = clock_mono_ms(), within_ms = notify_watchdog_ms();
    if (within_ms == 0 || now_ms < next_ms)
        return;
    for (unsigned i = 0; i < process.settings.node_n; i++)
        if (atomic_load(&process.nodes[i].heard) != atomic_load(&process.asked))
            return;
    notify_manager("WATCHDOG=1");
    next_ms = now_ms + within_ms / WATCHDOG_SHARE;
    atomic_fetch_add(&process.asked, 1);
    for (unsigned i = 0; i < process.settings.node_n; i++)
        loop_wake(&process.nodes[i].loop);
}

/* Somebody has replaced the data while this process ran: it ends, as a new one would. */
static bool has_met_other_data(void)
{
    char reason[DATA_VERSION_TEXT_BYTES];
    unsigned data_version;
    if (!agreement_has_met_other_data(&data_version))
        return false;
    log_write(LOG_ERROR, "redis now holds other data",
              LOG_S("reason", agreement_explain_data(reason, data_version)));
    atomic_store(&process.is_refused, true);
    return true;
}

static void wait_for_signals(const sigset_t *signals)
{
    const struct timespec pause = {.tv_sec = FILES_CHECK_S};
    struct file_watch accounts;
    file_watch_init(&accounts, process.settings.accounts.path);
    for (;;) {
        feed_watchdog();
        int number = sigtimedwait(signals, NULL, &pause);
        if (number < 0) {
            if (has_met_other_data())
                return;
            check_files(&accounts);
            continue;
        }
        if (number != SIGHUP) {
            log_write(LOG_INFO, "draining", LOG_U("signal", number));
            return;
        }
        reload_accounts(true);
        certificate_reload(process.settings.tls);
        services_reload(&process.settings.services);
    }
}

/* Writes what operators see of each node of this process (GET /api/status). */
static void describe(const char *url)
{
    char host[HOST_MAX_BYTES] = "";
    struct buf b = {.at = process.about, .cap = sizeof process.about, .max = sizeof process.about};
    (void)gethostname(host, sizeof host - 1);
    struct str name = str_of(host);
    buf_lit(&b, ",\"address\":");
    buf_put_json(&b, str_of(url));
    buf_lit(&b, ",\"host\":");
    buf_put_json(&b, str_is_utf8(name) ? name : STR(""));
    buf_printf(&b, ",\"pid\":%d", (int)getpid());
    buf_terminate(&b);
    if (b.is_over) /* a path of a socket, all of it escaped */
        process.about[0] = 0;
    process.settings.queue.about = process.about;
}

static int run(void)
{
    struct listening listenings[LISTENERS_MAX] = {{0}};
    sigset_t signals;
    unsigned node_n = process.settings.node_n;
    process.nodes = mem_zeroed_n(node_n, sizeof *process.nodes);
    if (sem_init(&process.ended, 0, 0) != 0)
        abort();
    metrics_process_begin();
    share_files();
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    srand((unsigned)clock_mono_us() ^ (unsigned)getpid());
    if (!redis_check_start(&process.settings.map) ||
        !redis_check_durable(&process.settings.map, process.settings.queue.durable) ||
        !services_check(&process.settings.services) || !listen_all(listenings))
        return 1;
    describe(listenings[0].url);
    for (unsigned i = 0; i < node_n; i++)
        init_node(&process.nodes[i], i);
    for (unsigned i = 0; i < node_n; i++)
        if (pthread_create(&process.nodes[i].thread, NULL, run_node, &process.nodes[i]) != 0)
            abort();
    services_start(&process.settings.services);
    start_agreeing();
    certificate_watch(process.settings.tls);
    bool is_ready = wait_for_redis();
    atomic_store(&process.is_serving, true);
    for (unsigned i = 0; i < node_n; i++)
        loop_wake(&process.nodes[i].loop);
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (listenings[i].address != NULL)
            printf("parley: listening on %s\n", listenings[i].url);
    if (!is_ready)
        say_waiting();
    fflush(stdout);
    notify_manager("READY=1");
    log_write(LOG_INFO, "serving", LOG_S("url", listenings[0].url), LOG_U("threads", node_n),
              LOG_S("version", PARLEY_VERSION));
    wait_for_signals(&signals);
    notify_manager("STOPPING=1");
    for (unsigned i = 0; i < LISTENERS_MAX; i++)
        if (listenings[i].address != NULL)
            listen_remove(listenings[i].address, &listenings[i].place);
    atomic_store(&process.is_draining, true);
    for (unsigned i = 0; i < node_n; i++)
        loop_wake(&process.nodes[i].loop);
    services_stop(&process.settings.services);
    for (unsigned i = 0; i < node_n; i++)
        while (sem_wait(&process.ended) != 0)
            ;
    services_finish(&process.settings.services);
    certificate_end_watch();
    log_write(LOG_INFO, "stopped");
    return atomic_load(&process.is_refused) ? 1 : 0;
}

/* Ends a start if something is wrong with a Redis that answers, such as another number of shards;
 * one that is away does not. */
static int check(void)
{
    if (!redis_check_login(&process.settings.map))
        return 1;
    settings_print(&process.settings);
    return 0;
}

int serve_run(const struct config *config)
{
    int code = 2;
    if (settings_read(&process.settings, config))
        code = process.settings.is_check ? check() : run();
    settings_fini(&process.settings);
    return code;
}
