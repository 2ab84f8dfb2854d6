// SPDX-License-Identifier: MIT
//
// Batches at /v1/batches, by OpenAI's own client: each line is answered once, behind the questions of people; lines with
// faults, cancelling, and what one may see.
import assert from 'node:assert/strict';
import OpenAI, { BadRequestError, ConflictError, NotFoundError } from 'openai';
import { ended, ENDPOINT, isThere, lineOf, linesOf, looping, MODEL, named, resultsOf, start, upload } from '../support/batches.mjs';
import { ACCOUNTS, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { ask, engineOf, fits, tokenOf } from '../support/openai.mjs';

const accounts = { ...ACCOUNTS, Daily: { secret: 'daily', role: 'user', tokens_per_day: 20, requests_per_minute: 1, max_concurrent: 1 } };

suite('batches', { accounts }, ({ test, cluster }) => {
  const clientOf = async (as = 'User_1', node = 0, defaultHeaders = {}) => new OpenAI({ baseURL: `${cluster.pick(node).url}/v1`, apiKey: await tokenOf(cluster, as), maxRetries: 0, defaultHeaders });
  const withEngines = async (n, options, use) => {
    const engines = Array.from({ length: n }, (_, i) => looping(cluster, { ...options, node: i % 2 }));
    try {
      await isThere(cluster, await clientOf());
      return await use(engines);
    } finally {
      await Promise.all(engines.map((engine) => engine.stop()));
    }
  };

  test("OpenAI's client runs one on any node: each line is answered once", () => withEngines(2, {}, async () => {
    const [here, there] = [await clientOf(), await clientOf('User_1', 1)];
    const batch = await start(here, linesOf(300), { metadata: { name: 'ä' } });
    assert.deepEqual([batch.status, batch.endpoint, batch.metadata, batch.expires_at - batch.created_at], ['validating', ENDPOINT, { name: 'ä' }, 86_400]);
    const done = await ended(there, batch.id);
    assert.equal(done.errors, undefined, JSON.stringify(done.errors));
    assert.deepEqual([done.status, done.request_counts, done.error_file_id], ['completed', { total: 300, completed: 300, failed: 0 }, undefined]);
    const results = await resultsOf(there, done.output_file_id);
    assert.equal(results.size, 300);
    for (let i = 0; i < 300; i++) assert.equal(results.get(`line-${i}`).response.body.choices[0].message.content, `Question ${i}`);
    const file = await there.files.retrieve(done.output_file_id);
    assert.deepEqual([file.purpose, file.filename], ['batch_output', `${batch.id}_output.jsonl`]);
    assert.deepEqual((await here.batches.list()).data.map(({ id }) => id), [batch.id]);
    fits('ListBatchesResponse', assertOk(await ask(cluster, 'GET', '/v1/batches', { as: 'User_1' })));
    await assert.rejects(here.batches.cancel(batch.id), ConflictError);
  }));

  test('lines with faults fail it before anything is asked, each with its place', () => withEngines(1, {}, async ([{ asked }]) => {
    const client = await clientOf();
    const before = asked.length;
    const faults = [
      ['{', 'invalid_json_line'],
      ['[]', 'invalid_json_line'],
      [{ ...lineOf(1), custom_id: undefined }, 'missing_required_parameter'],
      [lineOf(2, { custom_id: 'same' }), undefined],
      [lineOf(3, { custom_id: 'sam\u0065' }), 'duplicate_custom_id'],
      [lineOf(4, { method: 'GET' }), 'invalid_method'],
      [lineOf(5, { url: '/v1/embeddings' }), 'mismatched_url'],
      [lineOf(6, { url: `/openai${ENDPOINT}` }), undefined],
      [lineOf(7, { body: 1 }), 'missing_required_parameter'],
      [lineOf(8, {}, { stream: true }), 'invalid_value'],
      [lineOf(9, {}, { model: 'nobody-has-it' }), 'model_not_found'],
      [lineOf(10, {}, { model: undefined }), 'missing_required_parameter'],
      ['', undefined],
      [`${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'invalid_json_line'],
      ['x'.repeat(5 << 20), 'line_too_long'],
      [lineOf(11), undefined],
    ];
    const batch = await ended(client, (await start(client, faults.map(([line]) => line))).id);
    assert.equal(batch.status, 'failed');
    const expected = faults.flatMap(([, code], i) => (code ? [[i + 1, code]] : []));
    assert.deepEqual(batch.errors.data.map(({ line, code }) => [line, code]), expected);
    const empty = await ended(client, (await start(client, [''])).id);
    assert.deepEqual([empty.status, empty.errors.data[0].code], ['failed', 'empty_file']);
    assert.equal(asked.length, before);
  }));

  test('a line that an engine refuses is in the error file, and the others are answered', () => withEngines(1, {}, async () => {
    const client = await clientOf();
    const batch = await ended(client, (await start(client, [lineOf(0), lineOf(1, {}, { messages: [] }), lineOf(2)])).id);
    assert.deepEqual([batch.status, batch.request_counts], ['completed', { total: 3, completed: 2, failed: 1 }]);
    assert.deepEqual([...(await resultsOf(client, batch.output_file_id)).keys()].toSorted(), ['line-0', 'line-2']);
    const [[name, { response }]] = await resultsOf(client, batch.error_file_id);
    assert.deepEqual([name, response.status_code], ['line-1', 400]);
  }));

  test('one that is cancelled keeps what was answered, and its lines are no longer asked', async () => {
    const client = await clientOf();
    let answered = 0;
    const never = new Promise(() => {});
    const engine = looping(cluster, { delay: () => (answered++ < 5 ? 0 : Promise.race([never, new Promise((resolve) => setTimeout(resolve, 3000))])) });
    await isThere(cluster, client);
    const { id } = await start(client, linesOf(50));
    await eventually(async () => (await client.batches.retrieve(id)).request_counts.completed >= 5, { what: 'five lines are answered' });
    assert.ok((await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Work.Batches >= 1);
    const cancelling = await client.batches.cancel(id);
    assert.ok(['cancelling', 'cancelled'].includes(cancelling.status));
    const batch = await ended(client, id);
    assert.equal(batch.status, 'cancelled');
    const results = await resultsOf(client, batch.output_file_id);
    assert.equal(results.size, batch.request_counts.completed);
    assert.ok(results.size >= 5 && results.size < 50);
    await eventually(async () => (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Depth === 0, { what: 'no line waits any more' });
    await engine.stop();
  });

  test('one whose file is deleted fails with what it has', async () => {
    const client = await clientOf();
    await engineOf(cluster, { models: MODEL, apis: 'chat' }).then((engine) => engine.parked.abort());
    const input = await upload(client, linesOf(600));
    const { id } = await client.batches.create({ input_file_id: input.id, endpoint: ENDPOINT, completion_window: '24h' });
    await eventually(async () => (await client.batches.retrieve(id)).status === 'in_progress', { what: 'it is in progress' });
    await client.files.delete(input.id);
    await withEngines(2, {}, async () => {
      const batch = await ended(client, id);
      assert.ok(['failed', 'completed'].includes(batch.status), batch.status); // what was read before is answered
      const answered = batch.output_file_id ? (await resultsOf(client, batch.output_file_id)).size : 0;
      assert.equal(answered, batch.request_counts.completed);
    });
  });

  test('once a batch is cancelled, no engine gets a line of it that waited', async () => {
    const client = await clientOf();
    await named(cluster);
    const { id } = await start(client, linesOf(20));
    await eventually(async () => (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Depth === 20, { what: 'its lines wait' });
    await client.batches.cancel(id);
    assert.equal((await ended(client, id)).status, 'cancelled');
    const { id: next } = await start(client, [lineOf(99)]); // which waits behind lines that wait already
    const engine = looping(cluster);
    assert.equal((await ended(client, next)).status, 'completed');
    await engine.stop();
    assert.deepEqual(engine.asked, ['Question 99']);
  });

  test('operators see those of everybody, and may cancel one, which the audit log says; /metrics counts them', async () => {
    const operator = (method, path, options = {}) => cluster.request(method, path, { as: 'Operator_1', ...options });
    const [mine, hers] = [await clientOf(), await clientOf('Frontend_1', 0, { 'x-parley-user': 'ann' })];
    const gauge = async (name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec((await cluster.request('GET', '/metrics')).text)?.[1]);
    const list = async (query = {}) => assertOk(await operator('GET', '/api/batches', { query }));
    await engineOf(cluster, { models: MODEL, apis: 'chat' }).then((engine) => engine.parked.abort());
    const ids = [(await start(mine, linesOf(3))).id, (await start(hers, linesOf(2))).id];
    const row = async (id) => (await list()).batches.find((batch) => batch.id === id);
    await eventually(async () => (await row(ids[0])).status === 'in_progress' && (await row(ids[1])).status === 'in_progress', { what: 'both are in progress' });
    const { created, expires, in_progress: since, ...rest } = await row(ids[1]);
    assert.deepEqual(rest, { id: ids[1], account: 'Frontend_1', user: 'ann', status: 'in_progress', endpoint: ENDPOINT, ended: null, lines: { total: 2, answered: 0, failed: 0 } });
    assert.ok(created <= since && since < expires);
    const seen = [];
    for (let after; after !== null;) {
      const page = await list({ limit: '1', after, status: 'in_progress' });
      seen.push(...page.batches.map(({ id }) => id));
      after = page.next;
    }
    assert.deepEqual(seen.filter((id) => ids.includes(id)), ids.toReversed());
    assert.deepEqual((await list({ user: 'ann', account: 'Frontend_1', status: 'in_progress' })).batches.map(({ id }) => id), [ids[1]]);
    await eventually(async () => (await gauge('parley_batches_open')) >= 2 && (await gauge('parley_batch_lines_waiting')) >= 5, { what: 'they are counted' });
    for (const id of ids) {
      const { account, user } = await row(id);
      assert.equal(assertOk(await operator('POST', `/api/batches/${id}/cancel`, { body: { account, user } })).id, id);
      assertProblem(await operator('POST', `/api/batches/${id}/cancel`, { body: { account, user: 'nobody' } }), 404);
      await eventually(async () => (await row(id)).status === 'cancelled', { what: 'it is cancelled' });
    }
    const entry = await eventually(async () => assertOk(await operator('GET', '/api/audit', { query: { Limit: 250 } })).Events.find(({ Event, Path }) => Event === 'batch_cancelled' && Path.includes(ids[1])), { what: 'an entry says so' });
    assert.deepEqual([entry.Class, entry.Account, entry.Owner, entry.OnBehalfOf, entry.Status], ['operator', 'Operator_1', 'Frontend_1', 'ann', 200]);
    for (const query of [{ status: 'open' }, { limit: '101' }, { after: 'x' }, { after: `1-${'a'.repeat(24)}-b` }, { account: 'x'.repeat(129) }]) assertProblem(await operator('GET', '/api/batches', { query }), 400);
    for (const body of [{}, { account: 'Frontend_1' }, { account: '', user: 'ann' }]) assertProblem(await operator('POST', `/api/batches/${ids[1]}/cancel`, { body }), 400);
    assertProblem(await operator('POST', '/api/batches/x/cancel', { body: { account: 'F', user: 'u' } }), 404);
    for (const as of ['User_1', 'Frontend_1', 'Inference_1']) assertProblem(await cluster.request('GET', '/api/batches', { as }), 403);
  });

  test('one whose time is over is expired, with what was answered, and an error for each other line', async () => {
    const client = await clientOf();
    await eventually(async () => (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Depth === 0, { what: 'no line of another batch waits' });
    let asked = 0;
    const never = new Promise(() => {});
    const over = new Promise((resolve) => (client.over = resolve));
    const engine = looping(cluster, { delay: () => (asked++ < 5 ? 0 : Promise.race([never, over])) });
    await isThere(cluster, client);
    const { id } = await start(client, linesOf(600), { output_expires_after: { anchor: 'created_at', seconds: 3600 } });
    await eventually(async () => (await client.batches.retrieve(id)).request_counts.completed >= 5, { what: 'five lines are answered' });
    // Its time is over soon, as the next node finds that takes it.
    const [key] = await cluster.redis.cmd('KEYS', `*batch:*-${id.slice('batch_'.length)}`);
    await cluster.redis.cmd('HSET', key, 'expires', Date.now() + 8000, 'fence', 0);
    const batch = await ended(client, id);
    client.over();
    assert.equal(batch.status, 'expired');
    assert.ok(batch.expired_at >= batch.expires_at);
    const { total, completed, failed } = batch.request_counts;
    assert.deepEqual([total, completed + failed], [600, 600]);
    assert.ok(completed >= 5 && completed < 600);
    const [output, errors] = [await resultsOf(client, batch.output_file_id), await resultsOf(client, batch.error_file_id)];
    assert.deepEqual([output.size, errors.size], [completed, failed]);
    for (const [name, { response, error }] of errors) {
      assert.deepEqual([response, error.code], [null, 'batch_expired']);
      assert.ok(!output.has(name));
    }
    for (const file of [batch.output_file_id, batch.error_file_id]) {
      const { created_at, expires_at } = await client.files.retrieve(file);
      assert.equal(expires_at - created_at, 3600);
    }
    await eventually(async () => (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Depth === 0, { what: 'no line waits any more' });
    await engine.stop();
  });

  test('nobody else sees it, and what is wrong creates nothing', async () => {
    const client = await clientOf();
    const input = await upload(client, linesOf(1));
    const good = { input_file_id: input.id, endpoint: ENDPOINT, completion_window: '24h' };
    const other = await client.files.create({ file: new File(['{}'], 'x'), purpose: 'user_data' });
    const stranger = await clientOf('User_2');
    for (const [by, body] of [[stranger, good], [client, { ...good, input_file_id: other.id }], [client, { ...good, endpoint: '/v1/models' }], [client, { ...good, completion_window: '1h' }], [client, { ...good, input_file_id: 'x' }], [client, { ...good, metadata: { a: 1 } }], ...[1, {}, { anchor: 'created_at' }, { anchor: 'created_at', seconds: 3599 }, { anchor: 'created_at', seconds: 2_592_001 }, { anchor: 'now', seconds: 3600 }].map((after) => [client, { ...good, output_expires_after: after }])]) await assert.rejects(by.batches.create(body), BadRequestError);
    const { id } = await client.batches.create(good);
    await assert.rejects(stranger.batches.retrieve(id), NotFoundError);
    await assert.rejects(stranger.batches.cancel(id), NotFoundError);
    assert.ok(!(await stranger.batches.list()).data.some((batch) => batch.id === id));
    const [ann, ben] = await Promise.all(['ann', 'ben'].map((name) => clientOf('Frontend_1', 0, { 'x-parley-user': name })));
    await withEngines(1, {}, async () => {
      const hers = await ended(ann, (await start(ann, linesOf(3))).id);
      assert.equal(hers.status, 'completed');
      await assert.rejects(ben.batches.retrieve(hers.id), NotFoundError);
      await assert.rejects(ben.files.content(hers.output_file_id), NotFoundError);
      assert.equal((await ended(client, id)).status, 'completed');
    });
  });

  test('its lines count for the tokens of the day, and wait for the next one; not for requests a minute or at a time', () => withEngines(1, {}, async () => {
    const client = await clientOf('Daily');
    const { id } = await start(client, linesOf(12));
    await eventually(async () => (await client.batches.retrieve(id)).request_counts.completed >= 4, { what: 'four lines are answered' });
    const usage = assertOk(await ask(cluster, 'GET', '/api/usage', { as: 'Daily' })).accounts[0];
    assert.ok(usage.tokens_per_day.used >= 20, JSON.stringify(usage));
    const { status, request_counts: counts } = await client.batches.retrieve(id);
    assert.equal(status, 'in_progress');
    assert.ok(counts.completed < 12);
    await client.batches.cancel(id);
    assert.equal((await ended(client, id)).status, 'cancelled');
  }));
});
