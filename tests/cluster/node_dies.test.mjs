// SPDX-License-Identifier: MIT
//
// Nodes that are killed, suspended or stopped at the worst moment. A node holds no truth: what it had in hand goes to
// others, and nobody waits for a whole lease.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { keyOf, onAll, SHARDS } from '../support/shards.mjs';
import { startLoad } from './load.mjs';
import { becomes, byToken, connections, holdScripts, metric, parked, ready, status, stop, topicWithCredit, waiting } from './watch.mjs';

const EMPTY = { Topic: null, Queries: null };
const SLOW_RESCAN = ['--rescan-seconds', '3600'];

// What is handed to the dead node would come back after all that the test waits for.
suite('a node that is killed with polls', { nodes: 2, args: ['--delivery-seconds', '60'], sweep: false }, ({ test, cluster }) => {
  test('a killed node that held parked polls swallows no new question', async () => {
    const dying = await cluster.startNode();
    for (let i = 0; i < 20; i++) cluster.claimOpen({ wait: 60, node: dying });
    await parked(cluster, dying, 20);
    await dying.kill();
    const poll = cluster.claimOpen({ as: 'Inference_2', wait: 30, node: 0, detail: true });
    await parked(cluster, 0, 1);
    const { Topic } = await cluster.add({ node: 1 });
    const claim = assertOk(await poll.response);
    assert.equal(claim.Topic, Topic);
    assert.equal(claim.Attempt, 1);
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease, node: 1 });
    assert.deepEqual((await status(cluster, Topic)).Answer, ['42']);
  });
});

// With syncs each second one of another node would be taken for a call that waits in Redis.
suite('a node that is killed', { nodes: 2, args: ['--rescan-seconds', '5'], sweep: false }, ({ test, cluster }) => {
  test('a killed node that a query was just handed to gives it to another engine after the delivery lease', async () => {
    const dying = await cluster.startNode();
    cluster.claimOpen({ wait: 60, node: dying });
    await parked(cluster, dying, 1);
    const Topic = await topicWithCredit(cluster);
    await stop(dying);
    await cluster.add({ Topic, node: 0 });
    assert.equal((await status(cluster, Topic, 1, { node: 0 })).Status, 'Pending', 'it is handed over');
    const waiter = cluster.checkOpen({ Topic, wait: 60, node: 1 });
    await dying.kill();
    const began = Date.now();
    const claim = await cluster.claim({ as: 'Inference_2', wait: 30, detail: true, node: 1 });
    assert.equal(claim.Topic, Topic);
    assert.ok(Date.now() - began < 25_000, 'not a whole lease');
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease });
    assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
  });

  test('a node killed while its claim runs in Redis loses the claim to another engine', async () => {
    const dying = await cluster.startNode();
    const { Topic } = await cluster.add({ node: 0 });
    await ready(cluster, dying);
    // By token: on several shards a signed one would wait with its nonce.
    const proof = await byToken(cluster, 'Inference_1');
    const before = await metric(cluster, 0, 'parley_redis_lost_total');
    const held = await holdScripts(cluster.redis);
    cluster.claimOpen({ wait: 60, node: dying, ...proof });
    await held.blocked();
    await stop(dying);
    await held.release();
    await becomes(cluster, 'Pending', Topic, 1, { node: 0 });
    await dying.kill();
    const claim = await cluster.claim({ as: 'Inference_2', wait: 30, detail: true, node: 1 });
    assert.equal(claim.Topic, Topic);
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease });
    assert.deepEqual((await status(cluster, Topic)).Answer, ['42']);
    assert.equal(await metric(cluster, 0, 'parley_redis_lost_total'), before);
  });

  test('a node killed with an answer on its way to a waiter: the waiter finds it on another node', async () => {
    const dying = await cluster.startNode();
    const { Topic } = await cluster.add({ node: 0 });
    const cut = cluster.checkOpen({ Topic, wait: 60, node: dying });
    await waiting(cluster, dying, 1);
    await cluster.claim({ node: 1 });
    await stop(dying);
    await cluster.answer({ Topic, Seq: 1, node: 1 });
    await dying.kill();
    await assert.rejects(cut.response);
    assert.deepEqual((await cluster.check({ Topic, wait: 30, node: 0 })).Answer, ['42']);
  });

  test('nodes killed one after another under load lose no query and no answer', async () => {
    for (let i = 0; i < 2; i++) await cluster.startNode();
    const load = startLoad(cluster, { frontends: 4, engines: 5 });
    try {
      for (const dying of cluster.nodes.slice(-2)) {
        await load.reached(25);
        await dying.kill();
      }
      await load.reached(25);
      const states = await load.finish();
      assert.deepEqual([states.Failed, states.Cancelled], [0, 0]);
    } finally {
      load.abort();
    }
  });
});

suite('a node that hangs', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  test('a query handed to a stopped node reverts after the delivery lease and goes to another engine', async () => {
    const hanging = await cluster.startNode();
    const stale = cluster.claimOpen({ wait: 60, node: hanging, detail: true });
    await parked(cluster, hanging, 1);
    const Topic = await topicWithCredit(cluster);
    await stop(hanging);
    try {
      await cluster.add({ Topic, node: 0 });
      assert.equal((await status(cluster, Topic, 1, { node: 0 })).Status, 'Pending');
      const began = Date.now();
      const claim = await cluster.claim({ as: 'Inference_2', wait: 30, detail: true, node: 1 });
      assert.equal(claim.Topic, Topic);
      assert.ok(Date.now() - began < 25_000, `${Date.now() - began} ms`);
      hanging.signal('SIGCONT');
      // Awake again, it may pass on what it was handed: that engine is fenced off.
      const late = assertOk(await stale.response);
      if (late.Topic !== null) {
        const refused = await cluster.answerRaw({ Topic, Seq: 1, Lease: late.Lease, Answer: ['stale'] });
        assertProblem(refused, 409, 'lease_lost');
      }
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease });
      assert.deepEqual((await status(cluster, Topic)).Answer, ['42']);
    } finally {
      hanging.signal('SIGCONT');
      await hanging.kill();
    }
  });

  test('a stopped node with many parked polls does not use up the attempts of a query', async () => {
    const hanging = await cluster.startNode();
    for (let i = 0; i < 30; i++) cluster.claimOpen({ wait: 100, node: hanging });
    await parked(cluster, hanging, 30);
    const poll = cluster.claimOpen({ as: 'Inference_2', wait: 60, node: 1, detail: true });
    await parked(cluster, 1, 1);
    await stop(hanging);
    try {
      const { Topic } = await cluster.add({ node: 0 });
      const claim = assertOk(await poll.response);
      assert.equal(claim.Topic, Topic);
      assert.equal(claim.Attempt, 1, 'no engine ever had it before');
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: claim.Lease, node: 0 });
      assert.equal((await status(cluster, Topic, 1, { node: 0 })).Status, 'Done');
    } finally {
      await hanging.kill();
    }
  });
});

suite('a node that is stopped', { nodes: 2, args: SLOW_RESCAN, sweep: false }, ({ test, cluster }) => {
  async function stopped(node) {
    const { code } = await node.exited();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    node.check();
    assert.equal(code, 0);
  }

  test('SIGTERM answers parked polls with the empty body and takes their credits along', async () => {
    const ending = await cluster.startNode();
    const polls = Array.from({ length: 20 }, () => cluster.claimOpen({ wait: 60, node: ending }));
    await parked(cluster, ending, 20);
    ending.signal('SIGTERM');
    for (const { response } of polls) assert.deepEqual(assertOk(await response), EMPTY);
    await stopped(ending);
    assert.deepEqual((await onAll(cluster.redis, 'ZRANGE', 'idle', 0, -1)).flat(), []);
  });

  test('SIGTERM finishes what runs: an add and an answer in flight are stored and answered', async () => {
    const ending = await cluster.startNode();
    await ready(cluster, ending);
    const { Topic } = await cluster.add({ node: 0 });
    await cluster.claim({ node: 0 });
    const held = await holdScripts(cluster.redis);
    const added = cluster.addRaw({ node: ending });
    const answered = cluster.answerRaw({ Topic, Seq: 1, node: ending });
    await held.blocked();
    // Both are there, besides the one that asks.
    await eventually(async () => (await metric(cluster, ending, 'parley_connections_open')) >= 3, { what: 'both requests have arrived' });
    ending.signal('SIGTERM');
    await ending.waitForLog(/draining/);
    await held.release();
    const other = assertOk(await added);
    assert.equal(assertOk(await answered).Status, 'Done');
    await stopped(ending);
    assert.deepEqual((await status(cluster, Topic)).Answer, ['42']);
    assert.equal((await cluster.claim()).Topic, other.Topic);
    await cluster.answer({ Topic: other.Topic, Seq: 1 });
  });

  test('a poll in flight at SIGTERM is not given a claim that nobody gets', async () => {
    const ending = await cluster.startNode();
    await ready(cluster, ending);
    const { Topic } = await cluster.add({ node: 0 });
    const held = await holdScripts(cluster.redis);
    const poll = cluster.claimOpen({ wait: 60, node: ending, detail: true });
    await held.blocked();
    ending.signal('SIGTERM');
    await ending.waitForLog(/draining/);
    await held.release();
    const claim = assertOk(await poll.response);
    await stopped(ending);
    if (claim.Topic === null) {
      assert.equal((await cluster.claim({ wait: 5 })).Topic, Topic);
    } else {
      // It was given: then it is a whole lease, not a delivery lease that nobody confirmed.
      const ttl = (await cluster.redis.cmd('ZSCORE', keyOf(Topic, 'leases'), `${claim.Lease} ${Topic}`)) - Date.now();
      assert.ok(ttl > 100_000, `the lease ends in ${ttl} ms`);
    }
    await cluster.answer({ Topic, Seq: 1 });
  });

  test('SIGTERM of nodes under load loses nothing, and each ends with 0', async () => {
    for (let i = 0; i < 2; i++) await cluster.startNode();
    const load = startLoad(cluster, { frontends: 4, engines: 5 });
    try {
      for (const ending of cluster.nodes.slice(-2)) {
        await load.reached(25);
        ending.signal('SIGTERM');
        await stopped(ending);
      }
      await load.reached(25);
      const states = await load.finish();
      assert.deepEqual([states.Failed, states.Cancelled], [0, 0]);
    } finally {
      load.abort();
    }
    await eventually(async () => (await connections(cluster.redis)).length === cluster.nodes.length * SHARDS, {
      what: 'the nodes that ended left no connection',
    });
  });
});
