// SPDX-License-Identifier: MIT
//
// room_create, room_list, message_add, message_list, name_claim, names_find: rooms, what people say in them, and whose
// names are whose.
import assert from 'node:assert/strict';
import { whenDue } from '../../support/due.mjs';
import { ago, lines, PREFIX, scripts, set, soon, stream, ttl, zset } from '../../support/lua.mjs';
import { create, list, lookOf, messagesOf, namesOf, OTHER, post, postedOf, remove, ROOM, roomKeys } from '../../support/lua_rooms.mjs';

const BYTES_MAX = 64 << 20, MESSAGES_MAX = 100_000, BLOCK = 4096;
const say = async (shard, options) => postedOf(await shard.call(...post(options)));
const room = (shard) => shard.get(`room:${ROOM}`);

scripts('room_create and room_list', ({ cases, test, shard }) => {
  cases([
    { name: 'a room is stored, and listed in its namespace', call: create(), reply: 'ok', after: () => ({ [`room:${ROOM}`]: { namespace: '%', name: '"Lobby"', account: 'F', user: 'alice', created: ago(), n: 0, last: '', bytes: 0 }, 'rooms:%': zset({ [ROOM]: ago() }), 'rooms_of:alice': zset({ [ROOM]: ago() }), [`room_members:${ROOM}`]: set('u.alice'), rooms_n: { F: 1 }, rooms_empty: zset({ [ROOM]: ago() }) }) },
    { name: 'the same again changes nothing', before: () => roomKeys(), call: create({ name: 'Other' }), reply: 'ok' },
    { name: 'a namespace that is full refuses it', before: () => roomKeys(), call: create({ room: OTHER, account: 'G', most: 1 }), reply: lines('full', 'namespace') },
    { name: 'an account that has half of them, too', before: () => roomKeys(), call: create({ room: OTHER, most: 2 }), reply: lines('full', 'account') },
    { name: 'and another account has the other half', before: () => roomKeys(), call: create({ room: OTHER, account: 'G', user: 'bob', most: 2 }), reply: 'ok', after: () => ({ [`room:${OTHER}`]: { ...roomKeys({ room: OTHER, user: 'bob' })[`room:${OTHER}`], account: 'G', created: ago() }, 'rooms:%': zset({ [ROOM]: 1000, [OTHER]: ago() }), 'rooms_of:bob': zset({ [OTHER]: ago() }), [`room_members:${OTHER}`]: set('u.bob'), rooms_n: { F: 1, G: 1 }, rooms_empty: zset({ [ROOM]: 1000, [OTHER]: ago() }) }) },
  ]);

  test('a list has the rooms of one namespace, newest first, in pages', async () => {
    await shard.turn(Array.from({ length: 25 }, (_, i) => create({ room: String(i).padStart(24, '0'), name: `Room ${i}` })));
    await shard.call(...create({ room: OTHER, namespace: 'acme' }));
    const found = [];
    for (let after = ''; ; ) {
      const [word, next, ...rest] = (await shard.call('room_list', 0, '%', 10, after)).split('\n');
      assert.equal(word, 'ok');
      for (let i = 0; i < rest.length; i += 4) found.push(rest[i + 1]);
      if (next === '') break;
      after = next;
    }
    assert.deepEqual(found, Array.from({ length: 25 }, (_, i) => String(24 - i).padStart(24, '0')));
    assert.equal((await shard.call('room_list', 0, 'acme', 10, '')).split('\n').length, 6);
  });
});

scripts('names_find and name_claim', ({ cases, test, shard }) => {
  const names = namesOf({ alice: 'u', bot: 'b', puller: 'p' });
  const claim = (name, { namespace = '%', account = 'F' } = {}) => ['name_claim', name, lookOf(name), namespace, account];
  cases([
    { name: 'whose names are', before: names, call: ['names_find', ...['puller', 'alice', 'nobody', 'bot'].flatMap((one) => [one, lookOf(one)])], reply: lines('ok', 'p', 'u', 'n', 'b') },
    { name: 'a bot is found by what looks like its name, a user is not', before: names, call: ['names_find', ...['Bot', 'Alice', 'BOT'].flatMap((one) => [one, lookOf(one)])], reply: lines('ok', 'b bot', 'n', 'b bot') },
    { name: 'without a look by its own name alone', before: names, call: ['names_find', 'bot', '', 'Bot', ''], reply: lines('ok', 'b', 'n') },
    { name: 'a free name becomes a user\'s', before: names, call: claim('bob'), reply: 'ok', after: namesOf({ alice: 'u', bob: 'u', bot: 'b', puller: 'p' }) },
    { name: 'again: nothing changes', before: names, call: claim('alice'), reply: 'ok' },
    { name: 'of users several may look alike', before: names, call: claim('ALICE', { account: 'G' }), reply: 'ok', after: { room_names: { ...names.room_names, ALICE: `u G ${lookOf('alice')}` }, room_looks: { ...names.room_looks, [lookOf('alice')]: 2 }, names_n: { '%': 2, '% F': 1, '% G': 1 } } },
    { name: 'a bot\'s name is taken', before: names, call: claim('bot'), reply: 'taken' },
    { name: 'and one that looks like it', before: names, call: claim('Bot'), reply: 'taken' },
    { name: 'a namespace of 100,000 names is full', before: { names_n: { acme: 100_000 } }, call: claim('acme~x', { namespace: 'acme' }), reply: lines('full', 'namespace') },
    { name: 'and an account has half of them', before: { names_n: { acme: 50_000, 'acme F': 50_000 } }, call: claim('acme~x', { namespace: 'acme' }), reply: lines('full', 'account') },
  ]);

  test('a user and a bot want one name: the first has it', async () => {
    assert.deepEqual((await shard.turn([claim('x'), claim('x')])).replies, ['ok', 'ok']);
    assert.deepEqual(await shard.get('names_n'), { '%': '1', '% F': '1' });
  });
});

scripts('message_add', ({ cases, test, shard }) => {
  const bots = namesOf({ alice: 'u', bob: 'u', bot: 'b', puller: 'p' });
  const start = () => ({ ...roomKeys(), ...bots });

  test('a message is stored, counted for its author, and sent to the nodes that watch', async () => {
    await shard.seed(start());
    await shard.call('room_watch', ROOM, '%', '');
    const { replies: [reply], events } = await shard.turn([post({ text: 'Hello "you"\n' })]);
    const { id, deliveries } = postedOf(reply);
    assert.deepEqual(deliveries, []);
    assert.equal(events.length, 1);
    assert.equal(events[0], lines('room', ROOM, '', id, 'u', '"alice"', JSON.stringify('Hello "you"\n'), '[]', '', 0));
    const bytes = JSON.stringify('Hello "you"\n').length + '"alice"'.length + 2 + 300;
    const { rooms_empty: _, ...others } = start(); // it is not empty any more
    await shard.assertKeys({
      ...others,
      [`room:${ROOM}`]: { ...others[`room:${ROOM}`], n: 1, last: id, bytes },
      [`room_messages:${ROOM}`]: stream([id, { kind: 'u', name: 'alice', from: '"alice"', text: JSON.stringify('Hello "you"\n'), tagged: '[]', tags: '', reply_to: '', root: id, hop: 0, account: 'F', whose: '', bytes }]),
      [`room_watch:${ROOM}`]: ttl(60, zset({ n1: soon(60_000) })),
      messages_of: { alice: 1 },
    });
  });

  cases([
    { name: 'no such room', before: bots, call: post(), reply: 'missing' },
    { name: 'a room of another namespace does not exist', before: start, call: post({ namespace: 'acme' }), reply: 'missing' },
    { name: 'no such message to reply to', before: start, call: post({ replyTo: '1-0' }), reply: 'reply' },
    { name: 'a bot has the author\'s name', before: start, call: post({ name: 'bot' }), reply: 'taken' },
    { name: 'a bot has one that looks like it', before: start, call: post({ name: 'Bot' }), reply: 'taken' },
    { name: 'a tag that must exist is nobody\'s', before: start, call: post({ mentions: [['bob'], ['nobody', 'x', true]] }), reply: lines('unknown', 2) },
    { name: 'on another shard the author\'s name is asked for', before: () => roomKeys(), call: post({ isHere: false }), frame: { shards: 2 }, events: ['open\n0'], reply: lines('resolve', 2, ''), after: { meta: { lease: 2, depth: 0, vt: '0.000000' } } },
    { name: 'and so are names that it mentions', before: () => roomKeys(), call: post({ isHere: false, claim: 1, mentions: [['bob', 'u'], ['bot'], ['x']] }), reply: lines('resolve', 0, 'bot', 'x') },
    { name: 'past the limit of the account nothing is stored', before: () => ({ ...start(), stored: { F: 131_072, 'F bob': 131_072 } }), call: post({ max: 131_072 }), reply: lines('stored', 131_072, 131_072, 'account') },
    { name: 'eleven bots are too many', before: () => ({ ...roomKeys(), ...bots }), call: post({ mentions: Array.from({ length: 11 }, (_, i) => [`b${i}`, 'b']) }), reply: 'calls' },
  ]);

  test('a mention tags those who exist, each bot gets a delivery, and nobody else does', async () => {
    await shard.seed(start());
    const one = await say(shard, { text: '@bob @bot @nobody @puller', mentions: [['bob'], ['bot'], ['nobody'], ['puller']] });
    assert.deepEqual(one.tagged, ['bob', 'bot', 'puller']);
    assert.deepEqual(one.deliveries.map(({ bot }) => bot), ['bot'], 'a bot that pulls takes its own');
    assert.equal(one.deliveries[0].id, `dlv_${ROOM}_${one.id}_1`);
    assert.deepEqual(await shard.cmd('ZRANGE', shard.key('dlv_pull:puller'), 0, -1), [`dlv_${ROOM}_${one.id}_2`]);
    assert.deepEqual(await shard.cmd('LRANGE', shard.key(`room_talk:${ROOM}:bot`), 0, -1), [`${one.id} ${one.id}`]);
    assert.ok((await shard.cmd('TTL', shard.key(`room_talk:${ROOM}:bot`))) > 89 * 86_400, 'a conversation that ends is kept for 90 days');
  });

  test('a message that is refused claims no name, and one that mentions its author does', async () => {
    await shard.seed(start());
    assert.equal(await shard.call(...post({ name: 'carl', mentions: [['nobody', 'x', true]] })), lines('unknown', 1));
    assert.match(await shard.call(...post({ name: 'carl', max: 1 })), /^stored/);
    await shard.assertKeys(start());
    assert.deepEqual((await say(shard, { name: 'carl', mentions: [['carl']] })).tagged, ['carl']);
    assert.equal((await shard.get('room_names')).carl, `u F ${lookOf('carl')}`);
    assert.equal((await shard.get('names_n'))['%'], '3');
  });

  test('a bot is called by what looks like its name, once, and is tagged by its own', async () => {
    await shard.seed(start());
    const one = await say(shard, { text: '@Bot @bot @Bob', mentions: [['Bot'], ['bot'], ['Bob']] });
    assert.deepEqual(one.tagged, ['bot']);
    assert.deepEqual(one.deliveries.map(({ bot }) => bot), ['bot']);
  });

  test('the same key stores a message once and calls its bots once; another request under it is refused', async () => {
    await shard.seed(start());
    const first = await say(shard, { key: 'ab F:k', mentions: [['bot']] });
    assert.equal(first.deliveries.length, 1);
    assert.equal(await shard.call(...post({ key: 'ab F:k', mentions: [['bot']] })), lines('again', first.id, '["bot"]', 0));
    assert.equal(await shard.call(...post({ key: 'cd F:k' })), 'reused');
    assert.notEqual((await say(shard, { key: 'ab G:k', account: 'G' })).id, first.id);
    assert.equal(messagesOf(await shard.call(...list())).length, 2);
    assert.ok((await shard.cmd('TTL', shard.key('idem:F:k'))) > 86_000);
  });

  test('a bot that is tagged twice, and replied to, is called once', async () => {
    await shard.seed(start());
    const { deliveries: [d], id } = await say(shard, { mentions: [['bot']] });
    const answered = (await shard.call('delivery_reply', ROOM, d.id, d.fence, 'bot', '"bot"', '"Yes"', '1', 0)).split('\n');
    assert.equal(answered[0], 'ok');
    const again = await say(shard, { replyTo: answered[1], mentions: [['bot']] });
    assert.deepEqual(again.deliveries.map(({ bot }) => bot), ['bot']);
    const replied = await say(shard, { replyTo: answered[1] });
    assert.deepEqual(replied.deliveries.map(({ bot }) => bot), ['bot'], 'a reply to a bot\'s message calls it');
    assert.deepEqual((await say(shard, { replyTo: id })).deliveries, [], 'a reply to a person calls nobody');
    const roots = (await shard.get(`room_messages:${ROOM}`)).value.map(([, m]) => m.root);
    assert.deepEqual(new Set(roots), new Set([id]), 'one chain of replies is one conversation');
  });

  test('a command and a notice call no bot', async () => {
    await shard.seed(start());
    assert.deepEqual((await say(shard, { calls: false, mentions: [['bot']] })).deliveries, []);
    assert.deepEqual((await say(shard, { kind: 'annex', name: 'annex', calls: false, mentions: [['bot']] })).deliveries, []);
    assert.equal(await shard.cmd('EXISTS', shard.key('dlv_due')), 0);
  });

  test('this node gets as many deliveries as it has room for; others are due at once', async () => {
    await shard.seed(start());
    const { deliveries, id } = await say(shard, { leases: 1, mentions: [['b1', 'b'], ['b2', 'b'], ['b3', 'b']] });
    assert.deepEqual(deliveries.map(({ bot }) => bot), ['b1']);
    for (const k of [2, 3]) assert.ok(ago()(await whenDue(shard, 'dlv_due', `dlv_${ROOM}_${id}_${k}`)), `${k}`);
  });

  test('an id is larger than the one before it, also when the clock was set back', async () => {
    await shard.seed({ ...bots, ...roomKeys({ last: '9999999999999-4', n: 3 }) });
    assert.equal((await say(shard)).id, '9999999999999-5');
    assert.equal((await say(shard)).id, '9999999999999-6');
  });

  test('on another shard a user is asked for once', async () => {
    await shard.seed(roomKeys());
    const frame = { shards: 2 };
    for (const claim of [2, '']) postedOf((await shard.turn([post({ isHere: false, claim })], frame)).replies[0]);
    assert.deepEqual(await shard.get('names_known'), set('alice'));
  });

  test('an account with a limit is charged for whole blocks, and gets them back when its messages make room', async () => {
    await shard.seed(start());
    const first = await say(shard, { max: 1e9, text: 'x'.repeat(5000) });
    assert.deepEqual(await shard.get('stored'), { F: '65536', 'F alice': String(2 * BLOCK) });
    await shard.cmd('HSET', shard.key(`room:${ROOM}`), 'bytes', BYTES_MAX);
    await say(shard, { name: 'bob' });
    assert.deepEqual(await shard.get('stored'), undefined);
    assert.deepEqual(messagesOf(await shard.call(...list())).map(({ id }) => id).includes(first.id), false);
    assert.deepEqual(await shard.get('messages_of'), { bob: '1' });
  });

  // The room's bytes are set, since 64 MiB of messages take long.
  const fill = async (n, options) => {
    for (let i = 0; i < n; i += 50) await shard.turn(Array.from({ length: 50 }, () => post(options)));
  };
  const count = () => shard.cmd('XLEN', shard.key(`room_messages:${ROOM}`));
  const isOver = () => shard.cmd('HSET', shard.key(`room:${ROOM}`), 'bytes', BYTES_MAX);

  test('a room that is full loses as many of its oldest messages as the new one needs, also of many short ones for a long one', async () => {
    await shard.seed(start());
    await fill(1400);
    const ids = (await shard.cmd('XRANGE', shard.key(`room_messages:${ROOM}`), '-', '+')).map(([id]) => id);
    await isOver();
    await say(shard);
    assert.equal(await count(), 1400, 'one for one');
    const { bytes } = (await shard.get(`room_messages:${ROOM}`)).value[0][1];
    await isOver();
    const long = 'x'.repeat(390_000);
    await say(shard, { text: long });
    const gone = Math.ceil((long.length + 2 + 7 + 2 + 300) / bytes);
    assert.equal(await count(), 1401 - gone);
    assert.ok(Number((await room(shard)).bytes) <= BYTES_MAX, 'the room is within its limit');
    assert.equal((await shard.cmd('XRANGE', shard.key(`room_messages:${ROOM}`), '-', '+', 'COUNT', 1))[0][0], ids[1 + gone], 'the oldest are gone');
    assert.deepEqual(await shard.get('messages_of'), { alice: String(1401 - gone) });
  });

  test('one message removes 1,500 at most, and never itself', async () => {
    await shard.seed(start());
    await fill(1550);
    await shard.cmd('HSET', shard.key(`room:${ROOM}`), 'bytes', BYTES_MAX * 2);
    await say(shard);
    assert.equal(await count(), 51);
    const { id } = await say(shard);
    assert.deepEqual((await shard.get(`room_messages:${ROOM}`)).value.map(([one]) => one), [id]);
  });

  test('a room of 100,000 messages loses one with each new one', async () => {
    await shard.seed(start());
    await shard.cmd('EVAL', "for i = 1, 100000 do redis.call('XADD', KEYS[1], i .. '-0', 'kind', 'b', 'name', 'bot', 'whose', '', 'bytes', 310) end", 1, shard.key(`room_messages:${ROOM}`));
    await shard.cmd('HSET', shard.key(`room:${ROOM}`), 'last', '100000-0', 'n', MESSAGES_MAX, 'bytes', 31_000_000);
    await say(shard);
    assert.equal(await count(), MESSAGES_MAX);
    assert.equal((await shard.cmd('XRANGE', shard.key(`room_messages:${ROOM}`), '-', '+', 'COUNT', 1))[0][0], '2-0');
  });
});

scripts('message_list', ({ cases, test, shard }) => {
  cases([
    { name: 'no such room', call: list(), reply: 'missing' },
    { name: 'of another namespace', before: () => roomKeys(), call: list({ namespace: 'acme' }), reply: 'missing' },
    { name: 'an empty room', before: () => roomKeys(), call: list(), reply: lines('ok', 0) },
  ]);

  test('pages have each message once, the oldest first, whatever their length', async () => {
    await shard.seed({ ...roomKeys(), ...namesOf({ alice: 'u' }) });
    const ids = [];
    for (let i = 0; i < 47; i++) ids.push((await say(shard, { text: `${i}` + 'x'.repeat(i % 10 === 0 ? 60_000 : 10) })).id);
    for (const limit of [1, 7, 10, 1000]) {
      const found = [];
      for (let after = '', isMore = '1'; isMore === '1'; after = found.at(-1)) {
        const reply = await shard.call(...list({ after, limit }));
        isMore = reply.split('\n')[1];
        const page = messagesOf(reply);
        assert.ok(page.length <= limit);
        found.push(...page.map(({ id }) => id));
      }
      assert.deepEqual(found, ids, `${limit} a page`);
    }
    assert.equal((await room(shard)).n, '47');
  });
});

scripts('names of several shards', ({ test, shard }) => {
  const frame = { shards: 2 };
  const other = () => shard.at(PREFIX.replace('0', '1'));
  const on = async (where, verb) => (await where.turn([verb], frame)).replies[0];
  const claim = (number) => on(shard, ['name_claim', 'alice', lookOf('alice'), '%', 'F', number]);
  const asked = async () => {
    const [word, number] = (await on(other(), post({ isHere: false }))).split('\n');
    assert.equal(word, 'resolve');
    return number;
  };
  const say = async (number) => postedOf(await on(other(), post({ isHere: false, claim: number })));
  const removeRoom = async () => assert.equal(await on(other(), remove()), 'done');
  const carry = async () => {
    const items = (await on(other(), ['outbox', '1'])).split('\n');
    assert.equal(await on(shard, ['release_names', ...items]), 'ok');
    return items;
  };
  const isTaken = async () => (await shard.cmd('HEXISTS', shard.key('room_names'), 'alice')) === 1;
  const start = async () => {
    await other().seed(roomKeys());
    const number = await asked();
    assert.equal(await claim(number), 'ok');
    await say(number);
    return number;
  };

  test('the last message takes the name with it', async () => {
    await start();
    await removeRoom();
    assert.ok(await isTaken(), 'until the shard of names hears of it');
    await carry();
    assert.deepEqual([await isTaken(), await shard.cmd('EXISTS', shard.key('name_uses:alice'))], [false, 0]);
  });

  test('race: it is claimed again before the shard of names hears that it had gone', async () => {
    await start();
    await removeRoom();
    await other().seed(roomKeys());
    const number = await asked();
    assert.equal(await claim(number), 'ok');
    const late = await carry();
    await say(number);
    assert.equal(await on(shard, ['release_names', ...late]), 'ok', 'and a second time');
    assert.ok(await isTaken());
  });

  test('race: it goes between the claim of a second message and that message, which claims it again', async () => {
    await other().seed(roomKeys());
    const [first, second] = [await asked(), await asked()];
    await claim(first);
    await say(first);
    await claim(second);
    await removeRoom();
    await other().seed(roomKeys());
    await carry();
    assert.equal(await isTaken(), false);
    const [word, third] = (await on(other(), post({ isHere: false, claim: second }))).split('\n');
    assert.equal(word, 'resolve');
    await claim(third);
    await say(third);
    assert.ok(await isTaken());
  });

  test('another shard has messages of the user: it stays', async () => {
    await shard.seed(roomKeys({ room: OTHER }));
    postedOf(await on(shard, post({ room: OTHER })));
    await start();
    await removeRoom();
    await carry();
    assert.ok(await isTaken());
    assert.equal(await on(shard, remove({ room: OTHER })), 'done');
    assert.equal(await on(shard, ['release_names', await on(shard, ['outbox', '1'])]), 'ok');
    assert.equal(await isTaken(), false);
  });

  test('which shards use a name that a restore brought is not known: it stays', async () => {
    await shard.seed(namesOf({ alice: 'u' }));
    await start();
    await removeRoom();
    await carry();
    assert.ok(await isTaken());
  });
});
