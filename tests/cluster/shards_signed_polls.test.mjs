// SPDX-License-Identifier: MIT
//
// Signed polls of four shards: they use their nonces up where they look first, where that fits, and many that come at once do not all
// look where one question waits (ADR 24). A rescan is an hour away, so all that happens here comes of calls.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newNonce, suite } from '../support/harness.mjs';
import { nonceId, prefixesOf, shardOf, topicOn } from '../support/shards.mjs';
import { byToken, holdScripts, parked, status, stop, verbCalls } from './watch.mjs';

const N = 4;
const SHARDS = [0, 1, 2, 3];
const AS = 'Inference_1';
const NEXT = '/api/get-new-queries';

function nonceOn(shard, as = AS) {
  for (;;) {
    const nonce = newNonce();
    if (shardOf(nonceId(as, nonce), N) === shard) return nonce;
  }
}

const args = ['--shards', N, '--indexers', 0, '--rescan-seconds', '3600', '--delivery-seconds', '60'];
suite('signed polls of four shards', { nodes: 2, args, sweep: false }, ({ test, cluster }) => {
  const poll = (nonce, options = {}) => cluster.claimOpen({ as: AS, wait: 100, detail: true, node: 0, signing: { nonce }, ...options });
  const creditsOf = async (prefix) => {
    const scores = (await cluster.redis.cmd('ZRANGE', `${prefix}idle`, 0, -1, 'WITHSCORES')).filter((_, i) => i % 2);
    return scores.reduce((sum, score) => sum + Math.floor(score), 0);
  };
  const credits = () => Promise.all(prefixesOf(N).map(creditsOf));
  const answer = async ({ Topic, Lease, Queries }) => {
    const [[Seq, Query]] = Object.entries(Queries[0]);
    await cluster.answer({ Topic, Seq: Number(Seq), Query, Lease });
  };
  // A request that is the same as another one, byte by byte.
  const again = (nonce, query, node) => cluster.request('GET', NEXT, { as: AS, query, signing: { nonce }, node });

  test('a poll parks where its nonce is of, with one call', async () => {
    for (const shard of SHARDS) {
      const before = [await verbCalls(cluster, 0, 'nonce'), await verbCalls(cluster, 0, 'claim')];
      const nonce = nonceOn(shard);
      const one = poll(nonce);
      await parked(cluster, 0, 1);
      assert.deepEqual(await credits(), SHARDS.map((i) => (i === shard ? 1 : 0)));
      assert.deepEqual([await verbCalls(cluster, 0, 'nonce'), await verbCalls(cluster, 0, 'claim')], [before[0], before[1] + 1]);
      for (const node of [0, 1]) {
        assertProblem(await again(nonce, {}, node), 401, 'nonce_used');
        assertProblem(await cluster.request('GET', '/api/login', { as: AS, signing: { nonce }, node }), 401, 'nonce_used');
      }
      const { Topic } = await cluster.add({ Topic: topicOn(shard, N), node: 1 });
      const claim = assertOk(await one.response);
      assert.equal(claim.Topic, Topic);
      await answer(claim);
    }
  });

  test('a poll that is sent again claims nothing, wherever a question waits', async () => {
    const nonces = SHARDS.map((shard) => nonceOn(shard));
    for (const nonce of nonces) assertOk(await again(nonce, { Wait: 0 }, 0));
    for (const shard of SHARDS) {
      const { Topic } = await cluster.add({ Topic: topicOn(shard, N), node: shard % 2 });
      for (const nonce of nonces) for (const node of [0, 1]) assertProblem(await again(nonce, {}, node), 401, 'nonce_used');
      assert.equal((await status(cluster, Topic)).Status, 'Open');
      const claim = assertOk(await poll(newNonce()).response);
      assert.equal(claim.Topic, Topic);
      await answer(claim);
    }
  });

  test('a named poll that is sent again ends no other, nor does its engine leave', async () => {
    for (const shard of SHARDS) {
      const [first, leaving] = [nonceOn(shard), nonceOn(shard)];
      const engine = `named-${shard}`;
      assertOk(await again(leaving, { Engine: engine, Leave: 'true' }, 0));
      const older = poll(first, { engine });
      await parked(cluster, 0, 1);
      const newer = poll(nonceOn(shard), { engine });
      assert.equal(assertOk(await older.response).Topic, null);
      await parked(cluster, 0, 1);
      for (const node of [0, 1]) {
        assertProblem(await again(first, { Engine: engine, Wait: 100 }, node), 401, 'nonce_used');
        assertProblem(await again(leaving, { Engine: engine, Leave: 'true' }, node), 401, 'nonce_used');
      }
      const { Topic } = await cluster.add({ Topic: topicOn((shard + 1) % N, N), node: 1 });
      const claim = assertOk(await newer.response);
      assert.equal(claim.Topic, Topic);
      await answer(claim);
    }
  });

  test('a poll of a nonce whose shard has no room for its credit, or no work, goes where there is', async () => {
    const polls = [];
    for (let n = 1; n <= 12; n++) {
      polls.push(poll(nonceOn(2)));
      await parked(cluster, 0, n);
    }
    assert.ok((await credits()).every((n) => n > 0), 'each shard has some');
    const topics = [];
    for (let i = 0; i < 12; i++) topics.push((await cluster.add({ Topic: topicOn(i % N, N), node: 1 })).Topic);
    const claims = [];
    for (const one of polls) claims.push(assertOk(await one.response));
    assert.deepEqual(claims.map(({ Topic }) => Topic).sort(), topics.sort());
    for (const claim of claims) await answer(claim);
    // Open on shard 1 alone: polls whose nonces are of others find it.
    for (const shard of [0, 2, 3]) {
      const { Topic } = await cluster.add({ Topic: topicOn(1, N), node: 0 });
      const claim = assertOk(await poll(nonceOn(shard)).response);
      assert.equal(claim.Topic, Topic);
      await answer(claim);
    }
  });

  test('polls that come at once do not all look where one question waits', async () => {
    const { Topic } = await cluster.add({ Topic: topicOn(3, N), node: 0 });
    const asks = await byToken(cluster, AS);
    const before = await verbCalls(cluster, 0, 'claim');
    const held = await holdScripts(cluster.redis);
    await stop(cluster.nodes[0]); // it reads them all in one go
    const polls = Array.from({ length: 13 }, () => cluster.claimOpen({ wait: 100, detail: true, node: 0, ...asks }));
    await Promise.all(polls.map(({ sent }) => sent));
    cluster.nodes[0].signal('SIGCONT');
    await held.blocked(1);
    await eventually(async () => (await verbCalls(cluster, 0, 'claim')) === before, { what: 'none has an answer' });
    await held.release();
    const claim = assertOk(await Promise.any(polls.map(({ response }) => response)));
    assert.equal(claim.Topic, Topic);
    await parked(cluster, 0, 12);
    assert.equal((await verbCalls(cluster, 0, 'claim')) - before, 13, 'each has looked once');
    assert.ok((await credits()).every((n) => n > 0), 'they are parked on all shards');
    for (const one of polls) one.abort();
    await parked(cluster, 0, 0);
    await answer(claim);
  });
});
