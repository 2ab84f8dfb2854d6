// SPDX-License-Identifier: MIT
//
// The documents of the RAG chatbot (POST /ask; its /health is in tests/http/letters.test.mjs) and of DocuChat, route by
// route: members, names, statuses, headers and forms are those that they show. What Parley adds comes with Detail=true.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, beforeEach } from 'node:test';
import { openLibrary, postStream, withEngine } from '../support/asking.mjs';
import { assertRefused, forgetLimits, settled, upload, uploadIndexed } from '../support/documents.mjs';
import { assertMembers, assertOk, assertTimestamp, suite } from '../support/harness.mjs';
import { openDesk, prose, startEmbedder } from '../support/indexing.mjs';
import { openWatch } from '../support/websocket.mjs';

const QUESTION = 'How long does a lease last?';
const NOTHING = "I don't know based on the provided documents.";
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/; // a random UUID

// X-RateLimit-* of an answer, as numbers.
function rateOf({ headers }) {
  return ['limit', 'remaining', 'reset'].map((name) => {
    assert.match(headers[`x-ratelimit-${name}`] ?? 'missing', /^\d+$/, name);
    return Number(headers[`x-ratelimit-${name}`]);
  });
}

function assertRate(response, limit, remaining) {
  const [ofLimit, left, reset] = rateOf(response);
  assert.deepEqual([ofLimit, left], [limit, remaining]);
  assert.ok(reset >= 1 && reset <= 60, `X-RateLimit-Reset ${reset}`);
}

suite("the RAG chatbot's document: POST /ask", {}, ({ test, cluster }) => {
  let library;
  const ask = (body, options = {}) => cluster.request('POST', '/ask', { body, ...options });
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('c:public', { 'leases.md': '# Leases\n\nA lease lasts 150 seconds.\n' });
  });
  beforeEach(() => library.forgetLimits());
  after(() => library?.close());

  test('the answer is {"question","answer","sources":[{"url","content","score","position"}],"retrieval_time_ms","generation_time_ms"}', () =>
    withEngine(cluster, () => 'It lasts 150 seconds [1].', async () => {
      const answer = assertOk(await ask({ question: QUESTION, context: 'Heartbeats renew a lease.', top_k: 5 }));
      assertMembers(answer, ['question', 'answer', 'sources', 'retrieval_time_ms', 'generation_time_ms']);
      assert.deepEqual([answer.question, answer.answer], [QUESTION, 'It lasts 150 seconds [1].']);
      for (const source of answer.sources) assertMembers(source, ['url', 'content', 'score', 'position']);
      assert.match(answer.sources[0].url, /^https:\/\/host\/book\/leases\.md/);
      for (const name of ['retrieval_time_ms', 'generation_time_ms']) assert.ok(Number.isInteger(answer[name]) && answer[name] >= 0, name);
    }));

  test('an invalid field is 400: a question of no or of 4,001 characters, top_k of 0 or 21', async () => {
    for (const body of [{ question: '' }, { question: 'x'.repeat(4001) }, {}, { question: 7 }, { question: QUESTION, top_k: 0 }, { question: QUESTION, top_k: 21 }, { question: QUESTION, top_k: 1.5 }]) {
      assert.equal((await ask(body)).status, 400, JSON.stringify(body).slice(0, 60));
    }
  });

  test('every answer has X-RateLimit-Limit, -Remaining and -Reset, counted by address', async () => {
    const from = { headers: { 'X-Forwarded-For': '192.0.2.77' } };
    for (let i = 0; i < 20; i++) assertRate(await ask({ question: 'zzzzqqqq' }, { ...from, node: i % 2 }), 20, 19 - i);
    const refused = await ask({ question: 'zzzzqqqq' }, from);
    assert.equal(refused.status, 429);
    assertRate(refused, 20, 0);
    assert.equal(refused.headers['retry-after'], refused.headers['x-ratelimit-reset']);
  });

  test('of 40 questions at once on two nodes 20 are taken, each with another X-RateLimit-Remaining', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => ask({ question: `zzzzqqqq${i}` }, { node: i % 2 })));
    const left = answers.filter(({ status }) => status === 200).map((answer) => rateOf(answer)[1]);
    assert.deepEqual(left.sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i));
    for (const refused of answers.filter(({ status }) => status !== 200)) {
      assert.equal(refused.status, 429);
      assertRate(refused, 20, 0);
    }
  });

  test('without an engine the answer is 503 with Retry-After, and the request counts', async () => {
    const refused = await ask({ question: QUESTION });
    assert.equal(refused.status, 503);
    assert.ok(Number(refused.headers['retry-after']) >= 1);
    assertRate(refused, 20, 19);
  });
});

suite("DocuChat's document: documents", { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let embedder;
  let desk;
  before(async () => {
    embedder = await startEmbedder();
    for (let i = 0; i < 2; i++) await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#stub`] });
    desk = await openDesk(cluster.redis);
  });
  beforeEach(() => forgetLimits(cluster));
  after(() => {
    desk.close();
    return embedder.stop();
  });
  const get = (path, options = {}) => cluster.request('GET', path, { as: 'User_1', ...options });

  test('GET /api/me is {"id","username","email","roles"}', async () => {
    assert.deepEqual(assertOk(await get('/api/me')), { id: 'User_1', username: 'User_1', email: null, roles: ['user'] });
  });

  test('POST /api/docs/upload is 201 {"documentId","jobId","status":"QUEUED","filename"}', async () => {
    const queued = assertOk(await upload(cluster, { name: 'notes.md', bytes: prose(40, 1) }), 201);
    assertMembers(queued, ['documentId', 'jobId', 'status', 'filename']);
    assert.match(queued.documentId, ID);
    assert.match(queued.jobId, ID);
    assert.deepEqual([queued.status, queued.filename], ['QUEUED', 'notes.md']);
    await settled(cluster, 'User_1', queued.documentId);
  });

  test('the same bytes again are 200 with the ids and the name that are stored, and "duplicate":true', async () => {
    const bytes = prose(40, 2);
    const first = await uploadIndexed(cluster, { name: 'שלום 漢字 e\u0301 🎉.txt', bytes });
    const again = assertOk(await upload(cluster, { name: 'second.txt', bytes }));
    assert.deepEqual(again, { documentId: first.id, jobId: first.latestJob.id, status: 'INDEXED', filename: 'שלום 漢字 e\u0301 🎉.txt', duplicate: true });
  });

  test('Detail=true adds sha256 to the answer of an upload and to documents; without it there is none', async () => {
    const bytes = prose(40, 3);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const query = { Detail: 'true' };
    const first = assertOk(await upload(cluster, { name: 'sum.txt', bytes, query }), 201);
    assert.equal(first.sha256, sha256);
    assert.equal(assertOk(await upload(cluster, { name: 'sum2.txt', bytes, query })).sha256, sha256);
    assert.equal('sha256' in assertOk(await upload(cluster, { name: 'sum3.txt', bytes })), false);
    const one = (all) => all.documents.find(({ id }) => id === first.documentId);
    for (const path of ['/api/docs', '/api/docs/']) {
      assert.equal(one(assertOk(await get(path, { query }))).sha256, sha256);
      assert.equal('sha256' in one(assertOk(await get(path))), false);
    }
    assert.equal(assertOk(await get(`/api/docs/${first.documentId}`, { query })).sha256, sha256);
    assert.equal('sha256' in (await settled(cluster, 'User_1', first.documentId)), false);
  });

  test('an upload that is refused is 400 MISSING_FILE, 400 INVALID_FILE_TYPE or 413 FILE_TOO_LARGE, with the member error', async () => {
    assertRefused(await upload(cluster, { name: 'a.txt', bytes: 'x', field: 'document' }), 400, 'MISSING_FILE');
    assertRefused(await upload(cluster, { name: 'a.exe', bytes: 'MZ' }), 400, 'INVALID_FILE_TYPE');
    assertRefused(await upload(cluster, { name: 'a.txt', bytes: Buffer.alloc((25 << 20) + 1, 'x') }), 413, 'FILE_TOO_LARGE');
  });

  test('a job is INDEXING in its stages, and INDEXED and COMPLETE at its end, as its document is', async () => {
    const release = embedder.hold();
    const { documentId, jobId } = assertOk(await upload(cluster, { name: 'held.txt', bytes: prose(300, 4) }), 201);
    await desk.stage(jobId, 'EMBED');
    const held = assertOk(await get(`/api/docs/${documentId}`));
    assert.deepEqual([held.status, held.latestJob.id, held.latestJob.status, held.latestJob.stage], ['INDEXING', jobId, 'INDEXING', 'EMBED']);
    release();
    const done = await settled(cluster, 'User_1', documentId);
    assert.deepEqual([done.status, done.latestJob], ['INDEXED', { id: jobId, status: 'INDEXED', stage: 'COMPLETE', progress: 100, errorMessage: null, createdAt: held.latestJob.createdAt, updatedAt: done.latestJob.updatedAt }]);
    assert.ok(Date.parse(done.latestJob.createdAt) <= Date.parse(held.latestJob.updatedAt) && Date.parse(held.latestJob.updatedAt) <= Date.parse(done.latestJob.updatedAt));
  });

  test('a job that cannot be done is FAILED, as its document is, in the stage that failed, with its reason', async () => {
    const { documentId } = assertOk(await upload(cluster, { name: 'broken.pdf', bytes: '%PDF-1.4\nno' }), 201);
    const { status, latestJob } = await settled(cluster, 'User_1', documentId);
    assert.deepEqual([status, latestJob.status, latestJob.stage], ['FAILED', 'FAILED', 'PARSE']);
    assert.match(latestJob.errorMessage, /PDF/);
  });

  test('GET /api/docs and /api/docs/{id} have the members of the document, and times with their zone', async () => {
    const { id } = await uploadIndexed(cluster, { as: 'User_2', name: 'members.txt', bytes: prose(40, 5) });
    for (const path of ['/api/docs', '/api/docs/']) {
      const { documents, ...rest } = assertOk(await get(path, { as: 'User_2' }));
      assert.deepEqual(rest, {});
      // needsReindex is Parley's own.
      for (const doc of documents) assertMembers(doc, ['id', 'filename', 'contentType', 'sizeBytes', 'contentHash', 'status', 'createdAt', 'updatedAt', 'latestJob', 'needsReindex']);
    }
    const doc = assertOk(await get(`/api/docs/${id}`, { as: 'User_2' }));
    assert.equal(doc.chunkCount, 1);
    assertMembers(doc.latestJob, ['id', 'status', 'stage', 'progress', 'errorMessage', 'createdAt', 'updatedAt']);
    for (const time of [doc.latestJob.createdAt, doc.latestJob.updatedAt]) assertTimestamp(time);
    for (const name of ['createdAt', 'updatedAt']) assertTimestamp(doc[name]);
    const chunk = assertOk(await get(`/api/docs/${id}/chunks/0`, { as: 'User_2' }));
    assertMembers(chunk, ['docId', 'chunkId', 'chunkIndex', 'text', 'filename', 'charStart', 'charEnd']);
    assertRefused(await get(`/api/docs/${id}`), 404);
    assert.equal(assertOk(await cluster.request('POST', `/api/docs/${id}/reindex`, { as: 'User_2' }), 202).status, 'QUEUED');
    await settled(cluster, 'User_2', id);
    assertOk(await cluster.request('DELETE', `/api/docs/${id}/delete`, { as: 'User_2' }));
    assertRefused(await get(`/api/docs/${id}`, { as: 'User_2' }), 404);
  });

  test('/ws/indexing sends a frame for each stage, the last one index_complete in the stage COMPLETE, with times that have their zone', async () => {
    const { Token } = assertOk(await get('/api/login', { as: 'User_2' }));
    const socket = await openWatch(`${cluster.nodes[0].url}/ws/indexing?token=${Token}`);
    assert.deepEqual(await socket.next(), { type: 'connected' });
    const { documentId, jobId } = assertOk(await upload(cluster, { as: 'User_2', name: 'watched.txt', bytes: prose(300, 6), node: 1 }), 201);
    const frames = (await socket.until('index_complete', ({ data }) => data.document_id === documentId)).filter(({ data }) => data?.document_id === documentId);
    for (const { type, data } of frames) {
      assertMembers(data, ['type', 'document_id', 'job_id', 'user_id', 'stage', 'progress', 'message', 'timestamp', 'documentId', 'jobId', 'userId']);
      assert.deepEqual([data.type, data.job_id, data.user_id], [type, jobId, 'User_2']);
      assertTimestamp(data.timestamp);
    }
    assert.deepEqual([...new Set(frames.map(({ data }) => data.stage))], ['PARSE', 'CHUNK', 'EMBED', 'STORE', 'COMPLETE']);
    assert.deepEqual([frames.at(-1).data.stage, frames.at(-1).data.progress], ['COMPLETE', 100]);
    await socket.close();
  });

  test('every upload that counts has X-RateLimit-Limit, -Remaining and -Reset: of the minute, or of the hour where that has fewer left', async () => {
    const bytes = prose(40, 7);
    assertRate(await upload(cluster, { name: 'rate.txt', bytes }), 5, 4);
    for (const left of [3, 2, 1, 0]) assertRate(await upload(cluster, { name: 'rate.txt', bytes }), 5, left);
    const refused = await upload(cluster, { name: 'rate.txt', bytes });
    assertRefused(refused, 429, 'rate_limited');
    assertRate(refused, 5, 0);
    assert.equal(refused.headers['retry-after'], refused.headers['x-ratelimit-reset']);
    // 48 uploads of the last hour, half an hour ago.
    const key = (await cluster.redis.cmd('KEYS', '*:limit:upload:User_1'))[0];
    await cluster.redis.cmd('DEL', key);
    const ago = (Date.now() - 1_800_000) * 1000;
    await cluster.redis.cmd('ZADD', key, ...Array.from({ length: 48 }, (_, i) => [ago + i, `u${i}`]).flat());
    const [limit, left, reset] = rateOf(await upload(cluster, { name: 'rate.txt', bytes }));
    assert.deepEqual([limit, left], [50, 1]);
    assert.ok(reset > 1_000 && reset <= 1_800, `X-RateLimit-Reset ${reset}`);
  });

  test('a browser may read them: they are among the headers that CORS exposes', async () => {
    const { headers } = await get('/api/docs', { headers: { Origin: 'https://app.example' } });
    for (const name of ['Limit', 'Remaining', 'Reset']) assert.ok(headers['access-control-expose-headers'].split(', ').includes(`X-RateLimit-${name}`), name);
  });
});

suite("DocuChat's document: asking", {}, ({ test, cluster }) => {
  let library;
  const CITATION = ['docId', 'chunkId', 'chunkIndex', 'snippet', 'score', 'documentTitle', 'page'];
  const ENTRY = ['type', 'tool', 'input', 'outputSummary', 'steps', 'notes', 'error'];
  const post = (path, body, options = {}) => cluster.request('POST', path, { as: 'User_1', body, ...options });
  const reply = ({ kind }) =>
    ({ rewrite: '{"rewritten_query":"lease duration"}', plan: '{"steps":["Search","Answer"]}', step: '{"tool":"final","input":{}}', ranking: '{"ranking":[1]}' })[kind] ?? 'It lasts 150 seconds [1].';
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('o:User_1', { 'leases.md': '# Leases\n\nA lease lasts 150 seconds.\n', 'fruit.md': 'No lease is a banana.\n' });
  });
  beforeEach(() => library.forgetLimits());
  after(() => library?.close());

  test('POST /api/rag/retrieve is {"query","citations"}', async () => {
    const found = assertOk(await post('/api/rag/retrieve', { query: QUESTION, topK: 5 }));
    assertMembers(found, ['query', 'citations']);
    assert.equal(found.query, QUESTION);
    for (const citation of found.citations) assertMembers(citation, CITATION);
  });

  test('POST /api/rag/rewrite is {"rewritten_query","original_query","fallback"}', () =>
    withEngine(cluster, reply, async () => {
      const rewritten = assertOk(await post('/api/rag/rewrite', { question: QUESTION }));
      assert.deepEqual(rewritten, { rewritten_query: 'lease duration', original_query: QUESTION, fallback: false });
    }));

  test('POST /api/rag/ask is {"answer","citations","model"}, with three members more where refine_prompt and rerank were used', () =>
    withEngine(cluster, reply, async () => {
      const body = { question: QUESTION, topK: 5, temperature: 0.2, maxTokens: 500, refine_prompt: false, rerank: false };
      const plain = assertOk(await post('/api/rag/ask', body));
      assertMembers(plain, ['answer', 'citations', 'model']);
      assert.ok(plain.citations.length > 0);
      for (const citation of plain.citations) assertMembers(citation, CITATION);
      const used = assertOk(await post('/api/rag/ask', { ...body, refine_prompt: true, rerank: true }));
      assertMembers(used, ['answer', 'citations', 'model', 'rewritten_query', 'rerank_used', 'rerank_latency_ms']);
    }));

  test('where nothing is found, the answer is the sentence of the document, without citations', async () => {
    for (const path of ['/api/rag/ask', '/api/agent/run']) {
      const { answer, citations } = assertOk(await post(path, { question: 'zzzzqqqq' }));
      assert.deepEqual([answer, citations], [NOTHING, []]);
    }
  });

  test('without an engine /api/rag/ask is 503 LLM_UNAVAILABLE with retryable', async () => {
    const refused = await post('/api/rag/ask', { question: QUESTION });
    assert.equal(assertRefused(refused, 503, 'LLM_UNAVAILABLE').retryable, true);
  });

  test('POST /api/agent/run is {"answer","citations","trace"}, and a question has at most 2,000 characters', () =>
    withEngine(cluster, reply, async () => {
      const run = assertOk(await post('/api/agent/run', { question: QUESTION, mode: 'agent', returnTrace: true }));
      assertMembers(run, ['answer', 'citations', 'trace']);
      assert.ok(run.trace.length > 0);
      for (const entry of run.trace) assertMembers(entry, ENTRY);
      assertRefused(await post('/api/agent/run', { question: 'x'.repeat(2001) }), 400);
    }));

  test('POST /api/agent/stream writes the data line of each event before its event line, and ends with complete', () =>
    withEngine(cluster, reply, async () => {
      const { status, text, events } = await postStream(cluster, '/api/agent/stream', { as: 'User_1', body: { question: QUESTION } });
      assert.equal(status, 200);
      for (const block of text.split('\n\n').filter((one) => one && !one.startsWith(':'))) assert.match(block, /^data: [^\n]*\nevent: (trace|complete|error)$/);
      assert.equal(events.at(-1).event, 'complete');
      assertMembers(events.at(-1).data, ['answer', 'citations', 'trace']);
    }));

  test('every answer of /api/rag/ask, /api/agent/run and /api/agent/stream has X-RateLimit-Limit, -Remaining and -Reset, and they count together', async () => {
    const paths = ['/api/rag/ask', '/api/agent/run', '/api/agent/stream'];
    const as = { as: 'Frontend_1', query: { OnBehalfOf: 'rated' } };
    for (let i = 0; i < 20; i++) assertRate(await post(paths[i % 3], { question: 'zzzzqqqq' }, { ...as, node: i % 2 }), 20, 19 - i);
    for (const path of paths) {
      const refused = await post(path, { question: 'zzzzqqqq' }, as);
      assertRefused(refused, 429, 'rate_limited');
      assertRate(refused, 20, 0);
    }
    assertRate(await post('/api/rag/ask', { question: QUESTION }), 20, 19); // 503: no engine
  });
});
