// SPDX-License-Identifier: MIT
//
// shards: where a name's keys are, as shared/redis/shard_map.c says it. Clusters of tests have PARLEY_TEST_SHARDS shards, or one.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { newTopic } from './harness.mjs';
import { ROOT } from './node.mjs';

export const SHARDS = Number(process.env.PARLEY_TEST_SHARDS || 1);

const source = readFileSync(join(ROOT, 'shared/redis/shard_map.c'), 'utf8');
const TAGS = [.../tags\[SHARDS_MAX\] = \{([^}]*)\}/.exec(source)[1].matchAll(/"(\w+)"/g)].map(([, tag]) => tag);

// FNV-1a and MurmurHash3's finalizer. `name`: a text, or bytes.
export function shardOf(name, n = SHARDS) {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35) >>> 0;
  return ((hash ^ (hash >>> 16)) >>> 0) & (n - 1);
}

export const prefixOf = (shard) => `parley:{${TAGS[shard]}}:`;

// The key of that kind and topic, such as `t:<topic>`.
export const topicKey = (kind, topic, n = SHARDS) => `${prefixOf(shardOf(topic, n))}${kind}:${topic}`;

// A new topic of that shard.
export function topicOn(shard, n = SHARDS) {
  for (;;) {
    const topic = newTopic();
    if (shardOf(topic, n) === shard % n) return topic;
  }
}

// What the shard of a nonce is made from: signed_nonce_id of shared/auth/signed.h.
export const nonceId = (user, nonce) => createHash('sha256').update(`${user}\0${nonce}`).digest().subarray(0, 16);
