// SPDX-License-Identifier: MIT
//
// mcp: the official client of the Model Context Protocol against a cluster, each of whose requests goes to the next node.
//
//   const client = await openMcp(cluster, { as: 'User_1' });
//   await client.callTool({ name: 'search_documents', arguments: { query: '…' } });
//   const result = assertResult(await post(cluster, 'tools/list'));        without the client: one message
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as StatelessClient, StreamableHTTPClientTransport as StatelessTransport } from '@modelcontextprotocol/client';
import assert from 'node:assert/strict';
import { ACCOUNTS } from './node.mjs';

export const credentials = (as, accounts = ACCOUNTS) => `Bearer ${as}:${accounts[as].secret}`;

export const STATELESS = '2026-07-28';

// `user`: the person that an account of role frontend names. `note` is called with each request and its response.
export async function openMcp(cluster, { as = 'User_1', user, node, note = () => {} } = {}) {
  return connect(new Client({ name: 'parley-tests', version: '1' }), StreamableHTTPClientTransport, cluster, { as, user, node, note });
}

// The same with the client of the stateless revision, which speaks that one only, or whichever `mode` finds.
export function openStateless(cluster, { as = 'User_1', user, node, note = () => {}, mode = { pin: STATELESS } } = {}) {
  const client = new StatelessClient({ name: 'parley-tests', version: '1' }, { versionNegotiation: { mode } });
  return connect(client, StatelessTransport, cluster, { as, user, node, note });
}

async function connect(client, Transport, cluster, { as, user, node, note }) {
  const transport = new Transport(new URL('http://parley.invalid/mcp'), {
    fetch: async (url, init) => {
      const response = await fetch(new URL('/mcp', cluster.pick(node).url), init);
      note(init, response);
      return response;
    },
    requestInit: { headers: { Authorization: credentials(as), ...(user && { 'X-Parley-User': user }) } },
  });
  await client.connect(transport);
  return client;
}

// One message of the stateless revision. `meta` and `headers` are added to what it needs; undefined: left out.
export function postStateless(cluster, method, params = {}, { headers, meta, ...options } = {}) {
  const needed = { 'io.modelcontextprotocol/protocolVersion': STATELESS, 'io.modelcontextprotocol/clientCapabilities': {} };
  const name = params.name ?? params.uri;
  const all = { 'MCP-Protocol-Version': STATELESS, 'Mcp-Method': method, ...(typeof name === 'string' && { 'Mcp-Name': name }), ...headers };
  const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  return post(cluster, method, { ...params, _meta: { ...needed, ...meta } }, { ...options, headers: given });
}

// One message, as bytes or as its method and params.
export function post(cluster, method, params, { as = 'User_1', id = 1, headers, ...options } = {}) {
  const body = typeof method === 'string' ? { jsonrpc: '2.0', id, method, ...(params && { params }) } : method;
  return cluster.request('POST', '/mcp', { ...options, body, headers: { Authorization: credentials(as, cluster.accounts), ...headers } });
}

export const callTool = (cluster, name, args, options) => post(cluster, 'tools/call', { name, arguments: args }, options);

export function assertResult(response, id = 1) {
  assert.equal(response.status, 200, response.text);
  assert.deepEqual([response.json.jsonrpc, response.json.id, response.json.error], ['2.0', id, undefined], response.text);
  return response.json.result;
}

export function assertRpcError(response, status, code, text, id = 1) {
  assert.equal(response.status, status, response.text);
  assert.deepEqual([response.json.jsonrpc, response.json.id, response.json.error.code], ['2.0', id, code], response.text);
  assert.match(response.json.error.message, text);
}

// A tool that could not do it: its text says why.
export function assertToolError(response, text) {
  const result = assertResult(response);
  assert.equal(result.isError, true, response.text);
  assert.deepEqual(Object.keys(result).sort(), ['content', 'isError']);
  assert.match(result.content[0].text, text);
}
