/* SPDX-License-Identifier: MIT
 * fuzz_rag_index.c - the index file of a corpus, without its check sum, and embedding responses.
 * The input stands behind the 16 bytes that every index of this version begins with. */
#include "shared/rag/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { HEAD_BYTES = 16 };

static char head[HEAD_BYTES];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[] = "/tmp/parley-fuzz-XXXXXX";
    struct passages *set = passages_create();
    int fd = mkstemp(path);
    if (fd < 0 || !corpus_save(set, path))
        abort();
    FILE *file = fopen(path, "r");
    if (file == NULL || fread(head, 1, sizeof head, file) != sizeof head)
        abort();
    fclose(file);
    close(fd);
    unlink(path);
    passages_destroy(set);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *reason;
    float *vectors;
    uint32_t dimension;
    char *whole =
        malloc(HEAD_BYTES + n); /* exactly as large as the input: one byte past it shows */
    if (whole == NULL)
        abort();
    memcpy(whole, head, HEAD_BYTES);
    if (n > 0)
        memcpy(whole + HEAD_BYTES, data, n);
    struct passages *set = corpus_parse((struct str){whole, HEAD_BYTES + n}, &reason);
    struct str bytes = {(const char *)data, n};
    size_t total = 0;
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        struct str text = passages_text(set, i);
        for (size_t k = 0; k < text.n; k++)
            total += (unsigned char)text.at[k];
        total += strlen(passages_name(set, i));
    }
    passages_destroy(set);
    free(whole);
    if (n > 0 && embed_read_response(bytes, 1 + data[0] % 4, &vectors, &dimension)) {
        total += dimension;
        free(vectors);
    }
    return total == SIZE_MAX;
}
