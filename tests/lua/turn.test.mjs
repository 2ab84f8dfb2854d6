// SPDX-License-Identifier: MIT
//
// turn: the frame around the verbs: nonces, batches, what a broken verb leaves of its turn.
import assert from 'node:assert/strict';
import { agoUs, ago, anything, lines, openOf, rowOf, scripts, set, soon, tailOf, topicOf, ttl, zset } from '../support/lua.mjs';

const day = (back = 0) => Math.floor(Date.now() / 86_400_000) - back;
const minute = () => `nonce_marks:${Math.floor(Date.now() / 60_000)}`;
const [NONCE, OTHER, THIRD, FOURTH] = [1, 2, 3, 4].map((i) => `nonce-000000000${i}`);
const add = (topic, { nonce = 0, user = 'alice', model = 'default', max = 100 } = {}) =>
  ['add', nonce, topic, user, 'Frontend_1', model, 1, max, tailOf({ user, model }), '', '', ''];

scripts('turn', ({ cases, test, shard }) => {
  test('a long text leaves it in parts: how many they are, then each', async (shard) => {
    await shard.turn([['claim', 0, 'E|*', '1'], add('t')]);
    const answer = ['complete', 0, 't', 1, '', 'E', '"Why?"', lines('["x"]', 'null', 'null'), ''];
    assert.match((await shard.turn([answer])).replies[0], /^ok\n1\n/);
    const words = ['n1 150000 2000 3 100 1 0', 0, 'thread 006', '0', 't', '', '0', '', ''];
    const thread = await shard.cmd('FCALL', 'turn_test', 1, shard.prefix, ...words);
    assert.ok(thread.length > 4);
    assert.equal(thread[0], `\x01${thread.length - 1}`);
    assert.match(thread.slice(1).join(''), /^ok\n\n1\nDone\n/);
  });

  cases([
    {
      name: 'a turn of nothing writes nothing',
      calls: [],
      replies: [],
      after: {},
    },
    {
      name: 'a fence writes each time, so that its connection has something to wait for',
      calls: [['fence'], ['fence']],
      replies: ['ok', 'ok'],
      after: { fence: '1' },
    },
    {
      name: 'a nonce is written down for its day',
      call: ['nonce', 1],
      frame: { nonces: [NONCE] },
      reply: 'ok',
      after: () => ({ [`nonces:${day()}`]: set(NONCE) }),
    },
    {
      name: 'a nonce of today is refused',
      before: () => ({ [`nonces:${day()}`]: set(NONCE) }),
      call: ['nonce', 1],
      frame: { nonces: [NONCE] },
      reply: 'replay',
    },
    {
      name: 'a nonce of yesterday is refused, and is then one of today too',
      before: () => ({ [`nonces:${day(1)}`]: set(NONCE) }),
      call: ['nonce', 1],
      frame: { nonces: [NONCE] },
      reply: 'replay',
      after: () => ({ [`nonces:${day()}`]: set(NONCE) }),
    },
    {
      name: 'a nonce of the day before yesterday is fresh',
      before: () => ({ [`nonces:${day(2)}`]: set(NONCE) }),
      call: ['nonce', 1],
      frame: { nonces: [NONCE] },
      reply: 'ok',
      after: () => ({ [`nonces:${day()}`]: set(NONCE) }),
    },
    {
      name: 'two requests of one turn with the same nonce: the second is refused',
      calls: [['nonce', 1], ['nonce', 2]],
      frame: { nonces: [NONCE, NONCE] },
      replies: ['ok', 'replay'],
      after: () => ({ [`nonces:${day()}`]: set(NONCE) }),
    },
    {
      name: 'a nonce that is only recorded refuses nothing',
      before: () => ({ [`nonces:${day()}`]: set(NONCE) }),
      call: ['nonce', -1],
      frame: { nonces: [NONCE] },
      reply: 'ok',
    },
    {
      name: 'nonces without a verb: of each that was used before, which one it is',
      before: () => ({ [`nonces:${day()}`]: set(NONCE) }),
      calls: [],
      frame: { alone: [OTHER, NONCE, OTHER] },
      used: lines('2 replay', '3 replay'),
      replies: [],
      after: () => ({ [`nonces:${day()}`]: set(NONCE, OTHER) }),
    },
    {
      name: 'nonces without a verb beside verbs: each has its own',
      before: () => ({ [`nonces:${day()}`]: set(NONCE) }),
      calls: [['nonce', 1], ['nonce', 2], ['nonce', 0]],
      frame: { nonces: [OTHER, NONCE], alone: [THIRD, OTHER], marked: [[NONCE, 'ab cd'], [FOURTH, 'cd ef']] },
      used: lines('2 replay', '3 replay'),
      replies: ['ok', 'replay', 'ok'],
      after: () => ({ [`nonces:${day()}`]: set(NONCE, OTHER, THIRD, FOURTH), [minute()]: ttl(1800, set('cd ef')) }),
    },
    {
      name: 'fresh nonces without a verb: nothing to say',
      calls: [],
      frame: { alone: [NONCE], marked: [[OTHER, 'ab cd']] },
      used: '',
      replies: [],
      after: () => ({ [`nonces:${day()}`]: set(NONCE, OTHER), [minute()]: ttl(1800, set('ab cd')) }),
    },
    {
      name: 'a verb with a used nonce changes nothing',
      before: () => ({ [`nonces:${day()}`]: set(NONCE) }),
      call: add('t1', { nonce: 1 }),
      frame: { nonces: [NONCE] },
      reply: 'replay',
    },
    {
      name: 'a verb that breaks is an error of its own: what the verbs around it did is written',
      before: {
        't:a': topicOf([undefined]),
        'open:default:alice': zset({ a: 5 }),
        'turns:default': zset({ alice: 0 }),
        models: set('default'),
        waiting: { 'Frontend_1 alice': '1' },
        meta: { depth: '1' },
      },
      calls: [['claim', 0, 'E|*', '0'], ['no_such_verb', 1, 2], ['claim', 0, 'E|*', '1']],
      replies: [lines('claim', 'E|*', 'a', 1, 1, 1, 1, rowOf({ query: 'Q1' })), (r) => r instanceof Error, 'parked'],
      after: {
        't:a': { ...topicOf(['P 1 1 E 1']), open: '' },
        'open:default:alice': null,
        'turns:default': null,
        models: null,
        waiting: null,
        leases: zset({ '1 a': soon(2000) }),
        idle: zset({ 'n1 E|*': 1 }),
        meta: { lease: 1, depth: 0, vt: '0.000000' },
      },
    },
  ]);

  test('a broken verb is an error reply that names it', async () => {
    const { replies } = await shard.turn([['no_such_verb', 0], ['nonce', 0], ['cancel', 0]], { isRaw: true });
    assert.match(replies[0].message, /^ERR no_such_verb: /);
    assert.equal(replies[1], 'ok');
    assert.match(replies[2].message, /^ERR cancel: /, 'without its arguments');
  });

  test('nonces without a verb that break are an error of their own: the verbs after them run', async (shard) => {
    await shard.seed({ [`nonces:${day()}`]: set(NONCE), [minute()]: set(`${NONCE} ab`), [`resent:${NONCE}`]: set('no number') });
    const { used, replies } = await shard.turn([['nonce', 0]], { marked: [[NONCE, `${NONCE} ab`]] });
    assert.match(used.message, /^ERR nonces: /);
    assert.deepEqual(replies, ['ok']);
  });

  test('as many nonces without a verb as a turn may have', async () => {
    const many = Array.from({ length: 128 }, (_, i) => String(i).padStart(16, '0'));
    const marked = many.slice(64).map((nonce) => [nonce, `${nonce} ab`]);
    assert.deepEqual(await shard.turn([], { alone: many.slice(0, 64), marked }), { replies: [], events: [], used: '' });
    const used = many.map((_, i) => `${i + 1} ${i < 64 ? 'replay' : 'again'}`).join('\n');
    assert.equal((await shard.turn([], { alone: many.slice(0, 64), marked })).used, used);
  });

  test('each node has its own settings, however many nodes there were', async () => {
    const added = async (node, queueMax) => (await shard.turn([add(`t-${node}`, { max: 1e6 })], { node, queueMax })).replies[0].split('\n')[0];
    assert.equal(await added('first', 1000), 'ok');
    for (let i = 0; i < 300; i++) assert.equal(await added(`node${i}`, i % 2 ? 1000 : 1), i % 2 ? 'ok' : 'waiting', `node ${i}`);
    for (const max of [1, 1000, 1]) assert.equal(await added('first', max), max === 1 ? 'waiting' : 'ok');
  });

  test('ten thousand leases that end in one turn are all written', async () => {
    const rows = Array.from({ length: 10_000 }, (_, i) => `P ${i + 1} 1 E 1`);
    await shard.seed({ 't:big': topicOf(rows), 'topics:alice': zset({ big: 1 }) });
    const leases = rows.flatMap((_, i) => [9e12, `${i + 1} big`]);
    for (let i = 0; i < leases.length; i += 5000) await shard.cmd('ZADD', shard.key('leases'), ...leases.slice(i, i + 5000));
    assert.equal(await shard.call('delete', 0, 'alice', 'big'), 'ok');
    await shard.assertKeys({});
  });

  cases([
    {
      name: 'one turn: queries added and claimed are written once, in the counters too',
      calls: [add('a'), add('b'), ['claim', 0, 'E|*', '0'], ['claim', 0, 'E|*', '0'], ['claim', 0, 'E|*', '0']],
      replies: [
        (r) => /^ok\n1\n\d+$/.test(r),
        (r) => /^ok\n1\n\d+$/.test(r),
        (r) => r.startsWith('claim\nE|*\na\n1\n1\n1\n1\n'),
        (r) => r.startsWith('claim\nE|*\nb\n2\n1\n1\n1\n'),
        'empty',
      ],
      after: {
        't:a': { seq: 1, 'u:alice': 1, open: '', 's:1': 'P 1 1 E 1', 'q:1': anything },
        't:b': { seq: 1, 'u:alice': 1, open: '', 's:1': 'P 2 1 E 1', 'q:1': anything },
        'topics:alice': zset({ a: ago(), b: ago() }),
        users: set('alice'),
        leases: zset({ '1 a': soon(2000), '2 b': soon(2000) }),
        meta: { lease: 2, depth: 0, vt: anything },
      },
    },
    {
      name: 'the number of arguments may have any width',
      calls: [add('a')],
      replies: [(r) => r.startsWith('ok\n1\n')],
      after: {
        't:a': { seq: 1, 'u:alice': 1, open: openOf([1]), 'q:1': anything },
        'open:default:alice': zset({ a: agoUs }),
        'turns:default': zset({ alice: 0 }),
        models: set('default'),
        waiting: { 'Frontend_1 alice': 1 },
        'topics:alice': zset({ a: ago() }),
        users: set('alice'),
        meta: { lease: 0, depth: 1, vt: '0.000000' },
      },
    },
  ]);
});
