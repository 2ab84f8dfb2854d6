// SPDX-License-Identifier: MIT
//
// One account fills what a node has for runs: another account's run continues next, while the first still waits. And runs
// that find the queue full, or no engine, wait without sending what they have to ask.
//
// Shards: 1, because limits are counted in each shard, and the pools are a node's.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { eventually, makeFolder, suite } from '../support/harness.mjs';
import { shortTrees } from '../support/trees.mjs';
import { isOver, isStop, newId, openWorkflow, withAgents, yes } from '../support/workflow.mjs';

const folder = makeFolder();
after(() => folder.remove());
const trees = `--workflows=${folder.file('trees.yaml', shortTrees())}`;

const KIB = 1024;
const textOf = (n) => 'x'.repeat(n);

// As many runs of an account, each on a socket of its own.
const begin = (cluster, n, { as = 'User_1', verb = 'CONTENT', body = {} } = {}) =>
  Promise.all(
    Array.from({ length: n }, async (_, i) => {
      const client = await openWorkflow(cluster, { as });
      client.request(newId('s'), newId('r'), { verb, messageBody: { raw_text: `${as} ${i}`, ...body } });
      return client;
    }),
  );
const closeAll = (clients) => Promise.all(clients.map((client) => client.close()));

// What Redis has received so far; and how often a verb was called, by the metrics of the only node.
const received = async (cluster) => Number(/total_net_input_bytes:(\d+)/.exec(await cluster.redis.cmd('INFO', 'stats'))[1]);
const metric = async (cluster, name, label) => {
  const { text } = await cluster.request('GET', '/metrics');
  return Number(new RegExp(`^${name}\\{${label}\\} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
};
const calls = (cluster, verb) => metric(cluster, 'parley_verb_calls_total', `verb="${verb}"`);

// Asserts that a node whose `n` runs have all asked looks by `verb` again, and does not send as much meanwhile as one of
// the prompts.
async function assertQuiet(cluster, n, verb, most) {
  await eventually(async () => (await calls(cluster, 'ask')) >= n, { what: `${n} runs have asked` });
  await eventually(async () => (await calls(cluster, verb)) >= 2, { what: `looks by ${verb}` });
  const [bytes, looks] = [await received(cluster), await calls(cluster, verb)];
  await eventually(async () => (await calls(cluster, verb)) > looks, { what: `another look by ${verb}` });
  assert.ok((await received(cluster)) - bytes < most, `${(await received(cluster)) - bytes} bytes`);
}

suite('statements of several accounts', { nodes: 1 }, ({ test, cluster }) => {
  const endless = `SELECT count(*) FROM ${'abcdefghij'.split('').map((letter) => `episodes ${letter}`).join(', ')}`;
  const agents = {
    'model.ruleToSQL': ({ request }) => yes({ sql_query: request.startsWith('User_1') ? endless : 'SELECT 1' }),
  };

  test('statements that run until their limit delay a statement of another account by one of them', async () => {
    await withAgents(cluster, agents, async () => {
      const greedy = await begin(cluster, 6, { verb: 'RULE' });
      let ended = 0;
      const begun = greedy.map((client) => client.until(({ nextAgent }) => nextAgent === 'tool.executeSQL'));
      const all = begun.map((one, i) => one.then(() => greedy[i].until((frame) => isOver(frame) || isStop(frame))).then(() => ended++, () => {}));
      await Promise.all(begun);
      const [other] = await begin(cluster, 1, { as: 'User_2', verb: 'RULE' });
      const end = (await other.until(isOver)).at(-1);
      assert.deepEqual([end.agent, end.decision, end.messageBody.rows], ['tool.executeSQL', 'yes', [[1]]]);
      assert.ok(ended <= 4, `${ended} ended before it`);
      await closeAll([...greedy, other]);
      await Promise.all(all);
    });
  });
});

suite('runs that fill the memory for them', { nodes: 1, args: [trees, '--body-memory-mib=1', '--threads=1'] }, ({ test, cluster }) => {
  // Few bytes, and much memory once it is read.
  const body = { list: Array(1000).fill({}) };

  test('a run of another account is driven next, and all end', async () => {
    const held = [];
    const begun = [];
    const reply = ({ request }) => {
      begun.push(request);
      return request.startsWith('User_1') ? new Promise((resolve) => held.push(() => resolve(yes()))) : yes();
    };
    const script = { 'model.first': reply, 'model.third': reply };
    const withEngines = (n, run) => (n === 0 ? run() : withAgents(cluster, script, () => withEngines(n - 1, run)));
    // Lets those that are asked answer, one after the other, until that has come.
    const answerUntil = (promise) => {
      let isThere = false;
      const there = promise.then((value) => ((isThere = true), value));
      return eventually(() => (isThere ? true : held.shift()?.() && false), { what: 'the end of what waits' }).then(() => there);
    };
    await withEngines(6, async () => {
      const greedy = await begin(cluster, 12, { body });
      const ends = Promise.all(greedy.map((client) => client.until(isOver)));
      await eventually(async () => held.length > 0 && (await metric(cluster, 'parley_workflow_runs', 'state="waiting"')) >= 6, { what: 'more than fit' });
      assert.ok(held.length < 6, `${held.length} are driven`);
      const [other] = await begin(cluster, 1, { as: 'User_2', body });
      const before = new Set(begun).size;
      assert.equal((await answerUntil(other.until(isOver))).at(-1).decision, 'yes');
      assert.ok(new Set(begun).size - before < 6, `${new Set(begun).size - before} more were begun before it had ended`);
      for (const frames of await answerUntil(ends)) assert.deepEqual(frames.map(({ agent }) => agent), ['model.first', 'model.third']);
      await closeAll([...greedy, other]);
    });
  });
});

suite('runs that wait for room in the queue', { nodes: 1, args: [trees, '--queue-max=4'] }, ({ test, cluster }) => {
  test('a full queue is not sent the prompts of those that wait, and each is asked once there is room', async () => {
    let isOpen = false;
    const waiting = [];
    const reply = () => (isOpen ? yes() : new Promise((resolve) => waiting.push(() => resolve(yes()))));
    await withAgents(cluster, { 'model.first': reply, 'model.third': reply }, async (asked) => {
      const runs = await begin(cluster, 20, { body: { text: textOf(100 * KIB) } });
      const ends = runs.map((client) => client.until(isOver));
      await assertQuiet(cluster, 20, 'vacancies', 100 * KIB);
      isOpen = true;
      for (const go of waiting) go();
      for (const frames of await Promise.all(ends)) assert.deepEqual(frames.map(({ agent, decision }) => [agent, decision]), [['model.first', 'yes'], ['model.third', 'yes']]);
      assert.equal(asked.length, 40);
      await closeAll(runs);
    });
  });

});

suite('runs that wait for an engine', { nodes: 1, args: [trees] }, ({ test, cluster }) => {
  test('without an engine the prompts are not sent again, and each is asked once an engine comes', async () => {
    const runs = await begin(cluster, 20, { body: { text: textOf(100 * KIB) } });
    const ends = runs.map((client) => client.until(isOver));
    await assertQuiet(cluster, 20, 'engines', 100 * KIB);
    await withAgents(cluster, { 'model.first': yes(), 'model.third': yes() }, async (asked) => {
      await Promise.all(ends);
      assert.equal(asked.length, 40);
    });
    await closeAll(runs);
  });
});
