/* SPDX-License-Identifier: MIT
 *
 * delta: the text in a delta of a door's answer (ADR 95), where it has nothing else. Pure, any
 * thread.
 */
#ifndef PARLEY_QUEUE_DELTA_H
#define PARLEY_QUEUE_DELTA_H

#include "shared/base/json_scan.h"

/* Returns false if the delta, a JSON object, has more than text of its first choice, or ends it.
 * *ret_text: as it is escaped, without its quotes; borrowed; perhaps n == 0. */
bool delta_read_text(struct str delta, struct str *ret_text) must_check;
/* Puts the members Continue and Offset of a claim that continues an answer; `pieces` as a reply of
 * `partials` has them. */
void delta_put_continue(struct buf *b, struct str pieces);

#endif
