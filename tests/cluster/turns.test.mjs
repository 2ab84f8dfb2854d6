// SPDX-License-Identifier: MIT
//
// Idle engines take turns, whatever node they poll and wherever a question comes in (ADR 4).
import assert from 'node:assert/strict';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { SHARDS, sumOfAll } from '../support/shards.mjs';
import { metric } from './watch.mjs';

// No rescans, and no claim that comes back because a slow node confirmed its delivery late: it would be served twice.
const SLOW = ['--rescan-seconds', '3600', '--delivery-seconds', '60'];

suite('engines take turns', { nodes: 2, args: SLOW, sweep: false }, ({ test, cluster }) => {
  // Engines that answer at once and poll again on their node, until stop(). `on`: the node of each.
  function startEngines(on, { isNamed = false } = {}) {
    const got = on.map(() => 0);
    let isOver = false;
    const open = new Set();
    const runs = on.map(async (node, i) => {
      while (!isOver) {
        const poll = cluster.claimOpen({ wait: 100, detail: true, node, engine: isNamed ? `engine-${i}` : undefined });
        open.add(poll);
        const response = await poll.response.catch(() => null);
        open.delete(poll);
        if (isOver) return;
        const { Topic, Queries, Lease } = assertOk(response);
        got[i]++;
        await cluster.answer({ node, Topic, Seq: 1, Query: Queries[0][1], Lease });
      }
    });
    const parked = () =>
      eventually(async () => (await metric(cluster, 0, 'parley_polls_parked')) + (await metric(cluster, 1, 'parley_polls_parked')) === on.length, {
        what: 'all engines are idle',
      });
    const stop = async () => {
      isOver = true;
      for (const poll of open) poll.abort();
      await Promise.all(runs);
      await eventually(async () => (await sumOfAll(cluster.redis, 'EXISTS', 'idle')) === 0, { what: 'their credits are gone' });
    };
    return { got, parked, stop };
  }

  // n questions for each engine, one at a time.
  async function share(on, askAt, options) {
    const n = 6;
    const engines = startEngines(on, options);
    try {
      for (let i = 0; i < n * on.length; i++) {
        await engines.parked();
        const { Topic } = await cluster.add({ node: askAt(i) });
        await cluster.check({ Topic, wait: 30, node: askAt(i) });
      }
      await engines.parked();
    } finally {
      await engines.stop();
    }
    // Turns are kept within a shard. Over several, whose credits lie apart, each engine has a part.
    const isFair = (got) => (SHARDS === 1 ? Math.abs(got - n) <= 1 : got >= 1);
    for (const got of engines.got) assert.ok(isFair(got), `${on.length} engines on nodes ${on}: ${engines.got}`);
  }

  test('two idle engines on two nodes share the questions that come to one of these', () => share([0, 1], () => 0));

  test('three engines on one node and one on the other', () => share([0, 0, 0, 1], (i) => i % 2));

  test('one engine where the questions come in, and four where none do', () => share([0, 1, 1, 1, 1], () => 0));

  test('engines with names that answer at once and poll again get no more than others', () => share([0, 1, 1], () => 0, { isNamed: true }));

  test('those of one node too take turns', () => share([1, 1, 1], () => 0));
});
