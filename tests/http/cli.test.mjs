// SPDX-License-Identifier: MIT
//
// The command line. Signals of a running node are tested in signals.test.mjs.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import {
  ACCOUNTS,
  assertOk,
  assertProblem,
  makeFolder,
  openRequest,
  runParley,
  startRedis,
  suite,
  writeAccounts,
} from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // the command line of commands that ask no cluster: the same on any number of shards

// One line on standard error, nothing on standard output, exit 2.
function assertWrongUsage({ code, stdout, stderr }, pattern, what = '') {
  assert.equal(code, 2, `exit code ${code} ${what} ${stderr}`);
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
    for (const flag of [
      'target',
      'listen',
      'redis',
      'accounts',
      'threads',
      'lease-seconds',
      'max-attempts',
      'queue-max',
      'auth-sha1',
      'cors-origins',
      'trusted-proxies',
      'drain-seconds',
      'log-format',
      'log-level',
      'delivery-seconds',
      'rescan-seconds',
      'check-config',
    ]) {
      assert.match(stdout, new RegExp(`--${flag}\\b`));
    }
  });

  it('an unknown target is refused with the names of all services', async () => {
    const run = await runParley(['serve', '--check-config', '--accounts', accounts.path, '--target', 'broker,brokr']);
    assertWrongUsage(run, /^parley: --target takes a comma list of: all, broker, users, documents, workflow, bots, openai, mcp, web, indexer; not 'brokr': did you mean broker\?$/m);
  });

  it('a wrong setting of a service is found in a process that does not run it', async () => {
    const run = (flag, value) => runParley(['serve', '--check-config', '--accounts', accounts.path, '--target', 'web', flag, value]);
    assertWrongUsage(await run('--public-collection', ''), /^parley: --public-collection: takes a name of 1 to 128 bytes, not ''$/m);
    assertWrongUsage(await run('--embeddings', 'nonsense'), /^parley: --embeddings: /);
  });

  it('an option that several commands take reads the same in all of them', async () => {
    const texts = new Map(); // the option with its default -> what its help says
    for (const command of ['ask', 'login', 'logout', 'serve', 'engine', 'ingest', 'reindex', 'backup', 'restore', 'sign']) {
      const { stdout } = await runParley([command, '--help']);
      for (const [, flag, text] of stdout.matchAll(/^  --(\S+)[^\n]*\n((?: {8}[^\n]*\n)+)/gm)) {
        if (!/^(redis|key-prefix|log-|embeddings|vectors|owner-max|job-lease|user|secret-file|login-file|check-config)/.test(flag)) continue;
        const key = `${flag} ${/Default: (.*)\.$/m.exec(text)?.[1]}`;
        assert.equal(texts.get(key) ?? text, text, `--${flag} of ${command}`);
        texts.set(key, text);
      }
    }
    assert.ok(texts.size > 10, `found ${[...texts.keys()]}`);
  });

  it('a command that signs requests takes what parley login keeps', async () => {
    const { stdout } = await runParley(['--help']);
    let n = 0;
    for (const [, command] of stdout.matchAll(/^ {2}([a-z]+) {2}/gm)) {
      const help = (await runParley([command, '--help'])).stdout;
      if (!/^ {2}--user /m.test(help)) continue;
      assert.match(help, /^ {2}--login-file FILE$/m, command);
      n += 1;
    }
    assert.ok(n > 8, `${n} commands`);
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

  it('a variable that is no setting ends every command with the nearest name', async () => {
    const check = (env, ...args) => runParley(args.length ? args : ['serve', '--check-config', '--accounts', accounts.path, '--redis', 'redis://127.0.0.1:1'], { env });
    const commands = [...(await runParley(['--help'])).stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name]) => name);
    assert.ok(commands.length > 10);
    await Promise.all(
      commands.map(async (name) => {
        const hasSettings = /Environment: PARLEY_CONFIG/.test((await runParley([name, '--help'])).stdout);
        const { code, stderr } = await check({ PARLEY_LISTNE: 'x' }, name, ...(hasSettings ? [] : name === 'completion' ? ['bash'] : []));
        if (hasSettings) assert.deepEqual([code, /^parley: the environment variable 'PARLEY_LISTNE' is not a setting: did you mean PARLEY_LISTEN\? .*\n$/.test(stderr)], [2, true], `${name}: ${stderr}`);
        else assert.deepEqual([code, stderr], [0, ''], name);
      }),
    );
    // What other commands, ./dev and the tests take is none of its business.
    const { code, stderr } = await check({ PARLEY_SECRET_FILE: 'x', PARLEY_CORPUS: 'x', PARLEY_BIN: 'x', PARLEY_TEST_SHARDS: '4', PARLEY_LLM_URL: 'x' });
    assert.deepEqual([code, stderr], [0, '']);
    // --help does not look at it.
    assert.equal((await check({ PARLEY_LISTNE: 'x' }, 'serve', '--help')).stderr, '');
  });

  it('a wrong value is one clear line and exit 2', async () => {
    const serve = (...flags) => runParley(['serve', '--check-config', '--accounts', accounts.path, ...flags]);
    for (const [flag, value] of [
      ['threads', 'many'],
      ['threads', '-1'],
      ['lease-seconds', '0'],
      ['lease-seconds', '1.5'],
      ['lease-seconds', '99999999999999999999'],
      ['max-attempts', 'x'],
      ['max-attempts', '0'],
      ['queue-max', '-5'],
      ['auth-sha1', 'maybe'],
      ['log-format', 'xml'],
      ['log-level', 'loud'],
      ['listen', 'nonsense'],
      ['listen', '127.0.0.1:99999'],
      ['listen', ''],
      ['redis', 'http://127.0.0.1:1/'],
      ['redis', 'nonsense'],
      ['target', 'nonsense'],
      ['trusted-proxies', '300.1.2.3'],
      ['cors-origins', 'app.example'],
      ['cors-origins', 'https://app.example,*'],
      ['cors-origins', 'https://app.example/'],
      ['cors-origins', 'https://App.example'],
      ['cors-origins', 'https://'],
      ['cors-origins', 'null'],
      ['drain-seconds', 'x'],
    ]) {
      assertWrongUsage(await serve(`--${flag}`, value), new RegExp(value ? `${flag}|${value}` : flag), `--${flag} ${value}`);
    }
  });

  it('a wrong value in the environment is one clear line and exit 2', async () => {
    assertWrongUsage(
      await runParley(['serve', '--check-config', '--accounts', accounts.path], { env: { PARLEY_LEASE_SECONDS: 'x' } }),
      /PARLEY_LEASE_SECONDS|lease-seconds/,
    );
  });

  it('an accounts file that is missing or broken is one clear line that names it, and exit 2', async () => {
    const folder = makeFolder();
    try {
      assertWrongUsage(await runParley(['serve', '--check-config', '--accounts', join(folder.dir, 'none.yaml')]), /none\.yaml/);
      for (const text of [
        'accounts: [',
        'accounts:\n  A: {secret: "x", role: king}\n',
        'accounts:\n  A: {role: user}\n',
        'nonsense: 1\n',
        '',
      ]) {
        assertWrongUsage(
          await runParley(['serve', '--check-config', '--accounts', folder.file('broken.yaml', text)]),
          /broken\.yaml/,
        );
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
      const { code, stderr, stdout } = await runParley([
        'serve',
        '--accounts',
        accounts.path,
        '--redis',
        redis.url,
        '--listen',
        `127.0.0.1:${port}`,
      ]);
      assert.ok(code > 0, 'it does not run');
      assert.match(stderr, new RegExp(String(port)));
      assert.equal(stdout, '');
    } finally {
      server.close();
      await redis.stop();
    }
  });
});

describe('parley completion', () => {
  // What bash offers behind these words, the last of which is being typed.
  async function offered(...words) {
    const { stdout: script } = await runParley(['completion', 'bash']);
    const line = ['parley', ...words].map((word) => `'${word}'`).join(' ');
    const { stdout } = await promisify(execFile)('bash', ['-c', `${script}\nCOMP_WORDS=(${line}) COMP_CWORD=${words.length}\n_parley\necho "\${COMPREPLY[@]}"`]);
    return stdout.trim().split(' ').filter(Boolean);
  }

  it('offers commands, then their flags, then the values of a flag', async () => {
    assert.deepEqual(await offered('re'), ['reindex', 'restore', 'recommendations']);
    assert.deepEqual(await offered('sign', '--'), ['--user', '--secret-file', '--login-file', '--url', '--method', '--config', '--help']);
    assert.deepEqual(await offered('evaluate', '--measure', ''), ['cosine', 'dot', 'euclidean']);
    assert.deepEqual(await offered('serve', '--log-level', ''), ['debug', 'info', 'warn', 'error']);
    assert.deepEqual(await offered('serve', '--log-level', '=', 'w'), ['warn'], '--log-level=w, as bash takes it apart');
    assert.deepEqual(await offered('serve', '--log-level', '='), ['debug', 'info', 'warn', 'error']);
    assert.deepEqual(await offered('completion', ''), ['bash', 'zsh', 'fish']);
    assert.deepEqual(await offered('completion', '--'), ['--help'], 'it reads no settings');
    assert.deepEqual(await offered('show', 'c'), ['classes', 'claims', 'connections']);
    assert.deepEqual(await offered('serve', '--listen', ''), [], 'a value that may be anything');
    assert.deepEqual(await offered('serve', '--auth-sha1', '--log-f'), ['--log-format'], 'a switch needs no value');
  });

  it('names every command and flag that --help names, for every shell', async () => {
    const scripts = await Promise.all(['bash', 'zsh', 'fish'].map(async (shell) => (await runParley(['completion', shell])).stdout));
    const { stdout } = await runParley(['--help']);
    const commands = [...stdout.matchAll(/^ {2}([a-z]+) {2}/gm)].map(([, name]) => name);
    assert.ok(commands.includes('serve') && commands.length > 8);
    for (const command of commands) {
      const help = (await runParley([command, '--help'])).stdout;
      for (const [, flag] of help.matchAll(/^ {2}--([a-z0-9-]+)/gm)) for (const script of scripts) assert.ok(script.includes(flag), `${command} --${flag}`);
      for (const script of scripts) assert.match(script, new RegExp(`\\b${command}\\b`));
    }
  });

  it('reads no settings, and refuses another shell', async () => {
    const { code, stderr } = await runParley(['completion', 'fish'], { env: { PARLEY_CONFIG: '/nonexistent', PARLEY_THREADS: 'x' } });
    assert.equal(code, 0, stderr);
    assertWrongUsage(await runParley(['completion', 'csh']), /bash, zsh or fish/);
    assertWrongUsage(await runParley(['completion']), /bash, zsh or fish/);
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

  test('a path is put after the node of --url, the first of several', async () => {
    const { code, stdout, stderr } = await signUrl('/api/me', ['--url', `${cluster.nodes[1].url}/,http://127.0.0.1:1`]);
    assert.equal(code, 0, stderr);
    const url = new URL(stdout.trim());
    assert.equal(url.origin, cluster.nodes[1].url);
    assert.equal(assertOk(await openRequest(url.origin, 'GET', url.pathname + url.search).response).id, 'User_1');
    assert.match((await signUrl('/api/me')).stdout, /^\/api\/me\?User=User_1&/);
  });

  test('a different nonce each time', async () => {
    const nonces = new Set();
    for (let i = 0; i < 3; i++)
      nonces.add(new URL((await signUrl('http://127.0.0.1:1/x')).stdout.trim()).searchParams.get('Nonce'));
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
      const unreadable = await runParley(['sign', '--user', 'u', '--secret-file', join(folder.dir, 'none'), 'http://x/']);
      assert.ok(unreadable.code > 0);
      assert.match(unreadable.stderr, /^[^\n]*none[^\n]*\n$/);
    } finally {
      folder.remove();
    }
  });
});
