// SPDX-License-Identifier: MIT
//
// Attacks on lookups of several shards (ADR 30): a topic is on one shard, what it needs on shard 0, and nodes and masters die in between.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newNonce, suite } from '../support/harness.mjs';
import { startProxy } from '../support/proxy.mjs';
import { ownShards, prefixOf, prefixOfShard, topicOn } from '../support/shards.mjs';
import { startRedisCluster } from '../support/topology.mjs';
import { verbCalls } from './watch.mjs';

ownShards(); // flags say how many

const N = 4;
const ZERO = prefixOfShard(0);
// Nodes look after what is left lying every second.
const args = ['--shards', String(N), '--rescan-seconds', '1'];

function helpers(cluster) {
  const redis = () => cluster.redis;
  const addRaw = (Topic, Fragment, options = {}) => cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', body: { Topic, Seq: 1, Fragment }, ...options });
  return {
    addRaw,
    async topic(shard) {
      const Topic = topicOn(shard, N);
      await cluster.add({ Topic });
      return Topic;
    },
    add: async (Topic, Fragment, options) => assertOk(await addRaw(Topic, Fragment, options)).Fingerprint,
    // {fragment: matches or null} that the topic shows.
    async shown(Topic) {
      const { Lookups } = assertOk(await cluster.request('GET', '/api/get-lookups', { as: 'Frontend_1', query: { Topic, Detail: 'true' } }));
      return { found: Object.assign({}, ...Lookups.flatMap(({ Fragments }) => Fragments)), pending: Lookups.flatMap(({ Pending }) => Pending) };
    },
    match: (Fingerprint, Matches, options = {}) => cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body: { Fingerprint, Matches }, ...options }),
    remove: (Topic, options = {}) => cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: 'alice', Topic }, ...options }),
    outbox: async (Topic) => redis().cmd('ZRANGE', `${prefixOf(Topic, N)}outbox`, 0, -1),
    // What shard 0 has of it.
    traces: async (Fingerprint) => {
      const found = [];
      for (const key of ['lookup:', 'needs:']) if (await redis().cmd('EXISTS', `${ZERO}${key}${Fingerprint}`)) found.push(key);
      if ((await redis().cmd('ZSCORE', `${ZERO}lookups`, Fingerprint)) !== null) found.push('lookups');
      return found;
    },
    isGone(Fingerprint, Topic) {
      return eventually(async () => (await this.traces(Fingerprint)).length === 0 && (await this.outbox(Topic)).length === 0, { ms: 60_000, what: 'the lookup is gone' });
    },
    // As if the ten seconds were over after which another node takes what one has taken.
    async hurry(Topic) {
      const key = `${prefixOf(Topic, N)}outbox`;
      for (const item of await redis().cmd('ZRANGE', key, 0, -1)) await redis().cmd('ZADD', key, 'XX', 0, item);
    },
  };
}

// Runs begin(node) on a node whose call of `verb` is held back: Redis has not run it ('request'), or has ('reply').
async function heldAt(cluster, verb, side, begin, options) {
  const proxy = await startProxy(cluster.redis);
  const node = await cluster.startNode({ redis: proxy, ...options });
  cluster.nodes.splice(cluster.nodes.indexOf(node), 1); // it gets this one request
  // With its first sync of each shard it looks into outboxes: that is not what is to be held.
  await eventually(async () => (await verbCalls(cluster, node, 'outbox')) >= N, { ms: 60_000, what: 'the node has begun' });
  const held = proxy.holdAt(verb, side);
  const { response } = begin(node);
  response.catch(() => {});
  await held;
  return {
    node,
    proxy,
    response,
    async kill() {
      await node.kill();
      await proxy.stop();
    },
  };
}

suite('lookups of four shards', { args }, ({ test, cluster }) => {
  const at = helpers(cluster);
  const openAdd = (Topic, Fragment) => (node) => cluster.open('POST', '/api/add-lookup', { as: 'Frontend_1', node, body: { Topic, Seq: 1, Fragment } });
  const openRemove = (Topic) => (node) => cluster.open('DELETE', '/api/topic', { as: 'Frontend_1', node, query: { OnBehalfOf: 'alice', Topic } });

  for (const [side, what] of [['request', 'before shard 0 has it'], ['reply', 'after shard 0 has it']]) {
    test(`a node dies between the halves of an add: ${what}`, async () => {
      for (let shard = 0; shard < N; shard++) {
        const Topic = await at.topic(shard);
        const Fragment = newNonce();
        const died = await heldAt(cluster, 'open_lookup', side, openAdd(Topic, Fragment));
        await died.kill();
        const { found, pending } = await at.shown(Topic);
        assert.deepEqual(found, {});
        assert.equal(pending.length, side === 'request' ? 0 : 1, 'what nobody looks up is not shown as pending');
        const print = await at.add(Topic, Fragment);
        assertOk(await at.match(print, ['m']));
        assert.deepEqual((await at.shown(Topic)).found, { [Fragment]: ['m'] });
        assertOk(await at.remove(Topic));
        await at.isGone(print, Topic);
      }
    });

    test(`a node dies between the halves of an add, and nobody asks again: ${what}`, async () => {
      const Topic = await at.topic(2);
      const Fragment = newNonce();
      const died = await heldAt(cluster, 'open_lookup', side, openAdd(Topic, Fragment));
      await died.kill();
      const other = await at.topic(1);
      const print = await at.add(other, Fragment);
      assertOk(await at.remove(Topic));
      await eventually(async () => (await at.outbox(Topic)).length === 0);
      assert.deepEqual((await at.shown(other)).pending, [print], 'who shares it keeps it');
      assertOk(await at.remove(other));
      await at.isGone(print, other);
    });
  }

  test('a topic is deleted between the halves of an add: nothing of it is kept', async () => {
    const Topic = await at.topic(3);
    const Fragment = newNonce();
    const slow = await heldAt(cluster, 'note_lookup', 'reply', openAdd(Topic, Fragment));
    assertOk(await at.remove(Topic));
    await eventually(async () => (await at.outbox(Topic)).length === 0, { what: 'its end was carried to shard 0' });
    slow.proxy.release();
    assertProblem(await slow.response, 404);
    const print = await at.add(await at.topic(3), newNonce());
    const keys = await cluster.redis.cmd('KEYS', `${ZERO}needs:*`);
    assert.ok(keys.every((key) => key.endsWith(print)), keys.join());
    await slow.kill();
  });

  for (const [verb, side, what] of [
    ['outbox', 'request', 'before it takes the outbox'],
    ['release_lookups', 'request', 'before shard 0 hears of it'],
    ['release_lookups', 'reply', 'after shard 0 has heard of it'],
  ]) {
    test(`a node dies between the halves of a release: ${what}`, async () => {
      for (const shard of [0, 3]) {
        const Topic = await at.topic(shard);
        const print = await at.add(Topic, newNonce());
        // Its own syncs take from outboxes too, so the others are not to be quicker.
        const died = await heldAt(cluster, verb, side, openRemove(Topic), { args: ['--rescan-seconds', '3600'] });
        assert.equal((await cluster.checkRaw({ Topic })).status, 404, 'the topic is gone');
        await died.kill();
        await at.hurry(Topic);
        await at.isGone(print, Topic);
        assertProblem(await at.match(print, ['m']), 404);
      }
    });
  }

  test('a lookup shared by topics of two shards is released by one of them', async () => {
    for (const [first, second] of [[1, 2], [0, 3], [3, 0]]) {
      const [one, two] = [await at.topic(first), await at.topic(second)];
      const Fragment = newNonce();
      const print = await at.add(one, Fragment);
      assert.equal(await at.add(two, Fragment), print);
      assertOk(await at.remove(one));
      await eventually(async () => (await cluster.redis.cmd('SCARD', `${ZERO}needs:${print}`)) === 1, { what: 'it is released' });
      assert.deepEqual((await at.shown(two)).pending, [print]);
      assertOk(await at.match(print, ['m']));
      assert.deepEqual((await at.shown(two)).found, { [Fragment]: ['m'] });
      assertOk(await at.remove(two));
      await at.isGone(print, two);
    }
  });

  test('an outbox that two nodes work off at once, and a topic of the same name that comes meanwhile', async () => {
    const Topic = await at.topic(2);
    const other = await at.topic(1);
    const Fragment = newNonce();
    const print = await at.add(Topic, Fragment);
    await at.add(other, Fragment);
    const slow = await heldAt(cluster, 'release_lookups', 'reply', openRemove(Topic), { args: ['--rescan-seconds', '3600'] });
    await cluster.add({ Topic });
    await at.add(Topic, Fragment);
    await at.hurry(Topic);
    await eventually(async () => (await at.outbox(Topic)).length === 0, { what: 'another node has worked it off, too' });
    slow.proxy.release();
    assertOk(await slow.response);
    assert.deepEqual((await at.shown(Topic)).pending, [print], 'the new topic has what it asked for');
    assert.equal(await cluster.redis.cmd('SCARD', `${ZERO}needs:${print}`), 2);
    for (const one of [Topic, other]) assertOk(await at.remove(one));
    await at.isGone(print, Topic);
    await slow.kill();
  });

  test('hundreds of lookups of one topic are deleted, and shared ones stay', async () => {
    const before = await cluster.redis.cmd('ZCARD', `${ZERO}lookups`);
    const Topic = await at.topic(3);
    const other = await at.topic(2);
    const fragments = Array.from({ length: 300 }, (_, i) => `many ${i}`);
    const prints = [];
    for (let i = 0; i < fragments.length; i += 50) prints.push(...(await Promise.all(fragments.slice(i, i + 50).map((fragment) => at.add(Topic, fragment)))));
    await at.add(other, fragments[7]);
    assert.equal((await at.shown(Topic)).pending.length, 300);
    assertOk(await at.remove(Topic));
    await eventually(async () => (await cluster.redis.cmd('ZCARD', `${ZERO}lookups`)) === before + 1 && (await at.outbox(Topic)).length === 0, { ms: 60_000, what: 'all but one are gone' });
    assert.deepEqual(await at.traces(prints[7]), ['lookup:', 'needs:', 'lookups']);
    assertOk(await at.remove(other));
    await at.isGone(prints[7], other);
  });

  test('refused lookups use up none of the thousand that a topic may have', async () => {
    await cluster.redis.cmd('HSET', `${ZERO}lookups_of`, 'User_1', 1000);
    try {
      const Topic = topicOn(1, N);
      await cluster.add({ as: 'User_1', Topic });
      for (let i = 0; i < 20; i++) assertProblem(await at.addRaw(Topic, newNonce(), { as: 'User_1' }), 429);
      await eventually(async () => (await cluster.redis.cmd('HLEN', `${prefixOf(Topic, N)}lookups:${Topic}`)) === 0, { what: 'their notes are taken back' });
    } finally {
      await cluster.redis.cmd('HDEL', `${ZERO}lookups_of`, 'User_1');
    }
  });
});

suite('lookups of four shards on a Redis Cluster', { args, redis: () => startRedisCluster({ masters: 3, replicas: 0, aof: true }) }, ({ test, cluster }) => {
  const at = helpers(cluster);

  test('a master is away: that of shard 0, and that of the topics', async () => {
    const masterOf = async (shard) => cluster.redis.ownerOf(await cluster.redis.slotOf(prefixOfShard(shard)));
    const [zero, second] = [await masterOf(0), await masterOf(1)];
    assert.ok(zero !== second && second === (await masterOf(3)));
    const headers = { Authorization: `Bearer ${assertOk(await cluster.request('GET', '/api/login', { as: 'Frontend_1' })).Token}` };
    const engine = { Authorization: `Bearer ${assertOk(await cluster.request('GET', '/api/login', { as: 'Inference_1' })).Token}` };
    const add = (Topic, Fragment) => at.addRaw(Topic, Fragment, { as: undefined, headers });
    const ask = (Topic) => cluster.request('POST', '/api/add-query', { body: { Topic, User: 'alice', Query: 'Why?' }, headers });
    const lookups = (Topic) => cluster.request('GET', '/api/get-lookups', { query: { Topic }, headers });
    const remove = (Topic) => at.remove(Topic, { as: undefined, headers });
    const [kept, gone] = [topicOn(1, N), topicOn(3, N)];
    for (const Topic of [kept, gone]) assertOk(await ask(Topic));
    const Fragment = newNonce();
    const { Fingerprint } = assertOk(await add(gone, Fragment));
    const match = () => cluster.request('POST', '/api/give-new-matches', { body: { Fingerprint, Matches: ['m'] }, headers: engine });

    await zero.kill();
    await eventually(async () => (await add(kept, Fragment)).status === 503, { what: 'shard 0 is away' });
    assertProblem(await lookups(kept), 503);
    assertOk(await remove(gone));
    assert.equal((await second.cmd('ZCARD', `${prefixOfShard(3)}outbox`)), 1, 'it stays in the outbox');
    await zero.restart();
    await eventually(async () => (await second.cmd('ZCARD', `${prefixOfShard(3)}outbox`)) === 0, { ms: 60_000, what: 'it is carried over' });
    assert.deepEqual(await at.traces(Fingerprint), []);
    await eventually(async () => (await add(kept, Fragment)).status === 200, { ms: 60_000, what: 'the client asks again' });
    assert.deepEqual(await at.traces(Fingerprint), ['lookup:', 'needs:', 'lookups']);

    await second.kill();
    await eventually(async () => (await add(kept, newNonce())).status === 503, { what: 'the topics are away' });
    assertOk(await match());
    assertProblem(await lookups(kept), 503);
    await second.restart();
    const read = await eventually(async () => {
      const response = await lookups(kept);
      return response.status === 200 && response;
    }, { ms: 60_000, what: 'the topic is there again' });
    assert.deepEqual(read.json.Lookups, [{ Query: 'Why?', Fragments: [{ [Fragment]: ['m'] }] }]);
  }, { sweep: false });
});
