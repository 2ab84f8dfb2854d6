// SPDX-License-Identifier: MIT
//
// tool.executeSQL over /ws, with the shipped trees, on two nodes: on SQLite and on a real PostgreSQL server. What each
// statement may do is in tests/unit/test_workflow_sqlite.c and test_workflow_postgres.c.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { assertOk, eventually, runParley, suite, writeAccounts } from '../support/harness.mjs';
import { startPostgres } from '../support/postgres.mjs';
import { ownShards } from '../support/shards.mjs';
import { isOver, isStop, newId, openWorkflow, withAgents, yes } from '../support/workflow.mjs';

ownShards(); // statements that a node sends to a database: the same on any number of shards

const postgres = await startPostgres();
after(() => postgres.stop());

const agentsFor = (sql_query) => ({ 'model.ruleToSQL': yes({ sql_query }), 'model.requestToExtractEntities': yes({ sql_query }) });

// Runs one statement by the tree of `verb` to its end or to a person. Resolves with the last frame.
async function execute(cluster, verb, sql_query, { node = 0 } = {}) {
  let last;
  await withAgents(cluster, agentsFor(sql_query), async () => {
    const client = await openWorkflow(cluster, { node });
    client.request(newId('s'), newId('r'), { verb, messageBody: { raw_text: 'Do it' } });
    const frames = await client.until((frame) => isOver(frame) || isStop(frame));
    await client.close();
    last = frames.at(-1);
  });
  return last;
}

for (const [name, args] of [['SQLite', []], ['PostgreSQL', postgres.args]]) {
  suite(`SQL on ${name}`, { args }, ({ test, cluster }) => {
    test('a rule ends with columns, rows and their number in messageBody', async () => {
      const end = await execute(cluster, 'RULE', 'SELECT id, name FROM patterns ORDER BY id LIMIT 2');
      assert.deepEqual([end.agent, end.decision, end.nextAgent, end.returnCode], ['tool.executeSQL', 'yes', null, 1]);
      const { columns, rows, rowcount } = end.messageBody;
      assert.deepEqual({ columns, rows, rowcount }, { columns: ['id', 'name'], rows: [[1, 'retry with backoff'], [2, 'circuit breaker']], rowcount: 2 });
    });

    test('agents see the tables of the database', async () => {
      await withAgents(cluster, agentsFor('SELECT 1'), async (asked) => {
        const client = await openWorkflow(cluster);
        client.request(newId('s'), newId('r'), { verb: 'RULE', messageBody: { raw_text: 'Show it' } });
        await client.until(isOver);
        for (const { tables } of asked) {
          assert.deepEqual(JSON.parse(tables), {
            cards: ['id', 'pattern_id', 'title', 'body'],
            episodes: ['id', 'card_id', 'title', 'happened_on'],
            patterns: ['id', 'name', 'description', 'kind'],
          });
        }
        await client.close();
      });
    });

    test('CONTENT inserts, and the other node sees it', async () => {
      const end = await execute(cluster, 'CONTENT', "INSERT INTO patterns (name, description, kind) VALUES ('sidecar', 'A helper beside.', 'data')");
      assert.deepEqual([end.returnCode, end.messageBody.rowcount, end.messageBody.rows], [1, 1, []]);
      const found = await execute(cluster, 'RULE', "SELECT kind FROM patterns WHERE name = 'sidecar'", { node: 1 });
      assert.deepEqual(found.messageBody.rows, [['data']]);
    });

    for (const [verb, sql] of [
      ['RULE', "INSERT INTO patterns (name, description, kind) VALUES ('x', 'y', 'z')"],
      ['RULE', 'SELECT 1; DROP TABLE patterns'],
      ['CONTENT', 'DROP TABLE patterns'],
      ['CONTENT', 'DELETE FROM patterns'],
      ['CONTENT', 'SELECT * FROM patterns'],
    ]) {
      test(`${verb} stops at a person, and nothing happens: ${sql}`, async () => {
        const stop = await execute(cluster, verb, sql);
        assert.deepEqual([stop.agent, stop.decision, stop.nextAgent], ['tool.executeSQL', 'no', 'sendMessageToChat']);
        assert.match(stop.reason, /This step may only|more than one statement/);
        const count = await execute(cluster, 'RULE', "SELECT count(*) FROM patterns WHERE name <> 'sidecar'");
        assert.deepEqual(count.messageBody.rows, [[10]]);
      });
    }

    test("a mistake in the SQL is a no with the database's reason", async () => {
      const stop = await execute(cluster, 'RULE', 'SELECT x FROM nowhere');
      assert.deepEqual([stop.decision, stop.nextAgent], ['no', 'sendMessageToChat']);
      assert.match(stop.reason, new RegExp(`^${name}: .*nowhere`));
    });

    test('a statement without an end is cut at its limit', async () => {
      const tables = 'abcdefghij'.split('').map((letter) => `episodes ${letter}`).join(', ');
      const endless = execute(cluster, 'RULE', `SELECT count(*) FROM ${tables}`, { node: 1 });
      const stop = await endless;
      assert.equal(stop.decision, 'no');
      assert.match(stop.reason, /it ran for 5 seconds/);
    });

    test('a node that is killed while its statement runs: the statement happens once, and the run says so', async () => {
      const dying = await cluster.startNode();
      const client = await openWorkflow(cluster, { node: cluster.nodes.indexOf(dying) });
      const [session, id] = [newId('s'), newId('r')];
      let end;
      const rows = 'abcd'.split('').map((letter) => `patterns ${letter}`).join(', ');
      await withAgents(cluster, agentsFor(`INSERT INTO cards (pattern_id, title, body) SELECT 1, '${session}', a.name FROM ${rows}`), async (asked) => {
        client.request(session, id, { verb: 'CONTENT', messageBody: { raw_text: 'Store it' } });
        await eventually(() => asked.some(({ agent }) => agent === 'model.verifyUpsert'));
        await client.until(({ nextAgent }) => nextAgent === 'tool.executeSQL');
        await dying.kill();
        const other = await openWorkflow(cluster, { node: 0 });
        other.resume(session, id, 0);
        end = (await other.until(isOver)).at(-1);
        await other.close();
      });
      assert.deepEqual([end.agent, end.decision, end.returnCode], ['tool.executeSQL', 'yes', 1]);
      assert.ok(end.messageBody.rowcount >= 10_000);
      const found = await execute(cluster, 'RULE', `SELECT count(*) FROM cards WHERE title = '${session}'`);
      assert.deepEqual(found.messageBody.rows, [[end.messageBody.rowcount]]);
    });
  });
}

suite('a PostgreSQL that restarts', { args: postgres.args }, ({ test, cluster }) => {
  test('loses no statement and doubles none', async () => {
    const title = newId('again');
    const running = execute(cluster, 'CONTENT', `INSERT INTO cards (pattern_id, title, body) VALUES (1, '${title}', 'x')`);
    await postgres.again();
    const end = await running;
    assert.equal(end.decision, 'yes', end.reason);
    assert.equal(await postgres.sql(`SELECT count(*) FROM cards WHERE title = '${title}'`), '1');
    const steps = assertOk(await cluster.request('GET', '/api/workflows/history', { as: 'User_1', query: { session_id: end.session_id } })).runs[0].steps;
    assert.equal(steps.filter(({ agent }) => agent === 'tool.executeSQL').length, 1);
  });

  test('a node refuses to start with a superuser, and says so in one line without the password', async () => {
    const accounts = writeAccounts();
    const [url] = postgres.args;
    const { code, stderr } = await runParley(
      ['serve', '--listen=127.0.0.1:0', '--accounts', accounts.path, '--redis', cluster.redis.url, url.replace('parley_workflow@', 'admin:admin@')],
    );
    accounts.remove();
    assert.equal(code, 1);
    assert.match(stderr, /^parley: --sql-url: PostgreSQL: the role admin is a superuser\..*\n$/m);
    assert.doesNotMatch(stderr, /admin:admin/);
  });

  test('--check-config says which database, without its password', async () => {
    const accounts = writeAccounts();
    const { code, stdout } = await runParley(['serve', '--check-config', '--accounts', accounts.path, '--sql-url=postgresql://ada:secret@db.example/x']);
    accounts.remove();
    assert.equal(code, 0);
    assert.match(stdout, /^sql-url +postgresql:\/\/\*\*\* \(flag\)$/m);
    assert.match(stdout, /^workflows' database +postgresql: user=ada dbname=x host=db\.example$/m);
    assert.doesNotMatch(stdout, /secret/);
  });
});
