/* SPDX-License-Identifier: MIT
 * shown.c - see shown.h. */
#include "shared/queue/shown.h"

#include "generated/verbs.h"
#include "shared/queue/watch.h"

enum {
    SHOWER_BUCKET_N = 1024,
    EVENT_MAX_BYTES = 69 << 10,
    TEXT_MAX_BYTES = 64 << 10, /* of a piece in one event */
    PIECES_PER_CALL = 100,
    BATCH_MAX_BYTES = 8 << 20 /* of a turn; what is lost beyond is read from Redis later */
};

/* Events of this turn for other nodes, each as <node>\n<length>:<event>. */
struct batch {
    struct buf events;
    unsigned n;
};

struct showers {
    struct list buckets[SHOWER_BUCKET_N]; /* struct shower */
    struct batch *batches;                /* of each shard */
};

struct showers *showers_create(void)
{
    struct showers *showers = mem_zeroed(sizeof *showers);
    showers->batches = mem_zeroed_n(SHARDS_MAX, sizeof *showers->batches);
    for (unsigned i = 0; i < SHARDS_MAX; i++)
        buf_init(&showers->batches[i].events, BATCH_MAX_BYTES);
    return showers;
}

void showers_destroy(struct showers *showers)
{
    for (unsigned i = 0; i < SHARDS_MAX; i++)
        buf_fini(&showers->batches[i].events);
    free(showers->batches);
    free(showers);
}

static struct list *bucket_of(struct queue *queue, struct str topic, uint64_t seq)
{
    return &queue->showers->buckets[queue_hash(topic, seq) % SHOWER_BUCKET_N];
}

void queue_show_start(struct queue *queue, struct shower *shower)
{
    list_prepend(bucket_of(queue, shower->topic, shower->seq), &shower->link);
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

static void send_one(struct queue *queue, const struct shower *shower, struct str node,
                     const struct piece *piece)
{
    struct queue_shard *part = queue_part(queue, shower->topic);
    struct batch *batch = &queue->showers->batches[part->number];
    struct buf event;
    buf_init(&event, EVENT_MAX_BYTES);
    put_event(&event, shower, piece);
    if (str_eq(node, str_of(queue->config.node_id))) {
        struct lines lines = lines_of(buf_str(&event));
        watches_on_piece(queue, &lines);
    } else if (!event.is_over && part_is_usable(part)) {
        size_t before = batch->events.n;
        buf_put(&batch->events, node);
        buf_put_char(&batch->events, '\n');
        buf_put_u64(&batch->events, event.n + strlen("piece\n"));
        buf_lit(&batch->events, ":piece\n");
        buf_put(&batch->events, buf_str(&event));
        if (batch->events.is_over)
            batch->events.n = before;
        else
            batch->n++;
    }
    buf_fini(&event);
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

static void flush(struct batch *batch, struct turn *turn)
{
    struct lines rest = lines_of(buf_str(&batch->events));
    while (batch->n > 0) {
        struct verb_writer verb = begin_show_pieces(turn_forget(turn));
        for (unsigned i = 0; i < PIECES_PER_CALL && batch->n > 0; i++, batch->n--) {
            struct str node = lines_next(&rest), event;
            if (!lines_next_part(&rest, &event))
                abort();
            put_show_pieces_piece(&verb, .node = node, .event = event);
        }
        end_verb(&verb);
    }
    buf_clear(&batch->events);
}

void showers_flush(struct queue *queue)
{
    for (unsigned i = 0; i < queue->shards.n; i++)
        if (queue->showers->batches[i].n > 0)
            flush(&queue->showers->batches[i], queue->parts[i].turn);
}
