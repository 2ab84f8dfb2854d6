/* SPDX-License-Identifier: MIT
 *
 * claim: a claim from get-new-queries: a topic's queries under one lease. It owns the JSON that it
 * was read from; everything else points into it. Single thread.
 */
#ifndef PARLEY_SERVICES_ENGINE_SLOTS_CLAIM_H
#define PARLEY_SERVICES_ENGINE_SLOTS_CLAIM_H

#include "shared/base/json.h"
#include "shared/base/log.h"

enum query_state {
    QUERY_OPEN,
    QUERY_ANSWERED, /* accepted by a node */
    QUERY_GONE,     /* cancelled, or answered elsewhere */
    QUERY_REFUSED,  /* the model says that it can never work */
};

struct claim_query {
    uint64_t seq;
    struct str text;
    const json_t *details; /* {"User","Model","Modifiers",...} or NULL */
    struct str request_id; /* of the request that added it; `at == NULL`: unknown */
    enum query_state state;
};

struct claim {
    json_t *root;    /* NULL: no claim */
    unsigned socket; /* that it came over (link.h); 0: a route */
    struct str topic;
    const json_t *lease; /* as it came, a number or a string; NULL without Detail */
    uint64_t lease_s;
    json_t *history; /* [{"Seq","Query","Answer"}], ours: own answers are added */
    struct claim_query *queries;
    size_t query_n;
    bool is_of_door; /* the request of a client of a door (ADR 95): one query */
};

/* Reads a reply of get-new-queries, or a `Next`. True with `root == NULL` when it says that there
 * is nothing; false when it makes no sense. `json` is borrowed. */
bool claim_read(struct claim *claim, const json_t *json) must_check;
/* Reads nothing but the topic and the lease of a claim that is no JSON, so that it can be given
 * back; `is_next`: as the `Next` of an answer. What is before them holds no object of a
 * client's. False without a lease. */
bool claim_rescue(struct claim *claim, struct str text, bool is_next) must_check;
void claim_fini(struct claim *claim);
struct claim_query *claim_find(struct claim *claim, uint64_t seq);
/* The first query that is OPEN; NULL: there is none. */
struct claim_query *claim_next(const struct claim *claim);
/* Returns whether one of those after `query` is OPEN. */
bool claim_has_open_after(const struct claim *claim, const struct claim_query *query);
/* The query was OPEN. */
void claim_end_query(struct claim_query *query, enum query_state state);
/* Adds an answer to the history that later queries of the claim see. */
void claim_note_answer(struct claim *claim, const struct claim_query *query, struct str answer);
/* The last field of a log line about a query: its request id. Without one it ends the fields. */
struct log_field claim_log_id(const struct claim_query *query);
/* The same of all queries of the claim, as far as they fit into `ids`. */
enum { CLAIM_IDS_BYTES = 2048 };
struct log_field claim_log_ids(const struct claim *claim, char ids[CLAIM_IDS_BYTES]);
/* The request id for a call about the whole claim: of its only query; otherwise `at == NULL`. */
struct str claim_request_id(const struct claim *claim);

#endif
