/* SPDX-License-Identifier: MIT
 *
 * check: finds faults in the lines of a batch, before any of them is sent: each line alone, and
 * its custom_id among the others. In its owner, on the loop's thread.
 */
#ifndef PARLEY_SERVICES_OPENAI_BATCH_CHECK_H
#define PARLEY_SERVICES_OPENAI_BATCH_CHECK_H

#include "services/openai/batches/input.h"

struct check {
    uint64_t *ids; /* of the lines so far: hashes, 0 where there is none */
    uint64_t salt;
    char *models; /* the reply of the verb `models` */
    char *model;  /* the last line's, as it was sent */
    bool is_model_known;
    enum openai_api api;
    struct buf errors; /* JSON, without brackets */
    unsigned error_n;
    uint64_t line;  /* the last one's place in the file, from 1 */
    uint64_t total; /* lines that are not empty */
};

/* `models`: the reply of the verb of that name, copied. */
void check_init(struct check *check, struct str models, enum openai_api api);
/* Accepts one that was zeroed. */
void check_fini(struct check *check);
/* Checks the next line; `is_long`: it has no text. */
void check_line(struct check *check, struct str text, bool is_long, struct str endpoint);
/* Checks the whole, at its end. Returns the errors as a JSON list; n == 0: there are none. */
struct str check_errors(struct check *check);

#endif
