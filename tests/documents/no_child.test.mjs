// SPDX-License-Identifier: MIT
//
// Indexers that can start no process: their process has no descriptor left. Nothing is wrong with the documents:
// they stay queued with all their attempts, what needs no process is indexed, and nothing spins.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, afterEach, before } from 'node:test';
import { eventually, makeFolder, runParley, suite } from '../support/harness.mjs';
import { openDesk } from '../support/indexing.mjs';

const HTML = '<p>The lease of an engine ends after a minute.</p>';

suite('without descriptors', { nodes: 0, sweep: false, args: ['--job-lease-seconds', 3] }, ({ test, cluster }) => {
  let desk, folder;
  before(async () => {
    desk = await openDesk(cluster.redis);
    folder = makeFolder();
  });
  after(() => {
    desk.close();
    folder.remove();
  });
  afterEach(async () => {
    for (const node of cluster.nodes.splice(0)) await node.stop();
    await desk.cmd('FLUSHDB');
  });

  const descriptors = (node, limit) => execFileSync('prlimit', ['--pid', String(node.child.pid), `--nofile=${limit}:`]);

  test('a page stays queued and no attempt is counted, a text is indexed, and with descriptors the page is too', async () => {
    const node = await cluster.startNode();
    const first = await desk.upload({ name: 'first.txt', bytes: 'Its connection is open.' });
    assert.equal((await desk.ended(first.job)).status, 'DONE');
    descriptors(node, 3); // what is open stays so
    const page = await desk.upload({ name: 'a.html', bytes: HTML });
    await node.waitForLog(/outcome="delayed".*no process could be started/);
    const found = await eventually(async () => {
      const job = await desk.job(page.job); // it may be tried again right now
      return (await desk.ask('ZSCORE', 'delayed_jobs', page.job)) && job.status === 'QUEUED' && job;
    }, { what: 'it waits' });
    assert.deepEqual([found.attempt, found.error], ['0', '']);
    assert.equal((await desk.doc(page.doc)).status, 'QUEUED');
    const text = await desk.upload({ name: 'b.txt', bytes: 'Nothing is started for a text.', space: 'o:bob' });
    assert.equal((await desk.ended(text.job)).status, 'DONE');
    // After five tries, where three attempts would have failed it, it still waits.
    await eventually(() => node.log().match(/outcome="delayed"/g).length >= 5, { what: 'it is tried again and again', ms: 60_000 });
    assert.ok(['QUEUED', 'RUNNING'].includes((await desk.job(page.job)).status));
    descriptors(node, 1000);
    const ended = await desk.ended(page.job);
    assert.deepEqual([ended.status, ended.attempt], ['DONE', '1'], ended.error);
    await desk.assertWhole(page.doc);
    await desk.assertIdle();
  });

  test('`parley ingest` says so, and indexes the page the next time', async () => {
    folder.file('a.html', HTML);
    const args = ['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--json', 'a.html'];
    const options = { cwd: folder.dir };
    // Enough to read the file, too few to start a process: how many that is depends on the build.
    let line;
    for (let n = 5; n < 20 && !line; n++) {
      const { stdout } = await runParley(args, { ...options, limits: [`--nofile=${n}`] });
      line = stdout.split('\n').find((one) => one.includes('no process could be started'));
      if (/"indexed":1/.test(stdout)) break;
    }
    assert.ok(line, 'no number of descriptors was too few for a process alone');
    const [doc] = Object.values(await desk.hash('paths:c:public'));
    assert.equal((await desk.doc(doc)).status, 'QUEUED');
    const { code, stdout } = await runParley(args, options);
    assert.equal(code, 0, stdout);
    assert.equal((await desk.doc(doc)).status, 'INDEXED');
    await desk.assertIdle();
  });
});
