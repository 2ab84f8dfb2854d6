/* SPDX-License-Identifier: MIT
 * fuzz_bench_response.c - what `parley bench` reads from a node: a response or a chunk never
 * reaches past its bytes, one that is cut short is never taken for whole, and a member found in
 * valid JSON is valid JSON itself. */
#include "services/bench/response.h"
#include "shared/base/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static enum bench_response_outcome parse_copy(const uint8_t *data, size_t size, char **ret_copy,
                                              struct bench_response *ret_response)
{
    *ret_copy = malloc(size + 1); /* of its own, so that a read past its end is seen */
    *ret_copy = realloc(*ret_copy, size > 0 ? size : 1);
    if (size > 0)
        memcpy(*ret_copy, data, size);
    return bench_response_parse(*ret_copy, size, ret_response);
}

static void check_http(const uint8_t *data, size_t size)
{
    char *copy;
    struct bench_response response;
    if (parse_copy(data, size, &copy, &response) == BENCH_RESPONSE_WHOLE) {
        require(response.size <= size && response.body.n <= response.size);
        require(response.body.at >= copy && response.body.at + response.body.n <= copy + size);
        size_t whole = response.size;
        free(copy);
        /* It ends where it says: one byte less is not whole, more bytes change nothing. */
        require(parse_copy(data, whole - 1, &copy, &response) != BENCH_RESPONSE_WHOLE);
        free(copy);
        require(parse_copy(data, whole, &copy, &response) == BENCH_RESPONSE_WHOLE);
        require(response.size == whole);
    }
    free(copy);
}

static void check_chunk(const uint8_t *data, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1);
    struct str part;
    size_t taken, shorter;
    if (size > 0)
        memcpy(copy, data, size);
    require(bench_response_stream_head(copy, size) <= size);
    if (bench_response_chunk(copy, size, &part, &taken) == BENCH_RESPONSE_WHOLE) {
        require(taken <= size && part.at >= copy && part.at + part.n <= copy + taken);
        require(bench_response_chunk(copy, taken - 1, &part, &shorter) != BENCH_RESPONSE_WHOLE);
    }
    free(copy);
}

static void check_value(struct str raw)
{
    char reason[160];
    json_t *value;
    require(json_parse(raw, reason, sizeof reason, &value));
    json_decref(value);
}

static void check_json(struct str text)
{
    char reason[160];
    json_t *whole = NULL;
    bool is_json = json_parse(text, reason, sizeof reason, &whole);
    struct str value, name, rest = text, element;
    if (bench_json_member(text, STR("Topic"), &value) && is_json)
        check_value(value);
    if (bench_json_first_member(text, &name, &value) && is_json) {
        check_value(name);
        check_value(value);
    }
    if (is_json && json_is_object(whole))
        require(bench_json_first_member(text, &name, &value) == (json_object_size(whole) > 0));
    size_t n = 0;
    if (bench_json_enter_array(&rest)) {
        for (; (element = bench_json_next(&rest)).at != NULL; n++)
            if (is_json)
                check_value(element);
        if (is_json)
            require(n == json_array_size(whole));
    }
    json_decref(whole);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_http(data, size);
    check_chunk(data, size);
    check_json((struct str){size == 0 ? "" : (const char *)data, size});
    return 0;
}
