/* SPDX-License-Identifier: MIT
 * question_id.c - see question_id.h. */
#include "services/workflow/approvals/question_id.h"

static bool is_session(struct str text)
{
    if (text.n != QUESTION_SESSION_CHARS)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (memchr("0123456789abcdef", text.at[i], 16) == NULL)
            return false;
    return true;
}

/* Without leading zeros: each id has one spelling. */
static bool read_number(struct str text, uint64_t least, uint64_t *ret_number)
{
    uint64_t number;
    if (text.n == 0 || text.n > QUESTION_NUMBER_CHARS || (text.at[0] == '0' && text.n > 1) ||
        !str_parse_u64(text, &number) || number < least)
        return false;
    *ret_number = number;
    return true;
}

bool question_id_parse(struct str text, struct question_id *ret_id)
{
    struct question_id id = {.session = str_cut(&text, '.')};
    struct str run = str_cut(&text, '.');
    if (text.at == NULL || !is_session(id.session) || !read_number(run, 1, &id.run) ||
        !read_number(text, 0, &id.step))
        return false;
    *ret_id = id;
    return true;
}

void question_id_put(struct buf *b, const struct question_id *id)
{
    buf_put(b, id->session);
    buf_put_char(b, '.');
    buf_put_u64(b, id->run);
    buf_put_char(b, '.');
    buf_put_u64(b, id->step);
}
