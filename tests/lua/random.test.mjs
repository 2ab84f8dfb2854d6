// SPDX-License-Identifier: MIT
//
// What holds whatever happens: random verbs of several nodes and engines (random_world.mjs) and, after each step, the
// invariants of the keyspace (random_checks.mjs), on one shard and on several (random_shards.mjs). The seed is printed on
// failure; PARLEY_SEED=N runs that one alone.
import { scripts } from '../support/lua.mjs';
import { seedsTo } from '../support/seeds.mjs';
import { SHARDS } from '../support/shards.mjs';
import { checkAll, checkEnd } from './random_checks.mjs';
import { Shards } from './random_shards.mjs';
import { CLASSES, LOOKUP_CLASSES, NODES, World } from './random_world.mjs';

const STEPS = 700;
const SHARD_STEPS = 800;

scripts('random verbs', ({ test, shard }) => {
  const seeds = seedsTo(3);
  for (const seed of seeds) {
    test(`every query is in one state, and reachable while it is Open (seed ${seed})`, async () => {
      const world = new World(shard, seed);
      const steps = [];
      for (const node of NODES) await shard.ears.add(node);
      await shard.ears.take(); // what the end of the world before this one sent
      try {
        for (let i = 0; i < STEPS; i++) {
          steps.push('(broke)');
          steps[i] = await world.step();
          await checkAll(world, shard);
        }
        await checkEnd(world, shard);
      } catch (error) {
        console.error(`PARLEY_SEED=${seed}, after step ${steps.length}: …${steps.slice(-12).join(', ')}`);
        throw error;
      } finally {
        for (const node of world.alive) await shard.ears.remove(node);
      }
    });
  }
});

scripts('random verbs on several shards', ({ test, shard }) => {
  const seeds = seedsTo(2);
  for (const n of new Set([2, 4, Math.max(2, SHARDS)])) for (const seed of seeds) {
    test(`a query is claimed once, wherever credits and questions meet (${n} shards, seed ${seed})`, async () => {
      const options = { World, check: checkAll, nodes: NODES, classes: CLASSES, lookupClasses: LOOKUP_CLASSES };
      const all = new Shards(shard, seed, n, options);
      const steps = [];
      await all.start();
      try {
        for (let i = 0; i < SHARD_STEPS; i++) {
          steps.push('(broke)');
          steps[i] = await all.step();
          if (!all.below(25)) await all.rest();
        }
        await all.rest();
        for (const world of all.worlds) await checkEnd(world, world.shard);
      } catch (error) {
        console.error(`PARLEY_SEED=${seed}, ${n} shards, after step ${steps.length}: …${steps.slice(-12).join(', ')}`);
        throw error;
      } finally {
        all.stop();
      }
    });
  }
});
