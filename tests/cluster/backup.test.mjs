// SPDX-License-Identifier: MIT
//
// `parley backup` and `parley restore`: from one real Redis into another, quiet and under load, and everything
// that must be refused.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { assertOk, eventually, makeFolder, RedisClient, runParley, startCluster, startRedis } from '../support/harness.mjs';
import { uploadIndexed } from '../support/documents.mjs';
import { add, ANY_BYTES, complete, fillBatches, fillDocuments, fillFiles, fillQueue, fillRest, fillRooms, fillRuns, take } from '../support/filled.mjs';
import { ALICE, BOB, docId, Indexer, shaOf, upload } from '../support/lua_documents.mjs';
import { assertWhole, kept, openShard, snapshot } from '../support/keyspace.mjs';
import { answer, began, stepped } from '../support/lua_workflow.mjs';
import { PREFIX, random, tailOf } from '../support/lua.mjs';
import { startProxy } from '../support/proxy.mjs';
import { ownShards } from '../support/shards.mjs';
import { oneSeed } from '../support/seeds.mjs';

const LATIN = { encoding: 'latin1' };
ownShards(); // more are in backup_shards.test.mjs

const backup = (redis, file, ...more) => runParley(['backup', '--redis', redis.url, ...more, file], { timeout: 300_000 });
const restore = (redis, file, ...more) => runParley(['restore', '--redis', redis.url, ...more, file], { timeout: 300_000 });

async function done(promise) {
  const { code, stdout, stderr } = await promise;
  assert.equal(code, 0, stderr);
  assert.equal(stderr, '');
  return stdout;
}

// Of these kinds none is there: vectors and their trash need Redis 8 (backup_refused.test.mjs), others a node, `restoring` a restore.
const ABSENT = ['again', 'audit_once', 'audit_refused', 'bound', 'deleting', 'depth', 'dlv_done', 'dlv_polls', 'falls', 'fence', 'held', 'hints', 'idle', 'idle_lookups', 'left', 'lost', 'models_seen', 'name_uses', 'names_known', 'needs', 'node_info', 'nodes', 'nodes_gone', 'nonce_marks', 'outbox', 'quiet', 'released', 'resent', 'restoring', 'room_watch', 'rooms_empty', 'rooms_going', 'running', 'shown', 'trash', 'unrecommended', 'vacancy_nodes', 'vectors', 'watchers'];

// --- quiet ---------------------------------------------------------------------------------------

describe('a backup of a quiet cluster', () => {
  let cluster;
  let folder;
  let target;
  before(async () => {
    folder = makeFolder();
    cluster = await startCluster({ nodes: 1 });
    target = await startRedis(LATIN);
  });
  after(async () => {
    await cluster.stop();
    await target.stop();
    folder.remove();
  });

  it('loses a key, a field, an expiry or a state of one that every kind of key is in', { timeout: 300_000 }, async () => {
    const file = join(folder.dir, 'quiet');
    await uploadIndexed(cluster, { name: 'leases.md', bytes: '# Leases\n\nA lease lasts 150 seconds.' });
    await cluster.nodes[0].stop();
    const source = await openShard(reopen(cluster.redis));
    await fillQueue(source);
    await fillRest(source);
    await fillDocuments(source);
    await fillRuns(source);
    await fillRooms(source);
    await fillFiles(source);
    await fillBatches(source);
    const before = await snapshot(source.redis);
    assertWhole(before);
    const words = new Set([...before.keys()].map((name) => name.split(':')[0]));
    const missing = [...readFileSync('services/backup/kinds.c', 'utf8').matchAll(/^ {4}\{"(\w+)", KIND_/gm)].map(([, word]) => word).filter((word) => !words.has(word));
    assert.deepEqual(missing.sort(), ABSENT, 'kinds of keys that are not in this test');
    assert.deepEqual([before.get('t:away').value['b:1'], 'title' in before.get('t:acme~inbox').value], ['3', true]);
    assert.match(await done(backup(cluster.redis, file)), /^\d+ topics with \d+ queries, \d+ documents/);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(folder.dir), ['quiet']);
    assert.deepEqual(await snapshot(source.redis), before, 'a backup changes nothing');
    await done(restore(target, file));
    const found = await snapshot(target);
    assertWhole(found);
    assert.deepEqual(kept(found), kept(before));
    assert.deepEqual(found.get('stored'), before.get('stored'), 'what is counted');
    assert.ok(Number(found.get('meta').value.lease) > Number(before.get('meta').value.lease));
    source.redis.close();
  });

  it('leaves a restored cluster that does not answer, claim, search or refuse a used nonce', { timeout: 300_000 }, async () => {
    const first = cluster.redis;
    cluster.redis = target;
    after(() => first.stop());
    const node = await cluster.startNode();
    const done = await cluster.check({ Topic: 'done', User: 'alice', node });
    assert.deepEqual(done.Answer, ['yes']);
    const thread = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic: 'done', User: 'alice' }, node }));
    assert.match(JSON.stringify(thread), /yes/);
    const found = assertOk(await cluster.request('GET', '/api/docs', { as: 'User_1', node }));
    assert.match(JSON.stringify(found), /leases\.md/);
    const passages = await cluster.request('POST', '/api/rag/retrieve', { as: 'User_1', body: { query: 'How long does a lease last?' }, node });
    assert.match(assertOk(passages) && passages.text, /150 seconds/);
    const shard = await openShard(target);
    assert.equal((await shard.turn([['nonce', 1]], { nonces: [ANY_BYTES.slice(0, 16)] })).replies[0], 'replay');
    const seen = new Set();
    for (let claim; (claim = await cluster.claim({ detail: true, node })).Topic !== null; ) {
      assert.ok(!seen.has(claim.Topic + claim.Lease));
      seen.add(claim.Topic + claim.Lease);
      if (claim.Topic === 'partly') {
        await cluster.answer({ Topic: 'partly', Seq: 1, Query: 'Why?', Lease: claim.Lease, node });
        assert.deepEqual((await cluster.check({ Topic: 'partly', node })).Answer, ['42']);
      }
    }
    assert.ok(seen.size >= 6, `${seen.size} claims`);
    const { Seq } = await cluster.add({ Topic: 'done', User: 'alice', node });
    assert.equal(Seq, 2);
    for (const n of [6, 8, 9, 10, 11, 12, 13]) {
      await eventually(async () => (await shard.cmd('HGET', shard.key(`doc:${docId(n)}`), 'status')) === 'INDEXED', { ms: 60_000, what: `document ${n} is indexed` });
    }
  });
});

// --- under load ------------------------------------------------------------------------------------

// Random verbs until stop(): what they add, end, delete and upload, on topics and documents of their own and those
// that were there.
async function startVerbs(redis, seed, topics) {
  const shard = await openShard(reopen(redis));
  const below = random(seed);
  const pick = (list) => list[below(list.length)];
  const indexer = new Indexer(shard, `i${seed}`);
  const deleted = new Set();
  let isOver = false;
  let n = 0;
  async function step() {
    const topic = pick(topics);
    const verb = below(10);
    n++;
    if (verb < 3) await add(shard, below(2) ? topic : `new-${seed}-${below(50)}`, { idem: `${seed}-${n}`, digest: 'aa', user: pick(['alice', 'bob']), model: pick(['m1', 'm2']) });
    else if (verb < 6) {
      const claimed = await take(shard, pick(['m1', 'm2', '*']));
      if (claimed && below(3)) for (const seq of claimed.seqs) await complete(shard, claimed.topic, seq, claimed.lease);
      else if (claimed) await shard.call('release', 0, claimed.topic, claimed.lease, 'Inference_1', '', '"tired"', pick(['fail', 'retry', 'away']));
    } else if (verb === 6) await shard.call('cancel', 0, topic, 1 + below(5), '', '"enough"');
    else if (verb === 7 && below(3) === 0) {
      for (const user of ['alice', 'bob']) if ((await shard.call('delete', 0, user, topic)) === 'ok') deleted.add(topic);
    } else if (verb === 7) {
      const f = createHash('sha1').update(String(below(200))).digest('hex');
      await shard.call('add_lookup', 0, topic, 1, '', f, `${f.slice(1)}0`, '"f"', 5 + below(3), 0.5, pick(['A', 'B']), 1000);
      const got = below(2) ? (await shard.call('claim_lookup', 0, 'E|?', '0')).split('\n') : [];
      if (got[2] && below(2)) await shard.call('match', 0, got[2], '[]');
      await shard.call('recommend', 0, topic, '', `{"n":${n}}`, pick(['A', 'B']), pick(['alice', 'bob']));
    } else if (verb === 8) {
      const k = 1000 * seed + below(30);
      const id = `${seed}${n}`.padStart(36, 'e');
      await upload(shard, { doc: id, job: id.replaceAll('e', 'b'), space: pick([ALICE, BOB]), filename: '"f.txt"', sha: shaOf(`${k}${below(2)}`), bytes: 'x'.repeat(1 + below(5000)), cap: 1e9, path: below(2) ? `p${k}` : '' });
      const run = await indexer.take();
      if (run?.lease && below(6) === 0) {
        await shard.call('job_release', run.job, run.lease, ...(below(2) ? [1 + below(2000), '"Later."'] : []));
      } else if (run?.lease && below(4)) {
        if (run.blocks === '0') await indexer.parsed(run, { cap: 1e9 });
        await indexer.store(run, { cap: 1e9 });
      }
    } else {
      const docs = await shard.cmd('ZRANGE', shard.key(`docs:${ALICE}`), 0, 20);
      if (docs.length && below(3)) await shard.call('doc_delete', 0, ALICE, pick(docs));
      else if (docs.length) await shard.call('doc_reindex', 0, ALICE, pick(docs), `${seed}${n}`.padStart(36, 'c'));
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
      shard.redis.close();
      return deleted;
    },
  };
}

// What was acknowledged before a moment: rows, and the answers and ends of those that had one.
function acknowledged(keys) {
  const rows = [];
  for (const [name, { value }] of keys) {
    if (!name.startsWith('t:') || !value) continue;
    for (let seq = 1; seq <= Number(value.seq); seq++) {
      const state = value[`s:${seq}`];
      rows.push({ topic: name.slice(2), seq, row: value[`q:${seq}`], done: state === 'D' && value[`a:${seq}`] });
    }
  }
  return rows;
}

function assertKept(rows, keys, deleted) {
  let n = 0;
  for (const { topic, seq, row, done: answer } of rows) {
    if (deleted.has(topic)) continue;
    const hash = keys.get(`t:${topic}`)?.value ?? {};
    assert.equal(hash[`q:${seq}`], row, `${topic} ${seq} was acknowledged before the backup began`);
    if (answer) assert.deepEqual([hash[`s:${seq}`], hash[`a:${seq}`]], ['D', answer], `${topic} ${seq}: its answer`);
    n++;
  }
  assert.ok(n > 100, `${n} rows were compared`); // the longer it took, the more topics were deleted
}

describe('a backup under load', () => {
  let source;
  let target;
  let folder;
  before(async () => {
    folder = makeFolder();
    [source, target] = await Promise.all([startRedis(LATIN), startRedis(LATIN)]);
  });
  after(async () => {
    await Promise.all([source.stop(), target.stop()]);
    folder.remove();
  });

  it('loses what was acknowledged before it began, or restores keys that contradict each other', { timeout: 300_000 }, async () => {
    const seed = oneSeed();
    const shard = await openShard(source);
    const topics = Array.from({ length: 400 }, (_, i) => `t${i}`);
    for (let i = 0; i < 3000; i++) await add(shard, topics[i % 400], { user: i % 3 ? 'alice' : 'bob', model: i % 2 ? 'm1' : 'm2' });
    for (let i = 0; i < 900; i++) await add(shard, 'long', { model: 'm3', query: `Q${i} ${'x'.repeat(3000)}` });
    for (let i = 0; i < 60; i++) await upload(shard, { n: i, space: i % 2 ? ALICE : BOB, cap: 1e9 });
    for (let round = 0; round < 2; round++) {
      const loads = await Promise.all([1, 2, 3].map((k) => startVerbs(source, seed + 10 * round + k, [...topics, 'long'])));
      await eventually(() => loads.every((load) => load.count() > 200), { ms: 180_000 });
      const rows = acknowledged(await snapshot(source));
      const file = join(folder.dir, `load-${round}`);
      const first = loads.map((load) => load.count());
      await done(backup(source, file));
      assert.ok(loads.some((load, i) => load.count() > first[i]), 'verbs ran meanwhile');
      const deleted = new Set((await Promise.all(loads.map((load) => load.stop()))).flatMap((set) => [...set]));
      await target.cmd('FLUSHALL');
      await done(restore(target, file));
      const keys = await snapshot(target);
      try {
        assertWhole(keys);
        assertKept(rows, keys, deleted);
      } catch (error) {
        error.message += ` (PARLEY_SEED=${seed})`;
        throw error;
      }
      const last = Number((await source.cmd('HGET', `${PREFIX}meta`, 'lease')));
      assert.ok(Number(keys.get('meta').value.lease) > last, 'numbers rise');
    }
  });

  const USERS = ['alice', 'bob', 'carol'];

  // 6 MB: several pieces.
  async function makeLong(shard, user) {
    const tail = tailOf({ user, query: 'x'.repeat(20_000) });
    for (let i = 0; i < 300; i += 50) await shard.turn(Array.from({ length: 50 }, () => ['add', 0, 'long', user, 'A', 'm', 1, 1e6, tail, '', '', '']));
  }

  // What a restore of the file has of the topic: whose rows, all of one user.
  async function restoredRows(file) {
    await target.cmd('FLUSHALL');
    await done(restore(target, file));
    const keys = await snapshot(target);
    assertWhole(keys);
    const hash = keys.get('t:long')?.value ?? {};
    const rows = Object.entries(hash).filter(([field]) => field.startsWith('q:')).map(([, row]) => row.split('\n')[1].split(' ')[1]);
    const ties = Object.keys(hash).filter((field) => field.startsWith('u:')).map((field) => field.slice(2));
    assert.ok(new Set(rows).size <= 1, `rows of ${[...new Set(rows)]}`);
    assert.deepEqual(ties, [...new Set(rows)]);
    return rows;
  }

  const CHANGES = {
    'is deleted': { rows: [], to: (shard) => shard.call('delete', 0, 'alice', 'long') },
    'is deleted and made again by another user': {
      rows: Array(300).fill('bob'),
      async to(shard) {
        await shard.call('delete', 0, 'alice', 'long');
        await makeLong(shard, 'bob');
      },
    },
    'is deleted and made again by the same user, shorter': {
      rows: ['alice'],
      async to(shard) {
        await shard.call('delete', 0, 'alice', 'long');
        await add(shard, 'long');
      },
    },
  };
  for (const [what, change] of Object.entries(CHANGES))
    it(`mixes the rows of a topic that ${what} between two of its pieces`, { timeout: 300_000 }, async () => {
      const shard = await openShard(source);
      const proxy = await startProxy(source);
      try {
        for (const piece of [1, 2, 4]) {
          await source.cmd('FLUSHDB');
          await makeLong(shard, 'alice');
          const held = proxy.holdAt('long', 'reply', piece);
          const file = join(folder.dir, `changed-${what.length}-${piece}`);
          const running = done(backup(proxy, file));
          await held;
          await change.to(shard);
          proxy.release();
          await running;
          assert.ok(readFileSync(file, 'latin1').includes('drop'), 'the backup met the change');
          assert.deepEqual(await restoredRows(file), change.rows);
        }
      } finally {
        await proxy.stop();
      }
    });

  it('mixes the rows of a topic that is deleted and made again all the time', { timeout: 300_000 }, async () => {
    const shard = await openShard(source);
    await source.cmd('FLUSHDB');
    await makeLong(shard, USERS[0]);
    let isOver = false;
    const load = (async () => {
      for (let n = 0; !isOver; n++) {
        await shard.call('delete', 0, USERS[n % 3], 'long');
        await makeLong(shard, USERS[(n + 1) % 3]);
      }
    })();
    for (let k = 0; k < 6; k++) {
      const file = join(folder.dir, `mixed-${k}`);
      await done(backup(source, file));
      await restoredRows(file);
    }
    isOver = true;
    await load;
  });
});

describe('a run of a workflow that changes while it is backed up', () => {
  const CHANGES = {
    'continues': async (shard, run) => {
      for (let i = 0; i < 5; i++) assert.match(await stepped(shard, run), /^ok/);
      assert.match(await stepped(shard, run, { status: 'waiting', approvers: ['a.G'] }), /^ok/);
    },
    'is answered and ends': async (shard, run) => {
      const [reply] = (await shard.turn([answer({ session: run.session, run: run.run, step: run.step })])).replies;
      run.fence = /^decided\n(\d+)\n/.exec(reply)[1];
      assert.match(await stepped(shard, run, { status: 'done' }), /^ok/);
    },
    'is deleted': async (shard) => assert.match(await shard.call('workflow_delete', 0, 'alice'), /^done/),
  };
  for (const [what, change] of Object.entries(CHANGES))
    it(`${what}, and is restored with more or fewer frames, answers and questions than its state has`, { timeout: 300_000 }, async () => {
      const [source, target] = await Promise.all([startRedis(LATIN), startRedis(LATIN)]);
      const proxy = await startProxy(source);
      const folder = makeFolder();
      try {
        const shard = await openShard(source);
        // After its state was read, and after two pieces of its frames.
        for (const [kind, n] of [['', 1], ['wff:', 1], ['wff:', 2]]) {
          await Promise.all([source.cmd('FLUSHDB'), target.cmd('FLUSHDB')]);
          const run = await began(shard);
          for (let i = 0; i < 12; i++) assert.match(await stepped(shard, run, { frame: `{"text":"${'x'.repeat(200_000)}"}` }), /^ok/);
          assert.match(await stepped(shard, run, { status: what === 'continues' ? 'running' : 'waiting', approvers: ['a.F'] }), /^ok/);
          const before = kept(await snapshot(source));
          const held = proxy.holdAt(`${kind}${run.session}.${run.run}`, 'reply', n);
          const file = join(folder.dir, `at-${kind}${n}`);
          const running = done(backup(proxy, file));
          await held;
          await change(shard, run);
          proxy.release();
          await running;
          await done(restore(target, file));
          const found = await snapshot(target);
          assertWhole(found);
          const runs = (keys) => Object.fromEntries(Object.entries(keys).filter(([name]) => /^wf/.test(name) && !/^wf_file/.test(name)));
          assert.deepEqual(runs(kept(found)), what === 'is deleted' ? {} : runs(before));
        }
      } finally {
        await proxy.stop();
        await Promise.all([source.stop(), target.stop()]);
        folder.remove();
      }
    });
});

describe('a lookup that SCAN showed twice', () => {
  it('is counted for two accounts, of which one never gets its room back', async () => {
    const target = await startRedis(LATIN);
    try {
      const shard = await openShard(target);
      const put = (due, by) => shard.call('restore_lookup', 'f0', due, 'fragment', '"f"', 'count', 5, 'threshold', 0.5, 'alias', 'a0', 'refs', 1, ...by);
      for (const by of [['by', 'A'], ['by', 'B'], ['by', 'B']]) assert.equal(await put('1000', by), 'ok');
      assert.deepEqual((await shard.get('lookups_of')), { B: '1' });
      assert.equal(await put('', []), 'ok');
      assert.deepEqual([await shard.get('lookups_of'), await shard.get('lookups')], [undefined, undefined]);
    } finally {
      await target.stop();
    }
  });
});

// The same Redis over a connection that keeps any bytes.
function reopen(redis) {
  return new RedisClient(redis.port, 'latin1');
}
