/* SPDX-License-Identifier: MIT
 *
 * fair_slots: shares a pool of slots between accounts, within an account between its users, and
 * within a user between parts (a session, a bot). Slots may be processes, calls under way, or bytes
 * of memory: an entry costs as many as its owner says.
 *
 * A free slot goes to the account that holds the fewest; of several, to the one that has waited
 * longest since it last got or gave back a slot. The same decides between its users and their
 * parts; entries of one part are served by age. So an account without a slot gets the next free
 * one, however many entries others have, and no slot idles while somebody waits (ADR 77).
 *
 * The module calls nobody: the owner of the pool takes the next entry whenever a slot may be free.
 * Nothing is allocated per entry. One per node and pool, on its loop's thread.
 */
#ifndef PARLEY_OP_FAIR_SLOTS_H
#define PARLEY_OP_FAIR_SLOTS_H

#include "shared/base/list.h"
#include "shared/base/str.h"

enum { FAIR_LEVELS = 3 };

struct fair_entry;

struct fair_slots_config {
    uint64_t slot_n;
    size_t waiting_max; /* see fair_slots_surplus; 0: any number */
    /* A limit of the owner's own: false passes over the part whose oldest entry this is, for now.
     * NULL: there is none. */
    bool (*may_begin)(const struct fair_entry *entry);
};

/* The owner of an entry. Copied; a level that a pool does not need is empty. */
struct fair_owner {
    struct str account, user, part;
};

struct fair_share;

/* One that waits for a slot or has one. In its owner; zeroed initially. */
struct fair_entry {
    struct list_link link;   /* of those that wait in its part */
    struct fair_share *part; /* NULL: it neither waits nor has a slot */
    uint64_t cost;
    bool has_slot;
};

struct fair_slots;

struct fair_slots *fair_slots_create(const struct fair_slots_config *config) must_check;
/* Entries that are in it are those of requests that go with the process. Accepts NULL. */
void fair_slots_destroy(struct fair_slots *slots);

/* Puts an entry that is in no pool at the end of its part's queue. `cost`: slots that it takes, 1
 * at least. */
void fair_slots_wait(struct fair_slots *slots, struct fair_entry *entry,
                     const struct fair_owner *owner, uint64_t cost);
/* Gives a slot to the entry whose turn it is. NULL: nobody waits that may begin, or too little is
 * free for that one. One that costs more than the pool has gets it when nothing else is held. */
struct fair_entry *fair_slots_next(struct fair_slots *slots);
/* Takes it out of the queue, or its slot back. Does nothing to an entry that is in no pool. */
void fair_slots_leave(struct fair_slots *slots, struct fair_entry *entry);
/* For long work, between two pieces of it: gives the slot back and waits for the next turn. Returns
 * whether that is now, so that the entry continues; otherwise it waits. */
bool fair_slots_yield(struct fair_slots *slots, struct fair_entry *entry) must_check;
/* The entry turns out to cost more or less. If it has a slot, it keeps it. */
void fair_slots_resize(struct fair_entry *entry, uint64_t cost);
/* If more than waiting_max wait: the newest one of the account, user and part with the most, for
 * its owner to refuse or to leave to another node. It is still in the queue. NULL: there is room.
 */
struct fair_entry *fair_slots_surplus(const struct fair_slots *slots);

size_t fair_slots_waiting(const struct fair_slots *slots);
uint64_t fair_slots_held(const struct fair_slots *slots);

#endif
