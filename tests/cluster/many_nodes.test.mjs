// SPDX-License-Identifier: MIT
//
// Two nodes among four hundred that the shards have on their lists (lua/queue/pace.lua): what they call without work does not grow with
// the nodes, and a question that was missed, or whose node has died, is found all the same.
import assert from 'node:assert/strict';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { namesOfEachShard, ownShards, prefixesOf } from '../support/shards.mjs';
import { calls, parked, verbCalls } from './watch.mjs';

ownShards(); // flags say how many

const [SHARDS, OTHERS] = [4, 400];
const PREFIXES = prefixesOf(SHARDS);
const ARGS = ['--shards', SHARDS, '--indexers', 0];
const SYNC_MS = 1000; // of few nodes
const WATCHED_MS = 6000;
const QUIET_MS = 100_000;
const CROWD_MS = 120_000; // nodes that have heard of the others sync each shard once in 50 s

const pass = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const onEach = (cluster, ...words) => Promise.all(PREFIXES.map((prefix) => cluster.redis.cmd(words[0], prefix + words[1], ...words.slice(2))));

// The others say that they live. Each real node has heard of them once it has synced every shard.
async function crowd(cluster) {
  const others = Array.from({ length: OTHERS }, (_, i) => [Date.now(), `other${i}`]).flat();
  await onEach(cluster, 'ZADD', 'nodes', ...others);
  const before = await Promise.all([0, 1].map((node) => verbCalls(cluster, node, 'sync')));
  await eventually(async () => {
    const now = await Promise.all([0, 1].map((node) => verbCalls(cluster, node, 'sync')));
    return now.every((n, i) => n >= before[i] + 2 * SHARDS);
  }, { ms: CROWD_MS, what: 'both nodes have synced every shard' });
}

suite('two of many nodes', { nodes: 2, args: [...ARGS, '--target', 'broker'], sweep: false }, ({ test, cluster }) => {
  test('idle nodes call seldom, and one that is called to sync does at once and finds what was missed', async () => {
    const poll = cluster.claimOpen({ wait: 100, detail: true, node: 0 });
    await parked(cluster, 0, 1);
    await crowd(cluster);

    const before = await calls(cluster.redis, 'fcall');
    await pass(WATCHED_MS);
    const n = (await calls(cluster.redis, 'fcall')) - before;
    const few = 2 * SHARDS * (WATCHED_MS / SYNC_MS);
    assert.ok(n <= few / 2, `${n} calls, of few nodes ${few}`);

    // Where the poll has no credit, and nobody is called to the question.
    const credits = await onEach(cluster, 'ZCARD', 'idle');
    const shard = credits.indexOf(0);
    await cluster.redis.cmd('SET', `${PREFIXES[shard]}quiet:default`, '1', 'PX', QUIET_MS);
    const Topic = namesOfEachShard('many-', SHARDS)[shard];
    await cluster.add({ Topic, node: 1 });
    // As a sync of any other node does (lua/queue/rescan.lua), whose turn it is after a second.
    const [hint] = (await cluster.redis.cmd('ZRANGE', `${PREFIXES[shard]}hints`, 0, -1)).map((member) => member.split(' ')[0]);
    assert.equal(await cluster.redis.cmd('SPUBLISH', `${PREFIXES[shard]}node:${hint}`, '6:rescan'), 1, 'the node listens');
    const claim = assertOk(await poll.response);
    assert.equal(claim.Topic, Topic);
    assert.equal(claim.Attempt, 1);
    await cluster.redis.cmd('DEL', `${PREFIXES[shard]}quiet:default`);
    const [[Seq, Query]] = Object.entries(claim.Queries[0]);
    await cluster.answer({ Topic, Seq: Number(Seq), Query, Lease: claim.Lease });
  });

  test('a node that dies with a claim: its question comes back, as of few nodes', async () => {
    await crowd(cluster);
    const dying = await cluster.startNode({ args: [...ARGS, '--target', 'broker'] });
    const lost = cluster.claimOpen({ wait: 100, node: dying });
    lost.response.catch(() => {});
    await parked(cluster, dying, 1);
    dying.signal('SIGSTOP'); // what is handed over to it is lost
    const { Topic } = await cluster.add({ node: 0 });
    const next = cluster.claimOpen({ wait: 100, detail: true, node: 1 });
    const claim = assertOk(await next.response);
    assert.equal(claim.Topic, Topic);
    await dying.kill();
    const [[Seq, Query]] = Object.entries(claim.Queries[0]);
    await cluster.answer({ Topic, Seq: Number(Seq), Query, Lease: claim.Lease });
  });

  test('an account that is let in again: its credit is stated at once, what it can do elsewhere shard by shard', async () => {
    const drain = async (Drain) => assertOk(await cluster.request('POST', '/api/drain-engine', { as: 'Operator_1', body: { User: 'Inference_2', Drain } }));
    // Nodes that died before have theirs for a while.
    const credits = async () => (await onEach(cluster, 'ZRANGE', 'idle', 0, -1)).map((all) => all.filter((member) => member.endsWith(' Inference_2|*')).length);
    await drain(true);
    const poll = cluster.claimOpen({ as: 'Inference_2', wait: 100, detail: true, node: 0 });
    await parked(cluster, 0, 1);
    await crowd(cluster);
    const before = await verbCalls(cluster, 0, 'sync');
    await drain(false);
    await eventually(async () => (await credits()).includes(1), { what: 'the credit is stated' });
    const n = (await verbCalls(cluster, 0, 'sync')) - before;
    assert.ok(n < SHARDS, `${n} syncs at once`);
    const isHinted = (members) => members.some((member) => member.includes(' Inference_2|'));
    await eventually(async () => (await onEach(cluster, 'ZRANGE', 'hints', 0, -1)).every(isHinted), { ms: CROWD_MS, what: 'every shard has its hint' });

    const Topic = namesOfEachShard('freed-', SHARDS)[(await credits()).indexOf(0)];
    await cluster.add({ Topic, node: 1 });
    const claim = assertOk(await poll.response);
    assert.equal(claim.Topic, Topic);
    const [[Seq, Query]] = Object.entries(claim.Queries[0]);
    await cluster.answer({ as: 'Inference_2', Topic, Seq: Number(Seq), Query, Lease: claim.Lease });
  });
});

suite('checks for rows of others, of many nodes', { nodes: 2, args: ARGS, sweep: false }, ({ test, cluster }) => {
  const VERBS = ['workflow_due', 'bots_due'];
  const sum = async () => {
    const all = await Promise.all([0, 1].flatMap((node) => VERBS.map((verb) => verbCalls(cluster, node, verb))));
    return all.reduce((n, one) => n + one, 0);
  };
  const checks = async (others) => {
    const before = await sum();
    for (const end = Date.now() + WATCHED_MS; Date.now() < end; await pass(20)) {
      if (others) await onEach(cluster, 'HSET', 'clock', 'workflow', Date.now(), 'deliveries', Date.now(), 'evaluations', Date.now());
    }
    return (await sum()) - before;
  };

  test('a node asks seldom while others have just asked, and as usual when they do not any more', async () => {
    await crowd(cluster);
    const usual = await checks(false);
    await checks(true); // each check that finds others doubles the wait
    const seldom = await checks(true);
    assert.ok(seldom <= 0.7 * usual, `${seldom} checks, alone ${usual}`);
    await eventually(async () => (await checks(false)) > 0.7 * usual, { what: 'the nodes find that the others have stopped' });
  });
});
