// SPDX-License-Identifier: MIT
//
// `parley extract`: the text of a document as people see it who wonder what a search will find.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { makeFolder, runParley } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a command that asks no cluster: the same on any number of shards

const PDF = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 100]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj
4 0 obj<</Length 46>>stream
BT /F1 18 Tf 10 50 Td (Hello from a page.) Tj ET
endstream endobj
5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj
trailer<</Root 1 0 R>>
%%EOF
`;

describe('parley extract', () => {
  let folder;
  before(() => (folder = makeFolder()));
  after(() => folder.remove());

  async function extract(name, content) {
    return runParley(['extract', folder.file(name, content)]);
  }

  async function assertRefused(name, content, pattern) {
    const { code, stdout, stderr } = await extract(name, content);
    assert.equal(code, 1, stderr);
    assert.equal(stdout, '');
    assert.match(stderr, /^parley: [^\n]+\n$/);
    assert.match(stderr, pattern);
  }

  it('prints what a page says and nothing of its markup', async () => {
    const page = '<title>Leases</title><script>bad()</script><nav>Menu</nav><p>A lease &amp; its end.</p>';
    const { code, stdout, stderr } = await extract('page.html', page);
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.equal(stdout, '# Leases\n\nA lease & its end.');
  });

  it('prints the text of a PDF', { skip: !existsSync('/usr/bin/pdftotext') }, async () => {
    const { code, stdout, stderr } = await extract('page.pdf', PDF);
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.match(stdout, /^Hello from a page\.\n/);
  });

  it('reads PDF files that are attached to a mail, where they are attached', { skip: !existsSync('/usr/bin/pdftotext') }, async () => {
    const part = (name, content) => `--x\r\nContent-Type: application/pdf; name="${name}"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(content).toString('base64').replace(/.{76}/g, '$&\r\n')}\r\n`;
    const two = PDF.replace('Hello from a page.', 'Hello from another');
    const mail = [
      'Subject: Files\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n\r\nSee below.\r\n',
      part('one.pdf', PDF), part('broken.pdf', '%PDF-1.4 and nothing'), part('lying.pdf', 'plain words'),
      '--x\r\nContent-Type: text/plain; name=notes.txt\r\n\r\nNotes.\r\n', part('two.pdf', two), '--x--\r\n',
    ].join('');
    const { code, stdout, stderr } = await extract('mail.eml', mail);
    assert.equal(stderr, '');
    assert.equal(code, 0);
    assert.equal(stdout.trim(), [
      '# Files', 'See below.', '## Attachment: one.pdf', 'Hello from a page.',
      '## Attachment: broken.pdf', 'The PDF is damaged and cannot be read.',
      '## Attachment: lying.pdf', 'The file has the extension .pdf but is not a PDF.',
      '## Attachment: notes.txt', 'Notes.', '## Attachment: two.pdf', 'Hello from another',
    ].join('\n\n'));
  });

  it('prints the words of a scan with --ocr, and names the flag without it', async () => {
    const scan = fileURLToPath(new URL('../unit/fixtures/pdf/scan.pdf', import.meta.url));
    const { code, stdout, stderr } = await runParley(['extract', '--ocr', 'tesseract:eng', scan], { timeout: 120_000 });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /The pump runs at 40 bar\./);
    assert.match((await runParley(['extract', scan])).stderr, /--ocr/);
  });

  it('a file that is not what its name says is refused with the reason', async () => {
    await assertRefused('lying.pdf', 'plain words', /is not a PDF/);
    await assertRefused('lying.txt', PDF, /extension of a text file/);
    await assertRefused('lying.docx', 'plain words', /is not a DOCX/);
    await assertRefused('program.exe', 'MZ', /Unsupported file type/);
    await assertRefused('empty.md', '', /The file is empty/);
    await assertRefused('blank.md', ' \n', /contains no text/);
  });

  it('a file that is missing is named', async () => {
    const { code, stderr } = await runParley(['extract', join(folder.dir, 'nowhere.txt')]);
    assert.equal(code, 1);
    assert.match(stderr, /^parley: [^\n]*nowhere\.txt: No such file or directory\n$/);
  });

  it('without a file, with two, or with an unknown kind: one clear line and exit 2', async () => {
    for (const [args, pattern] of [
      [[], /which file/],
      [['a.txt', 'b.txt'], /one file/],
      [['--parse', 'scan'], /text, html, docx, .* or eml/],
      [['--parse', 'html', 'a.html'], /standard input/],
    ]) {
      const { code, stdout, stderr } = await runParley(['extract', ...args]);
      assert.equal(code, 2, stderr);
      assert.equal(stdout, '');
      assert.match(stderr, /^[^\n]+\n$/);
      assert.match(stderr, pattern);
    }
  });

  it('--help says what it reads', async () => {
    const { code, stdout } = await runParley(['extract', '--help']);
    assert.equal(code, 0);
    assert.match(stdout, /PDF, DOCX, PPTX/);
  });
});
