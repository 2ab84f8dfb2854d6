// SPDX-License-Identifier: MIT
//
// shards: where a cluster's keys are, for tests that look into Redis themselves: the same map as
// shared/redis/shard_map.c has. Tests run on as many shards as world.mjs says, and on one server, or on a Redis Cluster of
// as many masters as PARLEY_TEST_SERVERS says: three at least, since of two none may be away.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newTopic } from './harness.mjs';
import './world.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const [, table] = /tags\[SHARDS_MAX\] = \{([^}]*)\}/.exec(readFileSync(join(ROOT, 'shared/redis/shard_map.c'), 'utf8'));
const TAGS = [...table.matchAll(/"(\w+)"/g)].map(([, tag]) => tag);

export let SHARDS = Number(process.env.PARLEY_TEST_SHARDS || 1);
export let SERVERS = Number(process.env.PARLEY_TEST_SERVERS || 1);

// The clusters of this file have one shard on one server, unless their flags say otherwise: whatever the environment says.
export function ownShards() {
  SHARDS = SERVERS = 1;
  delete process.env.PARLEY_TEST_SHARDS; // which nodes are given, see cleanEnvironment
}

// What the keys of each shard begin with.
export const prefixesOf = (n = SHARDS, base = 'parley:') => TAGS.slice(0, n).map((tag) => `${base}{${tag}}:`);

export const prefixOfShard = (shard) => prefixesOf(TAGS.length)[shard];

// A text as it stands in keys.
export const nameOf = (text) =>
  text === '' ? '%' : [...Buffer.from(text)].map((byte) => (/[A-Za-z0-9._-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)).join('');

// The shard of a name, as it stands in keys: FNV-1a, then MurmurHash3's finalizer. Of a string its bytes in UTF-8, or a buffer.
export function shardOf(name, n = SHARDS) {
  let hash = 2166136261;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 16777619);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % n;
}

export const prefixOf = (name, n = SHARDS) => prefixesOf(n)[shardOf(name, n)];

// A key of that topic's, or space's, shard: keyOf('my-topic', 't:my-topic').
export const keyOf = (home, name) => prefixOf(home) + name;

// The same key on every shard, in their order.
export const keysOfAll = (name, n = SHARDS) => prefixesOf(n).map((prefix) => prefix + name);

// The key of that name on the shard where it is; on the first one while it is nowhere. For keys that one shard has.
export async function findKey(redis, name) {
  const keys = keysOfAll(name);
  const found = keys.length === 1 ? [1] : await Promise.all(keys.map((key) => redis.cmd('EXISTS', key)));
  return keys[Math.max(0, found.indexOf(1))];
}

// A command about such a key.
export const ask = async (redis, command, name, ...words) => redis.cmd(command, await findKey(redis, name), ...words);

// A command for the key of that name on each shard; the replies in the order of the shards, or their sum.
export const onAll = (redis, command, name, ...words) => Promise.all(keysOfAll(name).map((key) => redis.cmd(command, key, ...words)));
export const sumOfAll = async (redis, command, name, ...words) => (await onAll(redis, command, name, ...words)).reduce((sum, n) => sum + n, 0);

// n names that begin so, all of the shard of the first.
export function namesOfOneShard(start, n, shards = SHARDS) {
  const names = [];
  for (let i = 0, home; names.length < n; i++) {
    const name = `${start}${i}`;
    home ??= shardOf(name, shards);
    if (shardOf(name, shards) === home) names.push(name);
  }
  return names;
}

// A name for each shard that begins so, in the order of the shards.
export function namesOfEachShard(start, shards = SHARDS) {
  const names = [];
  for (let i = 0; Object.keys(names).length < shards; i++) names[shardOf(`${start}${i}`, shards)] ??= `${start}${i}`;
  return names;
}

// A new topic of that shard.
export function topicOn(shard, n = SHARDS) {
  for (;;) {
    const topic = newTopic();
    if (shardOf(topic, n) === shard % n) return topic;
  }
}

// From now on the topics that this cluster's tests do not name are of one shard: what is counted, or in order, within a
// shard is what it is on a cluster of one.
export function keepToOneShard(cluster) {
  const addRaw = cluster.addRaw.bind(cluster);
  cluster.addRaw = (options = {}) => addRaw({ Topic: topicOn(0), ...options });
}

// Where an engine is known by its name.
export const engineShard = (account, engine, n = SHARDS) => shardOf(`${nameOf(account)} ${engine ? nameOf(engine) : '-'}`, n);

// What the shard of a nonce is made from: signed_nonce_id of shared/auth/signed.h.
export const nonceId = (user, nonce) => createHash('sha256').update(`${user}\0${nonce}`).digest().subarray(0, 16);
