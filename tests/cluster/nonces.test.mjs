// SPDX-License-Identifier: MIT
//
// Attacks on nonces and idempotency keys of several shards (ADR 30). Each lives on a shard of its own, and the topic on another one.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, newNonce, newTopic, suite } from '../support/harness.mjs';
import { startProxy } from '../support/proxy.mjs';
import { nonceId, ownShards, shardOf, topicOn } from '../support/shards.mjs';

ownShards(); // flags say how many

const N = 4;
const ADD = '/api/add-query';
const SHARDS = [0, 1, 2, 3];
const valid = (more = {}) => ({ Topic: newTopic(), User: 'alice', Query: 'Why?', ...more });

// A nonce of the account that lives on that shard.
function nonceOn(shard, as = 'Frontend_1') {
  for (;;) {
    const nonce = newNonce();
    if (shardOf(nonceId(as, nonce), N) === shard) return nonce;
  }
}

suite('nonces and idempotency keys of four shards', { args: ['--shards', String(N)] }, ({ test, cluster }) => {
  const signed = (nonce, query = {}) => cluster.path(ADD, { as: 'Frontend_1', query, signing: { nonce } });
  const send = (path, body, options = {}) => cluster.request('POST', path, { body, ...options });
  const threadOf = async (Topic) => assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } }));
  const token = async () => ({ Authorization: `Bearer ${assertOk(await cluster.request('GET', '/api/login', { as: 'Frontend_1' })).Token}` });

  // A node that is killed while its call with this word is held back: Redis has not run it ('request'), or has ('reply').
  async function dieAt(word, side, path, body, options = {}) {
    const proxy = await startProxy(cluster.redis);
    const node = await cluster.startNode({ redis: proxy });
    const held = proxy.holdAt(word, side);
    const { response } = cluster.open('POST', path, { body, node, ...options });
    const lost = assert.rejects(response);
    await held;
    await node.kill();
    await lost;
    await proxy.stop();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
  }

  test('a nonce used on one shard is refused on the others', async () => {
    const Topics = SHARDS.map((shard) => topicOn(shard, N));
    for (const Topic of Topics) await cluster.add({ Topic });
    for (const home of SHARDS) {
      for (const first of SHARDS) {
        const nonce = nonceOn(home);
        const body = valid({ Topic: Topics[first] });
        const { Seq } = assertOk(await send(signed(nonce), body));
        for (const other of SHARDS) {
          const node = other % 2;
          assertProblem(await send(signed(nonce), { ...body, Topic: Topics[other], Query: 'Why not?' }, { node }), 401, 'nonce_used');
          assertProblem(await cluster.checkRaw({ Topic: Topics[other], signing: { nonce }, node }), 401, 'nonce_used');
        }
        assertProblem(await cluster.request('GET', '/api/login', { as: 'Frontend_1', signing: { nonce } }), 401, 'nonce_used');
        assert.equal(assertOk(await send(signed(nonce), body)).Seq, Seq, 'the equal one has its first answer');
      }
    }
    for (const Topic of Topics) assert.equal((await threadOf(Topic)).length, 5);
    const nonce = nonceOn(2);
    assertOk(await cluster.checkRaw({ Topic: Topics[1], signing: { nonce } }));
    for (const Topic of Topics) assertProblem(await send(signed(nonce), valid({ Topic })), 401, 'nonce_used');
  });

  for (const [side, what] of [['request', 'and add'], ['reply', 'and the reply to add']]) {
    test(`a node dies between nonce ${what}`, async () => {
      for (const home of SHARDS) {
        const nonce = nonceOn(home);
        const body = valid({ Topic: topicOn(home + 1, N) });
        await dieAt('add', side, signed(nonce), body);
        for (const node of [0, 1]) {
          assertProblem(await send(signed(nonce), { ...body, Query: 'Why not?' }, { node }), 401, 'nonce_used');
          assertProblem(await send(signed(nonce), { ...body, Topic: newTopic() }, { node }), 401, 'nonce_used');
          assertProblem(await cluster.checkRaw({ Topic: body.Topic, signing: { nonce }, node }), 401, 'nonce_used');
        }
        assert.equal((await cluster.checkRaw({ Topic: body.Topic })).status, side === 'request' ? 404 : 200);
        const all = await Promise.all(Array.from({ length: 6 }, (_, i) => send(signed(nonce), body, { node: i % 2 })));
        for (const response of all) assert.deepEqual(assertOk(response), all[0].json);
        assert.equal((await threadOf(body.Topic)).length, 1);
      }
    });
  }

  test('a node dies before the nonce is used: the request is a new one', async () => {
    const [nonce, body] = [newNonce(), valid()];
    await dieAt(nonceId('Frontend_1', nonce), 'request', signed(nonce), body);
    assert.equal(assertOk(await send(signed(nonce), { ...body, Query: 'Why not?' })).Seq, 1);
    assertProblem(await send(signed(nonce), body), 401, 'nonce_used');
  });

  test('an idempotency key with another topic', async () => {
    const headers = await token();
    for (const first of SHARDS) {
      const key = { 'Idempotency-Key': `key-${newNonce()}` };
      const body = valid({ Topic: topicOn(first, N) });
      const answer = assertOk(await send(ADD, body, { headers: { ...headers, ...key } }));
      for (const other of SHARDS) {
        const elsewhere = { ...body, Topic: topicOn(other, N) };
        for (const node of [0, 1]) {
          assertProblem(await send(ADD, elsewhere, { headers: { ...headers, ...key }, node }), 422, 'idempotency_mismatch');
          assertProblem(await send(signed(newNonce()), elsewhere, { headers: key, node }), 422, 'idempotency_mismatch');
        }
        assertProblem(await cluster.checkRaw({ Topic: elsewhere.Topic }), 404);
      }
      for (const node of [0, 1]) {
        assert.deepEqual(assertOk(await send(ADD, body, { headers: { ...headers, ...key }, node })), answer);
        assert.deepEqual(assertOk(await send(signed(newNonce()), body, { headers: key, node })), answer);
      }
      assert.equal((await threadOf(body.Topic)).length, 1);
    }
  });

  test('two topics with one idempotency key at once: one is stored', async () => {
    const headers = await token();
    for (let i = 0; i < 5; i++) {
      const key = { 'Idempotency-Key': `key-${newNonce()}` };
      const bodies = SHARDS.map((shard) => valid({ Topic: topicOn(shard, N) }));
      const all = await Promise.all(bodies.map((body, k) => send(ADD, body, { headers: { ...headers, ...key }, node: k % 2 })));
      assert.deepEqual(all.map(({ status }) => status).sort(), [200, 422, 422, 422]);
      const found = await Promise.all(bodies.map(({ Topic }) => cluster.checkRaw({ Topic })));
      assert.deepEqual(found.map(({ status }) => status), all.map(({ status }) => (status === 200 ? 200 : 404)));
    }
  });

  for (const [side, what] of [['request', 'and add'], ['reply', 'and the reply to add']]) {
    test(`a node dies between key ${what}`, async () => {
      const headers = { ...(await token()), 'Idempotency-Key': `key-${newNonce()}` };
      const body = valid();
      await dieAt('add', side, ADD, body, { headers });
      for (const shard of SHARDS) assertProblem(await send(ADD, { ...body, Topic: topicOn(shard, N) }, { headers }), 422, 'idempotency_mismatch');
      const all = await Promise.all(Array.from({ length: 6 }, (_, i) => send(ADD, body, { headers, node: i % 2 })));
      for (const response of all) assert.deepEqual(assertOk(response), all[0].json);
      assert.equal((await threadOf(body.Topic)).length, 1);
    });
  }

  test('what the topic refuses uses up the nonce, and no key', async () => {
    const Topic = topicOn(3, N);
    assertOk(await cluster.addRaw({ as: 'User_1', Topic }));
    const key = { 'Idempotency-Key': `key-${newNonce()}` };
    const nonce = newNonce();
    const path = cluster.path(ADD, { as: 'User_2', signing: { nonce } });
    const body = { Topic, User: 'User_2', Query: 'Why?' };
    assertProblem(await send(path, body, { headers: key }), 404);
    for (const node of [0, 1]) assertProblem(await send(path, body, { headers: key, node }), 401, 'nonce_used');
    assertOk(await cluster.request('POST', ADD, { as: 'User_2', body: { ...body, Topic: topicOn(1, N) }, headers: key }));
  });
});
