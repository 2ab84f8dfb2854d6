// SPDX-License-Identifier: MIT
//
// Browsers report violations of the policy of the web app, and nodes count them.
import assert from 'node:assert/strict';
import { openApp, reportsOf } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { assertProblem, eventually, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a counter of each process: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';

suite('reports about the policy of the web app', { nodes: 1, sweep: false }, ({ test, cluster }) => {
  const report = (body, headers = { 'Content-Type': 'application/csp-report' }) => cluster.request('POST', '/app/violations', { body, headers });

  test('a picture of another origin and text that would become HTML are reported by the browser', async () => {
    const browser = await Browser.start();
    try {
      const app = await openApp(browser, cluster.nodes[0].url);
      await app.button('Sign in').waitFor();
      assert.equal(await reportsOf(cluster), 0);
      await app.tab.evaluate(() => {
        const image = new Image();
        image.src = 'https://example.org/a.png';
        document.body.append(image);
      });
      await eventually(async () => (await reportsOf(cluster)) === 1, { what: 'the picture is reported' });
      assert.equal(await app.tab.evaluate(() => {
        try {
          document.body.innerHTML = '<b>x</b>';
        } catch (error) {
          return error.name;
        }
      }), 'TypeError');
      await eventually(async () => (await reportsOf(cluster)) === 2, { what: 'the text is reported' });
      assert.match(cluster.nodes[0].log(), /policy of the web app forbids.*img-src.*example\.org/);
      assert.equal(cluster.nodes[0].log().match(/policy of the web app forbids/g).length, 1);
    } finally {
      await browser.stop();
    }
  }, { skip });

  test('what is no report is refused and not counted, and a long report is refused by its head', async () => {
    const before = await reportsOf(cluster);
    for (const body of ['[]', '{}', '7', '{"csp-report":7}', '{"csp-report":[]}']) assertProblem(await report(body), 400, 'bad_request');
    for (const body of ['', 'x', '{"csp-report":']) assertProblem(await report(body), 400, 'bad_json');
    assertProblem(await report(`{"csp-report":{"blocked-uri":"${'x'.repeat(16384)}"}}`), 413, 'too_large');
    assert.equal(await reportsOf(cluster), before);
    for (const body of ['{"csp-report":{}}', `{"csp-report":{"violated-directive":7,"blocked-uri":"${'é'.repeat(4000)}"}}`]) assert.equal((await report(body)).status, 204);
    assert.equal(await reportsOf(cluster), before + 2);
  });
});
