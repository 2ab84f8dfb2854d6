// SPDX-License-Identifier: MIT
//
// indexing: documents put into Redis by the verbs themselves, without HTTP, and what became of them.
//
//   const desk = await openDesk(cluster.redis);
//   const { doc, job } = await desk.upload({ name: 'notes.md', bytes: 'text' });
//   assert.equal((await desk.ended(job)).status, 'DONE');
//   await desk.assertWhole(doc);       // its passages cover its text, none doubled, none missing
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { eventually } from './harness.mjs';
import { libraryText, verbWord } from './lua.mjs';
import { openClient } from './servers.mjs';
import { ask, findKey, keyOf, prefixesOf, prefixOf, sumOfAll } from './shards.mjs';

const FUNCTION = 'turn_test';
const CAP_BYTES = 100 << 20;
const HEAD_BYTES = 32;
const ROW_BYTES = 24;
const BLOCK_BYTES = 8192; // of a text
const UPLOAD_BLOCK_BYTES = 1 << 20;

const newId = () => randomUUID();
const latin1 = (value) => (Buffer.isBuffer(value) ? value.toString('latin1') : Buffer.from(String(value)).toString('latin1'));

const KINDS = { md: 'text', txt: 'text', html: 'html', pdf: 'pdf', docx: 'docx' };

// Some English-looking text: `words` words in sentences and paragraphs, the same for the same seed.
export function prose(words, seed = 1) {
  const stems = ['lease', 'engine', 'node', 'queue', 'answer', 'claim', 'topic', 'paper', 'garden', 'river', 'stone', 'window', 'letter', 'market', 'bridge', 'winter'];
  let x = seed;
  const next = (n) => (x = (x * 1103515245 + 12345) % 2147483648) % n;
  let text = '';
  for (let i = 1; i <= words; i++) {
    text += stems[next(stems.length)] + next(1000);
    text += i % 120 === 0 ? '.\n\n' : i % 12 === 0 ? '. ' : ' ';
  }
  return text.trim();
}

// A PDF file of these objects, the first of which is its catalog; in latin1.
export function pdfFile(objects) {
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const at = text.length;
    text += `${i + 1} 0 obj${object}endobj\n`;
    return at;
  });
  const start = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')}`;
  return `${text}trailer<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`;
}

// A PDF of that many pages, each with its lines of text.
export function makePdf(pages, line = (page, i) => `Page ${page}, line ${i}: the lease of engine ${page * 40 + i} ends.`) {
  const objects = ['<</Type/Catalog/Pages 2 0 R>>', '', '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'];
  const kids = [];
  for (let page = 1; page <= pages; page++) {
    const rows = Array.from({ length: 40 }, (_, i) => `1 0 0 1 40 ${780 - i * 18} Tm (${line(page, i)}) Tj`).join('\n');
    const stream = `BT /F1 10 Tf\n${rows}\nET`;
    objects.push(`<</Length ${stream.length}>>stream\n${stream}\nendstream`);
    objects.push(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 820]/Contents ${objects.length} 0 R/Resources<</Font<</F1 3 0 R>>>>>>`);
    kids.push(`${objects.length} 0 R`);
  }
  objects[1] = `<</Type/Pages/Count ${pages}/Kids[${kids.join(' ')}]>>`;
  return pdfFile(objects);
}

class Desk {
  constructor(client) {
    this.client = client;
  }

  cmd(...words) {
    return this.client.cmd(...words.map(latin1));
  }

  // A command about a key that one shard has; the sum of its replies about the keys of that name on all of them.
  ask(command, name, ...words) {
    return ask(this, command, name, ...words);
  }

  sum(command, name) {
    return sumOfAll(this, command, name);
  }

  // One verb of a space in a turn of its own.
  verb(name, space, ...args) {
    return this.verbAt(prefixOf(space), name, ...args);
  }

  async verbAt(prefix, name, ...args) {
    const words = ['ntest 150000 2000 3 100000 1 0', 0, verbWord(name, args), ...args];
    const [reply] = await this.cmd('FCALL', FUNCTION, 1, prefix, ...words);
    return reply;
  }

  // Stores a document with its job: {doc, job}, or {word} of a refusal.
  async upload({ space = 'o:alice', name = 'notes.txt', bytes = 'text', kind, type = 'text/plain', path = '', url = '' } = {}) {
    const content = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes);
    const what = [JSON.stringify(name), createHash('sha256').update(content).digest('hex')];
    const doc = newId();
    const begun = await this.verb('upload_begin', space, 0, space, '', doc, what[0], content.length, what[1], CAP_BYTES, path, url, '', '', '');
    const [word, , ...rest] = begun.split('\n'); // what is left of its limits is between
    const reply = word === 'ok' ? await this.#store({ content, what, doc, space, name, kind, type, path, url }) : [word, ...rest].join('\n');
    return this.#uploaded(reply);
  }

  async #store({ content, what: [filename, sha], doc, space, name, kind, type, path, url }) {
    const blocks = Math.max(1, Math.ceil(content.length / UPLOAD_BLOCK_BYTES));
    for (let i = 0; i < blocks; i++) await this.cmd('RPUSHX', keyOf(space, `pushed:${doc}`), content.subarray(i * UPLOAD_BLOCK_BYTES, (i + 1) * UPLOAD_BLOCK_BYTES));
    return this.verb('upload', space, space, doc, newId(), filename, type, kind ?? KINDS[name.split('.').at(-1)] ?? 'none', content.length, blocks, sha, CAP_BYTES, path, url, '', '', '', '');
  }

  #uploaded(reply) {
    const [word, doc, job] = reply.split('\n');
    return word === 'ok' || word === 'duplicate' ? { word, doc, job } : { word };
  }

  async reindex(doc, space = 'o:alice') {
    return (await this.verb('doc_reindex', space, 0, space, doc, newId(), '', '')).split('\n')[1];
  }

  remove(doc, space = 'o:alice') {
    return this.verb('doc_delete', space, 0, space, doc);
  }

  async hash(name) {
    const flat = await this.ask('HGETALL', name);
    return Object.fromEntries(Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i], Buffer.from(flat[2 * i + 1], 'latin1').toString()]));
  }

  doc(doc) {
    return this.hash(`doc:${doc}`);
  }

  job(job) {
    return this.hash(`job:${job}`);
  }

  // The job, once it is over.
  ended(job, ms = 90_000) {
    return eventually(
      async () => {
        const found = await this.job(job);
        return ['DONE', 'FAILED', 'CANCELLED'].includes(found.status) ? found : null;
      },
      { what: `job ${job} is over`, ms },
    );
  }

  // As if the leases of all jobs under way were over: an indexer that starts takes them, however long a lease is. One
  // that is as short as a test would end on a slow machine when it should not.
  async endLeases() {
    for (const prefix of prefixesOf())
      for (const [entry, indexer] of await this.cmd('XPENDING', `${prefix}jobs`, 'indexers', '-', '+', 10))
        await this.cmd('XCLAIM', `${prefix}jobs`, 'indexers', indexer, 0, entry, 'IDLE', 3_600_000, 'JUSTID');
  }

  // How long the jobs under way have been without a sign of life of their indexers, in ms: the longest. Infinity: none is.
  async silentMs() {
    const found = await Promise.all(prefixesOf().map((prefix) => this.cmd('XPENDING', `${prefix}jobs`, 'indexers', '-', '+', 10)));
    const silent = found.flat().map(([, , ms]) => ms);
    return silent.length > 0 ? Math.max(...silent) : Infinity;
  }

  // Resolves once the job is in that stage under an indexer.
  stage(job, stage) {
    return eventually(
      async () => {
        const found = await this.job(job);
        if (['DONE', 'FAILED', 'CANCELLED'].includes(found.status)) throw new Error(`the job is ${found.status} already`);
        return found.status === 'RUNNING' && found.stage === stage;
      },
      { what: `job ${job} is in ${stage}`, every: 1, ms: 60_000 },
    );
  }

  // The stored text as bytes.
  async text(doc) {
    const { text } = await this.doc(doc);
    const flat = await this.ask('HGETALL', `text:${doc}:${text}`);
    const blocks = [];
    for (let i = 0; i < flat.length; i += 2) if (flat[i] !== 'pages') blocks[Number(flat[i])] = inflateRawSync(Buffer.from(flat[i + 1], 'latin1'));
    blocks.slice(0, -1).forEach((block) => assert.equal(block.length, BLOCK_BYTES));
    return Buffer.concat(blocks);
  }

  // The chunks of the pack that is searched: [start, end) in bytes and in characters.
  async chunks(doc) {
    const { generation } = await this.doc(doc);
    const pack = Buffer.from((await this.ask('GET', `pack:${doc}:${generation}`)) ?? '', 'latin1');
    assert.equal(pack.toString('latin1', 0, 4), 'PPK1');
    return Array.from({ length: pack.readUInt32LE(4) }, (_, i) => {
      const [start, end, startChars, endChars] = [0, 4, 8, 12].map((at) => pack.readUInt32LE(HEAD_BYTES + i * ROW_BYTES + at));
      return { start, end, startChars, endChars };
    });
  }

  // The document is searchable, and its passages are its text: each character that is no white space is
  // in one, they rise, none is there twice, and nothing of an earlier or lost try is left.
  async assertWhole(doc) {
    const found = await this.doc(doc);
    assert.equal(found.status, 'INDEXED');
    const [text, chunks] = [await this.text(doc), await this.chunks(doc)];
    assert.equal(chunks.length, Number(found.chunks));
    assert.ok(chunks.length > 0);
    let covered = 0;
    for (const [i, { start, end }] of chunks.entries()) {
      assert.ok(start < end && end <= text.length, `passage ${i} lies in the text`);
      assert.ok(i === 0 || start > chunks[i - 1].start, `passage ${i} comes after the one before it`);
      if (start > covered) assert.equal(text.toString('utf8', covered, start).trim(), '', `nothing is missing before passage ${i}`);
      covered = Math.max(covered, end);
    }
    assert.equal(text.toString('utf8', covered).trim(), '', 'nothing is missing at the end');
    assert.deepEqual(await this.cmd('KEYS', `*:pack:${doc}:*`), [keyOf(found.space, `pack:${doc}:${found.generation}`)]);
    assert.deepEqual(await this.cmd('KEYS', `*:text:${doc}:*`), [keyOf(found.space, `text:${doc}:${found.text}`)]);
    assert.equal(await this.sum('EXISTS', `upload:${doc}`), 0, 'the upload is gone');
    if (found.vectors) await this.assertVectors(found.space, found.vectors);
    return { text: text.toString(), chunks };
  }

  // Where vectors are in a vector set: one for each passage that is searched, and, once the trash is
  // swept, no others. While jobs are under way theirs are there too.
  async assertVectors(space, digest) {
    const set = await findKey(this, `vectors:${space}:${digest}`);
    const flat = await this.ask('HGETALL', `packs:${space}`);
    let expected = 0;
    for (let i = 0; i < flat.length; i += 2) {
      const { chunks, vectors } = await this.doc(flat[i]);
      if (vectors !== digest) continue;
      expected += Number(chunks);
      for (const at of [0, chunks - 1]) assert.ok(await this.cmd('VEMB', set, `${flat[i]}:${flat[i + 1]}:${at}`), `the vector of passage ${at}`);
    }
    while (Number(await this.verb('sweep', space, 1000)) > 0);
    if ((await this.sum('XLEN', 'jobs')) === 0) assert.equal(await this.cmd('VCARD', set), expected, 'vectors in the set');
  }

  // No job is under way or waits.
  async assertIdle() {
    assert.equal(await this.sum('XLEN', 'jobs'), 0, 'no entry is left in a stream');
    for (const prefix of prefixesOf()) {
      if ((await this.cmd('EXISTS', `${prefix}jobs`)) === 0) continue;
      const [pending] = await this.cmd('XPENDING', `${prefix}jobs`, 'indexers');
      assert.equal(pending, 0, 'none is pending');
    }
  }

  close() {
    this.client.close();
  }
}

// `redis` as startRedis gives it; may be called after each restart of it.
export async function openDesk(redis) {
  const desk = new Desk(openClient(redis, 'latin1'));
  await desk.cmd('FUNCTION', 'LOAD', 'REPLACE', libraryText());
  return desk;
}

// Texts of the same letters are near.
function countLetters(text, model, dimension) {
  const vector = new Array(dimension).fill(0.01);
  for (const letter of text.slice(0, 200)) vector[letter.codePointAt(0) % dimension] += 1;
  return vector;
}

// A server with /v1/embeddings that can be made to wait, and to fail.
//
//   const embedder = await startEmbedder();
//   … --embeddings openai:${embedder.url}#stub …
//   const release = embedder.hold();      // requests from now on wait for release()
//   await embedder.asked(2);              // two requests have come in all
//   embedder.status = 500;
//   embedder.dimension = 24;
//   embedder.vectorOf = (text, model, dimension) => [...]
class Embedder {
  constructor(server) {
    this.server = server;
    this.url = `http://127.0.0.1:${server.address().port}/v1`;
    this.requests = [];
    this.status = 200;
    this.dimension = 16;
    this.vectorOf = countLetters;
    server.on('request', (request, response) => this.answer(request, response).catch(() => response.destroy()));
  }

  hold() {
    let release;
    this.held = new Promise((resolve) => (release = resolve));
    return () => {
      this.held = undefined;
      release();
    };
  }

  asked(n) {
    return eventually(() => this.requests.length >= n, { what: `${n} requests for vectors have come` });
  }

  async answer(request, response) {
    if (request.method === 'GET') return response.writeHead(404).end(); // no list of models
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const record = { left: false };
    this.requests.push(record);
    response.on('close', () => (record.left = !response.writableFinished));
    const { input, model } = JSON.parse(Buffer.concat(chunks));
    record.input = [input].flat();
    await this.held;
    const data = [input].flat().map((text, index) => ({ object: 'embedding', index, embedding: this.vectorOf(text, model, this.dimension) }));
    response.writeHead(this.status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(this.status === 200 ? { object: 'list', data } : { error: { message: 'the stub fails' } }));
  }

  async stop() {
    this.server.closeAllConnections?.();
    this.server.close();
    await once(this.server, 'close');
  }
}

export async function startEmbedder() {
  const server = http.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  server.unref(); // a test that failed before stop() must not keep its process
  return new Embedder(server);
}

const CRC = Array.from({ length: 256 }, (_, n) => {
  for (let i = 0; i < 8; i++) n = n & 1 ? (n >>> 1) ^ 0xedb88320 : n >>> 1;
  return n >>> 0;
});

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC[(crc ^ byte) & 255];
  return (crc ^ 0xffffffff) >>> 0;
}

// A zip file with these entries, compressed.
export function makeZip(entries) {
  const files = [];
  const directory = [];
  let at = 0;
  for (const [name, content] of Object.entries(entries)) {
    const bytes = Buffer.from(content);
    const packed = deflateRawSync(bytes);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0); // version
    common.writeUInt16LE(8, 4); // deflate
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(name.length, 22);
    const entry = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), packed]);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, place, Buffer.from(name)]));
    files.push(entry);
    at += entry.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, list, end]);
}

// A DOCX document of these paragraphs.
export function makeDocx(paragraphs) {
  const body = paragraphs.map((text) => `<w:p><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`).join('');
  return makeZip({
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    'word/document.xml': `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${body}</w:body></w:document>`,
  });
}
