// SPDX-License-Identifier: MIT
//
// Rows that nodes take when their time has come (lua/turn/due.lua): deliveries, evaluations, runs of workflows. Whose turn it is does
// not depend on who has most of them, and what a call costs does not either.
import assert from 'node:assert/strict';
import { assertQueuesOfDue } from '../support/due.mjs';
import { random, scripts, zset } from '../support/lua.mjs';
import { runKeys as evaluationKeys } from '../support/lua_bots.mjs';
import { ROOM } from '../support/lua_rooms.mjs';
import { runKeys } from '../support/lua_workflow.mjs';

const MANY = 20_000;
const LEASE_MS = 6000;
const hex = (n, digits) => n.toString(16).padStart(digits, '0');

// Of each set: the verb that takes, how many lines it replies for a row, and the keys of one.
const SETS = {
  dlv_due: {
    take: (n) => ['delivery_take', n],
    look: ['bots_due'],
    lines: 8,
    id: (n) => `dlv_${ROOM}_${n}-0_1`,
    keys: (id, account, user) => ({ [`dlv:${id}`]: { room: ROOM, message: '1-0', bot: 'bot', kind: 'b', hop: 0, state: 'waiting', attempt: 0, fence: '', created: Date.now(), account, user } }),
  },
  evaluation_due: {
    take: (n) => ['evaluation_take', n],
    look: ['bots_due'],
    lines: 4,
    id: (n) => `${hex(n, 24)}-1`,
    keys: (id, account, user) => evaluationKeys({ evaluation: id.slice(0, 24), account, user }),
  },
  wf_due: {
    take: (n) => ['workflow_take', n, ''],
    look: ['workflow_due', ''],
    lines: 5,
    id: (n) => `${hex(n, 32)}.1000`,
    keys: (id, account, user) => runKeys({ session: id.slice(0, 32), run: 1000, account, user }),
  },
};

for (const [set, { take, look, lines, id, keys }] of Object.entries(SETS)) {
  scripts(`${set}: rows that are due`, ({ test, shard }) => {
    let n = 0;

    // Rows of a user, due at that time (ms) and after; only the first ones have more than their time.
    async function seed(account, user, count, at = 1000) {
      const ids = Array.from({ length: count }, () => id(n++));
      const real = ids.slice(0, 300);
      await shard.seed({ ...Object.assign({}, ...real.map((one) => keys(one, account, user))) });
      for (let i = 0; i < ids.length; i += 10_000) await shard.cmd('ZADD', shard.key(`${set}:${account}:${user}`), ...ids.slice(i, i + 10_000).flatMap((one, k) => [at + i + k, one]));
      await shard.cmd('ZADD', shard.key(`${set}:${account}`), at, user);
      await shard.cmd('ZADD', shard.key(set), at, account);
      return ids;
    }

    const idsOf = (reply) => reply.split('\n').filter((_, i, all) => all.length > 1 && i % lines === 0);
    const takeSome = async (most) => idsOf(await shard.call(...take(most)));
    const keysNow = async () => Object.fromEntries(await Promise.all((await shard.names()).filter((name) => name.startsWith(set)).map(async (name) => [name, await shard.get(name)])));

    // Commands of Redis that a call takes.
    async function costOf(call) {
      await shard.cmd('CONFIG', 'RESETSTAT');
      await call();
      const info = await shard.cmd('INFO', 'commandstats');
      return [...info.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
    }

    test('20,000 of one account delay those of another one, and of its other users, by one each', async () => {
      const many = new Set(await seed('A', 'a1', MANY));
      const [few] = await seed('A', 'a2', 1, 900_000);
      const [other] = await seed('B', 'b', 1, 900_000);
      const got = await takeSome(4);
      assert.equal(got.length, 4);
      assert.ok(got.indexOf(other) >= 0 && got.indexOf(other) <= 1, `another account's is number ${got.indexOf(other)}`);
      assert.ok(got.includes(few), 'another user of the account');
      assert.equal(got.filter((one) => many.has(one)).length, 2);
    });

    test('what a call costs does not depend on how many are due', async () => {
      await seed('A', 'a', 30);
      await seed('B', 'b', 30);
      const few = await costOf(() => takeSome(10));
      await seed('A', 'a', MANY, 2000);
      const many = await costOf(() => takeSome(10));
      assert.ok(many <= few + 5, `${many} commands, ${few} with 60 rows`);
    });

    test('accounts take turns over several calls, and users within them, each with its oldest row', async () => {
      const rows = { a1: await seed('A', 'a1', 6), a2: await seed('A', 'a2', 6, 500), b: await seed('B', 'b', 6), c: await seed('C', 'c', 6) };
      const whose = (one) => Object.keys(rows).find((user) => rows[user].includes(one));
      const got = [];
      for (let i = 0; i < 9; i++) got.push(...(await takeSome(2)));
      for (let i = 0; i < 18; i += 3) assert.deepEqual(got.slice(i, i + 3).map((one) => whose(one)[0]).sort(), ['a', 'b', 'c'], `round ${i / 3}`);
      for (const user of Object.keys(rows)) {
        const mine = got.filter((one) => whose(one) === user);
        assert.deepEqual(mine, rows[user].slice(0, mine.length), user);
        assert.equal(mine.length, { a1: 3, a2: 3, b: 6, c: 6 }[user], user);
      }
      assertQueuesOfDue(await keysNow());
    });

    test('an account whose rows come again and again waits for its turn, too', async () => {
      const [again] = await seed('A', 'a', 1);
      const others = await seed('B', 'b', 20);
      let mine = 0;
      for (let i = 0; i < 20; i++) {
        const [got] = await takeSome(1);
        if (got === again) mine++;
        // As one that is given back: due at once, for an account that has just been served.
        const [seconds, us] = await shard.cmd('TIME');
        await shard.cmd('ZADD', shard.key(`${set}:A:a`), 1, again);
        for (const [queue, member] of [[`${set}:A`, 'a'], [set, 'A']]) await shard.cmd('ZADD', shard.key(queue), 'LT', `${seconds}${us.padStart(6, '0').slice(0, 3)}.${us.padStart(6, '0').slice(3)}`, member);
      }
      assert.ok(mine >= 9 && mine <= 11, `${mine} of 20`);
      assert.ok(others.length > 20 - mine);
    });

    test('many accounts whose rows were put off hide no row that is due', async () => {
      for (let i = 0; i < 150; i++) {
        await seed(`A${i}`, 'a', 1);
        await shard.cmd('ZADD', shard.key(`${set}:A${i}:a`), 'XX', Date.now() + LEASE_MS * 100, id(n - 1));
      }
      const [due] = await seed('B', 'b', 1, Date.now() - 1000);
      assert.match(await shard.call(...look), /^(1|deliveries|evaluations)$/);
      assert.deepEqual(await takeSome(10), [due]);
      assert.match(await shard.call(...look), /^(0|none)$/);
      assertQueuesOfDue(await keysNow());
    });

    test('rows without anything else are dropped, and their users and accounts with them', async () => {
      await shard.cmd('ZADD', shard.key(`${set}:A:a`), 5, id(1e6), 6, id(1e6 + 1));
      await shard.cmd('ZADD', shard.key(`${set}:A`), 5, 'a', 4, 'gone');
      await shard.cmd('ZADD', shard.key(set), 5, 'A', 4, 'gone');
      assert.deepEqual(await takeSome(10), []);
      assert.deepEqual((await shard.names()).filter((name) => name.startsWith(set)), []);
    });

    test('random rows of random users: each is taken once in its lease, and nobody waits for more than one round', async () => {
      const below = random(7), waiting = {};
      for (let i = 0; i < 60; i++) {
        const account = `A${below(5)}`, user = `u${below(3)}`;
        const [row] = await seed(account, user, 1, 1000 + below(1000));
        (waiting[account] ??= []).push(row);
      }
      const taken = new Set();
      for (let left = 60; left > 0; ) {
        const most = 1 + below(7), got = await takeSome(most);
        assert.equal(got.length, Math.min(most, left));
        for (const row of got) {
          assert.ok(!taken.has(row), `${row} is taken twice`);
          taken.add(row);
          left--;
        }
        const counts = Object.values(waiting).map((rows) => [rows.filter((row) => taken.has(row)).length, rows.length]);
        const most_ = Math.max(...counts.map(([some]) => some));
        for (const [some, all] of counts) assert.ok(some >= Math.min(all, most_ - 1), `${JSON.stringify(counts)}`);
      }
      assertQueuesOfDue(await keysNow());
    });
  });
}

scripts('due rows after the clock went back', ({ test, shard }) => {
  test('come after one lease, however far it went', async () => {
    const then = Date.now() + 660_000;
    await shard.seed({ 'dlv_due:A:a': zset({ x: then }), 'dlv_due:A:b': zset({ y: then + 1 }), 'dlv_due:B:b': zset({ z: then + 900_000 }) });
    await shard.call('bots_due');
    for (const [key, row] of [['A:a', 'x'], ['A:b', 'y'], ['B:b', 'z']]) {
      const ms = Number(await shard.cmd('ZSCORE', shard.key(`dlv_due:${key}`), row)) - Date.now();
      assert.ok(ms <= 901_000, `${key}: ${ms} ms`);
    }
  });
});
