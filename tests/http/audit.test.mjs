// SPDX-License-Identifier: MIT
//
// The audit log: what gets into it, who may read it, and that no stranger can fill it. parley audit.
import assert from 'node:assert/strict';
import { holdScripts } from '../cluster/watch.mjs';
import { get, openFrames } from '../support/frames.mjs';
import { ACCOUNTS, assertOk, assertProblem, eventually, runParley, startProcess, suite, waitForOutput, makeFolder } from '../support/harness.mjs';

suite('the audit log', { sweep: false, threads: 2 }, ({ test, cluster }) => {
  const operator = (method, path, options = {}) => cluster.request(method, path, { as: 'Operator_1', ...options });
  const events = async (query = {}) => {
    const found = [];
    let after;
    for (;;) {
      const page = assertOk(await operator('GET', '/api/audit', { query: { ...query, After: after, Limit: 50 } }));
      found.push(...page.Events);
      if (page.Next === null) return found;
      after = page.Next;
    }
  };
  const seen = (wanted, what) => eventually(async () => (await events()).find(wanted), { what, every: 200 });

  test('says who deleted what, from where, and by which request', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    assertOk(await cluster.request('DELETE', '/api/topic', { as: 'User_1', query: { Topic, OnBehalfOf: 'User_1' }, headers: { 'X-Request-Id': 'deleting-1' } }));
    const entry = await seen(({ Request }) => Request === 'deleting-1', 'the deletion is there');
    const { Id, Timestamp, Node, ...rest } = entry;
    assert.deepEqual(rest, { Class: 'deletion', Event: 'topic_deleted', Account: 'User_1', Path: '/api/topic', Topic, OnBehalfOf: 'User_1', Status: 200, Address: '127.0.0.1', Request: 'deleting-1' });
    assert.match(Id, /^\d+-\d+\.\d$/);
    assert.match(Timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    assert.match(Node, /^n[0-9a-f]+/);
  });

  test('names a deletion whose client leaves before the answer', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    const client = openFrames(cluster.nodes[0].url);
    const held = await holdScripts(cluster.redis);
    client.write(get(1, cluster.path('/api/topic', { as: 'User_1', query: { Topic, OnBehalfOf: 'User_1' } }), { ':method': 'DELETE', 'x-request-id': 'left-1' }));
    await held.blocked();
    await client.cancel(1);
    await held.release();
    const { Event, Account, Topic: named, ...rest } = await seen(({ Request }) => Request === 'left-1', 'the deletion is there');
    assert.deepEqual([Event, Account, named, 'Status' in rest], ['topic_deleted', 'User_1', Topic, false]);
    client.socket.destroy();
  });

  test('what was refused or not found is no deletion', async () => {
    const before = (await events()).length;
    assertProblem(await cluster.request('DELETE', '/api/topic', { as: 'User_1', query: { Topic: 'never', OnBehalfOf: 'User_1' } }), 403);
    assertProblem(await cluster.request('POST', '/api/drain-engine', { as: 'User_1', body: { User: 'Inference_1' } }), 403);
    assertOk(await operator('POST', '/api/drain-engine', { body: { User: 'Inference_2', Drain: false } })); // a mark: what came before it is there
    await seen(({ Event, Engine }) => Event === 'engine_drained' && Engine === 'Inference_2', 'the mark');
    assert.equal((await events()).length, before + 1);
  });

  test('says what operators did', async () => {
    for (const Drain of [true, false]) assertOk(await operator('POST', '/api/drain-engine', { body: { User: 'Inference_1', Drain } }));
    const found = await eventually(async () => {
      const all = (await events()).filter(({ Engine }) => Engine === 'Inference_1');
      return all.length === 2 && all;
    });
    assert.deepEqual(found.map(({ Class, Event, Account, Drain, Status }) => [Class, Event, Account, Drain, Status]), [
      ['operator', 'engine_drained', 'Operator_1', true, 200],
      ['operator', 'engine_drained', 'Operator_1', false, 200],
    ]);
    assert.ok(cluster.nodes.some((node) => /audit.*engine_drained/.test(node.log())), 'a line in the log, too');
  });

  test('names an account whose login was refused only if it exists, and never what was sent', async () => {
    const wrong = (as) => cluster.request('GET', '/api/login', { as, signing: { user: as, secret: 'hunter2-wrong' }, localAddress: '127.0.13.1' });
    assertProblem(await wrong('User_2'), 401);
    const entry = await seen(({ Class, Account }) => Class === 'refused' && Account === 'User_2', 'the refusal is there');
    assert.deepEqual([entry.Event, entry.Failures, entry.Route, entry.Address], ['login_refused', 1, '/api/login', '127.0.13.1']);
    assertProblem(await cluster.request('GET', '/api/login', { query: { User: 'my-secret-by-mistake', Nonce: 'n', Hash: 'a'.repeat(64) }, localAddress: '127.0.13.2' }), 401);
    const stranger = await seen(({ Address }) => Address === '127.0.13.2', 'the stranger is there');
    assert.ok(!('Account' in stranger), JSON.stringify(stranger));
    assert.ok(!JSON.stringify(await events()).match(/hunter2|by-mistake/));
  });

  test('says once for the whole cluster which accounts were changed', async () => {
    const { User_2, ...rest } = ACCOUNTS;
    cluster.writeAccounts({ ...rest, User_8: { secret: 'eighth', role: 'user' }, User_1: { secret: 'changed', role: 'user' }, Frontend_small: { ...ACCOUNTS.Frontend_small, max_waiting: 4 } });
    const changes = async () => (await events()).filter(({ Class }) => Class === 'account').map(({ Event, Account }) => `${Account} ${Event}`);
    await eventually(() => cluster.nodes.every((node) => /account_removed/.test(node.log())), { what: 'both nodes have noticed' });
    await eventually(async () => (await changes()).length >= 4, { every: 200 });
    assert.deepEqual((await changes()).sort(), ['Frontend_small account_changed', 'User_1 account_secret_changed', 'User_2 account_removed', 'User_8 account_added']);
    cluster.writeAccounts(ACCOUNTS);
    await eventually(async () => (await changes()).length === 8, { every: 200, what: 'and back' });
    await eventually(() => cluster.nodes.every((node) => [...node.log().matchAll(/account_added/g)].length === 2), { what: 'both nodes have the accounts of before' });
    assert.ok(!JSON.stringify(await events()).includes('eighth'), 'no secret');
  });

  test('is for operators alone, and refuses what is no time, cursor or number', async () => {
    for (const as of ['User_1', 'Frontend_1', 'Inference_1']) assertProblem(await cluster.request('GET', '/api/audit', { as }), 403);
    for (const query of [{ Since: 'yesterday' }, { Since: '2026-02-31T00:00:00Z' }, { Limit: 0 }, { Limit: 251 }, { After: 'x'.repeat(65) }, { After: 'x' }, { After: '1-1' }, { After: '1-1.12' }, { After: `${'9'.repeat(30)}-1.1` }, { After: `1-${'9'.repeat(30)}.1` }])
      assertProblem(await operator('GET', '/api/audit', { query }), 400);
    assertOk(await operator('GET', '/api/audit', { query: { After: '1-1.1' } }));
    assert.deepEqual(assertOk(await operator('GET', '/api/audit', { query: { Since: '2999-01-01T00:00:00Z' } })), { Events: [], Next: null });
  });

  test('parley audit prints it for people and for scripts, and follows it', async () => {
    const folder = makeFolder();
    const secret = folder.file('operator.secret', `${ACCOUNTS.Operator_1.secret}\n`);
    const flags = ['--url', cluster.nodes[0].url, '--user', 'Operator_1', '--secret-file', secret];
    const { Topic } = await cluster.add({ as: 'User_1' });
    assertOk(await cluster.request('DELETE', '/api/topic', { as: 'User_1', query: { Topic, OnBehalfOf: 'User_1' } }));
    await seen((entry) => entry.Topic === Topic, 'the deletion is there');
    try {
      const { code, stdout, stderr } = await runParley(['audit', ...flags]);
      assert.equal(code, 0, stderr);
      assert.match(stdout, new RegExp(`^\\d{4}-\\S+Z  topic_deleted +User_1 from 127\\.0\\.0\\.1 .*Topic=${Topic}`, 'm'));
      const json = await runParley(['audit', '--json', '--since', '1h', ...flags]);
      const entries = json.stdout.trim().split('\n').map((line) => JSON.parse(line));
      assert.ok(entries.some((entry) => entry.Topic === Topic));
      const follower = startProcess(['audit', '--follow', '--json', '--since', '2999-01-01T00:00:00Z', ...flags]);
      follower.child.kill('SIGINT');
      await follower.exit();
      const following = startProcess(['audit', '--follow', '--json', ...flags]);
      await waitForOutput(following, ({ stdout: text }) => text.includes(Topic), 60_000, 'the old entries');
      assertOk(await operator('POST', '/api/drain-engine', { body: { User: 'Inference_2', Drain: false }, headers: { 'X-Request-Id': 'followed-1' } }));
      await waitForOutput(following, ({ stdout: text }) => text.includes('followed-1'), 60_000, 'the new entry');
      following.child.kill('SIGINT');
      assert.equal((await following.exit()).code, 0);
      assert.equal([...following.stdout.matchAll(/followed-1/g)].length, 1);
    } finally {
      folder.remove();
    }
  });

  test('parley audit --follow continues at the next node when one leaves, with each entry once', async () => {
    const folder = makeFolder();
    const secret = folder.file('operator.secret', ACCOUNTS.Operator_1.secret);
    const leaving = await cluster.startNode();
    const urls = ['http://127.0.0.1:1', leaving.url, cluster.nodes[0].url];
    const entry = async (id) => assertOk(await operator('POST', '/api/drain-engine', { node: 0, body: { User: 'Inference_2', Drain: false }, headers: { 'X-Request-Id': id } }));
    const following = startProcess(['audit', '--follow', '--json', '--url', urls.join(), '--user', 'Operator_1', '--secret-file', secret]);
    try {
      await entry('leaving-1');
      await waitForOutput(following, ({ stdout }) => stdout.includes('leaving-1'), 60_000, 'an entry from the second node');
      await leaving.stop();
      cluster.nodes.pop();
      await entry('leaving-2');
      await waitForOutput(following, ({ stdout }) => stdout.includes('leaving-2'), 60_000, 'an entry from the third node');
      following.child.kill('SIGINT');
      assert.equal((await following.exit()).code, 0);
      const ids = following.stdout.trim().split('\n').map((line) => JSON.parse(line).Id);
      assert.deepEqual(ids, [...new Set(ids)]);
      assert.equal(following.stderr, '');
    } finally {
      folder.remove();
    }
  });

  test('parley audit without a node, with a wrong flag and as somebody else: one line', async () => {
    const folder = makeFolder();
    const secret = folder.file('user.secret', ACCOUNTS.User_1.secret);
    try {
      for (const [args, code, pattern] of [
        [['--url', 'http://127.0.0.1:1', '--user', 'Operator_1', '--secret-file', secret], 1, /127\.0\.0\.1:1/],
        [['--url', cluster.nodes[0].url, '--user', 'User_1', '--secret-file', secret], 1, /403|role/],
        [['--since', 'yesterday', '--user', 'Operator_1', '--secret-file', secret], 2, /--since/],
        [['--secret-file', secret], 2, /--user/],
        [['now', '--user', 'Operator_1', '--secret-file', secret], 2, /takes flags only/],
      ]) {
        const end = await runParley(['audit', ...args]);
        assert.equal(end.code, code, end.stderr);
        assert.match(end.stderr, /^[^\n]+\n$/, `one line: ${end.stderr}`);
        assert.match(end.stderr, pattern);
      }
    } finally {
      folder.remove();
    }
  });
});
