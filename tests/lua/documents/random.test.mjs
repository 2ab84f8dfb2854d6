// SPDX-License-Identifier: MIT
//
// What holds whatever happens to documents: random verbs of owners and indexers, who hang, die and come back,
// beside a small model of what must have become of each document. After each step the stored bytes are
// counted, and every key must belong to a document, a job or a lease. The seed is printed on failure;
// PARLEY_SEED=N runs that one alone.
import assert from 'node:assert/strict';
import { scripts } from '../../support/lua.mjs';
import { ALICE, BOB, BOOK, docId, elementsBytes, Indexer, jobId, knowsVectorSets, packOf, shaOf, upload, VECTOR } from '../../support/lua_documents.mjs';
import { seedsTo } from '../../support/seeds.mjs';

const STEPS = 500;
const CAP = 600;
const SPACES = [ALICE, BOB, BOOK];
const ACCOUNTS = [undefined, 'F', 'G']; // whose turns jobs take
const ATTEMPTS = 3;

// mulberry32
function random(seed) {
  let a = seed >>> 0;
  return (below) => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), a | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * below);
  };
}

// What the tester knows: documents {id, space, sha, path, upload, text, pack, job}, their jobs {id, doc, status,
// attempt, lease}, and what each indexer believes to hold.
class World {
  constructor(shard, seed, hasVectors) {
    Object.assign(this, { shard, below: random(seed), docs: new Map(), jobs: new Map(), pushed: new Map(), runs: [], ids: 0, leases: [0], hasVectors, seen: {} });
    this.backend = hasVectors && seed % 2 ? 'set' : 'exact';
    this.cap = CAP + (this.backend === 'set' ? elementsBytes(12) : 0);
  }

  pick(list) {
    return list[this.below(list.length)];
  }
  bytes(most) {
    return 'x'.repeat(this.below(most));
  }
  any() {
    return this.pick([...this.docs.values()]);
  }
  used(space) {
    const sum = (text) => (text ?? []).reduce((n, block) => n + block.length, 0);
    return [...this.docs.values()].filter((doc) => doc.space === space)
      .reduce((n, doc) => n + (doc.upload?.length ?? 0) + (doc.pack?.bytes.length ?? 0) + elementsBytes(doc.pack?.elements ?? 0) + sum(doc.text) + (doc.pack && doc.pack.text !== doc.text ? sum(doc.pack.text) : 0), 0);
  }

  // --- steps of owners ---------------------------------------------------------------------------

  newJob(doc, isReindex) {
    if (doc.job && ['QUEUED', 'RUNNING'].includes(doc.job.status)) doc.job.status = 'CANCELLED';
    doc.job = { id: jobId(++this.ids), doc, status: 'QUEUED', attempt: 0, lease: '', isReindex };
    this.jobs.set(doc.job.id, doc.job);
  }

  async upload() {
    const space = this.pick(SPACES);
    const [sha, path] = [shaOf(this.below(4)), space === BOOK ? this.pick(['a', 'b', 'c']) : ''];
    const bytes = this.bytes(400);
    const id = docId(++this.ids);
    const reply = await upload(this.shard, { doc: id, job: jobId(this.ids + 1), space, filename: '"f"', bytes, sha, cap: this.cap, path, account: this.pick(ACCOUNTS) });
    const earlier = [...this.docs.values()].find((doc) => doc.space === space && (path ? doc.path === path : doc.sha === sha));
    if (earlier && earlier.sha === sha && earlier.job.status !== 'FAILED') {
      assert.equal(reply.split('\n').slice(0, 3).join(), `duplicate,${earlier.id},${earlier.job.id}`);
      return;
    }
    // As it would be: the new bytes in the place of the old ones, the text only where the pack needs it.
    const doc = earlier ?? { id, space, path };
    const before = { ...doc };
    Object.assign(doc, { upload: bytes, text: undefined });
    this.docs.set(doc.id, doc);
    if (this.used(space) > this.cap) {
      Object.assign(doc, before, earlier ? { upload: before.upload, text: before.text } : {});
      if (!earlier) this.docs.delete(id);
      assert.equal(reply, `full\n${this.used(space)}\n${this.cap}`);
      return;
    }
    doc.sha = sha;
    this.newJob(doc, false);
    assert.equal(reply, `ok\n${doc.id}\n${doc.job.id}`);
  }

  // A node begins an upload and dies, or a client leaves: its blocks wait for their end.
  async abandon() {
    const id = docId(++this.ids);
    const space = this.pick(SPACES);
    const path = space === BOOK ? `abandoned ${id}` : '';
    const reply = await this.shard.call('upload_begin', 0, space, '', id, '"f"', 2, `${this.ids}`.padStart(64, 'b'), this.cap, path, '');
    if (this.used(space) + 2 > this.cap) return assert.equal(reply, `full\n\n${this.used(space)}\n${this.cap}`);
    assert.equal(reply, 'ok\n');
    await this.shard.cmd('RPUSHX', this.shard.key(`pushed:${id}`), 'x');
    this.pushed.set(id, { space, path });
  }

  // Blocks of another space, or too few of them: nothing is stored, and what was pushed is gone.
  async takeOver() {
    const found = this.pick([...this.pushed]);
    if (!found) return;
    const [id, { space, path }] = found;
    this.pushed.delete(id);
    const isElsewhere = this.below(2);
    const sha = id.padStart(64, 'b');
    const reply = await this.shard.call('upload', isElsewhere ? 'o:other' : space, id, jobId(9e6), '"f"', 'text/plain', 'text', 0, isElsewhere ? 1 : 2, sha, this.cap + 1e6, isElsewhere ? '' : path, '');
    assert.equal(reply, 'gone');
  }

  async remove() {
    const doc = this.any();
    if (!doc) return;
    const other = this.pick(SPACES.filter((space) => space !== doc.space));
    assert.equal(await this.shard.call('doc_delete', 0, other, doc.id), 'missing');
    assert.equal(await this.shard.call('doc_delete', 0, doc.space, doc.id), 'ok');
    if (['QUEUED', 'RUNNING'].includes(doc.job.status)) doc.job.status = 'CANCELLED';
    this.docs.delete(doc.id);
  }

  async reindex() {
    const doc = this.any();
    if (!doc) return;
    const reply = await this.shard.call('doc_reindex', 0, doc.space, doc.id, jobId(this.ids + 1), this.pick(ACCOUNTS) ?? '');
    if (['QUEUED', 'RUNNING'].includes(doc.job.status)) assert.equal(reply, `ok\n${doc.job.id}`);
    else if (!doc.text) assert.equal(reply, 'gone');
    else {
      this.newJob(doc, true);
      assert.equal(reply, `ok\n${doc.job.id}`);
    }
  }

  // --- steps of indexers -------------------------------------------------------------------------

  fail(job) {
    job.status = 'FAILED';
    job.doc.upload = undefined;
  }

  async begin(indexer, found) {
    const job = this.jobs.get(found.job);
    const run = await indexer.begin(found);
    if (job.status === 'CANCELLED') {
      assert.equal(run, 'gone');
    } else if (run === 'spent') {
      assert.equal(job.attempt, ATTEMPTS);
      this.fail(job);
    } else {
      assert.ok(!this.leases.includes(Number(run.lease)) && Number(run.lease) > this.leases.at(-1), 'a lease is new');
      this.leases.push(Number(run.lease));
      Object.assign(job, { status: 'RUNNING', lease: run.lease, attempt: job.attempt + 1, isWaiting: false, elements: 0 });
      assert.deepEqual([run.attempt, run.doc, run.space, run.blocks], [String(job.attempt), job.doc.id, job.doc.space, String(job.doc.text?.length ?? 0)]);
      this.runs.push({ indexer, run, job });
    }
  }

  async take() {
    const indexer = new Indexer(this.shard, `i${this.below(3)}`);
    const found = await indexer.read();
    // One that waited outside the stream has got its entry when it was begun.
    if (found && this.jobs.get(found.job).status === 'RUNNING') return assert.equal(await indexer.begin(found), 'gone');
    if (found) await this.begin(indexer, found);
  }

  async pass() {
    const one = this.someRun();
    if (!one) return;
    assert.equal(await one.indexer.call('job_pass', one.run, '"no reader"'), one.isHeld ? 'ok' : 'lost');
    if (one.isHeld) Object.assign(one.job, { status: 'QUEUED', lease: '', attempt: one.job.attempt - 1, isWaiting: true });
  }

  async waiting() {
    const job = await this.shard.call('job_waiting');
    const known = [...this.jobs.values()].filter(({ isWaiting, status }) => isWaiting && status === 'QUEUED');
    if (job === 'none') return assert.deepEqual(known, []);
    assert.ok(known.includes(this.jobs.get(job)));
    await this.begin(new Indexer(this.shard, `waiter${++this.ids}`), { entry: '', job });
  }

  // The indexer of a job hangs or is dead, and another one takes the job.
  async steal() {
    const indexer = new Indexer(this.shard, `thief${++this.ids}`);
    const found = await indexer.steal();
    if (found) await this.begin(indexer, found);
  }

  // A run that somebody believes to hold: {one, isHeld}.
  someRun() {
    const one = this.runs.length && (this.below(4) ? this.runs.at(-1 - this.below(Math.min(3, this.runs.length))) : this.pick(this.runs));
    return one && { ...one, isHeld: one.job.status === 'RUNNING' && one.job.lease === one.run.lease };
  }

  async parsed() {
    const one = this.someRun();
    if (!one) return;
    const { doc } = one.job;
    const text = Array.from({ length: 1 + this.below(3) }, () => this.bytes(150));
    const reply = await one.indexer.parsed(one.run, { blocks: text, cap: this.cap });
    if (!one.isHeld) return assert.equal(reply, 'lost');
    const before = { upload: doc.upload, text: doc.text };
    Object.assign(doc, { upload: undefined, text });
    if (this.used(doc.space) > this.cap) {
      Object.assign(doc, before);
      assert.equal(reply, `full\n${this.used(doc.space)}\n${this.cap}`);
    } else {
      assert.equal(reply, 'ok');
    }
  }

  async vectors() {
    const one = this.someRun();
    if (!one || !this.hasVectors) return;
    const first = this.below(4);
    const reply = await one.indexer.vectors(one.run, { digest: ['abc', 'def'][one.run.lease % 2], first, vectors: [VECTOR, VECTOR] });
    assert.equal(reply, one.isHeld ? 'ok' : 'lost');
    if (one.isHeld) one.job.elements = Math.max(one.job.elements, first + 2);
  }

  async store() {
    const one = this.someRun();
    if (!one) return;
    const { doc } = one.job;
    if (one.isHeld && !doc.text) return;
    const chunks = 1 + this.below(4);
    const bytes = packOf(...Array(chunks).fill([0, 1])) + this.bytes(100);
    const reply = await one.indexer.store(one.run, { pack: bytes, chunks, cap: this.cap, vectors: this.backend });
    if (!one.isHeld) return assert.equal(reply, one.job.status === 'DONE' && one.job.lease === one.run.lease ? 'ok' : 'lost');
    const before = doc.pack;
    doc.pack = { bytes, chunks, text: doc.text, generation: one.run.lease, elements: this.backend === 'set' ? one.job.elements : 0 };
    if (this.used(doc.space) > this.cap) {
      doc.pack = before;
      assert.equal(reply, `full\n${this.used(doc.space)}\n${this.cap}`);
    } else {
      assert.equal(reply, 'ok');
      one.job.status = 'DONE';
    }
  }

  async failed() {
    const one = this.someRun();
    if (!one) return;
    const reply = await one.indexer.call('job_fail', one.run, '"x"');
    if (one.isHeld) this.fail(one.job);
    assert.equal(reply, one.isHeld || (one.job.status === 'FAILED' && one.job.lease === one.run.lease) ? 'ok' : 'lost');
  }

  async release() {
    const one = this.someRun();
    if (!one) return;
    const later = this.below(2) ? [1, '"later"'] : [];
    assert.equal(await one.indexer.call('job_release', one.run, ...later), one.isHeld ? 'ok' : 'lost');
    if (one.isHeld) Object.assign(one.job, { status: 'QUEUED', lease: '', attempt: one.job.attempt - 1 });
  }

  async progress() {
    const one = this.someRun();
    if (one) assert.equal(await one.indexer.call('job_progress', one.run, 'EMBED', this.below(100), '"m"'), one.isHeld ? 'ok' : 'lost');
  }

  async sweep() {
    await this.shard.call('sweep', 1 + this.below(5));
  }

  async step() {
    const verb = this.pick(['upload', 'upload', 'upload', 'abandon', 'takeOver', 'remove', 'reindex', 'take', 'take', 'take', 'steal', 'parsed', 'parsed', 'parsed', 'vectors', 'vectors', 'store', 'store', 'store', 'failed', 'release', 'pass', 'waiting', 'waiting', 'progress', 'sweep']);
    await this[verb]();
    return verb;
  }
}

// --- what holds ----------------------------------------------------------------------------------

async function snapshot(shard) {
  const keys = new Map();
  for (const name of await shard.names()) if (!name.startsWith('vectors:')) keys.set(name, await shard.get(name));
  return keys;
}

// The keys of one document, removed from `left`; how many bytes are in them.
function storedOf(doc, keys, left) {
  const take = (name) => {
    left.delete(name);
    return keys.get(name);
  };
  const hash = take(`doc:${doc.id}`);
  const upload = take(`upload:${doc.id}`);
  assert.equal(upload?.value.join(''), doc.upload, `upload of ${doc.id}`);
  const pack = doc.pack && take(`pack:${doc.id}:${doc.pack.generation}`);
  assert.equal(pack, doc.pack?.bytes, `pack of ${doc.id}`);
  const texts = [...new Set([hash.text, hash.old_text])].filter((number) => number !== '').map((number) => Object.values(take(`text:${doc.id}:${number}`) ?? {}));
  const expected = [doc.text, doc.pack && doc.pack.text !== doc.text ? doc.pack.text : undefined].filter(Boolean);
  assert.deepEqual(texts, expected, `texts of ${doc.id}`);
  const bytes = (doc.upload?.length ?? 0) + (pack?.length ?? 0) + texts.flat().reduce((n, block) => n + block.length, 0) + elementsBytes(doc.pack?.elements ?? 0);
  assert.equal(Number(hash.bytes), bytes, `bytes of ${doc.id}`);
  const status = { QUEUED: 'QUEUED', RUNNING: 'INDEXING', DONE: 'INDEXED', FAILED: 'FAILED' }[doc.job.status];
  assert.deepEqual([hash.status, hash.generation, hash.chunks, hash.job], [status, doc.pack?.generation ?? '0', String(doc.pack?.chunks ?? 0), doc.job.id], doc.id);
  return bytes;
}

function checkSpace(world, space, keys, left) {
  const docs = [...world.docs.values()].filter((doc) => doc.space === space);
  const bytes = docs.reduce((sum, doc) => sum + storedOf(doc, keys, left), 0);
  const found = (name) => {
    left.delete(`${name}:${space}`);
    return keys.get(`${name}:${space}`);
  };
  const hash = found('space');
  assert.equal(Number(hash?.bytes ?? 0), bytes, `bytes of ${space}`);
  assert.equal(Number(hash?.chunks ?? 0), docs.reduce((sum, doc) => sum + (doc.pack?.chunks ?? 0), 0), `chunks of ${space}`);
  assert.deepEqual(Object.keys(found('docs')?.value ?? {}).sort(), docs.map((doc) => doc.id).sort(), `docs of ${space}`);
  const named = (list) => Object.fromEntries(list);
  assert.deepEqual({ ...found('shas') }, named(docs.filter((doc) => !doc.path).map((doc) => [doc.sha, doc.id])), `shas of ${space}`);
  assert.deepEqual({ ...found('paths') }, named(docs.filter((doc) => doc.path).map((doc) => [doc.path, doc.id])), `paths of ${space}`);
  assert.deepEqual({ ...found('packs') }, named(docs.filter((doc) => doc.pack).map((doc) => [doc.id, doc.pack.generation])), `packs of ${space}`);
  for (const job of Object.keys(found('recent_jobs')?.value ?? {})) assert.equal(world.jobs.get(job).doc.space, space);
  return JSON.stringify([hash?.version ?? '0', docs.filter((doc) => doc.pack).map((doc) => `${doc.id} ${doc.pack.generation}`).sort()]);
}

// An account with jobs that wait for its turn has one in the stream that is not begun. Returns those that wait.
function checkAccount(account, keys, left, entries) {
  const queue = Object.keys(keys.get(`queued_turns:${account}`)?.value ?? {});
  const turn = keys.get('account_turns')?.[account];
  left.delete(`queued_turns:${account}`);
  if (turn) assert.deepEqual([keys.get(`job:${turn}`).account, keys.get(`job:${turn}`).status, keys.get(`job:${turn}`).entry], [account, 'QUEUED', entries[turn]], `the turn of ${account}`);
  assert.ok(turn || !queue.length, `${account}: nobody has the turn`);
  return queue;
}

// A space with jobs that wait for their turn has one that is next in its account and not begun. Returns those that wait.
function checkTurn(space, keys, left, entries, next) {
  const queue = Object.keys(keys.get(`queued_jobs:${space}`)?.value ?? {});
  const turn = keys.get('job_turns')?.[space];
  left.delete(`queued_jobs:${space}`);
  if (turn) assert.deepEqual([keys.get(`job:${turn}`).status, keys.get(`job:${turn}`).entry], ['QUEUED', next.includes(turn) ? '' : entries[turn]], `the turn of ${space}`);
  assert.ok(turn || !queue.length, `${space}: nobody has the turn`);
  return queue;
}

async function checkJobs(world, shard, keys, left) {
  const open = [...world.jobs.values()].filter((job) => ['QUEUED', 'RUNNING'].includes(job.status));
  const entries = Object.fromEntries((keys.get('jobs')?.value ?? []).map(([id, { job }]) => [job, id]));
  const waiting = Object.keys(keys.get('waiting_jobs')?.value ?? {});
  const next = ACCOUNTS.filter(Boolean).flatMap((account) => checkAccount(account, keys, left, entries));
  const queued = [...next, ...SPACES.flatMap((space) => checkTurn(space, keys, left, entries, next))];
  const delayed = Object.keys(keys.get('delayed_jobs')?.value ?? {});
  for (const name of ['waiting_jobs', 'delayed_jobs', 'job_turns', 'account_turns']) left.delete(name);
  assert.deepEqual(waiting.sort(), open.filter((job) => job.isWaiting).map((job) => job.id).sort(), 'jobs that wait outside the stream');
  assert.deepEqual([...Object.keys(entries), ...waiting, ...queued, ...delayed].sort(), open.map((job) => job.id).sort(), 'each other open job has one entry, waits for its turn or until it is due');
  for (const job of world.jobs.values()) {
    const hash = keys.get(`job:${job.id}`);
    left.delete(`job:${job.id}`);
    assert.deepEqual([hash.status, hash.attempt, hash.lease], [job.status, String(job.attempt), job.lease], job.id);
    if (entries[job.id]) assert.equal(hash.entry, entries[job.id]);
    const isLatest = world.docs.get(job.doc.id)?.job === job;
    assert.equal((await shard.cmd('TTL', shard.key(`job:${job.id}`))) > 0, !isLatest, `${job.id} stays as long as it is the latest`);
  }
}

// Every element of a vector set belongs to what is searched, to a job that runs, or is to be swept.
async function checkElements(world, shard, keys) {
  const known = new Set();
  const note = (set, doc, generation, n) => {
    for (let i = 0; i < n; i++) known.add(`${set} ${doc}:${generation}:${i}`);
  };
  for (const line of keys.get('trash')?.value ?? []) note(...line.split(' '));
  for (const job of world.jobs.values()) {
    const hash = keys.get(`job:${job.id}`);
    if (job.status === 'RUNNING') note(`vectors:${hash.space}:${hash.digest}`, hash.doc, hash.lease, hash.vectors_n);
  }
  for (const doc of world.docs.values()) {
    const hash = keys.get(`doc:${doc.id}`);
    note(`vectors:${doc.space}:${hash.vectors}`, doc.id, hash.generation, hash.vectors_n);
  }
  for (const space of SPACES) {
    for (const digest of ['abc', 'def']) {
      const name = `vectors:${space}:${digest}`;
      if (!(await shard.cmd('EXISTS', shard.key(name)))) continue;
      for (const element of await shard.cmd('VRANDMEMBER', shard.key(name), 1000)) assert.ok(known.has(`${name} ${element}`), `${name} ${element}`);
    }
  }
}

async function checkAll(world, shard, seen) {
  const keys = await snapshot(shard);
  const left = new Set(keys.keys());
  for (const space of SPACES) {
    const now = checkSpace(world, space, keys, left);
    const [version, packs] = JSON.parse(now);
    const before = seen.get(version === '0' ? `${space} 0` : version);
    assert.ok(before === undefined || before === JSON.stringify(packs), `${space}: other packs, and the version is ${version} still`);
    if (version !== '0') seen.set(version, JSON.stringify(packs));
  }
  await checkJobs(world, shard, keys, left);
  if (world.hasVectors) await checkElements(world, shard, keys);
  for (const name of ['jobs', 'meta', 'trash']) left.delete(name);
  for (const id of world.pushed.keys()) {
    assert.ok((await shard.cmd('TTL', shard.key(`pushed:${id}`))) > 0, `pushed:${id} expires`);
    left.delete(`pushed:${id}`);
  }
  assert.deepEqual([...left], [], 'keys that belong to nothing');
}

async function checkEnd(world, shard) {
  for (const doc of [...world.docs.values()]) {
    world.docs.delete(doc.id);
    assert.equal(await shard.call('doc_delete', 0, doc.space, doc.id), 'ok');
  }
  while ((await shard.call('sweep', 1000)) !== '0');
  assert.deepEqual((await shard.names()).filter((name) => !/^(meta|jobs|job:.*|pushed:.*)$/.test(name)), [], 'left behind');
  assert.equal(await shard.cmd('XLEN', shard.key('jobs')), 0);
  assert.deepEqual(await shard.cmd('XPENDING', shard.key('jobs'), 'indexers', '-', '+', 10), []);
}

scripts('random verbs of documents', ({ test, shard }) => {
  const seeds = seedsTo(3);
  for (const seed of seeds) {
    test(`stored bytes are counted exactly, and nothing is left of what is gone (seed ${seed})`, async () => {
      const world = new World(shard, seed, await knowsVectorSets(shard));
      const [steps, seen] = [[], new Map()];
      await new Indexer(shard).group();
      try {
        for (let i = 0; i < STEPS; i++) {
          steps.push('(broke)');
          steps[i] = await world.step();
          await checkAll(world, shard, seen);
        }
        await checkEnd(world, shard);
      } catch (error) {
        console.error(`PARLEY_SEED=${seed}, after step ${steps.length}: …${steps.slice(-12).join(', ')}`);
        throw error;
      }
    });
  }
}, { encoding: 'latin1' });
