// SPDX-License-Identifier: MIT
//
// Asking over one's own documents: /api/rag/ask and /api/rag/rewrite, on two nodes.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { assertMembers, assertOk, assertProblem, eventually, newNonce, suite } from '../support/harness.mjs';
import { gate, openLibrary, passagesOf, postStream, withEngine } from '../support/asking.mjs';
import { keyOf } from '../support/shards.mjs';

const NOTHING = "I don't know based on the provided documents.";
const MINE = {
  'leases.md': '# Leases\n\nA lease lasts 150 seconds. Heartbeats renew a lease.\n',
  'fruit.md': '# Fruit\n\nBananas are yellow, and no lease is.\n',
  'signing.md': '# Signing\n\nA nonce works once. The lease of a nonce is a day.\n',
};
const QUESTION = 'How long does a lease last?';

// An error of section 5: as everywhere, and `error` with the text of `detail`.
function assertDocuProblem(response, status, code) {
  assert.equal(response.status, status, response.text);
  assert.equal(response.json.code, code);
  assert.equal(response.json.error, response.json.detail);
  return response.json;
}

function assertCitation(citation) {
  assertMembers(citation, ['docId', 'chunkId', 'chunkIndex', 'snippet', 'score', 'documentTitle', 'page']);
  assert.match(citation.docId, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  assert.ok(citation.score >= 0 && citation.score <= 1);
}

suite('rag ask', {}, ({ test, cluster }) => {
  let library;
  let ids;
  let others;
  const ask = (body = {}, { as = 'User_1', ...options } = {}) => cluster.request('POST', '/api/rag/ask', { as, body: { question: QUESTION, ...body }, ...options });
  before(async () => {
    library = await openLibrary(cluster.redis);
    ids = await library.store('o:User_1', MINE);
    others = await library.store('o:User_2', { 'theirs.md': 'Their lease lasts 77 seconds. Nobody else may know.' });
  });
  beforeEach(() => library.forgetLimits());
  after(() => library?.close());

  test('marks name the citations in the order of their scores, and the model gets them', () =>
    withEngine(cluster, ({ user }) => {
      const lease = Object.entries(passagesOf(user)).find(([, text]) => text.includes('150 seconds'))[0];
      return `It lasts 150 seconds [${lease}], surely [9].`;
    }, async (engine) => {
      for (const node of [0, 1]) {
        const json = assertOk(await ask({}, { node }));
        assertMembers(json, ['answer', 'citations', 'model']);
        assert.equal(json.answer, 'It lasts 150 seconds [1], surely.');
        assert.equal(json.model, 'scripted');
        json.citations.forEach(assertCitation);
        assert.match(json.citations[0].snippet, /150 seconds/);
        assert.equal(json.citations[0].documentTitle, 'leases.md');
        assert.ok(!JSON.stringify(json).includes('77 seconds'));
      }
      const { modifiers, details } = engine.prompts[0];
      assert.equal(modifiers.temperature, 0.2);
      assert.equal(modifiers.max_tokens, 500);
      assert.equal(details.User, 'User_1');
    }));

  test('an answer that its model did not end says why', () =>
    withEngine(cluster, ({ query }) => ({ text: 'It lasts [1].', finish: query.includes('whole') ? 'stop' : 'length' }), async () => {
      assert.equal(assertOk(await ask()).finish_reason, 'length');
      assert.equal('finish_reason' in assertOk(await ask({ question: 'How long does a whole lease last?' })), false);
    }));

  test('temperature and maxTokens reach the model', () =>
    withEngine(cluster, () => 'Yes [1].', async (engine) => {
      assertOk(await ask({ temperature: 0, maxTokens: 50 }));
      assertOk(await ask({ temperature: 1, maxTokens: 8000, topK: 1 }));
      assert.deepEqual(engine.prompts.map(({ modifiers }) => [modifiers.temperature, modifiers.max_tokens]), [[0, 50], [1, 8000]]);
      assert.equal(Object.keys(passagesOf(engine.prompts[1].user)).length, 1);
    }));

  test('fields out of their range are refused with 400, the text in detail and in error', async () => {
    const bad = [
      [{ question: '' }, 'question'], [{ question: '  ' }, 'question'], [{ question: 'x'.repeat(4001) }, 'question'],
      [{ topK: 0 }, 'topK'], [{ topK: 21 }, 'topK'], [{ topK: 'five' }, 'topK'],
      [{ temperature: -0.1 }, 'temperature'], [{ temperature: 1.1 }, 'temperature'], [{ temperature: '0' }, 'temperature'],
      [{ maxTokens: 49 }, 'maxTokens'], [{ maxTokens: 8001 }, 'maxTokens'], [{ maxTokens: 50.5 }, 'maxTokens'],
      [{ rerank: 1 }, 'rerank'], [{ refine_prompt: 'yes' }, 'refine_prompt'],
    ];
    for (const [body, name] of bad) assert.match(assertDocuProblem(await ask(body), 400, 'bad_request').detail, new RegExp(`^${name} `));
  });

  test('nobody is answered without credentials, with a used nonce, or for somebody else', async () => {
    assertProblem(await ask({}, { as: null }), 401);
    assert.equal((await ask({}, { as: 'Inference_1' })).status, 403);
    assert.equal((await ask({}, { query: { OnBehalfOf: 'User_2' } })).status, 403);
    for (const body of [{}, { refine_prompt: true }]) {
      const nobody = { as: 'Frontend_1', query: { OnBehalfOf: 'nobody' }, signing: { nonce: newNonce() } };
      assertOk(await ask(body, { node: 0, ...nobody }));
      assert.equal((await ask(body, { node: 1, ...nobody })).json.code, 'nonce_used');
    }
  });

  test('two owners who ask the same question get separate answers and share no query', async () => {
    const { hold, open } = gate();
    await withEngine(cluster, async ({ user }) => {
      await hold;
      return `${/\d+ seconds/.exec(user)?.[0]} [1].`;
    }, async (engine) => {
      const asked = [ask({}, { as: 'User_1' }), ask({}, { as: 'User_2' }), ask({}, { as: 'Frontend_1', query: { OnBehalfOf: 'User_2' } })];
      await eventually(async () => {
        const topics = await library.questions();
        const waiting = await Promise.all(topics.map((topic) => cluster.redis.cmd('HGET', keyOf(topic, `t:${topic}`), 'asks')));
        return waiting.sort().join() === '1,2';
      }, { what: 'two questions, one for each owner: one request waits for one, two for the other' });
      open();
      const [mine, theirs, behalf] = (await Promise.all(asked)).map((response) => assertOk(response));
      assert.match(theirs.answer, /^77 seconds/);
      assert.deepEqual(behalf.citations, theirs.citations);
      // By whole texts and ids: two digits may be in any id.
      const shown = ({ answer, citations }) => [answer, ...citations.map(({ snippet }) => snippet)].join('\n');
      assert.ok(!shown(mine).includes('77 seconds') && !shown(theirs).includes('150 seconds'));
      for (const { docId } of mine.citations) assert.ok(Object.values(ids).includes(docId));
      assert.deepEqual(theirs.citations.map(({ docId }) => docId), Object.values(others));
      assert.equal(engine.prompts.length, 2);
    });
  });

  test('an owner without documents needs no engine, not even to rewrite a question', async () => {
    const nobody = { as: 'Frontend_1', query: { OnBehalfOf: 'nobody' } };
    assert.deepEqual(assertOk(await ask({}, nobody)), { answer: NOTHING, citations: [], model: null });
    const { answer, citations, rewritten_query, rerank_used } = assertOk(await ask({ refine_prompt: true, rerank: true }, nobody));
    assert.deepEqual([answer, citations, rewritten_query, rerank_used], [NOTHING, [], QUESTION, false]);
    assert.deepEqual(await library.questions(), []);
  });

  test('a model that finds nothing cites nothing', () =>
    withEngine(cluster, () => `${NOTHING}`, async () => {
      const json = assertOk(await ask());
      assert.equal(json.answer, NOTHING);
      assert.deepEqual(json.citations, []);
      assert.ok(json.nearest.length > 0, 'what came nearest is shown apart');
      json.nearest.forEach(assertCitation);
    }));

  test('refine_prompt searches with the rewritten question, and answers the question itself', () =>
    withEngine(cluster, ({ kind }) => (kind === 'rewrite' ? '```json\n{"rewritten_query":"bananas"}\n```' : 'Yellow [1].'), async (engine) => {
      const json = assertOk(await ask({ question: 'What about the long fruit?', refine_prompt: true, topK: 1 }));
      assert.deepEqual(engine.kinds(), ['rewrite', 'answer']);
      assert.equal(json.rewritten_query, 'bananas');
      assert.equal(json.citations[0].documentTitle, 'fruit.md');
      assert.match(engine.prompts[1].user, /Question: What about the long fruit\?$/);
    }));

  test('rubbish instead of a rewritten question is passed over', () =>
    withEngine(cluster, ({ kind }) => (kind === 'rewrite' ? 'I would rather not.' : 'Yes [1].'), async () => {
      assert.equal(assertOk(await ask({ refine_prompt: true })).rewritten_query, QUESTION);
      const json = assertOk(await cluster.request('POST', '/api/rag/rewrite', { as: 'User_1', body: { question: QUESTION } }));
      assert.deepEqual(json, { rewritten_query: QUESTION, original_query: QUESTION, fallback: true });
    }));

  test('rerank puts the passage that the model prefers first', () =>
    withEngine(cluster, ({ kind, user }) => {
      if (kind !== 'ranking') return 'No mark at all.';
      const fruit = Object.entries(passagesOf(user)).find(([, text]) => text.includes('Bananas'))[0];
      return `{"ranking":[${fruit},99]}`;
    }, async (engine) => {
      const json = assertOk(await ask({ rerank: true, topK: 1 }));
      assert.deepEqual(engine.kinds(), ['ranking', 'answer']);
      assert.equal(json.rerank_used, true);
      assert.ok(Number.isInteger(json.rerank_latency_ms) && json.rerank_latency_ms >= 0);
      assert.deepEqual(json.citations.map(({ documentTitle }) => documentTitle), ['fruit.md']);
    }));

  test('a ranking that is none leaves the passages as they were', () =>
    withEngine(cluster, ({ kind }) => (kind === 'ranking' ? '{"ranking":"all"}' : 'Yes [1].'), async () => {
      const plain = assertOk(await ask());
      const json = assertOk(await ask({ rerank: true }));
      assert.equal(json.rerank_used, false);
      assert.deepEqual(json.citations, plain.citations);
    }));

  test('a stream begins with the sources and ends with the plain object', () =>
    withEngine(cluster, () => 'It lasts [2].', async () => {
      const { events } = await postStream(cluster, '/api/rag/ask', { as: 'User_1', body: { question: QUESTION, topK: 2 } });
      assert.equal(events[0].event, 'sources');
      events[0].data.sources.forEach(assertCitation);
      assert.equal(events.filter(({ event }) => event === 'token').map(({ data }) => data.text).join(''), 'It lasts [2].');
      const { event, data } = events.at(-1);
      assert.equal(event, 'done');
      assert.equal(data.answer, 'It lasts [2].');
      assert.deepEqual(data.citations, events[0].data.sources, 'marks name the same in the stream and in the answer');
    }));

  test('the agent and questions together are 20 a minute for an owner on the whole cluster', async () => {
    const nobody = { as: 'Frontend_1', query: { OnBehalfOf: 'nobody' } };
    const routes = ['/api/rag/ask', '/api/agent/run', '/api/agent/stream'];
    for (let i = 0; i < 20; i += 1) assert.equal((await cluster.request('POST', routes[i % 3], { ...nobody, node: i % 2, body: { question: QUESTION } })).status, 200);
    for (const route of routes) {
      const refused = await cluster.request('POST', route, { ...nobody, body: { question: QUESTION } });
      assertDocuProblem(refused, 429, 'rate_limited');
      assert.ok(Number(refused.headers['retry-after']) >= 1);
    }
    assert.equal((await cluster.request('POST', '/api/rag/ask', { as: 'Frontend_1', query: { OnBehalfOf: 'other' }, body: { question: QUESTION } })).status, 200);
  });
});

suite('rag ask without engines', { sweep: false }, ({ test, cluster }) => {
  let library;
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('o:User_1', MINE);
  });
  after(() => library?.close());

  test('no engine: 503 LLM_UNAVAILABLE, which may be tried again', async () => {
    for (const body of [{}, { refine_prompt: true, rerank: true }]) {
      const response = await cluster.request('POST', '/api/rag/ask', { as: 'User_1', body: { question: QUESTION, ...body } });
      assert.equal(assertDocuProblem(response, 503, 'LLM_UNAVAILABLE').retryable, true);
      assert.ok(Number(response.headers['retry-after']) >= 1);
    }
    for (const path of ['/api/agent/run', '/api/agent/stream']) {
      const response = await cluster.request('POST', path, { as: 'User_1', body: { question: QUESTION } });
      const problem = response.json ?? JSON.parse(/^data: (.*LLM_UNAVAILABLE.*)$/m.exec(response.text)[1]);
      assert.equal(problem.code, 'LLM_UNAVAILABLE');
      assert.equal(problem.retryable, true);
    }
  });

  test('a question that cannot be rewritten stays unchanged', async () => {
    const json = assertOk(await cluster.request('POST', '/api/rag/rewrite', { as: 'User_1', body: { question: QUESTION } }));
    assert.deepEqual(json, { rewritten_query: QUESTION, original_query: QUESTION, fallback: true });
  });
});
