/* SPDX-License-Identifier: MIT
 *
 * evaluate: `parley evaluate` in parts: evaluate.c (settings, the order of things), evaluate_run.c
 * (begins a run on a node and follows it), evaluate_show.c (what people see), begun.c (remembers
 * the run until its result was shown). One per process, single thread.
 */
#ifndef PARLEY_BOTS_CLI_EVALUATE_H
#define PARLEY_BOTS_CLI_EVALUATE_H

#include "services/bots/cli/evaluated.h"
#include "shared/http/client/node_calls.h"

enum { EVALUATE_EXIT_FAILED = 1, EVALUATE_EXIT_USAGE = 2, EVALUATE_EXIT_NO_RESULT = 3 };

/* Size of an id in a path: 24 hex digits, a hyphen, a number. */
enum { EVALUATE_ID_MAX_BYTES = 64 };

struct evaluate_cli {
    struct node_calls calls;
    const char *bot, *measure, *path; /* path: of the conversation; NULL with --run */
    const char *against, *report;     /* NULL: none */
    char id[EVALUATE_ID_MAX_BYTES];   /* of the run; "": not begun yet */
    char *begun_path;                 /* begun.c; NULL: nothing can be remembered */
    bool is_json;
    bool is_known;      /* an earlier command has begun the run */
    struct buf request; /* the body that begins the run */
    struct evaluated run, other;
    struct evaluated_pair pair;
    uint64_t started_ms; /* of following; the monotonic clock */
    size_t started_n;    /* turns that were stored then */
    size_t said_n;       /* turns at the last plain line of progress */
};

/* Gets all turns of evaluation `id` that are stored and not in `evaluated` yet. Sets
 * *ret_is_missing if there is no such evaluation. Returns false after a line, or after a signal. */
bool evaluate_cli_fetch(struct evaluate_cli *cli, const char *id, struct evaluated *evaluated,
                        bool *ret_is_missing) must_check;
/* Begins the run, or finds the one that continues, and waits until it is over. The same errors. */
bool evaluate_cli_follow(struct evaluate_cli *cli) must_check;
/* Ends a run before its last turn. */
bool evaluate_cli_cancel(struct evaluate_cli *cli, const char *id) must_check;

/* The run that this very command has begun earlier and whose result it has not shown: `cli->id`. */
void evaluate_cli_recall(struct evaluate_cli *cli);
void evaluate_cli_remember(const struct evaluate_cli *cli);
void evaluate_cli_forget(const struct evaluate_cli *cli);

/* Standard error: what is under way. */
void evaluate_cli_show_begin(struct evaluate_cli *cli);
void evaluate_cli_show_progress(struct evaluate_cli *cli);
/* Standard output: the table and the summary, or JSON. */
void evaluate_cli_show_result(const struct evaluate_cli *cli);
void evaluate_cli_show_json(const struct evaluate_cli *cli);

#endif
