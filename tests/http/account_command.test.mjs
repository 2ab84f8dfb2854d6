// SPDX-License-Identifier: MIT
//
// parley account: what it writes into the accounts file, and what it leaves as it is.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BIN, makeFolder, runParley } from '../support/node.mjs';
import { eventually, openRequest, sign, startNode, startRedis, withQuery } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a command that edits a file: the same on any number of shards

const FILE = `# our accounts
accounts:
  Frontend_1:  {secret: "s3cret", role: frontend}   # the web page
  User_1:      {secret: "04EMG47U62bjoyL3", role: user, max_waiting: 7}
  # engines
  Inference_1:
    # block style
    secret: 7b18d017f89f61cf17d # plain
    role: engine

  Operator_1:  {secret: "operator-secret", role: operator}
# the end
`;

describe('parley account', () => {
  let folder, path;
  before(() => (folder = makeFolder()));
  after(() => folder.remove());
  let n = 0;
  const put = (text = FILE) => (path = folder.file(`accounts${n++}.yaml`, text));
  const run = (...args) => runParley(['account', ...args, '--accounts', path]);
  const text = () => readFileSync(path, 'utf8');
  const done = async (...args) => {
    const { code, stdout, stderr } = await run(...args);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    return stdout;
  };
  const refused = async (pattern, code, ...args) => {
    const was = existsSync(path) ? text() : null;
    const end = await run(...args);
    assert.equal(end.code, code, end.stderr);
    assert.equal(end.stdout, '');
    assert.match(end.stderr, /^parley: [^\n]+\n$/, 'one line');
    assert.match(end.stderr, pattern);
    assert.equal(existsSync(path) ? text() : null, was, 'the file is as it was');
  };
  const listed = async () => JSON.parse(await done('list', '--json')).accounts;

  it('add puts an account after the others and shows its secret once; all else stays byte for byte', async () => {
    put();
    const { secret } = JSON.parse(await done('add', 'User_2', '--role', 'user', '--max-rate', '5', '--json'));
    assert.match(secret, /^[\w-]{32}$/);
    assert.equal(text(), FILE.replace('# the end', `  User_2: {secret: "${secret}", role: user, max_rate: 5}\n# the end`));
    assert.ok(!(await done('list')).includes(secret));
    const [, shown] = /^added Häns_1\nsecret \(shown only now\): (\S+)\nnodes that run notice it within 5 seconds\n$/.exec(await done('add', 'Häns_1', '--role', 'frontend', '--namespace', 'n1'));
    assert.ok(text().includes(`  "Häns_1": {secret: "${shown}", role: frontend, namespace: n1}\n`));
    assert.deepEqual((await listed()).map(({ account }) => account), ['Frontend_1', 'User_1', 'Inference_1', 'Operator_1', 'User_2', 'Häns_1']);
  });

  it('add makes a file that is not there, with mode 0600, and continues with a file of comments', async () => {
    path = join(folder.dir, 'new.yaml');
    await done('add', 'Operator_1', '--role', 'operator');
    assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.equal((await listed()).length, 1);
    for (const start of ['# nobody yet', '# nobody yet\naccounts:\n', 'accounts:']) {
      put(start);
      await done('add', 'A_1', '--role', 'user');
      assert.ok(text().startsWith(start));
      assert.equal((await listed()).length, 1);
    }
    path = join(folder.dir, 'never.yaml');
    await refused(/white space/, 1, 'add', 'a b', '--role', 'user');
    assert.ok(!existsSync(path), 'no empty file is left');
  });

  it('remove takes the lines of an account and no others', async () => {
    put();
    await done('remove', 'Inference_1');
    await done('remove', 'Frontend_1');
    assert.equal(text(), FILE.replace(/ {2}Frontend_1.*\n/, '').replace(/ {2}Inference_1:\n[^]*role: engine\n/, ''));
    await done('remove', 'User_1');
    await refused(/only account/, 1, 'remove', 'Operator_1');
  });

  it('rotate keeps the former secret for the stated time, in both styles, and with 0 seconds not at all', async () => {
    put();
    const before = Date.now();
    for (const name of ['User_1', 'Inference_1']) {
      const { secret, former_until } = JSON.parse(await done('rotate', name, '--grace-seconds', '3600', '--json'));
      assert.ok(Math.abs(Date.parse(former_until) - before - 3_600_000) < 120_000, former_until);
      assert.ok(text().includes(`secret: "${secret}"`));
    }
    assert.match(text(), /User_1: {6}\{former_until: ".*", former_secret: "04EMG47U62bjoyL3", secret: "[\w-]{32}", role: user, max_waiting: 7\}\n/);
    assert.match(text(), / {4}# block style\n {4}former_until: .*\n {4}former_secret: "7b18d017f89f61cf17d"\n {4}secret: "[\w-]{32}" # plain\n {4}role: engine\n/);
    assert.ok(text().startsWith('# our accounts\naccounts:\n  Frontend_1:  {secret: "s3cret"'));
    for (const name of ['User_1', 'Inference_1']) await done('rotate', name, '--grace-seconds', '0');
    assert.equal(text().replaceAll(/secret: "[\w-]{32}"/g, 'secret: S'), FILE.replace('"04EMG47U62bjoyL3"', 'S').replace('7b18d017f89f61cf17d', 'S'));
    assert.ok((await listed()).every(({ former_until }) => former_until === null));
  });

  it('a former secret that has ended goes with the next change of the file', async () => {
    put('accounts:\n  A: {secret: a, former_secret: b, former_until: 2020-01-01T00:00:00Z, role: user}\n  B: {secret: b, role: user}\n');
    await done('add', 'C', '--role', 'user');
    assert.ok(text().startsWith('accounts:\n  A: {secret: a, role: user}\n  B: {secret: b, role: user}\n  C: {'), text());
  });

  it('writes a secret to a file of mode 0600; add does not replace one, rotate does', async () => {
    put();
    const secretFile = join(folder.dir, 'user.secret');
    const stdout = await done('add', 'User_3', '--role', 'user', '--secret-file', secretFile);
    const first = readFileSync(secretFile, 'utf8').trim();
    assert.equal(statSync(secretFile).mode & 0o777, 0o600);
    assert.ok(text().includes(first) && !stdout.includes(first));
    await refused(/would replace/, 1, 'add', 'User_4', '--role', 'user', '--secret-file', secretFile);
    assert.equal(readFileSync(secretFile, 'utf8').trim(), first);
    await done('rotate', 'User_3', '--secret-file', secretFile);
    const second = readFileSync(secretFile, 'utf8').trim();
    assert.notEqual(second, first);
    assert.ok(text().includes(`secret: "${second}"`) && text().includes(`former_secret: "${first}"`));
    await refused(/no account/, 1, 'rotate', 'Nobody', '--secret-file', secretFile);
    assert.equal(readFileSync(secretFile, 'utf8').trim(), second);
    const own = folder.file('own.secret', ' my "own" secret: #1 \n');
    await done('rotate', 'User_3', '--secret-from', own);
    assert.ok(text().includes('secret: "my \\"own\\" secret: #1"'));
  });

  it('a hashed secret is in the file only as a hash, and stays one when it is rotated', async () => {
    put();
    const { secret } = JSON.parse(await done('add', 'User_5', '--role', 'user', '--hashed', '--json'));
    const hash = /secret_hash: "(sha256:[0-9a-f:]+)"/.exec(text())[1];
    assert.ok(!text().includes(secret));
    await done('rotate', 'User_5');
    assert.ok(text().includes(`former_hash: "${hash}"`));
    assert.ok(!/User_5: \{[^}]*[ {]secret: /.test(text()));
    assert.equal((await listed()).at(-1).hashed, true);
    await refused(/engines sign/, 1, 'add', 'E_1', '--role', 'engine', '--hashed');
    const own = folder.file('weak.secret', 'password');
    await refused(/generated secret/, 2, 'add', 'U_6', '--role', 'user', '--hashed', '--secret-from', own);
  });

  it('two commands at once lose nothing', async () => {
    put();
    const names = Array.from({ length: 12 }, (_, i) => `Many_${i}`);
    await Promise.all(names.map((name) => done('add', name, '--role', 'user')));
    const found = (await listed()).map(({ account }) => account);
    assert.deepEqual(found.filter((name) => name.startsWith('Many_')).sort(), [...names].sort());
    assert.deepEqual(readdirSync(folder.dir).filter((name) => name.includes('.part-')), []);
  });

  it('keeps mode and owner, and a symbolic link', async () => {
    const real = put();
    chmodSync(real, 0o640);
    path = join(folder.dir, 'link.yaml');
    symlinkSync(real, path);
    await done('remove', 'User_1');
    assert.ok(lstatSync(path).isSymbolicLink());
    assert.equal(statSync(path).mode & 0o777, 0o640);
    assert.ok(!text().includes('User_1'));
  });

  it('a link that leads nowhere and a pipe that nobody writes to are refused, without waiting', async () => {
    path = join(folder.dir, 'nowhere.yaml');
    symlinkSync('missing.yaml', path);
    await refused(/symbolic link to a file that does not exist/, 1, 'add', 'X', '--role', 'user');
    path = join(folder.dir, 'pipe.yaml');
    execFileSync('mkfifo', [path]);
    for (const args of [['list'], ['add', 'X', '--role', 'user']]) {
      const { code, stderr } = await run(...args);
      assert.equal(code, 1);
      assert.match(stderr, /^parley: [^\n]*(empty|not a regular file)\n$/);
    }
  });

  it('without room for the new file the old one stays, and no secret is left behind', async () => {
    const own = makeFolder();
    const file = own.file('accounts.yaml', FILE);
    const { status, stderr } = spawnSync('bash', ['-c', 'ulimit -f 0; exec "$0" "$@"', BIN, 'account', 'rotate', 'User_1', '--accounts', file, '--secret-file', join(own.dir, 'secret')], { encoding: 'utf8' });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^parley: [^\n]*File too large\n$/);
    assert.deepEqual(readdirSync(own.dir), ['accounts.yaml']);
    assert.equal(readFileSync(file, 'utf8'), FILE);
    own.remove();
  });

  it('thousands of former secrets that have ended do not hold up a change', async () => {
    const old = (i) => `  U${i}: {secret: "secret-${i}", role: user, former_secret: "former-${i}", former_until: "2020-01-01T00:00:00Z"}\n`;
    put(`accounts:\n${Array.from({ length: 3000 }, (_, i) => old(i)).join('')}`);
    await done('remove', 'U1');
    const { accounts } = JSON.parse(await done('list', '--json'));
    assert.equal(accounts.length, 2999);
    assert.ok(accounts.every(({ former_until: until }) => until === null));
  });

  it('a read-only file, one that is not there, and a broken one are refused with one line', async () => {
    put();
    chmodSync(path, 0o444);
    await refused(/read-only/, 1, 'remove', 'User_1');
    await refused(/read-only/, 1, 'rotate', 'User_1');
    chmodSync(path, 0o600);
    put('accounts:\n  A: {secret: "x", role: king}\n');
    for (const args of [['remove', 'A'], ['rotate', 'A'], ['add', 'B', '--role', 'user'], ['list']]) await refused(/line 2: .*role/, 1, ...args);
    path = join(folder.dir, 'nowhere.yaml');
    for (const args of [['remove', 'A'], ['rotate', 'A'], ['list']]) await refused(/No such file/, 1, ...args);
    path = join(folder.dir, 'folder');
    mkdirSync(path);
    const end = await run('add', 'A', '--role', 'user');
    assert.equal(end.code, 1);
    assert.match(end.stderr, /regular file/);
  });

  it('a file in a form that cannot be edited safely is left as it is', async () => {
    for (const unusual of [
      'accounts: {A: {secret: a, role: user}, B: {secret: b, role: user}}\n',
      'accounts:\n  A: &a {secret: a, role: user}\n  B: *a\n',
      'accounts:\n  ? A\n  : {secret: a, role: user}\n  ? B\n  : {secret: b, role: user}\n',
    ]) {
      put(unusual);
      await refused(/by hand/, 1, 'remove', 'A');
      const end = await run('rotate', 'A', '--grace-seconds', '0');
      if (end.code !== 0) assert.equal(text(), unusual);
      const accounts = await listed();
      assert.equal(accounts.length, 2);
    }
    put(Buffer.from('\ufeffaccounts:\n  A: {secret: a, role: user}\n', 'utf16le'));
    await refused(/UTF-8/, 1, 'add', 'B', '--role', 'user');
  });

  it('windows line ends, a byte order mark and a missing last newline stay', async () => {
    put('\ufeffaccounts:\r\n  Ä: {secret: a, role: user}\r\n  B: {secret: "b", role: user}');
    await done('rotate', 'Ä', '--grace-seconds', '0');
    await done('add', 'C', '--role', 'user');
    assert.match(text(), /^\ufeffaccounts:\r\n {2}Ä: \{secret: "[\w-]{32}", role: user\}\r\n {2}B: \{secret: "b", role: user\}\r\n {2}C: \{secret: "[\w-]{32}", role: user\}\r\n$/);
  });

  it('wrong words and flags: one line and exit 2', async () => {
    put();
    await refused(/list, add, remove, rotate or key/, 2, 'show');
    await refused(/list, add, remove, rotate or key/, 2);
    await refused(/one account/, 2, 'remove');
    await refused(/one account/, 2, 'add', 'A', 'B', '--role', 'user');
    await refused(/--role: is required/, 2, 'add', 'A');
    await refused(/flag of parley account add/, 2, 'rotate', 'User_1', '--role', 'user');
    await refused(/flag of parley account rotate/, 2, 'add', 'A', '--role', 'user', '--grace-seconds', '5');
    await refused(/UTF-8/, 2, 'remove', '');
    const { code, stderr } = await runParley(['account', 'list']);
    assert.deepEqual([code, stderr], [2, 'parley: --accounts: is required: the YAML file of accounts\n']);
  });

  it('a running node takes what the command wrote', async () => {
    put();
    const redis = await startRedis();
    const node = await startNode({ redis, accounts: path });
    const login = async (user, secret) => (await openRequest(node.url, 'GET', withQuery('/api/login', sign(user, secret))).response).status;
    try {
      const { secret } = JSON.parse(await done('add', 'User_7', '--role', 'user', '--json'));
      await eventually(async () => (await login('User_7', secret)) === 200, { every: 200 });
      const { secret: second } = JSON.parse(await done('rotate', 'User_7', '--json'));
      await eventually(async () => (await login('User_7', second)) === 200, { every: 200 });
      assert.equal(await login('User_7', secret), 200, 'both, while it is rotated');
      await done('remove', 'User_7');
      await eventually(async () => [401, 429].includes(await login('User_7', second)), { every: 200 }); // 429: it has tried before it was known
    } finally {
      await node.stop();
      await redis.stop();
    }
  });
});
