// SPDX-License-Identifier: MIT
//
// documents: times what the documents service does, as a user meets it, on a Redis of its own.
//
//   ./dev build release && PARLEY_BIN=build/release/parley node tests/bench/documents.mjs [index] [search] [ask] [vectors]
//   PARLEY_TEST_REDIS=$(tests/servers.sh redis8) …           the same on Redis 8, with vector sets
//
// index: a text of 1 MiB from queued to searchable, beside the same steps in Python, in turns.
// search: /api/rag/retrieve over 20,000 chunks of one owner.  ask: what /ask takes besides its engine.
// vectors: how many of the ten nearest of a vector set are among the ten nearest of an exact search.
// Prints a table; asserts nothing.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { forgetLimits, upload, uploadIndexed } from '../support/documents.mjs';
import { eventually, makeFolder, startCluster } from '../support/harness.mjs';

const PYTHON = fileURLToPath(new URL('indexing/index.py', import.meta.url));
const MIB = 1 << 20;
const CHUNKS = 20_000;
const TOPICS = 500;
const TOPIC_WORDS = 200;

// A text as people write them, for the same seed the same: frequencies of words fall as those of written
// text do, and a section of some 3,000 characters is about something: half of its words are of one topic.
function makeText(bytes, seed) {
  let state = (seed * 2654435761 + 1) >>> 0;
  const random = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) / 2 ** 24;
  };
  const syllables = 'ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu'.split(' ');
  const word = (i) => {
    let text = '';
    for (let n = i + 20; n > 0; n = Math.floor(n / 20)) text += syllables[n % 20];
    return text;
  };
  const rank = (n) => Math.floor(Math.exp(random() * Math.log(n)));
  const parts = [];
  let topic = 0;
  for (let n = 0, sectionEnd = 0; n < bytes; ) {
    if (n >= sectionEnd) {
      topic = Math.floor(random() * TOPICS);
      sectionEnd = n + 2000 + random() * 2000;
    }
    const words = Array.from({ length: 6 + Math.floor(random() * 14) }, () =>
      word(random() < 0.5 ? rank(8000) : 8000 + topic * TOPIC_WORDS + rank(TOPIC_WORDS)));
    const sentence = `${words.join(' ')}.${random() < 0.15 ? '\n\n' : ' '}`;
    parts.push(sentence);
    n += sentence.length;
  }
  return parts.join('').slice(0, bytes);
}

function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { n: sorted.length, p50: at(0.5), p99: at(0.99), min: sorted[0], max: sorted.at(-1) };
}

async function jobMs(cluster, job) {
  const [created, updated] = await cluster.redis.cmd('HMGET', `parley:{0}:job:${job}`, 'created', 'updated');
  return Number(updated) - Number(created);
}

async function index() {
  const cluster = await startCluster({ nodes: 1 });
  const folder = makeFolder();
  const ours = [];
  const python = [];
  for (let i = 0; i < 5; i++) {
    const text = makeText(MIB, i + 1);
    const doc = await uploadIndexed(cluster, { name: `text${i}.txt`, bytes: text });
    ours.push(await jobMs(cluster, doc.latestJob.id));
    const file = join(folder.dir, 'text.txt');
    writeFileSync(file, text);
    python.push(JSON.parse(execFileSync('python3', [PYTHON, file, String(cluster.redis.port)])).seconds * 1000);
  }
  folder.remove();
  await cluster.stop();
  return { 'indexing 1 MiB, ms': spread(ours), 'the same in Python, ms': spread(python) };
}

async function fill(cluster, as) {
  for (let chunks = 0, i = 0; chunks < CHUNKS; i++) {
    const doc = await uploadIndexed(cluster, { as, name: `filling${i}.txt`, bytes: makeText(MIB, 100 + i) });
    chunks += doc.chunkCount;
  }
}

// Over one connection with a token, and without an HTTP library: what the client itself takes is not the
// service's.
async function retrieveTimes(cluster, as, n) {
  const { Token } = (await cluster.request('GET', '/api/login', { as })).json;
  const { hostname, port } = new URL(cluster.nodes[0].url);
  const socket = connect(Number(port), hostname).setNoDelay(true);
  await once(socket, 'connect');
  const words = makeText(64 * 1024, 7).replace(/[.\n]/g, ' ').split(/ +/);
  const times = [];
  for (let i = 0; i < n; i++) {
    const body = JSON.stringify({ query: words.slice(i * 5, i * 5 + 5).join(' ') });
    const request = `POST /api/rag/retrieve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${Token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const begin = performance.now();
    socket.write(request);
    for (let text = '', length; length === undefined || text.length < length; ) {
      text += (await once(socket, 'data'))[0].toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      if (end > 0) length = end + 4 + Number(/content-length: (\d+)/i.exec(text)[1]);
      if (!text.startsWith('HTTP/1.1 200')) throw new Error(text);
    }
    times.push(performance.now() - begin);
  }
  socket.destroy();
  return times;
}

async function search() {
  const cluster = await startCluster({ nodes: 1 });
  await fill(cluster, 'User_1');
  await retrieveTimes(cluster, 'User_1', 20);
  const times = await retrieveTimes(cluster, 'User_1', 500);
  const small = await startCluster({ nodes: 1 });
  await uploadIndexed(small, { name: 'one.txt', bytes: makeText(2000, 1) });
  await retrieveTimes(small, 'User_1', 20);
  const floor = await retrieveTimes(small, 'User_1', 500);
  await small.stop();
  await cluster.stop();
  return { [`retrieve over ${CHUNKS} chunks, ms`]: spread(times), 'retrieve over 2 chunks, ms': spread(floor) };
}

// An engine in this process that answers at once and says how long it held each question.
async function pull(cluster, held, isOver) {
  while (!isOver()) {
    const claim = await cluster.claim({ wait: 1 });
    if (!claim.Topic) continue;
    const begin = performance.now();
    const [[Seq, Query]] = Object.entries(claim.Queries[0]);
    const done = cluster.answerRaw({ Topic: claim.Topic, Seq: Number(Seq), Query, Answer: ['It is so. [1]'] });
    held.push(performance.now() - begin);
    await done;
  }
}

async function ask() {
  const cluster = await startCluster({ nodes: 1, args: ['--public-collection=bench'] });
  const folder = makeFolder();
  folder.file('book.txt', makeText(64 * 1024, 3));
  const { BIN } = await import('../support/node.mjs');
  execFileSync(BIN, ['ingest', '--redis', cluster.redis.url, '--collection', 'bench', '--base-url', 'http://book', folder.dir]);
  folder.remove();
  const held = [];
  const times = [];
  let isOver = false;
  const engine = pull(cluster, held, () => isOver);
  const words = makeText(64 * 1024, 3).replace(/[.\n]/g, ' ').split(/ +/);
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < 300; i++) {
    if (i % 15 === 0) await forgetLimits(cluster);
    const begin = performance.now();
    await cluster.request('POST', '/ask', { agent, body: { question: words.slice(i * 5, i * 5 + 5).join(' ') } });
    times.push(performance.now() - begin);
  }
  isOver = true;
  await engine;
  agent.destroy();
  await cluster.stop();
  return { '/ask without its engine, ms': spread(times.map((ms, i) => ms - (held[i] ?? 0))) };
}

async function vectors() {
  const cluster = await startCluster({ nodes: 1 });
  await fill(cluster, 'User_1');
  const keys = await cluster.redis.cmd('KEYS', '*:vectors:*');
  if (keys.length !== 1) throw new Error('no vector set: run this on Redis 8');
  const elements = await cluster.redis.cmd('VRANDMEMBER', keys[0], '200');
  const overlap = async (ef) => {
    let shared = 0;
    for (const element of elements) {
      // The element itself is the nearest of all, on both sides.
      const near = await cluster.redis.cmd('VSIM', keys[0], 'ELE', element, 'COUNT', '11', 'EF', String(ef));
      const exact = await cluster.redis.cmd('VSIM', keys[0], 'ELE', element, 'COUNT', '11', 'TRUTH');
      shared += near.filter((one) => one !== element && exact.includes(one)).length;
    }
    return shared / elements.length / 10;
  };
  const figures = {};
  for (const ef of [30, 40, 100]) figures[`overlap@10 of vector set and exact search, EF ${ef}`] = await overlap(ef);
  await cluster.stop();
  return figures;
}

const parts = { index, search, ask, vectors };
for (const name of process.argv.length > 2 ? process.argv.slice(2) : ['index', 'search', 'ask']) {
  for (const [what, figure] of Object.entries(await parts[name]())) {
    const shown = typeof figure === 'number' ? figure.toFixed(4) : Object.entries(figure).map(([k, v]) => `${k} ${Number(v.toFixed(2))}`).join('  ');
    console.log(`${what}: ${shown}`);
  }
}
