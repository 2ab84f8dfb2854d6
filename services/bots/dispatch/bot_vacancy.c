/* SPDX-License-Identifier: MIT
 * bot_vacancy.c - see bot_vacancy.h. */
#include "services/bots/dispatch/bot_vacancy.h"

#include "services/bots/bots.h"
#include "shared/base/mem.h"

static void forget(struct bot_vacancy *vacancy)
{
    free(vacancy->names);
    vacancy->names = NULL;
}

static void on_vacancy(struct vacancy_wait *wait)
{
    struct bot_vacancy *vacancy = container_of(wait, struct bot_vacancy, wait);
    forget(vacancy);
    vacancy->on_vacancy(vacancy);
}

static struct str put(char **at, struct str name)
{
    struct str copy = {*at, name.n};
    memcpy(*at, name.at, name.n);
    *at += name.n;
    return copy;
}

void bot_vacancy_wait(struct bots *bots, struct bot_vacancy *vacancy,
                      const struct bot_refused *refused)
{
    char *at = mem_alloc(refused->account.n + refused->user.n + refused->model.n + 1);
    vacancy->names = at;
    vacancy->wait = (struct vacancy_wait){.account = put(&at, refused->account),
                                          .max_waiting = refused->max_waiting,
                                          .shard = refused->shard,
                                          .on_vacancy = on_vacancy};
    vacancy->wait.user = put(&at, refused->user);
    vacancy->wait.model = put(&at, refused->model);
    vacancy_wait_start(bots->queue, &vacancy->wait);
}

void bot_vacancy_leave(struct bot_vacancy *vacancy)
{
    vacancy_wait_cancel(&vacancy->wait);
    forget(vacancy);
}
