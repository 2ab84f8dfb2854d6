/* SPDX-License-Identifier: MIT
 * fit.c - see fit.h. */
#include "shared/text/fit.h"

static const float before_price = 0.4f, lead_price = 0.9f, heading_price = 0.7f, title_price = 0.5f;

void fit_title(const struct terms *terms, struct str title, struct terms_found *ret_found)
{
    *ret_found = (struct terms_found){{0}};
    (void)terms_match(terms, title, title_price, ret_found);
}

void fit_statement(const struct terms *terms, const struct statement *statement,
                   const struct terms_found *title, struct terms_found *ret_found)
{
    *ret_found = title != NULL ? *title : (struct terms_found){{0}};
    (void)terms_match(terms, statement->text, 1, ret_found);
    (void)terms_match(terms, statement->before, before_price, ret_found);
    (void)terms_match(terms, statement->lead, lead_price, ret_found);
    (void)terms_match(terms, statement->heading, heading_price, ret_found);
}

double fit_share(const struct terms *terms, const struct terms_found *found)
{
    double weight = terms_weight(terms);
    return weight > 0 ? terms_weigh(terms, found) / weight : 0;
}

void fit_passage(const struct terms *terms, struct str title, struct str text, struct fit *ret_fit)
{
    struct terms_found of_title, found;
    struct statements statements;
    struct statement statement;
    *ret_fit = (struct fit){.anchor = {NULL, 0}};
    fit_title(terms, title, &of_title);
    statements_start(&statements, text);
    while (statements_next(&statements, &statement)) {
        fit_statement(terms, &statement, &of_title, &found);
        double share = fit_share(terms, &found);
        if (share > ret_fit->best) {
            ret_fit->best = share;
            ret_fit->anchor = statement.anchor;
        }
    }
    found = (struct terms_found){{0}};
    (void)terms_match(terms, title, 1, &found);
    (void)terms_match(terms, text, 1, &found);
    ret_fit->agrees = terms_agree(terms, &found);
    ret_fit->whole = fit_share(terms, &found);
}
