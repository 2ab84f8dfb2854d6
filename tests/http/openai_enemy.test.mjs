// SPDX-License-Identifier: MIT
//
// The largest requests of OpenAI's interface that are legal, and somewhat larger ones, many of them, and model servers that send
// as much as they can.
import assert from 'node:assert/strict';
import { assertOk, assertOpenaiError, eventually, suite } from '../support/harness.mjs';
import { ask, assertChunks, deltaOf, engineOf, openChat } from '../support/openai.mjs';
import { startServed } from '../support/openai_served.mjs';

const MIB = 1 << 20;
const HELD_MS = 600_000; // for clients that are held until the last one has come, however slowly
const messages = [{ role: 'user', content: 'Hi' }];
const chat = (cluster, body, options) => ask(cluster, 'POST', '/v1/chat/completions', { body, ...options });
const nested = (depth, inside = '') => `${'['.repeat(depth)}${inside}${']'.repeat(depth)}`;
const withTools = (tools) => `{"model":"llama3","messages":${JSON.stringify(messages)},"tools":${tools}}`;

suite('hostile requests', { args: ['--threads=1'] }, ({ test, cluster }) => {
  test('bodies of 1 MiB that are nested without end are 400, hundreds of times, and store nothing', async () => {
    const body = withTools(nested(MIB / 2));
    const before = await cluster.redis.cmd('DBSIZE');
    for (let i = 0; i < 10; i += 1) {
      const responses = await Promise.all(Array.from({ length: 30 }, () => chat(cluster, body)));
      for (const response of responses) assertOpenaiError(response, 400);
    }
    assert.ok((await cluster.redis.cmd('DBSIZE')) <= before + 10);
  });

  test('tool schemas of 3 MiB, as deep as JSON may be, reach the engine byte for byte', async () => {
    const engine = await engineOf(cluster);
    const schema = nested(55, '{"$ref":"#"}');
    const body = withTools(`[${Array.from({ length: Math.floor((3 * MIB) / (schema.length + 1)) }, () => schema).join(',')}]`);
    const response = chat(cluster, body, { headers: { 'Content-Type': 'application/json' } });
    await engine.take(engine.parked);
    assert.equal(engine.details.Request, body);
    assertOk(await engine.answer([deltaOf({ content: 'ok' }, { finish_reason: 'stop' })]));
    assertOk(await response);
  });

  test('10,000 choices are refused, and those that a model server sends unasked are left out', async () => {
    assertOpenaiError(await chat(cluster, { model: 'llama3', messages, n: 10_000 }), 400);
    const all = (delta, finish_reason) => ({ choices: Array.from({ length: 10_000 }, (_, index) => ({ index, delta, finish_reason })) });
    const served = await startServed(cluster, (_, response) => response.events([all({ content: 'x' }, null), all({}, 'stop')]), ['--slots', 2]);
    try {
      for (const n of [undefined, 1, 128]) {
        const stream = await openChat(cluster, { model: 'm', messages, n });
        const indexes = assertChunks(await stream.whole()).flatMap(({ choices }) => choices.map(({ index }) => index));
        assert.equal(new Set(indexes).size, n ?? 1);
        assert.equal(assertOk(await chat(cluster, { model: 'm', messages, n })).choices.length, n ?? 1);
      }
    } finally {
      await served.stop();
    }
  });
});

suite('requests of one MiB at most', { nodes: 1, args: ['--openai-body-mib=1'] }, ({ test, cluster }) => {
  test('a longer one gets 413 in each way, by its head or its bytes, and one of that length is taken', async () => {
    const body = (bytes) => JSON.stringify({ model: 'llama3', messages: [], filler: 'x'.repeat(bytes - 44) });
    assert.equal(body(1 << 20).length, 1 << 20);
    for (const path of ['/v1/chat/completions', '/v1/completions', '/v1/embeddings']) {
      const error = assertOpenaiError(await ask(cluster, 'POST', path, { body: body((1 << 20) + 1) }), 413, 'too_large');
      assert.match(error.message, /1 MiB|1048576/);
    }
    assertOpenaiError(await ask(cluster, 'POST', '/v1/chat/completions', { body: body(1 << 20) }), 400); // no message
  });
});

suite('many long requests that wait', { nodes: 1, args: ['--threads=1', '--body-memory-mib=16'] }, ({ test, cluster }) => {
  test('a node holds as many as it has memory for bodies, refuses others with 503, and has all of it again when they have left', async () => {
    await engineOf(cluster);
    const content = 'x'.repeat(MIB - 4096);
    const open = (localAddress) => {
      const opened = cluster.open('POST', '/v1/chat/completions', { as: 'User_1', body: { model: 'llama3', messages: [{ role: 'user', content }] }, localAddress, timeout: HELD_MS });
      opened.response.then((response) => (opened.refused = response), () => {});
      return opened;
    };
    const held = [];
    const addresses = ['127.0.0.1', '127.8.3.1', '127.8.3.2'];
    for (const address of addresses) held.push(...Array.from({ length: 20 }, () => open(address)));
    const waiting = async () => (await cluster.redis.cmd('KEYS', '*:t:ask.*')).length;
    await eventually(async () => held.filter(({ refused }) => refused).length + (await waiting()) >= held.length, { ms: 300_000, what: 'each is refused or queued' });
    const refused = held.filter((one) => one.refused);
    assert.ok(held.length - refused.length <= 16 && held.length - refused.length >= 4, `${refused.length} of ${held.length} are refused`);
    for (const one of refused) {
      assertOpenaiError(one.refused, 503);
      assert.ok(Number(one.refused.headers['retry-after']) >= 1);
    }
    for (const one of held) one.abort();
    await eventually(async () => (await waiting()) === 0, { what: 'all have left' });
    const engine = await engineOf(cluster);
    const last = open(addresses[0]);
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'ok' }, { finish_reason: 'stop' })]));
    assert.equal((await last.response).status, 200);
  });
});

suite('300 requests of 1 MiB that wait, on a node as it is by default', { nodes: 1, args: ['--threads=1'] }, ({ test, cluster }) => {
  test('about 250 are held and the others get 503 with Retry-After, while short requests, and long ones of others later, are answered', async () => {
    await engineOf(cluster);
    const content = 'x'.repeat(MIB - 4096);
    const held = [];
    const open = (i) => {
      const body = { model: 'llama3', messages: [{ role: 'user', content }] };
      const opened = cluster.open('POST', '/v1/chat/completions', { as: 'Frontend_1', headers: { 'x-parley-user': `waits-${i}` }, body, localAddress: `127.8.3.${(i % 3) + 1}`, timeout: HELD_MS });
      opened.response.then((response) => (opened.refused = response), () => {});
      held.push(opened);
      return opened;
    };
    const waiting = async () => (await cluster.redis.cmd('KEYS', '*:t:ask.*')).length;
    for (let i = 0; i < 300; i += 20) {
      for (let k = i; k < i + 20; k++) open(k);
      await eventually(async () => held.filter(({ refused }) => refused).length + (await waiting()) >= held.length, { ms: 300_000, what: 'each is refused or queued' });
    }
    const refused = held.filter((one) => one.refused);
    assert.ok(held.length - refused.length <= 256 && held.length - refused.length >= 240, `${refused.length} of ${held.length} are refused`);
    for (const one of refused) {
      assertOpenaiError(one.refused, 503, 'busy');
      assert.ok(Number(one.refused.headers['retry-after']) >= 1);
    }
    const engine = await engineOf(cluster, { models: 'short' });
    const short = chat(cluster, { model: 'short', messages, store: true });
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ content: 'ok' }, { finish_reason: 'stop' })]));
    assertOk(await short);
    assert.equal((await cluster.request('GET', '/readyz')).status, 200);
    for (const one of held) one.abort();
    await eventually(async () => (await waiting()) === 0, { what: 'all have left' });
    open(301);
    await eventually(async () => (await waiting()) === 1, { what: 'there is room again' });
    held.at(-1).abort();
  }, { ms: HELD_MS });
});
