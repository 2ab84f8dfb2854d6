// SPDX-License-Identifier: MIT
//
// claim, unpark, supersede, sync: engines' polls, their credits, and what a node says of itself.
import assert from 'node:assert/strict';
import { ago, lines, openOf, rowOf, scripts, set, soon, tailOf, topicOf, ttl, zset } from '../../support/lua.mjs';

const minute = () => Math.floor(Date.now() / 60_000);
const day = () => Math.floor(Date.now() / 86_400_000);
// Seconds until that day begins.
const untilDay = (number) => Math.floor(number * 86_400 - Date.now() / 1000);

// Topic t with one Open query of alice, waiting since 1970.
const waiting = (topic = 't', { user = 'alice', model = 'default', vt = 0 } = {}) => ({
  [`t:${topic}`]: { ...topicOf([undefined], { user }), open: openOf([1, 0, { user, model }]) },
  [`open:${model}:${user}`]: zset({ [topic]: 1_000_000 }),
  [`turns:${model}`]: zset({ [user]: vt }),
  models: set(model),
  waiting: { [`Frontend_1 ${user}`]: '1' },
  meta: { lease: '0', depth: '1', vt: '0.000000' },
});
const nothingWaits = { 'open:default:alice': null, 'turns:default': null, models: null, waiting: null };
const claimed = {
  ...nothingWaits,
  't:t': { ...topicOf(['P 1 1 E 1']), open: '' },
  leases: zset({ '1 t': soon(2000) }),
  meta: { lease: 1, depth: 0, vt: '0.000000' },
};
const CLAIM = lines('claim', 'E|*', 't', 1, 1, 1, 1, rowOf({ query: 'Q1' }));

scripts('claim', ({ cases }) => {
  cases([
    { name: 'no work, and it may not wait', call: ['claim', 0, 'E|*', '0'], reply: 'empty' },
    { name: 'no work: the poll is a credit', call: ['claim', 0, 'E|*', '1'], reply: 'parked', after: { idle: zset({ 'n1 E|*': 1 }) } },
    { name: 'polls of one class add up', calls: Array(3).fill(['claim', 0, 'E|a,b', '1']), replies: Array(3).fill('parked'), after: { idle: zset({ 'n1 E|a,b': 3 }) } },
    { name: 'work: Pending under a new lease, short until it is delivered', before: waiting(), call: ['claim', 0, 'E|*', '1'], reply: CLAIM, after: claimed },
    {
      name: 'race: two engines ask at once: one has it',
      before: waiting(),
      calls: [['claim', 0, 'E|*', '0'], ['claim', 0, 'F|*', '0']],
      replies: [CLAIM, 'empty'],
      after: claimed,
    },
    {
      name: 'all Open queries of the topic go together, Pending and Done ones stay',
      before: {
        ...waiting(),
        't:t': { ...topicOf(['D', undefined, 'P 1 1 F 1', undefined], { 'a:1': 'x' }), open: openOf([2, 2], [4, 0]) },
        waiting: { 'Frontend_1 alice': '2' },
        leases: zset({ '1 t': 9e12 }),
        meta: { lease: '1', depth: '2', vt: '0.000000' },
      },
      call: ['claim', 0, 'E|*', '0'],
      reply: lines('claim', 'E|*', 't', 2, 3, 2, 2, rowOf({ ms: 1001, query: 'Q2' }), 4, rowOf({ ms: 1003, query: 'Q4' })),
      after: {
        ...nothingWaits,
        't:t': { ...topicOf(['D', 'P 2 3 E 2', 'P 1 1 F 1', 'P 2 1 E 2'], { 'a:1': 'x', 'l:2': '2 4' }), open: '' },
        leases: zset({ '1 t': 9e12, '2 t': soon(2000) }),
        meta: { lease: 2, depth: 0, vt: '0.000000' },
      },
    },
    {
      name: 'queries of other models stay Open in their places',
      before: {
        ...waiting(),
        't:t': { ...topicOf([undefined, undefined, undefined]), open: openOf([1, 0, { model: 'big' }], [2], [3, 0, { model: 'big' }]) },
        'open:big:alice': zset({ t: 1_000_000 }),
        'turns:big': zset({ alice: 0 }),
        models: set('default', 'big'),
        waiting: { 'Frontend_1 alice': '3' },
        meta: { lease: '0', depth: '3', vt: '0.000000' },
      },
      call: ['claim', 0, 'E|small', '0'],
      reply: lines('claim', 'E|small', 't', 1, 1, 1, 2, rowOf({ ms: 1001, query: 'Q2' })),
      after: {
        't:t': {
          ...topicOf([undefined, 'P 1 1 E 1', undefined]),
          open: openOf([1, 0, { model: 'big' }], [3, 0, { model: 'big' }]),
        },
        'open:default:alice': null,
        'turns:default': null,
        models: set('big'),
        served: zset({ alice: 1 }),
        'turns:big': zset({ alice: 1 }),
        waiting: { 'Frontend_1 alice': 2 },
        leases: zset({ '1 t': soon(2000) }),
        meta: { lease: 1, depth: 2, vt: '0.000000' },
      },
    },
    {
      name: 'an engine with other models is parked beside work that is not for it',
      before: { ...waiting('t', { model: 'big' }) },
      call: ['claim', 0, 'E|small', '1'],
      reply: 'parked',
      after: { idle: zset({ 'n1 E|small': 1 }) },
    },
    {
      name: 'a stale entry of the queue is dropped, and the next topic taken',
      before: {
        ...waiting(),
        'open:default:alice': zset({ gone: 1, t: 1_000_000 }),
      },
      call: ['claim', 0, 'E|*', '0'],
      reply: CLAIM,
      after: claimed,
    },
    { name: 'after its last stale entry the queue is empty', before: { 'open:default:alice': zset({ gone: 1 }), 'turns:default': zset({ alice: 0 }), models: set('default') }, call: ['claim', 0, 'E|*', '0'], reply: 'empty', after: nothingWaits },
  ]);
});

scripts('claim by an engine that names itself', ({ cases, test }) => {
  cases([
    { name: 'its poll is known', call: ['claim', 0, 'E|*', 1, 'box', 7], reply: 'parked', after: { idle: zset({ 'n1 E|*': 1 }), 'poll:E:box': ttl(300, 'n1 7') } },
    { name: 'it ends the older one, on another node', before: { 'poll:E:box': 'n2 7' }, alive: ['n2'], call: ['claim', 0, 'E|*', 1, 'box', 1], reply: 'parked', published: [['node:n2', 'supersede\nE\nbox\n7']], after: { idle: zset({ 'n1 E|*': 1 }), 'poll:E:box': ttl(300, 'n1 1') } },
    { name: 'one that does not wait ends the rest of its engine', before: { 'poll:E:box': 'away' }, call: ['claim', 0, 'E|*', 0, 'box', 0], reply: 'empty', after: { 'poll:E:box': null } },
    { name: 'one that does not wait ends none that does', before: { 'poll:E:box': 'n2 7' }, alive: ['n2'], call: ['claim', 0, 'E|*', 0, 'box', 0], reply: 'empty' },
  ]);

  test('with a used nonce it ends no poll and no rest', async (shard) => {
    const nonce = Buffer.from('0123456789abcdef');
    await shard.turn([['nonce', 1]], { nonces: [nonce] });
    for (const [name, held] of [['box', 'n2 7'], ['bag', 'away']]) {
      await shard.cmd('SET', shard.key(`poll:E:${name}`), held);
      for (const verb of [['claim', 1, 'E|*', 1, name, 8], ['claim', 1, 'E|*', 0, name, 0], ['supersede', 1, 'E', name, 8]]) {
        const { replies, events } = await shard.turn([verb], { nonces: [nonce] });
        assert.deepEqual([replies, events], [['replay'], []]);
      }
      assert.equal(await shard.cmd('GET', shard.key(`poll:E:${name}`)), held);
    }
    assert.equal(await shard.cmd('EXISTS', shard.key('idle')), 0);
  });
});

scripts('unpark', ({ cases }) => {
  cases([
    { name: 'takes one credit of the class', before: { idle: zset({ 'n1 E|*': 2, 'n2 E|*': 2 }) }, call: ['unpark', 'E|*'], reply: 'ok', after: { idle: zset({ 'n1 E|*': 1, 'n2 E|*': 2 }) } },
    { name: 'the last one takes the class along', before: { idle: zset({ 'n1 E|*': 1 }) }, call: ['unpark', 'E|*'], reply: 'ok', after: { idle: null } },
    { name: 'race: a hand-over has used the credit: never less than none', calls: [['unpark', 'E|*'], ['unpark', 'E|*']], replies: ['ok', 'ok'], after: {} },
    { name: 'parked and gone in one turn leaves nothing', calls: [['claim', 0, 'E|*', '1'], ['unpark', 'E|*']], replies: ['parked', 'ok'], after: {} },
  ]);
});

scripts('supersede', ({ cases }) => {
  cases([
    { name: 'a poll that does not wait says that its engine is back', before: { 'poll:E:box': 'away' }, call: ['supersede', 0, 'E', 'box', 0], reply: 'ok', after: { 'poll:E:box': null } },
    { name: 'a poll that does not wait ends none that does', before: { 'poll:E:box': 'n2 7' }, call: ['supersede', 0, 'E', 'box', 0], reply: 'ok' },
    { name: 'the first poll of a named engine', call: ['supersede', 0, 'E', 'box', 7], reply: 'ok', after: { 'poll:E:box': ttl(300, 'n1 7') } },
    {
      name: 'a newer one on another node ends it there',
      before: { 'poll:E:box': 'n2 7' },
      alive: ['n2'],
      call: ['supersede', 0, 'E', 'box', 1],
      reply: 'ok',
      published: [['node:n2', 'supersede\nE\nbox\n7']],
      after: { 'poll:E:box': ttl(300, 'n1 1') },
    },
    {
      name: 'a newer one on the same node ends it too, whatever models it asked for',
      before: { 'poll:E:box': 'n1 7' },
      call: ['supersede', 0, 'E', 'box', 8],
      reply: 'ok',
      events: ['supersede\nE\nbox\n7'],
      after: { 'poll:E:box': ttl(300, 'n1 8') },
    },
    { name: 'said twice, it ends nothing', before: { 'poll:E:box': 'n1 7' }, call: ['supersede', 0, 'E', 'box', 7], reply: 'ok', after: { 'poll:E:box': ttl(300, 'n1 7') } },
    { name: 'engines of other accounts and names are others', before: { 'poll:E:box': 'n1 7', 'poll:F:bag': 'n1 8' }, call: ['supersede', 0, 'F', 'box', 9], reply: 'ok', after: { 'poll:F:box': ttl(300, 'n1 9') } },
  ]);
});

scripts('away', ({ cases }) => {
  const AWAY = { 'poll:E:box': ttl(60, 'away') };
  const seenNow = (found) => ago()(found.split(' ')[0]) && found.endsWith(' {}');
  const rest = `,"Models":"*","Reason":"busy"}`;
  const seen = { engines: { 'E box': `${Date.now()} {}`, 'E bag': '5 {}' } };
  const resting = (ms) => (found) => {
    const [, at, until, more] = /^(\d+) \{"RestingUntilMs":(\d+)(.*)$/.exec(found) ?? [];
    return ago()(at) && soon(ms)(until) && more === rest;
  };
  cases([
    {
      name: 'an engine that leaves: its poll ends, it is not listed, the others of its account are',
      before: { ...seen, 'poll:E:box': 'n1 7' },
      call: ['away', 0, 'E', 'box', 0, ''],
      reply: 'ok',
      events: ['supersede\nE\nbox\n7'],
      after: { engines: { 'E bag': '5 {}' }, ...AWAY },
    },
    { name: 'its poll is on another node', before: { 'poll:E:box': 'n2 7' }, alive: ['n2'], call: ['away', 0, 'E', 'box', 0, ''], reply: 'ok', published: [['node:n2', 'supersede\nE\nbox\n7']], after: AWAY },
    { name: 'one that nobody knows', call: ['away', 0, 'E', 'box', 0, ''], reply: 'ok', after: AWAY },
    { name: 'said twice', before: { 'poll:E:box': 'away' }, call: ['away', 0, 'E', 'box', 0, ''], reply: 'ok', after: AWAY },
    { name: 'an engine that rests is listed with the end of its rest', before: { ...seen, 'poll:E:box': 'n1 7' }, call: ['away', 0, 'E', 'box', 30_000, rest], reply: 'ok', events: ['supersede\nE\nbox\n7'], after: { engines: { 'E bag': '5 {}', 'E box': resting(30_000) }, ...AWAY } },
    { name: 'one that rests and was forgotten', call: ['away', 0, 'E', 'box', 30_000, rest], reply: 'ok', after: { engines: { 'E box': resting(30_000) }, ...AWAY } },
    {
      name: 'race: another node says only now that it polled before it left: it is not listed again',
      before: { 'poll:E:box': 'away' },
      call: ['sync', '{}', '', 0, 0, 0, 'E box', '{}', 'E bag', '{}', 'E -', '{}'],
      reply: '\n',
      after: { nodes: zset({ n1: ago() }), node_info: { n1: '{}' }, engines: { 'E bag': seenNow, 'E -': seenNow } },
    },
    {
      name: 'it polls again, and is listed again',
      before: { 'poll:E:box': 'away' },
      calls: [['supersede', 0, 'E', 'box', 9], ['sync', '{}', '', 0, 0, 0, 'E box', '{}']],
      replies: ['ok', '\n'],
      after: { nodes: zset({ n1: ago() }), node_info: { n1: '{}' }, engines: { 'E box': seenNow }, 'poll:E:box': ttl(300, 'n1 9') },
    },
  ]);
});

scripts('sync', ({ cases, test, shard }) => {
  const here = { nodes: zset({ n1: ago() }), node_info: { n1: '{}' } };
  cases([
    {
      name: 'the client of an engine\'s newest poll has left: it counts as there for a moment; of an older poll, or of one of another node, that is old news',
      before: {
        engines: { 'E a': '5 {"Models":"*","State":"waiting","ForMs":9}', 'E b': '5 {"Models":"*","State":"waiting","ForMs":9}', 'E c': '5 {"Models":"*","State":"waiting","ForMs":9}' },
        'poll:E:a': 'n1 7', 'poll:E:b': 'n1 8', 'poll:E:c': 'n2 7',
      },
      call: ['sync', '{}', '', 0, 0, 0, 'E a', 'left 7', 'E b', 'left 7', 'E c', 'left 7', 'E d', 'left 7'],
      reply: '\n',
      after: {
        ...here,
        engines: {
          'E a': (found) => ago()(found.split(' ')[0]) && found.endsWith(' {"Models":"*","State":"waiting","ForMs":3000}'),
          'E b': '5 {"Models":"*","State":"waiting","ForMs":9}', 'E c': '5 {"Models":"*","State":"waiting","ForMs":9}',
        },
      },
    },
    {
      name: 'a heartbeat makes what is known of its engine new, and nothing of one that is not known',
      before: { engines: { 'E a': '5 {"Models":"*","State":"working","ForMs":9}' } },
      call: ['sync', '{}', '', 0, 0, 0, 'E a', 'beat', 'E d', 'beat'],
      reply: '\n',
      after: { ...here, engines: { 'E a': (found) => ago()(found.split(' ')[0]) && found.endsWith(' {"Models":"*","State":"working","ForMs":9}') } },
    },
    {
      name: 'settings are compared with those of nodes that listen, and old ones are deleted',
      before: () => ({ settings: { 'a=1': `${Date.now()} n2`, 'a=2': `${Date.now()} n3`, 'a=3': `${Date.now() - 70_000} n4` } }),
      alive: ['n2'],
      call: ['sync', '{}', 'a=5', 0, 0, 0],
      reply: lines('', '', 'n2', '{}', 'a=1'),
      after: { ...here, settings: { 'a=1': (found) => found.endsWith(' n2'), 'a=2': (found) => found.endsWith(' n3'), 'a=5': (found) => found.endsWith(' n1') } },
    },
    { name: 'a node that has nothing to say is there', call: ['sync', '{}', '', 0, 0, 0], reply: '\n', after: here },
    {
      name: 'counts of a minute add up for two hours',
      before: () => ({ [`stat:${minute()}`]: { added: '1' } }),
      call: ['sync', '{}', '', 2, 3, 0],
      reply: '\n',
      after: () => ({ ...here, [`stat:${minute()}`]: ttl(7200, { added: 3, done: 3 }) }),
    },
    {
      name: 'nonces of today and yesterday are kept longer than they are looked for, older ones are dropped before they expire',
      before: () => ({ [`nonces:${day()}`]: set('a'), [`nonces:${day() - 1}`]: ttl(50, set('b')), [`nonces:${day() - 2}`]: ttl(50, set('c')) }),
      call: ['sync', '{}', '', 0, 0, 0],
      reply: '\n',
      after: () => ({
        ...here,
        [`nonces:${day()}`]: ttl(untilDay(day() + 3), set('a')),
        [`nonces:${day() - 1}`]: ttl(untilDay(day() + 2), set('b')),
        [`nonces:${day() - 2}`]: null,
      }),
    },
    {
      name: 'credits are stated again, none takes the class away',
      before: { idle: zset({ 'n1 E|*': 9, 'n1 F|*': 2, 'n2 E|*': 3 }) },
      call: ['sync', '{}', '', 0, 0, 2, 'E|*', 4, 0, 0, '', 'F|*', 0, 0, 0, ''],
      reply: '\n',
      after: { ...here, idle: zset({ 'n1 E|*': 4, 'n2 E|*': 3 }) },
    },
    {
      name: 'race: polls whose claims run before the sync may be credits already: these stay',
      before: { idle: zset({ 'n1 E|*': 3, 'n1 F|*': 9, 'n1 G|*': 1 }) },
      call: ['sync', '{}', '', 0, 0, 3, 'E|*', 1, 2, 0, '', 'F|*', 1, 2, 0, '', 'G|*', 2, 1, 0, ''],
      reply: '\n',
      after: { ...here, idle: zset({ 'n1 E|*': 3, 'n1 F|*': 3, 'n1 G|*': 2 }) },
    },
    {
      name: 'race: a poll that was parked while its hand-over was lost gets what waits',
      before: waiting(),
      call: ['sync', '{}', '', 0, 0, 1, 'E|*', 2, 0, 0, ''],
      reply: (r) => /^(1\d{3}|200\d)\n$/.test(r),
      events: [CLAIM],
      after: { ...here, ...claimed, idle: zset({ 'n1 E|*': 1 }) },
    },
    {
      name: 'engines seen are written down with their time',
      before: { engines: { 'E box': '5 {}' } },
      call: ['sync', '{}', '', 0, 0, 0, 'E box', '{"a":1}', 'F -', '{}'],
      reply: '\n',
      after: {
        ...here,
        engines: {
          'E box': (found) => ago()(found.split(' ')[0]) && found.endsWith(' {"a":1}'),
          'F -': (found) => ago()(found.split(' ')[0]),
        },
      },
    },
    {
      name: 'engines that nobody has seen for a day go when a new one comes',
      before: () => ({ engines: { 'E old': `${Date.now() - 86_500_000} {}`, 'E box': `${Date.now() - 86_300_000} {}` } }),
      call: ['sync', '{}', '', 0, 0, 0, 'F -', '{}'],
      reply: '\n',
      after: { ...here, engines: { 'E box': (found) => found.endsWith(' {}'), 'F -': (found) => found.endsWith(' {}') } },
    },
    {
      name: 'a node that has said nothing for a minute goes, and its credits; one of 50 s stays',
      before: () => ({
        nodes: zset({ dead: Date.now() - 61_000, n2: Date.now() - 50_000 }),
        node_info: { dead: '{}', n2: '{}' },
        idle: zset({ 'dead E|*': 5, 'deadly E|*': 1, 'n2 E|*': 1 }),
      }),
      call: ['sync', '{}', '', 0, 0, 0],
      reply: '\n',
      after: {
        nodes: zset({ n1: ago(), n2: ago(50_000) }),
        nodes_gone: zset({ dead: ago(61_000) }),
        node_info: { dead: '{}', n1: '{}', n2: '{}' },
        idle: zset({ 'deadly E|*': 1, 'n2 E|*': 1 }),
      },
    },
    {
      name: 'a node that is gone is remembered for an hour, unless it is back',
      before: () => ({
        nodes: zset({ back: Date.now() }),
        nodes_gone: zset({ old: Date.now() - 3_601_000, dead: Date.now() - 3_590_000, back: Date.now() - 70_000 }),
        node_info: { old: '{}', dead: '{}', back: '{}' },
      }),
      call: ['sync', '{}', '', 0, 0, 0],
      reply: '\n',
      after: { nodes: zset({ n1: ago(), back: ago() }), nodes_gone: zset({ dead: ago(3_590_000) }), node_info: { n1: '{}', dead: '{}', back: '{}' } },
    },
    {
      name: 'of more than a hundred that are gone the newest are remembered',
      before: () => ({
        nodes_gone: zset(Object.fromEntries(Array.from({ length: 103 }, (_, i) => [`dead${i}`, Date.now() - 100_000 - i]))),
        node_info: Object.fromEntries(Array.from({ length: 103 }, (_, i) => [`dead${i}`, '{}'])),
      }),
      call: ['sync', '{}', '', 0, 0, 0],
      reply: '\n',
      after: {
        ...here,
        nodes_gone: zset(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`dead${i}`, ago(100_000)]))),
        node_info: { n1: '{}', ...Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`dead${i}`, '{}'])) },
      },
    },
    {
      name: 'tells when the next lease ends, and who is drained',
      before: () => ({ leases: zset({ '1 t': Date.now() + 60_000 }), drained: set('E') }),
      call: ['sync', '{}', '', 0, 0, 0],
      reply: (r) => /^(60000|5\d{4})\nE$/.test(r),
      after: { ...here, leases: zset({ '1 t': soon(60_000) }) },
    },
    { name: 'a lease that is over: at once', before: { leases: zset({ '1 t': 1 }) }, call: ['sync', '{}', '', 0, 0, 0], reply: '0\n', after: here },
  ]);

  test('a large set of old nonces is freed beside the main thread', async () => {
    const freed = async () => Number(/lazyfreed_objects:(\d+)/.exec(await shard.cmd('INFO', 'memory'))[1]);
    await shard.seed({ [`nonces:${day() - 2}`]: set(...Array.from({ length: 1000 }, (_, i) => `nonce-${i}`)) });
    const before = await freed();
    await shard.turn([['sync', '{}', '', 0, 0, 0]]);
    assert.equal(await shard.cmd('EXISTS', shard.key(`nonces:${day() - 2}`)), 0);
    for (let i = 0; (await freed()) === before; i++) {
      assert.ok(i < 600, 'it was freed by the main thread');
      await new Promise((done) => setTimeout(done, 100));
    }
  });

  test('of engines with ever new names the newest thousand are kept', async () => {
    for (let i = 0; i < 6; i++) {
      const seen = Array.from({ length: 190 }, (_, k) => [`E name-${i}-${k}`, '{}']).flat();
      await shard.call('sync', '{}', '', 0, 0, 0, ...seen);
    }
    const engines = Object.keys(await shard.get('engines'));
    assert.equal(engines.length, 1000);
    assert.ok(engines.includes('E name-5-7'));
  });

  test('an account with ever new names of engines does not push out those of others', async () => {
    await shard.call('sync', '{}', '', 0, 0, 0, 'F one', '{}', 'F two', '{}');
    for (let i = 0; i < 6; i++) await shard.call('sync', '{}', '', 0, 0, 0, ...Array.from({ length: 190 }, (_, k) => [`E name-${i}-${k}`, '{}']).flat());
    const engines = Object.keys(await shard.get('engines'));
    assert.equal(engines.length, 1000);
    assert.ok(engines.includes('F one') && engines.includes('F two'));
  });

  test('twelve hundred topics and polls after a loss: a thousand a call, and every lease is written', async () => {
    for (let i = 0; i < 1200; i++) await shard.seed({ [`t:${i}`]: topicOf([undefined]) });
    const scored = Array.from({ length: 1200 }, (_, i) => [i, i]).flat();
    await shard.cmd('ZADD', shard.key('open:default:alice'), ...scored);
    await shard.seed({ 'turns:default': zset({ alice: 0 }), models: set('default'), meta: { depth: '1200' }, waiting: { 'Frontend_1 alice': '1200' } });
    const first = await shard.turn([['sync', '{}', '', 0, 0, 1, 'E|*', 1200, 0, 0, '']]);
    assert.equal(first.events.length, 1001);
    assert.equal(first.events.at(-1), 'rescan');
    assert.equal(await shard.cmd('ZCARD', shard.key('leases')), 1000);
    const second = await shard.turn([['sync', '{}', '', 0, 0, 1, 'E|*', 200, 0, 0, '']]);
    assert.equal(second.events.length, 200);
    assert.deepEqual(await shard.get('meta'), { lease: '1200', depth: '0', vt: (await shard.get('meta')).vt });
    assert.equal(await shard.get('waiting'), undefined);
    assert.equal(await shard.get('idle'), undefined);
  });
});

// What a node's sync gives its polls is bounded, and continues with the next one, which it asks for.
scripts('many long claims at once', ({ test, shard }) => {
  const TOPICS = Array.from({ length: 20 }, (_, i) => `t${i}`);
  const topicsOf = (texts) => texts.filter((text) => text.startsWith('claim\n')).map((text) => text.split('\n')[2]);
  const fill = async () => {
    for (const topic of TOPICS) await shard.turn([['add', 0, topic, 'alice', 'Frontend_1', 'default', 1, 1e6, tailOf({ query: 'q'.repeat(1_000_000) })]]);
  };

  test('a sync gives its polls 8 MiB, and asks for the next one until all are served', async () => {
    await fill();
    const given = [];
    for (const [n, isAsking] of [[9, true], [9, true], [2, false]]) {
      const { events } = await shard.turn([['sync', '{}', '', 0, 0, 1, 'E|*', 20 - given.length, 0, 0, '']]);
      assert.equal(events.at(-1) === 'rescan', isAsking);
      assert.equal(topicsOf(events).length, n); // the one that reaches 8 MiB is the last
      given.push(...topicsOf(events));
    }
    assert.deepEqual(given.sort(), [...TOPICS].sort());
    assert.equal(await shard.get('idle'), undefined);
  });

  test('polls of one call get 4 MiB, those after them run in the next call, whether they wait or not', async () => {
    await fill();
    const polls = TOPICS.map((_, i) => ['claim', 0, 'E|*', `${i % 2}`]);
    const given = [];
    let rest;
    for (const n of [5, 5, 5, 5]) {
      const turn = await shard.turn(polls, { rest });
      assert.deepEqual([turn.replies.length, turn.events], [n, []]);
      given.push(...topicsOf(turn.replies));
      rest = turn.rest;
    }
    assert.equal(rest, undefined);
    assert.deepEqual(given.sort(), [...TOPICS].sort());
  });
});

scripts('node_leave', ({ cases }) => {
  cases([
    {
      name: 'a node that ends leaves the list with its credits, and others stay',
      before: () => ({
        nodes: zset({ n1: Date.now(), n11: Date.now() }),
        node_info: { n1: '{}', n11: '{}' },
        idle: zset({ 'n1 E|*': 5, 'n1 F|a': 1, 'n11 E|*': 1 }),
        idle_lookups: zset({ 'n1 E|?': 2 }),
        nodes_gone: zset({ n1: Date.now() - 70_000 }),
      }),
      call: ['node_leave'],
      reply: 'ok',
      after: { nodes: zset({ n11: ago() }), node_info: { n11: '{}' }, idle: zset({ 'n11 E|*': 1 }), idle_lookups: null, nodes_gone: null },
    },
    { name: 'credits of the same turn go, too', calls: [['claim', 0, 'E|*', '1'], ['node_leave']], replies: ['parked', 'ok'], after: {} },
    { name: 'twice', calls: [['node_leave'], ['node_leave']], replies: ['ok', 'ok'], after: {} },
  ]);
});
