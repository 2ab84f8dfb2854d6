/* SPDX-License-Identifier: MIT
 * collection_upload.c - see collection_internal.h.
 *
 *   upload_begin --> RPUSHX, block after block --> upload
 *         ^                                           |
 *         '---- gone: under another name once more ---'
 *
 * A command that is resent after a lost connection may already have run, so a block could be stored
 * twice. RPUSHX returns the number of blocks; if it differs from the expected number, the whole
 * file is sent again, as when Redis lost the list. */
#include "services/indexer/collection_internal.h"

#include "generated/verbs.h"
#include "shared/base/shown.h"
#include "shared/extract/extract.h"
#include "shared/redis/blocks.h"

#include <stdlib.h>

enum { TRIES = 3 };

struct upload {
    struct collection *c;
    const struct file *file;
    enum extract_kind kind;
    struct str bytes, sha;
    struct buf filename, name, url; /* as they are stored */
    char doc[DOC_ID_BYTES + 1], job[DOC_ID_BYTES + 1];
};

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

/* As it is stored: JSON, or nothing where there is no page. */
void collection_put_url(struct buf *json, struct str url)
{
    if (url.n > 0)
        buf_put_json(json, url);
}

bool collection_read_id(struct lines *lines, char id[DOC_ID_BYTES + 1])
{
    struct str line = lines_next(lines);
    if (line.n > DOC_ID_BYTES)
        return false;
    memcpy(id, line.at, line.n);
    id[line.n] = 0;
    return true;
}

/* The reply's word decides: ERR_CONFLICT is for "gone". */
static enum err read_reply(enum err error, struct str word, struct lines *lines,
                           struct collection_uploaded *ret_uploaded)
{
    if (error != ERR_OK)
        return error;
    if (str_eq(word, STR("gone")))
        return ERR_CONFLICT;
    ret_uploaded->is_full = str_eq(word, STR("full"));
    ret_uploaded->is_many = str_eq(word, STR("many"));
    if (ret_uploaded->is_full || ret_uploaded->is_many)
        return ERR_OK;
    bool is_there = str_eq(word, STR("ok")) || str_eq(word, STR("duplicate"));
    return is_there && collection_read_id(lines, ret_uploaded->doc) &&
                   collection_read_id(lines, ret_uploaded->job)
               ? ERR_OK
               : ERR_INTERNAL;
}

/* `ret_is_due`: its bytes are to come. Nothing limits how often: the line on that is empty. */
static enum err begin(struct upload *u, struct collection_uploaded *ret_uploaded, bool *ret_is_due)
{
    struct blocking_call call = {.blocking = u->c->pipeline->blocking, .reply = STR("")};
    str_random_uuid(u->doc);
    str_random_uuid(u->job);
    call_upload_begin(blocking_start(&call), .space = str_of(u->c->space), .limits = STR(""),
                      .doc = str_of(u->doc), .filename = buf_str(&u->filename), .size = u->bytes.n,
                      .sha = u->sha, .cap = u->c->pipeline->settings->space.max_bytes,
                      .path = buf_str(&u->name), .url = buf_str(&u->url), .key = STR(""),
                      .kind = str_of(extract_kind_name(u->kind)),
                      .readers = extract_readers_version(u->kind));
    struct lines lines = lines_of(call.reply);
    struct str word = lines_next(&lines);
    *ret_is_due = call.error == ERR_OK && str_eq(word, STR("ok"));
    if (*ret_is_due)
        return ERR_OK;
    lines_next(&lines);
    return read_reply(call.error, word, &lines, ret_uploaded);
}

/* ERR_CONFLICT: the list is not what it should be. */
static enum err push(struct upload *u)
{
    struct buf key;
    struct blocking_answer answer;
    struct str rest = u->bytes;
    struct str words[] = {STR("RPUSHX"), collection_put_key(&key, u->c, "pushed:", str_of(u->doc)),
                          STR("")};
    enum err error = ERR_OK;
    for (uint64_t i = 0, n = blocks_of(rest.n); error == ERR_OK && i < n; i++) {
        uint64_t in_list = 0;
        words[2] = (struct str){rest.at, rest.n < BLOCK_BYTES ? rest.n : BLOCK_BYTES};
        rest = (struct str){rest.at + words[2].n, rest.n - words[2].n};
        error = blocking_command(u->c->pipeline->blocking, words, 3, 0, &answer);
        if (error == ERR_OK && (answer.n != 1 || !str_parse_u64(answer.at[0], &in_list) ||
                                in_list != i + 2)) /* the first element is upload_begin's */
            error = ERR_CONFLICT;
    }
    if (error == ERR_CONFLICT) {
        struct str drop[] = {STR("UNLINK"), words[1]};
        if (blocking_command(u->c->pipeline->blocking, drop, 2, 0, &answer) == ERR_REDIS_LOST)
            error = ERR_REDIS_LOST;
    }
    buf_fini(&key);
    return error;
}

static enum err store(struct upload *u, struct collection_uploaded *ret_uploaded)
{
    struct blocking_call call = {.blocking = u->c->pipeline->blocking, .reply = STR("")};
    call_upload(blocking_start(&call), .space = str_of(u->c->space), .doc = str_of(u->doc),
                .job = str_of(u->job), .filename = buf_str(&u->filename),
                .content_type = str_of(extract_content_type(str_of(u->file->name))),
                .kind = str_of(extract_kind_name(u->kind)), .size = u->bytes.n,
                .blocks = blocks_of(u->bytes.n), .sha = u->sha,
                .cap = u->c->pipeline->settings->space.max_bytes, .path = buf_str(&u->name),
                .url = buf_str(&u->url), .is_reindex = u->c->is_reindex, .account = STR(""),
                .key = STR(""), .readers = extract_readers_version(u->kind));
    struct lines lines = lines_of(call.reply);
    struct str word = lines_next(&lines);
    return read_reply(call.error, word, &lines, ret_uploaded);
}

static enum err try_upload(struct upload *u, struct collection_uploaded *ret_uploaded)
{
    bool is_due;
    enum err error = begin(u, ret_uploaded, &is_due);
    if (error == ERR_OK && is_due)
        error = push(u);
    return error == ERR_OK && is_due ? store(u, ret_uploaded) : error;
}

enum err collection_upload(struct collection *c, const struct file *file, struct str bytes,
                           struct str sha, struct str url, struct collection_uploaded *ret_uploaded)
{
    struct upload u = {.c = c,
                       .file = file,
                       .kind = extract_kind_of(str_of(file->name)),
                       .bytes = bytes,
                       .sha = sha};
    enum err error = ERR_CONFLICT;
    *ret_uploaded = (struct collection_uploaded){.is_full = false};
    buf_init(&u.filename, COLLECTION_JSON_MAX_BYTES);
    buf_init(&u.name, FILE_NAME_MAX_BYTES * 3);
    buf_init(&u.url, COLLECTION_JSON_MAX_BYTES);
    put_filename(&u.filename, file->name);
    buf_put_name(&u.name, str_of(file->name));
    collection_put_url(&u.url, url);
    if (u.filename.is_over || u.name.is_over || u.url.is_over)
        error = ERR_TOO_LARGE;
    for (int i = 0; i < TRIES && error == ERR_CONFLICT; i++)
        error = try_upload(&u, ret_uploaded);
    buf_fini(&u.filename);
    buf_fini(&u.name);
    buf_fini(&u.url);
    return error == ERR_CONFLICT ? ERR_INTERNAL : error;
}
