/* SPDX-License-Identifier: MIT
 *
 * kinds: how a backup treats each kind of key (docs/redis-keys.md), by the first word of its name.
 * A kind that is not in the table is copied unchanged, which is right for primary data and wrong
 * for derived data: tests/cluster/backup_kinds.test.mjs compares the table with the page. Pure
 * functions, any thread.
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
    KIND_RUN,      /* wfr:<session>.<run>, a run of a workflow, with its questions and lists */
    KIND_LAST,     /* as KIND_COPIED, after all of these: what one of them names is there */
    KIND_PART,     /* comes with a topic, a document or a run */
    KIND_DERIVED,  /* is made from topics, documents and runs by restore */
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
    HOME_ID,      /* that of the id, 24 hex digits, after the key's first word */
    HOME_NR
};
/* A name that was on shard s of S is on one of those t of T with s = t, modulo the smaller of S and
 * T: a shard is the low bits of a hash. So a key that does not say what it belongs to is put onto
 * all of these. */

/* The kind of a key without the prefix. */
enum kind kind_of(struct str name);
enum kind_home kind_home_of(struct str name);

#endif
