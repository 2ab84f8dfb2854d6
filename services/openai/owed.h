/* SPDX-License-Identifier: MIT
 *
 * owed: a verb that has to run for a request that has ended, even if Redis is away now: it is sent
 * again until it has run. At most OWED_MAX of a node; what others would have done then ends by its
 * time in Redis. They end with the service, without having run. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_OWED_H
#define PARLEY_SERVICES_OPENAI_OWED_H

#include "services/openai/openai.h"

/* The first member of memory from mem_alloc or mem_zeroed. */
struct owed {
    struct list_link link;
    struct openai *openai;
    struct deadline deadline;
    struct call call;
    struct str home; /* the verb's: a topic, or an account */
    /* Starts the verb. */
    void (*send)(struct owed *owed, struct call_start start);
};

/* Takes `owed`, of which `home` and `send` are set. Sends it in so many ms; 0: now. */
void owed_start(struct openai *openai, struct owed *owed, uint64_t after_ms);
void owed_fini(struct openai *openai);

#endif
