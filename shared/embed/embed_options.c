/* SPDX-License-Identifier: MIT
 * embed_options.c - see embed_options.h. */
#include "shared/embed/embed_options.h"

#include <openssl/crypto.h>
#include <stdlib.h>

enum { REASON_BYTES = 256 };

const struct config_group embed_options = {
    "Embeddings",
    (const struct config_option[]){
        OPTION_TEXT(
            "embeddings", "MODEL", "hash",
            "The embedding model: hash (built in; finds the same words and their inflections, "
            "but no synonyms), openai:URL#MODEL (a server with OpenAI's /embeddings below "
            "URL) or ollama:URL#MODEL. Vectors of different models cannot be compared: use "
            "the same model on all nodes and tools that share documents."),
        OPTION_TEXT("embeddings-key-file", "FILE", NULL,
                    "A file that contains the API key for the embedding server."),
        {0}}};

struct embedder *embed_read_options(const struct config *config)
{
    const char *file = config_text(config, "embeddings-key-file");
    char reason[REASON_BYTES], *key = NULL;
    if (file != NULL && (key = config_read_secret(file)) == NULL)
        return NULL;
    struct embedder *embedder =
        embed_create(config_text(config, "embeddings"), key, reason, sizeof reason);
    if (key != NULL)
        OPENSSL_cleanse(key, strlen(key));
    free(key);
    if (embedder == NULL)
        config_wrong("embeddings", reason);
    return embedder;
}
