// SPDX-License-Identifier: MIT
//
// rooms: how long a message takes from its POST to the last of many listeners over two nodes, and what a message costs with
// few and with many rooms.
//
//   ./dev build release && node tests/bench/rooms.mjs [--listeners 500] [--messages 200] [--rooms 1,100,10000] [--rounds 3]
//
// One room has N listeners, half of them on each node. A message is sent when all have the one before. The first table shows
// p50 and p99 of the time from the request to the first and to the last listener, in ms. The second shows what one message
// costs with 1, 100 and 10,000 rooms: messages are sent to rooms in turn, without listeners, 16 at a time, and Redis's and
// the nodes' CPU time is divided by their number. Prints tables; asserts nothing.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { assertOk, RELEASE_BIN, startCluster } from '../support/harness.mjs';
import { newRoom, roomUrl, say } from '../support/rooms.mjs';

const { values } = parseArgs({
  options: {
    listeners: { type: 'string', default: '500' },
    messages: { type: 'string', default: '200' },
    rooms: { type: 'string', default: '1,100,10000' },
    rounds: { type: 'string', default: '3' },
  },
});
const LISTENERS = Number(values.listeners);
const MESSAGES = Number(values.messages);
const AT_ONCE = 16;
const CLOCK_HZ = 100;

const percentile = (sorted, p) => sorted[Math.min(sorted.length - 1, Math.ceil((p / 100) * sorted.length) - 1)];
const show = (values) => [50, 99].map((p) => percentile([...values].sort((x, y) => x - y), p).toFixed(2)).join(' / ');

// User and system time of a process, in ms.
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / CLOCK_HZ;
}

async function listen(cluster, room) {
  const seen = new Map(); // id of a message: when listeners got it
  let waiter = () => {};
  const sockets = await Promise.all(
    Array.from({ length: LISTENERS }, async (_, i) => {
      const socket = new WebSocket(await roomUrl(cluster, room, { as: 'Frontend_1', user: `listener${i}`, node: i % 2 }));
      socket.on('message', (bytes) => {
        const { id } = JSON.parse(bytes.toString());
        const times = seen.get(id) ?? [];
        seen.set(id, [...times, performance.now()]);
        waiter();
      });
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
      return socket;
    }),
  );
  const all = (id) => new Promise((resolve) => {
    waiter = () => (seen.get(id)?.length === LISTENERS ? resolve(seen.get(id)) : undefined);
    waiter();
  });
  return { all, close: () => sockets.forEach((socket) => socket.terminate()) };
}

async function latency(cluster) {
  const room = await newRoom(cluster, { as: 'Frontend_1', user: 'speaker' });
  const { all, close } = await listen(cluster, room);
  const first = [];
  const last = [];
  for (let i = 0; i < MESSAGES; i++) {
    const began = performance.now();
    const { id } = await say(cluster, room, `Message ${i}`, { as: 'Frontend_1', user: 'speaker', node: i % 2 });
    const times = await all(id);
    first.push(Math.min(...times) - began);
    last.push(Math.max(...times) - began);
  }
  close();
  return { first, last };
}

async function cost(cluster, count) {
  const rooms = [];
  while (rooms.length < count) {
    const n = Math.min(AT_ONCE, count - rooms.length);
    rooms.push(...(await Promise.all(Array.from({ length: n }, () => newRoom(cluster, { as: 'Frontend_1', user: 'speaker' })))));
  }
  const [, redisPid] = /process_id:(\d+)/.exec(await cluster.redis.cmd('INFO', 'server'));
  const pids = { redis: [redisPid], nodes: cluster.nodes.map(({ child }) => child.pid) };
  const used = (which) => pids[which].reduce((sum, pid) => sum + cpuMs(pid), 0);
  const before = { redis: used('redis'), nodes: used('nodes') };
  const began = performance.now();
  const sent = MESSAGES * AT_ONCE;
  for (let i = 0; i < sent; i += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, k) => say(cluster, rooms[(i + k) % count], 'A message.', { as: 'Frontend_1', user: 'speaker' })));
  const ms = performance.now() - began;
  return { us: (ms * 1000) / sent, redis: ((used('redis') - before.redis) * 1000) / sent, nodes: ((used('nodes') - before.nodes) * 1000) / sent };
}

async function withCluster(measure) {
  const cluster = await startCluster({ bin: RELEASE_BIN });
  try {
    assertOk(await cluster.request('GET', '/api/login', { as: 'Frontend_1' }));
    return await measure(cluster);
  } finally {
    await cluster.stop();
  }
}

console.log(`${LISTENERS} listeners over two nodes, ${MESSAGES} messages: p50 / p99 in ms`);
for (let round = 1; round <= Number(values.rounds); round++) {
  const { first, last } = await withCluster(latency);
  console.log(`round ${round}: first listener ${show(first)}, last listener ${show(last)}`);
}
console.log('\nrooms    us per message    CPU us of Redis    CPU us of both nodes');
for (const count of values.rooms.split(',').map(Number)) {
  const { us, redis, nodes } = await withCluster((cluster) => cost(cluster, count));
  console.log(`${String(count).padStart(5)} ${us.toFixed(0).padStart(17)} ${redis.toFixed(0).padStart(18)} ${nodes.toFixed(0).padStart(23)}`);
}
