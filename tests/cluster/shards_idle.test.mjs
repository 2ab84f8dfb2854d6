// SPDX-License-Identifier: MIT
//
// What a question costs on four shards while 1,000 engines are idle on 8 nodes, counted by Redis: three calls by token, four when
// signed, and idle nodes cost one call a second and shard.
import assert from 'node:assert/strict';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { ownShards, prefixesOf } from '../support/shards.mjs';
import { byToken, calls, metric, parked } from './watch.mjs';

ownShards(); // flags say how many

const [NODES, SHARDS, ENGINES, ADDS] = [8, 4, 1000, 200];
// Long enough for a starved node to confirm its deliveries in time.
const DELIVERY_S = 6;
const AFTERWARDS_MS = DELIVERY_S * 1000 + 200; // longer than confirming and looking after delivery leases

suite('1,000 idle engines on four shards', { nodes: NODES, args: ['--shards', SHARDS, '--indexers', 0, '--delivery-seconds', DELIVERY_S], sweep: false }, ({ test, cluster }) => {
  const sum = async (name) => {
    let total = 0;
    for (let node = 0; node < NODES; node++) total += await metric(cluster, node, name);
    return total;
  };
  const creditsIn = async (prefix) => {
    const scores = (await cluster.redis.cmd('ZRANGE', `${prefix}idle`, 0, -1, 'WITHSCORES')).filter((_, i) => i % 2);
    return scores.reduce((n, score) => n + Math.floor(score), 0);
  };
  const pass = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  const read = async () => [await calls(cluster.redis, 'fcall'), performance.now()];

  const idle = async () => {
    const start = await read();
    await pass(AFTERWARDS_MS);
    const end = await read();
    return { n: end[0] - start[0], s: (end[1] - start[1]) / 1000 };
  };

  // Calls that `body` causes, also a little later: those of an idle span of the same length are taken off.
  async function caused({ n, s }, body) {
    const start = await read();
    await body();
    await pass(AFTERWARDS_MS);
    const end = await read();
    return end[0] - start[0] - (n / s) * ((end[1] - start[1]) / 1000);
  }

  test('an add costs three calls by token and four when signed, and idle nodes one call a second and shard', async () => {
    const served = [];
    let ended = 0;
    for (let i = 0; i < ENGINES; i++) {
      const poll = cluster.claimOpen({ as: ['Inference_1', 'Inference_2'][i % 2], wait: 120, detail: true, node: i % NODES });
      poll.response
        .then((one) => {
          ended++;
          if (assertOk(one).Topic !== null) served.push(one.json);
        })
        .catch(() => {});
    }
    for (let node = 0; node < NODES; node++) await parked(cluster, node, ENGINES / NODES);
    await eventually(async () => {
      const credits = await Promise.all(prefixesOf(SHARDS).map(creditsIn));
      return credits.reduce((n, one) => n + one, 0) === ENGINES && credits.every((n) => n >= ENGINES / SHARDS / 2);
    }, { what: 'each poll is a credit, and each shard has its part of them' });

    let span = await idle();
    const { n, s } = span;
    const perShard = n / s / NODES / SHARDS;
    console.log(`# idle: ${perShard.toFixed(3)} calls a second, node and shard`);
    assert.ok(n <= NODES * SHARDS * (s + 1), `${n} calls of idle nodes in ${s} s`);

    const added = [];
    for (const [what, options, bar] of [['by token', await byToken(cluster, 'Frontend_1'), 3], ['signed', {}, 4]]) {
      span ??= await idle();
      const total = await caused(span, async () => {
        for (let i = 0; i < ADDS; i++) added.push((await cluster.add({ User: `user${i % 20}`, ...options })).Topic);
        await eventually(() => served.length === added.length, { what: 'every question has its engine' });
      });
      span = undefined;
      console.log(`# ${what}: ${(total / ADDS).toFixed(3)} calls per add`);
      assert.ok(total / ADDS <= bar, `${total / ADDS} calls per add ${what}`);
    }
    assert.equal(ended, added.length, 'only those polls ended that got a question');
    assert.deepEqual(served.map(({ Topic }) => Topic).sort(), added.sort());
    assert.ok(served.every(({ Attempt }) => Attempt === 1));
    assert.equal(await sum('parley_claims_given_back_total'), 0, 'no engine was called for nothing');
    assert.equal(await sum('parley_polls_parked'), ENGINES - added.length);
  });
});
