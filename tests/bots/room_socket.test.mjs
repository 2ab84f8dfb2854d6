// SPDX-License-Identifier: MIT
//
// Sockets of rooms: messages as they come, on every node, each once and in order; replay; nodes and clients that die.
import assert from 'node:assert/strict';
import { ACCOUNTS, assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { messages, newRoom, openRoom, roomUrl, say, sayRaw } from '../support/rooms.mjs';
import { findKey, keyOf } from '../support/shards.mjs';

const LISTENERS = 50;
const TEXT_MAX = 65536;
const accounts = {
  ...ACCOUNTS,
  Acme_1: { secret: 'acme-user-secret', role: 'user', namespace: 'acme' },
  Small_1: { secret: 'small-user-secret', role: 'user', max_stored: 65536 },
};

suite('/ws/rooms', { accounts, sweep: false }, ({ test, cluster }) => {
  const texts = async (socket, n) => {
    const list = [];
    while (list.length < n) list.push((await socket.next()).text);
    return list;
  };
  const numbered = (n, from = 0) => Array.from({ length: n }, (_, i) => `message ${from + i}`);

  test('a message comes to the sockets of all nodes as HTTP shows it, also to its sender', async () => {
    const room = await newRoom(cluster);
    const sockets = await Promise.all([0, 1].flatMap((node) => [openRoom(cluster, room, { node }), openRoom(cluster, room, { node, as: 'User_2' }), openRoom(cluster, room, { node, as: 'Frontend_1', user: 'bob' })]));
    const first = await say(cluster, room, 'over HTTP', { as: 'User_1', node: 0 });
    sockets[1].send(JSON.stringify({ text: 'on a socket', reply_to: first.id, tagged: ['User_1'], from: 'eve', hop: 3 }));
    for (const socket of sockets) {
      assert.deepEqual(await socket.next(), first);
      const { id, timestamp, ...second } = await socket.next();
      assert.deepEqual(second, { from: 'User_2', text: 'on a socket', tagged: ['User_1'], reply_to: first.id });
      await socket.close();
    }
  });

  test('without after come new messages, with after those after it, with an empty one all', async () => {
    const room = await newRoom(cluster);
    const said = [];
    for (const text of numbered(5)) said.push(await say(cluster, room, text));
    for (const node of [0, 1]) {
      const all = await openRoom(cluster, room, { node, after: '' });
      const some = await openRoom(cluster, room, { node, after: said[2].id });
      const none = await openRoom(cluster, room, { node });
      said.push(await say(cluster, room, `message ${said.length}`));
      assert.deepEqual(await texts(all, said.length), said.map(({ text }) => text));
      assert.deepEqual(await texts(some, said.length - 3), said.slice(3).map(({ text }) => text));
      assert.deepEqual(await none.next(), said.at(-1));
      for (const socket of [all, some, none]) await socket.close();
    }
    const url = await roomUrl(cluster, room);
    for (const after of ['x', '1', '+', '-1', '1-1-1']) {
      assertProblem(await cluster.request('GET', `${new URL(url).pathname}${new URL(url).search}&after=${encodeURIComponent(after)}`), 400, 'bad_request');
    }
  });

  test('a long replay comes whole and in order while others write', async () => {
    const room = await newRoom(cluster);
    for (let i = 0; i < 900; i += 100) await Promise.all(numbered(100, i).map((text) => say(cluster, room, text)));
    const socket = await openRoom(cluster, room, { after: '', node: 1 });
    await Promise.all(numbered(100, 900).map((text) => say(cluster, room, text)));
    const seen = [];
    while (seen.length < 1000) seen.push(await socket.next());
    assert.deepEqual(seen, await messages(cluster, room, { limit: 1000 }));
    await socket.close();
  });

  test('the largest messages come to a socket, one after the other and many at once', async () => {
    const room = await newRoom(cluster);
    const [live, from] = [await openRoom(cluster, room, { node: 0 }), await openRoom(cluster, room, { node: 1 })];
    const big = Array.from({ length: 20 }, (_, i) => String.fromCharCode(1 + i).repeat(TEXT_MAX));
    await Promise.all(big.map((text) => say(cluster, room, text)));
    from.send(JSON.stringify({ text: '\u001f'.repeat(TEXT_MAX) }));
    for (const socket of [live, from, await openRoom(cluster, room, { after: '' })]) {
      const seen = await texts(socket, 21);
      assert.deepEqual(new Set(seen), new Set([...big, '\u001f'.repeat(TEXT_MAX)]));
      await socket.close();
    }
  });

  test('what cannot be stored is answered on its socket alone, and the socket stays', async () => {
    const room = await newRoom(cluster);
    const [socket, other] = [await openRoom(cluster, room), await openRoom(cluster, room)];
    const wrong = ['', 'x', '[]', '{"text":7}', '{}', '{"text":""}', JSON.stringify({ text: 'x'.repeat(TEXT_MAX + 1) }), '{"text":"\\u0000"}', '{"text":"x","reply_to":"1-1"}', '{"text":"x","reply_to":"y"}', '{"text":"x","tagged":["nobody at all"]}', JSON.stringify(Object.fromEntries(numbered(65).map((name) => [name, 1])))];
    for (const text of wrong) {
      socket.send(text);
      const { error } = await socket.next();
      assert.match(error.code, /^bad_(json|request)$/, text.slice(0, 50));
    }
    socket.send(JSON.stringify({ text: 'and on' }));
    assert.equal((await socket.next()).text, 'and on');
    assert.equal((await other.next()).text, 'and on');
    const small = await openRoom(cluster, room, { as: 'Small_1' });
    let error;
    while (!error) {
      small.send(JSON.stringify({ text: 'x'.repeat(9000) }));
      error = (await small.next()).error;
    }
    assert.equal(error.code, 'too_much_stored');
    const annex = await openRoom(cluster, room, { as: 'Frontend_1', user: 'annex' });
    annex.send(JSON.stringify({ text: 'I am it' }));
    assert.equal((await annex.next()).error.code, 'name_taken');
    for (const one of [socket, other, small, annex]) await one.close();
  });

  test('messages of one socket are stored in the order in which they were sent', async () => {
    const room = await newRoom(cluster);
    const socket = await openRoom(cluster, room);
    for (const text of numbered(200)) socket.send(JSON.stringify({ text }));
    assert.deepEqual(await texts(socket, 200), numbered(200));
    await socket.close();
  });

  test(`${LISTENERS} listeners on two nodes get every message once and in one order while all of them talk`, async () => {
    const room = await newRoom(cluster);
    const sockets = await Promise.all(Array.from({ length: LISTENERS }, (_, i) => openRoom(cluster, room, { node: i % 2, as: 'Frontend_1', user: `user-${i}` })));
    sockets.forEach((socket, i) => numbered(4).forEach((text) => socket.send(JSON.stringify({ text: `${i}: ${text}` }))));
    const all = [];
    for (const socket of sockets) {
      const seen = [];
      while (seen.length < 4 * LISTENERS) seen.push((await socket.next()).id);
      all.push(seen);
    }
    const stored = (await messages(cluster, room, { limit: 1000 })).map(({ id }) => id);
    assert.equal(stored.length, 4 * LISTENERS);
    for (const seen of all) assert.deepEqual(seen, stored);
    await Promise.all(sockets.map((socket) => socket.close()));
  });

  test('a room hears nothing of another one, nor of another namespace\'s room', async () => {
    const [room, other, theirs] = [await newRoom(cluster), await newRoom(cluster), await newRoom(cluster, { as: 'Acme_1' })];
    const listeners = [await openRoom(cluster, other), await openRoom(cluster, theirs, { as: 'Acme_1' })];
    await say(cluster, room, 'not for you');
    await say(cluster, other, 'own');
    await say(cluster, theirs, 'own', { as: 'Acme_1' });
    for (const socket of listeners) {
      assert.equal((await socket.next()).text, 'own');
      await socket.close();
    }
    await assert.rejects(openRoom(cluster, theirs, { as: 'User_1' }), { status: 404 });
    await assert.rejects(openRoom(cluster, room, { as: 'Acme_1' }), { status: 404 });
    await assert.rejects(openRoom(cluster, 'x'), { status: 404 });
  });

  test('a client that does not read costs others nothing, and reads everything later', async () => {
    const room = await newRoom(cluster);
    const [slow, quick] = [await openRoom(cluster, room, { node: 0 }), await openRoom(cluster, room, { node: 0 })];
    slow.socket._socket.pause();
    const text = 'x'.repeat(TEXT_MAX);
    for (let i = 0; i < 160; i += 20) {
      await Promise.all(numbered(20, i).map((word) => say(cluster, room, `${word} ${text}`.slice(0, TEXT_MAX))));
      await texts(quick, 20);
    }
    slow.socket._socket.resume();
    const seen = [];
    while (seen.length < 160) seen.push((await slow.next()).id);
    const stored = [];
    while (stored.length < 160) stored.push(...(await messages(cluster, room, { limit: 100, after: stored.at(-1) ?? '' })).map(({ id }) => id));
    assert.deepEqual(seen, stored);
    await say(cluster, room, 'and on');
    assert.equal((await slow.next()).text, 'and on');
    await Promise.all([slow.close(), quick.close()]);
  });

  test('a node that is killed: its clients continue at another one after their last message, and miss nothing', async () => {
    const room = await newRoom(cluster);
    const node = await cluster.startNode();
    cluster.nodes.pop();
    const [there, here] = [await openRoom(cluster, room, { node }), await openRoom(cluster, room, { node: 0 })];
    const first = await say(cluster, room, 'before', { node });
    assert.deepEqual([await there.next(), await here.next()], [first, first]);
    there.send(JSON.stringify({ text: 'from there' }));
    const second = await here.next();
    assert.deepEqual(await there.next(), second);
    await node.kill();
    await there.closed();
    const said = [];
    for (const text of numbered(10)) said.push(await say(cluster, room, text));
    const again = await openRoom(cluster, room, { node: 1, after: second.id });
    for (const message of said) assert.deepEqual([await again.next(), await here.next()], [message, message]);
    await Promise.all([again.close(), here.close()]);
  });

  test('a node that ends closes its sockets with 1001', async () => {
    const room = await newRoom(cluster);
    const node = await cluster.startNode();
    cluster.nodes.pop();
    const socket = await openRoom(cluster, room, { node });
    node.signal('SIGTERM');
    assert.equal(await socket.closed(), 1001);
    await node.stop();
  });

  test('an event that is lost is noticed with the next message', async () => {
    const room = await newRoom(cluster);
    const socket = await openRoom(cluster, room, { node: 1 });
    const watch = keyOf(room, `room_watch:${room}`);
    await eventually(async () => (await cluster.redis.cmd('EXISTS', watch)) === 1, { what: 'the node watches the room' });
    await say(cluster, room, 'heard');
    assert.equal((await socket.next()).text, 'heard');
    const watchers = await cluster.redis.cmd('ZRANGE', watch, 0, -1, 'WITHSCORES');
    await cluster.redis.cmd('DEL', watch);
    for (const text of numbered(3)) await say(cluster, room, text, { node: 0 });
    for (let i = 0; i < watchers.length; i += 2) await cluster.redis.cmd('ZADD', watch, watchers[i + 1], watchers[i]);
    await say(cluster, room, 'message 3', { node: 0 });
    assert.deepEqual(await texts(socket, 4), numbered(4));
    await socket.close();
  });

  test('a Redis that was gone: sockets stay, and get what was said meanwhile', async () => {
    const room = await newRoom(cluster);
    const socket = await openRoom(cluster, room, { node: 0 });
    const key = await findKey(cluster.redis, `room:${room}`);
    assert.ok(key.endsWith(room));
    await say(cluster, room, 'before');
    assert.equal((await socket.next()).text, 'before');
    await cluster.redis.cmd('CLIENT', 'KILL', 'TYPE', 'pubsub'); // of all servers
    await eventually(async () => (await sayRaw(cluster, room, 'after')).status === 201);
    assert.equal((await socket.next()).text, 'after');
    await socket.close();
  });

  test('a socket whose account loses its right is closed', async () => {
    const room = await newRoom(cluster, { as: 'User_2' });
    const socket = await openRoom(cluster, room, { as: 'User_2' });
    const { User_2: { ...changed }, ...rest } = accounts;
    cluster.writeAccounts({ ...rest, User_2: { ...changed, secret: 'another-secret' } });
    for (const node of cluster.nodes) node.signal('SIGHUP');
    assert.equal(await socket.closed(), 1008);
    cluster.writeAccounts(accounts);
    for (const node of cluster.nodes) node.signal('SIGHUP');
    await eventually(async () => (await cluster.request('GET', '/api/login', { as: 'User_2' })).status === 200);
    assertOk(await cluster.request('GET', '/health'));
  });
});
