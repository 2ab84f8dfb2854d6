// SPDX-License-Identifier: MIT
//
// judged: plays the judged set against a cluster and an engine without a model, and counts. README.md says what each
// figure means.
//
//   await withLibrary(cluster, pagesIn(PAGES), async (library) => {
//     const results = await library.play(questionsOf('judged.json'));
//     console.table(tableOf(results, 'language'));
//   });
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { forgetLimits, uploadIndexed } from '../../support/documents.mjs';
import { withEngines } from '../../support/engines.mjs';
import { eventually, makeFolder, runParley } from '../../support/harness.mjs';
import { sumOfAll } from '../../support/shards.mjs';
import { writePages } from './pages.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
export const PAGES = join(HERE, 'pages');
export const HELD_PAGES = join(HERE, 'held');
const BASE = 'https://host/judged';
const AS = 'User_1';
const TOP = 5;
const REFUSAL = "I don't know based on the provided documents.";
const MARK = /\s*\[(\d+)\]/g;
// So much of a sentence's words must be in the source that its mark names: an answer may join what a list divides.
const HELD = 0.8;

export const questionsOf = (file) => JSON.parse(readFileSync(join(HERE, file), 'utf8'));

const plain = (text) => text.replace(/[\s|]+/g, ' ').trim().toLowerCase();
const holds = (text, words) => plain(text).includes(plain(words));
const wordsOf = (text) => plain(text).match(/[\p{L}\p{N}]+/gu) ?? [];

// Whether a passage {file, text} is one that the question is judged by.
const isRight = (passage, { file, passage: judged }) => passage.file === file && [judged].flat().some((words) => holds(passage.text, words));

// The rank of the first right passage, from 1; 0 if none is right.
const rankIn = (passages, question) => passages.findIndex((passage) => isRight(passage, question)) + 1;

// Each mark of an answer with the text that it is after: [{number, text}]. Marks in a row share a text.
function marksOf(answer) {
  const marks = [];
  let at = 0;
  let text = '';
  for (const match of answer.matchAll(MARK)) {
    const between = answer.slice(at, match.index).trim();
    if (/[\p{L}\p{N}]/u.test(between)) text = between;
    marks.push({ number: Number(match[1]), text });
    at = match.index + match[0].length;
  }
  return marks;
}

// A mark is right if it names a source and that source holds what is before the mark.
function isMarkRight({ number, text }, passages) {
  const source = passages.find(({ position }) => position === number);
  if (source === undefined) return false;
  const held = new Set(wordsOf(`${source.text} ${source.title ?? ''}`));
  const words = wordsOf(text);
  return words.filter((word) => held.has(word)).length >= HELD * words.length;
}

// Whether a heading is in the answer as if it were a sentence, or sticks to one: "Fees The fee is 3 euros." A
// sentence of a page may begin with the words of a heading.
function copiesHeading(texts, pages) {
  const isProse = (text) => pages.some(({ prose }) => prose.includes(text));
  const sticks = (text, heading) => text.startsWith(`${heading} `) && /^\p{Lu}/u.test(text.slice(heading.length + 1)) && !isProse(text.slice(0, heading.length + 8));
  return texts.some((text) => pages.some(({ headings }) => headings.some((heading) => plain(text) === plain(heading) || sticks(text, heading))));
}

// What one answer is worth. `passages`: its sources in the order in which they came.
function judge(question, answer, passages, pages) {
  const marks = marksOf(answer);
  const isRefused = answer.includes(REFUSAL) || marks.length === 0;
  const isAnswerable = question.kind !== 'none';
  const used = isRefused ? [] : passages;
  return {
    answer,
    isRefused,
    first: used[0] && `${used[0].file}: ${used[0].text.slice(0, 120)}`,
    words: isRefused ? 0 : wordsOf(answer).length,
    isSourced: passages.length > 0,
    copiesHeading: !isRefused && copiesHeading(marks.map(({ text }) => text), pages),
    isDistinct: new Set(passages.map(({ file, text }) => `${file} ${plain(text)}`)).size === passages.length,
    rank: isAnswerable ? rankIn(used, question) : 0,
    isPageFirst: isAnswerable && used[0]?.file === question.file,
    isAnswered: isAnswerable && !isRefused && question.answer.every((words) => [words].flat().some((one) => holds(answer, one))),
    marks: isRefused ? 0 : marks.length,
    rightMarks: isRefused ? 0 : marks.filter((mark) => isMarkRight(mark, passages)).length,
    isInOrder: passages.every(({ position }, i) => position === i + 1),
    isFalling: passages.every(({ score }, i) => i === 0 || score <= passages[i - 1].score),
  };
}

class Library {
  constructor(cluster, files, pages) {
    Object.assign(this, { cluster, files, pages, texts: new Map() });
  }

  async post(path, body, as) {
    const response = await this.cluster.request('POST', path, { as, body });
    assert.equal(response.status, 200, `${path} ${JSON.stringify(body)}: ${response.text}`);
    return response.json;
  }

  // A passage of one of the uploaded documents as a whole: what is shown of it may be shorter.
  async textOf(docId, chunkIndex) {
    const key = `${docId}/${chunkIndex}`;
    if (!this.texts.has(key)) {
      const { json } = await this.cluster.request('GET', `/api/docs/${docId}/chunks/${chunkIndex}`, { as: AS });
      this.texts.set(key, json.text);
    }
    return this.texts.get(key);
  }

  async passagesOf(citations) {
    const passages = [];
    for (const [i, { docId, chunkIndex, documentTitle, score }] of citations.entries()) {
      passages.push({ file: this.files.get(docId), text: await this.textOf(docId, chunkIndex), title: documentTitle, score, position: i + 1 });
    }
    return passages;
  }

  async retrieve(question) {
    const { citations } = await this.post('/api/rag/retrieve', { query: question.question, topK: TOP }, AS);
    return { rank: question.kind === 'none' ? 0 : rankIn(await this.passagesOf(citations), question) };
  }

  async ask(question) {
    const { answer, sources, nearest = [] } = await this.post('/ask', { question: question.question, top_k: TOP });
    return judge(question, answer, (sources.length > 0 ? sources : nearest).map(({ url, content, ...rest }) => ({ ...rest, file: this.files.get(url.split('#')[0]), text: content })), this.pages);
  }

  async ragAsk(question) {
    const { answer, citations, nearest = [] } = await this.post('/api/rag/ask', { question: question.question, topK: TOP }, AS);
    return judge(question, answer, await this.passagesOf(citations.length > 0 ? citations : nearest), this.pages);
  }

  // [{...question, retrieve, ask, rag}] of each question.
  async play(questions) {
    const results = [];
    for (const question of questions) {
      if (results.length % 10 === 0) await forgetLimits(this.cluster);
      results.push({ ...question, retrieve: await this.retrieve(question), ask: await this.ask(question), rag: await this.ragAsk(question) });
    }
    return results;
  }
}

// The address that `parley ingest` gives a page.
const addressOf = (name) => `${BASE}/${name.replace(/\.(md|html)$/, '')}`;

// Makes the pages a public collection, and documents of one user, and runs body(library) beside an engine without a model.
export async function withLibrary(cluster, pages, body) {
  const folder = makeFolder();
  const files = new Map(pages.map(({ name }) => [addressOf(name), name]));
  try {
    writePages(pages, join(folder.dir, 'pages'));
    const args = ['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--base-url', BASE, 'pages'];
    const { code, stderr, stdout } = await runParley(args, { cwd: folder.dir, timeout: 120_000 });
    assert.equal(code, 0, `${stdout}${stderr}`);
    for (const { name, bytes } of pages) files.set((await uploadIndexed(cluster, { as: AS, name, bytes })).id, name);
    await withEngines(cluster, async ({ start }) => {
      await start();
      await eventually(async () => (await sumOfAll(cluster.redis, 'ZCARD', 'idle')) > 0, { what: 'the engine waits' });
      await body(new Library(cluster, files, pages));
    });
  } finally {
    folder.remove();
  }
}

// The figures of some results. Shares are of all questions that have an answer; refused ones are found by nobody.
export function figuresOf(results) {
  const answerable = results.filter(({ kind }) => kind !== 'none');
  const others = results.filter(({ kind }) => kind === 'none');
  const share = (all, is) => (all.length === 0 ? null : Math.round((1000 * all.filter(is).length) / all.length) / 1000);
  const within = (route, k) => share(answerable, (result) => result[route].rank > 0 && result[route].rank <= k);
  const figures = { answerable: answerable.length, others: others.length, 'retrieve@1': within('retrieve', 1), 'retrieve@5': within('retrieve', TOP) };
  for (const route of ['ask', 'rag']) {
    const marks = results.reduce((sum, result) => sum + result[route].marks, 0);
    const rightMarks = results.reduce((sum, result) => sum + result[route].rightMarks, 0);
    const given = results.filter((result) => !result[route].isRefused);
    Object.assign(figures, {
      [`${route} page`]: share(answerable, (result) => result[route].isPageFirst),
      [`${route}@1`]: within(route, 1),
      [`${route}@5`]: within(route, TOP),
      [`${route} answered`]: share(answerable, (result) => result[route].isAnswered),
      [`${route} wrongly refused`]: share(answerable, (result) => result[route].isRefused),
      [`${route} rightly refused`]: share(others, (result) => result[route].isRefused),
      [`${route} refusals with sources`]: share(results.filter((result) => result[route].isRefused), (result) => result[route].isSourced),
      [`${route} copies a heading`]: share(results, (result) => result[route].copiesHeading),
      [`${route} words`]: given.length ? Math.round(given.reduce((sum, result) => sum + result[route].words, 0) / given.length) : null,
      [`${route} marks`]: marks ? Math.round((1000 * rightMarks) / marks) / 1000 : null,
      [`${route} in order`]: share(results, (result) => result[route].isInOrder),
      [`${route} distinct`]: share(results, (result) => result[route].isDistinct),
      [`${route} falling`]: share(results, (result) => result[route].isFalling),
    });
  }
  return figures;
}

// {value: figures} for each value of a member, `language` or `kind`.
export function tableOf(results, member) {
  const values = [...new Set(results.map((result) => result[member]))];
  return Object.fromEntries(values.map((value) => [value, figuresOf(results.filter((result) => result[member] === value))]));
}
