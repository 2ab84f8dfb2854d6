// SPDX-License-Identifier: MIT
//
// Redis that runs and takes no writes: a replica, a failed snapshot, too few replicas, a script that does not
// end. Clients and operators hear which it is, nothing that was acknowledged is lost, and all continues by itself.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { assertOk, assertProblem, eventually, makeFolder, startRedis, suite } from '../support/harness.mjs';
import { openClient } from '../support/servers.mjs';
import { keyOf, SHARDS } from '../support/shards.mjs';
import { startLoad } from './load.mjs';
import { parked, ready } from './watch.mjs';

// Per trouble: how it begins and ends, its code, and a word of what operators read.
const TROUBLES = [
  {
    name: 'a replica (READONLY)',
    code: 'store_readonly',
    says: /READONLY/,
    async begin(cluster) {
      this.primary = await startRedis();
      // It never gets in sync, so it keeps what it has.
      await this.primary.pause();
      await cluster.redis.cmd('REPLICAOF', '127.0.0.1', this.primary.port);
    },
    async end(cluster) {
      await cluster.redis.cmd('REPLICAOF', 'NO', 'ONE');
      await this.primary?.stop();
    },
  },
  {
    name: 'a replica without its primary (MASTERDOWN)',
    code: 'store_busy',
    says: /MASTERDOWN/,
    async begin(cluster) {
      this.primary = await startRedis();
      await cluster.redis.cmd('CONFIG', 'SET', 'replica-serve-stale-data', 'no', 'replica-read-only', 'no');
      await this.primary.pause();
      await cluster.redis.cmd('REPLICAOF', '127.0.0.1', this.primary.port);
    },
    async end(cluster) {
      await cluster.redis.cmd('REPLICAOF', 'NO', 'ONE');
      await cluster.redis.cmd('CONFIG', 'SET', 'replica-serve-stale-data', 'yes', 'replica-read-only', 'yes');
      await this.primary?.stop();
    },
  },
  {
    name: 'one whose snapshot failed (MISCONF)',
    code: 'store_readonly',
    says: /snapshot.*MISCONF/,
    async begin(cluster) {
      this.folder = makeFolder();
      this.gone = `${this.folder.dir}/gone`;
      mkdirSync(this.gone);
      [, this.dir] = await cluster.redis.cmd('CONFIG', 'GET', 'dir');
      await cluster.redis.cmd('CONFIG', 'SET', 'dir', this.gone);
      await cluster.redis.cmd('CONFIG', 'SET', 'save', '3600 1');
      rmSync(this.gone, { recursive: true });
      await cluster.redis.cmd('BGSAVE').catch(() => {});
      await eventually(async () => (await cluster.redis.info('persistence')).rdb_last_bgsave_status === 'err', { what: 'the snapshot failed' });
    },
    async end(cluster) {
      mkdirSync(this.gone, { recursive: true });
      await cluster.redis.cmd('CONFIG', 'SET', 'dir', this.dir);
      await cluster.redis.cmd('BGSAVE');
      await eventually(async () => (await cluster.redis.info('persistence')).rdb_last_bgsave_status === 'ok', { what: 'a snapshot is there' });
      await cluster.redis.cmd('CONFIG', 'SET', 'save', '');
      this.folder.remove();
    },
  },
  {
    name: 'one with too few replicas (NOREPLICAS)',
    code: 'store_readonly',
    says: /NOREPLICAS/,
    begin: (cluster) => cluster.redis.cmd('CONFIG', 'SET', 'min-replicas-to-write', '1'),
    end: (cluster) => cluster.redis.cmd('CONFIG', 'SET', 'min-replicas-to-write', '0'),
  },
];

suite('Redis that takes no writes', { nodes: 2, sweep: false, redisArgs: ['--enable-protected-configs', 'yes'], args: ['--rescan-seconds', 1] }, ({ test, cluster }) => {
  for (const trouble of TROUBLES) {
    const { name, code, says } = trouble;
    test(`Redis is ${name}: requests, /readyz and /health say so; what waits has its answer afterwards`, async () => {
      const { Topic } = await cluster.add({ node: 0 });
      const { Lease } = await cluster.claim({ wait: 10, detail: true, node: 0 });
      const waiter = cluster.checkOpen({ Topic, wait: 60, node: 1 });
      await eventually(() => cluster.redis.cmd('HGET', keyOf(Topic, `t:${Topic}`), 'w:1'), { what: 'the waiter is written down' });
      // Delivered: a claim that no node has confirmed is another engine's after two seconds.
      await eventually(
        async () => (await cluster.redis.cmd('ZSCORE', keyOf(Topic, 'leases'), `${Lease} ${Topic}`)) - Date.now() > 100_000,
        { what: 'the lease is a whole one' },
      );
      const poll = cluster.claimOpen({ as: 'Inference_2', wait: 60, node: 1 });
      await parked(cluster, 1, 1);
      const marks = cluster.marks();
      try {
        await trouble.begin(cluster);
        for (const node of [0, 1]) {
          await ready(cluster, node, false);
          const problem = assertProblem(await cluster.request('GET', '/readyz', { node }), 503, code);
          assert.match(problem.detail, says);
          const health = await cluster.request('GET', '/health', { node });
          assert.equal(health.status, 200);
          assert.equal(health.json.status, 'unhealthy');
          assert.match(health.json.dependencies.redis.details.message, says);
          for (const refused of [
            await cluster.addRaw({ node }),
            await cluster.checkRaw({ Topic, node }),
            await cluster.checkRaw({ Topic, wait: 30, node }),
            await cluster.answerRaw({ Topic, Seq: 1, Lease, node }),
          ]) {
            assertProblem(refused, 503, code);
            assert.ok(Number(refused.headers['retry-after']) >= 1);
          }
          for (let i = 0; i < 30; i++) assertProblem(await cluster.addRaw({ node }), 503, code);
        }
        for (const node of cluster.nodes) {
          const said = node.log().slice(marks.get(node)).split('\n');
          const bad = said.filter((line) => /warn|error/i.test(line.slice(0, 40)));
          // Queue (each shard), indexer, and connections that Redis closed for it.
          assert.ok(bad.length <= 3 + 2 * SHARDS, bad.join('\n'));
        }
      } finally {
        await trouble.end(cluster);
      }
      for (const node of [0, 1]) await ready(cluster, node);
      await cluster.answer({ Topic, Seq: 1, Lease, node: 0 });
      assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
      const next = await cluster.add();
      assert.equal(assertOk(await poll.response).Topic, next.Topic);
      await cluster.answer({ as: 'Inference_2', Topic: next.Topic, Seq: 1 });
    });
  }

  test('no writes under load, again and again: nothing that was accepted is lost, failed or doubled', async () => {
    const load = startLoad(cluster, { frontends: 4, engines: 5, partials: true });
    const trouble = TROUBLES.at(-1);
    try {
      for (let i = 0; i < 3; i++) {
        await load.reached(15);
        await trouble.begin(cluster);
        await ready(cluster, i % 2, false);
        await trouble.end(cluster);
        await ready(cluster, i % 2);
      }
      await load.reached(15);
      const states = await load.finish();
      assert.deepEqual([states.Failed, states.Cancelled], [0, 0]);
    } finally {
      await trouble.end(cluster);
      load.abort();
    }
  });

  test('a script that does not end: 503 store_busy, and everything resumes after it', async () => {
    await cluster.redis.cmd('CONFIG', 'SET', 'busy-reply-threshold', '50');
    const stuck = openClient(cluster.redis);
    const ended = stuck.cmd('EVAL', 'while true do end', '0').catch((error) => error);
    try {
      await eventually(
        async () => {
          const { status, json } = await cluster.addRaw({ node: 0 });
          return status === 503 && json.code === 'store_busy';
        },
        { what: 'Redis says that it is busy' },
      );
      assert.match((await cluster.request('GET', '/health', { node: 0 })).json.dependencies.redis.details.message, /BUSY/);
    } finally {
      await cluster.redis.cmd('SCRIPT', 'KILL');
      await ended;
      stuck.close();
    }
    for (const node of [0, 1]) await ready(cluster, node);
    const { Topic } = await cluster.add({ User: 'last', Model: 'last' });
    assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Open');
  });

  test('a node that starts on a read-only Redis serves once it can write', async () => {
    const trouble = TROUBLES[0];
    let late;
    try {
      await trouble.begin(cluster);
      late = await cluster.startNode();
      assertProblem(await cluster.request('GET', '/readyz', { node: late }), 503);
    } finally {
      await trouble.end(cluster);
    }
    await ready(cluster, late);
    const login = await cluster.request('GET', '/api/login', { as: 'Frontend_1', node: late });
    assert.ok(assertOk(login).Token);
  });
});
