// SPDX-License-Identifier: MIT
//
// link: what the virtual nodes of a process share: to each server one connection for calls and one for subscriptions. Real nodes have
// two of their own for each shard; how many that would be is counted. Bytes of calls are counted by Redis.
import net from 'node:net';
import { parseReply } from '../../support/redis.mjs';

const CHANNELS_AT_ONCE = 500;

// One connection with pipelined commands. on_push(channel, body) gets messages.
class Pipe {
  #chunks = [];
  #waiting = [];
  #out = [];

  constructor(port, onMessage) {
    this.onMessage = onMessage;
    this.socket = net.connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.on('data', (chunk) => this.#read(chunk));
    this.socket.on('error', (error) => this.#fail(error));
    this.socket.on('close', () => this.#fail(new Error('closed')));
  }

  #fail(error) {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #read(chunk) {
    const buffer = this.#chunks.length ? Buffer.concat([...this.#chunks, chunk]) : chunk;
    let at = 0;
    for (let found; at < buffer.length && (found = parseReply(buffer, at, 'latin1')); at = found[1]) {
      const [reply] = found;
      const kind = Array.isArray(reply) && this.onMessage ? reply[0] : undefined;
      if (kind === 'message' || kind === 'smessage') this.onMessage(reply[1], reply[2]);
      else {
        const { resolve, reject } = this.#waiting.shift();
        if (reply instanceof Error) reject(reply);
        else resolve(reply);
      }
    }
    this.#chunks = at < buffer.length ? [buffer.subarray(at)] : [];
  }

  // `replies`: a subscription has one for each channel.
  send(words, replies = 1) {
    if (this.#out.length === 0) setImmediate(() => this.socket.write(this.#out.splice(0).join(''), 'latin1'));
    this.#out.push(`*${words.length}\r\n`, ...words.map((word) => `$${String(word).length}\r\n${word}\r\n`));
    const all = Array.from({ length: replies }, () => new Promise((resolve, reject) => this.#waiting.push({ resolve, reject })));
    return replies === 1 ? all[0] : Promise.all(all);
  }

  close() {
    this.socket.destroy();
  }
}

export class Links {
  // servers: what startRedis returns. Shard s is on server s % servers.length.
  constructor(servers) {
    this.servers = servers;
    this.ears = new Map(); // channel -> listener
    const hear = (channel, body) => this.ears.get(channel)?.(body);
    this.calls = servers.map(({ port }) => new Pipe(port));
    this.buses = servers.map(({ port }) => new Pipe(port, hear));
  }

  call(shard, words) {
    return this.calls[shard % this.servers.length].send(words);
  }

  // As bus.c subscribes: each channel in both kinds on several shards.
  async subscribe(shard, channels, isSharded, listener) {
    for (const channel of channels) this.ears.set(channel, listener);
    const bus = this.buses[shard % this.servers.length];
    await bus.send(['SUBSCRIBE', ...channels], channels.length);
    if (isSharded) await bus.send(['SSUBSCRIBE', ...channels], channels.length);
  }

  async unsubscribe(shard, channels, isSharded) {
    for (const channel of channels) this.ears.delete(channel);
    const bus = this.buses[shard % this.servers.length];
    for (let at = 0; at < channels.length; at += CHANNELS_AT_ONCE) {
      const some = channels.slice(at, at + CHANNELS_AT_ONCE);
      await bus.send(['UNSUBSCRIBE', ...some], some.length);
      if (isSharded) await bus.send(['SUNSUBSCRIBE', ...some], some.length);
    }
  }

  close() {
    for (const pipe of [...this.calls, ...this.buses]) pipe.close();
  }
}

// Events of a message, <length>:<bytes> each.
export function eventsOf(body) {
  const events = [];
  for (let at = 0; at < body.length; ) {
    const colon = body.indexOf(':', at);
    const end = colon + 1 + Number(body.slice(at, colon));
    events.push(body.slice(colon + 1, end));
    at = end;
  }
  return events;
}
