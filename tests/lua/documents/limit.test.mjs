// SPDX-License-Identifier: MIT
//
// admit and auth/limiter.lua: an exact sliding window, and all limits of a request or none.
import assert from 'node:assert/strict';
import { lines, scripts, zset } from '../../support/lua.mjs';

const usAgo = (seconds) => Math.round((Date.now() - seconds * 1000) * 1000);
const seen = (...secondsAgo) => zset(Object.fromEntries(secondsAgo.map((s, i) => [`r${i}`, usAgo(s)])));
const admit = (limits) => ['admit', 0, 'o:alice', limits];
// limited, with about so many seconds to wait
const limited = (seconds, n, window) => (found) => {
  const [word, ms, ...rest] = found.split('\n');
  return word === 'limited' && Math.abs(ms - seconds * 1000) < 10_000 && rest.join() === `${n},${window}`;
};
const n = (count) => (found) => Object.keys(found).length === count;

scripts('admit', ({ cases, test, shard }) => {
  const before = (keys) => () => Object.fromEntries(Object.entries(keys).map(([name, ages]) => [`limit:${name}`, seen(...ages)]));
  // What has an expiry is compared by its size: the times are the clock's.
  const size = async (name) => shard.cmd('ZCARD', shard.key(`limit:${name}`));
  cases([
    { name: 'no limits admit all', calls: Array(100).fill(admit('')), replies: Array(100).fill('ok\n') },
    { name: 'a limit of nothing admits nothing', call: admit('ask:alice:0:60'), reply: lines('limited', 60_000, 0, 60) },
    { name: 'the first that is too many waits for the first of the window', before: before({ 'ask:alice': [50, 40, 30] }), call: admit('ask:alice:3:60'), reply: limited(10, 3, 60) },
    { name: 'with more than there may be, it waits until enough have gone', before: before({ 'ask:alice': [50, 40, 30] }), call: admit('ask:alice:2:60'), reply: limited(20, 2, 60) },
    { name: 'of two windows the longer wait is returned', before: before({ 'up:alice': [3000, 50, 40] }), call: admit('up:alice:2:60,up:alice:3:3600'), reply: limited(600, 3, 3600) },
    { name: 'what one refuses uses up nothing of another', before: before({ 'ip:1.2.3.4': [5] }), call: admit('ask:alice:5:60,ip:1.2.3.4:1:60'), reply: limited(55, 1, 60) },
    { name: 'requests older than the longest window are dropped, also by a refused call', before: before({ 'ask:alice': [70, 65, 20] }), call: admit('ask:alice:1:60'), reply: limited(40, 1, 60), after: { 'limit:ask:alice': n(1) } },
  ]);

  test('what is left is of the limit with least left, until its oldest request leaves the window', async () => {
    await shard.seed({ 'limit:up:alice': seen(3000, 2000, 50) });
    assert.match(await shard.call(...admit('up:alice:9:60,up:alice:5:3600')), /^ok\n5 1 (600000|5[89]\d{4})$/);
    assert.match(await shard.call(...admit('up:alice:3:60,up:alice:50:3600')), /^ok\n3 0 (10000|\d{4})$/);
  });

  test('so many in one turn, and not one more', async () => {
    const { replies } = await shard.turn(Array(8).fill(admit('ask:alice:5:60')));
    assert.deepEqual(replies.slice(0, 5), [4, 3, 2, 1, 0].map((left) => `ok\n5 ${left} 60000`));
    for (const reply of replies.slice(5)) assert.match(reply, /^limited\n(60000|599\d\d)\n5\n60$/);
    assert.equal(await size('ask:alice'), 5);
  });

  test('two limits of one key count a request once, and the key expires with the longer', async () => {
    assert.equal(await shard.call(...admit('up:alice:5:60,up:alice:50:3600')), 'ok\n5 4 60000');
    assert.equal(await size('up:alice'), 1);
    assert.ok(Math.abs((await shard.cmd('TTL', shard.key('limit:up:alice'))) - 3600) <= 1);
  });

  test('what has left the shorter window counts in the longer one only', async () => {
    await shard.seed({ 'limit:up:alice': seen(3000, 70) });
    assert.equal(await shard.call(...admit('up:alice:1:60,up:alice:3:3600')), 'ok\n1 0 60000');
    assert.match(await shard.call(...admit('up:alice:2:60,up:alice:3:3600')), /^limited\n\d+\n3\n3600$/);
  });

  test('one that has just left the window makes room for one', async () => {
    await shard.seed({ 'limit:ask:alice': seen(60.001, 30) });
    assert.deepEqual((await shard.turn([admit('ask:alice:2:60'), admit('ask:alice:2:60')])).replies.map((reply) => reply.split('\n')[0]), ['ok', 'limited']);
  });

  test('a window is no fixed stretch of time: what was admitted late in one minute counts in the next', async () => {
    await shard.seed({ 'limit:ask:alice': seen(59, 58, 57, 2, 1) });
    assert.match(await shard.call(...admit('ask:alice:5:60')), /^limited\n/);
    assert.match(await shard.call(...admit('ask:alice:6:60')), /^ok\n6 0 (0|[1-9]\d\d?|1000)$/);
    assert.match(await shard.call(...admit('ask:alice:6:60')), /^limited\n/);
  });

  test('each owner has its own, and each thing that is limited', async () => {
    const limits = ['ask:alice', 'ask:bob', 'ask:ali', 'upload:alice'].map((who) => `${who}:1:60`);
    assert.deepEqual((await shard.turn(limits.map(admit))).replies, Array(4).fill('ok\n1 0 60000'));
    for (const one of limits) assert.match(await shard.call(...admit(one)), /^limited\n/);
  });

  test('limits that are no limits are an error', async () => {
    for (const limits of ['ask', 'ask:alice:5', 'ask:alice:-1:60', 'ask:al ice:1:60', 'ask:alice:1:60:7']) {
      assert.match(String(await shard.call(...admit(limits))), /limits: /);
    }
    await shard.assertKeys({});
  });

  test('a nonce that was used before counts nothing', async () => {
    const { replies } = await shard.turn([['admit', 1, 'o:alice', 'ask:alice:5:60'], ['admit', 2, 'o:alice', 'ask:alice:5:60']], { nonces: ['nonce-0000000001', 'nonce-0000000001'] });
    assert.deepEqual(replies, ['ok\n5 4 60000', 'replay']);
    assert.equal(await size('ask:alice'), 1);
  });
});
