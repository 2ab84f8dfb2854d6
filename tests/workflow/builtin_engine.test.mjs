// SPDX-License-Identifier: MIT
//
// The shipped trees with the engine that needs no model, on the sample database: what a newcomer tries first.
import assert from 'node:assert/strict';
import { withEngines } from '../support/engines.mjs';
import { ACCOUNTS, makeFolder, suite } from '../support/harness.mjs';
import { isOver, isStop, newId, openWorkflow } from '../support/workflow.mjs';

const folder = makeFolder();
const env = { PARLEY_SQL_URL: `sqlite:${folder.dir}/workflow.db` };

suite('workflows without a language model', { accounts: ACCOUNTS, env }, ({ test, cluster }) => {
  // Runs each text until it is over or stops; the frames of each.
  const run = async (texts, body) => {
    await withEngines(cluster, async ({ start }) => {
      await start();
      const client = await openWorkflow(cluster, { node: 1 });
      const ended = [];
      for (const raw_text of texts) {
        const ids = [newId('session'), newId('request')];
        client.request(...ids, { verb: 'GENERIC', messageBody: { raw_text } });
        ended.push(Object.assign(await client.until((frame) => isOver(frame) || isStop(frame)), { ids }));
      }
      await body(ended, client);
      await client.close();
    });
  };
  const rowsOf = (frames) => {
    const last = frames.at(-1);
    assert.deepEqual([last.nextAgent, last.returnCode], [null, 1], last.reason);
    return last.messageBody.rows;
  };

  test('run Show patterns ends with rows, and each step says why', () =>
    run(['run Show patterns', 'Show patterns'], (ended) => {
      for (const frames of ended) {
        assert.deepEqual(frames.map(({ agent }) => agent), ['model.Capo', 'model.verifyRequest', 'model.ruleToSQL', 'model.verifySQL', 'tool.executeSQL']);
        for (const { decision, reason, confidence } of frames.slice(0, 4)) {
          assert.equal(decision, 'yes');
          assert.match(reason, /^Built-in rule: /);
          assert.ok(confidence >= 0.5 && confidence < 1);
        }
        assert.equal(rowsOf(frames).length, 10);
        assert.deepEqual(frames.at(-1).messageBody.columns, ['id', 'name', 'description', 'kind']);
      }
    }));

  test('an unknown table stops at the verifier, which names those there are; a correction continues', () =>
    run(['run Show customers'], async ([frames], client) => {
      const stop = frames.at(-1);
      assert.deepEqual([stop.agent, stop.decision, stop.nextAgent], ['model.verifyRequest', 'no', 'sendMessageToChat']);
      assert.match(stop.reason, /"customers".*cards, episodes and patterns/);
      client.answer(...frames.ids, { approved: true, corrections: { rule_text: 'Show patterns of kind data' } });
      assert.equal(rowsOf(await client.until(isOver)).length, 3);
    }));

  test('in the deployed chat “Yes, it should be pattern” corrects the request, which stays as it was', () =>
    run(['run Show ghosts'], async ([frames], client) => {
      const { verb, nextAgent, messageBody } = frames.at(-1);
      client.request(frames.ids[0], newId('request'), { verb, nextAgent, messageBody: { ...messageBody, raw_text: 'Yes, it should be pattern' } });
      const ended = await client.until(isOver);
      assert.equal(rowsOf(ended).length, 10);
      assert.equal(ended.at(-1).messageBody.raw_text, 'run Show ghosts');
      assert.equal(ended[0].agent, 'model.verifyRequest');
    }));

  test('filters, counts and orders give the rows that they name', () => {
    const cases = {
      'run Show cards of pattern 1': (rows) => assert.deepEqual(rows.map((row) => row[2]), ['Add jitter', 'Cap the attempts']),
      'run Show cards of the pattern "Circuit Breaker"': (rows) => assert.deepEqual(rows.map((row) => row[2]), ['Half open']),
      'run Count episodes': (rows) => assert.deepEqual(rows, [[10]]),
      'How many cards does pattern 1 have?': (rows) => assert.deepEqual(rows, [[2]]),
      'run List the newest episodes': (rows) => assert.equal(rows[0][3], '2025-01-08'),
      'run List the 2 newest episodes': (rows) => assert.equal(rows.length, 2),
      'run Show episodes after 2024-10-01': (rows) => assert.equal(rows.length, 3),
      'run Show patterns named saga': (rows) => assert.deepEqual(rows.map((row) => row[1]), ['saga']),
      'run Show patterns named retry with backoff': (rows) => assert.deepEqual(rows.map((row) => row[1]), ['retry with backoff']),
      "run Show patterns named \"x' OR '1'='1\"": (rows) => assert.deepEqual(rows, []),
      'run Count patterns by kind': (rows) => assert.deepEqual(rows, [['data', 3], ['messaging', 4], ['resilience', 3]]),
      'run SELECT name FROM patterns WHERE id = 7': (rows) => assert.deepEqual(rows, [['saga']]),
      'run WITH c AS (SELECT 1 AS x) SELECT count(*) FROM c': (rows) => assert.deepEqual(rows, [[1]]),
    };
    return run(Object.keys(cases), (ended) => Object.values(cases).forEach((check, i) => check(rowsOf(ended[i]))));
  });

  test('what the rules do not understand stops at the writer, whose reason says it', () =>
    run(['run Show patterns that make me happy', 'run Drop the patterns', 'run Add a card'], ([happy, drop, add]) => {
      assert.equal(happy.at(-1).agent, 'model.ruleToSQL');
      assert.match(happy.at(-1).reason, /"make me happy"/);
      for (const frames of [drop, add]) assert.equal(frames.at(-1).agent, 'model.Capo');
      assert.match(add.at(-1).reason, /"extract"/);
    }));

  test('content is stored as it is written, quotes and all', () =>
    run(["extract Add a card \"It's \u201equick\u201c\" to pattern 2: 'a'; DROP TABLE cards; -- \u{1f600}", 'run Show cards of pattern 2', 'extract Rename pattern 3 to "Bulk\'head"', 'run Show pattern 3', 'extract Delete card 1'], ([added, shown, renamed, pattern, removed]) => {
      rowsOf(added);
      assert.deepEqual(added.at(-1).messageBody.entities, [{ table: 'cards', title: 'It\'s \u201equick\u201c', pattern_id: 2, body: "'a'; DROP TABLE cards; -- \u{1f600}" }]);
      assert.deepEqual(rowsOf(shown).at(-1).slice(1), [2, 'It\'s \u201equick\u201c', "'a'; DROP TABLE cards; -- \u{1f600}"]);
      rowsOf(renamed);
      assert.equal(rowsOf(pattern)[0][1], "Bulk'head");
      assert.equal(removed.at(-1).agent, 'model.Capo');
    }));
});
