// SPDX-License-Identifier: MIT
//
// Evaluations over HTTP: bots that answer well, badly or not at all, what is stored of each turn, and who may see it. The
// shape of GET /api/evaluations/{id} is in services/bots/evaluate/evaluate.h.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { newBot, registerBot, startBots } from '../support/bot_server.mjs';
import { answerOf, beginEvaluation, evaluationEnd, evaluationRaw, evaluationUntil, longTalk, PERSON, readEvaluation, talkOf } from '../support/evaluation_runs.mjs';
import { ACCOUNTS, assertMembers, assertOk, assertProblem, assertTimestamp, eventually, suite } from '../support/harness.mjs';

const accounts = {
  ...ACCOUNTS,
  Frontend_acme: { secret: 'acme-frontend-secret', role: 'frontend', namespace: 'acme' },
};
const env = { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' };

let bots;
before(async () => {
  bots = await startBots();
});
after(() => bots.close());

const turnOf = ({ headers }) => Number(headers['webhook-id'].split('-').at(-1));

// A bot of its own path, registered.
async function bot(cluster, answer, options) {
  const username = newBot('eval');
  const path = `/${username}`;
  bots.bots[path] = answer;
  await registerBot(cluster, username, bots.url(path), { emulates: PERSON, ...options });
  return { username, path };
}

const near = (seen, expected, by = 1e-9) => assert.ok(Math.abs(seen - expected) < by, `${seen} is near ${expected}`);

suite('evaluations', { accounts, env, sweep: false }, ({ test, cluster }) => {
  test('a bot that echoes the originals has distance 0 in every turn, and the run says so', async () => {
    const conversation = longTalk(12);
    const { username } = await bot(cluster, ({ headers }) => ({ message: answerOf(turnOf({ headers })) }));
    const id = await beginEvaluation(cluster, { bot: username, conversation });
    assert.match(id, /^[0-9a-f]{24}-1$/);
    const run = await evaluationEnd(cluster, id);
    assertMembers(run, ['id', 'bot', 'measure', 'status', 'reason', 'total', 'done', 'failed', 'mean', 'score', 'interval', 'created', 'updated', 'turns']);
    const { status, reason, total, done, failed, mean, interval, turns } = run;
    assert.deepEqual([run.id, run.bot, run.measure], [id, username, 'cosine']);
    assert.deepEqual({ status, reason, total, done, failed }, { status: 'done', reason: null, total: 12, done: 12, failed: 0 });
    near(mean, 0, 1e-6);
    near(interval[0], 0, 1e-6);
    near(interval[1], 0, 1e-6);
    assertTimestamp(run.created);
    assertTimestamp(run.updated);
    assert.deepEqual(turns.map(({ turn }) => turn), Array.from({ length: 12 }, (_, i) => i + 1));
    const { distance, score, ms, ...third } = turns[2];
    near(distance, 0, 1e-6);
    near(score, 100, 1e-4);
    near(run.score, 100, 1e-4);
    assert.ok(Number.isInteger(ms) && ms >= 0);
    assert.deepEqual(third, { turn: 3, id: 'q3', text: 'question 3', originals: 1, original: answerOf(3), answer: answerOf(3), error: null, attempts: 1 });
  });

  test('noise is far from every original, and the mean and its interval are those of the turns', async () => {
    const { username } = await bot(cluster, ({ n }) => ({ message: `zzz${n} qqq${n} xxw${n}` }));
    const run = await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation: longTalk(8) }));
    const distances = run.turns.map(({ distance }) => distance);
    assert.ok(distances.every((distance) => distance > 0.7), `${distances}`);
    const mean = distances.reduce((sum, x) => sum + x, 0) / 8;
    const half = (2.364624 * Math.sqrt(distances.reduce((sum, x) => sum + (x - mean) ** 2, 0) / 7)) / Math.sqrt(8);
    near(run.mean, mean);
    near(run.interval[0], mean - half, 1e-6);
    near(run.interval[1], mean + half, 1e-6);
    near(run.score, Math.min(100, Math.max(0, 100 * (1 - mean))));
    for (const { distance, score } of run.turns) near(score, Math.min(100, Math.max(0, 100 * (1 - distance))));
  });

  test('turns in which the bot fails are counted, not skipped, and have no part in the mean', async () => {
    const answer = ({ headers }) => (turnOf({ headers }) % 3 === 0 ? { status: 200, headers: {}, body: '<html>' } : { message: answerOf(turnOf({ headers })) });
    const { username, path } = await bot(cluster, answer);
    const run = await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation: longTalk(10) }));
    assert.deepEqual([run.status, run.total, run.done, run.failed], ['done', 10, 10, 3]);
    assert.equal(run.turns.length, 10);
    near(run.mean, 0, 1e-6);
    for (const { turn, distance, score, error, original, answer: said } of run.turns) {
      assert.equal(distance === null, turn % 3 === 0);
      assert.equal(score === null, turn % 3 === 0);
      assert.equal(error === null, turn % 3 !== 0);
      if (turn % 3 === 0) assert.deepEqual([original, said], [null, null]);
    }
    assert.match(run.turns[2].error, /^the bot .*JSON/);
    assert.equal(bots.of(path).length, 10, 'a wrong answer is not asked for again');
  });

  test('a call that fails is repeated under the same delivery id, then the turn has failed', async () => {
    const { username, path } = await bot(cluster, ({ headers, n }) => (turnOf({ headers }) === 2 || n === 1 ? { status: 503, headers: {}, body: '' } : { message: 'amber' }));
    const id = await beginEvaluation(cluster, { bot: username, conversation: talkOf(['1', 'amber'], ['2', 'amber']) });
    const run = await evaluationEnd(cluster, id);
    assert.deepEqual(run.turns.map(({ attempts, error }) => [attempts, error === null]), [[2, true], [3, false]]);
    assert.match(run.turns[1].error, /503/);
    assert.deepEqual(bots.of(path).map(({ headers }) => headers['webhook-id']), [1, 1, 2, 2, 2].map((turn) => `evl-${id}-${turn}`));
  });

  test('a bot that has failed five turns in a row gets one attempt for each further turn', async () => {
    const { username } = await bot(cluster, () => ({ status: 503, headers: {}, body: '' }));
    const run = await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation: longTalk(9) }));
    assert.deepEqual([run.status, run.failed], ['done', 9]);
    assert.deepEqual(run.turns.map(({ attempts }) => attempts), [3, 3, 3, 3, 3, 1, 1, 1, 1]);
  });

  test('a bot without a single good answer has neither mean nor interval; with one it has no interval', async () => {
    const none = await bot(cluster, () => ({ response_not_required: true }));
    const one = await bot(cluster, ({ n }) => (n === 1 ? { message: 'amber' } : { status: 202, headers: {}, body: '' }));
    const conversation = talkOf(['1', 'amber'], ['2', 'birch']);
    const [a, b] = [await beginEvaluation(cluster, { bot: none.username, conversation }), await beginEvaluation(cluster, { bot: one.username, conversation })];
    const first = await evaluationEnd(cluster, a);
    assert.deepEqual([first.status, first.failed, first.mean, first.score, first.interval], ['done', 2, null, null, null]);
    assert.match(first.turns[0].error, /response_not_required/);
    const second = await evaluationEnd(cluster, b);
    assert.deepEqual([second.failed, second.interval], [1, null]);
    near(second.mean, 0, 1e-6);
    assert.match(second.turns[1].error, /202/);
  });

  test('of several originals in a row the nearest counts', async () => {
    const { username } = await bot(cluster, () => ({ message: 'the cedar grove' }));
    const conversation = talkOf(['Where?', 'a pebble quarry', 'the cedar grove', 'an islet'], ['Really?', 'a pebble quarry', 'an islet']);
    const run = await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation }));
    assert.equal(run.total, 2);
    assert.deepEqual([run.turns[0].originals, run.turns[0].original], [3, 'the cedar grove']);
    near(run.turns[0].distance, 0, 1e-6);
    assert.ok(run.turns[1].distance > 0.5);
  });

  test('a turn is a message of somebody else that the person answers; the bot gets the true history before it', async () => {
    const { username, path } = await bot(cluster, () => ({ message: 'amber' }));
    const conversation = [
      { from: PERSON, text: 'I begin.' },
      { from: 'Bob', text: 'Unanswered.' },
      { from: 'Cy', text: 'Answered "so".', id: 'c1', tagged: [PERSON], timestamp: '2025-03-25T01:02:03Z' },
      { from: PERSON, text: 'amber' },
      { from: PERSON, text: 'birch' },
      { from: 'Bob', text: 'And then?' },
      { from: PERSON, text: 'cedar' },
      { from: 'Bob', text: 'Nobody answers this.' },
    ];
    const id = await beginEvaluation(cluster, { bot: username, conversation });
    assert.equal((await evaluationEnd(cluster, id)).total, 2);
    const [first, second] = bots.of(path).map(({ json }) => json);
    assert.deepEqual(first.message, { from: 'Cy', tagged: [PERSON], id: 'c1', text: 'Answered "so".', timestamp: '2025-03-25T01:02:03Z' });
    assert.deepEqual(first.context.map(({ text }) => text), ['I begin.', 'Unanswered.']);
    assert.deepEqual(second.context.map(({ from, text }) => [from, text]), conversation.slice(0, 5).map(({ from, text }) => [from, text]));
    for (const { context, conversation: given } of [first, second]) assert.deepEqual(given, [{ id: id.split('-')[0], messages: context }], 'the history is one conversation');
    const { headers } = bots.of(path)[0];
    assert.ok(headers['x-caller-key'] && headers['webhook-signature'].startsWith('v1,'));
  });

  test('the context is the last 50 messages', async () => {
    const { username, path } = await bot(cluster, () => ({ message: 'amber' }));
    await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation: longTalk(40) }));
    const { json } = bots.of(path).at(-1);
    assert.equal(json.context.length, 50);
    assert.equal(json.context.at(-1).text, answerOf(39));
  });

  for (const measure of ['dot', 'euclidean'])
    test(`measured by ${measure}, equal texts have distance 0 and others the one that their angle gives`, async () => {
      const { username } = await bot(cluster, () => ({ message: 'the cedar grove' }));
      const conversation = talkOf(['1', 'the cedar grove'], ['2', 'a pebble quarry']);
      const [cosine, other] = [
        await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation })),
        await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation, measure })),
      ];
      assert.equal(other.measure, measure);
      near(other.turns[0].distance, 0, 1e-3);
      const { distance } = cosine.turns[1];
      near(other.turns[1].distance, measure === 'dot' ? distance : Math.sqrt(2 * distance), 1e-5);
    });

  test('answers without a single word have a zero vector: the turn has failed', async () => {
    const { username } = await bot(cluster, ({ n }) => ({ message: n === 1 ? '!!! ???' : 'amber' }));
    const conversation = talkOf(['1', 'amber'], ['2', '…', 'amber'], ['3', '…']);
    const run = await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: username, conversation }));
    assert.deepEqual(run.turns.map(({ error }) => error === null), [false, true, false]);
    assert.match(run.turns[0].error, /embedding of the answer is zero/);
    assert.deepEqual([run.turns[0].answer, run.turns[0].original], ['!!! ???', null]);
    assert.match(run.turns[2].error, /embeddings of the originals are zero/);
    near(run.mean, 0, 1e-6);
  });

  test('the same request is the same run while it continues; after its end it begins the next', async () => {
    let release;
    const held = new Promise((resolve) => {
      release = resolve;
    });
    const { username } = await bot(cluster, async () => {
      await held;
      return { message: 'amber' };
    });
    const conversation = talkOf(['1', 'amber']);
    const spaced = conversation.map(({ id, text, from, tagged, timestamp }) => ({ timestamp, more: 1, text, id, tagged, from }));
    const id = await beginEvaluation(cluster, { bot: username, conversation, node: 0 });
    assert.equal(await beginEvaluation(cluster, { bot: username, conversation: spaced, node: 1 }), id);
    assert.notEqual(await beginEvaluation(cluster, { bot: username, conversation, measure: 'dot' }), id);
    release();
    await evaluationEnd(cluster, id);
    assert.equal(await beginEvaluation(cluster, { bot: username, conversation }), id.replace(/1$/, '2'));
  });

  test('a cancelled run stays where it is, with its turns', async () => {
    const { username, path } = await bot(cluster, ({ n }) => (n > 3 ? undefined : { message: 'amber' }));
    const id = await beginEvaluation(cluster, { bot: username, conversation: longTalk(10) });
    await evaluationUntil(cluster, id, ({ done }) => done === 3);
    await eventually(() => bots.of(path).length === 4, { what: 'the call that gets no answer' });
    assert.deepEqual(assertOk(await evaluationRaw(cluster, 'DELETE', `/${id}`)), { id, status: 'cancelled' });
    const run = await readEvaluation(cluster, id);
    assert.deepEqual([run.status, run.done, run.turns.length, run.total], ['cancelled', 3, 3, 10]);
    assert.deepEqual(assertOk(await evaluationRaw(cluster, 'DELETE', `/${id}`)), { id, status: 'cancelled' });
    // Its bot is not called any more, and answers nobody waits for change nothing.
    assert.equal(bots.of(path).length, 4);
  });

  test('a run ends when its bot is removed', async () => {
    const { username } = await bot(cluster, ({ n }) => (n > 2 ? { status: 503, headers: {}, body: '' } : { message: 'amber' }));
    const id = await beginEvaluation(cluster, { bot: username, conversation: longTalk(10) });
    await evaluationUntil(cluster, id, ({ done }) => done === 2);
    assert.ok((await cluster.request('DELETE', `/api/bots/${username}`, { as: 'Frontend_1', query: { OnBehalfOf: 'owner' } })).status < 300);
    const run = await evaluationEnd(cluster, id);
    assert.deepEqual([run.status, run.reason], ['failed', 'The bot was removed.']);
    assert.equal(run.turns.length, run.done);
  });

  test('turns come in pages, each with a Link to the next', async () => {
    const { username } = await bot(cluster, () => ({ message: 'amber' }));
    const id = await beginEvaluation(cluster, { bot: username, conversation: longTalk(7) });
    await evaluationEnd(cluster, id);
    const first = await evaluationRaw(cluster, 'GET', `/${id}`, { query: { limit: 3 } });
    assert.deepEqual(assertOk(first).turns.map(({ turn }) => turn), [1, 2, 3]);
    assert.match(first.headers.link, /after=3.*rel="next"/);
    const last = await evaluationRaw(cluster, 'GET', `/${id}`, { query: { after: 6, limit: 3 } });
    assert.deepEqual(assertOk(last).turns.map(({ turn }) => turn), [7]);
    assert.equal(last.headers.link, undefined);
    assert.deepEqual(assertOk(await evaluationRaw(cluster, 'GET', `/${id}`, { query: { after: 7 } })).turns, []);
    assertProblem(await evaluationRaw(cluster, 'GET', `/${id}`, { query: { after: -1 } }), 400);
    assertProblem(await evaluationRaw(cluster, 'GET', `/${id}`, { query: { limit: 1001 } }), 400);
  });

  test('the list has the runs of an account and user, newest first, page by page', async () => {
    const { username } = await bot(cluster, () => ({ message: 'amber' }));
    const ids = [];
    for (let i = 0; i < 5; i++) {
      ids.unshift(await beginEvaluation(cluster, { bot: username, conversation: talkOf([`list ${i}`, 'amber']), user: 'lister' }));
      await evaluationEnd(cluster, ids[0], { user: 'lister' });
    }
    const all = assertOk(await evaluationRaw(cluster, 'GET', '', { user: 'lister' })).evaluations;
    assert.deepEqual(all.map(({ id }) => id), ids);
    assertMembers(all[0], ['id', 'bot', 'measure', 'status', 'reason', 'total', 'done', 'failed', 'mean', 'score', 'interval', 'created', 'updated']);
    const seen = [];
    for (let query = { limit: 2 }; query; ) {
      const page = await evaluationRaw(cluster, 'GET', '', { user: 'lister', query });
      seen.push(...assertOk(page).evaluations.map(({ id }) => id));
      const next = /[?&]after=([^&>]+)/.exec(page.headers.link ?? '');
      query = next && { limit: 2, after: decodeURIComponent(next[1]) };
    }
    assert.deepEqual(seen, ids);
    assertProblem(await evaluationRaw(cluster, 'GET', '', { query: { after: 'x' } }), 400);
  });

  test('a run of another user, account or namespace is unknown, and so is their bot', async () => {
    const { username } = await bot(cluster, () => ({ message: 'amber' }));
    const conversation = talkOf(['1', 'amber']);
    const id = await beginEvaluation(cluster, { bot: username, conversation });
    for (const other of [{ user: 'mallory' }, { as: 'User_1' }, { as: 'Frontend_heavy' }, { as: 'Frontend_acme' }]) {
      assertProblem(await evaluationRaw(cluster, 'GET', `/${id}`, other), 404, 'not_found');
      assertProblem(await evaluationRaw(cluster, 'DELETE', `/${id}`, other), 404, 'not_found');
      const { evaluations } = assertOk(await evaluationRaw(cluster, 'GET', '', other));
      assert.ok(!evaluations.some((run) => run.id === id));
    }
    // Bots are of a namespace: another account of it has a run of its own, the other namespace none.
    const theirs = await beginEvaluation(cluster, { bot: username, conversation, as: 'User_1' });
    assert.notEqual(theirs.slice(0, 24), id.slice(0, 24));
    assertProblem(await evaluationRaw(cluster, 'POST', '', { as: 'Frontend_acme', body: { bot: username, conversation } }), 404, 'not_found');
    await evaluationEnd(cluster, theirs, { as: 'User_1' });
    await evaluationEnd(cluster, id);
    for (const as of ['Inference_1', 'Operator_1']) assertProblem(await cluster.request('GET', '/api/evaluations', { as }), 403, 'forbidden');
    assertProblem(await cluster.request('GET', `/api/evaluations/${id}`), 401);
  });

  test('what cannot be evaluated is refused, and nothing is stored', async () => {
    const { username } = await bot(cluster, () => ({ message: 'amber' }));
    const post = (body) => evaluationRaw(cluster, 'POST', '', { user: 'refused', body });
    const conversation = talkOf(['1', 'amber']);
    assertProblem(await post({ bot: 'nobody-has-this', conversation }), 404, 'not_found');
    assertProblem(await post({ conversation }), 400);
    assertProblem(await post({ bot: 7, conversation }), 400);
    assert.match(assertProblem(await post({ bot: username, conversation, measure: 'manhattan' }), 400).detail, /cosine, dot or euclidean/);
    assert.match(assertProblem(await post({ bot: username }), 400).detail, /must be a list/);
    assert.match(assertProblem(await post({ bot: username, conversation: [] }), 400).detail, /has no turn/);
    assert.match(assertProblem(await post({ bot: username, conversation: [{ from: 'Bob', text: 'x' }, { from: 'ada l.', text: 'x' }] }), 400).detail, /'Ada L\.'/);
    assert.match(assertProblem(await post({ bot: username, conversation: [...conversation, { from: 'Bob' }] }), 400).detail, /Message 3 .*`text`/);
    const pulling = newBot('pulls');
    await registerBot(cluster, pulling, '', { emulates: PERSON });
    assertProblem(await post({ bot: pulling, conversation }), 409, 'bot_pulls');
    for (const path of ['/x', `/${'0'.repeat(24)}-1`, `/${'0'.repeat(24)}-`, `/${'G'.repeat(24)}-1`, `/${'0'.repeat(24)}-99999999999999999999`])
      assertProblem(await evaluationRaw(cluster, 'GET', path), 404, 'not_found');
    assert.deepEqual(assertOk(await evaluationRaw(cluster, 'GET', '', { user: 'refused' })).evaluations, []);
  });

  test('a conversation has 2,000 turns and 4 MiB at most', async () => {
    const { username } = await bot(cluster, () => undefined);
    const post = (conversation) => evaluationRaw(cluster, 'POST', '', { user: 'large', body: { bot: username, conversation } });
    assert.match(assertProblem(await post(longTalk(2001)), 400).detail, /2001 turns; an evaluation takes at most 2000/);
    const large = talkOf(...Array.from({ length: 32 }, (_, i) => ['x'.repeat(65_000 + i), 'y'.repeat(65_000)]));
    assert.match(assertProblem(await post([...large, ...large.slice(0, 2)]), 413).detail, /4 MiB/);
    const { id } = assertOk(await post(large), 202);
    assert.equal((await readEvaluation(cluster, id, { user: 'large' })).total, 32);
    const { id: longest } = assertOk(await post(longTalk(2000)), 202);
    assert.equal((await readEvaluation(cluster, longest, { user: 'large' })).total, 2000);
    for (const run of [id, longest]) assertOk(await evaluationRaw(cluster, 'DELETE', `/${run}`, { user: 'large' }));
  });
});
