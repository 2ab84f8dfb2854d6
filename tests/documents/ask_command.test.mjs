// SPDX-License-Identifier: MIT
//
// `parley ask` over documents: files that it uploads and waits for, sources that it lists, the public collection.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { after, beforeEach } from 'node:test';
import { withEngine } from '../support/asking.mjs';
import { forgetLimits } from '../support/documents.mjs';
import { assertOk, eventually, runParley, suite } from '../support/harness.mjs';
import { sendJson, startScripted } from '../support/scripted_server.mjs';
import { userCommands } from '../support/user_command.mjs';

const TIMES = { timeout: 120_000 };

suite('parley ask over documents', {}, ({ test, cluster }) => {
  const commands = userCommands(cluster, { as: 'User_1', command: 'ask' });
  after(commands.remove);
  beforeEach(() => forgetLimits(cluster));
  const ask = (words, options = {}) => commands.run(words, { ...TIMES, ...options });
  const fileOf = (name, text) => {
    const path = commands.file(name);
    writeFileSync(path, text);
    return path;
  };
  const LEASES = '# Leases\n\nA lease lasts 150 seconds unless a setting says otherwise.\n';
  const ATTEMPTS = '# Attempts\n\nA question gets three attempts before it has failed.\n';

  test('files are uploaded and indexed, then asked, and the answer names its sources', () =>
    withEngine(cluster, () => 'It lasts 150 seconds [1].', async () => {
      const files = [fileOf('leases.md', LEASES), fileOf('a "odd"\u00fc name.md', ATTEMPTS)];
      const { code, stdout, stderr } = await ask([...files.flatMap((file) => ['--file', file]), 'How long does a lease last?']);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^It lasts 150 seconds \[1\]\.\n\nSources:\n\[1\] leases\.md\n$/);
      assert.match(stderr, /^parley: \S+leases\.md: indexed, 1 passage\nparley: \S+a "odd"ü name\.md: indexed, 1 passage\n$/);
      const { documents } = assertOk(await cluster.request('GET', '/api/docs', { as: 'User_1' }));
      assert.equal(documents.length, 2);
      assert.ok(documents.every(({ status }) => status === 'INDEXED'));
      const again = await ask(['--json', '--file', files[0], 'How long does a lease last?']);
      assert.equal(again.code, 0, again.stderr);
      assert.equal(again.stderr, '');
      const { answer, citations } = JSON.parse(again.stdout);
      assert.equal(answer, 'It lasts 150 seconds [1].');
      assert.equal(citations[0].documentTitle, 'leases.md');
      assert.equal(assertOk(await cluster.request('GET', '/api/docs', { as: 'User_1' })).documents.length, 2, 'the same file is not stored twice');
    }));

  test('--documents asks them without an upload; where nothing is found no source is listed', () =>
    withEngine(cluster, () => 'It lasts 150 seconds [1].', async () => {
      const { code, stdout, stderr } = await ask(['--documents', 'Zebra xylophone quux?']);
      assert.equal(code, 0, stderr);
      assert.equal(stdout, "I don't know based on the provided documents.\n");
    }));

  test('a file that is none, or that cannot be read or indexed: a line that names it', async () => {
    mkdirSync(commands.file('folder'), { recursive: true });
    for (const [path, exit, pattern] of [
      [commands.file('none.md'), 1, /--file \S+none\.md: No such file/],
      [commands.file('folder'), 1, /--file \S+folder: it is not a regular file/],
      [fileOf('x.exe', 'MZ'), 4, /refused the request: 400: /],
      [fileOf('broken.pdf', '%PDF-1.4\nnothing'), 5, /broken\.pdf: /],
    ]) {
      const { code, stdout, stderr } = await ask(['--file', path, 'Why?']);
      assert.equal(code, exit, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, pattern);
    }
  });

  test('--public needs no account, sends none, and lists pages', () =>
    withEngine(cluster, () => 'It lasts 150 seconds [1].', async () => {
      const base = 'https://example.org/book';
      const ingested = await runParley(['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--base-url', base, fileOf('leases.md', LEASES)], TIMES);
      assert.equal(ingested.code, 0, ingested.stderr);
      const { code, stdout, stderr } = await runParley(['ask', '--public', '--url', cluster.nodes[0].url, 'How long does a lease last?'], TIMES);
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^It lasts 150 seconds \[1\]\.\n\nSources:\n\[1\] https:\/\/example\.org\/book\/leases\S*\n$/);
      const seen = await startScripted((request, response) => sendJson(response, {}, 404));
      try {
        await ask(['--public', 'Why?'], { url: seen.url });
        assert.equal(seen.requests[0].url, '/ask');
      } finally {
        await seen.stop();
      }
    }));

  test('Ctrl-C during an answer over documents takes its question out of the queue', async () => {
    const running = commands.start(['--documents', 'How long does a lease last?']);
    await eventually(async () => assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Depth === 1);
    running.child.kill('SIGINT');
    assert.equal((await running.exit()).code, 6, running.stderr);
    assert.match(running.stderr, /^parley: interrupted$/m);
    await eventually(async () => assertOk(await cluster.request('GET', '/api/status', { as: 'Operator_1' })).Depth === 0);
  });
});
