// SPDX-License-Identifier: MIT
//
// Responses in the background as official clients use them, version by version: followed over fifty reconnects at random nodes,
// resumed, read and cancelled.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { assertOk, suite } from '../support/harness.mjs';
import { deltaOf, engineOf, tokenOf } from '../support/openai.mjs';

const PROGRAM = fileURLToPath(new URL('../clients/responses.mjs', import.meta.url));
const NEWER = process.env.PARLEY_TEST_NODE_22; // tests/clients.sh
const RECONNECTS = 50;
const WORDS = Array.from({ length: 200 }, (_, i) => `w${i} ä `);

function startClient(cluster, node, name, token) {
  const bases = cluster.nodes.map(({ url }) => `${url}/v1`);
  const child = spawn(node, [PROGRAM, name, token, ...bases], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async ask(...words) {
      child.stdin.write(`${words.join(' ')}\n`);
      const { value, done } = await lines.next();
      assert.ok(!done, 'the client has ended');
      return JSON.parse(value);
    },
    stop: () => child.stdin.end(),
  };
}

suite('responses, as official clients use them', {}, ({ test, cluster }) => {
  for (const [name, node] of [['openai6', process.execPath], ['openai7', NEWER]]) {
    test(`${name}: fifty reconnects, a stream that is resumed, and a cancel`, async () => {
      const client = startClient(cluster, node, name, await tokenOf(cluster, 'User_1'));
      const engine = await engineOf(cluster);
      const { id } = await client.ask('create', 'llama3');
      await engine.take(engine.parked);
      const following = client.ask('follow', id, RECONNECTS);
      for (let i = 0; i < WORDS.length; i += 2) assertOk(await engine.give(...WORDS.slice(i, i + 2).map((content) => deltaOf({ content }))));
      assertOk(await engine.answer([deltaOf({}, { finish_reason: 'stop' })]));
      const { numbers, text, error } = await following;
      assert.equal(error, undefined);
      assert.deepEqual(numbers, numbers.map((_, i) => i));
      assert.ok(numbers.length > 3 * RECONNECTS, `${numbers.length} events`);
      assert.equal(text, WORDS.join(''));
      assert.deepEqual(await client.ask('read', id), { status: 'completed', text });
      assert.deepEqual(await client.ask('resume', id, 5), { text });

      const next = await engineOf(cluster);
      const { id: second } = await client.ask('create', 'llama3');
      await next.take(next.parked);
      assert.deepEqual(await client.ask('cancel', second), { status: 'cancelled' });
      assert.equal((await next.answer([deltaOf({ content: 'late' })])).status, 409);
      assert.deepEqual(await client.ask('read', second), { status: 'cancelled', text: '' });
      client.stop();
    }, { skip: node ? false : 'PARLEY_TEST_NODE_22 names no Node (tests/clients.sh)' });
  }
});
