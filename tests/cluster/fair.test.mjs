// SPDX-License-Identifier: MIT
//
// Users take turns, whatever node they ask and whatever engine serves them; the Position that they are
// reported is the one in which they are served.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCOUNTS, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';
import { status } from './watch.mjs';

ownShards(); // the order of turns is one of each shard

const ACCOUNTS_HERE = {
  ...ACCOUNTS,
  Frontend_1: { ...ACCOUNTS.Frontend_1, max_waiting: 5000 },
  Frontend_heavy: { ...ACCOUNTS.Frontend_heavy, max_waiting: 5000 },
};

// No claim is answered here; if a slow node confirmed a delivery too late, its query would come back and disturb the order.
const NOTHING_COMES_BACK = ['--rescan-seconds', '3600', '--delivery-seconds', '60'];

suite('fair', { nodes: 2, accounts: ACCOUNTS_HERE, args: NOTHING_COMES_BACK }, ({ test, cluster }) => {
  // n questions of a user, one topic each, some at a time but in order; returns the topics.
  async function ask(User, n, options = {}) {
    const topics = [];
    for (let i = 0; i < n; i++) topics.push((await cluster.add({ User, ...options })).Topic);
    return topics;
  }

  // Many questions of one user, whose order does not matter.
  async function flood(User, n, options = {}) {
    const topics = [];
    for (let i = 0; i < n; i += 20) {
      const some = Array.from({ length: Math.min(20, n - i) }, () => cluster.add({ User, ...options }));
      topics.push(...(await Promise.all(some)).map(({ Topic }) => Topic));
    }
    return topics;
  }

  async function serve(n, options = {}) {
    const served = [];
    for (let i = 0; i < n; i++) served.push((await cluster.claim(options)).Topic);
    return served;
  }

  // Takes what is left without answering each: the next test must find the queue empty.
  async function empty() {
    await cluster.redis.cmd('FLUSHALL');
  }

  test(
    'a user with 1,000 queued questions does not keep another one with a single question waiting: two claims',
    async () => {
      await flood('A', 1000);
      await serve(7);
      for (const node of [0, 1]) {
        const { Topic } = await cluster.add({ User: `B${node}`, node });
        const reported = await status(cluster, Topic);
        assert.ok(reported.Position <= 1, `B gets position ${reported.Position}`);
        const next = await serve(2);
        assert.ok(next.includes(Topic), 'B is served within the next two claims');
      }
      await empty();
    },
  );

  test('the same with two models, for an engine that serves both and for one that serves either', async () => {
    await flood('A', 150, { Model: 'large' });
    await serve(5);
    const small = await cluster.add({ User: 'B', Model: 'small' });
    assert.ok((await serve(2)).includes(small.Topic), 'an engine for all models');
    const large = await cluster.add({ User: 'B', Model: 'large' });
    assert.ok((await serve(2, { models: 'large' })).includes(large.Topic), 'an engine for the model with the queue');
    const other = await cluster.add({ User: 'B', Model: 'small' });
    assert.deepEqual(await serve(1, { models: 'small' }), [other.Topic], 'an engine for the other model');
    const both = await cluster.add({ User: 'B', Model: 'small' });
    assert.ok((await serve(2, { models: 'large,small' })).includes(both.Topic), 'an engine that names both');
    await empty();
  });

  test('a user who asks with two models gets no second turn for it', async () => {
    const owner = new Map();
    for (const Model of ['large', 'small']) for (const Topic of await ask('A', 10, { Model })) owner.set(Topic, 'A');
    for (const Topic of await ask('B', 10, { Model: 'large' })) owner.set(Topic, 'B');
    const turns = (await serve(12)).map((Topic) => owner.get(Topic));
    const ofB = turns.filter((one) => one === 'B').length;
    assert.ok(ofB >= 5, `B got ${ofB} of 12 turns: ${turns.join('')}`);
    await empty();
  });

  test('a user who asks with 100 models gets one turn of them all', async () => {
    await Promise.all(Array.from({ length: 100 }, (_, i) => cluster.add({ User: 'A', Model: `model-${i}` })));
    await serve(3);
    const { Topic } = await cluster.add({ User: 'B', Model: 'zzz' });
    assert.ok((await serve(2)).includes(Topic), 'B is served within the next two claims');
    await empty();
  });

  test('a model that was busy with others does not delay a newcomer to a quiet one', async () => {
    await ask('A', 30, { Model: 'large' });
    await ask('C', 40, { Model: 'small' });
    await serve(35, { models: 'small' });
    const large = await cluster.add({ User: 'B', Model: 'large' });
    assert.ok((await serve(2, { models: 'large' })).includes(large.Topic));
    await empty();
  });

  test('a user is served first come, first served, across topics, nodes and what came back', async () => {
    const topics = [];
    for (let i = 0; i < 6; i++) {
      topics.push(...(await ask('A', 1)));
      await sleep(2); // released queries are ordered by the millisecond they were added in
    }
    const first = await cluster.claim({ detail: true });
    const second = await cluster.claim({ detail: true });
    assert.deepEqual([first.Topic, second.Topic], topics.slice(0, 2));
    for (const { Topic, Lease } of [second, first]) {
      const back = { Topic, Lease, Reason: 'busy' };
      assert.equal((await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: back })).status, 200);
    }
    assert.deepEqual(await serve(6), topics);
    await empty();
  });

  test('turns follow weights: 4 to 1 over the whole queue, and the light one is not starved', async () => {
    const owner = new Map();
    for (const Topic of await ask('light', 20)) owner.set(Topic, 'l');
    for (const Topic of await ask('heavy', 40, { as: 'Frontend_heavy' })) owner.set(Topic, 'h');
    const turns = (await serve(40)).map((Topic) => owner.get(Topic)).join('');
    const heavy = [...turns].filter((one) => one === 'h').length;
    assert.ok(heavy >= 30 && heavy <= 34, `heavy got ${heavy} of 40: ${turns}`);
    assert.ok(!/h{6}/.test(turns), `light waits for no more than 5 turns: ${turns}`);
    await empty();
  });

  test('a user who was away has not saved up turns', async () => {
    await ask('C', 1);
    await serve(1);
    const owner = new Map();
    for (const Topic of await ask('A', 30)) owner.set(Topic, 'A');
    await serve(10);
    for (const Topic of await ask('C', 10)) owner.set(Topic, 'C');
    const turns = (await serve(10)).map((Topic) => owner.get(Topic)).join('');
    assert.ok(!/C{3}/.test(turns), turns);
    await empty();
  });

  // Asks everybody's Position, then serves all and compares.
  async function comparePositions(topics, options) {
    const reported = new Map();
    for (const Topic of topics) reported.set(Topic, (await status(cluster, Topic)).Position);
    const served = await serve(topics.length, options);
    const wrong = served
      .map((Topic, place) => ({ place, reported: reported.get(Topic) }))
      .filter(({ place, reported: position }) => place !== position);
    assert.deepEqual(wrong, [], `positions returned for ${topics.length} questions`);
    await empty();
  }

  test('Position is the place in which a question is served: one user', async () => {
    await comparePositions(await ask('A', 12));
  });

  test('Position is the place in which a question is served: users who came in any order', async () => {
    const topics = [...(await ask('C', 5)), ...(await ask('A', 9)), ...(await ask('B', 1)), ...(await ask('C', 2))];
    await comparePositions(topics);
  });

  test('Position is the place in which a question is served: in the middle of serving, with a newcomer', async () => {
    const topics = [...(await ask('A', 10)), ...(await ask('B', 6))];
    const gone = new Set(await serve(5));
    topics.push(...(await ask('D', 2)));
    await comparePositions(topics.filter((Topic) => !gone.has(Topic)));
  });

  test('Position is the place in which a question is served: a claim that came back is first', async () => {
    const topics = [...(await ask('A', 4)), ...(await ask('B', 4))];
    await serve(1);
    const { Topic, Lease } = await cluster.claim({ detail: true });
    await serve(1);
    const back = { Topic, Lease, Reason: 'busy' };
    assert.equal((await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: back })).status, 200);
    const open = [];
    for (const one of topics) if ((await status(cluster, one)).Status === 'Open') open.push(one);
    await comparePositions(open);
  });
});
