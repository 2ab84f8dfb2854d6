// SPDX-License-Identifier: MIT
//
// watch_indexing, watch_indexing_again, unwatch_indexing: who is notified of a space's jobs.
import assert from 'node:assert/strict';
import { lines, scripts, soon, ttl, zset } from '../../support/lua.mjs';
import { ALICE, BOB, docId, docOf, Indexer, indexingEvent, jobId, jobOf, keysOf, upload } from '../../support/lua_documents.mjs';

const WATCH_S = 60;
const watch = (space = ALICE) => ['watch_indexing', 0, space];
const key = `watchers:${ALICE}`;
const watching = (...nodes) => ttl(WATCH_S, zset(Object.fromEntries(nodes.map((node) => [node, soon(WATCH_S * 1000)]))));
const reported = (given) => {
  const [doc, job] = [docOf(given), jobOf(given)];
  return lines(jobId(given.j ?? given.n), docId(given.n), job.status, job.stage, job.progress, job.error, job.updated, doc.filename);
};

scripts('watch_indexing', ({ cases, test, shard }) => {
  const queued = { n: 1 };
  const done = { n: 2, state: 'INDEXED', recent: Date.now() + 1_000_000 };
  const failed = { n: 3, state: 'FAILED', recent: Date.now() + 2_000_000 };
  cases([
    { name: 'a space without jobs', call: watch(), reply: lines('ok', 0), after: { [key]: watching('n1') } },
    { name: 'what is under way and what has just ended', before: () => keysOf(queued, done, failed), call: watch(), reply: lines('ok', 3, reported(done), reported(failed), reported(queued)), after: { [key]: watching('n1') } },
    { name: 'nothing of another owner', before: () => keysOf({ n: 1, space: BOB }), call: watch(), reply: lines('ok', 0), after: { [key]: watching('n1') } },
    {
      name: 'what ended more than an hour ago is left out, and dropped',
      before: () => keysOf(queued, { ...done, recent: Date.now() - 5 }),
      call: watch(),
      reply: lines('ok', 1, reported(queued)),
      after: { [key]: watching('n1'), [`recent_jobs:${ALICE}`]: (found) => Object.keys(found).join() === jobId(1) },
    },
    {
      name: 'a job whose hash is gone is left out',
      before: () => ({ ...keysOf(queued), [`recent_jobs:${ALICE}`]: zset({ [jobId(1)]: 9e12, [jobId(7)]: 8e12 }) }),
      call: watch(),
      reply: lines('ok', 1, reported(queued)),
      after: { [key]: watching('n1') },
    },
    { name: 'nodes that have not said so for a minute are dropped', before: () => ({ [key]: ttl(WATCH_S, zset({ n2: 5, n3: Date.now() + WATCH_S * 1000 })) }), call: watch(), reply: lines('ok', 0), after: { [key]: watching('n1', 'n3') } },
    { name: 'again: it is renewed', before: () => ({ [key]: ttl(5, zset({ n1: Date.now() + 5000 })) }), call: ['watch_indexing_again', ALICE], reply: 'ok', after: { [key]: watching('n1') } },
    { name: 'again, after Redis forgot it', call: ['watch_indexing_again', ALICE], reply: 'ok', after: { [key]: watching('n1') } },
    { name: 'no more: this node hears nothing, others do', before: () => ({ [key]: ttl(WATCH_S, zset({ n1: Date.now() + 60_000, n2: Date.now() + 60_000 })) }), call: ['unwatch_indexing', ALICE], reply: 'ok', after: { [key]: watching('n2') } },
    { name: 'no more, without having watched', call: ['unwatch_indexing', ALICE], reply: 'ok' },
  ]);

  test('every event of a document, on both nodes that watch its owner, and on no other', async () => {
    for (const node of ['n2', 'n3']) await shard.ears.add(node);
    try {
      await shard.turn([watch()], { node: 'n2' });
      await shard.turn([watch(BOB)], { node: 'n3' });
      await upload(shard, { bytes: 'x' });
      const i1 = new Indexer(shard);
      const run = await i1.take();
      await i1.call('job_progress', run, 'PARSE', 10, '"Reading"');
      await i1.parsed(run);
      await i1.store(run);
      const heard = await shard.ears.take();
      assert.deepEqual(heard.map(([channel]) => channel), ['node:n2', 'node:n2']);
      assert.ok(indexingEvent({ n: 1 }, 'index_progress', 'PARSE', 10, '"Reading"')(heard[0][1]));
      assert.ok(indexingEvent({ n: 1 }, 'index_complete', 'STORE', 100, '"1 passage can be searched."')(heard[1][1]));
      await shard.turn([['unwatch_indexing', ALICE]], { node: 'n2' });
      await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(2));
      await i1.call('job_progress', await i1.take(), 'CHUNK', 10, '"x"');
      assert.deepEqual(await shard.ears.take(), []);
    } finally {
      for (const node of ['n2', 'n3']) await shard.ears.remove(node);
    }
  });

  test('a nonce that was used before', async () => {
    const { replies } = await shard.turn([['nonce', 1], ['watch_indexing', 2, ALICE]], { nonces: ['nonce-0000000001', 'nonce-0000000001'] });
    assert.deepEqual(replies, ['ok', 'replay']);
    assert.equal(await shard.get(key), undefined);
  });
});
