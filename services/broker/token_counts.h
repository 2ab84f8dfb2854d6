/* SPDX-License-Identifier: MIT
 *
 * token_counts: the tokens that models read and wrote, as far as their engines said, for /metrics.
 * Engines name models as they like, so the first TOKEN_MODELS_MAX have counters of their own, and
 * all later ones are added up as `other`. One per process; any thread.
 */
#ifndef PARLEY_BROKER_TOKEN_COUNTS_H
#define PARLEY_BROKER_TOKEN_COUNTS_H

#include "shared/base/buf.h"

enum { TOKEN_MODELS_MAX = 50 };

/* `model` is a name (buf_put_name), copied. */
void token_counts_add(struct str model, uint64_t prompt, uint64_t completion);
/* Puts them in Prometheus's text format. */
void token_counts_put(struct buf *b);

#endif
