// SPDX-License-Identifier: MIT
//
// homes: which shard something belongs to, and names of a wanted one (shards.mjs has the map): an order is kept
// within a shard only, and a server that is away takes its shards along.
import { randomBytes } from 'node:crypto';
import { prefixesOf, shardOf, SHARDS } from './shards.mjs';

// What keys of that shard begin with.
export const prefixOfShard = (shard) => prefixesOf(shard + 1)[shard];

// A text as it stands in keys.
export const nameOf = (text) =>
  text === ''
    ? '%'
    : [...Buffer.from(text)]
        .map((byte) => {
          const character = String.fromCharCode(byte);
          return /[A-Za-z0-9._-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
        })
        .join('');

// Where an engine is known by its name.
export const engineShard = (account, engine, n = SHARDS) => shardOf(`${nameOf(account)} ${engine ? nameOf(engine) : '-'}`, n);

// A topic that no other test has, of that shard.
export function newTopicOf(shard = 0, n = SHARDS) {
  for (;;) {
    const topic = `topic-${randomBytes(6).toString('hex')}`;
    if (shardOf(topic, n) === shard % n) return topic;
  }
}

// From now on the topics that this cluster's tests do not name are of one shard: what is counted, or in order, within a
// shard is what it is on a cluster of one.
export function keepToOneShard(cluster) {
  const addRaw = cluster.addRaw.bind(cluster);
  cluster.addRaw = (options = {}) => addRaw({ Topic: newTopicOf(0), ...options });
}
