// SPDX-License-Identifier: MIT
//
// world: on how many shards the clusters of a test file run. `./dev test` runs a file once, on one shard or on four, and
// each time on the same, so that a failure can be repeated. The number is in a line of the file's first comment,
//
//   // Shards: 4, because …
//
// Without such a line the name decides: files whose names have an even number of characters run on four. The other number is for
// `./dev test nightly`. Files that call ownShards() choose for each of their clusters, and scripts in tests/lua act on one
// shard. PARLEY_TEST_SHARDS overrides all except ownShards().
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

const SEVERAL = 4;

// The number of shards of a test file in `./dev test`, and whether that is its own affair.
export function worldOf(path, text = readFileSync(path, 'utf8')) {
  if (/^ownShards\(\)/m.test(text) || /(^|\/)tests\/lua\//.test(path)) return { shards: 1, isOwn: true };
  const [, said] = /^\/\/ Shards: (\d+)/m.exec(text) ?? [];
  return { shards: Number(said ?? (basename(path, '.test.mjs').length % 2 === 0 ? SEVERAL : 1)), isOwn: false };
}

// The number in `./dev test nightly`.
export const otherShards = ({ shards }) => (shards === 1 ? SEVERAL : 1);

const [, running] = process.argv;
if (running?.endsWith('.test.mjs') && !process.env.PARLEY_TEST_SHARDS) {
  const { shards } = worldOf(running);
  if (shards > 1) process.env.PARLEY_TEST_SHARDS = shards;
}
