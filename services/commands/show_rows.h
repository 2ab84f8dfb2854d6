/* SPDX-License-Identifier: MIT
 *
 * show_rows: rows that nodes sent, printed for people or for scripts. Each row is a JSON object on
 * a line of its own, whose values are numbers and texts; rows need not have the same members.
 */
#ifndef PARLEY_SERVICES_COMMANDS_SHOW_ROWS_H
#define PARLEY_SERVICES_COMMANDS_SHOW_ROWS_H

#include "shared/base/str.h"

/* Prints a table with a column for each member, in the order in which they come first, or a JSON
 * list. Texts pass buf_put_shown. A line that is no such object is passed over. */
void show_rows_print(struct str rows, bool as_json);

#endif
