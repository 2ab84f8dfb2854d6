/* SPDX-License-Identifier: MIT
 *
 * encoding_labels: the labels of the WHATWG Encoding standard (section 4.2) and of a few older
 * encodings, and the ICU converters that read what they stand for. Pure; any thread.
 */
#ifndef PARLEY_EXTRACT_ENCODING_LABELS_H
#define PARLEY_EXTRACT_ENCODING_LABELS_H

#include "shared/base/str.h"

struct encoding {
    const char *labels; /* with a blank before and after each */
    const char *converter;
    bool is_seven_bit; /* its letters are written in ASCII bytes, after an escape */
};

/* NULL for a label that neither the standard nor the rows after it know. */
const struct encoding *encoding_of_label(struct str label);
/* The same for a name of uchardet's: the encoding that contains all that it could mean. */
const struct encoding *encoding_of_guess(struct str name);

#endif
