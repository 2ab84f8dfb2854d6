// SPDX-License-Identifier: MIT
//
// max_stored: bytes of an account's topics, lookups and recommendations, and of those of a user.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertProblem, newNonce, newTopic, suite } from '../support/harness.mjs';
import { keepToOneShard, SHARDS, topicOn } from '../support/shards.mjs';

const BLOCK = 4096, UNIT = 65536;
// On each shard the same, whatever their number.
const BOUNDED = {
  Frontend_few: { secret: 'few-secret', role: 'frontend', max_stored: 2 * UNIT * SHARDS },
  Frontend_user: { secret: 'user-secret', role: 'frontend', max_stored_per_user: 2 * BLOCK * SHARDS },
};

suite('max_stored', { accounts: { ...ACCOUNTS, ...BOUNDED } }, ({ test, cluster }) => {
  keepToOneShard(cluster);
  const newUser = () => `user-${newNonce()}`;
  const usage = async (user, as) => assertOk(await cluster.request('GET', `/api/users/${user}/usage`, { as })).Stored;
  const remove = (as, User, Topic) => cluster.request('DELETE', '/api/topic', { as, query: { OnBehalfOf: User, Topic } });
  const assertFull = (response, what, max) => {
    const problem = assertProblem(response, 429, 'too_much_stored');
    assert.match(problem.detail, new RegExp(`${what}.*DELETE /api/topic`));
    assert.equal(problem.max_stored, max);
    assert.match(response.headers['retry-after'], /^[1-9]\d*$/);
    return problem;
  };

  test('a query past what its user may have is refused, stores nothing, and fits again after a delete', async () => {
    const [as, User] = ['Frontend_user', newUser()];
    const first = await cluster.add({ as, User });
    await cluster.add({ as, User });
    assert.deepEqual(await usage(User, as), { Bytes: 2 * BLOCK, BytesMax: 2 * BLOCK * SHARDS, AccountBytes: UNIT, AccountBytesMax: null });
    for (let i = 0; i < 4; i++) assert.equal(assertFull(await cluster.addRaw({ as, User }), 'this user', 2 * BLOCK).stored, 2 * BLOCK);
    assert.equal(Object.keys(assertOk(await cluster.request('GET', '/api/user-topics', { as, query: { OnBehalfOf: User } }))).length, 2);
    assertOk(await cluster.addRaw({ as, User: newUser() })); // another one is not held up
    assertOk(await remove(as, User, first.Topic));
    assertOk(await cluster.addRaw({ as, User }));
    assertFull(await cluster.addRaw({ as, User }), 'this user', 2 * BLOCK);
  });

  test('of an account without a bound nothing is counted', async () => {
    const User = newUser();
    await cluster.add({ User, Query: 'x'.repeat(9000) });
    const { Bytes, AccountBytes } = await usage(User, 'Frontend_1');
    assert.deepEqual([Bytes, AccountBytes], [null, null]);
    for (const key of await cluster.redis.cmd('KEYS', 'parley:*:stored')) assert.equal(await cluster.redis.cmd('HEXISTS', key, 'Frontend_1'), 0);
  });

  test('users of an account share its room, and no other account has less for that', async () => {
    const as = 'Frontend_few';
    const users = [newUser(), newUser()];
    for (const User of users) await cluster.add({ as, User });
    assertFull(await cluster.addRaw({ as, User: newUser() }), 'all users of this account', 2 * UNIT);
    assertOk(await cluster.addRaw({ User: users[0] }));
    assertOk(await cluster.request('DELETE', `/api/users/${users[0]}`, { as }), 202);
    assertOk(await cluster.addRaw({ as, User: newUser() }));
  });

  test('of many at once just those are stored that fit', async () => {
    const [as, User] = ['Frontend_user', newUser()];
    const responses = await Promise.all(Array.from({ length: 12 }, () => cluster.addRaw({ as, User })));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 200, ...Array(10).fill(429)]);
    assert.equal((await usage(User, as)).Bytes, 2 * BLOCK);
  });

  test('an answer is taken though the room is full, and counts', async () => {
    const [as, User] = ['Frontend_user', newUser()];
    const Query = `What is ${newNonce()}?`;
    const added = await cluster.add({ as, User, Query });
    await cluster.add({ as, User });
    assertFull(await cluster.addRaw({ as, User }), 'this user', 2 * BLOCK);
    const Answer = ['x'.repeat(10 * BLOCK)];
    assertOk(await cluster.request('POST', '/api/give-new-answer', { as: 'Inference_1', body: { Query, Topic: added.Topic, Seq: added.Seq, Answer } }));
    assert.equal((await usage(User, as)).Bytes, 12 * BLOCK);
    const seen = assertOk(await cluster.request('GET', '/api/check-query', { as, query: { Topic: added.Topic, Seq: added.Seq } }));
    assert.deepEqual(seen.Answer, Answer);
  });

  test('lookups and recommendations are refused, too', async () => {
    const [as, User] = ['Frontend_user', newUser()];
    const { Topic } = await cluster.add({ as, User });
    const lookup = (n) => cluster.request('POST', '/api/add-lookup', { as, body: { Topic, Seq: 1, Fragment: newNonce().repeat(n) } });
    assertOk(await lookup(1));
    assertFull(await lookup(1000), 'this user', 2 * BLOCK);
    assert.equal((await usage(User, as)).Bytes, BLOCK);
    const recommend = () => cluster.request('POST', '/api/recommend', {
      as, body: { Topic, OnBehalfOf: User, Query: 'q', Fragment: 'f', Comment: 'c', Type: 'Promote Answer' },
    });
    assertOk(await recommend());
    assertFull(await recommend(), 'this user', 2 * BLOCK);
    assertOk(await remove(as, User, Topic));
    assert.equal((await usage(User, as)).Bytes, BLOCK);
    assertOk(await cluster.request('DELETE', `/api/users/${User}`, { as }), 202);
    assert.equal((await usage(User, as)).Bytes, 0);
  });

  test('a refused query may be sent again with its idempotency key once there is room', async () => {
    const [as, User, headers] = ['Frontend_user', newUser(), { 'idempotency-key': newNonce() }];
    const added = await cluster.add({ as, User });
    await cluster.add({ as, User });
    const Topic = SHARDS > 1 ? topicOn(0) : newTopic();
    const again = () => cluster.request('POST', '/api/add-query', { as, headers, body: { Topic, User, Query: 'the same' } });
    assertFull(await again(), 'this user', 2 * BLOCK);
    assertOk(await remove(as, User, added.Topic));
    assertOk(await again());
  });

  test('operators, and accounts without a bound, see none', async () => {
    const none = { Bytes: null, BytesMax: null, AccountBytes: null, AccountBytesMax: null };
    for (const as of ['User_1', 'Operator_1']) assert.deepEqual(await usage('User_1', as), none);
  });
});
