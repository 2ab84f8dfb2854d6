// SPDX-License-Identifier: MIT
//
// Bots that have answered 202 and post their message later, with their caller key.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { newBot, openRoom, registerBot, startBots } from '../support/bot_server.mjs';
import { expireDue, whenDue } from '../support/due.mjs';
import { assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';

let server;
before(async () => (server = await startBots()));
after(() => server.close());

suite('answers that come later', { sweep: false, env: { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' } }, ({ test, cluster }) => {
  const bot = async (answer = () => ({ status: 202, body: '' })) => {
    const username = newBot('late');
    const path = `/${username}`;
    server.bots[path] = answer;
    const keys = await registerBot(cluster, username, server.url(path));
    return { ...keys, calls: () => server.of(path) };
  };
  const postRaw = (room, key, body, more) => cluster.request('POST', `/api/rooms/${room.id ?? room}/messages`, { headers: key === undefined ? {} : { 'X-CALLER-KEY': key }, body, ...more });
  const stateOf = async (delivery) => {
    const [key] = await cluster.redis.cmd('KEYS', `*dlv:${delivery}`);
    return key && cluster.redis.cmd('HGET', key, 'state');
  };
  // The id of the delivery that the bot has accepted with the message.
  const accepted = async ({ calls }, n = 1) => {
    const call = await eventually(() => calls()[n - 1], { what: 'the call' });
    const id = call.headers['webhook-id'];
    await eventually(async () => (await stateOf(id)) === 'accepted', { what: 'the delivery to be accepted' });
    return id;
  };

  test('its message is a reply in the room, which tags whom the question tagged; a second one is refused', async () => {
    const late = await bot();
    const room = await openRoom(cluster);
    await room.say('I am here', { user: 'bob' });
    const asked = await room.say(`@${late.username} hello`, { tagged: ['bob'] });
    const delivery = await accepted(late);
    const posted = assertOk(await postRaw(room, late.caller_key, { text: 'after a while', delivery }), 201);
    const reply = await room.replyTo(asked);
    assert.deepEqual(posted, reply);
    assert.deepEqual([reply.from, reply.text, reply.reply_to, reply.tagged], [late.username, 'after a while', asked.id, ['bob']]);
    assertProblem(await postRaw(room, late.caller_key, { text: 'once more', delivery }), 409, 'delivery_answered');
    assert.equal((await room.messages()).length, 3);
    assert.equal(late.calls().length, 1);
  });

  test('a bot that answers before its 202 is stored has answered', async () => {
    let answered;
    const late = await bot(async ({ headers }) => {
      answered = await postRaw(room, late.caller_key, { text: 'quick', delivery: headers['webhook-id'] });
      return { status: 202, body: '' };
    });
    const room = await openRoom(cluster);
    const asked = await room.say(`@${late.username} hello`);
    assert.equal((await room.replyTo(asked)).text, 'quick');
    await eventually(() => answered !== undefined, { what: 'the answer' });
    assertOk(answered, 201);
    const more = await room.say('next');
    assert.deepEqual((await room.messages()).map(({ id }) => id).slice(-1), [more.id]);
  });

  test('one that has answered in its response has nothing more to say', async () => {
    const quick = await bot(() => ({ message: 'at once' }));
    const room = await openRoom(cluster);
    await room.replyTo(await room.say(`@${quick.username} hello`));
    const delivery = quick.calls()[0].headers['webhook-id'];
    assertProblem(await postRaw(room, quick.caller_key, { text: 'and later', delivery }), 409, 'delivery_answered');
  });

  test('nobody answers for another bot, in another room, or without a delivery', async () => {
    const [late, other] = [await bot(), await bot()];
    const [room, elsewhere] = [await openRoom(cluster), await openRoom(cluster)];
    await room.say(`@${late.username} hello`);
    const delivery = await accepted(late);
    assertProblem(await postRaw(room, other.caller_key, { text: 'mine', delivery }), 404, 'not_found');
    assertProblem(await postRaw(elsewhere, late.caller_key, { text: 'here', delivery }), 404, 'not_found');
    assertProblem(await postRaw('0'.repeat(24), late.caller_key, { text: 'here', delivery }), 404, 'not_found');
    assertProblem(await postRaw(room, late.caller_key, { text: 'no delivery' }), 400, 'bad_request');
    assertProblem(await postRaw(room, late.caller_key, { text: '', delivery }), 400, 'bad_request');
    assertProblem(await postRaw(room, late.caller_key, { delivery }), 400, 'bad_request');
    assertProblem(await postRaw(room, late.caller_key, 'not JSON'), 400, 'bad_json');
    assertProblem(await postRaw(room, late.caller_key, { text: 'a', delivery: `${delivery}1` }), 404, 'not_found');
    assert.equal((await room.messages()).length, 1);
    assertOk(await postRaw(room, late.caller_key, { text: 'mine', delivery }), 201);
  });

  test('without a key, with a wrong one, or with half of one nothing is posted', async () => {
    const late = await bot();
    const room = await openRoom(cluster);
    await room.say(`@${late.username} hello`);
    const delivery = await accepted(late);
    for (const key of [undefined, '', 'pck_', late.caller_key.slice(0, -1), `${late.caller_key}A`, late.signing_secret])
      assertProblem(await postRaw(room, key, { text: 'mine', delivery }), 401, 'unauthorized');
    assertProblem(await cluster.request('GET', `/api/rooms/${room.id}/messages`, { headers: { 'X-CALLER-KEY': late.caller_key } }), 401, 'unauthorized');
  });

  test('a key beside an account is not looked at: the account speaks', async () => {
    const late = await bot();
    const room = await openRoom(cluster);
    const said = assertOk(await postRaw(room, late.caller_key, { text: 'from Eve' }, { as: 'Frontend_1', query: { OnBehalfOf: 'eve' } }), 201);
    assert.equal(said.from, 'eve');
  });

  test('after 15 minutes the room has a notice, and the answer is refused', async () => {
    const late = await bot();
    const room = await openRoom(cluster);
    const asked = await room.say(`@${late.username} hello`);
    const delivery = await accepted(late);
    const left = (await whenDue(cluster.redis, 'dlv_due', delivery)) - Date.now();
    assert.ok(left > 14 * 60_000 && left <= 15 * 60_000, `${left} ms`);
    await expireDue(cluster.redis, 'dlv_due', delivery);
    assert.match((await room.noticeAbout(asked, late.username)).text, /has not answered within 15 minutes/);
    assertProblem(await postRaw(room, late.caller_key, { text: 'too late', delivery }), 409, 'delivery_answered');
    assert.equal((await room.messages()).length, 2);
  });

  test('a text of 64 KiB is posted, a larger one is not', async () => {
    const late = await bot();
    const room = await openRoom(cluster);
    const asked = await room.say(`@${late.username} hello`);
    const delivery = await accepted(late);
    const large = await postRaw(room, late.caller_key, { text: 'x'.repeat(66_000), delivery });
    assert.ok([400, 413].includes(large.status), large.text);
    assertOk(await postRaw(room, late.caller_key, { text: 'y'.repeat(65_000), delivery }), 201);
    assert.equal((await room.replyTo(asked)).text.length, 65_000);
  });
});
