// SPDX-License-Identifier: MIT
//
// Files and batches, used as hard as they may be, and somewhat harder: the largest files and lines, lines with every fault,
// clients that leave, accounts that want what is another's. No call of Redis is long, and nodes stay small.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import OpenAI, { RateLimitError } from 'openai';
import { ended, ENDPOINT, lineOf, linesOf, looping, MODEL, named, resultsOf, start, textOf } from '../support/batches.mjs';
import { assertOk, assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { ask, fits, tokenOf } from '../support/openai.mjs';

const MIB = 1 << 20;
const BODY = 4 * MIB;
const LONG_US = 500_000; // of a call of Redis on a machine that has much else to do: 50 ms are meant, and 100 for one of 4 MiB
const GROWN_MIB = 400;
// Nothing that was freed stays in the quarantine: what the node has is what it uses.
const env = { ASAN_OPTIONS: 'exitcode=99:malloc_context_size=8:quarantine_size_mb=1:thread_local_quarantine_size_kb=64' };
// A call has the verbs of a turn, of which Redis keeps 31 words.
const verbsOf = (words) => (words[0] === 'FCALL' ? words.flatMap((word) => /^([a-z_]+) \d{3}$/.exec(word)?.[1] ?? []) : words.slice(0, 2)).join(' ').slice(0, 200);
const raw = (bytes) => (Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes));

suite('hard use of files and batches', { env }, ({ test, cluster }) => {
  const clientOf = async (as = 'User_1', defaultHeaders = {}) => new OpenAI({ baseURL: `${cluster.pick(0).url}/v1`, apiKey: await tokenOf(cluster, as), maxRetries: 0, defaultHeaders });
  const file = (client, bytes) => client.files.create({ file: new File([bytes], 'lines.jsonl'), purpose: 'batch' });
  const begin = async (client, bytes) => client.batches.create({ input_file_id: (await file(client, bytes)).id, endpoint: ENDPOINT, completion_window: '24h' });
  const end = async (client, bytes) => ended(client, (await begin(client, bytes)).id);
  const keysOf = (pattern) => cluster.redis.cmd('KEYS', pattern);
  const inProgress = (client, id) => eventually(async () => (await client.batches.retrieve(id)).status === 'in_progress', { what: 'it is in progress', ms: 60_000 });
  const mibOf = (node) => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${node.child.pid}/status`, 'utf8'))[1]) / 1024;
  // An upload, as far as a test sends it.
  async function opened({ method = 'POST', path = '/v1/files', headers = {} } = {}) {
    const request = http.request(`${cluster.pick(0).url}${path}`, { method, agent: false, headers: { authorization: `Bearer ${await tokenOf(cluster, 'User_1')}`, ...headers } });
    request.on('error', () => {});
    return request;
  }
  const formOf = (bytes) => Buffer.concat([Buffer.from('--x\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'), bytes, Buffer.from('\r\n--x--\r\n')]);
  let sizes;

  test('Redis says which calls are long, and nodes how large they are', async () => {
    await cluster.redis.cmd('CONFIG', 'SET', 'slowlog-log-slower-than', '1000');
    await cluster.redis.cmd('CONFIG', 'SET', 'slowlog-max-len', '10000');
    await cluster.redis.cmd('SLOWLOG', 'RESET');
    sizes = cluster.nodes.map(mibOf);
  });

  test('each line that is wrong is named, whatever is in it, and others are not', async () => {
    await named(cluster);
    const client = await clientOf();
    const good = (i) => JSON.stringify(lineOf(i));
    const withId = (id) => `{"custom_id":${id},"method":"POST","url":"${ENDPOINT}","body":{"model":"${MODEL}","messages":[]}}`;
    const lines = [
      ['\ufeff' + good(0), undefined],
      [good(1) + '\r', undefined],
      ['\ufeff' + good(2), 'invalid_json_line'],
      ['no JSON', 'invalid_json_line'],
      [`{"custom_id":"a","body":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, 'invalid_json_line'],
      ['{"a":'.repeat(30_000) + '1' + '}'.repeat(30_000), 'invalid_json_line'],
      [good(1), 'duplicate_custom_id'],
      [withId(`"${'i'.repeat(MIB)}"`), 'missing_required_parameter'],
      [withId(`"${'i'.repeat(513)}"`), 'missing_required_parameter'],
      [withId(`"${'i'.repeat(512)}"`), undefined],
      [withId(String.raw`"\u0000"`), 'invalid_json_line'],
      [withId('"\0"'), 'invalid_json_line'],
      [withId(String.raw`"\ud800"`), 'invalid_json_line'],
      [Buffer.concat([Buffer.from('{"custom_id":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]), 'invalid_json_line'],
      [withId(String.raw`"\ud83d\ude00\u2028"`), undefined],
      [withId('7'), 'missing_required_parameter'],
      [JSON.stringify(lineOf(3, { url: '/v1/embeddings' })), 'mismatched_url'],
      [JSON.stringify(lineOf(4, { url: '/v1/models' })), 'mismatched_url'],
      [JSON.stringify(lineOf(5, {}, { stream: true })), 'invalid_value'],
      [JSON.stringify(lineOf(6, {}, { model: 'nobody-has-it' })), 'model_not_found'],
      [JSON.stringify(lineOf(7, {}, Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, i])))), 'invalid_value'],
      ['\t ', undefined],
    ];
    const bytes = Buffer.concat(lines.flatMap(([line], i) => (i === 0 ? [raw(line)] : [raw('\n'), raw(line)])));
    const batch = await end(client, bytes);
    assert.equal(batch.status, 'failed');
    assert.deepEqual(batch.errors.data.map(({ line, code }) => [line, code]), lines.flatMap(([, code], i) => (code ? [[i + 1, code]] : [])));
    for (const nothing of ['', '\n\r\n \n', '\ufeff']) {
      const empty = await end(client, nothing);
      assert.deepEqual([empty.status, empty.errors.data.map(({ code }) => code)], ['failed', ['empty_file']], JSON.stringify(nothing));
    }
  });

  test('50,000 lines in 25 MiB are taken, one more is not, nor a file of a byte more', async () => {
    await named(cluster);
    const client = await clientOf();
    const most = Math.floor((25 * MIB) / 50_000) - 1;
    const line = (i) => JSON.stringify(lineOf(i, {}, { messages: [], x: '' })).replace('"x":"', (x) => x + 'x'.repeat(most - 127 - String(i).length));
    const lines = Array.from({ length: 50_000 }, (_, i) => line(i)).join('\n');
    const bytes = Buffer.concat([Buffer.from(lines), Buffer.alloc(25 * MIB - lines.length, '\n')]);
    assert.ok(lines.length > 24 * MIB && bytes.length === 25 * MIB, String(lines.length));
    const { id } = await begin(client, bytes);
    await inProgress(client, id);
    assert.equal((await client.batches.retrieve(id)).request_counts.total, 50_000);
    await client.batches.cancel(id);
    assert.equal((await ended(client, id)).status, 'cancelled');
    const short = (i) => JSON.stringify(lineOf(i, {}, { messages: [] }));
    const over = await end(client, Array.from({ length: 50_001 }, (_, i) => short(i)).join('\n'));
    assert.deepEqual([over.status, over.errors.data.map(({ code }) => code)], ['failed', ['too_many_lines']]);
    await assert.rejects(file(client, Buffer.alloc(25 * MIB + 1)), { status: 413 });
  });

  test('a line whose body is as long as one may be is answered; one of a byte more fails the batch', async () => {
    const client = await clientOf();
    const bodyOf = (bytes) => ({ model: MODEL, messages: [{ role: 'user', content: 'Long' }], x: 'x'.repeat(bytes - 71) });
    assert.equal(JSON.stringify(bodyOf(BODY)).length, BODY);
    const line = (bytes) => JSON.stringify({ ...lineOf(0), body: bodyOf(bytes) });
    const engine = looping(cluster);
    await eventually(async () => (await client.models.list()).data.some(({ id }) => id === MODEL), { what: 'the model is there' });
    const done = await end(client, line(BODY)); // and no newline at its end
    assert.deepEqual([done.status, done.request_counts], ['completed', { total: 1, completed: 1, failed: 0 }]);
    const over = await end(client, line(BODY + 1));
    assert.deepEqual([over.status, over.errors.data.map(({ code, line }) => [code, line])], ['failed', [['line_too_long', 1]]]);
    await engine.stop();
  });

  test('results that have no more room are an error of their lines', async () => {
    await named(cluster);
    const client = await clientOf();
    const { id } = await start(client, linesOf(20));
    await inProgress(client, id);
    const [key] = await keysOf(`*batch:*-${id.slice('batch_'.length)}`);
    await cluster.redis.cmd('HSET', key, 'output_bytes', 100 * MIB);
    const engine = looping(cluster);
    const batch = await ended(client, id);
    await engine.stop();
    assert.deepEqual([batch.status, batch.request_counts, batch.output_file_id], ['completed', { total: 20, completed: 0, failed: 20 }, undefined]);
    const errors = await resultsOf(client, batch.error_file_id);
    assert.deepEqual([...new Set([...errors.values()].map(({ error }) => error.code))], ['insufficient_quota']);
    assert.equal(errors.size, 20);
  });

  test('an upload whose client leaves half-way, or before it has its answer, leaves nothing', async () => {
    const stays = async () => (await Promise.all((await keysOf('*pushed:*')).map((key) => cluster.redis.cmd('LLEN', key)))).every((n) => n <= 1);
    const before = (await keysOf('*file:*')).length;
    const form = formOf(Buffer.alloc(24 * MIB, 'x'));
    const half = await opened({ headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': form.length } });
    half.write(form.subarray(0, form.length / 2));
    await once(half, 'drain');
    half.destroy();
    await eventually(async () => /^parley_body_bytes 0$/m.test((await cluster.request('GET', '/metrics', { node: 0 })).text), { what: 'its bytes are free' });
    assert.equal((await keysOf('*file:*')).length, before);
    assert.deepEqual(await keysOf('*pushed:*'), []);
    for (let i = 0; i < 3; i++) {
      const whole = await opened({ headers: { 'content-type': 'multipart/form-data; boundary=x', 'content-length': form.length } });
      whole.end(form);
      await eventually(async () => (await keysOf('*pushed:*')).length > 0 || (await keysOf('*file:*')).length > before + i, { every: 1, what: 'it is being stored' });
      whole.destroy();
      await eventually(stays, { what: 'no block stays' });
    }
    const client = await clientOf();
    for (const { id } of (await client.files.list({ limit: 100 })).data) await client.files.delete(id);
    assert.deepEqual(await keysOf('*file_bytes:*'), []);
  });

  test('a file that is deleted while it is read is cut off', async () => {
    const client = await clientOf();
    const { id } = await file(client, Buffer.alloc(25 * MIB, 'x'));
    const request = await opened({ method: 'GET', path: `/v1/files/${id}/content` });
    request.end();
    const [response] = await once(request, 'response');
    const [first] = await once(response, 'data');
    response.pause();
    await client.files.delete(id);
    let bytes = first.length;
    const over = new Promise((resolve) => response.once('error', () => resolve('cut')).once('end', () => resolve('end')));
    response.on('data', (data) => (bytes += data.length));
    response.resume();
    assert.equal(await over, 'cut');
    assert.ok(bytes < 25 * MIB);
  });

  test('what is of another account or person is as if it was not there, by every route', async () => {
    await named(cluster);
    const owner = await clientOf();
    const input = await file(owner, textOf(linesOf(1)));
    const batch = await owner.batches.create({ input_file_id: input.id, endpoint: ENDPOINT, completion_window: '24h' });
    const hers = await file(await clientOf('Frontend_1', { 'x-parley-user': 'ann' }), '{}');
    const routes = ({ id: name }, { id }) => [
      ['GET', `/v1/files/${name}`], ['HEAD', `/v1/files/${name}/content`], ['GET', `/v1/files/${name}/content`], ['DELETE', `/v1/files/${name}`],
      ['GET', `/v1/batches/${id}`], ['POST', `/v1/batches/${id}/cancel`],
      ['GET', '/v1/files', { query: { after: name } }], ['GET', '/v1/batches', { query: { after: id } }],
      ['POST', '/v1/batches', { body: { input_file_id: name, endpoint: ENDPOINT, completion_window: '24h' } }],
    ];
    const unknown = { file: { id: `file-${'0'.repeat(24)}` }, batch: { id: `batch_${'0'.repeat(24)}` } };
    const strip = (text = '') => text.replaceAll(/(file-|batch_)[0-9a-f]{24}/g, '$1');
    for (const who of [{ as: 'User_2' }, { as: 'Frontend_1', headers: { 'x-parley-user': 'ben' } }, { as: 'Frontend_1', headers: { 'x-parley-user': 'User_1' } }]) {
      const expected = routes(unknown.file, unknown.batch);
      for (const files of [input, hers])
        for (const [i, [method, path, more]] of routes(files, batch).entries()) {
          const answer = await ask(cluster, method, path, { ...who, ...more });
          const same = await ask(cluster, method, expected[i][1], { ...who, ...expected[i][2] });
          assert.ok([400, 404].includes(answer.status), `${method} ${path}: ${answer.status}`);
          assert.deepEqual([answer.status, strip(answer.text)], [same.status, strip(same.text)]);
        }
      for (const path of ['/v1/files', '/v1/batches']) assert.deepEqual((await ask(cluster, 'GET', path, who)).json.data, []);
    }
    assert.equal((await owner.files.retrieve(input.id)).id, input.id);
    await owner.batches.cancel(batch.id);
    assert.equal((await ended(owner, batch.id)).status, 'cancelled');
  });

  test('a person has 100 batches that have not ended, and of 1,000 that are kept the oldest goes', async () => {
    await named(cluster);
    const client = await clientOf('User_2');
    const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`key-${i}`, 'm'.repeat(512)]));
    const first = await start(client, linesOf(1), { metadata });
    const body = { input_file_id: first.input_file_id, endpoint: ENDPOINT, completion_window: '24h', metadata };
    const many = [first, ...(await Promise.all(Array.from({ length: 99 }, () => client.batches.create(body))))];
    await assert.rejects(client.batches.create(body), RateLimitError);
    const refused = await ask(cluster, 'POST', '/v1/batches', { as: 'User_2', body });
    assert.match(assertOpenaiError(refused, 429).message, /100 batches/);
    assert.ok(Number(refused.headers['retry-after']) >= 1);
    for (const { id } of many) await client.batches.cancel(id);
    for (const { id } of many) assert.equal((await ended(client, id)).status, 'cancelled');
    // 900 more of them that have ended, as copies.
    const [key] = await keysOf(`*batch:*-${first.id.slice('batch_'.length)}`);
    const [prefix, id] = key.split('batch:'), list = `${prefix}batches:User_2:User_2`;
    const copies = Array.from({ length: 900 }, (_, i) => `${id.slice(0, 25)}${String(i).padStart(24, '0')}`);
    for (const [i, copy] of copies.entries()) await Promise.all([cluster.redis.cmd('COPY', key, `${prefix}batch:${copy}`), cluster.redis.cmd('ZADD', list, i + 1, copy)]);
    const seen = [];
    for await (const batch of client.batches.list({ limit: 100 })) seen.push(batch.id);
    assert.equal(seen.length, 1000);
    assert.equal(new Set(seen).size, 1000);
    fits('ListBatchesResponse', (await ask(cluster, 'GET', '/v1/batches', { as: 'User_2', query: { limit: '100' } })).json);
    const more = await client.batches.create(body);
    assert.equal(await cluster.redis.cmd('ZCARD', list), 1000);
    assert.equal(await cluster.redis.cmd('EXISTS', `${prefix}batch:${copies[0]}`), 0);
    await client.batches.cancel(more.id);
    assert.equal((await ended(client, more.id)).status, 'cancelled');
  });

  test('operators who list all batches, 3,000 of them, a thousand times: all are seen, others are served, and a full Redis lists them too', async () => {
    await named(cluster);
    const client = await clientOf();
    const { id } = await start(client, linesOf(1));
    await client.batches.cancel(id);
    await ended(client, id);
    const [key] = await keysOf(`*batch:*-${id.slice('batch_'.length)}`);
    const [prefix, stored] = key.split('batch:');
    const copies = Array.from({ length: 3000 }, (_, i) => `${stored.slice(0, 25)}${String(i).padStart(24, '0')}`);
    for (const [i, copy] of copies.entries()) await Promise.all([cluster.redis.cmd('COPY', key, `${prefix}batch:${copy}`), cluster.redis.cmd('ZADD', `${prefix}batches_all`, i + 1, copy)]);
    const list = (query) => cluster.request('GET', '/api/batches', { as: 'Operator_1', query });
    const seen = new Set();
    for (let after; after !== null;) {
      const { batches, next } = assertOk(await list({ status: 'cancelled', after }));
      batches.forEach((batch) => seen.add(batch.id));
      after = next;
    }
    for (const copy of copies) assert.ok(seen.has(`batch_${copy.slice(25)}`), copy);
    // The dearest: nothing is found, so each call looks at as many as it may.
    let left = 1000, served = 0;
    const listing = Array.from({ length: 50 }, async () => {
      while (left-- > 0) {
        const answer = await list({ user: 'nobody' });
        if (answer.status !== 200) assert.ok([429, 503].includes(answer.status) && Number(answer.headers['retry-after']) >= 1, answer.text);
        else assert.deepEqual(answer.json.batches, []);
      }
    });
    const over = Promise.all(listing).then(() => (left = -1000));
    while (left > 0) {
      assert.equal((await client.batches.retrieve(id)).status, 'cancelled');
      served++;
    }
    await over;
    assert.ok(served > 0);
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      assert.equal(assertOk(await list({ limit: '100' })).batches.length, 100);
    } finally {
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    for (const copy of copies) await Promise.all([cluster.redis.cmd('DEL', `${prefix}batch:${copy}`), cluster.redis.cmd('ZREM', `${prefix}batches_all`, copy)]);
  });

  test('no call of Redis was long, and no node has grown much', async () => {
    const all = (await cluster.redis.cmd('SLOWLOG', 'GET', '-1')).map(([, , us, words]) => ({ us: Number(us), words: verbsOf(words) }));
    all.sort((one, other) => other.us - one.us);
    const grown = cluster.nodes.map((node, i) => Math.round(mibOf(node) - sizes[i]));
    console.log(`longest calls of Redis: ${all.slice(0, 3).map(({ us, words }) => `${us / 1000} ms (${words})`).join(', ')}; the nodes have grown by ${grown.join(' and ')} MiB`);
    assert.ok((all[2]?.us ?? 0) < LONG_US, JSON.stringify(all.slice(0, 3))); // the machine may stop for a while, but one that is long by nature is not alone
    for (const mib of grown) assert.ok(mib < GROWN_MIB, `${mib} MiB`);
  });
});
