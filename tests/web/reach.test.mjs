// SPDX-License-Identifier: MIT
//
// The web app reaches everybody: keyboards, screen readers, phones, light and dark; axe-core looks at every page. PARLEY_TEST_SHOTS names a
// folder for pictures.
import assert from 'node:assert/strict';
import { openApp, takeQuestion, watchReports } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { assertOk, suite } from '../support/harness.mjs';
import { assertReachable, VIEWS } from '../support/reach.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const ANSWER = `Parley keeps every question until it is **answered once**, whatever happens to nodes or engines.

### What happens when an engine dies

1. Its *lease* ends after \`150 seconds\`.
2. The question is Open again, at the front of the queue.
3. Another engine claims it, see [the handbook](https://example.org/handbook).

> A lease is renewed by each piece of text.

\`\`\`json
{"Topic": "tea", "Queries": [{"1": "How long does a lease last, and what happens when its engine dies in the middle of an answer?"}]}
\`\`\`

| State | Meaning | Next |
|---|---|--:|
| Open | waits for an engine | 1 |
| Pending | is with an engine | 2 |

- [x] acknowledged
- [ ] answered`;

suite('the web app reaches everybody', { nodes: 1 }, ({ test, cluster }) => {
  watchReports(cluster);
  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  const open = (browser, view) => openApp(browser, cluster.nodes[0].url, view);
  async function signedIn(browser, view) {
    const app = await open(browser, view);
    await app.signIn('User_1', cluster.accounts.User_1.secret);
    await app.question.waitFor();
    return app;
  }
  async function answered(app) {
    await app.ask('What happens to my question when an engine dies while it writes the answer?');
    const engine = await takeQuestion(cluster);
    await engine.end(ANSWER, { Think: ['The handbook says it on its page about leases.'], Model: 'llama3' });
    await app.sees('Answered by llama3');
  }

  for (const { name, ...view } of VIEWS) test(`axe finds nothing on any page, and every text has a contrast of 4.5 at least, ${name}`, () =>
    inBrowser(async (browser) => {
      const app = await open(browser, view);
      await assertReachable(app, `${name}-sign-in`);
      await app.signIn('User_1', cluster.accounts.User_1.secret);
      await app.question.waitFor();
      await assertReachable(app, `${name}-new`);
      await answered(app);
      await assertReachable(app, `${name}-answer`);
      await app.ask('And when I stop it?');
      await app.button('Stop').click();
      await app.sees('You stopped this question.');
      await assertReachable(app, `${name}-stopped`);
      if (view.width < 600) {
        await app.button('Open the side bar').click();
        await assertReachable(app, `${name}-topics`);
        await app.tab.keyboard.press('Escape');
      }
      await app.tab.locator('.head .topic-menu button').click();
      await assertReachable(app, `${name}-menu`);
      await app.tab.getByRole('menuitem', { name: 'Delete' }).click();
      await assertReachable(app, `${name}-dialog`);
      await app.button('Delete').click();
      await app.sees('What would you like to know?');
      app.assertSafe();
    }), { skip });

  test('keys alone sign in, ask, choose, rename and sign out', () =>
    inBrowser(async (browser) => {
      const app = await open(browser);
      const { keyboard } = app.tab;
      await app.tab.getByLabel('Account name').focus();
      await keyboard.type('User_1');
      await keyboard.press('Tab');
      await keyboard.type(cluster.accounts.User_1.secret);
      await keyboard.press('Enter');
      await app.question.waitFor();
      await keyboard.type('First line');
      await keyboard.press('Shift+Enter');
      await keyboard.type('second line');
      await keyboard.press('Enter');
      const engine = await takeQuestion(cluster);
      assert.equal(engine.Query, 'First line\nsecond line');
      await engine.end('Done by keys.');
      await app.sees('Done by keys.');
      assert.equal(await app.page.evaluate('document.activeElement.id'), 'question', 'the next question can be typed at once');
      await app.tab.locator('.head .topic-menu button').focus();
      await keyboard.press('Enter');
      await keyboard.press('ArrowDown');
      await keyboard.press('ArrowUp');
      await keyboard.press('Enter');
      await app.tab.getByLabel('Name', { exact: true }).waitFor();
      await keyboard.press('Control+a');
      await keyboard.type('By keys alone');
      await keyboard.press('Enter');
      await app.tab.getByRole('heading', { name: 'By keys alone' }).waitFor();
      assert.deepEqual(Object.values(assertOk(await cluster.request('GET', '/api/user-topics', { as: 'User_1', query: { OnBehalfOf: 'User_1' } }))).at(-1), 'By keys alone');
      await app.button('Account: User_1').focus();
      await keyboard.press('Enter');
      await keyboard.press('ArrowUp');
      await keyboard.press('Enter');
      await app.sees('You have signed out.');
    }), { skip });

  test('a screen reader hears one line about what happens, and not each word of the answer', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await app.ask('Who listens?');
      await app.tab.getByRole('status').getByText('Next in the queue').waitFor();
      const engine = await takeQuestion(cluster);
      await engine.write('One word, ');
      await app.tab.getByRole('status').getByText('The answer is being written').waitFor();
      assert.equal(await app.tab.getByRole('log', { name: 'Questions and answers' }).getAttribute('aria-live'), 'off');
      assert.equal(await app.page.evaluate('document.querySelectorAll("[aria-live]:not([aria-live=off]), [role=status], [role=alert]").length'), 1);
      await engine.end('One word, two.');
      await app.tab.getByRole('status').getByText('The answer is complete.').waitFor();
    }), { skip });
});
