// SPDX-License-Identifier: MIT
//
// Rooms, workflows and approvals reach everybody: see reach.test.mjs. PARLEY_TEST_SHOTS names a folder for pictures.
import assert from 'node:assert/strict';
import { openApp, watchReports } from '../support/app.mjs';
import { a, openQuestion } from '../support/approvals.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { assertOk, suite } from '../support/harness.mjs';
import { assertReachable, VIEWS } from '../support/reach.mjs';
import { newRoom, say } from '../support/rooms.mjs';
import { ownShards } from '../support/shards.mjs';
import { no, withAgents, yes } from '../support/workflow.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';

suite('rooms and workflows reach everybody', { nodes: 1 }, ({ test, cluster }) => {
  watchReports(cluster);
  async function withApp({ name, ...view }, use) {
    const browser = await Browser.start();
    try {
      const app = await openApp(browser, cluster.nodes[0].url, view);
      await app.signIn('User_1', cluster.accounts.User_1.secret);
      await app.question.waitFor();
      await use(app, name, (place) => app.tab.evaluate((hash) => (location.hash = hash), `#/${place}`));
      app.assertSafe();
    } finally {
      await browser.stop();
    }
  }

  for (const view of VIEWS) test(`axe finds nothing in rooms and among bots, ${view.name}`, () =>
    withApp(view, async (app, name, go) => {
      const room = await newRoom(cluster, { name: 'Tea kitchen' });
      const first = await say(cluster, room, 'Who wants **tea**? The kettle is on, and there is a new tin of `Assam`.', { as: 'User_2' });
      await say(cluster, room, 'I do, @User_2! With milk, please.', { reply_to: first.id });
      await say(cluster, room, 'And a biscuit.');
      await say(cluster, room, 'On my way, @User_1.\n\n1. Tea\n2. Milk\n3. A biscuit', { as: 'User_2' });
      await say(cluster, room, '@annex /help');
      await go('rooms');
      await app.sees('Talk with people and bots');
      await assertReachable(app, `${name}-rooms`);
      await go(`rooms/${room}`);
      await app.sees('/unregister');
      await assertReachable(app, `${name}-room`);
      await app.tab.locator('.said').first().hover();
      await app.tab.getByRole('button', { name: 'Reply to User_2' }).first().click();
      await app.tab.getByRole('textbox', { name: 'Your message' }).pressSequentially('@');
      await app.tab.getByRole('option').first().waitFor();
      await assertReachable(app, `${name}-room-completion`);
      await go('rooms/bots');
      await app.button('Register a bot').first().click();
      await app.tab.getByLabel('Name', { exact: true }).fill(`bot-${name}`);
      await app.tab.getByLabel('Person it speaks as (optional)').fill('Ann Miller');
      await assertReachable(app, `${name}-bot-form`);
      await app.tab.locator('form').getByRole('button', { name: 'Register a bot' }).click();
      await app.sees(`The keys of @bot-${name}.`);
      await assertReachable(app, `${name}-bots`);
      await go('rooms/evaluations');
      await app.sees('Evaluate a bot');
      await assertReachable(app, `${name}-evaluations`);
    }), { skip });

  for (const view of VIEWS) test(`axe finds nothing in workflows and approvals, ${view.name}`, () =>
    withApp(view, async (app, name, go) => {
      const form = { type: 'object', properties: { amount: { type: 'integer', title: 'Amount in euros', description: 'Without the tax.' }, level: { enum: ['low', 'high'], title: 'Level' }, is_urgent: { type: 'boolean', title: 'Urgent' } }, required: ['amount'] };
      const question = await openQuestion(cluster, { approvers: [a('User_1')], form, body: { raw_text: 'Pay the invoice of March', amount: 1200, level: 'low', entities: [{ table: 'invoices' }] }, reason: 'The amount is above the limit of this agent.', deadlineMs: 86_400_000 });
      await go('approvals');
      await app.sees('Pay the invoice of March');
      await assertReachable(app, `${name}-approvals`);
      await go(`approvals/${question.id}`);
      await app.sees('above the limit');
      await assertReachable(app, `${name}-approval`);
      await app.button('Reject').click();
      await app.sees('You have rejected.');
      await go('workflows');
      await app.button('Workflow: Chosen by the request').click();
      await app.tab.getByRole('menuitemradio', { name: 'RULE' }).click();
      await app.tab.locator('.tree .box').first().waitFor();
      await assertReachable(app, `${name}-workflow-new`);
      const script = { 'model.verifyRequest': [no('There is no table "ghosts". There are cards, episodes and patterns.'), yes()], 'model.ruleToSQL': yes({ sql_query: 'SELECT * FROM patterns LIMIT 3' }, 'The statement is written.') };
      await withAgents(cluster, script, async () => {
        await app.tab.getByRole('textbox', { name: 'Request' }).fill('run Show ghosts');
        await app.tab.keyboard.press('Enter');
        await app.sees('This run waits for a person');
        await assertReachable(app, `${name}-workflow-stopped`);
        await app.tab.locator('.stop').getByLabel('Request').fill('run Show patterns');
        await app.button('Approve with these changes').click();
        await app.sees('The run has ended well, after a person approved it.');
        await app.tab.locator('.changes').waitFor();
        await assertReachable(app, `${name}-workflow-done`);
      });
      const { runs } = assertOk(await cluster.request('GET', '/api/workflows/history', { as: 'User_1', query: { status: 'approved' } }));
      assert.ok(runs.length > 0);
    }), { skip });
});
