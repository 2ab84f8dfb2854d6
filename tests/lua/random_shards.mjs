// SPDX-License-Identifier: MIT
//
// random_shards: several shards of one cluster beside what their nodes know. A node here does what shared/queue/poll*.c does: it
// looks where something is Open, parks a poll as a credit of one shard, states hints to the others, moves a poll to the shard that calls,
// gives back what it has no poll for, and states its credits again with each sync. What a script sends to a node waits in that
// node's inbox for as long as chance has it, and so do its own calls: hand-overs cross moves, calls come late, some messages are lost.
//
// After each step the sentences of docs/redis-keys.md hold on the shards that it touched (the caller's `check`), and:
//   a topic is on the shard that its name says, and nowhere else;
//   each reply says how many queries are Open on its shard;
//   a node that has polls is in the hints of every shard, unless its call is still under way;
//   once a node has synced, its shard has as many credits of each class as the node counts there.
// At rest (all inboxes empty, everybody has synced) no query is Open that a live node has a poll for.
import assert from 'node:assert/strict';
import { random } from '../support/lua.mjs';
import { prefixesOf, shardOf } from '../support/shards.mjs';
import { takes } from './random_world.mjs';

const isOfLookups = (cls) => cls.endsWith('|?');

class Node {
  constructor(name, n) {
    this.name = name;
    this.n = n;
    this.rotor = 0;
    this.forget();
  }

  // As it starts.
  forget() {
    this.classes = new Map();
    this.open = Array(this.n).fill(0);
    this.inbox = []; // {shard, event, usedCredit}: a claim used up a credit of that shard, unless it was `taken`
    this.calls = []; // {shard, cls, isMove}: what it has asked of a shard
    this.exact = new Set(); // shards that have just the credits that it knows
  }

  of(cls) {
    assert.match(cls, /^\w+\|/, 'a class');
    if (!this.classes.has(cls)) this.classes.set(cls, { cls, polls: 0, moving: 0, credits: Array(this.n).fill(0), hinted: new Set() });
    return this.classes.get(cls);
  }

  least({ cls, credits }) {
    if (isOfLookups(cls)) return 0;
    return credits.indexOf(Math.min(...credits));
  }
}

const idleOf = ({ polls, moving }) => Math.max(0, polls - moving);
const sumOf = (list) => list.reduce((sum, one) => sum + one, 0);

// options: World, check(world, shard), of tests/lua/random.test.mjs; names of nodes, classes, and classes of lookups.
export class Shards {
  constructor(shard, seed, n, { World, check, nodes, classes, lookupClasses }) {
    this.below = random(seed);
    this.n = n;
    this.check = check;
    this.classes = [...classes, ...lookupClasses];
    this.alive = new Set(nodes);
    this.nodes = new Map(nodes.map((name) => [name, new Node(name, n)]));
    this.mortal = nodes.at(-1);
    this.nonces = [];
    this.step_n = 0;
    this.worlds = prefixesOf(n).map((prefix, number) => {
      const world = new World(shard.at(prefix), seed);
      const topicNames = Array.from({ length: 200 }, (_, i) => `t${i}`).filter((name) => shardOf(name, n) === number).slice(0, 4);
      return Object.assign(world, { below: this.below, shards: n, alive: this.alive, topicNames });
    });
  }

  async start() {
    for (const world of this.worlds) for (const name of this.alive) await world.shard.ears.add(name);
  }

  stop() {
    for (const { shard } of this.worlds) shard.ears.close();
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  // One verb of a node on a shard. What it sends waits in inboxes; `open` is read at once.
  async call(node, shard, verb, ...args) {
    const world = this.worlds[shard];
    world.verb = verb;
    const reply = await world.run(node.name, verb, ...args);
    this.hear(world, shard, node.name);
    return reply;
  }

  // Routes what the last verb on that shard has sent. Claims are Pending from the script on.
  hear(world, shard, from) {
    this.touched.add(shard);
    const all = world.heard;
    world.heard = [];
    let isCounted = false;
    for (const [event, to] of all) {
      const kind = event.slice(0, event.indexOf('\n'));
      if (kind === 'open') {
        assert.equal(to, from, 'only its own node hears how many are Open');
        this.nodes.get(to).open[shard] = Number(event.slice(5));
        isCounted = true;
      } else if (['claim', 'taken', 'work'].includes(kind)) {
        this.nodes.get(to).inbox.push({ shard, event: kind === 'taken' ? event.slice('taken\n'.length) : event, usedCredit: kind === 'claim' });
        if (kind === 'claim') this.nodes.get(to).exact.delete(shard);
      }
    }
    assert.ok(isCounted, 'each reply says how many are Open');
  }

  // What a verb's own effect was noted for by now: who holds what was handed over.
  settle(world) {
    for (const [event, node] of world.later.splice(0)) this.note(world, event, node);
  }

  note(world, event, node) {
    if (isOfLookups(event.split('\n')[1])) world.noteLookup(event);
    else world.noteClaim(event, node);
  }

  // --- what a node does --------------------------------------------------------------------------

  async callAndSettle(node, shard, verb, ...args) {
    const reply = await this.call(node, shard, verb, ...args);
    this.settle(this.worlds[shard]);
    return reply;
  }

  // Credits that are too many are taken back where most are.
  async settleCredits(node, held) {
    while (sumOf(held.credits) > idleOf(held)) {
      const most = held.credits.indexOf(Math.max(...held.credits));
      held.credits[most]--;
      assert.equal(await this.callAndSettle(node, most, 'unpark', held.cls), 'ok');
    }
  }

  // A claim, whose queries are Pending: for the oldest poll, or it goes back.
  async take(node, shard, event, usedCredit) {
    const [, cls, topic, lease] = event.split('\n');
    const held = node.of(cls);
    if (usedCredit && held.credits[shard] > 0) held.credits[shard]--;
    if (held.polls > 0) {
      held.polls--;
      await this.settleCredits(node, held);
      return;
    }
    const world = this.worlds[shard];
    if (isOfLookups(cls)) {
      const lookup = world.lookups.get(topic);
      assert.equal(await this.call(node, shard, 'give_back_lookup', topic, lease), 'ok');
      if (lookup?.lease === lease && !lookup.isOver) lookup.lease = undefined;
    } else {
      const queries = world.held(topic, lease);
      assert.equal(await this.call(node, shard, 'give_back', topic, lease), 'ok');
      world.giveBack(queries, { counts: false });
    }
    this.settle(world);
  }

  // True when the reply is a claim, which is noted.
  gotClaim(node, shard, reply) {
    if (!reply.startsWith('claim\n')) return false;
    this.note(this.worlds[shard], reply, node.name);
    return true;
  }

  waits(shard, cls) {
    const world = this.worlds[shard];
    if (isOfLookups(cls)) return [...world.lookups.values()].some((lookup) => world.isClaimable(lookup));
    return [...world.topics.values()].flat().some((q) => q.state === 'Open' && takes(cls, q.model, world.fallen));
  }

  async claim(node, shard, cls, isParking) {
    const waited = this.waits(shard, cls);
    const verb = isOfLookups(cls) ? 'claim_lookup' : 'claim';
    const reply = await this.call(node, shard, verb, 0, cls, isParking ? '1' : '0');
    const isClaim = this.gotClaim(node, shard, reply);
    assert.equal(isClaim, waited, `${cls} on shard ${shard}: ${reply}`);
    this.settle(this.worlds[shard]);
    return { isClaim, isParked: reply.startsWith('parked') };
  }

  async poll(node) {
    const held = node.of(this.pick(this.classes));
    const { cls } = held;
    for (let i = 0; i < this.n && !isOfLookups(cls); i++) {
      const shard = (node.rotor + i) % this.n;
      if (node.open[shard] > 0 && (await this.claim(node, shard, cls, false)).isClaim) {
        node.rotor = shard + 1;
        return;
      }
    }
    const shard = node.least(held);
    const { isParked } = await this.claim(node, shard, cls, true);
    if (isParked) {
      held.polls++;
      held.credits[shard]++;
      held.hinted.add(shard);
    }
    for (let other = 0; other < this.n && !isOfLookups(cls); other++) {
      if (other === shard || held.hinted.has(other)) continue;
      held.hinted.add(other);
      node.calls.push({ shard: other, cls, isMove: false });
    }
  }

  // A client leaves.
  async leave(node) {
    const held = this.pick([...node.classes.values(), undefined]);
    if (!held?.polls) return;
    held.polls--;
    await this.settleCredits(node, held);
  }

  // One of its calls runs: the first of a shard, as they share a connection.
  async runCall(node) {
    if (!node.calls.length) return;
    const { shard } = this.pick(node.calls);
    const [{ cls, isMove }] = node.calls.splice(node.calls.findIndex((one) => one.shard === shard), 1);
    const held = node.of(cls);
    const waited = this.waits(shard, cls);
    const reply = isMove ? await this.call(node, shard, 'claim', 0, cls, '0') : await this.call(node, shard, 'hint', cls);
    assert.equal(this.gotClaim(node, shard, reply), waited);
    this.settle(this.worlds[shard]);
    if (isMove) held.moving--;
    if (waited) await this.take(node, shard, reply, false);
    await this.settleCredits(node, held);
  }

  async readInbox(node) {
    if (!node.inbox.length) return;
    const { shard } = this.pick(node.inbox);
    const [{ event, usedCredit }] = node.inbox.splice(node.inbox.findIndex((one) => one.shard === shard), 1);
    if (event.startsWith('work\n')) await this.onWork(node, shard, event);
    else await this.take(node, shard, event, usedCredit);
  }

  // What was on its way to a subscriber whose connection broke.
  async lose(node) {
    node.inbox = [];
  }

  async onWork(node, shard, event) {
    const [, model, hops, tried] = event.split('\n');
    assert.ok(Number(hops) <= 2, `passed on ${hops} times`);
    assert.ok(!tried.includes(`,${node.name},`), `${node.name} had no poll before`);
    node.open[shard] ||= 1;
    const held = [...node.classes.values()].find((one) => !isOfLookups(one.cls) && idleOf(one) > 0 && takes(one.cls, model));
    if (!held) {
      await this.callAndSettle(node, shard, 'work', model, `${tried || ','}${node.name},`, Number(hops) + 1);
      return;
    }
    held.moving++;
    node.calls.push({ shard, cls: held.cls, isMove: true });
    await this.settleCredits(node, held);
  }

  // For polls that have no credit, after a move in vain. The shard is notified of it with its own next sync.
  grantMissing(node, held) {
    while (sumOf(held.credits) < idleOf(held)) {
      const shard = node.least(held);
      held.credits[shard]++;
      node.exact.delete(shard);
    }
  }

  async sync(node, shard = this.below(this.n)) {
    const world = this.worlds[shard];
    const stated = this.classes.filter((cls) => shard === 0 || !isOfLookups(cls)).map((cls) => node.of(cls));
    const args = stated.flatMap((held) => {
      this.grantMissing(node, held);
      const elsewhere = Math.max(0, idleOf(held) - held.credits[shard]);
      if (held.credits[shard] + elsewhere > 0) held.hinted.add(shard);
      return [held.cls, held.credits[shard], 0, elsewhere, ''];
    });
    const isLate = node.inbox.some((one) => one.shard === shard && one.usedCredit);
    const before = node.inbox.length;
    await this.call(node, shard, 'sync', '{}', '', 0, 0, stated.length, ...args);
    const own = node.inbox.splice(before);
    world.later = [];
    for (const { event } of own) this.note(world, event, node.name);
    for (const { event, usedCredit } of own) await this.take(node, shard, event, usedCredit);
    if (!isLate) node.exact.add(shard);
    // A shard forgets who has said nothing for a minute. Real nodes sync each second, on a machine that stands still as well.
    await world.shard.cmd('ZADD', world.shard.key('nodes'), Date.now() + 1e9, node.name);
  }

  // From a sync on until something is handed over, or a node is struck off.
  async assertCredits(node, shard) {
    const { shard: at } = this.worlds[shard];
    for (const { cls, credits } of node.classes.values()) {
      if (shard > 0 && isOfLookups(cls)) continue;
      const found = await at.cmd('ZSCORE', at.key(isOfLookups(cls) ? 'idle_lookups' : 'idle'), `${node.name} ${cls}`);
      assert.equal(Math.floor(found ?? 0), credits[shard], `credits of ${node.name} ${cls} on shard ${shard}`);
    }
  }

  // A nonce is used up on the shard of its own, once, by a verb or without one.
  async useNonce(node) {
    const isUsed = this.nonces.length > 0 && this.below(2) === 1;
    const nonce = isUsed ? this.pick(this.nonces) : `nonce${String(this.nonces.length).padStart(11, '0')}`;
    const shard = shardOf(nonce, this.n);
    const world = this.worlds[shard];
    const reply = this.below(2)
      ? await world.runSigned(node.name, [nonce], 'nonce', 1)
      : (await world.turn(node.name, { alone: [nonce] }, [])).used.replace('1 ', '') || 'ok';
    this.hear(world, shard, node.name);
    assert.equal(reply, isUsed ? 'replay' : 'ok');
    if (!isUsed) this.nonces.push(nonce);
  }

  // The last node dies without a word, or starts again: it knows nothing then, and syncs.
  async crash() {
    const node = this.nodes.get(this.mortal);
    const isDying = this.alive.delete(node.name);
    node.forget();
    for (const { shard } of this.worlds) await (isDying ? shard.ears.remove(node.name) : shard.ears.add(node.name));
    if (isDying) return;
    this.alive.add(node.name);
    for (let shard = 0; shard < this.n; shard++) await this.sync(node, shard);
  }

  // --- steps -------------------------------------------------------------------------------------

  async step() {
    const ofQueries = ['add', 'add', 'add', 'add', 'resend', 'complete', 'complete', 'complete', 'cancel', 'release', 'releaseText', 'giveClaimBack',
      'extend', 'reap', 'retry', 'remove', 'partial', 'forget'];
    const ofLookups = ['addLookup', 'giveLookupBack', 'lookupDelivered', 'match'];
    const ofNodes = ['poll', 'poll', 'poll', 'poll', 'leave', 'runCall', 'runCall', 'readInbox', 'readInbox', 'readInbox', 'lose', 'lose', 'sync', 'useNonce', 'crash'];
    // By and by many polls are idle, then many questions come, then what is there continues.
    const more = [[], Array(60).fill('poll'), Array(20).fill('add')][Math.floor(this.step_n++ / 40) % 3];
    const verb = this.pick([...ofQueries, ...ofLookups, ...ofNodes, ...more]);
    const node = this.nodes.get(this.pick([...this.alive]));
    this.touched = new Set();
    let shard = '';
    if (ofNodes.includes(verb)) {
      if (verb !== 'crash' || !this.below(4)) await this[verb](node);
    } else {
      shard = ofLookups.includes(verb) ? 0 : this.below(this.n);
      const world = this.worlds[shard];
      Object.assign(world, { verb, later: [], heard: [] });
      await world[verb](node.name);
      if (verb === 'reap') for (const one of this.nodes.values()) one.exact.delete(shard);
      world.settle();
      if (world.heard.length) this.hear(world, shard, node.name);
    }
    await this.assertAll();
    return `${node.name} ${verb} ${shard}`;
  }

  async assertAll() {
    for (const shard of this.touched) await this.check(this.worlds[shard], this.worlds[shard].shard);
    for (const [number, { shard }] of this.worlds.entries()) {
      const hints = new Set(await shard.cmd('ZRANGE', shard.key('hints'), 0, -1));
      for (const name of this.alive) {
        const node = this.nodes.get(name);
        if (node.exact.has(number)) await this.assertCredits(node, number);
        for (const { cls, polls } of node.classes.values()) {
          const isUnderWay = node.calls.some((one) => one.shard === number && one.cls === cls && !one.isMove);
          if (polls > 0 && !isOfLookups(cls) && !isUnderWay) assert.ok(hints.has(`${name} ${cls}`), `shard ${number} has no hint of ${name} ${cls}`);
        }
      }
      if (!this.touched.has(number)) continue;
      for (const key of await shard.names()) {
        const [kind, topic] = key.split(':');
        if (kind === 't') assert.equal(shardOf(topic, this.n), number, `${topic} is on the wrong shard`);
      }
    }
  }

  // Until nothing has been under way while all have synced, once. A sync finds what is Open for its node's polls, however
  // long ago its shard called in vain, and whatever was lost: every other time that is all that was on its way.
  async rest() {
    this.touched = new Set();
    if (this.below(2)) for (const name of this.alive) await this.lose(this.nodes.get(name));
    const isBusy = () => [...this.alive].some((name) => this.nodes.get(name).inbox.length + this.nodes.get(name).calls.length > 0);
    for (let round = 0, isCalm = false; !isCalm; round++) {
      assert.ok(round < 200, 'it comes to rest');
      let wasBusy = false;
      for (const name of this.alive) {
        const node = this.nodes.get(name);
        for (let i = 0; i < 1000 && node.inbox.length + node.calls.length > 0; i++) {
          await this.readInbox(node);
          await this.runCall(node);
        }
        wasBusy ||= isBusy();
        if (!wasBusy) for (let shard = 0; shard < this.n; shard++) await this.sync(node, shard);
      }
      isCalm = !wasBusy && !isBusy();
    }
    await this.assertAll();
    for (const [number, world] of this.worlds.entries()) {
      const open = [...world.topics].flatMap(([topic, queries]) => queries.filter(({ state }) => state === 'Open').map((q) => [topic, q]));
      for (const [topic, { model }] of open) {
        for (const name of this.alive) for (const held of this.nodes.get(name).classes.values()) {
          const isIdle = !isOfLookups(held.cls) && idleOf(held) > 0 && takes(held.cls, model, world.fallen);
          assert.ok(!isIdle, `${topic} of shard ${number} is Open while ${name} has a poll of ${held.cls}`);
        }
      }
    }
    for (const name of this.alive) for (const held of this.nodes.get(name).classes.values()) {
      assert.equal(sumOf(held.credits), idleOf(held), `${name} ${held.cls}: as many credits as polls`);
    }
  }
}
