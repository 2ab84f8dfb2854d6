/* SPDX-License-Identifier: MIT
 *
 * top: the parts of `parley top`: top.c asks the nodes and waits, top_screen.c owns the terminal,
 * top_view.c turns answers into lines. One thread.
 */
#ifndef PARLEY_SERVICES_USERS_CLI_TOP_H
#define PARLEY_SERVICES_USERS_CLI_TOP_H

#include "shared/base/buf.h"
#include "shared/base/json.h"

/* --- top_screen.c: the terminal of standard output, and keys of standard input ---------------- */

enum top_key { TOP_NO_KEY, TOP_QUIT, TOP_REFRESH };

/* Shows an empty screen without a cursor and reads keys without a newline. What was there comes
 * back with top_screen_end, and when the process exits or dies of a signal that it can catch.
 * False: standard input or output is no terminal. */
bool top_screen_begin(void) must_check;
void top_screen_end(void);
/* Columns and lines; 80 and 24 where the terminal does not say. */
void top_screen_size(unsigned *ret_columns, unsigned *ret_lines);
/* Replaces what is shown by these lines, which must not be more than there are. */
void top_screen_draw(struct str text);
/* The key that was pressed, if any; does not wait. A resize counts as TOP_REFRESH. */
enum top_key top_screen_key(void);

/* --- top_view.c ------------------------------------------------------------------------------- */

/* The view: the answers of /api/status?Detail=true and /api/depth, borrowed. */
struct top_view {
    const json_t *status, *depth;
    struct str url;     /* which node answered */
    const char *notice; /* why there is nothing newer; NULL: it is new */
    unsigned columns;   /* longer lines are cut; 0: they are not */
    unsigned lines;     /* at most; 0: all */
    bool has_colours;
};

/* Puts the view as lines, each with its newline except the last. Texts of clients are shown without
 * control characters. */
void top_view_put(struct buf *b, const struct top_view *view);

#endif
