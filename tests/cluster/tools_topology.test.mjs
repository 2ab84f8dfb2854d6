// SPDX-License-Identifier: MIT
//
// The tools that talk to Redis themselves, on the URLs of a Sentinel set and of a Redis Cluster, while the master changes.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { assertOk, eventually, makeFolder, newTopic, runParley, startCluster, startProcess, startRedis } from '../support/harness.mjs';
import { startProxy } from '../support/proxy.mjs';
import { ownShards } from '../support/shards.mjs';
import { startRedisCluster, startRelay, startReplicas, startSentinels } from '../support/topology.mjs';

ownShards(); // the number of shards is a part of each test

const LONG = { timeout: 300_000 };

async function fine(promise) {
  const { code, stdout, stderr } = await promise;
  assert.equal(code, 0, stderr);
  return stdout;
}

const backup = (url, file, ...more) => runParley(['backup', '--redis', url, '--json', ...more, file], LONG);
const restore = (url, file, ...more) => runParley(['restore', '--redis', url, '--json', ...more, file], LONG);

// A master's place is taken by another server: by Sentinel, or in the Redis Cluster for one of the masters.
async function failOver(redis) {
  if (redis.sentinels) return redis.failover();
  const [master] = await redis.masters();
  return redis.failover(await redis.replicaOf(master));
}

describe('tools', () => {
  for (const [name, start] of [
    ['Sentinels', () => startSentinels({ replicas: 1 })],
    ['a Redis Cluster', () => startRedisCluster()],
  ]) {
    it(`ingest, reindex, backup, restore, servers and show work on the URL of ${name}, before and after a failover`, LONG, async () => {
      const folder = makeFolder();
      const cluster = await startCluster({ redis: start, args: ['--shards', '4'], nodes: 1 });
      const target = await startRedis();
      const url = cluster.redis.url;
      try {
        const topics = Array.from({ length: 20 }, () => newTopic());
        const ingest = (file, text) => {
          folder.file(file, text);
          return fine(runParley(['ingest', '--redis', url, '--collection', 'public', folder.dir], LONG));
        };
        for (const Topic of topics) await cluster.add({ Topic });
        await ingest('first.md', '# Herons\n\nA heron stands in the shallow water and waits for fish.\n');
        for (const round of [1, 2]) {
          await fine(runParley(['servers', '--redis', url]));
          await eventually(async () => (await runParley(['show', 'nodes', '--redis', url])).code === 0, { what: 'the node listens' });
          assert.match(await fine(runParley(['reindex', '--redis', url, '--dry-run'])), /0/);
          const counts = JSON.parse(await fine(backup(url, join(folder.dir, `backup-${round}`))));
          assert.deepEqual([counts.topics, counts.queries, counts.documents], [20, 20, round]);
          if (round === 2) break;
          await failOver(cluster.redis);
          await eventually(async () => (await cluster.request('GET', '/readyz')).status === 200, { what: 'the node is ready' });
          await ingest('second.md', '# Storks\n\nA stork nests on a chimney and comes back every spring.\n');
        }
        const restored = JSON.parse(await fine(restore(target.url, join(folder.dir, 'backup-2'), '--shards', '2')));
        assert.deepEqual([restored.topics, restored.queries, restored.documents], [20, 20, 2]);
      } finally {
        await cluster.stop();
        await target.stop();
        folder.remove();
      }
    });

    it(`a backup is restored into ${name}`, LONG, async () => {
      const folder = makeFolder();
      const file = join(folder.dir, 'backup');
      const topics = Array.from({ length: 10 }, () => newTopic());
      const source = await startCluster({ nodes: 1, args: ['--shards', '2'] });
      let target;
      try {
        for (const Topic of topics) await source.add({ Topic });
        await fine(backup(source.redis.url, file));
        target = await start();
        await fine(restore(target.url, file, '--shards', '8'));
        const { code, stderr } = await restore(target.url, file, '--shards', '8');
        assert.equal(code, 1);
        assert.match(stderr, /already holds data/);
        const cluster = await startCluster({ redis: () => target, nodes: 1 });
        target = undefined;
        try {
          for (const Topic of topics) assert.equal(assertOk(await cluster.checkRaw({ Topic })).Seq, 1);
        } finally {
          await cluster.stop();
        }
      } finally {
        await source.stop();
        await target?.stop();
        folder.remove();
      }
    });
  }
});

describe('a backup while another server takes over', () => {
  it('reads from the beginning there, so that nothing is left out', LONG, async () => {
    const folder = makeFolder();
    const file = join(folder.dir, 'backup');
    const redis = await startReplicas();
    const [master, replica] = redis.members;
    const proxy = await startProxy(master);
    const [relay, target] = [await startRelay(Number(new URL(proxy.url).port)), await startRedis()];
    try {
      const cluster = await startCluster({ redis: () => ({ url: relay.url, cmd: (...words) => redis.cmd(...words), stop: () => {} }), nodes: 1 });
      const n = 3000;
      await Promise.all(Array.from({ length: 30 }, async (_, i) => {
        for (let k = 0; k < n / 30; k++) await cluster.add({ Topic: `t${i}-${k}`, User: `user${i}` });
      }));
      await cluster.stop();
      await redis.synced();
      const held = proxy.holdAt('EVAL', 'request', 200); // in the middle of the backup
      const running = startProcess(['backup', '--redis', relay.url, '--json', file]);
      await held;
      assert.equal(running.child.exitCode, null, 'it is under way');
      await replica.cmd('REPLICAOF', 'NO', 'ONE');
      relay.to(replica.port);
      assert.equal((await running.exit(120_000)).code, 0, running.stderr);
      const counts = JSON.parse(await fine(restore(target.url, file)));
      assert.ok(counts.topics >= n, 'what was read before is read again');
      assert.equal((await target.cmd('KEYS', 'parley:{0}:t:*')).length, n);
    } finally {
      await Promise.all([relay.stop(), proxy.stop(), redis.stop(), target.stop()]);
      folder.remove();
    }
  });
});
