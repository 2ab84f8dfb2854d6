// SPDX-License-Identifier: MIT
//
// Chat completions that are stored, at /v1/chat/completions: listed, read, noted and deleted, by OpenAI's own client and
// without it.
import assert from 'node:assert/strict';
import OpenAI, { NotFoundError } from 'openai';
import { ACCOUNTS, assertOk, assertOpenaiError, eventually, newTopic, suite } from '../support/harness.mjs';
import { ask, deltaOf, Engine, engineOf, fits, openChat, tokenOf } from '../support/openai.mjs';
import { unzip } from '../support/zip.mjs';

const BODY = { model: 'llama3', messages: [{ role: 'user', content: 'What is kept?' }] };
const ROUTE = '/v1/chat/completions';
const USAGE = { prompt_tokens: 6, completion_tokens: 4 };
let person = 0;
// A person of its own, of the account of a frontend.
const somebody = () => ({ as: 'Frontend_1', headers: { 'x-parley-user': `stored-${person++}` } });

suite('chat completions that are stored', {}, ({ test, cluster }) => {
  const create = async (body = {}, options = {}, deltas = [deltaOf({ content: 'All of it.' }, { finish_reason: 'stop' })], more = { Usage: USAGE }) => {
    const engine = await engineOf(cluster, { models: body.model ?? BODY.model });
    const response = ask(cluster, 'POST', ROUTE, { ...options, body: { ...BODY, store: true, ...body } });
    await engine.take(engine.parked);
    assertOk(await engine.answer(deltas, { Answer: ['All of it.'], ...more }));
    return assertOk(await response);
  };
  const list = async (options, query) => assertOk(await ask(cluster, 'GET', ROUTE, { ...options, query }));
  const show = (id, options, more = '') => ask(cluster, 'GET', `${ROUTE}/${encodeURIComponent(id)}${more}`, options);
  const ids = ({ data }) => data.map(({ id }) => id);
  const clientOf = async (as = 'User_2', node = 0) => new OpenAI({ baseURL: `${cluster.pick(node).url}/v1`, apiKey: await tokenOf(cluster, as), maxRetries: 0 });

  test("OpenAI's client lists, reads, updates and deletes them", async () => {
    const [here, there] = [await clientOf(), await clientOf('User_2', 1)];
    const all = [];
    for (const name of ['one', 'two', 'three']) all.push(await create({ metadata: { name } }, { as: 'User_2' }));
    const seen = [];
    for await (const found of there.chat.completions.list({ limit: 2 })) seen.push(found);
    assert.deepEqual(seen, all.map((one, i) => ({ ...one, metadata: { name: ['one', 'two', 'three'][i] } })));
    assert.deepEqual(await here.chat.completions.retrieve(all[1].id), seen[1]);
    const updated = await here.chat.completions.update(all[1].id, { metadata: { name: '2', 'ä "quoted"': '\n😀' } });
    assert.deepEqual(updated, { ...seen[1], metadata: { name: '2', 'ä "quoted"': '\n😀' } });
    assert.deepEqual(await there.chat.completions.retrieve(all[1].id), updated);
    const named = async (metadata) => ids(await there.chat.completions.list({ metadata }));
    assert.deepEqual(await named({ 'ä "quoted"': '\n😀' }), [all[1].id]);
    assert.deepEqual(await named({ name: 'one' }), [all[0].id]);
    assert.deepEqual(await named({ name: 'two' }), []);
    const { data } = await there.chat.completions.messages.list(all[0].id);
    assert.deepEqual(data, [{ id: `${all[0].id}-0`, role: 'user', content: 'What is kept?', content_parts: null, refusal: null }]);
    assert.deepEqual(await here.chat.completions.delete(all[0].id), { object: 'chat.completion.deleted', id: all[0].id, deleted: true });
    await assert.rejects(there.chat.completions.retrieve(all[0].id), NotFoundError);
    await assert.rejects(there.chat.completions.delete(all[0].id), NotFoundError);
    // Each page begins after one that is deleted.
    for await (const { id } of there.chat.completions.list({ limit: 1 })) await here.chat.completions.delete(id);
    assert.deepEqual(ids(await there.chat.completions.list()), []);
    const topics = await cluster.request('GET', '/api/user-topics', { as: 'User_2', query: { OnBehalfOf: 'User_2' } });
    assert.equal(topics.status, 404, topics.text);
  });

  test('what is read is what was answered: tool calls, several choices, logprobs, in one piece and as a stream', async () => {
    const options = somebody();
    const call = (more) => deltaOf({ tool_calls: [{ index: 0, ...more }] });
    const logprobs = { content: [{ token: 'Hi', logprob: -0.5, bytes: null, top_logprobs: [] }], refusal: null };
    const deltas = [
      call({ id: 'call_1', type: 'function', function: { name: 'read', arguments: '{"path"' } }),
      deltaOf({ content: 'Hi' }, { index: 1, logprobs }),
      call({ function: { arguments: ':"x"}' } }),
      deltaOf({ reasoning_content: 'Hm.' }, { index: 1, finish_reason: 'length' }),
      deltaOf({}, { finish_reason: 'tool_calls' }),
    ];
    const whole = await create({ n: 2 }, options, deltas);
    assert.equal(whole.choices[0].message.tool_calls[0].function.arguments, '{"path":"x"}');
    assert.deepEqual(assertOk(await show(whole.id, options)), { ...whole, metadata: {} });
    const engine = await engineOf(cluster);
    const stream = await openChat(cluster, { ...BODY, n: 2, store: true }, options);
    await engine.take(engine.parked);
    for (const delta of deltas.slice(0, -1)) assertOk(await engine.give(delta));
    assertOk(await engine.answer(deltas.slice(-1), { Usage: USAGE }));
    const [{ id, created }] = (await stream.whole()).chunks;
    const streamed = assertOk(await show(id, options));
    assert.deepEqual(streamed, { ...whole, id, created, metadata: {} });
    assert.deepEqual(ids(await list(options)), [whole.id, id]);
  });

  test('in a topic with other questions they are listed alone, in their order, and deleting one leaves the others', async () => {
    const options = somebody();
    const topic = newTopic();
    const within = { ...options, headers: { ...options.headers, 'x-parley-topic': topic } };
    const first = await create({}, options);
    const one = await create({ metadata: { n: '1' } }, within);
    const two = await create({ metadata: { n: '2' } }, within);
    const last = await create({}, options);
    await cluster.add({ Topic: topic, User: options.headers['x-parley-user'], Query: 'And by the other route?' });
    assert.deepEqual(ids(await list(options)), [first.id, one.id, two.id, last.id]);
    assert.deepEqual(ids(await list(options, { order: 'desc' })), [last.id, two.id, one.id, first.id]);
    for (const order of ['asc', 'desc']) {
      const paged = [];
      for (let after; ; ) {
        const page = await list(options, { order, limit: 1, ...(after ? { after } : {}) });
        paged.push(...ids(page));
        after = page.last_id;
        if (!page.has_more) break;
      }
      assert.deepEqual(paged, ids(await list(options, { order })), order);
    }
    assertOk(await ask(cluster, 'DELETE', `${ROUTE}/${one.id}`, options));
    assert.deepEqual(ids(await list(options)), [first.id, two.id, last.id]);
    assert.deepEqual(ids(await list(options, { after: one.id })), [two.id, last.id]);
    assert.deepEqual(ids(await list(options, { after: one.id, order: 'desc' })), [first.id]);
    const thread = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic: topic, Detail: 'true' } }));
    assert.deepEqual(thread.map(({ Status, Query }) => [Status, Query]), [['Cancelled', ''], ['Done', 'What is kept?'], ['Open', 'And by the other route?']]);
    assertOk(await cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: options.headers['x-parley-user'], Topic: topic } }));
    assertOpenaiError(await show(two.id, options), 404, 'not_found');
    assert.deepEqual(ids(await list(options, { after: two.id })), [last.id]);
    assert.deepEqual(ids(await list(options, { after: two.id, order: 'desc' })), [first.id]);
  });

  test('of another account and of another person there is none', async () => {
    const options = somebody(), { id } = await create({ metadata: { a: 'b' } }, options);
    const named = await create({}, { ...options, headers: { ...options.headers, 'x-parley-topic': newTopic() } });
    const others = [somebody(), { ...options, as: 'Frontend_heavy' }, { as: 'User_1' }];
    for (const other of others) {
      for (const one of [id, named.id]) {
        for (const more of ['', '/messages']) assertOpenaiError(await show(one, other, more), 404, 'not_found');
        assertOpenaiError(await ask(cluster, 'POST', `${ROUTE}/${one}`, { ...other, body: { metadata: {} } }), 404, 'not_found');
        assertOpenaiError(await ask(cluster, 'DELETE', `${ROUTE}/${one}`, other), 404, 'not_found');
      }
      assert.deepEqual(ids(await list(other, { after: id })).filter((one) => [id, named.id].includes(one)), []);
    }
    for (const path of [ROUTE, `${ROUTE}/${id}`]) assertOpenaiError(await ask(cluster, 'GET', path, { as: 'Frontend_1' }), 400, 'bad_request');
    assert.deepEqual(assertOk(await show(id, options)).metadata, { a: 'b' });
  });

  test('ids that are none, or of no completion, are not found', async () => {
    const options = somebody(), { id } = await create({}, options);
    const [, asker, place] = id.split('-');
    const topic = Buffer.from(`chatcmpl-${asker}`).toString('base64url');
    const ok = `chatcmpl-${asker}-${place}-1-${topic}`; // another spelling of it
    assert.equal((await show(ok, options)).status, 200);
    const wrong = ['x', 'chatcmpl-', `chatcmpl-${asker}`, `chatcmpl-${asker}-`, `chatcmpl-${'0'.repeat(24)}-${place}`, `chatcmpl-${asker.toUpperCase()}-${place}`, `${id}-`, `${id}-1`, `${id}-0-${topic}`,
      `${id}-2-${topic}`, `${id}-1-*`, `${id}-1-${'A'.repeat(4000)}`, `${id}-9999999999-${topic}`, `chatcmpl-${asker}-99999999999999999999`, `${id}/../${id}`, `cmpl-${asker}`, '\n', '%00', '😀'];
    for (const one of wrong) {
      const found = await show(one, options);
      assert.ok([404, 400].includes(found.status), `${one}: ${found.status}`);
      assert.ok(found.json.error.message, one);
    }
    assertOpenaiError(await ask(cluster, 'GET', ROUTE, { ...options, query: { after: 'x' } }), 400, 'bad_request');
    assertOpenaiError(await ask(cluster, 'GET', `${ROUTE}/${id}/messages`, { ...options, query: { after: id } }), 400, 'bad_request');
    for (const query of [{ limit: 0 }, { limit: 101 }, { limit: 'x' }, { order: 'up' }]) {
      assertOpenaiError(await ask(cluster, 'GET', ROUTE, { ...options, query }), 400, 'bad_request');
      assertOpenaiError(await ask(cluster, 'GET', `${ROUTE}/${id}/messages`, { ...options, query }), 400, 'bad_request');
    }
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`metadata[${i}]`, 'x']));
    assertOpenaiError(await ask(cluster, 'GET', ROUTE, { ...options, query: many }), 400, 'bad_request');
  });

  test('metadata is 16 pairs of texts, or nothing is stored', async () => {
    const options = somebody(), { id } = await create({}, options);
    const pairs = (n, key = (i) => `k${i}`, value = 'v') => Object.fromEntries(Array.from({ length: n }, (_, i) => [key(i), value]));
    const wrong = [pairs(17), pairs(1, () => 'k'.repeat(65)), pairs(1, () => ''), pairs(1, undefined, 'v'.repeat(513)), { a: 1 }, { a: null }, { a: {} }, [], 'x', 7];
    for (const metadata of wrong) {
      assert.match(assertOpenaiError(await ask(cluster, 'POST', `${ROUTE}/${id}`, { ...options, body: { metadata } }), 400).message, /metadata/);
      assert.match(assertOpenaiError(await ask(cluster, 'POST', ROUTE, { ...options, body: { ...BODY, store: true, metadata } }), 400).message, /metadata/);
    }
    for (const body of [{}, { metadata: null }]) assertOpenaiError(await ask(cluster, 'POST', `${ROUTE}/${id}`, { ...options, body }), 400);
    assert.deepEqual(ids(await list(options)), [id]);
    const largest = pairs(16, (i) => `${i}`.padStart(64, '\u0001'), '\u{1F600}'.repeat(512));
    assert.deepEqual(assertOk(await ask(cluster, 'POST', `${ROUTE}/${id}`, { ...options, body: { metadata: largest } })).metadata, largest);
    const other = await create({ metadata: largest }, options);
    assert.deepEqual(assertOk(await show(other.id, options)).metadata, largest);
    const [[name, value]] = Object.entries(largest);
    assert.deepEqual(ids(await list(options, { [`metadata[${name}]`]: value })), [id, other.id]);
    // A pair is found whole, and not within others.
    const odd = assertOk(await ask(cluster, 'POST', `${ROUTE}/${id}`, { ...options, body: { metadata: { a: 'x,', ':': 'v', b: '"c":"d"' } } }));
    assert.deepEqual(ids(await list(options, { 'metadata[:]': 'v' })), [odd.id]);
    for (const pair of [{ 'metadata[c]': 'd' }, { 'metadata[a]': 'x' }, { 'metadata[,]': ':' }]) assert.deepEqual(ids(await list(options, pair)), []);
  });

  test('only those that have an answer are listed, those of a model alone if it is asked, and none of other routes', async () => {
    const options = somebody();
    const one = await create({}, options), two = await create({ model: 'other-7b' }, options);
    const engine = await engineOf(cluster);
    const refused = ask(cluster, 'POST', ROUTE, { ...options, body: { ...BODY, store: true } });
    await engine.take(engine.parked);
    assertOk(await engine.refuse({ status: 400, message: 'Too long.' }));
    assertOpenaiError(await refused, 400);
    const second = await engineOf(cluster);
    const running = await openChat(cluster, { ...BODY, store: true }, options);
    await second.take(second.parked);
    assertOk(await second.give(deltaOf({ content: 'Not yet' })));
    await running.until(({ chunks }) => chunks.length > 0, 'a piece');
    const { id } = running.chunks[0];
    assertOpenaiError(await show(id, options), 404, 'not_found');
    assert.deepEqual(ids(await list(options)), [one.id, two.id]);
    assert.deepEqual(ids(await list(options, { model: 'other-7b' })), [two.id]);
    assert.deepEqual(ids(await list(options, { model: 'none' })), []);
    running.abort();
    const plain = await create({ store: false }, options);
    assertOpenaiError(await show(plain.id, options), 404, 'not_found');
  });

  test('messages of each kind, in pages, both ways', async () => {
    const options = somebody();
    const parts = [{ type: 'text', text: 'Look' }, { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }];
    const calls = [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }];
    const messages = [{ role: 'system', content: 'Be "brief"\n' }, { role: 'user', content: parts, name: 'ann' }, { role: 'assistant', content: null, tool_calls: calls }, { role: 'tool', tool_call_id: 'c', content: 'ok' }];
    const { id } = await create({ messages }, options);
    const expected = messages.map((message, i) => ({
      ...message,
      id: `${id}-${i}`,
      content: typeof message.content === 'string' ? message.content : null,
      content_parts: Array.isArray(message.content) ? message.content : null,
      refusal: null,
    }));
    const read = async (query) => assertOk(await ask(cluster, 'GET', `${ROUTE}/${id}/messages`, { ...options, query }));
    assert.deepEqual(await read(), { object: 'list', data: expected, first_id: `${id}-0`, last_id: `${id}-3`, has_more: false });
    for (const order of ['asc', 'desc']) {
      const found = [];
      for (let after; ; ) {
        const page = await read({ order, limit: 3, ...(after ? { after } : {}) });
        found.push(...page.data);
        after = page.last_id;
        if (!page.has_more) break;
      }
      assert.deepEqual(found, order === 'asc' ? expected : expected.toReversed());
    }
    assert.deepEqual(await read({ after: `${id}-999` }), { object: 'list', data: [], first_id: '', last_id: '', has_more: false });
    assert.deepEqual((await read({ after: `${id}-0`, order: 'desc' })).data, []);
  });

  test('one whose node was lost before it was stored whole is shown with its text', async () => {
    const options = somebody(), { id } = await create({}, options, undefined, { Usage: USAGE, Think: ['Hm.'], FinishReason: 'length', Model: 'llama3' });
    const [topic] = Object.keys((await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: options.headers['x-parley-user'] } })).json);
    for (const key of await cluster.redis.cmd('KEYS', `*:t:${topic}`)) await cluster.redis.cmd('HDEL', key, 'v:1');
    const found = assertOk(await show(id, options));
    assert.deepEqual([found.choices[0].message.content, found.choices[0].message.reasoning, found.choices[0].finish_reason], ['All of it.', 'Hm.', 'length']);
    assert.equal(found.usage.total_tokens, 10);
    assert.deepEqual((await list(options)).data, [found]);
  });

  test('a thousand are listed in pages by any node, while some are deleted', async () => {
    const options = somebody();
    let isOver = false;
    const engines = Array.from({ length: 6 }, async () => {
      const engine = new Engine(cluster);
      while (!isOver) {
        const claim = await engine.poll(1).response;
        if (!claim.json?.Queries) continue;
        await engine.take({ response: Promise.resolve(claim) });
        assertOk(await engine.answer([deltaOf({ content: 'Forty-two' }, { finish_reason: 'stop' })]));
      }
    });
    await eventually(async () => (await ask(cluster, 'POST', ROUTE, { as: 'User_1', body: BODY })).status === 200, { what: 'an engine answers' });
    let left = 1000;
    const made = [];
    await Promise.all(Array.from({ length: 12 }, async () => {
      while (left-- > 0) made.push(assertOk(await ask(cluster, 'POST', ROUTE, { ...options, body: { ...BODY, store: true, metadata: { n: `${left}` } } })).id);
    }));
    isOver = true;
    await Promise.all(engines);
    const all = [];
    for (let page, n = 0; !page || page.has_more; n++) {
      page = await list({ ...options, node: n % 2 }, { limit: 100, ...(page ? { after: page.last_id } : {}) });
      all.push(...ids(page));
      if (n % 3 === 0) assertOk(await ask(cluster, 'DELETE', `${ROUTE}/${page.last_id}`, options));
    }
    assert.deepEqual(all.toSorted(), made.toSorted());
    const rest = [];
    for (let page; !page || page.has_more; ) {
      page = await list(options, { limit: 73, order: 'desc', ...(page ? { after: page.last_id } : {}) });
      rest.push(...ids(page));
    }
    assert.equal(rest.length, 996);
    assert.deepEqual(rest, all.filter((id) => rest.includes(id)).toReversed());
    assert.equal((await list(options, { 'metadata[n]': '500' })).data.length, 1);
  });

  test('they leave with the data of their user, and its export has them', async () => {
    const options = somebody(), user = options.headers['x-parley-user'], { id } = await create({}, options);
    const exported = await cluster.request('GET', `/api/users/${user}/export`, { as: 'Frontend_1' });
    const [{ Queries: [{ Query, Answer }] }] = JSON.parse(unzip(exported.body).get('topics.json').toString());
    assert.deepEqual([Query, Answer], ['What is kept?', ['All of it.']]);
    await eventually(async () => assertOk(await cluster.request('DELETE', `/api/users/${user}`, { as: 'Frontend_1' }), 202).Done, { what: 'it is deleted' });
    assertOpenaiError(await show(id, options), 404, 'not_found');
    assert.deepEqual(ids(await list(options)), []);
  });
});

suite('what stored completions may take', { accounts: { ...ACCOUNTS, User_2: { ...ACCOUNTS.User_2, max_stored: 1 << 16 } } }, ({ test, cluster }) => {
  test('all of it counts, and deleting it gives it back', async () => {
    const options = { as: 'User_2' };
    const counted = async () => {
      const keys = await cluster.redis.cmd('KEYS', '*:stored');
      return (await Promise.all(keys.map((key) => cluster.redis.cmd('HGET', key, 'User_2 User_2')))).reduce((sum, n) => sum + Number(n ?? 0), 0);
    };
    const send = async (body, text) => {
      const engine = await engineOf(cluster);
      const response = ask(cluster, 'POST', ROUTE, { ...options, body: { ...BODY, store: true, ...body } });
      await engine.take(engine.parked);
      assertOk(await engine.answer([deltaOf({ content: text }, { finish_reason: 'stop' })], { Answer: ['short'] }));
      return fits('CreateChatCompletionResponse', assertOk(await response));
    };
    const { id } = await send({}, 'x'.repeat(9000));
    assert.equal(await counted(), 12 << 10);
    const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, 'v'.repeat(512)]));
    assertOk(await ask(cluster, 'POST', `${ROUTE}/${id}`, { ...options, body: { metadata } }));
    assert.equal(await counted(), 20 << 10);
    const topic = newTopic();
    const within = { ...options, headers: { 'x-parley-topic': topic } };
    Object.assign(options, within);
    const one = await send({}, 'x'.repeat(9000));
    await send({}, 'short');
    assert.equal(await counted(), 32 << 10);
    assertOk(await ask(cluster, 'DELETE', `${ROUTE}/${one.id}`, options));
    assert.equal(await counted(), 24 << 10);
    assertOk(await ask(cluster, 'DELETE', `${ROUTE}/${id}`, options));
    assert.equal(await counted(), 4 << 10);
    const filled = await ask(cluster, 'POST', ROUTE, { ...options, body: { ...BODY, store: true, filler: 'x'.repeat(70_000) } });
    assertOpenaiError(filled, 429, 'too_much_stored');
  });
});
