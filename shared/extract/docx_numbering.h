/* SPDX-License-Identifier: MIT
 *
 * docx_numbering: the lists of a DOCX document, and the number that each paragraph of a list is
 * printed with: 1.2, a), iv). Paragraphs are counted in their order. Owned by its holder; one
 * thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_NUMBERING_H
#define PARLEY_EXTRACT_DOCX_NUMBERING_H

#include "shared/extract/docx_styles.h"
#include "shared/extract/numbers.h"

struct docx_numbering {
    struct pool texts;
    struct docx_scheme *schemes; /* w:abstractNum, by id */
    struct docx_list *lists;     /* w:num, by id */
    size_t scheme_n, list_n;
};

enum docx_mark { DOCX_NO_MARK, DOCX_BULLET, DOCX_NUMBER };

/* Reads the part; a document may be without one. For docx_numbering_fini, whatever it returns. */
enum extract_fault docx_numbering_read(struct package *package, struct str part,
                                       struct docx_numbering *numbering) must_check;
void docx_numbering_fini(struct docx_numbering *numbering);

/* The level of a list that belongs to a style; 0 if none does. */
unsigned docx_numbering_level(const struct docx_numbering *numbering, unsigned list,
                              struct str style);
/* Counts a paragraph of a list's level (0 to 8) and puts its number, if it has one. An unknown list
 * has bullets. */
enum docx_mark docx_numbering_count(struct docx_numbering *numbering, unsigned list, unsigned level,
                                    struct buf *number);

#endif
