// SPDX-License-Identifier: MIT
//
// The Open queries of one topic, of several users, models and sizes: whatever is claimed, comes back or is cancelled, in
// any order, they stand by Seq in its field `open`, and exactly those wait for a turn who have one there.
import assert from 'node:assert/strict';
import { random, scripts, tailOf } from '../../support/lua.mjs';

const USERS = ['a', 'b', 'a1', '1'];
const MODELS = ['default', 'a', 'b', '1']; // also called like users and like numbers
const STEPS = 250;
const LARGE = 'x'.repeat(300_000); // four of these are more than a claim takes

scripts('the Open queries of a topic', ({ test }) => {
  for (const seed of [1, 2, 3, 4]) {
    test(`any order of what may happen, from seed ${seed}`, async (shard) => {
      const below = random(seed);
      const pick = (list) => list[below(list.length)];
      const open = new Map(); // Seq -> {user, model}
      const held = new Map(); // lease -> Seqs
      const all = [];

      async function add() {
        const [user, model] = [pick(USERS), pick(MODELS)];
        const query = seed > 2 && below(3) === 0 ? LARGE : 'Why?';
        const reply = await shard.call('add', 0, 't', user, pick(USERS), model, 1, 1e6, tailOf({ user, model, query }), '', '', '');
        all[Number(reply.split('\n')[1])] = { user, model };
        open.set(all.length - 1, all.at(-1));
      }

      async function claim() {
        const models = pick(['*', '*', 'a', 'b,1', 'default']);
        const text = await shard.call('claim', 0, `E|${models}`, '0');
        const fits = ([, { model }]) => models === '*' || model === 'default' || models.split(',').includes(model);
        const wanted = [...open].filter(fits).map(([seq]) => seq).sort((x, y) => x - y);
        if (text === 'empty') return assert.deepEqual(wanted, []);
        const parts = text.split('\n');
        const seqs = [];
        for (let i = 6; i < parts.length; i += 8) seqs.push(Number(parts[i]));
        assert.equal(seqs.length, Number(parts[5]));
        assert.deepEqual(seqs, wanted.slice(0, seqs.length), 'the oldest first');
        if (seed <= 2) assert.equal(seqs.length, wanted.length);
        seqs.forEach((seq) => open.delete(seq));
        held.set(parts[3], seqs);
      }

      async function giveBack() {
        const lease = pick([...held.keys()]);
        if (!lease) return;
        await shard.call('give_back', 't', lease);
        for (const seq of held.get(lease)) open.set(seq, all[seq]);
        held.delete(lease);
      }

      async function cancel() {
        const seq = pick([...open.keys()]);
        if (!seq) return;
        assert.equal(await shard.call('cancel', 0, 't', seq, '', '"no"'), 'ok');
        open.delete(seq);
      }

      async function check() {
        const items = ((await shard.cmd('HGET', shard.key('t:t'), 'open')) ?? '').split(';').slice(0, -1).map((item) => item.split(' '));
        const expected = [...open].sort(([x], [y]) => x - y);
        assert.deepEqual(items.map(([seq, , model, user]) => [Number(seq), model, user]), expected.map(([seq, { user, model }]) => [seq, model, user]));
        const waiting = (await shard.names()).filter((name) => name.startsWith('open:')).sort();
        assert.deepEqual(waiting, [...new Set(expected.map(([, { user, model }]) => `open:${model}:${user}`))].sort());
        if (expected.length === 0) return;
        const [seq] = pick(expected);
        assert.match(await shard.call('check', 0, 't', seq, '', '0'), /^Open\n(.*\n)*\d+\n$/);
      }

      for (let step = 0; step < STEPS; step++) {
        await pick([add, add, add, add, add, claim, giveBack, cancel])();
        await check();
      }
    });
  }
});
