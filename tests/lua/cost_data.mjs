// SPDX-License-Identifier: MIT
//
// A shard on which a flow (cost_flows.mjs) is played, with a factor by which there is less of everything than clients may
// make. How a verb is called, and what is noted of that, is up to the test: call(verb, ...args) of its class.
import assert from 'node:assert/strict';
import { lines, tailOf } from '../support/lua.mjs';
import { QUERY } from './cost_flows.mjs';

const MODIFIERS = (64 << 10) - 20;

export class Data {
  constructor(shard, factor) {
    Object.assign(this, { shard, factor, shards: 1 });
  }

  n(most) {
    return Math.floor(most * this.factor);
  }

  text(most, letter = 'x') {
    return letter.repeat(this.n(most));
  }

  json(most, letter) {
    return JSON.stringify(this.text(most, letter));
  }

  tail(query = QUERY, modifiers = MODIFIERS) {
    return tailOf({ query: this.text(query), modifiers: `{"a":${this.json(modifiers)}}` });
  }

  cmd(name, ...words) {
    return this.shard.cmd(name, ...words);
  }

  key(name) {
    return this.shard.key(name);
  }

  // One verb in a turn of its own; its reply. Its events are in `events`.
  async turn(verb, ...args) {
    const { replies, events } = await this.shard.turn([[verb, ...args]], { shards: this.shards, fallbackMs: 30_000 });
    assert.ok(!(replies[0] instanceof Error), `${verb}: ${replies[0]}`);
    this.events = events;
    return replies[0];
  }

  async expect(pattern, verb, ...args) {
    const reply = await this.call(verb, ...args);
    assert.match(reply.slice(0, 200), pattern, verb);
    return reply;
  }

  // 16 pairs, as y:<seq> has them.
  metadata() {
    const value = this.text(3000);
    return `\n${Array.from({ length: 16 }, (_, i) => `"k${i}":"${value}"\n`).join('')}`;
  }

  // Rows of a topic as they are after their end, without going through the queue.
  async rows(topic, n, { state = () => 'C "no"', user = 'alice', tail = this.tail(), answer } = {}) {
    for (let seq = 1; seq <= n; seq++) {
      const fields = [`q:${seq}`, lines(1000, `F ${user} default 1`, tail), `s:${seq}`, state(seq), 'seq', seq];
      if (answer) fields.push(`a:${seq}`, answer);
      await this.cmd('HSET', this.key(`t:${topic}`), ...fields, `u:${user}`, 1);
    }
    await this.cmd('ZADD', this.key(`topics:${user}`), 1000, topic);
    await this.cmd('SADD', this.key('users'), user);
  }
}
