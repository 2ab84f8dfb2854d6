// SPDX-License-Identifier: MIT
//
// A node of the last release beside one of this build, on the same data: what an upgrade looks like while it lasts. Node 0 is
// the former one. Each of them takes up what the other has written, hands over to the other's engines and wakes its waiters.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { Cluster, assertOk, assertProblem, eventually } from '../support/harness.mjs';
import { openLibrary } from '../support/asking.mjs';

const { status, stdout, stderr } = spawnSync('tests/former.sh', { encoding: 'utf8' });
const FORMER = stdout.trim();
const BOTH = [
  [0, 1, 'the former node writes, this one goes on'],
  [1, 0, 'this node writes, the former one goes on'],
];

const parked = (cluster) => eventually(async () => (await cluster.redis.cmd('ZCARD', 'parley:{0}:idle')) > 0, { what: 'a poll is parked' });

async function withBoth(body) {
  const cluster = new Cluster({ nodes: 0, args: ['--lease-seconds', '2'] });
  await cluster.start();
  try {
    await cluster.startNode({ bin: FORMER });
    await cluster.startNode();
    await body(cluster);
  } catch (error) {
    cluster.printLogs(new Map());
    throw error;
  } finally {
    await cluster.stop();
  }
}

describe('the last release beside this one', { skip: status === 3 && stderr.trim() }, () => {
  it('the last release can be built', () => assert.equal(status, 0, stderr));

  for (const [first, second, title] of BOTH) {
    it(`a query: ${title}`, () =>
      withBoth(async (cluster) => {
        const { Topic } = await cluster.add({ node: first, Query: 'Who is there?', Modifiers: { A: 1 } });
        const waiting = cluster.checkOpen({ node: first, Topic, wait: 20 });
        await waiting.sent;
        const { Queries, Lease } = await cluster.claim({ node: second, detail: true });
        assert.equal(Queries[0][1], 'Who is there?');
        assertOk(await cluster.request('POST', '/api/extend-claim', { as: 'Inference_1', node: first, body: { Topic, Lease } }));
        await cluster.answer({ node: second, Topic, Seq: 1, Query: 'Who is there?', Lease, Answer: ['Both.'] });
        assert.deepEqual(assertOk(await waiting.response).Answer, ['Both.']);
        assert.deepEqual((await cluster.check({ node: second, Topic })).Answer, ['Both.']);
        const thread = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', node: first, query: { Topic, User: 'alice' } }));
        assert.equal(JSON.stringify(thread).includes('Both.'), true);
      }));

    it(`a hand-over to an engine that is parked on the other node: ${title}`, () =>
      withBoth(async (cluster) => {
        const poll = cluster.claimOpen({ node: second, wait: 20, detail: true, engine: 'e' });
        await parked(cluster);
        const { Topic } = await cluster.add({ node: first, Query: 'Handed over?' });
        const { Lease } = assertOk(await poll.response);
        assertOk(
          await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', node: first, body: { Topic, Seq: 1, Lease, Retry: true } }),
        );
        const again = await cluster.claim({ node: first, wait: 5, detail: true });
        assert.equal(again.Topic, Topic);
        await cluster.answer({ node: first, Topic, Seq: 1, Query: 'Handed over?', Lease: again.Lease, Answer: ['Yes.'] });
      }));

    it(`documents and questions over them: ${title}`, () =>
      withBoth(async (cluster) => {
        const library = await openLibrary(cluster.redis);
        try {
          await library.store('c:public', { 'a.md': '# Colours\n\nThe gate at the mill is painted green.\n' });
          const poll = cluster.claimOpen({ node: second, wait: 20, detail: true });
          await parked(cluster);
          const asked = cluster.open('POST', '/ask', { node: first, body: { question: 'How is the gate painted?' } });
          const { Topic, Queries, Lease } = assertOk(await poll.response);
          await cluster.answer({ node: second, Topic, Seq: 1, Query: Queries[0][1], Lease, Answer: ['Green [1].'] });
          assert.equal(assertOk(await asked.response).answer, 'Green [1].');
        } finally {
          await library.close();
        }
      }));

    it(`a nonce and a login: ${title}`, () =>
      withBoth(async (cluster) => {
        await cluster.add({ as: 'User_1', node: first });
        const path = cluster.path('/api/user-topics', { as: 'User_1', query: { User: 'User_1' } });
        assertOk(await cluster.request('GET', path, { node: first }));
        assertProblem(await cluster.request('GET', path, { node: second }), 401, 'nonce_used');
        const { Token } = assertOk(await cluster.request('GET', '/api/login', { as: 'User_1', node: first }));
        assertOk(await cluster.request('GET', '/api/user-topics', { node: second, query: { User: 'User_1' }, headers: { Authorization: `Bearer ${Token}` } }));
      }));

    it(`a question that is asked and waited for in one request: ${title}`, () =>
      withBoth(async (cluster) => {
        const asked = cluster.open('POST', '/api/add-query', {
          as: 'Frontend_1', node: 1, query: { Wait: 20 }, body: { Topic: 'waited', User: 'alice', Query: 'Who is there?' }, timeout: 30_000,
        });
        const { Topic, Lease } = await eventually(async () => {
          const claim = await cluster.claim({ node: second, detail: true });
          return claim.Topic && claim;
        });
        await cluster.answer({ node: first, Topic, Seq: 1, Query: 'Who is there?', Lease, Answer: ['Both.'] });
        assert.deepEqual(assertOk(await asked.response).Answer, ['Both.']);
      }));

    it(`a question that is sent again: ${title}`, () =>
      withBoth(async (cluster) => {
        const path = cluster.path('/api/add-query', { as: 'Frontend_1' });
        const body = { Topic: 'resent', User: 'alice', Query: 'Who is there?' };
        assert.equal(assertOk(await cluster.request('POST', path, { body, node: first })).Seq, 1);
        // The former one refuses whatever was used, and leaves nothing by which this one would know it again.
        const again = await cluster.request('POST', path, { body, node: second });
        assertProblem(again, 401, 'nonce_used');
        assert.equal((await cluster.add({ Topic: 'resent', node: second })).Seq, 2);
        assert.equal((await cluster.add({ Topic: 'resent', node: first })).Seq, 3);
        assert.equal(assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', node: second, query: { Topic: 'resent' } })).length, 3);
        assertOk(await cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', node: first, query: { OnBehalfOf: 'alice', Topic: 'resent' } }));
        assertProblem(await cluster.checkRaw({ Topic: 'resent', node: second }), 404);
      }));

    it(`a node dies, and the other gives its claim to another engine: ${title}`, () =>
      withBoth(async (cluster) => {
        const { Topic } = await cluster.add({ node: first, Query: 'Who takes over?' });
        const lost = await cluster.claim({ node: first, detail: true });
        assert.equal(lost.Topic, Topic);
        await cluster.nodes[first].kill();
        const found = await cluster.claim({ as: 'Inference_2', node: second, wait: 20, detail: true });
        assert.equal(found.Topic, Topic);
        assert.notEqual(found.Lease, lost.Lease);
        await cluster.answer({ as: 'Inference_2', node: second, Topic, Seq: 1, Query: 'Who takes over?', Lease: found.Lease, Answer: ['I do.'] });
      }));
  }
});
