/* SPDX-License-Identifier: MIT
 *
 * odf_math: a formula of an OpenDocument that is a part of its own. One thread.
 */
#ifndef PARLEY_EXTRACT_ODF_MATH_H
#define PARLEY_EXTRACT_ODF_MATH_H

#include "shared/extract/mathml.h"
#include "shared/extract/package.h"

/* Reads the formula in the folder `href`. Returns whether it is one: a chart or a sheet is none,
 * and a part that cannot be read neither. */
bool odf_math_read(struct mathml *math, struct package *package, struct str href);

#endif
