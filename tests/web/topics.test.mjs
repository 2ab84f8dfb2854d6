// SPDX-License-Identifier: MIT
//
// Topics in the web app, questions that are changed and stopped, several tabs, and a node that dies behind nginx.
// Shards: 4, because lists of topics are merged.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { openApp, takeQuestion, watchReports } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { findNginx, startNginx } from '../support/nginx.mjs';

const skip = findBrowser() ? false : 'no chromium is installed';
const nginxReason = findNginx().reason;

suite('topics in the web app', { nodes: 2 }, ({ test, cluster }) => {
  watchReports(cluster);
  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  async function signedIn(browser, { user = 'User_1', url = cluster.nodes[0].url, ...view } = {}) {
    const app = await openApp(browser, url, view);
    await app.signIn(user, cluster.accounts[user].secret);
    await app.question.waitFor();
    return app;
  }
  async function answered(app, question, answer) {
    await app.ask(question);
    await (await takeQuestion(cluster)).end(answer);
    await app.sees(answer);
  }
  const threadOf = async (app) => assertOk(await cluster.request('GET', '/api/get-topic-thread', { as: 'User_1', query: { Topic: app.topic, Detail: 'true' } }));
  const names = (app) => app.tab.locator('.side .list li a').allInnerTexts();

  test('the newest topic is first, a search finds what is in answers, and a topic is exported and deleted', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await answered(app, 'First topic?', 'It mentions marmalade.');
      await app.button('New topic').click();
      await answered(app, 'Second topic?', 'It mentions tea.');
      await app.tab.reload();
      await eventually(async () => (await names(app)).join() === 'Second topic?,First topic?', { what: 'both topics are listed' });
      await app.tab.getByRole('searchbox').fill('MARMALADE');
      await eventually(async () => (await names(app)).join() === 'First topic?', { what: 'one topic is found' });
      await app.tab.getByRole('link', { name: 'First topic?' }).click();
      await app.sees('It mentions marmalade.');
      const download = app.tab.waitForEvent('download');
      await app.tab.locator('.head .topic-menu button').click();
      await app.tab.getByRole('menuitem', { name: 'Export' }).click();
      const file = await download;
      assert.equal(file.suggestedFilename(), 'First-topic.md');
      assert.match(readFileSync(await file.path(), 'utf8'), /^# First topic\?\n\n## Question 1 .*\n\n> First topic\?\n\nIt mentions marmalade\.\n/);
      await app.tab.locator('.head .topic-menu button').click();
      await app.tab.getByRole('menuitem', { name: 'Delete' }).click();
      await app.button('Delete').click();
      await app.sees('What would you like to know?');
      await app.button('New topic').click();
      await app.tab.getByRole('searchbox').fill('');
      await eventually(async () => (await names(app)).join() === 'Second topic?', { what: 'it is gone' });
      app.assertSafe();
    }), { skip });

  test('the models that engines serve for chat are there to choose from', () =>
    inBrowser(async (browser) => {
      for (const [models, Apis] of [['qwen/Qwen3 8B', 'chat,completions'], ['vectors', 'embeddings'], ['plain', '']])
        assertOk(await cluster.claimRaw({ models, query: Apis ? { Apis } : {} }));
      const app = await signedIn(browser);
      const items = app.tab.getByRole('menuitemradio');
      await app.button('Model: Default model').click();
      await eventually(async () => (await items.allInnerTexts()).join() === 'Default model,qwen/Qwen3 8B', { what: 'one model is listed' });
      await items.last().click();
      await app.ask('Who answers?');
      const claim = await eventually(async () => {
        const one = await cluster.claim({ models: 'qwen/Qwen3 8B', detail: true });
        return one.Topic !== null && one;
      });
      assertOk(await cluster.answerRaw({ Topic: claim.Topic, Seq: 1, Query: 'Who answers?', Lease: claim.Lease, Answer: ['Qwen does.'] }));
      await app.sees('Qwen does.');
      await app.sees('Answered by qwen/Qwen3 8B');
      await app.button('Model: qwen/Qwen3 8B').waitFor();
      app.assertSafe();
    }), { skip });

  test('a question is stopped, and asked again in its place', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await app.ask('What is stopped?');
      await app.button('Stop').click();
      await app.sees('You stopped this question.');
      assert.equal((await threadOf(app))[0].Status, 'Cancelled');
      await app.button('Ask again').click();
      const engine = await takeQuestion(cluster);
      assert.deepEqual([engine.Seq, engine.claim.Details[2].Modifiers], [2, { Replaces: 1 }]);
      await engine.end('Nothing any more.');
      await app.sees('Nothing any more.');
      assert.equal(await app.tab.locator('.turn').count(), 1);
      app.assertSafe();
    }), { skip });

  test('an earlier question is changed, and the draft beside it is kept', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await answered(app, 'How log does it last?', 'A log floats.');
      const shows = (text) => eventually(async () => (await app.question.inputValue()) === text, { what: text });
      await app.question.fill('A draft');
      await app.button('Edit and ask again').click();
      await shows('How log does it last?');
      await app.tab.keyboard.press('Escape');
      await shows('A draft');
      await app.button('Edit and ask again').click();
      await shows('How log does it last?');
      await answered(app, 'How long does it last?', 'An hour.');
      assert.equal(await app.tab.getByText('A log floats.').count(), 0);
      await answered(app, 'And then?', 'Another one.');
      await app.button('Edit and ask again').first().click();
      await shows('How long does it last?');
      await answered(app, 'How long does it really last?', 'Two hours.');
      const questions = ['How long does it really last?', 'And then?'];
      const areInOrder = async () => {
        const turns = await app.tab.locator('.turn').allInnerTexts();
        return turns.length === 2 && turns.every((text, i) => text.includes(questions[i]));
      };
      await eventually(areInOrder, { what: 'it is in the place of the first question' });
      await app.tab.reload();
      await eventually(areInOrder, { what: 'it is there after a reload too' });
      app.assertSafe();
    }), { skip });

  test('the model that is chosen is asked for, and an engine that serves another one is named', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await app.button('Model: Default model').click();
      await app.tab.getByRole('menuitem', { name: 'Another model …' }).click();
      await app.tab.getByLabel('Name of the model').fill('mistral');
      await app.button('Use it').click();
      await app.ask('Who answers?');
      const claim = await eventually(async () => {
        const one = await cluster.claim({ detail: true, models: 'mistral' });
        return one.Topic !== null && one;
      });
      assert.equal(claim.Details[1].Model, 'mistral');
      await cluster.answer({ Topic: claim.Topic, Seq: 1, Lease: claim.Lease, Query: 'Who answers?', Answer: ['I do.'], Model: 'mistral' });
      await app.sees('Answered by mistral');
      await app.tab.reload();
      await app.button('Model: mistral').waitFor();
    }), { skip });

  test('what is asked in one tab appears in another one, and both show the answer while it is written', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await answered(app, 'Is anybody there?', 'Here.');
      const second = await app.another(`app/${new URL(app.tab.url()).hash}`);
      await second.button('Continue as User_1').click();
      await second.sees('Here.');
      await app.ask('And now?');
      await second.sees('And now?');
      const engine = await takeQuestion(cluster);
      await engine.write('Both of ');
      for (const one of [app, second]) await one.sees('Both of');
      await engine.end('Both of us.');
      for (const one of [app, second]) await one.sees('Both of us.');
    }), { skip });

  test('two accounts in one browser do not see each other', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await answered(app, 'A private question?', 'A private answer.');
      const second = await app.another(`app/${new URL(app.tab.url()).hash}`);
      await second.signIn('User_2', cluster.accounts.User_2.secret);
      await second.sees('This topic does not exist, or has been deleted.');
      await second.sees('Your topics will be listed here.');
      assert.doesNotMatch(await second.text('body'), /private/);
      await app.sees('A private answer.');
    }), { skip });

  test('a node that dies in the middle of an answer costs nothing, behind nginx and below a path', () =>
    inBrowser(async (browser) => {
      const nginx = await startNginx(cluster.nodes.map((node) => new URL(node.url).port));
      try {
        const app = await signedIn(browser, { url: `${nginx.url}/` });
        await app.ask('Who survives?');
        const engine = await takeQuestion(cluster, { node: 1 });
        await engine.write('The answer ');
        await app.sees('The answer');
        await cluster.nodes[0].kill();
        await engine.write('survives');
        await app.sees('The answer survives');
        await engine.end('The answer survives.');
        await app.sees('The answer survives.');
        await answered(app, 'And the next one?', 'It is served by the other node.');
        app.assertSafe();
      } finally {
        await nginx.stop();
      }
    }), { skip: skip || nginxReason || false });
});
