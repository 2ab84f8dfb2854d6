// SPDX-License-Identifier: MIT
//
// Uploads that end in the middle: between two blocks a node is killed, a client leaves, Redis becomes full, is emptied or
// goes away; and around the verb that makes a document of the blocks. What was not acknowledged leaves nothing that stays,
// what was is there, and the file can be uploaded again.
import assert from 'node:assert/strict';
import http2 from 'node:http2';
import { assertRefused, forgetLimits, formOf, settled, upload } from '../support/documents.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { prose } from '../support/indexing.mjs';
import { startProxy } from '../support/proxy.mjs';
import { ask } from '../support/shards.mjs';
import { ready } from './watch.mjs';

const TEXT = prose(400_000); // some MiB
const BLOCKS = Math.ceil(TEXT.length / (1 << 20));

suite('an upload that ends in the middle', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  const keys = (pattern) => cluster.redis.cmd('KEYS', `parley:{*}:${pattern}`);
  const nothingPushed = () => eventually(async () => (await keys('pushed:*')).length === 0, { what: 'no blocks are left' });
  let n = 0;
  const newFile = () => ({ name: 'long.txt', bytes: `${TEXT} ${(n += 1)}` });

  // An upload over a second node that is held at `word`; body({held: node, file, proxy, sent}) continues with it. `sent` is how
  // it is answered, where it is. Then the first node takes the same file.
  async function standingAt(word, nth, side, body) {
    await forgetLimits(cluster);
    const proxy = await startProxy(cluster.redis);
    const node = await cluster.startNode({ redis: proxy, args: ['--indexers', '0'] });
    const index = cluster.nodes.indexOf(node);
    const file = newFile();
    try {
      const held = proxy.holdAt(word, side, nth);
      const sent = upload(cluster, { ...file, node: index });
      sent.catch(() => {}); // of a node that is killed
      await held;
      await body({ node, index, file, proxy, sent });
    } finally {
      if (node.alive) await node.kill();
      await proxy.stop();
      cluster.nodes.splice(index, 1);
    }
    return file;
  }

  async function assertTaken(file, status = 201) {
    await forgetLimits(cluster);
    const { documentId } = assertOk(await upload(cluster, { ...file, node: 0 }), status);
    assert.equal((await settled(cluster, 'User_1', documentId)).status, 'INDEXED');
    assert.deepEqual(await keys(`upload:${documentId}`), []);
  }

  async function assertNoDocument() {
    assert.deepEqual([await keys('upload:*'), await keys('job_turns')], [[], []]);
  }

  test('a node is killed between two blocks: these expire, and another node takes the file', async () => {
    const file = await standingAt('RPUSHX', 3, 'request', async ({ node }) => {
      await node.kill();
      const [key, ...others] = await keys('pushed:*');
      assert.deepEqual(others, []);
      const left = await cluster.redis.cmd('TTL', key);
      assert.ok(left > 0 && left <= 300, `they expire in ${left} s`);
      await assertNoDocument();
      await cluster.redis.cmd('DEL', key);
    });
    await assertTaken(file);
  });

  test('a client leaves between two blocks: they are deleted at once', async () => {
    await forgetLimits(cluster);
    const proxy = await startProxy(cluster.redis);
    const node = await cluster.startNode({ redis: proxy, args: ['--indexers', '0'] });
    try {
      const file = newFile();
      const { body, headers } = formOf(file);
      const held = proxy.holdAt('RPUSHX', 'reply', 2);
      const session = http2.connect(node.url);
      const stream = session.request({ ':method': 'POST', ':path': cluster.path('/api/docs/upload', { as: 'User_1' }), ...headers, 'content-length': body.length });
      stream.on('error', () => {});
      stream.end(body);
      await held;
      assert.equal((await keys('pushed:*')).length, 1);
      stream.close(http2.constants.NGHTTP2_CANCEL);
      await nothingPushed();
      session.close();
      await assertNoDocument();
      await assertTaken(file);
    } finally {
      await node.kill();
      await proxy.stop();
      cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    }
  });

  for (const [when, pushed_n] of [['between two blocks', 2], ['before the verb that makes a document of the blocks', BLOCKS]]) {
    test(`Redis becomes full ${when}: the answer is store_full, and those that are there are deleted`, async () => {
      const file = await standingAt('RPUSHX', pushed_n, 'reply', async ({ proxy, sent }) => {
        await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
        try {
          proxy.release();
          assertRefused(await sent, 503, 'store_full');
          await nothingPushed();
          await assertNoDocument();
        } finally {
          await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
        }
      });
      await assertTaken(file);
    });
  }

  test('Redis loses the blocks that it has, between two of them: no document is made of the rest', async () => {
    const file = await standingAt('RPUSHX', 2, 'reply', async ({ proxy, sent }) => {
      await cluster.redis.cmd('DEL', ...(await keys('pushed:*')));
      proxy.release();
      assertRefused(await sent, 503, 'redis_lost');
      await assertNoDocument();
      assert.deepEqual(await keys('pushed:*'), []);
    });
    await assertTaken(file);
  });

  test('the connection is lost between two blocks: 503, and over the next one it is taken', async () => {
    await standingAt('RPUSHX', 2, 'reply', async ({ index, file, proxy, sent }) => {
      for (const socket of proxy.sockets) socket.destroy();
      assertRefused(await sent, 503, 'redis_lost');
      await assertNoDocument();
      await ready(cluster, index);
      for (const key of await keys('pushed:*')) assert.ok((await cluster.redis.cmd('TTL', key)) > 0);
      const { documentId } = assertOk(await upload(cluster, { ...file, node: index }), 201);
      assert.equal((await settled(cluster, 'User_1', documentId)).status, 'INDEXED');
    });
  });

  for (const [side, title, status] of [
    ['request', 'a node is killed right before its blocks become a document: nothing was acknowledged, nothing is there', 201],
    ['reply', 'a node is killed right after its blocks have become a document: the client that asks again finds it', 200],
  ]) {
    test(title, async () => {
      const file = await standingAt('upload', 1, side, ({ node }) => node.kill());
      await assertTaken(file, status);
      for (const key of await keys('pushed:*')) assert.ok((await cluster.redis.cmd('TTL', key)) > 0, key);
    });
  }

  test('a document is deleted with blocks that nobody has read', async () => {
    await cluster.nodes[0].stop(); // the only indexer; first, because a node gives up on a held block after five seconds
    await standingAt('RPUSHX', 1, 'reply', async ({ proxy, sent }) => {
      proxy.release();
      const { documentId } = assertOk(await sent, 201);
      assert.equal(await ask(cluster.redis, 'TYPE', `upload:${documentId}`), 'list');
      assert.equal(await ask(cluster.redis, 'TTL', `upload:${documentId}`), -1);
      const index = cluster.nodes.length - 1;
      assertOk(await cluster.request('DELETE', `/api/docs/${documentId}`, { as: 'User_1', node: index }));
      assert.deepEqual(await keys(`*:${documentId}*`), []);
    });
  });
});
