/* SPDX-License-Identifier: MIT
 * make.c - see make.h. Small texts are gathered until there is enough for some full batches of an
 * embedding server; a large one is a group of its own. What is held as floats is one group. */
#include "shared/corpus/make.h"

#include "shared/base/log.h"
#include "shared/base/mem.h"

enum { EMBED_STEP = 512 };

/* Texts that are embedded together. */
struct group {
    const struct make_text *texts;
    size_t n;
    uint32_t *ends; /* per text: where its chunks end */
    struct chunk *chunks;
    struct str *pieces; /* the text of each chunk */
    float *vectors;
    uint32_t chunk_n, dimension;
};

static bool cut_text(struct group *group, const struct make_text *text)
{
    struct chunk_cursor cursor = {.text = text->text};
    struct chunk chunk;
    uint32_t first = group->chunk_n;
    while (chunk_next(&cursor, &chunk)) {
        if (group->chunk_n - first == PACK_CHUNKS_MAX) {
            log_write(LOG_ERROR, "text too long", LOG_STR("name", text->name));
            return false;
        }
        group->chunks = mem_grow(group->chunks, group->chunk_n, sizeof *group->chunks);
        group->pieces = mem_grow(group->pieces, group->chunk_n, sizeof *group->pieces);
        group->pieces[group->chunk_n] =
            (struct str){text->text.at + chunk.start_bytes, chunk.end_bytes - chunk.start_bytes};
        chunk.page = text_pages_find(&text->pages, chunk.start_bytes);
        group->chunks[group->chunk_n++] = chunk;
    }
    return true;
}

/* Takes texts from the front of `texts` until there are EMBED_STEP chunks. */
static bool gather(struct group *group, const struct make_text *texts, size_t n)
{
    group->texts = texts;
    group->n = 0;
    group->chunk_n = 0;
    while (group->n < n && group->chunk_n < EMBED_STEP) {
        if (!cut_text(group, &texts[group->n]))
            return false;
        group->ends[group->n++] = group->chunk_n;
    }
    return true;
}

static bool is_dimension_right(struct group *group, uint32_t dimension)
{
    if (group->dimension == 0)
        group->dimension = dimension;
    if (group->dimension == dimension)
        return true;
    log_write(LOG_ERROR, "the embedding model returned a different dimension",
              LOG_U("was", group->dimension), LOG_U("is", dimension));
    return false;
}

static bool embed_group(struct group *group, struct embedder *embedder,
                        const atomic_bool *is_stopping)
{
    for (uint32_t done = 0, take; done < group->chunk_n; done += take) {
        float *vectors;
        uint32_t dimension;
        take = group->chunk_n - done < EMBED_STEP ? group->chunk_n - done : EMBED_STEP;
        if (!embed_texts(embedder, group->pieces + done, take, is_stopping, &vectors, &dimension,
                         NULL))
            return false;
        bool is_right = is_dimension_right(group, dimension);
        size_t width = dimension;
        if (is_right) {
            group->vectors =
                mem_resize(group->vectors, (done + take) * width * sizeof *group->vectors);
            memcpy(group->vectors + done * width, vectors, take * width * sizeof *vectors);
        }
        free(vectors);
        if (!is_right)
            return false;
    }
    return true;
}

static struct rag_document *pack_text(const struct group *group, size_t i)
{
    const struct make_text *text = &group->texts[i];
    uint32_t first = i == 0 ? 0 : group->ends[i - 1], n = group->ends[i] - first;
    struct buf pack, title;
    buf_init(&pack, SIZE_MAX / 2);
    buf_init(&title, SIZE_MAX / 2);
    pack_build(&pack, text->text, group->chunks + first, n,
               n == 0 ? NULL : group->vectors + (size_t)first * group->dimension,
               n == 0 ? 0 : group->dimension);
    buf_put_json(&title, text->name);
    struct str own = text->text.at == NULL ? STR("") : text->text;
    struct rag_document *document =
        rag_document_create(&(struct rag_parts){.id = text->id,
                                                .generation = 1,
                                                .title_json = buf_str(&title),
                                                .url_json = STR(""),
                                                .pack = buf_str(&pack),
                                                .text = own});
    if (document == NULL)
        abort(); /* pack_build and pack_parse disagree */
    buf_fini(&pack);
    buf_fini(&title);
    return document;
}

bool make_documents(const struct make_text *texts, size_t n, struct embedder *embedder,
                    const atomic_bool *is_stopping, uint32_t *dimension,
                    struct rag_document **ret_documents)
{
    struct group group = {.ends = mem_alloc(n * sizeof *group.ends), .dimension = *dimension};
    size_t done = 0;
    bool is_good = true;
    while (is_good && done < n) {
        is_good =
            gather(&group, texts + done, n - done) && embed_group(&group, embedder, is_stopping);
        for (size_t i = 0; is_good && i < group.n; i++)
            ret_documents[done + i] = pack_text(&group, i);
        done += is_good ? group.n : 0;
        if (is_good && done < n)
            log_write(LOG_INFO, "embedding documents", LOG_U("done", done), LOG_U("of", n));
    }
    free(group.ends);
    free(group.chunks);
    free(group.pieces);
    free(group.vectors);
    if (is_good)
        *dimension = group.dimension;
    while (!is_good && done > 0)
        rag_document_unref(ret_documents[--done]);
    return is_good;
}
