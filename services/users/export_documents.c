/* SPDX-License-Identifier: MIT
 * export_documents.c - documents.json, and each document in documents/<id>/: its bytes as they were
 * uploaded while they are stored, under its own name, then its text, under that name and ".txt". */
#include "services/users/export.h"

#include "generated/verbs.h"
#include "shared/text/text_blocks.h"

enum { FILENAME_MAX_BYTES = 200 };

/* --- the list --------------------------------------------------------------------------------- */

/* Takes the 19 lines of a document; puts its object if `b` is given. */
static void take_document(struct lines *lines, struct buf *b, struct str *ret_id,
                          struct str *ret_filename)
{
    *ret_id = lines_next(lines);
    *ret_filename = lines_next(lines);
    struct str type = lines_next(lines), size = lines_next(lines), status = lines_next(lines);
    uint64_t created_ms = lines_next_u64(lines), updated_ms = lines_next_u64(lines);
    struct str chunks = lines_next(lines);
    for (unsigned i = 8; i < 18; i++)
        (void)lines_next(lines);
    struct str sha = lines_next(lines);
    if (b == NULL)
        return;
    buf_lit(b, "{\"id\":");
    buf_put_json(b, *ret_id);
    export_put_member(b, "filename", *ret_filename);
    buf_put_key(b, "contentType");
    buf_put_json(b, type);
    export_put_member(b, "sizeBytes", size);
    buf_put_key(b, "contentHash");
    buf_put_json(b, sha);
    buf_put_key(b, "status");
    buf_put_json(b, status);
    buf_put_key(b, "createdAt");
    buf_put_json_time(b, created_ms);
    buf_put_key(b, "updatedAt");
    buf_put_json_time(b, updated_ms);
    export_put_member(b, "chunkCount", chunks);
    buf_put_char(b, '}');
}

static void on_documents(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct lines lines = lines_of(reply);
    struct str id, filename;
    if (!export_takes(x, error, &lines, STR("")))
        return;
    struct str next = lines_next(&lines);
    while (lines_are_left(&lines)) {
        export_begin_item(x);
        take_document(&lines, &x->made, &id, &filename);
    }
    export_set(&x->page_after, next);
    if (next.n == 0) {
        export_end_list(x);
        x->is_page = false;
        x->stage = EXPORT_FILES;
    }
    export_go_on(x);
}

void export_documents(struct export *x)
{
    if (x->page_after.n == 0)
        export_begin_file(x, STR("documents.json"));
    call_docs(export_call(x, on_documents), .space = x->person.space,
              .before = buf_str(&x->page_after), .limit = NO_NUMBER);
}

/* --- one by one ------------------------------------------------------------------------------- */

void export_files(struct export *x)
{
    struct str id, filename;
    if (!x->is_page) {
        call_docs(export_call(x, export_on_page), .space = x->person.space,
                  .before = buf_str(&x->page_after), .limit = NO_NUMBER);
    } else if (lines_are_left(&x->rest)) {
        take_document(&x->rest, NULL, &id, &filename);
        export_set(&x->doc, id);
        export_set(&x->filename, filename);
        buf_clear(&x->what);
        x->from = 0;
        x->stage = EXPORT_CONTENT;
    } else if (!x->is_last_page) {
        x->is_page = false;
    } else {
        x->is_page = false;
        buf_clear(&x->page_after);
        x->shard = 0;
        x->stage = EXPORT_BATCHES;
    }
}

void export_put_filename(struct buf *b, struct str json)
{
    struct buf name;
    buf_init(&name, 64 << 10);
    buf_put_json_text(&name, json);
    size_t n = name.n < FILENAME_MAX_BYTES ? name.n : FILENAME_MAX_BYTES;
    while (n > 0 && n < name.n && (name.at[n] & 0xc0) == 0x80)
        n--; /* not within a character */
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)name.at[i];
        bool is_odd =
            c < ' ' || c == 0x7f || strchr("/\\:*?\"<>|", c) != NULL || (i == 0 && c == '.');
        buf_put_char(b, is_odd ? '_' : (char)c);
    }
    if (n == 0)
        buf_lit(b, "document");
    buf_fini(&name);
}

static void begin_document(struct export *x, struct str what)
{
    struct buf path;
    buf_init(&path, 4096);
    buf_lit(&path, "documents/");
    buf_put(&path, buf_str(&x->doc));
    buf_put_char(&path, '/');
    export_put_filename(&path, buf_str(&x->filename));
    if (str_has_prefix(what, STR("text.")))
        buf_lit(&path, ".txt");
    export_begin_file(x, buf_str(&path));
    buf_fini(&path);
}

static bool put_blocks(struct export *x, struct str what, struct str parts)
{
    struct lines rest = lines_of(parts);
    struct str block;
    while (lines_next_part(&rest, &block))
        if (str_eq(what, STR("upload")))
            buf_put(&x->made, block);
        else if (!text_block_put(&x->made, block))
            return false;
    return true;
}

static void on_content(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct str parts = reply, head = str_cut(&parts, 0);
    struct lines lines = lines_of(head);
    bool is_first = x->what.n == 0;
    if (!export_takes(x, error, &lines, is_first ? STR("missing") : STR("")))
        return;
    struct str next = lines_next(&lines), what = lines_next(&lines);
    if (is_first && what.n > 0 && !str_eq(what, STR("none")))
        begin_document(x, what);
    export_set(&x->what, what);
    if (!put_blocks(x, what, parts)) {
        x->is_asking = false;
        export_fail(x, "stored text damaged");
        return;
    }
    if (!str_parse_u64(next, &x->from))
        x->stage = EXPORT_FILES;
    export_go_on(x);
}

void export_content(struct export *x)
{
    call_doc_content(export_call(x, on_content), .space = x->person.space, .doc = buf_str(&x->doc),
                     .what = buf_str(&x->what), .from = x->from);
}
