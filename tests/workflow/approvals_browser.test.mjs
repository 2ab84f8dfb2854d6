// SPDX-License-Identifier: MIT
//
// The page of a link in a real browser: light and dark, on a desk and on a phone, without scripts, and answered by its form.
// PARLEY_TEST_SHOTS names a folder for pictures of it. Skipped where no browser is installed.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { a, openQuestion } from '../support/approvals.mjs';
import { Browser, contrasts, findBrowser } from '../support/browser.mjs';
import { ACCOUNTS, assertOk, eventually, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // a page: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const accounts = { ...ACCOUNTS, Anna: { secret: 'anna-secret', role: 'user' } };
const VIEWS = [
  { name: 'light', width: 1200, scheme: 'light' },
  { name: 'dark', width: 1200, scheme: 'dark' },
  { name: 'phone', width: 390, scheme: 'light' },
  { name: 'phone-dark', width: 390, scheme: 'dark' },
  { name: 'narrow', width: 320, scheme: 'light' },
];
const FORM = {
  type: 'object',
  properties: {
    rule_text: { type: 'string', title: 'Rule', description: 'What is to be run, in plain words.' },
    customer: { type: 'string', title: 'Customer', maxLength: 80 },
    amount: { type: 'integer', title: 'Amount', minimum: 0, maximum: 1000, description: 'In euros, at most 1,000.' },
    is_urgent: { type: 'boolean', title: 'Urgent' },
    level: { type: 'string', enum: ['low', 'middle', 'high'], title: 'Level' },
  },
  required: ['amount'],
  additionalProperties: false,
};
const BODY = {
  raw_text: `run Show patterns of ${'a-table-with-a-name-that-never-ends-'.repeat(6)}\nand then something else`,
  rule_text: 'Show all patterns', customer: 'Miller & Sons', amount: 5000, level: 'low', entities: [{ id: 1, name: '<b>x</b>' }],
};

suite('the page of a link in a browser', { accounts, nodes: 1, sweep: false }, ({ test, cluster }) => {
  async function opened() {
    const reason = 'The amount is above the limit of this agent, and the table is unknown. A person has to decide.';
    const question = await openQuestion(cluster, { approvers: [a('Anna')], quorum: 1, form: FORM, body: BODY, reason, deadlineMs: 86_400_000 });
    const { questions } = assertOk(await cluster.request('GET', '/api/workflows/questions', { as: 'Anna' }));
    return [question, new URL(questions.find(({ id }) => id === question.id).link, cluster.nodes[0].url).href];
  }
  async function withBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  async function named(page) {
    const { nodes } = await page.send('Accessibility.getFullAXTree');
    return nodes.filter(({ ignored }) => !ignored).map(({ role, name, description, properties = [], value }) => {
      const level = properties.find((one) => one.name === 'level')?.value.value;
      return [`${role.value}${level ? ` ${level}` : ''}: ${name?.value ?? ''}`, description?.value ?? '', value?.value];
    });
  }

  test('asks for nothing but itself, fits every width, and every text has a contrast of 4.5 at least', () =>
    withBrowser(async (browser) => {
      const [, address] = await opened();
      const backs = new Set();
      for (const { name, ...view } of VIEWS) {
        const page = await browser.open(address, view);
        assert.deepEqual(page.requests, [address], name);
        assert.deepEqual(page.complaints, [], name);
        assert.ok((await page.evaluate('document.documentElement.scrollWidth')) <= view.width, name);
        const found = await page.evaluate(`(${contrasts})()`);
        assert.ok(found.length > 20, name);
        for (const [text, contrast] of found) assert.ok(contrast >= 4.5, `${name}: ${text}: ${contrast}`);
        backs.add(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
        if (process.env.PARLEY_TEST_SHOTS) await page.screenshot(join(process.env.PARLEY_TEST_SHOTS, `approval-${name}.png`));
      }
      assert.equal(backs.size, 2, 'light and dark differ');
    }), { skip });

  test('a screen reader finds headings in order, and every field by its label and description', () =>
    withBrowser(async (browser) => {
      const [, address] = await opened();
      const page = await browser.open(address);
      const found = await named(page);
      const find = (name) => found.filter(([one]) => one === name);
      for (const name of ['RootWebArea: Approval - Parley', 'main: ', 'heading 1: A workflow waits for you', 'heading 2: What it is about', 'heading 2: Your answer', 'group: Corrections',
        'textbox: Customer', 'checkbox: Urgent', 'combobox: Level', 'textbox: Comment', 'button: Approve', 'button: Reject'])
        assert.equal(find(name).length, 1, `${name} in\n${found.map(([one]) => one).join('\n')}`);
      assert.equal(find('textbox: Rule')[0][1], 'What is to be run, in plain words.');
      assert.equal(find('spinbutton: Amount (required with corrections)')[0][1], 'In euros, at most 1,000.');
      assert.equal(await page.evaluate('document.documentElement.lang'), 'en');
    }), { skip });

  test('what is decided and both buttons are in sight at once, on a phone as well, and Enter in a field decides nothing', () =>
    withBrowser(async (browser) => {
      const [question, address] = await opened();
      const page = await browser.open(address, { width: 390 });
      assert.match(await page.evaluate('document.querySelector(".step").textContent'), /^RULE /);
      for (const text of ['RULE', 'Approve', 'Reject']) assert.ok(await page.evaluate(`[...document.querySelectorAll('.step, .answers button')].find((one) => one.textContent.includes('${text}')).getBoundingClientRect().bottom < innerHeight`), text);
      await page.tab.locator('[name="field.customer"]').press('Enter');
      await page.tab.locator('[name="field.amount"]').press('Enter');
      assert.equal(page.tab.url(), address);
      assert.equal(await question.status(), 'open');
      assert.equal((await question.answers()).length, 0);
    }), { skip });

  test('approving what is shown sends no corrections, without scripts', () =>
    withBrowser(async (browser) => {
      const [question, address] = await opened();
      const page = await browser.open(address, { scripts: false });
      // Scripts of the page do not run; the keyboard does.
      const { root } = await page.send('DOM.getDocument', { depth: 0 });
      const { nodeId } = await page.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'button[value="approve"]' });
      await page.send('DOM.focus', { nodeId });
      for (const type of ['rawKeyDown', 'char', 'keyUp']) await page.send('Input.dispatchKeyEvent', { type, key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: type === 'char' ? '\r' : undefined });
      await eventually(async () => (await question.answers()).length === 1);
      const [{ corrections, who, how, approved }] = await question.answers();
      assert.deepEqual([corrections, who.account, how, approved], [null, 'Anna', 'link', true]);
    }), { skip });

  test('what a person changes is a correction; a mistake is shown where they are, and what they wrote stays', () =>
    withBrowser(async (browser) => {
      const [question, address] = await opened();
      const page = await browser.open(address);
      const submit = async (value) => {
        const loaded = page.loaded();
        await page.evaluate(`document.querySelector('button[value="${value}"]').click()`);
        await loaded;
      };
      await page.evaluate(`document.getElementById('comment').value = 'as agreed\\nby phone'; document.querySelector('[name="field.customer"]').value = 'Meyer';`);
      await submit('approve');
      assert.match(await page.evaluate(`document.querySelector('[role=alert]').textContent`), /amount/);
      assert.equal(await page.evaluate(`document.querySelector('[name="field.customer"]').value`), 'Meyer');
      assert.equal(await page.evaluate(`document.getElementById('comment').value`), 'as agreed\nby phone');
      if (process.env.PARLEY_TEST_SHOTS) await page.screenshot(join(process.env.PARLEY_TEST_SHOTS, 'approval-fault.png'));
      assert.equal(await question.status(), 'open');
      await page.evaluate(`document.querySelector('[name="field.amount"]').value = '900'; document.querySelector('input[type=checkbox]').click(); document.querySelector('select').value = 'high';`);
      await submit('approve');
      assert.equal(await page.evaluate(`document.querySelector('h1').textContent`), 'Your approval is recorded');
      if (process.env.PARLEY_TEST_SHOTS) await page.screenshot(join(process.env.PARLEY_TEST_SHOTS, 'approval-done.png'));
      const [{ corrections, comment }] = await question.answers();
      assert.deepEqual(corrections, { rule_text: 'Show all patterns', customer: 'Meyer', amount: 900, is_urgent: true, level: 'high' });
      assert.equal(comment, 'as agreed\nby phone');
      await page.go(address);
      assert.match(await page.evaluate('document.body.textContent'), /Anna answered this question at/);
      assert.deepEqual(page.complaints.filter((text) => !/409|400/.test(text)), []);
    }), { skip });
});
