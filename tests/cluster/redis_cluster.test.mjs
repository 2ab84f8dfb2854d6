// SPDX-License-Identifier: MIT
//
// Nodes on a real Redis Cluster (ADR 55): slots that move under load, planned and unplanned failovers, masters that come back
// without their data, and what is agreed on.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe } from 'node:test';
import { upload } from '../support/documents.mjs';
import { assertOk, assertProblem, eventually, newTopic, runParley } from '../support/harness.mjs';
import { DATA_VERSION } from '../support/keyspace.mjs';
import { ownShards, prefixOfShard, prefixesOf, topicOn } from '../support/shards.mjs';
import { startRedisCluster } from '../support/topology.mjs';
import { print, testOn, underLoad, untilAccepted, usable } from './beyond.mjs';
import { byToken, metric, parked } from './watch.mjs';

ownShards(); // flags say how many

const SHARDS = 4;
const small = () => startRedisCluster({ masters: 3, replicas: 0 });
const whole = () => startRedisCluster({ masters: 3, replicas: 1, aof: true });
// Without a failover while a master moves 20 MB at once, however slow the machine is.
const patient = () => startRedisCluster({ masters: 3, replicas: 1, aof: true, nodeTimeoutMs: 60_000 });
const test = testOn(small, ['--shards', SHARDS]);
const topicOf = (shard) => topicOn(shard, SHARDS);
const slotOf = (redis, shard) => redis.slotOf(prefixOfShard(shard));
const ownerOf = async (redis, shard) => redis.ownerOf(await slotOf(redis, shard));
const moves = (cluster, node) => /redis moves a shard: its calls wait/.test(node.log());

// A master other than the one that has the shard's slot.
async function otherOf(redis, shard) {
  const masters = await redis.masters();
  return masters[(masters.indexOf(await ownerOf(redis, shard)) + 1) % masters.length];
}

async function moveShard(redis, shard) {
  await redis.move(await slotOf(redis, shard), await otherOf(redis, shard));
}

// Stores one question per shard; resolves with their topics.
async function addToAll(cluster) {
  const topics = Array.from({ length: SHARDS }, (_, shard) => topicOf(shard));
  for (const Topic of topics) await cluster.add({ Topic, Query: `kept in ${Topic}` });
  return topics;
}

async function assertThere(cluster, topics) {
  for (const node of cluster.nodes.filter(({ alive }) => alive)) {
    for (const Topic of topics) assert.equal((await cluster.check({ Topic, detail: true, node })).Query, `kept in ${Topic}`);
  }
}

const shardIsAway = (cluster, node, shard, words) =>
  eventually(
    async () => {
      const { status, json } = await cluster.request('GET', '/readyz', { node });
      return status === 200 && new RegExp(`Server ${shard + 1} of ${SHARDS}: ${words}`).test(json.away ?? '');
    },
    { ms: 60_000, what: `/readyz says that shard ${shard} is away: ${words}` },
  );

describe('Redis Cluster', { concurrency: false }, () => {
  test('slots of all shards move under load, twice: no request fails, and everything is there', async (cluster) => {
    const { redis } = cluster;
    const result = await underLoad(
      cluster,
      async (load) => {
        for (let i = 0; i < 2 * SHARDS; i++) {
          await moveShard(redis, i % SHARDS);
          await load.reached(5);
        }
      },
      { after: 30 },
    );
    print(`reshard: ${result.Done} questions over ${2 * SHARDS} moves, ${result.retries} requests sent again`);
    assert.equal(result.retries, 0, 'no request was refused');
    for (const node of cluster.nodes) assert.ok(moves(cluster, node), 'the node met a slot that moved');
  });

  test('a slot that takes long to move: calls of its shard wait, others do not; then they run', async (cluster) => {
    const { redis } = cluster;
    const topic = topicOf(1);
    const token = await byToken(cluster, 'Frontend_1'); // a nonce may belong to the shard that moves
    await cluster.add({ Topic: topic });
    const move = await redis.beginMove(await slotOf(redis, 1), await otherOf(redis, 1));
    await move.keys();
    const waiting = [0, 1].map((node) => cluster.addRaw({ Topic: topic, node, ...token }));
    for (const node of [0, 1]) await cluster.nodes[node].waitForLog(/calls wait prefix="parley:\{1nb\}:" error="ASK/);
    for (const shard of [0, 2, 3]) assertOk(await cluster.addRaw({ Topic: topicOf(shard), ...token }));
    await move.finish();
    const seqs = (await Promise.all(waiting)).map((response) => assertOk(response).Seq);
    assert.deepEqual(seqs.sort(), [2, 3], 'both were stored once');
  });

  test('a slot that does not finish moving: 503 with Retry-After within seconds, then everything resumes', async (cluster) => {
    const { redis } = cluster;
    const Topic = topicOf(2);
    const move = await redis.beginMove(await slotOf(redis, 2), await otherOf(redis, 2));
    const refused = await cluster.addRaw({ Topic, timeout: 60_000 });
    assertProblem(refused, 503, 'store_busy');
    assert.ok(Number(refused.headers['retry-after']) >= 1);
    await shardIsAway(cluster, cluster.pick(), 2, 'The shard');
    await move.keys();
    await move.finish();
    for (const node of cluster.nodes) await usable(cluster, node);
    await cluster.add({ Topic });
  });

  test('a question that is asked and polls that are parked while slots move reach each other', async (cluster) => {
    const { redis } = cluster;
    const polls = [0, 1].map((node) => cluster.claimOpen({ wait: 60, detail: true, node }));
    for (const node of [0, 1]) await parked(cluster, node, 1);
    for (let shard = 0; shard < SHARDS; shard++) await moveShard(redis, shard);
    const topics = [topicOf(0), topicOf(3)];
    for (const [node, Topic] of topics.entries()) await cluster.add({ Topic, node });
    const claims = await Promise.all(polls.map(async ({ response }) => assertOk(await response)));
    assert.deepEqual(claims.map(({ Topic }) => Topic).sort(), topics.sort());
    for (const { Topic, Lease } of claims) {
      const waiter = cluster.checkOpen({ Topic, wait: 60, node: 1 });
      await cluster.answer({ Topic, Seq: 1, Lease, node: 0 });
      assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
    }
  });

  test(
    'a planned failover of every master under load: no acknowledged question or answer is lost or doubled',
    async (cluster) => {
      const { redis } = cluster;
      const result = await underLoad(cluster, async (load) => {
        for (const master of await redis.masters()) {
          await redis.failover(await redis.replicaOf(master));
          await load.reached(10);
        }
      });
      print(`planned failovers: ${result.Done} questions, ${result.retries} requests sent again`);
    },
    { redis: whole },
  );

  test(
    'a master that is killed: its replica takes over with all that had reached it, and parked requests continue',
    async (cluster) => {
      const { redis } = cluster;
      const topics = await addToAll(cluster);
      await eventually(async () => (await metric(cluster, 0, 'parley_redis_connected')) !== 0);
      const victim = await ownerOf(redis, 0);
      await eventually(async () => (await victim.cmd('WAIT', 1, 1000)) >= 1, { what: 'the replica has it all' });
      const waiter = cluster.checkOpen({ Topic: topics[0], wait: 100, node: 1, timeout: 110_000 });
      await eventually(async () => (await metric(cluster, 1, 'parley_checks_parked')) === 1);
      await victim.kill('SIGKILL');
      const seconds = await untilAccepted(cluster, { Topic: topicOf(0), node: 0 });
      print(`a master killed: its shards were back after ${seconds.toFixed(1)} s (cluster-node-timeout 2 s)`);
      await redis.takenOver(victim);
      for (const node of cluster.nodes) await usable(cluster, node);
      await assertThere(cluster, topics);
      const left = new Set(topics);
      while (left.size > 0) {
        const claim = await cluster.claim({ wait: 60, detail: true });
        const [[Seq, Query]] = Object.entries(claim.Queries[0]);
        await cluster.answer({ Topic: claim.Topic, Seq: Number(Seq), Query, Lease: claim.Lease });
        left.delete(claim.Topic);
      }
      assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
      // It comes back as a replica: nobody uses it, and the next failover finds it.
      await victim.restart();
      await redis.ready();
      await assertThere(cluster, topics);
    },
    { redis: whole },
  );

  test(
    'masters that are killed under load with --durability replica: nothing acknowledged is lost or doubled',
    async (cluster) => {
      const { redis } = cluster;
      const result = await underLoad(cluster, async (load) => {
        for (const shard of [0, 2]) {
          const victim = await ownerOf(redis, shard);
          await victim.kill('SIGKILL');
          await redis.takenOver(victim);
          await victim.restart();
          await redis.ready();
          for (const node of cluster.nodes) await usable(cluster, node);
          await load.reached(20);
        }
      });
      print(`durability replica: ${result.Done} questions over two killed masters, ${result.retries} requests sent again`);
    },
    { redis: whole, args: ['--target', 'broker', '--rescan-seconds', '1', '--shards', SHARDS, '--durability', 'replica'] },
  );

  test(
    'an upload continues while the slots of all shards move, and is stored whole',
    async (cluster) => {
      const { redis } = cluster;
      const bytes = randomBytes(8 << 20).toString('base64').slice(0, 8 << 20); // Redis moves a list in one step
      const uploading = ['User_1', 'User_2'].map((as, i) => upload(cluster, { as, name: `large${i}.txt`, bytes, node: i, timeout: 60_000 }));
      let isDone = false;
      Promise.allSettled(uploading).then(() => (isDone = true));
      for (let i = 0; !isDone || i < SHARDS; i++) await moveShard(redis, i % SHARDS);
      for (const response of await Promise.all(uploading)) {
        assert.ok([200, 201].includes(response.status), response.text);
        const [key] = await redis.cmd('KEYS', `*:upload:${response.json.documentId}`);
        const blocks = await redis.cmd('LRANGE', key, 0, -1);
        assert.ok(blocks.join('') === bytes, `${blocks.length} blocks are what was uploaded`);
      }
    },
    { redis: patient, args: ['--target', 'broker,documents', '--rescan-seconds', '1', '--indexers', '0', '--shards', SHARDS] },
  );

  test('a master that comes back without its data: its shards are not used, the others are, until it is adopted', async (cluster) => {
    const { redis } = cluster;
    await addToAll(cluster);
    const token = await byToken(cluster, 'Frontend_1'); // a nonce may belong to a shard that is away
    const shard = 1;
    const master = await ownerOf(redis, shard);
    const its = [];
    for (let i = 0; i < SHARDS; i++) if ((await ownerOf(redis, i)) === master) its.push(i);
    await master.kill('SIGKILL');
    await master.restart();
    await redis.ready();
    for (const node of cluster.nodes) for (const each of its) await shardIsAway(cluster, node, each, 'It has lost its data');
    assertProblem(await cluster.addRaw({ Topic: topicOf(shard), ...token }), 503);
    const other = [0, 1, 2, 3].find((i) => !its.includes(i));
    await cluster.add({ Topic: topicOf(other), ...token });
    const { json } = await cluster.request('GET', '/health');
    assert.match(json.dependencies.redis.details.message, /has lost its data/);
    for (const each of its) {
      const adopted = await runParley(['servers', '--redis', redis.url, '--adopt', each + 1]);
      assert.equal(adopted.code, 0, adopted.stderr);
    }
    for (const node of cluster.nodes) await usable(cluster, node);
    await cluster.add({ Topic: topicOf(shard) });
  });

  test(
    'what is agreed on: a node without --shards adopts the number, another number is refused, and so is redis:// of a member',
    async (cluster) => {
      const { redis } = cluster;
      const shardZero = await ownerOf(redis, 0);
      const serve = (url, ...flags) => runParley(['serve', '--redis', url, '--accounts', cluster.accountsFile, '--listen', '127.0.0.1:0', ...flags], { env: { PARLEY_SHARDS: '' } });
      const records = await Promise.all(prefixesOf(SHARDS).map((prefix) => redis.cmd('GET', `${prefix}cluster`)));
      assert.deepEqual(records.map((record) => record.split(' ').slice(2, 5).map(Number)), [0, 1, 2, 3].map((i) => [i, SHARDS, SHARDS]));
      const other = await serve(redis.url, '--shards', 8);
      assert.deepEqual([other.code, other.stderr.trim()], [1, 'parley: --shards is 8, but this cluster has 4: leave it out, or restore a backup into an empty Redis with --shards']);
      const [master] = (await redis.masters()).filter((member) => member !== shardZero);
      const plain = await serve(`redis://127.0.0.1:${master.port}`);
      assert.equal(plain.code, 1, 'a member that does not have the shard');
      assert.match(plain.stderr, /redis\+cluster:\/\//, 'the line says what to write');
      cluster.options.args = ['--target', 'broker'];
      const adopted = await cluster.startNode();
      await usable(cluster, adopted);
      // Shard 0's record alone does not decide.
      await redis.cmd('DEL', `${prefixOfShard(0)}cluster`);
      const { code, stdout } = await runParley(['servers', '--redis', redis.url], { env: { PARLEY_SHARDS: '' } });
      assert.equal(code, 1);
      assert.match(stdout, /emptied: it has no cluster record/);
      assert.equal(stdout.trim().split('\n').length, SHARDS, 'all shards are known');
      // Nor is it started again where another shard has another data version.
      const [, second] = prefixesOf(SHARDS);
      await redis.cmd('SET', `${second}cluster`, records[1].replace(/^\d+ /, `${DATA_VERSION + 1} `));
      for (const flags of [[], ['--shards', SHARDS]]) {
        const refused = await serve(redis.url, ...flags);
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, new RegExp(`^parley: the data in Redis has data version ${DATA_VERSION + 1}, and this Parley \\(.*\\) reads only data version ${DATA_VERSION}: .*\n$`));
      }
      assert.equal(await redis.cmd('GET', `${prefixOfShard(0)}cluster`), null);
      await redis.cmd('SET', `${second}cluster`, records[1]);
    },
    { nodes: 1 },
  );

  test('a prefix that is refused, and seeds of which only the last one lives', async (cluster) => {
    const [first] = cluster.redis.members;
    const node = await cluster.startNode({ redis: { url: `redis+cluster://127.0.0.1:1,127.0.0.1:2,127.0.0.1:${first.port}` } });
    await usable(cluster, node);
    const Topic = newTopic();
    await cluster.add({ Topic, node });
    assert.equal((await cluster.check({ Topic, detail: true, node: 0 })).Status, 'Open');
    for (const url of ['redis+cluster://', 'redis+cluster://127.0.0.1:1/3', 'redis+cluster://127.0.0.1:1,redis://127.0.0.1:2', 'redis+cluster://127.0.0.1:0']) {
      const { code, stderr } = await runParley(['serve', '--redis', url, '--accounts', cluster.accountsFile]);
      assert.deepEqual([code, /^parley: --redis: .*redis\+cluster:\/\//.test(stderr)], [2, true], `${url}: ${stderr}`);
    }
  }, { nodes: 1 });
});
