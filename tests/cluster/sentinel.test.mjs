// SPDX-License-Identifier: MIT
//
// Nodes that follow a master by its Sentinels (ADR 55): it is killed, hangs, is replaced by hand, and comes back.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { assertOk, assertProblem, eventually, newTopic } from '../support/harness.mjs';
import { keyOf, ownShards } from '../support/shards.mjs';
import { startSentinels } from '../support/topology.mjs';
import { print, testOn, underLoad, untilAccepted, usable } from './beyond.mjs';
import { connected, metric } from './watch.mjs';

ownShards(); // one master has all shards: where it is does not depend on their number

const PASSWORD = 'of-redis';
const SENTINEL_PASSWORD = 'of-the-sentinels';
const test = testOn(() => startSentinels({ aof: true }), []);

const synced = (redis) => redis.synced();
const accepts = (cluster, node) => untilAccepted(cluster, { Topic: newTopic(), node });

// Accepts connections like a Sentinel, and never ends a reply: a byte now and then, or as much as it can. Closed with the Redis.
async function withLiar(redis, liar) {
  const sockets = new Set();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)));
    socket.once('data', () => liar(socket));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  const stop = redis.stop.bind(redis);
  return Object.defineProperties(redis, {
    url: { value: redis.url.replace('://', `://127.0.0.1:${server.address().port},`) },
    stop: {
      value: () => {
        for (const socket of sockets) socket.destroy();
        server.close();
        return stop();
      },
    },
  });
}
const drips = (socket) => {
  const timer = setInterval(() => socket.write('*'), 100);
  socket.on('close', () => clearInterval(timer));
};
const floods = (socket) => {
  const more = () => {
    while (socket.writable && socket.write(Buffer.alloc(1 << 16, '*1\r\n'))) {
      // until its buffer is full
    }
  };
  socket.write('*2\r\n$400000000\r\n');
  socket.on('drain', more);
  more();
};

describe('Sentinel', { concurrency: false }, () => {
  for (const [what, liar] of Object.entries({ 'a byte now and then': drips, 'bytes without end': floods })) {
    test(
      `a Sentinel that sends ${what} does not keep the others from being heard`,
      async (cluster) => {
        const { redis } = cluster;
        const master = await redis.master();
        await master.kill('SIGKILL');
        await accepts(cluster, 0);
        const grown = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${cluster.nodes[0].child.pid}/status`, 'utf8'))[1]);
        assert.ok(grown < 400_000, `${grown} KiB`);
      },
      { nodes: 1, redis: async () => withLiar(await startSentinels({ aof: true }), liar) },
    );
  }

  test('a master that is killed: the nodes use its successor, which has all that had reached it', async (cluster) => {
    const { redis } = cluster;
    const topics = Array.from({ length: 5 }, () => newTopic());
    for (const Topic of topics) await cluster.add({ Topic });
    await synced(redis);
    const waiter = cluster.checkOpen({ Topic: topics[0], wait: 100, node: 1, timeout: 110_000 });
    await eventually(async () => (await metric(cluster, 1, 'parley_checks_parked')) === 1);
    const master = await redis.master();
    await master.kill('SIGKILL');
    print(`the master killed: usable after ${(await accepts(cluster, 0)).toFixed(1)} s (down-after 5 s)`);
    await redis.agreed(master);
    for (const node of cluster.nodes) await usable(cluster, node);
    for (const Topic of topics) assert.equal((await cluster.check({ Topic, detail: true, node: 1 })).Status, 'Open');
    for (let answered = false; !answered; ) {
      const claim = await cluster.claim({ wait: 60, detail: true });
      const [[Seq, Query]] = Object.entries(claim.Queries[0]);
      await cluster.answer({ Topic: claim.Topic, Seq: Number(Seq), Query, Lease: claim.Lease });
      answered = claim.Topic === topics[0];
    }
    assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
    // The former master comes back, first as a master, then as a replica: nothing is written to it.
    await master.restart();
    await eventually(async () => (await master.cmd('ROLE'))[0] === 'slave', { ms: 60_000, what: 'it follows its successor' });
    const Topic = newTopic();
    await cluster.add({ Topic });
    assert.equal(await (await redis.master()).cmd('EXISTS', keyOf(Topic, `t:${Topic}`)), 1);
  });

  test('a master that hangs and comes back as one: nobody writes to it after its successor was chosen', async (cluster) => {
    const { redis } = cluster;
    const master = await redis.master();
    await master.pause();
    for (const node of [0, 1]) await accepts(cluster, node); // until then a node may not know that it hangs
    const next = await redis.agreed(master);
    const topics = Array.from({ length: 5 }, () => newTopic());
    for (const [i, Topic] of topics.entries()) await cluster.add({ Topic, node: i % 2 });
    await master.resume();
    for (const [i, Topic] of topics.entries()) await cluster.add({ Topic, node: i % 2 });
    for (const Topic of topics) assert.equal(await next.cmd('HGET', keyOf(Topic, `t:${Topic}`), 'seq'), '2');
    await eventually(async () => (await master.cmd('ROLE'))[0] === 'slave', { ms: 60_000, what: 'it follows its successor' });
    for (const Topic of topics) assert.equal((await cluster.check({ Topic, Seq: 2, detail: true })).Status, 'Open');
  });

  test('a master that was made a replica before its Sentinels know: nothing is read from it, nothing is lost', async (cluster) => {
    const { redis } = cluster;
    const master = await redis.master();
    const [replica] = await redis.replicas();
    const Topic = newTopic();
    await cluster.add({ Topic });
    await synced(redis);
    for (const sentinel of redis.sentinels) sentinel.pause();
    await master.cmd('REPLICAOF', '127.0.0.1', replica.port);
    for (const node of [0, 1]) assertProblem(await cluster.addRaw({ Topic, node, timeout: 60_000 }), 503);
    await cluster.nodes[0].waitForLog(/READONLY it is a replica: Sentinel will name the new master/);
    await master.cmd('REPLICAOF', 'NO', 'ONE');
    for (const node of cluster.nodes) await usable(cluster, node);
    assert.equal((await cluster.add({ Topic })).Seq, 2, 'what was refused was not stored');
    for (const sentinel of redis.sentinels) sentinel.resume();
  });

  test('a planned failover: the nodes move to the new master, which has all, and work there', async (cluster) => {
    const { redis } = cluster;
    const began = performance.now();
    const topics = Array.from({ length: 20 }, () => newTopic());
    for (const Topic of topics) await cluster.add({ Topic });
    await synced(redis);
    await redis.failover();
    await connected(cluster); // with the new master: what the old one takes until it is demoted is lost
    print(`planned failover: ${((performance.now() - began) / 1000).toFixed(1)} s until all nodes use the new master`);
    for (const Topic of topics) assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Open');
    await underLoad(cluster, () => {}, { before: 10, after: 10 });
  });

  test(
    'masters that are killed under load with --durability replica: nothing acknowledged is lost or doubled',
    async (cluster) => {
      const { redis } = cluster;
      const result = await underLoad(cluster, async (load) => {
        for (let i = 0; i < 2; i++) {
          const master = await redis.master();
          await master.kill('SIGKILL');
          await redis.agreed(master);
          for (const node of cluster.nodes) await usable(cluster, node);
          await load.reached(20);
          await master.restart();
          await eventually(async () => (await master.cmd('ROLE'))[3] === 'connected', { ms: 60_000, what: 'it follows its successor' });
        }
      });
      print(`durability replica: ${result.Done} questions over two killed masters, ${result.retries} requests sent again`);
    },
    { args: ['--target', 'broker', '--rescan-seconds', '1', '--durability', 'replica'] },
  );

  test(
    'a password of Redis and another one of the Sentinels',
    async (cluster) => {
      const { redis } = cluster;
      const folder = mkdtempSync(join(tmpdir(), 'parley-sentinel-'));
      const file = join(folder, 'password');
      writeFileSync(file, `${SENTINEL_PASSWORD}\n`);
      try {
        const node = await cluster.startNode({ args: ['--sentinel-password-file', file] });
        await usable(cluster, node);
        await redis.failover();
        await accepts(cluster, 0);
        const without = await cluster.startNode();
        await without.waitForLog(/NOWHERE sentinel parley-test: NOAUTH/);
        assertProblem(await cluster.addRaw({ Topic: newTopic(), node: without }), 503, 'redis_lost');
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
    { redis: () => startSentinels({ aof: true, password: PASSWORD, sentinelPassword: SENTINEL_PASSWORD, replicas: 1 }), nodes: 0 },
  );

  test('Sentinels that know no master of that name: 503, and one line says which name', async (cluster) => {
    const { redis } = cluster;
    const url = redis.url.replace('/parley-test/', '/another/');
    const node = await cluster.startNode({ redis: { url } });
    assertProblem(await cluster.addRaw({ Topic: newTopic(), node }), 503, 'redis_lost');
    await node.waitForLog(/NOWHERE sentinel another: (ERR No such master|it knows no master of that name)/);
    const { status } = await cluster.request('GET', '/readyz', { node });
    assert.equal(status, 503);
  }, { nodes: 0 });
});
