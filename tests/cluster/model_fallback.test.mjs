// SPDX-License-Identifier: MIT
//
// A query that waits for a model without an engine, while things die around it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertOk, Cluster, eventually } from '../support/harness.mjs';
import { SHARDS } from '../support/shards.mjs';
import { ready } from './watch.mjs';

async function withCluster(options, body) {
  const cluster = new Cluster({ args: ['--model-fallback-seconds', '3', '--rescan-seconds', '1'], sweep: false, ...options });
  await cluster.start();
  try {
    await body(cluster);
  } catch (error) {
    cluster.printLogs(new Map());
    throw error;
  } finally {
    await cluster.stop();
  }
}

// An engine for it polls once, and every shard knows that.
async function engineWasThere(cluster, model) {
  await cluster.claim({ query: { Models: model }, node: 1 });
  await eventually(
    async () => {
      const keys = await cluster.redis.cmd('KEYS', 'parley:*:models_seen');
      const found = await Promise.all(keys.map((key) => cluster.redis.cmd('HEXISTS', key, model)));
      return found.filter(Boolean).length === SHARDS;
    },
    { what: 'its engine is known' },
  );
}

describe('a query for a model whose engine has gone', () => {
  it('the node that knew its time dies: the other one hands it over', () =>
    withCluster({}, async (cluster) => {
      await engineWasThere(cluster, 'big');
      const { Topic } = await cluster.add({ Query: 'Why?', Model: 'big', node: 0 });
      await cluster.nodes[0].kill();
      const got = await cluster.claim({ query: { Models: 'tiny' }, wait: 60, detail: true, node: 1 });
      assert.deepEqual([got.Topic, got.Details?.[1].Model], [Topic, 'default']);
      await cluster.answer({ Topic, Seq: 1, Query: 'Why?', Lease: got.Lease, node: 1 });
    }));

  it('Redis restarts meanwhile: its time has not been forgotten', () =>
    withCluster({ aof: true }, async (cluster) => {
      await engineWasThere(cluster, 'big');
      const { Topic } = await cluster.add({ Query: 'Why?', Model: 'big' });
      await cluster.redis.restart();
      for (const node of [0, 1]) await ready(cluster, node);
      const got = await cluster.claim({ query: { Models: 'tiny' }, wait: 60, detail: true });
      assert.equal(got.Topic, Topic);
      await cluster.answer({ Topic, Seq: 1, Query: 'Why?', Lease: got.Lease });
    }));

  it('the engine that took it as default dies: it waits for its own engine again, and then falls again', () =>
    // If a delivery were confirmed too late, its claim would not count as an attempt.
    withCluster({ args: ['--model-fallback-seconds', '3', '--rescan-seconds', '1', '--lease-seconds', '2', '--delivery-seconds', '10'] }, async (cluster) => {
      await engineWasThere(cluster, 'big');
      const { Topic } = await cluster.add({ Query: 'Why?', Model: 'big' });
      const first = await cluster.claim({ query: { Models: 'tiny' }, wait: 60, detail: true });
      assert.equal(first.Topic, Topic);
      const again = await cluster.claim({ as: 'Inference_2', query: { Models: 'small' }, wait: 60, detail: true });
      assert.deepEqual([again.Topic, again.Attempt, again.Details?.[1].Model], [Topic, 2, 'default']);
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Query: 'Why?', Lease: again.Lease });
    }));

  it('its engine is at work for long: its other queries wait, and are its own in the end', () =>
    withCluster({}, async (cluster) => {
      const { Topic } = await cluster.add({ Query: 'Long?', Model: 'big' });
      const first = await cluster.claim({ query: { Models: 'big' }, wait: 60, detail: true });
      assert.equal(first.Topic, Topic);
      const seen = async () => Promise.all((await cluster.redis.cmd('KEYS', 'parley:*:models_seen')).map((key) => cluster.redis.cmd('HGET', key, 'big')));
      await eventually(async () => (await seen()).some((text) => / \d+$/.test(text ?? '')), { what: 'a sync has stated the claim' });
      // The same topic: of several shards it is the one that knows of the claim.
      await cluster.add({ Topic, Query: 'And then?', Model: 'big' });
      const falls = async () => Number((await Promise.all((await cluster.redis.cmd('KEYS', 'parley:*:falls')).map((key) => cluster.redis.cmd('ZSCORE', key, 'big')))).find(Boolean));
      const due = await falls();
      assert.ok(due > 0);
      await eventually(async () => (await falls()) > due, { what: 'it was put off' });
      await cluster.answer({ Topic, Seq: 1, Query: 'Long?', Lease: first.Lease });
      const next = await cluster.claim({ query: { Models: 'big' }, wait: 60, detail: true });
      assert.deepEqual([next.Topic, next.Details?.[2].Model], [Topic, 'big']);
      assertOk(await cluster.request('POST', '/api/give-new-answer', { as: 'Inference_1', body: { Topic, Seq: 2, Query: 'And then?', Lease: next.Lease, Answer: ['So.'] } }));
    }));
});
