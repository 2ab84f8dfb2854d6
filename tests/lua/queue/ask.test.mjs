// SPDX-License-Identifier: MIT
//
// ask, ask_leave, sweep_asks: questions that Parley asks itself: shared while they are in flight, gone
// with the last who waits.
import assert from 'node:assert/strict';
import { ago, agoUs, anything, lines, openOf, rowOf, scripts, set, soon, tailOf, ttl, zset } from '../../support/lua.mjs';

const MAX_MS = 1_800_000;
const KEEP_MS = 60_000;
const USER = { user: 'alice', model: 'default' };
const ask = ({ digest = 'd1', topic = 'a1', user = USER.user, max = '', maxOfAll = '' } = {}) =>
  ['ask', digest, topic, user, 'Frontend_1', USER.model, 1, tailOf({ ...USER, query: 'Q1' }), max, maxOfAll, ''];
const leave = (topic = 'a1', keep = 0) => ['ask_leave', topic, keep];
const row = (found) => {
  const [ms, ...rest] = found.split('\n');
  return ago()(ms) && rest.join('\n') === rowOf({ ...USER, query: 'Q1' }).split('\n').slice(1).join('\n');
};
const STORED = lines('["42"]', '["hm"]', 'null', 1500, 'E');
const RESTING = (ends) => ({ engines: Object.fromEntries(ends.map((ms, i) => [`E ${i}`, `${Date.now() - 1000} {"RestingUntilMs":${Date.now() + ms},"Models":"*"}`])) });
const ENGINE = { engines: { 'E -': `${Date.now()} {}` } };

// A question's topic, as ask leaves it, in a state; n: who waits for it.
const fieldsOf = (state, { n = 1, digest = 'd1', waiting = 'n1' } = {}) => ({
  seq: '1', 'q:1': rowOf({ ...USER, query: 'Q1' }), 'w:1': waiting, digest, asks: String(n), ...(state ? { 's:1': state } : { open: openOf([1]) }), ...(state === 'D' ? { 'a:1': STORED } : {}),
});
const asks = (ms = MAX_MS, topic = 'a1') => zset({ [topic]: Date.now() + ms });
const ended = (state, more) => ({ 't:a1': fieldsOf(state, more), 'asked:d1': 'a1', asks: asks(), ...ENGINE });
const pending = (more) => ({ ...ended('P 7 1 E 1', more), leases: zset({ '7 a1': 9e12 }), meta: { lease: '7', depth: '0', vt: '0.000000' } });
const waiting = (more) => ({
  ...ended(undefined, more),
  'open:default:alice': zset({ a1: 1_000_000 }), 'turns:default': zset({ alice: 0 }), models: set('default'), waiting: { 'Frontend_1 alice': '1' }, meta: { lease: '0', depth: '1', vt: '0.000000' },
});
const HELD = { asks: (found) => soon(MAX_MS)(found.a1) };
const QUEUE_GONE = { 'open:default:alice': null, 'turns:default': null, models: null, waiting: null };
const TOPIC_GONE = { 't:a1': null, 'asked:d1': null, asks: null };

scripts('ask', ({ cases, test, shard }) => {
  const made = { 't:a1': { ...fieldsOf(), 'q:1': row }, 'asked:d1': 'a1', ...HELD };
  const queued = { 'open:default:alice': zset({ a1: agoUs }), 'turns:default': zset({ alice: 0 }), models: set('default'), waiting: { 'Frontend_1 alice': 1 }, meta: { lease: 0, depth: 1, vt: '0.000000' } };
  cases([
    { name: 'with an engine seen lately it waits in the queue, with a doubt, and belongs to no user', before: ENGINE, call: ask(), reply: lines('ok', 'a1', 'maybe'), after: { ...made, ...queued } },
    {
      name: 'with an engine parked it is handed over',
      before: { idle: zset({ 'n1 E|*': 1 }) },
      call: ask(),
      reply: lines('ok', 'a1'),
      events: [(found) => found.startsWith('claim\nE|*\na1\n1\n1\n1\n1\n')],
      after: { ...made, 't:a1': { ...fieldsOf('P 1 1 E 1'), 'q:1': row }, idle: null, leases: zset({ '1 a1': soon(2000) }), meta: { lease: 1, depth: 0, vt: '0.000000' } },
    },
    {
      name: 'an engine whose poll comes in the same turn is there',
      calls: [['claim', 0, 'E|*', 1], ask()],
      replies: ['parked', lines('ok', 'a1')],
      events: [(found) => found.startsWith('claim\n')],
      after: { ...made, 't:a1': { ...fieldsOf('P 1 1 E 1'), 'q:1': row }, leases: zset({ '1 a1': soon(2000) }), meta: { lease: 1, depth: 0, vt: '0.000000' } },
    },
    { name: 'of several shards, one that knows of no engine stores it: all are asked then', before: { 'quiet:default': ttl(100, '1') }, frame: { shards: 4 }, call: ask(), reply: lines('ok', 'a1', 'unseen'), events: ['open\n1'], after: { ...made, ...queued } },
    { name: 'no engine, and none for ten minutes', before: { engines: { 'E -': `${Date.now() - 601_000} {}` } }, call: ask(), reply: 'no_engine' },
    { name: 'every engine rests for long: none, and when the first one has rested', before: () => RESTING([60_000, 90_000]), call: ask(), reply: (found) => /^no_engine\n(5[0-9]|60)$/.test(found) },
    { name: 'an engine that rests only for a moment is there', before: () => RESTING([90_000, 5_000]), call: ask(), reply: lines('ok', 'a1'), after: { ...made, ...queued } },
    { name: 'an engine that has rested is one that was seen then', before: () => RESTING([-5_000]), call: ask(), reply: lines('ok', 'a1', 'maybe'), after: { ...made, ...queued } },
    { name: 'one rests, another was seen lately', before: { engines: { ...RESTING([60_000]).engines, ...ENGINE.engines } }, call: ask(), reply: lines('ok', 'a1', 'maybe'), after: { ...made, ...queued } },
    { name: 'no engine ever', call: ask(), reply: 'no_engine' },
    { name: 'an engine at work is one', before: { leases: zset({ '7 other': 9e12 }) }, call: ask(), reply: lines('ok', 'a1'), after: { ...made, ...queued } },
    { name: 'a question that is not shared leaves no digest', before: ENGINE, call: ask({ digest: '' }), reply: lines('ok', 'a1', 'maybe'), after: { ...made, ...queued, 't:a1': { ...made['t:a1'], digest: '' }, 'asked:d1': null } },
    { name: 'a full queue refuses it, and leaves nothing', before: { ...ENGINE, meta: { lease: '0', depth: '5', vt: '0.000000' } }, frame: { queueMax: 5 }, call: ask(), reply: lines('full', 5, '') },
    { name: 'so do too many of that user, if that is limited', before: { ...ENGINE, waiting: { 'Frontend_1 alice': '3' } }, call: ask({ max: 3 }), reply: lines('waiting', 3, '', 'user') },
    { name: 'sent again after a lost connection it is the same, and counts once', before: () => waiting(), call: ask(), reply: lines('ok', 'a1') },
    {
      name: 'the same question from another node joins it',
      before: () => pending(),
      frame: { node: 'n2' },
      call: ask({ topic: 'a2' }),
      reply: lines('joined', 'a1'),
      after: { 't:a1': fieldsOf('P 7 1 E 1', { n: 2, waiting: 'n1 n2' }), ...HELD },
    },
    {
      name: 'race: the same question twice in one turn is one query',
      before: ENGINE,
      calls: [ask(), ask({ topic: 'a2' })],
      replies: [lines('ok', 'a1', 'maybe'), lines('joined', 'a1', 'maybe')],
      after: { ...made, ...queued, 't:a1': { ...made['t:a1'], asks: 2 } },
    },
    { name: 'another question does not', before: ENGINE, calls: [ask(), ask({ digest: 'd2', topic: 'a2' })], replies: [lines('ok', 'a1', 'maybe'), lines('ok', 'a2', 'maybe')], after: (() => ({
      ...made, 't:a2': { ...made['t:a1'], digest: 'd2' }, 'asked:d2': 'a2', asks: (found) => Object.keys(found).length === 2,
      ...queued, 'open:default:alice': zset({ a1: agoUs, a2: agoUs }), waiting: { 'Frontend_1 alice': 2 }, meta: { lease: 0, depth: 2, vt: '0.000000' },
    }))() },
    { name: 'one that is answered already is answered at once', before: () => ended('D'), call: ask({ topic: 'a2' }), reply: lines('done', 'a1', 'Done', rowOf({ ...USER, query: 'Q1' }), STORED), after: { 't:a1': fieldsOf('D', { n: 2 }), ...HELD } },
    { name: 'one that waits while no engine is there any more', before: () => ({ ...waiting(), engines: { 'E -': '5 {}' } }), call: ask({ topic: 'a2' }), reply: 'no_engine' },
    ...['F "tired"', 'C "user"'].map((state) => ({
      name: `one that came to nothing (${state[0]}) is asked again, and who waits for that one keeps it`,
      before: () => ended(state),
      call: ask({ topic: 'a2' }),
      reply: lines('ok', 'a2', 'maybe'),
      after: { 't:a2': made['t:a1'], 'asked:d1': 'a2', asks: (found) => soon(MAX_MS)(found.a2) && 'a1' in found, ...queued, 'open:default:alice': zset({ a2: agoUs }) },
    })),
    { name: 'a digest whose topic is gone', before: () => ({ 'asked:d1': 'gone', ...ENGINE }), call: ask(), reply: lines('ok', 'a1', 'maybe'), after: { ...made, ...queued } },
  ]);

  test('a stranger has as many places as are free, so each who comes has one, until all are taken', async () => {
    await shard.seed(ENGINE);
    let n = 0;
    const put = async (user) => (await shard.call(...ask({ digest: `d${n}`, topic: `a${n++}`, user, maxOfAll: 6 }))).split('\n').slice(0, 2);
    for (let i = 0; i < 3; i++) assert.equal((await put('one'))[0], 'ok');
    assert.deepEqual(await put('one'), ['waiting', '3'], 'half of them');
    assert.equal((await put('two'))[0], 'ok');
    assert.deepEqual(await put('one'), ['waiting', '4']);
    assert.equal((await put('two'))[0], 'ok');
    assert.deepEqual(await put('two'), ['waiting', '5']);
    assert.equal((await put('three'))[0], 'ok');
    for (const user of ['one', 'three', 'four']) assert.deepEqual(await put(user), ['waiting', '6']);
    await shard.call(...leave('a0'));
    assert.equal((await put('four'))[0], 'ok', 'a place that is free again');
  });

  test('an answer finds all the nodes that wait, and each of them its own copy', async () => {
    await shard.seed(pending());
    for (const node of ['n2', 'n3']) await shard.ears.add(node);
    try {
      for (const node of ['n2', 'n3']) assert.deepEqual((await shard.turn([ask({ topic: `${node}t` })], { node })).replies, [lines('joined', 'a1')]);
      const { replies, events } = await shard.turn([['complete', 0, 'a1', 1, '7', 'E', '"Q1"', lines('["42"]', 'null', 'null'), '']]);
      assert.match(replies[0], /^ok\n1\n/);
      assert.match(events[0], /^outcome\na1\n1\nDone\n/);
      assert.deepEqual((await shard.ears.take()).map(([channel]) => channel), ['node:n2', 'node:n3']);
      for (let i = 0; i < 3; i++) {
        assert.equal(await shard.get('t:a1') !== undefined, true);
        await shard.call(...leave());
      }
      await shard.assertKeys({ meta: anything, ...ENGINE });
    } finally {
      for (const node of ['n2', 'n3']) await shard.ears.remove(node);
    }
  });

  test('asking takes along some that are due, so those that are kept do not pile up', async () => {
    await shard.seed(ENGINE);
    for (let i = 1; i <= 50; i++) {
      await shard.call(...ask({ digest: `d${i}`, topic: `a${i}` }));
      await shard.call('ask_leave', `a${i}`, 1);
      await shard.cmd('ZADD', shard.key('asks'), 5, `a${i}`);
    }
    assert.equal(await shard.cmd('ZCARD', shard.key('asks')), 1);
    assert.equal((await shard.get('meta')).depth, '1');
  });
});

scripts('engines', ({ cases }) => {
  cases([
    { name: 'a parked one', before: { idle: zset({ 'n1 E|*': 1 }) }, call: ['engines', '', 0], reply: 'there' },
    { name: 'one at work', before: { leases: zset({ '7 a1': 9e12 }) }, call: ['engines', '', 0], reply: 'there' },
    { name: 'one that comes in the same turn', calls: [['claim', 0, 'E|*', 1], ['engines', '', 0]], replies: ['parked', 'there'], after: { idle: zset({ 'n1 E|*': 1 }) } },
    { name: 'one that was seen lately and did not come back', before: { engines: { 'E -': `${Date.now() - 60_000} {}` } }, call: ['engines', '', 5000], reply: 'maybe' },
    { name: 'one that came back and is between two polls once more', before: ENGINE, call: ['engines', '', 600_000], reply: 'there' },
    { name: 'one that came back to rest', before: () => RESTING([60_000]), call: ['engines', '', 600_000], reply: (found) => /^no_engine\n/.test(found) },
    { name: 'a question that was answered, or is being answered, had its engine', before: { ...ENGINE, 't:a': fieldsOf('P 1 1 E 1'), 't:b': fieldsOf('D') }, calls: [['engines', 'a', 0], ['engines', 'b', 0]], replies: ['there', 'there'] },
    { name: 'a question that still waits has none', before: { ...ENGINE, 't:a': fieldsOf() }, call: ['engines', 'a', 0], reply: 'maybe' },
    { name: 'none was ever seen', call: ['engines', '', 0], reply: 'no_engine' },
    { name: 'one that rests for long', before: () => RESTING([60_000]), call: ['engines', '', 0], reply: (found) => /^no_engine\n(5[0-9]|60)$/.test(found) },
    { name: 'one that rests only for a moment', before: () => RESTING([5_000]), call: ['engines', '', 0], reply: 'there' },
  ]);
});

scripts('ask_leave', ({ cases }) => {
  const depth0 = { meta: { lease: 0, depth: 0, vt: '0.000000' } };
  cases([
    { name: 'a topic that is gone', call: leave(), reply: 'ok' },
    { name: 'a topic of a user is none of ours', before: { 't:a1': { seq: '1', 'u:alice': '1' } }, call: leave(), reply: 'ok' },
    { name: 'one of two leaves', before: () => pending({ n: 2 }), call: leave(), reply: 'ok', after: { 't:a1': fieldsOf('P 7 1 E 1', { n: 1 }) } },
    { name: 'the last one leaves an answered one', before: () => ended('D', { waiting: '' }), call: leave('a1', KEEP_MS), reply: 'ok', after: TOPIC_GONE },
    { name: 'the last one leaves one in the queue, which is not kept', before: () => waiting(), call: leave(), reply: 'ok', events: ['changed\na1\n1'], after: { ...TOPIC_GONE, ...QUEUE_GONE, ...depth0 } },
    { name: 'the last one leaves one at an engine, which is not kept: its lease ends', before: () => pending(), call: leave(), reply: 'ok', events: ['changed\na1\n1'], after: { ...TOPIC_GONE, leases: null } },
    { name: 'one in the queue is kept', before: () => waiting(), call: leave('a1', KEEP_MS), reply: 'ok', after: { 't:a1': fieldsOf(undefined, { n: 0 }), asks: (found) => soon(KEEP_MS)(found.a1) } },
    { name: 'one at an engine is kept, and found by who asks again', before: () => pending(), calls: [leave('a1', KEEP_MS), ask({ topic: 'a2' })], replies: ['ok', lines('joined', 'a1')], after: HELD },
    { name: 'a failed one has taken its place in the meantime: its digest stays', before: () => ({ ...ended('F "x"', { waiting: '' }), 'asked:d1': 'a2', failed: zset({ 'a1 1': 5 }) }), call: leave(), reply: 'ok', after: { 't:a1': null, asks: null, failed: null } },
    {
      name: 'race: it is answered while it is kept: who asks again gets the answer',
      before: () => pending({ n: 0, waiting: '' }),
      calls: [['complete', 0, 'a1', 1, '7', 'E', '"Q1"', lines('["42"]', '["hm"]', 'null'), ''], ask({ topic: 'a2' })],
      replies: [anything, (found) => found.startsWith('done\na1\nDone\n')],
      after: { 't:a1': (found) => found.asks === '1' && found['s:1'] === 'D', leases: null, ...HELD },
    },
    {
      name: 'race: an engine answers what nobody waits for any more: missing, and nothing comes back',
      before: () => pending(),
      calls: [leave(), ['complete', 0, 'a1', 1, '7', 'E', '"Q1"', lines('["42"]', 'null', 'null'), ''], ['reap']],
      replies: ['ok', 'missing', ''],
      events: ['changed\na1\n1'],
      after: { ...TOPIC_GONE, leases: null },
    },
  ]);
});

scripts('sweep_asks', ({ cases, test, shard }) => {
  cases([
    { name: 'nothing is there', call: ['sweep_asks'], reply: '0' },
    { name: 'nothing is due', before: () => pending(), call: ['sweep_asks'], reply: '0' },
    { name: 'what a dead node left', before: () => ({ ...waiting({ n: 3, waiting: '' }), asks: zset({ a1: 5, a2: Date.now() + 900_000 }) }), call: ['sweep_asks'], reply: '1', after: { ...TOPIC_GONE, asks: zset({ a2: soon(900_000) }), ...QUEUE_GONE, meta: { lease: 0, depth: 0, vt: '0.000000' } } },
    { name: 'what a node left that is gone for a minute, whose questions hold places', before: () => ({ ...waiting({ n: 1, waiting: 'n9' }), nodes: zset({ n1: 1 }), asks: zset({ a1: Date.now() + 600_000 }) }), call: ['sweep_asks'], reply: '1', after: { ...TOPIC_GONE, asks: null, ...QUEUE_GONE, meta: { lease: 0, depth: 0, vt: '0.000000' } } },
    { name: 'what another node still waits for stays', before: () => ({ ...waiting({ n: 2, waiting: 'n9 n1' }), nodes: zset({ n1: 1 }), asks: zset({ a1: Date.now() + 600_000 }) }), call: ['sweep_asks'], reply: '0' },
    { name: 'what was asked just now stays: its node may not have said yet that it is there', before: () => ({ ...waiting({ n: 1, waiting: 'n9' }), nodes: zset({ n1: 1 }), asks: zset({ a1: Date.now() + 1_790_000 }) }), call: ['sweep_asks'], reply: '0' },
    { name: 'what is gone already', before: { asks: zset({ a1: 5 }) }, call: ['sweep_asks'], reply: '1', after: { asks: null } },
  ]);

  test('500 a call', async () => {
    await shard.cmd('ZADD', shard.key('asks'), ...Array.from({ length: 501 }, (_, i) => [i + 1, `a${i}`]).flat());
    for (const n of ['500', '1', '0']) assert.equal(await shard.call('sweep_asks'), n);
  });
});
