// SPDX-License-Identifier: MIT
//
// When clients of /v1 are to try again, and errors of engines that are none.
import assert from 'node:assert/strict';
import { openEngine } from '../support/engine_socket.mjs';
import { assertOk, assertOpenaiError, assertProblem, suite } from '../support/harness.mjs';
import { ask, deltaOf, engineOf, openChat } from '../support/openai.mjs';
import { keysOfAll, SHARDS } from '../support/shards.mjs';

const MESSAGES = [{ role: 'user', content: 'What?' }];

suite('when to try again', {}, ({ test, cluster }) => {
  test('an error with a status that is no error is refused and stores nothing, and a good one passes', async () => {
    const engine = await engineOf(cluster);
    const response = ask(cluster, 'POST', '/v1/chat/completions', { body: { model: 'llama3', messages: MESSAGES } });
    await engine.take(engine.parked);
    const many = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`m${i}`, 1]));
    assertProblem(await engine.refuse({ status: 400, ...many }), 400, 'bad_request');
    for (const status of [200, 399, 600, 1e9, -400, 400.5, '400', true, [400]])
      assert.match(assertProblem(await engine.refuse({ status, message: 'No.' }), 400, 'bad_request').detail, /Error.*400 to 599/, JSON.stringify(status));
    assertOk(await engine.give(deltaOf({ content: 'still' }))); // it has its claim
    assertOk(await engine.refuse({ status: 500, message: 'No.' }));
    assert.equal((await response).status, 500);
  });

  test('one in a frame of the engine\'s socket, too', async () => {
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const claim = await engine.claim();
    assert.equal(claim.Topic, Topic);
    const { Status, Body } = await engine.ask({ Type: 'release', Topic, Lease: claim.Lease, Reason: 'no', Retry: false, Error: { status: 200 } });
    assert.equal(Status, 400);
    assert.match(Body.detail, /400 to 599/);
    await engine.answer(claim, ['Still mine.']);
    assert.deepEqual((await cluster.checkRaw({ Topic, Seq: 1 })).json.Answer, ['Still mine.']);
    await engine.close();
  });

  test('a wait that is longer than clients obey is cut to a minute, in both headers', async () => {
    const as = { as: 'Frontend_small', headers: { 'x-parley-user': 'bob' } }; // max_waiting: 3, on each shard
    const engine = await engineOf(cluster);
    const first = openChat(cluster, { model: 'llama3', messages: MESSAGES }, as);
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'ok' }, { finish_reason: 'stop' })]));
    await (await first).whole();
    for (const key of keysOfAll(`stat:${Math.floor(Date.now() / 60_000)}`)) await cluster.redis.cmd('HSET', key, 'done', 1);
    const waiting = await Promise.all(
      Array.from({ length: 3 * SHARDS + 1 }, (_, i) => openChat(cluster, { model: 'llama3', messages: [...MESSAGES, { role: 'user', content: `${i}` }] }, as)),
    );
    try {
      for (const stream of waiting) await stream.head();
      const refused = await waiting.find(({ status }) => status !== 200).whole();
      assertOpenaiError({ ...refused, json: JSON.parse(refused.text) }, 429, 'rate_limit_exceeded');
      assert.equal(refused.headers['retry-after'], '60');
      assert.equal(refused.headers['retry-after-ms'], '60000');
    } finally {
      for (const stream of waiting) stream.abort();
    }
  });
});
