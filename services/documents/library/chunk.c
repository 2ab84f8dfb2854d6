/* SPDX-License-Identifier: MIT
 * chunk.c - GET /api/docs/{id}/chunks/{index}: one passage of a document, as citations name it. */
#include "services/documents/handlers.h"

#include "generated/verbs.h"
#include "services/documents/library/passage.h"
#include "shared/http/request/explain.h"
#include "shared/text/text_blocks.h"

enum { BLOCKS_MAX_BYTES = 8 * TEXT_BLOCK_BYTES };

struct asked {
    struct str doc;
    uint64_t index;
};

static void answer(struct request *r, struct str filename_json, const struct passage *passage)
{
    const struct asked *asked = r->state;
    struct buf *b = &r->server->scratch;
    buf_clear(b);
    buf_lit(b, "{\"docId\":");
    buf_put_json(b, asked->doc);
    buf_lit(b, ",\"chunkId\":\"");
    ids_put_chunk(b, asked->doc, (uint32_t)asked->index);
    buf_lit(b, "\",\"chunkIndex\":");
    buf_put_u64(b, asked->index);
    buf_lit(b, ",\"text\":");
    buf_put_json(b, passage->text);
    buf_lit(b, ",\"filename\":");
    buf_put(b, filename_json);
    buf_lit(b, ",\"charStart\":");
    buf_put_u64(b, passage->start_chars);
    buf_lit(b, ",\"charEnd\":");
    buf_put_u64(b, passage->end_chars);
    buf_put_char(b, '}');
    respond_json(r, 200, b);
}

static void refuse(struct request *r)
{
    explain(r, ERR_NOT_FOUND, "There is no passage %s in a document %s for this account.",
            explain_quoted(r, request_path_param(r, "index")),
            explain_quoted(r, request_path_param(r, "id")));
}

static void on_reply(struct request *r, enum err error, struct str reply)
{
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct passage passage;
    struct buf blocks;
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        refuse(r);
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    struct str filename_json = lines_next(&lines);
    buf_init(&blocks, BLOCKS_MAX_BYTES);
    if (passage_read(lines.rest, &blocks, &passage))
        answer(r, filename_json, &passage);
    else
        respond_error(r, ERR_INTERNAL, NULL);
    buf_fini(&blocks);
}

void documents_chunk(struct request *r)
{
    struct owner owner;
    struct asked *asked = request_alloc(r, sizeof *asked);
    if (!owner_of_request(r, &owner) || !ids_param(r, &asked->doc))
        return;
    if (!str_parse_u64(request_path_param(r, "index"), &asked->index) ||
        asked->index > UINT32_MAX) {
        refuse(r);
        return;
    }
    r->state = asked;
    call_chunk(request_call(r, on_reply), .space = owner.space, .doc = asked->doc,
               .index = asked->index);
}
