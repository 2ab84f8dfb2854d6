/* SPDX-License-Identifier: MIT
 * sample.c - see sample.h. */
#include "services/workflow/sql/sample.h"

#include <stddef.h>

const char *const sample_names[] = {"patterns", "cards", "episodes", NULL};

const char *const sample_tables[] = {
    "CREATE TABLE patterns (id %s, name TEXT NOT NULL UNIQUE, description TEXT NOT NULL, "
    "kind TEXT NOT NULL)",
    "CREATE TABLE cards (id %s, pattern_id INTEGER NOT NULL REFERENCES patterns (id), "
    "title TEXT NOT NULL, body TEXT NOT NULL)",
    "CREATE TABLE episodes (id %s, card_id INTEGER NOT NULL REFERENCES cards (id), "
    "title TEXT NOT NULL, happened_on DATE NOT NULL)",
    NULL};

const char *const sample_rows[] = {
    "INSERT INTO patterns (name, description, kind) VALUES "
    "('retry with backoff', 'Try again after growing pauses, with jitter.', 'resilience'), "
    "('circuit breaker', 'Stop calling a dependency that keeps failing.', 'resilience'), "
    "('bulkhead', 'Keep the failure of one part from using up the others.', 'resilience'), "
    "('idempotency key', 'Let a request be sent twice and happen once.', 'messaging'), "
    "('outbox', 'Store an event in the transaction that causes it.', 'messaging'), "
    "('dead letter queue', 'Set aside what cannot be processed.', 'messaging'), "
    "('saga', 'Undo a long transaction step by step.', 'messaging'), "
    "('cache aside', 'Read through a cache that the application fills.', 'data'), "
    "('read replica', 'Serve reads from a copy of the data.', 'data'), "
    "('event sourcing', 'Store what happened and derive the state.', 'data')",

    "INSERT INTO cards (pattern_id, title, body) VALUES "
    "(1, 'Add jitter', 'Spread the retries of many clients over time.'), "
    "(1, 'Cap the attempts', 'Give up after a bounded number of attempts.'), "
    "(2, 'Half open', 'Let one call through to see whether it works again.'), "
    "(3, 'Pools per dependency', 'Give each dependency a connection pool of its own.'), "
    "(4, 'Store the answer', 'Keep the first answer and return it for the same key.'), "
    "(5, 'One transaction', 'Write the row and its event together.'), "
    "(6, 'Keep the reason', 'Store why a message was set aside.'), "
    "(7, 'Compensate', 'Write down how each step is undone.'), "
    "(8, 'Expire', 'Give each entry an end, so that it is read again.'), "
    "(9, 'Lag', 'Measure how far a copy is behind.'), "
    "(10, 'Snapshots', 'Store the state now and then, so that replay is short.')",

    "INSERT INTO episodes (card_id, title, happened_on) VALUES "
    "(1, 'All clients returned in the same second', '2024-02-11'), "
    "(2, 'A retry without an end kept a node busy', '2024-03-05'), "
    "(3, 'The payment service came back by itself', '2024-04-19'), "
    "(4, 'A slow search used up all connections', '2024-05-23'), "
    "(5, 'An order was paid twice', '2024-06-30'), "
    "(6, 'An event was lost between two writes', '2024-08-14'), "
    "(7, 'A message was retried for a week', '2024-09-02'), "
    "(8, 'A booking stayed half done', '2024-10-27'), "
    "(9, 'A price list was a day old', '2024-11-15'), "
    "(10, 'A report was read from a stale copy', '2025-01-08')",
    NULL};
