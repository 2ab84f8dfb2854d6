// SPDX-License-Identifier: MIT
//
// Modifiers.Replaces: a question takes the place of an earlier one in threads and in the History of claims.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, newNonce, newTopic, suite } from '../support/harness.mjs';
import { unzip } from '../support/zip.mjs';

suite('Replaces', {}, ({ test, cluster }) => {
  const add = (Topic, Query, Replaces, more = {}) => cluster.add({ Topic, Query, ...(Replaces ? { Modifiers: { Replaces } } : {}), ...more });
  const threadOf = async (Topic, more = {}) => assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic, ...more } }));
  const shown = async (Topic, more) => (await threadOf(Topic, more)).map(({ Seq }) => Seq);
  const answerAll = async (Topic) => {
    const { Queries } = await cluster.claim();
    for (const [Seq, Query] of Queries.flatMap(Object.entries)) await cluster.answer({ Topic, Seq: Number(Seq), Query, Answer: [`to ${Query}`] });
  };
  const cancel = (Topic, Seq) => cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq } });

  test('the newest of a chain is where the first question was, and both are still answered for', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two', 'three']) await add(Topic, Query);
    await answerAll(Topic);
    assert.equal((await add(Topic, 'two, again', 2)).Seq, 4);
    assert.deepEqual(await shown(Topic), [1, 4, 3]);
    await add(Topic, 'five');
    await add(Topic, 'two, for the third time', 4);
    assert.deepEqual(await shown(Topic), [1, 6, 3, 5]);
    const [, row] = await threadOf(Topic, { Detail: 'true' });
    assert.deepEqual([row.Query, row.Replaces, row.Status, row.Answer], ['two, for the third time', 4, 'Open', null]);
    assert.deepEqual((await cluster.check({ Topic, Seq: 2 })).Answer, ['to two']);
    assert.equal((await cluster.check({ Topic, Seq: 4, detail: true })).Replaces, 2);
    assert.ok(!('Replaces' in (await cluster.check({ Topic, Seq: 6 }))));
    await answerAll(Topic);
    assert.deepEqual((await threadOf(Topic)).map(({ Answer }) => Answer[0]), ['to one', 'to two, for the third time', 'to three', 'to five']);
  });

  test('a question that is replaced twice shows the latest', async () => {
    const Topic = newTopic();
    await add(Topic, 'one');
    await add(Topic, 'from one tab', 1);
    await add(Topic, 'from another tab', 1);
    assert.deepEqual(await shown(Topic), [3]);
    await add(Topic, 'from the first tab', 2);
    assert.deepEqual(await shown(Topic), [4]);
    await answerAll(Topic);
  });

  test('pages skip what was replaced, and lose and double nothing', async () => {
    const Topic = newTopic();
    for (let i = 1; i <= 6; i++) await add(Topic, `q${i}`);
    for (const seq of [1, 6, 3, 7, 8]) await add(Topic, `again ${seq}`, seq);
    const whole = [10, 2, 9, 4, 5, 11];
    const expected = { 10: 7, 11: 8 };
    assert.deepEqual(await shown(Topic), whole);
    for (const [seq, of] of Object.entries(expected)) assert.equal((await cluster.check({ Topic, Seq: Number(seq), detail: true })).Replaces, of);
    for (const limit of [1, 2, 4]) {
      const got = [];
      for (let after = 0; after !== null;) {
        const response = await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic, limit, after } });
        const rows = assertOk(response);
        assert.ok(rows.length <= limit);
        got.push(...rows.map(({ Seq }) => Seq));
        after = /[?&]after=(\d+)/.exec(response.headers.link ?? '')?.[1] ?? null;
      }
      assert.deepEqual(got, whole);
    }
    await answerAll(Topic);
  });

  test('History has what comes before its place, without what was replaced', async () => {
    const Topic = newTopic();
    const history = async () => {
      const claim = await cluster.claim({ history: true });
      const [[Seq, Query]] = claim.Queries.flatMap(Object.entries);
      await cluster.answer({ Topic, Seq: Number(Seq), Query, Answer: [`to ${Query}`] });
      return claim.History.map((one) => [one.Seq, one.Answer[0]]);
    };
    await add(Topic, 'one');
    assert.deepEqual(await history(), []);
    await add(Topic, 'two');
    assert.deepEqual(await history(), [[1, 'to one']]);
    await add(Topic, 'three');
    assert.deepEqual(await history(), [[1, 'to one'], [2, 'to two']]);
    await add(Topic, 'two, again', 2);
    assert.deepEqual(await history(), [[1, 'to one']]);
    await add(Topic, 'two, once more', 4);
    assert.deepEqual(await history(), [[1, 'to one']]);
    await add(Topic, 'six');
    assert.deepEqual(await history(), [[1, 'to one'], [5, 'to two, once more'], [3, 'to three']]);
  });

  test('a question that waits, is under way or was cancelled is replaced, and keeps its state', async () => {
    const Topic = newTopic();
    await add(Topic, 'under way');
    const claim = await cluster.claim({ detail: true });
    await add(Topic, 'waits');
    await add(Topic, 'cancelled');
    assertOk(await cancel(Topic, 3));
    for (const seq of [1, 2, 3]) await add(Topic, `again ${seq}`, seq);
    assert.deepEqual(await shown(Topic), [4, 5, 6]);
    await cluster.answer({ Topic, Seq: 1, Query: 'under way', Lease: claim.Lease });
    assert.deepEqual((await cluster.claim()).Queries.flatMap(Object.keys), ['2', '4', '5', '6']);
    assert.deepEqual(await Promise.all([1, 2, 3].map(async (Seq) => (await cluster.check({ Topic, Seq, detail: true })).Status)), ['Done', 'Pending', 'Cancelled']);
    for (const Seq of [2, 4, 5, 6]) await cancel(Topic, Seq);
    assert.deepEqual(await shown(Topic), [4, 5, 6]);
  });

  test('what is no Seq gets 400, what the user has not asked there 404, and nothing is stored', async () => {
    const Topic = newTopic();
    await add(Topic, 'of alice');
    await add(Topic, 'of bob', undefined, { User: 'bob' });
    const tryIt = (Replaces, more) => cluster.addRaw({ Topic, Query: 'again', Modifiers: { Replaces }, ...more });
    for (const bad of [0, -1, 1.5, '1', true, [1], {}, 2 ** 31, 1e300]) assertProblem(await tryIt(bad), 400);
    for (const unknown of [3, 4, 2 ** 31 - 1]) assertProblem(await tryIt(unknown), 404);
    assertProblem(await tryIt(2), 404);
    assertProblem(await tryIt(1, { User: 'bob' }), 404);
    assertProblem(await tryIt(1, { Topic: newTopic() }), 404);
    assertProblem(await tryIt(9, { query: { Wait: 30 } }), 404);
    assertProblem(await tryIt(9, { query: { Wait: 30 }, headers: { accept: 'text/event-stream' } }), 404);
    const own = newTopic();
    await cluster.add({ as: 'User_1', Topic: own });
    assertProblem(await tryIt(1, { as: 'User_2', Topic: own }), 404);
    assert.deepEqual(await shown(Topic), [1, 2]);
    assert.deepEqual(await shown(own), [1]);
    assert.equal((await cluster.addRaw({ Topic, Query: 'null is none', Modifiers: { Replaces: null, Tone: 'short' } })).status, 200);
    assert.deepEqual(await shown(Topic), [1, 2, 3]);
    for (const [of, n] of [[Topic, 3], [own, 1]]) for (let Seq = 1; Seq <= n; Seq++) await cancel(of, Seq);
  });

  test('sent again with its Idempotency-Key it replaces once', async () => {
    const Topic = newTopic();
    await add(Topic, 'one');
    const headers = { 'idempotency-key': newNonce() };
    const first = await add(Topic, 'again', 1, { headers });
    assert.deepEqual(await add(Topic, 'again', 1, { headers }), first);
    assert.deepEqual(await shown(Topic), [2]);
    for (const Seq of [1, 2]) await cancel(Topic, Seq);
  });

  test('an export has the replaced questions too, and a deletion leaves none of them', async () => {
    const [Topic, User] = [newTopic(), `user-${newNonce()}`];
    await add(Topic, 'mine', undefined, { User });
    await add(Topic, 'of bob', undefined, { User: 'bob' });
    await add(Topic, 'mine, again', 1, { User });
    const path = `/api/users/${User}`;
    const zip = await cluster.request('GET', `${path}/export`, { as: 'Frontend_1' });
    const [{ Queries }] = JSON.parse(unzip(zip.body).get('topics.json').toString());
    assert.deepEqual(Queries.map(({ Seq, Query, Modifiers }) => [Seq, Query, Modifiers]), [[1, 'mine', {}], [3, 'mine, again', { Replaces: 1 }]]);
    while (!assertOk(await cluster.request('DELETE', path, { as: 'Frontend_1' }), 202).Done);
    const rows = await threadOf(Topic, { Detail: 'true' });
    assert.deepEqual(rows.map(({ Seq, Query }) => [Seq, Query]), [[3, ''], [2, 'of bob']]);
    assert.ok(!('Replaces' in rows[0]));
    await cancel(Topic, 2);
  });
});
