/* SPDX-License-Identifier: MIT
 * leaving.c - see leaving.h. */
#include "services/openai/leaving.h"

#include "generated/verbs.h"
#include "shared/base/mem.h"

enum { CANCEL_AFTER_MS = 2000, KEEP_ENDED_MS = 60000, TOPIC_BYTES = 64 };

struct leaving {
    struct list_link link;
    struct openai *openai;
    struct deadline deadline;
    char topic[TOPIC_BYTES];
};

static void leave(struct openai *openai, struct str topic)
{
    struct turn *turn = shards_turn(queue_shards(openai->queue), topic);
    if (!turn_is_up(turn))
        return; /* what a node leaves there is swept */
    call_ask_leave(turn_forget(turn), .topic = topic, .keep_ms = 0, .ended_ms = KEEP_ENDED_MS);
}

static void drop(struct leaving *leaving)
{
    loop_cancel_deadline(leaving->openai->server->loop, &leaving->deadline);
    list_remove(&leaving->link);
    free(leaving);
}

static void on_deadline(struct deadline *deadline)
{
    struct leaving *leaving = container_of(deadline, struct leaving, deadline);
    leave(leaving->openai, str_of(leaving->topic));
    drop(leaving);
}

void leaving_start(struct openai *openai, struct str topic, bool has_ended)
{
    if (has_ended || topic.n >= TOPIC_BYTES) {
        leave(openai, topic);
        return;
    }
    struct leaving *leaving = mem_zeroed(sizeof *leaving);
    leaving->openai = openai;
    leaving->deadline.on_expire = on_deadline;
    memcpy(leaving->topic, topic.at, topic.n);
    list_append(&openai->leaving, &leaving->link);
    loop_set_deadline(openai->server->loop, &leaving->deadline, CANCEL_AFTER_MS);
}

void leaving_fini(struct openai *openai)
{
    list_for_each (struct leaving, leaving, &openai->leaving, link)
        drop(leaving);
}
