/* SPDX-License-Identifier: MIT
 *
 * answer_text: a text in Markdown as HTML, for pages without scripts: blocks of code, code within
 * lines, and heads. Everything else stays as it was written, with its line breaks; a text in
 * Markdown can be read so. Pure, any thread.
 */
#ifndef PARLEY_WEB_ANSWER_TEXT_H
#define PARLEY_WEB_ANSWER_TEXT_H

#include "shared/base/buf.h"

/* `text` is not trusted. Its marks `[1]` to `[source_n]` outside of code lead to `#source-N`. */
void answer_text_put(struct buf *b, struct str text, size_t source_n);

#endif
