// SPDX-License-Identifier: MIT
//
// `parley user`: usage, export and deletion of a user's data from the command line.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { after } from 'node:test';
import { upload } from '../support/documents.mjs';
import { ACCOUNTS, assertOk, BIN, cleanEnvironment, newNonce, SLOW_RESCUE, suite } from '../support/harness.mjs';
import { userCommands } from '../support/user_command.mjs';
import { unzip } from '../support/zip.mjs';

const NAMESPACES = { acme: { secret: 'acme-secret', role: 'frontend', namespace: 'acme' } };

// A server that is not a node: scripted answers.
async function startServer(answer) {
  const server = http.createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}

suite('parley user', { args: SLOW_RESCUE, accounts: { ...ACCOUNTS, ...NAMESPACES } }, ({ test, cluster }) => {
  const newUser = () => `user ${newNonce()}`;
  const commands = userCommands(cluster);
  after(commands.remove);
  const ok = async (words, options) => {
    const { code, stdout, stderr } = await commands.run(words, options);
    assert.equal(code, 0, stderr);
    assert.equal(stderr, '');
    return stdout;
  };
  // One line on standard error, none on standard output, and no file.
  const refused = async (words, expected, { exit = 1, ...options } = {}) => {
    const before = commands.files();
    const { code, stdout, stderr } = await commands.run(words, options);
    assert.equal(code, exit, stderr);
    assert.match(stderr, expected);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
    assert.equal(stdout, '');
    assert.deepEqual(commands.files(), before);
    for (const { secret } of Object.values(cluster.accounts)) assert.ok(!stderr.includes(secret));
  };
  const topicsOf = async (User) => assertOk(await cluster.request('GET', `/api/users/${encodeURIComponent(User)}/usage`, { as: 'Frontend_1' })).Topics.Count;

  test('usage counts what is stored, for people and as JSON', async () => {
    const User = newUser();
    await cluster.add({ User, Query: 'one' });
    await cluster.add({ User, Query: 'two' });
    const json = JSON.parse(await ok(['usage', User, '--json']));
    assert.deepEqual(json, assertOk(await cluster.request('GET', `/api/users/${encodeURIComponent(User)}/usage`, { as: 'Frontend_1' })));
    assert.match(await ok(['usage', User]), new RegExp(`^${User}\n  topics +2\n  questions +2, 2 of 100 waiting\n`));
    assert.match(await ok(['usage', User], { as: 'Operator_1' }), /\n  questions +2\n/);
    assert.equal(JSON.parse(await ok(['usage', 'User_1', '--json'], { as: 'User_1' })).User, 'User_1');
  });

  test('an export is the zip of the route, in a file of mode 0600 that appears at the end', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User, Query: 'mine' });
    assertOk(await upload(cluster, { as: 'Frontend_1', query: { OnBehalfOf: User }, name: 'a.txt', bytes: 'of a document' }), 201);
    const file = commands.file('export.zip');
    assert.equal(await ok(['export', User, '-o', file]), `${file}: ${statSync(file).size} bytes\n`);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(JSON.parse(unzip(readFileSync(file)).get('topics.json')).map((topic) => topic.Topic), [Topic]);
    assert.deepEqual(commands.files(), ['export.zip']);
    const whole = readFileSync(file);
    await refused(['export', User, '--output', file], /^parley: \S+export\.zip exists: choose another name, or add --force$/m);
    assert.ok(readFileSync(file).equals(whole), 'and the old one is as it was');
    writeFileSync(file, 'old');
    assert.deepEqual(JSON.parse(await ok(['export', User, '-o', file, '--force', '--json'])), { File: file, Bytes: statSync(file).size });
    assert.deepEqual([...unzip(readFileSync(file)).keys()].sort(), [...unzip(whole).keys()].sort());
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  test('only regular files are replaced, and links are not followed', async () => {
    mkdirSync(commands.file('folder'));
    symlinkSync(commands.file('target'), commands.file('link'));
    for (const name of ['folder', 'link']) await refused(['export', 'alice', '-o', commands.file(name), '--force'], /exists and is not a regular file$/m);
    await refused(['export', 'alice', '-o', '/dev/full', '--force'], /^parley: \/dev\/full exists and is not a regular file$/m);
    await refused(['export', 'alice', '-o', commands.file('none/x.zip')], /none\/x\.zip: No such file or directory$/m);
    assert.ok(!existsSync(commands.file('target')));
  });

  test('an export to standard output is the zip alone', async () => {
    const User = newUser();
    const { Topic } = await cluster.add({ User });
    const { status, stdout, stderr } = spawnSync(BIN, commands.argsOf(['export', User, '-o', '-']), { env: cleanEnvironment() });
    assert.equal(status, 0, String(stderr));
    assert.equal(String(stderr), '');
    assert.deepEqual(JSON.parse(unzip(stdout).get('topics.json')).map((topic) => topic.Topic), [Topic]);
  });

  test('a full disk: one line, exit 1, and no file', async () => {
    const User = newUser();
    for (let i = 0; i < 4; i++) await cluster.add({ User, Query: Array.from({ length: 4000 }, newNonce).join('') });
    await refused(['export', User, '-o', commands.file('full.zip')], /full\.zip: File too large$/m, { limits: ['--fsize=20000'] });
    const sh = (what) => spawnSync('sh', ['-c', `"$0" "$@" ${what}`, BIN, ...commands.argsOf(['export', User, '-o', '-'])], { env: cleanEnvironment(), encoding: 'latin1' });
    const { status, stderr } = sh('>/dev/full');
    assert.equal(status, 1);
    assert.equal(stderr, 'parley: standard output: No space left on device\n');
    assert.match(sh('| head -c 10').stderr, /^parley: standard output: Broken pipe\n$/);
    assert.match(sh('>&-').stderr, /^parley: standard output: /);
  });

  test('a deletion in a script: everything, as a list and as JSON; repeating it is not an error', async () => {
    const User = newUser();
    await cluster.add({ User });
    await cluster.add({ User });
    assert.equal(await ok(['delete', User, '--yes']), `deleted of ${User}:\n          2 topics\n          2 questions\n`);
    assert.equal(await topicsOf(User), 0);
    assert.equal(await ok(['delete', User, '--yes']), `nothing is stored for ${User}\n`);
    await cluster.add({ User });
    const { Deleted, ...rest } = JSON.parse(await ok(['delete', User, '--yes', '--json']));
    assert.deepEqual(rest, { User, Done: true, Requests: 1 });
    assert.equal(Deleted.Topics, 1);
  });

  // On a terminal of its own, which `script` gives it.
  const onTerminal = (words, input, options) => {
    const quoted = [BIN, ...commands.argsOf(words, options)].map((word) => `'${word}'`).join(' ');
    return spawnSync('script', ['-qec', quoted, '/dev/null'], { env: cleanEnvironment(), input, encoding: 'utf8', timeout: 60_000 });
  };

  test('a deletion on a terminal shows what there is, and wants the name', async () => {
    const User = newUser();
    await cluster.add({ User });
    for (const wrong of ['', 'y\n', `${User} \n`, `x${User}\n`, `${'long'.repeat(300)}\n`]) {
      const { status, stdout } = onTerminal(['delete', User], wrong);
      assert.equal(status, 1, stdout);
      assert.match(stdout, /  topics +1\r\n[^]*Type the user name[^]*the name does not match: nothing was deleted/);
    }
    assert.equal(await topicsOf(User), 1);
    const { status, stdout } = onTerminal(['delete', User], `${User}\n`);
    assert.equal(status, 0, stdout);
    assert.match(stdout, /1 topics/);
    assert.equal(await topicsOf(User), 0);
    assert.match(onTerminal(['export', User, '-o', '-'], '').stdout, /standard output is a terminal/);
  });

  test('without a terminal a deletion needs --yes', async () => {
    await refused(['delete', newUser()], /--yes/, { exit: 2 });
  });

  test('an operator writes the namespace, a frontend has its own', async () => {
    const User = newUser();
    await cluster.add({ as: 'acme', User });
    assert.equal(JSON.parse(await ok(['usage', User, '--json'])).Topics.Count, 0);
    assert.equal(JSON.parse(await ok(['delete', User, '--yes', '--json'], { as: 'Operator_1' })).Deleted.Topics, 0);
    assert.equal(JSON.parse(await ok(['usage', User, '--json'], { as: 'acme' })).Topics.Count, 1);
    assert.equal(JSON.parse(await ok(['delete', `acme~${User}`, '--yes', '--json'], { as: 'Operator_1' })).Deleted.Topics, 1);
  });

  test('a name of any letters reaches its user: in a path it is percent-encoded', async () => {
    for (const User of ['a/b', '../usage', 'a?b#c', '%41', '100 %', '-o', 'ü\u{1f600}', "it's", 'x'.repeat(128), '.', '..']) {
      await cluster.add({ User });
      const words = User === '-o' ? null : ['usage', User, '--json'];
      if (words) assert.deepEqual([User, JSON.parse(await ok(words)).Topics.Count], [User, 1]);
      assert.equal(JSON.parse(await ok(['delete', User, '--yes', '--json'])).Deleted.Topics, 1, User);
    }
  });

  test('what a node refuses: one line that says what to do', async () => {
    await refused(['usage', 'alice'], /^parley: --secret-file \S+: http:\S+ refused the signature of --user Frontend_1: /, { secret: 'wrong' });
    await refused(['usage', 'alice'], /refused the signature of --user Nobody: /, { as: 'Nobody', secret: 'x' });
    await refused(['usage', 'User_2'], /^parley: --user User_1: http:\S+ does not give this account access to the data of User_2: sign as /, { as: 'User_1' });
    await refused(['delete', 'alice', '--yes'], /^parley: --user Inference_1: http:\S+ does not give this account access to/, { as: 'Inference_1' });
    await refused(['export', 'x'.repeat(129), '-o', commands.file('x.zip')], /refused the request: 400: /);
  });

  test('where no node is: one line, exit 1', async () => {
    const server = await startServer((request, response) => response.writeHead(404).end('not here'));
    await refused(['usage', 'alice'], /^parley: --url \S+: status 404: not a Parley node, or one without the service `users`/, { url: server.url });
    await server.stop();
    await refused(['usage', 'alice', '--patience-seconds', '0'], /^parley: http:\S+: nothing listens at 127\.0\.0\.1:\d+ \(connection refused\): .*--patience-seconds\)$/m, { url: server.url });
    for (const [type, body] of [['text/html', '<p>Welcome'], ['application/json', '[]'], ['application/json', '{"Deleted":3}']]) {
      const other = await startServer((request, response) => response.writeHead(200, { 'Content-Type': type }).end(body));
      if (type === 'text/html' || body === '[]') {
        await refused(['usage', 'alice'], /not a Parley node/, { url: other.url });
        await refused(['export', 'alice', '-o', commands.file('alien.zip')], /not a Parley node/, { url: other.url });
      } else {
        const { code, stderr } = await commands.run(['delete', 'alice', '--yes'], { url: other.url });
        assert.equal(code, 1);
        assert.match(stderr, /the response is not from a Parley node/);
      }
      await other.stop();
    }
  });

  test('an answer that ends early in a proxy that ends it rightly: the zip shows it', async () => {
    const User = newUser();
    await cluster.add({ User, Query: Array.from({ length: 4000 }, newNonce).join('') });
    const file = commands.file('whole.zip');
    await ok(['export', User, '-o', file]);
    const cut = readFileSync(file).subarray(0, -5);
    const proxy = await startServer((request, response) => response.writeHead(200, { 'Content-Type': 'application/zip' }).end(cut));
    await refused(['export', User, '-o', commands.file('cut.zip'), '--patience-seconds', '0'], /the response ended before the end of the zip file/, { url: proxy.url });
    await proxy.stop();
  });

  test('503 and 429 are retried after Retry-After, on the next node', async () => {
    const User = newUser();
    await cluster.add({ User });
    let asked = 0;
    const busy = await startServer((request, response) => {
      asked++;
      const problem = { type: 'about:blank', title: 'x', status: 503, detail: 'Redis is \u001b[31maway.', code: 'redis_lost', instance: 'x' };
      response.writeHead(asked === 1 ? 503 : 429, { 'Retry-After': '1', 'Content-Type': 'application/problem+json' }).end(JSON.stringify(problem));
    });
    const url = `${busy.url},${cluster.nodes[0].url}`;
    const { code, stdout, stderr } = await commands.run(['delete', User, '--yes', '--json'], { url });
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).Deleted.Topics, 1);
    assert.match(stderr, /^parley: http:\S+: 503: Redis is \[31maway\.: retrying for 60 s\n$/);
    assert.equal(asked, 1);
    const long = await commands.run(['usage', User, '--patience-seconds', '1'], { url: busy.url });
    assert.equal(long.code, 1);
    assert.match(long.stderr, /429: .* \(retry in 1 s\)\n$/);
    await busy.stop();
  });

  test('the signature changes with each request, and neither it nor the secret is on the command line', async () => {
    const seen = [];
    const node = await startServer((request, response) => {
      seen.push(new URL(request.url, 'http://x').searchParams);
      response.writeHead(202, { 'Content-Type': 'application/json' }).end(JSON.stringify({ Deleted: { Topics: 1, Later: 2 }, Done: seen.length === 3 }));
    });
    const { code, stdout } = await commands.run(['delete', 'alice', '--yes', '--json'], { url: node.url });
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { User: 'alice', Deleted: { Topics: 3, Later: 6 }, Done: true, Requests: 3 });
    assert.equal(new Set(seen.map((one) => one.get('Nonce'))).size, 3);
    await node.stop();
  });

  test('a wrong use: one line, exit 2', async () => {
    for (const words of [[], ['usage'], ['usage', ''], ['usage', 'a', 'b'], ['show', 'a'], ['export', 'a'], ['export', 'a', '-o'], ['usage', 'x'.repeat(162)], ['usage', 'a', '--patience-seconds', 'x']])
      await refused(words, /^parley: /, { exit: 2 });
    await refused(['usage', 'a'], /--url takes/, { exit: 2, url: 'ftp://x' });
    await refused(['usage', 'a'], /--url takes/, { exit: 2, url: 'http://u:p@x' });
  });
});
