// SPDX-License-Identifier: MIT
//
// Indexers that are killed, suspended or stopped in the middle of a job, and documents that go while they are indexed.
// The job ends once; the passages are neither doubled nor missing; nothing is stuck.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { eventually, suite } from '../support/harness.mjs';
import { makePdf, openDesk, prose, startEmbedder } from '../support/indexing.mjs';
import { startProxy } from '../support/proxy.mjs';
import { stop } from './watch.mjs';

const LEASE = ['--job-lease-seconds', '600'];
const MANY_PASSAGES = prose(12_000); // about 100
const WHERE = [
  ['job_begin', 1, 'it takes the job'],
  ['job_upload', 1, 'it reads the file'],
  ['job_parsed', 1, 'it stores the text'],
  ['CHUNK', 1, 'it tells of CHUNK'],
  ['EMBED', 1, 'it tells of EMBED'],
  ['STORE', 1, 'it tells of STORE'],
  ['job_store', 1, 'it stores the passages'],
];

suite('an indexer that is killed', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let desk;
  before(async () => (desk = await openDesk(cluster.redis)));
  after(() => desk.close());

  // Kills an indexer at that call, before Redis has run it or after; another one continues.
  async function killAt(word, nth, side, upload) {
    const proxy = await startProxy(cluster.redis);
    const dying = await cluster.startNode({ redis: proxy, args: LEASE });
    try {
      const held = proxy.holdAt(word, side, nth);
      const { doc, job } = await desk.upload(upload);
      await held;
      await dying.kill();
      await desk.endLeases();
      const other = await cluster.startNode({ args: LEASE });
      const ended = await desk.ended(job);
      assert.equal(ended.status, 'DONE', ended.error);
      await desk.assertIdle();
      await other.stop();
      return { doc, job: ended };
    } finally {
      if (dying.alive) await dying.kill();
      await proxy.stop();
      cluster.nodes.splice(0);
    }
  }

  for (const [word, nth, when] of WHERE) {
    for (const side of ['request', 'reply']) {
      const moment = side === 'request' ? 'right before' : 'right after';
      test(`${moment} ${when}: another one ends the job, with every passage once`, async () => {
        const { doc, job } = await killAt(word, nth, side, { bytes: `${MANY_PASSAGES} ${word} ${side}` });
        const { text } = await desk.assertWhole(doc);
        assert.ok(text.endsWith(`${word} ${side}`));
        const wasOver = word === 'job_store' && side === 'reply';
        const hadBegun = word !== 'job_begin' || side === 'reply';
        assert.equal(Number(job.attempt), wasOver || !hadBegun ? 1 : 2);
      });
    }
  }

  test('in the middle of a large PDF: another one reads it again', async () => {
    const dying = await cluster.startNode({ args: LEASE });
    const { doc, job } = await desk.upload({ name: 'large.pdf', bytes: makePdf(1500) });
    await desk.stage(job, 'PARSE');
    await dying.kill();
    await desk.endLeases();
    cluster.nodes.splice(0);
    const other = await cluster.startNode({ args: LEASE });
    assert.equal((await desk.ended(job)).status, 'DONE');
    const { text } = await desk.assertWhole(doc);
    assert.match(text, /Page 1, line 0/);
    assert.match(text, /Page 1500, line 39/);
    await other.stop();
    cluster.nodes.splice(0);
  });

  test('an indexed document that is indexed again stays as it was while its indexer dies', async () => {
    const { doc, job } = await killAt('job_store', 1, 'request', { bytes: `${MANY_PASSAGES} first`, path: 'a.md', space: 'c:book' });
    assert.equal(job.status, 'DONE');
    const earlier = await desk.assertWhole(doc);
    const proxy = await startProxy(cluster.redis);
    const dying = await cluster.startNode({ redis: proxy, args: LEASE });
    const held = proxy.holdAt('job_store');
    const again = await desk.upload({ bytes: `${prose(3_000, 9)} second`, path: 'a.md', space: 'c:book' });
    await held;
    assert.equal(again.doc, doc);
    assert.equal((await desk.chunks(doc)).length, earlier.chunks.length, 'its passages are the old ones');
    await dying.kill();
    await desk.endLeases();
    await proxy.stop();
    cluster.nodes.splice(0);
    const other = await cluster.startNode({ args: LEASE });
    assert.equal((await desk.ended(again.job)).status, 'DONE');
    const { text } = await desk.assertWhole(doc);
    assert.ok(text.endsWith('second'));
    await other.stop();
    cluster.nodes.splice(0);
  });

  test('three indexers that die of a job fail it with a reason', async () => {
    let job;
    for (let i = 0; i < 3; i++) {
      const proxy = await startProxy(cluster.redis);
      const held = proxy.holdAt('job_upload');
      const dying = await cluster.startNode({ redis: proxy, args: LEASE });
      if (i === 0) ({ job } = await desk.upload({ bytes: 'deadly' }));
      await held;
      await dying.kill();
      await desk.endLeases();
      await proxy.stop();
      cluster.nodes.splice(0);
    }
    const last = await cluster.startNode({ args: LEASE });
    const ended = await desk.ended(job);
    assert.equal(ended.status, 'FAILED');
    assert.match(ended.error, /\w+ \w+/, 'a sentence for people');
    assert.equal((await desk.doc(ended.doc)).status, 'FAILED');
    await desk.assertIdle();
    await last.stop();
    cluster.nodes.splice(0);
  });
});

suite('an indexer that waits for a slow model', { nodes: 0, sweep: false, aof: true }, ({ test, cluster }) => {
  let desk;
  let embedder;
  let args;
  before(async () => {
    embedder = await startEmbedder();
    args = [...LEASE, '--embeddings', `openai:${embedder.url}#stub`];
    desk = await openDesk(cluster.redis);
  });
  after(async () => {
    desk.close();
    await embedder.stop();
  });

  // One node whose indexer waits for vectors of a new document, and what releases them.
  async function waiting(upload, lease = []) {
    const asked = embedder.requests.length;
    const release = embedder.hold();
    const node = await cluster.startNode({ args: [...args, ...lease] });
    const { doc, job } = await desk.upload(upload);
    await embedder.asked(asked + 1);
    assert.equal((await desk.job(job)).stage, 'EMBED');
    return { node, doc, job, release, request: embedder.requests[asked] };
  }

  async function ends(node, signal = 'SIGTERM') {
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    if (signal === 'SIGKILL') return node.kill();
    return node.stop();
  }

  test('keeps its lease however long a step takes', async () => {
    const short = ['--job-lease-seconds', '8']; // a stall of up to two thirds of it does no harm
    const { node, doc, job, release } = await waiting({ bytes: `${MANY_PASSAGES} patient` }, short);
    const { lease } = await desk.job(job);
    const other = await cluster.startNode({ args: [...args, ...short] });
    // The other one looks for jobs of the dead at every third of a lease.
    const looks = async () => Number(/calls=(\d+)/.exec((await cluster.redis.info('commandstats')).cmdstat_xautoclaim)?.[1] ?? 0);
    const before = await looks();
    await eventually(async () => (await looks()) > before + 7, { what: 'the other one has looked often', ms: 60_000 });
    assert.equal((await desk.job(job)).lease, lease, 'the job is still the first one’s');
    release();
    assert.equal(Number((await desk.ended(job)).attempt), 1);
    await desk.assertWhole(doc);
    await ends(node);
    await ends(other);
  });

  test('that is killed is followed by another one, which continues from the stored text', async () => {
    const { node, doc, job, release } = await waiting({ bytes: `${MANY_PASSAGES} killed` });
    await ends(node, 'SIGKILL');
    await desk.endLeases();
    release();
    const other = await cluster.startNode({ args });
    const ended = await desk.ended(job);
    assert.deepEqual([ended.status, ended.attempt], ['DONE', '2']);
    await desk.assertWhole(doc);
    await desk.assertIdle();
    await ends(other);
  });

  test('that hangs loses the job, and changes nothing when it wakes', async () => {
    const { node, doc, job, release } = await waiting({ bytes: `${MANY_PASSAGES} hanging` });
    await stop(node);
    await desk.endLeases();
    release();
    const other = await cluster.startNode({ args });
    assert.equal((await desk.ended(job)).status, 'DONE');
    const { generation } = await desk.doc(doc);
    node.signal('SIGCONT');
    await node.waitForLog(/indexing ended.*lost/);
    assert.equal((await desk.doc(doc)).generation, generation);
    await desk.assertWhole(doc);
    await desk.assertIdle();
    await ends(node);
    await ends(other);
  });

  test('that is stopped gives the job back at once, and the attempt does not count', async () => {
    const { node, doc, job, release } = await waiting({ bytes: `${MANY_PASSAGES} drained` });
    await ends(node);
    assert.equal((await desk.job(job)).status, 'QUEUED');
    release();
    const other = await cluster.startNode({ args });
    const ended = await desk.ended(job);
    assert.deepEqual([ended.status, ended.attempt], ['DONE', '1']);
    await desk.assertWhole(doc);
    await desk.assertIdle();
    await ends(other);
  });

  test('continues after Redis was away, if its lease still holds', async () => {
    const { node, doc, job, release } = await waiting({ bytes: `${MANY_PASSAGES} redis` });
    await cluster.redis.kill();
    release();
    await cluster.redis.restart();
    desk.close();
    desk = await openDesk(cluster.redis);
    const ended = await desk.ended(job);
    assert.deepEqual([ended.status, ended.attempt], ['DONE', '1']);
    await desk.assertWhole(doc);
    await desk.assertIdle();
    await ends(node);
  });

  test('stops when its document is deleted, leaves nothing behind, and takes the next job', async () => {
    const { node, doc, job, release, request } = await waiting({ bytes: `${MANY_PASSAGES} deleted` });
    await desk.remove(doc);
    assert.equal((await desk.job(job)).status ?? 'CANCELLED', 'CANCELLED');
    await eventually(() => request.left, { what: 'the request for vectors is given up' });
    release();
    await node.waitForLog(/indexing ended.*lost/);
    const next = await desk.upload({ bytes: 'the next one' });
    assert.equal((await desk.ended(next.job)).status, 'DONE');
    for (const kind of ['doc', 'text', 'pack', 'upload']) assert.deepEqual(await desk.cmd('KEYS', `*:${kind}:${doc}*`), [], kind);
    await desk.assertIdle();
    await ends(node);
  });

  test('drops a file that got other bytes meanwhile, and indexes these', async () => {
    const first = { bytes: `${MANY_PASSAGES} old`, path: 'page.md', space: 'c:book' };
    const { node, doc, job, release } = await waiting(first);
    const again = await desk.upload({ ...first, bytes: `${MANY_PASSAGES} new` });
    assert.equal(again.doc, doc);
    release();
    assert.equal((await desk.ended(again.job)).status, 'DONE');
    assert.equal((await desk.job(job)).status, 'CANCELLED');
    const { text } = await desk.assertWhole(doc);
    assert.ok(text.endsWith('new'));
    await desk.assertIdle();
    await ends(node);
  });
});
