// SPDX-License-Identifier: MIT
//
// Bots written for Zulip's outgoing webhooks (https://zulip.com/api/outgoing-webhooks) work unchanged: what they are
// sent has every member that its document shows, and each documented answer means here what it means there.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { newBot, openRoom, registerBot, startBots } from '../support/bot_server.mjs';
import { eventually, suite } from '../support/harness.mjs';

let server;
before(async () => (server = await startBots()));
after(() => server.close());

// The payload of that page, as it stands there.
const DOCUMENTED = {
  bot_email: 'outgoing-bot@localhost',
  bot_full_name: 'Outgoing webhook test',
  data: '@**Outgoing webhook test** Zulip is the world\u2019s most productive group chat!',
  message: {
    avatar_url: 'https://secure.gravatar.com/avatar/1f4f1575bf002ae562fea8fc4b861b09?d=identicon&version=1',
    client: 'website',
    content: '@**Outgoing webhook test** Zulip is the world\u2019s most productive group chat!',
    display_recipient: 'Verona',
    id: 112,
    is_me_message: false,
    reactions: [],
    recipient_id: 20,
    rendered_content: '<p><span class="user-mention" data-user-id="25">@Outgoing webhook test</span> Zulip is the world\u2019s most productive group chat!</p>',
    sender_email: 'iago@zulip.com',
    sender_full_name: 'Iago',
    sender_id: 5,
    sender_realm_str: 'zulip',
    stream_id: 5,
    subject: 'Verona2',
    submessages: [],
    timestamp: 1527876931,
    topic_links: [],
    type: 'stream',
  },
  token: 'xvOzfurIutdRRVLzpXrIIHXJvNfaJLJ0',
  trigger: 'mention',
};

const typeOf = (value) => (Array.isArray(value) ? 'list' : typeof value);
const typesOf = (object) => Object.fromEntries(Object.entries(object).map(([name, value]) => [name, typeOf(value)]));

// As zulip_botserver takes the question out of a message: the mention of the bot is before it.
const questionOf = ({ bot_full_name, data }) => {
  const mention = `@**${bot_full_name}**`;
  return data.startsWith(mention) ? data.slice(mention.length).trim() : data;
};

suite('bots written for Zulip', { sweep: false, env: { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' } }, ({ test, cluster }) => {
  const bot = async (answer) => {
    const username = newBot('zulip');
    server.bots[`/${username}`] = answer;
    const keys = await registerBot(cluster, username, server.url(`/${username}`), { format: 'zulip' });
    return { username, keys, calls: () => server.of(`/${username}`) };
  };

  test('the request has the members of its document, each of the same type', async () => {
    const { username, keys, calls } = await bot(({ json }) => ({ content: questionOf(json).toUpperCase() }));
    const room = await openRoom(cluster, 'Verona');
    const asked = await room.say(`@${username} shall I compare thee?`, { user: 'iago' });
    assert.equal((await room.replyTo(asked)).text, 'SHALL I COMPARE THEE?');
    const [{ json, headers }] = calls();
    assert.deepEqual(Object.keys(json).sort(), Object.keys(DOCUMENTED).sort());
    assert.deepEqual(typesOf({ ...json, message: undefined }), typesOf({ ...DOCUMENTED, message: undefined }));
    const { avatar_url, ...message } = json.message;
    const { avatar_url: _, ...documented } = DOCUMENTED.message;
    assert.equal(avatar_url, null);
    assert.deepEqual(typesOf(message), typesOf(documented));
    assert.equal(json.token, keys.caller_key);
    assert.equal(headers['x-caller-key'], keys.caller_key);
    assert.equal(json.trigger, 'mention');
    assert.equal(json.bot_full_name, username);
    assert.equal(message.display_recipient, 'Verona');
    assert.equal(message.sender_full_name, 'iago');
    assert.equal(message.content, json.data);
    assert.equal(message.timestamp, Math.floor(Date.parse(asked.timestamp) / 1000));
    assert.ok([message.id, message.stream_id, message.sender_id].every((id) => Number.isSafeInteger(id) && id > 0));
  });

  test('content, the older response_string, and all that means silence', async () => {
    const answers = [
      { content: 'one' },
      { response_string: 'two' },
      { response_not_required: true },
      {},
      { content: ' \n' },
      { content: 'last', widget_content: '{}' },
    ];
    const { username, calls } = await bot(({ n }) => answers[n - 1]);
    const room = await openRoom(cluster);
    for (let i = 0; i < answers.length; i++) {
      await room.say(`@${username} ${i}`);
      await eventually(() => calls().length === i + 1, { what: `call ${i + 1}` });
    }
    const last = await eventually(async () => (await room.messages()).filter(({ from }) => from === username), { what: 'replies' });
    await eventually(async () => (await room.messages()).some(({ text }) => text === 'last'), { what: 'the last reply' });
    assert.ok(last.length <= 3);
    assert.deepEqual((await room.messages()).filter(({ from }) => from !== 'eve').map(({ from, text }) => [from, text]).sort(), [[username, 'last'], [username, 'one'], [username, 'two']]);
  });

  test('what Zulip calls an invalid answer is a notice', async () => {
    const { username } = await bot(({ n }) => (n === 1 ? ['x'] : { body: 'not json' }));
    const room = await openRoom(cluster);
    for (const reason of [/is not a JSON object/, /is not JSON/]) assert.match((await room.noticeAbout(await room.say(`@${username} hi`), username)).text, reason);
  });
});
