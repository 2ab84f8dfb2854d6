/* SPDX-License-Identifier: MIT
 *
 * link_internal: the parts that link.c and its socket share: the nodes, and calls under way, each a
 * request to a route or a frame. Only files of this folder include it.
 */
#ifndef PARLEY_SERVICES_ENGINE_LINK_LINK_INTERNAL_H
#define PARLEY_SERVICES_ENGINE_LINK_LINK_INTERNAL_H

#include "services/engine/link/link.h"

struct link_socket;

struct link_node {
    char *url; /* without a slash at its end */
    bool is_failing;
    uint64_t failed_at_ms;
};

struct link {
    struct http_client *client;
    struct str user, secret;
    struct link_node nodes[LINK_URLS_MAX];
    unsigned node_n, turn;
    struct link_socket *socket; /* NULL: all goes to the routes */
};

struct link_call {
    struct link *link;
    link_callback callback;
    void *context;
    uint64_t started_ms;
    /* For a request to a route: */
    struct link_node *node;
    struct http_call *http; /* NULL: it is a frame */
    bool is_probe;
    /* For a frame: */
    struct list_link at; /* in a list of the socket */
    struct timer timer;  /* it takes too long, or its reply is known */
    enum link_kind kind;
    bool is_ended; /* a poll: it gets no claim */
    uint64_t id;
};

/* The node for the next request: `home`, unless it fails. */
struct link_node *link_pick_node(struct link *link, unsigned home);
void link_note_failure(struct link_node *node, const struct link_reply *reply);
void link_note_success(struct link_node *node);
/* Returns what a status means. */
enum link_verdict link_judge(int status);
/* Sets code and reason of a reply from its problem, if it is one. */
void link_read_problem(struct link_reply *reply);
/* Puts a signed URL of that node. */
void link_put_url(struct buf *url, const struct link *link, const struct link_node *node,
                  const char *path, struct str query);

#endif
