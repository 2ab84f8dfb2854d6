// SPDX-License-Identifier: MIT
//
// get-new-queries with Leave and Rest: an engine that says that it takes nothing is not waited for, and nobody speaks for
// another one.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';

const EMPTY = { Topic: null, Queries: null };

suite('engines that leave and rest', { args: ['--rescan-seconds', '1'] }, ({ test, cluster }) => {
  const say = (query, { as = 'Inference_1', node } = {}) => cluster.request('GET', '/api/get-new-queries', { as, node, query });
  const engines = async () => assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Engines;
  const find = async (name, user = 'Inference_1') => (await engines()).find(({ User, Engine }) => User === user && Engine === name);
  const park = async (Engine, { as = 'Inference_1', node = 0 } = {}) => {
    const poll = cluster.open('GET', '/api/get-new-queries', { as, node, query: { Engine, Wait: 60 } });
    await eventually(() => find(Engine, as), { what: `${Engine} is listed` });
    return poll;
  };

  test('leaving ends the poll that is parked on another node, and claims nothing', async () => {
    const poll = await park('a', { node: 0 });
    assert.deepEqual(assertOk(await say({ Engine: 'a', Leave: true, Wait: 60 }, { node: 1 })), EMPTY);
    assert.deepEqual(assertOk(await poll.response), EMPTY);
    assert.equal(await find('a'), undefined);
    const { Topic } = await cluster.add();
    assert.deepEqual(assertOk(await say({ Engine: 'a', Leave: true })), EMPTY);
    assert.equal((await cluster.claim({ wait: 20 })).Topic, Topic);
  });

  test('resting ends the poll and shows until when and why; the next poll ends the rest', async () => {
    const poll = await park('b');
    assert.deepEqual(assertOk(await say({ Engine: 'b', Rest: 100, Reason: 'busy "now"\n, says it', Models: 'x,y' }, { node: 1 })), EMPTY);
    assert.deepEqual(assertOk(await poll.response), EMPTY);
    const found = await find('b');
    assert.deepEqual([found.Info.Models, found.Info.Reason], ['x,y', 'busy "now"\n, says it']);
    const left = (Date.parse(found.RestingUntil) - Date.now()) / 1000;
    assert.ok(left > 30 && left < 102, found.RestingUntil);
    const again = await park('b');
    await eventually(async () => (await find('b')).RestingUntil === null, { what: 'it rests no more' });
    assert.deepEqual(assertOk(await say({ Engine: 'b', Leave: true })), EMPTY);
    assert.deepEqual(assertOk(await again.response), EMPTY);
  });

  test('an engine that never waits is back with its next poll, on whichever node it left', async () => {
    for (const query of [{ Leave: true }, { Rest: 100 }]) {
      assertOk(await say({ Engine: 'w', ...query }, { node: 0 }));
      assertOk(await say({ Engine: 'w', Wait: 0 }, { node: 1 }));
      await eventually(async () => (await find('w'))?.RestingUntil === null, { what: 'it is listed, and rests no more' });
    }
    assertOk(await say({ Engine: 'w', Leave: true }));
  });

  test('an engine speaks for itself: not for one of another account, nor for those without a name', async () => {
    const poll = await park('c', { as: 'Inference_2' });
    assertOk(await say({ Engine: 'c', Leave: true }));
    assert.notEqual(await find('c', 'Inference_2'), undefined);
    const { Topic } = await cluster.add();
    assert.equal(assertOk(await poll.response).Topic, Topic);
    for (const query of [{ Leave: true }, { Rest: 5 }, { Engine: 'c', Rest: 0 }, { Engine: 'c', Rest: 86401 }, { Engine: 'c', Rest: 'x' }, { Engine: 'c', Rest: '' }, { Engine: 'c', Rest: 5, Reason: 'r'.repeat(201) }, { Engine: 'c'.repeat(65), Rest: 5 }]) {
      assertProblem(await say(query), 400, 'bad_request');
    }
    assertProblem(await say({ Engine: 'c', Leave: true }, { as: 'Frontend_1' }), 403, 'forbidden');
  });

  test('a claim that is given back as Away uses no attempt up, 20 times; then it does', async () => {
    const { Topic } = await cluster.add();
    const giveBack = async (Away) => {
      const { Lease, Attempt } = await cluster.claim({ wait: 20, detail: true });
      assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Away, Reason: 'away' } }));
      return Attempt;
    };
    const attempts = [];
    for (let i = 0; i < 23; i += 1) attempts.push(await giveBack(true));
    assert.deepEqual(attempts, [...Array(21).fill(1), 2, 3]);
    assert.equal((await cluster.check({ Topic, detail: true })).Status, 'Failed');
    const lease = { Topic, Lease: '1', Away: 'yes' };
    assertProblem(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: lease }), 400);
  });
});
