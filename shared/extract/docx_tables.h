/* SPDX-License-Identifier: MIT
 *
 * docx_tables: the tables of a DOCX part, and tables within their cells: "Outer A | 40; B | 50". A
 * cell has a flow of its own, until its row is put as a line. One part; one thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_TABLES_H
#define PARLEY_EXTRACT_DOCX_TABLES_H

#include "shared/extract/flow.h"
#include "shared/extract/xml_reader.h"

enum { DOCX_TABLES_MAX = 8 }; /* within each other; the cells of deeper ones are plain text */

/* Zeroed. */
struct docx_tables {
    struct docx_table *open[DOCX_TABLES_MAX];
    unsigned depth;
};

void docx_tables_fini(struct docx_tables *tables);

/* Takes an element if it is part of a table, or else returns false. `flow` becomes that of the
 * cell, and at its end what it was. */
bool docx_tables_start(struct docx_tables *tables, struct flow *flow, const struct xml_tag *tag);
bool docx_tables_end(struct docx_tables *tables, struct flow *flow, const struct xml_tag *tag);
/* The row that is open is deleted, unless one of its cells is open. */
void docx_tables_delete_row(struct docx_tables *tables);

#endif
