// SPDX-License-Identifier: MIT
//
// /v1/messages whole: engines that serve Anthropic's interface themselves get requests as they came, and their events reach
// Anthropic's own client as they came. Beside them are engines of chats, and engines that lie.
import assert from 'node:assert/strict';
import Anthropic, { APIError, BadRequestError } from '@anthropic-ai/sdk';
import { ACCOUNTS, assertAnthropicError, assertOk, eventually, newTopic, suite } from '../support/harness.mjs';
import { blockDelta, blockStart, blockStop, messageDelta, messageStart, textEvents } from '../support/anthropic.mjs';
import { ask, deltaOf, Engine, engineOf, openChat, tokenOf } from '../support/openai.mjs';

const MESSAGES = [{ role: 'user', content: 'What is the meaning of life?' }];
const REQUEST = { model: 'claude', max_tokens: 100, messages: MESSAGES };
const SEARCH = { type: 'web_search_20250305', name: 'web_search', max_uses: 1 };
const given = (events) => events.map((event) => JSON.stringify(event));

const accounts = { ...ACCOUNTS, Three: { secret: 'secret-of-Three', role: 'user', requests_per_minute: 3, max_concurrent: 1, tokens_per_day: 1000 } };

suite('engines that serve messages', { nodes: 2, accounts, sweep: false }, ({ test, cluster }) => {
  const clientOf = async ({ node = 0, as = 'User_1', ...options } = {}) =>
    new Anthropic({ baseURL: cluster.pick(node).url, apiKey: await tokenOf(cluster, as), maxRetries: 0, ...options });
  const engineFor = (models = 'claude', options = {}) => engineOf(cluster, { models, apis: 'messages', ...options });
  const send = (body, options) => ask(cluster, 'POST', '/v1/messages', { body, ...options });
  const open = (body, options) => openChat(cluster, body, { path: '/v1/messages', ...options });
  const answer = async (engine, events) => assertOk(await engine.answer(given(events)));

  test('a request goes to one as it came, also what no chat can say, and its message comes back whole', async () => {
    const client = await clientOf();
    const engine = await engineFor();
    const body = {
      ...REQUEST, system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }], tools: [SEARCH], top_k: 5, odd: { deep: [1.5] },
      messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Life.' }, citations: { enabled: true } }, { type: 'text', text: 'Why?' }] }],
    };
    const asked = client.messages.create(body);
    await engine.take(engine.parked);
    assert.equal(engine.details.Api, 'messages');
    assert.deepEqual(engine.claim.Queries, [{ 1: 'Why?' }]);
    assert.deepEqual(engine.body, body);
    await answer(engine, [
      messageStart({ container: null, usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 1 } }),
      blockStart(0, { type: 'thinking', thinking: '', signature: '' }), blockDelta(0, { type: 'thinking_delta', thinking: 'H"' }), blockDelta(0, { type: 'thinking_delta', thinking: 'm' }),
      blockDelta(0, { type: 'signature_delta', signature: 'c2ln' }), blockStop(0),
      blockStart(1, { type: 'redacted_thinking', data: 'eA==' }), blockStop(1),
      blockStart(2, { type: 'text', text: 'Forty', citations: [] }), blockDelta(2, { type: 'text_delta', text: '-two' }),
      blockDelta(2, { type: 'citations_delta', citation: { type: 'char_location', cited_text: 'Life.', document_index: 0, document_title: null, start_char_index: 0, end_char_index: 5 } }), blockStop(2),
      blockStart(3, { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} }), blockDelta(3, { type: 'input_json_delta', partial_json: '' }),
      blockDelta(3, { type: 'input_json_delta', partial_json: '{"path":' }), blockDelta(3, { type: 'input_json_delta', partial_json: '"ü"}' }), blockStop(3),
      blockStart(4, { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'life' } }), blockStop(4),
      messageDelta({ stop_reason: 'tool_use', stop_sequence: null }, { output_tokens: 12, server_tool_use: { web_search_requests: 1 } }),
    ]);
    const { id, _request_id, ...message } = await asked;
    assert.match(id, /^msg_\w{24}$/);
    assert.deepEqual(message, {
      type: 'message', role: 'assistant', model: 'claude', stop_reason: 'tool_use', stop_sequence: null, container: null,
      content: [
        { type: 'thinking', thinking: 'H"m', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'eA==' },
        { type: 'text', text: 'Forty-two', citations: [{ type: 'char_location', cited_text: 'Life.', document_index: 0, document_title: null, start_char_index: 0, end_char_index: 5 }] },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'ü' } },
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'life' } },
      ],
      usage: { input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 12, server_tool_use: { web_search_requests: 1 } },
    });
  });

  test("a stream has the engine's events, at another node, and the message around them is the node's", async () => {
    const client = await clientOf({ node: 1 });
    const engine = await engineFor('claude', { node: 0 });
    const stream = client.messages.stream(REQUEST);
    const events = [];
    stream.on('streamEvent', (event) => events.push(structuredClone(event)));
    await engine.take(engine.parked);
    const inner = textEvents('Forty-', 'two');
    assertOk(await engine.give(...given([messageStart({ usage: { input_tokens: 9, output_tokens: 1 } }), ...inner.slice(0, 2)])));
    await eventually(() => events.some(({ type }) => type === 'content_block_delta'), { what: 'the first piece' });
    await answer(engine, [...inner.slice(2), messageDelta({ stop_reason: 'stop_sequence', stop_sequence: 'END' }, { output_tokens: 3 })]);
    const message = await stream.finalMessage();
    assert.deepEqual([message.content, message.stop_reason, message.stop_sequence, message.usage], [[{ type: 'text', text: 'Forty-two' }], 'stop_sequence', 'END', { input_tokens: 9, output_tokens: 3 }]);
    assert.deepEqual(events.filter(({ type }) => type.startsWith('content_block')), inner);
    assert.deepEqual([events[0].type, events.at(-2).type, events.at(-1).type], ['message_start', 'message_delta', 'message_stop']);
    assert.match(message.id, /^msg_\w{24}$/);
  });

  test('what an engine leaves out is put: the start, the end of a block, why it ended, tokens', async () => {
    const engine = await engineFor();
    const stream = await open(REQUEST);
    await engine.take(engine.parked);
    await answer(engine, textEvents('Forty-two').slice(0, 2));
    const { chunks } = await stream.whole();
    assert.deepEqual(chunks.map(({ type }) => type), ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop']);
    const { delta, usage } = chunks.at(-2);
    assert.deepEqual(delta, { stop_reason: 'end_turn', stop_sequence: null });
    assert.ok(usage.input_tokens > 10 && usage.output_tokens > 0, JSON.stringify(usage));
  });

  test('of a model with engines of both kinds, those that serve messages get it; without them, those that serve chats', async () => {
    const ofChat = await engineOf(cluster, { models: 'both', apis: 'chat' });
    const body = { ...REQUEST, model: 'both' };
    for (const round of [1, 2]) {
      const ofMessages = await engineFor('both');
      const whole = send(body);
      await ofMessages.take(ofMessages.parked);
      assert.deepEqual(ofMessages.body, body, `round ${round}`);
      await answer(ofMessages, [...textEvents(`Whole ${round}`), messageDelta({ stop_reason: 'end_turn' }, { output_tokens: 1 })]);
      assert.equal(assertOk(await whole).content[0].text, `Whole ${round}`);
    }
    const other = await engineOf(cluster, { models: 'chatty', apis: 'chat' });
    for (const round of [1, 2]) {
      const translated = send({ ...body, model: 'chatty' });
      await other.take(round === 1 ? other.parked : other.poll());
      assert.equal(other.details.Api, 'chat');
      assertOk(await other.answer([deltaOf({ content: 'Chat' }, { finish_reason: 'stop' })]));
      assert.equal(assertOk(await translated).content[0].text, 'Chat');
    }
    ofChat.parked.abort?.();
  });

  test('a request that is put to both Apis counts once, and its tokens are charged', async () => {
    const usageOf = async () => assertOk(await ask(cluster, 'GET', '/api/usage', { as: 'Three' })).accounts[0];
    const body = { ...REQUEST, model: 'charged' };
    for (const [round, apis] of [[1, 'messages'], [2, 'chat'], [3, 'messages']]) {
      const engine = await engineOf(cluster, { models: `charged${round}`, apis });
      const asked = send({ ...body, model: `charged${round}` }, { as: 'Three' });
      await engine.take(engine.parked);
      const deltas = apis === 'chat' ? [deltaOf({ content: 'Six' }, { finish_reason: 'stop' })] : given([...textEvents('Six'), messageDelta({ stop_reason: 'end_turn' }, { output_tokens: 4 })]);
      assertOk(await engine.answer(deltas, { Usage: { prompt_tokens: 6, completion_tokens: 4 } }));
      assert.equal(assertOk(await asked).content[0].text, 'Six');
    }
    await eventually(async () => (await usageOf()).tokens_per_day.used === 30, { what: 'the tokens are charged' });
    assertAnthropicError(await send({ ...body, model: 'charged3' }, { as: 'Three' }), 429);
  });

  test('one that a topic keeps is in its thread', async () => {
    const engine = await engineFor();
    const topic = newTopic();
    const asked = send(REQUEST, { headers: { 'x-parley-topic': topic } });
    await engine.take(engine.parked);
    assert.equal(engine.of.Topic, topic);
    assertOk(await engine.answer(given([...textEvents('Six'), messageDelta({ stop_reason: 'end_turn' }, { output_tokens: 1 })]), { Answer: ['Six'] }));
    assert.equal(assertOk(await asked).content[0].text, 'Six');
    const rows = assertOk(await ask(cluster, 'GET', '/api/get-topic-thread', { query: { Topic: topic } }));
    assert.deepEqual(rows.map(({ Query, Answer }) => [Query, Answer]), [[MESSAGES[0].content, ['Six']]]);
  });

  test('what no chat can say is refused where there is no engine for it, before anything is stored', async () => {
    const engine = await engineOf(cluster, { models: 'chatty', apis: 'chat' });
    const keys = async () => (await cluster.redis.cmd('KEYS', '*t:ask.*')).length;
    const before = await keys();
    const refused = assertAnthropicError(await send({ ...REQUEST, model: 'chatty', tools: [SEARCH] }), 400);
    assert.match(refused.message, /web_search/);
    assertAnthropicError(await send({ ...REQUEST, model: 'nobody', tools: [SEARCH] }), 400);
    assertAnthropicError(await send({ ...REQUEST, model: 'nobody' }), 404);
    assert.equal(await keys(), before);
    engine.parked.abort?.();
  });

  test('tokens are estimated of the request as it came, where a chat cannot say it', async () => {
    const client = await clientOf();
    const messages = [{ role: 'user', content: 'x'.repeat(4000) }];
    const { input_tokens } = await client.messages.countTokens({ model: 'claude', tools: [SEARCH], messages });
    assert.ok(input_tokens > 1000 && input_tokens < 1100, input_tokens);
    await assert.rejects(client.messages.countTokens({ model: 'chatty', tools: [SEARCH], messages }), (error) => error instanceof BadRequestError && /web_search/.test(error.message));
  });

  test('their models are listed for clients of Anthropic, and not served as chats', async () => {
    const client = await clientOf();
    assert.equal((await client.models.retrieve('claude')).id, 'claude');
    const { data } = assertOk(await ask(cluster, 'GET', '/v1/models'));
    assert.deepEqual(data.find(({ id }) => id === 'claude').apis, ['messages']);
    assert.deepEqual(data.find(({ id }) => id === 'both').apis, ['chat', 'messages']);
    assert.equal((await ask(cluster, 'POST', '/v1/chat/completions', { body: { model: 'claude', messages: MESSAGES } })).status, 404);
  });

  test('a client that hangs up gets its answer from the first event on when it sends the request again', async () => {
    const engine = await engineFor();
    const left = await open(REQUEST, { node: 0 });
    await engine.take(engine.parked);
    const events = textEvents('Forty-', 'two');
    assertOk(await engine.give(...given(events.slice(0, 2))));
    await left.until(({ text }) => text.includes('Forty-'), 'the first piece');
    left.abort();
    const retry = await open(REQUEST, { node: 1 });
    await retry.until(({ text }) => text.includes('Forty-'), 'the first piece again');
    assert.equal(retry.headers['x-parley-attached'], '1');
    await answer(engine, [...events.slice(2), messageDelta({ stop_reason: 'end_turn' }, { output_tokens: 2 })]);
    const { chunks } = await retry.whole();
    assert.equal(chunks.map(({ delta }) => delta?.text ?? '').join(''), 'Forty-two');
    assert.equal(chunks.at(-1).type, 'message_stop');
  });

  test('an engine that is lost in the middle ends the stream with an error; before, another one takes over', async () => {
    const release = (engine) => engine.post('release-claim', { Topic: engine.of.Topic, Lease: engine.of.Lease, Reason: 'lost' });
    const first = await engineFor();
    const plain = send({ ...REQUEST, temperature: 0 });
    await first.take(first.parked);
    assertOk(await first.give(...given([messageStart(), ...textEvents('Forty-').slice(0, 2)])));
    assertOk(await release(first));
    const second = await new Engine(cluster, { models: 'claude', apis: 'messages' }).take();
    await answer(second, [...textEvents('Six'), messageDelta({ stop_reason: 'end_turn' }, { output_tokens: 1 })]);
    assert.deepEqual(assertOk(await plain).content, [{ type: 'text', text: 'Six' }]);
    const third = await engineFor('lost');
    const stream = await open({ ...REQUEST, model: 'lost', temperature: 0 });
    await third.take(third.parked);
    assertOk(await third.give(...given(textEvents('Forty-').slice(0, 2))));
    await stream.until(({ text }) => text.includes('Forty-'), 'the first piece');
    assertOk(await release(third));
    const { chunks } = await stream.whole();
    assert.equal(chunks.at(-1).error.type, 'overloaded_error');
  });

  test('an engine that refuses has its status and words', async () => {
    const client = await clientOf();
    const engine = await engineFor();
    const refused = assert.rejects(client.messages.create(REQUEST), (error) => error instanceof BadRequestError && error.type === 'invalid_request_error' && /too long/.test(error.message));
    await engine.take(engine.parked);
    assertOk(await engine.refuse({ status: 400, message: 'prompt is too long', type: 'invalid_request_error' }));
    await refused;
  });

  const block = blockStart(0, { type: 'text', text: '' });
  const LIES = {
    'a delta before its block': [blockDelta(0, { type: 'text_delta', text: 'x' })],
    'a block that is not the next one': [blockStart(1, { type: 'text', text: '' })],
    'a block without a number': [{ type: 'content_block_start', content_block: { type: 'text', text: '' } }],
    'a block that is none': [{ type: 'content_block_start', index: 0, content_block: 'text' }],
    'a delta that is none': [block, { type: 'content_block_delta', index: 0 }],
    'the end of a block that never began': [blockStop(0)],
    'a chat among events': [block, JSON.parse(deltaOf({ content: 'x' }))],
    'events after a chat': [JSON.parse(deltaOf({ content: 'x' })), block],
  };
  for (const [name, events] of Object.entries(LIES)) {
    test(`${name}: the client gets an error, in one piece and as a stream`, async () => {
      for (const isStream of [false, true]) {
        const engine = await engineFor();
        const client = await clientOf();
        const body = { ...REQUEST, metadata: { note: name } };
        const failed = assert.rejects(isStream ? client.messages.stream(body).finalMessage() : client.messages.create(body), (error) => error instanceof APIError && /engine/i.test(error.message));
        await engine.take(engine.parked);
        await engine.answer(given(events));
        await failed;
      }
    });
  }

  test('what is no event of a message is not passed on, nor a second start or another id', async () => {
    const engine = await engineFor();
    const stream = await open(REQUEST);
    await engine.take(engine.parked);
    const odd = [{ type: 'ping' }, { type: 'message_stop' }, { type: 'error', error: { type: 'x', message: 'y' } }, { type: 'odd\n\ndata: 1' }];
    await answer(engine, [...odd, messageStart({ id: 'msg_other', model: 'other' }), ...textEvents('Six'), ...odd, messageStart(), messageDelta({ stop_reason: 'end_turn' }, { output_tokens: 1 })]);
    const { chunks, text } = await stream.whole();
    assert.deepEqual(chunks.map(({ type }) => type), ['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop', 'message_delta', 'message_stop']);
    assert.doesNotMatch(text, /msg_other|odd/);
    assert.equal(chunks[0].message.model, 'claude');
  });

  test('the largest answers: thousands of blocks, and a text of 7 MiB', async () => {
    const engine = await engineFor();
    const many = send(REQUEST);
    await engine.take(engine.parked);
    for (let from = 0; from < 4000; from += 500)
      assertOk(await engine.give(...given(Array.from({ length: 500 }, (_, i) => [blockStart(from + i, { type: 'text', text: `${from + i}` }), blockStop(from + i)]).flat())));
    assertOk(await engine.answer([]));
    const { content } = assertOk(await many);
    assert.deepEqual(content.map(({ text }) => text), Array.from({ length: 4000 }, (_, i) => `${i}`));
    const other = await engineFor();
    const long = send({ ...REQUEST, metadata: { note: 'long' } });
    await other.take(other.parked);
    assertOk(await other.give(...given([block])));
    const piece = 'ä"'.repeat(20_000);
    for (let i = 0; i < 100; i++) assertOk(await other.give(...given([blockDelta(0, { type: 'text_delta', text: piece })])));
    assertOk(await other.answer(given([blockStop(0)])));
    assert.equal(assertOk(await long).content[0].text, piece.repeat(100));
  });
});
