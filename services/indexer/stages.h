/* SPDX-License-Identifier: MIT
 *
 * stages: the steps of a pipeline, one function each, for pipeline.c alone. All return ERR_OK,
 * ERR_FAILED (with the pipeline's `reason`), ERR_DRAINING (the process stops), ERR_LEASE_LOST,
 * ERR_REDIS_LOST or ERR_INTERNAL; PARSE also ERR_FILE_TYPE (with a reason): not on this machine.
 * Blocking, on the pipeline's thread.
 */
#ifndef PARLEY_INDEXER_STAGES_H
#define PARLEY_INDEXER_STAGES_H

#include "services/indexer/stage.h"

/* PARSE: extracts the text of the upload and stores it. */
enum err stage_parse(struct pipeline *p) must_check;
/* In its place where the text is stored already: reads it. */
enum err stage_load_text(struct pipeline *p) must_check;
/* CHUNK: cuts the text. */
enum err stage_chunk(struct pipeline *p) must_check;
/* Before the costly steps: does this indexer's model fit what the space has, and where do the
 * vectors go? (space.c) */
enum err stage_look_at_space(struct pipeline *p) must_check;
/* EMBED: a vector for each chunk. */
enum err stage_embed(struct pipeline *p) must_check;
/* STORE: the new pack takes the old one's place. */
enum err stage_store(struct pipeline *p) must_check;

/* Records that the vectors of a document would not compare with those of its space, which are of
 * `model` and of `dimension` numbers (space.c). Always returns ERR_FAILED. */
enum err stage_refuse_model(struct pipeline *p, struct str model, uint64_t dimension);

#endif
