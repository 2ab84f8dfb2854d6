/* SPDX-License-Identifier: MIT
 *
 * pack: the search index of one document as one run of bytes: where its chunks are, a vector of
 * small integers for each, and its words. The indexer of a document makes it once, others keep
 * it, pass it on and search it (see index.h). Not the document's text. Pure, any thread.
 *
 * All numbers are little-endian. The header and the chunk table have fixed sizes, so that the
 * place of one chunk can be read without the rest:
 *
 *   32 bytes         "PPK1", u32: chunk_n, dimension, term_n, posting_n, flags (0); u64 word_total
 *   chunk_n x 24     u32: start_bytes, end_bytes, start_chars, end_chars, word_n, page
 *                    (from 1 on; 0: it has none)
 *   chunk_n x 4      f32 scale                       (only where dimension > 0)
 *   chunk_n x dim.   int8: times scale the vector    (only where dimension > 0)
 *   term_n x 16      u64 hash, u32 first posting, u32 posting count; by rising hash
 *   posting_n x 4    u32 chunk << 8 | min(count, 255), by rising chunk within a term
 */
#ifndef PARLEY_SEARCH_PACK_H
#define PARLEY_SEARCH_PACK_H

#include "shared/base/buf.h"
#include "shared/text/chunk.h"

#include <endian.h>

/* Raise it with each change by which the same text and vectors give another pack: other passages
 * (chunk.h) or other keys of words (text_word_key). It is stored with packs: one of an earlier
 * version (0: of before packs had versions) is to be made again, of the same text. */
enum { PACK_VERSION = 1 };

enum {
    PACK_HEADER_BYTES = 32,
    PACK_CHUNK_BYTES = 24,
    PACK_TERM_BYTES = 16,
    PACK_POSTING_BYTES = 4,
    PACK_CHUNKS_MAX = 200000,
    PACK_DIMENSION_MAX = 8192,
    PACK_COUNT_MAX = 255
};

/* A parsed pack. Borrows the bytes, which need no alignment: read through the functions below. */
struct pack {
    struct str bytes;
    uint32_t chunk_n, dimension, term_n, posting_n;
    uint64_t word_total;         /* words of all chunks, stop words included */
    const unsigned char *chunks; /* the tables inside `bytes` */
    const unsigned char *scales; /* NULL without vectors */
    const int8_t *vectors;       /* NULL without vectors */
    const unsigned char *terms, *postings;
    const uint32_t *directory; /* NULL, or where the terms of each range of hashes start */
    unsigned directory_bits;
};

struct pack_chunk {
    uint32_t start_bytes, end_bytes, start_chars, end_chars, word_n, page;
};

/* Appends the pack of `text` to `out`: `chunks` are its `n` chunks (at most PACK_CHUNKS_MAX) as
 * chunk_next cut them, `vectors` n * dimension numbers, or NULL for a pack of words alone. The text
 * is under 4 GiB. */
void pack_build(struct buf *out, struct str text, const struct chunk *chunks, uint32_t n,
                const float *vectors, uint32_t dimension);

/* Reads any bytes. Returns false if they are not a valid pack, which must then not be used. A valid
 * pack has no offset past its tables, no chunk that ends before it starts, and only finite numbers.
 * The caller that has the text checks whether chunks lie within it. */
bool pack_parse(struct str bytes, struct pack *ret_pack) must_check;

/* Finds the postings of a word by its text_word_key: false when the document has none. */
bool pack_find(const struct pack *pack, uint64_t hash, uint32_t *ret_first, uint32_t *ret_n);
/* Makes pack_find faster: fills `memory`, pack_directory_n numbers, which must then outlive the
 * pack like its bytes. */
void pack_use_directory(struct pack *pack, uint32_t *memory);
size_t pack_directory_n(const struct pack *pack);
/* Two hints to the processor that pack_find for that word comes soon, the first long before, the
 * second some time later. Only with a directory. */
void pack_prefetch_directory(const struct pack *pack, uint64_t hash);
void pack_prefetch_term(const struct pack *pack, uint64_t hash);
/* Writes `vector` as integers from -127 to 127 and returns their scale. The steps are even, the
 * largest number becomes 127; the scale gives the result the length that the vector had, so that a
 * vector is exactly as near to itself as before. All 0, and 0, for a vector without length or with
 * a number that is not finite. */
float pack_quantise(const float *vector, uint32_t dimension, int8_t *ret_at);

/* ---- reading ---- */

static inline uint32_t pack_u32(const unsigned char *at)
{
    uint32_t number;
    memcpy(&number, at, sizeof number);
    return le32toh(number);
}

/* The chunk `i` < chunk_n. */
static inline struct pack_chunk pack_chunk(const struct pack *pack, uint32_t i)
{
    const unsigned char *row = pack->chunks + (size_t)i * PACK_CHUNK_BYTES;
    return (struct pack_chunk){.start_bytes = pack_u32(row),
                               .end_bytes = pack_u32(row + 4),
                               .start_chars = pack_u32(row + 8),
                               .end_chars = pack_u32(row + 12),
                               .word_n = pack_u32(row + 16),
                               .page = pack_u32(row + 20)};
}

/* Returns the factor of the integers of chunk `i`; only with vectors. */
static inline float pack_scale(const struct pack *pack, uint32_t i)
{
    uint32_t bits = pack_u32(pack->scales + (size_t)i * sizeof(float));
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* The chunk of posting `i` < posting_n, and how often the word is there, at most
 * PACK_COUNT_MAX. */
static inline uint32_t pack_posting(const struct pack *pack, uint32_t i, uint32_t *ret_count)
{
    uint32_t posting = pack_u32(pack->postings + (size_t)i * PACK_POSTING_BYTES);
    *ret_count = posting & 0xff;
    return posting >> 8;
}

#endif
