// SPDX-License-Identifier: MIT
//
// The box for questions on pages of other origins, under their own strict policies.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, beforeEach } from 'node:test';
import { takeQuestion, watchReports } from '../support/app.mjs';
import { openLibrary } from '../support/asking.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { assertProblem, suite } from '../support/harness.mjs';

const skip = findBrowser() ? false : 'no chromium is installed';
const BOOK = { 'leases.md': '# Leases\n\nA lease lasts 150 seconds unless a setting says otherwise.\n' };
const QUESTION = 'How long does a lease last?';
const MAX_BYTES = 8 << 10;

// Serves one page at a time, on an origin of its own.
class Site {
  async start() {
    this.server = http.createServer((request, response) => response.writeHead(request.url === '/' ? 200 : 404, this.headers).end(request.url === '/' ? this.page : ''));
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.server.address().port}/`;
    return this;
  }

  // `origin`: the Parley that its policy allows.
  show(origin, { collection = 'public', lang = 'en' } = {}) {
    this.headers = {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': `default-src 'none'; script-src ${origin}; connect-src ${origin}; img-src data:; require-trusted-types-for 'script'; trusted-types 'none'; base-uri 'none'; form-action 'none'`,
    };
    this.page = `<!doctype html><html lang="${lang}"><title>A shop</title><link rel="icon" href="data:,"><h1>A shop</h1><main><script src="${origin}/embed.js" data-collection="${collection}" async></script></main><p>The end.</p>`;
  }
}

suite('the box for questions on other pages', { nodes: 2, args: ['--trusted-proxies', '127.0.0.1'] }, ({ test, cluster }) => {
  let library;
  let site;
  watchReports(cluster);
  before(async () => {
    site = await new Site().start();
    library = await openLibrary(cluster.redis);
    await library.store('c:public', BOOK);
    await cluster.claim(); // an engine is there
  });
  beforeEach(() => library.forgetLimits());
  after(() => {
    site.server.closeAllConnections();
    site.server.close();
  });

  async function open(use, options) {
    const browser = await Browser.start();
    site.show(cluster.nodes[0].url, options);
    try {
      const page = await browser.open(site.url);
      await use(page, page.tab);
    } finally {
      await browser.stop();
    }
  }
  async function ask(tab, text = QUESTION) {
    await tab.getByRole('textbox', { name: 'Your question' }).fill(text);
    await tab.keyboard.press('Enter');
  }
  // The engine gets a prompt, and any engine may take it.
  const answerWith = async (text) => (await takeQuestion(cluster, { node: 1 })).end(text);

  test('a question is asked on a page of another origin and answered with links to its sources, and the browser objects to nothing', () =>
    open(async (page, tab) => {
      await ask(tab);
      await tab.getByText('Looking for an answer').waitFor();
      await answerWith('A lease lasts <b>150 seconds</b> [1].');
      await tab.getByText('A lease lasts <b>150 seconds</b>').waitFor();
      assert.equal(await tab.locator('.answer b').count(), 0);
      assert.equal(await tab.locator('.sources li').count(), 1);
      assert.deepEqual(page.complaints, []);
      const asked = page.requests.filter((url) => !url.startsWith(site.url) && !url.startsWith('data:'));
      assert.deepEqual([...new Set(asked)].sort(), [`${cluster.nodes[0].url}/ask`, `${cluster.nodes[0].url}/embed.js`]);
      assert.deepEqual(await tab.context().cookies(), []);
      assert.equal(await page.evaluate('localStorage.length + sessionStorage.length + Object.keys(window).filter((name) => /parley/i.test(name)).length'), 0);
    }), { skip });

  test('sources that are no addresses of the web are text, and the others are links', () =>
    open(async (page, tab) => {
      for (const [url, isLink] of [['javascript:alert(1)', false], ['data:text/html,x', false], ['https://example.org/a', true], ['/handbook/leases', true]]) {
        await tab.route('**/ask', (route) => {
          const done = { question: QUESTION, answer: 'See [1] and [7].', sources: [{ url, content: `from ${url}`, score: 1, position: 1 }], retrieval_time_ms: 0, generation_time_ms: 0 };
          return route.fulfill({ status: 200, headers: { 'access-control-allow-origin': '*', 'content-type': 'text/event-stream' }, body: `event: done\ndata: ${JSON.stringify(done)}\n\n` });
        });
        await ask(tab);
        await tab.getByText(`from ${url}`).waitFor();
        const links = tab.locator('.answer').last().locator('a');
        assert.equal(await links.count(), isLink ? 2 : 0, url);
        if (url.startsWith('/')) assert.equal(await links.first().getAttribute('href'), `${cluster.nodes[0].url}${url}`);
        await tab.unroute('**/ask');
      }
    }), { skip });

  test('a collection that this Parley does not publish is refused, and the page says so in its language', () =>
    open(async (page, tab) => {
      await tab.getByRole('textbox', { name: 'Ihre Frage' }).fill(QUESTION);
      await tab.getByRole('button', { name: 'Fragen' }).click();
      await tab.getByText('Diese Frage konnte hier nicht gestellt werden.').waitFor();
    }, { collection: 'secrets', lang: 'de-AT' }), { skip });

  test('a node that is away is said, and the question is still in the box', () =>
    open(async (page, tab) => {
      await tab.route('**/ask', (route) => route.abort());
      await ask(tab);
      await tab.getByText('The answers cannot be reached.').waitFor();
      assert.equal(await tab.getByRole('textbox', { name: 'Your question' }).inputValue(), QUESTION);
    }), { skip });

  test('POST /ask takes the name of the public collection, and no other', async () => {
    for (const collection of ['secrets', '', 'Public', 'x'.repeat(300), 7, ['public']]) {
      assertProblem(await cluster.request('POST', '/ask', { body: { question: QUESTION, collection } }), 400, 'bad_request');
    }
    for (const collection of [null, 'public']) {
      const response = await cluster.request('POST', '/ask', { body: { question: 'zebra crossing', collection } });
      assert.notEqual(response.status, 400, response.text);
    }
  });

  test('the script is small, asked for each time by its ETag, and may be loaded by pages that isolate themselves', async () => {
    const { status, headers, body } = await cluster.request('GET', '/embed.js', { headers: { 'Accept-Encoding': 'gzip' } });
    assert.equal(status, 200);
    assert.deepEqual([headers['content-type'], headers['cache-control'], headers['cross-origin-resource-policy']], ['text/javascript; charset=utf-8', 'no-cache', 'cross-origin']);
    assert.ok(body.length <= MAX_BYTES, `${body.length} bytes`);
    assert.equal((await cluster.request('GET', '/embed.js', { headers: { 'If-None-Match': headers.etag, 'Accept-Encoding': 'gzip' } })).status, 304);
  });
});
