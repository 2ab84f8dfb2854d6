/* SPDX-License-Identifier: MIT
 * export_files.c - batches.json and files.json, and the bytes of each file in files/<id>/, under
 * its own name. */
#include "services/users/export.h"

#include "generated/verbs.h"

/* --- lists ------------------------------------------------------------------------------------ */

static void put_time(struct buf *b, const char *key, struct lines *lines)
{
    uint64_t ms;
    buf_put_key(b, key);
    if (str_parse_u64(lines_next(lines), &ms))
        buf_put_json_time(b, ms);
    else
        buf_lit(b, "null");
}

static void put_id(struct buf *b, const char *key, const char *prefix, struct str id)
{
    buf_put_key(b, key);
    if (id.n == 0)
        buf_lit(b, "null");
    else
        buf_printf(b, "\"%s%.*s\"", prefix, STR_ARG(id));
}

/* Its account, with its namespace for those without one. */
static void put_account(struct export *x, struct str account)
{
    export_begin_item(x);
    buf_lit(&x->made, "{\"account\":");
    buf_put_json_of_name(&x->made,
                         x->r->account->namespace.n > 0 ? lines_name_within(account) : account);
}

static void put_text(struct buf *b, const char *key, struct str text)
{
    buf_put_key(b, key);
    buf_put_json(b, text);
}

/* The 22 lines of a batch, see lua/files/files_of.lua. */
static void put_batch(struct export *x, struct lines *lines)
{
    static const char *const times[] = {"in_progress_at", "expires_at",  "finalizing_at",
                                        "completed_at",   "failed_at",   "expired_at",
                                        "cancelling_at",  "cancelled_at"};
    struct buf *b = &x->made;
    put_account(x, lines_next(lines));
    (void)lines_next(lines); /* the owner of its id */
    put_id(b, "id", "batch_", lines_next(lines));
    put_text(b, "endpoint", lines_next(lines));
    put_id(b, "input_file_id", "file-", lines_next(lines));
    put_text(b, "status", lines_next(lines));
    put_time(b, "created_at", lines);
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        put_time(b, times[i], lines);
    export_put_member(b, "total", lines_next(lines));
    export_put_member(b, "completed", lines_next(lines));
    export_put_member(b, "failed", lines_next(lines));
    put_id(b, "output_file_id", "file-", lines_next(lines));
    put_id(b, "error_file_id", "file-", lines_next(lines));
    export_put_member(b, "errors", lines_next(lines));
    export_put_member(b, "metadata", lines_next(lines));
    buf_put_char(b, '}');
}

/* Takes the 8 lines of a file; puts its object if `is_listed`, and keeps what its bytes are read
 * with. */
static void take_file(struct export *x, struct lines *lines, bool is_listed)
{
    struct buf *b = &x->made;
    struct str account = lines_next(lines), owner = lines_next(lines), id = lines_next(lines),
               bytes = lines_next(lines);
    export_set(&x->topic, account);
    export_set(&x->noted, owner);
    export_set(&x->doc, id);
    if (is_listed) {
        put_account(x, account);
        put_id(b, "id", "file-", id);
        export_put_member(b, "bytes", bytes);
        put_time(b, "created_at", lines);
        put_time(b, "expires_at", lines);
    } else {
        (void)lines_next(lines);
        (void)lines_next(lines);
    }
    export_set(&x->filename, lines_next(lines));
    struct str purpose = lines_next(lines);
    if (is_listed) {
        export_put_member(b, "filename", buf_str(&x->filename));
        put_text(b, "purpose", purpose);
        buf_put_char(b, '}');
    }
}

/* Asks for a page. Returns false when there is one. */
static bool ask(struct export *x, enum verb_files_of_what what)
{
    if (x->is_page)
        return false;
    call_files_of(export_call_at(x, x->shard, export_on_page),
                  .user = x->person.on_behalf.user_name, .what = what,
                  .after = buf_str(&x->page_after));
    return true;
}

/* The page is over: goes to the next one, or after that of the last shard to `stage`. Returns
 * whether that was the last one. */
static bool end_page(struct export *x, enum export_stage stage)
{
    x->is_page = false;
    if (!x->is_last_page || ++x->shard < x->r->server->shards->n)
        return false;
    x->shard = 0;
    buf_clear(&x->page_after);
    x->stage = stage;
    return true;
}

static bool is_begin(const struct export *x)
{
    return x->shard == 0 && x->page_after.n == 0 && !x->is_page;
}

void export_batches(struct export *x)
{
    if (is_begin(x))
        export_begin_file(x, STR("batches.json"));
    if (ask(x, FILES_OF_BATCHES))
        return;
    if (lines_are_left(&x->rest))
        put_batch(x, &x->rest);
    else if (end_page(x, EXPORT_UPLOADS))
        export_end_list(x);
}

void export_uploads(struct export *x)
{
    if (is_begin(x))
        export_begin_file(x, STR("files.json"));
    if (ask(x, FILES_OF_FILES))
        return;
    if (lines_are_left(&x->rest))
        take_file(x, &x->rest, true);
    else if (end_page(x, EXPORT_UPLOAD))
        export_end_list(x);
}

/* --- bytes ------------------------------------------------------------------------------------ */

void export_upload(struct export *x)
{
    if (ask(x, FILES_OF_FILES))
        return;
    if (!lines_are_left(&x->rest)) {
        (void)!end_page(x, EXPORT_END);
        return;
    }
    take_file(x, &x->rest, false);
    x->from = 0;
    x->stage = EXPORT_BYTES;
}

static void begin_file(struct export *x)
{
    struct buf path;
    buf_init(&path, 4096);
    buf_lit(&path, "files/file-");
    buf_put(&path, buf_str(&x->doc));
    buf_put_char(&path, '/');
    export_put_filename(&path, buf_str(&x->filename));
    export_begin_file(x, buf_str(&path));
    buf_fini(&path);
}

static void on_bytes(struct request *r, enum err error, struct str reply)
{
    struct export *x = r->state;
    struct str parts = reply, head = str_cut(&parts, 0), part;
    struct lines lines = lines_of(head);
    bool is_first = x->from == 0;
    if (!export_takes(x, error, &lines, is_first ? STR("missing") : STR("")))
        return;
    struct str next = lines_next(&lines);
    if (parts.at != NULL && is_first)
        begin_file(x);
    for (struct lines rest = lines_of(parts); lines_next_part(&rest, &part);)
        buf_put(&x->made, part);
    if (!str_parse_u64(next, &x->from))
        x->stage = EXPORT_UPLOAD;
    export_go_on(x);
}

void export_bytes(struct export *x)
{
    call_file_content(export_call(x, on_bytes), .owner = buf_str(&x->noted),
                      .account = buf_str(&x->topic), .user = x->person.on_behalf.user_name,
                      .file = buf_str(&x->doc), .from = x->from);
}
