/* SPDX-License-Identifier: MIT
 *
 * office_finish: the last step of a reader: what it has collected becomes clean text. Any thread.
 */
#ifndef PARLEY_EXTRACT_OFFICE_FINISH_H
#define PARLEY_EXTRACT_OFFICE_FINISH_H

#include "shared/extract/extract.h"

/* Puts `rough`, trimmed and clean, unless there was a fault. Returns that, TOO_MUCH_TEXT or
 * NONE. */
enum extract_fault office_finish(struct buf *text, const struct buf *rough,
                                 enum extract_fault fault) must_check;
/* The same, and keeps the form feeds between pages; if no page has words, nothing is put. */
enum extract_fault office_finish_pages(struct buf *text, const struct buf *rough,
                                       enum extract_fault fault) must_check;

#endif
