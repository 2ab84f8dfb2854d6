// SPDX-License-Identifier: MIT
//
// Strangers over HTTP/2: what their streams may hold, and how a refused stream leaves its connection.
import assert from 'node:assert/strict';
import { body, END_STREAM, FRAME, frame, get, head, openFrames } from '../support/frames.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // strangers never reach Redis: the same on any number of shards

const KIB = 1024;
const MIB = 1024 * KIB;

suite('streams of strangers', { nodes: 1 }, ({ test, cluster }) => {
  const open = (options) => openFrames(cluster.nodes[0].url, options);
  const codeOf = (client, stream) => JSON.parse(client.text(stream)).code;

  // The connection is read and answered: a new stream gets what it asks for.
  async function assertGoesOn(client, stream) {
    client.write(head(stream, '/livez', { 'content-length': 15 * MIB }));
    await eventually(() => client.isEnded(stream), { what: 'the answer of the next stream' });
    assert.equal(codeOf(client, stream), 'method_not_allowed');
  }

  test('ten streams that race for what one connection may hold: the oldest is kept, the others are refused with an answer', async () => {
    const client = open();
    const streams = Array.from({ length: 10 }, (_, i) => 2 * i + 1);
    client.write(...streams.map((id) => head(id, '/ask')));
    for (let sent = 0; sent < 16 * KIB; sent += 2 * KIB) client.write(...streams.map((id) => body(id, 2 * KIB)));
    await eventually(() => streams.filter((id) => client.isEnded(id)).length >= 6, { what: 'refusals' });
    for (const id of streams.filter((id) => client.isEnded(id))) assert.equal(codeOf(client, id), 'busy');
    await assertGoesOn(client, 101);
    assert.ok(!client.isEnded(1) && !client.isReset(1));
    assert.equal(client.of(0, FRAME.goaway).length, 0);
    client.socket.destroy();
  });

  test('the largest body that everybody may send comes through, however its frames are cut', async () => {
    const text = JSON.stringify({ Query: 'x'.repeat(48 * KIB) }).slice(0, 48 * KIB);
    for (const fields of [{}, { 'content-length': text.length }])
      for (const pieces of [1, 7, 9, 10, 100, 8183, 8192, 16393]) {
        const client = open();
        const bytes = Buffer.concat([
          head(1, '/ask', fields),
          ...[0, 1, 2].map((i) => frame(FRAME.data, i === 2 ? END_STREAM : 0, 1, Buffer.from(text.slice(i * 16384, (i + 1) * 16384)))),
        ]);
        client.socket.setNoDelay(true);
        const step = pieces < 100 ? bytes.length - pieces : pieces;
        for (let at = 0; at < bytes.length; at += step) {
          client.write(bytes.subarray(at, at + step));
          await new Promise(setImmediate);
        }
        await eventually(() => client.isEnded(1), { what: `the answer with ${pieces}` });
        assert.notEqual(codeOf(client, 1), 'too_large');
        assert.notEqual(codeOf(client, 1), 'busy');
        assert.ok(!client.isReset(1));
        client.socket.destroy();
      }
  });

  // libh2o notes where the body is once its trailers begin, and the body is moved after that.
  test('a body is read where it no longer is, because its trailers came in two parts', async () => {
    const text = Buffer.from(`["${'x'.repeat(17 * KIB)}"`);
    const trailer = Buffer.from([0, 1, 'x'.charCodeAt(0), 1, 'y'.charCodeAt(0)]);
    const client = open();
    const data = [0, 1].map((i) => frame(FRAME.data, 0, 1, text.subarray(i * 16384, (i + 1) * 16384)));
    client.write(head(1, '/ask'), ...data, frame(FRAME.headers, END_STREAM, 1));
    for (let i = 0; i < 3; i++) await cluster.request('GET', '/livez');
    client.write(frame(FRAME.continuation, 4, 1, trailer));
    await eventually(() => client.isEnded(1));
    assert.match(client.text(1), new RegExp(`at byte ${text.length}\\)`));
    client.socket.destroy();
  });

  test('answers that find no window never come', async () => {
    const client = open({ window: 0 });
    const streams = Array.from({ length: 100 }, (_, i) => 2 * i + 1);
    client.write(...streams.map((id) => get(id, '/livez')));
    await eventually(() => streams.every((id) => client.of(id, FRAME.headers).length === 1));
    client.write(...streams.map((id) => frame(FRAME.window, 0, id, Buffer.from([0, 1, 0, 0]))));
    await eventually(() => streams.every((id) => client.isEnded(id)));
    client.socket.destroy();
  });

  test('strangers leave so many answers unread that others find no room', async () => {
    const streams = Array.from({ length: 100 }, (_, i) => 2 * i + 1);
    const clients = Array.from({ length: 10 }, () => open({ window: 0 }));
    for (const client of clients) client.write(...streams.map((id) => get(id, '/livez')));
    await eventually(() => clients.filter((client) => client.closed).length >= 8, { what: 'the end of those past 256' });
    const client = open();
    client.write(...streams.map((id) => get(id, '/livez')));
    await eventually(() => streams.every((id) => client.isEnded(id)));
    for (const one of [...clients, client]) one.socket.destroy();
  });

  test('a refused stream that its client resets, or whose answer finds no window, does not stop its connection', async () => {
    const client = open();
    client.write(head(1, '/livez', { 'content-length': 2 * MIB }), frame(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, 8])));
    await assertGoesOn(client, 3);
    client.socket.destroy();
    const narrow = open({ window: 0 });
    narrow.write(head(1, '/livez', { 'content-length': 2 * MIB }));
    await eventually(() => narrow.of(1, FRAME.headers).length === 1);
    narrow.write(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    await eventually(() => narrow.of(0, FRAME.ping).length === 1, { what: 'the PING' });
    narrow.write(frame(FRAME.window, 0, 1, Buffer.from([0, 1, 0, 0])));
    await eventually(() => narrow.isEnded(1));
    assert.equal(codeOf(narrow, 1), 'method_not_allowed');
    narrow.socket.destroy();
  });

  // Both come with one read: libh2o writes in between, and begins to read by itself after each write.
  test('a connection hangs after a refusal whose answer had to wait for its nonce', async () => {
    for (let i = 0; i < 3; i++) {
      const client = open();
      const path = cluster.path('/api/add-query', { as: 'Frontend_1' });
      await cluster.redis.cmd('CLIENT', 'PAUSE', '300', 'ALL');
      client.write(head(1, path, { 'content-length': 2 * MIB }), body(1, 20_000));
      await eventually(() => client.isEnded(1), { what: 'the refusal' });
      assert.equal(codeOf(client, 1), 'too_large');
      await assertGoesOn(client, 3);
      client.socket.destroy();
    }
  });

  // Requests of strangers begin four at a time, and what came after them waits.
  test('what came after four requests resets a refused one that has no answer yet', async () => {
    const others = [3, 5, 7, 9, 11];
    const clients = Array.from({ length: 60 }, () => open());
    const paths = clients.map(() => cluster.path('/api/add-query', { as: 'Frontend_1' }));
    await cluster.redis.cmd('CLIENT', 'PAUSE', '300', 'ALL');
    for (const [i, client] of clients.entries())
      client.write(Buffer.concat([head(1, paths[i], { 'content-length': 2 * MIB }), ...others.map((id) => get(id, '/livez')), body(1, 2000)]));
    for (const client of clients) {
      await eventually(() => client.isEnded(1) || client.isReset(1), { what: 'the refusal' });
      assert.ok(client.isEnded(1), 'the first stream was reset before its answer');
      assert.equal(codeOf(client, 1), 'too_large');
      await eventually(() => others.every((id) => client.isEnded(id)), { what: 'the other answers' });
      client.socket.destroy();
    }
  });

  test('a refusal that is answered at once ends the wait of another one of its connection', async () => {
    const client = open();
    const path = cluster.path('/api/add-query', { as: 'Frontend_1' });
    await cluster.redis.cmd('CLIENT', 'PAUSE', '500', 'ALL');
    client.write(head(1, path, { 'content-length': 2 * MIB }), head(3, '/livez', { 'content-length': 2 * MIB }));
    await eventually(() => client.isEnded(3), { what: 'the second refusal' });
    client.write(body(1, 20_000));
    await eventually(() => client.isEnded(1) || client.isReset(1), { what: 'the first refusal' });
    assert.ok(client.isEnded(1), 'the first stream was reset before its answer');
    assert.equal(codeOf(client, 1), 'too_large');
    await assertGoesOn(client, 5);
    client.socket.destroy();
  });

  // libh2o stops reading once 512 KiB of acknowledgements wait, and begins again by itself.
  test('a connection hangs whose client read nothing for a while, so that acknowledgements piled up', async () => {
    const client = open();
    const pings = Buffer.concat(Array.from({ length: 4000 }, () => frame(FRAME.ping, 0, 0, Buffer.alloc(8))));
    client.socket.pause();
    let n = 0;
    for (; n < 240; n++) client.write(pings);
    await cluster.request('GET', '/livez');
    client.socket.resume();
    await eventually(() => client.of(0, FRAME.ping).length === 4000 * n, { what: 'all acknowledgements', ms: 60_000, every: 200 });
    await assertGoesOn(client, 1);
    client.socket.destroy();
  });
});
