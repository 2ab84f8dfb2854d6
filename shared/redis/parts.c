/* SPDX-License-Identifier: MIT
 * parts.c - see parts.h. */
#include "shared/redis/parts.h"

enum { MARK = 1 };

/* How many parts follow the element at `at`; 0: it is a text itself. Never more than there are. */
static size_t parts_n(const redisReply *array, size_t at)
{
    const redisReply *first = array->element[at];
    size_t n = 0, most = array->elements - at - 1;
    if (first->type != REDIS_REPLY_STRING || first->len < 2 || first->str[0] != MARK)
        return 0;
    for (size_t i = 1; i < (size_t)first->len && n <= most; i++)
        n = n * 10 + (size_t)(first->str[i] - '0');
    return n < most ? n : most;
}

size_t parts_next(const redisReply *array, size_t at)
{
    return at + 1 + parts_n(array, at);
}

struct str parts_text(const redisReply *array, size_t at, struct buf *joined)
{
    const redisReply *first = at < array->elements ? array->element[at] : NULL;
    size_t n = first == NULL ? 0 : parts_n(array, at);
    if (first == NULL || first->type != REDIS_REPLY_STRING)
        return STR("");
    if (n == 0)
        return (struct str){first->str, (size_t)first->len};
    buf_clear(joined);
    for (size_t i = at + 1; i <= at + n; i++)
        if (array->element[i]->type == REDIS_REPLY_STRING)
            buf_put(joined, (struct str){array->element[i]->str, (size_t)array->element[i]->len});
    return buf_str(joined);
}
