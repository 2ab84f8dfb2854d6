// SPDX-License-Identifier: MIT
//
// Messages of rooms over HTTP: what is stored, who gets tagged, what it may reply to, and how it is read again.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertProblem, suite } from '../support/harness.mjs';
import { messages, messagesRaw, newRoom, say, sayRaw } from '../support/rooms.mjs';

const accounts = {
  ...ACCOUNTS,
  Small_1: { secret: 'small-user-secret', role: 'user', max_stored: 65536 },
};
const TEXT_MAX = 65536;

suite('messages', { accounts, sweep: false }, ({ test, cluster }) => {
  const shown = ({ from, text, tagged, reply_to }) => ({ from, text, tagged, reply_to });

  test('a message is answered as it is read again, by every node and account', async () => {
    const room = await newRoom(cluster);
    const first = await say(cluster, room, 'Hello', { as: 'User_1', node: 0 });
    assert.deepEqual(shown(first), { from: 'User_1', text: 'Hello', tagged: [], reply_to: null });
    assert.match(first.timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(new Date(first.timestamp).getTime(), Number(first.id.split('-')[0]));
    const second = await say(cluster, room, 'Hi', { as: 'Frontend_1', user: 'bob', reply_to: first.id, node: 1 });
    assert.deepEqual(shown(second), { from: 'bob', text: 'Hi', tagged: [], reply_to: first.id });
    for (const node of [0, 1]) assert.deepEqual(await messages(cluster, room, { as: 'User_2', node }), [first, second]);
  });

  test('any text comes back as it was, up to 64 KiB', async () => {
    const room = await newRoom(cluster);
    const texts = [' ', '\n', '\u0001"\\/\u2028\u{1f375} <b>&amp;</b> %s $1 \x7f', '{"text":1}', 'null', '7', 'x'.repeat(TEXT_MAX), '\u0001'.repeat(TEXT_MAX), '"\n'.repeat(TEXT_MAX / 2), '\u{1f375}'.repeat(TEXT_MAX / 4)];
    for (const text of texts) await say(cluster, room, text);
    const read = [];
    for (let after; ; after = read.at(-1).id) {
      const page = await messages(cluster, room, { after });
      if (page.length === 0) break;
      read.push(...page);
    }
    assert.deepEqual(read.map(({ text }) => text), texts);
  });

  test('what is wrong with a message is named, and nothing is stored', async () => {
    const room = await newRoom(cluster);
    const wrong = {
      text: [{}, { text: '' }, { text: null }, { text: 7 }, { text: ['x'] }, { text: 'x'.repeat(TEXT_MAX + 1) }, { text: 'ä'.repeat(TEXT_MAX / 2 + 1) }],
      reply_to: [{ text: 'x', reply_to: 'x' }, { text: 'x', reply_to: 7 }, { text: 'x', reply_to: '' }, { text: 'x', reply_to: '1-1' }, { text: 'x', reply_to: '+' }, { text: 'x', reply_to: '18446744073709551616-0' }, { text: 'x', reply_to: '18446744073709551615-18446744073709551615' }],
      tagged: [{ text: 'x', tagged: 'x' }, { text: 'x', tagged: [7] }, { text: 'x', tagged: [''] }, { text: 'x', tagged: ['x'.repeat(129)] }, { text: 'x', tagged: Array(21).fill('User_1') }, { text: 'x', tagged: {} }],
    };
    for (const [word, bodies] of Object.entries(wrong)) {
      for (const body of bodies) {
        const response = await sayRaw(cluster, room, null, { body });
        assertProblem(response, 400, 'bad_request');
        assert.ok(response.json.detail.includes(word), `${JSON.stringify(body).slice(0, 80)}: ${response.json.detail}`);
      }
    }
    for (const body of ['', '[]', '{"text":"x"', '{"text":"\\u0000"}', Buffer.from([123, 34, 255, 34, 125])]) {
      assertProblem(await sayRaw(cluster, room, null, { body }), 400, 'bad_json');
    }
    assertProblem(await sayRaw(cluster, room, null, { body: JSON.stringify({ text: 'x', more: 'y'.repeat(600 << 10) }) }), 413, 'too_large');
    assert.deepEqual(await messages(cluster, room), []);
  });

  test('null is as good as nothing', async () => {
    const room = await newRoom(cluster);
    const message = assertOk(await sayRaw(cluster, room, null, { body: { text: 'x', reply_to: null, tagged: null } }), 201);
    assert.deepEqual(shown(message), { from: 'User_1', text: 'x', tagged: [], reply_to: null });
  });

  test('names in tagged and in the text tag, each once, in their order', async () => {
    const room = await newRoom(cluster);
    const as = 'Frontend_1';
    for (const user of ['ada', 'bob', 'Eve Ada', 'Jörg', 'a.b-c_d']) await say(cluster, room, 'here', { as, user });
    const tagged = async (text, tags, user = 'ada') => (await say(cluster, room, text, { as, user, tagged: tags })).tagged;
    assert.deepEqual(await tagged('hello @bob, @Jörg. and @a.b-c_d!'), ['bob', 'Jörg', 'a.b-c_d']);
    assert.deepEqual(await tagged('@bob @bob', ['Eve Ada', 'bob', 'Eve Ada']), ['Eve Ada', 'bob']);
    assert.deepEqual(await tagged('mail ada@bob, @nobody and @Bob'), []);
    assert.deepEqual(await tagged('@ada talks to herself'), ['ada']);
    assert.deepEqual(await tagged('@annex is there'), ['annex']);
  });

  test('a name in tagged that nobody has is 400, in the text it is just text', async () => {
    const room = await newRoom(cluster);
    await say(cluster, room, 'here', { as: 'Frontend_1', user: 'tag-a' });
    const response = await sayRaw(cluster, room, 'x', { tagged: ['tag-a', 'no"body'] });
    assertProblem(response, 400, 'bad_request');
    assert.match(response.json.detail, /no"body/);
    assert.deepEqual((await say(cluster, room, '@no-body', { tagged: ['tag-a'] })).tagged, ['tag-a']);
    assert.equal((await messages(cluster, room)).length, 2);
  });

  test('names that were heard of in one room are known in all others, on all shards', async () => {
    await say(cluster, await newRoom(cluster), 'here', { as: 'Frontend_1', user: 'everywhere' });
    for (let i = 0; i < 8; i++) {
      const room = await newRoom(cluster);
      assert.deepEqual((await say(cluster, room, '@everywhere', { tagged: ['everywhere'] })).tagged, ['everywhere']);
    }
  });

  test('the same name in two namespaces is two people', async () => {
    const room = await newRoom(cluster);
    await say(cluster, room, 'here', { as: 'Frontend_1', user: 'only~here' });
    assert.deepEqual((await say(cluster, room, 'x', { tagged: ['only~here'] })).tagged, ['only~here']);
  });

  test('nobody speaks as the main bot', async () => {
    const room = await newRoom(cluster);
    assertProblem(await sayRaw(cluster, room, 'I am it', { as: 'Frontend_1', user: 'annex' }), 409, 'name_taken');
    assert.deepEqual(await messages(cluster, room), []);
  });

  test('a reply is to a message of the same room', async () => {
    const [room, other] = [await newRoom(cluster), await newRoom(cluster)];
    const { id } = await say(cluster, room, 'x');
    assertProblem(await sayRaw(cluster, other, 'y', { reply_to: id }), 400, 'bad_request');
    assert.equal((await say(cluster, room, 'y', { reply_to: id })).reply_to, id);
  });

  test('the largest message: 20 tags and 50 mentions in 64 KiB', async () => {
    const room = await newRoom(cluster);
    const as = 'Frontend_1';
    const users = Array.from({ length: 70 }, (_, i) => `${String(i).padStart(3, '0')}-${(i < 20 ? '"' : 'm').repeat(124)}`);
    for (const user of users) await say(cluster, room, 'here', { as, user });
    const mentions = users.slice(20).map((user) => `@${user}`).join(' ');
    const text = `${mentions} ${'\u0002'.repeat(TEXT_MAX - mentions.length - 1)}`;
    const message = await say(cluster, room, text, { as, user: 'ada', tagged: users.slice(0, 20) });
    assert.deepEqual(message.tagged, users);
    assert.deepEqual((await messages(cluster, room, { limit: 1000 })).at(-1), message);
  });

  test('messages are read a page at a time, each once and in their order', async () => {
    const room = await newRoom(cluster);
    const said = [];
    for (let i = 0; i < 120; i += 30) {
      const some = await Promise.all(Array.from({ length: 30 }, (_, k) => say(cluster, room, `message ${i + k}`)));
      said.push(...some);
    }
    const order = ({ id }) => id.split('-').map(Number);
    said.sort((a, b) => order(a)[0] - order(b)[0] || order(a)[1] - order(b)[1]);
    assert.deepEqual(await messages(cluster, room), said.slice(0, 100));
    assert.deepEqual(await messages(cluster, room, { limit: 1000 }), said);
    assert.deepEqual(await messages(cluster, room, { after: said[118].id }), said.slice(119));
    assert.deepEqual(await messages(cluster, room, { after: '' }), said.slice(0, 100));
    assert.deepEqual(await messages(cluster, room, { after: '99999999999999-0' }), []);
    const first = await messagesRaw(cluster, room, { limit: 50 });
    const link = /<([^>]+)>; rel="next"/.exec(first.headers.link)[1];
    assert.equal(decodeURIComponent(/after=([^&]+)/.exec(link)[1]), said[49].id);
    assert.equal((await messagesRaw(cluster, room, { limit: 120 })).headers.link, undefined);
    assert.deepEqual(await messages(cluster, room, { after: '999999999999999999-999999999999999999' }), []);
    for (const after of ['x', '1', '1-', '$', '-', '+', '(1-1', '18446744073709551615-18446744073709551615']) assertProblem(await messagesRaw(cluster, room, { after }), 400, 'bad_request');
    for (const limit of [0, 1001, 'x']) assertProblem(await messagesRaw(cluster, room, { limit }), 400, 'bad_request');
  });

  test('a thousand of the largest texts are read with Link, not in one answer', async () => {
    const room = await newRoom(cluster);
    const text = 'x'.repeat(TEXT_MAX);
    for (let i = 0; i < 300; i += 30) await Promise.all(Array.from({ length: 30 }, () => say(cluster, room, text)));
    const response = await messagesRaw(cluster, room, { limit: 1000 });
    const { messages: page } = assertOk(response);
    assert.ok(page.length > 200 && page.length < 300, `${page.length} in one answer`);
    assert.match(response.headers.link, new RegExp(`after=${page.at(-1).id}`));
    assert.equal((await messages(cluster, room, { limit: 1000, after: page.at(-1).id })).length, 300 - page.length);
  });

  test('what an account stores in rooms counts against max_stored', async () => {
    const room = await newRoom(cluster, { as: 'Small_1' });
    let refused;
    for (let i = 0; i < 30 && !refused; i++) {
      const response = await sayRaw(cluster, room, 'x'.repeat(4000), { as: 'Small_1' });
      if (response.status !== 201) refused = response;
    }
    assertProblem(refused, 429, 'too_much_stored');
    assert.match(refused.headers['retry-after'], /^\d+$/);
    await say(cluster, room, 'others go on', { as: 'User_1' });
  });

  test('a signed request posts once: its nonce is used up', async () => {
    const room = await newRoom(cluster);
    const path = cluster.path(`/api/rooms/${room}/messages`, { as: 'User_1' });
    const responses = [];
    for (const node of [0, 1, 0]) responses.push((await cluster.request('POST', path, { node, body: { text: 'once' } })).status);
    assert.deepEqual(responses, [201, 401, 401]);
    assert.equal((await messages(cluster, room)).length, 1);
  });
});
