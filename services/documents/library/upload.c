/* SPDX-License-Identifier: MIT
 * upload.c - POST /api/docs/upload: a file into its owner's documents (lua/documents/upload.lua).
 *
 *   request -> CHECKED --> BEGUN ----> PUSHING ---> STORING ---> answered
 *              its digest  upload_begin  its blocks   upload
 *                          may it?       (blocks.h)   they are a document now
 *
 * A refused upload stores nothing: upload_begin checks the nonce, the owner's limits, duplicates
 * and storage before a block is sent; `upload` checks again and deletes the blocks of a refused
 * upload. The bytes are sent out of the request's own memory, which is counted (--body-memory-mib).
 * The blocks of a client that leaves are deleted, and those of a node that dies expire. The file
 * extension determines the type, and the first bytes must agree; the client's content type is
 * ignored. */
#include "services/documents/handlers.h"

#include "generated/verbs.h"
#include "shared/base/sm.h"
#include "shared/extract/extract.h"
#include "shared/http/request/explain.h"
#include "shared/http/request/multipart.h"
#include "shared/http/request/once.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHA256_BYTES = 32, MIB = 1 << 20, STEP_BYTES = MIB };
enum upload_state { UPLOAD_CHECKED, UPLOAD_BEGUN, UPLOAD_PUSHING, UPLOAD_STORING, UPLOAD_ENDED };

static const struct sm_state states[] = {
    [UPLOAD_CHECKED] = {"CHECKED", SM(UPLOAD_BEGUN)},
    [UPLOAD_BEGUN] = {"BEGUN", SM(UPLOAD_PUSHING) | SM(UPLOAD_ENDED)},
    [UPLOAD_PUSHING] = {"PUSHING", SM(UPLOAD_STORING) | SM(UPLOAD_ENDED)},
    [UPLOAD_STORING] = {"STORING", SM(UPLOAD_ENDED)},
    [UPLOAD_ENDED] = {"ENDED", 0},
};
static const struct sm sm = SM_OF("upload", states);

struct upload {
    struct request *r;
    struct owner owner;
    enum upload_state state;
    uint64_t number; /* for the log of its states */
    struct push push;
    struct str bytes; /* in the request's body */
    EVP_MD_CTX *hash;
    size_t hashed_n;
    struct str filename_json, content_type, sha, doc;
    bool is_detail;
    struct str key; /* of the list of its blocks */
    enum extract_kind kind;
};

/* --- the file --------------------------------------------------------------------------------- */

static bool refuse(struct request *r, enum err error, const char *detail)
{
    respond_error(r, error, detail);
    return false;
}

/* Finds the file in the form; answers 400 and returns false when there is none. */
static bool find_file(struct request *r, struct multipart_part *ret_part)
{
    const char *reason;
    struct str type = request_header(r, "content-type");
    struct str body = request_entity(r);
    if (type.n < 19 || !str_eq_nocase((struct str){type.at, 19}, STR("multipart/form-data")))
        return refuse(r, ERR_MISSING_FILE,
                      "Send a multipart/form-data form with the file in its field `file`.");
    if (!multipart_find(type, body, "file", ret_part, &reason))
        return refuse(r, reason == multipart_no_field ? ERR_MISSING_FILE : ERR_BAD_REQUEST,
                      reason == multipart_no_field ? NULL : reason);
    if (ret_part->filename.n == 0)
        return refuse(r, ERR_MISSING_FILE,
                      "No file was selected: the field `file` has no file name.");
    return true;
}

/* Fills in what is stored of it; answers and returns false when it is no document. */
static bool read_file(struct upload *upload, const struct multipart_part *part)
{
    struct request *r = upload->r;
    uint64_t most = documents_of(r)->settings->upload_max_bytes;
    struct buf *scratch = &r->server->scratch;
    if (part->bytes.n > most) {
        explain(r, ERR_FILE_TOO_LARGE,
                "The file is too large: the maximum is %llu MiB, and it has %llu %s.",
                (unsigned long long)(most / MIB), COUNTED(part->bytes.n, "byte"));
        return false;
    }
    buf_clear(scratch);
    multipart_put_filename(scratch, part);
    struct str filename = request_copy(r, buf_str(scratch));
    if (filename.n == 0)
        return refuse(r, ERR_MISSING_FILE, "The file name contains no printable character.");
    enum extract_kind kind = extract_kind_of(filename);
    enum extract_fault fault =
        kind == EXTRACT_NONE ? extract_refusal(filename) : extract_sniff(kind, part->bytes);
    if (fault != EXTRACT_FAULT_NONE) {
        explain(r, ERR_FILE_TYPE, "%s (The file is called %s.)", extract_fault_text(fault),
                explain_quoted(r, filename));
        return false;
    }
    buf_clear(scratch);
    buf_put_json(scratch, filename);
    upload->filename_json = request_copy(r, buf_str(scratch));
    upload->content_type = str_of(extract_content_type(filename));
    upload->kind = kind;
    upload->bytes = part->bytes;
    return true;
}

/* --- storing ---------------------------------------------------------------------------------- */

static struct blocks *blocks_at(const struct upload *upload)
{
    return documents_blocks(documents_of(upload->r), upload->owner.space);
}

static void move(struct upload *upload, enum upload_state to)
{
    upload->state = sm_move(&sm, upload->number, upload->state, to);
}

static void refuse_full(struct request *r, struct lines *rest)
{
    char detail[192];
    unsigned long long used = lines_next_u64(rest), cap = lines_next_u64(rest);
    snprintf(detail, sizeof detail,
             "Not enough storage for this document: %.1f of %.1f MiB are used. Delete documents "
             "you no longer need.",
             (double)used / MIB, (double)cap / MIB);
    respond_error(r, ERR_STORAGE_FULL, detail);
}

/* `tag`: "ok", "made" under this key before, or "duplicate". */
static void answer(const struct upload *upload, struct str tag, struct lines *rest)
{
    struct request *r = upload->r;
    struct buf *b = &r->server->scratch;
    struct str doc = lines_next(rest), job = lines_next(rest), status = lines_next(rest);
    struct str stored_json = lines_next(rest); /* it may have been sent under another name */
    bool is_new = !str_eq(tag, STR("duplicate"));
    if (str_eq(tag, STR("ok")))
        metrics_add(r->server->metrics, METRIC_UPLOADS, 1);
    buf_clear(b);
    buf_lit(b, "{\"documentId\":");
    buf_put_json(b, doc);
    buf_lit(b, ",\"jobId\":");
    buf_put_json(b, job);
    buf_lit(b, ",\"status\":");
    buf_put_json(b, is_new ? STR("QUEUED") : status);
    buf_lit(b, ",\"filename\":");
    buf_put(b, is_new ? upload->filename_json : stored_json);
    if (!is_new)
        buf_lit(b, ",\"duplicate\":true");
    if (upload->is_detail)
        buf_printf(b, ",\"sha256\":\"%.*s\"", STR_ARG(upload->sha));
    buf_put_char(b, '}');
    respond_json(r, is_new ? 201 : 200, b);
}

/* Answers what is to be answered now: all but "ok". */
static void finish(struct upload *upload, enum err error, struct str tag, struct lines *rest)
{
    struct request *r = upload->r;
    move(upload, UPLOAD_ENDED);
    if (error == ERR_OK && str_eq(tag, STR("full"))) { /* of the owner's room, not of the queue */
        refuse_full(r, rest);
        return;
    }
    if (error == ERR_OK && str_eq(tag, STR("gone"))) /* Redis lost what was pushed, or was slow */
        error = ERR_REDIS_LOST;
    if (reply_refuse(r, error, tag, rest))
        return;
    if (str_eq(tag, STR("many")))
        respond_error(
            r, ERR_STORAGE_FULL,
            "The limit of 10,000 documents is reached. Delete documents you no longer need.");
    else
        answer(upload, tag, rest);
}

static void on_stored(struct request *r, enum err error, struct str reply)
{
    struct upload *upload = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (error == ERR_STORE_FULL) /* it has not run: the blocks would keep what room there is */
        blocks_drop(blocks_at(upload), upload->key);
    finish(upload, error, tag, &lines);
}

static void store(struct upload *upload)
{
    struct request *r = upload->r;
    move(upload, UPLOAD_STORING);
    call_upload(request_call(r, on_stored), .space = upload->owner.space, .doc = upload->doc,
                .job = ids_new(r), .filename = upload->filename_json,
                .content_type = upload->content_type,
                .kind = str_of(extract_kind_name(upload->kind)), .size = upload->bytes.n,
                .blocks = blocks_of(upload->bytes.n), .sha = upload->sha,
                .cap = documents_of(r)->settings->space.max_bytes, .path = STR(""), .url = STR(""),
                .is_reindex = false, .account = r->account->name_token, .key = once_key(r),
                .readers = extract_readers_version(upload->kind));
}

static void on_pushed(struct push *push, enum err error)
{
    struct upload *upload = container_of(push, struct upload, push);
    struct lines none = lines_of(STR(""));
    if (error == ERR_OK)
        store(upload);
    else
        finish(upload, error, STR(""), &none);
}

static void on_begun(struct request *r, enum err error, struct str reply)
{
    struct upload *upload = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    bool is_counted = error == ERR_OK && !str_eq(tag, STR("limited")) &&
                      !str_eq(tag, STR("made")) && !str_eq(tag, STR("reused"));
    if (is_counted) {
        struct quota quota = quota_of(lines_next(&lines));
        reply_put_quota(r, &quota);
    }
    if (error != ERR_OK || !str_eq(tag, STR("ok"))) {
        finish(upload, error, tag, &lines);
        return;
    }
    move(upload, UPLOAD_PUSHING);
    blocks_push(blocks_at(upload), &upload->push, upload->key, upload->bytes, on_pushed);
}

/* The list's name is ours: the prefix of its space's shard and an id that was made here. */
static struct str key_of(struct upload *upload)
{
    struct buf *scratch = &upload->r->server->scratch;
    buf_clear(scratch);
    buf_put(scratch, str_of(documents_prefix(documents_of(upload->r), upload->owner.space)));
    buf_lit(scratch, "pushed:");
    buf_put(scratch, upload->doc);
    return request_copy(upload->r, buf_str(scratch));
}

static void begin(struct upload *upload)
{
    struct request *r = upload->r;
    struct str who = upload->owner.person.user_name;
    char limits[2 * SPACE_MAX_BYTES + 64];
    int n = snprintf(limits, sizeof limits, "upload:%.*s:%u:60,upload:%.*s:%u:3600", STR_ARG(who),
                     r->account->upload_rate, STR_ARG(who),
                     r->account->upload_rate * UPLOADS_HOUR_FACTOR);
    upload->number = sm_number();
    upload->doc = ids_new(r);
    upload->key = key_of(upload);
    move(upload, UPLOAD_BEGUN);
    call_upload_begin(request_call(r, on_begun), .space = upload->owner.space,
                      .limits = ((struct str){limits, (size_t)n}), .doc = upload->doc,
                      .filename = upload->filename_json, .size = upload->bytes.n,
                      .sha = upload->sha, .cap = documents_of(r)->settings->space.max_bytes,
                      .path = STR(""), .url = STR(""), .key = once_key(r),
                      .kind = str_of(extract_kind_name(upload->kind)),
                      .readers = extract_readers_version(upload->kind));
}

/* --- its digest --------------------------------------------------------------------------------
 */

static void end_hash(struct upload *upload)
{
    unsigned char digest[SHA256_BYTES];
    char *hex = request_alloc(upload->r, 2 * SHA256_BYTES + 1);
    if (EVP_DigestFinal_ex(upload->hash, digest, NULL) != 1)
        abort();
    str_hex(digest, sizeof digest, hex);
    upload->sha = (struct str){hex, 2 * SHA256_BYTES};
}

/* 25 MiB in one pass of the loop would keep all others waiting. */
static bool hash_some(struct steps *steps)
{
    struct request *r = container_of(steps, struct request, handling);
    struct upload *upload = r->state;
    size_t left = upload->bytes.n - upload->hashed_n, n = left < STEP_BYTES ? left : STEP_BYTES;
    if (EVP_DigestUpdate(upload->hash, upload->bytes.at + upload->hashed_n, n) != 1)
        abort();
    upload->hashed_n += n;
    if (n < left)
        return true;
    end_hash(upload);
    begin(upload);
    return false;
}

static void begin_hash(struct upload *upload)
{
    struct request *r = upload->r;
    upload->hash = EVP_MD_CTX_new();
    if (upload->hash == NULL || EVP_DigestInit_ex(upload->hash, EVP_sha256(), NULL) != 1)
        abort();
    r->handling.step = hash_some;
    loop_begin_steps(r->server->loop, &r->handling);
}

static void on_gone(struct request *r)
{
    struct upload *upload = r->state;
    EVP_MD_CTX_free(upload->hash);
    blocks_cancel(&upload->push);
}

void documents_upload(struct request *r)
{
    struct upload *upload = request_alloc(r, sizeof *upload);
    struct multipart_part part;
    *upload = (struct upload){.r = r, .is_detail = request_param_is_true(r, "Detail")};
    if (!owner_of_request(r, &upload->owner) || !find_file(r, &part) || !read_file(upload, &part))
        return;
    r->state = upload;
    r->on_gone = on_gone;
    begin_hash(upload);
}
