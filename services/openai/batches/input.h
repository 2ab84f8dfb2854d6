/* SPDX-License-Identifier: MIT
 *
 * input: the lines of a batch's input file, read block by block (lua/files/file_content.lua), and
 * the members of a line. In its owner, on the loop's thread.
 *
 *   input_next -> a line, the end, or INPUT_NEEDS_MORE: input_fetch, then again
 */
#ifndef PARLEY_SERVICES_OPENAI_BATCH_INPUT_H
#define PARLEY_SERVICES_OPENAI_BATCH_INPUT_H

#include "services/openai/openai.h"
#include "shared/base/json_scan.h"

struct input {
    struct buf pending; /* bytes that were read and not taken */
    size_t at;          /* of the next line in `pending` */
    uint64_t base;      /* where `pending` begins in the file */
    uint64_t block;     /* that is read next */
    uint64_t skip;      /* bytes of it that were taken before */
    bool is_last;       /* there are no more blocks */
    bool is_in_long;    /* within a line that is too long, whose beginning is gone */
};

enum input_found { INPUT_LINE, INPUT_LONG_LINE, INPUT_END, INPUT_NEEDS_MORE };

/* Begins at that byte of the file. */
void input_init(struct input *input, uint64_t at);
void input_fini(struct input *input);
/* Gives the next line without its end, borrowed until the next call, and where the line after it
 * begins. A line that is longer than a request may be has no text. */
enum input_found input_next(struct input *input, struct str *ret_line, uint64_t *ret_ends);
/* Adds the reply of file_content for `input->block`. Returns false if it is malformed. */
bool input_add(struct input *input, struct lines *head, struct str parts) must_check;

/* The members of a line. Borrows from it. */
struct input_line {
    struct str custom_id;     /* JSON, with its quotes; n == 0: none */
    struct str model;         /* JSON without quotes */
    struct str body;          /* an object */
    const char *code, *param; /* what is wrong with it; NULL: nothing */
    const char *message;
};
/* Reads a line for that endpoint. */
void input_read_line(struct str line, struct str endpoint, struct input_line *ret_line);

#endif
