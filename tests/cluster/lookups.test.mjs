// SPDX-License-Identifier: MIT
//
// Lookups reach an engine that waits for one, whatever is lost on the way: as queries they are handed over to credits
// (lua/lookup/lookups.lua). Rescans are switched off, so that a wake that is lost is seen: its poll fails with 404.
import assert from 'node:assert/strict';
import { assertOk, assertProblem, eventually, newNonce, suite } from '../support/harness.mjs';
import { connected, holdScripts, metric, stop } from './watch.mjs';

const SLOW_RESCAN = ['--rescan-seconds', '3600'];
const CREDITS = 'parley:{0}:idle_lookups';

function helpers(cluster) {
  const poll = ({ wait = 60, as = 'Inference_1', ...options } = {}) =>
    cluster.open('GET', '/api/get-new-lookup', { as, query: { Wait: wait }, timeout: wait * 1000 + 15_000, ...options });
  return {
    poll,
    // Resolves with the poll once Redis has its credit.
    async park(options = {}) {
      const before = await this.credits();
      const parkedPoll = poll(options);
      await eventually(async () => (await this.credits()) === before + 1, { what: 'the poll is a credit' });
      return parkedPoll;
    },
    async credits() {
      const all = await cluster.redis.cmd('ZRANGE', CREDITS, 0, -1, 'WITHSCORES');
      return all.filter((_, i) => i % 2).reduce((sum, score) => sum + Math.floor(score), 0);
    },
    async topic() {
      const { Topic } = await cluster.add({ node: 1 });
      await cluster.claim({ node: 1 });
      await cluster.answer({ Topic, Seq: 1, node: 1 });
      return Topic;
    },
    async add(Topic, { node = 1, Fragment = newNonce() } = {}) {
      const added = assertOk(await cluster.request('POST', '/api/add-lookup', { as: 'Frontend_1', node, body: { Topic, Seq: 1, Fragment } }));
      return { Fragment, Fingerprint: added.Fingerprint };
    },
    async match({ Fingerprint }, { as = 'Inference_1', node = 1 } = {}) {
      assertOk(await cluster.request('POST', '/api/give-new-matches', { as, node, body: { Fingerprint, Matches: ['m'] } }));
    },
    // It is claimed, and not to be had by others yet.
    async isHeld({ Fingerprint }) {
      return (await cluster.redis.cmd('ZSCORE', 'parley:{0}:lookups', Fingerprint)) > Date.now();
    },
  };
}

suite('lookups and polls that end', { nodes: 2, args: [...SLOW_RESCAN, '--delivery-seconds', '60'], sweep: false }, ({ test, cluster }) => {
  const at = helpers(cluster);

  test('polls that are over on one node take no lookup from those that wait on the other', async () => {
    const Topic = await at.topic();
    // The second poll times out by itself, but not before the test has seen its credit.
    for (const [wait, end] of [[60, (one) => one.abort()], [5, () => {}]]) {
      const over = await at.park({ node: 0, wait });
      end(over);
      await over.response.catch(() => {});
      await eventually(async () => (await at.credits()) === 0, { what: 'its credit is taken back' });
      const waits = await at.park({ node: 1 });
      const lookup = await at.add(Topic, { node: 0 });
      assert.equal(assertOk(await waits.response).Fragment, lookup.Fragment);
      await at.match(lookup);
    }
  });

  test('one lookup reaches one of many polls, and each of many lookups another', async () => {
    const Topic = await at.topic();
    const polls = [];
    for (let i = 0; i < 10; i++) polls.push(await at.park({ node: i % 2, as: i % 3 ? 'Inference_1' : 'Inference_2' }));
    const got = [];
    for (const { response } of polls) response.then((one) => got.push(one)).catch(() => {});
    const lookups = [await at.add(Topic)];
    await eventually(() => got.length === 1, { what: 'one poll has it' });
    for (let i = 0; i < 9; i++) lookups.push(await at.add(Topic));
    await Promise.all(polls.map(({ response }) => response));
    assert.deepEqual(got.map((one) => assertOk(one).Fragment).sort(), lookups.map(({ Fragment }) => Fragment).sort());
    for (const lookup of lookups) await at.match(lookup);
    assert.equal(await at.credits(), 0);
  });

  test('race: a poll that ends while the lookup is added: the lookup goes at once to a waiting poll', async () => {
    const Topic = await at.topic();
    const hanging = await cluster.startNode();
    const leaves = await at.park({ node: hanging });
    await stop(hanging);
    try {
      const lookup = await at.add(Topic);
      assert.equal(await at.isHeld(lookup), true, 'it is handed over');
      leaves.abort();
      await leaves.response.catch(() => {});
      const waits = await at.park({ node: 0, as: 'Inference_2' });
      hanging.signal('SIGCONT');
      assert.equal(assertOk(await waits.response).Fragment, lookup.Fragment);
      await at.match(lookup);
      assert.equal(await at.credits(), 0);
    } finally {
      hanging.signal('SIGCONT');
      await hanging.kill();
    }
  });

  test('race: a poll that leaves while it claims gives its lookup back', async () => {
    const Topic = await at.topic();
    const lookup = await at.add(Topic);
    const held = await holdScripts(cluster.redis);
    const leaves = at.poll({ node: 0 });
    await held.blocked();
    leaves.abort();
    await leaves.response.catch(() => {});
    await held.release();
    assert.equal(assertOk(await at.poll({ node: 1 }).response).Fragment, lookup.Fragment);
    await at.match(lookup);
  });

  test('the polls of a drained account get none, and get them again', async () => {
    const drain = (Drain) => cluster.request('POST', '/api/drain-engine', { as: 'Operator_1', body: { User: 'Inference_1', Drain } });
    const Topic = await at.topic();
    const drained = await at.park({ node: 0 });
    assertOk(await drain(true));
    await eventually(async () => (await at.credits()) === 0, { what: 'its credit is taken back' });
    const first = await at.add(Topic);
    const waits = at.poll({ node: 1, as: 'Inference_2' });
    assert.equal(assertOk(await waits.response).Fragment, first.Fragment);
    await at.match(first);
    const second = await at.add(Topic);
    assertOk(await drain(false));
    assert.equal(assertOk(await drained.response).Fragment, second.Fragment);
    await at.match(second);
  });

  test('SIGTERM ends polls with their normal answer and takes their credits along', async () => {
    const ending = await cluster.startNode();
    const polls = [await at.park({ node: ending }), await at.park({ node: ending })];
    ending.signal('SIGTERM');
    for (const { response } of polls) assertProblem(await response, 404, 'not_found');
    assert.equal((await ending.exited()).code, 0);
    cluster.nodes.splice(cluster.nodes.indexOf(ending), 1);
    ending.check();
    assert.equal(await cluster.redis.cmd('EXISTS', CREDITS), 0);
  });

  test('connections to Redis that are lost: what is parked gets the next lookup', async () => {
    const Topic = await at.topic();
    const waits = await at.park({ node: 0 });
    await cluster.redis.cmd('CLIENT', 'KILL', 'TYPE', 'normal');
    await cluster.redis.cmd('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await cluster.redis.cmd('DEL', CREDITS);
    await connected(cluster);
    await eventually(async () => (await at.credits()) === 1, { what: 'the credit is stated again' });
    const lookup = await at.add(Topic);
    assert.equal(assertOk(await waits.response).Fragment, lookup.Fragment);
    await at.match(lookup);
  });

  test('an engine that waits for lookups is none that answers questions', async () => {
    const waits = await at.park({ node: 0 });
    const { Engines } = assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1', node: 0 }));
    assert.ok(Engines.every(({ Models }) => Models !== '?'), JSON.stringify(Engines));
    waits.abort();
    await eventually(async () => (await metric(cluster, 0, 'parley_polls_parked')) === 0, { what: 'it is gone' });
  });
});

// The delivery lease outlasts the time until another poll is parked.
suite('lookups and nodes that die', { nodes: 2, args: [...SLOW_RESCAN, '--delivery-seconds', '6'], sweep: false }, ({ test, cluster }) => {
  const at = helpers(cluster);

  test('a node that is killed with a lookup in hand: another engine gets it after the delivery lease', async () => {
    const Topic = await at.topic();
    const dying = await cluster.startNode();
    await at.park({ node: dying });
    await stop(dying);
    const lookup = await at.add(Topic);
    assert.equal(await at.isHeld(lookup), true, 'it is handed over');
    const waits = await at.park({ node: 0, as: 'Inference_2' });
    await dying.kill();
    assert.equal(assertOk(await waits.response).Fragment, lookup.Fragment);
    await at.match(lookup, { as: 'Inference_2' });
  });

  test('a node that hangs with many polls gets one lookup once, and not again before it is heard from', async () => {
    const Topic = await at.topic();
    const hanging = await cluster.startNode();
    const polls = [];
    for (let i = 0; i < 10; i++) polls.push(await at.park({ node: hanging }));
    await stop(hanging);
    try {
      const lookup = await at.add(Topic);
      assert.equal(await at.isHeld(lookup), true, 'it is handed over');
      const waits = await at.park({ node: 0, as: 'Inference_2' });
      assert.equal(assertOk(await waits.response).Fragment, lookup.Fragment);
      await at.match(lookup, { as: 'Inference_2' });
    } finally {
      hanging.signal('SIGCONT');
      await hanging.kill();
    }
  });

  test('a killed node that held polls swallows no lookup', async () => {
    const Topic = await at.topic();
    const dying = await cluster.startNode();
    for (let i = 0; i < 5; i++) await at.park({ node: dying });
    await dying.kill();
    const waits = await at.park({ node: 0, as: 'Inference_2' });
    const lookup = await at.add(Topic);
    assert.equal(assertOk(await waits.response).Fragment, lookup.Fragment);
    await at.match(lookup, { as: 'Inference_2' });
  });
});

suite('lookups and engines that never answer', { nodes: 2, args: [...SLOW_RESCAN, '--lease-seconds', '1'], sweep: false }, ({ test, cluster }) => {
  const at = helpers(cluster);

  test('the lease ends, and a poll that is parked on another node gets it', async () => {
    const Topic = await at.topic();
    const lies = await at.park({ node: 0 });
    const lookup = await at.add(Topic);
    for (let i = 0; i < 3; i++) {
      const waits = at.poll({ node: 1 - (i % 2), as: 'Inference_2' });
      if (i === 0) assert.equal(assertOk(await lies.response).Fragment, lookup.Fragment);
      assert.equal(assertOk(await waits.response).Fragment, lookup.Fragment);
    }
    await at.match(lookup, { as: 'Inference_2' });
  });

  test('the same when the node of the engine is killed meanwhile', async () => {
    const Topic = await at.topic();
    const dying = await cluster.startNode();
    const lookup = await at.add(Topic, { node: dying });
    assert.equal(assertOk(await at.poll({ node: dying }).response).Fragment, lookup.Fragment);
    const waits = at.poll({ node: 0, as: 'Inference_2' });
    await dying.kill();
    assert.equal(assertOk(await waits.response).Fragment, lookup.Fragment);
    await at.match(lookup, { as: 'Inference_2' });
  });
});
