// SPDX-License-Identifier: MIT
//
// Documents while Redis is at its maxmemory: owners read, search and delete; what needs room is 503 store_full.
import assert from 'node:assert/strict';
import { assertOk, suite } from '../support/harness.mjs';
import { assertRefused, upload, uploadIndexed } from '../support/documents.mjs';

suite('documents while Redis is full', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  test('an owner lists, reads, searches and deletes; uploads and questions are refused, and taken when there is room', async () => {
    const kept = await uploadIndexed(cluster, { name: 'kept.txt', bytes: 'Leases end after a while.' });
    const gone = await uploadIndexed(cluster, { name: 'gone.txt', bytes: 'Nobody needs this text.' });
    const as = 'User_1';
    const get = (path, options) => cluster.request('GET', path, { as, ...options });
    const idOf = (doc) => doc.id ?? doc.docId ?? doc;
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      assertOk(await get('/api/docs'));
      assertOk(await get(`/api/docs/${idOf(kept)}`));
      const found = await cluster.request('POST', '/api/rag/retrieve', { as, body: { query: 'When do leases end?' } });
      assert.match(JSON.stringify(assertOk(found)), /Leases end/);
      const deleted = await cluster.request('DELETE', `/api/docs/${idOf(gone)}`, { as });
      assert.ok(deleted.status < 300, deleted.text);
      assertRefused(await get(`/api/docs/${idOf(gone)}`), 404);
      assertRefused(await upload(cluster, { name: 'new.txt', bytes: 'something new' }), 503, 'store_full');
      const asked = await cluster.request('POST', '/api/rag/ask', { as, body: { question: 'When do leases end?', query: 'When do leases end?' } });
      assertRefused(asked, 503, 'store_full');
    } finally {
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    await uploadIndexed(cluster, { name: 'new.txt', bytes: 'something new' });
  });
});
