/* SPDX-License-Identifier: MIT
 * fuzz_base_json.c - json_parse and the writers against each other: what parses is UTF-8, writes as
 * one line and parses to the same value; any UTF-8 text survives being quoted; str_is_utf8 agrees
 * with jansson's own check. */
#include "shared/base/json.h"

#include <stdlib.h>

enum { OUT_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void write_and_read_again(const json_t *value)
{
    char reason[160];
    json_t *again;
    struct buf b;
    buf_init(&b, OUT_MAX);
    buf_put_json_value(&b, value);
    require(!b.is_over && memchr(b.at, '\n', b.n) == NULL);
    require(json_parse(buf_str(&b), reason, sizeof reason, &again));
    require(json_equal(value, again));
    json_decref(again);
    buf_fini(&b);
}

static void quote_and_read_again(struct str text)
{
    char reason[160];
    json_t *again;
    struct buf b;
    buf_init(&b, OUT_MAX);
    buf_put_json(&b, text);
    bool has_nul = text.n > 0 && memchr(text.at, 0, text.n) != NULL;
    require(json_parse(buf_str(&b), reason, sizeof reason, &again) == !has_nul);
    if (!has_nul) {
        require(str_eq(json_str(again), text));
        json_decref(again);
    }
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {size == 0 ? NULL : (const char *)data, size};
    char reason[160];
    json_t *value, *checked = json_stringn(size == 0 ? "" : text.at, text.n);
    require(str_is_utf8(text) == (checked != NULL));
    json_decref(checked);
    if (json_parse(text, reason, sizeof reason, &value)) {
        require(str_is_utf8(text));
        write_and_read_again(value);
        json_decref(value);
    } else {
        require(strlen(reason) < sizeof reason && str_is_utf8(str_of(reason)));
    }
    if (str_is_utf8(text))
        quote_and_read_again(text);
    return 0;
}
