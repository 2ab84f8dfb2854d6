/* SPDX-License-Identifier: MIT
 *
 * ask: `parley ask` in parts: ask.c (settings, help), ask_queue.c (a question in the queue, until
 * its end), ask_documents.c (uploads, questions over documents), ask_stream.c (events of a node),
 * ask_print.c (what is printed). One per process, on its main thread.
 *
 *   queue:     add-query --Seq--> check-query, a stream --(a node is lost: again after the last id)
 *   documents: upload --> indexed? --> /api/rag/ask, a stream
 *   public:    /ask, a stream
 *   a signal, or the time is over: cancel-query
 */
#ifndef PARLEY_SERVICES_CLIENT_ASK_H
#define PARLEY_SERVICES_CLIENT_ASK_H

#include "shared/http/client/node_calls.h"
#include "shared/http/request/sse.h"

enum ask_exit {
    ASK_ANSWERED = 0,
    ASK_BROKEN = 1, /* a file cannot be read, or the answer not be written */
    ASK_USAGE = 2,
    ASK_AWAY = 3, /* no node answered */
    ASK_REFUSED = 4,
    ASK_FAILED = 5,
    ASK_CANCELLED = 6,
    ASK_TIMEOUT = 7
};

/* The user that the question is for. */
enum ask_door { ASK_QUEUE, ASK_DOCUMENTS, ASK_PUBLIC };

enum { ASK_RESUME_BYTES = 160 };

struct ask {
    struct node_calls calls;
    enum ask_door door;
    bool is_json, is_whole, shows_think;
    struct buf question;
    const char *topic, *model; /* model: NULL: none is named */
    char own_topic[32];
    json_int_t seq; /* 0: not known yet */

    /* ask_stream.c */
    struct sse sse;
    char resume[ASK_RESUME_BYTES]; /* a header; "": from the start */
    const char *headers[3];
    uint64_t progress;
    struct buf text; /* of the current attempt */
    json_t *end;     /* the data of `done` or `error`; NULL: not over */
    bool is_done;    /* it is that of `done` */

    /* ask_print.c */
    struct buf printed; /* of the answer, on standard output */
    bool is_terminal, is_error_terminal;
    bool is_unwritable; /* standard output takes nothing any more */
    bool is_thinking;   /* standard error ends in the middle of a thought */
};

/* --- ask_queue.c, ask_documents.c: return an exit code, after a line where it is not 0 --- */
int ask_queue(struct ask *x);
int ask_documents(struct ask *x);
int ask_public(struct ask *x);

/* The exit code for a request that failed (calls.fault). */
int ask_code_of_fault(const struct ask *x);

/* --- ask_stream.c --- */
void ask_stream_init(struct ask *x);
void ask_stream_fini(struct ask *x);
/* Follows the stream of `call` to its end and prints it. False: see calls.fault; a line says it,
 * except for a signal and the deadline. */
bool ask_stream_follow(struct ask *x, struct node_call *call) must_check;
/* After that: prints what is left, and returns the exit code. */
int ask_stream_end(struct ask *x);

/* --- ask_print.c --- */
/* The text so far; what is printed already is not printed again if the text continues with it. */
void ask_print_text(struct ask *x);
void ask_print_think(struct ask *x, struct str text);
/* The whole answer. */
void ask_print_answer(struct ask *x, struct str answer);
void ask_print_sources(struct ask *x, const json_t *sources);
void ask_print_json(struct ask *x, const json_t *value);
/* A line on standard error, with the reason (of a node; may be empty) after the text. */
void ask_complain(struct ask *x, const char *text, struct str reason);

#endif
