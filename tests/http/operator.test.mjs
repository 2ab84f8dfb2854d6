// SPDX-License-Identifier: MIT
//
// operator routes: status, queue, retry-query, drain-engine.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newNonce, newTopic, suite } from '../support/harness.mjs';
import { keyOf, SHARDS, topicOn } from '../support/shards.mjs';

const EMPTY = { Topic: null, Queries: null };

// A model that no engine names stays Open as long as these tests look at it.
suite('operator routes', { args: ['--model-fallback-seconds', '0'] }, ({ test, cluster }) => {
  const as = 'Operator_1';
  const status = async () => assertOk(await cluster.request('GET', '/api/status', { as }));
  const queue = (query = {}, options = {}) => cluster.request('GET', '/api/queue', { as, query, ...options });
  const rows = async (query) => assertOk(await queue(query)).Queries;
  const retry = (Topic, Seq, options = {}) =>
    cluster.request('POST', '/api/retry-query', { as, body: { Topic, Seq }, ...options });
  const fail = (Topic, Lease, Reason = 'broken') =>
    cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Reason, Retry: false } });

  test('status counts what waits and what is in flight', async () => {
    const before = await status();
    assert.equal(before.Depth, 0);
    for (let i = 0; i < 3; i++) await cluster.add();
    await cluster.claim();
    for (let i = 0; i < 2; i++) {
      const body = await status();
      assert.equal(body.Depth, 2);
      assert.equal(body.InFlight, before.InFlight + 1);
      assert.ok(body.OldestSeconds >= 0 && body.OldestSeconds < 60);
    }
  });

  test('status shows the engines that were seen, with their models, and both nodes', async () => {
    await cluster.claim({ as: 'Inference_1', models: 'llama3,mistral', engine: 'gpu-1' });
    const body = await eventually(
      async () => {
        const now = await status();
        return now.Engines.some(({ Engine }) => Engine === 'gpu-1') && now.Nodes.length === 2 && now;
      },
      { what: 'engine and nodes are listed' },
    );
    const engine = body.Engines.find(({ Engine }) => Engine === 'gpu-1');
    assert.equal(engine.User, 'Inference_1');
    assert.match(JSON.stringify(engine), /llama3.*mistral/);
    assert.ok('Redis' in body);
  });

  test('queue lists what is Open, Pending and Failed', async () => {
    const failing = await cluster.add({ User: 'bob', Query: 'fails' });
    const { Lease } = await cluster.claim({ detail: true, models: 'none' });
    assert.equal((await fail(failing.Topic, Lease)).status, 200);
    const pending = await cluster.add({ User: 'carol', Query: 'is worked on' });
    await cluster.claim({ models: 'none' });
    // Last: a shard that has heard of its model from no engine gives it to any.
    const open = await cluster.add({ User: 'alice', Query: 'stays open', Model: `rare-${newNonce()}` });
    for (const [State, { Topic }, Query] of [
      ['Open', open, 'stays open'],
      ['Pending', pending, 'is worked on'],
      ['Failed', failing, 'fails'],
    ]) {
      const row = (await rows({ State })).find((one) => one.Topic === Topic);
      assert.ok(row, `${State} lists its query`);
      assert.equal(row.Seq, 1);
      assert.equal(row.Query, Query);
      assert.equal(row.Status, State);
      for (const other of ['Open', 'Pending', 'Failed']) {
        if (other !== State) assert.ok(!(await rows({ State: other })).some((one) => one.Topic === Topic));
      }
    }
  });

  // In a signed query `User` names who asks, so a filter by user needs a token.
  async function withToken(options = {}) {
    const { Token } = assertOk(await cluster.request('GET', '/api/login', { as }));
    return { as: undefined, headers: { Authorization: `Bearer ${Token}` }, ...options };
  }

  test('queue of one user shows only that user', async () => {
    const User = `user-${newNonce()}`;
    const { Topic } = await cluster.add({ User });
    await cluster.add({ User: 'somebody else' });
    const options = await withToken(); // in a signed query User is who signs
    const of = async (user) => assertOk(await queue({ State: 'Open', User: user }, options)).Queries;
    assert.deepEqual(
      (await of(User)).map((row) => row.Topic),
      [Topic],
    );
    assert.deepEqual(await of(`no-${User}`), []);
  });

  test('queue continues after its cursor and shows each query once', async () => {
    const User = `user-${newNonce()}`;
    const added = await Promise.all(Array.from({ length: 99 }, (_, i) => cluster.add({ User, Query: `q${i}` })));
    const more = await Promise.all(
      Array.from({ length: 99 }, (_, i) =>
        cluster.add({ User, as: 'Frontend_heavy', Topic: added[i].Topic, Query: `r${i}` }).catch(() => null),
      ),
    );
    const options = await withToken();
    const seen = [];
    let After;
    do {
      const page = assertOk(await queue({ State: 'Open', User, After }, options));
      seen.push(...page.Queries.map(({ Topic, Seq }) => `${Topic} ${Seq}`));
      After = page.Next ?? undefined;
    } while (After);
    assert.equal(new Set(seen).size, seen.length, 'no query twice');
    assert.equal(seen.length, 99 + more.filter(Boolean).length);
  });

  test('queue is one list by time, whatever shards its queries are on, and shows each query once', async () => {
    const User = `user-${newNonce()}`;
    const options = await withToken();
    const listed = async (State) => {
      const pages = [];
      for (let After = 0; After !== null; ) {
        const page = assertOk(await queue({ State, User, After }, options));
        pages.push(page.Queries);
        After = page.Next;
      }
      assert.ok(pages.length > 1, 'several pages');
      return pages.flat();
    };
    const areAscending = (times) => assert.deepEqual(times, [...times].sort((a, b) => a - b));
    // The first shard has the oldest ones and the newest.
    const topics = [0, 0, 0, 1, 2, 3, 3, 2, 1, 0, 1, 0].map((shard) => topicOn(shard));
    for (const Topic of topics) await cluster.add({ Topic, User, Model: 'by time', Query: 'x'.repeat(250_000) });
    const open = (await listed('Open')).map(({ Topic }) => Topic);
    assert.deepEqual([...open].sort(), [...topics].sort());
    const addedAt = async (Topic) => (await cluster.redis.cmd('HGET', keyOf(Topic, `t:${Topic}`), 'q:1')).split('\n')[0];
    areAscending((await Promise.all(open.map(addedAt))).map(Number));
    for (let i = 0; i < topics.length; i++) {
      const { Topic, Lease } = await cluster.claim({ detail: true, models: 'by time' });
      assert.equal((await fail(Topic, Lease)).status, 200);
    }
    const failed = (await listed('Failed')).map(({ Topic }) => Topic);
    assert.deepEqual([...failed].sort(), [...topics].sort());
    const failedAt = (Topic) => cluster.redis.cmd('ZSCORE', keyOf(Topic, 'failed'), `${Topic} 1`);
    areAscending((await Promise.all(failed.map(failedAt))).map(Number));
  });

  test('queue with an unknown State or a cursor that is none of ours: 400', async () => {
    for (const State of ['open', 'Nonsense', 'Open,Pending']) assertProblem(await queue({ State }), 400);
    const numbers = (n) => Array(n).fill(1).join('.');
    const others = ['x', '-1', '1.x', '.', numbers(SHARDS + 1), `${numbers(SHARDS)}.`, numbers(SHARDS - 1) || '1.1', numbers(SHARDS).replace('1', '4294967296')];
    for (const After of others) assertProblem(await queue({ State: 'Open', After }), 400);
    assertOk(await queue({ State: 'Open', After: numbers(SHARDS) }));
  });

  test('retry-query opens a failed query again, at the front, with fresh attempts', async () => {
    const { Topic } = await cluster.add({ Topic: topicOn(0) }); // order is kept within a shard
    const { Lease } = await cluster.claim({ detail: true });
    await fail(Topic, Lease);
    await cluster.add({ Topic: topicOn(0) });
    assert.equal((await retry(Topic, 1)).status, 200);
    const again = await cluster.claim({ detail: true });
    assert.equal(again.Topic, Topic);
    assert.equal(again.Attempt, 1);
    assert.equal((await cluster.answer({ Topic, Seq: 1, Lease: again.Lease })).Status, 'Done');
  });

  test('a retry wakes a parked poll', async () => {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    await fail(Topic, Lease);
    const poll = cluster.claimOpen({ wait: 30 });
    assert.equal(await Promise.race([poll.response, new Promise((resolve) => setTimeout(resolve, 400, 'held'))]), 'held');
    assert.equal((await retry(Topic, 1)).status, 200);
    assert.equal(assertOk(await poll.response).Topic, Topic);
  });

  test('retry-query of what is Done: 409; unknown: 404; malformed: 400', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1 });
    assertProblem(await retry(Topic, 1), 409, 'already_done');
    assertProblem(await retry(Topic, 2), 404, 'not_found');
    assertProblem(await retry(newTopic(), 1), 404, 'not_found');
    assertProblem(await retry(Topic, 'x'), 400);
    assertProblem(await retry(undefined, 1), 400);
    assert.deepEqual((await cluster.check({ Topic })).Answer, ['42']);
  });

  test('a drained engine finishes what it has and gets nothing new, until it is let in again', async () => {
    const drain = (body) => cluster.request('POST', '/api/drain-engine', { as, body });
    const first = await cluster.add();
    await cluster.claim();
    assert.equal((await drain({ User: 'Inference_1' })).status, 200);
    try {
      assert.equal((await cluster.answer({ Topic: first.Topic, Seq: 1 })).Status, 'Done');
      const { Topic } = await cluster.add();
      for (const node of [0, 1]) {
        await eventually(async () => JSON.stringify(await cluster.claim({ node })) === JSON.stringify(EMPTY), {
          what: 'nothing for the drained engine',
        });
      }
      assert.equal((await cluster.claim({ as: 'Inference_2' })).Topic, Topic);
    } finally {
      assert.equal((await drain({ User: 'Inference_1', Drain: false })).status, 200);
    }
    const { Topic } = await cluster.add();
    await eventually(async () => (await cluster.claim()).Topic === Topic, { what: 'it gets work again' });
  });

  test('drain-engine without an engine: 400', async () => {
    for (const body of [{}, { User: '' }, { User: 7 }, { User: null }]) {
      assertProblem(await cluster.request('POST', '/api/drain-engine', { as, body }), 400);
    }
  });
});
