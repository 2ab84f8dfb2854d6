/* SPDX-License-Identifier: MIT
 * fuzz_rag_index.c - the index file of a corpus, without its check sum, and embedding responses.
 * The input is a list of changes to a sound index: two bytes say where it is cut off, then three
 * bytes each say which byte becomes what. */
#include "shared/rag/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { INDEX_MAX_BYTES = 1 << 16 };

static unsigned char index_bytes[INDEX_MAX_BYTES];
static size_t index_n;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void make_index(const char *path)
{
    static char *const texts[] = {"A lease ends.", "Bananas grow in the tropics.\n\nAll year."};
    struct embedder *embedder = embed_create_hash();
    struct passages *set = passages_create();
    for (size_t i = 0; i < 2; i++) {
        struct passage_document document = {
            .name = i == 0 ? "a.md" : "b/c.md", .text = texts[i], .text_bytes = strlen(texts[i])};
        if (!passages_add(set, &document))
            abort();
    }
    if (!passages_finish(set, 0, embedder, NULL) || !corpus_save(set, path))
        abort();
    passages_destroy(set);
    embed_destroy(embedder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char path[] = "/tmp/parley-fuzz-XXXXXX";
    int fd = mkstemp(path);
    if (fd < 0)
        abort();
    make_index(path);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        abort();
    index_n = fread(index_bytes, 1, sizeof index_bytes, file) - PASSAGES_SHA_BYTES;
    fclose(file);
    close(fd);
    unlink(path);
    return 0;
}

static void try_index(struct str bytes)
{
    const char *reason;
    struct passages *set = corpus_parse(bytes, &reason);
    size_t total = 0;
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        struct str text = passages_text(set, i);
        for (size_t k = 0; k < text.n; k++)
            total += (unsigned char)text.at[k];
        total += strlen(passages_name(set, i));
    }
    passages_destroy(set);
    if (total == SIZE_MAX)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    float *vectors;
    uint32_t dimension;
    if (n < 2)
        return 0;
    size_t cut = (size_t)data[0] << 8 | data[1], length = cut < index_n ? cut : index_n;
    char *bytes = malloc(length + 1);
    if (bytes == NULL)
        abort();
    memcpy(bytes, index_bytes, length);
    for (size_t i = 2; i + 3 <= n; i += 3) {
        size_t at = (size_t)data[i] << 8 | data[i + 1];
        if (at < length)
            bytes[at] = (char)data[i + 2];
    }
    try_index((struct str){bytes, length});
    free(bytes);
    try_index((struct str){(const char *)data, n});
    if (embed_read_openai((struct str){(const char *)data, n}, 1 + data[0] % 4, &vectors,
                          &dimension))
        free(vectors);
    return 0;
}
