// SPDX-License-Identifier: MIT
//
// delivered, extend, give_back, release, reap: what keeps a lease, and what ends it. Races by name.
import assert from 'node:assert/strict';
import { ago, anything, credits, lines, openOf, rowOf, scripts, set, soon, tailOf, topicOf, ttl, zset } from '../../support/lua.mjs';

const LEASE_OVER = '"No answer came before the lease ended, in any attempt."';
const minute = () => Math.floor(Date.now() / 60_000);

// Deadlines in ms; odd ones are of claims that no engine has yet.
const LATER = 9e12;
const OVER = 2;
const UNDELIVERED = 1;

// Topic t whose only query engine E holds under lease 7.
const held = ({ attempt = 1, until = LATER, more = {} } = {}) => ({
  't:t': topicOf([`P 7 ${attempt} E 1`], more),
  leases: zset({ '7 t': until }),
  meta: { lease: '7', depth: '0', vt: '3.000000' },
});
// Topic t with three queries under lease 7, as one claim.
const heldThree = ({ attempts = [1, 1, 1], until = LATER } = {}) => ({
  't:t': topicOf(attempts.map((attempt) => `P 7 ${attempt} E 3`), { 'l:7': '1 2 3' }),
  leases: zset({ '7 t': until }),
  meta: { lease: '7', depth: '0', vt: '3.000000' },
});
// How often claims of these queries ended without an answer.
const ended = (...seqs) => Object.fromEntries(seqs.map((seq) => [`k:${seq}`, 1]));
// What is left of `n` queries of alice that are Open again.
const back = (n, { attempts = Array(n).fill(1), more = {}, topic } = {}) => ({
  't:t': topic ?? {
    ...topicOf(Array(n).fill(undefined)),
    open: openOf(...attempts.map((used, i) => [i + 1, used])),
    ...ended(...attempts.map((_, i) => i + 1)),
    ...more,
  },
  leases: null,
  'open:default:alice': zset({ t: 1_000_000 }),
  'turns:default': zset({ alice: -1 }),
  models: set('default'),
  waiting: { 'Frontend_1 alice': n },
  meta: { lease: 7, depth: n, vt: '3.000000' },
});

scripts('delivered', ({ cases }) => {
  cases([
    {
      name: 'a delivery lease becomes a whole one',
      before: held({ until: LATER - 1 }),
      call: ['delivered', '7 t', 'E t 1 n1 1'],
      reply: 'ok',
      after: { leases: zset({ '7 t': soon(150_000) }) },
    },
    {
      name: 'race: a claim that was reaped before its delivery was reported stays reaped',
      before: { 't:t': topicOf([undefined]) },
      calls: [['delivered', '7 t', 'E t 1 n1 1', '8 t', 'E t 1 n1 2'], ['delivered']],
      replies: ['ok', 'ok'],
    },
    {
      name: 'race: a claim answered in the turn that tells its delivery leaves no lease',
      before: held(),
      calls: [['complete', 0, 't', 1, '7', 'E', '"Q1"', lines('["a"]', 'null', 'null'), ''], ['delivered', '7 t', 'E t 1 n1 1']],
      replies: [(r) => r.startsWith('ok\n1\n'), 'ok'],
      after: {
        't:t': { ...topicOf(['D']), 'a:1': (a) => a.startsWith('["a"]\nnull\nnull\n') && a.endsWith('\nE') },
        leases: null,
      },
    },
  ]);
});

scripts('a claim after which much was added', ({ test, shard }) => {
  test('is listed when it is passed, and found without its key or a search', async () => {
    await shard.seed({ 't:t': topicOf(['P 7 1 E 1 n2', ...Array(100).fill('C "no"')]), leases: zset({ '7 t': LATER }) }, { isBare: true });
    await shard.call('add', 0, 't', 'alice', 'Frontend_1', 'default', 1, 100, tailOf());
    assert.deepEqual(await shard.cmd('HMGET', shard.key('t:t'), 's:1', 'l:7'), ['P 7 1 E 2 n2', '1']);
    await shard.cmd('CONFIG', 'RESETSTAT');
    assert.equal(await shard.call('extend', 0, 't', '7', 'F'), 'lost', 'another account does not hold it, though it was found');
    assert.equal(await shard.call('extend', 0, 't', '7', 'E'), 'ok\n');
    const { cmdstat_hmget } = await shard.redis.info('commandstats');
    assert.ok(Number(/calls=(\d+)/.exec(cmdstat_hmget)[1]) <= 6, cmdstat_hmget);
    assert.match(await shard.call('complete', 0, 't', 1, '7', 'E', '"Q1"', lines('["a"]', 'null', 'null'), ''), /^ok/);
    assert.deepEqual(await shard.cmd('HMGET', shard.key('t:t'), 's:1', 'l:7'), ['D', null]);
    assert.equal(await shard.get('leases'), undefined);
  });

  for (const [rows, isFound] of [[100, true], [101, false]]) {
    test(`that is not listed and has no key is ${isFound ? '' : 'not '}looked for past ${rows} rows`, async () => {
      await shard.seed({ 't:t': topicOf(['P 7 1 E 1', ...Array(rows).fill('C "no"')]), leases: zset({ '7 t': LATER }) }, { isBare: true });
      assert.equal(await shard.call('extend', 0, 't', '7', 'E'), isFound ? 'ok\n' : 'lost');
    });
  }
});

scripts('extend', ({ cases }) => {
  cases([
    {
      name: 'a heartbeat starts the lease again',
      before: held({ until: LATER }),
      call: ['extend', 0, 't', '7', 'E'],
      reply: 'ok\n',
      after: { leases: zset({ '7 t': soon(150_000) }) },
    },
    { name: 'a lease of an unknown topic is lost', call: ['extend', 0, 'x', '7', 'E'], reply: 'lost' },
    { name: 'another lease of that topic is lost', before: held(), call: ['extend', 0, 't', '8', 'E'], reply: 'lost' },
    { name: 'a lease of another topic is lost', before: { ...held(), 't:u': topicOf([undefined]) }, call: ['extend', 0, 'u', '7', 'E'], reply: 'lost' },
    { name: 'the lease of another engine is lost: its number can be guessed', before: held(), call: ['extend', 0, 't', '7', 'F'], reply: 'lost' },
    { name: 'what is no number is lost', before: held(), call: ['extend', 0, 't', 'x y%', 'E'], reply: 'lost' },
    {
      name: 'race: the heartbeat of an engine whose query another one has claimed since is lost',
      before: { ...held(), 't:t': topicOf(['P 8 2 F 1']), leases: zset({ '8 t': 9e12 }) },
      call: ['extend', 0, 't', '7', 'E'],
      reply: 'lost',
    },
    {
      name: 'the heartbeat of a claim of three tells what was cancelled, and continues for the others',
      before: { ...heldThree(), 't:t': topicOf(['P 7 1 E 3', 'C "user"', 'C "user"'], { 'l:7': '1 2 3', 'c:7': '2,3' }) },
      call: ['extend', 0, 't', '7', 'E'],
      reply: 'ok\n2,3',
      after: { leases: zset({ '7 t': soon(150_000) }) },
    },
    {
      name: 'a claim whose queries are all cancelled hears of it, and has no lease',
      before: { 't:t': topicOf(['C "user"'], { 'c:7': '1' }) },
      call: ['extend', 0, 't', '7', 'E'],
      reply: 'ok\n1',
    },
  ]);
});

scripts('give_back', ({ cases }) => {
  cases([
    {
      name: 'a claim that reached nobody is Open again, its attempt uncounted',
      before: held(),
      call: ['give_back', 't', '7', ''],
      reply: 'ok',
      after: back(1, { attempts: [0] }),
    },
    {
      name: 'one whose connection ended while it was sent, too, and that is counted',
      before: held({ attempt: 3 }),
      call: ['give_back', 't', '7', '1'],
      reply: 'ok',
      after: back(1, { attempts: [2], more: { 'b:1': 1 } }),
    },
    {
      name: 'a query that ends each connection is Failed in the end',
      before: held({ attempt: 3, more: { 'b:1': '20' } }),
      call: ['give_back', 't', '7', '1'],
      reply: 'ok',
      after: () => ({
        't:t': topicOf(['F "The connection of its engine ended while the question was sent, each time."'], { ...ended(1), 'w:1': '', 'b:1': 21 }),
        leases: null,
        failed: zset({ 't 1': ago() }),
        [`stat:${minute()}`]: ttl(7200, { failed: 1 }),
      }),
    },
    {
      name: 'one of which nothing was sent is Open again however often that was',
      before: held({ attempt: 3, more: { 'b:1': '20' } }),
      call: ['give_back', 't', '7', ''],
      reply: 'ok',
      after: back(1, { attempts: [2], more: { 'b:1': '20' } }),
    },
    {
      name: 'a claim of three comes back in order, before what was added meanwhile',
      before: {
        't:t': { ...topicOf(['P 7 1 E 3', 'P 7 2 E 3', 'P 7 1 E 3', undefined], { 'l:7': '1 2 3' }) },
        leases: zset({ '7 t': 9e12 }),
        'open:default:alice': zset({ t: 5_000_000 }),
        'turns:default': zset({ alice: 8 }),
        models: set('default'),
        waiting: { 'Frontend_1 alice': '1' },
        meta: { lease: '7', depth: '1', vt: '3.000000' },
      },
      call: ['give_back', 't', '7', ''],
      reply: 'ok',
      after: {
        ...back(4),
        't:t': { ...topicOf(Array(4).fill(undefined)), open: openOf([1, 0], [2, 1], [3, 0], [4, 0]), ...ended(1, 2, 3) },
      },
    },
    {
      name: 'race: an engine polls on another node when a claim comes back: it has it at once',
      before: { ...held(), idle: zset({ 'n2 F|*': 1 }) },
      alive: ['n2'],
      call: ['give_back', 't', '7', ''],
      reply: 'ok',
      published: [['node:n2', lines('claim', 'F|*', 't', 8, 1, 1, 1, rowOf({ query: 'Q1' }))]],
      after: {
        't:t': { ...topicOf(['P 8 1 F 1 n2']), open: '', ...ended(1) },
        leases: zset({ '8 t': soon(2000) }),
        idle: null,
        meta: { lease: 8, depth: 0, vt: '3.000000' },
      },
    },
    { name: 'a lease that is gone is ignored', before: { 't:t': topicOf(['D']) }, call: ['give_back', 't', '7', ''], reply: 'ok' },
    { name: 'a topic that is gone is ignored', call: ['give_back', 't', '7', ''], reply: 'ok' },
    {
      name: 'race: given back twice in one turn, it is Open once',
      before: held(),
      calls: [['give_back', 't', '7', ''], ['give_back', 't', '7', '']],
      replies: ['ok', 'ok'],
      after: back(1, { attempts: [0] }),
    },
  ]);
});

scripts('release', ({ cases }) => {
  const release = ({ topic = 't', lease = '7', holder = 'E', query = '', retry = 'retry', seq = '' } = {}) =>
    ['release', 0, topic, lease, holder, query, '"tired"', retry, seq];
  const failed = (seq) => ({ [`t ${seq}`]: ago() });
  cases([
    { name: 'to be tried again: Open at the front, the attempt counted', before: held(), call: release(), reply: 'ok', after: back(1) },
    { name: 'a claim of three is Open again', before: heldThree(), call: release(), reply: 'ok', after: back(3) },
    {
      name: 'an engine that is away uses no attempt up, not even the last one',
      before: held({ attempt: 3 }),
      call: release({ retry: 'away' }),
      reply: 'ok',
      after: back(1, { attempts: [2], more: { 'b:1': 1 } }),
    },
    {
      name: 'it may do so 20 times: the next one counts',
      before: held({ more: { 'b:1': '20' } }),
      call: release({ retry: 'away' }),
      reply: 'ok',
      after: back(1, { more: { 'b:1': 21 } }),
    },
    {
      name: 'and after the last attempt the query is Failed all the same',
      before: held({ attempt: 3, more: { 'b:1': '20' } }),
      call: release({ retry: 'away' }),
      reply: 'ok',
      after: () => ({ 't:t': topicOf(['F "tired"'], { ...ended(1), 'w:1': '', 'b:1': 21 }), leases: null, failed: zset(failed(1)), [`stat:${minute()}`]: ttl(7200, { failed: 1 }) }),
    },
    {
      name: 'waiting nodes look again',
      before: held({ more: { 'w:1': 'n1 n2' } }),
      alive: ['n2'],
      call: release(),
      reply: 'ok',
      events: ['changed\nt\n1'],
      published: [['node:n2', 'changed\nt\n1']],
      after: back(1, { more: { 'w:1': 'n1 n2' } }),
    },
    {
      name: 'after the last attempt it is Failed with the reason, and listed',
      before: held({ attempt: 3 }),
      call: release(),
      reply: 'ok',
      after: () => ({
        't:t': topicOf(['F "tired"'], { ...ended(1), 'w:1': '' }),
        leases: null,
        failed: zset(failed(1)),
        [`stat:${minute()}`]: ttl(7200, { failed: 1 }),
      }),
    },
    { name: 'a lease of an unknown topic is lost', call: release(), reply: 'lost' },
    { name: 'the lease of another engine is lost', before: held(), call: release({ holder: 'F' }), reply: 'lost' },
    { name: 'race: a lease that ended is lost', before: { 't:t': topicOf([undefined]) }, call: release(), reply: 'lost' },
    {
      name: 'without a lease the text names the row: the others of that claim stay with their engine',
      before: heldThree(),
      call: release({ lease: '', query: '"Q2"' }),
      reply: 'ok\n-',
      after: {
        ...back(1),
        't:t': { ...topicOf(['P 7 1 E 3', undefined, 'P 7 1 E 3'], { 'l:7': '1 2 3' }), open: openOf([2, 1]), ...ended(2) },
        leases: zset({ '7 t': LATER }),
        'open:default:alice': zset({ t: 1_001_000 }),
      },
    },
    {
      name: 'the last row of a claim that is released by its text takes the lease along',
      before: { ...heldThree(), 't:t': topicOf(['D', 'P 7 1 E 3', 'D'], { 'l:7': '1 2 3', 'a:1': 'x', 'a:3': 'x' }) },
      call: release({ lease: '', query: '"Q2"' }),
      reply: 'ok',
      after: {
        ...back(1),
        't:t': { ...topicOf(['D', undefined, 'D'], { 'a:1': 'x', 'a:3': 'x' }), open: openOf([2, 1]), ...ended(2) },
        'open:default:alice': zset({ t: 1_001_000 }),
      },
    },
    {
      name: 'the query that failed may be named: all three are Open again, and the attempt counts for it alone',
      before: heldThree(),
      call: release({ seq: 2 }),
      reply: 'ok',
      after: back(3, { attempts: [0, 1, 0] }),
    },
    {
      name: 'after its last attempt it alone is Failed',
      before: { ...heldThree(), 't:t': topicOf(['P 7 3 E 3', 'P 7 3 E 3', 'P 7 3 E 3'], { 'l:7': '1 2 3' }) },
      call: release({ seq: 1 }),
      reply: 'ok',
      after: () => ({
        ...back(2),
        't:t': { ...topicOf(['F "tired"', undefined, undefined], { 'w:1': '' }), open: openOf([2, 2], [3, 2]), ...ended(1, 2, 3) },
        'open:default:alice': zset({ t: 1_001_000 }),
        failed: zset(failed(1)),
        [`stat:${minute()}`]: ttl(7200, { failed: 1 }),
      }),
    },
    {
      name: 'not to be tried again, it alone is Failed: the lease continues for the others',
      before: heldThree(),
      call: release({ retry: 'fail', seq: 2 }),
      reply: 'ok\n-',
      after: () => ({
        't:t': topicOf(['P 7 1 E 3', 'F "tired"', 'P 7 1 E 3'], { 'l:7': '1 2 3', 'w:2': '', ...ended(2) }),
        failed: zset(failed(2)),
        [`stat:${minute()}`]: ttl(7200, { failed: 1 }),
      }),
    },
    {
      name: 'the last one of a claim ends its lease',
      before: { ...heldThree(), 't:t': topicOf(['D', 'P 7 1 E 3', 'D'], { 'l:7': '1 2 3', 'a:1': 'x', 'a:3': 'x' }) },
      call: release({ retry: 'fail', seq: 2 }),
      reply: 'ok',
      after: () => ({
        't:t': topicOf(['D', 'F "tired"', 'D'], { 'a:1': 'x', 'a:3': 'x', 'w:2': '', ...ended(2) }),
        leases: null,
        failed: zset(failed(2)),
        [`stat:${minute()}`]: ttl(7200, { failed: 1 }),
      }),
    },
    { name: 'a Seq that this lease does not hold is lost', before: held(), call: release({ seq: 2 }), reply: 'lost' },
    { name: 'a Seq that another engine holds is lost', before: held(), call: release({ seq: 1, holder: 'F', retry: 'fail' }), reply: 'lost' },
    { name: 'a text that nobody holds is lost', before: held(), call: release({ lease: '', query: '"?"' }), reply: 'lost' },
    { name: 'a text that another engine holds is lost', before: held(), call: release({ lease: '', query: '"Q1"', holder: 'F' }), reply: 'lost' },
    {
      name: 'not to be tried again: all three are Failed, and those that wait are notified once each',
      before: { ...heldThree(), 't:t': topicOf(Array(3).fill('P 7 1 E 3'), { 'l:7': '1 2 3', 'w:3': 'n1' }) },
      call: release({ retry: 'fail' }),
      reply: 'ok',
      events: [lines('outcome', 't', 3, 'Failed', rowOf({ ms: 1002, query: 'Q3' }), '"tired"', '', '', '', '')],
      after: () => ({
        't:t': topicOf(Array(3).fill('F "tired"'), { 'w:1': '', 'w:2': '', 'w:3': '', ...ended(1, 2, 3) }),
        leases: null,
        failed: zset({ ...failed(1), ...failed(2), ...failed(3) }),
        [`stat:${minute()}`]: ttl(7200, { failed: 3 }),
      }),
    },
  ]);
});

scripts('reap', ({ cases, test, shard }) => {
  cases([
    { name: 'nothing runs: nothing to come back for', call: ['reap'], reply: '' },
    { name: 'what is not due is not touched', before: () => held({ until: Date.now() + 90_000 }), call: ['reap'], reply: (r) => r > 60_000 && r <= 90_000 },
    { name: 'a lease that ended: Open at the front, the attempt counted', before: held({ until: OVER }), call: ['reap'], reply: '\n1\n0', after: back(1) },
    { name: 'a claim of three that ended leaves no list behind', before: heldThree({ until: OVER }), call: ['reap'], reply: '\n1\n0', after: back(3) },
    {
      name: 'a lease of a topic that is gone goes',
      before: { leases: zset({ '7 t': OVER }) },
      call: ['reap'],
      reply: '\n1\n0',
      after: { leases: null },
    },
    {
      name: 'a claim that never reached its engine has used no attempt up, not even the last',
      before: held({ attempt: 3, until: UNDELIVERED }),
      call: ['reap'],
      reply: '\n0\n1',
      after: back(1, { attempts: [2], more: { 'b:1': 1 } }),
    },
    {
      name: 'one that was lost on its way 20 times uses attempts up from then on',
      before: held({ until: UNDELIVERED, more: { 'b:1': '20' } }),
      call: ['reap'],
      reply: '\n0\n1',
      after: back(1, { more: { 'b:1': 21 } }),
    },
    {
      name: 'the node that let a claim lie is handed nothing more until it speaks again, another one is',
      before: { ...held({ until: UNDELIVERED }), 't:t': topicOf(['P 7 1 E 1 n2']), idle: zset({ 'n2 E|*': 5, 'n2 F|*': 5, 'n3 F|*': 1 }) },
      alive: ['n2', 'n3'],
      call: ['reap'],
      reply: (r) => /^\d{4,}\n0\n1$/.test(r),
      published: [['node:n3', lines('claim', 'F|*', 't', 8, 1, 1, 1, rowOf({ query: 'Q1' }))]],
      after: {
        't:t': { ...topicOf(['P 8 1 F 1 n3'], { 'b:1': 1 }), open: '', ...ended(1) },
        leases: zset({ '8 t': soon(2000) }),
        idle: null,
        meta: { lease: 8, depth: 0, vt: '3.000000' },
      },
    },
    {
      name: 'race: a claim whose delivery was reported as its lease ended is not taken from its engine',
      before: held({ until: UNDELIVERED }),
      calls: [['delivered', '7 t', 'E t 1 n1 1'], ['reap']],
      replies: ['ok', (r) => r > 100_000],
      after: { leases: zset({ '7 t': soon(150_000) }) },
    },
    {
      name: 'race: two nodes reap in one moment: the second finds nothing',
      before: held({ until: OVER }),
      calls: [['reap'], ['reap']],
      replies: ['\n1\n0', ''],
      after: back(1),
    },
    {
      name: 'race: a query answered as its lease ended is not given out again',
      before: held({ until: OVER }),
      calls: [['complete', 0, 't', 1, '', 'E', '"Q1"', lines('["a"]', 'null', 'null'), ''], ['reap']],
      replies: [(r) => r.startsWith('ok\n1\n'), ''],
      after: { 't:t': { ...topicOf(['D']), 'a:1': anything }, leases: null },
    },
    {
      name: 'an engine parked here gets what came back, in the reply',
      before: { ...held({ until: OVER }), idle: zset({ 'n1 F|*': 2 }) },
      calls: [['claim', 0, 'G|m', '0'], ['claim', 0, 'F|*', '1'], ['reap']],
      replies: ['empty', 'parked', (r) => /^\d{4,}\n1\n0$/.test(r)],
      events: [lines('claim', 'F|*', 't', 8, 2, 1, 1, rowOf({ query: 'Q1' }))],
      after: {
        't:t': { ...topicOf(['P 8 2 F 1']), open: '', ...ended(1) },
        leases: zset({ '8 t': soon(2000) }),
        idle: zset({ 'n1 F|*': credits(2, 2) }),
        meta: { lease: 8, depth: 0, vt: '3.000000' },
      },
    },
  ]);

  test('a claim of three in its last attempt fails, and each of its rows is looked at once', async () => {
    await shard.seed({
      't:t': topicOf([...Array(3).fill('P 7 3 E 3'), ...Array(2000).fill('D')], { 'l:7': '1 2 3' }),
      leases: zset({ '7 t': OVER }),
    });
    await shard.cmd('CONFIG', 'RESETSTAT');
    assert.equal(await shard.call('reap'), '\n1\n0');
    const { cmdstat_hmget } = await shard.redis.info('commandstats');
    assert.ok(Number(/calls=(\d+)/.exec(cmdstat_hmget)[1]) < 10, cmdstat_hmget);
    const topic = await shard.get('t:t');
    for (const seq of [1, 2, 3]) assert.equal(topic[`s:${seq}`], `F ${LEASE_OVER}`);
    assert.equal(topic['l:7'], undefined);
    assert.equal(await shard.get('leases'), undefined);
  });

  test('a hundred a call, the rest with the next', async () => {
    for (let i = 1; i <= 101; i++) await shard.seed({ [`t:${i}`]: topicOf([`P ${i} 1 E 1`]) });
    await shard.cmd('ZADD', shard.key('leases'), ...Array.from({ length: 101 }, (_, i) => [2 * i, `${i + 1} ${i + 1}`]).flat());
    assert.equal(await shard.call('reap'), '0\n100\n0');
    assert.equal(await shard.cmd('ZCARD', shard.key('leases')), 1);
    assert.equal(await shard.call('reap'), '\n1\n0');
    assert.equal((await shard.get('meta')).depth, '101');
  });

  test('the counter of failures has a lifetime', async () => {
    await shard.seed(held({ attempt: 3, until: OVER }));
    await shard.call('reap');
    const [stat] = (await shard.names()).filter((name) => name.startsWith('stat:'));
    assert.deepEqual(await shard.get(stat), { failed: '1' });
    assert.ok((await shard.cmd('TTL', shard.key(stat))) > 7000);
  });

  test('an old query of a long topic, tried again: its lease is found, extended and reaped', async () => {
    const states = Array(12_000).fill('D');
    states[2] = undefined;
    const topic = topicOf(states);
    await shard.seed({ 'open:default:alice': zset({ t: 1 }), 'turns:default': zset({ alice: 0 }), models: set('default') });
    const flat = Object.entries(topic).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    assert.match(await shard.call('claim', 0, 'E|*', '0'), /^claim\nE\|\*\nt\n1\n1\n1\n3\n/);
    await shard.cmd('CONFIG', 'RESETSTAT');
    assert.equal(await shard.call('extend', 0, 't', '1', 'E'), 'ok\n');
    const { cmdstat_hmget } = await shard.redis.info('commandstats');
    assert.ok(Number(/calls=(\d+)/.exec(cmdstat_hmget)[1]) < 5, cmdstat_hmget);
    await shard.cmd('ZADD', shard.key('leases'), OVER, '1 t');
    assert.equal(await shard.call('reap'), '\n1\n0');
    const after = await shard.get('t:t');
    assert.equal(after.open, openOf([3, 1]));
    assert.equal(after['s:3'], undefined);
    assert.equal(after['l:1'], undefined);
  });

  test('a heartbeat with a made-up lease reads no rows', async () => {
    const flat = Object.entries(topicOf(Array(3000).fill('D'))).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    await shard.cmd('CONFIG', 'RESETSTAT');
    assert.equal(await shard.call('extend', 0, 't', '99', 'E'), 'lost');
    const { cmdstat_hmget } = await shard.redis.info('commandstats');
    assert.ok(Number(/calls=(\d+)/.exec(cmdstat_hmget)[1]) <= 2, cmdstat_hmget);
  });
});
