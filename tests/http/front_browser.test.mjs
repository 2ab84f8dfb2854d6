// SPDX-License-Identifier: MIT
//
// The first page in a real browser: light and dark, on a desk and on a phone, with and without scripts. PARLEY_TEST_SHOTS names a
// folder for pictures of it. Skipped where no browser is installed.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Browser, contrasts, findBrowser } from '../support/browser.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a page: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const VIEWS = [
  { name: 'light', width: 1200, scheme: 'light' },
  { name: 'dark', width: 1200, scheme: 'dark' },
  { name: 'phone', width: 390, scheme: 'light' },
  { name: 'phone-dark', width: 390, scheme: 'dark' },
  { name: 'narrow', width: 320, scheme: 'light' },
];

suite('the first page in a browser', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  const addressOf = (path = '/') => new URL(path, cluster.nodes[0].url).href;
  async function withBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }

  test('asks for nothing but itself, and the browser has no complaint, in any view', () =>
    withBrowser(async (browser) => {
      for (const { name, ...view } of VIEWS) {
        const page = await browser.open(addressOf(), view);
        assert.deepEqual(page.requests, [addressOf()], name);
        assert.deepEqual(page.complaints, [], name);
        if (process.env.PARLEY_TEST_SHOTS) await page.screenshot(join(process.env.PARLEY_TEST_SHOTS, `${name}.png`));
      }
    }), { skip });

  test('fits the width of a phone, and every text has a contrast of 4.5 at least', () =>
    withBrowser(async (browser) => {
      const backs = new Set();
      for (const { name, ...view } of VIEWS) {
        const page = await browser.open(addressOf(), view);
        assert.ok((await page.evaluate('document.documentElement.scrollWidth')) <= view.width, name);
        const found = await page.evaluate(`(${contrasts})()`);
        assert.ok(found.length > 10, name);
        for (const [text, contrast] of found) assert.ok(contrast >= 4.5, `${name}: ${text}: ${contrast}`);
        backs.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
      }
      assert.equal(backs.size, 2, 'light and dark differ');
    }), { skip });

  test('has a language, landmarks with names, headings in order and links that say where they lead', () =>
    withBrowser(async (browser) => {
      const page = await browser.open(addressOf());
      const { nodes } = await page.send('Accessibility.getFullAXTree');
      const shown = nodes.filter(({ ignored }) => !ignored).map(({ role, name, properties = [] }) => {
        const level = properties.find((one) => one.name === 'level')?.value.value;
        return `${role.value}${level ? ` ${level}` : ''}: ${name?.value ?? ''}`;
      });
      for (const wanted of ['RootWebArea: Parley', 'main: ', 'heading 1: Parley', 'region: Now', 'heading 2: Now', 'navigation: Read on', 'heading 2: Read on', 'link: Web app', 'link: Handbook', 'link: openapi.yaml', 'link: Health'])
        assert.equal(shown.filter((one) => one === wanted).length, 1, `${wanted} in\n${shown.join('\n')}`);
      assert.equal(await page.evaluate('document.documentElement.lang'), 'en');
    }), { skip });

  test('the examples of a handbook page can be copied, and name this node', () =>
    withBrowser(async (browser) => {
      const page = await browser.open(addressOf('/handbook/documents'));
      assert.deepEqual(page.complaints, []);
      const examples = await page.evaluate('[...document.querySelectorAll("pre > code")].map((code) => code.textContent)');
      assert.equal(await page.evaluate('document.querySelectorAll("pre + button.copy").length'), examples.length);
      await page.evaluate('navigator.clipboard.writeText = (text) => Promise.resolve(void (window.copied = text))');
      await page.evaluate('document.querySelector("button.copy").click()');
      await eventually(async () => (await page.evaluate('document.querySelector("button.copy").textContent')) === 'Copied', { what: 'it is copied' });
      assert.equal(await page.evaluate('window.copied'), examples[0]);
      await page.go(addressOf('/handbook/what-parley-is'));
      const text = await page.evaluate('document.querySelector("main").textContent.replace(/\\s+/g, " ")');
      assert.ok(text.includes(`at its address, such as ${addressOf()}`) && !text.includes(':8080'));
    }), { skip });

  test('says the same without scripts, and its links can be followed', () =>
    withBrowser(async (browser) => {
      const texts = [];
      for (const scripts of [true, false]) {
        const page = await browser.open(addressOf(), { scripts });
        const { root } = await page.send('DOM.getDocument', { depth: 0 });
        texts.push((await page.send('DOM.getOuterHTML', { nodeId: root.nodeId })).outerHTML);
        await page.go(addressOf('/handbook'));
        assert.deepEqual(page.requests, [addressOf(), addressOf('/handbook')]);
        assert.deepEqual(page.complaints, []);
      }
      assert.equal(texts[0], texts[1]);
    }), { skip });
});
