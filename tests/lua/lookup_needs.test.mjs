// SPDX-License-Identifier: MIT
//
// Lookups of several shards: a topic's shard notes what it needs, shard 0 has it, and an outbox carries its end from one to the other
// (lua/lookup/needs.lua, ADR 30).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { turnTaker } from '../support/due.mjs';
import { ago, lines, random, scripts, set, tailOf, topicOf, ttl, verbWord, zset } from '../support/lua.mjs';

const frame = { shards: 4 };
const BY = { by: 'F', for: turnTaker('alice') };
const several = (cases) => cases.map((one) => ({ frame, events: ['open\n0'], ...one }));
const t = { 't:t': topicOf(['D', undefined], { open: '' }) };
const meta = (lease) => ({ meta: { lease, depth: 0, vt: '0.000000' } });
const noted = (fields, number = 1) => ({ 't:t': { ...t['t:t'], lookups: number }, 'lookups:t': fields });
const lookup = (more = {}) => ({ fragment: '"x"', count: 5, threshold: 1, alias: 'a0', ...more });
const opened = (...needs) => ({ 'lookup:aa': lookup({ ...BY }), 'needs:aa': set(...needs), lookup_alias: { a0: 'aa' }, lookups: zset({ aa: 1000 }), lookups_of: { F: 1 } });
const stamped = (stamp) => (found) => ago()(found.split('.')[0]) && found.split('.')[1] === String(stamp);
const GONE = { 'lookup:aa': null, 'needs:aa': null, lookup_alias: null, lookups: null, lookups_of: null };

scripts('note_lookup and unnote_lookup', ({ cases, test, shard }) => {
  const note = ({ seq = 1, user = '', print = 'aa' } = {}) => ['note_lookup', 't', seq, user, print];
  const unnote = (stamp) => ['unnote_lookup', 't', 1, 'aa', stamp];
  cases(several([
    { name: 'the first one gives the topic its number', before: t, call: note(), reply: lines('ok', 4, 8, BY.for), after: { ...noted({ '1 aa': stamped(8) }, 4), ...meta(8) } },
    { name: 'a later one has the same number', before: { ...noted({ '1 aa': '1000.2' }, 9), ...meta(11) }, call: note({ seq: 2, user: 'alice' }), reply: lines('ok', 9, 12, BY.for), after: { ...noted({ '1 aa': '1000.2', '2 aa': stamped(12) }, 9), ...meta(12) } },
    { name: 'the same again keeps its age, has another stamp, and is not to be taken back', before: { ...noted({ '1 aa': '1000.2' }), ...meta(2) }, call: note(), reply: lines('ok', 1, '', BY.for), after: { ...noted({ '1 aa': '1000.4' }), ...meta(4) } },
    { name: 'of a user without a part in the topic', before: t, call: note({ user: 'bob' }), reply: 'missing' },
    { name: 'an unknown Seq', before: t, call: note({ seq: 3 }), reply: 'missing' },
    { name: 'an unknown topic', call: note(), reply: 'missing' },
    { name: 'it was refused: the note goes', before: { ...noted({ '1 aa': '1000.2', '1 bb': '1000.3' }), ...meta(3) }, call: unnote(2), reply: 'ok', after: noted({ '1 bb': '1000.3' }) },
    { name: 'race: an equal one came in between: its note stays', before: { ...noted({ '1 aa': '1000.3' }), ...meta(3) }, call: unnote(2), reply: 'ok' },
    { name: 'race: the topic is gone', call: unnote(2), reply: 'ok' },
  ]));

  test('a topic has a thousand', async () => {
    await shard.seed(noted(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`1 f${i}`, '1000.1']))));
    assert.equal((await shard.turn([note()], frame)).replies[0], 'waiting\n1000\n\ntopic');
    assert.match((await shard.turn([note({ print: 'f7' })], frame)).replies[0], /^ok\n/);
  });
});

scripts('open_lookup and release_lookups', ({ cases }) => {
  const open = ({ need = 't:1', count = 5, max = 1000 } = {}) => ['open_lookup', need, 'aa', 'a0', '"x"', count, 1, BY.by, BY.for, max];
  const release = (...needs) => ['release_lookups', ...needs];
  const ok = (reply) => /^ok\n\d{13}$/.test(reply);
  const released = (need) => ({ [`released:${createHash('sha1').update(need).digest('hex')}`]: ttl(86400, '1') });
  cases(several([
    { name: 'a lookup is opened', call: open(), reply: ok, after: { ...opened('t:1'), lookups: zset({ aa: ago() }) } },
    { name: 'the same for another topic: one lookup, two that need it', before: opened('t:1'), call: open({ need: 's:7' }), reply: ok, after: { 'needs:aa': set('s:7', 't:1') } },
    { name: 'the same again changes nothing', before: opened('t:1'), call: open(), reply: ok },
    { name: 'the account has as many as it may', before: { lookups_of: { F: 3 } }, call: open({ max: 3 }), reply: 'waiting\n3\n\naccount' },
    { name: 'a larger Count is looked up again', before: opened('t:1'), call: open({ count: 9 }), reply: ok, after: { 'lookup:aa': lookup({ ...BY, count: 9 }), lookups: zset({ aa: ago() }) } },
    { name: 'race: the topic was deleted since it wrote that down', before: released('t:1'), call: open(), reply: 'missing' },
    { name: 'race: a topic of the same name came after it', before: released('t:1'), call: open({ need: 't:2' }), reply: ok, after: { ...opened('t:2'), lookups: zset({ aa: ago() }) } },
    { name: 'a topic is gone that others share the lookup with', before: opened('s:7', 't:1'), call: release('aa t:1'), reply: 'ok', after: { 'needs:aa': set('s:7'), ...released('t:1') } },
    { name: 'the last one is gone', before: opened('t:1'), call: release('aa t:1'), reply: 'ok', after: { ...GONE, ...released('t:1') } },
    { name: 'twice', before: opened('s:7', 't:1'), calls: [release('aa t:1'), release('aa t:1', 'aa t:1')], replies: ['ok', 'ok'], after: { 'needs:aa': set('s:7'), ...released('t:1') } },
    { name: 'of a topic that needed nothing here yet', before: opened('s:7'), call: release('aa t:1', 'bb t:1'), reply: 'ok', after: released('t:1') },
    { name: 'race: a release that comes late leaves the new topic of that name alone', before: opened('t:2'), call: release('aa t:1'), reply: 'ok', after: released('t:1') },
  ]));
});

scripts('the outbox', ({ cases, test, shard }) => {
  const take = (...done) => ['outbox', '1', ...done];
  const due = (found) => Number(found) > Date.now() && Number(found) < Date.now() + 11_000;
  cases(several([
    { name: 'there is nothing', call: take(), reply: '' },
    { name: 'what is due is taken, and comes again if nobody does it', before: { outbox: zset({ 'aa t:1': 0, 'bb t:1': 5 }) }, call: take(), reply: lines('aa t:1', 'bb t:1'), after: { outbox: zset({ 'aa t:1': due, 'bb t:1': due }) } },
    { name: 'what another node has taken is not due', before: () => ({ outbox: zset({ 'aa t:1': Date.now() + 9000 }) }), call: take(), reply: '', after: () => ({ outbox: zset({ 'aa t:1': due }) }) },
    { name: 'what is done goes, and the next is taken', before: { outbox: zset({ 'aa t:1': 9e12, 'bb t:1': 5 }) }, call: take('aa t:1'), reply: 'bb t:1', after: { outbox: zset({ 'bb t:1': due }) } },
    { name: 'what is done goes, and nothing is taken', before: { outbox: zset({ 'aa t:1': 9e12, 'bb t:1': 5 }) }, call: ['outbox', '0', 'aa t:1'], reply: '', after: { outbox: zset({ 'bb t:1': 5 }) } },
    { name: 'done twice, by two nodes', before: { outbox: zset({ 'aa t:1': 9e12 }) }, calls: [take('aa t:1'), take('aa t:1')], replies: ['', ''], after: { outbox: null } },
    { name: 'a deleted topic leaves there what it needed', before: { ...noted({ '1 aa': '1000.2', '2 aa': '1000.3', '2 bb': '1000.4' }), ...meta(4), 'topics:alice': zset({ t: 1 }) }, call: ['delete', 0, 'alice', 't', ''], reply: 'ok', events: ['outbox', 'open\n0'], after: { 't:t': null, 'lookups:t': null, 'topics:alice': null, outbox: zset({ 'aa t:1': 0, 'bb t:1': 0 }) } },
    { name: 'one that needed nothing leaves nothing', before: { ...t, 'topics:alice': zset({ t: 1 }) }, call: ['delete', 0, 'alice', 't', ''], reply: 'ok', after: { 't:t': null, 'topics:alice': null } },
  ]));

  test('a thousand lookups of one topic: a hundred a call', async () => {
    await shard.seed({ ...noted(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`1 ${i.toString(16)}`, '1000.1']))), 'topics:alice': zset({ t: 1 }) });
    await shard.turn([['delete', 0, 'alice', 't', '']], frame);
    let n = 0;
    for (let done = []; ; n += done.length) {
      const [reply] = (await shard.turn([take(...done)], frame)).replies;
      if (reply === '') break;
      done = reply.split('\n');
      assert.ok(done.length <= 100);
    }
    assert.equal(n, 1000);
    assert.equal(await shard.get('outbox'), undefined);
  });
});

scripts('noted_lookups and read_lookups', ({ cases, test, shard }) => {
  const list = (user = '', after = '0', limit = '') => ['noted_lookups', 't', user, after, limit];
  cases(several([
    { name: 'an unknown topic', call: list(), reply: 'missing' },
    { name: 'a user without a part in it', before: t, call: list('bob'), reply: 'missing' },
    { name: 'every query, with none', before: t, call: list('alice'), reply: lines('ok', 0, '', 1, '"Q1"', 0, 0, 2, '"Q2"', 0, 0) },
    { name: 'by age', before: noted({ '2 cc': '7.1', '2 bb': '5.2', '2 aa': '7.3' }), call: list(), reply: lines('ok', 1, '', 1, '"Q1"', 0, 0, 2, '"Q2"', 0, 3, 'bb', 'cc', 'aa') },
    { name: 'from where the last page ended', before: noted({ '2 cc': '7.1', '2 bb': '5.2', '2 aa': '7.3' }), call: list('', '2.1'), reply: lines('ok', 1, '', 2, '"Q2"', 1, 2, 'cc', 'aa') },
    { name: 'no more queries than asked for', before: noted({ '2 aa': '7.1' }), call: list('', '0', 1), reply: lines('ok', 1, 1, 1, '"Q1"', 0, 0) },
    {
      name: 'what a topic does not need is not shown, nor what is gone',
      before: { 'lookup:aa': lookup({ matches: '["m"]' }), 'lookup:bb': lookup(), 'lookup:cc': lookup(), 'needs:aa': set('t:1'), 'needs:bb': set('t:1', 's:1'), 'needs:cc': set('t:2', 's:1') },
      call: ['read_lookups', 't:1', 'aa', 'bb', 'cc', 'dd'],
      reply: lines('ok', '"x"', '["m"]', '"x"', '', '', '', '', ''),
    },
  ]));

  test('large ones: as many as fit, one at least', async () => {
    for (const i of [1, 2, 3]) await shard.seed({ [`lookup:a${i}`]: lookup({ fragment: JSON.stringify('x'.repeat(600_000)) }), [`needs:a${i}`]: set('t:1') });
    const [reply] = (await shard.turn([['read_lookups', 't:1', 'a1', 'a2', 'a3']], frame)).replies;
    assert.equal(reply.split('\n').length, 3);
  });

  test('a query with more lookups than a page continues on the next one', async () => {
    await shard.seed(noted(Object.fromEntries(Array.from({ length: 450 }, (_, i) => [`1 ${(1000 + i).toString(16)}`, `${i}.1`]))));
    const seen = [];
    for (let after = '0'; after !== ''; ) {
      const [, , next, , , before, n, ...rest] = (await shard.turn([list('', after)], frame)).replies[0].split('\n');
      assert.equal(Number(before), seen.length);
      assert.ok(Number(n) <= 200);
      seen.push(...rest.slice(0, Number(n)));
      after = next;
    }
    assert.deepEqual(seen, Array.from({ length: 450 }, (_, i) => (1000 + i).toString(16)));
  });
});

// --- random steps ------------------------------------------------------------------------------------

// Topics of another shard are added, deleted and come again, their lookups are asked for, and the steps of all that run in any order, late, twice, or
// not at all, since their node has died. In the end the outbox is worked off. Then what is there is what live topics need, and all that was acknowledged is.
scripts('lookups of two shards, at random', ({ test, shard }) => {
  const [HERE, ZERO] = ['parley:{1nb}:', 'parley:{0}:'];
  const PRINTS = ['aa', 'bb', 'cc'];
  const TOPICS = ['t', 's'];

  // A verb on one of the two shards.
  async function on(prefix, name, ...args) {
    const words = ['n1 150000 2000 3 100000 4 0', 0, verbWord(name, args), ...args];
    return (await shard.cmd('FCALL', 'turn_test', 1, prefix, ...words))[0];
  }

  async function play(seed) {
    const below = random(seed);
    const any = (list) => list[below(list.length)];
    const late = []; // steps that are under way
    const acked = new Map(); // "topic number print" of what clients have read is there
    const remember = (step) => late.push(step);
    // What a node does one after the other, each step with what the one before has replied; it may die before each. No call comes twice, but two
    // nodes may do the same with the outbox.
    const run = async (steps, value) => {
      for (const [i, step] of steps.entries()) {
        const fate = below(8);
        if (fate === 0) return;
        if (fate === 1) return remember(() => run(steps.slice(i), value));
        const before = value;
        if (fate === 2 && step.name !== 'open') remember(() => step(before));
        value = await step(before);
        if (value === undefined) return;
      }
    };
    const add = (topic) => on(HERE, 'add', '0', topic, 'alice', 'default', 'F', 1, 1e6, tailOf(), '', '', '0', '', '0');
    const ask = (topic, print) =>
      run([
        async () => {
          const [tag, number, stamp, user] = (await on(HERE, 'note_lookup', topic, 1, '', print)).split('\n');
          return tag === 'ok' ? { number, stamp, user } : undefined;
        },
        async function open({ number, stamp, user }) {
          const max = below(6) === 0 ? 0 : 1000;
          const reply = await on(ZERO, 'open_lookup', `${topic}:${number}`, print, `${print}0`, '"x"', 5 + below(3), 1, 'F', user, max, '', '');
          if (reply.startsWith('ok')) acked.set(`${topic}:${number} ${print}`, true);
          else if (stamp) await on(HERE, 'unnote_lookup', topic, 1, print, stamp);
        },
      ]);
    const carry = () =>
      run([
        async () => {
          const items = await on(HERE, 'outbox', '1');
          return items === '' ? undefined : items.split('\n');
        },
        async (items) => {
          await on(ZERO, 'release_lookups', ...items);
          return items;
        },
        (items) => on(HERE, 'outbox', '0', ...items),
      ]);
    // As if the ten seconds were over.
    const hurry = async () => {
      const all = await shard.cmd('ZRANGE', `${HERE}outbox`, 0, -1);
      if (all.length) await shard.cmd('ZADD', `${HERE}outbox`, ...all.flatMap((item) => [0, item]));
    };
    for (let i = 0; i < 150; i++) {
      const what = below(10);
      if (what < 2) await add(any(TOPICS));
      else if (what < 5) await ask(any(TOPICS), any(PRINTS));
      else if (what < 6) await on(HERE, 'delete', '0', 'alice', any(TOPICS), '');
      else if (what < 7) await carry();
      else if (what < 8) await hurry();
      else if (what < 9) await on(ZERO, 'match', '0', any(PRINTS), '["m"]');
      else if (late.length) await late.splice(below(late.length), 1)[0]();
    }
    while (late.length) await late.shift()();
    await hurry();
    for (let items; (items = await on(HERE, 'outbox', '1')) !== ''; ) {
      await on(ZERO, 'release_lookups', ...items.split('\n'));
      await on(HERE, 'outbox', '0', ...items.split('\n'));
    }

    const live = new Set();
    for (const topic of TOPICS) {
      const number = await shard.cmd('HGET', `${HERE}t:${topic}`, 'lookups');
      for (const field of await shard.cmd('HKEYS', `${HERE}lookups:${topic}`)) live.add(`${topic}:${number} ${field.split(' ')[1]}`);
    }
    const needed = new Set();
    for (const print of PRINTS) {
      const needs = await shard.cmd('SMEMBERS', `${ZERO}needs:${print}`);
      assert.equal(await shard.cmd('EXISTS', `${ZERO}lookup:${print}`), needs.length ? 1 : 0, `${print} is there while it is needed, ${needs}`);
      if (!needs.length) assert.equal(await shard.cmd('ZSCORE', `${ZERO}lookups`, print), null);
      for (const need of needs) needed.add(`${need} ${print}`);
    }
    for (const one of needed) assert.ok(live.has(one), `${one} is kept, and no topic needs it`);
    const numbers = await Promise.all(TOPICS.map(async (topic) => `${topic}:${await shard.cmd('HGET', `${HERE}t:${topic}`, 'lookups')}`));
    for (const one of acked.keys())
      if (numbers.includes(one.split(' ')[0])) {
        assert.ok(live.has(one), `${one} was acknowledged, and its topic has lost it`);
        assert.ok(needed.has(one), `${one} was acknowledged, and is lost`);
      }
    assert.equal(Number((await shard.cmd('HGET', `${ZERO}lookups_of`, 'F')) ?? 0), await shard.cmd('ZCARD', `${ZERO}lookups`), 'what the account has open');
  }

  test('what is there is what live topics need', async () => {
    const first = Number(process.env.PARLEY_SEED ?? 1);
    for (let seed = first; seed < first + 40; seed++) {
      await shard.cmd('FLUSHALL');
      try {
        await play(seed);
      } catch (error) {
        error.message = `seed ${seed}: ${error.message}`;
        throw error;
      }
    }
  });
});
