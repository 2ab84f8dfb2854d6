// SPDX-License-Identifier: MIT
//
// Lines of batches are behind the questions of people: these wait for the claims under way, and for no line.
//
// Shards: 1, because an engine that asks one shard does not see what waits on another.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { ended, ENDPOINT, lineOf, linesOf, looping, MODEL, start } from '../support/batches.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { ask, engineOf, tokenOf } from '../support/openai.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards();

suite('lines of batches and questions', {}, ({ test, cluster }) => {
  test('questions that come while lines wait are answered before all of them', async () => {
    const client = new OpenAI({ baseURL: `${cluster.pick(0).url}/v1`, apiKey: await tokenOf(cluster, 'User_2'), maxRetries: 0 });
    (await engineOf(cluster, { models: MODEL, apis: 'chat' })).parked.abort();
    const batch = await start(client, linesOf(20));
    const isDepth = (n, what) => eventually(async () => (await cluster.request('GET', '/api/status', { as: 'Operator_1' })).json.Depth === n, { what });
    await isDepth(20, 'all lines wait');
    const answers = Promise.all(['A', 'B', 'C'].map((content) => ask(cluster, 'POST', ENDPOINT, { as: 'User_1', body: { model: MODEL, messages: [{ role: 'user', content }] } })));
    await isDepth(23, 'the questions wait, too');
    const engine = looping(cluster);
    for (const answer of await answers) assertOk(answer);
    assert.equal((await ended(client, batch.id)).status, 'completed');
    await engine.stop();
    assert.deepEqual(engine.asked.slice(0, 3).toSorted(), ['A', 'B', 'C']);
    assert.equal(engine.asked.length, 23);
  });

  test('as many batches of one account as nodes hold leave a place to another account', async () => {
    const clients = await Promise.all(['User_1', 'User_2'].map(async (as) => new OpenAI({ baseURL: `${cluster.pick(0).url}/v1`, apiKey: await tokenOf(cluster, as), maxRetries: 0 })));
    const THREADS = 2, HELD = 16;
    const slow = looping(cluster, { delay: (text) => new Promise((resolve) => setTimeout(resolve, text.startsWith('Slow') ? 20_000 : 0)) });
    const lines = Array.from({ length: 20 }, (_, i) => lineOf(i, {}, { messages: [{ role: 'user', content: `Slow ${i}` }] }));
    const many = [];
    for (let i = 0; i < THREADS * HELD + 4; i += 1) many.push((await start(clients[0], lines)).id);
    await eventually(async () => (await clients[0].batches.list({ limit: 100 })).data.filter(({ status }) => status === 'in_progress').length >= THREADS * HELD, { what: 'all places are taken' });
    const { id } = await start(clients[1], linesOf(3));
    assert.equal((await ended(clients[1], id, { ms: 500_000 })).status, 'completed');
    for (const one of many) await clients[0].batches.cancel(one);
    await slow.stop();
  }, { skip: process.env.PARLEY_NIGHTLY !== '1' && 'it takes minutes: PARLEY_NIGHTLY=1', ms: 600_000 });
});
