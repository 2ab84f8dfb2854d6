// SPDX-License-Identifier: MIT
//
// Whose job is next: spaces take turns, and no job is lost on the way.
import assert from 'node:assert/strict';
import { scripts, zset } from '../../support/lua.mjs';
import { ALICE, BINARY, BOB, docId, Indexer, jobId, upload } from '../../support/lua_documents.mjs';

const queued = async (shard, space) => (await shard.cmd('ZCARD', shard.key(`queued_jobs:${space}`)));
const rest = (shard) => shard.names().then((names) => names.filter((name) => /^(job_turns|queued_jobs:.*|account_turns|queued_turns:.*|delayed_jobs)$/.test(name)));

scripts('jobs of several spaces', ({ test }) => {
  test('fifty files of one owner do not delay another owner\'s one', async (shard) => {
    for (let n = 1; n <= 50; n++) await upload(shard, { n });
    await upload(shard, { n: 51, space: BOB });
    const i1 = new Indexer(shard);
    const began = [];
    for (let i = 0; i < 51; i++) began.push((await i1.take()).job);
    assert.ok(began.indexOf(jobId(51)) <= 1, `it was number ${began.indexOf(jobId(51)) + 1}`);
    assert.deepEqual([...began].sort(), Array.from({ length: 51 }, (_, i) => jobId(i + 1)));
    assert.deepEqual(await rest(shard), []);
  });

  test('spaces take turns, each in the order of its uploads', async (shard) => {
    for (let n = 1; n <= 3; n++) await upload(shard, { n });
    for (let n = 4; n <= 6; n++) await upload(shard, { n, space: BOB });
    const i1 = new Indexer(shard);
    const began = [];
    for (let i = 0; i < 6; i++) began.push((await i1.take()).space);
    assert.deepEqual(began, [ALICE, BOB, ALICE, BOB, ALICE, BOB]);
  });

  test('files of fifty owners of one account do not delay the file of another account\'s owner', async (shard) => {
    for (let n = 1; n <= 50; n++) await upload(shard, { n, space: `o:user${n}`, account: 'greedy' });
    await upload(shard, { n: 51, space: BOB, account: 'other' });
    const i1 = new Indexer(shard);
    const began = [];
    for (let i = 0; i < 51; i++) began.push((await i1.take()).job);
    assert.ok(began.indexOf(jobId(51)) <= 1, `it was number ${began.indexOf(jobId(51)) + 1}`);
    assert.deepEqual(began.filter((job) => job !== jobId(51)), Array.from({ length: 50 }, (_, i) => jobId(i + 1)));
    assert.deepEqual(await rest(shard), []);
  });

  test('accounts take turns, then the owners of one account, each in the order of its uploads', async (shard) => {
    const files = [['F', ALICE], ['F', ALICE], ['F', ALICE], ['F', BOB], ['F', BOB], ['G', 'o:eve'], ['G', 'o:eve']];
    for (const [i, [account, space]] of files.entries()) await upload(shard, { n: i + 1, space, account });
    const i1 = new Indexer(shard);
    const began = [];
    for (let i = 0; i < files.length; i++) began.push((await i1.take()).job);
    assert.deepEqual(began, [1, 6, 4, 7, 2, 5, 3].map(jobId));
    assert.deepEqual(await rest(shard), []);
  });

  test('a job that waits for its account\'s turn and is deleted, or run past the stream, holds up nobody', async (shard) => {
    for (let n = 1; n <= 4; n++) await upload(shard, { n, space: `o:user${n}`, account: 'F' });
    assert.equal(await shard.call('doc_delete', 0, 'o:user2', docId(2)), 'ok');
    assert.equal((await new Indexer(shard, 'ingest').begin({ entry: '', job: jobId(3) })).job, jobId(3));
    assert.equal(await shard.call('doc_delete', 0, 'o:user1', docId(1)), 'ok');
    const i1 = new Indexer(shard);
    const words = [];
    for (let read; (read = await i1.read());) words.push([read.job, typeof (await i1.begin(read)) === 'string']);
    assert.deepEqual(words.sort(), [[jobId(3), true], [jobId(4), false]]);
    assert.deepEqual(await rest(shard), []);
  });

  test('a job that is deleted gives its turn to the next one of its space; one that waits leaves the queue', async (shard) => {
    for (let n = 1; n <= 3; n++) await upload(shard, { n });
    assert.equal(await shard.call('doc_delete', 0, ALICE, docId(1)), 'ok');
    assert.equal(await queued(shard, ALICE), 1);
    assert.equal(await shard.call('doc_delete', 0, ALICE, docId(3)), 'ok');
    assert.equal(await queued(shard, ALICE), 0);
    assert.equal((await new Indexer(shard).take()).job, jobId(2));
    assert.deepEqual(await rest(shard), []);
  });

  test('a job that waits may be run past the stream; the others keep their turns', async (shard) => {
    for (let n = 1; n <= 3; n++) await upload(shard, { n });
    const run = await new Indexer(shard, 'ingest').begin({ entry: '', job: jobId(2) });
    assert.equal(run.job, jobId(2));
    const i1 = new Indexer(shard);
    const words = [];
    for (let read; (read = await i1.read());) words.push([read.job, typeof (await i1.begin(read)) === 'string']);
    assert.deepEqual(words.sort(), [[jobId(1), false], [jobId(2), true], [jobId(3), false]]);
    assert.deepEqual(await rest(shard), []);
  });

  test('a job that is given back stands before the younger ones of its space', async (shard) => {
    for (let n = 1; n <= 3; n++) await upload(shard, { n });
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await shard.cmd('HSET', shard.key(`job:${run.job}`), 'created', 1);
    assert.equal(await i1.call('job_release', run), 'ok');
    assert.deepEqual([(await i1.take()).job, (await i1.take()).job, (await i1.take()).job], [jobId(2), jobId(1), jobId(3)]);
  });

  test('the cost of a verb does not grow with the jobs that wait', async (shard) => {
    // The least that a job took of 50: a machine that does other things takes longer over some of them, not over each.
    const time = async (n) => {
      const i1 = new Indexer(shard);
      let least = Infinity;
      for (let i = 0; i < 50; i++) {
        await shard.cmd('CONFIG', 'RESETSTAT');
        await upload(shard, { n: n + i });
        const run = await i1.take();
        assert.equal(await i1.call('job_fail', run, '"x"'), 'ok');
        least = Math.min(least, Number(/cmdstat_fcall:calls=\d+,usec=(\d+)/.exec(await shard.cmd('INFO', 'commandstats'))[1]));
      }
      return least;
    };
    for (let n = 1; n <= 100; n++) await upload(shard, { n });
    const few = await time(10_001);
    for (let n = 101; n <= 5_000; n++) await upload(shard, { n });
    const many = await time(20_001);
    assert.ok(many < 3 * few, `${few} µs with 100 jobs, ${many} µs with 5,000`);
  });
}, BINARY);

scripts('a job that is given back for later', ({ test }) => {
  test('it waits, with all its attempts, until it is due', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await shard.seed({ [`watchers:${ALICE}`]: zset({ n1: Date.now() + 50_000 }) });
    const { replies, events } = await shard.turn([['job_release', run.job, run.lease, 600_000, '"No process can be started."']]);
    assert.deepEqual(replies, ['ok']);
    assert.equal(events.length, 1);
    const [doc, job] = [await shard.get(`doc:${docId(1)}`), await shard.get(`job:${jobId(1)}`)];
    assert.deepEqual([doc.status, job.status, job.entry, job.attempt, job.lease], ['QUEUED', 'QUEUED', '', '0', '']);
    assert.equal(await i1.steal(), undefined);
    assert.equal(await i1.read(), undefined);
    await shard.cmd('ZADD', shard.key('delayed_jobs'), 1, jobId(1));
    assert.equal(await i1.steal(), undefined);
    assert.equal((await i1.take()).attempt, '1');
    assert.deepEqual(await rest(shard), []);
  });

  test('it may be run past the stream meanwhile, or be deleted', async (shard) => {
    for (let n = 1; n <= 2; n++) await upload(shard, { n });
    const i1 = new Indexer(shard);
    for (const run of [await i1.take(), await i1.take()]) assert.equal(await i1.call('job_release', run, 1, '"m"'), 'ok');
    assert.equal((await new Indexer(shard, 'ingest').begin({ entry: '', job: jobId(1) })).attempt, '1');
    assert.equal(await shard.call('doc_delete', 0, ALICE, docId(2)), 'ok');
    assert.deepEqual(await rest(shard), []);
  });
}, BINARY);
