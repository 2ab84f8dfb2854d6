// SPDX-License-Identifier: MIT
//
// SIGTERM, SIGHUP, and where a node's settings come from.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  ACCOUNTS,
  assertOk,
  assertProblem,
  eventually,
  freePort,
  makeFolder,
  openRequest,
  startNode,
  startProcess,
  startRedis,
  suite,
  waitForOutput,
  writeAccounts,
} from '../support/harness.mjs';
import { parked, ready, waiting } from '../cluster/watch.mjs';

// What is handed to a node that is gone would come back after all that a test waits for.
suite('SIGTERM', { nodes: 1, args: ['--drain-seconds', '5', '--delivery-seconds', '60'] }, ({ test, cluster }) => {
  test('a node on its way out answers what is parked and exits 0', async () => {
    const stopping = await cluster.startNode();
    await ready(cluster, stopping);
    const { Topic } = await cluster.add({ node: 0, Model: 'nobody-serves-it' });
    const polls = [0, 1].map(() => cluster.claimOpen({ wait: 60, models: 'none', node: stopping }));
    const check = cluster.checkOpen({ Topic, wait: 60, node: stopping });
    const lookup = cluster.open('GET', '/api/get-new-lookup', {
      as: 'Inference_1',
      query: { Wait: 60 },
      node: stopping,
      timeout: 60_000,
    });
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: stopping });
    const silent = await cluster.socket({ node: stopping });
    await parked(cluster, stopping, 3); // with the one for a lookup
    await waiting(cluster, stopping, 2); // the stream, too
    const held = await Promise.race([
      ...polls.map(({ response }) => response),
      check.response,
      lookup.response,
      new Promise((resolve) => setTimeout(resolve, 600, 'held')),
    ]);
    assert.equal(held, 'held');
    stopping.signal('SIGTERM');
    for (const { response } of polls) assert.deepEqual(assertOk(await response), { Topic: null, Queries: null });
    const body = assertOk(await check.response);
    assert.deepEqual([body.Topic, body.Answer, body.Think], [Topic, null, null]);
    assertProblem(await lookup.response, 404);
    await stream.ended();
    const { code } = await stopping.exited();
    assert.equal(code, 0);
    silent.abort();
    stopping.check();
    await assert.rejects(openRequest(stopping.url, 'GET', '/livez').response, 'nobody listens there any more');
  });

  test('what was asked of the node that left is not lost', async () => {
    const stopping = await cluster.startNode();
    await ready(cluster, stopping);
    const { Topic } = await cluster.add({ node: stopping });
    const waiter = cluster.checkOpen({ Topic, wait: 30, node: 0 });
    await stopping.stop();
    assert.equal((await cluster.claim()).Topic, Topic);
    await cluster.answer({ Topic, Seq: 1 });
    assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
  });

  test('a second SIGTERM, and SIGINT, end it as well', async () => {
    for (const signals of [['SIGTERM', 'SIGTERM'], ['SIGINT']]) {
      const node = await cluster.startNode();
      signals.forEach((signal) => node.signal(signal));
      const { code } = await node.exited();
      assert.equal(code, 0);
    }
  });

  test('new work goes to the remaining node after one has left', async () => {
    const stopping = await cluster.startNode();
    const gone = cluster.claimOpen({ wait: 60, node: stopping });
    const staying = cluster.claimOpen({ as: 'Inference_2', wait: 60, node: 0 });
    for (const node of [stopping, 0]) await parked(cluster, node, 1);
    await stopping.stop();
    await gone.response;
    const { Topic } = await cluster.add();
    assert.equal(assertOk(await staying.response).Topic, Topic);
  });
});

suite('SIGHUP', { sweep: false }, ({ test, cluster }) => {
  const login = (as, secret, node) =>
    cluster.request('GET', '/api/login', { as, signing: { secret }, node, localAddress: '127.0.10.1' });

  test('reads the accounts again: new ones come, gone ones go, secrets change', async () => {
    const { User_2, ...rest } = ACCOUNTS;
    cluster.writeAccounts({
      ...rest,
      User_1: { secret: 'changed', role: 'user' },
      User_3: { secret: 'third', role: 'frontend' },
    });
    for (const [i, node] of cluster.nodes.entries()) {
      node.signal('SIGHUP');
      await eventually(async () => (await login('User_3', 'third', i)).status === 200, {
        what: 'the new account is known',
        every: 200,
      });
      assertOk(await login('User_1', 'changed', i));
      assertProblem(await login('User_1', ACCOUNTS.User_1.secret, i), 401);
      assertProblem(await login('User_2', User_2.secret, i), 401);
      assert.equal((await login('User_3', 'third', i)).json.Role, 'frontend');
    }
    cluster.writeAccounts(ACCOUNTS);
    for (const [i, node] of cluster.nodes.entries()) {
      node.signal('SIGHUP');
      await eventually(
        async () =>
          (await cluster.request('GET', '/api/login', { as: 'User_2', node: i, localAddress: '127.0.10.2' })).status === 200,
        { every: 200 },
      );
    }
  });

  test('an invalid file keeps the old accounts and logs the reason', async () => {
    for (const text of ['accounts: [', 'accounts:\n  User_1: {secret: "x", role: king}\n', '']) {
      const node = cluster.nodes[0];
      const before = node.log().length;
      cluster.writeAccounts(text);
      node.signal('SIGHUP');
      await eventually(() => /accounts.*\S/.test(node.log().slice(before)), { what: 'the log says why' });
      assertOk(await cluster.request('GET', '/api/login', { as: 'User_1', node: 0, localAddress: '127.0.10.3' }));
    }
    cluster.writeAccounts(ACCOUNTS);
  });
});

describe('settings', () => {
  let redis;
  let accounts;
  before(async () => {
    redis = await startRedis();
    accounts = writeAccounts();
  });
  after(async () => {
    await redis.stop();
    accounts.remove();
  });

  it('a node is configured by the environment alone', async () => {
    const running = startProcess(['serve'], {
      env: {
        PARLEY_LISTEN: '127.0.0.1:0',
        PARLEY_REDIS: redis.url,
        PARLEY_ACCOUNTS: accounts.path,
        PARLEY_THREADS: '2',
        PARLEY_LOG_FORMAT: 'json',
      },
    });
    try {
      const [, url] = await waitForOutput(
        running,
        ({ stdout }) => /^parley: listening on (\S+)$/m.exec(stdout),
        60_000,
        'the line',
      );
      assert.equal((await openRequest(url, 'GET', '/readyz').response).status, 200);
      running.child.kill('SIGTERM');
      assert.equal((await running.exit()).code, 0, running.stderr);
    } finally {
      running.child.kill('SIGKILL');
    }
    for (const line of running.stderr.trim().split('\n').filter(Boolean))
      assert.doesNotThrow(() => JSON.parse(line), `a line of JSON: ${line}`);
  });

  it('standard output holds the one line that a script waits for', async () => {
    const node = await startNode({ redis, accounts: accounts.path });
    try {
      assert.match(node.stdout(), /^parley: listening on http:\/\/127\.0\.0\.1:\d+\n$/);
    } finally {
      await node.stop();
    }
  });

  it('several threads serve one port', async () => {
    const node = await startNode({ redis, accounts: accounts.path, threads: 3 });
    try {
      const responses = await Promise.all(Array.from({ length: 30 }, () => openRequest(node.url, 'GET', '/livez').response));
      assert.ok(responses.every(({ status }) => status === 200));
    } finally {
      await node.stop();
    }
  });

  it('a node listens on a Unix socket, and takes the file away when it ends', async () => {
    const folder = makeFolder();
    const socketPath = join(folder.dir, 'parley.sock');
    const running = startProcess([
      'serve',
      '--listen',
      `unix:${socketPath}`,
      '--redis',
      redis.url,
      '--accounts',
      accounts.path,
      '--threads',
      '1',
    ]);
    try {
      await waitForOutput(running, ({ stdout }) => /^parley: listening on \S*parley\.sock$/m.exec(stdout), 60_000, 'the line');
      assert.equal((await openRequest('http://localhost', 'GET', '/readyz', { socketPath }).response).status, 200);
      running.child.kill('SIGTERM');
      assert.equal((await running.exit()).code, 0, running.stderr);
      assert.ok(!existsSync(socketPath));
    } finally {
      running.child.kill('SIGKILL');
      folder.remove();
    }
  });

  it('without Redis a node lives, is not ready, and serves once Redis is there', async () => {
    const gone = await startRedis();
    await gone.kill();
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const running = startProcess([
      ...['serve', '--listen', `127.0.0.1:${port}`, '--redis', gone.url, '--accounts', accounts.path, '--threads', '1'],
    ]);
    const status = async (path) => (await openRequest(url, 'GET', path).response).status;
    try {
      await eventually(async () => (await status('/livez')) === 200, { what: '/livez is there' });
      assert.equal(await status('/readyz'), 503);
      await gone.restart();
      await eventually(async () => (await status('/readyz')) === 200, { what: '/readyz is there', ms: 60_000 });
      await waitForOutput(running, ({ stdout }) => /^parley: listening on/m.test(stdout), 60_000, 'the line');
    } finally {
      running.child.kill('SIGTERM');
      assert.equal((await running.exit()).code, 0, running.stderr);
      await gone.stop();
    }
  });
});
