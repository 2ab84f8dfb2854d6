// SPDX-License-Identifier: MIT
//
// OpenAI's own client against real nodes and `parley engine`, with model servers whose responses the tests write.
import assert from 'node:assert/strict';
import OpenAI, { BadRequestError } from 'openai';
import { chunk } from '../support/door_model.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { tokenOf } from '../support/openai.mjs';
import { startServed } from '../support/openai_served.mjs';

const messages = [{ role: 'user', content: 'What is the meaning of life?' }];
const USAGE = { choices: [], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } };

for (const transport of ['socket', 'routes'])
  suite(`OpenAI's client and the engine, by its ${transport}`, {}, ({ test, cluster }) => {
    // Runs body({client, model}) with an engine in front of that model server.
    async function withModel(answer, body, args = []) {
      const { model, stop } = await startServed(cluster, answer, ['--transport', transport, '--slots', 2, ...args]);
      const client = new OpenAI({ baseURL: `${cluster.pick(1).url}/v1`, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 0 });
      try {
        assert.deepEqual((await client.models.list()).data.map(({ id }) => id), ['parley/documents', 'm']);
        await body({ client, model });
      } finally {
        await stop();
      }
    }

    const call = (more) => chunk({ tool_calls: [{ index: 0, ...more }] });
    test('a chat, plain and streamed, with tools', () =>
      withModel(({ body }, response) => response.events(body.tools
        ? [call({ id: 'call_1', type: 'function', function: { name: 'f', arguments: '' } }), call({ function: { arguments: '{"a":' } }), call({ function: { arguments: '1}' } }), chunk({}, 'stop'), USAGE]
        : [chunk({ role: 'assistant', content: '' }), chunk({ content: 'Forty-' }), chunk({ content: 'two' }), chunk({}, 'stop'), USAGE]), async ({ client }) => {
        const plain = await client.chat.completions.create({ model: 'm', messages });
        assert.deepEqual([plain.choices[0].message.content, plain.choices[0].finish_reason, plain.usage.total_tokens], ['Forty-two', 'stop', 10]);
        const stream = client.chat.completions.stream({ model: 'm', messages, tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] });
        const { choices } = await stream.finalChatCompletion();
        assert.equal(choices[0].finish_reason, 'tool_calls');
        assert.deepEqual(choices[0].message.tool_calls.map(({ id, function: { name, arguments: text } }) => [id, name, text]), [['call_1', 'f', '{"a":1}']]);
      }));

    test('a long answer comes whole', () =>
      withModel((_, response) => response.events([...Array.from({ length: 400 }, (__, i) => chunk({ content: `${i} ${'é'.repeat(900)}\n` })), chunk({}, 'length')]), async ({ client }) => {
        let text = '';
        for await (const { choices } of await client.chat.completions.create({ model: 'm', messages, stream: true })) text += choices[0]?.delta.content ?? '';
        assert.deepEqual(text.trimEnd().split('\n').map((line) => parseInt(line, 10)), Array.from({ length: 400 }, (_, i) => i));
      }));

    test('what the model server refuses is the client\'s error', () =>
      withModel((_, response) => response.json({ error: { message: 'too long', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } }, 400), ({ client }) =>
        assert.rejects(client.chat.completions.create({ model: 'm', messages, stream: true }), (error) => {
          assert.ok(error instanceof BadRequestError);
          assert.deepEqual([error.status, error.code, error.param], [400, 'context_length_exceeded', 'messages']);
          return true;
        })));

    test('embeddings and a text without messages', () =>
      withModel(({ path }, response) => (path === '/v1/embeddings' ? response.json({ data: [{ object: 'embedding', index: 0, embedding: [0.5, -0.25] }], usage: { prompt_tokens: 2, total_tokens: 2 } })
        : response.events([{ choices: [{ index: 0, text: 'Once.', finish_reason: 'stop' }] }])), async ({ client }) => {
        const { data, usage } = await client.embeddings.create({ model: 'm', input: 'Hi' });
        assert.deepEqual([[...data[0].embedding], usage.prompt_tokens], [[0.5, -0.25], 2]);
        assert.equal((await client.completions.create({ model: 'm', prompt: 'Say' })).choices[0].text, 'Once.');
      }, ['--embeddings-url', 'URL']));

    test('a client that hangs up while the model is silent closes the connection to its server', () =>
      withModel(() => {}, async ({ client, model }) => {
        const controller = new AbortController();
        const asked = client.chat.completions.create({ model: 'm', messages, stream: true }, { signal: controller.signal });
        await eventually(() => model.seen.length === 1, { what: 'the server is asked' });
        controller.abort();
        await assert.rejects(asked);
        await eventually(() => model.seen[0].isGone, { what: 'its connection is closed' });
      }));
  });
