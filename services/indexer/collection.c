/* SPDX-License-Identifier: MIT
 * collection.c - see collection.h.
 *
 * Unchanged files are found by reading two hashes, so their bytes need not be sent. The verbs still
 * decide: two concurrent ingests, or an interrupted one, end with one document per file. An
 * unfinished job of a document is finished here; if a node's indexer holds it, its progress is
 * polled. */
#include "services/indexer/collection_internal.h"

#include "generated/verbs.h"
#include "services/indexer/outdated.h"
#include "shared/base/json.h"
#include "shared/base/mem.h"
#include "shared/queue/lines.h"

#include <stdio.h>

enum { WAIT_MIN_MS = 5, WAIT_MAX_MS = 200, KEY_MAX_BYTES = 512 };

struct str collection_put_key(struct buf *key, const struct collection *c, const char *kind,
                              struct str of)
{
    buf_init(key, KEY_MAX_BYTES);
    buf_put(key, str_of(c->pipeline->prefix));
    buf_put(key, str_of(kind));
    buf_put(key, of);
    return buf_str(key);
}

static enum err plain(enum err error)
{
    return error == ERR_CONFLICT ? ERR_INTERNAL : error;
}

/* --- what is there -------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    return strcmp(((const struct collection_entry *)a)->name,
                  ((const struct collection_entry *)b)->name);
}

static void put_entry(struct collection *c, struct str name, struct str doc)
{
    struct buf plain_name;
    buf_init(&plain_name, FILE_NAME_MAX_BYTES + 1);
    if (doc.n == DOC_ID_BYTES && buf_put_unnamed(&plain_name, name)) {
        struct collection_entry *entry = &c->entries[c->n++];
        buf_put_char(&plain_name, 0);
        entry->name = strdup(plain_name.at);
        memcpy(entry->doc, doc.at, doc.n);
        entry->doc[doc.n] = 0;
    }
    buf_fini(&plain_name);
}

enum err collection_load(struct collection *c)
{
    struct buf key;
    struct blocking_answer answer;
    struct str words[] = {STR("HGETALL"), collection_put_key(&key, c, "paths:", str_of(c->space))};
    enum err error = blocking_command(c->pipeline->blocking, words, 2, 0, &answer);
    if (error == ERR_OK) {
        c->entries = mem_zeroed_n(answer.n / 2 + 1, sizeof *c->entries);
        for (size_t i = 0; i + 1 < answer.n; i += 2)
            put_entry(c, answer.at[i], answer.at[i + 1]);
        if (c->n > 1)
            qsort(c->entries, c->n, sizeof *c->entries, compare);
    }
    buf_fini(&key);
    return plain(error);
}

const struct collection_entry *collection_find(const struct collection *c, const char *name)
{
    struct collection_entry wanted = {.name = (char *)(uintptr_t)name};
    return c->n == 0 ? NULL : bsearch(&wanted, c->entries, c->n, sizeof wanted, compare);
}

/* The change of a file whose bytes are the same. Reading it again makes vectors, too. */
static enum file_change compare_index(const struct collection *c,
                                      const struct collection_entry *entry,
                                      const struct indexed_by *by)
{
    const struct embedder *embedder = c->pipeline->settings->embedder;
    uint32_t dimension = c->is_reindex ? c->dimension : 0;
    struct outdated outdated =
        outdated_of(by, extract_kind_of(str_of(entry->name)), embedder, dimension);
    bool is_old = !outdated_is_of_model(by, embedder, dimension);
    if (is_old && !c->is_reindex)
        return FILE_OLD;
    if (outdated.text)
        return FILE_READ_BEFORE;
    return is_old ? FILE_OLD : outdated.index ? FILE_PACKED_BEFORE : FILE_SAME;
}

enum err collection_compare(struct collection *c, const struct collection_entry *entry,
                            struct str sha, struct str url, enum file_change *ret_change)
{
    struct buf key, url_json;
    struct blocking_answer answer;
    struct str words[] = {STR("HMGET"),     collection_put_key(&key, c, "doc:", str_of(entry->doc)),
                          STR("sha"),       STR("status"),
                          STR("url"),       STR("kind"),
                          STR("readers"),   STR("model"),
                          STR("dimension"), STR("pack_version")};
    enum err error = blocking_command(c->pipeline->blocking, words, 10, 0, &answer);
    buf_init(&url_json, COLLECTION_JSON_MAX_BYTES);
    collection_put_url(&url_json, url);
    if (error == ERR_OK && answer.n == 8) {
        const struct str *at = answer.at;
        if (answer.at[0].at == NULL)
            *ret_change = FILE_NEW;
        else if (!str_eq(answer.at[0], sha) || !str_eq(answer.at[1], STR("INDEXED")) ||
                 !str_eq(answer.at[2], buf_str(&url_json)))
            *ret_change = FILE_CHANGED;
        else
            *ret_change = compare_index(c, entry,
                                        &(struct indexed_by){.kind = at[3],
                                                             .readers = at[4],
                                                             .model = at[5],
                                                             .dimension = at[6],
                                                             .pack_version = at[7]});
    }
    buf_fini(&url_json);
    buf_fini(&key);
    return error == ERR_OK && answer.n != 8 ? ERR_INTERNAL : plain(error);
}

/* --- putting -------------------------------------------------------------------------------- */

/* A job that is not ours to run: how far is it? */
static enum put_outcome check_job(struct collection *c, const char *job, struct buf *reason)
{
    struct buf key;
    struct blocking_answer answer;
    enum put_outcome outcome = PUT_NR; /* not ended yet */
    struct str words[] = {STR("HMGET"), collection_put_key(&key, c, "job:", str_of(job)),
                          STR("status"), STR("error")};
    enum err error = blocking_command(c->pipeline->blocking, words, 4, 0, &answer);
    if (error != ERR_OK || answer.n != 2) {
        outcome = PUT_STOPPED;
    } else if (str_eq(answer.at[0], STR("DONE"))) {
        outcome = PUT_INDEXED;
    } else if (str_eq(answer.at[0], STR("FAILED"))) {
        json_t *text = NULL;
        char why[64];
        outcome = PUT_FAILED;
        if (json_parse(answer.at[1], why, sizeof why, &text))
            buf_put(reason, json_str(text));
        json_decref(text);
    } else if (answer.at[0].at == NULL || str_eq(answer.at[0], STR("CANCELLED"))) {
        outcome = PUT_FAILED;
        buf_lit(reason, "Its document was deleted or replaced in the meantime.");
    }
    buf_fini(&key);
    return outcome;
}

static enum put_outcome run_job(struct collection *c, const char *job, struct buf *reason)
{
    struct pipeline *p = c->pipeline;
    for (unsigned wait_ms = WAIT_MIN_MS;;) {
        enum pipeline_outcome ran = pipeline_run(p, STR(""), str_of(job));
        if (ran == PIPELINE_DONE)
            return PUT_INDEXED;
        if (ran == PIPELINE_FAILED || ran == PIPELINE_DELAYED) {
            buf_put(reason, buf_str(&p->reason));
            return PUT_FAILED;
        }
        bool must_end = ran == PIPELINE_CUT || atomic_load(&p->is_stopping);
        enum put_outcome ended = must_end ? PUT_STOPPED : check_job(c, job, reason);
        if (ended != PUT_NR)
            return ended;
        blocking_pause(p->blocking, wait_ms);
        wait_ms = wait_ms * 2 < WAIT_MAX_MS ? wait_ms * 2 : WAIT_MAX_MS;
    }
}

enum put_outcome collection_put(struct collection *c, const struct file *file, struct str bytes,
                                struct str sha, struct str url, struct buf *reason)
{
    struct collection_uploaded uploaded;
    enum err error = collection_upload(c, file, bytes, sha, url, &uploaded);
    if (error == ERR_REDIS_LOST)
        return PUT_STOPPED;
    if (error != ERR_OK || uploaded.is_full || uploaded.is_many) {
        if (uploaded.is_full)
            buf_printf(reason, "The collection is full: the limit is %llu MiB (--owner-max-mib).",
                       (unsigned long long)c->pipeline->settings->space.max_bytes >> 20);
        else if (uploaded.is_many)
            buf_lit(reason, "The collection has reached its maximum number of documents.");
        else if (error == ERR_TOO_LARGE)
            buf_lit(reason, "Its name is too long.");
        else
            buf_lit(reason, "Redis refused it: see the log.");
        return PUT_FAILED;
    }
    return run_job(c, uploaded.job, reason);
}

enum put_outcome collection_reindex(struct collection *c, const struct collection_entry *entry,
                                    struct buf *reason)
{
    char job[DOC_ID_BYTES + 1];
    str_random_uuid(job);
    struct blocking_call call = {.blocking = c->pipeline->blocking};
    call_doc_reindex(blocking_start(&call), .space = str_of(c->space), .doc = str_of(entry->doc),
                     .job = str_of(job), .account = STR(""), .key = STR(""));
    if (call.error == ERR_REDIS_LOST)
        return PUT_STOPPED;
    struct lines lines = lines_of(call.error == ERR_OK ? call.reply : STR(""));
    if (!str_eq(lines_next(&lines), STR("ok")) || !collection_read_id(&lines, job)) {
        buf_lit(reason, "Its document no longer exists or has no text: run this command again.");
        return PUT_FAILED;
    }
    return run_job(c, job, reason);
}

enum err collection_remove(struct collection *c, const struct collection_entry *entry)
{
    struct blocking_call call = {.blocking = c->pipeline->blocking};
    call_doc_delete(blocking_start(&call), .space = str_of(c->space), .doc = str_of(entry->doc));
    return call.error;
}

void collection_init(struct collection *c, struct pipeline *pipeline, struct str name)
{
    struct buf space;
    *c = (struct collection){.pipeline = pipeline};
    buf_init(&space, sizeof c->space);
    buf_lit(&space, "c:");
    buf_put_name(&space, name);
    buf_put_char(&space, 0);
    memcpy(c->space, space.at, space.n);
    pipeline_use(pipeline, shard_of(str_of(c->space), pipeline->settings->map->n),
                 blocking_patience_ms(pipeline->blocking));
    buf_fini(&space);
}

void collection_fini(struct collection *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->entries[i].name);
    free(c->entries);
}
