// SPDX-License-Identifier: MIT
//
// mcp: the official client of the Model Context Protocol against a cluster, each of whose requests goes to the next node.
//
//   const client = await openMcp(cluster, { as: 'User_1' });
//   await client.callTool({ name: 'search_documents', arguments: { query: '…' } });
//   const result = assertResult(await post(cluster, 'tools/list'));        without the client: one message
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import assert from 'node:assert/strict';
import { ACCOUNTS } from './node.mjs';

export const credentials = (as) => `Bearer ${as}:${ACCOUNTS[as].secret}`;

// `user`: for whom an account of role frontend calls. `note` is called with each request and its response.
export async function openMcp(cluster, { as = 'User_1', user, node, note = () => {} } = {}) {
  const client = new Client({ name: 'parley-tests', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL('http://parley.invalid/mcp'), {
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

// One message, as bytes or as its method and params.
export function post(cluster, method, params, { as = 'User_1', id = 1, headers, ...options } = {}) {
  const body = typeof method === 'string' ? { jsonrpc: '2.0', id, method, ...(params && { params }) } : method;
  return cluster.request('POST', '/mcp', { ...options, body, headers: { Authorization: credentials(as), ...headers } });
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
