// SPDX-License-Identifier: MIT
//
// Attacks on hints over four shards: nodes that are dead, hang, or have no poll left are in them, and a question is served all the
// same, at a bounded cost and by one engine.
import assert from 'node:assert/strict';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { namesOfEachShard, ownShards, prefixesOf } from '../support/shards.mjs';
import { calls, metric, parked, stop, verbCalls } from './watch.mjs';

ownShards(); // flags say how many

const SHARDS = 4;
const FOUR = ['--shards', SHARDS, '--indexers', 0];
const NO_RESCUE = [...FOUR, '--rescan-seconds', '3600', '--delivery-seconds', '60'];
const FRESH_MS = 3000; // as lua/queue/hints.lua has it
const PREFIXES = prefixesOf(SHARDS);

let topics = 0;
const topicOn = (shard) => namesOfEachShard(`hints-${topics++}-`, SHARDS)[shard];
const onEach = (cluster, command, name, ...words) => Promise.all(PREFIXES.map((prefix) => cluster.redis.cmd(command, prefix + name, ...words)));
const shardsWithCredits = async (cluster) => (await onEach(cluster, 'ZCARD', 'idle')).flatMap((n, i) => (n ? [i] : []));
const shardWithout = async (cluster) => {
  const full = await shardsWithCredits(cluster);
  return [0, 1, 2, 3].find((shard) => !full.includes(shard));
};
const sum = async (cluster, read) => {
  let total = 0;
  for (const node of cluster.nodes.filter(({ alive }) => alive)) total += await read(node);
  return total;
};
const verbs = (cluster, verb) => sum(cluster, (node) => verbCalls(cluster, node, verb));
const hintsOf = async (cluster, shard) => (await cluster.redis.cmd('ZRANGE', `${PREFIXES[shard]}hints`, 0, -1)).map((member) => member.split(' ')[0]);
const allHinted = (cluster, n) =>
  eventually(async () => (await onEach(cluster, 'ZCARD', 'hints')).every((found) => found === n), { what: `each shard has ${n} hints` });

async function got(cluster, poll, Topic, options = {}) {
  const claim = assertOk(await poll.response);
  assert.equal(claim.Topic, Topic);
  assert.equal(claim.Attempt, 1);
  const [[Seq, Query]] = Object.entries(claim.Queries[0]);
  await cluster.answer({ Topic, Seq: Number(Seq), Query, Lease: claim.Lease, ...options });
}

suite('hints of dead nodes', { nodes: 1, args: NO_RESCUE, sweep: false }, ({ test, cluster }) => {
  const poll = (options = {}) => cluster.claimOpen({ wait: 100, detail: true, node: 0, ...options });

  test("a dead node's hints: a question on each shard is served at once by the node that lives", async () => {
    const dying = [await cluster.startNode(), await cluster.startNode()];
    for (const node of dying) for (let i = 0; i < 4; i++) cluster.claimOpen({ wait: 100, node }).response.catch(() => {});
    for (const node of dying) await parked(cluster, node, 4);
    const first = poll();
    await parked(cluster, 0, 1);
    await allHinted(cluster, 3);
    for (const node of dying) await node.kill();
    let one = first;
    for (let i = 0; i < 2 * SHARDS; i++) {
      const Topic = topicOn(i % SHARDS);
      await cluster.add({ Topic, node: 0 });
      await got(cluster, one, Topic);
      one = poll();
      await parked(cluster, 0, 1);
    }
    one.response.catch(() => {});
    one.abort();
    await parked(cluster, 0, 0);
  });

  test('a chain of stale hints: a hundred nodes that died just now cost one message each, once', async () => {
    let one = poll();
    await parked(cluster, 0, 1);
    const shard = await shardWithout(cluster);
    // What a hundred nodes leave that were killed: hints with the latest of times.
    const dead = Array.from({ length: 100 }, (_, i) => [Date.now() + 1000, `dead${i} Inference_1|*`]).flat();
    await cluster.redis.cmd('ZADD', `${PREFIXES[shard]}hints`, ...dead);
    const before = await calls(cluster.redis, 'publish');
    let Topic = topicOn(shard);
    await cluster.add({ Topic, node: 0 });
    await got(cluster, one, Topic);
    const messages = (await calls(cluster.redis, 'publish')) - before;
    assert.ok(messages <= 101, `${messages} messages for one question`);
    // Each that was called is struck off: sooner or later only the live one is left, and nobody has waited for it.
    for (let i = 0; i < 5; i++) {
      one = poll();
      await parked(cluster, 0, 1);
      const other = await shardWithout(cluster);
      Topic = topicOn(other);
      await cluster.add({ Topic, node: 0 });
      await got(cluster, one, Topic);
    }
    const all = (await calls(cluster.redis, 'publish')) - before;
    assert.ok(all <= 101 + 5, `${all} messages for six questions`);
  });

  test('more stale hints than one look takes: the question is served at once, too', async () => {
    const one = poll();
    await parked(cluster, 0, 1);
    const shard = await shardWithout(cluster);
    const dead = Array.from({ length: 600 }, (_, i) => [Date.now() + 60_000 + i, `dead${i} Inference_1|*`]).flat();
    await cluster.redis.cmd('ZADD', `${PREFIXES[shard]}hints`, ...dead);
    const before = await calls(cluster.redis, 'publish');
    const Topic = topicOn(shard);
    await cluster.add({ Topic, node: 0 });
    await got(cluster, one, Topic);
    const messages = (await calls(cluster.redis, 'publish')) - before;
    assert.ok(messages <= 601, `${messages} messages`);
    const left = (await hintsOf(cluster, shard)).filter((node) => node.startsWith('dead'));
    assert.ok(left.length < 128, `${left.length} are left: those that were called are struck off`);
  });

  test('an engine with ever new lists of models leaves a bounded number of hints', async () => {
    const [prefix] = PREFIXES;
    const old = Array.from({ length: 3000 }, (_, i) => [i, `other Inference_1|model-${i}`]).flat();
    await cluster.redis.cmd('ZADD', `${prefix}hints`, ...old);
    const more = await cluster.startNode({ args: ['--rescan-seconds', '1'] });
    await eventually(async () => (await cluster.redis.cmd('ZCARD', `${prefix}hints`)) <= 1000, { what: 'the oldest are forgotten' });
    await more.stop();
    await cluster.redis.cmd('ZREMRANGEBYRANK', `${prefix}hints`, 0, -1);
  });
});

suite('a hung node with hints', { nodes: 2, args: FOUR, sweep: false }, ({ test, cluster }) => {
  test("a hung node's hints: questions go to the node that still says that it is there", async () => {
    const hung = await cluster.startNode();
    const lost = cluster.claimOpen({ wait: 100, node: hung });
    lost.response.catch(() => {});
    await parked(cluster, hung, 1);
    await stop(hung);
    const [hint] = await cluster.redis.cmd('ZRANGE', `${PREFIXES[0]}hints`, 0, -1);
    // Not its credit: what is handed over to a node that hangs comes back with its delivery lease.
    for (const prefix of PREFIXES) await cluster.redis.cmd('ZREM', `${prefix}idle`, hint);
    await eventually(async () => {
      const [now] = await cluster.redis.cmd('TIME');
      const said = await onEach(cluster, 'ZSCORE', 'hints', hint);
      return said.every((ms) => Number(ms) < now * 1000 - FRESH_MS);
    }, { what: 'it has said nothing for a while' });
    try {
      for (let i = 0; i < 2 * SHARDS; i++) {
        const one = cluster.claimOpen({ wait: 100, detail: true, node: i % 2 });
        await parked(cluster, i % 2, 1);
        const Topic = topicOn(await shardWithout(cluster));
        await cluster.add({ Topic, node: 0 });
        await got(cluster, one, Topic, { node: 0 });
      }
    } finally {
      hung.signal('SIGCONT');
      lost.abort();
    }
  });
});

suite('hints of nodes without a poll', { nodes: 6, args: FOUR, sweep: false }, ({ test, cluster }) => {
  test('many nodes whose polls have ended: the call is passed on twice at most, and the next sync finds the question', async () => {
    for (let node = 1; node < 6; node++) {
      const poll = cluster.claimOpen({ wait: 100, node });
      await parked(cluster, node, 1);
      poll.response.catch(() => {});
      poll.abort();
      await parked(cluster, node, 0);
    }
    await allHinted(cluster, 5);
    const passedBefore = await verbs(cluster, 'work');
    const Topic = topicOn(2);
    await cluster.add({ Topic, node: 0 });
    await eventually(async () => (await verbs(cluster, 'work')) - passedBefore >= 3, { what: 'three nodes had no poll' });
    // From here on nobody is called, and an engine that comes finds it.
    await got(cluster, cluster.claimOpen({ wait: 100, detail: true, node: 1 }), Topic);
    assert.equal((await verbs(cluster, 'work')) - passedBefore, 3, 'the first call, and two passes');
  });

  test('a question for which no node was notified is found by the next sync of a node with a poll', async () => {
    const one = cluster.claimOpen({ wait: 100, detail: true, node: 0 });
    await parked(cluster, 0, 1);
    const shard = await shardWithout(cluster);
    // As after a call in vain.
    await cluster.redis.cmd('SET', `${PREFIXES[shard]}quiet:default`, '1', 'PX', 50_000);
    const Topic = topicOn(shard);
    await cluster.add({ Topic, node: 1 });
    await got(cluster, one, Topic);
    await cluster.redis.cmd('DEL', `${PREFIXES[shard]}quiet:default`);
  });
});

const backs = (cluster) => sum(cluster, (node) => metric(cluster, node, 'parley_claims_given_back_total'));
const claims = (cluster) => sum(cluster, (node) => metric(cluster, node, 'parley_claims_total'));

async function parkEight(cluster) {
  const polls = [];
  for (let node = 0; node < 8; node++) {
    polls.push(cluster.claimOpen({ wait: 100, detail: true, node }));
    await parked(cluster, node, 1);
  }
  await allHinted(cluster, 8);
  return polls;
}

// Exactly one of the eight polls got it; the others stay parked, and no claim was given back.
async function oneGot(cluster, polls, Topic) {
  const response = await Promise.race(polls.map((poll) => poll.response));
  await got(cluster, { response }, Topic);
  assert.equal(await claims(cluster), 1, 'one engine');
  assert.equal(await backs(cluster), 0, 'nothing was given back');
  assert.equal(await sum(cluster, (node) => metric(cluster, node, 'parley_polls_parked')), 7);
}

// Without syncs: while the node that was called is starved, the sync of another one would claim as well.
suite('many nodes', { nodes: 8, args: NO_RESCUE, sweep: false }, ({ test, cluster }) => {
  test('many nodes see one Open query: one is called, and no other claims', async () => {
    const polls = await parkEight(cluster);
    const shard = (await shardWithout(cluster)) ?? 3;
    const before = { claim: await verbs(cluster, 'claim'), work: await verbs(cluster, 'work') };
    const Topic = topicOn(shard);
    await cluster.add({ Topic, node: 0 });
    await oneGot(cluster, polls, Topic);
    assert.ok((await verbs(cluster, 'claim')) - before.claim <= 1, 'one claim at most');
    assert.equal((await verbs(cluster, 'work')) - before.work, 0, 'nobody passed it on');
  });
});

suite('many nodes that sync', { nodes: 8, args: [...FOUR, '--delivery-seconds', '60'], sweep: false }, ({ test, cluster }) => {
  test('many nodes see one Open query in a sync at the same time: it is claimed by the first one', async () => {
    const polls = await parkEight(cluster);
    const hidden = topicOn(3);
    await onEach(cluster, 'SET', 'quiet', '1', 'PX', 50_000);
    for (const prefix of PREFIXES) await cluster.redis.cmd('DEL', `${prefix}idle`, `${prefix}hints`);
    await cluster.add({ Topic: hidden, node: 0 });
    await oneGot(cluster, polls, hidden);
    await onEach(cluster, 'DEL', 'quiet');
  });
});
