// SPDX-License-Identifier: MIT
//
// bots_due, delivery_take, _attempt, _renew, _read, _accept, _fail, _pull, _unpoll: a delivery has one node at a time,
// whichever dies, and one answer.
import assert from 'node:assert/strict';
import { expireDue, whenDue } from '../../support/due.mjs';
import { lines, scripts, soon } from '../../support/lua.mjs';
import { list, messagesOf, namesOf, post, postedOf, ROOM, roomKeys } from '../../support/lua_rooms.mjs';

const LEASE_MS = 15_000, OVERDUE_MS = 60_000, ANSWER_MS = 900_000, PULL_MS = 30_000, BUSY = 100; // lua/bots/deliveries.lua
const bots = namesOf({ alice: 'u', bob: 'u', bot: 'b', other: 'b', puller: 'p' });
const say = async (shard, options) => postedOf(await shard.call(...post(options)));
const takenOf = (reply) => {
  const found = [], rest = reply === '' ? [] : reply.split('\n');
  for (let i = 0; i < rest.length; i += 8) {
    assert.match(rest[i + 5], /^\d+$/, 'the age of the message');
    assert.match(rest.slice(i + 6, i + 8).join(' '), /^[FG] [0-9a-f]{16}$/, 'whose turn it takes');
    found.push(Object.fromEntries(['id', 'fence', 'bot', 'task', 'attempts'].map((name, k) => [name, rest[i + k]])));
  }
  return found;
};
const take = async (shard, node = 'n1', limit = 10) => takenOf((await shard.turn([['delivery_take', limit]], { node })).replies[0]);
const attempt = (d, n = 1) => ['delivery_attempt', ROOM, d.id, d.fence, n];
const reply = (d, fence = d.fence) => ['delivery_reply', ROOM, d.id, fence, d.bot, JSON.stringify(d.bot), '"Yes"', '1', 0];
const fail = (d) => ['delivery_fail', ROOM, d.id, d.fence, '"It did not."'];
const expire = (shard, ...ids) => expireDue(shard, 'dlv_due', ...ids);
const when = (shard, id) => whenDue(shard, 'dlv_due', id);
const texts = async (shard) => messagesOf(await shard.call(...list({ limit: 1000 }))).map(({ kind, text }) => [kind, text]);

scripts('deliveries to bots with an endpoint', ({ test, shard }) => {
  const begin = async (options) => {
    await shard.seed({ ...roomKeys(), ...bots });
    const { id, deliveries: [d] } = await say(shard, { mentions: [['bot']], ...options });
    return { message: id, ...d };
  };

  test('the node that stored the message has it for 15 s, then another one takes it under the next fence', async () => {
    const d = await begin();
    assert.equal(await shard.call('bots_due'), 'none');
    assert.deepEqual(await take(shard), []);
    await expire(shard, d.id);
    assert.equal(await shard.call('bots_due'), 'deliveries');
    const [one, two] = await Promise.all([take(shard, 'n2'), take(shard, 'n3')]);
    const [got] = [...one, ...two];
    assert.equal(one.length + two.length, 1, 'one of two nodes gets it');
    assert.deepEqual(got, { id: d.id, fence: String(Number(d.fence) + 1), bot: 'bot', task: 'call', attempts: '0' });
    const { replies } = await shard.turn([attempt(d), reply(d), fail(d), attempt(got)]);
    assert.deepEqual(replies.slice(0, 3), ['lost', 'lost', 'lost'], 'the former node has lost it');
    assert.match(replies[3], /^ok\n\d+$/);
  });

  test('an attempt is counted before it begins, and the sixth is refused', async () => {
    const d = await begin();
    for (let n = 1; n <= 5; n++) assert.match(await shard.call(...attempt(d, n)), /^ok\n/);
    assert.equal((await shard.get(`dlv:${d.id}`)).attempt, '5');
    assert.equal(await shard.call(...attempt(d, 6)), 'over');
  });

  test('an attempt more than 70 s after the message is refused', async () => {
    const d = await begin();
    await shard.cmd('HSET', shard.key(`dlv:${d.id}`), 'created', Date.now() - 71_000);
    assert.equal(await shard.call(...attempt(d)), 'over');
  });

  test('a sign of life keeps it, and says what is lost', async () => {
    const d = await begin();
    await expire(shard, d.id);
    assert.equal(await shard.call('delivery_renew', d.id, d.fence, `dlv_${ROOM}_1-0_1`, 1), `dlv_${ROOM}_1-0_1`);
    assert.ok(soon(LEASE_MS)(await when(shard, d.id)));
  });

  test('a bot that says 202 has 15 minutes, and its answer needs no fence', async () => {
    const d = await begin();
    assert.match(await shard.call('delivery_accept', ROOM, d.id, d.fence), /^ok/);
    assert.ok(soon(ANSWER_MS)(await when(shard, d.id)));
    assert.match(await shard.call(...reply(d, '')), /^ok\n/);
    assert.match(await shard.call(...reply(d, '')), /^answered\n/);
  });

  test('one that says 202 and never answers ends with a notice', async () => {
    const d = await begin();
    await shard.call('delivery_accept', ROOM, d.id, d.fence);
    await expire(shard, d.id);
    const [got] = await take(shard, 'n2');
    assert.equal(got.task, 'over');
    assert.match(await shard.call(...fail(got)), /^ok\n\d+-\d+$/);
    assert.deepEqual(await texts(shard), [['u', 'Hello'], ['a', 'It did not.']]);
    assert.equal(await shard.call(...reply(d, '')), 'lost', 'an answer after that is too late');
    assert.equal(await shard.cmd('EXISTS', shard.key('dlv_due')), 0);
  });

  test('a failure is a notice in the room, which replies to the message and calls nobody', async () => {
    const d = await begin();
    assert.match(await shard.call(...fail(d)), /^ok\n/);
    const [, notice] = messagesOf(await shard.call(...list()));
    assert.deepEqual([notice.kind, notice.from, notice.replyTo, notice.tagged], ['a', 'annex', d.message, []]);
    assert.equal(await shard.call(...fail(d)), 'lost', 'there is one notice');
    assert.deepEqual(await shard.get('dlv_n'), undefined);
  });

  test('past a hundred unfinished deliveries a bot is busy, and others are not', async () => {
    await begin();
    for (let i = 1; i < BUSY; i++) await say(shard, { account: i % 2 ? 'G' : 'F', leases: 0, mentions: [['bot']] });
    assert.deepEqual((await say(shard, { mentions: [['bot']] })).deliveries, [], 'nobody has to wait to learn that it is busy');
    const { deliveries: [other] } = await say(shard, { mentions: [['other']] });
    assert.match(await shard.call(...attempt(other)), /^ok/);
    const taken = await take(shard, 'n2', 1000);
    assert.equal(taken.length, 100);
    const [late] = taken.filter(({ task }) => task === 'busy');
    assert.equal(await shard.call(...attempt(late)), 'busy');
    assert.match(await shard.call(...fail(late)), /^ok\n/);
  });

  test('one account has half of a bot\'s unfinished deliveries at most, and what it has finished makes room', async () => {
    const d = await begin();
    for (let i = 1; i < BUSY / 2; i++) await say(shard, { leases: 0, mentions: [['bot']] });
    assert.deepEqual((await say(shard, { mentions: [['bot']] })).deliveries, [], 'it is busy for that account');
    const { deliveries: [other] } = await say(shard, { account: 'G', mentions: [['bot']] });
    assert.match(await shard.call(...attempt(other)), /^ok/);
    for (const busy of (await take(shard, 'n2', 1000)).filter(({ task }) => task === 'busy')) assert.match(await shard.call(...fail(busy)), /^ok/);
    assert.match(await shard.call(...reply(d)), /^ok/);
    assert.equal((await say(shard, { mentions: [['bot']] })).deliveries.length, 1);
    assert.deepEqual(await shard.get('dlv_of'), { 'bot F': String(BUSY / 2), 'bot G': '1' });
  });

  test('one whose nodes die before its first attempt is taken less and less often, and not for ever', async () => {
    const d = await begin();
    const waits = [];
    for (let i = 0; i < 7; i++) {
      await expire(shard, d.id);
      assert.equal((await take(shard, `n${i}`)).length, 1);
      waits.push(Math.round(((await when(shard, d.id)) - Date.now()) / LEASE_MS));
    }
    assert.deepEqual(waits, [1, 1, 1, 2, 4, 8, 16]);
    await expire(shard, d.id);
    const [got] = await take(shard);
    assert.ok(soon(4 * 120_000)(await when(shard, d.id)));
    await shard.cmd('HSET', shard.key(`dlv:${d.id}`), 'created', Date.now() - 1_801_000);
    await expire(shard, d.id);
    assert.deepEqual(await take(shard), []);
    assert.equal((await shard.get(`dlv:${d.id}`)).state, 'failed');
    assert.equal(await shard.call(...attempt(got)), 'lost');
    assert.equal(await shard.get('dlv_n'), undefined);
  });

  test('an attempt proves its node well: the next one that dies counts anew', async () => {
    const d = await begin();
    await expire(shard, d.id);
    const [got] = await take(shard, 'n2');
    assert.equal((await shard.get(`dlv:${d.id}`)).taken, '1');
    assert.match(await shard.call(...attempt(got)), /^ok/);
    assert.equal((await shard.get(`dlv:${d.id}`)).taken, undefined);
  });

  test('a bot that has nothing to say ends its delivery without a message, once', async () => {
    const d = await begin();
    const silent = (fence, bot = d.bot) => ['delivery_silent', ROOM, d.id, fence, bot];
    assert.equal(await shard.call(...silent(d.fence, 'other')), 'missing');
    assert.equal(await shard.call(...silent('999')), 'lost');
    assert.equal(await shard.call(...silent(d.fence)), 'ok');
    for (const again of [silent(d.fence), silent(''), reply(d, '')]) assert.equal(await shard.call(...again), 'answered\n');
    assert.deepEqual((await texts(shard)).length, 1);
    assert.deepEqual(await shard.get('dlv_n'), undefined);
    assert.deepEqual(await take(shard), []);
  });

  test('what is over is removed an hour later', async () => {
    const d = await begin();
    await shard.call(...reply(d));
    await take(shard);
    assert.equal(await shard.cmd('EXISTS', shard.key(`dlv:${d.id}`)), 1);
    await shard.cmd('ZADD', shard.key('dlv_done'), Date.now() - 3_601_000, d.id);
    assert.equal(await shard.call('bots_due'), 'deliveries');
    await take(shard);
    assert.equal(await shard.cmd('EXISTS', shard.key(`dlv:${d.id}`)), 0);
    assert.equal(await shard.cmd('EXISTS', shard.key('dlv_done')), 0);
  });
});

scripts('delivery_read', ({ test, shard }) => {
  const read = async (d) => {
    const [word, name, contextN, exchangesN, ...rest] = (await shard.call('delivery_read', ROOM, d.id)).split('\n');
    assert.equal(word, 'ok');
    const all = [];
    for (let i = 0; i < rest.length; i += 8) all.push({ text: JSON.parse(rest[i + 3]), root: rest[i + 7] });
    const n = Number(contextN);
    assert.equal(all.length, 1 + n + Number(exchangesN));
    return { name: JSON.parse(name), message: all[0], context: all.slice(1, 1 + n).map(({ text }) => text), exchanges: all.slice(1 + n) };
  };

  test('has the 50 messages before it and no later one, and the bot\'s own conversations by their roots', async () => {
    await shard.seed({ ...roomKeys(), ...bots });
    const first = await say(shard, { text: 'first', mentions: [['bot']] });
    const answered = postedOf(await shard.call(...reply(first.deliveries[0])));
    const other = await say(shard, { text: 'to other', mentions: [['other']] });
    await shard.call(...reply(other.deliveries[0]));
    for (let i = 0; i < 60; i++) await say(shard, { text: `chat ${i}` });
    const second = await say(shard, { text: 'second', replyTo: answered.id });
    await say(shard, { text: 'later', mentions: [['bot']] });
    const found = await read(second.deliveries[0]);
    assert.equal(found.name, 'Lobby');
    assert.deepEqual(found.message, { text: 'second', root: first.id });
    assert.deepEqual(found.context, Array.from({ length: 50 }, (_, i) => `chat ${i + 10}`));
    assert.deepEqual(found.exchanges, [{ text: 'first', root: first.id }, { text: 'Yes', root: first.id }]);
  });

  test('of long messages those that fit, the newest', async () => {
    await shard.seed({ ...roomKeys(), ...bots });
    for (let i = 0; i < 20; i++) await say(shard, { text: String(i).padEnd(60_000, '.') });
    const { deliveries: [d] } = await say(shard, { mentions: [['bot']] });
    const { context } = await read(d);
    assert.equal(context.length, 8);
    assert.ok(context.at(-1).startsWith('19.'));
  });

  test('is missing when its message is gone, and of another room', async () => {
    await shard.seed({ ...roomKeys(), ...bots });
    const { deliveries: [d], id } = await say(shard, { mentions: [['bot']] });
    assert.equal(await shard.call('delivery_read', 'b'.repeat(24), d.id), 'missing');
    await shard.cmd('XDEL', shard.key(`room_messages:${ROOM}`), id);
    assert.equal(await shard.call('delivery_read', ROOM, d.id), 'missing');
    assert.match(await shard.call(...fail(d)), /^ok\n$/);
    assert.equal(await shard.cmd('EXISTS', shard.key('dlv_due')), 0);
  });
});

scripts('deliveries to bots that pull', ({ test, shard }) => {
  const pull = async (node = 'n1', isWaiting = '1') => (await shard.turn([['delivery_pull', 'puller', isWaiting]], { node })).replies[0].split('\n');
  const begin = async () => {
    await shard.seed({ ...roomKeys(), ...bots });
    const { id } = await say(shard, { mentions: [['puller']] });
    return { id: `dlv_${ROOM}_${id}_1`, bot: 'puller', fence: '' };
  };

  test('are given once, and again when the 30 s of the one who took it are over', async () => {
    const d = await begin();
    assert.deepEqual(await pull(), ['ok', d.id, ROOM]);
    const [word, ms] = await pull('n2');
    assert.equal(word, 'none');
    assert.ok(Number(ms) > 1000 && Number(ms) <= PULL_MS);
    await shard.cmd('ZADD', shard.key('dlv_pull:puller'), 1, d.id);
    assert.deepEqual(await pull('n2'), ['ok', d.id, ROOM]);
  });

  test('five times at most', async () => {
    const d = await begin();
    for (let i = 0; i < 5; i++) {
      assert.equal((await pull())[0], 'ok');
      await shard.cmd('ZADD', shard.key('dlv_pull:puller'), 1, d.id);
    }
    assert.deepEqual(await pull(), ['none', '']);
  });

  test('wake the nodes that hold a poll of that bot', async () => {
    await shard.seed({ ...roomKeys(), ...bots });
    assert.deepEqual(await pull('n2'), ['none', '']);
    await pull('n3');
    await shard.turn([['delivery_unpoll', 'puller']], { node: 'n3' });
    assert.deepEqual(await shard.cmd('ZRANGE', shard.key('dlv_polls:puller'), 0, -1), ['n2']);
    await shard.ears.add('n2');
    await shard.ears.add('n3');
    try {
      await say(shard, { mentions: [['puller']] });
      assert.deepEqual((await shard.ears.take()).map(([channel, event]) => [channel.split(':').at(-1), event]), [['n2', lines('delivery', 'puller')]]);
    } finally {
      await shard.ears.remove('n2');
      await shard.ears.remove('n3');
    }
  });

  test('a late one gets one notice and can still be taken and answered; then it is over', async () => {
    const d = await begin();
    assert.ok(soon(OVERDUE_MS)(await when(shard, d.id)));
    await expire(shard, d.id);
    const [got] = await take(shard);
    assert.equal(got.task, 'late');
    assert.match(await shard.call(...fail(got)), /^ok\n/);
    assert.equal((await pull())[0], 'ok');
    assert.match(await shard.call(...reply(d)), /^ok\n/);
    assert.deepEqual(await texts(shard), [['u', 'Hello'], ['a', 'It did not.'], ['b', 'Yes']]);
    assert.deepEqual(await pull(), ['none', '']);
  });

  test('one that is never taken is over after 15 minutes', async () => {
    const d = await begin();
    await expire(shard, d.id);
    await shard.call(...fail((await take(shard))[0]));
    assert.ok(soon(ANSWER_MS)(await when(shard, d.id)));
    await expire(shard, d.id);
    const [over] = await take(shard);
    assert.equal(over.task, 'over');
    assert.match(await shard.call(...fail(over)), /^ok\n/);
    assert.deepEqual(await pull(), ['none', '']);
    assert.equal(await shard.call(...reply(d)), 'lost');
  });
});
