// SPDX-License-Identifier: MIT
//
// Evaluations and the nodes that drive them: one that dies, one that drains, and how many a user may have.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { newBot, registerBot, startBots } from '../support/bot_server.mjs';
import { answerOf, beginEvaluation, evaluationEnd, evaluationRaw, longTalk, PERSON, talkOf } from '../support/evaluation_runs.mjs';
import { assertOk, assertProblem, eventually, suite } from '../support/harness.mjs';
import { SHARDS } from '../support/shards.mjs';

const turnOf = ({ headers }) => Number(headers['webhook-id'].split('-').at(-1));

let bots;
before(async () => {
  bots = await startBots();
});
after(() => bots.close());

async function bot(cluster, answer) {
  const username = newBot('node');
  bots.bots[`/${username}`] = answer;
  await registerBot(cluster, username, bots.url(`/${username}`), { emulates: PERSON, node: 0 });
  return { username, path: `/${username}` };
}

suite('evaluations and nodes', { env: { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' }, sweep: false }, ({ test, cluster }) => {
  test('when its node dies at turn 40 of 100, another carries on: every turn is there once, and the call is repeated under its id', async () => {
    const victim = await cluster.startNode();
    let killed;
    // The node dies while it waits for the answer to turn 40.
    const { username, path } = await bot(cluster, (call) => {
      if (turnOf(call) === 40 && !killed) {
        killed = victim.kill();
        return undefined;
      }
      return { message: answerOf(turnOf(call)) };
    });
    const id = await beginEvaluation(cluster, { bot: username, conversation: longTalk(100), node: victim });
    await eventually(() => killed !== undefined, { what: 'turn 40' });
    await killed;
    const run = await evaluationEnd(cluster, id, { node: 0 });
    assert.deepEqual([run.status, run.total, run.done, run.failed], ['done', 100, 100, 0]);
    assert.deepEqual(run.turns.map(({ turn }) => turn), Array.from({ length: 100 }, (_, i) => i + 1));
    assert.ok(Math.abs(run.mean) < 1e-6);
    assert.ok(run.turns.every(({ answer, turn }) => answer === answerOf(turn)));
    const ids = bots.of(path).map(({ headers }) => headers['webhook-id']);
    assert.equal(ids.length, 101);
    assert.equal(ids.filter((one) => one === `evl-${id}-40`).length, 2);
    assert.equal(new Set(ids).size, 100);
  });

  test('a node that drains leaves its run to another one', async () => {
    const leaving = await cluster.startNode();
    let stopped;
    const { username } = await bot(cluster, (call) => {
      if (turnOf(call) === 5) stopped ??= leaving.stop();
      return { message: answerOf(turnOf(call)) };
    });
    const id = await beginEvaluation(cluster, { bot: username, conversation: longTalk(400), node: leaving });
    await eventually(() => stopped !== undefined, { what: 'turn 5' });
    await stopped;
    const run = await evaluationEnd(cluster, id, { node: 1 });
    assert.deepEqual([run.status, run.done, run.failed], ['done', 400, 0]);
    assert.deepEqual(run.turns.map(({ turn }) => turn), Array.from({ length: 400 }, (_, i) => i + 1));
  });

  test('a user has 10 unfinished runs on a shard at most; one that was cancelled makes room', async () => {
    const { username } = await bot(cluster, () => undefined);
    const post = (i) => evaluationRaw(cluster, 'POST', '', { user: 'busy', body: { bot: username, conversation: talkOf([`busy ${i}`, 'amber']) } });
    const ids = [];
    let refused;
    for (let i = 0; !refused; i++) {
      assert.ok(i <= 40, 'it is refused at last');
      const response = await post(i);
      if (response.status === 202) ids.push(response.json.id);
      else refused = { response, i };
    }
    assert.ok(ids.length >= 10, `${ids.length}`);
    if (SHARDS === 1) assert.equal(ids.length, 10);
    assertProblem(refused.response, 429, 'too_many_waiting');
    assert.ok(Number(refused.response.headers['retry-after']) > 0);
    for (const id of ids) assertOk(await evaluationRaw(cluster, 'DELETE', `/${id}`, { user: 'busy' }));
    const { id } = assertOk(await post(refused.i), 202);
    assertOk(await evaluationRaw(cluster, 'DELETE', `/${id}`, { user: 'busy' }));
  });
});
