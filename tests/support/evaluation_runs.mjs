// SPDX-License-Identifier: MIT
//
// evaluation_runs: conversations to evaluate, and runs that are begun and followed. Bots are those of bot_server.mjs.
//
//   const conversation = talkOf(['How are you?', 'Fine.'], ['And you?', 'Tired.', 'Very tired.']);   // a turn each
//   const id = await beginEvaluation(cluster, { bot: 'echo', conversation });
//   const run = await evaluationEnd(cluster, id);   // GET /api/evaluations/{id}, with all turns
import { assertOk, eventually } from './harness.mjs';

export const PERSON = 'Ada L.';

// A turn: what Bob says, and what Ada answered: each answer is accepted.
export const talkOf = (...turns) =>
  turns.flatMap(([text, ...originals], i) => [
    { from: 'Bob', text, id: `q${i + 1}`, timestamp: '2025-03-25T01:02:03Z', tagged: [] },
    ...originals.map((original, k) => ({ from: PERSON, text: original, id: `a${i + 1}.${k + 1}`, timestamp: '2025-03-25T01:02:04Z', tagged: ['Bob'] })),
  ]);

// Words that are different in each turn.
const WORDS = 'amber birch cedar dune ember fjord grove heath islet juniper kelp lagoon meadow nettle orchard pebble quarry river spruce thistle'.split(' ');
export const answerOf = (i) => `${WORDS[i % 20]} ${WORDS[(7 * i + 3) % 20]} answer ${i}`;
// `n` turns, each with one original: answerOf of its number, from 1.
export const longTalk = (n) => talkOf(...Array.from({ length: n }, (_, i) => [`question ${i + 1}`, answerOf(i + 1)]));

const whose = (as, user) => (as.startsWith('Frontend') ? { OnBehalfOf: user } : {});

export function evaluationRaw(cluster, method, path, { as = 'Frontend_1', user = 'eve', query = {}, ...options } = {}) {
  return cluster.request(method, `/api/evaluations${path}`, { as, query: { ...whose(as, user), ...query }, ...options });
}

export async function beginEvaluation(cluster, { bot, conversation, measure, ...options }) {
  return assertOk(await evaluationRaw(cluster, 'POST', '', { body: { bot, conversation, measure }, ...options }), 202).id;
}

// With the turns of all pages.
export async function readEvaluation(cluster, id, options = {}) {
  let run;
  for (let after = 0; ; after = run.turns.length) {
    const page = assertOk(await evaluationRaw(cluster, 'GET', `/${id}`, { ...options, query: { ...options.query, after } }));
    run = { ...page, turns: [...(run?.turns ?? []), ...page.turns] };
    if (run.turns.length >= page.done) return run;
  }
}

export const evaluationUntil = (cluster, id, condition, options = {}) =>
  eventually(
    async () => {
      const run = await readEvaluation(cluster, id, options);
      return condition(run) && run;
    },
    { ms: 60_000, what: `evaluation ${id}` },
  );

export const evaluationEnd = (cluster, id, options) => evaluationUntil(cluster, id, ({ status }) => status !== 'running', options);
