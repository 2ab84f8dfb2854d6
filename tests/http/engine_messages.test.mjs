// SPDX-License-Identifier: MIT
//
// `parley engine --apis messages`: requests of Anthropic's interface reach its model server as they came, and its events become
// deltas; servers that do it differently; and the whole way from Anthropic's own client to the server and back.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import Anthropic, { BadRequestError } from '@anthropic-ai/sdk';
import { blockDelta, blockStart, blockStop, messageDelta, messageStart, textEvents } from '../support/anthropic.mjs';
import { withDoor } from '../support/door_engine.mjs';
import { makeFolder, suite } from '../support/harness.mjs';
import { tokenOf } from '../support/openai.mjs';
import { startServed } from '../support/openai_served.mjs';

const MESSAGES = [{ role: 'user', content: 'Hi?' }];
const STOP = { type: 'message_stop' };
const hello = [...textEvents('Hello ', 'you.')];
const END = messageDelta({ stop_reason: 'end_turn', stop_sequence: null }, { output_tokens: 2 });
const HELLO = [messageStart(), { type: 'ping' }, ...hello, END, STOP];
const ask = (more = {}) => ({ api: 'messages', model: 'm', request: { model: 'm', max_tokens: 9, messages: MESSAGES, ...more } });
const WHOLE = {
  id: 'msg_x', type: 'message', role: 'assistant', model: 'odd', stop_reason: 'tool_use', stop_sequence: null, usage: { input_tokens: 5, cache_read_input_tokens: 3, output_tokens: 7 },
  content: [{ type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }, { type: 'text', text: 'ä'.repeat(200_000) }, { type: 'tool_use', id: 'toolu_1', name: 'f', input: { a: ['x'.repeat(100_000)] } }],
};
// As a client puts the blocks of a stream together.
function contentOf(events) {
  const blocks = [], inputs = new Map();
  for (const { type, index, content_block: block, delta } of events) {
    if (type === 'content_block_start') {
      assert.equal(index, blocks.length);
      blocks.push(structuredClone(block));
    }
    if (delta?.type === 'text_delta') blocks[index].text += delta.text;
    if (delta?.type === 'thinking_delta') blocks[index].thinking += delta.thinking;
    if (delta?.type === 'signature_delta') blocks[index].signature = delta.signature;
    if (delta?.type === 'input_json_delta') inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json);
  }
  for (const [index, text] of inputs) blocks[index].input = JSON.parse(text);
  return blocks;
}

for (const socket of [false, true])
  describe(`messages, ${socket ? 'over the socket' : 'by the routes'}`, () => {
    const args = ['--model', 'm', '--apis', 'chat,messages'];
    const test = (name, answer, body, options = {}) => it(name, { timeout: 90_000 }, () => withDoor(socket, answer, body, { args, ...options }));

    test('a request goes to the server whole, and its events to the node one by one', (_, response) => response.named(HELLO), async ({ node, model }) => {
      const more = { system: 'Be brief.', tools: [{ type: 'web_search_20250305', name: 'web_search' }], stream_options: { odd: 1 }, odd: { deep: [1.0] } };
      const job = node.ask(ask({ ...more, stream: false }));
      const { answer } = await job.over();
      assert.equal(model.seen[0].path, '/v1/messages');
      assert.equal(model.seen[0].headers['anthropic-version'], '2023-06-01');
      assert.deepEqual(model.seen[0].body, { model: 'm', max_tokens: 9, messages: MESSAGES, ...more, odd: { deep: [1] }, stream: true });
      const { id, model: of, ...start } = messageStart().message;
      assert.deepEqual(job.chunks[0].message.usage, start.usage);
      assert.deepEqual(job.chunks.slice(1), [...hello, END]);
      assert.deepEqual([answer.Answer, answer.Think, answer.FinishReason, answer.Usage], [['Hello you.'], null, 'stop', { prompt_tokens: 5, completion_tokens: 2 }]);
      assert.deepEqual([node.polls[0].Models, node.polls[0].Apis], ['m', 'chat,messages']);
    });

    test('thinking, calls of tools, and what only this server has', (_, response) => response.named([
      messageStart({ usage: { input_tokens: 5, cache_creation_input_tokens: 2, cache_read_input_tokens: 4, output_tokens: 1 } }),
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }), blockDelta(0, { type: 'thinking_delta', thinking: 'Hm.' }), blockDelta(0, { type: 'signature_delta', signature: 's' }), blockStop(0),
      blockStart(1, { type: 'odd_block', odd: [1] }), blockStop(1), { type: 'odd_event' },
      blockStart(2, { type: 'tool_use', id: 't', name: 'f', input: {} }), blockDelta(2, { type: 'input_json_delta', partial_json: '{"a":1}' }), blockStop(2),
      messageDelta({ stop_reason: 'tool_use' }, { output_tokens: 12 }), STOP,
    ]), async ({ node }) => {
      const job = node.ask(ask());
      const { answer } = await job.over();
      assert.deepEqual(contentOf(job.chunks), [{ type: 'thinking', thinking: 'Hm.', signature: 's' }, { type: 'odd_block', odd: [1] }, { type: 'tool_use', id: 't', name: 'f', input: { a: 1 } }]);
      assert.ok(job.chunks.every(({ type }) => type !== 'odd_event'));
      assert.deepEqual([answer.Answer, answer.Think, answer.FinishReason, answer.Usage], [[''], ['Hm.'], 'tool_calls', { prompt_tokens: 11, completion_tokens: 12 }]);
    });

    test('a server that does not stream', (_, response) => response.json(WHOLE), async ({ node }) => {
      const job = node.ask(ask({ stream: true }));
      const { answer } = await job.over();
      assert.deepEqual(contentOf(job.chunks), WHOLE.content);
      assert.ok(job.deltas.every((delta) => delta.length < 256 << 10));
      assert.deepEqual(job.chunks.at(-1), messageDelta({ stop_reason: 'tool_use', stop_sequence: null }, WHOLE.usage));
      assert.equal(job.chunks[0].message.content, undefined);
      assert.deepEqual([answer.FinishReason, answer.Usage], ['tool_calls', { prompt_tokens: 8, completion_tokens: 7 }]);
    });

    test('a server that refuses to stream is asked once more without', ({ body }, response) => (body.stream ? response.json({ type: 'error', error: { type: 'invalid_request_error', message: 'stream is not supported' } }, 400) : response.json(WHOLE)), async ({ node, model }) => {
      await node.ask(ask()).over();
      await node.ask(ask()).over();
      assert.deepEqual(model.seen.map(({ body }) => body.stream), [true, undefined, undefined]);
    });

    test('half a character at the end of one event and the other at the start of the next', (_, response) => {
      const half = (text) => `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"${text}"}}\n\n`;
      response.named([messageStart(), hello[0]], { end: false });
      response.write(half('a\\ud83d') + half('\\ude00b'));
      response.named([blockStop(0), END, STOP]);
    }, async ({ node }) => {
      const job = node.ask(ask());
      const { answer } = await job.over();
      assert.deepEqual([contentOf(job.chunks)[0].text, answer.Answer], ['a😀b', ['a😀b']]);
    });

    test('a long delta is cut', (_, response) => response.named([messageStart(), ...textEvents('é'.repeat(300_000)), END, STOP]), async ({ node }) => {
      const job = node.ask(ask());
      await job.over();
      assert.equal(contentOf(job.chunks)[0].text, 'é'.repeat(300_000));
    });

    const refusals = {
      'what the server refuses is the client\'s error': [(_, response) => response.json({ type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } }, 400), { status: 400, message: 'prompt is too long', type: 'invalid_request_error', param: null, code: null }],
      'a server without the route': [(_, response) => response.json({ error: { message: 'no such route' } }, 404), { status: 404, message: 'no such route', type: null, param: null, code: null }],
      'an error in the stream that will come again': [(_, response) => response.named([messageStart(), { type: 'error', error: { type: 'invalid_request_error', message: 'no' } }]), { status: 400, message: 'no', type: 'invalid_request_error', param: null, code: null }],
    };
    for (const [name, [answer, error]] of Object.entries(refusals))
      test(name, answer, async ({ node }) => {
        const { release } = await node.ask(ask()).over();
        assert.deepEqual([release.Retry, release.Error], [false, error]);
      });

    const lost = {
      'a server that is overloaded in the middle': [[messageStart(), hello[0], { type: 'error', error: { type: 'overloaded_error', message: 'busy' } }], /busy/],
      'an answer that breaks off': [[messageStart(), ...hello], /without a finish_reason/],
      'a delta before its block': [[messageStart(), hello[1], END, STOP], /in no order/],
      'a block that is not the next one': [[messageStart(), blockStart(3, { type: 'text', text: '' }), END, STOP], /in no order/],
      'the end of a block that never began': [[messageStart(), blockStop(0), END, STOP], /in no order/],
    };
    for (const [name, [events, reason]] of Object.entries(lost))
      test(`${name} is an attempt`, (_, response) => response.named(events), async ({ node }) => {
        const { release } = await node.ask(ask()).over();
        assert.ok(release, 'it is given back');
        assert.match(release.Reason, reason);
        assert.equal(release.Retry, true);
      });
  });

it('the key reaches the server as both interfaces have it', { timeout: 60_000 }, async () => {
  const folder = makeFolder();
  const file = join(folder.dir, 'key');
  writeFileSync(file, 'k-1\n', { mode: 0o600 });
  await withDoor(false, (_, response) => response.named(HELLO), async ({ node, model }) => {
    await node.ask(ask()).over();
    const { authorization, 'x-api-key': key } = model.seen[0].headers;
    assert.deepEqual([authorization, key], ['Bearer k-1', 'k-1']);
  }, { args: ['--model', 'm', '--apis', 'messages', '--llm-key-file', file] });
  folder.remove();
});

for (const transport of ['socket', 'routes'])
  suite(`Anthropic's client and a server of messages, by the engine's ${transport}`, { nodes: 2 }, ({ test, cluster }) => {
    const args = ['--transport', transport, '--slots', 2, '--apis', 'chat,messages'];
    async function withServer(answer, body) {
      const { model, stop } = await startServed(cluster, answer, args);
      const client = new Anthropic({ baseURL: cluster.pick(1).url, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 0 });
      try {
        await body({ client, model });
      } finally {
        await stop();
      }
    }
    const request = { model: 'm', max_tokens: 9, messages: MESSAGES };

    test('plain and streamed, with thinking that is sent back in the next turn', () =>
      withServer((_, response) => response.named([
        messageStart(), blockStart(0, { type: 'thinking', thinking: '', signature: '' }), blockDelta(0, { type: 'thinking_delta', thinking: 'Hm.' }), blockDelta(0, { type: 'signature_delta', signature: 'c2ln' }), blockStop(0),
        blockStart(1, { type: 'text', text: '' }), ...Array.from({ length: 300 }, (_, i) => blockDelta(1, { type: 'text_delta', text: `${i} ${'é'.repeat(300)}\n` })), blockStop(1),
        messageDelta({ stop_reason: 'stop_sequence', stop_sequence: 'END' }, { output_tokens: 20 }), STOP,
      ]), async ({ client, model }) => {
        const plain = await client.messages.create({ ...request, tools: [{ type: 'web_search_20250305', name: 'web_search' }] });
        const streamed = await client.messages.stream(request).finalMessage();
        for (const { content, stop_reason, stop_sequence, usage } of [plain, streamed]) {
          assert.deepEqual(content[0], { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' });
          assert.deepEqual(content[1].text.trimEnd().split('\n').map((line) => parseInt(line, 10)), Array.from({ length: 300 }, (_, i) => i));
          assert.deepEqual([stop_reason, stop_sequence, usage], ['stop_sequence', 'END', { input_tokens: 5, output_tokens: 20 }]);
        }
        const turn = [...MESSAGES, { role: 'assistant', content: streamed.content }, { role: 'user', content: 'More.' }];
        await client.messages.create({ ...request, messages: turn });
        assert.deepEqual(model.seen.at(-1).body.messages, turn);
        assert.ok(model.seen.every(({ path }) => path === '/v1/messages'));
      }));

    test("what the server refuses is the client's error", () =>
      withServer((_, response) => response.json({ type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long' } }, 400), ({ client }) =>
        assert.rejects(client.messages.create(request), (error) => error instanceof BadRequestError && /prompt is too long/.test(error.message))));
  });
