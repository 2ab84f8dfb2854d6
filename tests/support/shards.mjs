// SPDX-License-Identifier: MIT
//
// shards: where names are on a cluster of several shards, as shared/redis/shard_map.c has it: for tests that look
// into Redis, or need topics of one shard because an order is kept within it only.
//
//   await redis.cmd('HGETALL', `${prefixOf(Topic)}t:${Topic}`)
//   const Topic = newTopicOf(3);      // of shard 3
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ROOT } from './node.mjs';

// How many the clusters of this run have (node.mjs).
export const SHARD_N = Number(process.env.PARLEY_TEST_SHARDS || 1);

const source = readFileSync(`${ROOT}/shared/redis/shard_map.c`, 'utf8');
const tags = [.../tags\[SHARDS_MAX\] = \{([^}]*)\}/.exec(source)[1].matchAll(/"([^"]+)"/g)].map(([, tag]) => tag);

// What keys of that shard begin with.
export const prefixOfShard = (shard) => `parley:{${tags[shard]}}:`;

// As it stands in keys.
export const nameOf = (text) =>
  text === '' ? '%' : [...Buffer.from(text)].map((byte) => (/[A-Za-z0-9._-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)).join('');

// The shard of a name as it stands in keys, of a cluster of n.
export function shardOf(name, n = SHARD_N) {
  let hash = 2166136261;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 16777619);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) & (n - 1);
}

export const prefixOf = (name, n = SHARD_N) => prefixOfShard(shardOf(name, n));

// Where an engine is known by its name.
export const engineShard = (account, engine, n = SHARD_N) => shardOf(`${nameOf(account)} ${engine ? nameOf(engine) : '-'}`, n);

// A topic that no other test has, of that shard.
export function newTopicOf(shard = 0, n = SHARD_N) {
  for (;;) {
    const topic = `topic-${randomBytes(6).toString('hex')}`;
    if (shardOf(topic, n) === shard % n) return topic;
  }
}
