// SPDX-License-Identifier: MIT
//
// `parley login` and `parley logout`, and what other commands do with what they keep.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, beforeEach } from 'node:test';
import { ACCOUNTS, BIN, cleanEnvironment, eventually, makeFolder, openRequest, runParley, startProcess, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';
import { sendJson, startScripted } from '../support/scripted_server.mjs';

ownShards(); // commands that ask one question of one node: the same on any number of shards

suite('parley login', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  const folder = makeFolder();
  let home, file, n = 0;
  beforeEach(() => {
    home = join(folder.dir, `home-${n++}`);
    file = join(home, 'parley/login.yaml');
  });
  after(folder.remove);

  const parley = (args, { env = {}, ...options } = {}) => runParley(args, { env: { XDG_CONFIG_HOME: home, ...env }, ...options });
  const secretOf = (user) => folder.file(`secret-${user}`, ACCOUNTS[user].secret);
  const login = (user = 'User_1', ...args) => parley(['login', '--url', cluster.nodes[0].url, '--user', user, '--secret-file', secretOf(user), ...args]);
  const loggedIn = async (user, ...args) => {
    const { code, stdout, stderr } = await login(user, ...args);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    return stdout;
  };
  // One line, and no secret in it.
  function assertLine({ code, stdout, stderr }, exit, pattern) {
    assert.equal(code, exit, stderr);
    assert.equal(stdout, '');
    assert.match(stderr, pattern);
    assert.match(stderr, /^[^\n]+\n$/);
    for (const { secret } of Object.values(ACCOUNTS)) assert.ok(!stderr.includes(secret), stderr);
  }

  test('keeps URL, account and secret in a file that only its owner may read, and nothing beside it', async () => {
    assert.match(await loggedIn(), /^logged in at http:\S+ as User_1 \(role user\); kept in \S+\/parley\/login\.yaml\n$/);
    assert.equal(statSync(file).mode & 0o7777, 0o600);
    assert.equal(statSync(dirname(file)).mode & 0o7777, 0o700);
    assert.deepEqual(readdirSync(dirname(file)), ['login.yaml']);
    assert.ok(readFileSync(file, 'utf8').includes(ACCOUNTS.User_1.secret));
    await loggedIn('Operator_1');
    assert.deepEqual(readdirSync(dirname(file)), ['login.yaml']);
    assert.match(readFileSync(file, 'utf8'), /^user: "Operator_1"$/m);
  });

  test('parley link prints a link of the account, which signs in once', async () => {
    await loggedIn('User_2');
    const { code, stdout, stderr } = await parley(['link']);
    assert.equal(code, 0, stderr);
    const [base, code64] = stdout.trim().split('/app/#code=');
    assert.equal(base, cluster.nodes[0].url);
    const use = () => openRequest(base, 'POST', '/api/login', { body: { code: code64 } }).response;
    assert.equal((await use()).json.User, 'User_2');
    assert.equal((await use()).status, 401);
    assertLine(await parley(['link', '--user', 'User_2', '--secret-file', folder.file('wrong', 'wrong')]), 4, /401|credentials|secret/);
    assertLine(await parley(['link', '--url', 'http://127.0.0.1:1', '--user', 'User_2', '--secret-file', secretOf('User_2')]), 3, /127\.0\.0\.1:1/);
  });

  test('every command that signs needs no other flags after it', async () => {
    await loggedIn();
    const { stdout, stderr } = await parley(['sign', '/api/me']);
    assert.equal(stderr, '');
    const url = new URL(stdout.trim());
    assert.equal(url.origin, cluster.nodes[0].url);
    assert.equal((await openRequest(url.origin, 'GET', url.pathname + url.search).response).json.id, 'User_1');
    const usage = await parley(['user', 'usage', 'User_1', '--json']);
    assert.equal(usage.code, 0, usage.stderr);
    const run = await parley(['workflow', 'run', '--session', 'x', '--request', 'y', '--patience-seconds', '0', '--json']);
    assert.doesNotMatch(run.stderr, /--user|--secret-file/);
    assert.match((await parley(['evaluate', '--run', 'none-1'])).stderr, /--run/);
    await loggedIn('Operator_1');
    for (const args of [['top', '--once', '--json'], ['audit', '--json'], ['recommendations', 'list']]) {
      const { code, stderr: said } = await parley(args);
      assert.equal(code, 0, `${args}: ${said}`);
    }
    await loggedIn('Inference_1');
    const engine = await parley(['engine', '--check-config']);
    assert.equal(engine.code, 0, engine.stderr);
    assert.match(engine.stdout, new RegExp(`would pull from ${cluster.nodes[0].url} as Inference_1,`));
  });

  test('a flag beats a variable, a variable beats the login, each setting for itself', async () => {
    await loggedIn();
    const [user1, user2] = [secretOf('User_1'), secretOf('User_2')];
    const signed = async (args, env) => new URL((await parley(['sign', ...args, '/api/me'], { env })).stdout.trim());
    assert.equal((await signed(['--user', 'User_2', '--secret-file', user2], { PARLEY_USER: 'User_1' })).searchParams.get('User'), 'User_2');
    assert.equal((await signed([], { PARLEY_USER: 'User_2', PARLEY_SECRET_FILE: user2 })).searchParams.get('User'), 'User_2');
    assert.equal((await signed(['--url', 'http://127.0.0.1:1', '--user', 'User_1', '--secret-file', user1])).origin, 'http://127.0.0.1:1');
    const config = folder.file('parley.yaml', `user: User_2\nsecret-file: ${user2}\n`);
    assert.equal((await signed(['--config', config])).searchParams.get('User'), 'User_2');
  });

  test('its secret is used for no other account and no other host', async () => {
    await loggedIn();
    assertLine(await parley(['user', 'usage', 'x', '--user', 'User_2']), 2, /--secret-file is missing: the login in \S+ is that of User_1, not of --user User_2/);
    const other = await startScripted((request, response) => sendJson(response, {}));
    try {
      const elsewhere = /--secret-file is missing: the login in \S+ is for http:\S+, and its secret is used for no other --url/;
      assertLine(await parley(['user', 'usage', 'x', '--url', `${cluster.nodes[0].url},${other.url}`]), 2, elsewhere);
      assertLine(await parley(['user', 'usage', 'x', '--url', `${cluster.nodes[0].url}0`]), 2, elsewhere);
      assertLine(await parley(['sign', `${other.url}/api/me`]), 2, elsewhere);
      assertLine(await parley(['top', '--once'], { env: { PARLEY_URL: other.url } }), 2, elsewhere);
      assert.deepEqual(other.requests, []);
    } finally {
      await other.stop();
    }
    const { code, stderr } = await parley(['user', 'usage', 'User_1', '--url', `${cluster.nodes[0].url}/`]);
    assert.equal(code, 0, stderr);
  });

  test('a redirect is not followed, so no signature reaches the host that it names', async () => {
    const target = await startScripted((request, response) => sendJson(response, { Role: 'user' }));
    const liar = await startScripted((request, response) => response.writeHead(307, { Location: target.url + request.url }).end());
    try {
      assertLine(await parley(['login', '--url', liar.url, '--user', 'User_1', '--secret-file', secretOf('User_1')]), 4, /status 307: not a Parley node/);
      assert.deepEqual(target.requests, []);
      for (const { url, body, headers } of liar.requests) assert.ok(!`${url}${body}${JSON.stringify(headers)}`.includes(ACCOUNTS.User_1.secret), 'only a signature is sent');
      assert.ok(!existsSync(file));
    } finally {
      await Promise.all([target.stop(), liar.stop()]);
    }
  });

  test('what a node refuses is not kept, and what was kept before stays', async () => {
    await loggedIn();
    const before = readFileSync(file, 'utf8');
    const wrong = folder.file('wrong', 'wrong');
    assertLine(await parley(['login', '--url', cluster.nodes[0].url, '--user', 'User_1', '--secret-file', wrong]), 4, /^parley: --secret-file \S+: http:\S+ refused the signature of --user User_1/);
    assertLine(await parley(['login', '--url', 'http://127.0.0.1:1', '--user', 'User_1', '--secret-file', secretOf('User_1')]), 3, /^parley: http:\/\/127\.0\.0\.1:1: /);
    assertLine(await parley(['login', '--user', 'User_1', '--secret-file', join(folder.dir, 'none')]), 1, /none/);
    assertLine(await parley(['login', '--url', 'ftp://x', '--user', 'User_1', '--secret-file', secretOf('User_1')]), 2, /--url takes/);
    assertLine(await parley(['login', 'now']), 2, /login takes flags only/);
    assertLine(await parley(['login']), 2, /on a terminal, and there is none: give --user and --secret-file/);
    assert.equal(readFileSync(file, 'utf8'), before);
  });

  test('a file that others may read is refused with what to do, unless nothing of it is needed', async () => {
    await loggedIn();
    for (const mode of [0o640, 0o604, 0o660]) {
      chmodSync(file, mode);
      assertLine(await parley(['user', 'usage', 'User_1']), 2, /the login in \S+: others may read it \(mode 06\d\d\), so it is not used: chmod 600/);
    }
    const { code, stderr } = await parley(['user', 'usage', 'User_1', '--url', cluster.nodes[0].url, '--user', 'User_1', '--secret-file', secretOf('User_1')]);
    assert.equal(code, 0, stderr);
    await loggedIn();
    assert.equal(statSync(file).mode & 0o7777, 0o600);
  });

  test('a file that is damaged, a folder or a pipe is one line, and none of its content is shown', async () => {
    const named = (path) => parley(['user', 'usage', 'User_1'], { env: { PARLEY_LOGIN_FILE: path } });
    for (const [name, text] of Object.entries({ yaml: 'a: [top secret', empty: '', list: '- top secret', partial: 'url: "http://x"\nuser: "top secret"\n', nul: 'url: "http://x"\nuser: "top\\0secret"\nsecret: x\n' })) {
      const run = await named(folder.file(name, text));
      assertLine(run, 2, /the login in \S+: it .*: parley login writes a new one/);
      assert.doesNotMatch(run.stderr, /top/);
    }
    assertLine(await named(folder.file('large', 'x'.repeat(20_000))), 2, /too large/);
    assertLine(await named(folder.dir), 2, /not a regular file/);
    assertLine(await named(join(folder.dir, 'nowhere')), 2, /there is none: parley login writes it/);
    const pipe = join(folder.dir, 'pipe');
    assert.equal(spawnSync('mkfifo', ['-m', '600', pipe]).status, 0);
    assertLine(await named(pipe), 2, /not a regular file/);
  });

  test('a link or a folder in its place is not replaced, and a folder that cannot be written is one line', async () => {
    mkdirSync(dirname(file), { recursive: true });
    symlinkSync(folder.file('target', 'kept'), file);
    assertLine(await login(), 1, /login\.yaml: exists and is not a regular file/);
    assert.equal(readFileSync(join(folder.dir, 'target'), 'utf8'), 'kept');
    assertLine(await login('User_1', '--login-file', '/proc/login.yaml'), 1, /^parley: \/proc\/login\.yaml: /);
  });

  test('--login-file keeps a second login, which a variable chooses', async () => {
    const second = join(home, 'deep/operator.yaml');
    await loggedIn();
    await loggedIn('Operator_1', '--login-file', second);
    const { code, stderr } = await parley(['top', '--once', '--json'], { env: { PARLEY_LOGIN_FILE: second } });
    assert.equal(code, 0, stderr);
    assert.match((await parley(['sign', '/api/me'])).stdout, /[?&]User=User_1&/);
  });

  test('a secret comes from a pipe, and with any characters that accounts have', async () => {
    const piped = `cat '${secretOf('User_1')}' | '${BIN}' login --url ${cluster.nodes[0].url} --user User_1 --secret-file /dev/stdin`;
    const piping = startProcess(['-c', piped], { bin: 'bash', env: { XDG_CONFIG_HOME: home } });
    assert.equal((await piping.exit()).code, 0, piping.stderr);
    const seen = await startScripted((request, response) => sendJson(response, { Role: 'user' }));
    try {
      const odd = 'a"b\\c: {#} \u00fc\u2028%20';
      const run = await parley(['login', '--url', seen.url, '--user', 'an odd "name"', '--secret-file', folder.file('odd', odd)]);
      assert.equal(run.code, 0, run.stderr);
      const { stdout } = await parley(['sign', '/x']);
      const [kept, given] = [new URL(stdout.trim()), await parley(['sign', '--url', seen.url, '--user', 'an odd "name"', '--secret-file', join(folder.dir, 'odd'), '/x'])];
      assert.equal(kept.searchParams.get('User'), new URL(given.stdout.trim()).searchParams.get('User'));
      const text = `${kept.searchParams.get('User')} ${kept.searchParams.get('Nonce')} ${odd}`;
      assert.equal(kept.searchParams.get('Hash'), spawnSync('sha256sum', { input: text, encoding: 'utf8' }).stdout.split(' ')[0]);
    } finally {
      await seen.stop();
    }
  });

  test('logout removes it, once; then commands name parley login', async () => {
    await loggedIn();
    assert.match((await parley(['logout'])).stdout, /^logged out: \S+ is removed\n$/);
    assert.ok(!existsSync(file));
    const again = await parley(['logout']);
    assert.deepEqual([again.code, again.stdout], [0, `there was no login in ${file}\n`]);
    for (const args of [['user', 'usage', 'x'], ['top', '--once'], ['audit'], ['sign', '/x'], ['ask', 'Why?'], ['workflow', 'run', 'RULE', 'x'], ['engine', '--url', 'http://x'], ['evaluate', '--run', 'x-1'], ['recommendations', 'list']])
      assertLine(await parley(args), 2, /--user and --secret-file are missing: .*parley login/);
  });

  test('without a home there is no login, and login says so', async () => {
    const env = { XDG_CONFIG_HOME: '', HOME: '' };
    assertLine(await parley(['login', '--user', 'x', '--secret-file', secretOf('User_1')], { env }), 2, /--login-file FILE/);
    assertLine(await parley(['sign', '/x'], { env }), 2, /parley login/);
    const config = join(home, '.config/parley/login.yaml');
    const { stdout } = await parley(['login', '--url', cluster.nodes[0].url, '--user', 'User_1', '--secret-file', secretOf('User_1')], { env: { XDG_CONFIG_HOME: 'relative', HOME: home } });
    assert.match(stdout, new RegExp(`kept in ${config}\n$`));
  });

  test('on a terminal it asks for what is missing, and does not show the secret', async () => {
    const command = `XDG_CONFIG_HOME='${home}' '${BIN}' login --url ${cluster.nodes[0].url}`;
    const terminal = startProcess(['-qec', command, '/dev/null'], { bin: 'script', input: null, env: cleanEnvironment() });
    const shows = (text) => eventually(() => terminal.stdout.includes(text), { what: text });
    await shows('Account: ');
    terminal.child.stdin.write('User_1\n');
    await shows('Secret (it is not shown): ');
    terminal.child.stdin.write(`${ACCOUNTS.User_1.secret}\n`);
    await shows('logged in at');
    terminal.child.stdin.end();
    assert.deepEqual(await terminal.exit(), { code: 0, signal: null }, terminal.stdout);
    assert.ok(!terminal.stdout.includes(ACCOUNTS.User_1.secret), terminal.stdout);
    assert.equal(statSync(file).mode & 0o7777, 0o600);
  });

  test('two that log in at once leave one whole file', async () => {
    await Promise.all(Array.from({ length: 4 }, (_, i) => loggedIn(i % 2 ? 'User_1' : 'User_2')));
    assert.equal(readFileSync(file, 'utf8').split('\n').length, 5);
    assert.deepEqual(readdirSync(dirname(file)), ['login.yaml']);
    writeFileSync(file, readFileSync(file, 'utf8'));
    assert.equal((await parley(['sign', '/x'])).code, 0);
  });
});
