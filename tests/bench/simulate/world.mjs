// SPDX-License-Identifier: MIT
//
// world: servers, virtual nodes and their load; counts what they do.
import { libraryText } from '../../support/lua.mjs';
import { prefixesOf } from '../../support/shards.mjs';
import { startRedis } from '../../support/redis.mjs';
import { Clock } from './clock.mjs';
import { Links } from './link.mjs';
import { VirtualNode } from './node.mjs';

const SECOND_MS = 1000;
const STARTS_AT_ONCE = 50;

// slow: how many times slower than real time. isPaced: false is as before nodes waited longer the more there are.
export class World {
  constructor({ nodes, shards, servers = 1, slow = 1, isPaced = true }) {
    Object.assign(this, { nodeN: nodes, shards, serverN: Math.min(servers, shards), isPaced, clock: new Clock(slow) });
    this.functionName = 'turn_0123456789abcdef'; // as long as that of real nodes
    this.delays = new Map(); // shard -> ms
    this.counts = {};
    this.perSecond = []; // calls, by simulated second since the start
    this.depths = []; // of each second: the longest queue of a shard
  }

  async start() {
    this.began = this.clock.now();
    this.servers = await Promise.all(Array.from({ length: this.serverN }, () => startRedis({ args: ['--maxclients', 20_000] })));
    for (const server of this.servers) await server.cmd('FUNCTION', 'LOAD', this.clock.slowed(libraryText()).replace("'turn_test'", `'${this.functionName}'`));
    this.links = new Links(this.servers);
    this.nodes = Array.from({ length: this.nodeN }, (_, i) => new VirtualNode(this, `n${String(i).padStart(13, '0')}`));
    for (let at = 0; at < this.nodeN; at += STARTS_AT_ONCE) await Promise.all(this.nodes.slice(at, at + STARTS_AT_ONCE).map((node) => node.start()));
    const watch = async () => {
      const keys = prefixesOf(this.shards).map((prefix, shard) => this.links.call(shard, ['HGET', `${prefix}meta`, 'depth']));
      const all = await Promise.all(keys).catch(() => [0]);
      this.depths.push([this.second(this.clock.now()), Math.max(...all.map(Number))]);
      this.clock.after(SECOND_MS, watch);
    };
    await watch();
    return this;
  }

  second(ms) {
    return Math.floor((ms - this.began) / SECOND_MS);
  }

  noteCall(shard, ms) {
    const second = this.second(ms);
    this.perSecond[second] = (this.perSecond[second] ?? 0) + 1;
  }

  alive() {
    return this.nodes.filter((node) => node.isUp);
  }

  async stop() {
    this.clock.stop();
    for (const node of this.nodes) node.isUp = false;
    this.links.close();
    for (const server of this.servers) await server.stop();
  }

  // Of all servers until now.
  async read() {
    const sums = { ms: this.clock.now(), calls: 0, scriptUs: 0, bytes: 0, counts: { ...this.counts } };
    for (const server of this.servers) {
      const info = { ...(await server.info('commandstats')), ...(await server.info('stats')), ...(await server.info('clients')) };
      const [, calls, us] = /^calls=(\d+),usec=(\d+)/.exec(info.cmdstat_fcall ?? 'calls=0,usec=0');
      sums.calls += Number(calls);
      sums.scriptUs += Number(us);
      sums.bytes += Number(info.total_net_input_bytes);
      sums.channels = (sums.channels ?? 0) + Number(info.pubsubshard_channels ?? 0) + Number(info.pubsub_channels);
    }
    return sums;
  }

  // What happened between two readings, for each simulated second.
  static between(before, after) {
    const s = (after.ms - before.ms) / SECOND_MS;
    const counts = Object.fromEntries(Object.entries(after.counts).map(([name, n]) => [name, n - (before.counts[name] ?? 0)]));
    const calls = after.calls - before.calls;
    return { s, calls: calls / s, scriptUs: (after.scriptUs - before.scriptUs) / s, bytes: (after.bytes - before.bytes) / s, usPerCall: (after.scriptUs - before.scriptUs) / calls, channels: after.channels, counts };
  }
}
