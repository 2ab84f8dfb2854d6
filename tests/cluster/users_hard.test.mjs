// SPDX-License-Identifier: MIT
//
// Exports and deletions of users under the worst of clients: those that leave, many at once, accounts of one user name.
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { ACCOUNTS, assertOk, eventually, newNonce, suite } from '../support/harness.mjs';
import { metric } from './watch.mjs';

const N = Number(process.env.PARLEY_TEST_CLIENTS ?? 150); // clients that leave
const AT_ONCE = 10;
const as = 'Frontend_all';
const MORE = {
  Frontend_all: { secret: 'all-secret', role: 'frontend', max_waiting: 100_000 },
  acme: { secret: 'acme-secret', role: 'frontend', namespace: 'acme' },
  alice: { secret: 'alice-secret', role: 'user' }, // a frontend's users may be called so, too
};

suite('users under the worst of clients', { nodes: 2, sweep: false, accounts: { ...ACCOUNTS, ...MORE } }, ({ test, cluster }) => {
  const pathOf = (user, what = '') => `/api/users/${user}${what}`;
  const fill = (User, n, options = {}) => Promise.all(Array.from({ length: n }, (_, i) => cluster.add({ as, User, Topic: `${User}-${newNonce()}`, Query: `${i} ${newNonce().repeat(100)}`, ...options })));
  const usage = async (User, options = {}) => assertOk(await cluster.request('GET', pathOf(User, '/usage'), { as, ...options }));
  const removeRaw = (User, options = {}) => cluster.request('DELETE', pathOf(User), { as, timeout: 120_000, ...options });
  const descriptorsOf = (node) => readdirSync(`/proc/${node.child.pid}/fd`).length;
  const calm = () => Promise.all(cluster.nodes.map((node) => eventually(async () => (await metric(cluster, node, 'parley_connections_open')) <= 2, { what: 'no connection is left' })));

  test('clients that leave exports and deletions: descriptors come back, and the next one is served', async () => {
    const User = `left-${newNonce()}`;
    await fill(User, 200);
    await calm();
    const before = cluster.nodes.map(descriptorsOf);
    let next = 0;
    const worker = async () => {
      while (next < N) {
        const i = next++;
        const socket = await cluster.socket({ node: i % 2 });
        const method = i % 3 === 2 ? 'DELETE' : 'GET';
        socket.write(`${method} ${cluster.path(pathOf(`${User}${method === 'GET' ? '' : `-${i % 5}`}`, method === 'GET' ? '/export' : ''), { as })} HTTP/1.1\r\nHost: x\r\n\r\n`);
        if (i % 4 < 2) await socket.begun();
        socket.reset();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await calm();
    for (const [i, n] of before.entries()) assert.ok(descriptorsOf(cluster.nodes[i]) <= n + 3, `${n} descriptors before, ${descriptorsOf(cluster.nodes[i])} after`);
    for (const node of [0, 1]) await eventually(async () => (await cluster.request('GET', pathOf(User, '/export'), { as, node })).status === 200, { what: 'the place of an export is free again' });
    assert.equal((await usage(User)).Topics.Count, 200);
    assert.equal(assertOk(await removeRaw(User), 202).Deleted.Topics, 200);
  });

  test('deleted by ten clients at once while it is exported: each topic is counted once, and nothing is left', async () => {
    const User = `ten-${newNonce()}`;
    await fill(User, 600);
    const exports = Array.from({ length: 4 }, (_, i) => cluster.request('GET', pathOf(User, '/export'), { as, node: i % 2 }).catch((error) => error));
    const removed = await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        for (let topics = 0; ; ) {
          const { Deleted, Done } = assertOk(await removeRaw(User, { node: i % 2 }), 202);
          topics += Deleted.Topics;
          if (Done) return topics;
        }
      }),
    );
    assert.equal(removed.reduce((a, b) => a + b), 600);
    await Promise.all(exports);
    assert.deepEqual((await cluster.redis.cmd('KEYS', `*${User}*`)), []);
    assert.equal(assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Depth, 0);
  });

  test('an account and a frontend’s user of one name are one user; in a namespace it is another', async () => {
    await fill('alice', 2);
    await fill('alice', 3, { as: 'acme' });
    const count = async (options) => (await usage('alice', options)).Topics.Count;
    assert.deepEqual([await count({ as: 'alice' }), await count({ as }), await count({ as: 'acme' }), await count({ as: 'Operator_1' })], [2, 2, 3, 2]);
    assert.equal(assertOk(await removeRaw('alice', { as: 'alice' }), 202).Deleted.Topics, 2);
    assert.deepEqual([await count({ as }), await count({ as: 'acme' })], [0, 3]);
    assert.equal((await usage('acme~alice', { as: 'Operator_1' })).Topics.Count, 3);
    assert.equal(assertOk(await removeRaw('alice', { as: 'acme' }), 202).Deleted.Topics, 3);
  });

  test('a full Redis: usage, export and deletion work, and make room', async () => {
    const User = `full-${newNonce()}`;
    await fill(User, 100);
    const servers = cluster.redis.servers ?? [cluster.redis];
    for (const redis of servers) await redis.cmd('CONFIG', 'SET', 'maxmemory', '1mb');
    try {
      assert.equal((await cluster.addRaw({ as, User })).status, 503);
      assert.equal((await usage(User)).Topics.Count, 100);
      assert.equal((await cluster.request('GET', pathOf(User, '/export'), { as })).status, 200);
      assert.equal(assertOk(await removeRaw(User), 202).Deleted.Topics, 100);
    } finally {
      for (const redis of servers) await redis.cmd('CONFIG', 'SET', 'maxmemory', '0');
    }
  });
});
