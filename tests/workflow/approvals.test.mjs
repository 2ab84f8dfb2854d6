// SPDX-License-Identifier: MIT
//
// GET /api/workflows/questions and POST /api/workflows/questions/{id}: who sees a question, who may answer it, and what counts.
import assert from 'node:assert/strict';
import { a, o, openQuestion, r } from '../support/approvals.mjs';
import { ACCOUNTS, assertOk, assertProblem, assertTimestamp, eventually, suite } from '../support/harness.mjs';

const accounts = {
  ...ACCOUNTS,
  Anna: { secret: 'anna-secret', role: 'user' },
  Ben: { secret: 'ben-secret', role: 'user' },
  Cara: { secret: 'cara-secret', role: 'operator' },
  Eve: { secret: 'eve-secret', role: 'user' },
  Acme_1: { secret: 'acme-1-secret', role: 'user', namespace: 'acme' },
  Acme_2: { secret: 'acme-2-secret', role: 'user', namespace: 'acme' },
};
const nextLink = ({ headers }) => headers.link && /^<([^>]+)>; rel="next"$/.exec(headers.link)[1];
const FORM = {
  type: 'object',
  properties: { rule_text: { type: 'string', maxLength: 40 }, amount: { type: 'integer', minimum: 0 } },
  additionalProperties: false,
};

suite('approvals over HTTP', { accounts, sweep: false }, ({ test, cluster }) => {
  const list = async (as, query = {}, options = {}) => assertOk(await cluster.request('GET', '/api/workflows/questions', { as, query, ...options })).questions;
  const find = async (as, question, query) => (await list(as, query)).find(({ id }) => id === question.id);
  const answer = (as, question, body, query) => cluster.request('POST', `/api/workflows/questions/${question.id ?? question}`, { as, query, body });
  const yes = { approved: true };

  test('each approver sees a question with a link of its own, nobody else sees it', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna'), r('operator')], quorum: 2, form: FORM, deadlineMs: 3_600_000 });
    const [of_anna, of_cara] = [await find('Anna', question), await find('Cara', question)];
    const { link, asked, deadline, ...rest } = of_anna;
    assert.deepEqual(rest, {
      id: question.id, request_id: question.request, session_id: 'session', verb: 'RULE', agent: 'model.verifyRequest', reason: 'The table is unknown.',
      messageBody: { raw_text: 'run Show patterns' }, form: FORM, approvals: 0, quorum: 2, status: 'open', answered: null,
    });
    assertTimestamp(asked);
    assert.ok(Date.parse(deadline) > Date.now());
    assert.match(link, /^\/api\/workflows\/links\/[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{43}$/);
    assert.notEqual(of_cara.link, link);
    assert.equal(await find('Anna', question, { status: 'answered' }), undefined);
    for (const other of ['User_1', 'Ben', 'Eve', 'Inference_1', 'Acme_1']) assert.equal(await find(other, question, { status: 'all' }), undefined, other);
  });

  test('the link is the same from every node and at every time', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna')] });
    const links = [];
    for (const node of [0, 1, 0]) links.push((await list('Anna', {}, { node })).find(({ id }) => id === question.id).link);
    assert.equal(new Set(links).size, 1);
  });

  test('without approvers the owner answers: that account for that user', async () => {
    const question = await openQuestion(cluster, { account: 'Frontend_1', user: 'alice b', approvers: [o('Frontend_1', 'alice b')] });
    assert.equal((await find('Frontend_1', question, { OnBehalfOf: 'alice b' })).id, question.id);
    assert.equal(await find('Frontend_1', question, { OnBehalfOf: 'bob' }), undefined);
    assert.equal(await find('Frontend_1', question), undefined);
    assertProblem(await answer('Frontend_1', question, yes, { OnBehalfOf: 'bob' }), 403, 'forbidden');
    assertProblem(await answer('Frontend_D', question, yes, { OnBehalfOf: 'alice b' }), 403, 'forbidden');
    assert.deepEqual(assertOk(await answer('Frontend_1', question, yes, { OnBehalfOf: 'alice b' })), { id: question.id, status: 'approved', approved: true });
    const [{ who, how, approved, step }] = await question.answers();
    assert.deepEqual([who, how, approved, step], [{ account: 'Frontend_1', user: 'alice b' }, 'http', true, 1]);
  });

  test('two of three approvers end it, and each counts once', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna'), a('Ben'), r('operator')], quorum: 2 });
    assert.deepEqual(assertOk(await answer('Anna', question, { ...yes, comment: 'fine' })), { id: question.id, status: 'open', approved: true, approvals: 1, quorum: 2 });
    const { detail } = assertProblem(await answer('Anna', question, yes), 409, 'conflict');
    assert.match(detail, /^Anna has already answered this question, at \d{4}-/);
    assert.equal((await find('Ben', question)).approvals, 1);
    assertProblem(await answer('Eve', question, yes), 403, 'forbidden');
    assert.deepEqual(assertOk(await answer('Cara', question, yes)), { id: question.id, status: 'approved', approved: true });
    const late = assertProblem(await answer('Ben', question, yes), 409, 'conflict');
    assert.match(late.detail, /^Cara answered this question at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/);
    assert.deepEqual((await question.answers()).map(({ who, comment }) => [who.account, comment]), [['Anna', 'fine'], ['Cara', null]]);
    const shown = await find('Ben', question, { status: 'answered' });
    assert.deepEqual([shown.status, shown.link, shown.approvals], ['approved', null, 2]);
    assertTimestamp(shown.answered);
  });

  test('one rejection ends it', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna'), a('Ben')], quorum: 2 });
    assert.deepEqual(assertOk(await answer('Ben', question, { approved: false, corrections: { amount: 'ignored' } })), { id: question.id, status: 'rejected', approved: false });
    assertProblem(await answer('Anna', question, yes), 409, 'conflict');
    await eventually(async () => (await question.runStatus()) === 'rejected');
    assert.equal((await question.answers())[0].corrections, null);
  });

  test('two answers at the same time: one decides, the other learns who did', async () => {
    for (let i = 0; i < 5; i++) {
      const question = await openQuestion(cluster, { approvers: [a('Anna'), a('Ben')] });
      const both = await Promise.all([answer('Anna', question, yes), answer('Ben', question, { approved: false })]);
      assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
      const winner = both[0].status === 200 ? 'Anna' : 'Ben';
      assert.match(both.find(({ status }) => status === 409).json.detail, new RegExp(`^${winner} answered`));
      assert.equal((await question.answers()).length, 1);
    }
  });

  test('who began the run does not count where others are asked for', async () => {
    const question = await openQuestion(cluster, { account: 'Anna', user: 'Anna', approvers: [r('user')], isSelf: false });
    assert.equal((await find('Anna', question)).link, null);
    assertProblem(await answer('Anna', question, yes), 403, 'forbidden');
    assert.equal(await question.status(), 'open');
    assertOk(await answer('Ben', question, yes));
  });

  test('a role means the accounts of the run’s namespace, and a question of another namespace does not exist', async () => {
    const question = await openQuestion(cluster, { account: 'Acme_1', user: 'Acme_1', namespace: 'acme', approvers: [r('user', 'acme'), r('operator')], quorum: 2 });
    assert.equal(await find('Anna', question), undefined);
    assertProblem(await answer('Anna', question, yes), 404, 'not_found');
    assertOk(await answer('Acme_2', question, yes));
    assertOk(await answer('Cara', question, yes));
  });

  test('a correction that breaks the form names the member, and the question stays open', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna')], form: FORM, body: { raw_text: 'x', amount: 5 } });
    for (const [corrections, member] of [[{ amount: -1 }, 'amount'], [{ amount: 'much' }, 'amount'], [{ rule_text: 'x'.repeat(41) }, 'rule_text'], [{ sql_query: 'DROP TABLE cards' }, 'sql_query']]) {
      const { detail } = assertProblem(await answer('Anna', question, { approved: true, corrections }), 400, 'bad_request');
      assert.ok(detail.includes(member), detail);
    }
    assert.equal(await question.status(), 'open');
    assert.deepEqual(await question.answers(), []);
    assertOk(await answer('Anna', question, { approved: true, corrections: { amount: 7, rule_text: 'new' } }));
    const [{ corrections, before }] = await question.answers();
    assert.deepEqual([corrections, before], [{ amount: 7, rule_text: 'new' }, { amount: 5 }]);
  });

  test('a body that is no answer is refused', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna')] });
    const wrong = [{}, { approved: 'true' }, { approved: null }, { approved: true, corrections: [] }, { approved: true, corrections: 'x' }, { approved: true, comment: 5 },
      { approved: true, comment: 'x'.repeat(4097) }, { approved: true, corrections: { a: 'x'.repeat(66_000) } }, '[]', 'approved', '{"approved":true'];
    for (const body of wrong) assertProblem(await answer('Anna', question, body), 400);
    assertProblem(await answer('Anna', question, { approved: true, comment: 'x'.repeat(200_000) }), 413, 'too_large');
    assert.equal(await question.status(), 'open');
    assertOk(await answer('Anna', question, { approved: true, corrections: null, comment: null }));
  });

  test('unknown ids, and those that are no ids, are not found', async () => {
    for (const id of [`${'0'.repeat(32)}.1.1`, 'nothing', `${'0'.repeat(32)}.01.1`, '%20', `${'A'.repeat(32)}.1.1`]) assertProblem(await answer('Anna', id, yes), 404, 'not_found');
  });

  test('a deadline that has passed closes the question, whether a node has seen it or not', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna')], deadlineMs: 1 });
    await eventually(async () => (await answer('Anna', question, { approved: true, corrections: { a: 1 } })).status === 409);
    const { detail } = assertProblem(await answer('Anna', question, yes), 409, 'conflict');
    assert.match(detail, /^The deadline of this question passed at /);
  });

  test('a question of a deleted user is gone', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna')] });
    await question.delete();
    assert.equal(await find('Anna', question), undefined);
    assertProblem(await answer('Anna', question, yes), 404, 'not_found');
  });

  test('a signed answer that is sent twice counts once', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna'), a('Ben')], quorum: 2 });
    const path = cluster.path(`/api/workflows/questions/${question.id}`, { as: 'Anna' });
    const send = (node) => cluster.request('POST', path, { node, body: yes });
    assertOk(await send(0));
    assertProblem(await send(1), 401, 'nonce_used');
    assert.equal((await question.answers()).length, 1);
  });

  test('an account acts for itself unless its role is frontend', async () => {
    for (const as of ['Anna', 'Cara', 'Inference_1']) assertProblem(await cluster.request('GET', '/api/workflows/questions', { as, query: { OnBehalfOf: 'bob' } }), 403, 'forbidden');
    assertProblem(await cluster.request('GET', '/api/workflows/questions', {}), 401, 'unauthorized');
  });

  test('a list continues where the page before ended, newest first, over all shards', async () => {
    const made = [];
    for (let i = 0; i < 25; i++) made.push(await openQuestion(cluster, { account: 'Eve', user: 'Eve', approvers: [a('Eve'), r('engine')] }));
    const found = [];
    for (let path = '/api/workflows/questions?limit=4'; path; ) {
      const response = await cluster.request('GET', path, { as: 'Eve' });
      const { questions } = assertOk(response);
      assert.ok(questions.length <= 4);
      found.push(...questions);
      path = nextLink(response);
    }
    assert.deepEqual(new Set(found.map(({ id }) => id)), new Set(made.map(({ id }) => id)));
    assert.equal(found.length, 25);
    for (let i = 1; i < found.length; i++) assert.ok(found[i - 1].asked >= found[i].asked);
    for (const query of [{ status: 'none' }, { limit: 0 }, { limit: 101 }, { after: 'x' }, { after: '1.2' }]) {
      assertProblem(await cluster.request('GET', '/api/workflows/questions', { as: 'Eve', query }), 400, 'bad_request');
    }
  });

  test('a hundred of the largest questions are listed in pages', async () => {
    const body = { raw_text: 'x'.repeat(180_000) };
    const made = [];
    for (let i = 0; i < 30; i++) made.push((await openQuestion(cluster, { account: 'Ben', user: 'Ben', approvers: [a('Sweeper')], body })).id);
    const found = [];
    for (let path = '/api/workflows/questions'; path; ) {
      const response = await cluster.request('GET', path, { as: 'Sweeper' });
      found.push(...assertOk(response).questions.map(({ id }) => id));
      path = nextLink(response);
    }
    assert.deepEqual(found.filter((id) => made.includes(id)).sort(), [...made].sort());
  });
});
