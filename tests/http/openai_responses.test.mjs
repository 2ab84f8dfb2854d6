// SPDX-License-Identifier: MIT
//
// POST /v1/responses: what clients get, from engines that serve chat. Each answer and event is held to OpenAI's specification.
import assert from 'node:assert/strict';
import OpenAI, { BadRequestError } from 'openai';
import { assertOk, assertOpenaiError, suite } from '../support/harness.mjs';
import { ask, deltaOf, engineOf, fits, openChat, tokenOf } from '../support/openai.mjs';

const PATH = '/v1/responses';
const INPUT = 'What is the meaning of life?';
const TOOLS = [{ type: 'function', name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} }, strict: false }];
const USAGE = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"completion_tokens_details":{"reasoning_tokens":2}}}';
const respond = (cluster, body = {}, options) => ask(cluster, 'POST', PATH, { body: { model: 'llama3', input: INPUT, ...body }, ...options });
const open = (cluster, body = {}, options) => openChat(cluster, { model: 'llama3', input: INPUT, ...body }, { path: PATH, ...options });
const callOf = (index, more) => deltaOf({ tool_calls: [{ index, ...more }] });

// Holds a whole stream to what all have in common; returns its events.
function assertEvents(stream) {
  assert.equal(stream.status, 200, stream.text);
  assert.match(stream.headers['content-type'], /^text\/event-stream/);
  assert.equal(stream.ended, 'end');
  assert.ok(!stream.text.includes('[DONE]'));
  const events = stream.chunks;
  for (const event of events) fits('ResponseStreamEvent', event);
  assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, i) => i));
  assert.deepEqual(events.slice(0, 2).map(({ type }) => type), ['response.created', 'response.queued']);
  assert.deepEqual(stream.text.split('\n').filter((line) => line.startsWith('event: ')).map((line) => line.slice(7)), events.map(({ type }) => type));
  return events;
}

suite('responses', {}, ({ test, cluster }) => {
  const waiting = (options) => engineOf(cluster, options);
  const clientOf = async (node = 0) => new OpenAI({ baseURL: `${cluster.pick(node).url}/v1`, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 0 });

  test('the engine gets the request as that of a chat, and its answer is a response', async () => {
    const engine = await waiting();
    const response = respond(cluster, { instructions: 'Be brief.', max_output_tokens: 50, temperature: 0.5, custom: [1, { a: 'ä' }], tools: TOOLS, store: false });
    await engine.take(engine.parked);
    assert.equal(engine.details.Api, 'chat');
    assert.deepEqual(engine.claim.Queries, [{ 1: INPUT }]);
    assert.deepEqual(engine.body, {
      stream: true,
      stream_options: { include_usage: true },
      model: 'llama3',
      max_completion_tokens: 50,
      temperature: 0.5,
      custom: [1, { a: 'ä' }],
      tools: [{ type: 'function', function: { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} }, strict: false } }],
      messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: INPUT }],
    });
    assertOk(await engine.give(deltaOf({ reasoning: 'Hm.' }), deltaOf({ content: 'Forty' }), deltaOf({ content: '-"two" ä \n' })));
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'stop' }), USAGE]));
    const answer = fits('Response', assertOk(await response));
    assert.match(answer.id, /^resp_\w{24}$/);
    assert.equal(answer.status, 'completed');
    assert.equal(answer.instructions, 'Be brief.');
    assert.deepEqual(answer.tools, TOOLS);
    assert.equal(answer.store, false);
    assert.deepEqual(answer.output.map(({ type }) => type), ['reasoning', 'message']);
    assert.equal(answer.output[0].content[0].text, 'Hm.');
    assert.equal(answer.output[1].content[0].text, 'Forty-"two" ä \n');
    assert.equal(answer.usage.input_tokens, 7);
    assert.equal(answer.usage.output_tokens, 3);
    assert.equal(answer.usage.output_tokens_details.reasoning_tokens, 2);
  });

  test('a stream on another node has the events of the specification in their order, and ends with the response', async () => {
    const engine = await waiting({ node: 0 });
    const stream = await open(cluster, {}, { node: 1 });
    await engine.take(engine.parked);
    await stream.until(({ text }) => text.includes('response.queued'), 'the head');
    assertOk(await engine.give(deltaOf({ role: 'assistant', content: '' }), deltaOf({ content: 'Forty' })));
    await stream.until(({ text }) => text.includes('"delta":"Forty"'), 'the first piece');
    assertOk(await engine.answer([deltaOf({ content: '-two' }, { finish_reason: 'stop' }), USAGE]));
    const events = assertEvents(await stream.whole());
    assert.deepEqual(events.map(({ type }) => type.replace('response.', '')), [
      'created', 'queued', 'in_progress', 'output_item.added', 'content_part.added', 'output_text.delta', 'output_text.delta',
      'output_text.done', 'content_part.done', 'output_item.done', 'completed',
    ]);
    const { response } = events.at(-1);
    assert.equal(response.output[0].content[0].text, 'Forty-two');
    assert.equal(response.id, events[0].response.id);
    assert.equal(response.usage.total_tokens, 10);
  });

  test('calls of functions and their outputs go through a stream and a plain answer', async () => {
    const engine = await waiting();
    const stream = await open(cluster, { tools: TOOLS, tool_choice: 'required' });
    await engine.take(engine.parked);
    assertOk(await engine.answer([
      callOf(0, { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"a"' } }),
      callOf(1, { id: 'call_2', type: 'function', function: { name: 'read', arguments: '' } }),
      callOf(0, { function: { arguments: ':1}' } }),
      deltaOf({}, { finish_reason: 'tool_calls' }),
    ]));
    const { output } = assertEvents(await stream.whole()).at(-1).response;
    assert.deepEqual(output.map(({ call_id, name, arguments: given }) => [call_id, name, given]), [['call_1', 'read', '{"a":1}'], ['call_2', 'read', '{}']]);
    const next = await waiting();
    const outputs = output.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: `of ${call_id}` }));
    const response = respond(cluster, { tools: TOOLS, input: [{ role: 'user', content: INPUT }, ...output, ...outputs] });
    await next.take(next.parked);
    const [, assistant, ...tools] = next.body.messages;
    assert.deepEqual(assistant.tool_calls.map(({ id }) => id), ['call_1', 'call_2']);
    assert.deepEqual(tools, output.map(({ call_id }) => ({ role: 'tool', tool_call_id: call_id, content: `of ${call_id}` })));
    assertOk(await next.answer([deltaOf({ content: 'Done.' }, { finish_reason: 'stop' })]));
    assert.equal(fits('Response', assertOk(await response)).output[0].content[0].text, 'Done.');
  });

  // As Codex has its tools.
  test('a function of a namespace is called by both names, in a response that is kept, too', async () => {
    const inner = [{ type: 'function', name: 'close', description: 'Closes.', parameters: { type: 'object', properties: {} }, strict: false }];
    const space = { type: 'namespace', name: 'agents', description: 'Agents.', tools: inner };
    const engine = await waiting();
    const stream = await open(cluster, { store: true, tools: [{ type: 'web_search' }, space, ...TOOLS] });
    await engine.take(engine.parked);
    assert.deepEqual(engine.body.tools.map(({ function: { name } }) => name), ['agents__close', 'read']);
    assertOk(await engine.answer([callOf(0, { id: 'call_1', type: 'function', function: { name: 'agents__close', arguments: '{}' } }), deltaOf({}, { finish_reason: 'tool_calls' })]));
    const { id, output, tools } = assertEvents(await stream.whole()).at(-1).response;
    assert.deepEqual([output[0].namespace, output[0].name], ['agents', 'close']);
    assert.deepEqual(tools[0], space);
    assert.deepEqual(fits('Response', assertOk(await ask(cluster, 'GET', `${PATH}/${id}`))).output, output);
    const next = await waiting();
    const response = respond(cluster, { previous_response_id: id, input: [{ type: 'function_call_output', call_id: 'call_1', output: 'closed' }] });
    await next.take(next.parked);
    assert.equal(next.body.messages.at(-2).tool_calls[0].function.name, 'agents__close');
    assertOk(await next.answer([deltaOf({ content: 'Done.' }, { finish_reason: 'stop' })]));
    fits('Response', assertOk(await response));
  });

  test('an answer that is cut is incomplete', async () => {
    const engine = await waiting();
    const response = respond(cluster);
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'For' }, { finish_reason: 'length' })]));
    const { status, incomplete_details } = fits('Response', assertOk(await response));
    assert.deepEqual([status, incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
  });

  test('a failure before the head has its status, and after it is the last event', async () => {
    const engine = await waiting();
    const response = respond(cluster);
    await engine.take(engine.parked);
    assertOk(await engine.refuse({ status: 400, message: 'Too much context.', type: 'invalid_request_error', code: 'context_length_exceeded' }));
    assert.match(assertOpenaiError(await response, 400, 'context_length_exceeded').message, /Too much context/);
    const next = await waiting();
    const stream = await open(cluster);
    await next.take(next.parked);
    assertOk(await next.give(deltaOf({ content: 'For' })));
    await stream.until(({ text }) => text.includes('"delta":"For"'), 'the first piece');
    assertOk(await next.refuse({ status: 500, message: 'It broke.' }));
    const last = assertEvents(await stream.whole()).at(-1);
    assert.equal(last.type, 'response.failed');
    assert.equal(last.response.status, 'failed');
    assert.equal(last.response.error.message, 'It broke.');
  });

  test('what is not possible is 400, names the member and stores nothing', async () => {
    const engine = await waiting();
    const before = await cluster.redis.cmd('KEYS', '*:t:ask.*');
    const refused = async (body, named) => assert.match(assertOpenaiError(await respond(cluster, body), 400).message, named);
    await refused({ input: [] }, /input/);
    await refused({ input: null }, /input/);
    await refused({ tools: [...TOOLS, { type: 'file_search' }] }, /tools\[1\].*file_search/);
    await refused({ model: 5 }, /model/);
    await refused({ stream: 'yes' }, /stream/);
    assertOpenaiError(await respond(cluster, { model: 'nobody' }), 404, 'model_not_found');
    assertOpenaiError(await respond(cluster, {}, { as: 'Inference_1' }), 403);
    assert.deepEqual((await cluster.redis.cmd('KEYS', '*:t:ask.*')).filter((key) => !before.includes(key)), []);
    const response = respond(cluster);
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'Yes.' }, { finish_reason: 'stop' })]));
    assertOk(await response);
  });

  test('thousands of items pass, and what is nested too deep or too large is refused', async () => {
    const engine = await waiting();
    const input = Array.from({ length: 20_000 }, (_, i) => ({ role: i % 2 ? 'assistant' : 'user', content: `${i}` }));
    const response = respond(cluster, { input });
    await engine.take(engine.parked);
    assert.equal(engine.body.messages.length, 20_000);
    assertOk(await engine.answer([deltaOf({ content: 'Yes.' }, { finish_reason: 'stop' })]));
    assertOk(await response);
    assertOpenaiError(await respond(cluster, { input: 'A'.repeat(4 << 20) }), 413);
    assertOpenaiError(await respond(cluster, { input: JSON.parse(`${'['.repeat(70)}${']'.repeat(70)}`) }), 400);
    const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`m${i}`, i]));
    assertOpenaiError(await respond(cluster, many), 400);
  });

  test("OpenAI's client creates and streams responses", async () => {
    const engine = await waiting();
    const client = await clientOf();
    const created = client.responses.create({ model: 'llama3', input: INPUT });
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'Forty-two' }, { finish_reason: 'stop' })]));
    assert.equal((await created).output_text, 'Forty-two');
    const next = await waiting();
    const stream = (await clientOf(1)).responses.stream({ model: 'llama3', input: INPUT, tools: TOOLS });
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => {
      text += delta;
    });
    const final = stream.finalResponse();
    await next.take(next.parked);
    assertOk(await next.answer([
      deltaOf({ content: 'Forty' }),
      deltaOf({ content: '-two' }),
      callOf(0, { id: 'call_1', function: { name: 'read', arguments: '{}' } }),
      deltaOf({}, { finish_reason: 'tool_calls' }),
    ]));
    const { output, output_text } = await final;
    assert.equal(text, 'Forty-two');
    assert.equal(output_text, 'Forty-two');
    assert.equal(output[1].name, 'read');
    await assert.rejects(client.responses.create({ model: 'llama3', input: INPUT, tools: [{ type: 'file_search' }] }), BadRequestError);
  });
});
