// SPDX-License-Identifier: MIT
//
// What dies while a bot is called: its node, a node that comes back too late, Redis. The bot is called again under the
// same delivery id, and the room shows one reply.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { gate } from '../support/asking.mjs';
import { newBot, openRoom, registerBot, startBots } from '../support/bot_server.mjs';
import { assertProblem, eventually, suite } from '../support/harness.mjs';

let server;
before(async () => (server = await startBots()));
after(() => server.close());

const env = { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' };

suite('what dies while a bot is called', { aof: true, sweep: false, env }, ({ test, cluster }) => {
  const bot = async (answer) => {
    const username = newBot();
    server.bots[`/${username}`] = answer;
    await registerBot(cluster, username, server.url(`/${username}`));
    return { username, calls: () => server.of(`/${username}`) };
  };
  // No delivery is unfinished any more.
  const allOver = () => eventually(async () => (await cluster.redis.cmd('KEYS', '*:dlv_n')).length === 0, { ms: 60_000, what: 'no delivery is left' });
  const shown = async (room) => (await room.messages()).slice(1).map(({ from, text }) => [from, text]);
  const assertOneId = (calls) => assert.equal(new Set(calls.map(({ headers }) => headers['webhook-id'])).size, 1);
  const startAside = async () => {
    const node = await cluster.startNode();
    cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    after(() => node.stop().catch(() => {}));
    return node;
  };

  test('kill -9 of the node that calls: another one calls again under the same id, and the room shows one reply', async () => {
    const { username, calls } = await bot(({ n }) => (n === 1 ? undefined : { message: `call ${n}` }));
    const room = await openRoom(cluster);
    const dying = await startAside();
    const asked = await room.say(`@${username} hello`, { node: dying });
    await eventually(() => calls().length === 1, { what: 'the first call' });
    await dying.kill();
    assert.equal((await room.replyTo(asked)).text, 'call 2');
    await allOver();
    assertOneId(calls());
    assert.deepEqual(await shown(room), [[username, 'call 2']]);
  });

  test('a node that was suspended brings its answer too late: the room shows the other reply', async () => {
    const { hold, open } = gate();
    const { username, calls } = await bot(({ n }) => (n === 1 ? hold.then(() => ({ message: 'late' })) : { message: 'in time' }));
    const room = await openRoom(cluster);
    const suspended = await startAside();
    const asked = await room.say(`@${username} hello`, { node: suspended });
    await eventually(() => calls().length === 1, { what: 'the first call' });
    suspended.signal('SIGSTOP');
    try {
      assert.equal((await room.replyTo(asked)).text, 'in time');
      open();
    } finally {
      suspended.signal('SIGCONT');
    }
    await eventually(async () => (await cluster.request('GET', '/livez', { node: suspended })).status === 200, { what: 'the node is back' });
    await eventually(async () => /^parley_bot_deliveries_held 0$/m.test((await cluster.request('GET', '/metrics', { node: suspended })).text), { what: 'it has given up its delivery' });
    await allOver();
    assertOneId(calls());
    assert.deepEqual(await shown(room), [[username, 'in time']]);
  });

  test('Redis that restarts while the bot thinks: nothing is lost, and the room shows one reply', async () => {
    const { hold, open } = gate();
    const { username, calls } = await bot(({ n }) => (n === 1 ? hold.then(() => ({ message: 'one' })) : { message: 'again' }));
    const room = await openRoom(cluster);
    const asked = await room.say(`@${username} hello`);
    await eventually(() => calls().length === 1, { what: 'the first call' });
    await cluster.redis.kill();
    open();
    await eventually(async () => (await cluster.request('GET', '/readyz', { node: 0 })).status === 503, { what: 'the node knows' });
    await cluster.redis.restart();
    for (const node of [0, 1]) await eventually(async () => (await cluster.request('GET', '/readyz', { node })).status === 200, { what: 'the nodes are ready' });
    const { text } = await room.replyTo(asked);
    await allOver();
    assertOneId(calls());
    assert.deepEqual(await shown(room), [[username, text]]);
  });

  test('Redis that is full: new messages are refused, and the reply to an old one is stored', async () => {
    const { hold, open } = gate();
    const { username, calls } = await bot(() => hold.then(() => ({ message: 'there was room for this' })));
    const failing = await bot(() => hold.then(() => ({ status: 404, body: '' })));
    const room = await openRoom(cluster);
    const asked = await room.say(`@${username} @${failing.username} hello`);
    await eventually(() => calls().length + failing.calls().length === 2, { what: 'the calls' });
    await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '1');
    try {
      assertProblem(await room.sayRaw(`@${username} more`), 503, 'store_full');
      open();
      assert.equal((await room.replyTo(asked)).text, 'there was room for this');
      assert.match((await room.noticeAbout(asked, failing.username)).text, /404/);
    } finally {
      await cluster.redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
    await allOver();
    assert.deepEqual([calls().length, failing.calls().length], [1, 1]);
  });

  test('a node that drains leaves what it has not begun to the others', async () => {
    const { username, calls } = await bot(({ n }) => (n <= 3 ? { status: 503, body: '' } : { message: 'well' }));
    const room = await openRoom(cluster);
    const leaving = await startAside();
    const asked = await room.say(`@${username} hello`, { node: leaving });
    await eventually(() => calls().length >= 1, { what: 'the first call' });
    await leaving.stop();
    assert.equal((await room.replyTo(asked)).text, 'well');
    await allOver();
    assertOneId(calls());
    assert.deepEqual(await shown(room), [[username, 'well']]);
  });
});
