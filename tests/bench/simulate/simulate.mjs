// SPDX-License-Identifier: MIT
//
// simulate: how what nodes ask of Redis grows with nodes and shards, and what happens when some fail. Virtual nodes (node.mjs) make the
// calls that real ones make, by the real scripts on real Redis servers; a simulated second may take several real ones.
//
//   node tests/bench/simulate/simulate.mjs growth --nodes 100 --shards 64 --slow 2 [--unpaced]
//   node tests/bench/simulate/simulate.mjs real --nodes 4 --shards 8
//   node tests/bench/simulate/simulate.mjs failure --failure 1 --nodes 1000 --shards 64 --slow 4
//
//   --nodes N, --shards N   --engines N   20 for each node   --rate N   questions a simulated second
//   --servers N             Redis servers over which shards are spread
//   --slow N                real seconds for a simulated one
//   --unpaced               each node syncs each shard once a second, as before ADR 101
//   --failure N             which, of failures.mjs, from 0
//   --idle S, --load S      simulated seconds that are measured
//
// Prints one line of JSON, which report.mjs reads; asserts nothing. `real` runs real nodes and the same number of virtual ones under the
// same load.
import { parseArgs } from 'node:util';
import { check } from '../../cluster/chaos_checker.mjs';
import { FAILURES } from './failures.mjs';
import { Load } from './load.mjs';
import { withRealNodes } from './real.mjs';
import { World } from './world.mjs';

const number = (value) => ({ type: 'string', default: String(value) });
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    nodes: number(8), shards: number(8), engines: { type: 'string' }, rate: number(20), servers: number(1), slow: number(1), failure: number(0), idle: number(6), load: number(6),
    unpaced: { type: 'boolean', default: false },
  },
});
const options = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? Number(value) : value]));
options.engines ??= 20 * options.nodes;
options.answerMs = 300;
const SECOND_MS = 1000;
const UP_MS = 2500; // until nodes have synced and know how many they are
// Between two syncs of a node, as lua/queue/pace.lua has it. After something that makes all nodes sync, each has its own time again
// when one and a half of it have passed.
const PACE_MS = options.unpaced ? 1000 : Math.max(1000, Math.min(15_000, options.nodes * 125));
const DRAIN_MS = 60_000;

const worldOf = () => new World({ ...options, isPaced: !options.unpaced }).start();

// Idle nodes, then the same with engines that wait, then under load.
async function measure({ read, pass, startEngines, onSteady, load }) {
  const span = async (body) => {
    const before = await read();
    const result = await body();
    return [World.between(before, await read()), result];
  };
  const spanMs = Math.max(options.idle * SECOND_MS, PACE_MS);
  await pass(UP_MS + 1.5 * PACE_MS);
  const [idle] = await span(() => pass(spanMs));
  await startEngines();
  await pass(UP_MS + 1.5 * PACE_MS);
  onSteady?.();
  const [waiting] = await span(() => pass(spanMs));
  const [loaded, asked] = await span(() => load(options.load * SECOND_MS));
  await Promise.all(asked ?? []);
  return { idle, waiting, loaded };
}

async function growth() {
  const world = await worldOf();
  const load = new Load(world, options);
  const spans = await measure({
    read: () => world.read(),
    pass: (ms) => world.clock.pass(ms),
    startEngines: async () => {
      load.start();
      await world.clock.pass(1500);
    },
    onSteady: () => world.clock.measureLate(),
    load: (ms) => load.askFor(ms),
  });
  await load.drain(DRAIN_MS);
  const { wrong } = check({ questions: load.questions, events: load.events, threads: await load.threads() });
  load.isOver = true;
  const longest = Math.max(...world.depths.map(([, n]) => n));
  const { late } = world.clock;
  await world.stop();
  return { ...spans, questions: load.questions.length, longest, late, wrong };
}

// Calls of each second before, during and after a failure, the longest queue of a shard, and what the checker says.
async function failure() {
  const [name, fail] = Object.entries(FAILURES)[options.failure];
  const world = await worldOf();
  const load = new Load(world, options);
  await world.clock.pass(UP_MS);
  load.start();
  await world.clock.pass(UP_MS + 1.5 * PACE_MS);
  world.clock.measureLate();
  const asking = load.askFor((30 + options.load) * SECOND_MS);
  await world.clock.pass(10 * SECOND_MS);
  const began = world.clock.now();
  const failing = fail(world, load);
  await failing;
  const ended = world.clock.now();
  await asking;
  await load.drain(DRAIN_MS);
  const left = load.open.size;
  const { wrong, figures } = check({ questions: load.questions, events: load.events, threads: await load.threads() });
  load.isOver = true;
  const result = { name, began: world.second(began), ended: world.second(ended), perSecond: world.perSecond, depths: world.depths, counts: world.counts, late: world.clock.late, left, wrong: wrong.slice(0, 20), wrongN: wrong.length, figures };
  await world.stop();
  return result;
}

async function real() {
  const both = { virtual: await growth() };
  both.real = await withRealNodes(options, measure);
  return both;
}

const KINDS = { growth, failure, real };
const result = await KINDS[positionals[0]]();
console.log(JSON.stringify({ kind: positionals[0], ...options, ...result, tookS: Math.round(process.uptime()) }));
process.exit(0);
