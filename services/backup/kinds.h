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
    KIND_EXPIRING, /* the same, if it has an expiry; else it is part of a document */
    KIND_LOOKUP,   /* lookup:<fingerprint>, before the topics that need it */
    KIND_TOPIC,    /* t:<topic>, and what other keys say of it */
    KIND_DOCUMENT, /* doc:<doc> with its job, bytes, texts, pack and vectors */
    KIND_PART,     /* comes with a topic or a document */
    KIND_DERIVED,  /* is made from topics and documents by restore */
    KIND_PASSING,  /* of nodes, engines and claims that are not there after a restore */
    KIND_NR
};

/* The kind of a key without the prefix. */
enum kind kind_of(struct str name);

#endif
