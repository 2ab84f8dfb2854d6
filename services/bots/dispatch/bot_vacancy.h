/* SPDX-License-Identifier: MIT
 *
 * bot_vacancy: waits until the queue has room for the question of a bot that is a model, after it
 * refused one (shared/queue/vacancy.h). In its owner, zeroed initially; on the loop's thread.
 */
#ifndef PARLEY_SERVICES_BOTS_BOT_VACANCY_H
#define PARLEY_SERVICES_BOTS_BOT_VACANCY_H

#include "services/bots/dispatch/call.h"
#include "shared/queue/vacancy.h"

struct bot_vacancy {
    struct vacancy_wait wait;
    char *names; /* own memory, of the wait; NULL: it does not wait */
    /* Runs once, never inside bot_vacancy_wait, when it waits no longer. */
    void (*on_vacancy)(struct bot_vacancy *vacancy);
};

/* Copies `refused`. */
void bot_vacancy_wait(struct bots *bots, struct bot_vacancy *vacancy,
                      const struct bot_refused *refused);
/* Accepts one that does not wait. */
void bot_vacancy_leave(struct bot_vacancy *vacancy);

#endif
