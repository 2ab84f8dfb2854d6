/* SPDX-License-Identifier: MIT
 *
 * odf_body: the text of an OpenDocument: paragraphs, lists with their numbers, tables, notes, and
 * slides with a form feed between two. One thread.
 */
#ifndef PARLEY_EXTRACT_ODF_BODY_H
#define PARLEY_EXTRACT_ODF_BODY_H

#include "shared/extract/odf_styles.h"
#include "shared/extract/package.h"

/* Reads content.xml, whose own styles are added to `styles`. NONE, BROKEN, BOMB, ENCRYPTED or
 * NOT_KIND. */
enum extract_fault odf_body_read(struct package *package, struct odf_styles *styles,
                                 struct buf *rough) must_check;
/* Reads styles.xml; headers and footers that have words are put, each once. */
enum extract_fault odf_headers_read(struct package *package, struct odf_styles *styles,
                                    struct buf *headers) must_check;

#endif
