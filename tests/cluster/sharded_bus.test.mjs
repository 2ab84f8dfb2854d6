// SPDX-License-Identifier: MIT
//
// Messages between nodes of several shards are sharded (ADR 24): on a Redis that is a cluster of one server, where each shard
// has its slot. Rescans and delivery leases take longer than the tests, so nothing arrives without a message.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertOk, Cluster, eventually, SLOW_RESCUE } from '../support/harness.mjs';
import { ownShards, prefixOfShard, topicOn } from '../support/shards.mjs';
import { calls, connections, parked, ready } from './watch.mjs';

ownShards(); // flags say how many

const SHARDS = 4;

async function withCluster(body) {
  const cluster = new Cluster({ nodes: 0, redisArgs: ['--cluster-enabled', 'yes', '--cluster-require-full-coverage', 'no'] });
  await cluster.start();
  try {
    await cluster.redis.cmd('CLUSTER', 'ADDSLOTSRANGE', 0, 16383);
    await eventually(async () => /cluster_state:ok/.test(await cluster.redis.cmd('CLUSTER', 'INFO')), { what: 'the cluster is up' });
    for (let i = 0; i < 2; i++) await cluster.startNode({ args: ['--target', 'broker', '--shards', SHARDS, ...SLOW_RESCUE] });
    for (const node of [0, 1]) await ready(cluster, node);
    await body(cluster);
    cluster.checkSanitizers();
  } catch (error) {
    cluster.printLogs(new Map());
    throw error;
  } finally {
    await cluster.stop();
  }
}

async function byToken(cluster, as) {
  const { Token } = assertOk(await cluster.request('GET', '/api/login', { as }));
  return { as: undefined, headers: { Authorization: `Bearer ${Token}` } };
}

// A question that is added on node 0 reaches an engine that waits on node 1, its answer who waits on node 0.
// By token: a signed request needs the shard of its nonce, too.
async function cross(cluster, shard) {
  cluster.frontend ??= await byToken(cluster, 'Frontend_1');
  cluster.engine ??= await byToken(cluster, 'Inference_1');
  const poll = cluster.claimOpen({ wait: 60, detail: true, node: 1, ...cluster.engine });
  await parked(cluster, 1, 1);
  const Topic = topicOn(shard, SHARDS);
  await cluster.add({ Topic, node: 0, ...cluster.frontend });
  const { Lease, Topic: claimed } = assertOk(await poll.response);
  assert.equal(claimed, Topic);
  const waiter = cluster.checkOpen({ Topic, wait: 60, node: 0, ...cluster.frontend });
  await eventually(async () => (await cluster.redis.cmd('HGET', `${prefixOfShard(shard)}t:${Topic}`, 'w:1')) !== null, { what: 'the waiter is written down' });
  await cluster.answer({ Topic, Seq: 1, Lease, node: 1, ...cluster.engine });
  assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
}

const subscriptions = async (cluster) => (await connections(cluster.redis, 'parley-bus')).filter(({ ssub }) => ssub === '2').length;

describe('messages between nodes of several shards', () => {
  it('each costs the server of its channel alone: none is published to all', { timeout: 240_000 }, () =>
    withCluster(async (cluster) => {
      for (let shard = 0; shard < SHARDS; shard++) await cross(cluster, shard);
      assert.equal(await calls(cluster.redis, 'publish'), 0);
      assert.ok((await calls(cluster.redis, 'spublish')) >= SHARDS);
    }));

  it('a server that ends subscriptions since their slot moves: the nodes subscribe again, and look again', { timeout: 240_000 }, () =>
    withCluster(async (cluster) => {
      const shard = 2;
      const slot = await cluster.redis.cmd('CLUSTER', 'KEYSLOT', prefixOfShard(shard));
      await cross(cluster, shard);
      await eventually(async () => (await subscriptions(cluster)) === 2 * SHARDS, { what: 'all are subscribed' });
      await cluster.redis.cmd('CLUSTER', 'DELSLOTS', slot);
      await eventually(async () => (await subscriptions(cluster)) === 2 * (SHARDS - 1), { what: 'the nodes have left the slot' });
      await cross(cluster, 0); // the others continue
      await cluster.redis.cmd('CLUSTER', 'ADDSLOTS', slot);
      await eventually(async () => (await subscriptions(cluster)) === 2 * SHARDS, { ms: 60_000, what: 'all are subscribed again' });
      for (const node of [0, 1]) await eventually(async () => (await cluster.request('GET', '/readyz', { node })).json.away === undefined, { ms: 60_000, what: 'all shards are there' });
      await cross(cluster, shard);
    }));
});
