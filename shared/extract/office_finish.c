/* SPDX-License-Identifier: MIT
 * office_finish.c - see office_finish.h. */
#include "shared/extract/office_finish.h"

static enum extract_fault check(const struct buf *text, const struct buf *rough,
                                enum extract_fault fault)
{
    bool is_over = rough->is_over || text->is_over;
    return fault == EXTRACT_FAULT_NONE && is_over ? EXTRACT_FAULT_TOO_MUCH_TEXT : fault;
}

enum extract_fault office_finish(struct buf *text, const struct buf *rough,
                                 enum extract_fault fault)
{
    if (fault == EXTRACT_FAULT_NONE)
        extract_put_clean(text, str_trim(buf_str(rough)));
    return check(text, rough, fault);
}

enum extract_fault office_finish_pages(struct buf *text, const struct buf *rough,
                                       enum extract_fault fault)
{
    struct str rest = buf_str(rough);
    size_t from = text->n, words_n = 0;
    for (bool is_first = true; fault == EXTRACT_FAULT_NONE && rest.at != NULL; is_first = false) {
        struct str page = str_trim(str_cut(&rest, '\f'));
        if (!is_first)
            buf_put_char(text, '\f');
        extract_put_clean(text, page);
        words_n += page.n;
    }
    if (words_n == 0)
        text->n = from;
    return check(text, rough, fault);
}
