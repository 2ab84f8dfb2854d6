// SPDX-License-Identifier: MIT
//
// A request of /v1 whose connection was lost and that is sent again, byte for byte: it gets the answer that was begun.
import assert from 'node:assert/strict';
import { assertOk, assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { assertChunks, deltaOf, engineOf, fits, openChat, Stream, tokenOf } from '../support/openai.mjs';

let asked = 0;
const bodyOf = (more = {}) => ({ model: 'llama3', messages: [{ role: 'user', content: `What is ${++asked}?` }], ...more });
const PLAIN = { stream: undefined };
const contentOf = (chunks) => chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta.content ?? '').join('');

suite('a request that is sent again', {}, ({ test, cluster }) => {
  const open = (body, options) => openChat(cluster, body, options);
  const queued = async () => (await cluster.redis.cmd('KEYS', '*:t:*')).length;
  // The query of a request that waits; its engine has it.
  const begin = async (body, options) => {
    const engine = await engineOf(cluster);
    const stream = await open(body, options);
    await engine.take(engine.parked);
    return { engine, stream };
  };
  const leave = async (stream, engine) => {
    stream.abort();
    await eventually(async () => (await watcher(engine)).startsWith('- '), { what: 'its node knows that the client has gone' });
  };
  const watcher = async ({ of: { Topic, Seq } }) => {
    for (const key of await cluster.redis.cmd('KEYS', `*:t:${Topic}`)) return (await cluster.redis.cmd('HGET', key, `x:${Seq}`)) ?? '';
    return '';
  };
  const finish = async (engine, ...deltas) => assertOk(await engine.answer([...deltas, deltaOf({}, { finish_reason: 'stop' })]));

  test('three times after a lost connection it is one job, on any node, and gets all from the first piece', async () => {
    const body = bodyOf();
    const before = await queued();
    const { engine, stream } = await begin(body, { node: 0 });
    assertOk(await engine.give(deltaOf({ content: 'One' })));
    await stream.until(({ chunks }) => contentOf(chunks) === 'One', 'the first piece');
    assert.equal(stream.headers['x-parley-attached'], undefined);
    await leave(stream, engine);
    let last;
    for (const [i, node] of [1, 0, 1].entries()) {
      if (last) await leave(last, engine);
      last = await open(body, { node, headers: { 'x-stainless-retry-count': '1' } });
      await last.until(({ chunks }) => contentOf(chunks).startsWith('One'), 'the first piece again');
      assert.equal(last.headers['x-parley-attached'], '1');
      assert.equal(last.chunks[0].id, stream.chunks[0].id);
      assertOk(await engine.give(deltaOf({ content: ` ${i}` })));
      await last.until(({ chunks }) => contentOf(chunks).endsWith(` ${i}`), 'the next piece');
    }
    await finish(engine, deltaOf({ content: ' end' }));
    assert.equal(contentOf(assertChunks(await last.whole())), 'One 0 1 2 end');
    assert.equal(await queued(), before + 1);
  });

  test('an answer in one piece, too, while it waits and once it is there', async () => {
    const body = bodyOf(PLAIN);
    const { engine, stream } = await begin(body, { node: 0 });
    await leave(stream, engine);
    const second = await open(body, { node: 1 });
    await eventually(async () => !(await watcher(engine)).startsWith('- '), { what: 'it is taken over' });
    await leave(second, engine);
    await finish(engine, deltaOf({ content: 'Whole' }));
    const third = await (await open(body, { node: 0 })).whole();
    assert.equal(third.status, 200, third.text);
    assert.equal(third.headers['x-parley-attached'], '1');
    assert.equal(fits('CreateChatCompletionResponse', JSON.parse(third.text)).choices[0].message.content, 'Whole');
  });

  test('one that has its answer makes a new job when it is asked again', async () => {
    for (const more of [{}, PLAIN]) {
      const body = bodyOf(more);
      for (const text of ['First', 'Second']) {
        const { engine, stream } = await begin(body);
        await finish(engine, deltaOf({ content: text }));
        await stream.whole();
        assert.equal(stream.headers['x-parley-attached'], undefined);
        assert.ok(stream.text.includes(text), stream.text);
        await eventually(async () => (await watcher(engine)) === '', { what: 'its node knows that the client has it' });
      }
    }
  });

  test('two equal requests side by side are two jobs', async () => {
    const body = bodyOf(PLAIN);
    const engines = [await begin(body, { node: 0 }), await begin(body, { node: 1 })];
    assert.notEqual(engines[0].engine.of.Topic, engines[1].engine.of.Topic);
    for (const [i, { engine, stream }] of engines.entries()) {
      await finish(engine, deltaOf({ content: `Answer ${i}` }));
      assert.equal(JSON.parse((await stream.whole()).text).choices[0].message.content, `Answer ${i}`);
    }
  });

  test('other bytes, another person, another route and another account get nothing of it', async () => {
    const body = bodyOf();
    const frontend = { as: 'Frontend_1', headers: { 'x-parley-user': 'bob' } };
    const { engine, stream } = await begin(body, { ...frontend, node: 0 });
    await leave(stream, engine);
    const others = [
      [{ ...body, temperature: 0 }, frontend],
      [body, { as: 'Frontend_1', headers: { 'x-parley-user': 'carol' } }],
      [body, { as: 'User_1' }],
    ];
    for (const [sent, options] of others) {
      const other = await begin(sent, options);
      assert.notEqual(other.engine.of.Topic, engine.of.Topic);
      other.stream.abort();
    }
  });

  test('without a retry the engine is freed, and a retry that comes late makes a new job', async () => {
    const body = bodyOf();
    const { engine, stream } = await begin(body);
    await leave(stream, engine);
    await eventually(async () => ['lease_lost', 'not_found'].includes((await engine.give(deltaOf({ content: 'x' }))).json.code), { what: 'its claim has ended' });
    const again = await begin(body);
    assert.notEqual(again.engine.of.Topic, engine.of.Topic);
    again.stream.abort();
  });

  test('one that was refused by its engine is asked anew', async () => {
    const body = bodyOf(PLAIN);
    const { engine, stream } = await begin(body);
    assertOk(await engine.refuse({ status: 400, message: 'Too long.', code: 'context_length_exceeded' }));
    assertOpenaiError({ ...(await stream.whole()), json: JSON.parse(stream.text) }, 400);
    const again = await begin(body);
    assert.notEqual(again.engine.of.Topic, engine.of.Topic);
    again.stream.abort();
  });

  test('after its node was killed it continues on another one', async () => {
    for (const more of [{}, PLAIN]) {
      const body = bodyOf(more);
      const node = await cluster.startNode();
      const engine = await engineOf(cluster, { node: 0 });
      const stream = new Stream(cluster, await tokenOf(cluster, 'User_1'), body, { node });
      await engine.take(engine.parked);
      assertOk(await engine.give(deltaOf({ content: 'Before' })));
      if (!('stream' in more)) await stream.until(({ chunks }) => contentOf(chunks) === 'Before', 'the first piece');
      await node.kill();
      cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
      await stream.whole();
      assert.equal(stream.ended, 'aborted');
      const before = await watcher(engine);
      const again = await open(body, { node: 1 });
      await eventually(async () => (await watcher(engine)) !== before, { what: 'it is taken over' });
      await finish(engine, deltaOf({ content: ' and after' }));
      await again.whole();
      assert.equal(again.headers['x-parley-attached'], '1', again.text);
      if ('stream' in more) assert.equal(JSON.parse(again.text).choices[0].message.content, 'Before and after');
      else assert.equal(contentOf(assertChunks(again)), 'Before and after');
    }
  });
});
