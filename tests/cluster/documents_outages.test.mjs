// SPDX-License-Identifier: MIT
//
// Documents on a Redis Cluster of three masters without replicas: each owner's are on one of them, indexers serve all, and a
// master that is away, or that has come back without its data, holds up nobody but the owners that are on it.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { formOf } from '../support/documents.mjs';
import { assertOk, eventually, makeFolder, runParley, startCluster } from '../support/harness.mjs';
import { prose } from '../support/indexing.mjs';
import { namesOfEachShard, ownShards, prefixesOf } from '../support/shards.mjs';
import { startRedisCluster } from '../support/topology.mjs';

ownShards(); // flags say how many

const SHARDS = 4;
const OWNERS = namesOfEachShard('o:user', SHARDS).map((space) => space.slice(2)); // by shard
const AWAY = { what: 'the node knows that a master is away' };

describe('documents on a Redis Cluster', () => {
  let cluster;
  let masters; // by shard: 1 and 3 have the same one
  let folder;
  let token; // a nonce may be of the master that is away
  before(async () => {
    folder = makeFolder();
    cluster = await startCluster({ nodes: 0, redis: () => startRedisCluster({ masters: 3, replicas: 0, aof: true }) });
    const { redis } = cluster;
    masters = await Promise.all(prefixesOf(SHARDS).map(async (prefix) => redis.ownerOf(await redis.slotOf(prefix))));
    assert.equal(masters[1], masters[3]);
    assert.equal(new Set(masters).size, 3);
    await cluster.startNode({ args: ['--shards', SHARDS, '--indexers', 2] });
    await cluster.startNode({ args: ['--indexers', 0] });
    token = assertOk(await cluster.request('GET', '/api/login', { as: 'Frontend_1' })).Token;
  });
  after(async () => {
    await cluster.stop();
    folder.remove();
  });

  const ask = (method, path, owner, { headers = {}, ...more } = {}) =>
    cluster.request(method, path, { query: { OnBehalfOf: owner }, headers: { authorization: `Bearer ${token}`, ...headers }, ...more });
  const put = (owner, name, bytes) => ask('POST', '/api/docs/upload', owner, formOf({ name, bytes }));
  const found = (owner, query) => ask('POST', '/api/rag/retrieve', owner, { body: { query } });
  const show = (owner, id) => ask('GET', `/api/docs/${id}`, owner);
  const forgetLimits = async () => {
    for (const key of await cluster.redis.cmd('KEYS', '*:limit:*')) await cluster.redis.cmd('DEL', key);
  };
  const indexed = (owner, id) => eventually(async () => {
    const { status, json } = await show(owner, id);
    return status === 200 && json.status === 'INDEXED';
  }, { ms: 60_000, what: `${id} of ${owner} is indexed` });
  const isUp = (is) => eventually(async () => {
    const answers = await Promise.all([1, 3].map((shard) => ask('GET', '/api/docs', OWNERS[shard])));
    return answers.every(({ status }) => (status === 200) === is);
  }, { ms: 60_000, ...AWAY });

  it('an owner on any shard uploads blocks, is indexed, searches and deletes, all on its own master', { timeout: 180_000 }, async () => {
    await Promise.all(OWNERS.map(async (owner, shard) => {
      const bytes = `${prose(500, shard + 1)}${' '.repeat(1 << 20)} The lease of ${owner} lasts ${shard + 150} seconds.`; // two blocks
      const { documentId } = assertOk(await put(owner, 'long.txt', bytes), 201);
      await indexed(owner, documentId);
      const { citations } = assertOk(await found(owner, `How long does the lease of ${owner} last?`));
      assert.match(JSON.stringify(citations), new RegExp(`${shard + 150} seconds`));
      const prefix = prefixesOf(SHARDS)[shard];
      assert.equal(await masters[shard].cmd('HGET', `${prefix}doc:${documentId}`, 'status'), 'INDEXED');
      for (const other of masters) if (other !== masters[shard]) assert.deepEqual(await other.cmd('KEYS', `*${documentId}*`), []);
      assertOk(await ask('DELETE', `/api/docs/${documentId}`, owner));
      assert.deepEqual(await masters[shard].cmd('KEYS', `*${documentId}*`), []);
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
    assert.match(stdout, /^4 documents, with vectors by hash.*\n +4 up to date\n/);
  });

  it('one master is unreachable: owners on the others are served, and those on it once it is back', { timeout: 180_000 }, async () => {
    await forgetLimits();
    const waiting = assertOk(await put(OWNERS[1], 'before.txt', 'It was there before.'), 201);
    await indexed(OWNERS[1], waiting.documentId);
    await masters[1].kill();
    await isUp(false);
    for (const shard of [0, 2]) {
      const { documentId } = assertOk(await put(OWNERS[shard], 'meanwhile.txt', `Meanwhile, on ${shard}.`), 201);
      await indexed(OWNERS[shard], documentId);
      assertOk(await found(OWNERS[shard], 'meanwhile'));
    }
    for (const shard of [1, 3]) assert.equal((await put(OWNERS[shard], 'lost.txt', 'Nobody takes it.')).status, 503);
    await masters[1].restart();
    await isUp(true);
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

  it('one master has lost its data: no indexer and no tool writes into it', { timeout: 180_000 }, async () => {
    await forgetLimits();
    // Nobody writes between the two.
    for (const words of [['MULTI'], ['FLUSHALL'], ['CONFIG', 'SET', 'min-replicas-to-write', 1], ['EXEC']]) await masters[1].cmd(...words);
    await masters[1].kill();
    await isUp(false);
    await masters[1].restart();
    await cluster.nodes[0].waitForLog(/parley-(jobs|indexer).*EMPTIED/);
    const { documentId } = assertOk(await put(OWNERS[2], 'others.txt', 'Others go on.'), 201);
    await indexed(OWNERS[2], documentId);
    const [collection] = namesOfEachShard('c:book', SHARDS).slice(1).map((space) => space.slice(2));
    const ingest = await runParley(['ingest', '--redis', cluster.redis.url, '--collection', collection, '--json', join(folder.dir, 'a.md')], { timeout: 120_000 });
    assert.equal(ingest.code, 1);
    assert.match(ingest.stderr, /EMPTIED/);
    assert.deepEqual(await masters[1].cmd('KEYS', '*'), []);
  });
});
