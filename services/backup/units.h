/* SPDX-License-Identifier: MIT
 *
 * units: reads a unit (a topic, a document, a lookup, any other key) from Redis and puts it into
 * the archive. Each call to Redis is bounded (read.lua), and so is the memory: a piece of about 1
 * MiB at a time, or one upload, text block or pack. If a unit is deleted or replaced while it is
 * read, the archive records that its earlier part must be dropped, and it is read again.
 *
 * The records, by their first part:
 *   head      prefix of shard 0, ms since 1970 (Redis's clock), version of Redis, version of
 *             Parley, how many shards
 *   shard     its number: what follows was there, up to the next one; shard 0 at first
 *   key       name, type, expiry (ms since 1970 or nothing), values
 *   lookup    fingerprint, due, fields
 *   topic     topic, 1 for its first piece (else 0), pairs
 *   drop      topic: forget what came of it
 *   blobs     document: what follows up to `document` or `forget` is its
 *   vectors   <space>:<digest>, <doc>:<generation>, first chunk, vectors
 *   document  document, pairs
 *   parts     run: what follows up to `run` or `forget` is its
 *   run       run, how many frames, step records and answers it has, step of its newest question
 *             or nothing, pairs; those of that question begin with '@'
 *   forget    document or run, then names of keys: they are deleted
 * One thread.
 */
#ifndef PARLEY_SERVICES_BACKUP_UNITS_H
#define PARLEY_SERVICES_BACKUP_UNITS_H

#include "services/backup/archive.h"
#include "services/backup/tool.h"

struct units {
    struct tool *tool;
    struct archive *archive;
    struct blocking_answer answer; /* of the last step */
    unsigned shard;                /* which the archive has named last */
    uint64_t skipped_n;            /* keys of types that are not kept */
};

/* All false after one line on standard error. */
bool units_put_head(struct units *units) must_check;
bool units_put_key(struct units *units, struct str name) must_check;
/* The same, of a key that may be skipped: one without an expiry. */
bool units_put_expiring(struct units *units, struct str name) must_check;
/* A hash of numbers that each shard may have: their sum, once. */
bool units_put_counted(struct units *units, struct str name) must_check;
bool units_put_lookup(struct units *units, struct str fingerprint) must_check;
bool units_put_topic(struct units *units, struct str topic) must_check;
bool units_put_document(struct units *units, struct str doc) must_check;
/* A run of a workflow: <session>.<run>. */
bool units_put_run(struct units *units, struct str id) must_check;
/* The end, with the last number that the cluster gave: later than all that the archive holds. */
bool units_put_end(struct units *units) must_check;

/* For documents.c. */
bool units_put(struct units *units, const struct str *head, size_t head_n, size_t from);
enum units_key { UNITS_KEY_PUT, UNITS_KEY_MISSING, UNITS_KEY_FAILED };
enum units_key units_copy(struct units *units, struct str name, bool must_expire);
bool units_step(struct units *units, const struct str *words, size_t n);

#endif
