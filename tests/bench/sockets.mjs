// SPDX-License-Identifier: MIT
//
// sockets: what an open WebSocket costs a node in memory, beside a parked poll.
//
//   ./dev build release && node tests/bench/sockets.mjs [--path /ws/indexing] [--n 2000] [--rounds 3]
//
// Each round starts two nodes on one Redis, opens N parked polls on the first and N WebSockets on the second, and compares the
// resident memory of /proc before and after. A node serves a request of the kind first, so that what it needs once does not
// count. Sockets are measured when they are open, and again after a ping and its pong. wslay allocates two buffers of 4 KiB for
// each socket: the table also shows the cost without them. Prints a table; asserts nothing.
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { parseArgs } from 'node:util';
import { eventually, RELEASE_BIN, sign, startCluster } from '../support/harness.mjs';

const { values } = parseArgs({
  options: { path: { type: 'string', default: '/ws/indexing' }, n: { type: 'string', default: '2000' }, rounds: { type: 'string', default: '3' } },
});
const N = Number(values.n);
const WSLAY_BYTES = 2 * 4096;
const USERS = Math.ceil(N / 50); // one owner may have 64 sockets that watch indexing
const AT_ONCE = 100;
const PINGED_MS = 25_000;
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

const resident = (node) => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${node.child.pid}/status`, 'utf8'))[1]) * 1024;

// Resident memory that has not moved for a second.
async function settled(node) {
  let last = 0;
  let since = Date.now();
  return eventually(
    () => {
      const now = resident(node);
      if (now !== last) [last, since] = [now, Date.now()];
      return Date.now() - since > 1000 && now;
    },
    { what: 'memory that rests' },
  );
}

function open(node, head, onData) {
  const { hostname, port } = new URL(node.url);
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), hostname, () => socket.write(head));
    socket.on('error', reject);
    onData(socket, resolve, reject);
  });
}

function openPoll(node, i) {
  const query = new URLSearchParams({ ...sign('Inference_1', cluster.accounts.Inference_1.secret), Wait: '120', Engine: `e${i}` });
  return open(node, `GET /api/get-new-queries?${query} HTTP/1.1\r\nHost: x\r\n\r\n`, (socket, resolve, reject) => {
    socket.on('data', (bytes) => reject(new Error(`a poll was answered: ${bytes}`)));
    resolve(socket);
  });
}

function openWebSocket(node, i, token) {
  const query = new URLSearchParams({ token, OnBehalfOf: `user${i % USERS}` });
  const head =
    `GET ${values.path}?${query} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
  return open(node, head, (socket, resolve, reject) => {
    let text = '';
    socket.on('data', (bytes) => {
      if (bytes.equals(Buffer.from([0x89, 0]))) socket.write(PONG);
      if (text.includes('\r\n\r\n')) return;
      text += bytes.toString('latin1');
      if (!text.includes('\r\n\r\n')) return;
      if (text.startsWith('HTTP/1.1 101 ')) resolve(socket);
      else reject(new Error(text));
    });
  });
}

async function measure(node, openOne, count) {
  const sockets = [await openOne(node, 0)];
  const before = await settled(node);
  while (sockets.length <= N) {
    const more = Array.from({ length: Math.min(AT_ONCE, N + 1 - sockets.length) }, (_, i) => openOne(node, sockets.length + i));
    sockets.push(...(await Promise.all(more)));
  }
  await eventually(async () => (await count()) > N, { what: 'all are open' });
  const each = async () => ((await settled(node)) - before) / N;
  return { sockets, each, atOnce: await each() };
}

const metric = async (node, name) => Number(new RegExp(`^${name} (\\d+)`, 'm').exec((await cluster.request('GET', '/metrics', { node })).text)[1]);
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];

const cluster = await startCluster({ nodes: 0, bin: RELEASE_BIN });
const rows = [];
try {
  for (let round = 0; round < Number(values.rounds); round++) {
    const [one, other] = [await cluster.startNode(), await cluster.startNode()];
    const polls = await measure(one, openPoll, () => metric(one, 'parley_polls_parked'));
    const token = (await cluster.request('GET', '/api/login', { as: 'Frontend_1', node: other })).json.Token;
    const opened = await measure(other, (node, i) => openWebSocket(node, i, token), () => metric(other, 'parley_websockets_open'));
    await new Promise((resolve) => setTimeout(resolve, PINGED_MS));
    rows.push({ poll: polls.atOnce, socket: opened.atOnce, pinged: await opened.each() });
    for (const socket of [...polls.sockets, ...opened.sockets]) socket.destroy();
    await Promise.all([one.stop(), other.stop()]);
    console.log(JSON.stringify(rows.at(-1)));
  }
} finally {
  await cluster.stop();
}
const [poll, socket, pinged] = ['poll', 'socket', 'pinged'].map((name) => median(rows.map((row) => row[name])));
console.log(`${N} of each, medians of ${rows.length}, bytes:`);
console.log(`  a parked poll              ${Math.round(poll)}`);
console.log(`  a socket at ${values.path}  ${Math.round(socket)}`);
console.log(`  - after a ping             ${Math.round(pinged)}`);
console.log(`  - without wslay's buffers  ${Math.round(pinged - WSLAY_BYTES)}: ${((pinged - WSLAY_BYTES) / poll).toFixed(2)} of a poll`);
