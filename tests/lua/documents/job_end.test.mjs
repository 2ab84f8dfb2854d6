// SPDX-License-Identifier: MIT
//
// job_store, job_fail, job_release, job_pass, job_waiting: how a job ends, or waits again.
import assert from 'node:assert/strict';
import { anything, lines, scripts, stream, ttl, zset } from '../../support/lua.mjs';
import { ALICE, assertDocuments, BINARY, BOB, CAP, docId, HOUR_S, indexed, Indexer, indexingEvent, jobId, PACK, packOf, parsed, pending, upload } from '../../support/lua_documents.mjs';

scripts('job_store', ({ test, cases }) => {
  cases([{ name: 'an unknown job', call: ['job_store', 'x', 1, 'hash', 4, 'exact', 1, CAP, 1, PACK], reply: 'lost' }]);
  const reindex = (shard, n, j, space = ALICE) => shard.call('doc_reindex', 0, space, docId(n), jobId(j));

  test('the stored document is searchable, the entry is deleted, and watchers are notified', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    await shard.seed({ [`watchers:${ALICE}`]: zset({ n1: Date.now() + 50_000 }) });
    const pack = packOf([0, 3], [3, 5]);
    const { replies, events } = await shard.turn([['job_store', run.job, run.lease, 'hash', 4, 'exact', 2, CAP, 1, pack]]);
    assert.deepEqual(replies, ['ok']);
    assert.ok(indexingEvent({ n: 1 }, 'index_complete', 'STORE', 100, '"2 passages can be searched."')(events[0]));
    await assertDocuments(shard, [indexed({ n: 1, pack, chunks: 2 })], { [`watchers:${ALICE}`]: anything });
    assert.deepEqual(await pending(shard), []);
  });

  test('a repeated call after a lost reply is ok and counts once', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.index();
    assert.equal(await i1.store(run), 'ok');
    assert.equal(await i1.call('job_fail', run, '"x"'), 'lost', 'it has not failed');
    await assertDocuments(shard, [indexed({ n: 1 })]);
  });

  test('a reindexing takes the place of the old pack, and the version rises', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    await i1.index({ chunks: 5 });
    await reindex(shard, 1, 2);
    const pack = packOf([0, 5], [1, 5]);
    const run = await i1.index({ pack, chunks: 2 });
    assert.equal(run.lease, '3');
    await assertDocuments(shard, [indexed({ n: 1, j: 2, generation: 3, version: 4, pack, chunks: 2, job: { lease: 3, is_reindex: 1 } })], {
      [`job:${jobId(1)}`]: ttl(HOUR_S, anything), [`recent_jobs:${ALICE}`]: zset({ [jobId(1)]: anything, [jobId(2)]: anything }),
    });
  });

  test('a pack past the cap is not stored; the old one makes room for it', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    assert.equal(await i1.store(run, { cap: PACK.length + 4 }), lines('full', 5, PACK.length + 4));
    await assertDocuments(shard, [parsed({ n: 1 })]);
    assert.equal(await i1.store(run, { cap: PACK.length + 5 }), 'ok');
    await reindex(shard, 1, 2);
    await i1.index({ cap: PACK.length + 5 });
  });

  test('a second document of another model is refused, and can fail then', async (shard) => {
    await upload(shard);
    await upload(shard, { n: 2 });
    const i1 = new Indexer(shard);
    await i1.index();
    const run = await i1.take();
    await i1.parsed(run);
    assert.equal(await i1.store(run, { model: 'other' }), lines('mismatch', 'hash', 4, 'exact'));
    assert.equal(await i1.store(run, { dimension: 8 }), lines('mismatch', 'hash', 4, 'exact'));
    assert.equal(await i1.call('job_fail', run, '"other model"'), 'ok');
    await assertDocuments(shard, [
      indexed({ n: 1 }),
      { n: 2, state: 'FAILED', text: [3, 'block'], chars: 5, blocks: 1, doc: { size: 7 }, job: { stage: 'CHUNK', progress: 0, lease: 3, attempt: 1, consumer: 'i1', error: '"other model"' } },
    ]);
  });

  test('other spaces may have other models, and so may a space with nothing in it any more', async (shard) => {
    await upload(shard);
    await upload(shard, { n: 2, space: BOB });
    const i1 = new Indexer(shard);
    await i1.index();
    await i1.index({ model: 'other' });
    await shard.call('doc_delete', 0, ALICE, docId(1));
    await upload(shard, { n: 3 });
    await i1.index({ model: 'third', dimension: 8 });
    assert.deepEqual([(await shard.get(`space:${ALICE}`)).model, (await shard.get(`space:${BOB}`)).model], ['third', 'other']);
  });

  test('a reindexing brings another model', async (shard) => {
    await upload(shard);
    await upload(shard, { n: 2 });
    const i1 = new Indexer(shard);
    await i1.index();
    await i1.index();
    await reindex(shard, 1, 3);
    await i1.index({ model: 'other', dimension: 8 });
    const space = await shard.get(`space:${ALICE}`);
    assert.deepEqual([space.model, space.dimension, space.chunks], ['other', '8', '2']);
    assert.deepEqual([(await shard.get(`doc:${docId(1)}`)).model, (await shard.get(`doc:${docId(2)}`)).model], ['other', 'hash']);
  });

  test('vectors stay where the first document put them', async (shard) => {
    await upload(shard);
    await upload(shard, { n: 2 });
    const i1 = new Indexer(shard);
    await i1.index();
    const run = await i1.take();
    await i1.parsed(run);
    assert.equal(await i1.store(run, { vectors: 'set' }), lines('mismatch', 'hash', 4, 'exact'));
    assert.equal(await i1.store(run), 'ok');
  });
}, BINARY);

scripts('job_fail', ({ test, cases }) => {
  cases([{ name: 'an unknown job', call: ['job_fail', 'x', 1, '"e"'], reply: 'lost' }]);

  test('its bytes are deleted, and watchers get the reason; a repeated call is ok', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await shard.seed({ [`watchers:${ALICE}`]: zset({ n1: Date.now() + 50_000 }) });
    const fail = ['job_fail', run.job, run.lease, '"The PDF is encrypted."'];
    const { replies, events } = await shard.turn([fail, fail]);
    assert.deepEqual(replies, ['ok', 'ok']);
    assert.equal(events.length, 1);
    assert.ok(indexingEvent({ n: 1 }, 'index_failed', 'PARSE', 0, '"The PDF is encrypted."')(events[0]));
    await assertDocuments(shard, [{ n: 1, state: 'FAILED', doc: { size: 7 }, job: { stage: 'PARSE', progress: 0, lease: 1, attempt: 1, consumer: 'i1', error: '"The PDF is encrypted."' } }], { [`watchers:${ALICE}`]: anything });
  });

  test('what was searched before still is', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    await i1.index();
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(2));
    const run = await i1.take();
    assert.equal(await i1.call('job_fail', run, '"broken"'), 'ok');
    const doc = await shard.get(`doc:${docId(1)}`);
    assert.deepEqual([doc.status, doc.generation], ['FAILED', '1']);
    assert.deepEqual(await shard.get(`packs:${ALICE}`), { [docId(1)]: '1' });
    assert.equal(await shard.get(`pack:${docId(1)}:1`), PACK);
  });
}, BINARY);

scripts('job_release', ({ test }) => {
  test('the job waits again, at the end of the stream, with all its attempts', async (shard) => {
    await upload(shard);
    await upload(shard, { n: 2 });
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await i1.call('job_release', run), 'ok');
    assert.equal(await i1.call('job_release', run), 'lost');
    assert.deepEqual(await pending(shard), []);
    await assertDocuments(shard, [{ n: 1 }, { n: 2 }]);
    const next = [await i1.take(), await i1.take()];
    assert.deepEqual(next.map(({ job, attempt }) => [job, attempt]), [[jobId(2), '1'], [jobId(1), '1']]);
  });
}, BINARY);

scripts('job_pass', ({ test }) => {
  test('the job waits outside the stream with all its attempts, and watchers get the reason', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await shard.seed({ [`watchers:${ALICE}`]: zset({ n1: Date.now() + 50_000 }) });
    const pass = ['job_pass', run.job, run.lease, '"Nothing reads PDF here."'];
    const { replies, events } = await shard.turn([pass, pass]);
    assert.deepEqual(replies, ['ok', 'lost']);
    assert.equal(events.length, 1);
    assert.ok(indexingEvent({ n: 1 }, 'index_progress', 'PARSE', 0, '"Nothing reads PDF here."')(events[0]));
    assert.equal(await i1.read(), undefined, 'who passed it does not read it again');
    assert.deepEqual(await pending(shard), []);
    const [doc, job] = [await shard.get(`doc:${docId(1)}`), await shard.get(`job:${jobId(1)}`)];
    assert.deepEqual([doc.status, job.status, job.entry, job.attempt, job.lease, job.consumer], ['QUEUED', 'QUEUED', '', '0', '', '']);
    assert.deepEqual((await shard.get(`upload:${docId(1)}`)).value, ['bytes 1']);
  });

  test('a document that is deleted while its job waits leaves nothing', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    await i1.call('job_pass', await i1.take(), '"m"');
    assert.equal(await shard.call('doc_delete', 0, ALICE, docId(1)), 'ok');
    assert.equal(await shard.get('waiting_jobs'), undefined);
    assert.equal(await shard.call('job_waiting'), 'none');
  });
}, BINARY);

scripts('job_waiting', ({ test, cases }) => {
  cases([{ name: 'nothing waits', call: ['job_waiting'], reply: 'none' }]);

  test('the longest waiting job is begun by one of the indexers that got it, and is then in the stream', async (shard) => {
    await upload(shard);
    await upload(shard, { n: 2 });
    const i1 = new Indexer(shard);
    await i1.call('job_pass', await i1.take(), '"m"');
    await shard.cmd('ZADD', shard.key('waiting_jobs'), 1, jobId(1));
    await i1.call('job_pass', await i1.take(), '"m"');
    const [i2, i3] = [new Indexer(shard, 'i2'), new Indexer(shard, 'i3')];
    assert.deepEqual([await shard.call('job_waiting'), await shard.call('job_waiting')], [jobId(1), jobId(1)]);
    const run = await i2.begin({ entry: '', job: jobId(1) });
    assert.equal(run.attempt, '1');
    assert.equal(await i3.begin({ entry: '', job: jobId(1) }), 'gone');
    assert.equal(await shard.call('job_waiting'), jobId(2));
    // An indexer reads the entry that it has now, and leaves it alone.
    assert.equal(await i1.take(), 'gone');
    await i2.parsed(run);
    assert.equal(await i2.store(run), 'ok');
    assert.deepEqual((await shard.get('jobs')).value ?? [], []);
  });

  test('a job whose indexer dies after it waited is taken over', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    await i1.call('job_pass', await i1.take(), '"m"');
    await new Indexer(shard, 'i2').begin({ entry: '', job: jobId(1) });
    assert.equal(await i1.take(), 'gone');
    const thief = new Indexer(shard, 'i3');
    const run = await thief.begin(await thief.steal());
    assert.deepEqual([run.job, run.attempt], [jobId(1), '2']);
  });
}, BINARY);
