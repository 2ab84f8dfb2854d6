/* SPDX-License-Identifier: MIT
 *
 * run: `parley workflow run` in parts: run.c (settings, the connection, the loop), run_talk.c (what
 * is sent and received), run_show.c (what people see and type), run_next.c (who may answer, and the
 * commands that continue). One per process, single thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_CLI_RUN_H
#define PARLEY_SERVICES_WORKFLOW_CLI_RUN_H

#include "shared/base/config.h"
#include "shared/base/json.h"
#include "shared/http/client/websocket_client.h"

enum {
    RUN_EXIT_REJECTED = 3, /* or expired, or failed */
    RUN_EXIT_WAITS = 4,    /* for a person, and there is none here */
    RUN_URLS_MAX = 16
};

/* The reply when a run stops. */
enum run_reply { RUN_ASK, RUN_APPROVE, RUN_REJECT };

struct run_cli {
    const struct config *config;
    struct str urls[RUN_URLS_MAX];
    unsigned url_n, url;
    const char *user, *on_behalf_of; /* on_behalf_of: NULL or "": nobody */
    char *secret;
    const char *path;       /* of the workflows file; NULL: the node's own */
    const char *verb, *raw; /* NULL: a run that has begun is followed */
    char session[64], request[64];
    enum run_reply reply;
    bool is_json, is_terminal;
    int signal_fd;
    bool is_interrupted;

    struct websocket_client *socket; /* NULL: not connected */
    uint64_t seq;                    /* of the last frame */
    bool is_begun;                   /* the request was sent once */
    bool is_resuming;                /* a resume was sent, and nothing has come since */
    json_t *stop;                    /* the frame that stopped; NULL: it does not wait */
    uint64_t stop_ms;                /* when to ask about it; 0: it was asked, or there is none */
    bool is_replaying;               /* frames may be old ones */
    char *answer;                    /* sent, and not followed by a frame yet */
    struct buf typed;                /* a line that is being typed */
    bool is_over;
    int code;
};

/* Writes a line to standard error. Returns false. */
bool run_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Once connected: begins the run, or resumes it. */
void run_greet(struct run_cli *run);
/* One frame. */
void run_take_frame(struct run_cli *run, struct str text);
/* The run has stopped: asks, answers, or ends the command. */
void run_take_stop(struct run_cli *run);
/* A line that was typed, or "y" and "n" for --approve and --reject. */
void run_take_line(struct run_cli *run, struct str line);

void run_show_step(const json_t *frame);
/* Shows who may answer, until when, and the request. */
void run_show_stop(const struct run_cli *run);
void run_show_prompt(void);
void run_show_end(const json_t *frame);

/* --- run_next.c ------------------------------------------------------------------------------- */

/* Puts the command that follows this run, with its flags. */
void run_put_command(struct buf *b, const struct run_cli *run);
/* The run has stopped. Whether this command's user may answer, as far as is known here: of a role
 * the node decides. */
bool run_may_answer(const struct run_cli *run);
/* Puts "Ann or any operator may answer; 2 of them must approve". */
void run_put_who(struct buf *b, const struct run_cli *run);
/* Puts the command that answers: this one, or an approver's. */
void run_put_next(struct buf *b, const struct run_cli *run);

#endif
