// SPDX-License-Identifier: MIT
//
// What two processes do to one delivery at the same moment: calls of a node that cross its own, an answer that comes before
// its 202, two accounts and two bots that know each other's ids. Also what bounds delivery_read.
import assert from 'node:assert/strict';
import { expireDue, whenDue } from '../../support/due.mjs';
import { scripts, soon } from '../../support/lua.mjs';
import { namesOf, OTHER, post, postedOf, ROOM, roomKeys } from '../../support/lua_rooms.mjs';

const ANSWER_MS = 900_000; // lua/bots/deliveries.lua
const bots = namesOf({ alice: 'u', bot: 'b', other: 'b', puller: 'p' });
const reply = (d, { fence = '', bot = d.bot, room = ROOM, text = 'Yes' } = {}) => ['delivery_reply', room, d.id, fence, bot, JSON.stringify(bot), JSON.stringify(text), '1', 0];
const silent = (d, { fence = '', bot = d.bot } = {}) => ['delivery_silent', ROOM, d.id, fence, bot];
const accept = (d) => ['delivery_accept', ROOM, d.id, d.fence];
const renew = (d) => ['delivery_renew', d.id, d.fence];
const fail = (d) => ['delivery_fail', ROOM, d.id, d.fence, '"It did not."'];

scripts('deliveries that several want', ({ test, shard }) => {
  const begin = async (bot = 'bot') => {
    await shard.seed({ ...roomKeys(), ...bots });
    const { id, deliveries: [d] } = postedOf(await shard.call(...post({ mentions: [[bot]] })));
    return d ?? { id: `dlv_${ROOM}_${id}_1`, bot, fence: '' };
  };
  const due = (d) => whenDue(shard, 'dlv_due', d.id);
  const take = async (d, node = 'n2') => {
    await expireDue(shard, 'dlv_due', d.id);
    const [id, fence, bot, task] = (await shard.turn([['delivery_take', 1]], { node })).replies[0].split('\n');
    return { id, fence, bot, task };
  };
  const words = async (calls) => (await shard.turn(calls)).replies.map((one) => one.split('\n')[0]);

  test('a sign of life that comes after a 202 does not shorten its 15 minutes', async () => {
    const d = await begin();
    assert.deepEqual(await words([accept(d), renew(d)]), ['ok', d.id], 'the node has given it back');
    assert.ok(soon(ANSWER_MS)(await due(d)));
    assert.deepEqual(await words([accept(d)]), ['ok'], 'the same call again');
    assert.deepEqual(await words([fail(d), reply(d, { fence: d.fence })]), ['lost', 'lost'], 'the fence is worth nothing any more');
    assert.ok(soon(ANSWER_MS)(await due(d)));
  });

  test('a sign of life that comes after the notice of a late answer does not shorten its 15 minutes', async () => {
    const d = await begin('puller');
    const taken = await take(d);
    assert.equal(taken.task, 'late');
    assert.deepEqual(await words([fail(taken), renew(taken), fail(taken)]), ['ok', d.id, 'lost']);
    assert.ok(soon(ANSWER_MS)(await due(d)));
  });

  test('an answer that comes before its 202 counts, and the 202 is late', async () => {
    const d = await begin();
    assert.deepEqual(await words([reply(d), accept(d), renew(d), fail(d), reply(d)]), ['ok', 'lost', d.id, 'lost', 'answered']);
    assert.equal(await shard.cmd('XLEN', shard.key(`room_messages:${ROOM}`)), 2);
  });

  test('of two answers at once one is stored, whether the bot speaks or not', async () => {
    for (const [first, second] of [[reply, reply], [reply, silent], [silent, reply], [silent, silent]]) {
      await shard.cmd('FLUSHALL');
      const d = await begin('puller');
      const replies = await Promise.all([first, second].map(async (one, i) => (await shard.turn([one(d)], { node: `n${i}` })).replies[0].split('\n')[0]));
      assert.deepEqual(replies.sort(), ['answered', 'ok']);
      assert.ok((await shard.cmd('XLEN', shard.key(`room_messages:${ROOM}`))) <= 2);
      assert.equal(await shard.cmd('EXISTS', shard.key('dlv_n')), 0);
    }
  });

  test('a bot cannot answer, silence or read another one\'s delivery, nor one of another room', async () => {
    const d = await begin();
    await shard.seed(roomKeys({ room: OTHER, namespace: 'ns', user: 'ns~eve' }));
    assert.deepEqual(await words([reply(d, { bot: 'other' }), silent(d, { bot: 'other' }), reply(d, { room: OTHER }), ['delivery_read', OTHER, d.id]]), Array(4).fill('missing'));
    assert.deepEqual(await words([['delivery_pull', 'other', ''], ['delivery_pull', 'bot', '']]), ['none', 'none'], 'what a node calls is pulled by nobody');
    assert.deepEqual(await words([reply(d)]), ['ok']);
  });

  test('an id that nobody issued is missing, however it looks', async () => {
    const d = await begin();
    for (const id of ['', 'x', `dlv_${ROOM}`, `${d.id}0`, `dlv_${ROOM}_9-9_1`, '../meta', 'x'.repeat(512)]) {
      assert.deepEqual(await words([reply({ ...d, id }), ['delivery_read', ROOM, id], fail({ ...d, id }), accept({ ...d, id }), ['delivery_attempt', ROOM, id, 1, 1]]), ['missing', 'missing', 'lost', 'lost', 'lost'], id);
    }
  });

  test('a node that skips an attempt, or repeats an old one, is lost', async () => {
    const d = await begin();
    const attempt = (n) => ['delivery_attempt', ROOM, d.id, d.fence, n];
    assert.deepEqual(await words([attempt(2), attempt(1), attempt(1), attempt(2), attempt(1), attempt(0), attempt(4)]), ['lost', 'ok', 'ok', 'ok', 'lost', 'lost', 'lost']);
  });

  test('the longest messages: what a bot is given fits, and one more is read', async () => {
    const readsOf = async (text) => {
      await shard.cmd('FLUSHALL');
      await shard.seed({ ...roomKeys(), ...bots });
      for (let i = 0; i < 60; i++) await shard.call(...post({ text }));
      const { deliveries: [d] } = postedOf(await shard.call(...post({ text, mentions: [['bot']] })));
      await shard.cmd('CONFIG', 'RESETSTAT');
      const [word, , context] = (await shard.call('delivery_read', ROOM, d.id)).split('\n', 3);
      assert.equal(word, 'ok');
      return [Number(context), Number(/cmdstat_xrevrange:calls=(\d+)/.exec(await shard.cmd('INFO', 'commandstats'))[1])];
    };
    const [n, reads] = await readsOf('short');
    assert.ok(n === 50 && reads < 15, `${reads} reads`);
    assert.deepEqual(await readsOf('\u0001'.repeat(65_000)), [1, 2], 'six bytes each as JSON: one at a time');
  });
});
