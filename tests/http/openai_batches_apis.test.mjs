// SPDX-License-Identifier: MIT
//
// Lines of batches for each route that takes them, held to OpenAI's specification; and what a route refuses, which is the
// line's error, word for word.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { ended, lineOf, looping, MODEL, resultsOf, start } from '../support/batches.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { ask, fits, tokenOf } from '../support/openai.mjs';

const ROUTES = {
  '/v1/chat/completions': { schema: 'CreateChatCompletionResponse', good: (i) => ({ messages: [{ role: 'user', content: `Question ${i}` }] }), textOf: (body) => body.choices[0].message.content, bad: [{ messages: [] }, { messages: 'x' }, { n: 0 }, { stream: 1 }] },
  '/v1/completions': { schema: 'CreateCompletionResponse', good: (i) => ({ prompt: `Question ${i}` }), textOf: (body) => body.choices[0].text, bad: [{ prompt: 5 }, { prompt: undefined }, { n: 1000 }] },
  '/v1/embeddings': { schema: 'CreateEmbeddingResponse', good: (i) => ({ input: `Question ${i}` }), textOf: (body) => `Question ${body.data[0].embedding.join()}`, expected: () => 'Question 10,0.5', bad: [{ input: '' }, { input: [] }, { encoding_format: 'int8' }, { dimensions: 0 }] },
  '/v1/responses': { schema: 'Response', good: (i) => ({ input: `Question ${i}` }), textOf: (body) => body.output[0].content[0].text, bad: [{ input: 5 }, { tools: [{ type: 'computer' }] }, { previous_response_id: `resp_${'0'.repeat(24)}` }, { previous_response_id: 'x' }] },
};

suite('lines for each route', {}, ({ test, cluster }) => {
  const clientOf = async () => new OpenAI({ baseURL: `${cluster.pick(0).url}/v1`, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 0 });
  const lineFor = (url, i, body) => ({ ...lineOf(i, { url }), body: { model: MODEL, ...body } });
  const withEngine = async (use) => {
    const engine = looping(cluster, { apis: 'chat,completions,embeddings' });
    const client = await clientOf();
    await eventually(async () => (await client.models.list()).data.some(({ id }) => id === MODEL), { what: 'the model is there' });
    await use(client).finally(() => engine.stop());
  };

  for (const [endpoint, { schema, good, textOf, bad, expected = (i) => `Question ${i}` }] of Object.entries(ROUTES))
    test(`${endpoint}: each good line is answered, each bad one has the error of its route`, () => withEngine(async (client) => {
      const GOOD = 5;
      const lines = [...Array.from({ length: GOOD }, (_, i) => lineFor(endpoint, i, good(i))), ...bad.map((body, i) => lineFor(endpoint, GOOD + i, { ...good(0), ...body }))];
      const batch = await ended(client, (await start(client, lines, { endpoint })).id);
      assert.deepEqual([batch.status, batch.request_counts], ['completed', { total: lines.length, completed: GOOD, failed: bad.length }], JSON.stringify(batch.errors));
      const results = await resultsOf(client, batch.output_file_id, schema);
      for (let i = 0; i < GOOD; i++) assert.equal(textOf(results.get(`line-${i}`).response.body), expected(i));
      const errors = await resultsOf(client, batch.error_file_id);
      for (let i = GOOD; i < lines.length; i++) {
        const at = await ask(cluster, 'POST', endpoint, { body: lines[i].body });
        const { status_code: status, body } = errors.get(`line-${i}`).response;
        assert.deepEqual([status, body], [at.status, at.json], JSON.stringify(lines[i].body));
        assert.ok(status >= 400 && status < 500);
      }
    }));

  test('a line is neither kept nor made in the background, and its response says so', () => withEngine(async (client) => {
    const chat = ROUTES['/v1/chat/completions'].good(0), respond = ROUTES['/v1/responses'].good(0);
    const refused = [
      ['/v1/chat/completions', { ...chat, store: true }, /store.*false in a batch/],
      ['/v1/chat/completions', { ...chat, metadata: { topic: 'mine' } }, /metadata\.topic.*absent in a batch/],
      ['/v1/responses', { ...respond, store: true }, /store.*false in a batch/],
      ['/v1/responses', { ...respond, background: true }, /background/],
    ];
    for (const [endpoint, body, words] of refused) {
      const batch = await ended(client, (await start(client, [lineFor(endpoint, 0, body)], { endpoint })).id);
      assert.deepEqual([batch.status, batch.request_counts], ['completed', { total: 1, completed: 0, failed: 1 }]);
      const { response } = (await resultsOf(client, batch.error_file_id)).get('line-0');
      assert.equal(response.status_code, 400);
      assert.match(response.body.error.message, words);
    }
    const endpoint = '/v1/responses';
    const batch = await ended(client, (await start(client, [lineFor(endpoint, 0, respond), lineFor(endpoint, 1, { ...respond, store: false })], { endpoint })).id);
    const results = await resultsOf(client, batch.output_file_id, 'Response');
    for (const { response } of results.values()) {
      assert.equal(response.body.store, false);
      assert.equal((await ask(cluster, 'GET', `/v1/responses/${response.body.id}`)).status, 404);
    }
    assert.deepEqual((await cluster.request('GET', '/api/user-topics', { as: 'User_1' })).json?.Topics ?? [], []);
  }));
});
