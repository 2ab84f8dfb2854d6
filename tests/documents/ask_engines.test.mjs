// SPDX-License-Identifier: MIT
//
// POST /ask and the engines that are there, leave, hang up or rest: a client learns at once that nobody will answer;
// and what strangers may have waiting. The patience of the nodes is far longer than any of it.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { gate, openLibrary } from '../support/asking.mjs';
import { withEngines } from '../support/engines.mjs';
import { assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { keysOfAll, prefixesOf, SHARDS, sumOfAll } from '../support/shards.mjs';

const BOOK = { 'leases.md': '# Leases\n\nA lease lasts 150 seconds unless a setting says otherwise.\n' };
const QUESTION = 'How long does a lease last?';
const PUBLIC_MAX_WAITING = 3 * SHARDS; // divided by the number of shards
const PATIENT = ['--ask-seconds', '600', '--trusted-proxies', '127.0.0.1', '--public-max-waiting', String(PUBLIC_MAX_WAITING)];

suite('ask and the engines that are there', { args: PATIENT, threads: 2, sweep: false }, ({ test, cluster }) => {
  let library;
  let asked = 0;
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('c:public', BOOK);
  });
  after(() => library?.close());

  const ask = (question = QUESTION, more = {}) =>
    cluster.open('POST', '/ask', { headers: { 'X-Forwarded-For': `192.0.2.${(asked += 1) % 250}` }, body: { question, ...more } });
  const response = (question, more) => ask(question, more).response;
  const idle = () => eventually(async () => (await sumOfAll(cluster.redis, 'ZCARD', 'idle')) > 0, { what: 'an engine waits' });
  const engines = async () => assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Engines;
  // A node reports an engine a moment after its poll: one that leaves before that was never there.
  const known = () => eventually(async () => (await engines()).length > 0, { what: 'the cluster knows of it' });

  test('the last engine has left by SIGTERM, after it has answered: 503 at once, and it names the cause', () =>
    withEngines(cluster, async ({ start }) => {
      const engine = await start(['--slots', 2]);
      await idle();
      for (let i = 1; i <= 3; i += 1) assertOk(await response(QUESTION, { top_k: i }));
      assert.ok((await engines()).length > 0);
      await engine.stop();
      assert.deepEqual(await engines(), [], 'it is not listed any more');
      for (const top_k of [4, 5]) {
        const refused = await response(QUESTION, { top_k });
        assert.match(assertProblem(refused, 503, 'no_engine').detail, /No engine is connected: start one/);
        assert.ok(Number(refused.headers['retry-after']) >= 1);
      }
      // Of several shards it may have been queued; it is taken out once it has been answered.
      await eventually(async () => (await library.questions()).length === 0, { what: 'none is in the queue' });
    }));

  test('an engine that just hangs up is not waited for longer than it takes to poll again', async () => {
    const poll = cluster.claimOpen({ wait: 60, node: 0 });
    await idle();
    await known();
    poll.abort();
    await eventually(async () => (await sumOfAll(cluster.redis, 'ZCARD', 'idle')) === 0, { what: 'its poll is gone' });
    assertProblem(await cluster.request('POST', '/ask', { node: 1, body: { question: QUESTION } }), 503, 'no_engine');
    // The node takes it out with what else it sends in that turn of its loop, once it has answered.
    await eventually(async () => (await library.questions()).length === 0, { what: 'it is taken out of the queue' });
  });

  test('an engine between two polls gets the question', async () => {
    const poll = cluster.claimOpen({ wait: 60, node: 0 });
    await idle();
    await known();
    poll.abort();
    await eventually(async () => (await sumOfAll(cluster.redis, 'ZCARD', 'idle')) === 0, { what: 'its poll is gone' });
    const waiting = ask();
    await eventually(async () => (await library.questions()).length === 1, { what: 'it is in the queue' });
    const { Topic, Queries, Lease } = await cluster.claim({ wait: 20, detail: true });
    await cluster.answer({ Topic, Seq: 1, Query: Queries[0][1], Lease, Answer: ['150 seconds [1].'] });
    assert.equal(assertOk(await waiting.response).answer, '150 seconds [1].');
  });

  test('while every engine rests for long: 503 at once, with the time when the first one is back', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      llm.behave({ status: 429, retryAfter: 100 });
      const engine = await start([...model, '--slots', 1]);
      await idle();
      const { Topic } = await cluster.add({ Query: 'What makes it rest?' });
      await eventually(async () => (await engines()).some(({ RestingUntil }) => RestingUntil !== null), { what: 'it rests' });
      assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq: 1 } }));
      // Others of this file were seen recently: only who rests is left.
      for (const key of keysOfAll('engines')) {
        for (const name of await cluster.redis.cmd('HKEYS', key)) if (name.endsWith(' -')) await cluster.redis.cmd('HDEL', key, name);
      }
      const refused = await response(QUESTION, { top_k: 6 });
      assert.match(assertProblem(refused, 503, 'no_engine').detail, /Every engine is resting/);
      const seconds = Number(refused.headers['retry-after']);
      assert.ok(seconds > 50 && seconds <= 101, `${seconds}`);
      await engine.stop();
    }));

  test('strangers may have only so many questions waiting, on all nodes together; the same one counts once', () =>
    withEngines(cluster, async ({ start, llm, model }) => {
      const { hold, open } = gate();
      llm.behave({ hold, text: 'So [1].' });
      await start([...model, '--slots', 1]);
      await idle();
      const busy = await cluster.add({ Query: 'What keeps it busy?' });
      await eventually(() => llm.requests.length > 0, { what: 'it is busy' });
      // Each shard has its part of the places: which one a question takes shows once it is in the queue.
      const waiting = [];
      const isFull = async () => (await library.questions()).length === PUBLIC_MAX_WAITING;
      let number = 0;
      const fill = async () => {
        const refusals = [];
        while (!(await isFull())) {
          const before = (await library.questions()).length;
          const one = ask(`${QUESTION} ${'lease '.repeat((number += 1))}`);
          const isIn = eventually(async () => (await library.questions()).length > before, { what: 'it is in the queue, or refused' });
          const refused = await Promise.race([one.response, isIn.then(() => undefined)]);
          isIn.catch(() => {});
          if (refused) refusals.push(refused);
          else waiting.push(one);
        }
        return refusals;
      };
      const early = await fill();
      assert.equal(waiting.length, PUBLIC_MAX_WAITING);
      if (SHARDS === 1) assert.deepEqual(early, [], 'one shard has all places');
      for (const word of ['last', 'setting']) early.push(await response(`${QUESTION} ${word}`));
      for (const refused of early) {
        assertProblem(refused, 503, 'queue_full');
        assert.ok(Number(refused.headers['retry-after']) >= 1);
      }
      for (const prefix of prefixesOf()) assert.equal(await cluster.redis.cmd('ZCARD', `${prefix}asks`), 3, `${prefix} has its part`);
      waiting.push(ask(`${QUESTION} ${'lease '}`));
      waiting.splice(1, 1)[0].abort();
      await eventually(async () => !(await isFull()), { what: 'one has left' });
      await fill();
      open();
      for (const { response: answered } of waiting) assertOk(await answered);
      assertOk(await response(`${QUESTION} otherwise`));
      await cluster.check({ Topic: busy.Topic, wait: 20 });
    }));
});
