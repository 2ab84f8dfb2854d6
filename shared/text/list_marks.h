/* SPDX-License-Identifier: MIT
 *
 * list_marks: finds the mark that makes a line an item of a list: "- ", "2) ", "b. ", "iv) ". Pure.
 */
#ifndef PARLEY_TEXT_LIST_MARKS_H
#define PARLEY_TEXT_LIST_MARKS_H

#include "shared/base/str.h"

/* Returns the bytes of the list mark that a line without white space before it begins with, with
 * the space after it; 0 if there is none. */
size_t list_mark(struct str line);

#endif
