// SPDX-License-Identifier: MIT
//
// GET /v1/models, and errors below /v1: the shapes of OpenAI's specification.
import assert from 'node:assert/strict';
import { parked } from '../cluster/watch.mjs';
import { ACCOUNTS, assertMembers, assertOk, assertOpenaiError, assertProblem, eventually, suite } from '../support/harness.mjs';
import { ask, fits, tokenOf } from '../support/openai.mjs';

const FOLDERS = ['/v1', '/openai/v1'];
const OWN = 'parley/documents'; // tests/documents/as_a_model.test.mjs
const EMPTY = { Topic: null, Queries: null };

suite('models of engines', {}, ({ test, cluster }) => {
  const list = async (options) => fits('ListModelsResponse', assertOk(await ask(cluster, 'GET', '/v1/models', options))).data;
  const idsOf = async (options) => (await list(options)).map(({ id }) => id);
  // Polls as an engine that names them, and returns once they are listed.
  async function name(models, apis = 'chat') {
    assert.deepEqual(await cluster.claim({ models, query: { Apis: apis } }), EMPTY);
    const wanted = models.split(',').map((one) => one.trim());
    const areListed = async () => ((ids) => wanted.every((id) => ids.includes(id)))(await idsOf());
    await eventually(areListed, { what: `${models} in the list` });
  }

  test('without an engine the list has the documents only', async () => {
    const { object, data } = assertOk(await ask(cluster, 'GET', '/v1/models'));
    assert.deepEqual([object, data.map(({ id }) => id)], ['list', [OWN]]);
  });

  test('those that an engine names with Apis are listed by name, once, on every node; others are not', async () => {
    await name('zeta, meta-llama/Llama-3', 'chat,embeddings');
    await name('alpha', ' completions ,');
    assert.deepEqual(await cluster.claim({ models: 'plain' }), EMPTY);
    assert.deepEqual(await cluster.claim(), EMPTY);
    for (const node of [0, 1]) {
      const models = await list({ node });
      const both = ['chat', 'embeddings'];
      assert.deepEqual(models.map(({ id, apis }) => [id, apis]), [[OWN, ['chat']], ['alpha', ['completions']], ['meta-llama/Llama-3', both], ['zeta', both]]);
      for (const { object, created, owned_by } of models) {
        assert.deepEqual([object, owned_by], ['model', 'parley']);
        assert.ok(Math.abs(created - Date.now() / 1000) < 120, `${created} is now`);
      }
    }
  });

  test('an engine that waits is listed as long as it does, whichever way it is connected', async () => {
    const poll = cluster.claimOpen({ models: 'waiting', wait: 60, node: 0, query: { Apis: 'chat' } });
    await parked(cluster, 0, 1);
    await eventually(async () => (await idsOf()).includes('waiting'), { what: 'it is listed' });
    poll.abort();
  });

  test('one model is found by its id, with slashes escaped or not, and one at the end', async () => {
    await name('meta-llama/Llama-3, größe 7');
    for (const folder of FOLDERS) {
      for (const id of ['meta-llama/Llama-3', 'meta-llama%2FLlama-3', 'meta-llama/Llama-3'.replace('/', '%2f')]) {
        for (const path of [`${folder}/models/${id}`, `${folder}/models/${id}/`])
          assert.equal(fits('Model', assertOk(await ask(cluster, 'GET', path))).id, 'meta-llama/Llama-3', path);
      }
      assert.equal(fits('Model', assertOk(await ask(cluster, 'GET', `${folder}/models/${encodeURIComponent('größe 7')}`))).id, 'größe 7');
      fits('ListModelsResponse', assertOk(await ask(cluster, 'GET', `${folder}/models/`)));
    }
  });

  test('one that no engine names is 404, and says which', async () => {
    for (const id of ['nothing', 'meta-llama', 'chat%2Falpha', 'a/b'])
      assert.match(assertOpenaiError(await ask(cluster, 'GET', `/v1/models/${id}`), 404, 'model_not_found').message, new RegExp(`'${decodeURIComponent(id)}'`));
  });

  test('one that no engine has named for an hour is not listed', async () => {
    await name('old, young');
    const seen = await cluster.redis.cmd('HGET', 'parley:{0}:models_seen', 'chat/old');
    await cluster.redis.cmd('HSET', 'parley:{0}:models_seen', 'chat/old', seen.replace(/^\d+/, Date.now() - 3_600_001));
    const now = await idsOf();
    assert.ok(now.includes('young') && !now.includes('old'), now);
  });

  test('Apis that are none, or without Models, or too many of them, are refused', async () => {
    const refused = async (query) => assertProblem(await cluster.claimRaw({ query }), 400, 'bad_request').detail;
    assert.match(await refused({ Apis: 'chat,caht', Models: 'm' }), /`embeddings`.*'chat,caht'/);
    assert.match(await refused({ Apis: 'chat' }), /needs Models/);
    const Models = Array.from({ length: 8 }, (_, i) => `${i}-${'m'.repeat(17)}`).join();
    assert.deepEqual(await cluster.claim({ models: Models, query: { Apis: 'chat,completions,embeddings' } }), EMPTY);
    assert.match(await refused({ Apis: 'chat,completions,embeddings,messages', Models }), /1,024 bytes/);
  });

  test('a question for such a model by the other routes is none of theirs', async () => {
    const { Topic } = await cluster.add({ Model: 'chat/alpha' });
    assert.deepEqual(await cluster.claim({ models: 'alpha', query: { Apis: 'chat' } }), EMPTY);
    assert.deepEqual(await cluster.claim({ models: 'chat/alpha' }), { Topic, Queries: [{ 1: 'What is the meaning of life?' }] });
  });
});

suite('errors below /v1', { sweep: false }, ({ test, cluster }) => {
  const as = 'User_1';

  test('a path without a route, or another method: OpenAI\'s error, with credentials or without', async () => {
    for (const folder of FOLDERS) {
      for (const path of [folder, `${folder}/`, `${folder}/nothing`, `${folder}/models/a/b/c`, `${folder}/engines?x=1`]) {
        const { type, param, message } = assertOpenaiError(await cluster.request('POST', path, { as, body: {} }), 404, 'no_route');
        assert.deepEqual([type, param], ['invalid_request_error', null]);
        assert.ok(message.length > 10);
        assertOpenaiError(await cluster.request('GET', path), 404, 'no_route');
      }
      const refused = await cluster.request('DELETE', `${folder}/models`, { as });
      assertOpenaiError(refused, 405, 'method_not_allowed');
      assert.equal(refused.headers.allow, 'GET, HEAD');
    }
    for (const path of ['/v10', '/v1x/models', '/api/v1', '/openai']) assertMembers(assertProblem(await cluster.request('GET', path), 404, 'no_route'), ['type', 'title', 'status', 'detail', 'code', 'instance']);
  });

  test('no credentials, wrong ones, and those of another role', async () => {
    const localAddress = '127.8.1.1'; // failures are counted by address
    for (const headers of [{}, { Authorization: 'Bearer nothing' }, { 'x-api-key': 'User_1:wrong' }]) {
      const refused = await cluster.request('GET', '/v1/models', { headers, localAddress });
      assert.equal(assertOpenaiError(refused, 401, 'unauthorized').type, 'invalid_request_error');
      assert.match(refused.headers['www-authenticate'], /^Bearer /);
    }
    for (const role of ['Inference_1', 'Operator_1'])
      assert.equal(assertOpenaiError(await cluster.request('GET', '/v1/models', { as: role }), 403, 'forbidden').type, 'permission_error');
  });

  test('a token, a signed query and x-api-key are good', async () => {
    assertOk(await cluster.request('GET', '/v1/models', { as }));
    assertOk(await cluster.request('GET', '/v1/models', { headers: { Authorization: `Bearer ${await tokenOf(cluster, as)}` } }));
    assertOk(await cluster.request('GET', '/v1/models', { headers: { 'x-api-key': `${as}:${ACCOUNTS[as].secret}` } }));
  });

  test('ten failures of an address: 429 with OpenAI\'s words and when to come back', async () => {
    const wrong = () => cluster.request('GET', '/v1/models', { headers: { 'x-api-key': 'User_1:wrong' }, localAddress: '127.8.1.2' });
    const refused = await eventually(async () => ((response) => response.status === 429 && response)(await wrong()), { what: 'refusals' });
    assert.equal(assertOpenaiError(refused, 429).type, 'requests');
    assert.ok(Number(refused.headers['retry-after']) >= 1);
  });

  test('what is refused before its handler: the query, the head, the length of a body', async () => {
    for (const path of ['/v1/models', '/v1/nothing']) {
      if (path === '/v1/models') assertOpenaiError(await cluster.request('GET', path, { as, raw: 'x=%zz' }), 400, 'bad_request');
      assertOpenaiError(await cluster.request('GET', path, { as, raw: 'x'.repeat(40_000) }), 414, 'uri_too_long');
      assertOpenaiError(await cluster.request('GET', path, { as, headers: { 'x-a': 'a'.repeat(40_000) } }), 431, 'headers_too_large');
    }
    assertOpenaiError(await cluster.request('GET', '/v1/models/%ff', { as }), 400, 'bad_request');
    const socket = await cluster.socket();
    socket.write('POST /v1/nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000000\r\n\r\n');
    const { status, headers, text } = await socket.response();
    socket.abort();
    assert.ok(status >= 400 && status < 500, status);
    assert.equal(headers['content-type'], 'application/json');
    fits('ErrorResponse', JSON.parse(text));
  });

  test('a node without this target has none of its routes, and errors as everywhere', async () => {
    const node = await cluster.startNode({ args: ['--target=documents'] });
    assertProblem(await cluster.request('GET', '/v1/models', { as, node }), 404, 'no_route');
    const alone = await cluster.startNode({ args: ['--target=openai'] });
    assertOk(await cluster.request('GET', '/v1/models', { as, node: alone }));
  });
});
