// SPDX-License-Identifier: MIT
//
// /v1 behind nginx, with deploy/nginx.conf and as it comes: HTTP/1.0 to the nodes, buffers, and 60 s between two reads.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { DEFAULTS, findNginx, startNginx } from '../support/nginx.mjs';
import { assertChunks, deltaOf, engineOf, fits, openChat } from '../support/openai.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // how nginx reads the answers of a node: the same on any number of shards

const skip = findNginx().reason ?? false;
const CONFIGS = { 'deploy/nginx.conf': undefined, 'its defaults': DEFAULTS };
const END = deltaOf({}, { finish_reason: 'stop' });
const newModel = (() => {
  let last = 0;
  return () => `model-${(last += 1)}`;
})();

suite('/v1 behind nginx', { nodes: 2 }, ({ test, cluster }) => {
  const proxies = {};
  const ports = () => cluster.nodes.map((node) => new URL(node.url).port);
  before(async () => {
    if (!skip) for (const [name, config] of Object.entries(CONFIGS)) proxies[name] = await startNginx(ports(), { config });
  });
  after(() => Promise.all(Object.values(proxies).map((nginx) => nginx.stop())));

  // A client behind that nginx and the engine that has its request.
  async function begin(nginx, body = {}, { node } = {}) {
    const model = newModel();
    const engine = await engineOf(cluster, { models: model, node });
    const asked = { model, messages: [{ role: 'user', content: 'Who is there?' }], ...body };
    const stream = await openChat(cluster, asked, { node: nginx });
    await engine.take(engine.parked);
    return { engine, stream, asked };
  }
  const finish = async (engine, content) => assertOk(await engine.answer([deltaOf({ content }), END], { Answer: [content] }));
  const contentOf = (stream) => stream.chunks.map(({ choices }) => choices[0].delta.content ?? '').join('');

  for (const name of Object.keys(CONFIGS)) {
    test(`with ${name}: each piece is there before the next, and the first comment before any`, async () => {
      const { engine, stream } = await begin(proxies[name]);
      await stream.until(({ text }) => text === ': ping\n', 'a comment');
      for (const content of ['One, ', 'two, ', 'three.']) {
        assertOk(await engine.give(deltaOf({ content })));
        await stream.until(() => contentOf(stream).endsWith(content), content);
      }
      await finish(engine, ' Four.');
      assert.equal(contentOf({ chunks: assertChunks(await stream.whole()) }), 'One, two, three. Four.');
    }, { skip });

    test(`with ${name}: a failure in the middle of a stream is an error and [DONE]`, async () => {
      const { engine, stream } = await begin(proxies[name]);
      assertOk(await engine.give(deltaOf({ content: 'Half' })));
      await stream.until(({ chunks }) => chunks.length === 1, 'the first piece');
      assertOk(await engine.refuse({ status: 500, message: 'It broke.' }));
      await stream.whole();
      assert.deepEqual([stream.chunks.at(-1).error.message, stream.events.at(-1), stream.ended], ['It broke.', '[DONE]', 'end']);
    }, { skip });

    test(`with ${name}: a failure before the head has its status, and nothing is streamed`, async () => {
      const { engine, stream } = await begin(proxies[name]);
      assertOk(await engine.refuse({ status: 400, message: 'Too long.', code: 'context_length_exceeded' }));
      await stream.whole();
      assert.deepEqual([stream.status, JSON.parse(stream.text).error.code], [400, 'context_length_exceeded']);
    }, { skip });

    test(`with ${name}: a client that hangs up frees the engine`, async () => {
      const { engine, stream } = await begin(proxies[name]);
      assertOk(await engine.give(deltaOf({ content: 'a' })));
      await stream.until(({ chunks }) => chunks.length === 1, 'the first piece');
      stream.abort();
      const isOver = async () => {
        const { status, json } = await engine.give(deltaOf({ content: 'a' }));
        return status !== 200 || json.Cancelled;
      };
      await eventually(isOver, { what: 'it is cancelled' });
    }, { skip });
  }

  // nginx gives up after 60 s without a byte. The node's head comes after 45 s, then a blank line every 10 s.
  test('a plain answer that takes longer than nginx waits arrives, and one that fails by then is no answer', async () => {
    const all = Object.values(proxies);
    const cases = await Promise.all([...all, ...all].map((nginx) => begin(nginx, { stream: false })));
    await Promise.all(cases.map(({ stream }) => stream.until(({ text }) => text === '\n\n\n', 'three blank lines')));
    for (const [i, { engine, stream }] of cases.entries()) {
      if (i < all.length) await finish(engine, 'Late.');
      else assertOk(await engine.refuse({ status: 500, message: 'It broke.' }));
      await stream.whole();
      assert.equal(stream.status, 200);
      assert.equal(stream.ended, i < all.length ? 'end' : 'aborted', stream.text);
      if (i < all.length) assert.equal(fits('CreateChatCompletionResponse', JSON.parse(stream.text)).choices[0].message.content, 'Late.');
    }
  }, { skip });

  test('a node that is killed in the middle is an error, and a retry gets all from the other one', async () => {
    const victim = await cluster.startNode();
    cluster.nodes.splice(cluster.nodes.indexOf(victim), 1);
    const nginx = await startNginx([new URL(victim.url).port, ports()[0]]);
    try {
      const { engine, stream, asked } = await begin(nginx, {}, { node: 0 });
      assertOk(await engine.give(deltaOf({ content: 'One, ' })));
      await stream.until(() => contentOf(stream) === 'One, ', 'the first piece');
      await victim.kill();
      await stream.whole();
      assert.equal(stream.ended, 'aborted');
      const again = await openChat(cluster, asked, { node: nginx });
      await again.until(() => contentOf(again) === 'One, ', 'what the first one got');
      assert.equal(again.headers['x-parley-attached'], '1');
      await finish(engine, 'two.');
      assert.equal(contentOf({ chunks: assertChunks(await again.whole()) }), 'One, two.');
    } finally {
      await nginx.stop();
    }
  }, { skip });
});
