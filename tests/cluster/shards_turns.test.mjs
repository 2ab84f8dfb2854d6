// SPDX-License-Identifier: MIT
//
// No shard waits for another one to be empty: what an engine gets, in the order in which it got it, over shards that all have work.
import assert from 'node:assert/strict';
import { assertOk, newTopic, suite } from '../support/harness.mjs';
import { namesOfEachShard, ownShards, shardOf } from '../support/shards.mjs';
import { parked } from './watch.mjs';

ownShards(); // flags say how many

// Long enough that no claim comes back because a slow node confirmed its delivery late: its question would be served twice.
const args = ['--indexers', 0, '--delivery-seconds', '60'];

let topics = 0;
const topicOn = (shard, n) => namesOfEachShard(`turns-${topics++}-`, n)[shard];

suite('Next=true on four shards', { nodes: 2, args: [...args, '--shards', 4, '--rescan-seconds', '3600'], sweep: false }, ({ test, cluster }) => {
  // Answers with Next=true until nothing is left. Returns the topics in the order in which it got them.
  async function answerAll(claim, node) {
    const served = [];
    while (claim.Topic !== null) {
      served.push(claim.Topic);
      const [[Seq, Query]] = Object.entries(claim.Queries[0]);
      claim = (await cluster.answer({ Topic: claim.Topic, Seq: Number(Seq), Query, Lease: claim.Lease, next: true, node, query: { Next: 'true', Detail: 'true' } })).Next;
    }
    return served;
  }

  test('Next=true under load on one shard: one question on each of the others is served within a round', async () => {
    for (const busy of [0, 1, 2, 3]) {
      const all = [];
      for (let i = 0; i < 20; i++) all.push(topicOn(busy, 4));
      const others = [0, 1, 2, 3].filter((shard) => shard !== busy).map((shard) => topicOn(shard, 4));
      for (const Topic of [...all, ...others]) await cluster.add({ Topic, node: 0 });
      const served = await answerAll(await cluster.claim({ detail: true, node: 0 }), 0);
      assert.deepEqual([...served].sort(), [...all, ...others].sort());
      for (const Topic of others) assert.ok(served.indexOf(Topic) < 5, `${Topic} of shard ${shardOf(Topic, 4)} was number ${served.indexOf(Topic)}`);
    }
  });

  test('Next=true while all shards have work takes them in turn', async () => {
    const all = Array.from({ length: 24 }, (_, i) => topicOn(i % 4, 4));
    for (const Topic of all) await cluster.add({ Topic, node: 0 });
    const served = (await answerAll(await cluster.claim({ detail: true, node: 0 }), 0)).map((Topic) => shardOf(Topic, 4));
    assert.equal(served.length, 24);
    for (let i = 1; i < 24; i++) assert.equal(served[i], (served[i - 1] + 1) % 4, `the shards in turn: ${served}`);
  });

  test('Next=true finds what this node has not heard of, on any shard', async () => {
    const all = Array.from({ length: 8 }, (_, i) => topicOn(i % 4, 4));
    for (const Topic of all) await cluster.add({ Topic, node: 1 });
    const served = await answerAll(await cluster.claim({ detail: true, node: 0 }), 0);
    assert.deepEqual(served.sort(), all.sort());
  });
});

suite('one engine with one slot and eight shards', { nodes: 2, args: [...args, '--shards', 8], sweep: false }, ({ test, cluster }) => {
  const SHARDS = 8;

  // Adds continue while one engine works, until `n` are served. Of each question: how many claims the engine got between its add and
  // its own claim.
  async function history({ next, n, askNode }) {
    const added = new Map(); // topic -> {shard, at: claims before it was there, older: Open ones of its shard}
    const served = [];
    const open = Array(SHARDS).fill(0); // those under way too
    let isOver = false;

    async function ask(number) {
      for (let i = 0; !isOver; i++) {
        const Topic = newTopic(`history${number}`);
        // Half of all questions go to one shard, which would keep the engine busy alone.
        const where = i % 2 ? topicOn(3, SHARDS) : Topic;
        const shard = shardOf(where, SHARDS);
        open[shard]++; // from now on: of two that are under way, either may be the first
        assertOk(await cluster.addRaw({ Topic: where, User: 'alice', node: askNode }));
        added.set(where, { shard, at: served.length, older: Math.max(open[shard] - 1, 0) });
        while (!isOver && added.size - served.length > 24) await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }

    async function work() {
      let claim = { Topic: null };
      while (!isOver || open.some((count) => count > 0)) {
        if (claim.Topic === null) claim = await cluster.claim({ wait: 2, detail: true, node: 0 });
        if (claim.Topic === null) continue;
        const Topic = claim.Topic;
        open[shardOf(Topic, SHARDS)]--;
        served.push(Topic);
        isOver ||= served.length >= n;
        const [[Seq, Query]] = Object.entries(claim.Queries[0]);
        const options = next ? { query: { Next: 'true', Detail: 'true' } } : {};
        const answer = await cluster.answer({ Topic, Seq: Number(Seq), Query, Lease: claim.Lease, node: 0, ...options });
        claim = answer.Next ?? { Topic: null };
      }
    }

    const asking = [ask(0), ask(1), ask(2)];
    const working = work();
    await Promise.all([...asking, working]);
    assert.equal(served.length, added.size, 'all were served, each once');
    assert.equal(new Set(served).size, served.length);
    return { added, served };
  }

  for (const next of [false, true]) {
    test(`it serves work wherever it lies, and the oldest shard is never starved (${next ? 'Next=true' : 'polls'})`, async () => {
      const { added, served } = await history({ next, n: 150, askNode: 0 });
      for (const [i, Topic] of served.entries()) {
        const { shard, at, older } = added.get(Topic);
        // Each one before it on its own shard, and it, at its turn of all shards; those that were claimed while it was added.
        const bound = (older + 2) * SHARDS + 3;
        assert.ok(i - at <= bound, `${Topic} of shard ${shard} waited for ${i - at} claims with ${older} before it, of the shards ${served.slice(at, i).map((other) => added.get(other).shard).join(' ')}`);
      }
      assert.equal(new Set([...added.values()].map(({ shard }) => shard)).size, SHARDS, 'all shards had work');
    });
  }

  test('questions that come to another node are served, too', async () => {
    await history({ next: true, n: 60, askNode: 1 });
  });

  test('an idle engine gets a question of each shard, one after the other', async () => {
    for (let i = 0; i < 2 * SHARDS; i++) {
      const one = cluster.claimOpen({ wait: 100, detail: true, node: 0 });
      await parked(cluster, 0, 1);
      const Topic = topicOn(i % SHARDS, SHARDS);
      await cluster.add({ Topic, node: 1 });
      const claim = assertOk(await one.response);
      assert.deepEqual([claim.Topic, claim.Attempt], [Topic, 1]);
      await cluster.answer({ Topic, Seq: 1, Lease: claim.Lease, node: 1 });
    }
  });
});
