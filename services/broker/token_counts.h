/* SPDX-License-Identifier: MIT
 *
 * token_counts: the tokens that models read and wrote, as far as their engines said, for /metrics.
 * Engines name models as they like, so the first TOKEN_SERIES_MAX pairs of account and model have
 * counters of their own, and all later ones are added up as `other`. One per process; any thread.
 */
#ifndef PARLEY_BROKER_TOKEN_COUNTS_H
#define PARLEY_BROKER_TOKEN_COUNTS_H

#include "shared/base/buf.h"

enum { TOKEN_SERIES_MAX = 100 };

/* `account` asked, `model` answered: names (buf_put_name), copied. */
void token_counts_add(struct str account, struct str model, uint64_t prompt, uint64_t completion);
/* Puts them in Prometheus's text format. */
void token_counts_put(struct buf *b);

#endif
