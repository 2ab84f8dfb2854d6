// SPDX-License-Identifier: MIT
//
// The simulation of tests/bench/simulate still plays with the scripts: virtual nodes answer what clients ask, and nothing is lost or
// doubled when a tenth of them dies, shards are away, one is slow, or all engines reconnect.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FAILURES, slowShard } from '../bench/simulate/failures.mjs';
import { Load } from '../bench/simulate/load.mjs';
import { World } from '../bench/simulate/world.mjs';
import { ownShards } from '../support/shards.mjs';
import { check } from './chaos_checker.mjs';

ownShards(); // its worlds say how many

const [NODES, SHARDS] = [10, 8];
const [BEFORE_MS, DURING_MS, SLOW_MS, DRAIN_MS] = [2000, 8000, 4000, 60_000];

async function play(fail) {
  const world = await new World({ nodes: NODES, shards: SHARDS }).start();
  try {
    const load = new Load(world, { engines: 50, rate: 30, answerMs: 100 });
    load.start();
    await world.clock.pass(BEFORE_MS);
    const asking = load.askFor(DURING_MS);
    await world.clock.pass(BEFORE_MS);
    await fail?.(world, load);
    await asking;
    await load.drain(DRAIN_MS);
    load.isOver = true;
    assert.equal(load.open.size, 0, 'every question has its answer');
    const { wrong, figures } = check({ questions: load.questions, events: load.events, threads: await load.threads() });
    assert.deepEqual(wrong, []);
    return figures;
  } finally {
    await world.stop();
  }
}

describe('a simulated cluster', () => {
  it('answers all questions while nothing fails', async () => {
    const figures = await play();
    assert.ok(figures.acknowledged > 0);
    assert.equal(figures['given up by clients'], 0);
  });
  for (const name of ['a tenth of the nodes dies', 'a master with an eighth of the shards fails over', 'all engines reconnect within a second']) it(name, () => play(FAILURES[name]));
  it('a slow shard', () => play((world) => slowShard(world, SLOW_MS)));
});
