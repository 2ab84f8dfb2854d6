// SPDX-License-Identifier: MIT
//
// The chat in a browser: asking, and answers that lose nothing on their way.
import assert from 'node:assert/strict';
import { openApp, takeQuestion, watchReports } from '../support/app.mjs';
import { Browser, findBrowser } from '../support/browser.mjs';
import { eventually, suite } from '../support/harness.mjs';
import { ownShards } from '../support/shards.mjs';

ownShards(); // what a page shows: the same on any number of shards

const skip = findBrowser() ? false : 'no chromium is installed';
const LONG = 'Leases end **after 150 seconds** unless they are renewed.\n\n1. The engine sends a heartbeat.\n2. The node stores it.\n\n```sh\ncurl -s http://node:8080/health\n```\n\n| State | Meaning |\n|---|---|\n| Open | waits |\n| Pending | is with an engine |\n';

suite('the chat', { nodes: 2 }, ({ test, cluster }) => {
  watchReports(cluster);
  async function inBrowser(use) {
    const browser = await Browser.start();
    try {
      await use(browser);
    } finally {
      await browser.stop();
    }
  }
  async function signedIn(browser, options = {}) {
    const app = await openApp(browser, cluster.nodes[0].url, options);
    await app.signIn('User_1', cluster.accounts.User_1.secret);
    await app.question.waitFor();
    return app;
  }

  test('a question is asked, its answer is shown while it is written, and a reload in the middle loses nothing', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await app.shot('chat-new');
      await app.ask('How long does a lease last?');
      await app.sees('Next in the queue');
      const engine = await takeQuestion(cluster);
      assert.equal(engine.Query, 'How long does a lease last?');
      await engine.think('Let me look at the leases. ');
      await app.sees('Reasoning …');
      await engine.write('Leases end **after ');
      await app.sees('Leases end');
      await app.sees('The answer is being written');
      await app.shot('chat-writing');
      await app.tab.reload();
      await app.sees('Leases end');
      await engine.write(LONG.slice('Leases end **after '.length, 60));
      await app.sees('they are renewed');
      await engine.end(LONG, { Think: ['Let me look at the leases. '], Model: 'llama3' });
      await app.sees('Answered by llama3');
      assert.equal(await app.text('.answer ol'), 'The engine sends a heartbeat.\nThe node stores it.');
      assert.equal((await app.text('.answer strong')), 'after 150 seconds');
      await app.shot('chat-done');
      app.assertSafe();
    }), { skip });

  test('an answer full of HTML, scripts and odd links shows them as text, and runs and loads nothing', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      const hostile = [
        '<script>document.title = "taken"</script><img src="/steal" onerror="document.title = \'taken\'">',
        '[a script](javascript:document.title="taken") [data](data:text/html,<script>1</script>) [file](file:///etc/passwd) [relative](../api/login)',
        '[the web](https://example.org/) <https://example.net> mail@example.org ![a picture](https://example.com/pixel.png)',
        '<svg/onload=alert(1)> &lt;b&gt; &amp; <style>body { display: none }</style>',
        '```html"><script>alert(1)</script>\n<b>code</b>\n```',
        `${'>'.repeat(5000)} deep\n\n${'['.repeat(5000)}\n\n${'*a **a '.repeat(3000)}\n\n${'- '.repeat(4000)}x`,
        '\u202eright to left\u202c and \u200bzero width',
        `|${'a|'.repeat(300)}\n|${'-|'.repeat(300)}\n|${'x'.repeat(500)}|`,
      ].join('\n\n');
      await app.ask('<img src=x onerror=alert(1)> <b>bold</b>');
      const engine = await takeQuestion(cluster);
      await engine.end(hostile, { Think: ['<script>document.title = "taken"</script>'] });
      await app.sees('zero width');
      await app.shot('chat-hostile');
      const links = await app.page.evaluate(`[...document.querySelectorAll('.answer a')].map((a) => [a.getAttribute('href'), a.rel, a.target])`);
      assert.deepEqual(links.map(([href]) => href), ['https://example.org/', 'https://example.net', 'mailto:mail@example.org', 'https://example.com/pixel.png']);
      for (const [, rel, target] of links) assert.deepEqual([rel, target], ['noopener noreferrer nofollow', '_blank']);
      assert.equal(await app.page.evaluate(`document.querySelectorAll('.thread :is(script, img, style, iframe, object, svg:not(.icon))').length`), 0);
      assert.doesNotMatch(await app.tab.title(), /taken/);
      assert.match(await app.text('.bubble'), /^<img src=x onerror=alert\(1\)> <b>bold<\/b>$/);
      assert.ok(await app.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than the page');
      app.assertSafe();
    }), { skip });

  test('a node that dies is reported, and once it is back the answer continues from the same place', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await app.ask('What is lost?');
      const engine = await takeQuestion(cluster);
      await engine.write('First half, ');
      await app.sees('First half,');
      const { url } = cluster.nodes[0];
      await cluster.nodes[0].kill();
      await app.sees('The connection is lost.');
      await app.shot('chat-away');
      await engine.write('second half');
      await cluster.startNode({ listen: new URL(url).host });
      await app.sees('First half, second half');
      await engine.end('First half, second half.');
      await app.sees('First half, second half.');
      app.assertSafe();
    }), { skip });

  test('a question that is asked while the network is away is sent once when it is back, even after a reload', () =>
    inBrowser(async (browser) => {
      const app = await signedIn(browser);
      await app.tab.route('**/api/add-query', (route) => route.abort());
      await app.ask('Does it arrive?');
      await app.sees('The connection is lost.');
      await app.tab.unroute('**/api/add-query');
      await app.tab.reload();
      const engine = await takeQuestion(cluster);
      assert.deepEqual([engine.Query, engine.Seq], ['Does it arrive?', 1]);
      await engine.end('It does.');
      await app.sees('It does.');
      const { json } = await cluster.request('GET', '/api/get-topic-thread', { as: 'User_1', query: { Topic: app.topic } });
      assert.equal(json.length, 1);
      app.assertSafe();
    }), { skip });
});
