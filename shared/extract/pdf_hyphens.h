/* SPDX-License-Identifier: MIT
 *
 * pdf_hyphens: decides whether a hyphen at the end of a line parts a word there, or belongs to the
 * word anyway. The words of the whole document help to decide. Pure, any thread.
 */
#ifndef PARLEY_EXTRACT_PDF_HYPHENS_H
#define PARLEY_EXTRACT_PDF_HYPHENS_H

#include "shared/extract/pdf_words.h"

enum pdf_join {
    PDF_JOIN_SPACE,    /* two words */
    PDF_JOIN_NONE,     /* nothing comes between them: no hyphen, no spaces in this script */
    PDF_JOIN_WORD,     /* "mainte-" "nance": one word without the hyphen */
    PDF_JOIN_COMPOUND, /* "1990-" "1995", "well-" "known": with it */
};

/* The words of a document. */
struct pdf_hyphens {
    uint64_t *known; /* hashes, 0 where there is room */
    uint64_t mask;
};

void pdf_hyphens_init(struct pdf_hyphens *hyphens, const struct pdf_words *words);
void pdf_hyphens_fini(struct pdf_hyphens *hyphens);
/* How the last word of a line and the first one of the next are joined. */
enum pdf_join pdf_hyphens_join(const struct pdf_hyphens *hyphens, struct str last,
                               struct str first);

#endif
