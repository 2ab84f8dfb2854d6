// SPDX-License-Identifier: MIT
//
// GET /?q=: a question from the box on the first page, answered without scripts, on two nodes.
import assert from 'node:assert/strict';
import { after, before, beforeEach } from 'node:test';
import { openLibrary, withEngine } from '../support/asking.mjs';
import { assertOk, eventually, suite } from '../support/harness.mjs';
import { assertSafePage } from '../support/pages.mjs';

const NOTHING = "I don't know based on the provided documents.";
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const QUESTION = 'How long does a lease last?';
const BOOK = {
  'leases.md': '# Leases\n\nA lease lasts 150 seconds unless a setting says otherwise. Heartbeats renew a lease in time.\n',
  'fruit.md': '# Fruit\n\nBananas are <b>yellow</b> & grow in the tropics. A lease of <script>alert(1)</script> fruit is none.\n',
};
const URLS = { 'leases.md': '/handbook/leases', 'fruit.md': 'javascript:alert(1)' };

suite('the page of an answer', {}, ({ test, cluster }) => {
  let library;
  const visit = (question, { accept = BROWSER, ...options } = {}) =>
    cluster.request('GET', `/?q=${encodeURIComponent(question)}`, { headers: { Accept: accept }, ...options });
  async function page(question, options) {
    const response = await visit(question, options);
    assert.deepEqual([response.status, response.headers['content-type']], [200, 'text/html; charset=utf-8'], response.text);
    assertSafePage(response, { hasForm: true });
    return response.text;
  }
  before(async () => {
    library = await openLibrary(cluster.redis);
    await library.store('c:public', BOOK, { url: (name) => URLS[name] });
  });
  beforeEach(() => library.forgetLimits());
  after(() => library?.close());

  test('the first page has a box, and its answer leads to its sources', () =>
    withEngine(cluster, () => 'It lasts 150 seconds [1]. Code: `list[1]`.', async () => {
      const front = await cluster.request('GET', '/', { headers: { Accept: BROWSER } });
      assert.match(front.text, /<form class="ask" action="\.\/" role="search">/);
      for (const node of [0, 1]) {
        const html = await page(QUESTION, { node });
        assert.match(html, /<h1 class="question">How long does a lease last\?<\/h1>/);
        assert.match(html, /<input id="q" name="q" maxlength="4000" required value="How long does a lease last\?">/);
        assert.match(html, /<div class="answer">It lasts 150 seconds <a href="#source-1">\[1\]<\/a>\. Code: <code>list\[1\]<\/code>\.<\/div>/);
        assert.match(html, /<h2>Sources<\/h2>\n<ol class="sources">\n<li id="source-1"><a href="handbook\/leases">\/handbook\/leases<\/a>/);
      }
    }));

  test('texts of models, of documents and of the one who asks are text, and addresses that run code are no links', () =>
    withEngine(cluster, () => '<img src=x onerror=alert(1)> <a href="javascript:alert(1)">[1]</a> & "it" [2]', async () => {
      const html = await page('<script>alert("lease")</script> "bananas" yellow tropics fruit?');
      assert.match(html, /<h1 class="question">&lt;script&gt;alert\(&quot;lease&quot;\)&lt;\/script&gt;/);
      assert.match(html, /&lt;img src=x onerror=alert\(1\)&gt;/);
      assert.match(html, /\n?javascript:alert\(1\)\n<blockquote>/);
      assert.deepEqual([...html.matchAll(/href="([^"]*)"/g)].map(([, link]) => link).filter((link) => /script/i.test(link)), []);
      assert.match(html, /Bananas are &lt;b&gt;yellow/);
    }));

  test('a refusal shows what was read, and an answer that was cut says so', async () => {
    await withEngine(cluster, () => NOTHING, async () => {
      const html = await page('How long do bananas last?');
      assert.match(html, /<h2>The nearest passages<\/h2>/);
      assert.doesNotMatch(html, /<h2>Sources<\/h2>/);
    });
    await withEngine(cluster, () => ({ text: 'It lasts [1].', finish: 'length' }), async () => {
      assert.match(await page(`${QUESTION} (cut)`), /The answer is not complete/);
    });
  });

  test('what POST /ask refuses is a page that says why, with its status', async () => {
    const long = await visit('why '.repeat(1200));
    assert.equal(long.status, 400);
    assert.match(long.text, /role="alert">[^<]*question must be[^<]*1 to 4000/);
    const localAddress = '127.8.3.1';
    const question = 'zzzz qqqq?'; // finds nothing, so no engine is needed
    let last;
    for (let i = 0; i <= 20; i++) last = await visit(question, { localAddress });
    assert.equal(last.status, 429);
    assert.ok(Number(last.headers['retry-after']) >= 1);
    assert.match(last.text, /role="alert">/);
    assertSafePage(last, { hasForm: true });
  });

  test('no question, HEAD and programs get the first page as before', async () => {
    for (const question of ['', '  ']) assert.match(await page(question), /Questions waiting/);
    assert.equal(assertOk(await visit(QUESTION, { accept: 'application/json' })).name, 'Parley');
    const head = await cluster.request('HEAD', `/?q=${encodeURIComponent(QUESTION)}`, { headers: { Accept: BROWSER } });
    assert.equal(head.status, 200);
    assert.deepEqual(await library.questions(), []);
  });

  test('one who leaves withdraws the question', async () => {
    const open = async (n) => (await library.questions()).length === n;
    await withEngine(cluster, () => undefined, async (engine) => {
      const socket = await cluster.socket();
      socket.write(`GET /?q=${encodeURIComponent(QUESTION)} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n`);
      await engine.asked(1);
      await eventually(() => open(1), { what: 'the question is there' });
      socket.reset();
      await eventually(() => open(0), { what: 'it was withdrawn' });
    });
  });
});
