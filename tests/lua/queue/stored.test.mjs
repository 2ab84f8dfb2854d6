// SPDX-License-Identifier: MIT
//
// What is stored is counted for its account and its user (lua/queue/stored.lua), refused when it would be too much, and
// given back when it goes.
import assert from 'node:assert/strict';
import { lines, rowOf, scripts, tailOf, topicOf } from '../../support/lua.mjs';

const BLOCK = 4096, UNIT = 65536;
const NONE = '';
const add = ({ topic = 't', user = 'alice', account = 'F', query = 'Q', most = 2 ** 40, ofUser = NONE, waiting = 100 } = {}) =>
  ['add', 0, topic, user, account, 'default', 1, waiting, tailOf({ user, query }), '', '', '', '', '', most, ofUser];
const complete = (answer, { topic = 't', seq = 1, query = 'Q' } = {}) =>
  ['complete', 0, topic, seq, '', 'E', JSON.stringify(query), lines(JSON.stringify([answer]), 'null', 'null'), ''];
const recommend = ({ user = 'alice', text = '"r"', most = 2 ** 40, ofUser = NONE } = {}) => ['recommend', 0, 't', '', text, 'F', user, '1', most, ofUser];
const row = ({ user = 'alice', account = 'F' } = {}) => rowOf({ user }).replace('Frontend_1', account);

scripts('what is stored', ({ test, shard }) => {
  const counted = async () => Object.fromEntries(Object.entries((await shard.get('stored')) ?? {}).map(([field, n]) => [field, Number(n)]));
  const topic = (name = 't') => shard.get(`t:${name}`);
  const is = async (expected) => assert.deepEqual(await counted(), expected);
  const seed = (keys) => shard.seed(keys);

  test('the first query of a topic counts a block of its user, and a unit of its account', async () => {
    assert.match(await shard.call(...add()), /^ok\n1\n/);
    const { stored, 'q:1': found } = await topic();
    assert.equal(stored, `${found.length} F alice`);
    await is({ F: UNIT, 'F alice': BLOCK });
  });

  test('what fits into that block changes nothing but the topic', async () => {
    await shard.call(...add());
    await shard.call(...add());
    assert.match(await shard.call(...complete('42')), /^ok\n/);
    const hash = await topic();
    assert.equal(hash.stored, `${['q:1', 'q:2', 'a:1'].reduce((n, field) => n + hash[field].length, 0)} F alice`);
    await is({ F: UNIT, 'F alice': BLOCK });
  });

  test('a query that would take more than its user may have is refused, and stores nothing', async () => {
    await shard.call(...add({ ofUser: BLOCK }));
    const before = await topic();
    const large = { query: 'x'.repeat(BLOCK), ofUser: BLOCK };
    assert.equal(await shard.call(...add(large)), lines('stored', BLOCK, BLOCK, 'user'));
    assert.equal(await shard.call(...add({ ...large, topic: 'other' })), lines('stored', BLOCK, BLOCK, 'user'));
    assert.deepEqual(await topic(), before);
    assert.equal(await topic('other'), undefined);
    assert.match(await shard.call(...add({ ofUser: BLOCK })), /^ok\n2\n/); // that is room which it has
    assert.match(await shard.call(...add({ ...large, user: 'bob' })), /^stored\n0\n/);
    await is({ F: UNIT, 'F alice': BLOCK });
  });

  test('a query that would take its account past max_stored is refused, for any of its users', async () => {
    await shard.call(...add({ most: UNIT }));
    assert.equal(await shard.call(...add({ most: UNIT, topic: 'other', user: 'bob' })), lines('stored', UNIT, UNIT, 'account'));
    assert.equal(await topic('other'), undefined);
    assert.match(await shard.call(...add({ most: UNIT, topic: 'other', user: 'bob', account: 'G' })), /^ok\n/);
    await is({ F: UNIT, 'F alice': BLOCK, G: UNIT, 'G bob': BLOCK });
  });

  test('of queries of one turn just those are stored that fit', async () => {
    const { replies } = await shard.turn(['a', 'b', 'c'].map((name) => add({ topic: name, ofUser: 2 * BLOCK })), {});
    assert.deepEqual(replies.map((reply) => reply.split('\n')[0]), ['ok', 'ok', 'stored']);
    await is({ F: UNIT, 'F alice': 2 * BLOCK });
  });

  test('a query that is refused for another reason counts nothing', async () => {
    assert.match(await shard.call(...add({ waiting: 0 })), /^waiting\n/);
    await is({});
    await shard.call(...add());
    const before = await topic();
    assert.match(await shard.call(...add({ user: 'bob', waiting: 0 })), /^waiting\n/);
    assert.deepEqual(await topic(), before);
    await is({ F: UNIT, 'F alice': BLOCK });
  });

  test('an answer is never refused, and counts when it comes', async () => {
    await shard.call(...add({ most: UNIT, ofUser: BLOCK }));
    assert.match(await shard.call(...complete('x'.repeat(3 * UNIT))), /^ok\n/);
    await is({ F: 4 * UNIT, 'F alice': 3 * UNIT + BLOCK });
    assert.match(await shard.call(...complete('x'.repeat(3 * UNIT))), /^same\n/);
    await is({ F: 4 * UNIT, 'F alice': 3 * UNIT + BLOCK });
    assert.match(await shard.call(...add({ topic: 'other', user: 'bob', most: UNIT })), /^stored\n/);
  });

  test('others who ask in a topic are counted for themselves, and so are the answers they get', async () => {
    await shard.call(...add());
    await shard.call(...add({ user: 'bob' }));
    await shard.call(...add({ account: 'G' }));
    await shard.call(...complete('x'.repeat(UNIT), { seq: 2 }));
    const hash = await topic();
    assert.match(hash.stored, /^\+\d+ F alice$/);
    assert.equal(Number(hash['stored:F bob']), hash['q:2'].length + hash['a:2'].length);
    assert.equal(Number(hash['stored:G alice']), hash['q:3'].length);
    await is({ F: 3 * UNIT, 'F alice': BLOCK, 'F bob': UNIT + BLOCK, G: UNIT, 'G alice': BLOCK });
  });

  test('with its last tie a topic gives back all that it was counted with', async () => {
    await shard.call(...add());
    await shard.call(...add({ user: 'bob' }));
    await shard.call(...complete('x'.repeat(UNIT), { seq: 2 }));
    assert.equal(await shard.call('delete', 0, 'alice', 't', ''), 'ok');
    await is({ F: 3 * UNIT, 'F alice': BLOCK, 'F bob': UNIT + BLOCK }); // its rows are still there
    assert.equal(await shard.call('delete', 0, 'bob', 't', ''), 'ok');
    await is({});
  });

  test('retention gives back', async () => {
    await shard.call(...add());
    await shard.cmd('ZADD', shard.key('topics:alice'), 1, 't');
    await shard.cmd('HSET', shard.key('t:t'), 'q:1', (await topic())['q:1'].replace(/^\d+/, '1000'));
    assert.equal(await shard.call('purge', 60, '0'), '0');
    await is({});
  });

  test('a user who is deleted gives back what it asked in topics of others', async () => {
    for (const user of ['alice', 'bob']) await shard.call(...add({ user }));
    await shard.call(...add({ account: 'G' }));
    assert.match(await shard.call('delete_user', 0, 'alice', 'o:alice'), /^ok\n0\n/);
    await is({ F: UNIT, 'F bob': BLOCK });
    const hash = await topic();
    assert.equal(hash.stored, '+0 % %');
    assert.ok(!JSON.stringify(hash).includes('alice'));
    assert.match(await shard.call('delete_user', 0, 'bob', 'o:bob'), /^ok\n0\n/);
    await is({});
  });

  test('a topic that was asked in without limits is not counted until somebody with one asks there', async () => {
    await seed({ 't:t': { ...topicOf([undefined], { 'q:1': row() }), open: '1 0 default alice F 1;' } });
    const query = JSON.parse(row().split('\n').at(-1));
    assert.match(await shard.call(...complete('42', { query })), /^ok\n/);
    await is({});
    await shard.call(...add());
    assert.equal((await topic()).stored, `${(await topic())['q:2'].length} F alice`);
    await shard.call('delete', 0, 'alice', 't', '');
    await is({});
  });

  test('a question of Parley’s own is not counted, nor is its answer', async () => {
    await shard.call('away', 'E', 'one', '0').catch(() => {});
    await seed({ 't:ask': topicOf([undefined], { digest: 'd' }) });
    await shard.call(...complete('42', { topic: 'ask', query: JSON.parse(rowOf({}).split('\n').at(-1)) }));
    await is({});
  });

  test('a recommendation counts for its user, may be refused, and is given back when it is deleted', async () => {
    await seed({ 't:t': topicOf(['D']) });
    assert.match(await shard.call(...recommend({ ofUser: 2 * BLOCK })), /^ok\n/);
    assert.match(await shard.call(...recommend({ text: `"${'r'.repeat(BLOCK - 2)}"`, ofUser: 2 * BLOCK })), /^ok\n/);
    assert.equal(await shard.call(...recommend({ ofUser: 2 * BLOCK })), lines('stored', 2 * BLOCK, 2 * BLOCK, 'user'));
    assert.equal((await shard.cmd('XLEN', shard.key('recommendations'))), 2);
    await is({ F: UNIT, 'F alice': 2 * BLOCK });
    await shard.call('delete_user', 0, 'alice', 'o:alice');
    await is({});
  });

  test('a recommendation of an account without limits gives back nothing', async () => {
    await seed({ 't:t': topicOf(['D']) });
    await shard.call(...recommend({ most: NONE }));
    await shard.call(...recommend());
    await shard.call('delete_user', 0, 'alice', 'o:alice');
    await is({});
  });

  const lookup = ({ most = 2 ** 40, ofUser = NONE, print = 'aa', fragment = '"f"' } = {}) =>
    ['add_lookup', 0, 't', 1, '', print, `${print}0`, fragment, 5, 1, 'F', 1000, most, ofUser];

  test('a lookup counts its fragment for the query’s user, and what is found for the account', async () => {
    await shard.call(...add());
    const { stored } = await topic();
    const fragment = `"${'f'.repeat(BLOCK)}"`;
    assert.equal(await shard.call(...lookup({ fragment, ofUser: BLOCK })), lines('stored', BLOCK, BLOCK, 'user'));
    assert.equal((await topic()).stored, stored);
    assert.equal(await shard.get('lookup:aa'), undefined);
    assert.match(await shard.call(...lookup({ fragment })), /^ok\n/);
    assert.match(await shard.call(...lookup({ fragment })), /^ok\n/); // the same once more
    await is({ F: UNIT, 'F alice': 2 * BLOCK });
    for (const n of [100, 50]) assert.equal(await shard.call('match', 0, 'aa', `"${'m'.repeat(n - 2)}"`), 'ok');
    await is({ F: UNIT + 50, 'F alice': 2 * BLOCK });
    await shard.call('delete', 0, 'alice', 't', '');
    await is({});
  });

  test('a lookup of several shards that is refused by the other half gives back', async () => {
    const note = (stamp) => ['note_lookup', 't', 1, '', 'aa', 5000, 2 ** 40, stamp];
    await shard.call(...add());
    assert.equal(await shard.call('note_lookup', 't', 1, '', 'aa', 5000, 2 ** 40, BLOCK), lines('stored', BLOCK, BLOCK, 'user'));
    const [, , stamp] = (await shard.call(...note(''))).split('\n');
    await is({ F: UNIT, 'F alice': 2 * BLOCK });
    assert.equal(await shard.call('unnote_lookup', 't', 1, 'aa', '99', 5000), 'ok'); // of another request
    await is({ F: UNIT, 'F alice': 2 * BLOCK });
    assert.equal(await shard.call('unnote_lookup', 't', 1, 'aa', stamp, 5000), 'ok');
    await is({ F: UNIT, 'F alice': BLOCK });
    assert.equal(await shard.call('unnote_lookup', 't', 1, 'aa', stamp, 5000), 'ok');
    await is({ F: UNIT, 'F alice': BLOCK });
  });

  test('a restore counts what it puts back, once', async () => {
    const pairs = ['seq', '1', 'q:1', row(), 's:1', 'D', 'u:alice', '1', 'stored', '+5000 F alice', 'stored:F bob', '4000', '@tie alice', '1'];
    const expected = { F: 2 * UNIT, 'F alice': 2 * BLOCK, 'F bob': BLOCK };
    assert.equal(await shard.call('restore_topic', 't', 1, ...pairs), 'ok');
    await is(expected);
    assert.equal(await shard.call('restore_topic', 't', '', ...pairs), 'ok'); // a piece that is sent again
    await is(expected);
    assert.equal(await shard.call('restore_topic', 't', 1, ...pairs), 'ok'); // a topic that comes twice
    await is(expected);
    for (let i = 0; i < 2; i++)
      await shard.call('restore_lookup', 'aa', '', ...['fragment', '"f"', 'count', '5', 'threshold', '1', 'alias', 'aa0', 'matches', '["m"]', 'stored', '5 F'].flat());
    await is({ ...expected, F: 2 * UNIT + 5 });
    const entry = ['1-1', '8', 'r', '"r"', 'a', 'F', 'u', 'alice', 'n', String(BLOCK)];
    for (let i = 0; i < 2; i++) await shard.call('restore_key', 'recommendations', 'stream', '', ...entry);
    await is({ ...expected, 'F alice': 3 * BLOCK, F: 2 * UNIT + 5 });
  });
});
