/* SPDX-License-Identifier: MIT
 *
 * feeder: works on one batch while this node holds it (batches.h).
 *
 *   LOADING --validating--> CHECKING --its lines are good--> FEEDING --the last is stored--> over
 *      |                        '--errors: the batch has failed--> over            |
 *      '--in progress, where its former node has stopped--> FEEDING                |
 *   cancelled, or its input is gone: ENDING --> over <-----------------------------'
 *
 * On the loop's thread; frees itself when the batch is over, or another node has it.
 */
#ifndef PARLEY_SERVICES_OPENAI_BATCH_FEEDER_H
#define PARLEY_SERVICES_OPENAI_BATCH_FEEDER_H

#include "services/openai/batches/batches.h"
#include "services/openai/batches/check.h"
#include "services/openai/files/files.h"

enum feeder_state { FEEDER_LOADING, FEEDER_CHECKING, FEEDER_FEEDING, FEEDER_ENDING };

struct feeder {
    struct batches *all;
    struct lease lease;
    enum feeder_state state;
    uint64_t sm_id;             /* for the log of its states */
    struct call call, put_call; /* one of each at a time */
    struct deadline tick;
    char owner[FILE_OWNER_CHARS + 1], batch[BATCH_ID_CHARS + 1];
    char *account, *user; /* names */
    char *endpoint, *input_file;
    struct input input;
    struct check check;
    struct list lines; /* struct line: read, and not stored */
    unsigned line_n;
    size_t line_bytes;
    uint64_t next;    /* the number of the next line, from 0 */
    uint64_t *stored; /* numbers of later lines that are stored already */
    size_t stored_n;
    uint64_t expires_ms, asked_ms;  /* of the loop's clock */
    uint64_t turn_ms;               /* the same: when others get the place that it has here */
    const char *fault_code, *fault; /* why it fails; NULL: it does not */
    bool is_cancelled, is_expired, is_full, is_read;
};

/* Begins to work on a batch that was taken. `id`: "<owner>-<batch>". */
void feeder_start(struct batches *all, struct str id, uint64_t fence, struct str account,
                  struct str user);
void feeder_drop(struct feeder *feeder);
void feeder_cancel(struct feeder *feeder);
/* It asks soon whether it was cancelled. */
void feeder_ask(struct feeder *feeder);
/* Puts the metrics of all feeders of this process. Any thread. */
void feeder_put_metrics(struct buf *b);

/* --- for line.c --- */

/* Something has changed: it continues outside of callbacks. */
void feeder_wake(struct feeder *feeder, uint64_t after_ms);

#endif
