// SPDX-License-Identifier: MIT
//
// Where `parley serve` listens: an address that somebody has is refused, and no file is removed that is
// not a socket that its process left.
import assert from 'node:assert/strict';
import { lstatSync, readFileSync, rmSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';
import { assertOk, makeFolder, openRequest, runParley, startNode, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // sockets: the same on any number of shards

suite('the address that a node listens on', { nodes: 1, threads: 2, sweep: false }, ({ test, cluster }) => {
  const serveArgs = (listen, threads) => [
    'serve',
    '--listen',
    listen,
    '--redis',
    cluster.redis.url,
    '--accounts',
    cluster.accountsFile,
    '--threads',
    threads,
  ];
  const portOf = (node) => new URL(node.url).port;
  const start = (listen, threads = 2) =>
    startNode({ redis: cluster.redis, accounts: cluster.accountsFile, listen, threads });
  const request = (socketPath) => openRequest('http://localhost', 'GET', '/livez', { socketPath }).response;

  // It ends with one line that names the address, and does not claim to listen.
  async function assertRefused(listen, reason, threads = 2) {
    const { code, stdout, stderr } = await runParley(serveArgs(listen, threads));
    assert.equal(code, 1, stderr);
    assert.equal(stdout, '');
    const lines = stderr.trim().split('\n');
    assert.equal(lines.length, 1, stderr);
    assert.ok(lines[0].startsWith(`parley: cannot listen on ${listen}: `), lines[0]);
    assert.match(lines[0], reason);
  }

  for (const threads of [1, 2, 4]) {
    test(`a second process with ${threads} threads on a taken port is refused`, () =>
      assertRefused(`127.0.0.1:${portOf(cluster.nodes[0])}`, /address in use/, threads));
  }

  test('a second process on all addresses of a taken port is refused', () =>
    assertRefused(`0.0.0.0:${portOf(cluster.nodes[0])}`, /address in use/));

  test('of five that start at once on one port one serves, and the others end', async () => {
    const taken = net.createServer();
    await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const listen = `127.0.0.1:${taken.address().port}`;
    await new Promise((resolve) => taken.close(resolve));
    const started = await Promise.allSettled(Array.from({ length: 5 }, () => start(listen, 4)));
    const serving = started.filter(({ status }) => status === 'fulfilled').map(({ value }) => value);
    assert.equal(serving.length, 1, started.map(({ reason }) => reason?.message).join('\n'));
    await serving[0].stop();
  });

  test('all threads of one process accept, and share one port', async () => {
    const node = await start('127.0.0.1:0', 4);
    const nodes = new Set();
    for (let i = 0; i < 200 && nodes.size < 4; i++) {
      const { headers } = await cluster.request('GET', '/livez', { node });
      nodes.add(headers['x-request-id'].split('-')[0]);
    }
    assert.equal(nodes.size, 4, [...nodes].join(' '));
    await node.stop();
  });

  test('a port is free again once its process has ended', async () => {
    const first = await start('127.0.0.1:0');
    const listen = `127.0.0.1:${portOf(first)}`;
    await first.stop();
    const second = await start(listen);
    assertOk(await cluster.request('GET', '/livez', { node: second }));
    await second.stop();
  });

  test('unix: a file that is not a socket is refused and kept', async () => {
    const folder = makeFolder();
    try {
      const path = folder.file('notes.txt', 'mine');
      await assertRefused(`unix:${path}`, /not a socket/);
      assert.equal(readFileSync(path, 'utf8'), 'mine');
      await assertRefused(`unix:${folder.dir}`, /not a socket/);
    } finally {
      folder.remove();
    }
  });

  test('unix: a socket that somebody listens on is refused, and serves on', async () => {
    const folder = makeFolder();
    try {
      const path = join(folder.dir, 'parley.sock');
      const node = await start(`unix:${path}`);
      await assertRefused(`unix:${path}`, /address in use/);
      await assertRefused(`unix:${path}`, /address in use/, 1);
      assertOk(await request(path));
      await node.stop();
      assert.throws(() => lstatSync(path), /ENOENT/, 'its own socket is removed at the end');
    } finally {
      folder.remove();
    }
  });

  test('unix: a socket that a killed process left is taken over', async () => {
    const folder = makeFolder();
    try {
      const path = join(folder.dir, 'parley.sock');
      const first = await start(`unix:${path}`);
      await first.kill();
      assert.ok(lstatSync(path).isSocket());
      const second = await start(`unix:${path}`);
      assertOk(await request(path));
      await second.stop();
    } finally {
      folder.remove();
    }
  });

  test('unix: of five that start at once on a left socket one serves, and the others end', async () => {
    const folder = makeFolder();
    try {
      const path = join(folder.dir, 'parley.sock');
      await (await start(`unix:${path}`)).kill();
      const started = await Promise.allSettled(Array.from({ length: 5 }, () => start(`unix:${path}`)));
      const serving = started.filter(({ status }) => status === 'fulfilled').map(({ value }) => value);
      assert.equal(serving.length, 1, started.map(({ reason }) => reason?.message).join('\n'));
      assertOk(await request(path));
      await serving[0].stop();
    } finally {
      folder.remove();
    }
  });

  test('unix: a path that another program took over meanwhile is not removed at the end', async () => {
    const folder = makeFolder();
    try {
      const path = join(folder.dir, 'parley.sock');
      const node = await start(`unix:${path}`);
      rmSync(path);
      folder.file('parley.sock', 'mine');
      await node.stop();
      assert.equal(readFileSync(path, 'utf8'), 'mine');
    } finally {
      folder.remove();
    }
  });
});
