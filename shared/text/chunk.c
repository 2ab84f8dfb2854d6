/* SPDX-License-Identifier: MIT
 * chunk.c - see chunk.h. One walk over the next CHUNK_MAX_CHARS characters remembers the last good
 * place of each kind; the best kind wins, if it leaves a chunk of at least half the size. It ends
 * at the first heading that leaves CHUNK_SECTION_CHARS. The next chunk starts at that heading, else
 * at the first sentence, else word, within the overlap before the cut. */
#include "shared/text/chunk.h"

#include "shared/text/text.h"

enum cut_kind { CUT_CHAR, CUT_WORD, CUT_SENTENCE, CUT_PARAGRAPH, CUT_NR };

struct place {
    size_t bytes, chars;
};

static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= 9 && c <= 13) || c == 0x3000 || c == 0xa0;
}

static bool is_sentence_end(uint32_t c)
{
    return c == '.' || c == '!' || c == '?' || c == 0x3002 || c == 0xff01 || c == 0xff1f;
}

/* Returns the kind of cut that may fall between `c` and `next`. */
static enum cut_kind cut_between(uint32_t before, uint32_t c, uint32_t next)
{
    if (c == '\n' && (next == '\n' || next == '\r' || next == '#'))
        return CUT_PARAGRAPH;
    if (c == 0x3002 || c == 0xff01 || c == 0xff1f || (is_blank(c) && is_sentence_end(before)))
        return CUT_SENTENCE;
    return is_blank(c) ? CUT_WORD : CUT_CHAR;
}

static uint32_t char_at(struct str text, size_t bytes, size_t *ret_step)
{
    uint32_t c = 0;
    *ret_step = text_char((struct str){text.at + bytes, text.n - bytes}, &c);
    return c;
}

/* Does a line that is marked as a heading begin there? */
static bool is_heading(struct str text, size_t at)
{
    size_t n = 0;
    while (at + n < text.n && n < 7 && text.at[at + n] == '#')
        n++;
    return n > 0 && n < 7 && at + n < text.n && text.at[at + n] == ' ';
}

static void skip_blank(struct chunk_cursor *cursor)
{
    size_t step;
    while (cursor->at_bytes < cursor->text.n &&
           is_blank(char_at(cursor->text, cursor->at_bytes, &step))) {
        cursor->at_bytes += step;
        cursor->at_chars++;
    }
}

/* Finds where the chunk that starts at `start` ends. `limit_chars` counts from there. */
static struct place find_end(struct str text, struct place start, size_t limit_chars)
{
    struct place best[CUT_NR] = {{0, 0}}, here = start;
    uint32_t before = 0;
    size_t step, next_step;
    while (here.bytes < text.n && here.chars - start.chars < limit_chars) {
        uint32_t c = char_at(text, here.bytes, &step);
        here.bytes += step;
        here.chars++;
        enum cut_kind kind = cut_between(before, c, char_at(text, here.bytes, &next_step));
        if (kind == CUT_CHAR || here.chars - start.chars >= CHUNK_CHARS / 2)
            best[kind] = here;
        if (c == '\n' && is_heading(text, here.bytes) &&
            here.chars - start.chars >= CHUNK_SECTION_CHARS)
            return here;
        before = c;
    }
    if (here.bytes >= text.n)
        return here;
    for (enum cut_kind kind = CUT_PARAGRAPH; kind > CUT_CHAR; kind--)
        if (best[kind].bytes != 0)
            return best[kind];
    return here;
}

/* Finds where the next chunk starts: within the overlap before `end`, at the first sentence, else
 * the first word, else right there. Always after `start`. */
static struct place find_next_start(struct str text, struct place start, struct place end)
{
    struct place here = end, word = {0, 0};
    size_t step;
    while (here.bytes > start.bytes + 1 && end.chars - here.chars < CHUNK_OVERLAP_CHARS) {
        here.bytes = text_floor(text, here.bytes - 1);
        here.chars--;
    }
    if (here.bytes <= start.bytes)
        return end;
    struct place cut = here;
    uint32_t before = 0;
    while (here.bytes < end.bytes) {
        uint32_t c = char_at(text, here.bytes, &step);
        here.bytes += step;
        here.chars++;
        enum cut_kind kind = cut_between(before, c, 0);
        if (kind >= CUT_SENTENCE && here.bytes < end.bytes)
            return here;
        if (kind == CUT_WORD && word.bytes == 0)
            word = here;
        before = c;
    }
    return word.bytes != 0 && word.bytes < end.bytes ? word : cut;
}

/* A malformed tail byte counts as a character on the way forward but not on the way back, so the
 * count is taken again from a place where it is known. */
static size_t chars_between(struct str text, size_t from_bytes, size_t to_bytes)
{
    return text_length((struct str){text.at + from_bytes, to_bytes - from_bytes});
}

bool chunk_next(struct chunk_cursor *cursor, struct chunk *ret_chunk)
{
    skip_blank(cursor);
    struct str text = cursor->text;
    struct place start = {cursor->at_bytes, cursor->at_chars};
    if (start.bytes >= text.n)
        return false;
    /* A tail that is little longer than a chunk stays in one piece. */
    struct place end = find_end(text, start, CHUNK_MAX_CHARS);
    if (end.bytes < text.n)
        end = find_end(text, start, CHUNK_CHARS);
    size_t end_bytes = end.bytes;
    while (end_bytes > start.bytes && is_blank((unsigned char)text.at[end_bytes - 1]) &&
           (unsigned char)text.at[end_bytes - 1] < 0x80)
        end_bytes--;
    *ret_chunk = (struct chunk){
        .start_bytes = start.bytes,
        .end_bytes = end_bytes,
        .start_chars = start.chars,
        .end_chars = end.chars - (end.bytes - end_bytes),
    };
    struct place next = end.bytes >= text.n || is_heading(text, end.bytes)
                            ? end
                            : find_next_start(text, start, end);
    cursor->at_bytes = next.bytes;
    cursor->at_chars = start.chars + chars_between(text, start.bytes, next.bytes);
    return true;
}
