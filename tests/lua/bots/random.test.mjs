// SPDX-License-Identifier: MIT
//
// What holds whatever happens in rooms: random verbs of people who post, of bots that answer, are registered and go, of
// nodes that hold deliveries and lose them, of rooms that are full and of users who are deleted, beside a small model of
// what each room must contain. After each step all keys must follow from the messages and deliveries
// (docs/redis-keys.md), on one shard and, with rooms spread, on 2 and 4: there names are looked up on the first one. The
// seed is printed on failure; PARLEY_SEED=N runs that one alone.
import assert from 'node:assert/strict';
import { assertQueuesOfDue, dueOf, expireDue, whenDue } from '../../support/due.mjs';
import { PREFIX, random, scripts } from '../../support/lua.mjs';
import { register } from '../../support/lua_bots.mjs';
import { create, list, lookOf, messagesOf, post, postedOf, remove } from '../../support/lua_rooms.mjs';
import { seedsTo } from '../../support/seeds.mjs';

const STEPS = 250;
const NODES = ['n1', 'n2', 'n3'];
const NAMESPACES = ['%', 'acme'];
const PEOPLE = ['alice', 'bob', 'carl'];
const BOTS = ['bot', 'other', 'puller'];
const ACCOUNTS = { alice: 'F', bob: 'G', carl: 'G' }; // G has a limit, and is counted
const MAX = 1e12, BYTES_MAX = 64 << 20, HOPS_MAX = 4, BUSY = 100, BLOCK = 4096, UNIT = 65_536;
const OVER = ['done', 'failed'];
const whole = (bytes, of = BLOCK) => Math.ceil(bytes / of) * of;

// What the tester knows: names (name -> as in room_names), uses (name -> shards), rooms {id, namespace, user, n, last, members, messages}, deliveries {id, room,
// message, bot, kind, hop, state, fence, isBusy, isLate}.
class World {
  constructor(shards, seed) {
    Object.assign(this, { shards, below: random(seed), names: new Map(), uses: new Map(), rooms: [], deliveries: [], ids: 0, made: 0 });
  }

  pick(items) {
    return items[this.below(items.length)];
  }
  shardOf(room) {
    return this.shards[parseInt(room.id[0], 16) % this.shards.length];
  }
  nameOf(namespace, plain) {
    return namespace === '%' ? plain : `${namespace}~${plain}`;
  }
  async turn(shard, verb, node = this.pick(NODES)) {
    return (await shard.turn([verb], { node, shards: this.shards.length })).replies[0];
  }
  kindOf(name) {
    return (this.names.get(name) ?? 'n')[0];
  }
  claimed(name, account, shard) {
    if (this.kindOf(name) === 'n') this.names.set(name, `u ${account} ${lookOf(name)}`);
    this.uses.set(name, (this.uses.get(name) ?? new Set()).add(shard));
  }
  // `of`: an account, or all of them.
  unfinished(bot, shard, of) {
    return this.deliveries.filter((d) => d.bot === bot && this.shardOf(d.room) === shard && !OVER.includes(d.state) && (!of || d.account === of)).length;
  }

  // --- what must have become of a message ---------------------------------------------------------

  // m: {id, kind, name, tags: [[name, kind]], replyTo, hop, text, account, whose}. bots: those that it calls.
  stored(room, m, bots, leaseN, found) {
    const plain = m.kind === 'b' ? m.name : m.name.replace(/^.*~/, '');
    const tagged = JSON.stringify(m.tags.map(([one]) => one));
    m.tagged = tagged;
    m.bytes = JSON.stringify(m.text).length + JSON.stringify(plain).length + tagged.length + m.tags.map(([one, kind]) => `${kind}.${one} ${JSON.stringify(one)}`).join('\n').length + 300;
    m.root = room.messages.find(({ id }) => id === m.replyTo)?.root ?? m.id;
    room.messages.push(m);
    Object.assign(room, { n: room.n + 1, last: m.id });
    if (m.kind === 'u') room.members.add(m.name);
    const leased = [];
    if (m.hop < HOPS_MAX) {
      bots.forEach(([bot, kind], i) => {
        const shard = this.shardOf(room), isBusy = this.unfinished(bot, shard) >= BUSY || this.unfinished(bot, shard, m.account) >= BUSY / 2;
        const d = { id: `dlv_${room.id}_${m.id}_${i + 1}`, room, message: m.id, bot, kind, account: m.account, hop: m.hop, state: 'waiting', fence: '', isBusy };
        if (kind === 'b' && !isBusy && leaseN-- > 0) {
          d.state = 'leased';
          leased.push(d);
        }
        this.deliveries.push(d);
      });
    }
    assert.deepEqual(found.map(({ id, bot }) => [id, bot]), leased.map(({ id, bot }) => [id, bot]), 'deliveries of this node');
    leased.forEach((d, i) => (d.fence = found[i].fence));
  }

  // A room that lost its oldest messages, since it was that full.
  trimmed(room, extra) {
    const sum = () => room.messages.reduce((n, { bytes }) => n + bytes, extra);
    while (room.messages.length > 1 && sum() > BYTES_MAX) room.messages.shift();
  }

  // --- steps ---------------------------------------------------------------------------------------

  async create() {
    if (this.rooms.length >= 6) return 'rooms enough';
    const namespace = this.pick(NAMESPACES), id = `${this.made % 10}`.repeat(20) + `${this.made++}`.padStart(4, '0');
    const user = this.nameOf(namespace, this.pick(PEOPLE));
    const room = { id, namespace, user, n: 0, last: '', members: new Set([user]), messages: [] };
    assert.equal(await this.turn(this.shardOf(room), create({ room: id, namespace, user })), 'ok');
    assert.equal(await this.turn(this.shardOf(room), create({ room: id, namespace, user: 'someone' })), 'ok');
    this.rooms.push(room);
    return `create ${id[0]}`;
  }

  // A person posts, as a node does it: on a shard other than that of the names it calls again with what it looked up.
  async post(extra = 0) {
    const room = this.pick(this.rooms);
    if (!room) return 'no room';
    const { namespace, id } = room, shard = this.shardOf(room);
    const plain = this.pick(PEOPLE), name = this.nameOf(namespace, plain), account = ACCOUNTS[plain];
    const wanted = [...PEOPLE, ...BOTS, 'nobody'].filter(() => this.below(4) === 0).map((one) => this.nameOf(namespace, one));
    const original = this.below(3) === 0 ? this.pick(room.messages) : undefined;
    const must = this.below(8) === 0;
    const isHere = shard === this.shards[0];
    const text = 'x'.repeat(this.below(10) ? this.below(200) : this.below(9000)), leases = this.below(3);
    if (extra) await shard.cmd('HINCRBY', shard.key(`room:${id}`), 'bytes', extra);
    const options = { room: id, namespace, name, text, account, replyTo: original?.id ?? '', isHere, leases, max: account === 'G' ? MAX : '', mentions: wanted.map((one) => [one, 'x', must]) };
    const node = this.pick(NODES);
    let reply = await this.turn(shard, post(options), node);
    if (reply.startsWith('resolve')) {
      assert.ok(!isHere, 'names are here');
      const claim = reply.split('\n')[1];
      if (claim !== '0') assert.equal(await this.turn(this.shards[0], ['name_claim', name, lookOf(name), namespace, account, claim], node), 'ok');
      this.claimed(name, account, shard);
      const missing = reply.split('\n').slice(2).filter(Boolean);
      const kinds = missing.length ? (await this.turn(this.shards[0], ['names_find', ...missing.flatMap((one) => [one, lookOf(one)])], node)).split('\n').slice(1) : [];
      const known = Object.fromEntries(missing.map((one, i) => [one, kinds[i]]));
      for (const one of missing) assert.equal(known[one], this.kindOf(one), `whose ${one} is`);
      reply = await this.turn(shard, post({ ...options, claim: claim === '0' ? '' : claim, replyKind: known[original?.name] ?? 'x', mentions: wanted.map((one) => [one, known[one], must]) }), node);
    }
    const kinds = wanted.map((one) => [one, one === name ? 'u' : this.kindOf(one)]);
    const unknown = kinds.findIndex(([, kind]) => kind === 'n');
    if (must && unknown >= 0) {
      assert.equal(reply, `unknown\n${unknown + 1}`);
      if (extra) await shard.cmd('HINCRBY', shard.key(`room:${id}`), 'bytes', -extra);
      return 'a tag of nobody';
    }
    const posted = postedOf(reply);
    this.claimed(name, account, shard);
    const tags = kinds.filter(([, kind]) => kind !== 'n');
    assert.deepEqual(posted.tagged, tags.map(([one]) => one));
    const bots = tags.filter(([, kind]) => kind !== 'u');
    const asked = original?.kind === 'b' && this.kindOf(original.name);
    if (['b', 'p'].includes(asked) && !bots.some(([one]) => one === original.name)) bots.push([original.name, asked]);
    this.stored(room, { id: posted.id, kind: 'u', name, tags, replyTo: options.replyTo, hop: 0, text, account, whose: account === 'G' ? `G ${name}` : '' }, bots, leases, posted.deliveries);
    if (!extra) return `post ${posted.id} in ${id[0]}`;
    this.trimmed(room, extra);
    await shard.cmd('HINCRBY', shard.key(`room:${id}`), 'bytes', -extra);
    return `post ${posted.id} in ${id[0]}, which is full`;
  }

  // A post into a room that seems to have so many bytes that some of its oldest messages have to go.
  full() {
    return this.post(BYTES_MAX - this.below(6000));
  }

  // A delivery: mostly one that is unfinished, and one of its fences.
  any() {
    const open = this.deliveries.filter(({ state }) => !OVER.includes(state));
    return this.pick(this.below(6) && open.length ? open : this.deliveries);
  }

  originalOf(d) {
    return d.room.messages.find(({ id }) => id === d.message);
  }

  async reply() {
    const d = this.any();
    if (!d) return 'no delivery';
    const shard = this.shardOf(d.room), isHere = shard === this.shards[0];
    const isFormer = this.below(5) === 0;
    const fence = isFormer ? '999999' : this.below(2) ? d.fence : '';
    const wanted = [...PEOPLE, ...BOTS, 'nobody'].filter(() => this.below(6) === 0).map((one) => this.nameOf(d.room.namespace, one));
    const text = 'y'.repeat(this.below(500)), leases = this.below(3);
    const kinds = wanted.map((one) => [one, this.kindOf(one)]);
    const call = (of) => ['delivery_reply', d.room.id, d.id, fence, d.bot, JSON.stringify(d.bot), JSON.stringify(text), isHere ? '1' : '', leases, ...of.flatMap(([one, kind]) => [one, lookOf(one), JSON.stringify(one), kind])];
    const original = this.originalOf(d);
    let answer = await this.turn(shard, call(wanted.map((one) => [one, 'x'])));
    if (answer.startsWith('resolve')) {
      assert.ok(!isHere);
      assert.deepEqual(answer.split('\n').slice(2), wanted);
      answer = await this.turn(shard, call(kinds));
    }
    if (d.state === 'done') return assert.equal(answer, `answered\n${d.answered}`) ?? 'a second answer';
    if (d.state === 'failed' || (fence !== '' && fence !== d.fence)) return assert.equal(answer, 'lost') ?? 'an answer too late';
    if (!original) {
      assert.equal(answer, 'missing');
      d.state = 'failed';
      return 'an answer to a message that is gone';
    }
    const { id, tagged, deliveries } = postedOf(answer);
    const tags = [], seen = new Set([d.bot]);
    const people = original.replyTo === '' ? original.tags.filter(([, kind]) => kind === 'u') : [];
    for (const [one, kind] of [...people, ...kinds.filter(([, kind]) => kind !== 'n')]) {
      if (seen.has(one)) continue;
      seen.add(one);
      tags.push([one, kind]);
    }
    assert.deepEqual(tagged, tags.map(([one]) => one));
    Object.assign(d, { state: 'done', answered: id });
    // It is still counted as unfinished while the deliveries of its reply are created.
    d.state = 'leased';
    this.stored(d.room, { id, kind: 'b', name: d.bot, tags, replyTo: original.id, hop: d.hop + 1, text, account: d.account, whose: '' }, tags.filter(([, kind]) => kind !== 'u').slice(0, 3), leases, deliveries);
    d.state = 'done';
    return `reply ${id} of ${d.bot}, hop ${d.hop + 1}`;
  }

  taskOf(d) {
    if (d.isBusy) return 'busy';
    if (d.state === 'accepted') return 'over';
    return d.kind === 'p' ? (d.isLate ? 'over' : 'late') : 'call';
  }

  async fail() {
    const d = this.any();
    if (!d || d.fence === '') return 'nobody has it';
    const text = 'It did not answer.';
    const answer = await this.turn(this.shardOf(d.room), ['delivery_fail', d.room.id, d.id, d.fence, JSON.stringify(text)]);
    if (OVER.includes(d.state)) return assert.equal(answer, 'lost') ?? 'a notice too late';
    const original = this.originalOf(d), id = answer.split('\n')[1];
    const isLate = this.taskOf(d) === 'late';
    assert.equal(id === '', !original);
    if (original) this.stored(d.room, { id, kind: 'a', name: 'annex', tags: [], replyTo: original.id, hop: 0, text, whose: '' }, [], 0, []);
    if (isLate && original) Object.assign(d, { isLate: true, fence: '' });
    else Object.assign(d, { state: 'failed', answered: id });
    return `notice ${id}`;
  }

  async accept() {
    const d = this.any();
    if (!d || d.fence === '') return 'nobody has it';
    const can = d.state === 'leased';
    assert.equal(await this.turn(this.shardOf(d.room), ['delivery_accept', d.room.id, d.id, d.fence]), can ? 'ok' : 'lost');
    if (can) Object.assign(d, { state: 'accepted', fence: '' });
    return `accept: ${can}`;
  }

  // Some nodes die: the time of what they hold passes. Then others take it.
  async take() {
    for (const shard of this.shards) {
      const ours = this.deliveries.filter((d) => this.shardOf(d.room) === shard && !OVER.includes(d.state));
      for (const d of ours.filter(() => this.below(3) === 0)) await expireDue(shard, 'dlv_due', d.id);
      const now = Number((await shard.cmd('TIME'))[0]) * 1000;
      const due = new Set();
      for (const d of ours) if (((await whenDue(shard, 'dlv_due', d.id)) ?? Infinity) <= now - 1000) due.add(d.id);
      const got = (await this.turn(shard, ['delivery_take', 100])).split('\n').filter(Boolean);
      for (let i = 0; i < got.length; i += 8) {
        const [id, fence, bot, task] = got.slice(i, i + 4), d = ours.find((one) => one.id === id);
        assert.ok(d, `${id} is over, or unknown`);
        assert.deepEqual([bot, task], [d.bot, this.taskOf(d)]);
        assert.ok(Number(fence) > Number(d.fence), 'fences rise');
        d.fence = fence;
        if (d.kind === 'b' && d.state === 'waiting') d.state = 'leased';
        due.delete(id);
      }
      assert.ok(due.size === 0 || got.length === 800, 'all that was due is taken, up to a hundred');
    }
    return 'take';
  }

  async pull() {
    const namespace = this.pick(NAMESPACES), bot = this.nameOf(namespace, 'puller'), shard = this.pick(this.shards);
    const [word, id] = (await this.turn(shard, ['delivery_pull', bot, ''])).split('\n');
    if (word === 'none') return 'nothing to pull';
    const d = this.deliveries.find((one) => one.id === id);
    assert.ok(d && d.bot === bot && this.shardOf(d.room) === shard && !OVER.includes(d.state) && !d.isBusy, `${bot} may have ${id}`);
    d.pulls = (d.pulls ?? 0) + 1;
    assert.ok(d.pulls <= 5);
    if (this.below(2)) await shard.cmd('ZADD', shard.key(`dlv_pull:${bot}`), 'XX', 1, id);
    return `pull ${id}`;
  }

  async register() {
    const namespace = this.pick(NAMESPACES), plain = this.pick(BOTS), bot = this.nameOf(namespace, plain), [shard] = this.shards;
    if (['b', 'p'].includes(this.kindOf(bot))) {
      if (this.below(4)) return 'it is there';
      assert.equal(await this.turn(shard, ['bot_delete', 0, bot, 'F', 'alice', '']), 'ok');
      this.names.delete(bot);
      return `unregister ${bot}`;
    }
    const isPulling = plain === 'puller';
    assert.equal(await this.turn(shard, register({ bot, namespace, id: `id${++this.ids}`, username: plain, endpoint: isPulling ? '' : 'http://bot.example/' })), 'ok\n1');
    this.names.set(bot, isPulling ? 'p' : 'b');
    return `register ${bot}`;
  }

  // Who is a user cannot be a bot, and the other way round.
  async claim() {
    const namespace = this.pick(NAMESPACES), name = this.nameOf(namespace, this.pick([...PEOPLE, ...BOTS])), [shard] = this.shards;
    const kind = this.kindOf(name);
    if (kind === 'u') assert.equal(await this.turn(shard, register({ bot: name, namespace })), 'taken');
    else if (kind !== 'n') assert.equal(await this.turn(shard, ['name_claim', name, lookOf(name), namespace, 'F']), 'taken');
    return `claim ${name}`;
  }

  async read() {
    const room = this.pick(this.rooms);
    if (!room) return 'no room';
    const found = [];
    for (let after = '', isMore = true; isMore; after = found.at(-1)?.id) {
      const answer = await this.turn(this.shardOf(room), list({ room: room.id, namespace: room.namespace, after, limit: 1 + this.below(20) }));
      found.push(...messagesOf(answer));
      isMore = answer.split('\n')[1] === '1';
    }
    assert.deepEqual(found.map(({ id, text }) => [id, text]), room.messages.map(({ id, text }) => [id, text]));
    for (const verb of [list({ room: room.id, namespace: 'elsewhere' }), ['room_watch', room.id, 'elsewhere', ''], post({ room: room.id, namespace: 'elsewhere' })])
      assert.equal(await this.turn(this.shardOf(room), verb), 'missing', 'another namespace has no such room');
    return 'read';
  }

  // Its maker or an operator deletes a room.
  async remove() {
    const room = this.pick(this.rooms);
    if (!room || this.below(4)) return 'no room goes';
    const isOperator = room.user === '%' || this.below(2) === 0, { id, namespace, user } = room;
    const call = (more) => this.turn(this.shardOf(room), remove({ room: id, namespace, user, isOperator, ...more }));
    assert.equal(await call({ user: 'someone', isOperator: false }), 'forbidden');
    assert.equal(await call({ namespace: 'elsewhere', isOperator: false }), 'missing');
    for (let answer = await call(); answer !== 'done'; answer = await call({ hasBegun: true })) assert.equal(answer, 'more');
    assert.equal(await call(), 'missing');
    this.rooms = this.rooms.filter((one) => one !== room);
    this.deliveries = this.deliveries.filter((d) => d.room !== room || !room.messages.some((m) => m.id === d.message));
    room.messages = [];
    return `remove ${id[0]}`;
  }

  async forget() {
    if (this.below(4)) return 'nobody leaves';
    const namespace = this.pick(NAMESPACES), user = this.nameOf(namespace, this.pick(PEOPLE));
    let gone = 0;
    for (const shard of this.shards) {
      for (let after = '', word = 'more', n; word === 'more'; gone += Number(n)) [word, n, after = ''] = (await this.turn(shard, ['room_forget_user', 0, user, after])).split('\n');
    }
    const before = this.rooms.reduce((n, { messages }) => n + messages.length, 0), all = this.rooms;
    this.deliveries = this.deliveries.filter((d) => !d.room.messages.some((m) => m.id === d.message && m.kind === 'u' && m.name === user));
    for (const room of this.rooms) {
      room.messages = room.messages.filter(({ kind, name }) => kind !== 'u' || name !== user);
      const had = room.members.delete(user);
      if (room.user === user) room.user = '%';
      room.isGone = room.user === '%' && room.messages.length === 0 && had;
    }
    this.rooms = this.rooms.filter(({ isGone }) => !isGone);
    assert.equal(gone, before - all.reduce((n, { messages }) => n + messages.length, 0));
    if (this.kindOf(user) === 'u') this.names.delete(user);
    this.uses.delete(user);
    return `forget ${user}: ${gone}`;
  }

  authorsOf(shard) {
    const rooms = this.rooms.filter((room) => this.shardOf(room) === shard);
    return new Set(rooms.flatMap(({ messages }) => messages.filter(({ kind }) => kind === 'u').map(({ name }) => name)));
  }

  // What shards have put into their outboxes is done, as a node does it.
  async carry() {
    for (const shard of this.shards) {
      const items = await this.turn(shard, ['outbox', '1']);
      if (items === '') continue;
      assert.equal(await this.turn(this.shards[0], ['release_names', ...items.split('\n')]), 'ok');
      await this.turn(shard, ['outbox', '', ...items.split('\n')]);
    }
  }

  // A shard uses a name until its user has no message there any more. Without uses it is free.
  async step() {
    const before = this.shards.map((shard) => this.authorsOf(shard));
    const said = await this.go();
    await this.carry();
    for (const [i, shard] of this.shards.entries())
      for (const name of before[i]) {
        if (this.authorsOf(shard).has(name) || !this.uses.has(name)) continue;
        this.uses.get(name).delete(shard);
        if (this.uses.get(name).size > 0) continue;
        this.uses.delete(name);
        this.names.delete(name);
      }
    return said;
  }

  go() {
    return this[this.pick(['create', 'post', 'post', 'post', 'post', 'post', 'full', 'reply', 'reply', 'reply', 'reply', 'fail', 'accept', 'take', 'pull', 'register', 'register', 'claim', 'read', 'forget', 'remove'])]();
  }

  // --- what must hold ------------------------------------------------------------------------------

  async check() {
    for (const shard of this.shards) {
      const names = (await shard.names()).filter((name) => name !== 'meta');
      const keys = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await shard.get(name)])));
      this.checkRooms(keys, this.rooms.filter((room) => this.shardOf(room) === shard));
      this.checkDeliveries(keys, this.deliveries.filter((d) => this.shardOf(d.room) === shard));
      this.checkNames(keys, shard === this.shards[0]);
      assert.deepEqual((keys.names_known?.value ?? []).sort(), this.shards.length > 1 ? [...this.authorsOf(shard)].sort() : [], 'names_known');
      const rest = names.filter((name) => !/^(room|room_messages|room_members|rooms|rooms_of|room_talk|dlv|dlv_due|dlv_pull|dlv_polls|bot|bots|bots_of):|^(messages_of|stored|dlv_due|dlv_done|dlv_n|dlv_of|names_n|names_known|name_uses:.*|room_names|room_looks|rooms_n|rooms_empty|bots_n)$/.test(name));
      assert.deepEqual(rest, [], 'keys that belong to nothing');
    }
  }

  checkRooms(keys, rooms) {
    const counts = {}, stored = {}, members = {}, listed = {};
    const add = (to, key, n) => (to[key] = (to[key] ?? 0) + n);
    assert.deepEqual(Object.keys(keys).filter((name) => name.startsWith('room:')).sort(), rooms.map(({ id }) => `room:${id}`).sort());
    for (const room of rooms) {
      const { namespace, n, last, bytes, user } = keys[`room:${room.id}`];
      assert.deepEqual([namespace, Number(n), last, user], [room.namespace, room.n, room.last, room.user], room.id);
      assert.equal(Number(bytes), room.messages.reduce((sum, m) => sum + m.bytes, 0), `${room.id}: bytes`);
      const found = (keys[`room_messages:${room.id}`]?.value ?? []).map(([id, m]) => [id, m.kind, m.name, JSON.parse(m.text), m.tagged, m.reply_to, m.root, Number(m.hop), m.whose, Number(m.bytes)]);
      assert.deepEqual(found, room.messages.map((m) => [m.id, m.kind, m.name, m.text, m.tagged, m.replyTo, m.root, m.hop, m.whose, m.bytes]), `${room.id}: its messages`);
      for (const m of room.messages) {
        if (m.kind === 'u') add(counts, m.name, 1);
        if (m.whose) add(stored, m.whose, whole(m.bytes));
      }
      for (const user of room.members) (members[`rooms_of:${user}`] ??= []).push(room.id);
      (listed[`rooms:${room.namespace}`] ??= []).push(room.id);
    }
    const numbers = (hash) => Object.fromEntries(Object.entries(hash ?? {}).map(([field, n]) => [field, Number(n)]));
    const zsets = (prefix) => Object.fromEntries(Object.keys(keys).filter((name) => name.startsWith(prefix)).map((name) => [name, Object.keys(keys[name].value).sort()]));
    const usersIn = Object.keys(keys).filter((name) => name.startsWith('room_members:')).map((name) => [name, keys[name].value.filter((one) => one.startsWith('u.')).sort()]);
    const users = Object.fromEntries(usersIn.filter(([, list]) => list.length > 0)); // a room may be left to bots
    assert.deepEqual(numbers(keys.messages_of), counts, 'messages_of');
    assert.deepEqual(users, Object.fromEntries(rooms.filter((room) => room.members.size > 0).map((room) => [`room_members:${room.id}`, [...room.members].map((user) => `u.${user}`).sort()])), 'room_members');
    assert.deepEqual(zsets('rooms_of:'), Object.fromEntries(Object.entries(members).map(([name, ids]) => [name, ids.sort()])), 'rooms_of');
    assert.deepEqual(Object.keys(keys.rooms_empty?.value ?? {}).sort(), rooms.filter(({ messages }) => messages.length === 0).map(({ id }) => id).sort(), 'rooms_empty');
    const owned = rooms.filter(({ user }) => user !== '%').length;
    assert.deepEqual(numbers(keys.rooms_n), owned ? { F: owned } : {}, 'rooms_n');
    assert.deepEqual(zsets('rooms:'), Object.fromEntries(Object.entries(listed).map(([name, ids]) => [name, ids.sort()])), 'rooms');
    const sums = { ...stored };
    for (const [whose, n] of Object.entries(stored)) add(sums, whose.split(' ')[0], whole(n, UNIT));
    assert.deepEqual(numbers(keys.stored), sums, 'stored');
  }

  checkDeliveries(keys, deliveries) {
    assert.deepEqual(Object.keys(keys).filter((name) => name.startsWith('dlv:')).sort(), deliveries.map(({ id }) => `dlv:${id}`).sort());
    const counts = {}, ofAccounts = {};
    for (const d of deliveries) {
      const is = keys[`dlv:${d.id}`];
      assert.deepEqual([is.state, is.bot, is.message, Number(is.hop), is.fence], [d.state, d.bot, d.message, d.hop, d.fence], d.id);
      assert.equal(Number(is.pulls ?? 0), d.pulls ?? 0, d.id);
      if (OVER.includes(d.state)) continue;
      counts[d.bot] = (counts[d.bot] ?? 0) + 1;
      ofAccounts[`${d.bot} ${d.account}`] = (ofAccounts[`${d.bot} ${d.account}`] ?? 0) + 1;
    }
    const ids = (of) => deliveries.filter(of).map(({ id }) => id).sort();
    assertQueuesOfDue(keys);
    assert.deepEqual(Object.keys(dueOf(keys, 'dlv_due')).sort(), ids(({ state }) => !OVER.includes(state)), 'each unfinished delivery has a time');
    assert.deepEqual(Object.keys(keys.dlv_done?.value ?? {}).sort(), ids(({ state }) => OVER.includes(state)), 'the others have ended');
    const numbers = (hash) => Object.fromEntries(Object.entries(hash ?? {}).map(([field, n]) => [field, Number(n)]));
    assert.deepEqual([numbers(keys.dlv_n), numbers(keys.dlv_of)], [counts, ofAccounts], 'dlv_n and dlv_of');
    for (const name of Object.keys(keys).filter((one) => one.startsWith('dlv_pull:')))
      for (const id of Object.keys(keys[name].value)) assert.ok(deliveries.some((d) => d.id === id && `dlv_pull:${d.bot}` === name && !OVER.includes(d.state)), `${id} may be pulled`);
    for (const name of Object.keys(keys).filter((one) => one.startsWith('room_talk:'))) assert.ok(keys[name].value.length <= 100);
  }

  checkNames(keys, isFirst) {
    const found = keys.room_names ?? {};
    assert.deepEqual(found, isFirst ? Object.fromEntries(this.names) : {}, 'names');
    const counts = {}, looks = {};
    for (const [name, value] of this.names) {
      const namespace = name.includes('~') ? name.split('~')[0] : '%', [kind, account] = value.split(' ');
      if (kind === 'u') for (const whose of [namespace, `${namespace} ${account}`]) counts[whose] = (counts[whose] ?? 0) + 1;
      looks[lookOf(name)] = kind === 'u' ? '1' : `@${name}`;
    }
    assert.deepEqual(keys.room_looks ?? {}, isFirst ? looks : {}, 'room_looks');
    assert.deepEqual(Object.fromEntries(Object.entries(keys.names_n ?? {}).map(([namespace, n]) => [namespace, Number(n)])), isFirst ? counts : {}, 'names_n');
    const uses = this.shards.length > 1 && isFirst ? [...this.uses.keys()].map((name) => `name_uses:${name}`) : [];
    assert.deepEqual(Object.keys(keys).filter((name) => name.startsWith('name_uses:')).sort(), uses.sort(), 'name_uses');
  }
}

scripts('random verbs of rooms', ({ test, shard }) => {
  const seeds = seedsTo(2);
  for (const n of [1, 2, 4]) for (const seed of seeds) {
    test(`a room has each message once, and each delivery ends once (${n} shards, seed ${seed})`, async () => {
      const others = Array.from({ length: n - 1 }, (_, i) => shard.at(PREFIX.replace('0', i + 1)));
      const world = new World([shard, ...others], seed);
      const steps = [], kinds = new Set(), calls = new Set();
      try {
        for (let i = 0; i < STEPS; i++) {
          steps.push('(broke)');
          steps[i] = await world.step();
          for (const { id } of world.deliveries) calls.add(id);
          for (const { messages } of world.rooms) for (const { kind } of messages) kinds.add(kind);
          await world.check();
        }
      } catch (error) {
        console.error(`PARLEY_SEED=${seed}, ${n} shards, after step ${steps.length}: …${steps.slice(-12).join(', ')}`);
        throw error;
      } finally {
        for (const other of others) other.ears.close();
      }
      assert.ok(calls.size > 5 && kinds.has('u') && kinds.has('b'), 'bots were called, and answered');
    });
  }
});
