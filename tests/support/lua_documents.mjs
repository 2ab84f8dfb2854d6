// SPDX-License-Identifier: MIT
//
// lua_documents: documents as the keys that they consist of, for tests of the verbs in lua/documents.
//
//   keysOf({ n: 1, state: 'QUEUED', upload: 'bytes' }, { n: 2, space: BOB, state: 'INDEXED', … })
//
// makes every key of these documents, of their spaces and jobs, as the verbs leave them.
import assert from 'node:assert/strict';
import { ago, anything, assertFits, lines, list, soon, stream, ttl, zset } from './lua.mjs';

export const ALICE = 'o:alice';
export const BOB = 'o:bob';
export const BOOK = 'c:book';
export const HOUR_S = 3600;

export const docId = (n) => `d0000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
export const jobId = (n) => `b0000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
export const shaOf = (n) => String(n).padStart(64, 'a');
export const CREATED = 1000; // of document n: CREATED + n

// Unfinished jobs are far behind all finished ones.
const UNFINISHED_MS = 1e12;
export const unfinished = (found) => Math.abs(Number(found) - UNFINISHED_MS - Date.now()) < 60_000;
export const finished = soon(HOUR_S * 1000);

// A pack without words and vectors: header and chunk table, as in shared/search/pack.h.
export function packOf(...chunks) {
  const bytes = Buffer.alloc(32 + chunks.length * 24);
  bytes.write('PPK1', 'latin1');
  bytes.writeUInt32LE(chunks.length, 4);
  chunks.forEach(([startBytes, endBytes, startChars = startBytes, endChars = endBytes, page = 0], i) =>
    [startBytes, endBytes, startChars, endChars, 0, page].forEach((number, k) => bytes.writeUInt32LE(number, 32 + i * 24 + k * 4)));
  return bytes.toString('latin1');
}
export const PACK = packOf([0, 10]);

// What documents are made of, with everything a test does not say.
//   state QUEUED, INDEXING (upload), INDEXED (text, pack), FAILED (nothing)
//   upload, text ([number, block, …]), oldText, pack, generation, chunks: what is there
//   j: number of its job; job: changes of the job's hash
function fullOf({ n, state = 'QUEUED', ...more }) {
  const isIndexed = state === 'INDEXED';
  const one = {
    n, state, space: ALICE, sha: shaOf(n), path: '', url: '', j: n, filename: `"f${n}.txt"`, type: 'text/plain', kind: 'text',
    upload: state === 'QUEUED' || state === 'INDEXING' ? `bytes ${n}` : undefined,
    text: isIndexed ? [5, 'block'] : undefined,
    generation: isIndexed ? 5 : 0,
    created: CREATED + n, updated: CREATED + n, model: isIndexed ? 'hash' : '', dimension: undefined, vectors: '', digest: '', chunks: isIndexed ? 1 : 0, ...more,
  };
  if (one.pack === undefined && one.generation) one.pack = PACK;
  one.dimension ??= one.generation ? 4 : 0;
  one.jobState ??= { QUEUED: 'QUEUED', INDEXED: 'DONE' }[state] ?? (state === 'INDEXING' ? 'RUNNING' : state);
  return one;
}

// An upload's blocks, as nodes cut them: one at least.
const BLOCK_BYTES = 1 << 20;
export function blocksOf(bytes) {
  const blocks = [];
  for (let at = 0; at === 0 || at < bytes.length; at += BLOCK_BYTES) blocks.push(bytes.slice(at, at + BLOCK_BYTES));
  return blocks;
}
// As upload_begin and a node leave them, until `upload` takes them over.
export const PUSH_S = 300;
export const pushed = ({ n = 1, space = ALICE, bytes = `bytes ${n}` } = {}) => ({ [`pushed:${docId(n)}`]: ttl(PUSH_S, list(space, ...blocksOf(bytes))) });

const bytesOf = (text) => (text ? text.slice(1).reduce((sum, block) => sum + block.length, 0) : 0);
// What elements of a vector set count for, as lua/documents/storage.lua says.
export const elementsBytes = (n, dimension = 4) => n * (dimension + 820);
export const storedBytes = (one) =>
  (one.upload ?? '').length + (one.pack ?? '').length + bytesOf(one.text) + bytesOf(one.oldText) + (one.vectors ? elementsBytes(one.chunks, one.dimension) : 0);

export function docOf(given) {
  const one = fullOf(given);
  return {
    space: one.space, filename: one.filename, type: one.type, kind: one.kind, size: (one.upload ?? 'bytes 1').length, sha: one.sha, status: one.state,
    created: one.created, updated: one.updated, job: jobId(one.j), generation: one.generation, chunks: one.chunks, chars: one.chars ?? 0, blocks: one.blocks ?? 0,
    bytes: storedBytes(one), model: one.model, dimension: one.dimension, path: one.path, url: one.url, vectors: one.vectors, vectors_n: one.vectors ? one.chunks : 0,
    ...(one.text && { readers: one.readers ?? 1 }), ...(one.generation && { pack_version: 1 }),
    text: one.text ? one.text[0] : '', text_bytes: bytesOf(one.text), old_text: one.oldText ? one.oldText[0] : '', old_text_bytes: bytesOf(one.oldText),
    ...one.doc,
  };
}

// The entry of job j is `<j>-0`; the lease of one that is over, its generation.
export function jobOf(given) {
  const one = fullOf(given);
  const isOver = ['DONE', 'FAILED', 'CANCELLED'].includes(one.jobState);
  return {
    doc: docId(one.n), space: one.space, status: one.jobState, stage: isOver ? 'STORE' : 'PARSE', progress: isOver ? 100 : 0, error: one.jobState === 'FAILED' ? '"broken"' : '',
    attempt: isOver ? 1 : 0, lease: (isOver && one.generation) || '', is_reindex: 0, created: one.created, updated: one.updated, entry: `${one.j}-0`, consumer: '', stolen: '', digest: '', vectors_n: 0,
    ...one.job,
  };
}

function put(keys, name, field, value) {
  keys[name] = { ...keys[name], [field]: value };
}
function score(keys, name, member, value) {
  keys[name] = zset({ ...keys[name]?.value, [member]: value });
}

function putSpace(keys, one) {
  const name = `space:${one.space}`;
  const space = keys[name] ?? { bytes: 0 };
  space.bytes += storedBytes(one);
  if (one.generation) {
    Object.assign(space, { version: one.version ?? one.generation, chunks: (space.chunks ?? 0) + one.chunks, model: one.model, dimension: one.dimension, vectors: one.vectors ? 'set' : 'exact' });
    put(keys, `packs:${one.space}`, docId(one.n), one.generation);
  }
  keys[name] = space;
}

function putDocument(keys, one) {
  const doc = docId(one.n);
  keys[`doc:${doc}`] = docOf(one);
  score(keys, `docs:${one.space}`, doc, one.created);
  if (one.path) put(keys, `paths:${one.space}`, one.path, doc);
  else put(keys, `shas:${one.space}`, one.sha, doc);
  if (one.upload !== undefined) keys[`upload:${doc}`] = list(...blocksOf(one.upload));
  for (const text of [one.text, one.oldText]) if (text) keys[`text:${doc}:${text[0]}`] = { ...text.slice(1) };
  if (one.pack !== undefined) keys[`pack:${doc}:${one.generation}`] = one.pack;
  putSpace(keys, one);
}

function putJob(keys, one, entries) {
  const isOpen = ['QUEUED', 'RUNNING'].includes(one.jobState);
  keys[`job:${jobId(one.j)}`] = jobOf(one);
  score(keys, `recent_jobs:${one.space}`, jobId(one.j), one.recent ?? (isOpen ? Date.now() + UNFINISHED_MS : Date.now() + HOUR_S * 1000));
  if (isOpen) entries.push([`${one.j}-0`, { job: jobId(one.j) }]);
}

export function keysOf(...documents) {
  const keys = {};
  const entries = [];
  for (const given of documents) {
    const one = fullOf(given);
    putDocument(keys, one);
    putJob(keys, one, entries);
  }
  keys.jobs = stream(...entries);
  if (!entries.length) delete keys.jobs;
  return keys;
}

// The 19 lines that docs and doc say of one; `isOld`: its space has another model by now.
export function linesOf(given) {
  const one = fullOf(given);
  const [doc, job] = [docOf(one), jobOf(one)];
  return [docId(one.n), doc.filename, doc.type, doc.size, doc.status, doc.created, doc.updated, doc.chunks, doc.path, doc.job, job.status, job.stage, job.progress, job.error, job.created, job.updated, doc.model, given.isOld ? 1 : 0, doc.sha].join('\n');
}

// The event that watching nodes get.
export const indexingEvent = ({ n, j = n, space = ALICE }, type, stage, progress, message) => (found) => {
  const got = found.split('\n');
  assertFits(got, ['indexing', space, jobId(j), docId(n), type, stage, progress, message, ago()], 'event');
  return true;
};

// Part after part of a reply: "<bytes>:<bytes>".
export function partsOf(text) {
  const parts = [];
  for (let at = 0; at < text.length; ) {
    const colon = text.indexOf(':', at);
    const n = Number(text.slice(at, colon));
    assert.ok(colon > at && Number.isInteger(n) && colon + 1 + n <= text.length, `no part at ${at}`);
    parts.push(text.slice(colon + 1, colon + 1 + n));
    at = colon + 1 + n;
  }
  return parts;
}

// A job that stays for an hour after it was cancelled.
export const cancelled = (given) => ttl(HOUR_S, { ...jobOf(given), status: 'CANCELLED', updated: ago() });

// --- indexers ----------------------------------------------------------------------------------

const VECTOR_BYTES = 16;
export const vectorOf = (...numbers) => Buffer.from(new Float32Array(numbers).buffer).toString('latin1');
export const VECTOR = vectorOf(1, 0, 0, 0);
assert.equal(VECTOR.length, VECTOR_BYTES);

// What an indexer does with the stream and the verbs of a job.
export class Indexer {
  constructor(shard, consumer = 'i1') {
    this.shard = shard;
    this.consumer = consumer;
  }

  // The next entry of the stream: {entry, job}, undefined when there is none.
  async read() {
    await this.group();
    const got = await this.shard.cmd('XREADGROUP', 'GROUP', 'indexers', this.consumer, 'COUNT', 1, 'STREAMS', this.shard.key('jobs'), '>');
    return got ? { entry: got[0][1][0][0], job: got[0][1][0][1][1] } : undefined;
  }

  // The group is there, as after the first look of any indexer.
  group() {
    return this.shard.call('job_steal', this.consumer, 1e9);
  }

  async steal(idle = 0) {
    const reply = await this.shard.call('job_steal', this.consumer, idle);
    const [entry, job] = reply.split('\n');
    return reply === 'none' ? undefined : { entry, job };
  }

  // The lease and what else the job's facts are, or the word that refuses it.
  async begin({ entry, job }) {
    const reply = await this.shard.call('job_begin', entry, job, this.consumer);
    const [word, lease, attempt, doc, space, stage, kind, filename, size, isReindex, chars, blocks] = reply.split('\n');
    return word === 'ok' ? { entry, job, lease, attempt, doc, space, stage, kind, filename, size, isReindex, chars, blocks } : word;
  }

  async take() {
    const read = await this.read();
    return read && this.begin(read);
  }

  call(verb, { job, lease }, ...rest) {
    return this.shard.call(verb, job, lease, ...rest);
  }

  parsed(run, { blocks = ['block'], cap = 1e6, chars = 5, pages = '', readers = 1 } = {}) {
    return this.call('job_parsed', run, chars, cap, pages, readers, ...blocks);
  }
  store(run, { model = 'hash', dimension = 4, vectors = 'exact', chunks = 1, cap = 1e6, pack = PACK } = {}) {
    return this.call('job_store', run, model, dimension, vectors, chunks, cap, 1, pack);
  }
  vectors(run, { digest = 'abc', first = 0, vectors = [VECTOR] } = {}) {
    return this.call('job_vectors', run, digest, first, ...vectors);
  }

  // The next job from its entry to its end; all its replies are ok.
  async index(options = {}) {
    const run = await this.take();
    if (run.blocks === '0') assert.equal(await this.parsed(run, options), 'ok');
    if (options.vectors === 'set') assert.equal(await this.vectors(run, { digest: options.digest, vectors: Array(options.chunks ?? 1).fill(VECTOR) }), 'ok');
    assert.equal(await this.store(run, options), 'ok');
    return run;
  }
}

// Does this server know vector sets?
export async function knowsVectorSets(shard) {
  return (await shard.cmd('COMMAND', 'INFO', 'VADD'))[0] !== null;
}

// The body of a test that needs vector sets, or needs a server without.
export const withVectorSets = (body) => async (shard, t) =>
  (await knowsVectorSets(shard)) ? body(shard) : t.skip('this server has no vector sets');
export const withoutVectorSets = (body) => async (shard, t) =>
  (await knowsVectorSets(shard)) ? t.skip('this server has vector sets') : body(shard);

// The keys by which spaces take turns, and the jobs that wait for their space's turn.
const turnKeys = async (shard) => (await shard.names()).filter((name) => /^(job_turns|queued_jobs:.*)$/.test(name));
async function queuedJobs(shard) {
  const queues = (await turnKeys(shard)).filter((name) => name.startsWith('queued_jobs:'));
  return (await Promise.all(queues.map((name) => shard.cmd('ZRANGE', shard.key(name), 0, -1)))).flat();
}

// All of the documents, except what is the clock's own, as the keys that they must be now. Entries are
// new with each release: only their jobs are compared.
export async function assertDocuments(shard, documents, more = {}) {
  const keys = keysOf(...documents);
  for (const given of documents) {
    const [doc, job] = [keys[`doc:${docId(given.n)}`], keys[`job:${jobId(given.j ?? given.n)}`]];
    for (const hash of [doc, job]) Object.assign(hash, { created: anything, updated: anything });
    Object.assign(job, { entry: anything });
  }
  for (const name of Object.keys(keys)) if (/^(docs|recent_jobs):/.test(name)) keys[name] = zset(Object.fromEntries(Object.keys(keys[name].value).map((member) => [member, anything])));
  const open = keys.jobs?.value.map(([, { job }]) => job).sort() ?? [];
  // Some of them wait for their space's turn (lua/documents/job_queue.lua); fair.test.mjs looks at how.
  const queued = await queuedJobs(shard);
  keys.jobs = (found) => [...found.map(([, { job }]) => job), ...queued].sort().join() === open.join();
  keys.meta = anything;
  for (const name of await turnKeys(shard)) keys[name] = anything;
  const all = { ...keys, ...more };
  for (const name of Object.keys(all)) if (all[name] === null) delete all[name];
  await shard.assertKeys(all);
}

// --- one job ---------------------------------------------------------------------------------------

export const BINARY = { encoding: 'latin1' };
export const ANY_BYTES = String.fromCharCode(...Array(256).keys());
export const CAP = 1e6;

// The whole way of an upload: its begin, its blocks, and the document made of them. The reply of the verb that decides.
export async function upload(shard, { n = 1, j = n, doc = docId(n), job = jobId(j), space = ALICE, limits = '', bytes = `bytes ${n}`, sha = shaOf(n), cap = CAP, path = '', filename = `"f${n}.txt"`, type = 'text/plain', account } = {}) {
  const begun = await shard.call('upload_begin', 0, space, limits, doc, filename, bytes.length, sha, cap, path, '');
  const [word, , ...rest] = begun.split('\n'); // what is left of its limits is between
  if (word !== 'ok') return word === 'limited' ? begun : lines(word, ...rest);
  for (const block of blocksOf(bytes)) await shard.cmd('RPUSHX', shard.key(`pushed:${doc}`), block);
  return shard.call('upload', space, doc, job, filename, type, 'text', bytes.length, blocksOf(bytes).length, sha, cap, path, '', ...(account ? ['0', account] : []));
}
export const pending = async (shard) => ((await shard.cmd('XPENDING', shard.key('jobs'), 'indexers', '-', '+', 10)) ?? []).map(([, consumer]) => consumer);
// A document while it is indexed by `consumer`.
export const running = (given, consumer = 'i1') => ({ state: 'INDEXING', ...given, job: { attempt: 1, lease: 1, consumer, ...given.job } });
export const parsed = (given, consumer) => running({ upload: undefined, text: [1, 'block'], chars: 5, blocks: 1, ...given, job: { stage: 'CHUNK', ...given.job } }, consumer);
export const indexed = (given) => ({ state: 'INDEXED', generation: 1, version: 2, text: [1, 'block'], chars: 5, blocks: 1, ...given, job: { lease: 1, attempt: 1, consumer: 'i1', ...given.job } });
export const GONE_JOB = ['gone', 'lost'];
