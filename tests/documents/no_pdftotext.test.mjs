// SPDX-License-Identifier: MIT
//
// Indexers on machines without pdftotext: their PATH has no such program. A PDF waits for one that can
// read it, nothing else waits, and the log says what to install.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before } from 'node:test';
import { ACCOUNTS, eventually, makeFolder, runParley, suite, writeAccounts } from '../support/harness.mjs';
import { makePdf, openDesk } from '../support/indexing.mjs';

const PROGRAM = '/usr/bin/pdftotext';
const PDFTOTEXT = { skip: !existsSync(PROGRAM) };

suite('without pdftotext', { nodes: 0, sweep: false, args: ['--job-lease-seconds', 3] }, ({ test, cluster }) => {
  let desk, folder, path;
  before(async () => {
    desk = await openDesk(cluster.redis);
    folder = makeFolder();
    path = join(folder.dir, 'bin');
    mkdirSync(path);
  });
  after(() => {
    desk.close();
    folder.remove();
  });
  afterEach(async () => {
    for (const node of cluster.nodes.splice(0)) await node.stop();
    await desk.cmd('FLUSHDB');
  });

  // The job is left to others, which counts no attempt.
  async function passed(job) {
    const found = await eventually(async () => (await desk.ask('ZSCORE', 'waiting_jobs', job)) && desk.job(job), { what: `job ${job} waits` });
    assert.deepEqual([found.status, found.attempt, found.entry, found.error], ['QUEUED', '0', '', '']);
    await desk.assertIdle();
  }

  test('a PDF waits, a text does not, and an indexer that has pdftotext reads the PDF', async () => {
    const poor = await cluster.startNode({ env: { PATH: path } });
    const [warning] = await poor.waitForLog(/^.*no pdftotext on PATH.*$/m);
    assert.match(warning, /poppler-utils/);
    const pdf = await desk.upload({ name: 'a.pdf', bytes: makePdf(2) });
    const text = await desk.upload({ name: 'a.txt', bytes: 'One two.' });
    assert.equal((await desk.ended(text.job)).status, 'DONE');
    await passed(pdf.job);
    assert.equal((await desk.doc(pdf.doc)).status, 'QUEUED');
    await poor.waitForLog(/outcome="passed".*poppler-utils/);
    assert.equal(poor.log().match(/no pdftotext on PATH/g).length, 1);
    await cluster.startNode();
    const ended = await desk.ended(pdf.job);
    assert.deepEqual([ended.status, ended.attempt], ['DONE', '1'], ended.error);
    assert.match((await desk.assertWhole(pdf.doc)).text, /Page 2, line 39/);
    await desk.assertIdle();
    assert.equal(await desk.sum('EXISTS', 'waiting_jobs'), 0);
  }, PDFTOTEXT);

  test('once pdftotext is installed the same indexer reads what waits', async () => {
    await cluster.startNode({ env: { PATH: path } });
    const { doc, job } = await desk.upload({ name: 'a.pdf', bytes: makePdf(1) });
    await passed(job);
    symlinkSync(PROGRAM, join(path, 'pdftotext'));
    assert.equal((await desk.ended(job)).status, 'DONE');
    await desk.assertWhole(doc);
  }, PDFTOTEXT);

  test('`parley ingest` says that it cannot read the PDF, and continues', async () => {
    folder.file('book.pdf', makePdf(1));
    folder.file('book.md', 'Words.');
    const args = ['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--json', 'book.pdf', 'book.md'];
    const { code, stdout } = await runParley(args, { cwd: folder.dir, env: { PATH: '/nowhere' } });
    const lines = stdout.trim().split('\n').map((line) => JSON.parse(line));
    assert.equal(code, 1);
    assert.match(lines.find(({ path: name }) => name === 'book.pdf').reason, /pdftotext \(package poppler-utils\)/);
    assert.deepEqual([lines.at(-1).indexed, lines.at(-1).failed], [1, 1]);
    assert.equal(await desk.sum('EXISTS', 'waiting_jobs'), 0);
  });

  test('--check-config says whether it is there, where the process indexes', async () => {
    const accounts = writeAccounts(ACCOUNTS);
    const check = async (env, ...flags) => (await runParley(['serve', '--check-config', '--accounts', accounts.path, ...flags], { env })).stdout;
    assert.match(await check({ PATH: '/nowhere' }), /^pdftotext +not found.*poppler-utils/m);
    assert.doesNotMatch(await check({ PATH: '/nowhere' }, '--target', 'broker'), /^pdftotext/m);
    assert.doesNotMatch(await check({ PATH: '/nowhere' }, '--indexers', '0'), /^pdftotext/m);
    if (existsSync(PROGRAM)) assert.match(await check({ PATH: '/usr/bin' }), /^pdftotext +found$/m);
    accounts.remove();
  });
});
