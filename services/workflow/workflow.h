/* SPDX-License-Identifier: MIT
 *
 * workflow: runs of decision trees whose agents are models, tools and people (/openapi.yaml,
 * ADR 46). One per thread (service.h). A run is in Redis; a node
 * holds sockets that watch sessions (run/socket.h), and the runs that it drives under a fence
 * (run/runs.h).
 */
#ifndef PARLEY_SERVICES_WORKFLOW_WORKFLOW_H
#define PARLEY_SERVICES_WORKFLOW_WORKFLOW_H

#include "generated/routes_workflow.h"
#include "services/node/service.h"
#include "shared/ask/on_behalf.h"

struct http_client;
struct runs;
struct sockets;
struct sql_settings;
struct sql_store;
struct trees_file;

enum {
    WORKFLOW_SID_BYTES = 32,    /* hex digits */
    WORKFLOW_ID_MAX_BYTES = 128 /* of a session_id or request_id */
};

/* Shared by all threads; immutable while they run. */
struct workflow_settings {
    const struct shard_map *map;
    struct trees_file *trees; /* swaps its content itself, on SIGHUP */
    struct sql_settings *sql;
    bool is_public;          /* clients without credentials may run workflows, as the account "-" */
    bool is_private_allowed; /* http agents may be at private addresses */
    uint64_t keep_days;
    char *public_url; /* what precedes the paths of links; "": nothing */
};

struct workflow {
    struct server *server;
    struct queue *queue;
    const struct workflow_settings *settings;
    struct http_client *client; /* for http agents */
    struct sql_store *sql;
    struct runs *runs;
    struct sockets *sockets;
};

static inline struct workflow *workflow_of(const struct request *r)
{
    return service_state(r, "workflow");
}

/* Returns whether clients without credentials are let in (struct route). */
bool workflow_is_open(const struct request *r);

/* The user that a request acts for, and its account. Texts live as long as the request. */
struct workflow_who {
    struct str account; /* a name; "-" for a client without credentials */
    struct str user;    /* as given: what engines see */
    struct str user_name;
    struct str role; /* word of accounts.h; "" without credentials */
};
/* `given`: the user that the request names, usually in OnBehalfOf. Answers 400 or 403 and returns
 * false otherwise (on_behalf.h). */
bool workflow_who_of(struct request *r, struct str given, struct workflow_who *ret_who) must_check;
/* The session of a client's session_id, of that account and user (names): WORKFLOW_SID_BYTES digits
 * and a NUL. Equal ids of different owners give different sessions. */
void workflow_sid(struct str account, struct str user_name, struct str session_id, char *ret_sid);

#endif
