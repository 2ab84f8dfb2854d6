// SPDX-License-Identifier: MIT
//
// What evaluations make of embeddings: a server of the test returns them, good ones and bad ones. And POST
// /api/bots/evaluate, with its points.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before } from 'node:test';
import { newBot, registerBot, startBots } from '../support/bot_server.mjs';
import { beginEvaluation, evaluationEnd, PERSON, talkOf } from '../support/evaluation_runs.mjs';
import { ACCOUNTS, assertMembers, assertOk, assertProblem, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a node computes of vectors: the same on any number of shards

// Texts and their vectors, as JSON. Others get a status.
const vectors = {
  'three four': '[3,4]',
  'four three': '[4,3]',
  opposite: '[-3,-4]',
  zero: '[0,0]',
  'not a number': '[NaN,1]',
  'null': '[null,1]',
  infinite: '[1e999,1]',
  'past a float': '[1e39,1]',
  tiny: '[1e-42,1e-42]',
  'three numbers': '[1,2,3]',
};
const embedded = [];
const server = http.createServer((request, response) => {
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    const { input, model } = JSON.parse(Buffer.concat(pieces).toString());
    embedded.push(...input);
    const vector = vectors[input[0]] ?? vectors[input[0].replace(/^q /, '')];
    if (vector === undefined) response.writeHead(500).end();
    else response.writeHead(200, { 'content-type': 'application/json' }).end(`{"model":"${model}","data":[{"index":0,"embedding":${vector}}]}`);
  });
});

let bots;
before(async () => {
  bots = await startBots();
});
const listening = new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
await listening;
after(() => {
  bots.close();
  server.closeAllConnections();
  server.close();
});

const env = { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on', PARLEY_EMBEDDINGS: `openai:http://127.0.0.1:${server.address().port}/v1#test` };
const near = (seen, expected) => assert.ok(Math.abs(seen - expected) < 1e-6, `${seen} is near ${expected}`);

// One turn for each of these answers of the bot.
async function evaluate(cluster, answers, originals = ['three four'], measure) {
  const username = newBot('embed');
  bots.bots[`/${username}`] = ({ json }) => ({ message: json.message.text });
  await registerBot(cluster, username, bots.url(`/${username}`), { emulates: PERSON });
  const conversation = talkOf(...answers.map((answer) => [answer, ...originals]));
  return evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation, measure }));
}

suite('evaluations and embeddings', { accounts: ACCOUNTS, env, sweep: false }, ({ test, cluster }) => {
  test('distances are those of vectors worked out by hand', async () => {
    // (3, 4) and (4, 3): the cosine is 24/25.
    const cosine = await evaluate(cluster, ['three four', 'four three', 'opposite']);
    [0, 0.04, 2].forEach((distance, i) => near(cosine.turns[i].distance, distance));
    // Mean 0.68; s^2 = (0.4624 + 0.4096 + 1.7424) / 2 = 1.3072; t(2) = 4.302653: 4.302653 * sqrt(1.3072 / 3) = 2.840186.
    near(cosine.mean, 0.68);
    near(cosine.interval[0], 0.68 - 2.840186);
    near(cosine.interval[1], 0.68 + 2.840186);
    const euclidean = await evaluate(cluster, ['four three', 'opposite'], ['three four'], 'euclidean');
    [Math.sqrt(0.08), 2].forEach((distance, i) => near(euclidean.turns[i].distance, distance));
    const dot = await evaluate(cluster, ['four three', 'opposite'], ['three four'], 'dot');
    [0.04, 2].forEach((distance, i) => near(dot.turns[i].distance, distance));
  });

  test('a vector that is zero or not finite is a failed turn, never a number', async () => {
    const bad = ['zero', 'not a number', 'null', 'infinite', 'past a float', 'tiny', 'three numbers', 'unknown'];
    const run = await evaluate(cluster, [...bad, 'four three']);
    assert.deepEqual([run.status, run.done, run.failed], ['done', bad.length + 1, bad.length]);
    for (const [i, turn] of run.turns.slice(0, -1).entries()) {
      assert.equal(turn.distance, null, bad[i]);
      assert.match(turn.error, /embed|dimensions/);
      assert.equal(turn.answer, bad[i]);
    }
    near(run.mean, 0.04);
    assert.equal(run.interval, null);
  });

  test('an original without a direction is passed over, one without a vector fails the turn', async () => {
    const passed = await evaluate(cluster, ['three four'], ['zero', 'four three']);
    assert.deepEqual([passed.failed, passed.turns[0].original], [0, 'four three']);
    near(passed.mean, 0.04);
    const zero = await evaluate(cluster, ['three four'], ['zero', 'zero']);
    assert.match(zero.turns[0].error, /originals are zero/);
    const missing = await evaluate(cluster, ['three four'], ['four three', 'unknown']);
    assert.match(missing.turns[0].error, /^an original could not be embedded: status 500$/);
  });

  const points = (emsAnswers, { question = 'q', originalAnswer = 'three four', ...options } = {}) =>
    cluster.request('POST', '/api/bots/evaluate', { as: 'User_1', body: { question, originalAnswer, emsAnswers }, ...options });

  test('points go from 0 for the least similar answer to 100 for the most similar one', async () => {
    embedded.length = 0;
    const scored = assertOk(await points({ best: 'three four', good: 'four three', 'wörst "one"': 'opposite' }));
    assertMembers(scored, ['message', 'scoredDistances']);
    const { best, good, 'wörst "one"': worst } = scored.scoredDistances;
    [[best, 1, 100], [good, 0.96, 98], [worst, -1, 0]].forEach(([{ similarity, points: seen, ...rest }, expected, score]) => {
      near(similarity, expected);
      assert.equal(seen, score); // round(100 * 1.96 / 2) = 98
      assert.deepEqual(rest, {});
    });
    assert.deepEqual(embedded, ['q three four', 'q three four', 'q four three', 'q opposite']);
  });

  test('answers that are all as similar get 0 points', async () => {
    for (const answers of [{ only: 'four three' }, { one: 'four three', two: 'four three' }])
      for (const { points: seen } of Object.values(assertOk(await points(answers)).scoredDistances)) assert.equal(seen, 0);
  });

  test('x-api-key is a credential for it, and others are refused', async () => {
    const key = (secret) => ({ as: undefined, headers: { 'x-api-key': `User_1:${secret}` } });
    assertOk(await points({ one: 'four three' }, key(ACCOUNTS.User_1.secret)));
    for (const options of [key('wrong'), { as: undefined }]) {
      const answer = await points({ one: 'four three' }, options);
      assert.deepEqual([answer.status, Object.keys(answer.json)], [401, ['message']]);
    }
    assertProblem(await points({ one: 'four three' }, { as: 'Inference_1' }), 403, 'forbidden');
  });

  test('an answer that has no embedding fails the request', async () => {
    assert.match(assertProblem(await points({ one: 'zero' }), 400).detail, /zero or not finite/);
    assert.match(assertProblem(await points({ one: 'four three' }, { originalAnswer: 'zero' }), 400).detail, /original answer/);
    assert.match(assertProblem(await points({ one: 'past a float' }), 503, 'busy').detail, /no vector/);
  });

  test('what cannot be compared is refused', async () => {
    for (const answers of [undefined, {}, [], 'x', { one: 1 }, { one: null }, { ['n'.repeat(129)]: 'x' }, Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`n${i}`, 'x']))])
      assertProblem(await points(answers), 400, 'bad_request');
    assertProblem(await points({ one: 'x' }, { question: 7 }), 400);
    assertProblem(await points({ one: 'x' }, { originalAnswer: '' }), 400);
  });
});
