/* SPDX-License-Identifier: MIT
 *
 * make: creates documents for an index from texts: splits, embeds and packs them. Blocking: for a
 * thread that may wait.
 */
#ifndef PARLEY_CORPUS_MAKE_H
#define PARLEY_CORPUS_MAKE_H

#include "shared/embed/embed.h"
#include "shared/search/index.h"
#include "shared/text/text_pages.h"

struct make_text {
    struct str id, name;     /* the name becomes the title, as JSON */
    struct str text;         /* UTF-8, under 4 GiB; the document keeps a copy */
    struct text_pages pages; /* of the text; borrowed */
};

/* Makes a document of each of the `n` texts, of generation 1. Texts of several documents go to the
 * embedder together. `*dimension` is what the vectors must have, 0 for any, and is set to what they
 * have. Returns false after a log line, without creating anything, if embedding failed or was
 * stopped, or a text has more than PACK_CHUNKS_MAX chunks. The caller owns the documents. */
bool make_documents(const struct make_text *texts, size_t n, struct embedder *embedder,
                    const atomic_bool *is_stopping, uint32_t *dimension,
                    struct rag_document **ret_documents) must_check;

#endif
