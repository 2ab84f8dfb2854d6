// SPDX-License-Identifier: MIT
//
// The web app below a path of nginx, with deploy/nginx.conf, on two nodes. One of them dies.
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import { openApp, takeQuestion, watchReports } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { eventually, makeFolder, suite } from '../support/harness.mjs';
import { findNginx, startNginx } from '../support/nginx.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? (findNginx().reason ?? false) : 'no chromium is installed';
const PATH = '/tools/parley';

suite('the web app behind nginx, below a path', { nodes: 2 }, ({ test, cluster }) => {
  let nginx;
  let folder;
  watchReports(cluster);
  before(async () => {
    folder = makeFolder();
    if (!skip) nginx = await startNginx(cluster.nodes.map((node) => new URL(node.url).port), { path: PATH });
  });
  after(async () => {
    await nginx?.stop();
    folder.remove();
  });

  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  async function signedIn(browser, user = 'User_1') {
    const app = await openApp(browser, `${nginx.url}${PATH}/`);
    await app.signIn(user, cluster.accounts[user].secret);
    await app.question.waitFor();
    return app;
  }
  // Nothing was asked beside the path.
  function assertBelow(app) {
    app.assertSafe();
    for (const url of app.page.requests) assert.ok(url.startsWith(`${nginx.url}${PATH}/`) || url.startsWith('blob:'), url);
  }
  const goTo = (app, hash) => app.tab.evaluate((to) => (location.hash = to), hash);

  test('the first page, the handbook and the app lead to each other', () =>
    inBrowser(async (browser) => {
      const page = await browser.open(`${nginx.url}${PATH}/`);
      for (const path of ['handbook', 'app/']) {
        await page.tab.locator(`a[href$="${path}"]`).first().click();
        await page.tab.waitForURL((url) => url.pathname === `${PATH}/${path}`);
        await page.tab.goBack();
      }
      await page.go(`${nginx.url}${PATH}/app`);
      await page.tab.waitForURL((url) => url.pathname === `${PATH}/app/`);
      await page.tab.getByRole('link', { name: 'What is Parley?' }).click();
      await page.tab.waitForURL((url) => url.pathname === `${PATH}/`);
    }), { skip });

  test('a file is uploaded, indexed and listed', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await goTo(app, '#/documents');
      await app.tab.locator('#files').setInputFiles([folder.file('leases.md', '# Leases\n\nA lease ends after 150 seconds.\n')]);
      const row = app.tab.locator('.doc', { hasText: 'leases.md' });
      await row.getByRole('button', { name: 'leases.md', exact: true }).waitFor();
      await eventually(async () => (await row.getByRole('progressbar').count()) === 0, { what: 'it is indexed' });
      assertBelow(app);
    }), { skip });

  test('what is said in a room comes to others over their sockets', () =>
    inBrowser(async (browser) => {
      const ann = await signedIn(browser);
      await goTo(ann, '#/rooms');
      await ann.button('New room').first().click();
      await ann.tab.getByLabel('Name', { exact: true }).fill('Tea kitchen');
      await ann.button('Create').click();
      await ann.sees('Nothing has been said here yet');
      const bob = await signedIn(browser, 'User_2');
      await goTo(bob, new URL(ann.tab.url()).hash);
      await bob.sees('Nothing has been said here yet');
      const box = ann.tab.getByRole('textbox', { name: 'Your message' });
      await box.fill('Who wants tea?');
      await box.press('Enter');
      await bob.sees('Who wants tea?');
      for (const one of [ann, bob]) assertBelow(one);
    }), { skip });

  test('a node that is killed in the middle of a stream costs nothing of the answer', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await app.ask('Who survives?');
      const engine = await takeQuestion(cluster, { node: 1 });
      await engine.write('The answer ');
      await app.sees('The answer');
      await cluster.nodes[0].kill();
      await engine.write('survives');
      await app.sees('The answer survives');
      await engine.end('The answer survives.');
      await app.sees('The answer survives.');
      await app.tab.reload();
      await app.sees('The answer survives.');
      assertBelow(app);
    }), { skip });
});
