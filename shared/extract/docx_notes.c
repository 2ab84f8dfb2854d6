/* SPDX-License-Identifier: MIT
 * docx_notes.c - see docx_notes.h. */
#include "shared/extract/docx_notes.h"

#include "shared/base/mem.h"

#include <stdlib.h>

enum { REFERENCES_MAX = 16384 };

void docx_notes_fini(struct docx_notes *notes)
{
    free(notes->references);
}

unsigned docx_notes_add(struct docx_notes *notes, unsigned id, bool is_endnote)
{
    if (notes->n == REFERENCES_MAX)
        return 0;
    notes->references = mem_grow(notes->references, notes->n, sizeof *notes->references);
    notes->references[notes->n++] = (struct docx_reference){is_endnote, id};
    return (unsigned)notes->n;
}

unsigned docx_notes_find(struct docx_notes *notes, unsigned id, bool is_endnote)
{
    for (size_t i = 0; i < notes->n; i++) {
        size_t at = (notes->next + i) % notes->n;
        if (notes->references[at].id == id && notes->references[at].is_endnote == is_endnote) {
            notes->next = at + 1;
            return (unsigned)at + 1;
        }
    }
    return 0;
}
