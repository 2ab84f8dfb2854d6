/* SPDX-License-Identifier: MIT
 * replies.c - see replies.h. */
#include "shared/redis/replies.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of one reply. The first chunk is small, for most replies are; a longer string has one of
 * its own. */
struct chunk {
    struct chunk *next;
    size_t used, size; /* of `bytes` */
    _Alignas(max_align_t) char bytes[];
};

enum { FIRST_BYTES = 512, MOST_BYTES = 64 << 10, ALIGNMENT = _Alignof(redisReply) };

/* In its own first chunk. */
struct whole_reply {
    struct chunk *chunks; /* the one that has room is first */
    bool is_kept;         /* hiredis does not free it */
    redisReply reply;     /* what belongs to it follows */
};
static_assert(offsetof(struct whole_reply, reply) + sizeof(redisReply) ==
                  sizeof(struct whole_reply),
              "nothing is between a reply and its bytes");

#if HIREDIS_MAJOR < 1
typedef int elements_n;
#else
typedef size_t elements_n;
#endif

static struct chunk *make_chunk(size_t size)
{
    struct chunk *chunk = malloc(sizeof *chunk + size);
    if (chunk != NULL)
        *chunk = (struct chunk){.size = size};
    return chunk;
}

static void *take_from(struct chunk *chunk, size_t n)
{
    void *at = chunk->bytes + chunk->used;
    chunk->used += n;
    return at;
}

/* NULL without memory, as hiredis expects. */
static void *take(struct whole_reply *whole, size_t bytes)
{
    struct chunk *chunk = whole->chunks;
    size_t n = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (n <= chunk->size - chunk->used)
        return take_from(chunk, n);
    size_t next_size = chunk->size < MOST_BYTES ? chunk->size * 2 : MOST_BYTES;
    struct chunk *made = make_chunk(n > next_size ? n : next_size);
    if (made == NULL)
        return NULL;
    if (n > next_size) { /* the other still has room */
        made->next = chunk->next;
        chunk->next = made;
    } else {
        made->next = chunk;
        whole->chunks = made;
    }
    return take_from(made, n);
}

static struct whole_reply *whole_of(redisReply *reply)
{
    return (struct whole_reply *)(void *)((char *)reply - offsetof(struct whole_reply, reply));
}

static redisReply *begin_whole(size_t more)
{
    size_t n = sizeof(struct whole_reply) + more;
    struct chunk *chunk = make_chunk(n > FIRST_BYTES ? n : FIRST_BYTES);
    if (chunk == NULL)
        return NULL;
    struct whole_reply *whole = take_from(chunk, n);
    whole->chunks = chunk;
    whole->is_kept = false;
    return &whole->reply;
}

/* A reply of that type with `more` bytes after it, in its place in the array that it is of. */
static redisReply *make(const redisReadTask *task, size_t more)
{
    const redisReadTask *top = task;
    redisReply *reply;
    more = (more + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    while (top->parent != NULL)
        top = top->parent;
    reply = top == task ? begin_whole(more) : take(whole_of(top->obj), sizeof *reply + more);
    if (reply == NULL)
        return NULL;
    *reply = (redisReply){.type = task->type};
    if (task->parent != NULL)
        ((redisReply *)task->parent->obj)->element[task->idx] = reply;
    return reply;
}

static void *make_string(const redisReadTask *task, char *text, size_t n)
{
    redisReply *reply = make(task, n + 1);
    if (reply == NULL)
        return NULL;
    reply->str = (char *)(reply + 1);
    reply->len = n;
    memcpy(reply->str, text, n);
    reply->str[n] = 0;
    return reply;
}

/* Its elements are set as they come; nobody sees a reply before all are there. */
static void *make_array(const redisReadTask *task, elements_n n)
{
    redisReply *reply = make(task, (size_t)n * sizeof(redisReply *));
    if (reply == NULL)
        return NULL;
    reply->elements = (size_t)n;
    reply->element = (redisReply **)(void *)(reply + 1);
    return reply;
}

/* With its digits as text. */
static void *make_integer(const redisReadTask *task, long long value)
{
    char digits[24];
    redisReply *reply =
        make_string(task, digits, (size_t)snprintf(digits, sizeof digits, "%lld", value));
    if (reply != NULL)
        reply->integer = value;
    return reply;
}

static void *make_nil(const redisReadTask *task)
{
    redisReply *reply = make(task, 0);
    if (reply != NULL)
        reply->type = REDIS_REPLY_NIL; /* the task is to read a string, or an array */
    return reply;
}

static void free_whole(void *reply)
{
    if (reply == NULL || whole_of(reply)->is_kept)
        return;
    for (struct chunk *chunk = whole_of(reply)->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
}

struct redisReply *redis_reply_keep(const struct redisReply *reply)
{
    redisReply *kept = (redisReply *)reply;
    whole_of(kept)->is_kept = true;
    return kept;
}

void redis_reply_free(struct redisReply *reply)
{
    if (reply != NULL)
        whole_of(reply)->is_kept = false;
    free_whole(reply);
}

/* Doubles and booleans are of RESP 3, which nobody here asks for: hiredis refuses them then. */
void redis_replies_pool(struct redisReader *reader)
{
    static redisReplyObjectFunctions functions = {.createString = make_string,
                                                  .createArray = make_array,
                                                  .createInteger = make_integer,
                                                  .createNil = make_nil,
                                                  .freeObject = free_whole};
    reader->fn = &functions;
}
