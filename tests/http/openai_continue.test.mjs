// SPDX-License-Identifier: MIT
//
// An engine of /v1 that is lost in the middle of an answer: another one continues it, or its client gets an error.
import assert from 'node:assert/strict';
import { chunk, startModel } from '../support/door_model.mjs';
import { startEngine } from '../support/engines.mjs';
import { assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { ask, assertChunks, deltaOf, Engine, engineOf, fits, openChat } from '../support/openai.mjs';
import { keyOf } from '../support/shards.mjs';

let asked = 0;
// A request that no other one equals: an equal one takes over what a client has left.
const newBody = () => ({ model: 'llama3', messages: [{ role: 'user', content: `Count to ${(asked += 1)}.` }] });
const contentOf = (chunks) => chunks.flatMap(({ choices }) => choices ?? []).map(({ delta }) => delta.content ?? '').join('');

suite('an engine that is lost in the middle', {}, ({ test, cluster }) => {
  const begin = async (deltas, { body = {}, node = 0 } = {}) => {
    const engine = await engineOf(cluster, { continues: true, node });
    const stream = await openChat(cluster, { ...newBody(), ...body }, { node: 1 });
    await engine.take(engine.parked);
    if (deltas.length > 0) {
      assertOk(await engine.give(...deltas));
      await stream.until(({ chunks }) => chunks.length > 0, 'the first piece');
    }
    return { engine, stream };
  };
  const lose = async ({ of: { Topic, Lease }, node }, more = {}) => assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', node, body: { Topic, Lease, Reason: 'lost', ...more } }));
  const take = (options) => new Engine(cluster, { continues: true, ...options }).take();
  const finish = async (engine, content, Answer) => assertOk(await engine.answer([deltaOf({ content }), deltaOf({}, { finish_reason: 'stop' })], { Answer: [Answer] }));
  // Its client has gone for so long that it is cancelled.
  const left = ({ Topic }) => eventually(async () => !(await cluster.redis.cmd('HGET', keyOf(Topic, `t:${Topic}`), 'open')), { what: `${Topic} no longer waits` });
  const assertLost = async (stream) => {
    await stream.whole();
    const errors = stream.chunks.filter(({ error }) => error);
    assert.deepEqual(errors.map(({ error }) => error.code), ['engine_lost']);
    assert.equal(stream.events.at(-1), '[DONE]');
  };

  test('the next one gets what was sent and continues, and the client sees one answer', async () => {
    const { engine, stream } = await begin([deltaOf({ role: 'assistant', content: 'One, "é" ' }), deltaOf({ content: '\n' }, { logprobs: { content: [], refusal: null } })]);
    await lose(engine);
    const second = await take({ node: 1 });
    assert.equal(second.details.Continue, 'One, "é" \n');
    assert.equal(second.details.Offset, engine.offset);
    assert.deepEqual(second.body.messages, engine.body.messages);
    assert.equal(assertProblem(await second.post('give-partial', { ...second.of, Offset: engine.offset + 1, Deltas: [deltaOf({ content: 'x' })] }), 409, 'partial_gap').expected, engine.offset);
    assertOk(await second.give(deltaOf({ content: 'two, ' })));
    await stream.until(({ chunks }) => contentOf(chunks).endsWith('two, '), 'what it adds');
    await lose(second);
    const third = await take();
    assert.equal(third.details.Continue, 'One, "é" \ntwo, ');
    await finish(third, 'three.', 'One, "é" \ntwo, three.');
    assert.equal(contentOf(assertChunks(await stream.whole())), 'One, "é" \ntwo, three.');
  });

  test('one that was waiting already, and an answer in one piece', async () => {
    const { engine, stream } = await begin([deltaOf({ content: 'One, ' })]);
    const waiting = await engineOf(cluster, { continues: true });
    await lose(engine);
    await waiting.take(waiting.parked);
    await finish(waiting, 'two.', 'One, two.');
    assert.equal(contentOf(assertChunks(await stream.whole())), 'One, two.');
    const first = await engineOf(cluster, { continues: true });
    const response = ask(cluster, 'POST', '/v1/chat/completions', { body: newBody() });
    await first.take(first.parked);
    assertOk(await first.give(deltaOf({ content: 'One, ' })));
    await lose(first);
    await finish(await take(), 'two.', 'One, two.');
    assert.equal(fits('CreateChatCompletionResponse', assertOk(await response)).choices[0].message.content, 'One, two.');
  });

  test('one that does not continue begins again: an error for a stream that has begun, the whole answer otherwise', async () => {
    const { engine, stream } = await begin([deltaOf({ content: 'One, ' })]);
    await lose(engine);
    const other = await take({ continues: false });
    assert.equal(other.details.Continue, undefined);
    await assertLost(stream);
    const first = await engineOf(cluster, { continues: true });
    const response = ask(cluster, 'POST', '/v1/chat/completions', { body: newBody() });
    await first.take(first.parked);
    assertOk(await first.give(deltaOf({ content: 'One, ' })));
    await lose(first);
    await finish(await take({ continues: false }), 'All of it.', 'All of it.');
    assert.equal(assertOk(await response).choices[0].message.content, 'All of it.');
  });

  test('before the first piece nothing is seen', async () => {
    const { engine, stream } = await begin([]);
    await lose(engine);
    const second = await take();
    assert.equal(second.details.Continue, undefined);
    await finish(second, 'Whole.', 'Whole.');
    assert.equal(contentOf(assertChunks(await stream.whole())), 'Whole.');
  });

  test('more than text is not continued: tool calls, reasoning, several choices, one that has ended', async () => {
    const cases = [
      [[deltaOf({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{' } }] })]],
      [[deltaOf({ content: 'A' }), deltaOf({ reasoning_content: 'Hm' })]],
      [[deltaOf({ content: 'A' }, { index: 1 })], { n: 2 }],
      [[deltaOf({ content: 'A' })], { n: 2 }],
      [[deltaOf({ content: 'A' }, { finish_reason: 'stop' })]],
    ];
    for (const [deltas, body] of cases) {
      const { engine, stream } = await begin(deltas, { body });
      await lose(engine);
      await assertLost(stream);
      await left(engine.of);
    }
  });

  test('where equal requests have equal answers, what was sent is left out of the one that is generated again', async () => {
    const again = async (body, deltas, options = {}) => {
      const { engine, stream } = await begin([deltaOf({ role: 'assistant', content: 'One, "' }), deltaOf({ content: 'two' })], { body });
      await lose(engine);
      const second = await take({ continues: false, ...options });
      for (const delta of deltas) assertOk(await second.give(delta));
      const { status } = await second.answer([], { Answer: ['x'] });
      assert.ok([200, 404, 409].includes(status), `${status}`); // the client may have its error already
      return stream.whole();
    };
    const end = deltaOf({}, { finish_reason: 'length' });
    for (const body of [{ temperature: 0 }, { temperature: 0.0, n: 1 }, { seed: 7, temperature: 1 }])
      for (const contents of [['One, "two', ', three.'], ['One', ', "two, th', 'ree.'], ['One, "two, three.']]) {
        const chunks = assertChunks(await again(body, [...contents.map((content) => deltaOf({ content })), end]));
        assert.equal(contentOf(chunks), 'One, "two, three.');
        assert.equal(chunks.at(-1).choices[0].finish_reason, 'length');
      }
    await assertLost(await again({ temperature: 0 }, [deltaOf({ content: 'One, "' }), deltaOf({ content: 'TWO' })]));
    await assertLost(await again({ seed: 7 }, [deltaOf({ content: 'One' }), end]));
    await assertLost(await again({ seed: 7 }, [deltaOf({ content: 'One' })]));
    await assertLost(await again({ temperature: 0.1 }, []));
  });

  test('a node that is killed with its engine, and one that is killed in front of the client', async () => {
    const node = await cluster.startNode();
    const { engine, stream } = await begin([deltaOf({ content: 'One, ' })], { node });
    await node.kill();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    assertOk(await engine.post('give-partial', { ...engine.of, Offset: engine.offset, Deltas: [deltaOf({ content: 'two, ' })] }, { node: 0 }));
    engine.node = 0;
    await stream.until(({ chunks }) => contentOf(chunks) === 'One, two, ', 'what comes by another node');
    await lose(engine);
    await finish(await take(), 'three.', 'One, two, three.');
    assert.equal(contentOf(assertChunks(await stream.whole())), 'One, two, three.');
  });
});

for (const transport of ['socket', 'routes'])
  suite(`parley engine --continues, by its ${transport}`, {}, ({ test, cluster }) => {
    test('one that is killed in the middle of a stream is continued by another one', async () => {
      let open = 0;
      const model = await startModel(({ body }, response) => {
        const last = body.messages.at(-1);
        if (last.role === 'assistant') return response.events([chunk({ content: `[${last.content}|continued]` }), chunk({}, 'stop')]);
        open++;
        return response.event(chunk({ content: 'One, two, ' })); // and no end
      });
      const start = () => startEngine(cluster, ['--llm', model.url, '--model', 'm', '--continues', '--transport', transport, '--slots', 1]);
      const first = await start();
      let second;
      try {
        await eventually(async () => assertOk(await ask(cluster, 'GET', '/v1/models')).data.some(({ id }) => id === 'm'), { what: 'the model is listed' });
        const stream = await openChat(cluster, { ...newBody(), model: 'm' }, { node: 1 });
        await stream.until(({ chunks }) => contentOf(chunks) === 'One, two, ', 'the first piece');
        assert.equal(open, 1);
        second = await start();
        first.child.kill('SIGKILL');
        const [key] = await cluster.redis.cmd('KEYS', '*:t:ask.*');
        await cluster.leaseEndsIn(key.split(':t:')[1], 1);
        assert.equal(contentOf(assertChunks(await stream.whole())), 'One, two, [One, two, |continued]');
      } finally {
        first.child.kill('SIGKILL');
        await second?.stop();
        await model.stop();
      }
    });
  });
