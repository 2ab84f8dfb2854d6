// SPDX-License-Identifier: MIT
//
// Lookups and recommendations in the web app: a passage is picked, its matches are shown beside the topic, engines get what is recommended.
import assert from 'node:assert/strict';
import { openApp, takeQuestion, watchReports } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { assertReachable, VIEWS } from '../support/reach.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const ANSWER = 'Leases end after 150 seconds. A heartbeat renews them.';
const MATCH = 'Distance: 0.25\nDocument Name: leases.md\n.....\nA lease is renewed by each <b>heartbeat</b>.';
const HOSTILE = 'Distance: 0.5\nDocument Name: \u202e<img src=x onerror=alert(1)>\n.....\n<script>document.title = "taken"</script>';
const TYPES = ['Promote Answer', 'Suggest Improvement', 'Make Correction', 'Add Missing Info', 'Clarify Phrasing', 'Flag as Off Topic'];

suite('passages in the web app', { nodes: 2 }, ({ test, cluster }) => {
  watchReports(cluster);
  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  async function answered(browser, view = {}) {
    const app = await openApp(browser, cluster.nodes[0].url, view);
    await app.signIn('User_1', cluster.accounts.User_1.secret);
    await app.question.waitFor();
    await app.ask('How long does a lease last?');
    await (await takeQuestion(cluster)).end(ANSWER);
    await app.sees(ANSWER);
    return app;
  }
  // As a mouse that is drawn over the text does.
  const select = (app, text) =>
    app.page.evaluate(`(() => {
      const node = document.createTreeWalker(document.querySelector('.answer .markdown'), NodeFilter.SHOW_TEXT).nextNode();
      const range = document.createRange();
      range.setStart(node, node.data.indexOf(${JSON.stringify(text)}));
      range.setEnd(node, range.startOffset + ${text.length});
      getSelection().removeAllRanges();
      getSelection().addRange(range);
    })()`);
  const takeLookup = () =>
    eventually(async () => {
      const { status, json } = await cluster.request('GET', '/api/get-new-lookup', { as: 'Inference_1' });
      return status === 200 && json;
    });
  const giveMatches = ({ Fingerprint }, Matches) => cluster.request('POST', '/api/give-new-matches', { as: 'Inference_1', body: { Fingerprint, Matches } }).then(assertOk);
  const recommendations = async () => assertOk(await cluster.request('GET', '/api/get-recommendations', { as: 'Inference_1' })).Recommendations;
  const passages = (app) => app.tab.getByRole('region', { name: 'Matching passages' });

  test('a selected passage is looked up, and its matches appear when an engine has them', () =>
    inBrowser(async (browser) => {
      const app = await answered(browser);
      await select(app, 'A heartbeat renews them.');
      const bar = app.tab.getByRole('toolbar', { name: 'With the selection' });
      await bar.waitFor();
      await app.shot('passages-selection');
      await bar.getByRole('button', { name: 'Find passages' }).click();
      await passages(app).getByText('An engine looks for passages').waitFor();
      const lookup = await takeLookup();
      assert.equal(lookup.Fragment, 'A heartbeat renews them.');
      await giveMatches(lookup, [MATCH, HOSTILE]);
      await passages(app).getByText('A lease is renewed by each <b>heartbeat</b>.').waitFor();
      await passages(app).getByText('leases.md').waitFor();
      await app.shot('passages-matches');
      assert.equal(await app.page.evaluate(`document.querySelectorAll('.pane :is(script, img, b)').length`), 0);
      assert.doesNotMatch(await passages(app).innerText(), /\u202e/);
      assert.doesNotMatch(await app.tab.title(), /taken/);
      await app.tab.reload();
      await app.sees(ANSWER);
      await app.button('Matching passages').click();
      await passages(app).getByText('A lease is renewed by each').waitFor();
      app.assertSafe();
    }), { skip });

  test('an answer is looked up without a selection, and nothing that matches is said', () =>
    inBrowser(async (browser) => {
      const app = await answered(browser);
      await app.tab.locator('.answer').getByRole('button', { name: 'Find passages' }).click();
      const dialog = app.tab.getByRole('dialog');
      assert.equal(await dialog.getByLabel('Passage').inputValue(), ANSWER);
      await dialog.getByLabel('Passage').fill('  Something else entirely  ');
      await dialog.getByRole('button', { name: 'Find passages' }).click();
      const lookup = await takeLookup();
      assert.equal(lookup.Fragment, 'Something else entirely');
      await giveMatches(lookup, []);
      await passages(app).getByText('No passage matches.').waitFor();
      await app.tab.keyboard.press('Escape');
      await eventually(async () => (await passages(app).count()) === 0, { what: 'the pane is closed' });
      app.assertSafe();
    }), { skip });

  test('each of the six types is recommended with its passage and a comment', () =>
    inBrowser(async (browser) => {
      const app = await answered(browser);
      for (const type of TYPES) {
        await app.tab.locator('.answer').getByRole('button', { name: 'Recommend' }).click();
        const dialog = app.tab.getByRole('dialog');
        await dialog.locator(`input[value="${type}"]`).check();
        await dialog.getByLabel('Comment (optional)').fill(`About <b>${type}</b>`);
        if (type === 'Make Correction') await app.shot('passages-recommend');
        await dialog.getByRole('button', { name: 'Send' }).click();
        await app.tab.getByRole('status').getByText('Thank you.').waitFor();
        await eventually(async () => (await dialog.count()) === 0, { what: 'the dialog is closed' });
      }
      const mine = (await recommendations()).filter(({ Topic }) => Topic === app.topic);
      // A flag takes back the promotion of the same passage.
      assert.deepEqual(mine.map(({ Type }) => Type).sort(), TYPES.slice(1).sort());
      for (const { Type, Query, Fragment, Comment, OnBehalfOf } of mine)
        assert.deepEqual([Query, Fragment, Comment, OnBehalfOf], ['How long does a lease last?', ANSWER, `About <b>${Type}</b>`, 'User_1']);
      app.assertSafe();
    }), { skip });

  for (const { name, ...view } of VIEWS) test(`axe finds nothing in the pane and the dialog, ${name}`, () =>
    inBrowser(async (browser) => {
      const app = await answered(browser, view);
      await app.tab.locator('.answer').getByRole('button', { name: 'Recommend' }).click();
      await app.tab.getByRole('dialog').waitFor();
      await assertReachable(app, `${name}-recommend`);
      await app.tab.keyboard.press('Escape');
      await app.tab.locator('.answer').getByRole('button', { name: 'Find passages' }).click();
      await app.tab.getByRole('dialog').getByLabel('Passage').fill(`What ${name} shows`);
      await app.tab.getByRole('dialog').getByRole('button', { name: 'Find passages' }).click();
      await giveMatches(await takeLookup(), [MATCH, HOSTILE]);
      await passages(app).getByText('A lease is renewed by each').waitFor();
      await assertReachable(app, `${name}-passages`);
      app.assertSafe();
    }), { skip });
});
