// SPDX-License-Identifier: MIT
//
// Who waits for a model and loses the right meanwhile gets no answer: 401, or an `error` event. See
// tests/http/revoked.test.mjs for all else.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { openLibrary, postStream, withEngine } from '../support/asking.mjs';
import { ACCOUNTS, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { keyOf } from '../support/shards.mjs';

const MINE = { 'leases.md': '# Leases\n\nA lease lasts 150 seconds. Heartbeats renew a lease.\n' };
const question = 'How long does a lease last?';
const REVOKED = /secret or role has changed, or the account was removed/;

suite('a client that asks and loses its right', { threads: 2, sweep: false }, ({ test, cluster }) => {
  let library;
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('o:User_1', MINE);
  });
  beforeEach(() => library.forgetLimits());
  after(() => library?.close());

  async function reload(accounts) {
    cluster.writeAccounts(accounts);
    for (const node of cluster.nodes) {
      const reported = () => [...node.log().matchAll(/accounts reloaded/g)].length;
      const before = reported();
      node.signal('SIGHUP');
      await eventually(() => reported() > before);
    }
  }

  // Both nodes have read their request: the same question, which the engine is asked once, or each its own. Before that
  // it would meet the new accounts, and be refused as a wrong one.
  async function bothWait(engine, n) {
    await engine.asked(n + 1);
    const { topic } = engine.prompts[n];
    await eventually(async () => engine.prompts.length >= n + 2 || (await cluster.redis.cmd('HGET', keyOf(topic, `t:${topic}`), 'asks')) === '2', {
      what: 'both requests wait',
    });
  }

  const { User_1, ...rest } = ACCOUNTS;
  for (const how of ['a token', 'a signature']) {
    test(`with ${how} gets no answer of any route that waits for a model`, async () => {
      const { Token } = assertOk(await cluster.request('GET', '/api/login', { as: 'User_1' }));
      const proof = how === 'a token' ? { headers: { Authorization: `Bearer ${Token}` } } : { as: 'User_1' };
      await withEngine(cluster, () => undefined, async (engine) => {
        for (const [path, body] of [
          ['/api/rag/ask', { question }],
          ['/api/rag/ask', { question, refine_prompt: true }],
          ['/api/rag/rewrite', { question }],
          ['/api/agent/run', { question, mode: 'agent' }],
        ]) {
          const n = engine.prompts.length;
          const asking = [0, 1].map((node) => cluster.open('POST', path, { ...proof, body, node }));
          await bothWait(engine, n);
          await reload(rest);
          for (const { response } of asking) {
            const { detail, error } = assertProblem(await response, 401, 'unauthorized');
            assert.match(detail, REVOKED);
            assert.equal(error, detail);
          }
          await reload(ACCOUNTS);
        }
        for (const [path, body] of [
          ['/api/rag/ask', { question }],
          ['/api/agent/stream', { question, mode: 'agent' }],
        ]) {
          const n = engine.prompts.length;
          const asking = [0, 1].map((node) => postStream(cluster, path, { ...proof, body, node }));
          await bothWait(engine, n);
          await reload(rest);
          for (const stream of asking) {
            const { status, events } = await stream;
            const { event, data } = events.at(-1) ?? {};
            assert.deepEqual([status, event], [200, 'error']);
            assert.equal(data.status, 401);
            assert.match(data.detail, REVOKED);
          }
          await reload(ACCOUNTS);
        }
      });
      await eventually(async () => (await library.questions()).length === 0, { what: 'nobody is asked any more' });
    });
  }
});
