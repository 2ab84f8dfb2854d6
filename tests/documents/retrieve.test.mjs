// SPDX-License-Identifier: MIT
//
// POST /api/rag/retrieve, alternating between two nodes: results reflect
// the current documents on every node, however they change.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { assertRefused, uploadIndexed } from '../support/documents.mjs';
import { assertMembers, assertOk, sign, suite } from '../support/harness.mjs';
import { openDesk, prose as numbered, startEmbedder } from '../support/indexing.mjs';

// Words alone: a question holds the very same.
const prose = (words, seed) => numbered(words, seed).replace(/\d+/g, '');
// A word of its own for each number.
const wordOf = (i) => ['bel', 'dor', 'fin', 'gul', 'han', 'kir'][i % 6] + ['opt', 'ume', 'axo', 'ery', 'isk'][Math.floor(i / 6)];

const LEASES = 'A claim is held under a lease. The lease lasts 150 seconds and every heartbeat renews it.';
const BREAD = 'Sourdough bread rises slowly. The dough rests overnight in a cool kitchen before baking.';
const TIDES = 'The tide in the harbour turns twice a day. Fishermen leave the harbour at high water.';

const retrieve = (cluster, query, { topK, as = 'User_1', ...options } = {}) =>
  cluster.request('POST', '/api/rag/retrieve', { as, body: { query, topK }, ...options });
const citations = async (...args) => assertOk(await retrieve(...args)).citations;

suite('retrieval', { sweep: false }, ({ test, cluster }) => {
  const docs = {};
  let desk;
  before(async () => {
    desk = await openDesk(cluster.redis);
    docs.leases = await uploadIndexed(cluster, { name: 'leases.md', bytes: `# Leases\n\n${LEASES}` });
    docs.bread = await uploadIndexed(cluster, { name: 'bread.txt', bytes: BREAD });
    docs.tides = await uploadIndexed(cluster, { name: 'tides.txt', bytes: TIDES });
  });
  after(() => desk.close());

  test('the passage that answers comes first, the same on both nodes', async () => {
    const questions = { leases: 'How long does a lease last?', bread: 'How long does the dough rest?', tides: 'When does the tide turn?' };
    for (const [name, question] of Object.entries(questions)) {
      const answers = [];
      for (const node of [0, 1]) {
        const body = assertOk(await retrieve(cluster, question, { node }));
        assertMembers(body, ['query', 'citations']);
        assert.equal(body.query, question);
        const [first] = body.citations;
        assertMembers(first, ['docId', 'chunkId', 'chunkIndex', 'snippet', 'score', 'documentTitle', 'page']);
        assert.equal(first.docId, docs[name].id);
        assert.equal(first.chunkId, `${first.docId}:${first.chunkIndex}`);
        assert.equal(first.documentTitle, docs[name].filename);
        answers.push(body);
      }
      assert.deepEqual(answers[0], answers[1]);
    }
  });

  test('a citation is the chunk that the document has there', async () => {
    for (const citation of await citations(cluster, 'lease heartbeat seconds')) {
      const chunk = assertOk(await cluster.request('GET', `/api/docs/${citation.docId}/chunks/${citation.chunkIndex}`, { as: 'User_1' }));
      assert.equal(chunk.text, citation.snippet);
      assert.equal(chunk.chunkId, citation.chunkId);
    }
  });

  test('scores lie between 0 and 1 and fall', async () => {
    await uploadIndexed(cluster, { as: 'User_2', name: 'prose.txt', bytes: prose(4000) });
    const found = await citations(cluster, 'lease engine node queue answer', { as: 'User_2', topK: 20 });
    assert.equal(found.length, 20);
    const scores = found.map(({ score }) => score);
    assert.ok(scores.every((score) => score > 0 && score <= 1), String(scores));
    assert.deepEqual(scores, [...scores].sort((a, b) => b - a));
    assert.equal(new Set(found.map(({ chunkId }) => chunkId)).size, 20);
  });

  test('topK says how many, and 5 are the usual', async () => {
    for (const [topK, n] of [[1, 1], [7, 7], [undefined, 5], [null, 5]])
      assert.equal((await citations(cluster, 'lease engine node queue answer', { as: 'User_2', topK })).length, n);
  });

  test('a question about something else finds nothing', async () => {
    for (const query of ['Wie heißt der Bürgermeister von Wesel?', 'zxcvbnm qwertz', '???'])
      assert.deepEqual(await citations(cluster, query), [], query);
  });

  test('an owner without documents finds nothing', async () => {
    assert.deepEqual(await citations(cluster, 'How long does a lease last?', { as: 'Frontend_1', query: { OnBehalfOf: 'nobody' } }), []);
  });

  test('a document is found from when it is indexed until it is deleted, on both nodes', async () => {
    const question = 'Who paints the lighthouse?';
    const find = (node) => citations(cluster, question, { node });
    for (let round = 0; round < 3; round++) {
      for (const node of [0, 1]) assert.deepEqual(await find(node), []);
      const { id } = await uploadIndexed(cluster, { name: 'light.txt', bytes: `Round ${round}: Agatha paints the lighthouse each spring.` });
      for (const node of [0, 1]) assert.deepEqual((await find(node)).map(({ docId }) => docId), [id]);
      assertOk(await cluster.request('DELETE', `/api/docs/${id}`, { as: 'User_1' }));
    }
  });

  test('what a search finds is there while documents are indexed again', async () => {
    const end = Promise.all(
      Array.from({ length: 6 }, async () => {
        const { jobId } = assertOk(await cluster.request('POST', `/api/docs/${docs.leases.id}/reindex`, { as: 'User_1' }), 202);
        await desk.ended(jobId);
      }),
    );
    let is_over = false;
    end.finally(() => (is_over = true));
    let n = 0;
    while (!is_over || n < 20) {
      const [first] = await citations(cluster, 'How long does a lease last?');
      assert.equal(first?.docId, docs.leases.id, `search ${n}`);
      n++;
    }
    await end;
  });

  test('many searches at once of a space that the node has not got yet', async () => {
    const space = 'o:eve';
    const jobs = [];
    for (let i = 0; i < 30; i++)
      jobs.push((await desk.upload({ space, name: `${i}.txt`, bytes: `${prose(60, i)}\n\nThe lighthouse of ${wordOf(i)} stands on rock.` })).job);
    for (const job of jobs) assert.equal((await desk.ended(job)).status, 'DONE');
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, i) => citations(cluster, `the lighthouse of ${wordOf(i)}`, { as: 'Frontend_1', query: { OnBehalfOf: 'eve' }, topK: 3 })),
    );
    answers.forEach((found, i) => assert.equal(found[0].documentTitle, `${i}.txt`));
  });

  test('an invalid body gets 400 with the reason', async () => {
    const bodies = [
      {},
      { query: '' },
      { query: ' \n' },
      { query: 7 },
      { query: 'x'.repeat(4001) },
      { query: 'lease', topK: 0 },
      { query: 'lease', topK: 21 },
      { query: 'lease', topK: 2.5 },
      { query: 'lease', topK: '5' },
      'lease',
      '["lease"]',
    ];
    for (const body of bodies) {
      const { code } = assertRefused(await cluster.request('POST', '/api/rag/retrieve', { as: 'User_1', body }), 400);
      assert.match(code, /^bad_/);
    }
    assertOk(await retrieve(cluster, 'ß'.repeat(4000)));
  });

  test('an account that may not search gets an error', async () => {
    assertRefused(await retrieve(cluster, 'lease', { as: null }), 401, 'unauthorized');
    for (const as of ['Inference_1', 'Operator_1']) assertRefused(await retrieve(cluster, 'lease', { as }), 403, 'forbidden');
    assertRefused(await retrieve(cluster, 'lease', { as: 'Frontend_1' }), 400, 'bad_request');
    assertRefused(await retrieve(cluster, 'lease', { query: { OnBehalfOf: 'User_2' } }), 403, 'forbidden');
    assertOk(await retrieve(cluster, 'lease', { query: { OnBehalfOf: 'User_1' } }));
  });

  test('a nonce that was used on one node is refused on the other', async () => {
    const query = sign('User_1', cluster.accounts.User_1.secret);
    assertOk(await retrieve(cluster, 'lease', { as: null, query, node: 0 }));
    assertRefused(await retrieve(cluster, 'lease', { as: null, query, node: 1 }), 401, 'nonce_used');
  });

  test('a client that leaves during its search harms nobody', async () => {
    const left = Array.from({ length: 20 }, () =>
      cluster.open('POST', '/api/rag/retrieve', { as: 'User_2', body: { query: 'lease engine' }, node: 0 }),
    );
    await Promise.all(left.map(({ sent }) => sent));
    left.forEach(({ abort }) => abort());
    assert.equal((await citations(cluster, 'lease engine', { as: 'User_2', node: 0 })).length, 5);
  });
});

// One mebibyte of indexes; each of these spaces takes about half of it.
suite('retrieval with a small cache', { args: ['--documents-cache-mib=1'], sweep: false }, ({ test, cluster }) => {
  let desk;
  before(async () => (desk = await openDesk(cluster.redis)));
  after(() => desk.close());

  test('spaces beyond the size of the cache are still searched, and no owner finds another\'s documents', async () => {
    const owners = ['ann', 'ben', 'cleo', 'dan', 'eli'];
    const jobs = [];
    for (const [i, owner] of owners.entries())
      jobs.push((await desk.upload({ space: `o:${owner}`, name: `${owner}.txt`, bytes: `${prose(120_000, i)}\n\nThe password of ${owner} is opal.` })).job);
    for (const job of jobs) assert.equal((await desk.ended(job)).status, 'DONE');
    for (let round = 0; round < 3; round++)
      for (const owner of owners) {
        const found = await citations(cluster, 'password opal', { as: 'Frontend_1', query: { OnBehalfOf: owner }, topK: 20 });
        assert.ok(found[0].snippet.includes(`The password of ${owner} is opal.`));
        assert.ok(found.every(({ documentTitle }) => documentTitle === `${owner}.txt`));
      }
  });
});

suite('retrieval with a model\'s server', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let embedder;
  before(async () => {
    embedder = await startEmbedder();
    for (let i = 0; i < 2; i++) await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#stub`] });
    await uploadIndexed(cluster, { name: 'leases.md', bytes: LEASES });
  });
  after(() => embedder.stop());

  test('the question is embedded by the server, once', async () => {
    const before = embedder.requests.length;
    assert.ok((await citations(cluster, 'How long does a lease last?')).length > 0);
    assert.equal(embedder.requests.length, before + 1);
  });

  test('a used nonce does not reach the server', async () => {
    const query = sign('User_1', cluster.accounts.User_1.secret);
    assertOk(await retrieve(cluster, 'lease', { as: null, query }));
    const before = embedder.requests.length;
    assertRefused(await retrieve(cluster, 'lease', { as: null, query }), 401, 'nonce_used');
    assert.equal(embedder.requests.length, before);
  });

  test('words are searched while the server fails, and /health says so until it works again', async () => {
    embedder.status = 500;
    assert.ok((await citations(cluster, 'How long does a lease last?', { node: 0 })).length > 0);
    let health = (await cluster.request('GET', '/health', { node: 0 })).json;
    assert.equal(health.dependencies.embeddings.status, 'error');
    assert.notEqual(health.status, 'healthy');
    embedder.status = 200;
    assert.ok((await citations(cluster, 'How long does a lease last?', { node: 0 })).length > 0);
    health = (await cluster.request('GET', '/health', { node: 0 })).json;
    assert.equal(health.dependencies.embeddings.status, 'connected');
  });

  test('a server that is silent for seconds costs its half of the ranking', async () => {
    const release = embedder.hold();
    assert.ok((await citations(cluster, 'How long does a lease last?')).length > 0);
    release();
  });
});
