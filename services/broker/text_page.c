/* SPDX-License-Identifier: MIT
 * text_page.c - see text_page.h. */
#include "services/broker/text_page.h"

#include "shared/text/text.h"

enum { TEXT_COST_BYTES = 64 }; /* of a text, besides its own: a page may have many short ones */

void text_page_init(struct text_page *page, struct lines reply)
{
    *page = (struct text_page){.next = lines_next(&reply), .text = STR("")};
    page->lines = reply;
}

/* --- texts ------------------------------------------------------------------------------------ */

static void begin_text(struct text_page *page, struct str text, uint64_t seq)
{
    page->text = text;
    page->plain = page->escaped = (struct find_place){0};
    page->here.seq = seq;
}

static bool next_topic(struct text_page *page)
{
    if (!lines_are_left(&page->lines))
        return false;
    page->here = (struct text_found){.topic = lines_next(&page->lines)};
    page->place = lines_next(&page->lines);
    struct str name = lines_next(&page->lines);
    page->here.name = lines_next(&page->lines);
    page->seq = lines_next_u64(&page->lines);
    page->left_n = lines_next_u64(&page->lines);
    page->rows_n++;
    begin_text(page, page->seq == 1 ? name : STR(""), 0);
    return true;
}

static void next_question(struct text_page *page)
{
    struct query_row row = lines_next_row(&page->lines);
    page->answers = lines_next(&page->lines);
    page->here.query = row.query;
    page->left_n--;
    page->rows_n++;
    begin_text(page, row.query, page->seq++);
}

/* False: the page has none left. */
static bool next_text(struct text_page *page)
{
    if (page->answers.at != NULL) {
        begin_text(page, page->answers, page->here.seq);
        page->answers = (struct str){NULL, 0};
        return true;
    }
    if (page->left_n == 0)
        return next_topic(page);
    next_question(page);
    return true;
}

/* Nothing more of this topic. */
static void skip_topic(struct text_page *page)
{
    while (page->left_n > 0)
        next_question(page);
    page->answers = (struct str){NULL, 0};
    page->text = STR("");
    page->done = page->place;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads on in the text; whether one of the forms ends there. */
static bool read_part(struct text_page *page, const struct text_wanted *wanted, struct str part)
{
    return find_read(&wanted->plain, &page->plain, part) ||
           (wanted->has_escaped && find_read(&wanted->escaped, &page->escaped, part));
}

enum text_page_state text_page_read(struct text_page *page, const struct text_wanted *wanted,
                                    size_t *bytes, struct text_found *ret_found)
{
    while (*bytes > 0) {
        size_t n = page->text.n < *bytes ? page->text.n : *bytes;
        struct str part = {page->text.at, n};
        *bytes -= n;
        page->text = (struct str){page->text.at + n, page->text.n - n};
        if (read_part(page, wanted, part)) {
            *ret_found = page->here;
            skip_topic(page);
            return TEXT_PAGE_FOUND;
        }
        if (page->text.n > 0)
            continue;
        if (!next_text(page))
            return TEXT_PAGE_END;
        *bytes -= *bytes < TEXT_COST_BYTES ? *bytes : TEXT_COST_BYTES;
    }
    return TEXT_PAGE_MORE;
}

/* --- cursors ---------------------------------------------------------------------------------- */

void text_page_put_cursor(struct buf *b, const struct text_page *page)
{
    struct lines rest = page->lines;
    if (lines_are_left(&rest)) { /* after a topic that was found */
        lines_next(&rest);
        buf_lit(b, "1.");
        buf_put(b, lines_next(&rest));
        return;
    }
    struct str place = page->next;
    struct str seq = str_cut(&place, '.');
    if (page->next.n == 0)
        return;
    if (page->done.at != NULL && str_eq(place, page->done))
        buf_put_u64(b, TEXT_PAGE_LAST_SEQ);
    else
        buf_put(b, seq);
    buf_put_char(b, '.');
    buf_put(b, place);
}

/* --- how a text is shown ---------------------------------------------------------------------- */

/* The bytes of the character at json.at[0], which may be an escape, or two: halves of one. */
static size_t character_bytes(struct str json)
{
    uint32_t code;
    if (json.at[0] != '\\')
        return text_char(json, &code);
    if (json.n < 6 || json.at[1] != 'u')
        return 2;
    bool is_half = (json.at[2] | 0x20) == 'd' && strchr("89abAB", json.at[3]) != NULL;
    return is_half && json.n >= 12 && json.at[6] == '\\' && json.at[7] == 'u' ? 12 : 6;
}

void text_page_put_cut(struct buf *b, struct str json, unsigned characters)
{
    struct str rest = {json.at + 1, json.n - 2};
    if (json.n < 2)
        return;
    for (; characters > 0 && rest.n > 0; characters--) {
        size_t n = character_bytes(rest);
        n = n < rest.n ? n : rest.n;
        rest = (struct str){rest.at + n, rest.n - n};
    }
    buf_put(b, (struct str){json.at, (size_t)(rest.at - json.at)});
    buf_put_char(b, '"');
}
