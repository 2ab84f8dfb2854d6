/* SPDX-License-Identifier: MIT
 * status_line.c - see status_line.h. */
#include "shared/base/status_line.h"

#include "shared/base/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { DRAW_EVERY_MS = 250 };

void status_line_clear(struct status_line *line)
{
    if (line->is_drawn)
        fputs("\r\033[K", stderr);
    line->is_drawn = false;
}

void status_line_show(struct status_line *line, const char *format, ...)
{
    va_list list;
    uint64_t now_ms = clock_mono_ms();
    if (line->is_off || now_ms < line->drawn_ms + DRAW_EVERY_MS || !isatty(STDERR_FILENO))
        return;
    status_line_clear(line);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    line->drawn_ms = now_ms;
    line->is_drawn = true;
}

void status_line_complain(struct status_line *line, const char *format, va_list list)
{
    status_line_clear(line);
    fputs("parley: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
}
