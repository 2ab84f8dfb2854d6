/* SPDX-License-Identifier: MIT
 * upload.c - POST /v1/files: a form with a file and its purpose (lua/files/file_store.lua).
 *
 *   request -> file_begin: may it? -> its blocks are pushed (blocks.h) -> file_store -> answered
 *
 * A refused upload stores nothing, and sends nothing to Redis. The bytes are sent out of the
 * request's own memory, which is counted (--body-memory-mib). The blocks of a client that leaves
 * are deleted, and those of a node that dies expire. */
#include "services/openai/files/files.h"

#include "generated/verbs.h"
#include "shared/ask/storage_limit.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/multipart.h"
#include "shared/http/request/respond.h"
#include "shared/redis/blocks.h"

enum { NAME_MAX_BYTES = 2048 };

struct upload {
    struct request *r;
    struct file_owner owner;
    struct push push;
    struct str bytes; /* in the request's body */
    struct str purpose, filename_json, id;
    struct str key; /* of the list of its blocks */
    uint64_t expires_s;
};

/* --- the form --------------------------------------------------------------------------------- */

/* Finds a field. Returns false, and answers 400 if the form is malformed; without the field
 * `ret_part->bytes.at` is NULL. */
static bool find_field(struct request *r, const char *name, struct multipart_part *ret_part)
{
    const char *reason;
    struct str type = request_header(r, "content-type");
    *ret_part = (struct multipart_part){.bytes = {NULL, 0}};
    if (type.at == NULL || type.n < 19 ||
        !str_eq_nocase((struct str){type.at, 19}, STR("multipart/form-data"))) {
        respond_error(r, ERR_BAD_REQUEST,
                      "Send a multipart/form-data form with the fields `file` and `purpose`.");
        return false;
    }
    if (multipart_find(type, request_entity(r), name, ret_part, &reason))
        return true;
    *ret_part = (struct multipart_part){.bytes = {NULL, 0}};
    if (reason == multipart_no_field)
        return true;
    respond_error(r, ERR_BAD_REQUEST, reason);
    return false;
}

static bool read_purpose(struct upload *upload)
{
    struct multipart_part part;
    if (!find_field(upload->r, "purpose", &part))
        return false;
    upload->purpose = part.bytes;
    if (part.bytes.at != NULL &&
        (str_eq(part.bytes, STR("batch")) || str_eq(part.bytes, STR("user_data"))))
        return true;
    explain(upload->r, ERR_BAD_REQUEST, "The field `purpose` must be `batch` or `user_data`%s%s.",
            part.bytes.at == NULL ? "; it is missing" : ", not ",
            part.bytes.at == NULL ? "" : explain_quoted(upload->r, part.bytes));
    return false;
}

static bool read_expiry(struct upload *upload)
{
    struct multipart_part anchor, seconds;
    if (!find_field(upload->r, "expires_after[anchor]", &anchor) ||
        !find_field(upload->r, "expires_after[seconds]", &seconds))
        return false;
    upload->expires_s = FILE_KEPT_S;
    if (anchor.bytes.at == NULL && seconds.bytes.at == NULL)
        return true;
    if (anchor.bytes.at != NULL && str_eq(anchor.bytes, STR("created_at")) &&
        seconds.bytes.at != NULL && str_parse_u64(seconds.bytes, &upload->expires_s) &&
        upload->expires_s >= FILE_EXPIRES_MIN_S && upload->expires_s <= FILE_EXPIRES_MAX_S)
        return true;
    respond_error(upload->r, ERR_BAD_REQUEST,
                  "`expires_after` must have the anchor `created_at` and 3600 to 2592000 seconds.");
    return false;
}

static bool read_file(struct upload *upload)
{
    struct multipart_part part;
    struct request *r = upload->r;
    struct buf name, json;
    if (!find_field(r, "file", &part))
        return false;
    if (part.bytes.at == NULL) {
        respond_error(r, ERR_BAD_REQUEST, "The field `file` is missing.");
        return false;
    }
    if (part.bytes.n > FILE_MOST_BYTES) {
        explain(r, ERR_TOO_LARGE,
                "The file is too large: the maximum is 25 MiB, and it has %llu %s.",
                COUNTED(part.bytes.n, "byte"));
        return false;
    }
    upload->bytes = part.bytes;
    buf_init(&name, NAME_MAX_BYTES);
    buf_init(&json, 6 * NAME_MAX_BYTES);
    multipart_put_filename(&name, &part);
    buf_put_json(&json, name.n > 0 ? buf_str(&name) : STR("file"));
    upload->filename_json = request_copy(r, buf_str(&json));
    buf_fini(&name);
    buf_fini(&json);
    return true;
}

/* --- storing ---------------------------------------------------------------------------------- */

static struct blocks *blocks_at(const struct upload *upload)
{
    return file_ways_blocks(openai_of(upload->r)->file_ways, upload->owner.owner);
}

static void on_stored(struct request *r, enum err error, struct str reply)
{
    struct upload *upload = r->state;
    struct lines lines = lines_of(reply);
    struct buf b;
    if (error == ERR_STORE_FULL) /* it has not run: the blocks would keep what room there is */
        blocks_drop(blocks_at(upload), upload->key);
    if (file_refuse(r, error, lines_next(&lines), &lines))
        return;
    buf_init(&b, 8192);
    file_put(&b, &lines, NULL);
    respond_json(r, 200, &b);
    buf_fini(&b);
}

static void on_pushed(struct push *push, enum err error)
{
    struct upload *upload = container_of(push, struct upload, push);
    struct request *r = upload->r;
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    call_file_store(
        request_call(r, on_stored), .owner = upload->owner.owner, .account = r->account->name_token,
        .user = upload->owner.person.user_name, .file = upload->id, .purpose = upload->purpose,
        .filename = upload->filename_json, .bytes = upload->bytes.n,
        .blocks = blocks_of(upload->bytes.n), .expires_s = upload->expires_s,
        .max_stored = storage_limit_of_account(r), .max_stored_per_user = storage_limit_of_user(r));
}

static void on_begun(struct request *r, enum err error, struct str reply)
{
    struct upload *upload = r->state;
    struct lines lines = lines_of(reply);
    if (!file_refuse(r, error, lines_next(&lines), &lines))
        blocks_push(blocks_at(upload), &upload->push, upload->key, upload->bytes, on_pushed);
}

static void begin(struct upload *upload)
{
    struct request *r = upload->r;
    char id[FILE_ID_CHARS + 1];
    struct buf *scratch = &r->server->scratch;
    str_random_hex(FILE_ID_CHARS / 2, id);
    upload->id = request_copy(r, str_of(id));
    buf_clear(scratch);
    buf_put(scratch, str_of(file_ways_prefix(openai_of(r)->file_ways, upload->owner.owner)));
    buf_lit(scratch, "pushed:");
    buf_put(scratch, upload->id);
    upload->key = request_copy(r, buf_str(scratch));
    call_file_begin(
        request_call(r, on_begun), .owner = upload->owner.owner, .account = r->account->name_token,
        .user = upload->owner.person.user_name, .file = upload->id, .bytes = upload->bytes.n,
        .max_stored = storage_limit_of_account(r), .max_stored_per_user = storage_limit_of_user(r));
}

static void on_gone(struct request *r)
{
    struct upload *upload = r->state;
    blocks_cancel(&upload->push);
}

void openai_upload_file(struct request *r)
{
    struct upload *upload = request_alloc(r, sizeof *upload);
    *upload = (struct upload){.r = r};
    if (!file_owner_of(r, &upload->owner) || !read_purpose(upload) || !read_expiry(upload) ||
        !read_file(upload))
        return;
    r->state = upload;
    r->on_gone = on_gone;
    begin(upload);
}
