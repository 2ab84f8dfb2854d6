// SPDX-License-Identifier: MIT
//
// The library's second function, at maxmemory: which verbs run, in their order and with their nonces, and
// that nothing is stored by the others.
import assert from 'node:assert/strict';
import { joined, PREFIX, scripts, tailOf, VERBS, verbWord } from '../support/lua.mjs';

const REFUSED = Object.keys(VERBS).filter((name) => VERBS[name].full === 'refused');

scripts('a full Redis', ({ test }) => {
  const freeing = async (shard, verbs, nonces = []) => {
    const words = ['n1 150000 2000 3 100 1 0', nonces.length, ...nonces];
    for (const [name, ...args] of verbs) words.push(verbWord(name, args), ...args);
    return joined(await shard.cmd('FCALL', 'turn_test_freeing', 1, PREFIX, ...words));
  };
  const add = (topic) => ['add', '0', topic, 'alice', 'Frontend_1', 'default', '1', '100', tailOf(), '', '', '0'];

  test('the ordinary function is refused whole, also for what only reads', async (shard) => {
    await shard.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      await assert.rejects(shard.turn([['user_topics', '0', 'alice']]), /^Error: OOM /);
    } finally {
      await shard.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  test('verbs that need room are refused one by one, the others run in between, each nonce is used up', async (shard) => {
    await shard.turn([add('a')]);
    const nonces = ['1', '2', '3'].map((digit) => digit.repeat(16));
    await shard.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      const verbs = [add('b'), ['cancel', '2', 'a', '1', '', '"no"'], add('c'), ['check', '3', 'a', '1', '', 'brief']];
      const replies = await freeing(shard, verbs, nonces);
      assert.match(String(replies[0]), /^Error: STOREFULL add/);
      assert.equal(replies[1], 'ok');
      assert.match(String(replies[2]), /^Error: STOREFULL add/);
      assert.match(replies[3], /^Cancelled\n/);
      const again = await freeing(shard, [['check', '1', 'a', '1', '', 'brief'], ['nonce', '2']], nonces.slice(0, 2));
      assert.deepEqual(again.slice(0, 2), ['replay', 'replay']);
      assert.equal(await shard.cmd('EXISTS', shard.key('t:b'), shard.key('t:c')), 0);
    } finally {
      await shard.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
  });

  test('an answer is stored, and its engine gets no other work', async (shard) => {
    await shard.turn([add('a'), add('b')]);
    const [, , topic, lease, , , seq] = (await shard.call('claim', 0, 'E|*', '')).split('\n');
    await shard.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      const answer = ['complete', '0', topic, seq, lease, 'E', JSON.stringify('Why?'), '["x"]\nnull\nnull', '', 'E|*', '1', '', '7', ''];
      const [reply] = await freeing(shard, [answer]);
      assert.match(reply, /^ok\n1\n\d+\n\d+\n\d+\nempty$/);
    } finally {
      await shard.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    assert.equal(await shard.cmd('EXISTS', shard.key('idle')), 0);
    assert.match(await shard.call('claim', 0, 'E|*', ''), /^claim\n/);
  });

  test('a claim is confirmed, and its lease gets its key', async (shard) => {
    await shard.turn([add('a')]);
    const [, , topic, lease] = (await shard.call('claim', 0, 'E|*', '')).split('\n');
    await shard.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      assert.deepEqual(await freeing(shard, [['delivered', `${lease} ${topic}`, `E ${topic} 1 n1 1`]]), ['ok']);
    } finally {
      await shard.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    assert.equal(await shard.cmd('GET', shard.key(`lease:${lease}`)), `E ${topic} 1 n1 1`);
    assert.ok((await shard.cmd('PTTL', shard.key(`lease:${lease}`))) > 100_000);
  });

  test('no verb that is listed as refused runs, whatever its arguments, and none that does not exist', async (shard) => {
    assert.ok(REFUSED.length > 10);
    for (const verb of [...REFUSED, 'no_such_verb']) {
      const [reply] = await freeing(shard, [[verb, '0', 'x', 'x', 'x', 'x', 'x', 'x']]);
      assert.match(String(reply), new RegExp(`^Error: STOREFULL ${verb}$`));
    }
    assert.deepEqual(await shard.names(), []);
  });
});
