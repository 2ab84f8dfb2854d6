// SPDX-License-Identifier: MIT
//
// Documents in the web app: uploads and their progress, questions about them, the places that answers name, and the agent.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { openApp, watchReports } from '../support/app.mjs';
import { passagesOf, withEngine } from '../support/asking.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { forgetLimits, uploadIndexed } from '../support/documents.mjs';
import { assertOk, eventually, makeFolder, suite } from '../support/harness.mjs';
import { makePdf, prose, startEmbedder } from '../support/indexing.mjs';
import { assertReachable, VIEWS } from '../support/reach.mjs';

const skip = findBrowser() ? false : 'no chromium is installed';
const HOSTILE = `<img src=x onerror=alert(1)> "a" & 'b'.txt`;
const LEASES = `# Leases\n\n${prose(120, 3)}\n\nA lease lasts 150 seconds, unless it is renewed by a heartbeat.\n\n${prose(120, 4)}\n`;

suite('documents in the web app', { nodes: 0 }, ({ test, cluster }) => {
  watchReports(cluster);
  let embedder;
  let folder;
  before(async () => {
    embedder = await startEmbedder();
    for (let i = 0; i < 2; i++) await cluster.startNode({ args: [`--embeddings=openai:${embedder.url}#stub`] });
    folder = makeFolder();
  });
  beforeEach(() => forgetLimits(cluster));
  after(async () => {
    folder.remove();
    await embedder.stop();
  });

  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  async function opened(browser, { user = 'User_1', path = 'app/#/documents', ...view } = {}) {
    const app = await openApp(browser, cluster.nodes[0].url, { path, ...view });
    await app.signIn(user, cluster.accounts[user].secret);
    await app.tab.getByRole('heading', { name: 'Documents', exact: true }).waitFor();
    return app;
  }
  const choose = (app, names) => app.tab.locator('#files').setInputFiles(names);
  const row = (app, name) => app.tab.locator('.doc', { hasText: name });
  const docsOf = async (as) => assertOk(await cluster.request('GET', '/api/docs', { as })).documents;
  const askAbout = async (app, text) => {
    const field = app.tab.getByRole('textbox', { name: 'Your question about the documents' });
    await field.fill(text);
    await field.press('Enter');
  };

  test('several files are uploaded, their progress is shown as it happens, and a failure says its reason', () =>
    inBrowser(async (browser) => {
      const app = await opened(browser);
      await app.sees('Upload documents, and ask about what is in them.');
      await app.shot('documents-none');
      const release = embedder.hold();
      await choose(app, [folder.file('leases.md', LEASES), folder.file('broken.pdf', '%PDF-1.4\nno'), folder.file('picture.png', '\x89PNG\r\n\x1a\n')]);
      await row(app, 'leases.md').getByText('Computing vectors').waitFor();
      await row(app, 'broken.pdf').getByText('Could not be indexed:').waitFor();
      await row(app, 'picture.png').getByText('Not accepted:').waitFor();
      await app.shot('documents-progress');
      release();
      await eventually(async () => (await row(app, 'leases.md').getByRole('progressbar').count()) === 0 && (await row(app, 'leases.md').getByRole('button', { name: 'leases.md', exact: true }).count()) === 1, { what: 'it is indexed' });
      await app.tab.getByRole('status').getByText('2 documents, 1 failed').waitFor();
      await choose(app, [folder.file('again.md', LEASES)]);
      await app.sees('You have this file already, as leases.md.');
      assert.deepEqual((await docsOf('User_1')).map(({ filename, status }) => [filename, status]).sort(), [['broken.pdf', 'FAILED'], ['leases.md', 'INDEXED']]);
      app.assertSafe();
    }), { skip });

  test('more files than the node takes in a minute wait, and are all stored, while one looks at another page', () =>
    inBrowser(async (browser) => {
      const app = await opened(browser, { user: 'User_2' });
      const names = Array.from({ length: 8 }, (_, i) => folder.file(`many-${i}.txt`, prose(20, i + 10)));
      await choose(app, names);
      await app.sees(/This one is next in \d+ seconds?\./);
      await app.shot('documents-many');
      await app.tab.getByRole('link', { name: 'Ask', exact: true }).click();
      // A user would wait for a minute; the page does so by itself.
      await forgetLimits(cluster);
      await app.page.evaluate('dispatchEvent(new Event("online"))');
      await eventually(async () => (await docsOf('User_2')).length === 8, { what: 'all are stored', ms: 60_000 });
      await app.tab.getByRole('link', { name: /^Files/ }).click();
      await app.tab.getByRole('status').getByText('8 documents').waitFor();
      app.assertSafe();
    }), { skip });

  test('files that are dropped on the page are uploaded, and a document is deleted', () =>
    inBrowser(async (browser) => {
      const app = await opened(browser, { user: 'User_2' });
      const data = await app.tab.evaluateHandle(() => {
        const transfer = new DataTransfer();
        transfer.items.add(new File(['A dropped text about tea.'], 'dropped.txt'));
        return transfer;
      });
      await app.tab.dispatchEvent('.beside', 'dragover', { dataTransfer: data });
      await app.sees('Drop the files here');
      await app.shot('documents-drop');
      await app.tab.dispatchEvent('.beside', 'drop', { dataTransfer: data });
      await row(app, 'dropped.txt').getByRole('button', { name: 'dropped.txt', exact: true }).waitFor();
      await row(app, 'dropped.txt').getByRole('button', { name: 'More about dropped.txt' }).click();
      await app.tab.getByRole('menuitem', { name: 'Delete' }).click();
      await app.button('Delete').click();
      await eventually(async () => (await row(app, 'dropped.txt').count()) === 0, { what: 'it is gone' });
      assert.ok((await docsOf('User_2')).every(({ filename }) => filename !== 'dropped.txt'));
      app.assertSafe();
    }), { skip });

  test('an answer names its places, and a place opens in its document, marked and with its page', () =>
    inBrowser(async (browser) => {
      await uploadIndexed(cluster, { as: 'User_1', name: 'handbook.pdf', bytes: makePdf(3, (page, i) => (page === 2 && i === 4 ? 'The marmalade is kept in cupboard nine.' : `Page ${page}, line ${i}: nothing about it.`)), type: 'application/pdf' });
      await withEngine(cluster, ({ user }) => {
        const [number] = Object.entries(passagesOf(user)).find(([, text]) => text.includes('cupboard nine'));
        return `It is in **cupboard nine** [${number}], and not elsewhere [77].`;
      }, async () => {
        const app = await opened(browser, { path: 'app/#/documents/ask' });
        await app.shot('documents-ask-new');
        await askAbout(app, 'Where is the marmalade kept?');
        await app.sees('cupboard nine');
        await app.tab.getByRole('status').getByText('The answer is complete.').waitFor();
        const mark = app.tab.locator('.answer').getByRole('button', { name: /^Place \d: handbook\.pdf, Page \d$/ });
        assert.equal(await mark.count(), 1);
        assert.match(await app.text('.answer .markdown'), /^It is in cupboard nine \d, and not elsewhere\.$/);
        await mark.click();
        const pane = app.tab.getByRole('region', { name: 'handbook.pdf' });
        await pane.locator('mark').waitFor();
        assert.match(await pane.locator('mark').innerText(), /cupboard nine/);
        assert.match(await pane.innerText(), /Page 2/);
        await app.shot('documents-passage');
        await app.tab.keyboard.press('Escape');
        await eventually(async () => (await pane.count()) === 0, { what: 'the pane is closed' });
        assert.equal(await app.page.evaluate('document.activeElement.className'), 'cite', 'the focus is back at the mark');
        await app.tab.reload();
        await app.sees('cupboard nine');
        app.assertSafe();
      });
    }), { skip });

  test('a question that is under way when the page is loaded again is not lost', () =>
    inBrowser(async (browser) => {
      let go;
      const gate = new Promise((resolve) => (go = resolve));
      await withEngine(cluster, async () => {
        await gate;
        return 'Nine, as before [1].';
      }, async (engine) => {
        const app = await opened(browser, { path: 'app/#/documents/ask' });
        await askAbout(app, 'Which cupboard has the marmalade?');
        await engine.asked(1);
        await app.tab.reload();
        await app.sees('Which cupboard has the marmalade?');
        go();
        await app.sees('Nine, as before');
        app.assertSafe();
      });
    }), { skip });

  test('the agent shows its plan, its searches and what it read while it works', () =>
    inBrowser(async (browser) => {
      const steps = ['{"tool":"search_docs","input":{"query":"marmalade <b>"},"notes":"looking"}', '{"tool":"open_citation","input":{"citation":1}}', '{"tool":"final","input":{}}'];
      let go;
      const gate = new Promise((resolve) => (go = resolve));
      await withEngine(cluster, async ({ kind }) => {
        if (kind === 'plan') return '{"steps":["Search for marmalade","Answer"]}';
        if (kind === 'step') return steps.shift() ?? '{"tool":"final","input":{}}';
        await gate;
        return 'In cupboard nine [1].';
      }, async () => {
        const app = await opened(browser, { path: 'app/#/documents/ask' });
        await app.tab.getByRole('switch', { name: 'Agent' }).check();
        await askAbout(app, 'Compare the cupboards.');
        await app.sees('Made a plan');
        await app.sees('marmalade <b>');
        await app.sees('Read passage');
        await app.shot('documents-agent');
        go();
        await app.sees('In cupboard nine');
        await app.tab.getByText('What the agent did').click();
        await app.sees('Wrote the answer');
        app.assertSafe();
      });
    }), { skip });

  test('names and passages full of HTML and unseen letters are shown as text', () =>
    inBrowser(async (browser) => {
      const bytes = `<script>document.title = "taken"</script> The <b>tea</b> is \u202ehot\u202c in pot <img src=x onerror=alert(1)>.\n`;
      const doc = await uploadIndexed(cluster, { as: 'User_2', name: HOSTILE.replaceAll('"', '%22'), bytes });
      await withEngine(cluster, () => 'It is <img src=x onerror=alert(2)> hot [1].', async () => {
        const app = await opened(browser, { user: 'User_2', path: 'app/#/documents/ask' });
        await askAbout(app, 'Is the tea in the pot hot?');
        await app.sees('hot');
        await app.tab.locator('.sources button').first().click();
        await app.tab.locator('.passage mark').waitFor();
        assert.match(await app.text('.passage'), /<script>document\.title/);
        await app.shot('documents-hostile');
        assert.equal(await app.page.evaluate(`document.querySelectorAll('main :is(script, img, iframe, b)').length`), 0);
        await app.tab.getByRole('link', { name: /^Files/ }).click();
        await app.tab.getByText(doc.filename).waitFor();
        assert.doesNotMatch(await app.tab.title(), /taken/);
        app.assertSafe();
      });
    }), { skip });

  test('two accounts in one browser do not see the documents and questions of each other', () =>
    inBrowser(async (browser) => {
      const app = await opened(browser);
      await row(app, 'leases.md').waitFor();
      const second = await app.another('app/#/documents');
      await second.signIn('User_2', cluster.accounts.User_2.secret);
      await second.tab.locator('.doc').first().waitFor();
      assert.equal(await row(second, 'leases.md').count(), 0);
      await second.tab.getByRole('link', { name: 'Ask', exact: true }).click();
      await second.sees('What do your documents say?');
    }), { skip });

  for (const { name, ...view } of VIEWS) test(`axe finds nothing on these pages, ${name}`, () =>
    inBrowser(async (browser) => {
      await withEngine(cluster, ({ user }) => `In cupboard nine [${Object.keys(passagesOf(user))[0]}].`, async () => {
        await forgetLimits(cluster);
        const app = await opened(browser, view);
        await row(app, 'leases.md').waitFor();
        await choose(app, [folder.file('picture.png', '\x89PNG\r\n\x1a\n')]);
        await row(app, 'picture.png').getByText('Not accepted:').waitFor();
        await assertReachable(app, `${name}-documents`);
        await app.tab.getByRole('link', { name: 'Ask', exact: true }).click();
        await assertReachable(app, `${name}-documents-ask-new`);
        await askAbout(app, 'Where is the marmalade kept?');
        await app.tab.getByRole('status').getByText('The answer is complete.').waitFor();
        await assertReachable(app, `${name}-documents-answer`);
        await app.tab.locator('.sources button').first().click();
        await app.tab.locator('.passage mark').waitFor();
        await assertReachable(app, `${name}-documents-passage`);
        app.assertSafe();
      });
    }), { skip });
});
