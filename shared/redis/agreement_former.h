/* SPDX-License-Identifier: MIT
 *
 * agreement_former: data of a former version, which used a --key-prefix without a hash tag
 * unchanged. Such data is one shard and stays in place. Only for agreement.c.
 */
#ifndef PARLEY_REDIS_AGREEMENT_FORMER_H
#define PARLEY_REDIS_AGREEMENT_FORMER_H

#include "shared/redis/agreement.h"
#include "shared/redis/blocking.h"

/* AGREED: there is no such data, or the map now describes it (shard_map_untag). AGREED_NOT_YET:
 * `blocking`, which is connected to the first server, cannot reach it. AGREED_REFUSED: the data
 * contradicts the settings. `reason` is human-readable, filled unless AGREED. */
enum agreed agreement_look_for_former(struct shard_map *map, struct blocking *blocking,
                                      char *reason, size_t reason_size) must_check;

#endif
