/* SPDX-License-Identifier: MIT
 *
 * report_parts: the pieces of report.c: its frame, which the build makes of report.html,
 * services/web/page.css and report.css (cmake/html_frame.pl), and the curve (report_curve.c).
 */
#ifndef PARLEY_BOTS_CLI_REPORT_PARTS_H
#define PARLEY_BOTS_CLI_REPORT_PARTS_H

#include "services/bots/cli/evaluated.h"
#include "shared/http/request/html_frame.h"

/* Between head and foot is what belongs into <head> after the style, then the body. */
extern const struct html_frame report_frame;

/* Puts the curve as an SVG element with a name and a description. */
void report_put_curve(struct buf *b, const struct evaluated *evaluated,
                      const struct evaluated_pair *pair);

/* Puts what the lines and markers of the curve mean, as the caption of its figure. */
void report_put_legend(struct buf *b, const struct evaluated *evaluated,
                       const struct evaluated_pair *pair);

/* Puts a distance with four digits after the point. */
void report_put_number(struct buf *b, double value);

#endif
