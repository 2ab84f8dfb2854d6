/* SPDX-License-Identifier: MIT
 *
 * verb_info: the properties of a verb, from its header, for code that carries verbs to Redis; and
 * the nonce that a verb may use up. generated/verb_ids.h numbers the verbs. Constants; any thread.
 */
#ifndef PARLEY_REDIS_VERB_INFO_H
#define PARLEY_REDIS_VERB_INFO_H

#include "shared/base/str.h"

#include <stdbool.h>

/* Verbs of one turn run lane by lane: answers free engines before polls look for work, polls wait
 * before new queries come (which are then handed over instead of queued), readers come last. Slow
 * verbs, which may take Redis milliseconds each, run in calls of their own: BATCH_SLOW_MAX of them
 * in one, one such call at a time. However many there are, they delay other verbs by one call at
 * most; those of one owner (call_start) delay those of another by one call for each owner that
 * waits. A call has one verb of each user of its owner. */
enum turn_lane { LANE_FIRST, LANE_CLAIM, LANE_ADD, LANE_READ, LANE_SLOW, LANE_NR };

enum { NONCE_ID_BYTES = 16, TURN_ARGS_MAX = 999 };
struct nonce_id {
    unsigned char bytes[NONCE_ID_BYTES];
    bool is_set;
    bool is_record_only; /* an earlier attempt may have stored it: store it without refusing */
};

struct verb_info {
    unsigned id; /* enum verb */
    struct str name;
    enum turn_lane lane;
    bool takes_nonce;
    bool is_durable;             /* its reply acknowledges what it stored (fence.h) */
    unsigned min_argc, max_argc; /* without the nonce; more than one with lists */
};
extern const struct verb_info verb_infos[]; /* by enum verb */
extern const unsigned verb_infos_n;

#endif
