/* SPDX-License-Identifier: MIT
 * fuzz_lines.c - what the scripts answer: no reply, however short or strange, leads outside of
 * itself, and a claim or an outcome written from what was read reads the same again. */
#include "shared/queue/lines.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *first, *behind;

static void require(bool holds)
{
    if (!holds)
        abort();
}

/* Part of the input, or the empty text that stands for a missing line. */
static void check(struct str s)
{
    require(s.n == 0 || (s.at >= first && s.at + s.n <= behind && memchr(s.at, '\n', s.n) == NULL));
}

static void check_row(const struct query_row *row)
{
    check(row->account);
    check(row->user_name);
    check(row->model_name);
    check(row->user);
    check(row->model);
    check(row->modifiers);
    check(row->trace);
    check(lines_request_id(row));
    check(row->query);
}

static void put_name_as_json(struct str name)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_put_json_of_name(&b, name);
    require(b.n >= 2 && b.at[0] == '"' && b.at[b.n - 1] == '"');
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    first = text.at;
    behind = text.at + size;

    struct lines lines = lines_of(text);
    struct claim claim = lines_next_claim(&lines);
    check(claim.class_name);
    check(claim.topic);
    check(claim.lease);
    for (unsigned i = 0; i < claim.n && lines_are_left(&claim.queries); i++) {
        (void)lines_next_u64(&claim.queries);
        struct query_row row = lines_next_row(&claim.queries);
        check_row(&row);
    }

    lines = lines_of(text);
    struct outcome o = lines_next_outcome(&lines);
    check(o.status);
    check_row(&o.row);
    check(o.answer);
    check(o.think);
    check(o.model);
    check(o.reason);
    check(o.facts);
    require(o.answer.n == 0 || o.reason.n == 0);

    put_name_as_json(claim.topic);

    lines = lines_of(text);
    for (struct str part; lines_next_part(&lines, &part);)
        require(part.at >= first && part.at + part.n <= behind && lines.rest.at > first);
    return 0;
}
