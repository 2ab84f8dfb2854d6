// SPDX-License-Identifier: MIT
//
// Rooms, bots and evaluations while Redis is full: what has begun comes to its end, and nothing new begins.
import assert from 'node:assert/strict';
import { joined, scripts, VERBS, verbWord } from '../../support/lua.mjs';
import { begin, DIGITS, register, registryOf, turnOf } from '../../support/lua_bots.mjs';
import { create, namesOf, post, postedOf, ROOM, roomKeys } from '../../support/lua_rooms.mjs';

// The node sends a turn that Redis refused to the library's other function.
async function freeing(shard, verbs) {
  const words = verbs.flatMap(([name, ...args]) => [verbWord(name, args), ...args]);
  const all = joined((await shard.cmd('FCALL', 'turn_test_freeing', 1, shard.prefix, 'n1 150000 2000 3 100000 1 0', 0, ...words)).map((one) => (typeof one === 'string' ? one : `${one}`)));
  return all.slice(0, verbs.length).map((one) => one.split('\n')[0]);
}

scripts('rooms, bots and evaluations in a full Redis', ({ test, shard }) => {
  test('an answer and a notice are stored, a run continues and ends, and users go; nothing new begins', async () => {
    await shard.seed({ ...roomKeys(), ...registryOf({}), ...namesOf({ alice: 'u', echo: 'b' }) });
    const [one, two] = [postedOf(await shard.call(...post({ mentions: [['echo']] }))), postedOf(await shard.call(...post({ mentions: [['echo']] })))].map(({ deliveries: [d] }) => d);
    const [, , fence] = (await shard.call(...begin())).split('\n');
    await shard.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      const verbs = [
        ['delivery_attempt', ROOM, one.id, one.fence, 1], ['delivery_renew', one.id, one.fence], ['delivery_read', ROOM, one.id],
        ['delivery_reply', ROOM, one.id, one.fence, 'echo', '"echo"', '"Yes"', '1', 0], ['delivery_fail', ROOM, two.id, two.fence, '"It did not."'],
        ['bot_find', 'echo', '1'], ['bot_rotate', 0, 'echo', 'F', 'alice', ''], turnOf({ fence }), ['evaluation_cancel', 0, DIGITS, 1, 'F', 'alice'],
        ['evaluation_forget_user', 'alice'], ['bot_forget_user', 'alice'],
      ];
      const replies = await freeing(shard, verbs);
      assert.deepEqual(verbs.map(([name], i) => `${name} ${replies[i].slice(0, 4)}`), ['delivery_attempt ok', 'delivery_renew ', 'delivery_read ok', 'delivery_reply ok', 'delivery_fail ok', 'bot_find ok', 'bot_rotate ok', 'evaluation_turn ok', 'evaluation_cancel ok', 'evaluation_forget_user done', 'bot_forget_user done']);
      const refused = [post(), create({ room: 'c'.repeat(24) }), register(), begin()];
      assert.deepEqual((await freeing(shard, refused)).map((one) => one.replace(/^.*STOREFULL/, 'STOREFULL')), refused.map(([name]) => `STOREFULL ${name}`));
    } finally {
      await shard.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    assert.equal(await shard.cmd('XLEN', shard.key(`room_messages:${ROOM}`)), 4);
    assert.equal(await shard.cmd('EXISTS', shard.key('dlv_due')), 0);
  });

  test('what stores something new for a client is refused, all else runs', () => {
    const refused = Object.entries(VERBS).filter(([name, verb]) => /^(room|message|name|bot|delivery|evaluation)s?_/.test(name) && verb.full === 'refused').map(([name]) => name);
    assert.deepEqual(refused.sort(), ['bot_register', 'evaluation_begin', 'message_add', 'name_claim', 'room_create']);
  });
});
