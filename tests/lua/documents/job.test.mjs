// SPDX-License-Identifier: MIT
//
// job_*: one job, from its entry in the stream to its end, whoever dies on the way.
import assert from 'node:assert/strict';
import { ago, anything, lines, list, scripts, stream, ttl, zset } from '../../support/lua.mjs';
import { ALICE, assertDocuments, BOB, BOOK, cancelled, docId, elementsBytes, HOUR_S, Indexer, indexingEvent, jobId, jobOf, keysOf, PACK, packOf, partsOf, shaOf, VECTOR, vectorOf, withoutVectorSets, withVectorSets } from '../../support/lua_documents.mjs';

const BINARY = { encoding: 'latin1' };
const ANY_BYTES = String.fromCharCode(...Array(256).keys());
const CAP = 1e6;

const upload = (shard, { n = 1, j = n, space = ALICE, bytes = `bytes ${n}`, sha = shaOf(n), cap = CAP, path = '' } = {}) =>
  shard.call('upload', 0, space, '', docId(n), jobId(j), `"f${n}.txt"`, 'text/plain', 'text', bytes.length, sha, bytes, cap, path, '');
const pending = async (shard) => ((await shard.cmd('XPENDING', shard.key('jobs'), 'indexers', '-', '+', 10)) ?? []).map(([, consumer]) => consumer);
// A document while it is indexed by `consumer`.
const running = (given, consumer = 'i1') => ({ state: 'INDEXING', ...given, job: { attempt: 1, lease: 1, consumer, ...given.job } });
const parsed = (given, consumer) => running({ upload: undefined, text: [1, 'block'], chars: 5, blocks: 1, ...given, job: { stage: 'CHUNK', ...given.job } }, consumer);
const indexed = (given) => ({ state: 'INDEXED', generation: 1, version: 2, text: [1, 'block'], chars: 5, blocks: 1, ...given, job: { lease: 1, attempt: 1, consumer: 'i1', ...given.job } });
const GONE_JOB = ['gone', 'lost'];

scripts('job_begin', ({ test, cases }) => {
  cases([
    { name: 'an unknown job', call: ['job_begin', '', jobId(1), 'i1'], reply: 'gone' },
    { name: 'an unknown job whose entry is there: the entry goes', before: { jobs: stream(['7-0', { job: jobId(1) }]) }, call: ['job_begin', '7-0', jobId(1), 'i1'], reply: 'gone', after: { jobs: stream() } },
    { name: 'a job that is over: its entry goes', before: () => ({ ...keysOf({ n: 1, state: 'INDEXED' }), jobs: stream(['1-0', { job: jobId(1) }]) }), call: ['job_begin', '1-0', jobId(1), 'i1'], reply: 'gone', after: { jobs: stream() } },
    {
      name: 'an entry from before it was released: that one goes, the job stays',
      before: () => ({ ...keysOf({ n: 1 }), jobs: stream(['1-0', { job: jobId(1) }], ['2-0', { job: jobId(1) }]) }),
      call: ['job_begin', '2-0', jobId(1), 'i1'], reply: 'gone',
      after: { jobs: stream(['1-0', { job: jobId(1) }]) },
    },
  ]);

  test('the facts of a new document', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const { entry, job } = await i1.read();
    assert.equal(await shard.call('job_begin', entry, job, 'i1'), lines('ok', 1, 1, docId(1), ALICE, 'PARSE', 'text', '"f1.txt"', 7, 0, 0, 0));
    await assertDocuments(shard, [running({ n: 1 })]);
    assert.deepEqual(await pending(shard), ['i1']);
  });

  test('the same call again after a lost reply is the same lease and the same attempt', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.deepEqual(await i1.begin(run), run);
    assert.equal(await i1.parsed(run), 'ok');
    assert.deepEqual(await i1.begin(run), { ...run, stage: 'CHUNK', chars: '5', blocks: '1' });
    await assertDocuments(shard, [parsed({ n: 1 })]);
  });

  test('past the stream a job that runs is taken over only when nothing was heard of it for so long', async (shard) => {
    await upload(shard);
    const dead = await shard.call('job_begin', '', jobId(1), 'i1');
    assert.equal(await shard.call('job_begin', '', jobId(1), 'i2', 60_000), 'gone');
    assert.equal(await shard.call('job_begin', '', jobId(1), 'i2'), 'gone');
    await shard.cmd('HINCRBY', shard.key(`job:${jobId(1)}`), 'updated', -60_000);
    assert.equal(await shard.call('job_begin', '', jobId(1), 'i2', 60_000), dead.replace('ok\n1\n1', 'ok\n2\n2'));
    assert.equal(await shard.call('job_progress', jobId(1), 1, 'PARSE', 5, '""'), 'lost');
    await assertDocuments(shard, [running({ n: 1, job: { attempt: 2, lease: 2 } }, 'i2')]);
  });

  test('an entry does not take a job that runs past the stream, however long it was silent', async (shard) => {
    await upload(shard);
    await shard.call('job_begin', '', jobId(1), 'i1');
    await shard.cmd('HINCRBY', shard.key(`job:${jobId(1)}`), 'updated', -60_000);
    const { entry, job } = await new Indexer(shard, 'i2').read();
    assert.equal(await shard.call('job_begin', entry, job, 'i2', 1), 'gone');
  });

  test('a reindexing begins with the stored text', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    await i1.index();
    assert.equal(await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(2)), lines('ok', jobId(2)));
    const run = await i1.take();
    assert.deepEqual({ ...run, entry: '' }, { entry: '', job: jobId(2), lease: '3', attempt: '1', doc: docId(1), space: ALICE, stage: 'CHUNK', kind: 'text', filename: '"f1.txt"', size: '7', isReindex: '1', chars: '5', blocks: '1' });
    assert.deepEqual(partsOf(await i1.call('job_text', run)), ['block']);
  });

  test('race: an indexer dies; another one takes its job, goes on with the stored text, and the first is told that it lost', async (shard) => {
    await upload(shard);
    const [i1, i2] = [new Indexer(shard), new Indexer(shard, 'i2')];
    const first = await i1.take();
    assert.equal(await i1.parsed(first), 'ok');
    const second = await i2.begin(await i2.steal());
    assert.deepEqual([second.lease, second.attempt, second.stage, second.blocks], ['2', '2', 'CHUNK', '1']);
    for (const verb of ['job_upload', 'job_text']) assert.equal(await i1.call(verb, first), 'lost');
    assert.equal(await i1.call('job_progress', first, 'CHUNK', 50, '"x"'), 'lost');
    assert.equal(await i1.parsed(first, { blocks: ['other'] }), 'lost');
    assert.equal(await i1.vectors(first), 'lost');
    assert.equal(await i1.store(first), 'lost');
    assert.equal(await i1.call('job_fail', first, '"x"'), 'lost');
    assert.equal(await i1.call('job_release', first), 'lost');
    assert.deepEqual(await pending(shard), ['i2']);
    await assertDocuments(shard, [parsed({ n: 1, job: { lease: 2, attempt: 2, consumer: 'i2' } })]);
    assert.equal(await i2.store(second), 'ok');
    await assertDocuments(shard, [indexed({ n: 1, generation: 2, version: 3, job: { lease: 2, attempt: 2, consumer: 'i2' } })]);
  });

  test('race: an indexer is given up for dead and comes back before the thief begins: the job stays its own', async (shard) => {
    await upload(shard);
    const [i1, i2] = [new Indexer(shard), new Indexer(shard, 'i2')];
    const run = await i1.take();
    const stolen = await i2.steal();
    assert.deepEqual(await pending(shard), ['i2']);
    assert.equal(await i1.call('job_progress', run, 'PARSE', 5, '"x"'), 'ok');
    assert.deepEqual(await pending(shard), ['i1']);
    assert.equal(await i2.begin(stolen), 'gone');
    assert.equal(await i1.parsed(run), 'ok');
    await assertDocuments(shard, [parsed({ n: 1, job: { progress: 5 } })]);
  });

  test('race: two thieves: the second takes it over from the first, which hangs, and one of them runs it', async (shard) => {
    await upload(shard);
    const [i1, i2, i3] = [new Indexer(shard), new Indexer(shard, 'i2'), new Indexer(shard, 'i3')];
    await i1.take();
    const stolen = await i2.steal();
    assert.deepEqual(await i3.steal(), stolen);
    assert.equal(await i2.begin(stolen), 'gone');
    const run = await i3.begin(stolen);
    assert.equal(run.lease, '2');
    assert.equal(await i2.begin(stolen), 'gone');
    assert.equal(await i3.call('job_progress', run, 'PARSE', 5, '"x"'), 'ok');
  });

  test('race: an indexer reads an entry and hangs; the thief is quicker or it is, but one of them runs it', async (shard) => {
    await upload(shard);
    const [i1, i2] = [new Indexer(shard), new Indexer(shard, 'i2')];
    const read = await i1.read();
    const stolen = await i2.steal();
    assert.deepEqual(stolen, read);
    assert.equal((await i1.begin(read)).lease, '1');
    assert.equal(await i2.begin(stolen), 'gone');
    assert.deepEqual(await pending(shard), ['i1']);
  });

  test('without an entry it is run past the stream, and an indexer that reads the entry leaves it alone', async (shard) => {
    await upload(shard);
    const [ingest, i1] = [new Indexer(shard, 'ingest'), new Indexer(shard)];
    const run = await ingest.begin({ entry: '', job: jobId(1) });
    assert.equal(run.lease, '1');
    const read = await i1.read();
    assert.equal(read.job, jobId(1));
    assert.equal(await i1.begin(read), 'gone');
    assert.deepEqual(await pending(shard), ['i1']);
    assert.equal(await ingest.parsed(run), 'ok');
    assert.deepEqual(await pending(shard), ['ingest'], 'with its next verb it is the one that runs it');
    assert.equal(await ingest.store(run), 'ok');
    assert.deepEqual(await pending(shard), []);
    await assertDocuments(shard, [indexed({ n: 1, job: { consumer: 'ingest' } })]);
  });

  test('a job that runs past the stream is taken over when its process died, by who read the entry', async (shard) => {
    await upload(shard);
    const [ingest, i1] = [new Indexer(shard, 'ingest'), new Indexer(shard)];
    await ingest.begin({ entry: '', job: jobId(1) });
    const read = await i1.read();
    assert.equal(await i1.begin(read), 'gone');
    assert.deepEqual(await i1.steal(), read);
    const run = await i1.begin(read);
    assert.deepEqual([run.lease, run.attempt], ['2', '2']);
  });

  test('without an entry a job that an indexer runs is refused', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await new Indexer(shard, 'ingest').begin({ entry: '', job: jobId(1) }), 'gone');
    assert.equal(await i1.store(run), 'ok');
  });

  test('after three attempts that ended without a word it has failed', async (shard) => {
    await upload(shard);
    await shard.seed({ [`watchers:${ALICE}`]: zset({ n1: Date.now() + 50_000 }) });
    for (let i = 1; i <= 3; i++) {
      const indexer = new Indexer(shard, `i${i}`);
      const run = await indexer.begin((await indexer.read()) ?? (await indexer.steal()));
      assert.equal(run.attempt, String(i));
    }
    const { entry, job } = await new Indexer(shard, 'i4').steal();
    const { replies, events } = await shard.turn([['job_begin', entry, job, 'i4']]);
    assert.deepEqual(replies, ['spent']);
    const problem = '"Indexing ended without a word, in each of 3 attempts."';
    assert.ok(indexingEvent({ n: 1 }, 'index_failed', 'PARSE', 0, problem)(events[0]));
    await assertDocuments(shard, [{ n: 1, state: 'FAILED', doc: { size: 7 }, job: { stage: 'PARSE', progress: 0, error: problem, lease: 3, attempt: 3, consumer: 'i3', stolen: 'i4' } }], { [`watchers:${ALICE}`]: anything });
  });
}, BINARY);

scripts('job_steal', ({ test, cases }) => {
  cases([{ name: 'no stream yet: the group is made', call: ['job_steal', 'i1', 30_000], reply: 'none', after: { jobs: stream() } }]);

  test('nothing while its indexer is heard of', async (shard) => {
    await upload(shard);
    await new Indexer(shard).take();
    assert.equal(await new Indexer(shard, 'i2').steal(60_000), undefined);
  });

  test('the dead one behind many that run', async (shard) => {
    const i1 = new Indexer(shard);
    for (let n = 1; n <= 40; n++) await upload(shard, { n });
    const runs = [];
    for (let n = 1; n <= 40; n++) runs.push(await i1.take());
    const dead = runs[35];
    await shard.cmd('XCLAIM', shard.key('jobs'), 'indexers', 'i1', 0, dead.entry, 'IDLE', 600_000, 'JUSTID');
    assert.deepEqual(await new Indexer(shard, 'i2').steal(300_000), { entry: dead.entry, job: dead.job });
  });

  test('an entry whose job is gone goes, and the next one is looked at', async (shard) => {
    await upload(shard);
    await upload(shard, { n: 2 });
    const i1 = new Indexer(shard);
    const [first, second] = [await i1.take(), await i1.take()];
    await shard.cmd('DEL', shard.key(`job:${first.job}`));
    assert.deepEqual(await new Indexer(shard, 'i2').steal(), { entry: second.entry, job: second.job });
    assert.equal(await shard.cmd('XLEN', shard.key('jobs')), 1);
  });
}, BINARY);

scripts('job_upload, job_text, job_parsed', ({ test, cases }) => {
  cases([
    { name: 'none of them knows an unknown job', calls: [['job_upload', 'x', 1], ['job_text', 'x', 1], ['job_parsed', 'x', 1, 5, CAP, 'b']], replies: ['lost', 'lost', 'lost'] },
    { name: 'a job that waits has no lease, not even an empty one', before: () => keysOf({ n: 1 }), calls: [['job_upload', jobId(1), ''], ['job_release', jobId(1), '']], replies: ['lost', 'lost'] },
  ]);

  test('any bytes come back as they were stored', async (shard) => {
    await upload(shard, { bytes: ANY_BYTES });
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await i1.call('job_upload', run), `256:${ANY_BYTES}`);
    assert.equal(await i1.parsed(run, { blocks: [ANY_BYTES, '', 'end'], chars: 70_000 }), 'ok');
    assert.deepEqual(partsOf(await i1.call('job_text', run)), [ANY_BYTES, '', 'end']);
    assert.equal(await i1.call('job_upload', run), '', 'the bytes are not there any more');
    await assertDocuments(shard, [parsed({ n: 1, text: [1, ANY_BYTES, '', 'end'], chars: 70_000, blocks: 3, doc: { size: 256 } })]);
  });

  test('a text of no blocks, and one of 900', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await i1.parsed(run, { blocks: [], chars: 0 }), 'ok');
    assert.equal(await i1.call('job_text', run), '');
    const blocks = Array.from({ length: 900 }, (_, i) => `b${i}`);
    assert.equal(await i1.parsed(run, { blocks }), 'ok');
    assert.deepEqual(partsOf(await i1.call('job_text', run)), blocks);
    await assertDocuments(shard, [parsed({ n: 1, text: [1, ...blocks], blocks: 900 })]);
  });

  test('said twice, it is stored once', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await i1.parsed(run, { blocks: ['a longer one', 'and more'] }), 'ok');
    assert.equal(await i1.parsed(run), 'ok');
    await assertDocuments(shard, [parsed({ n: 1 })]);
  });

  test('a text past the cap is not stored; its own bytes make room for it', async (shard) => {
    await upload(shard, { bytes: 'x'.repeat(90) });
    await upload(shard, { n: 2, space: BOB });
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await i1.parsed(run, { blocks: ['y'.repeat(101)], cap: 100 }), lines('full', 90, 100));
    await assertDocuments(shard, [running({ n: 1, upload: 'x'.repeat(90) }), { n: 2, space: BOB }]);
    assert.equal(await i1.parsed(run, { blocks: ['y'.repeat(100)], cap: 100 }), 'ok');
  });

  test('while a file gets other bytes, its pack keeps the text that it points into', async (shard) => {
    await upload(shard, { space: BOOK, path: 'a' });
    const i1 = new Indexer(shard);
    await i1.index();
    await upload(shard, { n: 1, j: 2, sha: shaOf(2), space: BOOK, path: 'a', bytes: 'other' });
    const run = await i1.take();
    assert.deepEqual([run.stage, run.blocks], ['PARSE', '0']);
    assert.equal(await i1.parsed(run, { blocks: ['new text'], chars: 8 }), 'ok');
    const old = { n: 1, j: 2, space: BOOK, path: 'a', sha: shaOf(2), generation: 1, chunks: 1, model: 'hash', version: 2, oldText: [1, 'block'], doc: { size: 5 } };
    const left = { [`job:${jobId(1)}`]: ttl(HOUR_S, anything), [`recent_jobs:${BOOK}`]: zset({ [jobId(1)]: anything, [jobId(2)]: anything }) };
    await assertDocuments(shard, [parsed({ ...old, text: [3, 'new text'], chars: 8, job: { lease: 3 } })], left);
    assert.equal(await i1.store(run), 'ok');
    await assertDocuments(shard, [indexed({ ...old, oldText: undefined, generation: 3, version: 4, text: [3, 'new text'], chars: 8, job: { lease: 3 } })], left);
  });

  test('other bytes that fail twice leave the pack and its text', async (shard) => {
    await upload(shard, { space: BOOK, path: 'a' });
    const i1 = new Indexer(shard);
    await i1.index();
    for (const j of [2, 3]) {
      await upload(shard, { n: 1, j, sha: shaOf(j), space: BOOK, path: 'a', bytes: 'other' });
      const run = await i1.take();
      assert.equal(await i1.parsed(run, { blocks: [`new text ${j}`], chars: 10 }), 'ok');
      assert.equal(await i1.call('job_fail', run, '"broken"'), 'ok');
    }
    await assertDocuments(shard, [{
      n: 1, j: 3, space: BOOK, path: 'a', sha: shaOf(3), state: 'FAILED', generation: 1, chunks: 1, model: 'hash', version: 2, oldText: [1, 'block'], text: [4, 'new text 3'], chars: 10, blocks: 1,
      doc: { size: 5 }, job: { stage: 'CHUNK', progress: 0, lease: 4, attempt: 1, consumer: 'i1' },
    }], {
      [`job:${jobId(1)}`]: ttl(HOUR_S, anything), [`job:${jobId(2)}`]: ttl(HOUR_S, anything),
      [`recent_jobs:${BOOK}`]: zset({ [jobId(1)]: anything, [jobId(2)]: anything, [jobId(3)]: anything }),
    });
  });
}, BINARY);

scripts('job_progress', ({ test, cases }) => {
  cases([{ name: 'an unknown job', call: ['job_progress', 'x', 1, 'PARSE', 5, '"m"'], reply: 'lost' }]);

  test('is told to every node that watches, and renews the entry', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    const watchers = zset({ n1: Date.now() + 50_000, n2: Date.now() + 50_000, n3: Date.now() - 1 });
    await shard.seed({ [`watchers:${ALICE}`]: watchers, [`watchers:${BOB}`]: zset({ n4: Date.now() + 50_000 }) });
    await shard.cmd('XCLAIM', shard.key('jobs'), 'indexers', 'i1', 0, run.entry, 'IDLE', 600_000, 'JUSTID');
    const { replies, events } = await shard.turn([['job_progress', run.job, run.lease, 'EMBED', 40, '"12 of 30"']]);
    assert.deepEqual(replies, ['ok']);
    assert.equal(events.length, 1);
    assert.ok(indexingEvent({ n: 1 }, 'index_progress', 'EMBED', 40, '"12 of 30"')(events[0]));
    assert.equal(await new Indexer(shard, 'i2').steal(300_000), undefined);
    await assertDocuments(shard, [running({ n: 1, job: { stage: 'EMBED', progress: 40 } })], { [`watchers:${ALICE}`]: anything, [`watchers:${BOB}`]: anything });
  });

  test('race: the document is deleted while it is indexed: the next word is lost, and nothing of it is left', async (shard) => {
    const verbs = {
      job_progress: ['PARSE', 1, '"m"'], job_upload: [], job_text: [], job_parsed: [5, CAP, 'block'], job_vectors: ['abc', 0, VECTOR],
      job_store: ['hash', 4, 'exact', 1, CAP, PACK], job_fail: ['"x"'], job_release: [], job_pass: ['"m"'],
    };
    for (const [verb, args] of Object.entries(verbs)) {
      await shard.cmd('FLUSHALL');
      await upload(shard);
      const i1 = new Indexer(shard);
      const run = await i1.take();
      assert.equal(await i1.parsed(run), 'ok');
      assert.equal(await shard.call('doc_delete', 0, ALICE, docId(1)), 'ok');
      assert.equal(await i1.call(verb, run, ...args), 'lost', verb);
      await shard.assertKeys({
        jobs: stream(), meta: anything,
        [`job:${jobId(1)}`]: cancelled({ n: 1, jobState: 'RUNNING', created: ago(), job: { stage: 'CHUNK', attempt: 1, lease: 1, consumer: 'i1', entry: anything } }),
      });
      assert.ok(GONE_JOB.includes(await i1.begin(run)));
    }
  });
}, BINARY);

scripts('job_store', ({ test, cases }) => {
  cases([{ name: 'an unknown job', call: ['job_store', 'x', 1, 'hash', 4, 'exact', 1, CAP, PACK], reply: 'lost' }]);
  const reindex = (shard, n, j, space = ALICE) => shard.call('doc_reindex', 0, space, docId(n), jobId(j));

  test('what is stored can be searched, the entry is gone, and who watches is told', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    await shard.seed({ [`watchers:${ALICE}`]: zset({ n1: Date.now() + 50_000 }) });
    const pack = packOf([0, 3], [3, 5]);
    const { replies, events } = await shard.turn([['job_store', run.job, run.lease, 'hash', 4, 'exact', 2, CAP, pack]]);
    assert.deepEqual(replies, ['ok']);
    assert.ok(indexingEvent({ n: 1 }, 'index_complete', 'STORE', 100, '"2 passages can be searched."')(events[0]));
    await assertDocuments(shard, [indexed({ n: 1, pack, chunks: 2 })], { [`watchers:${ALICE}`]: anything });
    assert.deepEqual(await pending(shard), []);
  });

  test('said twice after a lost reply it is ok, and counts once', async (shard) => {
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

  test('its bytes go, and who watches is told why; said twice it is ok', async (shard) => {
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
  test('the job waits outside the stream with all its attempts, and who watches is told why', async (shard) => {
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
    assert.equal(await shard.get(`upload:${docId(1)}`), 'bytes 1');
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

  test('the longest waiting job is begun by one of those who were told it, and is in the stream then', async (shard) => {
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

scripts('job_vectors', ({ test }) => {
  const vectorTest = (name, body) => test(name, withVectorSets(body));
  const key = `vectors:${ALICE}:abc`;
  const elements = async (shard) => ((await shard.cmd('EXISTS', shard.key(key))) ? shard.cmd('VCARD', shard.key(key)) : 0);

  test('a server without vector sets refuses them, and what was to be stored is known', withoutVectorSets(async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    assert.match(String(await i1.vectors(await i1.take())), /^Error: ERR job_vectors/);
    assert.equal((await shard.get(`job:${jobId(1)}`)).vectors_n, '1');
  }));

  vectorTest('are stored under the lease, and the document says where once it is stored', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    assert.equal(await i1.vectors(run, { vectors: [vectorOf(1, 0, 0, 0), vectorOf(0, 1, 0, 0)] }), 'ok');
    assert.equal(await i1.vectors(run, { first: 2, vectors: [vectorOf(0, 0, 1, 0)] }), 'ok');
    assert.equal(await i1.vectors(run, { first: 0, vectors: [vectorOf(1, 0, 0, 0)] }), 'ok', 'again, after a lost reply');
    assert.equal(await elements(shard), 3);
    assert.equal(await i1.store(run, { vectors: 'set', chunks: 3 }), 'ok');
    assert.equal((await shard.get(`doc:${docId(1)}`)).vectors, 'abc');
    assert.equal((await shard.get(`job:${jobId(1)}`)).vectors_n, '3');
    await assertDocuments(shard, [indexed({ n: 1, vectors: 'abc', chunks: 3, job: { digest: 'abc', vectors_n: 3 } })], { [key]: anything });
  });

  vectorTest('count for the owner with what they take, as far as one can tell beforehand', async (shard) => {
    const N = 1000;
    const DIMENSION = 256;
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    const used = async () => Number(/^used_memory:(\d+)/m.exec(await shard.cmd('INFO', 'memory'))[1]);
    const before = await used();
    for (let first = 0; first < N; first += 8) {
      const vectors = Array.from({ length: 8 }, () => vectorOf(...Array.from({ length: DIMENSION }, () => Math.random() - 0.5)));
      assert.equal(await i1.vectors(run, { first, vectors }), 'ok');
    }
    const taken = (await used()) - before;
    assert.equal(await i1.store(run, { vectors: 'set', dimension: DIMENSION, chunks: N, cap: 1e7 }), 'ok');
    const counted = Number((await shard.get(`space:${ALICE}`)).bytes) - PACK.length - 'block'.length;
    assert.equal(counted, elementsBytes(N, DIMENSION));
    assert.ok(counted > 0.75 * taken && counted < 1.25 * taken, `${counted} bytes are counted, ${taken} are taken`);
  });

  vectorTest('past the cap are not stored; those of the old indexing make room', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    await i1.vectors(run, { vectors: [VECTOR, VECTOR] });
    const cap = PACK.length + 'block'.length + elementsBytes(2);
    assert.equal(await i1.store(run, { vectors: 'set', chunks: 2, cap: cap - 1 }), lines('full', 5, cap - 1));
    assert.equal(await i1.store(run, { vectors: 'set', chunks: 2, cap }), 'ok');
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(2));
    await i1.index({ vectors: 'set', chunks: 2, cap });
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(3));
    await i1.index({ vectors: 'exact', cap });
    assert.equal((await shard.get(`space:${ALICE}`)).bytes, String(PACK.length + 5), 'vectors in the pack are counted with it');
  });

  vectorTest('of a job that is taken over, released or failed go', async (shard) => {
    await upload(shard);
    const [i1, i2] = [new Indexer(shard), new Indexer(shard, 'i2')];
    const first = await i1.take();
    await i1.vectors(first);
    const second = await i2.begin(await i2.steal());
    await i2.vectors(second, { vectors: [VECTOR, VECTOR] });
    await i2.call('job_release', second);
    const third = await i1.take();
    await i1.vectors(third, { vectors: [VECTOR, VECTOR, VECTOR] });
    await i1.call('job_fail', third, '"x"');
    const trash = [1, 2, 3].map((n) => `vectors:${ALICE}:abc ${docId(1)} ${n} ${n}`);
    assert.deepEqual((await shard.get('trash')).value, trash);
    assert.equal(await shard.call('sweep', 2), '2');
    assert.deepEqual((await shard.get('trash')).value, [trash[1].replace(/2$/, '1'), trash[2]]);
    assert.equal(await shard.call('sweep', 100), '4');
    assert.equal(await elements(shard), 0);
    assert.equal(await shard.get('trash'), undefined);
  });

  vectorTest('of the old indexing go when the new one is stored', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    await i1.index({ vectors: 'set', chunks: 2 });
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(2));
    await i1.index({ vectors: 'set', chunks: 3 });
    assert.equal(await elements(shard), 5);
    assert.equal(await shard.call('sweep', 100), '2');
    assert.equal(await elements(shard), 3);
  });

  vectorTest('of a deleted document go', async (shard) => {
    await upload(shard);
    await new Indexer(shard).index({ vectors: 'set', chunks: 7 });
    await shard.call('doc_delete', 0, ALICE, docId(1));
    assert.equal(await shard.call('sweep', 100), '7');
    assert.equal(await elements(shard), 0);
  });
}, BINARY);

scripts('sweep', ({ cases, test }) => {
  cases([
    { name: 'nothing is there', call: ['sweep', 10], reply: '0' },
    {
      name: 'elements of a vector set that is gone are gone',
      before: { trash: list(`vectors:${ALICE}:abc ${docId(1)} 3 500`, `vectors:${ALICE}:abc ${docId(2)} 4 500`) },
      call: ['sweep', 10],
      reply: '0',
      after: { trash: null },
    },
  ]);

  test('where no indexer ever sweeps, a deletion takes some of the oldest along', withVectorSets(async (shard) => {
    await shard.cmd('RPUSH', shard.key('trash'), ...Array.from({ length: 1000 }, (_, i) => `vectors:${BOB}:abc ${docId(i)} 3 2`));
    await shard.cmd('VADD', shard.key(`vectors:${BOB}:abc`), 'FP32', VECTOR, 'kept');
    await upload(shard);
    await new Indexer(shard).index({ vectors: 'set', chunks: 7 });
    await shard.call('doc_delete', 0, ALICE, docId(1));
    assert.equal(await shard.cmd('LLEN', shard.key('trash')), 951);
  }));
}, BINARY);
