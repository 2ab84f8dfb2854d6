// SPDX-License-Identifier: MIT
//
// turn_rest: a call whose replies grow long returns before all its verbs have run (lua/turn/frame.lua), and the next call
// of the same verbs runs the others.
import assert from 'node:assert/strict';
import { scripts, set, tailOf, topicOf, zset } from '../support/lua.mjs';

const DAY = `nonces:${Math.floor(Date.now() / 86_400_000)}`;
const [NONCE, OTHER, THIRD, FOURTH] = [1, 2, 3, 4].map((i) => `nonce-000000000${i}`);
const look = ['check', 0, 'long', 1, '', 'brief'];
const LONG_N = 5; // so many of these replies are the first to reach 4 MiB
const longs = (n) => Array.from({ length: n }, () => look);
const add = (topic, nonce = 0) => ['add', nonce, topic, 'alice', 'Frontend_1', 'default', 1, 100, tailOf(), '', '', ''];

scripts('a turn in several calls', ({ test }) => {
  const seed = (shard) => shard.seed({ 't:long': topicOf(['F too long'], { query: () => 'q'.repeat(1_000_000) }) });
  // Calls until nothing is left. What each returned.
  const inCalls = async (shard, verbs, options) => {
    const turns = [await shard.turn(verbs, options)];
    while (turns.at(-1).rest) turns.push(await shard.turn(verbs, { ...options, rest: turns.at(-1).rest }));
    return turns;
  };
  const sizes = (turns) => turns.map(({ replies }) => replies.length);

  test('after 4 MiB of replies no further verb runs, and each runs once', async (shard) => {
    await seed(shard);
    const verbs = [add('first'), ...longs(LONG_N), add('second'), ...longs(2), add('third')];
    const turns = await inCalls(shard, verbs);
    assert.deepEqual(sizes(turns), [1 + LONG_N, 4]);
    assert.match(turns[0].rest, /^rest \d+ 0$/);
    const replies = turns.flatMap((turn) => turn.replies);
    verbs.forEach(([name], i) => assert.match(replies[i], name === 'add' ? /^ok\n1\n/ : /^Failed\n/, `${i}`));
    for (const topic of ['first', 'second', 'third']) assert.equal((await shard.get(`t:${topic}`)).seq, '1');
  });

  // A page of 600 topics reads 1.8 MiB, as a command counts a kilobyte, and returns 20 KB.
  test('what verbs read and do not return ends a call, too', async (shard) => {
    const names = Array.from({ length: 600 }, (_, i) => `t${i}`);
    const keys = Object.fromEntries(names.map((name) => [`t:${name}`, topicOf(['C "no"'])]));
    await shard.seed({ ...keys, 'topics:alice': zset(Object.fromEntries(names.map((name, i) => [name, i + 1]))) });
    assert.deepEqual(sizes(await inCalls(shard, Array(7).fill(['user_topics', 0, 'alice', '', '', '']))), [3, 3, 1]);
  });

  test('answers whose questions are looked for by their text end a call after 4 MiB of questions', async (shard) => {
    await shard.seed({ 't:done': topicOf(Array(20).fill('D'), { query: () => 'q'.repeat(250_000) }) });
    const late = ['complete', 0, 'done', 1, '', 'E', '"x"', '["y"]\nnull\nnull', '1'];
    assert.deepEqual(sizes(await inCalls(shard, Array(3).fill(late))), [1, 1, 1]);
  });

  test('a turn that ends with the reply that reaches the bound has no rest', async (shard) => {
    await seed(shard);
    assert.deepEqual(sizes(await inCalls(shard, longs(LONG_N))), [LONG_N]);
    assert.deepEqual(sizes(await inCalls(shard, longs(2 * LONG_N + 1))), [LONG_N, LONG_N, 1]);
  });

  test('each call uses the nonces of the verbs that it runs', async (shard) => {
    await shard.seed({ [DAY]: set(NONCE) });
    await seed(shard);
    const nonce = (at) => ['nonce', at];
    const verbs = [...longs(LONG_N), nonce(1), nonce(2), add('fresh', 2), add('used', 1), ...longs(LONG_N), nonce(3), nonce(4), nonce(-1)];
    const turns = await inCalls(shard, verbs, { nonces: [NONCE, OTHER, THIRD, OTHER] });
    assert.deepEqual(sizes(turns), [LONG_N, 4 + LONG_N, 3]);
    const [one, two, fresh, used] = turns[1].replies;
    assert.deepEqual([one, two, fresh.split('\n')[0], used], ['replay', 'ok', 'ok', 'replay']);
    assert.deepEqual(turns[2].replies, ['ok', 'replay', 'ok'], 'the fourth is the second again');
    assert.deepEqual(await shard.get(DAY), set(NONCE, OTHER, THIRD));
    assert.equal((await shard.turn([nonce(1)], { nonces: [THIRD] })).replies[0], 'replay', 'for every later turn');
  });

  test('a verb that never ran, because nobody made the next call, has not used its nonce', async (shard) => {
    await shard.seed({ [DAY]: set(NONCE) });
    await seed(shard);
    const verbs = [['nonce', 2], ...longs(LONG_N), add('lost', 3), ['nonce', 1], ['nonce', -4]];
    const nonces = [NONCE, OTHER, THIRD, FOURTH];
    const { replies, rest } = await shard.turn(verbs, { nonces });
    assert.deepEqual([replies.length, replies[0], rest.split(' ').at(-1)], [1 + LONG_N, 'ok', '4']);
    assert.deepEqual(await shard.get(DAY), set(NONCE, OTHER, FOURTH), 'one that is only recorded stays recorded');
    const again = await shard.turn([add('lost', 1), ['nonce', 2]], { nonces: [THIRD, OTHER] });
    assert.match(again.replies[0], /^ok\n1\n/);
    assert.equal(again.replies[1], 'replay');
    const late = await shard.turn(verbs, { nonces, rest });
    assert.deepEqual(late.replies, ['replay', 'replay', 'ok'], 'of the two one wins');
    assert.equal((await shard.get('t:lost')).seq, '1');
  });

  test('nonces without a verb are answered by the first call alone', async (shard) => {
    await shard.seed({ [DAY]: set(OTHER) });
    await seed(shard);
    const frame = { nonces: [NONCE], alone: [OTHER], marked: [[THIRD, `${THIRD} ab`], [FOURTH, `${FOURTH} cd`]] };
    const turns = await inCalls(shard, [...longs(LONG_N), ['nonce', 1]], frame);
    assert.deepEqual(turns.map(({ used, replies }) => [used, replies.length]), [['1 replay', LONG_N], [undefined, 1]]);
    assert.equal(turns[1].replies[0], 'ok');
    const resent = { marked: [[THIRD, `${THIRD} ab`], [FOURTH, `${FOURTH} ab`]] };
    assert.equal((await shard.turn([], resent)).used, '1 again\n2 replay');
  });

  test('what the first verbs did is written by their own call: events and counters', async (shard) => {
    await seed(shard);
    const verbs = [['claim', 0, 'E|*', '1'], add('handed'), ...longs(LONG_N), ['claim', 0, 'E|*', '1'], add('later')];
    const [first, second] = await inCalls(shard, verbs);
    assert.match(first.events[0], /^claim\nE\|\*\nhanded\n1\n/);
    assert.match(second.events[0], /^claim\nE\|\*\nlater\n2\n/);
    assert.deepEqual([first.events.length, second.events.length], [1, 1]);
    assert.equal((await shard.get('meta')).lease, '2');
    assert.equal(await shard.cmd('ZCARD', shard.key('leases')), 2);
  });

  test('a verb that breaks is an error of its own, in whichever call it is', async (shard) => {
    await seed(shard);
    const turns = await inCalls(shard, [['no_such_verb', 1], ...longs(LONG_N), ['no_such_verb', 2, 3], look]);
    assert.deepEqual(sizes(turns), [1 + LONG_N, 2]);
    for (const { replies } of turns) assert.match(replies[0].message, /^ERR no_such_verb: /);
    assert.match(turns[1].replies[1], /^Failed\n/);
  });

  test('while Redis is full, too: refused verbs count nothing', async (shard) => {
    await seed(shard);
    const turns = await inCalls(shard, [add('a'), ...longs(LONG_N), add('b'), look], { isFull: true });
    assert.deepEqual(sizes(turns), [1 + LONG_N, 2]);
    for (const { replies } of turns) assert.match(replies[0].message, /^STOREFULL add/);
    assert.match(turns[1].replies[1], /^Failed\n/);
    assert.equal(await shard.get('t:a'), undefined);
  });
});
