// SPDX-License-Identifier: MIT
//
// What becomes of an upload: every format ends as passages, and what cannot be read ends as FAILED with
// a sentence for its owner. Two nodes with an indexer each; the uploads come by the verb.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { after, before } from 'node:test';
import { suite } from '../support/harness.mjs';
import { makeDocx, makePdf, makeZip, openDesk, prose, startEmbedder } from '../support/indexing.mjs';

const PDFTOTEXT = { skip: !existsSync('/usr/bin/pdftotext') };
const utf16 = (text) => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')]);

suite('indexing', { nodes: 2, sweep: false, args: ['--owner-max-mib', 4] }, ({ test, cluster }) => {
  let desk;
  before(async () => (desk = await openDesk(cluster.redis)));
  after(() => desk.close());

  // Each document goes to an owner of its own, so that no cap and no duplicate is in the way.
  let owner = 0;
  async function index(upload) {
    owner += 1;
    const { doc, job } = await desk.upload({ space: `o:owner${owner}`, ...upload });
    return { doc, job: await desk.ended(job), space: `o:owner${owner}` };
  }

  async function indexed(upload) {
    const { doc, job, space } = await index(upload);
    assert.equal(job.status, 'DONE', job.error);
    assert.deepEqual([job.stage, job.progress, job.error], ['STORE', '100', '']);
    return { doc, space, ...(await desk.assertWhole(doc)) };
  }

  async function refused(upload, pattern) {
    const { doc, job } = await index(upload);
    assert.equal(job.status, 'FAILED');
    assert.match(JSON.parse(job.error), pattern);
    assert.match(JSON.parse(job.error), /^[A-Z].*\.$/, 'a sentence');
    assert.equal((await desk.doc(doc)).status, 'FAILED');
    for (const kind of ['upload', 'pack', 'text']) assert.deepEqual(await desk.cmd('KEYS', `*:${kind}:${doc}*`), [], `no ${kind} is left`);
    await desk.assertIdle();
  }

  test('plain text and Markdown become passages as they are', async () => {
    const said = prose(3000);
    assert.equal((await indexed({ name: 'a.txt', bytes: said })).text, said);
    const { text, chunks } = await indexed({ name: 'a.md', bytes: `# Title\n\n${said}` });
    assert.ok(text.startsWith('# Title\n\n'));
    assert.ok(chunks.length > 15 && chunks.length < 60, `${chunks.length} passages`);
  });

  test('offsets count characters as well as bytes', async () => {
    const { text, chunks } = await indexed({ name: 'a.txt', bytes: 'Käse über Öl. '.repeat(400) });
    const [bytes, characters] = [Buffer.from(text), [...text]];
    for (const { start, end, startChars, endChars } of chunks)
      assert.equal(characters.slice(startChars, endChars).join(''), bytes.toString('utf8', start, end));
  });

  test('a text of UTF-16 is read', async () => {
    assert.equal((await indexed({ name: 'a.txt', bytes: utf16('Grüße aus Köln') })).text, 'Grüße aus Köln');
  });

  test('HTML becomes what a reader of the page sees', async () => {
    const { text } = await indexed({ name: 'a.html', bytes: '<title>T</title><script>bad()</script><p>One &amp; two</p><p>Three</p>' });
    assert.match(text, /One & two\n+Three/);
    assert.doesNotMatch(text, /bad|<p>/);
  });

  test('DOCX becomes its paragraphs', async () => {
    assert.match((await indexed({ name: 'a.docx', bytes: makeDocx(['First one.', 'Second one.']) })).text, /First one\.\n+Second one\./);
  });

  test('a PDF of 300 pages becomes the text of all of them', async () => {
    const { text, chunks } = await indexed({ name: 'a.pdf', bytes: makePdf(300) });
    for (const page of [1, 150, 300]) assert.match(text, new RegExp(`Page ${page}, line 39`));
    assert.ok(chunks.length > 400, `${chunks.length} passages`);
  }, PDFTOTEXT);

  test('a text of many blocks comes back block by block', async () => {
    const said = prose(60_000, 3);
    assert.ok(said.length > 5 * 65536);
    assert.equal((await indexed({ name: 'a.txt', bytes: said })).text, said);
  });

  test('the same text gives the same passages, on any node and again', async () => {
    const said = prose(5000, 4);
    const [one, two] = [await indexed({ bytes: said }), await indexed({ bytes: said })];
    assert.deepEqual(one.chunks, two.chunks);
    const job = await desk.reindex(one.doc, one.space);
    assert.equal((await desk.ended(job)).status, 'DONE');
    assert.deepEqual((await desk.assertWhole(one.doc)).chunks, one.chunks);
  });

  test('an encrypted PDF', () => refused({ name: 'a.pdf', bytes: readFileSync('tests/unit/fixtures/encrypted.pdf') }, /encrypted/), PDFTOTEXT);
  test('a broken PDF', () => refused({ name: 'a.pdf', bytes: `%PDF-1.4\n${'x'.repeat(2000)}` }, /PDF is damaged/), PDFTOTEXT);
  test('a PDF without text', () => refused({ name: 'a.pdf', bytes: makePdf(1, () => '') }, /no text/), PDFTOTEXT);
  test('an empty file', () => refused({ name: 'a.md', bytes: '' }, /empty/));
  test('a file of white space', () => refused({ name: 'a.txt', bytes: ' \n\t\n'.repeat(500) }, /no text/));
  test('a text with the ending of a PDF', () => refused({ name: 'a.pdf', bytes: 'plain words' }, /is not a PDF/));
  test('a PDF with the ending of a text', () => refused({ name: 'a.txt', bytes: Buffer.concat([Buffer.from('%PDF-1.4\n'), Buffer.alloc(200)]) }, /extension of a text file/));
  test('a zip that is no DOCX', () => refused({ name: 'a.docx', bytes: makeZip({ 'hello.txt': 'hello' }) }, /DOCX/));
  test('a DOCX that unpacks to far more than it is', () =>
    refused({ name: 'a.docx', bytes: makeDocx([' '.repeat(80 << 20)]) }, /decompresses to more data/));
  test('a kind that nobody reads', () => refused({ name: 'a.exe', bytes: 'MZ' }, /Unsupported file type/));
  test('a text that does not fit into what its owner may store', () =>
    refused({ name: 'a.txt', bytes: randomBytes(5 << 20).toString('base64').replace(/.{60}/g, '$& ') }, /4 MiB/));

  test('an index that does not fit: the document fails, its text stays for when there is room', async () => {
    const { doc, job } = await index({ name: 'a.txt', bytes: randomBytes(2 << 20).toString('hex').replace(/.{5}/g, '$& ') });
    assert.equal(job.status, 'FAILED');
    assert.match(job.error, /4 MiB/);
    assert.equal((await desk.cmd('KEYS', `*:text:${doc}*`)).length, 1);
    await desk.assertIdle();
  });

  test('many uploads at once are shared by the nodes, and each is indexed once', async () => {
    const jobs = await Promise.all(Array.from({ length: 30 }, (_, i) => desk.upload({ space: 'o:many', bytes: prose(600, i + 1) })));
    for (const { job } of jobs) assert.deepEqual([(await desk.ended(job)).status, (await desk.job(job)).attempt], ['DONE', '1']);
    for (const { doc } of jobs) await desk.assertWhole(doc);
    await desk.assertIdle();
    const lines = cluster.nodes.map((node) => node.log().match(/indexing ended/g)?.length ?? 0);
    assert.ok(lines.every((n) => n > 0), `jobs per node: ${lines}`);
  });
});

suite('indexing with the vectors of a model', { nodes: 0, sweep: false }, ({ test, cluster }) => {
  let desk;
  let embedder;
  before(async () => {
    embedder = await startEmbedder();
    desk = await openDesk(cluster.redis);
  });
  after(async () => {
    desk.close();
    await embedder.stop();
  });

  async function withNode(args, body) {
    const node = await cluster.startNode({ args });
    try {
      return await body(node);
    } finally {
      await node.stop();
      cluster.nodes.splice(0);
    }
  }

  test('a space keeps the model of what is searched in it, until a document is indexed again', async () => {
    const first = await desk.upload({ bytes: 'embedded by hashing' });
    await withNode([], () => desk.ended(first.job));
    await withNode(['--embeddings', `openai:${embedder.url}#stub`], async () => {
      const other = await desk.upload({ bytes: 'embedded by a model' });
      const ended = await desk.ended(other.job);
      assert.equal(ended.status, 'FAILED');
      assert.match(ended.error, /hash.*stub.*reindex/);
      assert.equal(embedder.requests.length, 0, 'nothing was embedded for it');
      await desk.assertWhole(first.doc);
      const again = await desk.ended(await desk.reindex(first.doc));
      assert.equal(again.status, 'DONE', again.error);
      assert.equal((await desk.hash('space:o:alice')).model, 'stub');
      assert.equal((await desk.hash('space:o:alice')).dimension, '16');
      const late = await desk.upload({ bytes: 'embedded by a model, now' });
      assert.equal((await desk.ended(late.job)).status, 'DONE');
    });
  });

  test('a model whose server fails is asked again', async () => {
    await withNode(['--embeddings', `openai:${embedder.url}#stub`], async () => {
      embedder.status = 503;
      const asked = embedder.requests.length;
      const { doc, job } = await desk.upload({ space: 'o:patient', bytes: 'patience' });
      await embedder.asked(asked + 2);
      embedder.status = 200;
      assert.equal((await desk.ended(job)).status, 'DONE');
      await desk.assertWhole(doc);
    });
  });

  test('a model whose server stays away fails the document with a reason, and it can be indexed later', async () => {
    const { doc, job } = await desk.upload({ space: 'o:away', bytes: 'nobody is there' });
    await withNode(['--embeddings', 'openai:http://127.0.0.1:1/v1#stub'], async () => {
      const ended = await desk.ended(job);
      assert.equal(ended.status, 'FAILED');
      assert.match(ended.error, /stub returned no vectors/);
    });
    await withNode([], async () => {
      assert.equal((await desk.ended(await desk.reindex(doc, 'o:away'))).status, 'DONE');
      await desk.assertWhole(doc);
    });
  });
});
