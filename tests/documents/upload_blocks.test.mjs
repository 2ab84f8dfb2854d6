// SPDX-License-Identifier: MIT
//
// The way of an upload's bytes: in blocks, over a connection of their own, to Redis and from there to the indexer. No call is
// long, however large the file is; what is refused sends none of its bytes; many at once are stored.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { assertRefused, forgetLimits, settled, upload } from '../support/documents.mjs';
import { assertOk, eventually, runParley, sign, suite } from '../support/harness.mjs';
import { makeFolder } from '../support/node.mjs';
import { SERVERS, SHARDS } from '../support/shards.mjs';

const MIB = 1 << 20;
const LARGEST = 25 * MIB;
// Of that size, and quickly read: what a comment holds is no text.
const page = (bytes) => Buffer.concat([Buffer.from('<p>The gate is green.<!-- '), Buffer.alloc(bytes - 29, 'words '), Buffer.from('-->')]);

suite('the way of an upload', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  // What body() makes Redis do: each command, and how many bytes its arguments have.
  async function commandsOf(body) {
    const { redis } = cluster;
    await redis.cmd('CONFIG', 'SET', 'slowlog-max-len', '100000');
    await redis.cmd('CONFIG', 'SET', 'slowlog-log-slower-than', '0');
    await redis.cmd('SLOWLOG', 'RESET');
    try {
      await body();
    } finally {
      await redis.cmd('CONFIG', 'SET', 'slowlog-log-slower-than', '-1');
    }
    // A long argument is cut, and its end says how much was left out.
    const sizeOf = (arg) => Number(/ \((\d+) more bytes\)$/.exec(arg)?.[1] ?? 0) + arg.length;
    const commands = (await redis.cmd('SLOWLOG', 'GET', '-1')).map(([, , us, args]) => ({ args, us: Number(us), bytes: args.reduce((sum, arg) => sum + sizeOf(arg), 0) }));
    assert.ok(commands.length < 100_000, 'none was left out');
    return commands;
  }
  const named = (commands, name) => commands.filter(({ args }) => args[0].toUpperCase() === name);
  const verb = (commands, name) => named(commands, 'FCALL').filter(({ args }) => args.some((arg) => arg.startsWith(`${name} `)));

  function assertShort(commands) {
    for (const { args, bytes } of commands) assert.ok(bytes < 1.1 * MIB, `${args.slice(0, 4).join(' ')} … has ${bytes} bytes`);
  }

  test('the largest upload makes no command longer than a block, on its way to Redis and to the indexer', async () => {
    await forgetLimits(cluster);
    let id;
    const commands = await commandsOf(async () => {
      id = assertOk(await upload(cluster, { name: 'largest.html', bytes: page(LARGEST) }), 201).documentId;
      assert.equal((await settled(cluster, 'User_1', id)).status, 'INDEXED');
    });
    const blocks = named(commands, 'RPUSHX');
    assert.equal(blocks.length, 25);
    const read = named(commands, 'LINDEX').filter(({ args }) => args[1].includes(':upload:'));
    assert.equal(read.length, 25, 'the indexer reads block by block');
    assertShort(commands);
    for (const { args, bytes } of named(commands, 'FCALL')) assert.ok(bytes < 4096, `${args.slice(10, 12)} has ${bytes} bytes`);
    assertOk(await cluster.request('DELETE', `/api/docs/${id}`, { as: 'User_1' }));
  });

  test('a file of parley ingest goes the same way', async () => {
    const folder = makeFolder();
    folder.file('long.html', page(3 * MIB + 1));
    const commands = await commandsOf(async () => {
      const { code, stdout, stderr } = await runParley(['ingest', '--redis', cluster.redis.url, '--collection', 'book', '--json', folder.dir]);
      assert.equal(code, 0, stdout + stderr);
    });
    folder.remove();
    assert.equal(named(commands, 'RPUSHX').length, 4);
    assertShort(commands);
  });

  test('bytes arrive as they were sent, whatever their number', async () => {
    for (const n of [1, MIB - 1, MIB, MIB + 1, 2 * MIB]) {
      await forgetLimits(cluster);
      const bytes = Buffer.from(createHash('sha512').update(String(n)).digest('hex').repeat(Math.ceil(n / 128))).subarray(0, n);
      const { documentId: id } = assertOk(await upload(cluster, { name: `${n}.txt`, bytes }), 201);
      assert.equal((await settled(cluster, 'User_1', id)).status, 'INDEXED', String(n));
      const chunk = assertOk(await cluster.request('GET', `/api/docs/${id}/chunks/0`, { as: 'User_1' }));
      assert.ok(bytes.toString().startsWith(chunk.text), String(n));
      assertOk(await cluster.request('DELETE', `/api/docs/${id}`, { as: 'User_1' }));
    }
  });

  test('what is refused sends no block: a duplicate, an owner past the limit or the cap, a wrong kind, a used nonce', async () => {
    await forgetLimits(cluster);
    const bytes = Buffer.alloc(2 * MIB, 'is it there? ');
    const as = 'User_2';
    const { documentId } = assertOk(await upload(cluster, { as, name: 'first.txt', bytes }), 201);
    const commands = await commandsOf(async () => {
      assert.equal(assertOk(await upload(cluster, { as, name: 'again.txt', bytes })).documentId, documentId);
      assertRefused(await upload(cluster, { as, name: 'wrong.pdf', bytes }), 400, 'INVALID_FILE_TYPE');
      for (let i = 0; i < 3; i++) assertOk(await upload(cluster, { as, name: 'again.txt', bytes }));
      assertRefused(await upload(cluster, { as, name: 'other.txt', bytes: bytes.subarray(1) }), 429, 'rate_limited');
      const query = sign(as, cluster.accounts[as].secret);
      assertRefused(await upload(cluster, { as: null, query, name: 'other.txt', bytes: bytes.subarray(1) }), 429, 'rate_limited');
      assertRefused(await upload(cluster, { as: null, query, name: 'other.txt', bytes: bytes.subarray(1) }), 401, 'nonce_used');
    });
    assert.deepEqual(named(commands, 'RPUSHX'), []);
    assert.deepEqual(await cluster.redis.cmd('KEYS', '*pushed:*'), []);
  });

  test('many at once take turns over one connection, and all are stored', async () => {
    const bytes = (i) => Buffer.concat([Buffer.from(`<p>${i} came with the others.`), page(6 * MIB)]);
    const sent = await Promise.all(Array.from({ length: 12 }, (_, i) => upload(cluster, { as: 'Frontend_1', query: { OnBehalfOf: `user${i}` }, name: 'many.html', bytes: bytes(i) })));
    for (const [i, response] of sent.entries()) {
      const { documentId } = assertOk(response, 201);
      const found = async () => assertOk(await cluster.request('GET', `/api/docs/${documentId}`, { as: 'Frontend_1', query: { OnBehalfOf: `user${i}` } }));
      await eventually(async () => (await found()).status === 'INDEXED', { ms: 60_000, what: `document ${i} is indexed` });
    }
    const clients = (await cluster.redis.cmd('CLIENT', 'LIST')).split('\n').filter((line) => line.includes('name=parley-blocks'));
    assert.equal(clients.length, SERVERS === 1 ? 1 : SHARDS, 'one connection for the node\'s one thread; in a Redis Cluster one to each shard');
    assert.deepEqual(await cluster.redis.cmd('KEYS', '*pushed:*'), []);
  });
});
