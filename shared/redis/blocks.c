/* SPDX-License-Identifier: MIT
 * blocks.c - see blocks.h.
 *
 *   waiting --its turn--> sent --RPUSHX answered--> waiting, for its next block
 *                          |                '-----> ended: that was its last one
 *                          |--the shard moves-----> waiting, with the same block
 *                          '--lost, or refused----> ended with an error; its list goes
 *
 * Replies come in the order of the commands, so those that are sent are a queue. A value that was
 * cancelled leaves its place there empty. RPUSHX answers how many elements the list has: another
 * number says that the list is not the one that was begun, and nothing is built on it.
 *
 * Bytes are copied once, by hiredis, which holds UNDER_WAY_MAX blocks at most: it moves what is
 * left of them after each write, so a long queue there would cost as much as its length squared. */
#include "shared/redis/blocks.h"

#include "shared/base/mem.h"
#include "shared/redis/conn.h"
#include "shared/redis/topology.h"
#include "shared/redis/wire.h"

#include <hiredis/hiredis.h>
#include <stdio.h>

enum {
    UNDER_WAY_MAX = 2,
    ANSWER_MAX_MS = 5000, /* and what a slow network takes */
    BYTES_A_MS = 4096,
    MOVES_EVERY_MS = 100, /* tries while its shard moves (topology.h) */
    HEAD_MAX_BYTES = 4096,
};

struct blocks {
    struct loop *loop;
    const struct redis_address *address;
    struct redis_conn *conn; /* NULL: nothing has needed it */
    bool is_up;
    struct list line; /* struct push: those whose turn is to come, in their order */
    struct push *sent[UNDER_WAY_MAX];
    unsigned sent_at, sent_n;
    struct deadline late; /* while anything waits or is sent: for the next answer */
    struct deadline moves;
    bool is_moving;   /* until `moves`: nothing is sent */
    char reason[240]; /* why the connection is to be made again then, or empty */
    struct buf head;
    struct log_limit limit;
};

/* --- the queue -------------------------------------------------------------------------------- */

static struct push *first_of(const struct blocks *blocks)
{
    return list_first(&blocks->line, struct push, link);
}

static void set_deadline(struct blocks *blocks)
{
    if (list_is_empty(&blocks->line) && blocks->sent_n == 0)
        loop_cancel_deadline(blocks->loop, &blocks->late);
    else
        loop_set_deadline(blocks->loop, &blocks->late,
                          ANSWER_MAX_MS + UNDER_WAY_MAX * BLOCK_BYTES / BYTES_A_MS);
}

static void end(struct push *push, enum err error)
{
    struct blocks *blocks = push->blocks;
    push->blocks = NULL;
    if (error != ERR_OK)
        blocks_drop(blocks, push->key);
    push->on_pushed(push, error);
}

/* --- the connection --------------------------------------------------------------------------- */

static void send_some(struct blocks *blocks);

/* Returns the meaning of a block's answer. */
static enum err error_of(struct push *push, const redisReply *reply)
{
    uint64_t times;
    if (reply == NULL)
        return ERR_REDIS_LOST;
    if (reply->type == REDIS_REPLY_INTEGER)
        return (uint64_t)reply->integer == push->in_list ? ERR_OK : ERR_REDIS_LOST;
    const char *error = reply->type == REDIS_REPLY_ERROR ? reply->str : "unexpected reply";
    if (log_limit_passes(&push->blocks->limit, error, &times))
        log_write(LOG_WARN, "redis refused a block", LOG_S("error", error), LOG_U("times", times));
    return redis_trouble_info(redis_trouble_of(error))->error;
}

/* A block that was refused so was not stored: it is sent again, under the same deadline. */
static bool is_held(struct blocks *blocks, struct push *push, const redisReply *reply)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ERROR ||
        !topology_is_passing(blocks->address, reply->str))
        return false;
    topology_hint(blocks->address, redis_conn_place(blocks->conn), reply->str);
    if (topology_is_elsewhere(blocks->address, reply->str))
        snprintf(blocks->reason, sizeof blocks->reason, "%s", reply->str);
    if (push != NULL) {
        push->rest =
            (struct str){push->rest.at - push->sent_bytes, push->rest.n + push->sent_bytes};
        push->in_list--;
        list_append(&blocks->line, &push->link);
    }
    blocks->is_moving = true;
    loop_set_deadline(blocks->loop, &blocks->moves, MOVES_EVERY_MS);
    return true;
}

static void on_moves(struct deadline *deadline)
{
    struct blocks *blocks = container_of(deadline, struct blocks, moves);
    char reason[sizeof blocks->reason];
    if (blocks->sent_n > 0) {
        loop_set_deadline(blocks->loop, &blocks->moves, MOVES_EVERY_MS);
        return;
    }
    blocks->is_moving = false;
    memcpy(reason, blocks->reason, sizeof reason);
    blocks->reason[0] = 0;
    if (reason[0] != 0)
        redis_conn_reset(blocks->conn, reason); /* on_connect sends */
    else
        send_some(blocks);
}

static void on_reply(void *arg, const redisReply *reply)
{
    struct blocks *blocks = arg;
    struct push *push = blocks->sent[blocks->sent_at];
    blocks->sent_at = (blocks->sent_at + 1) % UNDER_WAY_MAX;
    blocks->sent_n--;
    if (is_held(blocks, push, reply))
        return;
    if (push != NULL) {
        enum err error = error_of(push, reply);
        if (error == ERR_OK && push->rest.n > 0)
            list_append(&blocks->line, &push->link);
        else
            end(push, error);
    }
    send_some(blocks);
    set_deadline(blocks);
}

/* False when the connection does not take it. */
static bool send_block(struct blocks *blocks, struct push *push)
{
    struct str block = {push->rest.at, push->rest.n < BLOCK_BYTES ? push->rest.n : BLOCK_BYTES};
    struct buf *head = &blocks->head;
    buf_clear(head);
    wire_begin(head, 3);
    wire_put(head, STR("RPUSHX"));
    wire_put(head, push->key);
    wire_put_head(head, block.n);
    buf_terminate(head);
    if (redis_conn_send_long(blocks->conn, buf_str(head), block, on_reply, blocks) != ERR_OK)
        return false;
    push->sent_bytes = block.n;
    push->rest = (struct str){push->rest.at + block.n, push->rest.n - block.n};
    push->in_list++;
    blocks->sent[(blocks->sent_at + blocks->sent_n++) % UNDER_WAY_MAX] = push;
    return true;
}

static void send_some(struct blocks *blocks)
{
    struct push *push;
    while (blocks->is_up && !blocks->is_moving && (push = first_of(blocks)) != NULL &&
           blocks->sent_n < UNDER_WAY_MAX) {
        if (!send_block(blocks, push))
            return; /* it is being lost; on_connect comes here again */
        list_remove(&push->link);
    }
}

static void on_connect(void *arg)
{
    struct blocks *blocks = arg;
    blocks->is_up = true;
    send_some(blocks);
}

static void on_lost(void *arg)
{
    ((struct blocks *)arg)->is_up = false;
}

static void fail_waiting(struct blocks *blocks)
{
    struct push *push;
    while ((push = first_of(blocks)) != NULL) {
        list_remove(&push->link);
        end(push, ERR_REDIS_LOST);
    }
}

/* No connection in time, or no answer: those that are sent end with the connection. */
static void on_late(struct deadline *deadline)
{
    struct blocks *blocks = container_of(deadline, struct blocks, late);
    fail_waiting(blocks);
    if (blocks->sent_n > 0)
        redis_conn_reset(blocks->conn, "no answer in time");
    set_deadline(blocks);
}

/* --- values ----------------------------------------------------------------------------------- */

void blocks_push(struct blocks *blocks, struct push *push, struct str key, struct str bytes,
                 push_cb *on_pushed)
{
    bool is_idle = list_is_empty(&blocks->line) && blocks->sent_n == 0;
    if (push->blocks != NULL)
        abort();
    *push = (struct push){
        .blocks = blocks, .key = key, .rest = bytes, .in_list = 1, .on_pushed = on_pushed};
    if (blocks->conn == NULL)
        blocks->conn =
            redis_conn_create(blocks->loop, &(struct redis_conn_config){.address = blocks->address,
                                                                        .name = "parley-blocks",
                                                                        .on_connect = on_connect,
                                                                        .on_lost = on_lost,
                                                                        .arg = blocks});
    list_append(&blocks->line, &push->link);
    if (is_idle)
        set_deadline(blocks);
    send_some(blocks);
}

void blocks_cancel(struct push *push)
{
    struct blocks *blocks = push->blocks;
    if (blocks == NULL)
        return;
    list_remove(&push->link);
    for (unsigned i = 0; i < UNDER_WAY_MAX; i++)
        if (blocks->sent[i] == push)
            blocks->sent[i] = NULL;
    push->blocks = NULL;
    blocks_drop(blocks, push->key);
}

void blocks_drop(struct blocks *blocks, struct str key)
{
    struct str words[] = {STR("UNLINK"), key};
    /* Without a connection its time to live ends it. */
    if (blocks->conn != NULL && redis_conn_command(blocks->conn, NULL, NULL, words, 2) == ERR_OK)
        redis_conn_flush(blocks->conn);
}

struct blocks *blocks_create(struct loop *loop, const struct redis_address *address)
{
    struct blocks *blocks = mem_zeroed(sizeof *blocks);
    blocks->loop = loop;
    blocks->address = address;
    blocks->late.on_expire = on_late;
    blocks->moves.on_expire = on_moves;
    buf_init(&blocks->head, HEAD_MAX_BYTES);
    return blocks;
}

void blocks_destroy(struct blocks *blocks)
{
    if (blocks == NULL)
        return;
    blocks->is_up = false;
    redis_conn_destroy(blocks->conn); /* what is sent ends with ERR_REDIS_LOST */
    blocks->conn = NULL;
    fail_waiting(blocks);
    loop_cancel_deadline(blocks->loop, &blocks->late);
    loop_cancel_deadline(blocks->loop, &blocks->moves);
    buf_fini(&blocks->head);
    free(blocks);
}
