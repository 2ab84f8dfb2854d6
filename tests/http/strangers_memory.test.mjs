// SPDX-License-Identifier: MIT
//
// Strangers: what 200 of them cost a node in memory while none of them ends what it began. The node is a release
// build: the allocator of AddressSanitizer pads every piece and keeps what is freed.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { body, FRAME, frame, get, head, HELLO, paddedBody } from '../support/frames.mjs';
import { eventually, RELEASE_BIN, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';
import { connectTo } from '../support/tls.mjs';

ownShards(); // strangers never reach Redis: the same on any number of shards

const KIB = 1024;
const MIB = 1024 * KIB;

const text = (n) => Buffer.alloc(n, 'a');
const old = (line, fields, bytes = '') => Buffer.concat([Buffer.from(`${line} HTTP/1.1\r\nHost: x\r\n${fields}\r\n`), Buffer.from(bytes)]);
const streams = (n, of) => Buffer.concat(Array.from({ length: n }, (_, i) => of(2 * i + 1)));
const NO_WINDOW = Buffer.concat([HELLO.subarray(0, 24), frame(FRAME.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0]))]);

const WIDE_WINDOW = Buffer.concat([
  HELLO.subarray(0, 24),
  frame(FRAME.settings, 0, 0, Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])),
  frame(FRAME.window, 0, 0, Buffer.from([0x7f, 0, 0, 0])),
]);

const UNREAD = 'HTTP/2: 1000 answers that are not read';

const SHAPES = {
  'HTTP/1: a large body with a length': old('POST /livez', 'Content-Length: 15000000\r\n', text(2 * MIB)),
  'HTTP/1: a large body in chunks': old('POST /livez', 'Transfer-Encoding: chunked\r\n', `f00000\r\n${text(2 * MIB)}`),
  'HTTP/1: an upload': old('POST /api/docs/upload', 'Content-Length: 3000000\r\n', text(3 * MIB)),
  'HTTP/1: a head that never ends': old('GET /livez', `X-A: ${text(30_000)}`).subarray(0, -2),
  'HTTP/1: a body that everybody may send': old('POST /ask', 'Content-Length: 49000\r\n', text(48_000)),
  'HTTP/1: such a body in one chunk': old('POST /ask', 'Transfer-Encoding: chunked\r\n', `f00000\r\n${text(48_000)}`),
  'HTTP/1: such a body in small chunks': old('POST /ask', 'Transfer-Encoding: chunked\r\n', '1\r\na\r\n'.repeat(48_000)),
  'HTTP/2: nothing': HELLO,
  'HTTP/2: a large body with a length': Buffer.concat([HELLO, head(1, '/livez', { 'content-length': 3 * MIB }), body(1, 3 * MIB)]),
  'HTTP/2: a large body without': Buffer.concat([HELLO, head(1, '/ask'), body(1, 3 * MIB)]),
  'HTTP/2: a body that everybody may send': Buffer.concat([HELLO, head(1, '/ask', { 'content-length': 49_000 }), body(1, 48_000)]),
  'HTTP/2: such a body without a length': Buffer.concat([HELLO, head(1, '/ask'), body(1, 48_000)]),
  'HTTP/2: such a body in padded frames': Buffer.concat([HELLO, head(1, '/ask'), paddedBody(1, 48_000)]),
  'HTTP/2: three streams with 16 KiB each': Buffer.concat([HELLO, streams(3, (id) => head(id, '/ask')), streams(3, (id) => body(id, 16 * KIB))]),
  'HTTP/2: ten bodies that everybody may send': Buffer.concat([HELLO, streams(10, (id) => head(id, '/ask')), streams(10, (id) => body(id, 48_000))]),
  'HTTP/2: ten such bodies at once': Buffer.concat([
    HELLO,
    streams(10, (id) => head(id, '/ask')),
    ...Array.from({ length: 12 }, () => streams(10, (id) => body(id, 4_000))),
  ]),
  'HTTP/2: ten heads and one such body': Buffer.concat([HELLO, streams(10, (id) => head(id, '/ask')), body(1, 48_000)]),
  'HTTP/2: ten such bodies one after the other': Buffer.concat([HELLO, streams(10, (id) => Buffer.concat([head(id, '/ask'), body(id, 48_000)]))]),
  'HTTP/2: 100 streams with 500 bytes each': Buffer.concat([HELLO, streams(100, (id) => head(id, '/ask')), streams(100, (id) => body(id, 500))]),
  'HTTP/2: a head whose end does not come': Buffer.concat([HELLO, frame(FRAME.headers, 0, 1, Buffer.alloc(16_000)), frame(FRAME.continuation, 0, 1, Buffer.alloc(16_000))]),
  'HTTP/2: 100 answers that find no window': Buffer.concat([NO_WINDOW, streams(100, (id) => get(id, '/livez'))]),
  [UNREAD]: Buffer.concat([WIDE_WINDOW, streams(1000, (id) => get(id, '/handbook'))]),
};

// Over HTTPS with the keys of a connection, and what is being written a second time, encrypted.
const MOST_KIB = process.env.PARLEY_TEST_TLS ? 92 : 64;

// Each shape has a node of its own: what one crowd leaves free would serve the next.
for (const [name, bytes] of Object.entries(SHAPES))
  suite(`200 strangers. ${name}`, { nodes: 1, bin: RELEASE_BIN }, ({ test, cluster }) => {
    const proc = (file) => readFileSync(`/proc/${cluster.nodes[0].child.pid}/${file}`, 'utf8');
    const rss = () => Number(/^VmRSS:\s+(\d+)/m.exec(proc('status'))[1]);

    async function metric(name) {
      const { text } = await cluster.request('GET', '/metrics');
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    }

    // They have sent what the node takes, and have read its answers. Resolves with their sockets.
    async function crowd(n) {
      let answered = 0, last = '';
      const sockets = Array.from({ length: n }, () => connectTo(cluster.nodes[0].url, { alpn: [bytes.indexOf('PRI ') === 0 ? 'h2' : 'http/1.1'] }));
      for (const socket of sockets) {
        socket.on('error', () => {});
        if (name === UNREAD) socket.pause();
        else socket.on('data', (data) => (answered += data.length));
        socket.write(bytes);
      }
      await eventually(
        async () => {
          await cluster.request('GET', '/livez');
          const now = `${answered} ${sockets.reduce((sum, socket) => sum + socket.writableLength, 0)} ${rss()}`;
          const isQuiet = now === last;
          last = now;
          return isQuiet;
        },
        { ms: 60_000, every: 200, what: 'a node that has read the crowd' },
      );
      return sockets;
    }

    async function leave(sockets) {
      for (const socket of sockets) socket.destroy();
      await eventually(async () => (await metric('parley_connections_open')) < 20);
      // Some of the connections that are still open may be strangers'.
      await eventually(async () => (await metric('parley_body_bytes')) === 0, { what: 'nothing is held for them' });
    }

    test('they cost more than 64 KiB each', async () => {
      await leave(await crowd(20));
      const before = rss();
      const sockets = await crowd(200);
      // What they left goes back to the system a second after the last of it.
      let cost;
      await eventually(
        () => {
          cost = (rss() - before) / 200;
          assert.ok(cost <= MOST_KIB, `${cost} KiB each`);
          return true;
        },
        { every: 200, what: `at most ${MOST_KIB} KiB each` },
      );
      await leave(sockets);
      if (process.env.SHOW_RSS) console.log(`${name}: ${cost.toFixed(1)} KiB each`);
    });
  });
