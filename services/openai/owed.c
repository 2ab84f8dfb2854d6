/* SPDX-License-Identifier: MIT
 * owed.c - see owed.h. */
#include "services/openai/owed.h"

enum { OWED_MAX = 10000, AGAIN_MS = 5000 };

static void end(struct owed *owed)
{
    call_detach(&owed->call);
    loop_cancel_deadline(owed->openai->server->loop, &owed->deadline);
    list_remove(&owed->link);
    owed->openai->owed_n--;
    free(owed);
}

static void retry(struct owed *owed)
{
    loop_set_deadline(owed->openai->server->loop, &owed->deadline, AGAIN_MS);
}

static void on_reply(struct call *call, enum err error, struct str reply)
{
    struct owed *owed = container_of(call, struct owed, call);
    (void)reply;
    if (err_is_outage(error))
        retry(owed);
    else
        end(owed);
}

static void try_send(struct owed *owed)
{
    struct turn *turn = shards_turn(queue_shards(owed->openai->queue), owed->home);
    if (turn_is_up(turn))
        owed->send(owed, turn_call(turn, &owed->call, on_reply));
    else
        retry(owed);
}

static void on_deadline(struct deadline *deadline)
{
    try_send(container_of(deadline, struct owed, deadline));
}

void owed_start(struct openai *openai, struct owed *owed, uint64_t after_ms)
{
    if (openai->owed_n == OWED_MAX) {
        free(owed);
        return;
    }
    owed->openai = openai;
    owed->deadline.on_expire = on_deadline;
    list_append(&openai->owed, &owed->link);
    openai->owed_n++;
    if (after_ms > 0)
        loop_set_deadline(openai->server->loop, &owed->deadline, after_ms);
    else
        try_send(owed);
}

void owed_fini(struct openai *openai)
{
    list_for_each (struct owed, owed, &openai->owed, link)
        end(owed);
}
