// SPDX-License-Identifier: MIT
//
// status, front, list, retry, drain: what operators see and do, and what everybody sees. failure, key: logins and the tokens' key.
import assert from 'node:assert/strict';
import { credits, lines, list, openOf, rowOf, scripts, set, soon, topicOf, ttl, zset } from '../support/lua.mjs';

const NONE = lines('', '', '', '', '');
const LATER = 9e12;
const minute = () => Math.floor(Date.now() / 60_000);
const waiting = {
  't:t': topicOf([undefined]),
  'open:default:alice': zset({ t: 1_000_000 }),
  'turns:default': zset({ alice: 0 }),
  models: set('default'),
  waiting: { 'Frontend_1 alice': '1' },
  meta: { lease: '7', depth: '1', vt: '0.000000' },
};

scripts('status', ({ cases }) => {
  const fits = (expected) => (reply) => {
    const found = reply.split('\n');
    assert.equal(found.length, expected.length, reply);
    return expected.every((part, i) => (typeof part === 'function' ? part(found[i]) : String(part) === found[i]));
  };
  const near = (ms) => (found) => Math.abs(found - ms) < 10_000;
  const span = (found) => found >= 60 && found < 120;
  cases([
    { name: 'nothing is there', call: ['status', 0], reply: fits(['ok', 0, '', 0, 0, 0, 0, 0, 0, span, '', 0, 0, 0, 0, 0, 0, 0, 0]) },
    {
      name: 'depth, oldest age, in flight, lookups, polls, counts, engines and nodes',
      before: () => ({
        ...waiting,
        'open:default:alice': zset({ t: (Date.now() - 5000) * 1000 }),
        'turns:big': zset({ bob: 0 }), 'open:big:bob': zset({ u: (Date.now() - 90_000) * 1000 }),
        models: set('default', 'big'),
        leases: zset({ '1 x': LATER, '2 x': LATER }),
        lookups: zset({ aa: 1 }),
        idle: zset({ 'n1 E|*': '3.000002', 'n2 F|big': 2 }),
        [`stat:${minute()}`]: { added: '4', done: '2' },
        [`stat:${minute() - 1}`]: { done: '1', failed: '1' },
        [`stat:${minute() - 2}`]: { done: '99' },
        engines: { 'E box': `${Date.now() - 7000} {"Models":"a","State":"waiting","ForMs":60000}` },
        drained: set('E'),
        nodes: zset({ n1: Date.now() - 1000, n2: Date.now() - 2000, silent: Date.now() - 30_000 }),
        nodes_gone: zset({ dead: Date.now() - 90_000 }),
        node_info: { n2: '{"version":"1"}', dead: '{"version":"2"}' },
        failed: zset({ 'x 1': 1, 'x 2': 2 }),
        wf_open: { 'F alice': '2', 'F bob': '1' },
        waiting_jobs: zset({ j: 1 }),
        dlv_n: { librarian: '3', ann: '1' },
        evaluations_open: { 'F alice': '1' },
        batches_open: { 'F alice': '2' },
      }),
      call: ['status', 0],
      reply: fits(['ok', 1, near(90_000), 2, 1, 5, 4, 3, 1, span, 'E', 2, 3, 0, 1, 4, 1, 2, 1, 'E box', 'waiting', near(7000), '{"Models":"a","State":"waiting","ForMs":60000}',
        'silent', 'gone', near(30_000), '{}', 'n2', 'alive', near(2000), '{"version":"1"}', 'n1', 'alive', near(1000), '{}',
        'dead', 'gone', near(90_000), '{"version":"2"}']),
      after: { idle: zset({ 'n1 E|*': credits(3, 2), 'n2 F|big': 2 }) },
    },
  ]);
});

scripts('depth', ({ cases }) => {
  const fits = (expected) => (reply) => {
    const found = reply.split('\n');
    assert.equal(found.length, expected.length, reply);
    return expected.every((part, i) => (typeof part === 'function' ? part(found[i]) : String(part) === found[i]));
  };
  const near = (ms) => (found) => found !== '' && Math.abs(found - ms) < 10_000;
  cases([
    { name: 'nothing is there', call: ['depth', 0], reply: lines('ok', 0, 0, 0, 0, '', 0, 0, 0) },
    {
      name: 'models with their counts and oldest ages; what no count names is for default; engines by account and state',
      before: () => ({
        ...waiting,
        'open:default:alice': zset({ t: (Date.now() - 5000) * 1000 }),
        'turns:big': zset({ bob: 0, carl: 1 }),
        'open:big:bob': zset({ u: (Date.now() - 40_000) * 1000 }), 'open:big:carl': zset({ v: (Date.now() - 90_000) * 1000 }),
        models: set('default', 'big'),
        meta: { lease: '7', depth: '5', vt: '0.000000' },
        depths: { big: '3' },
        leases: zset({ '1 x': LATER, '2 x': LATER }),
        lookups: zset({ aa: 1 }),
        batches_n: { open: '2', lines: '70' },
        idle: zset({ 'n1 E|*': '3.000002', 'n2 F|big': 2 }),
        engines: {
          'E waits': `${Date.now() - 7000} {"Models":"*","State":"waiting","ForMs":60000}`,
          'E works': `${Date.now() - 7000} {"Models":"a,b","State":"working","ForMs":60000}`,
          'E over': `${Date.now() - 7000} {"Models":"*","State":"working","ForMs":6000}`,
          'D rests': `${Date.now()} {"RestingUntilMs":${Date.now() + 9000},"Models":"*","Reason":""}`,
          'D back': `${Date.now()} {"RestingUntilMs":${Date.now() - 40_000},"Models":"*","Reason":""}`,
          'D waits': `${Date.now() - 7000} {"Models":"*","State":"waiting","ForMs":60000}`,
        },
      }),
      call: ['depth', 0],
      reply: fits(['ok', 5, 2, 1, 5, near(90_000), 2, 70, 2, 'D', 1, 0, 1, 'E', 1, 1, 0, 'big', 3, near(90_000), 'default', 2, near(5000)]),
      after: { idle: zset({ 'n1 E|*': credits(3, 2), 'n2 F|big': 2 }) },
    },
    {
      name: 'a costly look is kept for a second',
      before: { ...waiting, models: set(...Array.from({ length: 300 }, (_, i) => `m${i}`)), depths: Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`m${i}`, '1'])), meta: { lease: '7', depth: '300', vt: '0.000000' } },
      call: ['depth', 0],
      reply: (reply) => reply.split('\n').length === 9 + 3 * 300,
      after: { depth: ttl(1, (reply) => reply.startsWith('ok\n300\n')) },
    },
    { name: 'what was kept is the answer', before: { depth: ttl(1, 'ok\n7') }, call: ['depth', 0], reply: 'ok\n7', after: {} },
  ]);
});

scripts('front', ({ cases, test, shard }) => {
  cases([
    { name: 'nothing is there', call: ['front'], reply: lines('ok', 0, 0, 0) },
    {
      name: 'depth, parked polls of all classes, claims; nothing is written',
      before: {
        meta: { lease: '7', depth: '3', vt: '0.000000' },
        idle: zset({ 'n1 E|*': '3.000002', 'n2 F|big': 2 }),
        idle_lookups: zset({ 'n1 E|?': 9 }),
        leases: zset({ '1 x': LATER, '2 x': LATER }),
      },
      call: ['front'],
      reply: lines('ok', 3, 5, 2),
      after: { idle: zset({ 'n1 E|*': credits(3, 2), 'n2 F|big': 2 }) },
    },
    { name: 'a depth that was miscounted is not below 0', before: { meta: { lease: '1', depth: '-2', vt: '0.000000' } }, call: ['front'], reply: lines('ok', 0, 0, 0) },
    {
      name: 'of very many classes of polls those with the most are counted',
      before: () => ({ idle: zset(Object.fromEntries(Array.from({ length: 1200 }, (_, i) => [`n1 E${i}|*`, i < 1000 ? 2 : 1]))) }),
      call: ['front'],
      reply: lines('ok', 0, 2000, 0),
      after: () => ({ idle: zset(Object.fromEntries(Array.from({ length: 1200 }, (_, i) => [`n1 E${i}|*`, i < 1000 ? 2 : 1]))) }),
    },
  ]);
});

scripts('list', ({ cases, test, shard }) => {
  const list = ({ state = 'Open', user = '', skip = 0, page = 10 } = {}) => ['list', 0, state, user, skip, page];
  const row = (seq, user = 'alice') => rowOf({ ms: 999 + seq, query: `Q${seq}`, user });
  const open = {
    't:t': { ...topicOf([undefined, 'D', undefined]), open: openOf([1], [3]) },
    't:u': topicOf([undefined], { user: 'bob' }),
    'open:default:alice': zset({ t: 1 }),
    'open:default:bob': zset({ u: 1 }),
    'turns:default': zset({ alice: 0, bob: 1 }),
    models: set('default'),
  };
  // When it was added, and where the list continues after it.
  const first = [1000, 1, 't', 1, 'Open', row(1), NONE];
  const second = [1002, 2, 't', 3, 'Open', row(3), NONE];
  const third = [1000, 3, 'u', 1, 'Open', row(1, 'bob'), NONE];
  cases([
    ...['Open', 'Pending', 'Failed'].map((state) => ({ name: `nothing is ${state}`, call: list({ state }), reply: lines('ok', '') })),
    { name: 'Open: by turns, topics and Seq', before: open, call: list(), reply: lines('ok', '', ...first, ...second, ...third) },
    { name: 'Open: a page, and where the next begins', before: open, call: list({ page: 2 }), reply: lines('ok', 2, ...first, ...second) },
    { name: 'Open: the last page', before: open, call: list({ page: 2, skip: 2 }), reply: lines('ok', '', ...third) },
    { name: 'Open: a full last page', before: open, call: list({ page: 3 }), reply: lines('ok', '', ...first, ...second, ...third) },
    { name: 'Open: of one user', before: open, call: list({ user: 'bob' }), reply: lines('ok', '', ...third) },
    {
      name: 'Pending: by lease, the claims of one and of more',
      before: { 't:t': topicOf(['P 1 1 E 2', 'P 2 1 E 1', 'P 1 1 E 2'], { 'l:1': '1 3' }), leases: zset({ '1 t': LATER, '2 t': LATER + 1, '9 gone': 1 }) },
      call: list({ state: 'Pending' }),
      reply: lines('ok', '', LATER, 1, 't', 1, 'Pending', row(1), NONE, LATER, 2, 't', 3, 'Pending', row(3), NONE, LATER + 1, 3, 't', 2, 'Pending', row(2), NONE),
    },
    {
      name: 'Failed: the oldest first, with the reason',
      before: { 't:t': topicOf(['F "a"', 'F "b"']), failed: zset({ 't 2': 1, 't 1': 2, 'gone 1': 3 }) },
      call: list({ state: 'Failed' }),
      reply: lines('ok', '', 1, 1, 't', 2, 'Failed', row(2), '"b"', '', '', '', '', 2, 2, 't', 1, 'Failed', row(1), '"a"', '', '', '', ''),
    },
  ]);

  test('no more than 1,000 failures are kept', async () => {
    await shard.seed({ 't:t': topicOf(['P 7 3 E 1']), leases: zset({ '7 t': 2 }) });
    await shard.cmd('ZADD', shard.key('failed'), ...Array.from({ length: 1000 }, (_, i) => [i, `x ${i}`]).flat());
    await shard.call('reap');
    assert.equal(await shard.cmd('ZCARD', shard.key('failed')), 1000);
    assert.equal(await shard.cmd('ZSCORE', shard.key('failed'), 'x 0'), null);
  });
});

scripts('retry', ({ cases }) => {
  const retry = (seq = 1) => ['retry', 0, 't', seq];
  const again = {
    't:t': { ...topicOf([undefined]), 'w:1': '' },
    'open:default:alice': zset({ t: 1_000_000 }),
    'turns:default': zset({ alice: -1 }),
    models: set('default'),
    waiting: { 'Frontend_1 alice': 1 },
    meta: { lease: 0, depth: 1, vt: '0.000000' },
  };
  cases([
    { name: 'what failed is Open again, with all its attempts', before: { 't:t': topicOf(['F "tired"'], { 'w:1': '' }), failed: zset({ 't 1': 1, 's 1': 2 }) }, call: retry(), reply: 'ok', after: { ...again, failed: zset({ 's 1': 2 }) } },
    { name: 'what was given back too often as away may be so again', before: { 't:t': topicOf(['F "tired"'], { 'w:1': '', 'b:1': 21 }) }, call: retry(), reply: 'ok', after: again },
    { name: 'what was blanked with the data of its user stays so', before: { 't:t': topicOf(['C "Deleted with the data of its user."'], { 'q:1': rowOf({ user: '%', query: '' }) }) }, call: retry(), reply: 'missing' },
    { name: 'what was cancelled too', before: { 't:t': topicOf(['C "user"'], { 'w:1': '' }) }, call: retry(), reply: 'ok', after: again },
    {
      name: 'an engine that waits has it at once',
      before: { 't:t': topicOf(['F "tired"']), failed: zset({ 't 1': 1 }), idle: zset({ 'n2 E|*': 1 }) },
      alive: ['n2'],
      call: retry(),
      reply: 'ok',
      published: [['node:n2', lines('claim', 'E|*', 't', 1, 1, 1, 1, rowOf({ query: 'Q1' }))]],
      after: { 't:t': { ...topicOf(['P 1 1 E 1 n2']), open: '' }, failed: null, idle: null, leases: zset({ '1 t': soon(2000) }), meta: { lease: 1, depth: 0, vt: '0.000000' } },
    },
    { name: 'race: retried twice in one turn: the second is pending', before: { 't:t': topicOf(['C "user"'], { 'w:1': '' }) }, calls: [retry(), retry()], replies: ['ok', 'pending'], after: again },
    { name: 'what is Done', before: { 't:t': topicOf(['D']) }, call: retry(), reply: 'done' },
    { name: 'what is Pending', before: { 't:t': topicOf(['P 7 1 E 1']) }, call: retry(), reply: 'pending' },
    { name: 'what is Open', before: waiting, call: retry(), reply: 'pending' },
    { name: 'an unknown Seq', before: waiting, call: retry(2), reply: 'missing' },
    { name: 'an unknown topic', call: retry(), reply: 'missing' },
    {
      name: 'race: the engine whose query was cancelled and retried keeps nothing of it',
      before: { 't:t': topicOf(['C "user"'], { 'c:7': '1', 'w:1': '' }) },
      calls: [retry(), ['partial', 0, 't', 1, '7', 0, '', 'x', 100, 'E', 'whole']],
      replies: ['ok', 'cancelled\n1'],
      after: { ...again, 't:t': { ...again['t:t'], 'c:7': 1 } },
    },
  ]);
});

scripts('drain', ({ cases }) => {
  const drain = (account, on) => ['drain', 0, account, on];
  cases([
    { name: 'an account is drained: every node is notified', alive: ['n1', 'n2'], call: drain('E', '1'), reply: 'ok', published: [['all', 'drained\nE']], after: { drained: set('E') } },
    { name: 'twice is once', before: { drained: set('E') }, alive: ['n1'], call: drain('E', '1'), reply: 'ok', published: [['all', 'drained\nE']] },
    { name: 'one of two has claims again', before: { drained: set('E', 'F') }, alive: ['n1'], call: drain('F', '0'), reply: 'ok', published: [['all', 'drained\nE']], after: { drained: set('E') } },
    { name: 'the last one', before: { drained: set('E') }, alive: ['n1'], call: drain('E', '0'), reply: 'ok', published: [['all', 'drained\n']], after: { drained: null } },
    { name: 'one that was not drained', alive: ['n1'], call: drain('G', '0'), reply: 'ok', published: [['all', 'drained\n']], after: {} },
  ]);
});

scripts('show', ({ cases, test }) => {
  cases([
    { name: 'the part of a node is there for a while', call: ['show', 'a', 'n1\n0\n{}\n'], reply: 'ok', after: { 'shown:a': ttl(10, list('n1\n0\n{}\n')) } },
    { name: 'that of a second node comes behind it', before: { 'shown:a': ttl(5, list('n2\n0\n')) }, call: ['show', 'a', 'n1\n0\n'], reply: 'ok', after: { 'shown:a': ttl(10, list('n2\n0\n', 'n1\n0\n')) } },
  ]);
  test('a list that nobody takes does not grow', async (shard) => {
    for (let i = 0; i < 1000; i++) await shard.call('show', 'a', 'x');
    assert.equal(await shard.call('show', 'a', 'x'), 'full');
    assert.equal(await shard.cmd('LLEN', shard.key('shown:a')), 1000);
  });
});

scripts('auth', ({ cases, test }) => {
  // Counts are in slices of 20 s: what met the end of one is done again.
  const inOneSlice = async (shard, body) => {
    const slice = async () => Math.floor(Number((await shard.cmd('TIME'))[0]) / 20);
    for (;;) {
      await shard.cmd('FLUSHALL');
      const now = await slice();
      const key = (back) => `failures:${now - back}`;
      const put = async (back, n, slots = [7, 65543]) => {
        for (const slot of slots) await shard.cmd('BITFIELD', shard.key(key(back)), 'SET', 'u8', `#${slot}`, n);
      };
      const fail = async (one = 7, two = 65543) => (await shard.call('failure', one, two, 3, '')).split('\n').map(Number);
      let error;
      const found = await body({ key, put, fail }).catch((e) => (error = e));
      if ((await slice()) !== now) continue;
      if (error) throw error;
      return found;
    }
  };
  const failures = (name, body) => test(name, (shard) => inOneSlice(shard, (tools) => body(shard, tools)));

  failures('a failure is a byte in a string of the slice, which expires', async (shard, { key, fail }) => {
    assert.deepEqual(await fail(), [1, 0]);
    assert.deepEqual(await fail(65535, 131071), [1, 0]);
    assert.deepEqual(await shard.names(), [key(0)]);
    assert.equal(await shard.cmd('STRLEN', shard.key(key(0))), 131072);
    const left = await shard.cmd('PTTL', shard.key(key(0)));
    assert.ok(left > 60_000 && left <= 80_000, `${left} ms`);
  });

  failures('failures of the last minute count, older ones and those of other slots do not', async (shard, { put, fail }) => {
    await put(3, 1);
    await put(4, 9);
    await put(0, 9, [6, 8, 65542, 65544]);
    assert.deepEqual(await fail(), [2, 0]);
  });

  failures('a pair that shares one slot with many failures has a count of its own', async (shard, { put, fail }) => {
    await put(0, 200, [7]);
    assert.deepEqual(await fail(), [1, 0]);
    await put(0, 200, [65543]);
    assert.equal((await fail())[0], 201);
  });

  failures('past the limit it says for how long, and what is old leaves first', async (shard, { put, fail }) => {
    await put(3, 5);
    const [count, left] = await fail();
    assert.equal(count, 6);
    assert.ok(left > 0 && left <= 20_000, `${left} ms`);
    assert.deepEqual(await fail().then(([n]) => n), 7);
    const [again, longer] = await fail();
    assert.equal(again, 8);
    assert.ok(longer > 60_000 && longer <= 80_000, `${longer} ms: three of this slice are the limit alone`);
  });

  failures('a byte that is full stays full', async (shard, { put, fail }) => {
    await put(0, 255);
    assert.equal((await fail())[0], 255);
  });

  cases([
    { name: 'the first node\'s proposal is the key', call: ['key', 'aa'], reply: 'aa', after: { token_key: 'aa' } },
    { name: 'race: two nodes start at once: both have the same key', calls: [['key', 'aa'], ['key', 'bb']], replies: ['aa', 'aa'], after: { token_key: 'aa' } },
    { name: 'a key is kept', before: { token_key: 'cc' }, call: ['key', 'aa'], reply: 'cc' },
  ]);
});
