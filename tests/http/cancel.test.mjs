// SPDX-License-Identifier: MIT
//
// POST /api/cancel-query.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, newTopic, suite } from '../support/harness.mjs';

suite('cancel-query', {}, ({ test, cluster }) => {
  const cancel = (Topic, Seq, options = {}) =>
    cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq }, ...options });

  test('an Open query that is cancelled is never claimed', async () => {
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'one' });
    await cluster.add({ Topic, Query: 'two' });
    assert.deepEqual(assertOk(await cancel(Topic, 1)), { Status: 'Cancelled' });
    assert.deepEqual(await cluster.claim(), { Topic, Queries: [{ 2: 'two' }] });
  });

  test('a topic whose queries are all cancelled is not claimed', async () => {
    const { Topic } = await cluster.add();
    assertOk(await cancel(Topic, 1));
    assert.deepEqual(await cluster.claim(), { Topic: null, Queries: null });
  });

  test('cancelling is repeatable, on any node', async () => {
    const { Topic } = await cluster.add();
    for (const node of [0, 1, 0]) assert.deepEqual(assertOk(await cancel(Topic, 1, { node })), { Status: 'Cancelled' });
  });

  test('the answer to a claimed query that was cancelled: 409 cancelled', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    assertOk(await cancel(Topic, 1));
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1 }), 409, 'cancelled');
    assert.equal((await cluster.check({ Topic })).Answer, null);
  });

  test('what is Done cannot be cancelled: 409, and its answer stays', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1 });
    assertProblem(await cancel(Topic, 1), 409, 'already_done');
    assert.deepEqual((await cluster.check({ Topic })).Answer, ['42']);
  });

  test('an unknown topic or Seq: 404', async () => {
    const { Topic } = await cluster.add();
    assertProblem(await cancel(newTopic(), 1), 404, 'not_found');
    assertProblem(await cancel(Topic, 2), 404, 'not_found');
  });

  test('a Topic or Seq that is missing or of a wrong type: 400', async () => {
    const { Topic } = await cluster.add();
    for (const bad of [undefined, null, 'one', 1.5, -1, true, [], {}]) assertProblem(await cancel(Topic, bad), 400);
    for (const bad of [undefined, null, '', 7, [], {}]) assertProblem(await cancel(bad, 1), 400);
    assert.deepEqual((await cluster.claim()).Queries, [{ 1: 'What is the meaning of life?' }]);
  });

  test('a user cancels only its own queries', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    assertProblem(await cancel(Topic, 1, { as: 'User_2' }), 404, 'not_found');
    assertOk(await cancel(Topic, 1, { as: 'User_1' }));
  });

  test('cancel and answer at once: one of them wins and the row says which', async () => {
    for (let round = 0; round < 10; round++) {
      const { Topic } = await cluster.add();
      await cluster.claim();
      const [cancelled, answered] = await Promise.all([
        cancel(Topic, 1, { node: 0 }),
        cluster.answerRaw({ Topic, Seq: 1, node: 1 }),
      ]);
      const { Status } = await cluster.check({ Topic, detail: true });
      if (Status === 'Done') {
        assert.equal(answered.status, 200);
        assertProblem(cancelled, 409, 'already_done');
      } else {
        assert.equal(Status, 'Cancelled');
        assert.equal(cancelled.status, 200);
        assertProblem(answered, 409, 'cancelled');
      }
    }
  });
});
