// SPDX-License-Identifier: MIT
//
// The longest names there may be, of letters that take three bytes each in a key: what holds them must be as large.
import assert from 'node:assert/strict';
import { upload } from '../support/documents.mjs';
import { ACCOUNTS, assertOk, assertProblem, eventually, newNonce, suite } from '../support/harness.mjs';

const NAME = 'é'.repeat(64); // 128 bytes, 384 in a key
const NAMESPACE = 'n'.repeat(32);
const long = (letter) => letter + NAME.slice(1) + 'x'.repeat(128 - Buffer.byteLength(letter + NAME.slice(1)));
const [FRONT, ENGINE, USER, SPACE, OPERATOR] = ['f', 'g', 'h', 'i', 'j'].map(long);
const MORE = {
  [FRONT]: { secret: 'front', role: 'frontend' },
  [ENGINE]: { secret: 'engine', role: 'engine' },
  [USER]: { secret: 'user', role: 'user', namespace: NAMESPACE },
  [SPACE]: { secret: 'space', role: 'frontend', namespace: NAMESPACE },
  [OPERATOR]: { secret: 'operator', role: 'operator' },
};

suite('the longest names', { accounts: { ...ACCOUNTS, ...MORE } }, ({ test, cluster }) => {
  const operator = { as: OPERATOR };
  const queueOf = (query) => cluster.request('GET', '/api/queue', { ...operator, query });
  const Topic = 'ü'.repeat(64);

  test('an operator finds the questions of a user, with and without a namespace', async () => {
    await cluster.add({ as: FRONT, User: NAME, Topic });
    await cluster.add({ as: SPACE, User: NAME, Topic });
    assert.equal(assertOk(await queueOf({ OnBehalfOf: NAME })).Queries.length, 1);
    assert.equal(assertOk(await queueOf({ OnBehalfOf: `${NAMESPACE}~${NAME}` })).Queries.length, 1);
    const { Token } = assertOk(await cluster.request('GET', '/api/login', operator));
    for (const User of [NAME, `${NAMESPACE}~${NAME}`, '\u{10ffff}'.repeat(32), '~'.repeat(128)])
      assertOk(await cluster.request('GET', '/api/queue', { as: null, headers: { Authorization: `Bearer ${Token}` }, query: { User } }));
    for (const User of ['é'.repeat(65), 'x'.repeat(129), `${NAMESPACE}~${NAME}x`])
      assertProblem(await queueOf({ OnBehalfOf: User }), 400);
  });

  test('all routes of users take them', async () => {
    const ask = (name, what) => cluster.request(what === '' ? 'DELETE' : 'GET', `/api/users/${encodeURIComponent(name)}${what}`, operator);
    for (const [what, status] of [['/usage', 200], ['/export', 200], ['', 202]]) {
      for (const name of [NAME, `${NAMESPACE}~${NAME}`, '\u0001'.repeat(128)]) assert.equal((await ask(name, what)).status, status);
      for (const name of ['é'.repeat(65), `${NAMESPACE}~${NAME}x`, 'x'.repeat(129)]) assertProblem(await ask(name, what), 400);
    }
    assertOk(await cluster.request('POST', '/api/drain-engine', { ...operator, body: { User: ENGINE, Drain: false } }));
  });

  test('an engine of such a name is known, and claims, answers, looks up and leaves', async () => {
    const engine = 'é'.repeat(32);
    await cluster.add({ as: SPACE, User: NAME, Topic, Model: 'é'.repeat(64) });
    await cluster.add({ as: USER, Topic: `${'ü'.repeat(63)}xx` });
    for (const _ of [1, 2]) {
      const claim = await cluster.claim({ as: ENGINE, engine, wait: 5, models: `default,${'é'.repeat(64)}`, detail: true });
      assert.ok(claim.Topic, 'a question');
      for (const [[Seq, Query]] of claim.Queries.map(Object.entries)) assertOk(await cluster.answerRaw({ as: ENGINE, Topic: claim.Topic, Seq: Number(Seq), Query, Lease: claim.Lease }));
    }
    const poll = cluster.claimOpen({ as: ENGINE, engine, wait: 30, models: 'é'.repeat(80) });
    await eventually(async () => assertOk(await cluster.request('GET', '/api/status', operator)).Engines.some(({ User }) => User === ENGINE), { what: 'the engine is known' });
    poll.abort();
    await poll.response.catch(() => {});
    assertOk(await cluster.request('POST', '/api/add-lookup', { as: SPACE, body: { Topic, Seq: 1, Fragment: 'é'.repeat(64), Count: 1, Threshold: 1 } }));
    assertOk(await upload(cluster, { as: SPACE, query: { OnBehalfOf: NAME }, name: `${'é'.repeat(100)}.txt`, bytes: `of ${newNonce()}` }), 201);
    for (const name of [`${NAMESPACE}~${NAME}`, `${NAMESPACE}~${USER}`]) assertOk(await cluster.request('DELETE', `/api/users/${encodeURIComponent(name)}`, operator), 202);
  });
});
