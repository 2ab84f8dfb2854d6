// SPDX-License-Identifier: MIT
//
// One question wakes one engine: 8 nodes hold the polls of 1,000 idle engines, and Redis's own
// statistics say what an add costs besides itself. PARLEY_BIN_RELEASE names another executable.
import assert from 'node:assert/strict';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { SHARDS } from '../support/shards.mjs';
import { byToken, calls, metric, parked } from './watch.mjs';

const NODES = 8;
const ENGINES = 1000;
const ADDS = 200;
const BAR = SHARDS > 1 ? 2.2 : 1.2; // a poll may have to move to the shard of the question
// Long enough for a starved node to confirm its deliveries in time.
const DELIVERY_S = 6;
const AFTERWARDS_MS = DELIVERY_S * 1000 + 200; // longer than confirming, looking after delivery leases, and one rescan

suite('no herd', { nodes: NODES, args: ['--delivery-seconds', DELIVERY_S], sweep: false }, ({ test, cluster }) => {
  const polls = [];

  const sum = async (name) => {
    let total = 0;
    for (let node = 0; node < NODES; node++) total += await metric(cluster, node, name);
    return total;
  };

  // Calls to the Redis function library and messages that `body` causes, also a little later (deliveries are confirmed
  // together): what happens in an idle span of the same length is taken off.
  async function measure(body) {
    const read = async () => [await calls(cluster.redis, 'fcall'), await calls(cluster.redis, 'publish'), performance.now()];
    const pass = () => new Promise((resolve) => setTimeout(resolve, AFTERWARDS_MS));
    const start = await read();
    await pass();
    const idle = await read();
    await body();
    const span = performance.now() - idle[2];
    await pass();
    const end = await read();
    const share = (end[2] - idle[2]) / (idle[2] - start[2]);
    const caused = (i) => end[i] - idle[i] - (idle[i] - start[i]) * share;
    return { fcalls: caused(0), publishes: caused(1), span };
  }

  test(
    `one add wakes one node and costs no more than ${BAR} calls besides itself, with 1,000 idle engines on 8 nodes`,
    async () => {
      const engines = ['Inference_1', 'Inference_2'];
      for (let i = 0; i < ENGINES; i++) {
        polls.push(cluster.claimOpen({ as: engines[i % 2], wait: 120, detail: true, node: i % NODES }));
      }
      for (let node = 0; node < NODES; node++) await parked(cluster, node, ENGINES / NODES);

      let claimed = 0;
      const served = [];
      for (const { response } of polls) {
        response
          .then((one) => {
            claimed++;
            if (assertOk(one).Topic !== null) served.push(one.json);
          })
          .catch(() => {});
      }
      const added = [];
      const frontend = SHARDS > 1 ? await byToken(cluster, 'Frontend_1') : {}; // there a nonce is a call of its own
      const { fcalls, publishes, span } = await measure(async () => {
        for (let i = 0; i < ADDS; i++) added.push((await cluster.add({ User: `user${i % 20}`, ...frontend })).Topic);
        await eventually(() => served.length === ADDS, { what: 'every question has its engine' });
      });

      const each = (fcalls - ADDS) / ADDS;
      const messages = (publishes / ADDS).toFixed(3);
      console.log(`# ${ADDS} adds in ${Math.round(span)} ms: ${each.toFixed(3)} calls and ${messages} messages per add`);
      assert.ok(each <= BAR, `${each} calls per add besides the add itself`);
      assert.ok(publishes <= ADDS, `${publishes} messages for ${ADDS} adds`);
      assert.equal(claimed, ADDS, 'only those polls ended that got a question');
      assert.deepEqual(served.map(({ Topic }) => Topic).sort(), added.sort());
      assert.ok(served.every(({ Attempt }) => Attempt === 1));
      assert.equal(await sum('parley_claims_given_back_total'), 0, 'no node was woken for nothing');
      assert.equal(await sum('parley_claims_total'), ADDS);
      assert.equal(await sum('parley_polls_parked'), ENGINES - ADDS);
    },
  );
});
