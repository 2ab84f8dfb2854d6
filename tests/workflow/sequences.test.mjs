// SPDX-License-Identifier: MIT
//
// The two sequences of the shipped trees, message by message: every agent says yes, and one says no in the middle. The
// client moves to the other node after each frame. Then with the built-in model, and with SQL that was rejected.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after } from 'node:test';
import { withEngines } from '../support/engines.mjs';
import { makeFolder, suite } from '../support/harness.mjs';
import { isOver, isStop, newId, no, openWorkflow, withAgents, yes } from '../support/workflow.mjs';

const folder = makeFolder();
after(() => folder.remove());
const args = [`--sql-url=sqlite:${join(folder.dir, 'workflow.db')}`];

const SELECT = 'SELECT id, name FROM patterns ORDER BY id LIMIT 2';
const INSERT = "INSERT INTO patterns (id, name, description, kind) VALUES (9001, 'Kept once', 'x', 'y')";

// Reads a run to where it ends or stops, on one node and the other in turn, each time from where it was.
async function walk(cluster, client, session, id, since = 0) {
  const frames = [];
  let [seq, node] = [since, 0];
  for (;;) {
    const [frame] = await client.until((one) => one.seq > seq);
    frames.push(frame);
    seq = frame.seq;
    await client.close();
    if (isOver(frame) || isStop(frame)) return frames;
    client = await openWorkflow(cluster, { node: (node ^= 1) });
    client.resume(session, id, seq);
  }
}

const shown = (frames) => frames.map(({ agent, decision, nextAgent, returnCode }) => [agent, decision, nextAgent, returnCode]);

suite('the shipped trees', { args }, ({ test, cluster }) => {
  const query = async (sql) => {
    let rows;
    await withAgents(cluster, { 'model.ruleToSQL': yes({ sql_query: sql }) }, async () => {
      const client = await openWorkflow(cluster);
      client.request(newId('s'), newId('r'), { verb: 'RULE', messageBody: { raw_text: 'run look' } });
      const last = (await client.until((frame) => isOver(frame) || isStop(frame))).at(-1);
      assert.ok(isOver(last), last.reason);
      rows = last.messageBody.rows;
      await client.close();
    });
    return rows;
  };

  for (const [verb, third, fourth, sql] of [
    ['RULE', 'model.ruleToSQL', 'model.verifySQL', SELECT],
    ['CONTENT', 'model.requestToExtractEntities', 'model.verifyUpsert', INSERT],
  ]) {
    test(`${verb}, all yes: five frames, and the socket moves after each of them`, async () => {
      const [session, id] = [newId('s'), newId('r')];
      await withAgents(cluster, { [third]: yes({ sql_query: sql }) }, async () => {
        const client = await openWorkflow(cluster);
        client.request(session, id, { verb, nextAgent: 'model.Capo', messageBody: { raw_text: 'text' } });
        const frames = await walk(cluster, client, session, id);
        assert.deepEqual(shown(frames), [
          ['model.Capo', 'yes', 'model.verifyRequest', 0],
          ['model.verifyRequest', 'yes', third, 0],
          [third, 'yes', fourth, 0],
          [fourth, 'yes', 'tool.executeSQL', 0],
          ['tool.executeSQL', 'yes', null, 1],
        ]);
        assert.deepEqual(frames.map(({ seq }) => seq), [1, 2, 3, 4, 5]);
        assert.deepEqual(frames.map(({ messageBody }) => 'sql_query' in messageBody), [false, false, true, true, true]);
        const { rowcount, columns, rows } = frames.at(-1).messageBody;
        if (verb === 'RULE') assert.deepEqual([rowcount, columns, rows.length], [2, ['id', 'name'], 2]);
        else assert.equal(rowcount, 1);
      });
    });
  }

  test('a no in the middle, a correction, and the end; the second approval is refused', async () => {
    const [session, id] = [newId('s'), newId('r')];
    await withAgents(cluster, { 'model.verifyRequest': [no('There is no table gadgets.'), yes()], 'model.ruleToSQL': yes({ sql_query: SELECT }) }, async () => {
      const client = await openWorkflow(cluster);
      client.request(session, id, { verb: 'RULE', messageBody: { raw_text: 'run Show gadgets' } });
      const before = await walk(cluster, client, session, id);
      assert.deepEqual(shown(before), [['model.Capo', 'yes', 'model.verifyRequest', 0], ['model.verifyRequest', 'no', 'sendMessageToChat', 0]]);
      const moved = await openWorkflow(cluster, { node: 1 });
      moved.answer(session, id, { approved: true, corrections: { raw_text: 'run Show patterns' } });
      const rest = await walk(cluster, moved, session, id, 2);
      assert.deepEqual(shown(rest), [
        ['model.verifyRequest', 'yes', 'model.ruleToSQL', 0],
        ['model.ruleToSQL', 'yes', 'model.verifySQL', 0],
        ['model.verifySQL', 'yes', 'tool.executeSQL', 0],
        ['tool.executeSQL', 'yes', null, 1],
      ]);
      assert.equal(rest.at(-1).messageBody.raw_text, 'run Show patterns');
      const again = await openWorkflow(cluster);
      again.answer(session, id, { approved: true });
      assert.match((await again.error()).reason, /User_1/);
      await again.close();
    });
  });

  test('SQL that was rejected, or edited, and that a client sends back is not executed', async () => {
    const [session, id] = [newId('s'), newId('r')];
    const evil = "INSERT INTO patterns (id, name, description, kind) VALUES (9666, 'Evil', 'x', 'y')";
    await withAgents(cluster, { 'model.requestToExtractEntities': yes({ sql_query: evil }), 'model.verifyUpsert': no('That is no pattern.') }, async (asked) => {
      const client = await openWorkflow(cluster);
      client.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'x' } });
      const { nextAgent, verb, messageBody } = (await client.until(isStop)).at(-1);
      assert.equal(messageBody.sql_query, evil);
      client.answer(session, id, { approved: false });
      await client.until(isOver);
      const edited = { ...messageBody, sql_query: evil.replace('9666', '9667') };
      client.request(session, newId('e'), { verb, nextAgent, messageBody: { ...edited, raw_text: 'yes' } });
      assert.match((await client.error()).reason, /No question/);
      client.request(session, newId('e'), { verb, nextAgent: 'tool.executeSQL', messageBody: edited });
      assert.match((await client.error()).reason, /cannot begin/);
      const before = asked.length;
      client.request(session, newId('e'), { verb, messageBody: edited });
      const [first] = await client.until(isStop);
      assert.equal(first.messageBody.sql_query, undefined);
      assert.ok(asked.length > before);
      await client.close();
    });
    assert.deepEqual(await query("SELECT id FROM patterns WHERE name = 'Evil'"), []);
    assert.deepEqual(await query("SELECT count(*) FROM patterns WHERE name = 'Kept once'"), [[1]]);
  });

  test('with the built-in model: known tables end with rows, an unknown one stops at model.verifyRequest', async () => {
    await withEngines(cluster, async ({ start }) => {
      await start();
      const client = await openWorkflow(cluster);
      client.request(newId('s'), newId('r'), { verb: 'GENERIC', nextAgent: 'model.LanguageCapo', messageBody: { raw_text: 'run Show patterns' } });
      const last = (await client.until((frame) => isOver(frame) || isStop(frame))).at(-1);
      assert.deepEqual([last.agent, last.returnCode, last.nextAgent], ['tool.executeSQL', 1, null], last.reason);
      assert.ok(last.messageBody.rows.length > 0 && last.messageBody.rowcount === last.messageBody.rows.length);
      client.request(newId('s'), newId('r'), { verb: 'RULE', messageBody: { raw_text: 'run Show gadgets' } });
      const stop = (await client.until((frame) => isOver(frame) || isStop(frame))).at(-1);
      assert.deepEqual([stop.agent, stop.decision, stop.nextAgent], ['model.verifyRequest', 'no', 'sendMessageToChat']);
      await client.close();
    });
  });
});
