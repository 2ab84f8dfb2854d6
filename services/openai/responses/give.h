/* SPDX-License-Identifier: MIT
 *
 * give: a response that is being made (events.h), and how events about its items are given to its
 * reader. Each takes the next number. Without a reader (`put` is NULL) they do nothing. Texts are
 * escaped as in JSON. Single thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_RESPONSES_GIVE_H
#define PARLEY_SERVICES_OPENAI_RESPONSES_GIVE_H

#include "services/openai/responses/events_item.h"
#include "services/openai/responses/tools.h"

/* Why a response has ended. */
enum events_finish { EVENTS_WHOLE, EVENTS_TOO_LONG, EVENTS_FILTERED };

struct events {
    struct str id;       /* of the response, without its prefix: names its items */
    struct str head;     /* `{"id":...,"object":"response","created_at":...` */
    struct str settings; /* what was asked for: `,"instructions":...` (settings.h) */
    struct str tools;    /* the list of the request (tools.h); n == 0: none */
    struct tool_index tool_index;
    struct usage *usage;
    int64_t after; /* events up to this number are not given; -1: all are */

    /* Gives an event, whose data is borrowed. NULL: nothing is given, as for a plain answer. */
    void (*put)(void *context, const char *type, const struct buf *data);
    void *context;

    uint64_t sequence;         /* of the next event */
    struct events_item *items; /* in the order in which they began */
    size_t item_n;
    enum events_finish finish;
    bool is_open;   /* created is given */
    bool has_begun; /* in_progress is */
    bool is_over;   /* more has come than can be held: the response must not be given */
};

/* Begins the data of an event: `{"type":...,"sequence_number":...`. Only with a reader. */
void give_begin(struct events *e, struct buf *b, const char *type);
/* The same about an item. `content`: the index of its part, or -1. */
void give_begin_item(struct events *e, struct buf *b, const char *type, size_t index, int content);
/* Ends it, gives it, and frees `b`. */
void give_end(struct events *e, struct buf *b, const char *type);
/* Puts a member that is a text. */
void give_put_text(struct buf *b, const char *member, struct str escaped);

/* The item itself has begun or ended. */
void give_item(struct events *e, const char *type, size_t index, const char *status);
/* A part of it has begun or ended. */
void give_part(struct events *e, const char *type, size_t index, enum events_part part,
               bool is_empty);
/* More of a part. `logprobs`: of a text; else NULL. */
void give_part_delta(struct events *e, size_t index, enum events_part part, struct str escaped,
                     const struct buf *logprobs);
/* All of a part, which ends. */
void give_part_end(struct events *e, size_t index, enum events_part part);
/* More arguments of a call, and all of them. */
void give_call_delta(struct events *e, size_t index, struct str escaped);
void give_call_end(struct events *e, size_t index);

#endif
