/* SPDX-License-Identifier: MIT
 * publisher.c - see publisher.h.
 *
 *   DOWN --connected: CLIENT REPLY ON--> ASKING --ok: CLIENT REPLY OFF--> QUIET
 *    ^                                     +------- it may not ---------> ANSWERED
 *    +-- lost -- any of them
 *
 * Off is never answered, and on always is: whether this user may do either is asked by the latter.
 * A reply that comes all the same, to a user who lost the right in between, ends the connection. */
#include "shared/redis/publisher.h"

#include "shared/base/buf.h"
#include "shared/base/mem.h"
#include "shared/base/sm.h"
#include "shared/redis/wire.h"

#include <hiredis/hiredis.h>

enum {
    WIRE_MAX_BYTES = PUBLISHER_MAX_BYTES + 1024,
    WAITING_MAX_BYTES = 1 << 20, /* until it is connected */
    CHANNEL_MAX_BYTES = 256
};

enum publisher_state { PUBLISHER_DOWN, PUBLISHER_ASKING, PUBLISHER_QUIET, PUBLISHER_ANSWERED };

static const struct sm_state states[] = {
    [PUBLISHER_DOWN] = {"DOWN", SM(PUBLISHER_ASKING)},
    [PUBLISHER_ASKING] = {"ASKING",
                          SM(PUBLISHER_QUIET) | SM(PUBLISHER_ANSWERED) | SM(PUBLISHER_DOWN)},
    [PUBLISHER_QUIET] = {"QUIET", SM(PUBLISHER_DOWN)},
    [PUBLISHER_ANSWERED] = {"ANSWERED", SM(PUBLISHER_DOWN)},
};
static const struct sm sm = SM_OF("publisher", states);

struct publisher {
    struct redis_conn *conn;
    enum publisher_state state;
    uint64_t number;
    bool is_sharded;
    struct buf channel; /* <prefix>node:<node>; the first `prefix_n` bytes stay */
    size_t prefix_n;
    struct buf wire;
    struct buf waiting; /* commands, until it is connected */
};

static void move(struct publisher *publisher, enum publisher_state to)
{
    publisher->state = sm_move(&sm, publisher->number, publisher->state, to);
}

static bool send_quietly(struct publisher *publisher, struct str wire)
{
    return wire.n == 0 || redis_conn_send_unanswered(publisher->conn, wire) == ERR_OK;
}

static void turn_off(struct publisher *publisher)
{
    struct str off[] = {STR("CLIENT"), STR("REPLY"), STR("OFF")};
    buf_clear(&publisher->wire);
    wire_put_words(&publisher->wire, off, 3);
    if (send_quietly(publisher, buf_str(&publisher->wire)) &&
        send_quietly(publisher, buf_str(&publisher->waiting)))
        move(publisher, PUBLISHER_QUIET);
}

static void on_asked(void *arg, const redisReply *reply)
{
    struct publisher *publisher = arg;
    if (reply == NULL || publisher->state != PUBLISHER_ASKING)
        return;
    if (reply->type == REDIS_REPLY_ERROR)
        move(publisher, PUBLISHER_ANSWERED);
    else
        turn_off(publisher);
    buf_clear(&publisher->waiting);
}

static void on_connect(void *arg)
{
    struct publisher *publisher = arg;
    struct str on[] = {STR("CLIENT"), STR("REPLY"), STR("ON")};
    move(publisher, PUBLISHER_ASKING);
    if (redis_conn_command(publisher->conn, on_asked, publisher, on, 3) == ERR_OK)
        redis_conn_flush(publisher->conn);
}

static void on_lost(void *arg)
{
    move(arg, PUBLISHER_DOWN);
}

struct publisher *publisher_create(struct loop *loop, const struct redis_address *address,
                                   const char *prefix, bool is_sharded)
{
    struct publisher *publisher = mem_zeroed(sizeof *publisher);
    publisher->number = sm_number();
    publisher->is_sharded = is_sharded;
    buf_init(&publisher->channel, CHANNEL_MAX_BYTES);
    buf_put(&publisher->channel, str_of(prefix));
    buf_lit(&publisher->channel, "node:");
    publisher->prefix_n = publisher->channel.n;
    buf_init(&publisher->wire, WIRE_MAX_BYTES);
    buf_init(&publisher->waiting, WAITING_MAX_BYTES);
    publisher->conn = redis_conn_create(loop, &(struct redis_conn_config){.address = address,
                                                                          .name = "parley-shown",
                                                                          .on_connect = on_connect,
                                                                          .on_lost = on_lost,
                                                                          .arg = publisher});
    return publisher;
}

void publisher_destroy(struct publisher *publisher)
{
    if (publisher == NULL)
        return;
    redis_conn_destroy(publisher->conn);
    buf_fini(&publisher->channel);
    buf_fini(&publisher->wire);
    buf_fini(&publisher->waiting);
    free(publisher);
}

static bool keep_waiting(struct publisher *publisher, const struct str *words, size_t n)
{
    size_t before = publisher->waiting.n;
    wire_put_words(&publisher->waiting, words, n);
    bool is_kept = !publisher->waiting.is_over;
    publisher->waiting.is_over = false;
    if (!is_kept)
        publisher->waiting.n = before;
    return is_kept;
}

static bool send_now(struct publisher *publisher, const struct str *words, size_t n)
{
    buf_clear(&publisher->wire);
    wire_put_words(&publisher->wire, words, n);
    if (publisher->wire.is_over ||
        redis_conn_unsent_bytes(publisher->conn) + publisher->wire.n > PUBLISHER_MAX_BYTES)
        return false;
    return publisher->state == PUBLISHER_QUIET
               ? send_quietly(publisher, buf_str(&publisher->wire))
               : redis_conn_command(publisher->conn, NULL, NULL, words, n) == ERR_OK;
}

bool publisher_send(struct publisher *publisher, struct str node, struct str message)
{
    struct buf *channel = &publisher->channel;
    bool is_up = publisher->state == PUBLISHER_QUIET || publisher->state == PUBLISHER_ANSWERED;
    channel->n = publisher->prefix_n;
    buf_put(channel, node);
    struct str words[] = {publisher->is_sharded ? STR("SPUBLISH") : STR("PUBLISH"),
                          buf_str(channel), message};
    return is_up ? send_now(publisher, words, 3) : keep_waiting(publisher, words, 3);
}

void publisher_flush(struct publisher *publisher)
{
    redis_conn_flush(publisher->conn);
}
