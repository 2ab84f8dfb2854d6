// SPDX-License-Identifier: MIT
//
// trace: did a request leave anything in Redis? For tests of what must store nothing.
import assert from 'node:assert/strict';

// Keys that change with any request, or on their own: nonces, counts, refused logins, what nodes and engines say
// about themselves, and the keys of leases, which come with a confirmation.
const ON_THEIR_OWN = /:(nonces:.*|lease:.*|nodes|node_info|nodes_gone|clock|engines|polls|stat:.*|idle|idle_lookups|models_seen|nonce_counts:.*|rate:.*|hints|quiet:.*|failures:.*|settings|audit:.*|audit_refused)$/;

// The value of a key in a form that compares. Of running claims (leases, lookups) only which they are: their
// deadlines move when a delivery is confirmed.
async function valueOf(redis, key) {
  const pairs = (list) => list.flatMap((name, i) => (i % 2 ? [] : [`${name} = ${list[i + 1]}`])).sort();
  switch (await redis.cmd('TYPE', key)) {
    case 'hash':
      return pairs(await redis.cmd('HGETALL', key));
    case 'zset':
      if (key.endsWith(':leases') || key.endsWith(':lookups')) return (await redis.cmd('ZRANGE', key, 0, -1)).sort();
      return pairs(await redis.cmd('ZRANGE', key, 0, -1, 'WITHSCORES'));
    case 'set':
      return (await redis.cmd('SMEMBERS', key)).sort();
    case 'string':
      return redis.cmd('GET', key);
    default:
      return redis.cmd('DUMP', key);
  }
}

// Everything else that is stored, by key. A node makes the streams of jobs, empty, some time after it has started.
async function stored({ redis }) {
  const keys = (await redis.cmd('KEYS', '*')).filter((key) => !ON_THEIR_OWN.test(key)).sort();
  const isEmpty = async (key) => key.endsWith(':jobs') && (await redis.cmd('XLEN', key)) === 0;
  const all = await Promise.all(keys.map(async (key) => ((await isEmpty(key)) ? [] : [[key, await valueOf(redis, key)]])));
  return all.flat();
}

// Runs body() and fails if it left a trace.
export async function leavesNoTrace(cluster, body) {
  const before = await stored(cluster);
  await body();
  const now = await stored(cluster);
  assert.deepEqual(
    now.map(([key]) => key),
    before.map(([key]) => key),
    'no key came or went',
  );
  for (const [i, [key, value]] of before.entries()) assert.deepEqual(now[i][1], value, `${key} is what it was`);
}
