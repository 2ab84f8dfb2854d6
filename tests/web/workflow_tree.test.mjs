// SPDX-License-Identifier: MIT
//
// The drawing of trees that branch, in the web app.
import assert from 'node:assert/strict';
import { openApp, watchReports } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { makeFolder, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';
import { no, withAgents, yes } from '../support/workflow.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const FILE = `WORKFLOWS:
  INVOICE:
    model.Capo: {yes: model.small, no: model.explain}
    model.small: {yes: model.pay, no: model.large}
    model.large: {yes: model.pay, no: sendMessageToChat}
    model.explain: {yes: model.archive, no: sendMessageToChat}
    model.archive: {yes: null, no: sendMessageToChat}
    model.pay: {yes: null, no: sendMessageToChat}
AGENTS:
  model.small: {kind: model, prompt: "Is it small?", description: "<b>Pays</b> small invoices"}
  model.large: {kind: model, prompt: "May it be large?", hitl: {timeout: 24h, on_timeout: model.archive}}
  model.explain: {kind: model, prompt: "Explain."}
  model.archive: {kind: model, prompt: "Archive it."}
  model.pay: {kind: model, prompt: "Pay it.", description: "a-name-without-an-end-${'x'.repeat(200)}"}
`;

const folder = makeFolder();
const workflows = folder.file('workflows.yaml', FILE);
process.on('exit', folder.remove);

suite('the tree of a workflow in the web app', { nodes: 1, args: ['--workflows', workflows] }, ({ test, cluster }) => {
  watchReports(cluster);
  async function drawn(use) {
    const browser = await Browser.start();
    try {
      const app = await openApp(browser, cluster.nodes[0].url);
      await app.signIn('User_1', cluster.accounts.User_1.secret);
      await app.question.waitFor();
      await app.tab.getByRole('link', { name: 'Workflows' }).click();
      await app.button('Workflow: Chosen by the request').click();
      await app.tab.getByRole('menuitemradio', { name: 'INVOICE' }).click();
      await app.tab.locator('.tree .box').first().waitFor();
      await use(app);
      app.assertSafe();
    } finally {
      await browser.stop();
    }
  }
  const boxes = (app) => app.page.evaluate(`[...document.querySelectorAll('.tree .box rect, .tree .person circle')].map((one) => { const { left, top, right, bottom } = one.getBoundingClientRect(); return { left, top, right, bottom }; })`);

  test('agents of a tree that branches do not lie over one another, and all are inside the drawing', () =>
    drawn(async (app) => {
      await app.shot('tree-branches');
      const all = await boxes(app);
      assert.equal(all.length, 6 + 4, 'six agents, four of which may ask a person');
      for (const [i, a] of all.entries()) for (const b of all.slice(i + 1)) assert.ok(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top, JSON.stringify([a, b]));
      const frame = await app.page.evaluate(`(({ left, top, right, bottom }) => ({ left, top, right, bottom }))(document.querySelector('.tree').getBoundingClientRect())`);
      for (const one of all) assert.ok(one.left >= frame.left && one.right <= frame.right && one.top >= frame.top && one.bottom <= frame.bottom, JSON.stringify([one, frame]));
      assert.equal(await app.page.evaluate(`document.querySelectorAll('.tree b').length`), 0);
    }), { skip });

  test('a run that takes the branch of a no has that way lit, and no other', () =>
    drawn(async (app) => {
      await withAgents(cluster, { 'model.small': no('It is large.'), 'model.large': no('It is too large.'), 'model.Capo': yes() }, async () => {
        await app.tab.getByRole('textbox', { name: 'Request' }).fill('Pay 5,000 euros');
        await app.tab.keyboard.press('Enter');
        await app.sees('This run waits for a person');
        const looks = await app.page.evaluate(`Object.fromEntries([...document.querySelectorAll('.tree .box')].map((one) => [one.querySelector('.name').textContent, one.classList[1] ?? '']))`);
        assert.deepEqual(looks, { Capo: 'is-yes', small: 'is-no', large: 'is-no', explain: '', archive: '', pay: '' });
        assert.equal(await app.tab.locator('.tree .line.is-yes').count(), 1);
        assert.equal(await app.tab.locator('.tree .line.is-no').count(), 2);
        assert.equal(await app.tab.locator('.tree .person.is-current').count(), 1);
        assert.match(await app.tab.locator('.tree').getAttribute('aria-label'), /^The tree of INVOICE\. model\.Capo yes, model\.small no, model\.large no$/);
        await app.shot('tree-run');
      });
    }), { skip });
});
