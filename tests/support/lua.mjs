// SPDX-License-Identifier: MIT
//
// lua: the function library on a private Redis, without a node: what a test of a verb needs.
// A test says the keyspace before, the call, the exact reply and the exact keyspace after:
//
//   scripts('release', ({ shard, cases }) => {
//     cases([{ name, before: {…keys}, call: ['release', …], reply: 'ok', after: {…changes} }]);
//   });
//
// Keys are written without the shard's prefix. A value is a string, an object (hash), or one of
// zset(), set(), list(), stream(), each of them perhaps inside ttl(). Where a value depends on the clock the
// expected one is a function: true when the found one fits (soon(), ago(), anything, or one of the
// test's own).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import net from 'node:net';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { assertDueOfLookups, assertQueuesOfDue, dueOfLookups, isDueOfLookups, isQueueOfDue, queuesOfDue } from './due.mjs';
import { kept } from './kept.mjs';
import { parseReply, startRedis } from './redis.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const FUNCTION = 'turn_test';
const CLOCK_SLACK_MS = 20_000;
const LEASE_S = 100; // of a lease that a test begins with
const DELIVERY_MS = 2000;
export const PREFIX = 'parley:{0}:';

// What the generator makes of lua/.
function generated(what) {
  const files = ['lua', 'cmake'].flatMap((dir) => readdirSync(join(ROOT, dir), { recursive: true }).map((name) => join(ROOT, dir, name)));
  const sources = files.filter((name) => /\.(lua|pl|pm)$/.test(name)).sort().flatMap((name) => [name, readFileSync(name)]);
  return kept(`verbs${what}`, sources, () => execFileSync('perl', ['cmake/verbs.pl', what], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 24 }));
}

// The library as shared/redis/turn.c loads it.
let library;
export function libraryText() {
  library ??= `#!lua name=parley_test\nlocal FUNCTION_NAME = '${FUNCTION}'\n${generated('--expand')}`;
  return library;
}

// What the verbs' headers declare (cmake/verbs.pl), by name.
export const VERBS = JSON.parse(generated('--json'));

// The word that a verb begins with in a turn (lua/turn/frame.lua).
export const verbWord = (name, args) => `${name} ${String(args.length).padStart(3, '0')}`;

// A verb's arguments, as many as its header says: with one too few it would read the next verb's. What a test leaves
// out at the end is empty, if it may be.
function argumentsOf(name, given) {
  const verb = VERBS[name];
  if (!verb) return given;
  const args = [...given];
  const fixed = verb.args.length + (verb.nonce !== 'no' ? 1 : 0) + Math.max(0, verb.lists.length - 1);
  const left = verb.args.slice(args.length - fixed);
  if (args.length < fixed && left.every((arg) => arg.is_optional || arg.kind === 'flag')) args.push(...left.map(() => ''));
  const width = verb.lists.at(-1)?.args.length;
  const fits = width ? args.length >= fixed && (verb.lists.length > 1 || (args.length - fixed) % width === 0) : args.length === fixed;
  assert.ok(fits, `${name} has ${args.length} arguments, not ${fixed}: ${JSON.stringify(args).slice(0, 500)}`);
  return args;
}

// --- values ------------------------------------------------------------------------------------

class Typed {
  constructor(type, value) {
    this.type = type;
    this.value = value;
  }
}
export const zset = (members) => new Typed('zset', members);
export const set = (...members) => new Typed('set', [...members].sort());
export const stream = (...entries) => new Typed('stream', entries); // [id, {field: value}]
export const list = (...items) => new Typed('list', items);
export const ttl = (seconds, value) => new Typed('ttl', { seconds, value });

// Predicates for values that depend on the clock, in ms.
export const anything = () => true;
export const ago = (ms = 0) => (found) => Math.abs(Number(found) - (Date.now() - ms)) < CLOCK_SLACK_MS;
// On a slow machine it was found long after it was written.
export const soon = (ms) => Object.assign((found) => Number(found) < Date.now() + ms + 2_000 && Number(found) > Date.now() + ms - CLOCK_SLACK_MS, { ms });
export const agoUs = (found) => ago()(Number(found) / 1000);
// A score of the zset `idle`: parked polls, and how many of them are due in this round.
export const credits = (n, due) => (found) => Math.round(Number(found) * 1e6) === n * 1e6 + due;
export const lines = (...parts) => parts.join('\n');

// Numbers from 0 to below - 1, the same for the same seed.
export function random(seed) {
  // mulberry32
  let a = seed >>> 0;
  return (below) => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor(((t ^ (t >>> 14)) >>> 0) / 4294967296 * below);
  };
}

function typeOf(value) {
  if (value instanceof Typed) return value.type;
  return value && typeof value === 'object' ? 'hash' : 'string';
}

// Compares what was found with what was expected, where a function decides for itself.
export function assertFits(found, expected, where = 'the value') {
  if (typeof expected === 'function') {
    assert.ok(expected(found), `${where}: ${JSON.stringify(found)} does not fit`);
  } else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(found), `${where}: ${JSON.stringify(found)} is no list`);
    assert.deepEqual(found.length, expected.length, `${where}: length of ${JSON.stringify(found)}`);
    expected.forEach((item, i) => assertFits(found[i], item, `${where}[${i}]`));
  } else if (expected && typeof expected === 'object') {
    assert.deepEqual(Object.keys(found ?? {}).sort(), Object.keys(expected).sort(), `${where}: its fields`);
    for (const key of Object.keys(expected)) assertFits(found[key], expected[key], `${where} ${key}`);
  } else {
    assert.equal(String(found), String(expected), where);
  }
}

// --- nodes' channels ---------------------------------------------------------------------------

// A connection that is subscribed for several nodes and keeps what it hears.
class Ears {
  #socket;
  #buffer = Buffer.alloc(0);
  #waiting = [];
  #prefix;
  heard = [];

  constructor(port, prefix = PREFIX) {
    this.#prefix = prefix;
    this.#socket = net.connect(port, '127.0.0.1');
    this.#socket.on('error', () => {});
    this.#socket.on('data', (chunk) => this.#read(chunk));
  }

  #read(chunk) {
    this.#buffer = Buffer.concat([this.#buffer, chunk]);
    for (let reply; this.#buffer.length && (reply = parseReply(this.#buffer, 0)); ) {
      this.#buffer = this.#buffer.subarray(reply[1]);
      const [kind, channel, body] = reply[0];
      if (kind !== 'message' && kind !== 'smessage') this.#waiting.shift()();
      else for (const event of splitMessage(body)) this.heard.push([channel.slice(this.#prefix.length), event]);
    }
  }

  #ask(words) {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#socket.write(`${words}\r\n`);
    });
  }

  // A node with its own channel and the one of all, as nodes of several shards have them.
  async add(node) {
    await this.#ask(`SUBSCRIBE ${this.#prefix}node:${node}`);
    await this.#ask(`SUBSCRIBE ${this.#prefix}all`);
    for (const channel of [`node:${node}`, 'all']) await this.#ask(`SSUBSCRIBE ${this.#prefix}${channel}`);
  }

  async remove(node) {
    await this.#ask(`UNSUBSCRIBE ${this.#prefix}node:${node}`);
    await this.#ask(`SUNSUBSCRIBE ${this.#prefix}node:${node}`);
  }

  // All that was published so far: [channel, event]. Events come in order on this connection, so an
  // answered PING says that nothing is still under way.
  async take() {
    await this.#ask('PING');
    return this.heard.splice(0);
  }

  close() {
    this.#socket.destroy();
  }
}

function splitMessage(body) {
  const events = [];
  let bytes = Buffer.from(body);
  while (bytes.length) {
    const colon = bytes.indexOf(':');
    const n = Number(bytes.toString('utf8', 0, colon));
    events.push(bytes.toString('utf8', colon + 1, colon + 1 + n));
    bytes = bytes.subarray(colon + 1 + n);
  }
  return events;
}

// --- the shard ---------------------------------------------------------------------------------

// Settings of a turn that a test does not name. isRaw: verbs get the arguments as they are, however many.
const FRAME = { node: 'n1', leaseMs: 150_000, deliveryMs: DELIVERY_MS, maxAttempts: 3, queueMax: 100_000, shards: 1, fallbackMs: 0, nonces: [], alone: [], marked: [] };

// What a turn returned, with texts that came in parts joined (lua/turn/parts.lua).
export function joined(replies) {
  const texts = [];
  for (let i = 0; i < replies.length; i++) {
    const n = replies[i][0] === '\x01' ? Number(replies[i].slice(1)) : 0;
    const parts = replies.slice(i + 1, i + 1 + n);
    assert.ok(parts.length === n && parts.every((part) => typeof part === 'string'), 'parts are texts');
    texts.push(n ? parts.join('') : replies[i]);
    i += n;
  }
  return texts;
}

export class Shard {
  prefix = PREFIX;

  constructor(options) {
    this.options = options;
  }

  // Another shard of the same Redis. Its ears are closed by its user.
  at(prefix) {
    const other = new Shard(this.options);
    return Object.assign(other, { prefix, redis: this.redis, ears: new Ears(this.redis.port, prefix) });
  }

  async start() {
    this.redis = await startRedis(this.options);
    await this.redis.cmd('FUNCTION', 'LOAD', this.options?.library?.(libraryText()) ?? libraryText());
    this.ears = new Ears(this.redis.port);
    return this;
  }

  async stop() {
    this.ears.close();
    await this.redis.stop();
  }

  // One turn: verbs are [name, ...arguments]. Returns one reply per verb, and this node's own events. `alone`: nonces without
  // a verb; `marked`: [nonce, member] of add-queries. `used` is what became of them (lua/turn/frame.lua). `rest`: what the
  // next call of these verbs is given, if not all of them have run; as an option it is what an earlier call returned.
  // `also`: a command in the same transaction, where time stands still; as a result its reply.
  async turn(verbs, options = {}) {
    const f = { ...FRAME, ...options };
    const settings = [f.node, f.leaseMs, f.deliveryMs, f.maxAttempts, f.queueMax, f.shards, f.fallbackMs].join(' ');
    const { nonces, alone, marked } = f;
    const hasAlone = alone.length + marked.length > 0;
    const numbers = f.rest ? f.rest : hasAlone ? `${nonces.length} ${alone.length} ${marked.length}` : nonces.length;
    const words = [settings, numbers, ...nonces];
    if (!f.rest) words.push(...alone, ...marked.map(([nonce]) => nonce), ...marked.map(([, member]) => member));
    const verbsAt = words.length;
    const ranWords = Number(f.rest?.split(' ')[1] ?? 0);
    let left = verbs.length; // that have not run
    for (const [name, ...given] of verbs) {
      const args = f.isRaw ? given : argumentsOf(name, given);
      words.push(verbWord(name, args), ...args);
      if (words.length - verbsAt <= ranWords) left--;
    }
    const [replied, also] = await this.#atomically(['FCALL', f.isFull ? `${FUNCTION}_freeing` : FUNCTION, 1, this.prefix, ...words], f.also);
    const all = joined(replied);
    const used = hasAlone && !f.rest ? { used: all.shift() } : {};
    const restAt = all.findIndex((text) => text[0] === '\x02');
    const n = restAt < 0 ? left : restAt;
    const rest = restAt < 0 ? {} : { rest: all.splice(restAt, 1)[0].slice(1) };
    return { ...used, ...rest, ...(f.also && { also }), replies: all.slice(0, n), events: all.slice(n) };
  }

  async #atomically(command, also) {
    if (!also) return [await this.redis.cmd(...command)];
    const sent = [['MULTI'], command, also, ['EXEC']].map((words) => this.redis.cmd(...words));
    return (await Promise.all(sent)).at(-1);
  }

  // One verb in a turn of its own; its reply.
  async call(verb, ...args) {
    return (await this.turn([[verb, ...args]])).replies[0];
  }

  cmd(...words) {
    return this.redis.cmd(...words);
  }

  key(name) {
    return this.prefix + name;
  }

  // Fills the empty keyspace. isBare: leases get no keys that are not named, as if they had expired.
  async seed(keys, { isBare = false } = {}) {
    if (!isBare) for (const [name, { text }] of Object.entries(leaseKeysOf(keys))) if (!keys[name]) await this.#put(this.key(name), ttl(LEASE_S, text));
    const shares = sharesOf(keys);
    if (!keys.shares && Object.keys(shares).length) await this.#put(this.key('shares'), shares);
    const lookups = Object.fromEntries(Object.entries(dueOfLookups(keys)).map(([name, members]) => [name, zset(members)]));
    for (const [name, members] of Object.entries(lookups)) await this.#put(this.key(name), members);
    for (const [name, members] of Object.entries(queuesOfDue({ ...keys, ...lookups }))) if (!keys[name]) await this.#put(this.key(name), zset(members));
    for (const [name, value] of Object.entries(keys)) await this.#put(this.key(name), value);
  }

  async #put(key, value) {
    const type = typeOf(value);
    if (type === 'ttl') {
      await this.#put(key, value.value.value);
      await this.cmd('EXPIRE', key, value.value.seconds);
    } else if (type === 'string') {
      await this.cmd('SET', key, value);
    } else if (type === 'hash') {
      await this.cmd('HSET', key, ...Object.entries(value).flat());
    } else if (type === 'set') {
      await this.cmd('SADD', key, ...value.value);
    } else if (type === 'list') {
      await this.cmd('RPUSH', key, ...value.value);
    } else if (type === 'zset') {
      await this.cmd('ZADD', key, ...Object.entries(value.value).flatMap(([member, score]) => [score, member]));
    } else {
      for (const [id, fields] of value.value) await this.cmd('XADD', key, id, ...Object.entries(fields).flat());
    }
  }

  // One key's value as in seed(), without ttl().
  async get(name) {
    const key = this.key(name);
    const pairs = (flat) => Object.fromEntries(flat.flatMap((x, i) => (i % 2 ? [] : [[x, flat[i + 1]]])));
    switch (await this.cmd('TYPE', key)) {
      case 'string':
        return this.cmd('GET', key);
      case 'hash':
        return pairs(await this.cmd('HGETALL', key));
      case 'set':
        return set(...(await this.cmd('SMEMBERS', key)));
      case 'list':
        return list(...(await this.cmd('LRANGE', key, 0, -1)));
      case 'zset':
        // Redis 7 writes 17 digits of a fraction, others as many as it takes.
        return zset(pairs((await this.cmd('ZRANGE', key, 0, -1, 'WITHSCORES')).map((x, i) => (i % 2 ? String(Number(x)) : x))));
      case 'stream':
        return stream(...(await this.cmd('XRANGE', key, '-', '+')).map(([id, flat]) => [id, pairs(flat)]));
      default:
        return undefined;
    }
  }

  // Without `clock`, which verbs that look for what is due write whatever they find.
  async names() {
    return (await this.cmd('KEYS', `${this.prefix}*`)).map((key) => key.slice(this.prefix.length)).filter((name) => name !== 'clock').sort();
  }

  // The keyspace is exactly this. isBare: as in seed().
  async assertKeys(expected, { isBare = false } = {}) {
    // `shares` says again what the topics' `open` fields say, so no test has to; without Open queries it goes.
    if (!expected.shares) {
      const shares = await this.get('shares');
      if (shares) assert.deepEqual(shares, sharesOf(expected), 'shares: what the Open queries add up to');
      else if (Object.keys(sharesOf(expected)).length)
        assert.equal(Number((await this.get('meta'))?.depth ?? 0), 0, 'shares are there while queries are Open');
    }
    // Each lease has its key, which says again what the rows of its claim say, so no test has to.
    const leaseKeys = isBare ? {} : leaseKeysOf(expected);
    for (const [name, { holder, topic, list }] of Object.entries(leaseKeys)) {
      if (expected[name]) continue;
      assert.match((await this.get(name)) ?? 'nothing', new RegExp(`^${holder} ${topic} \\d+ \\S+ ${list}$`), name);
      assert.ok((await this.cmd('TTL', this.key(name))) >= 0, `${name} does not expire`);
    }
    // As `shares` do `depths`; a test of what is seeded without them names them (random_checks.mjs holds them to the truth).
    const isSaid = (name) => name !== 'shares' && name !== 'depths' && !leaseKeys[name] && !isQueueOfDue(name) && !isDueOfLookups(name);
    const all = await this.names();
    const names = all.filter((name) => expected[name] || isSaid(name));
    // Whose turn it is follows from what is due.
    const due = Object.fromEntries(await Promise.all(all.filter((name) => /_due|^lookups$|^lookup:/.test(name)).map(async (name) => [name, await this.get(name)])));
    assertQueuesOfDue(due);
    assertDueOfLookups(due);
    assert.deepEqual(names, Object.keys(expected).filter((name) => name !== 'clock').sort(), 'the keys that are there');
    for (const [name, value] of Object.entries(expected)) {
      const left = await this.cmd('TTL', this.key(name));
      const inner = typeOf(value) === 'ttl' ? value.value.value : value;
      if (typeOf(value) === 'ttl') {
        assert.ok(left <= value.value.seconds + 1 && left > value.value.seconds - CLOCK_SLACK_MS / 1000, `${name}: expires in ${left} s`);
      } else {
        assert.equal(left, -1, `${name}: expires in ${left} s`);
      }
      const found = await this.get(name);
      if (typeof inner !== 'function') assert.equal(typeOf(found), typeOf(inner), `${name}: its type`);
      assertFits(found instanceof Typed ? found.value : found, inner instanceof Typed ? inner.value : inner, name);
    }
  }
}

// The same of the hash `depths`: Open queries of each model but `default`.
export function depthsOf(keys) {
  const depths = {};
  for (const [field, n] of Object.entries(sharesOf(keys))) {
    const model = /^[^:]+:(.+)$/.exec(field)?.[1];
    if (model) depths[model] = String(Number(depths[model] ?? 0) + Number(n));
  }
  return depths;
}

// What the hash `shares` holds while these topics are there: Open queries of each account, of each of its
// models but `default`, and how many such models.
export function sharesOf(keys) {
  const shares = {};
  const add = (field) => (shares[field] = String(Number(shares[field] ?? 0) + 1));
  for (const [name, value] of Object.entries(keys)) {
    if (!name.startsWith('t:') || typeof value?.open !== 'string') continue;
    for (const item of value.open.split(';').filter(Boolean)) {
      const [, , model, , account] = item.split(' ');
      add(account);
      if (model !== 'default' && add(`${account}:${model}`) === '1') add(`${account}:`);
    }
  }
  return shares;
}

// Keys and counts are of a day or a minute: a case that is made from the clock must not begin in one and end in the next.
async function awayFromTheNextMinute() {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < 2000) await new Promise((resolve) => setTimeout(resolve, left + 10));
}

// The keys lease:<id> of what is Pending under a lease of the index `leases`, by name: {text, holder, topic, list}. A claim that is
// listed in its topic took what is listed there, any other one what it holds. A delivery lease has no key yet: one that ends after
// DELIVERY_MS, or at an odd time.
export function leaseKeysOf(keys) {
  const found = {};
  for (const [member, until] of Object.entries(keys.leases?.value ?? {})) {
    if (until?.ms === DELIVERY_MS || until % 2 === 1) continue;
    const [lease, topic] = member.split(' ');
    const hash = keys[`t:${topic}`] ?? {};
    const held = Object.keys(hash).filter((field) => field.startsWith('s:') && String(hash[field]).startsWith(`P ${lease} `));
    if (!held.length) continue;
    const [, , attempt, holder, , node = 'n1'] = hash[held[0]].split(' ');
    const list = hash[`l:${lease}`] ?? held.map((field) => field.slice(2)).join(' ');
    found[`lease:${lease}`] = { text: `${holder} ${topic} ${attempt} ${node} ${list}`, holder, topic, list };
  }
  return found;
}

// One case: before (keys, or a function that makes them), call ([verb, ...arguments]) or calls (a list of them, one turn), frame
// (options of the turn), reply or replies, events (this node's own), published ([channel, event]),
// alive (other nodes that listen), isBare (leases have no keys that are not named), after (changes to `before`, or a function that makes them; null: gone; absent: as
// before).
async function runCase(shard, one) {
  if (typeof one.before === 'function' || typeof one.after === 'function') await awayFromTheNextMinute();
  const start = (typeof one.before === 'function' ? one.before() : one.before) ?? {};
  await shard.seed(start, one);
  for (const node of one.alive ?? []) await shard.ears.add(node);
  try {
    const { replies, events, used } = await shard.turn(one.calls ?? [one.call], one.frame);
    assert.equal(used, one.used, 'used nonces');
    assertFits(replies, one.replies ?? [one.reply], 'replies');
    assertFits(events, one.events ?? [], 'own events');
    assertFits(await shard.ears.take(), one.published ?? [], 'published events');
    const end = { ...start, ...(typeof one.after === 'function' ? one.after() : one.after) };
    for (const name of Object.keys(end)) if (end[name] === null || end[name] === undefined) delete end[name];
    await shard.assertKeys(end, one);
  } finally {
    for (const node of one.alive ?? []) await shard.ears.remove(node);
  }
}

// A suite on one Redis, emptied before each test. define({shard, cases, test}). options: as startRedis has, and `library`, which
// makes of the library's text the one that is loaded.
export function scripts(name, define, options) {
  if (found) return;
  describe(name, () => {
    const shard = new Shard(options);
    before(() => shard.start());
    after(() => shard.stop());
    beforeEach(() => shard.cmd('FLUSHALL'));
    const test = (title, body) => it(title, { timeout: 300_000 }, (t) => body(shard, t));
    const cases = (list) => {
      for (const one of list) test(one.name, () => runCase(shard, one));
    };
    define({ shard, cases, test });
  });
}

// What a verb costs that finds something, for tests/lua/cost.test.mjs, which plays it (cost_flows.mjs). In the file of the
// verb's own tests:
//
//   flow('the audit log', async (m) => {…});
let found;
export function flow(name, play) {
  if (found) found[name] = play;
}

// The flows of such files. Their tests stay undefined meanwhile.
export async function flowsOf(dir) {
  const flows = (found = {});
  for (const name of readdirSync(dir, { recursive: true }).filter((one) => one.endsWith('.test.mjs'))) {
    if (/^flow\(/m.test(readFileSync(join(dir, name), 'utf8'))) await import(pathToFileURL(join(dir, name)));
  }
  found = undefined;
  return flows;
}

// --- rows --------------------------------------------------------------------------------------

// Lines 3 to 7 of a row, as a node sends them.
export function tailOf({ user = 'alice', model = 'default', modifiers = '{}', trace = '', query = 'Why?' } = {}) {
  return lines(JSON.stringify(user), JSON.stringify(model), modifiers, trace, JSON.stringify(query));
}

export function rowOf({ ms = 1000, account = 'Frontend_1', weight = 1, ...rest } = {}) {
  const { user = 'alice', model = 'default' } = rest;
  return lines(ms, `${account} ${user} ${model} ${weight}`, tailOf(rest));
}

// The `open` field of a topic: [seq, attempts, {user, model, account, weight}] each.
export function openOf(...items) {
  return items
    .map(([seq, attempts = 0, { user = 'alice', model = 'default', account = 'Frontend_1', weight = 1 } = {}]) =>
      `${seq} ${attempts} ${model} ${user} ${account} ${weight};`)
    .join('');
}

// A topic's hash and all that belongs to it, for queries that were added with the defaults.
//   states: per Seq undefined (Open), or what is in s:<seq>.
export function topicOf(states, { user = 'alice', query = (seq) => `Q${seq}`, ...more } = {}) {
  const hash = { seq: String(states.length), [`u:${user}`]: '1' };
  const open = [];
  states.forEach((state, i) => {
    hash[`q:${i + 1}`] = rowOf({ ms: 1000 + i, user, query: query(i + 1) });
    if (state) hash[`s:${i + 1}`] = state;
    else open.push([i + 1, 0, { user }]);
  });
  if (open.length) hash.open = openOf(...open);
  return { ...hash, ...more };
}

