// SPDX-License-Identifier: MIT
//
// measure: how good retrieval and answers are. `node tests/bench/retrieval/measure.mjs` prints the tables of all sets;
// README.md says what the figures mean. Tests import recall() for the handbook's set.
//
//   --json               one JSON object, with each answer
//   --set handbook|judged|held  only that set
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startCluster } from '../../support/harness.mjs';
import { uploadIndexed } from '../../support/documents.mjs';
import { figuresOf, HELD_PAGES, PAGES, questionsOf, tableOf, withLibrary } from './judged.mjs';
import { pagesIn } from './pages.mjs';

const HANDBOOK = fileURLToPath(new URL('../../../docs/handbook', import.meta.url));
export const QUESTIONS = questionsOf('questions.json');

const plain = (text) => text.replace(/\s+/g, ' ').trim().toLowerCase();

// Uploads the handbook as documents of that user.
export async function uploadHandbook(cluster, as) {
  for (const name of readdirSync(HANDBOOK).sort().filter((one) => one.endsWith('.md'))) {
    await uploadIndexed(cluster, { as, name, bytes: readFileSync(join(HANDBOOK, name)) });
  }
}

// The rank of the right passage among the first `top`, from 1; 0 if it is not among them.
async function rankOf(cluster, as, judged, top) {
  const { json } = await cluster.request('POST', '/api/rag/retrieve', { as, body: { query: judged.question, topK: top } });
  for (const [i, { docId, chunkIndex, documentTitle }] of json.citations.entries()) {
    if (documentTitle !== judged.file) continue;
    const chunk = await cluster.request('GET', `/api/docs/${docId}/chunks/${chunkIndex}`, { as });
    if (plain(chunk.json.text).includes(plain(judged.passage))) return i + 1;
  }
  return 0;
}

// {n, at1, at5, mrr, missed} over all questions.
export async function recall(cluster, as) {
  const ranks = [];
  for (const judged of QUESTIONS) ranks.push([judged, await rankOf(cluster, as, judged, 10)]);
  const share = (k) => ranks.filter(([, rank]) => rank > 0 && rank <= k).length / ranks.length;
  return {
    n: ranks.length,
    at1: share(1),
    at5: share(5),
    at10: share(10),
    mrr: ranks.reduce((sum, [, rank]) => sum + (rank ? 1 / rank : 0), 0) / ranks.length,
    missed: ranks.filter(([, rank]) => rank === 0 || rank > 5).map(([{ question, file }, rank]) => ({ question, file, rank })),
  };
}

async function measureHandbook(cluster) {
  await uploadHandbook(cluster, 'User_1');
  return recall(cluster, 'User_1');
}

async function measureJudged(cluster, folders, file) {
  let results;
  await withLibrary(cluster, folders.flatMap(pagesIn), async (library) => {
    results = await library.play(questionsOf(file));
  });
  return { figures: figuresOf(results), languages: tableOf(results, 'language'), kinds: tableOf(results, 'kind'), results };
}

const SETS = {
  handbook: measureHandbook,
  judged: (cluster) => measureJudged(cluster, [PAGES], 'judged.json'),
  held: (cluster) => measureJudged(cluster, [PAGES, HELD_PAGES], 'held.json'),
};

// Each set on a cluster of its own: {set: what its function returns}.
async function measure(names) {
  const measured = {};
  for (const name of names) {
    const cluster = await startCluster({ nodes: 1 });
    try {
      measured[name] = await SETS[name](cluster);
    } finally {
      await cluster.stop();
    }
  }
  return measured;
}

function printHandbook({ missed, ...figures }) {
  console.table({ handbook: figures });
  console.table(missed);
}

function printJudged({ figures, languages, kinds, results }) {
  // A column for each language and kind: the names of the figures are longer.
  const columns = (tables) => Object.fromEntries(Object.keys(figures).map((name) => [name, Object.fromEntries(Object.entries(tables).map(([key, table]) => [key, table[name]]))]));
  console.table(columns({ all: figures, ...languages }));
  console.table(columns(kinds));
  for (const { question, kind, ask } of results) {
    const isGood = kind === 'none' ? ask.isRefused : ask.isAnswered && ask.rank === 1;
    if (!isGood) console.log(`${kind}: ${question}\n  ${ask.answer.replace(/\s+/g, ' ').slice(0, 200)}`);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { json: { type: 'boolean' }, set: { type: 'string' } } });
  const names = values.set ? [values.set] : Object.keys(SETS);
  if (!names.every((name) => name in SETS)) throw new Error(`--set takes ${Object.keys(SETS).join(' or ')}, not ${values.set}`);
  const measured = await measure(names);
  if (values.json) console.log(JSON.stringify(measured, null, 1));
  else {
    for (const [name, figures] of Object.entries(measured)) {
      console.log(`${name}:`);
      (name === 'handbook' ? printHandbook : printJudged)(figures);
    }
  }
}
