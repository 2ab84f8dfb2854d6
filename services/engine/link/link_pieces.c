/* SPDX-License-Identifier: MIT
 * link_pieces.c - pieces of text over an engine's socket, and what the node says of them. */
#include "services/engine/link/link_socket_internal.h"

#include "shared/base/mem.h"

enum { LEASE_MAX_BYTES = 32 };

/* Hears what becomes of the text of one claim: of the query that it is writing for. */
struct piece_listener {
    struct list_link at;
    char lease[LEASE_MAX_BYTES];
    uint64_t seq;
    link_callback callback;
    void *context;
};

static void copy_lease(const json_t *lease, char room[LEASE_MAX_BYTES])
{
    struct buf b;
    buf_init(&b, LEASE_MAX_BYTES);
    if (json_is_string(lease))
        buf_put(&b, json_str(lease));
    else if (lease != NULL)
        buf_put_json_value(&b, lease);
    size_t n = b.is_over || b.n >= LEASE_MAX_BYTES ? 0 : b.n;
    memcpy(room, b.at == NULL ? "" : b.at, n);
    room[n] = 0;
    buf_fini(&b);
}

static struct piece_listener *find_listener(struct link_socket *s, const void *context)
{
    list_for_each (struct piece_listener, listener, &s->pieces, at)
        if (listener->context == context)
            return listener;
    return NULL;
}

bool link_send_piece(struct link *link, const json_t *lease, uint64_t seq, struct str body,
                     link_callback callback, void *context)
{
    struct link_socket *s = link->socket;
    struct buf b;
    if (s == NULL || s->state != SOCKET_OPEN)
        return false;
    struct piece_listener *listener = find_listener(s, context);
    if (listener == NULL) {
        listener = mem_zeroed(sizeof *listener);
        listener->context = context;
        list_append(&s->pieces, &listener->at);
    }
    listener->callback = callback;
    listener->seq = seq;
    copy_lease(lease, listener->lease);
    buf_init(&b, SOCKET_FRAME_MAX_BYTES);
    buf_lit(&b, "{\"Type\":\"partial\",");
    buf_put(&b, (struct str){body.at + 1, body.n - 1});
    websocket_client_send(s->client, buf_str(&b));
    buf_fini(&b);
    return true;
}

static void remove_listener(struct piece_listener *listener)
{
    list_remove(&listener->at);
    free(listener);
}

void link_end_pieces(struct link *link, const void *context)
{
    struct piece_listener *listener =
        link->socket == NULL ? NULL : find_listener(link->socket, context);
    if (listener != NULL)
        remove_listener(listener);
}

/* A listener may end itself or others. */
void link_socket_lose_pieces(struct link_socket *s, const struct link_reply *reply)
{
    struct piece_listener *listener;
    while ((listener = list_first(&s->pieces, struct piece_listener, at)) != NULL) {
        struct piece_listener lost = *listener;
        remove_listener(listener);
        lost.callback(lost.context, reply);
    }
}

void link_socket_on_piece(struct link_socket *s, const json_t *frame,
                          const struct link_reply *reply)
{
    char lease[LEASE_MAX_BYTES];
    uint64_t seq = (uint64_t)json_integer_value(json_object_get(frame, "Seq"));
    copy_lease(json_object_get(frame, "Lease"), lease);
    list_for_each (struct piece_listener, listener, &s->pieces, at)
        if (listener->seq == seq && lease[0] != 0 && strcmp(listener->lease, lease) == 0) {
            listener->callback(listener->context, reply);
            return;
        }
}
