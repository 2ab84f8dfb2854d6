// SPDX-License-Identifier: MIT
//
// Tools of POST /mcp that ask a model, with the official client: answers, progress, and clients that leave.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { openLibrary, passagesOf, withEngine } from '../support/asking.mjs';
import { ACCOUNTS, assertOk, eventually, newTopic, suite } from '../support/harness.mjs';
import { assertResult, assertToolError, callTool, credentials, openMcp, post } from '../support/mcp.mjs';

const QUESTION = 'How long does a lease last?';

const accounts = { ...ACCOUNTS, ...Object.fromEntries(['Usage_1', 'Usage_2'].map((name) => [name, { secret: `secret-of-${name}`, role: 'user' }])) };

suite('models as tools', { accounts }, ({ test, cluster }) => {
  let library;
  const clients = {};
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('o:User_1', { 'leases.md': '# Leases\n\nA lease lasts 150 seconds. Heartbeats renew a lease.\n' });
    await library.store('o:User_2', { 'theirs.md': 'Their lease lasts 77 seconds. Nobody else may know.' });
    for (const as of ['User_1', 'User_2']) {
      clients[as] = await openMcp(cluster, { as });
      await clients[as].listTools(); // so that it checks results
    }
  });
  beforeEach(() => library.forgetLimits());
  after(async () => {
    for (const client of Object.values(clients)) await client.close();
    library?.close();
  });

  // A question of the tool `ask`, and what its client has heard so far.
  const ask = (args, { as = 'User_1', ...options } = {}) => {
    const notes = [];
    const result = clients[as].callTool({ name: 'ask', arguments: args }, undefined, { onprogress: (note) => notes.push(note), ...options });
    result.catch(() => {});
    return { notes, result, heard: (text) => eventually(() => notes.some(({ message }) => text.test(message)), { what: `a note like ${text}` }) };
  };
  const statusOf = async (Topic, Seq = 1, as = 'User_1') => (await cluster.check({ as, Topic, Seq, detail: true })).Status;
  const isQueued = (Topic) => eventually(async () => (await cluster.checkRaw({ as: 'User_1', Topic })).status === 200, { what: 'the question is queued' });
  const takesStream = { Accept: 'application/json, text/event-stream' };

  test('an answer from the documents names its sources', () =>
    withEngine(cluster, ({ user }) => {
      assert.ok(!user.includes('77 seconds'));
      return `It lasts 150 seconds [${Object.keys(passagesOf(user))[0]}].`;
    }, async () => {
      const notes = [];
      const { content, structuredContent, isError } = await clients.User_1.callTool({ name: 'ask_documents', arguments: { question: QUESTION, topK: 3 } }, undefined, { onprogress: (note) => notes.push(note) });
      assert.notEqual(isError, true, content[0].text);
      assert.equal(structuredContent.answer, 'It lasts 150 seconds [1].');
      assert.equal(structuredContent.citations[0].documentTitle, 'leases.md');
      assert.match(content[0].text, /^It lasts 150 seconds \[1\]\.\n\nSources:\n\[1\] leases\.md, passage 0 of document [0-9a-f-]{36}$/);
      assert.equal(notes[0].message, 'Passages were found.');
      assert.deepEqual(notes.map(({ progress }) => progress), notes.map((_, i) => i + 1));
    }));

  test('what is not in the documents is said so, and without an engine there is no answer', async () => {
    const { structuredContent } = await clients.User_2.callTool({ name: 'ask_documents', arguments: { question: 'zxcvbnm qwertz' } });
    assert.deepEqual([structuredContent.answer, structuredContent.citations], ["I don't know based on the provided documents.", []]);
    const { isError, content } = await clients.User_1.callTool({ name: 'ask_documents', arguments: { question: QUESTION } });
    assert.equal(isError, true);
    assert.match(content[0].text, /^No engine is connected/);
  });

  test('too many questions about documents are refused as on their route, with the wait', async () => {
    const one = () => callTool(cluster, 'ask_documents', { question: 'zxcvbnm qwertz' }, { as: 'User_2' });
    for (let i = 0; i < 20; i++) assert.notEqual(assertResult(await one()).isError, true);
    assertToolError(await one(), /Retry after \d+ s\.$/);
  });

  test('a question waits in the queue, and its client sees its place and that an engine has begun', async () => {
    const topic = newTopic();
    const asked = ask({ question: 'Why is the sky blue?', topic });
    await asked.heard(/^Place 1 in the queue/);
    const claim = await cluster.claim({ wait: 10, detail: true });
    assert.deepEqual([claim.Topic, claim.Queries], [topic, [{ 1: 'Why is the sky blue?' }]]);
    assertOk(await cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body: { Topic: topic, Seq: 1, Lease: claim.Lease, Offset: 0, Answer: 'Because' } }));
    await asked.heard(/^A model answers\.$/);
    await cluster.answer({ Topic: topic, Seq: 1, Query: 'Why is the sky blue?', Lease: claim.Lease, Answer: ['Because of', 'Rayleigh.'], Model: 'llama3' });
    const { content, structuredContent } = await asked.result;
    assert.equal(content[0].text, 'Because of\nRayleigh.');
    assert.deepEqual(structuredContent, { topic, seq: 1, answer: 'Because of\nRayleigh.', model: 'llama3' });
  });

  test('without a topic a question gets one of its own, in which the next one continues', async () => {
    const first = ask({ question: 'First question?' });
    const claim = await cluster.claim({ wait: 10 });
    await cluster.answer({ Topic: claim.Topic, Seq: 1, Query: 'First question?', Lease: claim.Lease, Answer: ['One.'] });
    const { structuredContent: { topic } } = await first.result;
    assert.match(topic, /^mcp-[0-9a-f]{18}$/);
    const second = ask({ question: 'Second question?', topic });
    const next = await cluster.claim({ wait: 10, history: true });
    await cluster.answer({ Topic: topic, Seq: 2, Query: 'Second question?', Lease: next.Lease, Answer: ['Two.'] });
    assert.equal((await second.result).structuredContent.seq, 2);
    const { isError, content } = await ask({ question: 'Whose is it?', topic }, { as: 'User_2' }).result;
    assert.deepEqual([isError, await statusOf(topic, 2)], [true, 'Done'], content[0].text);
  });

  test('a client that hangs up cancels its question', async () => {
    for (const headers of [takesStream, { Accept: 'application/json' }]) {
      const topic = newTopic();
      const leaving = new AbortController();
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask', arguments: { question: 'Is anybody there?', topic } } });
      const gone = fetch(new URL('/mcp', cluster.pick().url), { method: 'POST', headers: { Authorization: credentials('User_1'), ...headers }, body, signal: leaving.signal })
        .then((response) => response.text())
        .catch(({ name }) => name);
      await isQueued(topic);
      leaving.abort();
      assert.equal(await gone, 'AbortError');
      await eventually(async () => (await statusOf(topic)) === 'Cancelled', { what: 'the question is cancelled' });
    }
  });

  test('a client that takes no stream gets the answer in one piece', async () => {
    const topic = newTopic();
    const response = callTool(cluster, 'ask', { question: 'One piece, please?', topic }, { headers: { Accept: 'application/json' } });
    const claim = await cluster.claim({ wait: 10 });
    await cluster.answer({ Topic: topic, Seq: 1, Query: 'One piece, please?', Lease: claim.Lease, Answer: ['Here.'] });
    assert.equal(assertResult(await response).structuredContent.answer, 'Here.');
  });

  test('a question that is cancelled is a failure that says so', async () => {
    const topic = newTopic();
    const asked = ask({ question: 'Will it be answered?', topic });
    await isQueued(topic);
    assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'User_1', body: { Topic: topic, Seq: 1, Reason: 'No longer needed.' } }));
    const { isError, content } = await asked.result;
    assert.deepEqual([isError, content[0].text], [true, 'No longer needed.']);
  });

  test('a node that drains says so, and withdraws the question', async () => {
    const topic = newTopic();
    const node = await cluster.startNode();
    const response = callTool(cluster, 'ask', { question: 'Are you leaving?', topic }, { node, headers: takesStream });
    await isQueued(topic);
    node.signal('SIGTERM');
    const { text } = await response;
    assert.match(text, /"isError":true/);
    assert.match(text, /This node is shutting down: call again\./);
    await eventually(async () => (await statusOf(topic)) === 'Cancelled', { what: 'the question is cancelled' });
    await node.stop();
  });

  test('an account of role frontend asks for the person in its header', async () => {
    const topic = newTopic();
    const response = callTool(cluster, 'ask', { question: 'Who asks this?', topic }, { as: 'Frontend_1', headers: { 'X-Parley-User': 'alice', Accept: 'application/json' } });
    const claim = await cluster.claim({ wait: 10, detail: true });
    assert.equal(claim.Details[1].User, 'alice');
    await cluster.answer({ Topic: topic, Seq: 1, Query: 'Who asks this?', Lease: claim.Lease, Answer: ['You.'] });
    assert.equal(assertResult(await response).structuredContent.answer, 'You.');
  });

  test('a question is counted, listed, deleted and noted as one of its route', async () => {
    const both = ['Usage_1', 'Usage_2'];
    const Usage = { prompt_tokens: 7, completion_tokens: 5 };
    const asked = [
      (Query, Topic) => cluster.request('POST', '/api/add-query', { as: both[0], query: { Wait: 30 }, body: { Topic, User: both[0], Query } }),
      (question, topic) => callTool(cluster, 'ask', { question, topic }, { as: both[1], headers: { Accept: 'application/json' } }),
    ];
    const seen = [];
    for (const [i, as] of both.entries()) {
      const topic = newTopic();
      const response = asked[i]('Who counts this?', topic);
      const claim = await cluster.claim({ wait: 10, detail: true });
      await cluster.answer({ Topic: topic, Seq: 1, Query: 'Who counts this?', Lease: claim.Lease, Answer: ['We do.'], Model: 'm', FinishReason: 'stop', Usage });
      assert.equal((await response).status, 200);
      const of = async (path, query) => assertOk(await cluster.request('GET', path, { as, query }));
      const days = (await of('/api/usage')).accounts.map(({ account, ...rest }) => rest);
      const { User, ...person } = await of(`/api/users/${as}/usage`);
      assertOk(await cluster.request('DELETE', '/api/topic', { as, query: { Topic: topic, OnBehalfOf: as } }));
      const { Id, Timestamp, Node, Request, ...noted } = await eventually(async () => {
        const { Events } = assertOk(await cluster.request('GET', '/api/audit', { as: 'Operator_1', query: { Limit: 50 } }));
        return Events.find(({ Account }) => Account === as);
      }, { what: 'the deletion is noted' });
      seen.push(JSON.parse(JSON.stringify({ days, person, noted }).replaceAll(topic, 'TOPIC').replaceAll(as, 'ACCOUNT')));
    }
    assert.ok(JSON.stringify(seen[0].days).includes('"prompt_tokens":7'), JSON.stringify(seen[0].days));
    assert.deepEqual(seen[1], seen[0]);
  });

  test('arguments and progress tokens that are wrong', async () => {
    const wrong = [
      ['ask', {}, /^question is missing/],
      ['ask', { question: 'x'.repeat(32001) }, /^question must be a text of 1 to 32000 characters/],
      ['ask', { question: 'Why?', topic: 'with space' }, /topic/i],
      ['ask', { question: 'Why?', topic: 'x'.repeat(129) }, /^topic must/],
      ['ask', { question: 'Why?', model: 7 }, /^model must/],
      ['ask_documents', { question: 'Why?', rerank: 'yes' }, /^rerank must be true or false/],
      ['ask_documents', { question: 'ä'.repeat(4001) }, /^question must/],
    ];
    for (const [name, args, text] of wrong) assertToolError(await callTool(cluster, name, args), text);
    for (const progressToken of [{}, [], null, 'x'.repeat(300)]) {
      const params = { name: 'ask_documents', arguments: { question: 'zxcvbnm qwertz' }, _meta: { progressToken } };
      const { status, text } = await post(cluster, 'tools/call', params, { headers: takesStream });
      assert.equal(status, 200);
      assert.deepEqual(text.match(/^data: .*$/gm).length, 1, text);
    }
  });
});
