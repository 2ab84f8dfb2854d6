/* SPDX-License-Identifier: MIT
 *
 * lines: finds out whether the lines of a block of text each say something of their own, as in a
 * log, an address or source code, or only end where the paper did. Pure; linear in the block's
 * length.
 */
#ifndef PARLEY_TEXT_LINES_H
#define PARLEY_TEXT_LINES_H

#include "shared/base/str.h"

enum { LINES_RECORD_MAX_BYTES = 600 };

/* Returns the lines that `text` begins with, up to an empty line or one that begins something else:
 * a heading, a list item, a row of a table, code. */
struct str lines_block(struct str text);
/* Returns whether most of the block's lines end before they are full. */
bool lines_are_apart(struct str block);
/* Returns the record that the block begins with: lines "name: value", up to the first name that
 * was there before. Empty if there are not several such lines, or another line is among them. */
struct str lines_record(struct str block);

#endif
