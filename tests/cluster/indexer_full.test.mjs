// SPDX-License-Identifier: MIT
//
// Indexers while Redis is at its maxmemory: a job waits for room with its lease and without losing an attempt, and
// continues by itself, and ends at once when its document is deleted or its process stops.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { eventually, runParley, suite } from '../support/harness.mjs';
import { openDesk, prose, startEmbedder } from '../support/indexing.mjs';
import { SHARDS } from '../support/shards.mjs';

suite('indexers while Redis is full', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let desk, embedder;
  before(async () => {
    desk = await openDesk(cluster.redis);
    embedder = await startEmbedder();
  });
  after(async () => {
    desk.close();
    await embedder.stop();
  });

  const LEASE_S = 3;
  const args = () => ['--job-lease-seconds', LEASE_S, '--embeddings', `openai:${embedder.url}#stub`];
  const refused = async () => Number(/count=(\d+)/.exec((await cluster.redis.info('errorstats')).errorstat_OOM ?? 'count=0')[1]);

  // A job whose indexer has its vectors and finds no room for them.
  async function meetFull(indexers, body) {
    for (let i = 0; i < indexers; i++) await cluster.startNode({ args: args() });
    const n = embedder.requests.length;
    const release = embedder.hold();
    const { doc, job } = await desk.upload({ bytes: `${prose(300)} ${n}` });
    await embedder.asked(n + 1);
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    release();
    try {
      const from = await refused();
      // Many leases long: the indexer asks some times in each of them, and so does the other one.
      await eventually(async () => (await refused()) >= from + 12 * indexers, { ms: 60_000, what: 'it was refused for many leases' });
      await body({ doc, job });
    } finally {
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
      await Promise.all(cluster.nodes.splice(0).map((node) => node.stop()));
    }
  }

  test('a job waits for room and ends with its first attempt, though another indexer looks for jobs of the dead', async () => {
    await meetFull(2, async ({ doc, job }) => {
      for (const node of cluster.nodes) assert.ok(node.log().split('\n').filter((line) => /OOM/.test(line)).length <= 3 + SHARDS, node.log());
      // Otherwise the first indexer that asks once there is room gets the job.
      await eventually(async () => (await desk.silentMs()) < LEASE_S * 1000, { ms: 10_000, what: 'its lease is renewed meanwhile' });
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
      const ended = await desk.ended(job);
      assert.deepEqual([ended.status, Number(ended.attempt)], ['DONE', 1]);
      await desk.assertWhole(doc);
    });
  });

  test('an indexer that stops while Redis is full gives its job back: the next one begins it with the first attempt', async () => {
    await meetFull(1, async ({ doc, job }) => {
      await Promise.all(cluster.nodes.splice(0).map((node) => node.stop()));
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
      await cluster.startNode({ args: args() });
      const ended = await desk.ended(job);
      assert.deepEqual([ended.status, Number(ended.attempt)], ['DONE', 1]);
      await desk.assertWhole(doc);
    });
  });

  test('parley ingest on a full Redis says that it is full, and continues when it is run again', async () => {
    const ingest = ['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--base-url', 'https://x', 'docs/glossary.md'];
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    const first = await runParley(ingest, { timeout: 300_000 });
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    assert.equal(first.code, 1, first.stderr);
    assert.match(first.stderr, /OOM/);
    const second = await runParley(ingest, { timeout: 300_000 });
    assert.equal(second.code, 0, second.stderr);
  });
});
