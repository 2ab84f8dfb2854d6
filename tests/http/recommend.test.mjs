// SPDX-License-Identifier: MIT
//
// POST /api/recommend, GET /api/get-recommendations.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { assertMembers, assertOk, assertProblem, assertZonelessTimestamp, newNonce, runParley, suite } from '../support/harness.mjs';
import { userCommands } from '../support/user_command.mjs';

const TYPES = [
  'Suggest Improvement',
  'Promote Answer',
  'Make Correction',
  'Add Missing Info',
  'Clarify Phrasing',
  'Flag as Off Topic',
];

suite('recommend', {}, ({ test, cluster }) => {
  const recommend = (body, options = {}) => cluster.request('POST', '/api/recommend', { as: 'Frontend_1', body, ...options });
  const list = (After, options = {}) =>
    cluster.request('GET', '/api/get-recommendations', { as: 'Inference_1', query: { After }, ...options });

  async function newRecommendation(more = {}) {
    const { Topic } = await cluster.add({ User: 'alice', Query: 'Why?' });
    return {
      Topic,
      OnBehalfOf: 'alice',
      Query: 'Why?',
      Fragment: `fragment ${newNonce()}`,
      Comment: 'Better: "because".',
      Type: 'Suggest Improvement',
      ...more,
    };
  }

  // The cursor after everything that is stored.
  async function lastCursor() {
    let cursor;
    for (;;) {
      const page = assertOk(await list(cursor));
      if (page.Recommendations.length === 0) return page.Next;
      cursor = page.Next;
    }
  }

  test('all six types are taken', async () => {
    for (const Type of TYPES) {
      const body = assertOk(await recommend(await newRecommendation({ Type })));
      assertMembers(body, ['Timestamp']);
      assertZonelessTimestamp(body.Timestamp);
    }
  });

  test('another Type: 400', async () => {
    const valid = await newRecommendation();
    for (const Type of [undefined, null, '', 'promote answer', 'Promote Answer ', 'Praise', 7, []]) {
      assertProblem(await recommend({ ...valid, Type }), 400);
    }
  });

  test('a member that is missing or of a wrong type: 400', async () => {
    const valid = await newRecommendation();
    for (const member of ['Topic', 'OnBehalfOf', 'Query', 'Fragment']) {
      for (const bad of [undefined, null, 7, [], {}]) assertProblem(await recommend({ ...valid, [member]: bad }), 400);
    }
    for (const bad of [7, [], {}]) assertProblem(await recommend({ ...valid, Comment: bad }), 400);
  });

  test('engines read what users recommended, in order, from whatever node', async () => {
    const cursor = await lastCursor();
    const given = [];
    for (const Type of TYPES) {
      given.push(await newRecommendation({ Type }));
      assertOk(await recommend(given.at(-1)));
    }
    for (const node of [0, 1]) {
      const page = assertOk(await list(cursor, { node }));
      assertMembers(page, ['Recommendations', 'Next']);
      assert.equal(page.Recommendations.length, given.length);
      page.Recommendations.forEach((one, i) => {
        for (const member of ['Topic', 'Query', 'Fragment', 'Comment', 'Type'])
          assert.equal(one[member], given[i][member], member);
      });
    }
  });

  test('After continues after the last page and never returns an item twice', async () => {
    const cursor = await lastCursor();
    const first = await newRecommendation();
    assertOk(await recommend(first));
    const page = assertOk(await list(cursor));
    assert.deepEqual(
      page.Recommendations.map(({ Fragment }) => Fragment),
      [first.Fragment],
    );
    const empty = assertOk(await list(page.Next));
    assert.deepEqual(empty.Recommendations, []);
    const second = await newRecommendation();
    assertOk(await recommend(second));
    for (const behind of [page.Next, empty.Next]) {
      assert.deepEqual(
        assertOk(await list(behind)).Recommendations.map(({ Fragment }) => Fragment),
        [second.Fragment],
      );
    }
  });

  test('a cursor that is none of ours: 400', async () => {
    for (const bad of ['x', '-', '+', '(0', '$', '*', '1-2-3', '9'.repeat(400)]) assertProblem(await list(bad), 400);
  });

  test('a user recommends for itself', async () => {
    const { Topic } = await cluster.add({ as: 'User_1' });
    const body = { Topic, OnBehalfOf: 'User_1', Query: 'q', Fragment: 'f', Comment: 'c', Type: 'Flag as Off Topic' };
    assertOk(await recommend(body, { as: 'User_1' }));
    assertProblem(await recommend({ ...body, OnBehalfOf: 'User_2' }, { as: 'User_1' }), 403, 'forbidden');
  });

  const operate = (method, query, as = 'Operator_1') => cluster.request(method, '/api/recommendations', { as, query });
  const allOf = async (OnBehalfOf) => {
    const found = [];
    for (let After; ; ) {
      const page = assertOk(await operate('GET', { OnBehalfOf, After }));
      found.push(...page.Recommendations);
      if (page.Next === null) return found;
      After = page.Next;
    }
  };

  test('an operator lists what was recommended, with whose it is, and removes it by its Id', async () => {
    const User = `user-${newNonce()}`;
    const { Topic } = await cluster.add({ User, Query: 'Why?' });
    const given = { Topic, OnBehalfOf: User, Query: 'What is comp time?', Fragment: 'Employees can accrue comp time', Comment: '', Type: 'Suggest Improvement' };
    const sent = [];
    for (const Comment of ['one', 'two']) sent.push(assertOk(await recommend({ ...given, Comment }, { query: { Detail: 'true' } })));
    assert.ok(sent.every(({ Undone }) => Undone === 0));
    const listed = await allOf(User);
    assert.deepEqual(listed.map(({ Id, Account, User: whose, Comment, Type }) => [Id, Account, whose, Comment, Type]), sent.map(({ Id }, i) => [Id, 'Frontend_1', User, ['one', 'two'][i], 'Suggest Improvement']));
    listed.forEach(({ Timestamp }) => assert.match(Timestamp, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/));
    assert.ok((await allOf()).length >= 2);
    const cursor = await lastCursor();
    assert.deepEqual(assertOk(await operate('DELETE', { Id: sent[0].Id })), { status: 'OK' });
    assert.deepEqual((await allOf(User)).map(({ Comment }) => Comment), ['two']);
    assertProblem(await operate('DELETE', { Id: sent[0].Id }), 404);
    for (const Id of [undefined, '', 'x', '1', '-']) assertProblem(await operate('DELETE', { Id }), 400);
    assertProblem(await operate('GET', { After: 'x' }), 400);
    for (const as of ['Frontend_1', 'User_1', 'Inference_1']) for (const method of ['GET', 'DELETE']) assertProblem(await operate(method, { Id: sent[1].Id }, as), 403);
    // Engines that ask for it hear what is gone; others read what they always did.
    for (const node of [0, 1]) {
      const page = assertOk(await cluster.request('GET', '/api/get-recommendations', { as: 'Inference_1', node, query: { After: cursor, Detail: 'true' } }));
      assertMembers(page, ['Recommendations', 'Next', 'Removed', 'Restart']);
      assert.deepEqual([page.Recommendations, page.Removed, page.Restart], [[], [sent[0].Id], false]);
    }
    assertMembers(assertOk(await list(cursor)), ['Recommendations', 'Next']);
  });

  test('a Promote undoes a Flag of the same user, marks and letter case aside, and the reverse', async () => {
    const User = `user-${newNonce()}`;
    const { Topic } = await cluster.add({ User, Query: 'Why?' });
    const { Topic: other } = await cluster.add({ User: `of ${User}`, Query: 'Why?' });
    const detail = { query: { Detail: 'true' } };
    const body = { Topic, OnBehalfOf: User, Query: 'How long?', Fragment: 'A lease lasts 150 seconds.', Comment: null };
    const types = async (user = User) => (await allOf(user)).map(({ Type }) => Type);
    assertOk(await recommend({ ...body, Type: 'Flag as Off Topic' }));
    assertOk(await recommend({ ...body, Topic: other, OnBehalfOf: `of ${User}`, Type: 'Flag as Off Topic' }));
    assertOk(await recommend({ ...body, Fragment: 'Something else entirely.', Type: 'Flag as Off Topic' }));
    const promoted = assertOk(await recommend({ ...body, Fragment: 'A LEASE lasts\n150 seconds. [1]\n\nSources:\n[1] leases.md', Type: 'Promote Answer' }, detail));
    assert.equal(promoted.Undone, 1);
    assert.deepEqual(await types(), ['Flag as Off Topic', 'Promote Answer']);
    assert.deepEqual(await types(`of ${User}`), ['Flag as Off Topic']);
    const flagged = assertOk(await recommend({ ...body, Type: 'Flag as Off Topic' }, detail));
    assert.equal(flagged.Undone, 1);
    assert.deepEqual(await types(), ['Flag as Off Topic', 'Flag as Off Topic']);
    assertOk(await recommend({ ...body, Type: 'Make Correction', Comment: 'It is 60.' }));
    assert.equal((await types()).length, 3, 'what says neither undoes nothing');
  });

  const commands = userCommands(cluster, { as: 'Operator_1', command: 'recommendations' });
  after(commands.remove);
  const parley = async (words, options) => {
    const { code, stdout, stderr } = await commands.run(words, options);
    return { code, stdout, stderr };
  };

  test('parley recommendations lists and removes them, for people and as JSON', async () => {
    const User = `user ${newNonce()}`;
    const { Topic } = await cluster.add({ User, Query: 'Why?' });
    const body = { Topic, OnBehalfOf: User, Query: 'What is comp time?', Fragment: `Employees can accrue comp time \u001b[31m${'x'.repeat(2000)}`, Type: 'Suggest Improvement' };
    for (let i = 0; i < 101; i++) assertOk(await recommend({ ...body, Comment: `comment ${i}` }));
    const listed = await parley(['list', User, '--json']);
    assert.equal(listed.code, 0, listed.stderr);
    const { Recommendations } = JSON.parse(listed.stdout);
    assert.deepEqual(Recommendations, await allOf(User), 'over two pages');
    assert.equal(Recommendations.length, 101);
    const [{ Id, Timestamp }, { Id: second }] = Recommendations;
    const { stdout } = await parley(['list', User]);
    assert.ok(stdout.startsWith(`${Id}  ${Timestamp}  Suggest Improvement\n  account   Frontend_1\n  user      ${User}\n  question  What is comp time?\n  fragment  Employees can accrue comp time `), stdout.slice(0, 400));
    assert.ok(!stdout.includes('\u001b') && !stdout.includes('x'.repeat(400)));
    assert.deepEqual(await parley(['remove', Id]), { code: 0, stdout: `removed ${Id}\n`, stderr: '' });
    assert.deepEqual(await parley(['remove', Id, second, '--json']), { code: 1, stdout: `{"Removed":["${second}"],"Missing":["${Id}"]}\n`, stderr: `parley: ${Id}: no such recommendation, or it was removed already\n` });
    assert.equal((await allOf(User)).length, 99);
    assert.equal((await parley(['list', 'nobody at all'])).stdout, 'no recommendations\n');
    assert.equal((await parley(['list', 'nobody at all', '--json'])).stdout, '{"Recommendations":[]}\n');
  });

  test('parley recommendations refuses what it does not take in one line', async () => {
    for (const [words, expected, options = {}] of [
      [[], /takes list or remove/, { exit: 2 }],
      [['delete', '1-0'], /takes list or remove/, { exit: 2 }],
      [['remove'], /takes the ids/, { exit: 2 }],
      [['remove', '../x'], /an id is the first word that list prints/, { exit: 2 }],
      [['list', 'a', 'b'], /one user at most/, { exit: 2 }],
      [['list', ''], /1 to 161 bytes/, { exit: 2 }],
      [['list', '--url', 'ftp://x'], /--url takes http/, { exit: 2, url: 'ftp://x' }],
      [['list'], /requires an account with the role operator/, { as: 'Frontend_1' }],
      [['remove', '1-0'], /refused the signature/, { secret: 'wrong' }],
    ]) {
      const { code, stdout, stderr } = await commands.run(words, options);
      assert.equal(code, options.exit ?? 1, stderr);
      assert.match(stderr, expected);
      assert.equal(stderr.trim().split('\n').length, 1, stderr);
      assert.equal(stdout, '');
    }
    const help = await runParley(['recommendations', '--help']);
    assert.match(help.stdout, /usage: parley recommendations list \[USER\]/);
    assert.match((await runParley(['completion', 'bash'])).stdout, /recommendations/);
  });
});
