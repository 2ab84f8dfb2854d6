// SPDX-License-Identifier: MIT
//
// upload, docs, doc, doc_delete, doc_reindex: what is stored of a document, and for whom.
import assert from 'node:assert/strict';
import { ago, anything, lines, list, scripts, soon, stream, ttl, zset } from '../../support/lua.mjs';
import { ALICE, blocksOf, BOB, BOOK, cancelled, docId, docOf, elementsBytes, HOUR_S, Indexer, indexingEvent, jobId, jobOf, keysOf, linesOf, PACK, PUSH_S, pushed, shaOf, unfinished, withVectorSets } from '../../support/lua_documents.mjs';

const CAP = 1000;
const BINARY = { encoding: 'latin1' };
const ANY_BYTES = String.fromCharCode(...Array(256).keys());

// As one that was uploaded just now: its times and the id of its entry are new.
function fresh(given) {
  const keys = keysOf(given);
  const { j = given.n, space = ALICE } = given;
  Object.assign(keys[`doc:${docId(given.n)}`], { created: given.created ?? ago(), updated: ago() });
  Object.assign(keys[`job:${jobId(j)}`], { created: ago(), updated: ago(), entry: anything });
  keys[`docs:${space}`] = zset({ [docId(given.n)]: given.created ?? ago() });
  keys[`recent_jobs:${space}`] = zset({ [jobId(j)]: unfinished });
  keys.jobs = (found) => found.length === 1 && found[0][1].job === jobId(j);
  keys.job_turns = { [space]: jobId(j) };
  return keys;
}

// `readers`: what a caller adds that reads documents of that kind in this version.
const begin = ({ n = 1, space = ALICE, limits = '', bytes = `bytes ${n}`, sha = shaOf(n), cap = CAP, path = '', url = '', filename = `"f${n}.txt"`, kind = 'text', readers } = {}) =>
  ['upload_begin', 0, space, limits, docId(n), filename, bytes.length, sha, cap, path, url, ...(readers ? ['', kind, readers] : [])];
// The call, and in `blocks` the keys that it takes over.
const upload = ({ n = 1, j = n, space = ALICE, bytes = `bytes ${n}`, sha = shaOf(n), cap = CAP, path = '', url = '', filename = `"f${n}.txt"`, readers } = {}) =>
  Object.assign(['upload', space, docId(n), jobId(j), filename, 'text/plain', 'text', bytes.length, blocksOf(bytes).length, sha, cap, path, url, ...(readers ? ['', '', '', readers] : [])],
    { blocks: pushed({ n, space, bytes }) });
// The call, with its blocks in Redis.
async function pushedUpload(shard, options) {
  const call = upload(options);
  await shard.seed(call.blocks);
  return call;
}
// Whatever it replies, the blocks are not there any more.
function withBlocks(one) {
  const blocks = Object.assign({}, ...(one.calls ?? [one.call]).map((call) => call.blocks));
  const made = (keys) => (typeof keys === 'function' ? keys() : keys);
  return { ...one, before: () => ({ ...made(one.before), ...blocks }), after: () => ({ ...Object.fromEntries(Object.keys(blocks).map((name) => [name, null])), ...made(one.after) }) };
}
const ok = (n, j = n) => lines('ok', docId(n), jobId(j));

scripts('upload_begin', ({ cases, test, shard }) => {
  const OK = lines('ok', ''); // nothing limits it
  const begun = (n = 1, space = ALICE) => ({ [`pushed:${docId(n)}`]: ttl(PUSH_S, list(space)) });
  cases([
    { name: 'there is a list for the blocks, which ends by itself', call: begin(), reply: OK, after: begun() },
    { name: 'begun twice, as after a lost reply, it is one list', calls: [begin(), begin()], replies: [OK, OK], after: begun() },
    { name: 'two of the same bytes at once are both begun', calls: [begin(), begin({ n: 2, sha: shaOf(1) })], replies: [OK, OK], after: { ...begun(), ...begun(2) } },
    { name: 'bytes that are there already are not sent', before: () => keysOf({ n: 1 }), call: begin({ n: 2, sha: shaOf(1) }), reply: lines('duplicate', '', docId(1), jobId(1), 'QUEUED', '"f1.txt"') },
    { name: 'those of another owner are', before: () => keysOf({ n: 1 }), call: begin({ n: 2, space: BOB, sha: shaOf(1) }), reply: OK, after: begun(2, BOB) },
    { name: 'bytes that are read better now are sent again', before: () => keysOf({ n: 1, state: 'INDEXED' }), call: begin({ n: 2, sha: shaOf(1), readers: 2 }), reply: OK, after: begun(2) },
    { name: 'those that nobody of a version has read, too', before: () => keysOf({ n: 1, state: 'INDEXED', readers: 0 }), call: begin({ n: 2, sha: shaOf(1), readers: 1 }), reply: OK, after: begun(2) },
    { name: 'those of a name that is of another kind now, too', before: () => keysOf({ n: 1, state: 'INDEXED' }), call: begin({ n: 2, sha: shaOf(1), filename: '"f1.txt"', kind: 'html', readers: 1 }), reply: OK, after: begun(2) },
    ...[
      ['readers of this version have read', { state: 'INDEXED' }, { readers: 1 }],
      ['readers of a later version have read', { state: 'INDEXED', readers: 3 }, { readers: 2 }],
      ['are there under a name of another kind', { state: 'INDEXED' }, { kind: 'html', readers: 2 }],
      ['wait to be read', { state: 'INDEXING' }, { readers: 2 }],
    ].map(([name, given, wanted]) => ({ name: `bytes that ${name} are not sent`, before: () => keysOf({ n: 1, ...given }), call: begin({ n: 2, sha: shaOf(1), ...wanted }), reply: lines('duplicate', '', docId(1), jobId(1), given.state, '"f1.txt"') })),
    { name: 'what failed may be sent again', before: () => keysOf({ n: 1, state: 'FAILED' }), call: begin({ n: 2, sha: shaOf(1) }), reply: OK, after: begun(2) },
    { name: 'past the cap nothing is sent', before: () => keysOf({ n: 1, state: 'INDEXED' }), call: begin({ n: 2, cap: 20 }), reply: lines('full', '', 'block'.length + PACK.length, 20) },
    { name: 'the reply states what is left of a limit, whatever becomes of the upload', before: () => keysOf({ n: 1 }), call: begin({ n: 2, sha: shaOf(1), limits: 'upload:alice:5:60,upload:alice:50:3600' }), reply: lines('duplicate', '5 4 60000', docId(1), jobId(1), 'QUEUED', '"f1.txt"'), after: { 'limit:upload:alice': ttl(HOUR_S, anything) } },
    {
      name: 'a limit that is reached refuses it, and counts nothing',
      before: () => ({ 'limit:upload:alice': zset({ x: (Date.now() - 20_000) * 1000 }) }),
      call: begin({ limits: 'upload:alice:1:60,upload:alice:50:3600' }),
      reply: (found) => /^limited\n(39|40)\d\d\d\n1\n60$/.test(found),
    },
    { name: 'the same file of a collection is a duplicate', before: () => keysOf({ n: 1, space: BOOK, path: 'a' }), call: begin({ n: 2, sha: shaOf(1), space: BOOK, path: 'a', filename: '"f1.txt"' }), reply: lines('duplicate', '', docId(1), jobId(1), 'QUEUED', '"f1.txt"') },
    { name: 'new bytes count in the place of those that they replace', before: () => keysOf({ n: 1, space: BOOK, path: 'a' }), call: begin({ n: 2, space: BOOK, path: 'a', cap: 7 }), reply: OK, after: begun(2, BOOK) },
  ]);

  test('a used nonce begins nothing, and the limit counts nothing', async () => {
    const call = begin({ limits: 'upload:alice:9:60' });
    call[1] = 1;
    const frame = { nonces: ['nonce-0000000001'] };
    assert.deepEqual((await shard.turn([call], frame)).replies, ['ok\n9 8 60000']);
    await shard.cmd('DEL', shard.key(`pushed:${docId(1)}`));
    assert.deepEqual((await shard.turn([call], frame)).replies, ['replay']);
    assert.equal(await shard.get(`pushed:${docId(1)}`), undefined);
    assert.equal(Object.keys((await shard.get('limit:upload:alice')).value).length, 1);
  });

  test('a space of 10,000 documents takes no more', async () => {
    await shard.cmd('ZADD', shard.key(`docs:${ALICE}`), ...Array.from({ length: 10_000 }, (_, i) => [i, `x${i}`]).flat());
    assert.equal(await shard.call(...begin()), lines('many', ''));
  });

  test('limits that are no limits are an error, and nothing is stored', async () => {
    for (const limits of ['upload', 'upload:alice:1', 'upload:alice:x:60', 'a:b:1:60;c:d:1:60', Array(9).fill('a:b:1:60').join()]) {
      assert.match(String(await shard.call(...begin({ limits }))), /limits: /);
    }
    await shard.assertKeys({});
  });
}, BINARY);

scripts('upload', ({ cases, test, shard }) => {
  const store = (options) => pushedUpload(shard, options);
  cases([
    { name: 'a new document is stored and queued', call: upload(), reply: ok(1), after: fresh({ n: 1 }) },
    { name: 'any bytes, and none', call: upload({ bytes: ANY_BYTES }), reply: ok(1), after: fresh({ n: 1, upload: ANY_BYTES }) },
    {
      name: 'the same bytes again are a duplicate, under the first ids',
      before: () => keysOf({ n: 1, state: 'INDEXED' }),
      call: upload({ n: 2, sha: shaOf(1), bytes: 'bytes 1' }),
      reply: lines('duplicate', docId(1), jobId(1), 'INDEXED', '"f1.txt"'),
    },
    {
      name: 'the same bytes of another owner are a document of its own',
      calls: [upload(), upload({ n: 2, space: BOB, sha: shaOf(1), bytes: 'bytes 1' })],
      replies: [ok(1), ok(2)],
      after: {
        ...fresh({ n: 1 }),
        ...fresh({ n: 2, space: BOB, sha: shaOf(1), upload: 'bytes 1' }),
        jobs: (found) => found.map(([, { job }]) => job).join() === [jobId(1), jobId(2)].join(),
        job_turns: { [ALICE]: jobId(1), [BOB]: jobId(2) },
      },
    },
    {
      name: 'race: the same bytes twice in one turn are stored once',
      calls: [upload(), upload({ n: 2, sha: shaOf(1), bytes: 'bytes 1' })],
      replies: [ok(1), lines('duplicate', docId(1), jobId(1), 'QUEUED', '"f1.txt"')],
      after: fresh({ n: 1 }),
    },
    {
      name: 'a request that is sent again after a lost connection finds its own document',
      before: () => keysOf({ n: 1 }),
      call: upload(),
      reply: lines('duplicate', docId(1), jobId(1), 'QUEUED', '"f1.txt"'),
    },
    {
      name: 'what failed is stored again, under the same document and a new job',
      before: () => keysOf({ n: 1, state: 'FAILED', text: [3, 'old text'] }),
      call: upload({ n: 2, sha: shaOf(1), bytes: 'bytes 1', filename: '"again.txt"' }),
      reply: lines('ok', docId(1), jobId(2)),
      after: {
        ...fresh({ n: 1, j: 2, created: 1001, filename: '"again.txt"' }),
        [`text:${docId(1)}:3`]: null,
        [`job:${jobId(1)}`]: ttl(HOUR_S, jobOf({ n: 1, state: 'FAILED' })),
        [`recent_jobs:${ALICE}`]: zset({ [jobId(1)]: soon(HOUR_S * 1000), [jobId(2)]: unfinished }),
      },
    },
    {
      name: 'what is read better now is stored again, and found as before until it is indexed',
      before: () => keysOf({ n: 1, state: 'INDEXED' }),
      call: upload({ n: 2, sha: shaOf(1), bytes: 'bytes 1', filename: '"f1.txt"', readers: 2 }),
      reply: lines('ok', docId(1), jobId(2)),
      after: {
        ...fresh({ n: 1, j: 2, created: 1001, generation: 5, chunks: 1, model: 'hash', oldText: [5, 'block'] }),
        [`text:${docId(1)}:5`]: { 0: 'block' },
        [`job:${jobId(1)}`]: ttl(HOUR_S, jobOf({ n: 1, state: 'INDEXED' })),
        [`recent_jobs:${ALICE}`]: zset({ [jobId(1)]: soon(HOUR_S * 1000), [jobId(2)]: unfinished }),
      },
    },
    {
      name: 'past the cap nothing is stored',
      before: () => keysOf({ n: 1, state: 'INDEXED' }),
      call: upload({ n: 2, cap: 'block'.length + PACK.length + 6 }),
      reply: lines('full', 'block'.length + PACK.length, 'block'.length + PACK.length + 6),
    },
    { name: 'up to the cap it is', call: upload({ cap: 7 }), reply: ok(1), after: fresh({ n: 1 }) },
    {
      name: 'the cap of one owner is not that of another',
      before: () => keysOf({ n: 2, space: BOB, upload: 'x'.repeat(CAP) }),
      call: upload(),
      reply: ok(1),
      after: { ...fresh({ n: 1 }), jobs: (found) => found.length === 2 },
    },
    {
      name: 'a file of a collection is known by its path',
      call: upload({ space: BOOK, path: 'a%2Fb.md', url: '"https://h/b"' }),
      reply: ok(1),
      after: fresh({ n: 1, space: BOOK, path: 'a%2Fb.md', url: '"https://h/b"' }),
    },
    {
      name: 'the same file with the same bytes is a duplicate',
      before: () => keysOf({ n: 1, state: 'INDEXED', space: BOOK, path: 'a' }),
      call: upload({ n: 2, sha: shaOf(1), space: BOOK, path: 'a', filename: '"f1.txt"' }),
      reply: lines('duplicate', docId(1), jobId(1), 'INDEXED', '"f1.txt"'),
    },
    {
      name: 'two files of a collection with the same bytes are two documents: either may go',
      calls: [upload({ space: BOOK, path: 'a' }), upload({ n: 2, sha: shaOf(1), bytes: 'bytes 1', space: BOOK, path: 'b' })],
      replies: [ok(1), ok(2)],
      after: {
        ...fresh({ n: 1, space: BOOK, path: 'a' }),
        ...fresh({ n: 2, space: BOOK, path: 'b', sha: shaOf(1), upload: 'bytes 1' }),
        [`paths:${BOOK}`]: { a: docId(1), b: docId(2) },
        [`docs:${BOOK}`]: zset({ [docId(1)]: ago(), [docId(2)]: ago() }),
        [`recent_jobs:${BOOK}`]: zset({ [jobId(1)]: unfinished, [jobId(2)]: unfinished }),
        [`space:${BOOK}`]: { bytes: 14 },
        [`job:${jobId(2)}`]: { ...jobOf({ n: 2, space: BOOK, path: 'b' }), created: ago(), updated: ago(), entry: '' },
        jobs: (found) => found.length === 1,
        job_turns: { [BOOK]: jobId(1) },
        [`queued_jobs:${BOOK}`]: zset({ [jobId(2)]: ago() }),
      },
    },
    {
      name: 'a file with other bytes keeps its document, whose pack and text stay until the new ones are indexed',
      before: () => keysOf({ n: 1, state: 'INDEXED', space: BOOK, path: 'a' }),
      call: upload({ n: 2, space: BOOK, path: 'a', filename: '"f1.txt"' }),
      reply: lines('ok', docId(1), jobId(2)),
      after: {
        ...fresh({ n: 1, j: 2, created: 1001, space: BOOK, path: 'a', sha: shaOf(2), upload: 'bytes 2', generation: 5, chunks: 1, model: 'hash', oldText: [5, 'block'] }),
        [`job:${jobId(1)}`]: ttl(HOUR_S, jobOf({ n: 1, state: 'INDEXED', space: BOOK })),
        [`recent_jobs:${BOOK}`]: zset({ [jobId(1)]: soon(HOUR_S * 1000), [jobId(2)]: unfinished }),
      },
    },
    {
      name: 'a file whose page has another address is indexed again',
      before: () => keysOf({ n: 1, state: 'INDEXED', space: BOOK, path: 'a', url: '"https://old/a"' }),
      call: upload({ n: 2, sha: shaOf(1), bytes: 'bytes 1', space: BOOK, path: 'a', filename: '"f1.txt"', url: '"https://new/a"' }),
      reply: lines('ok', docId(1), jobId(2)),
      after: {
        ...fresh({ n: 1, j: 2, created: 1001, space: BOOK, path: 'a', url: '"https://new/a"', upload: 'bytes 1', generation: 5, chunks: 1, model: 'hash', oldText: [5, 'block'] }),
        [`job:${jobId(1)}`]: ttl(HOUR_S, jobOf({ n: 1, state: 'INDEXED', space: BOOK })),
        [`recent_jobs:${BOOK}`]: zset({ [jobId(1)]: soon(HOUR_S * 1000), [jobId(2)]: unfinished }),
      },
    },
    {
      name: 'race: new bytes come while the old ones wait to be indexed: that job is cancelled, and watchers are notified',
      before: () => ({ ...keysOf({ n: 1, space: BOOK, path: 'a' }), [`watchers:${BOOK}`]: zset({ n1: Date.now() + 50_000, n2: Date.now() + 50_000, n3: 5 }) }),
      alive: ['n2', 'n3'],
      call: upload({ n: 2, space: BOOK, path: 'a', filename: '"f1.txt"' }),
      reply: lines('ok', docId(1), jobId(2)),
      events: [indexingEvent({ n: 1, space: BOOK }, 'index_failed', 'PARSE', 0, '"The document was uploaded again."')],
      published: [['node:n2', indexingEvent({ n: 1, space: BOOK }, 'index_failed', 'PARSE', 0, '"The document was uploaded again."')]],
      after: { ...fresh({ n: 1, j: 2, created: 1001, space: BOOK, path: 'a', sha: shaOf(2), upload: 'bytes 2' }), [`job:${jobId(1)}`]: cancelled({ n: 1, space: BOOK }) },
    },
    {
      name: 'new bytes count in the place of those that they replace',
      before: () => keysOf({ n: 1, space: BOOK, path: 'a' }),
      call: upload({ n: 2, space: BOOK, path: 'a', cap: 7, filename: '"f1.txt"' }),
      reply: lines('ok', docId(1), jobId(2)),
      after: { ...fresh({ n: 1, j: 2, created: 1001, space: BOOK, path: 'a', sha: shaOf(2), upload: 'bytes 2' }), [`job:${jobId(1)}`]: cancelled({ n: 1, space: BOOK }) },
    },
      {
      name: 'blocks that are not all there are no document',
      before: () => pushed({ n: 1, bytes: '' }),
      call: ['upload', ALICE, docId(1), jobId(1), '"f"', 'text/plain', 'text', 1 << 20, 2, shaOf(1), 1e9, '', ''],
      reply: 'gone',
      after: { [`pushed:${docId(1)}`]: null },
    },
    { name: 'blocks that have expired', call: ['upload', ALICE, docId(1), jobId(1), '"f"', 'text/plain', 'text', 7, 1, shaOf(1), 1e9, '', ''], reply: 'gone' },
    {
      name: 'race: the blocks of one owner are not taken for those of another',
      before: () => pushed({ n: 1, space: BOB }),
      call: ['upload', ALICE, docId(1), jobId(1), '"f"', 'text/plain', 'text', 7, 1, shaOf(1), 1e9, '', ''],
      reply: 'gone',
      after: { [`pushed:${docId(1)}`]: null },
    },
  ].map(withBlocks));

  test('the blocks of a large file are taken over as they are', async () => {
    const bytes = `${'a'.repeat(1 << 20)}${'b'.repeat(1 << 20)}c`;
    assert.equal(await shard.call(...(await store({ bytes, cap: 1e9 }))), ok(1));
    assert.deepEqual((await shard.get(`upload:${docId(1)}`)).value, blocksOf(bytes));
    assert.equal((await shard.get(`doc:${docId(1)}`)).bytes, String(bytes.length));
  });

  test('one that may bring another model says so to its job', async () => {
    for (const [n, word, isReindex] of [[1, '1', '1'], [2, '0', '0'], [3, '', '0']]) {
      assert.equal(await shard.call(...(await store({ n })), word), ok(n));
      assert.equal((await shard.get(`job:${jobId(n)}`)).is_reindex, isReindex);
    }
  });

  test('a space takes 10,000 documents', async () => {
    const members = Array.from({ length: 9_999 }, (_, i) => [i, `x${i}`]).flat();
    await shard.cmd('ZADD', shard.key(`docs:${ALICE}`), ...members);
    assert.equal(await shard.call(...(await store())), ok(1));
    assert.equal(await shard.call(...(await store({ n: 2 }))), 'many');
    assert.equal(await shard.call(...(await store({ n: 3, space: BOB }))), ok(3));
    assert.equal(await shard.get(`upload:${docId(2)}`), undefined);
  });

  test('documents of one millisecond stand in the order in which they came', async () => {
    const { replies } = await shard.turn(await Promise.all(Array.from({ length: 50 }, (_, i) => store({ n: i + 1 }))));
    assert.ok(replies.every((reply) => reply.startsWith('ok\n')));
    const found = await shard.cmd('ZRANGE', shard.key(`docs:${ALICE}`), 0, -1, 'WITHSCORES');
    assert.deepEqual(found.filter((_, i) => i % 2 === 0), Array.from({ length: 50 }, (_, i) => docId(i + 1)));
    assert.equal(new Set(found.filter((_, i) => i % 2)).size, 50);
  });

  test('of the recent jobs the newest 200 unfinished ones are kept, finished ones go first', async () => {
    await shard.seed(keysOf({ n: 1, state: 'INDEXED' }));
    for (let i = 2; i < 202; i += 50) await shard.turn(await Promise.all(Array.from({ length: 50 }, (_, k) => store({ n: i + k, cap: 1e6 }))));
    const found = await shard.get(`recent_jobs:${ALICE}`);
    assert.equal(Object.keys(found.value).length, 200);
    assert.ok(!(jobId(1) in found.value) && jobId(2) in found.value && jobId(201) in found.value);
  });
}, BINARY);

scripts('docs', ({ cases, test, shard }) => {
  const docs = (space = ALICE, before = '', n = '') => ['docs', 0, space, before, n];
  const two = [{ n: 1, state: 'INDEXED' }, { n: 2, state: 'FAILED' }];
  cases([
    { name: 'a space without documents', call: docs(), reply: lines('ok', '') },
    { name: 'the newest first, each with its latest job', before: () => keysOf(...two), call: docs(), reply: lines('ok', '', linesOf(two[1]), linesOf(two[0])) },
    { name: 'only those before a time', before: () => keysOf(...two), call: docs(ALICE, 1002), reply: lines('ok', '', linesOf(two[0])) },
    { name: 'none of another owner', before: () => keysOf(...two, { n: 3, space: BOB }), call: docs(BOB), reply: lines('ok', '', linesOf({ n: 3, space: BOB })) },
    {
      name: 'a document whose job is not known any more',
      before: () => {
        const keys = keysOf(two[0]);
        delete keys[`job:${jobId(1)}`];
        return keys;
      },
      call: docs(),
      reply: lines('ok', '', linesOf(two[0]).split('\n').slice(0, 10).join('\n'), '', '', '', '', '', '', 'hash', 0, shaOf(1)),
    },
    {
      name: 'documents of an outdated model or dimension are reported',
      before: () => keysOf({ n: 1, state: 'INDEXED', dimension: 8 }, { n: 2, state: 'INDEXED', model: 'old' }, { n: 3, state: 'INDEXED' }, { n: 4 }),
      call: docs(),
      reply: lines('ok', '', linesOf({ n: 4 }), linesOf({ n: 3, state: 'INDEXED' }), linesOf({ n: 2, state: 'INDEXED', model: 'old', isOld: true }), linesOf({ n: 1, state: 'INDEXED', dimension: 8, isOld: true })),
    },
  ]);

  test('1,000 a page, and the next page continues after it', async () => {
    for (let i = 1; i <= 1001; i += 91) await shard.turn(await Promise.all(Array.from({ length: 91 }, (_, k) => pushedUpload(shard, { n: i + k, cap: 1e6 }))));
    const first = (await shard.call(...docs())).split('\n');
    assert.deepEqual([first.length, first[1], first[2]], [2 + 19_000, first.at(-19 + 5), docId(1001)]);
    const rest = (await shard.call(...docs(ALICE, first[1]))).split('\n');
    assert.deepEqual([rest[1], rest[2]], ['', docId(1)]);
  });
}, BINARY);

scripts('doc', ({ cases }) => {
  const before = () => keysOf({ n: 1, state: 'INDEXED' }, { n: 2, space: BOB });
  const doc = (n, space = ALICE) => ['doc', 0, space, docId(n)];
  cases([
    { name: 'one of that owner', before, call: doc(1), reply: lines('ok', linesOf({ n: 1, state: 'INDEXED' })) },
    { name: 'one of another owner is missing', before, call: doc(2), reply: 'missing' },
    { name: 'one that never was is missing', before, call: doc(3), reply: 'missing' },
    { name: 'an empty id is missing', before, call: ['doc', 0, ALICE, ''], reply: 'missing' },
  ]);
}, BINARY);

scripts('doc_delete', ({ cases, test, shard }) => {
  const remove = (n = 1, space = ALICE) => ['doc_delete', 0, space, docId(n)];
  const gone = (...documents) => Object.fromEntries(Object.keys(keysOf(...documents)).map((name) => [name, null]));
  const indexed = { n: 1, state: 'INDEXED' };
  cases([
    { name: 'one of another owner is missing, and stays', before: () => keysOf({ n: 1, space: BOB }), call: remove(), reply: 'missing' },
    { name: 'one that never was', call: remove(), reply: 'missing' },
    {
      name: 'everything of the last one goes',
      before: () => keysOf(indexed),
      calls: [remove(), remove()],
      replies: ['ok', 'missing'],
      after: { ...gone(indexed), [`job:${jobId(1)}`]: ttl(HOUR_S, jobOf(indexed)), meta: anything },
    },
    {
      name: 'of two one stays, with its bytes and chunks',
      before: () => keysOf(indexed, { n: 2, state: 'INDEXED', text: [5, 'second'], chunks: 3 }),
      call: remove(),
      reply: 'ok',
      after: {
        ...gone(indexed),
        ...keysOf({ n: 2, state: 'INDEXED', text: [5, 'second'], chunks: 3, version: 1 }),
        [`recent_jobs:${ALICE}`]: zset({ [jobId(2)]: anything }),
        [`job:${jobId(1)}`]: ttl(HOUR_S, jobOf(indexed)),
        meta: anything,
      },
    },
    {
      name: 'with the last one that is searched the space forgets its model',
      before: () => keysOf(indexed, { n: 2 }),
      call: remove(),
      reply: 'ok',
      after: {
        ...gone(indexed),
        ...keysOf({ n: 2 }),
        [`space:${ALICE}`]: { bytes: 7, chunks: 0, version: 1 },
        [`recent_jobs:${ALICE}`]: zset({ [jobId(2)]: anything }),
        [`job:${jobId(1)}`]: ttl(HOUR_S, jobOf(indexed)),
        meta: anything,
      },
    },
    {
      name: 'one that waits to be indexed: its job is cancelled, and watchers are notified',
      before: () => ({ ...keysOf({ n: 1 }), [`watchers:${ALICE}`]: zset({ n1: Date.now() + 50_000 }) }),
      call: remove(),
      reply: 'ok',
      events: [indexingEvent({ n: 1 }, 'index_failed', 'PARSE', 0, '"The document was deleted."')],
      after: { ...gone({ n: 1 }), [`job:${jobId(1)}`]: cancelled({ n: 1 }), jobs: stream() },
    },
    {
      name: 'one that is indexed again goes with both of its texts and with what both indexings put into the vector set',
      before: () => keysOf({ n: 1, state: 'QUEUED', jobState: 'RUNNING', generation: 5, chunks: 3, vectors: 'abc', text: [7, 'new'], oldText: [5, 'old'], job: { lease: '7', digest: 'def', vectors_n: '16' } }),
      call: remove(),
      reply: 'ok',
      after: {
        ...gone({ n: 1, generation: 5, text: [7, ''], oldText: [5, ''] }),
        [`job:${jobId(1)}`]: cancelled({ n: 1, jobState: 'RUNNING', job: { lease: '7', digest: 'def', vectors_n: '16' } }),
        jobs: stream(),
        trash: list(`vectors:${ALICE}:def ${docId(1)} 7 16`, `vectors:${ALICE}:abc ${docId(1)} 5 3`),
        meta: anything,
      },
    },
    {
      name: 'a file of a collection goes with its path',
      before: () => keysOf({ n: 1, space: BOOK, path: 'a' }, { n: 2, space: BOOK, path: 'b', sha: shaOf(1) }),
      call: remove(1, BOOK),
      reply: 'ok',
      after: {
        ...gone({ n: 1 }),
        ...keysOf({ n: 2, space: BOOK, path: 'b', sha: shaOf(1) }),
        [`recent_jobs:${BOOK}`]: zset({ [jobId(2)]: anything }),
        [`job:${jobId(1)}`]: cancelled({ n: 1, space: BOOK }),
      },
    },
  ]);

  test('of the last one that is searched in a vector set not a byte is left', withVectorSets(async (shard) => {
    for (const n of [1, 2]) {
      await shard.call(...(await pushedUpload(shard, { n, cap: 1e6 })));
      await new Indexer(shard).index({ vectors: 'set', chunks: 5 });
    }
    assert.equal((await shard.get(`space:${ALICE}`)).bytes, String(2 * (PACK.length + 'block'.length + elementsBytes(5))));
    await shard.call(...remove(1));
    assert.equal((await shard.get(`space:${ALICE}`)).bytes, String(PACK.length + 'block'.length + elementsBytes(5)));
    await shard.call(...(await pushedUpload(shard, { n: 3, cap: 1e6 })));
    await shard.call(...remove(2));
    assert.equal((await shard.get(`space:${ALICE}`)).bytes, '7', 'the upload that is there');
    await shard.call(...remove(3));
    assert.equal(await shard.get(`space:${ALICE}`), undefined);
  }));

  test('an owner without documents leaves nothing but the cancelled job', async () => {
    await shard.call(...(await pushedUpload(shard)));
    await shard.call(...remove());
    assert.deepEqual(await shard.names(), [`job:${jobId(1)}`, 'jobs']);
  });
}, BINARY);

scripts('doc_reindex', ({ cases }) => {
  const reindex = (n = 1, space = ALICE) => ['doc_reindex', 0, space, docId(n), jobId(9)];
  const indexed = { n: 1, state: 'INDEXED', chars: 5, blocks: 1 };
  const job = { ...jobOf({ n: 1, j: 9 }), stage: 'CHUNK', is_reindex: 1, created: ago(), updated: ago(), entry: anything };
  const queued = (one) => ({
    [`doc:${docId(1)}`]: { ...docOf(one), status: 'QUEUED', updated: ago(), job: jobId(9) },
    [`job:${jobId(9)}`]: job,
    [`job:${jobId(1)}`]: ttl(HOUR_S, jobOf(one)),
    [`recent_jobs:${ALICE}`]: zset({ [jobId(1)]: anything, [jobId(9)]: unfinished }),
    jobs: (found) => found.length === 1 && found[0][1].job === jobId(9),
    job_turns: { [ALICE]: jobId(9) },
  });
  const failed = { n: 1, state: 'FAILED', text: [3, 'block'] };
  cases([
    { name: 'one of another owner is missing', before: () => keysOf(indexed), call: reindex(1, BOB), reply: 'missing' },
    { name: 'one that never was', call: reindex(), reply: 'missing' },
    { name: 'one that is indexed gets a new job, and stays searchable', before: () => keysOf(indexed), call: reindex(), reply: lines('ok', jobId(9)), after: queued(indexed) },
    { name: 'one that failed after its text was read', before: () => keysOf(failed), call: reindex(), reply: lines('ok', jobId(9)), after: queued(failed) },
    { name: 'one that failed before that has to be uploaded again', before: () => keysOf({ n: 1, state: 'FAILED' }), call: reindex(), reply: 'gone' },
    {
      name: 'race: asked for twice, it is one job',
      before: () => keysOf(indexed),
      calls: [reindex(), ['doc_reindex', 0, ALICE, docId(1), jobId(8)]],
      replies: [lines('ok', jobId(9)), lines('ok', jobId(9))],
      after: queued(indexed),
    },
    { name: 'an unfinished job is the answer', before: () => keysOf({ n: 1 }), call: reindex(), reply: lines('ok', jobId(1)) },
  ]);
}, BINARY);
