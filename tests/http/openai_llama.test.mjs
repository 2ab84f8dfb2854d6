// SPDX-License-Identifier: MIT
//
// llama.cpp, as node-llama-cpp builds it, with a model of random weights: its tokens come through `parley engine`, it stops when
// its client hangs up, and its context gets full.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { startEngine } from '../support/engines.mjs';
import { makeModel } from '../support/gguf.mjs';
import { assertOk, eventually, makeFolder, suite } from '../support/harness.mjs';
import { ask, assertChunks, openChat } from '../support/openai.mjs';
import { adopt } from '../support/redis.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a model server sends: the same on any number of shards

const TOOLS = process.env.PARLEY_TEST_TOOLS;
const skip = TOOLS ? false : 'PARLEY_TEST_TOOLS names no folder (tests/tools.sh)';
const messages = [{ role: 'user', content: 'Hello' }];
const contentOf = (chunks) => chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta.content ?? '').join('');
const endsOf = (chunks) => chunks.flatMap(({ choices }) => choices).map(({ finish_reason }) => finish_reason).filter(Boolean);

suite('llama.cpp', {}, ({ test, cluster }) => {
  // A server whose context has so many tokens, and an engine in front of it.
  async function withServer(tokens, use) {
    const folder = makeFolder();
    const child = adopt(spawn(process.execPath, [`${TOOLS}/llama_server.mjs`, folder.file('model.gguf', makeModel()), tokens], { stdio: ['ignore', 'pipe', 'inherit'] }));
    let engine;
    try {
      const [port] = await once(createInterface({ input: child.stdout }), 'line');
      const url = `http://127.0.0.1:${port}`;
      engine = await startEngine(cluster, ['--llm', `${url}/v1`, '--slots', 2]);
      await eventually(async () => assertOk(await ask(cluster, 'GET', '/v1/models')).data.some(({ id }) => id === 'm'), { what: 'the model is listed' });
      await use(url);
      assert.deepEqual(await engine.stop(), { code: 0, signal: null }, engine.stderr);
    } finally {
      engine?.child.kill('SIGKILL');
      child.kill('SIGKILL');
      folder.remove();
    }
  }
  const evaluated = async (url) => (await fetch(`${url}/evaluated`)).json();

  test('its tokens come as they are made, streamed or not, and its full context ends them', () =>
    withServer(256, async (url) => {
      const direct = await (await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify({ messages, max_tokens: 20 }) })).text();
      const wanted = direct.split('\n').filter((line) => line.startsWith('data: {')).map((line) => JSON.parse(line.slice(6)));
      assert.equal(wanted.length, 21);
      const body = { model: 'm', messages, max_tokens: 20 };
      assert.equal(contentOf(assertChunks(await (await openChat(cluster, body)).whole())), contentOf(wanted));
      assert.equal(assertOk(await ask(cluster, 'POST', '/v1/chat/completions', { body })).choices[0].message.content, contentOf(wanted));
      const full = assertChunks(await (await openChat(cluster, { model: 'm', messages })).whole());
      assert.deepEqual(endsOf(full), ['length']);
      assert.ok(contentOf(full).startsWith(contentOf(wanted)) && contentOf(full).length > 200, contentOf(full));
    }), { skip });

  test('messages that are longer than its context are 400 before the stream', () =>
    withServer(256, async (url) => {
      const long = [{ role: 'user', content: 'long '.repeat(100) }];
      for (const stream of [true, false]) {
        const { status, text } = await (await openChat(cluster, { model: 'm', messages: long, stream })).whole();
        assert.deepEqual([status, JSON.parse(text).error.code], [400, 'context_length_exceeded']);
      }
      assert.deepEqual(await evaluated(url), { running: 0, tokens: 0 });
    }), { skip });

  test('a client that hangs up stops it', () =>
    withServer(65536, async (url) => {
      const stream = await openChat(cluster, { model: 'm', messages });
      await stream.until(({ chunks }) => chunks.length >= 3, 'three tokens');
      assert.equal((await evaluated(url)).running, 1);
      stream.abort();
      await eventually(async () => (await evaluated(url)).running === 0, { what: 'it has stopped' });
      const { tokens } = await evaluated(url);
      assert.ok(tokens < 65000, `${tokens} tokens`);
    }), { skip });
});
