/* SPDX-License-Identifier: MIT
 * fuzz_rag_index.c - the index file of a corpus, without its check sum, and embedding responses. */
#include "shared/rag/corpus.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *reason;
    float *vectors;
    uint32_t dimension;
    struct str bytes = {(const char *)data, n};
    struct passages *set = corpus_parse(bytes, &reason);
    size_t total = 0;
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        struct str text = passages_text(set, i);
        for (size_t k = 0; k < text.n; k++)
            total += (unsigned char)text.at[k];
        total += strlen(passages_name(set, i));
    }
    passages_destroy(set);
    if (n > 0 && embed_read_response(bytes, 1 + data[0] % 4, &vectors, &dimension)) {
        total += dimension;
        free(vectors);
    }
    return total == SIZE_MAX;
}
