// SPDX-License-Identifier: MIT
//
// /v1/messages and /v1/responses, which are forms of a chat: clients that hang up and send a request again, engines that are lost, long
// waits, and much at once. What is tested of chats in openai_attach and openai_continue holds for both.
import assert from 'node:assert/strict';
import { chunk, startModel } from '../support/door_model.mjs';
import { startEngine } from '../support/engines.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { startServed } from '../support/openai_served.mjs';
import { ask, deltaOf, Engine, engineOf, openChat } from '../support/openai.mjs';

let asked = 0;
const joined = (chunks, pick) => chunks.map((event) => pick(event) ?? '').join('');

const FORMS = {
  messages: {
    path: '/v1/messages',
    // Each one is another request: an equal one takes over what a client has left.
    body: (text = `Count to ${(asked += 1)}.`) => ({ model: 'llama3', max_tokens: 100, messages: [{ role: 'user', content: text }] }),
    contentOf: (chunks) => joined(chunks, ({ type, delta }) => (type === 'content_block_delta' ? delta.text : undefined)),
    textOf: ({ content }) => content[0].text,
    last: 'message_stop',
    lost: ({ type, error }) => type === 'error' && error.type === 'overloaded_error',
  },
  responses: {
    path: '/v1/responses',
    body: (text = `Count to ${(asked += 1)}.`) => ({ model: 'llama3', store: false, input: text }),
    contentOf: (chunks) => joined(chunks, ({ type, delta }) => (type === 'response.output_text.delta' ? delta : undefined)),
    textOf: ({ output }) => output[0].content[0].text,
    last: 'response.completed',
    lost: ({ type, response }) => type === 'response.failed' && response.error.code === 'server_error' && /lost/.test(response.error.message),
  },
};

for (const [name, { path, body: newBody, contentOf, textOf, last, lost }] of Object.entries(FORMS)) {
  const open = (cluster, body, options) => openChat(cluster, body, { path, ...options });
  const send = async (cluster, body, options) => textOf(assertOk(await ask(cluster, 'POST', path, { body, ...options })));
  const assertWhole = async (stream, content) => {
    await stream.whole();
    assert.equal(contentOf(stream.chunks), content);
    assert.equal(stream.chunks.at(-1).type, last);
  };

  suite(`${name}: clients and engines that are lost`, {}, ({ test, cluster }) => {
    const begin = async (body = newBody(), options = {}) => {
      const engine = await engineOf(cluster, { continues: true });
      const stream = await open(cluster, body, { node: 0, ...options });
      await engine.take(engine.parked);
      assertOk(await engine.give(deltaOf({ content: 'One, ' })));
      await stream.until(({ chunks }) => contentOf(chunks) === 'One, ', 'the first piece');
      return { engine, stream };
    };
    const lose = async ({ of: { Topic, Lease } }) => assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Reason: 'lost' } }));
    const finish = async (engine, content, Answer = content) => assertOk(await engine.answer([deltaOf({ content }), deltaOf({}, { finish_reason: 'stop' })], { Answer: [Answer] }));

    test('a client that hangs up and sends the request again gets the answer from its first piece on, at another node', async () => {
      const body = newBody();
      const { engine, stream } = await begin(body);
      stream.abort();
      const again = await open(cluster, body, { node: 1 });
      await again.until(({ chunks }) => contentOf(chunks) === 'One, ', 'the first piece again');
      assert.equal(again.headers['x-parley-attached'], '1');
      await finish(engine, 'two.', 'One, two.');
      await assertWhole(again, 'One, two.');
    });

    test('so does one whose notes come in another order', async () => {
      const body = newBody();
      const { engine, stream } = await begin({ ...body, client_metadata: { a: '1', b: '2' } });
      stream.abort();
      const again = await open(cluster, { ...body, client_metadata: { b: '2', a: '1' } }, { node: 1 });
      await finish(engine, 'two.', 'One, two.');
      await assertWhole(again, 'One, two.');
      assert.equal(again.headers['x-parley-attached'], '1');
    });

    test('another account, and other members, get nothing of it', async () => {
      const body = newBody();
      const { engine, stream } = await begin(body);
      stream.abort();
      for (const [sent, options] of [[body, { as: 'Frontend_1', headers: { 'x-parley-user': 'User_1' } }], [{ ...body, temperature: 0.5 }, {}]]) {
        const other = await begin(sent, options);
        assert.notEqual(other.engine.of.Topic, engine.of.Topic);
        assert.equal(other.stream.headers['x-parley-attached'], undefined);
        other.stream.abort();
      }
    });

    test('an engine that is lost is continued, and not noticed', async () => {
      const { engine, stream } = await begin();
      await lose(engine);
      const second = await new Engine(cluster, { continues: true }).take();
      assert.equal(second.details.Continue, 'One, ');
      await finish(second, 'two.', 'One, two.');
      await assertWhole(stream, 'One, two.');
    });

    test('where none continues, the stream ends with an error of its form', async () => {
      const { engine, stream } = await begin();
      await lose(engine);
      const other = await new Engine(cluster).take();
      await stream.whole();
      assert.ok(lost(stream.chunks.at(-1)), stream.text.slice(-1000));
      assert.ok(!stream.chunks.some(({ type }) => type === last));
      await other.answer([], { Answer: ['x'] });
    });

    test('a stream begins while it waits, and says so again and again', async () => {
      const engine = await engineOf(cluster);
      const stream = await open(cluster, newBody());
      await engine.take(engine.parked);
      await stream.until(({ text }) => (text.match(/^(event)?: ping$/gm) ?? []).length >= 2, 'two pings');
      await finish(engine, 'Late.');
      await assertWhole(stream, 'Late.');
    });

    test('a text of 1 MiB is asked and answered as it is', async () => {
      const text = 'ä"\\\n'.repeat((1 << 20) / 5);
      const engine = await engineOf(cluster);
      const answer = send(cluster, newBody(text));
      await engine.take(engine.parked);
      assert.equal(engine.body.messages[0].content, text);
      for (let at = 0; at < text.length; at += 100_000) assertOk(await engine.give(deltaOf({ content: text.slice(at, at + 100_000) })));
      await finish(engine, '', 'long');
      assert.ok((await answer) === text);
    });
  });

  suite(`${name}: 300 at once`, {}, ({ test, cluster }) => {
    test('each gets its own answer', async () => {
      const served = await startServed(cluster, ({ body }, response) => response.events([chunk({ content: `You say: ${body.messages.at(-1).content}` }), chunk({}, 'stop')]), ['--slots', 8]);
      try {
        const one = async (i) => {
          const body = { ...newBody(`This is ${i}.`), model: 'm' };
          const options = { as: 'Frontend_1', headers: { 'x-parley-user': `user${i % 10}` } };
          if (i % 2) return assert.equal(await send(cluster, body, options), `You say: This is ${i}.`);
          return assertWhole(await open(cluster, body, { ...options, node: i % 4 ? 1 : 0 }), `You say: This is ${i}.`);
        };
        await Promise.all(Array.from({ length: 300 }, (_, i) => one(i)));
      } finally {
        await served.stop();
      }
    });
  });

  for (const transport of ['socket', 'routes'])
    suite(`${name}: parley engine, by its ${transport}`, {}, ({ test, cluster }) => {
      test('one that is killed in the middle of a stream is continued by another one', async () => {
        const model = await startModel(({ body }, response) => {
          const { role, content } = body.messages.at(-1);
          if (role === 'assistant') return response.events([chunk({ content: `[${content}|continued]` }), chunk({}, 'stop')]);
          return response.event(chunk({ content: 'One, ' })); // and no end
        });
        const start = () => startEngine(cluster, ['--llm', model.url, '--model', 'm', '--continues', '--transport', transport, '--slots', 1]);
        const first = await start();
        let second;
        try {
          await eventually(async () => assertOk(await ask(cluster, 'GET', '/v1/models')).data.some(({ id }) => id === 'm'), { what: 'the model is listed' });
          const stream = await open(cluster, { ...newBody(), model: 'm' }, { node: 1 });
          await stream.until(({ chunks }) => contentOf(chunks) === 'One, ', 'the first piece');
          second = await start();
          first.child.kill('SIGKILL');
          const [key] = await cluster.redis.cmd('KEYS', '*:t:ask.*');
          await cluster.leaseEndsIn(key.split(':t:')[1], 1);
          await assertWhole(stream, 'One, [One, |continued]');
        } finally {
          first.child.kill('SIGKILL');
          await second?.stop();
          await model.stop();
        }
      });
    });
}
