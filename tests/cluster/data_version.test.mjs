// SPDX-License-Identifier: MIT
//
// Everything stored has one data version (ADR 25). A node, a tool and a restore that meet another one, or none, end with one
// line, and change nothing.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { accountsYaml, assertOk, makeFolder, runParley, startCluster, startNode, startRedis } from '../support/harness.mjs';
import { DATA_VERSION as VERSION } from '../support/keyspace.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // each server, and each shard of a Redis Cluster, has such a record: tests/unit/test_agreement.c, redis_cluster.test.mjs

const RECORD = 'parley:{0}:cluster';
const NEXT = VERSION + 1;
const PARLEY = /project\(parley VERSION (\S+)/.exec(readFileSync('CMakeLists.txt', 'utf8'))[1];
const line = (what, seen, advice) =>
  `parley: ${what} has ${seen ? `data version ${seen}` : 'no data version'}, and this Parley (${PARLEY}) reads only data version ${VERSION}: ${advice}\n`;
const OTHERS = [
  ['another data version', NEXT, (record) => record.replace(/^\d+ /, `${NEXT} `)],
  ['another data version, in a form of its own', NEXT, () => `${NEXT} master`],
  ['a record without a data version', undefined, (record) => record.replace(/^\d+ /, '')],
];

describe('data of another data version', () => {
  let cluster;
  let folder;
  let accounts;
  let record;
  before(async () => {
    folder = makeFolder();
    accounts = folder.file('accounts.yaml', accountsYaml());
    cluster = await startCluster({ nodes: 1 });
    await cluster.add({ Topic: 'kept', User: 'alice', Query: 'Is it here?' });
    await cluster.nodes.splice(0)[0].stop();
    record = await cluster.redis.cmd('GET', RECORD);
    assert.match(record, new RegExp(`^${VERSION} [0-9a-f]{16} 0 1 1 whole$`), 'what a node writes');
  });
  after(async () => {
    await cluster.stop();
    folder.remove();
  });

  const keys = async () => {
    const names = (await cluster.redis.cmd('KEYS', '*')).sort();
    return Promise.all(names.map(async (name) => [name, await cluster.redis.cmd('DUMP', name)]));
  };

  for (const [what, seen, change] of OTHERS) {
    it(`${what} is served, read or backed up`, { timeout: 120_000 }, async () => {
      const redis = ['--redis', cluster.redis.url];
      const file = join(folder.dir, 'never');
      await cluster.redis.cmd('SET', RECORD, change(record));
      const stored = await keys();
      for (const args of [
        ['serve', ...redis, '--accounts', accounts, '--listen', '127.0.0.1:0'],
        ['backup', ...redis, file],
        ['reindex', ...redis, '--dry-run'],
        ['servers', ...redis],
        ['servers', ...redis, '--adopt', '1'],
        ['show', ...redis, 'nodes'],
      ]) {
        const { code, stdout, stderr } = await runParley(args);
        assert.deepEqual([code, stdout, stderr], [1, '', line('the data in Redis', seen, 'use the Parley that stored it, or an empty Redis')], args[0]);
      }
      assert.throws(() => readFileSync(file), { code: 'ENOENT' });
      assert.deepEqual(await keys(), stored);
    });

    it(`${what} of a Redis without data is written over by a restore`, { timeout: 120_000 }, async () => {
      const target = await startRedis();
      const file = join(folder.dir, what);
      try {
        await cluster.redis.cmd('SET', RECORD, record);
        assert.equal((await runParley(['backup', '--redis', cluster.redis.url, file])).code, 0);
        await target.cmd('SET', RECORD, change(record));
        const { code, stdout, stderr } = await runParley(['restore', '--redis', target.url, file]);
        assert.deepEqual([code, stdout, stderr], [1, '', line('the data in Redis', seen, 'use the Parley that stored it, or an empty Redis')]);
        assert.deepEqual([await target.cmd('KEYS', '*'), await target.cmd('GET', RECORD)], [[RECORD], change(record)]);
      } finally {
        await target.stop();
      }
    });
  }

  it('the record of this build keeps its data from it', async () => {
    await cluster.redis.cmd('SET', RECORD, record);
    await cluster.startNode();
    const [row] = assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic: 'kept' } }));
    assert.equal(row.Query, 'Is it here?');
    await cluster.nodes.splice(0)[0].stop();
  });
});

describe('a backup of another data version', () => {
  const FIRST = `parley backup, data version ${VERSION}\n`;

  it('is restored, or one without, and anything is written', { timeout: 120_000 }, async () => {
    const folder = makeFolder();
    const redis = await startRedis();
    const [good, bad] = ['good', 'bad'].map((name) => join(folder.dir, name));
    try {
      await redis.cmd('SET', 'parley:{0}:token_key', 'ab'.repeat(32));
      assert.equal((await runParley(['backup', '--redis', redis.url, good])).code, 0);
      await redis.cmd('FLUSHALL');
      const bytes = readFileSync(good);
      assert.equal(bytes.subarray(0, FIRST.length).toString(), FIRST);
      for (const [first, seen] of [
        [`parley backup, data version ${NEXT}\n`, NEXT],
        [`parley backup, data version ${NEXT}00\n`, `${NEXT}00`],
        ['parley backup 3\n'], // as before there was a data version
        ['parley backup 1\n'],
        ['parley backup\n'],
        ['parley backup, data version \n'],
        [`parley backup, data version ${VERSION}x\n`],
        [`parley backup, data version ${'1'.repeat(100)}\n`],
      ]) {
        writeFileSync(bad, Buffer.concat([Buffer.from(first), bytes.subarray(FIRST.length)]));
        const { code, stdout, stderr } = await runParley(['restore', '--redis', redis.url, bad]);
        assert.deepEqual([code, stdout, stderr], [1, '', line(`${bad}: it`, seen, 'restore it with the Parley that wrote it')], first);
        assert.deepEqual(await redis.cmd('KEYS', '*'), []);
      }
      assert.equal((await runParley(['restore', '--redis', redis.url, good])).code, 0);
      assert.equal(await redis.cmd('GET', 'parley:{0}:token_key'), 'ab'.repeat(32));
    } finally {
      await redis.stop();
      folder.remove();
    }
  });
});

describe('a node that runs', () => {
  const says = (reason) => new RegExp(`error +${reason} reason="the data in Redis has data version ${NEXT}, and this Parley \\(.*\\) reads only data version ${VERSION}: use .*"\n`);

  async function withRedis(body) {
    const folder = makeFolder();
    const redis = await startRedis({ aof: true });
    try {
      await body(redis, folder.file('accounts.yaml', accountsYaml()));
    } finally {
      await redis.stop();
      folder.remove();
    }
  }

  it('uses data of another data version that its Redis came back with', { timeout: 120_000 }, () =>
    withRedis(async (redis, accounts) => {
      const node = await startNode({ redis, accounts, threads: 2 });
      await redis.cmd('SET', RECORD, `${NEXT} in whatever form`);
      await redis.restart();
      const { code } = await node.exited(60_000);
      node.check();
      assert.equal(code, 1, node.log());
      assert.match(node.log(), says('redis now holds other data'));
      assert.equal(node.log().match(/redis now holds other data/g).length, 1, 'one line');
      assert.equal(await redis.cmd('GET', RECORD), `${NEXT} in whatever form`);
    }));

  it('uses data of another data version, as Redis was away when it started', { timeout: 120_000 }, () =>
    withRedis(async (redis, accounts) => {
      await redis.cmd('SET', RECORD, `${NEXT} in whatever form`);
      await redis.kill();
      const node = await startNode({ redis, accounts });
      await redis.restart();
      const { code } = await node.exited(60_000);
      node.check();
      assert.equal(code, 1, node.log());
      assert.match(node.log(), says('redis now holds another cluster'));
      assert.deepEqual(await redis.cmd('KEYS', '*'), [RECORD]);
    }));
});
