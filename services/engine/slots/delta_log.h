/* SPDX-License-Identifier: MIT
 *
 * delta_log: the output for a client of a door, as JSON texts that stay as they are cut: each is
 * one chunk of the model server. Offsets count the bytes of all texts, and lie between two of them.
 * Pure, single thread, in its owner's storage.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_DELTA_LOG_H
#define PARLEY_SERVICES_ENGINE_SLOTS_DELTA_LOG_H

#include "shared/base/buf.h"

enum { DELTAS_MAX_BYTES = 8 << 20 };

struct delta_log {
    struct buf text;
    size_t *ends; /* of each delta, in `text` */
    size_t n;
    uint64_t base; /* the offset of the first one: before it is what an earlier engine sent */
};

struct delta_run {
    uint64_t offset; /* of the first one */
    size_t first, n; /* which deltas */
    size_t bytes;
};

void delta_log_init(struct delta_log *log);
void delta_log_fini(struct delta_log *log);
void delta_log_clear(struct delta_log *log, uint64_t base);
/* Copies `delta`. Returns false, and adds nothing, if there is no room for it. */
bool delta_log_add(struct delta_log *log, struct str delta) must_check;
/* The offset after the last one. */
uint64_t delta_log_end(const struct delta_log *log);
/* The offset itself, or the start of the delta in which it lies. */
uint64_t delta_log_floor(const struct delta_log *log, uint64_t offset);
/* The deltas from `offset` (a floor) on, at most `most` bytes, but at least one. Returns false if
 * there is none. */
bool delta_log_next(const struct delta_log *log, uint64_t offset, size_t most,
                    struct delta_run *ret_run) must_check;
/* Puts the run as a JSON list of strings. */
void delta_log_put(const struct delta_log *log, const struct delta_run *run, struct buf *b);

#endif
