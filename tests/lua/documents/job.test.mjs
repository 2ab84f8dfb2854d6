// SPDX-License-Identifier: MIT
//
// job_begin to job_progress: one job while it runs, whichever process dies.
import assert from 'node:assert/strict';
import { ago, anything, lines, scripts, stream, ttl, zset } from '../../support/lua.mjs';
import { ALICE, ANY_BYTES, assertDocuments, BINARY, BOB, BOOK, cancelled, CAP, docId, GONE_JOB, HOUR_S, indexed, Indexer, indexingEvent, jobId, keysOf, PACK, parsed, partsOf, pending, running, shaOf, upload, VECTOR } from '../../support/lua_documents.mjs';

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
    assert.deepEqual(partsOf(await i1.call('job_text', run, 0)), ['', 'block']);
  });

  test('race: an indexer dies; another one takes its job, continues with the stored text, and the first gets `lost`', async (shard) => {
    await upload(shard);
    const [i1, i2] = [new Indexer(shard), new Indexer(shard, 'i2')];
    const first = await i1.take();
    assert.equal(await i1.parsed(first), 'ok');
    const second = await i2.begin(await i2.steal());
    assert.deepEqual([second.lease, second.attempt, second.stage, second.blocks], ['2', '2', 'CHUNK', '1']);
    assert.equal(await i1.call('job_upload', first), 'lost');
    assert.equal(await i1.call('job_text', first, 0), 'lost');
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

  test('the dead one after many that run', async (shard) => {
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
    { name: 'none of them knows an unknown job', calls: [['job_upload', 'x', 1], ['job_text', 'x', 1, 0], ['job_parsed', 'x', 1, 5, CAP, '', 1, 'b']], replies: ['lost', 'lost', 'lost'] },
    { name: 'a job that waits has no lease, not even an empty one', before: () => keysOf({ n: 1 }), calls: [['job_upload', jobId(1), ''], ['job_release', jobId(1), '']], replies: ['lost', 'lost'] },
  ]);

  test('any bytes come back as they were stored', async (shard) => {
    await upload(shard, { bytes: ANY_BYTES });
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await i1.call('job_upload', run), 'list');
    assert.deepEqual((await shard.get(`upload:${docId(1)}`)).value, [ANY_BYTES]);
    assert.equal(await i1.parsed(run, { blocks: [ANY_BYTES, '', 'end'], chars: 70_000 }), 'ok');
    assert.deepEqual(partsOf(await i1.call('job_text', run, 0)), ['', ANY_BYTES, '', 'end']);
    assert.deepEqual(partsOf(await i1.call('job_text', run, 1)), ['', 'end']);
    assert.equal(await i1.call('job_upload', run), 'none', 'the bytes are not there any more');
    await assertDocuments(shard, [parsed({ n: 1, text: [1, ANY_BYTES, '', 'end'], chars: 70_000, blocks: 3, doc: { size: 256 } })]);
  });

  test('a text of no blocks, and one of 900', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await i1.parsed(run, { blocks: [], chars: 0 }), 'ok');
    assert.deepEqual(partsOf(await i1.call('job_text', run, 0)), ['']);
    assert.equal(await i1.call('job_text', run, 1), '');
    const blocks = Array.from({ length: 900 }, (_, i) => `b${i}`);
    assert.equal(await i1.parsed(run, { blocks }), 'ok');
    assert.deepEqual(partsOf(await i1.call('job_text', run, 0)), ['', ...blocks]);
    await assertDocuments(shard, [parsed({ n: 1, text: [1, ...blocks], blocks: 900 })]);
  });

  test('pages come back before the text, count for the space and go with the text', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    assert.equal(await i1.parsed(run, { pages: ANY_BYTES, cap: 260 }), `full\n7\n260`);
    assert.equal(await i1.parsed(run, { pages: ANY_BYTES }), 'ok');
    assert.deepEqual(partsOf(await i1.call('job_text', run, 0)), [ANY_BYTES, 'block']);
    assert.equal((await shard.get(`doc:${docId(1)}`)).text_bytes, '261');
    assert.equal(await i1.parsed(run), 'ok');
    assert.deepEqual(partsOf(await i1.call('job_text', run, 0)), ['', 'block']);
    await assertDocuments(shard, [parsed({ n: 1 })]);
  });

  test('a repeated call stores it once', async (shard) => {
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

  test('is reported to every watching node, and renews the entry', async (shard) => {
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
      job_progress: ['PARSE', 1, '"m"'], job_upload: [], job_text: [0], job_parsed: [5, CAP, '', 1, 'block'], job_vectors: ['abc', 0, VECTOR],
      job_store: ['hash', 4, 'exact', 1, CAP, 1, PACK], job_fail: ['"x"'], job_release: [], job_pass: ['"m"'],
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
