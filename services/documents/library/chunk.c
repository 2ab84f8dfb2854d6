/* SPDX-License-Identifier: MIT
 * chunk.c - GET /api/docs/{id}/chunks/{index}: one passage of a document, as citations name it.
 * With `around` its neighbours as well, to show where it was taken from: they are read
 * by a second call, since the first one says of which generation the passage is. */
#include "services/documents/handlers.h"

#include "generated/verbs.h"
#include "services/documents/library/passage.h"
#include "shared/http/request/explain.h"
#include "shared/text/text_blocks.h"

enum { BLOCKS_MAX_BYTES = 8 * TEXT_BLOCK_BYTES, AROUND_MAX = 10, UNASKED = AROUND_MAX + 1 };

struct asked {
    struct str space, doc;
    uint64_t index, around; /* UNASKED: the passage alone */
    struct str filename_json;
    struct passage passage;
};

static uint64_t first_of(const struct asked *asked)
{
    return asked->index < asked->around ? 0 : asked->index - asked->around;
}

/* --- what is shown ---------------------------------------------------------------------------- */

static void put_id(struct buf *b, const struct asked *asked, uint64_t index)
{
    buf_lit(b, "\"chunkId\":\"");
    ids_put_chunk(b, asked->doc, (uint32_t)index);
    buf_lit(b, "\",\"chunkIndex\":");
    buf_put_u64(b, index);
}

static void put_place(struct buf *b, const struct passage *passage)
{
    buf_printf(b, ",\"charStart\":%llu,\"charEnd\":%llu", (unsigned long long)passage->start_chars,
               (unsigned long long)passage->end_chars);
}

static void put_page(struct buf *b, const struct passage *passage)
{
    buf_lit(b, ",\"page\":");
    if (passage->page == 0)
        buf_lit(b, "null");
    else
        buf_put_u64(b, passage->page);
}

static void put_passage(struct buf *b, const struct asked *asked)
{
    buf_lit(b, "{\"docId\":");
    buf_put_json(b, asked->doc);
    buf_put_char(b, ',');
    put_id(b, asked, asked->index);
    buf_lit(b, ",\"text\":");
    buf_put_json(b, asked->passage.text);
    buf_lit(b, ",\"filename\":");
    buf_put(b, asked->filename_json);
    put_place(b, &asked->passage);
}

static void put_neighbour(struct buf *b, const struct asked *asked, uint64_t index, struct str part,
                          struct buf *blocks)
{
    struct lines lines = lines_of(part);
    struct passage passage;
    if (!str_eq(lines_next(&lines), STR("ok")))
        return;
    (void)lines_next(&lines); /* its file's name */
    (void)lines_next(&lines); /* and URL */
    if (!passage_read(lines.rest, blocks, &passage))
        return;
    if (b->at[b->n - 1] != '[')
        buf_put_char(b, ',');
    buf_put_char(b, '{');
    put_id(b, asked, index);
    buf_lit(b, ",\"text\":");
    buf_put_json(b, passage.text);
    put_place(b, &passage);
    put_page(b, &passage);
    buf_put_char(b, '}');
}

/* --- the passage and its neighbours ----------------------------------------------------------- */

static void on_neighbours(struct request *r, enum err error, struct str reply)
{
    const struct asked *asked = r->state;
    struct buf *b = &r->server->scratch, blocks;
    struct lines parts = lines_of(reply);
    struct str part;
    uint64_t index = first_of(asked);
    if (error != ERR_OK) {
        respond_error(r, error, NULL);
        return;
    }
    buf_clear(b);
    buf_init(&blocks, BLOCKS_MAX_BYTES);
    put_passage(b, asked);
    put_page(b, &asked->passage);
    buf_lit(b, ",\"before\":[");
    while (lines_next_part(&parts, &part)) {
        if (index == asked->index) {
            buf_lit(b, "],\"after\":[");
            index++;
        }
        put_neighbour(b, asked, index++, part, &blocks);
    }
    buf_put(b, index <= asked->index ? STR("],\"after\":[]}") : STR("]}"));
    buf_fini(&blocks);
    respond_json(r, 200, b);
}

static void ask_for_neighbours(struct request *r, const struct asked *asked)
{
    struct verb_writer verb = begin_passages(request_call(r, on_neighbours), .space = asked->space);
    for (uint64_t i = first_of(asked); i <= asked->index + asked->around; i++)
        if (i != asked->index)
            put_passages_passage(&verb, .doc = asked->doc, .generation = asked->passage.generation,
                                 .chunk = i);
    end_verb(&verb);
}

static void answer(struct request *r)
{
    struct asked *asked = r->state;
    struct buf *b = &r->server->scratch;
    if (asked->around == UNASKED) {
        buf_clear(b);
        put_passage(b, asked);
        buf_put_char(b, '}');
        respond_json(r, 200, b);
    } else {
        asked->filename_json = request_copy(r, asked->filename_json);
        asked->passage.text = request_copy(r, asked->passage.text);
        ask_for_neighbours(r, asked);
    }
}

static void refuse(struct request *r)
{
    explain(r, ERR_NOT_FOUND, "There is no passage %s in a document %s for this account.",
            explain_quoted(r, request_path_param(r, "index")),
            explain_quoted(r, request_path_param(r, "id")));
}

static void on_reply(struct request *r, enum err error, struct str reply)
{
    struct asked *asked = r->state;
    struct lines lines = lines_of(reply);
    struct str tag = lines_next(&lines);
    struct buf blocks;
    if (error == ERR_OK && str_eq(tag, STR("missing"))) {
        refuse(r);
        return;
    }
    if (reply_refuse(r, error, tag, &lines))
        return;
    asked->filename_json = lines_next(&lines);
    buf_init(&blocks, BLOCKS_MAX_BYTES);
    if (passage_read(lines.rest, &blocks, &asked->passage))
        answer(r);
    else
        respond_error(r, ERR_INTERNAL, NULL);
    buf_fini(&blocks);
}

void documents_chunk(struct request *r)
{
    struct owner owner;
    struct asked *asked = request_alloc(r, sizeof *asked);
    if (!owner_of_request(r, &owner) || !ids_param(r, &asked->doc) ||
        !request_param_u64(r, "around", 1, AROUND_MAX, UNASKED, &asked->around))
        return;
    if (!str_parse_u64(request_path_param(r, "index"), &asked->index) ||
        asked->index > UINT32_MAX) {
        refuse(r);
        return;
    }
    r->state = asked;
    asked->space = owner.space;
    call_chunk(request_call(r, on_reply), .space = owner.space, .doc = asked->doc,
               .index = asked->index);
}
