// SPDX-License-Identifier: MIT
//
// `parley backup` and `parley restore` where they must refuse, end early, or meet another server; and how much memory
// they take.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { accountsYaml, BIN, eventually, makeFolder, runParley, startProcess, startRedis } from '../support/harness.mjs';
import { assertWhole, DATA_VERSION, kept, openShard, snapshot } from '../support/keyspace.mjs';
import { BOB, docId, Indexer, knowsVectorSets, packOf, upload } from '../support/lua_documents.mjs';
import { PREFIX, tailOf } from '../support/lua.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // more are in backup_shards.test.mjs
const LATIN = { encoding: 'latin1' };
const MIB = 1 << 20;

const run = (command, redis, file, ...more) => runParley([command, '--redis', redis.url, ...more, file], { timeout: 300_000 });

async function fine(promise) {
  const { code, stdout, stderr } = await promise;
  assert.equal(code, 0, stderr);
  return stdout;
}

async function refused(promise, pattern, code = 1) {
  const end = await promise;
  assert.equal(end.code, code, end.stderr + end.stdout);
  assert.match(end.stderr, pattern);
  assert.equal(end.stderr.trim().split('\n').length, 1, end.stderr);
}

const add = (shard, topic, query = 'Why?') => shard.call('add', 0, topic, 'alice', 'Frontend_1', 'default', 1, 1e6, tailOf({ query }), '', '', '');

describe('a backup or restore that must be refused', () => {
  let source;
  let target;
  let folder;
  let file;
  before(async () => {
    folder = makeFolder();
    file = join(folder.dir, 'good');
    [source, target] = await Promise.all([startRedis(LATIN), startRedis(LATIN)]);
    const shard = await openShard(source);
    for (let i = 0; i < 20; i++) await add(shard, `t${i}`);
    await fine(run('backup', source, file));
  });
  after(async () => {
    await Promise.all([source.stop(), target.stop()]);
    folder.remove();
  });
  beforeEach(() => target.cmd('FLUSHALL'));
  const nothing = async () => assert.deepEqual(await target.cmd('KEYS', '*'), []);

  it('a Redis that holds data is restored into', async () => {
    await target.cmd('SET', `${PREFIX}token_key`, 'ab');
    await refused(run('restore', target, file), /already holds data \(parley:\{0\}:token_key\)/);
    assert.deepEqual(await target.cmd('KEYS', '*'), [`${PREFIX}token_key`]);
    await fine(run('restore', target, file, '--key-prefix', 'other[1]:{1}:'));
    assertWhole(await snapshot(target, 'other[1]:{1}:'));
  });

  it('a file that was cut off anywhere, or of which any byte was changed, is written into Redis', async () => {
    const bytes = readFileSync(file);
    const bad = join(folder.dir, 'bad');
    for (const n of [0, 5, 16, 18, 40, bytes.length >> 1, bytes.length - 40, bytes.length - 1]) {
      writeFileSync(bad, bytes.subarray(0, n));
      await refused(run('restore', target, bad), /it is truncated|it is not a Parley backup/);
    }
    for (const at of [0, 14, 17, 30, bytes.length >> 1, bytes.length - 60, bytes.length - 5]) {
      const other = Buffer.from(bytes);
      other[at] ^= 1;
      writeFileSync(bad, other);
      await refused(run('restore', target, bad), /damaged|truncated|not a Parley backup|data version|of an unknown kind/);
    }
    writeFileSync(bad, Buffer.concat([bytes, Buffer.from('x')]));
    await refused(run('restore', target, bad), /there is data after its end/);
    writeFileSync(bad, Buffer.from(bytes.toString('latin1').replace(`data version ${DATA_VERSION}`, `data version ${DATA_VERSION + 1}`), 'latin1'));
    await refused(run('restore', target, bad), new RegExp(`it has data version ${DATA_VERSION + 1}, and this Parley \\(.*\\) reads only data version ${DATA_VERSION}`));
    await nothing();
  });

  it('a file that exists is overwritten without --force, or an interrupted backup leaves one', async () => {
    await refused(run('backup', source, file), /exists: choose another name, or add --force/);
    const before = statSync(file);
    await fine(run('backup', source, file, '--force'));
    assert.notEqual(statSync(file).ino, before.ino);
    const names = readdirSync(folder.dir).sort();
    await source.pause();
    const process = startProcess(['backup', '--redis', source.url, join(folder.dir, 'never')]);
    await eventually(() => readdirSync(folder.dir).length > names.length);
    process.child.kill('SIGTERM');
    const { code } = await process.exit();
    await source.resume();
    assert.equal(code, 1);
    assert.match(process.stderr, /interrupted/);
    assert.deepEqual(readdirSync(folder.dir).sort(), names);
  });

  it('a missing file, folder or argument is anything but one line', async () => {
    await refused(run('restore', target, join(folder.dir, 'none')), /none: No such file/);
    await refused(run('backup', source, join(folder.dir, 'none', 'x')), /No such file/);
    await refused(runParley(['backup']), /which file\?/, 2);
    await refused(runParley(['restore', 'a', 'b']), /give one file at a time/, 2);
    await refused(runParley(['restore', '--redis', 'http://x', 'a']), /--redis: /, 2);
    await refused(runParley(['restore', '--redis', target.url, '-'], { input: `parley backup, data version ${DATA_VERSION}\n` }), /must be a regular file, because it is read twice/);
  });

  it('standard output and --json say something else than a file would hold', async () => {
    const piped = execFileSync(BIN, ['backup', '--redis', source.url, '--json', '-'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const other = join(folder.dir, 'piped');
    writeFileSync(other, piped);
    const counts = JSON.parse(await fine(run('restore', target, other, '--json')));
    assert.deepEqual([counts.topics, counts.queries], [20, 20]);
  });

  it('a Redis at its maxmemory, or one that takes no writes, cannot be backed up', async () => {
    await source.cmd('CONFIG', 'SET', 'maxmemory', 1);
    await fine(run('backup', source, join(folder.dir, 'full')));
    await source.cmd('CONFIG', 'SET', 'maxmemory', 0);
    await source.cmd('CONFIG', 'SET', 'min-replicas-to-write', 1);
    await fine(run('backup', source, join(folder.dir, 'readonly')));
    await source.cmd('CONFIG', 'SET', 'min-replicas-to-write', 0);
    await fine(run('restore', target, join(folder.dir, 'full')));
    assertWhole(await snapshot(target));
  });
});

// --- disks and moments ---------------------------------------------------------------------------

describe('a disk, a permission or a moment that a backup or restore did not expect', () => {
  let source;
  let target;
  let folder;
  let file;
  before(async () => {
    folder = makeFolder();
    file = join(folder.dir, 'good');
    [source, target] = await Promise.all([startRedis(LATIN), startRedis({ ...LATIN, aof: true })]);
    const shard = await openShard(source);
    for (let i = 0; i < 300; i++) await add(shard, `t${i}`, 'x'.repeat(100_000));
    await fine(run('backup', source, file));
  });
  after(async () => {
    await Promise.all([source.stop(), target.stop()]);
    folder.remove();
  });
  beforeEach(() => target.cmd('FLUSHALL'));
  const mark = () => target.cmd('GET', `${PREFIX}restoring`);
  // A restore that stands still in its middle. One that was quicker than this test is made once more.
  async function startRestore() {
    for (;;) {
      const running = startProcess(['restore', '--redis', target.url, file]);
      await eventually(async () => (await target.cmd('DBSIZE')) > 10, { what: 'the restore has begun' });
      running.child.kill('SIGSTOP');
      if (await mark()) return running;
      running.child.kill('SIGCONT');
      await running.exit();
      await target.cmd('FLUSHALL');
    }
  }

  it('a disk that is full leaves a file, or no word of it', async () => {
    const names = readdirSync(folder.dir).sort();
    const full = { limits: ['--fsize=3000000'], timeout: 300_000 };
    await refused(runParley(['backup', '--redis', source.url, join(folder.dir, 'full')], full), /full: File too large/);
    assert.deepEqual(readdirSync(folder.dir).sort(), names);
    const { status, stderr } = spawnSync('sh', ['-c', '"$0" backup --redis "$1" - >/dev/full', BIN, source.url], { encoding: 'utf8' });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^parley: -: No space left on device\n$|^parley: standard output: No space left on device\n$/);
  });

  it('a file or folder without permission is anything but one line, or Redis is written to', async () => {
    const closed = join(folder.dir, 'closed');
    mkdirSync(closed);
    chmodSync(closed, 0o555);
    chmodSync(folder.dir, 0o755);
    const secret = join(closed, 'secret');
    writeFileSync(secret, readFileSync(file), { mode: 0o000 });
    // As somebody else if the tests are root's, who may do anything.
    const other = process.getuid() === 0 ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : [];
    const call = (...args) => spawnSync([...other, BIN][0], [...other, BIN, ...args].slice(1), { encoding: 'utf8', env: { ...process.env, ASAN_OPTIONS: 'detect_leaks=0' } });
    for (const args of [['backup', '--redis', source.url, join(closed, 'x')], ['restore', '--redis', target.url, secret]]) {
      const { status, stderr } = call(...args);
      assert.equal(status, 1, stderr);
      assert.match(stderr, /^parley: \S+: Permission denied\n$/);
    }
    assert.deepEqual(await target.cmd('KEYS', '*'), []);
  });

  it('two restores at once both write', { timeout: 300_000 }, async () => {
    const ends = await Promise.all([run('restore', target, file), run('restore', target, file), run('restore', target, file)]);
    assert.deepEqual(ends.map(({ code }) => code).sort(), [0, 1, 1], ends.map(({ stderr }) => stderr).join(''));
    for (const { code, stderr } of ends) if (code) assert.match(stderr, /^parley: (another restore|a restore into this Redis is incomplete|Redis already holds data).*\n$/);
    assertWhole(await snapshot(target));
    assert.deepEqual(kept(await snapshot(target)), kept(await snapshot(source)));
  });

  it('a restore that was cut short is restored into, backed up or served as if it were whole', { timeout: 300_000 }, async () => {
    const running = await startRestore();
    running.child.kill('SIGTERM');
    running.child.kill('SIGCONT');
    const { code } = await running.exit();
    assert.equal(code, 1, running.stderr);
    assert.match(running.stderr, /interrupted\nparley: the restore is incomplete: empty this Redis \(FLUSHDB\) and restore again\n$/);
    assert.ok(await mark());
    const accounts = folder.file('accounts.yaml', accountsYaml());
    const says = /is incomplete \(key parley:\{0\}:restoring exists\): wait until it ends; if it was interrupted, empty this Redis \(FLUSHDB\)/;
    await refused(run('restore', target, file), says);
    await refused(run('backup', target, join(folder.dir, 'half')), says);
    await refused(runParley(['serve', '--listen', '127.0.0.1:0', '--accounts', accounts, '--redis', target.url]), says);
    await target.cmd('FLUSHDB');
    await fine(run('restore', target, file));
    assert.equal(await mark(), null);
  });

  it('a Redis that restarts during a restore ends up with half of it, and no error is reported', { timeout: 300_000 }, async () => {
    for (const isEmpty of [false, true]) {
      await target.cmd('FLUSHALL');
      const running = await startRestore();
      await target.restart();
      if (isEmpty) await target.cmd('FLUSHALL');
      running.child.kill('SIGCONT');
      const { code } = await running.exit();
      assert.equal(code, 1, running.stderr);
      assert.match(running.stderr, /Redis was restarted or emptied during the restore: data restored before that may be lost\nparley: the restore is incomplete/);
      await refused(run('restore', target, file), /restore into this Redis is incomplete|already holds data/);
    }
  });

  it('a replica cannot be backed up', { timeout: 300_000 }, async () => {
    const replica = await startRedis({ ...LATIN, args: ['--replicaof', `127.0.0.1 ${source.port}`] });
    try {
      await eventually(async () => (await replica.info('replication')).master_link_status === 'up', { ms: 60_000 });
      await fine(run('backup', replica, join(folder.dir, 'replica')));
      // As docs/operations/backup.md has it.
      await replica.cmd('ACL', 'SETUSER', 'reader', 'on', '>word', '~parley:{0}:*', '+@read', '+@connection', '+eval', '+info', '+time');
      const url = `redis://reader:word@127.0.0.1:${replica.port}`;
      await fine(run('backup', { url }, join(folder.dir, 'read')));
    } finally {
      await replica.stop();
    }
    await fine(run('restore', target, join(folder.dir, 'replica')));
    assert.deepEqual(kept(await snapshot(target)), kept(await snapshot(source)));
  });
});

describe('a backup of a large cluster', () => {
  it('takes memory that grows with it, or stops Redis', { timeout: 300_000 }, async () => {
    const folder = makeFolder();
    const [source, target] = await Promise.all([startRedis(LATIN), startRedis(LATIN)]);
    try {
      const shard = await openShard(source);
      const text = 'x'.repeat(250_000);
      for (let i = 0; i < 250; i++) await add(shard, `t${i % 3}`, text);
      await upload(shard, { n: 1, bytes: 'y'.repeat(24 * MIB), cap: 1e9 });
      for (let i = 0; i < 100; i++) await source.cmd('SADD', `${PREFIX}nonces:${i % 10}`, ...Array.from({ length: 5000 }, (_, k) => `${i}-${k}`.padEnd(16, '.')));
      const before = kept(await snapshot(source));
      const used = Number((await source.info('memory')).used_memory);
      assert.ok(used > 100 * MIB, `${used}`);
      await source.cmd('CONFIG', 'RESETSTAT');
      const file = join(folder.dir, 'large');
      const measure = (...args) => {
        const program = 'import resource,subprocess,sys; subprocess.check_call(sys.argv[1:], stdout=2); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)';
        return Number(execFileSync('python3', ['-c', program, BIN, ...args], { stdio: ['ignore', 'pipe', 'ignore'], env: { ...process.env, ASAN_OPTIONS: 'quarantine_size_mb=1:malloc_context_size=1' } })) * 1024;
      };
      const [out, back] = [measure('backup', '--redis', source.url, file), measure('restore', '--redis', target.url, file)];
      assert.ok(out < 230 * MIB && back < 230 * MIB, `${out / MIB} and ${back / MIB} MiB`); // most of it the sanitizers'
      assert.deepEqual(kept(await snapshot(target)), before);
      assertWhole(await snapshot(target));
      const stats = await source.info('commandstats');
      const worst = /usec=(\d+).*usec_per_call=([\d.]+)/.exec(stats.cmdstat_eval);
      assert.ok(Number(worst[2]) < 50_000, `${worst[2]} us a step`);
    } finally {
      await Promise.all([source.stop(), target.stop()]);
      folder.remove();
    }
  });
});

// --- other servers -------------------------------------------------------------------------------

function serverOf(name) {
  try {
    return execFileSync('tests/servers.sh', [name], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}

describe('a backup of one version of Redis in another', () => {
  const servers = { redis7: 'redis-server', redis8: serverOf('redis8'), valkey8: serverOf('valkey8') };
  for (const [from, to] of [['redis7', 'redis8'], ['redis8', 'redis7'], ['redis8', 'redis8'], ['redis7', 'valkey8'], ['valkey8', 'redis7']]) {
    it(`${from} to ${to}: is refused, or documents are lost`, { timeout: 300_000 }, async (t) => {
      if (!servers[from] || !servers[to]) return t.skip('that server cannot be fetched here');
      const folder = makeFolder();
      const [source, target] = await Promise.all([startRedis({ ...LATIN, server: servers[from] }), startRedis({ ...LATIN, server: servers[to] })]);
      try {
        const shard = await openShard(source);
        const hasSets = [await knowsVectorSets(shard), await knowsVectorSets(await openShard(target))];
        const indexer = new Indexer(shard);
        await add(shard, 'topic');
        await upload(shard, { n: 1, space: BOB });
        await indexer.index({ vectors: hasSets[0] ? 'set' : 'exact', digest: 'abc', chunks: 20, pack: packOf([0, 10]) });
        const before = await snapshot(source);
        const file = join(folder.dir, 'file');
        await fine(run('backup', source, file));
        const counts = JSON.parse(await fine(run('restore', target, file, '--json')));
        const found = await snapshot(target);
        assertWhole(found);
        assert.equal(counts.withoutVectors, hasSets[0] && !hasSets[1] ? 1 : 0);
        if (hasSets[0] && !hasSets[1]) {
          const doc = found.get(`doc:${docId(1)}`).value;
          assert.deepEqual([doc.status, doc.vectors, doc.model, doc.dimension], ['INDEXED', '', '', '0']);
          assert.equal(found.get(`space:${BOB}`).value.vectors, 'exact');
        } else {
          assert.deepEqual(kept(found), kept(before));
        }
        if (hasSets[0] && hasSets[1]) {
          const key = `${PREFIX}vectors:${BOB}:abc`;
          const element = `${docId(1)}:${before.get(`doc:${docId(1)}`).value.generation}:19`;
          assert.deepEqual(await target.cmd('VEMB', key, element), await source.cmd('VEMB', key, element));
        }
      } finally {
        await Promise.all([source.stop(), target.stop()]);
        folder.remove();
      }
    });
  }
});
