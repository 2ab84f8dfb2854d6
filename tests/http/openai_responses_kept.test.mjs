// SPDX-License-Identifier: MIT
//
// Responses that are kept: read and streamed again on any node, continued, run in the background, cancelled and deleted.
import assert from 'node:assert/strict';
import OpenAI, { NotFoundError } from 'openai';
import { assertOk, assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { ask, deltaOf, engineOf, fits, openChat, tokenOf } from '../support/openai.mjs';

const PATH = '/v1/responses';
const INPUT = 'What is the meaning of life?';
const TOOLS = [{ type: 'function', name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} }, strict: false }];
const USAGE = '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}';
const ANSWER = [deltaOf({ role: 'assistant', reasoning: 'Hm.' }), deltaOf({ content: 'Forty' }), deltaOf({ content: '-two ä' }, { finish_reason: 'stop' }), USAGE];

suite('kept responses', {}, ({ test, cluster }) => {
  const respond = (body = {}, options) => ask(cluster, 'POST', PATH, { body: { model: 'llama3', input: INPUT, ...body }, ...options });
  const show = (id, options, query = '') => ask(cluster, 'GET', `${PATH}/${id}${query}`, options);
  const stream = (body = {}, options) => openChat(cluster, { model: 'llama3', input: INPUT, ...body }, { path: PATH, ...options });
  const resume = (id, after, options) => openChat(cluster, {}, { method: 'GET', path: `${PATH}/${id}?stream=true${after === undefined ? '' : `&starting_after=${after}`}`, ...options });
  const clientOf = async (node = 0, as = 'User_1') => new OpenAI({ baseURL: `${cluster.pick(node).url}/v1`, apiKey: await tokenOf(cluster, as), maxRetries: 0 });
  const shard = async (pattern) => (await cluster.redis.cmd('KEYS', `*${pattern}`)).sort();
  const isPacked = (id) => eventually(async () => !(await shard(':partials:*')).some((key) => !key.includes(':ask.')), { what: `the pieces of ${id} are packed` });

  // An answer to `body`, as its client gets it.
  async function answered(body, deltas = ANSWER, options) {
    const engine = await engineOf(cluster);
    const response = respond(body, options);
    await engine.take(engine.parked);
    assertOk(await engine.answer(deltas));
    return Object.assign(fits('Response', assertOk(await response)), { engine });
  }

  test('it is read as it was answered, on any node, before and after its pieces are packed', async () => {
    const { engine, ...answer } = await answered({ metadata: { for: 'a test' }, instructions: 'Be brief.' });
    assert.equal(answer.store, true);
    assert.deepEqual(answer.output.map(({ type }) => type), ['reasoning', 'message']);
    for (const node of [0, 1]) assert.deepEqual(assertOk(await show(answer.id, { node })), answer);
    await isPacked(answer.id);
    for (const node of [0, 1]) assert.deepEqual(assertOk(await show(answer.id, { node })), answer);
    const events = (await (await resume(answer.id)).whole()).chunks;
    assert.deepEqual(events.at(-1).response, answer);
  });

  test('a stream ends with the response that is kept, and another one from any event has the same events', async () => {
    const engine = await engineOf(cluster);
    const first = await stream({ tools: TOOLS });
    await engine.take(engine.parked);
    await first.until(({ text }) => text.includes('response.queued'), 'the head');
    assertOk(await engine.give(...ANSWER.slice(0, 2)));
    await first.until(({ text }) => text.includes('"delta":"Forty"'), 'a piece');
    const { id } = first.chunks[0].response;
    const during = await Promise.all([undefined, 0, 3, 5].map((after, i) => resume(id, after, { node: i % 2 })));
    await during[0].until(({ text }) => text.includes('"delta":"Forty"'), 'a piece of the other stream');
    assert.equal(fits('Response', assertOk(await show(id))).status, 'in_progress');
    assertOk(await engine.answer([...ANSWER.slice(2, 3), deltaOf({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'read', arguments: '{}' } }] }), USAGE]));
    const all = (await first.whole()).chunks;
    assert.equal(all.at(-1).type, 'response.completed');
    assert.deepEqual(all.map(({ sequence_number }) => sequence_number), all.map((_, i) => i));
    const same = (events, after = -1) => assert.deepEqual(events.map(({ queue, ...event }) => event), all.slice(after + 1).map(({ queue, ...event }) => event));
    for (const [i, after] of [undefined, 0, 3, 5].entries()) same((await during[i].whole()).chunks, after);
    for (let after = 0; after < all.length; after += 1) same((await (await resume(id, after, { node: after % 2 })).whole()).chunks, after);
    await isPacked(id);
    for (let after = 0; after < all.length; after += 1) same((await (await resume(id, after, { node: after % 2 })).whole()).chunks, after);
    assert.deepEqual(assertOk(await show(id)), all.at(-1).response);
  });

  test('one in the background outlives its client', async () => {
    const engine = await engineOf(cluster);
    const queued = fits('Response', assertOk(await respond({ background: true })));
    assert.deepEqual([queued.status, queued.background, queued.output], ['queued', true, []]);
    await engine.take(engine.parked);
    assert.equal(fits('Response', assertOk(await show(queued.id, { node: 1 }))).status, 'in_progress');
    assertOk(await engine.give(...ANSWER.slice(0, 2)));
    assertOk(await engine.answer(ANSWER.slice(2)));
    const answer = fits('Response', assertOk(await show(queued.id, { node: 1 })));
    assert.deepEqual([answer.status, answer.output.at(-1).content[0].text], ['completed', 'Forty-two ä']);
    await isPacked(queued.id);

    const next = await engineOf(cluster);
    const left = await stream({ background: true });
    await next.take(next.parked);
    assertOk(await next.give(...ANSWER.slice(0, 2)));
    await left.until(({ text }) => text.includes('"delta":"Forty"'), 'a piece');
    const { id } = left.chunks[0].response;
    const seen = left.chunks.at(-1).sequence_number;
    left.abort();
    const again = await resume(id, seen, { node: 1 });
    assertOk(await next.answer(ANSWER.slice(2)));
    const events = (await again.whole()).chunks;
    assert.equal(events[0].sequence_number, seen + 1);
    assert.equal(events.at(-1).response.output.at(-1).content[0].text, 'Forty-two ä');
  });

  test('only one in the background can be cancelled, and it stays cancelled', async () => {
    const engine = await engineOf(cluster);
    const { id } = assertOk(await respond({ background: true }));
    await engine.take(engine.parked);
    assertOk(await engine.give(...ANSWER.slice(0, 2)));
    const viewer = await resume(id, 0);
    await viewer.until(({ text }) => text.includes('"delta":"Forty"'), 'a piece');
    const cancel = (options) => ask(cluster, 'POST', `${PATH}/${id}/cancel`, options);
    assertOpenaiError(await cancel({ as: 'User_2' }), 404);
    for (const node of [0, 1]) assert.equal(fits('Response', assertOk(await cancel({ node }))).status, 'cancelled');
    assert.equal((await viewer.whole()).chunks.at(-1).type, 'response.failed');
    assert.equal((await engine.answer(ANSWER.slice(2))).status, 409);
    assert.equal(assertOk(await show(id)).status, 'cancelled');
    const last = (await (await resume(id, 40)).whole()).chunks;
    assert.deepEqual(last.map(({ type, sequence_number }) => [type, sequence_number]), [['response.failed', 41]]);
    const { id: done } = await answered();
    assert.match(assertOpenaiError(await ask(cluster, 'POST', `${PATH}/${done}/cancel`), 400).message, /background/);
  });

  test('another response continues it, with its calls, without its instructions, and in its topic', async () => {
    const CALLS = [
      deltaOf({ content: 'I look.' }),
      deltaOf({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'read', arguments: '{"a":1}' } }] }),
      deltaOf({}, { finish_reason: 'tool_calls' }),
    ];
    const first = await answered({ instructions: 'Be brief.', tools: TOOLS }, CALLS);
    const second = await answered({ previous_response_id: first.id, input: [{ type: 'function_call_output', call_id: 'call_1', output: 'It is 42.' }] });
    assert.equal(second.previous_response_id, first.id);
    const before = [
      { role: 'user', content: INPUT },
      { role: 'assistant', content: 'I look.', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"a":1}' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'It is 42.' },
    ];
    assert.deepEqual(second.engine.body.messages, before);
    assert.deepEqual([second.engine.of.Topic, second.engine.of.Seq], [first.engine.of.Topic, 2]);
    await isPacked(second.id);
    const third = await answered({ previous_response_id: second.id, input: 'Why?', instructions: 'Explain.' });
    const said = { role: 'assistant', content: 'Forty-two ä', reasoning_content: 'Hm.' };
    assert.deepEqual(third.engine.body.messages, [{ role: 'system', content: 'Explain.' }, ...before, said, { role: 'user', content: 'Why?' }]);
    const fork = await answered({ previous_response_id: second.id, input: 'How?', store: false });
    assert.deepEqual(fork.engine.body.messages, [...before, said, { role: 'user', content: 'How?' }]);
    assertOpenaiError(await show(fork.id), 404);
    assert.equal(assertOk(await show(third.id)).output.at(-1).content[0].text, 'Forty-two ä');
    assert.ok(assertOk(await ask(cluster, 'POST', `${PATH}/input_tokens`, { body: { input: 'Why?', previous_response_id: second.id } })).input_tokens > 20);

    assertOk(await ask(cluster, 'DELETE', `${PATH}/${second.id}`));
    assertOpenaiError(await show(second.id), 404);
    assertOpenaiError(await respond({ previous_response_id: second.id }), 404);
    assert.equal(assertOk(await show(third.id)).previous_response_id, second.id);
    const running = assertOk(await respond({ background: true }));
    assert.match(assertOpenaiError(await respond({ previous_response_id: running.id }), 400).message, /completed/);
    assertOk(await ask(cluster, 'DELETE', `${PATH}/${running.id}`));
  });

  test('the items of its input come in pages', async () => {
    const input = [
      { role: 'user', content: 'One?' },
      { role: 'assistant', content: 'One.' },
      { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'Two.' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Three?' }] },
    ];
    const { id } = await answered({ input });
    const list = async (query = '') => fits('ResponseItemList', assertOk(await ask(cluster, 'GET', `${PATH}/${id}/input_items${query}`)));
    const all = (await list('?order=asc')).data;
    assert.deepEqual(all.map((item) => item.type), ['message', 'message', 'function_call', 'function_call_output', 'message']);
    assert.equal(all[0].content[0].text, 'One?');
    assert.deepEqual((await list()).data, all.toReversed());
    const seen = [];
    for await (const item of (await clientOf(1)).responses.inputItems.list(id, { order: 'asc', limit: 2 })) seen.push(item);
    assert.deepEqual(seen, all);
    const { id: text } = await answered({ input: 'A text' });
    const only = assertOk(await ask(cluster, 'GET', `${PATH}/${text}/input_items`)).data;
    assert.deepEqual(only.map(({ role, content }) => [role, content[0].text]), [['user', 'A text']]);
    for (const query of ['?limit=0', '?order=up', '?after=x']) assertOpenaiError(await ask(cluster, 'GET', `${PATH}/${id}/input_items${query}`), 400);
  });

  test('it belongs to its account and its person, and is gone once it is deleted', async () => {
    const before = await shard(':t:*');
    const { id } = await answered();
    for (const options of [{ as: 'User_2' }, { as: 'Frontend_1', headers: { 'x-parley-user': 'somebody' } }]) {
      assertOpenaiError(await show(id, options), 404);
      assertOpenaiError(await show(id, options, '?stream=true'), 404);
      assertOpenaiError(await ask(cluster, 'DELETE', `${PATH}/${id}`, options), 404);
      assertOpenaiError(await ask(cluster, 'GET', `${PATH}/${id}/input_items`, options), 404);
      assertOpenaiError(await respond({ previous_response_id: id }, options), 404);
    }
    assertOpenaiError(await show(id, { as: 'Inference_1' }), 403);
    const client = await clientOf(1);
    assert.equal((await client.responses.retrieve(id)).output_text, 'Forty-two ä');
    await client.responses.delete(id);
    await assert.rejects(client.responses.retrieve(id), NotFoundError);
    assert.deepEqual(await shard(':t:*'), before);
    for (const name of ['resp_', 'resp_x', `${id}-9-!`, 'chatcmpl-000000000000000000000000-1']) assertOpenaiError(await show(name), 404);
  });

  test('its topic is one of the list, and one that its client names is used', async () => {
    const { id, engine } = await answered();
    await answered({}, ANSWER, { headers: { 'x-parley-topic': 'mine' } });
    const topics = Object.keys((await cluster.request('GET', '/api/user-topics', { as: 'User_1' })).json);
    for (const topic of [engine.of.Topic, 'mine']) assert.ok(topics.includes(topic), `${topic} of ${topics}`);
    const deleted = await cluster.request('DELETE', '/api/topic', { as: 'User_1', query: { Topic: engine.of.Topic } });
    assert.equal(deleted.status, 200, deleted.text);
    assertOpenaiError(await show(id), 404);
  });

  test('an engine that is lost in the middle ends it, unless another one continues', async () => {
    const lost = await engineOf(cluster);
    const { id } = assertOk(await respond({ background: true }));
    await lost.take(lost.parked);
    assertOk(await lost.give(...ANSWER.slice(0, 2)));
    assertOk(await lost.post('release-claim', { Topic: lost.of.Topic, Lease: lost.of.Lease, Reason: 'lost' }));
    const failed = fits('Response', assertOk(await show(id)));
    assert.deepEqual([failed.status, failed.error.code], ['failed', 'server_error']);
    assert.match(failed.error.message, /lost/);
    assert.equal((await (await resume(id, 9)).whole()).chunks.at(-1).type, 'response.failed');

    const first = await engineOf(cluster, { continues: true });
    const { id: kept } = assertOk(await respond({ background: true }));
    await first.take(first.parked);
    assertOk(await first.give(deltaOf({ content: 'Forty' })));
    const second = await engineOf(cluster, { continues: true, as: 'Inference_2' });
    assertOk(await first.post('release-claim', { Topic: first.of.Topic, Lease: first.of.Lease, Reason: 'lost' }));
    await second.take(second.parked);
    assertOk(await second.answer([deltaOf({ content: '-two' }, { finish_reason: 'stop' })]));
    assert.equal(assertOk(await show(kept)).output[0].content[0].text, 'Forty-two');
  });

  test('fifty reconnects at random nodes lose nothing and double nothing', async () => {
    const engine = await engineOf(cluster);
    const { id } = assertOk(await respond({ background: true }));
    await engine.take(engine.parked);
    const seen = [];
    const client = [await clientOf(0), await clientOf(1)];
    let ended = false;
    const viewing = (async () => {
      for (let n = 0; !ended; n += 1) {
        const after = seen.length ? { starting_after: seen.length - 1 } : {};
        const events = await client[n % 2].responses.retrieve(id, { stream: true, ...after });
        for await (const event of events) {
          seen.push(event);
          ended = event.type === 'response.completed';
          if (n < 50 && seen.length % 3 === 0) break;
        }
        events.controller.abort();
      }
    })();
    const words = Array.from({ length: 200 }, (_, i) => `w${i} ä `);
    for (let i = 0; i < words.length; i += 4) assertOk(await engine.give(...words.slice(i, i + 4).map((content) => deltaOf({ content }))));
    assertOk(await engine.answer([deltaOf({}, { finish_reason: 'stop' })]));
    await viewing;
    assert.deepEqual(seen.map(({ sequence_number }) => sequence_number), seen.map((_, i) => i));
    const text = seen.filter(({ type }) => type === 'response.output_text.delta').map(({ delta }) => delta).join('');
    assert.equal(text, words.join(''));
    assert.equal((await client[0].responses.retrieve(id)).output_text, text);
    const again = client[1].responses.stream({ response_id: id, starting_after: 5 });
    assert.equal((await again.finalResponse()).output_text, text);
  });

  test('what is not possible is 400 and stores nothing', async () => {
    const engine = await engineOf(cluster);
    const before = await shard(':t:*');
    assert.match(assertOpenaiError(await respond({ background: true, store: false }), 400).message, /background/);
    assertOpenaiError(await respond({ store: 'yes' }), 400);
    assertOpenaiError(await respond({ metadata: { a: 1 } }), 400);
    assertOpenaiError(await respond({ previous_response_id: 7 }), 400);
    assertOpenaiError(await respond({ previous_response_id: 'resp_x' }), 404);
    assert.deepEqual(await shard(':t:*'), before);
    const { id } = assertOk(await respond({ background: true }));
    for (const query of ['?starting_after=1', '?stream=true&starting_after=-1', '?stream=true&starting_after=x']) assertOpenaiError(await show(id, {}, query), 400);
    await engine.take(engine.parked);
    assertOk(await engine.answer(ANSWER));
  });
});
