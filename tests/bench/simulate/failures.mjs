// SPDX-License-Identifier: MIT
//
// failures: what goes wrong in a world under load. Each fails at once, and returns when it is over.
import { shardOf } from '../../support/shards.mjs';

const AWAY_MS = 5000; // of a master, until its replica has taken over
const REGION_MS = 20_000;
const SLOW_MS = 20_000;
const DELAY_MS = 200;
const BACKOFF_MS = [25, 2000]; // shared/redis/backoff.h

// The engines of these nodes find others (load.mjs), those that wait there poll again.
function leaveNodes(load, nodes) {
  for (const node of nodes) for (const engine of node.parked.splice(0)) engine.onEnd();
}

// Shards are away for these nodes, and their connections come back with a backoff that is partly random.
async function away({ clock }, load, nodes, parts, ms) {
  const lost = nodes.flatMap((node) => parts.map((number) => [node, node.parts[number]]));
  await Promise.all(lost.map(([node, part]) => node.lose(part)));
  await clock.pass(ms);
  await Promise.all(lost.map(async ([node, part]) => {
    await clock.pass(load.between(BACKOFF_MS));
    await node.reconnect(part);
  }));
}

// The server of one shard answers late, then as usual.
export async function slowShard(world, ms = SLOW_MS) {
  const shard = shardOf('slow', world.shards);
  world.delays.set(shard, DELAY_MS);
  await world.clock.pass(ms);
  world.delays.delete(shard);
}

export const FAILURES = {
  'a tenth of the nodes dies': async (world, load) => {
    const dead = world.nodes.filter((_, i) => i % 10 === 3);
    for (const node of dead) node.isUp = false;
    leaveNodes(load, dead);
    await Promise.all(dead.map((node) => node.die()));
  },
  'a master with an eighth of the shards fails over': (world, load) =>
    away(world, load, world.nodes, Array.from({ length: world.shards }, (_, i) => i).filter((i) => i % 8 === 0), AWAY_MS),
  'all engines reconnect within a second': async (world, load) => {
    const parked = world.nodes.flatMap((node) => node.parked.map((engine) => [node, engine]));
    await Promise.all(parked.map(async ([node, engine]) => {
      await world.clock.pass(Math.random() * 1000);
      if (node.leave(engine)) load.poll(engine, load.pick(world.alive()));
    }));
  },
  'three tenths of the nodes lose Redis for 20 s': (world, load) =>
    away(world, load, world.nodes.filter((_, i) => i % 10 < 3), Array.from({ length: world.shards }, (_, i) => i), REGION_MS),
  'a slow shard': (world) => slowShard(world),
};
