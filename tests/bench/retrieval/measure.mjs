// SPDX-License-Identifier: MIT
//
// measure: how good retrieval is, over the judged questions of questions.json. A question counts as
// found when one of the first k passages of /api/rag/retrieve stands in the judged file and holds the
// judged words. `node tests/bench/retrieval/measure.mjs` prints the table; tests import recall().
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startCluster } from '../../support/harness.mjs';
import { uploadIndexed } from '../../support/documents.mjs';

const HANDBOOK = fileURLToPath(new URL('../../../docs/handbook', import.meta.url));
export const QUESTIONS = JSON.parse(readFileSync(new URL('questions.json', import.meta.url), 'utf8'));

const plain = (text) => text.replace(/\s+/g, ' ').trim().toLowerCase();

// Uploads the handbook as documents of that user.
export async function uploadHandbook(cluster, as) {
  for (const name of readdirSync(HANDBOOK).sort()) {
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const cluster = await startCluster({ nodes: 1 });
  try {
    await uploadHandbook(cluster, 'User_1');
    const { missed, ...figures } = await recall(cluster, 'User_1');
    console.table(figures);
    console.table(missed);
  } finally {
    await cluster.stop();
  }
}
