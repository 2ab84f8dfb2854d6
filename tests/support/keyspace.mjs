// SPDX-License-Identifier: MIT
//
// keyspace: all keys of a Redis as values, what must be true of them whatever happened
// (docs/redis-keys.md), and what a restore makes of them.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { assertDueOfLookups, assertQueuesOfDue } from './due.mjs';
import { depthsOf, libraryText, PREFIX, sharesOf, Shard } from './lua.mjs';

// What is stored has this version (ADR 25).
export const DATA_VERSION = Number(/DATA_VERSION = (\d+)/.exec(readFileSync('shared/redis/data_version.h', 'utf8'))[1]);

// Verbs and keys of a Redis that somebody else started, with any bytes: open it with encoding latin1.
export async function openShard(redis) {
  const shard = new Shard();
  shard.redis = redis;
  await redis.cmd('FUNCTION', 'LOAD', 'REPLACE', libraryText());
  return shard;
}

// name -> {type, value, expires (ms since 1970, -1: never)}.
export async function snapshot(redis, prefix = PREFIX) {
  const names = (await redis.cmd('KEYS', `${prefix}*`)).sort();
  const shard = new Shard();
  shard.redis = redis;
  shard.key = (name) => prefix + name;
  const found = await Promise.all(names.map(async (key) => {
    const name = key.slice(prefix.length);
    const type = await redis.cmd('TYPE', key);
    if (type === 'vectorset') return [name, { type, value: await redis.cmd('VCARD', key), expires: -1 }];
    const value = await shard.get(name);
    return [name, { type, value: value?.value ?? value, expires: await redis.cmd('PEXPIRETIME', key) }];
  }));
  return new Map(found);
}

const of = (keys, word) => [...keys].filter(([name]) => name.startsWith(`${word}:`)).map(([name, { value }]) => [name.slice(word.length + 1), value]);
const valueOf = (keys, name, empty = {}) => keys.get(name)?.value ?? empty;
const itemsOf = (hash) => (hash.open ?? '').split(';').filter(Boolean).map((item) => item.split(' '));
const members = (value) => Object.keys(value).sort();

function checkTopic(topic, hash, keys, sums) {
  const open = itemsOf(hash);
  const isOpen = new Set(open.map(([seq]) => seq));
  assert.equal(isOpen.size, open.length, `${topic}: open names a row twice`);
  assert.deepEqual(open.map(([seq]) => Number(seq)), [...isOpen].map(Number).sort((x, y) => x - y), `${topic}: open is in order`);
  for (let seq = 1; seq <= Number(hash.seq); seq++) {
    const [row, state, answer] = [hash[`q:${seq}`], hash[`s:${seq}`], hash[`a:${seq}`]];
    const where = `${topic} ${seq}`;
    assert.ok(row, `${where}: there is no row`);
    assert.equal(isOpen.has(String(seq)), state === undefined, `${where}: Open and in open`);
    assert.equal(answer !== undefined, state === 'D', `${where}: Done and an answer`);
    if (state?.startsWith('P ')) sums.leases.add(`${state.split(' ')[1]} ${topic}`);
    if (state?.startsWith('F ')) sums.failed.push(`${topic} ${seq}`);
  }
  for (const field of Object.keys(hash)) {
    const [, seq] = /^[qsab]:(\d+)$/.exec(field) ?? [];
    if (seq) assert.ok(Number(seq) <= Number(hash.seq), `${topic}: ${field} is past its last Seq`);
    if (field.startsWith('u:')) {
      const user = field.slice(2);
      assert.ok(topic in valueOf(keys, `topics:${user}`), `${topic} is listed by ${user}`);
      assert.ok(keys.get('users').value.includes(user), `${user} is a user`);
    }
  }
  for (const [seq, , model, user, account, weight] of open) {
    assert.equal(hash[`q:${seq}`].split('\n')[1], `${account} ${user} ${model} ${weight}`, `${topic} ${seq}: its row`);
    sums.open.add(`${model}:${user} ${topic}`);
    sums.turns.add(`${model} ${user}`);
    sums.models.add(model);
    sums.waiting[`${account} ${user}`] = String(Number(sums.waiting[`${account} ${user}`] ?? 0) + 1);
    sums.depth++;
  }
}

function checkQueue(keys) {
  const sums = { open: new Set(), turns: new Set(), models: new Set(), waiting: {}, depth: 0, leases: new Set(), failed: [] };
  for (const [topic, hash] of of(keys, 't')) checkTopic(topic, hash, keys, sums);
  const listed = (word) => of(keys, word).flatMap(([name, value]) => Object.keys(value).map((member) => `${name} ${member}`)).sort();
  assert.deepEqual(listed('open'), [...sums.open].sort(), 'open:*');
  assert.deepEqual(listed('turns'), [...sums.turns].sort(), 'turns:*');
  assert.deepEqual([...valueOf(keys, 'models', [])].sort(), [...sums.models].sort(), 'models');
  assert.deepEqual({ ...valueOf(keys, 'waiting') }, sums.waiting, 'waiting');
  assert.equal(Number(valueOf(keys, 'meta').depth ?? 0), sums.depth, 'depth');
  const topics = Object.fromEntries(of(keys, 't').map(([topic, hash]) => [`t:${topic}`, hash]));
  assert.deepEqual({ ...valueOf(keys, 'shares') }, sharesOf(topics), 'shares');
  assert.deepEqual({ ...valueOf(keys, 'depths') }, depthsOf(topics), 'depths');
  assert.deepEqual(members(valueOf(keys, 'leases')), [...sums.leases].sort(), 'leases');
  for (const [lease, text] of of(keys, 'lease')) {
    const [holder, topic, , , ...seqs] = text.split(' ');
    assert.ok(sums.leases.has(`${lease} ${topic}`), `lease:${lease} belongs to a claim`);
    assert.ok(keys.get(`lease:${lease}`).expires > 0, `lease:${lease} does not expire`);
    const held = Object.entries(valueOf(keys, `t:${topic}`)).filter(([, state]) => state.startsWith(`P ${lease} `));
    for (const [field, state] of held) assert.ok(state.split(' ')[3] === holder && seqs.includes(field.slice(2)), `lease:${lease}: ${field}`);
  }
  if (sums.failed.length < 1000) assert.deepEqual(members(valueOf(keys, 'failed')), sums.failed.sort(), 'failed');
  for (const [user, value] of of(keys, 'topics')) for (const topic of Object.keys(value)) {
    assert.ok(`u:${user}` in valueOf(keys, `t:${topic}`), `${user} has a part in ${topic}`);
  }
  for (const [user, value] of of(keys, 'names')) for (const topic of Object.keys(value)) {
    assert.ok(`u:${user}` in valueOf(keys, `t:${topic}`), `${user} has a name for ${topic}`);
  }
  for (const [digest, topic] of of(keys, 'asked')) assert.equal(valueOf(keys, `t:${topic}`).digest, digest, `asked:${digest}`);
  assert.deepEqual(members(valueOf(keys, 'asks')), of(keys, 't').filter(([, hash]) => 'asks' in hash).map(([topic]) => topic).sort(), 'asks');
}

// Who needs a lookup: of one shard their number, of several a set that names the topics.
function checkNeeds(keys, refs) {
  const needs = {};
  for (const [topic, value] of of(keys, 'lookups')) {
    for (const field of Object.keys(value)) (needs[field.split(' ')[1]] ??= new Set()).add(`${topic}:${valueOf(keys, `t:${topic}`).lookups}`);
  }
  const found = Object.fromEntries(of(keys, 'needs').map(([fingerprint, members]) => [fingerprint, [...members].sort()]));
  assert.deepEqual(found, Object.fromEntries(Object.entries(needs).map(([fingerprint, members]) => [fingerprint, [...members].sort()])), 'needs');
  return Object.fromEntries(of(keys, 'lookup').map(([fingerprint]) => [fingerprint, refs[fingerprint]]));
}

function checkLookups(keys, isSharded) {
  const refs = {};
  for (const [topic, value] of of(keys, 'lookups')) {
    assert.ok(keys.has(`t:${topic}`), `lookups:${topic} has a topic`);
    for (const field of Object.keys(value)) {
      const [seq, fingerprint] = field.split(' ');
      assert.ok(Number(seq) <= Number(valueOf(keys, `t:${topic}`).seq), `lookups:${topic} ${field}: its row`);
      refs[fingerprint] = String(Number(refs[fingerprint] ?? 0) + 1);
    }
  }
  const all = isSharded ? checkNeeds(keys, refs) : Object.fromEntries(of(keys, 'lookup').map(([fingerprint, hash]) => [fingerprint, hash.refs]));
  assert.deepEqual(all, refs, 'lookups and who needs them');
  const open = {};
  for (const fingerprint of Object.keys(valueOf(keys, 'lookups'))) {
    assert.ok(fingerprint in all, `lookups: ${fingerprint}`);
    const { by } = valueOf(keys, `lookup:${fingerprint}`);
    open[by] = String(Number(open[by] ?? 0) + 1);
  }
  assert.deepEqual({ ...valueOf(keys, 'lookups_of') }, open, 'lookups_of');
  assertDueOfLookups(Object.fromEntries(keys));
  for (const [fingerprint, { by, for: user }] of of(keys, 'lookup')) {
    const isOpen = fingerprint in valueOf(keys, 'lookups');
    assert.deepEqual([by !== undefined, user !== undefined], [isOpen, isOpen], `lookup:${fingerprint}: whose it is`);
  }
  for (const fingerprint of Object.values(valueOf(keys, 'lookup_alias'))) assert.ok(fingerprint in all, `lookup_alias: ${fingerprint}`);
}

// Who recommended how much, as the stream has it.
function checkRecommendations(keys) {
  const [accounts, users, ids, judged] = [{}, {}, {}, {}];
  for (const [id, { a, u, j }] of valueOf(keys, 'recommendations', [])) {
    accounts[a] = (accounts[a] ?? 0) + 1;
    users[a] ??= {};
    users[a][u] = (users[a][u] ?? 0) + 1;
    (ids[`${a}:${u}`] ??= []).push(id);
    if (j !== undefined) (judged[`${a}:${u}`] ??= []).push(`${j} ${id}`);
  }
  const numbers = (value) => Object.fromEntries(Object.entries(value).map(([name, n]) => [name, Number(n)]));
  assert.deepEqual(numbers(valueOf(keys, 'recommenders')), accounts, 'recommenders');
  assert.deepEqual(Object.fromEntries(of(keys, 'recommenders').map(([account, value]) => [account, numbers(value)])), users, 'recommenders:*');
  assert.deepEqual(Object.fromEntries(of(keys, 'recommended')), ids, 'recommended:*');
  const said = of(keys, 'judged').map(([whose, members]) => [whose, Object.keys(members).sort()]);
  for (const members of Object.values(judged)) members.sort();
  assert.deepEqual(Object.fromEntries(said), judged, 'judged:*');
}

// Where each job that is not begun waits, and whose turn it is in its account and space: an indexer finds every one.
function checkJobQueue(keys) {
  const entries = new Map(valueOf(keys, 'jobs', []).map(([id, { job }]) => [id, job]));
  const queued = new Map(of(keys, 'queued_jobs').map(([space, value]) => [space, Object.keys(value)]));
  for (const space of queued.keys()) assert.ok(space in valueOf(keys, 'job_turns'), `queued_jobs:${space}: whose turn is it?`);
  const turns = new Map(of(keys, 'queued_turns').map(([account, value]) => [account, Object.keys(value)]));
  for (const account of turns.keys()) assert.ok(account in valueOf(keys, 'account_turns'), `queued_turns:${account}: whose turn is it?`);
  for (const [account, job] of Object.entries(valueOf(keys, 'account_turns'))) {
    const { status, entry, account: its } = valueOf(keys, `job:${job}`);
    assert.deepEqual([status, entries.get(entry), its], ['QUEUED', job, account], `account_turns: ${account}`);
  }
  for (const [space, job] of Object.entries(valueOf(keys, 'job_turns'))) {
    const { status, entry, account } = valueOf(keys, `job:${job}`);
    const waits = turns.get(account)?.includes(job);
    assert.deepEqual([status, waits ? entry : entries.get(entry)], ['QUEUED', waits ? '' : job], `job_turns: ${space}`);
  }
  for (const [job, { space, status, entry, account }] of of(keys, 'job')) {
    const places = [];
    if (entries.get(entry) === job) places.push('jobs');
    if (queued.get(space)?.includes(job)) places.push('queued_jobs');
    if (turns.get(account)?.includes(job)) places.push('queued_turns');
    for (const name of ['waiting_jobs', 'delayed_jobs']) if (job in valueOf(keys, name)) places.push(name);
    if (status === 'QUEUED') assert.equal(places.length, 1, `job:${job} is in ${places.join()}`);
    else assert.deepEqual(places, status === 'RUNNING' ? ['jobs'] : [], `job:${job} is ${status}`);
    if (status === 'QUEUED' && ['jobs', 'queued_turns'].includes(places[0])) assert.equal(valueOf(keys, 'job_turns')[space], job, `job:${job}: its turn`);
  }
}

// Of a string (a pack), or of the blocks of a list (an upload).
const lengthOf = (keys, name) => [valueOf(keys, name, '')].flat().join('').length;

function checkDocuments(keys) {
  const spaces = {};
  const known = new Set();
  for (const [doc, d] of of(keys, 'doc')) {
    const s = (spaces[d.space] ??= { bytes: 0, chunks: 0, docs: [], packs: {}, names: 0 });
    const text = (n) => (n === '' ? 0 : Object.values(valueOf(keys, `text:${doc}:${n}`)).reduce((sum, block) => sum + block.length, 0));
    assert.deepEqual([text(d.text), text(d.old_text)], [Number(d.text_bytes), Number(d.old_text_bytes)], `${doc}: its texts`);
    assert.equal(keys.has(`pack:${doc}:${d.generation}`), d.generation !== '0', `${doc}: its pack`);
    const vectors = Number(d.vectors_n) * (Number(d.dimension) + 820);
    const bytes = text(d.text) + text(d.old_text) + lengthOf(keys, `upload:${doc}`) + lengthOf(keys, `pack:${doc}:${d.generation}`) + vectors;
    assert.equal(Number(d.bytes), bytes, `${doc}: what is stored`);
    s.bytes += bytes;
    s.docs.push(doc);
    if (d.generation !== '0') {
      s.chunks += Number(d.chunks);
      s.packs[doc] = d.generation;
    }
    assert.equal(d.path === '' ? valueOf(keys, `shas:${d.space}`)[d.sha] : valueOf(keys, `paths:${d.space}`)[d.path], doc, `${doc}: its name`);
    for (const name of [`upload:${doc}`, `pack:${doc}:${d.generation}`, `text:${doc}:${d.text}`, `text:${doc}:${d.old_text}`]) known.add(name);
    assert.ok(keys.has(`job:${d.job}`), `${doc}: its job`);
    const job = valueOf(keys, `job:${d.job}`);
    const waits = ['QUEUED', 'RUNNING'].includes(job.status);
    if (d.status === 'QUEUED' || d.status === 'INDEXING') assert.ok(waits, `${doc} is ${d.status}`);
  }
  for (const [space, s] of Object.entries(spaces)) {
    const has = valueOf(keys, `space:${space}`);
    assert.deepEqual([Number(has.bytes ?? 0), Number(has.chunks ?? 0)], [s.bytes, s.chunks], `space:${space}`);
    assert.deepEqual(members(valueOf(keys, `docs:${space}`)), s.docs.sort(), `docs:${space}`);
    assert.deepEqual({ ...valueOf(keys, `packs:${space}`) }, s.packs, `packs:${space}`);
  }
  assert.deepEqual(of(keys, 'space').map(([space]) => space).sort(), Object.keys(spaces).sort(), 'space:*');
  for (const name of keys.keys()) if (/^(upload|pack|text):/.test(name)) assert.ok(known.has(name), `${name} belongs to no document`);
}

// What other keys say of runs of workflows.
function checkRuns(keys) {
  const [open, files, lists, sessions] = [{}, {}, {}, {}];
  const put = (name, member) => (lists[name] ??= []).push(member);
  const add = (counts, name) => (counts[name] = String(Number(counts[name] ?? 0) + 1));
  for (const [id, r] of of(keys, 'wfr')) {
    const [session, run] = id.split('.');
    const question = (step) => valueOf(keys, `wfq:${id}.${step}`);
    const isOver = !['running', 'approved', 'waiting'].includes(r.status);
    add((sessions[session] ??= {}), 'runs');
    for (const request of r.ids.split(' ')) sessions[session][`id:${request}`] = run;
    put(`wf_of:${r.user}`, id);
    if (isOver) put('wf_done', id);
    else {
      add(open, `${r.account} ${r.user}`);
      add(files, r.version);
      if (r.status !== 'waiting' || question(r.question).deadline !== '') put(`wf_due:${r.account}:${r.user}`, id);
    }
    const lengthOf = (word) => valueOf(keys, `${word}:${id}`, []).length;
    assert.equal(lengthOf('wff'), Number(r.seq), `${id}: its frames`);
    for (const step of r.questions.split(' ').filter(Boolean)) {
      const { status, approvers, answers } = question(step);
      assert.ok(status, `wfq:${id}.${step}`);
      for (const who of approvers.split(' ')) put(`${status === 'open' ? 'wf_ask' : 'wf_asked'}:${who}`, `${id}.${step}`);
      r.answers = (r.answers ?? 0) + Number(answers);
    }
    assert.equal(lengthOf('wfa'), r.answers ?? 0, `${id}: its answers`);
    delete r.answers;
  }
  for (const [session, hash] of of(keys, 'wf')) {
    const { account, user, session_id, last, waiting = '', ...rest } = hash;
    assert.deepEqual(rest, sessions[session], `wf:${session}`);
    const asked = waiting.split(' ').filter(Boolean).map((run) => Number(valueOf(keys, `wfq:${session}.${run}.${valueOf(keys, `wfr:${session}.${run}`).question}`).asked));
    assert.deepEqual(asked, [...asked].sort((x, y) => y - x), `wf:${session}: waiting`);
  }
  assert.deepEqual({ ...valueOf(keys, 'wf_open') }, open, 'wf_open');
  for (const [version, file] of of(keys, 'wf_file')) assert.deepEqual([file.runs, typeof file.text], [files[version] ?? '0', 'string'], `wf_file:${version}`);
  for (const version of Object.keys(files)) assert.ok(keys.has(`wf_file:${version}`) && version in valueOf(keys, 'wf_files'), `wf_file:${version}`);
  const found = Object.fromEntries([...keys].filter(([name]) => /^wf_(of|done|ask|asked)(:|$)|^wf_due:[^:]*:/.test(name)).map(([name, { value }]) => [name, members(value)]));
  for (const list of Object.values(lists)) list.sort();
  assert.deepEqual(found, lists, 'lists of runs and questions');
  assertQueuesOfDue(Object.fromEntries(keys));
}

// What holds whatever happened. keys: as snapshot() has them.
export function assertWhole(keys) {
  assertWholeShards([keys]);
}

// Of several shards. A lookup is on the first, what needs it on any.
export function assertWholeShards(shards) {
  for (const keys of shards) {
    checkQueue(keys);
    checkRecommendations(keys);
    checkDocuments(keys);
    checkJobQueue(keys);
    checkRuns(keys);
  }
  checkLookups(new Map(shards.flatMap((keys) => [...keys])), shards.length > 1);
}

const isPlain = (value) => value && typeof value === 'object' && !Array.isArray(value);

// The keys of several shards as one shard would have them, as far as a backup keeps them: a user's lists, nonces and counts
// are on all of them, each with its part.
export function mergedShards(shards) {
  const merged = new Map();
  for (const [name, found] of shards.flatMap((keys) => [...keys])) {
    const before = merged.get(name);
    let { value } = found;
    if (before && /^(stat:|tokens:|account_tokens:|(wf_open|messages_of|rooms_n|evaluations_open|batches_n)$)/.test(name)) value = Object.fromEntries([...new Set([...Object.keys(before.value), ...Object.keys(value)])].map((field) => [field, String(Number(before.value[field] ?? 0) + Number(value[field] ?? 0))]));
    else if (before && name.startsWith('wf_file:')) value = { ...value, runs: String(Number(before.value.runs) + Number(value.runs)) };
    else if (before && found.type === 'set') value = [...new Set([...before.value, ...value])].sort();
    else if (before && isPlain(value)) value = { ...before.value, ...value };
    merged.set(name, { ...found, value });
  }
  return merged;
}

// --- what a restore makes of a keyspace in which nothing happens meanwhile -------------------------

const PASSING = /^(clock|served|leases|lease|partials|idle|idle_lookups|poll|nodes|node_info|nodes_gone|settings|depth|engines|watchers|trash|failures|restoring|pushed|cluster|hints|quiet|bound|left|outbox|released|rate|models_seen|deleting|wfw|dlv|dlv_due|dlv_done|dlv_n|dlv_of|dlv_pull|dlv_polls|names_known|name_uses|room_watch|vacancy_nodes)(:|$)/;

const DERIVED = ['needs', 'lookup_due', 'open', 'turns', 'models', 'waiting', 'shares', 'depths', 'stored', 'meta', 'jobs', 'job_turns', 'queued_jobs', 'account_turns', 'queued_turns', 'delayed_jobs', 'wf_due', 'wf_files', 'evaluation_due', 'batches_due', 'batches_done'];

// No claim is left: what was Pending is Open, with the attempt under way not counted; its claim has ended.
function withoutClaims(hash) {
  const items = itemsOf(hash).map((item) => [Number(item[0]), `${item.join(' ')};`]);
  const topic = {};
  for (const [field, value] of Object.entries(hash)) {
    const [, seq] = /^s:(\d+)$/.exec(field) ?? [];
    const [, attempt] = /^P \d+ (\d+) /.exec(seq ? value : '') ?? [];
    if (attempt) {
      topic[`k:${seq}`] = String(Number(hash[`k:${seq}`] ?? 0) + 1);
      const [account, user, model, weight] = hash[`q:${seq}`].split('\n')[1].split(' ');
      items.push([Number(seq), `${seq} ${attempt - 1} ${model} ${user} ${account} ${weight};`]);
    } else if (!/^([wlcd]:\d+|lookups)$/.test(field)) {
      topic[field] ??= value;
    }
  }
  const open = items.sort(([x], [y]) => x - y).map(([, item]) => item).join('');
  if (open) topic.open = open;
  else if (topic.open === '') delete topic.open;
  return topic;
}

const withoutRun = (job) =>
  job.status !== 'RUNNING' ? { ...job, entry: undefined }
    : { ...job, status: 'QUEUED', attempt: String(job.attempt - 1), progress: '0', lease: '', consumer: '', stolen: '', digest: '', vectors_n: '0', entry: undefined };

// The same keys in the form in which a backup keeps them. What it does not keep, by kind:
//   PASSING kinds at all; claims; when a job is due that was given back for later; the fair order's virtual times (turns:*, meta's vt) and the microseconds of
//   open:*; numbers that are newly given (meta's lease, the version of a space, ids of the stream jobs);
//   leases of lookups; what was in a list of recent jobs besides documents' own latest.
export function kept(keys) {
  const now = Date.now();
  const result = {};
  const latest = new Set(of(keys, 'doc').map(([, d]) => d.job));
  for (const [name, { type, value, expires }] of keys) {
    const word = name.split(':')[0];
    if (PASSING.test(name) || (expires > 0 && expires <= now)) continue;
    if (DERIVED.includes(word)) continue; // assertWhole has them, and backup.test.mjs `stored`, which is by shard
    let found = value;
    if (word === 't') found = withoutClaims(value);
    if (word === 'job') found = withoutRun(value);
    if (word === 'batch') found = { ...value, fence: undefined, node: undefined };
    if (word === 'doc' && value.status === 'INDEXING') found = { ...value, status: 'QUEUED' };
    if (word === 'wf') found = { ...value, waiting: value.waiting || undefined };
    if (word === 'space') found = { ...value, version: undefined };
    if (word === 'lookup') found = { ...value, refs: undefined }; // assertWhole has it, or `needs`
    if (word === 'lookups') found = Object.keys(value).sort(); // a lease of a lookup ends with the cluster
    if (word === 'recent_jobs') found = Object.fromEntries(Object.entries(value).filter(([job]) => latest.has(job)));
    if (found && typeof found === 'object' && !Array.isArray(found)) {
      found = Object.fromEntries(Object.entries(found).filter(([, x]) => x !== undefined).sort(([x], [y]) => (x < y ? -1 : 1)));
    }
    result[name] = { type, expires, value: found };
  }
  return result;
}
