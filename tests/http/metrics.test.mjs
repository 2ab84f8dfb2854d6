// SPDX-License-Identifier: MIT
//
// GET /metrics: the state of the queue, how leases end, and what a scrape may cost.
import assert from 'node:assert/strict';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { SHARDS } from '../support/shards.mjs';
import { openEngine } from '../support/engine_socket.mjs';
import { holdScripts, metric } from '../cluster/watch.mjs';

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(.*)\})? (\S+)$/;

// The samples of one name: {labels, value} each.
function samplesOf(text, name) {
  return text
    .split('\n')
    .map((line) => LINE.exec(line))
    .filter((found) => found?.[1] === name)
    .map(([, , , labels = '', value]) => ({ labels: Object.fromEntries([...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, text]) => [key, text])), value: Number(value) }));
}

const read = async (cluster, node, query = {}) => (await cluster.request('GET', '/metrics', { node, query })).text;
const sumOf = (samples) => samples.reduce((sum, { value }) => sum + value, 0);

// What waits, by model, as soon as a scrape shows `n` queries: one in the same second shows the state before.
async function depthOf(cluster, n, node = 0) {
  const text = await eventually(
    async () => {
      const found = await read(cluster, node);
      return sumOf(samplesOf(found, 'parley_queue_depth')) === n && found;
    },
    { what: `${n} queries are shown` },
  );
  const byModel = {};
  for (const { labels, value } of samplesOf(text, 'parley_queue_depth')) byModel[labels.model] = (byModel[labels.model] ?? 0) + value;
  return { text, byModel };
}

suite('the state of the queue in /metrics', { nodes: 2 }, ({ test, cluster }) => {
  test('what waits is shown by model and shard, the same by every node', async () => {
    const before = await depthOf(cluster, 0);
    assert.deepEqual(samplesOf(before.text, 'parley_queue_depth').map(({ labels }) => labels), Array.from({ length: SHARDS }, (_, shard) => ({ model: 'default', shard: `${shard}` })));
    assert.equal(samplesOf(before.text, 'parley_queue_oldest_seconds')[0].value, 0);
    for (const Model of [undefined, 'big:7b', 'big:7b', 'with "quotes"']) await cluster.add({ Model });
    for (const node of [0, 1]) {
      const { text, byModel } = await depthOf(cluster, 4, node);
      assert.deepEqual(byModel, { default: 1, 'big:7b': 2, 'with%20%22quotes%22': 1 });
      assert.ok(samplesOf(text, 'parley_queue_oldest_seconds')[0].value > 0);
      assert.equal(samplesOf(text, 'parley_shards_missing')[0].value, 0);
      assert.deepEqual(samplesOf(text, 'parley_engines').map(({ labels }) => labels.state), ['waiting', 'working', 'resting', 'drained']);
    }
  });

  test('no two names of models become one label', async () => {
    for (const Model of ['a\nb', 'a%0Ab', 'a%250Ab']) await cluster.add({ Model });
    const { byModel } = await depthOf(cluster, 3);
    assert.deepEqual(byModel, { default: 0, 'a%0Ab': 1, 'a%250Ab': 1, 'a%25250Ab': 1 });
  });

  test('claims in flight and engines are counted', async () => {
    const { Topic } = await cluster.add();
    const claim = await cluster.claim({ detail: true });
    await eventually(async () => samplesOf(await read(cluster, 0), 'parley_claims_in_flight')[0].value >= 1, { what: 'the claim is counted' });
    await eventually(async () => sumOf(samplesOf(await read(cluster, 1), 'parley_engines')) >= 1, { what: 'its engine is counted' });
    await cluster.answer({ Topic, Seq: 1, Lease: claim.Lease });
    await eventually(async () => samplesOf(await read(cluster, 0), 'parley_claims_in_flight')[0].value === 0, { what: 'it has ended' });
  });

  test('of many models those with most waiting queries are shown, and the others are added up', async () => {
    const names = Array.from({ length: 24 }, (_, i) => `model-${String(i).padStart(2, '0')}`);
    await Promise.all([...names, ...names.slice(0, 19), 'other'].map((Model) => cluster.add({ Model })));
    const { byModel } = await depthOf(cluster, 24 + 19 + 1);
    assert.equal(Object.keys(byModel).length, 22, JSON.stringify(byModel)); // 20, default at 0, and other
    for (const name of names.slice(0, 19)) assert.equal(byModel[name], 2);
    assert.equal(byModel.other, 24 + 1 - 19 - 1);
  });

  test('a storm of scrapes costs Redis one look a second', async () => {
    const looks = async () => metric(cluster, 0, 'parley_verb_calls_total{verb="depth"}');
    const [before, began] = [await looks(), Date.now()];
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 40 }, () => read(cluster, 0)));
    const most = SHARDS * (2 + Math.floor((Date.now() - began) / 1000));
    const n = (await looks()) - before;
    assert.ok(n <= most, `${n} looks, ${most} expected at most`);
  });

  test('a scrape does not wait for a Redis that is held up, and Cluster=false does not ask it', async () => {
    await depthOf(cluster, 0);
    const held = await holdScripts(cluster.redis);
    const texts = [];
    for (let i = 0; i < 3; i++) texts.push(await read(cluster, 0));
    const own = await read(cluster, 1, { Cluster: 'false' });
    await held.release();
    for (const text of [...texts, own]) assert.match(text, /^parley_threads 1(\.0+)?$/m);
    assert.deepEqual(samplesOf(own, 'parley_queue_depth'), []);
  });
});

suite('tokens in /metrics', { nodes: 1 }, ({ test, cluster }) => {
  const tokens = async () => {
    const found = samplesOf(await read(cluster, 0, { Cluster: 'false' }), 'parley_tokens_total');
    return Object.fromEntries(found.map(({ labels: { account, model, kind }, value }) => [`${account} ${model} ${kind}`, value]));
  };
  const answer = async (Usage, Model, asked) => {
    const { Topic, Seq } = await cluster.add({ Model: asked });
    await cluster.claim({ models: asked });
    await cluster.answer({ Topic, Seq, Model, Usage });
  };

  test('what models read and wrote is added up by the account that asked and the model that answered', async () => {
    await answer({ prompt_tokens: 5, completion_tokens: 7 }, 'big:7b');
    await answer({ prompt_tokens: 1, completion_tokens: 0 }, 'big:7b', 'big');
    await answer({ prompt_tokens: 2, completion_tokens: 3 }, undefined, 'asked "so"');
    await answer({ prompt_tokens: 4, completion_tokens: 4 });
    await answer(undefined, 'mute');
    assert.deepEqual(await tokens(), Object.fromEntries(Object.entries({ 'big:7b prompt': 6, 'big:7b completion': 7, 'asked%20%22so%22 prompt': 2, 'asked%20%22so%22 completion': 3, 'default prompt': 4, 'default completion': 4 }).map(([name, n]) => [`Frontend_1 ${name}`, n])));
  });

  test('engines that name ever more models do not make ever more series', async () => {
    for (let i = 0; i < 110; i++) await answer({ prompt_tokens: 1, completion_tokens: 2 }, `model-${i}`);
    const found = await tokens();
    assert.equal(Object.keys(found).length, 2 * 101);
    assert.deepEqual([found['other other prompt'], found['other other completion']], [13, 26]);
  });

  test('open sockets of engines, and what is shown and stored of their pieces, is counted', async () => {
    const [opened, shown, stored] = ['parley_engine_sockets_open', 'parley_pieces_shown_total', 'parley_pieces_stored_total'].map((name) => () => metric(cluster, 0, name));
    const before = [await shown(), await stored()];
    const engine = await openEngine(cluster);
    const { Topic } = await cluster.add();
    const { Lease, Queries } = await engine.claim();
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 } });
    engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset: 0, Answer: '0' });
    await engine.next(({ Type }) => Type === 'stored');
    for (let i = 1; i < 100; i++) engine.send({ Type: 'partial', Topic, Seq: 1, Lease, Offset: i, Answer: '0' });
    await engine.answer({ Topic, Lease, Queries }, ['0'.repeat(100)]);
    await stream.until('done');
    const [showed, kept] = [(await shown()) - before[0], (await stored()) - before[1]];
    assert.equal(showed, 99);
    assert.ok(kept >= 2 && kept < 99, `${kept} stored`);
    assert.equal(await opened(), 1);
    await engine.close();
    await eventually(async () => (await opened()) === 0, { what: 'the socket is counted as closed' });
  });
});

suite('how leases end', { nodes: 2, args: ['--rescan-seconds', '1'] }, ({ test, cluster }) => {
  const ends = async (reason) => (await Promise.all([0, 1].map((node) => metric(cluster, node, `parley_lease_ends_total{reason="${reason}"}`)))).reduce((sum, n) => sum + n, 0);
  const more = async (reason, cause) => {
    const before = await ends(reason);
    await cause();
    await eventually(async () => (await ends(reason)) > before, { what: `one more is ${reason}` });
  };

  test('an answer, a release, a cancelling and a lost engine are counted apart', async () => {
    await more('answered', async () => {
      const { Topic } = await cluster.add();
      await cluster.claim();
      await cluster.answer({ Topic, Seq: 1 });
    });
    await more('released', async () => {
      const { Topic } = await cluster.add();
      const { Lease } = await cluster.claim({ detail: true });
      assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Reason: 'tired', Retry: false } }));
    });
    await more('cancelled', async () => {
      const { Topic } = await cluster.add();
      await cluster.claim();
      assertOk(await cluster.request('POST', '/api/cancel-query', { as: 'Frontend_1', body: { Topic, Seq: 1 } }));
    });
    await more('expired', async () => {
      const { Topic } = await cluster.add();
      await cluster.claim();
      await cluster.endLease(Topic);
    });
  });
});
