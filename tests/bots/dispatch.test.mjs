// SPDX-License-Identifier: MIT
//
// Bots that are called: what each request to them says, what becomes of their answers, and who is called by what.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { newBot, openRoom, registerBot, Room, startBots } from '../support/bot_server.mjs';
import { expireDue } from '../support/due.mjs';
import { ACCOUNTS, assertMembers, assertOk, eventually, suite } from '../support/harness.mjs';

let server;
before(async () => (server = await startBots()));
after(() => server.close());

const env = { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' };

suite('bots that are called', { sweep: false, env }, ({ test, cluster }) => {
  // A registered bot that answers by `answer`: {username, calls(), …}.
  const bot = async (answer, more) => {
    const username = newBot();
    const path = `/${username}`;
    server.bots[path] = answer;
    const keys = await registerBot(cluster, username, server.url(path), more);
    return { ...keys, path, calls: () => server.of(path) };
  };
  // Its time is over.
  const expire = (key) => expireDue(cluster.redis, 'dlv_due', key.replace(/.*:dlv:/, ''));
  const echo = ({ json }) => ({ message: `you said: ${json.message.text.replaceAll('@', '')}` });

  test('each header of the request is there, and the official package verifies its signature', async () => {
    const { username, caller_key, signing_secret, calls } = await bot(echo);
    const room = await openRoom(cluster);
    await room.replyTo(await room.say(`@${username} hello`));
    const [{ method, headers, text, json }, ...more] = calls();
    assert.deepEqual(more, []);
    assert.equal(method, 'POST');
    assert.match(headers['content-type'], /^application\/json/);
    assert.equal(headers['x-caller-key'], caller_key);
    assert.match(headers['webhook-id'], /^[A-Za-z0-9_-]+$/);
    assert.ok(Math.abs(headers['webhook-timestamp'] - Date.now() / 1000) < 300);
    assert.deepEqual(new Webhook(signing_secret).verify(text, headers), json);
    assert.throws(() => new Webhook(signing_secret).verify(`${text} `, headers));
  });

  test('each member of the body is what the room says', async () => {
    const { username, calls } = await bot(echo);
    const room = await openRoom(cluster);
    const said = [await room.say('first \u{1f600} "quoted"'), await room.say('second', { user: 'bob', tagged: ['eve'] })];
    const asked = await room.say(`@${username} third\nline`, { user: 'zoe', tagged: ['bob'] });
    await room.replyTo(asked);
    const [{ json }] = calls();
    assertMembers(json, ['context', 'conversation', 'message', 'users']);
    const as = ({ from, tagged, id, text, timestamp }) => ({ from, tagged, id, text, timestamp });
    assert.deepEqual(json.message, as(asked));
    assert.deepEqual(new Set(json.message.tagged), new Set([username, 'bob']));
    assert.match(json.message.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(json.context, said.map(as));
    assert.deepEqual(json.conversation, []);
    const expected = ['bob', 'eve', 'zoe', username].sort();
    assert.deepEqual(json.users.map(({ id }) => id).sort(), expected);
    assert.deepEqual(json.users.map((user) => user.username).sort(), expected);
  });

  test('the context is the last 50 messages, its own are from BOT', async () => {
    const { username, calls } = await bot(echo);
    const room = await openRoom(cluster);
    const first = await room.replyTo(await room.say(`@${username} one`));
    const said = [];
    for (let i = 0; i < 50; i++) said.push(await room.say(`message ${i}`));
    await room.replyTo(await room.say(`@${username} two`));
    const [, { json }] = calls();
    assert.deepEqual(json.context.map(({ id }) => id), said.map(({ id }) => id));
    await room.replyTo(await room.say(`@${username} three`));
    const [, , third] = calls();
    assert.equal(third.json.context.length, 50);
    assert.deepEqual(third.json.context.filter(({ from }) => from === 'BOT').map(({ text }) => text), ['you said: ' + `${username} two`]);
    const [conversation] = third.json.conversation;
    assert.equal(conversation.messages[1].id, first.id);
    assert.equal(conversation.messages[1].from, 'BOT');
  });

  test('one chain of replies is one conversation', async () => {
    const { username, calls } = await bot(echo);
    const room = await openRoom(cluster);
    const one = await room.say(`@${username} one`);
    const answerOne = await room.replyTo(one);
    const two = await room.say(`@${username} two`);
    const answerTwo = await room.replyTo(two);
    const more = await room.say('and then?', { reply_to: answerOne.id });
    const answerMore = await room.replyTo(more);
    await room.replyTo(await room.say(`@${username} three`));
    const { conversation } = calls().at(-1).json;
    assert.deepEqual(
      conversation.map(({ id, messages }) => [id, messages.map((message) => message.id)]),
      [[one.id, [one.id, answerOne.id, more.id, answerMore.id]], [two.id, [two.id, answerTwo.id]]],
    );
  });

  // --- who is called ---

  test('a message that tags nobody calls nobody', async () => {
    const { username, calls } = await bot(echo);
    const room = await openRoom(cluster);
    await room.say(`${username} and x@${username} are no mentions`);
    await room.replyTo(await room.say(`@${username} but this is`));
    assert.equal(calls().length, 1);
  });

  test('a message that tags a bot by its member calls it', async () => {
    const { username, calls } = await bot(echo);
    const room = await openRoom(cluster);
    await room.replyTo(await room.say('no mention', { tagged: [username] }));
    assert.equal(calls().length, 1);
  });

  test('a reply to a message of a bot calls it without a tag', async () => {
    const { username, calls } = await bot(echo);
    const room = await openRoom(cluster);
    const answer = await room.replyTo(await room.say(`@${username} one`));
    const again = await room.replyTo(await room.say('why?', { reply_to: answer.id, user: 'bob' }));
    assert.equal(again.from, username);
    assert.equal(calls().length, 2);
  });

  test('a bot that is tagged twice is called once, two bots once each under ids of their own', async () => {
    const [a, b] = [await bot(echo), await bot(echo)];
    const room = await openRoom(cluster);
    const asked = await room.say(`@${a.username} @${b.username} @${a.username} hello`, { tagged: [a.username] });
    for (const { username } of [a, b]) await room.next(asked, ({ from }) => from === username);
    assert.deepEqual([a.calls().length, b.calls().length], [1, 1]);
    assert.notEqual(a.calls()[0].headers['webhook-id'], b.calls()[0].headers['webhook-id']);
  });

  test('a bot that mentions itself is not called by that', async () => {
    const username = newBot();
    server.bots[`/${username}`] = ({ n }) => ({ message: `I am @${username}, call ${n}` });
    await registerBot(cluster, username, server.url(`/${username}`));
    const room = await openRoom(cluster);
    await room.replyTo(await room.say(`@${username} who are you?`));
    await room.replyTo(await room.say(`@${username} and now?`));
    assert.equal(server.of(`/${username}`).length, 2);
  });

  test('a command of the main bot calls no bot', async () => {
    const { username, calls } = await bot(echo);
    const room = await openRoom(cluster);
    await room.say(`@annex /help @${username}`);
    await room.replyTo(await room.say(`@${username} now`));
    assert.equal(calls().length, 1);
  });

  // --- what replies tag ---

  test('a reply tags the people whom the original tagged, and no bot', async () => {
    const [a, b] = [await bot(echo), await bot(() => ({ response_not_required: true }))];
    const room = await openRoom(cluster);
    await room.say('I am here', { user: 'bob' });
    const reply = await room.next(await room.say(`@${a.username} @${b.username} @bob hello`), ({ from }) => from === a.username);
    assert.deepEqual(reply.tagged, ['bob']);
  });

  test('a reply to a reply tags nobody whom that tagged', async () => {
    const { username } = await bot(echo);
    const room = await openRoom(cluster);
    const first = await room.say('I am here', { user: 'bob' });
    const reply = await room.replyTo(await room.say(`@${username} @bob hello`, { reply_to: first.id }));
    assert.deepEqual(reply.tagged, []);
  });

  test('mentions in the text of a reply tag besides', async () => {
    const { username } = await bot(() => ({ message: 'ask @bob or @nobody-at-all' }));
    const room = await openRoom(cluster);
    const first = await room.say('I am here', { user: 'bob' });
    const reply = await room.replyTo(await room.say(`@${username} hello`, { reply_to: first.id }));
    assert.deepEqual(reply.tagged, ['bob']);
  });

  test('a bot that has nothing to say says nothing', async () => {
    const { username, calls } = await bot(({ n }) => (n === 1 ? { response_not_required: true } : { message: 'two' }));
    const room = await openRoom(cluster);
    await room.say(`@${username} one`);
    await eventually(() => calls().length === 1, { what: 'the first call' });
    await room.replyTo(await room.say(`@${username} two`));
    assert.deepEqual((await room.messages()).map(({ text }) => text), [`@${username} one`, `@${username} two`, 'two']);
  });

  test('two bots that talk to each other end at hop 4', async () => {
    const [a, b] = [newBot(), newBot()];
    for (const [me, other] of [[a, b], [b, a]]) {
      server.bots[`/${me}`] = ({ n }) => ({ message: `@${other} ${me} says ${n}` });
      await registerBot(cluster, me, server.url(`/${me}`));
    }
    const room = await openRoom(cluster);
    const asked = await room.say(`@${a} begin`);
    await room.next(asked, ({ from, text }) => from === b && text.endsWith('2'), { what: 'the fourth reply' });
    const done = await room.say('the end');
    await eventually(async () => (await cluster.redis.cmd('KEYS', '*:dlv_n*')).length === 0, { what: 'no delivery is left' });
    assert.deepEqual(
      (await room.messages()).map(({ from, text, id }) => (id === done.id ? 'end' : `${from} ${text}`)).filter((line) => line !== 'end'),
      [`eve @${a} begin`, `${a} @${b} ${a} says 1`, `${b} @${a} ${b} says 1`, `${a} @${b} ${a} says 2`, `${b} @${a} ${b} says 2`],
    );
    assert.deepEqual([server.of(`/${a}`).length, server.of(`/${b}`).length], [2, 2]);
  });

  // --- keys ---

  test('after a rotation both secrets verify, and the key is the new one', async () => {
    const { username, signing_secret, caller_key, calls } = await bot(echo);
    const room = await openRoom(cluster);
    const rotated = assertOk(await cluster.request('POST', `/api/bots/${username}/rotate`, { as: 'Frontend_1', query: { OnBehalfOf: 'owner' } }));
    assert.notEqual(rotated.signing_secret, signing_secret);
    await room.replyTo(await room.say(`@${username} hello`));
    const [{ text, headers, json }] = calls();
    assert.equal(headers['x-caller-key'], rotated.caller_key);
    assert.notEqual(caller_key, rotated.caller_key);
    for (const secret of [signing_secret, rotated.signing_secret]) assert.deepEqual(new Webhook(secret).verify(text, headers), json);
  });

  // --- limits and namespaces ---

  test('what was said before is cut to 512 KiB, the newest first, and the largest message arrives whole', async () => {
    const { username, calls } = await bot(() => ({ message: 'read' }));
    const room = await openRoom(cluster);
    const said = [];
    for (let i = 0; i < 12; i++) said.push(await room.say(`${i}${'x'.repeat(64_000)}`));
    const text = `@${username} ${'\u0001'.repeat((64 << 10) - username.length - 2)}`;
    await room.replyTo(await room.say(text));
    const [{ json }] = calls();
    assert.equal(json.message.text, text);
    assert.ok(json.context.length >= 7 && json.context.length < 10, `${json.context.length} messages`);
    assert.deepEqual(json.context.map(({ id }) => id), said.slice(-json.context.length).map(({ id }) => id));
  });

  test('a bot that answers later has 15 minutes, then the room learns that it has not', async () => {
    const { username, calls } = await bot(() => ({ status: 202, body: '' }));
    const room = await openRoom(cluster);
    const asked = await room.say(`@${username} think`);
    await eventually(() => calls().length === 1, { what: 'the call' });
    const [key] = await cluster.redis.cmd('KEYS', `*:dlv:dlv_${room.id}_*`);
    await eventually(async () => (await cluster.redis.cmd('HGET', key, 'state')) === 'accepted', { what: 'it is accepted' });
    await expire(key);
    assert.match((await room.noticeAbout(asked, username)).text, /has not answered within 15 minutes/);
    assert.equal(calls().length, 1);
  });

  test('a bot that pulls and is late is a notice after a minute and one after 15 minutes', async () => {
    const username = newBot('pulls');
    await registerBot(cluster, username, undefined);
    const room = await openRoom(cluster);
    const asked = await room.say(`@${username} hello`);
    const [key] = await cluster.redis.cmd('KEYS', `*:dlv:dlv_${room.id}_*`);
    await expire(key);
    const late = await room.noticeAbout(asked, username);
    assert.match(late.text, /has not answered yet/);
    await expire(key);
    assert.match((await room.next(late, ({ from }) => from === 'annex', { what: 'the second notice' })).text, /within 15 minutes/);
  });
});

suite('bots of two namespaces', { sweep: false, env, accounts: { ...ACCOUNTS, Tenant: { secret: 'tenant-secret', role: 'frontend', namespace: 'acme' } } }, ({ test, cluster }) => {
  test('two bots of one name are called by the rooms of their own namespace only', async () => {
    const username = newBot('twin');
    const keys = {};
    for (const [as, path] of [['Frontend_1', '/ours'], ['Tenant', '/theirs']]) {
      server.bots[path] = () => ({ message: `from ${path}` });
      keys[path] = assertOk(await cluster.request('POST', '/api/bots', { as, query: { OnBehalfOf: 'owner' }, body: { username, emulates: 'Ada', endpoint: server.url(path) } }), 201);
    }
    assert.notEqual(keys['/ours'].caller_key, keys['/theirs'].caller_key);
    for (const [as, path] of [['Tenant', '/theirs'], ['Frontend_1', '/ours']]) {
      const { id } = assertOk(await cluster.request('POST', '/api/rooms', { as, query: { OnBehalfOf: 'eve' }, body: { name: 'a room' } }), 201);
      const room = new Room(cluster, id, 'a room', as);
      const reply = await room.replyTo(await room.say(`@${username} whose are you?`, { as }));
      assert.deepEqual([reply.from, reply.text], [username, `from ${path}`]);
      const [call] = server.of(path);
      assert.deepEqual(new Webhook(keys[path].signing_secret).verify(call.text, call.headers), call.json);
      assert.deepEqual(call.json.users.map(({ id: user }) => user).sort(), ['eve', username].sort());
      assert.deepEqual(call.json.context, []);
    }
    assert.deepEqual([server.of('/ours').length, server.of('/theirs').length], [1, 1]);
  });
});
