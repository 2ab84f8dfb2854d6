/* SPDX-License-Identifier: MIT
 * index.c - see index.h: documents and the set of them; index_search.c searches it.
 *
 * A document is one piece of memory: the struct, the pack's directory, the pack, the strings. Its
 * text may be megabytes that no search touches, so it comes last. Entries are a sorted array: it is
 * walked whole by every search, and changes are rare. */
#include "shared/search/index_entries.h"

#include "shared/base/mem.h"
#include "shared/text/text.h"

#include <assert.h>
#include <stdatomic.h>

/* ---- documents ---- */

struct owned_document {
    struct rag_document base;
    atomic_uint refs;
    uint32_t directory[]; /* of the pack; then bytes */
};

static struct str put_copy(char **at, struct str s)
{
    struct str twin = {*at, s.n};
    if (s.at == NULL)
        return s;
    memcpy(*at, s.at, s.n);
    *at += s.n;
    return twin;
}

static bool are_chunks_within(const struct pack *pack, struct str text)
{
    for (uint32_t i = 0; i < pack->chunk_n; i++)
        if (pack_chunk(pack, i).end_bytes > text.n)
            return false;
    return true;
}

uint64_t rag_embedding(struct str digest)
{
    return digest.n == 0 ? 0 : text_hash(digest, 0);
}

struct rag_document *rag_document_create(const struct rag_parts *parts)
{
    struct pack pack;
    if (!pack_parse(parts->pack, &pack) ||
        (parts->text.at != NULL && !are_chunks_within(&pack, parts->text)))
        return NULL;
    size_t directory_bytes = pack_directory_n(&pack) * sizeof(uint32_t);
    size_t n = sizeof(struct owned_document) + directory_bytes + parts->pack.n + parts->id.n +
               parts->title_json.n + parts->url_json.n + parts->text.n;
    struct owned_document *owned = mem_alloc(n);
    char *at = (char *)owned->directory + directory_bytes;
    struct rag_document *document = &owned->base;
    *document = (struct rag_document){
        .generation = parts->generation, .embedding = parts->embedding, .memory_bytes = n};
    atomic_init(&owned->refs, 1);
    bool is_sound = pack_parse(put_copy(&at, parts->pack), &document->pack);
    assert(is_sound);
    pack_use_directory(&document->pack, owned->directory);
    document->id = put_copy(&at, parts->id);
    document->title_json = put_copy(&at, parts->title_json);
    document->url_json = put_copy(&at, parts->url_json);
    document->text = put_copy(&at, parts->text);
    return document;
}

struct rag_document *rag_document_ref(const struct rag_document *document)
{
    struct owned_document *owned = (struct owned_document *)document;
    atomic_fetch_add_explicit(&owned->refs, 1, memory_order_relaxed);
    return &owned->base;
}

void rag_document_unref(const struct rag_document *document)
{
    struct owned_document *owned = (struct owned_document *)document;
    if (owned != NULL && atomic_fetch_sub_explicit(&owned->refs, 1, memory_order_acq_rel) == 1)
        free(owned);
}

struct str rag_document_passage(const struct rag_document *document, uint32_t chunk)
{
    assert(document->text.at != NULL && chunk < document->pack.chunk_n);
    struct pack_chunk at = pack_chunk(&document->pack, chunk);
    return (struct str){document->text.at + at.start_bytes, at.end_bytes - at.start_bytes};
}

/* ---- the set ---- */

/* The first entry whose id is not before `doc`. */
static uint32_t place_of(const struct rag_index *index, struct str doc)
{
    uint32_t low = 0, high = index->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (str_compare(index->entries[middle].document->id, doc) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct rag_index *index, uint32_t place, struct str doc)
{
    return place < index->n && str_eq(index->entries[place].document->id, doc);
}

const struct rag_entry *rag_index_find(const struct rag_index *index, struct str doc)
{
    uint32_t place = place_of(index, doc);
    return is_at(index, place, doc) ? &index->entries[place] : NULL;
}

struct rag_index *rag_index_create(void)
{
    struct rag_index *index = mem_zeroed(sizeof *index);
    return index;
}

static void fill_entry(struct rag_index *index, struct rag_entry *entry,
                       const struct rag_document *document)
{
    *entry = (struct rag_entry){
        .document = document, .pack = document->pack, .embedding = document->embedding};
    index->chunk_n += document->pack.chunk_n;
    index->word_total += document->pack.word_total;
    index->bytes += document->memory_bytes;
}

static void empty_entry(struct rag_index *index, struct rag_entry *entry)
{
    index->chunk_n -= entry->document->pack.chunk_n;
    index->word_total -= entry->document->pack.word_total;
    index->bytes -= entry->document->memory_bytes;
    rag_document_unref(entry->document);
    free(entry->is_left_out);
}

void rag_index_destroy(struct rag_index *index)
{
    if (index == NULL)
        return;
    for (uint32_t i = 0; i < index->n; i++)
        empty_entry(index, &index->entries[i]);
    free(index->entries);
    free(index);
}

void rag_index_add(struct rag_index *index, const struct rag_document *document)
{
    uint32_t place = place_of(index, document->id);
    const struct rag_document *own = rag_document_ref(document);
    if (is_at(index, place, document->id)) {
        empty_entry(index, &index->entries[place]);
        fill_entry(index, &index->entries[place], own);
        return;
    }
    index->entries = mem_grow(index->entries, index->n, sizeof *index->entries);
    memmove(&index->entries[place + 1], &index->entries[place],
            (index->n - place) * sizeof *index->entries);
    index->n++;
    fill_entry(index, &index->entries[place], own);
}

bool rag_index_put(struct rag_index *index, const struct rag_parts *parts)
{
    struct rag_document *document = rag_document_create(parts);
    if (document == NULL)
        return false;
    rag_index_add(index, document);
    rag_document_unref(document);
    return true;
}

void rag_index_remove(struct rag_index *index, struct str doc)
{
    uint32_t place = place_of(index, doc);
    if (!is_at(index, place, doc))
        return;
    empty_entry(index, &index->entries[place]);
    index->n--;
    memmove(&index->entries[place], &index->entries[place + 1],
            (index->n - place) * sizeof *index->entries);
}

bool rag_index_has(const struct rag_index *index, struct str doc, uint64_t generation)
{
    const struct rag_entry *entry = rag_index_find(index, doc);
    return entry != NULL && entry->document->generation == generation;
}

static int compare_marks(const void *a, const void *b)
{
    const struct rag_mark *x = a, *y = b;
    return str_compare(x->doc, y->doc);
}

void rag_index_keep(struct rag_index *index, const struct rag_mark *marks, size_t n)
{
    struct rag_mark *sorted = mem_alloc((n + 1) * sizeof *sorted);
    uint32_t kept = 0;
    if (sorted == NULL)
        abort();
    if (n > 0)
        memcpy(sorted, marks, n * sizeof *sorted);
    if (n > 1)
        qsort(sorted, n, sizeof *sorted, compare_marks);
    for (uint32_t i = 0; i < index->n; i++) {
        struct rag_mark own = {.doc = index->entries[i].document->id};
        const struct rag_mark *mark = bsearch(&own, sorted, n, sizeof *sorted, compare_marks);
        if (mark != NULL && mark->generation == index->entries[i].document->generation)
            index->entries[kept++] = index->entries[i];
        else
            empty_entry(index, &index->entries[i]);
    }
    index->n = kept;
    free(sorted);
}

size_t rag_index_bytes(const struct rag_index *index)
{
    return sizeof *index + index->n * sizeof *index->entries + index->bytes;
}

uint32_t rag_index_documents(const struct rag_index *index)
{
    return index->n;
}

uint32_t rag_index_chunks(const struct rag_index *index)
{
    return index->chunk_n;
}

uint32_t rag_index_count_other_models(const struct rag_index *index, uint64_t embedding)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < index->n; i++)
        n += index->entries[i].embedding != embedding;
    return n;
}

/* ---- what is left out ---- */

static void leave_out(struct rag_entry *entry, uint32_t chunk)
{
    uint32_t n = entry->pack.chunk_n;
    if (entry->is_left_out == NULL)
        entry->is_left_out = mem_zeroed(n);
    entry->is_left_out[chunk] = 1;
}

static uint32_t leave_out_of(struct rag_entry *entry, struct str needle, struct buf *text)
{
    uint32_t chunk_n = entry->document->text.at == NULL ? 0 : entry->pack.chunk_n, marked = 0;
    for (uint32_t i = 0; i < chunk_n; i++) {
        buf_clear(text);
        text_put_normal(text, rag_document_passage(entry->document, i));
        if (!str_holds(buf_str(text), needle))
            continue;
        leave_out(entry, i);
        marked++;
    }
    return marked;
}

uint32_t rag_index_leave_out(struct rag_index *index, struct str doc, struct str fragment)
{
    uint32_t first = 0, end = index->n, marked = 0;
    struct buf needle, text;
    if (doc.at != NULL) {
        first = place_of(index, doc);
        end = is_at(index, first, doc) ? first + 1 : first;
    }
    buf_init(&needle, SIZE_MAX / 2);
    buf_init(&text, SIZE_MAX / 2);
    text_put_normal(&needle, fragment);
    for (uint32_t i = first; needle.n >= RAG_FLAG_MIN_BYTES && i < end; i++)
        marked += leave_out_of(&index->entries[i], buf_str(&needle), &text);
    buf_fini(&needle);
    buf_fini(&text);
    return marked;
}
