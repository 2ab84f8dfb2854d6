// SPDX-License-Identifier: MIT
//
// due: rows that nodes take in turn when their time has come (lua/turn/due.lua): deliveries, evaluations, runs. A set has its rows in
// zsets <set>:<account>:<user>, and above them queues of users, <set>:<account>, and of accounts, <set>. Queues follow from rows, so
// no test names them.
//
//   await expireDue(redis, 'dlv_due', id, ...)   their time has come; redis: what has a function cmd()
//   await whenDue(redis, 'dlv_due', id)          in ms, or null
//   await putDue(redis, 'dlv_due', id, ms)         it is due then
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';

const SET = '(?:dlv|evaluation|wf|lookup)_due';
const ROWS = new RegExp(`^(${SET}):([^:]*):([^:]*)$`);
const QUEUE = new RegExp(`^${SET}(?::[^:]*)?$`);

export const isQueueOfDue = (name) => QUEUE.test(name);

// name -> {row: ms} of those of these keys that have rows.
const rowsOf = (keys) => Object.entries(keys).filter(([name, value]) => ROWS.test(name) && value).map(([name, value]) => [name, value.value]);

// All rows of a set: row -> ms.
export const dueOf = (keys, set) => Object.assign({}, ...rowsOf(keys).filter(([name]) => name.startsWith(`${set}:`)).map(([, rows]) => rows));

// Lookups have their times in `lookups`, and again in the set lookup_due, by the account that opened them and the user whose query
// it was: name -> {fingerprint: ms}.
export function dueOfLookups(keys) {
  const sets = {};
  for (const [print, ms] of Object.entries(keys.lookups?.value ?? {})) {
    const hash = keys[`lookup:${print}`];
    const { by = '%', for: user = '%' } = hash?.value ?? hash ?? {};
    (sets[`lookup_due:${by}:${user}`] ??= {})[print] = ms;
  }
  return sets;
}

// A user as lookups have it.
export const turnTaker = (user) => createHash('sha1').update(user).digest('hex');

export const isDueOfLookups = (name) => name.startsWith('lookup_due');

export function assertDueOfLookups(keys) {
  const found = Object.fromEntries(rowsOf(keys).filter(([name]) => isDueOfLookups(name)));
  assert.deepEqual(found, dueOfLookups(keys), 'when lookups are due');
}

// The queues of these keys, as they are when nothing was put off: name -> {member: ms}.
export function queuesOfDue(keys) {
  const queues = {};
  for (const [name, rows] of rowsOf(keys)) {
    const [, set, account, user] = ROWS.exec(name);
    const first = Object.values(rows).reduce((least, ms) => Math.min(least, ms), Infinity);
    for (const [queue, member] of [[set, account], [`${set}:${account}`, user]]) {
      queues[queue] ??= {};
      queues[queue][member] = Math.min(first, queues[queue][member] ?? Infinity);
    }
  }
  return queues;
}

// Everybody with rows has a turn, nobody else has, and no turn comes too late: after the first row is due, and after now.
export function assertQueuesOfDue(keys) {
  const expected = queuesOfDue(keys);
  const found = Object.entries(keys).filter(([name, value]) => isQueueOfDue(name) && value).map(([name, value]) => [name, value.value]);
  assert.deepEqual(found.map(([name]) => name).sort(), Object.keys(expected).sort(), 'queues of what is due');
  for (const [name, members] of found) {
    assert.deepEqual(Object.keys(members).sort(), Object.keys(expected[name]).sort(), name);
    for (const [member, ms] of Object.entries(members)) {
      assert.ok(Number(ms) <= Math.max(expected[name][member], Date.now() + 1000), `${name} ${member}: ${ms} is after ${expected[name][member]}`);
    }
  }
}

async function find(redis, set, row) {
  for (const key of await redis.cmd('KEYS', `*:${set}:*:*`)) {
    const ms = await redis.cmd('ZSCORE', key, row);
    if (ms !== null) return { key, ms: Number(ms) };
  }
  return null;
}

export const whenDue = async (redis, set, row) => (await find(redis, set, row))?.ms ?? null;

export async function expireDue(redis, set, ...rows) {
  for (const row of rows) await putDue(redis, set, row, 1);
}

export async function putDue(redis, set, row, ms) {
  const found = await find(redis, set, row);
  if (!found) return;
  const [, accounts, account, user] = /^(.*):([^:]*):([^:]*)$/.exec(found.key);
  await redis.cmd('ZADD', found.key, ms, row);
  await redis.cmd('ZADD', `${accounts}:${account}`, 'LT', ms, user);
  await redis.cmd('ZADD', accounts, 'LT', ms, account);
}

export async function expireAllDue(redis, set) {
  for (const key of await redis.cmd('KEYS', `*:${set}:*:*`)) await expireDue(redis, set, ...(await redis.cmd('ZRANGE', key, 0, -1)));
}
