// SPDX-License-Identifier: MIT
//
// A model server that misbehaves in all the ways of a table: what is stored, why, and after how many requests. All ways share
// one stack, and run at the same time.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before } from 'node:test';
import { startEngine } from '../support/engines.mjs';
import { assertOk, newTopic, suite } from '../support/harness.mjs';
import { CHATS } from '../support/odd_chats.mjs';
import { startOdd } from '../support/odd_server.mjs';

const ATTEMPTS = 2;
const EXCHANGES = new Map(CHATS.map(([name, exchange]) => [name, exchange]));

suite('a model server that misbehaves', { sweep: false, args: ['--max-attempts', ATTEMPTS] }, ({ test, cluster }) => {
  const topics = new Map(CHATS.map(([name]) => [name, newTopic()]));
  const [failing, mixed] = [newTopic(), newTopic()];
  // Names of its own, which count on their own.
  const one = (name) => `${name} in one claim`;
  let odd;
  let engine;
  let ended; // rejects once the engine has ended
  const outcome = (Topic, Seq = 1) => Promise.race([cluster.check({ Topic, Seq, wait: 60, detail: true }), ended]);

  const start = async (...args) => {
    engine = await startEngine(cluster, ['--llm', odd.url, '--model', 'odd', ...args]);
    const begun = engine;
    ended = once(begun.child, 'exit').then(() => Promise.reject(new Error(`the engine has ended: ${begun.stderr.slice(-3000)}`)));
    ended.catch(() => {});
  };

  before(async () => {
    odd = await startOdd({ chat: (name) => EXCHANGES.get(name.replace(/ in one claim$/, '')) });
    const add = (Topic, name, User) => cluster.add({ Topic, User, Query: `case: ${name}` });
    await Promise.all([...topics].map(([name, Topic], i) => add(Topic, name, `user${i % 3}`)));
    for (const name of ['filtered', 'plain', 'cut off', 'too long as vLLM says it']) await add(mixed, one(name));
    for (const name of ['a reset', 'CRLF']) await add(failing, one(name));
    // A slot rests after each failed attempt, up to half a minute: there is one for each.
    await start('--slots', 100, '--llm-timeout', 3);
  });
  after(async () => {
    await engine?.stop();
    await odd?.stop();
  });

  for (const [name, , { text, think, finish, usage, reason, isOnce }] of CHATS)
    test(`${name}: ${reason ? `fails with the reason, asked ${isOnce ? 'once' : 'once an attempt'}` : 'the whole text, once'}`, async () => {
      const row = await outcome(topics.get(name));
      if (reason) {
        assert.equal(row.Status, 'Failed', JSON.stringify(row));
        assert.match(row.Reason, reason);
      } else {
        assert.deepEqual([row.Status, row.Answer, row.Think], ['Done', [text], think ? [think] : null], row.Reason);
        assert.deepEqual([row.FinishReason, row.Usage], [finish, usage]);
      }
      assert.equal(odd.count(name), reason && !isOnce ? ATTEMPTS : 1, 'requests to the model');
    });

  test('an answer that was cut off says so in lists and at the end of streams', async () => {
    const Topic = topics.get('cut off');
    await outcome(Topic);
    const [listed] = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic, Detail: true } }));
    assert.equal(listed.FinishReason, 'length');
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 } });
    assert.equal((await stream.until('done')).at(-1).data.FinishReason, 'length');
    assert.ok(!('FinishReason' in (await cluster.check({ Topic }))), 'the plain answer is as the document shows it');
    stream.abort();
  });

  test('of one claim, each question that is refused fails with its own reason, and the others are answered', async () => {
    const rows = await Promise.all([1, 2, 3, 4].map((Seq) => outcome(mixed, Seq)));
    assert.deepEqual(rows.map(({ Status }) => Status), ['Failed', 'Done', 'Done', 'Failed']);
    assert.match(rows[0].Reason, /content_filter/);
    assert.match(rows[3].Reason, /maximum context length/);
    for (const name of ['filtered', 'plain', 'cut off', 'too long as vLLM says it']) assert.equal(odd.count(one(name)), 1, name);
  });

  test('a question that fails in each attempt takes no attempt of the one after it', async () => {
    assert.equal((await outcome(failing, 1)).Status, 'Failed');
    assert.equal((await outcome(failing, 2)).Status, 'Done');
    assert.deepEqual([odd.count(one('a reset')), odd.count(one('CRLF'))], [ATTEMPTS, 1]);
  });

  test('an answer is Done at its end, however long its server keeps the connection open', async () => {
    const open = CHATS.filter(([, { end }, { reason }]) => end === 'open' && !reason).map(([name]) => name);
    assert.ok(open.length >= 3, open.join());
    await engine.stop();
    await start('--slots', open.length, '--llm-timeout', 600);
    const asked = await Promise.all(open.map((name) => cluster.add({ Topic: newTopic(), Query: `case: ${one(name)}` })));
    for (const [i, { Topic }] of asked.entries()) assert.equal((await outcome(Topic)).Status, 'Done', open[i]);
  });
});
