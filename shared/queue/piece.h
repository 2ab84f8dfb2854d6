/* SPDX-License-Identifier: MIT
 *
 * piece: a piece of an unfinished answer, as `partial` stores it (lua/queue/partial.lua) and sends
 * it to the nodes that wait for its query. Pure functions, any thread.
 */
#ifndef PARLEY_QUEUE_PIECE_H
#define PARLEY_QUEUE_PIECE_H

#include "shared/queue/lines.h"

enum { PIECE_ID_BYTES = 48 };

/* A position in what engines say about one query: the number of the claim, from 1, and how many
 * bytes of thoughts and answer together precede it. Zeroed: the start. */
struct piece_id {
    uint64_t claim, offset;
};

/* `<claim>-<offset>`, in `bytes`. */
struct str piece_id_put(struct piece_id id, char bytes[PIECE_ID_BYTES]);
/* Returns false and leaves *ret_id untouched if `text` is not an id. */
bool piece_id_parse(struct str text, struct piece_id *ret_id) must_check;
/* Returns whether `a` precedes `b`. */
bool piece_id_is_before(struct piece_id a, struct piece_id b);

struct piece {
    struct piece_id id; /* of its end */
    bool is_answer;     /* otherwise a thought, or a delta */
    bool is_delta;      /* of a door's answer: JSON on one line, which is never cut */
    struct str text;    /* borrowed */
};

/* Takes the first bytes off, up to `offset`, and what they leave of a character. */
void piece_cut(struct piece *piece, uint64_t offset);
/* Reads the rest of an event `piece`: id, kind, text. Returns false if it is malformed. */
bool piece_read_event(struct lines *rest, struct piece *ret_piece) must_check;
/* Appends it as a reply of `partials` has it. */
void piece_put(struct buf *b, const struct piece *piece);
/* Reads the next piece of a reply of `partials`. Returns false at the end, and if it is
 * malformed. */
bool piece_next(struct lines *pieces, struct piece *ret_piece) must_check;

#endif
