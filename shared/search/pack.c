/* SPDX-License-Identifier: MIT
 * pack.c - see pack.h.
 *
 * Bytes are read one number at a time through memcpy: a pack may lie anywhere, and the compiler
 * makes one load of it. Everything that a reader relies on is checked once, in pack_parse, so that
 * searching needs no checks of its own.
 *
 * Words are found by their hash, by halving the sorted table. Who searches a pack often gives it
 * memory for a directory; hashes are spread evenly, so that leaves one or two rows to look at. */
#include "shared/search/pack.h"

#include "shared/base/mem.h"
#include "shared/text/text.h"

#include <assert.h>
#include <math.h>

static const char magic[4] = {'P', 'P', 'K', '1'};

/* ---- numbers ---- */

static uint64_t get_u64(const unsigned char *at)
{
    uint64_t number;
    memcpy(&number, at, sizeof number);
    return le64toh(number);
}

static void put_u32(struct buf *out, uint32_t number)
{
    number = htole32(number);
    buf_put(out, (struct str){(const char *)&number, sizeof number});
}

static void put_u64(struct buf *out, uint64_t number)
{
    number = htole64(number);
    buf_put(out, (struct str){(const char *)&number, sizeof number});
}

static void put_float(struct buf *out, float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_u32(out, bits);
}

/* ---- words ---- */

struct occurrence {
    uint64_t hash;
    uint32_t chunk;
};

struct words {
    struct occurrence *at; /* sorted by hash, then chunk */
    size_t n;
    uint32_t *per_chunk;
    uint64_t total;
};

static bool is_same_posting(const struct occurrence *a, const struct occurrence *b)
{
    return a->hash == b->hash && a->chunk == b->chunk;
}

/* Sorts by hash; chunks, which come in order, stay so. Least byte first: hashes are spread evenly,
 * so these eight passes cost a fraction of comparing. */
static void sort_words(struct words *words)
{
    struct occurrence *from = words->at, *to = mem_alloc((words->n + 1) * sizeof *to);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < words->n; i++)
            starts[(from[i].hash >> shift & 255) + 1]++;
        for (size_t i = 1; i < 257; i++)
            starts[i] += starts[i - 1];
        for (size_t i = 0; i < words->n; i++)
            to[starts[from[i].hash >> shift & 255]++] = from[i];
        struct occurrence *swap = from;
        from = to;
        to = swap;
    }
    words->at = from; /* the number of passes is even: where it began */
    free(to);
}

static void put_word(struct words *words, uint32_t chunk, const struct text_word *word)
{
    if (word->is_stop)
        return;
    words->at = mem_grow(words->at, words->n, sizeof *words->at);
    words->at[words->n++] = (struct occurrence){text_word_key(word), chunk};
}

static void list_words(struct words *words, struct str text, const struct chunk *chunks, uint32_t n)
{
    *words = (struct words){.per_chunk = mem_zeroed_n(n == 0 ? 1 : n, sizeof *words->per_chunk)};
    for (uint32_t i = 0; i < n; i++) {
        struct text_word word, joined;
        struct text_compound compound = {.n = 0};
        struct str rest = {text.at + chunks[i].start_bytes,
                           chunks[i].end_bytes - chunks[i].start_bytes};
        for (; text_next_word(&rest, &word); words->per_chunk[i]++) {
            put_word(words, i, &word);
            if (text_compound_next(&compound, word.here, &joined))
                put_word(words, i, &joined);
        }
        words->total += words->per_chunk[i];
    }
    if (words->n > 1)
        sort_words(words);
}

static bool starts_term(const struct words *words, size_t i)
{
    return i == 0 || words->at[i - 1].hash != words->at[i].hash;
}

static bool starts_posting(const struct words *words, size_t i)
{
    return i == 0 || !is_same_posting(&words->at[i - 1], &words->at[i]);
}

static void put_terms(struct buf *out, const struct words *words)
{
    uint32_t first = 0;
    for (size_t i = 0, end; i < words->n; i = end) {
        uint32_t postings = 1;
        for (end = i + 1; end < words->n && !starts_term(words, end); end++)
            postings += starts_posting(words, end);
        put_u64(out, words->at[i].hash);
        put_u32(out, first);
        put_u32(out, postings);
        first += postings;
    }
}

static void put_postings(struct buf *out, const struct words *words)
{
    for (size_t i = 0, end; i < words->n; i = end) {
        for (end = i + 1; end < words->n && !starts_posting(words, end); end++)
            ;
        uint32_t count = end - i < PACK_COUNT_MAX ? (uint32_t)(end - i) : PACK_COUNT_MAX;
        put_u32(out, words->at[i].chunk << 8 | count);
    }
}

/* ---- building ---- */

float pack_quantise(const float *vector, uint32_t dimension, int8_t *ret_at)
{
    float largest = 0;
    double length = 0, own_length = 0;
    for (uint32_t i = 0; i < dimension; i++) {
        largest = fmaxf(largest, fabsf(vector[i]));
        length += (double)vector[i] * (double)vector[i];
    }
    memset(ret_at, 0, dimension);
    if (!(largest > 0) || !isfinite(length))
        return 0;
    for (uint32_t i = 0; i < dimension; i++) {
        ret_at[i] = (int8_t)lrint((double)vector[i] / (double)largest * 127.0);
        own_length += (double)ret_at[i] * (double)ret_at[i];
    }
    return (float)sqrt(length / own_length);
}

static void put_vectors(struct buf *out, const float *vectors, uint32_t n, uint32_t dimension)
{
    int8_t *rows = mem_alloc((size_t)n * dimension + 1);
    for (size_t i = 0; i < n; i++)
        put_float(out, pack_quantise(vectors + i * dimension, dimension, rows + i * dimension));
    buf_put(out, (struct str){(const char *)rows, (size_t)n * dimension});
    free(rows);
}

void pack_build(struct buf *out, struct str text, const struct chunk *chunks, uint32_t n,
                const float *vectors, uint32_t dimension)
{
    struct words words;
    assert(n <= PACK_CHUNKS_MAX && dimension <= PACK_DIMENSION_MAX && text.n <= UINT32_MAX);
    list_words(&words, text, chunks, n);
    uint32_t term_n = 0, posting_n = 0;
    for (size_t i = 0; i < words.n; i++) {
        term_n += starts_term(&words, i);
        posting_n += starts_posting(&words, i);
    }
    buf_put(out, (struct str){magic, sizeof magic});
    put_u32(out, n);
    put_u32(out, vectors == NULL ? 0 : dimension);
    put_u32(out, term_n);
    put_u32(out, posting_n);
    put_u32(out, 0);
    put_u64(out, words.total);
    for (uint32_t i = 0; i < n; i++) {
        put_u32(out, (uint32_t)chunks[i].start_bytes);
        put_u32(out, (uint32_t)chunks[i].end_bytes);
        put_u32(out, (uint32_t)chunks[i].start_chars);
        put_u32(out, (uint32_t)chunks[i].end_chars);
        put_u32(out, words.per_chunk[i]);
        put_u32(out, chunks[i].page);
    }
    if (vectors != NULL && dimension > 0)
        put_vectors(out, vectors, n, dimension);
    put_terms(out, &words);
    put_postings(out, &words);
    free(words.at);
    free(words.per_chunk);
}

/* ---- parsing ---- */

static bool are_chunks_sound(const struct pack *pack)
{
    uint64_t words = 0;
    for (uint32_t i = 0; i < pack->chunk_n; i++) {
        struct pack_chunk chunk = pack_chunk(pack, i);
        if (chunk.start_bytes >= chunk.end_bytes || chunk.start_chars >= chunk.end_chars)
            return false;
        words += chunk.word_n;
    }
    return words == pack->word_total;
}

static bool are_scales_sound(const struct pack *pack)
{
    for (uint32_t i = 0; pack->scales != NULL && i < pack->chunk_n; i++) {
        float scale = pack_scale(pack, i);
        if (!isfinite(scale) || scale < 0)
            return false;
    }
    return true;
}

/* The terms share out the postings among them without a gap, in order. */
static bool are_terms_sound(const struct pack *pack)
{
    uint64_t posting = 0, before = 0;
    for (uint32_t i = 0; i < pack->term_n; i++) {
        const unsigned char *row = pack->terms + (size_t)i * PACK_TERM_BYTES;
        uint64_t hash = get_u64(row);
        uint32_t n = pack_u32(row + 12);
        if ((i > 0 && hash <= before) || pack_u32(row + 8) != posting || n == 0 ||
            n > pack->posting_n - posting)
            return false;
        for (uint32_t k = 0, last = 0; k < n; k++) {
            uint32_t count, chunk = pack_posting(pack, (uint32_t)posting + k, &count);
            if (chunk >= pack->chunk_n || count == 0 || (k > 0 && chunk <= last))
                return false;
            last = chunk;
        }
        posting += n;
        before = hash;
    }
    return posting == pack->posting_n;
}

bool pack_parse(struct str bytes, struct pack *ret_pack)
{
    const unsigned char *at = (const unsigned char *)bytes.at;
    if (bytes.n < PACK_HEADER_BYTES || memcmp(at, magic, sizeof magic) != 0)
        return false;
    struct pack pack = {.bytes = bytes,
                        .chunk_n = pack_u32(at + 4),
                        .dimension = pack_u32(at + 8),
                        .term_n = pack_u32(at + 12),
                        .posting_n = pack_u32(at + 16),
                        .word_total = get_u64(at + 24)};
    if (pack.chunk_n > PACK_CHUNKS_MAX || pack.dimension > PACK_DIMENSION_MAX ||
        pack_u32(at + 20) != 0)
        return false;
    uint64_t chunks = (uint64_t)pack.chunk_n * PACK_CHUNK_BYTES,
             scales = pack.dimension == 0 ? 0 : (uint64_t)pack.chunk_n * sizeof(float),
             vectors = (uint64_t)pack.chunk_n * pack.dimension,
             terms = (uint64_t)pack.term_n * PACK_TERM_BYTES,
             postings = (uint64_t)pack.posting_n * PACK_POSTING_BYTES;
    if (PACK_HEADER_BYTES + chunks + scales + vectors + terms + postings != bytes.n)
        return false;
    pack.chunks = at + PACK_HEADER_BYTES;
    pack.terms = pack.chunks + chunks + scales + vectors;
    pack.postings = pack.terms + terms;
    if (pack.dimension > 0) {
        pack.scales = pack.chunks + chunks;
        pack.vectors = (const int8_t *)(pack.scales + scales);
    }
    if (!are_chunks_sound(&pack) || !are_scales_sound(&pack) || !are_terms_sound(&pack))
        return false;
    *ret_pack = pack;
    return true;
}

/* ---- reading ---- */

static uint64_t hash_at(const struct pack *pack, size_t i)
{
    return get_u64(pack->terms + i * PACK_TERM_BYTES);
}

/* The first bits of a hash say which slot of the directory is its own. There are at most as many
 * slots as terms, so a slot has one or two terms of a pack that pack_build made. */
static size_t slot_of(const struct pack *pack, uint64_t hash)
{
    return pack->directory_bits == 0 ? 0 : hash >> (64 - pack->directory_bits);
}

static unsigned bits_for(uint32_t term_n)
{
    unsigned bits = 0;
    while (term_n >> (bits + 1) != 0)
        bits++;
    return bits;
}

size_t pack_directory_n(const struct pack *pack)
{
    return ((size_t)1 << bits_for(pack->term_n)) + 1;
}

void pack_use_directory(struct pack *pack, uint32_t *memory)
{
    pack->directory_bits = bits_for(pack->term_n);
    pack->directory = memory;
    size_t slot_n = (size_t)1 << pack->directory_bits, slot = 0;
    for (uint32_t i = 0; i < pack->term_n; i++)
        for (size_t own = slot_of(pack, hash_at(pack, i)); slot <= own; slot++)
            memory[slot] = i;
    for (; slot <= slot_n; slot++)
        memory[slot] = pack->term_n;
}

void pack_prefetch_directory(const struct pack *pack, uint64_t hash)
{
    __builtin_prefetch(&pack->directory[slot_of(pack, hash)]);
}

void pack_prefetch_term(const struct pack *pack, uint64_t hash)
{
    uint32_t i = pack->directory[slot_of(pack, hash)];
    __builtin_prefetch(pack->terms + (size_t)i * PACK_TERM_BYTES);
}

bool pack_find(const struct pack *pack, uint64_t hash, uint32_t *ret_first, uint32_t *ret_n)
{
    size_t low = 0, high = pack->term_n;
    if (pack->directory != NULL) {
        size_t slot = slot_of(pack, hash);
        low = pack->directory[slot];
        high = pack->directory[slot + 1];
    }
    size_t end = high;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (hash_at(pack, middle) < hash)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == end || hash_at(pack, low) != hash)
        return false;
    const unsigned char *row = pack->terms + low * PACK_TERM_BYTES;
    *ret_first = pack_u32(row + 8);
    *ret_n = pack_u32(row + 12);
    return true;
}
