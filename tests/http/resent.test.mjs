// SPDX-License-Identifier: MIT
//
// For add-query the nonce is also an idempotency key, because browsers resend a request automatically
// when a connection is reset (ADR 7). Everywhere else a used nonce stays used.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newNonce, newTopic, suite } from '../support/harness.mjs';
import { keyOf } from '../support/shards.mjs';

const ADD = '/api/add-query';
const valid = (more = {}) => ({ Topic: newTopic(), User: 'alice', Query: 'Why?', ...more });

suite('a request that is sent again', {}, ({ test, cluster }) => {
  // The same bytes each time: signed once.
  const signed = ({ as = 'Frontend_1', nonce = newNonce(), query = {} } = {}) => cluster.path(ADD, { as, query, signing: { nonce } });
  const send = (path, body, options = {}) => cluster.request('POST', path, { body, ...options });
  const threadOf = async (Topic) => assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } }));
  // The topic's own field in Redis, and how it may be changed.
  const tieKey = (Topic) => [keyOf(Topic, `t:${Topic}`), 'u:alice'];

  test('the first answer again, from any node, and one query', async () => {
    const [path, body] = [signed(), valid()];
    const first = assertOk(await send(path, body, { node: 0 }));
    for (const node of [1, 0, 1]) assert.deepEqual(assertOk(await send(path, body, { node })), first);
    assert.equal((await threadOf(body.Topic)).length, 1);
    assert.deepEqual((await cluster.claim()).Queries, [{ 1: 'Why?' }]);
    assert.deepEqual(assertOk(await send(path, body)), first, 'Pending');
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?' });
    assert.deepEqual(assertOk(await send(path, body)), first, 'Done');
  });

  test('its own answer, when others have asked in that topic since', async () => {
    const Topic = newTopic();
    const asked = [];
    for (let i = 0; i < 5; i++) {
      const [path, body] = [signed(), valid({ Topic, Query: `q${i}` })];
      asked.push([path, body, assertOk(await send(path, body))]);
      assertOk(await cluster.addRaw({ Topic, User: 'bob' }));
    }
    for (const [path, body, first] of asked) assert.deepEqual(assertOk(await send(path, body)), first);
    assert.equal((await threadOf(Topic)).length, 10);
  });

  test('the same nonce with another body: 401 on every node, nothing stored', async () => {
    const [path, body] = [signed(), valid()];
    assertOk(await send(path, body));
    const others = [{ ...body, Query: 'Why not?' }, { ...body, User: 'bob' }, { ...body, Topic: newTopic() }, { ...body, Model: 'big' }, { ...body, Colour: 'blue' }];
    for (const other of others) for (const node of [0, 1]) assertProblem(await send(path, other, { node }), 401, 'nonce_used');
    assertProblem(await cluster.request('POST', path, { body: `${JSON.stringify(body)} `, headers: { 'Content-Type': 'application/json' } }), 401, 'nonce_used');
    assert.equal((await threadOf(body.Topic)).length, 1);
    for (const other of others) assertProblem(await cluster.checkRaw({ Topic: other.Topic, Seq: 2 }), 404);
  });

  test('the same nonce on another route: 401 on every node', async () => {
    const nonce = newNonce();
    const body = valid();
    assertOk(await send(signed({ nonce }), body));
    for (const node of [0, 1]) {
      for (const [method, path, query, what] of [
        ['GET', '/api/check-query', { Topic: body.Topic, Seq: 1, Wait: 0 }],
        ['GET', '/api/get-topic-thread', { Topic: body.Topic }],
        ['GET', '/api/login', {}],
        ['POST', '/api/cancel-query', {}, { Topic: body.Topic, Seq: 1 }],
        ['POST', '/api/recommend', {}, { Topic: body.Topic, OnBehalfOf: 'alice', Query: 'Why?', Fragment: 'x', Comment: 'y', Type: 'Promote Answer' }],
      ])
        assertProblem(await cluster.request(method, path, { as: 'Frontend_1', query, body: what, signing: { nonce }, node }), 401, 'nonce_used');
    }
    assert.equal((await cluster.check({ Topic: body.Topic, detail: true })).Status, 'Open');
  });

  test('a nonce that another route has used is used for add-query, twice too', async () => {
    const nonce = newNonce();
    const { Topic } = await cluster.add();
    assertOk(await cluster.request('GET', '/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1, Wait: 0 }, signing: { nonce } }));
    const body = valid();
    for (const node of [0, 1, 0]) assertProblem(await send(signed({ nonce }), body, { node }), 401, 'nonce_used');
    assertProblem(await cluster.checkRaw({ Topic: body.Topic }), 404);
  });

  test('the nonce of one account is none of another', async () => {
    const nonce = newNonce();
    const body = valid();
    assert.equal(assertOk(await send(signed({ nonce }), body)).Seq, 1);
    assert.equal(assertOk(await send(signed({ as: 'Frontend_heavy', nonce }), body)).Seq, 2);
    assert.equal(assertOk(await send(signed({ nonce }), body)).Seq, 1);
    assert.equal(assertOk(await send(signed({ as: 'Frontend_heavy', nonce }), body)).Seq, 2);
  });

  test('many at once on both nodes: one query, one answer', async () => {
    for (let i = 0; i < 5; i++) {
      const [path, body] = [signed(), valid()];
      const all = await Promise.all(Array.from({ length: 12 }, (_, k) => send(path, body, { node: k % 2 })));
      for (const response of all) assert.deepEqual(assertOk(response), all[0].json);
      assert.equal((await threadOf(body.Topic)).length, 1);
    }
  });

  test('two bodies with one nonce at once on two nodes: one is stored, and is answered again', async () => {
    for (let i = 0; i < 5; i++) {
      const path = signed();
      const bodies = [valid(), valid()];
      const all = await Promise.all(bodies.map((body, node) => send(path, body, { node })));
      const won = all.findIndex(({ status }) => status === 200);
      assert.notEqual(won, -1);
      assertProblem(all[1 - won], 401, 'nonce_used');
      assert.deepEqual(assertOk(await send(path, bodies[won])), all[won].json);
      assertProblem(await send(path, bodies[1 - won]), 401, 'nonce_used');
    }
  });

  test('after ten minutes: 401, and nothing stored', async () => {
    const [path, body] = [signed(), valid()];
    assertOk(await send(path, body));
    const [key, field] = tieKey(body.Topic);
    const tie = await cluster.redis.cmd('HGET', key, field);
    const [mark, ms, seq] = tie.slice(0, -1).split(' ');
    assert.ok(Math.abs(Number(ms) - Date.now()) < 60_000, tie);
    await cluster.redis.cmd('HSET', key, field, `${mark} ${Number(ms) - 540_000} ${seq};`);
    assert.equal(assertOk(await send(path, body)).Seq, 1, 'after nine');
    await cluster.redis.cmd('HSET', key, field, `${mark} ${Number(ms) - 601_000} ${seq};`);
    for (const node of [0, 1]) assertProblem(await send(path, body, { node }), 401, 'nonce_used');
    assert.equal((await threadOf(body.Topic)).length, 1);
  });

  test('a refused request is not stored by being sent again', async () => {
    const [path, body] = [signed(), valid({ Query: '' })];
    assertProblem(await send(path, body), 400);
    assertProblem(await send(path, body), 401, 'nonce_used');
    assertProblem(await send(path, { ...body, Query: 'Why?' }), 401, 'nonce_used');
  });

  test('a topic that was deleted is not brought back', async () => {
    const [path, body] = [signed(), valid()];
    assertOk(await send(path, body));
    assertOk(await cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: 'alice', Topic: body.Topic } }));
    assertProblem(await send(path, body), 401, 'nonce_used');
    assertProblem(await cluster.checkRaw({ Topic: body.Topic }), 404);
  });

  test('a user sees nothing of it in a topic of somebody else', async () => {
    const body = valid({ User: 'User_1' });
    const path = signed({ as: 'User_1' });
    assert.equal(assertOk(await send(path, body)).Seq, 1);
    assertProblem(await send(signed({ as: 'User_2' }), { ...body, User: 'User_2' }), 404);
    assert.equal(assertOk(await send(path, body)).Seq, 1);
  });

  test('with an Idempotency-Key besides: the same answer, however often', async () => {
    const body = valid();
    const headers = { 'Idempotency-Key': `key-${newNonce()}` };
    const first = assertOk(await send(signed(), body, { headers }));
    const path = signed();
    for (const node of [0, 1, 0]) assert.deepEqual(assertOk(await send(path, body, { headers, node })), first);
    assert.equal((await threadOf(body.Topic)).length, 1);
  });

  test('by token two equal requests are two questions', async () => {
    const { Token } = assertOk(await cluster.request('GET', '/api/login', { as: 'Frontend_1' }));
    const body = valid();
    for (const Seq of [1, 2]) assert.equal(assertOk(await send(ADD, body, { headers: { Authorization: `Bearer ${Token}` } })).Seq, Seq);
  });

  test('sent again with Wait: it waits for the question that is there, or has its answer at once', async () => {
    const path = signed({ query: { Wait: 30 } });
    const body = valid();
    const first = cluster.open('POST', path, { body, node: 0, timeout: 40_000 });
    await eventually(async () => (await cluster.checkRaw({ Topic: body.Topic })).status === 200);
    first.abort();
    const again = cluster.open('POST', path, { body, node: 1, timeout: 40_000 });
    await again.sent;
    assert.deepEqual((await cluster.claim()).Queries, [{ 1: 'Why?' }]);
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?' });
    for (const response of [await again.response, await send(path, body)]) {
      assert.deepEqual(assertOk(response), { Query: 'Why?', Topic: body.Topic, Seq: 1, Answer: ['42'], Think: null });
    }
    assertProblem(await send(path, { ...body, Query: 'Why not?' }), 401, 'nonce_used');
  });

  test('sent again as a stream: the same question from where the first one broke', async () => {
    const path = signed({ query: { Wait: 30 } });
    const body = valid();
    const first = await cluster.stream(path, { method: 'POST', body, node: 0 });
    assert.equal((await first.next()).data.Seq, 1);
    first.abort();
    const second = await cluster.stream(path, { method: 'POST', body, node: 1 });
    assert.equal((await second.next()).data.Seq, 1);
    await eventually(async () => (await cluster.claim()).Topic === body.Topic);
    await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?' });
    assert.deepEqual((await second.until('done')).at(-1).data.Answer, ['42']);
  });
});
