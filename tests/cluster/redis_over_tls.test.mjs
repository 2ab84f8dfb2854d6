// SPDX-License-Identifier: MIT
//
// Redis over TLS (ADR 2): nodes and tools on a real Redis with a certificate, what is refused, and what happens when it
// restarts. For a build with hiredis 1, which the installed one may not be: then all of this is skipped. By hand:
//
//   PARLEY_BIN=$(tests/hiredis.sh) ./dev test tests/cluster/redis_over_tls.test.mjs
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { settled, upload } from '../support/documents.mjs';
import { assertOk, eventually, makeFolder, newTopic, runParley, startRedis } from '../support/harness.mjs';
import { keyOf, ownShards, prefixOfShard, topicOn } from '../support/shards.mjs';
import { makeAuthority } from '../support/tls.mjs';
import { startRedisCluster } from '../support/topology.mjs';
import { testOn, underLoad, untilAccepted, usable } from './beyond.mjs';

ownShards();

const folder = makeFolder();
const strange = makeFolder();
const authority = makeAuthority(folder.dir);
const stranger = makeAuthority(strange.dir);
const good = { ...authority.make('redis'), ca: authority.ca };
const { stderr: refusal } = await runParley(['servers', '--redis', 'rediss://127.0.0.1:1']);
const isThere = !/older than 1\.0/.test(refusal);
if (!isThere) console.log('# skipped: this build has no Redis over TLS; PARLEY_BIN=$(tests/hiredis.sh) is one that has');

const TRUST = ['--ca-file', authority.ca];
const secure = () => startRedis({ aof: true, tls: good });
const test = isThere ? testOn(secure, TRUST) : (name) => it(name, { skip: true });

// Why a tool does not reach that Redis; empty if it does.
async function whyNot({ url }, ...flags) {
  const { code, stderr } = await runParley(['show', 'nodes', '--redis', url, ...flags]);
  assert.equal(code === 0, stderr === '', stderr);
  return /no node runs on this Redis/.test(stderr) ? '' : stderr;
}

// Redis has that certificate from now on, also for connections that are there.
async function present(redis, { cert, key }) {
  await redis.cmd('CONFIG', 'SET', 'tls-cert-file', cert, 'tls-key-file', key);
  await redis.cmd('CLIENT', 'KILL', 'TYPE', 'pubsub').catch(() => {});
  await redis.cmd('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}

async function cycle(cluster, { Query = 'Why?', Answer = ['Because.'] } = {}) {
  const { Topic, Seq } = await cluster.add({ Query });
  const waiter = cluster.checkOpen({ Topic, wait: 60, detail: true });
  const claim = await cluster.claim({ wait: 60, detail: true });
  assert.equal(claim.Topic, Topic);
  await cluster.answer({ Topic, Seq, Query, Answer, Lease: claim.Lease });
  assert.deepEqual(assertOk(await waiter.response).Answer, Answer);
}

// No connection of ours comes to the port without TLS.
async function assertEncrypted(redis) {
  const clients = (await redis.cmd('CLIENT', 'LIST')).split('\n').filter((line) => / name=parley-/.test(line));
  assert.ok(clients.length >= 2, `${clients.length} connections`);
  for (const line of clients) assert.match(line, new RegExp(` laddr=\\S+:${redis.tlsPort} `));
}

describe('Redis over TLS', { concurrency: false }, () => {
  after(() => [folder, strange].forEach((one) => one.remove()));

  test('questions are asked, waited for and answered, small and large ones, and every connection has TLS', async (cluster) => {
    await cycle(cluster);
    await assertEncrypted(cluster.redis);
    const long = (n) => 'äöü and so on. '.repeat(n);
    await cycle(cluster, { Query: long(3000), Answer: [long(20_000)] });
    for (let i = 0; i < 40; i++) await cluster.add({ Topic: 'history', Query: long(2000) }); // read by one reply of 1 MB
    const claim = await cluster.claim({ detail: true, history: true });
    assert.equal(claim.Topic, 'history');
  });

  test('Redis restarts under load, three times: nothing is lost', async (cluster) => {
    const { redis } = cluster;
    for (let i = 0; i < 3; i++) {
      await underLoad(cluster, async () => {
        await redis.kill('SIGKILL');
        await redis.restart();
      });
    }
    await assertEncrypted(redis);
  });

  test('a certificate of another authority, or of another host: a start is refused with one line, a node that runs waits until it is right', async (cluster) => {
    const { redis } = cluster;
    const other = { ...stranger.make('redis') };
    const elsewhere = authority.make('elsewhere', { names: 'DNS:redis.example.org' });
    assert.equal(await whyNot(redis, ...TRUST), '');
    for (const [what, { cert, key }, why] of [
      ['authority', other, /UNTRUSTED certificate: (self.signed certificate|unable to get local issuer)/],
      ['host', elsewhere, /UNTRUSTED certificate: hostname mismatch/],
    ]) {
      await present(redis, { cert, key });
      const start = await runParley(['serve', '--listen', '127.0.0.1:0', '--redis', redis.url, '--accounts', cluster.accountsFile, ...TRUST]);
      assert.notEqual(start.code, 0, what);
      assert.match(start.stderr, why);
      assert.match(start.stderr, /--ca-file/);
      assert.match(await whyNot(redis, ...TRUST), why);
      for (const node of cluster.nodes) {
        await eventually(
          async () => {
            const { status, text } = await cluster.request('GET', '/readyz', { node });
            return status === 503 && text.includes('The certificate of Redis is not accepted');
          },
          { ms: 60_000, what: `${what}: the node does not use it` },
        );
      }
      await present(redis, good);
      for (const node of cluster.nodes) await usable(cluster, node);
      await cycle(cluster);
    }
    assert.match(await whyNot(redis), /UNTRUSTED/, 'the authority is none of the system');
  });

  test('a certificate for an address, not a name', async (cluster) => {
    const { redis } = cluster;
    const url = redis.url.replace('localhost', '127.0.0.1');
    assert.equal(await whyNot({ url }, ...TRUST), '');
    await present(redis, authority.make('named', { names: 'DNS:localhost' }));
    assert.equal(await whyNot(redis, ...TRUST), '');
    assert.match(await whyNot({ url }, ...TRUST), /UNTRUSTED certificate: IP address mismatch/);
  }, { nodes: 0 });

  test('a Redis that asks for certificates of its clients gets the one of --redis-tls-cert', async (cluster) => {
    const { redis } = cluster;
    await redis.cmd('CONFIG', 'SET', 'tls-auth-clients', 'yes');
    assert.match(await whyNot(redis, ...TRUST), /certificate required|reset by peer|Broken pipe/); // what comes first: its alert, or its end
    const { cert, key } = authority.make('node');
    const flags = [...TRUST, '--redis-tls-cert', cert, '--redis-tls-key', key];
    assert.equal(await whyNot(redis, ...flags), '');
    await cluster.startNode({ args: flags });
    await usable(cluster, cluster.nodes[0]);
    await cycle(cluster);
    for (const wrong of [['--redis-tls-cert', cert], ['--redis-tls-key', key], ['--redis-tls-cert', cert, '--redis-tls-key', good.key], ['--redis-tls-cert', key, '--redis-tls-key', key]]) {
      const { code, stderr } = await runParley(['show', 'nodes', '--redis', redis.url, ...TRUST, ...wrong]);
      assert.equal(code, 2, stderr);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.match(stderr, /--redis-tls-/);
    }
  }, { nodes: 0 });

  test('a port without TLS, and a Redis that is silent for a while: an error that says what it is, then all is well', async (cluster) => {
    const { redis } = cluster;
    assert.match(await whyNot({ url: `rediss://127.0.0.1:${redis.port}` }, ...TRUST), /TLS: no handshake in time/);
    assert.match(await whyNot({ url: `redis://127.0.0.1:${redis.tlsPort}` }), /^parley: Redis at 127\.0\.0\.1:\d+\/0 \(--redis\): \S/);
    await cluster.startNode();
    redis.pause();
    assert.match(await whyNot(redis, ...TRUST), /TLS: no handshake in time/);
    redis.resume();
    await usable(cluster, cluster.nodes[0]);
    await cycle(cluster);
  }, { nodes: 0 });

  test('an upload of 20 MiB goes to Redis in blocks, and from there to the indexer', async (cluster) => {
    const bytes = Buffer.concat([Buffer.from('<p>The gate is green.<!-- '), Buffer.alloc(20 << 20, 'words '), Buffer.from('-->')]);
    const { documentId } = assertOk(await upload(cluster, { name: 'large.html', bytes }), 201);
    assert.equal((await settled(cluster, 'User_1', documentId)).status, 'INDEXED');
    await assertEncrypted(cluster.redis);
  }, { nodes: 1, args: TRUST });

  test('a backup and a restore over TLS', async (cluster) => {
    const { redis } = cluster;
    const topics = Array.from({ length: 20 }, () => newTopic());
    for (const Topic of topics) await cluster.add({ Topic, Query: 'kept '.repeat(2000) });
    const to = join(folder.dir, 'backup');
    const made = await runParley(['backup', '--redis', redis.url, ...TRUST, to]);
    assert.equal(made.code, 0, made.stderr);
    assert.ok(existsSync(to));
    const next = await secure();
    try {
      const restored = await runParley(['restore', '--redis', next.url, ...TRUST, to]);
      assert.equal(restored.code, 0, restored.stderr);
      for (const Topic of topics) assert.equal(await next.cmd('EXISTS', keyOf(Topic, `t:${Topic}`)), 1);
    } finally {
      await next.stop();
    }
  });

  test('Sentinels and their master over TLS', async (cluster) => {
    const { redis } = cluster;
    const config = `sentinel monitor main 127.0.0.1 ${redis.tlsPort} 1\nsentinel down-after-milliseconds main 5000\ntls-replication yes\n`;
    const sentinel = await startRedis({ config, isSentinel: true, tls: good });
    try {
      const url = `rediss+sentinel://localhost:${sentinel.tlsPort}/main`;
      await eventually(async () => (await whyNot({ url }, ...TRUST)) === '', { ms: 60_000, what: 'the Sentinel knows the master' });
      await cluster.startNode({ redis: { url } });
      await usable(cluster, cluster.nodes[0]);
      await cycle(cluster);
      await assertEncrypted(redis);
      assert.match(await whyNot({ url }), /UNTRUSTED/);
    } finally {
      await cluster.nodes[0]?.stop();
      cluster.nodes.length = 0;
      await sentinel.stop();
    }
  }, { nodes: 0 });

  test('a Redis Cluster over TLS: questions on all shards, and a failover under load', async (cluster) => {
    const { redis } = cluster;
    const topics = [0, 1, 2, 3].map((shard) => topicOn(shard, 4));
    for (const Topic of topics) await cluster.add({ Topic });
    const master = await redis.ownerOf(await redis.slotOf(prefixOfShard(0)));
    await underLoad(cluster, async () => redis.failover(await redis.replicaOf(master)));
    await untilAccepted(cluster, { Topic: topics[0] });
    for (const Topic of topics) assertOk(await cluster.checkRaw({ Topic, detail: true }));
  }, { redis: () => startRedisCluster({ masters: 3, replicas: 1, tls: good }), args: ['--target', 'broker', '--rescan-seconds', '1', ...TRUST, '--shards', '4'] });
});
