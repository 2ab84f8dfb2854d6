/* SPDX-License-Identifier: MIT
 * html.c - see html.h. */
#include "shared/base/html.h"

void buf_put_html(struct buf *b, struct str text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.n; i++) {
        const char *entity = NULL;
        switch (text.at[i]) {
        case '&': entity = "&amp;"; break;
        case '<': entity = "&lt;"; break;
        case '>': entity = "&gt;"; break;
        case '"': entity = "&quot;"; break;
        case '\'': entity = "&#39;"; break;
        default: continue;
        }
        buf_put(b, (struct str){text.at + from, i - from});
        buf_put(b, str_of(entity));
        from = i + 1;
    }
    if (from < text.n)
        buf_put(b, (struct str){text.at + from, text.n - from});
}
