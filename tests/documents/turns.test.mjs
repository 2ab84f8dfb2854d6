// SPDX-License-Identifier: MIT
//
// Many documents of one owner before another owner's single one, and a few that are made to take long.
import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { suite } from '../support/harness.mjs';
import { openDesk } from '../support/indexing.mjs';
import { namesOfEachShard, namesOfOneShard, SHARDS } from '../support/shards.mjs';

suite('documents of several owners', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let desk;
  before(async () => (desk = await openDesk(cluster.redis)));
  after(() => desk.close());
  afterEach(async () => {
    for (const node of cluster.nodes.splice(0)) await node.stop();
    await desk.cmd('FLUSHDB');
  });

  for (const indexers of [1, 4]) {
    test(`forty files of one owner do not delay another owner's one, with ${indexers} indexers`, async () => {
      const [full, other] = namesOfOneShard('o:alice', 2); // leases are numbers of a shard
      const many = [];
      for (let i = 0; i < 40; i++) many.push(await desk.upload({ space: full, name: `${i}.txt`, bytes: `Number ${i}.` }));
      const one = await desk.upload({ name: 'one.txt', bytes: 'The only one.', space: other });
      await cluster.startNode({ args: ['--indexers', indexers] });
      for (const { job } of [...many, one]) assert.equal((await desk.ended(job)).status, 'DONE');
      // Leases rise with each begin.
      const lease = Number((await desk.job(one.job)).lease);
      const earlier = (await Promise.all(many.map(({ job }) => desk.job(job)))).filter((job) => Number(job.lease) < lease);
      // Of several indexers the one that took it may be slow to begin it, while the others continue.
      assert.ok(earlier.length <= (indexers === 1 ? 1 : many.length / 2), `${earlier.length} were begun before it`);
      await desk.assertIdle();
      assert.deepEqual(await Promise.all(['job_turns', `queued_jobs:${full}`].map((name) => desk.sum('EXISTS', name))), [0, 0]);
    });
  }

  test('twenty files on each of some shards do not delay the one file on another', async () => {
    const spaces = namesOfEachShard('o:user');
    const many = [];
    for (const space of spaces.slice(1)) for (let i = 0; i < 20; i++) many.push(await desk.upload({ space, name: `${i}.txt`, bytes: `Number ${i}.` }));
    const one = await desk.upload({ space: spaces[0], name: 'one.txt', bytes: 'The only one.' });
    await cluster.startNode({ args: ['--indexers', 1] });
    for (const { job } of [...many, one]) assert.equal((await desk.ended(job)).status, 'DONE');
    const until = Number((await desk.job(one.job)).updated);
    const earlier = (await Promise.all(many.map(({ job }) => desk.job(job)))).filter((job) => Number(job.updated) < until);
    assert.ok(earlier.length < SHARDS, `${earlier.length} of ${many.length} were indexed before it`);
    await desk.assertIdle();
  });

  test('a waiting indexer gets a file on any shard', async () => {
    await cluster.startNode({ args: ['--indexers', 2] });
    for (const space of namesOfEachShard('o:user')) {
      const { doc, job } = await desk.upload({ space, bytes: `A file of ${space}.` });
      assert.equal((await desk.ended(job)).status, 'DONE');
      await desk.assertWhole(doc);
    }
  });

  test('pages of 2 MiB of attributes are indexed as others are', async () => {
    const attributes = Array.from({ length: 220_000 }, (_, i) => `a${i}=1`).join(' ');
    const pages = [];
    for (let i = 0; i < 4; i++) pages.push(await desk.upload({ name: `${i}.html`, bytes: `<p ${attributes}>Page ${i}.` }));
    await cluster.startNode();
    for (const { doc, job } of pages) {
      const ended = await desk.ended(job);
      assert.equal(ended.status, 'DONE', ended.error);
      assert.match((await desk.assertWhole(doc)).text, /^Page \d\.$/);
    }
  });
});
