// SPDX-License-Identifier: MIT
//
// hint, work, and whatever makes work claimable, on one of several shards: which node is called to a query, which are struck off, and
// when nobody is called. The clusters' side of it is in tests/cluster/shards_hints.test.mjs.
import assert from 'node:assert/strict';
import { ago, lines, rowOf, scripts, set, tailOf, topicOf, zset } from '../../support/lua.mjs';

const FRAME = { shards: 4 }; // this shard is the first: its leases are 4, 8, 12
const ADD = ['add', 0, 't', 'alice', 'Frontend_1', 'default', 1, 100, tailOf({ query: 'Q1' })];
const addFor = (model) => [...ADD.slice(0, 5), model, ...ADD.slice(6)];
const stated = (s) => Date.now() - s * 1000;

scripts('hints', ({ test, shard }) => {
  const run = (...verb) => shard.turn([verb], FRAME);
  const add = (model = 'default') => run(...addFor(model));
  const hints = () => shard.cmd('ZRANGE', shard.key('hints'), 0, -1);
  const isQuiet = async () => (await shard.cmd('EXISTS', shard.key('quiet:default'))) === 1;
  // It lasts 50 ms: in a transaction, time stands still between the verb and this.
  const isQuietAfter = async (verb) => {
    const { also } = await shard.turn([verb], { ...FRAME, also: ['EXISTS', shard.key('quiet:default')] });
    return also === 1;
  };
  // Polls that are parked, and after the point how many of them are due.
  const idle = async () => Number(Number(await shard.cmd('ZSCORE', shard.key('idle'), 'n1 E|*')).toFixed(6));
  // Who was called, with what it got.
  const called = async () => (await shard.ears.take()).map(([channel, event]) => [channel, ...event.split('\n')]);
  const listening = async (nodes, body) => {
    for (const node of nodes) await shard.ears.add(node);
    try {
      await body();
    } finally {
      for (const node of nodes) await shard.ears.remove(node);
    }
  };

  test('a query that finds no credit calls one node of the hints', () =>
    listening(['n2', 'n3'], async () => {
      await shard.seed({ hints: zset({ 'n2 E|*': stated(1), 'n3 E|*': stated(1) }) });
      assert.match((await add()).replies[0], /^ok\n1\n/);
      const found = await called();
      assert.equal(found.length, 1);
      assert.match(found[0][0], /^node:n[23]$/);
      assert.deepEqual(found[0].slice(1), ['work', 'default', '0', '']);
      assert.equal(await isQuiet(), false);
    }));

  test('a query that is handed over notifies nobody', () =>
    listening(['n2'], async () => {
      await shard.seed({ hints: zset({ 'n2 E|*': stated(1) }), idle: zset({ 'n1 E|*': 1 }) });
      const { events } = await add();
      assert.equal(events.length, 2, 'the claim, and how many are Open');
      assert.deepEqual(await called(), []);
    }));

  test('nodes that have a poll of an engine that names the model are called before the others', () =>
    listening(['n2', 'n3'], async () => {
      for (let i = 0; i < 20; i++) {
        await shard.cmd('FLUSHALL');
        await shard.seed({ hints: zset({ 'n2 E|*': stated(0), 'n3 E|*': stated(0), 'n3 F|small': stated(0) }) });
        await add('small');
        assert.deepEqual((await called()).map(([channel]) => channel), ['node:n3']);
      }
    }));

  test("the node whose turn it is calls itself in its reply", async () => {
    await shard.seed({ hints: zset({ 'n1 E|*': stated(1) }) });
    const { events } = await add();
    assert.deepEqual(events, [lines('work', 'default', 0, ''), lines('open', 1)]);
  });

  test('hints of other models are passed by, and those of lookups are none', () =>
    listening(['n2', 'n3'], async () => {
      await shard.seed({ hints: zset({ 'n2 E|small': stated(0), 'n3 E|small,big': stated(1) }) });
      await add('big');
      assert.deepEqual((await called()).map(([channel]) => channel), ['node:n3']);
    }));

  test('a node without a subscriber is removed with all its hints, and the next one is notified in the same script', () =>
    listening(['n3'], async () => {
      await shard.seed({ hints: zset({ 'n2 E|*': stated(1), 'n2 E|small': stated(1), 'n22 F|small': stated(1), 'n3 E|*': stated(9) }) });
      await add('big');
      assert.deepEqual((await called()).map(([channel]) => channel), ['node:n3']);
      assert.deepEqual((await hints()).sort(), ['n22 F|small', 'n3 E|*']);
    }));

  test('a node that hangs, and says nothing any more, is called after those that do', () =>
    listening(['n2', 'n3'], async () => {
      for (let i = 0; i < 20; i++) {
        await shard.cmd('FLUSHALL');
        await shard.seed({ hints: zset({ 'n2 E|*': stated(10), 'n3 E|*': stated(0) }) });
        await add();
        assert.deepEqual((await called()).map(([channel]) => channel), ['node:n3']);
      }
    }));

  test('several that are there take turns', () =>
    listening(['n2', 'n3', 'n4'], async () => {
      const seen = new Set();
      for (let i = 0; i < 200 && seen.size < 3; i++) {
        await shard.cmd('FLUSHALL');
        await shard.seed({ hints: zset({ 'n2 E|*': stated(0), 'n3 E|*': stated(0), 'n4 E|*': stated(0) }) });
        await add();
        for (const [channel] of await called()) seen.add(channel);
      }
      assert.equal(seen.size, 3);
    }));

  test('no node is there: nobody is called to that model until its last query is taken', () =>
    listening(['n2'], async () => {
      assert.equal(await isQuietAfter(ADD), true);
      await shard.cmd('SET', shard.key('quiet:default'), '1', 'PX', 60_000);
      await shard.seed({ hints: zset({ 'n2 E|*': stated(0) }) });
      await add();
      assert.deepEqual(await called(), []);
      await add('small');
      assert.deepEqual((await called()).map(([, ...event]) => event), [['work', 'small', '0', '']], 'another model has engines of its own');
      await run(...ADD.slice(0, 2), 'u', ...ADD.slice(3));
      assert.match((await run('claim', 0, 'E|*', '0')).replies[0], /^claim/);
      await add();
      assert.deepEqual(await called(), [], 'queries of the other topic still wait');
      while ((await run('claim', 0, 'E|*', '0')).replies[0] !== 'empty');
      assert.equal(await isQuiet(), false);
      await add();
      assert.equal((await called()).length, 1);
    }));

  test('a model that has fallen is quiet with the engines of all models', async () => {
    const fall = { ...FRAME, fallbackMs: 30_000 };
    await shard.turn([addFor('odd')], fall);
    assert.equal(await shard.cmd('ZSCORE', shard.key('falls'), 'odd'), '0');
    await shard.cmd('SET', shard.key('quiet:default'), '1', 'PX', 60_000);
    await shard.seed({ hints: zset({ 'n1 E|*': stated(0) }) });
    assert.deepEqual((await shard.turn([addFor('odd')], fall)).events, [lines('open', 2)]);
    await shard.turn([['claim', 0, 'E|*', '0']], fall);
    assert.equal(await isQuiet(), false);
  });

  test('work goes to a node that was not tried, twice', () =>
    listening(['n2', 'n3', 'n4', 'n5'], async () => {
      await shard.seed({ hints: zset({ 'n2 E|*': stated(0), 'n3 E|*': stated(0), 'n4 E|*': stated(0), 'n5 E|*': stated(0) }) });
      await add();
      let tried = ',';
      let [[channel]] = await called();
      for (let hops = 1; hops <= 2; hops++) {
        tried += `${channel.slice(5)},`;
        assert.deepEqual((await run('work', 'default', tried, hops)).replies, ['ok']);
        const [next] = await called();
        assert.deepEqual(next.slice(1), ['work', 'default', String(hops), tried]);
        assert.ok(!tried.includes(`,${next[0].slice(5)},`), `${next[0]} was tried`);
        [channel] = next;
      }
      assert.equal(await isQuietAfter(['work', 'default', `${tried}${channel.slice(5)},`, 3]), true);
      assert.deepEqual(await called(), []);
    }));

  test('a notification for a query that was claimed in the meantime is dropped', () =>
    listening(['n2'], async () => {
      await shard.seed({ hints: zset({ 'n2 E|*': stated(0) }) });
      assert.deepEqual((await run('work', 'default', ',n9,', 1)).replies, ['ok']);
      assert.deepEqual(await called(), []);
      assert.equal(await isQuiet(), false);
    }));

  test('a claim that comes back calls a node, and one that is handed over calls none', () =>
    listening(['n2'], async () => {
      await shard.seed({ 't:t': topicOf(['P 7 1 E 1']), leases: zset({ '7 t': 9e12 }), meta: { lease: '7', depth: '0', vt: '0.000000' }, hints: zset({ 'n2 E|*': stated(0) }) });
      await run('release', 0, 't', '7', 'E', '', '"busy"', 'retry');
      assert.deepEqual((await called()).map(([channel]) => channel), ['node:n2']);
      await run('claim', 0, 'E|*', '1');
      const lease = (await shard.get('meta')).lease;
      await shard.cmd('ZADD', shard.key('idle'), 1, 'n1 E|*');
      await run('release', 0, 't', lease, 'E', '', '"busy"', 'retry');
      assert.deepEqual(await called(), [], 'its query is not Open');
    }));

  test('hint: what is Open is taken, with the node stated', async () => {
    await shard.seed({ 't:t': { ...topicOf([undefined]) }, 'open:default:alice': zset({ t: 1_000_000 }), 'turns:default': zset({ alice: 0 }), models: set('default'), meta: { lease: '0', depth: '1', vt: '0.000000' } });
    const { replies, events } = await run('hint', 'E|*');
    assert.equal(replies[0], lines('claim', 'E|*', 't', 4, 1, 1, 1, rowOf({ query: 'Q1' })));
    assert.deepEqual(events, [lines('open', 0)]);
    assert.ok(ago()(await shard.cmd('ZSCORE', shard.key('hints'), 'n1 E|*')));
    assert.deepEqual((await run('hint', 'E|*')).replies, ['empty']);
  });

  test('sync: what is Open is taken for the polls with a credit here, then for those with one on another shard', async () => {
    const rows = ['t1', 't2', 't3', 't4'];
    await shard.seed({
      ...Object.fromEntries(rows.map((topic) => [`t:${topic}`, topicOf([undefined])])),
      'open:default:alice': zset(Object.fromEntries(rows.map((topic, i) => [topic, 1_000_000 + i]))),
      'turns:default': zset({ alice: 0 }), models: set('default'), meta: { lease: '0', depth: '4', vt: '0.000000' },
    });
    const claim = (i) => ['claim', 'E|*', rows[i - 1], 4 * i, 1, 1, 1, rowOf({ query: 'Q1' })];
    const { events } = await run('sync', '{}', '', 0, 0, 1, 'E|*', 1, 0, 2, '');
    assert.deepEqual(events, [lines(...claim(1)), lines('taken', ...claim(2)), lines('taken', ...claim(3)), lines('open', 1)]);
    assert.equal(await shard.get('idle'), undefined, 'the credit here is used up');
    assert.deepEqual((await run('sync', '{}', '', 0, 0, 1, 'E|*', 0, 0, 0, '')).events, [lines('open', 1)], 'without a poll nothing is taken');
  });

  test('the first polls of a class state its hint, those after them leave that to the syncs', async () => {
    const park = ['claim', 0, 'E|*', '1'];
    const makeOld = () => shard.cmd('ZADD', shard.key('hints'), 1, 'n1 E|*');
    const isNew = async () => ago()(await shard.cmd('ZSCORE', shard.key('hints'), 'n1 E|*'));
    await shard.turn([park, park], FRAME);
    assert.ok(await isNew());
    await makeOld();
    await shard.turn([park, park], FRAME);
    assert.equal(await idle(), 4);
    assert.ok(!(await isNew()));
    for (let i = 0; i < 4; i++) await add();
    assert.equal(await shard.get('idle'), undefined);
    await run(...park);
    assert.ok(await isNew(), 'they are the first ones again');
    await makeOld();
    await run('sync', '{}', '', 0, 0, 1, 'E|*', 1, 0, 0, '');
    assert.ok(await isNew());
  });

  test('a turn that parks polls and serves questions adds both up', async () => {
    await shard.seed({ idle: zset({ 'n1 E|*': 3.000002 }) });
    const park = ['claim', 0, 'E|*', '1'];
    await shard.turn([park, park], FRAME);
    assert.equal(await idle(), 5.000002);
    const { events } = await shard.turn([park, ADD, park, park], FRAME);
    assert.equal(events.length, 2, 'the claim, and how many are Open');
    assert.equal(await idle(), 7.000001);
    await shard.turn([['add', 0, 't2', ...ADD.slice(3)], park], FRAME); // the score is read after the list of all
    assert.equal(await idle(), 7);
  });

  test('with nothing counted as Open nobody looks for work, except the slow rescan', async () => {
    await shard.seed({ 't:t': topicOf([undefined]), 'open:default:alice': zset({ t: 1_000_000 }), 'turns:default': zset({ alice: 0 }), models: set('default'), meta: { lease: '0', depth: '0', vt: '0.000000' } });
    assert.deepEqual((await run('claim', 0, 'E|*', '1')).replies, ['parked']);
    const { events } = await run('sync', '{}', '', 0, 0, 1, 'E|*', 1, 0, 0, '');
    assert.deepEqual(events, [lines('claim', 'E|*', 't', 4, 1, 1, 1, rowOf({ query: 'Q1' })), lines('open', 0)]);
  });

  test('parking and syncs state hints, lookups have none, and one shard has none', async () => {
    await run('claim', 0, 'E|*', '1');
    await run('claim_lookup', 0, 'E|?', '1');
    assert.deepEqual(await hints(), ['n1 E|*']);
    await run('sync', '{}', '', 0, 0, 3, 'E|a', 0, 0, 1, '', 'E|b', 0, 0, 0, '', 'E|?', 1, 0, 0, '');
    assert.deepEqual((await hints()).sort(), ['n1 E|*', 'n1 E|a']);
    await shard.cmd('FLUSHALL');
    await shard.turn([['claim', 0, 'E|*', '1'], ['sync', '{}', '', 0, 0, 1, 'E|a', 1, 0, 0, '']]);
    await shard.turn([addFor('b')]);
    assert.deepEqual((await shard.names()).filter((name) => name === 'hints' || name.startsWith('quiet')), []);
  });

  test('a sync forgets the hints of nodes that have said nothing for a minute, and all but the newest thousand', async () => {
    await shard.seed({ nodes: zset({ n7: stated(61), n8: stated(59) }), hints: zset({ 'n7 E|*': stated(61), 'n8 E|*': stated(59), 'n78 E|*': stated(5) }) });
    await run('sync', '{}', '', 0, 0, 0);
    assert.deepEqual((await hints()).sort(), ['n78 E|*', 'n8 E|*']);
    await shard.cmd('ZADD', shard.key('hints'), ...Array.from({ length: 1500 }, (_, i) => [i, `n8 E|m${i}`]).flat());
    await run('sync', '{}', '', 0, 0, 0);
    assert.equal((await hints()).length, 1000);
    assert.ok((await hints()).includes('n8 E|*'));
  });
});
