// SPDX-License-Identifier: MIT
//
// Of several shards: nonces and idempotency keys of add-query (nonce_of_add, bind_key and what takes them back), and what add makes of a request that was let
// through (ADR 30).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { scripts, set, tailOf, topicOf, ttl, zset } from '../../support/lua.mjs';

const frame = { shards: 4 };
// With each reply a node of several shards reads how many queries are Open there.
const several = (cases) => cases.map((one) => ({ events: ['open\n0'], ...one }));
const N = 'n'.repeat(16);
const M = '0123456789ab';
const LEFT = `left:${createHash('sha1').update('alice t').digest('hex')}`;
const nonces = () => ({ [`nonces:${Math.floor(Date.now() / 86400000)}`]: set(N) });
const minute = (back = 0) => `nonce_marks:${Math.floor(Date.now() / 60_000) - back}`;
const marks = (back = 0) => ({ [minute(back)]: ttl(1800, set(`6e6e ${M}`)) });
const resent = (n) => ({ 'resent:6e6e': ttl(1800, String(n)) });

scripts('nonce_of_add and nonce_of_refused', ({ cases, test, shard }) => {
  const member = (mark = M) => `6e6e ${mark}`;
  const use = (mark = M, which = 1) => ['nonce_of_add', which, member(mark)];
  const refused = (mark = M) => ['nonce_of_refused', '6e6e', mark];
  const signed = { ...frame, nonces: [N] };
  const isUsed = () => ({ ...nonces(), ...marks(1) });
  // As a verb, and without one (lua/turn/frame.lua): the same.
  const both = ({ mark, reply, ...one }) => [
    { ...one, name: `${one.name}: as a verb`, frame: signed, call: use(mark), reply },
    { ...one, name: `${one.name}: without a verb`, frame: { ...frame, marked: [[N, member(mark)]] }, calls: [], replies: [], used: reply === 'ok' ? '' : `1 ${reply}` },
  ];
  cases(several([
    ...both({ name: 'a nonce is used up, with its mark', reply: 'ok', after: () => ({ ...nonces(), ...marks() }) }),
    ...both({ name: 'the same again', before: isUsed, reply: 'again', after: () => resent(1) }),
    ...both({ name: 'the same with another mark', before: isUsed, mark: 'ba9876543210', reply: 'replay' }),
    ...both({ name: 'used by another route', before: nonces, reply: 'replay' }),
    ...both({ name: 'eleven minutes later', before: () => ({ ...nonces(), ...marks(11) }), reply: 'replay' }),
    { name: 'race: both in one turn', frame: { ...frame, nonces: [N, N] }, calls: [use(), use(M, 2)], replies: ['ok', 'again'], after: () => ({ ...nonces(), ...marks(), ...resent(1) }) },
    { name: 'race: both in one turn, without a verb', frame: { ...frame, marked: [[N, member()], [N, member()]] }, calls: [], replies: [], used: '2 again', after: () => ({ ...nonces(), ...marks(), ...resent(1) }) },
    { name: 'race: two bodies in one turn', frame: { ...frame, nonces: [N, N] }, calls: [use(), use('ba9876543210', 2)], replies: ['ok', 'replay'], after: () => ({ ...nonces(), ...marks() }) },
    { name: 'race: two bodies in one turn, without a verb', frame: { ...frame, marked: [[N, member()], [N, member('ba9876543210')]] }, calls: [], replies: [], used: '2 replay', after: () => ({ ...nonces(), ...marks() }) },
    { name: 'race: another route in the same turn, later', frame: { ...frame, nonces: [N, N] }, calls: [use(), ['nonce', 2]], replies: ['ok', 'replay'], after: () => ({ ...nonces(), ...marks() }) },
    { name: 'race: another route in the same turn, without a verb', frame: { ...frame, alone: [N], marked: [[N, member()]] }, calls: [], replies: [], used: '2 replay', after: nonces },
    { name: 'race: refused and sent again in one turn, without a verb: it runs', before: isUsed, frame: { ...frame, marked: [[N, member()]] }, calls: [refused()], replies: ['ok'], used: '1 again' },
    { name: 'race: it was refused for another mark', before: isUsed, frame, call: refused('ba9876543210'), reply: 'ok' },
    { name: 'it was never used', frame, call: refused(), reply: 'ok' },
  ]));

  const useAlone = async () => (await shard.turn([], { ...frame, marked: [[N, member()]] })).used;
  const useAsVerb = async () => (await shard.turn([use()], signed)).replies[0];
  for (const [how, run] of [['as a verb', useAsVerb], ['without a verb', async () => (await useAlone()).replace('1 ', '')]]) {
    test(`an equal request is let through for ten minutes, until all of them were refused: ${how}`, async () => {
      const refuse = async () => assert.equal((await shard.turn([refused()], frame)).replies[0], 'ok');
      for (const back of [0, 1, 5, 9]) {
        await shard.seed({ ...nonces(), ...marks(back) });
        assert.equal(await run(), 'again', `${back} minutes later`);
        await refuse();
        assert.equal(await run(), 'again', 'one of two was refused');
        for (let i = 0; i < 2; i++) await refuse();
        assert.equal(await run(), 'replay', 'both were');
      }
    });
  }

  test('a sync drops marks that are too old', async () => {
    await shard.seed({ ...marks(0), ...marks(9), ...marks(12), ...marks(20) });
    await shard.turn([['sync', '{}', '', 0, 0, 0]], frame);
    const kept = (await shard.names()).filter((name) => name.startsWith('nonce_marks:'));
    assert.equal(kept.length, 2, kept.join(' '));
  });
});

scripts('bind_key and unbind_key', ({ cases }) => {
  const bind = (digest = 'ab') => ['bind_key', 'F:k', digest];
  const unbind = (digest = 'ab') => ['unbind_key', 'F:k', digest];
  const of = (text) => ({ 'bound:key:F:k': ttl(86400, text) });
  cases(several([
    { name: 'a new key is for that body', frame, call: bind(), reply: 'ok', after: of('1 ab') },
    { name: 'an equal request', before: of('1 ab'), frame, call: bind(), reply: 'ok', after: of('2 ab') },
    { name: 'another body', before: of('1 ab'), frame, call: bind('cd'), reply: 'mismatch' },
    { name: 'the request was refused: the key is free', before: of('1 ab'), frame, call: unbind(), reply: 'ok', after: { 'bound:key:F:k': null } },
    { name: 'race: one of two was refused: the other one keeps it', before: of('2 ab'), frame, call: unbind(), reply: 'ok', after: of('1 ab') },
    { name: 'race: it is for something else by now', before: of('1 cd'), frame, call: unbind(), reply: 'ok' },
    { name: 'there is none', frame, call: unbind(), reply: 'ok' },
  ]));
});

scripts('add on several shards', ({ cases, test, shard }) => {
  const add = (mark = M, { idem = '' } = {}) => ['add', 0, 't', 'alice', 'default', 'F', 1, 100, tailOf({ query: 'Q1' }), idem, 'ab', '', mark, ''];
  const stored = (tie) => ({ 't:t': topicOf(['D'], { 'u:alice': tie }), 'topics:alice': zset({ t: 1 }), users: set('alice') });
  const now = (ms = 0) => Date.now() - ms;
  const many = (ms, n = 9) => Array.from({ length: n }, (_, i) => `aaaaaaaaaa0${i} ${now(ms)} 1;`).join('');
  const again = (reply) => reply === 'again\n1\n1000';
  cases(several([
    { name: 'it has run: its first answer', before: () => stored(`${M} ${now()} 1;`), frame, call: add(`${M}+`), reply: again },
    { name: 'race: an equal request was quicker: its answer', before: () => stored(`${M} ${now()} 1;`), frame, call: add(), reply: again },
    { name: 'it has run eleven minutes ago', before: () => stored(`${M} ${now(660_000)} 1;`), frame, call: add(`${M}+`), reply: 'replay' },
    { name: 'so many came since that it may have run', before: () => stored(many(1000)), frame, call: add(`${M}+`), reply: 'replay' },
    { name: 'its topic was deleted since', before: () => ({ [LEFT]: ttl(600, `${M} ${now()} 1;`) }), frame, call: add(`${M}+`), reply: 'replay' },
    { name: 'it has run, and the row is gone', before: () => ({ 't:t': { seq: 0, 'u:alice': `${M} ${now()} 1;` } }), frame, call: add(`${M}+`), reply: 'replay' },
  ]));

  // A node died between nonce and add: it runs now.
  for (const [name, before] of [
    ['into a new topic', () => ({})],
    ['into a topic of few adds', () => stored(many(1000, 3))],
    ['into a topic of many adds, a while ago', () => stored(many(720_000))],
    ['after another request of the deleted topic', () => ({ [LEFT]: ttl(600, `ffffffffffff ${now()} 1;`) })],
  ]) {
    test(`it has not run: it runs, ${name}`, async () => {
      await shard.seed(before());
      const { replies } = await shard.turn([add(`${M}+`)], frame);
      assert.match(replies[0], /^ok\n/);
      assert.ok((await shard.get('t:t'))['u:alice'].includes(`${M} `), 'its mark, without the +');
      assert.match((await shard.turn([add(`${M}+`)], frame)).replies[0], /^again\n/);
    });
  }

  test('a tie that goes leaves its marks, as many times as it goes', async () => {
    for (const mark of ['111111111111', '222222222222']) {
      assert.match((await shard.turn([add(mark)], frame)).replies[0], /^ok\n/);
      assert.equal((await shard.turn([['delete', 0, 'alice', 't', '']], frame)).replies[0], 'ok');
    }
    for (const mark of ['111111111111', '222222222222']) assert.equal((await shard.turn([add(`${mark}+`)], frame)).replies[0], 'replay');
    assert.ok((await shard.cmd('PTTL', shard.key(LEFT))) > 590_000);
    assert.deepEqual((await shard.names()).filter((name) => name.startsWith('t:')), []);
  });
});
