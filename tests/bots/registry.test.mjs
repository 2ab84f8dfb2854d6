// SPDX-License-Identifier: MIT
//
// Bots over HTTP: registering, listing, rotating, removing; whose they are, and that their keys are shown once.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { newRoom, say, sayRaw } from '../support/rooms.mjs';
import { keysOfAll } from '../support/shards.mjs';

const accounts = {
  ...ACCOUNTS,
  Acme_1: { secret: 'acme-user-secret', role: 'user', namespace: 'acme' },
};
const KEY = /^pck_[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/;
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;
const HOUR_MS = 3_600_000;

// Everything in Redis, as text.
async function dumpOf(redis) {
  const parts = [];
  for (const key of await redis.cmd('KEYS', '*')) {
    const read = { string: ['GET', key], hash: ['HGETALL', key], list: ['LRANGE', key, 0, -1], set: ['SMEMBERS', key], zset: ['ZRANGE', key, 0, -1], stream: ['XRANGE', key, '-', '+'] }[await redis.cmd('TYPE', key)];
    parts.push(key, JSON.stringify(read ? await redis.cmd(...read) : ''));
  }
  return parts.join('\n');
}

suite('bots', { accounts, sweep: false }, ({ test, cluster }) => {
  let n = 0;
  const newName = () => `r-${process.pid}-${++n}`;
  const registerRaw = (body, { as = 'User_1', user, ...more } = {}) => cluster.request('POST', '/api/bots', { as, query: user ? { OnBehalfOf: user } : {}, body, ...more });
  const register = async (body, options) => assertOk(await registerRaw({ username: newName(), ...body }, options), 201);
  const list = async (as = 'User_1', query = {}) => assertOk(await cluster.request('GET', '/api/bots', { as, query })).bots;
  const remove = (username, { as = 'User_1', ...more } = {}) => cluster.request('DELETE', `/api/bots/${username}`, { as, ...more });
  const rotate = (username, { as = 'User_1', ...more } = {}) => cluster.request('POST', `/api/bots/${username}/rotate`, { as, ...more });
  const pull = (username, key, Wait = 0) => cluster.request('GET', `/api/bots/${username}/deliveries`, { query: { Wait }, headers: key ? { 'X-CALLER-KEY': key } : {} });
  const fieldOf = async (username, field, value) => {
    for (const key of await cluster.redis.cmd('KEYS', `*:bot:${username}`)) await cluster.redis.cmd('HSET', key, field, value);
  };

  test('a registration answers with the key and the secret, and is listed without them', async () => {
    const username = newName();
    const bot = await register({ username, emulates: 'Ann "A" Nö', endpoint: 'https://bots.example.org/coach' });
    assert.deepEqual(Object.keys(bot).sort(), ['caller_key', 'signing_secret', 'username']);
    assert.equal(bot.username, username);
    assert.match(bot.caller_key, KEY);
    assert.match(bot.signing_secret, SECRET);
    const mine = (await list()).find((one) => one.username === username);
    assert.deepEqual(mine, { username, emulates: 'Ann "A" Nö', endpoint: 'https://bots.example.org/coach', format: 'annex', pulls: false });
    const others = (await list('User_2')).find((one) => one.username === username);
    assert.equal(others.endpoint, null, 'where it is called is for its registrant to know');
    assert.equal((await list('Operator_1')).find((one) => one.username === username).endpoint, 'https://bots.example.org/coach');
    assert.ok(!(await list('Acme_1')).some((one) => one.username === username), 'another namespace does not see it');
  });

  test('without an endpoint it pulls; a model of the cluster is an endpoint; Zulip\'s format is one', async () => {
    const [a, b, c] = [await register({}), await register({ endpoint: 'parley:default' }), await register({ endpoint: null, format: 'zulip' })];
    const bots = await list();
    const of = ({ username }) => bots.find((one) => one.username === username);
    assert.deepEqual([of(a).pulls, of(a).endpoint, of(a).emulates], [true, null, null]);
    assert.deepEqual([of(b).pulls, of(b).endpoint], [false, 'parley:default']);
    assert.deepEqual([of(c).pulls, of(c).format], [true, 'zulip']);
  });

  test('no key and no secret is anywhere in Redis', async () => {
    const bot = await register({ endpoint: 'https://bots.example.org/x' });
    const renewed = assertOk(await rotate(bot.username));
    const text = await dumpOf(cluster.redis);
    assert.ok(text.includes(bot.username));
    for (const { caller_key, signing_secret } of [bot, renewed]) {
      for (const secret of [caller_key, caller_key.slice(4), caller_key.split('.')[1], signing_secret, signing_secret.slice(6)]) assert.ok(!text.includes(secret));
      const bytes = Buffer.from(signing_secret.slice(6), 'base64');
      for (const form of ['hex', 'base64url']) assert.ok(!text.includes(bytes.toString(form)));
    }
    for (const node of cluster.nodes) assert.ok(!node.log().includes(bot.caller_key) && !node.log().includes(bot.signing_secret));
  });

  test('a name is one user\'s, one bot\'s or annex\'s', async () => {
    const room = await newRoom(cluster, { as: 'Frontend_1', user: 'Somebody' });
    const speaker = newName(), bot = await register({});
    await say(cluster, room, 'I am here', { as: 'Frontend_1', user: speaker });
    for (const username of [speaker, bot.username, 'annex', 'ANNEX', 'User_2', 'Inference_1']) assertProblem(await registerRaw({ username }), 409, 'name_taken');
    assertProblem(await sayRaw(cluster, room, 'Me too', { as: 'Frontend_1', user: bot.username }), 409, 'name_taken');
    assertProblem(await sayRaw(cluster, room, 'Me too', { as: 'Frontend_1', user: 'annex' }), 409, 'name_taken');
    assertOk(await registerRaw({ username: speaker }, { as: 'Acme_1' }), 201);
  });

  test('a name that differs in case only, or that people take for another one, is taken', async () => {
    const username = newName(), room = await newRoom(cluster);
    const speaker = `Speaker-${newName()}`;
    await register({ username });
    await say(cluster, room, 'I am here', { as: 'Frontend_1', user: speaker });
    const alike = [username.toUpperCase(), username.replace('r', '\u{1d5cb}'), speaker.toLowerCase(), `\u0405${speaker.slice(1)}`, 'Annex', '\u0391nnex', 'an\u{1d5c7}ex', 'anne\u0445', 'USER_2', 'User\u200b_2', 'Us\u0435r_1'];
    for (const name of alike) assertProblem(await registerRaw({ username: name }), 409, 'name_taken');
    assertProblem(await registerRaw({ username: 'zoë' }), 400, 'bad_request');
    for (const user of [username.toUpperCase(), '\u0391nnex', 'ANNEX']) assertProblem(await sayRaw(cluster, room, 'Me too', { as: 'Frontend_1', user }), 409, 'name_taken');
    assertOk(await remove(username));
    await register({ username: username.toUpperCase() });
  });

  test('an account has half of a namespace\'s bots at most, and the namespace 1,000', async () => {
    const key = keysOfAll('bots_n')[0];
    await cluster.redis.cmd('HSET', key, 'Acme_1', 500);
    const mine = await registerRaw({ username: newName() }, { as: 'Acme_1' });
    assertProblem(mine, 429, 'rate_limited');
    assert.match(mine.json.detail, /^This account/);
    await cluster.redis.cmd('HDEL', key, 'Acme_1');
    await cluster.redis.cmd('ZADD', keysOfAll('bots:acme')[0], ...Array.from({ length: 1000 }, (_, i) => [1, `acme~filler${i}`]).flat());
    const ours = await registerRaw({ username: newName() }, { as: 'Acme_1' });
    assertProblem(ours, 503, 'namespace_full');
    assert.ok(mine.headers['retry-after'] && ours.headers['retry-after']);
    await cluster.redis.cmd('ZREMRANGEBYSCORE', keysOfAll('bots:acme')[0], 1, 1);
  });

  test('of many who want one name at once exactly one has it', async () => {
    const username = newName();
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => registerRaw({ username }, { node: i % 2, as: i % 3 ? 'User_1' : 'User_2' })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, ...Array(9).fill(409)]);
  });

  const BAD = {
    'no name': {},
    'an empty name': { username: '' },
    'a name with a space': { username: 'a b' },
    'a name with an @': { username: '@a' },
    'a name that begins with a dot': { username: '.a' },
    'a name of 65 characters': { username: 'x'.repeat(65) },
    'a name that is a number': { username: 7 },
    'a format that there is not': { username: 'x', format: 'slack' },
    'a person of 129 bytes': { username: 'x', emulates: 'x'.repeat(129) },
    'a list for an endpoint': { username: 'x', endpoint: [] },
    'an endpoint of 2,001 bytes': { username: 'x', endpoint: `https://example.org/${'x'.repeat(1981)}` },
  };
  for (const [what, body] of Object.entries(BAD)) test(`${what} is refused`, async () => assertProblem(await registerRaw(body), 400));

  const ENDPOINTS = ['ftp://example.org/', 'example.org', 'https://', 'https://u:p@example.org/', 'https://example.org/#x', 'https://exa mple.org/', 'parley:', 'http://127.0.0.1/', 'http://localhost:8080/', 'http://10.0.0.1/', 'http://192.168.1.1/', 'http://169.254.169.254/latest', 'http://[::1]/', 'http://[fe80::1]/', 'http://[::ffff:127.0.0.1]/', 'http://2130706433/', 'http://0x7f.1/', 'http://127.1/', 'http://a.localhost/', 'javascript:alert(1)', 'file:///etc/passwd', 'https://example.org\\@127.0.0.1/'];
  for (const endpoint of ENDPOINTS) test(`the endpoint ${endpoint} is refused`, async () => assertProblem(await registerRaw({ username: newName(), endpoint }), 400, 'bad_endpoint'));

  test('only its registrant or an operator changes a bot', async () => {
    const bot = await register({}, { as: 'Frontend_1', user: 'alice' });
    const as = { as: 'Frontend_1' };
    for (const other of [{ as: 'User_1' }, { ...as, query: { OnBehalfOf: 'bob' } }]) {
      assertProblem(await remove(bot.username, other), 403, 'bot_not_yours');
      assertProblem(await rotate(bot.username, other), 403, 'bot_not_yours');
    }
    assertProblem(await remove(bot.username, { as: 'Acme_1' }), 404);
    assertProblem(await remove(bot.username, { as: 'Inference_1' }), 403, 'forbidden');
    assertOk(await rotate(bot.username, { ...as, query: { OnBehalfOf: 'alice' } }));
    assertOk(await rotate(bot.username, { as: 'Operator_1' }));
    assert.deepEqual(assertOk(await remove(bot.username, { as: 'Operator_1' })), { status: 'OK' });
    assertProblem(await remove(bot.username, { as: 'Operator_1' }), 404);
    assertProblem(await rotate('nobody'), 404);
    assertProblem(await remove('x'.repeat(65)), 404);
  });

  test('the key of a bot that was removed is worthless, also when its name is registered again', async () => {
    const first = await register({});
    assertOk(await remove(first.username));
    assertProblem(await pull(first.username, first.caller_key), 401);
    const second = await register({ username: first.username });
    assert.notEqual(first.caller_key, second.caller_key);
    assertProblem(await pull(first.username, first.caller_key), 401);
    assert.equal((await pull(first.username, second.caller_key)).status, 204);
  });

  test('a rotated key is good at once, the former one for an hour, and the one before it no more', async () => {
    const first = await register({});
    const second = assertOk(await rotate(first.username));
    assert.notEqual(second.signing_secret, first.signing_secret);
    for (const { caller_key } of [first, second]) assert.equal((await pull(first.username, caller_key)).status, 204);
    const third = assertOk(await rotate(first.username));
    assertProblem(await pull(first.username, first.caller_key), 401);
    assert.equal((await pull(first.username, second.caller_key)).status, 204);
    await fieldOf(first.username, 'rotated', Date.now() - HOUR_MS - 1000);
    assertProblem(await pull(first.username, second.caller_key), 401);
    assert.equal((await pull(first.username, third.caller_key)).status, 204);
  });

  test('no key, half a key and another bot\'s key are refused, and guesses are counted', async () => {
    const bot = await register({}), other = await register({});
    assertProblem(await pull(bot.username), 401);
    assertProblem(await pull(bot.username, bot.caller_key.slice(0, -1)), 401);
    assertProblem(await pull(bot.username, other.caller_key), 401);
    const localAddress = '127.4.0.7';
    const guess = (i) => cluster.request('GET', `/api/bots/${bot.username}/deliveries`, { headers: { 'X-CALLER-KEY': `pck_${i}.${'A'.repeat(43)}` }, localAddress });
    await eventually(async () => (await guess(Math.random())).status === 429, { what: 'guesses are refused' });
    assert.equal((await pull(bot.username, bot.caller_key)).status, 204, 'from elsewhere the right key is good');
  });

  test('a registrant has 50 bots at most', async () => {
    const made = [];
    for (let i = 0; i < 50; i++) made.push((await register({}, { as: 'Frontend_1', user: 'collector' })).username);
    const answer = await registerRaw({ username: newName() }, { as: 'Frontend_1', user: 'collector' });
    assertProblem(answer, 429, 'rate_limited');
    assert.ok(answer.headers['retry-after']);
    assertOk(await remove(made[0], { as: 'Frontend_1', query: { OnBehalfOf: 'collector' } }));
    await register({}, { as: 'Frontend_1', user: 'collector' });
  });

  test('a list continues where Link says', async () => {
    const all = (await list('Operator_1', { limit: 1000 })).map(({ username }) => username);
    const found = [];
    for (let query = { limit: 7 }; query; ) {
      const answer = await cluster.request('GET', '/api/bots', { as: 'Operator_1', query });
      found.push(...assertOk(answer).bots.map(({ username }) => username));
      const link = /[?&]after=([^&>]+)/.exec(answer.headers.link ?? '');
      query = link ? { limit: 7, after: decodeURIComponent(link[1]) } : null;
    }
    assert.deepEqual(found, all);
    assert.ok(all.length > 50);
  });

  test('a signed registration that is sent again registers nothing', async () => {
    const body = { username: newName() };
    const signing = { nonce: newName() };
    assertOk(await cluster.request('POST', '/api/bots', { as: 'User_1', signing, body }), 201);
    const other = newName();
    assertProblem(await cluster.request('POST', '/api/bots', { as: 'User_1', signing, body: { username: other } }), 401, 'nonce_used');
    assert.ok(!(await list('User_1', { limit: 1000 })).some(({ username }) => username === other));
  });
});

suite('bots of the first clients', { accounts, sweep: false }, ({ test, cluster }) => {
  const register = (body, key) => cluster.request('POST', '/api/bots/register', { body, headers: key === undefined ? {} : { 'x-api-key': key } });
  const right = `User_1:${ACCOUNTS.User_1.secret}`;

  test('a key in a header registers', async () => {
    const answer = assertOk(await register({ username: 'first-client', name: 'Ann', endpoint: 'https://example.org/' }, right));
    assert.equal(typeof answer.message, 'string');
    assert.deepEqual([answer.bot.username, answer.bot.name, answer.bot.endpoint], ['first-client', 'Ann', 'https://example.org/']);
    assert.match(answer.bot.caller_key, KEY);
    assert.match(answer.bot.signing_secret, SECRET);
  });

  test('a wrong one is refused with {"message"}', async () => {
    for (const key of [undefined, '', 'User_1', 'User_1:', 'User_1:wrong', 'Nobody:wrong', `User_2:${ACCOUNTS.User_1.secret}`, `${right}x`]) {
      const answer = await register({ username: 'x' }, key);
      assert.equal(answer.status, 401, key);
      assert.deepEqual(Object.keys(answer.json), ['message']);
    }
  });

  test('other errors are problems as everywhere', async () => {
    assertProblem(await register({ username: 'first-client' }, right), 409, 'name_taken');
  });

  test('it is no credential on any other route', async () => {
    const headers = { 'x-api-key': right };
    assertProblem(await cluster.request('GET', '/api/bots', { headers }), 401);
    assertProblem(await cluster.request('GET', '/api/me', { headers }), 401);
  });
});
