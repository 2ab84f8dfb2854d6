/* SPDX-License-Identifier: MIT
 *
 * report: an evaluation as one HTML file that needs nothing besides itself: no script, no picture,
 * no font, and a policy that allows none. The curve is drawn as SVG; a table has the same numbers.
 * Pure functions, any thread.
 */
#ifndef PARLEY_BOTS_CLI_REPORT_H
#define PARLEY_BOTS_CLI_REPORT_H

#include "services/bots/cli/evaluated.h"
#include "shared/base/buf.h"

/* Larger than the report of the longest run with the longest texts, which it cuts. */
enum { REPORT_MAX_BYTES = 192 << 20 };

/* Puts the report of a run that is over. `pair->other` is the run it is compared with, or NULL. */
void report_put(struct buf *b, const struct evaluated *evaluated,
                const struct evaluated_pair *pair);

#endif
