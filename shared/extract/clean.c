/* SPDX-License-Identifier: MIT
 * clean.c - clean text, as extract.h has it: UTF-8 without control characters. */
#include "shared/extract/extract.h"

#include "shared/extract/encoding.h"
#include "shared/text/text.h"

enum { FIRST_AFTER_CONTROLS = 0xa0 };

/* Length of what `s` begins with and that may stay as it is. */
static size_t plain_length(struct str s)
{
    size_t n = 0;
    while (n < s.n) {
        unsigned char c = (unsigned char)s.at[n];
        uint32_t code;
        if (c >= 0x20 && c < 0x80) {
            n++;
        } else if (c < 0x80) {
            if (c != '\n' && c != '\t')
                break;
            n++;
        } else {
            size_t step = text_char((struct str){s.at + n, s.n - n}, &code);
            if (code < FIRST_AFTER_CONTROLS || !str_is_utf8((struct str){s.at + n, step}))
                break;
            n += step;
        }
    }
    return n;
}

/* Puts what stands for the character that may not stay as it is, and returns its length. */
static size_t put_instead(struct buf *text, struct str s)
{
    unsigned char c = (unsigned char)*s.at;
    if (c == 0xc2 && s.n > 1 && ((unsigned char)s.at[1] & 0xe0) == 0x80)
        return 2; /* a control character of the upper half */
    if (c == '\r' && (s.n < 2 || s.at[1] != '\n'))
        buf_put_char(text, '\n');
    else if (c == '\f')
        buf_lit(text, "\n\n");
    else if (c >= 0x80)
        buf_lit(text, "\xef\xbf\xbd");
    return 1;
}

void extract_put_clean(struct buf *text, struct str s)
{
    if (str_has_prefix(s, STR("\xef\xbb\xbf")))
        s = (struct str){s.at + 3, s.n - 3};
    while (s.n > 0) {
        size_t n = plain_length(s);
        buf_put(text, (struct str){s.at, n});
        s = (struct str){s.at + n, s.n - n};
        if (s.n == 0)
            break;
        n = put_instead(text, s);
        s = (struct str){s.at + n, s.n - n};
    }
}

enum extract_fault extract_put_text(struct buf *text, struct str bytes)
{
    struct buf utf8;
    if (encoding_is_plain(bytes)) {
        extract_put_clean(text, bytes);
        return EXTRACT_FAULT_NONE;
    }
    buf_init(&utf8, bytes.n * 4 + 16);
    bool is_text = encoding_put_utf8(&utf8, bytes, STR(""));
    if (is_text)
        extract_put_clean(text, buf_str(&utf8));
    buf_fini(&utf8);
    return is_text ? EXTRACT_FAULT_NONE : EXTRACT_FAULT_NOT_TEXT;
}

void extract_put_paged(struct buf *text, struct str s, struct text_pages *pages)
{
    bool is_first = true;
    while (s.n > 0 || is_first) {
        struct str page = str_cut(&s, '\f');
        if (text->n > 0 && strchr(" \n\t", text->at[text->n - 1]) == NULL)
            buf_lit(text, "\n\n");
        text_pages_add(pages, text->n);
        extract_put_clean(text, page);
        is_first = false;
    }
}
