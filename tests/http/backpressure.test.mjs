// SPDX-License-Identifier: MIT
//
// backpressure: max_waiting of an account, and a full queue.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, newNonce, suite } from '../support/harness.mjs';
import { keepToOneShard, SHARDS, topicOn } from '../support/shards.mjs';

function assertFull(response, status, code) {
  const problem = assertProblem(response, status, code);
  assert.match(response.headers['retry-after'], /^[1-9]\d*$/);
  assert.ok(Number.isInteger(problem.depth) && problem.depth >= 0, `depth ${problem.depth}`);
  assert.ok('eta_seconds' in problem);
  assert.ok(problem.eta_seconds === null || problem.eta_seconds >= 0, `eta_seconds ${problem.eta_seconds}`);
  return problem;
}

suite('max_waiting', {}, ({ test, cluster }) => {
  keepToOneShard(cluster); // it is counted in each shard
  const as = 'Frontend_small'; // max_waiting: 3
  const newUser = () => `user-${newNonce()}`;

  test('the query after the last allowed one gets 429 with Retry-After, and is not stored', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ as, User });
    for (let i = 0; i < 2; i++) await cluster.add({ as, User });
    assert.match(assertFull(await cluster.addRaw({ as, User }), 429, 'too_many_waiting').detail, /^This user has/);
    assertFull(await cluster.addRaw({ as, User, Topic }), 429, 'too_many_waiting');
    const topics = assertOk(await cluster.request('GET', '/api/user-topics', { as, query: { OnBehalfOf: User } }));
    assert.equal(Object.keys(topics).length, 3);
  });

  test('another user of the same account is not held up', async () => {
    const User = newUser();
    for (let i = 0; i < 3; i++) await cluster.add({ as, User });
    assertFull(await cluster.addRaw({ as, User }), 429);
    assertOk(await cluster.addRaw({ as, User: newUser() }));
  });

  test('of many at once exactly the allowed number passes', async () => {
    const User = newUser();
    const responses = await Promise.all(Array.from({ length: 12 }, () => cluster.addRaw({ as, User })));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 200, 200, ...Array(9).fill(429)]);
  });

  test('a claim makes room, for Pending queries do not wait', async () => {
    const User = newUser();
    for (let i = 0; i < 3; i++) await cluster.add({ as, User });
    assertFull(await cluster.addRaw({ as, User }), 429);
    await cluster.claim();
    assertOk(await cluster.addRaw({ as, User }));
    assertFull(await cluster.addRaw({ as, User }), 429);
  });

  test('a cancel makes room, and so does a deleted topic', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ as, User });
    for (let i = 0; i < 2; i++) await cluster.add({ as, User, Topic });
    assertFull(await cluster.addRaw({ as, User }), 429);
    assertOk(await cluster.request('POST', '/api/cancel-query', { as, body: { Topic, Seq: 2 } }));
    assertOk(await cluster.addRaw({ as, User }));
    assertFull(await cluster.addRaw({ as, User }), 429);
    assertOk(await cluster.request('DELETE', '/api/topic', { as, query: { OnBehalfOf: User, Topic } }));
    for (let i = 0; i < 2; i++) assertOk(await cluster.addRaw({ as, User }));
    assertFull(await cluster.addRaw({ as, User }), 429);
  });

  test('a repeat under the same Idempotency-Key is no query more', async () => {
    const User = newUser();
    const headers = { 'Idempotency-Key': newNonce() };
    const query = { as, User, Topic: topicOn(0), headers };
    const first = assertOk(await cluster.addRaw(query));
    for (let i = 0; i < 2; i++) await cluster.add({ as, User });
    assert.deepEqual(assertOk(await cluster.addRaw(query)), first);
  });

  test('the limit is 100 unless the account says otherwise', async () => {
    const User = newUser();
    const responses = await Promise.all(Array.from({ length: 100 }, () => cluster.addRaw({ User })));
    assert.ok(responses.every(({ status }) => status === 200));
    assertFull(await cluster.addRaw({ User }), 429, 'too_many_waiting');
  });
});

// Each shard has its part, here 6.
suite('a full queue', { args: ['--queue-max', 6 * SHARDS] }, ({ test, cluster }) => {
  keepToOneShard(cluster);
  // Half of the queue is all that an account gets: two fill it.
  const fill = async () => {
    for (let i = 0; i < 3; i++) for (const as of ['Frontend_1', 'Frontend_heavy']) await cluster.add({ as, User: `user-${i}` });
  };

  test('gets 503 with Retry-After and its depth, for everybody, until a claim makes room', async () => {
    await fill();
    assert.equal(assertFull(await cluster.addRaw({ as: 'User_1' }), 503, 'queue_full').depth, 6 * SHARDS);
    assert.equal(assertFull(await cluster.addRaw({ as: 'Frontend_small' }), 503, 'queue_full').depth, 6 * SHARDS);
    await cluster.claim();
    assertOk(await cluster.addRaw({ as: 'User_1' }));
    assertFull(await cluster.addRaw({ as: 'User_2' }), 503, 'queue_full');
  });

  test('is not filled by one account, in the name of however many users: it gets 429, others have room', async () => {
    for (let i = 0; i < 3; i++) await cluster.add({ User: `user-${i}` });
    const { depth, detail } = assertFull(await cluster.addRaw({ User: 'late' }), 429, 'too_many_waiting');
    assert.equal(depth, 3);
    assert.match(detail, /^This account has .* all its users together/);
    assertOk(await cluster.addRaw({ as: 'User_1' }));
    for (let i = 0; i < 2; i++) await cluster.claim(); // one of them is of that account
    const left = await Promise.all([1, 2, 3].map((i) => cluster.addRaw({ User: `later-${i}` })));
    assert.ok(left.some(({ status }) => status === 429), 'and no more than half again');
  });

  test('is not filled by one account with lookups: it gets 429, others have room', async () => {
    const { Topic } = await cluster.add();
    const other = await cluster.add({ as: 'User_1' });
    const lookup = (i, more) => cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic, Seq: 1, Fragment: `f${i}` }, ...more });
    const half = 3 * SHARDS; // lookups are all on one shard
    for (let i = 0; i < half; i++) assertOk(await lookup(i));
    assert.match(assertFull(await lookup(half), 429, 'too_many_waiting').detail, /^This account has/);
    assertOk(await lookup(2));
    assertOk(await lookup(half + 1, { as: 'User_1', body: { Topic: other.Topic, Seq: 1, Fragment: 'mine' } }));
    const got = assertOk(await cluster.request('GET', '/api/get-new-lookup', { as: 'Inference_1', query: { Wait: 0 } }));
    assertOk(await cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body: { Fingerprint: got.Fingerprint, Matches: [] } }));
    assertOk(await lookup(half));
    assertFull(await lookup(half + 2), 429, 'too_many_waiting');
  });

  test('a full queue still takes answers and gives claims', async () => {
    await fill();
    const { Topic } = await cluster.claim();
    assert.equal((await cluster.answer({ Topic, Seq: 1 })).Status, 'Done');
  });

  test('of many at once exactly as many as there is room pass', async () => {
    const responses = await Promise.all(Array.from({ length: 12 }, (_, i) => cluster.addRaw({ as: i % 2 ? 'Frontend_1' : 'Frontend_heavy', User: `user-${i}` })));
    assert.equal(responses.filter(({ status }) => status === 200).length, 6);
    assert.ok(responses.every(({ status }) => [200, 429, 503].includes(status)));
  });
});

suite('models that do not exist', {}, ({ test, cluster }) => {
  keepToOneShard(cluster);
  test('a thousand queries for them leave room for default, and for other accounts', async () => {
    const add = (i, more) => cluster.addRaw({ User: `user-${i % 10}`, Model: `invented-${i}`, ...more });
    const responses = [];
    for (let i = 0; i < 1000; i += 50) responses.push(...(await Promise.all(Array.from({ length: 50 }, (_, k) => add(i + k)))));
    assert.deepEqual([200, 429].map((status) => responses.filter((r) => r.status === status).length), [100, 900]);
    assert.match(assertFull(responses.find(({ status }) => status === 429), 429, 'too_many_waiting').detail, /as many models/);
    for (const as of ['Frontend_1', 'Frontend_heavy', 'User_1']) assertOk(await cluster.addRaw({ as }));
    assertOk(await add(0, { as: 'Frontend_heavy' }));
    assertOk(await add(5000, { as: 'Frontend_heavy' }));
  });
});
