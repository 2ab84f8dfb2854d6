// SPDX-License-Identifier: MIT
//
// POST /mcp under clients that mean harm, or that leave: the largest messages, thousands of them, other people's documents, and a
// Redis that is gone for a while.
import assert from 'node:assert/strict';
import { before } from 'node:test';
import { holdScripts } from '../cluster/watch.mjs';
import { uploadIndexed } from '../support/documents.mjs';
import { assertOk, assertProblem, eventually, newTopic, suite } from '../support/harness.mjs';
import { assertResult, assertRpcError, assertToolError, callTool, openMcp, post, postStateless } from '../support/mcp.mjs';

const MESSAGE_BYTES = 256 << 10;
const nested = (depth, inside = '1') => `${'[{"a":'.repeat(depth)}${inside}${'}]'.repeat(depth)}`;
const call = (name, args) => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`;
const padded = (text, bytes = MESSAGE_BYTES) => Buffer.from(text + ' '.repeat(bytes - Buffer.byteLength(text)));
const topicsIn = async (cluster) => (await cluster.redis.cmd('KEYS', '*:t:*')).length;
const takesStream = { Accept: 'application/json, text/event-stream' };

suite('hostile messages', { nodes: 1, args: ['--threads=1'], sweep: false }, ({ test, cluster }) => {
  // Sends them in rounds of 50 and checks each answer.
  const flood = async (n, body, check, options) => {
    for (let sent = 0; sent < n; sent += 50) for (const response of await Promise.all(Array.from({ length: 50 }, () => post(cluster, body, undefined, options)))) check(response);
  };

  test('a thousand messages of 256 KiB that are nested without end are 400, and store nothing', async () => {
    const stored = await topicsIn(cluster);
    const body = padded(call('ask', nested(30_000)));
    await flood(1000, body, (response) => assertRpcError(response, 400, -32700, /not valid JSON/, null));
    assert.equal(await topicsIn(cluster), stored);
    assertProblem(await post(cluster, padded(call('ask', '{}'), MESSAGE_BYTES + 1)), 413, 'too_large');
  });

  test('arguments as deep and as many as a message holds are answered with one sentence', async () => {
    const deep = nested(500);
    const wide = Array.from({ length: 20_000 }, (_, i) => `"a${i}":0`).join(',');
    const wrong = [
      [call('search_documents', `{"query":${deep}}`), /^query must be a text/],
      [call('ask', `{"question":${deep}}`), /^question must be a text/],
      [call('ask', `{${wide}}`), /is no argument of ask/],
      [call('list_documents', `{"limit":${'9'.repeat(18)}}`), /^limit must/],
      [call('list_documents', '{"limit":1e300}'), /^limit must/],
      [call('read_passage', `{"docId":"${'0'.repeat(200_000)}","chunkIndex":0}`), /^docId must/],
      [call('ask_documents', `{"question":"${'x'.repeat(200_000)}"}`), /^question must/],
      [call('ask', `{"question":"Why?","topic":"${'\\u0001'.repeat(100)}"}`), /topic/i],
    ];
    for (const [body, text] of wrong) {
      const response = await post(cluster, Buffer.from(body));
      assertToolError(response, text);
      assert.ok(response.text.length < 2000, response.text);
    }
  });

  test('an id of each kind of JSON comes back as it was, or is refused', async () => {
    const idOf = async (id) => (await post(cluster, Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`))).text;
    for (const id of ['0', '-1', '1.5', '9007199254740993', '-9223372036854775808', '""', '"x"', '"\\u0001\\"\\\\"', '"😀"', `"${'x'.repeat(254)}"`])
      assert.equal(await idOf(id), `{"jsonrpc":"2.0","id":${id},"result":{}}`);
    assert.equal(JSON.parse(await idOf('1e308')).id, 1e308);
    for (const id of ['null', 'true', 'false', '[]', '{}', nested(100), `"${'x'.repeat(255)}"`, `"${'\\u0001'.repeat(50)}"`])
      assertRpcError(await post(cluster, Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)), 400, -32600, /^id must/, null);
    for (const id of ['9223372036854775808', '1e999', '"\\u0000"', '"\\ud800"', 'NaN', '01', "'x'", ''])
      assertRpcError(await post(cluster, Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)), 400, -32700, /not valid JSON/, null);
  });

  test('methods that do not exist are named back in a short sentence', async () => {
    for (const method of ['', ' ', 'PING', 'tools/call/', 'tools', '__proto__', 'notifications/', '../metrics', '\x01"\\', 'ä'.repeat(1000), 'x'.repeat(250_000)]) {
      const response = await post(cluster, { jsonrpc: '2.0', id: 1, method });
      assertRpcError(response, 200, -32601, /^There is no method/);
      assert.ok(response.text.length < 2000, response.text);
    }
    for (const method of ['ping', 'initialize', 'tools/call', 'x'.repeat(1000)]) {
      const { status, text } = await post(cluster, { jsonrpc: '2.0', method, params: {} });
      assert.deepEqual([status, text], [202, ''], 'a note is not answered');
    }
  });

  test('pages of other origins call nothing where the origins are listed', async () => {
    const node = await cluster.startNode({ args: ['--cors-origins=https://chat.example,https://b.example'] });
    const stored = await topicsIn(cluster);
    for (const Origin of ['https://evil.example', 'null', '', 'https://chat.example.evil', 'https://chat.example:8443', 'http://chat.example', 'https://chat.example,https://b.example', '*'])
      for (const body of [call('ask', '{"question":"Why?"}'), 'x', ''])
        assertProblem(await post(cluster, Buffer.from(body), undefined, { node, headers: { Origin } }), 403, 'forbidden');
    assert.equal(await topicsIn(cluster), stored);
    assertResult(await post(cluster, 'ping', undefined, { node, headers: { Origin: 'https://b.example' } }));
    await cluster.nodes.pop().stop();
  });
});

suite("two accounts that want each other's documents", { nodes: 1, sweep: false }, ({ test, cluster }) => {
  const docs = { User_1: [], User_2: [] };
  before(async () => {
    for (const as of Object.keys(docs)) for (const i of [0, 1]) docs[as].push(await uploadIndexed(cluster, { as, name: `${as}-${i}.md`, bytes: `Only ${as} may read this secret, number ${i}.` }));
  });

  test('get nothing by any tool, resource, cursor or header', async () => {
    for (const [as, other] of [['User_1', 'User_2'], ['User_2', 'User_1']]) {
      const first = assertResult(await callTool(cluster, 'list_documents', { limit: 1 }, { as: other })).structuredContent;
      const headers = { 'X-Parley-User': other, 'X-Parley-On-Behalf-Of': other };
      const answers = [];
      for (const send of [post, postStateless])
        for (const { id } of docs[other]) {
          const uri = `parley://documents/${id}`;
          for (const [method, params] of [
            ['tools/call', { name: 'read_passage', arguments: { docId: id, chunkIndex: 0, around: 10 } }],
            ['tools/call', { name: 'read_passage', arguments: { docId: id, chunkIndex: 0, OnBehalfOf: other } }],
            ['tools/call', { name: 'search_documents', arguments: { query: `Only ${other} may read this secret`, topK: 20 } }],
            ['tools/call', { name: 'list_documents', arguments: { after: first.next } }],
            ['tools/call', { name: 'ask_documents', arguments: { question: `zxcvb ${id}` } }],
            ['resources/read', { uri }],
            ['resources/read', { uri: `${uri}/passages/0` }],
            ['resources/list', { cursor: first.next }],
            ['resources/list', { cursor: `${first.next}&OnBehalfOf=${other}` }],
          ])
            answers.push((await send(cluster, method, params, { as, headers })).text);
        }
      for (const text of answers) assert.doesNotMatch(text, new RegExp(`Only ${other} may read this secret, number|${other}-\\d\\.md`));
    }
  });
});

suite('a Redis that is gone', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  test('is said to models and programs, and both get their answers once it is back', async () => {
    const add = () => uploadIndexed(cluster, { name: 'leases.md', bytes: '# Leases\n\nA lease lasts 150 seconds.' });
    const doc = await add();
    const calls = [['list_documents', {}], ['read_passage', { docId: doc.id, chunkIndex: 0 }], ['search_documents', { query: 'lease' }], ['ask', { question: 'Why?' }]];
    await cluster.redis.kill();
    for (const [name, args] of calls) assertToolError(await callTool(cluster, name, args), /^Storage is unreachable: retry shortly/);
    for (const [method, params] of [['resources/list'], ['resources/read', { uri: `parley://documents/${doc.id}` }]]) assertRpcError(await post(cluster, method, params), 200, -32603, /^Storage is unreachable: retry shortly/);
    assertResult(await post(cluster, 'tools/list'));
    assertResult(await post(cluster, 'initialize', { protocolVersion: '2025-11-25' }));
    await cluster.redis.restart();
    await eventually(async () => assertResult(await callTool(cluster, 'list_documents', {})).isError !== true, { what: 'documents are listed again' });
    const { id } = await add(); // this Redis keeps nothing
    assert.match(assertResult(await post(cluster, 'resources/read', { uri: `parley://documents/${id}` })).contents[0].text, /150 seconds/);
  });
});

suite('the largest results', { nodes: 1, args: ['--threads=1', `--body-max-bytes=${12 << 20}`], sweep: false }, ({ test, cluster }) => {
  // Each character takes four bytes, or an escape, which is escaped again in the text for clients that read no structure.
  const words = (word, n) => Array.from({ length: n }, (_, i) => `${word.repeat(80)}${i}.`).join(' ');

  test('passages and pages of the widest characters are whole', async () => {
    for (const [name, word] of [['😀', '😀'], ['q', '"\\']]) {
      const doc = await uploadIndexed(cluster, { name: `${name.repeat(40)}.txt`, bytes: words(word, 4000) });
      const { structuredContent } = assertResult(await callTool(cluster, 'read_passage', { docId: doc.id, chunkIndex: 20, around: 10 }));
      assert.equal(structuredContent.before.length + structuredContent.after.length, 20);
      assert.ok(structuredContent.text.includes(word.repeat(80)));
      const { contents } = assertResult(await post(cluster, 'resources/read', { uri: `parley://documents/${doc.id}` }));
      assert.match(contents[0].text, /\[The document continues at parley:\/\/documents\/[0-9a-f-]+\/passages\/10\]$/);
      const found = assertResult(await callTool(cluster, 'search_documents', { query: `${word.repeat(80)}7`, topK: 20 }));
      assert.deepEqual(JSON.parse(found.content[0].text), found.structuredContent);
    }
  });

  test('the longest answer that is stored reaches its client', async () => {
    for (const answer of ['x'.repeat((8 << 20) - 100), '"'.repeat((4 << 20) - 50)])
      for (const Accept of ['application/json', takesStream.Accept]) {
        const topic = newTopic();
        const response = callTool(cluster, 'ask', { question: 'A long answer, please.', topic }, { headers: { Accept } });
        const claim = await cluster.claim({ wait: 10 });
        await cluster.answer({ Topic: topic, Seq: 1, Query: 'A long answer, please.', Lease: claim.Lease, Answer: [answer] });
        const { status, text } = await response;
        assert.equal(status, 200);
        assert.ok(text.includes(`"answer":${JSON.stringify(answer)}`), text.slice(-1000));
      }
  });
});

suite('clients that leave', { nodes: 1, args: ['--threads=1'], sweep: false }, ({ test, cluster }) => {
  const statuses = async () => {
    const topics = assertOk(await cluster.request('GET', '/api/user-topics', { as: 'User_1', query: { OnBehalfOf: 'User_1' } }));
    return Promise.all(Object.keys(topics).map(async (Topic) => (await cluster.check({ as: 'User_1', Topic, Seq: 1, detail: true })).Status));
  };
  const leaving = (args, headers = takesStream) => cluster.open('POST', '/mcp', { as: 'User_1', headers, body: JSON.parse(call('ask', JSON.stringify(args))) });

  test('before their questions are queued, and after, leave none that an engine would answer', async () => {
    const held = await holdScripts(cluster.redis);
    const early = [leaving({ question: 'Is anybody there?' }), leaving({ question: 'Is anybody there?' }, { Accept: 'application/json' })];
    await held.blocked();
    for (const client of early) client.abort();
    await held.release();
    const late = Array.from({ length: 50 }, () => leaving({ question: 'Is anybody there?' }));
    await eventually(async () => (await statuses()).length === 52, { what: 'all are queued' });
    for (const client of late) client.abort();
    await eventually(async () => (await statuses()).every((status) => status === 'Cancelled'), { what: 'all are cancelled' });
  });

  test('a client that only says so with notifications/cancelled has its question answered, until it closes its connection', async () => {
    const client = await openMcp(cluster);
    const topics = [newTopic(), newTopic()];
    for (const topic of topics) {
      const stop = new AbortController();
      const asked = client.callTool({ name: 'ask', arguments: { question: 'Never mind?', topic } }, undefined, { signal: stop.signal });
      await eventually(async () => (await cluster.checkRaw({ as: 'User_1', Topic: topic })).status === 200, { what: 'the question is queued' });
      stop.abort();
      await assert.rejects(asked, /abort/i);
    }
    assertResult(await post(cluster, 'ping'));
    assert.equal((await cluster.check({ as: 'User_1', Topic: topics[0], Seq: 1, detail: true })).Status, 'Open');
    const claim = await cluster.claim({ wait: 10 });
    const first = topics.indexOf(claim.Topic);
    await cluster.answer({ Topic: claim.Topic, Seq: 1, Query: 'Never mind?', Lease: claim.Lease, Answer: ['Yes.'] });
    await client.close();
    await eventually(async () => (await cluster.check({ as: 'User_1', Topic: topics[1 - first], Seq: 1, detail: true })).Status === 'Cancelled', { what: 'the other question is cancelled' });
    assert.equal((await cluster.check({ as: 'User_1', Topic: topics[first], Seq: 1, detail: true })).Status, 'Done');
  });
});
