/* SPDX-License-Identifier: MIT
 * piece.c - see piece.h. */
#include "shared/queue/piece.h"

struct str piece_id_put(struct piece_id id, char bytes[PIECE_ID_BYTES])
{
    size_t n = str_put_u64(bytes, id.claim);
    bytes[n++] = '-';
    return (struct str){bytes, n + str_put_u64(bytes + n, id.offset)};
}

bool piece_id_parse(struct str text, struct piece_id *ret_id)
{
    struct piece_id id;
    struct str offset = text, claim = str_cut(&offset, '-');
    if (offset.at == NULL || !str_parse_u64(claim, &id.claim) || !str_parse_u64(offset, &id.offset))
        return false;
    *ret_id = id;
    return true;
}

bool piece_id_is_before(struct piece_id a, struct piece_id b)
{
    return a.claim < b.claim || (a.claim == b.claim && a.offset < b.offset);
}

static bool is_within_character(struct str text)
{
    return text.n > 0 && ((unsigned char)text.at[0] & 0xC0) == 0x80;
}

static struct str after(struct str text, size_t n)
{
    return (struct str){text.at + n, text.n - n};
}

void piece_cut(struct piece *piece, uint64_t offset)
{
    uint64_t start = piece->id.offset - piece->text.n;
    size_t n = offset <= start ? 0 : (size_t)(offset - start);
    if (n == 0)
        return;
    if (n > piece->text.n)
        n = piece->text.n;
    piece->text = after(piece->text, n);
    while (is_within_character(piece->text))
        piece->text = after(piece->text, 1);
}

static bool read(struct str id, struct str kind, struct str text, struct piece *ret_piece)
{
    struct piece piece = {
        .is_answer = str_eq(kind, STR("a")), .is_delta = str_eq(kind, STR("d")), .text = text};
    if (!piece_id_parse(id, &piece.id) || text.n > piece.id.offset)
        return false;
    *ret_piece = piece;
    return true;
}

bool piece_read_event(struct lines *rest, struct piece *ret_piece)
{
    struct str id = lines_next(rest), kind = lines_next(rest);
    return read(id, kind, rest->rest.at == NULL ? STR("") : rest->rest, ret_piece);
}

static void put_part(struct buf *b, struct str part)
{
    buf_put_u64(b, part.n);
    buf_put_char(b, ':');
    buf_put(b, part);
}

void piece_put(struct buf *b, const struct piece *piece)
{
    char id[PIECE_ID_BYTES];
    put_part(b, piece_id_put(piece->id, id));
    put_part(b, piece->is_delta ? STR("d") : piece->is_answer ? STR("a") : STR("t"));
    put_part(b, piece->text);
}

bool piece_next(struct lines *pieces, struct piece *ret_piece)
{
    struct str id, kind, text;
    return lines_next_part(pieces, &id) && lines_next_part(pieces, &kind) &&
           lines_next_part(pieces, &text) && read(id, kind, text, ret_piece);
}
