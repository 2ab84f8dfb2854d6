/* SPDX-License-Identifier: MIT
 *
 * node_calls: signed requests of a command to the nodes of --url, one at a time, each retried until
 * a node serves it:
 *
 *   ask a node --> served
 *     ^      \---> refused: a line that says what to do, the end
 *     |       \--> no answer, 429, 5xx: the next node after a pause, while there is patience
 *     '----------------'
 *
 * Each attempt is signed again, so a request may reach nodes twice: use it only where that does no
 * harm. A signal ends the current wait (node_calls_wait). All lines go to standard error, one for
 * each failure. One per process, on its main thread.
 */
#ifndef PARLEY_HTTP_NODE_CALLS_H
#define PARLEY_HTTP_NODE_CALLS_H

#include "shared/base/config.h"
#include "shared/base/json.h"
#include "shared/base/status_line.h"

struct http_client;
struct pollfd;

enum { NODE_URLS_MAX = 16 };

/* --url, --on-behalf-of, --patience-seconds, for commands that list signed_options too. A command
 * may have options of its own instead, with another default for the last, or without the last
 * two. */
extern const struct config_group node_calls_options;

/* Reasons why node_calls_ask failed. */
enum node_calls_fault {
    NODE_CALLS_NONE,
    NODE_CALLS_AWAY,    /* no node served it in time: `status` is the last one, 0: none answered */
    NODE_CALLS_REFUSED, /* `status`, or 0: what answers is no Parley node */
    NODE_CALLS_ENDED,   /* a signal, or the deadline */
};

struct node_calls {
    const struct config *config;
    const char *command; /* "evaluate": in lines and in the User-Agent */
    const char *service; /* whose routes are called: "bots" */
    /* The meaning of a 403, after "--user NAME: URL "; NULL: what the node says. */
    const char *forbidden;
    struct status_line progress; /* removed before any line */
    /* Takes the last line instead of standard error; at least 512 bytes; NULL: none. */
    struct buf *complaints;
    struct str urls[NODE_URLS_MAX];
    unsigned url_n, url; /* `url`: index of the current one */
    bool is_anonymous;   /* set by the caller: nothing is signed, and no account is needed */
    const char *user, *on_behalf_of;
    char *secret;
    char agent[64];
    struct http_client *client;
    int signal_fd;
    bool is_interrupted, is_late; /* a signal has come; `deadline_ms` has passed */
    uint64_t deadline_ms;         /* by the monotonic clock; set by the caller; 0: none */
    enum node_calls_fault fault;
    int status;
};

/* Reads --url, --user and --secret-file, without opening anything. `config`, `command` and
 * `service` are set by the caller. Returns false after a line: exit with 2. */
bool node_calls_read(struct node_calls *calls) must_check;
/* Reads the secret and catches signals. Returns false after a line: exit with 1. */
bool node_calls_open(struct node_calls *calls) must_check;
/* Accepts one that was not opened. */
void node_calls_close(struct node_calls *calls);

/* Writes "parley: <text>" with a newline. Returns false. */
bool node_calls_complain(struct node_calls *calls, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a wrong argument: adds where the help is. */
bool node_calls_refuse(struct node_calls *calls, const char *reason);

/* Waits for the descriptor `fd` (may be NULL) or a signal, at most `ms` milliseconds. Returns false
 * after a signal or the deadline: the command must end. */
bool node_calls_wait(struct node_calls *calls, struct pollfd *fd, int ms) must_check;

/* A response that is taken piece by piece: a stream of events or a file. It is asked for again,
 * from another node if need be, until it is whole. */
struct node_stream {
    /* The type of a file, of which each attempt begins at the start. NULL: events, which the next
     * attempt continues; patience begins again with each one that got further. */
    const char *file_type;
    const char *cut_off; /* the reason when it ends before it is whole */
    /* Before each attempt; it may change the call's headers. False after a line: there is none. */
    bool (*begin)(void *context);
    /* A piece of the body. False: events are whole, or not of a Parley node; a file cannot be
     * taken, which `on_body` has reported. */
    bool (*on_body)(void *context, struct str bytes);
    bool (*is_whole)(void *context);
    uint64_t (*progress)(void *context); /* of events: grows when something new has come */
    void *context;
};

/* Forgets the signal or the deadline that has ended a call, for what must be cleaned up within `ms`
 * milliseconds. Another signal ends that, too. */
void node_calls_go_on(struct node_calls *calls, uint64_t ms);

/* All is borrowed until node_calls_ask returns. */
struct node_call {
    const char *method;
    const char *path;      /* with its query, if it has one */
    struct str body;       /* JSON; `at == NULL`: none */
    const char *body_type; /* "Content-Type: ..." of a body that is not JSON; NULL: it is JSON */
    const char *const *headers;       /* more of them, at most 2, read at each attempt; NULL ends */
    const struct node_stream *stream; /* NULL: the response is one object */
    size_t max_bytes;                 /* of the response; 0: 1 MiB */
    uint64_t attempt_ms;  /* for one attempt; 0: a minute; of a stream: without an event */
    bool is_once;         /* no patience: each node is tried once */
    bool tries_all;       /* each node is tried once before the patience counts, without a pause */
    bool *ret_is_missing; /* if not NULL, a 404 of a node sets it and is not a failure */
    /* A member of a refusal with 503, an object, that is taken for the response; NULL: none. */
    const char *instead;
};

/* Sends the request until a node serves it. The response is a JSON object, which the caller owns;
 * NULL of a stream. Returns false after a line, or without one after a signal or the deadline;
 * `fault` says which. */
bool node_calls_ask(struct node_calls *calls, const struct node_call *call,
                    json_t **ret_json) must_check;

#endif
