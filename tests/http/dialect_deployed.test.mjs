// SPDX-License-Identifier: MIT
//
// `dialect: deployed`: what the clients of the BossBot that went live expect.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, newNonce, newTopic, suite } from '../support/harness.mjs';

const EMPTY = { Topic: null, Queries: null };
const QUERY = 'What is the meaning of life?';

suite('deployed engines', {}, ({ test, cluster }) => {
  const claim = (options = {}) => cluster.claim({ as: 'Inference_D', ...options });
  const answer = (options) => cluster.answer({ as: 'Inference_D', Think: [], ...options });

  test('a query comes as its text, its user and its model', async () => {
    const { Topic } = await cluster.add({ User: 'alice', Model: 'llama3' });
    await cluster.add({ Topic, User: 'bob', Query: 'And then, after that?' });
    assert.deepEqual(await claim(), {
      Topic,
      Queries: [{ 1: [QUERY, 'alice', 'llama3'] }, { 2: ['And then, after that?', 'bob', 'default'] }],
    });
  });

  test('nothing in time is the null pair for them, too', async () => {
    assert.deepEqual(await claim(), EMPTY);
  });

  test('engines of the plain dialect are not changed by it', async () => {
    const { Topic } = await cluster.add();
    assert.deepEqual(await cluster.claim(), { Topic, Queries: [{ 1: QUERY }] });
  });

  test('a Seq of their own counting: the text decides', async () => {
    const Topic = newTopic();
    await cluster.add({ Topic, Query: 'the first question' });
    await claim();
    await answer({ Topic, Seq: 1, Query: 'the first question' });
    await cluster.add({ Topic, Query: 'the second question' });
    await cluster.add({ Topic, Query: 'the third question' });
    await claim();
    await answer({ Topic, Seq: 1, Query: 'the third question', Answer: ['three'] });
    await answer({ Topic, Seq: 7, Query: 'the second question', Answer: ['two'] });
    for (const [Seq, Answer] of [
      [1, '42'],
      [2, 'two'],
      [3, 'three'],
    ]) {
      assert.deepEqual((await cluster.check({ Topic, Seq })).Answer, [Answer]);
    }
  });

  test('among equal texts the lowest Pending one is meant', async () => {
    const Topic = newTopic();
    for (let i = 0; i < 3; i++) await cluster.add({ Topic });
    await claim();
    for (const Answer of ['one', 'two', 'three']) await answer({ Topic, Seq: 3, Query: QUERY, Answer: [Answer] });
    for (const [Seq, Answer] of [
      [1, 'one'],
      [2, 'two'],
      [3, 'three'],
    ]) {
      assert.deepEqual((await cluster.check({ Topic, Seq })).Answer, [Answer]);
    }
  });

  test('Seq 0 with empty lists gives the query back: 200, and it is Open again', async () => {
    const { Topic } = await cluster.add();
    await claim();
    assert.equal(
      (await cluster.answerRaw({ as: 'Inference_D', Topic, Seq: 0, Query: QUERY, Think: [], Answer: [] })).status,
      200,
    );
    assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Open');
    assert.equal((await cluster.claim({ as: 'Inference_2' })).Topic, Topic);
  });

  test('an engine of the plain dialect cannot give back that way', async () => {
    const { Topic } = await cluster.add();
    await cluster.claim();
    assertProblem(await cluster.answerRaw({ Topic, Seq: 0, Think: [], Answer: [] }), 400);
    assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Pending');
  });

  test('Next serves the deployed shape as well', async () => {
    await cluster.add();
    const { Topic } = await claim();
    const next = await cluster.add({ User: 'bob', Query: 'And then, after that?' });
    const { Next } = await answer({ Topic, Seq: 1, Query: QUERY, next: true });
    assert.deepEqual(Next, { Topic: next.Topic, Queries: [{ 1: ['And then, after that?', 'bob', 'default'] }] });
  });
});

suite('deployed frontends', {}, ({ test, cluster }) => {
  const as = 'Frontend_D';
  const topics = (OnBehalfOf) => cluster.request('GET', '/api/user-topics', { as, query: { OnBehalfOf } });
  const thread = async (Topic) => assertOk(await cluster.request('GET', '/api/get-topic-thread', { as, query: { Topic } }));

  test('user-topics of a user without topics is 200 {}', async () => {
    assert.deepEqual(assertOk(await topics(`nobody-${newNonce()}`)), {});
  });

  test('what is unanswered in a thread is []', async () => {
    const { Topic } = await cluster.add({ as });
    const [row] = await thread(Topic);
    assert.deepEqual([row.Topic, row.Seq, row.Query, row.Answer, row.Think], [Topic, 1, QUERY, [], []]);
    const [plain] = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic } }));
    assert.equal(plain.Answer, null, 'the plain dialect keeps its null');
  });

  test('Model comes with every answer', async () => {
    const { Topic } = await cluster.add({ as, Model: 'llama3' });
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1 });
    assert.equal((await cluster.check({ as, Topic })).Model, 'llama3');
    const [row] = await thread(Topic);
    assert.equal(row.Model, 'llama3');
    assert.deepEqual(row.Answer, ['42']);
    assert.ok(!('Model' in (await cluster.check({ Topic }))), 'the plain dialect has it with Detail only');
  });

  test('a query under 10 characters: 400; characters, not bytes', async () => {
    for (const Query of ['too short', 'é'.repeat(9), '你'.repeat(9), '🦜'.repeat(9)])
      assertProblem(await cluster.addRaw({ as, Query }), 400);
    for (const Query of ['ten chars.', 'é'.repeat(10), '🦜'.repeat(10)]) assertOk(await cluster.addRaw({ as, Query }));
    assertOk(await cluster.addRaw({ Query: 'short' }));
  });

  test('Modifiers.Category stands before the text, as lines and a line of five dots', async () => {
    const { Topic } = await cluster.add({ as, Modifiers: { Category: 'Holidays' } });
    const text = `Category: Holidays\n.....\n${QUERY}`;
    assert.deepEqual(await cluster.claim(), { Topic, Queries: [{ 1: text }] });
    assert.equal((await cluster.answer({ Topic, Seq: 1, Query: text })).Status, 'Done');
  });

  test('several categories are several lines', async () => {
    const { Topic } = await cluster.add({ as, Modifiers: { Category: ['Holidays', 'Comp time'] } });
    assert.deepEqual(await cluster.claim(), {
      Topic,
      Queries: [{ 1: `Category: Holidays\nCategory: Comp time\n.....\n${QUERY}` }],
    });
  });

  test('no category, no lines; and none for the plain dialect', async () => {
    await cluster.add({ as, Modifiers: { Tone: 'dry' } });
    assert.deepEqual((await cluster.claim()).Queries, [{ 1: QUERY }]);
    await cluster.add({ Modifiers: { Category: 'Holidays' } });
    assert.deepEqual((await cluster.claim()).Queries, [{ 1: QUERY }]);
  });

  test('both ends deployed: a whole turn', async () => {
    const { Topic, Seq } = await cluster.add({ as, User: 'alice', Modifiers: { Category: 'Holidays' } });
    const waiter = cluster.checkOpen({ as, Topic, Seq, wait: 30 });
    const { Queries } = await cluster.claim({ as: 'Inference_D' });
    const [text, user, model] = Queries[0][1];
    assert.deepEqual([user, model], ['alice', 'default']);
    await cluster.answer({ as: 'Inference_D', Topic, Seq: 1, Query: text, Think: [], Answer: ['Take a day off.'] });
    assert.deepEqual(assertOk(await waiter.response).Answer, ['Take a day off.']);
  });
});

suite('how long deployed clients wait that do not say', { sweep: false }, ({ test, cluster }) => {
  const open = (route, as, query) => cluster.open('GET', `/api/${route}`, { as, query, timeout: 50_000 });
  const held = (opened) => {
    let isHeld = true;
    opened.response.finally(() => (isHeld = false)).catch(() => {});
    return () => isHeld;
  };
  const timed = async ({ response }, began = performance.now()) => [assertOk(await response), performance.now() - began];

  // One test of 30 s: nothing short of waiting shows when a request that is held ends by itself.
  test('an engine waits for 20 s, a frontend for 30 s, those of the plain dialect for longer', async () => {
    const { Topic, Seq } = await cluster.add();
    await cluster.claim({ as: 'Inference_2' });
    const engine = open('get-new-queries', 'Inference_1');
    const isEngineHeld = held(engine);
    const plain = open('check-query', 'Frontend_1', { Topic, Seq });
    const isFrontendHeld = held(plain);
    const check = timed(open('check-query', 'Frontend_D', { Topic, Seq }));
    const [claim, engineMs] = await timed(open('get-new-queries', 'Inference_D'));
    assert.deepEqual(claim, EMPTY);
    assert.ok(engineMs >= 19_998, `an engine that asked for nothing else was answered after ${engineMs} ms`);
    const [{ Answer }, frontendMs] = await check;
    assert.equal(Answer, null);
    assert.ok(frontendMs >= 29_998, `a frontend that asked for nothing else was answered after ${frontendMs} ms`);
    assert.ok(isEngineHeld() && isFrontendHeld(), 'the plain dialect waits on');
    await cluster.answer({ as: 'Inference_2', Topic, Seq });
    assert.deepEqual(assertOk(await plain.response).Answer, ['42']);
    engine.abort();
  });

  test('their own Wait counts', async () => {
    const { Topic, Seq } = await cluster.add({ as: 'Frontend_D' });
    const check = open('check-query', 'Frontend_D', { Topic, Seq, Wait: 31 });
    const isHeld = held(check);
    assert.equal((await cluster.check({ as: 'Frontend_D', Topic, Seq, wait: 0 })).Answer, null);
    assertProblem(await cluster.checkRaw({ as: 'Frontend_D', Topic, Seq, wait: 121 }), 400);
    assertProblem(await cluster.claimRaw({ as: 'Inference_D', wait: 121 }), 400);
    assert.equal((await cluster.claim({ as: 'Inference_D' })).Topic, Topic);
    assert.ok(isHeld());
    await cluster.answer({ as: 'Inference_D', Topic, Seq, Think: [] });
    assert.deepEqual(assertOk(await check.response).Answer, ['42']);
  });
});
