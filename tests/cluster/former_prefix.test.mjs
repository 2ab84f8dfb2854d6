// SPDX-License-Identifier: MIT
//
// A cluster of a former version whose --key-prefix has no hash tag: its keys stand without one, are served as they are, and
// are never passed over for a new and empty cluster.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { uploadIndexed } from '../support/documents.mjs';
import { assertOk, makeFolder, runParley, startCluster, startRedis } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // without a hash tag there is one

const PREFIX = ['--key-prefix', 'parley:'];

describe('a cluster whose keys have no hash tag', () => {
  let cluster;
  let folder;
  let target;
  before(async () => {
    folder = makeFolder();
    target = await startRedis();
    cluster = await startCluster({ nodes: 1 });
    await cluster.add({ Topic: 'kept', User: 'alice', Query: 'Is it here?' });
    await uploadIndexed(cluster, { name: 'a.md', bytes: 'A lease lasts 150 seconds.' });
    await cluster.nodes.splice(0)[0].stop();
    await cluster.redis.cmd('DEL', 'parley:{0}:cluster'); // which former versions do not write
    for (const key of await cluster.redis.cmd('KEYS', 'parley:{0}:*')) await cluster.redis.cmd('RENAME', key, key.replace('{0}:', ''));
  });
  after(async () => {
    await cluster.stop();
    await target.stop();
    folder.remove();
  });
  const restart = async (args) => {
    for (const node of cluster.nodes.splice(0)) await node.stop();
    return cluster.startNode({ args });
  };
  const reads = async () => {
    const [row] = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic: 'kept' } }));
    assert.equal(row.Query, 'Is it here?');
    const found = assertOk(await cluster.request('POST', '/api/rag/retrieve', { as: 'User_1', body: { query: 'How long does a lease last?' } }));
    assert.match(JSON.stringify(found), /150 seconds/);
  };

  it('is served as one shard, indexed, backed up, and restored with four', { timeout: 120_000 }, async () => {
    await restart(PREFIX);
    await reads();
    await uploadIndexed(cluster, { name: 'b.md', bytes: 'Another one.' });
    assert.deepEqual(await cluster.redis.cmd('KEYS', 'parley:{*'), []);
    const file = join(folder.dir, 'file');
    for (const args of [['backup', '--redis', cluster.redis.url, ...PREFIX, file], ['restore', '--redis', target.url, ...PREFIX, '--shards', 4, file]]) {
      const { code, stderr } = await runParley(args);
      assert.equal(code, 0, stderr);
    }
    const { redis } = cluster;
    cluster.redis = target;
    await restart(PREFIX);
    await reads();
    cluster.redis = redis;
    await cluster.nodes.splice(0)[0].stop();
  });

  it('is refused with another number of shards, and beside a cluster with a hash tag', { timeout: 120_000 }, async () => {
    const start = (...args) => runParley(['reindex', '--dry-run', '--redis', cluster.redis.url, ...args]);
    const many = await start(...PREFIX, '--shards', 4);
    assert.equal(many.code, 1);
    assert.match(many.stderr, /^parley: Redis holds a cluster of one shard whose keys begin with parley:, .*\n$/);
    await cluster.redis.cmd('HSET', 'parley:{0}:meta', 'lease', 1);
    const both = await start(...PREFIX);
    assert.equal(both.code, 1);
    assert.match(both.stderr, /^parley: Redis holds two clusters: .* parley:, .* parley:\{0\}:: move one .*\n$/);
  });
});
