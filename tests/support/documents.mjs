// SPDX-License-Identifier: MIT
//
// documents: uploads for tests: multipart bodies, and waiting for what the indexer makes of them.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { assertOk, assertProblem, eventually } from './harness.mjs';

// A multipart/form-data body with one file: {body, headers} for a request.
export function formOf({ name = 'notes.txt', bytes = '', type = 'application/octet-stream', field = 'file' } = {}) {
  const boundary = `----${randomBytes(12).toString('hex')}`;
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="${field}"; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n`;
  return {
    body: Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(`\r\n--${boundary}--\r\n`)]),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}

// An error of the document routes: a problem whose sentence is in `error` too. Returns it.
export function assertRefused(response, status, code) {
  const problem = assertProblem(response, status, code);
  assert.equal(problem.error, problem.detail);
  return problem;
}

// POST /api/docs/upload; the whole response.
export function upload(cluster, { as = 'User_1', name, bytes, type, field, ...options } = {}) {
  return cluster.request('POST', '/api/docs/upload', { as, ...formOf({ name, bytes, type, field }), ...options });
}

// Forgets how often somebody uploaded or asked: for tests that do so more often than people may.
export async function forgetLimits(cluster) {
  const keys = await cluster.redis.cmd('KEYS', '*:limit:*');
  if (keys.length > 0) await cluster.redis.cmd('DEL', ...keys);
}

// Waits until the document is INDEXED or FAILED, and returns it.
export function settled(cluster, as, id, options = {}) {
  return eventually(
    async () => {
      const doc = assertOk(await cluster.request('GET', `/api/docs/${id}`, { as }));
      return ['INDEXED', 'FAILED'].includes(doc.status) ? doc : null;
    },
    { what: `document ${id} is settled`, ms: 60_000, ...options },
  );
}

// Uploads and waits until it is searchable; returns the document.
export async function uploadIndexed(cluster, options = {}) {
  await forgetLimits(cluster);
  const response = await upload(cluster, options);
  assert.ok([200, 201].includes(response.status), response.text);
  const doc = await settled(cluster, options.as ?? 'User_1', response.json.documentId);
  assert.equal(doc.status, 'INDEXED', JSON.stringify(doc));
  return doc;
}
