// SPDX-License-Identifier: MIT
//
// Every kind of key that docs/redis-keys.md lists must be in the table of services/backup/kinds.c, and the other way
// round: a kind that nobody decided about is copied as it is, which is wrong for what is derived.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ownShards } from '../support/shards.mjs';

ownShards(); // texts that are compared: the same on any number of shards

// The first words of the keys that docs/redis-keys.md lists.
const listed = new Set();
for (const line of readFileSync('docs/redis-keys.md', 'utf8').split('\n')) {
  const row = /^\| (`[^|]*`) \| (?:hash|zset|set|string|stream|list|vector set) \|/.exec(line);
  for (const [, word] of row?.[1].matchAll(/`([a-z_]+)/g) ?? []) listed.add(word);
}

test('a kind of key is documented that no backup knows, or the other way round', () => {
  const table = [...readFileSync('services/backup/kinds.c', 'utf8').matchAll(/^ {4}\{"(\w+)", KIND_/gm)].map(([, word]) => word);
  assert.ok(table.length > 30, 'the table was found');
  assert.deepEqual(table.sort(), [...listed].sort());
});

test('a script names a key that the page does not list, or the page one that no script names', () => {
  const named = new Set();
  for (const file of readdirSync('lua', { recursive: true }).filter((name) => name.endsWith('.lua')))
    for (const [, word] of readFileSync(join('lua', file), 'utf8').matchAll(/\b(?:(?:P|prefix) \.\. |set = |local SET = )'([a-z_]+)/g)) named.add(word);
  named.delete('node'); // a channel
  named.add('cluster'); // written by nodes (shared/redis/agreement.c)
  assert.deepEqual([...named].sort(), [...listed].sort());
});
