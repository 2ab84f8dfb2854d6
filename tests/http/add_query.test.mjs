// SPDX-License-Identifier: MIT
//
// POST /api/add-query.
import assert from 'node:assert/strict';
import { assertMembers, assertOk, assertProblem, assertZonelessTimestamp, newNonce, newTopic, suite } from '../support/harness.mjs';

suite('add-query', {}, ({ test, cluster }) => {
  const post = (body, options = {}) => cluster.request('POST', '/api/add-query', { as: 'Frontend_1', body, ...options });
  const valid = (more = {}) => ({ Topic: newTopic(), User: 'alice', Query: 'Why?', ...more });
  const thread = async (Topic) =>
    assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } }));

  // Refused, and nothing of it is in the store.
  async function assertNothingStored(body, options) {
    const User = `nobody-${newNonce()}`;
    const keys = (await cluster.redis.cmd('KEYS', '*')).filter((key) => key.includes(User));
    assert.deepEqual(keys, []);
    assertProblem(await post({ ...body, User: body.User === undefined ? User : body.User }, options), 400);
    assertProblem(await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: User } }), 404);
    assert.deepEqual(await cluster.claim(), { Topic: null, Queries: null });
  }

  test('Seq counts 1, 2, 3 in a topic, from whatever node', async () => {
    const Topic = newTopic();
    for (const Seq of [1, 2, 3]) {
      const body = assertOk(await post(valid({ Topic, Query: `Question ${Seq}` })));
      assertMembers(body, ['Topic', 'Seq', 'Timestamp']);
      assert.equal(body.Topic, Topic);
      assert.equal(body.Seq, Seq);
      assertZonelessTimestamp(body.Timestamp);
    }
    assert.deepEqual(
      (await thread(Topic)).map(({ Seq, Query }) => [Seq, Query]),
      [
        [1, 'Question 1'],
        [2, 'Question 2'],
        [3, 'Question 3'],
      ],
    );
  });

  test('topics count for themselves', async () => {
    assert.equal((await cluster.add()).Seq, 1);
    assert.equal((await cluster.add()).Seq, 1);
  });

  test('queries added at once on both nodes get every number once', async () => {
    const Topic = newTopic();
    const added = await Promise.all(Array.from({ length: 20 }, (_, i) => cluster.add({ Topic, Query: `q${i}` })));
    assert.deepEqual(
      added.map(({ Seq }) => Seq).sort((a, b) => a - b),
      Array.from({ length: 20 }, (_, i) => i + 1),
    );
    for (const { Seq, Query } of await thread(Topic)) {
      assert.equal(added[Number(Query.slice(1))].Seq, Seq, 'the returned number is the stored number');
    }
  });

  test('what a query says comes back as it was', async () => {
    const Query = ' \t"quotes", \\ backslash, \r\n lines, ünïcödé, 你好, 🦜, </script>, %s%n, \u007f ';
    const { Topic } = await cluster.add({ Query });
    assert.equal((await cluster.check({ Topic })).Query, Query);
    assert.deepEqual((await cluster.claim()).Queries, [{ 1: Query }]);
  });

  test('a user adds for itself', async () => {
    assertOk(await cluster.addRaw({ as: 'User_1' }));
  });

  test('a second user may join a topic through a frontend', async () => {
    const { Topic } = await cluster.add({ User: 'alice' });
    assert.equal((await cluster.add({ Topic, User: 'bob' })).Seq, 2);
    for (const OnBehalfOf of ['alice', 'bob']) {
      assert.ok(Topic in assertOk(await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf } })));
    }
  });

  test('Modifiers and Model reach the engine, and their defaults are {} and "default"', async () => {
    const Modifiers = { Tone: 'dry', Nested: { list: [1, 2.5, null, true, 'x'] } };
    const { Topic } = await cluster.add({ Modifiers, Model: 'llama3:8b' });
    await cluster.add({ Topic });
    const { Details } = await cluster.claim({ detail: true });
    assert.deepEqual(Details['1'].Modifiers, Modifiers);
    assert.equal(Details['1'].Model, 'llama3:8b');
    assert.deepEqual(Details['2'].Modifiers, {});
    assert.equal(Details['2'].Model, 'default');
  });

  test('null for an optional member is the same as leaving it out', async () => {
    assertOk(await post(valid({ Modifiers: null, Model: null })));
    const { Details } = await cluster.claim({ detail: true });
    assert.deepEqual(Details['1'].Modifiers, {});
    assert.equal(Details['1'].Model, 'default');
  });

  test('Modifiers of 64 KiB as compact JSON are taken, however they are written, and one byte more is refused', async () => {
    const filled = (bytes) => ({ a: 'x'.repeat(bytes - '{"a":"","b":[1,2]}'.length), b: [1, 2] });
    const Modifiers = filled(65_536);
    assert.equal(JSON.stringify(Modifiers).length, 65_536);
    for (const indent of [0, 9]) {
      assertOk(await post(JSON.stringify(valid({ Modifiers }), null, indent)));
      assert.deepEqual((await cluster.claim({ detail: true })).Details['1'].Modifiers, Modifiers);
    }
    const { detail } = assertProblem(await post(valid({ Modifiers: filled(65_537) })), 400, 'bad_request');
    assert.match(detail, /64 KiB as compact JSON/);
  });

  test('a required member that is missing, empty or of a wrong type: 400 and nothing stored', async () => {
    for (const member of ['Topic', 'Query']) {
      for (const bad of [undefined, null, '', 7, true, [], {}, ['x']])
        await assertNothingStored(valid({ User: undefined, [member]: bad }));
    }
    for (const bad of [null, '', 7, true, [], {}]) await assertNothingStored(valid({ User: bad }));
    assertProblem(await post({ Topic: newTopic(), Query: 'Why?' }), 400);
  });

  test('an optional member of a wrong type: 400', async () => {
    for (const bad of ['x', 7, true, [], [{}]]) await assertNothingStored(valid({ User: undefined, Modifiers: bad }));
    for (const bad of [7, true, [], {}]) await assertNothingStored(valid({ User: undefined, Model: bad }));
  });

  test('a Topic has 1 to 128 bytes', async () => {
    const random = newNonce();
    assertOk(await post(valid({ Topic: random.padEnd(128, 'x') })));
    assertOk(await post(valid({ Topic: random.padEnd(76, 'é') })));
    assertProblem(await post(valid({ Topic: random.padEnd(129, 'x') })), 400);
    assertProblem(await post(valid({ Topic: random.padEnd(77, 'é') })), 400);
  });

  test('a Topic never holds white space or control characters', async () => {
    for (const bad of ['a b', ' a', 'a ', 'a\tb', 'a\nb', 'a\r\nb', 'a\u0000b'])
      await assertNothingStored(valid({ User: undefined, Topic: bad }));
  });

  test('a Query has 1 byte to 256 KiB', async () => {
    const { Topic } = await cluster.add({ Query: '?' });
    const most = 'é'.repeat(128 * 1024);
    await cluster.add({ Topic, Query: most });
    assert.equal((await cluster.check({ Topic, Seq: 2 })).Query, most);
    assertProblem(await post(valid({ Query: `${most}x` })), 400);
    assert.equal((await thread(Topic)).length, 2);
  });

  test('a NUL character in any text is refused', async () => {
    await assertNothingStored(valid({ User: undefined, Query: 'a\u0000b' }));
    await assertNothingStored(valid({ User: 'al\u0000ice' }));
    await assertNothingStored(valid({ User: undefined, Model: 'a\u0000b' }));
  });

  test('members that we do not know are ignored, as are such parameters', async () => {
    assertOk(await post(valid({ Colour: 'blue', Seq: 77 }), { query: { Colour: 'blue' } }));
  });

  test('the same Idempotency-Key and body: the same answer, one query', async () => {
    const body = valid();
    const options = { headers: { 'Idempotency-Key': `key-${newNonce()}` } };
    const first = assertOk(await post(body, { ...options, node: 0 }));
    const second = assertOk(await post(body, { ...options, node: 1 }));
    assert.deepEqual(second, first);
    assert.equal((await thread(body.Topic)).length, 1);
  });

  test('the same Idempotency-Key many times at once: one query', async () => {
    const body = valid();
    const options = { headers: { 'Idempotency-Key': `key-${newNonce()}` } };
    const all = await Promise.all(Array.from({ length: 6 }, () => post(body, options)));
    for (const response of all) assert.deepEqual(assertOk(response), all[0].json);
    assert.equal((await thread(body.Topic)).length, 1);
  });

  test('the same Idempotency-Key with another body: 422', async () => {
    const body = valid();
    const options = { headers: { 'Idempotency-Key': `key-${newNonce()}` } };
    assertOk(await post(body, options));
    assertProblem(await post({ ...body, Query: 'Why not?' }, options), 422, 'idempotency_mismatch');
    assertProblem(await post({ ...body, Topic: newTopic() }, options), 422, 'idempotency_mismatch');
    assert.equal((await thread(body.Topic)).length, 1);
  });

  test('an Idempotency-Key belongs to its account', async () => {
    const options = { headers: { 'Idempotency-Key': `key-${newNonce()}` } };
    assertOk(await post(valid(), options));
    assertOk(await post(valid(), { ...options, as: 'Frontend_heavy' }));
  });

  test('a request that was refused does not use its Idempotency-Key up', async () => {
    const body = valid();
    const options = { headers: { 'Idempotency-Key': `key-${newNonce()}` } };
    assertProblem(await post({ ...body, Query: '' }, options), 400);
    assertOk(await post(body, options));
  });
});
