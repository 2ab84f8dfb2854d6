/* SPDX-License-Identifier: MIT
 *
 * fit: rates how well a passage answers a question, judged by words alone. A statement
 * (statements.h) has a term of the question (terms.h) if the statement itself contains it, or the
 * words that introduce its list, the heading above it, the title of its page, or the sentence
 * before it; each of these counts less. Pure; linear in the passage's length.
 */
#ifndef PARLEY_TEXT_FIT_H
#define PARLEY_TEXT_FIT_H

#include "shared/text/statements.h"
#include "shared/text/terms.h"

/* Finds the terms in a title, as input for fit_statement. */
void fit_title(const struct terms *terms, struct str title, struct terms_found *ret_found);
/* Finds the terms in a statement. `title` may be NULL. */
void fit_statement(const struct terms *terms, const struct statement *statement,
                   const struct terms_found *title, struct terms_found *ret_found);
/* Returns the share of the terms' weight that was found, 0 to 1; 0 if there are no terms. */
double fit_share(const struct terms *terms, const struct terms_found *found);

struct fit {
    double best;       /* share of the statement that has most of the terms */
    double whole;      /* share of title and text together */
    bool agrees;       /* terms_agree of title and text together */
    struct str anchor; /* the section of the best statement, see statements.h; empty: unknown */
};

void fit_passage(const struct terms *terms, struct str title, struct str text, struct fit *ret_fit);

#endif
