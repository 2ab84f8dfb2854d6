// SPDX-License-Identifier: MIT
//
// Attacks on parked polls over several shards: a poll has its credit on one shard, and a question comes to another one. Where the
// rescan is slow, what a test waits for came by hints and calls alone; where it is not, the test says that a sync finds it.
import assert from 'node:assert/strict';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { namesOfEachShard, ownShards, prefixesOf } from '../support/shards.mjs';
import { byToken, holdScripts, metric, parked, status, stop, verbCalls } from './watch.mjs';

ownShards(); // flags say how many

const SHARDS = 4;
const FOUR = ['--shards', SHARDS, '--indexers', 0];
const NO_RESCUE = [...FOUR, '--rescan-seconds', '3600', '--delivery-seconds', '60'];

let topics = 0;
// A new topic of that shard.
const topicOn = (shard, n = SHARDS) => namesOfEachShard(`shards-${topics++}-`, n)[shard];
const onEach = (cluster, command, name, ...words) =>
  Promise.all(prefixesOf(SHARDS).map((prefix) => cluster.redis.cmd(command, prefix + name, ...words)));
// Members of the zset of that name, on all shards.
const countOf = async (cluster, name) => (await onEach(cluster, 'ZCARD', name)).reduce((total, n) => total + n, 0);
// The numbers of the shards that have credits.
const shardsWithCredits = async (cluster) => (await onEach(cluster, 'ZCARD', 'idle')).flatMap((n, i) => (n ? [i] : []));
const sum = async (cluster, read) => {
  let total = 0;
  for (const node of cluster.nodes.filter(({ alive }) => alive)) total += await read(node);
  return total;
};
const backs = (cluster) => sum(cluster, (node) => metric(cluster, node, 'parley_claims_given_back_total'));
const claimCalls = (cluster) => sum(cluster, (node) => verbCalls(cluster, node, 'claim'));

// Its poll has ended with a claim (of that topic), which no engine had before. It is answered.
async function got(cluster, poll, Topic, options = {}) {
  const claim = assertOk(await poll.response);
  if (Topic) assert.equal(claim.Topic, Topic);
  assert.equal(claim.Attempt, 1);
  const [[Seq, Query]] = Object.entries(claim.Queries[0]);
  await cluster.answer({ Topic: claim.Topic, Seq: Number(Seq), Query, Lease: claim.Lease, ...options });
  return claim;
}

suite('polls and questions that meet, on four shards', { nodes: 2, args: NO_RESCUE, sweep: false }, ({ test, cluster }) => {
  const poll = (options = {}) => cluster.claimOpen({ wait: 100, detail: true, node: 0, ...options });

  test('a poll parks in A while an add arrives in B', async () => {
    const [asks, polls] = [await byToken(cluster, 'Frontend_1'), await byToken(cluster, 'Inference_1')];
    for (let i = 0; i < 12; i++) {
      // A class that nobody knows yet in every other round: then its hints are on their way, too.
      const models = i % 2 ? `new-${i},default` : undefined;
      const isAddFirst = i % 4 < 2;
      const Topic = topicOn(i % SHARDS);
      const held = await holdScripts(cluster.redis);
      let added;
      if (isAddFirst) {
        added = cluster.addRaw({ Topic, node: 1, ...asks });
        await held.blocked(1);
      }
      const one = poll({ models, ...polls });
      await held.blocked(isAddFirst ? 2 : 1);
      added ??= cluster.addRaw({ Topic, node: 1, ...asks });
      await held.blocked(2);
      await held.release();
      assertOk(await added);
      await got(cluster, one, Topic);
    }
  });

  test('the same without a hand on Redis: a hundred times at once', async () => {
    for (let i = 0; i < 100; i++) {
      const Topic = topicOn(i % SHARDS);
      const one = poll();
      const added = cluster.addRaw({ Topic, node: i % 2 });
      assertOk(await added);
      await got(cluster, one, Topic);
    }
    await eventually(async () => (await countOf(cluster, 'idle')) === 0, { what: 'no credit is left' });
  });

  test('a hand-over crosses a move: it goes to another poll of that class', async () => {
    for (let i = 0; i < 6; i++) {
      const polls = [poll(), poll()];
      await parked(cluster, 0, 2);
      const full = await shardsWithCredits(cluster);
      const empty = [0, 1, 2, 3].find((shard) => !full.includes(shard));
      // The calls of both shards wait in the sockets of a node that does not run: it reads them in one go.
      await stop(cluster.nodes[0]);
      const Topics = [topicOn(empty), topicOn(full[0])];
      try {
        for (const Topic of Topics) await cluster.add({ Topic, node: 1 });
      } finally {
        cluster.nodes[0].signal('SIGCONT');
      }
      const claims = [await got(cluster, polls[0]), await got(cluster, polls[1])];
      assert.deepEqual(claims.map(({ Topic }) => Topic).sort(), Topics.sort());
    }
    assert.equal(await backs(cluster), 0, 'each had a poll');
  });

  test('a hand-over crosses a move of the only poll: one of the two questions is given back, without an attempt', async () => {
    for (let i = 0; i < 6; i++) {
      const first = poll();
      await parked(cluster, 0, 1);
      const [full] = await shardsWithCredits(cluster);
      await stop(cluster.nodes[0]);
      const Topics = [topicOn((full + 1) % SHARDS), topicOn(full)];
      try {
        for (const Topic of Topics) await cluster.add({ Topic, node: 1 });
      } finally {
        cluster.nodes[0].signal('SIGCONT');
      }
      const one = await got(cluster, first);
      const other = await got(cluster, poll());
      assert.deepEqual([one.Topic, other.Topic].sort(), Topics.sort());
    }
    await eventually(async () => (await countOf(cluster, 'idle')) === 0, { what: 'no credit is left' });
  });

  test('a moved poll leaves no credit where it was', async () => {
    const one = poll();
    await parked(cluster, 0, 1);
    const [full] = await shardsWithCredits(cluster);
    const Topic = topicOn((full + 2) % SHARDS);
    await cluster.add({ Topic, node: 1 });
    await got(cluster, one, Topic);
    await eventually(async () => (await countOf(cluster, 'idle')) === 0, { what: 'its credit is taken back' });
  });

  test('a client that leaves while its poll moves: the question goes to the next one', async () => {
    const one = poll();
    await parked(cluster, 0, 1);
    const [full] = await shardsWithCredits(cluster);
    const Topic = topicOn((full + 1) % SHARDS);
    await stop(cluster.nodes[0]);
    try {
      await cluster.add({ Topic, node: 1 });
      one.response.catch(() => {});
      one.abort();
    } finally {
      cluster.nodes[0].signal('SIGCONT');
    }
    await got(cluster, poll({ node: 1 }), Topic);
  });

  test('polls of a drained account are called to nothing, and get what waits once it is not', async () => {
    const drain = async (Drain) => assertOk(await cluster.request('POST', '/api/drain-engine', { as: 'Operator_1', body: { User: 'Inference_2', Drain } }));
    await drain(true);
    const one = poll({ as: 'Inference_2' });
    await parked(cluster, 0, 1);
    assert.equal(await countOf(cluster, 'idle'), 0, 'it is no credit');
    const Topic = topicOn(1);
    await cluster.add({ Topic, node: 1 });
    assert.equal((await status(cluster, Topic)).Status, 'Open');
    await drain(false);
    await got(cluster, one, Topic, { as: 'Inference_2' });
  });
});
