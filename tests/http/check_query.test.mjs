// SPDX-License-Identifier: MIT
//
// GET /api/check-query, the plain form. The stream is in sse.test.mjs.
import assert from 'node:assert/strict';
import { FRAME, get as getFrame, openFrames } from '../support/frames.mjs';
import { assertMembers, assertOk, assertProblem, assertTimestamp, eventually, newTopic, SLOW_RESCUE, suite } from '../support/harness.mjs';
import { SHARDS, topicOn } from '../support/shards.mjs';

const PLAIN = ['Query', 'Topic', 'Seq', 'Answer', 'Think'];

// Still without an answer after `ms`.
async function assertHeld(response, ms = 400) {
  const first = await Promise.race([response, new Promise((resolve) => setTimeout(resolve, ms, 'held'))]);
  assert.equal(first, 'held', 'the request is held');
}

suite('check-query', { args: SLOW_RESCUE }, ({ test, cluster }) => {
  const get = (query, options = {}) => cluster.request('GET', '/api/check-query', { as: 'Frontend_1', query, ...options });

  test('before there is an answer: the query with nulls, member for member', async () => {
    const { Topic } = await cluster.add({ Query: 'Why?' });
    assert.deepEqual(await cluster.check({ Topic }), { Query: 'Why?', Topic, Seq: 1, Answer: null, Think: null });
    await cluster.claim();
    assert.deepEqual(await cluster.check({ Topic }), { Query: 'Why?', Topic, Seq: 1, Answer: null, Think: null });
  });

  test('a refused request waits for nothing more, while its client does not read the refusal', async () => {
    const node = cluster.nodes[0];
    const parked = async () => /^parley_checks_parked (\d+)/m.exec((await cluster.request('GET', '/metrics', { node })).text)[1];
    assert.equal(await parked(), '0');
    const client = openFrames(node.url, { window: 0 });
    client.write(getFrame(1, cluster.path('/api/check-query', { as: 'Frontend_1', query: { Topic: newTopic(), Seq: 1, Wait: 30 } })));
    await eventually(() => client.of(1, FRAME.headers).length === 1, { what: 'the head of the refusal' });
    assert.equal(await parked(), '0');
    client.socket.destroy();
  });

  test('an answer that is there is given at once', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1, Think: ['Hm.', 'Well.'], Answer: ['42', 'or so'] });
    const began = Date.now();
    for (const node of [0, 1]) {
      assert.deepEqual(await cluster.check({ Topic, wait: 30, node }), {
        Query: 'What is the meaning of life?',
        Topic,
        Seq: 1,
        Answer: ['42', 'or so'],
        Think: ['Hm.', 'Well.'],
      });
    }
    assert.ok(Date.now() - began < 20_000);
  });

  test('many who ask at once for long answers get them, and what others do meanwhile is done once', async () => {
    const Topic = topicOn(0);
    await cluster.add({ Topic });
    await cluster.claim();
    const Answer = ['a'.repeat(500_000), 'b'.repeat(400_000)];
    await cluster.answer({ Topic, Seq: 1, Answer });
    cluster.redis.pause(); // while few calls are under way, the others gather in one whose replies are longer than a call's may be
    const asked = Array.from({ length: 40 }, () => cluster.checkOpen({ Topic, wait: 30, node: 0 }));
    const added = Array.from({ length: 10 }, (_, i) => cluster.add({ Topic: topicOn(0), Query: `${i}`, node: 0 }));
    await new Promise((resolve) => setTimeout(resolve, 500));
    cluster.redis.resume();
    for (const { response } of asked) assert.deepEqual(assertOk(await response).Answer, Answer);
    for (const [i, one] of (await Promise.all(added)).entries()) {
      assert.equal(one.Seq, 1);
      const thread = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic: one.Topic } }));
      assert.deepEqual(thread.map(({ Query }) => Query), [`${i}`]);
    }
  });

  test('a held request gets the answer that is given on the other node', async () => {
    const { Topic } = await cluster.add();
    const waiters = [0, 1, 0, 1].map((node) => cluster.checkOpen({ Topic, wait: 30, node }));
    await cluster.claim();
    await assertHeld(waiters[0].response);
    const began = Date.now();
    await cluster.answer({ Topic, Seq: 1, Answer: ['woken'], node: 1 });
    for (const { response } of waiters) assert.deepEqual(assertOk(await response).Answer, ['woken']);
    assert.ok(Date.now() - began < 20_000, 'all were woken, none had to time out');
  });

  test('a request without Wait is held as well', async () => {
    const { Topic } = await cluster.add();
    const response = get({ Topic, Seq: 1 }, { timeout: 60_000 });
    await cluster.claim();
    await assertHeld(response, 1500);
    await cluster.answer({ Topic, Seq: 1 });
    assert.deepEqual(assertOk(await response).Answer, ['42']);
  });

  test('at the end of the wait: nulls', async () => {
    const { Topic } = await cluster.add({ Query: 'Why?' });
    const began = Date.now();
    const body = await cluster.check({ Topic, wait: 1 });
    const took = Date.now() - began;
    assert.deepEqual(body, { Query: 'Why?', Topic, Seq: 1, Answer: null, Think: null });
    assert.ok(took >= 900, `1 s of waiting took ${took} ms`);
  });

  test('each Seq waits for its own answer', async () => {
    const { Topic } = await cluster.add({ Query: 'first' });
    await cluster.add({ Topic, Query: 'second' });
    await cluster.claim();
    const first = cluster.checkOpen({ Topic, Seq: 1, wait: 30 });
    const second = cluster.checkOpen({ Topic, Seq: 2, wait: 30 });
    await cluster.answer({ Topic, Seq: 2, Query: 'second', Answer: ['two'] });
    assert.deepEqual(assertOk(await second.response).Answer, ['two']);
    await assertHeld(first.response);
    await cluster.answer({ Topic, Seq: 1, Query: 'first', Answer: ['one'] });
    assert.deepEqual(assertOk(await first.response).Answer, ['one']);
  });

  test('Detail adds Status, Model, Timestamp and, while Open, Position and EtaSeconds', async () => {
    const { Topic } = await cluster.add({ Model: 'default' });
    const open = await cluster.check({ Topic, detail: true });
    assertMembers(open, [...PLAIN, 'Status', 'Model', 'Timestamp', 'Position', 'EtaSeconds']);
    assert.equal(open.Status, 'Open');
    assert.equal(open.Model, 'default');
    assert.equal(open.Position, 0);
    assert.ok(open.EtaSeconds === null || open.EtaSeconds >= 0);
    assertTimestamp(open.Timestamp);

    await cluster.claim();
    const pending = await cluster.check({ Topic, detail: true });
    assertMembers(pending, [...PLAIN, 'Status', 'Model', 'Timestamp']);
    assert.equal(pending.Status, 'Pending');

    await cluster.answer({ Topic, Seq: 1 });
    const done = await cluster.check({ Topic, detail: true });
    assertMembers(done, [...PLAIN, 'Status', 'Model', 'Timestamp']);
    assert.equal(done.Status, 'Done');
  });

  test('Position counts the queries that would be served before: those of its shard, times the shards', async () => {
    const topics = [];
    for (let i = 0; i < 4; i++) topics.push((await cluster.add({ Topic: topicOn(0), User: 'alice', Query: `q${i}` })).Topic);
    for (let i = 0; i < 4; i++) {
      assert.equal((await cluster.check({ Topic: topics[i], detail: true })).Position, i * SHARDS);
    }
    await cluster.claim();
    assert.equal((await cluster.check({ Topic: topics[3], detail: true })).Position, 2 * SHARDS);
  });

  test('a cancelled query is answered at once and says so', async () => {
    const { Topic } = await cluster.add();
    const waiter = cluster.checkOpen({ Topic, wait: 30, node: 0 });
    await assertHeld(waiter.response);
    assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq: 1 }, node: 1 }));
    for (const body of [assertOk(await waiter.response), await cluster.check({ Topic, wait: 30 })]) {
      assertMembers(body, [...PLAIN, 'Status', 'Reason']);
      assert.equal(body.Status, 'Cancelled');
      assert.equal(body.Answer, null);
      assert.equal(body.Think, null);
    }
  });

  test('a failed query is answered at once, with its reason', async () => {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    const waiter = cluster.checkOpen({ Topic, wait: 30, node: 0 });
    await assertHeld(waiter.response);
    assert.equal(
      (
        await cluster.request('POST', '/api/release-claim', {
          as: 'Inference_1',
          body: { Topic, Lease, Reason: 'no such model', Retry: false },
          node: 1,
        })
      ).status,
      200,
    );
    for (const body of [assertOk(await waiter.response), await cluster.check({ Topic, wait: 30 })]) {
      assertMembers(body, [...PLAIN, 'Status', 'Reason']);
      assert.equal(body.Status, 'Failed');
      assert.match(body.Reason, /no such model/);
      assert.equal(body.Answer, null);
    }
  });

  test('a missing Think is null, an Answer that is one string is a list of one', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1, Answer: 'just this' });
    const body = await cluster.check({ Topic });
    assert.deepEqual(body.Answer, ['just this']);
    assert.equal(body.Think, null);
  });

  test('an unknown topic or Seq: 404 at once', async () => {
    const { Topic } = await cluster.add();
    const began = Date.now();
    assertProblem(await get({ Topic: newTopic(), Seq: 1, Wait: 30 }), 404, 'not_found');
    assertProblem(await get({ Topic, Seq: 2, Wait: 30 }), 404, 'not_found');
    assertProblem(await get({ Topic, Seq: 2_000_000_000, Wait: 30 }), 404, 'not_found');
    assert.ok(Date.now() - began < 20_000);
  });

  test('a Topic or Seq that is missing or malformed: 400', async () => {
    const { Topic } = await cluster.add();
    assertProblem(await get({ Seq: 1, Wait: 0 }), 400);
    assertProblem(await get({ Topic: '', Seq: 1, Wait: 0 }), 400);
    assertProblem(await get({ Topic: 'x'.repeat(129), Seq: 1, Wait: 0 }), 400);
    for (const Seq of [undefined, '', 'one', '1x', '1.5', '-1', '0x1', '99999999999999999999999']) {
      assertProblem(await get({ Topic, Seq, Wait: 0 }), 400);
    }
  });

  test('Wait goes from 0 to 120', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1 });
    for (const Wait of ['0', '1', '120']) assertOk(await get({ Topic, Seq: 1, Wait }));
    for (const Wait of ['-1', '121', 'soon', '1e9', '99999999999999999999'])
      assertProblem(await get({ Topic, Seq: 1, Wait }), 400);
  });

  test('a waiter that leaves takes nothing along', async () => {
    const { Topic } = await cluster.add();
    const leaving = Array.from({ length: 10 }, () => cluster.checkOpen({ Topic, wait: 30 }));
    const staying = [0, 1].map((node) => cluster.checkOpen({ Topic, wait: 30, node }));
    await Promise.all(leaving.map(({ sent }) => sent));
    await assertHeld(staying[0].response);
    leaving.forEach((waiter) => waiter.abort());
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1 });
    for (const { response } of staying) assert.deepEqual(assertOk(await response).Answer, ['42']);
  });

  test('a user sees its own', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    assert.equal((await cluster.check({ as: 'User_1', Topic })).Topic, Topic);
    assertProblem(await cluster.checkRaw({ as: 'User_2', Topic }), 404, 'not_found');
  });
});
