/* SPDX-License-Identifier: MIT
 *
 * topology: finds the server that an address of Sentinels or of a Redis Cluster leads to (ADR 55).
 * One per such URL, for the whole process. A thread of its own asks the Sentinels, or the members,
 * with blocking calls: at the first use, after each hint, and every 3 seconds. So the loops never
 * wait, and know the current server at each connect. An address of REDIS_SERVER has no topology,
 * and costs nothing here.
 *
 * Every function may be called on any thread. A connection is used like this:
 *
 *     struct redis_address place;
 *     if (!topology_locate(address, &place, reason, sizeof reason)) ... try again later
 *     ... connect to place, log in; if topology_needs_role(address), check ROLE
 *     topology_hint(address, &place, "READONLY ...")    the connection is lost, or refused a call
 *
 * Nothing is ever closed: a topology lives until the process ends.
 */
#ifndef PARLEY_REDIS_TOPOLOGY_H
#define PARLEY_REDIS_TOPOLOGY_H

#include "shared/redis/address.h"

#include <stdint.h>

/* Prepares `address`, as redis_parse_url and redis_set_password have filled it, for the functions
 * below; copies of it share the topology. The login for Sentinels themselves is not that for Redis:
 * `sentinel_user` may be NULL or empty, `sentinel_password` NULL. The thread starts with the first
 * topology_locate. No-op for REDIS_SERVER. Aborts if memory runs out. */
void topology_open(struct redis_address *address, const char *sentinel_user,
                   const char *sentinel_password);

/* Puts the server's current address, with our login and database, into `*ret_place`, which keeps
 * kind, slot and topology. False with a human-readable reason while it is not known; never blocks.
 * For REDIS_SERVER a copy. */
bool topology_locate(const struct redis_address *address, struct redis_address *ret_place,
                     char *reason, size_t reason_size) must_check;

/* The same for a thread that may wait: up to `wait_ms` until it is known. */
bool topology_await(const struct redis_address *address, uint64_t wait_ms,
                    struct redis_address *ret_place, char *reason, size_t reason_size) must_check;

/* Says that `place` is no longer good, so that the thread asks again soon (hints are collected).
 * `reason`: Redis's error, or why the connection was lost. MOVED is obeyed at once: topology_locate
 * then returns the place that it names, unless that is a name, which the thread looks up first.
 * Cheap; no-op for REDIS_SERVER. */
void topology_hint(const struct redis_address *address, const struct redis_address *place,
                   const char *reason);

/* Returns a number that changes with any address of the topology, so a connection learns by one
 * atomic read that it should compare its place. 0 for REDIS_SERVER. */
unsigned topology_version(const struct redis_address *address);

/* Returns whether topology_locate returns a server other than `place` now. False while none is
 * known. */
bool topology_has_left(const struct redis_address *address, const struct redis_address *place);

/* Returns whether each connection has to check that the server is a master, by ROLE: Sentinel's
 * view may be behind, and a former master must not be written to. A Redis Cluster checks by itself.
 */
static inline bool topology_needs_role(const struct redis_address *address)
{
    return address->kind == REDIS_SENTINEL;
}
/* The reason with which such a connection is given up: READONLY for redis_trouble_of. */
#define TOPOLOGY_NOT_MASTER "READONLY it is a replica: Sentinel will name the new master"

/* Returns whether an error of Redis says that the call has certainly not run here and that it, or
 * the same one on another connection, may run in a moment: MOVED, ASK, TRYAGAIN, CLUSTERDOWN, and
 * with Sentinel or a Cluster READONLY, MASTERDOWN and LOADING. */
bool topology_is_passing(const struct redis_address *address, const char *error);
/* Returns whether it is one of these for which the connection should be made again (all except ASK,
 * TRYAGAIN and CLUSTERDOWN, which end by themselves). */
bool topology_is_elsewhere(const struct redis_address *address, const char *error);

#endif
