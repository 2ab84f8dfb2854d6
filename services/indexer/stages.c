/* SPDX-License-Identifier: MIT
 * stages.c - see stages.h: PARSE, CHUNK, EMBED, STORE.
 *
 * A step first reports its start, which shows whether the job is still ours. Long ones are given
 * `must_stop`, which the job's renewer sets. Nothing that a step leaves in Redis is searched before
 * job_store: the text belongs to the job's lease, and so do vectors in a set. */
#include "services/indexer/stages.h"

#include "generated/verbs.h"
#include "shared/base/mem.h"
#include "shared/extract/extract.h"
#include "shared/queue/lines.h"
#include "shared/search/pack.h"
#include "shared/text/chunk.h"
#include "shared/text/text.h"
#include "shared/text/text_blocks.h"

#include <stdio.h>

enum {
    EMBED_BATCH = 64,
    VECTOR_BATCH = 8,
    PACK_MAX_BYTES = 256 << 20,
    KEY_MAX_BYTES = 512,
    MIB = 1 << 20,
};

/* --- PARSE ---------------------------------------------------------------------------------- */

static enum err store_text(struct pipeline *p, uint64_t chars)
{
    struct text_blocks blocks;
    struct buf pages;
    struct str reply;
    buf_init(&pages, TEXT_PAGES_MAX_BYTES);
    text_pages_put(&pages, &p->pages);
    text_blocks_init(&blocks, buf_str(&p->text));
    struct verb_writer verb = begin_job_parsed(
        job_call(&p->job), .job = p->job.facts.id, .lease = p->job.facts.lease, .chars = chars,
        .pages = buf_str(&pages), .cap = p->settings->space.max_bytes,
        .readers = extract_readers_version(extract_kind_named(p->job.facts.kind)));
    for (size_t i = 0; i < blocks.n; i++)
        put_job_parsed_block(&verb, .text = blocks.at[i]);
    end_verb(&verb);
    enum err error = job_reply(&p->job, &reply);
    text_blocks_fini(&blocks);
    buf_fini(&pages);
    if (error != ERR_OK)
        return error;
    if (str_has_prefix(reply, STR("full")))
        return stage_refuse(
            p, "The storage limit of %llu MiB is reached. Delete documents you no longer need.",
            (unsigned long long)p->settings->space.max_bytes / MIB);
    return str_eq(reply, STR("ok")) ? ERR_OK : ERR_INTERNAL;
}

/* No descriptor, memory or process: the document can be read later, or elsewhere. */
static enum err put_off(struct pipeline *p)
{
    (void)stage_refuse(p, "%s", extract_fault_text(EXTRACT_FAULT_NO_CHILD));
    return ERR_BUSY;
}

static enum err put_block(void *arg, struct str block)
{
    return block.at == NULL || memory_file_put(arg, block) ? ERR_OK : ERR_BUSY;
}

/* One block of the list `key`. */
static enum err read_block(struct pipeline *p, struct str key, uint64_t block,
                           struct memory_file *file)
{
    char at[24];
    snprintf(at, sizeof at, "%llu", (unsigned long long)block);
    struct str words[] = {STR("LINDEX"), key, str_of(at)};
    return job_read(&p->job, words, 3, put_block, file);
}

/* Puts the upload's blocks together. Those of another upload, which has taken this one's place
 * meanwhile, do no harm: the job is lost then, and nothing of it is stored. */
static enum err read_blocks(struct pipeline *p, struct memory_file *file)
{
    struct buf key;
    struct str reply;
    call_job_upload(job_call(&p->job), .job = p->job.facts.id, .lease = p->job.facts.lease);
    enum err error = job_reply(&p->job, &reply);
    buf_init(&key, KEY_MAX_BYTES);
    buf_put(&key, str_of(p->prefix));
    buf_lit(&key, "upload:");
    buf_put(&key, p->job.facts.doc);
    for (uint64_t block = 0; error == ERR_OK && file->n < p->job.facts.size_bytes; block++) {
        size_t before = file->n;
        error = read_block(p, buf_str(&key), block, file);
        if (error == ERR_OK && file->n == before)
            break;
    }
    buf_fini(&key);
    if (error == ERR_CONFLICT || (error == ERR_OK && file->n != p->job.facts.size_bytes))
        return stage_refuse(p, "The uploaded file is no longer stored: upload it again.");
    if (error == ERR_OK && !memory_file_seal(file))
        error = ERR_BUSY;
    return error == ERR_BUSY ? put_off(p) : error;
}

/* The renewer keeps the lease while the child works: the only message to the child is to stop. */
static enum err extract(struct pipeline *p, const struct memory_file *file)
{
    enum extract_kind kind = extract_kind_named(p->job.facts.kind);
    enum extract_fault fault = extract_sniff(kind, file->bytes);
    if (fault == EXTRACT_FAULT_NONE)
        fault = extract_file_text(kind, file, &p->job.must_stop, &p->text, &p->pages);
    if (fault == EXTRACT_FAULT_NONE)
        return ERR_OK;
    if (stage_must_stop(p))
        return stage_stopped(p);
    if (fault == EXTRACT_FAULT_NO_CHILD)
        return put_off(p);
    return stage_refuse(p, "%s", extract_fault_text(fault));
}

static enum err read_upload(struct pipeline *p)
{
    struct memory_file file;
    memory_file_init(&file);
    enum err error = read_blocks(p, &file);
    if (error == ERR_OK)
        error = extract(p, &file);
    memory_file_fini(&file);
    return error;
}

enum err stage_parse(struct pipeline *p)
{
    if (p->settings->may_pass && !extract_can_read_pdf() &&
        extract_kind_named(p->job.facts.kind) == EXTRACT_PDF) {
        (void)stage_refuse(p, "Waiting for an indexer that can read PDF: this one has no pdftotext "
                              "(package poppler-utils).");
        return ERR_FILE_TYPE;
    }
    enum err error = stage_report(p, JOB_PARSE, 0, "Reading the file");
    if (error == ERR_OK)
        error = read_upload(p);
    if (error != ERR_OK)
        return error;
    uint64_t chars = text_length(buf_str(&p->text));
    error = stage_report(p, JOB_PARSE, 80, "Storing %llu %s", COUNTED(chars, "character"));
    return error == ERR_OK ? store_text(p, chars) : error;
}

/* Reads the next blocks of the stored text from number `*n` on, the first time its pages too, and
 * counts them. */
static enum err load_blocks(struct pipeline *p, uint64_t *n)
{
    struct str part;
    struct lines reply;
    call_job_text(job_call(&p->job), .job = p->job.facts.id, .lease = p->job.facts.lease,
                  .from = *n);
    enum err error = job_reply(&p->job, &reply.rest);
    if (error != ERR_OK)
        return error;
    bool is_sound = *n > 0 || (lines_next_part(&reply, &part) && text_pages_read(part, &p->pages));
    for (; is_sound && lines_next_part(&reply, &part); ++*n)
        is_sound = text_block_put(&p->text, part);
    return is_sound ? ERR_OK
                    : stage_refuse(p, "The stored text is damaged: upload the file again.");
}

/* The text of an earlier try, or of a document that is indexed again. */
enum err stage_load_text(struct pipeline *p)
{
    enum err error = stage_report(p, JOB_CHUNK, 0, "Reading the stored text");
    for (uint64_t n = 0, before = UINT64_MAX; error == ERR_OK && n != before;) {
        before = n;
        error = load_blocks(p, &n);
    }
    return error;
}

/* --- CHUNK ---------------------------------------------------------------------------------- */

enum err stage_chunk(struct pipeline *p)
{
    struct chunk_cursor cursor = {.text = buf_str(&p->text)};
    enum err error = stage_report(p, JOB_CHUNK, 20, "Splitting the text into passages");
    if (error != ERR_OK)
        return error;
    for (struct chunk next; chunk_next(&cursor, &next);) {
        next.page = text_pages_find(&p->pages, next.start_bytes);
        p->chunks = mem_grow(p->chunks, p->chunk_n, sizeof *p->chunks);
        p->chunks[p->chunk_n++] = next;
    }
    return p->chunk_n == 0 ? stage_refuse(p, "The document contains no text.") : ERR_OK;
}

/* --- EMBED ---------------------------------------------------------------------------------- */

static enum err keep_vectors(struct pipeline *p, uint32_t first, uint32_t n, const float *vectors,
                             uint32_t dimension)
{
    if (p->vectors == NULL) {
        p->dimension = dimension;
        p->vectors = malloc((size_t)p->chunk_n * dimension * sizeof *vectors);
        if (p->vectors == NULL)
            return stage_refuse(p, "The vectors of this document are too large for this machine.");
    }
    if (dimension != p->dimension)
        return stage_refuse(
            p, "The embedding model %s returned vectors of different dimensions for one document.",
            p->settings->embedder->name);
    memcpy(p->vectors + (size_t)first * dimension, vectors,
           (size_t)n * dimension * sizeof *vectors);
    return ERR_OK;
}

static enum err embed_batch(struct pipeline *p, uint32_t first, uint32_t n)
{
    struct str texts[EMBED_BATCH];
    float *vectors = NULL;
    uint32_t dimension = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct chunk *c = &p->chunks[first + i];
        texts[i] = (struct str){p->text.at + c->start_bytes, c->end_bytes - c->start_bytes};
    }
    struct embed_reason reason;
    if (!embed_texts(p->settings->embedder, texts, n, &p->job.must_stop, &vectors, &dimension,
                     &reason))
        return stage_must_stop(p)
                   ? stage_stopped(p)
                   : stage_refuse(p, "The embedding model %s returned no vectors: %s",
                                  p->settings->embedder->name, reason.text);
    enum err error = keep_vectors(p, first, n, vectors, dimension);
    free(vectors);
    return error;
}

enum err stage_embed(struct pipeline *p)
{
    for (uint32_t first = 0; first < p->chunk_n; first += EMBED_BATCH) {
        uint32_t left = p->chunk_n - first, n = left < EMBED_BATCH ? left : EMBED_BATCH;
        enum err error = stage_report(p, JOB_EMBED, (unsigned)(100ULL * first / p->chunk_n),
                                      "Embedding passage %u of %u", first + 1, p->chunk_n);
        if (error == ERR_OK)
            error = embed_batch(p, first, n);
        if (error != ERR_OK)
            return error;
    }
    return ERR_OK;
}

/* --- STORE ---------------------------------------------------------------------------------- */

/* Puts the vectors into the space's set, under this job's own names: until STORE nobody looks for
 * them, and what a lost job leaves goes to the trash. */
static enum err store_vectors(struct pipeline *p, struct str digest)
{
    size_t bytes = p->dimension * sizeof *p->vectors;
    for (uint32_t first = 0; first < p->chunk_n; first += VECTOR_BATCH) {
        uint32_t left = p->chunk_n - first, n = left < VECTOR_BATCH ? left : VECTOR_BATCH;
        struct verb_writer verb =
            begin_job_vectors(job_call(&p->job), .job = p->job.facts.id,
                              .lease = p->job.facts.lease, .digest = digest, .first = first);
        for (uint32_t i = first; i < first + n; i++) {
            const float *vector = p->vectors + (size_t)i * p->dimension;
            put_job_vectors_vector(&verb, .floats = ((struct str){(const char *)vector, bytes}));
        }
        end_verb(&verb);
        enum err error = job_done(&p->job);
        if (error == ERR_OK)
            error = stage_report(p, JOB_STORE, (unsigned)(60ULL * first / p->chunk_n),
                                 "Storing the vectors of %llu %s", COUNTED(p->chunk_n, "passage"));
        if (error != ERR_OK)
            return error;
    }
    return ERR_OK;
}

static enum err store_pack(struct pipeline *p)
{
    struct buf pack;
    struct str reply;
    enum err error;
    buf_init(&pack, PACK_MAX_BYTES);
    pack_build(&pack, buf_str(&p->text), p->chunks, p->chunk_n, p->is_set ? NULL : p->vectors,
               p->is_set ? 0 : p->dimension);
    if (pack.is_over) {
        error = stage_refuse(p, "The document is too large to be indexed.");
    } else {
        call_job_store(job_call(&p->job), .job = p->job.facts.id, .lease = p->job.facts.lease,
                       .model = str_of(p->settings->embedder->name), .dimension = p->dimension,
                       .backend = p->is_set ? JOB_STORE_SET : JOB_STORE_EXACT, .chunks = p->chunk_n,
                       .cap = p->settings->space.max_bytes, .version = PACK_VERSION,
                       .pack = buf_str(&pack));
        error = job_reply(&p->job, &reply);
    }
    buf_fini(&pack);
    if (error != ERR_OK)
        return error;
    struct lines lines = lines_of(reply);
    struct str word = lines_next(&lines);
    if (str_eq(word, STR("mismatch"))) {
        struct str model = lines_next(&lines);
        uint64_t dimension = lines_next_u64(&lines);
        if (!str_eq(model, str_of(p->settings->embedder->name)) || dimension != p->dimension)
            return stage_refuse_model(p, model, dimension);
        return stage_refuse(p, "Other documents were indexed first and store their vectors "
                               "differently: reindex this one.");
    }
    if (str_eq(word, STR("full")))
        return stage_refuse(
            p, "The storage limit of %llu MiB is reached. Delete documents you no longer need.",
            (unsigned long long)p->settings->space.max_bytes / MIB);
    return str_eq(word, STR("ok")) ? ERR_OK : ERR_INTERNAL;
}

enum err stage_store(struct pipeline *p)
{
    char digest[EMBED_DIGEST_BYTES];
    enum err error =
        stage_report(p, JOB_STORE, 0, "Storing %llu %s", COUNTED(p->chunk_n, "passage"));
    if (error == ERR_OK && p->is_set) {
        embed_digest(p->settings->embedder->name, p->dimension, digest);
        error = store_vectors(p, str_of(digest));
    }
    return error == ERR_OK ? store_pack(p) : error;
}
