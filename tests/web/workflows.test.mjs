// SPDX-License-Identifier: MIT
//
// Workflows and approvals in the web app.
import assert from 'node:assert/strict';
import { openApp, watchReports } from '../support/app.mjs';
import { a, openQuestion } from '../support/approvals.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';
import { no, withAgents, yes } from '../support/workflow.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const SQL = 'SELECT name FROM patterns LIMIT 2';
const GOOD = { 'model.ruleToSQL': yes({ sql_query: SQL }, 'The statement is written.') };

suite('workflows in the web app', { nodes: 2 }, ({ test, cluster }) => {
  watchReports(cluster);
  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  async function open(browser, place, { user = 'User_1', node = 0, ...view } = {}) {
    const app = await openApp(browser, cluster.nodes[node].url, view);
    await app.signIn(user, cluster.accounts[user].secret);
    await app.question.waitFor();
    await app.tab.evaluate((hash) => (location.hash = hash), `#/${place}`);
    return app;
  }
  async function start(app, text, verb = 'RULE') {
    await app.button('Workflow: Chosen by the request').click();
    await app.tab.getByRole('menuitemradio', { name: verb }).click();
    await app.tab.getByRole('textbox', { name: 'Request' }).fill(text);
    await app.tab.keyboard.press('Enter');
  }
  const lit = (app) => app.page.evaluate(`[...document.querySelectorAll('.tree .box')].map((one) => [one.querySelector('.name').textContent, one.classList[1] ?? ''])`);
  const runs = async (query = {}) => assertOk(await cluster.request('GET', '/api/workflows/history', { as: 'User_1', query })).runs;

  test('a run shows each step as it is decided, its way through the tree, and its rows', () =>
    inBrowser(async (browser) => {
      const app = await open(browser, 'workflows');
      await app.sees('What is to be done?');
      await app.button('Workflow: Chosen by the request').click();
      await app.tab.getByRole('menuitemradio', { name: 'RULE' }).click();
      await app.tab.locator('.tree .box').first().waitFor();
      await app.shot('workflow-new');
      await app.tab.reload();
      await withAgents(cluster, GOOD, async () => {
        await start(app, 'run Show patterns');
        await app.sees('The run has ended well.');
        assert.deepEqual(await lit(app), [['Capo', 'is-yes'], ['verifyRequest', 'is-yes'], ['ruleToSQL', 'is-yes'], ['verifySQL', 'is-yes'], ['executeSQL', 'is-yes']]);
        assert.equal(await app.tab.locator('.tree .line.is-yes').count(), 5);
        assert.equal(await app.tab.locator('.step > .table tbody tr').count(), 2);
        await app.shot('workflow-done');
        await app.tab.reload();
        await app.sees('The run has ended well.');
        assert.equal(await app.tab.locator('.step').count(), 5);
        assert.equal((await runs()).length, 1);
      });
      app.assertSafe();
    }), { skip });

  test('a run that stops is corrected in its form, and shows what was before and after', () =>
    inBrowser(async (browser) => {
      const app = await open(browser, 'workflows');
      await withAgents(cluster, { ...GOOD, 'model.verifyRequest': [no('There is no table of ghosts.'), yes()] }, async () => {
        await start(app, 'run Show ghosts');
        await app.sees('This run waits for a person');
        assert.deepEqual((await lit(app)).slice(0, 3), [['Capo', 'is-yes'], ['verifyRequest', 'is-no'], ['ruleToSQL', '']]);
        assert.equal(await app.tab.locator('.tree .person.is-current').count(), 1);
        await app.shot('workflow-stopped');
        await app.tab.locator('.stop').getByLabel('Request').fill('run Show patterns');
        await app.sees('Was:');
        await app.tab.getByLabel('Comment (optional)').fill('That table exists.');
        await app.button('Approve with these changes').click();
        await app.sees('The run has ended well, after a person approved it.');
        await app.sees('That table exists.');
        assert.equal(await app.text('.changes del'), 'run Show ghosts');
        assert.equal(await app.text('.changes ins'), 'run Show patterns');
        const kinds = await app.page.evaluate(`[...document.querySelectorAll('.step')].map((one) => one.classList[1])`);
        assert.deepEqual(kinds.slice(0, 4), ['is-yes', 'is-no', 'is-answer', 'is-yes'], 'the answer stands where it was given');
        await app.shot('workflow-corrected');
      });
      app.assertSafe();
    }), { skip });

  test('a run is answered in words, and goes through the node that is left when its own dies', () =>
    inBrowser(async (browser) => {
      const app = await open(browser, 'workflows');
      const script = { ...GOOD, 'model.verifyRequest': ({ corrections }) => (corrections.length ? yes() : no('There is no table of pattern.')) };
      await withAgents(cluster, script, async (asked) => {
        await start(app, 'run Show pattern');
        await app.sees('This run waits for a person');
        const { url } = cluster.nodes[0];
        await cluster.nodes[0].kill();
        await app.sees('The connection is lost.');
        await cluster.startNode({ listen: new URL(url).host });
        await eventually(async () => (await app.text('.status')) === '', { what: 'the connection is back' });
        await app.tab.getByRole('textbox', { name: 'Your answer in words' }).fill('It should be patterns.');
        await app.tab.keyboard.press('Enter');
        await app.sees('The run has ended well, after a person approved it.');
        assert.ok(asked.some(({ corrections }) => corrections.some(({ correction }) => correction === 'It should be patterns.')));
        await app.tab.reload();
        await app.sees('The run has ended well, after a person approved it.');
      }, { node: 1 });
      app.assertSafe();
    }), { skip });

  test('the inbox lists what waits, and an approver answers with a form that says what it takes', () =>
    inBrowser(async (browser) => {
      const form = {
        type: 'object',
        properties: { amount: { type: 'number', minimum: 0, title: 'Amount in euros', description: 'Without the tax.' }, level: { type: 'string', enum: ['low', 'high'] }, urgent: { type: 'boolean' }, note: { type: 'string' } },
        required: ['amount'],
        additionalProperties: false,
      };
      const question = await openQuestion(cluster, { approvers: [a('User_2')], form, body: { raw_text: 'Pay the invoice', amount: 120, level: 'low', note: '<b>bold</b> \u202eevil' }, reason: '<img src=x onerror=alert(1)> The amount is high.' });
      const app = await open(browser, 'approvals', { user: 'User_2' });
      await app.sees('Pay the invoice');
      await app.shot('approvals');
      await app.tab.getByRole('link', { name: 'Pay the invoice' }).click();
      await app.sees('The amount is high.');
      assert.equal(await app.page.evaluate(`document.querySelectorAll('main :is(img, b, script)').length`), 0);
      await app.shot('approval');
      await app.tab.getByLabel('Amount in euros').fill('-1');
      await app.button('Approve with these changes').click();
      await app.tab.getByRole('alert').filter({ hasText: 'amount' }).waitFor();
      assert.equal(await question.status(), 'open');
      await app.tab.getByLabel('Amount in euros').fill('100');
      await app.tab.getByLabel('level').selectOption('high');
      await app.button('Approve with these changes').click();
      await app.sees('You have approved.');
      const [answer] = await question.answers();
      assert.deepEqual(JSON.parse(JSON.stringify(answer.corrections)), { amount: 100, level: 'high', note: '<b>bold</b> \u202eevil', urgent: false });
      await app.button('All approvals').click();
      await app.sees('Nothing waits for you');
      await app.tab.getByRole('link', { name: 'Answered' }).click();
      await app.sees('Pay the invoice');
      app.assertSafe();
    }), { skip });

  test('a question that somebody else has answered meanwhile says so, and one of others is not shown', () =>
    inBrowser(async (browser) => {
      const question = await openQuestion(cluster, { approvers: [a('User_1'), a('User_2')] });
      const foreign = await openQuestion(cluster, { approvers: [a('User_2')] });
      const app = await open(browser, `approvals/${question.id}`);
      await app.button('Reject').waitFor();
      assertOk(await cluster.request('POST', `/api/workflows/questions/${question.id}`, { as: 'User_2', body: { approved: true } }));
      await app.button('Reject').click();
      await app.tab.getByRole('alert').filter({ hasText: 'User_2' }).waitFor();
      await app.tab.evaluate((hash) => (location.hash = hash), `#/approvals/${foreign.id}`);
      await app.sees('This question does not exist, or is not for you.');
      await app.tab.evaluate(() => (location.hash = '#/workflows/nothing/here'));
      await app.tab.locator('main .message').waitFor();
      app.assertSafe();
    }), { skip });
});
