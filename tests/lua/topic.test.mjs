// SPDX-License-Identifier: MIT
//
// thread, user_topics, rename, delete, purge: topics and the users who have a part in them.
import assert from 'node:assert/strict';
import { lines, openOf, rowOf, scripts, set, topicOf, zset } from '../support/lua.mjs';

const STORED = lines('["42"]', '["hm"]', 'null', 1500, 'E');
const LATER = 9e12;
// A topic of alice that is Done, and what ties it to her.
const done = (topic = 't') => ({
  [`t:${topic}`]: topicOf(['D'], { 'a:1': STORED }),
  'topics:alice': zset({ [topic]: 1000 }),
  users: set('alice'),
});

scripts('thread', ({ cases, test, shard }) => {
  const thread = ({ user = '', before = '' } = {}) => ['thread', 0, 't', user, before];
  const all = { 't:t': topicOf(['D', 'F "tired"', 'C "user"', 'P 7 1 E 1', undefined], { 'a:1': STORED }) };
  const row = (seq) => rowOf({ ms: 999 + seq, query: `Q${seq}` });
  const none = lines('', '', '', '', '');
  cases([
    { name: 'an unknown topic', call: thread(), reply: 'missing' },
    { name: 'a user without a part in it', before: all, call: thread({ user: 'bob' }), reply: 'missing' },
    {
      name: 'every state, ascending',
      before: all,
      call: thread({ user: 'alice' }),
      reply: lines('ok', 1, 'Done', row(1), STORED, 2, 'Failed', row(2), '"tired"', '', '', '', '', 3, 'Cancelled', row(3), '"user"', '', '', '', '',
        4, 'Pending', row(4), none, 5, 'Open', row(5), none),
    },
    { name: 'only earlier ones', before: all, call: thread({ before: 2 }), reply: lines('ok', 1, 'Done', row(1), STORED) },
    { name: 'none is earlier than the first', before: all, call: thread({ before: 1 }), reply: 'ok' },
  ]);

  test('the newest 5,000 of a long topic', async () => {
    const flat = Object.entries(topicOf(Array(5003).fill('D'))).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    const answers = Array.from({ length: 5003 }, (_, i) => [`a:${i + 1}`, STORED]).flat();
    for (let i = 0; i < answers.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...answers.slice(i, i + 4000));
    const reply = (await shard.call('thread', 0, 't', '', '')).split('\n');
    assert.equal(reply.length, 1 + 5000 * 14);
    assert.equal(reply[1], '4');
    assert.equal(reply[1 + 4999 * 14], '5003');
  });
});

scripts('user_topics', ({ cases }) => {
  cases([
    { name: 'a user without topics', call: ['user_topics', 0, 'alice'], reply: 'ok' },
    {
      name: 'the newest last, with the first query or the new name',
      before: {
        't:a': topicOf(['D', 'D'], { 'a:1': STORED, 'a:2': STORED }),
        't:b': topicOf([undefined], { query: () => 'Why?' }),
        'topics:alice': zset({ b: 5, a: 9 }),
        'names:alice': { a: '"My topic"' },
      },
      call: ['user_topics', 0, 'alice'],
      reply: lines('ok', 'b', '"Why?"', 'a', '"My topic"'),
    },
    { name: 'names of other users are theirs', before: { ...done(), 'names:bob': { t: '"B"' } }, call: ['user_topics', 0, 'alice'], reply: lines('ok', 't', '"Q1"') },
    { name: 'a topic that is gone is left out', before: { 'topics:alice': zset({ gone: 1 }) }, call: ['user_topics', 0, 'alice'], reply: 'ok' },
  ]);
});

scripts('rename', ({ cases }) => {
  cases([
    { name: 'gives the user its own name for it', before: done(), call: ['rename', 0, 'alice', 't', '"N"'], reply: 'ok', after: { 'names:alice': { t: '"N"' } } },
    { name: 'the last one counts', before: { ...done(), 'names:alice': { t: '"M"' } }, call: ['rename', 0, 'alice', 't', '"N"'], reply: 'ok', after: { 'names:alice': { t: '"N"' } } },
    { name: 'a topic of somebody else', before: done(), call: ['rename', 0, 'bob', 't', '"N"'], reply: 'forbidden' },
    { name: 'an unknown topic', call: ['rename', 0, 'bob', 't', '"N"'], reply: 'forbidden' },
  ]);
});

scripts('delete', ({ cases, test, shard }) => {
  const remove = (user = 'alice') => ['delete', 0, user, 't'];
  cases([
    { name: 'a topic of somebody else', before: done(), call: remove('bob'), reply: 'forbidden' },
    { name: 'an unknown topic', call: remove(), reply: 'forbidden' },
    {
      name: 'of two users one goes: the data stay',
      before: { ...done(), 't:t': topicOf(['D'], { 'a:1': STORED, 'u:bob': '1' }), 'topics:bob': zset({ t: 1 }), 'names:alice': { t: '"N"' } },
      call: remove(),
      reply: 'ok',
      after: { 't:t': (found) => found['u:bob'] === '1' && !('u:alice' in found) && found['a:1'] === STORED, 'topics:alice': null, 'names:alice': null },
    },
    { name: 'race: deleted twice in one turn: the second finds nothing', before: done(), calls: [remove(), remove()], replies: ['ok', 'forbidden'], after: { 't:t': null, 'topics:alice': null } },
    {
      name: 'with the last tie go its queries in all states, its leases, texts and failures, and who waits is told',
      before: {
        't:t': {
          ...topicOf(['D', 'F "tired"', 'C "user"', 'P 7 1 E 2', 'P 7 1 E 2', undefined, undefined]),
          'u:alice': '1', 'a:1': STORED, 'l:7': '4 5', 'c:7': '3', 'w:4': 'n1 n2', 'w:7': 'n1', 'w:1': '',
          open: openOf([6], [7, 1, { user: 'bob', model: 'big' }]),
        },
        'partials:t:1': 'text', 'partials:t:4': 'text', 'partials:tt:1': 'text of another topic',
        'topics:alice': zset({ t: 1, s: 2 }),
        users: set('alice'),
        failed: zset({ 't 2': 5, 's 2': 6 }),
        leases: zset({ '7 t': LATER, '8 s': LATER }),
        'open:default:alice': zset({ t: 1, s: 2 }),
        'open:big:bob': zset({ t: 1 }),
        'turns:default': zset({ alice: 0 }),
        'turns:big': zset({ bob: 0 }),
        models: set('default', 'big'),
        waiting: { 'Frontend_1 alice': '2', 'Frontend_1 bob': '1' },
        meta: { lease: '8', depth: '3', vt: '0' },
      },
      alive: ['n2'],
      call: remove(),
      reply: 'ok',
      events: ['changed\nt\n4', 'changed\nt\n7'],
      published: [['node:n2', 'changed\nt\n4']],
      after: {
        't:t': null, 'partials:t:1': null, 'partials:t:4': null,
        'topics:alice': zset({ s: 2 }),
        failed: zset({ 's 2': 6 }),
        leases: zset({ '8 s': LATER }),
        'open:default:alice': zset({ s: 2 }),
        'open:big:bob': null, 'turns:big': null, models: set('default'),
        waiting: { 'Frontend_1 alice': 1 },
        meta: { lease: 8, depth: 1, vt: '0.000000' },
      },
    },
    {
      name: 'its lookups go, unless another topic has them too',
      before: {
        ...done(),
        'lookups:t': { '1 aa': '5', '1 bb': '5' },
        'lookups:s': { '1 bb': '6' },
        'lookup:aa': { fragment: '"x"', count: '5', threshold: '1', alias: 'a0', refs: '1' },
        'lookup:bb': { fragment: '"y"', count: '5', threshold: '1', alias: 'b0', refs: '2' },
        lookup_alias: { a0: 'aa', b0: 'bb' },
        lookups: zset({ aa: 1, bb: 2 }),
      },
      call: remove(),
      reply: 'ok',
      after: {
        't:t': null, 'topics:alice': null, 'lookups:t': null, 'lookup:aa': null,
        'lookup:bb': { fragment: '"y"', count: 5, threshold: 1, alias: 'b0', refs: 1 },
        lookup_alias: { b0: 'bb' },
        lookups: zset({ bb: 2 }),
      },
    },
    {
      name: 'race: an engine answers what was deleted: missing, and nothing comes back',
      before: { ...done(), 't:t': topicOf(['P 7 1 E 1']), leases: zset({ '7 t': LATER }) },
      calls: [remove(), ['complete', 0, 't', 1, '7', 'E', '"Q1"', lines('["a"]', 'null', 'null'), ''], ['extend', 0, 't', '7'], ['release', 0, 't', '7', 'E', '', '""', '1'], ['reap']],
      replies: ['ok', 'missing', 'missing', 'missing', ''],
      after: { 't:t': null, 'topics:alice': null, leases: null },
    },
  ]);

  test('a topic of 10,000 rows costs a few calls', async () => {
    const flat = Object.entries(topicOf(Array(10_000).fill('D'))).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    await shard.cmd('CONFIG', 'RESETSTAT');
    assert.equal(await shard.call(...remove()), 'ok');
    const { cmdstat_hmget } = await shard.redis.info('commandstats');
    assert.ok(Number(/calls=(\d+)/.exec(cmdstat_hmget)[1]) <= 20, cmdstat_hmget);
    await shard.assertKeys({});
  });
});

scripts('purge', ({ cases, test, shard }) => {
  const fresh = () => {
    const topic = topicOf(['D', 'D'], { 'a:1': STORED, 'a:2': STORED });
    topic['q:2'] = rowOf({ ms: Date.now(), query: 'Q2' });
    return topic;
  };
  const purge = (cursor = '0') => ['purge', 3600, cursor];
  cases([
    { name: 'nobody is there', call: purge(), reply: '0' },
    { name: 'an old topic goes, its user with the last one', before: { ...done(), 'names:alice': { t: '"N"' } }, call: purge(), reply: '0', after: { 't:t': null, 'topics:alice': null, 'names:alice': null, users: null } },
    { name: 'a topic that was asked in lately stays', before: () => ({ ...done(), 't:t': fresh() }), call: purge(), reply: '0', after: { 't:t': (found) => found.seq === '2' } },
    {
      name: 'an old topic of two users goes for both',
      before: { ...done(), 't:t': topicOf(['D'], { 'a:1': STORED, 'u:bob': '1' }), 'topics:bob': zset({ t: LATER }) },
      call: purge(),
      reply: '0',
      after: { 't:t': null, 'topics:alice': null, 'topics:bob': null, users: null },
    },
    {
      name: 'what waits and what runs goes too',
      before: {
        ...done(),
        't:t': { ...topicOf(['P 7 1 E 1', undefined]) },
        leases: zset({ '7 t': LATER }),
        'open:default:alice': zset({ t: 1 }), 'turns:default': zset({ alice: 0 }), models: set('default'),
        waiting: { 'Frontend_1 alice': '1' },
        meta: { lease: '7', depth: '1', vt: '0' },
      },
      call: purge(),
      reply: '0',
      after: {
        't:t': null, 'topics:alice': null, users: null, leases: null, 'open:default:alice': null, 'turns:default': null, models: null, waiting: null,
        meta: { lease: 7, depth: 0, vt: '0.000000' },
      },
    },
    { name: 'a tie to a topic that is gone goes', before: { 'topics:alice': zset({ gone: 1 }), users: set('alice') }, call: purge(), reply: '0', after: { 'topics:alice': null, users: null } },
  ]);

  test('old topics behind hundreds that are still asked in are found', async () => {
    for (let i = 0; i < 250; i++) await shard.seed({ [`t:${i}`]: fresh() });
    await shard.seed({ 't:old': topicOf(['D']), users: set('alice') });
    await shard.cmd('ZADD', shard.key('topics:alice'), ...Array.from({ length: 250 }, (_, i) => [i, i]).flat(), 1000, 'old');
    assert.equal(await shard.call(...purge()), '0');
    assert.equal(await shard.get('t:old'), undefined);
    assert.equal(await shard.cmd('ZCARD', shard.key('topics:alice')), 250);
  });

  test('some rows a call: the cursor stays until all is gone', async () => {
    const ties = {};
    for (let i = 0; i < 60; i++) {
      await shard.seed({ [`t:${i}`]: topicOf(Array(120).fill('D')) });
      ties[i] = 1;
    }
    await shard.seed({ 'topics:alice': zset(ties), users: set('alice') });
    assert.equal(await shard.call(...purge()), '00');
    assert.equal(await shard.cmd('ZCARD', shard.key('topics:alice')), 18);
    assert.equal(await shard.call(...purge('00')), '0');
    await shard.assertKeys({});
  });
});
