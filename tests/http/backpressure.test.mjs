// SPDX-License-Identifier: MIT
//
// Contract section 2, backpressure: max_waiting of an account, and a full queue.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, newNonce, suite } from '../support/harness.mjs';

function assertFull(response, status, code) {
  const problem = assertProblem(response, status, code);
  assert.match(response.headers['retry-after'], /^[1-9]\d*$/);
  assert.ok(Number.isInteger(problem.depth) && problem.depth >= 0, `depth ${problem.depth}`);
  assert.ok('eta_seconds' in problem);
  assert.ok(problem.eta_seconds === null || problem.eta_seconds >= 0, `eta_seconds ${problem.eta_seconds}`);
  return problem;
}

suite('max_waiting', {}, ({ test, cluster }) => {
  const as = 'Frontend_small'; // max_waiting: 3
  const newUser = () => `user-${newNonce()}`;

  test('the query after the last allowed one gets 429 with Retry-After, and is not stored', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ as, User });
    for (let i = 0; i < 2; i++) await cluster.add({ as, User });
    assertFull(await cluster.addRaw({ as, User }), 429, 'too_many_waiting');
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
    const query = { as, User, Topic: `t-${newNonce()}`, headers };
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

suite('a full queue', { args: ['--queue-max', '5'] }, ({ test, cluster }) => {
  test('gets 503 with Retry-After and its depth, for everybody, until a claim makes room', async () => {
    for (let i = 0; i < 5; i++) await cluster.add({ User: `user-${i}` });
    assert.equal(assertFull(await cluster.addRaw({ User: 'late' }), 503, 'queue_full').depth, 5);
    assert.equal(assertFull(await cluster.addRaw({ as: 'User_1' }), 503, 'queue_full').depth, 5);
    await cluster.claim();
    assertOk(await cluster.addRaw({ User: 'late' }));
    assertFull(await cluster.addRaw({ User: 'later' }), 503, 'queue_full');
  });

  test('a full queue still takes answers and gives claims', async () => {
    for (let i = 0; i < 5; i++) await cluster.add({ User: `user-${i}` });
    const { Topic } = await cluster.claim();
    assert.equal((await cluster.answer({ Topic, Seq: 1 })).Status, 'Done');
    assert.deepEqual((await cluster.check({ Topic })).Answer, ['42']);
  });

  test('of many at once exactly as many as there is room pass', async () => {
    const responses = await Promise.all(Array.from({ length: 12 }, (_, i) => cluster.addRaw({ User: `user-${i}` })));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [...Array(5).fill(200), ...Array(7).fill(503)]);
  });
});
