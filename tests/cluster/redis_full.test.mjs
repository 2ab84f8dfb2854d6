// SPDX-License-Identifier: MIT
//
// Redis at its maxmemory, on two nodes: what frees memory and what only reads continues, engines answer, nothing
// that was acknowledged is lost, and all continues by itself once there is room.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newTopic, sign, suite } from '../support/harness.mjs';
import { messagesRaw, newRoom, say } from '../support/rooms.mjs';
import { keyOf, onAll, SHARDS } from '../support/shards.mjs';
import { startLoad } from './load.mjs';
import { parked, ready } from './watch.mjs';

const FULL = 'the store is full';

async function fill(cluster) {
  await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
}

async function empty(cluster) {
  await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
}

function assertFull(response) {
  const problem = assertProblem(response, 503, 'store_full');
  assert.match(problem.detail, /full/);
  assert.match(problem.detail, /delete/);
  assert.ok(Number(response.headers['retry-after']) >= 1);
}

function readiness(cluster, node) {
  return cluster.request('GET', '/readyz', { node });
}

// Both nodes know that there is room again.
function roomy(cluster) {
  return eventually(
    async () => {
      for (const node of [0, 1]) if ((await readiness(cluster, node)).json.full !== undefined) return false;
      return true;
    },
    { what: 'both nodes know that there is room' },
  );
}

suite('Redis that is full', { nodes: 2, aof: true, sweep: false, args: ['--rescan-seconds', 1] }, ({ test, cluster }) => {
  const full = (title, body) =>
    test(title, async () => {
      try {
        await body();
      } finally {
        await empty(cluster);
        await roomy(cluster);
        await cluster.sweep();
      }
    });

  full('new questions and polls are refused with store_full, and taken at once when there is room', async () => {
    await fill(cluster);
    for (const node of [0, 1]) {
      assertFull(await cluster.addRaw({ node }));
      assertFull(await cluster.claimRaw({ node }));
      assertFull(await cluster.claimRaw({ wait: 30, node }));
    }
    await empty(cluster);
    for (const node of [0, 1]) {
      const { Topic } = await cluster.add({ node });
      assert.equal((await cluster.claim({ node })).Topic, Topic);
      await cluster.answer({ Topic, Seq: 1, node });
    }
  });

  full('users check, read, cancel and delete, and what they freed is gone', async () => {
    const topics = [];
    for (let i = 0; i < 3; i++) topics.push((await cluster.add({ User: 'dora' })).Topic);
    const [kept, cancelled, deleted] = topics;
    await fill(cluster);
    assert.equal((await cluster.check({ Topic: kept, detail: true })).Status, 'Open');
    const listed = assertOk(await cluster.request('GET', '/api/user-topics', { as: 'Frontend_1', query: { OnBehalfOf: 'dora' } }));
    assert.deepEqual(Object.keys(listed).sort(), [...topics].sort());
    assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'Frontend_1', query: { Topic: kept } }));
    for (let i = 0; i < 2; i++) {
      assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic: cancelled, Seq: 1 } }));
    }
    assertOk(await cluster.request('DELETE', '/api/topic', { as: 'Frontend_1', query: { OnBehalfOf: 'dora', Topic: deleted } }));
    assert.equal(await cluster.redis.cmd('EXISTS', keyOf(deleted, `t:${deleted}`)), 0);
    assert.equal(await cluster.redis.cmd('EXISTS', keyOf(kept, `t:${kept}`)), 1);
    assert.equal((await cluster.check({ Topic: cancelled, detail: true })).Status, 'Cancelled');
  });

  full('an engine beats, answers and gives back, and the waiter of the other node has its answer', async () => {
    const { Topic } = await cluster.add({ node: 0 });
    const { Lease } = await cluster.claim({ wait: 10, detail: true, node: 0 });
    const other = await cluster.add({ node: 0 });
    const second = await cluster.claim({ as: 'Inference_2', wait: 10, detail: true, node: 1 });
    assert.equal(second.Topic, other.Topic);
    const waiter = cluster.checkOpen({ Topic, wait: 60, node: 1 });
    await eventually(() => cluster.redis.cmd('HGET', keyOf(Topic, `t:${Topic}`), 'w:1'), { what: 'the waiter is written down' });
    await fill(cluster);
    assertOk(await cluster.request('POST', '/api/extend-claim', { as: 'Inference_1', body: { Topic, Lease }, node: 0 }));
    await cluster.answer({ Topic, Seq: 1, Lease, Answer: ['a'.repeat(100_000)], node: 0 });
    assert.equal(assertOk(await waiter.response).Answer[0].length, 100_000);
    assertOk(
      await cluster.request('POST', '/api/release-claim', {
        as: 'Inference_2',
        body: { Topic: other.Topic, Lease: second.Lease, Reason: 'no room', Retry: true },
        node: 1,
      }),
    );
    assert.equal((await cluster.check({ Topic: other.Topic, detail: true })).Status, 'Open');
  });

  full('a long claim is given back query by query with the longest reason, though every third client leaves', async () => {
    const Topic = newTopic(), n = 100, Reason = '\u0001'.repeat(1024);
    for (let i = 0; i < n; i += 20) await Promise.all(Array.from({ length: 20 }, () => cluster.add({ Topic })));
    const { Lease, Queries } = await cluster.claim({ wait: 10, detail: true });
    assert.equal(Queries.length, n);
    await fill(cluster);
    const give = (Seq, node) => cluster.open('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Seq, Retry: false, Reason }, node });
    for (let last = n; last > 0; last -= 20) {
      const sent = Array.from({ length: 20 }, (_, i) => give(last - i, i % 2));
      await Promise.all(sent.map(async (request, i) => {
        if (i % 3 === 0) await request.sent.then(() => request.abort());
        else assertOk(await request.response);
      }));
    }
    for (let Seq = 1; Seq <= n; Seq++) {
      const { status } = await give(Seq, Seq % 2).response;
      assert.ok(status === 200 || status === 409, `Seq ${Seq}: ${status}`);
    }
    for (const Seq of [1, 2, n]) assert.deepEqual(((body) => [body.Status, body.Reason])(await cluster.check({ Topic, Seq, detail: true })), ['Failed', Reason]);
    assert.equal(await cluster.redis.cmd('HGET', keyOf(Topic, `t:${Topic}`), `l:${Lease}`), null);
  });

  full('the longest FinishReason and the largest Usage come back as they were given', async () => {
    const FinishReason = '\u0001'.repeat(64), Usage = { prompt_tokens: Number.MAX_SAFE_INTEGER, completion_tokens: Number.MAX_SAFE_INTEGER };
    const { Topic } = await cluster.add();
    const { Lease } = await cluster.claim({ wait: 10, detail: true });
    await fill(cluster);
    for (let i = 0; i < 50; i++) await cluster.answer({ Topic, Seq: 1, Lease, FinishReason, Usage, node: i % 2 });
    const found = await cluster.check({ Topic, detail: true });
    assert.deepEqual([found.FinishReason, found.Usage], [FinishReason, Usage]);
  });

  full('a room is deleted to the last message, though each client that deletes it leaves', async () => {
    const room = await newRoom(cluster);
    for (let i = 0; i < 600; i += 20) await Promise.all(Array.from({ length: 20 }, () => say(cluster, room, 'a'.repeat(2000))));
    await fill(cluster);
    const deletions = Array.from({ length: 30 }, (_, i) => cluster.open('DELETE', `/api/rooms/${room}`, { as: 'User_1', node: i % 2 }));
    await Promise.all(deletions.map((request) => request.sent.then(() => request.abort())));
    const left = async () => (await onAll(cluster.redis, 'KEYS', `*${room}*`)).flat();
    await eventually(async () => (await left()).length === 0, { ms: 120_000, every: 500, what: 'nothing of it is left' });
    assertProblem(await messagesRaw(cluster, room), 404);
  });

  full('polls that were parked stay parked, and get the first question after there is room', async () => {
    const polls = [0, 1].map((node) => cluster.claimOpen({ wait: 60, node }));
    for (const node of [0, 1]) await parked(cluster, node, 1);
    await fill(cluster);
    for (const node of [0, 1]) assertFull(await cluster.addRaw({ node }));
    for (const node of [0, 1]) await parked(cluster, node, 1);
    await empty(cluster);
    const added = [await cluster.add(), await cluster.add()].map(({ Topic }) => Topic);
    const got = await Promise.all(polls.map(async ({ response }) => assertOk(await response).Topic));
    assert.deepEqual(got.sort(), added.sort());
    for (const Topic of added) await cluster.answer({ Topic, Seq: 1 });
  });

  full('many at once: each request has the answer that is its own, and each nonce is used up', async () => {
    const n = 60;
    const topics = [];
    for (let i = 0; i < n; i++) topics.push((await cluster.add({ Query: `Q${i}`, User: `many${i}` })).Topic);
    await fill(cluster);
    const of = (Topic) => ({ as: 'Frontend_1', body: { Topic, Seq: 1 }, node: 0 });
    const all = await Promise.all(
      topics.flatMap((Topic, i) => [
        cluster.addRaw({ Query: `new ${i}`, node: 0 }),
        i % 2 ? cluster.request('POST', '/api/cancel-query', of(Topic)) : cluster.checkRaw({ Topic, detail: true, node: 0 }),
        cluster.checkRaw({ Topic: newTopic(), node: 0 }),
      ]),
    );
    for (let i = 0; i < n; i++) {
      assertFull(all[i * 3]);
      if (i % 2) assertOk(all[i * 3 + 1]);
      else assert.equal(assertOk(all[i * 3 + 1]).Query, `Q${i}`);
      assertProblem(all[i * 3 + 2], 404);
    }
    const used = sign('Frontend_1', cluster.options.accounts.Frontend_1.secret);
    const again = () => cluster.request('GET', '/api/check-query', { query: { Topic: topics[0], Seq: 1, Wait: 0, ...used } });
    assertOk(await again());
    assertProblem(await again(), 401, 'nonce_used');
  });

  full('a refused question has used its nonce up: sent again when there is room, it is refused, or stored once on several shards', async () => {
    const used = sign('Frontend_1', cluster.options.accounts.Frontend_1.secret);
    const body = { Topic: newTopic(), User: 'alice', Query: 'Why?' };
    const send = (node, more) => cluster.request('POST', '/api/add-query', { query: used, body: { ...body, ...more }, node });
    await fill(cluster);
    assertFull(await send(0));
    await empty(cluster);
    if (SHARDS > 1) {
      // Its nonce's shard lets the same request through for ten minutes, and its topic's does not know it (ADR 30).
      assert.deepEqual(assertOk(await send(1)), assertOk(await send(0)), 'stored once');
      assertProblem(await send(1, { Query: 'Which?' }), 401, 'nonce_used');
    } else assertProblem(await send(1), 401, 'nonce_used');
  });

  full('failed logins are counted: the eleventh is refused on both nodes', async () => {
    await fill(cluster);
    const from = { as: 'Frontend_1', signing: { secret: 'wrong' }, localAddress: '127.0.0.77', query: { Topic: 'none', Wait: 0 } };
    await eventually(
      async () => {
        const answers = [];
        for (const node of [0, 1]) answers.push((await cluster.request('GET', '/api/check-query', { ...from, node })).status);
        return answers.every((status) => status === 429);
      },
      { what: 'both nodes refuse the address' },
    );
  });

  full('/readyz stays 200 and says full, /health says what to do, and the log says it once', async () => {
    const marks = cluster.marks();
    await fill(cluster);
    for (const node of [0, 1]) {
      for (let i = 0; i < 40; i++) assertFull(await cluster.addRaw({ node }));
      assert.deepEqual(assertOk(await readiness(cluster, node)), { status: 'ready', full: true });
      const { dependencies, status } = assertOk(await cluster.request('GET', '/health', { node }));
      assert.equal(status, 'degraded');
      assert.match(dependencies.redis.details.message, /maxmemory/);
    }
    for (const node of cluster.nodes) {
      const said = node.log().slice(marks.get(node)).split('\n');
      assert.ok(said.filter((line) => /WARN|ERROR|warn|error/.test(line)).length <= 1, said.join('\n'));
    }
    await empty(cluster);
    await roomy(cluster);
    for (const node of [0, 1]) assert.equal((await readiness(cluster, node)).json.full, undefined);
  });

  full('full under load, again and again: nothing that was accepted is lost, failed or doubled', async () => {
    const load = startLoad(cluster, { frontends: 4, engines: 5, partials: true });
    try {
      for (let i = 0; i < 4; i++) {
        await load.reached(15);
        await fill(cluster);
        await eventually(async () => (await readiness(cluster, i % 2)).json.full, { what: 'a node knows that it is full' });
        await empty(cluster);
      }
      await load.reached(15);
      const states = await load.finish();
      assert.deepEqual([states.Failed, states.Cancelled], [0, 0]);
    } finally {
      load.abort();
    }
  });

  full('a node that starts while Redis is full works as the others do', async () => {
    const { Topic } = await cluster.add();
    await fill(cluster);
    const late = await cluster.startNode();
    await eventually(async () => (await readiness(cluster, late)).json.full, { what: 'it knows that Redis is full' });
    assertFull(await cluster.addRaw({ node: late }));
    assert.equal((await cluster.check({ Topic, detail: true, node: late })).Status, 'Open');
    // Without the library nothing can run, and it cannot be loaded.
    await cluster.redis.cmd('FUNCTION', 'FLUSH');
    assertProblem(await cluster.checkRaw({ Topic, node: late }), 503, 'store_full');
    await ready(cluster, late, false);
    await empty(cluster);
    await ready(cluster, late);
    assert.equal((await cluster.check({ Topic, detail: true, node: late })).Status, 'Open');
    await cluster.nodes.pop().stop();
  });
});
