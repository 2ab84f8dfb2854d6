/* SPDX-License-Identifier: MIT
 * vectors.c - see vectors.h. Some model servers send numbers whatever
 * they are asked for; a client that decodes base64 would read a quarter of the vector. */
#include "services/openai/vectors.h"

#include <openssl/evp.h>
#include <stdlib.h>

enum { FLOATS_MAX = 1 << 16, NUMBER_MAX_BYTES = 64 };

static void put_float_bytes(struct buf *b, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    for (unsigned i = 0; i < 4; i++)
        buf_put_char(b, (char)(bits >> (8 * i) & 0xff));
}

static float float_of(const unsigned char *bytes)
{
    uint32_t bits = 0;
    float number;
    for (unsigned i = 0; i < 4; i++)
        bits |= (uint32_t)bytes[i] << (8 * i);
    memcpy(&number, &bits, sizeof number);
    return number;
}

static void put_base64(struct buf *b, const struct json_span *list)
{
    struct json_span item;
    struct buf bytes;
    char number[NUMBER_MAX_BYTES + 1];
    buf_init(&bytes, 4 * FLOATS_MAX);
    for (struct str rest = json_list_inside(list); json_next_item(&rest, &item);) {
        size_t n = item.raw.n < NUMBER_MAX_BYTES ? item.raw.n : NUMBER_MAX_BYTES;
        memcpy(number, item.raw.at, n);
        number[n] = 0;
        put_float_bytes(&bytes, item.kind == JSON_SPAN_NUMBER ? strtof(number, NULL) : 0);
    }
    buf_put_char(b, '"');
    char *at = buf_reserve(b, (bytes.n + 2) / 3 * 4 + 1);
    if (at != NULL && bytes.n > 0)
        b->n += (size_t)EVP_EncodeBlock((unsigned char *)at, (const unsigned char *)bytes.at,
                                        (int)bytes.n);
    buf_put_char(b, '"');
    buf_fini(&bytes);
}

static void put_floats(struct buf *b, struct str base64)
{
    struct buf bytes;
    buf_init(&bytes, 4 * FLOATS_MAX + 4);
    unsigned char *at = (unsigned char *)buf_reserve(&bytes, base64.n / 4 * 3 + 1);
    int n = at == NULL || base64.n % 4 != 0
                ? 0
                : EVP_DecodeBlock(at, (const unsigned char *)base64.at, (int)base64.n);
    buf_put_char(b, '[');
    for (int i = 0; i + 4 <= n; i += 4)
        buf_printf(b, i == 0 ? "%.9g" : ",%.9g", (double)float_of(at + i));
    buf_put_char(b, ']');
    buf_fini(&bytes);
}

static bool put_vector(struct buf *b, const struct json_span *vector, bool is_base64)
{
    if (vector == NULL || (vector->kind != JSON_SPAN_LIST && vector->kind != JSON_SPAN_TEXT))
        return false;
    if (is_base64 == (vector->kind == JSON_SPAN_TEXT))
        members_put_span(b, vector);
    else if (is_base64)
        put_base64(b, vector);
    else
        put_floats(b, vector->raw);
    return true;
}

size_t vectors_put(struct buf *b, struct str items, bool is_base64)
{
    struct members members;
    struct json_span item;
    size_t count = 0;
    while (json_next_item(&items, &item)) {
        size_t start = b->n;
        if (!members_read(&members, item.raw))
            continue;
        buf_printf(
            b, "%s{\"object\":\"embedding\",\"index\":%llu,\"embedding\":", count == 0 ? "" : ",",
            (unsigned long long)members_u64(&members, "index", count));
        if (!put_vector(b, members_get(&members, "embedding"), is_base64)) {
            b->n = start;
            continue;
        }
        buf_put_char(b, '}');
        count++;
    }
    return count;
}
