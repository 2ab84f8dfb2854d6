// SPDX-License-Identifier: MIT
//
// The judged set of tests/bench/retrieval, on two nodes: what answers are worth may not fall. The floors leave room for
// two or three questions of each kind; the figures themselves are in the README there.
import assert from 'node:assert/strict';
import { before } from 'node:test';
import { figuresOf, PAGES, questionsOf, withLibrary } from '../bench/retrieval/judged.mjs';
import { pagesIn } from '../bench/retrieval/pages.mjs';
import { suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // how good answers are: the same on any number of shards

const ROUTES = ['ask', 'rag'];
// The share of the questions, at least: as figuresOf() names them.
const FLOORS = { 'retrieve@1': 0.88, 'retrieve@5': 0.94, page: 0.85, '@1': 0.82, '@5': 0.85, answered: 0.78, 'rightly refused': 0.74 };

suite('answers over the judged set', { nodes: 2, sweep: false }, ({ test, cluster }) => {
  let results;
  let figures;
  before(async () => {
    await withLibrary(cluster, pagesIn(PAGES), async (library) => {
      results = await library.play(questionsOf('judged.json'));
    });
    figures = figuresOf(results);
  });

  // Each question that is not as it should be, for who reads that a floor was missed.
  const bad = (is) => JSON.stringify(results.filter((result) => !is(result)).map(({ question, ask, rag }) => ({ question, ask: ask.answer, rag: rag.answer })), null, 1);

  test('the set has at least 120 questions in at least five languages, and 30 that no page answers', () => {
    assert.ok(results.length >= 120);
    assert.ok(new Set(results.map(({ language }) => language)).size >= 5);
    assert.ok(figures.others >= 30);
  });

  test('each mark names a source that holds its sentence, and no passage is listed twice', () => {
    for (const route of ROUTES) {
      assert.equal(figures[`${route} marks`], 1, bad((result) => result[route].marks === result[route].rightMarks));
      assert.equal(figures[`${route} distinct`], 1, bad((result) => result[route].isDistinct));
    }
  });

  test('positions count in the order of the sources, and scores never rise', () => {
    for (const route of ROUTES) {
      assert.equal(figures[`${route} in order`], 1, bad((result) => result[route].isInOrder));
      assert.equal(figures[`${route} falling`], 1, bad((result) => result[route].isFalling));
    }
  });

  test('what is found, answered and refused stays above its floor', () => {
    for (const [name, floor] of Object.entries(FLOORS)) {
      const routes = name.startsWith('retrieve') ? [name] : ROUTES.map((route) => (name.startsWith('@') ? `${route}${name}` : `${route} ${name}`));
      for (const route of routes) assert.ok(figures[route] >= floor, `${route} is ${figures[route]}, under ${floor}\n${bad(({ kind, ask }) => (kind === 'none' ? ask.isRefused : ask.isAnswered))}`);
    }
  });
});
