// SPDX-License-Identifier: MIT
//
// stream_memory: what an answer under way, a stream that shows it and an engine's socket take of a node's memory.
//
//   ./dev build release && node tests/bench/stream_memory.mjs [--streams 4000] [--few 800]
//
// `parley bench --mode tokens` has the engines at the first node, with a connection for each question, and the viewers at the second.
// A row: how many streams, the slots of each socket, and the KiB of RSS for one stream that each node grew by while all were open.
// With one slot each stream has a socket of its own; its first node's figure less that of the row below is a socket's.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RELEASE_BIN, runParley, startCluster, startRedis } from '../support/harness.mjs';

const { values } = parseArgs({ options: { streams: { type: 'string', default: '4000' }, few: { type: 'string', default: '800' } } });

const residentKib = ({ child }) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]);

async function measure(streams, slots) {
  const cluster = await startCluster({ bin: RELEASE_BIN, redis: () => startRedis({ aof: true }), args: ['--target', 'broker', '--shards', 1] });
  const before = cluster.nodes.map(residentKib);
  let most = before;
  const watching = setInterval(() => {
    most = cluster.nodes.map(residentKib).map((kib, i) => Math.max(kib, most[i]));
  }, 250);
  try {
    const words = ['--url', cluster.nodes.map((node) => node.url).join(','), '--accounts', cluster.accountsFile, '--tokens', 'on', '--json'];
    const load = ['--mode', 'tokens', '--engine-socket', 'on', '--streams', streams, '--users', streams, '--slots', slots, '--token-rate', '1', '--seconds', '5'];
    const { code, stdout, stderr } = await runParley(['bench', ...words, ...load], { bin: RELEASE_BIN, timeout: 120_000 });
    if (code !== 0) throw new Error(stdout + stderr);
  } finally {
    clearInterval(watching);
    await cluster.stop();
  }
  const [first, second] = most.map((kib, i) => ((kib - before[i]) / streams).toFixed(1).padStart(12));
  console.log(`${streams.padStart(8)} ${slots.padStart(6)} ${first} ${second}`);
}

console.log(' streams  slots  first KiB/str  second KiB/str');
await measure(values.streams, '50');
await measure(values.few, '1');
await measure(values.few, '50');
