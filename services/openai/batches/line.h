/* SPDX-License-Identifier: MIT
 *
 * line: one line of a batch on its way: sent as a request, again after a while if there was no room
 * or no engine, until there is a result to store. On the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_BATCH_LINE_H
#define PARLEY_SERVICES_OPENAI_BATCH_LINE_H

#include "services/openai/batches/feeder.h"
#include "shared/http/request/inner.h"

enum line_state { LINE_WAITING, LINE_RUNNING, LINE_ANSWERED, LINE_STORING };
enum line_kind { LINE_OUTPUT, LINE_ERROR, LINE_SHORT };

struct line {
    struct list_link link;
    struct feeder *feeder;
    struct inner inner;
    enum line_state state;
    uint64_t sm_id;      /* for the log of its states */
    enum line_kind kind; /* of the result */
    uint64_t number, ends;
    uint64_t again_ms; /* LINE_WAITING: when it is sent */
    unsigned tries, lost_n;
    char *custom_id, *body;
    size_t body_n;
    struct buf result; /* a line of a file */
};

/* Adds a line to the feeder's; it waits to be sent. */
void line_add(struct feeder *feeder, const struct input_line *said, uint64_t number, uint64_t ends);
void line_free(struct line *line);
void line_move(struct line *line, enum line_state to);
/* Sends it. */
void line_send(struct line *line, const struct account *account, struct str user);
/* Its result is an error, and no request of it is under way any more. */
void line_fail(struct line *line, enum line_kind kind, const char *code, const char *message);

#endif
