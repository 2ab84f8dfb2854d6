/* SPDX-License-Identifier: MIT
 * indexing_ws.c - GET /ws/indexing: how the indexing of an owner's documents goes, as it goes
 * (lua/documents/watch_indexing.lua). The verb registers this node for the owner's space and lists
 * the recent jobs in one atom, so no event falls between; indexers then publish to the nodes that
 * are registered.
 *
 * Registrations last a minute and are renewed twice in it, one for all sockets of a space. After a
 * lost connection each space is asked for anew, and its sockets get the state of its jobs again. */
#include "services/documents/handlers.h"

#include "services/documents/indexing.h"
#include "shared/http/websocket.h"

#include <stdlib.h>

enum { RENEW_MS = 25000, MESSAGE_MAX = 64 << 10 };

struct indexing_socket {
    struct indexing_socket *next;
    struct indexing_watch *all;
    struct websocket *websocket;
    char *space, *owner; /* the space's name; the owner as JSON */
};

struct indexing_watch {
    struct server *server;
    struct indexing_socket *first;
    struct deadline renew;
};

/* One space asked for anew. */
struct again {
    struct turn_call call;
    struct indexing_watch *all;
    char *space;
};

static char *copy(struct str s)
{
    char *twin = malloc(s.n + 1);
    if (twin == NULL)
        abort();
    memcpy(twin, s.at, s.n);
    twin[s.n] = 0;
    return twin;
}

/* --- messages ----------------------------------------------------------------------------------
 */

struct job_view {
    struct str job, doc, what, stage, progress, message;
    uint64_t at_ms;
};

static void put_message(struct buf *b, const struct job_view *view, const char *owner)
{
    buf_printf(b,
               "{\"type\":\"%.*s\",\"data\":{\"type\":\"%.*s\",\"document_id\":\"%.*s\",\"job_id\":"
               "\"%.*s\","
               "\"user_id\":%s,\"documentId\":\"%.*s\",\"jobId\":\"%.*s\",\"userId\":%s,\"stage\":"
               "\"%.*s\","
               "\"progress\":%.*s,\"message\":",
               STR_ARG(view->what), STR_ARG(view->what), STR_ARG(view->doc), STR_ARG(view->job),
               owner, STR_ARG(view->doc), STR_ARG(view->job), owner, STR_ARG(view->stage),
               STR_ARG(view->progress));
    buf_put(b, view->message.n == 0 ? STR("\"\"") : view->message);
    buf_lit(b, ",\"timestamp\":");
    buf_put_json_ms(b, view->at_ms);
    buf_lit(b, "}}");
}

static void send_job(struct indexing_socket *socket, const struct job_view *view)
{
    struct buf message;
    buf_init(&message, MESSAGE_MAX);
    put_message(&message, view, socket->owner);
    (void)websocket_send(socket->websocket, buf_str(&message));
    buf_fini(&message);
}

/* Jobs as watch_indexing lists them: 8 lines each. */
static void send_jobs(struct indexing_socket *socket, struct lines lines)
{
    uint64_t n = lines_next_u64(&lines);
    for (uint64_t i = 0; i < n; i++) {
        struct job_view view = {.job = lines_next(&lines), .doc = lines_next(&lines)};
        struct str status = lines_next(&lines);
        view.what = str_eq(status, STR("DONE"))     ? STR("index_complete")
                    : str_eq(status, STR("FAILED")) ? STR("index_failed")
                                                    : STR("index_progress");
        view.stage = lines_next(&lines);
        view.progress = lines_next(&lines);
        view.message = lines_next(&lines);
        view.at_ms = lines_next_u64(&lines);
        (void)lines_next(&lines); /* the file's name */
        send_job(socket, &view);
    }
}

void documents_on_event(struct documents *documents, struct str kind, struct lines *rest)
{
    if (!str_eq(kind, STR("indexing")))
        return;
    struct str space = lines_next(rest);
    struct job_view view = {.job = lines_next(rest), .doc = lines_next(rest)};
    view.what = lines_next(rest);
    view.stage = lines_next(rest);
    view.progress = lines_next(rest);
    view.message = lines_next(rest);
    view.at_ms = lines_next_u64(rest);
    for (struct indexing_socket *s = documents->indexing->first; s != NULL; s = s->next)
        if (str_eq(space, str_of(s->space)))
            send_job(s, &view);
}

/* --- registrations -----------------------------------------------------------------------------
 */

/* Is this the first socket of its space in the list? It stands for all of them. */
static bool stands_for_space(const struct indexing_socket *socket)
{
    for (const struct indexing_socket *s = socket->all->first; s != socket; s = s->next)
        if (strcmp(s->space, socket->space) == 0)
            return false;
    return true;
}

static void on_renew(struct deadline *deadline)
{
    struct indexing_watch *all = H2O_STRUCT_FROM_MEMBER(struct indexing_watch, renew, deadline);
    for (struct indexing_socket *s = all->first; s != NULL; s = s->next)
        if (stands_for_space(s)) {
            turn_begin_forget(all->server->turn, LANE_READ, STR("watch_indexing_again"));
            turn_put(all->server->turn, str_of(s->space));
            turn_end(all->server->turn);
        }
    if (all->first != NULL)
        loop_set_deadline(all->server->loop, &all->renew, RENEW_MS);
}

static void on_listed_again(struct turn_call *call, enum err error, struct str reply)
{
    struct again *again = H2O_STRUCT_FROM_MEMBER(struct again, call, call);
    struct lines lines = lines_of(reply);
    if (error == ERR_OK && str_eq(lines_next(&lines), STR("ok")))
        for (struct indexing_socket *s = again->all->first; s != NULL; s = s->next)
            if (strcmp(s->space, again->space) == 0)
                send_jobs(s, lines);
    free(again->space);
    free(again);
}

void documents_on_up(struct documents *documents)
{
    struct indexing_watch *all = documents->indexing;
    for (struct indexing_socket *s = all->first; s != NULL; s = s->next) {
        if (!stands_for_space(s))
            continue;
        struct again *again = malloc(sizeof *again);
        if (again == NULL)
            abort();
        *again = (struct again){
            .call = {.on_reply = on_listed_again}, .all = all, .space = copy(str_of(s->space))};
        turn_begin(all->server->turn, &again->call, LANE_READ, STR("watch_indexing"), NULL);
        turn_put(all->server->turn, str_of(s->space));
        turn_end(all->server->turn);
    }
}

/* --- sockets -----------------------------------------------------------------------------------
 */

static void on_message(struct websocket *websocket, void *arg, struct str text)
{
    (void)websocket, (void)arg, (void)text; /* clients have nothing to say here */
}

static void on_closed(struct websocket *websocket, void *arg, unsigned code)
{
    struct indexing_socket *socket = arg, **link = &socket->all->first;
    bool is_last = true;
    (void)websocket, (void)code;
    while (*link != socket)
        link = &(*link)->next;
    *link = socket->next;
    for (struct indexing_socket *s = socket->all->first; s != NULL && is_last; s = s->next)
        is_last = strcmp(s->space, socket->space) != 0;
    if (is_last) {
        turn_begin_forget(socket->all->server->turn, LANE_READ, STR("unwatch_indexing"));
        turn_put(socket->all->server->turn, str_of(socket->space));
        turn_end(socket->all->server->turn);
    }
    free(socket->space);
    free(socket->owner);
    free(socket);
}

struct asked {
    struct str space;
};

static void on_watched(struct request *r, enum err error, struct str reply)
{
    static const struct websocket_events events = {.on_message = on_message,
                                                   .on_closed = on_closed};
    const struct asked *asked = r->state;
    struct indexing_watch *all = documents_of(r)->indexing;
    struct lines lines = lines_of(reply);
    if (documents_refuse(r, error, lines_next(&lines), &lines))
        return;
    struct indexing_socket *socket = calloc(1, sizeof *socket);
    struct buf owner;
    if (socket == NULL)
        abort();
    socket->websocket = websocket_accept(r, &events, socket);
    if (socket->websocket == NULL) { /* answered */
        free(socket);
        return;
    }
    buf_init(&owner, OWNER_MAX_BYTES * 8);
    buf_put_json_of_name(&owner, (struct str){asked->space.at + 2, asked->space.n - 2});
    socket->all = all;
    socket->space = copy(asked->space);
    socket->owner = copy(buf_str(&owner));
    buf_fini(&owner);
    socket->next = all->first;
    all->first = socket;
    if (!deadline_is_set(&all->renew))
        loop_set_deadline(all->server->loop, &all->renew, RENEW_MS);
    (void)websocket_send(socket->websocket, STR("{\"type\":\"connected\"}"));
    send_jobs(socket, lines);
}

void documents_indexing(struct request *r)
{
    struct str owner;
    struct asked *asked = request_alloc(r, sizeof *asked);
    if (!documents_owner(r, &owner, &asked->space))
        return;
    r->state = asked;
    struct turn *turn = request_begin_verb(r, LANE_READ, STR("watch_indexing"), on_watched);
    turn_put(turn, asked->space);
    turn_end(turn);
}

struct indexing_watch *indexing_watch_create(struct server *server)
{
    struct indexing_watch *all = calloc(1, sizeof *all);
    if (all == NULL)
        abort();
    all->server = server;
    all->renew.on_expire = on_renew;
    return all;
}

void indexing_watch_destroy(struct indexing_watch *all)
{
    if (all == NULL)
        return;
    loop_cancel_deadline(all->server->loop, &all->renew);
    free(all);
}
