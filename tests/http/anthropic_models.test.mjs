// SPDX-License-Identifier: MIT
//
// GET /v1/models with anthropic-version: Anthropic's own client for Node, unmodified, and requests that it would not send.
import assert from 'node:assert/strict';
import Anthropic, { AuthenticationError, BadRequestError, NotFoundError } from '@anthropic-ai/sdk';
import { assertAnthropicError, assertMembers, assertOk, assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { ask, tokenOf } from '../support/openai.mjs';

const VERSION = { 'anthropic-version': '2023-06-01' };
const NAMES = ['alpha', 'meta-llama/Llama-3', 'name with spaces', 'zeta'];

suite("models for Anthropic's clients", {}, ({ test, cluster }) => {
  const clientOf = async (options) => new Anthropic({ baseURL: cluster.pick(0).url, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 0, ...options });
  const get = (path, options) => ask(cluster, 'GET', path, { ...options, headers: VERSION });
  const page = async (query) => assertOk(await get(`/v1/models?${new URLSearchParams(query)}`));
  const idsOf = ({ data }) => data.map(({ id }) => id);
  // Polls as an engine that names them, and returns once they are listed.
  async function name(models, apis = 'chat') {
    await cluster.claim({ models: models.join(','), query: { Apis: apis } });
    const listed = async () => assertOk(await ask(cluster, 'GET', '/v1/models')).data.map(({ id }) => id);
    await eventually(async () => (await listed()).includes(models[0]), { what: `${models} in the list` });
  }

  test('without an engine the page is empty', async () => {
    assert.deepEqual(await page({}), { data: [], has_more: false, first_id: null, last_id: null });
  });

  test('those that engines serve for chat are listed, page by page, and found by their ids', async () => {
    await name(NAMES);
    await name(['vectors'], 'embeddings');
    const client = await clientOf();
    const models = [];
    for await (const model of client.models.list({ limit: 3 })) models.push(model);
    assert.deepEqual(models.map(({ id }) => id), NAMES);
    for (const model of models) {
      assertMembers(model, ['type', 'id', 'display_name', 'created_at']);
      assert.equal(model.type, 'model');
      assert.equal(model.display_name, model.id);
      assert.match(model.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      assert.equal((await client.models.retrieve(model.id)).id, model.id);
    }
  });

  test('a page is what follows a model, or precedes it', async () => {
    assert.deepEqual(await page({ limit: 2 }).then(({ data, ...rest }) => rest), { has_more: true, first_id: NAMES[0], last_id: NAMES[1] });
    const whole = { has_more: false, first_id: NAMES[0], last_id: NAMES[3] };
    assert.deepEqual(await page({ limit: 4 }).then(({ data, ...rest }) => rest), whole);
    for (const [query, ids, hasMore] of [
      [{ after_id: NAMES[1] }, [NAMES[2], NAMES[3]], false],
      [{ after_id: NAMES[0], limit: 2 }, [NAMES[1], NAMES[2]], true],
      [{ after_id: NAMES[3] }, [], false],
      [{ before_id: NAMES[3], limit: 2 }, [NAMES[1], NAMES[2]], true],
      [{ before_id: NAMES[2], limit: 2 }, [NAMES[0], NAMES[1]], false],
      [{ before_id: NAMES[0] }, [], false],
    ]) {
      const found = await page(query);
      assert.deepEqual([idsOf(found), found.has_more], [ids, hasMore], JSON.stringify(query));
    }
  });

  test('what is wrong has their form of an error, and their class', async () => {
    const client = await clientOf();
    await assert.rejects(client.models.retrieve('nobody'), (error) => error instanceof NotFoundError && error.type === 'not_found_error' && /'nobody'/.test(error.message));
    await assert.rejects(client.models.retrieve('vectors'), NotFoundError, 'it is not served for chat');
    await assert.rejects(client.models.list({ after_id: 'nobody' }), (error) => error instanceof BadRequestError && /'nobody'/.test(error.message));
    await assert.rejects((await clientOf({ apiKey: 'User_1:wrong' })).models.list(), AuthenticationError);
    for (const query of ['limit=0', 'limit=1001', 'limit=x', 'after_id=alpha&before_id=zeta', 'before_id='])
      assertAnthropicError(await get(`/v1/models?${query}`), 400);
    assertAnthropicError(await get('/v1/nothing'), 404);
    assertAnthropicError(await get('/openai/v1/models/nobody'), 404);
  });

  test('the documents, which answer chat completions only, are not among them', async () => {
    assert.ok(assertOk(await ask(cluster, 'GET', '/v1/models')).data.some(({ id }) => id === 'parley/documents'));
    assertAnthropicError(await get('/v1/models/parley/documents'), 404);
    await name(['parley/documents']);
    assert.ok(!idsOf(await page({})).includes('parley/documents'));
  });

  test('without the header errors are those of OpenAI, and the query of the page is not read', async () => {
    assertOpenaiError(await ask(cluster, 'GET', '/v1/models/nobody'), 404, 'model_not_found');
    assert.equal(assertOk(await ask(cluster, 'GET', '/v1/models?limit=1')).object, 'list');
  });
});
