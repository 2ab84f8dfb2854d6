// SPDX-License-Identifier: MIT
//
// POST /api/give-new-answer, with and without Next.
import assert from 'node:assert/strict';
import { assertMembers, assertOk, assertProblem, assertTimestamp, eventually, newTopic, suite } from '../support/harness.mjs';

const EMPTY = { Topic: null, Queries: null };

suite('give-new-answer', { args: ['--model-fallback-seconds', '0'] }, ({ test, cluster }) => {
  async function claimed(Query = 'Why?', options = {}) {
    const { Topic } = await cluster.add({ Query });
    const { Lease } = await cluster.claim({ detail: true, ...options });
    return { Topic, Seq: 1, Query, Lease };
  }

  test('an answer makes the row Done', async () => {
    const row = await claimed();
    const body = await cluster.answer({ ...row, Lease: undefined, Think: ['hm'], Answer: ['because'] });
    assertMembers(body, ['Topic', 'Seq', 'Status', 'Timestamp']);
    assert.deepEqual([body.Topic, body.Seq, body.Status], [row.Topic, 1, 'Done']);
    assertTimestamp(body.Timestamp);
    assert.deepEqual(await cluster.check({ Topic: row.Topic }), {
      Query: 'Why?',
      Topic: row.Topic,
      Seq: 1,
      Answer: ['because'],
      Think: ['hm'],
    });
  });

  test('an answer with its Lease is taken', async () => {
    assert.equal((await cluster.answer(await claimed())).Status, 'Done');
  });

  test('Think may be null, absent, or an empty list', async () => {
    for (const Think of [null, undefined, []]) {
      assert.equal((await cluster.answer({ ...(await claimed()), Think })).Status, 'Done');
    }
  });

  test('FinishReason and Usage come back with Detail and at the end of streams, and not without', async () => {
    const row = await claimed();
    const Usage = { prompt_tokens: 5, completion_tokens: 7 };
    await cluster.answer({ ...row, FinishReason: 'length "x"', Usage: { ...Usage, total_tokens: 12, details: { cached: [1] } } });
    const { Topic } = row;
    const facts = { FinishReason: 'length "x"', Usage };
    const detailed = await cluster.check({ Topic, detail: true });
    assert.deepEqual({ FinishReason: detailed.FinishReason, Usage: detailed.Usage }, facts);
    const [listed] = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic, Detail: true } }));
    assert.deepEqual({ FinishReason: listed.FinishReason, Usage: listed.Usage }, facts);
    const plain = await cluster.check({ Topic });
    assertMembers(plain, ['Query', 'Topic', 'Seq', 'Answer', 'Think']);
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 } });
    assert.deepEqual((await stream.until('done')).at(-1).data, { ...plain, ...facts });
    stream.abort();
  });

  test('either of them may be missing or null, and an answer sent again may differ in them', async () => {
    for (const [given, shown] of [[{ FinishReason: 'stop', Usage: null }, { FinishReason: 'stop' }], [{ FinishReason: null, Usage: { prompt_tokens: 0, completion_tokens: 0 } }, { Usage: { prompt_tokens: 0, completion_tokens: 0 } }], [{}, {}]]) {
      const row = await claimed();
      await cluster.answer({ ...row, ...given });
      assert.equal((await cluster.answer({ ...row, FinishReason: 'other' })).Status, 'Done');
      const { FinishReason, Usage } = await cluster.check({ Topic: row.Topic, detail: true });
      assert.deepEqual([FinishReason, Usage], [shown.FinishReason, shown.Usage]);
    }
  });

  test('texts come back as they were sent', async () => {
    const row = await claimed();
    const texts = ['"q" \\ \u0001 \r\n\t', 'ünï你好🦜', '', '</x>', 'x'.repeat(200_000)];
    await cluster.answer({ ...row, Think: texts, Answer: texts });
    const body = await cluster.check({ Topic: row.Topic });
    assert.deepEqual(body.Answer, texts);
    assert.deepEqual(body.Think, texts);
  });

  test('an Answer of any other kind: 400, and the row stays claimed', async () => {
    const row = await claimed();
    for (const Answer of [undefined, null, [], {}, 7, true, [7], ['a', null], ['a', ['b']]]) {
      const response = await cluster.request('POST', '/api/give-new-answer', {
        as: 'Inference_1',
        body: { Query: row.Query, Topic: row.Topic, Seq: 1, Think: [], Answer },
      });
      assertProblem(response, 400);
    }
    for (const Think of [7, {}, [7], ['a', null], true]) assertProblem(await cluster.answerRaw({ ...row, Think }), 400);
    assert.equal((await cluster.check({ Topic: row.Topic, detail: true })).Status, 'Pending');
    assert.equal((await cluster.answer(row)).Status, 'Done');
  });

  test('a Topic, Seq or Query that is missing or of a wrong type: 400', async () => {
    const row = await claimed();
    for (const Topic of [undefined, null, '', 7, []]) assertProblem(await cluster.answerRaw({ ...row, Topic }), 400);
    for (const Seq of [undefined, null, 'one', 1.5, -1, [], {}]) assertProblem(await cluster.answerRaw({ ...row, Seq }), 400);
    for (const Query of [null, 7, [], {}]) assertProblem(await cluster.answerRaw({ ...row, Query }), 400);
  });

  test('the identical answer again: 200, from whatever node', async () => {
    const row = await claimed();
    const first = await cluster.answer({ ...row, Think: ['hm'], Answer: ['because'] });
    for (const node of [0, 1]) {
      const again = await cluster.answer({ ...row, Think: ['hm'], Answer: ['because'], node });
      assert.deepEqual([again.Topic, again.Seq, again.Status], [first.Topic, first.Seq, 'Done']);
    }
  });

  test('another answer to what is Done: 409 already_done, and the first one stays', async () => {
    const row = await claimed();
    await cluster.answer({ ...row, Answer: ['first'] });
    assertProblem(await cluster.answerRaw({ ...row, Answer: ['second'] }), 409, 'already_done');
    assertProblem(
      await cluster.answerRaw({ ...row, as: 'Inference_2', Lease: undefined, Answer: ['third'] }),
      409,
      'already_done',
    );
    assert.deepEqual((await cluster.check({ Topic: row.Topic })).Answer, ['first']);
  });

  test('two different answers at once: one is taken, the other refused', async () => {
    for (let round = 0; round < 10; round++) {
      const row = await claimed();
      const both = await Promise.all(
        ['left', 'right'].map((Answer, node) => cluster.answerRaw({ ...row, Answer: [Answer], node })),
      );
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
      const winner = both[0].status === 200 ? 'left' : 'right';
      assert.deepEqual((await cluster.check({ Topic: row.Topic })).Answer, [winner]);
    }
  });

  test('an unknown topic: 404', async () => {
    assertProblem(await cluster.answerRaw({ Topic: newTopic(), Seq: 1 }), 404, 'not_found');
  });

  test('queries of one claim are answered in any order', async () => {
    const Topic = newTopic();
    for (const Query of ['one', 'two', 'three']) await cluster.add({ Topic, Query });
    await cluster.claim();
    for (const [Seq, Query] of [
      [3, 'three'],
      [1, 'one'],
      [2, 'two'],
    ])
      await cluster.answer({ Topic, Seq, Query, Answer: [Query] });
    for (const [Seq, Query] of [
      [1, 'one'],
      [2, 'two'],
      [3, 'three'],
    ])
      assert.deepEqual((await cluster.check({ Topic, Seq })).Answer, [Query]);
  });

  test('a Seq that is off: the row this engine holds with that very text is meant', async () => {
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'before' });
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1, Query: 'before' });
    await cluster.add({ Topic, Query: 'two' });
    await cluster.add({ Topic, Query: 'three' });
    await cluster.claim();
    const body = await cluster.answer({ Topic, Seq: 1, Query: 'three', Answer: ['to three'] });
    assert.equal(body.Seq, 3, 'the answer names the row that was meant');
    assert.deepEqual((await cluster.check({ Topic, Seq: 3 })).Answer, ['to three']);
    assert.deepEqual((await cluster.check({ Topic, Seq: 1 })).Answer, ['42']);
    assert.equal((await cluster.check({ Topic, Seq: 2 })).Answer, null);
    assert.equal((await cluster.answer({ Topic, Seq: 99, Query: 'two', Answer: ['to two'] })).Seq, 2);
  });

  test('the identical answer again, its Seq off both times: 200, from whatever node', async () => {
    const row = await claimed('Once?');
    for (let i = 0; i < 3; i++) {
      const body = await cluster.answer({ ...row, Seq: 7, Answer: ['once'] });
      assert.equal(body.Seq, 1);
      assert.equal(body.Status, 'Done');
    }
  });

  test('a text that no row held by this engine has: 409 query_mismatch', async () => {
    const row = await claimed('Why?');
    assertProblem(await cluster.answerRaw({ ...row, Query: 'Why not?' }), 409, 'query_mismatch');
    assertProblem(await cluster.answerRaw({ ...row, Query: 'Why' }), 409, 'query_mismatch');
    assert.equal((await cluster.check({ Topic: row.Topic })).Answer, null);
  });

  test('a text of a row that another engine holds is not meant', async () => {
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'one' });
    await cluster.claim({ as: 'Inference_1' });
    await cluster.add({ Topic, Query: 'two' });
    await cluster.claim({ as: 'Inference_2' });
    assertProblem(await cluster.answerRaw({ as: 'Inference_1', Topic, Seq: 1, Query: 'two' }), 409, 'query_mismatch');
    assert.equal((await cluster.check({ Topic, Seq: 2 })).Answer, null);
  });

  test('the answer of an engine that does not hold the query, while another does: 409 lease_lost', async () => {
    const row = await claimed();
    assertProblem(await cluster.answerRaw({ ...row, as: 'Inference_2', Lease: undefined }), 409, 'lease_lost');
    assert.equal((await cluster.answer(row)).Status, 'Done');
  });

  test('with Next the answer carries the next claim', async () => {
    const row = await claimed('one');
    const next = await cluster.add({ Query: 'two' });
    const body = await cluster.answer({ ...row, next: true });
    assertMembers(body, ['Topic', 'Seq', 'Status', 'Timestamp', 'Next']);
    assert.deepEqual(body.Next, { Topic: next.Topic, Queries: [{ 1: 'two' }] });
    assert.equal((await cluster.check({ Topic: next.Topic, detail: true })).Status, 'Pending');
    assert.deepEqual(await cluster.claim({ as: 'Inference_2' }), EMPTY);
    assert.deepEqual((await cluster.answer({ Topic: next.Topic, Seq: 1, Query: 'two', next: true })).Next, EMPTY);
  });

  test('with Next and Detail the next claim carries its lease', async () => {
    const row = await claimed('one');
    const { Topic } = await cluster.add({ Query: 'two' });
    const { Next } = await cluster.answer({ ...row, next: true, query: { Detail: 'true' } });
    assertMembers(Next, ['Topic', 'Queries', 'Lease', 'LeaseSeconds', 'Attempt', 'Details']);
    assert.equal(Next.Topic, Topic);
    assert.equal((await cluster.answer({ Topic, Seq: 1, Query: 'two', Lease: Next.Lease })).Status, 'Done');
  });

  test('with Next and History the next claim carries what was asked before it', async () => {
    const row = await claimed('one');
    await cluster.add({ Topic: row.Topic, Query: 'and then?' });
    const { Next } = await cluster.answer({ ...row, Answer: ['first'], next: true, query: { History: 'true' } });
    assert.deepEqual(Next, { Topic: row.Topic, Queries: [{ 2: 'and then?' }], History: [{ Seq: 1, Query: 'one', Answer: ['first'] }] });
    const other = await cluster.add({ Query: 'two' });
    const last = await cluster.answer({ Topic: row.Topic, Seq: 2, Query: 'and then?', next: true, query: { History: 'true' } });
    assert.deepEqual(last.Next, { Topic: other.Topic, Queries: [{ 1: 'two' }], History: [] });
    assert.deepEqual((await cluster.answer({ Topic: other.Topic, Seq: 1, Query: 'two', next: true, query: { History: 'true' } })).Next, EMPTY);
  });

  test('with Next and Models the next claim is one that this engine can serve', async () => {
    const row = await claimed('one');
    const other = await cluster.add({ Model: 'somebody-elses', Query: 'two' });
    assert.deepEqual((await cluster.answer({ ...row, next: true, query: { Models: 'mine' } })).Next, EMPTY);
    assert.equal((await cluster.claim()).Topic, other.Topic);
  });

  test('with Next on either node every topic is served once', async () => {
    const added = [];
    for (let i = 0; i < 20; i++) added.push((await cluster.add({ Query: 'q' })).Topic);
    const served = [];
    let { Topic } = await cluster.claim();
    while (Topic !== null) {
      served.push(Topic);
      ({ Topic } = (await cluster.answer({ Topic, Seq: 1, Query: 'q', next: true })).Next);
    }
    assert.deepEqual(served.sort(), added.sort());
  });
});

// With Wait the response is held until there is work.
suite('give-new-answer with Next and Wait', {}, ({ test, cluster }) => {
  async function claimed(Query = 'Why?', options = {}) {
    const { Topic } = await cluster.add({ Query });
    const { Lease } = await cluster.claim({ detail: true, ...options });
    return { Topic, Seq: 1, Query, Lease };
  }
  const waiting = (row, { wait = 60, query, ...options } = {}) => cluster.answer({ ...row, next: true, query: { Wait: wait, ...query }, timeout: 90_000, ...options });
  const isDone = (row) => eventually(async () => (await cluster.check({ Topic: row.Topic, detail: true })).Status === 'Done', { what: 'the answer is stored' });
  const parked = async () => {
    const texts = await Promise.all([0, 1].map(async (node) => (await cluster.request('GET', '/metrics', { node })).text));
    return texts.reduce((n, text) => n + Number(/^parley_polls_parked (\d+)/m.exec(text)[1]), 0);
  };
  const areParked = (n) => eventually(async () => (await parked()) === n, { what: `${n} polls are parked` });

  test('what waits already comes at once', async () => {
    const row = await claimed('one');
    const { Topic } = await cluster.add({ Query: 'two' });
    assert.deepEqual((await waiting(row)).Next, { Topic, Queries: [{ 1: 'two' }] });
    await cluster.answer({ Topic, Seq: 1, Query: 'two' });
  });

  test('the answer is stored and seen while its response waits for work, which may come by the other node', async () => {
    const row = await claimed('one', { node: 0 });
    const response = waiting(row, { node: 0 });
    await isDone(row);
    await areParked(1);
    const { Topic } = await cluster.add({ Query: 'two', node: 1 });
    const body = await response;
    assert.deepEqual([body.Topic, body.Status, body.Next], [row.Topic, 'Done', { Topic, Queries: [{ 1: 'two' }] }]);
    assert.deepEqual(await cluster.claim({ as: 'Inference_2' }), EMPTY);
    await cluster.answer({ Topic, Seq: 1, Query: 'two' });
  });

  test('when the time is up Next is empty', async () => {
    const body = await waiting(await claimed(), { wait: 1 });
    assert.deepEqual([body.Status, body.Next], ['Done', EMPTY]);
    assert.equal(await parked(), 0);
  });

  test('an answer that is refused is answered at once, and takes nothing', async () => {
    const row = await claimed('one');
    const { Topic } = await cluster.add({ Query: 'two' });
    for (const as of ['Inference_2', 'Inference_1']) {
      const response = await cluster.answerRaw({ ...row, as, Lease: '999', next: true, query: { Wait: 60 } });
      assertProblem(response, 409, 'lease_lost');
    }
    assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Open');
    assert.equal((await waiting(row)).Next.Topic, Topic);
    await cluster.answer({ Topic, Seq: 1, Query: 'two' });
  });

  test('a nonce that was used takes nothing', async () => {
    const row = await claimed('one');
    const { Topic } = await cluster.add({ Query: 'two' });
    const path = cluster.path('/api/give-new-answer', { as: 'Inference_1', query: { Next: 'true', Wait: 60 } });
    const send = () => cluster.request('POST', path, { body: { ...row, Answer: ['42'] } });
    assert.equal(assertOk(await send()).Next.Topic, Topic);
    const third = await cluster.add({ Query: 'three' });
    assertProblem(await send(), 401, 'nonce_used');
    assert.equal((await cluster.check({ Topic: third.Topic, detail: true })).Status, 'Open');
    await cluster.answer({ Topic, Seq: 1, Query: 'two' });
    const { Lease } = await cluster.claim({ detail: true });
    await cluster.answer({ Topic: third.Topic, Seq: 1, Query: 'three', Lease });
  });

  test('the same answer again waits for work as the first one did', async () => {
    const row = await claimed('one');
    await cluster.answer(row);
    const response = waiting(row);
    await areParked(1);
    const { Topic } = await cluster.add({ Query: 'two' });
    assert.equal((await response).Next.Topic, Topic);
    await cluster.answer({ Topic, Seq: 1, Query: 'two' });
  });

  test('a client that leaves meanwhile gets nothing, and leaves no credit', async () => {
    const row = await claimed('one');
    const open = cluster.open('POST', '/api/give-new-answer', {
      as: 'Inference_1', query: { Next: 'true', Wait: 60 }, body: { ...row, Answer: ['42'] },
    });
    open.response.catch(() => {});
    await areParked(1);
    open.abort();
    await areParked(0);
    await isDone(row);
    const { Topic } = await cluster.add({ Query: 'two' });
    assert.equal((await cluster.claim({ wait: 30 })).Topic, Topic);
    await cluster.answer({ Topic, Seq: 1, Query: 'two' });
  });

  test("the engine's newer poll ends the wait", async () => {
    const row = await claimed('one');
    const response = waiting(row, { query: { Engine: 'e1' } });
    await areParked(1);
    const poll = cluster.claim({ engine: 'e1', wait: 60, node: 1 });
    assert.deepEqual((await response).Next, EMPTY);
    const { Topic } = await cluster.add({ Query: 'two' });
    assert.equal((await poll).Topic, Topic);
    await cluster.answer({ Topic, Seq: 1, Query: 'two' });
  });

  test('a large answer is not kept for as long as work may take', async () => {
    const row = await claimed('one');
    assert.deepEqual((await waiting(row, { Answer: ['x'.repeat(100_000)] })).Next, EMPTY);
  });

  test('Wait takes 0 to 120, and a request without it stores nothing', async () => {
    const row = await claimed('one');
    for (const Wait of ['121', '-1', 'x']) assertProblem(await cluster.answerRaw({ ...row, next: true, query: { Wait } }), 400);
    assert.equal((await cluster.answer(row)).Status, 'Done');
  });
});

suite('late answers', { args: ['--rescan-seconds', '1'] }, ({ test, cluster }) => {
  const isOpen = async (Topic, Seq = 1) => {
    await cluster.endLease(Topic);
    await eventually(async () => (await cluster.check({ Topic, Seq, detail: true })).Status === 'Open', { what: 'the lease runs out' });
  };

  test('a late answer is taken while nobody else holds the query', async () => {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    await isOpen(Topic);
    assert.equal((await cluster.answer({ Topic, Seq: 1, Lease })).Status, 'Done');
    assert.deepEqual(await cluster.claim(), EMPTY);
  });

  test('a late answer is taken without its Lease, too', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    await isOpen(Topic);
    assert.equal((await cluster.answer({ Topic, Seq: 1 })).Status, 'Done');
  });

  for (const as of ['Inference_1', 'Inference_D']) {
    test(`a late answer of ${as} with a Seq of its own counting is taken by its text`, async () => {
      const Query = 'What is the meaning of life?';
      const { Topic } = await cluster.add({ Query: 'A first question, answered long ago' });
      await cluster.claim({ as: 'Inference_2' });
      await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Query: 'A first question, answered long ago' });
      const waiter = cluster.checkOpen({ Topic, Seq: (await cluster.add({ Topic, Query })).Seq, wait: 30 });
      await cluster.claim({ as });
      await isOpen(Topic, 2);
      assert.equal((await cluster.answer({ as, Topic, Seq: 1, Query, Think: [], Answer: ['late'] })).Seq, 2);
      assert.deepEqual(assertOk(await waiter.response).Answer, ['late']);
      assertProblem(await cluster.answerRaw({ as, Topic, Seq: 1, Query: 'Another text altogether', Think: [] }), 409, 'query_mismatch');
    });
  }

  test('a late answer is refused once another engine holds the query: 409 lease_lost', async () => {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    await cluster.endLease(Topic);
    const second = await cluster.claim({ as: 'Inference_2', wait: 10, detail: true });
    assert.equal(second.Topic, Topic);
    assert.equal(second.Attempt, 2);
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Lease, Answer: ['late'] }), 409, 'lease_lost');
    await cluster.answer({ as: 'Inference_2', Topic, Seq: 1, Lease: second.Lease, Answer: ['in time'] });
    assertProblem(await cluster.answerRaw({ Topic, Seq: 1, Lease, Answer: ['later'] }), 409, 'already_done');
    assert.deepEqual((await cluster.check({ Topic })).Answer, ['in time']);
  });
});

// What is stored is not what was sent: "\b" is two bytes of a body, and six of a row.
suite('give-new-answer, where bodies may be 64 MiB large', { args: ['--body-max-bytes', '67108864'] }, ({ test, cluster }) => {
  test('an answer of more than 8 MiB as it is stored: 413, and the query stays claimed', async () => {
    const { Topic } = await cluster.add({ Query: 'Why?' });
    await cluster.claim();
    const row = { Topic, Seq: 1, Query: 'Why?' };
    for (const Answer of [['x'.repeat(33 << 20)], ['x'.repeat(8 << 20)], ['\b'.repeat(1_500_000)]]) {
      assertProblem(await cluster.answerRaw({ ...row, Answer }), 413, 'too_large');
    }
    assertProblem(await cluster.answerRaw({ ...row, Think: ['x'.repeat(8 << 20)] }), 413, 'too_large');
    assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Pending');
    const Answer = ['x'.repeat((8 << 20) - 100)];
    assert.equal((await cluster.answer({ ...row, Answer })).Status, 'Done');
    assert.deepEqual((await cluster.check({ Topic })).Answer, Answer);
  });
});
