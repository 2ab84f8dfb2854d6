// SPDX-License-Identifier: MIT
//
// `parley user` when something ends in the middle: a node, all of them, the command itself.
import assert from 'node:assert/strict';
import { readFileSync, rmSync, statSync } from 'node:fs';
import { after } from 'node:test';
import { ACCOUNTS, assertOk, eventually, newNonce, suite } from '../support/harness.mjs';
import { userCommands } from '../support/user_command.mjs';
import { unzip } from '../support/zip.mjs';
import { stop } from './watch.mjs';

const FRONT = { Frontend_all: { secret: 'all-secret', role: 'frontend', max_waiting: 100_000 } };

suite('parley user, and what ends in the middle of it', { nodes: 2, aof: true, sweep: false, accounts: { ...ACCOUNTS, ...FRONT } }, ({ test, cluster }) => {
  const as = 'Frontend_all';
  const commands = userCommands(cluster, { as });
  after(commands.remove);
  // Random letters, which no compression makes few: 60 times 250 kB.
  const text = () => Array.from({ length: 12_000 }, () => newNonce()).join('').slice(0, 250_000);
  const fill = async (User, n, Query) => {
    for (let i = 0; i < n; i += 10)
      await Promise.all(Array.from({ length: 10 }, (_, k) => cluster.add({ as, User, Topic: `${User}-${i + k}`, Query: Query ?? text(), node: 0 })));
  };
  const SIZE = 60;
  const User = `large-${newNonce()}`;
  const topicsOf = async (name) => assertOk(await cluster.request('GET', `/api/users/${name}/usage`, { as, node: 0 })).Topics.Count;

  // Starts an export and stops its first node once part of the file is there. If the export was over before that, it starts
  // another one.
  async function startExport(words) {
    const first = await cluster.startNode();
    for (;;) {
      const running = commands.start(['export', User, '-o', commands.file('x.zip'), ...words], { nodes: [first, cluster.nodes[0]] });
      const isThere = (name) => name === 'x.zip' || (name.startsWith('x.zip.part-') && statSync(commands.file(name), { throwIfNoEntry: false })?.size > 0);
      await eventually(() => commands.files().some(isThere), { every: 1, what: 'some of the file' });
      await stop(first);
      if (!commands.files().includes('x.zip')) return { running, first };
      first.signal('SIGCONT');
      await running.exit();
      rmSync(commands.file('x.zip'));
    }
  }

  test('Ctrl-C in the middle of an export: exit 1, and no file is left', async () => {
    await fill(User, SIZE);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      const { running, first } = await startExport([]);
      running.child.kill(signal);
      assert.deepEqual(await running.exit(60_000), { code: 1, signal: null });
      assert.equal(running.stderr, 'parley: interrupted\n');
      assert.deepEqual(commands.files(), []);
      await first.kill();
    }
  });

  test('a node that is killed in the middle of an export: the next one makes it whole', async () => {
    const { running, first } = await startExport([]);
    await first.kill();
    assert.deepEqual(await running.exit(120_000), { code: 0, signal: null }, running.stderr);
    assert.match(running.stderr, /: retrying for 60 s\n$/);
    assert.equal(JSON.parse(unzip(readFileSync(commands.file('x.zip'))).get('topics.json')).length, SIZE);
    assert.deepEqual(commands.files(), ['x.zip']);
  });

  test('a node that is killed in the middle of a deletion: the next one finishes it', async () => {
    const many = `many-${newNonce()}`;
    await fill(many, 3000, 'short');
    const first = await cluster.startNode();
    const running = commands.start(['delete', many, '--yes', '--json'], { nodes: [first, cluster.nodes[1]] });
    await eventually(async () => (await topicsOf(many)) < 3000, { every: 1, what: 'the deletion has begun' });
    await first.kill();
    assert.deepEqual(await running.exit(120_000), { code: 0, signal: null }, running.stderr);
    assert.equal(JSON.parse(running.stdout).Done, true);
    assert.equal(await topicsOf(many), 0);
    assert.deepEqual(await cluster.redis.cmd('KEYS', `*${many}*`), []);
  });

  test('Ctrl-C in the middle of a deletion: the same command continues', async () => {
    const many = `many-${newNonce()}`;
    await fill(many, 1000, 'short');
    const first = await cluster.startNode();
    await stop(first);
    const running = commands.start(['delete', many, '--yes'], { nodes: [first] });
    await eventually(() => readFileSync(`/proc/${running.child.pid}/status`, 'latin1').match(/^SigBlk:\t0*[1-9a-f]/m), { what: 'signals are caught' });
    running.child.kill('SIGINT');
    assert.deepEqual(await running.exit(60_000), { code: 1, signal: null });
    assert.match(running.stderr, /^parley: interrupted\nparley: the deletion is incomplete: run the same command again/);
    await first.kill();
    const { code, stdout } = await commands.run(['delete', many, '--yes', '--json']);
    assert.equal(code, 0);
    assert.equal(JSON.parse(stdout).Deleted.Topics, 1000);
  });

  test('a Redis that is away: tried until it is back, and without patience one line', async () => {
    await cluster.redis.kill();
    const refused = await eventually(async () => {
      const run = await commands.run(['usage', User, '--patience-seconds', '0']);
      return /503/.test(run.stderr) && run;
    });
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /^parley: http:\S+: 503: [^\n]+\n$/);
    const running = commands.start(['delete', User, '--yes', '--json', '--patience-seconds', '100']);
    await eventually(() => running.stderr.includes('retrying'), { what: 'it has been refused once' });
    await cluster.redis.restart();
    const { code } = await running.exit(120_000);
    assert.equal(code, 0, running.stderr);
    assert.equal(JSON.parse(running.stdout).Done, true);
  });
});
