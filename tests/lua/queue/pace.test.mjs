// SPDX-License-Identifier: MIT
//
// With many nodes each syncs seldom (lua/queue/pace.lua): how long a node is said to wait, and what is found meanwhile by the sync of
// any other one: work that was missed, which is offered to credits, and to nodes with polls by a call to sync (lua/queue/rescan.lua).
import assert from 'node:assert/strict';
import { scripts, zset } from '../../support/lua.mjs';

const SYNC = ['sync', '{}', '', 0, 0, 0];
const many = (n) => zset(Object.fromEntries(Array.from({ length: n }, (_, i) => [`other${i}`, Date.now() - 1000])));
const hinted = (...nodes) => zset(Object.fromEntries(nodes.map((node) => [`${node} E|*`, Date.now() - 20_000])));

scripts('pace', ({ test, shard }) => {
  const sync = (shards) => shard.turn([SYNC], { shards });
  const paceOf = async (nodes, shards) => {
    await shard.cmd('FLUSHALL');
    if (nodes > 1) await shard.seed({ nodes: many(nodes - 1) });
    const [first] = (await sync(shards)).replies[0].split('\n');
    return first === '' ? 0 : Number(first.slice(1));
  };
  const missed = async (keys) => {
    await shard.seed(keys);
    // As add leaves it, when its call is lost: quiet ends by itself.
    await shard.turn([['add', 0, 't', 'alice', 'Frontend_1', 'default', 1, 100, ['"alice"', '"default"', '{}', '', '"Q1"'].join('\n')]], { shards: 4 });
    await shard.cmd('DEL', shard.key('quiet:default'));
    await shard.ears.take();
  };
  const called = async () => (await shard.ears.take()).map(([channel, event]) => `${channel} ${event.split('\n')[0]}`).sort();
  const listening = async (nodes, body) => {
    for (const node of nodes) await shard.ears.add(node);
    try {
      await body();
    } finally {
      for (const node of nodes) await shard.ears.remove(node);
    }
  };

  test('a shard has eight syncs a second, however many nodes, until each waits 15 seconds', async () => {
    const found = [];
    for (const shards of [1, 4]) for (const nodes of [1, 8, 9, 40, 120, 121, 1000]) found.push(await paceOf(nodes, shards));
    const expected = [0, 0, 1125, 5000, 15_000, 15_000, 15_000];
    assert.deepEqual(found, [...expected, ...expected]);
  });

  test('it is at most half of the time after which models fall back, and never less than of few nodes', async () => {
    const found = [];
    for (const fallbackMs of [30_000, 6000, 1000]) {
      await shard.seed({ nodes: many(999) });
      const { replies } = await shard.turn([SYNC], { shards: 4, fallbackMs });
      found.push(replies[0].split('\n')[0]);
      await shard.cmd('FLUSHALL');
    }
    assert.deepEqual(found, [' 15000', ' 3000', '']);
  });

  test('the end of the next lease and the pace are one line', async () => {
    await shard.seed({ nodes: many(99), leases: zset({ '4 t': Date.now() + 60_000 }) });
    const [first] = (await sync(4)).replies[0].split('\n');
    assert.match(first, /^\d{4,5} 12500$/);
  });

  test('work that nobody was called to: nodes with polls are called to sync, once a second', () =>
    listening(['n2', 'n3'], async () => {
      await missed({ nodes: many(100), hints: hinted('n2', 'n3', 'n1') });
      await sync(4);
      assert.deepEqual((await called()).filter((one) => one.endsWith('rescan')), ['node:n2 rescan', 'node:n3 rescan']);
      await sync(4);
      assert.deepEqual(await called(), [], 'the second sync is too soon');
      await shard.cmd('HSET', shard.key('clock'), 'rescan', Date.now() - 1001);
      await sync(4);
      assert.equal((await called()).filter((one) => one.endsWith('rescan')).length, 2);
    }));

  test('while nodes are few nobody is called: each of them syncs itself', () =>
    listening(['n2'], async () => {
      await missed({ nodes: many(7), hints: hinted('n2') });
      await sync(4);
      assert.deepEqual(await called(), []);
    }));

  test('without Open queries nobody is called', () =>
    listening(['n2'], async () => {
      await shard.seed({ nodes: many(100), hints: hinted('n2') });
      await sync(4);
      assert.deepEqual(await called(), []);
      assert.equal(await shard.cmd('HGET', shard.key('clock'), 'rescan'), null);
    }));

  test('eight nodes are called at most, and those that are gone are struck off', () => {
    const nodes = Array.from({ length: 12 }, (_, i) => `n${i + 2}`);
    return listening(nodes, async () => {
      await missed({ nodes: many(100), hints: hinted(...nodes) });
      await shard.cmd('ZADD', shard.key('hints'), ...['dead1', 'dead2'].flatMap((node) => [Date.now(), `${node} E|*`]));
      await sync(4);
      assert.equal((await called()).filter((one) => one.endsWith('rescan')).length, 8);
      const left = await shard.cmd('ZRANGE', shard.key('hints'), 0, -1);
      assert.ok(left.length >= 12, 'those that live are kept');
    });
  });

  test('a credit of another node gets what was missed, on one shard and on several', () =>
    listening(['n2'], async () => {
      for (const shards of [1, 4]) {
        await shard.cmd('FLUSHALL');
        await missed({ nodes: many(100) });
        await shard.cmd('ZADD', shard.key('idle'), 1, 'n2 E|*');
        await sync(shards);
        assert.deepEqual(await called(), ['node:n2 claim'], `${shards} shards`);
        assert.equal(await shard.cmd('ZCARD', shard.key('idle')), 0);
      }
    }));

  test('a call to sync is found by the sync that it causes', async () => {
    await missed({ nodes: many(100) });
    const { events } = await shard.turn([[...SYNC.slice(0, -1), 1, 'E|*', 0, 0, 1, '']], { shards: 4 });
    assert.equal(events.filter((event) => event.startsWith('taken\nclaim')).length, 1);
  });

  test('hints are fresh for three syncs of their nodes', () =>
    listening(['slow', 'newest'], async () => {
      const order = async (nodes) => {
        await shard.cmd('FLUSHALL');
        await shard.seed({ nodes: many(nodes), hints: zset({ 'slow E|*': Date.now() - 20_000, 'newest E|*': Date.now() - 30_000 }) });
        // `slow` names the model's class as `newest` does: a fresh one comes first, whatever its turn.
        await shard.cmd('ZADD', shard.key('hints'), Date.now() - 100_000, 'newest E|*');
        const first = new Set();
        for (let i = 0; i < 10; i++) {
          await shard.turn([['add', 0, `t${i}`, 'alice', 'Frontend_1', 'default', 1, 100, ['"alice"', '"default"', '{}', '', '"Q1"'].join('\n')]], { shards: 4 });
          for (const one of await called()) first.add(one);
        }
        return [...first].sort();
      };
      assert.deepEqual(await order(7), ['node:newest work', 'node:slow work'], 'of few nodes neither is fresh: they take turns');
      assert.deepEqual(await order(100), ['node:slow work'], 'of many one is');
    }));
});
