/* SPDX-License-Identifier: MIT
 *
 * keeper: packs the deltas of a response that is kept, once it has ended, so that it takes little
 * of Redis's memory for the days that it stays. Whatever it misses (a node that died, more than
 * KEEPERS_MAX at a time) the request packs that reads the response. They end with the service. On
 * the loop's thread.
 *
 *   WATCHING --it has ended--> its log is read --> stored, packed
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_KEEPER_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_KEEPER_H

#include "services/openai/openai.h"

enum { KEEPERS_MAX = 10000 };

/* `topic` (a name) is copied. */
void keeper_start(struct openai *openai, struct str topic, uint64_t seq);
void keepers_fini(struct openai *openai);

#endif
