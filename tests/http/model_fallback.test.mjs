// SPDX-License-Identifier: MIT
//
// A model that no engine has named for --model-fallback-seconds is served as `default`.
import assert from 'node:assert/strict';
import { parked } from '../cluster/watch.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { onAll, SHARDS, topicOn } from '../support/shards.mjs';

const EMPTY = { Topic: null, Queries: null };

// Each shard knows that an engine named it.
const isKnownIn = (cluster, model) =>
  eventually(
    async () => {
      const keys = await cluster.redis.cmd('KEYS', 'parley:*:models_seen');
      const found = await Promise.all(keys.map((key) => cluster.redis.cmd('HEXISTS', key, model)));
      return found.filter(Boolean).length === SHARDS;
    },
    { what: `an engine for ${model} is known` },
  );

// No sweep: its engine names no models, and nothing falls while such a one is there.
suite('a model without an engine', { sweep: false, args: ['--model-fallback-seconds', '2', '--rescan-seconds', '1'] }, ({ test, cluster }) => {
  const claim = (Models, more = {}) => cluster.claim({ detail: true, query: { Models }, ...more });
  const answer = ({ Topic, Lease }, more = {}) => cluster.answer({ Topic, Seq: 1, Query: 'Why?', Lease, ...more });
  const servedBy = async (Topic, node) => (await cluster.check({ Topic, detail: true, node })).Model;

  const isKnown = (model) => isKnownIn(cluster, model);
  const engineWasThere = async (model, node) => {
    assert.deepEqual(await claim(model, { node }), EMPTY);
    await isKnown(model);
  };

  test('of which none was ever seen: any engine gets its query at once, as default, and Detail says so', async () => {
    for (const [from, to] of [[0, 1], [1, 0]]) {
      const { Topic } = await cluster.add({ Query: 'Why?', Model: 'nobody', node: from });
      const got = await claim('tiny', { node: to });
      assert.equal(got.Topic, Topic);
      assert.equal(got.Details[1].Model, 'default');
      await answer(got, { node: from });
      for (const node of [0, 1]) {
        const { Model, AskedModel } = await cluster.check({ Topic, detail: true, node });
        assert.deepEqual([Model, AskedModel], ['default', 'nobody']);
      }
      assert.equal('AskedModel' in (await cluster.check({ Topic })), false, 'only with Detail');
    }
  });

  test('of which none was ever seen: an engine that is parked is called to it', async () => {
    const poll = cluster.claimOpen({ detail: true, wait: 60, query: { Models: 'tiny' }, node: 1 });
    await parked(cluster, 1, 1);
    const { Topic } = await cluster.add({ Query: 'Why?', Model: 'nobody', node: 0 });
    const got = assertOk(await poll.response);
    assert.equal(got.Topic, Topic);
    await answer(got);
  });

  test('an answer that names its model is of that model', async () => {
    const { Topic } = await cluster.add({ Query: 'Why?', Model: 'nobody' });
    await answer(await claim('tiny'), { Model: 'tiny-7b' });
    assert.equal(await servedBy(Topic), 'tiny-7b');
  });

  test('whose engine has been there: its query waits for it, then one that is parked on the other node gets it', async () => {
    await engineWasThere('mine', 0);
    const { Topic } = await cluster.add({ Query: 'Why?', Model: 'mine', node: 0 });
    const poll = cluster.claimOpen({ detail: true, wait: 60, query: { Models: 'tiny' }, node: 1 });
    const got = assertOk(await poll.response);
    assert.deepEqual([got.Topic, got.Details[1].Model], [Topic, 'default']);
    await answer(got);
    assert.equal(await servedBy(Topic), 'default');
  });

  test('whose engine comes back in time gets its query as its own', async () => {
    await engineWasThere('ours', 1);
    const { Topic } = await cluster.add({ Query: 'Why?', Model: 'ours' });
    const got = await claim('ours', { node: 1 });
    assert.deepEqual([got.Topic, got.Details[1].Model], [Topic, 'ours']);
    await answer(got);
    assert.equal(await servedBy(Topic), 'ours');
  });

  test('whose engine comes back after it fell gets it as well, if nobody else has', async () => {
    await engineWasThere('late', 0);
    const { Topic } = await cluster.add({ Query: 'Why?', Model: 'late' });
    const falls = async () => (await Promise.all((await cluster.redis.cmd('KEYS', 'parley:*:falls')).map((key) => cluster.redis.cmd('ZSCORE', key, 'late')))).some((at) => at === '0');
    await eventually(falls, { what: 'it has fallen, though nobody asked' });
    const got = await claim('late', { node: 1 });
    assert.deepEqual([got.Topic, got.Details[1].Model], [Topic, 'late']);
    await answer(got);
  });

  test('an engine that names no models is asked for the model itself, and nothing falls while it is there', async () => {
    const { Topic } = await cluster.add({ Query: 'Why?', Model: 'nobody' });
    const got = await cluster.claim({ detail: true });
    assert.equal(got.Details[1].Model, 'nobody');
    await isKnown('*');
    await answer(got);
    assert.equal(await servedBy(Topic), 'nobody');
  });
});

suite('a model whose engine has just come', { sweep: false, args: ['--rescan-seconds', '3600'] }, ({ test, cluster }) => {
  const claim = (Models, more = {}) => cluster.claim({ detail: true, query: { Models }, ...more });

  test('every shard hears of it with its first poll, also where the account has polled for another one before', async () => {
    for (const [model, node] of [['first', 0], ['second', 0], ['third', 1], ['fourth', 0]]) {
      assert.deepEqual(await claim(model, { node }), EMPTY);
      await isKnownIn(cluster, model);
    }
    const { Topic } = await cluster.add({ Query: 'Why?', Model: 'second' });
    for (const node of [0, 1]) assert.deepEqual(await claim('first', { node }), EMPTY, 'it waits for its own engine');
    assert.equal((await claim('second')).Topic, Topic);
  });

  test('also with a first poll that parks', async () => {
    for (const [i, node] of [0, 1, 0].entries()) {
      const poll = cluster.claimOpen({ wait: 60, query: { Models: `parked-${i}` }, node });
      await isKnownIn(cluster, `parked-${i}`);
      await cluster.add({ Query: 'Why?', Model: `parked-${i}` });
      assertOk(await poll.response);
    }
  });
});

suite('engines that name a model, and engines that take any', { args: ['--rescan-seconds', '1'] }, ({ test, cluster }) => {
  test('a question for a model goes to the one that names it, however long the other has waited; one for default to whoever has', async () => {
    for (const [i, [one, other]] of [[0, 0], [0, 1], [1, 0], [1, 1]].entries()) {
      const Model = `named-${i}`;
      const any = cluster.claimOpen({ as: 'Inference_2', wait: 60, node: one });
      await parked(cluster, one, 1);
      const naming = cluster.claimOpen({ as: 'Inference_1', wait: 60, detail: true, query: { Models: `x,${Model}` }, node: other });
      await parked(cluster, other, one === other ? 2 : 1);
      await isKnownIn(cluster, Model);
      // Each shard decides among those that wait on it.
      const waits = (await onAll(cluster.redis, 'ZRANGE', 'idle', 0, -1)).map((members) => members.some((member) => member.endsWith(`|x,${Model}`)));
      const first = await cluster.add({ Model, Topic: topicOn(waits.indexOf(true)), node: i % 2 });
      const got = assertOk(await naming.response);
      assert.deepEqual([got.Topic, got.Details[1].Model], [first.Topic, Model]);
      const second = await cluster.add({ Model, node: i % 2 }); // that engine is busy now
      assert.equal(assertOk(await any.response).Topic, second.Topic);
      for (const { Topic } of [first, second]) await cluster.answerRaw({ as: Topic === first.Topic ? 'Inference_1' : 'Inference_2', Topic, Seq: 1 });
    }
  });

  test('an engine that names a model gets questions for default as well', async () => {
    const naming = cluster.claimOpen({ wait: 60, query: { Models: 'only-this' }, node: 0 });
    await parked(cluster, 0, 1);
    const { Topic } = await cluster.add({ node: 1 });
    assert.equal(assertOk(await naming.response).Topic, Topic);
  });
});
