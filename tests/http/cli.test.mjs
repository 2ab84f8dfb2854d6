// SPDX-License-Identifier: MIT
//
// Contract section 10: the command line, signals, settings.
import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  ACCOUNTS, assertOk, assertProblem, eventually, freePort, makeFolder, openRequest, runParley, startNode, startRedis, suite, waitForOutput, startProcess,
  writeAccounts,
} from '../support/harness.mjs';

// One line on standard error, nothing on standard output, exit 2.
function assertWrongUsage({ code, stdout, stderr }, pattern) {
  assert.equal(code, 2, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, /^[^\n]+\n$/, 'one line');
  assert.match(stderr, pattern);
}

describe('the command line', () => {
  let accounts;
  before(() => (accounts = writeAccounts()));
  after(() => accounts.remove());

  it('--help works everywhere and names every flag of a node', async () => {
    for (const args of [['--help'], ['serve', '--help'], ['engine', '--help'], ['sign', '--help'], ['bench', '--help']]) {
      const { code, stdout, stderr } = await runParley(args);
      assert.equal(code, 0, `${args}: ${stderr}`);
      assert.match(stdout, /usage|Usage/);
      assert.equal(stderr, '');
    }
    const { stdout } = await runParley(['serve', '--help']);
    for (const flag of ['target', 'listen', 'redis', 'accounts', 'threads', 'lease-seconds', 'max-attempts', 'queue-max', 'auth-sha1', 'cors-origins',
      'trusted-proxies', 'drain-seconds', 'log-format', 'log-level', 'delivery-seconds', 'rescan-seconds', 'check-config']) {
      assert.match(stdout, new RegExp(`--${flag}\\b`));
    }
  });

  it('version prints one line', async () => {
    const { code, stdout } = await runParley(['version']);
    assert.equal(code, 0);
    assert.match(stdout, /^parley \d+\.\d+\.\d+\S*\n$/);
  });

  it('an unknown command, or none: exit 2', async () => {
    assertWrongUsage(await runParley(['sevre']), /sevre/);
    assert.equal((await runParley([])).code, 2);
  });

  it('a wrong flag is one clear line and exit 2', async () => {
    assertWrongUsage(await runParley(['serve', '--lisen', 'x']), /lisen/);
    assertWrongUsage(await runParley(['serve', '--lisen=x']), /lisen/);
    assertWrongUsage(await runParley(['serve', '--listen']), /listen/);
    assertWrongUsage(await runParley(['sign', '--nonsense']), /nonsense/);
  });

  it('a wrong value is one clear line and exit 2', async () => {
    const serve = (...flags) => runParley(['serve', '--check-config', '--accounts', accounts.path, ...flags]);
    for (const [flag, value] of [
      ['threads', 'many'], ['threads', '-1'], ['threads', '0'], ['lease-seconds', '0'], ['lease-seconds', '1.5'], ['lease-seconds', '99999999999999999999'],
      ['max-attempts', 'x'], ['max-attempts', '0'], ['queue-max', '-5'], ['auth-sha1', 'maybe'], ['log-format', 'xml'], ['log-level', 'loud'],
      ['listen', 'nonsense'], ['listen', '127.0.0.1:99999'], ['listen', ''], ['redis', 'http://127.0.0.1:1/'], ['redis', 'nonsense'],
      ['target', 'nonsense'], ['trusted-proxies', '300.1.2.3'], ['drain-seconds', 'x'],
    ]) {
      assertWrongUsage(await serve(`--${flag}`, value), new RegExp(flag));
    }
  });

  it('a wrong value in the environment is one clear line and exit 2', async () => {
    assertWrongUsage(await runParley(['serve', '--check-config', '--accounts', accounts.path], { env: { PARLEY_LEASE_SECONDS: 'x' } }), /PARLEY_LEASE_SECONDS|lease-seconds/);
  });

  it('an accounts file that is missing or broken is one clear line that names it, and exit 2', async () => {
    const folder = makeFolder();
    try {
      assertWrongUsage(await runParley(['serve', '--check-config', '--accounts', join(folder.dir, 'none.yaml')]), /none\.yaml/);
      for (const text of ['accounts: [', 'accounts:\n  A: {secret: "x", role: king}\n', 'accounts:\n  A: {role: user}\n', 'nonsense: 1\n', '']) {
        assertWrongUsage(await runParley(['serve', '--check-config', '--accounts', folder.file('broken.yaml', text)]), /broken\.yaml/);
      }
    } finally {
      folder.remove();
    }
  });

  it('--check-config says what would run and exits 0, with no Redis there', async () => {
    const { code, stdout, stderr } = await runParley(
      ['serve', '--check-config', '--accounts', accounts.path, '--listen', '127.0.0.1:4711', '--lease-seconds', '77'],
      { env: { PARLEY_MAX_ATTEMPTS: '9', PARLEY_LEASE_SECONDS: '55' } },
    );
    assert.equal(code, 0, stderr);
    assert.match(stdout, /127\.0\.0\.1:4711/);
    assert.match(stdout, /max-attempts\W+9\b/, 'the environment counts');
    assert.match(stdout, /lease-seconds\W+77\b/, 'a flag beats the environment');
    for (const { secret } of Object.values(ACCOUNTS)) assert.ok(!(stdout + stderr).includes(secret), 'no secret is shown');
  });

  it('a port that is taken is one clear line and no node', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const redis = await startRedis();
    try {
      const { port } = server.address();
      const { code, stderr, stdout } = await runParley(['serve', '--accounts', accounts.path, '--redis', redis.url, '--listen', `127.0.0.1:${port}`]);
      assert.ok(code > 0, 'it does not run');
      assert.match(stderr, new RegExp(String(port)));
      assert.equal(stdout, '');
    } finally {
      server.close();
      await redis.stop();
    }
  });
});

suite('parley sign', { sweep: false }, ({ test, cluster }) => {
  async function signUrl(url, args = [], user = 'User_1', secret = ACCOUNTS[user].secret) {
    const folder = makeFolder();
    try {
      return await runParley(['sign', '--user', user, '--secret-file', folder.file('secret', secret), ...args, url]);
    } finally {
      folder.remove();
    }
  }

  test('prints a URL that the node takes, once', async () => {
    for (const secret of [ACCOUNTS.User_1.secret, `${ACCOUNTS.User_1.secret}\n`]) {
      const { code, stdout, stderr } = await signUrl(`${cluster.nodes[0].url}/api/login`, [], 'User_1', secret);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^http:\/\/\S+\n$/);
      const { origin, pathname, search } = new URL(stdout.trim());
      assert.equal(origin, cluster.nodes[0].url);
      const response = await openRequest(origin, 'GET', pathname + search).response;
      assert.equal(assertOk(response).User, 'User_1');
      assertProblem(await openRequest(cluster.nodes[1].url, 'GET', pathname + search).response, 401, 'nonce_used');
    }
  });

  test('keeps the parameters that were there, and takes --method', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    const { stdout } = await signUrl(`${cluster.nodes[0].url}/api/check-query?Topic=${Topic}&Seq=1&Wait=0`);
    const url = new URL(stdout.trim());
    assert.equal(assertOk(await openRequest(url.origin, 'GET', url.pathname + url.search).response).Topic, Topic);
    const other = await signUrl(`${cluster.nodes[0].url}/api/topic?OnBehalfOf=User_1&Topic=${Topic}`, ['--method', 'DELETE']);
    const target = new URL(other.stdout.trim());
    assertOk(await openRequest(target.origin, 'DELETE', target.pathname + target.search).response);
  });

  test('a different nonce each time', async () => {
    const nonces = new Set();
    for (let i = 0; i < 3; i++) nonces.add(new URL((await signUrl('http://127.0.0.1:1/x')).stdout.trim()).searchParams.get('Nonce'));
    assert.equal(nonces.size, 3);
  });

  test('a user whose name needs encoding is encoded', async () => {
    const { stdout } = await signUrl('http://127.0.0.1:1/x', [], 'a b&c', 'secret');
    assert.equal(new URL(stdout.trim()).searchParams.get('User'), 'a b&c');
  });

  test('without a user, a secret or a URL: one clear line and exit 2', async () => {
    const folder = makeFolder();
    try {
      const secret = folder.file('secret', 's');
      assertWrongUsage(await runParley(['sign', '--secret-file', secret, 'http://x/']), /user/);
      assertWrongUsage(await runParley(['sign', '--user', 'u', 'http://x/']), /secret/);
      assertWrongUsage(await runParley(['sign', '--user', 'u', '--secret-file', secret]), /URL|url/);
      assertWrongUsage(await runParley(['sign', '--user', 'u', '--secret-file', join(folder.dir, 'none'), 'http://x/']), /none/);
    } finally {
      folder.remove();
    }
  });
});

suite('SIGTERM', { nodes: 1, args: ['--drain-seconds', '5'] }, ({ test, cluster }) => {
  test('a node on its way out answers what is parked and exits 0', async () => {
    const stopping = await cluster.startNode();
    const { Topic } = await cluster.add({ node: 0, Model: 'nobody-serves-it' });
    const polls = [0, 1].map(() => cluster.claimOpen({ wait: 60, models: 'none', node: stopping }));
    const check = cluster.checkOpen({ Topic, wait: 60, node: stopping });
    const lookup = cluster.open('GET', '/api/get-new-lookup', { as: 'Inference_1', query: { Wait: 60 }, node: stopping, timeout: 30_000 });
    const stream = await cluster.stream('/api/check-query', { as: 'Frontend_1', query: { Topic, Seq: 1 }, node: stopping });
    const silent = await cluster.socket({ node: stopping });
    const held = await Promise.race([...polls.map(({ response }) => response), check.response, lookup.response, new Promise((resolve) => setTimeout(resolve, 600, 'held'))]);
    assert.equal(held, 'held');
    stopping.signal('SIGTERM');
    for (const { response } of polls) assert.deepEqual(assertOk(await response), { Topic: null, Queries: null });
    const body = assertOk(await check.response);
    assert.deepEqual([body.Topic, body.Answer, body.Think], [Topic, null, null]);
    assertProblem(await lookup.response, 404);
    await stream.ended();
    const { code } = await stopping.exited(15_000);
    assert.equal(code, 0);
    silent.abort();
    cluster.nodes.splice(cluster.nodes.indexOf(stopping), 1);
    stopping.check();
    await assert.rejects(openRequest(stopping.url, 'GET', '/livez').response, 'nobody listens there any more');
  });

  test('what was asked of the node that left is not lost', async () => {
    const stopping = await cluster.startNode();
    const { Topic } = await cluster.add({ node: stopping });
    const waiter = cluster.checkOpen({ Topic, wait: 30, node: 0 });
    await stopping.stop();
    cluster.nodes.splice(cluster.nodes.indexOf(stopping), 1);
    assert.equal((await cluster.claim()).Topic, Topic);
    await cluster.answer({ Topic, Seq: 1 });
    assert.deepEqual(assertOk(await waiter.response).Answer, ['42']);
  });

  test('a second SIGTERM, and SIGINT, end it as well', async () => {
    for (const signals of [['SIGTERM', 'SIGTERM'], ['SIGINT']]) {
      const node = await cluster.startNode();
      signals.forEach((signal) => node.signal(signal));
      const { code } = await node.exited(15_000);
      assert.equal(code, 0);
      cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
    }
  });

  test('no engine waits for a node that left: new work goes to the one that stays', async () => {
    const stopping = await cluster.startNode();
    const gone = cluster.claimOpen({ wait: 60, node: stopping });
    const staying = cluster.claimOpen({ as: 'Inference_2', wait: 60, node: 0 });
    await Promise.race([staying.response, new Promise((resolve) => setTimeout(resolve, 400))]);
    await stopping.stop();
    cluster.nodes.splice(cluster.nodes.indexOf(stopping), 1);
    await gone.response;
    const began = Date.now();
    const { Topic } = await cluster.add();
    assert.equal(assertOk(await staying.response).Topic, Topic);
    assert.ok(Date.now() - began < 1500, 'the wake did not go to the dead');
  });
});

suite('SIGHUP', { sweep: false }, ({ test, cluster }) => {
  const login = (as, secret, node) => cluster.request('GET', '/api/login', { as, signing: { secret }, node, localAddress: '127.0.10.1' });

  test('reads the accounts again: new ones come, gone ones go, secrets change', async () => {
    const { User_2, ...rest } = ACCOUNTS;
    cluster.writeAccounts({ ...rest, User_1: { secret: 'changed', role: 'user' }, User_3: { secret: 'third', role: 'frontend' } });
    for (const [i, node] of cluster.nodes.entries()) {
      node.signal('SIGHUP');
      await eventually(async () => (await login('User_3', 'third', i)).status === 200, { what: 'the new account is known', every: 200 });
      assertOk(await login('User_1', 'changed', i));
      assertProblem(await login('User_1', ACCOUNTS.User_1.secret, i), 401);
      assertProblem(await login('User_2', User_2.secret, i), 401);
      assert.equal((await login('User_3', 'third', i)).json.Role, 'frontend');
    }
    cluster.writeAccounts(ACCOUNTS);
    for (const [i, node] of cluster.nodes.entries()) {
      node.signal('SIGHUP');
      await eventually(async () => (await cluster.request('GET', '/api/login', { as: 'User_2', node: i, localAddress: '127.0.10.2' })).status === 200, { every: 200 });
    }
  });

  test('a broken file keeps the old accounts and says why', async () => {
    for (const text of ['accounts: [', 'accounts:\n  User_1: {secret: "x", role: king}\n', '']) {
      const node = cluster.nodes[0];
      const before = node.log().length;
      cluster.writeAccounts(text);
      node.signal('SIGHUP');
      await eventually(() => /accounts\.yaml/.test(node.log().slice(before)), { what: 'the log names the file' });
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
      env: { PARLEY_LISTEN: '127.0.0.1:0', PARLEY_REDIS: redis.url, PARLEY_ACCOUNTS: accounts.path, PARLEY_THREADS: '2', PARLEY_LOG_FORMAT: 'json' },
    });
    const [, url] = await waitForOutput(running, ({ stdout }) => /^parley: listening on (\S+)$/m.exec(stdout), 20_000, 'the line');
    assert.equal((await openRequest(url, 'GET', '/readyz').response).status, 200);
    running.child.kill('SIGTERM');
    assert.equal((await running.exit()).code, 0, running.stderr);
    for (const line of running.stderr.trim().split('\n').filter(Boolean)) assert.doesNotThrow(() => JSON.parse(line), `a line of JSON: ${line}`);
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
    const running = startProcess(['serve', '--listen', `unix:${socketPath}`, '--redis', redis.url, '--accounts', accounts.path, '--threads', '1']);
    try {
      await waitForOutput(running, ({ stdout }) => /^parley: listening on \S*parley\.sock$/m.exec(stdout), 20_000, 'the line');
      assert.equal((await openRequest('http://localhost', 'GET', '/readyz', { socketPath }).response).status, 200);
      await new Promise((resolve, reject) => connect(socketPath, function onConnect() { this.destroy(); resolve(); }).once('error', reject));
      running.child.kill('SIGTERM');
      assert.equal((await running.exit()).code, 0, running.stderr);
      assert.ok(!existsSync(socketPath));
    } finally {
      folder.remove();
    }
  });

  it('without Redis a node starts, says so at /readyz, and serves once Redis is there', async () => {
    const port = await freePort();
    const node = await startNode({ redis: { url: `redis://127.0.0.1:${port}/0` }, accounts: accounts.path });
    try {
      assert.equal((await openRequest(node.url, 'GET', '/livez').response).status, 200);
      assert.equal((await openRequest(node.url, 'GET', '/readyz').response).status, 503);
    } finally {
      await node.stop();
    }
  });
});
