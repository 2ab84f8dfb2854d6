/* SPDX-License-Identifier: MIT
 * embed_create.c - see embed.h: an embedder from a setting. */
#include "shared/rag/embed.h"

#include <stdio.h>
#include <stdlib.h>

struct embedder *embed_create(const char *setting, const char *key, char *reason,
                              size_t reason_size)
{
    if (strcmp(setting, "hash") == 0)
        return embed_create_hash();
    const char *hash = strrchr(setting, '#');
    if (strncmp(setting, "openai:http", 11) != 0 || hash == NULL || hash[1] == 0) {
        snprintf(reason, reason_size, "takes hash, or openai:URL#MODEL");
        return NULL;
    }
    char *url = strndup(setting + 7, (size_t)(hash - setting - 7));
    if (url == NULL)
        abort();
    struct embedder *embedder = embed_create_openai(
        &(struct embed_openai_settings){.base_url = url, .model = hash + 1, .key = key});
    free(url);
    return embedder;
}
