/* SPDX-License-Identifier: MIT
 *
 * kinds: what a backup does with each kind of key (docs/redis-keys.md), by the first word of its
 * name. A kind that is not in the table is copied as it is, which is right for what stands for
 * itself and wrong for what is derived: tests/cluster/backup_kinds.test.mjs compares the table with
 * the page. Pure functions, any thread.
 */
#ifndef PARLEY_SERVICES_BACKUP_KINDS_H
#define PARLEY_SERVICES_BACKUP_KINDS_H

#include "shared/base/str.h"

enum kind {
    KIND_COPIED,   /* as it is, with its expiry */
    KIND_FIRST,    /* the same, before any topic: it may name a row that must be there then */
    KIND_COUNTED,  /* a hash of numbers, of each shard: copied as their sum */
    KIND_EXPIRING, /* the same, if it has an expiry; else it is part of a document */
    KIND_LOOKUP,   /* lookup:<fingerprint>, before the topics that need it */
    KIND_TOPIC,    /* t:<topic>, and what other keys say of it */
    KIND_DOCUMENT, /* doc:<doc> with its job, bytes, texts, pack and vectors */
    KIND_PART,     /* comes with a topic or a document */
    KIND_DERIVED,  /* is made from topics and documents by restore */
    KIND_PASSING,  /* of nodes, engines and claims that are not there after a restore */
    KIND_NR
};

/* The shard of a key that is copied as it is, of a cluster with another number of shards. */
enum kind_home {
    HOME_KEPT,    /* wherever it may be looked for, see below */
    HOME_CLUSTER, /* shard 0 */
    HOME_EVERY,
    HOME_MEMBERS, /* each member of the set has a shard of its own */
    HOME_DIVIDED, /* a hash of numbers, whose sum counts */
    HOME_NR
};
/* A name that was on shard s of S is on one of those t of T with s = t, modulo the smaller of S and
 * T: a shard is the low bits of a hash. So what does not say what it belongs to is put onto all of
 * these: one of fewer shards or of as many. */

/* The kind of a key without the prefix. */
enum kind kind_of(struct str name);
enum kind_home kind_home_of(struct str name);

#endif
