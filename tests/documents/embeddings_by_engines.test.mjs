// SPDX-License-Identifier: MIT
//
// A private embedder needs no address: nodes and indexers ask a node's /v1/embeddings, and the request goes to an engine that
// pulls. What is indexed, found and refused, and what becomes of documents while no engine is there.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { forgetLimits, upload, uploadIndexed } from '../support/documents.mjs';
import { startEngine } from '../support/engines.mjs';
import { assertOk, eventually, makeFolder, runParley, suite } from '../support/harness.mjs';
import { startEmbedder } from '../support/indexing.mjs';

suite('embeddings by engines that pull', { nodes: 0 }, ({ test, cluster }) => {
  let embedder;
  let folder;
  let embeddings;
  const startOne = () => startEngine(cluster, ['--embeddings-url', embedder.url, '--model', 'private-embedder', '--apis', 'embeddings']);
  before(async () => {
    embedder = await startEmbedder();
    folder = makeFolder();
    const key = folder.file('key', `User_2:${cluster.accounts.User_2.secret}\n`);
    const door = await cluster.startNode({ args: ['--target', 'broker,openai'] });
    embeddings = ['--embeddings', `openai:${door.url}/v1#private-embedder`, '--embeddings-key-file', key];
    await cluster.startNode({ args: ['--target', 'all', ...embeddings] });
  });
  after(async () => {
    folder.remove();
    await embedder.stop();
  });

  test('a document is indexed and found with vectors of an engine, and `parley ingest` uses them too', async () => {
    const engine = await startOne();
    await uploadIndexed(cluster, { as: 'User_1', name: 'cellar.txt', bytes: 'The marmalade is kept in cupboard nine of the cellar.\n', node: 1 });
    const asked = (part) => embedder.requests.some(({ input }) => input?.some((text) => text.includes(part)));
    assert.ok(asked('cupboard nine'), 'the engine asked the embedder');
    const found = assertOk(await cluster.request('POST', '/api/rag/retrieve', { as: 'User_1', body: { query: 'Where is the marmalade?', topK: 1 }, node: 1 }));
    assert.equal(found.citations[0].documentTitle, 'cellar.txt');
    assert.ok(asked('Where is the marmalade'), 'so did the search');
    const pages = makeFolder();
    pages.file('leases.md', '# Leases\n\nA lease lasts 150 seconds.\n');
    const { code, stdout, stderr } = await runParley(['ingest', '--redis', cluster.redis.url, '--collection', 'pages', '--json', ...embeddings, pages.dir], { timeout: 120_000 });
    pages.remove();
    assert.equal(code, 0, `${stdout}${stderr}`);
    assert.deepEqual(await engine.stop(), { code: 0, signal: null }, engine.stderr);
  });

  test('an engine that comes late: the document has waited for it', async () => {
    await forgetLimits(cluster);
    const response = await upload(cluster, { as: 'User_1', name: 'attic.txt', bytes: 'The kite is kept in the attic.\n', node: 1 });
    const { documentId } = response.json;
    const get = async () => assertOk(await cluster.request('GET', `/api/docs/${documentId}`, { as: 'User_1', node: 1 }));
    await eventually(async () => (await get()).latestJob.stage === 'EMBED', { what: 'its vectors are asked for' });
    const engine = await startOne();
    await eventually(async () => (await get()).status === 'INDEXED', { ms: 120_000, what: 'it is indexed' });
    assert.deepEqual(await engine.stop(), { code: 0, signal: null }, engine.stderr);
  });
});
