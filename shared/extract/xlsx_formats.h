/* SPDX-License-Identifier: MIT
 *
 * xlsx_formats: the number formats of an XLSX workbook: values as the sheet shows them, but dates
 * as 2021-03-25 and without separators of thousands. Owned by its holder; one thread.
 */
#ifndef PARLEY_EXTRACT_XLSX_FORMATS_H
#define PARLEY_EXTRACT_XLSX_FORMATS_H

#include "shared/extract/package.h"

enum { XLSX_SIGN_BYTES = 24 };

struct xlsx_format {
    bool is_general, is_percent, has_date, has_time, has_seconds, is_elapsed;
    unsigned decimals, least_decimals;
    char before[XLSX_SIGN_BYTES], after[XLSX_SIGN_BYTES]; /* "bar", "€" */
};

struct xlsx_formats {
    struct xlsx_format *styles; /* by the number that cells have */
    size_t n;
    bool is_1904; /* days count from then */
};

/* Reads the styles of a workbook, which may have none. For xlsx_formats_fini, whatever it
 * returns. */
enum extract_fault xlsx_formats_read(struct package *package, struct str part,
                                     struct xlsx_formats *formats) must_check;
void xlsx_formats_fini(struct xlsx_formats *formats);

/* Reads a format such as `0.00" bar"`. */
struct xlsx_format xlsx_format_of(struct str code);
/* Puts a value in the format of a style. */
void xlsx_put_value(struct buf *b, const struct xlsx_formats *formats, unsigned style,
                    double value);

#endif
