/* SPDX-License-Identifier: MIT
 *
 * leaving: requests whose clients are gone, and what becomes of their queries
 * (lua/queue/ask_leave.lua). One that has ended is kept for a minute. One that has not is cancelled
 * after 2 s, so that its engine is free soon. Outlives the requests; ends with its service. On the
 * loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_LEAVING_H
#define PARLEY_SERVICES_OPENAI_LEAVING_H

#include "services/openai/openai.h"

/* `topic` is copied. `has_ended`: its outcome is known. */
void leaving_start(struct openai *openai, struct str topic, bool has_ended);
/* The loop has ended: what is left here is swept by other nodes (lua/queue/sweep_asks.lua). */
void leaving_fini(struct openai *openai);

#endif
