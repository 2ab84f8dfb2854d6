/* SPDX-License-Identifier: MIT
 *
 * scan: the words of a scanned PDF by OCR, which is off unless scan_set_languages turns it on. Each
 * page is drawn by pdftoppm (poppler-utils) and read by tesseract, each in a sandbox of its own
 * with one thread. Blocking; any thread.
 */
#ifndef PARLEY_EXTRACT_SCAN_H
#define PARLEY_EXTRACT_SCAN_H

#include "shared/base/config.h"
#include "shared/extract/sandbox.h"

/* --ocr, of all that read documents. */
extern const struct config_group scan_options;

/* Turns OCR on, if the options say so. From main before threads start. False after one line on
 * standard error. */
bool scan_read_options(const struct config *config) must_check;
/* The same with tesseract's names of languages, `eng+deu`; NULL turns it off. Borrowed for the life
 * of the process. */
void scan_set_languages(const char *languages);
bool scan_is_on(void);

/* Puts the words of `page_n` pages in the form that `pdftotext -tsv` prints them. `pdf` is a
 * descriptor of the file, borrowed. Returns how the last child ended. If by itself, *ret_status is
 * 0, or else it could not read its page, or there is no such program. */
enum sandbox_end scan_put_words(int pdf, uint32_t page_n, const atomic_bool *is_stopping,
                                struct buf *words, int *ret_status) must_check;

#endif
