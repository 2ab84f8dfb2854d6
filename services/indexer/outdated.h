/* SPDX-License-Identifier: MIT
 *
 * outdated: compares how a document was indexed with how this Parley would index it: its text, its
 * vectors and the rest of its pack. Pure; any thread.
 */
#ifndef PARLEY_INDEXER_OUTDATED_H
#define PARLEY_INDEXER_OUTDATED_H

#include "shared/embed/embed.h"
#include "shared/extract/extract.h"

/* The fields of doc:<doc> that say how it was indexed; at NULL where it has none. */
struct indexed_by {
    struct str kind, readers, model, dimension, pack_version;
};

struct outdated {
    bool text;  /* more is read of its kind now: its file must be read again */
    bool index; /* its vectors are of another model, or its pack is of an earlier version: both are
                   made again of the stored text */
};

/* `kind` is that of its name now. `dimension` is that of the embedder's vectors, 0 if unknown: any
 * is right then. */
struct outdated outdated_of(const struct indexed_by *by, enum extract_kind kind,
                            const struct embedder *embedder, uint32_t dimension);
/* Were the vectors made by that embedder? */
bool outdated_is_of_model(const struct indexed_by *by, const struct embedder *embedder,
                          uint32_t dimension);

#endif
