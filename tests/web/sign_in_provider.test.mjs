// SPDX-License-Identifier: MIT
//
// Signing in to the web app with an OpenID provider. The sign-in begins at one node and comes back to another.
import assert from 'node:assert/strict';
import { openApp, watchReports } from '../support/app.mjs';
import { startBalancer } from '../support/balancer.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { suite } from '../support/harness.mjs';
import { CLIENT, startProvider } from '../support/oidc.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const balancer = await startBalancer();
const provider = await startProvider({ redirects: [`${balancer.url}/auth/callback`] });
// A public client: PKCE is all that it has.
const args = [`--oidc-issuer=${provider.issuer}`, `--oidc-audience=${provider.audience}`, '--oidc-allow-private=on', `--oidc-client-id=${CLIENT.publicId}`, `--public-url=${balancer.url}`];
const host = new URL(provider.issuer).host;

suite('signing in to the web app with an OpenID provider', { args }, ({ test, cluster }) => {
  watchReports(cluster);
  balancer.choose = ({ path }) => cluster.nodes[path === '/auth/callback' ? 1 : 0].url;
  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(await openApp(browser, balancer.url, { path: 'app/' }), browser);
    } finally {
      await browser.stop();
    }
  }
  const goToProvider = async (app) => {
    await app.button(`Sign in with ${host}`).click();
    await app.tab.getByLabel('Name').waitFor();
  };
  async function signIn(app, name) {
    await goToProvider(app);
    await app.tab.getByLabel('Name').fill(name);
    await app.tab.getByRole('button', { name: 'Continue' }).click();
  }
  // Everything was asked of Parley, except the provider's own pages.
  const assertSafe = (app) => {
    app.page.requests = app.page.requests.filter((url) => !url.startsWith(`${provider.issuer}/`));
    app.page.complaints = app.page.complaints.filter((one) => one !== 'CookieIssue'); // the provider's
    app.assertSafe();
  };

  test('a person signs in over two nodes, is called as the provider calls them, and lands where they were', () =>
    inBrowser(async (app) => {
      await app.tab.evaluate(() => (location.hash = '#/t/leases'));
      await app.shot('sign-in-provider');
      await signIn(app, 'alice');
      await app.question.waitFor();
      assert.match(app.tab.url(), /\/app\/#\/t\/leases$/);
      await app.button('Account: alice-at-home').waitFor();
      const callbacks = balancer.requests.filter(({ path }) => path === '/auth/callback');
      assert.deepEqual(callbacks.map(({ node }) => node), [cluster.nodes[1].url]);
      await app.tab.reload();
      await app.button('Account: alice-at-home').waitFor();
      await app.button('Account: alice-at-home').click();
      await app.tab.getByRole('menuitem', { name: 'Sign out' }).click();
      await app.sees('You have signed out.');
      assert.equal(await app.page.evaluate('sessionStorage.length'), 0);
      assertSafe(app);
    }), { skip });

  test('a person who cancels at the provider reads so, and can try again', () =>
    inBrowser(async (app) => {
      await goToProvider(app);
      await app.tab.getByRole('button', { name: 'Cancel' }).click();
      await app.sees('the provider says that it was cancelled');
      await app.shot('sign-in-provider-cancelled');
      assert.doesNotMatch(app.tab.url(), /not-signed-in/);
      await signIn(app, 'bob');
      await app.question.waitFor();
    }), { skip });

  test('a link that somebody else began signs nobody in, and leaves nothing in the browser', () =>
    inBrowser(async (app, browser) => {
      const begun = await cluster.request('GET', '/auth/login', { query: { challenge: 'A'.repeat(43) } });
      const back = new URL(await provider.follow(`${begun.headers.location}&login_hint=mallory`, `${balancer.url}/auth/callback`));
      const victim = await openApp(browser, balancer.url, { path: `${back.pathname}${back.search}` });
      await victim.sees('or began in another tab');
      assert.match(victim.tab.url(), /\/app\/#\/$/);
      assert.equal(await victim.page.evaluate('sessionStorage.length'), 0);
    }), { skip });

  test('a provider that fails is said plainly', () =>
    inBrowser(async (app) => {
      provider.answerToken({ status: 500, body: 'oops' });
      await signIn(app, 'carol');
      await app.sees('The provider did not sign you in.');
      provider.answerToken(undefined);
    }), { skip });
});
