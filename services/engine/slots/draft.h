/* SPDX-License-Identifier: MIT
 *
 * draft: the growing text of one answer, and how much of it a node has. Offsets count UTF-8 bytes
 * of all text in the order in which it was written, Think and Answer together, as give-partial
 * does. Since Think and Answer travel as two strings in one request, a request may hold Think text
 * followed by Answer text, never the other way round. Pure, single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_DRAFT_H
#define PARLEY_SERVICES_ENGINE_SLOTS_DRAFT_H

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
    uint64_t sent; /* what the node has, as far as we know */
};

struct draft_piece {
    uint64_t offset;
    struct str think, answer; /* borrowed from the draft */
};

void draft_init(struct draft *draft);
void draft_fini(struct draft *draft);
void draft_clear(struct draft *draft);
/* Adds text. Think past its maximum is dropped; false when Answer is past its own. */
bool draft_add(struct draft *draft, struct str think, struct str answer) must_check;
/* All the text there is, in bytes. */
uint64_t draft_bytes(const struct draft *draft);
/* The next piece that the node lacks; false when it has everything. */
bool draft_next(const struct draft *draft, struct draft_piece *ret_piece) must_check;
/* The node says where it is: after a piece was taken, or instead (a gap). Positions that we
 * never reached count as everything; one within a character moves to its start. */
void draft_set_sent(struct draft *draft, uint64_t offset);

#endif
