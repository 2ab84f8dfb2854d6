// SPDX-License-Identifier: MIT
//
// What holds whatever happens to deliveries: random verbs of people who post, of nodes that call bots, die and come back, of bots
// that answer, answer twice, answer later or not at all, and of bots that pull, beside a small model. After each step every
// delivery is where the model says, each has one answer at most, and all keys of deliveries follow from them
// (docs/redis-keys.md), on one shard and, with rooms spread, on 2 and 4. The seed is printed on failure; PARLEY_SEED=N
// runs that one alone.
import assert from 'node:assert/strict';
import { assertQueuesOfDue, dueOf, expireDue } from '../../support/due.mjs';
import { PREFIX, random, scripts } from '../../support/lua.mjs';
import { list, messagesOf, post, postedOf, roomKeys } from '../../support/lua_rooms.mjs';
import { seedsTo } from '../../support/seeds.mjs';

const STEPS = 250;
const NODES = ['n1', 'n2', 'n3'];
const ROOMS = Array.from({ length: 5 }, (_, i) => `${i}`.repeat(24));
const KINDS = { alice: 'u', bob: 'u', echo: 'b', ada: 'b', puller: 'p' };
const USERS = ['alice', 'bob'];
const HOPS_MAX = 4, ATTEMPTS = 5, PULLS = 5, CALLS_OF_BOT = 3, TALK_MAX = 100; // lua/bots/messages.lua, deliveries.lua

// What the tester knows: messages of each room, deliveries (with everything that follows from what happened to them), and what each
// node believes to hold.
class World {
  constructor(shards, seed) {
    Object.assign(this, { shards, below: random(seed), messages: Object.fromEntries(ROOMS.map((room) => [room, []])), deliveries: [], held: [], talks: {}, texts: 0 });
  }

  pick(items) {
    return items[this.below(items.length)];
  }
  shardOf(room) {
    return this.shards[Number(room[0]) % this.shards.length];
  }
  async turn(room, ...verbs) {
    return (await this.shardOf(room).turn(verbs, { node: this.pick(NODES), shards: this.shards.length })).replies;
  }
  isOpen(d) {
    return !['done', 'failed'].includes(d.state);
  }
  // A delivery, mostly one that is not over.
  any(fits = () => true) {
    const open = this.deliveries.filter((d) => this.isOpen(d) && fits(d));
    return this.pick(this.below(4) && open.length ? open : this.deliveries.filter(fits));
  }
  lease(d, fence) {
    d.fence = fence;
    d.isDue = false;
    if (d.kind === 'b' && d.state === 'waiting') d.state = 'leased';
    this.held.push({ d, fence, attempt: d.attempt });
  }
  talk(room, bot, entry) {
    const all = (this.talks[`room_talk:${room}:${bot}`] ??= []);
    all.push(entry);
    if (all.length > TALK_MAX) all.shift();
  }

  // A message that was stored, and its deliveries.
  keep(room, m, bots, leased) {
    this.messages[room].push(m);
    if (m.hop >= HOPS_MAX) bots = [];
    if (m.kind === 'b') bots = bots.slice(0, CALLS_OF_BOT);
    const byId = new Map(leased.map((one) => [one.id, one]));
    bots.forEach((bot, i) => {
      const d = { id: `dlv_${room}_${m.id}_${i + 1}`, room, message: m, bot, kind: KINDS[bot], state: 'waiting', attempt: 0, fence: '', pulls: 0, isDue: KINDS[bot] === 'b' };
      this.deliveries.push(d);
      this.talk(room, bot, `${m.root} ${m.id}`);
      if (byId.has(d.id)) this.lease(d, byId.get(d.id).fence);
    });
    assert.ok(leased.every(({ id }) => this.deliveries.some((d) => d.id === id && d.kind === 'b')), 'a node gets what it calls');
  }

  // --- steps ---------------------------------------------------------------------------------------

  async post() {
    const room = this.pick(ROOMS), name = this.pick(USERS);
    const original = this.below(2) && this.pick(this.messages[room]);
    const mentioned = Object.keys(KINDS).filter(() => this.below(3) === 0);
    const leases = this.below(3), text = `t${++this.texts}`;
    const got = postedOf((await this.turn(room, post({ room, name, text, replyTo: original ? original.id : '', isHere: false, claim: 1, replyKind: original?.kind === 'b' ? KINDS[original.name] : 'x', leases, mentions: mentioned.map((one) => [one, KINDS[one]]) })))[0]);
    const bots = mentioned.filter((one) => KINDS[one] !== 'u');
    if (original?.kind === 'b' && !bots.includes(original.name)) bots.push(original.name);
    assert.deepEqual(got.tagged, mentioned);
    assert.equal(got.deliveries.length, Math.min(leases, bots.filter((one) => KINDS[one] === 'b').length));
    this.keep(room, { id: got.id, kind: 'u', name, text, hop: 0, root: original ? original.root : got.id, replyTo: original ? original.id : '', people: mentioned.filter((one) => KINDS[one] === 'u') }, bots, got.deliveries);
    return `post ${bots}`;
  }

  // Some nodes die: the time of what they hold passes. Then others take it. old: one that ended long ago, which goes.
  async take(old) {
    const dead = this.deliveries.filter((d) => this.isOpen(d) && !d.isDue && this.below(4) === 0);
    for (const d of dead) {
      await expireDue(this.shardOf(d.room), 'dlv_due', d.id);
      d.isDue = true;
    }
    let n = 0;
    for (const shard of this.shards) {
      const due = this.deliveries.filter((d) => this.isOpen(d) && d.isDue && this.shardOf(d.room) === shard);
      const replies = (await shard.turn([['bots_due'], ['delivery_take', 100]], { node: this.pick(NODES), shards: this.shards.length })).replies;
      assert.equal(replies[0], due.length || (old && this.shardOf(old.room) === shard) ? 'deliveries' : 'none');
      const rest = replies[1].split('\n').filter((line, _, all) => all.length > 1);
      assert.equal(rest.length, 8 * due.length);
      for (let i = 0; i < rest.length; i += 8) {
        const [id, fence, bot, task, attempts] = rest.slice(i, i + 8);
        const d = due.find((one) => one.id === id);
        assert.deepEqual([bot, task, Number(attempts)], [d.bot, d.state === 'accepted' || d.isLate ? 'over' : d.kind === 'p' ? 'late' : 'call', d.attempt]);
        assert.ok(Number(fence) > Number(d.fence), 'fences rise');
        this.lease(d, fence);
        n++;
      }
    }
    return `take ${n}`;
  }

  async attempt() {
    const mine = this.pick(this.held.slice(-10));
    if (!mine) return 'nothing held';
    const { d, fence } = mine;
    const n = this.below(6) ? mine.attempt + 1 : this.below(7);
    const [word] = (await this.turn(d.room, ['delivery_attempt', d.room, d.id, fence, n]))[0].split('\n');
    if (d.state !== 'leased' || d.fence !== fence || (n !== d.attempt + 1 && n !== d.attempt)) return assert.equal(word, 'lost') ?? 'an attempt that is lost';
    if (n > ATTEMPTS) return assert.equal(word, 'over') ?? 'no attempt is left';
    assert.equal(word, 'ok');
    mine.attempt = d.attempt = n;
    return `attempt ${n}`;
  }

  async renew() {
    const some = this.held.filter(() => this.below(2)).slice(-20);
    for (const shard of this.shards) {
      const ours = some.filter(({ d }) => this.shardOf(d.room) === shard);
      const lost = ours.filter(({ d, fence }) => !this.isOpen(d) || d.fence !== fence);
      const [reply] = (await shard.turn([['delivery_renew', ...ours.flatMap(({ d, fence }) => [d.id, fence])]])).replies;
      assert.deepEqual(reply.split('\n').filter(Boolean), lost.map(({ d }) => d.id));
      for (const one of ours) if (!lost.includes(one)) one.d.isDue = false;
    }
    return 'renew';
  }

  // An answer: of a node under what it believes to hold, or of the bot itself (no fence), perhaps of another bot.
  async answer() {
    const mine = this.below(2) && this.pick(this.held.slice(-10));
    const d = mine ? mine.d : this.any((one) => this.below(2) || one.state !== 'leased');
    if (!d) return 'no delivery';
    const fence = mine ? mine.fence : '';
    const isOther = this.below(8) === 0;
    const bot = isOther ? this.pick(Object.keys(KINDS).filter((one) => one !== d.bot)) : d.bot;
    const isSilent = this.below(4) === 0;
    const mentioned = Object.keys(KINDS).filter(() => this.below(5) === 0);
    const text = `t${++this.texts}`, leases = this.below(2);
    const verb = isSilent ? ['delivery_silent', d.room, d.id, fence, bot] : ['delivery_reply', d.room, d.id, fence, bot, JSON.stringify(bot), JSON.stringify(text), '', leases, ...mentioned.flatMap((one) => [one, '', JSON.stringify(one), KINDS[one]])];
    const [reply] = await this.turn(d.room, verb);
    const [word, id] = reply.split('\n');
    if (isOther) return assert.equal(word, 'missing') ?? 'an answer of another bot';
    if (d.state === 'done') return assert.deepEqual([word, id], ['answered', d.answered]) ?? 'a second answer';
    if (d.state === 'failed' || (fence && d.fence !== fence)) return assert.equal(word, 'lost') ?? 'an answer that is lost';
    assert.equal(word, 'ok');
    Object.assign(d, { state: 'done', answered: isSilent ? '' : id });
    if (isSilent) return 'silence';
    const { message: original } = d;
    const people = [...new Set([...(original.replyTo ? [] : original.people), ...mentioned])].filter((one) => one !== bot);
    const [, , tagged, n, ...rest] = reply.split('\n');
    assert.deepEqual(JSON.parse(tagged), people, 'whom it tags');
    const leased = Array.from({ length: Number(n) }, (_, i) => ({ id: rest[3 * i], fence: rest[3 * i + 2] }));
    assert.ok(leased.length <= leases);
    this.keep(d.room, { id, kind: 'b', name: bot, text, hop: original.hop + 1, root: original.root, replyTo: original.id, people: people.filter((one) => KINDS[one] === 'u') }, people.filter((one) => KINDS[one] !== 'u'), leased);
    this.talk(d.room, bot, `${original.root} ${id}`);
    return `answer, hop ${original.hop + 1}`;
  }

  async accept() {
    const mine = this.pick(this.held.slice(-10));
    if (!mine) return 'nothing held';
    const { d, fence } = mine;
    const [word] = await this.turn(d.room, ['delivery_accept', d.room, d.id, fence]);
    if (d.state === 'accepted' && d.accepted === fence) return assert.equal(word, 'ok') ?? 'accept again';
    if (d.state !== 'leased' || d.fence !== fence) return assert.equal(word, 'lost') ?? 'an accept that is lost';
    assert.equal(word, 'ok');
    Object.assign(d, { state: 'accepted', accepted: fence, fence: '', isDue: false });
    return 'accept';
  }

  async fail() {
    const mine = this.pick(this.held.slice(-10));
    if (!mine) return 'nothing held';
    const { d, fence } = mine;
    const [word, id] = (await this.turn(d.room, ['delivery_fail', d.room, d.id, fence, '"It did not."']))[0].split('\n');
    if (!this.isOpen(d) || d.fence !== fence) return assert.equal(word, 'lost') ?? 'a notice that is lost';
    assert.equal(word, 'ok');
    this.messages[d.room].push({ id, kind: 'a', name: 'annex', text: 'It did not.', hop: 0, root: d.message.root, replyTo: d.message.id, people: [] });
    d.notices = (d.notices ?? 0) + 1;
    if (d.kind === 'p' && !d.isLate && d.state === 'waiting') Object.assign(d, { isLate: true, fence: '', isDue: false });
    else Object.assign(d, { state: 'failed', answered: id });
    return 'notice';
  }

  // A process of the bot that pulls, of which some die with a delivery in hand.
  async pull() {
    for (const d of this.deliveries.filter((one) => one.kind === 'p' && this.isOpen(one) && one.isPulled && this.below(3) === 0)) {
      await this.shardOf(d.room).cmd('ZADD', this.shardOf(d.room).key('dlv_pull:puller'), 'XX', 1, d.id);
      d.isPulled = false;
    }
    const room = this.pick(ROOMS);
    const free = this.deliveries.filter((d) => d.kind === 'p' && this.isOpen(d) && !d.isPulled && d.pulls < PULLS && this.shardOf(d.room) === this.shardOf(room));
    const [word, id, of] = (await this.turn(room, ['delivery_pull', 'puller', '']))[0].split('\n');
    if (!free.length) return assert.equal(word, 'none') ?? 'nothing to pull';
    const d = free.find((one) => one.id === id);
    assert.ok(d, `${id} was not free`);
    assert.equal(of, d.room);
    d.pulls++;
    d.isPulled = true;
    return 'pull';
  }

  // What ended long ago is removed.
  async forget() {
    const d = this.any((one) => !this.isOpen(one));
    if (!d || this.isOpen(d)) return 'none is over';
    await this.shardOf(d.room).cmd('ZADD', this.shardOf(d.room).key('dlv_done'), 'XX', 1, d.id);
    await this.take(d);
    this.deliveries = this.deliveries.filter((one) => one !== d);
    this.held = this.held.filter((one) => one.d !== d);
    return 'forget';
  }

  async read() {
    const d = this.any();
    if (!d) return 'no delivery';
    const [word, , contextN, exchangesN, ...rest] = (await this.turn(d.room, ['delivery_read', d.room, d.id]))[0].split('\n');
    const texts = [];
    for (let i = 0; i < rest.length; i += 8) texts.push([JSON.parse(rest[i + 3]), rest[i + 7]]);
    const of = (m) => [m.text, m.root];
    const all = this.messages[d.room], at = all.indexOf(d.message);
    const before = new Map(all.slice(0, at).map((m) => [m.id, m]));
    const exchanges = (this.talks[`room_talk:${d.room}:${d.bot}`] ?? []).map((entry) => before.get(entry.split(' ')[1])).filter(Boolean);
    assert.deepEqual([word, Number(contextN), Number(exchangesN)], ['ok', Math.min(50, at), exchanges.length]);
    assert.deepEqual(texts, [d.message, ...all.slice(Math.max(0, at - 50), at), ...exchanges].map(of));
    return 'read';
  }

  go() {
    const steps = { post: 6, take: 3, attempt: 6, renew: 2, answer: 8, accept: 2, fail: 2, pull: 4, read: 2 };
    if (this.below(40) === 0) return this.forget();
    return this[this.pick(Object.entries(steps).flatMap(([name, weight]) => Array(weight).fill(name)))]();
  }

  // --- what must hold ------------------------------------------------------------------------------

  async check() {
    for (const shard of this.shards) {
      const all = this.deliveries.filter((d) => this.shardOf(d.room) === shard);
      const names = (await shard.names()).filter((name) => /^(dlv|room_talk)/.test(name));
      const keys = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await shard.get(name)])));
      assert.deepEqual(names.filter((name) => name.startsWith('dlv:')), all.map(({ id }) => `dlv:${id}`).sort(), 'the deliveries');
      const counts = {};
      for (const d of all) {
        const { state, attempt, fence, answered = '', pulls = '0', is_late: isLate } = keys[`dlv:${d.id}`];
        assert.deepEqual([state, Number(attempt), fence, answered, Number(pulls), Boolean(isLate)], [d.state, d.attempt, d.fence, d.answered ?? '', d.pulls, Boolean(d.isLate)], d.id);
        assert.ok((d.notices ?? 0) <= (d.kind === 'p' ? 2 : 1), 'notices');
        if (this.isOpen(d)) counts[d.bot] = String(Number(counts[d.bot] ?? 0) + 1);
      }
      const members = (name) => Object.keys(keys[name]?.value ?? {}).sort();
      assert.deepEqual(keys.dlv_n ?? {}, counts, 'unfinished ones of each bot');
      assertQueuesOfDue(keys);
      assert.deepEqual(Object.keys(dueOf(keys, 'dlv_due')).sort(), all.filter((d) => this.isOpen(d)).map(({ id }) => id).sort(), 'somebody looks at each');
      assert.deepEqual(members('dlv_done'), all.filter((d) => !this.isOpen(d)).map(({ id }) => id).sort(), 'what is over');
      const pulled = all.filter((d) => d.kind === 'p' && this.isOpen(d));
      const listed = new Set(members('dlv_pull:puller'));
      for (const d of pulled) assert.ok(listed.delete(d.id) || d.pulls === PULLS, `${d.id} can be pulled`);
      assert.deepEqual([...listed], [], 'nothing else can be pulled');
      for (const [name, entries] of Object.entries(this.talks)) if (this.shardOf(name.split(':')[1]) === shard) assert.deepEqual((await shard.get(name)).value, entries, name);
    }
  }

  // Every room has exactly what was stored in it.
  async checkRooms() {
    for (const room of ROOMS) {
      const found = [];
      for (let after = ''; ;) {
        const page = messagesOf((await this.turn(room, list({ room, after, limit: 1000 })))[0]);
        found.push(...page);
        if (!page.length) break;
        after = page.at(-1).id;
      }
      assert.deepEqual(found.map(({ id, kind, text, replyTo, hop }) => [id, kind, text, replyTo, hop]), this.messages[room].map(({ id, kind, text, replyTo, hop }) => [id, kind, text, replyTo, hop]));
    }
  }
}

scripts('random verbs of deliveries', ({ test, shard }) => {
  const seeds = seedsTo(2);
  const seen = new Set();
  for (const n of [1, 2, 4]) for (const seed of seeds) {
    test(`a delivery has one node at a time and one answer (${n} shards, seed ${seed})`, async () => {
      const others = Array.from({ length: n - 1 }, (_, i) => shard.at(PREFIX.replace('0', i + 1)));
      const world = new World([shard, ...others], seed);
      for (const room of ROOMS) await world.shardOf(room).cmd('HSET', world.shardOf(room).key(`room:${room}`), ...Object.entries(roomKeys({ room })[`room:${room}`]).flat());
      const steps = [];
      try {
        for (let i = 0; i < STEPS; i++) {
          steps.push('(broke)');
          steps[i] = await world.go();
          await world.check();
        }
        await world.checkRooms();
        for (const { state } of world.deliveries) seen.add(state);
      } catch (error) {
        console.error(`PARLEY_SEED=${seed}, ${n} shards, after step ${steps.length}: …${steps.slice(-12).join(', ')}`);
        throw error;
      } finally {
        for (const other of others) other.ears.close();
      }
    });
  }
  test('some deliveries were done, and some failed', () => {
    for (const state of ['done', 'failed']) assert.ok(seen.has(state), state);
  });
});
