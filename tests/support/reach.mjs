// SPDX-License-Identifier: MIT
//
// reach: whether a page of the web app reaches everybody: axe-core finds nothing, every text has contrast, nothing is wider than the page.
//
//   for (const { name, ...view } of VIEWS) { const app = await openApp(browser, url, view); await assertReachable(app, `${name}-chat`); }
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { contrasts } from './browser.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const VIEWS = [
  { name: 'light', width: 1200, scheme: 'light' },
  { name: 'dark', width: 1200, scheme: 'dark' },
  { name: 'phone', width: 390, scheme: 'light' },
  { name: 'phone-dark', width: 390, scheme: 'dark' },
  { name: 'narrow', width: 320, scheme: 'light' },
];

// Through the protocol, whose scripts the page's policy does not concern.
export async function assertReachable(app, name) {
  await app.page.evaluate(AXE);
  const { violations } = await app.page.evaluate('axe.run(document, { resultTypes: ["violations"] })');
  assert.deepEqual(violations.map(({ id, help, nodes }) => [id, help, nodes.map(({ html }) => html.slice(0, 200))]), [], name);
  for (const [text, contrast] of await app.page.evaluate(`(${contrasts})()`)) assert.ok(contrast >= 4.5 || text === '', `${name}: ${text}: ${contrast}`);
  assert.ok(await app.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${name}: nothing is wider than the page`);
  await app.shot(name);
}
