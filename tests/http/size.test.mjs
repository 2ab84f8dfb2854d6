// SPDX-License-Identifier: MIT
//
// parley size: its figures are those of the pages, its examples are what it prints, and more load never needs less.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { ROOT, runParley } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // it asks no cluster

const pageOf = (name) => readFileSync(join(ROOT, 'docs', name), 'utf8');
const SCALE = pageOf('operations/scale.md');
const PERFORMANCE = pageOf('performance.md');
const run = (...args) => runParley(['size', ...args]);
async function size(load = {}) {
  const words = Object.entries({ 'questions-per-second': 1, ...load }).flatMap(([name, value]) => [`--${name}`, value]);
  const { code, stdout, stderr } = await run(...words, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}
const number = (text) => Number(text.replaceAll(',', ''));

describe('parley size', () => {
  it('computes from the figures of the page about scale, and has no others', async () => {
    const { Figures } = await size();
    const rows = [...SCALE.matchAll(/^\| `(\w+_(?:us|bytes|n))` \| ([\d,.]+) \|/gm)].map(([, name, value]) => [name, number(value)]);
    assert.ok(rows.length > 20);
    assert.deepEqual(Object.fromEntries(rows), Figures);
  });

  it('computes from the figures of the page about performance, where it has them', async () => {
    const { Figures } = await size();
    const cell = (pattern) => {
      const [, ...cells] = pattern.exec(PERFORMANCE) ?? assert.fail(`${pattern} is not on the page`);
      return cells.map(number);
    };
    const [node, redis] = cell(/^\| the same with login tokens \| [\d,]+ \| [\d,]+ \| ([\d.]+) \+ ([\d.]+) \|/m); // s for 10,000
    assert.deepEqual([Figures.cycle_node_us, Figures.cycle_redis_us], [node, redis].map((s) => Math.round(s * 100)));
    const tokens = cell(/^\| Parley, 500 streams of 20 tokens\/s by frames \| [\d.]+ ms \| [\d.]+ ms \| (\d+) ms \| (\d+) ms \|/m); // for 1,000
    assert.deepEqual([Figures.token_node_us, Figures.token_redis_us], tokens);
    assert.deepEqual([Figures.poll_bytes], cell(/^\| memory per parked poll, bytes \| [\d,]+ \| ([\d,]+) \|/m));
    const [viewer, answer] = cell(/take ([\d.]+) KiB each of the node that shows them\. Their writer's node\s+takes ([\d.]+) KiB for each answer/);
    assert.deepEqual([Figures.viewer_bytes, Figures.answer_bytes], [viewer, answer].map((kib) => Math.round(kib * 1024)));
    const [library] = cell(/and ([\d.]+) MB with all\. A module is compiled/);
    assert.equal(Figures.scripts_bytes, library * 1024 * 1024);
  });

  it('prints the examples of the page about scale', async () => {
    const examples = [...SCALE.matchAll(/^```sh\n(parley size .*)\n```\n\n```\n([^`]+)```/gm)];
    assert.equal(examples.length, 5);
    for (const [, command, shown] of examples) {
      const { code, stdout, stderr } = await run(...command.split(' ').slice(2));
      assert.equal(code, 0, stderr);
      assert.equal(stdout, shown, command);
    }
  });

  it('adds up what a load costs', async () => {
    const { Figures: f, ...result } = await size({ 'questions-per-second': 1000, 'tokens-per-answer': 100, engines: 200, polls: 50, 'stored-questions': 1_000_000, 'spare-nodes': 0 });
    assert.deepEqual([result.Answers, result.Viewers], [5000, 5000]);
    const threads = result.Nodes * result.Threads;
    const syncs = result.Shards * Math.max(Math.min(threads, 8), threads / 15);
    const work = (kind) => 1000 * f[`cycle_${kind}_us`] + 100_000 * f[`token_${kind}_us`] + 200 * f[`socket_${kind}_us`] + 50 * f[`poll_${kind}_us`];
    const near = (actual, expected) => assert.ok(Math.abs(actual / expected - 1) < 0.001, `${actual}, not ${expected}`);
    near(result.NodeCores, (work('node') + syncs * f.idle_node_us) / 1e6);
    near(result.RedisCores, (work('redis') + syncs * f.idle_redis_us + result.RedisServers * f.server_redis_us) / 1e6);
    const connections = (f.connections_n * threads * result.Shards) / result.RedisServers;
    near(result.RedisBytes, 1e6 * (f.stored_bytes + (700 / 1024) * f.stored_per_kib_bytes) + result.RedisServers * (f.scripts_bytes + connections * f.connection_bytes));
    near(result.NodeBytes, f.node_bytes + (200 * f.socket_bytes + 50 * f.poll_bytes + 5000 * (f.viewer_bytes + f.answer_bytes)) / result.Nodes);
    near(result.ClientBitsPerSecond, 8 * (1000 * (f.cycle_client_bytes + 1400) + 100_000 * f.token_client_bytes));
    assert.equal(result.RedisConnections, Math.ceil(connections));
    assert.ok(result.NodeCores <= 0.6 * result.Nodes * result.Threads && result.RedisCores <= 0.6 * result.RedisServers);
    assert.ok(result.Shards >= 2 * result.RedisServers || result.RedisServers === 1);
  });

  it('names what is the bound', async () => {
    const boundOf = async (load) => (await size(load)).Bound;
    assert.equal(await boundOf({ 'stored-questions': 100_000_000 }), 'memory of Redis');
    assert.equal(await boundOf({ engines: 200_000, 'redis-gib': 64 }), 'connections of nodes');
    assert.equal(await boundOf({ 'questions-per-second': 5000, 'tokens-per-answer': 1 }), 'processor time of Redis');
    assert.equal(await boundOf({ 'questions-per-second': 100, 'node-threads': 1 }), 'processor time of nodes');
  });

  it('never needs less for more', async () => {
    const more = { 'questions-per-second': 40, 'tokens-per-answer': 3000, engines: 20_000, polls: 20_000, viewers: 100_000, 'stored-questions': 50_000_000, 'question-bytes': 100_000 };
    const least = { 'questions-per-second': 20, 'tokens-per-answer': 500, engines: 10, viewers: 600, 'stored-questions': 1000 };
    const of = async (load) => {
      const { Nodes, Threads, RedisServers, Shards, RedisBytes, ClientBitsPerSecond } = await size(load);
      return { threads: Nodes * Threads, RedisServers, Shards, RedisBytes, ClientBitsPerSecond };
    };
    const before = await of(least);
    for (const [name, value] of Object.entries(more)) {
      const after = await of({ ...least, [name]: value });
      for (const [key, n] of Object.entries(before)) assert.ok(after[key] >= n, `${key}: ${after[key]} with ${name} ${value}, ${n} with ${least[name]}`);
    }
  });

  it('refuses what is no load in one line that says what was seen, and what one cluster cannot carry', async () => {
    const q = ['--questions-per-second', '1'];
    for (const [args, text] of [
      [[], /--questions-per-second is missing/],
      [['--questions-per-second', ''], /--questions-per-second takes a number from 0 to 1000000, not ''/],
      [['--questions-per-second', 'many'], /not 'many'/],
      [['--questions-per-second', '-1'], /not '-1'/],
      [['--questions-per-second', 'nan'], /not 'nan'/],
      [['--questions-per-second', '1e7'], /not '1e7'/],
      [['--questions-per-second', '5/s'], /not '5\/s'/],
      [[...q, '--viewers', '1.5'], /--viewers takes a whole number from 0 to 100000000, not '1.5'/],
      [[...q, '--tokens-per-answer', '0'], /tokens-per-answer/],
      [[...q, '--node-threads', '65'], /node-threads/],
      [[...q, 'more'], /more/],
    ]) {
      const { code, stdout, stderr } = await run(...args);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr, /^[^\n]+\n$/);
      assert.match(stderr, text);
    }
    const { code, stdout, stderr } = await run('--questions-per-second', '1000000');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /^parley: processor time of \w+: \d+ Redis servers are needed, but a cluster has 64 shards at most/);
    for (const load of [{ 'questions-per-second': 0, engines: 0 }, { 'questions-per-second': 0, viewers: 5 }, { 'questions-per-second': '0.001' }]) {
      const { Nodes, Threads, RedisServers, Shards } = await size(load);
      assert.deepEqual([Nodes, Threads, RedisServers, Shards], [2, 1, 1, 1]);
    }
  });
});
