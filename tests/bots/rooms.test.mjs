// SPDX-License-Identifier: MIT
//
// Rooms over HTTP: who creates and sees them, what they are called, and how they are listed.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertProblem, suite } from '../support/harness.mjs';
import { messagesRaw, newRoom, sayRaw } from '../support/rooms.mjs';
import { keysOfAll, SHARDS } from '../support/shards.mjs';

const accounts = {
  ...ACCOUNTS,
  Acme_1: { secret: 'acme-user-secret', role: 'user', namespace: 'acme' },
  Acme_F: { secret: 'acme-front-secret', role: 'frontend', namespace: 'acme' },
  Dash_1: { secret: 'dash-user-secret', role: 'user', namespace: '-' },
};

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
    assertProblem(full, 429, 'rate_limited');
    assert.match(full.headers['retry-after'], /^\d+$/);
    await newRoom(cluster, { as: 'Acme_1', name: 'theirs' });
  });
});
