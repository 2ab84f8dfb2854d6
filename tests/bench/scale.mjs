// SPDX-License-Identifier: MIT
//
// scale: what a cycle costs on a Redis Cluster of three masters, or of one master for each shard, by the number of shards and
// of node processes.
//
//   ./dev build release && node tests/bench/scale.mjs [--shards 1,2,4,8] [--nodes 1,2,4] [--conns 256] [--rate 0] [--seconds 4] [--rounds 3]
//
//   --conns N       frontends
//   --masters N     of the Redis Cluster, or `shards`: as many as shards
//   --aof on        masters keep an append-only file (everysec, without rewrites)
//   --engines N     engines. More than --conns: they wait for questions; fewer: questions wait for them
//   --rate N        cycles per second, at most --conns at a time, instead of as many as possible
//   --each WHAT     --conns, --engines and --rate are for each `shard`, each `node` or each `shard,node` (each shard of each
//                   node): a cluster that is larger because more is asked of it
//   --tokens on     requests with tokens instead of signatures
//   --detail        the verbs of a cycle, by name
//
// Each round runs all combinations, so that what the machine does meanwhile spreads over them; of each the cheapest round is
// shown, since other work on the machine only ever adds to it. Per line: cycles per second, and per cycle the processor time
// of all masters, of all nodes and of both, in us, with the calls of the function library and the verbs. Counted while
// `parley bench` runs, without its start and its end. All of it shares this machine's cores: more cycles than one core's worth
// show only where there are more cores. Prints a table; asserts nothing.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { RELEASE_BIN, runParley, startNode, writeAccounts } from '../support/harness.mjs';
import { startRedisCluster } from '../support/topology.mjs';

const { values } = parseArgs({
  options: {
    shards: { type: 'string', default: '1,2,4,8' },
    nodes: { type: 'string', default: '1,2,4' },
    conns: { type: 'string', default: '256' },
    engines: { type: 'string' },
    rate: { type: 'string', default: '0' },
    each: { type: 'string', default: '' },
    masters: { type: 'string', default: '3' },
    aof: { type: 'string', default: 'off' },
    mode: { type: 'string', default: 'split' },
    tokens: { type: 'string', default: 'off' },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    detail: { type: 'boolean', default: false },
  },
});
const each = values.each.split(',').filter(Boolean);
if (!/^(\d+|shards)$/.test(values.masters) || !each.every((what) => ['shard', 'node'].includes(what))) throw new Error('--masters takes a number or shards, --each takes shard, node or shard,node');
const STORING = values.aof === 'on' ? { aof: true, args: ['--appendfsync', 'everysec', '--auto-aof-rewrite-percentage', '0'] } : {};
const numbers = (text) => text.split(',').map(Number);
const TICK_US = 10_000; // of /proc/PID/stat
const WARM_UP_MS = 1000; // of parley bench
const MARGIN_MS = 300; // for its start

function cpuOf({ child }) {
  const words = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(words[11]) + Number(words[12])) * TICK_US;
}

// What everything has used until now. `cycles` are the questions that were answered.
async function usedBy(masters, nodes) {
  const sums = { ms: performance.now(), nodes: nodes.reduce((sum, node) => sum + cpuOf(node), 0), redis: 0, calls: 0, scripts: 0, verbs: 0 };
  const add = (name, n) => (sums[name] = (sums[name] ?? 0) + Number(n));
  const infos = await Promise.all(masters.map(async (master) => ({ ...(await master.info('cpu')), ...(await master.info('commandstats')) })));
  for (const info of infos) {
    add('redis', (Number(info.used_cpu_sys_main_thread) + Number(info.used_cpu_user_main_thread)) * 1e6);
    const [, calls, usec] = /^calls=(\d+),usec=(\d+)/.exec(info.cmdstat_fcall ?? 'calls=0,usec=0');
    add('calls', calls);
    add('scripts', usec);
    for (const [key, text] of Object.entries(info)) if (key.startsWith('cmdstat_')) add(`command ${key.slice(8)}`, /^calls=(\d+)/.exec(text)[1]);
  }
  const pages = await Promise.all(nodes.map(async ({ url }) => (await fetch(`${url}/metrics?Cluster=false`)).text()));
  for (const page of pages) {
    add('verbs', /^parley_turn_verbs_total (\d+)/m.exec(page)[1]);
    for (const [, verb, calls] of page.matchAll(/^parley_verb_calls_total\{verb="(\w+)"[^}]*\} (\d+)/gm)) add(`verb ${verb}`, calls);
  }
  return sums;
}

async function measure(shards, nodeCount) {
  const redis = await startRedisCluster({ masters: values.masters === 'shards' ? shards : Number(values.masters), replicas: 0, ...STORING });
  const accounts = writeAccounts();
  const nodes = [];
  try {
    for (let i = 0; i < nodeCount; i++) nodes.push(await startNode({ redis, accounts: accounts.path, bin: RELEASE_BIN, args: ['--target', 'broker', '--shards', shards] }));
    const masters = await redis.masters();
    const words = ['bench', '--url', nodes.map((node) => node.url).join(','), '--accounts', accounts.path, '--mode', values.mode];
    const times = (each.includes('shard') ? shards : 1) * (each.includes('node') ? nodeCount : 1);
    words.push('--tokens', values.tokens, '--conns', values.conns * times, '--rate', values.rate * times, '--seconds', values.seconds);
    if (values.engines) words.push('--engines', values.engines * times);
    const running = runParley(words, { bin: RELEASE_BIN, timeout: 120_000 });
    await sleep(WARM_UP_MS + MARGIN_MS);
    const before = await usedBy(masters, nodes);
    await sleep(values.seconds * 1000 - 2 * MARGIN_MS);
    const after = await usedBy(masters, nodes);
    const { stdout, stderr, code } = await running;
    if (code !== 0) throw new Error(stdout + stderr);
    const used = (name) => after[name] - (before[name] ?? 0);
    const cycles = used('verb complete');
    const per = Object.fromEntries(Object.keys(after).map((name) => [name, used(name) / cycles]));
    return { ...per, rate: (cycles / used('ms')) * 1000, both: per.redis + per.nodes };
  } finally {
    for (const node of nodes) await node.stop();
    await redis.stop();
    accounts.remove();
  }
}

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
  const [best] = runs.sort((a, b) => a.both - b.both);
  const figure = (name, digits, width) => (best[name] ?? 0).toFixed(digits).padStart(width);
  console.log(`${shards.padStart(6)} ${nodes.padStart(5)} | ${figure('rate', 0, 8)} | ${figure('redis', 1, 20)} ${figure('nodes', 1, 9)} ${figure('both', 1, 8)} ${figure('calls', 2, 6)} ${figure('verbs', 2, 6)}`);
  if (!values.detail) continue;
  const all = (kind) => Object.keys(best).filter((name) => name.startsWith(kind) && best[name] >= 0.01).map((name) => `${name.slice(kind.length + 1)} ${figure(name, 2, 0)}`).join(', ');
  console.log(`        verbs: ${all('verb')}\n        commands: ${all('command')}\n        ${figure('scripts', 1, 0)} us in scripts`);
}
