/* SPDX-License-Identifier: MIT
 *
 * office: the formats besides text, HTML, DOCX and PDF: which reader has each, and the readers
 * themselves. A reader puts the text of a document and returns NONE, TOO_MUCH_TEXT, BROKEN, BOMB,
 * ENCRYPTED or NOT_KIND. They run in a child (extract.h), except in tests of them. Any thread.
 */
#ifndef PARLEY_EXTRACT_OFFICE_H
#define PARLEY_EXTRACT_OFFICE_H

#include "shared/extract/extract.h"

/* Reads a document of one of these kinds. */
enum extract_fault office_put(enum extract_kind kind, struct buf *text,
                              struct str bytes) must_check;
/* Compares the beginning of a file with its kind: NONE, NOT_KIND, OLD_OFFICE, or KIND for a kind
 * that is not one of these. `is_binary`: it is no text. */
enum extract_fault office_sniff(enum extract_kind kind, struct str bytes,
                                bool is_binary) must_check;

/* ---- readers ---- */

/* Slides in their order, with a form feed between two: title, text, tables, charts, notes. */
enum extract_fault extract_put_pptx(struct buf *text, struct str bytes) must_check;
/* Sheets in their order, rows with their heads. */
enum extract_fault extract_put_xlsx(struct buf *text, struct str bytes) must_check;
enum extract_fault extract_put_ods(struct buf *text, struct str bytes) must_check;
enum extract_fault extract_put_csv(struct buf *text, struct str bytes) must_check;
enum extract_fault extract_put_odt(struct buf *text, struct str bytes) must_check;
/* As PPTX. */
enum extract_fault extract_put_odp(struct buf *text, struct str bytes) must_check;
/* Chapters in the order of reading. */
enum extract_fault extract_put_epub(struct buf *text, struct str bytes) must_check;
/* One of them: a web page of nothing but text, so that verse and lists are no clutter. Readers of
 * books show no title: it is put where a chapter has no heading, unless it is `title`, the one of
 * the chapter before, which it replaces. */
enum extract_fault extract_put_chapter(struct buf *text, struct str html,
                                       struct buf *title) must_check;
enum extract_fault extract_put_rtf(struct buf *text, struct str bytes) must_check;
/* Members as `name: value`, by their objects; one document, or one on each line. */
enum extract_fault extract_put_json(struct buf *text, struct str bytes) must_check;
/* The text of elements, as `name: value` where it is short. */
enum extract_fault extract_put_xml(struct buf *text, struct str bytes) must_check;
/* Headers, text, and attachments by their own readers. */
enum extract_fault extract_put_eml(struct buf *text, struct str bytes) must_check;

#endif
