/* SPDX-License-Identifier: MIT
 * upload.c - POST /api/docs/upload: a file from a form (lua/documents/upload.lua). The bytes go
 * from libh2o's buffer into the turn: what a script decides is whether they are new, allowed and
 * fit. */
#include "services/documents/handlers.h"

#include "shared/http/multipart.h"
#include "shared/rag/extract.h"

#include <openssl/sha.h>

static const char *content_type_of(enum extract_kind kind, struct str name)
{
    switch (kind) {
    case EXTRACT_PDF: return "application/pdf";
    case EXTRACT_HTML: return "text/html";
    case EXTRACT_DOCX:
        return "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    default: break;
    }
    bool is_markdown =
        name.n > 3 && (str_eq_nocase((struct str){name.at + name.n - 3, 3}, STR(".md")));
    return is_markdown ? "text/markdown" : "text/plain";
}

static void on_uploaded(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    if (documents_refuse(r, error, tag, &lines))
        return;
    bool is_duplicate = str_eq(tag, STR("duplicate"));
    const struct str *filename = r->state;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"documentId\":");
    buf_put_json(b, lines_next(&lines));
    buf_lit(b, ",\"jobId\":");
    buf_put_json(b, lines_next(&lines));
    buf_lit(b, ",\"status\":");
    buf_put_json(b, is_duplicate ? lines_next(&lines) : STR("QUEUED"));
    buf_lit(b, ",\"filename\":");
    buf_put(b, *filename);
    if (is_duplicate)
        buf_lit(b, ",\"duplicate\":true");
    buf_put_char(b, '}');
    respond_json(r, is_duplicate ? 200 : 201, buf_str(b));
}

/* The form's file, checked; false after an answer. *ret_filename is in server->scratch. */
static bool take_file(struct request *r, struct multipart_part *ret_part, struct str *ret_filename,
                      enum extract_kind *ret_kind)
{
    const char *reason;
    struct str body = {r->h2o->entity.base, r->h2o->entity.len};
    if (!multipart_find(request_header(r, "content-type"), body, "file", ret_part, &reason)) {
        respond_error(r, ERR_MISSING_FILE, reason == multipart_no_field ? NULL : reason);
        return false;
    }
    if (ret_part->bytes.n > DOCUMENT_MAX_BYTES) {
        respond_error(r, ERR_FILE_TOO_LARGE, NULL);
        return false;
    }
    struct buf *name = &r->server->scratch;
    buf_clear(name);
    multipart_put_filename(name, ret_part);
    if (name->n == 0) {
        respond_error(r, ERR_MISSING_FILE, "The file has no name: its ending says how to read it.");
        return false;
    }
    *ret_filename = request_copy(r, buf_str(name));
    *ret_kind = extract_kind_of(*ret_filename);
    enum extract_fault fault =
        *ret_kind == EXTRACT_NONE ? EXTRACT_FAULT_KIND : extract_sniff(*ret_kind, ret_part->bytes);
    if (fault != EXTRACT_FAULT_NONE) {
        respond_error(r, ERR_INVALID_FILE_TYPE, extract_fault_text(fault));
        return false;
    }
    return true;
}

void documents_upload(struct request *r)
{
    struct str owner, space, filename;
    struct multipart_part part;
    enum extract_kind kind;
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char sha[SHA256_DIGEST_LENGTH * 2 + 1];
    if (!documents_owner(r, &owner, &space) || !take_file(r, &part, &filename, &kind))
        return;
    SHA256((const unsigned char *)part.bytes.at, part.bytes.n, digest);
    str_hex(digest, sizeof digest, sha);
    struct buf *json = &r->server->scratch;
    buf_clear(json);
    buf_put_json(json, filename);
    struct str *kept = request_alloc(r, sizeof *kept);
    *kept = request_copy(r, buf_str(json));
    r->state = kept;
    struct str limits =
        documents_limits(r, "upload:%.*s:5:60,upload:%.*s:50:3600", STR_ARG(owner), STR_ARG(owner));
    struct turn *turn = request_begin_verb(r, LANE_ADD, STR("upload"), on_uploaded);
    turn_put(turn, space);
    turn_put(turn, limits);
    turn_put(turn, documents_new_id(r));
    turn_put(turn, documents_new_id(r));
    turn_put(turn, *kept);
    turn_put(turn, str_of(content_type_of(kind, filename)));
    turn_put(turn, str_of(extract_kind_name(kind)));
    turn_put_u64(turn, part.bytes.n);
    turn_put(turn, str_of(sha));
    turn_put(turn, part.bytes);
    turn_put_u64(turn, documents_of(r)->settings->cap_bytes);
    turn_put(turn, STR(""));
    turn_put(turn, STR(""));
    turn_end(turn);
}
