// SPDX-License-Identifier: MIT
//
// What broke in other servers of OpenAI's interface, each as a test: through `parley engine`, in front of a model server that
// behaves as badly as those did, or at a node alone. Answers and events fit OpenAI's specification, here as everywhere.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { chunk } from '../support/door_model.mjs';
import { assertAnthropicError, assertOk, assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { ask, assertChunks, deltaOf, engineOf, openChat } from '../support/openai.mjs';
import { startServed } from '../support/openai_served.mjs';

const messages = [{ role: 'user', content: 'What is the meaning of life?' }];
const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const tools = [{ type: 'function', function: { name: 'read', parameters: { type: 'object', properties: { path: { type: 'string' } } } } }];
const call = (...tool_calls) => chunk({ tool_calls });
const text = (content) => chunk({ content });
const END = chunk({}, 'stop');

suite('what broke elsewhere', {}, ({ test, cluster }) => {
  let served;
  let answer;
  after(() => served?.stop());
  // The server sends these events, or does what that function says.
  async function serve(sends) {
    answer = typeof sends === 'function' ? sends : (response) => response.events(sends);
    served ??= await startServed(cluster, (seen, response) => answer(response, seen), ['--slots', 2, '--embeddings-url', 'URL']);
    served.model.seen.length = 0;
    return served;
  }
  const plain = (body, options) => ask(cluster, 'POST', '/v1/chat/completions', { body: { model: 'm', messages, ...body }, ...options });
  const streamed = async (body, options) => (await openChat(cluster, { model: 'm', messages, ...body }, options)).whole();
  const choicesOf = (chunks) => chunks.flatMap(({ choices }) => choices);
  const callsOf = (chunks) => choicesOf(chunks).flatMap(({ delta }) => delta.tool_calls ?? []);
  const argumentsOf = (calls, at = 0) => calls.filter(({ index }) => index === at).map((one) => one.function.arguments ?? '').join('');
  const endOf = (chunks) => choicesOf(chunks).map(({ finish_reason }) => finish_reason).filter(Boolean);
  // A stream whose server does that when its first piece has been read.
  async function broken(breaks) {
    let isRead;
    const read = new Promise((resolve) => (isRead = resolve));
    await serve(async (response) => {
      response.event(text('a'));
      await read;
      breaks(response);
    });
    const stream = await openChat(cluster, { model: 'm', messages });
    await stream.until(({ chunks }) => chunks.length === 1, 'the first piece');
    isRead();
    return stream.whole();
  }
  const both = async (sends, body) => {
    await serve(sends);
    return { chunks: assertChunks(await streamed(body)), whole: assertOk(await plain(body)).choices[0] };
  };

  test('1: a tool call without an index gets one, in each piece', async () => {
    const { chunks } = await both([call({ id: 'call_a', function: { name: 'read', arguments: '' } }), call({ function: { arguments: '{}' } }), call({ id: 'call_b', function: { name: 'read', arguments: '{}' } }), END], { tools });
    assert.deepEqual(callsOf(chunks).map(({ index }) => index), [0, 0, 1]);
  });

  test('2, 33: tool calls come while streaming, and a request with tools may stream', async () => {
    const { chunks } = await both((response, { body }) => {
      assert.deepEqual([body.tools, body.stream], [tools, true]);
      response.events([call({ index: 0, id: 'call_a', type: 'function', function: { name: 'read', arguments: '{}' } }), END]);
    }, { tools });
    assert.deepEqual(callsOf(chunks), [{ index: 0, id: 'call_a', type: 'function', function: { name: 'read', arguments: '{}' } }]);
  });

  test('3: after tool calls the reason is tool_calls, whatever the server says', async () => {
    for (const reason of ['stop', 'tool_call', 'tool_use', 'eos_token']) {
      const { chunks, whole } = await both([call({ index: 0, id: 'call_a', function: { name: 'read', arguments: '{}' } }), chunk({}, reason)], { tools });
      assert.deepEqual([endOf(chunks), whole.finish_reason], [['tool_calls'], 'tool_calls'], reason);
    }
  });

  test('4: arguments that are an object become its text', async () => {
    const { chunks, whole } = await both([call({ index: 0, id: 'call_a', function: { name: 'read', arguments: { path: 'ä "b"', lines: [1, 2] } } }), END], { tools });
    for (const given of [argumentsOf(callsOf(chunks)), whole.message.tool_calls[0].function.arguments]) assert.deepEqual(JSON.parse(given), { path: 'ä "b"', lines: [1, 2] });
  });

  test('5: no arguments are the empty object, never an empty text', async () => {
    for (const given of ['', null, undefined]) {
      const { chunks, whole } = await both([call({ index: 0, id: 'call_a', function: { name: 'read', arguments: given } }), END], { tools });
      assert.deepEqual([argumentsOf(callsOf(chunks)), whole.message.tool_calls[0].function.arguments], ['{}', '{}']);
    }
  });

  test('6: a tool call has an id, and all chunks have that of the response', async () => {
    for (const id of ['', null, undefined]) {
      const { chunks, whole } = await both([call({ index: 0, id, function: { name: 'read', arguments: '{' } }), call({ index: 0, id: '', function: { arguments: '}' } }), END], { tools });
      const calls = callsOf(chunks);
      assert.match(calls[0].id, /^call_\w+$/);
      assert.ok(!('id' in calls[1]));
      assert.match(whole.message.tool_calls[0].id, /^call_\w+$/);
    }
  });

  test('7, 8: tool_choice reaches the server as it is, as a word and as an object', async () => {
    for (const tool_choice of ['required', 'none', { type: 'function', function: { name: 'read' } }]) {
      const { model } = await serve([call({ index: 0, id: 'call_a', function: { name: 'read', arguments: '{}' } }), END]);
      assert.equal(assertOk(await plain({ tools, tool_choice })).choices[0].message.tool_calls.length, 1);
      assertChunks(await streamed({ tools, tool_choice }));
      assert.deepEqual(model.seen.map(({ body }) => body.tool_choice), [tool_choice, tool_choice]);
    }
  });

  test('9: joined pieces lose nothing of the arguments, however they are cut', async () => {
    const wanted = JSON.stringify({ path: `"ä\\🦜\n${'x'.repeat(5000)}`, lines: Array.from({ length: 300 }, (_, i) => i) });
    const pieces = Array.from(wanted);
    const { chunks, whole } = await both([call({ index: 0, id: 'call_a', function: { name: 'read', arguments: pieces[0] } }), ...pieces.slice(1).map((piece) => call({ index: 0, function: { arguments: piece } })), END], { tools });
    assert.equal(argumentsOf(callsOf(chunks)), wanted);
    assert.equal(whole.message.tool_calls[0].function.arguments, wanted);
  });

  test('10: a limit of length within a tool call is that reason, and no failure', async () => {
    const { chunks, whole } = await both([call({ index: 0, id: 'call_a', function: { name: 'read', arguments: '{"pa' } }), chunk({}, 'length')], { tools });
    assert.deepEqual([endOf(chunks), argumentsOf(callsOf(chunks))], [['length'], '{"pa']);
    assert.deepEqual([whole.finish_reason, whole.message.tool_calls[0].function.arguments], ['length', '{"pa']);
  });

  test('11, 12: what has not ended is null, and each choice has one reason', async () => {
    const { chunks } = await both([chunk({ content: 'a' }, ''), chunk({ content: 'b' }, ''), END, END, chunk({}, 'length')]);
    assert.deepEqual(choicesOf(chunks).map(({ finish_reason }) => finish_reason), [null, null, 'stop']);
  });

  test('13: the first delta has the role, and none has members that are null without another', async () => {
    const { chunks } = await both([chunk({ role: null, content: null }), chunk({ content: 'a', role: null }), chunk({ content: 'b', tool_calls: null, function_call: null }), END]);
    const deltas = choicesOf(chunks).map(({ delta }) => delta);
    assert.deepEqual(deltas, [{ role: 'assistant', content: 'a', refusal: null }, { content: 'b' }, {}]);
  });

  test('14: counts of tokens come if they are asked for, once and last, and otherwise not', async () => {
    await serve([text('a'), END, { choices: [], usage }]);
    const asked = assertChunks(await streamed({ stream_options: { include_usage: true } }));
    assert.deepEqual(asked.map((one) => one.usage), [null, null, usage]);
    for (const stream_options of [undefined, null, {}, { include_usage: false }])
      assert.ok(assertChunks(await streamed({ stream_options })).every((one) => !('usage' in one) && one.choices.length === 1));
  });

  test('15, 18: `refusal` is there and null, and thoughts are in whole answers, too', async () => {
    const { whole } = await both([chunk({ reasoning: 'Hm.' }), text('a'), END]);
    assert.deepEqual(whole.message, { role: 'assistant', content: 'a', refusal: null, reasoning: 'Hm.', reasoning_content: 'Hm.' });
  });

  test('16: thoughts have both names, whichever the server sends', async () => {
    for (const name of ['reasoning', 'reasoning_content']) {
      const { chunks } = await both([chunk({ [name]: 'Hm.' }), text('a'), END]);
      assert.deepEqual(choicesOf(chunks).filter(({ delta }) => 'reasoning' in delta).map(({ delta }) => [delta.reasoning, delta.reasoning_content]), [['Hm.', 'Hm.']]);
    }
  });

  test('17: thoughts of earlier turns reach the server under either name', async () => {
    const turns = [...messages, { role: 'assistant', content: '42', reasoning: 'Hm.' }, { role: 'assistant', content: '43', reasoning_content: 'Hmm.' }, ...messages];
    const { model } = await serve([text('a'), END]);
    assertOk(await plain({ messages: turns }));
    assert.deepEqual(model.seen[0].body.messages, turns);
  });

  test('19: max_completion_tokens reaches the server, and so does max_tokens', async () => {
    const { model } = await serve([text('a'), chunk({}, 'length')]);
    assertOk(await plain({ max_completion_tokens: 5 }));
    assertOk(await plain({ max_tokens: 6 }));
    assert.deepEqual(model.seen.map(({ body }) => [body.max_completion_tokens, body.max_tokens]), [[5, undefined], [undefined, 6]]);
  });

  test('20, 21: vectors are base64 if that is asked for, also of tokens, although the server sends numbers', async () => {
    const floats = [0.25, -1.5, 3, 0];
    const { model } = await serve((response) => response.json({ object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: floats }], usage }));
    for (const input of ['a', [1, 2, 3], [[1, 2], [3]]]) {
      const { data } = assertOk(await ask(cluster, 'POST', '/v1/embeddings', { body: { model: 'm', input, encoding_format: 'base64' } }));
      assert.deepEqual([...new Float32Array(new Uint8Array(Buffer.from(data[0].embedding, 'base64')).buffer)], floats);
      assert.deepEqual(model.seen.at(-1).body.input, input);
    }
  });

  test('22: a context that is too long is 400 before the stream, not 200 with a text', async () => {
    await serve((response) => response.json({ error: { message: 'Too long.', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' } }, 400));
    const stream = await streamed({});
    assert.deepEqual([stream.status, JSON.parse(stream.text).error.code], [400, 'context_length_exceeded']);
    assert.equal((await plain({})).status, 400);
  });

  test('23, 25: a failure in the middle is an error and then [DONE]', async () => {
    const { events, chunks, ended } = await broken((response) => response.events([{ error: { message: 'It broke.', code: 500 } }], { done: false }));
    assert.deepEqual([Object.keys(chunks.at(-1)), events.at(-1), ended], [['error'], '[DONE]', 'end']);
  });

  test('24: a server that ends without a finish_reason has failed', async () => {
    const { events, chunks } = await broken((response) => response.end());
    assert.deepEqual([Object.keys(chunks.at(-1)), events.at(-1)], [['error'], '[DONE]']);
    await serve((response) => response.events([text('a')], { done: false }));
    assertOpenaiError(await plain({}), 503, 'engine_failed');
  });

  test('26: without `stream` the answer is JSON, also for a client that accepts events', async () => {
    await serve([text('a'), END]);
    for (const stream of [undefined, false, null]) {
      const response = await plain({ stream }, { headers: { Accept: 'text/event-stream' } });
      assert.equal(assertOk(response).choices[0].message.content, 'a');
    }
  });

  test('27: the models are a list, always', async () => {
    await serve([END]);
    const { object, data } = assertOk(await ask(cluster, 'GET', '/v1/models'));
    assert.deepEqual([object, data.map(({ id }) => id)], ['list', ['parley/documents', 'm']]);
  });

  test('28, 29, 31: a response streams: its events are in order, their numbers rise without gaps, and each text has logprobs', async () => {
    await serve([text('a'), text('b'), END]);
    const { chunks: events } = await (await openChat(cluster, { model: 'm', input: 'Hi' }, { path: '/v1/responses' })).whole();
    assert.deepEqual(events.map(({ sequence_number }) => sequence_number), events.map((_, i) => i));
    assert.deepEqual(
      events.map(({ type }) => type.replace('response.', '')),
      ['created', 'queued', 'in_progress', 'output_item.added', 'content_part.added', 'output_text.delta', 'output_text.delta', 'output_text.done', 'content_part.done', 'output_item.done', 'completed'],
    );
    for (const event of events.filter(({ type }) => type.startsWith('response.output_text.'))) assert.deepEqual(event.logprobs, [], event.type);
    assert.equal(events.at(-1).response.output[0].content[0].text, 'ab');
  });

  test('30: a response is resumed with the rest of its events, and one that was not kept is 404, never 200 with nothing', async () => {
    const respond = async (body) => {
      await serve([text('a'), text('b'), END]);
      return (await (await openChat(cluster, { model: 'm', input: 'Hi', ...body }, { path: '/v1/responses' })).whole()).chunks;
    };
    const resume = (id) => ask(cluster, 'GET', `/v1/responses/${id}`, { query: { stream: 'true', starting_after: 2 } });
    const kept = await respond({});
    const rest = (await resume(kept.at(-1).response.id)).text.split('\n').filter((line) => line.startsWith('data: ')).map((line) => JSON.parse(line.slice(6)));
    assert.deepEqual(rest, kept.slice(3));
    const passing = await respond({ store: false });
    assertOpenaiError(await resume(passing.at(-1).response.id), 404);
  });

  test('32: members that are null count as absent', async () => {
    await serve([text('a'), END]);
    const nothing = Object.fromEntries(['stream_options', 'n', 'user', 'tools', 'tool_choice', 'stop', 'temperature', 'max_tokens', 'response_format', 'seed', 'logprobs', 'metadata'].map((name) => [name, null]));
    assert.equal(assertOk(await plain({ ...nothing, stream: null })).choices[0].message.content, 'a');
    assertChunks(await streamed(nothing));
  });

  const messageOf = (body) => ({ model: 'm', max_tokens: 10, messages, ...body });

  test('34, 35: message_start has usage, and each event of messages its name', async () => {
    await serve([text('a'), END]);
    const stream = await (await openChat(cluster, messageOf(), { path: '/v1/messages' })).whole();
    const [start] = stream.chunks;
    assert.equal(start.type, 'message_start');
    for (const member of ['input_tokens', 'output_tokens']) assert.equal(typeof start.message.usage[member], 'number', member);
    const names = [...stream.text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
    assert.deepEqual(names, stream.chunks.map(({ type }) => type));
    assert.equal(names.at(-1), 'message_stop');
  });

  test('36: tokens are counted, and the 404 of an unknown path does not mention a model', async () => {
    await serve([END]);
    assert.ok(assertOk(await ask(cluster, 'POST', '/v1/messages/count_tokens', { body: messageOf() })).input_tokens > 0);
    const { message } = assertAnthropicError(await ask(cluster, 'POST', '/v1/messages/count_tokenz', { body: messageOf() }), 404, 'not_found_error');
    assert.doesNotMatch(message, /model/);
  });

  test('37, 38: a sign of life is a comment of one line, and never data', async () => {
    await serve((response) => void setTimeout(() => response.events([text('a'), END]), 1500));
    const stream = await streamed({});
    assertChunks(stream);
    assert.match(stream.text, /^(: ping\n)+data: /);
  });

  test('39: a slash at the end is accepted', async () => {
    await serve([text('a'), END]);
    for (const path of ['/v1/chat/completions/', '/openai/v1/chat/completions/'])
      assert.equal(assertOk(await ask(cluster, 'POST', path, { body: { model: 'm', messages } })).choices[0].message.content, 'a');
  });

  test('40: comments alone end by the deadline of the caller, with an error', async () => {
    const engine = await engineOf(cluster, { models: 'silent' });
    const stream = await openChat(cluster, { model: 'silent', messages }, { headers: { 'X-Stainless-Timeout': '2' } });
    await engine.take(engine.parked);
    await stream.whole();
    assert.deepEqual([stream.chunks.map((one) => one.error.code), stream.events.at(-1)], [['no_answer'], '[DONE]']);
    await eventually(async () => (await engine.give(deltaOf({ content: 'late' }))).status !== 200, { what: 'its claim has ended' });
  });

  test('a choice may begin when another has ended', async () => {
    const of = (index, delta, finish_reason = null) => ({ choices: [{ index, delta, finish_reason }] });
    const { chunks } = await both([of(0, { content: 'One' }, 'stop'), of(1, { content: 'Two' }, 'stop')], { n: 2 });
    assert.deepEqual(choicesOf(chunks).map(({ index, delta }) => [index, delta.content]), [[0, 'One'], [1, 'Two']]);
  });
});
