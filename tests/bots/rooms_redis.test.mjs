// SPDX-License-Identifier: MIT
//
// Rooms while Redis is full, or gone, or back without its data.
import assert from 'node:assert/strict';
import { assertProblem, eventually, suite } from '../support/harness.mjs';
import { messages, newRoom, openRoom, say, sayRaw } from '../support/rooms.mjs';

suite('rooms and Redis', { servers: 1, sweep: false, aof: true }, ({ test, cluster }) => {
  test('a Redis that is full takes no message, and rooms are read all the same', async () => {
    const room = await newRoom(cluster);
    const first = await say(cluster, room, 'before');
    const socket = await openRoom(cluster, room, { after: '' });
    assert.deepEqual(await socket.next(), first);
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      const refused = await sayRaw(cluster, room, 'no room');
      assertProblem(refused, 503, 'store_full');
      assert.match(refused.headers['retry-after'], /^\d+$/);
      assertProblem(await cluster.request('POST', '/api/rooms', { as: 'User_1', body: { name: 'x' } }), 503, 'store_full');
      socket.send(JSON.stringify({ text: '@annex /help' }));
      assert.equal((await socket.next()).error.code, 'store_full');
      assert.deepEqual(await messages(cluster, room), [first]);
      const other = await openRoom(cluster, room, { after: '', as: 'User_2' });
      assert.deepEqual(await other.next(), first);
      await other.close();
    } finally {
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    await say(cluster, room, 'after');
    assert.equal((await socket.next()).text, 'after');
    await socket.close();
  });

  test('sockets outlive a Redis that dies, and miss nothing of what was stored', async () => {
    const room = await newRoom(cluster);
    const sockets = await Promise.all([0, 1].map((node) => openRoom(cluster, room, { node })));
    await say(cluster, room, 'before');
    await cluster.redis.kill();
    assertProblem(await sayRaw(cluster, room, 'nobody stores this'), 503, 'redis_lost');
    await cluster.redis.restart();
    await eventually(async () => (await sayRaw(cluster, room, 'after', { node: 0 })).status === 201, { what: 'messages are stored again' });
    for (const socket of sockets) {
      assert.deepEqual([(await socket.next()).text, (await socket.next()).text], ['before', 'after']);
      await socket.close();
    }
  });

  test('a node ends in time while Redis is silent and messages and commands wait for it', async () => {
    const room = await newRoom(cluster);
    const node = await cluster.startNode({ args: ['--drain-seconds', '1'] });
    cluster.nodes.pop();
    const sockets = await Promise.all(['x', 'y', 'z'].map(() => openRoom(cluster, room, { node })));
    await say(cluster, room, '@annex /bots', { node });
    await cluster.redis.pause();
    try {
      sockets.forEach((socket, i) => socket.send(JSON.stringify({ text: ['hello', '@annex /bots', '@annex /register @x pull'][i] })));
      const waiting = ['hello', '@annex /bots'].map((text) => sayRaw(cluster, room, text, { node }).then(({ status }) => status, () => 'cut off'));
      node.signal('SIGTERM');
      for (const status of await Promise.all(waiting)) assert.ok(status === 503 || status === 'cut off', `${status}`);
      await Promise.all(sockets.map((socket) => socket.closed()));
      await node.stop();
      node.check();
    } finally {
      await cluster.redis.resume();
    }
    for (const i of [0, 1]) await eventually(async () => (await cluster.request('GET', '/readyz', { node: i })).status === 200, { what: 'the nodes have found Redis again' });
  });

  test('sockets of a room that is gone with Redis\'s data are closed', async () => {
    const room = await newRoom(cluster);
    const sockets = await Promise.all([0, 1].map((node) => openRoom(cluster, room, { node })));
    await eventually(async () => (await sayRaw(cluster, room, 'before')).status === 201, { what: 'every shard is reached again' });
    for (const socket of sockets) assert.equal((await socket.next()).text, 'before');
    await cluster.redis.cmd('FLUSHALL');
    await cluster.redis.restart();
    for (const socket of sockets) assert.equal(await socket.closed(), 1008);
    await eventually(async () => (await sayRaw(cluster, room, 'hello')).status !== 503, { what: 'messages are stored again' });
    assertProblem(await sayRaw(cluster, room, 'hello'), 404, 'not_found');
  });
});
