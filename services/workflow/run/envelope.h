/* SPDX-License-Identifier: MIT
 *
 * envelope: the messages of a workflow's WebSocket, one JSON object per text frame
 * (/openapi.yaml, /ws). Reads what clients send and writes what they get. Pure functions, any
 * thread.
 */
#ifndef PARLEY_SERVICES_WORKFLOW_ENVELOPE_H
#define PARLEY_SERVICES_WORKFLOW_ENVELOPE_H

#include "shared/base/json.h"

enum {
    ENVELOPE_MAX_BYTES = 256 << 10,      /* of a frame, in either direction */
    ENVELOPE_BODY_MAX_BYTES = 192 << 10, /* of a messageBody */
    ENVELOPE_REASON_MAX_BYTES = 2000,    /* of what an agent gives as its reason */
    ENVELOPE_FAULT_BYTES = 300,
};

enum envelope_type {
    ENVELOPE_REQUEST,
    ENVELOPE_ANSWER, /* a response with hitl_response */
    ENVELOPE_RESUME,
    ENVELOPE_NR
};

/* A message of a client. Texts borrow from `json`; `at == NULL`: absent. */
struct envelope {
    json_t *json; /* owned */
    enum envelope_type type;
    struct str session_id, request_id, verb, next_agent;
    const json_t *body; /* messageBody, an object; NULL: absent */
    /* For an answer: */
    bool is_approved;
    const json_t *corrections; /* an object with members; NULL: none */
    struct str approved_by, comment;
    uint64_t since; /* of a resume */
};

/* Reads one frame. Returns false with a reason, NUL-terminated: *ret_envelope then has as many of
 * the ids as could be read, and is to be freed too. Unknown members are ignored. */
bool envelope_read(struct str text, struct envelope *ret_envelope,
                   char reason[ENVELOPE_FAULT_BYTES]) must_check;
/* Accepts a zeroed one. */
void envelope_fini(struct envelope *envelope);

/* One step, as the client sees it. */
struct envelope_step {
    struct str session_id, request_id, verb, agent;
    struct str next_agent; /* n == 0: null */
    int return_code;       /* 0, 1 after the last agent, -1 rejected */
    bool is_yes;
    double confidence;
    struct str reason;
    uint64_t seq;
    const json_t *body;
    struct str hitl; /* JSON of a stop; n == 0: none */
};

void envelope_put_step(struct buf *b, const struct envelope_step *step);
/* An error: nothing of it is stored. `to`: what it answers; NULL: a frame that was no object. */
void envelope_put_error(struct buf *b, const struct envelope *to, struct str reason);

/* Reads from the head of a frame that envelope_put_step wrote what its run does after it. */
enum envelope_end { ENVELOPE_GOES_ON, ENVELOPE_WAITS, ENVELOPE_OVER };
enum envelope_end envelope_end_of(struct str frame);

/* Puts the members of `from` over those of `into`. False, with nothing changed, if the result is
 * larger than a messageBody may be. */
bool envelope_merge(json_t *into, const json_t *from) must_check;

#endif
