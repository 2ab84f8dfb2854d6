/* SPDX-License-Identifier: MIT
 *
 * status_line: writes the progress of a long-running tool to standard error: one line that is
 * overwritten, only on a terminal, and complaints, which first remove that line. One per process,
 * on its main thread.
 */
#ifndef PARLEY_BASE_STATUS_LINE_H
#define PARLEY_BASE_STATUS_LINE_H

#include "shared/base/str.h"

#include <stdarg.h>

struct status_line {
    bool is_off; /* no progress: the output is for programs */
    bool is_drawn;
    uint64_t drawn_ms; /* the monotonic clock */
};

/* Shows the text in place of the last one. At most four times a second: a call in between does
 * nothing. */
void status_line_show(struct status_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Before anything else is printed. */
void status_line_clear(struct status_line *line);
/* Removes the progress and writes "parley: <text>" with a newline. */
void status_line_complain(struct status_line *line, const char *format, va_list list)
    __attribute__((format(printf, 2, 0)));

#endif
