// SPDX-License-Identifier: MIT
//
// `parley ingest`: folders into a collection, again and again, whatever came in between.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { BIN, makeFolder, runParley, startProcess, startRedis, suite, waitForOutput } from '../support/harness.mjs';
import { makePdf, openDesk, prose, startEmbedder } from '../support/indexing.mjs';
import { startProxy } from '../support/proxy.mjs';
import { ask } from '../support/shards.mjs';

const BASE = 'https://host/book';
const SPACE = 'c:public';
const BOOK = {
  'docs/README.md': '# Home\n\nWhat this book is about.',
  'docs/guide/index.html': '<h1>Guide</h1><p>How to begin.</p>',
  'docs/guide/leases.md': '# Leases\n\nA lease lasts 150 seconds.',
  'docs/notes with spaces.txt': 'Notes that somebody took.',
  'docs/.hidden.md': 'not for you',
  'docs/image.png': 'PNG',
};

// A folder with these files, and `parley ingest` run in it.
class Book {
  constructor(redis, files = BOOK) {
    this.redis = redis;
    this.folder = makeFolder();
    this.cwd = this.folder.dir;
    for (const [name, text] of Object.entries(files)) this.write(name, text);
  }

  write(name, text) {
    mkdirSync(join(this.cwd, dirname(name)), { recursive: true });
    writeFileSync(join(this.cwd, name), text);
  }

  remove(name) {
    rmSync(join(this.cwd, name));
  }

  args(...more) {
    return ['ingest', '--redis', this.redis.url, '--collection', 'public', '--base-url', BASE, '--job-lease-seconds', 1, ...more];
  }

  start(...more) {
    return startProcess(this.args(...more), { cwd: this.cwd });
  }

  // Runs it to its end, with --json: {code, stderr, outcomes: {path: outcome}, files: [...], summary}.
  async run(...more) {
    const { code, stdout, stderr } = await runParley(this.args('--json', ...more), { cwd: this.cwd, timeout: 120_000 });
    const lines = stdout.trim().split('\n').map((line) => JSON.parse(line));
    const summary = lines.pop();
    return { code, stderr, files: lines, summary, outcomes: Object.fromEntries(lines.map(({ path, outcome }) => [path, outcome])) };
  }
}

suite('parley ingest', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let desk;
  let book;
  before(async () => (desk = await openDesk(cluster.redis)));
  after(() => desk.close());
  beforeEach(async () => {
    book?.folder.remove();
    await desk.cmd('FLUSHALL');
    book = new Book(cluster.redis);
  });
  after(() => book.folder.remove());

  // Name of file -> document, as the collection has them.
  async function stored(space = SPACE) {
    const flat = await desk.ask('HGETALL', `paths:${space}`);
    const docs = {};
    for (let i = 0; i < flat.length; i += 2) docs[decodeURIComponent(flat[i])] = { id: flat[i + 1], ...(await desk.doc(flat[i + 1])) };
    return docs;
  }

  async function assertAllWhole(names) {
    const docs = await stored();
    assert.deepEqual(Object.keys(docs).sort(), [...names].sort());
    for (const { id } of Object.values(docs)) await desk.assertWhole(id);
    assert.equal(await desk.ask('ZCARD', `docs:${SPACE}`), names.length);
    assert.equal(await desk.sum('XLEN', 'jobs'), 0);
    return docs;
  }

  test('puts every document below a folder into the collection, with the address of its page', async () => {
    const { code, outcomes, summary, stderr } = await book.run('docs');
    assert.equal(code, 0, stderr);
    const names = ['docs/README.md', 'docs/guide/index.html', 'docs/guide/leases.md', 'docs/notes with spaces.txt'];
    assert.deepEqual(outcomes, { ...Object.fromEntries(names.map((name) => [name, 'indexed'])), 'docs/.hidden.md': 'skipped', 'docs/image.png': 'skipped' });
    assert.deepEqual(summary, { files: 4, indexed: 4, unchanged: 0, failed: 0, removed: 0, skipped: 2, otherModel: 0, dryRun: false, complete: true });
    const docs = await assertAllWhole(names);
    assert.equal(docs['docs/README.md'].url, '"https://host/book/"');
    assert.equal(docs['docs/guide/index.html'].url, '"https://host/book/guide/"');
    assert.equal(docs['docs/guide/leases.md'].url, '"https://host/book/guide/leases"');
    assert.equal(docs['docs/notes with spaces.txt'].url, '"https://host/book/notes%20with%20spaces.txt"');
    assert.equal(docs['docs/guide/leases.md'].filename, '"leases.md"');
    assert.equal(docs['docs/guide/leases.md'].type, 'text/markdown');
  });

  test('leaves alone what is unchanged, indexes what changed under the same id', async () => {
    await book.run('docs');
    const first = await stored();
    book.write('docs/guide/leases.md', '# Leases\n\nA lease lasts 10 seconds.');
    const again = await book.run('./docs/');
    assert.deepEqual([again.summary.indexed, again.summary.unchanged], [1, 3]);
    assert.equal(again.outcomes['docs/guide/leases.md'], 'indexed');
    const second = await assertAllWhole(Object.keys(first));
    for (const [name, { id, generation }] of Object.entries(first)) {
      assert.equal(second[name].id, id);
      assert.equal(second[name].generation === generation, name !== 'docs/guide/leases.md', name);
    }
    assert.match((await desk.text(second['docs/guide/leases.md'].id)).toString(), /10 seconds/);
  });

  test('files with the same bytes are documents of their own', async () => {
    book.write('docs/copy.md', BOOK['docs/guide/leases.md']);
    const { code, summary } = await book.run('docs');
    assert.deepEqual([code, summary.indexed], [0, 5]);
    await assertAllWhole([...Object.keys(await stored())]);
    assert.equal((await book.run('docs')).summary.unchanged, 5);
  });

  test('--prune removes documents of deleted files, only below the given paths', async () => {
    book.write('other/page.md', 'Of another folder.');
    await book.run('docs', 'other');
    book.remove('docs/guide/leases.md');
    book.remove('other/page.md');
    const kept = await book.run('docs');
    assert.equal(kept.summary.removed, 0, 'without --prune nothing goes');
    const guide = await book.run('--prune', 'docs/guide');
    assert.deepEqual([guide.summary.removed, guide.outcomes['docs/guide/leases.md']], [1, 'removed']);
    const { [`other/page.md`]: other, ...rest } = await stored();
    assert.ok(other, 'what lies below no given path stays');
    assert.deepEqual(Object.keys(rest).sort(), ['docs/README.md', 'docs/guide/index.html', 'docs/notes with spaces.txt']);
  });

  test('a file that was renamed is found under its new name alone after --prune', async () => {
    await book.run('docs');
    book.remove('docs/guide/leases.md');
    book.write('docs/guide/claims.md', BOOK['docs/guide/leases.md']);
    const { summary } = await book.run('--prune', 'docs');
    assert.deepEqual([summary.removed, summary.indexed, summary.unchanged], [1, 1, 3]);
    await assertAllWhole(['docs/README.md', 'docs/guide/index.html', 'docs/guide/claims.md', 'docs/notes with spaces.txt']);
  });

  test('with another --base-url the documents get their new addresses', async () => {
    await book.run('docs');
    const moved = await book.run('docs', '--base-url', 'http://elsewhere/');
    assert.deepEqual([moved.code, moved.summary.indexed], [0, 4]);
    assert.equal((await stored())['docs/guide/leases.md'].url, '"http://elsewhere/guide/leases"');
    assert.equal((await book.run('docs', '--base-url', 'http://elsewhere')).summary.unchanged, 4);
  });

  test('without --base-url the documents have no address', async () => {
    const { code } = await runParley(['ingest', '--redis', cluster.redis.url, '--collection', 'public', 'docs'], { cwd: book.cwd });
    assert.equal(code, 0);
    assert.equal((await stored())['docs/guide/leases.md'].url, '');
  });

  test('files that cannot be indexed are listed with their reasons, the others are indexed, exit 1', async () => {
    book.write('docs/lying.pdf', 'plain words');
    book.write('docs/empty.md', '');
    const { code, files, summary } = await book.run('docs');
    assert.equal(code, 1);
    assert.deepEqual([summary.indexed, summary.failed, summary.complete], [4, 2, true]);
    const reasons = Object.fromEntries(files.filter(({ outcome }) => outcome === 'failed').map(({ path, reason }) => [path, reason]));
    assert.match(reasons['docs/lying.pdf'], /PDF/);
    assert.match(reasons['docs/empty.md'], /empty/);
    book.write('docs/lying.pdf', makePdf(1));
    book.remove('docs/empty.md');
    const mended = await book.run('--prune', 'docs');
    if (existsSync('/usr/bin/pdftotext')) assert.deepEqual([mended.code, mended.summary.indexed, mended.summary.removed], [0, 1, 1]);
  });

  test('a file that failed is tried again the next time', async () => {
    book.write('docs/empty.md', '');
    await book.run('docs');
    const again = await book.run('docs');
    assert.deepEqual([again.code, again.summary.failed, again.summary.unchanged], [1, 1, 4]);
  });

  test('a full collection refuses further files with a reason', async () => {
    book.write('docs/large.txt', prose(200_000));
    const { code, files } = await book.run('docs', '--owner-max-mib', 1);
    assert.equal(code, 1);
    const { reason } = files.find(({ path }) => path === 'docs/large.txt');
    assert.match(reason, /1 MiB/);
  });

  test('--dry-run prints what would be done and does nothing', async () => {
    await book.run('docs');
    book.remove('docs/README.md');
    book.write('docs/guide/leases.md', 'changed');
    book.write('docs/new.md', 'new');
    const before = await stored();
    const { code, outcomes, summary } = await book.run('--dry-run', '--prune', 'docs');
    assert.equal(code, 0);
    assert.equal(summary.dryRun, true);
    assert.deepEqual(
      [outcomes['docs/README.md'], outcomes['docs/guide/leases.md'], outcomes['docs/new.md'], outcomes['docs/guide/index.html']],
      ['removed', 'indexed', 'indexed', 'unchanged'],
    );
    assert.deepEqual(await stored(), before);
  });

  test('with an indexer of a node beside it every file is indexed, by whom does not matter', async () => {
    const node = await cluster.startNode();
    for (let i = 0; i < 40; i++) book.write(`docs/page${i}.md`, prose(400, i + 1));
    const { code, summary } = await book.run('docs');
    assert.deepEqual([code, summary.indexed, summary.failed], [0, 44, 0]);
    await assertAllWhole(Object.keys(await stored()));
    await node.stop();
    cluster.nodes.splice(0);
  });

  test('two at once make one document of each file', async () => {
    for (let i = 0; i < 30; i++) book.write(`docs/page${i}.md`, prose(400, i + 1));
    const ends = await Promise.all([book.run('docs'), book.run('docs')]);
    assert.deepEqual(ends.map(({ code, summary }) => [code, summary.failed]), [[0, 0], [0, 0]]);
    await assertAllWhole(Object.keys(await stored()));
    assert.equal(Object.keys(await stored()).length, 34);
  });

  for (const [signal, word] of [['SIGINT', 'interrupted'], ['SIGTERM', 'interrupted'], ['SIGKILL', undefined]]) {
    test(`what ${signal} interrupted is finished the next time`, async () => {
      const embedder = await startEmbedder();
      const model = ['--embeddings', `openai:${embedder.url}#stub`];
      const release = embedder.hold();
      const running = book.start(...model, 'docs');
      await embedder.asked(1);
      running.child.kill(signal);
      const { code } = await running.exit();
      if (word) {
        assert.equal(code, 1);
        assert.match(running.stdout, /0 of 4 files.*interrupted/);
        assert.match(running.stderr, /interrupted; run it again to continue/);
      }
      release();
      const again = await book.run(...model, 'docs');
      assert.deepEqual([again.code, again.summary.indexed], [0, 4], again.stderr);
      await assertAllWhole(Object.keys(await stored()));
      await embedder.stop();
    });
  }

  test('killed after storing a file but before reporting it: the next run finds it unchanged', async () => {
    const proxy = await startProxy(cluster.redis);
    const held = proxy.holdAt('job_store', 'reply');
    const running = startProcess(book.args('--redis', proxy.url, 'docs'), { cwd: book.cwd });
    await held;
    running.child.kill('SIGKILL');
    await running.exit();
    await proxy.stop();
    const again = await book.run('docs');
    assert.deepEqual([again.code, again.summary.indexed, again.summary.unchanged], [0, 3, 1]);
    await assertAllWhole(Object.keys(await stored()));
  });

  test('people see a line for each file, and on a terminal a bar', async () => {
    const plain = await runParley(book.args('docs'), { cwd: book.cwd });
    assert.match(plain.stdout, /^indexed {3}docs\/README\.md\n/);
    assert.match(plain.stdout, /\n4 of 4 files: 4 indexed, 0 unchanged, 0 failed; 0 removed, 2 skipped\n$/);
    assert.equal(plain.stderr, '');
    book.write('docs/empty.md', '');
    const command = [BIN, ...book.args('docs')].map((word) => `'${word}'`).join(' ');
    const shown = spawnSync('script', ['-qec', command, '/dev/null'], { cwd: book.cwd, env: { ...process.env, TERM: 'xterm' }, encoding: 'utf8' });
    assert.equal(shown.status, 1, shown.stderr);
    assert.match(shown.stdout, /\r\x1b\[K\[#*-*\] \d\/5 files, \d\.\d\/\d\.\d MiB/);
    assert.match(shown.stdout, /failed {4}docs\/empty\.md: The file is empty\./);
    assert.doesNotMatch(shown.stdout, /unchanged +docs/);
  });

  test('files that fail for one reason are named together, and one by one with --json', async () => {
    for (let i = 0; i < 13; i++) book.write(`docs/empty-${String(i).padStart(2, '0')}.md`, '');
    const { code, stdout } = await runParley(book.args('docs'), { cwd: book.cwd });
    assert.equal(code, 1);
    assert.deepEqual(stdout.split('\n').filter((line) => line.startsWith('failed')), [
      'failed    docs/empty-00.md: The file is empty.',
      'failed    12 more files (docs/empty-01.md, docs/empty-02.md, docs/empty-03.md, docs/empty-04.md, ...): The file is empty.',
    ]);
    assert.equal((await book.run('docs')).files.filter(({ outcome }) => outcome === 'failed').length, 13);
  });

  test('what is left out is named with the reason, one by one with --json or --verbose', async () => {
    for (const name of ['docs/a.zip', 'docs/b.tar.gz', 'docs/.git/config', 'docs/tool.py', 'docs/old/x.md', 'docs/old/y.md', 'docs/page.log']) book.write(name, 'left out');
    const flags = ['--exclude-code', '--exclude', 'old', '--exclude', 'docs/*.log', 'docs'];
    const skipped = (stdout) => stdout.split('\n').filter((line) => line.startsWith('skipped'));
    const HIDDEN = 'Hidden files and folders are not read.';
    const ARCHIVE = 'Archives are not read: unpack the file and send what is in it.';
    const brief = await runParley(book.args(...flags), { cwd: book.cwd });
    assert.equal(brief.code, 0, brief.stderr);
    assert.deepEqual(skipped(brief.stdout), [
      `skipped   2 (docs/.git, docs/.hidden.md): ${HIDDEN}`,
      `skipped   2 (docs/a.zip, docs/b.tar.gz): ${ARCHIVE}`,
      'skipped   docs/image.png: Text in images is not read: run OCR on the image and send the text, or a PDF that has it.',
      'skipped   2 (docs/old, docs/page.log): Excluded by --exclude.',
      'skipped   docs/tool.py: Source code, left out by --exclude-code.',
    ]);
    assert.match(brief.stdout, /4 of 4 files: 4 indexed, .* 8 skipped\n$/);
    const verbose = await runParley(book.args('--verbose', ...flags), { cwd: book.cwd });
    assert.equal(skipped(verbose.stdout).length, 8);
    assert.match(verbose.stdout, /\nskipped {3}docs\/b\.tar\.gz: Archives/);
    assert.match(verbose.stdout, /^unchanged docs\/README\.md\n/);
    const { files, summary } = await book.run(...flags);
    assert.deepEqual(files.filter(({ outcome }) => outcome === 'skipped').map(({ reason }) => reason).filter((reason) => reason === HIDDEN || reason === ARCHIVE), [HIDDEN, HIDDEN, ARCHIVE, ARCHIVE]);
    assert.deepEqual([summary.skipped, summary.unchanged], [8, 4]);
  });

  test('--include reads only what matches, and --prune then removes the others', async () => {
    await book.run('docs');
    const { outcomes, summary } = await book.run('--include', '*.md', '--include', '*.html', '--prune', 'docs');
    assert.deepEqual([summary.unchanged, summary.removed], [3, 1]);
    assert.equal(outcomes['docs/image.png'], 'skipped');
    await assertAllWhole(['docs/README.md', 'docs/guide/index.html', 'docs/guide/leases.md']);
  });

  test('after an upgrade, unchanged files are read again if more is read of them, or indexed again', async () => {
    await book.run('docs');
    const first = await stored();
    const change = (name, ...words) => desk.ask(words[0], `doc:${first[name].id}`, ...words.slice(1));
    await change('docs/README.md', 'HDEL', 'readers'); // as one of before there were versions
    await change('docs/guide/leases.md', 'HSET', 'pack_version', 0);
    await change('docs/guide/index.html', 'HSET', 'kind', 'text'); // as if the ending had meant another kind
    const dry = await book.run('--dry-run', 'docs');
    assert.deepEqual([dry.summary.indexed, dry.summary.unchanged], [3, 1]);
    const { code, files, summary } = await book.run('docs');
    assert.deepEqual([code, summary.indexed, summary.unchanged], [0, 3, 1]);
    assert.match(files.find(({ path }) => path === 'docs/README.md').reason, /^read again/);
    assert.match(files.find(({ path }) => path === 'docs/guide/leases.md').reason, /^indexed again/);
    const second = await assertAllWhole(Object.keys(first));
    for (const [name, { id, generation }] of Object.entries(first)) {
      assert.deepEqual([second[name].id, second[name].readers, second[name].pack_version, second[name].kind], [id, first[name].readers, '1', first[name].kind]);
      assert.equal(second[name].generation === generation, name === 'docs/notes with spaces.txt', name);
    }
    assert.notEqual(second['docs/README.md'].text, first['docs/README.md'].text, 'it was read');
    assert.equal(second['docs/guide/leases.md'].text, first['docs/guide/leases.md'].text, 'its text was used');
    assert.equal((await book.run('docs')).summary.unchanged, 4);
  });

  test('names that hold control characters or no UTF-8 harm neither the terminal nor the collection', async () => {
    const bad = Buffer.concat([Buffer.from(`${book.cwd}/docs/`), Buffer.from([0x1b, 0x5b, 0x41, 0xff]), Buffer.from('.md')]);
    writeFileSync(bad, 'A strange name.');
    const { code, stdout } = await runParley(book.args('docs'), { cwd: book.cwd });
    assert.equal(code, 0);
    assert.ok(!stdout.includes('\x1b'), 'no escape reaches the terminal');
    book.write('turned\u202Etxt.md', 'Another strange name.');
    const turned = await runParley(book.args('turned\u202Etxt.md'), { cwd: book.cwd });
    assert.equal(turned.code, 0, turned.stderr);
    assert.ok(!turned.stdout.includes('\u202E'), 'no mark of direction reaches the terminal');
    const id = await desk.ask('HGET', `paths:${SPACE}`, encodeURIComponent('turned\u202Etxt.md'));
    assert.equal((await desk.doc(id)).filename, '"turnedtxt.md"');
    assert.equal((await book.run('docs')).summary.unchanged, 5);
  });
});

describe('the command line of parley ingest', () => {
  let redis;
  let book;
  before(async () => {
    redis = await startRedis();
    book = new Book(redis);
  });
  after(async () => {
    book.folder.remove();
    await redis.stop();
  });

  it('a wrong flag, value or path is one clear line and exit 2, and nothing is stored', async () => {
    const good = ['--redis', redis.url, '--collection', 'public', '--base-url', BASE];
    const without = (flag) => good.filter((word, i) => word !== flag && good[i - 1] !== flag);
    for (const [args, pattern] of [
      [good, /PATH/],
      [[...good, 'nowhere'], /nowhere: No such file/],
      [[...good, 'docs/image.png'], /image\.png: unsupported file type/],
      [[...without('--collection'), 'docs'], /--collection/],
      [[...good, '--base-url', 'ftp://host', 'docs'], /--base-url/],
      [[...good, '--base-url', 'http://u:p@host', 'docs'], /--base-url takes (?!.*u:p)/],
      [[...good, '--collection', 'x'.repeat(65), 'docs'], /--collection/],
      [[...good, '--collection', 'a\u202Eb', 'docs'], /--collection/],
      [[...good, '--redis', 'http://x', 'docs'], /--redis/],
      [[...good, '--embeddings', 'nonsense', 'docs'], /--embeddings/],
      [[...good, '--vectors', 'some', 'docs'], /--vectors/],
      [[...good, '--owner-max-mib', '0', 'docs'], /owner-max-mib/],
      [[...good, '--colection', 'x', 'docs'], /colection/],
    ]) {
      const { code, stdout, stderr } = await runParley(['ingest', ...args], { cwd: book.cwd });
      assert.equal(code, 2, `${args}: ${stderr}`);
      assert.equal(stdout, '');
      assert.match(stderr, /^parley: [^\n]+\n$/);
      assert.match(stderr, pattern);
    }
    assert.equal(await redis.cmd('DBSIZE'), 0);
  });

  it('takes its settings from the environment too', async () => {
    const env = { PARLEY_REDIS: redis.url, PARLEY_COLLECTION: 'other', PARLEY_BASE_URL: BASE };
    const { code, stdout } = await runParley(['ingest', 'docs'], { cwd: book.cwd, env });
    assert.equal(code, 0);
    assert.match(stdout, /4 indexed/);
    assert.equal(await ask(redis, 'HLEN', 'paths:c:other'), 4);
  });

  it('--help says how names, addresses and exit codes are', async () => {
    const { code, stdout, stderr } = await runParley(['ingest', '--help']);
    assert.deepEqual([code, stderr], [0, '']);
    for (const part of ['usage: parley ingest', '--prune', '--dry-run', '--json', '--exclude-code', 'Selection', 'https://host/book/a/b', 'Exit codes', 'Examples']) {
      assert.ok(stdout.includes(part), part);
    }
  });

  it('a Redis that goes away in the middle and comes back costs nothing', async () => {
    const more = await startRedis({ aof: true });
    const proxy = await startProxy(more);
    try {
      const held = proxy.holdAt('job_parsed');
      const running = startProcess(['ingest', '--redis', proxy.url, '--collection', 'public', '--base-url', BASE, 'docs'], { cwd: book.cwd });
      await held;
      for (const socket of proxy.sockets) socket.destroy();
      await waitForOutput(running, ({ stdout }) => /4 of 4 files: 4 indexed/.test(stdout), 60_000, 'the summary');
      assert.equal((await running.exit()).code, 0);
    } finally {
      await proxy.stop();
      await more.stop();
    }
  });
});
