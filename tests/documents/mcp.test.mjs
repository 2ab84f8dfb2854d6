// SPDX-License-Identifier: MIT
//
// POST /mcp, with the official client: a user's documents as tools, on any node, and nobody else's.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { upload, uploadIndexed } from '../support/documents.mjs';
import { assertProblem, suite } from '../support/harness.mjs';
import { assertResult, assertRpcError, assertToolError, callTool, openMcp, post } from '../support/mcp.mjs';

const LEASES = 'A claim is held under a lease. The lease lasts 150 seconds and every heartbeat renews it.';
const BREAD = 'Sourdough bread rises slowly. The dough rests overnight in a cool kitchen before baking.';
const NOBODYS = '00000000-0000-4000-8000-000000000000';

suite('documents as tools', { sweep: false }, ({ test, cluster }) => {
  const docs = {};
  const clients = {};
  before(async () => {
    docs.leases = await uploadIndexed(cluster, { name: 'leases.md', bytes: `# Leases\n\n${LEASES}` });
    docs.bread = await uploadIndexed(cluster, { as: 'User_2', name: 'bread.txt', bytes: BREAD });
    clients.one = await openMcp(cluster);
    clients.two = await openMcp(cluster, { as: 'User_2' });
  });
  after(async () => {
    for (const client of Object.values(clients)) await client.close();
  });
  // The client checks what it gets against the schema of the tool.
  const contentOf = (result) => {
    assert.notEqual(result.isError, true, JSON.stringify(result));
    assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
    return result.structuredContent;
  };
  const call = async (client, name, args) => {
    await client.listTools();
    return contentOf(await client.callTool({ name, arguments: args }));
  };

  test('a client begins, and learns what the server is and has', async () => {
    const client = await openMcp(cluster);
    assert.equal(client.getServerVersion().name, 'parley');
    assert.deepEqual(Object.keys(client.getServerCapabilities()), ['resources', 'tools']);
    assert.match(client.getInstructions(), /search_documents/);
    assert.deepEqual(await client.ping(), {});
    await client.close();
  });

  test('each tool has a title, a description, both schemas and hints', async () => {
    const { tools } = await clients.one.listTools();
    assert.deepEqual(tools.map(({ name }) => name), ['search_documents', 'list_documents', 'read_passage', 'ask_documents', 'ask']);
    for (const { name, title, description, inputSchema, outputSchema, annotations } of tools) {
      assert.ok(title.length > 0 && description.length > 20);
      assert.equal(inputSchema.additionalProperties, false);
      assert.equal(outputSchema.type, 'object');
      assert.equal(annotations.readOnlyHint, name !== 'ask');
    }
  });

  test("a search finds the user's passages, and another user's not", async () => {
    for (const [client, doc, text] of [[clients.one, docs.leases, LEASES], [clients.two, docs.bread, BREAD]]) {
      for (const query of ['How long does a lease last?', 'How long does the dough rest?']) {
        const { citations } = await call(client, 'search_documents', { query, topK: 20 });
        for (const { docId } of citations) assert.equal(docId, doc.id);
      }
      const { citations } = await call(client, 'search_documents', { query: text, topK: 1 });
      assert.ok(citations[0].snippet.includes(text));
    }
  });

  test("the list has the user's documents, page by page", async () => {
    const second = await uploadIndexed(cluster, { name: 'second.md', bytes: '# Second\n\nAnother one.' });
    const all = await call(clients.one, 'list_documents', {});
    assert.deepEqual(all.documents.map(({ id }) => id), [second.id, docs.leases.id]);
    assert.equal(all.next, undefined);
    const first = await call(clients.one, 'list_documents', { limit: 1 });
    assert.deepEqual(first.documents.map(({ id }) => id), [second.id]);
    const rest = await call(clients.one, 'list_documents', { limit: 1, after: first.next });
    assert.deepEqual(rest.documents.map(({ id }) => id), [docs.leases.id]);
  });

  test('a passage that was found is read with its neighbours, by its user alone', async () => {
    const { citations: [found] } = await call(clients.one, 'search_documents', { query: LEASES, topK: 1 });
    const args = { docId: found.docId, chunkIndex: found.chunkIndex, around: 2 };
    const passage = await call(clients.one, 'read_passage', args);
    assert.equal(passage.text, found.snippet);
    assert.deepEqual([passage.before, passage.after], [[], []]);
    assertToolError(await callTool(cluster, 'read_passage', args, { as: 'User_2' }), /^There is no passage .* for this account\.$/);
  });

  test('an account of role frontend names the person in a header', async () => {
    const person = 'Zoë & Co?';
    const { json } = await upload(cluster, { as: 'Frontend_1', query: { OnBehalfOf: person }, name: 'zoe.md', bytes: '# Zoë\n\nHers.' });
    const of = async (user) => {
      const headers = { 'X-Parley-User': Buffer.from(user).toString('latin1') };
      const response = await callTool(cluster, 'list_documents', {}, { as: 'Frontend_1', headers });
      return contentOf(assertResult(response)).documents.map(({ id }) => id);
    };
    assert.deepEqual(await of(person), [json.documentId]);
    assert.ok((await of('User_1')).includes(docs.leases.id));
    assert.deepEqual(await of('Zoë'), []);
    for (const headers of [{}, { 'X-Parley-User': 'x'.repeat(129) }, { 'X-Parley-User': '\xff' }])
      assertToolError(await callTool(cluster, 'list_documents', {}, { as: 'Frontend_1', headers }), /X-Parley-User/);
    // For an account of role user the header is a label.
    assertResult(await callTool(cluster, 'list_documents', {}, { headers: { 'X-Parley-User': 'User_2' } }));
  });

  test('arguments that are wrong get a text that says which, and what it must be', async () => {
    const wrong = [
      ['search_documents', {}, /^query is missing: it must be a text of 1 to 4000 characters\.$/],
      ['search_documents', { query: null }, /^query is missing/],
      ['search_documents', { query: 7 }, /^query must be a text/],
      ['search_documents', { query: '' }, /^query must be a text/],
      ['search_documents', { query: ' ' }, /query/],
      ['search_documents', { query: 'ä'.repeat(4001) }, /^query must be a text/],
      ['search_documents', { query: 'x', topK: 0 }, /^topK must be a whole number from 1 to 20\.$/],
      ['search_documents', { query: 'x', topK: 21 }, /^topK must/],
      ['search_documents', { query: 'x', topK: 1.5 }, /^topK must/],
      ['search_documents', { query: 'x', topK: '5' }, /^topK must/],
      ['search_documents', { query: 'x', top_k: 5 }, /^'top_k' is no argument of search_documents, which takes query, topK\.$/],
      ['list_documents', { limit: 201 }, /^limit must/],
      ['list_documents', { after: '&OnBehalfOf=User_2' }, /after/],
      ['read_passage', { docId: docs.leases.id }, /^chunkIndex is missing/],
      ['read_passage', { docId: 'upload', chunkIndex: 0 }, /^docId must be the id of a document/],
      ['read_passage', { docId: '../../../metrics', chunkIndex: 0 }, /^docId must/],
      ['read_passage', { docId: docs.leases.id.toUpperCase(), chunkIndex: 0 }, /^docId must/],
      ['read_passage', { docId: NOBODYS, chunkIndex: 0 }, /^There is no passage/],
      ['read_passage', { docId: docs.leases.id, chunkIndex: -1 }, /^chunkIndex must/],
      ['read_passage', { docId: docs.leases.id, chunkIndex: 4294967296 }, /^chunkIndex must/],
      ['read_passage', { docId: docs.leases.id, chunkIndex: 4294967295, around: 10 }, /^There is no passage/],
    ];
    for (const [name, args, text] of wrong) assertToolError(await callTool(cluster, name, args), text);
  });

  test('what is no message, method or tool gets the error of JSON-RPC', async () => {
    const bad = (body, status, code, text, id = null) => post(cluster, body).then((response) => assertRpcError(response, status, code, text, id));
    const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
    await bad(Buffer.from('{"jsonrpc"'), 400, -32700, /not valid JSON/);
    await bad(Buffer.from(''), 400, -32700, /not valid JSON/);
    await bad(Buffer.from('"text"'), 400, -32600, /an object/);
    await bad([message], 400, -32600, /Batches/);
    await bad({ ...message, jsonrpc: '1.0' }, 400, -32600, /jsonrpc/);
    await bad({ ...message, id: null }, 400, -32600, /^id must/);
    await bad({ ...message, id: {} }, 400, -32600, /^id must/);
    await bad({ ...message, id: 'x'.repeat(255) }, 400, -32600, /^id must/);
    await bad({ ...message, method: 7 }, 400, -32600, /^method must/, 1);
    await bad({ ...message, params: [] }, 400, -32602, /^params must/, 1);
    await bad({ ...message, method: 'tools/list\n' }, 200, -32601, /There is no method/, 1);
    await bad({ ...message, method: 'initialize' }, 200, -32602, /protocolVersion/, 1);
    for (const params of [undefined, {}, { name: 7 }, { name: 'nobody' }, { name: 'list_documents', arguments: [] }])
      await bad({ ...message, method: 'tools/call', params }, 200, -32602, /tool|arguments/, 1);
    assertResult(await post(cluster, 'ping', undefined, { id: 'ä"\\'.repeat(9) }), 'ä"\\'.repeat(9));
    for (const note of [{ jsonrpc: '2.0', method: 'notifications/initialized' }, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, { jsonrpc: '2.0', id: 1, result: {} }]) {
      const response = await post(cluster, note);
      assert.deepEqual([response.status, response.text], [202, '']);
    }
  });

  test('the revision is agreed on, and an unknown one is refused', async () => {
    const versionOf = async (protocolVersion) => assertResult(await post(cluster, 'initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } })).protocolVersion;
    assert.deepEqual(await Promise.all(['2025-03-26', '2025-06-18', '2025-11-25', '2024-11-05', '2099-01-01'].map(versionOf)), ['2025-03-26', '2025-06-18', '2025-11-25', '2025-11-25', '2025-11-25']);
    assertResult(await post(cluster, 'ping', undefined, { headers: { 'MCP-Protocol-Version': '2025-06-18' } }));
    assertRpcError(await post(cluster, 'ping', undefined, { headers: { 'MCP-Protocol-Version': '2099-01-01' } }), 400, -32600, /2099-01-01/);
  });

  test('there is nothing to listen to or to end, and nobody calls without credentials', async () => {
    for (const method of ['GET', 'DELETE']) assertProblem(await cluster.request(method, '/mcp', { as: 'User_1' }), 405, 'method_not_allowed');
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    assertProblem(await cluster.request('POST', '/mcp', { body: message }), 401, 'unauthorized');
    assertProblem(await cluster.request('POST', '/mcp', { as: 'Inference_1', body: message }), 403, 'forbidden');
    assertResult(await cluster.request('POST', '/mcp', { as: 'User_1', body: message }));
    assertProblem(await post(cluster, { ...message, params: { x: 'x'.repeat(256 << 10) } }), 413, 'too_large');
  });

  test('a node without the documents has no tools of them, and one with a list of origins refuses others', async () => {
    const node = await cluster.startNode({ args: ['--target=mcp', '--cors-origins=https://chat.example'] });
    assert.deepEqual(assertResult(await post(cluster, 'tools/list', undefined, { node })).tools, []);
    assertRpcError(await post(cluster, 'resources/list', undefined, { node }), 200, -32601, /no method/);
    assertRpcError(await callTool(cluster, 'list_documents', {}, { node }), 200, -32602, /no tool/);
    assertResult(await post(cluster, 'ping', undefined, { node, headers: { Origin: 'https://chat.example' } }));
    assertProblem(await post(cluster, 'ping', undefined, { node, headers: { Origin: 'https://evil.example' } }), 403, 'forbidden');
  });
});
