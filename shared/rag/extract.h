/* SPDX-License-Identifier: MIT
 *
 * extract: gets the plain text out of documents: TXT, MD, HTML, and PDF by poppler's pdftotext in
 * a child process with limits on time, memory and output. What comes out is valid UTF-8 without
 * control characters but newline and tab. Blocking; any thread.
 */
#ifndef PARLEY_RAG_EXTRACT_H
#define PARLEY_RAG_EXTRACT_H

#include "shared/base/buf.h"

#include <stdatomic.h>

enum { EXTRACT_FILE_MAX_BYTES = 25 << 20, EXTRACT_TEXT_MAX_BYTES = 16 << 20 };

enum extract_kind { EXTRACT_NONE, EXTRACT_TEXT, EXTRACT_HTML, EXTRACT_PDF };

/* The kind by the name's ending, in any case; EXTRACT_NONE for all that is not read here. */
enum extract_kind extract_kind_of(struct str name);

/* Puts the text of a document. `bytes` are the file's; `path` is where it lies, for the program
 * that reads PDF. False, with a reason for people, when it has no readable text. Text past the
 * maximum of `text` is dropped at a character's boundary. */
bool extract_text(enum extract_kind kind, struct str bytes, const char *path,
                  const atomic_bool *is_stopping, struct buf *text,
                  const char **ret_reason) must_check;

/* Puts what a reader of the page would see: no tags, scripts or styles; blocks become lines. */
void extract_put_html(struct buf *text, struct str html);
/* Puts `s` as valid UTF-8: bad bytes become U+FFFD, line ends "\n", a form feed an empty line. */
void extract_put_clean(struct buf *text, struct str s);

#endif
