// SPDX-License-Identifier: MIT
//
// Redis restarts, hangs, forgets the scripts and drops connections, most of it under load. What was
// acknowledged is there afterwards, everything ends once, and nobody hangs on a dead connection.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newNonce, newTopic, suite } from '../support/harness.mjs';
import { openClient } from '../support/servers.mjs';
import { keyOf, SHARDS } from '../support/shards.mjs';
import { startLoad } from './load.mjs';
import { byToken, connected, holdScripts, parked, ready, status, stop, topicWithCredit } from './watch.mjs';

const EMPTY = { Topic: null, Queries: null };

// Load on the cluster, disturbed `times` times: everything that was accepted ends Done, once.
async function survive(cluster, disturb, { times = 3, between = 15, retries = Infinity } = {}) {
  const load = startLoad(cluster, { frontends: 4, engines: 5, partials: true });
  try {
    for (let i = 0; i < times; i++) {
      await load.reached(between);
      await disturb(i);
    }
    await load.reached(between);
    const states = await load.finish();
    assert.deepEqual([states.Failed, states.Cancelled], [0, 0]);
    assert.ok(states.Done >= times * between);
    assert.ok(load.retries <= retries, `${load.retries} requests were sent again`);
  } finally {
    load.abort();
  }
}

suite('Redis that restarts from its append-only file', { nodes: 2, aof: true, sweep: false }, ({ test, cluster }) => {
  for (const signal of ['SIGKILL', 'SIGTERM']) {
    test(`Redis ended by ${signal} under load: no accepted query and no accepted answer is lost`, async () => {
      await survive(cluster, async () => {
        await cluster.redis.kill(signal);
        await cluster.redis.restart();
      });
    });
  }

  test('Redis down for a while under load: everything resumes where it stopped', async () => {
    await survive(
      cluster,
      async () => {
        await cluster.redis.kill();
        for (const node of [0, 1]) await ready(cluster, node, false);
        await cluster.redis.restart();
        for (const node of [0, 1]) await ready(cluster, node);
      },
      { times: 2 },
    );
  });

  test('an answer whose reply was lost with Redis is stored once: sent again it is 200, and a waiter has it', async () => {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ wait: 10, detail: true });
    const waiter = cluster.checkOpen({ Topic, wait: 60, node: 1 });
    await eventually(() => cluster.redis.cmd('HGET', keyOf(Topic, `t:${Topic}`), 'w:1'), { what: 'the waiter is written down' });
    const held = await holdScripts(cluster.redis);
    const lost = cluster.answerRaw({ Topic, Seq: 1, Lease, node: 0 });
    await held.blocked();
    await cluster.redis.kill();
    assertProblem(await lost, 503, 'redis_lost');
    await cluster.redis.restart();
    for (const node of [0, 1]) await ready(cluster, node);
    await cluster.answer({ Topic, Seq: 1, Lease, node: 0 });
    await cluster.answer({ Topic, Seq: 1, Lease, node: 1 });
    assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
  });

  test('an add whose reply was lost with Redis is stored once under its Idempotency-Key', async () => {
    const [Topic, key] = [newTopic(), newNonce()];
    const send = (node) => cluster.addRaw({ Topic, headers: { 'Idempotency-Key': key }, node });
    const held = await holdScripts(cluster.redis);
    const lost = send(0);
    await held.blocked();
    await cluster.redis.kill();
    const refused = await lost;
    assertProblem(refused, 503, 'redis_lost');
    assert.ok(Number(refused.headers['retry-after']) >= 1);
    await cluster.redis.restart();
    for (const node of [0, 1]) await ready(cluster, node);
    const added = [assertOk(await send(0)), assertOk(await send(1))];
    assert.deepEqual(added[0], added[1]);
    assert.equal(added[0].Seq, 1);
    assert.equal((await cluster.claim({ wait: 10 })).Topic, Topic);
    assert.deepEqual(await cluster.claim(), EMPTY);
    await cluster.answer({ Topic, Seq: 1 });
  });

  test('a claim that survives a restart of Redis stays with its engine, even if its delivery was not reported yet', async () => {
    // Its delivery lease outlasts the restart of Redis.
    const patient = await cluster.startNode({ args: ['--delivery-seconds', '10'] });
    await ready(cluster, patient);
    const { Topic } = await cluster.add({ node: 0 });
    const { Lease } = await cluster.claim({ wait: 10, detail: true, node: patient });
    await cluster.redis.kill();
    await cluster.redis.restart();
    for (const node of [0, 1, 2]) await ready(cluster, node);
    await eventually(async () => (await cluster.leaseLeft(Topic)) > 100_000, { what: 'the lease is a whole one' });
    await cluster.nodes.pop().stop();
    assert.deepEqual(await cluster.claim({ as: 'Inference_2' }), EMPTY);
    await cluster.answer({ Topic, Seq: 1, Lease });
  });
});

suite('Redis that is down', { nodes: 2, aof: true, sweep: false }, ({ test, cluster }) => {
  test('new work is refused at once with Retry-After, parked polls live on and get work after the reconnect', async () => {
    const polls = [0, 1, 0, 1].map((node) => cluster.claimOpen({ wait: 60, node }));
    for (const node of [0, 1]) await parked(cluster, node, 2);
    const { Topic } = await cluster.add({ Model: 'served-by-all' });
    const first = await Promise.any(polls.map(async ({ response }) => assertOk(await response)));
    assert.equal(first.Topic, Topic);
    const waiters = [0, 1].map((node) => cluster.checkOpen({ Topic, wait: 60, node }));
    await eventually(
      async () => (await cluster.redis.cmd('HGET', keyOf(Topic, `t:${Topic}`), 'w:1'))?.split(' ').length === 2,
      { what: 'both nodes are written down as waiting' },
    );
    // Wait for the confirmation: after two seconds without Redis an unconfirmed claim would go to another poll.
    await eventually(async () => (await cluster.leaseLeft(Topic)) > 100_000, { what: 'the lease is a whole one' });
    await cluster.redis.kill();
    for (const node of [0, 1]) {
      await ready(cluster, node, false);
      assert.equal((await cluster.request('GET', '/livez', { node })).status, 200);
      for (const refused of [
        () => cluster.addRaw({ node }),
        () => cluster.claimRaw({ wait: 30, node }),
        () => cluster.answerRaw({ Topic, Seq: 1, node }),
        () => cluster.checkRaw({ Topic, wait: 0, node }),
      ]) {
        const began = Date.now();
        const response = await refused();
        assertProblem(response, 503, 'redis_lost');
        assert.ok(Number(response.headers['retry-after']) >= 1);
        assert.ok(Date.now() - began < 20_000, 'at once');
      }
    }
    await cluster.redis.restart();
    for (const node of [0, 1]) await ready(cluster, node);
    await cluster.answer({ Topic, Seq: 1 });
    for (const { response } of waiters) assert.deepEqual(assertOk(await response).Answer, ['42']);
    const added = [];
    for (let i = 0; i < 3; i++) added.push((await cluster.add()).Topic);
    const got = await Promise.all(polls.map(async ({ response }) => assertOk(await response).Topic));
    assert.deepEqual(got.sort(), [Topic, ...added].sort());
    for (const one of added) await cluster.answer({ Topic: one, Seq: 1 });
  });

  test('a node that starts without Redis reports it, and serves once Redis is up', async () => {
    await cluster.redis.kill();
    const early = await cluster.startNode();
    await ready(cluster, early, false);
    assertProblem(await cluster.addRaw({ node: early }), 503, 'redis_lost');
    await cluster.redis.restart();
    await ready(cluster, early);
    const { Topic } = await cluster.add({ node: early });
    for (const node of [0, 1]) await ready(cluster, node);
    assert.equal((await cluster.claim({ wait: 10, node: early })).Topic, Topic);
    await cluster.answer({ Topic, Seq: 1 });
  });
});

suite('Redis that forgets, drops and stalls', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  test('scripts that Redis lost under load are loaded again without an error for clients', async () => {
    await survive(
      cluster,
      async () => {
        await cluster.redis.cmd('SCRIPT', 'FLUSH');
        await cluster.redis.cmd('FUNCTION', 'FLUSH');
      },
      { times: 5, between: 10, retries: 0 },
    );
  });

  test('a call that meets a Redis without scripts is answered as if they had been there', async () => {
    await cluster.redis.cmd('FUNCTION', 'FLUSH');
    const responses = await Promise.all([0, 1].map((node) => cluster.addRaw({ node })));
    for (const response of responses) assertOk(response);
    for (let i = 0; i < 2; i++) {
      await cluster.redis.cmd('FUNCTION', 'FLUSH');
      const { Topic } = await cluster.claim({ wait: 10 });
      await cluster.answer({ Topic, Seq: 1 });
    }
  });

  for (const type of ['normal', 'pubsub']) {
    test(`connections of kind ${type} killed under load come back, and nothing is lost`, async () => {
      await survive(cluster, () => cluster.redis.cmd('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes'), {
        times: 4,
        between: 10,
      });
      await connected(cluster);
    });
  }

  test('a hand-over to a node that hangs goes to another engine after the delivery lease; its first engine is too late', async () => {
    await connected(cluster);
    const poll = cluster.claimOpen({ wait: 60, detail: true, node: 0 });
    await parked(cluster, 0, 1);
    const Topic = await topicWithCredit(cluster);
    // For Redis the subscription of a node that does not read is as good as any.
    await stop(cluster.nodes[0]);
    await cluster.add({ Topic, node: 1 });
    try {
      assert.equal((await status(cluster, Topic, 1, { node: 1 })).Status, 'Pending');
      await cluster.redis.cmd('CLIENT', 'KILL', 'TYPE', 'pubsub');
      const claim = await cluster.claim({ as: 'Inference_2', wait: 30, detail: true, node: 1 });
      assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease, node: 1 });
    } finally {
      cluster.nodes[0].signal('SIGCONT');
    }
    // The message was in its socket all the time.
    const late = assertOk(await poll.response);
    assert.equal(late.Topic, Topic);
    const refused = await cluster.answerRaw({ Topic, Seq: 1, Lease: late.Lease, Answer: ['43'], node: 0 });
    assertProblem(refused, 409, 'already_done');
    assert.deepEqual((await status(cluster, Topic)).Answer, ['42']);
    await connected(cluster);
  });

  test('Redis that pauses all commands under load is waited for', async () => {
    await survive(cluster, () => cluster.redis.cmd('CLIENT', 'PAUSE', 700, 'ALL'), { times: 2 });
  });

  test('Redis that hangs longer than a call may take: 503 in time, and nothing is lost', async () => {
    const load = startLoad(cluster, { frontends: 3, engines: 4 });
    try {
      await load.reached(15);
      cluster.redis.pause();
      const began = Date.now();
      assertProblem(await cluster.addRaw({ node: 0 }), 503, 'redis_lost');
      assert.ok(Date.now() - began < 20_000); // a call takes five seconds at most
      for (const node of [0, 1]) await ready(cluster, node, false);
      cluster.redis.resume();
      for (const node of [0, 1]) await ready(cluster, node);
      await load.reached(15);
      const states = await load.finish();
      assert.deepEqual([states.Failed, states.Cancelled], [0, 0]);
    } finally {
      cluster.redis.resume();
      load.abort();
    }
  });

  test('Redis out of memory or read-only: 503, and the node recovers afterwards', async () => {
    const client = openClient(cluster.redis);
    try {
      for (const [set, back] of [
        [
          ['maxmemory', '1'],
          ['maxmemory', '0'],
        ],
        [
          ['min-replicas-to-write', '1'],
          ['min-replicas-to-write', '0'],
        ],
      ]) {
        await client.cmd('CONFIG', 'SET', ...set);
        const refused = await cluster.addRaw();
        await client.cmd('CONFIG', 'SET', ...back);
        assertProblem(refused, 503);
        assert.ok(Number(refused.headers['retry-after']) >= 1);
        const { Topic } = await cluster.add();
        assert.equal((await cluster.claim({ wait: 10 })).Topic, Topic);
        await cluster.answer({ Topic, Seq: 1 });
      }
    } finally {
      client.close();
    }
  });
});

suite('operators while Redis does not answer', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  const UNKNOWN = ['Depth', 'OldestSeconds', 'InFlight', 'OpenLookups', 'ParkedPolls', 'Recent', 'Engines', 'Nodes'];
  const statusOf = async (proof, node) => assertOk(await cluster.request('GET', '/api/status', { ...proof, query: { Detail: 'true' }, node }));

  test('/api/status says what the node knows, by token, and what is missing; with Redis again it says everything', async () => {
    const proof = await byToken(cluster, 'Operator_1');
    for (const node of [0, 1]) assert.equal((await statusOf(proof, node)).Redis.Status, 'connected');
    const poll = cluster.claimOpen({ wait: 60, node: 0 });
    await parked(cluster, 0, 1);
    // A signature is not used up, so it is no 200.
    const signed = async (node) => assertProblem(await cluster.request('GET', '/api/status', { as: 'Operator_1', query: { Detail: 'true' }, node }), 503).Status;
    const assertAlone = async (node, ask = (at) => statusOf(proof, at)) => {
      const found = await ask(node);
      assert.deepEqual(UNKNOWN.filter((name) => found[name] !== null), []);
      assert.deepEqual([found.Redis.Status, found.Redis.RoundTripUs, found.Redis.MissingShards.length], ['away', null, SHARDS]);
      assert.equal(found.Here.ParkedPolls, node === 0 ? 1 : 0);
      assert.ok(found.Verbs.length > 0 && Array.isArray(found.DifferentSettings));
    };
    const held = await holdScripts(cluster.redis);
    await Promise.all([0, 1].flatMap((node) => [assertAlone(node), assertAlone(node, signed)])); // it is slow
    await held.release();
    await cluster.redis.kill();
    for (const node of [0, 1]) await ready(cluster, node, false);
    await Promise.all([0, 1].flatMap((node) => [assertAlone(node), assertAlone(node, signed)]));
    await cluster.redis.restart(); // emptied
    for (const node of [0, 1]) await ready(cluster, node);
    const found = await eventually(async () => {
      const now = await statusOf(await byToken(cluster, 'Operator_1'), 1); // under a new key, which a node may not have yet
      return now.Redis.Status === 'connected' && now.Nodes.length === 2 && now;
    }, { what: 'both nodes are listed' });
    assert.equal(found.Depth, 0);
    poll.abort();
  });
});
