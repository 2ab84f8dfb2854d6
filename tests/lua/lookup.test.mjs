// SPDX-License-Identifier: MIT
//
// Lookups (add_lookup, claim_lookup, match, list_lookups) and recommendations.
import assert from 'node:assert/strict';
import { assertDueOfLookups, turnTaker } from '../support/due.mjs';
import { ago, credits, lines, list, scripts, set, soon, stream, topicOf, zset } from '../support/lua.mjs';

const t = { 't:t': topicOf(['D', undefined], { open: '' }) };
const ok = (reply) => /^ok\n\d{13}$/.test(reply);
const LATER = 9e12;
const BY = { by: 'F', for: turnTaker('alice') };
const add = ({ seq = 1, user = '', print = 'aa', alias = 'a0', fragment = '"x"', count = 5, threshold = 1, topic = 't', account = 'F', max = 1000 } = {}) =>
  ['add_lookup', 0, topic, seq, user, print, alias, fragment, count, threshold, account, max];
const lookup = (more = {}) => ({ fragment: '"x"', count: 5, threshold: 1, alias: 'a0', refs: 1, ...more });
// What a poll of account E, or of another, is given.
const given = ({ cls = 'E|?', lease = 1, count = 5 } = {}) => lines('claim', cls, 'aa', lease, 1, 1, '"x"', count, 1);
const even = (found) => Number(found) % 2 === 0;
const delivery = (found) => soon(2000)(found) && !even(found);
const whole = (found) => soon(150_000)(found) && even(found);
const asked = (more = {}) => ({
  ...t,
  'lookups:t': { '1 aa': '1000' },
  'lookup:aa': lookup(more),
  lookup_alias: { a0: 'aa' },
  lookups: zset({ aa: 1000 }),
});

// It was given to `node` under lease 7.
const held = (node, until = LATER + 1) => ({
  ...asked({ ...BY, claimed: '5 1', lease: `7 ${node}` }),
  lookups: zset({ aa: until }),
  lookups_of: { F: 1 },
  meta: { lease: '7', depth: '0', vt: '0.000000' },
});

scripts('add_lookup', ({ cases, test, shard }) => {
  const added = { 'lookups:t': { '1 aa': ago() }, 'lookup:aa': lookup({ ...BY }), lookup_alias: { a0: 'aa' }, lookups: zset({ aa: ago() }), lookups_of: { F: 1 } };
  const handed = (node) => ({ ...added, 'lookup:aa': lookup({ ...BY, claimed: '5 1', lease: `1 ${node}` }), lookups: zset({ aa: delivery }), meta: { lease: 1, depth: 0, vt: '0.000000' } });
  cases([
    { name: 'is stored and may be claimed', before: t, call: add(), reply: ok, after: added },
    { name: 'of a user with a part in the topic', before: t, call: add({ user: 'alice' }), reply: ok, after: added },
    { name: 'of a user without', before: t, call: add({ user: 'bob' }), reply: 'missing' },
    { name: 'an unknown Seq', before: t, call: add({ seq: 3 }), reply: 'missing' },
    { name: 'an unknown topic', call: add(), reply: 'missing' },
    { name: 'the same again is the same one', before: asked(), call: add(), reply: ok },
    { name: 'the same for another query: one lookup, two that need it', before: asked(), call: add({ seq: 2 }), reply: ok, after: { 'lookups:t': { '1 aa': 1000, '2 aa': ago() }, 'lookup:aa': lookup({ refs: 2 }) } },
    { name: 'a smaller Count is answered already', before: { ...asked({ matches: '["m"]' }), lookups: zset({ bb: 1 }) }, call: add({ count: 3 }), reply: ok },
    { name: 'a larger Count is looked up again', before: { ...asked({ matches: '["m"]' }), lookups: zset({ bb: 1 }) }, call: add({ count: 9 }), reply: ok, after: { 'lookup:aa': lookup({ count: 9, matches: '["m"]', ...BY }), lookups: zset({ bb: 1, aa: ago() }), lookups_of: { F: 1 } } },
    { name: 'another Threshold too', before: { ...asked({ matches: '["m"]' }), lookups: zset({ bb: 1 }) }, call: add({ threshold: 0.5 }), reply: ok, after: { 'lookup:aa': lookup({ threshold: 0.5, matches: '["m"]', ...BY }), lookups: zset({ bb: 1, aa: ago() }), lookups_of: { F: 1 } } },
    { name: 'a poll is parked on another node: it gets it, in the same call', before: { ...t, idle_lookups: zset({ 'n2 E|?': 2 }) }, alive: ['n2'], call: add(), reply: ok, published: [['node:n2', given()]], after: { ...handed('n2'), idle_lookups: zset({ 'n2 E|?': credits(1, 1) }) } },
    { name: 'a poll is parked here: it gets it with the reply', before: { ...t, idle_lookups: zset({ 'n1 E|?': 1 }) }, call: add(), reply: ok, events: [given()], after: { ...handed('n1'), idle_lookups: null } },
    { name: 'engines take turns at lookups too', before: { ...t, idle_lookups: zset({ 'n1 E|?': 3, 'n2 F|?': '1.000001' }) }, alive: ['n2'], call: add(), reply: ok, published: [['node:n2', given({ cls: 'F|?' })]], after: { ...handed('n2'), idle_lookups: zset({ 'n1 E|?': 3 }) } },
    { name: 'polls for queries get none', before: { ...t, idle: zset({ 'n1 E|*': 1 }) }, call: add(), reply: ok, after: added },
    { name: 'race: the node whose credit is taken has died: it is struck off, the next one gets it', before: { ...t, idle_lookups: zset({ 'n8 E|?': 9, 'n2 E|?': 1 }) }, alive: ['n2'], call: add(), reply: ok, published: [['node:n2', given()]], after: { ...handed('n2'), idle_lookups: null } },
    { name: 'race: all nodes with credits have died: it waits', before: { ...t, idle_lookups: zset({ 'n8 E|?': 1, 'n9 E|?': 1 }) }, call: add(), reply: ok, after: { ...added, idle_lookups: null } },
    { name: 'a larger Count while an engine works on the smaller one: another engine gets it', before: { ...held('n2'), idle_lookups: zset({ 'n1 F|?': 1 }) }, call: add({ count: 9 }), reply: ok, events: [given({ cls: 'F|?', lease: 8, count: 9 })], after: { 'lookup:aa': lookup({ ...BY, count: 9, claimed: '9 1', lease: '8 n1' }), lookups: zset({ aa: delivery }), meta: { lease: 8, depth: 0, vt: '0.000000' }, idle_lookups: null } },
    { name: 'a full queue', before: asked(), call: add({ seq: 2, print: 'bb' }), frame: { queueMax: 1 }, reply: 'full\n1' },
    { name: 'of several shards, lookups are on one: the whole bound is theirs', before: { ...asked(), lookups_of: { F: 2 } }, call: add({ print: 'bb', alias: 'b0', account: 'G' }), frame: { queueMax: 4, shards: 4 }, reply: ok, events: ['open\n0'], after: {
      'lookups:t': { '1 aa': 1000, '1 bb': ago() }, 'lookup:bb': lookup({ alias: 'b0', ...BY, by: 'G' }), lookup_alias: { a0: 'aa', b0: 'bb' }, lookups: zset({ aa: 1000, bb: ago() }), lookups_of: { F: 2, G: 1 } } },
    { name: 'an account with half of it open', before: { ...asked(), lookups_of: { F: 2 } }, call: add({ seq: 2, print: 'bb' }), frame: { queueMax: 4 }, reply: 'waiting\n2\n\naccount' },
    { name: 'an account with as many open as it may have', before: { ...asked(), lookups_of: { F: 2 } }, call: add({ seq: 2, print: 'bb', max: 2 }), reply: 'waiting\n2\n\naccount' },
    { name: 'what it has open already is asked for again', before: { ...asked(), lookups_of: { F: 2 } }, call: add({ max: 2 }), reply: ok },
    { name: 'another account has room', before: { ...asked(), lookups_of: { F: 2 } }, call: add({ print: 'bb', alias: 'b0', account: 'G' }), frame: { queueMax: 4 }, reply: ok, after: {
      'lookups:t': { '1 aa': 1000, '1 bb': ago() }, 'lookup:bb': lookup({ alias: 'b0', ...BY, by: 'G' }), lookup_alias: { a0: 'aa', b0: 'bb' }, lookups: zset({ aa: 1000, bb: ago() }), lookups_of: { F: 2, G: 1 } } },
    { name: 'what is in the full queue already is answered as before', before: asked(), call: add(), frame: { queueMax: 1 }, reply: ok },
  ]);

  test('a thousand lookups of a topic, not more', async () => {
    await shard.seed(t);
    await shard.cmd('HSET', shard.key('lookups:t'), ...Array.from({ length: 1000 }, (_, i) => [`1 f${i}`, 5]).flat());
    assert.equal(await shard.call(...add()), 'waiting\n1000\n\ntopic');
  });
});

scripts('claim_lookup', ({ cases }) => {
  const claim = (parks = '0', cls = 'E|?') => ['claim_lookup', 0, cls, parks];
  const reply = given({ lease: 1 });
  const here = { 'lookup:aa': lookup({ claimed: '5 1', lease: '1 n1' }), meta: { lease: 1, depth: 0, vt: '0.000000' } };
  cases([
    { name: 'none, and it may not wait', call: claim(), reply: 'empty' },
    { name: 'none: the poll is a credit', call: claim('1'), reply: 'parked\n', after: { idle_lookups: zset({ 'n1 E|?': 1 }) } },
    { name: 'polls of one account add up, those of another are others', calls: [claim('1'), claim('1'), claim('1', 'F|?')], replies: Array(3).fill('parked\n'), after: { idle_lookups: zset({ 'n1 E|?': 2, 'n1 F|?': 1 }) } },
    { name: 'parked and gone in one turn leaves nothing', calls: [claim('1'), ['unpark', 'E|?']], replies: ['parked\n', 'ok'] },
    { name: 'race: a hand-over has used the credit of one that ends', before: { idle: zset({ 'n1 E|*': 1 }) }, calls: [['unpark', 'E|?'], ['unpark', 'E|?']], replies: ['ok', 'ok'] },
    { name: 'the one that waits longest, under a short lease until it is delivered', before: { ...asked(), lookups: zset({ bb: 2000, aa: 1000 }) }, call: claim('1'), reply, after: { ...here, lookups: zset({ bb: 2000, aa: delivery }) } },
    { name: 'race: two engines at once: one has it', before: asked(), calls: [claim(), claim()], replies: [reply, 'empty'], after: { ...here, lookups: zset({ aa: delivery }) } },
    { name: 'what another engine works on: the poll is parked, and says when that ends', before: () => ({ ...asked(), lookups: zset({ aa: Date.now() + 60_000 }) }), call: claim('1'), reply: (r) => /^parked\n(60000|5\d{4})$/.test(r), after: () => ({ lookups: zset({ aa: soon(60_000) }), idle_lookups: zset({ 'n1 E|?': 1 }) }) },
    { name: 'what an engine has let lie for a lease', before: { ...asked({ claimed: '5 1', lease: '7 n2' }), lookups: zset({ aa: 2 }), meta: { lease: '7', depth: '0', vt: '0.000000' } }, call: claim(), reply: given({ lease: 8 }), after: { 'lookup:aa': lookup({ claimed: '5 1', lease: '8 n1' }), lookups: zset({ aa: delivery }), meta: { lease: 8, depth: 0, vt: '0.000000' } } },
  ]);
});

scripts('what becomes of a claimed lookup', ({ cases, test, shard }) => {
  const back = (lease = 7, print = 'aa', sent = '') => ['give_back_lookup', print, lease, sent];
  const reported = (...claims) => ['delivered_lookups', ...claims];
  const open = lookup({ ...BY, claimed: '5 1' });
  const handedOn = (node) => ({ 'lookup:aa': lookup({ ...BY, claimed: '5 1', lease: `8 ${node}` }), lookups: zset({ aa: delivery }), meta: { lease: 8, depth: 0, vt: '0.000000' } });
  cases([
    { name: 'it has reached its engine: a whole lease', before: held('n2'), call: reported('7 aa'), reply: 'ok', after: { lookups: zset({ aa: whole }) } },
    { name: 'race: it was claimed again meanwhile: that lease is left alone', before: held('n2'), call: reported('6 aa', '7 zz', '7', ''), reply: 'ok' },
    { name: 'race: it was answered meanwhile: it is not brought back', before: { ...held('n2'), lookups: zset({ bb: 4 }) }, call: reported('7 aa'), reply: 'ok' },
    { name: 'race: a larger Count was asked for meanwhile: it stays claimable', before: asked({ claimed: '5 1', count: 9 }), call: reported('7 aa'), reply: 'ok' },
    { name: 'it has reached nobody: it is the next one', before: { ...held('n2'), lookups: zset({ bb: 2, aa: LATER + 1 }) }, call: back(), reply: 'ok', after: { 'lookup:aa': open, lookups: zset({ aa: 0, bb: 2 }) } },
    { name: 'it has reached nobody: another poll gets it at once', before: { ...held('n2'), idle_lookups: zset({ 'n3 E|?': 1 }) }, alive: ['n3'], call: back(), reply: 'ok', published: [['node:n3', given({ lease: 8 })]], after: { ...handedOn('n3'), idle_lookups: null } },
    { name: 'bytes of it were sent: the same, and that is counted', before: held('n2'), call: back(7, 'aa', 1), reply: 'ok', after: { 'lookup:aa': { ...open, lost: 1 }, lookups: zset({ aa: 0 }) } },
    { name: 'it ends each connection: it waits for a lease', before: { ...held('n2'), 'lookup:aa': lookup({ ...BY, claimed: '5 1', lease: '7 n2', lost: 20 }) }, call: back(7, 'aa', 1), reply: 'ok', after: { 'lookup:aa': { ...open, lost: 21 }, lookups: zset({ aa: whole }) } },
    { name: 'reap: and so does one whose claims are not confirmed', before: { ...held('n2', 1001), 'lookup:aa': lookup({ ...BY, claimed: '5 1', lease: '7 n2', lost: 20 }), idle_lookups: zset({ 'n3 E|?': 1 }) }, alive: ['n3'], call: ['reap'], reply: (r) => r > 100_000, published: [['node:n3', given({ lease: 8 })]], after: { ...handedOn('n3'), 'lookup:aa': lookup({ ...BY, claimed: '5 1', lease: '8 n3', lost: 21 }), lookups: zset({ aa: soon(150_000) }), idle_lookups: null } },
    { name: 'race: it was claimed again meanwhile: it stays with that engine', before: held('n2'), call: back(6), reply: 'ok' },
    { name: 'given back twice, or of one that is gone', before: held('n2'), calls: [back(), back(), back(7, 'zz')], replies: ['ok', 'ok', 'ok'], after: { 'lookup:aa': open, lookups: zset({ aa: 0 }) } },
    { name: 'reap: its lease is over: a poll that is parked gets it', before: { ...held('n2', 1000), idle_lookups: zset({ 'n2 E|?': 1 }) }, alive: ['n2'], call: ['reap'], reply: (r) => r > 1000, published: [['node:n2', given({ lease: 8 })]], after: { ...handedOn('n2'), idle_lookups: null } },
    { name: 'reap: nobody waits for it: it stays, and no timer is asked for', before: { ...held('n2', 1000) }, call: ['reap'], reply: '' },
    { name: 'reap: it never reached the node: that one gets no more until it is heard from', before: { ...held('n2', 1001), idle_lookups: zset({ 'n2 E|?': 9, 'n3 E|?': 1 }) }, alive: ['n2', 'n3'], call: ['reap'], reply: (r) => r > 1000, published: [['node:n3', given({ lease: 8 })]], after: { ...handedOn('n3'), 'lookup:aa': lookup({ ...BY, claimed: '5 1', lease: '8 n3', lost: 1 }), idle_lookups: null } },
    { name: 'race: that node runs this very script: it is heard from', before: { ...held('n1', 1001), idle_lookups: zset({ 'n1 E|?': 1 }) }, call: ['reap'], reply: (r) => r > 1000, events: [given({ lease: 8 })], after: { ...handedOn('n1'), 'lookup:aa': lookup({ ...BY, claimed: '5 1', lease: '8 n1', lost: 1 }), idle_lookups: null } },
    { name: 'reap: when the next one ends, lookups among claims', before: () => ({ ...held('n2', Date.now() + 60_000), leases: zset({ '1 t': Date.now() + 90_000 }) }), call: ['reap'], reply: (r) => /^(60000|5\d{4})$/.test(r), after: () => ({ lookups: zset({ aa: soon(60_000) }), leases: zset({ '1 t': soon(90_000) }) }) },
    { name: 'reap: and claims among lookups', before: () => ({ ...held('n2', Date.now() + 90_000), leases: zset({ '1 t': Date.now() + 60_000 }) }), call: ['reap'], reply: (r) => /^(60000|5\d{4})$/.test(r), after: () => ({ lookups: zset({ aa: soon(90_000) }), leases: zset({ '1 t': soon(60_000) }) }) },
    { name: 'sync: credits are stated again, and take what missed them', before: { ...asked(), idle_lookups: zset({ 'n1 F|?': 3 }) }, call: ['sync', '{}', '', 0, 0, 2, 'E|?', 2, 0, 0, '', 'F|?', 0, 0, 0, ''], reply: (r) => /^(1\d{3}|200\d)\n$/.test(r), events: [given({ lease: 1 })], after: { nodes: zset({ n1: ago() }), node_info: { n1: '{}' }, 'lookup:aa': lookup({ claimed: '5 1', lease: '1 n1' }), lookups: zset({ aa: delivery }), meta: { lease: 1, depth: 0, vt: '0.000000' }, idle_lookups: zset({ 'n1 E|?': 1 }) } },
    { name: 'sync: a node that is gone loses its credits of both kinds', before: () => ({ nodes: zset({ dead: Date.now() - 61_000 }), node_info: { dead: '{}' }, idle: zset({ 'dead E|*': 5 }), idle_lookups: zset({ 'dead E|?': 5, 'deadly E|?': 1 }) }), call: ['sync', '{}', '', 0, 0, 0], reply: '\n', after: { nodes: zset({ n1: ago() }), nodes_gone: zset({ dead: ago(61_000) }), node_info: { dead: '{}', n1: '{}' }, idle: null, idle_lookups: zset({ 'deadly E|?': 1 }) } },
  ]);

  test('its topic is deleted while an engine has it: what comes of the claim finds nothing', async () => {
    await shard.seed({ ...held('n2'), 'topics:alice': zset({ t: 1 }), users: set('alice') });
    assert.equal(await shard.call('delete', 0, 'alice', 't', ''), 'ok');
    for (const verb of [back(), reported('7 aa')]) assert.equal(await shard.call(...verb), 'ok');
    assert.deepEqual((await shard.names()).filter((name) => name.startsWith('look')), []);
  });

  for (const [whose, other] of [['account', { by: 'G' }], ['user of the account', { for: turnTaker('bob') }]])
    test(`a thousand lookups delay that of another ${whose} one by one`, async () => {
      const prints = Array.from({ length: 1000 }, (_, i) => `f${i}`);
      await shard.seed({ ...Object.fromEntries(prints.map((print) => [`lookup:${print}`, lookup(BY)])), 'lookup:other': lookup({ ...BY, ...other }), lookups: zset({ ...Object.fromEntries(prints.map((print, i) => [print, 2 * i])), other: 5000 }) });
      const got = [];
      for (let i = 0; i < 4; i++) got.push((await shard.call('claim_lookup', 0, 'E|?', '0')).split('\n')[2]);
      assert.deepEqual(got.filter((print) => print !== 'other'), ['f0', 'f1', 'f2'], 'those of one user by age');
      assert.ok(got.indexOf('other') <= 1, got.join(' '));
      await shard.call('give_back_lookup', 'f1', '2');
      await shard.call('match', 0, 'other', '["m"]');
      assertDueOfLookups(Object.fromEntries(await Promise.all((await shard.names()).map(async (name) => [name, await shard.get(name)]))));
    });

  test('two thousand lookups and polls after a loss: a thousand a call', async () => {
    for (let i = 0; i < 2000; i++) await shard.seed({ [`lookup:f${i}`]: lookup() });
    await shard.seed({ lookups: zset(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`f${i}`, i * 2]))), idle_lookups: zset({ 'n1 E|?': 2000 }) });
    assert.equal((await shard.turn([['reap']])).events.length, 1000);
    const { events } = await shard.turn([['sync', '{}', '', 0, 0, 1, 'E|?', 1000, 0, 0, '']]);
    assert.equal(events.length, 1001);
    assert.equal(events.at(-1), 'rescan', 'there may be more');
    assert.equal(await shard.cmd('ZCOUNT', shard.key('lookups'), '-inf', Date.now()), 0);
  });
});

scripts('match', ({ cases }) => {
  const match = (print = 'aa') => ['match', 0, print, '["m"]'];
  cases([
    { name: 'an unknown fingerprint', before: asked(), call: match('cc'), reply: 'missing' },
    { name: 'matches are stored, the lookup is done', before: { ...asked({ claimed: '5 1' }), lookups: zset({ aa: LATER }) }, call: match(), reply: 'ok', after: { 'lookup:aa': lookup({ claimed: '5 1', matches: '["m"]' }), lookups: null } },
    { name: 'its account may have one more open', before: { ...asked({ ...BY }), lookups_of: { F: 2 } }, call: match(), reply: 'ok', after: { 'lookup:aa': lookup({ matches: '["m"]' }), lookups: null, lookups_of: { F: 1 } } },
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
  const list = (user = '', after = '0') => ['list_lookups', 0, 't', user, after];
  cases([
    { name: 'an unknown topic', call: list(), reply: 'missing' },
    { name: 'a user without a part in it', before: t, call: list('bob'), reply: 'missing' },
    { name: 'every query, with none', before: t, call: list('alice'), reply: lines('ok', '', 1, '"Q1"', 0, 2, '"Q2"', 0) },
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
      reply: lines('ok', '', 1, '"Q1"', 0, 2, '"Q2"', 3, 'bb', '"b"', '["m"]', 'aa', '"a"', '', 'cc', '"c"', ''),
    },
  ]);

  test('1,000 queries a page, and the next page continues after it', async () => {
    const flat = Object.entries(topicOf(Array(5200).fill('D'))).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key('t:t'), ...flat.slice(i, i + 4000));
    await shard.seed({ 'lookups:t': { '5200 aa': '1' }, 'lookup:aa': lookup() });
    let pages = 0;
    let reply;
    for (let after = '0'; after; after = reply[1]) {
      reply = (await shard.call(...list('', after))).split('\n');
      assert.deepEqual(reply.slice(2, 4), [`${pages * 1000 + 1}`, `"Q${pages * 1000 + 1}"`]);
      pages++;
    }
    assert.equal(pages, 6);
    assert.deepEqual(reply.slice(-6), ['5200', '"Q5200"', '1', 'aa', '"x"', '']);
  });

  test('a query with more lookups than fit continues on the next page', async () => {
    await shard.seed({ 't:t': topicOf(['D', 'D'], { 'a:1': '', 'a:2': '' }) });
    for (let i = 0; i < 5; i++) {
      await shard.seed({ [`lookup:f${i}`]: lookup({ fragment: JSON.stringify('x'.repeat(400_000)) }) });
      await shard.cmd('HSET', shard.key('lookups:t'), `1 f${i}`, i);
    }
    const seen = [];
    for (let after = '0'; after !== ''; ) {
      const [tag, next, ...rest] = (await shard.call(...list('', after))).split('\n');
      assert.equal(tag, 'ok');
      for (let i = 0; i < rest.length; ) {
        const [seq, , n] = rest.slice(i, i + 3);
        i += 3;
        seen.push(seq);
        for (let k = 0; k < n; k++, i += 3) seen.push(rest[i]);
      }
      after = next;
    }
    assert.deepEqual(seen, ['1', 'f0', 'f1', '1', 'f2', 'f3', '1', 'f4', '2']);
  });
});

scripts('recommendations', ({ cases, test, shard }) => {
  const MAX = '18446744073709551615';
  cases([
    { name: 'a part in a topic of another shard', before: t, calls: [['topic_tie', 0, 't', 'alice'], ['topic_tie', 0, 't', ''], ['topic_tie', 0, 't', 'bob'], ['topic_tie', 0, 'x', '']], replies: ['ok', 'ok', 'missing', 'missing'] },
    { name: 'recommend in a topic of another shard', call: ['recommend', 0, 't', 'bob', '{"a":1}', 'F', 'u', 1], reply: (r) => /^ok\n\d{13}\n\d+-\d+\n0$/.test(r), after: { recommendations: () => true, recommenders: zset({ F: 1 }), 'recommenders:F': zset({ u: 1 }), 'recommended:F:u': () => true } },
    { name: 'recommend in an unknown topic', call: ['recommend', 0, 't', '', '{}', 'F', 'u'], reply: 'missing' },
    { name: 'recommend as a user without a part in it', before: t, call: ['recommend', 0, 't', 'bob', '{}', 'F', 'u'], reply: 'missing' },
    { name: 'there are none', call: ['recommendations', 0, '0-0'], reply: lines('ok', '0-0', 0, '') },
    { name: 'after a cursor', before: { recommendations: stream(['5-1', { r: '{"a":1}' }], ['5-2', { r: '{"b":1}' }]) }, call: ['recommendations', 0, '5-1'], reply: lines('ok', '5-2', 0, '', '5-2', '{"b":1}') },
    { name: 'after the last one', before: { recommendations: stream(['5-1', { r: '{}' }]) }, call: ['recommendations', 0, '5-1'], reply: lines('ok', '5-1', 0, '') },
    { name: 'after the largest possible id', before: { recommendations: stream(['5-1', { r: '{}' }]) }, call: ['recommendations', 0, `${MAX}-${MAX}`], reply: lines('ok', `${MAX}-${MAX}`, 0, '') },
  ]);

  test('recommended is read, 200 a page', async () => {
    await shard.seed(t);
    for (let i = 0; i < 3; i++) await shard.turn(Array.from({ length: 100 }, (_, k) => ['recommend', 0, 't', 'alice', `{"n":${i * 100 + k}}`, 'F', 'alice']));
    const first = (await shard.call('recommendations', 0, '0-0')).split('\n');
    assert.equal(first.length, 404);
    const second = (await shard.call('recommendations', 0, first[1])).split('\n');
    assert.equal(second.length, 204);
    assert.equal(second.at(-1), '{"n":299}');
  });

  test('a page of large ones is bounded in bytes, and each page moves on', async () => {
    await shard.seed(t);
    const large = `"${'x'.repeat(320_000)}"`;
    for (let i = 0; i < 9; i++) await shard.call('recommend', 0, 't', '', large, 'F', 'u');
    await shard.call('recommend', 0, 't', '', `"${'y'.repeat(2_000_000)}"`, 'F', 'u');
    const pages = [];
    for (let after = '0-0'; ; ) {
      const [, next, , , ...found] = (await shard.call('recommendations', 0, after)).split('\n');
      if (!found.length) break;
      assert.ok(next > after);
      pages.push(found.length / 2);
      after = next;
    }
    assert.deepEqual(pages, [4, 4, 2]);
  });

  const DIGEST = 'd'.repeat(32);
  const say = async (kind, { user = 'alice', account = 'F', digest = DIGEST, most = '', ofUser = '' } = {}) => {
    const reply = await shard.call('recommend', 0, 't', '', `"${kind} of ${user}"`, account, user, '', most, ofUser, digest, kind === 'F' ? 1 : '');
    return reply.split('\n');
  };
  const texts = async () => (await shard.get('recommendations')).value.map(([, { r }]) => JSON.parse(r));
  const page = async (after, withRemoved = 1) => {
    const [, next, restart, removed, ...found] = (await shard.call('recommendations', 0, after, withRemoved)).split('\n');
    return { next, restart, removed: removed.split(' ').filter(Boolean), ids: found.filter((_, i) => i % 2 === 0) };
  };

  test('a Promote undoes the Flags of the same user and fragment, and the reverse; nobody else’s', async () => {
    await shard.seed(t);
    for (const other of [{ user: 'bob' }, { account: 'G' }, { digest: 'e'.repeat(32) }]) await say('F', other);
    const flags = [await say('F'), await say('F')];
    const { next } = await page('0-0');
    const promote = await say('P');
    assert.equal(promote[3], '2');
    assert.deepEqual(await texts(), ['F of bob', 'F of alice', 'F of alice', 'P of alice']);
    const news = await page(next);
    assert.deepEqual([news.removed, news.ids], [flags.map(([, , id]) => id), [promote[2]]]);
    assert.equal((await say('F'))[3], '1');
    assert.deepEqual(await texts(), ['F of bob', 'F of alice', 'F of alice', 'F of alice']);
    assert.deepEqual((await page(news.next)).removed, [promote[2]]);
  });

  test('what is removed is counted back exactly once, and what is refused undoes nothing', async () => {
    await shard.seed(t);
    const bytes = async () => Number((await shard.cmd('HGET', shard.key('stored'), 'F alice')) ?? 0);
    const [, , id] = await say('F', { most: 65536 });
    assert.equal(await bytes(), 4096);
    assert.equal((await say('P', { most: 65536, ofUser: 4096 }))[0], 'stored');
    assert.deepEqual(await texts(), ['F of alice']);
    assert.equal((await say('P', { most: 65536 }))[3], '1');
    assert.equal(await bytes(), 4096);
    assert.equal(await shard.call('unrecommend', 0, id), 'missing');
    const [[last]] = (await shard.get('recommendations')).value;
    assert.equal(await shard.call('unrecommend', 0, last), 'ok');
    assert.equal(await shard.call('unrecommend', 0, last), 'missing');
    assert.equal(await bytes(), 0);
    for (const key of ['recommenders', 'recommenders:F', 'recommended:F:alice', 'judged:F:alice', 'stored']) assert.equal(await shard.cmd('EXISTS', shard.key(key)), 0, key);
  });

  test('an engine that is behind what is kept of removals begins again', async () => {
    await shard.seed({ ...t, recommendations: stream(['5-1', { r: '{}' }]) });
    await shard.redis.cmd('EVAL', "for i = 1, 10000 do redis.call('XADD', KEYS[1], (100 + i) .. '-0', 'd', i .. '-0') end", 1, shard.key('unrecommended'));
    assert.deepEqual([(await page('5-1')).restart, (await page('101-0')).restart, (await page('0-0')).restart], ['1', '0', '0']);
    assert.equal((await page('5-1', '')).restart, '0');
  });

  test('operators list them, 100 a page, of all or of one user', async () => {
    await shard.seed(t);
    for (let i = 0; i < 3; i++) await shard.turn(Array.from({ length: 100 }, (_, k) => ['recommend', 0, 't', '', `{"n":${i * 100 + k}}`, 'F', k % 50 ? 'alice' : 'bob']));
    const [, next, id, account, user, json] = (await shard.call('list_recommendations', 0, '0-0', '')).split('\n');
    assert.deepEqual([account, user, json], ['F', 'bob', '{"n":0}']);
    assert.match(id, /^\d+-\d+$/);
    assert.equal((await shard.call('list_recommendations', 0, next, '')).split('\n').at(-1), '{"n":199}');
    const ofBob = (await shard.call('list_recommendations', 0, '0-0', 'bob')).split('\n');
    assert.deepEqual([ofBob[1], ofBob.length], ['', 2 + 6 * 4]);
  });

  test('one user cannot push out what others recommend', async () => {
    await shard.seed(t);
    const recommend = (user, text, account = 'F') => ['recommend', 0, 't', '', `"${text}"`, account, user];
    await shard.turn([recommend('bob', 'of bob'), recommend('carol', 'of carol', 'G')]);
    for (let i = 0; i < 101; i++) await shard.turn(Array.from({ length: 100 }, (_, k) => recommend('alice', i * 100 + k)));
    assert.equal(await shard.cmd('XLEN', shard.key('recommendations')), 10_000);
    const all = (await shard.get('recommendations')).value.map(([, { r }]) => r);
    assert.deepEqual(all.slice(0, 3), ['"of bob"', '"of carol"', '"102"']);
    assert.deepEqual(await shard.get('recommenders'), zset({ F: '9999', G: '1' }));
    assert.equal(await shard.cmd('LLEN', shard.key('recommended:F:alice')), 9998);
  });
});
