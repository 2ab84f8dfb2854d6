// SPDX-License-Identifier: MIT
//
// size: figures of docs/operations/scale.md that no other bench measures: what waits and what is stored, rather than what is done.
//
//   ./dev build release && node tests/bench/size.mjs [--only stored,idle,engines,viewers,connections,network] [--n 2000] [--seconds 10]
//
//   stored        bytes of Redis for a question with its answer, and for each byte of them, from two sizes
//   idle          processor time in a second of an idle node's thread, by the number of shards, of the node and of Redis
//   engines       processor time in a second of an engine that waits at a socket, and of a parked poll
//   viewers       processor time of a token for each further client that follows its answer
//   connections   memory of a client's idle connection, and of Redis for a node's; how many a thread has to each shard
//   network       bytes that a cycle and a token take between clients and nodes, and between nodes and Redis. Counted at the
//                 loopback interface: in a network of its own (`unshare --net`, with `lo` up) other programs do not count
//
// Prints a line of JSON for each; asserts nothing. Processor time is of /proc, so that of an idle node needs `--seconds` to be long.
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { RELEASE_BIN, runParley, startCluster, startRedis } from '../support/harness.mjs';
import { openEngine, tokenOf } from '../support/engine_socket.mjs';

const { values } = parseArgs({ options: { only: { type: 'string', default: 'stored,idle,engines,viewers,connections,network' }, n: { type: 'string', default: '2000' }, seconds: { type: 'string', default: '10' } } });
const N = Number(values.n);
const POLLS = 200;
const MS = Number(values.seconds) * 1000;
const TICK_US = 10_000; // of /proc/PID/stat

const residentBytes = ({ child }) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) * 1024;
const nodeUs = (nodes) =>
  nodes.reduce((sum, { child }) => {
    const words = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return sum + (Number(words[11]) + Number(words[12])) * TICK_US;
  }, 0);
const redisUs = async (redis) => {
  const cpu = await redis.info('cpu');
  return (Number(cpu.used_cpu_sys_main_thread) + Number(cpu.used_cpu_user_main_thread)) * 1e6;
};
const memoryOf = async (redis) => Number((await redis.info('memory')).used_memory);
const bytesOf = async (redis) => {
  const stats = await redis.info('stats');
  return Number(stats.total_net_input_bytes) + Number(stats.total_net_output_bytes);
};
const loopback = () => Number(/^ *lo: *(\d+)/m.exec(readFileSync('/proc/self/net/dev', 'utf8'))[1]);
const show = (name, figures) => console.log(JSON.stringify({ name, ...Object.fromEntries(Object.entries(figures).map(([key, n]) => [key, Number(n.toPrecision(3))])) }));

async function withCluster({ nodes = 1, shards = 1, args = [], aof = true }, run) {
  const cluster = await startCluster({ nodes, bin: RELEASE_BIN, redis: () => startRedis({ aof }), args: ['--target', 'broker', '--shards', shards, ...args] });
  try {
    return await run(cluster);
  } finally {
    await cluster.stop();
  }
}

async function bench(cluster, ...words) {
  const all = ['bench', '--url', cluster.nodes.map(({ url }) => url).join(','), '--accounts', cluster.accountsFile, '--json', '--tokens', 'on', ...words];
  const { code, stdout, stderr } = await runParley(all, { bin: RELEASE_BIN, timeout: 240_000 });
  if (code !== 0) throw new Error(stdout + stderr);
  return JSON.parse(stdout);
}

// Processor time in a second of what does nothing but wait.
async function resting(cluster) {
  await sleep(2000);
  const before = [nodeUs(cluster.nodes), await redisUs(cluster.redis)];
  await sleep(MS);
  return [(nodeUs(cluster.nodes) - before[0]) / (MS / 1000), ((await redisUs(cluster.redis)) - before[1]) / (MS / 1000)];
}

const stored = async (query, answer) =>
  withCluster({}, async (cluster) => {
    await bench(cluster, '--mode', 'split', '--seconds', 1, '--query-bytes', query, '--answer-bytes', answer); // what is there once
    const before = await memoryOf(cluster.redis);
    const count = async () => Number(/^parley_verb_calls_total\{verb="complete"[^}]*\} (\d+)/m.exec((await cluster.request('GET', '/metrics?Cluster=false')).text)?.[1] ?? NaN);
    const done = await count();
    await bench(cluster, '--mode', 'split', '--seconds', 5, '--query-bytes', query, '--answer-bytes', answer);
    await sleep(1000);
    return ((await memoryOf(cluster.redis)) - before) / ((await count()) - done);
  });

const MEASURES = {
  async stored() {
    const [small, large] = [await stored(300, 600), await stored(1000, 4000)];
    const perByte = (large - small) / 4100;
    show('stored', { bytes_of_900: small, bytes_of_5000: large, per_question: small - 900 * perByte, per_byte: perByte });
  },

  async idle() {
    for (const shards of [1, 8, 32]) show(`idle, ${shards} shards`, await withCluster({ shards }, async (cluster) => Object.fromEntries((await resting(cluster)).map((us, i) => [['node_us', 'redis_us'][i], us]))));
  },

  async engines() {
    const empty = await withCluster({}, resting);
    await withCluster({}, async (cluster) => {
      const open = async (i) => openEngine(cluster, { engine: `e${i}`, slots: 1, token });
      const token = await tokenOf(cluster, 'Inference_1');
      const sockets = [await open(0)];
      await sleep(2000);
      const before = residentBytes(cluster.nodes[0]);
      while (sockets.length <= N) sockets.push(await open(sockets.length));
      const [node, redis] = await resting(cluster);
      show("an engine's socket", { bytes: (residentBytes(cluster.nodes[0]) - before) / N, node_us: (node - empty[0]) / N, redis_us: (redis - empty[1]) / N });
      await Promise.all(sockets.map((socket) => socket.close()));
    });
    // A parked poll costs nothing until it ends: these end every two seconds, those of engines every hundred.
    await withCluster({}, async (cluster) => {
      const headers = { Authorization: `Bearer ${await tokenOf(cluster, 'Inference_1')}` };
      let isOver = false;
      let n = 0;
      const polling = Array.from({ length: POLLS }, async (_, i) => {
        for (; !isOver; n++) await cluster.request('GET', '/api/get-new-queries', { query: { Wait: 2, Engine: `e${i}` }, headers });
      });
      await sleep(4000);
      const from = n;
      const [node, redis] = await resting(cluster);
      const each = (n - from) / (MS / 1000 + 2);
      show('a parked poll', { node_us: (node - empty[0]) / each / 100, redis_us: (redis - empty[1]) / each / 100 });
      isOver = true;
      await Promise.all(polling);
    });
  },

  async viewers() {
    const words = ['--mode', 'tokens', '--engine-socket', 'on', '--streams', 100, '--token-rate', 20, '--seconds', 5];
    const seen = {};
    for (const viewers of [1, 4])
      await withCluster({ nodes: 2 }, async (cluster) => {
        const { tokens } = await bench(cluster, ...words, '--viewers', viewers);
        seen[viewers] = tokens.node_cpu_ms_per_1k * viewers; // per token that an engine writes
        show(`${viewers} viewers`, { node_us: tokens.node_cpu_ms_per_1k, redis_us: tokens.redis_cpu_ms_per_1k });
      });
    show('a further viewer', { node_us: (seen[4] - seen[1]) / 3 });
  },

  async connections() {
    for (const [threads, shards] of [[1, 1], [1, 8], [2, 8]])
      await withCluster({ shards, args: ['--threads', threads] }, async (cluster) => {
        await sleep(2000);
        const clients = await cluster.redis.cmd('CLIENT', 'LIST');
        const lines = String(clients).split('\n').filter((line) => !/ cmd=client/.test(line) && line);
        show(`connections to Redis, ${threads} threads, ${shards} shards`, { n: lines.length, bytes: lines.reduce((sum, line) => sum + Number(/tot-mem=(\d+)/.exec(line)[1]), 0) / lines.length });
      });
    await withCluster({ args: ['--idle-seconds', 120] }, async (cluster) => {
      const { hostname, port } = new URL(cluster.nodes[0].url);
      const open = () =>
        new Promise((resolve, reject) => {
          const socket = net.connect(Number(port), hostname, () => socket.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n'));
          socket.once('data', () => resolve(socket)).once('error', reject);
        });
      const sockets = [await open()];
      const before = residentBytes(cluster.nodes[0]);
      while (sockets.length < N) sockets.push(...(await Promise.all(Array.from({ length: 100 }, open))));
      show('an idle connection', { bytes: (residentBytes(cluster.nodes[0]) - before) / N });
      for (const socket of sockets) socket.destroy();
    });
  },

  async network() {
    // Of a longer run less those of a shorter one, which has the same beginning and end.
    const measured = async (nodes, count, ...words) => {
      const seen = [];
      for (const seconds of [2, 8])
        await withCluster({ nodes }, async (cluster) => {
          const before = [loopback(), await bytesOf(cluster.redis)];
          const n = count(await bench(cluster, '--seconds', seconds, '--engine-socket', 'on', ...words));
          const redis = (await bytesOf(cluster.redis)) - before[1];
          seen.push([n, loopback() - before[0] - redis, redis]);
        });
      const [n, clients, redis] = seen[1].map((value, i) => value - seen[0][i]);
      return { clients: clients / n, redis: redis / n };
    };
    show('bytes of a cycle with 900 of texts', await measured(1, ({ compact }) => compact.cycles, '--mode', 'compact'));
    show('bytes of a token', await measured(2, ({ tokens }) => tokens.sent, '--mode', 'tokens', '--streams', 100, '--token-rate', 20));
  },
};
for (const name of values.only.split(',')) await MEASURES[name]();
