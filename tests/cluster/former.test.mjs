// SPDX-License-Identifier: MIT
//
// A node of the last release beside one of this build, on the same data: what an upgrade looks like while it lasts. Node 0 is
// the former one. Each of them takes up what the other has written, hands over to the other's engines and wakes its waiters.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { settled, upload } from '../support/documents.mjs';
import { Cluster, assertOk, assertProblem, eventually } from '../support/harness.mjs';
import { openLibrary } from '../support/asking.mjs';
import { BIN, makeFolder } from '../support/node.mjs';
import { exempt } from '../support/openapi.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a former node knows one

const { status, stdout, stderr } = spawnSync('tests/former.sh', { encoding: 'utf8' });
const FORMER = stdout.trim();
const BOTH = [
  [0, 1, 'the former node writes, this one goes on'],
  [1, 0, 'this node writes, the former one goes on'],
];

// Where a poll for a lookup is known, by node.
const FORMER_KEYS = ['parley:{0}:lookup_nodes', 'parley:{0}:idle_lookups'];

// Those whose record does not say that they read blocks.
async function formerNodes(cluster) {
  const flat = await cluster.redis.cmd('HGETALL', 'parley:{0}:node_info');
  return flat.filter((_, i) => i % 2 === 0 && !flat[i + 1].includes('blocks'));
}

const parked = (cluster) => eventually(async () => (await cluster.redis.cmd('ZCARD', 'parley:{0}:idle')) > 0, { what: 'a poll is parked' });

// leaseSeconds: short only for a test that waits for a lease to end; elsewhere a slow machine must not lose one. The other
// options are the arguments of node 0 or 1.
async function withBoth(body, { leaseSeconds = 150, ...args } = {}) {
  const cluster = new Cluster({ nodes: 0, args: ['--lease-seconds', String(leaseSeconds), '--delivery-seconds', '10'] });
  await cluster.start();
  try {
    exempt((await cluster.startNode({ bin: FORMER, args: args[0] })).url);
    await cluster.startNode({ args: args[1] });
    const known = async () => (await cluster.redis.cmd('HLEN', 'parley:{0}:node_info')) === 2;
    await eventually(known, { what: 'both are known' });
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

    it(`a query for a model without an engine waits for it while the former node is there: ${title}`, () =>
      withBoth(async (cluster) => {
        const { Topic } = await cluster.add({ node: first, Query: 'For whom?', Model: 'big' });
        for (const node of [first, second]) assert.equal((await cluster.claim({ node, query: { Models: 'tiny' } })).Topic, null);
        await eventually(async () => (await cluster.redis.cmd('ZSCORE', 'parley:{0}:falls', 'big')) > 0, { what: 'it is known when it falls' });
        const { Lease } = await cluster.claim({ node: second, query: { Models: 'big' }, detail: true });
        await cluster.answer({ node: second, Topic, Seq: 1, Query: 'For whom?', Lease });
        await eventually(async () => !(await cluster.redis.cmd('EXISTS', 'parley:{0}:falls')), { what: 'it does not wait any more' });
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
        const again = await cluster.claim({ node: first, wait: 20, detail: true });
        assert.equal(again.Topic, Topic);
        await cluster.answer({ node: first, Topic, Seq: 1, Query: 'Handed over?', Lease: again.Lease, Answer: ['Yes.'] });
      }));

    it(`a lookup: ${title}`, () =>
      withBoth(async (cluster) => {
        const { Topic } = await cluster.add({ node: first });
        await cluster.claim({ node: second });
        await cluster.answer({ node: first, Topic, Seq: 1 });
        const lookups = (node, wait, as = 'Inference_1') =>
          cluster.open('GET', '/api/get-new-lookup', { as, node, query: { Wait: wait }, timeout: wait * 1000 + 15_000 });
        const waits = lookups(second, 60);
        const key = FORMER_KEYS[second];
        await eventually(async () => (await cluster.redis.cmd('EXISTS', key)) === 1, { what: 'its poll is known' });
        const body = { Topic, Seq: 1, Fragment: 'a passage' };
        assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', node: first, body }));
        const { Fingerprint } = assertOk(await waits.response);
        // Its engine never answers: the other node's gets it when the lease is over.
        const again = await eventually(
          async () => {
            const response = await lookups(first, 0, 'Inference_2').response;
            return response.status === 200 && response.json;
          },
          { what: 'the lease of the lookup ends' },
        );
        assert.equal(again.Fingerprint, Fingerprint);
        const found = { Fingerprint, Matches: ['m'] };
        assertOk(await cluster.request('POST', '/api/give-new-matches', { as: 'Inference_2', node: second, body: found }));
        const { Lookups } = assertOk(await cluster.request('GET', '/api/get-lookups', { as: 'Frontend_1', node: first, query: { Topic } }));
        assert.deepEqual(Lookups[0].Fragments, [{ 'a passage': ['m'] }]);
        assert.equal(await cluster.redis.cmd('EXISTS', 'parley:{0}:lookups', 'parley:{0}:lookups_of'), 0);
      }, { leaseSeconds: 2 }));
    it(`a claim goes on, though only one of them knows keys of leases: ${title}`, () =>
      withBoth(async (cluster) => {
        const keys = () => cluster.redis.cmd('KEYS', 'parley:{0}:lease:*');
        const { Topic } = await cluster.add({ node: first, Query: 'Who holds it?' });
        const { Lease } = await cluster.claim({ node: first, detail: true });
        if (first === 0) assert.deepEqual(await keys(), [], 'the former one writes none');
        const extend = (node) => cluster.request('POST', '/api/extend-claim', { as: 'Inference_1', node, body: { Topic, Lease } });
        assertOk(await extend(second));
        assertOk(await extend(first));
        assert.equal((await keys()).length, 1, 'this one writes it with the first sign of life');
        await cluster.answer({ node: second, Topic, Seq: 1, Query: 'Who holds it?', Lease, Answer: ['I.'] });
        const left = await keys();
        assert.equal(left.length, second ? 0 : 1, 'the former one leaves it');
        for (const key of left) assert.ok((await cluster.redis.cmd('TTL', key)) > 0, 'to its TTL');
        assertProblem(await extend(1), 409, 'lease_lost');
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

    it(`an upload, whose indexer is the other node's: ${title}`, () =>
      withBoth(async (cluster) => {
        const bytes = `<p>The ferry sails at nine.<!-- ${'words '.repeat(500_000)} -->`;
        const { documentId } = assertOk(await upload(cluster, { name: 'ferry.html', bytes, node: first }), 201);
        const doc = await settled(cluster, 'User_1', documentId);
        assert.equal(doc.status, 'INDEXED', JSON.stringify(doc));
        // Both keep the same words in Redis; this node shows them in DocuChat's.
        const { latestJob } = assertOk(await cluster.request('GET', `/api/docs/${documentId}`, { as: 'User_1', node: 1 }));
        assert.deepEqual([latestJob.status, latestJob.stage], ['INDEXED', 'COMPLETE']);
        const { citations } = assertOk(await cluster.request('POST', '/api/rag/retrieve', { as: 'User_1', node: first, body: { query: 'When does the ferry sail?' } }));
        assert.match(citations[0].snippet, /nine/);
        assertOk(await cluster.request('DELETE', `/api/docs/${documentId}`, { as: 'User_1', node: second }));
        assert.deepEqual(await cluster.redis.cmd('KEYS', `*${documentId}*`), []);
      }, { [first]: ['--indexers', '0'] }));

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
        await cluster.endLease(Topic);
        await cluster.nodes[first].kill();
        const found = await cluster.claim({ as: 'Inference_2', node: second, wait: 20, detail: true });
        assert.equal(found.Topic, Topic);
        assert.notEqual(found.Lease, lost.Lease);
        await cluster.answer({ as: 'Inference_2', node: second, Topic, Seq: 1, Query: 'Who takes over?', Lease: found.Lease, Answer: ['I do.'] });
      }));
  }

  it('a document that was uploaded here as blocks is deleted by a former node, and nothing of it is left', () =>
    withBoth(async (cluster) => {
      await cluster.nodes[0].stop();
      await cluster.redis.cmd('HDEL', 'parley:{0}:node_info', ...(await formerNodes(cluster)));
      const { documentId } = assertOk(await upload(cluster, { name: 'a.txt', bytes: 'The gate is green.', node: 1 }), 201);
      assert.equal(await cluster.redis.cmd('TYPE', `parley:{0}:upload:${documentId}`), 'list');
      exempt((await cluster.startNode({ bin: FORMER, args: ['--indexers', '0'] })).url);
      assertOk(await cluster.request('DELETE', `/api/docs/${documentId}`, { as: 'User_1', node: 2 }));
      assert.deepEqual(await cluster.redis.cmd('KEYS', `*:${documentId}*`), []);
    }, { 0: ['--indexers', '0'], 1: ['--indexers', '0'] }));

  it('a backup that the last release made of an upload nobody has read yet is restored, and indexed', async () => {
    const folder = makeFolder();
    const file = join(folder.dir, 'backup');
    const bytes = `<p>The ferry sails at nine.<!-- ${'words '.repeat(500_000)} -->`;
    let documentId;
    try {
      await withBoth(async (cluster) => {
        documentId = assertOk(await upload(cluster, { name: 'ferry.html', bytes, node: 0 }), 201).documentId;
        assert.equal(await cluster.redis.cmd('TYPE', `parley:{0}:upload:${documentId}`), 'string');
        const made = spawnSync(FORMER, ['backup', '--redis', cluster.redis.url, file], { encoding: 'utf8' });
        assert.equal(made.status, 0, made.stderr);
        await Promise.all(cluster.nodes.map((node) => node.stop()));
        await cluster.redis.cmd('FLUSHALL');
        const restored = spawnSync(BIN, ['restore', '--redis', cluster.redis.url, file], { encoding: 'utf8' });
        assert.equal(restored.status, 0, restored.stderr);
        assert.deepEqual(await cluster.redis.cmd('LLEN', `parley:{0}:upload:${documentId}`), Math.ceil(bytes.length / (1 << 20)));
        cluster.nodes.length = 0;
        await cluster.startNode();
        assert.equal((await settled(cluster, 'User_1', documentId)).status, 'INDEXED');
      }, { 0: ['--indexers', '0'], 1: ['--indexers', '0'] });
    } finally {
      folder.remove();
    }
  });
});
