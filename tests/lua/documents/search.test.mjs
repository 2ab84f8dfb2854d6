// SPDX-License-Identifier: MIT
//
// search, packs, chunk, passages: what a search reads of Redis, of one space only.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { lines, scripts, zset } from '../../support/lua.mjs';
import { ALICE, BOB, docId, docOf, Indexer, jobId, keysOf, PACK, packOf, partsOf, upload, VECTOR, vectorOf, withoutVectorSets, withVectorSets } from '../../support/lua_documents.mjs';

const BINARY = { encoding: 'latin1' };
const search = ({ space = ALICE, limits = '', known = '', count = 5, vector = '', digest = '' } = {}) => ['search', 0, space, limits, known, count, vector, digest];
const indexed = (n, more) => ({ n, state: 'INDEXED', ...more });
const answer = (head, near = '') => `${head}\0${near}`;
// {head, near} of a reply; similarities as numbers.
function read(reply) {
  const [head, rest] = reply.split('\0');
  return { head: head.split('\n'), near: rest ? rest.split('\n').map((line) => line.split(' ')) : [] };
}

scripts('search', ({ cases, test, shard }) => {
  const two = () => keysOf(indexed(1, { version: 7 }), { n: 2 }, indexed(3, { generation: 7, version: 7 }), indexed(4, { space: BOB, version: 9 }));
  cases([
    { name: 'a space without anything', call: search(), reply: answer(lines('ok', '', 0, 0)) },
    { name: 'all that can be searched of that space, and nothing else', before: two, call: search(), reply: answer(lines('ok', '', 7, 2, `${docId(1)} 5`, `${docId(3)} 7`)) },
    { name: 'of another space', before: two, call: search({ space: BOB }), reply: answer(lines('ok', '', 9, 1, `${docId(4)} 5`)) },
    { name: 'the version that the node has: no documents', before: two, call: search({ known: 7 }), reply: answer(lines('ok', '', 7, 0)) },
    { name: 'another version that it has', before: two, call: search({ known: 6, space: BOB }), reply: answer(lines('ok', '', 9, 1, `${docId(4)} 5`)) },
    { name: 'a vector is of no use where vectors are in the packs', before: two, call: search({ known: 7, vector: VECTOR, digest: 'abc' }), reply: answer(lines('ok', '', 7, 0)) },
    {
      name: 'a limit that is reached',
      before: () => ({ 'limit:ask:alice': zset({ x: (Date.now() - 20_000) * 1000 }) }),
      call: search({ limits: 'ask:alice:1:60' }),
      reply: (found) => /^limited\n(39|40)\d\d\d\n1\n60$/.test(found),
    },
  ]);

  test('a nonce that was used before', async () => {
    const call = ['search', 1, ...search().slice(2)];
    assert.deepEqual((await shard.turn([call, [call[0], 2, ...call.slice(2)]], { nonces: ['nonce-0000000001', 'nonce-0000000001'] })).replies[1], 'replay');
  });

  for (const [answer, where] of [['set', withVectorSets], ['exact', withoutVectorSets]])
    test(`vectors: ${answer}, and nothing is written`, where(async (shard) => {
      assert.equal(await shard.call('vectors'), answer);
      await shard.assertKeys({});
    }));

  test('the version rises with each document that comes or goes, and never comes back', async () => {
    const version = async () => read(await shard.call(...search())).head[2];
    const seen = [await version()];
    for (let n = 1; n <= 3; n++) {
      await upload(shard, { n, space: ALICE, bytes: 'x' });
      assert.equal(await version(), seen.at(-1), 'an upload is not found yet');
      await new Indexer(shard).index();
      seen.push(await version());
      await shard.call('doc_delete', 0, ALICE, docId(n));
      seen.push(await version());
    }
    const numbers = seen.map(Number).filter((number) => number > 0);
    assert.deepEqual(seen.map(Number), [0, numbers[0], 0, numbers[1], 0, numbers[2], 0], 'an empty space is forgotten');
    assert.ok(numbers[0] < numbers[1] && numbers[1] < numbers[2], String(numbers));
  });

  test('10,000 documents', async () => {
    const flat = Array.from({ length: 10_000 }, (_, i) => [docId(i), 5]).flat();
    for (let i = 0; i < flat.length; i += 4000) await shard.cmd('HSET', shard.key(`packs:${ALICE}`), ...flat.slice(i, i + 4000));
    const { head } = read(await shard.call(...search()));
    assert.deepEqual([head.length, head[3]], [10_004, '10000']);
  });
}, BINARY);

scripts('search of a vector set', ({ test, shard }) => {
  const vectorTest = (name, body) => test(name, withVectorSets(body));
  // A document whose chunk i has the i-th vector.
  async function put(n, vectors, { space = ALICE, digest = 'abc', model = 'm' } = {}) {
    await upload(shard, { n, space: space, bytes: 'x' });
    return store(vectors, { digest, model });
  }
  async function store(vectors, { digest = 'abc', model = 'm', dimension = 4 } = {}) {
    const indexer = new Indexer(shard);
    const run = await indexer.take();
    if (run.blocks === '0') await indexer.parsed(run);
    for (let first = 0; first < vectors.length; first += 8) await indexer.vectors(run, { digest, first, vectors: vectors.slice(first, first + 8) });
    assert.equal(await indexer.store(run, { model, dimension, vectors: 'set', chunks: vectors.length }), 'ok');
    return run.lease;
  }
  const near = async (options) => read(await shard.call(...search({ vector: VECTOR, digest: 'abc', ...options }))).near;
  const names = (list) => list.map(([doc, generation, chunk]) => `${doc} ${generation} ${chunk}`);

  vectorTest('the nearest first, with their cosine', async () => {
    const lease = await put(1, [vectorOf(0, 1, 0, 0), vectorOf(1, 0, 0, 0), vectorOf(-1, 0, 0, 0), vectorOf(3, 4, 0, 0)]);
    const found = await near();
    assert.deepEqual(names(found), [1, 3, 0, 2].map((chunk) => `${docId(1)} ${lease} ${chunk}`));
    for (const [i, cosine] of [1, 0.6, 0, -1].entries()) assert.ok(Math.abs(found[i][3] - cosine) < 0.03, found[i][3]);
    assert.equal((await near({ count: 2 })).length, 2);
    assert.equal((await near({ count: 0 })).length, 0);
  });

  vectorTest('nothing of another owner, however near', async () => {
    await put(1, [vectorOf(0, 1, 0, 0)]);
    await put(2, [VECTOR], { space: BOB });
    assert.deepEqual((await near()).map(([doc]) => doc), [docId(1)]);
    assert.deepEqual((await near({ space: BOB })).map(([doc]) => doc), [docId(2)]);
  });

  vectorTest('no vector, and one of another model or dimension, finds nothing, and is no error', async () => {
    await put(1, [VECTOR]);
    for (const options of [{ vector: '' }, { digest: 'def' }, { digest: 'def', vector: vectorOf(1, 0, 0) }, { digest: '' }]) assert.deepEqual(await near(options), []);
    assert.equal((await near()).length, 1);
  });

  vectorTest('while a space goes from one model to another, each question finds what is of its own', async () => {
    await put(1, [VECTOR]);
    const old = await put(2, [VECTOR]);
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(9));
    const fresh = await store([vectorOf(1, 0)], { digest: 'def', model: 'other', dimension: 2 });
    assert.deepEqual(names(await near()), [`${docId(2)} ${old} 0`]);
    assert.deepEqual(names(await near({ digest: 'def', vector: vectorOf(1, 0) })), [`${docId(1)} ${fresh} 0`]);
    await shard.call('doc_reindex', 0, ALICE, docId(2), jobId(10));
    const last = await store([vectorOf(1, 0)], { digest: 'def', model: 'other', dimension: 2 });
    assert.deepEqual(await near(), []);
    assert.deepEqual(names(await near({ digest: 'def', vector: vectorOf(1, 0) })).sort(), [`${docId(1)} ${fresh} 0`, `${docId(2)} ${last} 0`]);
    while ((await shard.call('sweep', 100)) !== '0');
    assert.equal(await shard.cmd('EXISTS', shard.key(`vectors:${ALICE}:abc`)), 0, 'nothing of the former model is left');
  });

  vectorTest('race: a document is deleted and its elements are there still: they are not found', async () => {
    await put(1, Array(400).fill(VECTOR));
    const lease = await put(2, [vectorOf(0, 1, 0, 0)]);
    await shard.call('doc_delete', 0, ALICE, docId(1));
    assert.deepEqual(names(await near({ count: 1 })), [`${docId(2)} ${lease} 0`]);
  });

  vectorTest('race: elements of an indexing under way are not found before it is stored', async () => {
    const first = await put(1, [vectorOf(0, 1, 0, 0)]);
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(9));
    const indexer = new Indexer(shard);
    const run = await indexer.take();
    await indexer.vectors(run, { vectors: [VECTOR] });
    assert.deepEqual(names(await near()), [`${docId(1)} ${first} 0`]);
    await indexer.store(run, { model: 'm', vectors: 'set' });
    assert.deepEqual(names(await near()), [`${docId(1)} ${run.lease} 0`]);
  });
}, BINARY);

// The digest of what vectors are of: model and dimension.
const HASH_4 = createHash('sha1').update('hash 4').digest('hex');

scripts('packs', ({ cases, test, shard }) => {
  const parts = (...words) => words.map((word) => `${word.length}:${word}`).join('');
  const url = '"https://h/a"';
  const before = () => keysOf(indexed(1), indexed(2, { url, pack: `${PACK}\0\n:7` }), indexed(3, { space: BOB }));
  cases([
    { name: 'none', call: ['packs', ALICE], reply: '' },
    { name: 'each with its title and page', before, call: ['packs', ALICE, docId(2), 5, docId(1), 5], reply: parts(docId(2), '5', '"f2.txt"', url, HASH_4, `${PACK}\0\n:7`) + parts(docId(1), '5', '"f1.txt"', '', HASH_4, PACK) },
    { name: 'one of another owner is gone', before, call: ['packs', ALICE, docId(3), 5], reply: parts(docId(3), '5', '', '', '', '') },
    { name: 'one of another generation is gone', before, call: ['packs', ALICE, docId(1), 4, docId(2), 5], reply: parts(docId(1), '4', '"f1.txt"', '', HASH_4, '') + parts(docId(2), '5', '"f2.txt"', url, HASH_4, `${PACK}\0\n:7`) },
    { name: 'one that never was is gone', call: ['packs', ALICE, docId(1), 1], reply: parts(docId(1), '1', '', '', '', '') },
  ]);

  test('as many as fit into 4 MiB, and one at least', async () => {
    const MIB = 1 << 20;
    await shard.seed(keysOf(indexed(1, { pack: 'x'.repeat(5 * MIB) }), indexed(2, { pack: 'y'.repeat(3 * MIB) }), indexed(3, { pack: 'z'.repeat(MIB) }), indexed(4)));
    const reported = async (...numbers) => partsOf(await shard.call('packs', ALICE, ...numbers.flatMap((n) => [docId(n), 5]))).filter((_, i) => i % 6 === 0);
    assert.deepEqual(await reported(1, 2, 3, 4), [docId(1)]);
    assert.deepEqual(await reported(2, 3, 4), [docId(2), docId(3)]);
    assert.deepEqual(await reported(4), [docId(4)]);
  });
}, BINARY);

scripts('chunk, passages', ({ cases, test, shard }) => {
  const BLOCK = 8192;
  const url = '"https://h/a"';
  // Chunks: in the first block, over its end, in the last one, empty, and one that is too large.
  const pack = packOf([0, 10, 0, 9], [BLOCK - 5, BLOCK + 5, 65000, 65010, 12], [2 * BLOCK, 2 * BLOCK + 7], [4, 4], [0, 5 * BLOCK], [9, 3]);
  const one = indexed(1, { pack, url, text: [5, 'block 0', 'block\0 1', 'block 2'] });
  const before = () => keysOf(one);
  const chunk = (index, space = ALICE) => ['chunk', 0, space, docId(1), index];
  const inFirst = lines(5, 0, 10, 0, 9, 0, 0) + '\x007:block 0';
  const overEnd = lines(5, BLOCK - 5, BLOCK + 5, 65000, 65010, 12, 0) + '\x007:block 08:block\0 1';
  const passage = (text) => `${text.length}:${text}`;
  cases([
    { name: 'a chunk within a block', before, call: chunk(0), reply: `ok\n"f1.txt"\n${inFirst}` },
    { name: 'a chunk over the end of a block', before, call: chunk(1), reply: `ok\n"f1.txt"\n${overEnd}` },
    { name: 'a chunk in the last block', before, call: chunk(2), reply: lines('ok', '"f1.txt"', 5, 2 * BLOCK, 2 * BLOCK + 7, 2 * BLOCK, 2 * BLOCK + 7, 0, 2) + '\x007:block 2' },
    { name: 'an empty chunk', before, call: chunk(3), reply: lines('ok', '"f1.txt"', 5, 4, 4, 4, 4, 0, 0) + '\x007:block 0' },
    { name: 'a chunk of another owner is missing', before, call: chunk(0, BOB), reply: 'missing' },
    { name: 'a document that never was', call: chunk(0), reply: 'missing' },
    { name: 'a document that is not indexed yet', before: () => keysOf({ n: 1 }), call: chunk(0), reply: 'missing' },
    { name: 'indexes that are none, and packs that are damaged', before, calls: [6, -1, 1e9, '', 'x', 0.5, '1e400', 'nan', 4, 5].map((index) => chunk(index)), replies: Array(10).fill('missing') },
    { name: 'a pack that says more chunks than it has', before: () => keysOf(indexed(1, { pack: PACK.slice(0, 40) })), call: chunk(0), reply: 'missing' },
    { name: 'a pack that is none', before: () => keysOf(indexed(1, { pack: 'x'.repeat(80) })), call: chunk(0), reply: 'missing' },
    { name: 'a block that is not there', before: () => keysOf({ ...one, text: [5, 'block 0'] }), call: chunk(1), reply: 'missing' },
    {
      name: 'while other bytes wait to be indexed, the text is the one that the pack points into',
      before: () => keysOf({ ...one, state: 'INDEXING', upload: undefined, generation: 5, chunks: 6, oldText: one.text, text: [8, 'other'] }),
      call: chunk(0),
      reply: `ok\n"f1.txt"\n${inFirst}`,
    },
    { name: 'passages: none', call: ['passages', ALICE], reply: '' },
    {
      name: 'passages: each with its page, and empty ones for what is gone',
      before: () => keysOf(one, indexed(2, { space: BOB })),
      call: ['passages', ALICE, docId(1), 5, 1, docId(2), 5, 0, docId(1), 4, 0, docId(1), 5, 6, docId(3), 5, 0, docId(1), 5, 0],
      reply: passage(`ok\n"f1.txt"\n${url}\n${overEnd}`) + '0:0:0:0:' + passage(`ok\n"f1.txt"\n${url}\n${inFirst}`),
    },
  ]);

  test('what a job has stored is found again, chunk by chunk', async () => {
    await upload(shard, { filename: '"f"', bytes: 'x' });
    await new Indexer(shard).index({ pack: packOf([0, 3], [3, 5]), chunks: 2, blocks: ['block'] });
    assert.equal(await shard.call(...chunk(1)), lines('ok', '"f"', 1, 3, 5, 3, 5, 0, 0) + '\x005:block');
    assert.equal(await shard.call(...chunk(2)), 'missing');
    assert.equal((await shard.get(`doc:${docId(1)}`)).bytes, String(docOf({ n: 1, pack: packOf([0, 3], [3, 5]), upload: undefined, text: [1, 'block'] }).bytes));
  });
}, BINARY);
