// SPDX-License-Identifier: MIT
//
// The largest legal give-new-answer with Next and Wait, by engines that leave: in the middle of the body, after it, while they wait.
// Each question is answered in the end, and what a node held for them comes back.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { ACCOUNTS, assertOk, eventually, newTopic, suite } from '../support/harness.mjs';
import { metric } from './watch.mjs';

const N = Number(process.env.PARLEY_TEST_ENGINES ?? 60); // engines that leave
const AT_ONCE = 12;
const LEASE_S = 10;
const ANSWER = 'x'.repeat((1 << 20) - 200);
const FRONT = { Frontend_all: { secret: 'all-secret', role: 'frontend', max_waiting: 100_000 } };

const descriptorsOf = (node) => readdirSync(`/proc/${node.child.pid}/fd`).length;

suite('engines that leave with the next claim', { nodes: 2, aof: true, sweep: false, args: ['--lease-seconds', String(LEASE_S), '--max-attempts', '100'], accounts: { ...ACCOUNTS, ...FRONT } }, ({ test, cluster }) => {
  const Query = 'large';
  // Answers what `claim` has and waits for more; leaves when `how` says.
  async function answerAndLeave(claim, how, node) {
    const [[Seq]] = Object.entries(claim.Queries[0]);
    const body = JSON.stringify({ Query, Topic: claim.Topic, Seq: Number(Seq), Answer: [ANSWER], Lease: claim.Lease });
    const socket = await cluster.socket({ node });
    const path = cluster.path('/api/give-new-answer', { as: 'Inference_1', query: { Next: 'true', Wait: 60, Detail: 'true' } });
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(how === 0 ? body.slice(0, body.length / 2) : body);
    // On a machine so slow that its lease is over by then, another engine gets the question.
    if (how === 2) await eventually(async () => (await statusOf(claim.Topic, Seq)) === 'Done', { ms: LEASE_S * 1000, what: 'the answer is stored' }).catch(() => {});
    if (how === 2) socket.reset();
    else socket.end(); // after what is written
    await socket.closed();
  }
  const statusOf = async (Topic, Seq) => (await cluster.check({ as: 'Frontend_all', Topic, Seq, detail: true })).Status;
  async function round(n) {
    const topics = Array.from({ length: n }, () => newTopic());
    let next = 0;
    const worker = async () => {
      while (next < n) {
        const i = next++;
        await cluster.add({ as: 'Frontend_all', User: `u${i % 7}`, Topic: topics[i], Query });
        const claim = await cluster.claim({ wait: 30, detail: true });
        if (claim.Topic !== null) await answerAndLeave(claim, i % 3, i % 2);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    // A claim that an engine left with comes back at once, or when its delivery is not confirmed; one that was never answered with its lease.
    let left = topics;
    await eventually(
      async () => {
        const claim = await cluster.claim({ wait: 1, detail: true });
        if (claim.Topic !== null) {
          for (const [[Seq]] of claim.Queries.map(Object.entries)) assertOk(await cluster.answerRaw({ Topic: claim.Topic, Seq: Number(Seq), Query, Lease: claim.Lease }));
          return false;
        }
        const states = await Promise.all(left.slice(0, 50).map((Topic) => statusOf(Topic, 1)));
        left = [...left.slice(0, 50).filter((_, i) => states[i] !== 'Done'), ...left.slice(50)];
        return left.length === 0;
      },
      { ms: 150_000, every: 1, what: 'each question is answered' },
    );
  }
  const calm = () =>
    Promise.all(
      cluster.nodes.map((node) =>
        eventually(async () => (await metric(cluster, node, 'parley_polls_parked')) === 0 && (await metric(cluster, node, 'parley_connections_open')) <= 2, { what: 'no poll and no connection is left' }),
      ),
    );

  test('no question is lost, and the descriptors come back', async () => {
    await round(24);
    await calm();
    const before = cluster.nodes.map(descriptorsOf);
    await round(N);
    await calm();
    const after = cluster.nodes.map(descriptorsOf);
    for (const [i, n] of before.entries()) assert.ok(after[i] <= n + 3, `${n} descriptors before, ${after[i]} after`);
    const status = assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' }));
    assert.deepEqual([status.Depth, status.InFlight], [0, 0]);
  });

  test('a Redis that is gone in the middle, then one that is full: what was acknowledged is answered', async () => {
    const acknowledged = [];
    const seen = { full: 0, lost: 0 };
    let isOver = false;
    const trying = (status) => [429, 503].includes(status) || status === undefined;
    const ask = async () => {
      while (!isOver) {
        const Topic = newTopic();
        const response = await cluster.addRaw({ as: 'Frontend_all', User: 'asks', Topic, Query }).catch(() => ({}));
        if (response.status === 200) acknowledged.push(Topic);
        else assert.ok(trying(response.status), `${response.status}`);
        if (response.json?.code === 'store_full') seen.full++;
        else if (response.status === 503) seen.lost++;
      }
    };
    // An answer that is not acknowledged is sent again, as engines do.
    const serve = async () => {
      let claim = { Topic: null };
      const take = (response) => {
        if (response.status === 200) claim = response.json.Next ?? (response.json.Status ? { Topic: null } : response.json);
        return response.status;
      };
      while (!isOver || claim.Topic !== null) {
        if (claim.Topic === null) {
          take(await cluster.claimRaw({ wait: 1, detail: true }).catch(() => ({})));
          continue;
        }
        const [[Seq]] = Object.entries(claim.Queries[0]);
        const answered = { Topic: claim.Topic, Seq: Number(Seq), Query, Answer: [ANSWER.slice(0, 100_000)], Lease: claim.Lease, next: true, query: { Wait: 1, Detail: 'true' } };
        const status = take(await cluster.answerRaw(answered).catch(() => ({})));
        if (status !== 200 && !trying(status)) claim = { Topic: null }; // its lease is over
      }
    };
    const all = Promise.all([ask(), ask(), ...Array.from({ length: 6 }, serve)]);
    all.catch(() => {});
    await eventually(() => acknowledged.length > 20, { what: 'questions are asked' });
    await cluster.redis.kill();
    await eventually(() => seen.lost > 0, { what: 'Redis is gone' });
    await cluster.redis.restart();
    const then = acknowledged.length;
    await eventually(() => acknowledged.length > then + 20, { ms: 60_000, what: 'questions are asked again' });
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1mb');
    await eventually(() => seen.full > 0, { what: 'Redis is full' });
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    isOver = true;
    await all;
    await eventually(
      async () => {
        const claim = await cluster.claim({ wait: 1, detail: true });
        if (claim.Topic !== null) for (const [[Seq]] of claim.Queries.map(Object.entries)) await cluster.answerRaw({ Topic: claim.Topic, Seq: Number(Seq), Query, Lease: claim.Lease });
        const status = assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' }));
        return status.Depth + status.InFlight === 0;
      },
      { ms: 60_000, every: 1, what: 'the queue is empty' },
    );
    for (const Topic of acknowledged) assert.equal(await statusOf(Topic, 1), 'Done', Topic);
  });
});
