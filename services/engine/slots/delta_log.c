/* SPDX-License-Identifier: MIT
 * delta_log.c - see delta_log.h. */
#include "services/engine/slots/delta_log.h"

#include "shared/base/mem.h"

#include <stdlib.h>

void delta_log_init(struct delta_log *log)
{
    *log = (struct delta_log){0};
    buf_init(&log->text, DELTAS_MAX_BYTES);
}

void delta_log_fini(struct delta_log *log)
{
    buf_fini(&log->text);
    free(log->ends);
    *log = (struct delta_log){0};
}

void delta_log_clear(struct delta_log *log, uint64_t base)
{
    delta_log_fini(log);
    delta_log_init(log);
    log->base = base;
}

bool delta_log_add(struct delta_log *log, struct str delta)
{
    if (delta.n > DELTAS_MAX_BYTES - log->text.n)
        return false;
    buf_put(&log->text, delta);
    log->ends = mem_grow(log->ends, log->n, sizeof *log->ends);
    log->ends[log->n++] = log->text.n;
    return true;
}

uint64_t delta_log_end(const struct delta_log *log)
{
    return log->base + log->text.n;
}

static size_t start_of(const struct delta_log *log, size_t i)
{
    return i == 0 ? 0 : log->ends[i - 1];
}

/* The number of deltas that end at or before a place in the text. */
static size_t count_before(const struct delta_log *log, size_t at)
{
    size_t low = 0, high = log->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (log->ends[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t delta_log_floor(const struct delta_log *log, uint64_t offset)
{
    if (offset <= log->base)
        return log->base;
    if (offset >= delta_log_end(log))
        return delta_log_end(log);
    return log->base + start_of(log, count_before(log, (size_t)(offset - log->base)));
}

bool delta_log_next(const struct delta_log *log, uint64_t offset, size_t most,
                    struct delta_run *ret_run)
{
    size_t at = (size_t)(delta_log_floor(log, offset) - log->base);
    size_t first = count_before(log, at), end = first;
    while (end < log->n && (end == first || log->ends[end] - at <= most))
        end++;
    if (end == first)
        return false;
    *ret_run = (struct delta_run){.offset = log->base + at,
                                  .first = first,
                                  .n = end - first,
                                  .bytes = log->ends[end - 1] - at};
    return true;
}

void delta_log_put(const struct delta_log *log, const struct delta_run *run, struct buf *b)
{
    buf_put_char(b, '[');
    for (size_t i = run->first; i < run->first + run->n; i++) {
        size_t start = start_of(log, i);
        if (i > run->first)
            buf_put_char(b, ',');
        buf_put_json(b, (struct str){log->text.at + start, log->ends[i] - start});
    }
    buf_put_char(b, ']');
}
