// SPDX-License-Identifier: MIT
//
// user-topics, DELETE topic, rename-topic.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newNonce, newTopic, SLOW_RESCUE, suite } from '../support/harness.mjs';

suite('topics', { args: SLOW_RESCUE }, ({ test, cluster }) => {
  const newUser = () => `user-${newNonce()}`;
  const topics = (OnBehalfOf, options = {}) =>
    cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf }, ...options });
  const remove = (OnBehalfOf, Topic, options = {}) =>
    cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf, Topic }, ...options });
  const rename = (OnBehalfOf, Topic, Description, options = {}) =>
    cluster.request('PUT', '/api/rename-topic', { as: 'Frontend_1', query: { OnBehalfOf, Topic, Description }, ...options });
  const thread = (Topic) => cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } });

  test('user-topics maps each topic to its first query, newest topic last', async () => {
    const User = newUser();
    const names = [newTopic('zebra'), newTopic('apple'), newTopic('mango')];
    for (const Topic of names) {
      await cluster.add({ User, Topic, Query: `first of ${Topic}` });
    }
    await cluster.add({ User, Topic: names[0], Query: 'a later one' });
    for (const node of [0, 1]) {
      const body = assertOk(await topics(User, { node }));
      assert.deepEqual(Object.keys(body), names);
      for (const Topic of names) assert.equal(body[Topic], `first of ${Topic}`);
    }
  });

  test('a user without topics: 404', async () => {
    assertProblem(await topics(newUser()), 404, 'not_found');
  });

  test('user-topics without OnBehalfOf: 400', async () => {
    assertProblem(await topics(undefined), 400);
    assertProblem(await topics(''), 400);
  });

  test('users with spaces, commas, quotes and letters of any script keep their topics apart', async () => {
    const tail = newNonce();
    const users = [
      `a ${tail}`,
      `a  ${tail}`,
      `"a",${tail}`,
      `Zoë Müller ${tail}`,
      `李${tail}`,
      `a:b:${tail}`,
      `{a}${tail}`,
      `*${tail}`,
      `a\n${tail}`,
    ];
    const owned = [];
    for (const User of users) owned.push((await cluster.add({ User, Query: `of ${User}` })).Topic);
    for (let i = 0; i < users.length; i++) {
      assert.deepEqual(assertOk(await topics(users[i])), { [owned[i]]: `of ${users[i]}` });
    }
    const served = new Set();
    for (let i = 0; i < users.length; i++) {
      const { Topic, Details } = await cluster.claim({ detail: true });
      served.add(Topic);
      assert.equal(Details['1'].User, users[owned.indexOf(Topic)]);
    }
    assert.equal(served.size, users.length);
  });

  test('rename-topic changes what the topic is called', async () => {
    const User = newUser();
    const first = await cluster.add({ User, Query: 'one' });
    const second = await cluster.add({ User, Query: 'two' });
    assert.equal((await rename(User, first.Topic, 'Holidays, "2025" & más')).status, 200);
    const body = assertOk(await topics(User));
    assert.deepEqual(body, { [first.Topic]: 'Holidays, "2025" & más', [second.Topic]: 'two' });
    assert.equal(assertOk(await thread(first.Topic))[0].Query, 'one', 'the query itself stays');
    assert.equal((await rename(User, first.Topic, 'Again')).status, 200);
    assert.equal(assertOk(await topics(User))[first.Topic], 'Again');
  });

  test('rename-topic of a topic that this user does not have: 403', async () => {
    const { Topic } = await cluster.add({ User: newUser() });
    assertProblem(await rename(newUser(), Topic, 'Mine'), 403);
    assertProblem(await rename(newUser(), newTopic(), 'Mine'), 403);
  });

  test('rename-topic with a member missing: 400', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User });
    assertProblem(await rename(undefined, Topic, 'x'), 400);
    assertProblem(await rename(User, undefined, 'x'), 400);
    assertProblem(await rename(User, Topic, undefined), 400);
  });

  test('a user lists, renames and deletes its own', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    const own = { as: 'User_1' };
    assert.ok(Topic in assertOk(await topics('User_1', own)));
    assert.equal((await rename('User_1', Topic, 'Mine', own)).status, 200);
    assertProblem(await remove('User_2', Topic, { as: 'User_2' }), 403);
    assert.deepEqual(assertOk(await remove('User_1', Topic, own)), { status: 'OK' });
    assertProblem(await topics('User_1', own), 404);
  });

  for (const method of ['DELETE', 'DEL']) {
    test(`${method} topic: with the last tie all of its data goes`, async () => {
      const User = newUser();
      const Topic = newTopic();
      await cluster.add({ User, Topic, Query: 'answered' });
      await cluster.claim();
      await cluster.answer({ Topic, Seq: 1, Query: 'answered' });
      await cluster.request('POST', '/api/add-lookup', {
        as: 'Frontend_1',
        body: { Topic, Seq: 1, Fragment: `a fragment of ${Topic}` },
      });
      await cluster.add({ User, Topic, Query: 'claimed' });
      await cluster.claim();
      await cluster.add({ User, Topic, Query: 'open' });
      const response = await cluster.request(method, '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: User, Topic } });
      assert.deepEqual(assertOk(response), { status: 'OK' });
      assertProblem(await topics(User), 404);
      assertProblem(await thread(Topic), 404);
      assertProblem(await cluster.checkRaw({ Topic, Seq: 1 }), 404);
      assertProblem(await cluster.answerRaw({ Topic, Seq: 2, Query: 'claimed' }), 404);
      assert.deepEqual(await cluster.claim(), { Topic: null, Queries: null });
      await eventually(async () => (await cluster.redis.cmd('KEYS', `*${Topic}*`)).length === 0, {
        what: 'no key with the topic in its name',
      });
    });
  }

  test('while another user is tied to it the topic stays', async () => {
    const [one, two] = [newUser(), newUser()];
    const { Topic } = await cluster.add({ User: one, Query: 'of one' });
    await cluster.add({ User: two, Topic, Query: 'of two' });
    assertOk(await remove(one, Topic));
    assertProblem(await topics(one), 404);
    assert.ok(Topic in assertOk(await topics(two)));
    assert.equal(assertOk(await thread(Topic)).length, 2);
    assertOk(await remove(two, Topic));
    assertProblem(await thread(Topic), 404);
  });

  test('deleting what a user does not have: 403, and nothing happens', async () => {
    const { Topic } = await cluster.add({ User: newUser() });
    assertProblem(await remove(newUser(), Topic), 403);
    assertProblem(await remove(newUser(), newTopic()), 403);
    assert.equal(assertOk(await thread(Topic)).length, 1);
  });

  test('deleting twice: 403 the second time', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User });
    assertOk(await remove(User, Topic));
    assertProblem(await remove(User, Topic), 403);
  });

  test('deleting without a Topic or OnBehalfOf: 400', async () => {
    assertProblem(await remove(newUser(), undefined), 400);
    assertProblem(await remove(undefined, newTopic()), 400);
  });

  test('OnBehalfOf, Topic and Description are read from the query or the body, each where it stands', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User });
    const ask = (method, path, query, body) => cluster.request(method, path, { as: 'Frontend_1', query, body });
    const parts = { OnBehalfOf: User, Topic, Description: 'one' };
    for (const member of Object.keys(parts)) {
      const { [member]: value, ...rest } = parts;
      assert.deepEqual(assertOk(await ask('PUT', '/api/rename-topic', rest, { [member]: value })), { status: 'OK' }, member);
      assert.deepEqual(assertOk(await ask('PUT', '/api/rename-topic', { [member]: value }, rest)), { status: 'OK' }, member);
    }
    assert.deepEqual(assertOk(await ask('DELETE', '/api/topic', { OnBehalfOf: User }, { Topic })), { status: 'OK' });
    await cluster.add({ User, Topic });
    assert.deepEqual(assertOk(await ask('DELETE', '/api/topic', { Topic }, { OnBehalfOf: User })), { status: 'OK' });
  });

  test('a name that was deleted starts again at Seq 1', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User, Query: 'old' });
    await cluster.add({ User, Topic, Query: 'old' });
    assertOk(await remove(User, Topic));
    assert.equal((await cluster.add({ User, Topic, Query: 'new' })).Seq, 1);
    assert.deepEqual((await cluster.claim()).Queries, [{ 1: 'new' }]);
  });

  test('an answer to the old life of a name does not land in the new one', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User, Query: 'old words' });
    const { Lease } = await cluster.claim({ detail: true });
    assertOk(await remove(User, Topic));
    await cluster.add({ User, Topic, Query: 'new words' });
    const late = await cluster.answerRaw({ Topic, Seq: 1, Query: 'old words', Answer: ['old'], Lease });
    assertProblem(late, 409);
    assert.equal((await cluster.check({ Topic })).Answer, null);
  });

  test('a waiter for a query of a deleted topic is notified at once', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User });
    const waiter = cluster.checkOpen({ Topic, wait: 30, node: 0 });
    const early = await Promise.race([waiter.response, new Promise((resolve) => setTimeout(resolve, 300, 'held'))]);
    assert.equal(early, 'held');
    const began = Date.now();
    assertOk(await remove(User, Topic, { node: 1 }));
    assertProblem(await waiter.response, 404);
    assert.ok(Date.now() - began < 20_000);
  });
});
