// SPDX-License-Identifier: MIT
//
// unread: what clients cost that ask for a long answer, all at once, and do not read it: how long the longest call takes
// Redis, which everybody else waits for, and what Redis, the node and the kernel grow by.
//
//   ./dev build release && PARLEY_BIN=build/release/parley node tests/bench/unread.mjs [CLIENTS] [PROGRAM…]
//
// Each PROGRAM in turn (PARLEY_BIN without one), with a Redis and a node of its own: CLIENTS (1,000) connections ask for one
// answer of 1 MB; after 20 s all of them read. Prints a table; asserts nothing.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, newTopic } from '../support/harness.mjs';
import { BIN } from '../support/node.mjs';
import { connectTo } from '../support/tls.mjs';

const LENGTH = 1_000_000;
const WAIT_MS = 20_000;
const LOOK_MS = 5;
const [clients = '1000', ...programs] = process.argv.slice(2);

const rssMib = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024;
const kernelMib = () => (Number(/^TCP: .* mem (\d+)/m.exec(readFileSync('/proc/net/sockstat', 'utf8'))[1]) * 4) / 1024;

// The largest values of what is looked at until `stop` is called.
function watch(looks) {
  const most = {};
  let isOver = false;
  const look = async () => {
    while (!isOver) {
      for (const [name, value] of Object.entries(looks)) most[name] = Math.max(most[name] ?? 0, await value());
      await sleep(LOOK_MS);
    }
  };
  const end = look();
  return async () => {
    isOver = true;
    await end;
    return most;
  };
}

// Reads to the end of the connection.
async function statusOf(socket) {
  let first;
  socket.on('data', (chunk) => (first ??= chunk.toString('utf8', 0, 12)));
  await new Promise((resolve) => socket.on('close', resolve));
  return first?.slice(9) ?? 'closed';
}

async function measure(bin) {
  const cluster = new Cluster({ nodes: 0 });
  await cluster.start();
  try {
    const { redis } = cluster;
    const node = await cluster.startNode({ bin, args: ['--threads=1'] });
    const { Topic } = await cluster.add({ Topic: newTopic() });
    await cluster.claim();
    await cluster.answer({ Topic, Seq: 1, Answer: ['a'.repeat(LENGTH)] });
    const pids = { Redis: Number((await redis.info('server')).process_id), 'the node': node.child.pid };
    const before = { Redis: rssMib(pids.Redis), 'the node': rssMib(pids['the node']), 'the kernel': kernelMib() };
    const paths = Array.from({ length: clients }, () => cluster.path('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1, Wait: 0 } }));
    const sockets = await Promise.all(
      paths.map(() => new Promise((resolve) => {
        const socket = connectTo(node.url);
        socket.on('error', () => {});
        socket.on('connect', () => resolve(socket));
      })),
    );
    await redis.cmd('SLOWLOG', 'RESET');
    await redis.cmd('CONFIG', 'SET', 'slowlog-log-slower-than', '1000', 'slowlog-max-len', '100000');
    const stop = watch({
      PING: async () => {
        const begin = performance.now();
        await redis.cmd('PING');
        return performance.now() - begin;
      },
      Redis: () => rssMib(pids.Redis),
      'the node': () => rssMib(pids['the node']),
      'the kernel': kernelMib,
    });
    sockets.forEach((socket, i) => socket.write(`GET ${paths[i]} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
    await sleep(WAIT_MS);
    const most = await stop();
    const calls = (await redis.cmd('SLOWLOG', 'GET', '-1')).map(([, , us]) => Number(us) / 1000);
    const statuses = {};
    for (const status of await Promise.all(sockets.map(statusOf))) statuses[status] = (statuses[status] ?? 0) + 1;
    const grown = (name) => (most[name] - before[name]).toFixed(0);
    return {
      'longest call, ms': Math.max(...calls).toFixed(1), 'longest PING, ms': most.PING.toFixed(0), 'Redis, MiB': grown('Redis'), 'node, MiB': grown('the node'),
      'kernel, MiB': grown('the kernel'), 'then read': Object.entries(statuses).map(([status, n]) => `${n} × ${status}`).join(', '),
    };
  } finally {
    await cluster.stop();
  }
}

const table = {};
for (const [i, bin] of (programs.length ? programs : [BIN]).entries()) table[`${i} ${bin}`] = await measure(bin);
console.table(table);
