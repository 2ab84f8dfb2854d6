// SPDX-License-Identifier: MIT
//
// --durability: what is acknowledged is on a replica, or in the append-only file, and what is not yet is not acknowledged. The
// link between a master and its replica is silent here when a test wants it; a killed master then takes along what only it has.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertOk, assertProblem, eventually, newNonce, newTopic, runParley, startCluster, startRedis, suite, writeAccounts } from '../support/harness.mjs';
import { keyOf, ownShards, prefixOfShard, topicOn } from '../support/shards.mjs';
import { startRedisCluster, startRelay, startReplicas, startSentinels } from '../support/topology.mjs';

ownShards(); // each shard has a fence of its own: what is shown for one holds for all; several are in a test of their own

const REPLICA = ['--durability', 'replica'];
const KEY = () => ({ headers: { 'Idempotency-Key': newNonce() } });

// A master and a replica that follows it through `link`; nodes reach the master through `door`. The spare follows nobody
// until the replica is the master.
async function startLinked(options) {
  const redis = await startReplicas({ ...options, replicas: 2 });
  const [master, replica, spare] = redis.members;
  const [link, door] = [await startRelay(master.port), await startRelay(master.port)];
  await replica.cmd('REPLICAOF', '127.0.0.1', link.port);
  await redis.synced();
  await spare.cmd('REPLICAOF', 'NO', 'ONE');
  return {
    master,
    replica,
    link,
    door,
    url: door.url,
    cmd: (...words) => (master.alive ? master : replica).cmd(...words),
    info: (section) => (master.alive ? master : replica).info(section),
    // The master dies at once, and the replica takes over with what it has.
    async failOver() {
      await master.kill('SIGKILL');
      link.drop();
      await replica.cmd('REPLICAOF', 'NO', 'ONE');
      await spare.cmd('REPLICAOF', '127.0.0.1', replica.port);
      door.to(replica.port);
    },
    stop: () => Promise.all([link.stop(), door.stop(), redis.stop()]),
  };
}

const isStored = (redis, Topic) => redis.cmd('EXISTS', keyOf(Topic, `t:${Topic}`));
const becomesStored = (redis, Topic) => eventually(() => isStored(redis, Topic), { what: 'the query is in the master' });
// Does it stay unanswered until something else is?
const isPending = async (promise) => (await Promise.race([promise, Promise.resolve('pending')])) === 'pending';

// Nodes answer again, after a failover.
const usable = (cluster) =>
  eventually(async () => (await Promise.all(cluster.nodes.map((node) => cluster.request('GET', '/readyz', { node })))).every(({ status }) => status === 200), {
    what: 'all nodes are ready',
  });

suite('durability of a replica', { redis: startLinked, args: REPLICA }, ({ test, cluster }) => {
  test('a query is acknowledged once the replica has it, not before', async ({ redis }) => {
    const Topic = newTopic();
    redis.link.hold();
    const added = cluster.addRaw({ Topic });
    await becomesStored(redis, Topic);
    // Others are answered meanwhile: of the same node, and by the same connection to Redis.
    assertOk(await cluster.checkRaw({ Topic, detail: true, node: 0 }));
    assertOk(await cluster.checkRaw({ Topic, detail: true, node: 1 }));
    assert.ok(await isPending(added), 'not acknowledged');
    redis.link.release();
    assertOk(await added);
    assert.equal(await redis.replica.cmd('EXISTS', keyOf(Topic, `t:${Topic}`)), 1);
  });

  test('an answer is acknowledged once the replica has it, not before', async ({ redis }) => {
    const { Topic } = await cluster.add();
    const claim = await cluster.claim({ wait: 10, detail: true });
    assert.equal(claim.Topic, Topic);
    redis.link.hold();
    const answered = cluster.answerRaw({ Topic, Seq: 1, Lease: claim.Lease, Answer: ['held'] });
    await eventually(async () => assertOk(await cluster.checkRaw({ Topic })).Answer, { what: 'the answer is in the master' });
    assert.ok(await isPending(answered), 'not acknowledged');
    redis.link.release();
    assertOk(await answered);
  });

  test('many that wait are acknowledged together, with few rounds', async ({ redis }) => {
    const calls = async () => Number(/calls=(\d+)/.exec((await redis.info('commandstats')).cmdstat_wait)[1]);
    const topics = Array.from({ length: 300 }, () => newTopic());
    redis.link.hold();
    const added = topics.map((Topic, i) => cluster.addRaw({ Topic, User: `user${i}` }));
    await becomesStored(redis, topics.at(-1));
    await Promise.all(topics.map((Topic) => becomesStored(redis, Topic)));
    const before = await calls();
    redis.link.release();
    for (const response of await Promise.all(added)) assertOk(response);
    assert.ok((await calls()) - before <= 20, 'rounds');
  });

  test('what no replica has in time gets 503 not_durable; the same key then gives the first answer', async ({ redis }) => {
    const Topic = newTopic();
    const key = KEY();
    redis.link.hold();
    const refused = await cluster.addRaw({ Topic, ...key });
    assertProblem(refused, 503, 'not_durable');
    assert.ok(Number(refused.headers['retry-after']) >= 1);
    assert.equal(await isStored(redis, Topic), 1);
    const health = await cluster.request('GET', '/health', { node: 0 });
    assert.match(health.text + (await cluster.request('GET', '/health', { node: 1 })).text, /not_durable/);
    // Sent again while nothing is confirmed: still refused, and there is still one.
    assertProblem(await cluster.addRaw({ Topic, ...key }), 503, 'not_durable');
    redis.link.release();
    const { Seq } = assertOk(await cluster.addRaw({ Topic, ...key }));
    assert.equal(Seq, 1);
    const thread = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } }));
    assert.equal(thread.length, 1);
    await eventually(async () => !/not_durable/.test((await cluster.request('GET', '/health', { node: 0 })).text + (await cluster.request('GET', '/health', { node: 1 })).text), {
      what: 'health is good again',
    });
  });

  test('an answer that is not confirmed gets 503, and sent again it is the stored one', async ({ redis }) => {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ wait: 10, detail: true });
    redis.link.hold();
    const answer = { Topic, Seq: 1, Lease, Answer: ['first'] };
    assertProblem(await cluster.answerRaw({ ...answer, next: true, query: { Wait: 30 } }), 503, 'not_durable');
    redis.link.release();
    assertOk(await cluster.answerRaw(answer));
    assert.deepEqual((await cluster.check({ Topic })).Answer, ['first']);
    // The poll that came with the refused answer holds no work back.
    const after = await cluster.add();
    assert.equal((await cluster.claim({ wait: 30 })).Topic, after.Topic);
    await cluster.answer({ Topic: after.Topic, Seq: 1 });
  });

  test('a client that leaves while its acknowledgement is held costs nothing', async ({ redis }) => {
    const topics = Array.from({ length: 50 }, () => newTopic());
    redis.link.hold();
    const open = topics.map((Topic) => cluster.open('POST', '/api/add-query', { as: 'Frontend_1', body: { Topic, User: 'alice', Query: 'What is the meaning of life?' } }));
    open.forEach(({ response }) => response.catch(() => {}));
    await Promise.all(topics.map((Topic) => becomesStored(redis, Topic)));
    open.forEach((request) => request.abort());
    redis.link.release();
    await cluster.add();
  });

  test('a node that stops while acknowledgements are held gives them all before it ends', async ({ redis }) => {
    const node = await cluster.startNode();
    const topics = Array.from({ length: 5 }, () => newTopic());
    redis.link.hold();
    const added = topics.map((Topic) => cluster.addRaw({ Topic, node }));
    await Promise.all(topics.map((Topic) => becomesStored(redis, Topic)));
    node.signal('SIGTERM');
    await eventually(async () => (await cluster.request('GET', '/readyz', { node }).catch(() => ({ status: 503 }))).status === 503, { what: 'it drains' });
    redis.link.release();
    for (const response of await Promise.all(added)) assertOk(response);
    assert.equal((await node.exited()).code, 0);
  });

  test('while Redis is full an answer is still acknowledged once the replica has it', async ({ redis }) => {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ wait: 10, detail: true });
    await redis.cmd('CONFIG', 'SET', 'maxmemory', '1mb');
    try {
      assertProblem(await cluster.addRaw(), 503, 'store_full');
      assertOk(await cluster.answerRaw({ Topic, Seq: 1, Lease }));
    } finally {
      await redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  test('the connection that waits is lost: what is held is confirmed by the next one', async ({ redis }) => {
    const Topic = newTopic();
    redis.link.hold();
    const added = cluster.addRaw({ Topic });
    await becomesStored(redis, Topic);
    const list = await redis.cmd('CLIENT', 'LIST');
    const fences = [...list.matchAll(/^id=(\d+) .* name=parley-fence /gm)].map(([, id]) => id);
    assert.equal(fences.length, cluster.nodes.filter(({ alive }) => alive).length);
    for (const id of fences) await redis.cmd('CLIENT', 'KILL', 'ID', id);
    redis.link.release();
    assertOk(await added);
  });
});

// Frontends and engines that send again what was not acknowledged, while the master is killed. Then what was acknowledged is
// compared with what the new master has. prepare(queries): before it is killed.
async function killUnderLoad(cluster, name, prepare, kill) {
  const [queries, answers] = [new Map(), new Map()]; // acknowledged ones
  let isOver = false;
  let refused = 0;
  const sent = (request) =>
    request.catch((error) => {
      if (!/ECONN|EPIPE|hang up|cut|no answer in/.test(error.message)) throw error;
      return { status: 0 };
    });
  async function frontend(number) {
    for (let n = 0; !isOver; n++) {
      const Query = `question ${n} of ${number}`;
      const key = KEY();
      const Topic = newTopic(`kill${number}`);
      while (!queries.has(Topic) && !isOver) {
        const { status } = await sent(cluster.addRaw({ Topic, User: `user${number}`, Query, ...key }));
        if (status === 200) queries.set(Topic, Query);
        else refused++;
        await sleep(20); // engines answer as many, and this leaves them time for it
      }
    }
  }
  async function engine() {
    while (!isOver) {
      const polled = await sent(cluster.claimRaw({ wait: 1, detail: true }));
      if (polled.status !== 200 || polled.json.Topic === null) continue;
      const { Topic, Lease, Queries } = polled.json;
      const Answer = [`answer under ${Lease} to ${Topic}`];
      const { status } = await sent(cluster.answerRaw({ Topic, Seq: 1, Lease, Query: Object.values(Queries[0])[0], Answer }));
      if (status === 200) answers.set(Topic, Answer);
    }
  }
  try {
    const all = Promise.all([...Array.from({ length: 8 }, (_, i) => frontend(i)), ...Array.from({ length: 4 }, engine)]);
    all.catch(() => {});
    const reached = (condition, what) => Promise.race([eventually(condition, { what, ms: 60_000 }), all]);
    await reached(() => answers.size >= 200, '200 answers');
    await prepare(queries);
    const began = Date.now();
    await kill();
    const after = queries.size;
    await reached(() => queries.size >= after + 50, '50 more queries');
    console.log(`${name}: ${queries.size} queries and ${answers.size} answers acknowledged, ${refused} requests refused; 50 more within ${Date.now() - began} ms, failover included`);
    isOver = true;
    await all;
    await usable(cluster);
    const lost = { queries: 0, answers: 0 };
    for (const Topic of queries.keys()) {
      const found = await cluster.checkRaw({ Topic });
      lost.queries += found.status !== 200;
      if (answers.has(Topic) && found.status === 200) lost.answers += found.json.Answer?.[0] !== answers.get(Topic)[0];
    }
    return lost;
  } finally {
    isOver = true;
  }
}

describe('a master that is killed under load', () => {
  for (const [durability, isSafe] of [['replica', true], ['none', false]]) {
    it(`with --durability ${durability}: ${isSafe ? 'nothing acknowledged is lost' : 'what only the master had is lost, though acknowledged'}`, { timeout: 180_000 }, async () => {
      const cluster = await startCluster({ redis: startLinked, args: ['--durability', durability] });
      const { redis } = cluster;
      // Of the queries above: how many keys there are says nothing, because leases end on the master meanwhile.
      const topics = (server) => server.cmd('KEYS', '*t:kill*');
      const onlyOnMaster = async () => {
        const copied = new Set(await topics(redis.replica));
        return (await topics(redis.master)).some((key) => !copied.has(key));
      };
      try {
        const lost = await killUnderLoad(
          cluster,
          `durability ${durability}`,
          async (queries) => {
            redis.link.hold();
            // Those of the frontends may all have been copied, and wait for a confirmation that is held: then they are sent again.
            cluster.addRaw({ Topic: newTopic('kill') }).catch(() => {});
            // Without the setting so many more are acknowledged; with it they are only stored.
            const acknowledged = queries.size;
            await eventually(async () => (await onlyOnMaster()) && (isSafe || queries.size >= acknowledged + 20), { what: 'the master has queries that the replica has not' });
          },
          () => redis.failOver(),
        );
        if (isSafe) assert.deepEqual(lost, { queries: 0, answers: 0 });
        else assert.ok(lost.queries + lost.answers > 0, 'this test would find what is lost');
      } finally {
        await cluster.stop();
      }
    });
  }

  for (const [name, start, masterOf, taken] of [
    ['Sentinel', () => startSentinels({ replicas: 2 }), (redis) => redis.master(), (redis, master) => redis.agreed(master)],
    ['a Redis Cluster', () => startRedisCluster({ masters: 3, replicas: 2 }), async (redis) => redis.ownerOf(await redis.slotOf('parley:{0}:')), (redis, master) => redis.takenOver(master)],
  ]) {
    it(`with --durability replica and ${name}: nothing acknowledged is lost`, { timeout: 240_000 }, async () => {
      const cluster = await startCluster({ redis: start, args: REPLICA });
      try {
        const lost = await killUnderLoad(cluster, `durability replica, ${name}`, () => {}, async () => {
          const master = await masterOf(cluster.redis);
          await master.kill('SIGKILL');
          await taken(cluster.redis, master);
        });
        assert.deepEqual(lost, { queries: 0, answers: 0 });
      } finally {
        await cluster.stop();
      }
    });
  }
});

describe('durability while a slot moves', () => {
  it('its queries and answers are acknowledged on the new master as before, and none is lost', { timeout: 240_000 }, async () => {
    const cluster = await startCluster({ redis: () => startRedisCluster(), args: REPLICA });
    const { redis } = cluster;
    try {
      const slot = await redis.slotOf('parley:{0}:');
      const lost = await killUnderLoad(cluster, 'durability replica, a slot that moves', () => {}, async () => {
        const from = await redis.ownerOf(slot);
        const to = (await redis.masters()).find((master) => master !== from);
        await redis.move(slot, to);
        await redis.move(slot, from);
      });
      assert.deepEqual(lost, { queries: 0, answers: 0 });
    } finally {
      await cluster.stop();
    }
  });
});

describe('durability that Redis does not permit', () => {
  it('a user without the right to WAIT gets 503 for what it stores, and the log says why', { timeout: 120_000 }, async () => {
    const redis = await startReplicas();
    await redis.cmd('ACL', 'SETUSER', 'node', 'on', '>pw', '~*', '&*', '+@all', '-wait');
    const url = redis.url.replace('redis://', 'redis://node:pw@');
    const cluster = await startCluster({ redis: () => ({ url, cmd: (...words) => redis.cmd(...words), stop: () => redis.stop() }), args: REPLICA, nodes: 1 });
    try {
      assertProblem(await cluster.addRaw(KEY()), 503, 'not_durable');
      await cluster.nodes[0].waitForLog(/NOPERM.*wait/i);
      await redis.cmd('ACL', 'SETUSER', 'node', '+wait');
      await eventually(async () => (await cluster.addRaw(KEY())).status === 200, { what: 'it is acknowledged' });
    } finally {
      await cluster.stop();
    }
  });
});

describe('durability of several shards', () => {
  it('each shard confirms its own queries', { timeout: 120_000 }, async () => {
    const cluster = await startCluster({ redis: startLinked, args: [...REPLICA, '--shards', '4'], nodes: 1 });
    try {
      for (const shard of [0, 1, 2, 3]) await cluster.add({ Topic: topicOn(shard, 4) });
      const keys = await Promise.all([0, 1, 2, 3].map((shard) => cluster.redis.cmd('EXISTS', `${prefixOfShard(shard)}fence`)));
      assert.deepEqual(keys, [1, 1, 1, 1]);
      cluster.redis.link.hold();
      assertProblem(await cluster.addRaw(KEY()), 503, 'not_durable');
      cluster.redis.link.release();
      await cluster.add();
    } finally {
      await cluster.stop();
    }
  });
});

// In memory, which outlives a kill, too: a file that is written once a second there takes a second each time, so a round of no
// more than that would never be confirmed. A disk that others use may take longer than a node waits.
const UNDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

// --- disk ----------------------------------------------------------------------------------------

function serverOf(name) {
  try {
    return execFileSync('tests/servers.sh', [name], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

async function refusal(server, options) {
  const redis = await startRedis({ server, ...options });
  const accounts = writeAccounts();
  try {
    return await runParley(['serve', '--listen', '127.0.0.1:0', '--redis', redis.url, '--accounts', accounts.path, '--durability', 'disk']);
  } finally {
    await redis.stop();
    accounts.remove();
  }
}

describe('durability of disk', () => {
  it('a Redis that cannot wait for its append-only file is refused at the start, in one line', async () => {
    const { code, stderr } = await refusal('redis-server', { aof: true });
    assert.equal(code, 1);
    assert.match(stderr, /^parley: --durability: disk requires Redis 7\.2 or Valkey 8: [^\n]*\n$/);
  });

  const server = serverOf('redis8') ?? serverOf('valkey8');

  it('a Redis without an append-only file is refused at the start, in one line', async (t) => {
    if (!server) return t.skip('that server cannot be fetched here');
    const { code, stderr } = await refusal(server, { aof: false });
    assert.equal(code, 1);
    assert.match(stderr, /^parley: --durability: disk requires an append-only file: [^\n]*\n$/);
  });

  it('no claim waits with an acknowledgement that takes longer than its delivery may', { timeout: 120_000 }, async (t) => {
    if (!server) return t.skip('that server cannot be fetched here');
    const redis = () => startRedis({ server, aof: true, args: ['--appendfsync', 'everysec'], under: UNDER });
    const cluster = await startCluster({ redis, args: ['--durability', 'disk', '--delivery-seconds', '1'], nodes: 1 });
    try {
      let first = 0;
      const takesLong = async () => {
        const began = Date.now();
        first++;
        await cluster.add();
        return Date.now() - began > 900;
      };
      await eventually(takesLong, { ms: 30_000, what: 'the node has seen that a round takes long' });
      const answered = new Set();
      const engine = async () => {
        for (let claim = await cluster.claim({ wait: 2 }); claim.Topic; ) {
          const [Seq, Query] = Object.entries(claim.Queries[0])[0];
          const { Next } = await cluster.answer({ Topic: claim.Topic, Seq: Number(Seq), Query, Lease: claim.Lease, next: true, query: { Next: 'true', Wait: 2, Detail: 'true' } });
          answered.add(claim.Topic);
          claim = Next?.Topic ? Next : await cluster.claim({ wait: 2 });
        }
      };
      // Not counted: those that the node gives back at once, since the poll that they were meant for has another claim.
      const endedOnTheWay = async () => {
        const page = (await cluster.request('GET', '/metrics')).text;
        const [undelivered] = /(?<=^parley_lease_ends_total\{reason="undelivered"\} )\d+$/m.exec(page);
        const [givenBack] = /(?<=^parley_claims_given_back_total )\d+$/m.exec(page);
        return undelivered - givenBack;
      };
      let asked = first;
      const round = async () => {
        const before = await endedOnTheWay();
        const topics = Array.from({ length: 60 }, () => newTopic());
        asked += topics.length;
        const added = Promise.all(topics.map((Topic) => cluster.add({ Topic })));
        await Promise.all(Array.from({ length: 8 }, engine));
        await added;
        assert.equal(answered.size, asked);
        return (await endedOnTheWay()) === before;
      };
      // A node that is starved for half a second also confirms deliveries too late, now and then, so one clean round suffices.
      // If claims waited with acknowledgements, leases would end in every round.
      await eventually(round, { ms: 60_000, what: 'a round in which no lease ends before its claim reaches an engine' });
    } finally {
      await cluster.stop();
    }
  });

  it('what is acknowledged is there after a kill, though the file is written once a second', { timeout: 120_000 }, async (t) => {
    if (!server) return t.skip('that server cannot be fetched here');
    const cluster = await startCluster({ redis: () => startRedis({ server, aof: true, args: ['--appendfsync', 'everysec'], under: UNDER }), args: ['--durability', 'disk'], nodes: 1 });
    try {
      const topics = Array.from({ length: 50 }, () => newTopic());
      await Promise.all(
        topics.map((Topic) => {
          const key = KEY();
          return eventually(async () => (await cluster.addRaw({ Topic, ...key })).status === 200, { ms: 60_000, what: 'it is acknowledged' });
        }),
      );
      await cluster.redis.kill('SIGKILL');
      await cluster.redis.restart();
      await usable(cluster);
      for (const Topic of topics) assertOk(await cluster.checkRaw({ Topic }));
      await cluster.redis.cmd('CONFIG', 'SET', 'appendonly', 'no');
      const key = KEY();
      const Topic = newTopic();
      assertProblem(await cluster.addRaw({ Topic, ...key }), 503, 'not_durable');
      await cluster.redis.cmd('CONFIG', 'SET', 'appendonly', 'yes');
      await eventually(async () => (await cluster.addRaw({ Topic, ...key })).json.Seq === 1, { what: 'it is acknowledged' });
    } finally {
      await cluster.stop();
    }
  });
});
