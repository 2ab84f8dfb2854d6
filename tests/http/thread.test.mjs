// SPDX-License-Identifier: MIT
//
// GET /api/get-topic-thread.
import assert from 'node:assert/strict';
import { assertMembers, assertOk, assertProblem, assertTimestamp, newTopic, suite } from '../support/harness.mjs';

const PLAIN = ['Query', 'Topic', 'Seq', 'Answer', 'Think'];

suite('get-topic-thread', {}, ({ test, cluster }) => {
  const get = (query, options = {}) => cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query, ...options });

  test('a thread is the queries of a topic in ascending Seq, nulls where there is no answer yet', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two', 'three']) await cluster.add({ Topic, Query });
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 2, Query: 'two', Think: ['hm'], Answer: ['2', 'zwei'] });
    for (const node of [0, 1]) {
      assert.deepEqual(assertOk(await get({ Topic }, { node })), [
        { Query: 'one', Topic, Seq: 1, Answer: null, Think: null },
        { Query: 'two', Topic, Seq: 2, Answer: ['2', 'zwei'], Think: ['hm'] },
        { Query: 'three', Topic, Seq: 3, Answer: null, Think: null },
      ]);
    }
  });

  test('the order is by number, not by letter', async () => {
    const Topic = newTopic();
    for (let i = 1; i <= 12; i++) await cluster.add({ Topic, Query: `q${i}` });
    assert.deepEqual(
      assertOk(await get({ Topic })).map(({ Seq }) => Seq),
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    );
  });

  test('a thread is given at once, though nothing is answered', async () => {
    const { Topic } = await cluster.add();
    const began = Date.now();
    assertOk(await get({ Topic, Wait: 30 }));
    assert.ok(Date.now() - began < 20_000);
  });

  test('Detail adds Status, Timestamp and Model', async () => {
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'one', Model: 'default' });
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1, Query: 'one' });
    await cluster.add({ Topic, Query: 'two' });
    await cluster.claim();
    await cluster.add({ Topic, Query: 'three' });
    const rows = assertOk(await get({ Topic, Detail: 'true' }));
    assert.deepEqual(
      rows.map(({ Status }) => Status),
      ['Done', 'Pending', 'Open'],
    );
    for (const row of rows) {
      assertMembers(row, [...PLAIN, 'Status', 'Timestamp', 'Model']);
      assertTimestamp(row.Timestamp);
      assert.equal(row.Model, 'default');
    }
  });

  test('a thread shows that a query was cancelled', async () => {
    const { Topic } = await cluster.add();
    await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq: 1 } });
    const [row] = assertOk(await get({ Topic, Detail: 'true' }));
    assert.equal(row.Status, 'Cancelled');
    assert.equal(row.Answer, null);
  });

  test('a long thread comes whole', async () => {
    const Topic = newTopic();
    const Query = 'x'.repeat(100_000);
    for (let i = 0; i < 20; i++) await cluster.add({ Topic, Query });
    const rows = assertOk(await get({ Topic }));
    assert.equal(rows.length, 20);
    assert.ok(rows.every((row) => row.Query === Query));
  });

  test('an unknown topic: 404, a missing one: 400', async () => {
    assertProblem(await get({ Topic: newTopic() }), 404, 'not_found');
    assertProblem(await get({}), 400);
    assertProblem(await get({ Topic: '' }), 400);
  });

  test('a user reads its own threads', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    assert.equal(assertOk(await get({ Topic }, { as: 'User_1' })).length, 1);
    assertProblem(await get({ Topic }, { as: 'User_2' }), 404, 'not_found');
  });
});
