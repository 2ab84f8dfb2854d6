// SPDX-License-Identifier: MIT
//
// Lookups (add_lookup, claim_lookup, match, list_lookups) and recommendations.
import assert from 'node:assert/strict';
import { ago, lines, scripts, set, soon, stream, topicOf, zset } from '../support/lua.mjs';

const t = { 't:t': topicOf(['D', undefined], { open: '' }) };
const ok = (reply) => /^ok\n\d{13}$/.test(reply);
const LATER = 9e12;
const add = ({ seq = 1, user = '', print = 'aa', alias = 'a0', fragment = '"x"', count = 5, threshold = 1, topic = 't' } = {}) =>
  ['add_lookup', 0, topic, seq, user, print, alias, fragment, count, threshold];
const lookup = (more = {}) => ({ fragment: '"x"', count: 5, threshold: 1, alias: 'a0', refs: 1, ...more });
const asked = (more = {}) => ({
  ...t,
  'lookups:t': { '1 aa': '1000' },
  'lookup:aa': lookup(more),
  lookup_alias: { a0: 'aa' },
  lookups: zset({ aa: 1000 }),
});

scripts('add_lookup', ({ cases, test, shard }) => {
  const added = { 'lookups:t': { '1 aa': ago() }, 'lookup:aa': lookup(), lookup_alias: { a0: 'aa' }, lookups: zset({ aa: ago() }) };
  cases([
    { name: 'is stored and may be claimed', before: t, call: add(), reply: ok, after: added },
    { name: 'of a user with a part in the topic', before: t, call: add({ user: 'alice' }), reply: ok, after: added },
    { name: 'of a user without', before: t, call: add({ user: 'bob' }), reply: 'missing' },
    { name: 'an unknown Seq', before: t, call: add({ seq: 3 }), reply: 'missing' },
    { name: 'an unknown topic', call: add(), reply: 'missing' },
    { name: 'the same again is the same one', before: asked(), call: add(), reply: ok },
    { name: 'the same for another query: one lookup, two that need it', before: asked(), call: add({ seq: 2 }), reply: ok, after: { 'lookups:t': { '1 aa': 1000, '2 aa': ago() }, 'lookup:aa': lookup({ refs: 2 }) } },
    { name: 'a smaller Count is answered already', before: { ...asked({ matches: '["m"]' }), lookups: zset({ bb: 1 }) }, call: add({ count: 3 }), reply: ok },
    { name: 'a larger Count is looked up again', before: { ...asked({ matches: '["m"]' }), lookups: zset({ bb: 1 }) }, call: add({ count: 9 }), reply: ok, after: { 'lookup:aa': lookup({ count: 9, matches: '["m"]' }), lookups: zset({ bb: 1, aa: ago() }) } },
    { name: 'another Threshold too', before: { ...asked({ matches: '["m"]' }), lookups: zset({ bb: 1 }) }, call: add({ threshold: 0.5 }), reply: ok, after: { 'lookup:aa': lookup({ threshold: 0.5, matches: '["m"]' }), lookups: zset({ bb: 1, aa: ago() }) } },
    { name: 'wakes one node that has a poll, and uses its registration up', before: { ...t, lookup_nodes: set('n2') }, alive: ['n2'], call: add(), reply: ok, published: [['node:n2', 'lookup']], after: { ...added, lookup_nodes: null } },
    { name: 'wakes this node', before: { ...t, lookup_nodes: set('n1') }, call: add(), reply: ok, events: ['lookup'], after: { ...added, lookup_nodes: null } },
    { name: 'race: nodes that died are struck off', before: { ...t, lookup_nodes: set('n8', 'n9') }, call: add(), reply: ok, after: { ...added, lookup_nodes: null } },
    { name: 'a full queue', before: asked(), call: add({ seq: 2, print: 'bb' }), frame: { queueMax: 1 }, reply: 'full\n1' },
    { name: 'what is in the full queue already is answered as before', before: asked(), call: add(), frame: { queueMax: 1 }, reply: ok },
  ]);

  test('a thousand lookups of a topic, not more', async () => {
    await shard.seed(t);
    await shard.cmd('HSET', shard.key('lookups:t'), ...Array.from({ length: 1000 }, (_, i) => [`1 f${i}`, 5]).flat());
    assert.equal(await shard.call(...add()), 'full\n0');
  });
});

scripts('claim_lookup', ({ cases }) => {
  const claim = (parks = '0') => ['claim_lookup', 0, parks];
  const reply = lines('lookup', 'aa', '"x"', 5, 1);
  cases([
    { name: 'none, and it may not wait', call: claim(), reply: 'empty' },
    { name: 'none: the node is written down', call: claim('1'), reply: 'parked', after: { lookup_nodes: set('n1') } },
    { name: 'the oldest, for the time of a lease', before: { ...asked(), lookups: zset({ bb: 2000, aa: 1000 }) }, call: claim('1'), reply, after: { lookups: zset({ bb: 2000, aa: soon(150_000) }), 'lookup:aa': lookup({ claimed: '5 1' }) } },
    { name: 'race: two engines at once: one has it', before: asked(), calls: [claim(), claim()], replies: [reply, 'empty'], after: { lookups: zset({ aa: soon(150_000) }), 'lookup:aa': lookup({ claimed: '5 1' }) } },
    { name: 'what another engine works on', before: { ...asked(), lookups: zset({ aa: LATER }) }, call: claim(), reply: 'empty' },
    { name: 'what an engine has let lie for a lease', before: { ...asked({ claimed: '5 1' }), lookups: zset({ aa: 1 }) }, call: claim(), reply, after: { lookups: zset({ aa: soon(150_000) }) } },
  ]);
});

scripts('match', ({ cases }) => {
  const match = (print = 'aa') => ['match', 0, print, '["m"]'];
  cases([
    { name: 'an unknown fingerprint', before: asked(), call: match('cc'), reply: 'missing' },
    { name: 'matches are stored, the lookup is done', before: { ...asked({ claimed: '5 1' }), lookups: zset({ aa: LATER }) }, call: match(), reply: 'ok', after: { 'lookup:aa': lookup({ claimed: '5 1', matches: '["m"]' }), lookups: null } },
    { name: 'by the fingerprint without the newline', before: asked(), call: match('a0'), reply: 'ok', after: { 'lookup:aa': lookup({ matches: '["m"]' }), lookups: null } },
    {
      name: 'a fingerprint that is one fragment\'s own and another\'s without the newline is the own one',
      before: { ...asked(), 'lookup:a0': lookup({ fragment: '"y"', alias: 'zz' }) },
      call: match('a0'),
      reply: 'ok',
      after: { 'lookup:a0': lookup({ fragment: '"y"', alias: 'zz', matches: '["m"]' }) },
    },
    { name: 'the last word counts', before: { ...asked({ matches: '["old"]' }), lookups: zset({ bb: 1 }) }, call: match(), reply: 'ok', after: { 'lookup:aa': lookup({ matches: '["m"]' }) } },
    {
      name: 'race: a larger Count was asked for while the engine worked on the smaller one: it stays to be done',
      before: { ...asked({ claimed: '5 1', count: 9 }) },
      call: match(),
      reply: 'ok',
      after: { 'lookup:aa': lookup({ claimed: '5 1', count: 9, matches: '["m"]' }) },
    },
    { name: 'race: its topic was deleted', call: match(), reply: 'missing' },
  ]);
});

scripts('list_lookups', ({ cases, test, shard }) => {
  const list = (user = '') => ['list_lookups', 0, 't', user];
  cases([
    { name: 'an unknown topic', call: list(), reply: 'missing' },
    { name: 'a user without a part in it', before: t, call: list('bob'), reply: 'missing' },
    { name: 'every query, with none', before: t, call: list('alice'), reply: lines('ok', 2, 1, '"Q1"', 0, 2, '"Q2"', 0) },
    {
      name: 'by age, with and without matches',
      before: {
        ...t,
        'lookups:t': { '2 cc': '7', '2 bb': '5', '2 aa': '7' },
        'lookup:aa': lookup({ fragment: '"a"' }),
        'lookup:bb': lookup({ fragment: '"b"', matches: '["m"]' }),
        'lookup:cc': lookup({ fragment: '"c"' }),
      },
      call: list(),
      reply: lines('ok', 2, 1, '"Q1"', 0, 2, '"Q2"', 3, 'bb', '"b"', '["m"]', 'aa', '"a"', '', 'cc', '"c"', ''),
    },
  ]);

  test('the newest 5,000 queries of a long topic', async () => {
    const flat = Object.entries(topicOf(Array(5200).fill('D'))).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    await shard.seed({ 'lookups:t': { '5200 aa': '1' }, 'lookup:aa': lookup() });
    const reply = (await shard.call(...list())).split('\n');
    assert.equal(reply.length, 2 + 5000 * 3 + 3);
    assert.deepEqual(reply.slice(2, 4), ['201', '"Q201"']);
    assert.deepEqual(reply.slice(-6), ['5200', '"Q5200"', '1', 'aa', '"x"', '']);
  });
});

scripts('recommendations', ({ cases, test, shard }) => {
  const MAX = '18446744073709551615';
  cases([
    { name: 'recommend in an unknown topic', call: ['recommend', 0, 't', '', '{}'], reply: 'missing' },
    { name: 'recommend as a user without a part in it', before: t, call: ['recommend', 0, 't', 'bob', '{}'], reply: 'missing' },
    { name: 'there are none', call: ['recommendations', 0, '0-0'], reply: lines('ok', '0-0') },
    { name: 'behind a cursor', before: { recommendations: stream(['5-1', { r: '{"a":1}' }], ['5-2', { r: '{"b":1}' }]) }, call: ['recommendations', 0, '5-1'], reply: lines('ok', '5-2', '{"b":1}') },
    { name: 'behind the last one', before: { recommendations: stream(['5-1', { r: '{}' }]) }, call: ['recommendations', 0, '5-1'], reply: lines('ok', '5-1') },
    { name: 'behind the last id that there can be', before: { recommendations: stream(['5-1', { r: '{}' }]) }, call: ['recommendations', 0, `${MAX}-${MAX}`], reply: lines('ok', `${MAX}-${MAX}`) },
  ]);

  test('recommended is read, 200 a page', async () => {
    await shard.seed(t);
    for (let i = 0; i < 3; i++) await shard.turn(Array.from({ length: 100 }, (_, k) => ['recommend', 0, 't', 'alice', `{"n":${i * 100 + k}}`]));
    const first = (await shard.call('recommendations', 0, '0-0')).split('\n');
    assert.equal(first.length, 202);
    const second = (await shard.call('recommendations', 0, first[1])).split('\n');
    assert.equal(second.length, 102);
    assert.equal(second.at(-1), '{"n":299}');
  });
});
