/* SPDX-License-Identifier: MIT
 *
 * docx_script: raised and lowered letters of DOCX as they are typed: 10^6, x_12, Ca^(2+). Their end
 * is known only when other letters follow, so parentheses are put then. One document, one thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_SCRIPT_H
#define PARLEY_EXTRACT_DOCX_SCRIPT_H

#include "shared/extract/flow.h"

struct docx_script {
    char last;   /* '^', '_' or 0: of the letters before */
    size_t from; /* where they begin in the flow's text; 0: without a mark */
};

/* Puts what parts `text`, which follows, from what is before it. */
void docx_script_begin(struct docx_script *script, struct flow *flow, char kind, struct str text);
/* Ends what is open: at the end of a paragraph, and before what is no letter. */
void docx_script_end(struct docx_script *script, struct flow *flow);

bool docx_is_word_char(char c);
/* The character before what comes next; 0 if there is none, or white space. */
char docx_last_char(const struct flow *flow);

#endif
