// SPDX-License-Identifier: MIT
//
// job_vectors, sweep: the vector sets that jobs fill (Redis 8), and what goes of them.
import assert from 'node:assert/strict';
import { anything, lines, list, scripts } from '../../support/lua.mjs';
import { ALICE, assertDocuments, BINARY, BOB, docId, elementsBytes, indexed, Indexer, jobId, PACK, upload, VECTOR, vectorOf, withoutVectorSets, withVectorSets } from '../../support/lua_documents.mjs';

scripts('job_vectors', ({ test }) => {
  const vectorTest = (name, body) => test(name, withVectorSets(body));
  const key = `vectors:${ALICE}:abc`;
  const elements = async (shard) => ((await shard.cmd('EXISTS', shard.key(key))) ? shard.cmd('VCARD', shard.key(key)) : 0);

  test('a server without vector sets refuses them, and what was to be stored is known', withoutVectorSets(async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    assert.match(String(await i1.vectors(await i1.take())), /^Error: ERR job_vectors/);
    assert.equal((await shard.get(`job:${jobId(1)}`)).vectors_n, '1');
  }));

  vectorTest('are stored under the lease, and the document says where once it is stored', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    assert.equal(await i1.vectors(run, { vectors: [vectorOf(1, 0, 0, 0), vectorOf(0, 1, 0, 0)] }), 'ok');
    assert.equal(await i1.vectors(run, { first: 2, vectors: [vectorOf(0, 0, 1, 0)] }), 'ok');
    assert.equal(await i1.vectors(run, { first: 0, vectors: [vectorOf(1, 0, 0, 0)] }), 'ok', 'again, after a lost reply');
    assert.equal(await elements(shard), 3);
    assert.equal(await i1.store(run, { vectors: 'set', chunks: 3 }), 'ok');
    assert.equal((await shard.get(`doc:${docId(1)}`)).vectors, 'abc');
    assert.equal((await shard.get(`job:${jobId(1)}`)).vectors_n, '3');
    await assertDocuments(shard, [indexed({ n: 1, vectors: 'abc', chunks: 3, job: { digest: 'abc', vectors_n: 3 } })], { [key]: anything });
  });

  vectorTest('count for the owner with what they take, as far as one can tell beforehand', async (shard) => {
    const N = 1000;
    const DIMENSION = 256;
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    for (let first = 0; first < N; first += 8) {
      const vectors = Array.from({ length: 8 }, () => vectorOf(...Array.from({ length: DIMENSION }, () => Math.random() - 0.5)));
      assert.equal(await i1.vectors(run, { first, vectors }), 'ok');
    }
    // Redis's own count of the key: all that the server uses also falls and rises with its buffers.
    const taken = await shard.cmd('MEMORY', 'USAGE', shard.key(key), 'SAMPLES', 0);
    assert.equal(await i1.store(run, { vectors: 'set', dimension: DIMENSION, chunks: N, cap: 1e7 }), 'ok');
    const counted = Number((await shard.get(`space:${ALICE}`)).bytes) - PACK.length - 'block'.length;
    assert.equal(counted, elementsBytes(N, DIMENSION));
    assert.ok(counted > 0.75 * taken && counted < 1.25 * taken, `${counted} bytes are counted, ${taken} are taken`);
  });

  vectorTest('past the cap are not stored; those of the old indexing make room', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    const run = await i1.take();
    await i1.parsed(run);
    await i1.vectors(run, { vectors: [VECTOR, VECTOR] });
    const cap = PACK.length + 'block'.length + elementsBytes(2);
    assert.equal(await i1.store(run, { vectors: 'set', chunks: 2, cap: cap - 1 }), lines('full', 5, cap - 1));
    assert.equal(await i1.store(run, { vectors: 'set', chunks: 2, cap }), 'ok');
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(2));
    await i1.index({ vectors: 'set', chunks: 2, cap });
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(3));
    await i1.index({ vectors: 'exact', cap });
    assert.equal((await shard.get(`space:${ALICE}`)).bytes, String(PACK.length + 5), 'vectors in the pack are counted with it');
  });

  vectorTest('of a job that is taken over, released or failed go', async (shard) => {
    await upload(shard);
    const [i1, i2] = [new Indexer(shard), new Indexer(shard, 'i2')];
    const first = await i1.take();
    await i1.vectors(first);
    const second = await i2.begin(await i2.steal());
    await i2.vectors(second, { vectors: [VECTOR, VECTOR] });
    await i2.call('job_release', second);
    const third = await i1.take();
    await i1.vectors(third, { vectors: [VECTOR, VECTOR, VECTOR] });
    await i1.call('job_fail', third, '"x"');
    const trash = [1, 2, 3].map((n) => `vectors:${ALICE}:abc ${docId(1)} ${n} ${n}`);
    assert.deepEqual((await shard.get('trash')).value, trash);
    assert.equal(await shard.call('sweep', 2), '2');
    assert.deepEqual((await shard.get('trash')).value, [trash[1].replace(/2$/, '1'), trash[2]]);
    assert.equal(await shard.call('sweep', 100), '4');
    assert.equal(await elements(shard), 0);
    assert.equal(await shard.get('trash'), undefined);
  });

  vectorTest('of the old indexing go when the new one is stored', async (shard) => {
    await upload(shard);
    const i1 = new Indexer(shard);
    await i1.index({ vectors: 'set', chunks: 2 });
    await shard.call('doc_reindex', 0, ALICE, docId(1), jobId(2));
    await i1.index({ vectors: 'set', chunks: 3 });
    assert.equal(await elements(shard), 5);
    assert.equal(await shard.call('sweep', 100), '2');
    assert.equal(await elements(shard), 3);
  });

  vectorTest('of a deleted document go', async (shard) => {
    await upload(shard);
    await new Indexer(shard).index({ vectors: 'set', chunks: 7 });
    await shard.call('doc_delete', 0, ALICE, docId(1));
    assert.equal(await shard.call('sweep', 100), '7');
    assert.equal(await elements(shard), 0);
  });
}, BINARY);

scripts('sweep', ({ cases, test }) => {
  cases([
    { name: 'nothing is there', call: ['sweep', 10], reply: '0' },
    {
      name: 'elements of a vector set that is gone are gone',
      before: { trash: list(`vectors:${ALICE}:abc ${docId(1)} 3 500`, `vectors:${ALICE}:abc ${docId(2)} 4 500`) },
      call: ['sweep', 10],
      reply: '0',
      after: { trash: null },
    },
  ]);

  test('where no indexer ever sweeps, a deletion takes some of the oldest along', withVectorSets(async (shard) => {
    await shard.cmd('RPUSH', shard.key('trash'), ...Array.from({ length: 1000 }, (_, i) => `vectors:${BOB}:abc ${docId(i)} 3 2`));
    await shard.cmd('VADD', shard.key(`vectors:${BOB}:abc`), 'FP32', VECTOR, 'kept');
    await upload(shard);
    await new Indexer(shard).index({ vectors: 'set', chunks: 7 });
    await shard.call('doc_delete', 0, ALICE, docId(1));
    assert.equal(await shard.cmd('LLEN', shard.key('trash')), 951);
  }));
}, BINARY);
