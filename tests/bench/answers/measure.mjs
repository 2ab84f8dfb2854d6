// SPDX-License-Identifier: MIT
//
// measure: what the built-in model answers to questions about 60 files of all formats. It uploads the files, makes them
// a public collection too, asks every question by /ask and by /api/rag/ask, and prints how many answers are right.
// README.md says what the figures mean.
//
//   --json                          one JSON object, with each answer
//   --set questions|paraphrases     only that set
//   --all                           print each answer, not only those that are not right
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { forgetLimits, settled, upload } from '../../support/documents.mjs';
import { withEngines } from '../../support/engines.mjs';
import { eventually, makeFolder, runParley, startCluster } from '../../support/harness.mjs';
import { sumOfAll } from '../../support/shards.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const FILES = join(HERE, 'fixtures');
const AS = 'User_1';
const TOP = 5;
const HALF = 50; // the questions after these were looked at by nobody while the model was changed
const REFUSAL = "I don't know based on the provided documents.";
const MARK = /\[\d+\]/;
const VERDICTS = ['right', 'wrong with a mark', 'wrong without a mark', 'refused'];

const questionsOf = (set) => JSON.parse(readFileSync(join(HERE, `${set}.json`), 'utf8'));

const plain = (text) => text.replace(/[\s|]+/g, ' ').trim().toLowerCase();
const holds = (text, words) => plain(text).includes(plain(words));

// One of VERDICTS. A question that no file answers is right if it is refused.
export function verdictOf({ kind, right = [], wrong = [] }, answer) {
  const isRefused = answer.includes(REFUSAL);
  if (kind === 'none' && isRefused) return 'right';
  if (isRefused) return 'refused';
  const isRight = kind !== 'none' && right.every((words) => [words].flat().some((one) => holds(answer, one)));
  if (isRight && MARK.test(answer) && !wrong.some((words) => holds(answer, words))) return 'right';
  return MARK.test(answer) ? 'wrong with a mark' : 'wrong without a mark';
}

// Uploads each file; returns those that are refused or fail, with the reason.
async function uploadFiles(cluster) {
  const left = [];
  for (const name of readdirSync(FILES).sort()) {
    await forgetLimits(cluster);
    const { status, json, text } = await upload(cluster, { as: AS, name, bytes: readFileSync(join(FILES, name)) });
    const doc = [200, 201].includes(status) ? await settled(cluster, AS, json.documentId) : { errorMessage: text };
    if (doc.status !== 'INDEXED') left.push({ name, reason: doc.errorMessage });
  }
  return left;
}

async function makePublic(cluster, folder) {
  cpSync(FILES, join(folder.dir, 'files'), { recursive: true });
  const args = ['ingest', '--redis', cluster.redis.url, '--collection', 'public', '--base-url', 'https://host/files', 'files'];
  const { code, stdout, stderr } = await runParley(args, { cwd: folder.dir, timeout: 120_000 });
  if (code !== 0) console.error(`parley ingest: ${code}\n${stdout}${stderr}`);
}

async function ask(cluster, path, body, as) {
  const { status, json, text } = await cluster.request('POST', path, { as, body });
  if (status !== 200) throw new Error(`${path} ${JSON.stringify(body)}: ${text}`);
  return json.answer;
}

async function play(cluster, questions) {
  const results = [];
  for (const [i, judged] of questions.entries()) {
    if (i % 10 === 0) await forgetLimits(cluster);
    const { question } = judged;
    const answers = {
      ask: await ask(cluster, '/ask', { question, top_k: TOP }),
      rag: await ask(cluster, '/api/rag/ask', { question, topK: TOP }, AS),
    };
    results.push({ ...judged, number: i + 1, ...Object.fromEntries(Object.entries(answers).map(([route, answer]) => [route, { answer, verdict: verdictOf(judged, answer) }])) });
  }
  return results;
}

// {sets: {name: results}, left: files that are not indexed}
async function measure(names) {
  const cluster = await startCluster({ nodes: 1 });
  const folder = makeFolder();
  const sets = {};
  try {
    const left = await uploadFiles(cluster);
    await makePublic(cluster, folder);
    await withEngines(cluster, async ({ start }) => {
      await start();
      await eventually(async () => (await sumOfAll(cluster.redis, 'ZCARD', 'idle')) > 0, { what: 'the engine waits' });
      for (const name of names) sets[name] = await play(cluster, questionsOf(name));
    });
    return { sets, left };
  } finally {
    folder.remove();
    await cluster.stop();
  }
}

const count = (results, route) => Object.fromEntries(VERDICTS.map((verdict) => [verdict, results.filter((result) => result[route].verdict === verdict).length]));

function print({ sets, left }, isAll) {
  const groups = {};
  for (const [name, results] of Object.entries(sets)) {
    groups[name] = results;
    if (name !== 'questions') continue;
    groups[`1 to ${HALF}`] = results.slice(0, HALF);
    groups[`${HALF + 1} to ${results.length}`] = results.slice(HALF);
  }
  for (const route of ['ask', 'rag']) {
    console.log(route === 'ask' ? '/ask' : '/api/rag/ask');
    console.table(Object.fromEntries(Object.entries(groups).map(([name, results]) => [name, count(results, route)])));
  }
  for (const { name, reason } of left) console.log(`not indexed: ${name}: ${reason}`);
  for (const { number, question, file, ask: { answer, verdict } } of Object.values(sets).flat())
    if (isAll || verdict !== 'right') console.log(`${verdict}: ${number} ${question} (${file ?? 'in no file'})\n  ${answer.replace(/\s+/g, ' ')}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { json: { type: 'boolean' }, all: { type: 'boolean' }, set: { type: 'string' } } });
  const measured = await measure(values.set ? [values.set] : ['questions', 'paraphrases']);
  if (values.json) console.log(JSON.stringify(measured, null, 1));
  else print(measured, values.all);
}
