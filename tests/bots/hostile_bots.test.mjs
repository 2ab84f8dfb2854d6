// SPDX-License-Identifier: MIT
//
// Bots that do not answer, or not as they should: the room learns of it by a notice of the main bot, every attempt has
// the same delivery id, and other bots are not slowed.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { newBot, openRoom, registerBot, startBots } from '../support/bot_server.mjs';
import { assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';

let server;
before(async () => (server = await startBots()));
after(() => server.close());

const allowed = { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' };
const idsOf = (calls) => [...new Set(calls.map(({ headers }) => headers['webhook-id']))];

suite('bots that do not answer', { sweep: false, env: allowed }, ({ test, cluster }) => {
  const bot = async (answer, more) => {
    const username = newBot();
    const path = `/${username}`;
    server.bots[path] = answer;
    await registerBot(cluster, username, server.url(path), more);
    return { username, path, calls: () => server.of(path) };
  };

  for (const [name, answer, reason] of [
    ['HTML', { headers: { 'content-type': 'text/html' }, body: '<html>hi</html>' }, /is not JSON/],
    ['a list', [{ message: 'hi' }], /is not a JSON object/],
    ['a message that is no text', { message: 7 }, /no|neither|spelling/],
    ['an empty message', { message: '' }, /empty/],
    ['64 MiB', { body: `{"message":"${'x'.repeat(64 << 20)}"}` }, /more than 64 KiB/],
    ['a redirect', { status: 302, headers: { location: '/elsewhere' }, body: '' }, /302.*redirects are not followed/],
    ['404', { status: 404, body: '' }, /404/],
  ])
    test(`${name} is a notice at once, and the bot is called once`, async () => {
      const { username, calls } = await bot(() => answer);
      const room = await openRoom(cluster);
      const asked = await room.say(`@${username} hello`);
      const notice = await room.noticeAbout(asked, username);
      assert.match(notice.text, reason);
      assert.deepEqual(notice.tagged, []);
      assert.equal(notice.reply_to, asked.id);
      assert.equal(calls().length, 1);
      assert.equal((await room.messages()).length, 2);
    });

  test('5xx, a cut connection and 429 are tried again under the same id, 429 after its Retry-After', async () => {
    const answers = [{ status: 500, body: '' }, { status: 429, headers: { 'retry-after': '3' }, body: '' }, { status: 503, body: 'x' }, { message: 'at last' }];
    const { username, calls } = await bot(({ n }) => answers[n - 1]);
    const room = await openRoom(cluster);
    const reply = await room.replyTo(await room.say(`@${username} hello`));
    assert.equal(reply.text, 'at last');
    assert.equal(calls().length, 4);
    assert.equal(idsOf(calls()).length, 1);
    assert.ok(calls()[2].at - calls()[1].at >= 3000, 'Retry-After is kept');
    assert.equal((await room.messages()).length, 2);
  });

  test('a Retry-After past the time of the delivery is a notice at once', async () => {
    const { username, calls } = await bot(() => ({ status: 429, headers: { 'retry-after': '3600' }, body: '' }));
    const room = await openRoom(cluster);
    assert.match((await room.noticeAbout(await room.say(`@${username} hello`), username)).text, /429/);
    assert.equal(calls().length, 1);
  });

  test('a bot that is down, one that is slow and one that always fails: five attempts each, then a notice; a good bot answers meanwhile', async () => {
    const [down, slow, failing, good] = [newBot('down'), await bot(() => undefined), await bot(() => ({ status: 500, body: '' })), await bot(({ json }) => ({ message: `re: ${json.message.id}` }))];
    await registerBot(cluster, down, 'http://localhost:1/');
    const room = await openRoom(cluster);
    const asked = await room.say(`@${down} @${slow.username} @${failing.username} hello`);
    for (let i = 0; i < 3; i++) {
      const other = await room.say(`@${good.username} ${i}`);
      assert.equal((await room.replyTo(other, { ms: 20_000 })).text, `re: ${other.id}`);
    }
    const texts = [];
    for (const name of [down, failing.username, slow.username]) texts.push((await room.noticeAbout(asked, name)).text);
    assert.match(texts[0], /cannot be reached/);
    assert.match(texts[1], /500/);
    assert.match(texts[2], /did not answer within \d+ s/);
    assert.equal(failing.calls().length, 5);
    assert.equal(slow.calls().length, 5);
    for (const { calls } of [failing, slow]) assert.equal(idsOf(calls()).length, 1);
    for (const { id } of [asked]) assert.equal((await room.messages()).filter(({ from, reply_to }) => from === 'annex' && reply_to === id).length, 3);
  });

  test('a slow bot with hundreds of messages does not hold up another bot, and past its account\'s share it is busy', async () => {
    const [slow, good] = [await bot(() => undefined), await bot(() => ({ message: 'fine' }))];
    const room = await openRoom(cluster);
    const said = [];
    for (let i = 0; i < 120; i++) said.push(await room.say(`@${slow.username} ${i}`));
    assert.equal((await room.replyTo(await room.say(`@${good.username} hello`), { ms: 20_000 })).text, 'fine');
    assert.match((await room.noticeAbout(said[0], slow.username, { ms: 20_000 })).text, /is busy/);
    // In the first six seconds no call can have ended: a bot has ten seconds to answer.
    const first = slow.calls().filter(({ at }) => at < slow.calls()[0].at + 6_000);
    assert.ok(first.length <= 16, 'eight calls of a bot at a time on each of two nodes');
  });

  test('after five failed deliveries in a row a bot rests, then one delivery tries it, and its success ends the rest', async () => {
    let isWell = false;
    const { username, calls } = await bot(() => (isWell ? { message: 'well' } : { status: 400, body: '' }));
    const room = await openRoom(cluster);
    for (let i = 0; i < 5; i++) {
      const asked = await room.say(`@${username} ${i}`);
      await room.next(asked, ({ from, reply_to }) => from === 'annex' && reply_to === asked.id);
    }
    assert.equal(calls().length, 5);
    const [key] = await cluster.redis.cmd('KEYS', `*:bot:${username}`);
    await eventually(async () => (await cluster.redis.cmd('HGET', key, 'open_until')) !== '', { what: 'the bot rests' });
    isWell = true;
    const asked = await room.say(`@${username} are you well?`);
    assert.match((await room.next(asked, ({ from, reply_to }) => from === 'annex' && reply_to === asked.id)).text, /rests/);
    assert.equal(calls().length, 5, 'it was not called');
    await cluster.redis.cmd('HSET', key, 'open_until', 1);
    assert.equal((await room.replyTo(await room.say(`@${username} and now?`))).text, 'well');
    await eventually(async () => (await cluster.redis.cmd('HGET', key, 'open_until')) === '', { what: 'the rest is over' });
    assert.equal((await room.replyTo(await room.say(`@${username} again`))).text, 'well');
  });
});

suite('bots at private addresses', { sweep: false }, ({ test, cluster }) => {
  test('a name that leads to a private address by the time of the call is not called, and the notice says how to allow it', async () => {
    const username = newBot();
    server.bots[`/${username}`] = () => ({ message: 'reached' });
    // A node that allows it registers the bot, as if its name had led elsewhere then.
    const lenient = await cluster.startNode({ env: allowed });
    const body = { username, endpoint: server.url(`/${username}`, 'localhost') };
    const register = (node) => cluster.request('POST', '/api/bots', { as: 'Frontend_1', query: { OnBehalfOf: 'owner' }, body, node });
    assertProblem(await register(0), 400, 'bad_endpoint');
    assertOk(await register(lenient), 201);
    await lenient.stop();
    const room = await openRoom(cluster);
    for (const text of ['hello', 'again']) {
      const asked = await room.say(`@${username} ${text}`);
      assert.match((await room.noticeAbout(asked, username)).text, /private address.*PARLEY_ALLOW_PRIVATE_ENDPOINTS=on/);
    }
    assert.deepEqual(server.of(`/${username}`), []);
  });
});
