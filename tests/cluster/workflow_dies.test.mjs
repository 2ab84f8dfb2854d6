// SPDX-License-Identifier: MIT
//
// Nodes that die while they drive runs of workflows. A run is in Redis: another node carries on, and clients see each
// step once.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after } from 'node:test';
import { assertOk, eventually, makeFolder, suite } from '../support/harness.mjs';
import { shortTrees } from '../support/trees.mjs';
import { isOver, isStop, newId, no, openWorkflow, withAgents, yes } from '../support/workflow.mjs';

const folder = makeFolder();
after(() => folder.remove());
const args = [`--workflows=${folder.file('trees.yaml', shortTrees())}`];

// A node that no engine asks: an engine that polls it when it is suspended or ends would wait with it.
async function startAside(cluster, more = {}) {
  const node = await cluster.startNode(more);
  cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
  after(() => node.stop().catch(() => {}));
  return node;
}

function gate() {
  let release;
  const open = new Promise((resolve) => (release = resolve));
  return { open, release };
}

suite('a node that drives runs', { nodes: 2, args, sweep: false }, ({ test, cluster }) => {
  test('kill -9 in the middle of a run: the client resumes on the other node and sees each step once', async () => {
    const [session, id] = [newId('s'), newId('r')];
    const dying = await cluster.startNode();
    const { open, release } = gate();
    await withAgents(cluster, { 'model.second': () => open.then(() => yes({ second: true })) }, async (asked) => {
      const first = await openWorkflow(cluster, { node: dying });
      first.request(session, id, { verb: 'RULE', messageBody: { raw_text: 'x' } });
      const seen = await first.until(({ seq }) => seq === 1);
      await eventually(() => asked.length === 2, { what: 'the second agent works' });
      await dying.kill();
      const second = await openWorkflow(cluster, { node: 1 });
      second.resume(session, id, 1);
      release();
      const frames = await second.until(isOver);
      assert.deepEqual([...seen, ...frames].map(({ seq, agent, decision }) => [seq, agent, decision]), [
        [1, 'model.first', 'yes'], [2, 'model.second', 'yes'], [3, 'model.third', 'yes'],
      ]);
      assert.equal(asked.filter(({ agent }) => agent === 'model.second').length, 1, 'the query in the queue is taken over, too');
      await second.close();
    });
  });

  test('kill -9 while a person is asked: the answer on another node carries the run on', async () => {
    const [session, id] = [newId('s'), newId('r')];
    const dying = await cluster.startNode();
    await withAgents(cluster, { 'model.first': no() }, async () => {
      const first = await openWorkflow(cluster, { node: dying });
      first.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      await first.until(isStop);
      await dying.kill();
      const second = await openWorkflow(cluster, { node: 0 });
      second.answer(session, id, { approved: true });
      assert.deepEqual((await second.until(isOver)).map(({ seq, agent }) => [seq, agent]), [[2, 'model.first'], [3, 'model.third']]);
      await second.close();
    });
  });

  test('a node that is suspended for longer than its fence lasts does nothing twice when it continues', async () => {
    const [session, id] = [newId('s'), newId('r')];
    const stopped = await startAside(cluster);
    const { open, release } = gate();
    await withAgents(cluster, { 'model.first': () => open.then(() => yes({ first: true })) }, async (asked) => {
      const first = await openWorkflow(cluster, { node: stopped });
      first.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      await eventually(() => asked.length === 1, { what: 'the first agent works' });
      stopped.child.kill('SIGSTOP');
      const second = await openWorkflow(cluster, { node: 1 });
      second.resume(session, id, 0);
      release(); // the suspended node is notified of the answer, too, and finds it when it continues
      const frames = await second.until(isOver);
      stopped.child.kill('SIGCONT');
      assert.deepEqual(frames.map(({ seq, agent }) => [seq, agent]), [[1, 'model.first'], [2, 'model.third']]);
      const late = await openWorkflow(cluster, { node: stopped });
      late.resume(session, id, 0);
      assert.deepEqual(await late.until(isOver), frames);
      await second.close();
    });
  });
});

suite('a node that ends', { nodes: 2, args, sweep: false }, ({ test, cluster }) => {
  test('SIGTERM: a socket whose run continues stays until it is over, an idle one is closed with 1001', async () => {
    const [session, id] = [newId('s'), newId('r')];
    const ending = await startAside(cluster, { args: ['--drain-seconds', '60'] });
    const { open, release } = gate();
    await withAgents(cluster, { 'model.first': () => open.then(() => yes()) }, async (asked) => {
      const [busy, idle] = [await openWorkflow(cluster, { node: ending }), await openWorkflow(cluster, { node: ending })];
      busy.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      await eventually(() => asked.length === 1, { what: 'the first agent works' });
      ending.child.kill('SIGTERM');
      assert.equal(await idle.watch.closed(), 1001);
      busy.request(session, newId('r'), { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      assert.match((await busy.error()).reason, /shutting down/);
      release();
      await busy.until(isOver);
      assert.equal(await busy.watch.closed(), 1001);
    });
  });
});

// Ten million rows are counted, then one row is inserted.
const SLOW_INSERT =
  "INSERT INTO patterns (id, name, description, kind) SELECT 9000, 'Slow', count(*), 'x' FROM patterns a, patterns b, patterns c, patterns d, patterns e, patterns f, patterns g";

suite('a node that dies while SQL runs', { nodes: 2, args: [`--sql-url=sqlite:${join(folder.dir, 'dies.db')}`], sweep: false }, ({ test, cluster }) => {
  test('kill -9 while a statement runs: it has happened once, and the run says so', async () => {
    const [session, id] = [newId('s'), newId('r')];
    const dying = await cluster.startNode();
    const script = { 'model.requestToExtractEntities': yes({ sql_query: SLOW_INSERT }), 'model.ruleToSQL': yes({ sql_query: "SELECT count(*) FROM patterns WHERE name = 'Slow'" }) };
    await withAgents(cluster, script, async () => {
      const first = await openWorkflow(cluster, { node: dying });
      first.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      await first.until(({ nextAgent }) => nextAgent === 'tool.executeSQL');
      await dying.kill();
      const second = await openWorkflow(cluster, { node: 1 });
      second.resume(session, id, 4);
      const [last] = await second.until((frame) => isOver(frame) || isStop(frame));
      assert.deepEqual([last.seq, last.agent, last.decision, last.returnCode], [5, 'tool.executeSQL', 'yes', 1], last.reason);
      assert.equal(last.messageBody.rowcount, 1);
      second.request(newId('s'), newId('r'), { verb: 'RULE', messageBody: { raw_text: 'run count' } });
      const count = (await second.until((frame) => isOver(frame) || isStop(frame))).at(-1);
      assert.deepEqual(count.messageBody.rows, [[1]]);
      const { runs } = assertOk(await cluster.request('GET', `/api/workflows/history?session_id=${session}`, { as: 'User_1' }));
      assert.deepEqual([runs[0].final_status, runs[0].steps.length], ['done', 5]);
      await second.close();
    });
  });
});
