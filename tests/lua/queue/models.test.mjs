// SPDX-License-Identifier: MIT
//
// Models of the doors, `<api>/<model>`: who takes a query for one, that it never falls back, and the list that clients see.
import assert from 'node:assert/strict';
import { PREFIX, scripts, tailOf } from '../../support/lua.mjs';

const HOUR_MS = 3_600_000;
const FRAME = { fallbackMs: 30_000 };
const add = (model) => ['add', 0, 't', 'alice', 'Frontend_1', model, 1, 100, tailOf({ model }), '', '', '', ''];
const sync = (...classes) => ['sync', '{}', '', 0, 0, classes.length, ...classes.flatMap((name) => [name, 0, 0, 0, ''])];

scripts('models', ({ test, shard }) => {
  const seen = (ms, lease = '') => `${Date.now() - ms} E ${lease}`;
  // [model, api, age] of each line.
  async function listed() {
    const [tag, ...rest] = (await shard.call('models', 0)).split('\n');
    assert.equal(tag, 'ok');
    return Array.from({ length: rest.length / 3 }, (_, i) => rest.slice(3 * i, 3 * i + 3));
  }

  test('none are there', async () => assert.equal(await shard.call('models', 0), 'ok'));

  test('those of the doors are listed by name and api, if they were named within the hour', async () => {
    await shard.seed({
      models_seen: { '*': seen(0), plain: seen(0), 'chat/b': seen(5000), 'embeddings/b': seen(HOUR_MS - 60_000), 'chat/a': seen(0), 'chat/old': seen(HOUR_MS + 1) },
    });
    const found = await listed();
    assert.deepEqual(found.map(([model, api]) => [model, api]), [['a', 'chat'], ['b', 'chat'], ['b', 'embeddings']]);
    assert.ok(found[1][2] >= 5000 && found[1][2] < 60_000, found[1][2]);
  });

  test('one whose engine is at work is there, however long its claim takes', async () => {
    await shard.seed({ models_seen: { 'chat/a': seen(2 * HOUR_MS, '7'), 'chat/b': seen(2 * HOUR_MS, '8') }, 'lease:7': 'E x 1 n1 1' });
    assert.deepEqual(await listed(), [['a', 'chat', '0']]);
  });

  test('nodes note them, also where nothing falls back', async () => {
    for (const fallbackMs of [0, 30_000]) {
      await shard.turn([sync('E|a,chat/a')], { fallbackMs });
      assert.deepEqual((await listed()).map(([model, api]) => [model, api]), [['a', 'chat']]);
      const noted = await shard.cmd('HKEYS', `${PREFIX}models_seen`);
      assert.deepEqual(noted.sort(), fallbackMs ? ['a', 'chat/a'] : ['chat/a']);
      await shard.cmd('DEL', `${PREFIX}models_seen`);
    }
  });
});

scripts('a query for a model of a door', ({ test, shard }) => {
  const claim = async (models) => (await shard.turn([['claim', 0, `E|${models}`, '']], FRAME)).replies[0].split('\n')[0];

  test('is for engines that name it, and for no others', async () => {
    assert.match((await shard.turn([add('chat/a')], FRAME)).replies[0], /^ok\n1\n/);
    for (const models of ['*', 'a', 'chat', 'a,embeddings/a', 'chat/ab']) assert.equal(await claim(models), 'empty', models);
    assert.equal(await claim('a,chat/a'), 'claim');
  });

  test('is not handed to one that is parked and takes any', async () => {
    await shard.turn([['claim', 0, 'E|*', '1'], ['claim', 0, 'E|a', '1']], FRAME);
    assert.deepEqual((await shard.turn([add('chat/a')], FRAME)).events, []);
    assert.equal(await claim('a,chat/a'), 'claim');
  });

  test('never falls back, nor does a sync make it', async () => {
    await shard.turn([add('chat/a')], FRAME);
    for (let i = 0; i < 2; i++) {
      await shard.turn([sync('E|*'), ['reap']], FRAME);
      assert.equal(await shard.cmd('EXISTS', `${PREFIX}falls`), 0);
      assert.equal(await claim('*'), 'empty');
    }
  });

  test('is counted as of that model', async () => {
    await shard.turn([add('chat/a')], FRAME);
    assert.equal(await shard.cmd('HGET', `${PREFIX}depths`, 'chat/a'), '1');
    assert.match(await shard.call('depth', 0), /chat\/a/);
  });
});
