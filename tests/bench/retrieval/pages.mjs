// SPDX-License-Identifier: MIT
//
// pages: the pages of the judged set as files. Those named `.pdf.txt` and `.docx.txt` are the sources of a PDF and a
// DOCX: `# ` begins a heading, `- ` an entry of a list, `| ` a row of a table, and an empty line a paragraph.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeZip, pdfFile } from '../../support/indexing.mjs';

const BODY_PT = 10;
const LINE_CHARS = 88;
const PAGE_LINES = 46;

// The blocks of a source: {kind: heading|entry|row|text, level, text}.
function blocksOf(source) {
  const blocks = [];
  for (const paragraph of source.split(/\n\n+/)) {
    for (const line of paragraph.trim().split('\n')) {
      const [, mark, text] = /^(#+ |- |\| )?(.*)$/.exec(line);
      if (mark?.startsWith('#')) blocks.push({ kind: 'heading', level: mark.length - 1, text });
      else if (mark === '- ') blocks.push({ kind: 'entry', text });
      else if (mark === '| ') blocks.push({ kind: 'row', text });
      else if (blocks.at(-1)?.paragraph === paragraph) blocks.at(-1).text += ` ${text}`;
      else blocks.push({ kind: 'text', text, paragraph });
    }
  }
  return blocks;
}

const escapeXml = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');
const paragraphXml = (text, properties = '') => `<w:p>${properties && `<w:pPr>${properties}</w:pPr>`}<w:r><w:t xml:space="preserve">${escapeXml(text)}</w:t></w:r></w:p>`;

function rowXml(text) {
  const cells = text.replace(/ \|$/, '').split(' | ');
  return `<w:tr>${cells.map((cell) => `<w:tc>${paragraphXml(cell)}</w:tc>`).join('')}</w:tr>`;
}

// A DOCX with styled headings, lists and tables, as word processors write it.
export function docxOf(source) {
  const parts = blocksOf(source).map(({ kind, level, text }) => {
    if (kind === 'heading') return paragraphXml(text, `<w:pStyle w:val="Heading${level}"/>`);
    if (kind === 'entry') return paragraphXml(text, '<w:pStyle w:val="ListParagraph"/><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>');
    return kind === 'row' ? `<w:tbl>${rowXml(text)}</w:tbl>` : paragraphXml(text);
  });
  const styles = [1, 2].map((level) => `<w:style w:type="paragraph" w:styleId="Heading${level}"><w:name w:val="heading ${level}"/><w:pPr><w:outlineLvl w:val="${level - 1}"/></w:pPr></w:style>`);
  return makeZip({
    '[Content_Types].xml': '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
    'word/styles.xml': `<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">${styles.join('')}</w:styles>`,
    'word/document.xml': `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>${parts.join('').replaceAll('</w:tbl><w:tbl>', '')}</w:body></w:document>`,
  });
}

// The lines of a PDF: {text, pt, isBold}; headings are larger, and only an empty line divides paragraphs.
function linesOf(source) {
  const lines = [];
  for (const { kind, level, text } of blocksOf(source)) {
    if (kind !== 'entry' && lines.length > 0) lines.push({ text: '' });
    const isBold = kind === 'heading';
    const pt = isBold ? BODY_PT + 6 - 2 * level : BODY_PT;
    let line = kind === 'entry' ? '-' : '';
    for (const word of text.split(' ')) {
      if (line.length + word.length >= LINE_CHARS) {
        lines.push({ text: line, pt, isBold });
        line = '';
      }
      line += line ? ` ${word}` : word;
    }
    lines.push({ text: line, pt, isBold });
  }
  return lines;
}

// A PDF as Latin-1 bytes, in Helvetica with WinAnsiEncoding.
export function pdfOf(source) {
  const lines = linesOf(source);
  const font = (name) => `<</Type/Font/Subtype/Type1/BaseFont/${name}/Encoding/WinAnsiEncoding>>`;
  const objects = ['<</Type/Catalog/Pages 2 0 R>>', '', font('Helvetica'), font('Helvetica-Bold')];
  const kids = [];
  for (let from = 0; from < lines.length; from += PAGE_LINES) {
    const rows = lines.slice(from, from + PAGE_LINES).flatMap(({ text, pt, isBold }, i) =>
      text ? [`/${isBold ? 'F2' : 'F1'} ${pt} Tf 1 0 0 1 50 ${770 - i * 16} Tm (${text.replace(/[\\()]/g, '\\$&')}) Tj`] : [],
    );
    const stream = `BT\n${rows.join('\n')}\nET`;
    objects.push(`<</Length ${stream.length}>>stream\n${stream}\nendstream`);
    objects.push(`<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 820]/Contents ${objects.length} 0 R/Resources<</Font<</F1 3 0 R/F2 4 0 R>>>>>>`);
    kids.push(`${objects.length} 0 R`);
  }
  objects[1] = `<</Type/Pages/Count ${kids.length}/Kids[${kids.join(' ')}]>>`;
  return Buffer.from(pdfFile(objects), 'latin1');
}

// The headings of a page's source: those that are marked, and in plain text the short first line of a paragraph.
function headingsOf(file, source) {
  if (file.endsWith('.html')) return [...source.matchAll(/<(?:title|h\d)>([^<]*)</g)].map(([, text]) => text.trim());
  const marked = [...source.matchAll(/^#+ (.*)$/gm)].map(([, text]) => text.trim());
  return marked.length > 0 ? marked : [...source.matchAll(/(?:^|\n\n)([^\n]{1,40}[^\n.:])\n(?=[^\n])/g)].map(([, text]) => text);
}

// What is left of a source without its headings, every run of white space as one space.
function proseOf(source, headings) {
  const isHeading = (line) => headings.includes(line.replace(/<[^>]*>|^#+ /g, '').trim());
  return source.split('\n').filter((line) => !isHeading(line)).join(' ').replace(/\s+/g, ' ');
}

// The pages below a folder: [{name, bytes, headings, prose}], sorted by name.
export function pagesIn(folder) {
  return readdirSync(folder).sort().map((file) => {
    const source = readFileSync(join(folder, file), 'utf8');
    const headings = headingsOf(file, source);
    const more = { headings, prose: proseOf(source, headings) };
    if (file.endsWith('.pdf.txt')) return { name: file.slice(0, -4), bytes: pdfOf(source), ...more };
    if (file.endsWith('.docx.txt')) return { name: file.slice(0, -4), bytes: docxOf(source), ...more };
    return { name: file, bytes: Buffer.from(source), ...more };
  });
}

// Writes pages into a folder of their own, for `parley ingest`.
export function writePages(pages, dir) {
  mkdirSync(dir, { recursive: true });
  for (const { name, bytes } of pages) writeFileSync(join(dir, name), bytes);
}
