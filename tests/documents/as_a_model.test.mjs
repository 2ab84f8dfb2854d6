// SPDX-License-Identifier: MIT
//
// Documents as a model of OpenAI's interface: chat completions for `parley/documents` are answered from the documents of their
// person, with marks and annotations.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { gate, openLibrary, passagesOf, withEngine } from '../support/asking.mjs';
import { withEngines } from '../support/engines.mjs';
import { ACCOUNTS, assertOk, assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { ask, assertChunks, engineOf, fits, openChat, tokenOf } from '../support/openai.mjs';
import { startClients } from '../support/openai_clients.mjs';
import { sumOfAll } from '../support/shards.mjs';

const MODEL = 'parley/documents';
const NOTHING = "I don't know based on the provided documents.";
const QUESTION = 'How long does a lease last?';
const MINE = {
  'leases.md': '# Leases\n\nA lease lasts 150 seconds. Heartbeats renew a lease.\n',
  'fruit.md': '# Fruit\n\nBananas are yellow, and no lease is.\n',
};
const said = (...texts) => texts.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }));
const chat = (cluster, body = {}, options) => ask(cluster, 'POST', '/v1/chat/completions', { body: { model: MODEL, messages: said(QUESTION), ...body }, ...options });
const messageOf = (response) => fits('CreateChatCompletionResponse', assertOk(response)).choices[0].message;
const textOf = (chunks) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
const annotationsOf = (chunks) => chunks.flatMap(({ choices }) => choices[0]?.delta.annotations ?? []);
const markOf = (user, text) => Object.entries(passagesOf(user)).find(([, passage]) => passage.includes(text))[0];
const user = (name, more) => ({ [name]: { secret: `secret-of-${name}`, role: 'user', ...more } });
const accounts = { ...ACCOUNTS, ...user('Few', { requests_per_minute: 2 }), ...user('One', { max_concurrent: 1 }), ...user('Daily', { tokens_per_day: 25 }) };

// Each annotation names the mark that it is for, by characters; returns [mark, title] of each.
function assertAnnotations(text, annotations) {
  const characters = [...text];
  return annotations.map(({ type, url_citation: { start_index: from, end_index: to, url, title } }) => {
    assert.equal(type, 'url_citation');
    assert.match(url, /^\/api\/docs\/[0-9a-f-]{36}\/chunks\/\d+$/);
    return [characters.slice(from, to).join(''), title];
  });
}

suite('documents as a model', { accounts, args: ['--ask-seconds', '5'] }, ({ test, cluster }) => {
  let library;
  before(async () => {
    library = await openLibrary(cluster.redis);
    for (const owner of ['User_1', 'Few', 'One', 'Daily']) await library.store(`o:${owner}`, MINE);
    await library.store('o:User_2', { 'theirs.md': 'Their lease lasts 77 seconds. Nobody else may know.' });
  });
  beforeEach(() => library.forgetLimits());
  after(() => library?.close());

  // Those that others may still come back for aside.
  const isVoid = (before = []) => eventually(async () => (await library.questions()).every((topic) => before.includes(topic)), { what: 'no question is left' });
  const partial = ({ topic: Topic, lease: Lease }, Offset, Answer) => cluster.request('POST', '/api/give-partial', { as: 'Inference_1', body: { Topic, Seq: 1, Lease, Offset, Think: '', Answer } });
  const giveBack = ({ topic: Topic, lease: Lease }) => cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Reason: 'lost', Retry: true } });

  test('it is listed and found, with and without the model of an engine that is there', async () => {
    const engine = await engineOf(cluster);
    await cluster.redis.cmd('HSET', 'parley:{0}:models_seen', 'chat/parley%2Fdocuments', `${Date.now()} Inference_1 `); // an engine's, too
    try {
      const list = async () => fits('ListModelsResponse', assertOk(await ask(cluster, 'GET', '/v1/models'))).data.map(({ id }) => id);
      assert.equal((await list())[0], MODEL);
      await eventually(async () => (await list()).includes('llama3'), { what: 'the model of the engine is listed' });
      assert.equal((await list()).filter((id) => id.startsWith(MODEL)).length, 1);
      for (const id of [MODEL, `${MODEL}/`, MODEL.replace('/', '%2F'), `${MODEL}:llama3`]) {
        const { id: found, owned_by } = fits('Model', assertOk(await ask(cluster, 'GET', `/v1/models/${id}`)));
        assert.deepEqual([found, owned_by], [decodeURIComponent(id).replace(/\/$/, ''), 'parley']);
      }
      for (const id of [`${MODEL}:nobody`, `${MODEL}:`, `${MODEL}s`, 'parley']) assertOpenaiError(await ask(cluster, 'GET', `/v1/models/${id}`), 404, 'model_not_found');
    } finally {
      engine.parked.abort();
    }
  });

  test('the answer has marks of the passages, and an annotation for each', () =>
    withEngine(cluster, ({ user: prompt }) => ({ text: `\u00c4 \u{1F600} ${markOf(prompt, 'yellow')}: it lasts 150 seconds [${markOf(prompt, '150 seconds')}, ${markOf(prompt, 'yellow')}], surely [9].`, finish: 'length' }), async (engine) => {
      for (const node of [0, 1]) {
        const response = await chat(cluster, { temperature: 0.5, max_completion_tokens: 77 }, { node });
        const { content, annotations, refusal } = messageOf(response);
        assert.match(content, /^\u00c4 \u{1F600} \d: it lasts 150 seconds \[1\]\[2\], surely\.$/u);
        assert.equal(refusal, null);
        assert.deepEqual(assertAnnotations(content, annotations), [['[1]', 'leases.md'], ['[2]', 'fruit.md']]);
        assert.equal(response.json.model, MODEL);
        assert.match(response.json.id, /^chatcmpl-\w{24}$/);
        assert.equal(response.json.choices[0].finish_reason, 'length');
        assert.ok(response.json.usage.completion_tokens > 0);
        const passage = assertOk(await cluster.request('GET', annotations[0].url_citation.url, { as: 'User_1' }));
        assert.match(passage.text, /150 seconds/);
      }
      const { query, details, modifiers } = engine.prompts[0];
      assert.deepEqual([query, details.User, details.Model, modifiers.temperature, modifiers.max_tokens], [QUESTION, 'User_1', 'default', 0.5, 77]);
      await isVoid();
    }));

  test('a stream shows the same, however the engine has cut it, and the annotations before its end', () =>
    withEngine(cluster, async (prompt) => {
      const pieces = ['\u00c4: 150 sec', 'onds [', '1', '] [', '9] `[9', ']` [2', ', 1].'];
      let offset = 0;
      for (const piece of pieces) offset = assertOk(await partial(prompt, offset, piece)).Next;
      return pieces.join('');
    }, async () => {
      const whole = messageOf(await chat(cluster));
      const stream = await (await openChat(cluster, { model: MODEL, messages: said(QUESTION), stream_options: { include_usage: true } })).whole();
      const chunks = assertChunks(stream);
      assert.equal(textOf(chunks), '\u00c4: 150 seconds [1] `[9]` [1][2].');
      assert.equal(whole.content, textOf(chunks));
      assert.deepEqual(assertAnnotations(textOf(chunks), annotationsOf(chunks)).map(([mark]) => mark), ['[1]', '[1]', '[2]']);
      assert.deepEqual(annotationsOf(chunks), whole.annotations);
      const at = (found) => chunks.findIndex(found);
      assert.ok(at(({ choices }) => choices[0]?.delta.annotations) < at(({ choices }) => choices[0]?.finish_reason), stream.text);
      assert.ok(chunks.at(-1).usage.total_tokens > 0);
    }));

  test('a response has the same text, with the citations as annotations of its message, plain and streamed', () =>
    withEngine(cluster, ({ user: prompt }) => `\u00c4: it lasts 150 seconds [${markOf(prompt, '150 seconds')}], surely [9].`, async (engine) => {
      const body = { model: MODEL, instructions: 'Be brief.', input: [{ role: 'user', content: [{ type: 'input_text', text: QUESTION }] }], max_output_tokens: 77 };
      const whole = fits('Response', assertOk(await ask(cluster, 'POST', '/v1/responses', { body })));
      const [{ type, content: [{ text, annotations }] }] = whole.output;
      assert.deepEqual([whole.status, whole.model, whole.store, whole.output.length, type], ['completed', MODEL, false, 1, 'message']);
      assert.equal(text, '\u00c4: it lasts 150 seconds [1], surely.');
      const cited = (notes) => notes.map(({ type: kind, start_index: from, end_index: to, title }) => [kind, [...text].slice(from, to).join(''), title]);
      assert.deepEqual(cited(annotations), [['url_citation', '[1]', 'leases.md']]);
      assert.equal(engine.prompts[0].modifiers.max_tokens, 77);
      const { chunks: events } = await (await openChat(cluster, body, { path: '/v1/responses' })).whole();
      for (const event of events) fits('ResponseStreamEvent', event);
      assert.deepEqual(events.map((event) => event.sequence_number), events.map((_, i) => i));
      assert.equal(events.filter((event) => event.type === 'response.output_text.delta').map(({ delta }) => delta).join(''), text);
      assert.deepEqual(events.filter((event) => event.type === 'response.output_text.annotation.added').map(({ annotation }) => annotation), annotations);
      const { type: last, response } = events.at(-1);
      assert.deepEqual([last, response.output[0].content], ['response.completed', whole.output[0].content]);
      for (const [more, words] of [[{ store: true }, /`store`/], [{ background: true }, /background/], [{ input: 'x'.repeat(4001) }, /4000 characters/], [{ temperature: 3 }, /temperature/]]) {
        const refused = await ask(cluster, 'POST', '/v1/responses', { body: { ...body, ...more } });
        assertOpenaiError(refused, 400, 'bad_request');
        assert.match(refused.json.error.message, words);
      }
      assertOpenaiError(await ask(cluster, 'GET', `/v1/responses/${whole.id}`), 404, 'not_found');
      await isVoid();
    }));

  test('pieces are shown as they come', async () => {
    const { hold, open } = gate();
    await withEngine(cluster, async (prompt) => {
      assertOk(await partial(prompt, 0, 'It lasts [1] '));
      await hold;
      return 'It lasts [1] long.';
    }, async () => {
      const stream = await openChat(cluster, { model: MODEL, messages: said(QUESTION) });
      await stream.until(({ chunks }) => textOf(chunks).startsWith('It lasts [1]'), 'the first piece');
      open();
      assert.equal(textOf(assertChunks(await stream.whole())), 'It lasts [1] long.');
    });
  });

  test('a node that is to end finishes what it has begun', async () => {
    const { hold, open } = gate();
    const node = await cluster.startNode();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1); // the engine asks the others
    await withEngine(cluster, async (prompt) => {
      assertOk(await partial(prompt, 0, 'It lasts [1] '));
      await hold;
      return 'It lasts [1] long.';
    }, async () => {
      const stream = await openChat(cluster, { model: MODEL, messages: said(QUESTION) }, { node });
      await stream.until(({ chunks }) => textOf(chunks).startsWith('It lasts [1]'), 'the first piece');
      const stopped = node.stop();
      await eventually(() => /draining/.test(node.log()), { what: 'it drains' });
      open();
      assert.equal(textOf(assertChunks(await stream.whole())), 'It lasts [1] long.');
      await stopped;
    });
  });

  test('thoughts of a model are its reasoning', () =>
    withEngine(cluster, async (prompt) => {
      await cluster.answer({ Topic: prompt.topic, Seq: 1, Query: prompt.query, Lease: prompt.lease, Think: ['Hm [9].'], Answer: ['It lasts [1].'] });
    }, async () => {
      const { content, reasoning } = messageOf(await chat(cluster));
      assert.deepEqual([content, reasoning], ['It lasts [1].', 'Hm [9].']);
    }));

  test('each person gets answers from its own documents', () =>
    withEngine(cluster, ({ user: prompt }) => `${/\d+ seconds/.exec(prompt)?.[0]} [1].`, async (engine) => {
      const of = async (as, options, body) => messageOf(await chat(cluster, body, { as, ...options }));
      assert.match((await of('User_1')).content, /^150/);
      const theirs = await of('User_2', { headers: { 'X-Parley-User': 'User_1' } }, { user: 'User_1' }); // labels of an account of role user
      assert.match(theirs.content, /^77/);
      const { content, annotations } = await of('Frontend_1', { headers: { 'X-Parley-User': 'User_2' } });
      assert.match(content, /^77/);
      const { url } = annotations[0].url_citation;
      assert.match(url, /\?OnBehalfOf=User_2$/);
      assert.match(assertOk(await cluster.request('GET', url, { as: 'Frontend_1' })).text, /77 seconds/);
      assert.match((await of('Frontend_1', {}, { user: 'User_1' })).content, /^150/);
      assert.equal((await of('Frontend_1', {}, { user: 'nobody' })).content, NOTHING);
      assertOpenaiError(await chat(cluster, {}, { as: 'Frontend_1' }), 400);
      assert.equal((await chat(cluster, {}, { as: 'Inference_1' })).status, 403);
      assert.equal((await cluster.request('POST', '/v1/chat/completions', { body: { model: MODEL, messages: said(QUESTION) } })).status, 401);
      for (const { user: prompt, details } of engine.prompts) assert.equal(prompt.includes('77 seconds'), details.User === 'User_2');
    }));

  test('where nothing is found it says so, and no engine is asked', async () => {
    const before = await library.questions();
    const messages = said('Who won the championship of curling?');
    const response = await chat(cluster, { messages });
    const { content, annotations } = messageOf(response);
    assert.deepEqual([content, annotations], [NOTHING, undefined]);
    assert.deepEqual(response.json.usage, { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });
    assert.equal(response.json.choices[0].finish_reason, 'stop');
    const chunks = assertChunks(await (await openChat(cluster, { model: MODEL, messages })).whole());
    assert.equal(textOf(chunks), NOTHING);
    assert.deepEqual(await library.questions(), before);
  });

  test('only a question without words to search for is asked together with an earlier one', () =>
    withEngine(cluster, () => 'Yes [1].', async (engine) => {
      const questionOf = async (...texts) => {
        messageOf(await chat(cluster, { messages: [{ role: 'system', content: 'Bananas!' }, ...said(...texts)] }));
        return /Question: ([^]*)$/.exec(engine.prompts.at(-1).user)[1];
      };
      assert.equal(await questionOf(QUESTION, 'It lasts [1].', 'And why?'), `${QUESTION}\nAnd why?`);
      assert.equal(await questionOf(QUESTION, 'It lasts [1].', 'And why?', 'So [1].', 'But how?'), `${QUESTION}\nBut how?`);
      assert.equal(await questionOf(QUESTION, 'It lasts [1].', 'Are bananas yellow?'), 'Are bananas yellow?');
      const parts = [{ type: 'text', text: 'How long does' }, { type: 'text', text: 'a lease last?' }];
      assert.equal(await questionOf(parts), 'How long does\na lease last?');
      assert.equal(await questionOf([{ type: 'image_url', image_url: { url: 'data:,x' } }, ...parts], 'No.', 'And why?'), 'How long does\na lease last?\nAnd why?');
    }));

  test('questions are 20 a minute for a person, with those of the other routes', async () => {
    const messages = said('Who won the championship of curling?');
    const other = () => cluster.request('POST', '/api/rag/ask', { as: 'User_1', body: { question: messages[0].content } });
    for (let i = 0; i < 20; i += 1) assertOk(await (i % 2 === 0 ? chat(cluster, { messages }, { node: 0 }) : other()));
    for (const stream of [false, true]) {
      const response = await chat(cluster, { messages, stream }, { node: 1 });
      assert.match(assertOpenaiError(response, 429, 'rate_limit_exceeded').message, /20 in 60 seconds/);
      assert.ok(Number(response.headers['retry-after']) >= 1 && Number(response.headers['retry-after']) <= 60);
      assert.equal(Number(response.headers['retry-after-ms']), Number(response.headers['retry-after']) * 1000);
    }
    assert.equal((await other()).status, 429);
    assertOk(await chat(cluster, { messages }, { as: 'User_2' }));
  });

  test('an engine that is lost before its first piece is not noticed', async () => {
    for (const stream of [false, true]) {
      await withEngine(cluster, async (prompt, n) => {
        if (n > 1) return 'It lasts [1].';
        assertOk(await giveBack(prompt));
        return undefined;
      }, async (engine) => {
        const response = stream ? await (await openChat(cluster, { model: MODEL, messages: said(QUESTION) })).whole() : await chat(cluster);
        assert.equal(stream ? textOf(assertChunks(response)) : messageOf(response).content, 'It lasts [1].');
        assert.equal(engine.prompts.length, 2);
      });
    }
  });

  test('an engine that is lost in the middle ends a stream with an error, unless the same text comes again', async () => {
    const reply = (again) => async (prompt, n) => {
      if (n > 1) return again;
      assertOk(await partial(prompt, 0, 'It lasts [1] 150'));
      assertOk(await giveBack(prompt));
      return undefined;
    };
    const read = (again, body) => withEngine(cluster, reply(again), async () => (await openChat(cluster, { model: MODEL, messages: said(QUESTION), ...body })).whole());
    for (const [again, body] of [['It lasts [1] 150 seconds.', {}], ['No: 150 seconds [1].', { temperature: 0 }], ['It lasts', { temperature: 0 }]]) {
      const { events } = await read(again, body);
      assert.equal(events.at(-1), '[DONE]');
      assert.equal(JSON.parse(events.at(-2)).error.code, 'engine_lost');
    }
    const chunks = assertChunks(await read('It lasts [1] 150 seconds [2].', { temperature: 0 }));
    assert.equal(textOf(chunks), 'It lasts [1] 150 seconds [2].');
    assert.deepEqual(assertAnnotations(textOf(chunks), annotationsOf(chunks)).map(([mark]) => mark), ['[1]', '[2]']);
    await isVoid();
  });

  test('a question that its engines give up has an error, before the head with its status', () =>
    withEngine(cluster, async ({ topic: Topic, lease: Lease }) => {
      assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Reason: 'no', Retry: false } }));
    }, async () => {
      assertOpenaiError(await chat(cluster), 503, 'engine_failed');
      assertOpenaiError(await chat(cluster, { stream: true }), 503, 'engine_failed');
    }));

  test('an answer may take longer than the other routes wait, and a comment comes meanwhile', async () => {
    const { hold, open } = gate();
    await withEngine(cluster, async () => {
      await hold;
      return 'It lasts [1].';
    }, async (engine) => {
      const stream = await openChat(cluster, { model: MODEL, messages: said(QUESTION) });
      await stream.until(({ text }) => text.startsWith(': ping\n'), 'the comment of the head');
      const refused = await cluster.request('POST', '/api/rag/ask', { as: 'User_1', body: { question: 'How long is a lease of bananas?' } });
      assert.equal(refused.status, 503); // after --ask-seconds
      assert.equal(stream.ended, undefined);
      open();
      assert.equal(textOf(assertChunks(await stream.whole())), 'It lasts [1].');
      await engine.asked(2); // the other one was kept for its client
    });
  });

  test('a client that hangs up takes its question out of the queue', async () => {
    const before = await library.questions();
    for (const isWorking of [true, false]) {
      const { hold, open } = gate();
      await withEngine(cluster, async (prompt) => {
        if (isWorking) assertOk(await partial(prompt, 0, 'It lasts'));
        await hold;
        return 'It lasts [1].';
      }, async (engine) => {
        const stream = await openChat(cluster, { model: MODEL, messages: said(QUESTION) });
        await engine.asked(1);
        if (isWorking) await stream.until(({ text }) => text.includes('It lasts'), 'the first piece');
        stream.abort();
        await isVoid(before).finally(open);
      }).catch((error) => assert.match(error.message, /404/)); // the engine's answer is to nothing
    }
  });

  test('an engine that names the model gets the question, and a model that nobody names is not there', async () => {
    const asked = chat(cluster, { model: `${MODEL}:nobody` });
    assert.match(assertOpenaiError(await asked, 404, 'model_not_found').message, /'parley\/documents:nobody'/);
    assertOpenaiError(await chat(cluster, { model: `${MODEL}:` }), 404, 'model_not_found');
    assertOpenaiError(await chat(cluster, { model: `${MODEL}s` }), 404, 'model_not_found');
    for (const [path, body] of [['completions', { prompt: QUESTION }], ['embeddings', { input: QUESTION }]]) assertOpenaiError(await ask(cluster, 'POST', `/v1/${path}`, { body: { model: MODEL, ...body } }), 404, 'model_not_found');
    const poll = (models, apis) => cluster.claimOpen({ wait: 30, detail: true, models, query: { Apis: apis } });
    const waits = (models) => eventually(async () => (await ask(cluster, 'GET', '/v1/models')).json.data.some(({ id }) => id === models), { what: `${models} is listed` });
    const [embedder, phraser] = [poll('vectors', 'embeddings'), poll('phraser', 'chat')];
    await Promise.all([waits('vectors'), waits('phraser')]);
    assertOpenaiError(await chat(cluster, { model: `${MODEL}:vectors` }), 404, 'model_not_found');
    const response = chat(cluster, { model: `${MODEL}:phraser` });
    const { Topic, Queries, Lease, Details } = assertOk(await phraser.response);
    assert.deepEqual([Details[1].Model, Details[1].Api, Queries[0][1]], ['phraser', undefined, QUESTION]);
    await cluster.answer({ Topic, Seq: 1, Query: Queries[0][1], Lease, Answer: ['150 seconds [1].'] });
    assert.equal(messageOf(await response).content, '150 seconds [1].');
    assert.equal((await response).json.model, `${MODEL}:phraser`);
    embedder.abort();
    await cluster.redis.cmd('HSET', 'parley:{0}:models_seen', 'chat/away', `${Date.now() - 60_000} Inference_1 `);
    const away = await chat(cluster, { model: `${MODEL}:away` });
    assertOpenaiError(away, 503, 'no_engine');
    assert.ok(Number(away.headers['retry-after']) <= 60);
  });

  test('what it cannot do is 400, says what is wrong, and stores nothing', async () => {
    const refused = async (body, named, options) => assert.match(assertOpenaiError(await chat(cluster, body, options), 400).message, named);
    const before = await library.questions();
    const lengths = /must have 1 to 4000 characters/;
    await refused({ messages: [{ role: 'system', content: 'Answer.' }] }, lengths);
    await refused({ messages: said('x'.repeat(4001)) }, lengths);
    await refused({ messages: said('\u{1F600}'.repeat(4001)) }, lengths);
    for (const content of ['', ' \n', null, 5, {}, []]) await refused({ messages: [{ role: 'user', content }] }, lengths);
    await refused({ messages: [null, 5, 'x', {}] }, lengths);
    await refused({ messages: [] }, /messages/);
    for (const type of ['image_url', 'input_audio', 'file']) await refused({ messages: said([{ type: 'text', text: QUESTION }, { type, [type]: {} }]) }, new RegExp(`text only: .* '${type}'`));
    await refused({ messages: said([{}]) }, /text only/);
    for (const body of [{ store: true }, { metadata: { topic: 'kept' } }]) await refused(body, /`store` and the topic/);
    await refused({}, /`store` and the topic/, { headers: { 'X-Parley-Topic': 'kept' } });
    for (const [name, values] of [['n', [2, 0, 'x']], ['temperature', [-1, 2.1, '0', []]], ['max_tokens', [0, -5, 'x', 1e9]], ['max_completion_tokens', [0, 1.5]]])
      for (const value of values) await refused({ [name]: value }, new RegExp(`^${name}`));
    assert.deepEqual(await library.questions(), before);
    assert.deepEqual(await cluster.redis.cmd('KEYS', '*:limit:ask:*'), []);
    for (const body of [{ n: 1, store: false, temperature: null, max_tokens: null, metadata: {}, tools: [{ type: 'function' }] }, { messages: said('x'.repeat(4000)) }]) assert.equal(messageOf(await chat(cluster, { messages: said('Curling?'), ...body })).content, NOTHING);
  });

  test('budgets of an account count its questions and their tokens', () =>
    withEngine(cluster, async ({ topic: Topic, query: Query, lease: Lease }) => {
      await cluster.answer({ Topic, Seq: 1, Query, Lease, Answer: ['It lasts [1].'], Usage: { prompt_tokens: 20, completion_tokens: 10 } });
    }, async () => {
      const response = await chat(cluster, {}, { as: 'Daily' });
      assert.equal(messageOf(response).content, 'It lasts [1].');
      assert.deepEqual(response.json.usage, { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 });
      assert.deepEqual(['limit', 'remaining'].map((name) => response.headers[`x-ratelimit-${name}-tokens`]), ['25', '25']);
      assertOpenaiError(await chat(cluster, {}, { as: 'Daily' }), 429, 'quota_used');
      for (let i = 0; i < 2; i++) assertOk(await chat(cluster, {}, { as: 'Few' }));
      assertOpenaiError(await chat(cluster, {}, { as: 'Few' }), 429, 'rate_limit_exceeded');
      // A place is free after an answer, a refusal, and a question that is never asked.
      assertOk(await chat(cluster, {}, { as: 'One' }));
      await eventually(async () => (await chat(cluster, { messages: said('Curling?') }, { as: 'One' })).status === 200, { what: 'the place of an answer is free' });
      await eventually(async () => (await chat(cluster, { model: `${MODEL}:nobody` }, { as: 'One' })).status === 404, { what: 'and that of a question that found nothing' });
      await eventually(async () => (await chat(cluster, {}, { as: 'One' })).status === 200, { what: 'and that of a model that is not there' });
      assert.equal(await sumOfAll(cluster.redis, 'ZCARD', 'running:Daily'), 0);
    }));

  test('official clients show the text, and those that know citations show them', () =>
    withEngine(cluster, () => 'It lasts 150 seconds [1].', async () => {
      const clients = startClients(cluster.pick(1).url, await tokenOf(cluster, 'User_1'));
      try {
        for (const name of clients.names) {
          await library.forgetLimits();
          const { text, error, finish, sources } = await clients.read(name, { model: MODEL, messages: said(QUESTION) });
          assert.deepEqual([error, text, finish], [undefined, 'It lasts 150 seconds [1].', 'stop'], name);
          const knows = /^(openai|ai\d$)/.test(name);
          assert.deepEqual(sources?.map(([, title]) => title), knows ? ['leases.md'] : undefined, name);
          if (knows) assert.match(sources[0][0], /^\/api\/docs\//);
        }
      } finally {
        await clients.stop();
      }
    }));

  test('the built-in model answers with sentences of the documents', () =>
    withEngines(cluster, async ({ start }) => {
      await start(['--slots', 1]);
      await eventually(async () => (await sumOfAll(cluster.redis, 'ZCARD', 'idle')) > 0, { what: 'an engine waits' });
      const { content, annotations } = messageOf(await chat(cluster));
      assert.match(content, /A lease lasts 150 seconds/);
      const found = assertAnnotations(content, annotations);
      assert.ok(found.length > 0);
      for (const [mark] of found) assert.match(mark, /^\[\d\]$/);
      const chunks = assertChunks(await (await openChat(cluster, { model: MODEL, messages: said(QUESTION) })).whole());
      assert.equal(textOf(chunks), content);
      assert.deepEqual(annotationsOf(chunks), annotations);
    }));
});

suite('documents as a model without engines, at a public address', { args: ['--public-url', 'https://parley.example/x/'], sweep: false }, ({ test, cluster }) => {
  let library;
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('o:User_1', MINE);
  });
  after(() => library?.close());

  test('no engine: 503 at once, in OpenAI\'s form', async () => {
    for (const stream of [false, true]) {
      const response = await chat(cluster, { stream });
      assertOpenaiError(response, 503, 'no_engine');
      assert.ok(Number(response.headers['retry-after']) <= 60);
    }
  });

  test('addresses of passages begin with the public one', () =>
    withEngine(cluster, () => 'It lasts [1].', async () => {
      const { annotations } = messageOf(await chat(cluster));
      assert.match(annotations[0].url_citation.url, /^https:\/\/parley\.example\/x\/api\/docs\/[0-9a-f-]{36}\/chunks\/0$/);
    }));
});

suite('a node without documents', { args: ['--target', 'broker'], nodes: 1 }, ({ test, cluster }) => {
  test('has no such model', async () => {
    assert.deepEqual(assertOk(await ask(cluster, 'GET', '/v1/models')).data, []);
    assertOpenaiError(await ask(cluster, 'GET', `/v1/models/${MODEL}`), 404, 'model_not_found');
    assertOpenaiError(await chat(cluster), 404, 'model_not_found');
  });
});
