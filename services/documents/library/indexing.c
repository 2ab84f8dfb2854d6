/* SPDX-License-Identifier: MIT
 * indexing.c - see indexing.h; GET /ws/indexing.
 *
 *   request -> ASKING --(watch_indexing: this node is registered, state of the jobs)--> upgrade
 *                 ^ an event came meanwhile: look again |      -> connected, the state, events
 *                 +-------------------------------------+
 *
 * A watcher is in its space's list before Redis is asked, so no event is lost between the state and
 * later events. Conversely, an event sent before the state was read may arrive after it: it is sent
 * only if it is not older than that job's state, because otherwise a finished document would appear
 * to be running again.
 *
 * The node's registration as a watcher expires; it is renewed for all spaces at once. After a lost
 * connection every watcher is sent the state again. */
#include "services/documents/library/indexing.h"

#include "generated/verbs.h"
#include "services/documents/handlers.h"
#include "services/documents/library/job_words.h"
#include "shared/http/websocket/websocket.h"

#include "shared/base/mem.h"

enum {
    RENEW_MS = 20000,
    READS_MAX = 5,
    WATCHERS_PER_SPACE = 64,
    JOBS_MAX = 200, /* the maximum that Redis returns for a space */
    FRAME_MAX = 16 << 10,
};

/* A space that somebody watches here. */
struct watched {
    struct list_link link; /* of the node */
    struct list watchers;  /* struct watcher */
    unsigned watcher_n;
    struct str name; /* after the struct */
};

/* The known state of a job: events that are older are not news. */
struct known_job {
    char id[ID_BYTES];
    uint64_t updated_ms;
};

struct watcher {
    struct list_link link; /* of its space */
    struct indexing *indexing;
    struct watched *space;
    struct websocket *websocket; /* NULL: not upgraded yet */
    struct call call;            /* to look again after a lost connection */
    struct known_job *jobs;      /* own memory; NULL: there are none, as for most watchers */
    size_t job_n;
    struct str owner_json; /* own memory */
    unsigned read_n;
    bool is_stale; /* an event came since Redis was asked */
};

struct indexing {
    struct documents *documents;
    struct list spaces; /* struct watched */
    struct deadline renew;
};

/* --- spaces ----------------------------------------------------------------------------------- */

static struct watched *find_space(const struct indexing *indexing, struct str name)
{
    list_for_each (struct watched, space, &indexing->spaces, link)
        if (str_eq(space->name, name))
            return space;
    return NULL;
}

static struct watched *enter_space(struct indexing *indexing, struct str name)
{
    struct watched *space = find_space(indexing, name);
    if (space != NULL)
        return space;
    space = mem_zeroed(sizeof *space + name.n);
    memcpy(space + 1, name.at, name.n);
    space->name = (struct str){(const char *)(space + 1), name.n};
    list_prepend(&indexing->spaces, &space->link);
    return space;
}

static void on_renew(struct deadline *deadline)
{
    struct indexing *indexing = container_of(deadline, struct indexing, renew);
    list_for_each (struct watched, space, &indexing->spaces, link)
        call_watch_indexing_again(shards_forget(indexing->documents->server->shards),
                                  .space = space->name);
    if (!list_is_empty(&indexing->spaces))
        loop_set_deadline(indexing->documents->server->loop, &indexing->renew, RENEW_MS);
}

/* --- watchers --------------------------------------------------------------------------------- */

static struct watcher *new_watcher(struct indexing *indexing, const struct owner *owner)
{
    struct loop *loop = indexing->documents->server->loop;
    struct watcher *watcher = mem_zeroed(sizeof *watcher);
    struct buf json;
    buf_init(&json, OWNER_MAX_BYTES * 8);
    buf_put_json(&json, owner->person.user);
    *watcher = (struct watcher){.indexing = indexing, .owner_json = buf_str(&json)};
    watcher->space = enter_space(indexing, owner->space);
    list_prepend(&watcher->space->watchers, &watcher->link);
    watcher->space->watcher_n++;
    if (!deadline_is_set(&indexing->renew))
        loop_set_deadline(loop, &indexing->renew, RENEW_MS);
    return watcher;
}

static void free_watcher(struct watcher *watcher)
{
    call_detach(&watcher->call);
    free(watcher->jobs);
    free((char *)(uintptr_t)watcher->owner_json.at);
    free(watcher);
}

static void leave(struct watcher *watcher)
{
    struct watched *space = watcher->space;
    list_remove(&watcher->link);
    if (--space->watcher_n == 0) {
        call_unwatch_indexing(shards_forget(watcher->indexing->documents->server->shards),
                              .space = space->name);
        list_remove(&space->link);
        free(space);
    }
    free_watcher(watcher);
}

/* --- frames ----------------------------------------------------------------------------------- */

struct news {
    struct str job, doc, type, stage, progress, message; /* message: JSON, or '' */
    uint64_t ms;
};

static void put_text(struct buf *b, const char *key, struct str text)
{
    buf_printf(b, ",\"%s\":", key);
    buf_put_json(b, text);
}

static void send_news(struct watcher *watcher, const struct news *news)
{
    struct buf *b = &watcher->indexing->documents->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"type\":");
    buf_put_json(b, news->type);
    buf_lit(b, ",\"data\":{\"type\":");
    buf_put_json(b, news->type);
    put_text(b, "document_id", news->doc);
    put_text(b, "job_id", news->job);
    buf_lit(b, ",\"user_id\":");
    buf_put(b, watcher->owner_json);
    put_text(b, "stage", job_stage(news->stage, str_eq(news->type, STR("index_complete"))));
    buf_lit(b, ",\"progress\":");
    buf_put(b, news->progress.n > 0 ? news->progress : STR("0"));
    buf_lit(b, ",\"message\":");
    buf_put(b, news->message.n > 0 ? news->message : STR("\"\""));
    buf_lit(b, ",\"timestamp\":");
    buf_put_json_time(b, news->ms);
    put_text(b, "documentId", news->doc);
    put_text(b, "jobId", news->job);
    buf_lit(b, ",\"userId\":");
    buf_put(b, watcher->owner_json);
    buf_lit(b, "}}");
    if (!b->is_over)
        websocket_send(watcher->websocket, buf_str(b));
}

/* The state of a job in the form of its event. */
static struct str type_of_status(struct str status)
{
    return job_is_indexed(status)          ? STR("index_complete")
           : str_eq(status, STR("FAILED")) ? STR("index_failed")
                                           : STR("index_progress");
}

/* `state`: the reply of watch_indexing after "ok". */
static void send_state(struct watcher *watcher, struct lines *state)
{
    uint64_t n = lines_next_u64(state);
    n = n < JOBS_MAX ? n : JOBS_MAX;
    free(watcher->jobs);
    watcher->jobs = mem_zeroed_n(n, sizeof *watcher->jobs);
    watcher->job_n = 0;
    for (uint64_t i = 0; i < n && lines_are_left(state); i++) {
        struct news news = {.job = lines_next(state), .doc = lines_next(state)};
        struct str status = lines_next(state);
        news.type = type_of_status(status);
        news.stage = lines_next(state);
        news.progress = lines_next(state);
        news.message = lines_next(state);
        news.ms = lines_next_u64(state);
        lines_next(state); /* the file's name */
        if (news.job.n == ID_BYTES) {
            struct known_job *known = &watcher->jobs[watcher->job_n++];
            memcpy(known->id, news.job.at, ID_BYTES);
            known->updated_ms = news.ms;
        }
        send_news(watcher, &news);
    }
}

static bool is_news(const struct watcher *watcher, const struct news *news)
{
    for (size_t i = 0; i < watcher->job_n; i++)
        if (str_eq(news->job, (struct str){watcher->jobs[i].id, ID_BYTES}))
            return news->ms >= watcher->jobs[i].updated_ms;
    return true;
}

void indexing_on_event(struct indexing *indexing, struct lines *rest)
{
    struct watched *space = find_space(indexing, lines_next(rest));
    struct news news = {.job = lines_next(rest), .doc = lines_next(rest)};
    news.type = lines_next(rest);
    news.stage = lines_next(rest);
    news.progress = lines_next(rest);
    news.message = lines_next(rest);
    news.ms = lines_next_u64(rest);
    if (space == NULL)
        return;
    list_for_each (struct watcher, watcher, &space->watchers, link) {
        watcher->is_stale = true;
        if (watcher->websocket != NULL && is_news(watcher, &news))
            send_news(watcher, &news);
    }
}

/* --- after a lost connection ------------------------------------------------------------------ */

static void on_reread(struct call *call, enum err error, struct str reply)
{
    struct watcher *watcher = container_of(call, struct watcher, call);
    struct lines lines = lines_of(reply);
    if (error == ERR_OK && str_eq(lines_next(&lines), STR("ok")))
        send_state(watcher, &lines);
}

void indexing_on_up(struct indexing *indexing, unsigned shard)
{
    struct shards *shards = indexing->documents->server->shards;
    list_for_each (struct watched, space, &indexing->spaces, link)
        list_for_each (struct watcher, watcher, &space->watchers, link) {
            if (shards_turn(shards, space->name) != shards->turns[shard])
                break;
            if (watcher->websocket == NULL || call_is_under_way(&watcher->call))
                continue; /* is asked by its request, or was just now */
            call_watch_indexing(shards_call(shards, &watcher->call, on_reread),
                                .space = space->name);
        }
}

/* --- the route -------------------------------------------------------------------------------- */

static void on_message(struct websocket *websocket, void *arg, struct str text)
{
    (void)websocket, (void)arg, (void)text; /* there is nothing to be said here */
}

static void on_closed(struct websocket *websocket, void *arg, unsigned code)
{
    (void)websocket, (void)code;
    leave(arg);
}

static void on_gone(struct request *r)
{
    leave(r->state);
}

static void ask(struct request *r);

static void on_state(struct request *r, enum err error, struct str reply)
{
    static const struct websocket_events events = {.on_message = on_message,
                                                   .on_closed = on_closed};
    struct watcher *watcher = r->state;
    struct lines lines = lines_of(reply);
    if (reply_refuse(r, error, lines_next(&lines), &lines))
        return; /* on_gone follows */
    if (watcher->is_stale && watcher->read_n < READS_MAX) {
        ask(r);
        return;
    }
    struct websocket *websocket = websocket_accept(r, &events, watcher);
    if (websocket == NULL)
        return;
    r->on_gone = NULL; /* the socket's from here on */
    watcher->websocket = websocket;
    websocket_send(websocket, STR("{\"type\":\"connected\"}"));
    send_state(watcher, &lines);
}

static void ask(struct request *r)
{
    struct watcher *watcher = r->state;
    watcher->is_stale = false;
    watcher->read_n++;
    call_watch_indexing(request_call(r, on_state), .space = watcher->space->name);
}

void documents_watch(struct request *r)
{
    struct indexing *indexing = documents_of(r)->indexing;
    struct owner owner;
    if (!owner_of_request(r, &owner))
        return;
    const struct watched *space = find_space(indexing, owner.space);
    if (space != NULL && space->watcher_n >= WATCHERS_PER_SPACE) {
        respond_error(r, ERR_RATE_LIMITED, "Too many connections already watch these documents.");
        return;
    }
    r->state = new_watcher(indexing, &owner);
    r->on_gone = on_gone;
    ask(r);
}

/* --- life ------------------------------------------------------------------------------------- */

struct indexing *indexing_create(struct documents *documents)
{
    struct indexing *indexing = mem_zeroed(sizeof *indexing);
    indexing->documents = documents;
    indexing->renew.on_expire = on_renew;
    return indexing;
}

void indexing_destroy(struct indexing *indexing)
{
    if (indexing == NULL)
        return;
    list_for_each (struct watched, space, &indexing->spaces, link) {
        list_for_each (struct watcher, watcher, &space->watchers, link)
            free_watcher(watcher);
        free(space);
    }
    loop_cancel_deadline(indexing->documents->server->loop, &indexing->renew);
    free(indexing);
}
