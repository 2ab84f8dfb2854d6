// SPDX-License-Identifier: MIT
//
// Deletions and exports of a user that something ends in the middle: a node, a Redis, another node at the same time, a
// client. What was deleted stays so, the request sent again continues, and no export that is not whole looks like one.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import http from 'node:http';
import { formOf } from '../support/documents.mjs';
import { ACCOUNTS, assertOk, assertProblem, eventually, newNonce, suite } from '../support/harness.mjs';
import { startProxy } from '../support/proxy.mjs';
import { namesOfEachShard, prefixOfShard } from '../support/shards.mjs';
import { startRedisCluster } from '../support/topology.mjs';
import { unzip } from '../support/zip.mjs';
import { ready, stop } from './watch.mjs';

const FRONT = { Frontend_all: { secret: 'all-secret', role: 'frontend', max_waiting: 100_000 } };
const TOPICS = 10_000;
const AT_ONCE = 40;
const DEADLINE_MS = 120_000;

const pathOf = (user, what = '') => `/api/users/${encodeURIComponent(user)}${what}`;
const END_OF_CHUNKS = '0\r\n\r\n';

// Adds n topics of a user, many at once.
async function fill(cluster, User, n, textOf = (i) => `question ${i} of ${User}`) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: AT_ONCE });
  let next = 0;
  const worker = async () => {
    while (next < n) {
      const i = next++;
      await cluster.add({ as: 'Frontend_all', User, Topic: `${User}-${i}`, Query: textOf(i), agent });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  agent.destroy();
}

const removeRaw = (cluster, user, options = {}) => cluster.request('DELETE', pathOf(user), { as: 'Frontend_all', timeout: DEADLINE_MS, ...options });
async function remove(cluster, user, options) {
  for (let topics = 0; ; ) {
    const { Deleted, Done } = assertOk(await removeRaw(cluster, user, options), 202);
    topics += Deleted.Topics;
    if (Done) return topics;
  }
}
const usage = async (cluster, user, options = {}) => assertOk(await cluster.request('GET', pathOf(user, '/usage'), { as: 'Frontend_all', ...options }));
const exportRaw = (cluster, user, options = {}) => cluster.request('GET', pathOf(user, '/export'), { as: 'Frontend_all', timeout: DEADLINE_MS, ...options });
const exportedTopics = async (cluster, user, options) => JSON.parse(unzip((await exportRaw(cluster, user, options)).body).get('topics.json').toString());

// An export whose client has stopped reading, after its head has come: {socket, whole(): is the answer that came whole}.
async function openStuck(cluster, user, options = {}) {
  const socket = await cluster.socket(options);
  socket.write(`GET ${cluster.path(pathOf(user, '/export'), { as: 'Frontend_all', ...options })} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  await socket.begun(DEADLINE_MS);
  socket.pause();
  return {
    socket,
    async whole() {
      socket.resume();
      const { rest } = await socket.closed(DEADLINE_MS);
      assert.match(rest, /^HTTP\/1\.1 200 /);
      return rest.endsWith(END_OF_CHUNKS);
    },
  };
}

suite('a user with very much', { nodes: 2, sweep: false, accounts: { ...ACCOUNTS, ...FRONT } }, ({ test, cluster }) => {
  const User = `many-${newNonce()}`;

  test('10,000 topics are counted, found and copied', async () => {
    await fill(cluster, User, TOPICS);
    assert.deepEqual((await usage(cluster, User)).Topics, { Count: TOPICS });
    assert.equal((await usage(cluster, User)).Queries.Count, TOPICS);
    const found = assertOk(await cluster.request('GET', '/api/find-topics', { as: 'Frontend_all', query: { OnBehalfOf: User, Text: `question 4711 of ${User}` } }));
    assert.ok(found.Topics.length <= 1);
    const topics = await exportedTopics(cluster, User);
    assert.equal(topics.length, TOPICS);
    assert.equal(new Set(topics.map(({ Topic }) => Topic)).size, TOPICS);
    for (const { Topic, Queries } of topics) assert.equal(Queries[0].Query, `question ${Topic.slice(User.length + 1)} of ${User}`);
  });

  test('a node that is killed in the middle of a deletion: the request sent to another one finishes it', async () => {
    const proxy = await startProxy(cluster.redis);
    const dying = await cluster.startNode({ redis: proxy });
    const held = proxy.holdAt('delete_user', 'request', 6); // of 20, or of 5 on each of four shards
    const running = removeRaw(cluster, User, { node: dying });
    running.catch(() => {});
    await held;
    await stop(dying);
    const left = (await usage(cluster, User, { node: 0 })).Topics.Count;
    assert.ok(left > 0 && left < TOPICS, `${left} are left`);
    await dying.kill();
    await proxy.stop();
    await assert.rejects(running);
    assert.equal(await remove(cluster, User, { node: 1 }), left);
    assert.equal((await usage(cluster, User)).Topics.Count, 0);
    assert.equal(assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Depth, 0);
    assert.deepEqual((await cluster.redis.cmd('KEYS', `*${User}*`)), []);
  });
});

suite('an export that something ends', { nodes: 2, aof: true, sweep: false, accounts: { ...ACCOUNTS, ...FRONT } }, ({ test, cluster }) => {
  // Random letters, which no compression makes few.
  const text = () => Array.from({ length: 12_000 }, () => newNonce()).join('').slice(0, 250_000);
  const User = `large-${newNonce()}`;
  const SIZE = 50;

  test('a client that does not read delays nobody, and gets everything once it reads', async () => {
    await fill(cluster, User, SIZE, text);
    const stuck = await openStuck(cluster, User, { node: 0 });
    assertProblem(await exportRaw(cluster, User, { node: 0 }), 429, 'rate_limited');
    for (let i = 0; i < 20; i++) await usage(cluster, User, { node: 0 });
    assert.equal(await stuck.whole(), true);
  });

  test('its user is deleted on another node meanwhile: the copy is cut, or it is a whole zip of what there still was', async () => {
    const other = `gone-${newNonce()}`;
    await fill(cluster, other, SIZE, text);
    const stuck = await openStuck(cluster, other, { node: 0 });
    assertProblem(await exportRaw(cluster, other, { node: 0 }), 429, 'rate_limited');
    assert.equal(await remove(cluster, other, { node: 1 }), SIZE);
    await stuck.whole();
    assert.deepEqual(await exportedTopics(cluster, other), []);
  });

  test('a Redis that goes away in the middle: the answer has no end', async () => {
    const stuck = await openStuck(cluster, User, { node: 0 });
    assertProblem(await exportRaw(cluster, User, { node: 0 }), 429, 'rate_limited');
    await cluster.redis.pause();
    await cluster.redis.kill();
    assert.equal(await stuck.whole(), false);
    await eventually(async () => {
      assertProblem(await exportRaw(cluster, User, { node: 1 }), 503, 'redis_lost');
      return true;
    });
    assertProblem(await removeRaw(cluster, User, { node: 1 }), 503, 'redis_lost');
    await cluster.redis.restart();
    await ready(cluster, 0);
  });

  test('an account that loses its right: the answer has no end', async () => {
    const owner = `right-${newNonce()}`;
    await fill(cluster, owner, SIZE, text);
    const stuck = await openStuck(cluster, owner, { node: 0 });
    assertProblem(await exportRaw(cluster, owner, { node: 0 }), 429, 'rate_limited');
    cluster.writeAccounts({ ...ACCOUNTS, Frontend_all: { ...FRONT.Frontend_all, secret: 'another' } });
    cluster.nodes[0].signal('SIGHUP');
    await eventually(async () => (await exportRaw(cluster, owner, { node: 0, localAddress: '127.7.7.7' })).status === 401);
    assert.equal(await stuck.whole(), false);
  });
});

suite('a deletion while its user stays active', { nodes: 2, sweep: false, accounts: { ...ACCOUNTS, ...FRONT } }, ({ test, cluster }) => {
  test('an upload that is under way becomes a document of the user, as if it had begun later', async () => {
    const User = `upload-${newNonce()}`;
    const query = { OnBehalfOf: User };
    const { body, headers } = formOf({ name: 'a.txt', bytes: `secret of ${User} `.repeat(1000) });
    const socket = await cluster.socket({ node: 0 });
    const path = cluster.path('/api/docs/upload', { as: 'Frontend_all', query });
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${headers['content-type']}\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(body.subarray(0, 1000));
    assertOk(await removeRaw(cluster, User, { node: 1 }), 202);
    socket.write(body.subarray(1000));
    assert.equal((await socket.response()).status, 201);
    assert.equal((await usage(cluster, User)).Documents.Count, 1);
    const { Deleted, Done } = assertOk(await removeRaw(cluster, User), 202);
    assert.deepEqual([Deleted.Documents, Done], [1, true]);
    assert.deepEqual(await cluster.redis.cmd('KEYS', `*${User}*`), []);
    socket.abort();
  });

  test('questions that come while it runs are deleted, or there afterwards: none is lost between', async () => {
    const User = `busy-${newNonce()}`;
    await fill(cluster, User, 500);
    let isOver = false;
    const asking = (async () => {
      let n = 0;
      for (; !isOver; n++) await cluster.add({ as: 'Frontend_all', User, Topic: `${User}-late-${n}` });
      return n;
    })();
    const gone = await remove(cluster, User);
    isOver = true;
    const added = await asking;
    const left = (await usage(cluster, User)).Topics.Count;
    assert.equal(gone + left, 500 + added);
    assert.equal(await remove(cluster, User), left);
    assert.equal(assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Depth, 0);
  });
});

suite('documents without an indexer', { nodes: 1, sweep: false, args: ['--target', 'broker,documents'], accounts: { ...ACCOUNTS, ...FRONT } }, ({ test, cluster }) => {
  test('an export has their bytes as they came, however many blocks they are', async () => {
    const query = { OnBehalfOf: 'blocks' };
    const large = randomBytes(3_500_000);
    large.write('%PDF-1.7\n', 0, 'latin1');
    const sent = [['a.txt', Buffer.from('short')], ['large.pdf', large]];
    for (const [name, bytes] of sent) assertOk(await cluster.request('POST', '/api/docs/upload', { as: 'Frontend_all', query, ...formOf({ name, bytes }) }), 201);
    const files = unzip((await exportRaw(cluster, 'blocks')).body);
    const documents = JSON.parse(files.get('documents.json').toString());
    assert.deepEqual(documents.map(({ filename, status }) => [filename, status]), [['large.pdf', 'QUEUED'], ['a.txt', 'QUEUED']]);
    for (const [name, bytes] of sent) {
      const { id } = documents.find(({ filename }) => filename === name);
      assert.ok(files.get(`documents/${id}/${name}`).equals(bytes), name);
    }
  });
});

const four = () => startRedisCluster({ masters: 4, replicas: 0, aof: true });

suite('a user on four masters of a Redis Cluster', { nodes: 1, redis: four, args: ['--shards', '4'], sweep: false, accounts: { ...ACCOUNTS, ...FRONT } }, ({ test, cluster }) => {
  test('one of them away: 503, and what is on it is deleted once it is back', async () => {
    const { members } = cluster.redis;
    const User = `spread-${newNonce()}`;
    for (let i = 0; i < 10; i++) for (const Topic of namesOfEachShard(`${User}-${i}-`, 4)) await cluster.add({ as: 'Frontend_all', User, Topic });
    const onEach = await Promise.all(members.map(async (redis) => (await redis.cmd('KEYS', `*:t:${User}-*`)).length));
    assert.deepEqual(onEach, [10, 10, 10, 10]);
    const master = await cluster.redis.ownerOf(await cluster.redis.slotOf(prefixOfShard(2)));
    await master.kill();
    const refused = await eventually(async () => {
      const response = await removeRaw(cluster, User);
      return response.status === 503 && response;
    });
    assert.equal(refused.json.code, 'redis_lost');
    assertProblem(await cluster.request('GET', pathOf(User, '/usage'), { as: 'Frontend_all' }), 503);
    await master.restart();
    await eventually(async () => (await removeRaw(cluster, User)).status === 202, { ms: 60_000 });
    assert.equal(await remove(cluster, User), 0);
    for (const redis of members) assert.deepEqual(await redis.cmd('KEYS', `*${User}*`), []);
  });
});
