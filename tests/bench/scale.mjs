// SPDX-License-Identifier: MIT
//
// scale: what a cycle costs on a Redis Cluster of three masters, by the number of shards and of node processes.
//
//   ./dev build release && node tests/bench/scale.mjs [--shards 1,2,4,8] [--nodes 1,2,4] [--conns 256] [--seconds 4] [--rounds 3] [--tokens on]
//
// Each round runs all combinations, so that what the machine does meanwhile spreads over them; a figure is the median of
// the rounds. Per line: cycles per second of `parley bench`, and per cycle the processor time of all masters, of all nodes
// and of both, in us, with the calls of the function library and the verbs in each. All of it shares this machine's cores:
// more cycles than one core's worth show only where there are more cores. Prints a table; asserts nothing.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { RELEASE_BIN, runParley, startNode, writeAccounts } from '../support/harness.mjs';
import { startRedisCluster } from '../support/topology.mjs';

const { values } = parseArgs({
  options: {
    shards: { type: 'string', default: '1,2,4,8' },
    nodes: { type: 'string', default: '1,2,4' },
    conns: { type: 'string', default: '256' },
    mode: { type: 'string', default: 'split' },
    tokens: { type: 'string', default: 'off' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
  },
});
const numbers = (text) => text.split(',').map(Number);
const TICK_US = 10_000; // of /proc/PID/stat
const WARM_UP_S = 1; // of parley bench

function cpuOf({ child }) {
  const words = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(words[11]) + Number(words[12])) * TICK_US;
}

async function costsOf(masters, nodes) {
  const sums = { redis: 0, nodes: nodes.reduce((sum, node) => sum + cpuOf(node), 0), calls: 0, verbs: 0 };
  for (const master of masters) {
    const { used_cpu_sys_main_thread: sys, used_cpu_user_main_thread: user } = await master.info('cpu');
    sums.redis += (Number(sys) + Number(user)) * 1e6;
    sums.calls += Number(/^calls=(\d+)/.exec((await master.info('commandstats')).cmdstat_fcall ?? 'calls=0')[1]);
  }
  for (const { url } of nodes) {
    const metrics = await (await fetch(`${url}/metrics?Cluster=false`)).text();
    sums.verbs += Number(/^parley_turn_verbs_total (\d+)/m.exec(metrics)[1]);
  }
  return sums;
}

async function measure(shards, nodeCount) {
  const redis = await startRedisCluster({ replicas: 0 });
  const accounts = writeAccounts();
  const nodes = [];
  try {
    for (let i = 0; i < nodeCount; i++) nodes.push(await startNode({ redis, accounts: accounts.path, bin: RELEASE_BIN, args: ['--target', 'broker', '--shards', shards] }));
    const masters = await redis.masters();
    const before = await costsOf(masters, nodes);
    const url = nodes.map((node) => node.url).join(',');
    const words = ['bench', '--url', url, '--accounts', accounts.path, '--mode', values.mode, '--tokens', values.tokens, '--conns', values.conns, '--seconds', values.seconds];
    const { stdout, stderr } = await runParley(words, { bin: RELEASE_BIN, timeout: 120_000 });
    const after = await costsOf(masters, nodes);
    const rate = Number(new RegExp(`^${values.mode} +(\\d+)`, 'm').exec(stdout)?.[1]);
    if (!rate) throw new Error(stdout + stderr);
    const cycles = rate * (Number(values.seconds) + WARM_UP_S);
    const per = Object.fromEntries(Object.keys(before).map((name) => [name, (after[name] - before[name]) / cycles]));
    return { rate, ...per, both: per.redis + per.nodes };
  } finally {
    for (const node of nodes) await node.stop();
    await redis.stop();
    accounts.remove();
  }
}

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
const seen = new Map();
for (let round = 0; round < Number(values.rounds); round++) {
  for (const shards of numbers(values.shards)) {
    for (const nodes of numbers(values.nodes)) {
      const key = `${shards} ${nodes}`;
      seen.set(key, [...(seen.get(key) ?? []), await measure(shards, nodes)]);
    }
  }
}
console.log('shards nodes | cycles/s | per cycle: Redis us  nodes us  both us  calls  verbs');
for (const [key, runs] of seen) {
  const [shards, nodes] = key.split(' ');
  const figure = (name, digits, width) => median(runs.map((run) => run[name])).toFixed(digits).padStart(width);
  console.log(`${shards.padStart(6)} ${nodes.padStart(5)} | ${figure('rate', 0, 8)} | ${figure('redis', 1, 20)} ${figure('nodes', 1, 9)} ${figure('both', 1, 8)} ${figure('calls', 2, 6)} ${figure('verbs', 2, 6)}`);
}
