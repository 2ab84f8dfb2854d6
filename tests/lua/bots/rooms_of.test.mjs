// SPDX-License-Identifier: MIT
//
// room_watch, room_watch_again, room_unwatch: nodes whose clients follow a room. room_forget_user,
// rooms_of_user: what a user has in rooms.
import assert from 'node:assert/strict';
import { lines, scripts, soon, ttl, zset } from '../../support/lua.mjs';
import { create, list, lookOf, messagesOf, namesOf, OTHER, post, postedOf, ROOM, roomKeys } from '../../support/lua_rooms.mjs';

const names = namesOf({ alice: 'u', bob: 'u', bot: 'b' });
const say = async (shard, options) => postedOf(await shard.call(...post(options)));
const watchers = (...nodes) => ttl(60, zset(Object.fromEntries(nodes.map((node) => [node, soon(60_000)]))));
const watch = (after = '', namespace = '%') => ['room_watch', ROOM, namespace, after];

scripts('room_watch', ({ cases, test, shard }) => {
  cases([
    { name: 'no such room', call: watch(), reply: 'missing' },
    { name: 'a room of another namespace', before: () => roomKeys(), call: watch('', 'acme'), reply: 'missing' },
    { name: 'the node becomes a watcher', before: () => roomKeys(), call: watch(), reply: lines('ok', '', 0), after: () => ({ [`room_watch:${ROOM}`]: watchers('n1') }) },
    { name: 'again, for another minute', before: () => ({ ...roomKeys({ last: '5-0' }), [`room_watch:${ROOM}`]: ttl(60, zset({ n1: Date.now() + 1000, gone: 5 })) }), call: ['room_watch_again', ROOM], reply: lines('ok', '5-0'), after: () => ({ [`room_watch:${ROOM}`]: watchers('n1') }) },
    { name: 'again, of a room that is gone', call: ['room_watch_again', ROOM], reply: 'missing' },
    { name: 'no more', before: () => ({ ...roomKeys(), [`room_watch:${ROOM}`]: ttl(60, zset({ n1: Date.now() + 1000 })) }), call: ['room_unwatch', ROOM], reply: 'ok', after: { [`room_watch:${ROOM}`]: null } },
  ]);

  test('every node that watches gets each message, with the id of the one before it', async () => {
    await shard.seed({ ...roomKeys(), ...names });
    await shard.ears.add('n2');
    try {
      await shard.call(...watch());
      await shard.turn([watch()], { node: 'n2' });
      const first = await shard.turn([post()]), second = await shard.turn([post({ text: 'Again' })]);
      const [a, b] = [first, second].map(({ replies }) => postedOf(replies[0]).id);
      assert.deepEqual([...first.events, ...second.events].map((event) => event.split('\n').slice(0, 4)), [['room', ROOM, '', a], ['room', ROOM, a, b]]);
      assert.deepEqual((await shard.ears.take()).map(([, event]) => event), [...first.events, ...second.events]);
    } finally {
      await shard.ears.remove('n2');
    }
  });

  test('what a client missed is returned in pages, after the last one that it has', async () => {
    await shard.seed({ ...roomKeys(), ...names });
    const ids = [];
    for (let i = 0; i < 300; i += 50) ids.push(...(await shard.turn(Array.from({ length: 50 }, () => post()))).replies.map((reply) => postedOf(reply).id));
    const found = [];
    for (let isMore = '1', after = ids[9]; isMore === '1'; after = found.at(-1)) {
      const reply = await shard.call(...watch(after));
      const [, last, more] = reply.split('\n');
      assert.equal(last, ids.at(-1));
      isMore = more;
      found.push(...messagesOf(reply, 3).map(({ id }) => id));
    }
    assert.deepEqual(found, ids.slice(10));
  });
});

scripts('what a user has in rooms', ({ test, shard }) => {
  const forgotten = async (user = 'alice') => {
    let gone = 0;
    for (let after = ''; ; ) {
      const [word, n, next] = (await shard.call('room_forget_user', 0, user, after)).split('\n');
      gone += Number(n);
      if (word === 'done') return gone;
      after = next;
    }
  };
  const exported = async (user) => {
    const found = [];
    for (let from = 0, after = ''; ; ) {
      const [, next, nextAfter, ...rest] = (await shard.call('rooms_of_user', user, from, after)).split('\n');
      for (let i = 0; i < rest.length; i += 9) found.push([rest[i], JSON.parse(rest[i + 1]), rest[i + 2], JSON.parse(rest[i + 5])]);
      if (next === '') return found;
      [from, after] = [next, nextAfter];
    }
  };

  test('is counted, returned with the names of its rooms, and deleted; others\' messages stay', async () => {
    await shard.seed({ ...names });
    await shard.call(...create());
    await shard.call(...create({ room: OTHER, name: 'Other', user: 'bob' }));
    const mine = [], others = [];
    for (let i = 0; i < 30; i++) {
      const room = i % 3 ? ROOM : OTHER;
      mine.push([room, room === ROOM ? 'Lobby' : 'Other', (await say(shard, { room, text: `mine ${i}`, max: 1e9 })).id, `mine ${i}`]);
      others.push((await say(shard, { room: ROOM, name: 'bob', text: `bob's ${i}` })).id);
    }
    assert.deepEqual(await exported('alice'), [...mine.filter(([room]) => room === ROOM), ...mine.filter(([room]) => room === OTHER)]);
    assert.equal(await forgotten(), 30);
    assert.deepEqual(await exported('alice'), []);
    assert.deepEqual(messagesOf(await shard.call(...list())).map(({ id }) => id), others);
    assert.deepEqual(messagesOf(await shard.call(...list({ room: OTHER }))), []);
    assert.equal(await shard.get('stored'), undefined);
    const left = namesOf({ bob: 'u', bot: 'b' });
    assert.deepEqual(await shard.get('room_names'), left.room_names);
    assert.deepEqual(await shard.get('room_looks'), Object.fromEntries(Object.entries(left.room_looks).map(([look, value]) => [look, `${value}`])));
    assert.deepEqual(await shard.get('names_n'), { '%': '1', '% F': '1' });
    const bytes = (await shard.get(`room_messages:${ROOM}`)).value.reduce((sum, [, m]) => sum + Number(m.bytes), 0);
    assert.equal((await shard.get(`room:${ROOM}`)).bytes, String(bytes));
  });

  test('is deleted in parts, which continue where the last one ended', async () => {
    await shard.seed({ ...roomKeys(), ...names });
    for (let i = 0; i < 1500; i += 50) await shard.turn(Array.from({ length: 50 }, (_, k) => post({ name: k % 2 ? 'alice' : 'bob' })));
    const first = (await shard.call('room_forget_user', 0, 'alice', '')).split('\n');
    assert.deepEqual([first[0], first[1]], ['more', '250']);
    assert.equal(await forgotten(), 500);
    assert.equal(messagesOf(await shard.call(...list({ limit: 1000 }))).length, 750);
  });

  test('a page that is full at the end of a room continues with the first message of the next one', async () => {
    await shard.call(...create());
    await shard.call(...create({ room: OTHER }));
    const long = 'x'.repeat(380_000);
    for (const room of [ROOM, ROOM, OTHER, OTHER]) await say(shard, { room, text: long });
    assert.deepEqual((await exported('alice')).map(([room]) => room).sort(), [ROOM, ROOM, OTHER, OTHER]);
  });

  test('of long messages fewer are looked at in one call', async () => {
    await shard.call(...create());
    for (let i = 0; i < 40; i++) await say(shard, { name: i % 2 ? 'alice' : 'bob', text: 'x'.repeat(380_000) });
    const [word, n] = (await shard.call('room_forget_user', 0, 'alice', '')).split('\n');
    assert.equal(word, 'more');
    assert.ok(Number(n) > 5 && Number(n) < 15, n);
    assert.equal(await forgotten(), 20 - n);
  });

  test('nothing says any more who created a room in which others write; another one\'s creator stays', async () => {
    await shard.call(...create());
    const { id } = await say(shard, { name: 'bob' });
    await shard.call(...create({ room: OTHER, user: 'bob' }));
    await say(shard, { room: OTHER });
    assert.equal(await forgotten(), 1);
    assert.deepEqual([(await shard.get(`room:${ROOM}`)).user, (await shard.get(`room:${ROOM}`)).account, (await shard.get(`room:${OTHER}`)).user], ['%', '%', 'bob']);
    assert.deepEqual(messagesOf(await shard.call(...list())).map((message) => message.id), [id]);
    assert.deepEqual(await shard.get('rooms_n'), { F: '1' });
  });

  test('a room goes with its creator if nobody else has written there', async () => {
    await shard.call(...create());
    await shard.call(...create({ room: OTHER }));
    await say(shard);
    assert.equal(await forgotten(), 1);
    assert.deepEqual((await shard.names()).filter((name) => name !== 'meta'), []);
  });

  test('a user of the same name in another namespace keeps everything, and a bot keeps its name', async () => {
    await shard.seed({ ...names });
    await shard.call(...create());
    await shard.call(...create({ room: OTHER, namespace: 'acme', user: 'acme~alice' }));
    await say(shard);
    await say(shard, { room: OTHER, namespace: 'acme', name: 'acme~alice' });
    assert.equal(await forgotten('alice'), 1);
    assert.equal(await forgotten('bot'), 0);
    assert.equal((await shard.get('room_names')).bot, 'b');
  });

  test('a bot\'s reply stays when the one who asked is deleted, and a delivery of a deleted message ends', async () => {
    await shard.seed({ ...roomKeys(), ...names });
    const one = await say(shard, { mentions: [['bot']] }), two = await say(shard, { mentions: [['bot']] });
    const reply = (of) => shard.call('delivery_reply', ROOM, of.deliveries[0].id, of.deliveries[0].fence, 'bot', '"bot"', '"Yes"', '1', 0);
    assert.match(await reply(one), /^ok\n/);
    assert.equal(await forgotten(), 2);
    assert.equal(await reply(two), 'missing');
    assert.equal(await shard.cmd('EXISTS', shard.key('dlv_due')), 0);
    assert.deepEqual(messagesOf(await shard.call(...list())).map(({ from }) => from), ['bot']);
  });
});

scripts('delivery_reply', ({ test, shard }) => {
  const bots = namesOf({ alice: 'u', bob: 'u', carl: 'u', bot: 'b', other: 'b' });
  const reply = (d, { fence = d.fence, bot = d.bot, isHere = true, leases = 5, mentions = [] } = {}) =>
    ['delivery_reply', ROOM, d.id, fence, bot, JSON.stringify(bot), '"Yes"', isHere ? '1' : '', leases, ...mentions.flatMap(([one, kind = 'x']) => [one, lookOf(one), JSON.stringify(one), kind])];
  const begin = async (options) => {
    await shard.seed({ ...roomKeys(), ...bots });
    return say(shard, { mentions: [['bot']], ...options });
  };

  test('is a message of the bot that replies to the delivered one, and ends the delivery', async () => {
    const { id, deliveries: [d] } = await begin();
    const answered = postedOf(await shard.call(...reply(d)));
    const [, message] = messagesOf(await shard.call(...list()));
    assert.deepEqual(message, { id: answered.id, kind: 'b', from: 'bot', text: 'Yes', tagged: [], replyTo: id, hop: 1 });
    assert.equal((await shard.get(`dlv:${d.id}`)).state, 'done');
    assert.equal(await shard.call(...reply(d)), lines('answered', answered.id), 'a second answer is refused');
    assert.equal(messagesOf(await shard.call(...list())).length, 2);
  });

  test('tags the people whom the original tagged, and no bots', async () => {
    const { deliveries: [d] } = await begin({ mentions: [['bob'], ['bot'], ['other'], ['carl']] });
    assert.deepEqual(postedOf(await shard.call(...reply(d))).tagged, ['bob', 'carl']);
  });

  test('tags nobody of an original that was a reply itself', async () => {
    const { id } = await begin({ mentions: [] });
    const { deliveries: [d] } = await say(shard, { replyTo: id, mentions: [['bob'], ['bot']] });
    assert.deepEqual(postedOf(await shard.call(...reply(d))).tagged, []);
  });

  test('tags whom its own text mentions besides, also bots, which are called', async () => {
    const { deliveries: [d] } = await begin({ mentions: [['bob'], ['bot']] });
    const answered = postedOf(await shard.call(...reply(d, { mentions: [['other'], ['carl'], ['bot'], ['bob'], ['nobody']] })));
    assert.deepEqual(answered.tagged, ['bob', 'other', 'carl']);
    assert.deepEqual(answered.deliveries.map(({ bot }) => bot), ['other'], 'a bot does not call itself');
  });

  test('calls three bots at most', async () => {
    const { deliveries: [d] } = await begin();
    const answered = postedOf(await shard.call(...reply(d, { mentions: Array.from({ length: 9 }, (_, i) => [`b${i}`, 'b']) })));
    assert.equal(answered.deliveries.length, 3);
  });

  test('two bots that mention each other end at hop 4', async () => {
    let { deliveries: [d] } = await begin();
    const hops = [];
    for (let i = 0; d && i < 10; i++) {
      const answered = postedOf(await shard.call(...reply(d, { mentions: [[d.bot === 'bot' ? 'other' : 'bot']] })));
      hops.push(i + 1);
      d = answered.deliveries[0];
    }
    assert.deepEqual(hops, [1, 2, 3, 4]);
    assert.equal(await shard.cmd('EXISTS', shard.key('dlv_due')), 0);
  });

  test('under a former fence is lost, without one is taken, and another bot\'s delivery does not exist', async () => {
    const { deliveries: [d] } = await begin();
    assert.equal(await shard.call(...reply(d, { fence: '999' })), 'lost');
    assert.equal(await shard.call(...reply(d, { bot: 'other' })), 'missing');
    assert.equal(await shard.call(...reply({ ...d, id: `dlv_${ROOM}_1-0_1` })), 'missing');
    postedOf(await shard.call(...reply(d, { fence: '' })));
  });

  test('on another shard names are asked for, and nothing is stored', async () => {
    const { deliveries: [d] } = await begin();
    assert.equal(await shard.call(...reply(d, { isHere: false, mentions: [['carl'], ['x', 'n']] })), lines('resolve', 0, 'carl'));
    assert.equal(messagesOf(await shard.call(...list())).length, 1);
    assert.deepEqual(postedOf(await shard.call(...reply(d, { isHere: false, mentions: [['carl', 'u'], ['x', 'n']] }))).tagged, ['carl']);
  });
});
