// SPDX-License-Identifier: MIT
//
// The key of a lease, lease:<id>: who writes it, who renews it, what takes it away, and that nothing depends on it. The other
// tests of this folder hold it against the rows of each claim, too (leaseKeysOf in tests/support/lua.mjs).
import assert from 'node:assert/strict';
import { anything, lines, openOf, rowOf, scripts, set, soon, tailOf, topicOf, ttl, zset } from '../../support/lua.mjs';

const LATER = 9e12;
const OVER = 2;
const ANSWER = lines('["a"]', 'null', 'null');
const LEASE_S = 150;
const meta = (lease, depth = 0) => ({ lease, depth, vt: '0.000000' });

// How often claims of the queries 1 to n ended without an answer.
const ended = (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`k:${i + 1}`, 1]));
// Topic t with an Open query a text, of alice.
const open = (n = 1) => ({
  't:t': { ...topicOf(Array(n).fill(undefined)), open: openOf(...Array.from({ length: n }, (_, i) => [i + 1])) },
  'open:default:alice': zset({ t: 1_000_000 }),
  'turns:default': zset({ alice: 0 }),
  models: set('default'),
  waiting: { 'Frontend_1 alice': String(n) },
  meta: meta('0', String(n)),
});
const nothingOpen = { 'open:default:alice': null, 'turns:default': null, models: null, waiting: null };
// What comes back after n queries had been claimed.
const back = (n, used = 1) => ({
  't:t': { ...topicOf(Array(n).fill(undefined)), open: openOf(...Array.from({ length: n }, (_, i) => [i + 1, used])), ...ended(n) },
  leases: null,
  'open:default:alice': zset({ t: 1_000_000 }),
  'turns:default': zset({ alice: -1 }),
  models: set('default'),
  waiting: { 'Frontend_1 alice': n },
  meta: meta(7, n),
});
// One query, or three, of topic t, that E holds under lease 7; the key is named, so it must be exactly that afterwards.
const KEY = { 'lease:7': ttl(60, 'E t 1 n1 1') };
const one = { 't:t': topicOf(['P 7 1 E 1']), leases: zset({ '7 t': LATER }), meta: meta('7'), ...KEY };
const KEY_3 = { 'lease:7': ttl(60, 'E t 1 n1 1 2 3') };
const three = (states = Array(3).fill('P 7 1 E 3')) => ({
  't:t': topicOf(states, { 'l:7': '1 2 3' }),
  leases: zset({ '7 t': LATER }),
  meta: meta('7'),
  ...KEY_3,
});
// The same while no node has confirmed it.
const claimed = { 't:t': topicOf(['P 7 1 E 1']), leases: zset({ '7 t': LATER - 1 }), meta: meta('7') };
const due = (keys, at = OVER) => ({ ...keys, leases: zset({ '7 t': at }) });
const without = (keys) => Object.fromEntries(Object.entries(keys).filter(([name]) => name !== 'lease:7'));
const complete = (seq = 1, lease = '7') => ['complete', 0, 't', seq, lease, 'E', `"Q${seq}"`, ANSWER, ''];
const release = (...args) => ['release', 0, 't', '7', 'E', '', '"tired"', ...args];
const ok = (reply) => reply.startsWith('ok');
const done = { ...topicOf(['D']), 'a:1': anything };
const gone = { leases: null, 'lease:7': null };

scripts('the key of a lease is written when its claim has reached its engine, with its full time', ({ cases }) => {
  cases([
    {
      name: 'not by a claim: the index has the delivery deadline',
      before: open(),
      call: ['claim', 0, 'E|*', '0'],
      reply: anything,
      after: { ...nothingOpen, 't:t': { ...topicOf(['P 1 1 E 1']), open: '' }, leases: zset({ '1 t': soon(2000) }), meta: meta(1) },
    },
    {
      name: 'nor by a claim of several queries',
      before: { ...open(3), 't:t': { ...topicOf(Array(3).fill(undefined)), open: openOf([1, 0], [2, 1], [3, 0]) } },
      call: ['claim', 0, 'E|*', '0'],
      reply: anything,
      after: { ...nothingOpen, 't:t': { ...topicOf(['P 1 1 E 3', 'P 1 2 E 3', 'P 1 1 E 3'], { 'l:1': '1 2 3' }), open: '' }, leases: zset({ '1 t': soon(2000) }), meta: meta(1) },
    },
    {
      name: 'nor by an add that hands over',
      before: { idle: zset({ 'n2 E|*': 1 }) },
      alive: ['n2'],
      call: ['add', 0, 't', 'alice', 'Frontend_1', 'default', 1, 100, tailOf()],
      reply: ok,
      published: [['node:n2', (event) => event.startsWith('claim\nE|*\nt\n1\n')]],
      after: { idle: null, 't:t': anything, 'topics:alice': anything, users: set('alice'), leases: zset({ '1 t': soon(2000) }), meta: meta(1) },
    },
    {
      name: 'by its confirmation, with what the node says of it',
      before: claimed,
      call: ['delivered', '7 t', 'E t 1 n2 1'],
      reply: 'ok',
      after: { leases: zset({ '7 t': soon(150_000) }), 'lease:7': ttl(LEASE_S, 'E t 1 n2 1') },
    },
    { name: 'once more, if it is confirmed again', before: one, call: ['delivered', '7 t', 'E t 1 n1 1'], reply: 'ok', after: { leases: zset({ '7 t': soon(150_000) }), 'lease:7': ttl(LEASE_S, 'E t 1 n1 1') } },
    { name: 'race: not if the claim was answered before', before: { 't:t': topicOf(['D'], { 'a:1': 'x' }) }, call: ['delivered', '7 t', 'E t 1 n1 1'], reply: 'ok' },
    {
      name: 'race: not if it is answered in the same turn',
      before: claimed,
      calls: [complete(), ['delivered', '7 t', 'E t 1 n1 1']],
      replies: [ok, 'ok'],
      after: { ...gone, 't:t': done },
    },
    {
      name: 'race: of two claims only that of the one that has not ended',
      before: { ...claimed, 't:u': topicOf(['P 9 1 E 1']), leases: zset({ '7 t': LATER - 1, '9 u': LATER - 1 }) },
      calls: [complete(), ['delivered', '7 t', 'E t 1 n1 1', '8 t', 'E t 1 n1 1', '9 u', 'E u 1 n1 1']],
      replies: [ok, 'ok'],
      after: { 't:t': done, leases: zset({ '9 u': soon(150_000) }), 'lease:9': ttl(LEASE_S, 'E u 1 n1 1') },
    },
    { name: 'by a heartbeat that comes before its confirmation', before: claimed, call: ['extend', 0, 't', '7', 'E'], reply: 'ok\n', after: { leases: zset({ '7 t': soon(150_000) }), 'lease:7': ttl(LEASE_S, 'E t 1 n1 1') } },
  ]);
});

scripts('the key of a lease is renewed by signs of life', ({ cases }) => {
  const renewed = (list = '1') => ({ leases: zset({ '7 t': soon(150_000) }), 'lease:7': ttl(LEASE_S, `E t 1 n1 ${list}`) });
  const partial = (holder = 'E', lease = '7', seq = 1) => ['partial', 0, 't', seq, lease, 0, '', 'text', 1000, holder, 'whole'];
  const FIRST_TEXT = (reply) => /^ok\n4\n\d{13}\n1\n$/.test(reply); // and the age of a row that was made at 1000 ms
  const stream = { 'partials:t:1': ttl(86400, anything) };
  cases([
    { name: 'by a heartbeat', before: one, call: ['extend', 0, 't', '7', 'E'], reply: 'ok\n', after: renewed() },
    { name: 'by a heartbeat, with the Seqs of a claim that is partly answered as they were', before: three(['D', 'P 7 1 E 3', 'P 7 1 E 3']), call: ['extend', 0, 't', '7', 'E'], reply: 'ok\n', after: renewed('1 2 3') },
    { name: 'by a partial answer', before: one, call: partial(), reply: FIRST_TEXT, after: { ...renewed(), ...stream } },
    { name: 'not by the heartbeat of another account, which knows its number', before: one, call: ['extend', 0, 't', '7', 'F'], reply: 'lost' },
    { name: 'not by the partial answer of another account', before: one, call: partial('F'), reply: 'lost' },
    { name: 'not by a heartbeat that names another topic', before: { ...one, 't:u': topicOf(['P 8 1 E 1']) }, call: ['extend', 0, 'u', '7', 'E'], reply: 'lost' },
    { name: 'a heartbeat writes it again when it is gone', isBare: true, before: without(one), call: ['extend', 0, 't', '7', 'E'], reply: 'ok\n', after: renewed() },
    { name: 'a partial answer writes it again when it is gone', isBare: true, before: without(one), call: partial(), reply: FIRST_TEXT, after: { ...renewed(), ...stream } },
    {
      name: 'it is written again with what the claim still holds, the highest attempt and the node that it was handed to',
      isBare: true,
      before: without(three(['D', 'P 7 1 E 3 n2', 'P 7 2 E 3 n2'])),
      call: ['extend', 0, 't', '7', 'E'],
      reply: 'ok\n',
      after: { leases: zset({ '7 t': soon(150_000) }), 'lease:7': ttl(LEASE_S, 'E t 2 n2 2 3') },
    },
    { name: 'a partial answer under a lease that the index has lost writes none', isBare: true, before: { 't:t': one['t:t'], meta: one.meta }, call: partial(), reply: FIRST_TEXT, after: stream },
    { name: 'a heartbeat of a claim that is over writes none', isBare: true, before: { 't:t': topicOf([undefined]) }, call: ['extend', 0, 't', '7', 'E'], reply: 'lost' },
  ]);
});

scripts('the key of a lease is deleted with its claim', ({ cases, test }) => {
  cases([
    { name: 'with the answer', before: one, call: complete(), reply: ok, after: { ...gone, 't:t': done } },
    { name: 'not with the first of three answers', before: three(), call: complete(), reply: ok, after: { 't:t': { ...topicOf(['D', 'P 7 1 E 3', 'P 7 1 E 3'], { 'l:7': '1 2 3' }), 'a:1': anything } } },
    { name: 'with the last of three answers', before: three(), calls: [complete(1), complete(2), complete(3)], replies: [ok, ok, ok], after: { ...gone, 't:t': topicOf(['D', 'D', 'D'], { 'a:1': anything, 'a:2': anything, 'a:3': anything }) } },
    { name: 'with a release', before: three(), call: release('retry'), reply: 'ok', after: { ...back(3), ...gone } },
    { name: 'with a release that fails it', before: one, call: release('fail'), reply: 'ok', after: () => ({ ...gone, 't:t': topicOf(['F "tired"'], { 'w:1': '', ...ended(1) }), failed: anything, [`stat:${Math.floor(Date.now() / 60_000)}`]: ttl(7200, anything) }) },
    { name: 'with a claim that is given back', before: one, call: ['give_back', 't', '7', ''], reply: 'ok', after: { ...back(1, 0), ...gone } },
    { name: 'with a lease that ended', before: due(three()), call: ['reap'], reply: '\n1\n0', after: { ...back(3), ...gone } },
    { name: 'with a delivery lease that ended, long before its own time', before: due(one, 1), call: ['reap'], reply: '\n0\n1', after: { ...back(1, 0), ...gone, 't:t': { ...back(1, 0)['t:t'], 'b:1': 1 } } },
    { name: 'with the last query that was cancelled under it', before: one, call: ['cancel', 0, 't', 1, '', '"user"'], reply: 'ok\nended', after: { ...gone, 't:t': topicOf(['C "user"'], { 'w:1': '', 'c:7': '1', ...ended(1) }) } },
    { name: 'with its topic', before: { ...three(), 'topics:alice': zset({ t: 1 }), 't:t': { ...three()['t:t'], 'u:alice': '1' } }, call: ['delete', 0, 'alice', 't', ''], reply: 'ok', after: { ...gone, 't:t': null, 'topics:alice': null } },
    { name: 'with a topic that is purged', before: { ...one, 'topics:alice': zset({ t: 1 }), users: set('alice'), 't:t': { ...one['t:t'], 'u:alice': '1' } }, call: ['purge', 1, '0'], reply: '0', after: { ...gone, 't:t': null, 'topics:alice': null, users: null } },
    {
      name: 'a claim that begins and ends in one turn leaves none',
      before: open(),
      calls: [['claim', 0, 'E|*', '0'], complete(1, '1')],
      replies: [anything, ok],
      after: { ...nothingOpen, 't:t': { ...done, open: '' }, meta: meta(1) },
    },
    {
      name: 'what is handed over again has none yet',
      before: { ...one, idle: zset({ 'n1 F|*': 1 }) },
      call: release('retry'),
      reply: 'ok',
      events: [lines('claim', 'F|*', 't', 8, 2, 1, 1, rowOf({ query: 'Q1' }))],
      after: { 'lease:7': null, 't:t': { ...topicOf(['P 8 2 F 1']), open: '', ...ended(1) }, leases: zset({ '8 t': soon(2000) }), idle: null, meta: meta(8) },
    },
  ]);

  test('a thousand leases that end in one turn leave no key', async (shard) => {
    for (let i = 0; i < 1000; i++) await shard.turn([['add', 0, `t${i}`, 'alice', 'Frontend_1', 'default', 1, 1e6, tailOf()]]);
    const claims = (await shard.turn(Array(1000).fill(['claim', 0, 'E|*', '0']))).replies.map((text) => text.split('\n', 4));
    for (let i = 0; i < 1000; i += 250) await shard.turn([['delivered', ...claims.slice(i, i + 250).flatMap(([, , topic, lease]) => [`${lease} ${topic}`, `E ${topic} 1 n1 1`])]]);
    assert.equal((await shard.names()).filter((name) => name.startsWith('lease:')).length, 1000);
    await shard.turn(claims.map(([, , topic, lease]) => ['complete', 0, topic, 1, lease, 'E', '"Why?"', ANSWER, '']));
    assert.deepEqual((await shard.names()).filter((name) => name.startsWith('lease')), []);
  });
});

scripts('a claim whose key is gone', ({ cases, test }) => {
  const bare = (list) => cases(list.map((it) => ({ isBare: true, ...it })));
  bare([
    { name: 'is answered', before: without(one), call: complete(), reply: ok, after: { leases: null, 't:t': done } },
    { name: 'of three is answered in any order', before: without(three()), calls: [complete(3), complete(1), complete(2)], replies: [ok, ok, ok], after: { leases: null, 't:t': topicOf(['D', 'D', 'D'], { 'a:1': anything, 'a:2': anything, 'a:3': anything }) } },
    { name: 'is returned when its lease ends', before: due(without(one)), call: ['reap'], reply: '\n1\n0', after: back(1) },
    { name: 'of three is returned when its lease ends', before: due(without(three())), call: ['reap'], reply: '\n1\n0', after: back(3) },
    { name: 'is released', before: without(one), call: release('retry'), reply: 'ok', after: back(1) },
    { name: 'of three, one of them answered, is released', before: without(three(['D', 'P 7 1 E 3', 'P 7 1 E 3'])), call: release('retry'), reply: 'ok', after: { ...back(2), 't:t': { ...topicOf(['D', undefined, undefined]), open: openOf([2, 1], [3, 1]), 'k:2': 1, 'k:3': 1 }, 'open:default:alice': zset({ t: 1_001_000 }) } },
    { name: 'is given back', before: without(one), call: ['give_back', 't', '7', ''], reply: 'ok', after: back(1, 0) },
    { name: 'is still only its own account\'s', before: without(one), calls: [['extend', 0, 't', '7', 'F'], ['release', 0, 't', '7', 'F', '', '"x"', 'retry']], replies: ['lost', 'lost'] },
  ]);
  cases([
    { name: 'a key that names other Seqs than it took hides nothing', before: { ...due(one), 'lease:7': ttl(60, 'E t 1 n1 9') }, call: ['reap'], reply: '\n1\n0', after: { ...back(1), ...gone } },
    { name: 'a key that holds nonsense hides nothing', before: { ...due(three()), 'lease:7': ttl(60, 'nonsense') }, call: ['reap'], reply: '\n1\n0', after: { ...back(3), ...gone } },
    {
      name: 'no verb believes a key that is left after the answer; it expires',
      isBare: true,
      before: { 't:t': topicOf(['D'], { 'a:1': 'x' }), ...KEY },
      calls: [['extend', 0, 't', '7', 'E'], ['give_back', 't', '7', ''], release('retry'), ['reap']],
      replies: ['lost', 'ok', 'lost', ''],
    },
  ]);

  test('is found when it expired in Redis: the index alone says that it lives', async (shard) => {
    await shard.seed(open());
    await shard.turn([['claim', 0, 'E|*', '0']]);
    await shard.turn([['delivered', '1 t', 'E t 1 n1 1']]);
    await shard.cmd('PEXPIREAT', shard.key('lease:1'), 1);
    assert.equal(await shard.cmd('EXISTS', shard.key('lease:1')), 0);
    assert.equal(await shard.call('extend', 0, 't', '1', 'E'), 'ok\n');
    assert.equal(await shard.cmd('GET', shard.key('lease:1')), 'E t 1 n1 1');
  });
});

scripts('what a lease\'s key is read for', ({ test }) => {
  const ROWS = 9000;
  const long = async (shard, states) => {
    const flat = Object.entries(topicOf(states)).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
  };
  // How many fields were read with HMGET, and the replies.
  const looks = async (shard, ...verbs) => {
    await shard.cmd('CONFIG', 'RESETSTAT');
    const { replies } = await shard.turn(verbs);
    const { cmdstat_hmget, cmdstat_zscore } = await shard.redis.info('commandstats');
    const calls = (stat) => Number(/calls=(\d+)/.exec(stat ?? 'calls=0')[1]);
    return [replies, calls(cmdstat_hmget), calls(cmdstat_zscore)];
  };

  test('an old claim of a long topic is extended and released without a search', async (shard) => {
    const states = Array(ROWS).fill('D');
    states[0] = 'P 7 1 E 1';
    await long(shard, states);
    await shard.seed({ leases: zset({ '7 t': LATER }), ...KEY });
    assert.deepEqual(await looks(shard, ['extend', 0, 't', '7', 'E']), [['ok\n'], 1, 0], 'one look, at one state');
    const [replies, hmgets] = await looks(shard, release('retry'));
    assert.deepEqual([replies, hmgets <= 5], [['ok'], true], `${hmgets} looks`);
  });

  test('an answer whose Seq is off is looked for among its claim before all rows', async (shard) => {
    const states = Array(ROWS).fill('D');
    states[ROWS - 1] = 'P 7 1 E 1';
    await long(shard, states);
    await shard.seed({ leases: zset({ '7 t': LATER }), 'lease:7': ttl(60, `E t 1 n1 ${ROWS}`) });
    const [[reply], hmgets] = await looks(shard, ['complete', 0, 't', 77, '7', 'E', `"Q${ROWS}"`, ANSWER, '']);
    assert.match(reply, new RegExp(`^ok\n${ROWS}\n`));
    assert.ok(hmgets <= 4, `${hmgets} looks`);
  });

  test('the same text under two leases of an account is answered under the one that is named', async (shard) => {
    const topic = topicOf(['P 7 1 E 1', 'P 8 1 E 1']);
    topic['q:2'] = topic['q:1'];
    await shard.seed({ 't:t': topic, leases: zset({ '7 t': LATER, '8 t': LATER }) });
    assert.match(await shard.call('complete', 0, 't', 3, '8', 'E', '"Q1"', ANSWER, ''), /^ok\n2\n/);
    assert.deepEqual(await shard.cmd('HMGET', shard.key('t:t'), 's:1', 's:2'), ['P 7 1 E 1', 'D']);
  });

  test('an engine with made-up leases reads no rows, and with those of others none either', async (shard) => {
    await long(shard, [...Array(ROWS).fill('D'), 'P 7 1 E 1']);
    await shard.seed({ leases: zset({ '7 t': LATER }), ...KEY });
    const lies = (lease) => [['extend', 0, 't', lease, 'F'], ['release', 0, 't', lease, 'F', '', '"x"', 'retry'], ['partial', 0, 't', 1, lease, 0, '', 'x', 1000, 'F', 'whole']];
    const [replies, hmgets] = await looks(shard, ...lies('7'));
    assert.deepEqual([replies, hmgets], [['lost', 'lost', 'lost'], 1], 'the look of partial, at one row\'s state');
    const [made, madeUp] = await looks(shard, ...lies('99'));
    assert.deepEqual([made, madeUp], [['lost', 'lost', 'lost'], 3], 'where a list would be, and the look of partial');
    assert.deepEqual((await shard.names()).filter((name) => name.startsWith('lease:')), ['lease:7']);
    assert.ok((await shard.cmd('TTL', shard.key('lease:7'))) <= 60);
  });
});

scripts('the key of a lease and a Redis that starts again from its log', ({ test }) => {
  test('is there with the time that was left', async (shard) => {
    await shard.seed(open(3));
    await shard.turn([['claim', 0, 'E|*', '0']]);
    await shard.turn([['delivered', '1 t', 'E t 1 n1 1 2 3']]);
    const expires = await shard.cmd('PEXPIRETIME', shard.key('lease:1'));
    await shard.redis.restart();
    assert.equal(await shard.cmd('GET', shard.key('lease:1')), 'E t 1 n1 1 2 3');
    assert.equal(await shard.cmd('PEXPIRETIME', shard.key('lease:1')), expires);
    assert.equal(await shard.call('extend', 0, 't', '1', 'E'), 'ok\n');
    assert.match(await shard.call('complete', 0, 't', 2, '1', 'E', '"Q2"', ANSWER, ''), /^ok/);
    assert.equal(await shard.call('release', 0, 't', '1', 'E', '', '"tired"', 'retry'), 'ok');
    await shard.redis.restart();
    assert.deepEqual((await shard.names()).filter((name) => name.startsWith('lease')), []);
  });

  test('which outlasted its time is gone, and its claim is returned', async (shard) => {
    await shard.seed(open());
    await shard.turn([['claim', 0, 'E|*', '0']]);
    await shard.turn([['delivered', '1 t', 'E t 1 n1 1']], { leaseMs: 2 });
    await shard.redis.restart();
    assert.equal(await shard.cmd('EXISTS', shard.key('lease:1')), 0);
    let depth;
    for (const until = Date.now() + 60_000; depth !== '1' && Date.now() < until; ) {
      await shard.call('reap');
      depth = (await shard.get('meta')).depth;
    }
    assert.equal(depth, '1');
  });
}, { aof: true });
