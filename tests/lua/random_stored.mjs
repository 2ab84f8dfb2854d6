// SPDX-License-Identifier: MIT
//
// What is counted for accounts and users is what is stored (lua/queue/stored.lua), recounted from the keyspace of the
// random model: rows, answers and fragments by topic, what was found for lookups, and recommendations.
import assert from 'node:assert/strict';

const BLOCK = 4096, UNIT = 65536;
const whole = (bytes, of) => Math.ceil(bytes / of) * of;

// Bytes by `<account> <user>` of a topic.
function recount(topic, hash, keys) {
  const bytes = {};
  // A row that went with its user's data counts for nobody; what is looked up for it later does.
  const count = (seq, n, isText = false) => {
    const [account, user] = hash[`q:${seq}`].split('\n')[1].split(' ');
    if (user !== '%' || !isText) bytes[`${account} ${user}`] = (bytes[`${account} ${user}`] ?? 0) + n;
  };
  for (const [field, value] of Object.entries(hash)) if (/^[qa]:/.test(field)) count(field.slice(2), value.length, true);
  for (const field of Object.keys(keys.get(`lookups:${topic}`) ?? {})) {
    const [seq, print] = field.split(' ');
    count(seq, `"${print}"`.length);
  }
  return bytes;
}

// What the topic's own fields say.
function recorded(hash) {
  const bytes = {};
  const [, others, n, whose] = /^(\+?)(\d+) (\S+ \S+)$/.exec(hash.stored);
  if (whose !== '% %') bytes[whose] = Number(n);
  for (const [field, value] of Object.entries(hash)) {
    if (!field.startsWith('stored:')) continue;
    assert.equal(others, '+', `${field} is noted`);
    bytes[field.slice(7)] = Number(value);
  }
  return Object.fromEntries(Object.entries(bytes).filter(([, n]) => n > 0));
}

export function checkStored(keys) {
  const sums = {}, all = {};
  const add = (to, key, n) => (to[key] = (to[key] ?? 0) + n);
  for (const [name, hash] of keys) {
    if (name.startsWith('t:')) {
      const bytes = recount(name.slice(2), hash, keys);
      assert.deepEqual(recorded(hash), bytes, `${name}: what it was counted with`);
      for (const [whose, n] of Object.entries(bytes)) add(sums, whose, whole(n, BLOCK));
    } else if (name.startsWith('lookup:')) {
      const [, n, account] = /^(\d+) (\S+)$/.exec(hash.stored);
      assert.equal(Number(n), hash.matches?.length ?? 0, `${name}: what was found`);
      add(all, account, Number(n));
    }
  }
  for (const [, { r, a, u, n }] of keys.get('recommendations') ?? []) {
    if (Number(n ?? 0) > 0) assert.equal(Number(n), whole(r.length, BLOCK), 'a recommendation is counted whole');
    if (Number(n ?? 0) > 0) add(sums, `${a} ${u}`, Number(n));
  }
  for (const [whose, n] of Object.entries(sums)) add(all, whose.split(' ')[0], whole(n, UNIT));
  for (const [account, n] of Object.entries(all)) if (n > 0) sums[account] = n;
  const found = Object.fromEntries(Object.entries(keys.get('stored') ?? {}).map(([field, n]) => [field, Number(n)]));
  assert.deepEqual(found, sums, 'stored');
}

// The stream is what the tester knows, and what is derived from it fits it.
export function checkRecommended(world, keys) {
  const found = keys.get('recommendations') ?? [];
  assert.deepEqual(found.map(([id]) => id), world.recommended.map(({ id }) => id), 'recommendations');
  const [accounts, users, ids, judged] = [{}, {}, {}, {}];
  for (const { id, account, user, digest, kind } of world.recommended) {
    accounts[account] = String(Number(accounts[account] ?? 0) + 1);
    users[account] ??= {};
    users[account][user] = String(Number(users[account][user] ?? 0) + 1);
    (ids[`${account}:${user}`] ??= []).push(id);
    if (digest) (judged[`${account}:${user}`] ??= []).push(`${digest} ${kind} ${id}`);
  }
  for (const members of Object.values(judged)) members.sort();
  const of = (kind, read) => Object.fromEntries([...keys].filter(([name]) => name.startsWith(`${kind}:`)).map(([name, value]) => [name.slice(kind.length + 1), read(value)]));
  const text = (zset) => Object.fromEntries(Object.entries(zset ?? {}).map(([member, n]) => [member, String(n)]));
  assert.deepEqual(text(keys.get('recommenders')), accounts, 'recommenders');
  assert.deepEqual(of('recommenders', text), users, 'recommenders:*');
  assert.deepEqual(of('recommended', (list) => list), ids, 'recommended:*');
  assert.deepEqual(of('judged', (zset) => Object.keys(zset).sort()), judged, 'judged:*');
}
