// SPDX-License-Identifier: MIT
//
// servers: the Redis of a cluster: one server, or several that share its shards and look
// like one: `url` lists them all, a command goes to the server of the shard that its key names, one without a key to all
// of them, and they end, pause and start again together.
import { RedisClient, startRedis } from './redis.mjs';
import { SERVERS, tagsOf } from './shards.mjs';

const sumOf = (texts, pattern) => texts.reduce((sum, text) => sum + Number(pattern.exec(text ?? '')?.[1] ?? 0), 0);

// Sends commands where they belong. all: each server, or a client of each, in their order.
class Commands {
  constructor(all) {
    this.all = all;
    this.tags = tagsOf();
  }

  #serverOf(words) {
    const [, tag] = words.map((word) => /^parley:\{(\w+)\}:/.exec(word)).find((found) => found) ?? [];
    return tag === undefined ? undefined : this.all[this.tags.indexOf(tag) % this.all.length];
  }

  async cmd(...words) {
    const [name, ...rest] = words;
    if (name === 'DEL' && rest.length > 1) return (await Promise.all(rest.map((key) => this.cmd(name, key)))).reduce((sum, n) => sum + n, 0);
    const one = this.#serverOf(rest);
    if (one) return one.cmd(...words);
    const replies = await Promise.all(this.all.map((server) => server.cmd(...words)));
    if (name === 'KEYS') return replies.flat();
    return name === 'CLIENT' && rest[0] === 'LIST' ? replies.join('') : replies[0];
  }
}

class Clients extends Commands {
  close = () => this.all.forEach((client) => client.close());
}

class Servers extends Commands {
  constructor(all) {
    super(all);
    [this.port, this.url] = [all[0].port, all.map(({ url }) => url).join(',')];
  }

  // Of commandstats the calls of all servers, else what the first one says.
  async info(section) {
    const all = await Promise.all(this.all.map((server) => server.info(section)));
    if (section !== 'commandstats') return all[0];
    const names = new Set(all.flatMap((info) => Object.keys(info)));
    return Object.fromEntries([...names].map((name) => [name, `calls=${sumOf(all.map((info) => info[name]), /calls=(\d+)/)},usec=${sumOf(all.map((info) => info[name]), /usec=(\d+)/)}`]));
  }

  kill = (signal) => Promise.all(this.all.map((server) => server.kill(signal)));
  pause = () => this.all.forEach((server) => server.pause());
  resume = () => this.all.forEach((server) => server.resume());
  restart = () => Promise.all(this.all.map((server) => server.restart()));
  stop = () => Promise.all(this.all.map((server) => server.stop()));
}

// As startRedis. n: how many servers; as many as the environment says.
export async function startServers(options, n = SERVERS) {
  if (n === 1) return startRedis(options);
  return new Servers(await Promise.all(Array.from({ length: n }, () => startRedis(options))));
}

// As a RedisClient, of what startServers() or startRedis() has started.
export function openClient(redis, encoding) {
  if (!redis.all) return new RedisClient(redis.port, encoding);
  return new Clients(redis.all.map(({ port }) => new RedisClient(port, encoding)));
}
