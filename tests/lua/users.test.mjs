// SPDX-License-Identifier: MIT
//
// What is stored for a user: delete_user, usage, user_texts, user_recommendations, doc_content.
import assert from 'node:assert/strict';
import { lines, list, openOf, rowOf, scripts, set, stream, tailOf, topicOf, ttl, zset } from '../support/lua.mjs';
import { ALICE, BOB, docId, jobId, keysOf, pushed } from '../support/lua_documents.mjs';

const STORED = lines('["42"]', '["hm"]', 'null', 1500, 'E');
const LATER = 9e12;
const remove = (user = 'alice') => ['delete_user', 0, user, `o:${user}`];
const counts = ['topics', 'parts', 'queries', 'lookups', 'recommendations', 'documents', 'jobs', 'limits', 'runs', 'files', 'batches'];
const gone = (isMore, given = {}) => lines('ok', isMore ? 1 : 0, ...counts.map((name) => given[name] ?? 0));
const blankOf = (seq, model = 'default') => lines(999 + seq, `Frontend_1 % ${model} 1`, '""', JSON.stringify(model), '{}', '', '""');
const WHY = 'C "Deleted with the data of its user."';

scripts('delete_user', ({ cases, test, shard }) => {
  test('the new users of a turn are written at its end, without one who asked and was deleted in it', async () => {
    const add = (topic, user) => ['add', 0, topic, user, 'Frontend_1', 'default', 1, 100, tailOf({ user }), '', '', ''];
    const { replies } = await shard.turn([add('a', 'alice'), add('b', 'bob'), add('c', 'carol'), add('d', 'bob'), remove()]);
    assert.equal(replies[4], gone(0, { topics: 1, queries: 1 }));
    assert.deepEqual((await shard.cmd('SMEMBERS', shard.key('users'))).sort(), ['bob', 'carol']);
    assert.equal(await shard.cmd('EXISTS', shard.key('topics:alice')), 0);
  });

  cases([
    { name: 'a user of whom nothing is stored', call: remove(), reply: gone(0) },
    {
      name: 'its vectors that no indexer has removed yet go before those of others',
      before: { trash: list('vectors:o:bob:d doc1 1 3', 'vectors:o:alice:d doc2 1 3', 'vectors:o:alicia:d doc3 1 3', 'vectors:o:alice:e doc2 2 200') },
      call: remove(),
      reply: gone(0),
      after: { trash: list('vectors:o:bob:d doc1 1 3', 'vectors:o:alicia:d doc3 1 3') },
    },
    {
      name: 'topics of the user go, those of others stay',
      before: {
        't:a': topicOf(['D', undefined], { 'a:1': STORED }),
        't:b': topicOf(['F "tired"']),
        't:c': topicOf(['D'], { user: 'bob', 'a:1': STORED }),
        'topics:alice': zset({ a: 1, b: 2 }), 'names:alice': { a: '"Mine"' },
        'topics:bob': zset({ c: 3 }), 'names:bob': { c: '"His"' },
        users: set('alice', 'bob'),
        failed: zset({ 'b 1': 5, 'c 1': 6 }),
        'open:default:alice': zset({ a: 1 }), 'turns:default': zset({ alice: 0 }), models: set('default'),
        waiting: { 'Frontend_1 alice': '1' }, meta: { lease: '0', depth: '1', vt: '0.000000' },
      },
      call: remove(),
      reply: gone(0, { topics: 2, queries: 3 }),
      after: {
        't:a': null, 't:b': null, 'topics:alice': null, 'names:alice': null, users: set('bob'), failed: zset({ 'c 1': 6 }),
        'open:default:alice': null, 'turns:default': null, models: null, waiting: null, meta: { lease: 0, depth: 0, vt: '0.000000' },
      },
    },
    {
      name: 'in a topic where another user has a part the rows stay, without what this one wrote, in all states',
      before: {
        't:t': {
          ...topicOf(['D', 'F "tired"', 'P 7 1 E 2', 'P 7 1 E 2', undefined, undefined, 'D'], { query: (seq) => `Q${seq}` }),
          'q:2': rowOf({ ms: 1001, user: 'alice', model: 'big', query: 'Q2', modifiers: '{"a":1}', trace: '00-1' }),
          'q:4': rowOf({ ms: 1003, user: 'bob', query: 'Q4' }), 'q:6': rowOf({ ms: 1005, user: 'bob', query: 'Q6' }), 'q:7': rowOf({ ms: 1006, user: 'bob', query: 'Q7' }),
          'a:1': STORED, 'a:7': STORED, 'b:5': '2', 'l:7': '3 4', 'w:3': 'n1 n2', 'w:4': 'n1', title: '"Q1"', 'u:bob': '1',
          open: openOf([5], [6, 0, { user: 'bob' }]),
        },
        'partials:t:3': 'text', 'partials:t:4': 'text',
        'topics:alice': zset({ t: 1 }), 'topics:bob': zset({ t: 2 }), 'names:alice': { t: '"N"' }, 'names:bob': { t: '"B"' },
        users: set('alice', 'bob'),
        failed: zset({ 't 2': 5 }),
        leases: zset({ '7 t': LATER }),
        'lookups:t': { '1 aa': '5', '7 aa': '5', '1 bb': '6' },
        'lookup:aa': { fragment: '"x"', count: '5', threshold: '1', alias: 'a0', refs: '2' },
        'lookup:bb': { fragment: '"y"', count: '5', threshold: '1', alias: 'b0', refs: '1' },
        lookup_alias: { a0: 'aa', b0: 'bb' },
        'open:default:alice': zset({ t: 1 }), 'open:default:bob': zset({ t: 1 }), 'turns:default': zset({ alice: 0, bob: 0 }), models: set('default'),
        waiting: { 'Frontend_1 alice': '1', 'Frontend_1 bob': '1' }, meta: { lease: '8', depth: '2', vt: '0.000000' },
      },
      alive: ['n2'],
      call: remove(),
      reply: gone(0, { parts: 1, queries: 4, lookups: 2 }),
      events: ['changed\nt\n3'],
      published: [['node:n2', 'changed\nt\n3']],
      after: {
        't:t': {
          seq: 7, 'u:bob': 1, 'a:7': STORED, 'l:7': '3 4', 'c:7': 3, 'w:1': '', 'w:2': '', 'w:3': '', 'w:4': 'n1', 'w:5': '',
          'q:1': blankOf(1), 'q:2': blankOf(2, 'big'), 'q:3': blankOf(3), 'q:5': blankOf(5),
          'q:4': rowOf({ ms: 1003, user: 'bob', query: 'Q4' }), 'q:6': rowOf({ ms: 1005, user: 'bob', query: 'Q6' }), 'q:7': rowOf({ ms: 1006, user: 'bob', query: 'Q7' }),
          's:1': WHY, 's:2': WHY, 's:3': WHY, 's:4': 'P 7 1 E 2', 's:5': WHY, 's:7': 'D',
          open: openOf([6, 0, { user: 'bob' }]),
        },
        'partials:t:3': null,
        'topics:alice': null, 'names:alice': null, users: set('bob'), failed: null,
        'lookups:t': { '7 aa': 5 },
        'lookup:aa': { fragment: '"x"', count: 5, threshold: 1, alias: 'a0', refs: 1 },
        'lookup:bb': null, lookup_alias: { a0: 'aa' },
        'open:default:alice': null, 'turns:default': zset({ bob: 0 }), waiting: { 'Frontend_1 bob': 1 }, meta: { lease: 8, depth: 1, vt: '0.000000' },
      },
      isBare: true,
    },
    {
      name: 'race: an engine answers what was deleted under it, where the row stays: it is refused, and its next sign of life says cancelled',
      before: {
        't:t': topicOf(['P 7 1 E 1'], { 'u:bob': '1' }), 'topics:alice': zset({ t: 1 }), 'topics:bob': zset({ t: 2 }), users: set('alice', 'bob'),
        leases: zset({ '7 t': LATER }),
      },
      calls: [remove(), ['complete', 0, 't', 1, '7', 'E', '"Q1"', lines('["a"]', 'null', 'null'), ''], ['extend', 0, 't', '7', 'E']],
      replies: [gone(0, { parts: 1, queries: 1 }), 'mismatch', 'ok\n1'],
      after: { 't:t': { seq: 1, 'u:bob': 1, 'q:1': blankOf(1), 's:1': WHY, 'w:1': '', 'c:7': 1 }, 'topics:alice': null, users: set('bob'), leases: null },
    },
    {
      name: 'the last of two users takes the topic along',
      before: { 't:t': topicOf(['D'], { 'a:1': STORED, 'u:bob': '1' }), 'topics:alice': zset({ t: 1 }), 'topics:bob': zset({ t: 2 }), users: set('alice', 'bob') },
      calls: [remove('alice'), remove('bob')],
      replies: [gone(0, { parts: 1, queries: 1 }), gone(0, { topics: 1, queries: 1 })],
      after: { 't:t': null, 'topics:alice': null, 'topics:bob': null, users: null },
    },
    {
      name: 'a topic in the list that is there no more, or not of the user',
      before: { 't:t': topicOf(['C "no"'], { user: 'bob' }), 'topics:alice': zset({ t: 1, gone: 2 }), 'topics:bob': zset({ t: 1 }), users: set('alice', 'bob') },
      call: remove(),
      reply: gone(0),
      after: { 'topics:alice': null, users: set('bob') },
    },
    {
      name: 'recommendations go, of every account that made some for the user, and nobody else’s',
      before: {
        recommendations: stream(['1-1', { r: '{}', a: 'F', u: 'alice' }], ['1-2', { r: '{}', a: 'F', u: 'bob' }], ['1-3', { r: '{}', a: 'G', u: 'alice' }]),
        recommenders: zset({ F: 2, G: 1 }), 'recommenders:F': zset({ alice: 1, bob: 1 }), 'recommenders:G': zset({ alice: 1 }),
        'recommended:F:alice': list('1-1'), 'recommended:F:bob': list('1-2'), 'recommended:G:alice': list('1-3'),
      },
      calls: [remove(), remove()],
      replies: [gone(1, { recommendations: 2 }), gone(0)],
      after: {
        recommendations: stream(['1-2', { r: '{}', a: 'F', u: 'bob' }]),
        unrecommended: () => true,
        recommenders: zset({ F: 1 }), 'recommenders:F': zset({ bob: 1 }), 'recommenders:G': null, 'recommended:F:alice': null, 'recommended:G:alice': null,
      },
    },
    {
      name: 'documents go in all states, with their jobs; those of others stay',
      before: () => ({
        ...keysOf({ n: 1, state: 'INDEXED' }, { n: 2, state: 'FAILED' }, { n: 3, space: BOB, state: 'INDEXED' }),
        ...pushed({ n: 9 }),
      }),
      call: remove(),
      reply: gone(0, { documents: 2, jobs: 2 }),
      after: () => ({
        ...Object.fromEntries([1, 2].flatMap((n) => [`doc:${docId(n)}`, `upload:${docId(n)}`, `text:${docId(n)}:5`, `pack:${docId(n)}:5`, `job:${jobId(n)}`].map((key) => [key, null]))),
        [`docs:${ALICE}`]: null, [`space:${ALICE}`]: null, [`shas:${ALICE}`]: null, [`packs:${ALICE}`]: null, [`recent_jobs:${ALICE}`]: null,
        meta: (found) => Number(found.lease) > 0,
      }),
    },
    {
      name: 'limits go, but not as often as one likes: else they would be none',
      before: { 'limit:ask:alice': zset({ a: LATER * 1e3 }), 'limit:upload:alice': zset({ a: LATER * 1e3 }), 'limit:ask:bob': zset({ a: LATER * 1e3 }) },
      call: remove(),
      reply: gone(0, { limits: 2 }),
      after: { 'limit:ask:alice': null, 'limit:upload:alice': null, 'limit:forget:522b276a356bdf39013dfabe': ttl(3600, (found) => Object.keys(found).length === 1) },
    },
  ]);

  test('of several shards: a topic in the list that is there no more', async () => {
    await shard.seed({ 'topics:alice': zset({ gone: 2 }), users: set('alice') });
    const { replies } = await shard.turn([remove()], { shards: 4 });
    assert.equal(replies[0], gone(0));
  });

  test('the limits of a user who deletes itself again and again stay', async () => {
    const found = [];
    for (let i = 0; i < 5; i++) {
      await shard.call('admit', 0, 'alice', 'ask:alice:20:60');
      found.push((await shard.call(...remove())).split('\n').at(2 + counts.indexOf('limits')));
    }
    assert.deepEqual(found, ['1', '1', '1', '0', '0']);
  });

  const removeAll = async (user = 'alice') => {
    const replies = [];
    do replies.push((await shard.call(...remove(user))).split('\n').map(Number));
    while (replies.at(-1)[1] === 1 && replies.length < 500);
    return { n: replies.length, sum: Object.fromEntries(counts.map((name, i) => [name, replies.reduce((sum, reply) => sum + reply[i + 2], 0)])) };
  };
  const addTopics = async (n, user = 'alice') => {
    for (let from = 0; from < n; from += 500)
      await shard.turn(Array.from({ length: Math.min(500, n - from) }, (_, i) => ['add', 0, `t${from + i}`, user, 'F', 'default', 1, 1e9, tailOf({ user }), '', '', '', '', '']));
  };

  test('2,000 topics are deleted in several calls, including queries added in between', async () => {
    await addTopics(2000);
    const first = (await shard.call(...remove())).split('\n').map(Number);
    assert.deepEqual([first[1], first[2]], [1, 455]);
    await shard.call('add', 0, 'late', 'alice', 'F', 'default', 1, 1e9, tailOf(), '', '', '', '', '');
    const { n, sum } = await removeAll();
    assert.deepEqual([sum.topics, sum.queries, n], [1546, 1546, 4]);
    assert.deepEqual(await shard.names(), ['meta']);
  });

  test('a topic of 60,000 rows is deleted over many calls, and any caller continues', async () => {
    const flat = Object.entries(topicOf(Array(60_000).fill('C "no"'))).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    await shard.seed({ 'topics:alice': zset({ t: 1 }), users: set('alice') });
    const { n, sum } = await removeAll();
    assert.deepEqual([sum.topics, sum.queries], [1, 60_000]);
    assert.ok(n > 5 && n < 30, `${n} calls`);
    await shard.assertKeys({});
  });

  test('a part of 12,000 rows in another user’s topic is blanked over several calls, the other rows are not touched', async () => {
    const hash = topicOf(Array(12_000).fill('C "no"'), { 'u:bob': '1' });
    for (let seq = 1; seq <= 12_000; seq += 2) hash[`q:${seq}`] = rowOf({ ms: 1000, user: 'bob', query: 'His' });
    const flat = Object.entries(hash).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    await shard.seed({ 'topics:alice': zset({ t: 1 }), 'topics:bob': zset({ t: 1 }), users: set('alice', 'bob') });
    const first = (await shard.call(...remove())).split('\n').map(Number);
    assert.equal(first[1], 1);
    assert.match(await shard.get('deleting:alice'), /^t p\d+$/);
    const { sum } = await removeAll();
    assert.deepEqual([sum.parts, first[4] + sum.queries], [1, 6000]);
    const after = await shard.get('t:t');
    const of = (word) => Object.values(after).filter((value) => value.includes(word)).length;
    assert.deepEqual([of('alice'), of('"His"'), 'u:bob' in after, await shard.get('deleting:alice')], [0, 6000, true, undefined]);
  });

  test('rows as large as there are: some of them a call', async () => {
    const hash = topicOf(Array(100).fill('D'), { query: () => 'x'.repeat(256 << 10), 'u:bob': '1' });
    for (let seq = 1; seq <= 100; seq++) hash[`a:${seq}`] = STORED;
    await shard.seed({ 't:t': hash, 'topics:alice': zset({ t: 1 }), 'topics:bob': zset({ t: 1 }), users: set('alice', 'bob') });
    const { n, sum } = await removeAll();
    assert.deepEqual([n, sum.queries], [4, 100]);
    assert.ok(Object.values(await shard.get('t:t')).every((value) => value.length < 100));
  });
});

scripts('usage', ({ cases }) => {
  const day = (ago) => Math.floor(Date.now() / 86_400_000) - ago;
  const usage = (from = 0) => ['usage', 0, 'alice', 'F', ALICE, from];
  const found = (next, queries, topics, ...rest) => lines('ok', next, queries, topics, ...rest);
  cases([
    { name: 'a user of whom nothing is stored', call: usage(), reply: found('', ...Array(21).fill(0)) },
    {
      name: 'counts what is the user’s',
      before: () => ({
        't:a': topicOf(['D', 'D'], { 'a:1': STORED, 'a:2': STORED }), 't:b': topicOf(['C "no"']), 'topics:alice': zset({ a: 1, b: 2, gone: 3 }),
        waiting: { 'F alice': '2', 'F bob': '5', 'G alice': '7' }, stored: { F: '131072', 'F alice': '8192', 'F bob': '4096', 'G alice': '1' },
        recommenders: zset({ F: 3, G: 1 }), 'recommenders:F': zset({ alice: 2, bob: 1 }), 'recommenders:G': zset({ alice: 1 }),
        ...keysOf({ n: 1, state: 'INDEXED' }, { n: 2, space: BOB }), 'wf_of:alice': zset({ 's.1': 1, 's.2': 2 }), 'wf_of:bob': zset({ 's.3': 3 }),
        'rooms_of:alice': zset({ a: 1, b: 2, c: 3 }), 'rooms_of:bob': zset({ a: 1 }), messages_of: { alice: '7', bob: '9' },
        'bots_of:alice': zset({ bot: 1 }), 'bots_of:bob': zset({ x: 1, y: 2 }), 'evaluations_of:alice': zset({ e: 1, f: 2 }),
        'tokens:alice': { [`${day(0)} p`]: '30', [`${day(0)} c`]: '4', [`${day(29)} p`]: '3', [`${day(30)} p`]: '500' }, 'account_tokens:F': { [`${day(1)} p`]: '90', [`${day(1)} p big`]: '9', [`${day(1)} c big`]: '9', [`${day(1)} n big`]: '5', [`${day(30)} p big`]: '7' }, 'account_tokens:G': { [`${day(0)} p big`]: '1' },
        'limit:upload:alice': zset({ a: (Date.now() - 5_000) * 1000, b: (Date.now() - 90_000) * 1000 }), 'limit:ask:alice': zset({ a: (Date.now() - 5_000) * 1000 }),
      }),
      call: usage(),
      reply: (text) => /^ok\n\n3\n3\n2\n8192\n131072\n3\n1\n\d+\n1\n1\n2\n1\n2\n3\n7\n1\n2\n33\n4\n99\n9$/.test(text),
    },
    { name: 'from a later topic on', before: { 't:a': topicOf(['C "no"']), 't:b': topicOf(['C "no"']), 'topics:alice': zset({ a: 1, b: 2 }) }, call: usage(1), reply: found('', 1, 2, ...Array(19).fill(0)) },
  ]);
});

scripts('user_texts', ({ cases, test, shard }) => {
  const read = (after = '') => ['user_texts', 0, 'alice', after];
  const two = () => ({
    't:a': topicOf(['D', 'C "no"'], { query: (seq) => (seq === 1 ? 'First ONE' : 'second'), 'a:1': lines('["an [answer]","two"]', '["thought"]', 'null', 1500, 'E') }),
    't:b': topicOf(['C "no"'], { query: () => 'one more' }), 't:c': topicOf(['C "no"'], { user: 'bob', query: () => 'one of bob' }),
    'topics:alice': zset({ a: 5, b: 7 }), 'topics:bob': zset({ c: 6 }), 'names:alice': { b: '"Renamed"' },
  });
  const row = (seq, query) => rowOf({ ms: 999 + seq, query });
  const b = ['b', '7000.b', '"Renamed"', '"Renamed"', 1, 1, row(1, 'one more'), ''];
  const second = [row(2, 'second'), ''];
  const a = ['a', '5000.a', '', '"First ONE"', 1, 2, row(1, 'First ONE'), '"an [answer]","two"', ...second];
  cases([
    { name: 'the newest topic first, of this user only, with answers and without what was thought', before: two, call: read(), reply: lines('ok', '', ...b, ...a) },
    { name: 'from a place on: within a topic, after all of it, and after a topic that is gone', before: two, calls: [read('2.5000.a'), read('2147483647.7000.b'), read('1.6000.gone')], replies: [lines('ok', '', 'a', '5000.a', '', '"First ONE"', 2, 1, ...second), lines('ok', '', 'b', '7000.b', '"Renamed"', '"Renamed"', 2147483647, 0, ...a), lines('ok', '', ...a)] },
    { name: 'a user without topics', call: read(), reply: lines('ok', '') },
    { name: 'a topic of the list that is gone', before: () => ({ 'topics:alice': zset({ gone: 9, a: 5 }), 't:a': two()['t:a'] }), call: read(), reply: lines('ok', '', ...a) },
  ]);

  // The places of its topics, as "<microseconds>.<topic> <first Seq> <how many>", page by page.
  const pages = async () => {
    const all = [];
    for (let after = ''; ; ) {
      const [, next, ...rest] = (await shard.call(...read(after))).split('\n');
      all.push([]);
      while (rest.length) {
        const [, place, , , seq, n] = rest.splice(0, 6);
        all.at(-1).push(`${place} ${seq} ${n}`);
        rest.splice(0, 8 * n);
      }
      if (!next) return all;
      after = next;
    }
  };

  test('a long topic comes in pages of a megabyte, each question once', async () => {
    await shard.seed({ 't:t': topicOf(Array(10).fill('C "no"'), { query: () => 'x'.repeat(250_000) }), 'topics:alice': zset({ t: 1 }) });
    assert.deepEqual(await pages(), [['1000.t 1 5'], ['1000.t 6 5']]);
  });

  test('what was thought, and not returned, ends a page too', async () => {
    const thought = lines('["42"]', JSON.stringify(['x'.repeat(1 << 20)]), 'null', 1500, 'E');
    const answers = Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`a:${i + 1}`, thought]));
    await shard.seed({ 't:t': topicOf(Array(7).fill('D'), answers), 'topics:alice': zset({ t: 1 }) });
    assert.deepEqual(await pages(), [['1000.t 1 3'], ['1000.t 4 3'], ['1000.t 7 1']]);
  });

  test('many short topics: some a page', async () => {
    const keys = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`t:t${i}`, topicOf(['C "no"'])]));
    await shard.seed({ ...keys, 'topics:alice': zset(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`t${i}`, i + 1]))) });
    const all = await pages();
    assert.equal(new Set(all.flat()).size, 2000);
    assert.ok(all.every((page) => page.length < 700), String(all.map((page) => page.length)));
  });
});

scripts('user_recommendations', ({ cases, test, shard }) => {
  const keys = {
    recommendations: stream(['1-1', { r: '{"n":1}', a: 'G', u: 'alice' }], ['1-2', { r: '{"n":2}', a: 'F', u: 'bob' }], ['2-0', { r: '{"n":3}', a: 'F', u: 'alice' }]),
    recommenders: zset({ F: 2, G: 1 }), 'recommended:F:alice': list('2-0'), 'recommended:F:bob': list('1-2'), 'recommended:G:alice': list('1-1'),
  };
  const read = (after = '') => ['user_recommendations', 0, 'alice', after];
  cases([
    { name: 'there are none', call: read(), reply: lines('ok', '') },
    { name: 'those of all accounts, the oldest first', before: keys, call: read(), reply: lines('ok', '', '{"n":1}', '{"n":3}') },
    { name: 'after one of them', before: keys, call: read('1-1'), reply: lines('ok', '', '{"n":3}') },
    { name: 'one that has been pushed out since', before: { ...keys, recommendations: stream(['1-1', { r: '{"n":1}' }]) }, call: read(), reply: lines('ok', '', '{"n":1}') },
  ]);

  test('in pages, each once', async () => {
    await shard.seed({ 't:t': topicOf(['C "no"']) });
    for (let i = 0; i < 5; i++) await shard.call('recommend', 0, 't', 'alice', `{"n":${i},"x":"${'x'.repeat(600_000)}"}`, 'F', 'alice');
    const seen = [];
    for (let after = ''; ; ) {
      const [, next, ...found] = (await shard.call(...read(after))).split('\n');
      seen.push(...found.map((one) => JSON.parse(one).n));
      if (!next) break;
      after = next;
    }
    assert.deepEqual(seen, [0, 1, 2, 3, 4]);
  });
});

scripts('doc_content', ({ cases }) => {
  const read = (n, what = '', from = 0, space = ALICE) => ['doc_content', 0, space, docId(n), what, from];
  const part = (text) => `${text.length}:${text}`;
  const block = 'x'.repeat(1 << 20);
  cases([
    { name: 'a document of somebody else', before: () => keysOf({ n: 1, space: BOB }), call: read(1), reply: 'missing' },
    { name: 'the bytes while they are there', before: () => keysOf({ n: 1, upload: 'my bytes' }), call: read(1), reply: `ok\n\nupload\0${part('my bytes')}` },
    { name: 'block by block', before: () => keysOf({ n: 1, upload: `${block}rest` }), calls: [read(1), read(1, 'upload', 1)], replies: [`ok\n1\nupload\0${part(block)}`, `ok\n\nupload\0${part('rest')}`] },
    { name: 'then the text', before: () => keysOf({ n: 1, state: 'INDEXED', text: [5, 'one', 'two'] }), calls: [read(1), read(1, 'text.5', 1)], replies: [`ok\n\ntext.5\0${part('one')}${part('two')}`, `ok\n\ntext.5\0${part('two')}`] },
    { name: 'race: the bytes were parsed, or another text came, between two pages', before: () => keysOf({ n: 1, state: 'INDEXED', text: [5, 'one'] }), calls: [read(1, 'upload', 1), read(1, 'text.4', 0)], replies: ['gone', 'gone'] },
    { name: 'nothing is left of one that failed', before: () => keysOf({ n: 1, state: 'FAILED' }), call: read(1), reply: 'ok\n\nnone\0' },
  ]);
});
