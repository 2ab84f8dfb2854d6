/* SPDX-License-Identifier: MIT
 *
 * draft: the growing text of one answer, and how much of it a node has. Offsets count UTF-8 bytes
 * of all text in the order in which it was written, Think and Answer together, as give-partial
 * does. Since Think and Answer travel as two strings in one request, a request may hold Think text
 * followed by Answer text, never the other way round. For a client of a door, deltas are sent
 * instead of the text, and offsets count them; the text is for the answer alone. Pure, single
 * thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_DRAFT_H
#define PARLEY_SERVICES_ENGINE_SLOTS_DRAFT_H

#include "services/engine/slots/delta_log.h"
#include "shared/base/buf.h"

enum {
    DRAFT_ANSWER_MAX_BYTES = 512 << 10,
    DRAFT_THINK_MAX_BYTES = 128 << 10,
    DRAFT_PIECE_MAX_BYTES = 64 << 10, /* of one give-partial */
};

struct draft_run {
    bool is_answer;
    size_t bytes;
};

struct draft {
    struct buf think, answer;
    struct draft_run *runs; /* who wrote when */
    size_t run_n;
    bool has_deltas; /* they are what is sent */
    struct delta_log deltas;
    uint64_t sent; /* what the node has, as far as we know */
};

struct draft_piece {
    uint64_t offset;
    size_t bytes;
    struct str think, answer; /* borrowed from the draft */
    struct delta_run deltas;  /* in place of both */
};

void draft_init(struct draft *draft);
void draft_fini(struct draft *draft);
void draft_clear(struct draft *draft);
/* From now on deltas are sent; the first one has the offset `base`. The draft is empty. */
void draft_begin_deltas(struct draft *draft, uint64_t base);
/* Adds text. Think past its maximum is dropped; false when Answer is past its own. */
bool draft_add(struct draft *draft, struct str think, struct str answer) must_check;
/* The offset after everything that was added. */
uint64_t draft_end(const struct draft *draft);
/* Returns whether nothing was added that is sent. */
bool draft_is_empty(const struct draft *draft);
/* The next piece that the node lacks; false when it has everything. */
bool draft_next(const struct draft *draft, struct draft_piece *ret_piece) must_check;
/* The node says where it is: after a piece was taken, or instead (a gap). Positions that we
 * never reached count as everything; one within a character or a delta moves to its start. */
void draft_set_sent(struct draft *draft, uint64_t offset);

#endif
