// SPDX-License-Identifier: MIT
//
// An owner's documents: list, single document, passages, deletion and reindexing,
// alternating between two nodes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before } from 'node:test';
import { assertRefused, forgetLimits, settled, upload, uploadIndexed } from '../support/documents.mjs';
import { assertMembers, assertOk, assertTimestamp, eventually, suite } from '../support/harness.mjs';
import { openDesk, prose, startEmbedder } from '../support/indexing.mjs';

const MEMBERS = ['id', 'filename', 'contentType', 'sizeBytes', 'contentHash', 'status', 'createdAt', 'updatedAt', 'latestJob', 'needsReindex'];
const NOBODYS = '01234567-89ab-4cde-8f01-23456789abcd';
const WRONG_IDS = [NOBODYS, NOBODYS.toUpperCase(), NOBODYS.slice(1), `${NOBODYS}0`, 'x', '%00', '..', 'a%2Fb', '0123456789abcdef01234567', NOBODYS.replaceAll('-', '0'), NOBODYS.replace('01', '%0a')];

const get = (cluster, path, options = {}) => cluster.request('GET', path, { as: 'User_1', ...options });
const list = async (cluster, options = {}) => assertOk(await get(cluster, '/api/docs', options)).documents;

suite('documents', { sweep: false }, ({ test, cluster }) => {
  let desk;
  before(async () => (desk = await openDesk(cluster.redis)));
  after(() => desk.close());

  test('without a document the list is empty, with and without a slash', async () => {
    for (const path of ['/api/docs', '/api/docs/']) assert.deepEqual(assertOk(await get(cluster, path)), { documents: [] });
  });

  test('the list holds each document, the newest first', async () => {
    const names = ['one.txt', 'two.md', 'three.html'];
    for (const name of names) await uploadIndexed(cluster, { name, bytes: `<p>${name}</p>` });
    for (const node of [0, 1]) {
      const documents = await list(cluster, { node });
      assert.deepEqual(
        documents.map(({ filename }) => filename),
        [...names].reverse(),
      );
      for (const doc of documents) {
        assertMembers(doc, MEMBERS);
        assertMembers(doc.latestJob, ['id', 'status', 'stage', 'progress', 'errorMessage', 'createdAt', 'updatedAt']);
        for (const time of [doc.latestJob.createdAt, doc.latestJob.updatedAt]) assertTimestamp(time);
        assert.equal(doc.contentHash, createHash('sha256').update(`<p>${doc.filename}</p>`).digest('hex'));
        assert.equal(doc.status, 'INDEXED');
        const { createdAt, updatedAt, ...job } = doc.latestJob;
        assert.deepEqual({ ...job, id: 0 }, { id: 0, status: 'INDEXED', stage: 'COMPLETE', progress: 100, errorMessage: null });
        assertTimestamp(doc.createdAt);
        assertTimestamp(doc.updatedAt);
      }
    }
  });

  test('one document has a chunkCount besides', async () => {
    const { id } = await uploadIndexed(cluster, { name: 'long.txt', bytes: prose(2000) });
    const doc = assertOk(await get(cluster, `/api/docs/${id}`));
    assertMembers(doc, [...MEMBERS, 'chunkCount']);
    assert.ok(doc.chunkCount > 5);
    const listed = (await list(cluster)).find((other) => other.id === id);
    delete doc.chunkCount;
    assert.deepEqual(doc, listed);
  });

  test('the chunks of a document cover its text, and say where they stand', async () => {
    const text = prose(3000, 7).replaceAll('garden', 'gärtchen 🌿').trim();
    const { id, chunkCount } = await uploadIndexed(cluster, { name: 'chunks.txt', bytes: text });
    const letters = [...text];
    let covered = 0;
    for (let index = 0; index < chunkCount; index++) {
      const chunk = assertOk(await get(cluster, `/api/docs/${id}/chunks/${index}`));
      assertMembers(chunk, ['docId', 'chunkId', 'chunkIndex', 'text', 'filename', 'charStart', 'charEnd']);
      assert.equal(chunk.docId, id);
      assert.equal(chunk.chunkId, `${id}:${index}`);
      assert.equal(chunk.chunkIndex, index);
      assert.equal(chunk.filename, 'chunks.txt');
      assert.equal(chunk.text, letters.slice(chunk.charStart, chunk.charEnd).join(''));
      assert.ok(chunk.charStart <= covered + 2 && chunk.charEnd > covered, 'nothing is left out');
      assert.ok(chunk.text.length < 1500);
      covered = chunk.charEnd;
    }
    assert.equal(covered, letters.length);
  });

  test('around: the neighbours of a chunk on both sides, in order, as far as there are some', async () => {
    const { id, chunkCount } = await uploadIndexed(cluster, { name: 'around.txt', bytes: prose(3000, 9) });
    assert.ok(chunkCount > 13);
    const alone = [];
    for (let index = 0; index < chunkCount; index++) alone.push(assertOk(await get(cluster, `/api/docs/${id}/chunks/${index}`)));
    const neighbour = ({ chunkId, chunkIndex, text, charStart, charEnd }) => ({ chunkId, chunkIndex, text, charStart, charEnd, page: null });
    for (const [index, around] of [[0, 1], [0, 10], [5, 2], [11, 10], [chunkCount - 1, 3], [chunkCount - 2, 2]]) {
      const { before, after, page, ...chunk } = assertOk(await get(cluster, `/api/docs/${id}/chunks/${index}`, { query: { around } }));
      assert.deepEqual(chunk, alone[index]);
      assert.equal(page, null);
      assert.deepEqual(before, alone.slice(Math.max(0, index - around), index).map(neighbour));
      assert.deepEqual(after, alone.slice(index + 1, index + 1 + around).map(neighbour));
    }
    for (const around of ['0', '11', '-1', 'x', '1.5']) assertRefused(await get(cluster, `/api/docs/${id}/chunks/0`, { query: { around } }), 400, 'bad_request');
    assertRefused(await get(cluster, `/api/docs/${id}/chunks/${chunkCount}`, { query: { around: 5 } }), 404, 'not_found');
    assertRefused(await get(cluster, `/api/docs/${id}/chunks/0`, { as: 'User_2', query: { around: 5 } }), 404, 'not_found');
  });

  test('a chunk that spans two stored blocks is read whole', async () => {
    const text = prose(20_000, 3);
    assert.ok(text.length > 130_000);
    const { id, chunkCount } = await uploadIndexed(cluster, { name: 'blocks.txt', bytes: text });
    const chunks = [];
    for (let index = 0; index < chunkCount; index++) chunks.push(assertOk(await get(cluster, `/api/docs/${id}/chunks/${index}`)));
    const spanning = chunks.filter(({ charStart, charEnd }) => Math.floor(charStart / 65536) !== Math.floor((charEnd - 1) / 65536));
    assert.ok(spanning.length >= 1);
    for (const chunk of chunks) assert.equal(chunk.text, text.slice(chunk.charStart, chunk.charEnd));
  });

  test('a chunk that is none is 404', async () => {
    const { id, chunkCount } = await uploadIndexed(cluster, { name: 'few.txt', bytes: 'A few words.' });
    assert.equal(chunkCount, 1);
    for (const index of ['1', '2', '4294967295', '4294967296', '99999999999999999999', '-1', '1.0', '0x0', 'a', '%30%00'])
      assert.ok([400, 404].includes((await get(cluster, `/api/docs/${id}/chunks/${index}`)).status), index);
    assertRefused(await get(cluster, `/api/docs/${id}/chunks/1`), 404, 'not_found');
    assertOk(await get(cluster, `/api/docs/${id}/chunks/%30`));
  });

  test('an id that is none is 404 on every route', async () => {
    for (const id of WRONG_IDS) {
      const requests = [
        ['GET', `/api/docs/${id}`],
        ['DELETE', `/api/docs/${id}`],
        ['DELETE', `/api/docs/${id}/delete`],
        ['POST', `/api/docs/${id}/delete`],
        ['POST', `/api/docs/${id}/reindex`],
        ['GET', `/api/docs/${id}/chunks/0`],
      ];
      for (const [method, path] of requests) {
        const response = await cluster.request(method, path, { as: 'User_1' });
        if (id === '%00') assertRefused(response, 400, 'bad_request');
        else assertRefused(response, 404, 'not_found');
      }
    }
  });

  for (const [method, tail] of [['DELETE', ''], ['DELETE', '/delete'], ['POST', '/delete']]) {
    test(`${method} /api/docs/{id}${tail} takes the document away with all that was stored for it`, async () => {
      const { id } = await uploadIndexed(cluster, { as: 'User_2', name: 'gone.txt', bytes: prose(300, tail.length) });
      const job = assertOk(await get(cluster, `/api/docs/${id}`, { as: 'User_2' })).latestJob.id;
      const path = `/api/docs/${id}${tail}`;
      const body = assertOk(await cluster.request(method, path, { as: 'User_2', node: 0 }));
      assert.equal(body.documentId, id);
      assertRefused(await get(cluster, `/api/docs/${id}`, { as: 'User_2', node: 1 }), 404, 'not_found');
      assertRefused(await get(cluster, `/api/docs/${id}/chunks/0`, { as: 'User_2' }), 404, 'not_found');
      assertRefused(await cluster.request(method, path, { as: 'User_2', node: 1 }), 404, 'not_found');
      assert.deepEqual(await list(cluster, { as: 'User_2' }), []);
      assert.deepEqual(await desk.cmd('KEYS', `*${id}*`), []);
      assert.deepEqual(await desk.cmd('KEYS', '*:o:User_2'), [], 'nothing is left of the space');
      assert.ok(['DONE', 'CANCELLED', undefined].includes((await desk.job(job)).status));
    });
  }

  test('reindexing makes a new job, and the document stays what it was', async () => {
    const before = await uploadIndexed(cluster, { name: 'again.txt', bytes: prose(500, 9) });
    const response = await cluster.request('POST', `/api/docs/${before.id}/reindex`, { as: 'User_1' });
    const body = assertOk(response, 202);
    assertMembers(body, ['documentId', 'jobId', 'status']);
    assert.equal(body.documentId, before.id);
    assert.notEqual(body.jobId, before.latestJob.id);
    assert.equal(body.status, 'QUEUED');
    await desk.ended(body.jobId);
    const doc = await settled(cluster, 'User_1', before.id);
    assert.equal(doc.status, 'INDEXED');
    assert.equal(doc.latestJob.id, body.jobId);
    assert.equal(doc.chunkCount, before.chunkCount);
    assert.equal(doc.createdAt, before.createdAt);
    await desk.assertWhole(before.id);
  });

  test('a document that cannot be read is FAILED and says why, and reindexing it asks for the file', async () => {
    await forgetLimits(cluster);
    const broken = '%PDF-1.4\nthis is broken';
    const { documentId } = assertOk(await upload(cluster, { name: 'broken.pdf', bytes: broken }), 201);
    const doc = await settled(cluster, 'User_1', documentId);
    assert.equal(doc.status, 'FAILED');
    assert.equal(doc.latestJob.status, 'FAILED');
    assert.match(doc.latestJob.errorMessage, /PDF/);
    assertRefused(await cluster.request('POST', `/api/docs/${documentId}/reindex`, { as: 'User_1' }), 409, 'upload_again');
    const again = assertOk(await upload(cluster, { name: 'broken.pdf', bytes: broken }), 201);
    assert.equal(again.documentId, documentId, 'what failed is tried again under its id');
    assert.notEqual(again.jobId, doc.latestJob.id);
  });

  test('a name that JSON must escape comes back as it was', async () => {
    const name = 'a "b" & <c> é.txt';
    const { filename } = await uploadIndexed(cluster, { name: name.replaceAll('"', '%22'), bytes: 'escaped' });
    assert.equal(filename, name);
  });

  test('more documents than fit one reply of Redis are listed completely', async () => {
    const N = 2300;
    const space = 'o:dora';
    for (let i = 0; i < N; i++) {
      const { word } = await desk.upload({ space, name: `${i}.txt`, bytes: `document ${i}` });
      assert.equal(word, 'ok');
    }
    const documents = await list(cluster, { as: 'Frontend_1', query: { OnBehalfOf: 'dora' } });
    assert.equal(new Set(documents.map(({ id }) => id)).size, N);
    assert.deepEqual(
      documents.map(({ filename }) => filename),
      Array.from({ length: N }, (_, i) => `${N - 1 - i}.txt`),
    );
  });
});

suite('documents under way', { sweep: false, nodes: 0 }, ({ test, cluster }) => {
  let embedder;
  let desk;
  before(async () => {
    embedder = await startEmbedder();
    for (let i = 0; i < 2; i++) await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#stub`] });
    desk = await openDesk(cluster.redis);
  });
  after(() => {
    desk.close();
    return embedder.stop();
  });

  test('the list shows how far a document is', async () => {
    const release = embedder.hold();
    const { documentId, jobId } = assertOk(await upload(cluster, { name: 'slow.txt', bytes: prose(400) }), 201);
    await desk.stage(jobId, 'EMBED');
    const doc = assertOk(await get(cluster, `/api/docs/${documentId}`));
    assert.equal(doc.status, 'INDEXING');
    assert.equal(doc.latestJob.status, 'INDEXING');
    assert.equal(doc.latestJob.stage, 'EMBED');
    assert.ok(doc.latestJob.progress > 0 && doc.latestJob.progress < 100);
    assert.equal(doc.chunkCount, 0);
    assertRefused(await get(cluster, `/api/docs/${documentId}/chunks/0`), 404, 'not_found');
    const again = assertOk(await cluster.request('POST', `/api/docs/${documentId}/reindex`, { as: 'User_1' }), 202);
    assert.equal(again.jobId, jobId, 'the job under way is the one');
    release();
    assert.equal((await settled(cluster, 'User_1', documentId)).status, 'INDEXED');
  });

  test('deleting a document ends its job', async () => {
    const release = embedder.hold();
    const { documentId, jobId } = assertOk(await upload(cluster, { name: 'deleted.txt', bytes: prose(400, 5) }), 201);
    await desk.stage(jobId, 'EMBED');
    assertOk(await cluster.request('DELETE', `/api/docs/${documentId}`, { as: 'User_1' }));
    assert.equal((await desk.job(jobId)).status, 'CANCELLED');
    release();
    await eventually(async () => (await desk.sum('XLEN', 'jobs')) === 0);
    assert.deepEqual(await desk.cmd('KEYS', `*:${documentId}*`), []);
  });
});
