// SPDX-License-Identifier: MIT
//
// Signing in to the web app, and what ends a session.
import assert from 'node:assert/strict';
import { openApp, watchReports } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';

suite('signing in', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  watchReports(cluster);
  const url = () => cluster.nodes[0].url;
  const secretOf = (name) => cluster.accounts[name].secret;
  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }

  test('the secret signs in and is never sent, and a reload keeps the session', () =>
    inBrowser(async (browser) => {
      const app = await openApp(browser, url());
      const sent = [];
      app.tab.on('request', (request) => sent.push(request.url(), request.postData() ?? '', JSON.stringify(request.headers())));
      await app.shot('sign-in');
      await app.signIn('User_1', secretOf('User_1'));
      await app.question.waitFor();
      await app.tab.reload();
      await app.question.waitFor();
      assert.ok(sent.some((one) => one.includes('/api/login?User=User_1&Nonce=')));
      for (const one of sent) assert.ok(!one.includes(secretOf('User_1')), one);
      assert.equal(await app.page.evaluate(`JSON.stringify({ ...localStorage, ...sessionStorage }).includes(${JSON.stringify(secretOf('User_1'))})`), false);
      assert.deepEqual(await app.tab.context().cookies(), []);
      app.assertSafe();
    }), { skip });

  test('a wrong secret is said, and after ten of them when to try again', () =>
    inBrowser(async (browser) => {
      const app = await openApp(browser, url());
      await app.signIn('User_2', 'wrong');
      await app.sees('The name or the secret is not right.');
      await app.shot('sign-in-wrong');
      for (let i = 0; i < 10; i++) await cluster.request('GET', '/api/login', { as: 'User_2', signing: { secret: 'wrong' } });
      await app.signIn('User_2', 'wrong');
      await app.sees(/Too many attempts failed\. You can try again in \d+ seconds?\./);
      assert.equal(await app.button('Sign in').isDisabled(), true);
    }), { skip });

  test('a link signs in once, and its code is not in the address afterwards', () =>
    inBrowser(async (browser) => {
      const { link } = assertOk(await cluster.request('POST', '/api/login/link', { as: 'User_1' }));
      const app = await openApp(browser, url(), { path: link.slice(1) });
      await app.question.waitFor();
      assert.doesNotMatch(app.tab.url(), /code=/);
      const stolen = await openApp(browser, url(), { path: link.slice(1) });
      await stolen.sees('This link has been used');
    }), { skip });

  test('a new tab continues the session, and signing out in one tab ends it in all', () =>
    inBrowser(async (browser) => {
      const app = await openApp(browser, url());
      await app.signIn('User_1', secretOf('User_1'));
      await app.question.waitFor();
      const second = await app.another();
      await second.button('Continue as User_1').click();
      await second.question.waitFor();
      await app.button('Account: User_1').click();
      await app.tab.getByRole('menuitem', { name: 'Sign out' }).click();
      for (const one of [app, second]) {
        await one.sees('You have signed out.');
        assert.equal(await one.page.evaluate('sessionStorage.length'), 0);
      }
    }), { skip });

  test('an account whose secret changes is signed out, and an engine is told that it asks no questions', () =>
    inBrowser(async (browser) => {
      const app = await openApp(browser, url());
      await app.signIn('Inference_1', secretOf('Inference_1'));
      await app.sees('which asks no questions');
      await app.button('Sign out').click();
      await app.signIn('User_2', secretOf('User_2'));
      await app.question.waitFor();
      cluster.writeAccounts({ ...cluster.accounts, User_2: { ...cluster.accounts.User_2, secret: 'another secret' } });
      cluster.nodes[0].signal('SIGHUP');
      await eventually(async () => (await cluster.request('GET', '/api/me', { as: 'User_2', signing: { secret: 'another secret' } })).status === 200, { what: 'the new secret is known' });
      await app.ask('Am I still here?');
      await app.sees('This account is no longer valid.');
      await app.signIn('User_2', 'another secret');
      await app.sees('Am I still here?');
    }), { skip });

  test('what a browser prefers decides on the language, and the choice is kept', () =>
    inBrowser(async (browser) => {
      const app = await openApp(browser, url());
      await app.signIn('User_1', secretOf('User_1'));
      await app.button('Account: User_1').click();
      await app.tab.getByRole('menuitemradio', { name: 'Deutsch' }).click();
      await app.sees('Was möchten Sie wissen?');
      await app.tab.reload();
      await app.sees('Was möchten Sie wissen?');
      assert.equal(await app.page.evaluate('document.documentElement.lang'), 'de');
      app.assertSafe();
    }), { skip });
});
