/* SPDX-License-Identifier: MIT
 * shown.c - see shown.h. */
#include "shared/queue/shown.h"

#include "shared/queue/watch.h"
#include "shared/redis/publisher.h"

enum {
    SHOWER_BUCKET_N = 1024,
    EVENT_MAX_BYTES = 69 << 10,
    TEXT_MAX_BYTES = 64 << 10, /* of a piece in one event */
    NODE_MAX_BYTES = 64,
    MESSAGE_MAX_BYTES = 1 << 20, /* to one node in one turn */
    MESSAGES_MAX = 256           /* in one turn: nodes that show something */
};

/* Events of this turn for one other node. */
struct message {
    struct buf node;
    struct buf events; /* <length>:<event> one after the other */
    unsigned event_n;
};

/* To nodes that wait for queries of one shard. */
struct outgoing {
    struct publisher *publisher; /* from the first answer on that is shown */
    struct message *messages;    /* `made_n` of them, the first `n` with events */
    size_t n, made_n;
};

struct showers {
    struct list buckets[SHOWER_BUCKET_N]; /* struct shower */
    struct outgoing *outgoing;            /* of each shard */
    struct buf event;
};

struct showers *showers_create(void)
{
    struct showers *showers = mem_zeroed(sizeof *showers);
    showers->outgoing = mem_zeroed_n(SHARDS_MAX, sizeof *showers->outgoing);
    buf_init(&showers->event, EVENT_MAX_BYTES);
    return showers;
}

static void fini_outgoing(struct outgoing *outgoing)
{
    publisher_destroy(outgoing->publisher);
    for (size_t i = 0; i < outgoing->made_n; i++) {
        buf_fini(&outgoing->messages[i].node);
        buf_fini(&outgoing->messages[i].events);
    }
    free(outgoing->messages);
}

void showers_destroy(struct showers *showers)
{
    for (unsigned i = 0; i < SHARDS_MAX; i++)
        fini_outgoing(&showers->outgoing[i]);
    free(showers->outgoing);
    buf_fini(&showers->event);
    free(showers);
}

static struct list *bucket_of(struct queue *queue, struct str topic, uint64_t seq)
{
    return &queue->showers->buckets[queue_hash(topic, seq) % SHOWER_BUCKET_N];
}

void queue_show_start(struct queue *queue, struct shower *shower)
{
    unsigned number = queue_part(queue, shower->topic)->number;
    struct outgoing *outgoing = &queue->showers->outgoing[number];
    const struct shard_map *map = queue->config.map;
    list_prepend(bucket_of(queue, shower->topic, shower->seq), &shower->link);
    if (outgoing->publisher == NULL)
        outgoing->publisher = publisher_create(queue->loop, shard_server(map, number),
                                               map->prefixes[number], map->n > 1);
}

void queue_show_stop(struct queue *queue, struct shower *shower)
{
    (void)queue;
    list_remove(&shower->link);
}

void showers_on_watched(struct queue *queue, struct lines *rest)
{
    struct str topic = lines_next(rest);
    uint64_t seq = lines_next_u64(rest);
    struct str node = lines_next(rest);
    list_for_each (struct shower, shower, bucket_of(queue, topic, seq), link)
        if (shower->seq == seq && str_eq(shower->topic, topic))
            shower->on_watched(shower, node);
}

/* --- sending ---------------------------------------------------------------------------------- */

/* Puts the event without its first line. */
static void put_event(struct buf *b, const struct shower *shower, const struct piece *piece)
{
    char id[PIECE_ID_BYTES];
    buf_put(b, shower->topic);
    buf_put_char(b, '\n');
    buf_put_u64(b, shower->seq);
    buf_put_char(b, '\n');
    buf_put(b, piece_id_put(piece->id, id));
    buf_put(b, piece->is_answer ? STR("\na\n") : STR("\nt\n"));
    buf_put(b, piece->text);
}

static struct message *message_to(struct outgoing *outgoing, struct str node)
{
    for (size_t i = 0; i < outgoing->n; i++)
        if (str_eq(buf_str(&outgoing->messages[i].node), node))
            return &outgoing->messages[i];
    if (outgoing->n == MESSAGES_MAX)
        return NULL;
    if (outgoing->n == outgoing->made_n) {
        outgoing->messages =
            mem_grow(outgoing->messages, outgoing->made_n, sizeof *outgoing->messages);
        struct message *made = &outgoing->messages[outgoing->made_n++];
        buf_init(&made->node, NODE_MAX_BYTES);
        buf_init(&made->events, MESSAGE_MAX_BYTES);
    }
    struct message *message = &outgoing->messages[outgoing->n++];
    buf_clear(&message->node);
    buf_put(&message->node, node);
    buf_clear(&message->events);
    message->event_n = 0;
    return message;
}

/* Returns false if the message has no room for it. */
static bool add_event(struct message *message, struct str event)
{
    size_t before = message->events.n;
    buf_put_u64(&message->events, event.n + strlen("piece\n"));
    buf_lit(&message->events, ":piece\n");
    buf_put(&message->events, event);
    if (message->events.is_over) {
        message->events.is_over = false;
        message->events.n = before;
        return false;
    }
    message->event_n++;
    return true;
}

static void count_dropped(struct queue *queue, unsigned n)
{
    metrics_add(queue->metrics, METRIC_PIECES_DROPPED, n);
}

static void send_one(struct queue *queue, const struct shower *shower, struct str node,
                     const struct piece *piece)
{
    struct queue_shard *part = queue_part(queue, shower->topic);
    struct buf *event = &queue->showers->event;
    buf_clear(event);
    put_event(event, shower, piece);
    if (str_eq(node, str_of(queue->config.node_id))) {
        struct lines lines = lines_of(buf_str(event));
        watches_on_piece(queue, &lines);
    } else if (!event->is_over && part_is_usable(part)) {
        struct message *message = message_to(&queue->showers->outgoing[part->number], node);
        if (message == NULL || !add_event(message, buf_str(event)))
            count_dropped(queue, 1);
    }
}

/* A long one goes in several. */
void queue_show(struct queue *queue, const struct shower *shower, struct str node,
                const struct piece *piece)
{
    struct str rest = piece->text;
    uint64_t start = piece->id.offset - rest.n;
    while (rest.n > 0) {
        struct piece part = *piece;
        size_t n = rest.n < TEXT_MAX_BYTES ? rest.n : TEXT_MAX_BYTES;
        while (n < rest.n && ((unsigned char)rest.at[n] & 0xC0) == 0x80)
            n--;
        part.text.at = rest.at;
        part.text.n = n;
        part.id.offset = start += n;
        send_one(queue, shower, node, &part);
        rest = (struct str){rest.at + n, rest.n - n};
    }
}

static void flush(struct queue *queue, struct outgoing *outgoing)
{
    for (size_t i = 0; i < outgoing->n; i++) {
        struct message *message = &outgoing->messages[i];
        if (!publisher_send(outgoing->publisher, buf_str(&message->node),
                            buf_str(&message->events)))
            count_dropped(queue, message->event_n);
    }
    outgoing->n = 0;
    publisher_flush(outgoing->publisher);
}

void showers_flush(struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        if (queue->showers->outgoing[i].n > 0)
            flush(queue, &queue->showers->outgoing[i]);
}
