// SPDX-License-Identifier: MIT
//
// A cluster of four shards on two Redis servers: shards 0 and 2 on the first, 1 and 3 on the second. What one server may do
// to it: be away, hang, come back, come back without its data (ADR 25, ADR 33).
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { assertOk, assertProblem, Cluster, eventually, newNonce, runParley, startRedis } from '../support/harness.mjs';
import { engineShard, ownShards, prefixOf, prefixOfShard, topicOn } from '../support/shards.mjs';
import { parked, waiting } from './watch.mjs';

ownShards(); // flags say how many

const SHARDS = 4;
const EMPTY = { Topic: null, Queries: null };
const TEST_MS = 240_000;
const topicOf = (shard) => topicOn(shard, SHARDS);
const RECORD = `${prefixOfShard(0)}cluster`;

// Runs body(cluster) with servers (cluster.servers) and nodes on them.
async function withServers(body, { nodes = 2, aof = true, args = [] } = {}) {
  const cluster = new Cluster({ nodes: 0, aof, args: ['--target', 'broker', '--rescan-seconds', '1', ...args] });
  await cluster.start();
  const second = await startRedis({ aof });
  cluster.servers = [cluster.redis, second];
  cluster.listed = { url: cluster.servers.map(({ url }) => url).join(',') };
  cluster.join = (options = {}) => cluster.startNode({ redis: cluster.listed, ...options, args: ['--shards', SHARDS, ...(options.args ?? [])] });
  try {
    for (let i = 0; i < nodes; i++) await cluster.join();
    await body(cluster);
    cluster.checkSanitizers();
  } catch (error) {
    cluster.printLogs(new Map());
    throw error;
  } finally {
    const stopped = await Promise.allSettled([cluster.stop()]);
    await second.stop();
    if (stopped[0].status === 'rejected') throw stopped[0].reason;
  }
}

const test = (name, body, options) => it(name, { timeout: TEST_MS }, () => withServers(body, options));

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
// Each node knows that the server is away, or (undefined) that none is.
const known = async (cluster, words) => {
  for (const node of cluster.nodes.filter(({ alive }) => alive)) {
    await eventually(
      async () => {
        const { status, json } = await readyz(cluster, node);
        return status === 200 && (words ? words.test(json.away) : json.away === undefined);
      },
      { ms: 60_000, what: words ? `/readyz says ${words}` : '/readyz names no server' },
    );
  }
};
const AWAY_2 = /^Server 2 of 2: Not connected/;

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

describe('several servers', { concurrency: false }, () => {
  test(
    'two nodes with different numbers at first start, with the servers in another order',
    async (cluster) => {
      const start = (shards, redis = cluster.listed) => cluster.startNode({ redis, args: ['--shards', shards] });
      const both = await Promise.allSettled([start(4), start(8)]);
      const lost = both.filter(({ status }) => status === 'rejected');
      assert.equal(lost.length, 1, 'one of them has won');
      assert.match(lost[0].reason.message, /--shards is [48], but this cluster has [48]/);
      const reversed = { url: cluster.servers.map(({ url }) => url).reverse().join(',') };
      await assert.rejects(start(4, reversed), /a different order|but this cluster has/);
      const { code, stderr } = await runParley(['serve', '--redis', reversed.url, '--accounts', cluster.accountsFile, '--listen', '127.0.0.1:0'], { env: { PARLEY_SHARDS: '' } });
      assert.deepEqual([code, /lists the servers in a different order/.test(stderr)], [1, true], stderr);
      await assert.rejects(start(4, { url: cluster.servers[0].url }), /list all of them/);
      const adopted = await cluster.startNode({ redis: cluster.listed, env: { PARLEY_SHARDS: '' } });
      assertOk(await cluster.request('GET', '/readyz', { node: adopted }));
      const records = await Promise.all(cluster.servers.map((server) => server.cmd('GET', RECORD)));
      assert.equal(records[0].split(' ')[1], records[1].split(' ')[1], 'one cluster');
      assert.ok(records[0].endsWith(' whole'));
    },
    { nodes: 0 },
  );

  test('one server away (only its shards answer 503)', async (cluster) => {
    const who = await tokens(cluster);
    const old = [0, 1, 2, 3].map(topicOf);
    for (const Topic of old) await cluster.add({ Topic, User: 'alice', ...who.frontend });
    await cluster.servers[1].kill();
    await known(cluster, AWAY_2);
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
      assert.match(health.dependencies.redis.details.message, /Server 2 of 2: Not connected/);
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
    await cluster.servers[0].kill();
    for (const node of [0, 1]) {
      const response = await eventually(async () => {
        const found = await readyz(cluster, node);
        return found.status === 503 && found;
      });
      assert.match(assertProblem(response, 503).detail, /Server 1 of 2: .*Server 2 of 2: /);
    }
    for (const server of cluster.servers) await server.restart();
    await known(cluster);
    for (const Topic of old) assert.equal(assertOk(await cluster.checkRaw({ Topic, ...who.frontend })).Topic, Topic);
  });

  test('one server away: its half of the topics', async (cluster) => {
    const who = await tokens(cluster);
    const held = topicOf(3);
    await cluster.add({ Topic: held, Query: 'kept', ...who.frontend });
    await cluster.servers[1].kill();
    await known(cluster, AWAY_2);
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
    await cluster.servers[1].restart();
    await known(cluster);
    assert.deepEqual((await cluster.claim({ wait: 60, ...who.engine })).Queries, [{ 1: 'kept' }]);
    for (const shard of [1, 3]) await cycle(cluster, who, topicOf(shard));
  });

  test('polls that were parked before a server went away get work of the others, and of it once it is back', async (cluster) => {
    const who = await tokens(cluster);
    const polls = Array.from({ length: 8 }, (_, i) => cluster.claimOpen({ wait: 110, node: i % 2, ...who.engine }));
    for (const node of [0, 1]) await parked(cluster, node, 4);
    await cluster.servers[1].kill();
    await known(cluster, AWAY_2);
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
    await cluster.servers[1].restart();
    await known(cluster);
    for (let i = 0; i < 4; i++) await take(topicOf(i % 2 === 0 ? 1 : 3));
    for (const { response } of polls) assertOk(await response);
  });

  test('what waits for an outcome on a server that goes away has it once that is back: check, add with Wait, stream', async (cluster) => {
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
    await eventually(async () => (await cluster.servers[1].cmd('HGET', `${prefixOf(added, SHARDS)}t:${added}`, 'w:1')) !== null, { what: 'it is stored' });
    await cluster.servers[1].kill();
    await known(cluster, AWAY_2);
    // New ones are refused at once, what waits stays.
    refused(await cluster.checkRaw({ Topic: asked, wait: 60, node: 0, ...who.frontend }));
    refused(await cluster.addRaw({ Topic: topicOf(1), query: { Wait: 60 }, ...who.frontend }));
    await waiting(cluster, 0, 1);
    await waiting(cluster, 1, 2);
    await cluster.servers[1].restart();
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

  test('a server that hangs is given up, and the others keep working', async (cluster) => {
    const who = await tokens(cluster);
    cluster.servers[1].pause();
    for (let i = 0; i < 4; i++) await cycle(cluster, who, topicOf(i % 2 === 0 ? 0 : 2));
    refused(await cluster.addRaw({ Topic: topicOf(1), ...who.frontend, timeout: 60_000 }));
    cluster.servers[1].resume();
    await known(cluster);
    for (const shard of [0, 1, 2, 3]) await cycle(cluster, who, topicOf(shard));
  });

  for (const lost of [1, 0]) {
    test(
      `one server restarts empty: the ${lost === 0 ? 'first' : 'second'}`,
      async (cluster) => {
        const who = await tokens(cluster);
        const words = new RegExp(`^Server ${lost + 1} of 2: It has lost its data`);
        const kept = topicOf(1 - lost);
        await cluster.add({ Topic: kept, ...who.frontend });
        await cluster.servers[lost].restart(); // it keeps no file
        await known(cluster, words);
        for (const node of [0, 1]) {
          refused503(await cluster.addRaw({ Topic: topicOf(lost), node, ...who.frontend }));
          assertOk(await cluster.checkRaw({ Topic: kept, node, ...who.frontend }));
        }
        // A process that starts now makes nothing new of it.
        const late = await cluster.join();
        const response = await readyz(cluster, late);
        if (lost === 0) assert.match(assertProblem(response, 503).detail, words);
        else assert.match(assertOk(response).away, words);
        assert.equal(await cluster.servers[lost].cmd('GET', RECORD), null);
        assert.deepEqual(await cluster.servers[lost].cmd('KEYS', '*'), []);
        // By hand it becomes a part of the cluster again.
        const servers = (...more) => runParley(['servers', '--redis', cluster.listed.url, ...more]);
        const shown = await servers();
        assert.equal(shown.code, 1);
        assert.match(shown.stdout.split('\n')[lost], new RegExp(`^server ${lost + 1}  127.0.0.1:${cluster.servers[lost].port}/0  shards ${lost}, ${lost + 2}  emptied`));
        assert.match(shown.stdout.split('\n')[1 - lost], /there$/);
        assert.equal((await servers('--adopt', 2 - lost)).code, 1, 'the other one has its record');
        const adopted = await servers('--adopt', lost + 1);
        assert.deepEqual([adopted.code, adopted.stderr], [0, '']);
        await known(cluster);
        assert.equal((await servers()).code, 0);
        await eventually(async () => (await cluster.request('GET', '/api/login', { as: 'Frontend_1', node: late })).status === 200, { what: 'the new node issues tokens' });
        const now = await tokens(cluster);
        for (const shard of [0, 1, 2, 3]) await cycle(cluster, now, topicOf(shard));
      },
      { aof: false },
    );
  }

  test(
    'one server restarts without its record, and takes long to read what it has: nothing is written into it',
    async (cluster) => {
      const server = cluster.servers[1];
      // Nobody writes between these, nor until it is killed.
      for (const words of [['MULTI'], ['FLUSHALL'], ['EVAL', "for i = 1, 3000 do redis.call('SET', 'other:' .. i, i) end", 0], ['CONFIG', 'SET', 'min-replicas-to-write', 1], ['EXEC']]) await server.cmd(...words);
      await server.restart(['--key-load-delay', 1000]); // a millisecond for each key, and LOADING meanwhile
      await known(cluster, /^Server 2 of 2: It has lost its data/);
      assert.equal(await server.cmd('DBSIZE'), 3000);
      assert.deepEqual(await server.cmd('KEYS', 'parley:*'), []);
    },
    { aof: true },
  );

  test('a node that starts while the first server is away knows the cluster by the other one, and is not ready', async (cluster) => {
    const who = await tokens(cluster);
    await cluster.servers[0].kill();
    const late = await cluster.startNode({ redis: cluster.listed, env: { PARLEY_SHARDS: '' } });
    assert.match(assertProblem(await readyz(cluster, late), 503).detail, /Server 1 of 2/);
    assert.match(assertOk(await readyz(cluster, 0)).away, /^Server 1 of 2/);
    assertOk(await cluster.addRaw({ Topic: topicOf(1), node: 0, ...who.frontend }));
    await cluster.servers[0].restart();
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
      const poll = () => cluster.servers[shard % 2].cmd('GET', key);
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
