// SPDX-License-Identifier: MIT
//
// `parley restore --shards N`: the way from one shard to more, and back, into one Redis or a Redis Cluster. A filled cluster is
// the same afterwards: each key, as far as a backup keeps it, and each answer that a client gets.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertOk, assertProblem, eventually, makeFolder, newNonce, RedisClient, runParley, startCluster, startProcess, startRedis } from '../support/harness.mjs';
import { uploadIndexed } from '../support/documents.mjs';
import { add, complete, fillBatches, fillDocuments, fillFiles, fillQueue, fillRest, fillRooms, fillRuns, take } from '../support/filled.mjs';
import { assertWhole, assertWholeShards, DATA_VERSION, kept, mergedShards, openShard, snapshot } from '../support/keyspace.mjs';
import { Indexer, shaOf, upload } from '../support/lua_documents.mjs';
import { PREFIX, random } from '../support/lua.mjs';
import { startProxy } from '../support/proxy.mjs';
import { ownShards, prefixesOf, prefixOfShard, shardOf } from '../support/shards.mjs';
import { oneSeed } from '../support/seeds.mjs';
import { startRedisCluster } from '../support/topology.mjs';

ownShards(); // each cluster says how many it has

const LATIN = { encoding: 'latin1' };
const backup = ({ url }, file) => runParley(['backup', '--redis', url, file], { timeout: 300_000 });
const restore = ({ url }, file, ...more) => runParley(['restore', '--redis', url, ...more, file], { timeout: 300_000 });
const startThree = () => startRedisCluster({ masters: 3, replicas: 0, ...LATIN });
const ownerOf = async (redis, shard) => redis.ownerOf(await redis.slotOf(prefixOfShard(shard)));

async function done(promise) {
  const { code, stdout, stderr } = await promise;
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  return stdout;
}

// The keys of each shard.
const snapshots = (redis, n) => Promise.all(prefixesOf(n).map((prefix) => snapshot(redis, prefix)));

const namesOf = (keys, word) => [...keys.keys()].filter((name) => name.startsWith(`${word}:`)).map((name) => name.slice(word.length + 1));

// Every name is on the shard that a node asks for it.
function assertAtHome(shards) {
  const n = shards.length;
  shards.forEach((keys, shard) => {
    const own = (name, what) => assert.equal(shardOf(Buffer.from(name, 'latin1'), n), shard, `${what} is on shard ${shard}`);
    for (const topic of [...namesOf(keys, 't'), ...namesOf(keys, 'lookups')]) own(topic, topic);
    for (const word of ['docs', 'space', 'packs', 'paths', 'shas', 'queued_jobs', 'recent_jobs']) for (const space of namesOf(keys, word)) own(space, `${word}:${space}`);
    for (const word of ['wf', 'wfr', 'wfq', 'wff']) for (const id of namesOf(keys, word)) own(id.split('.')[0], `${word}:${id}`);
    for (const word of ['room', 'room_messages', 'room_talk', 'evaluation', 'evaluation_text', 'evaluation_turns']) for (const id of namesOf(keys, word)) own(id.slice(0, 24), `${word}:${id}`);
    for (const doc of namesOf(keys, 'doc')) own(keys.get(`doc:${doc}`).value.space, doc);
    for (const day of namesOf(keys, 'nonces')) for (const id of keys.get(`nonces:${day}`).value) own(id, 'a nonce');
    if (shard > 0) for (const word of ['lookup', 'token_key', 'recommendations', 'lookups_of', 'recommenders', 'bot', 'bots', 'room_names']) for (const name of keys.keys()) assert.ok(name !== word && !name.startsWith(`${word}:`), `${name} is on shard ${shard}`);
  });
}

const sorted = (found) => Object.fromEntries(Object.entries(found).sort(([x], [y]) => (x < y ? -1 : 1)));

describe('a backup that is restored with another number of shards', () => {
  let folder;
  let source;
  let file;
  let before1;
  const targets = {}; // one, another, cluster
  const flush = () => Promise.all(Object.values(targets).map((redis) => redis.cmd('FLUSHALL')));
  before(async () => {
    folder = makeFolder();
    file = join(folder.dir, 'one');
    source = await startRedis(LATIN);
    Object.assign(targets, { one: await startRedis(LATIN), another: await startRedis(LATIN), cluster: await startThree() });
    const shard = await openShard(source);
    await fillQueue(shard);
    await fillRest(shard);
    await fillDocuments(shard);
    await fillRuns(shard);
    await fillRooms(shard);
    await fillFiles(shard);
    await fillBatches(shard);
    before1 = await snapshot(source);
    assertWhole(before1);
    await done(backup(source, file));
  });
  after(async () => {
    await Promise.all([source, ...Object.values(targets)].map((redis) => redis.stop()));
    folder.remove();
  });

  const WAYS = [
    { name: 'from one to four', from: 1, to: 4, on: 'one' },
    { name: 'from four to one', from: 4, to: 1, on: 'another' },
    { name: 'from four to eight', from: 4, to: 8, on: 'another' },
    { name: 'from one to four on a Redis Cluster', from: 1, to: 4, on: 'cluster' },
    { name: 'from four on a Redis Cluster to eight', from: 4, to: 8, on: 'cluster' },
    { name: 'from eight on a Redis Cluster to one on one server', from: 8, to: 1, on: 'one' },
    { name: 'from one to one', from: 1, to: 1, on: 'another' },
  ];
  const files = {};
  for (const { name, from, to, on } of WAYS)
    it(`${name}: nothing is lost, doubled or where nobody looks for it`, { timeout: 300_000 }, async () => {
      const target = targets[on];
      await flush();
      assert.match(await done(restore(target, from === 1 ? file : files[from], '--shards', to)), /^\d+ topics with \d+ queries, \d+ documents/);
      const found = await snapshots(target, to);
      assertWholeShards(found);
      assertAtHome(found);
      assert.deepEqual(sorted(kept(mergedShards(found))), sorted(kept(before1)));
      for (const keys of found) assert.ok(Number(keys.get('meta').value.lease) > Number(before1.get('meta').value.lease), 'numbers rise on each shard');
      const servers = on === 'cluster' ? to : 1;
      const records = await Promise.all(prefixesOf(servers).map((prefix) => target.cmd('GET', `${prefix}cluster`)));
      records.forEach((record, i) => assert.match(record, new RegExp(`^${DATA_VERSION} [0-9a-f]{16} ${i} ${servers} ${to} ${i ? '(begun|whole)' : 'whole'}$`)));
      for (const n of [1, 2, 4, 8]) if (n !== to) assert.match((await runParley(['reindex', '--dry-run', '--redis', target.url, '--shards', n])).stderr, /this cluster has \d/);
      files[to] = join(folder.dir, `${name} ${to}`);
      await done(backup(target, files[to]));
    });

  it('without --shards there are as many as there were', { timeout: 300_000 }, async () => {
    for (const [from, on] of [[4, 'one'], [4, 'cluster'], [1, 'cluster'], [1, 'one']]) {
      await flush();
      await done(restore(targets[on], files[from] ?? file));
      assert.match(await targets[on].cmd('GET', 'parley:{0}:cluster'), new RegExp(` 0 ${on === 'cluster' ? from : 1} ${from} whole$`));
    }
  });

  for (const [word, nth] of [['restore_begin', 2], ['restore_topic', 3], ['restore_document', 2], ['UNLINK', 1]])
    it(`a restore that ends at its ${word} number ${nth} on one of the masters leaves a Redis Cluster that is used`, { timeout: 120_000 }, async () => {
      await flush();
      const { cluster } = targets;
      const proxy = await startProxy(cluster);
      const held = proxy.holdAt(word, 'request', nth, await ownerOf(cluster, 1));
      const running = startProcess(['restore', '--redis', proxy.url, '--shards', 4, file]);
      await held;
      running.child.kill('SIGKILL');
      await running.exit();
      await proxy.stop();
      for (const words of [['reindex', '--dry-run', '--redis', cluster.url], ['backup', '--redis', cluster.url, join(folder.dir, 'half')], ['restore', '--redis', cluster.url, '--shards', 4, file]]) {
        const { code, stderr } = await runParley(words);
        assert.equal(code, 1, words.join(' '));
        assert.match(stderr, /^parley: a restore into this Redis is incomplete .*\n$/);
      }
      await flush();
      await done(restore(cluster, file, '--shards', 4));
      assertWholeShards(await snapshots(cluster, 4));
    });

  it('a master that is started again during a restore has what it had taken', { timeout: 120_000 }, async () => {
    await flush();
    const { cluster } = targets;
    const proxy = await startProxy(cluster);
    const held = proxy.holdAt('restore_document', 'request', 1, await ownerOf(cluster, 1));
    const running = startProcess(['restore', '--redis', proxy.url, '--shards', 4, file]);
    await held;
    await (await ownerOf(cluster, 0)).restart();
    proxy.release();
    assert.equal((await running.exit()).code, 1);
    assert.match(running.stderr, /^parley: Redis was restarted or emptied during the restore: .*\nparley: the restore is incomplete: .*\n$/);
    await proxy.stop();
    await cluster.ready();
  });

  it('a Redis Cluster that holds data, of whatever shard, is restored into', async () => {
    await flush();
    const { cluster, one } = targets;
    await cluster.cmd('HSET', 'parley:{63rb}:t:left', 'seq', 1);
    const { code, stderr } = await restore(cluster, file, '--shards', 4);
    assert.equal(code, 1);
    assert.match(stderr, /^parley: Redis already holds data \(parley:\{63rb\}:t:left\).*\n$/);
    assert.deepEqual(await cluster.cmd('KEYS', '*'), ['parley:{63rb}:t:left']);
    await flush();
    const { code: other, stderr: why } = await restore(one, file, '--shards', 4, '--key-prefix', '{mine}:');
    assert.equal(other, 2, why);
  });
});

// --- under load ----------------------------------------------------------------------------------

// Verbs and keys of one of several shards.
function openShardOf(redis, prefix) {
  const own = (word) => (String(word).startsWith(PREFIX) ? prefix + String(word).slice(PREFIX.length) : word);
  return openShard({ cmd: (...words) => redis.cmd(...words.map(own)) });
}

// Names that begin so, of each shard.
function namesByShard(start, each, n) {
  const names = Array.from({ length: n }, () => []);
  for (let i = 0; names.some((list) => list.length < each); i++) {
    const list = names[shardOf(`${start}${i}`, n)];
    if (list.length < each) list.push(`${start}${i}`);
  }
  return names;
}

// Random verbs on the names of one shard until stop().
function startVerbs(shard, seed, topics, spaces) {
  const below = random(seed);
  const pick = (list) => list[below(list.length)];
  const indexer = new Indexer(shard, `i${seed}`);
  const deleted = new Set();
  let [isOver, n] = [false, 0];
  async function step() {
    const [topic, verb, id] = [pick(topics), below(8), `${seed}${(n += 1)}`.padStart(36, 'e')];
    if (verb < 3) await add(shard, topic, { user: pick(['alice', 'bob']), idem: id, digest: 'aa' });
    else if (verb === 3) {
      const claimed = await take(shard);
      for (const seq of claimed?.seqs ?? []) await complete(shard, claimed.topic, seq, claimed.lease);
    } else if (verb === 4 && below(3) === 0) {
      for (const user of ['alice', 'bob']) if ((await shard.call('delete', 0, user, topic)) === 'ok') deleted.add(topic);
    } else if (verb === 5) {
      await upload(shard, { doc: id, job: id.replaceAll('e', 'b'), space: pick(spaces), filename: '"f.txt"', sha: shaOf(n), bytes: 'x'.repeat(1 + below(5000)), cap: 1e9 });
    } else if (verb === 6) {
      const run = await indexer.take();
      if (run?.lease && run.blocks === '0') await indexer.parsed(run, { cap: 1e9 });
      if (run?.lease) await indexer.store(run, { cap: 1e9 });
    } else if (verb === 7) {
      const docs = await shard.cmd('ZRANGE', shard.key(`docs:${pick(spaces)}`), 0, 20);
      if (docs.length && below(2)) for (const space of spaces) await shard.call('doc_delete', 0, space, docs[0]);
    }
  }
  const running = (async () => {
    while (!isOver) await step();
  })();
  return {
    count: () => n,
    async stop() {
      isOver = true;
      await running;
      return deleted;
    },
  };
}

describe('a backup of four shards under load', () => {
  let source;
  let target;
  let folder;
  before(async () => {
    folder = makeFolder();
    [source, target] = [await startThree(), await startRedis(LATIN)];
  });
  after(async () => {
    await Promise.all([source, target].map((redis) => redis.stop()));
    folder.remove();
  });

  it('loses what was acknowledged before it began, or restores keys that contradict each other', { timeout: 300_000 }, async () => {
    const seed = oneSeed();
    const file = join(folder.dir, 'load');
    await done(runParley(['reindex', '--redis', source.url, '--shards', 4]).then((one) => ({ ...one, stderr: '' }))); // a first start
    const topics = namesByShard('t', 100, 4);
    const spaces = namesByShard('o:u', 3, 4);
    const shards = await Promise.all(prefixesOf(4).map((prefix) => openShardOf(source, prefix)));
    for (const [i, shard] of shards.entries()) {
      await new Indexer(shard).group();
      for (const topic of topics[i]) for (let k = 0; k < 3; k++) await add(shard, topic);
    }
    const loads = shards.map((shard, i) => startVerbs(shard, seed + i, topics[i], spaces[i]));
    await eventually(() => loads.every((load) => load.count() > 200), { ms: 180_000, what: 'verbs run on each shard' });
    const rows = (await snapshots(source, 4)).flatMap((keys) => namesOf(keys, 't').flatMap((topic) => Object.entries(keys.get(`t:${topic}`).value ?? {}).filter(([field]) => /^[qa]:/.test(field)).map(([field, value]) => [topic, field, value])));
    const first = loads.map((load) => load.count());
    await done(backup(source, file));
    assert.ok(loads.some((load, i) => load.count() > first[i]), 'verbs ran meanwhile');
    const deleted = new Set((await Promise.all(loads.map((load) => load.stop()))).flatMap((set) => [...set]));
    const leases = (await snapshots(source, 4)).map((keys) => Number(keys.get('meta').value.lease));
    for (const n of [1, 4, 8]) {
      await target.cmd('FLUSHALL');
      await done(restore(target, file, '--shards', n));
      const found = await snapshots(target, n);
      try {
        assertWholeShards(found);
        assertAtHome(found);
        for (const [topic, field, value] of rows) if (!deleted.has(topic)) assert.equal(found[shardOf(topic, n)].get(`t:${topic}`)?.value[field], value, `${topic} ${field}`);
        for (const keys of found) assert.ok(Number(keys.get('meta').value.lease) > Math.max(...leases), 'numbers rise');
      } catch (error) {
        error.message += ` (PARLEY_SEED=${seed}, ${n} shards)`;
        throw error;
      }
    }
    assert.ok(rows.length > 500, `${rows.length} fields were compared`);
  });
});

// --- what clients see ----------------------------------------------------------------------------

const TARGET = ['--target', 'broker,documents']; // nobody works on what is there
const ASKED = ['done', 'cancelled', 'failed', 'partly', 'many', 'retried', 'away', 'open', 'bytes'];

// What a backup changes: no claim is kept, and a document that was being indexed is queued again.
function settle(value) {
  if (!value || typeof value !== 'object') return value === 'Pending' ? 'Open' : value;
  if (Array.isArray(value)) return value.map(settle);
  const { instance, ...rest } = value;
  if (rest.latestJob?.status === 'INDEXING') Object.assign(rest, { status: 'QUEUED', latestJob: { ...rest.latestJob, status: 'QUEUED', progress: 0 } });
  return Object.fromEntries(Object.entries(rest).map(([name, one]) => [name, settle(one)]));
}

// Every answer to what a client may ask, of a cluster whose engines do nothing.
async function view(cluster) {
  const all = {};
  const get = async (path, as, query = {}) => {
    const { status, json, text } = await cluster.request('GET', path, { as, query });
    all[`${path} ${JSON.stringify(query)}`] = [status, settle(json ?? text)];
  };
  for (const Topic of ASKED) {
    await get('/api/get-topic-thread', 'Frontend_1', { Topic, Detail: true });
    for (const Seq of [1, 2, 3]) await get('/api/check-query', 'Frontend_1', { Topic, Seq, Wait: 0 });
  }
  for (const OnBehalfOf of ['alice', 'bob', 'nobody']) await get('/api/user-topics', 'Frontend_1', { OnBehalfOf });
  for (const OnBehalfOf of ['bob', 'dave', 'erin', 'carol', 'nobody']) {
    await get('/api/docs', 'Frontend_1', { OnBehalfOf });
    const list = all[`/api/docs ${JSON.stringify({ OnBehalfOf })}`][1];
    for (const { id } of list.documents) await get(`/api/docs/${id}`, 'Frontend_1', { OnBehalfOf });
  }
  const { json } = await cluster.request('GET', '/api/docs', { as: 'User_1' });
  for (const { id } of json.documents) await get(`/api/docs/${id}/chunks/0`, 'User_1');
  const found = assertOk(await cluster.request('POST', '/api/rag/retrieve', { as: 'User_1', body: { query: 'How long does a lease last?' } }));
  assert.match(JSON.stringify(found.citations[0]), /150 seconds/);
  all.retrieve = found;
  return all;
}

describe('a cluster that was restored with another number of shards', () => {
  let folder;
  let one;
  let redis;
  before(async () => {
    folder = makeFolder();
    redis = await startRedis();
  });
  after(async () => {
    await redis.stop();
    await one?.stop();
    folder.remove();
  });

  it('gives another answer to a client, forgets a nonce or a key, or leaves a query unclaimed', { timeout: 300_000 }, async () => {
    const file = join(folder.dir, 'view');
    one = await startCluster({ nodes: 1 });
    await uploadIndexed(one, { name: 'leases.md', bytes: '# Leases\n\nA lease lasts 150 seconds.' });
    await one.nodes.splice(0)[0].stop();
    await one.startNode({ args: TARGET });
    const latin = { ...one.redis, cmd: (...words) => client.cmd(...words) };
    const client = new RedisClient(one.redis.port, 'latin1');
    const shard = await openShard(latin);
    await fillQueue(shard);
    await fillRest(shard);
    await fillDocuments(shard);
    await shard.cmd('HDEL', shard.key('t:open'), 'a-later-field');
    const used = newNonce();
    const keyed = { Topic: 'keyed', User: 'alice', Query: 'With a key?' };
    const first = assertOk(await one.request('POST', '/api/add-query', { as: 'Frontend_1', body: keyed, headers: { 'idempotency-key': 'k1' } }));
    assertOk(await one.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: 'alice' }, signing: { nonce: used } }));
    const answers = await view(one);
    const open = new Map();
    for (const [name, { value }] of await snapshot(latin)) {
      if (!name.startsWith('t:')) continue;
      const seqs = Object.keys(value).filter((field) => field.startsWith('q:') && !/^[DFC]/.test(value[`s:${field.slice(2)}`] ?? '')).map((field) => Number(field.slice(2))).sort((x, y) => x - y);
      if (seqs.length) open.set(name.slice(2), seqs);
    }
    await one.nodes[0].stop();
    await done(backup(one.redis, file));
    await done(restore(redis, file, '--shards', 4));
    one.redis.stop();
    one.redis = redis;
    one.nodes.splice(0);
    await one.startNode({ args: TARGET }); // it adopts the number
    assert.deepEqual(await view(one), answers);
    const again = assertOk(await one.request('POST', '/api/add-query', { as: 'Frontend_1', body: keyed, headers: { 'idempotency-key': 'k1' } }));
    assert.deepEqual(again, first);
    assertProblem(await one.request('POST', '/api/add-query', { as: 'Frontend_1', body: { ...keyed, Query: 'Another one?' }, headers: { 'idempotency-key': 'k1' } }), 422);
    assertProblem(await one.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: 'alice' }, signing: { nonce: used } }), 401, 'nonce_used');
    const claimed = new Map();
    await eventually(async () => {
      const claim = await one.claim({ detail: true, wait: 0 });
      if (claim.Topic === null) return claimed.size >= open.size;
      const seqs = claim.Queries.flatMap((query) => Object.keys(query).map(Number).filter((seq) => seq > 0));
      claimed.set(claim.Topic, [...(claimed.get(claim.Topic) ?? []), ...seqs].sort((x, y) => x - y));
      return false;
    }, { every: 1, ms: 60_000, what: `${[...open.keys()]} are claimed` });
    for (const [topic, seqs] of open) if (!topic.includes('~') && !topic.startsWith('ask-')) assert.deepEqual(claimed.get(topic), seqs, topic);
    client.close();
  });
});
