// SPDX-License-Identifier: MIT
//
// random_checks: what holds of a keyspace after any verb, beside what a World (random_world.mjs) knows of it: the sentences of docs/redis-keys.md
// on states, the fair order, leases and their keys, credits, lookups and counters.
import assert from 'node:assert/strict';
import { checkRecommended, checkStored } from './random_stored.mjs';
import { takes } from './random_world.mjs';

async function snapshot(shard) {
  const names = await shard.names();
  const values = await Promise.all(names.map((name) => shard.get(name)));
  return new Map(names.map((name, i) => [name, values[i]?.value ?? values[i]]));
}

function stateOf(text) {
  if (text === undefined) return { state: 'Open' };
  const pending = /^P (\d+) (\d+) (\S+) (\d+)(?: n\d)?$/.exec(text);
  if (pending) return { state: 'Pending', lease: pending[1], used: Number(pending[2]), holder: pending[3] };
  return { state: { D: 'Done', F: 'Failed', C: 'Cancelled' }[text[0]] };
}

// Each query is in the one state that it must be in; returns what is Open.
function checkTopics(world, keys) {
  const open = [];
  const hashes = [...keys.keys()].filter((name) => name.startsWith('t:')).map((name) => name.slice(2));
  assert.deepEqual(hashes.sort(), [...world.topics.keys()].sort(), 'the topics');
  for (const [topic, queries] of world.topics) {
    const hash = keys.get(`t:${topic}`);
    assert.equal(Number(hash.seq), queries.length);
    const items = (hash.open ?? '').split(';').filter(Boolean).map((item) => item.split(' '));
    assert.deepEqual(items.map(([seq]) => seq), queries.flatMap((q, i) => (q.state === 'Open' ? [String(i + 1)] : [])), `${topic}: open`);
    queries.forEach((q, i) => {
      const found = stateOf(hash[`s:${i + 1}`]);
      assert.equal(found.state, q.state, `${topic} ${i + 1}`);
      if (q.state === 'Pending') assert.deepEqual([found.lease, found.used, found.holder], [q.lease, q.used, q.holder], `${topic} ${i + 1}`);
      else assert.ok(!(`f:${i + 1}` in hash), `${topic} ${i + 1} is ${q.state}, and its engine's words are kept`);
      assert.equal(`a:${i + 1}` in hash, q.state === 'Done', `${topic} ${i + 1}: its answer`);
    });
    for (const [seq, used, model, user] of items) {
      const q = queries[seq - 1];
      assert.deepEqual([Number(used), model, user], [q.used, q.model, q.user]);
      open.push({ topic, model, user });
    }
    for (const field of Object.keys(hash)) {
      if (field.startsWith('l:')) assert.ok(world.held(topic, field.slice(2)).length, `${topic} ${field}: nobody holds it`);
    }
  }
  return open;
}

// What is Open is reachable by its turn, once, and nothing else is in the order.
function checkOrder(keys, open) {
  const expected = { open: new Set(), turns: new Set(), models: new Set() };
  const waiting = {};
  const depths = {};
  for (const { topic, model, user } of open) {
    if (model !== 'default') depths[model] = String(Number(depths[model] ?? 0) + 1);
    expected.open.add(`${model}:${user} ${topic}`);
    expected.turns.add(`${model} ${user}`);
    expected.models.add(model);
    waiting[`A ${user}`] = String(Number(waiting[`A ${user}`] ?? 0) + 1);
  }
  const members = (kind) => [...keys].filter(([name]) => name.startsWith(`${kind}:`))
    .flatMap(([name, value]) => Object.keys(value).map((member) => `${name.slice(kind.length + 1)} ${member}`));
  assert.deepEqual(members('open').sort(), [...expected.open].sort(), 'open:*');
  assert.deepEqual(members('turns').sort(), [...expected.turns].sort(), 'turns:*');
  assert.deepEqual([...(keys.get('models') ?? [])].sort(), [...expected.models].sort(), 'models');
  assert.deepEqual(Object.keys(keys.get('falls') ?? {}).sort(), [...expected.models].filter((model) => model !== 'default').sort(), 'falls');
  assert.deepEqual({ ...keys.get('waiting') }, waiting, 'waiting');
  assert.deepEqual({ ...keys.get('depths') }, depths, 'depths');
  assert.equal(Number(keys.get('meta')?.depth ?? 0), open.length, 'depth');
  if (!open.length) assert.ok(!keys.has('served'), 'served is gone with the last work');
}

function checkRest(world, keys, open) {
  const leases = new Set();
  for (const [topic, queries] of world.topics) {
    for (const q of queries) if (q.state === 'Pending') leases.add(`${q.lease} ${topic}`);
  }
  assert.deepEqual(Object.keys(keys.get('leases') ?? {}).sort(), [...leases].sort(), 'leases');
  const running = new Set([...leases].map((member) => member.split(' ')[0]));
  for (const lease of world.keys.keys()) if (!running.has(lease)) world.keys.delete(lease);
  const said = [...keys].flatMap(([name, value]) => (name.startsWith('lease:') ? [[name.slice(6), value]] : []));
  assert.deepEqual(said.sort(), [...world.keys].sort(), 'lease:*');
  for (const [member, score] of Object.entries(keys.get('idle') ?? {})) {
    const credits = Math.floor(score);
    const due = Math.round((score - credits) * 1e6);
    assert.ok(credits >= 1 && due <= credits, `${member}: ${score} credits`);
    const [node, cls] = member.split(' ');
    const missed = world.alive.has(node) && open.find(({ model }) => takes(cls, model, world.fallen));
    assert.ok(!missed, `${member} waits while ${missed?.topic} is Open`);
  }
  const failed = [...world.topics].flatMap(([topic, queries]) => queries.flatMap((q, i) => (q.state === 'Failed' ? [`${topic} ${i + 1}`] : [])));
  assert.deepEqual(Object.keys(keys.get('failed') ?? {}).sort(), failed.sort(), 'failed');
  for (const name of keys.keys()) {
    const [kind, topic] = name.split(':');
    if (kind === 'partials') assert.ok(world.topics.has(topic), `${name} outlives its topic`);
  }
}

// Each lookup is to be done or not, and given out while somebody waits for it.
function checkLookups(world, keys) {
  const now = Date.now();
  const scores = keys.get('lookups') ?? {};
  const refs = {};
  for (const [print, { needs }] of world.lookups) refs[print] = String(needs.size);
  const found = [...keys].filter(([name]) => name.startsWith('lookup:')).map(([name, { refs: n }]) => [name.slice(7), n]);
  assert.deepEqual(Object.fromEntries(found), refs, 'lookups and how many need them');
  const open = [...world.lookups].filter(([, { isOpen }]) => isOpen);
  assert.deepEqual(Object.keys(scores).sort(), open.map(([print]) => print).sort(), 'lookups');
  for (const [print, lookup] of open) {
    assert.equal(Number(scores[print]) <= now, world.isClaimable(lookup), `${print}: its lease`);
    if (!world.isClaimable(lookup)) assert.match(keys.get(`lookup:${print}`).lease, new RegExp(`^${lookup.lease} n\\d$`));
  }
  const waits = open.some(([, lookup]) => world.isClaimable(lookup));
  for (const [member, score] of Object.entries(keys.get('idle_lookups') ?? {})) {
    const credits = Math.floor(score);
    assert.ok(credits >= 1 && Math.round((score - credits) * 1e6) <= credits, `${member}: ${score} credits`);
    assert.ok(!waits || !world.alive.has(member.split(' ')[0]), `${member} waits while a lookup may be claimed`);
  }
  const sum = Object.values(keys.get('lookups_of') ?? {}).reduce((n, one) => n + Number(one), 0);
  assert.equal(sum, open.length, 'lookups_of');
}

export async function checkAll(world, shard) {
  const keys = await snapshot(shard);
  for (const name of keys.keys()) {
    if (name.startsWith('lease:')) assert.ok((await shard.cmd('TTL', shard.key(name))) > 0, `${name} does not expire`);
  }
  const open = checkTopics(world, keys);
  checkOrder(keys, open);
  checkRest(world, keys, open);
  checkLookups(world, keys);
  checkStored(keys);
  checkRecommended(world, keys);
}

// Everything is cancelled or answered, every topic deleted: what may be left is named here.
export async function checkEnd(world, shard) {
  for (const [topic, users] of [...world.users]) for (const user of users) await shard.call('delete', 0, user, topic);
  for (const { id } of world.recommended) assert.equal(await shard.call('unrecommend', 0, id), 'ok');
  if (await shard.get('recommendations')) assert.deepEqual((await shard.get('recommendations')).value, []);
  const allowed = /^(recommendations|unrecommended|meta|idle|idle_lookups|hints|quiet:\w+|nodes|node_info|models_seen|users|stat:\d+|nonces:\d+|left:\w+|tokens:\w+|account_tokens:\w+)$/;
  const ofLookups = /^(lookup:\w+|lookup_alias|lookups|lookups_of|stored)$/; // whose needs outlived their topic
  const left = (await shard.names()).filter((name) => !allowed.test(name) && !(world.gone_n > 0 && ofLookups.test(name)));
  assert.deepEqual(left, [], 'left behind');
  assert.equal((await shard.get('meta')).depth, '0');
}
