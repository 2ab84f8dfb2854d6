/* SPDX-License-Identifier: MIT
 * talk_read.c - see talk_read.h. */
#include "services/bots/dispatch/talk_read.h"

#include "services/bots/rooms/message.h"
#include "shared/base/mem.h"

enum { MESSAGES_MAX = 1 + TALK_CONTEXT_MAX + 100 };

static struct talk_message next(struct lines *lines, struct str username)
{
    struct message m = message_next(lines);
    bool is_own = str_eq(m.kind, STR("b")) && str_eq(m.from, username);
    return (struct talk_message){.id = m.id,
                                 .from = m.from,
                                 .text = m.text,
                                 .tagged = m.tagged,
                                 .root = lines_next(lines),
                                 .is_own = is_own};
}

bool talk_read(struct talk_reading *ret_reading, struct str reply, struct str username)
{
    struct lines lines = lines_of(reply);
    if (!str_eq(lines_next(&lines), STR("ok")))
        return false;
    struct talk talk = {.room_name = lines_next(&lines)};
    talk.context_n = lines_next_u64(&lines);
    talk.exchanges_n = lines_next_u64(&lines);
    size_t n = 1 + talk.context_n + talk.exchanges_n;
    if (talk.context_n > TALK_CONTEXT_MAX || n > MESSAGES_MAX)
        return false;
    struct talk_message *messages = mem_zeroed_n(n, sizeof *messages);
    for (size_t i = 0; i < n; i++)
        messages[i] = next(&lines, username);
    talk.message = messages[0];
    talk.context = messages + 1;
    talk.exchanges = talk.context + talk.context_n;
    *ret_reading = (struct talk_reading){talk, messages};
    return true;
}

void talk_read_fini(struct talk_reading *reading)
{
    free(reading->messages);
    *reading = (struct talk_reading){0};
}
