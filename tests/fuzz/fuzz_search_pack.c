/* SPDX-License-Identifier: MIT
 * fuzz_search_pack.c - packs of any bytes, and a search over them beside a sound one. The first
 * byte says how the question is put, the rest is the pack. */
#include "shared/embed/embed.h"
#include "shared/search/index.h"
#include "shared/text/text.h"

#include <math.h>
#include <stdlib.h>

enum { HITS = 10, DIMENSION_MAX = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void put_sound(struct rag_index *index)
{
    static const float vector[] = {0.5f, -0.5f, 0.5f, 0.5f};
    struct str text = STR("A lease ends.");
    struct chunk_cursor cursor = {.text = text};
    struct chunk chunk;
    struct buf pack;
    buf_init(&pack, 4096);
    if (!chunk_next(&cursor, &chunk))
        abort();
    pack_build(&pack, text, &chunk, 1, vector, 4);
    struct rag_parts parts = {.id = STR("sound"), .generation = 1, .pack = buf_str(&pack)};
    if (!rag_index_put(index, &parts))
        abort();
    buf_fini(&pack);
}

/* Every word, whether the pack says that it has it, must be looked up in bounds. */
static void look_up(const struct pack *pack, uint64_t hash)
{
    uint32_t first, count, found;
    if (!pack_find(pack, hash, &first, &found))
        return;
    for (uint32_t i = first; i < first + found; i++)
        if (pack_posting(pack, i, &count) >= pack->chunk_n || count == 0)
            abort();
}

static void try_pack(const struct pack *pack)
{
    struct pack twin = *pack;
    uint32_t *directory = calloc(pack_directory_n(pack), sizeof *directory);
    if (directory == NULL)
        abort();
    pack_use_directory(&twin, directory);
    for (uint32_t i = 0; i < pack->term_n && i < 100; i++) {
        uint64_t hash;
        uint32_t first, other, n;
        memcpy(&hash, pack->terms + (size_t)i * PACK_TERM_BYTES, sizeof hash);
        hash = le64toh(hash);
        if (!pack_find(pack, hash, &first, &n) || !pack_find(&twin, hash, &other, &n) ||
            first != other)
            abort();
        look_up(pack, hash + 1);
        look_up(&twin, hash + 1);
    }
    free(directory);
}

static void search(const struct rag_index *index, uint8_t how, uint32_t dimension)
{
    float vector[DIMENSION_MAX];
    struct rag_hit hits[HITS];
    for (uint32_t i = 0; i < DIMENSION_MAX; i++)
        vector[i] = how & 1 ? (float)i - 7 : 1.0f / (float)(i + 1);
    const struct rag_near near[] = {{STR("any"), 2, how, 0.5f}, {STR("sound"), 1, 0, 0.25f}};
    struct rag_query query = {.text = STR("When does a lease end?"),
                              .vector = how & 2 ? vector : NULL,
                              .dimension = dimension < DIMENSION_MAX ? dimension : 4,
                              .embedding = how & 8 ? 1 : 0,
                              .near = near,
                              .near_n = how & 4 ? 2 : 0};
    size_t n = rag_index_search(index, &query, HITS, hits);
    for (size_t i = 0; i < n; i++)
        if (hits[i].chunk >= hits[i].document->pack.chunk_n || !isfinite(hits[i].score) ||
            !isfinite(hits[i].cosine) || (i > 0 && hits[i].score > hits[i - 1].score))
            abort();
    (void)!rag_index_nearest(index, &query, HITS, 2.0, hits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct pack pack;
    if (n == 0)
        return 0;
    struct str bytes = {(const char *)data + 1, n - 1};
    struct rag_index *index = rag_index_create();
    bool is_sound = pack_parse(bytes, &pack);
    put_sound(index);
    if (is_sound)
        try_pack(&pack);
    struct rag_parts parts = {.id = STR("any"), .generation = 2, .pack = bytes};
    if (rag_index_put(index, &parts) != is_sound)
        abort();
    search(index, data[0], is_sound && pack.dimension > 0 ? pack.dimension : 4);
    rag_index_keep(index, NULL, 0);
    rag_index_destroy(index);
    return 0;
}
