// SPDX-License-Identifier: MIT
//
// POST /v1/embeddings and /v1/completions, with engines at the routes that a test writes.
import assert from 'node:assert/strict';
import { assertOk, assertOpenaiError, suite } from '../support/harness.mjs';
import { ask, assertChunks, engineOf, fits, openChat } from '../support/openai.mjs';

suite('embeddings and completions', {}, ({ test, cluster }) => {
  const begin = async (path, body) => {
    const engine = await engineOf(cluster);
    const response = ask(cluster, 'POST', path, { body: { model: 'llama3', ...body } });
    await engine.take(engine.parked);
    return { engine, response };
  };
  const FLOATS = [0.25, -1.5, 3.4028234663852886e38, 0];
  const BASE64 = Buffer.from(new Float32Array(FLOATS).buffer).toString('base64');
  const USAGE = { prompt_tokens: 4, total_tokens: 4 };
  const item = (index, embedding) => ({ object: 'embedding', index, embedding });

  test('vectors come in the form that was asked for, whatever the model server sends', async () => {
    for (const [encoding_format, sent, wanted] of [[undefined, FLOATS, FLOATS], ['float', BASE64, FLOATS], ['base64', FLOATS, BASE64], ['base64', BASE64, BASE64], [null, BASE64, FLOATS]]) {
      const { engine, response } = await begin('/v1/embeddings', { input: ['one', 'two'], encoding_format, dimensions: 4 });
      assert.equal(engine.details.Api, 'embeddings');
      assert.deepEqual(engine.body, JSON.parse(JSON.stringify({ model: 'llama3', input: ['one', 'two'], encoding_format, dimensions: 4 })));
      assert.deepEqual(engine.claim.Queries, [{ 1: 'two' }]);
      const whole = { object: 'list', data: [item(0, sent), item(1, sent)], model: 'x', usage: USAGE };
      assertOk(await engine.answer([JSON.stringify(whole)], { Answer: [''] }));
      const answer = assertOk(await response);
      for (const one of answer.data) if (Array.isArray(one.embedding)) one.embedding = one.embedding.map(Math.fround); // written with nine digits
      assert.deepEqual(answer, { object: 'list', data: [item(0, wanted), item(1, wanted)], model: 'llama3', usage: USAGE });
      if (wanted === FLOATS) fits('CreateEmbeddingResponse', answer);
    }
  });

  test('many vectors come in several pieces, and the order of the items is kept', async () => {
    const { engine, response } = await begin('/v1/embeddings', { input: [[1, 2], [3]] });
    assert.deepEqual(engine.claim.Queries, [{ 1: '' }]);
    assertOk(await engine.give(JSON.stringify({ data: [item(0, FLOATS)] }), JSON.stringify({ data: [] })));
    assertOk(await engine.answer([JSON.stringify({ data: [item(1, FLOATS)], model: 'x', usage: USAGE })], { Answer: [''] }));
    assert.deepEqual(assertOk(await response).data, [item(0, FLOATS), item(1, FLOATS)]);
  });

  test('an engine that sends no vector has failed', async () => {
    const { engine, response } = await begin('/v1/embeddings', { input: 'one' });
    assertOk(await engine.answer([], { Answer: ['text'] }));
    assertOpenaiError(await response, 503, 'engine_failed');
  });

  test('mistakes are 400 and name the member', async () => {
    const refused = async (path, body, named) => assert.match(assertOpenaiError(await ask(cluster, 'POST', path, { body: { model: 'llama3', ...body } }), 400).message, named);
    await refused('/v1/embeddings', {}, /input/);
    await refused('/v1/embeddings', { input: '' }, /input/);
    await refused('/v1/embeddings', { input: [] }, /input/);
    await refused('/v1/embeddings', { input: 'x', encoding_format: 'int8' }, /encoding_format/);
    await refused('/v1/embeddings', { input: 'x', dimensions: 0 }, /dimensions/);
    await refused('/v1/completions', {}, /prompt/);
    await refused('/v1/completions', { prompt: 5 }, /prompt/);
  });

  test('a completion is put together, with its logprobs', async () => {
    const { engine, response } = await begin('/v1/completions/', { prompt: 'Once', n: 2 });
    assert.equal(engine.details.Api, 'completions');
    const piece = (index, text, more) => JSON.stringify({ choices: [{ index, text, finish_reason: null, ...more }] });
    const logprobs = (token) => ({ tokens: [token], token_logprobs: [-0.5], top_logprobs: [{ [token]: -0.5 }], text_offset: [0] });
    assertOk(await engine.give(piece(0, ' upon', { logprobs: logprobs(' upon') }), piece(1, ' more')));
    assertOk(await engine.answer([piece(0, ' a', { logprobs: logprobs(' a'), finish_reason: 'length' }), piece(1, '', { finish_reason: 'stop' })]));
    const { choices } = fits('CreateCompletionResponse', assertOk(await response));
    assert.deepEqual(choices, [
      { index: 0, text: ' upon a', logprobs: { tokens: [' upon', ' a'], token_logprobs: [-0.5, -0.5], top_logprobs: [{ ' upon': -0.5 }, { ' a': -0.5 }], text_offset: [0, 0] }, finish_reason: 'length' },
      { index: 1, text: ' more', logprobs: null, finish_reason: 'stop' },
    ]);
  });

  test('a completion streams', async () => {
    const engine = await engineOf(cluster);
    const stream = await openChat(cluster, { model: 'llama3', prompt: 'Once', stream_options: { include_usage: true } }, { path: '/v1/completions' });
    await engine.take(engine.parked);
    assertOk(await engine.give(JSON.stringify({ choices: [{ index: 0, text: ' upon', finish_reason: null }] })));
    await stream.until(({ chunks }) => chunks.length === 1, 'the first piece');
    assertOk(await engine.answer([JSON.stringify({ choices: [{ index: 0, text: '', finish_reason: 'stop' }] })]));
    const chunks = assertChunks(await stream.whole(), 'StreamedCompletion');
    assert.deepEqual(chunks.map(({ choices }) => choices.map(({ text }) => text)), [[' upon'], [''], []]);
    assert.ok(chunks.every(({ object, id }) => object === 'text_completion' && id.startsWith('cmpl-')));
  });
});
