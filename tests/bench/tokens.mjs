// SPDX-License-Identifier: MIT
//
// tokens: what a token of an answer costs from an engine to those who follow the answer, and how long it takes: Parley, and beside
// it npm's resumable-stream, in the same run.
//
//   ./dev build release && ./dev build release bench_relay && npm ci --ignore-scripts --prefix tests/bench/peers
//   node tests/bench/tokens.mjs [--rounds 5] [--seconds 5] [--streams 50] [--token-rate 50] [--per-piece 1] [--batch 1] [--viewers 1]
//
//   --only NAMES        of `routes`, `socket`, `relay`, `resumable`, `library` (below)
//   --slots N           answers that an engine writes over one socket, with `socket` and `relay` (50)
//   --client ioredis    resumable-stream with that client of Redis instead of `redis`
//   --tokens off        Parley's requests with signatures, a nonce each, instead of login tokens
//
// `routes`: two nodes and `parley bench --mode tokens`, engines at one node and viewers at the other. `socket`: the same with
// `--engine-socket on`. `relay`: the same client as for `socket` with bench_relay.c, one process without Redis that stores nothing and
// checks nobody; it serves one viewer of each answer. `resumable`: two processes of
// Node.js, in one of which engines' answers arrive as HTTP responses, and from the other of which viewers read them as
// server-sent events. `library`: the same without HTTP on either side. Each runs once a round, with a Redis of its own (append-only
// file, everysec) and nothing beside it. Shows medians: tokens per second, delay of a piece from engine to viewer, CPU per 1,000
// tokens delivered, of the two nodes or processes, of Redis, and of both. resumable-stream keeps the text in the memory of the process
// that publishes it and asks nobody who the client is; Parley stores the text, renews a lease and checks a proof with each piece.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { RELEASE_BIN, runParley, startCluster, startRedis } from '../support/harness.mjs';
import { writeAccounts } from '../support/node.mjs';
import { freePort } from '../support/redis.mjs';
import { measureResumable, quantile } from './peers/resumable_stream.mjs';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    streams: { type: 'string', default: '50' },
    'token-rate': { type: 'string', default: '50' },
    'per-piece': { type: 'string', default: '1' },
    batch: { type: 'string', default: '1' },
    viewers: { type: 'string', default: '1' },
    slots: { type: 'string', default: '50' },
    only: { type: 'string', default: 'routes,socket,relay,resumable,library' },
    client: { type: 'string', default: 'redis' },
    tokens: { type: 'string', default: 'on' },
  },
});
const REDIS = { aof: true, args: ['--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0'] };
const SHAPE = ['seconds', 'streams', 'token-rate', 'per-piece', 'batch', 'viewers'];

async function runBench(urls, accounts, ...more) {
  const words = ['bench', '--url', urls.join(','), '--accounts', accounts, '--mode', 'tokens', '--json', '--tokens', values.tokens, '--slots', values.slots, ...more];
  const { code, stdout, stderr } = await runParley([...words, ...SHAPE.flatMap((name) => [`--${name}`, values[name]])], { bin: RELEASE_BIN, timeout: 600_000 });
  if (code !== 0) throw new Error(stdout + stderr);
  const { tokens } = JSON.parse(stdout);
  return { ...tokens, servers: tokens.node_cpu_ms_per_1k, redis: tokens.redis_cpu_ms_per_1k ?? 0 };
}

async function measureParley(...more) {
  const cluster = await startCluster({ bin: RELEASE_BIN, redis: () => startRedis(REDIS), args: ['--target', 'broker', '--shards', 1] });
  try {
    return await runBench(cluster.nodes.map((node) => node.url), cluster.accountsFile, ...more);
  } finally {
    await cluster.stop();
  }
}

async function measureRelay() {
  const port = await freePort();
  const accounts = writeAccounts();
  const relay = spawn(join(dirname(RELEASE_BIN), 'bench_relay'), [port], { stdio: 'inherit' });
  const failed = once(relay, 'error').then(([error]) => Promise.reject(error));
  try {
    return await Promise.race([runBench([`http://127.0.0.1:${port}`], accounts.path, '--engine-socket', 'on'), failed]);
  } finally {
    relay.kill();
    accounts.remove();
  }
}

async function measurePeer(bare) {
  const redis = await startRedis(REDIS);
  const [seconds, streams, rate, perPiece, viewers] = SHAPE.map((name) => Number(values[name]));
  try {
    return await measureResumable(redis, { seconds, streams, rate, perPiece, viewers, client: values.client, bare });
  } finally {
    await redis.stop();
  }
}

const SYSTEMS = { routes: measureParley, socket: () => measureParley('--engine-socket', 'on'), relay: measureRelay, resumable: () => measurePeer(false), library: () => measurePeer(true) };
const names = values.only.split(',');
const runs = Object.fromEntries(names.map((name) => [name, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (let i = 0; i < names.length; i++) {
    const name = names[(i + round) % names.length];
    const figures = await SYSTEMS[name]();
    runs[name].push({ ...figures, both: figures.servers + figures.redis });
  }
}

const COLUMNS = [['sent_per_s', 'sent/s', 0], ['delivered_per_s', 'deliv./s', 0], ['p50_ms', 'p50 ms', 2], ['p99_ms', 'p99 ms', 2], ['max_ms', 'max ms', 2], ['servers', 'servers', 1], ['redis', 'Redis', 1], ['both', 'both', 1], ['unequal', 'unequal', 0]];
const median = (list) => (list.some((value) => value === undefined) ? undefined : quantile([...list].sort((a, b) => a - b), 0.5));
console.log(`${values.streams} streams of ${values['token-rate']} tokens/s, ${values['per-piece']} in each piece, in batches of ${values.batch}, ${values.viewers} viewer(s) each; medians of ${values.rounds}; CPU in ms per 1,000 tokens delivered`);
console.log(['system'.padEnd(10), ...COLUMNS.map(([, head]) => head.padStart(9))].join(''));
for (const [name, list] of Object.entries(runs)) {
  const cells = COLUMNS.map(([key, , digits]) => (median(list.map((run) => run[key]))?.toFixed(digits) ?? '-').padStart(9));
  console.log([name.padEnd(10), ...cells].join(''));
}
