// SPDX-License-Identifier: MIT
//
// OpenAI's own client for Node, unmodified, against the routes of OpenAI's interface.
import assert from 'node:assert/strict';
import OpenAI, { APIError, BadRequestError, NotFoundError } from 'openai';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { deltaOf, engineOf, tokenOf } from '../support/openai.mjs';

const MESSAGES = [{ role: 'user', content: 'What is the meaning of life?' }];

suite("OpenAI's client", {}, ({ test, cluster }) => {
  const clientOf = async (node = 0) => new OpenAI({ baseURL: `${cluster.pick(node).url}/v1`, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 0 });
  const waiting = () => engineOf(cluster);
  const finished = (delta, finish_reason = 'stop') => deltaOf(delta, { finish_reason });

  test('lists models, and reads a chat', async () => {
    const client = await clientOf();
    const engine = await waiting();
    await eventually(async () => (await client.models.list()).data.some(({ id }) => id === 'llama3'), { what: 'the model is listed' });
    const answer = client.chat.completions.create({ model: 'llama3', messages: MESSAGES });
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'Forty-' }), finished({ content: 'two' })]));
    const { choices } = await answer;
    assert.equal(choices[0].message.content, 'Forty-two');
    assert.equal(choices[0].finish_reason, 'stop');
  });

  test('streams a chat from another node than that of the engine, after a comment, too', async () => {
    const client = await clientOf(1);
    const engine = await waiting();
    const answer = client.chat.completions.stream({ model: 'llama3', messages: MESSAGES, stream_options: { include_usage: true } });
    let text = '';
    answer.on('content', (more) => {
      text += more;
    });
    const connected = new Promise((resolve) => {
      answer.on('connect', resolve);
    });
    await engine.take(engine.parked);
    await connected; // the head, after a second, with a comment
    assertOk(await engine.give(deltaOf({ content: 'Forty-' })));
    await eventually(() => text === 'Forty-', { what: 'the first piece' });
    assertOk(await engine.answer([finished({ content: 'two' })]));
    const whole = await answer.finalChatCompletion();
    assert.equal(whole.choices[0].message.content, 'Forty-two');
    assert.ok((await answer.totalUsage()).total_tokens > 0);
  });

  test('puts a tool call together', async () => {
    const client = await clientOf();
    const engine = await waiting();
    const answer = client.chat.completions.stream({ model: 'llama3', messages: MESSAGES, tools: [{ type: 'function', function: { name: 'read', parameters: {} } }] });
    await engine.take(engine.parked);
    assert.equal(engine.body.tools[0].function.name, 'read');
    const call = (more) => ({ tool_calls: [{ index: 0, ...more }] });
    assertOk(await engine.answer([
      deltaOf(call({ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path"' } })),
      deltaOf(call({ function: { arguments: ':"x"}' } })),
      finished({}, 'tool_calls'),
    ]));
    const { choices } = await answer.finalChatCompletion();
    assert.deepEqual(choices[0].message.tool_calls[0].function.arguments, '{"path":"x"}');
    assert.equal(choices[0].finish_reason, 'tool_calls');
  });

  test('gets errors as what they are, before the head and after it', async () => {
    const client = await clientOf();
    await assert.rejects(client.chat.completions.create({ model: 'nobody', messages: MESSAGES }), (error) => error instanceof NotFoundError && error.code === 'model_not_found');
    const engine = await waiting();
    const refused = assert.rejects(
      client.chat.completions.create({ model: 'llama3', messages: MESSAGES, stream: true }),
      (error) => error instanceof BadRequestError && error.code === 'context_length_exceeded',
    );
    await engine.take(engine.parked);
    assertOk(await engine.refuse({ status: 400, message: 'Too long.', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' }));
    await refused;
    const other = await waiting();
    const stream = client.chat.completions.create({ model: 'llama3', messages: MESSAGES, stream: true });
    await other.take(other.parked);
    assertOk(await other.give(deltaOf({ content: 'Half' })));
    const read = [];
    await assert.rejects(
      async () => {
        for await (const chunk of await stream) {
          read.push(chunk.choices[0].delta.content);
          assertOk(await other.refuse({ status: 500, message: 'It broke.' }));
        }
      },
      (error) => error instanceof APIError && /It broke/.test(error.message),
    );
    assert.deepEqual(read, ['Half']);
  });

  test('embeds, in the form that it asks for by itself', async () => {
    const client = await clientOf();
    const engine = await waiting();
    const answer = client.embeddings.create({ model: 'llama3', input: ['one', 'two'] });
    await engine.take(engine.parked);
    const data = [[0.25, -1.5], [3, 4]].map((embedding, index) => ({ object: 'embedding', index, embedding }));
    assertOk(await engine.answer([JSON.stringify({ object: 'list', data, model: 'x', usage: { prompt_tokens: 2, total_tokens: 2 } })], { Answer: [''] }));
    assert.deepEqual((await answer).data.map(({ embedding }) => [...embedding]), [[0.25, -1.5], [3, 4]]);
  });

  test('a request that it aborts frees the engine', async () => {
    const client = await clientOf();
    const engine = await waiting();
    const abort = new AbortController();
    const answer = client.chat.completions.create({ model: 'llama3', messages: MESSAGES }, { signal: abort.signal });
    await engine.take(engine.parked);
    abort.abort();
    await assert.rejects(answer);
    await eventually(async () => (await engine.give(deltaOf({ content: 'x' }))).status !== 200, { what: 'its claim has ended' });
  });
});
