// SPDX-License-Identifier: MIT
//
// GET /api/get-new-queries.
import assert from 'node:assert/strict';
import { metric, parked } from '../cluster/watch.mjs';
import { assertMembers, assertOk, assertProblem, assertTimestamp, eventually, newNonce, newTopic, sign, SLOW_RESCUE, suite } from '../support/harness.mjs';
import { keyOf, namesOfOneShard, onAll, SHARDS, topicOn } from '../support/shards.mjs';

const EMPTY = { Topic: null, Queries: null };
const DETAIL = ['Topic', 'Queries', 'Lease', 'LeaseSeconds', 'Attempt', 'Details'];

async function isHeld(response, ms = 400) {
  return (await Promise.race([response, new Promise((resolve) => setTimeout(resolve, ms, 'held'))])) === 'held';
}

suite('get-new-queries', { args: SLOW_RESCUE }, ({ test, cluster }) => {
  test('a claim takes all Open queries of one topic, and they are Pending then', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two', 'three']) await cluster.add({ Topic, Query });
    assert.deepEqual(await cluster.claim(), { Topic, Queries: [{ 1: 'one' }, { 2: 'two' }, { 3: 'three' }] });
    assert.deepEqual(await cluster.claim({ as: 'Inference_2' }), EMPTY);
    for (const Seq of [1, 2, 3]) assert.equal((await cluster.check({ Topic, Seq, detail: true })).Status, 'Pending');
  });

  test('a claim is one topic and no more', async () => {
    const first = await cluster.add({ Topic: topicOn(0), Query: 'one' }); // order is kept within a shard
    const second = await cluster.add({ Topic: topicOn(0), Query: 'two' });
    assert.deepEqual(await cluster.claim(), { Topic: first.Topic, Queries: [{ 1: 'one' }] });
    assert.deepEqual(await cluster.claim(), { Topic: second.Topic, Queries: [{ 1: 'two' }] });
  });

  test('engines that return at once to a queue of long questions all get theirs', async () => {
    const topics = Array.from({ length: 24 }, () => topicOn(0));
    const Query = 'q'.repeat(250_000);
    for (const Topic of topics) for (let i = 0; i < 4; i++) await cluster.add({ Topic, Query });
    cluster.redis.pause(); // while few calls are under way, the others gather in one that is longer than it may be
    const polls = topics.map(() => cluster.claimOpen({ wait: 50, node: 0 }));
    await new Promise((resolve) => setTimeout(resolve, 1000));
    cluster.redis.resume();
    const claims = (await Promise.all(polls.map(({ response }) => response))).map((response) => assertOk(response));
    assert.deepEqual(claims.map(({ Topic }) => Topic).sort(), [...topics].sort());
    for (const { Queries } of claims) assert.equal(Queries.length, 4);
  });

  test('with Wait=0 and nothing to do: the null pair at once', async () => {
    const began = Date.now();
    assert.deepEqual(await cluster.claim(), EMPTY);
    assert.ok(Date.now() - began < 20_000);
  });

  test('at the end of the wait: the null pair', async () => {
    const began = Date.now();
    assert.deepEqual(await cluster.claim({ wait: 1, detail: true, history: true }), EMPTY);
    const took = Date.now() - began;
    assert.ok(took >= 900, `1 s of waiting took ${took} ms`);
  });

  test('a parked poll gets what is added on the other node', async () => {
    for (const [poller, adder] of [
      [0, 1],
      [1, 0],
      [0, 0],
    ]) {
      const poll = cluster.claimOpen({ wait: 30, node: poller });
      assert.ok(await isHeld(poll.response));
      const began = Date.now();
      const { Topic } = await cluster.add({ Query: 'Wake up', node: adder });
      assert.deepEqual(assertOk(await poll.response), { Topic, Queries: [{ 1: 'Wake up' }] });
      assert.ok(Date.now() - began < 20_000, 'it was woken');
      await cluster.answer({ Topic, Seq: 1, Query: 'Wake up' });
    }
  });

  test('a poll without Wait is parked as well', async () => {
    const poll = cluster.claimOpen({ wait: undefined, query: { Wait: undefined }, timeout: 60_000 });
    assert.ok(await isHeld(poll.response, 1500));
    const { Topic } = await cluster.add();
    assert.equal(assertOk(await poll.response).Topic, Topic);
  });

  test('of many parked polls exactly one gets a query', async () => {
    const polls = Array.from({ length: 10 }, (_, i) => cluster.claimOpen({ as: i % 2 ? 'Inference_1' : 'Inference_2', wait: 60, node: i % 2 }));
    for (const node of [0, 1]) await parked(cluster, node, 5);
    const ended = [];
    for (const { response } of polls) response.then(({ json }) => ended.push(json.Topic)).catch(() => {});
    const added = [];
    for (let n = 1; n <= 3; n++) {
      added.push((await cluster.add()).Topic);
      await eventually(() => ended.length >= n, { what: 'a poll ends' });
      await eventually(async () => (await metric(cluster, 0, 'parley_polls_parked')) + (await metric(cluster, 1, 'parley_polls_parked')) === 10 - n, {
        what: 'the others are parked',
      });
      assert.deepEqual(ended, added);
    }
    for (const poll of polls) poll.abort();
    for (const node of [0, 1]) await parked(cluster, node, 0);
  });

  test('many parked polls and as many topics: everybody gets one', async () => {
    const polls = Array.from({ length: 8 }, () => cluster.claimOpen({ wait: 30 }));
    assert.ok(await isHeld(polls[0].response));
    const added = await Promise.all(polls.map(() => cluster.add()));
    const got = await Promise.all(polls.map(async ({ response }) => assertOk(await response).Topic));
    assert.deepEqual(got.sort(), added.map(({ Topic }) => Topic).sort());
  });

  test('a poll whose client left does not swallow a query', async () => {
    for (const leave of ['abort', 'reset']) {
      const sockets = await Promise.all([0, 1, 0, 1].map((node) => cluster.socket({ node })));
      for (const socket of sockets) {
        const path = cluster.path('/api/get-new-queries', { as: 'Inference_2', query: { Wait: 60 } });
        socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      }
      const staying = cluster.claimOpen({ wait: 30 });
      assert.ok(await isHeld(staying.response));
      sockets.forEach((socket) => socket[leave]());
      const began = Date.now();
      const { Topic } = await cluster.add();
      assert.equal(assertOk(await staying.response).Topic, Topic);
      assert.ok(Date.now() - began < 20_000, 'no lease had to run out');
      await cluster.answer({ Topic, Seq: 1 });
    }
  });

  test('Wait goes from 0 to 120', async () => {
    for (const Wait of ['-1', '121', 'soon', '1e9', '99999999999999999999']) {
      assertProblem(await cluster.request('GET', '/api/get-new-queries', { as: 'Inference_1', query: { Wait } }), 400);
    }
    const { Topic } = await cluster.add();
    assert.equal((await cluster.claim({ wait: 120 })).Topic, Topic);
  });

  test('credentials may stand in a JSON body', async () => {
    const { Topic } = await cluster.add();
    const body = sign('Inference_1', cluster.accounts.Inference_1.secret);
    assert.equal(assertOk(await cluster.request('GET', '/api/get-new-queries?Wait=0', { body })).Topic, Topic);
    const wrong = sign('Inference_1', 'wrong');
    assertProblem(await cluster.request('GET', '/api/get-new-queries?Wait=0', { body: wrong }), 401);
  });

  test('Models: only those and default', async () => {
    const [a, b] = [`a-${newNonce()}`, `b-${newNonce()}`];
    const ofB = await cluster.add({ Model: b });
    assert.deepEqual(await cluster.claim({ models: a }), EMPTY);
    const ofA = await cluster.add({ Model: a });
    const ofDefault = await cluster.add();
    const got = [(await cluster.claim({ models: `${a},x` })).Topic, (await cluster.claim({ models: `x,${a}` })).Topic];
    assert.deepEqual(got.sort(), [ofA.Topic, ofDefault.Topic].sort());
    assert.deepEqual(await cluster.claim({ models: a }), EMPTY);
    assert.equal((await cluster.claim({ models: b })).Topic, ofB.Topic);
  });

  test('without Models an engine takes any model', async () => {
    const { Topic } = await cluster.add({ Model: `only-${newNonce()}` });
    assert.equal((await cluster.claim()).Topic, Topic);
  });

  test('of a topic with several models an engine gets the queries that it can serve', async () => {
    const [a, b] = [`a-${newNonce()}`, `b-${newNonce()}`];
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'for a', Model: a });
    await cluster.add({ Topic, Query: 'for b', Model: b });
    assert.deepEqual(await cluster.claim({ models: a }), { Topic, Queries: [{ 1: 'for a' }] });
    assert.deepEqual(await cluster.claim({ models: b, as: 'Inference_2' }), { Topic, Queries: [{ 2: 'for b' }] });
  });

  test('a model with spaces and colons is a model', async () => {
    const Model = `Llama 3: 8B ${newNonce()}`;
    const { Topic } = await cluster.add({ Model });
    assert.deepEqual(await cluster.claim({ models: 'Llama' }), EMPTY);
    assert.equal((await cluster.claim({ models: Model })).Topic, Topic);
  });

  test('a parked poll for other models is not woken with what it cannot serve', async () => {
    const Model = `m-${newNonce()}`;
    const other = cluster.claimOpen({ wait: 3, models: 'other' });
    const right = cluster.claimOpen({ wait: 30, models: Model, as: 'Inference_2' });
    assert.ok(await isHeld(right.response));
    // A query for a model that a shard has heard of from no engine is for all of them there.
    const classes = () => onAll(cluster.redis, 'ZRANGE', SHARDS > 1 ? 'hints' : 'idle', 0, -1);
    await eventually(async () => (await classes()).every((all) => all.some((one) => one.endsWith(`|${Model}`))), { what: 'its model is known' });
    const { Topic } = await cluster.add({ Model });
    assert.equal(assertOk(await right.response).Topic, Topic);
    assert.deepEqual(assertOk(await other.response), EMPTY);
  });

  test('Detail adds the lease and what is known of each query', async () => {
    const Topic = newTopic();
    const trace = 'aaaabbbbccccddddeeeeffff00001111';
    await cluster.add({
      Topic,
      User: 'alice',
      Query: 'one',
      Modifiers: { a: 1 },
      Model: 'default',
      headers: { traceparent: `00-${trace}-1234567890abcdef-01` },
    });
    await cluster.add({ Topic, User: 'bob', Query: 'two' });
    const claim = await cluster.claim({ detail: true });
    assertMembers(claim, DETAIL);
    assert.deepEqual(claim.Queries, [{ 1: 'one' }, { 2: 'two' }]);
    assert.ok(['string', 'number'].includes(typeof claim.Lease));
    assert.equal(claim.LeaseSeconds, 150);
    assert.equal(claim.Attempt, 1);
    assertMembers(claim.Details, ['1', '2']);
    for (const detail of Object.values(claim.Details)) {
      assertMembers(detail, ['User', 'Model', 'Modifiers', 'Timestamp', 'Traceparent', 'RequestId']);
      assertTimestamp(detail.Timestamp);
      assert.equal(detail.Model, 'default');
    }
    assert.equal(claim.Details['1'].User, 'alice');
    assert.deepEqual(claim.Details['1'].Modifiers, { a: 1 });
    assert.equal(claim.Details['1'].Traceparent.split('-')[1], trace, 'the trace continues to the engine');
    assert.equal(claim.Details['2'].User, 'bob');
  });

  test('each claim has a lease of its own', async () => {
    for (let i = 0; i < 2; i++) await cluster.add({ Topic: topicOn(0) }); // ids are those of a shard
    const [one, two] = [await cluster.claim({ detail: true }), await cluster.claim({ detail: true })];
    assert.notEqual(one.Lease, two.Lease);
  });

  test('History brings what was asked and answered in the topic before', async () => {
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'one' });
    assert.deepEqual(await cluster.claim({ history: true }), { Topic, Queries: [{ 1: 'one' }], History: [] });
    await cluster.answer({ Topic, Seq: 1, Query: 'one', Think: ['hm'], Answer: ['1', 'I'] });
    await cluster.add({ Topic, Query: 'two' });
    const claim = await cluster.claim({ history: true });
    assert.deepEqual(claim, { Topic, Queries: [{ 2: 'two' }], History: [{ Seq: 1, Query: 'one', Answer: ['1', 'I'] }] });
  });

  test('a query added while its topic is claimed can be claimed too', async () => {
    const { Topic } = await cluster.add({ Query: 'one' });
    await cluster.claim();
    await cluster.add({ Topic, Query: 'two' });
    assert.deepEqual(await cluster.claim({ as: 'Inference_2' }), { Topic, Queries: [{ 2: 'two' }] });
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 2, Query: 'two' });
    await cluster.answer({ Topic, Seq: 1, Query: 'one' });
  });

  // The poll of a named engine has reached Redis.
  const isKnown = (engine) =>
    eventually(() => cluster.redis.cmd('EXISTS', keyOf(`Inference_1 ${engine}`, `poll:Inference_1:${engine}`)), { what: `the poll of ${engine} is known` });

  test('a newer poll of the same account and Engine ends the older one with the null pair, on either node', async () => {
    for (const [older, newer] of [
      [0, 0],
      [0, 1],
      [1, 0],
    ]) {
      const engine = `gpu-${newNonce()}`;
      const first = cluster.claimOpen({ wait: 30, engine, node: older });
      await isKnown(engine);
      const began = Date.now();
      const second = cluster.claimOpen({ wait: 30, engine, node: newer });
      assert.deepEqual(assertOk(await first.response), EMPTY);
      assert.ok(Date.now() - began < 20_000);
      const { Topic } = await cluster.add();
      assert.equal(assertOk(await second.response).Topic, Topic);
    }
  });

  test('a poll whose nonce was used before ends neither the poll of its engine nor its rest', async () => {
    const signed = () => sign('Inference_1', cluster.accounts.Inference_1.secret);
    const get = (query, node) => cluster.request('GET', '/api/get-new-queries', { query, node });
    const Engine = `gpu-${newNonce()}`;
    const query = { Engine, Wait: 30, ...signed() };
    const poll = cluster.open('GET', '/api/get-new-queries', { query, node: 0, timeout: 60_000 });
    await isKnown(Engine);
    for (const node of [0, 1]) assertProblem(await get(query, node), 401, 'nonce_used');
    assert.ok(await isHeld(poll.response));
    assertOk(await get({ Engine, Rest: 100, ...signed() }, 1));
    assert.deepEqual(assertOk(await poll.response), EMPTY);
    const rest = () => cluster.redis.cmd('GET', keyOf(`Inference_1 ${Engine}`, `poll:Inference_1:${Engine}`));
    assert.equal(await rest(), 'away');
    for (const node of [0, 1]) assertProblem(await get(query, node), 401, 'nonce_used');
    assert.equal(await rest(), 'away');
  });

  test('polls of other Engines, of other accounts and without Engine stand side by side', async () => {
    const polls = [
      cluster.claimOpen({ wait: 30, engine: 'one' }),
      cluster.claimOpen({ wait: 30, engine: 'two' }),
      cluster.claimOpen({ wait: 30, engine: 'one', as: 'Inference_2' }),
      cluster.claimOpen({ wait: 30 }),
      cluster.claimOpen({ wait: 30 }),
    ];
    assert.ok(await isHeld(Promise.race(polls.map(({ response }) => response)), 800));
    const added = await Promise.all(polls.map(() => cluster.add()));
    const got = await Promise.all(polls.map(async ({ response }) => assertOk(await response).Topic));
    assert.deepEqual(got.sort(), added.map(({ Topic }) => Topic).sort());
  });
});

// Order is kept within a shard: these topics are of one.
suite('the order of claims', {}, ({ test, cluster }) => {
  test('a user is served first come, first served', async () => {
    const added = namesOfOneShard(newTopic(), 10);
    for (const Topic of added) await cluster.add({ Topic, User: 'alice' });
    const served = [];
    for (let i = 0; i < 10; i++) served.push((await cluster.claim()).Topic);
    assert.deepEqual(served, added);
  });

  test('user A with 60 questions does not keep user B with one waiting for more than one turn', async () => {
    const [Topic, ...others] = namesOfOneShard(newTopic(), 61);
    for (const one of others) await cluster.add({ Topic: one, User: 'A', as: 'Frontend_heavy' });
    await cluster.claim();
    await cluster.add({ Topic, User: 'B' });
    const served = [(await cluster.claim()).Topic, (await cluster.claim()).Topic];
    assert.ok(served.includes(Topic), 'B is served within the next two claims');
  });

  test('users take turns', async () => {
    const owner = {};
    const topics = namesOfOneShard(newTopic(), 12);
    for (const [i, Topic] of topics.entries()) {
      owner[Topic] = 'ABC'[Math.floor(i / 4)];
      await cluster.add({ Topic, User: owner[Topic] });
    }
    const turns = [];
    for (let i = 0; i < 12; i++) turns.push(owner[(await cluster.claim()).Topic]);
    for (let round = 0; round < 4; round++) {
      assert.deepEqual(turns.slice(round * 3, round * 3 + 3).sort(), ['A', 'B', 'C'], `round ${round} of ${turns}`);
    }
  });

  test('an account with weight 4 gets about four turns to one', async () => {
    const owner = {};
    for (const [i, Topic] of namesOfOneShard(newTopic(), 40).entries()) {
      owner[Topic] = i % 2 ? 'heavy' : 'light';
      await cluster.add({ Topic, User: owner[Topic], as: i % 2 ? 'Frontend_heavy' : 'Frontend_1' });
    }
    const turns = [];
    for (let i = 0; i < 20; i++) turns.push(owner[(await cluster.claim()).Topic]);
    const heavy = turns.filter((one) => one === 'heavy').length;
    assert.ok(heavy >= 14 && heavy <= 18, `heavy got ${heavy} of 20: ${turns}`);
  });
});
