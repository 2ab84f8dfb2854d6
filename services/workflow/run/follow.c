/* SPDX-License-Identifier: MIT
 * follow.c - sends each frame to the sockets that follow its session (see socket.h). A frame comes
 * as an event with its number. The next one in order is sent; one that was sent before is dropped;
 * at a gap, after a lost connection and at a resume, frames are read from Redis, a page at a time,
 * and the next page only when the client has read the one before. */
#include "services/workflow/run/socket.h"

#include "generated/verbs.h"
#include "shared/queue/lines.h"

#include "shared/base/mem.h"

enum { RENEW_MS = 20000 };

/* --- sessions --------------------------------------------------------------------------------- */

/* A session's id is a digest: any of its bits are as good as others. */
static struct list *bucket_of(struct sockets *sockets, struct str session)
{
    unsigned char bytes[2] = {0};
    if (session.n < 4 || !str_unhex((struct str){session.at, 4}, bytes))
        return &sockets->buckets[0];
    return &sockets->buckets[(bytes[0] << 8 | bytes[1]) % SOCKETS_BUCKETS];
}

static struct watched *find_watched(struct sockets *sockets, struct str session)
{
    list_for_each (struct watched, watched, bucket_of(sockets, session), link)
        if (str_eq(str_of(watched->session), session))
            return watched;
    return NULL;
}

static struct watched *enter(struct sockets *sockets, struct str session)
{
    struct watched *watched = find_watched(sockets, session);
    if (watched != NULL)
        return watched;
    watched = mem_zeroed(sizeof *watched);
    memcpy(watched->session, session.at, WORKFLOW_SID_BYTES);
    list_prepend(bucket_of(sockets, session), &watched->link);
    return watched;
}

/* Redis hears that nobody follows a session only some time after the last one has left, and the
 * session is forgotten some time after that: a new follower may come at any moment. */
static void renew(struct sockets *sockets, struct watched *watched)
{
    struct shards *shards = sockets->workflow->server->shards;
    if (!list_is_empty(&watched->followers)) {
        call_workflow_watch_again(shards_forget(shards), .session = str_of(watched->session));
    } else if (!watched->is_left) {
        watched->is_left = true;
        call_workflow_unwatch(shards_forget(shards), .session = str_of(watched->session));
    } else {
        list_remove(&watched->link);
        free(watched);
    }
}

static void on_renew(struct deadline *deadline)
{
    struct sockets *sockets = container_of(deadline, struct sockets, renew);
    for (unsigned i = 0; i < SOCKETS_BUCKETS; i++)
        list_for_each (struct watched, watched, &sockets->buckets[i], link)
            renew(sockets, watched);
    list_for_each (struct socket, socket, &sockets->list, link)
        follower_catch_up(socket);
    loop_set_deadline(sockets->workflow->server->loop, &sockets->renew, RENEW_MS);
}

/* --- followers -------------------------------------------------------------------------------- */

struct follower *follower_find(const struct socket *socket, struct str session, uint64_t run)
{
    list_for_each (struct follower, f, &socket->followers, link)
        if (f->run == run && str_eq(str_of(f->watched->session), session))
            return f;
    return NULL;
}

struct follower *follower_find_request(const struct socket *socket, struct str request_id)
{
    list_for_each (struct follower, f, &socket->followers, link)
        if (str_eq(str_of(f->request_id), request_id))
            return f;
    return NULL;
}

void follower_stop(struct follower *f)
{
    struct socket *socket = f->socket;
    if (socket->reader == f) {
        call_detach(&socket->reading);
        socket->reader = NULL;
    }
    list_remove(&f->session_link);
    list_remove(&f->link);
    socket->follower_n--;
    free(f);
}

bool follower_start(struct socket *socket, struct str session, uint64_t run, struct str request_id,
                    uint64_t since, bool is_behind)
{
    struct follower *f = follower_find(socket, session, run);
    if (f != NULL)
        follower_stop(f);
    else if (socket->follower_n >= SOCKET_FOLLOWS_MAX)
        return false;
    f = mem_zeroed(sizeof *f + request_id.n + 1);
    memcpy(f->request_id, request_id.at, request_id.n);
    f->socket = socket;
    f->run = run;
    f->last_seq = since;
    f->watched = enter(socket->all, session);
    list_prepend(&f->watched->followers, &f->session_link);
    list_prepend(&socket->followers, &f->link);
    socket->follower_n++;
    /* Redis may hear that we left after what made us watch, in the same turn. */
    f->is_behind = is_behind || f->watched->is_left;
    f->watched->is_left = false;
    follower_catch_up(socket);
    return true;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The next one of its run; true: the last one. */
static bool send_frame(struct follower *f, struct str frame)
{
    enum envelope_end end = envelope_end_of(frame);
    f->last_seq++;
    f->is_waiting = end == ENVELOPE_WAITS;
    websocket_send(f->socket->websocket, frame);
    return end == ENVELOPE_OVER;
}

void sockets_on_event(struct sockets *sockets, struct lines *rest)
{
    const struct watched *watched = find_watched(sockets, lines_next(rest));
    uint64_t run = lines_next_u64(rest), seq = lines_next_u64(rest);
    if (watched == NULL)
        return;
    list_for_each (struct follower, f, &watched->followers, session_link) {
        if (f->run != run || seq <= f->last_seq)
            continue;
        if (seq > f->newest_seq)
            f->newest_seq = seq;
        if (f->is_behind)
            continue;
        if (seq == f->last_seq + 1) {
            if (send_frame(f, rest->rest))
                follower_stop(f);
        } else {
            f->is_behind = true;
            follower_catch_up(f->socket);
        }
    }
}

static bool is_over(struct str status)
{
    return str_is_listed(STR("done,rejected,expired,failed"), status);
}

/* A page as workflow_watch returns it, after "ok". Returns whether it had frames. An event that
 * came since it was asked for says that there are more. */
static bool send_page(struct follower *f, struct lines *page)
{
    lines_next(page); /* the run */
    bool is_at_end = is_over(lines_next(page));
    uint64_t first_seq = f->last_seq, last_seq = lines_next_u64(page);
    bool has_more = lines_next_u64(page) == 1;
    while (f->last_seq < last_seq && lines_are_left(page))
        send_frame(f, lines_next(page));
    bool has_frames = f->last_seq > first_seq;
    f->is_behind = has_frames && (has_more || f->newest_seq > f->last_seq);
    if (is_at_end && !f->is_behind)
        follower_stop(f);
    return has_frames;
}

static void on_read(struct call *call, enum err error, struct str reply)
{
    struct socket *socket = container_of(call, struct socket, reading);
    struct follower *f = socket->reader;
    struct lines lines = lines_of(reply);
    socket->reader = NULL;
    if (error != ERR_OK)
        return; /* it stays behind until Redis is back, or until the next round */
    if (!str_eq(lines_next(&lines), STR("ok")))
        follower_stop(f); /* its user was deleted */
    else if (send_page(f, &lines))
        return; /* once the client has read it, sockets continue (on_idle) */
    follower_catch_up(socket);
}

static struct follower *first_behind(const struct socket *socket)
{
    list_for_each (struct follower, f, &socket->followers, link)
        if (f->is_behind)
            return f;
    return NULL;
}

void follower_catch_up(struct socket *socket)
{
    if (socket->reader != NULL || socket->state == SOCKET_CLOSED)
        return;
    struct follower *f = first_behind(socket);
    if (f == NULL)
        return;
    socket->reader = f;
    call_workflow_watch(
        shards_call(socket->all->workflow->server->shards, &socket->reading, on_read),
        .session = str_of(f->watched->session), .request_id = str_of(f->request_id),
        .since = f->last_seq);
}

void sockets_on_up(struct sockets *sockets, unsigned shard)
{
    struct shards *shards = sockets->workflow->server->shards;
    list_for_each (struct socket, socket, &sockets->list, link) {
        list_for_each (struct follower, f, &socket->followers, link)
            if (shards_turn(shards, str_of(f->watched->session)) == shards->turns[shard])
                f->is_behind = true;
        follower_catch_up(socket);
    }
}

/* --- life ------------------------------------------------------------------------------------- */

void follower_init(struct sockets *sockets)
{
    sockets->renew.on_expire = on_renew;
    loop_set_deadline(sockets->workflow->server->loop, &sockets->renew, RENEW_MS);
}

void follower_fini(struct sockets *sockets)
{
    loop_cancel_deadline(sockets->workflow->server->loop, &sockets->renew);
    for (unsigned i = 0; i < SOCKETS_BUCKETS; i++)
        list_for_each (struct watched, watched, &sockets->buckets[i], link)
            free(watched);
}
