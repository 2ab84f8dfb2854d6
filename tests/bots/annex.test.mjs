// SPDX-License-Identifier: MIT
//
// Commands to the main bot: what it does and says, and that keys are seen by nobody except the one who asked for them.
import assert from 'node:assert/strict';
import { ACCOUNTS, eventually, suite } from '../support/harness.mjs';
import { messages, newRoom, openRoom, say, sayRaw } from '../support/rooms.mjs';

const accounts = { ...ACCOUNTS, Acme_1: { secret: 'acme-user-secret', role: 'user', namespace: 'acme' } };
const KEY = /^pck_[A-Za-z0-9_.-]+$/;
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

// Everything in Redis, as text: values of all keys, in the form in which a backup would have them.
async function dumpOf(redis) {
  const parts = [];
  for (const key of await redis.cmd('KEYS', '*')) {
    const type = await redis.cmd('TYPE', key);
    const read = { string: ['GET', key], hash: ['HGETALL', key], list: ['LRANGE', key, 0, -1], set: ['SMEMBERS', key], zset: ['ZRANGE', key, 0, -1], stream: ['XRANGE', key, '-', '+'] }[type];
    parts.push(key, JSON.stringify(read ? await redis.cmd(...read) : ''));
  }
  return parts.join('\n');
}

suite('annex', { accounts, sweep: false }, ({ test, cluster }) => {
  let names = 0;
  const newName = () => `bot-${process.pid}-${++names}`;
  // Gives a command. Returns what only the sender sees, and what the room shows.
  const command = async (room, text, options) => {
    const message = await say(cluster, room, text, options);
    const answer = (await messages(cluster, room, { ...options, after: message.id })).find(({ reply_to }) => reply_to === message.id);
    assert.equal(answer.from, 'annex');
    assert.deepEqual(answer.tagged, []);
    assert.equal(message.private.text, answer.text);
    return { message, answer, ...message.private };
  };

  const bots = async () => (await command(await newRoom(cluster), '@annex /bots')).text.split('\n').slice(1).map((line) => line.split(' ')[0]);

  test('/help says what there is, as a reply in the room', async () => {
    const room = await newRoom(cluster);
    const { message, answer } = await command(room, '@annex /help');
    assert.deepEqual(message.tagged, ['annex']);
    assert.match(answer.text, /\/register @name URL/);
    assert.equal((await messages(cluster, room)).length, 2);
  });

  test('a command that is wrong is answered with how it is written', async () => {
    const room = await newRoom(cluster);
    const before = await bots();
    const wrong = ['/register', '/register @x', '/register x pull', '/register @x pull "A" zulip more', '/register @x pull "A', '/unregister', '/unregister x', '/unregister @x @y', '/rotate', '/register @ pull', `/unregister @${'x'.repeat(129)}`];
    for (const text of wrong) assert.match((await command(room, `@annex ${text}`)).text, /^Write/, text);
    for (const [text, usage] of [['/REGISTER @x pull', '/register @name URL'], ['/register, please', '/register @name URL'], ['/bots?', '/bots']]) assert.ok((await command(room, `@annex ${text}`)).text.startsWith(`Write: @annex ${usage}`), text);
    for (const text of ['/nothing', '/', '/helpme']) assert.match((await command(room, `@annex ${text}`)).text, /do not know/, text);
    assert.deepEqual(await bots(), before);
  });

  test('a message that tags it is always answered, by what it means where it has no command', async () => {
    const room = await newRoom(cluster);
    for (const text of ['@annex', '@annex hello', 'Who is @Annex?']) assert.match((await command(room, text)).text, /^Write a command after my name: @annex \/help/, text);
    for (const text of ['@annex help', '/help @annex', '@annex how does "help" work?']) assert.equal((await command(room, text)).text, 'Write: @annex /help', text);
    assert.match((await command(room, '@annex register @lee https://example.org/')).text, /^Write: @annex \/register/);
    assert.match((await command(room, 'hello', { tagged: ['annex'] })).text, /^Write a command/);
  });

  test('words may stand before a command', async () => {
    const room = await newRoom(cluster);
    const [one, other, third] = [newName(), newName(), newName()];
    assert.match((await command(room, `@annex please /register @${one} pull "Ada"`)).caller_key, KEY);
    assert.match((await command(room, `Dear @annex,\nplease /register @${other} https://bots.example.org/`)).caller_key, KEY);
    assert.match((await command(room, `/register @${third} pull`, { tagged: ['annex'] })).caller_key, KEY);
    assert.match((await command(room, `@annex I would not /unregister @${one} now`)).text, /^Write/, 'more words follow: not carried out');
    const known = await bots();
    for (const name of [one, other, third]) assert.ok(known.includes(name));
  });

  test('without a person a bot emulates nobody in particular', async () => {
    const room = await newRoom(cluster);
    const name = newName();
    assert.match((await command(room, `@annex /register @${name} https://bots.example.org/`)).caller_key, KEY);
    const { json } = await cluster.request('GET', '/api/bots', { as: 'User_1', query: { limit: 1000 } });
    assert.equal(json.bots.find(({ username }) => username === name).emulates, null);
  });

  test('texts that do not tag it are messages, and so is what is shown as code, quoted or hidden', async () => {
    const room = await newRoom(cluster);
    const texts = [
      'annex /help', 'mail x@annex /help', '@annexe /help', '`@annex /help`', '```\n@annex /help\n```', '~~~\n@annex /help', '    @annex /help', '> @annex /help',
      '- > @annex /help', 'I said <!-- @annex /help -->',
    ];
    for (const text of texts) {
      const message = await say(cluster, room, text);
      assert.deepEqual([message.private, message.tagged], [undefined, []], text);
    }
    assert.equal((await messages(cluster, room)).length, texts.length);
  });

  test('/register hands the keys to its sender alone: not to the room, not to other sockets, not to Redis', async () => {
    const room = await newRoom(cluster);
    const name = newName();
    const others = await Promise.all([openRoom(cluster, room, { as: 'User_1', node: 0 }), openRoom(cluster, room, { as: 'User_2', node: 1 }), openRoom(cluster, room, { as: 'Frontend_1', user: 'bob', node: 0 })]);
    const given = await command(room, `@annex /register @${name} pull "Ada Lovelace"`);
    assert.equal(given.username, name);
    assert.match(given.caller_key, KEY);
    assert.match(given.signing_secret, SECRET);
    await say(cluster, room, 'the last one');
    const seen = [];
    for (const socket of [...others, await openRoom(cluster, room, { as: 'User_1', after: '' })]) {
      for (let message; message?.text !== 'the last one'; seen.push(message)) message = await socket.next();
      await socket.close();
    }
    seen.push(...(await messages(cluster, room)), ...(await messages(cluster, room, { as: 'User_2' })));
    const bodies = [JSON.stringify(seen), await dumpOf(cluster.redis), ...cluster.nodes.map((node) => node.log())];
    for (const secret of [given.caller_key, given.signing_secret, given.signing_secret.slice(6), given.caller_key.slice(4)]) {
      for (const body of bodies) assert.equal(body.includes(secret), false);
    }
    assert.ok(seen.every((message) => message.private === undefined && message.error === undefined));
    assert.ok((await bots()).includes(name));
  });

  test('on a socket the keys come in a frame of their own, on that socket alone', async () => {
    const room = await newRoom(cluster);
    const name = newName();
    const [socket, same, other] = [await openRoom(cluster, room, { node: 1 }), await openRoom(cluster, room, { node: 1 }), await openRoom(cluster, room, { as: 'User_2' })];
    socket.send(JSON.stringify({ text: `@annex /register @${name} pull` }));
    const frames = [await socket.next(), await socket.next(), await socket.next()];
    const [{ private: given }] = frames.filter((frame) => frame.private);
    assert.match(given.caller_key, KEY);
    const shown = frames.filter((frame) => !frame.private);
    assert.deepEqual(shown.map(({ from }) => from), ['User_1', 'annex']);
    for (const listener of [same, other]) {
      assert.deepEqual([await listener.next(), await listener.next()], shown);
      await say(cluster, room, 'nothing in between');
    }
    assert.equal((await same.next()).text, 'nothing in between');
    assert.equal((await other.next()).text, 'nothing in between');
    for (const listener of [socket, same, other]) await listener.close();
  });

  test('names are taken by users, bots, accounts and the main bot; the answer says so and gives no key', async () => {
    const room = await newRoom(cluster);
    const name = newName();
    await say(cluster, room, 'here', { as: 'Frontend_1', user: 'talker' });
    await command(room, `@annex /register @${name} pull`);
    for (const taken of [name, 'talker', 'annex', 'User_2', 'Frontend_1']) {
      const { text, caller_key } = await command(room, `@annex /register @${taken} pull`);
      assert.match(text, /taken|reserved|name/i, taken);
      assert.equal(caller_key, undefined);
    }
    // A bot's name is nobody's to speak with.
    assert.equal((await sayRaw(cluster, room, 'I am a bot', { as: 'Frontend_1', user: name })).json.code, 'name_taken');
  });

  test('a private or malformed address registers nothing', async () => {
    const room = await newRoom(cluster);
    const before = await bots();
    for (const url of ['ftp://example.org/', 'http://127.0.0.1/', 'http://[::1]/', 'http://10.0.0.1/', 'https://u:p@example.org/', 'nonsense', 'http://', 'parley:']) {
      const { caller_key } = await command(room, `@annex /register @${newName()} ${url} "Ada"`);
      assert.equal(caller_key, undefined, url);
    }
    assert.deepEqual(await bots(), before);
  });

  test('/rotate gives new keys, and only its registrant or an operator changes a bot', async () => {
    const room = await newRoom(cluster);
    const name = newName();
    const first = await command(room, `@annex /register @${name} pull`);
    for (const [as, user] of [['User_2'], ['Frontend_1', 'User_1']]) {
      for (const what of ['/rotate', '/unregister']) {
        const { text, caller_key } = await command(room, `@annex ${what} @${name}`, { as, user });
        assert.match(text, /registered/);
        assert.equal(caller_key, undefined);
      }
    }
    const second = await command(room, `@annex /rotate @${name}`);
    assert.match(second.caller_key, KEY);
    assert.notEqual(second.caller_key, first.caller_key);
    assert.notEqual(second.signing_secret, first.signing_secret);
    assert.match((await command(room, `@annex /unregister @${name}`)).text, /no longer/);
    assert.equal((await bots()).includes(name), false);
    assert.match((await command(room, `@annex /unregister @${name}`)).text, /[Nn]o|not/);
  });

  test('a bot of another namespace is not there', async () => {
    const [room, theirs] = [await newRoom(cluster), await newRoom(cluster, { as: 'Acme_1' })];
    const name = newName();
    const ours = await command(room, `@annex /register @${name} pull`);
    assert.equal((await command(theirs, `@annex /rotate @${name}`, { as: 'Acme_1' })).caller_key, undefined);
    assert.equal((await command(theirs, '@annex /bots', { as: 'Acme_1' })).text.includes(name), false);
    const same = await command(theirs, `@annex /register @${name} pull`, { as: 'Acme_1' });
    assert.match(same.caller_key, KEY);
    assert.notEqual(same.caller_key, ours.caller_key);
    assert.deepEqual((await say(cluster, theirs, `@${name}`, { as: 'Acme_1' })).tagged, [name]);
  });

  test('/bots lists them, with the people whom they speak as', async () => {
    const room = await newRoom(cluster);
    const name = newName();
    await command(room, `@annex /register @${name} pull "Ada \u{1f375} Lovelace"`);
    const { text } = await command(room, '@annex /bots');
    assert.ok(text.includes(`${name} speaks as Ada \u{1f375} Lovelace`), text);
  });

  test('a command calls no bot, also if it names one', async () => {
    const room = await newRoom(cluster);
    const name = newName();
    await command(room, `@annex /register @${name} pull`);
    await command(room, `@annex /rotate @${name}`);
    await command(room, `@annex /nothing @${name}`);
    await command(room, `@annex tell @${name} to /rotate`);
    assert.deepEqual((await cluster.redis.cmd('KEYS', `*dlv:dlv_${room}_*`)), []);
    await say(cluster, room, `hello @${name}`);
    assert.equal((await cluster.redis.cmd('KEYS', `*dlv:dlv_${room}_*`)).length, 1);
  });

  test('a command whose sender leaves is carried out all the same', async () => {
    const room = await newRoom(cluster);
    const socket = await openRoom(cluster, room);
    socket.send(JSON.stringify({ text: '@annex /bots' }));
    await socket.close();
    await eventually(async () => (await messages(cluster, room)).length === 2, { what: 'the main bot has answered' });
  });

  test('with a wall of commands at once each is answered once', async () => {
    const room = await newRoom(cluster);
    const name = newName();
    const answers = await Promise.all(Array.from({ length: 20 }, () => say(cluster, room, `@annex /register @${name} pull`)));
    assert.equal(answers.filter((message) => message.private.caller_key).length, 1);
    const all = await messages(cluster, room);
    assert.equal(all.length, 40);
    assert.equal(new Set(all.filter(({ from }) => from === 'annex').map(({ reply_to }) => reply_to)).size, 20);
  });
});
