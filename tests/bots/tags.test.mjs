// SPDX-License-Identifier: MIT
//
// The people that a bot's reply tags, what it is a reply to, and the bots that a message calls: one test a rule, with bots that answer over
// HTTP. Bots are registered in the room, whose history never has their keys.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { newBot, startBots } from '../support/bot_server.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { messages, newRoom, openRoom, say } from '../support/rooms.mjs';

let server;
before(async () => (server = await startBots()));
after(() => server.close());

suite('tags', { sweep: false, env: { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' } }, ({ test, cluster }) => {
  const as = 'Frontend_1';
  // A room with people who have spoken, and a bot for each answer.
  const roomWith = async (people, ...answers) => {
    const room = await newRoom(cluster, { as, user: 'owner' });
    const bots = [];
    for (const user of people) await say(cluster, room, 'here', { as, user });
    for (const answer of answers) {
      const name = newBot();
      server.bots[`/${name}`] = answer;
      const { private: given } = await say(cluster, room, `@annex /register @${name} ${server.url(`/${name}`)}`, { as, user: 'owner' });
      assert.ok(given.caller_key, given.text);
      bots.push({ name, ...given, calls: () => server.of(`/${name}`) });
    }
    return { room, bots };
  };
  const repliesTo = async (room, { id }, n = 1) => {
    const found = async () => (await messages(cluster, room, { as, user: 'owner', limit: 1000 })).filter(({ reply_to }) => reply_to === id);
    await eventually(async () => (await found()).length >= n, { what: `${n} replies` });
    return found();
  };
  const ask = (room, text, more) => say(cluster, room, text, { as, user: 'ada', ...more });

  test('a reply is to the message that called the bot, and tags the people whom that tagged', async () => {
    const { room, bots: [bot] } = await roomWith(['bob', 'eve'], () => ({ message: 'hello' }));
    const asked = await ask(room, `@${bot.name} and @bob`, { tagged: ['eve'] });
    assert.deepEqual(asked.tagged, ['eve', bot.name, 'bob']);
    const [reply] = await repliesTo(room, asked);
    assert.deepEqual([reply.from, reply.text, reply.tagged], [bot.name, 'hello', ['eve', 'bob']]);
  });

  test('a reply does not tag who asked, nor bots', async () => {
    const { room, bots: [bot, other] } = await roomWith([], () => ({ message: 'one' }), () => ({ message: 'two' }));
    const asked = await ask(room, `@${bot.name} @${other.name}`);
    const replies = await repliesTo(room, asked, 2);
    assert.deepEqual(replies.map(({ text, tagged }) => [text, tagged]).sort(), [['one', []], ['two', []]]);
    assert.equal(bot.calls().length + other.calls().length, 2);
  });

  test('if the message was a reply itself, the people whom it tagged are not tagged again', async () => {
    const { room, bots: [bot] } = await roomWith(['bob'], () => ({ message: 'hello' }));
    const first = await ask(room, 'hello');
    const asked = await ask(room, `@${bot.name} @bob`, { reply_to: first.id });
    const [reply] = await repliesTo(room, asked);
    assert.deepEqual(reply.tagged, []);
  });

  test('whom its own text mentions a reply tags in any case, each once', async () => {
    const { room, bots: [bot] } = await roomWith(['bob', 'eve'], () => ({ message: 'ask @eve, @bob or @nobody' }));
    const first = await ask(room, `@${bot.name} @bob`);
    const [reply] = await repliesTo(room, first);
    assert.deepEqual(reply.tagged, ['bob', 'eve']);
    const asked = await ask(room, `@${bot.name} @bob`, { reply_to: first.id });
    assert.deepEqual((await repliesTo(room, asked))[0].tagged, ['eve', 'bob']);
  });

  test('a reply to a bot\'s message calls it without a mention, one to a person\'s does not', async () => {
    const { room, bots: [bot] } = await roomWith([], ({ n }) => ({ message: `answer ${n}` }));
    const [first] = await repliesTo(room, await ask(room, `@${bot.name}`));
    const asked = await ask(room, 'and then?', { reply_to: first.id });
    const [second] = await repliesTo(room, asked);
    assert.equal(second.text, 'answer 2');
    await ask(room, 'no bot here', { reply_to: asked.id });
    await repliesTo(room, await ask(room, `@${bot.name} again`));
    assert.equal(bot.calls().length, 3);
  });

  test('a name in tagged calls a bot as a mention does, and both call it once', async () => {
    const { room, bots: [bot] } = await roomWith([], () => ({ message: 'hello' }));
    await repliesTo(room, await ask(room, 'hello', { tagged: [bot.name] }));
    await repliesTo(room, await ask(room, `@${bot.name} @${bot.name}`, { tagged: [bot.name] }));
    assert.equal(bot.calls().length, 2);
  });

  test('a bot is called by its name in any case and in letters that look the same, and not from code or quotes', async () => {
    const { room, bots: [bot] } = await roomWith([], () => ({ message: 'hello' }));
    const upper = await ask(room, `@${bot.name.toUpperCase()} @${bot.name}`);
    assert.deepEqual(upper.tagged, [bot.name]);
    await repliesTo(room, upper);
    const alike = await ask(room, 'Who?', { tagged: [bot.name.replace('b', '\u{1d5bb}')] });
    assert.deepEqual(alike.tagged, [bot.name]);
    await repliesTo(room, alike);
    for (const text of [`\`@${bot.name}\``, `> @${bot.name}`, `\`\`\`\n@${bot.name}\n\`\`\``]) assert.deepEqual((await ask(room, text)).tagged, [], text);
    assert.equal(bot.calls().length, 2);
  });

  test('replies come to the sockets of all nodes, once', async () => {
    const { room, bots: [bot] } = await roomWith([], () => ({ message: 'hello' }));
    const sockets = await Promise.all([0, 1].map((node) => openRoom(cluster, room, { as, user: 'bob', node })));
    const asked = await ask(room, `@${bot.name}`);
    for (const socket of sockets) {
      assert.deepEqual(await socket.next(), asked);
      const reply = await socket.next();
      assert.deepEqual([reply.from, reply.reply_to], [bot.name, asked.id]);
      await say(cluster, room, 'next', { as, user: 'ada' });
      assert.equal((await socket.next()).text, 'next');
      await socket.close();
    }
  });

  test('no bot is given a key: neither its own in the history, nor that of another one', async () => {
    const { room, bots: [bot, other] } = await roomWith([], () => ({ message: 'hello' }), () => ({ message: 'hello' }));
    await say(cluster, room, `@annex /rotate @${other.name}`, { as, user: 'owner' });
    await repliesTo(room, await ask(room, `@${bot.name} @${other.name}`), 2);
    for (const { text } of [...bot.calls(), ...other.calls()]) {
      assert.ok(text.includes('/register'), 'the command is in the context');
      for (const word of ['pck_', 'whsec_', 'caller_key', 'signing_secret', bot.signing_secret.slice(6), other.signing_secret.slice(6)]) {
        assert.equal(text.includes(word), false, word);
      }
    }
  });
});
