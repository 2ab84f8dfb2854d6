// SPDX-License-Identifier: MIT
//
// POST /api/docs/upload, alternating between two nodes, and the lifecycle of the file.
import assert from 'node:assert/strict';
import { ready } from '../cluster/watch.mjs';
import { assertRefused, forgetLimits, formOf, settled, upload, uploadIndexed } from '../support/documents.mjs';
import { ACCOUNTS, assertMembers, assertOk, eventually, sign, suite } from '../support/harness.mjs';
import { makePdf } from '../support/indexing.mjs';

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/; // a random UUID
const MIB = 1 << 20;

let last = 0;
// Text that no other test uploaded.
const newText = () => `This is text number ${(last += 1)} of ${process.pid}: the lease of a claim lasts 150 seconds.\n`;

function assertLimited(response, limit, window) {
  const problem = assertRefused(response, 429, 'rate_limited');
  const retry = Number(response.headers['retry-after']);
  assert.ok(retry >= 1 && retry <= window, `Retry-After ${retry}`);
  assert.equal(response.headers['x-ratelimit-limit'], String(limit));
  assert.equal(response.headers['x-ratelimit-remaining'], '0');
  assert.equal(response.headers['x-ratelimit-reset'], String(retry));
  assert.ok(problem.detail.includes(String(retry)), problem.detail);
}

suite('uploads', { sweep: false }, ({ test, cluster }) => {
  const send = async (options) => {
    await forgetLimits(cluster);
    return upload(cluster, options);
  };

  test('an upload is queued, and then indexed', async () => {
    const queued = assertOk(await send({ name: 'leases.md', bytes: newText() }), 201);
    assertMembers(queued, ['documentId', 'jobId', 'status', 'filename']);
    assert.match(queued.documentId, ID);
    assert.match(queued.jobId, ID);
    assert.equal(queued.status, 'QUEUED');
    assert.equal(queued.filename, 'leases.md');
    const doc = await settled(cluster, 'User_1', queued.documentId);
    assert.equal(doc.status, 'INDEXED', JSON.stringify(doc));
    assert.equal(doc.latestJob.id, queued.jobId);
  });

  const kinds = [
    ['notes.txt', 'text/plain', 'Plain text about leases.'],
    ['NOTES.TXT', 'text/plain', 'Plain text about larger leases.'],
    ['notes.text', 'text/plain', 'Plain text about the largest leases.'],
    ['notes.md', 'text/markdown', '# Leases\n\nThey end.'],
    ['page.html', 'text/html', '<!doctype html><h1>Leases</h1><p>They end after 150 seconds.</p>'],
    ['paper.pdf', 'application/pdf', makePdf(2)],
    ['Übersicht – β.txt', 'text/plain', 'A name beyond ASCII.'],
  ];
  for (const [name, contentType, bytes] of kinds) {
    test(`${name} is taken and its passages can be read`, async () => {
      const { id } = await uploadIndexed(cluster, { name, bytes });
      const doc = assertOk(await cluster.request('GET', `/api/docs/${id}`, { as: 'User_1' }));
      assert.equal(doc.filename, name);
      assert.equal(doc.contentType, contentType);
      assert.equal(doc.sizeBytes, Buffer.byteLength(bytes));
      const chunk = assertOk(await cluster.request('GET', `/api/docs/${id}/chunks/0`, { as: 'User_1' }));
      assert.equal(chunk.filename, name);
    });
  }

  test('the same bytes again are the document that is there, on the other node and under another name', async () => {
    const bytes = newText();
    const first = assertOk(await send({ name: 'one.txt', bytes, node: 0 }), 201);
    const again = assertOk(await send({ name: 'two.txt', bytes, node: 1 }));
    assertMembers(again, ['documentId', 'jobId', 'status', 'filename', 'duplicate']);
    assert.equal(again.duplicate, true);
    assert.equal(again.documentId, first.documentId);
    assert.equal(again.jobId, first.jobId);
    const { documents } = assertOk(await cluster.request('GET', '/api/docs', { as: 'User_1' }));
    assert.equal(documents.filter(({ id }) => id === first.documentId).length, 1);
  });

  test('the same bytes at the same time on two nodes make one document', async () => {
    for (let round = 0; round < 5; round++) {
      const bytes = newText();
      await forgetLimits(cluster);
      const responses = await Promise.all([0, 1, 0, 1].map((node) => upload(cluster, { name: 'twin.txt', bytes, node })));
      assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 200, 200, 201]);
      assert.equal(new Set(responses.map(({ json }) => json.documentId)).size, 1);
      assert.equal(new Set(responses.map(({ json }) => json.jobId)).size, 1);
    }
  });

  test('the same bytes of another owner are another document', async () => {
    const bytes = newText();
    const mine = assertOk(await send({ name: 'same.txt', bytes }), 201);
    const theirs = assertOk(await send({ name: 'same.txt', bytes, as: 'User_2' }), 201);
    assert.notEqual(mine.documentId, theirs.documentId);
  });

  test('a document that was deleted may be uploaded again', async () => {
    const bytes = newText();
    const { id } = await uploadIndexed(cluster, { name: 'gone.txt', bytes });
    assertOk(await cluster.request('DELETE', `/api/docs/${id}`, { as: 'User_1' }));
    const again = assertOk(await send({ name: 'gone.txt', bytes }), 201);
    assert.notEqual(again.documentId, id);
  });

  test('a frontend uploads for whom it names', async () => {
    const bytes = newText();
    const query = { OnBehalfOf: 'carol & co.' };
    const { documentId } = assertOk(await send({ as: 'Frontend_1', query, name: 'carol.txt', bytes }), 201);
    const found = await cluster.request('GET', `/api/docs/${documentId}`, { as: 'Frontend_1', query });
    assert.equal(assertOk(found).filename, 'carol.txt');
    assertRefused(await cluster.request('GET', `/api/docs/${documentId}`, { as: 'User_1' }), 404, 'not_found');
  });

  test('a file name is stored without invisible characters', async () => {
    const { filename } = await uploadIndexed(cluster, { name: 'in\u202Evoice\u200B\u2066.txt', bytes: 'A name that turns around.' });
    assert.equal(filename, 'invoice.txt');
  });

  test('a form without a file is MISSING_FILE', async () => {
    const refusals = [
      { body: '{}' },
      { body: undefined },
      formOf({ field: 'document', bytes: 'text' }),
      formOf({ name: '', bytes: '' }),
    ];
    for (const options of refusals) {
      const response = await cluster.request('POST', '/api/docs/upload', { as: 'User_1', ...options });
      assertRefused(response, 400, 'MISSING_FILE');
    }
  });

  test('a malformed form gets 400 with the reason', async () => {
    const { body, headers } = formOf({ bytes: 'text' });
    const response = await cluster.request('POST', '/api/docs/upload', { as: 'User_1', body: body.subarray(0, body.length - 8), headers });
    assertRefused(response, 400, 'bad_request');
  });

  const wrong = [
    ['picture.png', '\x89PNG\r\n'],
    ['program.exe', 'MZ'],
    ['noending', 'text'],
    ['lying.pdf', 'This is no PDF.'],
    ['lying.docx', 'This is no archive.'],
    ['binary.txt', Buffer.from([0, 1, 2, 3, 0, 255, 254, 0])],
    ['empty.txt', ''],
  ];
  for (const [name, bytes] of wrong) {
    test(`${name} is INVALID_FILE_TYPE, and counts as no upload`, async () => {
      await forgetLimits(cluster);
      for (let i = 0; i < 7; i++) assertRefused(await upload(cluster, { name, bytes }), 400, 'INVALID_FILE_TYPE');
    });
  }

  test('a file of 25 MiB is taken, one byte more is FILE_TOO_LARGE', async () => {
    const bytes = Buffer.alloc(25 * MIB + 1, 'a ');
    assertRefused(await send({ name: 'large.txt', bytes }), 413, 'FILE_TOO_LARGE');
    const { documentId } = assertOk(await send({ name: 'large.txt', bytes: bytes.subarray(1) }), 201);
    assertOk(await cluster.request('DELETE', `/api/docs/${documentId}`, { as: 'User_1' }));
  });

  test('a body far over the limit is FILE_TOO_LARGE, too', async () => {
    const bytes = Buffer.alloc(30 * MIB, 'a ');
    assertRefused(await send({ name: 'large.txt', bytes }), 413, 'FILE_TOO_LARGE');
  });

  test('others are served while large files are stored', async () => {
    await forgetLimits(cluster);
    const large = [1, 2, 3, 4].map((i) => upload(cluster, { name: 'large.txt', bytes: Buffer.alloc(10 * MIB, `${i} text `), node: 0 }));
    const { documents } = assertOk(await cluster.request('GET', '/api/docs', { as: 'User_2', node: 0 }));
    assert.ok(Array.isArray(documents));
    for (const response of await Promise.all(large)) {
      const { documentId } = assertOk(response, 201);
      assertOk(await cluster.request('DELETE', `/api/docs/${documentId}`, { as: 'User_1' }));
    }
  });

  test('a client that leaves during its upload holds up no other one', async () => {
    await forgetLimits(cluster);
    const form = formOf({ name: 'left.txt', bytes: Buffer.alloc(20 * MIB, 'left alone ') });
    const left = cluster.open('POST', '/api/docs/upload', { as: 'User_1', ...form, node: 0 });
    await left.sent;
    left.abort();
    const { documentId } = assertOk(await upload(cluster, { name: 'next.txt', bytes: newText(), node: 0 }), 201);
    await settled(cluster, 'User_1', documentId);
  });

  test('an account that may not upload gets an error', async () => {
    const form = formOf({ bytes: newText() });
    const post = (options) => cluster.request('POST', '/api/docs/upload', { ...form, ...options });
    assertRefused(await post({}), 401, 'unauthorized');
    assertRefused(await post({ as: 'Inference_1' }), 403, 'forbidden');
    assertRefused(await post({ as: 'Operator_1' }), 403, 'forbidden');
    assertRefused(await post({ as: 'User_1', query: { OnBehalfOf: 'User_2' } }), 403, 'forbidden');
    assertRefused(await post({ as: 'Frontend_1' }), 400, 'bad_request');
    assertRefused(await post({ as: 'Frontend_1', query: { OnBehalfOf: 'x'.repeat(129) } }), 400, 'bad_request');
    assertRefused(await post({ as: 'Frontend_1', query: { OnBehalfOf: '' } }), 400, 'bad_request');
  });

  test('a nonce that was used on one node is refused on the other', async () => {
    const query = sign('User_1', cluster.accounts.User_1.secret);
    const form = formOf({ name: 'once.txt', bytes: newText() });
    await forgetLimits(cluster);
    assertOk(await cluster.request('POST', '/api/docs/upload', { query, ...form, node: 0 }), 201);
    assertRefused(await cluster.request('POST', '/api/docs/upload', { query, ...form, node: 1 }), 401, 'nonce_used');
  });

  test('other methods are 405', async () => {
    const response = await cluster.request('PUT', '/api/docs/upload', { as: 'User_1' });
    assert.equal(response.status, 405);
    assert.match(response.headers.allow, /POST/);
  });

  // --- rates ---

  test('the sixth upload of a minute is 429, on whichever nodes the others were', async () => {
    await forgetLimits(cluster);
    for (let i = 0; i < 5; i++) assertOk(await upload(cluster, { name: 'rate.txt', bytes: newText() }), 201);
    for (const node of [0, 1]) assertLimited(await upload(cluster, { name: 'rate.txt', bytes: newText(), node }), 5, 60);
    assertOk(await upload(cluster, { name: 'rate.txt', bytes: newText(), as: 'User_2' }), 201);
  });

  test('the fifty-first upload of an hour is 429', async () => {
    await forgetLimits(cluster);
    assertOk(await upload(cluster, { name: 'rate.txt', bytes: newText() }), 201);
    const [key] = await cluster.redis.cmd('KEYS', '*:limit:upload:*');
    const [, at] = await cluster.redis.cmd('ZRANGE', key, 0, 0, 'WITHSCORES');
    const earlier = Number(at) - 120e6; // two minutes
    for (let i = 0; i < 49; i++) await cluster.redis.cmd('ZADD', key, earlier + i, `earlier-${i}`);
    assertLimited(await upload(cluster, { name: 'rate.txt', bytes: newText() }), 50, 3600);
    await forgetLimits(cluster);
  });
});

suite('uploads of an account with upload_rate', { accounts: { ...ACCOUNTS, Bulk_1: { secret: 'bulk-secret', role: 'user', upload_rate: 7 } } }, ({ test, cluster }) => {
  test('are as many a minute as it says', async () => {
    for (let i = 0; i < 7; i++) assertOk(await upload(cluster, { name: 'bulk.txt', bytes: newText(), as: 'Bulk_1', node: i % 2 }), 201);
    assertLimited(await upload(cluster, { name: 'bulk.txt', bytes: newText(), as: 'Bulk_1' }), 7, 60);
    const { Rates } = assertOk(await cluster.request('GET', '/api/users/Bulk_1/usage', { as: 'Bulk_1' }));
    assert.deepEqual(Rates.Uploads.map(({ Max, Seconds }) => [Max, Seconds]), [[7, 60], [70, 3600]]);
    for (let i = 0; i < 5; i++) assertOk(await upload(cluster, { name: 'few.txt', bytes: newText(), as: 'User_2' }), 201);
    assertLimited(await upload(cluster, { name: 'few.txt', bytes: newText(), as: 'User_2' }), 5, 60);
  });
});

// Nothing is indexed here: an upload that is read leaves little behind.
suite('uploads up to the cap', { args: ['--owner-max-mib=1', '--upload-max-mib=2', '--indexers=0'], sweep: false }, ({ test, cluster }) => {
  test('nothing is stored past the cap of its owner, and deleting makes room', async () => {
    const [first, second] = ['a', 'b'].map((letter) => Buffer.alloc(0.9 * MIB, `${letter} few words `));
    const { documentId } = assertOk(await upload(cluster, { name: 'first.txt', bytes: first }), 201);
    const refused = assertRefused(await upload(cluster, { name: 'second.txt', bytes: second }), 507, 'storage_full');
    assert.match(refused.detail, /of 1\.0 MiB/);
    assertOk(await upload(cluster, { as: 'User_2', name: 'second.txt', bytes: second }), 201);
    assertOk(await cluster.request('DELETE', `/api/docs/${documentId}`, { as: 'User_1' }));
    assertOk(await upload(cluster, { name: 'second.txt', bytes: second }), 201);
  });

  test('the largest upload is what the setting says', async () => {
    const response = await upload(cluster, { as: 'User_2', name: 'large.txt', bytes: Buffer.alloc(2 * MIB + 1, 'a ') });
    assert.match(assertRefused(response, 413, 'FILE_TOO_LARGE').detail, /2 MiB/);
  });
});

suite('uploads without Redis', { nodes: 1, aof: true, sweep: false }, ({ test, cluster }) => {
  test('an upload is 503 while Redis is away, and works when it is back', async () => {
    await cluster.redis.kill();
    await eventually(async () => (await cluster.request('GET', '/readyz')).status === 503);
    assertRefused(await upload(cluster, { name: 'a.txt', bytes: 'text' }), 503, 'redis_lost');
    await cluster.redis.restart();
    await ready(cluster, 0);
    const { documentId } = assertOk(await upload(cluster, { name: 'a.txt', bytes: 'text' }), 201);
    assert.equal((await settled(cluster, 'User_1', documentId)).status, 'INDEXED');
  });
});
