// SPDX-License-Identifier: MIT
//
// A batch while nodes are killed and engines vanish in the middle of lines, and people ask at the same time: each custom_id
// is in the output once, and every question is answered. 300 lines and 3 kills; with PARLEY_NIGHTLY=1 10,000 lines and 30.
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { ended, ENDPOINT, isThere, linesOf, looping, MODEL, resultsOf, start } from '../support/batches.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { ask, tokenOf } from '../support/openai.mjs';

const IS_NIGHTLY = process.env.PARLEY_NIGHTLY === '1';
const LINES = IS_NIGHTLY ? 10_000 : 300;
const KILLS = IS_NIGHTLY ? 30 : 3;

suite('a batch in trouble', { nodes: 3, args: ['--lease-seconds', 3, '--max-attempts', 10] }, ({ test, cluster }) => {
  test('survives kills of nodes and engines with each line answered once, while questions are answered, too', async () => {
    const client = new OpenAI({ baseURL: `${cluster.pick(0).url}/v1`, apiKey: await tokenOf(cluster, 'User_1'), maxRetries: 5 });
    // Node 0 stays, for clients and engines; the others hold the batch now and then.
    let lost = 0;
    const delay = (text) => (text.startsWith('Question') && Math.random() < 0.02 && lost++ < 50 ? new Promise((resolve) => setTimeout(resolve, 4000)) : 0);
    const engines = Array.from({ length: 4 }, () => looping(cluster, { node: 0, delay }));
    await isThere(cluster, client);
    const { id } = await start(client, linesOf(LINES));
    let isOver = false, asked = 0;
    const person = (async () => {
      while (!isOver) {
        assertOk(await ask(cluster, 'POST', ENDPOINT, { as: 'User_2', node: 0, body: { model: MODEL, messages: [{ role: 'user', content: 'And I?' }] } }));
        asked++;
      }
    })();
    for (let kill = 1; kill <= KILLS; kill++) {
      await eventually(async () => {
        const { status, request_counts: counts } = await client.batches.retrieve(id);
        return status === 'completed' || counts.completed >= Math.floor((kill * LINES) / (KILLS + 2));
      }, { what: `lines before kill ${kill}`, ms: 300_000 });
      const others = cluster.nodes.filter((node, i) => i > 0 && node.alive);
      await others[kill % others.length].kill('SIGKILL');
      await cluster.startNode();
    }
    const batch = await ended(client, id, { ms: 900_000 });
    isOver = true;
    await person;
    await Promise.all(engines.map((engine) => engine.stop()));
    assert.deepEqual([batch.status, batch.request_counts], ['completed', { total: LINES, completed: LINES, failed: 0 }]);
    const results = await resultsOf(client, batch.output_file_id);
    assert.equal(results.size, LINES);
    for (let i = 0; i < LINES; i++) assert.equal(results.get(`line-${i}`).response.body.choices[0].message.content, `Question ${i}`);
    assert.ok(asked > 0);
  });
});
