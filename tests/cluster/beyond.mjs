// SPDX-License-Identifier: MIT
//
// beyond: what the tests of Sentinel and of Redis Cluster share: a cluster of nodes on such a Redis, load on it, and how long
// it cannot be used.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Cluster, eventually } from '../support/harness.mjs';
import { startLoad } from './load.mjs';

const TEST_MS = 240_000;

// test(name, body(cluster)) with nodes on what startRedis() starts, for the suite of a file.
export const testOn = (startRedis, args) => (name, body, { nodes = 2, redis = startRedis, ...options } = {}) =>
  it(name, { timeout: TEST_MS }, async () => {
    const cluster = new Cluster({ nodes: 0, redis, args: ['--target', 'broker', '--rescan-seconds', '1', ...args], ...options });
    await cluster.start();
    try {
      for (let i = 0; i < nodes; i++) await cluster.startNode();
      for (const node of cluster.nodes) await usable(cluster, node);
      await body(cluster);
      cluster.checkSanitizers();
    } catch (error) {
      cluster.printLogs(new Map());
      throw error;
    } finally {
      await cluster.stop();
    }
  });

// All shards of that node can be used.
export const usable = (cluster, node) =>
  eventually(
    async () => {
      const { status, json } = await cluster.request('GET', '/readyz', { node });
      return status === 200 && json.away === undefined;
    },
    { ms: 90_000, what: 'the node can use all shards' },
  );

// Load that continues while disturb() runs, and then until `after` more questions have ended.
export async function underLoad(cluster, disturb, { before = 20, after = 40, ...options } = {}) {
  const load = startLoad(cluster, { frontends: 4, engines: 4, ...options });
  try {
    await load.reached(before);
    await disturb(load);
    await load.reached(after);
    const states = await load.finish();
    assert.deepEqual([states.Failed, states.Cancelled], [0, 0]);
    return { ...states, retries: load.retries };
  } finally {
    load.abort();
  }
}

// Adds one question after the other to that topic until one is accepted: how many seconds that took.
export async function untilAccepted(cluster, options) {
  const began = performance.now();
  await eventually(async () => (await cluster.addRaw({ timeout: 10_000, ...options })).status === 200, { ms: 90_000, every: 50, what: 'a question is accepted' });
  return (performance.now() - began) / 1000;
}

// A figure of this run, not a promise.
export const print = (text) => console.log(`# ${text}`);
