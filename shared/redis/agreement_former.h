/* SPDX-License-Identifier: MIT
 *
 * agreement_former: data of a former version, which took a --key-prefix without a hash tag as it
 * is. They are one shard, and stay where they are. For agreement.c alone.
 */
#ifndef PARLEY_REDIS_AGREEMENT_FORMER_H
#define PARLEY_REDIS_AGREEMENT_FORMER_H

#include "shared/redis/agreement.h"
#include "shared/redis/sync.h"

/* AGREED: there are none, or the map is theirs from here on (shard_map_untag). AGREED_NOT_YET:
 * `sync`, which goes to the first server, cannot ask it. AGREED_REFUSED: they do not fit what was
 * asked for. `reason`: for people, filled unless AGREED. */
enum agreed agreement_look_for_former(struct shard_map *map, struct sync *sync, char *reason,
                                      size_t reason_size) must_check;

#endif
