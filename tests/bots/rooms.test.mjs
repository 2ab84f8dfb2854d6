// SPDX-License-Identifier: MIT
//
// Rooms over HTTP: who creates, sees and deletes them, what they are called, and how they are listed.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { messagesRaw, newRoom, openRoom, say, sayRaw } from '../support/rooms.mjs';
import { keyOf, keysOfAll, SHARDS } from '../support/shards.mjs';

const accounts = {
  ...ACCOUNTS,
  Acme_1: { secret: 'acme-user-secret', role: 'user', namespace: 'acme' },
  Acme_F: { secret: 'acme-front-secret', role: 'frontend', namespace: 'acme' },
  Dash_1: { secret: 'dash-user-secret', role: 'user', namespace: '-' },
};

const remove = (cluster, room, { as = 'User_1', user, ...more } = {}) => cluster.request('DELETE', `/api/rooms/${room}`, { as, query: user ? { OnBehalfOf: user } : {}, ...more });

suite('rooms that are deleted', { accounts, sweep: false }, ({ test, cluster }) => {
  const keysWith = async (text) => (await cluster.redis.cmd('KEYS', `*${text}*`)).sort();
  const gone = async (room) => assertProblem(await messagesRaw(cluster, room), 404, 'not_found');

  test('a room goes with its messages and deliveries, and everybody who follows it is told', async () => {
    const room = await newRoom(cluster);
    const username = `going-${process.pid}`;
    const bot = assertOk(await cluster.request('POST', '/api/bots', { as: 'User_1', body: { username } }), 201);
    const sockets = await Promise.all([0, 1].map((node) => openRoom(cluster, room, { node, as: 'User_2' })));
    const first = await say(cluster, room, `hello @${username}`);
    await say(cluster, room, 'again', { as: 'User_2', reply_to: first.id });
    const pull = () => cluster.request('GET', `/api/bots/${username}/deliveries`, { query: { Wait: 0 }, headers: { 'X-CALLER-KEY': bot.caller_key } });
    const { id } = assertOk(await pull());
    assert.ok((await keysWith(room)).length >= 4);
    assert.deepEqual(assertOk(await remove(cluster, room)), { status: 'OK' });
    assert.deepEqual(await keysWith(room), []);
    await gone(room);
    assertProblem(await sayRaw(cluster, room, 'hello'), 404, 'not_found');
    assertProblem(await remove(cluster, room), 404, 'not_found');
    const answer = await cluster.request('POST', `/api/bots/${username}/deliveries/${id}`, { headers: { 'X-CALLER-KEY': bot.caller_key }, body: { message: 'late' } });
    assertProblem(answer, 404, 'not_found');
    assert.equal((await pull()).status, 204);
    for (const socket of sockets) assert.equal(await socket.closed(), 1008);
    for (const key of keysOfAll('dlv_n')) assert.equal(await cluster.redis.cmd('HGET', key, username), null);
  });

  test('only who made it or an operator deletes it, in no other namespace, and the audit log says who', async () => {
    const room = await newRoom(cluster, { as: 'Frontend_1', user: 'maker' });
    for (const other of [{ as: 'User_1' }, { as: 'Frontend_1', user: 'other' }]) assertProblem(await remove(cluster, room, other), 403, 'forbidden');
    assertProblem(await remove(cluster, room, { as: 'Acme_1' }), 404, 'not_found');
    assertProblem(await remove(cluster, room, { as: 'Inference_1' }), 403, 'forbidden');
    for (const id of ['x', '0'.repeat(24)]) assertProblem(await remove(cluster, id), 404, 'not_found');
    assertOk(await remove(cluster, room, { as: 'Frontend_1', user: 'maker' }));
    const theirs = await newRoom(cluster, { as: 'Acme_1' });
    assertOk(await remove(cluster, theirs, { as: 'Operator_1' }));
    const deletions = async () => assertOk(await cluster.request('GET', '/api/audit', { as: 'Operator_1' })).Events.filter(({ Event }) => Event === 'room_deleted').map(({ Account, Path }) => `${Account} ${Path}`);
    for (const seen of [`Frontend_1 /api/rooms/${room}`, `Operator_1 /api/rooms/${theirs}`]) await eventually(async () => (await deletions()).includes(seen), { what: seen });
  });

  test('of many messages each part is deleted, and what they counted is given back', async () => {
    const room = await newRoom(cluster, { as: 'Frontend_1', user: 'talker' });
    for (let i = 0; i < 1200; i += 100) await Promise.all(Array.from({ length: 100 }, (_, k) => say(cluster, room, `message ${i + k}`, { as: 'Frontend_1', user: `t${k % 3}` })));
    assertOk(await remove(cluster, room, { as: 'Frontend_1', user: 'talker' }));
    assert.deepEqual(await keysWith(room), []);
    for (const key of keysOfAll('messages_of')) for (const user of ['t0', 't1', 't2']) assert.equal(await cluster.redis.cmd('HGET', key, user), null);
  });

  test('the name of a user is free with its last message, whichever shards its rooms are on', async () => {
    const username = `free-${process.pid}`, talker = { as: 'Frontend_1', user: username };
    const rooms = await Promise.all(Array.from({ length: 12 }, () => newRoom(cluster, { as: 'Frontend_1', user: 'maker' })));
    for (const room of rooms) await say(cluster, room, 'hello', talker);
    const register = () => cluster.request('POST', '/api/bots', { as: 'User_1', body: { username } });
    const last = rooms.pop();
    for (const room of rooms) assertOk(await remove(cluster, room, { as: 'Frontend_1', user: 'maker' }));
    assertProblem(await register(), 409, 'name_taken');
    assertOk(await remove(cluster, last, { as: 'Frontend_1', user: 'maker' }));
    await eventually(async () => (await register()).status === 201, { what: 'a bot has the name' });
    assertProblem(await sayRaw(cluster, await newRoom(cluster), 'me again', talker), 409, 'name_taken');
  });

  test('a room in which nobody writes for a week goes by itself; one with messages or a listener stays', async () => {
    const [idle, used, followed] = [await newRoom(cluster), await newRoom(cluster), await newRoom(cluster)];
    await say(cluster, used, 'here');
    const socket = await openRoom(cluster, followed);
    const week = Date.now() - 7 * 86_400_000 - 1000;
    for (const key of keysOfAll('rooms_empty')) for (const room of [idle, used, followed]) await cluster.redis.cmd('ZADD', key, 'XX', week, room);
    await eventually(async () => (await messagesRaw(cluster, idle)).status === 404, { what: 'the idle room is gone' });
    assert.deepEqual(await keysWith(idle), []);
    for (const room of [used, followed]) assert.equal((await messagesRaw(cluster, room)).status, 200);
    await socket.close();
  });

  test('a deletion that its node did not end is ended by others', async () => {
    const room = await newRoom(cluster);
    await say(cluster, room, 'here');
    const key = keyOf(room, `room:${room}`);
    await cluster.redis.cmd('HDEL', key, 'namespace');
    await cluster.redis.cmd('ZADD', keyOf(room, 'rooms_going'), Date.now() - 60_000, room);
    await eventually(async () => (await cluster.redis.cmd('EXISTS', key)) === 0, { what: 'the room is gone' });
  });
});

suite('rooms', { accounts, sweep: false }, ({ test, cluster }) => {
  const listRaw = (as, query = {}, more = {}) => cluster.request('GET', '/api/rooms', { as, query, ...more });
  const all = async (as, query = {}) => {
    const rooms = [];
    let after;
    for (;;) {
      const response = await listRaw(as, { ...query, after });
      rooms.push(...assertOk(response).rooms);
      const next = /after=([^>]+)>/.exec(response.headers.link ?? '');
      if (!next) return rooms;
      after = decodeURIComponent(next[1]);
    }
  };

  test('a room is seen by all accounts of its namespace, on every node, newest first', async () => {
    const first = await newRoom(cluster, { as: 'User_1', name: 'Tea kitchen', node: 0 });
    const second = await newRoom(cluster, { as: 'Frontend_1', user: 'bob', name: 'Büro "2"\n\u{1f375}', node: 1 });
    for (const node of [0, 1]) {
      const { rooms } = assertOk(await listRaw('User_2', {}, { node }));
      assert.deepEqual(rooms.slice(0, 2), [{ id: second, name: 'Büro "2"\n\u{1f375}' }, { id: first, name: 'Tea kitchen' }]);
    }
  });

  // Longer than what is put together in one step.
  test('a long list is whole: each room once, with a Link only when there are more', async () => {
    const made = [];
    for (let i = 0; i < 600; i += 50) made.push(...(await Promise.all(Array.from({ length: 50 }, (_, k) => newRoom(cluster, { as: 'Acme_1', name: `${i + k} ${'x'.repeat(120)}` })))));
    const { rooms } = assertOk(await listRaw('Acme_1', { limit: 1000 }));
    assert.deepEqual(rooms.map(({ id }) => id).filter((id) => made.includes(id)).sort(), made.sort());
    const some = assertOk(await listRaw('Acme_1', { limit: 500 })).rooms;
    assert.deepEqual(some, rooms.slice(0, 500));
    assert.deepEqual((await all('Acme_1', { limit: 500 })).map(({ id }) => id), rooms.map(({ id }) => id));
  });

  test('of another namespace a room does not exist: not in lists, not to read, not to write, not to listen', async () => {
    const ours = await newRoom(cluster, { as: 'User_1', name: 'ours' });
    const theirs = await newRoom(cluster, { as: 'Acme_1', name: 'theirs' });
    const dash = await newRoom(cluster, { as: 'Dash_1', name: 'dash' });
    const seen = { User_1: ours, Acme_1: theirs, Dash_1: dash };
    for (const [as, own] of Object.entries(seen)) {
      const ids = (await all(as)).map(({ id }) => id);
      for (const [, room] of Object.entries(seen)) {
        assert.equal(ids.includes(room), room === own, `${as} and ${room}`);
        if (room === own) continue;
        assertProblem(await messagesRaw(cluster, room, { as }), 404, 'not_found');
        assertProblem(await sayRaw(cluster, room, 'hello', { as }), 404, 'not_found');
        const Token = assertOk(await cluster.request('GET', '/api/login', { as })).Token;
        assertProblem(await cluster.request('GET', `/ws/rooms/${room}?token=${Token}`), 404, 'not_found');
      }
    }
    assert.equal((await messagesRaw(cluster, theirs, { as: 'Acme_F', user: 'zoe' })).status, 200);
  });

  test('a name has 1 to 128 bytes', async () => {
    const create = (body) => cluster.request('POST', '/api/rooms', { as: 'User_1', body });
    await newRoom(cluster, { name: 'x'.repeat(128) });
    await newRoom(cluster, { name: '"'.repeat(128) });
    for (const body of [{}, { name: '' }, { name: 'x'.repeat(129) }, { name: 7 }, { name: null }, { name: 'ä'.repeat(65) }]) {
      assertProblem(await create(body), 400, 'bad_request');
    }
    assertProblem(await cluster.request('POST', '/api/rooms', { as: 'User_1', body: '[]' }), 400, 'bad_json');
  });

  test('engines and operators have no rooms, and nobody without credentials', async () => {
    const room = await newRoom(cluster);
    for (const as of ['Inference_1', 'Operator_1']) {
      assertProblem(await cluster.request('POST', '/api/rooms', { as, body: { name: 'x' } }), 403, 'forbidden');
      assertProblem(await listRaw(as), 403, 'forbidden');
      assertProblem(await sayRaw(cluster, room, 'hello', { as }), 403, 'forbidden');
      assertProblem(await messagesRaw(cluster, room, { as }), 403, 'forbidden');
    }
    assertProblem(await cluster.request('GET', '/api/rooms'), 401, 'unauthorized');
    assertProblem(await cluster.request('GET', `/ws/rooms/${room}`), 401, 'unauthorized');
    assertProblem(await listRaw('Frontend_1'), 400, 'bad_request'); // for whom?
    assertProblem(await listRaw('User_1', { OnBehalfOf: 'bob' }), 403, 'forbidden');
  });

  test('what is no id of a room is 404, whatever it looks like', async () => {
    for (const id of ['x', '0'.repeat(24), 'A'.repeat(24), '0'.repeat(25), '%7B0%7D', '..%2F..', '%20', 'ä'.repeat(12)]) {
      const room = id.includes('%') ? id : encodeURIComponent(id);
      assertProblem(await messagesRaw(cluster, room), 404, 'not_found');
      assertProblem(await sayRaw(cluster, room, 'hello'), 404, 'not_found');
    }
  });

  test('a thousand rooms are listed a page at a time, each once', async () => {
    const before = (await all('User_1')).length;
    const names = Array.from({ length: 1000 }, (_, i) => `room ${i}`);
    for (let i = 0; i < names.length; i += 50) {
      await Promise.all(names.slice(i, i + 50).map((name) => newRoom(cluster, { name })));
    }
    for (const limit of [7, 100, 1000, undefined]) {
      const rooms = limit === 7 ? assertOk(await listRaw('User_1', { limit })).rooms : await all('User_1', { limit });
      if (limit === 7) {
        assert.equal(rooms.length, 7);
        continue;
      }
      assert.equal(rooms.length, before + 1000);
      assert.equal(new Set(rooms.map(({ id }) => id)).size, rooms.length);
      assert.deepEqual(new Set(rooms.slice(0, 1000).map(({ name }) => name)), new Set(names));
    }
    for (const limit of [0, 1001, 'x', -1]) assertProblem(await listRaw('User_1', { limit }), 400, 'bad_request');
    for (const after of ['x', '1', '1.', '.0', `1.${'0'.repeat(23)}`, '1.0.0']) assertProblem(await listRaw('User_1', { after }), 400, 'bad_request');
  });

  test('a namespace has 20,000 rooms at most, and others are not affected', async () => {
    const most = Math.ceil(20000 / SHARDS);
    for (const key of keysOfAll('rooms:%')) {
      const members = Array.from({ length: most }, (_, i) => [1, `filler${i}`]).flat();
      for (let i = 0; i < members.length; i += 2000) await cluster.redis.cmd('ZADD', key, ...members.slice(i, i + 2000));
    }
    const full = await cluster.request('POST', '/api/rooms', { as: 'User_1', body: { name: 'one more' } });
    assertProblem(full, 503, 'namespace_full');
    assert.match(full.headers['retry-after'], /^\d+$/);
    await newRoom(cluster, { as: 'Acme_1', name: 'theirs' });
    for (const key of keysOfAll('rooms:%')) await cluster.redis.cmd('ZREMRANGEBYSCORE', key, 1, 1);
    await newRoom(cluster);
  });

  test('an account has half of them at most, and other accounts have the rest', async () => {
    for (const key of keysOfAll('rooms_n')) await cluster.redis.cmd('HSET', key, 'User_1', 10000);
    const full = await cluster.request('POST', '/api/rooms', { as: 'User_1', body: { name: 'one more' } });
    assertProblem(full, 429, 'rate_limited');
    assert.match(full.json.detail, /^This account/);
    assert.match(full.headers['retry-after'], /^\d+$/);
    await newRoom(cluster, { as: 'User_2' });
  });
});
