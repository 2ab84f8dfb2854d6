/* SPDX-License-Identifier: MIT
 * collection.c - see collection.h.
 *
 * What is unchanged is found by reading two hashes, so that its bytes need not be sent. What the
 * verbs decide counts all the same: two ingests at once, or one that was interrupted, end up with
 * one document per file. A document whose job was not finished has it finished here; when a node's
 * indexer holds it, we look now and then how far it is. */
#include "services/indexer/collection.h"

#include "generated/verbs.h"
#include "shared/base/json.h"
#include "shared/base/shown.h"
#include "shared/extract/extract.h"
#include "shared/queue/lines.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAIT_MIN_MS = 5, WAIT_MAX_MS = 200, KEY_MAX_BYTES = 512, JSON_MAX_BYTES = 8192 };

static struct str put_key(struct buf *key, const struct collection *c, const char *kind,
                          struct str of)
{
    buf_init(key, KEY_MAX_BYTES);
    buf_put(key, str_of(c->pipeline->settings->prefix));
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
    struct sync_answer answer;
    struct str words[] = {STR("HGETALL"), put_key(&key, c, "paths:", str_of(c->space))};
    enum err error = sync_command(c->pipeline->sync, words, 2, 0, &answer);
    if (error == ERR_OK) {
        c->entries = calloc(answer.n / 2 + 1, sizeof *c->entries);
        if (c->entries == NULL)
            abort();
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

/* As it is stored: JSON, or nothing where there is no page. */
static void put_url(struct buf *json, struct str url)
{
    if (url.n > 0)
        buf_put_json(json, url);
}

static bool is_of_model(const struct collection *c, struct str model, struct str dimension)
{
    uint64_t number = 0;
    return str_eq(model, str_of(c->pipeline->settings->embedder->name)) &&
           (!c->is_reindex || (str_parse_u64(dimension, &number) && number == c->dimension));
}

enum err collection_compare(struct collection *c, const struct collection_entry *entry,
                            struct str sha, struct str url, enum file_change *ret_change)
{
    struct buf key, url_json;
    struct sync_answer answer;
    struct str words[] = {STR("HMGET"),    put_key(&key, c, "doc:", str_of(entry->doc)),
                          STR("sha"),      STR("status"),
                          STR("url"),      STR("model"),
                          STR("dimension")};
    enum err error = sync_command(c->pipeline->sync, words, 7, 0, &answer);
    buf_init(&url_json, JSON_MAX_BYTES);
    put_url(&url_json, url);
    if (error == ERR_OK && answer.n == 5) {
        if (answer.at[0].at == NULL)
            *ret_change = FILE_NEW;
        else if (!str_eq(answer.at[0], sha) || !str_eq(answer.at[1], STR("INDEXED")) ||
                 !str_eq(answer.at[2], buf_str(&url_json)))
            *ret_change = FILE_CHANGED;
        else
            *ret_change = is_of_model(c, answer.at[3], answer.at[4]) ? FILE_SAME : FILE_OLD;
    }
    buf_fini(&url_json);
    buf_fini(&key);
    return error == ERR_OK && answer.n != 5 ? ERR_INTERNAL : plain(error);
}

/* --- putting -------------------------------------------------------------------------------- */

/* The name as people see it: the last segment, as a JSON string. */
static void put_filename(struct buf *json, const char *name)
{
    const char *slash = strrchr(name, '/');
    struct buf clean;
    buf_init(&clean, FILE_NAME_MAX_BYTES * 3);
    buf_put_shown(&clean, str_of(slash == NULL ? name : slash + 1));
    buf_put_json(json, buf_str(&clean));
    buf_fini(&clean);
}

struct uploaded {
    char doc[DOC_ID_BYTES + 1], job[DOC_ID_BYTES + 1];
    bool is_full, is_many;
};

static bool read_id(struct lines *lines, char id[DOC_ID_BYTES + 1])
{
    struct str line = lines_next(lines);
    if (line.n > DOC_ID_BYTES)
        return false;
    memcpy(id, line.at, line.n);
    id[line.n] = 0;
    return true;
}

static enum err upload(struct collection *c, const struct file *file, struct str bytes,
                       struct str sha, struct str url, struct uploaded *ret_uploaded)
{
    char doc[DOC_ID_BYTES + 1], job[DOC_ID_BYTES + 1];
    struct buf filename, name, url_json;
    struct sync_call call = {.sync = c->pipeline->sync, .reply = STR("")};
    enum extract_kind kind = extract_kind_of(str_of(file->name));
    str_random_hex(DOC_ID_BYTES / 2, doc);
    str_random_hex(DOC_ID_BYTES / 2, job);
    buf_init(&filename, JSON_MAX_BYTES);
    buf_init(&name, FILE_NAME_MAX_BYTES * 3);
    buf_init(&url_json, JSON_MAX_BYTES);
    put_filename(&filename, file->name);
    buf_put_name(&name, str_of(file->name));
    put_url(&url_json, url);
    if (filename.is_over || name.is_over || url_json.is_over)
        call.error = ERR_TOO_LARGE;
    call_upload(sync_start(&call), .space = str_of(c->space), .limits = STR(""), .doc = str_of(doc),
                .job = str_of(job), .filename = buf_str(&filename),
                .content_type = str_of(extract_content_type(str_of(file->name))),
                .kind = str_of(extract_kind_name(kind)), .size = bytes.n, .sha = sha,
                .bytes = bytes, .cap = c->pipeline->settings->space.max_bytes,
                .path = buf_str(&name), .url = buf_str(&url_json), .is_reindex = c->is_reindex);
    enum err error = call.error;
    struct lines lines = lines_of(call.reply);
    struct str word = lines_next(&lines);
    bool is_there = str_eq(word, STR("ok")) || str_eq(word, STR("duplicate"));
    *ret_uploaded = (struct uploaded){.is_full = str_eq(word, STR("full")),
                                      .is_many = str_eq(word, STR("many"))};
    if (error == ERR_OK && !ret_uploaded->is_full && !ret_uploaded->is_many &&
        !(is_there && read_id(&lines, ret_uploaded->doc) && read_id(&lines, ret_uploaded->job)))
        error = ERR_INTERNAL;
    buf_fini(&filename);
    buf_fini(&name);
    buf_fini(&url_json);
    return error;
}

/* A job that is not ours to run: how far is it? */
static enum put_outcome look_at_job(struct collection *c, const char *job, struct buf *reason)
{
    struct buf key;
    struct sync_answer answer;
    enum put_outcome outcome = PUT_NR; /* not ended yet */
    struct str words[] = {STR("HMGET"), put_key(&key, c, "job:", str_of(job)), STR("status"),
                          STR("error")};
    enum err error = sync_command(c->pipeline->sync, words, 4, 0, &answer);
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
        buf_lit(reason, "Its document was deleted, or replaced, meanwhile.");
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
        enum put_outcome ended = must_end ? PUT_STOPPED : look_at_job(c, job, reason);
        if (ended != PUT_NR)
            return ended;
        sync_pause(p->sync, wait_ms);
        wait_ms = wait_ms * 2 < WAIT_MAX_MS ? wait_ms * 2 : WAIT_MAX_MS;
    }
}

enum put_outcome collection_put(struct collection *c, const struct file *file, struct str bytes,
                                struct str sha, struct str url, struct buf *reason)
{
    struct uploaded uploaded;
    enum err error = upload(c, file, bytes, sha, url, &uploaded);
    if (error == ERR_REDIS_LOST)
        return PUT_STOPPED;
    if (error != ERR_OK || uploaded.is_full || uploaded.is_many) {
        if (uploaded.is_full)
            buf_printf(reason, "The collection is full: %llu MiB may be stored (--owner-max-mib).",
                       (unsigned long long)c->pipeline->settings->space.max_bytes >> 20);
        else if (uploaded.is_many)
            buf_lit(reason, "The collection holds as many documents as it may.");
        else if (error == ERR_TOO_LARGE)
            buf_lit(reason, "Its name is too long.");
        else
            buf_lit(reason, "Redis refused it; the log says why.");
        return PUT_FAILED;
    }
    return run_job(c, uploaded.job, reason);
}

enum put_outcome collection_reindex(struct collection *c, const struct collection_entry *entry,
                                    struct buf *reason)
{
    char job[DOC_ID_BYTES + 1];
    str_random_hex(DOC_ID_BYTES / 2, job);
    struct sync_call call = {.sync = c->pipeline->sync};
    call_doc_reindex(sync_start(&call), .space = str_of(c->space), .doc = str_of(entry->doc),
                     .job = str_of(job));
    if (call.error == ERR_REDIS_LOST)
        return PUT_STOPPED;
    struct lines lines = lines_of(call.error == ERR_OK ? call.reply : STR(""));
    if (!str_eq(lines_next(&lines), STR("ok")) || !read_id(&lines, job)) {
        buf_lit(reason, "Its document is gone, or has no text: run this again.");
        return PUT_FAILED;
    }
    return run_job(c, job, reason);
}

enum err collection_remove(struct collection *c, const struct collection_entry *entry)
{
    struct sync_call call = {.sync = c->pipeline->sync};
    call_doc_delete(sync_start(&call), .space = str_of(c->space), .doc = str_of(entry->doc));
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
    buf_fini(&space);
}

void collection_fini(struct collection *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->entries[i].name);
    free(c->entries);
}
