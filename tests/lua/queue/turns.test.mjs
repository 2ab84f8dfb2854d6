// SPDX-License-Identifier: MIT
//
// Idle engines take turns, over nodes too (queue/idle.lua): questions come one at a time, every engine answers at once and
// parks again where it was, and each gets its share.
import assert from 'node:assert/strict';
import { credits, random, scripts, tailOf, ttl, zset } from '../../support/lua.mjs';

// Engines by node and class: {'n1 E|*': 3} are three. Nodes give to the poll that has waited longest, as shared/queue/poll.c does.
class Engines {
  constructor(shard, spread) {
    this.shard = shard;
    this.spread = spread;
    this.parked = {};
    this.got = {};
  }

  async start() {
    for (const node of new Set(Object.keys(this.spread).map((one) => one.split(' ')[0]))) await this.shard.ears.add(node);
    for (const [where, n] of Object.entries(this.spread)) for (let i = 0; i < n; i++) await this.park(where, `${where} ${i}`);
  }

  async stop() {
    for (const node of new Set(Object.keys(this.spread).map((one) => one.split(' ')[0]))) await this.shard.ears.remove(node);
  }

  async park(where, engine) {
    const [node, cls] = where.split(' ');
    const { replies } = await this.shard.turn([['claim', 0, cls, '1']], { node });
    assert.deepEqual(replies, ['parked']);
    (this.parked[where] ??= []).push(engine);
    this.got[engine] ??= 0;
  }

  // A question comes to `node`. Returns who got it: where, and which engine. It is not parked any more.
  async ask(node, { topic = 't', model = 'default' } = {}) {
    const { events } = await this.shard.turn([['add', 0, topic, 'alice', 'F', model, 1, 1e6, tailOf({ model }), '', '', '']], { node });
    const heard = [...events.map((event) => [`node:${node}`, event]), ...(await this.shard.ears.take())];
    assert.equal(heard.length, 1, 'one engine gets it');
    const where = `${heard[0][0].slice(5)} ${heard[0][1].split('\n')[1]}`;
    const engine = this.parked[where].shift();
    assert.ok(engine, `${where} has a poll for it`);
    this.got[engine]++;
    return { where, engine };
  }

  assertEven(n, slack = 1) {
    for (const [engine, got] of Object.entries(this.got)) assert.ok(Math.abs(got - n) <= slack, `${engine} got ${got}, not ${n}: ${JSON.stringify(this.got)}`);
  }
}

const CASES = {
  'two engines on two nodes': { 'n1 E|*': 1, 'n2 E|*': 1 },
  'three and one': { 'n1 E|*': 3, 'n2 E|*': 1 },
  'nine, one and none where questions come': { 'n2 E|*': 9, 'n3 E|*': 1 },
  'of two accounts': { 'n1 E|*': 2, 'n2 F|*': 1, 'n3 F|*': 4 },
  'of one list of models': { 'n1 E|big,small': 2, 'n2 E|big,small': 5 },
  'on eight nodes': { 'n1 E|*': 1, 'n2 E|*': 2, 'n3 E|*': 3, 'n4 E|*': 1, 'n5 E|*': 5, 'n6 E|*': 1, 'n7 E|*': 2, 'n8 E|*': 1 },
};

scripts('turns of idle engines', ({ test, cases, shard }) => {
  for (const [name, spread] of Object.entries(CASES)) {
    for (const [how, ask] of [
      ['to one node', () => 'n1'],
      ['to nodes in turn', (i) => `n${1 + (i % 2)}`],
      ['to any nodes', (i, below) => `n${1 + below(3)}`],
    ]) {
      test(`${name}: each gets n of n * k questions that come ${how}, one more or less`, async () => {
        const below = random(7);
        const engines = new Engines(shard, spread);
        const k = Object.values(spread).reduce((sum, n) => sum + n);
        await engines.start();
        for (let i = 0; i < 12 * k; i++) {
          const { where, engine } = await engines.ask(ask(i, below));
          await engines.park(where, engine);
        }
        engines.assertEven(12);
        await engines.stop();
      });
    }
  }

  test('an engine that answers at once does not get what others wait for', async () => {
    const engines = new Engines(shard, { 'n1 E|*': 1, 'n2 E|*': 4 });
    await engines.start();
    const slow = [];
    for (let i = 0; i < 60; i++) {
      const got = await engines.ask('n1');
      // Those of the other node are at work for three more questions.
      if (got.where.startsWith('n1')) await engines.park(got.where, got.engine);
      else slow.push(got);
      if (slow.length > 3) {
        const { where, engine } = slow.shift();
        await engines.park(where, engine);
      }
    }
    // One or two of them are idle at a time, and it is the other one: nobody gets two questions while another is parked.
    for (const [engine, n] of Object.entries(engines.got)) assert.ok(engine.startsWith('n1') ? n >= 12 && n <= 31 : n >= 7, JSON.stringify(engines.got));
    await engines.stop();
  });

  test('a question for a model goes to the engines that name it, while one of them waits', async () => {
    const engines = new Engines(shard, { 'n1 E|*': 3, 'n2 F|small': 1, 'n3 F|big,small': 1 });
    await engines.start();
    const busy = [];
    for (let i = 0; i < 30; i++) {
      const got = await engines.ask(`n${1 + (i % 3)}`, { model: 'small' });
      const isNamed = (where) => !where.endsWith('*');
      assert.equal(isNamed(got.where), busy.length < 2, JSON.stringify([got, busy]));
      if (!isNamed(got.where)) await engines.park(got.where, got.engine);
      else busy.push(got);
      if (i % 3 === 2) for (const { where, engine } of busy.splice(0)) await engines.park(where, engine);
    }
    await engines.stop();
  });

  test('an engine that leaves and returns gains nothing', async () => {
    const engines = new Engines(shard, { 'n1 E|*': 1, 'n2 E|*': 1 });
    await engines.start();
    for (let i = 0; i < 40; i++) {
      await shard.turn([['unpark', 'E|*'], ['claim', 0, 'E|*', '1']], { node: 'n1' });
      const { where, engine } = await engines.ask('n1');
      await engines.park(where, engine);
    }
    engines.assertEven(20);
    await engines.stop();
  });

  test('a sync keeps whose turn it is', async () => {
    const engines = new Engines(shard, { 'n1 E|*': 2, 'n2 E|*': 1 });
    await engines.start();
    for (let i = 0; i < 30; i++) {
      const { where, engine } = await engines.ask('n1');
      await engines.park(where, engine);
      await shard.turn([['sync', '{}', '', 0, 0, 1, 'E|*', 2, 0, 0, '']], { node: 'n1' });
      await shard.turn([['sync', '{}', '', 0, 0, 1, 'E|*', 1, 0, 0, '']], { node: 'n2' });
    }
    engines.assertEven(10);
    await engines.stop();
  });

  const addFor = (model) => ['add', 0, 't', 'alice', 'F', model, 1, 1e6, tailOf({ model }), '', '', ''];
  const add = addFor('default');
  const reported = (cls) => (event) => event.startsWith(`claim\n${cls}\n`);
  const isOk = (reply) => reply.startsWith('ok\n');
  const rest = (idle) => ({ idle, 't:t': (found) => found.seq === '1', 'topics:alice': () => true, users: () => true, leases: () => true, meta: () => true });
  cases([
    { name: 'its own node first, while it is due', before: { idle: zset({ 'n1 E|*': '2.000001', 'n2 E|*': '9.000009' }) }, alive: ['n2'], call: add, reply: isOk, events: [reported('E|*')], after: rest(zset({ 'n1 E|*': 1, 'n2 E|*': credits(9, 9) })) },
    { name: 'another node that is due before its own that is not', before: { idle: zset({ 'n1 E|*': 9, 'n2 E|*': '2.000001' }) }, alive: ['n2'], call: add, reply: isOk, published: [['node:n2', reported('E|*')]], after: rest(zset({ 'n1 E|*': 9, 'n2 E|*': 1 })) },
    { name: 'nobody is due: a round begins for all that take the query', before: { idle: zset({ 'n1 E|*': 2, 'n2 F|*': 3, 'n2 F|big': 2 }) }, alive: ['n2'], call: addFor('small'), reply: isOk, events: [reported('E|*')], after: rest(zset({ 'n1 E|*': credits(1, 1), 'n2 F|*': credits(3, 3), 'n2 F|big': 2 })) },
    { name: 'an engine that names the model before one that takes any, which is due and on this node', before: { idle: zset({ 'n1 E|*': '2.000002', 'n2 F|big,small': 3 }) }, alive: ['n2'], call: addFor('small'), reply: isOk, published: [['node:n2', reported('F|big,small')]], after: rest(zset({ 'n1 E|*': credits(2, 2), 'n2 F|big,small': credits(2, 2) })) },
    { name: 'the engine that names the model has died: one that takes any', before: { idle: zset({ 'n1 E|*': '2.000002', 'n2 F|small': '1.000001' }) }, call: addFor('small'), reply: isOk, events: [reported('E|*')], after: rest(zset({ 'n1 E|*': credits(1, 1) })) },
    { name: 'default is named by nobody: whose turn it is', before: { idle: zset({ 'n1 E|*': '2.000002', 'n1 F|small': 1 }) }, call: addFor('default'), reply: isOk, events: [reported('E|*')], after: rest(zset({ 'n1 E|*': credits(1, 1), 'n1 F|small': 1 })) },
    { name: 'race: the node that is due has died: a round begins among the others', before: { idle: zset({ 'n1 E|*': 2, 'n2 E|*': '3.000003' }) }, call: add, reply: isOk, events: [reported('E|*')], after: rest(zset({ 'n1 E|*': credits(1, 1) })) },
    { name: 'a poll that ends leaves those that are due, as far as there are any left', before: { idle: zset({ 'n1 E|*': '3.000002', 'n1 F|*': '2.000002' }) }, calls: [['unpark', 'E|*'], ['unpark', 'F|*']], replies: ['ok', 'ok'], after: { idle: zset({ 'n1 E|*': credits(2, 2), 'n1 F|*': credits(1, 1) }) } },
    { name: 'a whole number: nobody of them is due', before: { idle: zset({ 'n2 E|*': 4 }) }, alive: ['n2'], call: add, reply: isOk, published: [['node:n2', reported('E|*')]], after: rest(zset({ 'n2 E|*': credits(3, 3) })) },
  ]);
});
