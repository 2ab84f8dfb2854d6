// SPDX-License-Identifier: MIT
//
// POST /v1/chat/completions: what clients get, from engines at the routes that a test writes.
import assert from 'node:assert/strict';
import { assertOk, assertOpenaiError, assertProblem, eventually, suite } from '../support/harness.mjs';
import { ask, assertChunks, deltaOf, engineOf, fits, openChat } from '../support/openai.mjs';

const MESSAGES = [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'What is the meaning of life?' }];
const chat = (cluster, body = {}, options) => ask(cluster, 'POST', '/v1/chat/completions', { body: { model: 'llama3', messages: MESSAGES, ...body }, ...options });
const topics = (cluster) => cluster.redis.cmd('KEYS', '*:t:ask.*');
// Earlier ones may expire meanwhile.
const assertNoneNew = async (cluster, before) => assert.deepEqual((await topics(cluster)).filter((key) => !before.includes(key)), []);

suite('chat completions', {}, ({ test, cluster }) => {
  const waiting = (options) => engineOf(cluster, options);

  test('the request reaches the engine byte for byte, and the answer is made of its pieces', async () => {
    const engine = await waiting();
    const body = `{ "model":"llama3",\n\t"messages" : ${JSON.stringify(MESSAGES)}, "custom": [1, 2.50, {"ä": "\\u00e4"}], "temperature": null }`;
    const response = ask(cluster, 'POST', '/v1/chat/completions', { body, headers: { 'Content-Type': 'application/json' } });
    await engine.take(engine.parked);
    assert.equal(engine.details.Request, body);
    assert.equal(engine.details.Api, 'chat');
    assert.equal(engine.details.Model, 'llama3');
    assert.equal(engine.details.User, 'User_1');
    assert.deepEqual(engine.claim.Queries, [{ 1: 'What is the meaning of life?' }]);
    assertOk(await engine.give(deltaOf({ role: 'assistant', content: '' }), deltaOf({ content: 'Forty' }), deltaOf({ content: '-"two" \u00e4 \n' })));
    assertOk(await engine.give(deltaOf({}, { finish_reason: 'stop' }), '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}'));
    assertOk(await engine.answer());
    const answer = fits('CreateChatCompletionResponse', assertOk(await response));
    assert.match(answer.id, /^chatcmpl-\w{24}$/);
    assert.equal(answer.model, 'llama3');
    assert.deepEqual(answer.choices, [{ index: 0, message: { role: 'assistant', content: 'Forty-"two" \u00e4 \n', refusal: null }, logprobs: null, finish_reason: 'stop' }]);
    assert.deepEqual(answer.usage, { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 });
  });

  test('tool calls, choices, logprobs, refusals and reasoning are put together', async () => {
    const engine = await waiting();
    const response = chat(cluster, { n: 2 });
    await engine.take(engine.parked);
    const call = (index, more) => ({ tool_calls: [{ index, ...more }] });
    const token = (text) => ({ token: text, logprob: -0.5, bytes: null, top_logprobs: [] });
    assertOk(await engine.give(
      deltaOf({ role: 'assistant', reasoning: 'Hm' }),
      deltaOf({ reasoning: 'm.' }),
      deltaOf(call(0, { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"pa' } })),
      deltaOf({ content: 'One', role: 'assistant' }, { index: 1, logprobs: { content: [token('One')], refusal: null } }),
      deltaOf(call(1, { id: 'call_2', type: 'function', function: { name: 'now', arguments: '' } })),
      deltaOf(call(0, { function: { arguments: 'th":"x"}' } })),
      deltaOf({ content: ' two' }, { index: 1, logprobs: { content: [token(' two')], refusal: null } }),
    ));
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'tool_calls' }), deltaOf({ refusal: 'No.' }, { index: 1, finish_reason: 'length' })]));
    const { choices } = fits('CreateChatCompletionResponse', assertOk(await response));
    assert.deepEqual(choices[0], {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        reasoning: 'Hmm.',
        reasoning_content: 'Hmm.',
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path":"x"}' } },
          { id: 'call_2', type: 'function', function: { name: 'now', arguments: '{}' } },
        ],
      },
      logprobs: null,
      finish_reason: 'tool_calls',
    });
    assert.deepEqual(choices[1], {
      index: 1,
      message: { role: 'assistant', content: 'One two', refusal: 'No.' },
      logprobs: { content: [token('One'), token(' two')], refusal: null },
      finish_reason: 'length',
    });
  });

  test('an engine that sends text and no deltas is shown, too', async () => {
    const engine = await waiting();
    const response = chat(cluster);
    await engine.take(engine.parked);
    assertOk(await engine.post('give-partial', { ...engine.of, Offset: 0, Think: 'Hm', Answer: 'Forty' }));
    assertOk(await engine.post('give-new-answer', { ...engine.of, Query: MESSAGES[1].content, Answer: ['Forty-two'], Think: ['Hm'], FinishReason: 'length', Usage: { prompt_tokens: 1, completion_tokens: 2 } }));
    const { choices, usage } = fits('CreateChatCompletionResponse', assertOk(await response));
    assert.equal(choices[0].message.content, 'Forty-two');
    assert.equal(choices[0].message.reasoning, 'Hm');
    assert.equal(choices[0].finish_reason, 'length');
    assert.deepEqual(usage, { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 });
  });

  test('a long request is read by the node of its engine, whichever that is', async () => {
    for (const node of [0, 1]) {
      const engine = await waiting({ node });
      const content = `${'"\\\n'.repeat(60_000)}ende`;
      const response = chat(cluster, { messages: [{ role: 'user', content }] }, { node: 0 });
      await engine.take(engine.parked);
      assert.equal(engine.body.messages[0].content, content);
      assert.equal([...Object.values(engine.claim.Queries[0])[0]].length, 200);
      assertOk(await engine.answer([deltaOf({ content: 'Long.' }, { finish_reason: 'stop' })]));
      assert.equal(assertOk(await response).choices[0].message.content, 'Long.');
    }
  });

  test('a request of 3 MiB passes, and one of more than 4 MiB is refused', async () => {
    const engine = await waiting();
    const image = 'A'.repeat(3 << 20);
    const response = chat(cluster, { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: image } }, { type: 'text', text: 'See?' }] }] });
    await engine.take(engine.parked);
    assert.equal(engine.body.messages[0].content[0].image_url.url.length, 3 << 20);
    assert.deepEqual(engine.claim.Queries, [{ 1: 'See?' }]);
    assertOk(await engine.answer([deltaOf({ content: 'Yes.' }, { finish_reason: 'stop' })]));
    assertOk(await response);
    assertOpenaiError(await chat(cluster, { messages: [{ role: 'user', content: 'A'.repeat(4 << 20) }] }), 413);
  });

  test('a model that nobody names is 404, an Api that its engine does not serve as well, and nothing is stored', async () => {
    await waiting({ models: 'embedder', apis: 'embeddings' });
    const before = await topics(cluster);
    for (const model of ['nobody', 'embedder', 'chat/llama3'])
      assert.match(assertOpenaiError(await chat(cluster, { model }), 404, 'model_not_found').message, new RegExp(`'${model}'`));
    await assertNoneNew(cluster, before);
  });

  test('without an engine for it, a model that was there is 503 at once', async () => {
    await waiting({ models: 'gone' });
    const key = 'parley:{0}:models_seen';
    await eventually(() => cluster.redis.cmd('HGET', key, 'chat/gone'), { what: 'it was seen' });
    await cluster.redis.cmd('HSET', key, 'chat/away', `${Date.now() - 60_000} Inference_1 `);
    const response = await chat(cluster, { model: 'away' });
    assertOpenaiError(response, 503, 'no_engine');
    assert.ok(Number(response.headers['retry-after']) <= 60);
  });

  test('mistakes are 400, name the member and store nothing', async () => {
    const engine = await waiting();
    const before = await topics(cluster);
    const refused = async (body, named) => assert.match(assertOpenaiError(await chat(cluster, body), 400).message, named);
    await refused({ model: 5 }, /model/);
    await refused({ model: null }, /model/);
    await refused({ messages: [] }, /messages/);
    await refused({ messages: 'hello' }, /messages/);
    await refused({ stream: 'yes' }, /stream/);
    await refused({ stream: true, stream_options: 1 }, /stream_options/);
    await refused({ n: 0 }, /n/);
    await refused({ n: 10_000 }, /n/);
    assertOpenaiError(await ask(cluster, 'POST', '/v1/chat/completions', { body: '{"model":', headers: { 'Content-Type': 'application/json' } }), 400);
    assert.match(assertOpenaiError(await chat(cluster, {}, { as: 'Frontend_1' }), 400).message, /x-parley-user/);
    await assertNoneNew(cluster, before);
    assertOpenaiError(await chat(cluster, {}, { as: 'Inference_1' }), 403);
    assertOpenaiError(await cluster.request('POST', '/v1/chat/completions', { body: {} }), 401);
    const response = chat(cluster);
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'ok' }, { finish_reason: 'stop' })]));
    assertOk(await response);
  });

  test('null counts as absent, and a frontend asks for the person that its header or body names', async () => {
    for (const [options, wanted] of [[{ headers: { 'x-parley-user': 'bob' } }, 'bob'], [{ body: { user: 'carol' } }, 'carol']]) {
      const engine = await waiting();
      const response = chat(cluster, { stream: null, n: null, stream_options: null, tools: null, ...options.body }, { as: 'Frontend_1', headers: options.headers });
      await engine.take(engine.parked);
      assert.equal(engine.details.User, wanted);
      assertOk(await engine.answer([deltaOf({ content: 'ok' }, { finish_reason: 'stop' })]));
      assertOk(await response);
    }
  });

  test('an error of the engine is the answer, with its status', async () => {
    const engine = await waiting();
    const response = chat(cluster);
    await engine.take(engine.parked);
    assertOk(await engine.refuse({ status: 400, message: 'Too long: "ä".', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' }));
    const { status, json } = await response;
    assert.equal(status, 400);
    fits('ErrorResponse', json);
    assert.deepEqual(json.error, { message: 'Too long: "ä".', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' });
    assertProblem(await engine.post('release-claim', { Topic: 't', Lease: '1', Retry: false, Error: 'no' }), 400, 'bad_request');
  });

  test('pieces that do not follow are refused with what is there, and overlap is ignored', async () => {
    const engine = await waiting();
    const response = chat(cluster);
    await engine.take(engine.parked);
    const first = deltaOf({ content: 'Forty' });
    assert.equal(assertOk(await engine.give(first)).Next, first.length);
    const gap = async (Offset, route = 'give-partial', more = {}) => assertProblem(await engine.post(route, { ...engine.of, Offset, Deltas: [deltaOf({ content: 'x' })], ...more }), 409, 'partial_gap').expected;
    assert.equal(await gap(first.length + 5), first.length);
    assert.equal(await gap(5), first.length); // it ends behind what is there, and begins within
    assert.equal(await gap(first.length + 5, 'give-new-answer', { Answer: ['x'] }), first.length);
    assert.equal(assertOk(await engine.post('give-partial', { ...engine.of, Offset: 0, Deltas: [first, deltaOf({ content: '-two' })] })).Next, engine.offset + deltaOf({ content: '-two' }).length);
    for (const Deltas of ['x', [5], ['not json'], ['[]'], ['{"a":\n1}']])
      assert.match(assertProblem(await engine.post('give-partial', { ...engine.of, Offset: 0, Deltas }), 400, 'bad_request').detail, /Deltas/);
    engine.offset = first.length + deltaOf({ content: '-two' }).length;
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'stop' })]));
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'stop' })])); // sent again
    assert.equal(assertOk(await response).choices[0].message.content, 'Forty-two');
  });

  test('an engine that gives its claim back leaves no trace in an answer that is not streamed', async () => {
    const engine = await waiting();
    const response = chat(cluster);
    await engine.take(engine.parked);
    assertOk(await engine.give(deltaOf({ content: 'Wrong' })));
    assertOk(await engine.post('release-claim', { Topic: engine.of.Topic, Lease: engine.of.Lease, Reason: 'tired' }));
    await engine.take();
    assertOk(await engine.answer([deltaOf({ content: 'Right' }, { finish_reason: 'stop' })]));
    assert.equal(assertOk(await response).choices[0].message.content, 'Right');
  });

  test('what has ended is deleted after a minute, and in no list of topics', async () => {
    const engine = await waiting();
    const response = chat(cluster);
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'ok' }, { finish_reason: 'stop' })]));
    assertOk(await response);
    const due = async () => Number(await cluster.redis.cmd('ZSCORE', 'parley:{0}:asks', engine.of.Topic));
    await eventually(async () => (await due()) <= Date.now() + 60_000, { what: 'it is due' });
    assert.equal((await ask(cluster, 'GET', '/api/user-topics', { query: { OnBehalfOf: 'User_1' } })).status, 404);
    await cluster.redis.cmd('ZADD', 'parley:{0}:asks', 1, engine.of.Topic);
    assertOpenaiError(await chat(cluster, { model: 'nobody' }), 404); // each request deletes what is due
    assert.equal(await cluster.redis.cmd('EXISTS', `parley:{0}:t:${engine.of.Topic}`), 0);
  });
});

suite('streamed chat completions', {}, ({ test, cluster }) => {
  const open = async (body = {}, options) => {
    const engine = await engineOf(cluster, options);
    const stream = await openChat(cluster, { model: 'llama3', messages: MESSAGES, ...body }, options);
    await engine.take(engine.parked);
    return { engine, stream };
  };
  const textOf = (chunks, index = 0) => chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index).map(({ delta }) => delta.content ?? '').join('');

  test('pieces are chunks as they came, each is there before the next', async () => {
    const { engine, stream } = await open();
    assertOk(await engine.give(deltaOf({ content: 'Forty' })));
    await stream.until(({ chunks }) => textOf(chunks) === 'Forty', 'the first piece');
    assertOk(await engine.give(deltaOf({ content: '-two' })));
    await stream.until(({ chunks }) => textOf(chunks) === 'Forty-two', 'the second piece');
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'stop' }), '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}']));
    const chunks = assertChunks(await stream.whole());
    assert.deepEqual(chunks[0].choices, [{ index: 0, delta: { role: 'assistant', refusal: null, content: 'Forty' }, logprobs: null, finish_reason: null }]);
    assert.deepEqual(chunks.map(({ choices }) => choices.length), [1, 1, 1]);
    assert.ok(chunks.every((chunk) => !('usage' in chunk)));
    assert.equal(stream.headers['x-accel-buffering'], 'no');
  });

  test('usage comes last, and only if it is asked for', async () => {
    for (const said of [true, false]) {
      const { engine, stream } = await open({ stream_options: { include_usage: true } });
      assertOk(await engine.answer([deltaOf({ content: 'Hm' }, { finish_reason: 'stop' }), ...(said ? ['{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}'] : [])]));
      const chunks = assertChunks(await stream.whole());
      assert.deepEqual(chunks.at(-1).choices, []);
      if (said) assert.deepEqual(chunks.at(-1).usage, { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 });
      assert.ok(chunks.at(-1).usage.total_tokens > 0);
      assert.ok(chunks.slice(0, -1).every(({ usage }) => usage === null));
    }
  });

  test('reasoning is sent under both names, and tool calls whole', async () => {
    const { engine, stream } = await open();
    assertOk(await engine.give(deltaOf({ reasoning: 'Hm' }), deltaOf({ reasoning_content: 'm.' }), deltaOf({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } }] })));
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'tool_calls' })]));
    const choices = assertChunks(await stream.whole()).flatMap((chunk) => chunk.choices);
    for (const name of ['reasoning', 'reasoning_content']) assert.equal(choices.map(({ delta }) => delta[name] ?? '').join(''), 'Hmm.');
    assert.deepEqual(choices.flatMap(({ delta }) => delta.tool_calls ?? []), [{ index: 0, id: 'call_1', type: 'function', function: { name: 'now', arguments: '{}' } }]);
    assert.equal(choices.at(-1).finish_reason, 'tool_calls');
  });

  test('a choice has one finish_reason, whatever its engine sends', async () => {
    const { engine, stream } = await open({ n: 2 });
    assertOk(await engine.give(deltaOf({ content: 'a' }), deltaOf({ content: 'b' }, { index: 1 }), deltaOf({}, { finish_reason: 'length' }), deltaOf({}, { finish_reason: 'stop' })));
    assertOk(await engine.answer([], { FinishReason: 'content_filter' }));
    await stream.whole();
    const choices = stream.chunks.flatMap((chunk) => chunk.choices);
    assert.deepEqual(choices.filter(({ finish_reason }) => finish_reason !== null).map(({ index, finish_reason }) => [index, finish_reason]), [[0, 'length'], [1, 'content_filter']]);
    assert.equal(stream.events.at(-1), '[DONE]');
  });

  test('an engine that sends text is shown piece by piece, an empty answer is one chunk with its reason', async () => {
    const { engine, stream } = await open();
    assertOk(await engine.post('give-partial', { ...engine.of, Offset: 0, Think: 'Hm', Answer: 'Forty' }));
    await stream.until(({ chunks }) => textOf(chunks) === 'Forty', 'its text');
    assertOk(await engine.post('give-new-answer', { ...engine.of, Query: MESSAGES[1].content, Think: ['Hm'], Answer: ['Forty-two'] }));
    assert.equal(textOf(assertChunks(await stream.whole())), 'Forty-two');
    const empty = await open();
    assertOk(await empty.engine.answer([], { Answer: [''] }));
    assert.equal(textOf(assertChunks(await empty.stream.whole())), '');
  });

  test('what fails before the head has its status, and nothing is streamed', async () => {
    const { engine, stream } = await open();
    assertOk(await engine.refuse({ status: 400, message: 'Too long.', type: 'invalid_request_error', param: null, code: 'context_length_exceeded' }));
    await stream.whole();
    assert.equal(stream.status, 400);
    assert.equal(fits('ErrorResponse', JSON.parse(stream.text)).error.code, 'context_length_exceeded');
    const unknown = await openChat(cluster, { model: 'nobody', messages: MESSAGES });
    await unknown.whole();
    assert.equal(unknown.status, 404);
  });

  test('while nothing comes the head is sent, with a comment of one line', async () => {
    const { engine, stream } = await open();
    await stream.until(({ text }) => text === ': ping\n', 'a comment');
    assert.equal(stream.status, 200);
    assertOk(await engine.answer([deltaOf({ content: 'Late' }, { finish_reason: 'stop' })]));
    assert.equal(textOf(assertChunks(await stream.whole())), 'Late');
  });

  test('a head that is sent while the request waits says how many are served before it', async () => {
    const { engine, stream } = await open(); // which is claimed, and no other engine is there
    const waiting = [];
    for (let i = 0; i < 3; i++) waiting.push(await (await openChat(cluster, { model: 'llama3', messages: [{ role: 'user', content: `Wait ${i}` }] })).head());
    assert.deepEqual(waiting.map(({ headers }) => headers['x-parley-position']), ['0', '1', '2']);
    assert.equal((await stream.head()).headers['x-parley-position'], undefined);
    for (const one of [stream, ...waiting]) {
      if (one !== stream) await engine.take();
      assertOk(await engine.answer([deltaOf({ content: 'Done' }, { finish_reason: 'stop' })]));
      await one.whole();
    }
  });

  test('what fails after the head is an error and the end, never a short answer', async () => {
    const { engine, stream } = await open();
    assertOk(await engine.give(deltaOf({ content: 'Half' })));
    await stream.until(({ chunks }) => chunks.length === 1, 'the first piece');
    assertOk(await engine.refuse({ status: 500, message: 'It broke.' }));
    await stream.whole();
    assert.deepEqual(stream.events.slice(1), [JSON.stringify({ error: { message: 'It broke.', type: 'server_error', param: null, code: null } }), '[DONE]']);
  });

  test('an engine that is lost before its first piece is not seen, one in the middle is an error', async () => {
    const before = await open();
    assertOk(await before.engine.post('release-claim', { Topic: before.engine.of.Topic, Lease: before.engine.of.Lease, Reason: 'tired' }));
    await before.engine.take();
    assertOk(await before.engine.answer([deltaOf({ content: 'Second' }, { finish_reason: 'stop' })]));
    assert.equal(textOf(assertChunks(await before.stream.whole())), 'Second');
    const { engine, stream } = await open();
    assertOk(await engine.give(deltaOf({ content: 'First' })));
    await stream.until(({ chunks }) => chunks.length === 1, 'the first piece');
    assertOk(await engine.post('release-claim', { Topic: engine.of.Topic, Lease: engine.of.Lease, Reason: 'tired' }));
    await stream.whole();
    assert.equal(stream.chunks.at(-1).error.code, 'engine_lost');
    assert.equal(stream.events.at(-1), '[DONE]');
    await eventually(async () => (await cluster.redis.cmd('EXISTS', `parley:{0}:t:${engine.of.Topic}`)) === 0, { what: 'its query is gone' });
  });

  test('a client that hangs up cancels, while it waits, before the first piece and in the middle', async () => {
    const { engine, stream } = await open();
    stream.abort();
    const isLost = async (of) => ['lease_lost', 'not_found'].includes((await of.give(deltaOf({ content: 'x' }))).json.code);
    await eventually(() => isLost(engine), { what: 'its claim has ended' });
    const middle = await open();
    assertOk(await middle.engine.give(deltaOf({ content: 'x' })));
    await middle.stream.until(({ chunks }) => chunks.length === 1, 'the first piece');
    middle.stream.abort();
    await eventually(() => isLost(middle.engine), { what: 'its claim has ended' });
    await cluster.redis.cmd('HSET', 'parley:{0}:models_seen', 'chat/llama3', `${Date.now()} Inference_1 `);
    const before = await topics(cluster);
    const fresh = async () => (await topics(cluster)).filter((key) => !before.includes(key));
    const queued = await openChat(cluster, { model: 'llama3', messages: MESSAGES });
    await eventually(async () => (await fresh()).length === 1, { what: 'it is queued' });
    queued.abort();
    await eventually(async () => (await fresh()).length === 0, { what: 'it is gone' });
  });

  test('a long stream comes whole, also to a client that reads late', async () => {
    const { engine, stream } = await open();
    const words = Array.from({ length: 40 }, (_, i) => `${i} ${'x'.repeat(20_000)} `);
    for (let i = 0; i < words.length; i += 10) assertOk(await engine.give(...words.slice(i, i + 10).map((content) => deltaOf({ content }))));
    assertOk(await engine.give(deltaOf({ content: 'y'.repeat(200_000) })));
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'stop' })]));
    assert.equal(textOf(assertChunks(await stream.whole())), `${words.join('')}${'y'.repeat(200_000)}`);
  });
});
