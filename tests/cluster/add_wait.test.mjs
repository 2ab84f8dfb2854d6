// SPDX-License-Identifier: MIT
//
// add-query with Wait, and requests that are sent again, while something dies or is late.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { assertOk, assertProblem, eventually, newTopic, SLOW_RESCUE, suite } from '../support/harness.mjs';
import { startProxy } from '../support/proxy.mjs';

const valid = (more = {}) => ({ Topic: newTopic(), User: 'alice', Query: 'Why?', ...more });

suite('add-query with Wait whose reply is late', { nodes: 1, args: SLOW_RESCUE }, ({ test, cluster }) => {
  let proxy;
  before(async () => {
    proxy = await startProxy(cluster.redis);
  });
  after(() => proxy.stop());

  async function withLateNode(body) {
    const late = await cluster.startNode({ redis: proxy });
    cluster.nodes = cluster.nodes.filter((node) => node !== late); // engines are on the other one
    await body(late);
    await late.stop();
  }

  test('race: an outcome that comes before the reply with its Seq is still answered', () =>
    withLateNode(async (late) => {
      const body = valid();
      const held = proxy.holdAt('add', 'reply');
      const asked = cluster.open('POST', '/api/add-query', { as: 'Frontend_1', node: late, query: { Wait: 60 }, body, timeout: 70_000 });
      await held;
      assert.equal((await cluster.claim()).Topic, body.Topic);
      const passed = proxy.passed('outcome');
      await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?', Answer: ['early'] });
      await passed;
      // Whatever the node has been sent before this is answered, it has read by then.
      assert.equal((await cluster.request('GET', '/livez', { node: late })).status, 200);
      proxy.release();
      assert.deepEqual(assertOk(await asked.response).Answer, ['early']);
    }));

  test('race: a node dies after its add was stored: the same request on another node finds it', () =>
    withLateNode(async (late) => {
      const body = valid();
      const path = cluster.path('/api/add-query', { as: 'Frontend_1', query: { Wait: 30 } });
      const held = proxy.holdAt('add', 'reply');
      const lost = cluster.open('POST', path, { node: late, body, timeout: 40_000 }).response.catch((error) => error);
      await held;
      await late.kill();
      assert.ok((await lost) instanceof Error);
      const again = cluster.open('POST', path, { body, timeout: 40_000 });
      await again.sent;
      assert.deepEqual((await eventually(async () => {
        const claim = await cluster.claim();
        return claim.Topic && claim;
      })).Queries, [{ 1: 'Why?' }]);
      await cluster.answer({ Topic: body.Topic, Seq: 1, Query: 'Why?' });
      assert.deepEqual(assertOk(await again.response).Answer, ['42']);
      assert.deepEqual(await cluster.claim(), { Topic: null, Queries: null });
    }));

  test('race: a node dies before its add was stored: the same request on another node stores it', () =>
    withLateNode(async (late) => {
      const body = valid();
      const path = cluster.path('/api/add-query', { as: 'Frontend_1' });
      const held = proxy.holdAt('add', 'request');
      const lost = cluster.open('POST', path, { node: late, body }).response.catch((error) => error);
      await held;
      await late.kill();
      assert.ok((await lost) instanceof Error);
      for (let i = 0; i < 2; i++) assert.equal(assertOk(await cluster.request('POST', path, { body })).Seq, 1);
      assert.deepEqual((await cluster.claim()).Queries, [{ 1: 'Why?' }]);
    }));
});

suite('resent requests while nodes are killed', { nodes: 3, aof: true, redisArgs: ['--appendfsync', 'always'] }, ({ test, cluster }) => {
  // What a browser does: the same bytes again, on another node, until somebody answers.
  async function insist(path, body, seed) {
    for (let i = 0; ; i++) {
      const live = cluster.nodes.filter(({ alive }) => alive);
      const response = await cluster.request('POST', path, { body, node: live[(seed + i) % live.length] }).catch(() => null);
      if (response && response.status !== 503) return response;
      if (i > 200) throw new Error('nobody answers');
      await eventually(() => cluster.nodes.some(({ alive }) => alive));
    }
  }

  test('each question is stored once, and no client gets nonce_used', async () => {
    const questions = Array.from({ length: 120 }, (_, i) => ({ path: cluster.path('/api/add-query', { as: 'Frontend_1' }), body: valid({ User: `u${i % 20}`, Query: `q${i}` }) }));
    const queue = [...questions];
    let answered = 0;
    const workers = Array.from({ length: 12 }, async (_, seed) => {
      for (let one = queue.shift(); one; one = queue.shift()) {
        one.response = await insist(one.path, one.body, seed);
        answered++;
      }
    });
    for (const [after_n, victim] of [[20, 0], [60, 1]]) {
      await eventually(() => answered >= after_n, { ms: 50_000 });
      await cluster.nodes[victim].kill();
      await cluster.startNode();
    }
    await Promise.all(workers);
    for (const { path, body, response } of questions) {
      assert.equal(assertOk(response).Seq, 1, body.Query);
      assert.equal(assertOk(await insist(path, body, 2)).Seq, 1);
      assertProblem(await insist(path, { ...body, Query: 'another' }, 2), 401, 'nonce_used');
    }
    cluster.nodes = cluster.nodes.filter(({ alive }) => alive);
  });
});
