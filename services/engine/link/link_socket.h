/* SPDX-License-Identifier: MIT
 *
 * link_socket: an engine's WebSocket to one of its nodes (/ws/engine), over which claims come and
 * texts, answers and heartbeats go as frames. Slots notice little of it: they poll and send
 * requests through link.h, and polls wait here for the claims that the node sends by itself.
 *
 *   DOWN --a poll, or time--> OPENING --open--> OPEN --link_leave--> CLOSING --> DOWN, for good
 *    ^                           | refused        | lost
 *    +---------------------------+----------------+
 *
 * The engine reports how many claims the node may have sent: one for each poll that waits and each
 * claim that came over this connection and is not over. Where no WebSocket gets through, polls go
 * to the routes, and it is tried again later. When it is lost, frames without a reply end as a
 * request that found no node does, claims stay with their slots, and text is sent again from where
 * the node stored it. One per link, on the engine's loop.
 */
#ifndef PARLEY_SERVICES_ENGINE_LINK_LINK_SOCKET_H
#define PARLEY_SERVICES_ENGINE_LINK_LINK_SOCKET_H

#include "services/engine/link/link_internal.h"

struct link_socket *link_socket_create(struct link *link,
                                       const struct link_socket_settings *settings) must_check;
/* Accepts NULL. */
void link_socket_destroy(struct link_socket *socket);
struct pollfd link_socket_poll(const struct link_socket *socket);
void link_socket_turn(struct link_socket *socket);

/* Returns whether the request goes over the socket, and begins to open it for the first poll. */
bool link_socket_takes(struct link_socket *socket, const struct link_request *request) must_check;
struct link_call *link_socket_start(struct link_socket *socket, const struct link_request *request,
                                    link_callback callback, void *context) must_check;
void link_socket_cancel(struct link_call *call);

#endif
