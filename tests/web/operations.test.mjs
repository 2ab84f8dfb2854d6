// SPDX-License-Identifier: MIT
//
// The page for operators: numbers, troubles, engines that are drained, questions that are tried again, the audit log.
import assert from 'node:assert/strict';
import { openApp, watchReports } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { ACCOUNTS, assertOk, eventually, suite } from '../support/harness.mjs';
import { ask, deltaOf, engineOf } from '../support/openai.mjs';
import { assertReachable, VIEWS } from '../support/reach.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const HOSTILE = '<img src=x onerror=alert(1)> \u202eright to left\u202c & <b>bold</b>';

const accounts = { ...ACCOUNTS, Spender: { secret: 'secret-of-a-spender', role: 'user', tokens_per_day: 20_000 } };

suite('the page for operators', { nodes: 2, accounts, sweep: false }, ({ test, cluster }) => {
  watchReports(cluster);
  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  async function opened(browser, { path = 'app/', ...view } = {}) {
    const app = await openApp(browser, cluster.nodes[0].url, { path, ...view });
    await app.signIn('Operator_1', cluster.accounts.Operator_1.secret);
    await app.tab.getByRole('heading', { name: 'Operations', exact: true }).waitFor();
    return app;
  }
  const add = (Topic, Query) => cluster.request('POST', '/api/add-query', { as: 'User_1', body: { Topic, User: 'User_1', Query } }).then(assertOk);
  async function fail(Topic, Query, Reason) {
    await add(Topic, Query);
    const claim = await eventually(async () => {
      const one = await cluster.claim({ detail: true });
      return one.Topic === Topic && one;
    });
    assertOk(await cluster.request('POST', '/api/release-claim', { as: 'Inference_1', body: { Topic, Lease: claim.Lease, Reason, Retry: false } }));
  }
  // A request of Spender, and what its answer says of its tokens.
  async function spend(model, Usage) {
    const engine = await engineOf(cluster, { models: model, apis: 'chat' });
    const answer = ask(cluster, 'POST', '/v1/chat/completions', { as: 'Spender', body: { model, messages: [{ role: 'user', content: 'Hi' }] } });
    await engine.take(engine.parked);
    assertOk(await engine.answer([deltaOf({ role: 'assistant', content: 'Hello' }, { finish_reason: 'stop' })], { Usage }));
    assertOk(await answer);
  }
  const number = (app, name) => app.tab.locator('.numbers > div', { hasText: name }).locator('dd').first();
  const shows = (locator, text) => eventually(async () => (await locator.innerText()) === text, { what: text });

  test('an operator sees what waits and that no engine is there, as it changes', () =>
    inBrowser(async (browser) => {
      const app = await opened(browser);
      assert.equal(await app.tab.getByRole('link', { name: 'Chat' }).count(), 0, 'an operator asks no questions');
      await app.sees('No engine takes questions.');
      await shows(number(app, 'Waiting'), '0');
      await add('operations', 'Who is there?');
      await shows(number(app, 'Waiting'), '1');
      await app.sees('No engine takes questions, and 1 is waiting.');
      await app.tab.getByRole('link', { name: /^Queue/ }).click();
      await app.sees('Who is there?');
      const claim = await cluster.claim({ detail: true });
      await app.sees('No question is waiting.');
      await app.tab.getByRole('link', { name: /^Running/ }).click();
      await app.sees('Who is there?');
      await cluster.answer({ Topic: claim.Topic, Seq: 1, Lease: claim.Lease, Query: 'Who is there?', Answer: ['Nobody.'] });
      await app.sees('No question is with an engine.');
      app.assertSafe();
    }), { skip });

  test('what accounts have used is shown with their budgets, by model', () =>
    inBrowser(async (browser) => {
      await spend('llama3', { prompt_tokens: 9000, completion_tokens: 4100 });
      await spend('mistral', { prompt_tokens: 1, completion_tokens: 1 });
      const app = await opened(browser);
      await app.tab.getByRole('link', { name: 'Usage' }).click();
      const account = app.tab.getByRole('row', { name: /^Spender/ });
      await account.waitFor();
      assert.equal((await account.getByRole('cell').allInnerTexts()).join(' '), '2 9,001 4,101');
      assert.match(await account.innerText(), /Tokens today\s+13,102 of 20,000/);
      assert.deepEqual(await app.tab.getByRole('row', { name: 'llama3' }).getByRole('cell').allInnerTexts(), ['llama3', '1', '9,000', '4,100']);
      await app.shot('operations-usage');
      await app.tab.getByLabel('Show').selectOption('the last 30 days');
      await account.waitFor();
      app.assertSafe();
    }), { skip });

  test('an engine is drained and gets work again', () =>
    inBrowser(async (browser) => {
      const poll = cluster.claimOpen({ wait: 60, engine: 'closet', models: 'mistral' });
      try {
        const app = await opened(browser);
        const row = app.tab.getByRole('row', { name: /closet/ });
        await row.getByText('mistral').waitFor();
        await row.getByRole('button', { name: 'Drain' }).click();
        await app.tab.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
        await app.sees('Engines of Inference_1 get no new questions.');
        await app.shot('operations-drained');
        await app.tab.locator('.troubles').getByRole('button', { name: 'Give it work again' }).click();
        await row.getByRole('button', { name: 'Drain' }).waitFor();
        await app.tab.getByRole('link', { name: 'Audit log' }).click();
        await app.sees('engine drained');
        app.assertSafe();
      } finally {
        poll.abort();
        await poll.response.catch(() => {});
      }
    }), { skip });

  test('a question that failed is found with its reason, and tried again', () =>
    inBrowser(async (browser) => {
      await fail('failed', HOSTILE, `No <b>model</b>: ${HOSTILE}`);
      const app = await opened(browser);
      await app.sees('1 question has failed.');
      await app.tab.locator('.troubles').getByRole('link', { name: 'Show', exact: true }).click();
      await app.sees('No <b>model</b>');
      await app.shot('operations-failed');
      assert.equal(await app.page.evaluate(`document.querySelectorAll('main :is(script, img, iframe, b)').length`), 0);
      await app.button('Try again').click();
      await app.sees('No question has failed.');
      assert.equal(assertOk(await cluster.request('GET', '/api/check-query', { as: 'User_1', query: { Topic: 'failed', Seq: 1, Wait: 0, Detail: 'true' } })).Status, 'Open');
      await app.tab.getByRole('link', { name: 'Audit log' }).click();
      await app.sees('query reopened');
      app.assertSafe();
    }), { skip });

  test('a node that cannot be reached is said, and a user does not get to this page', () =>
    inBrowser(async (browser) => {
      const app = await opened(browser);
      await number(app, 'Engines').waitFor();
      await app.tab.route('**/api/status', (route) => route.abort());
      await app.sees('The node cannot be reached. This is what it said last.');
      await app.tab.unroute('**/api/status');
      await eventually(async () => (await app.tab.getByText('The node cannot be reached.').count()) === 0, { what: 'it is reached again' });
      const user = await openApp(browser, cluster.nodes[0].url, { path: 'app/#/operations' });
      await user.signIn('User_1', cluster.accounts.User_1.secret);
      await user.question.waitFor();
      assert.equal(await user.tab.getByRole('link', { name: 'Operations' }).count(), 0);
    }), { skip });

  for (const { name, ...view } of VIEWS) test(`axe finds nothing on these pages, ${name}`, () =>
    inBrowser(async (browser) => {
      const poll = cluster.claimOpen({ wait: 60, engine: 'closet', models: 'mistral' });
      try {
        await cluster.request('GET', '/api/login', { as: 'User_2', signing: { secret: 'wrong' } });
        for (const topic of ['taken', 'waits-1', 'waits-2']) await add(`${name}-${topic}`, 'Who is there?'); // the engine takes the first
        const app = await opened(browser, view);
        await app.tab.getByRole('row', { name: /closet/ }).waitFor();
        await assertReachable(app, `${name}-operations`);
        await app.tab.getByRole('link', { name: /^Queue/ }).click();
        await app.tab.locator('.query').first().waitFor();
        await assertReachable(app, `${name}-operations-queue`);
        await app.tab.getByRole('link', { name: 'Usage' }).click();
        await app.tab.getByRole('row', { name: /^Spender/ }).waitFor();
        await assertReachable(app, `${name}-operations-usage`);
        await app.tab.getByRole('link', { name: 'Audit log' }).click();
        await app.sees('query reopened');
        await assertReachable(app, `${name}-operations-audit`);
        app.assertSafe();
      } finally {
        poll.abort();
        await poll.response.catch(() => {});
      }
    }), { skip });
});
