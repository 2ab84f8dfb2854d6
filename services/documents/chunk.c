/* SPDX-License-Identifier: MIT
 * chunk.c - GET /api/docs/{id}/chunks/{index}: one passage, whole (lua/documents/chunk.lua). */
#include "services/documents/handlers.h"

#include "services/documents/passage.h"

struct asked {
    struct str doc;
    uint64_t index;
};

static void on_chunk(struct request *r, enum err error, struct str reply)
{
    const struct asked *asked = r->state;
    struct lines lines = lines_of(reply);
    struct passage passage;
    struct buf memory;
    if (documents_refuse(r, error, lines_next(&lines), &lines))
        return;
    buf_init(&memory, PASSAGE_MAX_BYTES);
    if (!passage_read(lines.rest, false, &memory, &passage)) {
        respond_error(r, ERR_INTERNAL, NULL);
    } else {
        struct buf *b = &r->server->scratch;
        buf_clear(b);
        buf_printf(b, "{\"docId\":\"%.*s\",\"chunkId\":\"%.*s:%llu\",\"chunkIndex\":%llu,\"text\":",
                   STR_ARG(asked->doc), STR_ARG(asked->doc), (unsigned long long)asked->index,
                   (unsigned long long)asked->index);
        buf_put_json(b, passage.text);
        buf_lit(b, ",\"filename\":");
        buf_put(b, passage.filename);
        buf_printf(b, ",\"charStart\":%llu,\"charEnd\":%llu}",
                   (unsigned long long)passage.start_chars, (unsigned long long)passage.end_chars);
        respond_json(r, 200, buf_str(b));
    }
    buf_fini(&memory);
}

void documents_chunk(struct request *r)
{
    struct str owner, space;
    struct asked *asked = request_alloc(r, sizeof *asked);
    if (!documents_owner(r, &owner, &space) || !documents_id(r, &asked->doc))
        return;
    if (!str_parse_u64(request_path_param(r, "index"), &asked->index) ||
        asked->index > UINT32_MAX) {
        respond_error(r, ERR_NOT_FOUND, NULL);
        return;
    }
    r->state = asked;
    struct turn *turn = request_begin_verb(r, LANE_READ, STR("chunk"), on_chunk);
    turn_put(turn, space);
    turn_put(turn, asked->doc);
    turn_put_u64(turn, asked->index);
    turn_end(turn);
}
