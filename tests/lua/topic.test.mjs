// SPDX-License-Identifier: MIT
//
// thread, user_topics, rename, delete, purge: topics and the users who have a part in them.
import assert from 'node:assert/strict';
import { lines, openOf, rowOf, scripts, set, tailOf, topicOf, zset } from '../support/lua.mjs';

const STORED = lines('["42"]', '["hm"]', 'null', 1500, 'E');
const LATER = 9e12;
// A topic of alice that is Done, and what ties it to her.
const done = (topic = 't') => ({
  [`t:${topic}`]: topicOf(['D'], { 'a:1': STORED }),
  'topics:alice': zset({ [topic]: 1000 }),
  users: set('alice'),
});

scripts('thread', ({ cases, test, shard }) => {
  const thread = ({ user = '', after = '0', before = '', n = '', whole = '' } = {}) => ['thread', 0, 't', user, before ? '' : after, before, n, whole];
  const all = { 't:t': topicOf(['D', 'F "tired"', 'C "user"', 'P 7 1 E 1', undefined], { 'a:1': STORED }) };
  const row = (seq) => rowOf({ ms: 999 + seq, query: `Q${seq}` });
  const none = lines('', '', '', '', '');
  // 4 took the place of 2, and 5 that of 4.
  const replaced = { 't:t': topicOf(Array(5).fill('D'), { ...Object.fromEntries([1, 2, 3, 4, 5].map((seq) => [`a:${seq}`, STORED])), places: '1', 'p:4': '2', 'p:5': '2', 'n:2': '5' }) };
  const shown = (...seqs) => lines('ok', '', ...seqs.flatMap((seq) => [seq, 'Done', row(seq), STORED]));
  cases([
    { name: 'an unknown topic', call: thread(), reply: 'missing' },
    { name: 'a user without a part in it', before: all, call: thread({ user: 'bob' }), reply: 'missing' },
    {
      name: 'every state, ascending',
      before: all,
      call: thread({ user: 'alice' }),
      reply: lines('ok', '', 1, 'Done', row(1), STORED, 2, 'Failed', row(2), '"tired"', '', '', '', '', 3, 'Cancelled', row(3), '"user"', '', '', '', '',
        4, 'Pending', row(4), none, 5, 'Open', row(5), none),
    },
    { name: 'only earlier ones', before: all, call: thread({ before: 2 }), reply: lines('ok', '', 1, 'Done', row(1), STORED) },
    { name: 'none is earlier than the first', before: all, call: thread({ before: 1 }), reply: lines('ok', '') },
    { name: 'a page, and where the next one continues', before: all, call: thread({ n: 1 }), reply: lines('ok', 1, 1, 'Done', row(1), STORED) },
    { name: 'only later ones', before: all, call: thread({ after: 4 }), reply: lines('ok', '', 5, 'Open', row(5), none) },
    { name: 'the newest query of a place', before: replaced, call: thread(), reply: shown(1, 5, 3) },
    { name: 'all queries of a topic, whatever replaced them', before: replaced, call: thread({ whole: '1' }), reply: shown(1, 2, 3, 4, 5) },
    { name: 'what is before the place of a query', before: replaced, call: thread({ before: 5 }), reply: shown(1) },
    { name: 'what is before one that was asked after a replacement', before: replaced, call: thread({ before: 6 }), reply: shown(1, 5, 3) },
    { name: 'a page ends after places that show nothing', before: replaced, call: thread({ n: 3 }), reply: shown(1, 5, 3) },
    { name: 'none is later than the last', before: all, call: thread({ after: 5 }), reply: lines('ok', '') },
  ]);

  // The Seqs of each page.
  const pages = async () => {
    const found = [];
    for (let after = '0'; after !== ''; ) {
      const reply = (await shard.call(...thread({ after }))).split('\n');
      after = reply[1];
      found.push(reply.filter((_, i) => i > 1 && (i - 2) % 14 === 0).map(Number));
    }
    return found;
  };

  test('1,000 a page of a long topic', async () => {
    const answers = Object.fromEntries(Array.from({ length: 2003 }, (_, i) => [`a:${i + 1}`, STORED]));
    const flat = Object.entries(topicOf(Array(2003).fill('D'), answers)).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    assert.deepEqual((await pages()).map((seqs) => [seqs[0], seqs.length]), [[1, 1000], [1001, 1000], [2001, 3]]);
  });

  test('a page looks at 1,000 places, though they show nothing', async () => {
    const places = Object.fromEntries(Array.from({ length: 2002 }, (_, i) => [`p:${i + 2}`, '1']));
    const flat = Object.entries(topicOf(Array(2003).fill('C "no"'), { ...places, 'n:1': '2003', places: '1' })).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    assert.deepEqual(await pages(), [[2003], [], []]);
  });

  test('pages are bounded in bytes, with one query at least, from either end', async () => {
    const big = (_, i) => `${i}${'x'.repeat(400_000)}`;
    const texts = Array.from({ length: 5 }, big);
    const stored = lines(JSON.stringify(['y'.repeat(2_000_000)]), 'null', 'null', 1500, 'E');
    await shard.seed({ 't:t': topicOf(['C "no"', 'C "no"', 'C "no"', 'D', undefined], { query: (seq) => texts[seq - 1], 'a:4': stored }) });
    assert.deepEqual(await pages(), [[1, 2], [3], [4], [5]]);
    const newest = (await shard.call(...thread({ before: 4 }))).split('\n');
    assert.deepEqual([newest[1], newest[2], newest[16], newest.length], ['', '2', '3', 30]);
  });
});

scripts('user_topics', ({ cases, test, shard }) => {
  const begun = (topic) => ['add', 0, topic, 'alice', 'F', 'default', 1, 100, tailOf(), '', '', '', '', ''];
  const topics = ({ after = '', n = '', whole = '' } = {}) => ['user_topics', 0, 'alice', after, n, whole];
  const two = () => ({ 't:b': topicOf(['D']), 't:c': topicOf(['D']), 'topics:alice': zset({ b: 5, c: 5 }) });
  cases([
    { name: 'a user without topics', call: topics(), reply: lines('ok', '') },
    {
      name: 'the newest last, with the first query or the new name',
      before: {
        't:a': topicOf(['D', 'D'], { 'a:1': STORED, 'a:2': STORED }),
        't:b': topicOf([undefined], { query: () => 'Why?' }),
        'topics:alice': zset({ b: 5, a: 9 }),
        'names:alice': { a: '"My topic"' },
      },
      call: topics(),
      reply: lines('ok', '', '5000.b', 'b', '"Why?"', '9000.a', 'a', '"My topic"'),
    },
    { name: 'names of other users are theirs', before: { ...done(), 'names:bob': { t: '"B"' } }, call: topics(), reply: lines('ok', '', '1000000.t', 't', '"Q1"') },
    { name: 'a topic that is gone is left out', before: { 'topics:alice': zset({ gone: 1 }) }, call: topics(), reply: lines('ok', '') },
    { name: 'a page, and where the next one continues', before: () => two(), call: topics({ n: 1 }), reply: lines('ok', '5000.b', '5000.b', 'b', '"Q1"') },
    { name: 'the next page', before: () => two(), call: topics({ after: '5000.b', n: 1 }), reply: lines('ok', '', '5000.c', 'c', '"Q1"') },
    { name: 'after a topic that is gone by now, or of another shard', before: () => two(), call: topics({ after: '5000.bb', n: 2 }), reply: lines('ok', '', '5000.c', 'c', '"Q1"') },
    { name: 'after one that is older than all', before: () => two(), call: topics({ after: '4000.z', n: 2 }), reply: lines('ok', '', '5000.b', 'b', '"Q1"', '5000.c', 'c', '"Q1"') },
    { name: 'a title is what a list shows, the query is whole where that is asked for', before: { ...done(), 't:t': topicOf(['D'], { title: '"T"' }) }, calls: [topics(), topics({ whole: '1' })], replies: [lines('ok', '', '1000000.t', 't', '"T"'), lines('ok', '', '1000000.t', 't', '"Q1"')] },
    { name: 'a first query without a title is cut', before: { ...done(), 't:t': topicOf(['D'], { query: () => 'é'.repeat(900) }) }, call: topics(), reply: lines('ok', '', '1000000.t', 't', `"${'é'.repeat(200)}"`) },
  ]);

  test('topics that are begun in one turn are in the order in which they were begun, also over pages', async () => {
    const wanted = Array.from({ length: 30 }, (_, i) => `t${(i * 7) % 30}`);
    await shard.turn(wanted.map(begun));
    const found = [];
    for (let after = ''; ; ) {
      const [, next, ...rest] = (await shard.call(...topics({ after, n: 7 }))).split('\n');
      for (let at = 0; at < rest.length; at += 3) found.push(rest[at + 1]);
      if (next === '') break;
      after = next;
    }
    assert.deepEqual(found, wanted);
  });

  test('a clock that was set back does not change it', async () => {
    await shard.seed({ 't:z': topicOf(['D']), 'topics:alice': zset({ z: Date.now() + 3_600_000 }) });
    await shard.turn(['b', 'a'].map(begun));
    assert.deepEqual(await shard.cmd('ZRANGE', shard.key('topics:alice'), 0, -1), ['z', 'b', 'a']);
  });
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
  const remove = (user = 'alice', step = '') => ['delete', 0, user, 't', step];
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
      name: 'with the last tie go its queries in all states, its leases, texts and failures, and waiters are notified',
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
        meta: { lease: '8', depth: '3', vt: '0.000000' },
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
      calls: [remove(), ['complete', 0, 't', 1, '7', 'E', '"Q1"', lines('["a"]', 'null', 'null'), ''], ['extend', 0, 't', '7', 'E'], ['release', 0, 't', '7', 'E', '', '""', 'retry'], ['reap']],
      replies: ['ok', 'missing', 'lost', 'lost', ''],
      after: { 't:t': null, 'topics:alice': null, leases: null },
    },
  ]);

  test('a topic of 10,000 rows costs a few calls', async () => {
    const flat = Object.entries(topicOf(Array(10_000).fill('D'))).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    await shard.cmd('CONFIG', 'RESETSTAT');
    assert.equal(await shard.call(...remove()), 'ok');
    const { cmdstat_hmget } = await shard.redis.info('commandstats');
    assert.ok(Number(/calls=(\d+)/.exec(cmdstat_hmget)[1]) <= 21, cmdstat_hmget);
    await shard.assertKeys({});
  });
});

scripts('delete of a topic with very many rows', ({ test, shard }) => {
  const fill = async (rows, more = {}) => {
    const flat = Object.entries({ ...topicOf([...Array(rows - 1).fill('C "no"'), undefined]), 'w:1': '', ...more }).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    await shard.seed({
      'topics:alice': zset({ t: 1 }), 'open:default:alice': zset({ t: 1 }), 'turns:default': zset({ alice: 0 }), models: set('default'),
      waiting: { 'Frontend_1 alice': '1' }, meta: { lease: '0', depth: '1', vt: '0.000000' },
    });
  };
  const removeAll = async () => {
    const replies = [];
    for (let step = ''; ; ) {
      const reply = (await shard.call('delete', 0, 'alice', 't', step)).split('\n');
      replies.push(reply[0]);
      if (reply[0] !== 'more') return replies;
      step = reply[1];
      assert.ok(replies.length < 50);
    }
  };

  test('is deleted in several calls, Open queries first, and leaves nothing', async () => {
    await fill(40_000);
    assert.equal(await shard.call('delete', 0, 'alice', 't', 'r40000'), 'more\nr35000');
    assert.deepEqual([await shard.cmd('HGET', shard.key('t:t'), 'seq'), await shard.get('models')], ['35000', undefined]);
    const replies = await removeAll();
    assert.ok(replies.length > 2, replies.join());
    assert.equal(replies.at(-1), 'ok');
    await shard.assertKeys({ meta: { lease: 0, depth: 0, vt: '0.000000' } });
  });

  test('race: another user asks in it between two calls: its rows stay, and so does the topic', async () => {
    await fill(40_000);
    assert.equal(await shard.call('delete', 0, 'alice', 't', 'r40000'), 'more\nr35000');
    await shard.call('add', 0, 't', 'bob', 'F', 'default', 1, 100, tailOf({ user: 'bob', query: 'mine' }), '', '', '', '', '');
    for (let step = 'r35000'; step; ) [, step] = (await shard.call('delete', 0, 'alice', 't', step)).split('\n');
    const got = await shard.get('t:t');
    assert.deepEqual([got.seq, 'u:alice' in got, got['q:35001'].includes('mine')], ['35001', false, true]);
  });

  test('stays for another user with a part in it', async () => {
    await fill(40_000, { 'u:bob': '1' });
    assert.equal((await removeAll()).at(-1), 'ok');
    assert.equal(await shard.cmd('HGET', shard.key('t:t'), 'seq'), '40000');
    assert.equal(await shard.cmd('HEXISTS', shard.key('t:t'), 'u:alice'), 0);
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
        meta: { lease: '7', depth: '1', vt: '0.000000' },
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
    assert.equal(await shard.call(...purge()), '0.0');
    assert.equal(await shard.cmd('ZCARD', shard.key('topics:alice')), 18);
    assert.equal(await shard.call(...purge('0.0')), '0');
    await shard.assertKeys({});
  });

  test('continues after what it has looked at, however many topics are old and still asked in', async () => {
    for (let i = 0; i < 60; i++) {
      const topic = fresh();
      topic['q:2'] = `${topic['q:2']}${'x'.repeat(400_000)}`;
      await shard.seed({ [`t:${i}`]: topic });
    }
    await shard.seed({ 't:old': topicOf(['D']), users: set('alice') });
    await shard.cmd('ZADD', shard.key('topics:alice'), ...Array.from({ length: 60 }, (_, i) => [i, i]).flat(), 1000, 'old');
    const cursors = [];
    for (let cursor = '0'; cursors.at(-1) !== '0'; cursors.push(cursor)) cursor = await shard.call(...purge(cursor));
    assert.deepEqual(cursors, ['0.21', '0.42', '0']);
    assert.equal(await shard.get('t:old'), undefined);
  });
});
