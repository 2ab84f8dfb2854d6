// SPDX-License-Identifier: MIT
//
// Items of `input` that are only named by their ids (item_reference): `ai`, which sends what earlier responses gave it so, and
// requests that it would not send.
import assert from 'node:assert/strict';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai6';
import OpenAI, { NotFoundError } from 'openai';
import { createOpenAI } from 'openai-provider3';
import { assertOk, assertOpenaiError, suite } from '../support/harness.mjs';
import { ask, deltaOf, engineOf, fits, tokenOf } from '../support/openai.mjs';

const PATH = '/v1/responses';
const INPUT = 'What is the meaning of life?';
const reference = (id) => ({ type: 'item_reference', id });
const user = (content) => ({ role: 'user', content });
const callOf = (name, text, index = 0) => deltaOf({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: { name, arguments: text } }] });
const SAID = [deltaOf({ reasoning: 'Hm.' }), deltaOf({ content: 'Forty' }), deltaOf({ content: '-two "ä"' }, { finish_reason: 'stop' })];
const TOOLS = [{ type: 'function', name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} }, strict: false }];

suite('items that are only named', { nodes: 2 }, ({ test, cluster }) => {
  const respond = (body = {}, options) => ask(cluster, 'POST', PATH, { body: { model: 'llama3', input: INPUT, ...body }, ...options });
  async function answered(body, deltas = SAID, options) {
    const engine = await engineOf(cluster);
    const response = respond(body, options);
    await engine.take(engine.parked);
    assertOk(await engine.answer(deltas));
    return Object.assign(fits('Response', assertOk(await response)), { messages: engine.body.messages });
  }
  const told = [{ role: 'user', content: INPUT }, { role: 'assistant', content: 'Forty-two "ä"', reasoning_content: 'Hm.' }];

  test('the engine gets them in their places, from several responses and at any node, and they stay although those are deleted', async () => {
    const first = await answered();
    const second = await answered({ input: [user('Read it.')], tools: TOOLS }, [callOf('read', '{"path":"x"}'), deltaOf({}, { finish_reason: 'tool_calls' })]);
    const input = [
      user(INPUT), ...first.output.map(({ id }) => reference(id)), user('Read it.'), { id: second.output[0].id },
      { type: 'function_call_output', call_id: 'call_0', output: 'x is 1' }, user('So?'),
    ];
    const { messages, id } = await answered({ input }, SAID, { node: 1 });
    assert.deepEqual(messages, [
      ...told, user('Read it.'),
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'read', arguments: '{"path":"x"}' } }] },
      { role: 'tool', tool_call_id: 'call_0', content: 'x is 1' }, user('So?'),
    ]);
    for (const one of [first, second]) assertOk(await ask(cluster, 'DELETE', `${PATH}/${one.id}`));
    const items = assertOk(await ask(cluster, 'GET', `${PATH}/${id}/input_items?order=asc`));
    fits('ResponseItemList', items);
    assert.deepEqual(items.data.map(({ type }) => type), ['message', 'reasoning', 'message', 'message', 'function_call', 'function_call_output', 'message']);
    const next = await answered({ previous_response_id: id, input: [user('Why?')] });
    assert.deepEqual(next.messages.slice(0, 3), [...told, user('Read it.')]);
    assertOpenaiError(await respond({ input: [reference(first.output[1].id), user('Why?')] }), 404);
  });

  test('items of an input, as the list of them has named them', async () => {
    const first = await answered();
    const second = await answered({ input: [user('Read it.'), { role: 'assistant', content: 'No.' }] });
    const idsOf = async ({ id }) => assertOk(await ask(cluster, 'GET', `${PATH}/${id}/input_items?order=asc`)).data.map((item) => item.id);
    const ids = [...await idsOf(first), ...await idsOf(second)];
    const { messages } = await answered({ input: [...ids.map(reference), user('Why?')] });
    assert.deepEqual(messages, [told[0], user('Read it.'), { role: 'assistant', content: 'No.' }, user('Why?')]);
    for (const wrong of [`${first.id}-1`, `${first.id}-`, `${first.id}-x`, first.id, `${first.id}-18446744073709551616`]) assertOpenaiError(await respond({ input: [reference(wrong), user('Why?')] }), 404);
  });

  test('beside previous_response_id, in a request that is not kept, and in a count of tokens', async () => {
    const first = await answered();
    const other = await answered({ input: 'Other.' }, [deltaOf({ content: 'Yes.' }, { finish_reason: 'stop' })]);
    const { messages, store } = await answered({ previous_response_id: first.id, store: false, input: [reference(other.output[0].id), user('Why?')] });
    assert.equal(store, false);
    assert.deepEqual(messages, [...told, { role: 'assistant', content: 'Yes.' }, user('Why?')]);
    const count = async (input) => assertOk(await ask(cluster, 'POST', `${PATH}/input_tokens`, { body: { model: 'llama3', input } })).input_tokens;
    assert.ok((await count([reference(first.output[1].id), user('Why?')])) > (await count([user('Why?')])));
  });

  test('`ai` continues what it was answered, with calls of tools', async () => {
    const sent = [];
    const watched = (url, init) => {
      sent.push(JSON.parse(init.body));
      return fetch(url, init);
    };
    const openai = createOpenAI({ baseURL: `${cluster.pick(1).url}/v1`, apiKey: await tokenOf(cluster, 'User_1'), fetch: watched });
    const seen = [];
    const engine = await engineOf(cluster);
    const serve = async (...answers) => {
      for (const deltas of answers) {
        await engine.take(engine.parked);
        delete engine.parked;
        seen.push(engine.body.messages);
        assertOk(await engine.answer(deltas));
      }
    };
    const tools = { read: tool({ description: 'Reads.', inputSchema: jsonSchema({ type: 'object', properties: { path: { type: 'string' } } }), execute: async ({ path }) => `${path} is 1` }) };
    const messages = [{ role: 'user', content: 'Read x.' }];
    const asked = generateText({ model: openai('llama3'), tools, messages, stopWhen: stepCountIs(3) });
    await serve([callOf('read', '{"path":"x"}'), deltaOf({}, { finish_reason: 'tool_calls' })], [deltaOf({ content: 'It is 1.' }, { finish_reason: 'stop' })]);
    const { text, response } = await asked;
    assert.equal(text, 'It is 1.');
    const again = generateText({ model: openai('llama3'), messages: [...messages, ...response.messages, { role: 'user', content: 'Sure?' }] });
    await serve(SAID);
    assert.equal((await again).text, 'Forty-two "ä"');
    assert.ok(sent.at(-1).input.some(({ type }) => type === 'item_reference'), JSON.stringify(sent.at(-1).input));
    assert.deepEqual(seen.at(-1).map(({ role, content, tool_calls }) => [role, content, tool_calls?.[0].function.arguments]), [
      ['user', 'Read x.', undefined], ['assistant', null, '{"path":"x"}'], ['tool', 'x is 1', undefined], ['assistant', 'It is 1.', undefined], ['user', 'Sure?', undefined],
    ]);
  });

  test('what is not there, or of somebody else, is 404 and names the item', async () => {
    const { output: [{ id }] } = await answered({}, SAID.slice(1));
    const client = new OpenAI({ baseURL: `${cluster.pick(0).url}/v1`, apiKey: await tokenOf(cluster, 'User_2'), maxRetries: 0 });
    await assert.rejects(client.responses.create({ model: 'llama3', input: [reference(id), user('Why?')] }), (error) => error instanceof NotFoundError && error.message.includes(id));
    for (const wrong of ['msg_1', 'x', '', '_', 'msg_', 'msg__', 'msg__0', id.replace(/\d+$/, '7'), id.replace(/\d+$/, ''), `${id}x`, id.replace('msg_', 'msg_0'), 'msg_'.repeat(1000), id.slice(0, -12), 'ä_ö_0'])
      assertOpenaiError(await respond({ input: [reference(wrong), user('Why?')] }), 404);
    for (const wrong of [5, null, undefined, {}, ['x']]) assert.match(assertOpenaiError(await respond({ input: [reference(wrong)] }), 400).message, /input\[0\]/);
  });

  test('one that has not ended is 400', async () => {
    const engine = await engineOf(cluster);
    const started = assertOk(await respond({ background: true }));
    await engine.take(engine.parked);
    assert.match(assertOpenaiError(await respond({ input: [reference(started.id.replace('resp_', 'msg_').concat('_0')), user('Why?')] }), 400).message, /completed/);
    assertOk(await engine.answer(SAID));
  });

  test('the most there may be: 256 responses, one item a thousand times, and no more than 4 MiB of them', async () => {
    const first = await answered();
    const asker = /resp_([0-9a-f]{24})/.exec(first.id)[1];
    const many = Array.from({ length: 257 }, (_, i) => reference(first.output[1].id.replace(asker, i.toString(16).padStart(24, '0'))));
    assert.match(assertOpenaiError(await respond({ input: many }), 400).message, /256/);
    const { messages } = await answered({ input: Array.from({ length: 1000 }, () => [reference(first.output[1].id), user('Why?')]).flat() });
    assert.equal(messages.length, 2000);
    const long = await answered({}, [deltaOf({ content: 'x'.repeat(200_000) }, { finish_reason: 'stop' })]);
    assertOpenaiError(await respond({ input: Array.from({ length: 25 }, () => reference(long.output[0].id)) }), 413);
  });
});
