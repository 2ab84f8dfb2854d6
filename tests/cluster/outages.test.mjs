// SPDX-License-Identifier: MIT
//
// Four shards on a Redis Cluster of three masters without replicas: shard 2 is on the first, 1 and 3 are on the second, 0 is on
// the third. What one master may do to it: be away, hang, come back, come back without its data (ADR 25, ADR 55).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertOk, assertProblem, Cluster, eventually, newNonce, runParley } from '../support/harness.mjs';
import { engineShard, ownShards, prefixOf, prefixOfShard, topicOn } from '../support/shards.mjs';
import { startRedisCluster } from '../support/topology.mjs';
import { parked, waiting } from './watch.mjs';

ownShards(); // flags say how many

const SHARDS = 4;
const EMPTY = { Topic: null, Queries: null };
const TEST_MS = 240_000;
const HAS = [[2], [1, 3], [0]]; // by master
const topicOf = (shard) => topicOn(shard, SHARDS);
const recordOf = (shard) => `${prefixOfShard(shard)}cluster`;

// Runs body(cluster, masters) with nodes.
async function withMasters(body, { nodes = 2, aof = true } = {}) {
  const cluster = new Cluster({ nodes: 0, redis: () => startRedisCluster({ masters: 3, replicas: 0, aof }), args: ['--target', 'broker', '--rescan-seconds', '1'] });
  await cluster.start();
  cluster.join = () => cluster.startNode({ args: ['--shards', SHARDS] });
  try {
    const masters = await cluster.redis.masters();
    for (const [i, shards] of HAS.entries()) for (const shard of shards) assert.equal(await cluster.redis.ownerOf(await cluster.redis.slotOf(prefixOfShard(shard))), masters[i]);
    for (let i = 0; i < nodes; i++) await cluster.join();
    if (nodes > 0) await known(cluster);
    await body(cluster, masters);
    cluster.checkSanitizers();
  } catch (error) {
    cluster.printLogs(new Map());
    throw error;
  } finally {
    await cluster.stop();
  }
}

const test = (name, body, options) => it(name, { timeout: TEST_MS }, () => withMasters(body, options));

// Requests by token: they need no nonce, so one shard answers them.
async function tokens(cluster) {
  const found = {};
  for (const as of ['Frontend_1', 'Inference_1', 'Operator_1']) {
    const { Token } = assertOk(await cluster.request('GET', '/api/login', { as }));
    found[as] = { as: undefined, headers: { Authorization: `Bearer ${Token}` } };
  }
  return { frontend: found.Frontend_1, engine: found.Inference_1, operator: found.Operator_1 };
}

const readyz = (cluster, node) => cluster.request('GET', '/readyz', { node });
// What a text says of shards: [[shard, words], …], nothing else.
const saidOf = (text = '') => text.split(/(?=Server \d+ of 4: )/).filter(Boolean).map((one) => /^Server (\d+) of 4: (.*?) ?$/.exec(one).slice(1)).map(([n, words]) => [n - 1, words]);
function says(text, shards, words) {
  const said = saidOf(text);
  return said.map(([shard]) => shard).join() === shards.join() && said.every(([, its]) => its.startsWith(words));
}
// Each node knows that these shards are away, and why; or that none is.
const known = async (cluster, shards = [], words = 'Not connected') => {
  for (const node of cluster.nodes.filter(({ alive }) => alive)) {
    let seen;
    await eventually(
      async () => {
        const { status, json, text } = await readyz(cluster, node);
        seen = text;
        return status === 200 && (shards.length > 0 ? says(json.away, shards, words) : json.away === undefined);
      },
      { ms: 60_000, what: `/readyz says ${words} of ${shards}` },
    ).catch((error) => {
      error.message += `: ${seen}`;
      throw error;
    });
  }
};

function refused(response) {
  assertProblem(response, 503, 'redis_lost');
  assert.ok(Number(response.headers['retry-after']) >= 1, 'Retry-After');
}

// From the question to the answer; the engine may get others' questions first.
async function cycle(cluster, who, Topic, options = {}) {
  const { Seq } = await cluster.add({ Topic, ...who.frontend, ...options });
  for (;;) {
    const claim = await cluster.claim({ wait: 60, detail: true, ...who.engine });
    assert.notEqual(claim.Topic, null, 'a question comes');
    for (const entry of claim.Queries) {
      const [[seq, Query]] = Object.entries(entry);
      await cluster.answer({ Topic: claim.Topic, Seq: Number(seq), Query, Answer: [`to ${claim.Topic}`], Lease: claim.Lease, ...who.engine });
    }
    if (claim.Topic === Topic) break;
  }
  assert.deepEqual((await cluster.check({ Topic, Seq, ...who.frontend })).Answer, [`to ${Topic}`]);
}

describe('a master of a Redis Cluster', { concurrency: false }, () => {
  test(
    'two nodes with different numbers at first start, and members in another order',
    async (cluster) => {
      const start = (shards, redis = cluster.redis) => cluster.startNode({ redis, args: ['--shards', shards] });
      const both = await Promise.allSettled([start(4), start(8)]);
      const lost = both.filter(({ status }) => status === 'rejected');
      assert.equal(lost.length, 1, 'one of them has won');
      assert.match(lost[0].reason.message, /--shards is [48], but this cluster has [48]/);
      const members = cluster.redis.members.map(({ port }) => `127.0.0.1:${port}`);
      const adopted = await cluster.startNode({ redis: { url: `redis+cluster://${members.reverse().join()}` }, env: { PARLEY_SHARDS: '' } });
      assertOk(await cluster.request('GET', '/readyz', { node: adopted }));
      const n = Number((await cluster.redis.cmd('GET', recordOf(0))).split(' ')[3]);
      const records = await Promise.all(Array.from({ length: n }, (_, shard) => cluster.redis.cmd('GET', recordOf(shard))));
      assert.equal(new Set(records.map((record) => record.split(' ')[1])).size, 1, 'one cluster');
      assert.ok(records[0].endsWith(' whole'));
    },
    { nodes: 0 },
  );

  test('away (only its shards answer 503)', async (cluster, [, second, third]) => {
    const who = await tokens(cluster);
    const old = [0, 1, 2, 3].map(topicOf);
    for (const Topic of old) await cluster.add({ Topic, User: 'alice', ...who.frontend });
    await second.kill();
    await known(cluster, [1, 3]);
    for (const node of [0, 1]) {
      for (const shard of [0, 1, 2, 3]) {
        const responses = [
          await cluster.addRaw({ Topic: topicOf(shard), node, ...who.frontend }),
          await cluster.checkRaw({ Topic: old[shard], node, ...who.frontend }),
          await cluster.request('GET', '/api/get-topic-thread', { node, query: { Topic: old[shard] }, ...who.frontend }),
        ];
        for (const response of responses) if (shard % 2 === 0) assertOk(response); else refused(response);
      }
      // Lists over all shards: one that has a place for it says what is missing, the other is refused.
      const status = assertOk(await cluster.request('GET', '/api/status', { node, ...who.operator }));
      assert.deepEqual([status.Redis.Status, status.Redis.MissingShards], ['degraded', [1, 3]]);
      const [listed, missing] = [[], []];
      for (let After = 0; After !== null; ) {
        const page = assertOk(await cluster.request('GET', '/api/queue', { node, query: { After }, ...who.operator }));
        listed.push(...page.Queries.map(({ Topic }) => Topic));
        missing.push(...(page.MissingShards ?? []));
        After = page.Next;
      }
      assert.deepEqual(missing, [1, 3]);
      assert.deepEqual(listed.filter((topic) => old.includes(topic)).sort(), [old[0], old[2]].sort());
      refused(await cluster.request('GET', '/api/user-topics', { node, query: { OnBehalfOf: 'alice' }, ...who.frontend }));
      const health = assertOk(await cluster.request('GET', '/health', { node }));
      assert.equal(health.dependencies.redis.status, 'error');
      assert.ok(says(health.dependencies.redis.details.message, [1, 3], 'Not connected'), health.dependencies.redis.details.message);
      assert.notEqual(health.status, 'unhealthy');
    }
    // A signed request needs the shard of its nonce, too.
    const seen = { 200: 0, 503: 0 };
    for (let i = 0; seen[200] === 0 || seen[503] === 0; i++) {
      assert.ok(i < 200, JSON.stringify(seen));
      const response = await cluster.addRaw({ Topic: topicOf(0), node: i % 2 });
      if (response.status === 503) refused(response);
      seen[response.status]++;
    }
    // Without the majority of its masters the Redis Cluster stops.
    await third.kill();
    for (const node of [0, 1]) {
      const response = await eventually(async () => {
        const found = await readyz(cluster, node);
        return found.status === 503 && saidOf(found.json.detail).length === SHARDS && found;
      }, { ms: 60_000, what: 'all shards are away' });
      assert.deepEqual(saidOf(assertProblem(response, 503).detail).map(([shard, words]) => [shard, /^Not connected/.test(words), /CLUSTERDOWN/.test(words)]), [[0, true, false], [1, true, false], [2, false, true], [3, true, false]]);
    }
    for (const master of [second, third]) await master.restart();
    await known(cluster);
    for (const Topic of old) assert.equal(assertOk(await cluster.checkRaw({ Topic, ...who.frontend })).Topic, Topic);
  });

  test('away: its half of the topics', async (cluster, [, second]) => {
    const who = await tokens(cluster);
    const held = topicOf(3);
    await cluster.add({ Topic: held, Query: 'kept', ...who.frontend });
    await second.kill();
    await known(cluster, [1, 3]);
    // The other half goes its whole way, over both nodes, and engines that wait get it, wherever their credits were.
    for (let i = 0; i < 12; i++) await cycle(cluster, who, topicOf(i % 2 === 0 ? 0 : 2), { node: i % 2 });
    const polls = [0, 1].map((node) => cluster.claimOpen({ wait: 60, node, ...who.engine }));
    for (const node of [0, 1]) await parked(cluster, node, 1);
    for (const shard of [0, 2]) {
      const Topic = topicOf(shard);
      await cluster.add({ Topic, ...who.frontend });
      const index = await Promise.any(polls.map(async ({ response }, i) => (await response, i)));
      assert.equal(assertOk(await polls[index].response).Topic, Topic);
      polls.splice(index, 1);
      await cluster.answer({ Topic, Seq: 1, ...who.engine });
    }
    // A poll that does not wait is empty, not refused: the shards that are there have nothing.
    assert.deepEqual(await cluster.claim({ ...who.engine }), EMPTY);
    await second.restart();
    await known(cluster);
    assert.deepEqual((await cluster.claim({ wait: 60, ...who.engine })).Queries, [{ 1: 'kept' }]);
    for (const shard of [1, 3]) await cycle(cluster, who, topicOf(shard));
  });

  test('polls that were parked before it went away get work of the others, and of it once it is back', async (cluster, [, second]) => {
    const who = await tokens(cluster);
    const polls = Array.from({ length: 8 }, (_, i) => cluster.claimOpen({ wait: 110, node: i % 2, ...who.engine }));
    for (const node of [0, 1]) await parked(cluster, node, 4);
    await second.kill();
    await known(cluster, [1, 3]);
    const got = new Set();
    const take = async (Topic) => {
      await cluster.add({ Topic, ...who.frontend });
      await eventually(
        async () => {
          for (const poll of polls) poll.response.then(({ json }) => got.add(json?.Topic)).catch(() => {});
          return got.has(Topic);
        },
        { ms: 60_000, what: `a parked poll has ${Topic}` },
      );
    };
    for (let i = 0; i < 4; i++) await take(topicOf(i % 2 === 0 ? 0 : 2));
    await second.restart();
    await known(cluster);
    for (let i = 0; i < 4; i++) await take(topicOf(i % 2 === 0 ? 1 : 3));
    for (const { response } of polls) assertOk(await response);
  });

  test('what waits for an outcome on it when it goes away has it once it is back: check, add with Wait, stream', async (cluster, [, second]) => {
    const who = await tokens(cluster);
    const [asked, streamed] = [topicOf(1), topicOf(3)];
    for (const Topic of [asked, streamed]) await cluster.add({ Topic, ...who.frontend });
    const added = topicOf(1);
    const waiters = [
      cluster.checkOpen({ Topic: asked, wait: 110, node: 0, ...who.frontend }),
      cluster.addRaw({ Topic: added, node: 1, query: { Wait: 110 }, timeout: 150_000, ...who.frontend }),
    ];
    const stream = cluster.stream('/api/check-query', { query: { Topic: streamed, Seq: 1 }, node: 1, ...who.frontend });
    await waiting(cluster, 0, 1);
    await waiting(cluster, 1, 2);
    await eventually(async () => (await second.cmd('HGET', `${prefixOf(added, SHARDS)}t:${added}`, 'w:1')) !== null, { what: 'it is stored' });
    // The node has read the reply to the add, too: one that is lost with its connection is a 503.
    assert.equal((await cluster.check({ Topic: added, node: 1, ...who.frontend })).Answer, null);
    await second.kill();
    await known(cluster, [1, 3]);
    // New ones are refused at once, what waits stays.
    refused(await cluster.checkRaw({ Topic: asked, wait: 60, node: 0, ...who.frontend }));
    refused(await cluster.addRaw({ Topic: topicOf(1), query: { Wait: 60 }, ...who.frontend }));
    await waiting(cluster, 0, 1);
    await waiting(cluster, 1, 2);
    await second.restart();
    await known(cluster);
    for (let left = 3; left > 0; left--) {
      const { Topic, Lease } = await cluster.claim({ wait: 60, detail: true, ...who.engine });
      await cluster.answer({ Topic, Seq: 1, Lease, Answer: [`to ${Topic}`], ...who.engine });
    }
    assert.deepEqual(assertOk(await waiters[0].response).Answer, [`to ${asked}`]);
    assert.deepEqual(assertOk(await waiters[1]).Answer, [`to ${added}`]);
    const seen = await (await stream).until('done', 60_000);
    assert.deepEqual(seen.at(-1).data.Answer, [`to ${streamed}`]);
  });

  test('that hangs is given up, and the others keep working', async (cluster, [, second]) => {
    const who = await tokens(cluster);
    second.pause();
    for (let i = 0; i < 4; i++) await cycle(cluster, who, topicOf(i % 2 === 0 ? 0 : 2));
    refused(await cluster.addRaw({ Topic: topicOf(1), ...who.frontend, timeout: 60_000 }));
    second.resume();
    await known(cluster);
    for (const shard of [0, 1, 2, 3]) await cycle(cluster, who, topicOf(shard));
  });

  for (const lost of [1, 2]) {
    const its = HAS[lost];
    const others = [0, 1, 2, 3].filter((shard) => !its.includes(shard));
    test(
      `restarts empty: that of shards ${its.join(' and ')}`,
      async (cluster, masters) => {
        const who = await tokens(cluster);
        const kept = topicOf(others[0]);
        await cluster.add({ Topic: kept, ...who.frontend });
        await masters[lost].restart(); // it keeps no file
        await known(cluster, its, 'It has lost its data');
        for (const node of [0, 1]) {
          for (const shard of its) refused503(await cluster.addRaw({ Topic: topicOf(shard), node, ...who.frontend }));
          for (const shard of others) assertOk(await cluster.addRaw({ Topic: topicOf(shard), node, ...who.frontend }));
          assertOk(await cluster.checkRaw({ Topic: kept, node, ...who.frontend }));
        }
        // A process that starts now makes nothing new of it.
        const late = await cluster.join();
        const response = await readyz(cluster, late);
        const said = its.includes(0) ? assertProblem(response, 503).detail : assertOk(response).away;
        assert.ok(says(said, its, 'It has lost its data'), said);
        for (const shard of its) assert.equal(await masters[lost].cmd('GET', recordOf(shard)), null);
        assert.deepEqual(await masters[lost].cmd('KEYS', '*'), []);
        // By hand it becomes a part of the cluster again.
        const servers = (...more) => runParley(['servers', '--redis', cluster.redis.url, ...more]);
        const shown = await servers();
        assert.equal(shown.code, 1);
        const lines = shown.stdout.trim().split('\n');
        assert.equal(lines.length, SHARDS);
        for (const [shard, line] of lines.entries()) {
          const { port } = masters[HAS.findIndex((has) => has.includes(shard))];
          assert.match(line, new RegExp(`^server ${shard + 1}  127.0.0.1:${port}/0  shards ${shard}  ${its.includes(shard) ? 'emptied' : 'there$'}`));
        }
        assert.equal((await servers('--adopt', others[0] + 1)).code, 1, 'another one has its record');
        for (const shard of its) {
          const adopted = await servers('--adopt', shard + 1);
          assert.deepEqual([adopted.code, adopted.stderr], [0, '']);
        }
        await known(cluster);
        assert.equal((await servers()).code, 0);
        await eventually(async () => (await cluster.request('GET', '/api/login', { as: 'Frontend_1', node: late })).status === 200, { what: 'the new node issues tokens' });
        const now = await tokens(cluster);
        for (const shard of [0, 1, 2, 3]) await cycle(cluster, now, topicOf(shard));
      },
      { aof: false },
    );
  }

  test('restarts without its records, and takes long to read what it has: nothing is written into it', async (cluster, [, second]) => {
    // Nobody writes between these, nor until it is killed.
    for (const words of [['MULTI'], ['FLUSHALL'], ['EVAL', "for i = 1, 3000 do redis.call('SET', 'other:{1nb}:' .. i, i) end", 0], ['CONFIG', 'SET', 'min-replicas-to-write', 1], ['EXEC']]) await second.cmd(...words);
    await second.restart(['--key-load-delay', 1000]); // a millisecond for each key, and LOADING meanwhile
    await known(cluster, [1, 3], 'It has lost its data');
    assert.equal(await second.cmd('DBSIZE'), 3000);
    assert.deepEqual(await second.cmd('KEYS', 'parley:*'), []);
  });

  test('away when a node starts: shard 0 is there. The node knows the cluster by the others, and is not ready', async (cluster, [, , third]) => {
    const who = await tokens(cluster);
    await third.kill();
    const late = await cluster.startNode({ env: { PARLEY_SHARDS: '' } });
    assert.ok(says(assertProblem(await readyz(cluster, late), 503).detail, [0], ''));
    assert.ok(says(assertOk(await readyz(cluster, 0)).away, [0], ''));
    for (const shard of [1, 2, 3]) assertOk(await cluster.addRaw({ Topic: topicOf(shard), node: 0, ...who.frontend }));
    await third.restart();
    await known(cluster);
    await cycle(cluster, who, topicOf(0));
  });

  test('an engine polls one node and then the other: the older poll ends, whichever shards its credits are on', async (cluster) => {
    const who = await tokens(cluster);
    for (const shard of [0, 1, 2, 3]) {
      let engine;
      do engine = `gpu-${newNonce()}`;
      while (engineShard('Inference_1', engine, SHARDS) !== shard);
      const key = `${prefixOfShard(shard)}poll:Inference_1:${engine}`;
      const poll = () => cluster.redis.cmd('GET', key);
      const older = cluster.claimOpen({ wait: 110, engine, node: 0, ...who.engine });
      const first = await eventually(poll, { what: 'its poll is known at its home' });
      const newer = cluster.claimOpen({ wait: 110, engine, node: 1, ...who.engine });
      assert.deepEqual(assertOk(await older.response), EMPTY);
      assert.notEqual(await poll(), first);
      const Topic = topicOf(shard + 1);
      await cluster.add({ Topic, ...who.frontend });
      assert.equal(assertOk(await newer.response).Topic, Topic);
      await cluster.answer({ Topic, Seq: 1, ...who.engine });
    }
  });
});

function refused503(response) {
  assertProblem(response, 503);
  assert.ok(Number(response.headers['retry-after']) >= 1, 'Retry-After');
}
