/* SPDX-License-Identifier: MIT
 * fuzz_search_index.c - the index file of a corpus, without its check sum, and embedding responses.
 * The input is a list of changes to a sound index: two bytes say where it is truncated, then three
 * bytes each say which byte becomes what. */
#include "shared/corpus/corpus.h"
#include "shared/corpus/make.h"

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
    const struct make_text texts[] = {
        {STR("a.md"), STR("a.md"), STR("A lease ends.")},
        {STR("b/c.md"), STR("b/c.md"), STR("Bananas grow in the tropics.\n\nAll year.")}};
    struct embedder *embedder = embed_create_hash();
    struct rag_document *made[2];
    struct corpus_document documents[2] = {{0}};
    struct corpus corpus = {.model = (char *)embedder->name, .documents = documents, .n = 2};
    if (!make_documents(texts, 2, embedder, NULL, &corpus.dimension, made))
        abort();
    documents[0].document = made[0];
    documents[1].document = made[1];
    if (!corpus_save(&corpus, path))
        abort();
    rag_document_unref(made[0]);
    rag_document_unref(made[1]);
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
    index_n = fread(index_bytes, 1, sizeof index_bytes, file) - CORPUS_SHA_BYTES;
    fclose(file);
    close(fd);
    unlink(path);
    return 0;
}

static void try_index(struct str bytes)
{
    const char *reason;
    struct corpus *corpus = corpus_parse(bytes, &reason);
    size_t total = 0;
    for (uint32_t i = 0; corpus != NULL && i < corpus->n; i++) {
        const struct rag_document *document = corpus->documents[i].document;
        for (uint32_t k = 0; k < document->pack.chunk_n; k++) {
            struct str text = rag_document_passage(document, k);
            for (size_t at = 0; at < text.n; at++)
                total += (unsigned char)text.at[at];
        }
    }
    corpus_destroy(corpus);
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
    struct str answer = {(const char *)data + 1, n - 1};
    if (embed_read_openai(answer, 1 + data[0] % 4, &vectors, &dimension))
        free(vectors);
    if (embed_read_ollama(answer, 1 + data[0] % 4, &vectors, &dimension))
        free(vectors);
    return 0;
}
