/* SPDX-License-Identifier: MIT
 * upload.c - POST /api/docs/upload: a file into its owner's documents (lua/documents/upload.lua).
 *
 *   request -> checked -> (waits for its turn) -> STORING -> answered
 *
 * What is uploaded travels to Redis in one piece, through the connection that everything else
 * takes. So one upload of a thread is stored at a time, and the others wait, a bounded number of
 * them. The name's ending says what a file is, and its first bytes must agree; what a client says
 * of the content type is not asked. */
#include "services/documents/handlers.h"

#include "generated/verbs.h"
#include "shared/extract/extract.h"
#include "shared/http/multipart.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

enum { UPLOADS_WAITING_MAX = 16, SHA256_BYTES = 32, MIB = 1 << 20 };

struct upload {
    struct upload *previous, *next; /* of those that wait; the first one may be under way */
    struct request *r;
    struct owner owner;
    struct str bytes; /* in the request's body */
    struct str filename_json, content_type, sha;
    const char *kind;
    bool is_listed;
};

/* --- the file --------------------------------------------------------------------------------- */

static struct str sha256(struct request *r, struct str bytes)
{
    unsigned char digest[SHA256_BYTES];
    char *hex = request_alloc(r, 2 * SHA256_BYTES + 1);
    if (EVP_Digest(bytes.at, bytes.n, digest, NULL, EVP_sha256(), NULL) != 1)
        abort();
    str_hex(digest, sizeof digest, hex);
    return (struct str){hex, 2 * SHA256_BYTES};
}

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
    struct str body = {r->h2o->entity.base == NULL ? "" : r->h2o->entity.base, r->h2o->entity.len};
    if (type.n < 19 || !str_eq_nocase((struct str){type.at, 19}, STR("multipart/form-data")))
        return refuse(r, ERR_MISSING_FILE,
                      "Send a form (multipart/form-data) with a file in its "
                      "field `file`.");
    if (!multipart_find(type, body, "file", ret_part, &reason))
        return refuse(r, reason == multipart_no_field ? ERR_MISSING_FILE : ERR_BAD_REQUEST,
                      reason == multipart_no_field ? NULL : reason);
    if (ret_part->filename.n == 0)
        return refuse(r, ERR_MISSING_FILE,
                      "No file was chosen: the field `file` has no file name.");
    return true;
}

/* Fills in what is stored of it; answers and returns false when it is no document. */
static bool read_file(struct upload *upload, const struct multipart_part *part)
{
    struct request *r = upload->r;
    uint64_t most = documents_of(r)->settings->upload_max_bytes;
    struct buf *scratch = &r->server->scratch;
    char detail[96];
    if (part->bytes.n > most) {
        snprintf(detail, sizeof detail, "The file is too large: at most %llu MiB are taken.",
                 (unsigned long long)(most / MIB));
        return refuse(r, ERR_FILE_TOO_LARGE, detail);
    }
    buf_clear(scratch);
    multipart_put_filename(scratch, part);
    struct str filename = request_copy(r, buf_str(scratch));
    if (filename.n == 0)
        return refuse(r, ERR_MISSING_FILE, "The file's name holds no character that can be shown.");
    enum extract_kind kind = extract_kind_of(filename);
    enum extract_fault fault =
        kind == EXTRACT_NONE ? EXTRACT_FAULT_KIND : extract_sniff(kind, part->bytes);
    if (fault != EXTRACT_FAULT_NONE)
        return refuse(r, ERR_FILE_TYPE, extract_fault_text(fault));
    buf_clear(scratch);
    buf_put_json(scratch, filename);
    upload->filename_json = request_copy(r, buf_str(scratch));
    upload->content_type = str_of(extract_content_type(filename));
    upload->kind = extract_kind_name(kind);
    upload->bytes = part->bytes;
    upload->sha = sha256(r, part->bytes);
    return true;
}

/* --- storing ---------------------------------------------------------------------------------- */

static void store_first(struct documents *documents);

/* It waits no longer, or is done: the next one. */
static void unlist(struct upload *upload)
{
    struct documents *documents = documents_of(upload->r);
    struct uploads *uploads = &documents->uploads;
    if (!upload->is_listed)
        return;
    bool was_first = uploads->first == upload;
    *(upload->previous == NULL ? &uploads->first : &upload->previous->next) = upload->next;
    *(upload->next == NULL ? &uploads->last : &upload->next->previous) = upload->previous;
    upload->is_listed = false;
    uploads->n--;
    if (was_first)
        store_first(documents);
}

static void refuse_full(struct request *r, struct lines *rest)
{
    char detail[192];
    unsigned long long used = lines_next_u64(rest), cap = lines_next_u64(rest);
    snprintf(detail, sizeof detail,
             "There is no room for this document: %.1f of %.1f MiB are taken. Delete some.",
             (double)used / MIB, (double)cap / MIB);
    respond_error(r, ERR_STORAGE_FULL, detail);
}

static void answer(const struct upload *upload, bool is_new, struct lines *rest)
{
    struct request *r = upload->r;
    struct buf *b = &r->server->scratch;
    struct str doc = lines_next(rest), job = lines_next(rest);
    if (is_new)
        metrics_add(r->server->metrics, METRIC_UPLOADS, 1);
    buf_clear(b);
    buf_lit(b, "{\"documentId\":");
    buf_put_json(b, doc);
    buf_lit(b, ",\"jobId\":");
    buf_put_json(b, job);
    buf_lit(b, ",\"status\":");
    buf_put_json(b, is_new ? STR("QUEUED") : lines_next(rest));
    buf_lit(b, ",\"filename\":");
    buf_put(b, upload->filename_json);
    buf_put(b, is_new ? STR("}") : STR(",\"duplicate\":true}"));
    respond_json(r, is_new ? 201 : 200, b);
}

static void on_stored(struct request *r, enum err error, struct str reply)
{
    struct upload *upload = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    unlist(upload);
    if (error == ERR_OK && str_eq(tag, STR("full"))) { /* of the owner's room, not of the queue */
        refuse_full(r, &lines);
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    if (str_eq(tag, STR("many")))
        respond_error(r, ERR_STORAGE_FULL,
                      "There are 10,000 documents already, and no more are kept. Delete some.");
    else
        answer(upload, str_eq(tag, STR("ok")), &lines);
}

static void store(struct upload *upload)
{
    struct request *r = upload->r;
    struct str who = upload->owner.whom.user_name;
    char limits[2 * SPACE_MAX_BYTES + 64];
    int n = snprintf(limits, sizeof limits, "upload:%.*s:%d:60,upload:%.*s:%d:3600", STR_ARG(who),
                     UPLOADS_A_MINUTE, STR_ARG(who), UPLOADS_AN_HOUR);
    call_upload(request_call(r, on_stored), .space = upload->owner.space,
                .limits = ((struct str){limits, (size_t)n}), .doc = ids_new(r), .job = ids_new(r),
                .filename = upload->filename_json, .content_type = upload->content_type,
                .kind = str_of(upload->kind), .size = upload->bytes.n, .sha = upload->sha,
                .bytes = upload->bytes, .cap = documents_of(r)->settings->space.max_bytes,
                .path = STR(""), .url = STR(""), .is_reindex = false);
}

static void store_first(struct documents *documents)
{
    if (documents->uploads.first != NULL)
        store(documents->uploads.first);
}

static void on_gone(struct request *r)
{
    unlist(r->state);
}

void documents_upload(struct request *r)
{
    struct uploads *uploads = &documents_of(r)->uploads;
    struct upload *upload = request_alloc(r, sizeof *upload);
    struct multipart_part part;
    *upload = (struct upload){.r = r};
    if (!owner_of_request(r, &upload->owner) || !find_file(r, &part) || !read_file(upload, &part))
        return;
    if (uploads->n >= UPLOADS_WAITING_MAX) {
        respond_error(r, ERR_BUSY, "Too many uploads at the moment: retry shortly.");
        return;
    }
    r->state = upload;
    r->on_gone = on_gone;
    upload->previous = uploads->last;
    *(upload->previous == NULL ? &uploads->first : &upload->previous->next) = upload;
    uploads->last = upload;
    upload->is_listed = true;
    if (uploads->n++ == 0)
        store(upload);
}
