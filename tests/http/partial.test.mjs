// SPDX-License-Identifier: MIT
//
// POST /api/give-partial. What readers see of it is in sse.test.mjs.
import assert from 'node:assert/strict';
import { assertMembers, assertOk, assertProblem, newTopic, suite } from '../support/harness.mjs';

suite('give-partial', {}, ({ test, cluster }) => {
  const give = (body, options = {}) => cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body, ...options });

  async function claimed() {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    return { Topic, Seq: 1, Lease };
  }

  test('the answer returns the next offset in bytes of UTF-8 and the interval', async () => {
    const row = await claimed();
    const first = assertOk(await give({ ...row, Offset: 0, Think: 'Hm … ', Answer: '' }));
    assertMembers(first, ['Next', 'IntervalMs', 'Cancelled']);
    assert.equal(first.Next, Buffer.byteLength('Hm … '));
    assert.equal(first.Cancelled, false);
    assert.ok(Number.isInteger(first.IntervalMs) && first.IntervalMs >= 0);
    const second = assertOk(await give({ ...row, Offset: first.Next, Think: '', Answer: '你好🦜' }));
    assert.equal(second.Next, first.Next + Buffer.byteLength('你好🦜'));
  });

  test('Think and Answer of one partial count together, and either may be absent', async () => {
    const row = await claimed();
    assert.equal(assertOk(await give({ ...row, Offset: 0, Think: 'abc', Answer: 'de' })).Next, 5);
    assert.equal(assertOk(await give({ ...row, Offset: 5, Answer: 'f' })).Next, 6);
    assert.equal(assertOk(await give({ ...row, Offset: 6, Think: 'g' })).Next, 7);
    assert.equal(assertOk(await give({ ...row, Offset: 7, Think: null, Answer: null })).Next, 7);
  });

  test('what the engine says with its partial answers is shown meanwhile, and belongs to its answer', async () => {
    const row = await claimed();
    const { Topic } = row;
    const Usage = { prompt_tokens: 9, completion_tokens: 4 };
    assertOk(await give({ ...row, Offset: 0, Answer: 'Hi', Usage: { ...Usage, completion_tokens: 1 } }));
    assertOk(await give({ ...row, Offset: 2, FinishReason: 'length' }));
    assertOk(await give({ ...row, Offset: 2, Usage, Answer: null }));
    const facts = ({ FinishReason, Usage }) => ({ FinishReason, Usage });
    const meanwhile = await cluster.check({ Topic, detail: true });
    assert.deepEqual([meanwhile.Status, facts(meanwhile)], ['Pending', { FinishReason: 'length', Usage }]);
    const [listed] = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic, Detail: true } }));
    assert.deepEqual(facts(listed), facts(meanwhile));
    const { Queries } = assertOk(await cluster.request('GET', '/api/queue', { as: 'Operator_1', query: { State: 'Pending' } }));
    assert.deepEqual(facts(Queries.find((query) => query.Topic === Topic)), facts(meanwhile));
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 } });
    await cluster.answer({ ...row, Answer: ['Hi'], FinishReason: 'stop' });
    assert.deepEqual(facts((await stream.until('done')).at(-1).data), { FinishReason: 'stop', Usage });
    assert.deepEqual(facts(await cluster.check({ Topic, detail: true })), { FinishReason: 'stop', Usage });
  });

  test('what a lost engine said is not said of the next one', async () => {
    const row = await claimed();
    assertOk(await give({ ...row, Offset: 0, FinishReason: 'length', Answer: 'Hi' }));
    assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: row }));
    const open = await cluster.check({ Topic: row.Topic, detail: true });
    const { Lease } = await cluster.claim({ detail: true });
    await cluster.answer({ ...row, Lease, Answer: ['Hi'] });
    for (const one of [open, await cluster.check({ Topic: row.Topic, detail: true })]) assert.ok(!('FinishReason' in one), one.Status);
  });

  test('the same partial again changes nothing', async () => {
    const row = await claimed();
    for (const node of [0, 1, 0]) assert.equal(assertOk(await give({ ...row, Offset: 0, Answer: 'Hello' }, { node })).Next, 5);
    assert.equal(assertOk(await give({ ...row, Offset: 5, Answer: ' world' })).Next, 11);
    assert.equal(assertOk(await give({ ...row, Offset: 5, Answer: ' world' })).Next, 11);
  });

  test('an overlap counts only what is new', async () => {
    const row = await claimed();
    assertOk(await give({ ...row, Offset: 0, Answer: 'Hello' }));
    assert.equal(assertOk(await give({ ...row, Offset: 3, Answer: 'lo world' })).Next, 11);
    assert.equal(assertOk(await give({ ...row, Offset: 0, Answer: 'Hel' })).Next, 11);
  });

  test('a gap: 409 with the offset that is expected', async () => {
    const row = await claimed();
    assert.equal(assertProblem(await give({ ...row, Offset: 3, Answer: 'x' }), 409, 'partial_gap').expected, 0);
    assertOk(await give({ ...row, Offset: 0, Answer: 'Hello' }));
    assert.equal(assertProblem(await give({ ...row, Offset: 6, Answer: 'x' }), 409, 'partial_gap').expected, 5);
    assert.equal(assertOk(await give({ ...row, Offset: 5, Answer: 'x' })).Next, 6);
  });

  test('a lease that is not the one that holds the query: 409 lease_lost', async () => {
    const row = await claimed();
    for (const Lease of ['0', '999999999'])
      assertProblem(await give({ ...row, Lease, Offset: 0, Answer: 'x' }), 409, 'lease_lost');
    assert.ok([404, 409].includes((await give({ ...row, Topic: newTopic(), Offset: 0, Answer: 'x' })).status));
    assertProblem(await give({ ...row, Offset: 0, Answer: 'x' }, { as: 'Inference_2' }), 409, 'lease_lost');
  });

  test('an engine learns from its partial that the query was cancelled', async () => {
    const row = await claimed();
    assertOk(await give({ ...row, Offset: 0, Answer: 'Hello' }));
    assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic: row.Topic, Seq: 1 } }));
    assert.equal(assertOk(await give({ ...row, Offset: 5, Answer: ' world' })).Cancelled, true);
  });

  test('partials do not touch the answer: check-query has nulls until the whole is there', async () => {
    const row = await claimed();
    assertOk(await give({ ...row, Offset: 0, Think: 'hm', Answer: 'Hel' }));
    const body = await cluster.check({ Topic: row.Topic });
    assert.deepEqual([body.Answer, body.Think], [null, null]);
    await cluster.answer({ Topic: row.Topic, Seq: 1, Lease: row.Lease, Think: ['hm'], Answer: ['Hello'] });
    assert.deepEqual((await cluster.check({ Topic: row.Topic })).Answer, ['Hello']);
  });

  test('a partial for what is Done: 409 and no change', async () => {
    const row = await claimed();
    await cluster.answer({ Topic: row.Topic, Seq: 1 });
    assertProblem(await give({ ...row, Offset: 0, Answer: 'x' }), 409);
    assert.deepEqual((await cluster.check({ Topic: row.Topic })).Answer, ['42']);
  });

  test('a member that is missing or of a wrong type: 400', async () => {
    const row = { ...(await claimed()), Offset: 0, Answer: 'x' };
    for (const Offset of [undefined, null, -1, 1.5, '0x', [], {}]) assertProblem(await give({ ...row, Offset }), 400);
    for (const Answer of [7, ['x'], {}, true]) assertProblem(await give({ ...row, Answer }), 400);
    for (const Think of [7, ['x'], {}, true]) assertProblem(await give({ ...row, Think }), 400);
    for (const Lease of [undefined, null, [], {}]) assertProblem(await give({ ...row, Lease }), 400);
    for (const Seq of [undefined, null, 'one', []]) assertProblem(await give({ ...row, Seq }), 400);
    for (const Topic of [undefined, null, '', 7]) assertProblem(await give({ ...row, Topic }), 400);
  });
});

suite('partials and leases', { args: ['--rescan-seconds', '1'] }, ({ test, cluster }) => {
  test('an engine that keeps sending partials keeps its claim', async () => {
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ detail: true });
    const other = cluster.claimOpen({ as: 'Inference_2', wait: 4 });
    for (let i = 0; i < 8; i++) {
      await cluster.leaseEndsIn(Topic, 60_000);
      assertOk(
        await cluster.request('POST', '/api/give-partial', {
          as: 'Inference_1',
          body: { Topic, Seq: 1, Lease, Offset: i, Answer: 'x' },
        }),
      );
      assert.ok((await cluster.leaseLeft(Topic)) > 100_000, 'it lasts from now on');
    }
    await cluster.answer({ Topic, Seq: 1, Lease, Answer: ['xxxxxxxx'] });
    assert.deepEqual(assertOk(await other.response), { Topic: null, Queries: null });
  });
});
