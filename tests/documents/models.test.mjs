// SPDX-License-Identifier: MIT
//
// A change of the embedding model: vectors of two models are never compared, what is to be reindexed is
// reported, and once all of it is reindexed everything is as new. The two models turn the meaning of things
// round, so that a comparison across them finds the wrong document with certainty.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { settled, upload, uploadIndexed } from '../support/documents.mjs';
import { assertOk, eventually, makeFolder, runParley, suite } from '../support/harness.mjs';
import { openDesk, startEmbedder } from '../support/indexing.mjs';

const APPLES = 'Apples ripen upon old orchard trees.';
const BOATS = 'Boats leave harbours whenever tides permit.';
// No word of it is in either.
const FRUIT = 'Which fruit grows here?';
const SHIPS = 'What sails away?';

// Model "one": apples and fruit are one direction, boats and ships the other. Any other model: the other
// way round, so each of its questions is exactly what the former model made of the wrong document.
function meaning(text, model, dimension) {
  const isFruit = text.includes('Apples') || text.includes('fruit');
  const vector = new Array(dimension).fill(0);
  vector[isFruit === (model === 'one') ? 0 : 1] = 1;
  return vector;
}

// From one model to another of the same dimension, and from one dimension to another under the same name.
const CHANGES = {
  'another model': { from: { model: 'one', dimension: 16 }, to: { model: 'two', dimension: 16 } },
  'the same model with another dimension': { from: { model: 'two', dimension: 16 }, to: { model: 'two', dimension: 24 } },
};

for (const [name, { from, to }] of Object.entries(CHANGES))
  suite(`a change to ${name}`, { nodes: 0, sweep: false }, ({ test, cluster }) => {
    let desk;
    let embedder;
    let node;
    let old;
    let apples;
    let boats;
    const use = ({ model, dimension }, args = []) => {
      embedder.dimension = dimension;
      return cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#${model}`, ...args] });
    };
    const find = async (query, at = node) =>
      assertOk(await cluster.request('POST', '/api/rag/retrieve', { as: 'User_1', body: { query }, node: cluster.nodes.indexOf(at) })).citations.map(({ docId, score }) => ({ docId, score }));
    const found = async (...args) => (await find(...args)).map(({ docId }) => docId);
    const request = (method, path) => cluster.request(method, path, { as: 'User_1', node: cluster.nodes.indexOf(node) });
    const stale = async () => Object.fromEntries(assertOk(await request('GET', '/api/docs')).documents.map(({ id, needsReindex }) => [id, needsReindex]));
    const reindex = async (id) => {
      const { jobId } = assertOk(await request('POST', `/api/docs/${id}/reindex`), 202);
      assert.equal((await desk.ended(jobId)).status, 'DONE');
    };

    before(async () => {
      desk = await openDesk(cluster.redis);
      embedder = await startEmbedder();
      embedder.vectorOf = meaning;
      old = node = await use(from);
      apples = (await uploadIndexed(cluster, { name: 'apples.txt', bytes: APPLES })).id;
      boats = (await uploadIndexed(cluster, { name: 'boats.txt', bytes: BOATS })).id;
      assert.deepEqual(await found(FRUIT), [apples]);
      assert.deepEqual(await found(SHIPS), [boats]);
      assert.deepEqual(await stale(), { [apples]: false, [boats]: false });
      await old.stop();
      node = await use(to);
    });
    after(async () => {
      await embedder.stop();
      desk.close();
    });

    test('before anything is reindexed, only words find, and the log says why', async () => {
      assert.deepEqual(await found(FRUIT), []);
      assert.deepEqual(await found(SHIPS), []);
      assert.deepEqual(await found('apples'), [apples]);
      assert.match(node.log(), /found by words only: run parley reindex.*o:User_1/);
    });

    test('a new document is refused with a hint, and can still be reindexed', async () => {
      const { documentId } = assertOk(await upload(cluster, { name: 'new.txt', bytes: 'Candles burn.', node: cluster.nodes.indexOf(node) }), 201);
      const doc = await settled(cluster, 'User_1', documentId);
      assert.equal(doc.status, 'FAILED');
      assert.match(doc.latestJob.errorMessage, /reindex the documents/);
      assert.equal(doc.needsReindex, false, 'nothing of it is searched');
      assertOk(await request('DELETE', `/api/docs/${documentId}`));
    });

    test('with one of two reindexed, the other is found by its words and never by its former vector', async () => {
      await reindex(apples);
      assert.deepEqual(await stale(), { [apples]: false, [boats]: true });
      assert.equal(assertOk(await request('GET', `/api/docs/${boats}`)).needsReindex, true);
      const [first, ...rest] = await find(FRUIT);
      assert.deepEqual([first.docId, rest], [apples, []]);
      assert.ok(first.score > 0.99);
      assert.deepEqual(await found(SHIPS), []);
      assert.deepEqual(await found('boats leave harbours'), [boats]);
    });

    test('a node of the former model meanwhile compares with the former vectors only', async () => {
      if (from.dimension !== to.dimension) return; // the stub gives one dimension at a time
      const other = await use(from, ['--indexers=0']);
      assert.deepEqual(await found(SHIPS, other), [boats]);
      assert.deepEqual(await found(FRUIT, other), []);
      assert.deepEqual(await found('Apples ripen', other), [apples]);
      await other.stop();
    });

    test('with both reindexed all is as new, and nothing of the former model is left', async () => {
      await reindex(boats);
      assert.deepEqual(await stale(), { [apples]: false, [boats]: false });
      assert.deepEqual(await found(FRUIT), [apples]);
      assert.deepEqual(await found(SHIPS), [boats]);
      for (const id of [apples, boats]) await desk.assertWhole(id);
      await eventually(async () => (await desk.cmd('KEYS', '*:vectors:*')).length <= 1, { what: 'the former vector set is gone' });
      await uploadIndexed(cluster, { name: 'third.txt', bytes: 'Candles burn.', node: cluster.nodes.indexOf(node) });
    });
  });

suite('a change of the model of a collection', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let desk;
  let embedder;
  const folder = makeFolder();
  const ingest = async (model, ...args) => {
    const { code, stdout, stderr } = await runParley(
      ['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--json', '--embeddings', `openai:${embedder.url}#${model}`, ...args, folder.dir],
      { timeout: 120_000 },
    );
    const lines = stdout.trim().split('\n').map((line) => JSON.parse(line));
    return { code, stderr, files: lines.slice(0, -1), summary: lines.at(-1) };
  };
  const models = async () => {
    const flat = await desk.ask('HGETALL', 'paths:c:public');
    const docs = await Promise.all(flat.filter((_, i) => i % 2).map((id) => desk.doc(id)));
    return docs.map(({ filename, model, dimension, status }) => `${filename} ${model} ${dimension} ${status}`).sort();
  };
  before(async () => {
    desk = await openDesk(cluster.redis);
    embedder = await startEmbedder();
    embedder.vectorOf = meaning;
    folder.file('apples.txt', APPLES);
    folder.file('boats.txt', BOATS);
    assert.equal((await ingest('one')).code, 0);
  });
  after(async () => {
    await embedder.stop();
    desk.close();
    folder.remove();
  });

  test('without --reindex it stays as it is, and says so', async () => {
    const again = await ingest('two');
    assert.deepEqual([again.code, again.summary.unchanged, again.summary.otherModel], [0, 2, 2]);
    assert.match(again.stderr, /2 unchanged files were not embedded by two.*--reindex/);
    folder.file('boats.txt', `${BOATS} Captains shout.`);
    const changed = await ingest('two');
    assert.deepEqual([changed.code, changed.summary.failed], [1, 1]);
    assert.match(changed.files.find(({ outcome }) => outcome === 'failed').reason, /reindex/);
    assert.deepEqual(await models(), ['"apples.txt" one 16 INDEXED', '"boats.txt" one 16 FAILED']);
  });

  test('with --reindex every file goes over, changed or not, and is not done twice', async () => {
    const all = await ingest('two', '--reindex');
    assert.deepEqual([all.code, all.summary.indexed, all.summary.otherModel], [0, 2, 0], all.stderr);
    assert.deepEqual(await models(), ['"apples.txt" two 16 INDEXED', '"boats.txt" two 16 INDEXED']);
    assert.equal((await ingest('two', '--reindex')).summary.unchanged, 2);
  });

  test('another dimension of the same model is seen with --reindex', async () => {
    embedder.dimension = 24;
    const dry = await ingest('two', '--reindex', '--dry-run');
    assert.equal(dry.summary.indexed, 2);
    assert.equal((await ingest('two', '--reindex')).summary.indexed, 2);
    assert.deepEqual(await models(), ['"apples.txt" two 24 INDEXED', '"boats.txt" two 24 INDEXED']);
  });

  test('a server that is not there ends --reindex before anything is changed', async () => {
    embedder.status = 400;
    const { code, stdout, stderr } = await runParley(['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--reindex', '--embeddings', `openai:${embedder.url}#three`, folder.dir]);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, /the embedding model three returned no vectors/);
    embedder.status = 200;
  });
});

suite('parley reindex', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let desk;
  let embedder;
  const OWNERS = ['User_1', 'User_2'];
  // Its numbers: documents, up to date, in progress, to be indexed again, to be read again, queued.
  const reindex = async (...args) => {
    const { code, stdout, stderr } = await runParley(['reindex', '--redis', cluster.redis.url, '--embeddings', `openai:${embedder.url}#two`, '--json', ...args], { timeout: 120_000 });
    const lines = stdout.split('\n').slice(0, -1).map((line) => JSON.parse(line));
    const [plan, end] = lines.slice(-2);
    return { code, stderr, documents: lines.slice(0, -2), plan, end, numbers: plan && [plan.documents, plan.upToDate, plan.inProgress, plan.toIndex, plan.toRead, end.queued] };
  };
  const count = async (model) => {
    const keys = await desk.cmd('KEYS', '*:doc:*');
    const docs = await Promise.all(keys.map((key) => desk.doc(key.split(':').at(-1))));
    return docs.filter((doc) => doc.model === model && doc.status === 'INDEXED').length;
  };
  before(async () => {
    desk = await openDesk(cluster.redis);
    embedder = await startEmbedder();
    const node = await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#one`] });
    for (const as of OWNERS) for (const [name, bytes] of [['apples.txt', APPLES], ['boats.txt', BOATS]]) await uploadIndexed(cluster, { as, name, bytes });
    const { job } = await desk.upload({ space: 'c:public', name: 'book.txt', bytes: 'A book.', path: 'book.txt' });
    assert.equal((await desk.ended(job)).status, 'DONE');
    await node.stop();
  });
  after(async () => {
    await embedder.stop();
    desk.close();
  });

  test('a dry run counts and changes nothing', async () => {
    const dry = await reindex('--dry-run');
    assert.deepEqual([dry.code, dry.plan.dryRun, dry.plan.dimension, dry.numbers], [0, true, 16, [5, 0, 0, 5, 0, 0]], dry.stderr);
    assert.equal(dry.documents.length, 5);
    const { document, ...book } = dry.documents.find(({ space }) => space === 'c:public');
    assert.deepEqual(book, { space: 'c:public', filename: 'book.txt', kind: 'text', inProgress: false, toIndex: true, toRead: false });
    assert.equal((await desk.doc(document)).path, 'book.txt');
    assert.equal(await desk.sum('XLEN', 'jobs'), 0);
    assert.equal(await count('one'), 5);
  });

  test('one owner\'s documents are queued, then everybody\'s, and none twice', async () => {
    assert.deepEqual((await reindex('--owner', 'User_2')).numbers, [2, 0, 0, 2, 0, 2]);
    assert.deepEqual((await reindex('--owner', 'nobody')).numbers, [0, 0, 0, 0, 0, 0]);
    assert.deepEqual((await reindex()).numbers, [5, 0, 2, 3, 0, 3]);
    // Two owners and a collection, each with one job in the stream and the others after it.
    const queued = await Promise.all(OWNERS.map((owner) => desk.ask('ZCARD', `queued_jobs:o:${owner}`)));
    assert.deepEqual([await desk.sum('XLEN', 'jobs'), ...queued], [3, 1, 1]);
    assert.deepEqual((await reindex()).numbers, [5, 0, 5, 0, 0, 0]);
  });

  test('the nodes do the work, and after it nothing is left to do', async () => {
    const node = await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#two`] });
    await eventually(async () => (await count('two')) === 5, { what: 'all are of the new model' });
    assert.deepEqual((await reindex()).numbers, [5, 5, 0, 0, 0, 0]);
    await node.stop();
  });

  test('after an upgrade: other packs are made of the stored text, and files that are to be read again are counted', async () => {
    const node = await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#two`] });
    const keys = await desk.cmd('KEYS', '*:doc:*');
    const idOf = (key) => key.split(':').at(-1);
    const book = (await Promise.all(keys.map(async (key) => [key, await desk.doc(idOf(key))]))).find(([, { path }]) => path)[0];
    const [both, packed] = keys.filter((key) => key !== book);
    for (const key of [book, both]) await desk.cmd('HDEL', key, 'readers'); // as one of before there were versions
    for (const key of [both, packed]) await desk.cmd('HSET', key, 'pack_version', 0);
    const shown = await runParley(['reindex', '--redis', cluster.redis.url, '--embeddings', `openai:${embedder.url}#two`, '--dry-run']);
    assert.deepEqual(shown.stdout.trim().split('\n').map((line) => line.trim()), [
      '5 documents, with vectors by two (16 dimensions):',
      '2 up to date',
      '0 being indexed already',
      '2 to be indexed again from their stored text',
      '2 to be read again from their files, which Parley does not keep',
      '1 uploaded: send the file again',
      '1 ingested: run parley ingest again',
      '1 counted above, too: the stored text does until then',
      'dry run, nothing was changed',
    ]);
    const { code, numbers, plan } = await reindex();
    assert.deepEqual([code, numbers, plan.toUpload, plan.toIngest], [0, [5, 2, 0, 2, 2, 2], 1, 1]);
    await eventually(async () => (await count('two')) === 5 && (await desk.doc(idOf(packed))).pack_version === '1', { what: 'their packs are new' });
    assert.deepEqual((await reindex()).numbers, [5, 3, 0, 0, 2, 0]);
    await desk.cmd('HSET', book, 'text', '', 'pack_version', 0); // as after an upload that could not be read
    const gone = await runParley(['reindex', '--redis', cluster.redis.url, '--embeddings', `openai:${embedder.url}#two`]);
    assert.equal(gone.code, 1);
    assert.match(gone.stdout, /\n0 queued, 1 to be uploaded again because they have no stored text\n$/);
    await node.stop();
  });

  test('the same upload again is read again if more is read of its kind now', async () => {
    cluster.nodes.splice(0);
    const node = await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#two`] });
    const file = { as: OWNERS[0], name: 'apples.txt', bytes: APPLES };
    const { id } = await uploadIndexed(cluster, file);
    const { generation } = await desk.doc(id);
    assert.equal((await upload(cluster, file)).json.duplicate, true);
    await desk.cmd('HDEL', (await desk.cmd('KEYS', `*:doc:${id}`))[0], 'readers');
    assert.equal((await uploadIndexed(cluster, file)).id, id);
    const after = await desk.doc(id);
    assert.deepEqual([after.readers, after.generation === generation], ['1', false]);
    await node.stop();
  });

  test('wrong arguments are reported and change nothing', async () => {
    for (const args of [['--owner'], ['docs'], ['--embeddings', 'none'], ['--redis', 'http://x'], ['--key-prefix', 'x'.repeat(65)]]) {
      const { code, stderr } = await runParley(['reindex', ...args]);
      assert.equal(code, 2, args.join(' '));
      assert.match(stderr, /--|argument|flag/);
    }
    const { code, stdout } = await runParley(['reindex', '--help']);
    assert.equal(code, 0);
    for (const part of ['usage: parley reindex', '--dry-run', '--json', '--owner', 'Exit codes', 'Examples']) assert.ok(stdout.includes(part), part);
    embedder.status = 400;
    const broken = await reindex();
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /the embedding model two returned no vectors/);
  });
});
