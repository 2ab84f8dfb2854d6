/* SPDX-License-Identifier: MIT
 * show.c - see show.h. */
#include "services/node/show.h"

#include "generated/verbs.h"
#include "services/node/services.h"
#include "shared/http/websocket/websocket.h"
#include "shared/http/wire/connection.h"
#include "shared/queue/view.h"

#include <limits.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

struct show {
    struct server *server;
    struct queue *queue;
    struct buf rows;
    size_t row_at; /* where the row that is written begins */
    unsigned row_n;
    uint64_t left_n;
};

/* --- rows ------------------------------------------------------------------------------------- */

static void begin_row(struct show *show)
{
    show->row_at = show->rows.n;
    buf_lit(&show->rows, "{\"node\":");
    buf_put_json(&show->rows, str_of(show->server->node_id));
}

/* A row that does not fit is left out whole. */
static void end_row(struct show *show)
{
    buf_lit(&show->rows, "}\n");
    if (!show->rows.is_over && show->row_n < SHOW_ROWS_MAX) {
        show->row_n++;
        return;
    }
    show->rows.n = show->row_at;
    show->rows.is_over = false;
    show->left_n++;
}

static void put_number(struct show *show, const char *name, uint64_t value)
{
    buf_printf(&show->rows, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void put_text(struct show *show, const char *name, struct str value)
{
    buf_printf(&show->rows, ",\"%s\":", name);
    buf_put_json(&show->rows, value);
}

/* Puts a name as it is in keys; "" where there is none. */
static void put_name(struct show *show, const char *name, struct str value)
{
    if (value.n == 0) {
        put_text(show, name, STR(""));
        return;
    }
    buf_printf(&show->rows, ",\"%s\":", name);
    buf_put_json_of_name(&show->rows, value);
}

static uint64_t metric_of(const struct show *show, enum metric metric)
{
    int64_t value =
        atomic_load_explicit(&show->server->metrics->values[metric], memory_order_relaxed);
    return value < 0 ? 0 : (uint64_t)value;
}

/* --- what there is ---------------------------------------------------------------------------- */

static void show_nodes(struct show *show)
{
    char host[HOST_NAME_MAX + 1] = "";
    (void)gethostname(host, sizeof host - 1);
    struct str name = str_of(host);
    begin_row(show);
    put_text(show, "version", STR(PARLEY_VERSION));
    put_text(show, "host", str_is_utf8(name) ? name : STR(""));
    put_number(show, "pid", (uint64_t)getpid());
    put_text(show, "state", show->server->is_draining ? STR("draining") : STR("serving"));
    put_number(show, "requests", show->server->requests.open_n);
    put_number(show, "polls", metric_of(show, METRIC_POLLS_PARKED));
    put_number(show, "watches", metric_of(show, METRIC_CHECKS_PARKED));
    put_number(show, "websockets", show->server->websockets->open_n);
    put_number(show, "calls", shards_pending_n(show->server->shards));
    end_row(show);
}

static void put_poll(void *arg, const struct view_poll *poll)
{
    struct show *show = arg;
    begin_row(show);
    put_name(show, "account", poll->account);
    put_name(show, "engine", poll->engine);
    put_name(show, "models", poll->models);
    put_text(show, "state", poll->is_parked ? STR("parked") : STR("claiming"));
    put_number(show, "waited_ms", poll->waited_ms);
    end_row(show);
}

static void show_polls(struct show *show)
{
    view_polls(show->queue, put_poll, show);
}

static void put_class(void *arg, const struct view_class *class)
{
    struct show *show = arg;
    begin_row(show);
    put_name(show, "account", class->account);
    put_name(show, "models", class->models);
    put_number(show, "parked", class->parked_n);
    put_number(show, "claiming", class->claiming_n);
    put_number(show, "drained", class->is_drained);
    end_row(show);
}

static void show_classes(struct show *show)
{
    view_classes(show->queue, put_class, show);
}

static void put_claim(void *arg, const struct view_claim *claim)
{
    struct show *show = arg;
    begin_row(show);
    put_name(show, "topic", claim->topic);
    put_text(show, "lease", claim->lease);
    put_text(show, "state", claim->is_early ? STR("handed over") : STR("delivered"));
    end_row(show);
}

static void show_claims(struct show *show)
{
    view_claims(show->queue, put_claim, show);
}

static void put_watch(void *arg, const struct view_watch *watch)
{
    struct show *show = arg;
    begin_row(show);
    put_name(show, "topic", watch->topic);
    put_number(show, "seq", watch->seq);
    put_number(show, "waiting", watch->n);
    end_row(show);
}

static void show_watches(struct show *show)
{
    view_watches(show->queue, put_watch, show);
}

static void show_connections(struct show *show)
{
    struct connections_view view = connections_read_view(show->server->wire.connections);
    begin_row(show);
    put_number(show, "open", view.open_n);
    put_number(show, "most", show->server->config->wire.connections_max);
    put_number(show, "idle", view.idle_n);
    put_number(show, "idle_proven", view.idle_authenticated_n);
    put_number(show, "websockets", show->server->websockets->open_n);
    put_number(show, "held_bytes", view.held_bytes);
    put_number(show, "unproven_bytes", view.anonymous_bytes);
    put_number(show, "stream_bytes", view.stream_bytes);
    end_row(show);
}

static void show_verbs(struct show *show)
{
    struct verb_view view;
    for (unsigned i = 0; metrics_read_verb(show->server->metrics, i, &view); i++) {
        if (view.calls == 0)
            continue;
        begin_row(show);
        put_text(show, "verb", view.name);
        put_number(show, "calls", view.calls);
        put_number(show, "errors", view.errors);
        put_number(show, "us", view.took_us);
        put_number(show, "us_per_call", view.took_us / view.calls);
        end_row(show);
    }
}

/* 0 where /proc does not say it. */
static uint64_t rss_bytes(void)
{
    unsigned long long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");
    if (statm == NULL)
        return 0;
    if (fscanf(statm, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(statm);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void show_memory(struct show *show)
{
    struct mallinfo2 heap = mallinfo2();
    begin_row(show);
    put_number(show, "pid", (uint64_t)getpid());
    put_number(show, "rss_bytes", rss_bytes());
    put_number(show, "heap_used_bytes", heap.uordblks + heap.hblkhd);
    put_number(show, "heap_free_bytes", heap.fordblks);
    put_number(show, "body_bytes", metric_of(show, METRIC_BODY_BYTES));
    put_number(show, "unread_bytes", metric_of(show, METRIC_UNREAD_BYTES));
    put_number(show, "index_cache_bytes", metric_of(show, METRIC_INDEX_BYTES));
    put_number(show, "scratch_bytes", show->server->scratch.cap);
    end_row(show);
}

/* --- the event -------------------------------------------------------------------------------- */

static const struct {
    struct str name;
    void (*put)(struct show *show);
} table[] = {
#define ROW(name, text) {STR(#name), show_##name},
    SHOW_TABLE(ROW)
#undef ROW
};

enum { WHAT_NR = sizeof table / sizeof *table, HEAD_MAX_BYTES = 64 };

static unsigned find(struct str what)
{
    unsigned i = 0;
    while (i < WHAT_NR && !str_eq(what, table[i].name))
        i++;
    return i;
}

void show_on_event(struct server *server, struct lines *rest)
{
    unsigned what = find(lines_next(rest));
    struct str ask = lines_next(rest);
    struct show show = {.server = server, .queue = server->services->queue};
    struct buf part;
    if (!turn_is_up(shards_cluster(server->shards)))
        return;
    buf_init(&show.rows, SHOW_PART_MAX_BYTES - HEAD_MAX_BYTES);
    buf_init(&part, SHOW_PART_MAX_BYTES);
    if (what < WHAT_NR)
        table[what].put(&show);
    buf_printf(&part, "%s\n", server->node_id);
    if (what == WHAT_NR)
        buf_lit(&part, SHOW_UNKNOWN);
    else
        buf_put_u64(&part, show.left_n);
    buf_put_char(&part, '\n');
    buf_put(&part, buf_str(&show.rows));
    call_show(shards_forget(server->shards), .ask = ask, .part = buf_str(&part));
    buf_fini(&part);
    buf_fini(&show.rows);
}
