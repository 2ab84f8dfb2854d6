// SPDX-License-Identifier: MIT
//
// Files at /v1/files: stored, listed, read and deleted by OpenAI's own client and without it; what is refused stores
// nothing.
import assert from 'node:assert/strict';
import OpenAI, { NotFoundError } from 'openai';
import { ACCOUNTS, assertOk, assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { ask, fits, tokenOf } from '../support/openai.mjs';
import { unzip } from '../support/zip.mjs';

const ROUTE = '/v1/files';
const MIB = 1 << 20;
const accounts = { ...ACCOUNTS, Small_1: { secret: 'small', role: 'user', max_stored: MIB } };
const textOf = async (response) => Buffer.from(await response.arrayBuffer());
const fileOf = (bytes, name = 'lines.jsonl') => new File([bytes], name);

suite('files', { accounts }, ({ test, cluster }) => {
  const clientOf = async (as = 'User_1', node = 0, defaultHeaders = {}) => new OpenAI({ baseURL: `${cluster.pick(node).url}/v1`, apiKey: await tokenOf(cluster, as), maxRetries: 0, defaultHeaders });
  const send = async (form, { as = 'User_1', headers = {} } = {}) => {
    const response = await fetch(`${cluster.pick(0).url}${ROUTE}`, { method: 'POST', body: form, headers: { authorization: `Bearer ${await tokenOf(cluster, as)}`, ...headers } });
    return { status: response.status, body: await response.json() };
  };
  const formOf = (parts) => {
    const form = new FormData();
    for (const [name, value] of Object.entries(parts)) form.append(name, value);
    return form;
  };
  const isNothingStored = async (as = 'User_1') => assert.deepEqual(assertOk(await ask(cluster, 'GET', ROUTE, { as })).data, []);

  test("OpenAI's client stores, lists, reads and deletes them, on any node", async () => {
    const [here, there] = [await clientOf(), await clientOf('User_1', 1)];
    const bytes = Buffer.from(Array.from({ length: 3 * MIB + 5 }, (_, i) => i % 251));
    const all = [];
    for (const name of ['a.jsonl', 'ä b.jsonl', 'c']) all.push(await here.files.create({ file: fileOf(bytes, name), purpose: 'batch' }));
    all.push(await here.files.create({ file: fileOf('{}'), purpose: 'user_data', expires_after: { anchor: 'created_at', seconds: 3600 } }));
    for (const file of all) fits('OpenAIFile', file);
    assert.deepEqual(all.map(({ filename }) => filename), ['a.jsonl', 'ä b.jsonl', 'c', 'lines.jsonl']);
    assert.deepEqual(all.map(({ expires_at, created_at }) => expires_at - created_at), [...Array(3).fill(30 * 86_400), 3600]);
    assert.equal(all[0].bytes, bytes.length);
    assert.deepEqual(await there.files.retrieve(all[1].id), all[1]);
    assert.ok((await textOf(await there.files.content(all[1].id))).equals(bytes));
    const seen = [];
    for await (const file of there.files.list({ limit: 1 })) seen.push(file);
    assert.deepEqual(seen, all.toReversed());
    assert.deepEqual((await there.files.list({ order: 'asc', purpose: 'batch', limit: 2 })).data, all.slice(0, 2));
    fits('ListFilesResponse', assertOk(await ask(cluster, 'GET', ROUTE, { as: 'User_1' })));
    for (const { id } of all) assert.deepEqual(await there.files.delete(id), { id, object: 'file', deleted: true });
    await assert.rejects(here.files.retrieve(all[0].id), NotFoundError);
    await assert.rejects(here.files.content(all[0].id), NotFoundError);
    await isNothingStored();
  });

  test('an export of the person has them, with batches and their bytes', async () => {
    const client = await clientOf('User_2');
    const bytes = Buffer.from(Array.from({ length: 2 * MIB + 3 }, (_, i) => i % 249));
    const files = [];
    for (const name of ['a.jsonl', '.x:y']) files.push(await client.files.create({ file: fileOf(bytes, name), purpose: 'batch' }));
    const { id } = await client.batches.create({ input_file_id: files[0].id, endpoint: '/v1/chat/completions', completion_window: '24h' });
    await eventually(async () => (await client.batches.retrieve(id)).status === 'failed', { what: 'the lines are no JSON' });
    const response = await cluster.request('GET', '/api/users/User_2/export', { as: 'User_2' });
    assert.equal(response.status, 200, response.text.slice(0, 200));
    const found = unzip(response.body), json = (name) => JSON.parse(found.get(name).toString());
    const [batch] = json('batches.json');
    assert.deepEqual([batch.account, batch.id, batch.status, batch.input_file_id], ['User_2', id, 'failed', files[0].id]);
    assert.deepEqual(json('files.json').map((file) => [file.account, file.id, file.bytes, file.filename]), files.map((file) => ['User_2', file.id, bytes.length, file.filename]));
    for (const [i, name] of ['a.jsonl', '_x_y'].entries()) assert.ok(found.get(`files/${files[i].id}/${name}`)?.equals(bytes), [...found.keys()].join());
    for (const file of files) await client.files.delete(file.id);
  });

  test('nobody else sees them: another account, or another person of the same one', async () => {
    const mine = await (await clientOf()).files.create({ file: fileOf('x'), purpose: 'batch' });
    const persons = await Promise.all(['ann', 'ben'].map((name) => clientOf('Frontend_1', 0, { 'x-parley-user': name })));
    const hers = await persons[0].files.create({ file: fileOf('y'), purpose: 'batch' });
    for (const [client, id] of [[await clientOf('User_2'), mine.id], [persons[1], hers.id], [persons[0], mine.id]]) {
      await assert.rejects(client.files.retrieve(id), NotFoundError);
      await assert.rejects(client.files.content(id), NotFoundError);
      await assert.rejects(client.files.delete(id), NotFoundError);
    }
    assert.deepEqual((await persons[1].files.list()).data, []);
    assert.deepEqual((await persons[0].files.list()).data, [hers]);
    const nobody = await ask(cluster, 'GET', ROUTE, { as: 'Frontend_1' });
    assertOpenaiError(nobody, 400, 'bad_request');
  });

  test('a deletion is in the audit log', async () => {
    const hers = await clientOf('Frontend_1', 0, { 'x-parley-user': 'eve' });
    const { id } = await hers.files.create({ file: fileOf('x'), purpose: 'batch' });
    await hers.files.delete(id);
    const events = async () => assertOk(await cluster.request('GET', '/api/audit', { as: 'Operator_1', query: { Limit: 250 } })).Events;
    const entry = await eventually(async () => (await events()).find(({ Path }) => Path?.endsWith(id)), { what: 'an entry says so' });
    assert.deepEqual([entry.Class, entry.Event, entry.Account, entry.OnBehalfOf, entry.Status], ['deletion', 'file_deleted', 'Frontend_1', 'eve', 200]);
  });

  test('what is wrong is refused with what to do, and stores nothing', async () => {
    const file = fileOf('x');
    const wrong = [
      [{ file }, 400, /purpose/],
      [{ file, purpose: 'assistants' }, 400, /assistants/],
      [{ purpose: 'batch' }, 400, /`file`/],
      [{ file, purpose: 'batch', 'expires_after[anchor]': 'created_at' }, 400, /expires_after/],
      [{ file, purpose: 'batch', 'expires_after[anchor]': 'created_at', 'expires_after[seconds]': '3599' }, 400, /expires_after/],
      [{ file: fileOf(Buffer.alloc(25 * MIB + 1)), purpose: 'batch' }, 413, /25 MiB/],
    ];
    for (const [parts, status, words] of wrong) {
      const answer = await send(formOf(parts), { as: 'User_2' });
      assert.equal(answer.status, status, JSON.stringify(answer));
      assert.match(fits('ErrorResponse', answer.body).error.message, words);
    }
    assertOpenaiError(await ask(cluster, 'POST', ROUTE, { as: 'User_2', body: { purpose: 'batch' } }), 400, 'bad_request');
    for (const id of ['file-x', 'x', `file-${'0'.repeat(24)}`, `file-${'G'.repeat(24)}`]) assertOpenaiError(await ask(cluster, 'GET', `${ROUTE}/${id}`, { as: 'User_2' }), 404, 'not_found');
    for (const query of [{ limit: '0' }, { order: 'up' }, { after: 'x' }, { after: `file-${'0'.repeat(24)}` }, { purpose: '' }]) assertOpenaiError(await ask(cluster, 'GET', ROUTE, { as: 'User_2', query }), 400, 'bad_request');
    await isNothingStored('User_2');
  });

  test('the largest file is stored and read again; an empty one, too', async () => {
    const client = await clientOf();
    const bytes = Buffer.alloc(25 * MIB, 'abcdefg');
    const file = await client.files.create({ file: fileOf(bytes), purpose: 'user_data' });
    assert.ok((await textOf(await client.files.content(file.id))).equals(bytes));
    await client.files.delete(file.id);
    const empty = await client.files.create({ file: fileOf(''), purpose: 'batch' });
    assert.equal((await textOf(await client.files.content(empty.id))).length, 0);
  });

  test('they count towards what an account may store, until they are deleted', async () => {
    const small = await clientOf('Small_1');
    const file = await small.files.create({ file: fileOf(Buffer.alloc(MIB / 4)), purpose: 'batch' });
    const answer = await send(formOf({ file: fileOf(Buffer.alloc(MIB)), purpose: 'batch' }), { as: 'Small_1' });
    assert.deepEqual([answer.status, answer.body.error.code], [429, 'insufficient_quota']);
    await small.files.delete(file.id);
    await small.files.create({ file: fileOf(Buffer.alloc(MIB / 4)), purpose: 'batch' });
  });
});
