// SPDX-License-Identifier: MIT
//
// Bots that are models of this cluster, `parley:MODEL`: a room has an answering bot without a server of one's own.
import assert from 'node:assert/strict';
import { withEngine } from '../support/asking.mjs';
import { newBot, openRoom, registerBot } from '../support/bot_server.mjs';
import { withEngines } from '../support/engines.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';

suite('bots that are models', {}, ({ test, cluster }) => {
  test('without an engine it is tried again, and answers when one comes', async () => {
    const username = newBot('model');
    await registerBot(cluster, username, 'parley:default');
    const room = await openRoom(cluster);
    const asked = await room.say(`@${username} anybody there?`);
    const attempts = async () => {
      const [key] = await cluster.redis.cmd('KEYS', `*:dlv:dlv_${room.id}_*`);
      return Number(await cluster.redis.cmd('HGET', key, 'attempt'));
    };
    await eventually(async () => (await attempts()) >= 2, { what: 'the second attempt' });
    await withEngine(cluster, () => 'Here.', async () => assert.equal((await room.replyTo(asked)).text, 'Here.'));
  });

  test('a question that its engines gave up is a notice at once, and not asked again', async () => {
    const username = newBot('model');
    await registerBot(cluster, username, 'parley:default');
    const room = await openRoom(cluster);
    const asked = await room.say(`@${username} what is filtered?`);
    const { Topic, Lease } = await cluster.claim({ wait: 20, detail: true });
    assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease, Retry: false, Reason: 'filtered' } }));
    assert.match((await room.noticeAbout(asked, username)).text, /could not be answered/);
    assert.equal((await cluster.claim()).Topic, null);
  });

  test('the built-in engine answers in the room, from its documents', async () => {
    await withEngines(cluster, async ({ start, corpus }) => {
      await start(['--corpus', corpus]);
      const username = newBot('model');
      await registerBot(cluster, username, 'parley:default');
      const room = await openRoom(cluster);
      const reply = await room.replyTo(await room.say(`@${username} How long does a lease last?`));
      assert.equal(reply.from, username);
      assert.match(reply.text, /150 seconds/);
    });
  });

  test('a reply that its model did not end says so', async () => {
    await withEngine(cluster, ({ query }) => ({ text: 'It begins with', finish: query.includes('whole') ? 'stop' : 'length' }), async () => {
      const username = newBot('model');
      await registerBot(cluster, username, 'parley:default');
      const room = await openRoom(cluster);
      assert.equal((await room.replyTo(await room.say(`@${username} tell me all`))).text, 'It begins with […]');
      assert.equal((await room.replyTo(await room.say(`@${username} tell me the whole`))).text, 'It begins with');
    });
  });

  test('the model is asked as its registrant, with what was said before as a chat', async () => {
    await withEngine(cluster, () => 'It does.', async (engine) => {
      const username = newBot('model');
      await registerBot(cluster, username, 'parley:default', { user: 'owner', emulates: 'Ada L.' });
      const room = await openRoom(cluster);
      await room.say('first', { user: 'bob' });
      const reply = await room.replyTo(await room.say(`@${username}, does it work?`));
      assert.equal(reply.text, 'It does.');
      const again = await room.replyTo(await room.say('really?', { reply_to: reply.id }));
      assert.equal(again.text, 'It does.');
      const [one, two] = engine.prompts.map(({ modifiers }) => modifiers.Messages);
      assert.match(one[0].content, /Ada L\./);
      assert.deepEqual(one.slice(1), [{ role: 'user', content: 'bob: first' }, { role: 'user', content: 'does it work?' }]);
      assert.deepEqual(two.slice(2), [
        { role: 'user', content: `eve: @${username}, does it work?` },
        { role: 'assistant', content: 'It does.' },
        { role: 'user', content: 'really?' },
      ]);
      assert.deepEqual(engine.prompts.map(({ details }) => details.User), ['owner', 'owner']);
    });
  });
});
