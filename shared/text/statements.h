/* SPDX-License-Identifier: MIT
 *
 * statements: splits a text into what it states: sentences, list items with the words that
 * introduce the list, table rows, records, lines of a log, and blocks of code, each with the
 * heading above it. A heading is a line that begins with `#`, or a short line on its own without a
 * full stop, as in the text of a PDF. Pure; two passes over the text.
 */
#ifndef PARLEY_TEXT_STATEMENTS_H
#define PARLEY_TEXT_STATEMENTS_H

#include "shared/text/text.h"

enum { STATEMENT_LIST_MAX_BYTES = 800 };

enum statement_kind {
    STATEMENT_SENTENCE,
    STATEMENT_LIST, /* the words that introduce a list, and its items, up to the maximum length */
    STATEMENT_ITEM,
    STATEMENT_ROW,     /* of a table; its lead is the table's first row */
    STATEMENT_HEADING, /* a short line on its own; never one marked with `#` */
    STATEMENT_CODE,    /* a block between lines of ``` or ~~~, with these */
    STATEMENT_RECORD,  /* lines "name: value" that follow each other, see lines.h */
};

struct statement {
    enum statement_kind kind;
    struct str text;    /* verbatim, trimmed, with its list mark */
    struct str heading; /* without its `#`; empty if there is none */
    struct str anchor;  /* the last `#` heading, if it is of level 2 or deeper; else empty */
    struct str lead;    /* of an item: the words before its list, ending in a colon; or empty */
    struct str before;  /* the sentence before it in its paragraph; or empty */
    struct str code; /* of a sentence that ends in a colon: the block of code after it; or empty */
};

/* Initialized by statements_start. */
struct statements {
    struct str rest, heading, anchor, lead, items, header, before;
    const char *from;              /* the start of the text */
    size_t width;                  /* bytes of the longest line */
    const char *block, *block_end; /* the lines at hand */
    bool is_apart;                 /* each of these lines says something of its own */
};

void statements_start(struct statements *statements, struct str text);
/* Returns false at the end. */
bool statements_next(struct statements *statements, struct statement *ret_statement);

/* Returns the statement without leading list and quote marks. */
struct str statement_plain(struct str text);

#endif
