// SPDX-License-Identifier: MIT
//
// Files and batches while Redis is full or silent, or is killed and started again from its log: what was acknowledged is
// there, refusals are 503 with Retry-After, and each line is answered once.
// Shards: 1, because 512 lines of one person are to find no room.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { ended, isThere, linesOf, looping, named, resultsOf, start, textOf, upload } from '../support/batches.mjs';
import { assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { ask, tokenOf } from '../support/openai.mjs';

const MIB = 1 << 20;
const LINES = 300;

suite('files and batches while Redis is in trouble', { aof: true, args: ['--lease-seconds', 3, '--max-attempts', 10] }, ({ test, cluster }) => {
  const clientOf = async () => new OpenAI({ baseURL: `${cluster.pick(0).url}/v1`, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 0 });
  const ready = () => eventually(async () => (await Promise.all(cluster.nodes.map((node) => cluster.request('GET', '/readyz', { node })))).every(({ status }) => status === 200), { what: 'nodes are ready', ms: 60_000 });
  async function endsWith(client, id, lines) {
    const batch = await ended(client, id, { ms: 120_000 });
    assert.deepEqual([batch.status, batch.request_counts], ['completed', { total: lines.length, completed: lines.length, failed: 0 }]);
    const results = await resultsOf(client, batch.output_file_id);
    assert.equal(results.size, lines.length);
    for (const { custom_id, body } of lines) assert.equal(results.get(custom_id).response.body.choices[0].message.content, body.messages[0].content);
  }
  // `trouble` comes when some lines are answered, and not all of them. isNew: as soon as the batch is made.
  async function during(trouble, { isNew = false } = {}) {
    const client = await clientOf();
    let isSlow = true;
    const engine = looping(cluster, { delay: () => isSlow && new Promise((resolve) => setTimeout(resolve, 20)) });
    await isThere(cluster, client);
    const { id } = await start(client, linesOf(LINES));
    if (!isNew) await eventually(async () => (await client.batches.retrieve(id)).request_counts.completed >= 5, { what: 'some lines are answered' });
    await trouble(client);
    isSlow = false;
    await endsWith(client, id, linesOf(LINES));
    await engine.stop();
  }
  async function silent(ms) {
    await cluster.redis.pause();
    try {
      await new Promise((resolve) => setTimeout(resolve, ms));
    } finally {
      await cluster.redis.resume();
    }
  }
  async function send(bytes) {
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new File([bytes], 'a'));
    const response = await fetch(`${cluster.pick(0).url}/v1/files`, { method: 'POST', body: form, headers: { authorization: `Bearer ${await tokenOf(cluster, 'User_1')}` } });
    return { status: response.status, headers: Object.fromEntries(response.headers), json: await response.json(), text: '' };
  }
  const isRefused = (answer) => {
    assertOpenaiError(answer, 503);
    assert.ok(Number(answer.headers['retry-after']) >= 1);
  };

  test('full: uploads and batches are refused, files are read, and a batch continues when there is room', () => during(async (client) => {
    const kept = await upload(client, linesOf(3));
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      isRefused(await send(Buffer.alloc(2 * MIB)));
      isRefused(await ask(cluster, 'POST', '/v1/batches', { body: { input_file_id: kept.id, endpoint: '/v1/chat/completions', completion_window: '24h' } }));
      assert.equal(await (await client.files.content(kept.id)).text(), textOf(linesOf(3)));
      assert.equal((await client.files.delete(kept.id)).deleted, true);
      assert.deepEqual(await cluster.redis.cmd('KEYS', '*pushed:*'), []);
    } finally {
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
  }));

  // The first is as long as a call may take; the others are longer than the lease of a batch, which any node then takes.
  for (const [how, ms, more] of [['for some seconds', 5000], ['for longer than its lease', 9000], ['from its beginning on', 9000, { isNew: true }]])
    test(`silent ${how}: a batch continues, and each line is answered once`, () => during(() => silent(ms), more));

  test('silent while lines of two batches look for room again and again: each is answered once', async () => {
    const client = await clientOf();
    const lines = linesOf(2 * LINES);
    const halves = [lines.slice(0, LINES), lines.slice(LINES)];
    await named(cluster);
    const batches = await Promise.all(halves.map((half) => start(client, half)));
    await eventually(async () => (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Depth >= 256, { what: 'lines wait' });
    await silent(9000);
    const engine = looping(cluster);
    for (const [i, { id }] of batches.entries()) await endsWith(client, id, halves[i]);
    await engine.stop();
  });

  test('silent while a batch is cancelled: 503, and once it is asked again, the batch ends as cancelled', async () => {
    const client = await clientOf();
    await named(cluster);
    const { id } = await start(client, linesOf(LINES));
    await eventually(async () => (await client.batches.retrieve(id)).status === 'in_progress', { what: 'its lines are sent' });
    await cluster.redis.pause();
    try {
      isRefused(await ask(cluster, 'POST', `/v1/batches/${id}/cancel`));
    } finally {
      await cluster.redis.resume();
    }
    await eventually(() => client.batches.cancel(id), { what: 'it is cancelled' });
    assert.equal((await ended(client, id)).status, 'cancelled');
    await eventually(async () => (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Depth === 0, { what: 'no line of it waits' });
  });

  test('killed and started again in the midst of a batch and of uploads: what was acknowledged is there', () => during(async (client) => {
    const bytes = Buffer.alloc(8 * MIB, 'kept');
    const kept = await client.files.create({ file: new File([bytes], 'a'), purpose: 'user_data' });
    // It is refused, as uploads are, as long as a connection is not there.
    const contentOf = (id) => eventually(async () => (await client.files.content(id)).arrayBuffer(), { what: 'its bytes are read' });
    const uploads = Array.from({ length: 4 }, () => send(bytes));
    await eventually(async () => (await cluster.redis.cmd('KEYS', '*pushed:*')).length > 0, { every: 1, what: 'blocks arrive' });
    await cluster.redis.kill('SIGKILL');
    await cluster.redis.restart();
    await ready();
    for (const answer of await Promise.all(uploads)) {
      if (answer.status !== 200) isRefused(answer);
      else assert.equal((await contentOf(answer.json.id)).byteLength, bytes.length);
    }
    assert.ok(Buffer.from(await contentOf(kept.id)).equals(bytes));
  }));
});
