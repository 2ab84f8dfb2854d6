// SPDX-License-Identifier: MIT
//
// Documents on two Redis servers: each owner's are on one of them, indexers serve both, and a server that is away, or that
// has come back without its data, holds up nobody but the owners that are on it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { formOf } from '../support/documents.mjs';
import { assertOk, eventually, makeFolder, runParley, startCluster, startRedis } from '../support/harness.mjs';
import { prose } from '../support/indexing.mjs';
import { namesOfEachShard, ownShards, prefixesOf } from '../support/shards.mjs';

ownShards(); // flags say how many

const SHARDS = 4;
const OWNERS = namesOfEachShard('o:user', SHARDS).map((space) => space.slice(2)); // by shard: shard i is on server i mod 2
const AWAY = { what: 'the node knows that a server is away' };

describe('documents on two servers', () => {
  let cluster;
  let servers;
  let folder;
  let token; // a nonce may be of the server that is away
  before(async () => {
    folder = makeFolder();
    servers = [await startRedis({ aof: true }), await startRedis({ aof: true })];
    cluster = await startCluster({ nodes: 0 });
    await cluster.redis.stop();
    cluster.redis = { ...servers[0], url: servers.map(({ url }) => url).join() };
    await cluster.startNode({ args: ['--shards', SHARDS, '--indexers', 2] });
    await cluster.startNode({ args: ['--indexers', 0] });
    token = assertOk(await cluster.request('GET', '/api/login', { as: 'Frontend_1' })).Token;
  });
  after(async () => {
    await cluster.stop();
    await servers[1].stop();
    folder.remove();
  });

  const ask = (method, path, owner, { headers = {}, ...more } = {}) =>
    cluster.request(method, path, { query: { OnBehalfOf: owner }, headers: { authorization: `Bearer ${token}`, ...headers }, ...more });
  const put = (owner, name, bytes) => ask('POST', '/api/docs/upload', owner, formOf({ name, bytes }));
  const found = (owner, query) => ask('POST', '/api/rag/retrieve', owner, { body: { query } });
  const show = (owner, id) => ask('GET', `/api/docs/${id}`, owner);
  const forgetLimits = async () => {
    for (const redis of servers) for (const key of await redis.cmd('KEYS', '*:limit:*')) await redis.cmd('DEL', key);
  };
  const indexed = (owner, id) => eventually(async () => {
    const { status, json } = await show(owner, id);
    return status === 200 && json.status === 'INDEXED';
  }, { ms: 60_000, what: `${id} of ${owner} is indexed` });
  const isUp = (server, is) => eventually(async () => {
    const answers = await Promise.all([server, server + 2].map((shard) => ask('GET', '/api/docs', OWNERS[shard])));
    return answers.every(({ status }) => (status === 200) === is);
  }, { ms: 60_000, ...AWAY });

  it('an owner on any shard uploads blocks, is indexed, searches and deletes, all on its own server', { timeout: 180_000 }, async () => {
    await Promise.all(OWNERS.map(async (owner, shard) => {
      const bytes = `${prose(500, shard + 1)}${' '.repeat(1 << 20)} The lease of ${owner} lasts ${shard + 150} seconds.`; // two blocks
      const { documentId } = assertOk(await put(owner, 'long.txt', bytes), 201);
      await indexed(owner, documentId);
      const { citations } = assertOk(await found(owner, `How long does the lease of ${owner} last?`));
      assert.match(JSON.stringify(citations), new RegExp(`${shard + 150} seconds`));
      const prefix = prefixesOf(SHARDS)[shard];
      assert.equal(await servers[shard % 2].cmd('HGET', `${prefix}doc:${documentId}`, 'status'), 'INDEXED');
      assert.deepEqual(await servers[(shard + 1) % 2].cmd('KEYS', `*${documentId}*`), []);
      assertOk(await ask('DELETE', `/api/docs/${documentId}`, owner));
      assert.deepEqual(await servers[shard % 2].cmd('KEYS', `*${documentId}*`), []);
    }));
  });

  it('`parley ingest` and `parley reindex` find the shard of a collection, and all of them', { timeout: 120_000 }, async () => {
    for (const collection of namesOfEachShard('c:book', SHARDS).map((space) => space.slice(2))) {
      folder.file('a.md', `# ${collection}\n\nThis is ${collection}.`);
      const { code, stdout, stderr } = await runParley(['ingest', '--redis', cluster.redis.url, '--collection', collection, '--json', join(folder.dir, 'a.md')]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /"indexed":1/);
    }
    const { code, stdout, stderr } = await runParley(['reindex', '--dry-run', '--redis', cluster.redis.url]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /0 of 4 documents were not embedded by/);
  });

  it('one server is unreachable: owners on the other one are served, and those on it once it is back', { timeout: 180_000 }, async () => {
    await forgetLimits();
    const waiting = assertOk(await put(OWNERS[1], 'before.txt', 'It was there before.'), 201);
    await indexed(OWNERS[1], waiting.documentId);
    await servers[1].kill();
    await isUp(1, false);
    for (const shard of [0, 2]) {
      const { documentId } = assertOk(await put(OWNERS[shard], 'meanwhile.txt', `Meanwhile, on ${shard}.`), 201);
      await indexed(OWNERS[shard], documentId);
      assertOk(await found(OWNERS[shard], 'meanwhile'));
    }
    for (const shard of [1, 3]) assert.equal((await put(OWNERS[shard], 'lost.txt', 'Nobody takes it.')).status, 503);
    await servers[1].restart();
    await isUp(1, true);
    await forgetLimits();
    await indexed(OWNERS[1], waiting.documentId);
    for (const shard of [1, 3]) {
      const { documentId } = await eventually(async () => { // each node connects in its own time
        const { status, json } = await put(OWNERS[shard], 'after.txt', `After it, on ${shard}.`);
        return status < 300 && json;
      }, { ms: 60_000, what: 'uploads are taken again' });
      await indexed(OWNERS[shard], documentId);
    }
  });

  it('one server has lost its data: no indexer and no tool writes into it', { timeout: 180_000 }, async () => {
    await forgetLimits();
    // Nobody writes between the two.
    for (const words of [['MULTI'], ['FLUSHALL'], ['CONFIG', 'SET', 'min-replicas-to-write', 1], ['EXEC']]) await servers[1].cmd(...words);
    await servers[1].kill();
    await isUp(1, false);
    await servers[1].restart();
    await cluster.nodes[0].waitForLog(/parley-(jobs|indexer).*EMPTIED/);
    const { documentId } = assertOk(await put(OWNERS[2], 'others.txt', 'Others go on.'), 201);
    await indexed(OWNERS[2], documentId);
    const [collection] = namesOfEachShard('c:book', SHARDS).slice(1).map((space) => space.slice(2));
    const ingest = await runParley(['ingest', '--redis', cluster.redis.url, '--collection', collection, '--json', join(folder.dir, 'a.md')], { timeout: 120_000 });
    assert.equal(ingest.code, 1);
    assert.match(ingest.stderr, /EMPTIED/);
    assert.deepEqual(await servers[1].cmd('KEYS', '*'), []);
  });
});
