// SPDX-License-Identifier: MIT
//
// /v1/messages: Anthropic's own client for Node, unmodified, and requests that it would not send.
import assert from 'node:assert/strict';
import Anthropic, { APIError, AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { assertAnthropicError, assertOk, eventually, suite } from '../support/harness.mjs';
import { ask, deltaOf, engineOf, openChat, tokenOf } from '../support/openai.mjs';

const MESSAGES = [{ role: 'user', content: 'What is the meaning of life?' }];
const REQUEST = { model: 'llama3', max_tokens: 100, messages: MESSAGES };
const finished = (delta, finish_reason = 'stop') => deltaOf(delta, { finish_reason });
const callOf = (index, more) => deltaOf({ tool_calls: [{ index, ...more }] });
const TOOLS = [{ name: 'read', description: 'Reads a file.', input_schema: { type: 'object', properties: { path: { type: 'string' } } } }];

suite("Anthropic's client", {}, ({ test, cluster }) => {
  const clientOf = async ({ node = 0, as = 'User_1', ...options } = {}) =>
    new Anthropic({ baseURL: cluster.pick(node).url, apiKey: await tokenOf(cluster, as), maxRetries: 0, ...options });
  const waiting = () => engineOf(cluster);
  const send = (body, options) => ask(cluster, 'POST', '/v1/messages', { body, ...options });

  test('a message in one piece', async () => {
    const client = await clientOf();
    const engine = await waiting();
    const answer = client.messages.create({ ...REQUEST, system: 'Be brief.', stop_sequences: ['END'] });
    await engine.take(engine.parked);
    assert.deepEqual(engine.claim.Queries, [{ 1: MESSAGES[0].content }]);
    assert.deepEqual(engine.body, { model: 'llama3', messages: [{ role: 'system', content: 'Be brief.' }, ...MESSAGES], max_tokens: 100, stop: ['END'] });
    assertOk(await engine.answer([deltaOf({ content: 'Forty-' }), finished({ content: 'two' }), '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}']));
    const message = await answer;
    assert.match(message.id, /^msg_\w{24}$/);
    assert.deepEqual(message.content, [{ type: 'text', text: 'Forty-two' }]);
    assert.equal(message.stop_reason, 'end_turn');
    assert.deepEqual(message.usage, { input_tokens: 7, output_tokens: 3 });
  });

  test('a stream with thinking, from another node than that of the engine, after pings, too', async () => {
    const client = await clientOf({ node: 1 });
    const engine = await waiting();
    const answer = client.messages.stream({ ...REQUEST, thinking: { type: 'enabled', budget_tokens: 2000 } });
    const kinds = [];
    answer.on('streamEvent', ({ type }) => kinds.push(type));
    await engine.take(engine.parked);
    assert.equal(engine.body.reasoning_effort, 'low');
    await eventually(() => kinds.includes('message_start'), { what: 'the start, while it waits' });
    assertOk(await engine.give(deltaOf({ reasoning_content: 'Hm' }), deltaOf({ content: 'Forty-' })));
    await eventually(() => kinds.filter((kind) => kind === 'content_block_delta').length === 3, { what: 'the first pieces' });
    assertOk(await engine.answer([finished({ content: 'two' }, 'length')]));
    const message = await answer.finalMessage();
    assert.deepEqual(message.content, [{ type: 'thinking', thinking: 'Hm', signature: '' }, { type: 'text', text: 'Forty-two' }]);
    assert.equal(message.stop_reason, 'max_tokens');
    assert.ok(message.usage.input_tokens > 0 && message.usage.output_tokens > 0);
  });

  test('a tool is called, and its result is sent in the next turn', async () => {
    const client = await clientOf();
    const first = await waiting();
    const answer = client.messages.stream({ ...REQUEST, tools: TOOLS, tool_choice: { type: 'any' } });
    await first.take(first.parked);
    assert.deepEqual(first.body.tools, [{ type: 'function', function: { name: 'read', description: 'Reads a file.', parameters: TOOLS[0].input_schema } }]);
    assert.equal(first.body.tool_choice, 'required');
    assertOk(await first.answer([
      deltaOf({ content: 'I look.' }),
      callOf(0, { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"pa' } }),
      callOf(0, { function: { arguments: 'th":"x"}' } }),
      finished({}, 'tool_calls'),
    ]));
    const { content, stop_reason } = await answer.finalMessage();
    assert.equal(stop_reason, 'tool_use');
    assert.deepEqual(content, [{ type: 'text', text: 'I look.' }, { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'x' } }]);
    const second = await waiting();
    const turn = [...MESSAGES, { role: 'assistant', content }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'text of x' }] }];
    const next = client.messages.create({ ...REQUEST, tools: TOOLS, messages: turn });
    await second.take(second.parked);
    assert.deepEqual(second.body.messages.slice(1), [
      { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"x"}' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'text of x' },
    ]);
    assertOk(await second.answer([finished({ content: 'Done.' })]));
    assert.deepEqual((await next).content, [{ type: 'text', text: 'Done.' }]);
  });

  test('tokens are estimated', async () => {
    const client = await clientOf();
    const { input_tokens } = await client.messages.countTokens({ model: 'llama3', messages: [{ role: 'user', content: 'x'.repeat(4000) }] });
    assert.ok(input_tokens > 1000 && input_tokens < 1100, input_tokens);
  });

  test('errors have their classes', async () => {
    const client = await clientOf();
    await assert.rejects(client.messages.create({ ...REQUEST, model: 'nobody' }), (error) => error instanceof NotFoundError && error.type === 'not_found_error');
    await assert.rejects(client.messages.create({ ...REQUEST, tools: [{ type: 'web_search_20250305', name: 'web_search' }] }), (error) => error instanceof BadRequestError && /web_search/.test(error.message));
    const stranger = await clientOf({ apiKey: 'User_1:wrong' });
    await assert.rejects(stranger.messages.create(REQUEST), (error) => error instanceof AuthenticationError && error.type === 'authentication_error');
  });

  test("an engine's error has its status, and is an event once the stream has begun", async () => {
    const client = await clientOf();
    const engine = await waiting();
    const refused = assert.rejects(client.messages.create(REQUEST), (error) => error instanceof BadRequestError && /too long/.test(error.message));
    await engine.take(engine.parked);
    assertOk(await engine.refuse({ status: 400, message: 'It is too long.' }));
    await refused;
    const other = await waiting();
    const stream = client.messages.stream(REQUEST);
    const failed = assert.rejects(stream.finalMessage(), (error) => error instanceof APIError && error.error.error.type === 'api_error');
    await other.take(other.parked);
    assertOk(await other.give(deltaOf({ content: 'Forty-' })));
    await eventually(() => stream.currentMessage?.content.length === 1, { what: 'the first piece' });
    assertOk(await other.refuse({ status: 500, message: 'It broke.' }));
    await failed;
  });

  test('refusals before the request is read have the same form', async () => {
    assertAnthropicError(await cluster.request('POST', '/v1/messages', { body: REQUEST }), 401);
    assertAnthropicError(await cluster.request('POST', '/openai/v1/messages/', { body: REQUEST }), 401);
    assertAnthropicError(await ask(cluster, 'POST', '/openai/v1/messages', { body: { ...REQUEST, messages: [] } }), 400);
    assertAnthropicError(await ask(cluster, 'POST', '/openai/v1/messages/count_tokens', { body: {} }), 400);
    assertAnthropicError(await ask(cluster, 'GET', '/v1/messages'), 405);
    assertAnthropicError(await ask(cluster, 'GET', '/v1/messages/batches'), 404);
    assertAnthropicError(await send({ ...REQUEST, messages: [{ role: 'user', content: 'A'.repeat(4 << 20) }] }), 413);
    assertAnthropicError(await send('{"model":'), 400);
    assertAnthropicError(await send({ ...REQUEST, max_tokens: undefined }), 400);
  });

  test('a client that hangs up frees its engine, and its retry gets the answer that it left', async () => {
    const engine = await waiting();
    const open = () => openChat(cluster, REQUEST, { path: '/v1/messages' });
    const left = await open();
    await engine.take(engine.parked);
    assertOk(await engine.give(deltaOf({ content: 'Forty-' })));
    await left.until(({ text }) => text.includes('Forty-'), 'the first piece');
    left.abort();
    const retry = await open();
    await retry.until(({ text }) => text.includes('Forty-'), 'the first piece again');
    assert.equal(retry.headers['x-parley-attached'], '1');
    assertOk(await engine.answer([finished({ content: 'two' })]));
    assert.match((await retry.whole()).text, /event: message_stop\ndata: {"type":"message_stop"}\n\n$/);
  });

  test('an equal body at chat/completions is another request', async () => {
    const engine = await waiting();
    const left = await openChat(cluster, REQUEST, { path: '/v1/messages' });
    await engine.take(engine.parked);
    const next = await waiting();
    left.abort();
    const other = await openChat(cluster, REQUEST);
    await next.take(next.parked);
    assertOk(await next.answer([finished({ content: 'Yes.' })]));
    assert.match((await other.whole()).text, /\[DONE\]/);
    assert.equal(other.headers['x-parley-attached'], undefined);
  });

  test('hostile requests are refused or answered, and the node stays', async () => {
    const deep = `${'['.repeat(60)}${']'.repeat(60)}`;
    assertAnthropicError(await send(`{"model":"llama3","max_tokens":1,"messages":[{"role":"user","content":[${deep}]}]}`), 400);
    assertAnthropicError(await send({ ...REQUEST, messages: Array.from({ length: 5000 }, () => ({ role: 'nobody', content: '' })) }), 400);
    const engine = await waiting();
    const content = Array.from({ length: 10_000 }, (_, i) => ({ type: 'text', text: `${i}${'"\\\n'.repeat(30)}` }));
    const answer = send({ ...REQUEST, messages: [{ role: 'user', content }] });
    await engine.take(engine.parked);
    assert.equal(engine.body.messages[0].content.length, 10_000);
    assert.deepEqual(engine.body.messages[0].content[9999], content[9999]);
    assertOk(await engine.answer([finished({ content: 'Long.' })]));
    assert.equal(assertOk(await answer).content[0].text, 'Long.');
  });
});
