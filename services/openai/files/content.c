/* SPDX-License-Identifier: MIT
 * content.c - GET /v1/files/{file_id}/content: the bytes of a file, a page at a time
 * (lua/files/file_content.lua); the next one is asked for when the client has taken the last. A
 * file that is deleted in between ends with a cut, so no client takes it for whole. */
#include "services/openai/files/files.h"

#include "generated/verbs.h"
#include "shared/http/request/download.h"
#include "shared/http/request/explain.h"

enum { PAGE_MOST_BYTES = 40 << 20 }; /* one line of a batch is whole */

static const char content_type[] = "application/octet-stream", name[] = "content";

struct reading {
    struct request *r;
    struct file_owner owner;
    struct str id;
    uint64_t from;
    struct download download;
    bool is_asking;
};

static void ask(struct reading *reading);

static void on_idle(struct download *download)
{
    struct reading *reading = container_of(download, struct reading, download);
    if (!reading->is_asking)
        ask(reading);
}

static void on_page(struct request *r, enum err error, struct str reply)
{
    struct reading *reading = r->state;
    struct str parts = reply, head = str_cut(&parts, '\0'), part;
    struct lines lines = lines_of(head);
    struct str tag = lines_next(&lines);
    bool is_first = !reading->download.is_started;
    reading->is_asking = false;
    if (!is_first && (error != ERR_OK || !str_eq(tag, STR("ok")))) {
        download_cut(&reading->download);
        return;
    }
    if (is_first && file_refuse(r, error, tag, &lines))
        return;
    if (is_first && request_is_head(r)) {
        download_answer_head(r, content_type, name);
        return;
    }
    if (!download_has_room(&reading->download, parts.n))
        return;
    bool is_last = !str_parse_u64(lines_next(&lines), &reading->from);
    if (is_first)
        download_start(&reading->download, content_type, name);
    struct lines rest = lines_of(parts);
    while (lines_next_part(&rest, &part))
        buf_put(&reading->download.out, part);
    if (is_last)
        download_end(&reading->download);
    else
        download_flush(&reading->download);
}

static void ask(struct reading *reading)
{
    struct request *r = reading->r;
    reading->is_asking = true;
    call_file_content(request_call(r, on_page), .owner = reading->owner.owner,
                      .account = r->account->name_token, .user = reading->owner.person.user_name,
                      .file = reading->id, .from = reading->from);
}

static void on_gone(struct request *r)
{
    download_fini(&((struct reading *)r->state)->download);
}

void openai_read_file(struct request *r)
{
    struct reading *reading = request_alloc(r, sizeof *reading);
    struct str id = request_path_param(r, "file_id");
    *reading = (struct reading){.r = r};
    if (!file_owner_of(r, &reading->owner) ||
        !(file_id_read(id, &reading->id) || explain_missing(r, "file", id, NULL)))
        return;
    r->state = reading;
    r->on_gone = on_gone;
    download_init(&reading->download, r, PAGE_MOST_BYTES, on_idle);
    ask(reading);
}
