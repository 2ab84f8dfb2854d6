/* SPDX-License-Identifier: MIT
 *
 * docx_notes: the foot- and endnotes of a DOCX document, numbered in the order of their marks.
 * Owned by its holder; one thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_NOTES_H
#define PARLEY_EXTRACT_DOCX_NOTES_H

#include <stdbool.h>
#include <stddef.h>

struct docx_reference {
    bool is_endnote;
    unsigned id;
};

/* Zeroed. */
struct docx_notes {
    struct docx_reference *references; /* note i + 1 is references[i] */
    size_t n;
    size_t next; /* notes come in the order of their marks, mostly */
};

void docx_notes_fini(struct docx_notes *notes);
/* The number of a mark that comes next in the text; 0 if there are too many. */
unsigned docx_notes_add(struct docx_notes *notes, unsigned id, bool is_endnote);
/* The number of a note; 0 if nothing refers to it. */
unsigned docx_notes_find(struct docx_notes *notes, unsigned id, bool is_endnote);

#endif
