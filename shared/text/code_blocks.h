/* SPDX-License-Identifier: MIT
 *
 * code_blocks: finds blocks of code in Markdown, between lines of ``` or ~~~. Pure.
 */
#ifndef PARLEY_TEXT_CODE_BLOCKS_H
#define PARLEY_TEXT_CODE_BLOCKS_H

#include "shared/base/str.h"

/* Returns how much of the text is the rest of a block of code that began before it. */
size_t code_block_begun(struct str text);
/* Returns the block of code that `rest` begins with, after white space, with its fences. Empty if
 * there is none. One without an end goes to the end of the text. */
struct str code_block_at(struct str rest);

#endif
