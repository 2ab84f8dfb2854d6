// SPDX-License-Identifier: MIT
//
// One account fills what a node has for bots with work that hangs: what another account wants, or another user of the
// same one, is done next, while the first still waits.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { withEngine } from '../support/asking.mjs';
import { newBot, openRoom, registerBot, startBots } from '../support/bot_server.mjs';
import { answerOf, beginEvaluation, evaluationEnd, longTalk, PERSON, readEvaluation, talkOf } from '../support/evaluation_runs.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // one: limits are counted in each shard, and the pools are a node's

const OTHERS = [{ as: 'Frontend_heavy', user: 'zoe' }, { as: 'Frontend_1', user: 'ada' }];

let server;
before(async () => (server = await startBots()));
after(() => server.close());

const env = { PARLEY_ALLOW_PRIVATE_ENDPOINTS: 'on' };

suite('bots that hang', { nodes: 1, env, sweep: false }, ({ test, cluster }) => {
  const bot = async (answer, options) => {
    const username = newBot('turn');
    server.bots[`/${username}`] = answer;
    await registerBot(cluster, username, server.url(`/${username}`), { emulates: PERSON, ...options });
    return username;
  };
  const called = () => server.calls.length;

  test('more messages to bots that never answer than a node holds delay no other account and no other user', async () => {
    const hung = [];
    for (let i = 0; i < 70; i++) hung.push(await bot(() => undefined, { user: `owner-${i % 2}` }));
    const greedy = await openRoom(cluster);
    for (let i = 0; i < 17; i++)
      await Promise.all([0, 1, 2, 3, 4, 5, 6].map((k) => greedy.say(hung.slice(10 * k, 10 * k + 10).map((name) => `@${name}`).join(' '), { user: 'eve' })));
    await eventually(() => called() >= 64, { what: 'all calls are under way' });
    await Promise.all(
      OTHERS.map(async ({ as, user }) => {
        const room = await openRoom(cluster);
        const good = await bot(() => ({ message: 'Here I am.' }));
        assert.equal((await room.replyTo(await room.say(`@${good} are you there?`, { as, user }))).text, 'Here I am.');
      }),
    );
    // Those of the greedy one have time left: none was given up yet.
    assert.deepEqual((await greedy.messages()).filter(({ from }) => from === 'annex'), []);
  });

  test('more evaluations of a bot that never answers than a node drives delay no other account and no other user', async () => {
    const hung = await bot(() => undefined);
    const good = await bot(({ headers }) => ({ message: answerOf(Number(headers['webhook-id'].split('-').at(-1))) }));
    const before = called();
    const ids = [];
    for (let i = 0; i < 40; i++) ids.push([`eve-${i % 4}`, await beginEvaluation(cluster, { bot: hung, conversation: talkOf([`hello ${i}`, 'amber']), user: `eve-${i % 4}` })]);
    await eventually(() => called() - before >= 32, { what: 'as many as a node drives' });
    await Promise.all(
      OTHERS.map(async (options) => {
        const run = await evaluationEnd(cluster, await beginEvaluation(cluster, { bot: good, conversation: longTalk(3), ...options }), options);
        assert.deepEqual([run.status, run.done, run.failed], ['done', 3, 0]);
      }),
    );
    // Those of the greedy one are in their first turn, of three attempts, or still wait.
    const left = await Promise.all(ids.map(([user, id]) => readEvaluation(cluster, id, { user })));
    assert.deepEqual(new Set(left.map(({ status, done }) => `${status} ${done}`)), new Set(['running 0']));
  });
});

suite('bots that are models, and a full queue', { nodes: 1, env, args: ['--queue-max=2'] }, ({ test, cluster }) => {
  test('a message and the turns of an evaluation wait for room, and none of them fails', async () => {
    let open;
    const isOpen = new Promise((resolve) => (open = resolve));
    await withEngine(cluster, () => isOpen.then(() => 'amber'), async (engine) => {
      const username = newBot('model');
      await registerBot(cluster, username, 'parley:default', { emulates: PERSON });
      const room = await openRoom(cluster);
      // One question is held by the engine, one is Open: as many as the account may have.
      const asked = [await room.say(`@${username} one`)];
      await engine.asked(1);
      for (const text of ['two', 'three']) asked.push(await room.say(`@${username} ${text}`));
      const id = await beginEvaluation(cluster, { bot: username, conversation: talkOf(['one', 'amber'], ['two', 'amber']) });
      const looks = async () => Number(/^parley_verb_calls_total\{verb="vacancies"\} (\d+)$/m.exec((await cluster.request('GET', '/metrics')).text)?.[1] ?? 0);
      await eventually(async () => (await looks()) >= 3, { what: 'they wait for room' });
      open();
      for (const message of asked) assert.equal((await room.replyTo(message)).text, 'amber');
      const run = await evaluationEnd(cluster, id);
      assert.deepEqual([run.status, run.done, run.failed, run.turns.map(({ attempts }) => attempts)], ['done', 2, 0, [1, 1]]);
    });
  });
});
