/* SPDX-License-Identifier: MIT
 *
 * docx_fields: the fields of a DOCX, and the equations of RTF. A field has an instruction and,
 * after a separator, the result that it had last, which people see; what is within an instruction
 * is not seen, even if it is the result of another field. Fields of equations (EQ) have no result:
 * old documents write readings of ruby and fractions with them. One document, one thread.
 */
#ifndef PARLEY_EXTRACT_DOCX_FIELDS_H
#define PARLEY_EXTRACT_DOCX_FIELDS_H

#include "shared/base/str.h"

enum { DOCX_INSTRUCTION_MAX_BYTES = 512 };

struct docx_fields {
    unsigned depth;
    unsigned instructions; /* a bit for each open field whose instruction has begun */
    char instruction[DOCX_INSTRUCTION_MAX_BYTES]; /* of the field that began last, if it fits */
    size_t n;
    bool is_lost;
};

/* Reads w:fldChar by its type: "begin", "separate" or "end". Returns the text that a field without
 * a result shows when it ends, which is valid until the next call; else an empty one. */
struct str docx_fields_read(struct docx_fields *fields, struct str type);
/* Adds a piece of an instruction. */
void docx_fields_add(struct docx_fields *fields, struct str instruction);
/* Instructions end with their paragraph at the latest, so that a broken one hides no more. */
void docx_fields_end_paragraph(struct docx_fields *fields);

static inline bool docx_fields_hide(const struct docx_fields *fields)
{
    return fields->instructions != 0;
}

#endif
