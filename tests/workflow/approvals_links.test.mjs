// SPDX-License-Identifier: MIT
//
// /api/workflows/links/{link}: a link of an approver shows its question as a page and answers it once, as that account.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { a, o, openQuestion, r } from '../support/approvals.mjs';
import { ACCOUNTS, assertOk, assertProblem, eventually, runParley, suite } from '../support/harness.mjs';

const accounts = {
  ...ACCOUNTS,
  Anna: { secret: 'anna-secret', role: 'user' },
  Ben: { secret: 'ben-secret', role: 'user' },
  Cara: { secret: 'cara-secret', role: 'operator' },
};
const FORM = {
  type: 'object',
  properties: {
    rule_text: { type: 'string', title: 'Rule', description: 'What is to be run.' },
    amount: { type: 'integer', minimum: 0, maximum: 10 },
    is_urgent: { type: 'boolean' },
    level: { type: 'string', enum: ['low', 'high'] },
  },
  required: ['amount'],
  additionalProperties: false,
};
const HTML = { accept: 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8' };
const FORM_TYPE = { ...HTML, 'content-type': 'application/x-www-form-urlencoded' };
const formOf = (members) => new URLSearchParams(members).toString();

suite('links of approvers', { accounts, sweep: false }, ({ test, cluster }) => {
  async function linkOf(as, question, query = {}) {
    const { questions } = assertOk(await cluster.request('GET', '/api/workflows/questions', { as, query }));
    return questions.find(({ id }) => id === question.id)?.link;
  }
  async function opened(given = {}) {
    const question = await openQuestion(cluster, { approvers: [a('Anna'), a('Ben')], form: FORM, body: { raw_text: 'run <b>x</b>', amount: 5, rule_text: 'old' }, ...given });
    return [question, await linkOf('Anna', question)];
  }
  const show = (link, options = {}) => cluster.request('GET', link, { headers: HTML, ...options });
  const post = (link, members, options = {}) => cluster.request('POST', link, { headers: FORM_TYPE, body: formOf(members), ...options });
  const send = (link, body, options = {}) => cluster.request('POST', link, { body, ...options });

  function assertPage(response, status) {
    assert.equal(response.status, status, response.text.slice(0, 500));
    assert.equal(response.headers['content-type'], 'text/html; charset=utf-8');
    const [, style] = /<style>([^]*?)<\/style>/.exec(response.text);
    const hash = createHash('sha256').update(style).digest('base64');
    assert.equal(
      response.headers['content-security-policy'],
      `default-src 'none'; style-src 'sha256-${hash}'; script-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
    );
    assert.equal(response.headers['referrer-policy'], 'no-referrer');
    assert.equal(response.headers['cache-control'], 'no-store');
    assert.doesNotMatch(response.text, /<script|\son\w+=|\sstyle=|javascript:/i);
    return response.text;
  }

  test('GET shows the question, on every node and as often as one likes, and changes nothing', async () => {
    const [question, link] = await opened({ deadlineMs: 3_600_000, quorum: 2 });
    for (const node of [0, 1, 0, 1]) {
      const text = assertPage(await show(link, { node }), 200);
      for (const part of ['The table is unknown.', 'run &lt;b&gt;x&lt;/b&gt;', 'as the answer of <strong>Anna</strong>', '0 of 2 approvals', 'User_1', 'Rule', 'What is to be run.'])
        assert.ok(text.includes(part), part);
    }
    assertPage(await show(link, { headers: {} }), 200);
    assert.deepEqual([await question.status(), (await question.answers()).length], ['open', 0]);
  });

  test('HEAD is not a way to answer', async () => {
    const [question, link] = await opened();
    await cluster.request('HEAD', link, { headers: HTML });
    assert.equal(await question.status(), 'open');
  });

  test('a form answers once, as the account of the link', async () => {
    const [question, link] = await opened();
    const text = assertPage(await post(link, { decision: 'approve', comment: 'fine' }), 200);
    assert.ok(text.includes('Your approval is recorded'));
    const [answer] = await question.answers();
    assert.deepEqual([answer.who, answer.how, answer.approved, answer.comment, answer.corrections], [{ account: 'Anna', user: 'Anna' }, 'link', true, 'fine', null]);
    for (const again of [await post(link, { decision: 'approve' }), await post(link, { decision: 'reject' }), await show(link)]) {
      assert.match(assertPage(again, 409), /Anna answered this question at \d{4}-\d\d-\d\dT/);
    }
    assertProblem(await send(link, { approved: true }), 409, 'conflict');
    assert.equal((await question.answers()).length, 1);
  });

  test('a link used twice at the same time counts once', async () => {
    for (let i = 0; i < 5; i++) {
      const [question, link] = await opened();
      const all = await Promise.all([0, 1, 0, 1].map((node) => send(link, { approved: i % 2 === 0 }, { node })));
      assert.deepEqual(all.map(({ status }) => status).sort(), [200, 409, 409, 409]);
      assert.equal((await question.answers()).length, 1);
    }
  });

  test('JSON answers too, and rejects', async () => {
    const [question, link] = await opened();
    assert.deepEqual(assertOk(await send(link, { approved: false, comment: 'no' })), { id: question.id, status: 'rejected', approved: false });
    await eventually(async () => (await question.runStatus()) === 'rejected');
  });

  test('an account answers once, by its link or otherwise', async () => {
    const [question, link] = await opened({ quorum: 2 });
    assertOk(await cluster.request('POST', `/api/workflows/questions/${question.id}`, { as: 'Anna', body: { approved: true } }));
    assert.match(assertPage(await post(link, { decision: 'approve' }), 409), /Anna has already answered this question/);
    assert.ok(assertPage(await post(await linkOf('Ben', question), { decision: 'approve' }), 200).includes('The workflow continues.'));
    assert.equal(await question.status(), 'approved');
  });

  test('a changed field is a correction, the fields as they were are none', async () => {
    const shown = { 'field.rule_text': 'old', 'field.amount': '5', 'field.is_urgent': 'false', 'field.level': '' };
    const [plain, plain_link] = await opened();
    assertPage(await post(plain_link, { ...shown, decision: 'approve', comment: '' }), 200);
    assert.equal((await plain.answers())[0].corrections, null);
    const [question, link] = await opened();
    assertPage(await post(link, { ...shown, 'field.amount': '7', decision: 'approve' }), 200);
    const [{ corrections, before }] = await question.answers();
    assert.deepEqual([corrections, before], [{ rule_text: 'old', amount: 7, is_urgent: false }, { rule_text: 'old', amount: 5 }]);
  });

  test('a correction that breaks the form shows the page again, with what was entered, and the link stays good', async () => {
    const [question, link] = await opened();
    const text = assertPage(await post(link, { decision: 'approve', comment: 'my words', 'field.amount': '70', 'field.rule_text': 'mine' }), 400);
    assert.match(text, /role="alert">[^<]*amount/);
    for (const kept of ['value="70"', 'mine</textarea>', 'my words</textarea>']) assert.ok(text.includes(kept), kept);
    assert.match(assertProblem(await send(link, { approved: true, corrections: { amount: 'x' } }), 400, 'bad_request').detail, /amount/);
    assert.match(assertProblem(await send(link, { approved: true, corrections: { rule_text: 'x' } }), 400, 'bad_request').detail, /amount/);
    assert.equal(await question.status(), 'open');
    assertPage(await post(link, { decision: 'approve', 'field.amount': '9', 'field.rule_text': 'mine' }), 200);
  });

  test('a long correction needs no credentials besides the link', async () => {
    const [question, link] = await opened({ form: null });
    const rule_text = 'ä'.repeat(15_000);
    assertOk(await send(link, { approved: true, corrections: { rule_text } }));
    const [{ corrections, before }] = await question.answers();
    assert.deepEqual([corrections, before], [{ rule_text }, { rule_text: 'old' }]);
  });

  test('a body that decides nothing is refused', async () => {
    const [question, link] = await opened();
    for (const body of ['', 'decision=', 'decision=maybe', 'comment=%zz&decision=approve', 'comment=%00&decision=approve']) {
      assertPage(await cluster.request('POST', link, { headers: FORM_TYPE, body }), 400);
    }
    for (const body of ['', '{}', '[]', 'decision=approve', { approved: 'yes' }]) assertProblem(await send(link, body, { headers: { 'content-type': 'application/json' } }), 400);
    assertProblem(await send(link, { approved: true, comment: 'x'.repeat(60_000) }), 413, 'too_large');
    assert.equal(await question.status(), 'open');
  });

  test('a forged link is refused, however little is forged', async () => {
    const [question, link] = await opened();
    const of_ben = await linkOf('Ben', question);
    const [text, mac] = link.split('/').pop().split('.');
    const base = link.slice(0, link.lastIndexOf('/') + 1);
    const flipped = (part) => (part[5] === 'A' ? `${part.slice(0, 5)}B${part.slice(6)}` : `${part.slice(0, 5)}A${part.slice(6)}`);
    const forged = [`${text}.${flipped(mac)}`, `${flipped(text)}.${mac}`, `${text}.${of_ben.split('.').pop()}`, `${of_ben.split('/').pop().split('.')[0]}.${mac}`, text, `${text}.`, `.${mac}`,
      `${text}.${mac}A`, 'x', `${'A'.repeat(3000)}.${mac}`, `${text}.${mac}%20`, question.id];
    for (const segment of forged) {
      assert.match(assertPage(await show(base + segment), 403), /This link is not valid/, segment);
      assertProblem(await send(base + segment, { approved: true }), 403, 'forbidden');
    }
    assert.equal(await question.status(), 'open');
  });

  test('a link that is passed on counts as its account; logged in as another one, it is refused', async () => {
    const [question, link] = await opened();
    const { Token } = assertOk(await cluster.request('GET', '/api/login', { as: 'User_2' }));
    for (const credentials of [{ as: 'User_2' }, { as: 'Ben' }, { headers: { ...HTML, authorization: `Bearer ${Token}` } }]) {
      assert.match(assertPage(await show(link, credentials), 403), /made for another account/);
      assertPage(await post(link, { decision: 'approve' }, { ...credentials, headers: { ...FORM_TYPE, ...credentials.headers } }), 403);
    }
    assertProblem(await send(link, { approved: true }, { as: 'Anna', signing: { secret: 'wrong' } }), 401, 'unauthorized');
    assert.equal(await question.status(), 'open');
    assertOk(await send(link, { approved: true }, { as: 'Anna' }));
    assert.equal((await question.answers())[0].who.account, 'Anna');
  });

  test('a link after the deadline is late', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna')], deadlineMs: 2_000 });
    const link = await linkOf('Anna', question);
    if (link === null || link === undefined) return; // a machine so slow that it passed before
    await eventually(async () => (await show(link)).status === 409);
    assert.match(assertPage(await post(link, { decision: 'approve' }), 409), /deadline of this question passed/);
    assert.ok((await question.answers()).every(({ how }) => how === 'deadline'));
  });

  test('a link ends with its question', async () => {
    const [question, link] = await opened();
    await question.delete();
    assertPage(await show(link), 404);
    assertPage(await post(link, { decision: 'approve' }), 404);
  });

  test('the owner’s link counts for that account and that user', async () => {
    const question = await openQuestion(cluster, { account: 'Frontend_1', user: 'alice b', approvers: [o('Frontend_1', 'alice b')] });
    const link = await linkOf('Frontend_1', question, { OnBehalfOf: 'alice b' });
    assertOk(await send(link, { approved: true }));
    assert.deepEqual((await question.answers())[0].who, { account: 'Frontend_1', user: 'alice b' });
  });

  test('a link ends when its account gets another secret or role, or is removed', async () => {
    const question = await openQuestion(cluster, { approvers: [a('Anna'), a('Ben'), r('operator')], quorum: 3 });
    const links = { Anna: await linkOf('Anna', question), Ben: await linkOf('Ben', question), Cara: await linkOf('Cara', question) };
    const { Anna, Ben, Cara, ...rest } = accounts;
    cluster.writeAccounts({ ...rest, Anna: { ...Anna, secret: 'anna-secret-2' }, Cara: { ...Cara, role: 'user' } });
    for (const node of cluster.nodes) node.child.kill('SIGHUP');
    for (const [name, link] of Object.entries(links)) {
      for (const node of [0, 1]) await eventually(async () => (await show(link, { node })).status === 403, { what: `${name} on node ${node}` });
      assert.match(assertPage(await post(link, { decision: 'approve' }), 403), /account of this link has changed or was removed/);
    }
    assert.deepEqual([await question.status(), (await question.answers()).length], ['open', 0]);
    cluster.writeAccounts(accounts);
    for (const node of cluster.nodes) node.child.kill('SIGHUP');
    for (const node of [0, 1]) await eventually(async () => (await show(links.Ben, { node })).status === 200);
  });

  test('--public-url takes a URL and nothing after its path', async () => {
    for (const url of ['parley.example.org', 'ftp://parley.example.org', 'https://', 'https:///x', 'https://a.example?x=1', 'https://a.example/#x', 'https://user@a.example', 'https://a b']) {
      const { code, stderr } = await runParley(['serve', '--check-config', '--accounts', cluster.accountsFile, '--public-url', url]);
      const seen = url.includes('@') ? '' : `, not '${url}'`; // what is before @ may be a secret
      assert.deepEqual([code, stderr], [2, `parley: --public-url: takes an http:// or https:// URL without a query${seen}\n`], url);
    }
  });

  test('no log has a link', async () => {
    const node = await cluster.startNode({ args: ['--log-level=debug', '--public-url=https://parley.example.org/'] });
    const question = await openQuestion(cluster, { approvers: [a('Anna')] });
    const { questions } = assertOk(await cluster.request('GET', '/api/workflows/questions', { as: 'Anna', node }));
    const { link } = questions.find(({ id }) => id === question.id);
    assert.ok(link.startsWith('https://parley.example.org/api/workflows/links/'));
    const { pathname } = new URL(link);
    assertPage(await show(pathname, { node }), 200);
    assertPage(await post(pathname, { decision: 'reject' }, { node }), 200);
    assertPage(await show(`${pathname}x`, { node }), 403);
    assert.match(node.log(), /\/api\/workflows\/links\/\{link\}/);
    const [text, mac] = pathname.split('/').pop().split('.');
    assert.ok(!node.log().includes(text) && !node.log().includes(mac));
    await node.stop();
    cluster.nodes.pop();
  });
});
