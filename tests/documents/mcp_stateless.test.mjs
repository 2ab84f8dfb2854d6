// SPDX-License-Identifier: MIT
//
// The stateless revision (2026-07-28) of POST /mcp, with its official client: requests that say for themselves what they are.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { uploadIndexed } from '../support/documents.mjs';
import { suite } from '../support/harness.mjs';
import { assertResult, assertRpcError, openStateless, post, postStateless, STATELESS } from '../support/mcp.mjs';

const META = 'io.modelcontextprotocol/';
const LEASES = 'A lease lasts 150 seconds.';
const inBase64 = (text) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

suite('the stateless revision', { sweep: false }, ({ test, cluster }) => {
  let doc;
  let client;
  const methods = [];
  before(async () => {
    doc = await uploadIndexed(cluster, { name: 'leases.md', bytes: `# Leases\n\n${LEASES}` });
    await uploadIndexed(cluster, { as: 'User_2', name: 'theirs.md', bytes: 'Nobody else may know.' });
    client = await openStateless(cluster, { note: ({ body }) => methods.push(JSON.parse(body).method) });
  });
  after(() => client?.close());

  test('a client discovers what the server is and has, and does not initialize', () => {
    assert.deepEqual(methods, ['server/discover']);
    assert.equal(client.getServerVersion().name, 'parley');
    assert.deepEqual(Object.keys(client.getServerCapabilities()).sort(), ['resources', 'tools']);
    assert.match(client.getInstructions(), /search_documents/);
  });

  test('its tools and resources are those of the other revisions', async () => {
    const { tools } = await client.listTools();
    assert.ok(tools.length > 4);
    const { structuredContent } = await client.callTool({ name: 'search_documents', arguments: { query: 'lease' } });
    assert.deepEqual(structuredContent.citations.map(({ docId }) => docId), [doc.id]);
    const { resources } = await client.listResources();
    assert.deepEqual(resources.map(({ uri }) => uri), [`parley://documents/${doc.id}`]);
    const { contents } = await client.readResource({ uri: resources[0].uri });
    assert.match(contents[0].text, /150 seconds/);
    assert.equal((await client.listResourceTemplates()).resourceTemplates.length, 2);
    const other = await openStateless(cluster, { as: 'User_2' });
    await assert.rejects(other.readResource({ uri: resources[0].uri }), { code: -32602, message: /no such document/ });
    await other.close();
  });

  test('a client that speaks both generations takes this one', async () => {
    const either = await openStateless(cluster, { mode: 'auto' });
    assert.equal(either.getNegotiatedProtocolVersion(), STATELESS);
    await either.close();
  });

  test('results say what they are', async () => {
    const stamp = { resultType: 'complete', _meta: { [`${META}serverInfo`]: { name: 'parley', title: 'Parley', version: '0.1.0' } } };
    const headOf = async (...message) => {
      const { resultType, _meta, ttlMs, cacheScope } = assertResult(await postStateless(cluster, ...message));
      return { resultType, _meta, ttlMs, cacheScope };
    };
    const lists = [['server/discover'], ['tools/list'], ['resources/list'], ['resources/templates/list'], ['resources/read', { uri: `parley://documents/${doc.id}` }]];
    for (const message of lists) assert.deepEqual(await headOf(...message), { ...stamp, ttlMs: 0, cacheScope: 'private' });
    for (const args of [{}, { limit: 'x' }]) assert.deepEqual(await headOf('tools/call', { name: 'list_documents', arguments: args }), { ...stamp, ttlMs: undefined, cacheScope: undefined });
    const older = assertResult(await post(cluster, 'tools/list'));
    assert.deepEqual(Object.keys(older), ['tools']);
  });

  test('each generation has its methods', async () => {
    for (const method of ['initialize', 'ping', 'resources/subscribe', 'subscriptions/listen', 'nothing'])
      assertRpcError(await postStateless(cluster, method), 404, -32601, /There is no method/);
    assertRpcError(await post(cluster, 'server/discover'), 200, -32601, /There is no method/);
    assertResult(await post(cluster, 'ping'));
  });

  test('headers must be as the body', async () => {
    const call = (headers, params = { name: 'list_documents' }) => postStateless(cluster, 'tools/call', params, { headers });
    const wrong = [{ 'MCP-Protocol-Version': undefined }, { 'MCP-Protocol-Version': '2025-11-25' }, { 'Mcp-Method': undefined }, { 'Mcp-Method': 'tools/list' }, { 'Mcp-Method': 'TOOLS/CALL' }, { 'Mcp-Name': undefined }, { 'Mcp-Name': 'ask' }, { 'Mcp-Name': inBase64('ask') }, { 'Mcp-Name': '=?base64??=' }, { 'Mcp-Name': `${inBase64('list_documents')}x` }];
    for (const headers of wrong) assertRpcError(await call(headers), 400, -32020, /^The header M[Cc][Pp]-/);
    assertResult(await call({ 'Mcp-Name': inBase64('list_documents') }));
    assertRpcError(await call({ 'Mcp-Name': inBase64('ä') }, { name: 'ä' }), 200, -32602, /no tool/);
    assertRpcError(await call({ 'Mcp-Name': 'x' }, { name: 7 }), 200, -32602, /^name must/);
    const uri = `parley://documents/${doc.id}`;
    assertRpcError(await postStateless(cluster, 'resources/read', { uri }, { headers: { 'Mcp-Name': `${uri}x` } }), 400, -32020, /Mcp-Name/);
  });

  test('a revision that is not known, and a request that does not say all it has to', async () => {
    for (const version of ['2099-01-01', '2025-11-25', 'ä"\\']) {
      const headers = { 'MCP-Protocol-Version': Buffer.from(version).toString('latin1') };
      const response = await postStateless(cluster, 'tools/list', {}, { headers, meta: { [`${META}protocolVersion`]: version } });
      assertRpcError(response, 400, -32022, /not known here/);
      assert.deepEqual(response.json.error.data, { supported: [STATELESS], requested: version });
    }
    const incomplete = [{ protocolVersion: undefined }, { protocolVersion: 7 }, { clientCapabilities: undefined }, { clientCapabilities: [] }, { clientInfo: 'me' }];
    for (const members of incomplete) {
      const meta = Object.fromEntries(Object.entries(members).map(([name, value]) => [META + name, value]));
      assertRpcError(await postStateless(cluster, 'tools/list', {}, { meta }), 400, -32602, /^_meta must/);
    }
    const note = await post(cluster, { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, undefined, { headers: { 'MCP-Protocol-Version': STATELESS } });
    assert.deepEqual([note.status, note.text], [202, '']);
  });
});
