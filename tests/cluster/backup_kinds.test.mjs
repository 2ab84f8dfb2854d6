// SPDX-License-Identifier: MIT
//
// Every kind of key that docs/redis-keys.md lists must be in the table of services/backup/kinds.c, and the other way
// round: a kind that nobody decided about is copied as it is, which is wrong for what is derived.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

test('a kind of key is documented that no backup knows, or the other way round', () => {
  const page = readFileSync('docs/redis-keys.md', 'utf8');
  const listed = new Set();
  for (const line of page.split('\n')) {
    const row = /^\| (`[^|]*`) \| (?:hash|zset|set|string|stream|list|vector set) \|/.exec(line);
    for (const [, word] of row?.[1].matchAll(/`([a-z_]+)/g) ?? []) listed.add(word);
  }
  const table = [...readFileSync('services/backup/kinds.c', 'utf8').matchAll(/^ {4}\{"(\w+)", KIND_/gm)].map(([, word]) => word);
  assert.ok(table.length > 30, 'the table was found');
  assert.deepEqual(table.sort(), [...listed].sort());
});
