// SPDX-License-Identifier: MIT
//
// Many documents of one owner before another owner's single one, and a few that are made to take long.
import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { suite } from '../support/harness.mjs';
import { openDesk } from '../support/indexing.mjs';

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
      const many = [];
      for (let i = 0; i < 40; i++) many.push(await desk.upload({ name: `${i}.txt`, bytes: `Number ${i}.` }));
      const one = await desk.upload({ name: 'one.txt', bytes: 'The only one.', space: 'o:bob' });
      await cluster.startNode({ args: ['--indexers', indexers] });
      for (const { job } of [...many, one]) assert.equal((await desk.ended(job)).status, 'DONE');
      // Leases rise with each begin.
      const lease = Number((await desk.job(one.job)).lease);
      const earlier = (await Promise.all(many.map(({ job }) => desk.job(job)))).filter((job) => Number(job.lease) < lease);
      // Of several indexers the one that took it may be slow to begin it, while the others go on.
      assert.ok(earlier.length <= (indexers === 1 ? 1 : many.length / 2), `${earlier.length} were begun before it`);
      await desk.assertIdle();
      assert.deepEqual(await Promise.all(['job_turns', 'queued_spaces', 'queued_jobs:o:alice'].map((name) => desk.cmd('EXISTS', desk.key(name)))), [0, 0, 0]);
    });
  }

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
