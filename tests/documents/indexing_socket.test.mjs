// SPDX-License-Identifier: MIT
//
// /ws/indexing, on two nodes: a watcher on one node sees the progress of an indexer on the
// other.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { ready } from '../cluster/watch.mjs';
import { forgetLimits, settled, upload, uploadIndexed } from '../support/documents.mjs';
import { assertMembers, assertOk, assertTimestamp, eventually, suite } from '../support/harness.mjs';
import { openDesk, prose, startEmbedder } from '../support/indexing.mjs';
import { openWatch } from '../support/websocket.mjs';

const DATA = [
  'type', 'document_id', 'job_id', 'user_id', 'stage', 'progress', 'message', 'timestamp', 'documentId', 'jobId', 'userId',
];
const STAGES = ['PARSE', 'CHUNK', 'EMBED', 'STORE', 'COMPLETE'];

async function tokenOf(cluster, as) {
  return assertOk(await cluster.request('GET', '/api/login', { as })).Token;
}

async function watch(cluster, { as = 'User_1', node = 0, query = {} } = {}) {
  const token = await tokenOf(cluster, as);
  const params = new URLSearchParams({ token, ...query });
  return openWatch(`${cluster.nodes[node].url}/ws/indexing?${params}`);
}

function assertFrame({ type, data, ...rest }, { id, job, owner = 'User_1' }) {
  assert.deepEqual(rest, {});
  assertMembers(data, DATA);
  assert.ok(['index_progress', 'index_complete', 'index_failed'].includes(type), type);
  assert.equal(data.type, type);
  for (const name of ['document_id', 'documentId']) assert.equal(data[name], id);
  for (const name of ['job_id', 'jobId']) assert.equal(data[name], job);
  for (const name of ['user_id', 'userId']) assert.equal(data[name], owner);
  assert.ok(STAGES.includes(data.stage), data.stage);
  assert.equal(data.stage === 'COMPLETE', type === 'index_complete');
  assert.ok(Number.isInteger(data.progress) && data.progress >= 0 && data.progress <= 100);
  assert.equal(typeof data.message, 'string');
  assertTimestamp(data.timestamp);
}

// No document on both nodes is indexed yet: the embedder decides when one continues.
suite('the indexing socket', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let embedder;
  let desk;
  before(async () => {
    embedder = await startEmbedder();
    await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#stub`, '--indexers=0'] });
    await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#stub`] });
    desk = await openDesk(cluster.redis);
  });
  after(() => {
    desk.close();
    return embedder.stop();
  });

  test('a document is followed from its upload to its end, on every node', async () => {
    await forgetLimits(cluster);
    const sockets = [await watch(cluster, { node: 0 }), await watch(cluster, { node: 1 })];
    for (const socket of sockets) assert.deepEqual(await socket.next(), { type: 'connected' });
    const { documentId: id, jobId: job } = assertOk(await upload(cluster, { name: 'a.txt', bytes: prose(500) }), 201);
    for (const socket of sockets) {
      const frames = await socket.until('index_complete');
      frames.forEach((frame) => assertFrame(frame, { id, job }));
      const seen = frames.map(({ data }) => data);
      const stages = seen.map(({ stage }) => STAGES.indexOf(stage));
      assert.deepEqual(stages, [...stages].sort());
      assert.deepEqual(new Set(seen.map(({ stage }) => stage)), new Set(STAGES));
      assert.equal(seen.at(-1).stage, 'COMPLETE');
      const progress = seen.map((data) => data.progress);
      assert.deepEqual(progress, [...progress].sort((a, b) => a - b));
      assert.equal(progress.at(-1), 100);
      await socket.close();
    }
  });

  test('on connect the state of running and recently finished jobs is sent', async () => {
    const done = await uploadIndexed(cluster, { as: 'User_2', name: 'done.txt', bytes: prose(100, 4) });
    const failed = assertOk(await upload(cluster, { as: 'User_2', name: 'failed.pdf', bytes: '%PDF-1.4\nno' }), 201);
    await settled(cluster, 'User_2', failed.documentId);
    const release = embedder.hold();
    const open = assertOk(await upload(cluster, { as: 'User_2', name: 'open.txt', bytes: prose(100, 5) }), 201);
    await desk.stage(open.jobId, 'EMBED');
    const wanted = { [done.id]: 'index_complete', [failed.documentId]: 'index_failed', [open.documentId]: 'index_progress' };
    for (const node of [0, 1]) {
      const socket = await watch(cluster, { as: 'User_2', node });
      assert.deepEqual(await socket.next(), { type: 'connected' });
      const frames = [await socket.next(), await socket.next(), await socket.next()];
      assert.deepEqual(Object.fromEntries(frames.map(({ type, data }) => [data.document_id, type])), wanted);
      for (const frame of frames) assertFrame(frame, { id: frame.data.documentId, job: frame.data.jobId, owner: 'User_2' });
      assert.match(frames.find(({ type }) => type === 'index_failed').data.message, /PDF/);
      await socket.close();
    }
    const socket = await watch(cluster, { as: 'User_2', node: 0 });
    release();
    const frames = await socket.until('index_complete', ({ data }) => data.document_id === open.documentId);
    assert.ok(frames.length > 0);
    await socket.close();
  });

  test('a document that is deleted while it is indexed is reported as failed', async () => {
    await forgetLimits(cluster);
    const release = embedder.hold();
    const { documentId: id, jobId: job } = assertOk(await upload(cluster, { name: 'del.txt', bytes: prose(100, 6) }), 201);
    await desk.stage(job, 'EMBED');
    const socket = await watch(cluster, { node: 0 });
    assertOk(await cluster.request('DELETE', `/api/docs/${id}`, { as: 'User_1', node: 1 }));
    const frames = await socket.until('index_failed', ({ data }) => data.document_id === id);
    assertFrame(frames.at(-1), { id, job });
    assert.match(frames.at(-1).data.message, /deleted/);
    release();
    await socket.close();
  });

  test('watchers see no uploads of other owners', async () => {
    await forgetLimits(cluster);
    const [mine, theirs] = [await watch(cluster, { as: 'User_1', node: 0 }), await watch(cluster, { as: 'User_2', node: 0 })];
    const { documentId } = assertOk(await upload(cluster, { as: 'User_2', name: 'secret.txt', bytes: prose(100, 8) }), 201);
    await theirs.until('index_complete', ({ data }) => data.document_id === documentId);
    const marker = assertOk(await upload(cluster, { as: 'User_1', name: 'marker.txt', bytes: prose(100, 9) }), 201);
    const frames = await mine.until('index_complete', ({ data }) => data.document_id === marker.documentId);
    for (const { data } of frames) {
      assert.equal(data.user_id, 'User_1');
      assert.notEqual(data.document_id, documentId);
    }
    await mine.close();
    await theirs.close();
  });

  test('a frontend watches for whom it names', async () => {
    await forgetLimits(cluster);
    const query = { OnBehalfOf: 'gina "g" & co' };
    const socket = await watch(cluster, { as: 'Frontend_1', query, node: 1 });
    const { documentId: id, jobId: job } = assertOk(await upload(cluster, { as: 'Frontend_1', query, name: 'g.txt', bytes: 'gina' }), 201);
    const frames = await socket.until('index_complete');
    assertFrame(frames.at(-1), { id, job, owner: query.OnBehalfOf });
    await socket.close();
  });

  test('a client that sends something is not cut off', async () => {
    await forgetLimits(cluster);
    const socket = await watch(cluster);
    socket.send('ping');
    socket.send('{"type":"subscribe"}');
    const { documentId } = assertOk(await upload(cluster, { name: 's.txt', bytes: prose(100, 11) }), 201);
    await socket.until('index_complete', ({ data }) => data.document_id === documentId);
    await socket.close();
  });

  test('a bad token, a wrong role and no WebSocket are refused before the upgrade', async () => {
    const url = `${cluster.nodes[0].url}/ws/indexing`;
    const token = await tokenOf(cluster, 'User_1');
    const refusals = [
      [`${url}`, 401],
      [`${url}?token=`, 401],
      [`${url}?token=${token.slice(0, -4)}AAAA`, 401],
      [`${url}?token=${await tokenOf(cluster, 'Inference_1')}`, 403],
      [`${url}?token=${await tokenOf(cluster, 'Frontend_1')}`, 400],
      [`${url}?token=${token}&OnBehalfOf=User_2`, 403],
    ];
    for (const [address, status] of refusals) {
      const refused = await openWatch(address).then(
        () => ({ status: 101 }),
        (error) => error,
      );
      assert.equal(refused.status, status, address);
    }
    const plain = await cluster.request('GET', `/ws/indexing?token=${token}`);
    assert.equal(plain.status, 426);
    assert.equal(plain.json.error, plain.json.detail);
  });

  test('a signed query opens a socket, once', async () => {
    const url = `${cluster.nodes[0].url}${cluster.path('/ws/indexing', { as: 'User_1' })}`;
    const socket = await openWatch(url);
    assert.deepEqual(await socket.next(), { type: 'connected' });
    await assert.rejects(openWatch(url), { status: 401 });
    await socket.close();
  });

  test('one owner may hold 64 sockets of a node', async () => {
    const token = await tokenOf(cluster, 'User_2');
    const url = `${cluster.nodes[0].url}/ws/indexing?token=${token}`;
    const sockets = await Promise.all(Array.from({ length: 64 }, () => openWatch(url)));
    await assert.rejects(openWatch(url), { status: 429 });
    await sockets.pop().close();
    sockets.push(await eventually(() => openWatch(url)));
    await Promise.all(sockets.map((socket) => socket.close()));
  });

  test('the node is struck off when its last watcher has left', async () => {
    const socket = await watch(cluster, { node: 0 });
    assert.equal(await desk.sum('ZCARD', 'watchers:o:User_1'), 1);
    await socket.close();
    await eventually(async () => (await desk.sum('ZCARD', 'watchers:o:User_1')) === 0);
  });

  test('before a restart the node notifies its watchers that it goes away', async () => {
    const node = await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#stub`, '--indexers=0'] });
    const token = await tokenOf(cluster, 'User_1');
    const socket = await openWatch(`${node.url}/ws/indexing?token=${token}`);
    const stopped = node.stop();
    assert.equal(await socket.closed(), 1001);
    await stopped;
    cluster.nodes.pop();
  });
});

suite('the indexing socket while Redis is away', { aof: true, sweep: false }, ({ test, cluster }) => {
  test('a watcher gets the state again and keeps watching', async () => {
    const earlier = await uploadIndexed(cluster, { name: 'earlier.txt', bytes: 'earlier' });
    const socket = await watch(cluster, { node: 0 });
    assert.deepEqual(await socket.next(), { type: 'connected' });
    assert.equal((await socket.next()).data.document_id, earlier.id);
    await cluster.redis.restart();
    assert.equal((await socket.next()).data.document_id, earlier.id);
    await ready(cluster, 1);
    await forgetLimits(cluster);
    const { documentId } = assertOk(await upload(cluster, { name: 'later.txt', bytes: 'later', node: 1 }), 201);
    await socket.until('index_complete', ({ data }) => data.document_id === documentId);
    await socket.close();
  });
});
