// SPDX-License-Identifier: MIT
//
// Bots without an endpoint: they take their deliveries by long poll and answer them with requests of their own.
import assert from 'node:assert/strict';
import { newBot, openRoom, registerBot } from '../support/bot_server.mjs';
import { expireDue } from '../support/due.mjs';
import { assertMembers, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';

const POLLS_OF_BOT = 16;

suite('bots that pull', { sweep: false }, ({ test, cluster }) => {
  const path = (bot, id) => `/api/bots/${bot.username}/deliveries${id ? `/${id}` : ''}`;
  const headersOf = (bot) => ({ 'X-CALLER-KEY': bot.caller_key });
  const newPuller = (more) => registerBot(cluster, newBot('pull'), undefined, more);
  const open = (bot, { Wait = 20, node, timeout } = {}) => cluster.open('GET', path(bot), { query: { Wait }, node, headers: headersOf(bot), timeout });
  const pullRaw = (bot, options) => open(bot, options).response;
  const pull = async (bot, options) => {
    const taken = assertOk(await pullRaw(bot, options));
    assertMembers(taken, ['id', 'body']);
    return taken;
  };
  const assertNothing = async (bot, options) => assert.equal((await pullRaw(bot, { Wait: 0, ...options })).status, 204);
  const answerRaw = (bot, id, body, more) => cluster.request('POST', path(bot, id), { headers: headersOf(bot), body, ...more });
  const keysOf = async (pattern) => cluster.redis.cmd('KEYS', pattern);
  const isParked = (bot, n = 1) =>
    eventually(
      async () => {
        const keys = await keysOf(`*dlv_polls:${bot.username}`);
        const counts = await Promise.all(keys.map((key) => cluster.redis.cmd('ZCARD', key)));
        return counts.length > 0 && counts.every((count) => Number(count) >= n);
      },
      { what: `parked polls of ${bot.username} on ${n} node(s)` },
    );
  // Its lease ends in `ms`.
  const endLease = async (bot, id, ms = 0) => {
    const [key] = await keysOf(`*dlv_pull:${bot.username}`);
    assert.notEqual(await cluster.redis.cmd('ZSCORE', key, id), null);
    await cluster.redis.cmd('ZADD', key, Date.now() + ms, id);
  };
  const texts = async (room) => (await room.messages()).map(({ from, text }) => `${from}: ${text}`);

  test('a message reaches a poll that is parked on the other node, and its answer is a reply in the room', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    const before = await room.say('before', { user: 'bob' });
    const poll = pull(bot, { node: 1 });
    await isParked(bot);
    const asked = await room.say(`@${bot.username} hello`, { node: 0, tagged: ['bob'] });
    const { id, body } = await poll;
    assert.match(id, /^[A-Za-z0-9_-]+$/);
    assertMembers(body, ['context', 'conversation', 'message', 'users']);
    const as = ({ from, tagged, id: of, text, timestamp }) => ({ from, tagged, id: of, text, timestamp });
    assert.deepEqual(body.message, as(asked));
    assert.deepEqual(body.context, [as(before)]);
    assert.deepEqual(body.conversation, []);
    const answered = assertOk(await answerRaw(bot, id, { message: 'Hello, Eve' }, { node: 0 }));
    const reply = await room.replyTo(asked);
    assert.deepEqual(answered, { id, message: reply });
    assert.deepEqual([reply.from, reply.text, reply.reply_to, reply.tagged], [bot.username, 'Hello, Eve', asked.id, ['bob']]);
  });

  test('a poll finds what has waited, in the order in which it came, and nothing is 204', async () => {
    const bot = await newPuller();
    await assertNothing(bot);
    const room = await openRoom(cluster);
    const asked = [await room.say(`@${bot.username} one`), await room.say(`@${bot.username} two`)];
    const taken = [await pull(bot, { node: 0 }), await pull(bot, { node: 1 })];
    assert.deepEqual(taken.map(({ body }) => body.message.id), asked.map(({ id }) => id));
    await assertNothing(bot);
    for (const { id } of taken) assertOk(await answerRaw(bot, id, { message: id }));
    assert.deepEqual((await texts(room)).slice(2), taken.map(({ id }) => `${bot.username}: ${id}`));
  });

  test('what a process that died had in hand is given to another one, under the same id; the first answer counts', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    const asked = await room.say(`@${bot.username} hello`);
    const first = await pull(bot, { node: 0 });
    await assertNothing(bot, { node: 1 });
    await endLease(bot, first.id);
    const second = await pull(bot, { node: 1 });
    assert.deepEqual(second, first);
    assertOk(await answerRaw(bot, second.id, { message: 'from the second' }));
    assertProblem(await answerRaw(bot, first.id, { message: 'from the first' }), 409, 'delivery_answered');
    assert.equal((await room.replyTo(asked)).text, 'from the second');
    assert.equal((await room.messages()).length, 2);
    await assertNothing(bot);
  });

  test('a parked poll gets a delivery whose lease ends, without another message', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    await room.say(`@${bot.username} hello`);
    const first = await pull(bot);
    await endLease(bot, first.id, 500);
    assert.equal((await pull(bot)).id, first.id);
  });

  test('a process that has left its poll costs nobody a message', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    const left = open(bot, { node: 0 });
    await isParked(bot);
    left.abort();
    await eventually(async () => (await keysOf(`*dlv_polls:${bot.username}`)).length === 0, { what: 'the node to forget the poll' });
    await room.say(`@${bot.username} hello`);
    assert.equal((await pull(bot)).body.message.text, `@${bot.username} hello`);
  });

  test('a delivery is given out five times at most', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    await room.say(`@${bot.username} hello`);
    const ids = [];
    for (let i = 0; i < 5; i++) {
      ids.push((await pull(bot)).id);
      if (i < 4) await endLease(bot, ids[0]);
    }
    assert.equal(new Set(ids).size, 1);
    await endLease(bot, ids[0]);
    await assertNothing(bot);
    assertOk(await answerRaw(bot, ids[0], { message: 'at last' }), 200);
  });

  test('nothing to say ends a delivery, and the room shows nothing', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    await room.say(`@${bot.username} hello`);
    const { id } = await pull(bot);
    assert.deepEqual(assertOk(await answerRaw(bot, id, { response_not_required: true })), { id, message: null });
    assertProblem(await answerRaw(bot, id, { message: 'after all' }), 409, 'delivery_answered');
    assertProblem(await answerRaw(bot, id, { response_not_required: true }), 409, 'delivery_answered');
    assert.equal((await room.messages()).length, 1);
  });

  test('a bad answer changes nothing: a good one is taken after it', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    const asked = await room.say(`@${bot.username} hello`);
    const { id } = await pull(bot);
    const bad = ['not JSON', '[]', '{}', '"text"', '{"message":""}', '{"message":5}', '{"content":"of Zulip"}', Buffer.from('{"message":"\xff"}', 'latin1')];
    for (const body of bad) assertProblem(await answerRaw(bot, id, body), 400, 'bad_request');
    assertProblem(await answerRaw(bot, id, { message: 'x'.repeat(70_000) }), 413, 'too_large');
    const message = 'y'.repeat(65_000);
    assertOk(await answerRaw(bot, id, { message }));
    assert.equal((await room.replyTo(asked)).text, message);
  });

  test('a bot has no part in deliveries of another one', async () => {
    const [bot, other] = [await newPuller(), await newPuller()];
    const room = await openRoom(cluster);
    await room.say(`@${bot.username} hello`);
    const { id } = await pull(bot);
    assertProblem(await answerRaw(other, id, { message: 'mine' }), 404, 'not_found');
    assertProblem(await answerRaw(other, id, { response_not_required: true }), 404, 'not_found');
    assertProblem(await cluster.request('POST', path(bot, id), { headers: headersOf(other), body: { message: 'mine' } }), 401, 'unauthorized');
    assertProblem(await cluster.request('GET', path(bot), { query: { Wait: 0 }, headers: headersOf(other) }), 401, 'unauthorized');
    const parts = id.split('_');
    const wrong = ['dlv', 'x', id.slice(0, -1), `${id}0`, `${id}_1`, ['dlv', '0'.repeat(24), parts[2], parts[3]].join('_'), ['dlv', parts[1], '1-1', '1'].join('_'), 'dlv_..._1-1_1', 'a'.repeat(500)];
    for (const one of wrong) assertProblem(await answerRaw(bot, one, { message: 'nowhere' }), 404, 'not_found');
    assert.equal((await room.messages()).length, 1);
    assertOk(await answerRaw(bot, id, { message: 'mine' }));
  });

  test('a bot with an endpoint pulls nothing, and Wait has a range', async () => {
    const called = await registerBot(cluster, newBot(), 'parley:default');
    assertProblem(await pullRaw(called), 409, 'conflict');
    const bot = await newPuller();
    for (const Wait of ['-1', '121', 'x', '1.5']) assertProblem(await pullRaw(bot, { Wait }), 400, 'bad_request');
  });

  test('a bot of Zulip\'s format gets Zulip\'s body and answers as there', async () => {
    const bot = await newPuller({ format: 'zulip' });
    const room = await openRoom(cluster, 'tea');
    const asked = await room.say(`@${bot.username} hello`);
    const { id, body } = await pull(bot);
    for (const member of ['bot_email', 'bot_full_name', 'data', 'message', 'token', 'trigger']) assert.ok(member in body, member);
    assert.equal(body.token, bot.caller_key);
    assert.match(body.data, /hello/);
    assertOk(await answerRaw(bot, id, { content: 'from Zulip' }));
    assert.equal((await room.replyTo(asked)).text, 'from Zulip');
  });

  test('a key that is rotated loses no message: polls that wait continue, and both keys answer', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    const poll = pull(bot);
    await isParked(bot);
    const renewed = assertOk(await cluster.request('POST', `/api/bots/${bot.username}/rotate`, { as: 'Frontend_1', query: { OnBehalfOf: 'owner' } }));
    assert.notEqual(renewed.caller_key, bot.caller_key);
    const asked = await room.say(`@${bot.username} one`);
    assertOk(await answerRaw(bot, (await poll).id, { message: 'with the former key' }));
    const more = await room.say(`@${bot.username} two`);
    assertOk(await answerRaw(renewed, (await pull(renewed)).id, { message: 'with the new key' }));
    assert.equal((await room.replyTo(asked)).text, 'with the former key');
    assert.equal((await room.replyTo(more)).text, 'with the new key');
  });

  test('a bot that was removed is given nothing, although its poll has waited', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    await room.say(`@${bot.username} hello`);
    const { id } = await pull(bot);
    await endLease(bot, id, 5_000);
    const poll = open(bot, { Wait: 20 });
    await isParked(bot);
    assertOk(await cluster.request('DELETE', `/api/bots/${bot.username}`, { as: 'Frontend_1', query: { OnBehalfOf: 'owner' } }));
    assertProblem(await poll.response, 401, 'unauthorized');
    assertProblem(await answerRaw(bot, id, { message: 'still here' }), 401, 'unauthorized');
  });

  test('of a thousand polls of one bot a node holds 16, another bot is not kept waiting, and a message goes to one', async () => {
    const [bot, other] = [await newPuller(), await newPuller()];
    const room = await openRoom(cluster);
    const polls = Array.from({ length: 1000 }, (_, i) => ({ node: i % 2, ...open(bot, { node: i % 2, Wait: 120, timeout: 150_000 }) }));
    const refused = [];
    const held = new Set(polls);
    for (const poll of polls)
      poll.response.then(
        (response) => {
          held.delete(poll);
          refused.push(response);
        },
        () => {},
      );
    await eventually(() => refused.length === 1000 - 2 * POLLS_OF_BOT, { ms: 90_000, what: 'the polls that are refused' });
    for (const response of refused) assertProblem(response, 429, 'rate_limited');
    assert.ok(refused.every(({ headers }) => Number(headers['retry-after']) > 0));
    for (const node of [0, 1]) assert.equal([...held].filter((poll) => poll.node === node).length, POLLS_OF_BOT);
    await room.say(`@${other.username} hello`);
    assert.equal((await pull(other)).body.message.text, `@${other.username} hello`);
    await room.say(`@${bot.username} hello`);
    await eventually(() => held.size === 2 * POLLS_OF_BOT - 1, { what: 'one poll to have the message' });
    assert.equal(assertOk(refused.at(-1)).body.message.text, `@${bot.username} hello`);
    for (const poll of held) poll.abort();
  });

  // An account may have 50 unfinished deliveries of a bot on a shard.
  test('forty messages at once go to the polls of a bot, each to one', async () => {
    const bot = await newPuller();
    const rooms = await Promise.all(Array.from({ length: 5 }, () => openRoom(cluster)));
    const seen = [];
    let mayEnd = false;
    const work = async (node) => {
      for (;;) {
        const response = await pullRaw(bot, { node, Wait: 3 });
        if (response.status === 204 && mayEnd) return;
        if (response.status === 204) continue; // no message within 3 s: a process was starved
        const { id, body } = assertOk(response);
        seen.push(body.message.text);
        assertOk(await answerRaw(bot, id, { message: 'seen' }));
      }
    };
    const workers = [0, 1, 0, 1].map(work);
    await isParked(bot);
    const asked = Array.from({ length: 40 }, (_, i) => `@${bot.username} ${i}`);
    try {
      await Promise.all(asked.map((text, i) => rooms[i % 5].say(text)));
      await eventually(() => seen.length === 40, { what: 'all messages' });
    } finally {
      mayEnd = true;
    }
    await Promise.all(workers);
    assert.deepEqual(seen.sort(), asked.sort());
  });

  test('the room learns that a bot has not answered yet, and its answer counts after that', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    const asked = await room.say(`@${bot.username} hello`);
    const { id } = await pull(bot);
    await expireDue(cluster.redis, 'dlv_due', id);
    assert.match((await room.noticeAbout(asked, bot.username)).text, /has not answered yet/);
    assertOk(await answerRaw(bot, id, { message: 'late' }));
    assert.equal((await room.replyTo(asked)).text, 'late');
  });

  test('a node that drains ends its polls with 204; the other one has the message', async () => {
    const node = await cluster.startNode();
    const bot = await newPuller();
    const room = await openRoom(cluster);
    const poll = open(bot, { node, Wait: 60 });
    await isParked(bot);
    const stopped = node.stop();
    assert.equal((await poll.response).status, 204);
    await stopped;
    await room.say(`@${bot.username} hello`);
    assert.equal((await pull(bot)).body.message.text, `@${bot.username} hello`);
  });

  test('messages that came while a poll\'s node had lost Redis are given to it', async () => {
    const bot = await newPuller();
    const room = await openRoom(cluster);
    const poll = pull(bot, { node: 1, Wait: 60 });
    await isParked(bot);
    await cluster.redis.cmd('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await room.say(`@${bot.username} hello`, { node: 0 });
    assert.equal((await poll).body.message.text, `@${bot.username} hello`);
  });

  test('a node ends in time while Redis is silent and a poll waits for it', async () => {
    const node = await cluster.startNode({ args: ['--drain-seconds', '1', '--log-level', 'debug'] });
    cluster.nodes.pop();
    const bot = await newPuller();
    const room = await openRoom(cluster);
    await room.say(`@${bot.username} hello`);
    const { id } = await pull(bot, { node: 0 });
    await endLease(bot, id, 4_000);
    const polls = [open(bot, { node }), open(bot, { node })];
    // A bot is listed as waiting before its node has read the reply, and one of two polls is enough for that.
    await node.waitForLog(/(to="PARKED"[^]*){2}/);
    await cluster.redis.pause();
    try {
      const late = open(bot, { node }); // its key cannot be checked
      await node.waitForLog(/(from="PARKED" to="ASKING"[^]*){2}/);
      node.signal('SIGTERM');
      for (const { response } of [...polls, late]) {
        const status = await response.then((answer) => answer.status, () => 'cut off');
        assert.ok([503, 204, 'cut off'].includes(status), `${status}`);
      }
      await node.stop();
      node.check();
    } finally {
      await cluster.redis.resume();
    }
  });
});
