// SPDX-License-Identifier: MIT
//
// extend-claim, release-claim, and expired leases.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newTopic, SLOW_RESCUE, suite } from '../support/harness.mjs';
import { keyOf, shardOf, topicOn } from '../support/shards.mjs';

const EMPTY = { Topic: null, Queries: null };

function defineHelpers(cluster) {
  return {
    extend: (Topic, Lease, options = {}) =>
      cluster.request('POST', '/api/extend-claim', { as: 'Inference_1', body: { Topic, Lease }, ...options }),
    release: (Topic, Lease, more = {}, options = {}) =>
      cluster.request('POST', '/api/release-claim', {
        as: 'Inference_1',
        body: { Topic, Lease, Reason: 'shutting down', ...more },
        ...options,
      }),
    cancel: async (Topic, Seq) =>
      assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq } })),
    async claimed(options = {}, added = {}) {
      const { Topic } = await cluster.add(added);
      const { Lease } = await cluster.claim({ detail: true, ...options });
      return { Topic, Lease };
    },
  };
}

suite('extend-claim', {}, ({ test, cluster }) => {
  const { extend, release, cancel, claimed } = defineHelpers(cluster);

  test('a claim is extended from whatever node', async () => {
    const { Topic, Lease } = await claimed();
    for (const node of [0, 1])
      assert.deepEqual(assertOk(await extend(Topic, Lease, { node })), { LeaseSeconds: 150, Cancelled: [] });
  });

  // A node writes it when it confirms that the claim has reached its engine.
  const keyIsThere = (key) => eventually(() => cluster.redis.cmd('GET', key), { what: 'the key of the lease' });

  test('the lease key names the holder and its queries, expires with the lease, and is deleted with the claim', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two']) await cluster.add({ Topic, Query });
    const { Lease } = await cluster.claim({ detail: true });
    const key = keyOf(Topic, `lease:${Lease}`);
    const [holder, topic, attempt, node, ...seqs] = (await keyIsThere(key)).split(' ');
    assert.deepEqual([holder, topic, attempt, seqs], ['Inference_1', Topic, '1', ['1', '2']]);
    assert.notEqual(await cluster.redis.cmd('ZSCORE', keyOf(Topic, 'nodes'), node), null, 'a node that is there');
    await cluster.redis.cmd('EXPIRE', key, 60);
    assertOk(await extend(Topic, Lease, { node: 1 }));
    assert.ok((await cluster.redis.cmd('TTL', key)) > 60, 'a heartbeat renews it');
    await cluster.answer({ Topic, Seq: 1, Query: 'one', Lease });
    assert.equal(await cluster.redis.cmd('EXISTS', key), 1, 'the other query is still held');
    await cluster.answer({ Topic, Seq: 2, Query: 'two', Lease });
    assert.equal(await cluster.redis.cmd('EXISTS', key), 0);
  });

  test('a claim whose key was taken away is extended, which writes it again, and answered', async () => {
    const { Topic, Lease } = await claimed();
    const key = keyOf(Topic, `lease:${Lease}`);
    const before = await keyIsThere(key);
    await cluster.redis.cmd('DEL', key);
    assertOk(await extend(Topic, Lease));
    assert.equal((await cluster.redis.cmd('GET', key)).split(' ', 3).join(' '), before.split(' ', 3).join(' '));
    await cluster.redis.cmd('DEL', key);
    await cluster.answer({ Topic, Seq: 1, Lease });
    assert.equal(await cluster.redis.cmd('EXISTS', key), 0);
  });

  test('a heartbeat that comes before the node has confirmed the claim finds its key, which says what the claim took', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two']) await cluster.add({ Topic, Query });
    const { Lease } = await cluster.claim({ detail: true });
    assertOk(await extend(Topic, Lease));
    assert.match(await cluster.redis.cmd('GET', keyOf(Topic, `lease:${Lease}`)), / 1 \S+ 1 2$/);
  });

  test('the answer lists what was cancelled meanwhile', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two', 'three']) await cluster.add({ Topic, Query });
    const { Lease } = await cluster.claim({ detail: true });
    await cancel(Topic, 3);
    await cancel(Topic, 1);
    assert.deepEqual(assertOk(await extend(Topic, Lease)).Cancelled.sort(), [1, 3]);
  });

  test('a lease that never was, of another topic, of another engine, given back or answered: 409 lease_lost', async () => {
    const { Topic, Lease } = await claimed({}, { Topic: topicOn(0) });
    const other = await claimed({}, { Topic: topicOn(0) }); // ids are those of a shard
    assertProblem(await extend(Topic, '999999999'), 409, 'lease_lost');
    assertProblem(await extend(other.Topic, Lease), 409, 'lease_lost');
    assert.ok([404, 409].includes((await extend(newTopic(), Lease)).status));
    assertProblem(await extend(Topic, Lease, { as: 'Inference_2' }), 409, 'lease_lost');
    assert.equal((await release(Topic, Lease)).status, 200);
    assertProblem(await extend(Topic, Lease), 409, 'lease_lost');
    await cluster.answer({ Topic: other.Topic, Seq: 1 });
    assertProblem(await extend(other.Topic, other.Lease), 409, 'lease_lost');
  });

  test('a member that is missing or of a wrong type: 400', async () => {
    const { Topic, Lease } = await claimed();
    for (const bad of [undefined, null, [], {}, true]) assertProblem(await extend(Topic, bad), 400);
    for (const bad of [undefined, null, '', 7, []]) assertProblem(await extend(bad, Lease), 400);
  });
});

suite('release-claim', { args: SLOW_RESCUE }, ({ test, cluster }) => {
  const { release, claimed } = defineHelpers(cluster);

  test('what is given back is Open again, at the front', async () => {
    const { Topic, Lease } = await claimed();
    const ofItsShard = Array.from({ length: 300 }, () => newTopic()).filter((name) => shardOf(name) === shardOf(Topic));
    for (const other of ofItsShard.slice(0, 3)) await cluster.add({ Topic: other });
    assert.equal((await release(Topic, Lease)).status, 200);
    assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Open');
    assert.equal((await cluster.claim({ as: 'Inference_2' })).Topic, Topic);
  });

  test('a parked poll on the other node gets what is given back', async () => {
    const { Topic, Lease } = await claimed();
    const parked = cluster.claimOpen({ as: 'Inference_2', wait: 30, node: 0 });
    assert.equal(await Promise.race([parked.response, new Promise((resolve) => setTimeout(resolve, 400, 'held'))]), 'held');
    const began = Date.now();
    assert.equal((await release(Topic, Lease, { Retry: true }, { node: 1 })).status, 200);
    assert.equal(assertOk(await parked.response).Topic, Topic);
    assert.ok(Date.now() - began < 20_000);
  });

  test('what was answered before the release stays answered', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two']) await cluster.add({ Topic, Query });
    const { Lease } = await cluster.claim({ detail: true });
    await cluster.answer({ Topic, Seq: 1, Query: 'one', Lease });
    assert.equal((await release(Topic, Lease)).status, 200);
    assert.deepEqual(await cluster.claim(), { Topic, Queries: [{ 2: 'two' }] });
  });

  test('with Retry:false all that is held is Failed, with the reason', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two']) await cluster.add({ Topic, Query });
    const { Lease } = await cluster.claim({ detail: true });
    assert.equal((await release(Topic, Lease, { Reason: 'out of memory', Retry: false })).status, 200);
    for (const Seq of [1, 2]) {
      const body = await cluster.check({ Topic, Seq });
      assert.equal(body.Status, 'Failed');
      assert.match(body.Reason, /out of memory/);
    }
    assert.deepEqual(await cluster.claim(), EMPTY);
  });

  test('the question that failed may be named: it alone is Failed, and the others are answered under the same lease', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two', 'three']) await cluster.add({ Topic, Query });
    const { Lease } = await cluster.claim({ detail: true });
    assert.equal((await release(Topic, Lease, { Seq: 2, Reason: 'filtered', Retry: false })).status, 200);
    const failed = await cluster.check({ Topic, Seq: 2 });
    assert.deepEqual([failed.Status, failed.Reason], ['Failed', 'filtered']);
    assertProblem(await release(Topic, Lease, { Seq: 2, Retry: false }), 409, 'lease_lost');
    for (const [Seq, Query] of [[1, 'one'], [3, 'three']]) assert.equal((await cluster.answer({ Topic, Seq, Query, Lease })).Status, 'Done');
  });

  test('to be tried again, all of the claim is Open, and the attempt counts for the named one alone', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two']) await cluster.add({ Topic, Query });
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const { Lease, Queries } = await cluster.claim({ detail: true });
      assert.equal(Queries.length, 2);
      assert.equal((await release(Topic, Lease, { Seq: 1, Reason: 'broken' })).status, 200);
    }
    assert.equal((await cluster.check({ Topic, Seq: 1 })).Status, 'Failed');
    const { Attempt, Lease } = await cluster.claim({ detail: true });
    assert.equal(Attempt, 1);
    await cluster.answer({ Topic, Seq: 2, Query: 'two', Lease });
  });

  test('an answer under the lease that was given back is fenced off once the query is claimed again', async () => {
    const { Topic, Lease } = await claimed();
    assert.equal((await release(Topic, Lease)).status, 200);
    const again = await cluster.claim({ detail: true });
    assert.notEqual(again.Lease, Lease);
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Lease, Answer: ['old'] }), 409, 'lease_lost');
    assert.equal((await cluster.answer({ Topic, Seq: 1, Lease: again.Lease, Answer: ['new'] })).Status, 'Done');
  });

  test('a lease that is gone, of another engine, or that never was: 409 lease_lost', async () => {
    const { Topic, Lease } = await claimed();
    assertProblem(await release(Topic, '999999999'), 409, 'lease_lost');
    assertProblem(await release(Topic, Lease, {}, { as: 'Inference_2' }), 409, 'lease_lost');
    assert.equal((await release(Topic, Lease)).status, 200);
    assertProblem(await release(Topic, Lease), 409, 'lease_lost');
  });

  test('a member that is missing or of a wrong type: 400', async () => {
    const { Topic, Lease } = await claimed();
    for (const bad of [undefined, null, [], {}, true]) assertProblem(await release(Topic, bad), 400);
    for (const bad of [undefined, null, '', 7, []]) assertProblem(await release(bad, Lease), 400);
    for (const Retry of ['yes', 1, [], {}]) assertProblem(await release(Topic, Lease, { Retry }), 400);
    for (const Reason of [7, [], {}]) assertProblem(await release(Topic, Lease, { Reason }), 400);
    assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Pending');
  });
});

suite(
  'leases that run out',
  { args: ['--max-attempts', '2', '--rescan-seconds', '1'] },
  ({ test, cluster }) => {
    const { extend, claimed } = defineHelpers(cluster);

    test('an engine that dies loses its claim to another, at the front, with one attempt more', async () => {
      const { Topic } = await claimed();
      const ofItsShard = Array.from({ length: 300 }, () => newTopic()).find((name) => shardOf(name) === shardOf(Topic));
      const later = await cluster.add({ Topic: ofItsShard });
      await cluster.endLease(Topic);
      await eventually(async () => (await cluster.check({ Topic, detail: true })).Status === 'Open', {
        what: 'the lease runs out',
      });
      const again = await cluster.claim({ as: 'Inference_2', detail: true });
      assert.equal(again.Topic, Topic);
      assert.equal(again.Attempt, 2);
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: again.Lease });
      const next = await cluster.claim({ detail: true });
      assert.equal(next.Topic, later.Topic);
      assert.equal(next.Attempt, 1);
      await cluster.answer({ Topic: next.Topic, Seq: 1, Lease: next.Lease });
    });

    test('a parked poll gets a claim that ran out, with no help from anybody', async () => {
      const { Topic } = await claimed();
      await cluster.endLease(Topic);
      const claim = await cluster.claim({ as: 'Inference_2', wait: 20 });
      assert.equal(claim.Topic, Topic);
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1 });
    });

    test('an engine that heartbeats keeps its claim', async () => {
      const { Topic, Lease } = await claimed();
      const other = cluster.claimOpen({ as: 'Inference_2', wait: 4 });
      for (let i = 0; i < 3; i++) {
        await cluster.leaseEndsIn(Topic, 60_000);
        assert.deepEqual(assertOk(await extend(Topic, Lease)), { LeaseSeconds: 150, Cancelled: [] });
        assert.ok((await cluster.leaseLeft(Topic)) > 100_000, 'it lasts from now on');
      }
      await cluster.answer({ Topic, Seq: 1, Lease });
      assert.deepEqual(assertOk(await other.response), EMPTY);
    });

    test('after the last attempt the query is Failed, and check-query says so', async () => {
      const { Topic } = await claimed();
      const waiter = cluster.checkOpen({ Topic, wait: 30 });
      await cluster.endLease(Topic);
      const second = await cluster.claim({ as: 'Inference_2', wait: 10, detail: true });
      assert.equal(second.Attempt, 2);
      await cluster.endLease(Topic);
      const body = assertOk(await waiter.response);
      assert.equal(body.Status, 'Failed');
      assert.equal(typeof body.Reason, 'string');
      assert.ok(body.Reason.length > 0);
      assert.equal(body.Answer, null);
      assert.deepEqual(await cluster.claim(), EMPTY);
    });

    test('extending a claim that ran out: 409 lease_lost', async () => {
      const { Topic, Lease } = await claimed();
      await cluster.endLease(Topic);
      const second = await cluster.claim({ as: 'Inference_2', wait: 10, detail: true });
      assertProblem(await extend(Topic, Lease), 409, 'lease_lost');
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: second.Lease });
    });
  },
);
