// SPDX-License-Identifier: MIT
//
// /ws as a WebSocket, on two nodes: npm ws as its client, and a crowd of raw peers that mean it harm. What RFC 6455 says about
// frames is in tests/unit/test_websocket_rfc.c.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import WebSocket from 'ws';
import { ACCOUNTS, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { isOver, newId, openWorkflow, withAgents, yes } from '../support/workflow.mjs';

const MESSAGE_MAX = 256 * 1024;
const CROWD = 1000;
const accounts = { ...ACCOUNTS, Slow: { secret: 'slow-secret', role: 'user', max_rate: 20 } };
const head = (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`;

// A masked frame, with a mask of zeros.
function frame(first, payload = Buffer.alloc(0)) {
  const n = payload.length;
  const length = n < 126 ? [0x80 | n] : n < 65536 ? [0xfe, n >> 8, n & 255] : [0xff, 0, 0, 0, 0, n >>> 24, (n >> 16) & 255, (n >> 8) & 255, n & 255];
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), payload]);
}

suite('/ws', { accounts, args: ['--drain-seconds', '5'] }, ({ test, cluster }) => {
  const tokenOf = async (as = 'User_1') => assertOk(await cluster.request('GET', '/api/login', { as })).Token;
  const metric = async (node, name) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec((await cluster.request('GET', '/metrics', { node })).text)[1]);

  // npm ws: {socket, next()} with the frames parsed.
  async function open({ node = 0, token } = {}) {
    const socket = new WebSocket(`${cluster.pick(node).url.replace('http', 'ws')}/ws?token=${token ?? (await tokenOf())}`, { perMessageDeflate: true });
    const frames = [];
    const wakers = [];
    socket.on('message', (bytes) => {
      frames.push(JSON.parse(bytes));
      wakers.shift()?.();
    });
    await once(socket, 'open');
    assert.equal(socket.extensions, '');
    const next = async () => {
      while (frames.length === 0) await new Promise((resolve) => wakers.push(resolve));
      return frames.shift();
    };
    return { socket, next };
  }

  const closedWith = async (socket, code) => assert.equal((await once(socket, 'close'))[0], code);

  test('a message of 256 KiB is read, in one frame and in a thousand; a byte more closes with 1009', async () => {
    const { socket, next } = await open();
    const text = JSON.stringify({ type: 'request', session_id: 's', request_id: 'r', verb: 'NOPE', messageBody: {}, ignored: '' });
    const whole = text.replace('"ignored":""', `"ignored":"${'x'.repeat(MESSAGE_MAX - text.length)}"`);
    socket.send(whole);
    assert.match((await next()).reason, /NOPE/);
    for (let at = 0; at < MESSAGE_MAX; at += 256) socket.send(whole.slice(at, at + 256), { fin: at + 256 >= MESSAGE_MAX });
    assert.match((await next()).reason, /NOPE/);
    socket.send('again, and the connection is still there');
    assert.match((await next()).reason, /JSON/);
    socket.send(`${whole} `);
    await closedWith(socket, 1009);
    const { socket: other } = await open({ node: 1 });
    other.send(whole, { fin: false });
    other.send(' ', { fin: true });
    await closedWith(other, 1009);
  });

  test('pings are answered, binary messages close with 1003, a close is echoed with its code', async () => {
    const { socket } = await open();
    socket.ping('are you there?');
    assert.equal(String((await once(socket, 'pong'))[0]), 'are you there?');
    socket.close(4321, 'enough');
    await closedWith(socket, 4321);
    const { socket: binary } = await open();
    binary.send(Buffer.from('{}'));
    await closedWith(binary, 1003);
  });

  test('SIGTERM closes a socket that waits for nothing at once, and one whose run continues when it has ended', async () => {
    const node = await cluster.startNode();
    cluster.nodes.pop(); // the engine of this test and its requests go to the others
    const token = await tokenOf();
    const idle = await open({ node, token });
    await withAgents(cluster, { 'model.Capo': [yes()], 'model.verifyRequest': [yes()] }, async () => {
      const busy = await open({ node, token });
      const [session, request] = [newId('s'), newId('r')];
      busy.socket.send(JSON.stringify({ type: 'request', session_id: session, request_id: request, verb: 'RULE', messageBody: { raw_text: 'run Show patterns' } }));
      const first = await busy.next();
      assert.equal(first.seq, 1, first.reason);
      node.signal('SIGTERM');
      await Promise.all([closedWith(idle.socket, 1001), closedWith(busy.socket, 1001)]);
      // Another node has the run, and knows each step.
      const other = await openWorkflow(cluster, { node: 0 });
      other.resume(session, request, 0);
      assert.equal((await other.next()).seq, 1);
      await other.close();
    });
    await node.stop();
  });

  test('an account has a share of a node\'s connections as sockets: past it 429, and others still get in', async () => {
    const node = await cluster.startNode({ limits: ['--nofile=240'] });
    cluster.nodes.pop();
    const token = await tokenOf();
    const sockets = [];
    let refused;
    while (!refused && sockets.length < 240) {
      const socket = new WebSocket(`${node.url.replace('http', 'ws')}/ws?token=${token}`);
      const [event, response] = await Promise.race([
        once(socket, 'open').then(() => ['open']),
        once(socket, 'unexpected-response').then(([request, answer]) => (request.destroy(), ['refused', answer])),
      ]);
      if (event === 'open') sockets.push(socket);
      else refused = response;
    }
    assert.equal(refused.statusCode, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    assert.ok(sockets.length > 10, `${sockets.length} sockets`);
    const { socket: guest } = await open({ node, token: await tokenOf('User_2') });
    guest.terminate();
    sockets.pop().close();
    const again = await eventually(async () => {
      const socket = new WebSocket(`${node.url.replace('http', 'ws')}/ws?token=${token}`);
      await once(socket, 'open');
      return socket;
    });
    for (const socket of [...sockets, again]) socket.terminate();
    await node.stop();
  });

  test('messages count against max_rate: a socket that is too fast is read later, and loses nothing', async () => {
    const token = await tokenOf('Slow');
    const { socket, next } = await open({ token });
    for (let i = 0; i < 60; i++) socket.send(JSON.stringify({ type: 'resume', session_id: 's', request_id: `none-${i}`, since: 0 }));
    const statuses = [];
    for (let i = 0; i < 60; i++) {
      const { type, request_id } = await next();
      assert.deepEqual([type, request_id], ['error', `none-${i}`]);
      // Its requests over HTTP count towards the same rate. Several at once: sequential ones may stay below what is left of it.
      if (statuses.includes(429)) continue;
      const some = await Promise.all(Array.from({ length: 10 }, () => cluster.request('GET', '/api/me', { as: 'Slow', node: 0 })));
      statuses.push(...some.map(({ status }) => status));
    }
    assert.ok(statuses.includes(429), `${statuses}`);
    socket.terminate();
  });

  // What each of a crowd sends, `n` of all; the connection is left open unless it says so.
  const HARM = {
    garbage: (socket, path) => socket.write(Buffer.concat([Buffer.from(head(path)), Buffer.from(Array.from({ length: 500 }, (_, i) => (i * 73) & 255))])),
    'half a frame': (socket, path) => socket.write(Buffer.concat([Buffer.from(head(path)), frame(0x81, Buffer.alloc(MESSAGE_MAX, 'x')).subarray(0, 70_000)])),
    'a message without an end': (socket, path) => socket.write(Buffer.concat([Buffer.from(head(path)), frame(0x01, Buffer.from('{"type":')), frame(0x00, Buffer.alloc(1000, ' '))])),
    '256 KiB at once, and again': (socket, path) => socket.write(Buffer.concat([Buffer.from(head(path)), ...Array.from({ length: 4 }, () => frame(0x81, Buffer.alloc(MESSAGE_MAX, 'x')))])),
    'many requests, and no reading': (socket, path) => {
      socket.pause();
      const text = Buffer.from(JSON.stringify({ type: 'request', session_id: 's', request_id: 'r', verb: 'x'.repeat(64), messageBody: { x: 'x'.repeat(1000) } }));
      socket.write(Buffer.concat([Buffer.from(head(path)), ...Array.from({ length: 100 }, () => frame(0x81, text))]));
    },
    'pings, and no reading': (socket, path) => {
      socket.pause();
      socket.write(Buffer.concat([Buffer.from(head(path)), ...Array.from({ length: 2000 }, () => frame(0x89, Buffer.alloc(125)))]));
    },
    'fragments of nothing': (socket, path) => socket.write(Buffer.concat([Buffer.from(head(path)), frame(0x01), ...Array.from({ length: 5000 }, () => frame(0x00))])),
    'half a handshake': (socket, path) => socket.write(head(path).slice(0, 80)),
    'gone in the handshake': (socket, path) => socket.write(head(path), () => socket.resetAndDestroy()),
    'gone in a frame': (socket, path) => socket.write(Buffer.concat([Buffer.from(head(path)), frame(0x81, Buffer.alloc(1000)).subarray(0, 500)]), () => socket.end()),
  };

  test(`${CROWD} peers that send garbage, half frames, too much, or leave: others are served, and nothing is left of them`, async () => {
    const node = await cluster.startNode();
    cluster.nodes.pop();
    const path = `/ws?token=${await tokenOf('User_2')}`;
    const { hostname, port } = new URL(node.url);
    const before = await metric(node, 'parley_websockets_open');
    const crowd = [];
    const kinds = Object.values(HARM);
    for (let i = 0; i < CROWD; i++) {
      const socket = net.connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.on('data', () => {});
      crowd.push(socket);
      once(socket, 'connect').then(() => kinds[i % kinds.length](socket, path), () => {});
      if (i % 100 === 99) await metric(node, 'parley_websockets_open'); // it still answers
    }
    const guest = new WebSocket(`${node.url.replace('http', 'ws')}/ws?token=${await tokenOf()}`);
    await once(guest, 'open');
    for (let i = 0; i < 20; i++) {
      guest.ping(String(i));
      assert.equal(String((await once(guest, 'pong'))[0]), String(i));
    }
    for (const socket of crowd) socket.destroy();
    guest.terminate();
    await eventually(async () => (await metric(node, 'parley_websockets_open')) === before, { ms: 60_000, what: 'all sockets of the crowd are gone' });
    await eventually(async () => (await metric(node, 'parley_body_bytes')) === 0, { ms: 60_000, what: 'no memory is held for their messages' });
    const { socket, next } = await open({ node });
    socket.send('{}');
    assert.equal((await next()).type, 'error');
    socket.terminate();
    assertProblem(await cluster.request('GET', '/ws?token=nobody', { node }), 401);
    await node.stop();
  });
});
